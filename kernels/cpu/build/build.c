/* Tuples in any order become sorted vectors: dealt to buckets of neighbouring vectors, then each bucket is sorted in the cache.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/build.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/build/join.h"
#include "kernels/cpu/common/chunks.h"
#include "kernels/cpu/common/sort_keys.h"
#include "src/base/split.h"

enum { BUCKET = 16384, BUCKETS_MOST = 512, SAMPLES = 64, SAMPLE = 16 };

/* Bucket by bucket a tuple is a key, its place above and its number below, and beside it its vector and its value, which so lies near those that
 * will be its neighbours.  Of the one vector that there is, places are taken for
 * vectors, of one place each. */
typedef struct tsr_sorted {
    uint32_t *vector; /* of each tuple, as is what follows */
    uint64_t *key;
    void *x;          /* NULL: values are of no interest */
    int64_t *bounds;  /* of buckets; buckets + 1, as the next two */
    int64_t *nvals, *nonempty; /* in the buckets before */
    int64_t *start;   /* of each share of the tuples in each bucket */
    int64_t buckets, largest;
    int shift;        /* vectors of a bucket: 1 << shift */
    int shares;
    int64_t next;     /* bucket that nobody has yet; atomic */
    bool failed;      /* a number is too large; atomic */
    bool no_memory;   /* atomic */
} tsr_sorted;

static const uint64_t *vectors_of(const tsr_tuples *t)
{
    return t->vector ? t->vector : t->place;
}

static int64_t vectors_in_all(const tsr_tuples *t)
{
    return t->vector ? t->nvec : t->vlen;
}

static int64_t first_of_share(const tsr_tuples *t, int64_t share)
{
    return tsr_part_begin(t->count, (int)share, t->sorted->shares);
}

/* ---- are they sorted? ---- */

static bool descends(const tsr_tuples *t, int64_t k)
{
    const uint64_t *v = vectors_of(t);
    return v[k] > v[k + 1] || (t->vector && v[k] == v[k + 1] && t->place[k] > t->place[k + 1]);
}

bool tsr_tuples_unsorted(const tsr_tuples *t)
{
    const int64_t step = t->count / SAMPLES > SAMPLE ? t->count / SAMPLES : SAMPLE;
    for (int64_t from = 0; from + SAMPLE < t->count; from += step) {
        for (int64_t k = from; k < from + SAMPLE; k++)
            if (descends(t, k))
                return true;
    }
    return false;
}

/* ---- buckets ---- */

static int bits_of(uint64_t n)
{
    return n ? 64 - __builtin_clzll(n) : 0;
}

static void plan(const tsr_tuples *t, tsr_sorted *s)
{
    const uint64_t last = (uint64_t)vectors_in_all(t) - 1;
    int64_t wanted = t->count / BUCKET;
    wanted = wanted < BUCKETS_MOST ? wanted : BUCKETS_MOST - 1;
    const int bits = bits_of((uint64_t)wanted), all = bits_of(last);
    s->shift = all > bits ? all - bits : 0;
    s->buckets = (int64_t)(last >> s->shift) + 1;
    s->shares = tsr_parts(t->count, TSR_THREAD_WORK / 4, t->nthreads);
}

static bool reserve(const tsr_tuples *t, tsr_sorted *s)
{
    const size_t n = (size_t)t->count, buckets = (size_t)s->buckets + 1;
    s->vector = malloc(n * sizeof *s->vector);
    s->key = malloc(n * sizeof *s->key);
    s->x = t->x ? malloc(n * tsr_type_size(t->type)) : NULL;
    s->bounds = malloc(buckets * sizeof *s->bounds);
    s->nvals = malloc(buckets * sizeof *s->nvals);
    s->nonempty = malloc(buckets * sizeof *s->nonempty);
    s->start = calloc(buckets * (size_t)s->shares, sizeof *s->start);
    return s->vector && s->key && (s->x || !t->x) && s->bounds && s->nvals && s->nonempty && s->start;
}

static void count_share(void *context, int64_t share)
{
    const tsr_tuples *t = context;
    tsr_sorted *s = t->sorted;
    const uint64_t *vector = vectors_of(t), *place = t->place, vectors = (uint64_t)vectors_in_all(t), places = (uint64_t)t->vlen;
    int64_t *restrict start = s->start + share * s->buckets;
    for (int64_t k = first_of_share(t, share), end = first_of_share(t, share + 1); k < end; k++) {
        if (vector[k] >= vectors || place[k] >= places) {
            __atomic_store_n(&s->failed, true, __ATOMIC_RELAXED);
            return;
        }
        start[vector[k] >> s->shift]++;
    }
}

static void find_starts(tsr_sorted *s)
{
    int64_t sum = 0;
    s->largest = 0;
    for (int64_t b = 0; b < s->buckets; b++) {
        s->bounds[b] = sum;
        for (int share = 0; share < s->shares; share++) {
            int64_t *start = &s->start[share * s->buckets + b];
            const int64_t count = *start;
            *start = sum;
            sum += count;
        }
        s->largest = sum - s->bounds[b] > s->largest ? sum - s->bounds[b] : s->largest;
    }
    s->bounds[s->buckets] = sum;
}

#define DEAL(MOVE)                                                                                         \
    for (int64_t k = first_of_share(t, share), end = first_of_share(t, share + 1); k < end; k++) {         \
        const int64_t at = start[vector[k] >> s->shift]++;                                                 \
        vectors[at] = (uint32_t)vector[k];                                                                 \
        keys[at] = (place ? place[k] << 32 : 0) | (uint64_t)at;                                            \
        MOVE;                                                                                              \
    }

static void deal_share(void *context, int64_t share)
{
    const tsr_tuples *t = context;
    const tsr_sorted *s = t->sorted;
    const uint64_t *vector = vectors_of(t), *place = t->vector ? t->place : NULL;
    int64_t *restrict start = s->start + share * s->buckets;
    uint32_t *restrict vectors = s->vector;
    uint64_t *restrict keys = s->key;
    switch (t->x ? tsr_type_size(t->type) : 0) {
    case 0: DEAL() break;
    case 1: DEAL(((int8_t *)s->x)[at] = ((const int8_t *)t->x)[k]) break;
    case 2: DEAL(((int16_t *)s->x)[at] = ((const int16_t *)t->x)[k]) break;
    case 4: DEAL(((int32_t *)s->x)[at] = ((const int32_t *)t->x)[k]) break;
    default: DEAL(((int64_t *)s->x)[at] = ((const int64_t *)t->x)[k]) break;
    }
}

/* ---- one bucket ---- */

typedef struct bench {
    uint32_t *ends;         /* of each vector */
    uint64_t *key, *other;
} bench;

static bool make_bench(bench *b, const tsr_sorted *s)
{
    b->ends = malloc(((size_t)1 << s->shift) * sizeof *b->ends);
    b->key = malloc(((size_t)s->largest + 1) * sizeof *b->key);
    b->other = malloc(((size_t)s->largest + 1) * sizeof *b->other);
    return b->ends && b->key && b->other;
}

static void free_bench(bench *b)
{
    free(b->ends);
    free(b->key);
    free(b->other);
}

/* By vector, in the order given. */
static void deal_bucket(const bench *w, const tsr_sorted *s, int64_t b)
{
    const int64_t begin = s->bounds[b], end = s->bounds[b + 1], vectors = INT64_C(1) << s->shift, mask = vectors - 1;
    uint32_t sum = 0;
    memset(w->ends, 0, (size_t)vectors * sizeof *w->ends);
    for (int64_t t = begin; t < end; t++)
        w->ends[s->vector[t] & mask]++;
    for (int64_t v = 0; v < vectors; v++) {
        const uint32_t count = w->ends[v];
        w->ends[v] = sum;
        sum += count;
    }
    for (int64_t t = begin; t < end; t++)
        w->key[w->ends[s->vector[t] & mask]++] = s->key[t];
}

static int64_t places_in(const uint64_t *key, int64_t n)
{
    int64_t places = n > 0;
    for (int64_t k = 1; k < n; k++)
        places += key[k] >> 32 != key[k - 1] >> 32;
    return places;
}

static void sort_bucket(const tsr_tuples *t, const bench *w, int64_t b)
{
    tsr_sorted *s = t->sorted;
    const int64_t vectors = INT64_C(1) << s->shift, base = s->bounds[b];
    int64_t begin = 0, nvals = 0, nonempty = 0;
    deal_bucket(w, s, b);
    for (int64_t v = 0; v < vectors && begin < s->bounds[b + 1] - base; v++) {
        const int64_t n = w->ends[v] - begin;
        if (n == 0)
            continue;
        const uint64_t *key = t->vector ? tsr_sort_keys(w->key + begin, w->other, n, (uint64_t)t->vlen - 1) : w->key + begin;
        memcpy(s->key + base + begin, key, (size_t)n * sizeof *key);
        for (int64_t k = 0; k < n; k++)
            s->vector[base + begin + k] = (uint32_t)(b << s->shift | v);
        nvals += places_in(key, n);
        nonempty++;
        begin += n;
    }
    s->nvals[b] = nvals;
    s->nonempty[b] = nonempty;
}

static void sort_buckets(void *context, int64_t worker)
{
    const tsr_tuples *t = context;
    tsr_sorted *s = t->sorted;
    (void)worker;
    bench w;
    if (make_bench(&w, s)) {
        for (int64_t b; (b = __atomic_fetch_add(&s->next, 1, __ATOMIC_RELAXED)) < s->buckets;)
            sort_bucket(t, &w, b);
    } else {
        __atomic_store_n(&s->no_memory, true, __ATOMIC_RELAXED);
    }
    free_bench(&w);
}

static int64_t sum_before(int64_t *counts, int64_t n)
{
    int64_t sum = 0;
    for (int64_t b = 0; b < n; b++) {
        const int64_t count = counts[b];
        counts[b] = sum;
        sum += count;
    }
    return counts[n] = sum;
}

tsr_status tsr_cpu_build_sort(tsr_tuples *t)
{
    tsr_sorted *s = t->sorted = calloc(1, sizeof *s);
    if (!s)
        return TSR_OUT_OF_MEMORY;
    plan(t, s);
    if (!reserve(t, s))
        return TSR_OUT_OF_MEMORY;
    tsr_for_jobs(s->shares, s->shares, count_share, t);
    if (s->failed)
        return TSR_DECLINED;
    find_starts(s);
    tsr_for_jobs(s->shares, s->shares, deal_share, t);
    tsr_for_jobs(s->shares, s->shares, sort_buckets, t);
    if (s->no_memory)
        return TSR_OUT_OF_MEMORY;
    t->nvals = sum_before(s->nvals, s->buckets);
    t->nonempty = sum_before(s->nonempty, s->buckets);
    t->nonempty = t->vector ? t->nonempty : t->nvals > 0;
    return t->joining == TSR_JOIN_NONE && t->nvals < t->count ? TSR_DECLINED : TSR_OK;
}

/* ---- the result ---- */

typedef struct filling {
    const tsr_tuples *t;
    uint64_t *h, *p;
    void *i, *x;
    tsr_join *join;
} filling;

static int64_t end_of_run(const tsr_sorted *s, int64_t k, int64_t end)
{
    int64_t last = k + 1;
    while (last < end && s->vector[last] == s->vector[k] && s->key[last] >> 32 == s->key[k] >> 32)
        last++;
    return last;
}

static inline void put_place(const filling *f, int64_t e, uint64_t place)
{
    if (f->t->narrow)
        ((uint32_t *)f->i)[e] = (uint32_t)place;
    else
        ((uint64_t *)f->i)[e] = place;
}

static void fill_bucket(void *context, int64_t b)
{
    const filling *f = context;
    const tsr_tuples *t = f->t;
    const tsr_sorted *s = t->sorted;
    int64_t e = s->nvals[b], v = s->nonempty[b];
    for (int64_t k = s->bounds[b], end = s->bounds[b + 1], next; k < end; k = next) {
        next = end_of_run(s, k, end);
        if (t->vector && (k == s->bounds[b] || s->vector[k] != s->vector[k - 1])) {
            f->h[v] = s->vector[k];
            f->p[v++] = (uint64_t)e;
        }
        put_place(f, e, t->vector ? s->key[k] >> 32 : s->vector[k]);
        if (f->x)
            f->join(f->x, e, s->x, s->key + k, next - k);
        e++;
    }
}

void tsr_cpu_build_fill(const tsr_tuples *t, uint64_t *h, uint64_t *p, void *i, void *x)
{
    filling f = {t, h, p, i, x, tsr_join_of(t)};
    tsr_for_jobs(t->sorted->buckets, t->sorted->shares, fill_bucket, &f);
    if (!t->vector)
        h[0] = p[0] = 0;
    p[t->nonempty] = (uint64_t)t->nvals;
}

void tsr_cpu_build_end(tsr_tuples *t)
{
    tsr_sorted *s = t->sorted;
    if (!s)
        return;
    free(s->vector);
    free(s->key);
    free(s->x);
    free(s->bounds);
    free(s->nvals);
    free(s->nonempty);
    free(s->start);
    free(s);
    t->sorted = NULL;
}
