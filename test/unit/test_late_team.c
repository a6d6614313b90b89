/* Regions whose team comes late, and calls that do without it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>
#include <omp.h>

#include "src/base/late_team.h"
#include "src/base/split.h"

enum { MICROSECOND = 1000, MILLISECOND = 1000000 };

static int forget(void **state)
{
    (void)state;
    tsr_late_team_forget();
    tsr_team_begin();
    return 0;
}

/* A call that might be spared, whose team is late by so much; 0: in time. */
static void wait_for(int64_t computed_ns, int64_t waited_ns)
{
    tsr_late_team_begin();
    (void)tsr_late_team_spares(1e9, false);
    tsr_late_team_waited(computed_ns, waited_ns);
    tsr_late_team_begin();
}

/* Calls of so many ms that are spared, of so many at most. */
static int spared(double more_ms, int calls)
{
    int count = 0;
    for (int k = 0; k < calls; k++)
        count += tsr_late_team_spares(more_ms, false);
    return count;
}

static void test_parts_may_differ(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        wait_for(100 * MICROSECOND, 900 * MICROSECOND);
        wait_for(10 * MILLISECOND, 30 * MILLISECOND);
    }
    assert_int_equal(spared(.01, 100), 0);
}

static void test_once_is_an_accident(void **state)
{
    (void)state;
    wait_for(100 * MICROSECOND, 15 * MILLISECOND);
    assert_int_equal(spared(.01, 10), 0);
    wait_for(100 * MICROSECOND, 0);
    wait_for(100 * MICROSECOND, 15 * MILLISECOND);
    assert_int_equal(spared(.01, 10), 0);
}

static void test_a_team_in_time_ends_it(void **state)
{
    (void)state;
    wait_for(100 * MICROSECOND, 15 * MILLISECOND);
    wait_for(100 * MICROSECOND, 15 * MILLISECOND);
    assert_int_equal(spared(.01, 10), 10);
    wait_for(100 * MICROSECOND, 0);
    assert_int_equal(spared(.01, 10), 0);
}

static void test_others_do_not_count(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        tsr_late_team_begin();
        tsr_late_team_waited(100 * MICROSECOND, 15 * MILLISECOND);
    }
    tsr_late_team_begin();
    assert_int_equal(spared(.01, 10), 0);
}

static void test_calls_cost_what_was_lost(void **state)
{
    (void)state;
    wait_for(100 * MICROSECOND, 40 * MILLISECOND);
    wait_for(100 * MICROSECOND, 15 * MILLISECOND);
    assert_int_equal(spared(.25, 1000), 60);
}

static void test_a_long_call_is_not_spared(void **state)
{
    (void)state;
    wait_for(100 * MICROSECOND, 15 * MILLISECOND);
    wait_for(100 * MICROSECOND, 15 * MILLISECOND);
    assert_int_equal(spared(16, 1), 0);
    assert_int_equal(spared(5, 10), 3);
}

/* One thread is a gain only where it takes less longer than the team was waited for. */
static void test_a_short_wait_spares_little(void **state)
{
    (void)state;
    for (int k = 0; k < 10; k++)
        wait_for(100 * MICROSECOND, 2 * MILLISECOND);
    assert_int_equal(spared(1.5, 10), 0);
    assert_int_equal(spared(.5, 10), 10);
}

static void test_a_machine_that_stood_still(void **state)
{
    (void)state;
    wait_for(MILLISECOND, INT64_C(3600000) * MILLISECOND);
    wait_for(MILLISECOND, INT64_C(3600000) * MILLISECOND);
    assert_in_range(spared(1, 1000), 50, 200);
}

static void test_untried_teams_wait(void **state)
{
    (void)state;
    assert_false(tsr_late_team_spares(.5, false));
    assert_false(tsr_late_team_spares(100, true));
    for (int k = 0; k < 10; k++)
        assert_true(tsr_late_team_spares(.5, true));
    assert_false(tsr_late_team_spares(.5, true));
}

static void test_a_team_in_time_is_no_longer_untried(void **state)
{
    (void)state;
    wait_for(100 * MICROSECOND, 15 * MILLISECOND);
    assert_true(tsr_late_team_spares(.5, true));
    wait_for(100 * MICROSECOND, 0);
    assert_false(tsr_late_team_spares(.5, true));
}

static void test_a_team_in_time_of_another_call_is_seen(void **state)
{
    (void)state;
    tsr_late_team_waited(100 * MICROSECOND, 15 * MILLISECOND);
    tsr_late_team_begin();
    assert_false(tsr_late_team_seen());
    tsr_late_team_waited(100 * MICROSECOND, 0);
    tsr_late_team_begin();
    assert_true(tsr_late_team_seen() && tsr_late_team_spares(.5, true));
}

static void test_calls_count_by_what_they_took(void **state)
{
    (void)state;
    for (int k = 0; k < 40; k++) {
        assert_true(tsr_late_team_spares(.5, true));
        tsr_late_team_took(.4);
    }
    assert_true(tsr_late_team_spares(.5, true));
    tsr_late_team_took(-10);
    tsr_late_team_took(10); /* once a call */
    assert_true(tsr_late_team_spares(.5, true));
    assert_false(tsr_late_team_spares(.01, true));
}

/* A region with two threads whose second one sleeps for so long; how many it had. */
static int run_region(long ns)
{
    const struct timespec pause = {.tv_nsec = ns};
    int threads = 0;
#pragma omp parallel num_threads(tsr_team(2))
    {
        if (omp_get_thread_num() == 0)
            threads = omp_get_num_threads();
        else
            nanosleep(&pause, NULL);
    }
    return threads;
}

static void test_waiting_is_observed(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        tsr_team_begin();
        tsr_team_spare(1e9, false);
        assert_int_equal(run_region(20 * MILLISECOND), 2);
    }
    tsr_team_begin();
    if (!tsr_late_team_spares(.1, false)) /* a compiler that does not call libgomp */
        skip();
    tsr_team_spare(.1, false);
    assert_int_equal(run_region(0), 1);
    tsr_team_begin();
    assert_int_equal(run_region(0), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_team_in_time_of_another_call_is_seen, forget),
        cmocka_unit_test_setup(test_parts_may_differ, forget),           cmocka_unit_test_setup(test_calls_cost_what_was_lost, forget),
        cmocka_unit_test_setup(test_once_is_an_accident, forget),        cmocka_unit_test_setup(test_a_team_in_time_ends_it, forget),
        cmocka_unit_test_setup(test_others_do_not_count, forget),        cmocka_unit_test_setup(test_a_short_wait_spares_little, forget),
        cmocka_unit_test_setup(test_a_long_call_is_not_spared, forget), cmocka_unit_test_setup(test_a_machine_that_stood_still, forget),
        cmocka_unit_test_setup(test_waiting_is_observed, forget),        cmocka_unit_test_setup(test_untried_teams_wait, forget),
        cmocka_unit_test_setup(test_a_team_in_time_is_no_longer_untried, forget),
        cmocka_unit_test_setup(test_calls_count_by_what_they_took, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
