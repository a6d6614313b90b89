/* A process begins with calls that are left to SuiteSparse: until they could have gained as much as ours lose when they run first.
 * SPDX-License-Identifier: Apache-2.0 */
#include "same.h"

enum { N = 8192, DEGREE = 8 };

static GrB_Matrix A;

/* u A, u of so many entries, by SuiteSparse as well. */
static void push(int entries)
{
    typedef GrB_Info function(GrB_Vector, GrB_Vector, GrB_BinaryOp, GrB_Semiring, GrB_Vector, GrB_Matrix, GrB_Descriptor);
    function *real = (function *)(uintptr_t)of_suitesparse("GrB_vxm");
    GrB_Vector u, w, want;
    ok(GrB_Vector_new(&u, GrB_FP64, N));
    ok(GrB_Vector_new(&w, GrB_FP64, N));
    ok(GrB_Vector_new(&want, GrB_FP64, N));
    for (int k = 0; k < entries; k++) ok(GrB_Vector_setElement_FP64(u, (double)draw(9) + 1, draw(N)));
    ok(GrB_Vector_wait(u, GrB_MATERIALIZE));
    ok(GrB_vxm(w, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, u, A, NULL));
    ok(real(want, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, u, A, NULL));
    expect_same((GrB_Matrix)want, (GrB_Matrix)w);
    ok(GrB_Vector_free(&u));
    ok(GrB_Vector_free(&w));
    ok(GrB_Vector_free(&want));
}

static int left(void) { return traced("\"reason\":\"first calls\""); }
static int computed(void) { return traced("\"route\":\"cpu:push\""); }

/* Small ones, until there were enough of them. */
static void test_first(void **state)
{
    (void)state;
    for (int k = 0; k < 5; k++) push(1);
    assert_int_equal(left(), 5);
    assert_int_equal(computed(), 0);
    for (int k = 0; k < 20; k++) push(200);
    const int all = left();
    assert_in_range(all, 6, 24);
    assert_int_equal(computed(), 25 - all);
    push(1);
    assert_int_equal(left(), all);
}

static int start(void **state)
{
    (void)state;
    setenv("TEST_MODE", "auto", 1);
    force_tessera();
    setenv("TESSERA_MIN_WORK", "auto", 1);
    ok(GrB_init(GrB_NONBLOCKING));
    ok(GrB_Matrix_new(&A, GrB_FP64, N, N));
    for (GrB_Index i = 0; i < N; i++)
        for (GrB_Index k = 0; k < DEGREE; k++) ok(GrB_Matrix_setElement_FP64(A, (double)draw(9) + 1, i, draw(N)));
    ok(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    return 0;
}

static int stop(void **state)
{
    ok(GrB_Matrix_free(&A));
    return stop_session(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_first)};
    return cmocka_run_group_tests(tests, start, stop);
}
