/* Elementwise operations on the entries of sparse matrices: the same results as by SuiteSparse's own functions, and who computed them.
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

enum { CASES = 400, LARGEST = 60 };

/* ---- matrices ---- */

enum { PATTERNS = 2 };

/* Patterns are few, so that some are met twice; values are any. */
static GrB_Matrix draw_matrix(GrB_Type type, GrB_Index nrows, GrB_Index ncols, uint64_t pattern, bool by_col)
{
    GrB_Matrix out;
    uint64_t places = 77 + pattern;
    const uint64_t percent = 5 + pattern % PATTERNS * 30;
    const bool iso = draw(8) == 0;
    ok(GrB_Matrix_new(&out, type, nrows, ncols));
    ok(GxB_Matrix_Option_set(out, GxB_FORMAT, by_col ? GxB_BY_COL : GxB_BY_ROW));
    ok(GxB_Matrix_Option_set(out, GxB_SPARSITY_CONTROL, draw(4) ? GxB_SPARSE : draw(2) ? GxB_AUTO_SPARSITY : GxB_SPARSE + GxB_HYPERSPARSE));
    for (GrB_Index k = 0; k < nrows * ncols; k++) {
        places = places * 6364136223846793005u + 1442695040888963407u;
        if ((places >> 33) % 100 < percent)
            ok(GrB_Matrix_setElement_FP64(out, iso ? 3 : (double)draw(9) - 3, k / ncols, k % ncols));
    }
    if (draw(4))
        ok(GrB_Matrix_wait(out, GrB_MATERIALIZE));
    return out;
}

/* ---- calls ---- */

typedef struct elementwise {
    int form; /* UNARY … */
    GrB_UnaryOp unary;
    GrB_BinaryOp binary, accum;
    GrB_Matrix A, B; /* NULL: C */
} elementwise;

enum { UNARY, FIRST, SECOND, MULT, ADD, FORMS };

#define CALL(name, C, op, ...)                                                                       \
    do {                                                                                             \
        if (!by_suitesparse)                                                                         \
            return name(C, NULL, e->accum, op, __VA_ARGS__, NULL);                                   \
        __typeof__(&name) real;                                                                      \
        *(void **)&real = of_suitesparse(#name);                                                     \
        return real(C, NULL, e->accum, op, __VA_ARGS__, NULL);                                       \
    } while (0)

static GrB_Info call(const elementwise *e, GrB_Matrix C, bool by_suitesparse)
{
    GrB_Matrix A = e->A ? e->A : C, B = e->B ? e->B : C;
    switch (e->form) {
    case UNARY: CALL(GrB_Matrix_apply, C, e->unary, A);
    case FIRST: CALL(GrB_Matrix_apply_BinaryOp1st_FP64, C, e->binary, 2.5, A);
    case SECOND: CALL(GrB_Matrix_apply_BinaryOp2nd_FP64, C, e->binary, A, 2.5);
    case MULT: CALL(GrB_Matrix_eWiseMult_BinaryOp, C, e->binary, A, B);
    default: CALL(GrB_Matrix_eWiseAdd_BinaryOp, C, e->binary, A, B);
    }
}

static elementwise draw_call(void)
{
    GrB_UnaryOp unary[] = {GrB_AINV_FP64, GrB_MINV_FP32, GrB_ABS_INT32, GrB_LNOT, GrB_IDENTITY_INT64, GxB_ONE_FP64, GxB_SQRT_FP64, GrB_IDENTITY_BOOL};
    GrB_BinaryOp binary[] = {GrB_PLUS_FP64, GrB_MINUS_INT64, GrB_TIMES_FP32, GrB_DIV_INT32, GrB_MIN_FP64, GrB_MAX_UINT8, GrB_FIRST_FP64,
                             GrB_SECOND_INT16, GrB_ONEB_FP64, GrB_LOR, GrB_EQ_FP64, GrB_GT_INT32, GrB_BXOR_UINT16};
    GrB_BinaryOp accum[] = {GrB_PLUS_FP64, GrB_TIMES_INT64, GrB_SECOND_FP64, GrB_FIRST_FP32, GrB_MIN_INT32, GrB_LT_FP64};
    return (elementwise){.form = (int)draw(FORMS), .unary = unary[draw(sizeof unary / sizeof *unary)],
                         .binary = binary[draw(sizeof binary / sizeof *binary)],
                         .accum = draw(2) ? NULL : accum[draw(sizeof accum / sizeof *accum)]};
}

static GrB_Type draw_type(void)
{
    GrB_Type types[] = {GrB_FP64, GrB_FP64, GrB_FP32, GrB_INT64, GrB_INT32, GrB_UINT8, GrB_BOOL};
    return types[draw(sizeof types / sizeof *types)];
}

static void try_one(void)
{
    elementwise e = draw_call();
    const GrB_Index nrows = 1 + draw(LARGEST), ncols = 1 + draw(LARGEST);
    const bool by_col = draw(2), other = draw(10) == 0;
    const uint64_t alike = draw(4);
    GrB_Matrix A = draw_matrix(draw_type(), nrows, ncols, alike, by_col), B = draw_matrix(draw_type(), nrows, ncols, draw(2) ? alike : draw(4), by_col);
    GrB_Matrix want = draw_matrix(draw_type(), nrows, ncols, draw(2) ? alike : draw(4), by_col != other), got;
    e.A = draw(5) ? A : NULL;
    e.B = draw(5) ? B : NULL;
    ok(GrB_Matrix_dup(&got, want));
    const GrB_Info info = call(&e, want, true);
    assert_int_equal(call(&e, got, false), info);
    expect_same(want, got);
    GrB_Matrix_free(&A);
    GrB_Matrix_free(&B);
    GrB_Matrix_free(&want);
    GrB_Matrix_free(&got);
}

static void test_results_are_the_same(void **state)
{
    (void)state;
    state_of_draws = test_seed();
    print_message("seed %llu\n", (unsigned long long)state_of_draws);
    for (int k = 0; k < CASES; k++)
        try_one();
    assert_true(traced("in the place of C") > 0); /* C is an operand */
    assert_true(traced("\"entries") > CASES / 20); /* lists of 32 bits are not only copied */
    assert_true(traced("\"common") > 0); /* two patterns */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_results_are_the_same)};
    return cmocka_run_group_tests(tests, start_session, stop_session);
}
