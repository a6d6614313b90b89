/* Nonzero vectors at every height by one merge tree, and what follows from them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/format/blocks/tc_blocks.h"
#include "src/base/split.h"

#include <stdlib.h>
#include <string.h>

enum { HEIGHTS = 5, LOWEST = 8, TALLEST = 128 };

/* What is counted while merging; added up over threads. */
typedef struct counts {
    int64_t vectors[HEIGHTS];
    int64_t blocks_16x8, blocks_8x8, bricks_16x4, blocks_16x16;
} counts;

/* out = the union of two ascending sequences; returns its length. */
static int64_t unite(uint32_t *restrict out, const uint32_t *a, const uint32_t *a_end, const uint32_t *b, const uint32_t *b_end)
{
    uint32_t *begin = out;
    while (a < a_end && b < b_end) {
        uint32_t from_a = *a, from_b = *b;
        *out++ = from_a < from_b ? from_a : from_b;
        a += from_a <= from_b;
        b += from_b <= from_a;
    }
    memcpy(out, a, (size_t)(a_end - a) * sizeof *a);
    out += a_end - a;
    memcpy(out, b, (size_t)(b_end - b) * sizeof *b);
    return out + (b_end - b) - begin;
}

static void count_group(counts *c, int64_t rows, int64_t vectors)
{
    int index = __builtin_ctzll((uint64_t)rows / LOWEST);
    c->vectors[index] += vectors;
    if (rows == 8)
        c->blocks_8x8 += (vectors + 7) / 8;
    if (rows == 16) {
        c->blocks_16x8 += (vectors + 7) / 8;
        c->bricks_16x4 += (vectors + 3) / 4;
        c->blocks_16x16 += (vectors + 15) / 16;
    }
}

/* The windows of 128 rows that hold stored rows: their first ones. */
typedef struct tall_windows {
    const int64_t *row; /* numbers of the stored rows; NULL: all rows are stored */
    int64_t *first, *entry;
    int64_t n;
} tall_windows;

/* Groups of 1, 2, 4, … 128 rows; list g is at from[start[g]], its length is length[g]. */
static void count_window(counts *c, const tsr_source *in, uint32_t *scratch, const tall_windows *w, int64_t v)
{
    const int64_t first = w->first[v], last = w->first[v + 1], base = w->row ? w->row[first] / TALLEST * TALLEST : first;
    int64_t groups = w->row ? TALLEST : last - first, begin = in->p[first], n = in->p[last] - begin, start[TALLEST], length[TALLEST];
    const uint32_t *from = in->i + begin;
    uint32_t *to = scratch, *other = scratch + n;
    for (int64_t g = 0, r = first; g < groups; g++) {
        const bool stored = !w->row || (r < last && w->row[r] == base + g);
        start[g] = in->p[r] - begin;
        length[g] = stored ? in->p[r + 1] - in->p[r] : 0;
        r += stored;
    }
    for (int64_t rows = 2; rows <= TALLEST; rows *= 2) {
        for (int64_t g = 0; g < groups; g += 2) {
            const uint32_t *a = from + start[g], *a_end = a + length[g];
            const uint32_t *b = g + 1 < groups ? from + start[g + 1] : a_end, *b_end = g + 1 < groups ? b + length[g + 1] : b;
            start[g / 2] = start[g];
            length[g / 2] = unite(to + start[g], a, a_end, b, b_end);
            if (rows >= LOWEST)
                count_group(c, rows, length[g / 2]);
        }
        groups = (groups + 1) / 2;
        from = to;
        to = other;
        other = (uint32_t *)from;
    }
}

static void add(counts *sum, const counts *c)
{
    for (int h = 0; h < HEIGHTS; h++)
        sum->vectors[h] += c->vectors[h];
    sum->blocks_16x8 += c->blocks_16x8;
    sum->blocks_8x8 += c->blocks_8x8;
    sum->bricks_16x4 += c->bricks_16x4;
    sum->blocks_16x16 += c->blocks_16x16;
}

static void find_windows(tall_windows *w, const tsr_source *in)
{
    for (int64_t r = 0; r < in->nrows; r += w->row ? 1 : TALLEST)
        if (!w->row || r == 0 || w->row[r] / TALLEST != w->row[r - 1] / TALLEST) {
            w->first[w->n] = r;
            w->entry[w->n++] = in->p[r];
        }
    w->first[w->n] = in->nrows;
    w->entry[w->n] = in->nvals;
}

static bool count_all(counts *sum, const tsr_source *in, const tall_windows *w, int nthreads)
{
    int nparts = tsr_parts(in->nvals, 1 << 14, nthreads);
    tsr_share *shares = tsr_make_shares(w->entry, w->n, nparts, 2 * sizeof(uint32_t));
    if (!shares)
        return false;
#pragma omp parallel for num_threads(tsr_team(nparts)) schedule(static, 1) if (nparts > 1)
    for (int part = 0; part < nparts; part++) {
        counts mine = {0};
        for (int64_t v = shares[part].first; v < shares[part].last; v++)
            count_window(&mine, in, shares[part].scratch, w, v);
#pragma omp critical
        add(sum, &mine);
    }
    tsr_free_shares(shares);
    return true;
}

/* The arrays of tsr_windows. */
static int64_t window_bytes(int64_t nrows, int height, int64_t vectors)
{
    return 24 * (nrows / height + (nrows % height > 0) + 1) + 4 * vectors;
}

static void set_bytes(tsr_statistics *out, int64_t nrows, int64_t n, const counts *c)
{
    int64_t windows_8 = window_bytes(nrows, 8, c->vectors[0]), windows_16 = window_bytes(nrows, 16, c->vectors[1]);
    int64_t nwindows_16 = nrows / 16 + (nrows % 16 > 0);
    out->bytes_csr = 8 * (nrows + 1) + 8 * n;
    out->bytes_me_tcf = windows_16 + 4 * c->blocks_16x8 + 5 * n;
    out->bytes_me_bcrs = windows_8 + 32 * c->vectors[0];
    out->bytes_bmat_8 = windows_8 + 8 * c->blocks_8x8 + 4 * n;
    out->bytes_bmat_16 = windows_16 + 16 * c->blocks_16x8 + 4 * n;
    out->bytes_hrpb = windows_16 + 8 * (nwindows_16 + 1) + 4 * c->blocks_16x16 + 13 * c->bricks_16x4 + 4 * n;
}

static double ratio(int64_t n, int64_t of)
{
    return of ? (double)n / (double)of : 0;
}

tsr_status tsr_make_statistics(tsr_statistics *out, const tsr_source *in, int nthreads)
{
    return tsr_make_statistics_of_rows(out, in, NULL, in->nrows, nthreads);
}

tsr_status tsr_make_statistics_of_rows(tsr_statistics *out, const tsr_source *in, const int64_t *row, int64_t nrows, int nthreads)
{
    memset(out, 0, sizeof *out);
    if (in->ncols > (int64_t)1 << 32)
        return TSR_NOT_SUPPORTED;
    const int64_t most = row ? in->nrows : in->nrows / TALLEST + (in->nrows % TALLEST > 0);
    tall_windows w = {.row = row};
    w.first = tsr_format_alloc(most + 1, sizeof *w.first);
    w.entry = tsr_format_alloc(most + 1, sizeof *w.entry);
    counts sum = {0};
    bool done = w.first && w.entry;
    if (done) {
        find_windows(&w, in);
        done = count_all(&sum, in, &w, nthreads);
    }
    free(w.first);
    free(w.entry);
    if (!done)
        return TSR_OUT_OF_MEMORY;
    memcpy(out->vectors, sum.vectors, sizeof out->vectors);
    out->blocks_16x8 = sum.blocks_16x8;
    out->blocks_8x8 = sum.blocks_8x8;
    out->bricks_16x4 = sum.bricks_16x4;
    out->mean_nnz_tc = ratio(in->nvals, sum.blocks_16x8);
    out->alpha = ratio(in->nvals, sum.bricks_16x4) / 64;
    out->intensity = ratio(in->nvals, sum.vectors[1]);
    set_bytes(out, nrows, in->nvals, &sum);
    return TSR_OK;
}
