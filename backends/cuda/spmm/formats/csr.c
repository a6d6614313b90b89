/* csr with values and B in 16 bits (other products by csr need no representation), and other kernels for A as csr has it.
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

/* *csr: A, with values as they are multiplied. */
static tsr_cuda_csr_spmm product_by_rows(tsr_cuda_csr *csr, const tsr_cuda_blocks *b, const tsr_cuda_csr *a, const tsr_cuda_spmm *q)
{
    const bool half = tsr_cuda_is_half(q->math), wide = q->math == TSR_CUDA_FP64;
    const float iso = (float)q->iso;
    tsr_cuda_csr_spmm p = {.semiring = {wide ? TSR_FP64 : TSR_FP32, TSR_ADD_PLUS, TSR_MUL_TIMES}, .half = half, .number = b->number, .n = q->n,
                           .b = q->b, .ldb = q->ldb, .c = q->c, .ldc = q->ldc, .alpha = q->alpha, .beta = q->beta, .partial = q->partial,
                           .device = q->device, .stream = q->stream};
    memcpy(&p.iso, wide ? (const void *)&q->iso : &iso, wide ? sizeof q->iso : sizeof iso);
    *csr = *a;
    csr->x = half ? b->as.half : a->x;
    return p;
}

static tsr_status run_by_rows(tsr_cuda_csr_kernel *kernel, const tsr_cuda_blocks *b, const tsr_cuda_csr *a, const tsr_cuda_spmm *q)
{
    tsr_cuda_csr csr;
    const tsr_cuda_csr_spmm product = product_by_rows(&csr, b, a, q);
    return kernel(&csr, &product);
}

static tsr_status csr_run(const tsr_cuda_blocks *b, const tsr_cuda_csr *a, tsr_semiring semiring, const tsr_cuda_spmm *product)
{
    (void)semiring;
    return run_by_rows(tsr_cuda_spmm_csr, b, a, product);
}

static size_t csr_partial_bytes(const tsr_cuda_blocks *b, const tsr_cuda_csr *a, const tsr_cuda_spmm *q)
{
    tsr_cuda_csr csr;
    const tsr_cuda_csr_spmm product = product_by_rows(&csr, b, a, q);
    return tsr_cuda_csr_partial_bytes(&csr, &product);
}

/* Trace names by arithmetic: in 32 and 64 bits all is computed as it is. */
#define NAMES(name) .names = {name, name, name "-fp16", name "-bf16", name}, .narrow_name = name "-narrow"

const tsr_cuda_format tsr_cuda_format_csr = {
    .semirings = TSR_CUDA_SUMS, NAMES("csr"), .own_rows = true, .bytes = csr_bytes, .free = csr_free, .run = csr_run,
    .partial_bytes = csr_partial_bytes};

/* ---- The others ---- */

static inline size_t no_partial_bytes(const tsr_cuda_blocks *b, const tsr_cuda_csr *a, const tsr_cuda_spmm *product)
{
    (void)b, (void)a, (void)product;
    return 0;
}

#define FORMAT(unused, id, format, name) \
    static tsr_status format##_run(const tsr_cuda_blocks *b, const tsr_cuda_csr *a, tsr_semiring semiring, const tsr_cuda_spmm *product) \
    { \
        (void)semiring; \
        return run_by_rows(tsr_cuda_spmm_##format, b, a, product); \
    } \
    const tsr_cuda_format tsr_cuda_format_##format = { \
        .semirings = TSR_CUDA_SUMS, NAMES(name), .any_b = true, .own_rows = true, .bytes = csr_bytes, .free = csr_free, \
        .run = format##_run, .partial_bytes = no_partial_bytes};
TSR_GPU_CSR_LIST(FORMAT, )
