/* Where elementwise calls go.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "src/policy/history/history.h"
#include "src/policy/history/placement_history.h"
#include "src/policy/price/elementwise.h"

static int forget(void **state)
{
    (void)state;
    tsr_placement_forget();
    return 0;
}

static uint64_t key_of(uint64_t op, uint64_t size)
{
    const uint64_t parts[] = {op, size};
    return tsr_history_key(parts, 2);
}

static bool pulls(uint64_t key)
{
    return tsr_placement_pulls(&(tsr_pull){.elements = 1e6, .least = -1, .on_device = true, .key = key});
}

static void test_only_what_is_there_and_large(void **state)
{
    (void)state;
    const tsr_pull there = {.elements = 1e6, .least = -1, .on_device = true, .key = 1};
    tsr_pull p = there;
    assert_true(tsr_placement_pulls(&p));
    p.on_device = false;
    assert_false(tsr_placement_pulls(&p));
    p.forced = true;
    assert_true(tsr_placement_pulls(&p));
    p.elements = TSR_PLACEMENT_LEAST_FORCED;
    assert_true(tsr_placement_pulls(&p));
    p.elements--;
    assert_false(tsr_placement_pulls(&p));
    p = there;
    p.elements = TSR_PLACEMENT_LEAST - 1;
    assert_false(tsr_placement_pulls(&p));
    p.least = 10;
    assert_true(tsr_placement_pulls(&p));
    p.forced = true;
    p.elements = 9;
    assert_false(tsr_placement_pulls(&p));
}

static void test_keys(void **state)
{
    (void)state;
    assert_int_not_equal(key_of(1, 2), 0);
    assert_int_equal(key_of(1, 2), key_of(1, 2));
    assert_int_not_equal(key_of(1, 2), key_of(2, 1));
    const uint64_t none = 0;
    assert_int_not_equal(tsr_history_key(&none, 1), 0);
}

/* A loop that looks at every result on the host. */
static void test_read_at_once(void **state)
{
    (void)state;
    const uint64_t key = key_of(3, 4), other = key_of(3, 5);
    int taken = 0;
    for (int k = 0; k < 1000; k++) {
        if (!pulls(key)) continue;
        taken++;
        tsr_placement_read(key);
    }
    assert_true(taken >= 3 && taken <= 10);
    assert_true(pulls(other));
}

/* The loop changes: results are used where they are. */
static void test_forgotten_when_used(void **state)
{
    (void)state;
    const uint64_t key = key_of(6, 7);
    for (int k = 0; k < 50; k++)
        if (pulls(key)) tsr_placement_read(key);
    int taken = 0;
    for (int k = 0; k < 200; k++) {
        if (!pulls(key)) continue;
        taken++;
        tsr_placement_used(key);
    }
    assert_true(taken > 100);
    assert_true(tsr_placement_stays(key));
}

/* What only the device has would be downloaded instead of the result. */
static void test_operands_of_the_device_alone(void **state)
{
    (void)state;
    const tsr_pull pull = {.elements = 1e6, .least = 1000, .device_only = true, .key = key_of(14, 15)};
    for (int k = 0; k < 10; k++) {
        assert_true(tsr_placement_pulls(&pull));
        tsr_placement_read(pull.key);
    }
    assert_false(tsr_placement_pulls(&(tsr_pull){.elements = 10, .least = 1000, .device_only = true, .key = pull.key}));
    assert_false(tsr_placement_pulls(&(tsr_pull){.elements = 1e6, .least = 1000, .on_device = true, .key = pull.key}));
}

static void test_stays(void **state)
{
    (void)state;
    const uint64_t key = key_of(8, 9);
    assert_false(tsr_placement_stays(key));
    tsr_placement_used(key);
    assert_true(tsr_placement_stays(key));
    tsr_placement_read(key);
    assert_false(tsr_placement_stays(key));
    for (int k = 0; k < 10; k++) tsr_placement_used(key);
    tsr_placement_read(key);
    assert_true(tsr_placement_stays(key));
    tsr_placement_used(0); /* of nobody */
    tsr_placement_read(0);
}

static void test_copies_that_nobody_uses(void **state)
{
    (void)state;
    const uint64_t key = key_of(10, 11);
    int kept = 0;
    for (int k = 0; k < 4; k++) assert_true(tsr_placement_keeps(key));
    for (int k = 0; k < 160; k++) kept += tsr_placement_keeps(key);
    assert_int_equal(kept, 10);
    tsr_placement_used(key);
    assert_true(tsr_placement_keeps(key) && tsr_placement_keeps(key));
}

static void test_a_host_result_that_is_uploaded(void **state)
{
    (void)state;
    const uint64_t key = key_of(12, 13);
    int C, D;
    tsr_placement_lost_time(&C, key, NULL, NULL);
    tsr_placement_uploaded(&D);
    assert_false(tsr_placement_stays(key));
    tsr_placement_uploaded(&C);
    assert_true(tsr_placement_stays(key));
    tsr_placement_read(key);
    tsr_placement_uploaded(&C); /* counted already */
    assert_false(tsr_placement_stays(key));
}

/* d = a / b; d = max (d, c): what is uploaded in the end is the second result, in the place of the first. */
static void test_a_host_result_of_host_results(void **state)
{
    (void)state;
    const uint64_t divide = key_of(14, 13), largest = key_of(15, 13), other = key_of(16, 13);
    int d, c;
    tsr_placement_lost_time(&d, divide, NULL, NULL);
    tsr_placement_lost_time(&c, other, NULL, NULL);
    tsr_placement_lost_time(&d, largest, &d, &c);
    tsr_placement_uploaded(&d);
    assert_true(tsr_placement_stays(divide) && tsr_placement_stays(largest) && tsr_placement_stays(other));
}

static void test_what_pays_on_the_host(void **state)
{
    (void)state;
    const tsr_ewise_features plain = {.elements = 1e6, .computes = true};
    tsr_ewise_features call = plain;
    assert_false(tsr_ewise_pays(&call)); /* SuiteSparse is as fast as memory */
    call.forced = true;
    assert_true(tsr_ewise_pays(&call));
    call = plain;
    call.masked = true;
    assert_true(tsr_ewise_pays(&call));
    call = plain;
    call.select = true;
    assert_true(tsr_ewise_pays(&call));
    call.elements = TSR_EWISE_LEAST;
    assert_false(tsr_ewise_pays(&call));
    call.partial = true;
    assert_true(tsr_ewise_pays(&call));
    call = plain;
    call.accumulates = true;
    assert_true(tsr_ewise_pays(&call));
    call.computes = false;
    assert_false(tsr_ewise_pays(&call));
    call.extremes = true;
    assert_true(tsr_ewise_pays(&call));
    call = plain;
    call.casts = true;
    assert_true(tsr_ewise_pays(&call));
    call = plain;
    call.moves = true;
    assert_true(tsr_ewise_pays(&call));
    call.elements = TSR_EWISE_LEAST;
    assert_false(tsr_ewise_pays(&call));
}

static void common_entries_pay_in_long_lists(void **state)
{
    (void)state;
    assert_true(tsr_common_pays(3200, 3200, 100) && !tsr_common_pays(3100, 3100, 100));
    assert_true(tsr_common_pays(10, 10000, 100) && !tsr_common_pays(10, 9900, 100));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_only_what_is_there_and_large, forget),
        cmocka_unit_test_setup(test_keys, forget),
        cmocka_unit_test_setup(test_read_at_once, forget),
        cmocka_unit_test_setup(test_forgotten_when_used, forget),
        cmocka_unit_test_setup(test_operands_of_the_device_alone, forget),
        cmocka_unit_test_setup(test_stays, forget),
        cmocka_unit_test_setup(test_copies_that_nobody_uses, forget),
        cmocka_unit_test_setup(test_a_host_result_that_is_uploaded, forget),
        cmocka_unit_test_setup(test_a_host_result_of_host_results, forget),
        cmocka_unit_test(test_what_pays_on_the_host),
        cmocka_unit_test(common_entries_pay_in_long_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
