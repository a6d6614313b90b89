/* Markov clustering (van Dongen 2000): flow spreads by squaring a column-stochastic matrix, and is concentrated by squaring its entries.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "program.h"

#define LEAST_FLOW 1e-3 /* entries below are dropped */

/* Rows of M add up to one: those of the transposed matrix of the paper. */
static void normalize(GrB_Matrix M, GrB_Index n)
{
    GrB_Vector sums;
    GrB_Matrix D;
    TRY(GrB_Vector_new(&sums, GrB_FP64, n));
    TRY(GrB_Matrix_reduce_Monoid(sums, NULL, NULL, GrB_PLUS_MONOID_FP64, M, NULL));
    TRY(GrB_Vector_apply(sums, NULL, NULL, GrB_MINV_FP64, sums, NULL));
    TRY(GrB_Matrix_diag(&D, sums, 0));
    TRY(GrB_mxm(M, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, D, M, NULL));
    TRY(GrB_Matrix_free(&D));
    TRY(GrB_Vector_free(&sums));
}

/* A with loops, as probabilities of one step. */
static void begin(GrB_Matrix *M, const graph *g)
{
    GrB_Vector ones;
    GrB_Matrix D;
    TRY(GrB_Vector_new(&ones, GrB_FP64, g->n));
    TRY(GrB_Vector_assign_FP64(ones, NULL, NULL, 1, GrB_ALL, g->n, NULL));
    TRY(GrB_Matrix_diag(&D, ones, 0));
    TRY(GrB_Matrix_new(M, GrB_FP64, g->n, g->n));
    TRY(GrB_Matrix_eWiseAdd_BinaryOp(*M, NULL, NULL, GrB_PLUS_FP64, g->A, D, NULL));
    normalize(*M, g->n);
    TRY(GrB_Matrix_free(&D));
    TRY(GrB_Vector_free(&ones));
}

/* Two steps instead of one; then probable ones become more probable, and improbable ones none. */
static void iterate(GrB_Matrix *M, GrB_Index n)
{
    GrB_Matrix C;
    TRY(GrB_Matrix_new(&C, GrB_FP64, n, n));
    TRY(GrB_mxm(C, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, *M, *M, NULL));
    TRY(GrB_Matrix_apply_BinaryOp2nd_FP64(C, NULL, NULL, GxB_POW_FP64, C, 2, NULL));
    normalize(C, n);
    TRY(GrB_Matrix_select_FP64(C, NULL, NULL, GrB_VALUEGE_FP64, C, LEAST_FLOW, NULL));
    normalize(C, n);
    TRY(GrB_Matrix_free(M));
    *M = C;
}

/* Where the flow of each vertex ends: the columns of M that have entries are the attractors. */
static GrB_Index attractors(const GrB_Matrix M, GrB_Index n)
{
    GrB_Vector reached;
    GrB_Index count = 0;
    TRY(GrB_Vector_new(&reached, GrB_FP64, n));
    TRY(GrB_Matrix_reduce_Monoid(reached, NULL, NULL, GrB_PLUS_MONOID_FP64, M, GrB_DESC_T0));
    TRY(GrB_Vector_nvals(&count, reached));
    TRY(GrB_Vector_free(&reached));
    return count;
}

int main(int argc, char **argv)
{
    program p = {.doc = "Markov clustering: square, inflate, prune, normalize", .iterations = 6};
    program_start(&p, argc, argv);
    GrB_Matrix M;
    GrB_Index ends = 0;
    while (program_turn(&p)) {
        begin(&M, &p.g);
        program_step(&p);
        for (int k = 0; k < p.iterations; k++)
            iterate(&M, p.g.n);
        program_step_matrix(&p, "flow", M);
        ends = attractors(M, p.g.n);
        TRY(GrB_Matrix_free(&M));
    }
    printf("%llu vertices attract flow\n", (unsigned long long)ends);
    return program_end(&p);
}
