/* Selections by place of matrices large enough for our kernels: every operator, either way held, bounds on both sides of the diagonal.
 * SPDX-License-Identifier: Apache-2.0 */
#include "same.h"

enum { ROWS = 60, COLUMNS = 90 };

typedef GrB_Info select_function(GrB_Matrix, GrB_Matrix, GrB_BinaryOp, GrB_IndexUnaryOp, GrB_Matrix, int64_t, GrB_Descriptor);

/* More entries than calls have that are forwarded for their size; some rows and columns have none. */
static GrB_Matrix make(int32_t format, int32_t sparsity, bool iso)
{
    GrB_Matrix A;
    ok(GrB_Matrix_new(&A, GrB_FP64, ROWS, COLUMNS));
    ok(GxB_Matrix_Option_set(A, GxB_FORMAT, format));
    ok(GxB_Matrix_Option_set(A, GxB_SPARSITY_CONTROL, sparsity));
    for (GrB_Index i = 0; i < ROWS; i++)
        for (GrB_Index j = 0; j < COLUMNS; j++) {
            if (i % 11 != 5 && j % 13 != 7 && draw(10) < 8)
                ok(GrB_Matrix_setElement_FP64(A, iso ? 3 : (double)(i * COLUMNS + j), i, j));
        }
    ok(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    return A;
}

static void check(select_function *real, GrB_Matrix A, GrB_IndexUnaryOp op, int64_t y)
{
    GrB_Matrix want, got;
    ok(GrB_Matrix_new(&want, GrB_FP64, ROWS, COLUMNS));
    ok(GrB_Matrix_new(&got, GrB_FP64, ROWS, COLUMNS));
    ok(real(want, NULL, NULL, op, A, y, NULL));
    ok(GrB_Matrix_select_INT64(got, NULL, NULL, op, A, y, NULL));
    expect_same(want, got);
    ok(GrB_Matrix_free(&want));
    ok(GrB_Matrix_free(&got));
}

static bool by_column(GrB_Matrix A)
{
    int32_t format;
    ok(GxB_Matrix_Option_get(A, GxB_FORMAT, &format));
    return format == GxB_BY_COL;
}

static void check_operators(GrB_Matrix A)
{
    static const int64_t bounds[] = {-61, -60, -7, -1, 0, 1, 12, 59, 89, 90};
    const GrB_IndexUnaryOp ops[] = {GrB_TRIL, GrB_TRIU, GrB_DIAG, GrB_OFFDIAG, GrB_ROWLE, GrB_ROWGT, GrB_COLLE, GrB_COLGT};
    select_function *real = (select_function *)(uintptr_t)of_suitesparse("GrB_Matrix_select_INT64");
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
        const int before = traced("\"route\":\"cpu:select");
        for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++) check(real, A, ops[k], bounds[b]);
        const bool cuts = k < 4 || (k < 6) == by_column(A);
        assert_int_equal(traced("\"route\":\"cpu:select") > before, cuts); /* whole vectors are SuiteSparse's */
    }
}

static void test_selections_by_place(void **state)
{
    static const int32_t sparsities[] = {GxB_SPARSE, GxB_HYPERSPARSE};
    (void)state;
    for (int k = 0; k < 8; k++) {
        GrB_Matrix A = make(k & 1 ? GxB_BY_COL : GxB_BY_ROW, sparsities[k >> 1 & 1], k >> 2);
        check_operators(A);
        ok(GrB_Matrix_free(&A));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_selections_by_place)};
    return cmocka_run_group_tests(tests, start_session, stop_session);
}
