/* What is learnt from measured times, and what is not.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "src/policy/history/timing_history.h"

static tsr_features product(tsr_type type, tsr_add add, tsr_mul mul)
{
    return (tsr_features){.op = TSR_OP_SPMM, .semiring = {type, add, mul}, .m = 1e5, .n = 32, .k = 1e5, .a_nnz = 1e6, .b_nnz = 3.2e6,
                          .nthreads = 2};
}

/* A product that takes ms[route], 50 more where something is built for it first, and was predicted otherwise: how often each route is
 * taken in `calls` calls. */
static void repeat(uint64_t key, const double ms[TSR_ROUTE_COUNT], const double predicted[TSR_ROUTE_COUNT], tsr_route first, int calls,
                   int taken[TSR_ROUTE_COUNT])
{
    for (int r = 0; r < TSR_ROUTE_COUNT; r++)
        taken[r] = 0;
    for (int k = 0; k < calls; k++) {
        tsr_route r = tsr_timing_choose(key, predicted, first);
        taken[r]++;
        const double took = ms[r] + (r != TSR_ROUTE_SUITESPARSE && taken[r] == 1 ? 50 : 0);
        tsr_timing_add(key, r, took, took);
    }
}

static int forget(void **state)
{
    (void)state;
    tsr_timing_forget();
    return 0;
}

static void test_sums_of_floating_point_are_not_learnt(void **state)
{
    (void)state;
    tsr_features f = product(TSR_FP32, TSR_ADD_PLUS, TSR_MUL_TIMES);
    assert_int_equal(tsr_timing_key(&f), 0);
    f = product(TSR_FP64, TSR_ADD_ANY, TSR_MUL_SECOND);
    assert_int_equal(tsr_timing_key(&f), 0);
    const double ms[] = {1, 9, 9}, predicted[] = {2, 1, -1};
    int taken[TSR_ROUTE_COUNT];
    repeat(0, ms, predicted, TSR_ROUTE_CPU, 10, taken);
    assert_int_equal(taken[TSR_ROUTE_CPU], 10);
}

static void test_keys_tell_products_apart(void **state)
{
    (void)state;
    tsr_features f = product(TSR_FP32, TSR_ADD_MIN, TSR_MUL_PLUS), g = f;
    uint64_t key = tsr_timing_key(&f);
    assert_int_not_equal(key, 0);
    assert_int_equal(key, tsr_timing_key(&g));
    g.n = 33;
    assert_int_not_equal(key, tsr_timing_key(&g));
    g = f;
    g.finish_extra = true;
    assert_int_not_equal(key, tsr_timing_key(&g));
}

static void test_a_wrong_prediction_is_corrected(void **state)
{
    (void)state;
    tsr_features f = product(TSR_INT64, TSR_ADD_PLUS, TSR_MUL_TIMES);
    uint64_t key = tsr_timing_key(&f);
    const double ms[] = {1.0, 2.0, 0}, predicted[] = {2.2, 1.5, -1};
    int taken[TSR_ROUTE_COUNT];
    repeat(key, ms, predicted, TSR_ROUTE_CPU, 100, taken);
    assert_int_equal(taken[TSR_ROUTE_CPU], 3);
    assert_int_equal(taken[TSR_ROUTE_SUITESPARSE], 97);
    assert_int_equal(taken[TSR_ROUTE_GPU], 0);
}

static void test_a_right_prediction_costs_two_trials_at_most(void **state)
{
    (void)state;
    tsr_features f = product(TSR_INT32, TSR_ADD_PLUS, TSR_MUL_PAIR);
    const double ms[] = {1.1, 1.0, 0}, predicted[] = {1.2, 1.0, -1};
    int taken[TSR_ROUTE_COUNT];
    repeat(tsr_timing_key(&f), ms, predicted, TSR_ROUTE_CPU, 100, taken);
    assert_int_equal(taken[TSR_ROUTE_SUITESPARSE], 2);
}

/* Fewer than 97 of 100 ms without us would be a loss: a trial waits until it is that small a share, and needs a reason. */
static void test_suitesparse_is_rarely_left_for_a_trial(void **state)
{
    (void)state;
    tsr_features f = product(TSR_INT32, TSR_ADD_PLUS, TSR_MUL_PAIR);
    const double near[] = {1.0, 1.5, 0}, slow[] = {2.0, 3.0, 0}, fast[] = {2.0, 0.5, 0}, predicted[] = {0.9, 1.0, -1};
    int taken[TSR_ROUTE_COUNT];
    repeat(tsr_timing_key(&f), near, predicted, TSR_ROUTE_SUITESPARSE, 200, taken);
    assert_int_equal(taken[TSR_ROUTE_CPU], 0);
    tsr_timing_forget();
    repeat(tsr_timing_key(&f), slow, predicted, TSR_ROUTE_SUITESPARSE, 33, taken);
    assert_int_equal(taken[TSR_ROUTE_CPU], 0);
    tsr_timing_forget();
    repeat(tsr_timing_key(&f), slow, predicted, TSR_ROUTE_SUITESPARSE, 200, taken);
    assert_int_equal(taken[TSR_ROUTE_CPU], 2);
    tsr_timing_forget();
    repeat(tsr_timing_key(&f), fast, predicted, TSR_ROUTE_SUITESPARSE, 200, taken);
    assert_int_equal(taken[TSR_ROUTE_SUITESPARSE], 34);
}

/* A second call of SuiteSparse is for the machine's noise: ten times slower is not noise. */
static void test_a_far_slower_library_is_tried_once(void **state)
{
    (void)state;
    tsr_features f = product(TSR_INT64, TSR_ADD_PLUS, TSR_MUL_PAIR);
    const double ms[] = {10.0, 1.0, 0}, near[] = {2.5, 1.0, 0}, predicted[] = {1.2, 1.0, -1};
    int taken[TSR_ROUTE_COUNT];
    repeat(tsr_timing_key(&f), ms, predicted, TSR_ROUTE_CPU, 100, taken);
    assert_int_equal(taken[TSR_ROUTE_SUITESPARSE], 1);
    tsr_timing_forget();
    repeat(tsr_timing_key(&f), near, predicted, TSR_ROUTE_CPU, 100, taken);
    assert_int_equal(taken[TSR_ROUTE_SUITESPARSE], 2);
    tsr_timing_forget();
    repeat(tsr_timing_key(&f), (double[]){1.0, 10.0, 0}, (double[]){1.0, 0.1, -1}, TSR_ROUTE_SUITESPARSE, 100, taken);
    assert_int_equal(taken[TSR_ROUTE_CPU], 2); /* its first call may have built what the second one uses */
}

static void test_what_is_far_off_is_not_tried(void **state)
{
    (void)state;
    tsr_features f = product(TSR_BOOL, TSR_ADD_LOR, TSR_MUL_AND);
    const double ms[] = {1.0, 9.0, 9.0}, predicted[] = {1.0, 1.3, 5.0};
    int taken[TSR_ROUTE_COUNT];
    repeat(tsr_timing_key(&f), ms, predicted, TSR_ROUTE_SUITESPARSE, 100, taken);
    assert_int_equal(taken[TSR_ROUTE_SUITESPARSE], 100);
}

/* One call that was disturbed changes nothing; a machine that has become slower for good does. */
/* Everything takes eight times what was predicted: the trial waits until it costs no more than what has been spent. */
static void test_a_slow_machine_is_no_wrong_model(void **state)
{
    (void)state;
    const tsr_features f = product(TSR_INT64, TSR_ADD_PLUS, TSR_MUL_PAIR);
    const double predicted[] = {75, 10, -1}, ms[] = {600, 80, 80};
    int taken[TSR_ROUTE_COUNT];
    repeat(tsr_timing_key(&f), ms, predicted, TSR_ROUTE_CPU, 7, taken);
    assert_int_equal(taken[TSR_ROUTE_CPU], 7);
    tsr_timing_forget();
    repeat(tsr_timing_key(&f), ms, predicted, TSR_ROUTE_CPU, 100, taken);
    assert_int_equal(taken[TSR_ROUTE_SUITESPARSE], 1);
}

/* Others have the processor for nine tenths of the time: that says nothing about the kernel. */
static void test_a_busy_machine_is_no_wrong_model(void **state)
{
    (void)state;
    const tsr_features f = product(TSR_INT64, TSR_ADD_PLUS, TSR_MUL_PAIR);
    const uint64_t key = tsr_timing_key(&f);
    const double predicted[] = {20, 10, -1};
    for (int k = 0; k < 100; k++)
        tsr_timing_add(key, TSR_ROUTE_CPU, 100, 10);
    assert_int_equal(tsr_timing_choose(key, predicted, TSR_ROUTE_CPU), TSR_ROUTE_CPU);
    for (int k = 0; k < 100; k++)
        tsr_timing_add(key, TSR_ROUTE_CPU, 100, 100);
    assert_int_equal(tsr_timing_choose(key, predicted, TSR_ROUTE_CPU), TSR_ROUTE_SUITESPARSE);
}

static void test_old_times_fade(void **state)
{
    (void)state;
    tsr_features f = product(TSR_INT8, TSR_ADD_MAX, TSR_MUL_TIMES);
    uint64_t key = tsr_timing_key(&f);
    const double predicted[] = {1.2, 1.0, -1};
    double ms[] = {1.2, 1.0, 0};
    int taken[TSR_ROUTE_COUNT];
    repeat(key, ms, predicted, TSR_ROUTE_CPU, 20, taken);
    tsr_timing_add(key, TSR_ROUTE_CPU, 2.0, 2.0);
    assert_int_equal(tsr_timing_choose(key, predicted, TSR_ROUTE_CPU), TSR_ROUTE_CPU);
    for (int k = 0; k < 20; k++)
        tsr_timing_add(key, TSR_ROUTE_CPU, 4.0, 4.0);
    assert_int_equal(tsr_timing_choose(key, predicted, TSR_ROUTE_CPU), TSR_ROUTE_SUITESPARSE);
}

static void test_known_after_two_calls(void **state)
{
    (void)state;
    tsr_features f = product(TSR_INT32, TSR_ADD_MIN, TSR_MUL_PLUS);
    uint64_t key = tsr_timing_key(&f);
    tsr_timing_add(key, TSR_ROUTE_CPU, 60, 60);
    assert_true(tsr_timing_ms(key, TSR_ROUTE_CPU) < 0);
    tsr_timing_add(key, TSR_ROUTE_CPU, 10, 10);
    assert_true(tsr_timing_ms(key, TSR_ROUTE_CPU) == 10);
    assert_true(tsr_timing_ms(key, TSR_ROUTE_SUITESPARSE) < 0 && tsr_timing_ms(0, TSR_ROUTE_CPU) < 0);
}

/* A single loss by a factor sends products that differ in their counts back, until SuiteSparse is seen to be as slow. */
static void test_one_loss_is_enough(void **state)
{
    (void)state;
    tsr_features f = product(TSR_INT64, TSR_ADD_PLUS, TSR_MUL_PAIR), fewer = f, other = f, float_sum = f;
    f.op = fewer.op = TSR_OP_MASKED_DOT;
    fewer.a_nnz = fewer.b_nnz = fewer.mask_nnz = 7e5;
    other.n++;
    float_sum.semiring.type = TSR_FP64;
    assert_true(tsr_timing_alike(&float_sum)); /* a count is exact */
    float_sum.semiring.mul = TSR_MUL_TIMES;
    const uint64_t alike = tsr_timing_alike(&f);
    assert_true(alike == tsr_timing_alike(&fewer) && alike != tsr_timing_alike(&other) && !tsr_timing_alike(&float_sum));
    assert_true(tsr_timing_key(&f) != tsr_timing_key(&fewer));
    tsr_timing_judge(alike, TSR_ROUTE_CPU, 15, 10);
    assert_false(tsr_timing_lost(alike));
    tsr_timing_judge(alike, TSR_ROUTE_CPU, 39, 10);
    assert_true(tsr_timing_lost(alike) && !tsr_timing_lost(tsr_timing_alike(&other)) && !tsr_timing_lost(0));
    tsr_timing_judge(alike, TSR_ROUTE_SUITESPARSE, 11, 10);
    assert_true(tsr_timing_lost(alike));
    tsr_timing_judge(alike, TSR_ROUTE_SUITESPARSE, 35, 10);
    assert_false(tsr_timing_lost(alike));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_sums_of_floating_point_are_not_learnt, forget),
        cmocka_unit_test_setup(test_keys_tell_products_apart, forget),
        cmocka_unit_test_setup(test_a_wrong_prediction_is_corrected, forget),
        cmocka_unit_test_setup(test_a_right_prediction_costs_two_trials_at_most, forget),
        cmocka_unit_test_setup(test_suitesparse_is_rarely_left_for_a_trial, forget),
        cmocka_unit_test_setup(test_a_far_slower_library_is_tried_once, forget),
        cmocka_unit_test_setup(test_what_is_far_off_is_not_tried, forget),
        cmocka_unit_test_setup(test_a_slow_machine_is_no_wrong_model, forget),
        cmocka_unit_test_setup(test_a_busy_machine_is_no_wrong_model, forget),
        cmocka_unit_test_setup(test_old_times_fade, forget),
        cmocka_unit_test_setup(test_known_after_two_calls, forget),
        cmocka_unit_test_setup(test_one_loss_is_enough, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
