/* Layers of a graph convolutional network: H = max(N H W, 0) with N = D^-1/2 (A+I) D^-1/2, FP32.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "program.h"

/* 1 / sqrt (degree + 1) of every vertex. */
static void inverse_roots(GrB_Matrix *D, const GrB_Matrix A, GrB_Index n)
{
    GrB_Vector degrees, roots;
    TRY(graph_degrees(&degrees, A));
    TRY(GrB_Vector_new(&roots, GrB_FP32, n));
    TRY(GrB_Vector_apply_BinaryOp2nd_FP32(roots, NULL, NULL, GrB_PLUS_FP32, degrees, 1, NULL));
    TRY(GrB_Vector_apply(roots, NULL, NULL, GxB_SQRT_FP32, roots, NULL));
    TRY(GrB_Vector_apply(roots, NULL, NULL, GrB_MINV_FP32, roots, NULL));
    TRY(GrB_Matrix_diag(D, roots, 0));
    TRY(GrB_Vector_free(&degrees));
    TRY(GrB_Vector_free(&roots));
}

static void normalized(GrB_Matrix *N, const graph *g)
{
    GrB_Matrix D;
    GrB_Vector ones;
    inverse_roots(&D, g->A, g->n);
    TRY(GrB_Vector_new(&ones, GrB_FP32, g->n));
    TRY(GrB_Vector_assign_FP32(ones, NULL, NULL, 1, GrB_ALL, g->n, NULL));
    TRY(GrB_Matrix_diag(N, ones, 0));
    TRY(GrB_Matrix_eWiseAdd_BinaryOp(*N, NULL, NULL, GrB_PLUS_FP32, *N, g->A, NULL));
    TRY(GrB_mxm(*N, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP32, D, *N, NULL));
    TRY(GrB_mxm(*N, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP32, *N, D, NULL));
    TRY(GrB_Matrix_wait(*N, GrB_MATERIALIZE));
    TRY(GrB_Matrix_free(&D));
    TRY(GrB_Vector_free(&ones));
}

int main(int argc, char **argv)
{
    program p = {.doc = "Layers of a graph convolutional network", .columns = 128, .iterations = 2};
    program_start(&p, argc, argv);
    const GrB_Index n = p.g.n, width = (GrB_Index)p.columns;
    GrB_Matrix N, X, H, W, T;
    normalized(&N, &p.g);
    TRY(graph_dense(&X, n, width, 1));
    TRY(graph_dense(&W, width, width, 2));
    TRY(GrB_Matrix_new(&H, GrB_FP32, n, width));
    TRY(GrB_Matrix_new(&T, GrB_FP32, n, width));
    while (program_turn(&p)) {
        program_step(&p);
        for (int layer = 0; layer < p.iterations; layer++) {
            TRY(GrB_mxm(T, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP32, N, layer == 0 ? X : H, NULL));
            TRY(GrB_mxm(H, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP32, T, W, NULL));
            TRY(GrB_Matrix_apply_BinaryOp2nd_FP32(H, NULL, NULL, GrB_MAX_FP32, H, 0, NULL));
        }
        program_step_matrix(&p, "gcn", H);
    }
    TRY(GrB_Matrix_free(&N));
    TRY(GrB_Matrix_free(&X));
    TRY(GrB_Matrix_free(&H));
    TRY(GrB_Matrix_free(&W));
    TRY(GrB_Matrix_free(&T));
    return program_end(&p);
}
