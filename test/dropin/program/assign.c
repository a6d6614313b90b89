/* Assign, subassign and extract, by lists, ranges and GrB_ALL.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "program.h"

enum { LIST_MAX = 320 };

typedef struct list {
    GrB_Index index[LIST_MAX];
    const GrB_Index *I;
    GrB_Index n; /* as GraphBLAS wants it */
    int count;   /* how many indices that is */
} list;

static bool taken[LIST_MAX];

/* Distinct indices of 0 … size-1 in random order. */
static void list_distinct(list *l, int size, int count)
{
    for (int i = 0; i < size; i++) taken[i] = false;
    for (int k = 0; k < count; k++) {
        int i = rng_below(size);
        while (taken[i]) i = (i + 1) % size;
        taken[i] = true;
        l->index[k] = (GrB_Index)i;
    }
    l->I = l->index;
    l->n = (GrB_Index)count;
    l->count = count;
}

static void list_range(list *l, int begin, int end)
{
    l->index[GxB_BEGIN] = (GrB_Index)begin;
    l->index[GxB_END] = (GrB_Index)end;
    l->I = l->index;
    l->n = GxB_RANGE;
    l->count = end - begin + 1;
}

static void list_random(list *l, int size)
{
    int begin = rng_below(size);
    if (size >= LIST_MAX || rng_chance(30)) {
        l->I = GrB_ALL;
        l->n = (GrB_Index)size;
        l->count = size;
    } else if (rng_chance(40)) {
        list_range(l, begin, begin + rng_below(size - begin));
    } else {
        list_distinct(l, size, 1 + rng_below(size));
    }
}

static GrB_BinaryOp accumulator(const object *C, int *op)
{
    int type;
    *op = random_accum(C, &type);
    return *op >= 0 ? binary_op(*op, type) : NULL;
}

static void care(object *C, object *A, object *M, bool accum)
{
    if (A) operand(A);
    if (M) operand_mask(M, accum);
    if (C->vector) return;
    without_hyper(C, false);
    if (A && !A->vector) without_hyper(A, false);
    if (M) without_hyper(M, false);
}

/* 7.4.0 keeps counting zombies when a value fills all of C. */
static void care_when_filled(object *C, const object *M, int rows, int columns)
{
    if (!M && rows == C->nrows && columns == C->ncols) object_wait(C);
}

static void random_small(int type, any_value *x)
{
    *x = (any_value){.i = 0};
    value_put(type, x, 0, rng_below(6));
}

static void assign_value(void)
{
    object *C = pool_any_matrix(), *M = rng_chance(30) ? pool_matrix(C->nrows, C->ncols, TYPE_ANY, WANT_ANY) : NULL;
    int op, type = C->type == T_USER ? T_USER : random_type();
    list rows, columns;
    any_value x;
    if (M == C) M = NULL;
    GrB_BinaryOp accum = accumulator(C, &op);
    list_random(&rows, C->nrows);
    list_random(&columns, C->ncols);
    random_small(type, &x);
    care(C, NULL, M, true);
    care_when_filled(C, M, rows.count, columns.count);
    GrB_Descriptor desc = descriptor(M && rng_chance(30), M && rng_chance(30), rng_chance(50), false, false);
    GrB_Info info =
        mat_assign_value(type, C->m, M ? M->m : NULL, accum, &x, rows.I, rows.n, columns.I, columns.n, desc);
    object_bound(C, (bound){3, 1, false}, type, op);
    report("assign_value", info, C);
}

static void subassign_value(void)
{
    object *C = pool_any_matrix();
    int op, type = C->type == T_USER ? T_USER : random_type();
    list rows, columns;
    any_value x;
    GrB_BinaryOp accum = accumulator(C, &op);
    list_random(&rows, C->nrows);
    list_random(&columns, C->ncols);
    object *M = rng_chance(30) ? pool_matrix(rows.count, columns.count, TYPE_ANY, WANT_ANY) : NULL;
    if (M == C) M = NULL;
    random_small(type, &x);
    care(C, NULL, M, true);
    care_when_filled(C, M, rows.count, columns.count);
    GrB_Descriptor desc = descriptor(M && rng_chance(30), M && rng_chance(30), rng_chance(50), false, false);
    GrB_Info info =
        mat_subassign_value(type, C->m, M ? M->m : NULL, accum, &x, rows.I, rows.n, columns.I, columns.n, desc);
    object_bound(C, (bound){3, 1, false}, type, op);
    report("subassign_value", info, C);
}

static void assign_matrix(void)
{
    object *C = pool_any_matrix();
    int op, type = C->type == T_USER ? T_USER : TYPE_ANY;
    list rows, columns;
    GrB_BinaryOp accum = accumulator(C, &op);
    list_random(&rows, C->nrows);
    list_random(&columns, C->ncols);
    object *A = pool_matrix(rows.count, columns.count, type, WANT_ANY);
    bool sub = rng_chance(50);
    care(C, A, NULL, false);
    GrB_Info info = sub ? GxB_Matrix_subassign(C->m, NULL, accum, A->m, rows.I, rows.n, columns.I, columns.n, NULL)
                        : GrB_Matrix_assign(C->m, NULL, accum, A->m, rows.I, rows.n, columns.I, columns.n, NULL);
    object_bound(C, A->b, A->type, op);
    report(sub ? "subassign" : "assign", info, C);
}

/* C<M> = A over all of C: the form that algorithms use. */
static void assign_masked(void)
{
    object *C = pool_any_matrix();
    int op, type = C->type == T_USER ? T_USER : TYPE_ANY;
    object *A = pool_matrix(C->nrows, C->ncols, type, WANT_ANY);
    object *M = pool_matrix(C->nrows, C->ncols, TYPE_ANY, WANT_ANY);
    GrB_BinaryOp accum = accumulator(C, &op);
    if (M == C || A == C) C = pool_matrix(A->nrows, A->ncols, type, WANT_SPARSE);
    if (M == C || A == C) return report_text("skip", GrB_SUCCESS);
    care(C, A, M, true);
    GrB_Descriptor desc = descriptor(rng_chance(30), rng_chance(30), true, false, false);
    GrB_Info info = GrB_Matrix_assign(C->m, M->m, accum, A->m, GrB_ALL, (GrB_Index)C->nrows, GrB_ALL,
                                      (GrB_Index)C->ncols, desc);
    object_bound(C, A->b, A->type, op);
    report("assign_masked", info, C);
}

static void assign_vector(void)
{
    object *w = pool_any_vector(), *M = rng_chance(40) ? pool_vector(w->nrows, TYPE_ANY, WANT_ANY) : NULL;
    int op, type = random_type();
    any_value x;
    list rows;
    if (M == w) M = NULL;
    GrB_BinaryOp accum = accumulator(w, &op);
    list_random(&rows, w->nrows);
    random_small(type, &x);
    care(w, NULL, M, true);
    care_when_filled(w, M, rows.count, 1);
    GrB_Descriptor desc = descriptor(M && rng_chance(30), M && rng_chance(30), rng_chance(50), false, false);
    GrB_Info info = vec_assign_value(type, w->v, M ? M->v : NULL, accum, &x, rows.I, rows.n, desc);
    object_bound(w, (bound){3, 1, false}, type, op);
    if (!M && rows.count == w->nrows && rng_chance(50)) w->dense = true;
    report("vec_assign", info, w);
}

static void assign_row_or_column(void)
{
    object *C = pool_any_matrix();
    bool row = rng_chance(50);
    int op, length = row ? C->ncols : C->nrows;
    if (C->type == T_USER) return report_text("skip", GrB_SUCCESS);
    object *u = pool_vector(length, TYPE_ANY, WANT_ANY);
    GrB_Index at = (GrB_Index)rng_below(row ? C->nrows : C->ncols);
    GrB_BinaryOp accum = accumulator(C, &op);
    care(C, u, NULL, false);
    GrB_Info info = row ? GrB_Row_assign(C->m, NULL, accum, u->v, at, GrB_ALL, (GrB_Index)length, NULL)
                        : GrB_Col_assign(C->m, NULL, accum, u->v, GrB_ALL, (GrB_Index)length, at, NULL);
    object_bound(C, u->b, u->type, op);
    report(row ? "row_assign" : "col_assign", info, C);
}

void op_assign(void)
{
    static void (*const ops[])(void) = {assign_value, assign_value, subassign_value, assign_matrix, assign_masked,
                                        assign_vector, assign_vector, assign_row_or_column};
    ops[rng_below(8)]();
}

/* ---- extract ---- */

/* begin : step : end, forwards or backwards. */
static void list_stride(list *l, int size)
{
    const int step = 1 + rng_below(4), low = rng_below(size), high = low + rng_below(size - low);
    const bool back = rng_chance(50);
    l->index[GxB_BEGIN] = (GrB_Index)(back ? high : low);
    l->index[GxB_END] = (GrB_Index)(back ? low : high);
    l->index[GxB_INC] = (GrB_Index)step;
    l->I = l->index;
    l->n = back ? GxB_BACKWARDS : GxB_STRIDE;
    l->count = (high - low) / step + 1;
}

/* In any order, some of them again; now and then one that is outside. */
static void list_repeating(list *l, int size)
{
    l->count = 1 + rng_below(size < LIST_MAX ? size : LIST_MAX);
    for (int k = 0; k < l->count; k++)
        l->index[k] = (GrB_Index)rng_below(size);
    if (rng_chance(5))
        l->index[rng_below(l->count)] = (GrB_Index)(size + rng_below(3));
    l->I = l->index;
    l->n = (GrB_Index)l->count;
}

static void list_to_extract(list *l, int size)
{
    const int kind = rng_below(10);
    if (kind < 2)
        list_stride(l, size);
    else if (kind < 4)
        list_repeating(l, size);
    else if (kind < 6 && size < LIST_MAX)
        list_distinct(l, size, size);
    else
        list_random(l, size);
}

/* Often what comes out needs no cast. */
static int type_to_extract(const object *A)
{
    return A->type == T_USER || rng_chance(60) ? A->type : TYPE_ANY;
}

static void extract_matrix(void)
{
    object *A = pool_any_matrix();
    int type = type_to_extract(A), op;
    bool t0 = rng_chance(25);
    list rows, columns;
    list_to_extract(&rows, t0 ? A->ncols : A->nrows);
    list_to_extract(&columns, t0 ? A->nrows : A->ncols);
    object *C = pool_matrix(rows.count, columns.count, type, WANT_ANY);
    GrB_BinaryOp accum = accumulator(C, &op);
    care(C, A, NULL, false);
    GrB_Info info = GrB_Matrix_extract(C->m, NULL, accum, A->m, rows.I, rows.n, columns.I, columns.n,
                                       descriptor(false, false, false, t0, false));
    object_bound(C, A->b, A->type, op);
    report("extract", info, C);
}

static void extract_column(void)
{
    object *A = pool_any_matrix();
    int op;
    list rows;
    if (A->type == T_USER) return report_text("skip", GrB_SUCCESS);
    list_to_extract(&rows, A->nrows);
    object *w = pool_vector(rows.count, type_to_extract(A), WANT_ANY);
    GrB_BinaryOp accum = accumulator(w, &op);
    operand(A);
    without_hyper(A, false);
    GrB_Info info = GrB_Col_extract(w->v, NULL, accum, A->m, rows.I, rows.n, (GrB_Index)rng_below(A->ncols), NULL);
    object_bound(w, A->b, A->type, op);
    report("col_extract", info, w);
}

static void extract_vector(void)
{
    object *u = pool_any_vector();
    int op;
    list rows;
    list_to_extract(&rows, u->nrows);
    object *w = pool_vector(rows.count, type_to_extract(u), WANT_ANY);
    GrB_BinaryOp accum = accumulator(w, &op);
    operand(u);
    GrB_Info info = GrB_Vector_extract(w->v, NULL, accum, u->v, rows.I, rows.n, NULL);
    object_bound(w, u->b, u->type, op);
    report("vec_extract", info, w);
}

void op_extract(void)
{
    static void (*const ops[])(void) = {extract_matrix, extract_matrix, extract_column, extract_vector};
    ops[rng_below(4)]();
}
