/* Operators of the program's own functions: the same entries as SuiteSparse selects and sums up, and who has called the function.
 * SPDX-License-Identifier: Apache-2.0 */
#include "same.h"

enum { ROWS = 60, COLUMNS = 90 };

static uint64_t calls; /* of the functions below; in tests of one thread */

static void by_place_and_value(void *z, const void *x, GrB_Index i, GrB_Index j, const void *y)
{
    calls++;
    *(bool *)z = *(const double *)x > 1000 && (2 * i + j + (GrB_Index)*(const int32_t *)y) % 3 != 0;
}

static void by_thunk(void *z, const void *x, GrB_Index i, GrB_Index j, const void *y)
{
    (void)i, (void)j;
    *(bool *)z = *(const double *)x < *(const double *)y;
}

static void gives_int8(void *z, const void *x, GrB_Index i, GrB_Index j, const void *y)
{
    (void)y;
    *(int8_t *)z = (int8_t)(*(const double *)x > 2000) + (int8_t)(i < j);
}

static void of_int64(void *z, const void *x, GrB_Index i, GrB_Index j, const void *y)
{
    *(bool *)z = *(const int64_t *)x + (int64_t)i > (int64_t)j + *(const int64_t *)y;
}

static GrB_Matrix make(int32_t format, int32_t sparsity, bool iso)
{
    GrB_Matrix A;
    ok(GrB_Matrix_new(&A, GrB_FP64, ROWS, COLUMNS));
    ok(GxB_Matrix_Option_set(A, GxB_FORMAT, format));
    ok(GxB_Matrix_Option_set(A, GxB_SPARSITY_CONTROL, sparsity));
    for (GrB_Index i = 0; i < ROWS; i++)
        for (GrB_Index j = 0; j < COLUMNS; j++) {
            if (i % 11 != 5 && j % 13 != 7 && draw(10) < 8)
                ok(GrB_Matrix_setElement_FP64(A, iso ? 3000 : (double)(i * COLUMNS + j), i, j));
        }
    ok(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    return A;
}

typedef GrB_Info select_function(GrB_Matrix, GrB_Matrix, GrB_BinaryOp, GrB_IndexUnaryOp, GrB_Matrix, int32_t, GrB_Descriptor);

static select_function *of_real(void)
{
    return (select_function *)(uintptr_t)of_suitesparse("GrB_Matrix_select_INT32");
}

static int selected_here(void)
{
    return traced("\"route\":\"cpu:select");
}

/* The thunk is cast from INT32 to what the function takes.  True: computed here. */
static bool check(GrB_IndexUnaryOp op, GrB_Matrix A, int32_t thunk)
{
    GrB_Matrix want, got;
    const int before = selected_here();
    ok(GrB_Matrix_new(&want, GrB_FP64, ROWS, COLUMNS));
    ok(GrB_Matrix_new(&got, GrB_FP64, ROWS, COLUMNS));
    ok(of_real()(want, NULL, NULL, op, A, thunk, NULL));
    ok(GrB_Matrix_select_INT32(got, NULL, NULL, op, A, thunk, NULL));
    expect_same(want, got);
    ok(GrB_Matrix_free(&want));
    ok(GrB_Matrix_free(&got));
    return selected_here() > before;
}

static GrB_IndexUnaryOp made_of(GxB_index_unary_function function, GrB_Type z, GrB_Type x, GrB_Type y)
{
    GrB_IndexUnaryOp op;
    ok((GrB_IndexUnaryOp_new)(&op, function, z, x, y));
    return op;
}

static void test_forms(void **state)
{
    static const int32_t sparsities[] = {GxB_SPARSE, GxB_HYPERSPARSE, GxB_BITMAP};
    (void)state;
    GrB_IndexUnaryOp first = made_of(by_place_and_value, GrB_BOOL, GrB_FP64, GrB_INT32), second = made_of(by_thunk, GrB_BOOL, GrB_FP64, GrB_FP64);
    for (int k = 0; k < 12; k++) {
        GrB_Matrix A = make(k & 1 ? GxB_BY_COL : GxB_BY_ROW, sparsities[k >> 2], k >> 1 & 1);
        const bool sparse = sparsities[k >> 2] != GxB_BITMAP;
        assert_int_equal(check(first, A, 7), sparse);
        for (int32_t thunk = -1; thunk <= 5401; thunk += 2701)
            assert_int_equal(check(second, A, thunk), sparse);
        ok(GrB_Matrix_free(&A));
    }
    ok(GrB_IndexUnaryOp_free(&first));
    ok(GrB_IndexUnaryOp_free(&second));
}

/* C is A, and the function is called once for each entry. */
static void test_in_place(void **state)
{
    (void)state;
    GrB_IndexUnaryOp op = made_of(by_place_and_value, GrB_BOOL, GrB_FP64, GrB_INT32);
    GrB_Matrix A = make(GxB_BY_ROW, GxB_SPARSE, false), want;
    GrB_Index entries;
    ok(GrB_Matrix_nvals(&entries, A));
    ok(GrB_Matrix_new(&want, GrB_FP64, ROWS, COLUMNS));
    ok(GxB_Matrix_Option_set(want, GxB_SPARSITY_CONTROL, GxB_SPARSE));
    ok(of_real()(want, NULL, NULL, op, A, -4, NULL));
    int threads;
    ok(GxB_Global_Option_get(GxB_NTHREADS, &threads));
    ok(GxB_Global_Option_set(GxB_NTHREADS, 1));
    calls = 0;
    ok(GrB_Matrix_select_INT32(A, NULL, NULL, op, A, -4, NULL));
    ok(GxB_Global_Option_set(GxB_NTHREADS, threads));
    assert_int_equal(calls, entries);
    expect_same(want, A);
    ok(GrB_Matrix_free(&A));
    ok(GrB_Matrix_free(&want));
    ok(GrB_IndexUnaryOp_free(&op));
}

static void test_vectors(void **state)
{
    (void)state;
    typedef GrB_Info function(GrB_Vector, GrB_Vector, GrB_BinaryOp, GrB_IndexUnaryOp, GrB_Vector, int32_t, GrB_Descriptor);
    function *real = (function *)(uintptr_t)of_suitesparse("GrB_Vector_select_INT32");
    GrB_IndexUnaryOp op = made_of(by_place_and_value, GrB_BOOL, GrB_FP64, GrB_INT32);
    GrB_Vector u, want, got;
    ok(GrB_Vector_new(&u, GrB_FP64, 90000));
    ok(GrB_Vector_new(&want, GrB_FP64, 90000));
    ok(GrB_Vector_new(&got, GrB_FP64, 90000));
    for (GrB_Index k = 0; k < 3000; k++)
        ok(GrB_Vector_setElement_FP64(u, (double)draw(4000), 30 * k + draw(30)));
    const int before = selected_here();
    ok(real(want, NULL, NULL, op, u, 1, NULL));
    ok(GrB_Vector_select_INT32(got, NULL, NULL, op, u, 1, NULL));
    assert_int_equal(selected_here(), before + 1);
    expect_same((GrB_Matrix)want, (GrB_Matrix)got);
    ok(GrB_Vector_free(&u));
    ok(GrB_Vector_free(&want));
    ok(GrB_Vector_free(&got));
    ok(GrB_IndexUnaryOp_free(&op));
}

/* Values are cast; answers of other types SuiteSparse casts. */
static void test_casts(void **state)
{
    (void)state;
    GrB_IndexUnaryOp number = made_of(gives_int8, GrB_INT8, GrB_FP64, GrB_INT32), of_integers = made_of(of_int64, GrB_BOOL, GrB_INT64, GrB_INT64);
    GrB_Matrix A = make(GxB_BY_ROW, GxB_SPARSE, false);
    assert_false(check(number, A, 0));
    assert_true(check(of_integers, A, 100));
    ok(GrB_Matrix_free(&A));
    ok(GrB_IndexUnaryOp_free(&number));
    ok(GrB_IndexUnaryOp_free(&of_integers));
}

/* Without and with a value in the scalar. */
static void test_scalar(void **state)
{
    (void)state;
    GrB_IndexUnaryOp op = made_of(by_thunk, GrB_BOOL, GrB_FP64, GrB_FP64);
    GrB_Matrix A = make(GxB_BY_COL, GxB_SPARSE, false), C;
    GrB_Scalar y;
    ok(GrB_Matrix_new(&C, GrB_FP64, ROWS, COLUMNS));
    ok(GrB_Scalar_new(&y, GrB_INT16));
    assert_int_equal(GrB_Matrix_select_Scalar(C, NULL, NULL, op, A, y, NULL), GrB_EMPTY_OBJECT);
    ok(GrB_Scalar_setElement_INT16(y, 4));
    ok(GrB_Matrix_select_Scalar(C, NULL, NULL, op, A, y, NULL));
    GrB_Index entries;
    ok(GrB_Matrix_nvals(&entries, C));
    assert_true(entries > 0 && entries <= 4);
    ok(GrB_Scalar_free(&y));
    ok(GrB_Matrix_free(&A));
    ok(GrB_Matrix_free(&C));
    ok(GrB_IndexUnaryOp_free(&op));
}

/* Operators take the addresses of those that were freed; of more than are remembered the first go to SuiteSparse. */
static void test_many(void **state)
{
    enum { MANY = 100 };
    (void)state;
    GrB_IndexUnaryOp ops[MANY];
    GrB_Matrix A = make(GxB_BY_ROW, GxB_SPARSE, false);
    for (int k = 0; k < MANY; k++) {
        GrB_IndexUnaryOp gone = made_of(by_thunk, GrB_BOOL, GrB_FP64, GrB_FP64);
        ok(GrB_IndexUnaryOp_free(&gone));
        ops[k] = k % 2 ? made_of(by_place_and_value, GrB_BOOL, GrB_FP64, GrB_INT32) : made_of(gives_int8, GrB_INT8, GrB_FP64, GrB_INT32);
    }
    for (int k = 0; k < MANY; k++) {
        const bool here = check(ops[k], A, k);
        assert_true(k % 2 ? k < MANY - 64 || here : !here);
        ok(GrB_IndexUnaryOp_free(&ops[k]));
    }
    ok(GrB_Matrix_free(&A));
}

/* ---- products ---- */

enum { N = 300 };

static void multiply(void *z, const void *x, const void *y)
{
    *(double *)z = 3 * *(const double *)x - *(const double *)y;
}

static void to_int32(void *z, const void *x, const void *y)
{
    *(int32_t *)z = (int32_t)(*(const double *)x - 2 * *(const double *)y);
}

/* Every third row has no entries. */
static GrB_Matrix make_square(int32_t format)
{
    GrB_Matrix A;
    ok(GrB_Matrix_new(&A, GrB_FP64, N, N));
    ok(GxB_Matrix_Option_set(A, GxB_FORMAT, format));
    for (GrB_Index k = 0; k < 5000; k++)
        ok(GrB_Matrix_setElement_FP64(A, (double)draw(9), draw(N / 3) * 3, draw(N / 3) * 3 + 1));
    ok(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    return A;
}

static GrB_Vector make_full(GrB_Index count)
{
    GrB_Vector u;
    ok(GrB_Vector_new(&u, GrB_FP64, N));
    for (GrB_Index k = 0; k < count; k++)
        ok(GrB_Vector_setElement_FP64(u, (double)draw(9), k));
    ok(GrB_Vector_wait(u, GrB_MATERIALIZE));
    return u;
}

static int multiplied_here(void)
{
    return traced("\"route\":\"cpu:spmv-function");
}

typedef struct product {
    GrB_Type type; /* of w */
    GrB_Vector mask;
    GrB_BinaryOp accum;
    GrB_Semiring semiring;
    GrB_Matrix A;
    GrB_Vector u;
    GrB_Descriptor desc;
    bool vxm, fresh; /* fresh: w is empty */
} product;

typedef GrB_Info mxv_function(GrB_Vector, GrB_Vector, GrB_BinaryOp, GrB_Semiring, GrB_Matrix, GrB_Vector, GrB_Descriptor);
typedef GrB_Info vxm_function(GrB_Vector, GrB_Vector, GrB_BinaryOp, GrB_Semiring, GrB_Vector, GrB_Matrix, GrB_Descriptor);

static void run_product(const product *p, GrB_Vector w, mxv_function *mxv, vxm_function *vxm)
{
    if (p->vxm)
        ok(vxm(w, p->mask, p->accum, p->semiring, p->u, p->A, p->desc));
    else
        ok(mxv(w, p->mask, p->accum, p->semiring, p->A, p->u, p->desc));
}

/* True: computed here. */
static bool check_product(const product *p)
{
    GrB_Vector want, got;
    const int before = multiplied_here();
    ok(GrB_Vector_new(&want, p->type, N));
    for (GrB_Index k = 0; !p->fresh && k < N; k++)
        ok(GrB_Vector_setElement_FP64(want, (double)draw(50), k));
    ok(GrB_Vector_dup(&got, want));
    run_product(p, want, (mxv_function *)(uintptr_t)of_suitesparse("GrB_mxv"), (vxm_function *)(uintptr_t)of_suitesparse("GrB_vxm"));
    run_product(p, got, GrB_mxv, GrB_vxm);
    expect_same((GrB_Matrix)want, (GrB_Matrix)got);
    ok(GrB_Vector_free(&want));
    ok(GrB_Vector_free(&got));
    return multiplied_here() > before;
}

/* Rows are summed up where they lie; the other way round it is SuiteSparse's. */
static void test_products(void **state)
{
    (void)state;
    GrB_BinaryOp op;
    GrB_Semiring semirings[2];
    ok((GrB_BinaryOp_new)(&op, multiply, GrB_FP64, GrB_FP64, GrB_FP64));
    ok(GrB_Semiring_new(&semirings[0], GrB_MIN_MONOID_FP64, op));
    ok(GrB_Semiring_new(&semirings[1], GrB_PLUS_MONOID_FP64, op));
    GrB_Vector u = make_full(N);
    for (int k = 0; k < 64; k++) {
        GrB_Matrix A = make_square(k & 1 ? GxB_BY_COL : GxB_BY_ROW);
        const product p = {.type = k & 16 ? GrB_FP32 : GrB_FP64, .semiring = semirings[k >> 2 & 1], .A = A, .u = u, .vxm = k & 2,
                           .accum = k & 8 ? GrB_MIN_FP64 : NULL, .fresh = k & 32};
        assert_int_equal(check_product(&p), (k & 1) == (k >> 1 & 1));
        product turned = p;
        turned.desc = k & 2 ? GrB_DESC_T1 : GrB_DESC_T0;
        assert_int_equal(check_product(&turned), (k & 1) != (k >> 1 & 1));
        ok(GrB_Matrix_free(&A));
    }
    ok(GrB_Vector_free(&u));
    for (int k = 0; k < 2; k++)
        ok(GrB_Semiring_free(&semirings[k]));
    ok(GrB_BinaryOp_free(&op));
}

/* Products of another type than the operands'; vectors and masks that are not taken. */
static void test_other_products(void **state)
{
    (void)state;
    GrB_BinaryOp op;
    GrB_Semiring semiring;
    ok((GrB_BinaryOp_new)(&op, to_int32, GrB_INT32, GrB_FP64, GrB_FP64));
    ok(GrB_Semiring_new(&semiring, GrB_MAX_MONOID_INT32, op));
    GrB_Matrix A = make_square(GxB_BY_ROW);
    GrB_Vector u = make_full(N), partial = make_full(N / 2);
    product p = {.type = GrB_INT32, .semiring = semiring, .A = A, .u = u};
    assert_true(check_product(&p));
    p.u = partial;
    assert_false(check_product(&p));
    p.u = u;
    p.mask = partial;
    assert_false(check_product(&p));
    p.mask = NULL;
    ok(GrB_Vector_assign_FP64(u, NULL, NULL, 2, GrB_ALL, N, NULL));
    assert_true(check_product(&p));
    ok(GrB_Matrix_apply_BinaryOp2nd_FP64(A, NULL, NULL, GrB_SECOND_FP64, A, 4, NULL));
    assert_false(check_product(&p)); /* one value times one */
    ok(GrB_Vector_free(&u));
    ok(GrB_Vector_free(&partial));
    ok(GrB_Matrix_free(&A));
    ok(GrB_Semiring_free(&semiring));
    ok(GrB_BinaryOp_free(&op));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_products), cmocka_unit_test(test_other_products),
                                       cmocka_unit_test(test_forms),   cmocka_unit_test(test_in_place), cmocka_unit_test(test_vectors),
                                       cmocka_unit_test(test_casts),   cmocka_unit_test(test_scalar),   cmocka_unit_test(test_many)};
    return cmocka_run_group_tests(tests, start_session, stop_session);
}
