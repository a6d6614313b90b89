/* Betweenness centrality from a batch of sources (Brandes 2001): dense rows, one per source, times the sparse graph.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "program.h"

enum { MAX_DEPTH = 1024 };

typedef struct batch {
    const graph *g;
    GrB_Index sources;
    GrB_Matrix paths;              /* sources x n: number of shortest paths to each vertex reached */
    GrB_Matrix reached[MAX_DEPTH]; /* pattern of the vertices at each distance */
    int depth;
} batch;

/* Spread over the vertices that have an edge. */
static void place_sources(batch *b)
{
    const graph *g = b->g;
    GrB_Vector degrees;
    TRY(graph_degrees(&degrees, g->A));
    TRY(GrB_Matrix_new(&b->paths, GrB_FP64, b->sources, g->n));
    for (GrB_Index s = 0; s < b->sources; s++) {
        GrB_Index v = s * g->n / b->sources;
        int64_t degree = 0;
        for (GrB_Index tried = 0; degree == 0 && tried < g->n; tried++) {
            v = (v + (tried > 0)) % g->n;
            TRY(GrB_Vector_extractElement_INT64(&degree, degrees, v));
        }
        TRY(GrB_Matrix_setElement_FP64(b->paths, 1, s, v));
    }
    TRY(GrB_Vector_free(&degrees));
}

static void pattern_of(GrB_Matrix *S, const GrB_Matrix F, const batch *b)
{
    TRY(GrB_Matrix_new(S, GrB_BOOL, b->sources, b->g->n));
    TRY(GrB_Matrix_apply(*S, NULL, NULL, GxB_ONE_BOOL, F, NULL));
}

static void forward(batch *b)
{
    GrB_Matrix frontier;
    GrB_Index entries = 1;
    TRY(GrB_Matrix_dup(&frontier, b->paths));
    for (; entries > 0 && b->depth < MAX_DEPTH; b->depth++) {
        pattern_of(&b->reached[b->depth], frontier, b);
        TRY(GrB_mxm(frontier, b->paths, NULL, GxB_PLUS_FIRST_FP64, frontier, b->g->A, GrB_DESC_RSC));
        TRY(GrB_Matrix_eWiseAdd_BinaryOp(b->paths, NULL, NULL, GrB_PLUS_FP64, b->paths, frontier, NULL));
        TRY(GrB_Matrix_nvals(&entries, frontier));
    }
    TRY(GrB_Matrix_free(&frontier));
    if (entries > 0) fprintf(stderr, "betweenness: paths longer than %d are not followed\n", MAX_DEPTH);
}

/* update starts as all ones; its excess over one is each vertex's dependency.  A source gets none of its own. */
static void backward(GrB_Matrix update, const batch *b)
{
    GrB_Matrix share;
    TRY(GrB_Matrix_assign_FP64(update, NULL, NULL, 1, GrB_ALL, b->sources, GrB_ALL, b->g->n, NULL));
    TRY(GrB_Matrix_new(&share, GrB_FP64, b->sources, b->g->n));
    for (int d = b->depth - 1; d > 1; d--) {
        TRY(GrB_Matrix_eWiseMult_BinaryOp(share, b->reached[d], NULL, GrB_DIV_FP64, update, b->paths, GrB_DESC_RS));
        TRY(GrB_mxm(share, b->reached[d - 1], NULL, GxB_PLUS_FIRST_FP64, share, b->g->A, GrB_DESC_RS));
        TRY(GrB_Matrix_eWiseMult_BinaryOp(update, NULL, GrB_PLUS_FP64, GrB_TIMES_FP64, share, b->paths, NULL));
    }
    TRY(GrB_Matrix_free(&share));
}

/* centrality = column sums of update, less the ones it started from. */
static void sum_up(GrB_Vector centrality, const GrB_Matrix update, const batch *b)
{
    const double start = -(double)b->sources;
    TRY(GrB_Vector_assign_FP64(centrality, NULL, NULL, start, GrB_ALL, b->g->n, NULL));
    TRY(GrB_Matrix_reduce_Monoid(centrality, NULL, GrB_PLUS_FP64, GrB_PLUS_MONOID_FP64, update, GrB_DESC_T0));
}

int main(int argc, char **argv)
{
    program p = {.doc = "Betweenness centrality from a batch of sources", .columns = 16};
    program_start(&p, argc, argv);
    batch b = {.g = &p.g, .sources = (GrB_Index)p.columns};
    GrB_Matrix update;
    GrB_Vector centrality;
    place_sources(&b);
    TRY(GrB_Matrix_new(&update, GrB_FP64, b.sources, p.g.n));
    TRY(GrB_Vector_new(&centrality, GrB_FP64, p.g.n));
    program_step(&p);
    forward(&b);
    program_step_matrix(&p, "paths", b.paths);
    program_step(&p);
    backward(update, &b);
    sum_up(centrality, update, &b);
    program_step_vector(&p, "betweenness", centrality);
    printf("sources %d distances %d\n", p.columns, b.depth);
    for (int d = 0; d < b.depth; d++) TRY(GrB_Matrix_free(&b.reached[d]));
    TRY(GrB_Matrix_free(&b.paths));
    TRY(GrB_Matrix_free(&update));
    TRY(GrB_Vector_free(&centrality));
    return program_end(&p);
}
