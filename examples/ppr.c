/* Personalised PageRank from a batch of seeds: the ranks of each are a column of one dense matrix, FP32.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "program.h"

static const float damping = 0.85f;

typedef struct batch {
    const graph *g;
    GrB_Index seeds;
    GrB_Matrix D;      /* n x seeds: max (degree, 1) / damping of the row's vertex divides the rank that it passes on */
    GrB_Matrix jump;   /* n x seeds: 1 - damping at each column's seed, 0 elsewhere */
    GrB_Matrix start;  /* n x seeds: 1 at the seed, 0 elsewhere */
} batch;

/* D = d 1': a product of two dense matrices, one column and one row. */
static void repeat_degrees(batch *b)
{
    const GrB_Index n = b->g->n;
    GrB_Vector counts, d;
    GrB_Matrix column, ones;
    TRY(graph_degrees(&counts, b->g->A));
    TRY(GrB_Vector_new(&d, GrB_FP32, n));
    TRY(GrB_Vector_apply_BinaryOp2nd_FP32(d, NULL, NULL, GrB_MAX_FP32, counts, 1, NULL));
    TRY(GrB_Vector_apply_BinaryOp2nd_FP32(d, NULL, NULL, GrB_DIV_FP32, d, damping, NULL));
    TRY(GrB_Matrix_new(&column, GrB_FP32, n, 1));
    TRY(GrB_Col_assign(column, NULL, NULL, d, GrB_ALL, n, 0, NULL));
    TRY(GrB_Matrix_new(&ones, GrB_FP32, 1, b->seeds));
    TRY(GrB_Matrix_assign_FP32(ones, NULL, NULL, 1, GrB_ALL, 1, GrB_ALL, b->seeds, NULL));
    TRY(GrB_Matrix_new(&b->D, GrB_FP32, n, b->seeds));
    TRY(GrB_mxm(b->D, NULL, NULL, GxB_ANY_FIRST_FP32, column, ones, NULL));
    TRY(GrB_Vector_free(&counts));
    TRY(GrB_Vector_free(&d));
    TRY(GrB_Matrix_free(&column));
    TRY(GrB_Matrix_free(&ones));
}

/* Full n x seeds: value at each column's seed. */
static void at_seeds(GrB_Matrix *X, const batch *b, const GrB_Index *seed, float value)
{
    TRY(GrB_Matrix_new(X, GrB_FP32, b->g->n, b->seeds));
    TRY(GrB_Matrix_assign_FP32(*X, NULL, NULL, 0, GrB_ALL, b->g->n, GrB_ALL, b->seeds, NULL));
    for (GrB_Index s = 0; s < b->seeds; s++) TRY(GrB_Matrix_setElement_FP32(*X, value, seed[s], s));
    TRY(GrB_Matrix_wait(*X, GrB_MATERIALIZE));
}

/* R: ranks out.  Returns the number of steps. */
static int iterate(GrB_Matrix *R, const batch *b, const program *p)
{
    const GrB_Index n = b->g->n, k = b->seeds;
    GrB_Matrix T, W;
    float change = 1;
    int step = 0;
    TRY(GrB_Matrix_new(&T, GrB_FP32, n, k));
    TRY(GrB_Matrix_new(&W, GrB_FP32, n, k));
    TRY(GrB_Matrix_assign(*R, NULL, NULL, b->start, GrB_ALL, n, GrB_ALL, k, NULL));
    for (; step < p->iterations && change > (float)p->tolerance * (float)k; step++) {
        GrB_Matrix old = *R;
        *R = T, T = old;
        TRY(GrB_Matrix_eWiseMult_BinaryOp(W, NULL, NULL, GrB_DIV_FP32, T, b->D, NULL));
        TRY(GrB_Matrix_assign(*R, NULL, NULL, b->jump, GrB_ALL, n, GrB_ALL, k, NULL));
        TRY(GrB_mxm(*R, NULL, GrB_PLUS_FP32, GxB_PLUS_SECOND_FP32, b->g->A, W, NULL)); /* A' = A */
        TRY(GrB_Matrix_assign(T, NULL, GrB_MINUS_FP32, *R, GrB_ALL, n, GrB_ALL, k, NULL));
        TRY(GrB_Matrix_apply(T, NULL, NULL, GrB_ABS_FP32, T, NULL));
        TRY(GrB_Matrix_reduce_FP32(&change, NULL, GrB_PLUS_MONOID_FP32, T, NULL));
    }
    TRY(GrB_Matrix_free(&T));
    TRY(GrB_Matrix_free(&W));
    return step;
}

int main(int argc, char **argv)
{
    program p = {
        .doc = "Personalised PageRank from a batch of seeds", .iterations = 20, .columns = 64, .converges = true};
    program_start(&p, argc, argv);
    batch b = {.g = &p.g, .seeds = (GrB_Index)p.columns};
    GrB_Index *seed;
    GrB_Matrix R;
    int steps = 0;
    TRY(graph_sources(&seed, &p.g, b.seeds));
    repeat_degrees(&b);
    at_seeds(&b.jump, &b, seed, 1 - damping);
    at_seeds(&b.start, &b, seed, 1);
    TRY(GrB_Matrix_new(&R, GrB_FP32, p.g.n, b.seeds));
    while (program_turn(&p)) {
        program_step(&p);
        steps = iterate(&R, &b, &p);
        program_step_matrix(&p, "ppr", R);
    }
    printf("seeds %d iterations %d\n", p.columns, steps);
    TRY(GrB_Matrix_free(&b.D));
    TRY(GrB_Matrix_free(&b.jump));
    TRY(GrB_Matrix_free(&b.start));
    TRY(GrB_Matrix_free(&R));
    free(seed);
    return program_end(&p);
}
