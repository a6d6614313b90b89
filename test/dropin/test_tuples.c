/* Objects built of tuples, and scattered to: the same results, errors and forms as by SuiteSparse's own functions, and who computed them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <GraphBLAS.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "same.h"
#include "test/seed.h"

enum { CASES = 1500, MOST = 400 };

static GrB_Index rows[MOST], columns[MOST], count, nrows, ncols;
static double numbers[MOST];
static int8_t small[MOST];
static bool truths[MOST];

/* Crowded or not, sorted or not, a number too large now and then; values are few, so that sums of all may be one. */
static void draw_tuples(void)
{
    static const GrB_Index sizes[] = {1, 2, 5, 30, 30, 200, 3000};
    nrows = sizes[draw(7)];
    ncols = sizes[draw(7)];
    count = draw(MOST);
    const GrB_Index some_rows = draw(3) ? nrows : 1 + draw(nrows), some_columns = draw(3) ? ncols : 1 + draw(ncols), values = draw(4) ? 9 : 1;
    for (GrB_Index k = 0; k < count; k++) {
        rows[k] = draw(some_rows);
        columns[k] = draw(some_columns);
        numbers[k] = (double)draw(values) - (values > 1 ? 3.5 : 0);
        small[k] = (int8_t)numbers[k];
        truths[k] = numbers[k] > 0;
    }
    if (count > 0 && draw(20) == 0)
        rows[draw(count)] = nrows + draw(2);
    if (draw(10) == 0)
        for (GrB_Index k = 0; k < count; k++)
            rows[k] = k * nrows / count;
}

/* Held in every way; empty, emptied, or not. */
static GrB_Matrix draw_target(GrB_Type type)
{
    static const int controls[] = {GxB_AUTO_SPARSITY, GxB_AUTO_SPARSITY, GxB_SPARSE, GxB_HYPERSPARSE, GxB_SPARSE + GxB_HYPERSPARSE, GxB_BITMAP};
    static const double switches[] = {0, .0625, .5, 1};
    GrB_Matrix C;
    const bool by_col = draw(2);
    ok(GxB_Global_Option_set(GxB_FORMAT, by_col ? GxB_BY_COL : GxB_BY_ROW));
    ok(GrB_Matrix_new(&C, type, nrows, ncols));
    ok(GxB_Global_Option_set(GxB_FORMAT, GxB_BY_ROW));
    if (draw(4) == 0)
        ok(GxB_Matrix_Option_set(C, GxB_FORMAT, draw(2) ? GxB_BY_COL : GxB_BY_ROW));
    ok(GxB_Matrix_Option_set(C, GxB_SPARSITY_CONTROL, controls[draw(6)]));
    if (draw(5) == 0)
        ok(GxB_Matrix_Option_set(C, GxB_HYPER_SWITCH, switches[draw(4)]));
    const uint64_t before = draw(24);
    if (before < 4)
        ok(GrB_Matrix_setElement_FP64(C, 1, nrows - 1, ncols - 1));
    if (before == 1 || before == 2)
        ok(GrB_Matrix_wait(C, GrB_MATERIALIZE));
    if (before == 2)
        ok(GrB_Matrix_removeElement(C, nrows - 1, ncols - 1));
    if (before == 3)
        ok(GrB_Matrix_clear(C));
    return C;
}

#define BY(name, ...)                                            \
    do {                                                         \
        __typeof__(&name) function = name;                       \
        if (by_suitesparse)                                      \
            *(void **)&function = of_suitesparse(#name);         \
        return function(__VA_ARGS__);                            \
    } while (0)

/* ---- matrices ---- */

enum { NUMBERS, SMALL, TRUTHS, ONE, KINDS };

static GrB_Info build(int kind, GrB_Matrix C, GrB_BinaryOp dup, GrB_Scalar one, bool by_suitesparse)
{
    switch (kind) {
    case NUMBERS: BY(GrB_Matrix_build_FP64, C, rows, columns, numbers, count, dup);
    case SMALL: BY(GrB_Matrix_build_INT8, C, rows, columns, small, count, dup);
    case TRUTHS: BY(GrB_Matrix_build_BOOL, C, rows, columns, truths, count, dup);
    default: BY(GxB_Matrix_build_Scalar, C, rows, columns, one, count);
    }
}

static GrB_BinaryOp draw_dup(int kind)
{
    GrB_BinaryOp of_numbers[] = {GrB_PLUS_FP64, GrB_TIMES_FP64, GrB_MIN_FP64, GrB_MAX_FP64, GrB_FIRST_FP64, GrB_SECOND_FP64, GrB_MINUS_FP64,
                                 GxB_ANY_FP64, GrB_PLUS_INT32, NULL};
    GrB_BinaryOp of_small[] = {GrB_PLUS_INT8, GrB_TIMES_INT8, GrB_MIN_INT8, GrB_MAX_INT8, GrB_FIRST_INT8, GrB_SECOND_INT8, GrB_PLUS_FP32, NULL};
    GrB_BinaryOp of_truths[] = {GrB_LOR, GrB_LAND, GrB_LXOR, GrB_LXNOR, GrB_FIRST_BOOL, GrB_SECOND_BOOL, GrB_PLUS_BOOL, NULL};
    switch (kind) {
    case NUMBERS: return of_numbers[draw(10)];
    case SMALL: return of_small[draw(8)];
    default: return of_truths[draw(8)];
    }
}

static void try_matrix(void)
{
    GrB_Type types[] = {GrB_FP64, GrB_INT8, GrB_BOOL, GrB_INT16};
    const int kind = (int)draw(KINDS);
    const GrB_BinaryOp dup = draw_dup(kind);
    GrB_Scalar one;
    ok(GrB_Scalar_new(&one, GrB_FP64));
    if (draw(8))
        ok(GrB_Scalar_setElement_FP64(one, 2));
    draw_tuples();
    GrB_Matrix want = draw_target(draw(8) ? types[kind] : GrB_INT64), got;
    const uint64_t kept = state_of_draws;
    ok(GrB_Matrix_dup(&got, want));
    if (draw(2)) { /* as it was made, settings and all, not a copy */
        GrB_Matrix_free(&got);
        state_of_draws = kept;
        GrB_Type type;
        ok(GxB_Matrix_type(&type, want));
        GrB_Matrix_free(&want);
        want = draw_target(type);
        state_of_draws = kept;
        got = draw_target(type);
    }
    const GrB_Info info = build(kind, want, dup, one, true);
    assert_int_equal(build(kind, got, dup, one, false), info);
    if (info == GrB_SUCCESS)
        expect_same(want, got);
    GrB_Matrix_free(&want);
    GrB_Matrix_free(&got);
    GrB_Scalar_free(&one);
}

/* ---- vectors ---- */

static GrB_Info build_vector(int kind, GrB_Vector w, GrB_BinaryOp dup, bool by_suitesparse)
{
    switch (kind) {
    case NUMBERS: BY(GrB_Vector_build_FP64, w, rows, numbers, count, dup);
    case SMALL: BY(GrB_Vector_build_INT8, w, rows, small, count, dup);
    default: BY(GrB_Vector_build_BOOL, w, rows, truths, count, dup);
    }
}

static void try_vector(void)
{
    GrB_Type types[] = {GrB_FP64, GrB_INT8, GrB_BOOL};
    const int kind = (int)draw(ONE);
    const GrB_BinaryOp dup = draw_dup(kind);
    draw_tuples();
    GrB_Vector want, got;
    ok(GrB_Vector_new(&want, types[kind], nrows));
    ok(GrB_Vector_new(&got, types[kind], nrows));
    const GrB_Info info = build_vector(kind, want, dup, true);
    assert_int_equal(build_vector(kind, got, dup, false), info);
    if (info == GrB_SUCCESS)
        expect_same((GrB_Matrix)want, (GrB_Matrix)got);
    GrB_Vector_free(&want);
    GrB_Vector_free(&got);
}

/* ---- scattering ---- */

static GrB_Info scatter(GrB_Vector w, GrB_BinaryOp accum, GrB_Vector u, bool inside, bool by_suitesparse)
{
    if (!u)
        BY(GrB_Vector_assign_FP64, w, NULL, accum, 4.5, rows, count, NULL);
    if (inside)
        BY(GxB_Vector_subassign, w, NULL, accum, u, rows, count, NULL);
    BY(GrB_Vector_assign, w, NULL, accum, u, rows, count, NULL);
}

static void make_distinct(void)
{
    count = count < nrows ? count : nrows;
    for (GrB_Index k = 0; k < count; k++)
        rows[k] = (k * 7 + 1) % nrows;
}

static GrB_Vector draw_full(GrB_Index n)
{
    GrB_Vector v;
    const bool iso = draw(6) == 0;
    ok(GrB_Vector_new(&v, draw(8) ? GrB_FP64 : GrB_INT32, n));
    if (iso || draw(2))
        ok(GrB_Vector_assign_FP64(v, NULL, NULL, 1, GrB_ALL, n, NULL));
    for (GrB_Index k = 0; k < n && !iso; k++)
        if (draw(60))
            ok(GrB_Vector_setElement_FP64(v, (double)draw(9), k));
    ok(GrB_Vector_wait(v, GrB_MATERIALIZE));
    return v;
}

static void try_scatter(void)
{
    do
        draw_tuples();
    while (count == 0);
    if (draw(2))
        make_distinct();
    GrB_BinaryOp accums[] = {GrB_PLUS_FP64, GrB_MIN_FP64, GrB_MINUS_FP64, GrB_FIRST_FP64, GrB_SECOND_FP64, GrB_GT_FP64, GrB_PLUS_INT32};
    const GrB_BinaryOp accum = draw(2) ? accums[draw(7)] : NULL;
    GrB_Vector want = draw_full(nrows), got, u = draw(4) ? draw_full(draw(12) ? count : count + 1) : NULL;
    const bool inside = draw(2);
    ok(GrB_Vector_dup(&got, want));
    const GrB_Info info = scatter(want, accum, u, inside, true);
    assert_int_equal(scatter(got, accum, u, inside, false), info);
    expect_same((GrB_Matrix)want, (GrB_Matrix)got);
    GrB_Vector_free(&want);
    GrB_Vector_free(&got);
    GrB_Vector_free(&u);
}

/* ---- */

static void repeat(void (*one)(void), const char *words)
{
    state_of_draws = test_seed();
    print_message("seed %llu\n", (unsigned long long)state_of_draws);
    for (int k = 0; k < CASES; k++)
        one();
    assert_true(traced(words) > CASES / 20);
}

static void test_matrices(void **state)
{
    (void)state;
    repeat(try_matrix, "GrB_Matrix_build");
}

static void test_vectors(void **state)
{
    (void)state;
    repeat(try_vector, "GrB_Vector_build");
}

static void test_scattering(void **state)
{
    (void)state;
    repeat(try_scatter, "\"scatter");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_matrices), cmocka_unit_test(test_vectors), cmocka_unit_test(test_scattering)};
    return cmocka_run_group_tests(tests, start_session, stop_session);
}
