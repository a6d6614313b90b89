/* One sparse vector times a matrix that is held the other way round (mxv of one by row, vxm of one by column): results, forms and settings are those
 * of SuiteSparse alone, for random types, semirings, masks, accumulators, forms, lengths and contents of the result, and the product is ours.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "same.h"

enum { CASES = 500, TYPES = 4 };

typedef GrB_Info times(GrB_Vector, const GrB_Vector, const GrB_BinaryOp, const GrB_Semiring, const GrB_Matrix, const GrB_Vector, const GrB_Descriptor);
typedef GrB_Info times_left(GrB_Vector, const GrB_Vector, const GrB_BinaryOp, const GrB_Semiring, const GrB_Vector, const GrB_Matrix, const GrB_Descriptor);

static times *mxv;
static times_left *vxm;

static int start(void **state)
{
    const int failed = start_session(state);
    mxv = of_suitesparse("GrB_mxv");
    vxm = of_suitesparse("GrB_vxm");
    return failed;
}

static GrB_Index up_to(GrB_Index most)
{
    return draw(most) + 1;
}

/* Sums and products of these are exact in any order. */
static double number(bool one)
{
    return one ? 1 : (double)draw(5);
}

static GrB_Vector vector(GrB_Type type, GrB_Index length, GrB_Index entries)
{
    GrB_Vector v;
    const bool one = draw(3) == 0;
    ok(GrB_Vector_new(&v, type, length));
    for (GrB_Index e = 0; e < entries; e++)
        ok(GrB_Vector_setElement_FP64(v, number(one), draw(length)));
    if (one)
        ok(GrB_Vector_assign_FP64(v, v, NULL, 1, GrB_ALL, length, GrB_DESC_S));
    ok(GrB_Vector_wait(v, GrB_MATERIALIZE));
    return v;
}

static GrB_Matrix matrix(GrB_Type type, GrB_Index nrows, GrB_Index ncols, bool by_row)
{
    const GrB_Index entries = up_to(nrows * 12), few = draw(3) == 0 ? nrows / 20 + 1 : nrows; /* rows with entries */
    GrB_Index *i = malloc(entries * sizeof *i), *j = malloc(entries * sizeof *j);
    double *x = malloc(entries * sizeof *x);
    const bool one = draw(2);
    GrB_Matrix A;
    for (GrB_Index e = 0; e < entries; e++) {
        i[e] = draw(few);
        j[e] = draw(ncols);
        x[e] = number(one);
    }
    ok(GrB_Matrix_new(&A, type, nrows, ncols));
    ok(GxB_Matrix_Option_set(A, GxB_FORMAT, by_row ? GxB_BY_ROW : GxB_BY_COL));
    ok(GrB_Matrix_build_FP64(A, i, j, x, entries, GrB_FIRST_FP64));
    ok(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    free(i);
    free(j);
    free(x);
    return A;
}

/* Of the type with this number: of any only patterns, whose result depends on no choice. */
static GrB_Semiring semiring(unsigned type)
{
    const GrB_Semiring all[TYPES][5] = {
        {GrB_LOR_LAND_SEMIRING_BOOL, GxB_ANY_PAIR_BOOL, GxB_LXOR_FIRST_BOOL, GxB_LAND_SECOND_BOOL, GxB_EQ_LOR_BOOL},
        {GrB_PLUS_TIMES_SEMIRING_INT32, GxB_ANY_PAIR_INT32, GrB_MIN_FIRST_SEMIRING_INT32, GrB_MAX_PLUS_SEMIRING_INT32, GxB_PLUS_FIRSTI_INT32},
        {GrB_PLUS_TIMES_SEMIRING_FP32, GxB_ANY_PAIR_FP32, GrB_MIN_SECOND_SEMIRING_FP32, GxB_PLUS_MINUS_FP32, GrB_MAX_FIRST_SEMIRING_FP32},
        {GrB_PLUS_TIMES_SEMIRING_FP64, GxB_ANY_PAIR_FP64, GrB_MIN_PLUS_SEMIRING_FP64, GxB_PLUS_FIRST_FP64, GxB_TIMES_SECOND_FP64}};
    return all[type][draw(5)];
}

static GrB_Vector any_mask(GrB_Index length)
{
    const GrB_Type types[] = {GrB_BOOL, GrB_INT32, GrB_FP64};
    const unsigned kind = (unsigned)draw(4);
    return kind == 0 ? NULL : vector(types[draw(3)], length, kind == 1 ? up_to(length / 30) : kind == 2 ? length / 2 : 6 * length);
}

/* Of the type with this number or, cast to, another one; NULL: none. */
static GrB_BinaryOp any_accum(unsigned type)
{
    const GrB_BinaryOp all[TYPES][4] = {{GrB_LOR, GrB_LXOR, GrB_FIRST_BOOL, GrB_SECOND_BOOL},
                                        {GrB_PLUS_INT32, GrB_MIN_INT32, GrB_MINUS_INT32, GrB_PLUS_FP64},
                                        {GrB_PLUS_FP32, GrB_MAX_FP32, GrB_SECOND_FP32, GrB_PLUS_INT64},
                                        {GrB_PLUS_FP64, GrB_MIN_FP64, GrB_TIMES_FP64, GrB_FIRST_FP32}};
    return draw(2) ? NULL : all[type][draw(4)];
}

static GrB_Descriptor any_descriptor(bool masked, bool transposed, bool left)
{
    GrB_Descriptor d;
    ok(GrB_Descriptor_new(&d));
    if (draw(2))
        ok(GrB_Descriptor_set(d, GrB_OUTP, GrB_REPLACE));
    if (masked && draw(2))
        ok(GxB_Desc_set(d, GrB_MASK, GrB_STRUCTURE));
    if (masked && draw(2))
        ok(GxB_Desc_set(d, GrB_MASK, GrB_COMP));
    if (transposed)
        ok(GrB_Descriptor_set(d, left ? GrB_INP1 : GrB_INP0, GrB_TRAN));
    return d;
}

/* Without entries, or with few, many or all. */
static GrB_Vector result(GrB_Type type, GrB_Index length)
{
    GrB_Vector w;
    const unsigned kind = (unsigned)draw(5);
    if (kind < 2)
        ok(GrB_Vector_new(&w, type, length));
    else
        w = vector(type, length, kind == 2 ? up_to(length / 30) : length / 2);
    if (kind == 4)
        ok(GrB_Vector_assign_FP64(w, NULL, NULL, number(draw(2)), GrB_ALL, length, NULL));
    return w;
}

static void set(GrB_Vector w, unsigned settings)
{
    if (settings % 4 == 1)
        ok(GxB_Vector_Option_set(w, GxB_SPARSITY_CONTROL, settings & 8 ? GxB_SPARSE : GxB_BITMAP));
    if (settings % 4 == 2)
        ok(GxB_Vector_Option_set(w, GxB_BITMAP_SWITCH, (double)(settings % 100) / 100));
}

static bool is_sparse(GrB_Vector w)
{
    int32_t form;
    ok(GxB_Vector_Option_get(w, GxB_SPARSITY_STATUS, &form));
    return form == GxB_SPARSE;
}

/* A is held by row, and not transposed or the vector is on its left: its rows are what the vector meets. */
static void one_case(void)
{
    const GrB_Type types[TYPES] = {GrB_BOOL, GrB_INT32, GrB_FP32, GrB_FP64};
    const unsigned type = (unsigned)draw(TYPES), settings = (unsigned)draw(1000);
    const bool left = draw(2), transposed = draw(2), aliased = draw(8) == 0;
    const GrB_Index nrows = 600 + draw(2000), ncols = aliased ? nrows : 600 + draw(draw(4) ? 2000 : 12000);
    const bool over_rows = left == transposed; /* results have a place for each row of A */
    const GrB_Index outer = over_rows ? nrows : ncols, inner = over_rows ? ncols : nrows;
    GrB_Matrix A = matrix(types[type], nrows, ncols, over_rows);
    GrB_Vector u = vector(types[type], inner, draw(3) ? up_to(inner / 25) : up_to(1600)), m = any_mask(outer);
    ok(GxB_Vector_Option_set(u, GxB_SPARSITY_CONTROL, GxB_SPARSE));
    GrB_Vector want = result(types[type], outer), got;
    ok(GrB_Vector_dup(&got, want));
    set(want, settings);
    set(got, settings);
    const bool itself = aliased && is_sparse(want);
    const GrB_Vector u_of_want = itself ? want : u, u_of_got = itself ? got : u;
    const GrB_Semiring s = semiring(type);
    const GrB_BinaryOp accum = any_accum(type);
    GrB_Descriptor d = any_descriptor(m, transposed, left);
    ok(left ? vxm(want, m, accum, s, u_of_want, A, d) : mxv(want, m, accum, s, A, u_of_want, d));
    ok(left ? GrB_vxm(got, m, accum, s, u_of_got, A, d) : GrB_mxv(got, m, accum, s, A, u_of_got, d));
    expect_same((GrB_Matrix)want, (GrB_Matrix)got);
    ok(GrB_Matrix_free(&A));
    GrB_Vector *const all[] = {&u, &m, &want, &got};
    for (int k = 0; k < 4; k++)
        ok(GrB_Vector_free(all[k]));
    ok(GrB_Descriptor_free(&d));
}

static void random_products(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        state_of_draws = seed * 1000003;
        one_case();
    }
    assert_true(traced("cpu:pull_listed") > CASES / 3);
    assert_true(traced("pull accum") > CASES / 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_products)};
    return cmocka_run_group_tests(tests, start, stop_session);
}
