/* Matrices given as coordinates, as blocks, and counted from 1, by hand.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tessera/tessera.h"

/* y = a x, x = 1, 10, 100, …; and the row-major sampled values of ones times ones, which count entries. */
static void check_product(tsr_sparse *a, int64_t m, int64_t k, const float *expected)
{
    const float x[6] = {1, 10, 100, 1000, 10000, 100000};
    float y[6];
    const tsr_dense b = {.data = (void *)(uintptr_t)x, .type = TSR_FP32, .nrows = k, .ncols = 1, .ld = 1};
    const tsr_dense c = {.data = y, .type = TSR_FP32, .nrows = m, .ncols = 1, .ld = 1};
    tsr_plan *plan;
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMV, tsr_default_semiring(TSR_FP32), a, &b, &c, 0), TSR_OK);
    assert_int_equal(tsr_execute(plan, 1, a, &b, 0, &c, NULL), TSR_OK);
    for (int64_t r = 0; r < m; r++) {
        assert_true(y[r] == expected[r]);
    }
    tsr_plan_destroy(plan);
    tsr_sparse_destroy(a);
}

static void test_coordinates(void **state)
{
    static const int32_t rows[] = {2, 0, 2, 0}, where[] = {1, 3, 0, 0};
    static const int64_t rows64[] = {2, 0, 2, 0}, where64[] = {1, 3, 0, 0};
    static const float numbers[] = {5, 2, 7, 1};
    tsr_coordinates entries = {.index_type = TSR_INDEX_32, .nvals = 4, .rows = rows, .columns = where, .type = TSR_FP32, .values = numbers};
    tsr_sparse *a = NULL;
    (void)state;
    assert_int_equal(tsr_sparse_create_coo(&a, 3, 4, &entries), TSR_OK);
    check_product(a, 3, 4, (float[]){2001, 0, 57});
    entries = (tsr_coordinates){.index_type = TSR_INDEX_64, .nvals = 4, .rows = rows64, .columns = where64, .type = TSR_FP32};
    assert_int_equal(tsr_sparse_create_coo(&a, 3, 4, &entries), TSR_OK);
    assert_int_equal(tsr_sparse_values_changed(a), TSR_INVALID_VALUE);
    check_product(a, 3, 4, (float[]){1001, 0, 11});
    a = NULL;
    assert_int_equal(tsr_sparse_create_coo(&a, 2, 4, &entries), TSR_INVALID_VALUE);
    assert_string_equal(tsr_last_error(), "rows[0] = 2 is not in 0 to 1");
    assert_int_equal(tsr_sparse_create_coo(&a, 3, 3, &entries), TSR_INVALID_VALUE);
    assert_string_equal(tsr_last_error(), "columns[1] = 3 is not in 0 to 2");
    assert_null(a);
    entries.nvals = 0;
    assert_int_equal(tsr_sparse_create_coo(&a, 3, 4, &entries), TSR_OK);
    check_product(a, 3, 4, (float[]){0, 0, 0});
}

/* The small matrix, and blocks of it, counted from 1. */
static void test_counts_from_1(void **state)
{
    static const int32_t rows[] = {3, 1, 3, 1}, where[] = {2, 4, 1, 1}, starts[] = {1, 2, 4}, at[] = {2, 2, 1};
    static const float numbers[] = {5, 2, 7, 1};
    static const int64_t offsets_1[] = {1, 2, 2, 4}, columns_1[] = {1, 1, 3}, outside[] = {1, 0, 3}, late[] = {0, 1, 1, 3};
    tsr_coordinates entries = {.index_type = TSR_INDEX_32, .nvals = 4, .rows = rows, .columns = where, .type = TSR_FP32, .values = numbers, .index_base = 1};
    const tsr_blocks blocks = {.index_type = TSR_INDEX_32, .height = 1, .width = 2, .offsets = starts, .indices = at, .type = TSR_FP32, .index_base = 1};
    static const float by_row[] = {1, 2, 3};
    tsr_arrays arrays = {.index_type = TSR_INDEX_64, .offsets = offsets_1, .indices = columns_1, .type = TSR_FP32, .values = by_row, .index_base = 1};
    tsr_sparse *a = NULL;
    (void)state;
    assert_int_equal(tsr_sparse_create_coo(&a, 3, 4, &entries), TSR_OK);
    check_product(a, 3, 4, (float[]){2001, 0, 57});
    assert_int_equal(tsr_sparse_create_bsr(&a, 2, 4, &blocks), TSR_OK);
    check_product(a, 2, 4, (float[]){1100, 1111});
    assert_int_equal(tsr_sparse_create_csr(&a, 3, 4, &arrays, 0), TSR_OK);
    check_product(a, 3, 4, (float[]){1, 0, 302});
    a = NULL;
    arrays.indices = outside;
    assert_int_equal(tsr_sparse_create_csr(&a, 3, 4, &arrays, 0), TSR_INVALID_VALUE);
    assert_string_equal(tsr_last_error(), "indices[1] = 0 is not in 1 to 4");
    arrays.offsets = late;
    assert_int_equal(tsr_sparse_create_csr(&a, 3, 4, &arrays, 0), TSR_INVALID_VALUE);
    assert_string_equal(tsr_last_error(), "offsets[0] = 0 is not index_base = 1");
    arrays.index_base = 2;
    assert_int_equal(tsr_sparse_create_csr(&a, 3, 4, &arrays, 0), TSR_INVALID_VALUE);
    entries.columns = rows;
    assert_int_equal(tsr_sparse_create_coo(&a, 3, 2, &entries), TSR_INVALID_VALUE);
    assert_string_equal(tsr_last_error(), "columns[0] = 3 is not in 1 to 2");
    assert_null(a);
}

/* Entries that come twice are found, whether rows are sorted or not, by marks or, where rows are very wide, by sorting. */
static void test_repeated_entries(void **state)
{
    static const int64_t starts[] = {0, 2, 5}, sorted[] = {0, 3, 1, 2, 2}, jumbled[] = {3, 0, 2, 1, 2}, right[] = {3, 0, 2, 1, 0};
    static const int32_t rows[] = {1, 0, 1}, where[] = {2, 2, 2};
    tsr_arrays arrays = {.index_type = TSR_INDEX_64, .offsets = starts, .indices = sorted, .type = TSR_FP32};
    const tsr_coordinates entries = {.index_type = TSR_INDEX_32, .nvals = 3, .rows = rows, .columns = where, .type = TSR_FP32};
    tsr_sparse *a = NULL;
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        const int64_t ncols = wide ? 1000000 : 4;
        arrays.indices = sorted;
        assert_int_equal(tsr_sparse_create_csr(&a, 2, ncols, &arrays, 0), TSR_INVALID_VALUE);
        assert_string_equal(tsr_last_error(), "row 1 has column 2 twice");
        arrays.indices = jumbled;
        assert_int_equal(tsr_sparse_create_csc(&a, ncols, 2, &arrays, 0), TSR_INVALID_VALUE);
        assert_string_equal(tsr_last_error(), "column 1 has row 2 twice");
        assert_null(a);
        arrays.indices = right;
        assert_int_equal(tsr_sparse_create_csr(&a, 2, ncols, &arrays, 0), TSR_OK);
        tsr_sparse_destroy(a);
        a = NULL;
    }
    assert_int_equal(tsr_sparse_create_coo(&a, 2, 3, &entries), TSR_INVALID_VALUE);
    assert_string_equal(tsr_last_error(), "row 1 has column 2 twice");
    assert_null(a);
}

/* Values of an SDDMM: by rows, those of a row in the order given. */
static void test_order_of_coordinates(void **state)
{
    static const int32_t rows[] = {2, 0, 2, 0}, where[] = {1, 3, 0, 0};
    const tsr_coordinates entries = {.index_type = TSR_INDEX_32, .nvals = 4, .rows = rows, .columns = where, .type = TSR_FP32};
    float x[] = {1, 2, 3}, y[] = {1, 10, 100, 1000}, found[4];
    const tsr_dense dx = {.data = x, .type = TSR_FP32, .nrows = 3, .ncols = 1, .ld = 1}, dy = {.data = y, .type = TSR_FP32, .nrows = 1, .ncols = 4, .ld = 4};
    tsr_sparse *s;
    tsr_plan *plan;
    (void)state;
    assert_int_equal(tsr_sparse_create_coo(&s, 3, 4, &entries), TSR_OK);
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SDDMM, tsr_default_semiring(TSR_FP32), s, &dx, &dy, 0), TSR_OK);
    assert_int_equal(tsr_execute_sddmm(plan, 1, &dx, &dy, 0, s, found, NULL), TSR_OK);
    assert_true(found[0] == 1000 && found[1] == 1 && found[2] == 30 && found[3] == 3);
    tsr_plan_destroy(plan);
    tsr_sparse_destroy(s);
}

/* 4 x 6 in blocks of 2 x 3: one in the first row of blocks, two in the second. */
static void test_blocks(void **state)
{
    static const int32_t starts[] = {0, 1, 3}, indices[] = {1, 1, 0};
    static const int64_t starts64[] = {0, 1, 3}, indices64[] = {1, 1, 0}, falling[] = {0, 3, 1};
    static const float by_row[] = {1, 2, 3, 4, 5, 6, 0, 0, 1, 0, 0, 2, 1, 1, 1, 0, 3, 0}, by_col[] = {1, 4, 2, 5, 3, 6, 0, 0, 0, 0, 1, 2, 1, 0, 1, 3, 1, 0};
    static const float expected[] = {321000, 654000, 100111, 200030};
    tsr_blocks blocks = {.index_type = TSR_INDEX_32, .height = 2, .width = 3, .offsets = starts, .indices = indices, .type = TSR_FP32, .values = by_row};
    tsr_sparse *a = NULL;
    int64_t nvals;
    (void)state;
    assert_int_equal(tsr_sparse_create_bsr(&a, 4, 6, &blocks), TSR_OK);
    assert_int_equal(tsr_sparse_size(a, NULL, NULL, &nvals), TSR_OK);
    assert_int_equal(nvals, 18);
    check_product(a, 4, 6, expected);
    blocks = (tsr_blocks){.index_type = TSR_INDEX_64, .height = 2, .width = 3, .offsets = starts64, .indices = indices64, .type = TSR_FP32,
                          .values = by_col, .layout = TSR_COL_MAJOR};
    assert_int_equal(tsr_sparse_create_bsr(&a, 4, 6, &blocks), TSR_OK);
    check_product(a, 4, 6, expected);
    a = NULL;
    assert_int_equal(tsr_sparse_create_bsr(&a, 5, 6, &blocks), TSR_INVALID_VALUE);
    assert_string_equal(tsr_last_error(), "blocks of 2 x 3 do not divide 5 x 6");
    assert_int_equal(tsr_sparse_create_bsr(&a, 4, 3, &blocks), TSR_INVALID_VALUE);
    assert_string_equal(tsr_last_error(), "indices[0] = 1 is not in 0 to 0");
    blocks.offsets = falling;
    assert_int_equal(tsr_sparse_create_bsr(&a, 4, 6, &blocks), TSR_INVALID_VALUE);
    assert_string_equal(tsr_last_error(), "offsets[2] = 1 is less than 3, the one before");
    assert_null(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_coordinates),
        cmocka_unit_test(test_counts_from_1),
        cmocka_unit_test(test_repeated_entries), cmocka_unit_test(test_order_of_coordinates),
        cmocka_unit_test(test_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
