/* PageRank with the update of the GAP benchmark: a fixed number of steps r = (1-d)/n + d A' (r ./ degree), FP32.
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

static void iterate(GrB_Vector rank, const GrB_Vector d, const program *p)
{
    const float n = (float)p->g.n;
    GrB_Vector share;
    TRY(GrB_Vector_new(&share, GrB_FP32, p->g.n));
    TRY(GrB_Vector_assign_FP32(rank, NULL, NULL, 1 / n, GrB_ALL, p->g.n, NULL));
    for (int step = 0; step < p->iterations; step++) {
        TRY(GrB_Vector_eWiseMult_BinaryOp(share, NULL, NULL, GrB_DIV_FP32, rank, d, NULL));
        TRY(GrB_Vector_assign_FP32(rank, NULL, NULL, (1 - damping) / n, GrB_ALL, p->g.n, NULL));
        TRY(GrB_mxv(rank, NULL, GrB_PLUS_FP32, GxB_PLUS_SECOND_FP32, p->g.A, share, NULL)); /* A' = A */
    }
    TRY(GrB_Vector_free(&share));
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
    program p = {.doc = "PageRank with the update of the GAP benchmark", .iterations = 20};
    program_start(&p, argc, argv);
    GrB_Vector d, rank;
    scaled_degrees(&d, p.g.A, p.g.n);
    TRY(GrB_Vector_new(&rank, GrB_FP32, p.g.n));
    program_step(&p);
    iterate(rank, d, &p);
    program_step_vector(&p, "pagerank", rank);
    print_top(rank, p.g.n);
    TRY(GrB_Vector_free(&d));
    TRY(GrB_Vector_free(&rank));
    return program_end(&p);
}
