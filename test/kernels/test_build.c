/* Building of tuples on the CPU against the reference, bit for bit.
 *     test_build [--seed=N] [--count=N]
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/build.h"
#include "kernels/ref/value.h"
#include "test/kernels/cases.h"
#include "test/kernels/guarded.h"
#include "test/numbered_cases.h"

static int64_t draw_size(rng *r)
{
    static const int64_t sizes[] = {1, 2, 3, 8, 31, 33, 64, 100, 257, 1000, 70000};
    return sizes[rng_below(r, 11)];
}

static uint64_t *draw_numbers(rng *r, int64_t count, int64_t bound)
{
    uint64_t *list = take((size_t)count * 8);
    const int64_t some = rng_chance(r, 30) ? 1 + rng_below(r, bound) : bound; /* crowded */
    for (int64_t k = 0; k < count; k++)
        list[k] = (uint64_t)rng_below(r, some);
    return list;
}

static void draw_joining(rng *r, tsr_tuples *t)
{
    static const tsr_joining joinings[] = {TSR_JOIN_NONE, TSR_JOIN_FIRST, TSR_JOIN_LAST, TSR_JOIN_FOLD, TSR_JOIN_FOLD};
    t->joining = joinings[rng_below(r, 5)];
    t->monoid = (tsr_reduce_op)((t->type == TSR_BOOL ? TSR_REDUCE_LOR : TSR_REDUCE_PLUS) + rng_below(r, 4));
}

static tsr_tuples draw_tuples(rng *r)
{
    tsr_tuples t = {.type = (tsr_type)rng_below(r, TSR_TYPE_COUNT), .count = 1 + rng_below(r, rng_chance(r, 10) ? 900 : 120), .nvec = 1,
                    .vlen = draw_size(r), .nthreads = 1 + (int)rng_below(r, 3)};
    if (rng_chance(r, 70)) {
        t.nvec = draw_size(r);
        t.vector = draw_numbers(r, t.count, t.nvec);
    }
    t.place = draw_numbers(r, t.count, t.vlen);
    t.x = rng_chance(r, 90) ? draw_array(r, t.type, t.count) : NULL;
    draw_joining(r, &t);
    if (rng_chance(r, 5))
        ((uint64_t *)(uintptr_t)t.place)[rng_below(r, t.count)] = (uint64_t)t.vlen + (uint64_t)rng_below(r, 3);
    return t;
}

/* Equal, or both NaN: whose bits may differ. */
static bool same_values(tsr_type type, const void *x, const void *y, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        if (!tsr_value_same(tsr_value_load(type, x, k), tsr_value_load(type, y, k)))
            return false;
    return true;
}

/* What follows an array must be as it was. */
static bool untouched(const unsigned char *array, size_t bytes)
{
    for (size_t k = 0; k < SPARE; k++)
        if (array[bytes + k] != POISON)
            return false;
    return true;
}

static bool fills(const tsr_tuples *t, const tsr_tuples *want, const uint64_t *want_lists[3], const void *want_x)
{
    const size_t vectors = (size_t)(t->nonempty + 1) * 8, entries = (size_t)t->nvals * 8, values = (size_t)t->nvals * type_size(t->type);
    const size_t written = (size_t)t->nvals * (t->narrow ? 4 : 8);
    uint64_t *h = take(vectors), *p = take(vectors), *i = take(entries);
    unsigned char *places = take(written);
    void *x = t->x ? take(values) : NULL;
    tsr_cpu_build_fill(t, h, p, places, x);
    for (int64_t k = 0; k < t->nvals; k++)
        i[k] = t->narrow ? ((const uint32_t *)places)[k] : ((const uint64_t *)places)[k];
    return t->nvals == want->nvals && t->nonempty == want->nonempty && !memcmp(h, want_lists[0], vectors - 8) && !memcmp(p, want_lists[1], vectors + SPARE) &&
           !memcmp(i, want_lists[2], entries) && untouched(places, written) && (!x || same_values(t->type, x, want_x, t->nvals));
}

static bool check(uint64_t seed, int64_t number)
{
    rng r = {seed + (uint64_t)number * 0x9E3779B97F4A7C15u};
    tsr_tuples t = draw_tuples(&r), want = t;
    const tsr_status expected = tsr_ref_build(&want, NULL, NULL, NULL, NULL), status = tsr_cpu_build_sort(&t);
    bool right = status == expected;
    if (right && status == TSR_OK) {
        const size_t vectors = (size_t)(want.nonempty + 1) * 8;
        uint64_t *h = take(vectors), *p = take(vectors), *i = take((size_t)want.nvals * 8);
        void *x = take((size_t)want.nvals * type_size(t.type));
        tsr_ref_build(&want, h, p, i, t.x ? x : NULL);
        right = fills(&t, &want, (const uint64_t *[]){h, p, i}, x);
    }
    tsr_cpu_build_end(&t);
    free_all();
    return right;
}

/* Shares of several threads, many buckets, long vectors: against what the input says. */
static bool check_large(rng *r, int64_t count, int64_t nvec, int64_t vlen)
{
    tsr_tuples t = {.type = TSR_INT64, .count = count, .nvec = nvec, .vlen = vlen, .joining = TSR_JOIN_FOLD, .monoid = TSR_REDUCE_PLUS, .nthreads = 3,
                    .vector = draw_numbers(r, count, nvec), .place = draw_numbers(r, count, vlen)};
    int64_t *x = take((size_t)count * 8), sum = 0, found = 0;
    for (int64_t k = 0; k < count; k++)
        sum += x[k] = rng_below(r, 1000) * (int64_t)(t.vector[k] * 31 + t.place[k]);
    t.x = x;
    if (tsr_cpu_build_sort(&t) != TSR_OK || t.nonempty > nvec || t.nvals > count)
        return false;
    uint64_t *h = take((size_t)t.nonempty * 8), *p = take((size_t)(t.nonempty + 1) * 8), *i = take((size_t)t.nvals * 8);
    int64_t *z = take((size_t)t.nvals * 8);
    tsr_cpu_build_fill(&t, h, p, i, z);
    tsr_cpu_build_end(&t);
    for (int64_t v = 0; v < t.nonempty; v++) {
        if (p[v] >= p[v + 1] || (v > 0 && h[v - 1] >= h[v]))
            return false;
        for (uint64_t e = p[v]; e < p[v + 1]; e++) {
            const int64_t weight = (int64_t)(h[v] * 31 + i[e]);
            if ((e > p[v] && i[e - 1] >= i[e]) || (weight ? z[e] % weight : z[e]) != 0)
                return false;
            found += z[e];
        }
    }
    free_all();
    return found == sum;
}

int main(int argc, char **argv)
{
    const numbered_cases cases = read_cases(argc, argv, 3000);
    rng r = {cases.seed};
    if (!cases_are_right(&cases, check))
        return 1;
    if (!check_large(&r, 300000, 5000, 5000) || !check_large(&r, 300000, 100000, 70000) || !check_large(&r, 200000, 3, 4000000)) {
        printf("many tuples differ: --seed=%llu\n", cases.seed);
        return 1;
    }
    return 0;
}
