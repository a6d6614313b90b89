/* The estimate of what was saved: SuiteSparse computes parts of a product with as many threads as the whole, and with the user's settings.
 * SPDX-License-Identifier: Apache-2.0 */
#include <GraphBLAS.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "routed.h"

enum { N = 1 << 14, WIDTH = 64, DEGREE = 20, THREADS = 4, LISTENED = 1 << 16 };

typedef GrB_Info (*multiply)(GrB_Matrix, GrB_Matrix, GrB_BinaryOp, GrB_Semiring, GrB_Matrix, GrB_Matrix, GrB_Descriptor);

static char said[LISTENED];
static size_t length;

static void ok(GrB_Info info)
{
    assert_int_equal(info, GrB_SUCCESS);
}

static int hear(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(said + length, sizeof said - length, format, arguments);
    va_end(arguments);
    length += n > 0 && (size_t)n < sizeof said - length ? (size_t)n : 0;
    return n;
}

/* Vertex i is followed by DEGREE ones all over the graph. */
static GrB_Matrix graph(void)
{
    GrB_Matrix out;
    GrB_Index *rows = malloc(N * DEGREE * sizeof *rows), *cols = malloc(N * DEGREE * sizeof *cols);
    float *values = malloc(N * DEGREE * sizeof *values);
    assert_true(rows && cols && values);
    for (GrB_Index k = 0; k < (GrB_Index)N * DEGREE; k++) {
        rows[k] = k / DEGREE;
        cols[k] = (k * 7919 + k / DEGREE) % N;
        values[k] = (float)(k % 5);
    }
    ok(GrB_Matrix_new(&out, GrB_FP32, N, N));
    ok(GrB_Matrix_build_FP32(out, rows, cols, values, (GrB_Index)N * DEGREE, GrB_PLUS_FP32));
    ok(GrB_Matrix_wait(out, GrB_MATERIALIZE));
    free(rows);
    free(cols);
    free(values);
    return out;
}

static GrB_Matrix features(void)
{
    GrB_Matrix out;
    ok(GrB_Matrix_new(&out, GrB_FP32, N, WIDTH));
    ok(GrB_Matrix_assign_FP32(out, NULL, NULL, 0.5F, GrB_ALL, N, GrB_ALL, WIDTH, NULL));
    ok(GrB_Matrix_setElement_FP32(out, 0.25F, 1, 1)); /* not iso */
    ok(GrB_Matrix_wait(out, GrB_MATERIALIZE));
    return out;
}

/* The threads of the last product of which SuiteSparse spoke; 0: of none. */
static int threads_heard(void)
{
    int threads = 0;
    for (const char *at = said; (at = strstr(at, "nthreads")); at++)
        sscanf(at, "nthreads%*[: ]%d", &threads);
    return threads;
}

static void *of_suitesparse(const char *name)
{
    void *real = dlopen(REAL_GRAPHBLAS, RTLD_LAZY | RTLD_NOLOAD), *out = real ? dlsym(real, name) : NULL;
    assert_non_null(out);
    dlclose(real);
    return out;
}

/* By the real library's own function: what it does for Tessera is not told where a program asks. */
static void listen_to(bool all)
{
    GrB_Info (*set)(int, int32_t);
    *(void **)&set = of_suitesparse("GxB_Global_Option_set_INT32");
    ok(set(GxB_BURBLE, all));
}

/* C = A B by `product`: what it says about threads. */
static int threads_of(multiply product, GrB_Matrix A, GrB_Matrix B, GrB_Descriptor desc)
{
    GrB_Matrix C;
    GrB_Index ncols;
    ok(GrB_Matrix_ncols(&ncols, B));
    ok(GrB_Matrix_new(&C, GrB_FP32, N, ncols));
    length = 0;
    said[0] = '\0';
    listen_to(true);
    ok(product(C, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP32, A, B, desc));
    listen_to(false);
    ok(GrB_Matrix_free(&C));
    return threads_heard();
}

static void expect_threads(GrB_Descriptor desc, int wanted)
{
    GrB_Matrix A = graph(), B = features();
    multiply plain;
    *(void **)&plain = of_suitesparse("GrB_mxm");
    const int whole = threads_of(plain, A, B, desc), before = routed_products();
    const int part = threads_of(GrB_mxm, A, B, desc);
    assert_int_equal(routed_products(), before + 1);
    assert_int_equal(whole, wanted);
    assert_int_equal(part, whole);
    ok(GrB_Matrix_free(&A));
    ok(GrB_Matrix_free(&B));
}

static void test_a_part_has_the_threads_of_the_whole(void **state)
{
    (void)state;
    double before = 0, after = 0;
    ok(GxB_Global_Option_set_INT32(GxB_GLOBAL_NTHREADS, THREADS));
    ok(GxB_Global_Option_get_FP64(GxB_GLOBAL_CHUNK, &before));
    expect_threads(NULL, THREADS);
    expect_threads(GrB_DESC_T0, THREADS); /* which may not be changed */
    ok(GxB_Global_Option_get_FP64(GxB_GLOBAL_CHUNK, &after));
    assert_true(before == after);
}

#if GxB_IMPLEMENTATION_MAJOR < 8

static void test_settings_of_a_descriptor_hold(void **state)
{
    (void)state;
    GrB_Descriptor desc;
    ok(GrB_Descriptor_new(&desc));
    ok(GxB_Desc_set_INT32(desc, GxB_DESCRIPTOR_NTHREADS, 3));
    expect_threads(desc, 3);
    ok(GxB_Desc_set_INT32(desc, GxB_DESCRIPTOR_NTHREADS, THREADS + 1)); /* of this many nothing was measured yet */
    ok(GxB_Desc_set_FP64(desc, GxB_DESCRIPTOR_CHUNK, N * DEGREE / 2.5));
    expect_threads(desc, 2);
    ok(GrB_Descriptor_free(&desc));
}

#else

static void test_settings_of_a_context_hold(void **state)
{
    (void)state;
    GxB_Context context;
    ok(GxB_Context_new(&context));
    ok(GxB_Context_set_INT(context, 3, GxB_NTHREADS));
    ok(GxB_Context_engage(context));
    expect_threads(NULL, 3);
    expect_threads(GrB_DESC_T0, 3); /* it is still engaged */
    ok(GxB_Context_disengage(context)); /* freed while engaged, it would be read on */
    ok(GxB_Context_free(&context));
}

#endif

/* If not, the trace is shown. */
static bool in_trace(const char *route, const char *field)
{
    FILE *file = fopen(trace_name, "r");
    char line[4096];
    bool found = false;
    while (file && fgets(line, sizeof line, file))
        found |= strstr(line, route) && strstr(line, field) && !strstr(line, "\"other_ms\":null");
    if (file && !found) {
        rewind(file);
        while (fgets(line, sizeof line, file)) fputs(line, stderr);
    }
    if (file)
        fclose(file);
    return found;
}

/* Of sparse times sparse the parts are sorted, as ours is, and the page of a report can tell what was saved. */
static void test_sparse_products_are_estimated(void **state)
{
    (void)state;
    GrB_Matrix A = graph();
    threads_of(GrB_mxm, A, A, NULL);
    assert_true(in_trace("cpu:spgemm", "\"other_ms\":"));
    assert_non_null(strstr(said, "jumbled"));
    ok(GrB_Matrix_free(&A));
}

static bool reason_in_trace(const char *reason)
{
    FILE *file = fopen(trace_name, "r");
    char line[4096];
    bool found = false;
    while (file && fgets(line, sizeof line, file))
        found |= strstr(line, reason) != NULL;
    if (file)
        fclose(file);
    return found;
}

/* A left operand of one entry a row, in some rows only: SuiteSparse copies rows. */
static void test_copied_rows_are_known(void **state)
{
    (void)state;
    GrB_Matrix A = graph(), P, C;
    GrB_Index n;
    ok(GrB_Matrix_nrows(&n, A));
    ok(GrB_Matrix_new(&P, GrB_FP64, n, n));
    ok(GrB_Matrix_new(&C, GrB_FP64, n, n));
    for (GrB_Index i = 0; i < n; i += 2)
        ok(GrB_Matrix_setElement_FP64(P, 1, i, n - 1 - i));
    ok(GrB_mxm(C, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, P, A, NULL));
    assert_true(reason_in_trace("lines of a sparse operand times a number"));
    ok(GrB_Matrix_free(&P));
    ok(GrB_Matrix_free(&C));
    ok(GrB_Matrix_free(&A));
}

static int start(void **state)
{
    setenv("TESSERA_SAVINGS", "1", 1);
    const int info = start_session(state);
    return info ? info : GxB_Global_Option_set_FUNCTION(GxB_PRINTF, (void *)(uintptr_t)hear);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_part_has_the_threads_of_the_whole),
#if GxB_IMPLEMENTATION_MAJOR < 8
        cmocka_unit_test(test_settings_of_a_descriptor_hold),
#else
        cmocka_unit_test(test_settings_of_a_context_hold),
#endif
        cmocka_unit_test(test_sparse_products_are_estimated),
        cmocka_unit_test(test_copied_rows_are_known),
    };
    return cmocka_run_group_tests(tests, start, stop_session);
}
