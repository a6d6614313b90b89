/* Sparse matrices of the native door: checked views or copies of the caller's arrays.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "src/sparse_blas/native.h"

static const int64_t most_size = INT64_C(1) << 60;

static tsr_status check_arguments(int64_t nrows, int64_t ncols, const tsr_arrays *in, unsigned flags)
{
    const int64_t most = in->index_type == TSR_INDEX_32 ? INT64_C(1) << 32 : most_size;
    const struct {
        const char *name;
        int64_t value, most;
    } ranges[] = {{"arrays->index_type", in->index_type, TSR_INDEX_64}, {"arrays->memory", in->memory, TSR_MEMORY_DEVICE},
                  {"arrays->index_base", in->index_base, 1}, {"nrows", nrows, most}, {"ncols", ncols, most},
                  {"flags", flags, TSR_COPY | TSR_UNCHECKED}};
    for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++) {
        tsr_status status = tsr_native_check_range(ranges[k].name, ranges[k].value, 0, ranges[k].most);
        if (status != TSR_OK) {
            return status;
        }
    }
    tsr_status status = tsr_native_check_type("arrays->type", in->type);
    return status != TSR_OK || in->offsets ? status : tsr_native_null("arrays->offsets");
}

/* ---- offsets: always int64_t inside ---- */

/* A copy that counts from 0. */
static int64_t *widen(const tsr_arrays *in, int64_t count)
{
    int64_t *wide = malloc((size_t)count * sizeof *wide);
    for (int64_t k = 0; wide && k < count; k++) {
        wide[k] = tsr_native_index_at(in->offsets, in->index_type, k) - in->index_base;
    }
    return wide;
}

static void *copy_bytes(const void *from, size_t size)
{
    void *copy = malloc(size ? size : 1);
    if (copy && size) {
        memcpy(copy, from, size);
    }
    return copy;
}

static tsr_status take_offsets(tsr_sparse *a, const tsr_arrays *in, unsigned flags)
{
    int64_t count = a->view.nvec + 1;
    a->view.p = in->offsets;
    if (in->index_type == TSR_INDEX_32 || in->index_base) {
        a->owned_offsets = widen(in, count);
    } else if (flags & TSR_COPY) {
        a->owned_offsets = copy_bytes(in->offsets, (size_t)count * sizeof(int64_t));
    } else {
        return TSR_OK;
    }
    a->view.p = a->owned_offsets;
    return a->view.p ? TSR_OK : TSR_OUT_OF_MEMORY;
}

static tsr_status check_offsets(const tsr_view *v, int base)
{
    if (v->p[0] != 0) {
        return tsr_native_fail(TSR_INVALID_VALUE, "offsets[0] = %lld is not index_base = %d", (long long)v->p[0] + base, base);
    }
    for (int64_t k = 0; k < v->nvec; k++) {
        if (v->p[k] > v->p[k + 1]) {
            return tsr_native_fail(TSR_INVALID_VALUE, "offsets[%lld] = %lld is less than %lld, the one before", (long long)k + 1,
                                   (long long)v->p[k + 1] + base, (long long)v->p[k] + base);
        }
    }
    return TSR_OK;
}

/* ---- indices ---- */

static int64_t index_at(const tsr_view *v, int64_t k)
{
    return v->index_size == 4 ? (int64_t)((const uint32_t *)v->i)[k] : ((const int64_t *)v->i)[k];
}

/* Indices that count from `base`: in range?  *jumbled: some vector does not ascend. */
static tsr_status check_indices(const tsr_view *v, int base, bool *jumbled)
{
    int64_t wrong = INT64_MAX; /* the first one */
    bool unsorted = false;
    const bool large = v->nvals > 100000;
    #pragma omp parallel for schedule(dynamic, 1024) reduction(min : wrong) reduction(|| : unsorted) num_threads(tsr_native_threads()) if (large)
    for (int64_t vec = 0; vec < v->nvec; vec++) {
        int64_t before = -1;
        for (int64_t k = v->p[vec]; k < v->p[vec + 1]; k++) {
            int64_t index = index_at(v, k) - base;
            wrong = (index < 0 || index >= v->vlen) && k < wrong ? k : wrong;
            unsorted = unsorted || index <= before;
            before = index;
        }
    }
    *jumbled = unsorted;
    if (wrong == INT64_MAX) {
        return TSR_OK;
    }
    return tsr_native_fail(TSR_INVALID_VALUE, "indices[%lld] = %lld is not in %d to %lld", (long long)wrong, (long long)index_at(v, wrong), base,
                           (long long)v->vlen - 1 + base);
}

static tsr_status check_arrays(tsr_sparse *a, const tsr_arrays *in, unsigned flags)
{
    tsr_view *v = &a->view;
    tsr_status status = flags & TSR_UNCHECKED ? TSR_OK : check_offsets(v, in->index_base);
    if (status != TSR_OK) {
        return status;
    }
    v->nvals = v->p[v->nvec];
    v->i = in->indices;
    if (v->nvals > 0 && !v->i) {
        return tsr_native_null("arrays->indices");
    }
    status = flags & TSR_UNCHECKED ? TSR_OK : check_indices(v, in->index_base, &v->jumbled);
    return status == TSR_OK && v->jumbled ? tsr_native_check_repeats(v, in->index_base) : status;
}

/* ---- values ---- */

static void take_values(tsr_sparse *a, const tsr_arrays *in)
{
    a->view.type = in->type;
    a->view.iso = !in->values;
    a->view.x = in->values ? in->values : &a->one;
    memset(&a->one, 0, sizeof a->one);
    if (in->type == TSR_FP32 || in->type == TSR_FC32) {
        a->one.f = 1;
    } else if (in->type == TSR_FP64 || in->type == TSR_FC64) {
        a->one.d = 1;
    } else {
        memset(&a->one, 1, 1); /* the first byte: little-endian */
    }
}

/* Indices in memory of the matrix's own, which count from 0. */
static tsr_status take_indices(tsr_sparse *a, int base)
{
    tsr_view *v = &a->view;
    if (!a->owned_indices) {
        a->owned_indices = copy_bytes(v->i, (size_t)v->nvals * v->index_size);
    }
    if (base && a->owned_indices) {
        tsr_native_count_from_0(a->owned_indices, v->index_size, v->nvals, base);
    }
    v->i = a->owned_indices;
    return v->i ? TSR_OK : TSR_OUT_OF_MEMORY;
}

static tsr_status copy_values(tsr_sparse *a)
{
    tsr_view *v = &a->view;
    a->copied = true;
    if (!v->iso) {
        v->x = a->owned_values = copy_bytes(v->x, (size_t)v->nvals * tsr_type_size(v->type));
    }
    return v->x ? TSR_OK : TSR_OUT_OF_MEMORY;
}

static tsr_status fill_from_host(tsr_sparse *a, const tsr_arrays *in, unsigned flags)
{
    tsr_status status = take_offsets(a, in, flags);
    if (status == TSR_OK) {
        status = check_arrays(a, in, flags);
    }
    if (status != TSR_OK) {
        return status;
    }
    take_values(a, in);
    if (flags & TSR_COPY || in->index_base) {
        status = take_indices(a, in->index_base);
    }
    if (status == TSR_OK && flags & TSR_COPY) {
        status = copy_values(a);
    }
    if (status != TSR_OK) {
        return status;
    }
    a->record = tsr_record_new();
    a->transposed = tsr_record_new();
    return a->record && a->transposed ? TSR_OK : TSR_OUT_OF_MEMORY;
}

/* ---- arrays in device memory: copied ---- */

static tsr_status download(void **host, const void *device, int64_t count, size_t size)
{
    const size_t bytes = (size_t)count * size;
    *host = malloc(bytes ? bytes : 1);
    if (!*host) {
        return TSR_OUT_OF_MEMORY;
    }
    return bytes ? tsr_native_download(*host, device, bytes) : TSR_OK;
}

/* The arrays become a's own. */
static tsr_status fill_from_device(tsr_sparse *a, const tsr_arrays *in, unsigned flags)
{
    const size_t index_size = a->view.index_size, value_size = tsr_type_size(in->type);
    tsr_arrays host = *in;
    void *offsets = NULL;
    tsr_status status = download(&offsets, in->offsets, a->view.nvec + 1, index_size);
    const int64_t nvals = status == TSR_OK ? tsr_native_index_at(offsets, in->index_type, a->view.nvec) - in->index_base : 0;
    if (status == TSR_OK) {
        status = tsr_native_check_range("the last offset", nvals, 0, most_size);
    }
    if (status == TSR_OK && nvals > 0 && !in->indices) {
        status = tsr_native_null("arrays->indices");
    }
    if (status == TSR_OK) {
        status = download(&a->owned_indices, in->indices, nvals, index_size);
    }
    if (status == TSR_OK && in->values) {
        status = download(&a->owned_values, in->values, nvals, value_size);
    }
    host.offsets = offsets;
    host.indices = a->owned_indices;
    host.values = a->owned_values;
    if (status == TSR_OK) {
        status = fill_from_host(a, &host, flags & ~(unsigned)TSR_COPY);
    }
    if (a->owned_offsets) {
        free(offsets); /* widened */
    } else {
        a->owned_offsets = offsets;
    }
    a->copied = flags & TSR_COPY;
    a->device_values = a->copied ? NULL : in->values;
    return status;
}

static tsr_status fill(tsr_sparse *a, const tsr_arrays *in, unsigned flags)
{
    if (in->memory == TSR_MEMORY_DEVICE) {
        return fill_from_device(a, in, flags);
    }
    return fill_from_host(a, in, flags);
}

static tsr_status create(tsr_sparse **out, int64_t nrows, int64_t ncols, bool by_col, const tsr_arrays *in,
                         unsigned flags)
{
    if (!out || !in) {
        return tsr_native_null(out ? "arrays" : "out");
    }
    tsr_status status = check_arguments(nrows, ncols, in, flags);
    if (status != TSR_OK) {
        return status;
    }
    tsr_sparse *a = calloc(1, sizeof *a);
    if (!a) {
        return tsr_native_no_memory();
    }
    a->view = (tsr_view){.format = TSR_SPARSE, .by_col = by_col, .index_size = in->index_type == TSR_INDEX_32 ? 4 : 8,
                         .nrows = nrows, .ncols = ncols, .nvec = by_col ? ncols : nrows,
                         .vlen = by_col ? nrows : ncols};
    status = fill(a, in, flags);
    if (status != TSR_OK) {
        tsr_sparse_destroy(a);
        return status == TSR_OUT_OF_MEMORY ? tsr_native_no_memory() : status;
    }
    *out = a;
    return TSR_OK;
}

tsr_status tsr_sparse_create_csr(tsr_sparse **out, int64_t nrows, int64_t ncols, const tsr_arrays *arrays,
                                 unsigned flags)
{
    return create(out, nrows, ncols, false, arrays, flags);
}

tsr_status tsr_sparse_create_csc(tsr_sparse **out, int64_t nrows, int64_t ncols, const tsr_arrays *arrays,
                                 unsigned flags)
{
    return create(out, nrows, ncols, true, arrays, flags);
}

tsr_status tsr_sparse_size(const tsr_sparse *a, int64_t *nrows, int64_t *ncols, int64_t *nvals)
{
    int64_t unused;
    if (!a) {
        return tsr_native_null("a");
    }
    *(nrows ? nrows : &unused) = a->view.nrows;
    *(ncols ? ncols : &unused) = a->view.ncols;
    *(nvals ? nvals : &unused) = a->view.nvals;
    return TSR_OK;
}

tsr_status tsr_native_refresh(const tsr_sparse *constant)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    tsr_sparse *a = (tsr_sparse *)(uintptr_t)constant;
    tsr_status status = TSR_OK;
    if (!atomic_load_explicit(&a->stale, memory_order_acquire)) {
        return status;
    }
    pthread_mutex_lock(&lock);
    if (atomic_load_explicit(&a->stale, memory_order_relaxed)) {
        status = tsr_native_download(a->owned_values, a->device_values, (size_t)a->view.nvals * tsr_type_size(a->view.type));
        if (status == TSR_OK) {
            atomic_store_explicit(&a->stale, false, memory_order_release);
        }
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static tsr_status take_changed_values(tsr_sparse *a)
{
    if (a->copied) {
        return tsr_native_fail(TSR_INVALID_VALUE, "a holds copies of its arrays, which do not change");
    }
    atomic_store_explicit(&a->stale, a->device_values && a->view.nvals > 0, memory_order_release);
    a->changes++;
    tsr_record_invalidate(a->record);
    tsr_record_invalidate(a->transposed);
    return TSR_OK;
}

tsr_status tsr_sparse_values_changed(tsr_sparse *a)
{
    return a ? take_changed_values(a) : tsr_native_null("a");
}

tsr_status tsr_sparse_set_values(tsr_sparse *a, const void *values)
{
    if (!a || (!values && a->view.nvals > 0)) {
        return tsr_native_null(a ? "values" : "a");
    }
    if (!values) {
        return TSR_OK;
    }
    if (a->view.iso) {
        return tsr_native_fail(TSR_INVALID_VALUE, "a was made without values");
    }
    tsr_status status = take_changed_values(a);
    if (status == TSR_OK) {
        *(a->device_values ? &a->device_values : &a->view.x) = values;
    }
    return status;
}

tsr_status tsr_sparse_hint(tsr_sparse *a, tsr_op op, int64_t n, double expected_calls, tsr_precision precision,
                           bool deterministic)
{
    if (!a) {
        return tsr_native_null("a");
    }
    tsr_status status = tsr_native_check_range("op", op, 0, TSR_OP_COUNT - 1);
    if (status == TSR_OK) {
        status = tsr_native_check_range("n", n, 0, INT64_MAX);
    }
    if (status == TSR_OK) {
        status = tsr_native_check_range("precision", precision, 0, TSR_PRECISION_FP16);
    }
    if (status == TSR_OK && !(expected_calls >= 0)) {
        status = tsr_native_fail(TSR_INVALID_VALUE, "expected_calls = %g is negative or not a number", expected_calls);
    }
    if (status != TSR_OK) {
        return status;
    }
    a->hints[op] = (tsr_hint){n, expected_calls, precision, deterministic};
    return TSR_OK;
}

void tsr_sparse_destroy(tsr_sparse *a)
{
    if (!a) {
        return;
    }
    tsr_record_unref(a->record);
    tsr_record_unref(a->transposed);
    free(a->owned_offsets);
    free(a->owned_indices);
    free(a->owned_values);
    free(a);
}
