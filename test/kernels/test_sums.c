/* Sums of rows and of columns of full arrays against the reference: every monoid and type, numbers whose sums are exact in any order.
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

int main(int argc, char **argv)
{
    const numbered_cases cases = read_cases(argc, argv, 1000);
    int failures = 0;
    for (unsigned long long n = 0; n < cases.count && failures < 20; n++)
        failures += check(cases.seed, n);
    printf("sums: seed %llu, %llu cases, %d failures\n", cases.seed, cases.count, failures);
    return failures != 0;
}
