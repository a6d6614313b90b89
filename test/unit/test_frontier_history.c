/* Where searches of several vectors begin: replays of what levels take on the host and on the device.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "src/policy/history/frontier_history.h"

/* A search: levels that the host pushes, as long as it does, and what it takes to bring their result to the device; then come `rest` levels
 * that are computed there anyway. */
typedef struct search {
    double host_ms[4];
    int levels;       /* of host_ms, again and again */
    double upload_ms; /* 0: the search never gets there */
    int rest;
    double device_ms; /* that the product of a level is predicted to take there */
} search;

/* Betweenness in batches of four, traced beside an H200: 2^20 vertices and 33 M entries, R-MAT and uniform; a grid of 1024 x 1024. */
static const search rmat = {{5.5}, 1, 6, 6, .6}, uniform = {{1.0, .25, 3.0}, 3, 12, 8, .6}, grid = {{.2, .3, .4, .3}, 2000, 0, 0, .12};

typedef struct program {
    uint64_t kind;
    double ms;
    int on_host; /* searches that began there */
} program;

static int forget(void **state)
{
    (void)state;
    tsr_frontier_forget();
    return 0;
}

static double level_ms(const search *s)
{
    return TSR_FRONTIER_PRODUCT * s->device_ms + TSR_FRONTIER_REST_MS;
}

static void on_host(program *p, const search *s)
{
    int made = 0;
    for (; made < s->levels && !tsr_frontier_on_device(p->kind); made++) {
        const double ms = s->host_ms[made % 4];
        p->ms += ms;
        tsr_frontier_pushed(p->kind, ms, s->device_ms);
    }
    p->on_host++;
    p->ms += s->upload_ms + s->rest * level_ms(s);
    if (s->upload_ms > 0)
        tsr_frontier_uploaded(p->kind, s->upload_ms);
}

static void run(program *p, const search *s)
{
    if (!tsr_frontier_on_device(p->kind)) {
        on_host(p, s);
        return;
    }
    tsr_frontier_begins(p->kind, p->ms);
    p->ms += (s->levels + s->rest) * level_ms(s);
}

static program runs(const search *s, int count)
{
    program p = {.kind = tsr_frontier_kind(33e6, 2e6, 4)};
    for (int k = 0; k < count; k++)
        run(&p, s);
    return p;
}

static void test_what_is_uploaded_later_begins_there(void **state)
{
    (void)state;
    assert_in_range(runs(&rmat, 3).on_host, 1, 2);
    tsr_frontier_forget();
    assert_in_range(runs(&uniform, 3).on_host, 1, 2);
}

static void test_trials_become_rare(void **state)
{
    (void)state;
    assert_in_range(runs(&uniform, 20).on_host, 1, 3);
    tsr_frontier_forget();
    assert_in_range(runs(&uniform, 1000).on_host, 5, 10);
}

/* Pushes of a grid that waited for others: some searches may be sent to the device for them, which last long. */
static void test_a_long_search_is_tried_at_once(void **state)
{
    (void)state;
    static const search disturbed = {{.2, 30, 30, .3}, 4, 0, 0, .12};
    program p = runs(&disturbed, 1);
    assert_true(tsr_frontier_on_device(p.kind));
    for (int k = 0; k < 20; k++)
        run(&p, &grid);
    assert_in_range(p.on_host, 18, 20);
}

/* One call alone says nothing. */
static void test_one_call_moves_nothing(void **state)
{
    (void)state;
    static const search disturbed = {{.2, 3000, .2, .3}, 4, 0, 0, .12};
    assert_false(tsr_frontier_on_device(runs(&disturbed, 1).kind));
}

static void test_small_levels_stay_on_the_host(void **state)
{
    (void)state;
    const program p = runs(&grid, 20);
    assert_int_equal(p.on_host, 20);
}

/* Small levels do not pay for what others lose, nor the other way round. */
static void test_gains_are_not_saved_up(void **state)
{
    (void)state;
    program p = runs(&grid, 10);
    for (int k = 0; k < 3; k++)
        run(&p, &rmat);
    assert_in_range(p.on_host, 11, 12);
}

/* A program that goes on with searches which end at once: the next trial brings them back. */
static void test_what_becomes_small_goes_back(void **state)
{
    (void)state;
    static const search tiny = {{.02}, 1, 0, 0, .6};
    program p = runs(&rmat, 10);
    assert_true(tsr_frontier_on_device(p.kind));
    for (int k = 0; k < 300; k++)
        run(&p, &tiny);
    assert_false(tsr_frontier_on_device(p.kind));
}

static void test_kinds_have_accounts_of_their_own(void **state)
{
    (void)state;
    const uint64_t other = tsr_frontier_kind(33e6, 2e6, 8), never = tsr_frontier_kind(0, 0, 0);
    const program p = runs(&rmat, 3);
    assert_true(tsr_frontier_on_device(p.kind));
    assert_false(tsr_frontier_on_device(other) || tsr_frontier_on_device(never));
    tsr_frontier_uploaded(other, 1000); /* nothing of it was pushed */
    tsr_frontier_begins(other, 1);
    assert_false(tsr_frontier_on_device(other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_what_is_uploaded_later_begins_there, forget),
        cmocka_unit_test_setup(test_trials_become_rare, forget),
        cmocka_unit_test_setup(test_a_long_search_is_tried_at_once, forget),
        cmocka_unit_test_setup(test_one_call_moves_nothing, forget),
        cmocka_unit_test_setup(test_small_levels_stay_on_the_host, forget),
        cmocka_unit_test_setup(test_gains_are_not_saved_up, forget),
        cmocka_unit_test_setup(test_what_becomes_small_goes_back, forget),
        cmocka_unit_test_setup(test_kinds_have_accounts_of_their_own, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
