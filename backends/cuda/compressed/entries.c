/* What is done with the values of compressed contents: they are full arrays, to which the elementwise kernels and reductions apply; two matrices are
 * laid side by side first.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/compressed/entries.h"

#include <string.h>

#include "backends/cuda/arrays/answers.h"
#include "backends/cuda/arrays/arrays.h"
#include "backends/cuda/compressed/new.h"
#include "backends/cuda/transfer/csr.h"
#include "kernels/cuda/elementwise/derive.h"
#include "kernels/cuda/selection/join_entries.h"

typedef struct computing {
    const tsr_compressed_operand *a, *b;
    const tsr_compressed_step *step;
    void **c;
    int64_t *moved;
} computing;

/* csr gets values z of these elements; the arrays are its own afterwards.  present: of z, where not every one is known to be. */
static tsr_status compute(tsr_cuda_csr *csr, const tsr_ewise *step, tsr_elements x, tsr_elements y)
{
    tsr_ewise_arrays arrays = {.x = x, .y = y};
    tsr_ewise s = *step;
    s.count = csr->nvals;
    const bool full = tsr_ewise_is_full(&s, &arrays);
    void *z = NULL, *present = NULL;
    tsr_status status = tsr_cuda_new(&z, (size_t)csr->nvals * tsr_type_size(s.result));
    if (status == TSR_OK && !full)
        status = tsr_cuda_new(&present, (size_t)csr->nvals);
    arrays.z = z;
    arrays.z_present = present;
    if (status == TSR_OK && csr->nvals)
        status = tsr_cuda_ewise(&s, &arrays, &tsr_cuda->device, tsr_cuda->compute);
    tsr_cuda_delete(present);
    csr->x = z;
    return status;
}

/* ---- of one matrix ---- */

static tsr_status apply_to(tsr_cuda_csr *out, const tsr_cuda_csr *a, const tsr_compressed_step *t)
{
    const tsr_elements values = {.x = a->x}, scalar = {0};
    const tsr_status status = tsr_cuda_sparse_copy_pattern(out, a);
    const bool keeps_none = !a->x;
    if (status != TSR_OK || keeps_none)
        return status;
    return compute(out, &t->step, t->x_is_a ? values : scalar, t->y_is_a ? values : scalar);
}

static tsr_status run_apply(void *arguments)
{
    computing *q = arguments;
    const tsr_ewise *step = &q->step->step;
    tsr_cuda_sparse *a;
    tsr_cuda_csr out = {0};
    tsr_status status = tsr_cuda_compressed_use(&a, q->a, q->moved);
    if (status != TSR_OK)
        return status;
    const size_t working = tsr_cuda_sparse_bytes(a->csr.nrows, a->csr.ncols, a->csr.nvals, tsr_type_size(step->result));
    const bool reserved = tsr_cuda_reserve(working), fits = a->csr.x || step->op == TSR_EWISE_IDENTITY;
    status = !reserved ? TSR_OUT_OF_MEMORY : fits ? apply_to(&out, &a->csr, q->step) : TSR_DECLINED;
    if (status != TSR_OK)
        tsr_cuda_settle();
    tsr_cuda_unreserve(reserved ? working : 0);
    tsr_cuda_sparse_leave(a);
    if (status == TSR_OK)
        return tsr_cuda_compressed_new(q->c, &out, step->result);
    tsr_cuda_csr_delete(&out);
    return status;
}

tsr_status tsr_cuda_compressed_apply(void **c, const tsr_compressed_operand *a, const tsr_compressed_step *step, int64_t *moved)
{
    *c = NULL;
    return tsr_cuda_alone(run_apply, &(computing){.a = a, .step = step, .c = c, .moved = moved});
}

/* ---- of two ---- */

static tsr_status join_with(tsr_cuda_csr *out, const tsr_cuda_csr *a, const tsr_cuda_csr *b, const tsr_ewise *step)
{
    tsr_cuda_joined joined;
    tsr_status status = tsr_cuda_join_entries(&joined, a, b, step->unite, (int)tsr_type_size(step->type), tsr_cuda->compute);
    if (status != TSR_OK)
        return status;
    void *x = joined.csr.x;
    status = compute(&joined.csr, step, (tsr_elements){x, joined.x_present}, (tsr_elements){joined.y, joined.y_present});
    *out = joined.csr;
    joined.csr = (tsr_cuda_csr){.x = x};
    tsr_cuda_join_free(&joined, tsr_cuda->compute);
    return status;
}

static size_t join_bytes(const tsr_cuda_csr *a, const tsr_cuda_csr *b, const tsr_ewise *step)
{
    const int64_t most = step->unite ? a->nvals + b->nvals : a->nvals < b->nvals ? a->nvals : b->nvals;
    const size_t entry = 2 * tsr_type_size(step->type) + tsr_type_size(step->result) + 3;
    return tsr_cuda_join_bytes(a->nvals) + tsr_cuda_sparse_bytes(a->nrows, a->ncols, most, 0) + (size_t)most * entry;
}

static tsr_status join_both(computing *q, const tsr_cuda_sparse *a, const tsr_cuda_sparse *b)
{
    const tsr_ewise *step = &q->step->step;
    const size_t working = join_bytes(&a->csr, &b->csr, step);
    tsr_cuda_csr out = {0};
    if (!a->csr.x || !b->csr.x)
        return TSR_DECLINED;
    if (!tsr_cuda_reserve(working))
        return TSR_OUT_OF_MEMORY;
    const tsr_status status = join_with(&out, &a->csr, &b->csr, step);
    if (status != TSR_OK)
        tsr_cuda_settle();
    tsr_cuda_unreserve(working);
    if (status == TSR_OK)
        return tsr_cuda_compressed_new(q->c, &out, step->result);
    tsr_cuda_csr_delete(&out);
    return status;
}

static tsr_status run_join(void *arguments)
{
    computing *q = arguments;
    tsr_cuda_sparse *a, *b;
    tsr_status status = tsr_cuda_compressed_use(&a, q->a, q->moved);
    if (status != TSR_OK)
        return status;
    status = tsr_cuda_compressed_use(&b, q->b, q->moved);
    if (status == TSR_OK) {
        status = join_both(q, a, b);
        tsr_cuda_sparse_leave(b);
    }
    tsr_cuda_sparse_leave(a);
    return status;
}

tsr_status tsr_cuda_compressed_join(void **c, const tsr_compressed_operand *a, const tsr_compressed_operand *b, const tsr_compressed_step *step,
                                    int64_t *moved)
{
    *c = NULL;
    return tsr_cuda_alone(run_join, &(computing){a, b, step, c, moved});
}

/* ---- to a scalar ---- */

typedef struct reducing {
    const tsr_compressed_operand *a;
    tsr_type type;
    tsr_reduce_op op;
    int64_t *moved;
    tsr_elements elements;
    int64_t count;
    tsr_cuda_reduced result;
} reducing;

static tsr_status reduce_within(void *arguments, void *scratch)
{
    reducing *r = arguments;
    char *memory = scratch;
    const tsr_status status = tsr_cuda_reduce((void *)memory, memory + TSR_CUDA_ALIGNMENT, r->type, r->op, &r->elements, r->count,
                                              &tsr_cuda->device, tsr_cuda->compute);
    return status == TSR_OK ? tsr_cuda_fetch_words((uint64_t *)&r->result, memory, sizeof r->result / sizeof(uint64_t)) : status;
}

static tsr_status reduce_elements(reducing *r)
{
    return tsr_cuda_with_scratch(TSR_CUDA_ALIGNMENT + tsr_cuda_reduce_bytes(r->count, &tsr_cuda->device), reduce_within, r);
}

/* Of another type: all values are cast first. */
static tsr_status reduce_cast(reducing *r)
{
    const size_t bytes = (size_t)r->count * tsr_type_size(r->type);
    const tsr_elements values = r->elements;
    void *cast = NULL;
    if (!tsr_cuda_reserve(bytes))
        return TSR_OUT_OF_MEMORY;
    tsr_status status = tsr_cuda_new(&cast, bytes);
    if (status == TSR_OK)
        status = tsr_cuda_cast(cast, NULL, r->type, &values, r->a->view.type, r->count, &tsr_cuda->device, tsr_cuda->compute);
    r->elements.x = cast;
    if (status == TSR_OK)
        status = reduce_elements(r);
    if (status != TSR_OK)
        tsr_cuda_settle();
    tsr_cuda_delete(cast);
    tsr_cuda_unreserve(bytes);
    return status;
}

static tsr_status run_reduce(void *arguments)
{
    reducing *r = arguments;
    tsr_cuda_sparse *a;
    tsr_status status = tsr_cuda_compressed_use(&a, r->a, r->moved);
    if (status != TSR_OK)
        return status;
    r->elements.x = a->csr.x;
    r->count = a->csr.nvals;
    status = !r->elements.x ? TSR_DECLINED : r->type == r->a->view.type ? reduce_elements(r) : reduce_cast(r);
    tsr_cuda_sparse_leave(a);
    return status;
}

tsr_status tsr_cuda_compressed_reduce(const tsr_compressed_operand *a, tsr_type type, tsr_reduce_op op, void *scalar, int64_t *moved)
{
    reducing r = {.a = a, .type = type, .op = op, .moved = moved};
    const tsr_status status = tsr_cuda_alone(run_reduce, &r);
    if (status == TSR_OK)
        memcpy(scalar, &r.result.scalar, tsr_type_size(type));
    return status == TSR_OK && !r.result.any ? TSR_DECLINED : status;
}
