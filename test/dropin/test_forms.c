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

/* A path of many vertices on which every STEP-th and its two successors are a triangle; symmetric. */
static GrB_Matrix path(GrB_Index vertices, GrB_Index step)
{
    GrB_Matrix A;
    ok(GrB_Matrix_new(&A, GrB_BOOL, vertices, vertices));
    for (GrB_Index i = 0; i + 2 < vertices; i++) {
        const GrB_Index ends[] = {i + 1, i + 2};
        for (int k = 0; k < (step && i % step == 0 ? 2 : 1); k++) {
            ok(GrB_Matrix_setElement_BOOL(A, true, i, ends[k]));
            ok(GrB_Matrix_setElement_BOOL(A, true, ends[k], i));
        }
    }
    ok(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    return A;
}

typedef GrB_Info product(GrB_Matrix, const GrB_Matrix, const GrB_BinaryOp, const GrB_Semiring, const GrB_Matrix, const GrB_Matrix, const GrB_Descriptor);

/* C<A> = A A' */
static GrB_Matrix support(product *mxm, GrB_Matrix A, GrB_Index n, int control, double hyper)
{
    GrB_Matrix C;
    ok(GrB_Matrix_new(&C, GrB_FP64, n, n));
    ok(GxB_Matrix_Option_set(C, GxB_SPARSITY_CONTROL, control));
    ok(GxB_Matrix_Option_set(C, GxB_HYPER_SWITCH, hyper));
    ok(mxm(C, A, NULL, GxB_PLUS_PAIR_FP64, A, A, GrB_DESC_ST1));
    return C;
}

/* Vectors are listed where few have entries: none, one in hundreds, one in tens; and the result is held as ever. */
static void test_masked_products_of_few_entries(void **state)
{
    enum { VERTICES = 4100 };
    static const GrB_Index steps[] = {0, 205, 40};
    static const int controls[] = {GxB_AUTO_SPARSITY, GxB_SPARSE, GxB_HYPERSPARSE};
    static const double switches[] = {.0625, .01, 0};
    product *const real = (product *)(uintptr_t)of_suitesparse("GrB_mxm");
    (void)state;
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        GrB_Matrix A = path(VERTICES, steps[k]);
        for (int c = 0; c < 3; c++)
            for (int h = 0; h < 3; h++) {
                GrB_Matrix want = support(real, A, VERTICES, controls[c], switches[h]), got = support(GrB_mxm, A, VERTICES, controls[c], switches[h]);
                expect_same(want, got);
                ok(GrB_Matrix_free(&want));
                ok(GrB_Matrix_free(&got));
            }
        ok(GrB_Matrix_free(&A));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums_into_a_bitmap_of_all), cmocka_unit_test(test_masked_products_of_few_entries)};
    return cmocka_run_group_tests(tests, start_session, stop_session);
}
