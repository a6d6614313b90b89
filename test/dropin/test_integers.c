/* Offsets and indices of 32 and of 64 bits, as GraphBLAS has them from 10 on, mixed in one call: the same results, with integers of the same
 * widths, as by SuiteSparse's own functions.
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

/* More rows than are taken for few vectors, whose results have integers of 64 bits. */
enum { CASES = 200, SMALLEST = 65, LARGEST = 100, WIDTHS = 3 };

static const int hints[WIDTHS] = {GxB_OFFSET_INTEGER_HINT, GxB_ROWINDEX_INTEGER_HINT, GxB_COLINDEX_INTEGER_HINT};
static const int widths[WIDTHS] = {GxB_OFFSET_INTEGER_BITS, GxB_ROWINDEX_INTEGER_BITS, GxB_COLINDEX_INTEGER_BITS};

/* ---- matrices ---- */

static void set_width(GrB_Matrix A, int which, int32_t bits)
{
    int32_t now = 0;
    ok(GrB_Matrix_set_INT32(A, bits, hints[which]));
    ok(GrB_Matrix_get_INT32(A, &now, widths[which]));
    assert_int_equal(now, bits);
}

/* Each list has integers of a width of its own. */
static GrB_Matrix draw_operand(GrB_Type type, GrB_Index nrows, GrB_Index ncols)
{
    GrB_Matrix out;
    const uint64_t percent = 1 + draw(30);
    ok(GrB_Matrix_new(&out, type, nrows, ncols));
    ok(GrB_Matrix_set_INT32(out, draw(3) ? GrB_ROWMAJOR : GrB_COLMAJOR, GrB_STORAGE_ORIENTATION_HINT));
    ok(GrB_Matrix_set_INT32(out, draw(4) ? GxB_SPARSE : GxB_HYPERSPARSE, GxB_SPARSITY_CONTROL));
    for (GrB_Index k = 0; k < nrows * ncols; k++)
        if (draw(100) < percent)
            ok(GrB_Matrix_setElement_INT64(out, (int64_t)draw(9) - 3, k / ncols, k % ncols));
    ok(GrB_Matrix_wait(out, GrB_MATERIALIZE));
    for (int k = 0; k < WIDTHS; k++)
        set_width(out, k, draw(2) ? 32 : 64);
    return out;
}

/* wide: its results have integers of 64 bits. */
static GrB_Matrix new_result(GrB_Index nrows, GrB_Index ncols, bool wide)
{
    GrB_Matrix out;
    ok(GrB_Matrix_new(&out, GrB_INT64, nrows, ncols));
    ok(GrB_Matrix_set_INT32(out, GxB_SPARSE, GxB_SPARSITY_CONTROL));
    for (int k = 0; k < WIDTHS && wide; k++)
        ok(GrB_Matrix_set_INT32(out, 64, hints[k]));
    return out;
}

/* ---- calls ---- */

enum { PRODUCT, DOTS, SELECT, PLACES, EXTRACT, ADD, DENSE, FORMS };

typedef struct mixed {
    int form;
    GrB_Matrix A, B, M, X; /* X: full */
    GrB_Index rows[LARGEST], columns[LARGEST];
} mixed;

#define CALL(name, ...)                                \
    do {                                               \
        __typeof__(&name) function = name;             \
        if (by_suitesparse)                            \
            *(void **)&function = of_suitesparse(#name); \
        return function(__VA_ARGS__);                  \
    } while (0)

static GrB_Info call(const mixed *m, GrB_Matrix C, GrB_Index n, bool by_suitesparse)
{
    switch (m->form) {
    case PRODUCT: CALL(GrB_mxm, C, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_INT64, m->A, m->B, NULL);
    case DOTS: CALL(GrB_mxm, C, m->M, NULL, GrB_PLUS_TIMES_SEMIRING_INT64, m->A, m->B, GrB_DESC_ST1);
    case SELECT: CALL(GrB_Matrix_select_INT64, C, NULL, NULL, GrB_VALUEGT_INT64, m->A, 1, NULL);
    case PLACES: CALL(GrB_Matrix_select_INT64, C, NULL, NULL, GrB_TRIL, m->A, -1, NULL);
    case EXTRACT: CALL(GrB_Matrix_extract, C, NULL, NULL, m->A, m->rows, n, m->columns, n, NULL);
    case DENSE: CALL(GrB_mxm, C, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_INT64, m->A, m->X, NULL);
    default: CALL(GrB_Matrix_eWiseAdd_BinaryOp, C, NULL, NULL, GrB_PLUS_INT64, m->A, m->A, NULL);
    }
}

static void draw_list(GrB_Index *list, GrB_Index n)
{
    for (GrB_Index k = 0; k < n; k++)
        list[k] = k;
    for (GrB_Index k = n; k > 1; k--) {
        const GrB_Index other = draw(k), one = list[k - 1];
        list[k - 1] = list[other];
        list[other] = one;
    }
}

static mixed draw_call(GrB_Index n)
{
    mixed m = {.form = (int)draw(FORMS), .A = draw_operand(GrB_INT64, n, n), .B = draw_operand(GrB_INT64, n, n), .M = draw_operand(GrB_INT64, n, n)};
    ok(GrB_Matrix_new(&m.X, GrB_INT64, n, 8));
    ok(GrB_Matrix_assign_INT64(m.X, NULL, NULL, 1, GrB_ALL, n, GrB_ALL, 8, NULL));
    for (GrB_Index k = 0; k < n; k++)
        ok(GrB_Matrix_setElement_INT64(m.X, (int64_t)draw(9), k, k % 8));
    draw_list(m.rows, n);
    draw_list(m.columns, n);
    return m;
}

/* ---- the test ---- */

static void expect_same_widths(GrB_Matrix want, GrB_Matrix got, int form)
{
    for (int k = 0; k < WIDTHS; k++) {
        int32_t bits[2] = {0};
        ok(GrB_Matrix_get_INT32(want, &bits[0], widths[k]));
        ok(GrB_Matrix_get_INT32(got, &bits[1], widths[k]));
        if (bits[0] != bits[1])
            print_error("form %d, list %d: %d bits, not %d\n", form, k, bits[1], bits[0]);
        assert_int_equal(bits[0], bits[1]);
    }
}

static void try_one(void)
{
    const GrB_Index n = SMALLEST + draw(LARGEST - SMALLEST + 1);
    mixed m = draw_call(n);
    const GrB_Index columns = m.form == DENSE ? 8 : n;
    const bool wide = draw(3) == 0;
    GrB_Matrix want = new_result(n, columns, wide), got = new_result(n, columns, wide);
    ok(call(&m, want, n, true));
    ok(call(&m, got, n, false));
    expect_same(want, got);
    expect_same_widths(want, got, m.form);
    GrB_Matrix_free(&m.A);
    GrB_Matrix_free(&m.B);
    GrB_Matrix_free(&m.M);
    GrB_Matrix_free(&m.X);
    GrB_Matrix_free(&want);
    GrB_Matrix_free(&got);
}

static void widths_are_the_same(void **state)
{
    (void)state;
    state_of_draws = test_seed();
    print_message("seed %llu\n", (unsigned long long)state_of_draws);
    for (int k = 0; k < CASES; k++)
        try_one();
    const char *const kinds[] = {"\"spgemm", "\"masked_dot", "\"select", "\"extract", "\"spmm"};
    for (int k = 0; k < 5; k++)
        assert_true(traced(kinds[k]) > CASES / 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(widths_are_the_same)};
    return cmocka_run_group_tests(tests, start_session, stop_session);
}
