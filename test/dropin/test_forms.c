/* In which form a call leaves C, where SuiteSparse's settings leave no choice.
 * SPDX-License-Identifier: Apache-2.0 */
#include "same.h"

enum { N = 100 };

typedef GrB_Info times(GrB_Vector, const GrB_Vector, const GrB_BinaryOp, const GrB_Semiring, const GrB_Matrix, const GrB_Vector, const GrB_Descriptor);

/* It has every entry, and is packed as a bitmap nevertheless. */
static GrB_Vector bitmap_of_all(void)
{
    GrB_Vector v;
    int8_t *b = malloc(N);
    double *x = malloc(N * sizeof *x);
    for (int i = 0; i < N; i++) {
        b[i] = 1;
        x[i] = i % 7;
    }
    ok(GrB_Vector_new(&v, GrB_FP64, N));
    ok(GxB_Vector_pack_Bitmap(v, &b, (void **)&x, N, N * sizeof *x, false, N, NULL));
    return v;
}

static GrB_Matrix ring(bool backwards)
{
    GrB_Matrix A;
    ok(GrB_Matrix_new(&A, GrB_FP64, N, N));
    ok(GxB_Matrix_Option_set(A, GxB_FORMAT, backwards ? GxB_BY_COL : GxB_BY_ROW));
    for (GrB_Index i = 0; i < N; i++) {
        ok(GrB_Matrix_setElement_FP64(A, 1, i, (i + 1) % N));
        ok(GrB_Matrix_setElement_FP64(A, 2, i, (i + 7) % N));
    }
    ok(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    return A;
}

/* w += A u into w's own array. */
static GrB_Vector sum(times *mxv, GrB_Matrix A, GrB_Vector u, int control)
{
    GrB_Vector w = bitmap_of_all();
    if (control)
        ok(GxB_Vector_Option_set(w, GxB_SPARSITY_CONTROL, control));
    ok(mxv(w, NULL, GrB_PLUS_FP64, GrB_PLUS_TIMES_SEMIRING_FP64, A, u, NULL));
    return w;
}

static void test_sums_into_a_bitmap_of_all(void **state)
{
    static const int controls[] = {0, GxB_BITMAP, GxB_BITMAP | GxB_SPARSE, GxB_BITMAP | GxB_FULL};
    times *const real = (times *)(uintptr_t)of_suitesparse("GrB_mxv");
    (void)state;
    for (int k = 0; k < 8; k++) {
        GrB_Matrix A = ring(k & 1);
        GrB_Vector u;
        ok(GrB_Vector_new(&u, GrB_FP64, N));
        for (GrB_Index i = 0; i < N; i++) ok(GrB_Vector_setElement_FP64(u, 3, i));
        ok(GrB_Vector_wait(u, GrB_MATERIALIZE));
        GrB_Vector want = sum(real, A, u, controls[k >> 1]), got = sum(GrB_mxv, A, u, controls[k >> 1]);
        expect_same((GrB_Matrix)want, (GrB_Matrix)got);
        ok(GrB_Matrix_free(&A));
        GrB_Vector *const all[] = {&u, &want, &got};
        for (int m = 0; m < 3; m++) ok(GrB_Vector_free(all[m]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums_into_a_bitmap_of_all)};
    return cmocka_run_group_tests(tests, start_session, stop_session);
}
