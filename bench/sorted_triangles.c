/* Times of the calls of a triangle count whose vertices are sorted by degree first: A(P,P), its lower and upper part, C<L> = L U', the sum of C.
 *     sorted_triangles SCALE TURNS [other]
 * R-MAT of 2^SCALE vertices and 16 edges each, symmetric, without values.  `other`: each turn sorts otherwise (two vertices change places), so that
 * nothing can be remembered.  A line a turn, ms.
 * SPDX-License-Identifier: Apache-2.0 */
#include <GraphBLAS.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DEGREE = 16, CALLS = 5 };

static GrB_Matrix A;
static GrB_Index n, *P;

static void must(GrB_Info info)
{
    if (info == GrB_SUCCESS)
        return;
    fprintf(stderr, "GrB_Info %d\n", (int)info);
    exit(1);
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static uint64_t random_bits(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* A quarter of the matrix after the other: .57, .19, .19, .05. */
static void draw_edge(GrB_Index *i, GrB_Index *j, int scale)
{
    *i = *j = 0;
    for (int level = 0; level < scale; level++) {
        const unsigned draw = (unsigned)(random_bits() >> 40) % 100;
        *i = 2 * *i + (draw >= 76);
        *j = 2 * *j + ((draw >= 57 && draw < 76) || draw >= 95);
    }
}

static void make_graph(int scale)
{
    const GrB_Index edges = n * DEGREE;
    GrB_Index *i = malloc(2 * edges * sizeof *i), *j = malloc(2 * edges * sizeof *j), count = 0;
    GrB_Scalar yes;
    for (GrB_Index e = 0; i && j && e < edges; e++) {
        draw_edge(&i[count], &j[count], scale);
        i[count + 1] = j[count];
        j[count + 1] = i[count];
        count += i[count] != j[count] ? 2 : 0;
    }
    must(GrB_Matrix_new(&A, GrB_BOOL, n, n));
    must(GrB_Scalar_new(&yes, GrB_BOOL));
    must(GrB_Scalar_setElement_BOOL(yes, true));
    must(GxB_Matrix_build_Scalar(A, i, j, yes, count));
    must(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    GrB_Scalar_free(&yes);
    free(i);
    free(j);
}

static int64_t *degree;

static int by_degree(const void *x, const void *y)
{
    const int64_t a = degree[*(const GrB_Index *)x], b = degree[*(const GrB_Index *)y];
    return a < b ? -1 : a > b;
}

static void sort_vertices(void)
{
    GrB_Vector d;
    GrB_Index count = n, *at = malloc(n * sizeof *at);
    int64_t *found = malloc(n * sizeof *found);
    degree = calloc(n, sizeof *degree);
    P = malloc(n * sizeof *P);
    must(GrB_Vector_new(&d, GrB_INT64, n));
    must(GrB_Vector_assign_INT64(d, NULL, NULL, 0, GrB_ALL, n, NULL));
    must(GrB_mxv(d, NULL, GrB_PLUS_INT64, GxB_PLUS_PAIR_INT64, A, d, NULL));
    must(GrB_Vector_extractTuples_INT64(at, found, &count, d));
    for (GrB_Index k = 0; k < count; k++)
        degree[at[k]] = found[k];
    for (GrB_Index k = 0; k < n; k++)
        P[k] = k;
    qsort(P, n, sizeof *P, by_degree);
    GrB_Vector_free(&d);
    free(at);
    free(found);
}

static int64_t count(double ms[CALLS])
{
    GrB_Matrix T, L, U, C;
    int64_t triangles = 0;
    double start = now_ms();
    must(GrB_Matrix_new(&T, GrB_BOOL, n, n));
    must(GrB_Matrix_new(&L, GrB_BOOL, n, n));
    must(GrB_Matrix_new(&U, GrB_BOOL, n, n));
    must(GrB_Matrix_new(&C, GrB_INT64, n, n));
    must(GrB_Matrix_extract(T, NULL, NULL, A, P, n, P, n, NULL));
    ms[0] = now_ms() - start, start = now_ms();
    must(GrB_Matrix_select_INT64(L, NULL, NULL, GrB_TRIL, T, -1, NULL));
    ms[1] = now_ms() - start, start = now_ms();
    must(GrB_Matrix_select_INT64(U, NULL, NULL, GrB_TRIU, T, 1, NULL));
    ms[2] = now_ms() - start, start = now_ms();
    must(GrB_mxm(C, L, NULL, GxB_PLUS_PAIR_INT64, L, U, GrB_DESC_ST1));
    ms[3] = now_ms() - start, start = now_ms();
    must(GrB_Matrix_reduce_INT64(&triangles, NULL, GrB_PLUS_MONOID_INT64, C, NULL));
    GrB_Matrix_free(&T);
    GrB_Matrix_free(&L);
    GrB_Matrix_free(&U);
    GrB_Matrix_free(&C);
    ms[4] = now_ms() - start;
    return triangles;
}

int main(int argc, char **argv)
{
    const int scale = argc > 1 ? atoi(argv[1]) : 10, turns = argc > 2 ? atoi(argv[2]) : 3;
    const bool other = argc > 3 && strcmp(argv[3], "other") == 0;
    n = (GrB_Index)1 << scale;
    must(GrB_init(GrB_NONBLOCKING));
    make_graph(scale);
    sort_vertices();
    printf("turn extract  lower  upper product    sum    all triangles\n");
    for (int turn = 0; turn < turns; turn++) {
        double ms[CALLS], all = 0;
        const int64_t triangles = count(ms);
        printf("%4d", turn);
        for (int k = 0; k < CALLS; all += ms[k++])
            printf(" %7.2f", ms[k]);
        printf(" %7.2f %lld\n", all, (long long)triangles);
        const GrB_Index first = P[turn % n];
        if (other) {
            P[turn % n] = P[(turn + 1) % n];
            P[(turn + 1) % n] = first;
        }
    }
    GrB_Matrix_free(&A);
    free(P);
    free(degree);
    must(GrB_finalize());
    return 0;
}
