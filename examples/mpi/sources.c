/* Many sources on many processes: betweenness or personalised PageRank from every k-th vertex, in batches dealt to the processes of MPI.
 * Each process holds the graph; one sum at the end joins the results.  Plain GraphBLAS.
 *
 * usage: mpirun -n N sources betweenness|pagerank [SCALE [BATCHES [WIDTH]]]      (an R-MAT graph of 2^SCALE vertices)
 * SPDX-License-Identifier: Apache-2.0 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <GraphBLAS.h>

#define TRY(call) \
    do { \
        const GrB_Info info_ = (call); \
        if (info_ != GrB_SUCCESS) { \
            fprintf(stderr, "%s:%d: GraphBLAS says %d\n", __FILE__, __LINE__, (int)info_); \
            MPI_Abort(MPI_COMM_WORLD, 1); \
        } \
    } while (0)

/* ---- the graph ---- */

static uint64_t state = 88172645463325252u;

static double draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) * 0x1p-53;
}

/* Symmetric, without loops, all values 1; the same on every process. */
static GrB_Matrix make_graph(int scale)
{
    const GrB_Index n = (GrB_Index)1 << scale, edges = 16 * n;
    GrB_Index *i = malloc(2 * edges * sizeof *i), *j = malloc(2 * edges * sizeof *j), count = 0;
    float *one = malloc(2 * edges * sizeof *one);
    GrB_Matrix A;
    for (GrB_Index k = 0; k < edges; k++) {
        GrB_Index u = 0, v = 0;
        for (int b = 0; b < scale; b++) {
            const double r = draw();
            u = 2 * u + (r >= .76);
            v = 2 * v + ((r >= .57 && r < .76) || r >= .95);
        }
        if (u != v) {
            i[count] = j[count + 1] = u;
            i[count + 1] = j[count] = v;
            one[count] = one[count + 1] = 1;
            count += 2;
        }
    }
    TRY(GrB_Matrix_new(&A, GrB_FP32, n, n));
    TRY(GrB_Matrix_build_FP32(A, i, j, one, count, GrB_FIRST_FP32));
    free(i);
    free(j);
    free(one);
    return A;
}

/* ---- a batch of sources: a row or a column of a dense matrix each ---- */

/* sum += the betweenness that the sources of a batch give every vertex (Brandes). */
static void add_betweenness(float *sum, GrB_Matrix A, const GrB_Index *source, GrB_Index width)
{
    enum { MOST = 256 };
    GrB_Matrix paths, frontier, level[MOST], update, w;
    GrB_Vector total;
    GrB_Index n, left = 1;
    int depth = 0;
    TRY(GrB_Matrix_nrows(&n, A));
    TRY(GrB_Matrix_new(&paths, GrB_FP32, width, n));
    TRY(GrB_Matrix_new(&frontier, GrB_FP32, width, n));
    for (GrB_Index s = 0; s < width; s++) {
        TRY(GrB_Matrix_setElement_FP32(frontier, 1, s, source[s]));
    }
    for (; left > 0 && depth < MOST; depth++) { /* forward: how many shortest paths */
        TRY(GrB_Matrix_dup(&level[depth], frontier));
        TRY(GrB_Matrix_eWiseAdd_BinaryOp(paths, NULL, NULL, GrB_PLUS_FP32, paths, frontier, NULL));
        TRY(GrB_mxm(frontier, paths, NULL, GxB_PLUS_FIRST_FP32, frontier, A, GrB_DESC_RSC));
        TRY(GrB_Matrix_nvals(&left, frontier));
    }
    TRY(GrB_Matrix_new(&update, GrB_FP32, width, n));
    TRY(GrB_Matrix_assign_FP32(update, NULL, NULL, 1, GrB_ALL, width, GrB_ALL, n, NULL));
    TRY(GrB_Matrix_new(&w, GrB_FP32, width, n));
    for (int d = depth - 1; d > 0; d--) { /* backward: what passes through */
        TRY(GrB_Matrix_eWiseMult_BinaryOp(w, level[d], NULL, GrB_DIV_FP32, update, paths, GrB_DESC_RS));
        TRY(GrB_mxm(w, level[d - 1], NULL, GxB_PLUS_FIRST_FP32, w, A, GrB_DESC_RS));
        TRY(GrB_Matrix_eWiseMult_BinaryOp(update, NULL, GrB_PLUS_FP32, GrB_TIMES_FP32, w, paths, NULL));
    }
    TRY(GrB_Vector_new(&total, GrB_FP32, n));
    TRY(GrB_Matrix_reduce_Monoid(total, NULL, NULL, GrB_PLUS_MONOID_FP32, update, GrB_DESC_T0));
    for (GrB_Index v = 0; v < n; v++) {
        float value;
        TRY(GrB_Vector_extractElement_FP32(&value, total, v));
        sum[v] += value - (float)width;
    }
    for (int d = 0; d < depth; d++) {
        TRY(GrB_Matrix_free(&level[d]));
    }
    TRY(GrB_Matrix_free(&paths));
    TRY(GrB_Matrix_free(&frontier));
    TRY(GrB_Matrix_free(&update));
    TRY(GrB_Matrix_free(&w));
    TRY(GrB_Vector_free(&total));
}

/* sum += the ranks of every vertex, personalised to each source: R = .15 E + .85 A D^-1 R, twenty times. */
static void add_pagerank(float *sum, GrB_Matrix A, const GrB_Index *source, GrB_Index width)
{
    GrB_Matrix start, ranks, passed, scaled;
    GrB_Vector degree, total;
    GrB_Index n;
    TRY(GrB_Matrix_nrows(&n, A));
    TRY(GrB_Matrix_new(&start, GrB_FP32, n, width));
    TRY(GrB_Matrix_assign_FP32(start, NULL, NULL, 0, GrB_ALL, n, GrB_ALL, width, NULL));
    for (GrB_Index s = 0; s < width; s++) {
        TRY(GrB_Matrix_setElement_FP32(start, .15f, source[s], s));
    }
    TRY(GrB_Vector_new(&degree, GrB_FP32, n)); /* .85 / degree, in the columns of A */
    TRY(GrB_Matrix_reduce_Monoid(degree, NULL, NULL, GrB_PLUS_MONOID_FP32, A, NULL));
    TRY(GrB_Vector_apply_BinaryOp1st_FP32(degree, NULL, NULL, GrB_DIV_FP32, .85f, degree, NULL));
    TRY(GrB_Matrix_diag(&scaled, degree, 0));
    TRY(GrB_mxm(scaled, NULL, NULL, GxB_PLUS_SECOND_FP32, A, scaled, NULL));
    TRY(GrB_Matrix_dup(&ranks, start));
    TRY(GrB_Matrix_new(&passed, GrB_FP32, n, width));
    for (int step = 0; step < 20; step++) {
        TRY(GrB_mxm(passed, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP32, scaled, ranks, NULL));
        TRY(GrB_Matrix_eWiseAdd_BinaryOp(ranks, NULL, NULL, GrB_PLUS_FP32, start, passed, NULL));
    }
    TRY(GrB_Vector_new(&total, GrB_FP32, n));
    TRY(GrB_Matrix_reduce_Monoid(total, NULL, NULL, GrB_PLUS_MONOID_FP32, ranks, NULL));
    for (GrB_Index v = 0; v < n; v++) {
        float value = 0;
        TRY(GrB_Vector_extractElement_FP32(&value, total, v));
        sum[v] += value;
    }
    TRY(GrB_Matrix_free(&start));
    TRY(GrB_Matrix_free(&ranks));
    TRY(GrB_Matrix_free(&passed));
    TRY(GrB_Matrix_free(&scaled));
    TRY(GrB_Vector_free(&degree));
    TRY(GrB_Vector_free(&total));
}

/* ---- all batches ---- */

static int number(int argc, char **argv, int k, int otherwise)
{
    return argc > k ? atoi(argv[k]) : otherwise;
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int scale = number(argc, argv, 2, 12), batches = number(argc, argv, 3, 8), width = number(argc, argv, 4, 32);
    const int between = argc > 1 && strcmp(argv[1], "betweenness") == 0;
    if (argc < 2 || (!between && strcmp(argv[1], "pagerank") != 0) || scale < 1 || scale > 24 || batches < 1 || width < 1) {
        fprintf(stderr, "usage: sources betweenness|pagerank [SCALE [BATCHES [WIDTH]]]\n");
        MPI_Abort(MPI_COMM_WORLD, 64);
    }
    TRY(GrB_init(GrB_NONBLOCKING));
    GrB_Matrix A = make_graph(scale);
    const GrB_Index n = (GrB_Index)1 << scale;
    float *sum = calloc(n, sizeof *sum);
    GrB_Index *source = malloc((size_t)width * sizeof *source), best = 0;
    const double began = MPI_Wtime();
    for (int b = rank; b < batches; b += size) {
        for (int s = 0; s < width; s++) {
            source[s] = (GrB_Index)(b * width + s) * 2654435761u % n;
        }
        (between ? add_betweenness : add_pagerank)(sum, A, source, (GrB_Index)width);
    }
    MPI_Allreduce(MPI_IN_PLACE, sum, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    for (GrB_Index v = 1; v < n; v++) {
        best = sum[v] > sum[best] ? v : best;
    }
    if (rank == 0) {
        int threads;
        TRY(GxB_Global_Option_get(GxB_GLOBAL_NTHREADS, &threads));
        printf("%s from %d sources: vertex %d leads with %.5g\n", argv[1], batches * width, (int)best, (double)sum[best]);
        fprintf(stderr, "%d processes, %d threads each: %.3f s\n", size, threads, MPI_Wtime() - began);
    }
    free(sum);
    free(source);
    TRY(GrB_Matrix_free(&A));
    TRY(GrB_finalize());
    MPI_Finalize();
    return 0;
}
