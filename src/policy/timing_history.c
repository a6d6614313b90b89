/* A small table of measured times: a slot per kind of product, the newest kind wins.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/policy/timing_history.h"

#include <pthread.h>
#include <string.h>

enum {
    SLOTS = 1024,
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

static timing table[SLOTS];
static judgement judgements[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool any_order(const tsr_semiring *s)
{
    if (s->add == TSR_ADD_ANY)
        return s->mul == TSR_MUL_PAIR;
    return s->add == TSR_ADD_MIN || s->add == TSR_ADD_MAX || (s->type != TSR_FP32 && s->type != TSR_FP64);
}

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint64_t mix_number(uint64_t h, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return mix(h, bits);
}

/* Without counts of entries. */
static uint64_t key_of_kind(const tsr_features *f)
{
    const bool flags[] = {f->a_by_col, f->b_by_col, f->c_by_col, f->mask_by_col, f->a_pattern, f->a_cast, f->b_cast, f->typecast,
                          f->b_bitmap, f->finish_extra, f->accum_full};
    uint64_t h = mix(1 + (uint64_t)f->op, (uint64_t)f->semiring.type << 16 | (uint64_t)f->semiring.add << 8 | (uint64_t)f->semiring.mul);
    for (size_t k = 0; k < sizeof flags / sizeof *flags; k++)
        h = mix(h, flags[k] + 2 * k);
    const double sizes[] = {f->m, f->n, f->k};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        h = mix_number(h, sizes[k]);
    return h;
}

uint64_t tsr_timing_key(const tsr_features *f)
{
    if (!any_order(&f->semiring))
        return 0;
    const uint64_t h = mix_number(mix_number(mix_number(key_of_kind(f), f->a_nnz), f->mask_nnz), (double)f->nthreads);
    return h ? h : 1;
}

uint64_t tsr_timing_alike(const tsr_features *f)
{
    return any_order(&f->semiring) ? key_of_kind(f) | 1 : 0;
}

static void keep(double *kept, double ms, bool early)
{
    *kept = early || ms < *kept ? ms : *kept + FORGET * (ms - *kept);
}

void tsr_timing_add(uint64_t key, tsr_route route, double ms, double busy_ms)
{
    if (!key)
        return;
    pthread_mutex_lock(&lock);
    timing *e = &table[key % SLOTS];
    if (e->key != key)
        *e = (timing){.key = key};
    const bool early = ++e->calls[route] <= TRIALS;
    keep(&e->ms[route], ms, early);
    keep(&e->busy_ms[route], busy_ms, early);
    pthread_mutex_unlock(&lock);
}

double tsr_timing_ms(uint64_t key, tsr_route route)
{
    pthread_mutex_lock(&lock);
    const timing *e = &table[key % SLOTS];
    const double ms = key && e->key == key && e->calls[route] >= TRIALS ? e->ms[route] : -1.0;
    pthread_mutex_unlock(&lock);
    return ms;
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
    if (!key)
        return first;
    pthread_mutex_lock(&lock);
    const timing *e = &table[key % SLOTS];
    tsr_route route = e->key == key ? choose(e, predicted, first) : first;
    pthread_mutex_unlock(&lock);
    return route;
}

static void judge(judgement *j, tsr_route route, bool far)
{
    if (route == TSR_ROUTE_SUITESPARSE)
        j->slow = far;
    else
        j->lost = far;
}

void tsr_timing_judge(uint64_t alike, tsr_route route, double ms, double suitesparse_ms)
{
    if (!alike || route == TSR_ROUTE_GPU || suitesparse_ms <= 0)
        return;
    pthread_mutex_lock(&lock);
    judgement *j = &judgements[alike / 2 % SLOTS];
    if (j->key != alike)
        *j = (judgement){.key = alike};
    judge(j, route, ms > LOSS * suitesparse_ms);
    pthread_mutex_unlock(&lock);
}

bool tsr_timing_lost(uint64_t alike)
{
    pthread_mutex_lock(&lock);
    const judgement *j = &judgements[alike / 2 % SLOTS];
    const bool lost = alike && j->key == alike && j->lost && !j->slow;
    pthread_mutex_unlock(&lock);
    return lost;
}

void tsr_timing_forget(void)
{
    pthread_mutex_lock(&lock);
    memset(judgements, 0, sizeof judgements);
    memset(table, 0, sizeof table);
    pthread_mutex_unlock(&lock);
}
