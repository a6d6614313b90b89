/* Row windows: the sorted union of the columns of a few consecutive rows, and where each entry stands in it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/format/blocks/tc_blocks.h"
#include "src/base/split.h"

#include <stdlib.h>
#include <string.h>

#define ROW_BITS 6
#define MOST_HEIGHT (1 << ROW_BITS)

void tsr_window_rows(const tsr_windows *w, int64_t v, int64_t *first, int64_t *last)
{
    *first = v * w->height;
    *last = w->nrows - *first < w->height ? w->nrows : *first + w->height;
}

void tsr_for_windows(const tsr_windows *w, int nthreads, void (*step)(void *context, int64_t v), void *context)
{
    int nparts = tsr_parts(w->nvals, 1 << 15, nthreads);
#pragma omp parallel for num_threads(tsr_team(nparts)) schedule(static, 1) if (nparts > 1)
    for (int part = 0; part < nparts; part++) {
        int64_t last = tsr_part_vector(w->entry, w->nwindows, part + 1, nparts);
        for (int64_t v = tsr_part_vector(w->entry, w->nwindows, part, nparts); v < last; v++)
            step(context, v);
    }
}

/* ---- the union of the rows of one window ---- */

/* Keys are distinct; which side gives the next one is hard to predict, so it is computed.  Both ends at once: two chains of
 * dependent steps instead of one. */
static void merge(uint64_t *restrict out, const uint64_t *a, const uint64_t *a_end, const uint64_t *b, const uint64_t *b_end)
{
    uint64_t *out_end = out + (a_end - a) + (b_end - b);
    while (a_end - a > 1 && b_end - b > 1) {
        uint64_t from_a = *a, from_b = *b, last_a = a_end[-1], last_b = b_end[-1];
        bool left = from_a < from_b, right = last_a > last_b;
        *out++ = left ? from_a : from_b;
        a += left;
        b += !left;
        *--out_end = right ? last_a : last_b;
        a_end -= right;
        b_end -= !right;
    }
    while (a < a_end && b < b_end)
        *out++ = *a < *b ? *a++ : *b++;
    memcpy(out, a, (size_t)(a_end - a) * sizeof *a);
    memcpy(out + (a_end - a), b, (size_t)(b_end - b) * sizeof *b);
}

/* Merges the runs [end[k-1], end[k]) of keys, two at a time, until one is left; returns the buffer it is in. */
static uint64_t *merge_runs(uint64_t *keys, uint64_t *other, int64_t *end, int nruns)
{
    while (nruns > 1) {
        int64_t begin = 0;
        int merged = 0;
        for (int k = 0; k < nruns; k += 2) {
            int64_t middle = end[k], last = k + 1 < nruns ? end[k + 1] : middle;
            merge(other + begin, keys + begin, keys + middle, keys + middle, keys + last);
            end[merged++] = begin = last;
        }
        nruns = merged;
        uint64_t *swapped = keys;
        keys = other;
        other = swapped;
    }
    return keys;
}

/* Entries of rows [first, last) by column; scratch holds twice as many keys.  key = column << ROW_BITS | row in window. */
static const uint64_t *sort_window(uint64_t *scratch, const tsr_source *in, int64_t first, int64_t last)
{
    int64_t begin = in->p[first], end[MOST_HEIGHT];
    int nruns = 0;
    for (int64_t row = first; row < last; row++) {
        if (in->p[row] == in->p[row + 1])
            continue;
        for (int64_t e = in->p[row]; e < in->p[row + 1]; e++)
            scratch[e - begin] = (uint64_t)in->i[e] << ROW_BITS | (uint64_t)(row - first);
        end[nruns++] = in->p[row + 1] - begin;
    }
    return merge_runs(scratch, scratch + (in->p[last] - begin), end, nruns);
}

/* Writes the columns of window v to column, the place of every entry of it to place; returns the number of columns. */
static int64_t fill_window(uint32_t *column, uint32_t *place, uint64_t *scratch, const tsr_source *in, const tsr_windows *w,
                           int64_t v)
{
    int64_t first, last, next[MOST_HEIGHT], count = 0;
    tsr_window_rows(w, v, &first, &last);
    int64_t n = in->p[last] - in->p[first];
    const uint64_t *keys = sort_window(scratch, in, first, last);
    for (int64_t row = first; row < last; row++)
        next[row - first] = in->p[row];
    for (int64_t k = 0; k < n; k++) {
        uint32_t here = (uint32_t)(keys[k] >> ROW_BITS);
        if (!count || column[count - 1] != here)
            column[count++] = here;
        place[next[keys[k] & (MOST_HEIGHT - 1)]++] = (uint32_t)(count - 1);
    }
    return count;
}

/* ---- all windows ---- */

/* Entries before each window; false: a window has too many. */
static bool count_entries(const tsr_windows *w, const tsr_source *in)
{
    int64_t first, last;
    w->entry[0] = 0;
    for (int64_t v = 0; v < w->nwindows; v++) {
        tsr_window_rows(w, v, &first, &last);
        w->entry[v + 1] = in->p[last];
        if (w->entry[v + 1] - w->entry[v] > INT32_MAX)
            return false;
    }
    return true;
}

/* Columns of a window go where its entries begin: there are no more of them.  vector[v+1] = their number. */
static tsr_status union_rows(tsr_windows *w, uint32_t *wide, uint32_t *place, const tsr_source *in, int nthreads)
{
    int nparts = tsr_parts(in->nvals, 1 << 14, nthreads);
    tsr_share *shares = tsr_make_shares(w->entry, w->nwindows, nparts, 2 * sizeof(uint64_t));
    if (!shares)
        return TSR_OUT_OF_MEMORY;
#pragma omp parallel for num_threads(tsr_team(nparts)) schedule(static, 1) if (nparts > 1)
    for (int part = 0; part < nparts; part++)
        for (int64_t v = shares[part].first; v < shares[part].last; v++)
            w->vector[v + 1] = fill_window(wide + w->entry[v], place, shares[part].scratch, in, w, v);
    tsr_free_shares(shares);
    return TSR_OK;
}

static void add_up(tsr_windows *w)
{
    w->vector[0] = w->block[0] = 0;
    for (int64_t v = 0; v < w->nwindows; v++) {
        int64_t here = w->vector[v + 1];
        w->vector[v + 1] = w->vector[v] + here;
        w->block[v + 1] = w->block[v] + (here + w->width - 1) / w->width;
    }
    w->nvectors = w->vector[w->nwindows];
    w->nblocks = w->block[w->nwindows];
}

static tsr_status close_gaps(tsr_windows *w, const uint32_t *wide, int nthreads)
{
    w->column = tsr_format_alloc(w->nvectors, sizeof *w->column);
    if (!w->column)
        return TSR_OUT_OF_MEMORY;
    int nparts = tsr_parts(w->nvectors, 1 << 16, nthreads);
#pragma omp parallel for num_threads(tsr_team(nparts)) schedule(static, 1) if (nparts > 1)
    for (int part = 0; part < nparts; part++) {
        int64_t last = tsr_part_vector(w->vector, w->nwindows, part + 1, nparts);
        for (int64_t v = tsr_part_vector(w->vector, w->nwindows, part, nparts); v < last; v++)
            memcpy(w->column + w->vector[v], wide + w->entry[v], (size_t)(w->vector[v + 1] - w->vector[v]) * sizeof *wide);
    }
    return TSR_OK;
}

static tsr_status fill(tsr_windows *w, uint32_t *place, const tsr_source *in, int nthreads)
{
    uint32_t *wide = tsr_format_alloc(in->nvals, sizeof *wide);
    tsr_status status = wide ? union_rows(w, wide, place, in, nthreads) : TSR_OUT_OF_MEMORY;
    if (status == TSR_OK) {
        add_up(w);
        status = close_gaps(w, wide, nthreads);
    }
    free(wide);
    return status;
}

static tsr_status allocate(tsr_windows *w)
{
    w->entry = tsr_format_alloc(w->nwindows + 1, sizeof *w->entry);
    w->vector = tsr_format_alloc(w->nwindows + 1, sizeof *w->vector);
    w->block = tsr_format_alloc(w->nwindows + 1, sizeof *w->block);
    return w->entry && w->vector && w->block ? TSR_OK : TSR_OUT_OF_MEMORY;
}

tsr_status tsr_make_windows(tsr_windows *out, uint32_t **place, const tsr_source *in, int height, int width, int nthreads)
{
    tsr_windows w = {.height = height, .width = width, .nrows = in->nrows, .ncols = in->ncols, .nvals = in->nvals};
    memset(out, 0, sizeof *out);
    *place = NULL;
    if (height < 1 || height > MOST_HEIGHT || width < 1)
        return TSR_INVALID_VALUE;
    if (in->ncols > (int64_t)1 << 32)
        return TSR_NOT_SUPPORTED;
    w.nwindows = in->nrows / height + (in->nrows % height > 0);
    uint32_t *places = NULL;
    tsr_status status = allocate(&w);
    if (status == TSR_OK && !count_entries(&w, in))
        status = TSR_NOT_SUPPORTED;
    if (status == TSR_OK && !(places = tsr_format_alloc(in->nvals, sizeof *places)))
        status = TSR_OUT_OF_MEMORY;
    if (status == TSR_OK)
        status = fill(&w, places, in, nthreads);
    if (status != TSR_OK) {
        tsr_free_windows(&w);
        free(places);
        return status;
    }
    *out = w;
    *place = places;
    return TSR_OK;
}

tsr_status tsr_make_format(tsr_windows *w, const tsr_source *in, int height, int width, int nthreads, tsr_fill *fill_rest, void *context)
{
    uint32_t *place;
    tsr_status status = tsr_make_windows(w, &place, in, height, width, nthreads);
    if (status == TSR_OK)
        status = fill_rest(context, in, place, nthreads);
    free(place);
    return status;
}

void tsr_free_windows(tsr_windows *w)
{
    free(w->entry);
    free(w->vector);
    free(w->block);
    free(w->column);
    memset(w, 0, sizeof *w);
}

size_t tsr_bytes_windows(const tsr_windows *w)
{
    return 3 * ((size_t)w->nwindows + 1) * sizeof *w->entry + (size_t)w->nvectors * sizeof *w->column;
}
