/* How far a product of sparse matrices has to walk, by a sample.  An average row says little: where few rows have most entries, these
 * are what is met.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "src/base/types.h"
#include "src/format/sparse/format.h"
#include "src/policy/price/route.h"

enum {
    SAMPLES = 128,
    SAMPLES_LEAST = 16,
    ENTRIES_PER_SAMPLE = 512, /* a sample takes some 80 ns, SuiteSparse 5 and more for each entry */
    GALLOP = 8,
    ENTRIES_PER_MERGE = 2048, /* a merge takes the time of some ten products of short lists */
    MERGES_LEAST = 8,         /* fewer say nothing */
    STEPS_MOST = 64,          /* of a merge */
    LONG_MERGE = 8            /* steps; shorter ones have few ways to go */
};

static int64_t index_at(const tsr_view *v, int64_t e)
{
    return tsr_offset(v->i, v->index_size == 4, e);
}

/* The last of n ascending offsets that is <= key; -1: none. */
static int64_t last_not_above(const void *list, bool narrow, int64_t n, int64_t key)
{
    int64_t low = 0;
    while (n > 0) {
        const int64_t half = n / 2;
        const bool below = tsr_offset(list, narrow, low + half) <= key;
        low += below ? half + 1 : 0;
        n = below ? n - half - 1 : half;
    }
    return low - 1;
}

/* Entries of a row (by_col: column). */
typedef struct span {
    int64_t begin, end;
} span;

static span span_of(const tsr_view *v, int64_t vector)
{
    if (v->h) {
        int64_t at = last_not_above(v->h, false, v->nvec, vector);
        if (at < 0 || v->h[at] != vector)
            return (span){0, 0};
        vector = at;
    }
    return (span){tsr_view_start(v, vector), tsr_view_start(v, vector + 1)};
}

static double length_of(const tsr_view *v, int64_t vector)
{
    const span s = span_of(v, vector);
    return (double)(s.end - s.begin);
}

/* Row and column of entry e. */
static void place_of(const tsr_view *v, int64_t e, int64_t place[2])
{
    int64_t vector = last_not_above(v->p, v->narrow_offsets, v->nvec + 1, e);
    place[v->by_col] = v->h ? v->h[vector] : vector;
    place[!v->by_col] = index_at(v, e);
}

double tsr_merge_steps(double left, double right)
{
    const double shorter = left < right ? left : right, longer = left < right ? right : left;
    return shorter == 0 ? 0 : longer > GALLOP * shorter ? shorter * log2(longer) : shorter + longer;
}

/* A list meets a marked row (kernels/cpu/masked/masked_dot_rows.c), or the row a marked list. */
static double marked_steps(double row, double list)
{
    enum { DEFERRED = 60 };
    return tsr_is_far_longer((int64_t)list, (int64_t)row) ? DEFERRED + row : list;
}

/* What is added up of samples. */
typedef struct sums {
    tsr_walk walk;
    int64_t merges, distinct; /* that were walked, and how many of them go a way of their own */
    uint64_t ways[SAMPLES];
    double length, square; /* of two lists together */
} sums;

/* Rows of A and columns of B: the two for an entry of the mask. */
static void add_dot(sums *s, const tsr_product *p, int64_t e)
{
    int64_t place[2];
    place_of(&p->mask, e, place);
    const double a = length_of(&p->a, place[0]), b = length_of(&p->b, place[1]);
    s->walk.walked += 1 + (a < b ? a : b);
    s->walk.merged += tsr_merge_steps(a, b);
    s->walk.marked += p->mask.by_col ? marked_steps(b, a) : marked_steps(a, b);
    s->walk.blocks += (double)tsr_list_blocks((int64_t)a, (int64_t)b);
    s->length += a + b;
    s->square += (a + b) * (a + b);
}

static void add_way(sums *sum, uint64_t way)
{
    bool known = false;
    for (int64_t k = 0; k < sum->merges; k++)
        known |= sum->ways[k] == way;
    sum->distinct += !known;
    sum->ways[sum->merges++] = way;
}

/* Two ascending lists, from one to the other as SuiteSparse goes, as far as STEPS_MOST. */
static void add_merge(sums *sum, const tsr_product *p, int64_t e)
{
    int64_t place[2], steps = 0, turns = 0, common = 0;
    uint64_t way = 1;
    place_of(&p->mask, e, place);
    span a = span_of(&p->a, place[0]), b = span_of(&p->b, place[1]);
    const double whole = (double)(a.end - a.begin + b.end - b.begin);
    for (int last = 0; a.begin < a.end && b.begin < b.end && steps < STEPS_MOST; steps++) {
        const int64_t i = index_at(&p->a, a.begin), j = index_at(&p->b, b.begin);
        const int next = (i > j) - (i < j);
        turns += next != last;
        way = (way + (uint64_t)(next + 2)) * UINT64_C(0x9e3779b97f4a7c15);
        common += next == 0;
        a.begin += i <= j;
        b.begin += j <= i;
        last = next;
    }
    const double share = steps == STEPS_MOST ? whole / (double)(steps + common) : 1;
    sum->walk.turns += share * (double)turns;
    sum->walk.common += share * (double)common;
    add_way(sum, way);
}

/* How many of the samples are merged. */
static int64_t merges_of(const tsr_product *p, int64_t count, int64_t samples)
{
    const int64_t merges = count / ENTRIES_PER_MERGE < samples ? count / ENTRIES_PER_MERGE : samples;
    return p->a.jumbled || p->b.jumbled || !p->a.i || !p->b.i || merges < MERGES_LEAST ? 0 : merges;
}

/* Long lists of which a third at most go ways of their own: a processor remembers the others. */
static bool regular(const sums *s, double samples)
{
    return s->merges > 0 && 3 * s->distinct < s->merges && s->walk.merged >= LONG_MERGE * samples;
}

/* A quarter of the mean is as much as a branch can be surprised by. */
static double uneven(const sums *s, double samples)
{
    const double mean = s->length / samples, variance = s->square / samples - mean * mean;
    const double share = mean > 0 && variance > 0 ? 4 * sqrt(variance) / mean : 0;
    return share < 1 ? share : 1;
}

/* Rows of both: that of B which an entry of A meets; columns: that of A which an entry of B meets. */
static double met_list(const tsr_product *p, int64_t e)
{
    int64_t place[2];
    place_of(p->a.by_col ? &p->b : &p->a, e, place);
    return p->a.by_col ? length_of(&p->a, place[0]) : length_of(&p->b, place[1]);
}

tsr_walk tsr_sample_walk(const tsr_product *p)
{
    bool lists = tsr_is_compressed(&p->a) && tsr_is_compressed(&p->b), masked = p->op == TSR_OP_MASKED_DOT;
    bool dots = masked && !p->a.by_col && p->b.by_col;
    sums sum = {0};
    if (!lists || (masked ? !tsr_is_compressed(&p->mask) || (!dots && p->a.by_col != p->b.by_col) : !p->a.by_col))
        return sum.walk;
    int64_t count = dots ? p->mask.nvals : p->a.by_col ? p->b.nvals : p->a.nvals;
    int64_t samples = count / ENTRIES_PER_SAMPLE < SAMPLES_LEAST ? SAMPLES_LEAST : count / ENTRIES_PER_SAMPLE;
    samples = samples > SAMPLES ? SAMPLES : samples;
    samples = samples > count ? count : samples;
    const int64_t merges = dots ? merges_of(p, count, samples) : 0;
    for (int64_t k = 0; k < samples; k++) {
        int64_t e = (int64_t)((double)count * ((double)k + 0.5) / (double)samples);
        if (dots)
            add_dot(&sum, p, e);
        if (merges > 0 && sum.merges * samples <= k * merges)
            add_merge(&sum, p, e);
        if (!dots)
            sum.walk.walked += 1 + met_list(p, e);
    }
    const double share = samples > 0 ? (double)count / (double)samples : 0, of_merges = sum.merges ? (double)count / (double)sum.merges : 0;
    return (tsr_walk){.walked = sum.walk.walked * share, .merged = sum.walk.merged * share, .marked = sum.walk.marked * share,
                      .blocks = sum.walk.blocks * share, .turns = sum.walk.turns * of_merges, .common = sum.walk.common * of_merges,
                      .regular = regular(&sum, (double)samples), .uneven = samples > 0 ? uneven(&sum, (double)samples) : 0};
}
