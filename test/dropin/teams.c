/* A module as of Python: what it needs is loaded with it and seen by nobody else.  It gives a sum and how many threads the process has after a
 * product that we compute and an addition that SuiteSparse computes, both with all threads.  test_openmp.py gives it a GraphBLAS with an OpenMP
 * runtime of its own.
 * SPDX-License-Identifier: Apache-2.0 */
#include <GraphBLAS.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

enum { VERTICES = 1 << 14, DEGREE = 64 };

#define OK(call)                                                                          \
    do {                                                                                  \
        const GrB_Info returned = (call);                                                 \
        if (returned != GrB_SUCCESS) {                                                    \
            fprintf(stderr, "%s:%d: %s gives %d\n", __FILE__, __LINE__, #call, returned); \
            exit(EXIT_FAILURE);                                                           \
        }                                                                                 \
    } while (0)

static GrB_Matrix ring(void)
{
    const GrB_Index entries = (GrB_Index)VERTICES * DEGREE;
    GrB_Index *rows = malloc(entries * sizeof *rows), *columns = malloc(entries * sizeof *columns);
    int64_t *values = malloc(entries * sizeof *values);
    GrB_Matrix A;
    if (!rows || !columns || !values)
        exit(EXIT_FAILURE);
    for (GrB_Index e = 0; e < entries; e++) {
        rows[e] = e / DEGREE;
        columns[e] = (e / DEGREE + 1 + e % DEGREE * (e % DEGREE)) % VERTICES;
        values[e] = (int64_t)(e % 7);
    }
    OK(GrB_Matrix_new(&A, GrB_INT64, VERTICES, VERTICES));
    OK(GrB_Matrix_build_INT64(A, rows, columns, values, entries, GrB_PLUS_INT64));
    OK(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    free(rows);
    free(columns);
    free(values);
    return A;
}

static int threads(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *d; tasks && (d = readdir(tasks));)
        count += d->d_name[0] != '.';
    closedir(tasks);
    return count;
}

__attribute__((visibility("default"))) int teams(int64_t *sum);

int teams(int64_t *sum)
{
    GrB_Matrix A, C;
    OK(GrB_init(GrB_NONBLOCKING));
    A = ring();
    OK(GrB_Matrix_new(&C, GrB_INT64, VERTICES, VERTICES));
    OK(GrB_mxm(C, A, NULL, GxB_PLUS_PAIR_INT64, A, A, GrB_DESC_ST1));
    OK(GrB_Matrix_eWiseAdd_BinaryOp(C, NULL, NULL, GrB_PLUS_INT64, C, A, GrB_DESC_T1));
    OK(GrB_Matrix_reduce_INT64(sum, NULL, GrB_PLUS_MONOID_INT64, C, NULL));
    const int count = threads();
    OK(GrB_Matrix_free(&A));
    OK(GrB_Matrix_free(&C));
    OK(GrB_finalize());
    return count;
}
