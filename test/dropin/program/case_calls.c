/* The calls of a random case.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "case.h"

/* ---- products ---- */

typedef struct product {
    GrB_Semiring semiring;
    int mon, op, type;
} product;

/* Comparisons, products of integers, and EQ of booleans. */
static void draw_odd_semiring(product *p, const one_case *c)
{
    static const int logical[] = {MON_LOR, MON_LAND, MON_LXOR, MON_EQ};
    const int kind = rng_below(3), type = case_type(c);
    if (type == T_USER) return;
    if (kind == 0) *p = (product){.type = type, .mon = logical[rng_below(4)], .op = OP_EQ + rng_below(OP_COUNT - OP_EQ)};
    if (kind == 1) *p = (product){.type = T_INT8 + rng_below(8), .mon = MON_TIMES, .op = rng_below(6)};
    if (kind == 2) *p = (product){.type = T_BOOL, .mon = MON_EQ, .op = rng_below(OP_ANY)};
    p->semiring = semiring(p->mon, p->op, p->type, false);
}

static void draw_semiring(product *p, const one_case *c)
{
    static const int mons[] = {MON_PLUS, MON_PLUS, MON_PLUS, MON_MIN, MON_MAX, MON_ANY};
    static const int logical[] = {MON_LOR, MON_LOR, MON_LAND, MON_LXOR, MON_ANY};
    p->type = case_type(c);
    p->mon = c->special ? MON_PLUS : mons[rng_below(6)];
    if (p->type == T_BOOL) p->mon = logical[rng_below(5)];
    p->op = rng_chance(85) ? rng_below(6) : rng_below(OP_ANY);
    if (p->mon == MON_ANY) p->op = OP_PAIR; /* with any other, any of several values may come out */
    if (p->type == T_USER) p->semiring = user_semiring(T_USER);
    else p->semiring = semiring(p->mon, p->op, p->type, rng_chance(50));
    if (case_is_odd() && rng_chance(20)) draw_odd_semiring(p, c);
    if (rng_chance(3)) {
        *p = (product){.type = T_INT64, .mon = MON_PLUS, .op = OP_PLUS};
        p->semiring = positional_semiring(rng_below(case_is_odd() ? ALL_POSITIONAL : POSITIONAL));
    } else if (rng_chance(3)) {
        *p = (product){.type = rng_chance(50) ? T_FP64 : T_INT32, .mon = MON_PLUS, .op = OP_TIMES};
        p->semiring = user_semiring(p->type);
    }
    printf(" %d.%d.t%d", p->mon, p->op, p->type);
}

/* How high the levels of two factors may be together, so that the order of their sums cannot be seen. */
static int most_levels(const product *p)
{
    if (!is_float(p->type) || p->mon != MON_PLUS) return ANY_LEVEL;
    return p->type == T_FP64 ? 1 : 0;
}

/* 7.4.0 makes entries of vectors that a hypersparse operand lists without any, unless both operands and the mask are sparse. */
static void care_for_lists(const case_output *o, case_object *A, case_object *B)
{
    if (A->sparse && B->sparse && !B->vector && o->M && o->M->sparse && !o->comp) return;
    case_drop_empties(A);
    case_drop_empties(B);
}

static case_object *call_mxm(one_case *c, GrB_Info *info)
{
    case_output o = {0};
    product p;
    const int64_t m = case_size(c), k = case_size(c), n = case_size(c);
    printf("; mxm");
    draw_semiring(&p, c);
    case_draw_flags(&o);
    case_object *A = case_matrix(c, o.t0 ? k : m, o.t0 ? m : k, most_levels(&p));
    case_object *B = A ? case_matrix(c, o.t1 ? n : k, o.t1 ? k : n, most_levels(&p) - A->level) : NULL;
    if (!B || !case_draw_output(&o, c, false, m, n, most_levels(&p))) return NULL;
    care_for_lists(&o, A, B);
    case_keep_settings(&o);
    *info = GrB_mxm(o.C->m, case_matrix_of(o.M), o.accum, p.semiring, A->m, B->m, case_descriptor(&o));
    case_written(&o, A->level + B->level + 1);
    return o.C;
}

/* The vector is the first operand of vxm. */
static case_object *call_mxv(one_case *c, GrB_Info *info)
{
    case_output o = {0};
    product p;
    const bool vxm = rng_chance(50);
    const int64_t m = case_size(c), k = case_size(c);
    printf("; %s", vxm ? "vxm" : "mxv");
    draw_semiring(&p, c);
    case_draw_flags(&o);
    const bool turned = vxm ? !o.t1 : o.t0;
    case_object *A = case_matrix(c, turned ? k : m, turned ? m : k, most_levels(&p));
    case_object *u = A ? case_vector(c, k, most_levels(&p) - A->level) : NULL;
    if (!u || !case_draw_output(&o, c, true, m, 1, most_levels(&p))) return NULL;
    care_for_lists(&o, A, u);
    case_keep_settings(&o);
    *info = vxm ? GrB_vxm(o.C->v, case_vector_of(o.M), o.accum, p.semiring, u->v, A->m, case_descriptor(&o))
                : GrB_mxv(o.C->v, case_vector_of(o.M), o.accum, p.semiring, A->m, u->v, case_descriptor(&o));
    case_written(&o, A->level + u->level + 1);
    return o.C;
}

/* ---- elementwise ---- */

static GrB_Info ewise(const case_output *o, bool add, bool vector, GrB_BinaryOp op, GrB_Monoid mon, const case_object *A, const case_object *B)
{
    const GrB_Descriptor d = case_descriptor(o);
    if (vector && mon)
        return add ? GrB_Vector_eWiseAdd_Monoid(o->C->v, case_vector_of(o->M), o->accum, mon, A->v, B->v, d)
                   : GrB_Vector_eWiseMult_Monoid(o->C->v, case_vector_of(o->M), o->accum, mon, A->v, B->v, d);
    if (vector)
        return add ? GrB_Vector_eWiseAdd_BinaryOp(o->C->v, case_vector_of(o->M), o->accum, op, A->v, B->v, d)
                   : GrB_Vector_eWiseMult_BinaryOp(o->C->v, case_vector_of(o->M), o->accum, op, A->v, B->v, d);
    if (mon)
        return add ? GrB_Matrix_eWiseAdd_Monoid(o->C->m, case_matrix_of(o->M), o->accum, mon, A->m, B->m, d)
                   : GrB_Matrix_eWiseMult_Monoid(o->C->m, case_matrix_of(o->M), o->accum, mon, A->m, B->m, d);
    return add ? GrB_Matrix_eWiseAdd_BinaryOp(o->C->m, case_matrix_of(o->M), o->accum, op, A->m, B->m, d)
               : GrB_Matrix_eWiseMult_BinaryOp(o->C->m, case_matrix_of(o->M), o->accum, op, A->m, B->m, d);
}

static case_object *call_ewise(one_case *c, GrB_Info *info)
{
    case_output o = {0};
    const bool vector = rng_chance(30), add = rng_chance(50);
    const int64_t m = case_size(c), n = case_size(c);
    const int type = case_type(c), op = case_operator();
    const GrB_Monoid mon = rng_chance(25) && type != T_BOOL ? monoid(rng_below(3), type) : NULL;
    printf("; %s %s%d.t%d", add ? "eWiseAdd" : "eWiseMult", mon ? "monoid or " : "", op, type);
    case_draw_flags(&o);
    const case_object *A = case_turned(c, vector, o.t0, m, n), *B = A ? case_turned(c, vector, o.t1, m, n) : NULL;
    if (!B || !case_draw_output(&o, c, vector, m, n, ANY_LEVEL)) return NULL;
    case_sort(A);
    case_sort(B);
    case_usual_output(&o);
    case_keep_settings(&o);
    *info = ewise(&o, add, vector, binary_op(op, type), mon, A, B);
    case_written(&o, case_level_of(op, A->level, B->level));
    return o.C;
}

static GrB_Info apply_unary(const case_output *o, bool vector, GrB_UnaryOp op, const case_object *A)
{
    return vector ? GrB_Vector_apply(o->C->v, case_vector_of(o->M), o->accum, op, A->v, case_descriptor(o))
                  : GrB_Matrix_apply(o->C->m, case_matrix_of(o->M), o->accum, op, A->m, case_descriptor(o));
}

static GrB_Info apply_binary(const case_output *o, bool vector, int op, int type, const case_object *A)
{
    any_value y = {.i = 0};
    value_put(type, &y, 0, 1 + rng_below(3));
    return vector ? vec_bind2(type, o->C->v, case_vector_of(o->M), o->accum, binary_op(op, type), A->v, &y, case_descriptor(o))
                  : mat_bind2(type, o->C->m, case_matrix_of(o->M), o->accum, binary_op(op, type), A->m, &y, case_descriptor(o));
}

enum { RECIPROCAL = 6 }; /* of plain_unary */

static case_object *call_apply(one_case *c, GrB_Info *info)
{
    case_output o = {0};
    const bool vector = rng_chance(30), unary = rng_chance(50);
    const int64_t m = case_size(c), n = case_size(c);
    const int type = case_type(c), op = unary ? rng_below(case_is_odd() ? RECIPROCAL + 1 : RECIPROCAL) : case_operator();
    printf("; apply %s %d.t%d", unary ? "unary" : "with y", op, type);
    case_draw_flags(&o);
    const case_object *A = case_turned(c, vector, o.t0, m, n);
    if (!A || !case_draw_output(&o, c, vector, m, n, ANY_LEVEL)) return NULL;
    case_keep_settings(&o);
    if (o.M || o.accum) case_sort(A);
    *info = unary ? apply_unary(&o, vector, plain_unary(op, type), A) : apply_binary(&o, vector, op, type, A);
    case_written(&o, unary ? case_level_of(op == RECIPROCAL ? OP_DIV : -1, A->level, 0) : case_level_of(op, A->level, 0));
    return o.C;
}

static case_object *call_select(one_case *c, GrB_Info *info)
{
    case_output o = {0};
    bool by_value = false;
    any_value y = {.i = 0};
    const bool vector = rng_chance(30);
    const int64_t m = case_size(c), n = case_size(c);
    const int drawn = case_type(c), which = rng_below(12);
    printf("; select %d.t%d", which, drawn);
    case_draw_flags(&o);
    const case_object *A = case_turned(c, vector, o.t0, m, n);
    if (!A || !case_draw_output(&o, c, vector, m, n, ANY_LEVEL)) return NULL;
    const int type = case_type_to_select(A, drawn);
    const GrB_IndexUnaryOp op = which >= 10 ? user_select_op() : select_op(which, type, &by_value);
    value_put(by_value ? type : T_INT64, &y, 0, rng_below(4));
    const int of = by_value ? type : T_INT64;
    case_keep_settings(&o);
    *info = vector ? vec_select(of, o.C->v, case_vector_of(o.M), o.accum, op, A->v, &y, case_descriptor(&o))
                   : mat_select(of, o.C->m, case_matrix_of(o.M), o.accum, op, A->m, &y, case_descriptor(&o));
    case_written(&o, A->level);
    return o.C;
}

static case_object *call_transpose(one_case *c, GrB_Info *info)
{
    case_output o = {0};
    const int64_t m = case_size(c), n = case_size(c);
    printf("; transpose");
    case_draw_flags(&o);
    const case_object *A = case_turned(c, false, !o.t0, m, n);
    if (!A || !case_draw_output(&o, c, false, m, n, ANY_LEVEL)) return NULL;
    case_keep_settings(&o);
    *info = GrB_transpose(o.C->m, case_matrix_of(o.M), o.accum, A->m, case_descriptor(&o));
    case_written(&o, A->level);
    return o.C;
}

/* ---- extract ---- */

enum { MOST_INDICES = 128 };

/* An index list as GraphBLAS is given it, and how many indices that is. */
typedef struct index_list {
    GrB_Index index[MOST_INDICES];
    const GrB_Index *I;
    GrB_Index n;
    int64_t count;
} index_list;

static void draw_colon(index_list *l, int size)
{
    const int step = 1 + rng_below(3), low = rng_below(size), high = low + rng_below(size - low), kind = rng_below(3);
    l->index[GxB_BEGIN] = (GrB_Index)(kind == 2 ? high : low);
    l->index[GxB_END] = (GrB_Index)(kind == 2 ? low : high);
    l->index[GxB_INC] = (GrB_Index)step;
    l->n = kind == 0 ? GxB_RANGE : kind == 1 ? GxB_STRIDE : GxB_BACKWARDS;
    l->count = (high - low) / (kind == 0 ? 1 : step) + 1;
}

/* All of them in some order. */
static void draw_permutation(index_list *l, int size)
{
    for (int k = 0; k < size; k++) {
        const int other = rng_below(k + 1);
        l->index[k] = l->index[other];
        l->index[other] = (GrB_Index)k;
    }
    l->count = size;
}

/* Some, ascending or not, maybe again; now and then one that is outside. */
static void draw_some(index_list *l, int size, bool ascending)
{
    l->count = 0;
    for (int k = 0; k < size && l->count < MOST_INDICES; k++) {
        if (rng_chance(60)) l->index[l->count++] = (GrB_Index)(ascending ? k : rng_below(size));
    }
    if (l->count > 0 && rng_chance(2)) l->index[rng_below((int)l->count)] = (GrB_Index)(size + rng_below(2));
}

static void draw_indices(index_list *l, int64_t size)
{
    const int kind = size > MOST_INDICES || size == 0 ? 0 : rng_below(10);
    l->I = l->index;
    l->n = 0;
    if (kind < 2) {
        l->I = GrB_ALL;
        l->n = (GrB_Index)size;
        l->count = size;
    } else if (kind < 5) {
        draw_permutation(l, (int)size);
    } else if (kind < 8) {
        draw_some(l, (int)size, kind == 5);
    } else {
        draw_colon(l, (int)size);
    }
    if (!l->n) l->n = (GrB_Index)l->count;
    printf(" [%lld of %lld: %lld %lld]", (long long)l->count, (long long)size, (long long)l->n, l->I == l->index ? (long long)l->index[0] : -1);
}

static case_object *call_extract(one_case *c, GrB_Info *info)
{
    case_output o = {0};
    index_list rows = {0}, columns = {0};
    const bool vector = rng_chance(40), plain = rng_chance(60);
    const int64_t m = case_size(c), n = case_size(c);
    printf("; extract%s", plain ? " without M and accum" : "");
    case_draw_flags(&o);
    if (plain) o.t0 = o.comp = false;
    const case_object *A = case_turned(c, vector, o.t0, m, n);
    if (!A) return NULL;
    draw_indices(&rows, m);
    if (!vector) draw_indices(&columns, n);
    if (rows.count == 0 || (!vector && columns.count == 0) || !case_draw_output(&o, c, vector, rows.count, vector ? 1 : columns.count, ANY_LEVEL))
        return NULL;
    if (plain) {
        o.M = NULL;
        o.accum = NULL;
        o.accum_op = -1;
    }
    case_keep_settings(&o);
    *info = vector ? GrB_Vector_extract(o.C->v, case_vector_of(o.M), o.accum, A->v, rows.I, rows.n, case_descriptor(&o))
                   : GrB_Matrix_extract(o.C->m, case_matrix_of(o.M), o.accum, A->m, rows.I, rows.n, columns.I, columns.n, case_descriptor(&o));
    case_written(&o, A->level);
    return o.C;
}

/* ---- assign ---- */

/* GrB_ALL with a number of its own is taken for one element by 7.4.0 where that is 1. */
static GrB_Info assign_value(const case_output *o, bool vector, int type)
{
    const GrB_Index m = (GrB_Index)o->C->nrows, n = (GrB_Index)o->C->ncols;
    any_value x = {.i = 0};
    value_put(type, &x, 0, rng_below(4));
    return vector ? vec_assign_value(type, o->C->v, case_vector_of(o->M), o->accum, &x, GrB_ALL, m, case_descriptor(o))
                  : mat_assign_value(type, o->C->m, case_matrix_of(o->M), o->accum, &x, GrB_ALL, m, GrB_ALL, n, case_descriptor(o));
}

/* To as many different places of C, which are in any order. */
static GrB_Info assign_listed(const case_output *o, const case_object *A)
{
    index_list l = {0};
    draw_permutation(&l, (int)o->C->nrows);
    return GrB_Vector_assign(o->C->v, case_vector_of(o->M), o->accum, A->v, l.index, (GrB_Index)A->nrows, case_descriptor(o));
}

static GrB_Info assign_object(const case_output *o, bool vector, const case_object *A)
{
    if (vector && o->C->nrows > A->nrows) return assign_listed(o, A);
    const GrB_Index m = (GrB_Index)o->C->nrows, n = (GrB_Index)o->C->ncols;
    return vector ? GrB_Vector_assign(o->C->v, case_vector_of(o->M), o->accum, A->v, GrB_ALL, m, case_descriptor(o))
                  : GrB_Matrix_assign(o->C->m, case_matrix_of(o->M), o->accum, A->m, GrB_ALL, m, GrB_ALL, n, case_descriptor(o));
}

static case_object *call_assign(one_case *c, GrB_Info *info)
{
    case_output o = {0};
    const bool vector = rng_chance(40), value = rng_chance(50);
    const int64_t m = case_size(c), n = case_size(c);
    const int type = case_type(c);
    printf("; assign");
    if (value) printf(" value t%d", type);
    case_draw_flags(&o);
    const case_object *A = value ? NULL : case_turned(c, vector, o.t0, m, n);
    const int more = vector && !value && m > 0 && m < MOST_INDICES - 8 && rng_chance(50) ? 1 + rng_below(8) : 0;
    if ((!value && !A) || !case_draw_output(&o, c, vector, m + more, n, ANY_LEVEL)) return NULL;
    if (value && case_assigns_too_much(&o, vector ? m : case_cells(m, n))) return NULL;
    if (o.M && o.M == A) o.structural = true; /* 7.4.0 leaves nothing in an empty bitmap */
    case_keep_settings(&o);
    *info = value ? assign_value(&o, vector, type) : assign_object(&o, vector, A);
    case_written(&o, A ? A->level : 0);
    return o.C;
}

/* Each index at most once: what is assigned to one twice is not defined. */
static void draw_places(index_list *l, int64_t size)
{
    const int kind = size > MOST_INDICES || size == 0 ? 0 : rng_below(4);
    *l = (index_list){.I = GrB_ALL, .n = (GrB_Index)size, .count = size};
    if (kind > 0) l->I = l->index;
    if (kind == 1) draw_permutation(l, (int)size);
    if (kind == 2) draw_some(l, (int)size, true);
    if (kind == 3) draw_colon(l, (int)size);
    if (kind == 1 || kind == 2) l->n = (GrB_Index)l->count;
    printf(" [%lld of %lld: %lld]", (long long)l->count, (long long)size, (long long)l->n);
}

static void keep_inside(index_list *l, int64_t size)
{
    for (int k = 0; l->I == l->index && l->n == (GrB_Index)l->count && k < l->count; k++) l->index[k] %= (GrB_Index)size;
}

static GrB_Info assign_part(const case_output *o, bool vector, bool sub, const case_object *A, const index_list *rows, const index_list *columns)
{
    const GrB_Descriptor d = case_descriptor(o);
    const GrB_Index m = rows->n, n = columns->n;
    if (vector)
        return sub ? GxB_Vector_subassign(o->C->v, case_vector_of(o->M), o->accum, A->v, rows->I, m, d)
                   : GrB_Vector_assign(o->C->v, case_vector_of(o->M), o->accum, A->v, rows->I, m, d);
    return sub ? GxB_Matrix_subassign(o->C->m, case_matrix_of(o->M), o->accum, A->m, rows->I, m, columns->I, n, d)
               : GrB_Matrix_assign(o->C->m, case_matrix_of(o->M), o->accum, A->m, rows->I, m, columns->I, n, d);
}

/* C(I,J)<M> accum= A, the mask of C's size or, with sub, of A's. */
static case_object *call_assign_part(one_case *c, GrB_Info *info)
{
    case_output o = {0};
    index_list rows = {0}, columns = {0};
    const bool vector = rng_chance(40), sub = rng_chance(50);
    const int64_t m = case_size(c), n = vector ? 1 : case_size(c);
    printf("; %s part", sub ? "subassign" : "assign");
    case_draw_flags(&o);
    if (vector) o.t0 = false;
    if (!case_draw_output(&o, c, vector, m, n, ANY_LEVEL) || o.C->nrows != m) return NULL;
    draw_places(&rows, m);
    if (!vector) draw_places(&columns, n);
    if (o.comp && !o.M) { /* 7.4 deletes behind the end of C */
        keep_inside(&rows, m);
        keep_inside(&columns, n);
    }
    const int64_t height = rows.count, width = vector ? 1 : columns.count;
    const case_object *A = height && width ? case_turned(c, vector, o.t0, height, width) : NULL;
    if (!A || A == o.C || A == o.M || case_assigns_too_much(&o, case_cells(height, width))) return NULL;
    if (sub && o.M) o.M = case_shaped(c, vector, height, width, ANY_LEVEL);
    case_care_for_mask(&o);
    if (o.M == A) o.structural = true;
    case_keep_settings(&o);
    *info = assign_part(&o, vector, sub, A, &rows, &columns);
    case_written(&o, case_highest(o.C->level, A->level));
    return o.C;
}

/* ---- reduce ---- */

static case_object *call_reduce_rows(one_case *c, GrB_Info *info)
{
    case_output o = {0};
    const int64_t m = case_size(c), n = case_size(c);
    int mon;
    const int type = case_type(c), most = case_draw_monoid(c, type, &mon);
    printf("; reduce rows %d.t%d", mon, type);
    case_draw_flags(&o);
    const case_object *A = case_matrix(c, o.t0 ? n : m, o.t0 ? m : n, most);
    if (!A || !case_draw_output(&o, c, true, m, 1, most)) return NULL;
    case_keep_settings(&o);
    *info = GrB_Matrix_reduce_Monoid(o.C->v, case_vector_of(o.M), o.accum, monoid(mon, type), A->m, case_descriptor(&o));
    case_written(&o, A->level + 1);
    return o.C;
}

static case_object *call_reduce(one_case *c, GrB_Info *info)
{
    any_value x = {.i = 0};
    const bool vector = rng_chance(40);
    int mon;
    const int type = case_type(c), most = case_draw_monoid(c, type, &mon);
    printf("; reduce %d.t%d", mon, type);
    const int64_t m = case_size(c), n = case_size(c);
    const case_object *A = case_shaped(c, vector, m, n, most);
    if (!A) return NULL;
    *info = vector ? vec_reduce_value(type, &x, NULL, monoid(mon, type), A->v) : mat_reduce_value(type, &x, NULL, monoid(mon, type), A->m);
    printf(" => %d value=%llx", (int)*info, (unsigned long long)value_bits(type, &x, 0));
    return NULL;
}

case_object *case_call(one_case *c, GrB_Info *info)
{
    typedef case_object *call(one_case *, GrB_Info *);
    static const struct {
        call *call;
        int often;
    } calls[] = {{call_mxm, 14}, {call_mxv, 6}, {call_ewise, 6}, {call_apply, 4}, {call_select, 4}, {call_transpose, 2}, {call_assign, 4},
                 {call_assign_part, 2}, {call_reduce, 2}, {call_reduce_rows, 2}, {call_extract, 6}, {case_union, 4}, {case_kronecker, 3},
                 {case_apply_index, 4}, {case_apply_scalar, 4}, {case_select_scalar, 3}, {case_assign_scalar, 3}, {case_reduce_scalar, 1},
                 {case_change, 8}, {case_move, 12}};
    int all = 0, k = 0;
    const size_t count = sizeof calls / sizeof *calls - !case_is_odd();
    for (size_t n = 0; n < count; n++) all += calls[n].often;
    *info = GrB_SUCCESS;
    for (int drawn = rng_below(all); drawn >= calls[k].often; k++) drawn -= calls[k].often;
    return calls[k].call(c, info);
}
