/* When loops move to a device, and back.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "src/policy/history/stay_history.h"

#define MOVE 8.0 /* ms */

/* A loop of products of one kind, and its clock. */
typedef struct loop {
    uint64_t key;
    double now;
    int calls, moves; /* calls made, moves there */
    double device_ms; /* what they took there, moving included */
} loop;

static int forget(void **state)
{
    (void)state;
    tsr_stay_forget();
    return 0;
}

/* One turn: a product, and what follows it.  The product alone is predicted to gain `gain`. */
static bool turn(loop *l, double host_ms, double device_ms, double gain)
{
    const bool there = tsr_stay_on_device(l->key);
    tsr_stay_starts(l->key, there, l->now);
    if (!there)
        tsr_stay_lost_time(l->key, gain, MOVE);
    l->now += there ? device_ms : host_ms;
    l->device_ms += there ? device_ms : 0;
    l->moves += !there && tsr_stay_on_device(l->key);
    l->calls++;
    return there;
}

static void go_on(loop *l, int turns, double host_ms, double device_ms, double gain)
{
    for (int k = 0; k < turns; k++)
        turn(l, host_ms, device_ms, gain);
}

/* Of a run like those whose loops stayed: after three intervals' products of 3 ms, which pay for the move of 8. */
static void test_what_is_expected_to_stay_moves_sooner(void **state)
{
    (void)state;
    loop l = {.key = 7}, worse = {.key = 8};
    assert_false(tsr_stay_has_settled());
    tsr_stay_expect();
    while (!turn(&l, 4, .5, 3))
        assert_true(l.calls < 100);
    assert_in_range(l.calls, 3, 5);
    go_on(&l, 20, 4, .5, 3);
    assert_true(tsr_stay_has_settled() && !tsr_stay_has_returned());
    go_on(&worse, 60, 4, 5, 3);
    assert_int_equal(worse.moves, 1); /* what does not gain returns as ever, and so that runs to come are told */
    assert_false(tsr_stay_on_device(worse.key));
    assert_true(tsr_stay_has_returned());
}

/* After as many as pay for the move and the risk: 8 + 4 * 4 ms, of which each misses 3. */
static void test_what_gains_moves_and_stays(void **state)
{
    (void)state;
    loop l = {.key = 7};
    while (!turn(&l, 4, .5, 3))
        assert_true(l.calls < 100);
    assert_in_range(l.calls, 9, 12);
    go_on(&l, 500, 4, .5, 3);
    assert_int_equal(l.moves, 1);
    assert_true(tsr_stay_on_device(l.key));
}

/* 8 + 4 * 50 ms, of which each misses 45: a few long products are enough. */
static void test_long_products_move_soon(void **state)
{
    (void)state;
    loop l = {.key = 7};
    while (!turn(&l, 50, 5, 45))
        assert_true(l.calls < 100);
    assert_in_range(l.calls, TSR_STAY_KNOWN + 1, TSR_STAY_KNOWN + 2);
    go_on(&l, 100, 50, 5, 45);
    assert_int_equal(l.moves, 1);
}

static void test_without_a_gain_nothing_moves(void **state)
{
    (void)state;
    loop l = {.key = 7};
    go_on(&l, 1000, 4, .5, 0);
    go_on(&l, 1000, 4, .5, -1);
    assert_int_equal(l.moves, 0);
    go_on(&l, 1000, 4, .5, -1);
    go_on(&l, 5, 4, .5, 3);
    assert_int_equal(l.moves, 0); /* what the device would have lost counts for nothing */
}

/* What follows the products downloads everything: slower as a whole, whatever the products themselves take. */
static void test_a_loss_ends_soon_and_does_not_repeat(void **state)
{
    (void)state;
    loop l = {.key = 7};
    go_on(&l, 2000, 4, 10, 3);
    assert_in_range(l.moves, 2, 6);
    assert_true(tsr_stay_given_up(l.key) && !tsr_stay_on_device(l.key));
    const double excess = l.device_ms - 4 * l.device_ms / 10;
    assert_true(excess < 0.03 * l.now);
}

static void test_a_draw_goes_back(void **state)
{
    (void)state;
    loop l = {.key = 7};
    go_on(&l, 120, 4, 4, 3);
    assert_true(l.moves >= 1 && !tsr_stay_on_device(l.key));
}

/* The program does something else now and then, before and after the move. */
static void test_pauses_are_not_the_loops(void **state)
{
    (void)state;
    loop l = {.key = 7};
    for (int k = 0; k < 200; k++) {
        turn(&l, 4, .5, 3);
        l.now += k % 9 == 5 ? 1000 : 0;
    }
    assert_int_equal(l.moves, 1);
    assert_true(tsr_stay_on_device(l.key));
}

static void test_what_becomes_slow_goes_back(void **state)
{
    (void)state;
    loop l = {.key = 7};
    go_on(&l, 50, 4, .5, 3);
    assert_true(tsr_stay_on_device(l.key));
    go_on(&l, 3 * TSR_STAY_WINDOW, 4, 9, 3);
    assert_false(tsr_stay_on_device(l.key));
}

static void test_kinds_have_accounts_of_their_own(void **state)
{
    (void)state;
    loop a = {.key = 7}, b = {.key = 8}, none = {.key = 0};
    go_on(&a, 50, 4, .5, 3);
    go_on(&b, 50, 4, .5, 0);
    go_on(&none, 50, 4, .5, 3);
    assert_true(tsr_stay_on_device(a.key));
    assert_false(tsr_stay_on_device(b.key) || tsr_stay_on_device(none.key) || tsr_stay_given_up(none.key) || tsr_stay_given_up(b.key));
    tsr_stay_forget();
    assert_false(tsr_stay_on_device(a.key));
}

static void test_searched_matrices(void **state)
{
    (void)state;
    assert_false(tsr_stay_is_searched(1e6, 2e5));
    tsr_stay_set_searched(1e6, 2e5, true);
    assert_true(tsr_stay_is_searched(1e6, 2e5));
    assert_false(tsr_stay_is_searched(1e6, 1e5) || tsr_stay_is_searched(1e5, 2e5) || tsr_stay_is_searched(0, 0));
    tsr_stay_set_searched(1e6, 2e5, false);
    tsr_stay_set_searched(1e5, 1e5, false);
    assert_false(tsr_stay_is_searched(1e6, 2e5) || tsr_stay_is_searched(0, 0));
    for (int k = 1; k < 100; k++) /* the newest are known */
        tsr_stay_set_searched(k, 2e5, true);
    assert_true(tsr_stay_is_searched(99, 2e5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_what_gains_moves_and_stays, forget),
        cmocka_unit_test_setup(test_what_is_expected_to_stay_moves_sooner, forget),
        cmocka_unit_test_setup(test_long_products_move_soon, forget),
        cmocka_unit_test_setup(test_without_a_gain_nothing_moves, forget),
        cmocka_unit_test_setup(test_a_loss_ends_soon_and_does_not_repeat, forget),
        cmocka_unit_test_setup(test_a_draw_goes_back, forget),
        cmocka_unit_test_setup(test_pauses_are_not_the_loops, forget),
        cmocka_unit_test_setup(test_what_becomes_slow_goes_back, forget),
        cmocka_unit_test_setup(test_kinds_have_accounts_of_their_own, forget),
        cmocka_unit_test_setup(test_searched_matrices, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
