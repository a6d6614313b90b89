/* Deferred products: which touch runs or cancels them, exactly once, in which order, with threads.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/graphblas/intercept/door.h"
#include "src/graphblas/intercept/hooks.h"
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
    tsr_table_clear();
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

static void free_at(void **at)
{
    TSR_HOOK_FREE(at);
}

/* Programs free NULL, and write to it, which is an error of theirs. */
static void null_is_no_operand(void **state)
{
    (void) state;
    void *const beside = (void *) ((uintptr_t) 1 << 32);
    assert_ptr_equal(tsr_filter_slot(beside), tsr_filter_slot(NULL));
    counts c = {0};
    void *nothing = NULL;
    defer(&c, beside, A, NULL, NULL);
    assert_true(tsr_filter_hit(NULL));
    tsr_freed(NULL);
    tsr_will_write(NULL);
    tsr_discard(NULL);
    free_at(&nothing);
    free_at(NULL);
    assert_int_equal(c.run + c.cancelled, 0);
    tsr_will_read(beside);
    assert_int_equal(c.run, 1);
}

static int dropped[64]; /* by number of the handle */

static void drop(const void *operand)
{
    dropped[((const char *) operand - handles[0]) / 64]++;
}

/* A result that is there, and only needs its operands to be handed over. */
static void defer_value(counts *c, const void *target, const void *a, const void *b, const void *m)
{
    const tsr_deferred product = {.target = target, .operands = {a, b, m}, .run = run, .cancel = cancel, .closure = c,
                                  .only_value = true, .drop = drop};
    assert_true(tsr_defer(&product));
}

static void free_operand(void *handle, bool held)
{
    void *at = handle;
    free_at(&at);
    assert_ptr_equal(at, held ? NULL : handle);
}

/* Freed operands wait with the results that may need them, and go with the last of these, once. */
static void freed_operands_are_held(void **state)
{
    (void) state;
    counts c = {0}, d = {0}, e = {0};
    memset(dropped, 0, sizeof dropped);
    defer_value(&c, C, A, A, M);
    defer_value(&d, D, A, B, M);
    free_operand(A, true);
    free_operand(M, true);
    assert_int_equal(c.run + d.run + c.cancelled + d.cancelled, 0);
    tsr_will_read(C);
    assert_int_equal(c.run, 1);
    assert_int_equal(dropped[1] + dropped[3], 0);
    free_operand(D, false); /* unread */
    assert_int_equal(d.cancelled, 1);
    assert_true(dropped[1] == 1 && dropped[2] == 0 && dropped[3] == 1);
    free_operand(B, false);
    defer_value(&e, C, A, C, C); /* its own operand */
    free_operand(C, false);
    assert_true(e.cancelled == 1 && dropped[4] == 0);
}

/* New contents are not held, nor is what a product computes with. */
static void written_operands_run_first(void **state)
{
    (void) state;
    counts c = {0}, d = {0};
    memset(dropped, 0, sizeof dropped);
    void (*const hooks[])(const void *) = {tsr_will_write, tsr_will_move, tsr_discard, tsr_exported, tsr_created};
    for (int n = 0; n < 5; n++) {
        defer_value(&c, C, A, B, M);
        hooks[n](B);
        assert_int_equal(c.run, n + 1);
    }
    defer_value(&c, C, A, B, M);
    defer(&d, D, A, B, M);
    free_operand(A, true);
    assert_true(c.run == 5 && d.run == 1);
    tsr_defer_end();
    assert_true(c.run == 5 && c.cancelled == 1 && dropped[1] == 1 && dropped[2] == 0);
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

static void *read_or_free(void *argument)
{
    const size_t number = (size_t) (uintptr_t) argument;
    (number ? tsr_will_read : tsr_freed)(handles[20 + number]);
    return NULL;
}

/* Results of several threads with the same operands: the last one drops them, once. */
static void threads_drop_operands_once(void **state)
{
    (void) state;
    for (int round = 0; round < 200; round++) {
        counts c[4] = {{0}};
        memset(dropped, 0, sizeof dropped);
        for (size_t n = 0; n < 4; n++)
            defer_value(&c[n], handles[20 + n], A, B, n % 2 ? M : NULL);
        free_operand(A, true);
        free_operand(M, true);
        assert_int_equal(run_numbered_threads(4, read_or_free), 0);
        assert_true(dropped[1] == 1 && dropped[2] == 0 && dropped[3] == 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(target_runs_before_read_and_write, settled),
        cmocka_unit_test_teardown(operands_run_before_write_move_and_free, settled),
        cmocka_unit_test_teardown(freed_target_is_cancelled, settled),
        cmocka_unit_test_teardown(null_is_no_operand, settled),
        cmocka_unit_test_teardown(freed_operands_are_held, settled),
        cmocka_unit_test_teardown(written_operands_run_first, settled),
        cmocka_unit_test_teardown(threads_drop_operands_once, settled),
        cmocka_unit_test_teardown(others_are_left_alone, settled),
        cmocka_unit_test_teardown(all_run_at_the_end, settled),
        cmocka_unit_test_teardown(readers_wait_for_the_one_that_runs, settled),
        cmocka_unit_test_teardown(sums_are_known_while_deferred, settled),
        cmocka_unit_test_teardown(threads_with_their_own_products, settled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
