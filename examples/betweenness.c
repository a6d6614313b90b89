/* Betweenness centrality from a batch of sources (Brandes 2001): one row per source, breadth-first from all of them at once, then
 * back.  Each step pushes or pulls, whichever suits the number of entries.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "program.h"

enum { MAX_DEPTH = 1024 };

typedef struct batch {
    const graph *g;
    GrB_Index sources;
    GrB_Matrix paths;              /* sources x n: number of shortest paths to each vertex reached */
    GrB_Matrix reached[MAX_DEPTH]; /* pattern of the vertices at distance d + 1 */
    int depth;
} batch;

static GrB_Index entries_of(const GrB_Matrix X)
{
    GrB_Index entries;
    TRY(GrB_Matrix_nvals(&entries, X));
    return entries;
}

/* C<M> = F A: by columns of A as bitmap (A' = A), or by its rows. */
static void advance(GrB_Matrix C, const GrB_Matrix mask, const batch *b, bool pull, GrB_Descriptor pulling,
                    GrB_Descriptor pushing)
{
    TRY(GxB_Matrix_Option_set(C, GxB_SPARSITY_CONTROL, pull ? GxB_BITMAP : GxB_SPARSE));
    TRY(GrB_mxm(C, mask, NULL, GxB_PLUS_FIRST_FP64, C, b->g->A, pull ? pulling : pushing));
}

static void pattern_of(GrB_Matrix *S, const GrB_Matrix F, const batch *b)
{
    TRY(GrB_Matrix_new(S, GrB_BOOL, b->sources, b->g->n));
    TRY(GrB_Matrix_assign_BOOL(*S, F, NULL, true, GrB_ALL, b->sources, GrB_ALL, b->g->n, GrB_DESC_S));
}

static void forward(batch *b, const GrB_Index *source)
{
    const double places = (double)b->sources * (double)b->g->n;
    GrB_Matrix frontier;
    bool pull = false;
    TRY(GrB_Matrix_new(&b->paths, GrB_FP64, b->sources, b->g->n));
    TRY(GxB_Matrix_Option_set(b->paths, GxB_SPARSITY_CONTROL, GxB_BITMAP + GxB_FULL));
    for (GrB_Index s = 0; s < b->sources; s++) TRY(GrB_Matrix_setElement_FP64(b->paths, 1, s, source[s]));
    TRY(GrB_Matrix_new(&frontier, GrB_FP64, b->sources, b->g->n));
    for (GrB_Index s = 0; s < b->sources; s++) TRY(GrB_Matrix_setElement_FP64(frontier, 1, s, source[s]));
    TRY(GrB_mxm(frontier, b->paths, NULL, GxB_PLUS_FIRST_FP64, frontier, b->g->A, GrB_DESC_RSC));
    GrB_Index entries = entries_of(frontier);
    for (b->depth = 0; entries > 0 && b->depth < MAX_DEPTH; b->depth++) {
        pattern_of(&b->reached[b->depth], frontier, b);
        TRY(GrB_Matrix_assign(b->paths, NULL, GrB_PLUS_FP64, frontier, GrB_ALL, b->sources, GrB_ALL, b->g->n, NULL));
        pull = (double)entries > (pull ? 0.06 : 0.10) * places;
        advance(frontier, b->paths, b, pull, GrB_DESC_RSCT1, GrB_DESC_RSC);
        entries = entries_of(frontier);
    }
    TRY(GrB_Matrix_free(&frontier));
    if (entries > 0) fprintf(stderr, "betweenness: paths longer than %d are not followed\n", MAX_DEPTH);
}

/* update starts as all ones; its excess over one is each vertex's dependency.  A source gets none of its own. */
static void backward(GrB_Matrix update, const batch *b)
{
    const double places = (double)b->sources * (double)b->g->n;
    GrB_Matrix share;
    TRY(GrB_Matrix_assign_FP64(update, NULL, NULL, 1, GrB_ALL, b->sources, GrB_ALL, b->g->n, NULL));
    TRY(GrB_Matrix_new(&share, GrB_FP64, b->sources, b->g->n));
    for (int d = b->depth - 1; d > 0; d--) {
        TRY(GrB_Matrix_eWiseMult_BinaryOp(share, b->reached[d], NULL, GrB_DIV_FP64, update, b->paths, GrB_DESC_RS));
        const double entries = (double)entries_of(share), wanted = (double)entries_of(b->reached[d - 1]);
        const bool pull =
            (entries > 0.1 * places && entries > wanted) || (entries > 0.01 * places && entries > 10 * wanted);
        advance(share, b->reached[d - 1], b, pull, GrB_DESC_RST1, GrB_DESC_RS);
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

static void centralities(GrB_Vector centrality, batch *b, const GrB_Index *source)
{
    GrB_Matrix update;
    TRY(GrB_Matrix_new(&update, GrB_FP64, b->sources, b->g->n));
    forward(b, source);
    backward(update, b);
    sum_up(centrality, update, b);
    for (int d = 0; d < b->depth; d++) TRY(GrB_Matrix_free(&b->reached[d]));
    TRY(GrB_Matrix_free(&b->paths));
    TRY(GrB_Matrix_free(&update));
}

int main(int argc, char **argv)
{
    program p = {.doc = "Betweenness centrality from a batch of sources", .columns = 32};
    program_start(&p, argc, argv);
    batch b = {.g = &p.g, .sources = (GrB_Index)p.columns};
    GrB_Vector centrality;
    GrB_Index *source;
    TRY(graph_sources(&source, &p.g, b.sources));
    TRY(GrB_Vector_new(&centrality, GrB_FP64, p.g.n));
    while (program_turn(&p)) {
        program_step(&p);
        centralities(centrality, &b, source);
        program_step_vector(&p, "betweenness", centrality);
    }
    printf("sources %d distances %d\n", p.columns, b.depth + 1);
    TRY(GrB_Vector_free(&centrality));
    free(source);
    return program_end(&p);
}
