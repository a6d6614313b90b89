/* Many threads read the same finished matrices at once through Tessera, each with a result of its own, while another
 * keeps changing and freeing matrices whose addresses are used again.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <GraphBLAS.h>

#include "../threads.h"
#include "routed.h"

enum { THREADS = 8, ROUNDS = 40, SIZE = 60, COLUMNS = 20 };

typedef struct shared {
    GrB_Matrix A, B, expected;
} shared;

typedef struct worker {
    const shared *s;
    int number;
} worker;

static GrB_Matrix filled(GrB_Index nrows, GrB_Index ncols, GrB_Index step, GrB_Index offset)
{
    GrB_Matrix A = NULL;
    GrB_Matrix_new(&A, GrB_INT64, nrows, ncols);
    for (GrB_Index p = offset; p < nrows * ncols; p += step)
        GrB_Matrix_setElement_INT64(A, (int64_t)(p % 7) + 1, p / ncols, p % ncols);
    GrB_Matrix_wait(A, GrB_MATERIALIZE);
    return A;
}

static int64_t sum_of(GrB_Matrix A)
{
    int64_t sum = 0;
    GrB_Matrix_reduce_INT64(&sum, NULL, GrB_PLUS_MONOID_INT64, A, NULL);
    return sum;
}

static bool same(GrB_Matrix A, GrB_Matrix B)
{
    GrB_Matrix D = NULL;
    GrB_Index na, nb;
    GrB_Matrix_new(&D, GrB_INT64, SIZE, COLUMNS);
    GrB_Matrix_eWiseMult_BinaryOp(D, NULL, NULL, GxB_ISNE_INT64, A, B, NULL);
    GrB_Matrix_nvals(&na, A);
    GrB_Matrix_nvals(&nb, B);
    int64_t different = sum_of(D);
    GrB_Matrix_free(&D);
    return na == nb && different == 0;
}

static void *read_shared(void *argument)
{
    const worker *w = argument;
    bool wrong = false;
    for (int round = 0; round < ROUNDS; round++) {
        GrB_Matrix C = NULL;
        GrB_Matrix_new(&C, GrB_INT64, SIZE, COLUMNS);
        GrB_Info info = GrB_mxm(C, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_INT64, w->s->A, w->s->B, NULL);
        wrong |= info != GrB_SUCCESS || !same(C, w->s->expected);
        GrB_Matrix_free(&C);
    }
    return wrong ? argument : NULL;
}

static void *change_own(void *argument)
{
    bool wrong = false;
    for (int round = 0; round < ROUNDS; round++) {
        GrB_Matrix A = filled(SIZE, SIZE, 5, 0), B = filled(SIZE, COLUMNS, 1, 0), C = NULL, D = NULL;
        GrB_Matrix_new(&C, GrB_INT64, SIZE, COLUMNS);
        GrB_Matrix_new(&D, GrB_INT64, SIZE, COLUMNS);
        GrB_mxm(C, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_INT64, A, B, NULL);
        GrB_Matrix_assign_INT64(A, NULL, NULL, 1, GrB_ALL, SIZE, GrB_ALL, SIZE, NULL);
        GrB_mxm(D, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_INT64, A, B, NULL);
        wrong |= sum_of(D) != SIZE * sum_of(B) || sum_of(C) == sum_of(D);
        GrB_Matrix_free(&A);
        GrB_Matrix_free(&B);
        GrB_Matrix_free(&C);
        GrB_Matrix_free(&D);
    }
    return wrong ? argument : NULL;
}

static void *work(void *argument)
{
    const worker *w = argument;
    return w->number % 4 == 3 ? change_own(argument) : read_shared(argument);
}

static void run(const shared *s)
{
    worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) workers[i] = (worker){s, i};
    assert_int_equal(run_threads(THREADS, work, workers, sizeof *workers), 0);
}

static void test_threads(void **state)
{
    (void)state;
    shared s = {filled(SIZE, SIZE, 7, 3), filled(SIZE, COLUMNS, 1, 0), NULL};
    GrB_Matrix_new(&s.expected, GrB_INT64, SIZE, COLUMNS);
    GxB_Global_Option_set(GxB_NTHREADS, 1);
    assert_int_equal(GrB_mxm(s.expected, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_INT64, s.A, s.B, NULL), GrB_SUCCESS);
    GrB_Matrix_wait(s.expected, GrB_MATERIALIZE);
    run(&s);
    assert_true(routed_products() > THREADS * ROUNDS / 2);
    GrB_Matrix_free(&s.A);
    GrB_Matrix_free(&s.B);
    GrB_Matrix_free(&s.expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads)};
    return cmocka_run_group_tests(tests, start_session, stop_session);
}
