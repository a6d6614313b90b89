/* Deferred products: which touch runs or cancels them, exactly once, in which order, with threads.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/graphblas/door.h"
#include "src/graphblas/hooks.h"
#include "test/threads.h"

#include <cmocka.h>

static char handles[64][64];
static void *const A = handles[1], *const B = handles[2], *const M = handles[3], *const C = handles[4];
static void *const D = handles[5];

typedef struct counts {
    int run, cancelled, depth;
    const void *touch; /* touched while running: the product's own handles must not wait for themselves */
    int sleep_us;
} counts;

static void run(void *closure)
{
    counts *c = closure;
    c->depth = tsr_depth;
    if (c->sleep_us)
        usleep((useconds_t) c->sleep_us);
    if (c->touch) {
        tsr_will_write(c->touch);
        tsr_will_read(c->touch);
    }
    __atomic_fetch_add(&c->run, 1, __ATOMIC_SEQ_CST);
}

static void cancel(void *closure)
{
    ((counts *) closure)->cancelled++;
}

static void defer(counts *c, const void *target, const void *a, const void *b, const void *m)
{
    const tsr_deferred product = {.target = target, .operands = {a, b, m}, .run = run, .cancel = cancel, .closure = c};
    assert_true(tsr_defer(&product));
}

static int settled(void **state)
{
    (void) state;
    tsr_defer_run_all();
    for (size_t n = 0; n < TSR_FILTER_SIZE; n++) {
        if (tsr_filter[n])
            return 1;
    }
    return 0;
}

static void target_runs_before_read_and_write(void **state)
{
    (void) state;
    void (*const hooks[])(const void *) = {tsr_will_read, tsr_will_write, tsr_exported};
    for (size_t n = 0; n < 3; n++) {
        counts c = {.touch = C};
        defer(&c, C, A, B, NULL);
        assert_true(tsr_defer_is_target(C));
        assert_false(tsr_defer_is_target(A));
        hooks[n](C);
        assert_int_equal(c.run, 1);
        assert_int_equal(c.depth, 1);
        hooks[n](C);
        assert_int_equal(c.run, 1);
        assert_false(tsr_defer_is_target(C));
    }
}

static void operands_run_before_write_move_and_free(void **state)
{
    (void) state;
    const void *const operands[] = {A, B, M};
    for (size_t n = 0; n < 3; n++) {
        counts c = {0}, d = {0};
        defer(&c, C, A, B, M);
        tsr_will_read(operands[n]);
        assert_int_equal(c.run, 0);
        tsr_will_write(operands[n]);
        assert_int_equal(c.run, 1);
        defer(&d, C, A, B, M);
        tsr_freed(operands[n]);
        assert_int_equal(d.run, 1);
        defer(&d, C, A, B, M);
        tsr_will_move(operands[n]);
        assert_int_equal(d.run, 2);
        assert_int_equal(c.cancelled + d.cancelled, 0);
    }
}

static void freed_target_is_cancelled(void **state)
{
    (void) state;
    counts c = {0};
    defer(&c, C, A, B, NULL);
    tsr_freed(C);
    assert_int_equal(c.run, 0);
    assert_int_equal(c.cancelled, 1);
    tsr_defer_run_all();
    assert_int_equal(c.run, 0);
}

static void others_are_left_alone(void **state)
{
    (void) state;
    counts c = {0}, d = {0};
    defer(&c, C, A, B, NULL);
    defer(&d, D, A, B, NULL);
    tsr_will_read(D);
    assert_int_equal(c.run, 0);
    assert_int_equal(d.run, 1);
    tsr_will_write(A);
    assert_int_equal(c.run, 1);
}

static void all_run_at_the_end(void **state)
{
    (void) state;
    counts c[20] = {{0}};
    for (size_t n = 0; n < 20; n++)
        defer(&c[n], handles[10 + n], A, n % 2 ? B : NULL, NULL);
    tsr_defer_run_all();
    for (size_t n = 0; n < 20; n++)
        assert_int_equal(c[n].run, 1);
}

static void *read_c(void *closure)
{
    tsr_will_read(C);
    return __atomic_load_n(&((counts *) closure)->run, __ATOMIC_SEQ_CST) == 1 ? NULL : (void *) 1;
}

static void readers_wait_for_the_one_that_runs(void **state)
{
    (void) state;
    for (int round = 0; round < 50; round++) {
        counts c = {.touch = C, .sleep_us = 300};
        defer(&c, C, A, B, NULL);
        assert_int_equal(run_threads(4, read_c, &c, 0), 0);
        assert_int_equal(c.run, 1);
    }
}

/* Modulo the range of the type, and asking leaves the product where it is. */
static void sums_are_known_while_deferred(void **state)
{
    (void) state;
    static const struct {
        tsr_type type;
        int64_t sum;
    } expected[] = {{TSR_INT8, -1}, {TSR_UINT8, 255}, {TSR_INT16, -1}, {TSR_UINT16, 65535}, {TSR_INT32, -1},
                    {TSR_UINT32, UINT32_MAX}, {TSR_INT64, 0x4ffffffff}, {TSR_UINT64, 0x4ffffffff}};
    tsr_type type;
    int64_t sum;
    for (size_t n = 0; n < sizeof expected / sizeof *expected; n++) {
        counts c = {0};
        const tsr_deferred product = {.target = C, .operands = {A, B, M}, .run = run, .cancel = cancel, .closure = &c,
                                      .counted = true, .type = expected[n].type, .total = 0x4ffffffff};
        assert_true(tsr_defer(&product));
        assert_true(tsr_defer_total(C, &type, &sum));
        assert_true(type == expected[n].type && sum == expected[n].sum && c.run == 0);
        assert_false(tsr_defer_total(A, &type, &sum));
        tsr_will_read(C);
        assert_false(tsr_defer_total(C, &type, &sum));
    }
    counts c = {0};
    defer(&c, C, A, B, M);
    assert_false(tsr_defer_total(C, &type, &sum));
    tsr_will_read(C);
}

static void *own_products(void *argument)
{
    void *const target = handles[20 + (size_t) (uintptr_t) argument];
    for (int round = 0; round < 2000; round++) {
        counts c = {0};
        const tsr_deferred product = {.target = target, .operands = {A, B}, .run = run, .cancel = cancel, .closure = &c};
        if (!tsr_defer(&product))
            return (void *) 1;
        (round % 3 ? tsr_will_read : tsr_freed)(target);
        if (c.run + c.cancelled != 1)
            return (void *) 1;
    }
    return NULL;
}

static void threads_with_their_own_products(void **state)
{
    (void) state;
    assert_int_equal(run_numbered_threads(3, own_products), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(target_runs_before_read_and_write, settled),
        cmocka_unit_test_teardown(operands_run_before_write_move_and_free, settled),
        cmocka_unit_test_teardown(freed_target_is_cancelled, settled),
        cmocka_unit_test_teardown(others_are_left_alone, settled),
        cmocka_unit_test_teardown(all_run_at_the_end, settled),
        cmocka_unit_test_teardown(readers_wait_for_the_one_that_runs, settled),
        cmocka_unit_test_teardown(sums_are_known_while_deferred, settled),
        cmocka_unit_test_teardown(threads_with_their_own_products, settled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
