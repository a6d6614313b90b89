/* Versions, representations, regrets and properties of a matrix record; also from several threads at once.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "src/object/record.h"
#include "test/threads.h"

/* 3 x 4, by row: (0,1)=5 (0,3)=6 (2,0)=7; row 1 is empty. */
static const int64_t p[] = {0, 2, 2, 3}, i[] = {1, 3, 0};
static const float x[] = {5, 6, 7};
static const tsr_view by_row = {.format = TSR_SPARSE, .type = TSR_FP32, .index_size = 8, .nrows = 3, .ncols = 4, .nvec = 3,
                                .vlen = 4, .ld = 4, .nvals = 3, .p = p, .i = i, .x = x};

static const tsr_rep_key fp64_by_col = {.by_col = true, .type = TSR_FP64};
static const tsr_rep_key pattern_by_row = {.pattern = true};

static void test_representation_is_the_matrix(void **state)
{
    (void)state;
    tsr_record *m = tsr_record_new();
    assert_null(tsr_record_find(m, fp64_by_col));
    tsr_rep *rep = tsr_record_build(m, fp64_by_col, &by_row, 2);
    assert_non_null(rep);
    const tsr_view *v = tsr_rep_view(rep);
    assert_true(v->by_col);
    assert_int_equal(v->nvec, 4);
    const int64_t want_p[] = {0, 1, 2, 2, 3};
    const uint32_t want_i[] = {2, 0, 0};
    const double want_x[] = {7, 5, 6};
    assert_int_equal(v->index_size, 4);
    assert_memory_equal(v->p, want_p, sizeof want_p);
    assert_memory_equal(v->i, want_i, sizeof want_i);
    assert_memory_equal(v->x, want_x, sizeof want_x);
    tsr_rep_unref(rep);
    tsr_record_unref(m);
}

static void test_write_drops_but_users_keep(void **state)
{
    (void)state;
    tsr_record *m = tsr_record_new();
    tsr_rep *rep = tsr_record_build(m, fp64_by_col, &by_row, 1);
    size_t bytes = tsr_record_get_stats().bytes;
    uint64_t version = tsr_record_version(m);
    tsr_record_invalidate(m);
    assert_true(tsr_record_version(m) != version);
    assert_null(tsr_record_find(m, fp64_by_col));
    assert_int_equal(tsr_record_get_stats().bytes, bytes);
    assert_int_equal(((const double *)tsr_rep_view(rep)->x)[0], 7);
    tsr_rep_unref(rep);
    assert_int_equal(tsr_record_get_stats().bytes, 0);
    tsr_record_unref(m);
}

static void test_keys_are_distinct(void **state)
{
    (void)state;
    tsr_record *m = tsr_record_new();
    tsr_rep *one = tsr_record_build(m, fp64_by_col, &by_row, 1);
    tsr_rep *two = tsr_record_build(m, pattern_by_row, &by_row, 1);
    tsr_rep *again = tsr_record_find(m, fp64_by_col);
    assert_ptr_equal(one, again);
    assert_ptr_not_equal(one, two);
    assert_null(tsr_rep_view(two)->x);
    tsr_rep_unref(one);
    tsr_rep_unref(two);
    tsr_rep_unref(again);
    tsr_record_unref(m);
}

static void test_regret_sums_until_write(void **state)
{
    (void)state;
    tsr_record *m = tsr_record_new();
    assert_true(tsr_record_regret(m, fp64_by_col, 1.5) == 1.5);
    assert_true(tsr_record_regret(m, fp64_by_col, 0.5) == 2.0);
    assert_true(tsr_record_regret(m, pattern_by_row, 0.0) == 0.0);
    tsr_record_invalidate(m);
    assert_true(tsr_record_regret(m, fp64_by_col, 0.0) == 0.0);
    tsr_record_unref(m);
}

static void test_rows_present(void **state)
{
    (void)state;
    static const int64_t full_p[] = {0, 1, 2, 3};
    tsr_view full = by_row;
    tsr_record *m = tsr_record_new();
    assert_false(tsr_record_all_rows_present(m, &by_row, false, 1));
    full.p = full_p;
    assert_false(tsr_record_all_rows_present(m, &full, false, 1)); /* cached until the next write */
    tsr_record_invalidate(m);
    assert_true(tsr_record_all_rows_present(m, &full, false, 1));
    tsr_record_unref(m);
    assert_true(tsr_record_all_rows_present(NULL, &full, false, 1));
}

static void *build_and_read(void *arg)
{
    tsr_record *m = tsr_record_ref(arg);
    for (int round = 0; round < 200; round++) {
        tsr_rep *rep = tsr_record_build(m, round % 2 ? fp64_by_col : pattern_by_row, &by_row, 1);
        if (!rep || tsr_rep_view(rep)->nvals != 3) {
            tsr_rep_unref(rep);
            tsr_record_unref(m);
            return arg;
        }
        tsr_record_regret(m, fp64_by_col, 0.25);
        if (round % 16 == 0)
            tsr_record_invalidate(m);
        tsr_rep_unref(rep);
    }
    tsr_record_unref(m);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    tsr_record *m = tsr_record_new();
    assert_int_equal(run_threads(4, build_and_read, m, 0), 0);
    tsr_record_unref(m);
    assert_int_equal(tsr_record_get_stats().bytes, 0);
}

/* ---- what a backend keeps ---- */

static int released;

static void count_release(void *kept)
{
    released += *(int *)kept;
}

static const tsr_backend keeper = {.release = count_release}, other_keeper = {.release = count_release};

static void test_slots_belong_to_a_version(void **state)
{
    (void)state;
    int one = 1;
    released = 0;
    tsr_record *m = tsr_record_new();
    tsr_cache_entry *slot = tsr_record_cache_entry(m, &keeper), *again = tsr_record_cache_entry(m, &keeper), *other = tsr_record_cache_entry(m, &other_keeper);
    assert_ptr_equal(slot, again);
    assert_ptr_not_equal(slot, other);
    assert_null(*tsr_cache_entry_place(slot));
    *tsr_cache_entry_place(slot) = &one;
    tsr_cache_entry_unref(again);
    tsr_cache_entry_unref(other); /* still empty: nothing will be released */
    tsr_record_invalidate(m);
    assert_int_equal(released, 0); /* somebody still computes with it */
    tsr_cache_entry *next = tsr_record_cache_entry(m, &keeper);
    assert_null(*tsr_cache_entry_place(next));
    *tsr_cache_entry_place(next) = &one;
    tsr_cache_entry_unref(slot);
    assert_int_equal(released, 1);
    tsr_cache_entry_unref(next);
    assert_int_equal(released, 1);
    tsr_record_unref(m);
    assert_int_equal(released, 2);
}

/* The place of a matrix that was made of m by that call. */
static void *place_of(tsr_record *m, uint64_t call, void *keeps)
{
    tsr_record *made = tsr_record_new();
    const uint64_t list[] = {call, 7};
    tsr_record_share(made, m, &(tsr_derivation){.parts = {call / 2}, .lists = {{list, 2}}}, &keeper);
    tsr_cache_entry *slot = tsr_record_cache_entry(made, &keeper);
    void *found = *tsr_cache_entry_place(slot);
    if (keeps) *tsr_cache_entry_place(slot) = keeps;
    tsr_cache_entry_unref(slot);
    tsr_record_unref(made);
    return found;
}

static void test_what_is_made_again_shares_a_slot(void **state)
{
    (void)state;
    int one = 1;
    tsr_record *m = tsr_record_new(), *made = tsr_record_new();
    released = 0;
    assert_null(place_of(m, 1, &one));
    assert_ptr_equal(place_of(m, 1, NULL), &one);
    assert_null(place_of(m, 2, NULL));
    assert_int_equal(released, 0);
    const uint64_t list[] = {1, 7};
    tsr_record_share(made, m, &(tsr_derivation){.parts = {0}, .lists = {{list, 2}}}, &keeper);
    assert_null(place_of(made, 3, &one)); /* and what is made of that */
    assert_ptr_equal(place_of(made, 3, NULL), &one);
    tsr_record *again = tsr_record_new();
    tsr_record_share(again, m, &(tsr_derivation){.parts = {0}, .lists = {{list, 2}}}, &keeper);
    assert_ptr_equal(place_of(again, 3, NULL), &one);
    tsr_record_unref(again);
    tsr_record_invalidate(m); /* another version: what was made of it is not made of this one */
    assert_null(place_of(m, 1, NULL));
    assert_int_equal(released, 0);
    tsr_record_invalidate(made);
    assert_int_equal(released, 2);
    tsr_record_unref(made);
    assert_null(place_of(m, 5, &one));
    for (uint64_t call = 6; call < 9; call++) place_of(m, call, NULL);
    assert_ptr_equal(place_of(m, 5, NULL), &one);
    place_of(m, 9, NULL); /* only the latest four are remembered */
    place_of(m, 10, NULL);
    assert_int_equal(released, 3);
    tsr_record_unref(m);
    assert_int_equal(released, 3);
}

static int forgotten;
static tsr_status counted = TSR_OK;

static void forget_value(void *value)
{
    assert_ptr_equal(value, &forgotten);
    forgotten++;
}

static tsr_status count_value(void *value, int64_t *nvals)
{
    assert_ptr_equal(value, &forgotten);
    *nvals = 5;
    return counted;
}

static const tsr_backend_contents value_contents = {.drop = forget_value};
static const tsr_backend_arrays value_functions = {.count = count_value};
static const tsr_backend value_backend = {.contents = &value_contents, .arrays = &value_functions};

static tsr_device_array *new_value(bool full)
{
    return tsr_device_array_new(&(tsr_device_array_facts){.backend = &value_backend, .type = TSR_FP32, .nrows = 3, .ncols = 4, .full = full}, &forgotten);
}

static void test_a_value_belongs_to_a_version(void **state)
{
    (void)state;
    tsr_record *m = tsr_record_new();
    tsr_device_array *value = new_value(true), *next = new_value(true);
    assert_null(tsr_record_device_array(m));
    tsr_record_set_device_array(m, value);
    tsr_device_array *found = tsr_record_device_array(m);
    assert_ptr_equal(found, value);
    tsr_device_array_unref(value);
    tsr_record_invalidate(m);
    assert_null(tsr_record_device_array(m));
    assert_int_equal(forgotten, 0); /* somebody still has it */
    tsr_device_array_unref(found);
    assert_int_equal(forgotten, 1);
    tsr_record_set_device_array(m, next);
    tsr_device_array_unref(next);
    tsr_record_unref(m);
    assert_int_equal(forgotten, 2);
}

static void test_what_is_known_of_a_value(void **state)
{
    (void)state;
    int64_t nvals = 0;
    tsr_device_array *full = new_value(true), *bitmap = new_value(false);
    const tsr_view view = tsr_device_array_view(bitmap);
    assert_true(view.format == TSR_BITMAP && view.nvec == 3 && view.vlen == 4 && view.ld == 4 && !view.x && !view.b);
    assert_int_equal(tsr_device_array_view(full).format, TSR_FULL);
    assert_true(tsr_device_array_nvals(full, &nvals) == TSR_OK && nvals == 12);
    counted = TSR_OUT_OF_MEMORY;
    assert_int_equal(tsr_device_array_nvals(bitmap, &nvals), TSR_OUT_OF_MEMORY);
    counted = TSR_OK;
    assert_true(tsr_device_array_nvals(bitmap, &nvals) == TSR_OK && nvals == 5);
    counted = TSR_INTERNAL_ERROR; /* not asked again */
    assert_true(tsr_device_array_nvals(bitmap, &nvals) == TSR_OK && nvals == 5);
    assert_true(tsr_device_array_first_use(full));
    assert_false(tsr_device_array_first_use(full));
    tsr_device_array_unref(full);
    tsr_device_array_unref(bitmap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_representation_is_the_matrix), cmocka_unit_test(test_write_drops_but_users_keep),
        cmocka_unit_test(test_keys_are_distinct),            cmocka_unit_test(test_regret_sums_until_write),
        cmocka_unit_test(test_rows_present),                 cmocka_unit_test(test_threads),
        cmocka_unit_test(test_slots_belong_to_a_version),    cmocka_unit_test(test_what_is_made_again_shares_a_slot),
        cmocka_unit_test(test_a_value_belongs_to_a_version),
        cmocka_unit_test(test_what_is_known_of_a_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
