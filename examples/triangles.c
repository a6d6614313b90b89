/* Triangle counting by a masked product, after sorting the vertices by degree.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "program.h"

static const char *const forms[] = {"lut", "ll", "ul", "burkhardt", "cohen", NULL};

static void split(GrB_Matrix *L, GrB_Matrix *U, const GrB_Matrix S, GrB_Index n)
{
    TRY(GrB_Matrix_new(L, GrB_BOOL, n, n));
    TRY(GrB_Matrix_new(U, GrB_BOOL, n, n));
    TRY(GrB_Matrix_select_INT64(*L, NULL, NULL, GrB_TRIL, S, -1, NULL));
    TRY(GrB_Matrix_select_INT64(*U, NULL, NULL, GrB_TRIU, S, 1, NULL));
    TRY(GrB_Matrix_wait(*L, GrB_MATERIALIZE));
    TRY(GrB_Matrix_wait(*U, GrB_MATERIALIZE));
}

/* C = triangles seen from each edge; returns how often each triangle is counted in it. */
static int count(GrB_Matrix C, const GrB_Matrix S, const GrB_Matrix L, const GrB_Matrix U, const char *form)
{
    const GrB_Semiring pairs = GxB_PLUS_PAIR_INT64;
    if (strcmp(form, "lut") == 0) {
        TRY(GrB_mxm(C, L, NULL, pairs, L, U, GrB_DESC_ST1));
        return 1;
    }
    if (strcmp(form, "ll") == 0) {
        TRY(GrB_mxm(C, L, NULL, pairs, L, L, GrB_DESC_S));
        return 1;
    }
    if (strcmp(form, "ul") == 0) {
        TRY(GrB_mxm(C, U, NULL, pairs, U, L, GrB_DESC_ST1));
        return 1;
    }
    if (strcmp(form, "cohen") == 0) {
        TRY(GrB_mxm(C, S, NULL, pairs, L, U, GrB_DESC_S));
        return 2;
    }
    TRY(GrB_mxm(C, S, NULL, pairs, S, S, GrB_DESC_S));
    return 6;
}

int main(int argc, char **argv)
{
    program p = {
        .doc = "Triangle counting: forms lut (default), ll, ul, burkhardt, cohen", .form = "lut", .forms = forms};
    program_start(&p, argc, argv);
    GrB_Matrix S, L, U, C;
    int64_t total = 0;
    while (program_turn(&p)) {
        program_step(&p);
        TRY(graph_sort_by_degree(&S, &p.g));
        split(&L, &U, S, p.g.n);
        program_step_value(&p, "sort", (double)p.g.edges);
        TRY(GrB_Matrix_new(&C, GrB_INT64, p.g.n, p.g.n));
        program_step(&p);
        const int times = count(C, S, L, U, p.form);
        TRY(GrB_Matrix_reduce_INT64(&total, NULL, GrB_PLUS_MONOID_INT64, C, NULL));
        total /= times;
        program_step_value(&p, "triangles", (double)total);
        TRY(GrB_Matrix_free(&S));
        TRY(GrB_Matrix_free(&L));
        TRY(GrB_Matrix_free(&U));
        TRY(GrB_Matrix_free(&C));
    }
    printf("triangles %lld\n", (long long)total);
    return program_end(&p);
}
