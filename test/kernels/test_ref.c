/* The oracle against results worked out by hand on matrices of five rows and columns.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "kernels/ref/ref.h"

/*      0  1  2  3  4
 * 0    .  2  .  .  3
 * 1    .  .  .  .  .
 * 2    1  .  4  .  .
 * 3    .  .  .  5  .
 * 4    .  .  .  .  6      by row, and the same by column */
static const int64_t by_row_p[] = { 0, 2, 2, 4, 5, 6 };
static const int64_t by_row_i[] = { 1, 4, 0, 2, 3, 4 };
static const double by_row_x[] = { 2, 3, 1, 4, 5, 6 };
static const int64_t by_col_p[] = { 0, 1, 2, 3, 4, 6 };
static const uint32_t by_col_i[] = { 2, 0, 2, 3, 0, 4 };
static const double by_col_x[] = { 1, 2, 4, 5, 3, 6 };
static const int64_t hyper_p[] = { 0, 2, 4, 5, 6 };
static const int64_t hyper_h[] = { 0, 2, 3, 4 };

static tsr_view a_by_row(void)
{
    return (tsr_view){ .format = TSR_SPARSE, .type = TSR_FP64, .index_size = 8, .nrows = 5, .ncols = 5, .nvec = 5,
        .vlen = 5, .ld = 5, .nvals = 6, .p = by_row_p, .i = by_row_i, .x = by_row_x };
}

static tsr_view a_by_col(void)
{
    tsr_view v = a_by_row();
    v.by_col = true;
    v.index_size = 4;
    v.p = by_col_p;
    v.i = by_col_i;
    v.x = by_col_x;
    return v;
}

static tsr_view a_hyper(void)
{
    tsr_view v = a_by_row();
    v.format = TSR_HYPERSPARSE;
    v.nvec = 4;
    v.p = hyper_p;
    v.h = hyper_h;
    return v;
}

/* 5 x 2, row k = (k + 1, -k), by row. */
static const double b_x[] = { 1, 0, 2, -1, 3, -2, 4, -3, 5, -4 };

static tsr_view b_full(void)
{
    return (tsr_view){ .format = TSR_FULL, .type = TSR_FP64, .index_size = 8, .nrows = 5, .ncols = 2, .nvec = 5,
        .vlen = 2,
        .ld = 2, .nvals = 10, .x = b_x };
}

static tsr_product spmm(tsr_add add, tsr_mul mul, tsr_view a, tsr_view b)
{
    return (tsr_product){ .op = TSR_OP_SPMM, .semiring = { TSR_FP64, add, mul }, .m = 5, .n = 2, .k = 5, .a = a, .b = b,
        .nthreads = 1 };
}

static void expect_result(const tsr_product *product, const double *x, const int8_t *b, int64_t places)
{
    double out[25];
    int8_t flags[25];
    int64_t present = 0;
    tsr_result result = { .x = out, .b = flags, .nvals = -1 };
    assert_int_equal(tsr_ref_execute(product, &result), TSR_OK);
    for (int64_t at = 0; at < places; at++) {
        assert_int_equal(flags[at], b[at]);
        present += b[at];
        if (b[at])
            assert_true(out[at] == x[at]);
    }
    assert_int_equal(result.nvals, present);
}

static const int8_t rows_present[] = { 1, 1, 0, 0, 1, 1, 1, 1, 1, 1 };

static void plus_times_in_every_orientation(void **state)
{
    (void)state;
    const double x[] = { 2 * 2 + 3 * 5, -2 - 12, 0, 0, 1 + 12, -8, 20, -15, 30, -24 };
    tsr_view views[] = { a_by_row(), a_by_col(), a_hyper() };
    for (int at = 0; at < 3; at++) {
        tsr_product product = spmm(TSR_ADD_PLUS, TSR_MUL_TIMES, views[at], b_full());
        expect_result(&product, x, rows_present, 10);
    }
}

static void result_by_column(void **state)
{
    (void)state;
    const double x[] = { 19, 0, 13, 20, 30, -14, 0, -8, -15, -24 };
    const int8_t b[] = { 1, 0, 1, 1, 1, 1, 0, 1, 1, 1 };
    tsr_product product = spmm(TSR_ADD_PLUS, TSR_MUL_TIMES, a_by_row(), b_full());
    product.c_by_col = true;
    expect_result(&product, x, b, 10);
}

static void every_multiplication(void **state)
{
    (void)state;
    static const struct {
        tsr_mul mul;
        double x[10];
    } rows[] = {
        { TSR_MUL_FIRST, { 5, 5, 0, 0, 5, 5, 5, 5, 6, 6 } },
        { TSR_MUL_SECOND, { 7, -5, 0, 0, 4, -2, 4, -3, 5, -4 } },
        { TSR_MUL_PAIR, { 2, 2, 0, 0, 2, 2, 1, 1, 1, 1 } },
        { TSR_MUL_PLUS, { 12, 0, 0, 0, 9, 3, 9, 2, 11, 2 } },
        { TSR_MUL_AND, { 2, 2, 0, 0, 2, 1, 1, 1, 1, 1 } },
    };
    for (size_t at = 0; at < sizeof rows / sizeof *rows; at++) {
        tsr_product product = spmm(TSR_ADD_PLUS, rows[at].mul, a_by_row(), b_full());
        expect_result(&product, rows[at].x, rows_present, 10);
    }
}

static void every_monoid(void **state)
{
    (void)state;
    static const struct {
        tsr_add add;
        double x[10];
    } rows[] = {
        { TSR_ADD_MIN, { 4, -12, 0, 0, 1, -8, 20, -15, 30, -24 } },
        { TSR_ADD_MAX, { 15, -2, 0, 0, 12, 0, 20, -15, 30, -24 } },
        { TSR_ADD_ANY, { 4, -2, 0, 0, 1, 0, 20, -15, 30, -24 } },
        { TSR_ADD_LOR, { 1, 1, 0, 0, 1, 1, 1, 1, 1, 1 } },
    };
    for (size_t at = 0; at < sizeof rows / sizeof *rows; at++) {
        tsr_product product = spmm(rows[at].add, TSR_MUL_TIMES, a_by_row(), b_full());
        expect_result(&product, rows[at].x, rows_present, 10);
    }
}

static void bitmap_leaves_gaps(void **state)
{
    (void)state;
    const int8_t bb[] = { 1, 0, 0, 1, 1, 0, 0, 0, 1, 1 };
    const double x[] = { 15, -14, 0, 0, 13, 0, 0, 0, 30, -24 };
    const int8_t b[] = { 1, 1, 0, 0, 1, 0, 0, 0, 1, 1 };
    tsr_view bitmap = b_full();
    bitmap.format = TSR_BITMAP;
    bitmap.b = bb;
    tsr_product product = spmm(TSR_ADD_PLUS, TSR_MUL_TIMES, a_by_row(), bitmap);
    expect_result(&product, x, b, 10);
}

static void pattern_and_iso(void **state)
{
    (void)state;
    const double two = 2, x[] = { 14, -10, 0, 0, 8, -4, 8, -6, 10, -8 };
    tsr_view iso = a_by_row();
    iso.iso = true;
    iso.x = &two;
    tsr_product product = spmm(TSR_ADD_PLUS, TSR_MUL_TIMES, iso, b_full());
    expect_result(&product, x, rows_present, 10);
    const double sums[] = { 7, -5, 0, 0, 4, -2, 4, -3, 5, -4 };
    tsr_view pattern = a_by_row();
    pattern.x = NULL;
    product = spmm(TSR_ADD_PLUS, TSR_MUL_SECOND, pattern, b_full());
    expect_result(&product, sums, rows_present, 10);
}

/* X·Y' at the places of A: X(i,:) = (i, 1), Y(j,:) = (1, j), so the value at (i, j) is i + j. */
static void sampled_dense(void **state)
{
    (void)state;
    const double left[] = { 0, 1, 1, 1, 2, 1, 3, 1, 4, 1 }, right[] = { 1, 0, 1, 1, 1, 2, 1, 3, 1, 4 };
    const double x[] = { 1, 4, 2, 4, 6, 8 };
    const int8_t b[] = { 1, 1, 1, 1, 1, 1 };
    tsr_view a = b_full(), y = b_full();
    a.x = left;
    y.x = right;
    y.by_col = true;
    y.nrows = 2;
    y.ncols = 5;
    tsr_product product = { .op = TSR_OP_SDDMM, .semiring = { TSR_FP64, TSR_ADD_PLUS, TSR_MUL_TIMES }, .m = 5, .n = 5,
        .k = 2, .a = a, .b = y, .mask = a_by_row(), .mask_structural = true, .nthreads = 1 };
    expect_result(&product, x, b, 6);
}

static void valued_mask_skips_zeros(void **state)
{
    (void)state;
    const double mask_x[] = { 1, 0, 0, 7, 0, 1 }, x[] = { 0, 0, 0, 16, 0, 36 };
    const int8_t b[] = { 0, 0, 0, 1, 0, 1 };
    tsr_view mask = a_by_row();
    mask.x = mask_x;
    tsr_product product = { .op = TSR_OP_MASKED_DOT, .semiring = { TSR_FP64, TSR_ADD_PLUS, TSR_MUL_TIMES },
        .m = 5, .n = 5,
        .k = 5, .a = a_by_row(), .b = a_by_col(), .mask = mask, .nthreads = 1 };
    expect_result(&product, x, b, 6);
}

/* A·A at the places of A: (0,1): A(0,:)·A(:,1) = none; (0,4) = 3·6; (2,0) = 4·1; (2,2) = 16; (3,3) = 25; (4,4) =
 * 36. */
static void masked_square(void **state)
{
    (void)state;
    const double x[] = { 0, 18, 4, 16, 25, 36 };
    const int8_t b[] = { 0, 1, 1, 1, 1, 1 };
    tsr_product product = { .op = TSR_OP_MASKED_DOT, .semiring = { TSR_FP64, TSR_ADD_PLUS, TSR_MUL_TIMES },
        .m = 5, .n = 5,
        .k = 5, .a = a_by_row(), .b = a_hyper(), .mask = a_by_row(), .mask_structural = true, .nthreads = 1 };
    expect_result(&product, x, b, 6);
}

static void integers_wrap(void **state)
{
    (void)state;
    const int64_t p[] = { 0, 2 }, i[] = { 0, 1 };
    const int8_t a[] = { 100, 2 }, b[] = { 2, 100 };
    tsr_product product = { .op = TSR_OP_SPMV, .semiring = { TSR_INT8, TSR_ADD_PLUS, TSR_MUL_TIMES }, .m = 1, .n = 1,
        .k = 2, .nthreads = 1,
        .a = { .format = TSR_SPARSE, .type = TSR_INT8, .index_size = 8, .nrows = 1, .ncols = 2, .nvec = 1, .vlen = 2,
            .ld = 2, .nvals = 2, .p = p, .i = i, .x = a },
        .b = { .format = TSR_FULL, .type = TSR_INT8, .by_col = true, .index_size = 8, .nrows = 2, .ncols = 1, .nvec = 1,
            .vlen = 2, .ld = 2, .nvals = 2, .x = b } };
    int8_t x = 0, present = 0;
    tsr_result result = { .x = &x, .b = &present };
    assert_int_equal(tsr_ref_execute(&product, &result), TSR_OK);
    assert_int_equal(x, (int8_t)(400 - 512));
    product.semiring.add = TSR_ADD_MIN;
    assert_int_equal(tsr_ref_execute(&product, &result), TSR_OK);
    assert_int_equal(x, -56);
}

static void nan_loses(void **state)
{
    (void)state;
    const double x[] = { NAN, 0, 2, NAN, 3, -2, NAN, NAN, 5, -4 };
    tsr_view b = b_full();
    b.x = x;
    tsr_product product = spmm(TSR_ADD_MIN, TSR_MUL_SECOND, a_by_row(), b);
    double out[10];
    int8_t flags[10];
    tsr_result result = { .x = out, .b = flags };
    assert_int_equal(tsr_ref_execute(&product, &result), TSR_OK);
    assert_true(out[0] == 2 && out[1] == -4 && out[4] == 3 && out[5] == -2);
    assert_true(isnan(out[6]) && isnan(out[7]));
}

static void exact_sums_do_not_round(void **state)
{
    (void)state;
    const int64_t p[] = { 0, 3 }, i[] = { 0, 1, 2 };
    const float x[] = { 1, 1, 1 }, y[] = { 16777216, 1, 1 };
    tsr_product product = { .op = TSR_OP_SPMV, .semiring = { TSR_FP32, TSR_ADD_PLUS, TSR_MUL_TIMES }, .m = 1, .n = 1,
        .k = 3, .nthreads = 1,
        .a = { .format = TSR_SPARSE, .type = TSR_FP32, .index_size = 8, .nrows = 1, .ncols = 3, .nvec = 1, .vlen = 3,
            .ld = 3, .nvals = 3, .p = p, .i = i, .x = x },
        .b = { .format = TSR_FULL, .type = TSR_FP32, .by_col = true, .index_size = 8, .nrows = 3, .ncols = 1, .nvec = 1,
            .vlen = 3, .ld = 3, .nvals = 3, .x = y } };
    float rounded = 0;
    long double exact = 0;
    int8_t present = 0;
    int64_t nvals = 0;
    tsr_result result = { .x = &rounded, .b = &present };
    assert_int_equal(tsr_ref_execute(&product, &result), TSR_OK);
    assert_int_equal(tsr_ref_execute_exact(&product, &exact, &present, &nvals), TSR_OK);
    assert_true(rounded == 16777216 && exact == 16777218);
}

static void any_matches_each_candidate(void **state)
{
    (void)state;
    tsr_product product = spmm(TSR_ADD_ANY, TSR_MUL_TIMES, a_by_row(), b_full());
    const double claimed[] = { 15, -12, 0, 0, 12, -7, 20, -15, 30, 0 };
    const int8_t right[] = { 1, 1, 0, 0, 1, 0, 1, 1, 1, 0 };
    int8_t matches[10];
    assert_int_equal(tsr_ref_match_any(&product, claimed, matches), TSR_OK);
    assert_memory_equal(matches, right, sizeof right);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plus_times_in_every_orientation),
        cmocka_unit_test(result_by_column),
        cmocka_unit_test(every_multiplication),
        cmocka_unit_test(every_monoid),
        cmocka_unit_test(bitmap_leaves_gaps),
        cmocka_unit_test(pattern_and_iso),
        cmocka_unit_test(sampled_dense),
        cmocka_unit_test(valued_mask_skips_zeros),
        cmocka_unit_test(masked_square),
        cmocka_unit_test(integers_wrap),
        cmocka_unit_test(nan_loses),
        cmocka_unit_test(exact_sums_do_not_round),
        cmocka_unit_test(any_matches_each_candidate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
