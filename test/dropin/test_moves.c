/* Products of few sparse vectors in auto beside a device: computed here while nothing is there, and there once their time says so.
 * SPDX-License-Identifier: Apache-2.0 */
#include "same.h"

/* So many entries that each product is priced for the device. */
enum { VECTORS = 8, N = 1 << 15, DEGREE = 84, TRIES = 400 };

static GrB_Matrix A, visited; /* visited: a bitmap */

static GrB_Matrix new_matrix(GrB_Index rows, int32_t sparsity)
{
    GrB_Matrix M;
    ok(GrB_Matrix_new(&M, GrB_FP64, rows, N));
    ok(GxB_Matrix_Option_set(M, GxB_SPARSITY_CONTROL, sparsity));
    return M;
}

/* Small whole numbers, whose sums are exact. */
static GrB_Matrix drawn(GrB_Index rows, GrB_Index count, int32_t sparsity)
{
    GrB_Index *i = malloc(count * sizeof *i), *j = malloc(count * sizeof *j);
    double *x = malloc(count * sizeof *x);
    GrB_Matrix M = new_matrix(rows, sparsity);
    for (GrB_Index k = 0; k < count; k++) {
        i[k] = draw(rows);
        j[k] = draw(N);
        x[k] = (double)(1 + draw(8));
    }
    ok(GrB_Matrix_build_FP64(M, i, j, x, count, GrB_SECOND_FP64));
    free(i);
    free(j);
    free(x);
    return M;
}

static int set_up(void **state)
{
    (void)state;
    setenv("TEST_MODE", "auto", 1);
    force_tessera();
    unsetenv("TESSERA_MIN_WORK");
    ok(GrB_init(GrB_NONBLOCKING));
    ok(GxB_Global_Option_set(GxB_NTHREADS, 2));
    A = drawn(N, (GrB_Index)N * DEGREE, GxB_SPARSE);
    visited = drawn(VECTORS, VECTORS * N / 64, GxB_BITMAP);
    return 0;
}

static int tear_down(void **state)
{
    ok(GrB_Matrix_free(&A));
    ok(GrB_Matrix_free(&visited));
    return stop_session(state);
}

typedef GrB_Info mxm_function(GrB_Matrix, GrB_Matrix, GrB_BinaryOp, GrB_Semiring, GrB_Matrix, GrB_Matrix, GrB_Descriptor);

/* T<!visited> = U A, or U A'. */
static void multiply(mxm_function *mxm, GrB_Matrix T, GrB_Matrix U, bool pull)
{
    ok(mxm(T, visited, NULL, GxB_PLUS_FIRST_FP64, U, A, pull ? GrB_DESC_RSCT1 : GrB_DESC_RSC));
}

static void expect_product(GrB_Matrix T, GrB_Matrix U, bool pull)
{
    GrB_Matrix want = new_matrix(VECTORS, GxB_BITMAP | GxB_SPARSE);
    multiply((mxm_function *)(uintptr_t)of_suitesparse("GrB_mxm"), want, U, pull);
    ok(GxB_Matrix_Option_set(want, GxB_SPARSITY_CONTROL, GxB_SPARSE));
    ok(GxB_Matrix_Option_set(T, GxB_SPARSITY_CONTROL, GxB_SPARSE));
    expect_same(want, T);
    ok(GrB_Matrix_free(&want));
}

/* Into a new matrix, by our kernel. */
static void expect_push_here(void)
{
    const int before = traced("cpu:push");
    GrB_Matrix U = drawn(VECTORS, 1000, GxB_SPARSE), T = new_matrix(VECTORS, GxB_SPARSE);
    multiply(GrB_mxm, T, U, false);
    assert_int_equal(traced("cpu:push"), before + 1);
    expect_product(T, U, false);
    ok(GrB_Matrix_free(&U));
    ok(GrB_Matrix_free(&T));
}

/* A device that might be started for such products takes none of them from here. */
static void test_pushes_are_ours_beside_a_device(void **state)
{
    (void)state;
    expect_push_here();
    assert_int_equal(traced("cuda:"), 0);
}

/* What pulls take here is lost without the device: it is started, and the next ones are computed there.  A push whose operands are all here
 * stays here. */
static void test_pulls_move(void **state)
{
    GrB_Matrix U = drawn(VECTORS, VECTORS * N, GxB_BITMAP), T = NULL;
    int tries = 0;
    (void)state;
    for (; tries < TRIES && traced("cuda:csr") == 0; tries++) {
        if (T)
            ok(GrB_Matrix_free(&T));
        T = new_matrix(VECTORS, GxB_BITMAP);
        multiply(GrB_mxm, T, U, true);
    }
    assert_in_range(tries, 2, TRIES - 1);
    expect_push_here();
    expect_product(T, U, true);
    ok(GrB_Matrix_free(&U));
    ok(GrB_Matrix_free(&T));
}

/* An object that will be told its sparsity control when it has contents keeps nobody else's pushes from here. */
static void test_a_control_that_waits(void **state)
{
    GrB_Matrix other = new_matrix(VECTORS, GxB_BITMAP);
    (void)state;
    expect_push_here();
    ok(GrB_Matrix_free(&other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pushes_are_ours_beside_a_device), cmocka_unit_test(test_pulls_move),
                                       cmocka_unit_test(test_a_control_that_waits)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
