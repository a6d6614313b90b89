/* Sparse products that hardly pay: computed here where operands are sorted, and not where SuiteSparse made one, which may be jumbled.
 * SPDX-License-Identifier: Apache-2.0 */
#include "same.h"

enum { N = 3000, ENTRIES = 90000 };

static void times(void *z, const void *x, const void *y)
{
    *(double *)z = *(const double *)x * *(const double *)y;
}

static GrB_Matrix make(GrB_Index entries_of_row)
{
    GrB_Matrix A;
    ok(GrB_Matrix_new(&A, GrB_FP64, N, N));
    for (GrB_Index i = 0; i < N; i++)
        for (GrB_Index k = 0; k < entries_of_row; k++)
            ok(GrB_Matrix_setElement_FP64(A, (double)draw(9) + 1, i, draw(N)));
    ok(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    return A;
}

/* C = A B with so many threads, by SuiteSparse as well. */
static void check(GrB_Matrix C, GrB_Matrix A, GrB_Matrix B, int threads)
{
    typedef GrB_Info function(GrB_Matrix, GrB_Matrix, GrB_BinaryOp, GrB_Semiring, GrB_Matrix, GrB_Matrix, GrB_Descriptor);
    function *real = (function *)(uintptr_t)of_suitesparse("GrB_mxm");
    GrB_Matrix want;
    ok(GxB_Global_Option_set(GxB_NTHREADS, threads));
    ok(GrB_Matrix_new(&want, GrB_FP64, N, N));
    ok(GrB_mxm(C, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, A, B, NULL));
    ok(real(want, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, A, B, NULL));
    expect_same(want, C);
    ok(GrB_Matrix_free(&want));
}

static int computed(void)
{
    return traced("\"route\":\"cpu:spgemm");
}

static void test_jumbled(void **state)
{
    (void)state;
    GrB_BinaryOp op;
    GrB_Semiring unknown;
    GrB_Matrix A = make(ENTRIES / N), P = make(1), C, D;
    ok((GrB_BinaryOp_new)(&op, times, GrB_FP64, GrB_FP64, GrB_FP64));
    ok(GrB_Semiring_new(&unknown, GrB_PLUS_MONOID_FP64, op));
    ok(GrB_Matrix_new(&C, GrB_FP64, N, N));
    ok(GrB_Matrix_new(&D, GrB_FP64, N, N));

    check(C, A, P, 2);
    assert_int_equal(computed(), 1);
    check(C, A, P, 1); /* other indices only */
    assert_int_equal(computed(), 1);

    ok(GrB_mxm(D, NULL, NULL, unknown, A, P, NULL)); /* SuiteSparse's */
    check(C, D, P, 2);
    assert_int_equal(computed(), 1);

    check(D, A, P, 2);
    assert_int_equal(computed(), 2);
    check(C, D, P, 2); /* ours is sorted */
    assert_int_equal(computed(), 3);

    ok(GrB_Matrix_free(&A));
    ok(GrB_Matrix_free(&P));
    ok(GrB_Matrix_free(&C));
    ok(GrB_Matrix_free(&D));
    ok(GrB_Semiring_free(&unknown));
    ok(GrB_BinaryOp_free(&op));
}

static int start(void **state)
{
    setenv("TEST_MODE", "auto", 1);
    return start_session(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_jumbled)};
    return cmocka_run_group_tests(tests, start, stop_session);
}
