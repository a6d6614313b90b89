/* Layers of an attention-based graph network (AGNN): H = P H, where row u of P is the softmax, over the neighbours v of u, of the
 * cosine of their features, FP32.  Cosines lie in [-1, 1], so no exponential overflows.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "program.h"

/* *D = diagonal matrix of op (sum over each row of X). */
static void diagonal_of_sums(GrB_Matrix *D, const GrB_Matrix X, GrB_UnaryOp op, GrB_Index n)
{
    GrB_Vector sums;
    TRY(GrB_Vector_new(&sums, GrB_FP32, n));
    TRY(GrB_Matrix_reduce_Monoid(sums, NULL, NULL, GrB_PLUS_MONOID_FP32, X, NULL));
    TRY(GrB_Vector_apply(sums, NULL, NULL, op, sums, NULL));
    TRY(GrB_Matrix_diag(D, sums, 0));
    TRY(GrB_Vector_free(&sums));
}

/* N = H with every row divided by its length. */
static void unit_rows(GrB_Matrix N, const GrB_Matrix H, GrB_Index n)
{
    GrB_Matrix lengths, D;
    TRY(GrB_Matrix_eWiseMult_BinaryOp(N, NULL, NULL, GrB_TIMES_FP32, H, H, NULL));
    diagonal_of_sums(&lengths, N, GxB_SQRT_FP32, n);
    TRY(GrB_Matrix_dup(&D, lengths));
    TRY(GrB_Matrix_apply(D, NULL, NULL, GrB_MINV_FP32, lengths, NULL));
    TRY(GrB_mxm(N, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP32, D, H, NULL));
    TRY(GrB_Matrix_free(&lengths));
    TRY(GrB_Matrix_free(&D));
}

/* P<A> = softmax by row of N N'. */
static void attend(GrB_Matrix P, const graph *g, const GrB_Matrix N)
{
    GrB_Matrix D;
    TRY(GrB_mxm(P, g->A, NULL, GrB_PLUS_TIMES_SEMIRING_FP32, N, N, GrB_DESC_RST1));
    TRY(GrB_Matrix_apply(P, NULL, NULL, GxB_EXP_FP32, P, NULL));
    diagonal_of_sums(&D, P, GrB_MINV_FP32, g->n);
    TRY(GrB_mxm(P, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP32, D, P, NULL));
    TRY(GrB_Matrix_free(&D));
}

static void layers(GrB_Matrix H, GrB_Matrix N, GrB_Matrix P, program *p)
{
    for (int layer = 1; layer <= p->iterations; layer++) {
        char name[32];
        program_step(p);
        unit_rows(N, H, p->g.n);
        attend(P, &p->g, N);
        snprintf(name, sizeof name, "weights%d", layer);
        program_step_matrix(p, name, P);
        program_step(p);
        TRY(GrB_mxm(H, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP32, P, H, NULL));
        snprintf(name, sizeof name, "features%d", layer);
        program_step_matrix(p, name, H);
    }
}

int main(int argc, char **argv)
{
    program p = {.doc = "Layers of an attention-based graph network", .columns = 64, .iterations = 2};
    program_start(&p, argc, argv);
    GrB_Matrix X, H, N, P;
    TRY(graph_dense(&X, p.g.n, (GrB_Index)p.columns, 1));
    TRY(GrB_Matrix_new(&N, GrB_FP32, p.g.n, (GrB_Index)p.columns));
    TRY(GrB_Matrix_new(&P, GrB_FP32, p.g.n, p.g.n));
    while (program_turn(&p)) {
        TRY(GrB_Matrix_dup(&H, X));
        layers(H, N, P, &p);
        TRY(GrB_Matrix_free(&H));
    }
    TRY(GrB_Matrix_free(&X));
    TRY(GrB_Matrix_free(&N));
    TRY(GrB_Matrix_free(&P));
    return program_end(&p);
}
