/* PageRank as in the GAP benchmark: steps r = (1-d)/n + d A' (r ./ degree), FP32, and how much the ranks change in each.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "program.h"

enum { SHOWN = 5 };
static const float damping = 0.85f;

/* d = max(degree, 1) / damping: divides the rank that a vertex passes on. */
static void scaled_degrees(GrB_Vector *d, const GrB_Matrix A, GrB_Index n)
{
    GrB_Vector counts;
    TRY(graph_degrees(&counts, A));
    TRY(GrB_Vector_new(d, GrB_FP32, n));
    TRY(GrB_Vector_apply_BinaryOp2nd_FP32(*d, NULL, NULL, GrB_MAX_FP32, counts, 1, NULL));
    TRY(GrB_Vector_apply_BinaryOp2nd_FP32(*d, NULL, NULL, GrB_DIV_FP32, *d, damping, NULL));
    TRY(GrB_Vector_free(&counts));
}

/* r: ranks in, ranks out.  Returns the number of steps. */
static int iterate(GrB_Vector *r, const GrB_Vector d, const program *p)
{
    const GrB_Index n = p->g.n;
    const float teleport = (1 - damping) / (float)n;
    GrB_Vector t, w;
    float change = 1;
    int step = 0;
    TRY(GrB_Vector_new(&t, GrB_FP32, n));
    TRY(GrB_Vector_new(&w, GrB_FP32, n));
    for (; step < p->iterations && change > (float)p->tolerance; step++) {
        GrB_Vector old = *r;
        *r = t, t = old;
        TRY(GrB_Vector_eWiseMult_BinaryOp(w, NULL, NULL, GrB_DIV_FP32, t, d, NULL));
        TRY(GrB_Vector_assign_FP32(*r, NULL, NULL, teleport, GrB_ALL, n, NULL));
        TRY(GrB_mxv(*r, NULL, GrB_PLUS_FP32, GxB_PLUS_SECOND_FP32, p->g.A, w, NULL)); /* A' = A */
        TRY(GrB_Vector_assign(t, NULL, GrB_MINUS_FP32, *r, GrB_ALL, n, NULL));
        TRY(GrB_Vector_apply(t, NULL, NULL, GrB_ABS_FP32, t, NULL));
        TRY(GrB_Vector_reduce_FP32(&change, NULL, GrB_PLUS_MONOID_FP32, t, NULL));
    }
    TRY(GrB_Vector_free(&t));
    TRY(GrB_Vector_free(&w));
    return step;
}

/* The vertices of highest rank, lower number first among equals. */
static void print_top(const GrB_Vector rank, GrB_Index n)
{
    GrB_Index top[SHOWN];
    float value[SHOWN];
    int shown = 0;
    for (GrB_Index v = 0; v < n; v++) {
        float r;
        TRY(GrB_Vector_extractElement_FP32(&r, rank, v));
        int at = shown < SHOWN ? shown++ : SHOWN;
        for (; at > 0 && value[at - 1] < r; at--)
            if (at < SHOWN) top[at] = top[at - 1], value[at] = value[at - 1];
        if (at < SHOWN) top[at] = v, value[at] = r;
    }
    for (int k = 0; k < shown; k++)
        printf("rank %d vertex %llu %.5f\n", k + 1, (unsigned long long)top[k], (double)value[k]);
}

int main(int argc, char **argv)
{
    program p = {.doc = "PageRank as in the GAP benchmark", .iterations = 20, .converges = true};
    program_start(&p, argc, argv);
    GrB_Vector d, rank;
    int steps = 0;
    scaled_degrees(&d, p.g.A, p.g.n);
    TRY(GrB_Vector_new(&rank, GrB_FP32, p.g.n));
    while (program_turn(&p)) {
        program_step(&p);
        TRY(GrB_Vector_assign_FP32(rank, NULL, NULL, 1 / (float)p.g.n, GrB_ALL, p.g.n, NULL));
        steps = iterate(&rank, d, &p);
        program_step_vector(&p, "pagerank", rank);
    }
    printf("iterations %d\n", steps);
    print_top(rank, p.g.n);
    TRY(GrB_Vector_free(&d));
    TRY(GrB_Vector_free(&rank));
    return program_end(&p);
}
