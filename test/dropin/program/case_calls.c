/* The calls of a random case.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "case.h"

/* What every call has. */
typedef struct output {
    case_object *C, *M;
    GrB_BinaryOp accum;
    int accum_op;
    bool replace, comp, structural, t0, t1;
} output;

static GrB_Descriptor desc_of(const output *o)
{
    return descriptor(o->replace, o->comp, o->structural, o->t0, o->t1);
}

static GrB_Matrix matrix_of(const case_object *o)
{
    return o ? o->m : NULL;
}

static GrB_Vector vector_of(const case_object *o)
{
    return o ? o->v : NULL;
}

static int highest(int a, int b)
{
    return a > b ? a : b;
}

/* ---- C, M, accum, descriptor ---- */

static void draw_flags(output *o)
{
    o->t0 = rng_chance(25);
    o->t1 = rng_chance(25);
    o->structural = rng_chance(55);
    o->replace = rng_chance(25);
    o->comp = rng_chance(25);
}

static case_object *shaped(one_case *c, bool vector, int64_t nrows, int64_t ncols, int most_level)
{
    return vector ? case_vector(c, nrows, most_level) : case_matrix(c, nrows, ncols, most_level);
}

/* Whether -0 lets an entry through depends on which kernel of 7.4.0 reads the mask: it becomes 0. */
static void make_zero_positive(const case_object *M)
{
    any_value zero = {.i = 0};
    if (!is_float(M->type) || !M->written) return;
    if (M->vector) vec_bind2(M->type, M->v, NULL, NULL, binary_op(OP_PLUS, M->type), M->v, &zero, NULL);
    else mat_bind2(M->type, M->m, NULL, NULL, binary_op(OP_PLUS, M->type), M->m, &zero, NULL);
}

static void care_for_mask(output *o)
{
    if (o->M && !o->structural) make_zero_positive(o->M);
    if (o->M && o->accum && !o->M->sparse && !o->comp) o->replace = true; /* 7.4.0 may crash in C<M> += T with a full mask */
}

/* Now and then of a wrong shape, for the error.  most_level: of a C that is summed with. */
static bool draw_output(output *o, one_case *c, bool vector, int64_t nrows, int64_t ncols, int most_level)
{
    static const int accums[] = {OP_PLUS, OP_PLUS, OP_PLUS, OP_MIN, OP_MAX, OP_SECOND, OP_FIRST, OP_TIMES, OP_MINUS, OP_PAIR};
    o->accum_op = rng_chance(30) ? accums[rng_below(10)] : -1;
    printf(" C=");
    o->C = shaped(c, vector, nrows + rng_chance(2), ncols, o->accum_op < 0 ? ANY_LEVEL : most_level);
    if (!o->C) return false;
    const int type = rng_chance(75) ? o->C->type : case_type(c);
    if (o->accum_op >= 0) o->accum = binary_op(o->accum_op, type);
    if (o->accum_op >= 0) printf(" accum %d.t%d", o->accum_op, type);
    if (rng_chance(55)) {
        printf(" M=");
        o->M = shaped(c, vector, nrows, ncols, ANY_LEVEL);
    }
    care_for_mask(o);
    printf(" %s%s%s%s%s", o->replace ? "R" : "", o->comp ? "C" : "", o->structural ? "S" : "", o->t0 ? "T0" : "", o->t1 ? "T1" : "");
    return true;
}

/* Of one entry or none it may be iso or not. */
static bool has_one_value(const case_object *o)
{
    bool iso = false;
    GrB_Index n = 0;
    GxB_Matrix_iso(&iso, o->m);
    if (!iso) GrB_Matrix_nvals(&n, o->m);
    return iso || n <= 1;
}

/* 7.4.0 gives a C that is empty, or replaced, the settings of a mask by structure or of one value (of its bitmap switch, the usual one)
 * where T is dense; ours keeps its own. */
static void share_settings(const output *o)
{
    if (!o->M || o->M == o->C || o->comp || o->accum) return;
    if (o->structural || has_one_value(o->M)) case_share_settings(o->C, o->M);
}

static void raise_level(const output *o, int level)
{
    o->C->sparse = o->C->empties = o->C->iso = false;
    o->C->written = true;
    o->C->level = highest(o->C->level + (o->accum_op == OP_TIMES), level);
}

/* ---- products ---- */

typedef struct product {
    GrB_Semiring semiring;
    int mon, op, type;
} product;

static void draw_semiring(product *p, const one_case *c)
{
    static const int mons[] = {MON_PLUS, MON_PLUS, MON_PLUS, MON_MIN, MON_MAX, MON_ANY};
    static const int logical[] = {MON_LOR, MON_LOR, MON_LAND, MON_LXOR, MON_ANY};
    p->type = case_type(c);
    p->mon = c->special ? MON_PLUS : mons[rng_below(6)];
    if (p->type == T_BOOL) p->mon = logical[rng_below(5)];
    p->op = rng_chance(85) ? rng_below(6) : rng_below(OP_ANY);
    if (p->mon == MON_ANY) p->op = OP_PAIR; /* with any other, any of several values may come out */
    p->semiring = semiring(p->mon, p->op, p->type, rng_chance(50));
    if (rng_chance(3)) {
        *p = (product){.type = T_INT64, .mon = MON_PLUS, .op = OP_PLUS};
        p->semiring = positional_semiring(rng_below(4));
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
static void care_for_lists(const output *o, case_object *A, case_object *B)
{
    if (A->sparse && B->sparse && !B->vector && o->M && o->M->sparse && !o->comp) return;
    case_drop_empties(A);
    case_drop_empties(B);
}

static case_object *call_mxm(one_case *c, GrB_Info *info)
{
    output o = {0};
    product p;
    const int64_t m = case_size(c), k = case_size(c), n = case_size(c);
    printf("; mxm");
    draw_semiring(&p, c);
    draw_flags(&o);
    case_object *A = case_matrix(c, o.t0 ? k : m, o.t0 ? m : k, most_levels(&p));
    case_object *B = A ? case_matrix(c, o.t1 ? n : k, o.t1 ? k : n, most_levels(&p) - A->level) : NULL;
    if (!B || !draw_output(&o, c, false, m, n, most_levels(&p))) return NULL;
    care_for_lists(&o, A, B);
    share_settings(&o);
    *info = GrB_mxm(o.C->m, matrix_of(o.M), o.accum, p.semiring, A->m, B->m, desc_of(&o));
    raise_level(&o, A->level + B->level + 1);
    return o.C;
}

/* The vector is the first operand of vxm. */
static case_object *call_mxv(one_case *c, GrB_Info *info)
{
    output o = {0};
    product p;
    const bool vxm = rng_chance(50);
    const int64_t m = case_size(c), k = case_size(c);
    printf("; %s", vxm ? "vxm" : "mxv");
    draw_semiring(&p, c);
    draw_flags(&o);
    const bool turned = vxm ? !o.t1 : o.t0;
    case_object *A = case_matrix(c, turned ? k : m, turned ? m : k, most_levels(&p));
    case_object *u = A ? case_vector(c, k, most_levels(&p) - A->level) : NULL;
    if (!u || !draw_output(&o, c, true, m, 1, most_levels(&p))) return NULL;
    care_for_lists(&o, A, u);
    share_settings(&o);
    *info = vxm ? GrB_vxm(o.C->v, vector_of(o.M), o.accum, p.semiring, u->v, A->m, desc_of(&o))
                : GrB_mxv(o.C->v, vector_of(o.M), o.accum, p.semiring, A->m, u->v, desc_of(&o));
    raise_level(&o, A->level + u->level + 1);
    return o.C;
}

/* ---- elementwise ---- */

/* Operands of m x n, by the descriptor's transposes. */
static case_object *turned(one_case *c, bool vector, bool transposed, int64_t m, int64_t n)
{
    return vector ? case_vector(c, m, ANY_LEVEL) : case_matrix(c, transposed ? n : m, transposed ? m : n, ANY_LEVEL);
}

/* 7.4.0 sorts the indices of a jumbled operand, but not its values, where a T that shares them is sorted. */
static void sort_shared(const case_object *A)
{
    if (A->vector) GrB_Vector_wait(A->v, GrB_MATERIALIZE);
    else GrB_Matrix_wait(A->m, GrB_MATERIALIZE);
}

/* 7.4.0 gives the result of full matrices the usual settings, whatever C's were, and one value where C was iso. */
static void usual_settings(const output *o)
{
    if (o->accum) return;
    case_usual_settings(o->C);
    if (o->C->iso && o->C->vector) GrB_Vector_clear(o->C->v);
    else if (o->C->iso) GrB_Matrix_clear(o->C->m);
}

static GrB_Info ewise(const output *o, bool add, bool vector, GrB_BinaryOp op, GrB_Monoid mon, const case_object *A, const case_object *B)
{
    const GrB_Descriptor d = desc_of(o);
    if (vector && mon)
        return add ? GrB_Vector_eWiseAdd_Monoid(o->C->v, vector_of(o->M), o->accum, mon, A->v, B->v, d)
                   : GrB_Vector_eWiseMult_Monoid(o->C->v, vector_of(o->M), o->accum, mon, A->v, B->v, d);
    if (vector)
        return add ? GrB_Vector_eWiseAdd_BinaryOp(o->C->v, vector_of(o->M), o->accum, op, A->v, B->v, d)
                   : GrB_Vector_eWiseMult_BinaryOp(o->C->v, vector_of(o->M), o->accum, op, A->v, B->v, d);
    if (mon)
        return add ? GrB_Matrix_eWiseAdd_Monoid(o->C->m, matrix_of(o->M), o->accum, mon, A->m, B->m, d)
                   : GrB_Matrix_eWiseMult_Monoid(o->C->m, matrix_of(o->M), o->accum, mon, A->m, B->m, d);
    return add ? GrB_Matrix_eWiseAdd_BinaryOp(o->C->m, matrix_of(o->M), o->accum, op, A->m, B->m, d)
               : GrB_Matrix_eWiseMult_BinaryOp(o->C->m, matrix_of(o->M), o->accum, op, A->m, B->m, d);
}

static case_object *call_ewise(one_case *c, GrB_Info *info)
{
    output o = {0};
    const bool vector = rng_chance(30), add = rng_chance(50);
    const int64_t m = case_size(c), n = case_size(c);
    const int type = case_type(c), op = rng_below(OP_ANY);
    const GrB_Monoid mon = rng_chance(25) && type != T_BOOL ? monoid(rng_below(3), type) : NULL;
    printf("; %s %s%d.t%d", add ? "eWiseAdd" : "eWiseMult", mon ? "monoid or " : "", op, type);
    draw_flags(&o);
    const case_object *A = turned(c, vector, o.t0, m, n), *B = A ? turned(c, vector, o.t1, m, n) : NULL;
    if (!B || !draw_output(&o, c, vector, m, n, ANY_LEVEL)) return NULL;
    sort_shared(A);
    sort_shared(B);
    usual_settings(&o);
    share_settings(&o);
    *info = ewise(&o, add, vector, binary_op(op, type), mon, A, B);
    raise_level(&o, op == OP_TIMES ? A->level + B->level + 1 : highest(A->level, B->level));
    return o.C;
}

static GrB_Info apply_unary(const output *o, bool vector, GrB_UnaryOp op, const case_object *A)
{
    return vector ? GrB_Vector_apply(o->C->v, vector_of(o->M), o->accum, op, A->v, desc_of(o))
                  : GrB_Matrix_apply(o->C->m, matrix_of(o->M), o->accum, op, A->m, desc_of(o));
}

static GrB_Info apply_binary(const output *o, bool vector, int op, int type, const case_object *A)
{
    any_value y = {.i = 0};
    value_put(type, &y, 0, 1 + rng_below(3));
    return vector ? vec_bind2(type, o->C->v, vector_of(o->M), o->accum, binary_op(op, type), A->v, &y, desc_of(o))
                  : mat_bind2(type, o->C->m, matrix_of(o->M), o->accum, binary_op(op, type), A->m, &y, desc_of(o));
}

static case_object *call_apply(one_case *c, GrB_Info *info)
{
    output o = {0};
    const bool vector = rng_chance(30), unary = rng_chance(50);
    const int64_t m = case_size(c), n = case_size(c);
    const int type = case_type(c), op = rng_below(unary ? 6 : OP_ANY);
    printf("; apply %s %d.t%d", unary ? "unary" : "with y", op, type);
    draw_flags(&o);
    const case_object *A = turned(c, vector, o.t0, m, n);
    if (!A || !draw_output(&o, c, vector, m, n, ANY_LEVEL)) return NULL;
    share_settings(&o);
    if (o.M || o.accum) sort_shared(A);
    *info = unary ? apply_unary(&o, vector, plain_unary(op, type), A) : apply_binary(&o, vector, op, type, A);
    raise_level(&o, A->level + (!unary && op == OP_TIMES));
    return o.C;
}

static case_object *call_select(one_case *c, GrB_Info *info)
{
    output o = {0};
    bool by_value;
    any_value y = {.i = 0};
    const bool vector = rng_chance(30);
    const int64_t m = case_size(c), n = case_size(c);
    const int type = case_type(c), which = rng_below(10);
    const GrB_IndexUnaryOp op = select_op(which, type, &by_value);
    printf("; select %d.t%d", which, type);
    draw_flags(&o);
    const case_object *A = turned(c, vector, o.t0, m, n);
    if (!A || !draw_output(&o, c, vector, m, n, ANY_LEVEL)) return NULL;
    value_put(by_value ? type : T_INT64, &y, 0, rng_below(4));
    const int of = by_value ? type : T_INT64;
    share_settings(&o);
    *info = vector ? vec_select(of, o.C->v, vector_of(o.M), o.accum, op, A->v, &y, desc_of(&o))
                   : mat_select(of, o.C->m, matrix_of(o.M), o.accum, op, A->m, &y, desc_of(&o));
    raise_level(&o, A->level);
    return o.C;
}

static case_object *call_transpose(one_case *c, GrB_Info *info)
{
    output o = {0};
    const int64_t m = case_size(c), n = case_size(c);
    printf("; transpose");
    draw_flags(&o);
    const case_object *A = turned(c, false, !o.t0, m, n);
    if (!A || !draw_output(&o, c, false, m, n, ANY_LEVEL)) return NULL;
    share_settings(&o);
    *info = GrB_transpose(o.C->m, matrix_of(o.M), o.accum, A->m, desc_of(&o));
    raise_level(&o, A->level);
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
    const int kind = size > MOST_INDICES ? 0 : rng_below(10);
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
    output o = {0};
    index_list rows = {0}, columns = {0};
    const bool vector = rng_chance(40), plain = rng_chance(60);
    const int64_t m = case_size(c), n = case_size(c);
    printf("; extract%s", plain ? " without M and accum" : "");
    draw_flags(&o);
    if (plain) o.t0 = o.comp = false;
    const case_object *A = turned(c, vector, o.t0, m, n);
    if (!A) return NULL;
    draw_indices(&rows, m);
    if (!vector) draw_indices(&columns, n);
    if (rows.count == 0 || (!vector && columns.count == 0) || !draw_output(&o, c, vector, rows.count, vector ? 1 : columns.count, ANY_LEVEL))
        return NULL;
    if (plain) {
        o.M = NULL;
        o.accum = NULL;
        o.accum_op = -1;
    }
    share_settings(&o);
    *info = vector ? GrB_Vector_extract(o.C->v, vector_of(o.M), o.accum, A->v, rows.I, rows.n, desc_of(&o))
                   : GrB_Matrix_extract(o.C->m, matrix_of(o.M), o.accum, A->m, rows.I, rows.n, columns.I, columns.n, desc_of(&o));
    raise_level(&o, A->level);
    return o.C;
}

/* ---- assign ---- */

/* GrB_ALL with a number of its own is taken for one element by 7.4.0 where that is 1. */
static GrB_Info assign_value(const output *o, bool vector, int type)
{
    const GrB_Index m = (GrB_Index)o->C->nrows, n = (GrB_Index)o->C->ncols;
    any_value x = {.i = 0};
    value_put(type, &x, 0, rng_below(4));
    return vector ? vec_assign_value(type, o->C->v, vector_of(o->M), o->accum, &x, GrB_ALL, m, desc_of(o))
                  : mat_assign_value(type, o->C->m, matrix_of(o->M), o->accum, &x, GrB_ALL, m, GrB_ALL, n, desc_of(o));
}

/* To as many different places of C, which are in any order. */
static GrB_Info assign_listed(const output *o, const case_object *A)
{
    index_list l = {0};
    draw_permutation(&l, (int)o->C->nrows);
    return GrB_Vector_assign(o->C->v, vector_of(o->M), o->accum, A->v, l.index, (GrB_Index)A->nrows, desc_of(o));
}

static GrB_Info assign_object(const output *o, bool vector, const case_object *A)
{
    if (vector && o->C->nrows > A->nrows) return assign_listed(o, A);
    const GrB_Index m = (GrB_Index)o->C->nrows, n = (GrB_Index)o->C->ncols;
    return vector ? GrB_Vector_assign(o->C->v, vector_of(o->M), o->accum, A->v, GrB_ALL, m, desc_of(o))
                  : GrB_Matrix_assign(o->C->m, matrix_of(o->M), o->accum, A->m, GrB_ALL, m, GrB_ALL, n, desc_of(o));
}

/* Everywhere, in what only lists can hold, takes longer than a case may. */
static bool assigns_too_much(const output *o, int64_t places)
{
    enum { MOST_PLACES = 1 << 20 };
    return places > MOST_PLACES && (!o->M || o->comp);
}

static case_object *call_assign(one_case *c, GrB_Info *info)
{
    output o = {0};
    const bool vector = rng_chance(40), value = rng_chance(50);
    const int64_t m = case_size(c), n = case_size(c);
    const int type = case_type(c);
    printf("; assign");
    if (value) printf(" value t%d", type);
    draw_flags(&o);
    const case_object *A = value ? NULL : turned(c, vector, o.t0, m, n);
    const int more = vector && !value && m > 0 && m < MOST_INDICES - 8 && rng_chance(50) ? 1 + rng_below(8) : 0;
    if ((!value && !A) || !draw_output(&o, c, vector, m + more, n, ANY_LEVEL)) return NULL;
    if (value && assigns_too_much(&o, vector ? m : m * n)) return NULL;
    if (o.M && o.M == A) o.structural = true; /* 7.4.0 leaves nothing in an empty bitmap */
    share_settings(&o);
    *info = value ? assign_value(&o, vector, type) : assign_object(&o, vector, A);
    raise_level(&o, A ? A->level : 0);
    return o.C;
}

/* Each index at most once: what is assigned to one twice is not defined. */
static void draw_places(index_list *l, int64_t size)
{
    const int kind = size > MOST_INDICES ? 0 : rng_below(4);
    *l = (index_list){.I = GrB_ALL, .n = (GrB_Index)size, .count = size};
    if (kind > 0) l->I = l->index;
    if (kind == 1) draw_permutation(l, (int)size);
    if (kind == 2) draw_some(l, (int)size, true);
    if (kind == 3) draw_colon(l, (int)size);
    if (kind == 1 || kind == 2) l->n = (GrB_Index)l->count;
    printf(" [%lld of %lld: %lld]", (long long)l->count, (long long)size, (long long)l->n);
}

static GrB_Info assign_part(const output *o, bool vector, bool sub, const case_object *A, const index_list *rows, const index_list *columns)
{
    const GrB_Descriptor d = desc_of(o);
    const GrB_Index m = rows->n, n = columns->n;
    if (vector)
        return sub ? GxB_Vector_subassign(o->C->v, vector_of(o->M), o->accum, A->v, rows->I, m, d)
                   : GrB_Vector_assign(o->C->v, vector_of(o->M), o->accum, A->v, rows->I, m, d);
    return sub ? GxB_Matrix_subassign(o->C->m, matrix_of(o->M), o->accum, A->m, rows->I, m, columns->I, n, d)
               : GrB_Matrix_assign(o->C->m, matrix_of(o->M), o->accum, A->m, rows->I, m, columns->I, n, d);
}

/* C(I,J)<M> accum= A, the mask of C's size or, with sub, of A's. */
static case_object *call_assign_part(one_case *c, GrB_Info *info)
{
    output o = {0};
    index_list rows = {0}, columns = {0};
    const bool vector = rng_chance(40), sub = rng_chance(50);
    const int64_t m = case_size(c), n = vector ? 1 : case_size(c);
    printf("; %s part", sub ? "subassign" : "assign");
    draw_flags(&o);
    if (vector) o.t0 = false;
    if (!draw_output(&o, c, vector, m, n, ANY_LEVEL) || o.C->nrows != m) return NULL;
    draw_places(&rows, m);
    if (!vector) draw_places(&columns, n);
    const int64_t height = rows.count, width = vector ? 1 : columns.count;
    const case_object *A = height && width ? turned(c, vector, o.t0, height, width) : NULL;
    if (!A || A == o.C || A == o.M || assigns_too_much(&o, height * width)) return NULL;
    if (sub && o.M) o.M = shaped(c, vector, height, width, ANY_LEVEL);
    care_for_mask(&o);
    if (o.M == A) o.structural = true;
    share_settings(&o);
    *info = assign_part(&o, vector, sub, A, &rows, &columns);
    raise_level(&o, highest(o.C->level, A->level));
    return o.C;
}

/* ---- reduce ---- */

/* Sums of floats whose order cannot be seen. */
static int reducible(const one_case *c, int type, int mon)
{
    if (c->special && mon != MON_PLUS) return -1; /* none */
    return mon == MON_PLUS && is_float(type) ? (type == T_FP64 ? 1 : 0) : ANY_LEVEL;
}

static int draw_monoid(const one_case *c, int type)
{
    static const int logical[] = {MON_LOR, MON_LAND, MON_LXOR};
    return type == T_BOOL ? logical[rng_below(3)] : c->special ? MON_PLUS : rng_below(3);
}

static case_object *call_reduce_rows(one_case *c, GrB_Info *info)
{
    output o = {0};
    const int64_t m = case_size(c), n = case_size(c);
    const int type = case_type(c), mon = draw_monoid(c, type), most = reducible(c, type, mon);
    printf("; reduce rows %d.t%d", mon, type);
    draw_flags(&o);
    const case_object *A = case_matrix(c, o.t0 ? n : m, o.t0 ? m : n, most);
    if (!A || !draw_output(&o, c, true, m, 1, most)) return NULL;
    share_settings(&o);
    *info = GrB_Matrix_reduce_Monoid(o.C->v, vector_of(o.M), o.accum, monoid(mon, type), A->m, desc_of(&o));
    raise_level(&o, A->level + 1);
    return o.C;
}

static case_object *call_reduce(one_case *c, GrB_Info *info)
{
    any_value x = {.i = 0};
    const bool vector = rng_chance(40);
    const int type = case_type(c), mon = draw_monoid(c, type), most = reducible(c, type, mon);
    printf("; reduce %d.t%d", mon, type);
    const int64_t m = case_size(c), n = case_size(c);
    const case_object *A = shaped(c, vector, m, n, most);
    if (!A) return NULL;
    *info = vector ? vec_reduce_value(type, &x, NULL, monoid(mon, type), A->v) : mat_reduce_value(type, &x, NULL, monoid(mon, type), A->m);
    printf(" => %d value=%llx", (int)*info, (unsigned long long)value_bits(type, &x, 0));
    return NULL;
}

case_object *case_call(one_case *c, GrB_Info *info)
{
    typedef case_object *call(one_case *, GrB_Info *);
    static call *const calls[] = {call_mxm,   call_mxm,   call_mxm,    call_mxm,       call_mxm,    call_mxm,    call_mxm,
                                  call_mxv,   call_mxv,   call_mxv,    call_ewise,     call_ewise,  call_ewise,  call_apply,
                                  call_apply, call_select, call_select, call_transpose, call_assign, call_assign, call_reduce,
                                  call_reduce_rows, call_extract, call_extract, call_extract, call_assign_part};
    *info = GrB_SUCCESS;
    return calls[rng_below(26)](c, info);
}
