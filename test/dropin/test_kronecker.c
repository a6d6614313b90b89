/* Kronecker products: the same results as by SuiteSparse's own functions, and who computed them.  With TEST_MODE=gpu also on the device, one after
 * another.
 * SPDX-License-Identifier: Apache-2.0 */
#include <GraphBLAS.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "same.h"
#include "test/seed.h"

enum { CASES = 600, LARGEST = 12 };

static bool on_device(void)
{
    const char *mode = getenv("TEST_MODE");
    return mode && !strcmp(mode, "gpu");
}

/* What comes from the device is in lists of all vectors, where SuiteSparse may keep those that have entries. */
static void expect_alike(GrB_Matrix want, GrB_Matrix got)
{
    GrB_Matrix both[] = {want, got};
    for (int k = 0; k < 2 && on_device(); k++)
        ok(GxB_Matrix_Option_set(both[k], GxB_SPARSITY_CONTROL, GxB_SPARSE));
    expect_same(want, got);
}

/* ---- matrices ---- */

/* Operands must be SuiteSparse's, who are asked beside Tessera: what makes them of one value runs nowhere else. */
static GrB_Info (*set_all)(GrB_Matrix, GrB_Matrix, GrB_BinaryOp, GrB_BinaryOp, GrB_Matrix, double, GrB_Descriptor);
static GrB_Info (*assign_all)(GrB_Matrix, GrB_Matrix, GrB_BinaryOp, double, const GrB_Index *, GrB_Index, const GrB_Index *, GrB_Index, GrB_Descriptor);

static bool alike; /* all types are FP64 */

static GrB_Type draw_type(void)
{
    if (alike)
        return GrB_FP64;
    GrB_Type types[] = {GrB_FP64, GrB_FP64, GrB_FP32, GrB_INT64, GrB_INT32, GrB_UINT8, GrB_BOOL};
    return types[draw(sizeof types / sizeof *types)];
}

static int draw_control(void)
{
    const int controls[] = {GxB_AUTO_SPARSITY, GxB_AUTO_SPARSITY, GxB_SPARSE, GxB_HYPERSPARSE, GxB_SPARSE + GxB_HYPERSPARSE, GxB_BITMAP,
                            GxB_BITMAP + GxB_FULL};
    return controls[draw(sizeof controls / sizeof *controls)];
}

/* Some rows and columns without entries; now and then all places. */
static GrB_Matrix draw_matrix(GrB_Index nrows, GrB_Index ncols)
{
    GrB_Matrix out;
    const uint64_t percent = draw(6) ? 5 + draw(60) : 100;
    const bool iso = draw(3) == 0;
    ok(GrB_Matrix_new(&out, draw_type(), nrows, ncols));
    ok(GxB_Matrix_Option_set(out, GxB_FORMAT, draw(2) ? GxB_BY_COL : GxB_BY_ROW));
    ok(GxB_Matrix_Option_set(out, GxB_SPARSITY_CONTROL, draw_control()));
    if (iso && percent == 100)
        ok(assign_all(out, NULL, NULL, 3, GrB_ALL, nrows, GrB_ALL, ncols, NULL));
    for (GrB_Index k = 0; k < nrows * ncols && !(iso && percent == 100); k++)
        if (draw(100) < percent && (k / ncols + k % ncols) % 4)
            ok(GrB_Matrix_setElement_FP64(out, (double)draw(9) - 3, k / ncols, k % ncols));
    if (iso && percent < 100)
        ok(set_all(out, NULL, NULL, GrB_SECOND_FP64, out, 3, NULL));
    if (draw(4))
        ok(GrB_Matrix_wait(out, GrB_MATERIALIZE));
    return out;
}

/* ---- calls ---- */

typedef struct product {
    int form; /* BINARY … */
    GrB_BinaryOp op, accum;
    GrB_Monoid monoid;
    GrB_Semiring semiring;
    GrB_Matrix M, A, B; /* A or B NULL: C */
    GrB_Descriptor desc;
} product;

enum { BINARY, MONOID, SEMIRING, FORMS };

#define CALL(name, op)                                                         \
    do {                                                                       \
        if (!by_suitesparse)                                                   \
            return name(C, p->M, p->accum, op, A, B, p->desc);                 \
        __typeof__(&name) real;                                                \
        *(void **)&real = of_suitesparse(#name);                               \
        return real(C, p->M, p->accum, op, A, B, p->desc);                     \
    } while (0)

static GrB_Info call(const product *p, GrB_Matrix C, bool by_suitesparse)
{
    GrB_Matrix A = p->A ? p->A : C, B = p->B ? p->B : C;
    switch (p->form) {
    case MONOID: CALL(GrB_Matrix_kronecker_Monoid, p->monoid);
    case SEMIRING: CALL(GrB_Matrix_kronecker_Semiring, p->semiring);
    default: CALL(GrB_Matrix_kronecker_BinaryOp, p->op);
    }
}

static GrB_Descriptor draw_descriptor(bool masked)
{
    GrB_Descriptor turned[] = {NULL, NULL, GrB_DESC_T0, GrB_DESC_T1, GrB_DESC_T0T1, GrB_DESC_R, GrB_DESC_RT0};
    GrB_Descriptor with_mask[] = {NULL, GrB_DESC_S, GrB_DESC_C, GrB_DESC_RSC, GrB_DESC_RT1, GrB_DESC_ST0T1, GrB_DESC_RC};
    return masked ? with_mask[draw(7)] : turned[draw(7)];
}

static product draw_product(void)
{
    GrB_BinaryOp ops[] = {GrB_TIMES_FP64, GrB_PLUS_FP64,   GrB_MINUS_INT64, GrB_DIV_INT32, GrB_MIN_FP32,  GrB_MAX_UINT8,    GrB_FIRST_FP64,   GrB_SECOND_INT16,
                          GrB_ONEB_FP64,  GrB_LOR,         GrB_DIV_BOOL,    GrB_LT_FP64,   GrB_EQ_INT32,  GxB_ISGT_FP64,    GxB_RMINUS_FP32,  GrB_FIRST_BOOL,
                          GxB_RDIV_BOOL,  GxB_FIRSTI_INT64, GrB_BXOR_UINT16, GxB_ANY_FP64};
    GrB_BinaryOp accums[] = {GrB_PLUS_FP64, GrB_TIMES_INT64, GrB_SECOND_FP64, GrB_FIRST_FP32, GrB_LOR};
    GrB_Monoid monoids[] = {GrB_PLUS_MONOID_FP64, GrB_MAX_MONOID_INT32, GrB_LAND_MONOID_BOOL};
    GrB_Semiring semirings[] = {GrB_PLUS_TIMES_SEMIRING_FP64, GrB_MIN_PLUS_SEMIRING_INT32, GrB_LOR_LAND_SEMIRING_BOOL, GxB_PLUS_PAIR_INT64};
    if (alike)
        return (product){.form = BINARY, .op = ops[(int[]){0, 1, 6, 8}[draw(4)]]};
    return (product){.form = draw(2) ? BINARY : (int)draw(FORMS), .op = ops[draw(sizeof ops / sizeof *ops)],
                     .accum = draw(4) ? NULL : accums[draw(sizeof accums / sizeof *accums)], .monoid = monoids[draw(3)], .semiring = semirings[draw(4)]};
}

static bool turns(GrB_Descriptor desc, GrB_Desc_Field which)
{
    GrB_Desc_Value value = GxB_DEFAULT;
    if (desc)
        ok(GxB_Descriptor_get(&value, desc, which));
    return value == GrB_TRAN;
}

static GrB_Matrix draw_operand(GrB_Descriptor desc, GrB_Desc_Field which, GrB_Index nrows, GrB_Index ncols)
{
    return turns(desc, which) ? draw_matrix(ncols, nrows) : draw_matrix(nrows, ncols);
}

/* C is an operand of the next one; of a device, where it is. */
static void try_next(const product *p, GrB_Matrix want, GrB_Matrix got)
{
    GrB_Matrix twice[2], S = draw_matrix(3, 2);
    GrB_Index nrows, ncols;
    ok(GrB_Matrix_nrows(&nrows, want));
    ok(GrB_Matrix_ncols(&ncols, want));
    for (int k = 0; k < 2; k++) {
        product next = {.form = BINARY, .op = p->op, .A = k ? got : want, .B = S};
        ok(GrB_Matrix_new(&twice[k], GrB_FP64, 3 * nrows, 2 * ncols));
        ok(call(&next, twice[k], k == 0));
    }
    expect_alike(twice[0], twice[1]);
    GrB_Matrix_free(&twice[0]);
    GrB_Matrix_free(&twice[1]);
    GrB_Matrix_free(&S);
}

/* Of one place, C itself may be an operand. */
static void try_one(void)
{
    alike = draw(3) == 0;
    product p = draw_product();
    const bool masked = !alike && draw(4) == 0, alone = draw(20) == 0;
    const GrB_Index m = 1 + draw(LARGEST), n = 1 + draw(LARGEST), k = alone ? 1 : 1 + draw(LARGEST), l = alone ? 1 : 1 + draw(LARGEST);
    p.desc = draw_descriptor(masked);
    p.accum = masked ? NULL : p.accum; /* GB_subassign_08n of 7.4.0 crashes */
    GrB_Matrix A = draw_operand(p.desc, GrB_INP0, m, n), B = draw_operand(p.desc, GrB_INP1, k, l);
    GrB_Matrix want = draw_matrix(m * k, n * l + (draw(30) == 0)), got, M = masked ? draw_matrix(m * k, n * l + (draw(30) == 0)) : NULL;
    p.A = alone && !turns(p.desc, GrB_INP0) && draw(2) ? NULL : A;
    p.B = B;
    p.M = M;
    ok(GrB_Matrix_dup(&got, want));
    const GrB_Info info = call(&p, want, true);
    const char *text = "", *other = "";
    GrB_Matrix_error(&text, want);
    assert_int_equal(call(&p, got, false), info);
    GrB_Matrix_error(&other, got);
    assert_string_equal(text, other);
    if (info == GrB_SUCCESS && !masked)
        try_next(&p, want, got);
    expect_alike(want, got);
    GrB_Matrix_free(&A);
    GrB_Matrix_free(&B);
    GrB_Matrix_free(&M);
    GrB_Matrix_free(&want);
    GrB_Matrix_free(&got);
}

static void test_results_are_the_same(void **state)
{
    (void)state;
    state_of_draws = test_seed();
    print_message("seed %llu\n", (unsigned long long)state_of_draws);
    *(void **)&set_all = of_suitesparse("GrB_Matrix_apply_BinaryOp2nd_FP64");
    *(void **)&assign_all = of_suitesparse("GrB_Matrix_assign_FP64");
    for (int k = 0; k < CASES; k++)
        try_one();
    assert_true(traced(on_device() ? "\"cuda:kronecker\"" : "\"cpu:kronecker\"") > CASES / (on_device() ? 10 : 2));
}

/* Too many entries, of too many places: SuiteSparse says so. */
static void test_too_large(void **state)
{
    (void)state;
    GrB_Matrix A, C;
    const GrB_Index n = (GrB_Index)1 << 40;
    ok(GrB_Matrix_new(&A, GrB_FP64, n, n));
    ok(GrB_Matrix_setElement_FP64(A, 1, 5, 7));
    ok(GrB_Matrix_new(&C, GrB_FP64, n, n));
    assert_int_equal(GrB_Matrix_kronecker_BinaryOp(C, NULL, NULL, GrB_TIMES_FP64, A, A, NULL), GrB_DIMENSION_MISMATCH);
    assert_int_equal(GrB_Matrix_kronecker_BinaryOp(C, NULL, NULL, GrB_TIMES_FP64, A, NULL, NULL), GrB_NULL_POINTER);
    assert_int_equal(GrB_Matrix_kronecker_BinaryOp(C, NULL, NULL, NULL, A, A, NULL), GrB_NULL_POINTER);
    GrB_Matrix_free(&A);
    GrB_Matrix_free(&C);
}

/* Of several threads, and longer than a block of the kernel's. */
static void test_large(void **state)
{
    (void)state;
    const product p = {.form = BINARY, .op = GrB_TIMES_FP64};
    for (int k = 0; k < 3; k++) {
        const GrB_Index m = k ? 60 : 3, n = k ? 60 : 400;
        product each = p;
        each.A = draw_matrix(m, n);
        each.B = draw_matrix(n, m);
        GrB_Matrix want, got;
        ok(GrB_Matrix_new(&want, GrB_FP64, m * n, n * m));
        ok(GrB_Matrix_dup(&got, want));
        ok(call(&each, want, true));
        ok(call(&each, got, false));
        expect_alike(want, got);
        GrB_Matrix_free(&each.A);
        GrB_Matrix_free(&each.B);
        GrB_Matrix_free(&want);
        GrB_Matrix_free(&got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_results_are_the_same), cmocka_unit_test(test_too_large), cmocka_unit_test(test_large)};
    return cmocka_run_group_tests(tests, start_session, stop_session);
}
