/* Running one kernel on one case and judging what it wrote.
 *
 * Outputs are poisoned before and fenced by sentinels; inputs are hashed before and after.  Values: equal to the oracle's (NaN
 * equals NaN, -0 equals 0), but ANY may be any of the terms, and a floating-point sum of values that round may differ: its error
 * against long double, as a share of the sum of magnitudes, may be twice the worst of adding one by one, plus two units in the
 * last place of that sum and one of the result.  That worst counts as a 64th of a unit for each of the k terms at least.
 * SPDX-License-Identifier: Apache-2.0 */
#include "test/kernels/compare.h"

#include "kernels/ref/ref.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FENCE 64
#define POISON 0xA5

typedef struct fenced {
    uint8_t *block;
    size_t bytes;
} fenced;

static void *checked(void *block)
{
    if (block == NULL)
        abort();
    return block;
}

static fenced fence(size_t bytes)
{
    fenced f = { checked(malloc(bytes + 2 * FENCE)), bytes };
    memset(f.block, POISON, bytes + 2 * FENCE);
    return f;
}

static void *inside(fenced f)
{
    return f.block + FENCE;
}

static bool fence_holds(fenced f)
{
    for (size_t at = 0; at < FENCE; at++)
        if (f.block[at] != POISON || f.block[FENCE + f.bytes + at] != POISON)
            return false;
    return true;
}

/* ---- what the oracle says ---- */

typedef struct expected {
    int64_t places;
    void *x;            /* values, of the semiring's type */
    int8_t *b;
    int64_t nvals;
    long double *exact; /* sums that round */
    long double *magnitude;
    long double worst;  /* error of the naive sums, as a share of the magnitudes: an order of summing may be lucky in one place */
    int8_t *matches;    /* ANY */
} expected;

static int64_t places_of(const tsr_product *p)
{
    return tsr_is_masked(p->op) ? p->mask.nvals : p->m * p->n;
}

static bool rounds(const test_case *c)
{
    return tsr_type_is_float(c->product.semiring.type) && c->product.semiring.add == TSR_ADD_PLUS
        && c->draw != DRAW_DYADIC;
}

static int64_t stored_values(const tsr_view *v)
{
    if (v->x == NULL)
        return 0;
    if (v->iso)
        return 1;
    if (v->format == TSR_SPARSE || v->format == TSR_HYPERSPARSE)
        return v->nvals;
    return v->nvec > 0 && v->vlen > 0 ? (v->nvec - 1) * v->ld + v->vlen : 0;
}

static void *absolute(tsr_view *v)
{
    int64_t count = stored_values(v);
    void *x = checked(malloc((size_t)count * 8 + 8));
    for (int64_t at = 0; at < count; at++) {
        tsr_value value = tsr_value_load(v->type, v->x, at);
        value.real = fabsl(value.real);
        tsr_value_store(v->type, x, at, value);
    }
    v->x = v->x != NULL ? x : NULL;
    return x;
}

static void expect_rounded(expected *e, const tsr_product *p)
{
    int64_t ignored;
    size_t size = (size_t)e->places + 1;
    e->exact = checked(malloc(size * sizeof *e->exact));
    e->magnitude = checked(malloc(size * sizeof *e->magnitude));
    tsr_product copy = *p;
    void *a = absolute(&copy.a), *b = absolute(&copy.b);
    int8_t *flags = checked(malloc(size));
    if (tsr_ref_execute_exact(&copy, e->magnitude, flags, &ignored) != TSR_OK
        || tsr_ref_execute_exact(p, e->exact, flags, &ignored) != TSR_OK)
        abort();
    free(a);
    free(b);
    free(flags);
}

static long double worst_error(const expected *e, tsr_type type)
{
    long double worst = 0;
    for (int64_t place = 0; place < e->places; place++) {
        long double error = fabsl(tsr_value_load(type, e->x, place).real - e->exact[place]), magnitude = e->magnitude[place];
        if (e->b[place] && isfinite((double)error) && isfinite((double)magnitude) && error > worst * magnitude)
            worst = error / magnitude;
    }
    return worst;
}

/* x = C (+) T */
static void join_c(expected *e, const test_case *c)
{
    const tsr_semiring *s = &c->product.semiring;
    for (int64_t place = 0; place < e->places; place++) {
        const tsr_value old = tsr_value_load(s->type, c->c, c->c_iso ? 0 : place), t = tsr_value_load(s->type, e->x, place);
        tsr_value_store(s->type, e->x, place, e->b[place] ? tsr_value_add(s, TSR_ROUND_TO_TYPE, old, t) : old);
        if (e->exact) {
            e->exact[place] = old.real + (e->b[place] ? e->exact[place] : 0);
            e->magnitude[place] = fabsl(old.real) + (e->b[place] ? e->magnitude[place] : 0);
        }
        e->b[place] = 1;
    }
    e->nvals = e->places;
}

static void expect(expected *e, const test_case *c, const void *claimed)
{
    const tsr_product *p = &c->product;
    memset(e, 0, sizeof *e);
    e->places = places_of(p);
    e->x = checked(malloc((size_t)e->places * 8 + 1));
    e->b = checked(malloc((size_t)e->places + 1));
    tsr_result result = { .x = e->x, .b = e->b };
    if (tsr_ref_execute(p, &result) != TSR_OK)
        abort();
    e->nvals = result.nvals;
    if (rounds(c)) {
        expect_rounded(e, p);
        long double unit = p->semiring.type == TSR_FP32 ? FLT_EPSILON : DBL_EPSILON;
        e->worst = fmaxl(worst_error(e, p->semiring.type), unit * (long double)p->k / 64); /* equal terms err alike, or not at all */
    }
    if (c->c)
        join_c(e, c);
    if (p->semiring.add == TSR_ADD_ANY) {
        e->matches = checked(malloc((size_t)e->places + 1));
        if (tsr_ref_match_any(p, claimed, e->matches) != TSR_OK)
            abort();
    }
}

static void expected_free(expected *e)
{
    free(e->x);
    free(e->b);
    free(e->exact);
    free(e->magnitude);
    free(e->matches);
}

/* ---- judging ---- */

static bool close_enough(const expected *e, tsr_type type, int64_t place, long double out, long double naive)
{
    long double exact = e->exact[place], unit = type == TSR_FP32 ? FLT_EPSILON : DBL_EPSILON;
    /* as double: valgrind's long double turns an infinity into the greatest number */
    if (!isfinite((double)exact) || !isfinite((double)naive))
        return isnan((double)naive) ? isnan((double)out) : (double)out == (double)naive;
    return fabsl(out - exact) <= unit * fabsl(exact) + (2 * e->worst + 2 * unit) * e->magnitude[place];
}

static bool value_right(const expected *e, const test_case *c, const void *x, int64_t place)
{
    tsr_type type = c->product.semiring.type;
    tsr_value out = tsr_value_load(type, x, place), ref = tsr_value_load(type, e->x, place);
    if (e->matches != NULL)
        return e->matches[place] != 0;
    if (e->exact != NULL)
        return close_enough(e, type, place, out.real, ref.real);
    return tsr_value_same(out, ref);
}

static bool judge_values(const expected *e, const test_case *c, const void *x, char *why, size_t size)
{
    tsr_type type = c->product.semiring.type;
    for (int64_t place = 0; place < e->places; place++) {
        if (!e->b[place] || value_right(e, c, x, place))
            continue;
        tsr_value out = tsr_value_load(type, x, place), ref = tsr_value_load(type, e->x, place);
        snprintf(why, size, "place %lld of %lld: %lld / %.17Lg, expected %lld / %.17Lg", (long long)place,
            (long long)e->places, (long long)out.bits, out.real, (long long)ref.bits, ref.real);
        return false;
    }
    return true;
}

static bool judge_bool(const expected *e, const test_case *c, const uint8_t *x, char *why, size_t size)
{
    if (c->product.semiring.type != TSR_BOOL)
        return true;
    for (int64_t place = 0; place < e->places; place++)
        if (e->b[place] && x[place] > 1) {
            snprintf(why, size, "place %lld: %d is no boolean", (long long)place, x[place]);
            return false;
        }
    return true;
}

static bool judge_flags(const expected *e, const int8_t *b, int64_t nvals, char *why, size_t size)
{
    for (int64_t place = 0; place < e->places; place++)
        if (b[place] != e->b[place]) {
            snprintf(why, size, "place %lld: flag %d, expected %d", (long long)place, b[place], e->b[place]);
            return false;
        }
    if (nvals != e->nvals)
        snprintf(why, size, "nvals %lld, expected %lld", (long long)nvals, (long long)e->nvals);
    return nvals == e->nvals;
}

static bool judge_fences(fenced x, fenced b, uint64_t before, uint64_t after, char *why, size_t size)
{
    if (!fence_holds(x))
        snprintf(why, size, "wrote outside of x");
    else if (!fence_holds(b))
        snprintf(why, size, "wrote outside of b");
    else if (before != after)
        snprintf(why, size, "an input changed");
    return fence_holds(x) && fence_holds(b) && before == after;
}

static verdict judge(const test_case *c, fenced x, fenced b, int64_t nvals, char *why, size_t size)
{
    expected e;
    expect(&e, c, inside(x));
    bool right = (!c->wants_flags || judge_flags(&e, inside(b), nvals, why, size))
        && judge_values(&e, c, inside(x), why, size) && judge_bool(&e, c, inside(x), why, size);
    expected_free(&e);
    return right ? VERDICT_OK : VERDICT_WRONG;
}

verdict check_case(const test_case *c, kernel_fn kernel, char *why, size_t size)
{
    size_t places = (size_t)places_of(&c->product);
    fenced x = fence(places * type_size(c->product.semiring.type)), b = fence(places);
    tsr_result result = { .x = inside(x), .b = c->wants_flags ? inside(b) : NULL, .c = c->c, .c_iso = c->c_iso,
        .nvals = -1 };
    if (c->in_place)
        result.c = memcpy(inside(x), c->c, places * type_size(c->product.semiring.type));
    uint64_t before = case_hash(c);
    tsr_status status = kernel(&c->product, &result);
    verdict v = VERDICT_WRONG;
    if (status == TSR_DECLINED)
        v = VERDICT_DECLINED;
    else if (status != TSR_OK)
        snprintf(why, size, "status %d", (int)status);
    else if (judge_fences(x, b, before, case_hash(c), why, size))
        v = judge(c, x, b, result.nvals, why, size);
    free(x.block);
    free(b.block);
    return v;
}
