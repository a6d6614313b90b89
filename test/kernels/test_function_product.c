/* Products with a full vector by a function against the reference: every monoid and type, numbers whose sums are exact in any order.
 *     test_function_product [--seed=N] [--count=N]
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "kernels/cpu/common/template.h"
#include "kernels/function_product.h"
#include "kernels/ref/step.h"
#include "src/base/types.h"
#include "test/kernels/cases.h"
#include "test/kernels/guarded.h"
#include "test/numbered_cases.h"

/* 2 x + y: not the same with operands exchanged. */
#define MULTIPLY(type, wide)                                                            \
    static void multiply_##type(void *z, const void *x, const void *y)                  \
    {                                                                                   \
        const tsr_c_##type a = *(const tsr_c_##type *)x, b = *(const tsr_c_##type *)y;  \
        *(tsr_c_##type *)z = (tsr_c_##type)(2 * a + b);                                 \
    }
TSR_FOR_NUMBERS(MULTIPLY)

static void multiply_truths(void *z, const void *x, const void *y)
{
    *(uint8_t *)z = *(const uint8_t *)x & !*(const uint8_t *)y;
}

static tsr_multiply_function *function_of(tsr_type type)
{
    static tsr_multiply_function *const of[TSR_TYPE_COUNT] = {
        [TSR_BOOL] = multiply_truths,    [TSR_INT8] = multiply_int8,     [TSR_INT16] = multiply_int16,   [TSR_INT32] = multiply_int32,
        [TSR_INT64] = multiply_int64,    [TSR_UINT8] = multiply_uint8,   [TSR_UINT16] = multiply_uint16, [TSR_UINT32] = multiply_uint32,
        [TSR_UINT64] = multiply_uint64,  [TSR_FP32] = multiply_fp32,     [TSR_FP64] = multiply_fp64};
    return of[type];
}

static const void *draw_numbers(rng *r, const tsr_function_product *p, int64_t count)
{
    void *x = take((size_t)(count > 0 ? count : 1) * tsr_type_size(p->type));
    for (int64_t k = 0; k < count; k++) {
        const int64_t n = p->type == TSR_BOOL ? (int64_t)rng_below(r, 2) : p->add == TSR_REDUCE_TIMES ? rng_chance(r, 5) : (int64_t)rng_below(r, 6);
        tsr_value_store(p->type, x, k, (tsr_value){.bits = (uint64_t)n, .real = (long double)n});
    }
    return x;
}

static int64_t draw_degree(rng *r)
{
    static const int64_t degrees[] = {0, 0, 1, 2, 3, 9, 40, 3000};
    return degrees[rng_below(r, rng_chance(r, 2) ? 8 : 7)];
}

static void draw_matrix(rng *r, tsr_function_product *p)
{
    const bool hyper = rng_chance(r, 30), narrow = rng_chance(r, 50);
    tsr_view *a = &p->a;
    *a = (tsr_view){.format = hyper ? TSR_HYPERSPARSE : TSR_SPARSE, .type = p->type, .iso = rng_chance(r, 20), .nvec = (int64_t)rng_below(r, 300),
                    .vlen = 1 + (int64_t)rng_below(r, 500), .index_size = narrow ? 4 : 8};
    int64_t *starts = take((size_t)(a->nvec + 1) * sizeof *starts), *h = take((size_t)(a->nvec + 1) * sizeof *h);
    starts[0] = 0;
    for (int64_t v = 0; v < a->nvec; v++) {
        starts[v + 1] = starts[v] + draw_degree(r);
        h[v] = hyper ? 2 * v + (int64_t)rng_below(r, 2) : v;
    }
    a->p = starts;
    a->h = hyper ? h : NULL;
    a->nvals = starts[a->nvec];
    p->length = hyper ? 2 * a->nvec + 1 : a->nvec;
    void *i = take((size_t)(a->nvals + 1) * 8);
    for (int64_t e = 0; e < a->nvals; e++) {
        const uint64_t index = rng_below(r, (uint64_t)a->vlen);
        if (narrow)
            ((uint32_t *)i)[e] = (uint32_t)index;
        else
            ((uint64_t *)i)[e] = index;
    }
    a->i = i;
    a->x = draw_numbers(r, p, a->iso ? 1 : a->nvals);
}

static bool same(const tsr_function_product *p)
{
    const size_t n = (size_t)p->length, bytes = (n + 1) * tsr_type_size(p->type);
    int8_t *present = take(n + 1), *want_present = take(n + 1);
    void *t = take(bytes), *want = take(bytes);
    if (tsr_cpu_function_product(p, present, t) != tsr_ref_function_product(p, want_present, want))
        return false;
    return !memcmp(present, want_present, n + 1 + SPARE) && !memcmp(t, want, bytes + SPARE);
}

static int check(uint64_t seed, uint64_t number)
{
    rng r = {seed + number};
    tsr_function_product p = {.type = (tsr_type)(number % TSR_TYPE_COUNT), .add = (tsr_reduce_op)(number / TSR_TYPE_COUNT % TSR_REDUCE_COUNT),
                              .swapped = rng_chance(&r, 50), .nthreads = 1 + (int)rng_below(&r, 3)};
    const bool logical = p.add >= TSR_REDUCE_LOR && p.add <= TSR_REDUCE_EQ, known = p.add != TSR_REDUCE_ANY && logical == (p.type == TSR_BOOL);
    p.multiply = function_of(p.type);
    draw_matrix(&r, &p);
    p.u_step = rng_chance(&r, 20) ? 0 : tsr_type_size(p.type);
    p.u = draw_numbers(&r, &p, p.a.vlen);
    const bool passed = tsr_cpu_function_product_takes(&p) == known && (!known || same(&p));
    if (!passed)
        printf("FAIL --seed=%llu case %llu: op %d, %s, %lld vectors\n", (unsigned long long)seed, (unsigned long long)number, (int)p.add,
               tsr_type_name(p.type), (long long)p.a.nvec);
    free_all();
    return !passed;
}

int main(int argc, char **argv)
{
    const numbered_cases cases = read_cases(argc, argv, 2000);
    int failures = 0;
    for (unsigned long long n = 0; n < cases.count && failures < 20; n++)
        failures += check(cases.seed, n);
    printf("function products: seed %llu, %llu cases, %d failures\n", cases.seed, cases.count, failures);
    return failures != 0;
}
