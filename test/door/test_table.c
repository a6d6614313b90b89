/* Side table and hooks: records by address, invalidation, address reuse, threads.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include "src/graphblas/intercept/door.h"
#include "src/graphblas/intercept/hooks.h"
#include "test/threads.h"

#include <cmocka.h>

/* Handles are only addresses here. */
static char heap[4096][64];

static int clear(void **state)
{
    (void) state;
    tsr_table_clear();
    for (size_t n = 0; n < TSR_FILTER_SIZE; n++) {
        if (tsr_filter[n])
            return 1;
    }
    return 0;
}

static void nothing_without_create(void **state)
{
    (void) state;
    assert_null(tsr_table_get(heap[0], false));
    assert_null(tsr_table_get(NULL, true));
    assert_false(tsr_filter_hit(heap[0]));
}

/* While only handles count, only those with a record do; then all, until nothing does. */
static void a_handle_alone_says_whether_hooks_matter(void **state)
{
    (void) state;
    tsr_busy_end();
    assert_false(tsr_busy_with(heap[0]) || tsr_busy_with(NULL));
    tsr_record_unref(tsr_table_get(heap[0], true));
    assert_true(tsr_busy_with(heap[0]));
    assert_false(tsr_busy_with(heap[1]));
    tsr_busy_add(TSR_BUSY_FORMS);
    assert_true(tsr_busy_with(heap[1]) && tsr_busy_with(NULL));
    assert_false(tsr_filter_hit(heap[1]));
    assert_int_equal(tsr_busy_end(), TSR_BUSY_HANDLES | TSR_BUSY_FORMS);
    assert_false(tsr_busy_with(heap[0]) || tsr_busy_with(heap[1]));
    tsr_busy_add(TSR_BUSY_HANDLES);
    assert_true(tsr_busy_with(heap[0]) && !tsr_busy_with(heap[1]));
}

static void record_stays_the_same(void **state)
{
    (void) state;
    tsr_record *first = tsr_table_get(heap[0], true), *second = tsr_table_get(heap[0], true);
    tsr_record *third = tsr_table_get(heap[0], false), *other = tsr_table_get(heap[1], true);
    assert_non_null(first);
    assert_ptr_equal(first, second);
    assert_ptr_equal(first, third);
    assert_ptr_not_equal(first, other);
    assert_true(tsr_busy() & TSR_BUSY_HANDLES);
    tsr_record_unref(first);
    tsr_record_unref(second);
    tsr_record_unref(third);
    tsr_record_unref(other);
}

static void write_begins_the_next_version(void **state)
{
    (void) state;
    tsr_record *m = tsr_table_get(heap[3], true);
    const uint64_t before = tsr_record_version(m);
    tsr_will_read(heap[3]);
    assert_int_equal(tsr_record_version(m), before);
    tsr_will_write(heap[3]);
    assert_int_not_equal(tsr_record_version(m), before);
    tsr_record_unref(m);
}

static void reused_address_is_another_matrix(void **state)
{
    (void) state;
    void (*const ends[])(const void *) = {tsr_freed, tsr_exported, tsr_created};
    for (size_t n = 0; n < 3; n++) {
        tsr_record *old = tsr_table_get(heap[5], true);
        ends[n](heap[5]);
        assert_null(tsr_table_get(heap[5], false));
        tsr_record *fresh = tsr_table_get(heap[5], true);
        assert_ptr_not_equal(old, fresh);
        tsr_record_unref(old);
        tsr_record_unref(fresh);
        tsr_freed(heap[5]);
    }
}

static void bad_handles_are_only_addresses(void **state)
{
    (void) state;
    const void *const bad[] = {NULL, (void *) 1, (void *) -1, heap};
    for (size_t n = 0; n < 4; n++) {
        tsr_will_read(bad[n]);
        tsr_will_write(bad[n]);
        tsr_freed(bad[n]);
        tsr_exported(bad[n]);
    }
    tsr_hook_read_array(NULL, 5);
    tsr_hook_read_array(bad, 4);
    assert_int_equal(tsr_tiles(UINT64_MAX, 3), 0);
    assert_int_equal(tsr_tiles(4, 3), 12);
}

static void many_records(void **state)
{
    (void) state;
    tsr_record *records[4096];
    for (size_t n = 0; n < 4096; n++)
        assert_non_null(records[n] = tsr_table_get(heap[n], true));
    for (size_t n = 0; n < 4096; n++) {
        tsr_record *found = tsr_table_get(heap[n], false);
        assert_ptr_equal(found, records[n]);
        tsr_record_unref(found);
        tsr_record_unref(records[n]);
    }
    for (size_t n = 0; n < 4096; n += 2)
        tsr_freed(heap[n]);
    for (size_t n = 0; n < 4096; n++) {
        tsr_record *found = tsr_table_get(heap[n], false);
        assert_int_equal(found != NULL, n % 2);
        tsr_record_unref(found);
    }
}

/* Own handles written and freed, handles of all only read. */
static void *work(void *argument)
{
    const size_t base = 1024 * (size_t) (uintptr_t) argument;
    for (int round = 0; round < 20000; round++) {
        const size_t n = base + 1 + (size_t) round % 37;
        tsr_record *shared = tsr_table_get(heap[0], true), *own = tsr_table_get(heap[n], true);
        const uint64_t version = tsr_record_version(own);
        tsr_will_read(heap[0]);
        tsr_will_write(heap[n]);
        const bool right = shared && tsr_record_version(own) != version;
        tsr_record_unref(shared);
        tsr_record_unref(own);
        if (round % 5 == 0)
            tsr_freed(heap[n]);
        if (!right)
            return (void *) 1;
    }
    return NULL;
}

static void threads(void **state)
{
    (void) state;
    assert_int_equal(run_numbered_threads(3, work), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(nothing_without_create, clear),
        cmocka_unit_test_teardown(a_handle_alone_says_whether_hooks_matter, clear),
        cmocka_unit_test_teardown(record_stays_the_same, clear),
        cmocka_unit_test_teardown(write_begins_the_next_version, clear),
        cmocka_unit_test_teardown(reused_address_is_another_matrix, clear),
        cmocka_unit_test_teardown(bad_handles_are_only_addresses, clear),
        cmocka_unit_test_teardown(many_records, clear),
        cmocka_unit_test_teardown(threads, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
