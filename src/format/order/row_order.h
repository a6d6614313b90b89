/* Row orders of a representation: what the makers on the host (src/format) and on the device (kernels/cuda) share, so that both give
 * the same order.  Integers only; nothing depends on timing or on the number of threads.
 *
 * An order is a list of rows: place r of the representation holds row order[r] of the matrix.  It never shows outside: kernels write
 * row r of the representation to row order[r] of C.  Columns keep their numbers.
 *
 * LPA, sampled label propagation.  Rows and columns have labels.  First a row's label is its column of least hash (a min-hash), a
 * column's its own number; then, TSR_ORDER_STEPS times, columns take the label of one of their rows, and rows the most frequent label
 * of a sample of their columns.  Rows are sorted by their last label, then by their first, then by another min-hash.  Rows and columns
 * being told apart, matrices need not be square, and rows and columns may have been numbered differently.
 * TCA, after the TCU-cache-aware reordering of DTC-SpMM (ASPLOS 2024), clusters found by sorting: rows by two min-hashes;
 * then, in turn, windows of TSR_ORDER_WINDOW rows by two min-hashes of their union.
 * LOA, after the layout optimization of HC-SpMM (ICDE 2025): LPA, then two steps by sketches.  A row's columns fall into TSR_ORDER_BUCKETS
 * buckets by hash, of each the least hash is kept; rows share a bucket in which these are the same.  First, where rows are not very
 * short, every TSR_ORDER_CHUNK rows are dealt to TSR_ORDER_PIVOTS of them, evenly spread, which tells communities within a community
 * apart: a row joins the pivot that it shares most buckets with, the first of several, or the one before it where there are fewer than
 * TSR_ORDER_LEAST_SHARED.  Then, in every group of TSR_ORDER_GROUP rows, windows are filled row by row with the one that shares most
 * buckets with the rows so far.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_FORMAT_ROW_ORDER_H
#define TSR_FORMAT_ROW_ORDER_H

#include "src/base/hash.h"

#define TSR_ORDER_STEPS 5      /* of label propagation */
#define TSR_ORDER_SAMPLE 32    /* entries of a row whose labels are counted */
#define TSR_ORDER_VOTES 8      /* columns that a row offers its label to */
#define TSR_ORDER_LONGEST 4096 /* entries of a row that min-hashes look at: the first */
#define TSR_ORDER_HASHES 4     /* min-hashes of TCA: two for rows, two for windows */
#define TSR_ORDER_WINDOW 16    /* rows */
#define TSR_ORDER_CHUNK 4096   /* rows dealt to pivots together */
#define TSR_ORDER_PIVOTS 64    /* of a chunk */
#define TSR_ORDER_LEAST_SHARED 2 /* buckets */
#define TSR_ORDER_SHORT 8      /* entries of a row on average: below, nothing is dealt */
#define TSR_ORDER_GROUP 512    /* rows among which LOA looks */
#define TSR_ORDER_FILLED 32    /* rows of the windows that LOA fills */
#define TSR_ORDER_BUCKETS 32   /* of a sketch */
#define TSR_ORDER_EMPTY UINT32_MAX /* label and min-hash of a row without entries: they come last */

/* Min-hash number k of TCA is the least of these. */
TSR_EVERYWHERE uint32_t tsr_order_hash_of(int k, uint32_t column)
{
    return tsr_order_hash(column + (uint32_t)k * 0x9e3779b9u);
}

/* The bucket of a column in sketches, and its hash there. */
TSR_EVERYWHERE int tsr_order_bucket(uint32_t column)
{
    return (int)(tsr_order_hash_of(TSR_ORDER_HASHES, column) / (UINT32_MAX / TSR_ORDER_BUCKETS + 1));
}
TSR_EVERYWHERE uint32_t tsr_order_bucket_hash(uint32_t column)
{
    return tsr_order_hash_of(TSR_ORDER_HASHES, column) & 0x7fff;
}
/* Of a bucket without columns: of a row, and of a window.  They never meet. */
#define TSR_ORDER_NOTHING 0xffffu
#define TSR_ORDER_NOTHING_YET 0xfffeu

/* Row of a chunk of n rows that is pivot number k < pivots of n; and the pivot at or before row `place`. */
TSR_EVERYWHERE int tsr_order_pivots(int n)
{
    return n < TSR_ORDER_PIVOTS ? n : TSR_ORDER_PIVOTS;
}
TSR_EVERYWHERE int tsr_order_pivot(int n, int k)
{
    return k * n / tsr_order_pivots(n);
}
TSR_EVERYWHERE int tsr_order_pivot_before(int n, int place)
{
    int pivots = tsr_order_pivots(n), k = place * pivots / n;
    return k + 1 < pivots && tsr_order_pivot(n, k + 1) <= place ? k + 1 : k;
}

/* Entry number k of a sample of `count` (a power of two) of a row's `length` > count entries: one of each of `count` equal parts. */
TSR_EVERYWHERE int64_t tsr_order_pick(int64_t length, int k, int count, uint32_t row, int step)
{
    int64_t first = length * k / count, end = length * (k + 1) / count;
    uint64_t drawn = tsr_order_hash(row * 37u + (uint32_t)step * 1000003u + (uint32_t)k);
    return first + (int64_t)(drawn * (uint64_t)(end - first) >> 32);
}

/* A row's offer of its label to a column; the least one is taken. */
TSR_EVERYWHERE uint64_t tsr_order_offer(uint32_t row, uint32_t column, int step, uint32_t label)
{
    return (uint64_t)tsr_order_hash(row * 2654435761u + column * 40503u + (uint32_t)step * 77777u) << 32 | label;
}
#define TSR_ORDER_NO_OFFER UINT64_MAX

/* ---- Does an order pay? ---- */

/* Small matrices are bound by launches and by their longest row, not by fetches: entries from which AUTO looks at a matrix at all. */
#ifndef TSR_ORDER_LEAST_ENTRIES
#define TSR_ORDER_LEAST_ENTRIES (1 << 20)
#endif

/* Nonzero vectors are counted in a sample of the rows: groups of consecutive places, spread evenly. */
#define TSR_ORDER_SAMPLE_GROUP 128
#define TSR_ORDER_SAMPLE_GROUPS 64

/* Rows of the sample of nrows rows; all where there are few. */
TSR_EVERYWHERE int64_t tsr_order_sampled(int64_t nrows)
{
    const int64_t most = (int64_t)TSR_ORDER_SAMPLE_GROUP * TSR_ORDER_SAMPLE_GROUPS;
    return nrows < most ? nrows : most;
}

/* The place of row k of the sample. */
TSR_EVERYWHERE int64_t tsr_order_sample_place(int64_t nrows, int64_t k)
{
    if (tsr_order_sampled(nrows) == nrows)
        return k;
    int64_t spare = nrows / TSR_ORDER_SAMPLE_GROUP - TSR_ORDER_SAMPLE_GROUPS, group = k / TSR_ORDER_SAMPLE_GROUP;
    return (group + spare * group / TSR_ORDER_SAMPLE_GROUPS) * TSR_ORDER_SAMPLE_GROUP + k % TSR_ORDER_SAMPLE_GROUP;
}

/* Nonzero vectors for an entry: samples of two orders are of different rows, with more or fewer entries. */
TSR_EVERYWHERE void tsr_order_per_entry(double out[5], const int64_t vectors[5], int64_t nvals)
{
    for (int h = 0; h < 5; h++)
        out[h] = nvals ? (double)vectors[h] / (double)nvals : 0.0;
}

/* own, ordered: nonzero vectors for an entry at heights 8, 16, 32, 64, 128 in the matrix's own order and in another one.  Fetches of rows
 * of B must become fewer by a tenth where windows have 32 rows, and not more where they have 128, which stands for what a cache holds. */
TSR_EVERYWHERE bool tsr_order_pays(const double own[5], const double ordered[5])
{
    return ordered[2] <= 0.9 * own[2] && ordered[4] <= own[4];
}

#endif
