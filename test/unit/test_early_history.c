/* What a process may gain at most by its first calls before one of them is computed here.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "src/policy/history/early_history.h"
#include "src/policy/price/few.h"

static int forget(void **state)
{
    (void)state;
    tsr_early_forget();
    return 0;
}

static int calls_left(tsr_small kind, double steps)
{
    int left = 0;
    while (left < 1000 && tsr_early_leaves(tsr_small_gain_us(kind, steps)))
        left++;
    return left;
}

static void small_calls_are_left_for_a_while(void **state)
{
    (void)state;
    const int left = calls_left(TSR_SMALL_PUSH, 10);
    assert_in_range(left, 10, 60);
    assert_false(tsr_early_leaves(tsr_small_gain_us(TSR_SMALL_PUSH, 10)));
}

static void a_large_call_ends_that(void **state)
{
    (void)state;
    assert_true(tsr_early_leaves(tsr_small_gain_us(TSR_SMALL_PUSH, 10)));
    assert_false(tsr_early_leaves(tsr_small_gain_us(TSR_SMALL_PUSH, 100000)));
    assert_false(tsr_early_leaves(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(small_calls_are_left_for_a_while, forget), cmocka_unit_test_setup(a_large_call_ends_that, forget)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
