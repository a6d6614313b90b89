/* Decisions of the engine, and its execution (casts, representations) against the reference kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "kernels/kernels.h"
#include "src/engine/call/clock.h"
#include "src/engine/call/report.h"
#include "src/engine/engine.h"
#include "src/engine/product/decide.h"
#include "src/engine/product/execute.h"
#include "src/engine/sparse/few.h"
#include "src/policy/history/stay_history.h"
#include "src/policy/history/timing_history.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"

enum { ROWS = 300, COLS = 200, WIDTH = 24, DEGREE = 7 };

static int64_t offsets[ROWS + 1], indices[ROWS * DEGREE];
static int32_t values[ROWS * DEGREE];
static double dense[COLS * WIDTH];
static double result[ROWS * WIDTH], expected[ROWS * WIDTH];

/* DEGREE entries in each row, small integers: every sum is exact in FP64. */
static int fill(void **state)
{
    (void)state;
    for (int r = 0; r < ROWS; r++) {
        offsets[r] = (int64_t)r * DEGREE;
        for (int e = 0; e < DEGREE; e++) {
            indices[r * DEGREE + e] = (r * 3 + e * (COLS / DEGREE)) % COLS;
            values[r * DEGREE + e] = (r + e) % 9 - 4;
        }
    }
    offsets[ROWS] = (int64_t)ROWS * DEGREE;
    for (int j = 0; j < COLS * WIDTH; j++)
        dense[j] = (j * 7) % 13 - 6;
    return 0;
}

static tsr_view sparse_view(tsr_type type, const void *x)
{
    return (tsr_view){.format = TSR_SPARSE, .type = type, .index_size = 8, .jumbled = true, .nrows = ROWS, .ncols = COLS,
                      .nvec = ROWS, .vlen = COLS, .ld = COLS, .nvals = ROWS * DEGREE, .p = offsets, .i = indices, .x = x};
}

static tsr_call spmm_request(void)
{
    tsr_call r = {.given.name = "test", .may_forward = true};
    r.product = (tsr_product){
        .op = TSR_OP_SPMM, .semiring = {TSR_FP64, TSR_ADD_PLUS, TSR_MUL_TIMES}, .m = ROWS, .n = WIDTH, .k = COLS, .nthreads = 2,
        .a = sparse_view(TSR_INT32, values),
        .b = {.format = TSR_FULL, .type = TSR_FP64, .nrows = COLS, .ncols = WIDTH, .nvec = COLS, .vlen = WIDTH, .ld = WIDTH,
              .nvals = COLS * WIDTH, .x = dense}};
    return r;
}

/* The same product with values cast by hand, by the oracle. */
static void oracle(const tsr_call *r)
{
    static double cast[ROWS * DEGREE];
    for (int e = 0; e < ROWS * DEGREE; e++)
        cast[e] = values[e];
    tsr_product p = r->product;
    p.a = sparse_view(TSR_FP64, cast);
    tsr_result out = {.x = expected};
    assert_int_equal(tsr_ref_execute(&p, &out), TSR_OK);
}

static void set(const char *name, const char *value)
{
    assert_int_equal(tsr_config_set(name, value), TSR_OK);
}

static void test_operands_are_cast(void **state)
{
    (void)state;
    set("mode", "cpu");
    set("min_work", "0");
    tsr_call r = spmm_request();
    tsr_decision d;
    tsr_engine_decide(&r, &d);
    assert_non_null(d.backend);
    tsr_result out = {.x = result};
    assert_int_equal(tsr_engine_execute(&r, &d, &out), TSR_OK);
    oracle(&r);
    assert_memory_equal(result, expected, sizeof result);
}

static void test_representation_gives_the_same(void **state)
{
    (void)state;
    set("mode", "cpu");
    tsr_call r = spmm_request();
    r.a.record = tsr_record_new();
    tsr_decision d;
    tsr_engine_decide(&r, &d);
    d.build_a = true;
    memset(result, 0xff, sizeof result);
    tsr_result out = {.x = result};
    assert_int_equal(tsr_engine_execute(&r, &d, &out), TSR_OK);
    oracle(&r);
    assert_memory_equal(result, expected, sizeof result);
    tsr_rep *rep = tsr_record_find(r.a.record, d.a_key);
    assert_non_null(rep);
    tsr_rep_unref(rep);
    tsr_engine_decide(&r, &d);
    assert_true(d.build_a); /* what is there is used */
    tsr_record_unref(r.a.record);
}

/* A held by column: the flipped representation wins sooner or later, and a write forgets what led there. */
static void test_regret_leads_to_building(void **state)
{
    (void)state;
    set("mode", "cpu");
    tsr_call r = spmm_request();
    r.may_forward = false;
    r.product.a.by_col = true;
    r.product.a.nrows = COLS;
    r.product.a.ncols = ROWS;
    r.product.m = COLS;
    r.product.k = ROWS;
    r.a.record = tsr_record_new();
    int calls = 0;
    for (tsr_decision d = {0}; calls < 10000 && !d.build_a; calls++)
        tsr_engine_decide(&r, &d);
    assert_in_range(calls, 2, 9999);
    tsr_record_invalidate(r.a.record);
    tsr_decision d;
    tsr_engine_decide(&r, &d);
    assert_false(d.build_a);
    r.expected_calls = 1e6;
    tsr_engine_decide(&r, &d);
    assert_true(d.build_a);
    tsr_record_unref(r.a.record);
}

static void test_limits(void **state)
{
    (void)state;
    tsr_call r = spmm_request();
    tsr_decision d;
    set("mode", "cpu");
    set("min_work", "1e9");
    assert_true(tsr_engine_too_small(&r.product));
    set("min_work", "10");
    assert_false(tsr_engine_too_small(&r.product));
    set("disable", "spmm");
    tsr_engine_decide(&r, &d);
    assert_null(d.backend);
    assert_string_equal(d.reason, "disabled");
    set("disable", "sddmm");
    set("min_work", "0");
    tsr_engine_decide(&r, &d);
    assert_non_null(d.backend);
    set("disable", "");
}

/* "No GPU" is all that mode=cpu says; with min_work=0 it is the test mode that computes what SuiteSparse does faster. */
static void test_mode_cpu_forwards_what_is_faster_there(void **state)
{
    (void)state;
    tsr_call r = spmm_request();
    r.product.op = TSR_OP_SPMV;
    r.product.n = 1;
    r.product.a.type = TSR_FP64;
    tsr_decision d;
    static const char *const least[] = {"auto", "1", "0"};
    for (int k = 0; k < 3; k++) {
        set("mode", "cpu");
        set("min_work", least[k]);
        r.one_value = false;
        tsr_engine_decide(&r, &d);
        assert_int_equal(d.backend != NULL, k == 2);
        r.one_value = true;
        tsr_engine_decide(&r, &d);
        assert_int_equal(d.backend != NULL, k == 2);
    }
    set("mode", "auto");
    set("min_work", "auto");
}

static void test_full_results_are_known(void **state)
{
    (void)state;
    tsr_call r = spmm_request();
    assert_true(tsr_engine_result_full(&r));
    int64_t gap[ROWS + 1];
    memcpy(gap, offsets, sizeof gap);
    gap[5] = gap[6];
    r.product.a.p = gap; /* row 5 is now empty, row 4 longer */
    assert_false(tsr_engine_result_full(&r));
}

static void test_description(void **state)
{
    (void)state;
    char text[160];
    tsr_call r = spmm_request();
    tsr_engine_describe(text, sizeof text, &r.product);
    assert_string_equal(text, "spmm plus_times fp64 m=300 k=200 n=24 nnz=2100");
}

/* A call that waited for a processor has not lost against SuiteSparse; one that was busy has. */
static void test_waiting_is_not_losing(void **state)
{
    (void)state;
    const tsr_decision d = {.backend = tsr_backend_cpu(), .forward_ms = 10, .timing = 1, .alike = 3};
    tsr_engine_learn(&d, 100, 9);
    assert_false(tsr_timing_lost(d.alike));
    tsr_engine_learn(&d, 100, 90);
    assert_true(tsr_timing_lost(d.alike));
    tsr_timing_forget();
}

static void test_busy_time_stops_while_waiting(void **state)
{
    (void)state;
    const double start = tsr_engine_clock_ms(), busy = tsr_engine_busy_ms();
    nanosleep(&(struct timespec){.tv_nsec = 30 * 1000 * 1000}, NULL);
    assert_true(tsr_engine_clock_ms() - start >= 30 && tsr_engine_busy_ms() - busy < 15);
    while (tsr_engine_busy_ms() - busy < 1)
        ;
}

/* ---- a product whose estimate takes long ---- */

enum { ALIKE = 4 };

static const char *resolve_nothing(tsr_call *call)
{
    (void)call;
    return NULL;
}

static void decide_for_the_cpu(tsr_call *call)
{
    call->decision = (tsr_decision){.backend = tsr_backend_cpu(), .forward_ms = 10, .timing = 1, .alike = ALIKE};
}

static tsr_status run_nothing(tsr_call *call)
{
    (void)call;
    return TSR_OK;
}

static const tsr_operation quick = {.resolve = resolve_nothing, .decide = decide_for_the_cpu, .run = run_nothing};
static int sampled;

static bool sample_slowly(const tsr_arguments *given, tsr_sample *sample)
{
    (void)given;
    (void)sample;
    const double until = tsr_engine_busy_ms() + 40;
    while (tsr_engine_busy_ms() < until)
        ;
    sampled++;
    return false;
}

static const char *match_quick(tsr_call *call)
{
    call->product = spmm_request().product;
    call->operation = &quick;
    return NULL;
}

static bool is_here(const tsr_arguments *given)
{
    (void)given;
    return true;
}

static bool is_elsewhere(const tsr_door *door, const tsr_arguments *given)
{
    (void)door;
    (void)given;
    return false;
}

static bool yield(const tsr_call *call)
{
    (void)call;
    return true;
}

static int take_result(tsr_call *call)
{
    (void)call;
    return 0;
}

/* Who asks what is saved has the same products computed here as who does not. */
static void test_estimating_is_not_losing(void **state)
{
    (void)state;
    const tsr_door door = {.concerns_device = is_elsewhere, .download = is_here, .pays = is_here, .match = match_quick, .yield = yield,
                           .hand_over = take_result, .sample = sample_slowly};
    const tsr_arguments given = {.name = "test"};
    int info = -1;
    set("savings", "1");
    assert_true(tsr_engine_call(&door, &given, &info));
    set("savings", "0");
    assert_int_equal(info, 0);
    assert_int_equal(sampled, 1);
    assert_false(tsr_timing_lost(ALIKE));
    tsr_timing_forget();
}

/* What its library refuses to write it is to refuse itself. */
static bool refuses(void *C)
{
    return C;
}

static void test_read_only_results_are_left(void **state)
{
    (void)state;
    const tsr_door door = {.concerns_device = is_elsewhere, .download = is_here, .pays = is_here, .match = match_quick, .yield = yield,
                           .hand_over = take_result, .is_read_only = refuses};
    int c, info = -1;
    const tsr_arguments any = {.name = "test"}, read_only = {.name = "test", .C = &c};
    assert_true(tsr_engine_call(&door, &any, &info));
    assert_false(tsr_engine_call(&door, &read_only, &info));
}

/* A push that was computed here counts towards moving the search that it belongs to, if it is one. */
static void test_pushes_of_a_search_count(void **state)
{
    (void)state;
    const double entries = 3.3e7, sides = 2 * 1048576.0;
    tsr_push search = {.semiring = {.add = TSR_REDUCE_ANY, .factor = TSR_FACTOR_MIDDLE, .type = TSR_INT64, .result = TSR_INT64},
                       .a = {.nvec = 1048576, .vlen = 1048576, .nvals = (int64_t)entries}, .u = {.nvec = 1}, .nthreads = 16};
    tsr_push sums = search, several = search;
    sums.semiring = (tsr_push_semiring){.add = TSR_REDUCE_PLUS, .mul = TSR_EWISE_TIMES, .type = TSR_FP64, .result = TSR_FP64};
    several.u.nvec = 4;
    tsr_stay_forget();
    tsr_engine_push_took(&sums, 70);
    tsr_engine_push_took(&several, 70);
    tsr_engine_push_took(&search, 0.3);
    assert_true(tsr_stay_take_pushed(entries, sides) == 0);
    tsr_engine_push_took(&search, 70);
    const double lost = tsr_stay_take_pushed(entries, sides);
    assert_true(lost > 60 && lost < 70);
    tsr_stay_forget();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operands_are_cast),        cmocka_unit_test(test_representation_gives_the_same),
        cmocka_unit_test(test_regret_leads_to_building), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_mode_cpu_forwards_what_is_faster_there),
        cmocka_unit_test(test_read_only_results_are_left),
        cmocka_unit_test(test_full_results_are_known),   cmocka_unit_test(test_description),
        cmocka_unit_test(test_waiting_is_not_losing), cmocka_unit_test(test_busy_time_stops_while_waiting),
        cmocka_unit_test(test_estimating_is_not_losing), cmocka_unit_test(test_pushes_of_a_search_count),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
