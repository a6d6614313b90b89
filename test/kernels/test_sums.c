/* Sums of rows and of columns of full arrays, and of the entries of sparse rows, against the reference: every monoid and type, numbers whose sums are exact in any order.
 *     test_sums [--seed=N] [--count=N]
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "kernels/ref/step.h"
#include "src/base/types.h"
#include "test/kernels/cases.h"
#include "test/kernels/guarded.h"
#include "test/numbered_cases.h"

/* Extremes of floats are also taken of NaN and infinities. */
static tsr_value draw_value(rng *r, tsr_type type, tsr_reduce_op op)
{
    static const long double odd[] = {NAN, INFINITY, -INFINITY};
    const bool extreme = op == TSR_REDUCE_MIN || op == TSR_REDUCE_MAX;
    const int64_t n = type == TSR_BOOL ? (int64_t)rng_below(r, 2) : op == TSR_REDUCE_TIMES ? 1 : (int64_t)rng_below(r, 7) - 3;
    tsr_value v = {.bits = (uint64_t)n, .real = (long double)n};
    if (op == TSR_REDUCE_TIMES && rng_chance(r, 10))
        v = (tsr_value){.bits = 3, .real = -2};
    if (extreme && rng_chance(r, 20))
        v.real = odd[rng_below(r, 3)];
    return v;
}

static int64_t draw_length(rng *r, int64_t most)
{
    static const int64_t lengths[] = {1, 2, 3, 4, 7, 8, 9, 16, 31, 100, 1023, 1024, 1025, 2500};
    const int64_t length = lengths[rng_below(r, 14)];
    return length < most ? length : most;
}

static void *draw_full(rng *r, const tsr_sums *s)
{
    const int64_t count = s->vectors * s->length;
    void *x = take((size_t)count * tsr_type_size(s->type));
    for (int64_t k = 0; k < count; k++)
        tsr_value_store(s->type, x, k, draw_value(r, s->type, s->op));
    return x;
}

static tsr_value expected(const tsr_sums *s, int64_t v)
{
    const int64_t first = s->across ? v : v * s->length, step = s->across ? s->vectors : 1;
    tsr_value sum = tsr_value_load(s->type, s->value, first);
    for (int64_t t = 1; t < s->length; t++)
        sum = tsr_ref_join(s->type, s->op, sum, tsr_value_load(s->type, s->value, first + t * step));
    tsr_value_store(s->type, &sum.bits, 0, sum);
    return tsr_value_load(s->type, &sum.bits, 0);
}

static bool known(tsr_type type, tsr_reduce_op op)
{
    const bool logical = op >= TSR_REDUCE_LOR && op <= TSR_REDUCE_EQ;
    return op != TSR_REDUCE_ANY && logical == (type == TSR_BOOL);
}

static int check(uint64_t seed, uint64_t number)
{
    rng r = {seed + number};
    tsr_sums s = {.type = (tsr_type)(number % TSR_TYPE_COUNT), .op = (tsr_reduce_op)(number / TSR_TYPE_COUNT % TSR_REDUCE_COUNT),
                  .across = rng_chance(&r, 50), .vectors = draw_length(&r, 2500)};
    s.length = draw_length(&r, 100000 / s.vectors);
    s.value = draw_full(&r, &s);
    void *result = take((size_t)s.vectors * tsr_type_size(s.type));
    bool passed = tsr_cpu_sums(&s, result, 1 + (int)rng_below(&r, 2)) == known(s.type, s.op);
    for (int64_t v = 0; v < s.vectors && passed && known(s.type, s.op); v++)
        passed = tsr_value_same(tsr_value_load(s.type, result, v), expected(&s, v));
    if (!passed)
        printf("FAIL --seed=%llu case %llu: op %d, %s, %lld vectors of %lld, across %d\n", (unsigned long long)seed, (unsigned long long)number,
               (int)s.op, tsr_type_name(s.type), (long long)s.vectors, (long long)s.length, s.across);
    free_all();
    return !passed;
}

/* ---- sparse rows ---- */

static int64_t draw_degree(rng *r, int64_t left)
{
    static const int64_t degrees[] = {0, 0, 1, 2, 3, 9, 40, 2047, 2048, 2049, 4095, 4096, 9000};
    const int64_t degree = degrees[rng_below(r, rng_chance(r, 3) ? 13 : 7)];
    return degree < left ? degree : left;
}

/* Neither sums nor products of these round, whatever they are cast to. */
static tsr_value draw_entry(rng *r, tsr_type type, tsr_reduce_op op)
{
    const int64_t n = op == TSR_REDUCE_TIMES ? 1 + rng_chance(r, 10) : (int64_t)rng_below(r, type == TSR_BOOL ? 2 : 4);
    return (tsr_value){.bits = (uint64_t)n, .real = (long double)n};
}

static tsr_view draw_rows(rng *r, tsr_reduce_op op)
{
    enum { MOST = 30000 };
    tsr_view a = {.format = TSR_SPARSE, .type = (tsr_type)rng_below(r, TSR_TYPE_COUNT), .iso = rng_chance(r, 25), .index_size = 8,
                  .nvec = 1 + (int64_t)rng_below(r, 700), .narrow_offsets = rng_chance(r, 50)};
    int64_t *p = take((size_t)(a.nvec + 1) * sizeof *p);
    p[0] = 0;
    for (int64_t v = 0; v < a.nvec; v++)
        p[v + 1] = p[v] + draw_degree(r, MOST - p[v]);
    a.nvals = p[a.nvec];
    void *x = take((size_t)(a.nvals + 1) * sizeof(uint64_t));
    for (int64_t e = 0; e <= a.nvals; e++)
        tsr_value_store(a.type, x, e, draw_entry(r, a.type, op));
    a.x = x;
    a.p = p;
    if (a.narrow_offsets) {
        uint32_t *narrow = take((size_t)(a.nvec + 1) * sizeof *narrow);
        for (int64_t v = 0; v <= a.nvec; v++)
            narrow[v] = (uint32_t)p[v];
        a.p = (const int64_t *)(const void *)narrow;
    }
    return a;
}

static bool row_passes(const tsr_sums *s, const tsr_view *a, int64_t v, int8_t present, const void *result)
{
    tsr_value sum = {0};
    const int64_t first = tsr_view_start(a, v), last = tsr_view_start(a, v + 1);
    for (int64_t e = first; e < last; e++) {
        uint64_t one;
        tsr_cast_values(&one, s->type, (const char *)a->x + (a->iso ? 0 : (size_t)e * tsr_type_size(a->type)), a->type, 1, 1);
        const tsr_value term = tsr_value_load(s->type, &one, 0);
        sum = e == first ? term : tsr_ref_join(s->type, s->op, sum, term);
    }
    uint64_t stored = 0;
    tsr_value_store(s->type, &stored, 0, sum);
    return present == (first < last) &&
           (!present || tsr_value_same(tsr_value_load(s->type, result, v), tsr_value_load(s->type, &stored, 0)));
}

static int check_rows(uint64_t seed, uint64_t number)
{
    rng r = {seed + number};
    const tsr_sums s = {.type = (tsr_type)(number % TSR_TYPE_COUNT), .op = (tsr_reduce_op)(number / TSR_TYPE_COUNT % TSR_REDUCE_COUNT)};
    const tsr_view a = draw_rows(&r, s.op);
    int8_t *present = take((size_t)a.nvec);
    void *result = take((size_t)a.nvec * tsr_type_size(s.type));
    const int64_t count = tsr_cpu_list_sums(&s, &a, present, result, 1 + (int)rng_below(&r, 3));
    int64_t found = 0;
    bool passed = (count >= 0) == known(s.type, s.op);
    for (int64_t v = 0; v < a.nvec && passed && count >= 0; v++) {
        passed = row_passes(&s, &a, v, present[v], result);
        found += present[v];
    }
    passed = passed && (count < 0 || found == count);
    if (!passed)
        printf("FAIL --seed=%llu case %llu: op %d, %s of %s, %lld sparse rows, iso %d\n", (unsigned long long)seed, (unsigned long long)number, (int)s.op,
               tsr_type_name(s.type), tsr_type_name(a.type), (long long)a.nvec, a.iso);
    free_all();
    return !passed;
}

int main(int argc, char **argv)
{
    const numbered_cases cases = read_cases(argc, argv, 1000);
    int failures = 0;
    for (unsigned long long n = 0; n < cases.count && failures < 20; n++)
        failures += check(cases.seed, n) + check_rows(cases.seed, n);
    printf("sums: seed %llu, %llu cases, %d failures\n", cases.seed, cases.count, failures);
    return failures != 0;
}
