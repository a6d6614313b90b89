/* csr with values and B in 16 bits (other products by csr need no representation).
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "backends/cuda/device/context.h"
#include "backends/cuda/spmm/kernel_table.h"

static size_t csr_bytes(const tsr_cuda_counts *c)
{
    return c->nvals * c->value + 256;
}

static void csr_free(tsr_cuda_blocks *b)
{
    tsr_cuda_delete(b->as.half);
}

static tsr_cuda_csr_spmm half_product(tsr_cuda_csr *csr, const tsr_cuda_blocks *b, const tsr_cuda_csr *a, const tsr_cuda_spmm *q)
{
    float iso = (float)q->iso;
    tsr_cuda_csr_spmm half = {.semiring = {TSR_FP32, TSR_ADD_PLUS, TSR_MUL_TIMES}, .half = true, .number = b->number, .n = q->n,
                              .b = q->b, .ldb = q->ldb, .c = q->c, .ldc = q->ldc, .alpha = q->alpha, .beta = q->beta,
                              .partial = q->partial, .device = q->device, .stream = q->stream};
    memcpy(&half.iso, &iso, sizeof iso);
    *csr = *a;
    csr->x = b->as.half;
    return half;
}

static tsr_status csr_run(const tsr_cuda_blocks *b, const tsr_cuda_csr *a, tsr_semiring semiring, const tsr_cuda_spmm *product)
{
    (void)semiring;
    tsr_cuda_csr csr;
    tsr_cuda_csr_spmm half = half_product(&csr, b, a, product);
    return tsr_cuda_spmm_csr(&csr, &half);
}

static size_t csr_partial_bytes(const tsr_cuda_blocks *b, const tsr_cuda_csr *a, const tsr_cuda_spmm *product)
{
    tsr_cuda_csr csr;
    tsr_cuda_csr_spmm half = half_product(&csr, b, a, product);
    return tsr_cuda_csr_partial_bytes(&csr, &half);
}

const tsr_cuda_format tsr_cuda_format_csr = {
    .semirings = TSR_CUDA_SUMS, .names = {"csr", "csr", "csr-fp16", "csr-bf16", "csr"}, .narrow_name = "csr-narrow", .own_rows = true,
    .bytes = csr_bytes, .free = csr_free, .run = csr_run, .partial_bytes = csr_partial_bytes};
