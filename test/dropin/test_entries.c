/* Elementwise operations on the entries of sparse matrices: the same results as by SuiteSparse's own functions, and who computed them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <GraphBLAS.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "routed.h"
#include "test/seed.h"

enum { CASES = 400, LARGEST = 60 };

static uint64_t state_of_draws;

static uint64_t draw(uint64_t below)
{
    state_of_draws = state_of_draws * 6364136223846793005u + 1442695040888963407u;
    return (state_of_draws >> 33) % below;
}

static void ok(GrB_Info info)
{
    assert_int_equal(info, GrB_SUCCESS);
}

static void *of_suitesparse(const char *name)
{
    void *real = dlopen(REAL_GRAPHBLAS, RTLD_LAZY | RTLD_NOLOAD), *out = real ? dlsym(real, name) : NULL;
    assert_non_null(out);
    dlclose(real);
    return out;
}

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

static void expect_same(GrB_Matrix want, GrB_Matrix got)
{
    GrB_Index n, m, most;
    bool iso[2];
    int32_t status[2], format[2];
    ok(GrB_Matrix_nvals(&n, want));
    ok(GrB_Matrix_nvals(&m, got));
    assert_int_equal(n, m);
    most = n + 1;
    GrB_Index *lists[4];
    double *x[2];
    for (int k = 0; k < 4; k++)
        lists[k] = malloc(most * sizeof **lists);
    for (int k = 0; k < 2; k++) {
        GrB_Matrix each = k ? got : want;
        ok(GrB_Matrix_wait(each, GrB_MATERIALIZE)); /* either may have its entries in any order */
        x[k] = malloc(most * sizeof **x);
        ok(GrB_Matrix_extractTuples_FP64(lists[2 * k], lists[2 * k + 1], x[k], &n, each));
        ok(GxB_Matrix_iso(&iso[k], each));
        ok(GxB_Matrix_Option_get(each, GxB_SPARSITY_STATUS, &status[k]));
        ok(GxB_Matrix_Option_get(each, GxB_FORMAT, &format[k]));
    }
    assert_memory_equal(lists[0], lists[2], n * sizeof **lists);
    assert_memory_equal(lists[1], lists[3], n * sizeof **lists);
    for (GrB_Index k = 0; k < n; k++)
        assert_true(memcmp(&x[0][k], &x[1][k], sizeof **x) == 0 || (x[0][k] != x[0][k] && x[1][k] != x[1][k]));
    assert_true(n == 0 || iso[0] == iso[1]);
    assert_int_equal(status[0], status[1]);
    assert_int_equal(format[0], format[1]);
    for (int k = 0; k < 4; k++)
        free(lists[k]);
    free(x[0]);
    free(x[1]);
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
    GrB_BinaryOp accum[] = {GrB_PLUS_FP64, GrB_TIMES_INT64, GrB_SECOND_FP64, GrB_FIRST_FP32, GrB_MIN_INT32};
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

static int traced(const char *what)
{
    FILE *file = fopen(trace_name, "r");
    char line[4096];
    int count = 0;
    while (file && fgets(line, sizeof line, file))
        count += strstr(line, what) != NULL;
    if (file)
        fclose(file);
    return count;
}

static void test_results_are_the_same(void **state)
{
    (void)state;
    state_of_draws = test_seed();
    print_message("seed %llu\n", (unsigned long long)state_of_draws);
    for (int k = 0; k < CASES; k++)
        try_one();
    assert_true(traced("\"entries") > CASES / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_results_are_the_same)};
    return cmocka_run_group_tests(tests, start_session, stop_session);
}
