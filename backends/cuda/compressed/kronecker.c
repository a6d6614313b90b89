/* Kronecker products of compressed contents: their size is known before anything is computed.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/compressed/kronecker.h"

#include "backends/cuda/arrays/arrays.h"
#include "backends/cuda/compressed/new.h"
#include "backends/cuda/transfer/csr.h"
#include "kernels/cuda/kronecker/kronecker.h"

typedef struct multiplying {
    const tsr_compressed_operand *a, *b;
    const tsr_ewise *step;
    bool pattern;
    void **c;
    int64_t *moved;
} multiplying;

static uint64_t one_of(const tsr_compressed_operand *a)
{
    return a->view.iso ? tsr_cuda_iso_value(&a->view) : 0;
}

/* Numbers of rows and columns have 32 bits. */
static bool fits(const tsr_cuda_csr *a, const tsr_cuda_csr *b)
{
    int64_t nrows, ncols, nvals;
    return !__builtin_mul_overflow(a->nrows, b->nrows, &nrows) && !__builtin_mul_overflow(a->ncols, b->ncols, &ncols) &&
           !__builtin_mul_overflow(a->nvals, b->nvals, &nvals) && nrows < UINT32_MAX && ncols < UINT32_MAX && nvals < INT64_C(1) << 40;
}

static tsr_status multiply(tsr_cuda_csr *out, const multiplying *m, const tsr_cuda_csr *a, const tsr_cuda_csr *b)
{
    const tsr_ewise *step = m->step;
    const tsr_cuda_kronecker k = {.a = *a, .b = *b, .op = step->op, .type = step->type, .x = one_of(m->a), .y = one_of(m->b), .pattern = m->pattern};
    if (!fits(a, b))
        return TSR_DECLINED;
    const size_t working = tsr_cuda_sparse_bytes(a->nrows * b->nrows, a->ncols * b->ncols, a->nvals * b->nvals, m->pattern ? 0 : tsr_type_size(step->result));
    if (!tsr_cuda_reserve(working))
        return TSR_OUT_OF_MEMORY;
    const tsr_status status = tsr_cuda_kronecker_product(out, &k, tsr_cuda->compute);
    if (status != TSR_OK)
        tsr_cuda_settle(); /* nothing reads operands any more */
    tsr_cuda_unreserve(working);
    return status;
}

static tsr_status run(void *arguments)
{
    multiplying *m = arguments;
    tsr_cuda_sparse *a, *b;
    tsr_cuda_csr out = {0};
    tsr_status status = tsr_cuda_compressed_use(&a, m->a, m->moved);
    if (status != TSR_OK)
        return status;
    status = tsr_cuda_compressed_use(&b, m->b, m->moved);
    if (status == TSR_OK) {
        status = multiply(&out, m, &a->csr, &b->csr);
        tsr_cuda_sparse_leave(b);
    }
    tsr_cuda_sparse_leave(a);
    return status == TSR_OK ? tsr_cuda_compressed_new(m->c, &out, m->step->result) : status;
}

tsr_status tsr_cuda_compressed_kronecker(void **c, const tsr_compressed_operand *a, const tsr_compressed_operand *b, const tsr_ewise *step, bool pattern,
                                         int64_t *moved)
{
    *c = NULL;
    return tsr_cuda_alone(run, &(multiplying){a, b, step, pattern, c, moved});
}
