/* Estimates of SuiteSparse's time: a part of each kind of product is computed by it once, and counts for the whole.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/product/savings.h"

#include <math.h>
#include <stdlib.h>

#include "src/base/hash.h"
#include "src/base/types.h"
#include "src/policy/history/history.h"
#include "src/policy/price/route.h"

enum { KINDS = 256, LARGEST_PART = 4, STEP = 4, REPEATS = 3, MANY_ROWS = 256, RUN = 16 };
/* A part is large enough when it takes such a part of what all would take, at least least_ms, or else enough_ms; and such a share of
 * what the product is predicted to take here. */
static const double enough_part = 0.05, least_ms = 4, enough_ms = 32, enough_share = 0.01;

/* Products alike in everything but their entries: what one of `entries` takes, by measurement; ms < 0: it cannot be measured. */
typedef struct kind {
    uint64_t key;
    double entries, ms;
} kind;

static TSR_HISTORY_TABLE(kinds, kind, KINDS);
static tsr_history history = TSR_HISTORY(kinds);

static uint64_t key_of(const tsr_call *call)
{
    const tsr_product *p = &call->product;
    const uint64_t parts[] = {(uint64_t)p->op, (uint64_t)p->semiring.add, (uint64_t)p->semiring.mul, (uint64_t)p->semiring.type, (uint64_t)p->m,
                              (uint64_t)p->n, (uint64_t)p->k, p->a.by_col, p->b.by_col, call->c_by_col, (uint64_t)p->nthreads};
    return tsr_history_key(parts, sizeof parts / sizeof *parts);
}

static double entries_of(const tsr_product *p)
{
    return (double)(tsr_is_masked(p->op) ? p->mask.nvals : p->a.nvals);
}

/* `count` <= n / LARGEST_PART rows of n, or one: runs from random places, one in each of as many pieces.  Neighbours are in a run of a large
 * part, since their operands are found in the cache when the whole is computed. */
static void draw(int64_t *rows, int64_t count, int64_t n)
{
    const int64_t run = count < MANY_ROWS ? 1 : RUN, pieces = (count + run - 1) / run;
    for (int64_t k = 0; k < count; k++) {
        const int64_t piece = k / run, first = piece * n / pieces, last = (piece + 1) * n / pieces;
        rows[k] = first + (int64_t)tsr_order_hash((uint32_t)piece + 12345) % (last - first - run + 1) + k % run;
    }
}

/* ---- how much work a row is ---- */

static int64_t index_at(const tsr_view *v, int64_t place)
{
    return v->index_size == 4 ? ((const uint32_t *)v->i)[place] : ((const int64_t *)v->i)[place];
}

static bool has_vectors(const tsr_view *v, bool by_col)
{
    return v->format == TSR_SPARSE && !v->h && v->by_col == by_col;
}

static int64_t length_of(const tsr_view *v, int64_t vector)
{
    return tsr_view_start(v, vector + 1) - tsr_view_start(v, vector);
}

/* The operand whose vectors belong to rows of C, and the other one: where the product is computed transposed, they have changed places. */
typedef struct sides {
    const tsr_view *own, *other;
} sides;

static sides sides_of(const tsr_call *call)
{
    const tsr_product *p = &call->product;
    return call->swapped ? (sides){&p->b, &p->a} : (sides){&p->a, &p->b};
}

/* Does `weight_of` know the work of a row?  Else entries count alike. */
static bool can_weigh(const tsr_call *call)
{
    const tsr_product *p = &call->product;
    const sides s = sides_of(call);
    if (!tsr_is_masked(p->op))
        return has_vectors(s.own, call->swapped) && has_vectors(s.other, call->swapped);
    return p->op == TSR_OP_MASKED_DOT && has_vectors(&p->mask, call->swapped) && has_vectors(&p->a, false) && has_vectors(&p->b, true);
}

/* Multiplications of sparse times sparse, or steps of the dot products of the mask's entries.  rows: NULL is all. */
static double weight_of(const tsr_call *call, const int64_t *rows, int64_t count)
{
    const sides s = sides_of(call);
    const bool masked = tsr_is_masked(call->product.op);
    const tsr_view *walked = masked ? &call->product.mask : s.own;
    double weight = 0;
    for (int64_t k = 0; k < count; k++) {
        const int64_t row = rows ? rows[k] : k;
        for (int64_t e = tsr_view_start(walked, row), end = tsr_view_start(walked, row + 1); e < end; e++) {
            const int64_t other = length_of(s.other, index_at(walked, e));
            weight += masked ? tsr_merge_steps((double)length_of(s.own, row), (double)other) : (double)other;
        }
    }
    return weight;
}

/* ---- parts ---- */

typedef struct part {
    double ms, work, all; /* work of the part, of the whole, in any unit */
} part;

/* The least of several times where they are short: others were interrupted, or the first in their memory. */
static bool take(part *out, const tsr_call *call, int64_t *rows, int64_t count, int64_t nrows)
{
    tsr_sample sample = {.rows = rows, .count = count, .masked = tsr_is_masked(call->product.op), .nthreads = call->product.nthreads};
    draw(rows, count, nrows);
    for (int k = 0; k == 0 || (k < REPEATS && out->ms < least_ms); k++) {
        if (!call->door->sample(&call->given, &sample))
            return false;
        out->ms = k == 0 || sample.ms < out->ms ? sample.ms : out->ms;
    }
    const bool weigh = can_weigh(call);
    out->work = weigh ? weight_of(call, rows, count) : (double)sample.entries;
    out->all = weigh ? weight_of(call, NULL, nrows) : (double)sample.all;
    return true;
}

/* The whole, by one part. */
static double scaled(const part *p)
{
    return p->work > 0 ? p->ms * p->all / p->work : 0;
}

static bool is_enough(const part *p, double predicted_ms)
{
    return p->ms >= fmax(fmin(fmax(scaled(p) * enough_part, least_ms), enough_ms), predicted_ms * enough_share);
}

/* Parts grow until one is enough: its time counts for the whole, but for what does not depend on the size, which the quickest tells
 * (a part of one row may be computed in another, slower way).  If that one was quicker by its work too, there is nothing to be told. */
static double measure(const tsr_call *call, int64_t *rows, int64_t nrows)
{
    part quickest, last;
    int64_t count = nrows / 1024 > 0 ? nrows / 1024 : 1;
    if (!take(&last, call, rows, count, nrows))
        return -1;
    quickest = last;
    while ((!is_enough(&last, call->decision.predicted_ms) || last.work == quickest.work) && STEP * count <= nrows / LARGEST_PART) {
        count *= STEP;
        if (!take(&last, call, rows, count, nrows))
            return -1;
        if (last.ms < quickest.ms)
            quickest = last;
    }
    if (last.work <= quickest.work || scaled(&quickest) <= scaled(&last))
        return last.work > 0 ? scaled(&last) : -1;
    return quickest.ms + (last.ms - quickest.ms) * (last.all - quickest.work) / (last.work - quickest.work);
}

static double measure_rows(const tsr_call *call)
{
    const int64_t nrows = call->swapped ? call->product.n : call->product.m;
    int64_t *rows = malloc((size_t)(nrows > 0 ? nrows : 1) * sizeof *rows);
    const double ms = rows && nrows > 0 ? measure(call, rows, nrows) : -1;
    free(rows);
    return ms;
}

/* By a product of about as many entries. */
static bool remember(double *ms, uint64_t key, double entries)
{
    TSR_HISTORY_LOCK(&history);
    const kind *k = tsr_history_find(&history, key);
    if (!k || entries >= 1.5 * k->entries || k->entries >= 1.5 * entries)
        return false;
    *ms = k->ms < 0 ? k->ms : k->ms * entries / k->entries;
    return true;
}

static void keep(uint64_t key, double entries, double ms)
{
    TSR_HISTORY_LOCK(&history);
    kind *k = tsr_history_entry(&history, key);
    k->entries = entries;
    k->ms = ms;
}

double tsr_engine_other_ms(const tsr_call *call)
{
    if (!call->door || !call->door->sample || call->given.vector || call->in_place)
        return -1;
    const uint64_t key = key_of(call);
    const double entries = entries_of(&call->product);
    double ms;
    if (!remember(&ms, key, entries)) {
        ms = measure_rows(call);
        keep(key, entries, ms);
    }
    return ms;
}
