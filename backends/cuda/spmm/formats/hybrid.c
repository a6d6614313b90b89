/* Hybrids in the table of kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "backends/cuda/device/context.h"
#include "backends/cuda/spmm/kernel_table.h"

static size_t hybrid_bytes(const tsr_cuda_counts *c)
{
    return tsr_cuda_common_bytes(c) + 16 * c->vectors * c->value + 16 * c->blocks + 13 * c->vectors + 2 * c->nvals * c->value + c->nrows * 5 +
           c->nvals / 2;
}

/* The kernels that tsr_window_kernel names. */
static tsr_cuda_half half_of(tsr_gpu_kernel dense)
{
    return dense == TSR_GPU_ME_BCRS ? TSR_CUDA_HALF_ME_BCRS : dense == TSR_GPU_BMAT_16 ? TSR_CUDA_HALF_BMAT : TSR_CUDA_HALF_HRPB;
}

static tsr_status hybrid_make(tsr_cuda_blocks *b, const tsr_source *source)
{
    tsr_cuda_split_rule rule;
    const tsr_cuda_half half = half_of(tsr_window_kernel((tsr_gpu_math)b->math));
    memcpy(rule.w, tsr_cuda->model->window[b->math][b->split], sizeof rule.w);
    return tsr_cuda_make_hybrid(&b->as.hybrid, source, half, b->height, b->iso, &rule, &tsr_cuda->device, tsr_cuda->compute);
}

static void hybrid_free(tsr_cuda_blocks *b)
{
    tsr_cuda_free_hybrid(&b->as.hybrid, tsr_cuda->compute);
}

static tsr_status hybrid_run(const tsr_cuda_blocks *b, const tsr_cuda_csr *a, tsr_semiring semiring, const tsr_cuda_spmm *product)
{
    (void)a, (void)semiring;
    return tsr_cuda_spmm_hybrid(&b->as.hybrid, product);
}

static size_t hybrid_partial_bytes(const tsr_cuda_blocks *b, const tsr_cuda_csr *a, const tsr_cuda_spmm *product)
{
    (void)a;
    return tsr_cuda_hybrid_partial_bytes(&b->as.hybrid, product);
}

const tsr_cuda_format tsr_cuda_format_hybrid = {
    .semirings = TSR_CUDA_SUMS, TSR_CUDA_TENSOR_NAMES("hybrid"), .stores_iso = true, .own_rows = true, .exact_rounds = true,
    .bytes = hybrid_bytes, .make = hybrid_make, .free = hybrid_free, .run = hybrid_run, .partial_bytes = hybrid_partial_bytes};
