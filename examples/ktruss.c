/* k-truss: drop edges that are in fewer than k-2 triangles of what is left, until none is.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "program.h"

/* support: of every edge that is left.  Returns the number of rounds. */
static int peel(GrB_Matrix support, GrB_Index *left, const program *p)
{
    GrB_Matrix truss;
    GrB_Index before;
    int rounds = 0;
    *left = 2 * p->g.edges;
    TRY(GrB_Matrix_dup(&truss, p->g.A));
    do {
        before = *left;
        TRY(GrB_mxm(support, truss, NULL, GxB_PLUS_PAIR_INT64, truss, truss, GrB_DESC_RST1));
        TRY(GrB_Matrix_select_INT64(support, NULL, NULL, GrB_VALUEGE_INT64, support, p->k - 2, NULL));
        TRY(GrB_Matrix_apply(truss, NULL, NULL, GxB_ONE_BOOL, support, NULL));
        TRY(GrB_Matrix_nvals(left, truss));
        rounds++;
    } while (*left != before);
    TRY(GrB_Matrix_free(&truss));
    return rounds;
}

int main(int argc, char **argv)
{
    program p = {.doc = "k-truss of a graph (k = 4 unless given)", .k = 4};
    program_start(&p, argc, argv);
    GrB_Matrix support;
    GrB_Index left = 0;
    int rounds = 0;
    TRY(GrB_Matrix_new(&support, GrB_INT64, p.g.n, p.g.n));
    while (program_turn(&p)) {
        program_step(&p);
        rounds = peel(support, &left, &p);
        program_step_matrix(&p, "ktruss", support);
    }
    printf("truss k %d edges %llu rounds %d\n", p.k, (unsigned long long)(left / 2), rounds);
    TRY(GrB_Matrix_free(&support));
    return program_end(&p);
}
