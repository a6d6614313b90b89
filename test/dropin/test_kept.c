/* Sparse contents that only the device has, wanted in another type: nothing is downloaded, and the results are SuiteSparse's.
 * SPDX-License-Identifier: Apache-2.0 */
#include "same.h"

enum { N = 60 };

static int set_up(void **state)
{
    setenv("TEST_MODE", "gpu", 1);
    return start_session(state);
}

/* Every third place or so; values from -7 to 7, or one. */
static GrB_Matrix square(GrB_Type type, bool iso)
{
    GrB_Matrix A;
    ok(GrB_Matrix_new(&A, type, N, N));
    ok(GxB_Matrix_Option_set(A, GxB_SPARSITY_CONTROL, GxB_SPARSE));
    for (GrB_Index i = 0; i < N; i++)
        for (GrB_Index j = i % 3; j < N; j += 3) ok(GrB_Matrix_setElement_INT32(A, iso ? 1 : (int)draw(15) - 7, i, j));
    ok(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    return A;
}

static GrB_Matrix new_sparse(GrB_Type type, GrB_Index rows)
{
    GrB_Matrix C;
    ok(GrB_Matrix_new(&C, type, rows, N));
    ok(GxB_Matrix_Option_set(C, GxB_SPARSITY_CONTROL, GxB_SPARSE));
    return C;
}

typedef GrB_Info select_function(GrB_Matrix, GrB_Matrix, GrB_BinaryOp, GrB_IndexUnaryOp, GrB_Matrix, int64_t, GrB_Descriptor);
typedef GrB_Info extract_function(GrB_Matrix, GrB_Matrix, GrB_BinaryOp, GrB_Matrix, const GrB_Index *, GrB_Index, const GrB_Index *, GrB_Index,
                                  GrB_Descriptor);

static GrB_Matrix lower(select_function *select, GrB_Matrix A, GrB_Type type)
{
    GrB_Matrix L = new_sparse(type, N);
    ok(select(L, NULL, NULL, GrB_TRIL, A, 0, NULL));
    return L;
}

/* Sums, and the least and greatest, of integers in floats and of all numbers in integers; and whether one is not 0. */
static void test_reductions(void **state)
{
    const GrB_Type types[] = {GrB_INT8, GrB_INT32, GrB_INT64, GrB_FP32, GrB_FP64};
    select_function *plain = (select_function *)(uintptr_t)of_suitesparse("GrB_Matrix_select_INT64");
    (void)state;
    for (int k = 0; k < 5; k++) {
        GrB_Matrix A = square(types[k], false), want = lower(plain, A, types[k]), got = lower(GrB_Matrix_select_INT64, A, types[k]);
        const int fetched = traced("cuda:fetch"), reduced = traced("cuda:reduce");
        double sum[2], most[2];
        int64_t least[2];
        bool any[2];
        for (int side = 1; side >= 0; side--) {
            GrB_Matrix L = side ? got : want;
            ok(GrB_Matrix_reduce_FP64(&sum[side], NULL, GrB_PLUS_MONOID_FP64, L, NULL));
            ok(GrB_Matrix_reduce_FP64(&most[side], NULL, GrB_MAX_MONOID_FP32, L, NULL));
            ok(GrB_Matrix_reduce_INT64(&least[side], NULL, GrB_MIN_MONOID_INT16, L, NULL));
            ok(GrB_Matrix_reduce_BOOL(&any[side], NULL, GrB_LOR_MONOID_BOOL, L, NULL));
        }
        assert_int_equal(traced("cuda:fetch"), fetched);
        assert_int_equal(traced("cuda:reduce"), reduced + 4);
        assert_true(sum[0] == sum[1] && most[0] == most[1] && least[0] == least[1] && any[0] == any[1]);
        expect_same(want, got);
        ok(GrB_Matrix_free(&A));
        ok(GrB_Matrix_free(&want));
        ok(GrB_Matrix_free(&got));
    }
}

/* A matrix of one value has it in C's type. */
static void test_one_value_is_cast(void **state)
{
    static const GrB_Index rows[] = {5, 3, 5, 40, 0};
    enum { ROWS = sizeof rows / sizeof *rows };
    const GrB_Type types[] = {GrB_UINT32, GrB_BOOL, GrB_FP32};
    select_function *const selects[] = {(select_function *)(uintptr_t)of_suitesparse("GrB_Matrix_select_INT64"), GrB_Matrix_select_INT64};
    extract_function *const extracts[] = {(extract_function *)(uintptr_t)of_suitesparse("GrB_Matrix_extract"), GrB_Matrix_extract};
    (void)state;
    for (int k = 0; k < 3; k++) {
        GrB_Matrix A = square(GrB_FP64, true), L[2], C[2];
        const int fetched = traced("cuda:fetch"), picked = traced("cuda:select") + traced("cuda:extract");
        for (int side = 0; side < 2; side++) {
            GrB_Matrix of = lower(selects[side], A, GrB_FP64);
            L[side] = lower(selects[side], of, types[k]);
            C[side] = new_sparse(types[k], ROWS);
            ok(extracts[side](C[side], NULL, NULL, of, rows, ROWS, GrB_ALL, N, NULL));
            ok(GrB_Matrix_free(&of));
        }
        assert_int_equal(traced("cuda:select") + traced("cuda:extract"), picked + 3);
        assert_int_equal(traced("cuda:fetch"), fetched);
        expect_same(L[0], L[1]);
        expect_same(C[0], C[1]);
        for (int side = 0; side < 2; side++) {
            ok(GrB_Matrix_free(&L[side]));
            ok(GrB_Matrix_free(&C[side]));
        }
        ok(GrB_Matrix_free(&A));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reductions), cmocka_unit_test(test_one_value_is_cast)};
    return cmocka_run_group_tests(tests, set_up, stop_session);
}
