/* Results into vectors whose array is the program's (GxB_IS_READONLY, from GraphBLAS 10 on): refused by SuiteSparse, and so by Tessera, which would
 * write some of them in place.
 * SPDX-License-Identifier: Apache-2.0 */
#include <GraphBLAS.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "routed.h"

enum { N = 20000, FEW = 600 };

static double array[N];

static void ok(GrB_Info info)
{
    assert_int_equal(info, GrB_SUCCESS);
}

static GrB_Vector borrowed(void)
{
    GrB_Vector v = NULL;
    void *x = array;
    ok(GrB_Vector_new(&v, GrB_FP64, N));
    ok(GxB_Vector_load(v, &x, GrB_FP64, N, sizeof array, GxB_IS_READONLY, NULL));
    return v;
}

static GrB_Vector full(void)
{
    GrB_Vector v = NULL;
    ok(GrB_Vector_new(&v, GrB_FP64, N));
    ok(GrB_Vector_assign_FP64(v, NULL, NULL, 1, GrB_ALL, N, NULL));
    for (GrB_Index k = 0; k < N; k += 3) ok(GrB_Vector_setElement_FP64(v, (double)(k % 4), k));
    ok(GrB_Vector_wait(v, GrB_MATERIALIZE));
    return v;
}

static GrB_Vector few(void)
{
    GrB_Vector v = NULL;
    ok(GrB_Vector_new(&v, GrB_FP64, N));
    for (GrB_Index k = 0; k < FEW; k++) ok(GrB_Vector_setElement_FP64(v, 1, k * 31));
    ok(GrB_Vector_wait(v, GrB_MATERIALIZE));
    return v;
}

static GrB_Info call(int which, GrB_Vector w, GrB_Vector u, GrB_Vector s, GrB_Matrix A, const GrB_Index *places)
{
    switch (which) {
    case 0: return GrB_Vector_eWiseAdd_BinaryOp(w, NULL, GrB_PLUS_FP64, GrB_MAX_FP64, u, w, NULL);
    case 1: return GrB_Vector_eWiseAdd_BinaryOp(w, NULL, GrB_PLUS_FP64, GrB_TIMES_FP64, u, u, NULL);
    case 2: return GrB_Vector_eWiseMult_BinaryOp(w, NULL, NULL, GrB_MIN_FP64, u, w, NULL);
    case 3: return GrB_Vector_assign(w, NULL, NULL, u, places, N, NULL);
    case 4: return GrB_Vector_extract(w, NULL, NULL, u, places, N, NULL);
    case 5: return GrB_Vector_apply_BinaryOp2nd_FP64(w, NULL, GrB_PLUS_FP64, GrB_TIMES_FP64, s, 2, NULL);
    case 6: return GrB_mxv(w, NULL, GrB_PLUS_FP64, GrB_PLUS_TIMES_SEMIRING_FP64, A, u, NULL);
    default: return GrB_vxm(w, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, s, A, NULL);
    }
}

static void test_nothing_is_written(void **state)
{
    (void)state;
    enum { CALLS = 8 };
    GrB_Vector u = full(), s = few();
    GrB_Matrix A = NULL;
    GrB_Index *places = malloc(N * sizeof *places);
    ok(GrB_Matrix_new(&A, GrB_FP64, N, N));
    for (GrB_Index k = 0; k < N; k++) {
        array[k] = (double)(k % 5);
        places[k] = (k * 7) % N;
        ok(GrB_Matrix_setElement_FP64(A, 2, k, (k * 13) % N));
    }
    ok(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    for (int which = 0; which < CALLS; which++) {
        GrB_Vector w = borrowed();
        assert_int_equal(call(which, w, u, s, A, places), GxB_OUTPUT_IS_READONLY);
        for (GrB_Index k = 0; k < N; k++) assert_true(array[k] == (double)(k % 5));
        ok(GrB_Vector_free(&w));
    }
    free(places);
    ok(GrB_Vector_free(&u));
    ok(GrB_Vector_free(&s));
    ok(GrB_Matrix_free(&A));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nothing_is_written)};
    return cmocka_run_group_tests(tests, start_session, stop_session);
}
