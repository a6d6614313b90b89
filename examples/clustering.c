/* Clustering coefficients: which share of the pairs of a vertex's neighbours are neighbours themselves.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "program.h"

/* Triangles through every vertex that is in one, twice: C<A> = A A counts, per edge, the neighbours its ends share. */
static void paths_closed(GrB_Vector *closed, const GrB_Matrix A, GrB_Index n)
{
    GrB_Matrix C;
    TRY(GrB_Matrix_new(&C, GrB_INT64, n, n));
    TRY(GrB_Vector_new(closed, GrB_INT64, n));
    TRY(GrB_mxm(C, A, NULL, GxB_PLUS_PAIR_INT64, A, A, GrB_DESC_ST1));
    TRY(GrB_Matrix_reduce_Monoid(*closed, NULL, NULL, GrB_PLUS_MONOID_INT64, C, NULL));
    TRY(GrB_Matrix_free(&C));
}

/* d (d - 1) of every vertex: ordered pairs of its neighbours. */
static void paths_open(GrB_Vector *open, const GrB_Matrix A, GrB_Index n)
{
    GrB_Vector degrees;
    TRY(graph_degrees(&degrees, A));
    TRY(GrB_Vector_new(open, GrB_INT64, n));
    TRY(GrB_Vector_apply_BinaryOp2nd_INT64(*open, NULL, NULL, GrB_MINUS_INT64, degrees, 1, NULL));
    TRY(GrB_Vector_eWiseMult_BinaryOp(*open, NULL, NULL, GrB_TIMES_INT64, degrees, *open, NULL));
    TRY(GrB_Vector_free(&degrees));
}

int main(int argc, char **argv)
{
    program p = {.doc = "Clustering coefficients of the vertices"};
    program_start(&p, argc, argv);
    GrB_Vector closed, open, coefficients;
    double sum = 0;
    TRY(GrB_Vector_new(&coefficients, GrB_FP64, p.g.n));
    while (program_turn(&p)) {
        program_step(&p);
        paths_closed(&closed, p.g.A, p.g.n);
        paths_open(&open, p.g.A, p.g.n);
        TRY(GrB_Vector_eWiseMult_BinaryOp(coefficients, NULL, NULL, GrB_DIV_FP64, closed, open, NULL));
        program_step_vector(&p, "clustering", coefficients);
        TRY(GrB_Vector_free(&closed));
        TRY(GrB_Vector_free(&open));
    }
    TRY(GrB_Vector_reduce_FP64(&sum, NULL, GrB_PLUS_MONOID_FP64, coefficients, NULL));
    printf("mean clustering coefficient %.6f\n", sum / (double)p.g.n);
    TRY(GrB_Vector_free(&coefficients));
    return program_end(&p);
}
