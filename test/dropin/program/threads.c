/* Several threads read the same finished matrices at once, each with a result of its own.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "program.h"

typedef struct job {
    GrB_Matrix C, A, B;
    GrB_Semiring semiring;
    GrB_Index nvals;
    GrB_Info info;
} job;

static void *multiply(void *argument)
{
    job *j = argument;
    for (int repeat = 0; repeat < 3; repeat++) j->info = GrB_mxm(j->C, NULL, NULL, j->semiring, j->A, j->B, NULL);
    GrB_Matrix_nvals(&j->nvals, j->A);
    return NULL;
}

static void prepare(job *j, object *C, object *A, object *B, int mon, int op, int type)
{
    *j = (job){.C = C->m, .A = A->m, .B = B->m, .semiring = semiring(mon, op, type, true)};
    object_bound(C, (bound){20, 3, A->b.special || B->b.special}, T_FP64, -1);
}

static void run(job *jobs)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, multiply, &jobs[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

void op_threads(void)
{
    int m = pool_size(), k = pool_size(), n = pool_size(), type = rng_chance(50) ? T_FP64 : T_INT32;
    object *A = pool_matrix(m, k, type, WANT_SPARSE), *B = pool_matrix(k, n, type, WANT_DENSE);
    object *C = pool_matrix(m, n, T_FP64, WANT_ANY), *D = pool_matrix(m, n, T_INT64, WANT_ANY);
    job jobs[2];
    if (C == A || C == B) return report_text("skip", GrB_SUCCESS);
    operand(C);
    operand(D);
    tame(A);
    tame(B);
    without_hyper(A, false);
    without_hyper(B, false);
    object_wait(A);
    object_wait(B);
    prepare(&jobs[0], C, A, B, MON_PLUS, OP_TIMES, type);
    prepare(&jobs[1], D, A, B, MON_MAX, OP_PLUS, type);
    run(jobs);
    report_value("thread_nvals", GrB_SUCCESS, T_UINT64, &jobs[0].nvals);
    report("thread_0", jobs[0].info, C);
    report("thread_1", jobs[1].info, D);
}
