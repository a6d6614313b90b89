/* Values that stay with the plug-in, on the lazy device, the emulated one or a GPU: coming and going, steps, reductions, dense
 * products, tight memory, failures, threads.
 *   test_values [seed] [rounds]
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backends/cuda/context.h"
#include "kernels/ref/derive.h"
#include "kernels/ref/ref.h"
#include "kernels/ref/step.h"
#include "test/cuda/device_control.h"
#include "test/cuda/plugin_start.h"
#include "test/kernels/cases.h"
#include "test/threads.h"

enum { POISON = 0xA5 };

static const tsr_backend_values *values;

/* ---- what the host holds ---- */

/* A value on the host: full when b == NULL. */
typedef struct host_value {
    tsr_type type;
    int64_t count;
    void *x;
    int8_t *b;
} host_value;

static void *take(size_t bytes)
{
    void *p = malloc(bytes + 1);
    assert_non_null(p);
    memset(p, POISON, bytes + 1);
    return p;
}

static host_value new_host(tsr_type type, int64_t count, bool bitmap)
{
    return (host_value){type, count, take((size_t)count * type_size(type)), bitmap ? take((size_t)count) : NULL};
}

static void free_host(host_value *h)
{
    free(h->x);
    free(h->b);
}

static tsr_elements elements_of(const host_value *h)
{
    return (tsr_elements){h->x, h->b};
}

/* Small numbers, so that sums are exact. */
static void draw_host(host_value *h, rng *r)
{
    int percent = (int)rng_below(r, 101);
    for (int64_t k = 0; k < h->count; k++) {
        int64_t number = rng_below(r, 9) - (h->type >= TSR_INT8 && h->type <= TSR_INT64 ? 4 : 0);
        tsr_value_store(h->type, h->x, k, (tsr_value){.bits = h->type == TSR_BOOL ? number & 1 : (uint64_t)number, .real = (double)number / 4});
        if (h->b)
            h->b[k] = rng_chance(r, percent);
    }
}

static int64_t entries_of(const host_value *h)
{
    int64_t entries = 0;
    for (int64_t k = 0; k < h->count; k++)
        entries += !h->b || h->b[k];
    return entries;
}

/* The same bits, or both NaN: devices differ in what else a NaN says. */
static bool same_element(const host_value *x, const host_value *y, int64_t k)
{
    size_t size = type_size(x->type), at = (size_t)k * size;
    bool both_nan = isnan(tsr_value_load(x->type, x->x, k).real) && isnan(tsr_value_load(y->type, y->x, k).real);
    return both_nan || memcmp((char *)x->x + at, (char *)y->x + at, size) == 0;
}

/* Where both are present they hold the same. */
static void assert_same(const host_value *x, const host_value *y)
{
    assert_true(x->type == y->type && x->count == y->count);
    for (int64_t k = 0; k < x->count; k++) {
        bool p = !x->b || x->b[k], q = !y->b || y->b[k];
        if (p != q || (p && !same_element(x, y, k)))
            fail_msg("seed %llu: element %lld of %lld, %s", (unsigned long long)seed, (long long)k, (long long)x->count, type_name(x->type));
    }
}

/* ---- coming and going ---- */

static tsr_view view_of(const host_value *h)
{
    return (tsr_view){.format = h->b ? TSR_BITMAP : TSR_FULL, .type = h->type, .by_col = true, .nrows = h->count, .ncols = 1, .nvec = 1,
                      .vlen = h->count, .ld = h->count, .nvals = entries_of(h), .b = h->b, .x = h->x};
}

static tsr_status bring(const host_value *h, void **value)
{
    int64_t moved;
    tsr_view v = view_of(h);
    return values->bring(&v, 2, value, &moved);
}

static void *must_bring(const host_value *h)
{
    void *value;
    assert_int_equal(bring(h, &value), TSR_OK);
    return value;
}

static void check_value(void *value, const host_value *want)
{
    host_value got = new_host(want->type, want->count, want->b != NULL);
    tsr_result result = {.x = got.x, .b = got.b};
    int64_t nvals;
    assert_int_equal(values->count(value, &nvals), TSR_OK);
    assert_int_equal(nvals, entries_of(want));
    assert_int_equal(values->fetch(value, &result, 2), TSR_OK);
    assert_int_equal(result.nvals, nvals);
    assert_same(&got, want);
    free_host(&got);
}

static int64_t draw_count(rng *r)
{
    static const int64_t counts[] = {0, 1, 2, 7, 31, 64, 65, 300, 1000};
    return counts[rng_below(r, 9)];
}

/* Vectors further apart than they are long, one value for all, page-locked arrays; what is moved is counted. */
static void bring_one(rng *r)
{
    tsr_type type = (tsr_type)rng_below(r, TSR_TYPE_COUNT);
    int64_t vectors = rng_below(r, 12), length = rng_below(r, 40), ld = length + rng_below(r, 3), moved = -1;
    bool iso = rng_chance(r, 30), bitmap = rng_chance(r, 50), pinned = rng_chance(r, 30) && vectors * length > 0;
    host_value held = new_host(type, vectors * ld + 1, bitmap), want = new_host(type, vectors * length, bitmap);
    size_t size = type_size(type);
    draw_host(&held, r);
    for (int64_t k = 0; k < want.count; k++) {
        int64_t at = k / length * ld + k % length;
        memcpy((char *)want.x + (size_t)k * size, (char *)held.x + (iso ? 0 : (size_t)at * size), size);
        if (bitmap)
            want.b[k] = held.b[at];
    }
    tsr_view v = {.format = bitmap ? TSR_BITMAP : TSR_FULL, .type = type, .iso = iso, .nrows = vectors, .ncols = length, .nvec = vectors,
                  .vlen = length, .ld = ld, .nvals = entries_of(&want), .b = held.b, .x = held.x};
    pinned = pinned && gpu->pin(held.x, (size_t)held.count * size);
    void *value;
    assert_int_equal(values->bring(&v, 1 + (int)rng_below(r, 4), &value, &moved), TSR_OK);
    assert_int_equal(moved, want.count * (int64_t)((iso ? 0 : size) + (bitmap ? 1 : 0)));
    if (pinned)
        gpu->unpin(held.x);
    memset(held.x, POISON, (size_t)held.count * size); /* it is not looked at any more */
    check_value(value, &want);
    values->forget(value);
    free_host(&held);
    free_host(&want);
}

/* Sparse or hypersparse on the host, a bitmap there. */
static void bring_sparse(rng *r)
{
    tsr_type type = (tsr_type)rng_below(r, TSR_TYPE_COUNT);
    int64_t vectors = 1 + rng_below(r, 12), length = 1 + rng_below(r, 40), count = vectors * length, nvals = 0, stored = 0, moved = -1;
    bool iso = rng_chance(r, 30), hyper = rng_chance(r, 50), by_col = rng_chance(r, 50);
    host_value want = new_host(type, count, true), entries = new_host(type, count + 1, false);
    int64_t *p = take((size_t)(vectors + 1) * 8), *h = take((size_t)vectors * 8), *i = take((size_t)count * 8);
    size_t size = type_size(type);
    draw_host(&want, r);
    draw_host(&entries, r);
    p[0] = 0;
    for (int64_t v = 0; v < vectors; v++) {
        for (int64_t k = v * length; k < (v + 1) * length; k++)
            if (want.b[k]) {
                memcpy((char *)want.x + (size_t)k * size, (char *)entries.x + (iso ? 0 : (size_t)nvals * size), size);
                i[nvals++] = k - v * length;
            }
        if (hyper && p[stored] == nvals)
            continue;
        h[stored++] = v;
        p[stored] = nvals;
    }
    tsr_view view = {.format = hyper ? TSR_HYPERSPARSE : TSR_SPARSE, .type = type, .iso = iso, .by_col = by_col, .index_size = 8,
                     .nrows = by_col ? length : vectors, .ncols = by_col ? vectors : length, .nvec = stored, .vlen = length, .ld = length,
                     .nvals = nvals, .p = p, .h = hyper ? h : NULL, .i = i, .x = nvals ? entries.x : NULL};
    void *value;
    assert_int_equal(values->bring(&view, 1 + (int)rng_below(r, 4), &value, &moved), TSR_OK);
    assert_int_equal(moved, nvals ? (vectors + 1) * 8 + nvals * (int64_t)(4 + (iso ? 0 : size)) : 0);
    memset(entries.x, POISON, (size_t)count * size); /* it is not looked at any more */
    check_value(value, &want);
    values->forget(value);
    free_host(&want);
    free_host(&entries);
    free(p);
    free(h);
    free(i);
}

static void test_bring_and_fetch(void **state)
{
    (void)state;
    rng r = {seed};
    for (int round = 0; round < 300 * rounds; round++) {
        bring_one(&r);
        bring_sparse(&r);
    }
    assert_int_equal(tsr_cuda.used, 0);
}

/* A value may be fetched often, also into page-locked arrays, and with presence that it need not have. */
static void test_fetch_again(void **state)
{
    (void)state;
    rng r = {seed};
    for (int bitmap = 0; bitmap < 2; bitmap++) {
        host_value h = new_host(TSR_INT32, 777, bitmap), full = new_host(TSR_INT32, 777, true);
        draw_host(&h, &r);
        void *value = must_bring(&h);
        for (int again = 0; again < 4; again++) {
            bool pinned = again % 2 && gpu->pin(full.x, 777 * 4);
            tsr_result result = {.x = full.x, .b = full.b};
            memset(full.x, POISON, 777 * 4);
            assert_int_equal(values->fetch(value, &result, 3), TSR_OK);
            assert_int_equal(result.bytes_moved, 777 * (4 + bitmap));
            assert_same(&full, &h);
            if (pinned)
                gpu->unpin(full.x);
        }
        values->forget(value);
        free_host(&h);
        free_host(&full);
    }
}

/* ---- steps ---- */

enum { OPERANDS = 4 };

/* A step, its operands on the host, and what it must give. */
typedef struct step_case {
    tsr_step step;
    host_value host[OPERANDS], want; /* x, y, c, mask; x.x == NULL: not there */
    tsr_step_arrays arrays;
} step_case;

static void draw_operand(step_case *c, int k, rng *r, tsr_type type, int percent_there, bool may_miss)
{
    if (may_miss && !rng_chance(r, percent_there))
        return;
    c->host[k] = new_host(type, c->step.count, rng_chance(r, 50));
    draw_host(&c->host[k], r);
}

static void make_step(step_case *c, rng *r)
{
    *c = (step_case){.step = {.op = (tsr_step_op)rng_below(r, TSR_STEP_COUNT), .type = (tsr_type)rng_below(r, TSR_TYPE_COUNT)}};
    tsr_step *s = &c->step;
    if (s->op == TSR_STEP_SQRT)
        s->op = TSR_STEP_ABS;
    s->count = draw_count(r);
    s->select = tsr_step_compares(s->op) && rng_chance(r, 50);
    s->result = tsr_step_compares(s->op) && !s->select ? TSR_BOOL : s->type;
    s->unite = !tsr_step_is_unary(s->op) && s->op <= TSR_STEP_LXOR && rng_chance(r, 50);
    s->mask_type = (tsr_type)rng_below(r, TSR_TYPE_COUNT);
    s->mask_structural = rng_chance(r, 40);
    draw_operand(c, 0, r, s->type, 80, true);
    draw_operand(c, 1, r, s->type, 80, true);
    draw_operand(c, 2, r, s->result, 60, true);
    draw_operand(c, 3, r, s->mask_type, 50, true);
    s->accumulates = c->host[2].x && rng_chance(r, 50);
    s->accum = (tsr_step_op)(TSR_STEP_FIRST + rng_below(r, TSR_STEP_LXOR - TSR_STEP_FIRST + 1));
    s->replace = c->host[3].x && rng_chance(r, 40);
    s->mask_complement = c->host[3].x && rng_chance(r, 40);
    tsr_value_store(s->type, &s->x.scalar, 0, (tsr_value){.bits = 1, .real = 1.5});
    tsr_value_store(s->type, &s->y.scalar, 0, (tsr_value){.bits = 1, .real = 0.5});
}

static void compute_want(step_case *c)
{
    tsr_step s = c->step;
    tsr_step_arrays a = {.x = elements_of(&c->host[0]), .y = elements_of(&c->host[1]), .c = elements_of(&c->host[2]),
                         .mask = elements_of(&c->host[3])};
    if (s.mask_structural)
        a.mask.x = NULL;
    s.mask = c->host[3].x;
    c->want = new_host(s.result, s.count, true);
    a.z = c->want.x;
    a.z_present = c->want.b;
    tsr_ref_step(&s, &a);
}

static void free_step(step_case *c)
{
    for (int k = 0; k < OPERANDS; k++)
        free_host(&c->host[k]);
    free_host(&c->want);
}

/* Operands and all, as a program without results would: what is not OK ends it.  *value: the result, or NULL. */
static tsr_status run_step(const step_case *c, void **value)
{
    tsr_step s = c->step;
    void *there[OPERANDS] = {NULL};
    tsr_status status = TSR_OK;
    *value = NULL;
    for (int k = 0; k < OPERANDS && status == TSR_OK; k++)
        status = c->host[k].x ? bring(&c->host[k], &there[k]) : TSR_OK;
    s.x.value = there[0];
    s.y.value = there[1];
    s.c = there[2];
    s.mask = there[3];
    if (status == TSR_OK)
        status = values->step(&s, value);
    for (int k = 0; k < OPERANDS; k++)
        if (there[k])
            values->forget(there[k]); /* what is queued has read them by then */
    return status;
}

static void test_steps(void **state)
{
    (void)state;
    rng r = {seed};
    for (int round = 0; round < 600 * rounds; round++) {
        step_case c;
        void *value;
        make_step(&c, &r);
        compute_want(&c);
        assert_int_equal(run_step(&c, &value), TSR_OK);
        check_value(value, &c.want);
        values->forget(value);
        free_step(&c);
    }
    assert_int_equal(tsr_cuda.used, 0);
}

/* Values of values; the programs forgets each as soon as it can. */
static void test_chain(void **state)
{
    enum { COUNT = 500, STEPS = 40 };
    (void)state;
    rng r = {seed};
    host_value h = new_host(TSR_INT64, COUNT, true), want = new_host(TSR_INT64, COUNT, true);
    draw_host(&h, &r);
    void *value = must_bring(&h);
    for (int k = 0; k < STEPS; k++) {
        tsr_step s = {.op = k % 2 ? TSR_STEP_PLUS : TSR_STEP_TIMES, .type = TSR_INT64, .result = TSR_INT64, .count = COUNT,
                      .x = {.value = value}, .y = {.scalar = 3}, .c = value, .accumulates = true, .accum = TSR_STEP_RMINUS};
        tsr_step_arrays a = {.x = elements_of(&h), .c = elements_of(&h), .z = want.x, .z_present = want.b};
        void *next;
        assert_int_equal(values->step(&s, &next), TSR_OK);
        values->forget(value);
        tsr_ref_step(&s, &a);
        host_value old = h;
        h = want;
        want = old;
        value = next;
    }
    check_value(value, &h);
    values->forget(value);
    free_host(&h);
    free_host(&want);
}

/* Steps that go on with what others made, and others; some results are looked at, summed up, or forgotten unseen. */
enum { LIVE = 4, LENGTH = 333 };

typedef struct live_value {
    void *value;
    host_value host;
} live_value;

static void draw_next_step(tsr_step *s, tsr_step_arrays *a, const live_value live[LIVE], int last, rng *r)
{
    static const tsr_step_op ops[] = {TSR_STEP_IDENTITY, TSR_STEP_ABS, TSR_STEP_AINV, TSR_STEP_PLUS, TSR_STEP_MINUS, TSR_STEP_RMINUS,
                                      TSR_STEP_MIN, TSR_STEP_MAX, TSR_STEP_ISGT, TSR_STEP_SECOND};
    const live_value *x = &live[rng_chance(r, 70) ? last : (int)rng_below(r, LIVE)], *y = &live[rng_below(r, LIVE)];
    *s = (tsr_step){.op = ops[rng_below(r, 10)], .type = TSR_FP32, .result = TSR_FP32, .count = LENGTH, .x = {.value = x->value}};
    *a = (tsr_step_arrays){.x = elements_of(&x->host)};
    if (rng_chance(r, 60)) {
        s->y.value = y->value;
        a->y = elements_of(&y->host);
    }
    s->unite = !tsr_step_is_unary(s->op) && rng_chance(r, 20);
    if (rng_chance(r, 50)) {
        const live_value *c = &live[rng_chance(r, 40) ? last : (int)rng_below(r, LIVE)];
        s->accumulates = true;
        s->accum = rng_chance(r, 50) ? TSR_STEP_MINUS : TSR_STEP_MAX;
        s->c = c->value;
        a->c = elements_of(&c->host);
    }
}

static void look_at_live(const live_value *v, rng *r)
{
    static const tsr_reduce_op ops[] = {TSR_REDUCE_PLUS, TSR_REDUCE_TIMES, TSR_REDUCE_MIN, TSR_REDUCE_MAX, TSR_REDUCE_ANY};
    const tsr_reduce_op op = ops[rng_below(r, 5)];
    float once = 0, again = 0;
    bool any_once, any_again;
    assert_int_equal(values->reduce(v->value, TSR_FP32, op, &once, &any_once), TSR_OK);
    if (rng_chance(r, 30))
        check_value(v->value, &v->host);
    assert_int_equal(values->reduce(v->value, TSR_FP32, op, &again, &any_again), TSR_OK);
    assert_int_equal(any_once, any_again);
    assert_true(!any_once || memcmp(&once, &again, sizeof once) == 0 || (isnan(once) && isnan(again)));
}

static void test_steps_in_chains(void **state)
{
    enum { STEPS = 60 };
    (void)state;
    rng r = {seed};
    live_value live[LIVE];
    for (int k = 0; k < LIVE; k++) {
        live[k].host = new_host(TSR_FP32, LENGTH, k == 1);
        draw_host(&live[k].host, &r);
        live[k].value = must_bring(&live[k].host);
    }
    for (int k = 0, last = 0; k < STEPS * rounds; k++) {
        tsr_step s;
        tsr_step_arrays a;
        draw_next_step(&s, &a, live, last, &r);
        host_value want = new_host(TSR_FP32, LENGTH, !tsr_step_is_full(&s, &a));
        a.z = want.x;
        a.z_present = want.b;
        tsr_ref_step(&s, &a);
        void *z;
        assert_int_equal(values->step(&s, &z), TSR_OK);
        last = (int)rng_below(&r, LIVE);
        values->forget(live[last].value);
        free_host(&live[last].host);
        live[last] = (live_value){z, want};
        if (rng_chance(&r, 20))
            look_at_live(&live[last], &r);
        const live_value *other = &live[rng_below(&r, LIVE)];
        if (rng_chance(&r, 20))
            check_value(other->value, &other->host);
    }
    for (int k = 0; k < LIVE; k++) {
        check_value(live[k].value, &live[k].host);
        values->forget(live[k].value);
        free_host(&live[k].host);
    }
    assert_int_equal(tsr_cuda.used, 0);
}

/* A copy outlives what it is a copy of. */
static void test_copies(void **state)
{
    (void)state;
    rng r = {seed};
    host_value h = new_host(TSR_FP32, 300, true);
    draw_host(&h, &r);
    void *a = must_bring(&h), *copy;
    const tsr_step step = {.op = TSR_STEP_IDENTITY, .type = TSR_FP32, .result = TSR_FP32, .count = h.count, .x = {.value = a}};
    assert_int_equal(values->step(&step, &copy), TSR_OK);
    values->forget(a);
    assert_int_equal(values->wait(copy), TSR_OK);
    check_value(copy, &h);
    values->forget(copy);
    free_host(&h);
}

/* ---- times ---- */

/* What the device took for the calls of this thread is told once. */
static void test_times(void **state)
{
    (void)state;
    rng r = {seed};
    host_value h = new_host(TSR_FP32, 300, false);
    draw_host(&h, &r);
    assert_null(gpu->times());
    tsr_cuda.timed = true;
    void *a = must_bring(&h), *sum;
    const tsr_step step = {.op = TSR_STEP_PLUS, .type = TSR_FP32, .result = TSR_FP32, .count = h.count, .x = {.value = a}, .y = {.value = a}};
    assert_int_equal(values->step(&step, &sum), TSR_OK);
    void *times = gpu->times(), *none = gpu->times();
    double ms;
    do
        ms = gpu->elapsed(times, rng_chance(&r, 50));
    while (ms < 0);
    tsr_cuda.timed = false;
    assert_null(none);
    assert_true(ms > 0);
    values->forget(a);
    values->forget(sum);
    free_host(&h);
}

/* ---- reductions ---- */

static void test_reductions(void **state)
{
    (void)state;
    rng r = {seed};
    for (int round = 0; round < 300 * rounds; round++) {
        tsr_reduce_op op = (tsr_reduce_op)rng_below(&r, TSR_REDUCE_COUNT);
        tsr_type type = op == TSR_REDUCE_EQ ? TSR_BOOL : (tsr_type)rng_below(&r, TSR_TYPE_COUNT);
        host_value h = new_host(type, draw_count(&r), rng_chance(&r, 50));
        draw_host(&h, &r);
        tsr_elements e = elements_of(&h);
        tsr_value want = {0, 0};
        uint64_t want_bits = 0, got_bits = 0;
        bool any = tsr_ref_reduce(&want, type, op, &e, h.count), got;
        tsr_value_store(type, &want_bits, 0, want);
        void *value = must_bring(&h);
        assert_int_equal(values->reduce(value, type, op, &got_bits, &got), TSR_OK);
        assert_int_equal(got, any);
        if (any && !(tsr_type_is_float(type) && op == TSR_REDUCE_TIMES))
            assert_int_equal(got_bits, want_bits);
        values->forget(value);
        free_host(&h);
    }
    assert_int_equal(tsr_cuda.used, 0);
}

/* ---- values made of one value ---- */

/* Vectors of a length; small numbers, so that sums are exact. */
typedef struct derive_case {
    int64_t vectors, length;
    host_value host;
    tsr_elements e;
    void *value;
} derive_case;

static derive_case draw_derive(rng *r, tsr_type type)
{
    derive_case c = {.vectors = rng_below(r, 40), .length = rng_below(r, 60)};
    c.host = new_host(type, c.vectors * c.length, rng_chance(r, 50));
    draw_host(&c.host, r);
    c.e = elements_of(&c.host);
    c.value = must_bring(&c.host);
    return c;
}

/* The source may go before its result is looked at. */
static void check_derived(derive_case *c, tsr_status status, void *const *value, host_value *want)
{
    assert_int_equal(status, TSR_OK);
    values->forget(c->value);
    check_value(*value, want);
    values->forget(*value);
    free_host(want);
    free_host(&c->host);
}

static void check_sums(rng *r)
{
    tsr_reduce_op op = (tsr_reduce_op)rng_below(r, TSR_REDUCE_ANY);
    tsr_type type = op == TSR_REDUCE_EQ ? TSR_BOOL : (tsr_type)rng_below(r, TSR_TYPE_COUNT);
    if (op == TSR_REDUCE_TIMES && tsr_type_is_float(type))
        op = TSR_REDUCE_PLUS;
    derive_case c = draw_derive(r, type);
    tsr_sums s = {.value = c.value, .type = type, .op = op, .vectors = c.vectors, .length = c.length, .across = rng_chance(r, 50)};
    host_value want = new_host(type, c.vectors, true);
    void *value;
    tsr_ref_sums(&s, &c.e, want.x, want.b);
    check_derived(&c, values->sums(&s, &value), &value, &want);
}

static void check_cast(rng *r)
{
    derive_case c = draw_derive(r, (tsr_type)rng_below(r, TSR_TYPE_COUNT));
    host_value want = new_host((tsr_type)rng_below(r, TSR_TYPE_COUNT), c.host.count, true);
    void *value;
    tsr_ref_cast_all(want.x, want.b, want.type, &c.e, c.host.type, c.host.count);
    check_derived(&c, values->cast(c.value, c.host.type, want.type, &value), &value, &want);
}

static void check_turn(rng *r)
{
    derive_case c = draw_derive(r, (tsr_type)rng_below(r, TSR_TYPE_COUNT));
    host_value want = new_host(c.host.type, c.host.count, true);
    void *value;
    tsr_ref_turn(want.x, want.b, &c.e, type_size(c.host.type), c.vectors, c.length);
    check_derived(&c, values->turn(c.value, c.vectors, c.length, &value), &value, &want);
}

static void check_places(rng *r)
{
    derive_case c = draw_derive(r, (tsr_type)rng_below(r, TSR_TYPE_COUNT));
    tsr_places p = {.value = c.value, .vectors = c.vectors, .length = c.length, .by_vector = (int)rng_below(r, 3) - 1,
                    .by_place = (int)rng_below(r, 3) - 1, .offset = rng_below(r, 9) - 4, .select = rng_chance(r, 50),
                    .keep = (tsr_step_op)(TSR_STEP_EQ + rng_below(r, 6))};
    host_value want = new_host(p.select ? c.host.type : TSR_INT64, c.host.count, true);
    void *value;
    tsr_ref_places(&p, &c.e, type_size(c.host.type), want.x, want.b);
    check_derived(&c, values->places(&p, &value), &value, &want);
}

static void test_derived(void **state)
{
    (void)state;
    rng r = {seed};
    for (int round = 0; round < 150 * rounds; round++) {
        check_sums(&r);
        check_cast(&r);
        check_turn(&r);
        check_places(&r);
    }
    assert_int_equal(tsr_cuda.used, 0);
}

/* ---- dense products ---- */

static int64_t place(int64_t row, int64_t column, int64_t rows, int64_t columns, bool by_col)
{
    return by_col ? column * rows + row : row * columns + column;
}

static void multiply_host(const tsr_dense_product *p, const host_value *a, const host_value *b, host_value *c)
{
    for (int64_t row = 0; row < p->m; row++)
        for (int64_t column = 0; column < p->n; column++) {
            long double sum = 0;
            for (int64_t at = 0; at < p->k; at++)
                sum += tsr_value_load(p->type, a->x, place(row, at, p->m, p->k, p->a_by_col)).real *
                       tsr_value_load(p->type, b->x, place(at, column, p->k, p->n, p->b_by_col)).real;
            tsr_value_store(p->type, c->x, place(row, column, p->m, p->n, p->c_by_col), (tsr_value){.real = sum});
        }
}

/* Sums are exact. */
static void test_dense_products(void **state)
{
    (void)state;
    rng r = {seed};
    for (int round = 0; round < 100 * rounds; round++) {
        tsr_dense_product p = {.type = rng_chance(&r, 50) ? TSR_FP32 : TSR_FP64, .m = rng_below(&r, 40), .n = rng_below(&r, 40),
                               .k = rng_below(&r, 40), .a_by_col = rng_chance(&r, 50), .b_by_col = rng_chance(&r, 50),
                               .c_by_col = rng_chance(&r, 50)};
        host_value a = new_host(p.type, p.m * p.k, false), b = new_host(p.type, p.k * p.n, false), c = new_host(p.type, p.m * p.n, false);
        draw_host(&a, &r);
        draw_host(&b, &r);
        multiply_host(&p, &a, &b, &c);
        p.a = must_bring(&a);
        p.b = must_bring(&b);
        void *value;
        tsr_status status = values->multiply(&p, &value);
        if (status == TSR_DECLINED && round == 0)
            print_message("no cuBLAS here\n");
        assert_true(status == TSR_OK || status == TSR_DECLINED);
        if (status == TSR_OK) {
            check_value(value, &c);
            values->forget(value);
        }
        values->forget(p.a);
        values->forget(p.b);
        free_host(&a);
        free_host(&b);
        free_host(&c);
    }
}

/* ---- tight memory ---- */

static void test_little_memory(void **state)
{
    (void)state;
    rng r = {seed};
    size_t cap = tsr_cuda.cap;
    int short_of = 0, ok = 0;
    for (int round = 0; round < 300 * rounds; round++) {
        step_case c;
        void *value;
        make_step(&c, &r);
        compute_want(&c);
        tsr_cuda.cap = (size_t)1 << rng_below(&r, 16);
        tsr_status status = run_step(&c, &value);
        assert_true(status == TSR_OK || status == TSR_OUT_OF_MEMORY);
        assert_true(tsr_cuda.used <= tsr_cuda.cap);
        *(status == TSR_OK ? &ok : &short_of) += 1;
        if (status == TSR_OK) {
            tsr_cuda.cap = cap;
            check_value(value, &c.want);
            values->forget(value);
        }
        free_step(&c);
        assert_int_equal(tsr_cuda.used, 0);
    }
    tsr_cuda.cap = cap;
    assert_true(ok > 20 && short_of > 20);
}

/* Representations of matrices go before a value has to. */
static void test_values_evict(void **state)
{
    (void)state;
    static const int64_t offsets[] = {0, 1, 2}, indices[] = {0, 1};
    static const float ones[] = {1, 1}, b[] = {3, 4};
    float c[2];
    void *slot = NULL, *value;
    tsr_product p = {.op = TSR_OP_SPMM, .semiring = {TSR_FP32, TSR_ADD_PLUS, TSR_MUL_TIMES}, .m = 2, .n = 1, .k = 2, .nthreads = 1,
                     .a_slot = &slot};
    p.a = (tsr_view){.format = TSR_SPARSE, .type = TSR_FP32, .index_size = 8, .nrows = 2, .ncols = 2, .nvec = 2, .vlen = 2, .nvals = 2,
                     .p = offsets, .i = indices, .x = ones};
    p.b = (tsr_view){.format = TSR_FULL, .type = TSR_FP32, .nrows = 2, .ncols = 1, .nvec = 2, .vlen = 1, .ld = 1, .nvals = 2, .x = b};
    assert_int_equal(gpu->execute(&p, &(tsr_result){.x = c}), TSR_OK);
    assert_true(gpu->holds(&p));
    size_t cap = tsr_cuda.cap;
    tsr_cuda.cap = tsr_cuda.used + 4000;
    rng r = {seed};
    host_value h = new_host(TSR_UINT8, 4100, false);
    draw_host(&h, &r);
    value = must_bring(&h);
    assert_false(gpu->holds(&p));
    check_value(value, &h);
    values->forget(value);
    free_host(&h);
    if (slot)
        gpu->release(slot);
    tsr_cuda.cap = cap;
    assert_int_equal(tsr_cuda.used, 0);
}

/* ---- products of few entries ---- */

enum { PATHS = 64, PATHS_ENTRIES = PATHS + 2 * (PATHS - 1) };

/* Column 0 has every row, others two. */
typedef struct frontier {
    int64_t p[PATHS + 1], i[PATHS_ENTRIES];
    int32_t x[PATHS_ENTRIES], u[PATHS], want[PATHS], got[PATHS];
    int8_t b[PATHS], want_b[PATHS], got_b[PATHS];
    tsr_product product;
    void *slot;
} frontier;

static void make_frontier(frontier *f)
{
    int64_t count = 0;
    memset(f, 0, sizeof *f);
    for (int64_t column = 0; column < PATHS; f->p[++column] = count)
        for (int64_t k = 0; k < (column ? 2 : PATHS); k++, count++) {
            f->i[count] = column ? (7 * column) % 32 + 32 * k : k;
            f->x[count] = (int32_t)(count % 11) - 3;
        }
    for (int k = 0; k < PATHS; k++)
        f->u[k] = 5 * k % 17;
    f->product = (tsr_product){.op = TSR_OP_SPMV, .semiring = {TSR_INT32, TSR_ADD_MIN, TSR_MUL_PLUS}, .m = PATHS, .n = 1, .k = PATHS,
        .c_by_col = true, .nthreads = 1, .a_transposed = true,
        .a = {.format = TSR_SPARSE, .type = TSR_INT32, .by_col = true, .index_size = 8, .nrows = PATHS, .ncols = PATHS, .nvec = PATHS,
              .vlen = PATHS, .nvals = count, .p = f->p, .i = f->i, .x = f->x}};
}

/* With entries in these columns.  The status; which kernel it was, what moved. */
static tsr_status multiply_frontier(frontier *f, const int *columns, int count, tsr_result *got)
{
    tsr_product p = f->product;
    memset(f->b, 0, sizeof f->b);
    for (int k = 0; k < count; k++)
        f->b[columns[k]] = 1;
    p.b = (tsr_view){.format = TSR_BITMAP, .type = TSR_INT32, .by_col = true, .nrows = PATHS, .ncols = 1, .nvec = 1, .vlen = PATHS,
                     .ld = PATHS, .nvals = count, .b = f->b, .x = f->u};
    assert_int_equal(tsr_ref_execute(&p, &(tsr_result){.x = f->want, .b = f->want_b}), TSR_OK);
    *got = (tsr_result){.x = f->got, .b = f->got_b};
    int64_t moved;
    tsr_status status = values->bring(&p.b, 1, &p.b_value, &moved);
    p.a_slot = &f->slot;
    p.b.x = NULL;
    p.b.b = NULL;
    if (status == TSR_OK)
        status = gpu->execute(&p, got);
    if (p.b_value)
        values->forget(p.b_value);
    for (int row = 0; status == TSR_OK && row < PATHS; row++) {
        assert_int_equal(f->got_b[row], f->want_b[row]);
        assert_true(!f->want_b[row] || f->got[row] == f->want[row]);
    }
    return status;
}

/* Few entries of short columns are pushed; what A's rows are needed for afterwards is made of its columns there. */
static void test_frontiers(void **state)
{
    (void)state;
    static const int few[] = {3, 5, 40}, hub[] = {0}, none[] = {1};
    int all[PATHS];
    frontier f;
    tsr_result got;
    const int64_t home = PATHS * (int64_t)(sizeof(int32_t) + 1);
    for (int k = 0; k < PATHS; k++)
        all[k] = k;
    make_frontier(&f);
    assert_int_equal(multiply_frontier(&f, few, 3, &got), TSR_OK);
    assert_string_equal(got.kernel, "push");
    assert_true(got.bytes_moved > home);
    assert_int_equal(multiply_frontier(&f, none, 0, &got), TSR_OK);
    assert_string_equal(got.kernel, "push");
    assert_true(got.bytes_moved == home && got.nvals == 0);
    assert_int_equal(multiply_frontier(&f, hub, 1, &got), TSR_OK);
    assert_string_equal(got.kernel, "csr");
    assert_int_equal(got.bytes_moved, home);
    assert_int_equal(multiply_frontier(&f, all, PATHS, &got), TSR_OK);
    assert_string_equal(got.kernel, "csr");
    assert_int_equal(multiply_frontier(&f, few, 2, &got), TSR_OK);
    assert_string_equal(got.kernel, "push");
    gpu->release(f.slot);
    assert_int_equal(tsr_cuda.used, 0);
}

static void test_failing_frontiers(void **state)
{
    (void)state;
    static const int few[] = {3, 5, 40};
    frontier f;
    tsr_result got;
    if (!control_fail(1, false))
        skip();
    control_fail(0, false);
    make_frontier(&f);
    const long live = control_live();
    multiply_frontier(&f, few, 3, &got);
    gpu->release(f.slot);
    const long calls = control_calls();
    for (long k = 1; k <= calls; k++) {
        f.slot = NULL;
        control_fail(k, false);
        const tsr_status status = multiply_frontier(&f, few, 3, &got);
        control_fail(0, false);
        assert_true(status == TSR_OK || status == TSR_OUT_OF_MEMORY || status == TSR_INTERNAL_ERROR);
        if (f.slot)
            gpu->release(f.slot);
        assert_int_equal(control_live(), live);
        assert_int_equal(tsr_cuda.used, 0);
    }
}

/* ---- failures ---- */

/* All that a value can meet; results are thrown away. */
static tsr_status do_all(const step_case *c, const tsr_dense_product *product, const host_value *a)
{
    void *value = NULL, *matrix = NULL, *square = NULL;
    host_value got = new_host(c->want.type, c->want.count, true);
    uint64_t scalar;
    int64_t nvals;
    bool any;
    tsr_status status = run_step(c, &value);
    if (status == TSR_OK)
        status = values->count(value, &nvals);
    if (status == TSR_OK)
        status = values->reduce(value, c->want.type, TSR_REDUCE_PLUS, &scalar, &any);
    if (status == TSR_OK)
        status = values->fetch(value, &(tsr_result){.x = got.x, .b = got.b}, 1);
    if (value && status == TSR_OK)
        assert_same(&got, &c->want);
    if (status == TSR_OK)
        status = bring(a, &matrix);
    if (status == TSR_OK) {
        tsr_dense_product p = *product;
        p.a = p.b = matrix;
        status = values->multiply(&p, &square);
    }
    tsr_sums s = {.value = matrix, .type = TSR_FP64, .op = TSR_REDUCE_PLUS, .vectors = 9, .length = 9};
    tsr_places at = {.value = matrix, .vectors = 9, .length = 9, .by_vector = 1, .by_place = -1, .select = true, .keep = TSR_STEP_GE};
    void *made[4] = {NULL};
    if (status == TSR_OK)
        status = values->sums(&s, &made[0]);
    if (status == TSR_OK)
        status = values->cast(matrix, TSR_FP64, TSR_INT8, &made[1]);
    if (status == TSR_OK)
        status = values->turn(matrix, 9, 9, &made[2]);
    if (status == TSR_OK)
        status = values->places(&at, &made[3]);
    void *const all[] = {value, matrix, square, made[0], made[1], made[2], made[3]};
    for (int k = 0; k < 7; k++)
        if (all[k])
            values->forget(all[k]);
    free_host(&got);
    return status;
}

static void fail_everywhere(const step_case *c, rng *r, bool sticky)
{
    tsr_dense_product p = {.type = TSR_FP64, .m = 9, .n = 9, .k = 9};
    host_value a = new_host(TSR_FP64, 81, false);
    draw_host(&a, r);
    tsr_status well = do_all(c, &p, &a);
    assert_true(well == TSR_OK || well == TSR_DECLINED);
    long live = control_live();
    control_fail(0, false);
    do_all(c, &p, &a);
    long calls = control_calls();
    for (long k = 1; k <= calls; k++) {
        control_fail(k, sticky);
        tsr_status status = do_all(c, &p, &a);
        control_fail(0, false);
        assert_true(status == well || status == TSR_OUT_OF_MEMORY || status == TSR_INTERNAL_ERROR);
        if (sticky)
            assert_true(status != TSR_OK);
        assert_int_equal(control_live(), live);
        assert_int_equal(tsr_cuda.used, 0);
    }
    assert_int_equal(do_all(c, &p, &a), well);
    free_host(&a);
}

static void test_failures(void **state)
{
    (void)state;
    rng r = {seed};
    if (!control_fail(1, false))
        skip();
    control_fail(0, false);
    for (int round = 0; round < 6 * rounds; round++) {
        step_case c;
        make_step(&c, &r);
        compute_want(&c);
        bool sticky = round % 2 && control_fail(1, true);
        control_fail(0, false);
        fail_everywhere(&c, &r, sticky);
        free_step(&c);
    }
}

/* ---- threads ---- */

static void *worker(void *argument)
{
    rng r = {seed ^ (uint64_t)(uintptr_t)argument};
    for (int round = 0; round < 60; round++) {
        step_case c;
        void *value;
        make_step(&c, &r);
        compute_want(&c);
        host_value got = new_host(c.want.type, c.want.count, true);
        bool ok = run_step(&c, &value) == TSR_OK && values->fetch(value, &(tsr_result){.x = got.x, .b = got.b}, 2) == TSR_OK;
        ok = ok && memcmp(got.b, c.want.b, (size_t)got.count) == 0;
        if (value)
            values->forget(value);
        free_host(&got);
        free_step(&c);
        if (!ok)
            return (void *)1;
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    assert_int_equal(run_numbered_threads(4, worker), 0);
    rng r = {seed};
    bring_one(&r); /* frees what others left */
    assert_int_equal(tsr_cuda.used, 0);
}

/* ---- what it does not take ---- */

static void test_declines(void **state)
{
    (void)state;
    int64_t moved;
    void *value = NULL;
    tsr_view v = {.format = TSR_SPARSE, .type = TSR_FP32, .vlen = INT64_C(1) << 32};
    assert_int_equal(values->bring(&v, 1, &value, &moved), TSR_DECLINED);
    rng r = {seed};
    host_value h = new_host(TSR_INT32, 5, false);
    draw_host(&h, &r);
    void *integers = must_bring(&h);
    tsr_step s = {.op = TSR_STEP_SQRT, .type = TSR_INT32, .result = TSR_INT32, .count = 5, .x = {.value = integers}};
    assert_int_equal(values->step(&s, &value), TSR_DECLINED);
    assert_null(value);
    tsr_dense_product p = {.type = TSR_INT32, .m = 1, .n = 1, .k = 5, .a = integers, .b = integers};
    assert_int_equal(values->multiply(&p, &value), TSR_DECLINED);
    tsr_sums sums = {.value = integers, .type = TSR_INT32, .op = TSR_REDUCE_EQ, .vectors = 1, .length = 5};
    assert_int_equal(values->sums(&sums, &value), TSR_DECLINED);
    values->forget(integers);
    free_host(&h);
    assert_int_equal(tsr_cuda.used, 0);
}

int main(int argc, char **argv)
{
    int status = start_plugin(argc, argv, &(tsr_backend_options){0});
    if (status)
        return status;
    values = gpu->values;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bring_and_fetch), cmocka_unit_test(test_fetch_again), cmocka_unit_test(test_steps),
        cmocka_unit_test(test_chain), cmocka_unit_test(test_steps_in_chains), cmocka_unit_test(test_copies), cmocka_unit_test(test_times),
        cmocka_unit_test(test_reductions), cmocka_unit_test(test_derived),
        cmocka_unit_test(test_dense_products),
        cmocka_unit_test(test_little_memory), cmocka_unit_test(test_values_evict), cmocka_unit_test(test_frontiers),
        cmocka_unit_test(test_failing_frontiers), cmocka_unit_test(test_failures),
        cmocka_unit_test(test_threads), cmocka_unit_test(test_declines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
