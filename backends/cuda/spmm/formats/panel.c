/* Panels in the table of kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/device/context.h"
#include "backends/cuda/spmm/kernel_table.h"

static size_t panel_bytes(const tsr_cuda_counts *c)
{
    return tsr_cuda_common_bytes(c) + 64 * c->blocks + 2 * c->nvals * c->value;
}

static tsr_status panel_make(tsr_cuda_blocks *b, const tsr_source *source)
{
    return tsr_cuda_make_panel(&b->as.panel, source, b->height, b->width, b->iso, tsr_cuda->compute);
}

static void panel_free(tsr_cuda_blocks *b)
{
    tsr_cuda_free_panel(&b->as.panel, tsr_cuda->compute);
}

static tsr_status panel_most(int64_t *most, const tsr_cuda_blocks *b)
{
    *most = tsr_cuda_panel_most(&b->as.w, &tsr_cuda->device);
    return TSR_OK;
}

static tsr_status panel_run(const tsr_cuda_blocks *b, const tsr_cuda_csr *a, tsr_semiring semiring, const tsr_cuda_spmm *q)
{
    if (tsr_cuda_class_of(semiring) == TSR_CUDA_SUMS)
        return tsr_cuda_spmm_panel(&b->as.panel, &b->work, q);
    tsr_cuda_csr_spmm product = {.semiring = semiring, .n = q->n, .b = q->b, .ldb = q->ldb, .c = q->c, .ldc = q->ldc, .alpha = 1,
                                 .partial = q->partial, .device = q->device, .stream = q->stream};
    return tsr_cuda_spmm_panel_semiring(&b->as.panel, &b->work, a->p, q->row, &product);
}

const tsr_cuda_format tsr_cuda_format_panel = {
    .semirings = TSR_CUDA_SUMS | TSR_CUDA_PATHS, .names = {"panel-fp32", "panel-fp32", "panel-fp16", "panel-bf16", "panel-fp64"},
    .narrow_name = "panel-narrow", .stores_iso = true, .full_values = true, .any_b = true, .finishes = true, .bytes = panel_bytes,
    .make = panel_make, .free = panel_free, .most = panel_most, .run = panel_run, .partial_bytes = tsr_cuda_block_partial_bytes};
