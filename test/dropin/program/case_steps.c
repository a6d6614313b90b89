/* The calls of a random case that take a GrB_Scalar or the place of an entry, unions, Kronecker products.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "case.h"

/* Indices as values: floats of them are not summed. */
enum { LEVEL_OF_INDICES = 9 };

/* Now and then without a value. */
static GrB_Scalar draw_scalar(int type)
{
    GrB_Scalar s = NULL;
    any_value x = {.i = 0};
    const int value = rng_below(4);
    const bool empty = rng_chance(6);
    GrB_Scalar_new(&s, type_handle(type));
    value_put(type, &x, 0, value);
    if (!empty) scalar_set(type, s, &x);
    printf(empty ? " (t%d)" : " (t%d %d)", type, value);
    return s;
}

/* Of the operator's type, mostly. */
static GrB_Scalar draw_scalar_for(const one_case *c, int type)
{
    return draw_scalar(rng_chance(80) ? type : case_type(c));
}

/* A user's as often as it is there. */
static GrB_BinaryOp draw_binary(int op, int type)
{
    return user_binary(type) && rng_chance(15) ? user_binary(type) : binary_op(op, type);
}

case_object *case_union(one_case *c, GrB_Info *info)
{
    case_output o = {0};
    const bool vector = rng_chance(30);
    const int64_t m = case_size(c), n = case_size(c);
    const int type = case_type(c), op = case_operator();
    printf("; eWiseUnion %d.t%d", op, type);
    case_draw_flags(&o);
    const case_object *A = case_turned(c, vector, o.t0, m, n), *B = A ? case_turned(c, vector, o.t1, m, n) : NULL;
    if (!B || !case_draw_output(&o, c, vector, m, n, ANY_LEVEL)) return NULL;
    GrB_Scalar alpha = draw_scalar_for(c, type), beta = draw_scalar_for(c, type);
    const GrB_BinaryOp add = draw_binary(op, type);
    const GrB_Descriptor d = case_descriptor(&o);
    case_sort(A);
    case_sort(B);
    case_usual_output(&o);
    case_keep_settings(&o);
    *info = vector ? GxB_Vector_eWiseUnion(o.C->v, case_vector_of(o.M), o.accum, add, A->v, alpha, B->v, beta, d)
                   : GxB_Matrix_eWiseUnion(o.C->m, case_matrix_of(o.M), o.accum, add, A->m, alpha, B->m, beta, d);
    case_written(&o, case_level_of(op, A->level, B->level) + 1);
    GrB_Scalar_free(&alpha);
    GrB_Scalar_free(&beta);
    return o.C;
}

/* Too large for a case? */
static bool too_many(int64_t rows, int64_t columns)
{
    enum { MOST_ROWS = 10000, MOST_PLACES = 40000 };
    return rows > MOST_ROWS || columns > MOST_ROWS || rows * columns > MOST_PLACES;
}

static GrB_Info kronecker(const case_output *o, int op, int type, const case_object *A, const case_object *B)
{
    const GrB_Monoid mon = rng_chance(20) && type != T_BOOL ? monoid(rng_below(3), type) : NULL;
    const GrB_Descriptor d = case_descriptor(o);
    return mon ? GrB_Matrix_kronecker_Monoid(o->C->m, case_matrix_of(o->M), o->accum, mon, A->m, B->m, d)
               : GrB_Matrix_kronecker_BinaryOp(o->C->m, case_matrix_of(o->M), o->accum, draw_binary(op, type), A->m, B->m, d);
}

case_object *case_kronecker(one_case *c, GrB_Info *info)
{
    case_output o = {0};
    const int64_t m = case_size(c), n = case_size(c), p = case_size(c), q = case_size(c);
    const int type = case_type(c), op = case_operator();
    if (too_many(m, p) || too_many(n, q) || too_many(m * p, n * q)) return NULL;
    printf("; kronecker %d.t%d", op, type);
    case_draw_flags(&o);
    const case_object *A = case_turned(c, false, o.t0, m, n), *B = A ? case_turned(c, false, o.t1, p, q) : NULL;
    if (!B || !case_draw_output(&o, c, false, m * p, n * q, ANY_LEVEL)) return NULL;
    case_keep_settings(&o);
    *info = kronecker(&o, op, type, A, B);
    case_written(&o, case_level_of(op, A->level, B->level) + 1);
    return o.C;
}

static GrB_Info apply_index(const case_output *o, bool vector, GrB_IndexUnaryOp op, int type, const case_object *A)
{
    any_value y = {.i = 0};
    const GrB_Descriptor d = case_descriptor(o);
    value_put(type, &y, 0, rng_below(4));
    return vector ? vec_apply_index(type, o->C->v, case_vector_of(o->M), o->accum, op, A->v, &y, d)
                  : mat_apply_index(type, o->C->m, case_matrix_of(o->M), o->accum, op, A->m, &y, d);
}

static GrB_Info apply_index_scalar(const case_output *o, bool vector, GrB_IndexUnaryOp op, GrB_Scalar y, const case_object *A)
{
    const GrB_Descriptor d = case_descriptor(o);
    return vector ? GrB_Vector_apply_IndexOp_Scalar(o->C->v, case_vector_of(o->M), o->accum, op, A->v, y, d)
                  : GrB_Matrix_apply_IndexOp_Scalar(o->C->m, case_matrix_of(o->M), o->accum, op, A->m, y, d);
}

/* 7.4.0 reads a list of values of an iso matrix for an operator of the user's, where there is one value. */
static GrB_IndexUnaryOp without_fault(GrB_IndexUnaryOp op, const case_object *A)
{
    bool iso = false;
    case_sort(A);
    GxB_Matrix_iso(&iso, A->m);
    return iso ? GrB_ROWINDEX_INT64 : op;
}

case_object *case_apply_index(one_case *c, GrB_Info *info)
{
    case_output o = {0};
    int of;
    const bool vector = rng_chance(30), boxed = rng_chance(40);
    const int64_t m = case_size(c), n = case_size(c);
    const int type = case_type(c), which = rng_below(INDEX_OPS);
    GrB_IndexUnaryOp op = index_op(which, type, &of);
    printf("; apply index %d.t%d", which, type);
    case_draw_flags(&o);
    const case_object *A = case_turned(c, vector, o.t0, m, n);
    if (!A || !case_draw_output(&o, c, vector, m, n, ANY_LEVEL)) return NULL;
    GrB_Scalar y = boxed ? draw_scalar_for(c, of) : NULL;
    case_keep_settings(&o);
    if (o.M || o.accum) case_sort(A);
    if (which == INDEX_OP_OF_USER) op = without_fault(op, A);
    *info = boxed ? apply_index_scalar(&o, vector, op, y, A) : apply_index(&o, vector, op, of, A);
    case_written(&o, LEVEL_OF_INDICES);
    GrB_Scalar_free(&y);
    return o.C;
}

static GrB_Info apply_scalar(const case_output *o, bool vector, bool first, GrB_BinaryOp op, GrB_Scalar s, const case_object *A)
{
    const GrB_Descriptor d = case_descriptor(o);
    if (vector)
        return first ? GrB_Vector_apply_BinaryOp1st_Scalar(o->C->v, case_vector_of(o->M), o->accum, op, s, A->v, d)
                     : GrB_Vector_apply_BinaryOp2nd_Scalar(o->C->v, case_vector_of(o->M), o->accum, op, A->v, s, d);
    return first ? GrB_Matrix_apply_BinaryOp1st_Scalar(o->C->m, case_matrix_of(o->M), o->accum, op, s, A->m, d)
                 : GrB_Matrix_apply_BinaryOp2nd_Scalar(o->C->m, case_matrix_of(o->M), o->accum, op, A->m, s, d);
}

/* The descriptor turns the first operand where the scalar is the second, and the other way round. */
case_object *case_apply_scalar(one_case *c, GrB_Info *info)
{
    case_output o = {0};
    const bool vector = rng_chance(30), first = rng_chance(50);
    const int64_t m = case_size(c), n = case_size(c);
    const int type = case_type(c), op = case_operator();
    printf("; apply scalar %s %d.t%d", first ? "first" : "second", op, type);
    case_draw_flags(&o);
    const case_object *A = case_turned(c, vector, first ? o.t1 : o.t0, m, n);
    if (!A || !case_draw_output(&o, c, vector, m, n, ANY_LEVEL)) return NULL;
    GrB_Scalar s = draw_scalar_for(c, type);
    case_keep_settings(&o);
    if (o.M || o.accum) case_sort(A);
    *info = apply_scalar(&o, vector, first, draw_binary(op, type), s, A);
    case_written(&o, case_level_of(op, A->level, 0) + 1);
    GrB_Scalar_free(&s);
    return o.C;
}

case_object *case_select_scalar(one_case *c, GrB_Info *info)
{
    case_output o = {0};
    bool by_value = false;
    const bool vector = rng_chance(30);
    const int64_t m = case_size(c), n = case_size(c);
    const int drawn = case_type(c), which = rng_below(11);
    printf("; select scalar %d.t%d", which, drawn);
    case_draw_flags(&o);
    const case_object *A = case_turned(c, vector, o.t0, m, n);
    if (!A || !case_draw_output(&o, c, vector, m, n, ANY_LEVEL)) return NULL;
    const int type = case_type_to_select(A, drawn);
    const GrB_IndexUnaryOp op = which == 10 ? user_select_op() : select_op(which, type, &by_value);
    GrB_Scalar y = draw_scalar_for(c, by_value ? type : T_INT64);
    const GrB_Descriptor d = case_descriptor(&o);
    case_keep_settings(&o);
    *info = vector ? GrB_Vector_select_Scalar(o.C->v, case_vector_of(o.M), o.accum, op, A->v, y, d)
                   : GrB_Matrix_select_Scalar(o.C->m, case_matrix_of(o.M), o.accum, op, A->m, y, d);
    case_written(&o, A->level);
    GrB_Scalar_free(&y);
    return o.C;
}

static GrB_Info assign_scalar(const case_output *o, bool vector, bool sub, GrB_Scalar x)
{
    const GrB_Index m = (GrB_Index)o->C->nrows, n = (GrB_Index)o->C->ncols;
    const GrB_Descriptor d = case_descriptor(o);
    if (vector)
        return sub ? GxB_Vector_subassign_Scalar(o->C->v, case_vector_of(o->M), o->accum, x, GrB_ALL, m, d)
                   : GrB_Vector_assign_Scalar(o->C->v, case_vector_of(o->M), o->accum, x, GrB_ALL, m, d);
    return sub ? GxB_Matrix_subassign_Scalar(o->C->m, case_matrix_of(o->M), o->accum, x, GrB_ALL, m, GrB_ALL, n, d)
               : GrB_Matrix_assign_Scalar(o->C->m, case_matrix_of(o->M), o->accum, x, GrB_ALL, m, GrB_ALL, n, d);
}

case_object *case_assign_scalar(one_case *c, GrB_Info *info)
{
    case_output o = {0};
    const bool vector = rng_chance(40), sub = rng_chance(50);
    const int64_t m = case_size(c), n = vector ? 1 : case_size(c);
    printf("; %s scalar", sub ? "subassign" : "assign");
    case_draw_flags(&o);
    if (!case_draw_output(&o, c, vector, m, n, ANY_LEVEL) || case_assigns_too_much(&o, case_cells(m, n))) return NULL;
    GrB_Scalar x = draw_scalar_for(c, o.C->type);
    case_keep_settings(&o);
    *info = assign_scalar(&o, vector, sub, x);
    case_written(&o, 0);
    GrB_Scalar_free(&x);
    return o.C;
}

static void print_scalar(int type, GrB_Scalar s)
{
    any_value x = {.i = 0};
    const GrB_Info info = scalar_get(type, &x, s);
    printf(" %d value=%llx", (int)info, (unsigned long long)value_bits(type, &x, 0));
}

case_object *case_reduce_scalar(one_case *c, GrB_Info *info)
{
    const bool vector = rng_chance(40);
    int mon;
    const int type = case_type(c), most = case_draw_monoid(c, type, &mon);
    printf("; reduce into scalar %d.t%d", mon, type);
    const int64_t m = case_size(c), n = case_size(c);
    const case_object *A = case_shaped(c, vector, m, n, most);
    if (!A) return NULL;
    GrB_Scalar s = draw_scalar(type);
    const GrB_BinaryOp accum = rng_chance(30) ? binary_op(OP_PLUS, type) : NULL;
    *info = vector ? GrB_Vector_reduce_Monoid_Scalar(s, accum, monoid(mon, type), A->v, NULL)
                   : GrB_Matrix_reduce_Monoid_Scalar(s, accum, monoid(mon, type), A->m, NULL);
    printf(" => %d", (int)*info);
    print_scalar(type, s);
    GrB_Scalar_free(&s);
    return NULL;
}
