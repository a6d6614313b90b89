/* A coarse operator of algebraic multigrid, R A P: A is the Laplacian of the graph plus one on the diagonal, P sends each vertex to one of
 * n / k aggregates, smoothed by one step of Jacobi, and R is P transposed.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "program.h"

/* D + 1 - A, and (D + 1)^-1 */
static void laplacian(GrB_Matrix *L, GrB_Matrix *inverse, const graph *g)
{
    GrB_Vector degrees, diagonal;
    GrB_Matrix D;
    TRY(graph_degrees(&degrees, g->A));
    TRY(GrB_Vector_new(&diagonal, GrB_FP64, g->n));
    TRY(GrB_Vector_apply_BinaryOp2nd_FP64(diagonal, NULL, NULL, GrB_PLUS_FP64, degrees, 1, NULL));
    TRY(GrB_Matrix_diag(&D, diagonal, 0));
    TRY(GrB_Vector_apply(diagonal, NULL, NULL, GrB_MINV_FP64, diagonal, NULL));
    TRY(GrB_Matrix_diag(inverse, diagonal, 0));
    TRY(GrB_Matrix_new(L, GrB_FP64, g->n, g->n));
    TRY(GrB_Matrix_apply(*L, NULL, NULL, GrB_AINV_FP64, g->A, NULL));
    TRY(GrB_Matrix_eWiseAdd_BinaryOp(*L, NULL, NULL, GrB_PLUS_FP64, *L, D, NULL));
    TRY(GrB_Matrix_free(&D));
    TRY(GrB_Vector_free(&degrees));
    TRY(GrB_Vector_free(&diagonal));
}

/* T: vertex v in aggregate v / k.  P = T - 2/3 (D + 1)^-1 L T */
static void interpolation(GrB_Matrix *P, const GrB_Matrix L, const GrB_Matrix inverse, GrB_Index n, GrB_Index k)
{
    const GrB_Index coarse = (n + k - 1) / k;
    GrB_Matrix T;
    TRY(GrB_Matrix_new(&T, GrB_FP64, n, coarse));
    for (GrB_Index v = 0; v < n; v++)
        TRY(GrB_Matrix_setElement_FP64(T, 1, v, v / k));
    TRY(GrB_Matrix_new(P, GrB_FP64, n, coarse));
    TRY(GrB_mxm(*P, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, L, T, NULL));
    TRY(GrB_mxm(*P, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, inverse, *P, NULL));
    TRY(GrB_Matrix_apply_BinaryOp2nd_FP64(*P, NULL, NULL, GrB_TIMES_FP64, *P, -2.0 / 3, NULL));
    TRY(GrB_Matrix_eWiseAdd_BinaryOp(*P, NULL, NULL, GrB_PLUS_FP64, *P, T, NULL));
    TRY(GrB_Matrix_free(&T));
}

static void coarsen(GrB_Matrix *C, const GrB_Matrix L, const GrB_Matrix P, GrB_Index n, GrB_Index coarse)
{
    GrB_Matrix AP, R;
    TRY(GrB_Matrix_new(&AP, GrB_FP64, n, coarse));
    TRY(GrB_Matrix_new(&R, GrB_FP64, coarse, n));
    TRY(GrB_Matrix_new(C, GrB_FP64, coarse, coarse));
    TRY(GrB_transpose(R, NULL, NULL, P, NULL));
    TRY(GrB_mxm(AP, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, L, P, NULL));
    TRY(GrB_mxm(*C, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, R, AP, NULL));
    TRY(GrB_Matrix_free(&AP));
    TRY(GrB_Matrix_free(&R));
}

int main(int argc, char **argv)
{
    program p = {.doc = "Coarse operator R A P of smoothed aggregation, --k vertices an aggregate", .k = 8};
    program_start(&p, argc, argv);
    GrB_Matrix L, inverse, P, C;
    GrB_Index entries = 0;
    const GrB_Index k = (GrB_Index)p.k, coarse = (p.g.n + k - 1) / k;
    while (program_turn(&p)) {
        laplacian(&L, &inverse, &p.g);
        interpolation(&P, L, inverse, p.g.n, k);
        program_step(&p);
        coarsen(&C, L, P, p.g.n, coarse);
        program_step_matrix(&p, "coarse", C);
        TRY(GrB_Matrix_nvals(&entries, C));
        TRY(GrB_Matrix_free(&L));
        TRY(GrB_Matrix_free(&inverse));
        TRY(GrB_Matrix_free(&P));
        TRY(GrB_Matrix_free(&C));
    }
    printf("%llu entries in a coarse operator of %llu rows\n", (unsigned long long)entries, (unsigned long long)coarse);
    return program_end(&p);
}
