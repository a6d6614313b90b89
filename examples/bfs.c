/* Breadth-first search from the vertex of highest degree: the level of every vertex reached.  Each step pushes from the vertices reached
 * last, or pulls into those not reached yet (Beamer, Asanovic, Patterson 2012).
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "program.h"

typedef struct progress {
    GrB_Index last;      /* vertices reached in the step before */
    int64_t unexplored;  /* entries in rows not reached yet; known until the first pull */
    bool pull, pulled;
} progress;

static int64_t edges_at(GrB_Vector w, const GrB_Vector frontier, const GrB_Vector degrees, GrB_Index n)
{
    int64_t edges = 0;
    TRY(GrB_Vector_assign(w, frontier, NULL, degrees, GrB_ALL, n, GrB_DESC_RS));
    TRY(GrB_Vector_reduce_INT64(&edges, NULL, GrB_PLUS_MONOID_INT64, w, NULL));
    return edges;
}

/* Pull when what is to be pushed is an eighth of what is left; push again when the frontier shrinks to a few. */
static void choose(progress *at, GrB_Index reached, GrB_Vector w, const GrB_Vector frontier, const GrB_Vector degrees,
                   GrB_Index n)
{
    const bool growing = reached > at->last;
    if (at->pull) {
        at->pull = growing || reached > n / 512;
    } else if (at->pulled) {
        at->pull = growing && reached > n / 8;
    } else if (at->unexplored >= (int64_t)n) {
        const int64_t edges = edges_at(w, frontier, degrees, n);
        at->unexplored -= edges;
        at->pull = growing && edges > at->unexplored / 8;
    }
    at->pulled |= at->pull;
    at->last = reached;
}

/* Returns the number of levels. */
static int search(GrB_Vector level, const graph *g, const GrB_Vector degrees, GrB_Index source)
{
    progress at = {.unexplored = 2 * (int64_t)g->edges};
    GrB_Vector frontier, w;
    GrB_Index reached = 1;
    int depth = 0;
    TRY(GrB_Vector_new(&frontier, GrB_BOOL, g->n));
    TRY(GrB_Vector_new(&w, GrB_INT64, g->n));
    TRY(GrB_Vector_setElement_BOOL(frontier, true, source));
    for (;;) {
        TRY(GrB_Vector_assign_INT32(level, frontier, NULL, depth++, GrB_ALL, g->n, GrB_DESC_S));
        choose(&at, reached, w, frontier, degrees, g->n);
        TRY(GxB_Vector_Option_set(frontier, GxB_SPARSITY_CONTROL, at.pull ? GxB_BITMAP : GxB_SPARSE));
        if (at.pull)
            TRY(GrB_mxv(frontier, level, NULL, GxB_ANY_PAIR_BOOL, g->A, frontier, GrB_DESC_RSC)); /* A' = A */
        else
            TRY(GrB_vxm(frontier, level, NULL, GxB_ANY_PAIR_BOOL, frontier, g->A, GrB_DESC_RSC));
        TRY(GrB_Vector_nvals(&reached, frontier));
        if (reached == 0) break;
    }
    TRY(GrB_Vector_free(&frontier));
    TRY(GrB_Vector_free(&w));
    return depth;
}

int main(int argc, char **argv)
{
    program p = {.doc = "Breadth-first search from the vertex of highest degree"};
    program_start(&p, argc, argv);
    GrB_Vector level, degrees;
    GrB_Index reached = 0, source;
    int depth = 0;
    TRY(graph_degrees(&degrees, p.g.A));
    TRY(graph_hub(&source, &p.g));
    while (program_turn(&p)) {
        TRY(GrB_Vector_new(&level, GrB_INT32, p.g.n));
        TRY(GxB_Vector_Option_set(level, GxB_SPARSITY_CONTROL, GxB_BITMAP + GxB_FULL));
        program_step(&p);
        depth = search(level, &p.g, degrees, source);
        program_step_vector(&p, "bfs", level);
        TRY(GrB_Vector_nvals(&reached, level));
        TRY(GrB_Vector_free(&level));
    }
    printf("source %llu reached %llu levels %d\n", (unsigned long long)source, (unsigned long long)reached, depth);
    TRY(GrB_Vector_free(&degrees));
    return program_end(&p);
}
