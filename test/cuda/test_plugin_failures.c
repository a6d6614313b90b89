/* The plug-in in want: little memory, calls of the device that fail, several threads.
 *   test_plugin_failures [seed] [rounds] [pattern of the tests' names]
 * SPDX-License-Identifier: Apache-2.0 */
#include "test/cuda/plugin_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/device/context.h"
#include "test/cuda/device_control.h"
#include "test/threads.h"

/* ---- tight memory ---- */

static void test_little_memory(void **state)
{
    (void)state;
    plain();
    rng r = {seed};
    size_t cap = tsr_cuda->cap;
    int declined = 0, ok = 0;
    for (int round = 0; round < 200 * rounds; round++) {
        test_case c;
        tsr_semiring s = {(tsr_type)rng_below(&r, TSR_TYPE_COUNT), TSR_ADD_ANY, TSR_MUL_TIMES};
        if (s.type != TSR_BOOL)
            s.add = (tsr_add)rng_below(&r, 3);
        case_make(&c, &r, (tsr_op)rng_below(&r, TSR_OP_COUNT), s, (int)rng_below(&r, 2));
        how.use_slot = rng_chance(&r, 70);
        how.pin_b = rng_chance(&r, 30);
        how.pin_c = rng_chance(&r, 30);
        how.kernel = rng_chance(&r, 50) && by_blocks(&c) ? "bmat" : rng_chance(&r, 50) ? "stencil" : NULL;
        how.b_is_value = rng_chance(&r, 30);
        how.c_may_stay = rng_chance(&r, 30);
        how.c_may_keep = rng_chance(&r, 30);
        tsr_cuda->cap = (size_t)1 << rng_below(&r, 20);
        for (int again = 0; again < 2; again++)
            *(check_at(&c, "little memory") == VERDICT_OK ? &ok : &declined) += 1;
        assert_true(tsr_cuda->used <= tsr_cuda->cap);
        case_free(&c);
        release();
        assert_int_equal(tsr_cuda->used, 0);
    }
    tsr_cuda->cap = cap;
    assert_true(ok > 20 && declined > 20);
}

/* Many matrices, of which few fit: all answers right, the oldest go. */
static void test_eviction(void **state)
{
    enum { MATRICES = 12 };
    (void)state;
    plain();
    how.use_slot = true;
    rng r = {seed};
    test_case c[MATRICES];
    void *slots[MATRICES] = {0};
    size_t cap = tsr_cuda->cap;
    tsr_cuda->cap = 0;
    for (int k = 0; k < MATRICES; k++) {
        c[k] = make_plus_times(&r, TSR_FP64, 0);
        size_t bytes = (size_t)(4 * c[k].product.a.nvals * 12 + 8 * (c[k].product.m + c[k].product.k) * c[k].product.n + 100000);
        tsr_cuda->cap = bytes > tsr_cuda->cap ? bytes : tsr_cuda->cap;
    }
    tsr_cuda->cap += tsr_cuda->cap / 4;
    int held = 0;
    for (int step = 0; step < 100; step++) {
        int k = (int)rng_below(&r, MATRICES);
        slot = slots[k];
        tsr_product p = c[k].product;
        p.a_slot = &slot;
        held += gpu->holds(&p);
        assert_int_equal(check_at(&c[k], "eviction"), VERDICT_OK);
        slots[k] = slot;
    }
    printf("%d of 100 were held\n", held);
    for (int k = 0; k < MATRICES; k++) {
        if (slots[k])
            gpu->release(slots[k]);
        case_free(&c[k]);
    }
    slot = NULL;
    tsr_cuda->cap = cap;
    assert_int_equal(tsr_cuda->used, 0);
}

/* Two matrices with blocks take turns in memory for little more than one: both are counted, given up and built again. */
static void test_blocks_are_built_again(void **state)
{
    (void)state;
    plain();
    how.use_slot = true;
    how.expected_calls = 1e9;
    size_t cap = tsr_cuda->cap;
    void *slots[2] = {0};
    tsr_product p;
    test_case c = make_dense_windows(&p, false);
    for (int call = 0; call < 6; call++) {
        slot = slots[call % 2];
        assert_int_equal(check_at(&c, "in turn"), VERDICT_OK);
        assert_int_equal(last.built, 1);
        assert_int_equal(last.evicted, call > 0);
        slots[call % 2] = slot;
        if (call == 0)
            tsr_cuda->cap = 2 * tsr_cuda->used - 1;
    }
    for (int k = 0; k < 2; k++)
        gpu->release(slots[k]);
    slot = NULL;
    tsr_cuda->cap = cap;
    assert_int_equal(tsr_cuda->used, 0);
}

/* ---- failures ---- */

static tsr_status run_once(const test_case *c, void *x, int8_t *b)
{
    return execute(&c->product, &(tsr_result){.x = x, .b = b});
}

/* Every call of the device fails once, or from then on: never a wrong answer, nothing leaks, and afterwards all is well. */
static void fail_everywhere(test_case *c, bool sticky)
{
    if (!control_fail(1, sticky))
        return;
    control_fail(0, false);
    size_t places = (size_t)places_of(&c->product);
    void *x = malloc(places * 8 + 1);
    int8_t *b = malloc(places + 1);
    c->product.nthreads = 1;
    assert_int_equal(check_at(c, "before failures"), VERDICT_OK);
    release();
    long live = control_live();
    control_fail(0, false);
    run_once(c, x, b);
    release();
    long calls = control_calls(), step = calls / 150 + 1;
    for (long k = 1; k <= calls; k += step) {
        control_fail(k, sticky);
        tsr_status status = run_once(c, x, b);
        bool failed = control_calls() >= k; /* how often the device is asked varies */
        control_fail(0, false);
        if (sticky && failed && last.calls)
            assert_int_not_equal(status, TSR_OK);
        if (status == TSR_OK)
            assert_int_equal(check_at(c, "a failure overcome"), VERDICT_OK);
        release();
        assert_int_equal(control_live(), live);
        assert_int_equal(tsr_cuda->used, 0);
        assert_int_equal(check_at(c, "after a failure"), VERDICT_OK);
        release();
    }
    free(x);
    free(b);
}

static void test_failures(void **state)
{
    (void)state;
    plain();
    rng r = {seed};
    for (int round = 0; round < 6 * rounds; round++) {
        test_case c = make_plus_times(&r, TSR_FP32, 0);
        how.use_slot = round % 2;
        how.pin_b = round % 3 == 0;
        how.pin_c = round % 3 != 1;
        how.kernel = round % 4 < 2 && by_blocks(&c) ? "bmat" : NULL;
        how.reorder = round % 4 ? TSR_REORDER_AUTO : TSR_REORDER_LPA;
        how.b_is_value = round % 6 > 2;
        how.c_may_stay = round % 3 == 2;
        how.c_may_keep = round % 3 == 1;
        fail_everywhere(&c, round / 2 % 2);
        case_free(&c);
    }
    for (int round = 0; round < 8 * rounds; round++) {
        test_case c = make_masked(&r, round / 4 ? TSR_OP_SDDMM : TSR_OP_MASKED_DOT);
        how.use_slot = round % 2;
        how.b_is_value = round / 4;
        fail_everywhere(&c, round / 2 % 2);
        case_free(&c);
    }
    how.kernel = "stencil";
    for (int round = 0; round < 4 * rounds; round++) {
        test_case c = make_sddmm(&r, 0);
        how.precision = c.draw == DRAW_DYADIC ? TSR_PRECISION_FP16 : TSR_PRECISION_EXACT;
        how.use_slot = round % 2;
        fail_everywhere(&c, round / 2 % 2);
        case_free(&c);
    }
}

/* ---- threads ---- */

static void *worker(void *argument)
{
    rng r = {seed ^ (uint64_t)(uintptr_t)argument};
    for (int round = 0; round < 40; round++) {
        test_case c = make_plus_times(&r, TSR_FP64, 0);
        void *mine = NULL;
        tsr_product p = c.product;
        p.a_slot = &mine;
        p.kernel = "csr"; /* blocks, which may be built for the second one, have sums in another order */
        size_t places = (size_t)(p.m * p.n);
        double *x = malloc(places * sizeof *x), *y = malloc(places * sizeof *y);
        int8_t *b = malloc(places);
        tsr_status first = gpu->execute(&p, &(tsr_result){.x = x, .b = b});
        tsr_status second = gpu->execute(&p, &(tsr_result){.x = y, .b = b});
        bool same = first == TSR_OK && second == TSR_OK && memcmp(x, y, places * sizeof *x) == 0;
        if (mine)
            gpu->release(mine);
        free(x);
        free(y);
        free(b);
        case_free(&c);
        if (!same)
            return (void *)1;
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    plain();
    size_t cap = tsr_cuda->cap;
    tsr_cuda->cap = 16 << 20; /* little, but enough for each */
    assert_int_equal(run_numbered_threads(4, worker), 0);
    tsr_cuda->cap = cap;
    tsr_product p;
    test_case c = make_dense_windows(&p, false);
    check_at(&c, "after threads"); /* frees what others left */
    assert_int_equal(tsr_cuda->used, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_little_memory), cmocka_unit_test(test_eviction), cmocka_unit_test(test_blocks_are_built_again),
        cmocka_unit_test(test_failures), cmocka_unit_test(test_threads),
    };
    int status = start_plugin_with_model(argc, argv);
    return status ? status : cmocka_run_group_tests(tests, NULL, NULL);
}
