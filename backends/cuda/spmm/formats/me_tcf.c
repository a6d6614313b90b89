/* ME-TCF in the table of kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/device/context.h"
#include "backends/cuda/spmm/kernel_table.h"

static size_t me_tcf_bytes(const tsr_cuda_counts *c)
{
    return tsr_cuda_common_bytes(c) + 4 * c->blocks + c->nvals * (1 + c->value);
}

static tsr_status me_tcf_make(tsr_cuda_blocks *b, const tsr_source *source)
{
    return tsr_cuda_make_me_tcf(&b->as.me_tcf, source, tsr_cuda->compute);
}

static void me_tcf_free(tsr_cuda_blocks *b)
{
    tsr_cuda_free_me_tcf(&b->as.me_tcf, tsr_cuda->compute);
}

static tsr_status me_tcf_most(int64_t *most, const tsr_cuda_blocks *b)
{
    int64_t longest = 0;
    tsr_status status = tsr_cuda_longest_window(&longest, &b->as.w, tsr_cuda->compute);
    *most = tsr_cuda_me_tcf_most(&b->as.w, longest, &tsr_cuda->device);
    return status;
}

static tsr_status me_tcf_run(const tsr_cuda_blocks *b, const tsr_cuda_csr *a, tsr_semiring semiring, const tsr_cuda_spmm *product)
{
    (void)a, (void)semiring;
    return tsr_cuda_spmm_me_tcf(&b->as.me_tcf, &b->work, product);
}

const tsr_cuda_format tsr_cuda_format_me_tcf = {
    .semirings = TSR_CUDA_SUMS, TSR_CUDA_TENSOR_NAMES("me-tcf"), .exact_rounds = true, .bytes = me_tcf_bytes, .make = me_tcf_make,
    .free = me_tcf_free, .most = me_tcf_most, .run = me_tcf_run, .partial_bytes = tsr_cuda_block_partial_bytes};
