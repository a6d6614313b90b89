/* What an odd case does to its objects between calls that leaves their entries as they are, wherever these lie then.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "case.h"

/* ---- out of the object, and back ---- */

static GrB_Info repack_vector(GrB_Vector v)
{
    GrB_Index *i = NULL, i_bytes = 0, x_bytes = 0, nvals = 0;
    void *x = NULL;
    bool iso = false, jumbled = false;
    GrB_Info info = GxB_Vector_unpack_CSC(v, &i, &x, &i_bytes, &x_bytes, &iso, &nvals, &jumbled, NULL);
    if (info == GrB_SUCCESS) info = GxB_Vector_pack_CSC(v, &i, &x, i_bytes, x_bytes, iso, nvals, jumbled, NULL);
    return info;
}

static GrB_Info repack_matrix(GrB_Matrix A, bool by_col)
{
    GrB_Index *p = NULL, *h = NULL, *i = NULL, p_bytes = 0, h_bytes = 0, i_bytes = 0, x_bytes = 0, nvec = 0;
    void *x = NULL;
    bool iso = false, jumbled = false;
    GrB_Info info = by_col ? GxB_Matrix_unpack_HyperCSC(A, &p, &h, &i, &x, &p_bytes, &h_bytes, &i_bytes, &x_bytes, &iso, &nvec, &jumbled, NULL)
                           : GxB_Matrix_unpack_HyperCSR(A, &p, &h, &i, &x, &p_bytes, &h_bytes, &i_bytes, &x_bytes, &iso, &nvec, &jumbled, NULL);
    if (info == GrB_SUCCESS)
        info = by_col ? GxB_Matrix_pack_HyperCSC(A, &p, &h, &i, &x, p_bytes, h_bytes, i_bytes, x_bytes, iso, nvec, jumbled, NULL)
                      : GxB_Matrix_pack_HyperCSR(A, &p, &h, &i, &x, p_bytes, h_bytes, i_bytes, x_bytes, iso, nvec, jumbled, NULL);
    return info;
}

/* 7.4.0 serializes what it has not written where there is no place. */
static GrB_Info reserialize(case_object *o)
{
    void *blob = NULL;
    GrB_Index size = 0;
    if (case_cells(o->nrows, o->ncols) == 0) return GrB_SUCCESS;
    GrB_Info info = o->vector ? GxB_Vector_serialize(&blob, &size, o->v, NULL) : GxB_Matrix_serialize(&blob, &size, o->m, NULL);
    if (info != GrB_SUCCESS) return info;
    if (o->vector) GrB_Vector_free(&o->v);
    else GrB_Matrix_free(&o->m);
    info = o->vector ? GxB_Vector_deserialize(&o->v, type_handle(o->type), blob, size, NULL)
                     : GxB_Matrix_deserialize(&o->m, type_handle(o->type), blob, size, NULL);
    free(blob);
    return info;
}

/* A handle goes, and its memory may be that of the next one. */
static GrB_Info replace_by_copy(case_object *o)
{
    GrB_Matrix copy = NULL;
    const GrB_Info info = o->vector ? GrB_Vector_dup((GrB_Vector *)&copy, o->v) : GrB_Matrix_dup(&copy, o->m);
    if (info != GrB_SUCCESS) return info;
    if (o->vector) GrB_Vector_free(&o->v);
    else GrB_Matrix_free(&o->m);
    o->m = copy;
    return GrB_SUCCESS;
}

/* ---- where it is ---- */

static GrB_Info set_format(const case_object *o)
{
    return o->vector ? GrB_SUCCESS : GxB_Matrix_Option_set(o->m, GxB_FORMAT, rng_chance(50) ? GxB_BY_COL : GxB_BY_ROW);
}

static GrB_Info set_control(const case_object *o)
{
    int control = 1 + rng_below(GxB_AUTO_SPARSITY);
    if (case_needs_lists(o->nrows, o->ncols)) control |= GxB_SPARSE;
    if (case_is_huge(o)) control |= GxB_HYPERSPARSE;
    printf(" %d", control);
    return o->vector ? GxB_Vector_Option_set(o->v, GxB_SPARSITY_CONTROL, control) : GxB_Matrix_Option_set(o->m, GxB_SPARSITY_CONTROL, control);
}

static GrB_Info set_hyper_switch(const case_object *o)
{
    const double share = rng_chance(50) ? .0625 : rng_below(3) / 2.0;
    return o->vector || case_is_huge(o) ? GrB_SUCCESS : GxB_Matrix_Option_set(o->m, GxB_HYPER_SWITCH, share);
}

static GrB_Info wait_for(const case_object *o)
{
    const GrB_WaitMode mode = rng_chance(50) ? GrB_COMPLETE : GrB_MATERIALIZE;
    return o->vector ? GrB_Vector_wait(o->v, mode) : GrB_Matrix_wait(o->m, mode);
}

/* ---- its entries again ---- */

static GrB_Info rebuild(const case_object *o)
{
    GrB_Index n = 0;
    if (o->vector) GrB_Vector_nvals(&n, o->v);
    else GrB_Matrix_nvals(&n, o->m);
    GrB_Index *i = calloc(2 * n + 1, sizeof *i), *j = i + n;
    void *x = calloc(n + 1, type_size(o->type));
    GrB_Info info = o->vector ? vec_tuples(o->type, i, x, &n, o->v) : mat_tuples(o->type, i, j, x, &n, o->m);
    if (info == GrB_SUCCESS) info = o->vector ? GrB_Vector_clear(o->v) : GrB_Matrix_clear(o->m);
    const GrB_BinaryOp dup = o->type == T_USER ? NULL : binary_op(OP_PLUS, o->type);
    if (info == GrB_SUCCESS) info = o->vector ? vec_build(o->type, o->v, i, x, n, dup) : mat_build(o->type, o->m, i, j, x, n, dup);
    free(i);
    free(x);
    return info;
}

static GrB_Info assign_to_itself(const case_object *o)
{
    GrB_Matrix copy = NULL;
    GrB_Info info = o->vector ? GrB_Vector_dup((GrB_Vector *)&copy, o->v) : GrB_Matrix_dup(&copy, o->m);
    if (info != GrB_SUCCESS) return info;
    const GrB_Index m = (GrB_Index)o->nrows, n = (GrB_Index)o->ncols;
    info = o->vector ? GxB_Vector_subassign(o->v, NULL, NULL, (GrB_Vector)copy, GrB_ALL, m, NULL)
                     : GxB_Matrix_subassign(o->m, NULL, NULL, copy, GrB_ALL, m, GrB_ALL, n, NULL);
    if (o->vector) GrB_Vector_free((GrB_Vector *)&copy);
    else GrB_Matrix_free(&copy);
    return info;
}

static GrB_Info move(case_object *o, int which)
{
    switch (which) {
        case 0: return o->vector ? repack_vector(o->v) : repack_matrix(o->m, rng_chance(50));
        case 1: return reserialize(o);
        case 2: return replace_by_copy(o);
        case 3: return set_format(o);
        case 4: return set_control(o);
        case 5: return set_hyper_switch(o);
        case 6: return wait_for(o);
        case 7: return rebuild(o);
        default: return assign_to_itself(o);
    }
}

case_object *case_move(one_case *c, GrB_Info *info)
{
    static const char *const names[] = {"repack", "serialize", "replace", "format", "control", "hyper", "wait", "rebuild", "assign itself"};
    const bool vector = rng_chance(40);
    const int64_t m = case_size(c), n = case_size(c);
    const int which = rng_below(9);
    printf("; %s", names[which]);
    case_object *o = case_shaped(c, vector, m, n, ANY_LEVEL);
    if (!o) return NULL;
    case_drop_empties(o);
    *info = move(o, which);
    o->written = true;
    return o;
}
