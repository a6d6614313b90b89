/* Sparse arrays to the device, narrow indices and offsets for every vector; and back.  Indices cross the bus with 32 bits, and are widened by the
 * threads that take them out of staging memory; so do many offsets, which the device widens and narrows.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/transfer/csr.h"

#include <string.h>

#include "backends/cuda/transfer/fetch.h"
#include "backends/cuda/transfer/host_copy.h"
#include "backends/cuda/transfer/lists.h"

void tsr_cuda_csr_delete(tsr_cuda_csr *csr)
{
    tsr_cuda_csr_work_free(csr, tsr_cuda->compute);
    tsr_cuda_delete(csr->p);
    tsr_cuda_delete(csr->i);
    tsr_cuda_delete(csr->x);
    *csr = (tsr_cuda_csr){0};
}

int64_t tsr_cuda_find_name(const int64_t *h, int64_t nvec, int64_t name)
{
    int64_t low = 0, high = nvec;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (h[middle] < name)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- offsets ---- */

#ifndef TSR_CUDA_NARROW_LEAST
#define TSR_CUDA_NARROW_LEAST 65536 /* sending fewer as they are takes less time than a launch */
#endif

/* Room on the device for offsets of 32 bits on their way; NULL: they go with 64. */
static uint32_t *new_narrow(int64_t count, int64_t nvals)
{
    uint32_t *narrow = NULL;
    const size_t bytes = (size_t)count * sizeof *narrow;
    if (count < TSR_CUDA_NARROW_LEAST || nvals > UINT32_MAX || !tsr_cuda_has_room(bytes))
        return NULL;
    tsr_cuda->used += bytes;
    if (tsr_cuda_new((void **)&narrow, bytes) == TSR_OK)
        return narrow;
    tsr_cuda_unreserve(bytes);
    return NULL;
}

/* After a failure copies may be under way. */
static void delete_narrow(uint32_t *narrow, int64_t count, tsr_status status)
{
    if (status != TSR_OK)
        tsr_cuda_settle();
    tsr_cuda_delete(narrow);
    tsr_cuda_unreserve((size_t)count * sizeof *narrow);
}

static inline void put_offset(void *staging, int64_t at, int64_t offset, const bool narrow)
{
    if (narrow)
        ((uint32_t *)staging)[at] = (uint32_t)offset;
    else
        ((int64_t *)staging)[at] = offset;
}

/* narrow: known where this is called. */
static inline void fill_offsets_of(void *staging, const tsr_view *v, int64_t first, int64_t last, const bool narrow)
{
    if (!v->h) {
        for (int64_t vector = first; vector < last; vector++)
            put_offset(staging, vector - first, tsr_view_start(v, vector), narrow);
        return;
    }
    int64_t low = tsr_cuda_find_name(v->h, v->nvec, first);
    for (int64_t vector = first; vector < last; vector++) {
        while (low < v->nvec && v->h[low] < vector)
            low++;
        put_offset(staging, vector - first, tsr_view_start(v, low), narrow);
    }
}

static void fill_offsets(void *staging, const void *source, int64_t first, int64_t last)
{
    fill_offsets_of(staging, source, first, last, false);
}

static void fill_narrow_offsets(void *staging, const void *source, int64_t first, int64_t last)
{
    fill_offsets_of(staging, source, first, last, true);
}

static tsr_status upload_narrow_offsets(tsr_cuda_csr *csr, uint32_t *narrow, const tsr_view *v, int nthreads, int64_t *moved)
{
    const int64_t count = csr->nrows + 1;
    tsr_status status = tsr_cuda_after(tsr_cuda->up, tsr_cuda->compute);
    if (status == TSR_OK)
        status = tsr_cuda_host_copy(narrow, count, sizeof *narrow, fill_narrow_offsets, v, nthreads, moved);
    if (status == TSR_OK)
        status = tsr_cuda_after(tsr_cuda->compute, tsr_cuda->up);
    return status == TSR_OK ? tsr_cuda_copy_indices(csr->p, sizeof *csr->p, narrow, sizeof *narrow, count, tsr_cuda->compute) : status;
}

/* One entry in each vector: the device counts. */
static tsr_status upload_offsets(tsr_cuda_csr *csr, const tsr_view *v, int nthreads, int64_t *moved)
{
    const int64_t count = csr->nrows + 1;
    csr->single = !v->h && v->nvals == csr->nrows && tsr_cuda_counts_up(tsr_offsets_of(v), v->nvals, nthreads);
    if (csr->single)
        return tsr_cuda_number_offsets(csr->p, count, tsr_cuda->compute);
    uint32_t *narrow = new_narrow(count, v->nvals);
    if (!narrow)
        return tsr_cuda_host_copy(csr->p, count, sizeof *csr->p, fill_offsets, v, nthreads, moved);
    const tsr_status status = upload_narrow_offsets(csr, narrow, v, nthreads, moved);
    delete_narrow(narrow, count, status);
    return status;
}

/* ---- indices and values ---- */

static void fill_indices(void *staging, const void *source, int64_t first, int64_t last)
{
    const tsr_view *v = source;
    uint32_t *to = staging;
    if (v->index_size == 4) {
        memcpy(to, (const uint32_t *)v->i + first, (size_t)(last - first) * sizeof *to);
        return;
    }
    const int64_t *from = (const int64_t *)v->i + first;
    for (int64_t k = 0; k < last - first; k++)
        to[k] = (uint32_t)from[k];
}

static void fill_values(void *staging, const void *source, int64_t first, int64_t last)
{
    const tsr_view *v = source;
    size_t size = tsr_type_size(v->type);
    memcpy(staging, (const char *)v->x + (size_t)first * size, (size_t)(last - first) * size);
}

static tsr_status new_csr(tsr_cuda_csr *csr, size_t value_size)
{
    tsr_status status = tsr_cuda_new((void **)&csr->p, (size_t)(csr->nrows + 1) * sizeof *csr->p);
    if (status == TSR_OK)
        status = tsr_cuda_new((void **)&csr->i, (size_t)csr->nvals * sizeof *csr->i);
    if (status == TSR_OK && value_size)
        status = tsr_cuda_new(&csr->x, (size_t)csr->nvals * value_size);
    return status;
}

tsr_status tsr_cuda_csr_upload_values(tsr_cuda_csr *csr, const tsr_view *v, int nthreads, int64_t *moved)
{
    tsr_status status = tsr_cuda_after(tsr_cuda->up, tsr_cuda->compute);
    if (status == TSR_OK)
        status = tsr_cuda_host_copy(csr->x, csr->nvals, tsr_type_size(v->type), fill_values, v, nthreads, moved);
    return status == TSR_OK ? tsr_cuda_after(tsr_cuda->compute, tsr_cuda->up) : status;
}

tsr_status tsr_cuda_csr_upload(tsr_cuda_csr *csr, const tsr_view *v, size_t value_size, int nthreads, int64_t *moved)
{
    *csr = (tsr_cuda_csr){.nrows = v->by_col ? v->ncols : v->nrows, .ncols = v->vlen, .nvals = v->nvals};
    tsr_status status = new_csr(csr, value_size);
    if (status == TSR_OK)
        status = tsr_cuda_after(tsr_cuda->up, tsr_cuda->compute);
    if (status == TSR_OK)
        status = upload_offsets(csr, v, nthreads, moved);
    if (status == TSR_OK && !tsr_cuda_list_again(csr->i, v->i, v->index_size, v->nvals, nthreads))
        status = tsr_cuda_host_copy(csr->i, csr->nvals, sizeof *csr->i, fill_indices, v, nthreads, moved);
    if (status == TSR_OK && value_size)
        status = tsr_cuda_host_copy(csr->x, csr->nvals, value_size, fill_values, v, nthreads, moved);
    return status == TSR_OK ? tsr_cuda_after(tsr_cuda->compute, tsr_cuda->up) : status;
}

/* ---- to the host ---- */

typedef struct target {
    const tsr_download *to;
    int64_t row, entries; /* at which the arrays on the device begin */
    size_t size;          /* bytes of a value */
} target;

/* narrow: known where this is called. */
static inline void take_offsets_of(const target *t, const void *from, int64_t first, int64_t last, const bool narrow)
{
    const int64_t *h = t->to->h;
    if (!h)
        for (int64_t row = first; row < last; row++)
            t->to->p[t->row + row] = t->entries + tsr_offset(from, narrow, row - first);
    else
        for (int64_t v = tsr_cuda_find_name(h, t->to->nvec, t->row + first); v < t->to->nvec && h[v] < t->row + last; v++)
            t->to->p[v] = t->entries + tsr_offset(from, narrow, h[v] - t->row - first);
}

static int64_t take_offsets(void *described, const void *staging, int64_t first, int64_t last)
{
    take_offsets_of(described, staging, first, last, false);
    return 0;
}

static int64_t take_narrow_offsets(void *described, const void *staging, int64_t first, int64_t last)
{
    take_offsets_of(described, staging, first, last, true);
    return 0;
}

static int64_t take_indices(void *described, const void *staging, int64_t first, int64_t last)
{
    const target *t = described;
    if (t->to->index_size == 8)
        tsr_cuda_widen((int64_t *)t->to->i + t->entries + first, staging, last - first);
    else
        tsr_cuda_copy_out((uint32_t *)t->to->i + t->entries + first, staging, (size_t)(last - first) * sizeof(uint32_t));
    return 0;
}

static int64_t take_values(void *described, const void *staging, int64_t first, int64_t last)
{
    const target *t = described;
    tsr_cuda_copy_out((char *)t->to->x + (size_t)(t->entries + first) * t->size, staging, (size_t)(last - first) * t->size);
    return 0;
}

/* Offsets, with 32 bits where `narrow` has room for them, indices and values, as far as they are wanted; returns how many arrays that are. */
static int list_arrays(tsr_cuda_fetched *arrays, const tsr_cuda_csr *c, const uint32_t *narrow, target *t)
{
    int count = 0;
    if (t->to->p && narrow)
        arrays[count++] = (tsr_cuda_fetched){narrow, c->nrows, sizeof *narrow, take_narrow_offsets, t};
    else if (t->to->p)
        arrays[count++] = (tsr_cuda_fetched){c->p, c->nrows, sizeof *c->p, take_offsets, t};
    if (t->to->p && c->nvals)
        arrays[count++] = (tsr_cuda_fetched){c->i, c->nvals, sizeof *c->i, take_indices, t};
    if (t->to->x && c->nvals && t->size)
        arrays[count++] = (tsr_cuda_fetched){c->x, c->nvals, t->size, take_values, t};
    return count;
}

tsr_status tsr_cuda_csr_download(const tsr_cuda_csr *c, size_t value_size, int64_t first, int64_t entries, tsr_download *to)
{
    target t = {.to = to, .row = first, .entries = entries, .size = value_size};
    tsr_cuda_fetched arrays[TSR_CUDA_FETCHED];
    uint32_t *narrow = to->p ? new_narrow(c->nrows, c->nvals) : NULL;
    const int count = list_arrays(arrays, c, narrow, &t);
    tsr_status status = narrow ? tsr_cuda_copy_indices(narrow, sizeof *narrow, c->p, sizeof *c->p, c->nrows, tsr_cuda->compute) : TSR_OK;
    if (status == TSR_OK && count)
        status = tsr_cuda_fetch_all(arrays, count, to->nthreads, NULL, &to->bytes_moved);
    if (narrow)
        delete_narrow(narrow, c->nrows, status);
    return status;
}
