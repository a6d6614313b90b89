/* Products of few sparse rows into new matrices, which are hypersparse, and their structures: pushed, and held as SuiteSparse holds them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "same.h"

enum { VERTICES = 3000, DEGREE = 6 };

typedef GrB_Info product_function(GrB_Matrix, const GrB_Matrix, const GrB_BinaryOp, const GrB_Semiring, const GrB_Matrix, const GrB_Matrix,
                                  const GrB_Descriptor);

static GrB_Matrix sparse(GrB_Index nrows, int type)
{
    GrB_Matrix A;
    ok(GrB_Matrix_new(&A, type ? GrB_FP64 : GrB_BOOL, nrows, VERTICES));
    ok(GxB_Matrix_Option_set(A, GxB_SPARSITY_CONTROL, GxB_SPARSE));
    return A;
}

/* The first `used` rows have entries. */
static GrB_Matrix rows(GrB_Index nrows, GrB_Index used, uint64_t one_in, int type)
{
    GrB_Matrix A = sparse(nrows, type);
    for (GrB_Index i = 0; i < used; i++)
        for (GrB_Index j = 0; j < VERTICES; j++)
            if (draw(one_in) == 0)
                ok(GrB_Matrix_setElement_FP64(A, (double)(1 + draw(9)), i, j));
    ok(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    return A;
}

static GrB_Matrix graph(void)
{
    GrB_Matrix A = sparse(VERTICES, 1);
    for (GrB_Index i = 0; i < VERTICES; i++)
        for (int e = 0; e < DEGREE; e++)
            ok(GrB_Matrix_setElement_FP64(A, 1, i, draw(VERTICES)));
    ok(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    return A;
}

static GrB_Matrix product(product_function *mxm, GrB_Matrix M, GrB_Matrix W, GrB_Matrix A, GrB_Index nrows, double hyper_switch, GrB_Descriptor how)
{
    GrB_Matrix C;
    ok(GrB_Matrix_new(&C, GrB_FP64, nrows, VERTICES));
    if (hyper_switch >= 0)
        ok(GxB_Matrix_Option_set(C, GxB_HYPER_SWITCH, hyper_switch));
    ok(mxm(C, M, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, W, A, how));
    return C;
}

static void test_new_results(void **state)
{
    static const struct {
        GrB_Index nrows, used;
        double hyper_switch; /* < 0: as it is */
    } cases[] = {{4, 4, -1}, {4, 1, -1}, {40, 40, -1}, {40, 2, -1}, {40, 4, -1}, {8, 3, 0.5}, {8, 8, 0}};
    (void)state;
    product_function *real = (product_function *)(uintptr_t)of_suitesparse("GrB_mxm");
    GrB_Matrix A = graph();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int how = 0; how < 4; how++) {
            const GrB_Index n = cases[k].nrows;
            const GrB_Descriptor descriptors[] = {GrB_DESC_S, GrB_DESC_RS, GrB_DESC_RSC, GrB_DESC_R};
            GrB_Matrix W = rows(n, cases[k].used, 40, 1), M = rows(n, n, 10, how == 3);
            GrB_Matrix want = product(real, M, W, A, n, cases[k].hyper_switch, descriptors[how]);
            const int before = traced("\"route\":\"cpu:push");
            GrB_Matrix got = product(GrB_mxm, M, W, A, n, cases[k].hyper_switch, descriptors[how]);
            assert_int_equal(traced("\"route\":\"cpu:push"), before + 1);
            expect_same(want, got);
            GrB_Matrix *const all[] = {&W, &M, &want, &got};
            for (int m = 0; m < 4; m++)
                ok(GrB_Matrix_free(all[m]));
        }
    ok(GrB_Matrix_free(&A));
}

/* ---- structures of a pushed result ---- */

enum { STRUCTURES = 1000, ROWS = 4 };

typedef GrB_Info assign_function(GrB_Matrix, const GrB_Matrix, const GrB_BinaryOp, bool, const GrB_Index *, GrB_Index, const GrB_Index *, GrB_Index,
                                 const GrB_Descriptor);

static GrB_Matrix structure(assign_function *assign, GrB_Matrix M, bool hyper)
{
    GrB_Matrix S;
    ok(GrB_Matrix_new(&S, GrB_BOOL, ROWS, VERTICES));
    if (!hyper)
        ok(GxB_Matrix_Option_set(S, GxB_SPARSITY_CONTROL, GxB_SPARSE));
    ok(assign(S, M, NULL, true, GrB_ALL, ROWS, GrB_ALL, VERTICES, GrB_DESC_S));
    return S;
}

/* Into a hypersparse one that is not new: its only entry was deleted, which SuiteSparse has not noticed yet. */
static GrB_Matrix structure_of_emptied(assign_function *assign, GrB_Matrix M)
{
    GrB_Matrix S;
    ok(GrB_Matrix_new(&S, GrB_BOOL, ROWS, VERTICES));
    ok(GxB_Matrix_Option_set(S, GxB_SPARSITY_CONTROL, GxB_HYPERSPARSE));
    ok(GrB_Matrix_setElement_BOOL(S, false, 2, 7));
    ok(GrB_Matrix_wait(S, GrB_MATERIALIZE));
    ok(GrB_Matrix_removeElement(S, 2, 7));
    ok(assign(S, M, NULL, true, GrB_ALL, ROWS, GrB_ALL, VERTICES, GrB_DESC_S));
    return S;
}

static bool is_jumbled(GrB_Matrix A)
{
    GrB_Index *p, *i, p_bytes, i_bytes, x_bytes;
    void *x;
    bool iso, jumbled;
    ok(GxB_Matrix_unpack_CSR(A, &p, &i, &x, &p_bytes, &i_bytes, &x_bytes, &iso, &jumbled, NULL));
    ok(GxB_Matrix_pack_CSR(A, &p, &i, &x, p_bytes, i_bytes, x_bytes, iso, jumbled, NULL));
    return jumbled;
}

/* Entries in any order stay so, in a new matrix as well, and as the mask of a product when a thousand others were made since. */
static void test_structures(void **state)
{
    (void)state;
    assign_function *real = (assign_function *)(uintptr_t)of_suitesparse("GrB_Matrix_assign_BOOL");
    product_function *real_mxm = (product_function *)(uintptr_t)of_suitesparse("GrB_mxm");
    GrB_Matrix A = graph(), W = rows(ROWS, ROWS, 300, 1), S[STRUCTURES];
    GrB_Matrix F = product(GrB_mxm, NULL, W, A, ROWS, -1, NULL);
    const int before = traced("\"route\":\"cpu:few");
    for (int k = 0; k < STRUCTURES; k++)
        S[k] = structure(GrB_Matrix_assign_BOOL, F, k % 2);
    assert_int_equal(traced("\"route\":\"cpu:few"), before + STRUCTURES);
    GrB_Matrix got = product(GrB_mxm, S[0], W, A, ROWS, -1, GrB_DESC_RS), want = product(real_mxm, S[1], W, A, ROWS, -1, GrB_DESC_RS);
    assert_true(is_jumbled(S[0]));
    expect_same(want, got);
    GrB_Matrix plain = structure(real, F, true);
    expect_same(plain, S[3]);
    GrB_Matrix emptied = structure_of_emptied(GrB_Matrix_assign_BOOL, F), as_plain = structure_of_emptied(real, F);
    expect_same(as_plain, emptied);
    for (int k = 0; k < STRUCTURES; k++)
        ok(GrB_Matrix_free(&S[k]));
    GrB_Matrix *const all[] = {&A, &W, &F, &got, &want, &plain, &emptied, &as_plain};
    for (int m = 0; m < 8; m++)
        ok(GrB_Matrix_free(all[m]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_new_results), cmocka_unit_test(test_structures)};
    return cmocka_run_group_tests(tests, start_session, stop_session);
}
