/* Sparse matrices of the native door: checked views or copies of the caller's arrays.
 * SPDX-License-Identifier: Apache-2.0 */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "src/sparse_blas/native.h"

static const int64_t most_size = INT64_C(1) << 60;

static tsr_status check_arguments(int64_t nrows, int64_t ncols, const tsr_arrays *in, unsigned flags)
{
    if (nrows < 0 || ncols < 0 || nrows > most_size || ncols > most_size) {
        return TSR_INVALID_VALUE;
    }
    bool narrow = in->index_type == TSR_INDEX_32;
    if ((!narrow && in->index_type != TSR_INDEX_64) || (unsigned)in->type >= TSR_TYPE_COUNT) {
        return TSR_INVALID_VALUE;
    }
    if (narrow && (nrows > INT64_C(1) << 32 || ncols > INT64_C(1) << 32)) {
        return TSR_INVALID_VALUE;
    }
    return !in->offsets || (flags & ~(unsigned)(TSR_COPY | TSR_UNCHECKED)) ? TSR_INVALID_VALUE : TSR_OK;
}

/* ---- offsets: always int64_t inside ---- */

static int64_t *widen(const uint32_t *offsets, int64_t count)
{
    int64_t *wide = malloc((size_t)count * sizeof *wide);
    for (int64_t k = 0; wide && k < count; k++) {
        wide[k] = offsets[k];
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
    if (in->index_type == TSR_INDEX_32) {
        a->owned_offsets = widen(in->offsets, count);
    } else if (flags & TSR_COPY) {
        a->owned_offsets = copy_bytes(in->offsets, (size_t)count * sizeof(int64_t));
    } else {
        return TSR_OK;
    }
    a->view.p = a->owned_offsets;
    return a->view.p ? TSR_OK : TSR_OUT_OF_MEMORY;
}

static bool offsets_valid(const tsr_view *v)
{
    bool good = v->p[0] == 0;
    for (int64_t k = 0; k < v->nvec; k++) {
        good = good && v->p[k] <= v->p[k + 1];
    }
    return good;
}

/* ---- indices ---- */

static int64_t index_at(const tsr_view *v, int64_t k)
{
    return v->index_size == 4 ? (int64_t)((const uint32_t *)v->i)[k] : ((const int64_t *)v->i)[k];
}

/* In range?  *jumbled: some vector does not ascend. */
static bool indices_valid(const tsr_view *v, bool *jumbled)
{
    bool good = true, unsorted = false;
    const bool large = v->nvals > 100000;
    #pragma omp parallel for schedule(dynamic, 1024) reduction(&& : good) reduction(|| : unsorted) if (large)
    for (int64_t vec = 0; vec < v->nvec; vec++) {
        int64_t before = -1;
        for (int64_t k = v->p[vec]; k < v->p[vec + 1]; k++) {
            int64_t index = index_at(v, k);
            good = good && index >= 0 && index < v->vlen;
            unsorted = unsorted || index <= before;
            before = index;
        }
    }
    *jumbled = unsorted;
    return good;
}

static tsr_status check_arrays(tsr_sparse *a, const tsr_arrays *in, unsigned flags)
{
    tsr_view *v = &a->view;
    if (!(flags & TSR_UNCHECKED) && !offsets_valid(v)) {
        return TSR_INVALID_VALUE;
    }
    v->nvals = v->p[v->nvec];
    v->i = in->indices;
    if (v->nvals > 0 && !v->i) {
        return TSR_INVALID_VALUE;
    }
    return flags & TSR_UNCHECKED || indices_valid(v, &v->jumbled) ? TSR_OK : TSR_INVALID_VALUE;
}

/* ---- values ---- */

static void take_values(tsr_sparse *a, const tsr_arrays *in)
{
    a->view.type = in->type;
    a->view.iso = !in->values;
    a->view.x = in->values ? in->values : &a->one;
    if (in->type == TSR_FP32) {
        a->one.f = 1;
    } else if (in->type == TSR_FP64) {
        a->one.d = 1;
    } else {
        memset(&a->one, 0, sizeof a->one);
        memset(&a->one, 1, 1); /* the first byte: little-endian */
    }
}

static tsr_status copy_arrays(tsr_sparse *a)
{
    tsr_view *v = &a->view;
    a->copied = true;
    v->i = a->owned_indices = copy_bytes(v->i, (size_t)v->nvals * v->index_size);
    if (!v->iso) {
        v->x = a->owned_values = copy_bytes(v->x, (size_t)v->nvals * tsr_type_size(v->type));
    }
    return v->i && v->x ? TSR_OK : TSR_OUT_OF_MEMORY;
}

static tsr_status fill(tsr_sparse *a, const tsr_arrays *in, unsigned flags)
{
    tsr_status status = take_offsets(a, in, flags);
    if (status == TSR_OK) {
        status = check_arrays(a, in, flags);
    }
    if (status != TSR_OK) {
        return status;
    }
    take_values(a, in);
    if (flags & TSR_COPY && (status = copy_arrays(a)) != TSR_OK) {
        return status;
    }
    a->record = tsr_record_new();
    a->transposed = tsr_record_new();
    return a->record && a->transposed ? TSR_OK : TSR_OUT_OF_MEMORY;
}

static tsr_status create(tsr_sparse **out, int64_t nrows, int64_t ncols, bool by_col, const tsr_arrays *in,
                         unsigned flags)
{
    if (!out || !in) {
        return TSR_INVALID_VALUE;
    }
    tsr_status status = check_arguments(nrows, ncols, in, flags);
    if (status != TSR_OK) {
        return status;
    }
    tsr_sparse *a = calloc(1, sizeof *a);
    if (!a) {
        return TSR_OUT_OF_MEMORY;
    }
    a->view = (tsr_view){.format = TSR_SPARSE, .by_col = by_col, .index_size = in->index_type == TSR_INDEX_32 ? 4 : 8,
                         .nrows = nrows, .ncols = ncols, .nvec = by_col ? ncols : nrows,
                         .vlen = by_col ? nrows : ncols};
    status = fill(a, in, flags);
    if (status != TSR_OK) {
        tsr_sparse_destroy(a);
        return status;
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
        return TSR_INVALID_VALUE;
    }
    *(nrows ? nrows : &unused) = a->view.nrows;
    *(ncols ? ncols : &unused) = a->view.ncols;
    *(nvals ? nvals : &unused) = a->view.nvals;
    return TSR_OK;
}

tsr_status tsr_sparse_values_changed(tsr_sparse *a)
{
    if (!a || a->copied) {
        return TSR_INVALID_VALUE;
    }
    tsr_record_invalidate(a->record);
    tsr_record_invalidate(a->transposed);
    return TSR_OK;
}

tsr_status tsr_sparse_hint(tsr_sparse *a, tsr_op op, int64_t n, double expected_calls, tsr_precision precision,
                           bool deterministic)
{
    if (!a || (unsigned)op >= TSR_OP_COUNT || n < 0 || !(expected_calls >= 0) ||
        (unsigned)precision > TSR_PRECISION_FP16) {
        return TSR_INVALID_VALUE;
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
