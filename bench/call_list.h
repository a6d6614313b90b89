/* Programs that time a list of calls: one line per call, "name milliseconds", the least of some.
 *     PROGRAM VERTICES DEGREE THREADS
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_CALL_LIST_H
#define BENCH_CALL_LIST_H

#include <stdio.h>
#include <stdlib.h>

#include "bench/calls.h"

typedef struct call {
    const char *name;
    GrB_Info (*run)(void);
} call;

typedef struct call_sizes {
    GrB_Index vertices, degree;
    clockid_t clock; /* of one thread its CPU time, which others on the machine change little */
} call_sizes;

/* GraphBLAS is started with that many threads. */
static inline call_sizes start_calls(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: %s VERTICES DEGREE THREADS\n", argv[0]);
        exit(2);
    }
    const int threads = atoi(argv[3]);
    must(GrB_init(GrB_NONBLOCKING));
    must(GxB_Global_Option_set(GxB_NTHREADS, threads));
    return (call_sizes){strtoull(argv[1], NULL, 10), strtoull(argv[2], NULL, 10), threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC};
}

/* n x n, values of FP64, `count` entries and fewer where places are drawn twice. */
static inline GrB_Matrix random_matrix(GrB_Index n, GrB_Index count)
{
    GrB_Index *i = malloc(count * sizeof *i), *j = malloc(count * sizeof *j);
    double *x = malloc(count * sizeof *x);
    GrB_Matrix out;
    for (GrB_Index k = 0; k < count; k++) {
        i[k] = draw(n);
        j[k] = draw(n);
        x[k] = (double)(1 + draw(255));
    }
    must(GrB_Matrix_new(&out, GrB_FP64, n, n));
    must(GrB_Matrix_build_FP64(out, i, j, x, count, GrB_PLUS_FP64));
    must(GrB_Matrix_wait(out, GrB_MATERIALIZE));
    free(i);
    free(j);
    free(x);
    return out;
}

static inline void time_calls(const call_sizes *sizes, const call *calls, size_t count)
{
    enum { REPEATS = 9 };
    for (size_t c = 0; c < count; c++) {
        double least = 1e9;
        for (int k = 0; k < REPEATS; k++) {
            const double start = now_ms(sizes->clock);
            must(calls[c].run());
            const double took = now_ms(sizes->clock) - start;
            least = took < least ? took : least;
        }
        printf("%-28s%.4f\n", calls[c].name, least);
    }
}

#endif
