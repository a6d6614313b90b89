/* ME-BCRS in the table of kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/device/context.h"
#include "backends/cuda/spmm/kernel_table.h"

static size_t me_bcrs_bytes(const tsr_cuda_counts *c)
{
    return tsr_cuda_common_bytes(c) + 8 * c->vectors * c->value;
}

static tsr_status me_bcrs_make(tsr_cuda_blocks *b, const tsr_source *source)
{
    return tsr_cuda_make_me_bcrs(&b->as.me_bcrs, source, b->width, b->iso, tsr_cuda->compute);
}

static void me_bcrs_free(tsr_cuda_blocks *b)
{
    tsr_cuda_free_me_bcrs(&b->as.me_bcrs, tsr_cuda->compute);
}

static tsr_status me_bcrs_most(int64_t *most, const tsr_cuda_blocks *b)
{
    *most = tsr_cuda_me_bcrs_most(&b->as.w, &tsr_cuda->device);
    return TSR_OK;
}

static tsr_status me_bcrs_run(const tsr_cuda_blocks *b, const tsr_cuda_csr *a, tsr_semiring semiring, const tsr_cuda_spmm *product)
{
    (void)a, (void)semiring;
    return tsr_cuda_spmm_me_bcrs(&b->as.me_bcrs, &b->work, product);
}

const tsr_cuda_format tsr_cuda_format_me_bcrs = {
    .semirings = TSR_CUDA_SUMS, TSR_CUDA_TENSOR_NAMES("me-bcrs"), .stores_iso = true, .width16 = 16, .exact_rounds = true, .bytes = me_bcrs_bytes,
    .make = me_bcrs_make, .free = me_bcrs_free, .most = me_bcrs_most, .run = me_bcrs_run, .partial_bytes = tsr_cuda_block_partial_bytes};
