/* Elementwise steps of values that stay with the plug-in, and their sums, on the lazy device, the emulated one or a GPU.
 *   test_steps [seed] [rounds]
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "backends/cuda/arrays/answers.h"
#include "backends/cuda/arrays/arrays.h"
#include "backends/cuda/arrays/cleared.h"
#include "backends/cuda/arrays/listed.h"
#include "test/cuda/plugin_start.h"
#include "test/cuda/step_case.h"

static tsr_status forget_cleared(void *nothing)
{
    (void)nothing;
    (void)tsr_cuda_cleared_forget();
    return TSR_OK;
}

/* But for what is kept for arrays to come. */
static void assert_nothing_used(void)
{
    assert_int_equal(tsr_cuda_alone(forget_cleared, NULL), TSR_OK);
    assert_int_equal(tsr_cuda->used, 0);
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
        contents->drop(value);
        free_step(&c);
    }
    assert_nothing_used();
}

/* Values of values; the programs forgets each as soon as it can. */
static void test_chain(void **state)
{
    enum { COUNT = 500, STEPS = 40 };
    (void)state;
    rng r = {seed};
    host_value h = new_host(TSR_INT64, COUNT, true), want = new_host(TSR_INT64, COUNT, true);
    draw_host(&h, &r);
    void *value = must_upload(&h);
    for (int k = 0; k < STEPS; k++) {
        tsr_ewise s = {.op = k % 2 ? TSR_EWISE_PLUS : TSR_EWISE_TIMES, .type = TSR_INT64, .result = TSR_INT64, .count = COUNT,
                      .x = {.value = value}, .y = {.scalar = 3}, .c = value, .accumulates = true, .accum = TSR_EWISE_RMINUS};
        tsr_ewise_arrays a = {.x = elements_of(&h), .c = elements_of(&h), .z = want.x, .z_present = want.b};
        void *next;
        assert_int_equal(arrays->step(&s, &next), TSR_OK);
        contents->drop(value);
        tsr_ref_ewise(&s, &a);
        host_value old = h;
        h = want;
        want = old;
        value = next;
    }
    check_value(value, &h);
    contents->drop(value);
    free_host(&h);
    free_host(&want);
}

/* Steps that go on with what others made, and others; some results are looked at, summed up, or forgotten unseen. */
enum { LIVE = 4, LENGTH = 333 };

typedef struct live_value {
    void *value;
    host_value host;
} live_value;

static void draw_next_step(tsr_ewise *s, tsr_ewise_arrays *a, const live_value live[LIVE], int last, rng *r)
{
    static const tsr_ewise_op ops[] = {TSR_EWISE_IDENTITY, TSR_EWISE_ABS, TSR_EWISE_AINV, TSR_EWISE_PLUS, TSR_EWISE_MINUS, TSR_EWISE_RMINUS,
                                      TSR_EWISE_MIN, TSR_EWISE_MAX, TSR_EWISE_ISGT, TSR_EWISE_SECOND};
    const live_value *x = &live[rng_chance(r, 70) ? last : (int)rng_below(r, LIVE)], *y = &live[rng_below(r, LIVE)];
    *s = (tsr_ewise){.op = ops[rng_below(r, 10)], .type = TSR_FP32, .result = TSR_FP32, .count = LENGTH, .x = {.value = x->value}};
    *a = (tsr_ewise_arrays){.x = elements_of(&x->host)};
    if (rng_chance(r, 60)) {
        s->y.value = y->value;
        a->y = elements_of(&y->host);
    }
    s->unite = !tsr_ewise_is_unary(s->op) && rng_chance(r, 20);
    if (rng_chance(r, 50)) {
        const live_value *c = &live[rng_chance(r, 40) ? last : (int)rng_below(r, LIVE)];
        s->accumulates = true;
        s->accum = rng_chance(r, 50) ? TSR_EWISE_MINUS : TSR_EWISE_MAX;
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
    assert_int_equal(arrays->reduce(v->value, TSR_FP32, op, &once, &any_once), TSR_OK);
    if (rng_chance(r, 30))
        check_value(v->value, &v->host);
    assert_int_equal(arrays->reduce(v->value, TSR_FP32, op, &again, &any_again), TSR_OK);
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
        live[k].value = must_upload(&live[k].host);
    }
    for (int k = 0, last = 0; k < STEPS * rounds; k++) {
        tsr_ewise s;
        tsr_ewise_arrays a;
        draw_next_step(&s, &a, live, last, &r);
        host_value want = new_host(TSR_FP32, LENGTH, !tsr_ewise_is_full(&s, &a));
        a.z = want.x;
        a.z_present = want.b;
        tsr_ref_ewise(&s, &a);
        void *z;
        assert_int_equal(arrays->step(&s, &z), TSR_OK);
        last = (int)rng_below(&r, LIVE);
        contents->drop(live[last].value);
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
        contents->drop(live[k].value);
        free_host(&live[k].host);
    }
    assert_nothing_used();
}

/* A copy outlives what it is a copy of. */
static void test_copies(void **state)
{
    (void)state;
    rng r = {seed};
    host_value h = new_host(TSR_FP32, 300, true);
    draw_host(&h, &r);
    void *a = must_upload(&h), *copy;
    const tsr_ewise step = {.op = TSR_EWISE_IDENTITY, .type = TSR_FP32, .result = TSR_FP32, .count = h.count, .x = {.value = a}};
    assert_int_equal(arrays->step(&step, &copy), TSR_OK);
    contents->drop(a);
    assert_int_equal(arrays->wait(copy), TSR_OK);
    check_value(copy, &h);
    contents->drop(copy);
    free_host(&h);
}

/* ---- lists ---- */

/* At most an eighth of the places. */
static void thin(host_value *h, rng *r)
{
    const int64_t most = h->count / 8;
    for (int64_t k = 0, left = most ? rng_below(r, most) : 0; h->b && k < h->count; k++) {
        h->b[k] = h->b[k] && left > 0 && rng_chance(r, 30);
        left -= h->b[k];
    }
}

static tsr_status make_list(void *array)
{
    tsr_cuda_array *v = array;
    const tsr_status status = v->present ? tsr_cuda_array_count(v) : TSR_DECLINED;
    return status == TSR_OK ? tsr_cuda_listed_make(v) : status;
}

/* Operands of c there, some with lists. */
static void upload_listed(const step_case *c, tsr_ewise *s, void *there[OPERANDS], rng *r)
{
    for (int k = 0; k < OPERANDS; k++) {
        there[k] = c->host[k].x ? must_upload(&c->host[k]) : NULL;
        if (there[k] && rng_chance(r, 70))
            (void)tsr_cuda_alone(make_list, there[k]);
    }
    s->x.value = there[0];
    s->y.value = there[1];
    s->c = there[2];
    s->mask = there[3];
    s->yields_c = rng_chance(r, 60);
}

/* Its entries, as they are counted, listed and summed up. */
static void check_listed(void *value, const host_value *want, rng *r)
{
    const tsr_reduce_op op = want->type == TSR_BOOL ? TSR_REDUCE_LXOR : rng_chance(r, 50) ? TSR_REDUCE_PLUS : TSR_REDUCE_MIN;
    const tsr_elements e = elements_of(want);
    tsr_value sum = {0};
    uint64_t want_bits = 0, got_bits = 0;
    bool got;
    int64_t nvals;
    const bool any = tsr_ref_reduce(&sum, want->type, op, &e, want->count);
    tsr_value_store(want->type, &want_bits, 0, sum);
    if (rng_chance(r, 50)) {
        assert_int_equal(arrays->count(value, &nvals), TSR_OK);
        assert_int_equal(nvals, entries_of(want));
    }
    assert_int_equal(arrays->reduce(value, want->type, op, &got_bits, &got), TSR_OK);
    assert_int_equal(got, any);
    if (any && !tsr_type_is_float(want->type))
        assert_int_equal(got_bits, want_bits);
    check_value(value, want);
}

/* What is made of listed bitmaps, in C's own array if it may be, and what goes on with that. */
static void test_listed(void **state)
{
    (void)state;
    rng r = {seed};
    int in_place = 0, listed = 0;
    for (int round = 0; round < 600 * rounds; round++) {
        step_case c;
        void *there[OPERANDS], *value;
        make_step(&c, &r);
        for (int k = 0; k < OPERANDS; k++)
            thin(&c.host[k], &r);
        c.step.accumulates &= rng_chance(&r, 30);
        compute_want(&c);
        tsr_ewise s = c.step;
        upload_listed(&c, &s, there, &r);
        assert_int_equal(arrays->step(&s, &value), TSR_OK);
        in_place += value == s.c && s.c;
        listed += ((const tsr_cuda_array *)value)->lister != NULL;
        for (int k = 0; k < OPERANDS; k++)
            if (there[k])
                contents->drop(there[k]);
        check_listed(value, &c.want, &r);
        contents->drop(value);
        free_step(&c);
    }
    assert_true(in_place > 0 && listed > 0);
    assert_nothing_used();
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
    tsr_cuda_all.timed = true;
    void *a = must_upload(&h), *sum;
    const tsr_ewise step = {.op = TSR_EWISE_PLUS, .type = TSR_FP32, .result = TSR_FP32, .count = h.count, .x = {.value = a}, .y = {.value = a}};
    assert_int_equal(arrays->step(&step, &sum), TSR_OK);
    void *times = gpu->times(), *none = gpu->times();
    double ms;
    do
        ms = gpu->elapsed(times, rng_chance(&r, 50));
    while (ms < 0);
    tsr_cuda_all.timed = false;
    assert_null(none);
    assert_true(ms > 0);
    contents->drop(a);
    contents->drop(sum);
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
        tsr_value want = {0};
        uint64_t want_bits = 0, got_bits = 0;
        bool any = tsr_ref_reduce(&want, type, op, &e, h.count), got;
        tsr_value_store(type, &want_bits, 0, want);
        void *value = must_upload(&h);
        assert_int_equal(arrays->reduce(value, type, op, &got_bits, &got), TSR_OK);
        assert_int_equal(got, any);
        if (any && !(tsr_type_is_float(type) && op == TSR_REDUCE_TIMES))
            assert_int_equal(got_bits, want_bits);
        contents->drop(value);
        free_host(&h);
    }
    assert_nothing_used();
}

int main(int argc, char **argv)
{
    int status = start_plugin(argc, argv, &(tsr_backend_options){0});
    if (status)
        return status;
    arrays = gpu->arrays;
    contents = gpu->contents;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps), cmocka_unit_test(test_chain), cmocka_unit_test(test_steps_in_chains),
        cmocka_unit_test(test_copies), cmocka_unit_test(test_listed), cmocka_unit_test(test_times), cmocka_unit_test(test_reductions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
