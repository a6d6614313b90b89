/* Measured times of each kind of product, and what they say about a route.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/policy/history/timing_history.h"

#include <string.h>

#include "src/base/pages.h"
#include "src/policy/history/history.h"

enum {
    PLACES = 1024,
    SETTLED = 3, /* calls of the first route before another is tried */
    TRIALS = 2   /* calls of another route before it is judged: the first does not count */
};
#define NEAR 1.25    /* predictions are about this wrong */
#define FAR 3.0      /* a first call so much slower has said enough, where it builds nothing */
#define CLEARLY 0.6  /* SuiteSparse, which is what programs had before, is left for a trial only for so much less … */
#define TRIAL_SHARE 0.03 /* … and where both trials together are no more than this of what its calls have taken */
#define LOSS 2.0     /* one call that takes so many times what SuiteSparse is predicted to take has said enough of our kernels */
#define BETTER 0.95  /* a switch must be worth it */
#define FORGET 0.125 /* weight of a slower call: one that was disturbed does little harm, a machine that has changed is noticed */

typedef struct timing {
    uint64_t key;
    unsigned calls[TSR_ROUTE_COUNT];
    double ms[TSR_ROUTE_COUNT], busy_ms[TSR_ROUTE_COUNT];
} timing;

/* slow: SuiteSparse takes as many times its prediction, so the machine or the model is to blame */
typedef struct judgement {
    uint64_t key;
    bool lost, slow;
} judgement;

static TSR_HISTORY_TABLE(timings, timing, PLACES);
static TSR_HISTORY_TABLE(judgements, judgement, PLACES);
static tsr_history times = TSR_HISTORY(timings), judged_routes = TSR_HISTORY(judgements);

/* Is the answer the same, whoever computes it?  Counts are exact in FP64. */
static bool any_order(const tsr_semiring *s)
{
    if (s->add == TSR_ADD_ANY)
        return s->mul == TSR_MUL_PAIR;
    if (s->add == TSR_ADD_PLUS && s->mul == TSR_MUL_PAIR && s->type == TSR_FP64)
        return true;
    return s->add == TSR_ADD_MIN || s->add == TSR_ADD_MAX || (s->type != TSR_FP32 && s->type != TSR_FP64);
}

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Without counts of entries. */
static uint64_t key_of_kind(const tsr_features *f)
{
    const bool flags[] = {f->a_by_col, f->b_by_col, f->c_by_col, f->mask_by_col, f->a_pattern, f->a_cast, f->b_cast, f->typecast,
                          f->b_bitmap, f->finish_extra, f->accum_full};
    uint64_t set = 0;
    for (size_t k = 0; k < sizeof flags / sizeof *flags; k++)
        set |= (uint64_t)flags[k] << k;
    const uint64_t parts[] = {(uint64_t)f->op, (uint64_t)f->semiring.type, (uint64_t)f->semiring.add, (uint64_t)f->semiring.mul, set,
                              bits_of(f->m), bits_of(f->n), bits_of(f->k)};
    return tsr_history_key(parts, sizeof parts / sizeof *parts);
}

uint64_t tsr_timing_key(const tsr_features *f)
{
    if (!any_order(&f->semiring))
        return 0;
    return tsr_history_key((uint64_t[]){key_of_kind(f), bits_of(f->a_nnz), bits_of(f->mask_nnz), (uint64_t)f->nthreads}, 4);
}

uint64_t tsr_timing_alike(const tsr_features *f)
{
    return any_order(&f->semiring) ? key_of_kind(f) : 0;
}

static void keep(double *kept, double ms, bool early)
{
    *kept = early || ms < *kept ? ms : *kept + FORGET * (ms - *kept);
}

void tsr_timing_add(uint64_t key, tsr_route route, double ms, double busy_ms)
{
    if (!key)
        return;
    TSR_HISTORY_LOCK(&times);
    timing *e = tsr_history_entry(&times, key);
    const bool early = ++e->calls[route] <= TRIALS;
    keep(&e->ms[route], ms, early);
    keep(&e->busy_ms[route], busy_ms, early);
}

double tsr_timing_ms(uint64_t key, tsr_route route)
{
    TSR_HISTORY_LOCK(&times);
    const timing *e = tsr_history_find(&times, key);
    return e && e->calls[route] >= TRIALS ? e->ms[route] : -1.0;
}

/* Is what is known of a route enough to judge it beside one that takes `best` ms?  SuiteSparse builds nothing in its first call. */
static bool judged(const timing *e, tsr_route r, double best)
{
    return e->calls[r] >= TRIALS || (r == TSR_ROUTE_SUITESPARSE && e->calls[r] > 0 && e->ms[r] > FAR * best);
}

/* Times far above their prediction tell of a wrong model, or of a machine that is slow for every route.  Ski-rental: if it is the
 * latter, a trial of r costs no more than the calls so far.  Time in which others had the processor is no reason. */
static bool worth_a_trial(const timing *e, const double predicted[TSR_ROUTE_COUNT], tsr_route r, tsr_route first)
{
    if (first == TSR_ROUTE_SUITESPARSE)
        return predicted[r] < CLEARLY * e->ms[first] && TRIALS * predicted[r] <= TRIAL_SHARE * e->calls[first] * e->ms[first];
    return predicted[r] < NEAR * e->busy_ms[first] && predicted[r] <= e->calls[first] * predicted[first];
}

static tsr_route choose(const timing *e, const double predicted[TSR_ROUTE_COUNT], tsr_route first)
{
    if (e->calls[first] < SETTLED)
        return first;
    tsr_route best = first;
    for (tsr_route r = 0; r < TSR_ROUTE_COUNT; r++) {
        if (r == first || predicted[r] < 0)
            continue;
        if (judged(e, r, e->ms[best]))
            best = e->ms[r] < BETTER * e->ms[best] ? r : best;
        else if (worth_a_trial(e, predicted, r, first))
            return r;
    }
    return best;
}

tsr_route tsr_timing_choose(uint64_t key, const double predicted[TSR_ROUTE_COUNT], tsr_route first)
{
    TSR_HISTORY_LOCK(&times);
    const timing *e = tsr_history_find(&times, key);
    return e ? choose(e, predicted, first) : first;
}

void tsr_timing_judge(uint64_t alike, tsr_route route, double ms, double suitesparse_ms)
{
    if (!alike || route == TSR_ROUTE_GPU || suitesparse_ms <= 0)
        return;
    TSR_HISTORY_LOCK(&judged_routes);
    judgement *j = tsr_history_entry(&judged_routes, alike);
    *(route == TSR_ROUTE_SUITESPARSE ? &j->slow : &j->lost) = ms > LOSS * suitesparse_ms;
}

bool tsr_timing_lost(uint64_t alike)
{
    TSR_HISTORY_LOCK(&judged_routes);
    const judgement *j = tsr_history_find(&judged_routes, alike);
    return j && j->lost && !j->slow;
}

void tsr_timing_begin(void)
{
    tsr_pages_touch(&timings, TSR_PAGE);
    tsr_pages_touch(&judgements, TSR_PAGE);
}

void tsr_timing_forget(void)
{
    tsr_history_forget(&times);
    tsr_history_forget(&judged_routes);
}
