/* What is forwarded was not touched: operands that SuiteSparse leaves unsorted stay so, tuples that it leaves pending, too.  The burble
 * of the library says what is finished, by the call and by a wait after it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <GraphBLAS.h>

enum { N = 300000, DEGREE = 4, TUPLES = 2000 };

static char said[1 << 16];
static size_t length;
static GrB_Matrix A;

static void ok(GrB_Info info)
{
    assert_int_equal(info, GrB_SUCCESS);
}

/* ---- what the library says ---- */

static int listen(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const int n = vsnprintf(said + length, sizeof said - length, format, list);
    va_end(list);
    length += n > 0 && length + (size_t)n < sizeof said ? (size_t)n : 0;
    return n;
}

static void start_listening(void)
{
    length = 0;
    said[0] = '\0';
    ok(GxB_Global_Option_set_INT32(GxB_BURBLE, true));
}

static void stop_listening(void)
{
    ok(GxB_Global_Option_set_INT32(GxB_BURBLE, false));
}

/* A wait finds that there still is something to do. */
static void assert_left(GrB_Vector v, const char *what)
{
    start_listening();
    ok(GrB_Vector_wait(v, GrB_MATERIALIZE));
    stop_listening();
    if (!strstr(said, what))
        fail_msg("'%s' not in: %s", what, said);
}

/* ---- operands ---- */

/* As a search leaves it after a turn or two. */
static GrB_Vector unsorted(void)
{
    GrB_Vector v;
    ok(GrB_Vector_new(&v, GrB_FP64, N));
    for (GrB_Index k = 0; k < 40; k++) ok(GrB_Vector_setElement_FP64(v, 1.0, (k * k * 7919) % N));
    for (int turn = 0; turn < 2; turn++) ok(GrB_vxm(v, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, v, A, NULL));
    return v;
}

enum { FIRST_CALLS = 40 };

/* Vertex i is followed by the DEGREE ones from 7 i + 1 on. */
static int set_up(void **state)
{
    (void)state;
    unsetenv("TESSERA_TRACE");
    if (GrB_init(GrB_NONBLOCKING) != GrB_SUCCESS)
        return -1;
    ok(GxB_Global_Option_set_INT32(GxB_NTHREADS, 1));
    ok(GxB_Global_Option_set_FUNCTION(GxB_PRINTF, (void *)(uintptr_t)listen));
    ok(GrB_Matrix_new(&A, GrB_FP64, N, N));
    for (GrB_Index i = 0; i < N; i++)
        for (GrB_Index k = 0; k < DEGREE; k++) ok(GrB_Matrix_setElement_FP64(A, 1.0 + (double)k, i, (7 * i + 1 + 1000 * k) % N));
    ok(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    for (int k = 0; k < FIRST_CALLS; k++) { /* what a process begins with is SuiteSparse's */
        GrB_Vector v = unsorted();
        ok(GrB_Vector_free(&v));
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ok(GrB_Matrix_free(&A));
    return GrB_finalize();
}

static GrB_Vector pending(void)
{
    GrB_Vector v;
    ok(GrB_Vector_new(&v, GrB_FP64, N));
    for (GrB_Index k = 0; k < TUPLES; k++) ok(GrB_Vector_setElement_FP64(v, (double)k, k * 7919 % N));
    return v;
}

/* ---- tests ---- */

/* Otherwise the others prove nothing. */
static void frontiers_are_unsorted(void **state)
{
    (void)state;
    GrB_Vector v = unsorted();
    assert_left(v, "jumbled");
    ok(GrB_Vector_free(&v));
}

static void push(GrB_Semiring semiring, GrB_Type type, bool masked)
{
    GrB_Vector v = unsorted(), seen = unsorted(), w;
    ok(GrB_Vector_new(&w, type, N));
    start_listening();
    ok(GrB_vxm(w, masked ? seen : NULL, NULL, semiring, v, A, masked ? GrB_DESC_RSC : NULL));
    stop_listening();
    if (strstr(said, "jumbled") && !masked)
        fail_msg("sorted: %s", said);
    assert_left(v, "jumbled");
    ok(GrB_Vector_free(&v));
    ok(GrB_Vector_free(&seen));
    ok(GrB_Vector_free(&w));
}

static void sparse_frontiers_stay_unsorted(void **state)
{
    (void)state;
    push(GrB_PLUS_TIMES_SEMIRING_FP64, GrB_FP64, false);
    push(GrB_MIN_PLUS_SEMIRING_FP64, GrB_FP64, true);
    push(GxB_ANY_SECONDI_INT64, GrB_INT64, false);
    push(GxB_ANY_SECONDI_INT64, GrB_INT64, true);
    push(GxB_ANY_PAIR_BOOL, GrB_BOOL, true);
}

/* Two of many are as good as any other two, wherever they lie. */
static void any_two_frontiers_stay_unsorted(void **state)
{
    (void)state;
    enum { MANY = 30 };
    GrB_Vector source = unsorted(), w, all[MANY];
    void *between[MANY];
    ok(GrB_Vector_new(&w, GrB_FP64, N));
    for (int k = 0; k < MANY; k++) {
        ok(GrB_Vector_new(&all[k], GrB_FP64, N));
        between[k] = malloc((size_t)(1 + k * k) * 48);
    }
    for (int i = 0; i < MANY; i++)
        for (int j = 0; j < i; j++) {
            ok(GrB_vxm(all[i], NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, source, A, NULL));
            ok(GrB_vxm(all[j], NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, source, A, NULL));
            ok(GrB_vxm(w, all[j], NULL, GrB_PLUS_TIMES_SEMIRING_FP64, all[i], A, GrB_DESC_RSC));
            assert_left(all[i], "jumbled");
        }
    for (int k = 0; k < MANY; k++) {
        ok(GrB_Vector_free(&all[k]));
        free(between[k]);
    }
    ok(GrB_Vector_free(&source));
    ok(GrB_Vector_free(&w));
}

static void multiply_untouched(GrB_Index nrows, bool masked)
{
    GrB_Matrix P, C;
    ok(GrB_Matrix_new(&P, GrB_FP64, nrows, N));
    ok(GrB_Matrix_new(&C, GrB_FP64, nrows, N));
    for (GrB_Index k = 0; k < 1000; k++) ok(GrB_Matrix_setElement_FP64(P, 1.0, k % nrows, (k * k * 7919) % N)); /* of more ours would be in order */
    GrB_Matrix M = NULL;
    if (masked)
        ok(GrB_Matrix_dup(&M, P));
    for (int turn = 0; turn < 2; turn++) ok(GrB_mxm(P, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, P, A, NULL));
    start_listening();
    ok(GrB_mxm(C, M, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, P, A, masked ? GrB_DESC_RS : NULL));
    assert_null(strstr(said, "jumbled"));
    ok(GrB_Matrix_wait(P, GrB_MATERIALIZE));
    stop_listening();
    assert_non_null(strstr(said, "jumbled"));
    ok(GrB_Matrix_free(&P));
    ok(GrB_Matrix_free(&C));
    GrB_Matrix_free(&M);
}

/* Products of sparse matrices without a mask are SuiteSparse's, and on the host those of a few rows under a sparse one. */
static void sparse_matrices_stay_unsorted(void **state)
{
    (void)state;
    multiply_untouched(100, false);
    multiply_untouched(4, true);
}

/* An assignment by an index list under a bitmap adds tuples to those that C has. */
static void pending_tuples_stay_pending(void **state)
{
    (void)state;
    static GrB_Index all[N];
    GrB_Vector w = pending(), mask;
    for (GrB_Index i = 0; i < N; i++) all[i] = i;
    ok(GrB_Vector_new(&mask, GrB_BOOL, N));
    ok(GxB_Vector_Option_set(mask, GxB_SPARSITY_CONTROL, GxB_BITMAP));
    for (GrB_Index i = 0; i < N; i += 2) ok(GrB_Vector_setElement_BOOL(mask, true, i));
    start_listening();
    ok(GrB_Vector_assign_FP64(w, mask, NULL, 1.0, all, N, NULL));
    stop_listening();
    assert_null(strstr(said, "wait"));
    int waiting = 0;
    const char *count = strstr(said, "(pending: ");
    assert_non_null(count);
    assert_int_equal(sscanf(count, "(pending: %d", &waiting), 1);
    assert_in_range(waiting, TUPLES - 1, TUPLES); /* from 10 on the first one waits, too */
    ok(GrB_Vector_free(&w));
    ok(GrB_Vector_free(&mask));
}

/* A semiring and a descriptor that are changed are not what was remembered of them, nor is one that lies where another did. */
static void changed_descriptors_count(void **state)
{
    (void)state;
    GrB_Vector u, w;
    GrB_Descriptor desc;
    double first = 0, second = 0;
    ok(GrB_Vector_new(&u, GrB_FP64, N));
    ok(GrB_Vector_new(&w, GrB_FP64, N));
    ok(GrB_Vector_assign_FP64(u, NULL, NULL, 0.0, GrB_ALL, N, NULL));
    for (GrB_Index i = 0; i < N; i++) ok(GrB_Vector_setElement_FP64(u, (double)i, i));
    ok(GrB_Descriptor_new(&desc));
    ok(GrB_mxv(w, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, A, u, desc));
    ok(GrB_Vector_extractElement_FP64(&first, w, 1)); /* 8 + 2 * 1008 + 3 * 2008 + 4 * 3008 */
    ok(GrB_Descriptor_set(desc, GrB_INP0, GrB_TRAN));
    ok(GrB_mxv(w, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, A, u, desc));
    ok(GrB_Vector_extractElement_FP64(&second, w, 8)); /* of vertex 1, and others that have 8 among their followers */
    assert_true(first == 20080);
    double expected = 0;
    for (GrB_Index i = 0; i < N; i++)
        for (GrB_Index k = 0; k < DEGREE; k++) expected += (7 * i + 1 + 1000 * k) % N == 8 ? (1.0 + (double)k) * (double)i : 0;
    assert_true(second == expected);
    ok(GrB_Descriptor_free(&desc));
    ok(GrB_Vector_free(&u));
    ok(GrB_Vector_free(&w));
}

static void freed_semirings_are_forgotten(void **state)
{
    (void)state;
    GrB_Vector u, w;
    double x = 0;
    ok(GrB_Vector_new(&u, GrB_FP64, N));
    ok(GrB_Vector_new(&w, GrB_FP64, N));
    ok(GrB_Vector_assign_FP64(u, NULL, NULL, 2.0, GrB_ALL, N, NULL));
    ok(GrB_Vector_setElement_FP64(u, 3.0, 0));
    const GrB_BinaryOp multiply[3] = {GrB_TIMES_FP64, GrB_PLUS_FP64, GrB_TIMES_FP64};
    const GrB_Monoid add[3] = {GrB_PLUS_MONOID_FP64, GrB_PLUS_MONOID_FP64, GrB_MAX_MONOID_FP64};
    const double expected[3] = {20, 18, 8};
    for (int k = 0; k < 30; k++) {
        GrB_Semiring semiring;
        ok(GrB_Semiring_new(&semiring, add[k % 3], multiply[k % 3]));
        ok(GrB_mxv(w, NULL, NULL, semiring, A, u, NULL));
        ok(GrB_Vector_extractElement_FP64(&x, w, 1));
        assert_true(x == expected[k % 3]);
        ok(GrB_Semiring_free(&semiring));
    }
    ok(GrB_Vector_free(&u));
    ok(GrB_Vector_free(&w));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frontiers_are_unsorted),
        cmocka_unit_test(sparse_frontiers_stay_unsorted),
        cmocka_unit_test(any_two_frontiers_stay_unsorted),
        cmocka_unit_test(sparse_matrices_stay_unsorted),
        cmocka_unit_test(pending_tuples_stay_pending),
        cmocka_unit_test(changed_descriptors_count),
        cmocka_unit_test(freed_semirings_are_forgotten),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
