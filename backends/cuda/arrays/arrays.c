/* Values on the device: how they come, go and are computed.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/arrays/answers.h"
#include "backends/cuda/arrays/arrays.h"

#include <stdlib.h>
#include <string.h>

#include "backends/cuda/arrays/fusion.h"
#include "backends/cuda/arrays/gemm.h"
#include "backends/cuda/arrays/listed.h"
#include "backends/cuda/transfer/csr.h"
#include "backends/cuda/transfer/host_copy.h"
#include "kernels/cuda/elementwise/spread.h"

/* ---- to the device ---- */

/* One value, everywhere. */
static tsr_status fill(tsr_cuda_array *v, const tsr_view *view)
{
    tsr_ewise s = {.op = TSR_EWISE_IDENTITY, .type = view->type, .result = view->type, .count = v->count};
    memcpy(&s.x.scalar, view->x, v->size);
    return tsr_cuda_ewise(&s, &(tsr_ewise_arrays){.z = v->x}, &tsr_cuda->device, tsr_cuda->compute);
}

static tsr_status upload(void *to, const void *from, size_t size, const tsr_view *view, int nthreads, int64_t *moved)
{
    tsr_cuda_rectangle r = {.host = (char *)(uintptr_t)from, .host_ld = view->ld, .outer = view->nvec, .inner = view->vlen,
                            .device_ld = view->vlen, .size = size, .device = to};
    return tsr_cuda_upload(&r, nthreads, moved);
}

/* What a sparse matrix takes on the way. */
static size_t csr_bytes(const tsr_view *view, size_t value_size)
{
    return (size_t)((view->by_col ? view->ncols : view->nrows) + 1) * 8 + (size_t)view->nvals * (sizeof(uint32_t) + value_size);
}

/* Entries to their places. */
static tsr_status spread(tsr_cuda_array *v, const tsr_view *view, int nthreads, int64_t *moved)
{
    size_t value_size = view->iso ? 0 : v->size, bytes = csr_bytes(view, value_size);
    tsr_cuda_csr csr = {0};
    uint64_t iso = 0;
    tsr_status status = tsr_cuda_set(v->x, 0, v->bytes, tsr_cuda->compute);
    if (status != TSR_OK || view->nvals == 0)
        return status;
    if (!tsr_cuda_reserve(bytes))
        return TSR_OUT_OF_MEMORY;
    if (view->iso)
        memcpy(&iso, view->x, v->size);
    status = tsr_cuda_csr_upload(&csr, view, value_size, nthreads, moved);
    if (status == TSR_OK)
        status = tsr_cuda_spread(v->x, v->present, &csr, (int)v->size, iso, &tsr_cuda->device, tsr_cuda->compute);
    if (status != TSR_OK)
        tsr_cuda_settle();
    tsr_cuda_csr_delete(&csr);
    tsr_cuda_unreserve(bytes);
    return status;
}

tsr_status tsr_cuda_array_upload(tsr_cuda_array **out, const tsr_view *view, int nthreads, int64_t *moved)
{
    tsr_cuda_array *v;
    bool compressed = tsr_is_compressed(view), bitmap = view->format == TSR_BITMAP;
    tsr_status status = tsr_cuda_array_new(&v, view->nrows * view->ncols, tsr_type_size(view->type), bitmap || compressed);
    *out = NULL;
    if (status != TSR_OK)
        return status;
    v->nvals = bitmap || compressed ? view->nvals : v->count;
    if (v->count && compressed)
        status = spread(v, view, nthreads, moved);
    else if (v->count && view->x)
        status = view->iso ? fill(v, view) : upload(v->x, view->x, v->size, view, nthreads, moved);
    if (status == TSR_OK && v->count && bitmap)
        status = upload(v->present, view->b, 1, view, nthreads, moved);
    if (status == TSR_OK) {
        *out = v;
        return TSR_OK;
    }
    tsr_cuda_settle(); /* nothing writes there any more */
    tsr_cuda_array_free(v);
    return status;
}

typedef struct uploading {
    const tsr_view *view;
    int nthreads;
    tsr_cuda_array *value;
    int64_t moved;
} uploading;

static tsr_status run_upload(void *arguments)
{
    uploading *b = arguments;
    b->moved = 0;
    return tsr_cuda_array_upload(&b->value, b->view, b->nthreads, &b->moved);
}

tsr_status tsr_cuda_array_upload_view(const tsr_view *view, int nthreads, void **value, int64_t *bytes_moved)
{
    uploading b = {.view = view, .nthreads = nthreads};
    if (tsr_is_compressed(view) ? view->vlen > UINT32_MAX : !view->x)
        return TSR_DECLINED;
    tsr_status status = tsr_cuda_alone(run_upload, &b);
    *value = b.value;
    *bytes_moved = b.moved;
    return status;
}

/* ---- entries present ---- */

static tsr_status run_count(void *arguments)
{
    return tsr_cuda_array_count(arguments);
}

static tsr_status count(void *value, int64_t *nvals)
{
    tsr_cuda_array *v = value;
    tsr_status status = v->present ? tsr_cuda_alone(run_count, v) : TSR_OK;
    *nvals = v->nvals;
    return status;
}

/* ---- waiting ---- */

static tsr_status run_wait(void *nothing)
{
    (void)nothing;
    return tsr_cuda_wait(tsr_cuda->compute);
}

static tsr_status wait_for(void *value)
{
    return tsr_cuda_alone(run_wait, value);
}

/* ---- steps ---- */

typedef struct stepping {
    const tsr_ewise *step;
    tsr_cuda_array *value;
} stepping;

static tsr_status run_step(void *arguments)
{
    stepping *t = arguments;
    const tsr_ewise *s = t->step;
    tsr_ewise_arrays a = {.x = tsr_cuda_elements(s->x.value), .y = tsr_cuda_elements(s->y.value), .c = tsr_cuda_elements(s->c),
                         .mask = tsr_cuda_elements(s->mask)};
    if (s->mask_structural)
        a.mask.x = NULL;
    tsr_status status = tsr_cuda_listed_step(&t->value, s, &a);
    if (status != TSR_DECLINED)
        return status;
    status = tsr_cuda_array_new(&t->value, s->count, tsr_type_size(s->result), !tsr_ewise_is_full(s, &a));
    if (status != TSR_OK)
        return status;
    a.z = t->value->x;
    a.z_present = t->value->present;
    status = tsr_cuda_fusion_add(s, &a, t->value);
    if (status != TSR_OK) {
        tsr_cuda_array_free(t->value);
        t->value = NULL;
    }
    return status;
}

/* C = A. */
static bool is_copy(const tsr_ewise *s)
{
    return s->op == TSR_EWISE_IDENTITY && s->x.value && s->type == s->result && !s->mask && !s->c;
}

static tsr_status step(const tsr_ewise *s, void **value)
{
    if (is_copy(s)) {
        tsr_cuda_contents_again(s->x.value);
        *value = s->x.value;
        return TSR_OK;
    }
    stepping t = {.step = s};
    tsr_status status = tsr_cuda_alone_going_on(run_step, &t, true);
    *value = t.value;
    return status;
}

/* ---- reductions ---- */

typedef struct reducing {
    const tsr_cuda_array *value;
    tsr_type type;
    tsr_reduce_op op;
    tsr_cuda_reduced result;
} reducing;

static tsr_status reduce_within(void *arguments, void *scratch)
{
    reducing *r = arguments;
    char *memory = scratch;
    tsr_elements e = tsr_cuda_elements(r->value);
    tsr_cuda_reduced *result = (void *)memory;
    tsr_status status = tsr_cuda_fusion_reduce_into(result, memory + TSR_CUDA_ALIGNMENT, r->type, r->op, r->value);
    if (status == TSR_DECLINED && (status = tsr_cuda_fusion_run()) == TSR_OK)
        status = tsr_cuda_reduce(result, memory + TSR_CUDA_ALIGNMENT, r->type, r->op, &e, r->value->count, &tsr_cuda->device, tsr_cuda->compute);
    return status == TSR_OK ? tsr_cuda_fetch_words((uint64_t *)&r->result, memory, sizeof r->result / sizeof(uint64_t)) : status;
}

static tsr_status run_reduce(void *arguments)
{
    reducing *r = arguments;
    const tsr_status status = tsr_cuda_listed_reduce(&r->result, r->type, r->op, r->value);
    if (status != TSR_DECLINED)
        return status;
    return tsr_cuda_with_scratch(TSR_CUDA_ALIGNMENT + tsr_cuda_reduce_bytes(r->value->count, &tsr_cuda->device), reduce_within, r);
}

static tsr_status reduce(void *value, tsr_type type, tsr_reduce_op op, void *scalar, bool *any)
{
    reducing r = {.value = value, .type = type, .op = op};
    tsr_status status = tsr_cuda_alone_going_on(run_reduce, &r, true);
    *any = status == TSR_OK && r.result.any;
    if (*any)
        memcpy(scalar, &r.result.scalar, tsr_type_size(type));
    return status;
}

/* ---- dense products ---- */

typedef struct multiplying {
    const tsr_dense_product *product;
    tsr_cuda_array *value;
} multiplying;

static tsr_status run_multiply(void *arguments)
{
    multiplying *m = arguments;
    const tsr_dense_product *p = m->product;
    const tsr_cuda_array *a = p->a, *b = p->b;
    tsr_status status = tsr_cuda_array_new(&m->value, p->m * p->n, tsr_type_size(p->type), false);
    if (status != TSR_OK)
        return status;
    bool nothing = p->m == 0 || p->n == 0 || p->k == 0;
    status = nothing ? tsr_cuda_set(m->value->x, 0, m->value->bytes, tsr_cuda->compute)
                     : tsr_cuda_gemm(p, a->x, b->x, m->value->x, tsr_cuda->compute);
    if (status != TSR_OK) {
        tsr_cuda_array_free(m->value);
        m->value = NULL;
    }
    return status;
}

static tsr_status multiply(const tsr_dense_product *product, void **value)
{
    multiplying m = {.product = product};
    tsr_status status = tsr_cuda_alone(run_multiply, &m);
    *value = m.value;
    return status;
}

const tsr_backend_arrays tsr_cuda_arrays = {.step = step, .reduce = reduce, .multiply = multiply, .sums = tsr_cuda_array_sums,
                                            .cast = tsr_cuda_array_cast, .turn = tsr_cuda_array_turn, .places = tsr_cuda_array_places,
                                            .gather = tsr_cuda_array_gather, .scatter = tsr_cuda_array_scatter, .count = count, .wait = wait_for};

const tsr_kernel_row tsr_cuda_array_kernels[] = {
    {"elementwise", "step", "step", "any type and operator; full and bitmap on the device", true},
    {"reduce", "reduce", "reduce", "any type and monoid; to a scalar, or rows and columns", true},
    {"full_product", "multiply", "multiply", "FP32 and FP64; by cuBLAS", true}};
