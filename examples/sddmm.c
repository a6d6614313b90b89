/* Scores of edges from vertex features: S<A> = X Y', a dense product sampled at the edges, FP32.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "program.h"

int main(int argc, char **argv)
{
    program p = {.doc = "Edge scores: a dense product sampled at the edges", .columns = 64};
    program_start(&p, argc, argv);
    GrB_Matrix X, Y, S;
    float best = 0;
    TRY(graph_dense(&X, p.g.n, (GrB_Index)p.columns, 3));
    TRY(graph_dense(&Y, p.g.n, (GrB_Index)p.columns, 4));
    TRY(GrB_Matrix_new(&S, GrB_FP32, p.g.n, p.g.n));
    while (program_turn(&p)) {
        program_step(&p);
        TRY(GrB_mxm(S, p.g.A, NULL, GrB_PLUS_TIMES_SEMIRING_FP32, X, Y, GrB_DESC_ST1));
        program_step_matrix(&p, "sddmm", S);
    }
    TRY(GrB_Matrix_reduce_FP32(&best, NULL, GrB_MAX_MONOID_FP32, S, NULL));
    printf("best score %.5f\n", (double)best);
    TRY(GrB_Matrix_free(&X));
    TRY(GrB_Matrix_free(&Y));
    TRY(GrB_Matrix_free(&S));
    return program_end(&p);
}
