/* Elementwise steps on the CPU against the reference: all operators and types, with scalars, presence, masks, accumulators, typecasts and
 * results in the place of an operand, bit for bit.
 *     test_step [--seed=N] [--count=N]
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "kernels/ref/step.h"
#include "src/format/sparse/format.h"
#include "test/kernels/cases.h"
#include "test/kernels/guarded.h"
#include "test/numbered_cases.h"

/* NULL: all are present. */
static int8_t *draw_presence(rng *r, int64_t count, int percent_full)
{
    if (rng_chance(r, percent_full))
        return NULL;
    int8_t *present = take((size_t)count);
    int percent = rng_chance(r, 30) ? 100 * (int)rng_below(r, 2) : (int)rng_below(r, 101);
    for (int64_t k = 0; k < count; k++)
        present[k] = rng_chance(r, percent);
    return present;
}

static tsr_elements draw_operand(rng *r, tsr_type from, tsr_type type, int64_t count, int percent_full, uint64_t *scalar)
{
    draw_odd_element(r, type, scalar, 0);
    if (rng_chance(r, 15))
        return (tsr_elements){NULL, NULL};
    void *x = draw_array(r, from, count);
    return (tsr_elements){x, draw_presence(r, count, percent_full)};
}

static tsr_type draw_type(rng *r, tsr_type likely)
{
    return rng_chance(r, 70) ? likely : (tsr_type)rng_below(r, TSR_TYPE_COUNT);
}

static int64_t draw_count(rng *r)
{
    static const int64_t counts[] = {0, 1, 2, 3, 7, 15, 16, 17, 33, 64, 100, 511, 512, 513, 1000, 4099};
    return rng_chance(r, 1) ? 150001 : counts[rng_below(r, 16)];
}

/* Every operator and type in turn; the rest at random, as the contract allows it. */
static tsr_host_ewise draw_step(rng *r, uint64_t number)
{
    tsr_ewise s = {.op = (tsr_ewise_op)(number % TSR_EWISE_COUNT), .type = (tsr_type)(number / TSR_EWISE_COUNT % TSR_TYPE_COUNT)};
    if (s.op == TSR_EWISE_SQRT && s.type < TSR_FP32)
        s.type = TSR_FP32;
    s.count = draw_count(r);
    s.select = tsr_ewise_compares(s.op) && rng_chance(r, 50);
    s.result = tsr_ewise_compares(s.op) && !s.select ? TSR_BOOL : s.type;
    s.unite = !tsr_ewise_is_unary(s.op) && !s.select && s.result == s.type && rng_chance(r, 40);
    s.mask_type = (tsr_type)rng_below(r, TSR_TYPE_COUNT);
    s.mask_structural = rng_chance(r, 40);
    s.mask_complement = rng_chance(r, 40);
    s.replace = rng_chance(r, 40);
    tsr_host_ewise h = {.step = s, .type = draw_type(r, s.result), .x_type = s.select ? s.type : draw_type(r, s.type),
                       .y_type = draw_type(r, s.type)};
    const int binary = (h.type == TSR_BOOL ? TSR_EWISE_COUNT : TSR_EWISE_EQ) - TSR_EWISE_FIRST;
    h.step.accumulates = rng_chance(r, 40);
    h.step.accum = (tsr_ewise_op)(TSR_EWISE_FIRST + rng_below(r, binary));
    return h;
}

static void draw_arrays(rng *r, tsr_host_ewise *h)
{
    static char is_a_mask;
    tsr_ewise *s = &h->step;
    const int full = rng_chance(r, 40) ? 100 : 40; /* of all operands, often */
    tsr_ewise_arrays a = {.x = draw_operand(r, h->x_type, s->type, s->count, full, &s->x.scalar),
                         .y = draw_operand(r, h->y_type, s->type, s->count, full, &s->y.scalar)};
    if (rng_chance(r, 50)) {
        s->mask = &is_a_mask;
        a.mask.present = draw_presence(r, s->count, full);
        a.mask.x = s->mask_structural ? NULL : draw_array(r, s->mask_type, s->count);
    } else {
        s->mask_complement = s->replace = false;
    }
    if (rng_chance(r, 70)) {
        a.c.x = draw_array(r, h->type, s->count);
        a.c.present = draw_presence(r, s->count, full);
    }
    s->accumulates = s->accumulates && a.c.x;
    a.z = take((size_t)s->count * type_size(h->type));
    a.z_present = tsr_ewise_is_full(s, &a) && rng_chance(r, 80) ? NULL : take((size_t)s->count);
    h->arrays = a;
}

static tsr_elements cast_operand(const tsr_elements *e, tsr_type from, tsr_type to, int64_t count)
{
    if (!e->x)
        return *e;
    void *x = take((size_t)count * type_size(to));
    tsr_cast_values(x, to, e->x, from, count, 1);
    return (tsr_elements){x, e->present};
}

/* T first, of the operator's type; then C<M> accum= T. */
static void expect(const tsr_host_ewise *h)
{
    const tsr_ewise *s = &h->step;
    const tsr_ewise_arrays *a = &h->arrays;
    const tsr_ewise first = {.op = s->op, .type = s->type, .result = s->result, .count = s->count, .x = s->x, .y = s->y, .unite = s->unite,
                            .select = s->select};
    tsr_ewise_arrays t = {.x = cast_operand(&a->x, h->x_type, s->type, s->count), .y = cast_operand(&a->y, h->y_type, s->type, s->count),
                         .z = take((size_t)s->count * type_size(s->result)), .z_present = take((size_t)s->count)};
    tsr_ref_ewise(&first, &t);
    tsr_ewise second = *s;
    tsr_ewise_arrays b = *a;
    const tsr_elements made = {t.z, t.z_present};
    second.op = TSR_EWISE_IDENTITY;
    second.type = second.result = h->type;
    second.unite = second.select = false;
    b.x = cast_operand(&made, s->result, h->type, s->count);
    b.y = (tsr_elements){NULL, NULL};
    tsr_ref_ewise(&second, &b);
}

/* Where the result may be left: in a place of its own, or in that of an operand of its type. */
static void place(rng *r, tsr_host_ewise *h)
{
    const tsr_ewise_arrays *a = &h->arrays;
    const tsr_elements *const all[] = {&a->c, &a->x, &a->y, &a->mask};
    const tsr_type types[] = {h->type, h->x_type, h->y_type, h->step.mask_type};
    const int64_t k = rng_below(r, 8);
    const bool there = k < 4 && all[k]->x && types[k] == h->type;
    int8_t *present = there ? (int8_t *)(uintptr_t)all[k]->present : NULL;
    h->arrays.z = there ? (void *)(uintptr_t)all[k]->x : take((size_t)h->step.count * type_size(h->type));
    if (a->z_present)
        h->arrays.z_present = present ? present : take((size_t)h->step.count);
}

static bool same_element(tsr_type type, const char *x, const char *y, int64_t k)
{
    size_t size = type_size(type);
    tsr_value p = tsr_value_load(type, x, k), q = tsr_value_load(type, y, k);
    return memcmp(x + (size_t)k * size, y + (size_t)k * size, size) == 0 || (isnan(p.real) && isnan(q.real));
}

static bool spare_untouched(const void *p, size_t bytes)
{
    const unsigned char *spare = (const unsigned char *)p + bytes;
    for (int k = 0; p && k < SPARE; k++)
        if (spare[k] != POISON)
            return false;
    return true;
}

static bool right(const tsr_host_ewise *want, const tsr_host_ewise *got, int64_t counted)
{
    const int64_t count = want->step.count;
    int64_t present = 0;
    for (int64_t k = 0; k < count; k++) {
        const bool there = !want->arrays.z_present || want->arrays.z_present[k];
        present += there;
        if ((there && !same_element(want->type, want->arrays.z, got->arrays.z, k)) || (got->arrays.z_present && got->arrays.z_present[k] != there))
            return false;
    }
    return counted == present && spare_untouched(got->arrays.z, (size_t)count * type_size(want->type)) &&
           spare_untouched(got->arrays.z_present, (size_t)count);
}

static int check(uint64_t seed, uint64_t number)
{
    rng r = {seed + number};
    tsr_host_ewise want = draw_step(&r, number);
    draw_arrays(&r, &want);
    expect(&want);
    tsr_host_ewise got = want;
    place(&r, &got);
    const int64_t counted = tsr_cpu_ewise(&got, 1 + (int)rng_below(&r, 2));
    const bool passed = right(&want, &got, counted);
    const tsr_ewise *s = &want.step;
    if (!passed)
        printf("FAIL %s --seed=%llu case %llu: op %d, %s (of %s, %s) to %s, %lld elements: unite %d, select %d, accum %d (%d), mask %d (%s) "
               "structural %d, complement %d, replace %d\n", tsr_isa_name(tsr_cpu_isa()), (unsigned long long)seed, (unsigned long long)number,
               (int)s->op, type_name(s->type), type_name(want.x_type), type_name(want.y_type), type_name(want.type), (long long)s->count,
               s->unite, s->select, s->accumulates, (int)s->accum, s->mask != NULL, type_name(s->mask_type), s->mask_structural,
               s->mask_complement, s->replace);
    free_all();
    return !passed;
}

int main(int argc, char **argv)
{
    const numbered_cases cases = read_cases(argc, argv, 2200);
    int failures = 0;
    const tsr_isa most = tsr_cpu_isa();
    for (tsr_isa isa = TSR_ISA_BASELINE; isa <= most; isa++) {
        tsr_cpu_limit_isa(isa);
        for (unsigned long long n = 0; n < cases.count && failures < 20; n++)
            failures += check(cases.seed, n);
    }
    printf("steps: seed %llu, %llu cases, %d failures\n", cases.seed, cases.count, failures);
    return failures != 0;
}
