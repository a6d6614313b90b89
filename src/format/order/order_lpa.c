/* Sampled label propagation over the bipartite graph of rows and columns.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/format/order/order.h"

#include <stdlib.h>

#include "src/base/split.h"

typedef struct labels {
    const tsr_source *in;
    uint32_t *first, *row; /* [nrows] a row's first and present label */
    uint32_t *second;      /* [nrows] another min-hash */
    uint32_t *column;      /* [ncols] */
    uint64_t *offer;       /* [ncols] the least that rows have made */
    int nthreads;
} labels;

/* Some entries of a row: all, or one of each of `count` parts.  Returns how many. */
static int sample_row(const uint32_t **sample, uint32_t *drawn, const tsr_source *in, int64_t row, int count, int step)
{
    const uint32_t *columns = in->i + in->p[row];
    int64_t length = in->p[row + 1] - in->p[row];
    *sample = columns;
    if (length <= count)
        return (int)length;
    for (int k = 0; k < count; k++)
        drawn[k] = columns[tsr_order_pick(length, k, count, (uint32_t)row, step)];
    *sample = drawn;
    return count;
}

static void offer(uint64_t *least, uint64_t mine)
{
    uint64_t old = __atomic_load_n(least, __ATOMIC_RELAXED);
    while (mine < old && !__atomic_compare_exchange_n(least, &old, mine, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

static void offer_label(const labels *l, int64_t row, int step)
{
    uint32_t drawn[TSR_ORDER_VOTES];
    const uint32_t *sample;
    int n = sample_row(&sample, drawn, l->in, row, TSR_ORDER_VOTES, step + TSR_ORDER_STEPS);
    for (int k = 0; k < n; k++)
        offer(l->offer + sample[k], tsr_order_offer((uint32_t)row, sample[k], step, l->row[row]));
}

/* The most frequent one; of several, the one of least hash. */
static uint32_t most_frequent(const uint32_t *label, int n)
{
    uint32_t best = TSR_ORDER_EMPTY;
    uint64_t best_rank = UINT64_MAX;
    for (int k = 0; k < n; k++) {
        uint32_t count = 0;
        for (int other = 0; other < n; other++)
            count += label[other] == label[k];
        uint64_t rank = (uint64_t)(TSR_ORDER_SAMPLE - count) << 32 | tsr_order_hash(label[k]);
        if (rank < best_rank) {
            best_rank = rank;
            best = label[k];
        }
    }
    return best;
}

static uint32_t next_label(const labels *l, int64_t row, int step)
{
    uint32_t drawn[TSR_ORDER_SAMPLE], label[TSR_ORDER_SAMPLE];
    const uint32_t *sample;
    int n = sample_row(&sample, drawn, l->in, row, TSR_ORDER_SAMPLE, step);
    for (int k = 0; k < n; k++)
        label[k] = l->column[sample[k]];
    return most_frequent(label, n);
}

/* The column of least hash: the hash is one to one, so its column can be found again. */
static uint32_t first_label(const tsr_source *in, int64_t row, uint32_t least)
{
    int64_t e = in->p[row];
    if (e == in->p[row + 1])
        return TSR_ORDER_EMPTY;
    while (tsr_order_hash_of(0, in->i[e]) != least)
        e++;
    return in->i[e];
}

static void begin(labels *l)
{
    tsr_min_hashes(l->first, l->in, 0, l->nthreads);
    tsr_min_hashes(l->second, l->in, 1, l->nthreads);
    for (int64_t row = 0; row < l->in->nrows; row++)
        l->row[row] = l->first[row] = first_label(l->in, row, l->first[row]);
    for (int64_t column = 0; column < l->in->ncols; column++) {
        l->column[column] = (uint32_t)column;
        l->offer[column] = TSR_ORDER_NO_OFFER;
    }
}

static void take_offers(labels *l)
{
    for (int64_t column = 0; column < l->in->ncols; column++) {
        if (l->offer[column] != TSR_ORDER_NO_OFFER)
            l->column[column] = (uint32_t)l->offer[column];
        l->offer[column] = TSR_ORDER_NO_OFFER;
    }
}

static void propagate(labels *l, int step)
{
    int nparts = tsr_parts(l->in->nrows, 1 << 10, l->nthreads);
#pragma omp parallel for num_threads(tsr_team(nparts)) if (nparts > 1)
    for (int64_t row = 0; row < l->in->nrows; row++)
        offer_label(l, row, step);
    take_offers(l);
#pragma omp parallel for num_threads(tsr_team(nparts)) if (nparts > 1)
    for (int64_t row = 0; row < l->in->nrows; row++)
        l->row[row] = next_label(l, row, step);
}

tsr_status tsr_order_lpa(uint32_t *order, const tsr_source *in, int nthreads)
{
    labels l = {.in = in, .nthreads = nthreads};
    l.first = tsr_format_alloc(in->nrows, sizeof *l.first);
    l.second = tsr_format_alloc(in->nrows, sizeof *l.second);
    l.row = tsr_format_alloc(in->nrows, sizeof *l.row);
    l.column = tsr_format_alloc(in->ncols, sizeof *l.column);
    l.offer = tsr_format_alloc(in->ncols, sizeof *l.offer);
    uint32_t *scratch = tsr_format_alloc(in->nrows, sizeof *scratch);
    bool done = l.first && l.second && l.row && l.column && l.offer && scratch;
    if (done) {
        begin(&l);
        for (int step = 0; step < TSR_ORDER_STEPS; step++)
            propagate(&l, step);
        for (int64_t row = 0; row < in->nrows; row++)
            order[row] = (uint32_t)row;
        tsr_sort_by_key(order, scratch, l.second, in->nrows);
        tsr_sort_by_key(order, scratch, l.first, in->nrows);
        tsr_sort_by_key(order, scratch, l.row, in->nrows);
    }
    free(l.first);
    free(l.second);
    free(l.row);
    free(l.column);
    free(l.offer);
    free(scratch);
    return done ? TSR_OK : TSR_OUT_OF_MEMORY;
}
