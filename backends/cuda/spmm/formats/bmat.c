/* BMat in the table of kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/device/context.h"
#include "backends/cuda/spmm/kernel_table.h"

static size_t bmat_bytes(const tsr_cuda_counts *c)
{
    return tsr_cuda_common_bytes(c) + 16 * c->blocks + c->nvals * c->value;
}

static tsr_status bmat_make(tsr_cuda_blocks *b, const tsr_source *source)
{
    return tsr_cuda_make_bmat(&b->as.bmat, source, b->height, tsr_cuda->compute);
}

static void bmat_free(tsr_cuda_blocks *b)
{
    tsr_cuda_free_bmat(&b->as.bmat, tsr_cuda->compute);
}

static const uint64_t *bmat_mask(const tsr_cuda_blocks *b)
{
    return b->as.bmat.mask;
}

static tsr_status bmat_run(const tsr_cuda_blocks *b, const tsr_cuda_csr *a, tsr_semiring semiring, const tsr_cuda_spmm *product)
{
    (void)a, (void)semiring;
    return tsr_cuda_spmm_bmat(&b->as.bmat, &b->work, product);
}

const tsr_cuda_format tsr_cuda_format_bmat = {
    .semirings = TSR_CUDA_SUMS, TSR_CUDA_TENSOR_NAMES("bmat"), .exact_rounds = true, .bytes = bmat_bytes, .make = bmat_make, .free = bmat_free,
    .mask = bmat_mask, .run = bmat_run, .partial_bytes = tsr_cuda_block_partial_bytes};
