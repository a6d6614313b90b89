/* Breadth-first search from the vertex of highest degree: the level of every vertex reached.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "program.h"

static GrB_Index highest_degree(const graph *g)
{
    GrB_Vector degrees;
    GrB_Index best = 0;
    int64_t most = -1;
    TRY(graph_degrees(&degrees, g->A));
    for (GrB_Index v = 0; v < g->n; v++) {
        int64_t degree;
        TRY(GrB_Vector_extractElement_INT64(&degree, degrees, v));
        if (degree > most) most = degree, best = v;
    }
    TRY(GrB_Vector_free(&degrees));
    return best;
}

/* Returns the number of levels. */
static int search(GrB_Vector level, const graph *g, GrB_Index source)
{
    GrB_Vector frontier;
    GrB_Index reached = 1;
    int depth = 0;
    TRY(GrB_Vector_new(&frontier, GrB_BOOL, g->n));
    TRY(GrB_Vector_setElement_BOOL(frontier, true, source));
    for (; reached > 0; depth++) {
        TRY(GrB_Vector_assign_INT64(level, frontier, NULL, depth, GrB_ALL, g->n, GrB_DESC_S));
        TRY(GrB_vxm(frontier, level, NULL, GxB_ANY_PAIR_BOOL, frontier, g->A, GrB_DESC_RSC));
        TRY(GrB_Vector_nvals(&reached, frontier));
    }
    TRY(GrB_Vector_free(&frontier));
    return depth;
}

int main(int argc, char **argv)
{
    program p = {.doc = "Breadth-first search from the vertex of highest degree"};
    program_start(&p, argc, argv);
    GrB_Vector level;
    GrB_Index reached;
    const GrB_Index source = highest_degree(&p.g);
    TRY(GrB_Vector_new(&level, GrB_INT64, p.g.n));
    program_step(&p);
    const int depth = search(level, &p.g, source);
    program_step_vector(&p, "bfs", level);
    TRY(GrB_Vector_nvals(&reached, level));
    printf("source %llu reached %llu levels %d\n", (unsigned long long)source, (unsigned long long)reached, depth);
    TRY(GrB_Vector_free(&level));
    return program_end(&p);
}
