/* Calls that only SuiteSparse computes and that take whole objects in place: what Tessera knows of them is stale afterwards.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "program.h"

static const bound any_bound = {201, 201, true};

/* By values, which keep their order where they are equal.  The places they came from may be asked for, too. */
static void sort_matrix(void)
{
    object *A = pool_any_matrix(), *C, *P;
    if (A->type == T_USER) return report_text("skip", GrB_SUCCESS);
    tame(A); /* no NaN, which has no order */
    without_hyper(A, false);
    C = rng_chance(30) ? A : pool_matrix(A->nrows, A->ncols, A->type, WANT_ANY);
    P = rng_chance(50) ? pool_matrix(A->nrows, A->ncols, T_INT64, WANT_ANY) : NULL;
    if (P == A || P == C) P = NULL;
    const GrB_BinaryOp order = rng_chance(50) ? GrB_LT_FP64 : GrB_GT_INT32;
    const GrB_Info info = GxB_Matrix_sort(C->m, P ? P->m : NULL, order, A->m, NULL);
    if (info == GrB_SUCCESS) {
        C->b = A->b;
        C->dense = A->dense;
        if (P) P->b = any_bound;
    }
    if (P) report("sorted_places", info, P);
    report("sort", info, C);
}

static void sort_vector(void)
{
    object *u = pool_any_vector(), *w;
    if (u->type == T_USER) return report_text("skip", GrB_SUCCESS);
    tame(u);
    w = rng_chance(30) ? u : pool_vector(u->nrows, u->type, WANT_ANY);
    const GrB_Info info = GxB_Vector_sort(w->v, NULL, rng_chance(50) ? GrB_GT_FP64 : GrB_LT_INT32, u->v, NULL);
    if (info == GrB_SUCCESS) {
        w->b = u->b;
        w->dense = u->dense;
    }
    report("vec_sort", info, w);
}

/* SuiteSparse allocates the blob. */
static void serialize_matrix(void)
{
    object *A = pool_any_matrix();
    void *blob = NULL;
    GrB_Index size = 0, nvals = 0;
    GrB_Matrix C = NULL;
    operand(A);
    without_hyper(A, false);
    GrB_Matrix_nvals(&nvals, A->m);
    if (nvals == 0) return report_text("skip", GrB_SUCCESS); /* 7.4.0 cannot always read back an empty one */
    GrB_Info info = GxB_Matrix_serialize(&blob, &size, A->m, NULL);
    report_text("gxb_serialize", info);
    if (info != GrB_SUCCESS) return;
    if (rng_chance(50)) tame(A); /* the blob must hold what was there before */
    info = GxB_Matrix_deserialize(&C, type_handle(A->type), blob, size, NULL);
    if (info == GrB_SUCCESS) object_replace(A, C);
    A->b = any_bound;
    A->hyper = false;
    free_by_program(blob);
    report("gxb_deserialize", info, A);
}

/* In place, where reshapeDup makes another matrix. */
static void reshape_in_place(void)
{
    object *A = pool_any_matrix();
    operand(A);
    without_hyper(A, false);
    const GrB_Info info = GxB_Matrix_reshape(A->m, rng_chance(50), (GrB_Index)A->ncols, (GrB_Index)A->nrows, NULL);
    if (info == GrB_SUCCESS) {
        const int rows = A->nrows;
        A->nrows = A->ncols;
        A->ncols = rows;
    }
    report("reshape_in_place", info, A);
}

/* Into a matrix that is there. */
static void diagonal_into(void)
{
    object *u = pool_any_vector();
    operand(u);
    object *C = pool_matrix(u->nrows, u->nrows, u->type, WANT_ANY);
    const GrB_Info info = GxB_Matrix_diag(C->m, u->v, 0, NULL);
    if (info == GrB_SUCCESS) {
        C->b = u->b;
        C->dense = C->hyper = false;
    }
    report("diag_into", info, C);
}

void op_whole(void)
{
    static void (*const ops[])(void) = {sort_matrix, sort_vector, serialize_matrix, reshape_in_place, diagonal_into};
    ops[rng_below(5)]();
}
