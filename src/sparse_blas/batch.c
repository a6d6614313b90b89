/* Many products of one plan.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdlib.h>

#include "src/base/split.h"
#include "src/base/types.h"
#include "src/sparse_blas/native.h"

/* One call.  Of an SDDMM first, second and values are X, Y and the result; else B, C and nothing. */
typedef struct batch {
    const tsr_plan *plan;
    const tsr_batch *of;
    tsr_complex alpha, beta;
    tsr_sparse *a;
    const tsr_dense *first, *second;
    void *values, *stream;
} batch;

/* ---- checks ---- */

static tsr_status check_strides(const tsr_batch *of)
{
    const struct {
        const char *name;
        int64_t value;
    } fields[] = {{"batch->count", of->count}, {"batch->values_stride", of->values_stride}, {"batch->first_stride", of->first_stride},
                  {"batch->second_stride", of->second_stride}};
    tsr_status status = TSR_OK;
    for (size_t k = 0; k < sizeof fields / sizeof *fields && status == TSR_OK; k++) {
        int64_t end;
        status = tsr_native_check_range(fields[k].name, fields[k].value, 0, INT64_MAX);
        if (status == TSR_OK && (__builtin_mul_overflow(of->count, fields[k].value, &end) || end > INT64_MAX / 16)) {
            status = tsr_native_fail(TSR_INVALID_VALUE, "%s = %lld of %lld products is more than can be addressed", fields[k].name,
                                     (long long)fields[k].value, (long long)of->count);
        }
    }
    return status;
}

static tsr_span span_of(const tsr_dense *d, int64_t further)
{
    const bool by_col = d->layout == TSR_COL_MAJOR;
    const size_t size = tsr_type_size(d->type);
    return (tsr_span){(uintptr_t)d->data + (uintptr_t)further * size, (size_t)(by_col ? d->nrows : d->ncols) * size, (size_t)d->ld * size,
                      by_col ? d->ncols : d->nrows};
}

/* From the first element of the first product to the last one of the last. */
static tsr_span hull(const tsr_dense *d, int64_t count, int64_t stride)
{
    const tsr_span last = span_of(d, (count - 1) * stride);
    const size_t bytes = last.count ? last.begin + (size_t)(last.count - 1) * last.period + last.length - (uintptr_t)d->data : 0;
    return (tsr_span){(uintptr_t)d->data, bytes, bytes, 1};
}

/* C of all products: apart from each other, and from what is read.  That they are of equal strides makes looking from the first one enough. */
static tsr_status check_apart(const batch *b)
{
    const tsr_batch *of = b->of;
    const tsr_dense *c = b->second;
    const tsr_span written = hull(c, of->count, of->second_stride);
    const size_t one = hull(c, 1, 0).length, size = tsr_type_size(c->type);
    for (int64_t q = 1; q < of->count && (size_t)((q - 1) * of->second_stride) * size < one; q++) {
        if (tsr_native_overlap(span_of(c, 0), span_of(c, q * of->second_stride))) {
            return tsr_native_fail(TSR_INVALID_VALUE, "batch->second_stride = %lld: C of product %lld overlaps the first one",
                                   (long long)of->second_stride, (long long)q);
        }
    }
    if (tsr_native_overlap(written, hull(b->first, of->count, of->first_stride)) ||
        tsr_native_overlaps_matrix(written, b->a, b->a->view.nvals + (of->count - 1) * of->values_stride)) {
        return tsr_native_fail(TSR_INVALID_VALUE, "c->data = %p: C of some product overlaps, or lies between, b or an array of a", c->data);
    }
    return TSR_OK;
}

static tsr_status check_values(const batch *b)
{
    if (b->of->values_stride == 0 || b->of->count < 2) {
        return TSR_OK;
    }
    if (b->a->view.iso || b->a->copied) {
        return tsr_native_fail(TSR_INVALID_VALUE, "batch->values_stride = %lld, but a %s", (long long)b->of->values_stride,
                               b->a->copied ? "holds copies of its arrays" : "has no values");
    }
    return tsr_native_check_range("batch->values_stride", b->of->values_stride, b->a->view.nvals, INT64_MAX);
}

static tsr_status check_products(const batch *b)
{
    tsr_status status = check_strides(b->of);
    if (status == TSR_OK) {
        status = check_values(b);
    }
    const bool empty = b->second->nrows == 0 || b->second->ncols == 0 || b->of->count < 2;
    return status == TSR_OK && !empty ? check_apart(b) : status;
}

static tsr_status check_samples(const batch *b)
{
    const tsr_batch *of = b->of;
    tsr_status status = check_strides(of);
    if (status != TSR_OK || of->count < 2 || b->a->view.nvals == 0) {
        return status;
    }
    const size_t size = tsr_type_size(b->plan->call.product.semiring.type);
    const tsr_span written = tsr_native_span(b->values, (of->count - 1) * of->values_stride + b->a->view.nvals, size);
    status = tsr_native_check_range("batch->values_stride", of->values_stride, b->a->view.nvals, INT64_MAX);
    if (status == TSR_OK && (tsr_native_overlap(written, hull(b->first, of->count, of->first_stride)) ||
                             tsr_native_overlap(written, hull(b->second, of->count, of->second_stride)) ||
                             tsr_native_overlaps_pattern(written, &b->a->view))) {
        return tsr_native_fail(TSR_INVALID_VALUE, "values = %p: those of some product overlap x, y or the pattern of s", b->values);
    }
    return status;
}

/* ---- one product ---- */

static tsr_dense dense_of(const tsr_dense *d, int64_t further)
{
    tsr_dense moved = *d;
    moved.data = (char *)d->data + (size_t)further * tsr_type_size(d->type);
    return moved;
}

static tsr_status run_on(const batch *b, tsr_sparse *a, const tsr_dense *first, const tsr_dense *second)
{
    if (a != b->a && b->plan->device) { /* what the plan has on the device is of other values */
        return tsr_native_execute_through_host(b->plan, b->alpha, a, first, b->beta, second, NULL, b->stream);
    }
    return tsr_native_run(b->plan, b->alpha, a, first, b->beta, second, b->stream);
}

/* A with values of its own: those of the caller's device are copied first.  Nothing built of them is kept. */
static tsr_status run_with_values(const batch *b, int64_t further, const tsr_dense *first, const tsr_dense *second)
{
    tsr_sparse a = *b->a;
    const size_t size = tsr_type_size(a.view.type);
    void *copy = a.device_values ? malloc((size_t)a.view.nvals * size + 1) : NULL;
    tsr_status status = TSR_OK;
    a.record = tsr_record_new();
    a.transposed = tsr_record_new();
    if (!a.record || !a.transposed || (a.device_values && !copy)) {
        status = tsr_native_no_memory();
    } else if (copy) {
        status = tsr_native_download(copy, (const char *)a.device_values + (size_t)further * size, (size_t)a.view.nvals * size);
    }
    a.stale = false;
    a.view.x = copy ? copy : (void *)((uintptr_t)a.view.x + (size_t)further * size);
    if (status == TSR_OK) {
        status = run_on(b, &a, first, second);
    }
    tsr_record_unref(a.record);
    tsr_record_unref(a.transposed);
    free(copy);
    return status;
}

static tsr_status run_product(const batch *b, int64_t q)
{
    const tsr_dense first = dense_of(b->first, q * b->of->first_stride), second = dense_of(b->second, q * b->of->second_stride);
    if (b->values) {
        const size_t size = tsr_type_size(b->plan->call.product.semiring.type);
        return tsr_native_run_sddmm(b->plan, b->alpha.re, &first, &second, b->beta.re, b->a,
                                    (char *)b->values + (size_t)(q * b->of->values_stride) * size, b->stream);
    }
    return b->of->values_stride ? run_with_values(b, q * b->of->values_stride, &first, &second) : run_on(b, b->a, &first, &second);
}

/* ---- all of them ---- */

static tsr_status run_in_turn(const batch *b, int64_t from)
{
    tsr_status status = TSR_OK;
    for (int64_t q = from; q < b->of->count && status == TSR_OK; q++) {
        status = run_product(b, q);
    }
    return status;
}

/* The sentence of a failure is that of another thread. */
static tsr_status run_beside(const batch *b, int64_t from, int nthreads)
{
    atomic_int failed = TSR_OK;
    #pragma omp parallel for num_threads(tsr_team(nthreads)) schedule(dynamic, 1)
    for (int64_t q = from; q < b->of->count; q++) {
        tsr_native_set_alone(true);
        const tsr_status status = atomic_load(&failed) == TSR_OK ? run_product(b, q) : TSR_OK;
        if (status != TSR_OK) {
            atomic_store(&failed, status);
        }
        tsr_native_set_alone(false);
    }
    const tsr_status status = (tsr_status)atomic_load(&failed);
    return status == TSR_OK ? status : tsr_native_fail(status, "a product of the batch: %s", tsr_status_string(status));
}

/* In one launch, where the device can; else one after the other. */
static tsr_status run_on_device(const batch *b)
{
    tsr_status status = TSR_DECLINED;
    if (b->of->count > 1 && b->values) {
        status = tsr_native_sample_batch_on_device(b->plan, b->alpha.re, b->first, b->second, b->beta.re, b->values, b->of, b->stream);
    } else if (b->of->count > 1) {
        status = tsr_native_batch_on_device(b->plan, b->alpha, b->a, b->first, b->beta, b->second, b->of, b->stream);
    }
    return status == TSR_DECLINED ? run_in_turn(b, 0) : status;
}

/* The first one builds what all share, with all threads. */
static tsr_status run_all(const batch *b)
{
    const int nthreads = tsr_native_threads();
    if (b->plan->device) {
        return run_on_device(b);
    }
    if (nthreads < 2 || b->of->count <= nthreads) {
        return run_in_turn(b, 0);
    }
    const tsr_status status = run_product(b, 0);
    return status == TSR_OK ? run_beside(b, 1, nthreads) : status;
}

/* ---- one wide product ---- */

static bool is_beside(const tsr_dense *d, int64_t count, int64_t stride)
{
    const int64_t column = d->layout == TSR_COL_MAJOR ? d->ld : 1;
    return stride == d->ncols * column && (d->layout == TSR_COL_MAJOR || d->ld >= d->ncols * count);
}

static tsr_dense widen(const tsr_dense *d, int64_t count)
{
    tsr_dense wide = *d;
    wide.ncols *= count;
    return wide;
}

static bool is_wide(const batch *b)
{
    return !b->values && !b->plan->device && b->of->values_stride == 0 && is_beside(b->first, b->of->count, b->of->first_stride) &&
           is_beside(b->second, b->of->count, b->of->second_stride);
}

/* ---- what the program calls ---- */

tsr_status tsr_execute_batch(const tsr_plan *plan, double alpha, tsr_sparse *a, const tsr_dense *b, double beta, const tsr_dense *c,
                             const tsr_batch *of, void *stream)
{
    const batch all = {.plan = plan, .of = of, .alpha = tsr_complex_of(alpha), .beta = tsr_complex_of(beta), .a = a, .first = b, .second = c, .stream = stream};
    if (!of) {
        return tsr_native_null("batch");
    }
    tsr_status status = tsr_native_check_execute(plan, all.alpha, a, b, all.beta, c, stream);
    if (status == TSR_OK) {
        status = check_products(&all);
    }
    if (status != TSR_OK || of->count == 0) {
        return status;
    }
    if (!is_wide(&all)) {
        return run_all(&all);
    }
    const tsr_dense first = widen(b, of->count), second = widen(c, of->count);
    return tsr_native_run(plan, all.alpha, a, &first, all.beta, &second, stream);
}

tsr_status tsr_execute_sddmm_batch(const tsr_plan *plan, double alpha, const tsr_dense *x, const tsr_dense *y, double beta, tsr_sparse *s,
                                   void *values, const tsr_batch *of, void *stream)
{
    const batch all = {.plan = plan, .of = of, .alpha = tsr_complex_of(alpha), .beta = tsr_complex_of(beta), .a = s, .first = x, .second = y, .values = values,
                       .stream = stream};
    if (!of) {
        return tsr_native_null("batch");
    }
    tsr_status status = tsr_native_check_sddmm(plan, alpha, x, y, beta, s, values, stream);
    if (status == TSR_OK) {
        status = check_samples(&all);
    }
    return status == TSR_OK && s->view.nvals > 0 ? run_all(&all) : status;
}
