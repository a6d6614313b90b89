/* Matrices given as coordinates or blocks: copied to rows.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "src/base/types.h"
#include "src/format/sparse/format.h"
#include "src/sparse_blas/native.h"

static size_t size_of(tsr_index_type type)
{
    return type == TSR_INDEX_32 ? 4 : 8;
}

/* ---- arrays of the caller ---- */

enum { ARRAYS = 3 };

/* Copies of what is in device memory, or does not count from 0. */
typedef struct held {
    void *copy[ARRAYS];
} held;

static void drop(held *h)
{
    for (int k = 0; k < ARRAYS; k++) {
        free(h->copy[k]);
    }
}

static tsr_status fetch_array(held *h, int k, const void **array, int64_t count, size_t size, tsr_memory_space memory)
{
    const size_t bytes = (size_t)count * size;
    if (memory == TSR_MEMORY_HOST || !*array || bytes == 0) {
        return TSR_OK;
    }
    h->copy[k] = malloc(bytes);
    if (!h->copy[k]) {
        return tsr_native_no_memory();
    }
    const tsr_status status = tsr_native_download(h->copy[k], *array, bytes);
    *array = h->copy[k];
    return status;
}

typedef struct range {
    const char *name;
    int64_t value, least, most;
} range;

static tsr_status check_ranges(const range *ranges, size_t count)
{
    tsr_status status = TSR_OK;
    for (size_t k = 0; k < count && status == TSR_OK; k++) {
        status = tsr_native_check_range(ranges[k].name, ranges[k].value, ranges[k].least, ranges[k].most);
    }
    return status;
}

/* One per entry or block, `below` of them possible. */
typedef struct index_list {
    const char *name;
    int place; /* in held */
    tsr_index_type type;
    int base;
    int64_t count, below;
} index_list;

static tsr_status check_indices(const index_list *s, const void *at)
{
    for (int64_t k = 0; k < s->count; k++) {
        const int64_t index = tsr_native_index_at(at, s->type, k);
        if (index < s->base || index - s->base >= s->below) {
            return tsr_native_fail(TSR_INVALID_VALUE, "%s[%lld] = %lld is not in %d to %lld", s->name, (long long)k, (long long)index, s->base,
                                   (long long)s->below - 1 + s->base);
        }
    }
    return TSR_OK;
}

/* In host memory they become a checked array that counts from 0. */
static tsr_status take_indices(held *h, const index_list *s, const void **at)
{
    const size_t size = size_of(s->type);
    tsr_status status = check_indices(s, *at);
    if (status != TSR_OK || s->base == 0) {
        return status;
    }
    if (!h->copy[s->place]) {
        h->copy[s->place] = malloc((size_t)s->count * size + 1);
        if (!h->copy[s->place]) {
            return tsr_native_no_memory();
        }
        memcpy(h->copy[s->place], *at, (size_t)s->count * size);
    }
    tsr_native_count_from_0(h->copy[s->place], size, s->count, s->base);
    *at = h->copy[s->place];
    return TSR_OK;
}

/* ---- the matrix by rows ---- */

/* Arrays of the library's own; i and x are as wide as the caller's. */
typedef struct rows {
    int64_t *p;
    void *i, *x;
} rows;

static void free_rows(rows *r)
{
    free(r->p);
    free(r->i);
    free(r->x);
}

static tsr_status make_entries(rows *r, int64_t nvals, size_t index_size, size_t value_size)
{
    r->i = malloc((size_t)nvals * index_size + 1);
    r->x = value_size ? malloc((size_t)nvals * value_size + 1) : NULL;
    return r->i && (r->x || !value_size) ? TSR_OK : tsr_native_no_memory();
}

static uint32_t *narrow(const int64_t *p, int64_t count)
{
    uint32_t *to = malloc((size_t)count * sizeof *to);
    for (int64_t k = 0; to && k < count; k++) {
        to[k] = (uint32_t)p[k];
    }
    return to;
}

/* The arrays become the matrix's.  Offsets of 32 bits are widened again by it. */
static tsr_status adopt(tsr_sparse **out, int64_t nrows, int64_t ncols, rows *r, tsr_index_type index_type, tsr_type type)
{
    uint32_t *narrowed = index_type == TSR_INDEX_32 ? narrow(r->p, nrows + 1) : NULL;
    if (index_type == TSR_INDEX_32 && !narrowed) {
        return tsr_native_no_memory();
    }
    const tsr_arrays arrays = {.index_type = index_type, .offsets = narrowed ? (void *)narrowed : r->p, .indices = r->i, .type = type, .values = r->x};
    tsr_status status = tsr_sparse_create_csr(out, nrows, ncols, &arrays, 0);
    free(narrowed);
    if (status != TSR_OK) {
        return status;
    }
    if (!(*out)->owned_offsets) {
        (*out)->owned_offsets = r->p;
        r->p = NULL;
    }
    (*out)->owned_indices = r->i;
    (*out)->owned_values = r->x;
    (*out)->copied = true;
    r->i = r->x = NULL;
    return TSR_OK;
}

static int64_t most_entries(tsr_index_type type)
{
    return type == TSR_INDEX_32 ? (int64_t)UINT32_MAX : INT64_C(1) << 60;
}

/* ---- coordinates ---- */

static tsr_status check_coordinates(const tsr_coordinates *in, int64_t nrows, int64_t ncols)
{
    const range ranges[] = {{"entries->index_type", in->index_type, 0, TSR_INDEX_64}, {"entries->memory", in->memory, 0, TSR_MEMORY_DEVICE},
                            {"entries->index_base", in->index_base, 0, 1},
                            {"entries->nvals", in->nvals, 0, most_entries(in->index_type)},
                            {"nrows", nrows, 0, most_entries(in->index_type)}, {"ncols", ncols, 0, most_entries(in->index_type)}};
    tsr_status status = check_ranges(ranges, sizeof ranges / sizeof *ranges);
    if (status == TSR_OK) {
        status = tsr_native_check_type("entries->type", in->type);
    }
    if (status == TSR_OK && in->nvals > 0 && (!in->rows || !in->columns)) {
        return tsr_native_null(in->rows ? "entries->columns" : "entries->rows");
    }
    return status;
}

static tsr_status sort_entries(rows *r, const tsr_coordinate_list *list, int64_t nrows)
{
    int64_t *next = malloc((size_t)(nrows + 1) * sizeof *next);
    r->p = malloc((size_t)(nrows + 1) * sizeof *r->p);
    tsr_status status = next && r->p ? make_entries(r, list->nvals, list->index_size, list->x ? list->value_size : 0) : tsr_native_no_memory();
    if (status == TSR_OK) {
        tsr_rows_of_coordinates(r->p, list, nrows);
        memcpy(next, r->p, (size_t)(nrows + 1) * sizeof *next);
        tsr_sort_coordinates(r->i, r->x, next, list);
    }
    free(next);
    return status;
}

static tsr_status from_coordinates(tsr_sparse **out, int64_t nrows, int64_t ncols, const tsr_coordinates *in)
{
    const size_t size = size_of(in->index_type);
    const tsr_coordinate_list list = {.index_size = size, .value_size = tsr_type_size(in->type), .nvals = in->nvals, .rows = in->rows,
                                      .columns = in->columns, .x = in->values};
    rows r = {0};
    tsr_status status = sort_entries(&r, &list, nrows);
    if (status == TSR_OK) {
        status = adopt(out, nrows, ncols, &r, in->index_type, in->type);
    }
    free_rows(&r);
    return status;
}

tsr_status tsr_sparse_create_coo(tsr_sparse **out, int64_t nrows, int64_t ncols, const tsr_coordinates *entries)
{
    held h = {{NULL}};
    if (!out || !entries) {
        return tsr_native_null(out ? "entries" : "out");
    }
    tsr_status status = check_coordinates(entries, nrows, ncols);
    if (status != TSR_OK) {
        return status;
    }
    tsr_coordinates in = *entries;
    const size_t size = size_of(in.index_type);
    status = fetch_array(&h, 0, &in.rows, in.nvals, size, in.memory);
    if (status == TSR_OK) {
        status = fetch_array(&h, 1, &in.columns, in.nvals, size, in.memory);
    }
    if (status == TSR_OK) {
        status = fetch_array(&h, 2, &in.values, in.nvals, tsr_type_size(in.type), in.memory);
    }
    const index_list of_rows = {"rows", 0, in.index_type, in.index_base, in.nvals, nrows},
                     of_columns = {"columns", 1, in.index_type, in.index_base, in.nvals, ncols};
    if (status == TSR_OK) {
        status = take_indices(&h, &of_rows, &in.rows);
    }
    if (status == TSR_OK) {
        status = take_indices(&h, &of_columns, &in.columns);
    }
    if (status == TSR_OK) {
        status = from_coordinates(out, nrows, ncols, &in);
    }
    drop(&h);
    return status;
}

/* ---- blocks ---- */

static tsr_status check_blocks(const tsr_blocks *in, int64_t nrows, int64_t ncols)
{
    const range ranges[] = {{"blocks->index_type", in->index_type, 0, TSR_INDEX_64}, {"blocks->memory", in->memory, 0, TSR_MEMORY_DEVICE},
                            {"blocks->layout", in->layout, 0, TSR_COL_MAJOR}, {"blocks->index_base", in->index_base, 0, 1},
                            {"blocks->height", in->height, 1, INT32_MAX}, {"blocks->width", in->width, 1, INT32_MAX},
                            {"nrows", nrows, 0, most_entries(in->index_type)}, {"ncols", ncols, 0, most_entries(in->index_type)}};
    tsr_status status = check_ranges(ranges, sizeof ranges / sizeof *ranges);
    if (status == TSR_OK) {
        status = tsr_native_check_type("blocks->type", in->type);
    }
    if (status == TSR_OK && (nrows % in->height || ncols % in->width)) {
        return tsr_native_fail(TSR_INVALID_VALUE, "blocks of %lld x %lld do not divide %lld x %lld", (long long)in->height, (long long)in->width,
                               (long long)nrows, (long long)ncols);
    }
    return status == TSR_OK && !in->offsets ? tsr_native_null("blocks->offsets") : status;
}

/* Offsets of blocks, as int64_t that count from 0; in->offsets is in host memory. */
static tsr_status widen_offsets(int64_t **p, const tsr_blocks *in, int64_t count)
{
    *p = malloc((size_t)count * sizeof **p);
    if (!*p) {
        return tsr_native_no_memory();
    }
    for (int64_t k = 0; k < count; k++) {
        (*p)[k] = tsr_native_index_at(in->offsets, in->index_type, k) - in->index_base;
        const int64_t least = k ? (*p)[k - 1] : 0;
        if ((*p)[k] < least || (k == 0 && (*p)[k] != 0)) {
            return tsr_native_fail(TSR_INVALID_VALUE, k ? "offsets[%lld] = %lld is less than %lld, the one before" : "offsets[%lld] = %lld is not %lld",
                                   (long long)k, (long long)(*p)[k] + in->index_base, (long long)least + in->index_base);
        }
    }
    const int64_t most = most_entries(in->index_type) / in->height / in->width;
    return tsr_native_check_range("the last offset", (*p)[count - 1], 0, most);
}

static tsr_status expand(rows *r, const tsr_block_list *list, int64_t nblocks)
{
    r->p = malloc((size_t)(list->nrows + 1) * sizeof *r->p);
    tsr_status status = r->p ? make_entries(r, nblocks * list->height * list->width, list->index_size, list->x ? list->value_size : 0)
                             : tsr_native_no_memory();
    if (status == TSR_OK) {
        tsr_rows_of_blocks(r->p, list);
        tsr_expand_blocks(r->i, r->x, r->p, list, tsr_native_threads());
    }
    return status;
}

/* p: offsets.  The other arrays may be in device memory. */
static tsr_status from_blocks(tsr_sparse **out, int64_t nrows, int64_t ncols, tsr_blocks *in, const int64_t *p, held *h)
{
    const int64_t nblocks = p[nrows / in->height];
    const size_t size = size_of(in->index_type);
    rows r = {0};
    tsr_status status = nblocks > 0 && !in->indices ? tsr_native_null("blocks->indices") : fetch_array(h, 1, &in->indices, nblocks, size, in->memory);
    if (status == TSR_OK) {
        status = fetch_array(h, 2, &in->values, nblocks * in->height * in->width, tsr_type_size(in->type), in->memory);
    }
    const index_list columns = {"indices", 1, in->index_type, in->index_base, nblocks, ncols / in->width};
    if (status == TSR_OK) {
        status = take_indices(h, &columns, &in->indices);
    }
    const tsr_block_list list = {.index_size = size, .value_size = tsr_type_size(in->type), .nrows = nrows, .height = in->height, .width = in->width,
                                 .by_col = in->layout == TSR_COL_MAJOR, .p = p, .columns = in->indices, .x = in->values};
    if (status == TSR_OK) {
        status = expand(&r, &list, nblocks);
    }
    if (status == TSR_OK) {
        status = adopt(out, nrows, ncols, &r, in->index_type, in->type);
    }
    free_rows(&r);
    return status;
}

tsr_status tsr_sparse_create_bsr(tsr_sparse **out, int64_t nrows, int64_t ncols, const tsr_blocks *blocks)
{
    held h = {{NULL}};
    int64_t *p = NULL;
    if (!out || !blocks) {
        return tsr_native_null(out ? "blocks" : "out");
    }
    tsr_status status = check_blocks(blocks, nrows, ncols);
    if (status != TSR_OK) {
        return status;
    }
    tsr_blocks in = *blocks;
    const int64_t count = nrows / in.height + 1;
    status = fetch_array(&h, 0, &in.offsets, count, size_of(in.index_type), in.memory);
    if (status == TSR_OK) {
        status = widen_offsets(&p, &in, count);
    }
    if (status == TSR_OK) {
        status = from_blocks(out, nrows, ncols, &in, p, &h);
    }
    free(p);
    drop(&h);
    return status;
}
