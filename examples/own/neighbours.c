/* Triangles of a random graph in which few vertices have many edges: a GraphBLAS program of one's own, in one file.
 *
 *     cc -O2 neighbours.c -lgraphblas -o neighbours                           SPDX-License-Identifier: Apache-2.0 */
#include <GraphBLAS.h>
#include <stdio.h>
#include <stdlib.h>

enum { VERTICES = 1 << 16, EDGES = 1 << 20 };

static GrB_Index vertex(void)
{
    const double u = drand48();
    return (GrB_Index)(VERTICES * u * u * u);
}

/* Both directions of every edge. */
static GrB_Matrix graph(void)
{
    GrB_Matrix A;
    GrB_Index *from = malloc(2 * EDGES * sizeof *from), *to = malloc(2 * EDGES * sizeof *to);
    bool *present = malloc(2 * EDGES * sizeof *present);
    for (int e = 0; e < EDGES; e++) {
        from[2 * e] = to[2 * e + 1] = vertex();
        to[2 * e] = from[2 * e + 1] = vertex();
        present[2 * e] = present[2 * e + 1] = true;
    }
    GrB_Matrix_new(&A, GrB_BOOL, VERTICES, VERTICES);
    GrB_Matrix_build_BOOL(A, from, to, present, 2 * EDGES, GrB_LOR);
    GrB_Matrix_select_INT64(A, NULL, NULL, GrB_OFFDIAG, A, 0, NULL); /* no vertex is its own neighbour */
    free(from);
    free(to);
    free(present);
    return A;
}

int main(void)
{
    GrB_Matrix C;
    int64_t common = 0;
    GrB_init(GrB_NONBLOCKING);
    GrB_Matrix A = graph();
    GrB_Matrix_new(&C, GrB_INT64, VERTICES, VERTICES);
    GrB_mxm(C, A, NULL, GxB_PLUS_PAIR_INT64, A, A, GrB_DESC_ST1); /* common neighbours of neighbours */
    GrB_Matrix_reduce_INT64(&common, NULL, GrB_PLUS_MONOID_INT64, C, NULL);
    printf("%lld triangles\n", (long long)(common / 6));
    GrB_Matrix_free(&A);
    GrB_Matrix_free(&C);
    GrB_finalize();
}
