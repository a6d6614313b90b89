/* Chains of elementwise calls, products and sums over a few full, bitmap or sparse objects of one type, seldom looked at in between: what
 * a backend may keep for itself all the way.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "program.h"

enum { OBJECTS = 5, MASKS = 2 };

typedef struct chain {
    object o[OBJECTS]; /* of one type and shape */
    object mask[MASKS];
    GrB_Matrix A;      /* sparse, of their type, square: for products from the left */
    object small;      /* full, sparse where the objects are, square: products from the right */
    object sums[2], sums_mask[2]; /* vectors: of rows, of columns; not where the objects are vectors */
    int type, m, n;
    bool vector;
    bool sparse;       /* the objects, which stay so */
} chain;

static object new_object(const chain *c, int type, int want)
{
    object o = {.vector = c->vector, .type = type, .nrows = c->m, .ncols = c->n, .dense = want == WANT_DENSE};
    if (c->vector) o.v = make_vector(c->m, type, want, &o.b);
    else o.m = make_matrix(c->m, c->n, type, want, &o.b, &o.hyper);
    if (!c->vector && rng_chance(30)) GxB_Matrix_Option_set(o.m, GxB_FORMAT, rng_chance(50) ? GxB_BY_COL : GxB_BY_ROW);
    return o;
}

static object new_vector(int size, int type, int want)
{
    object o = {.vector = true, .type = type, .nrows = size, .ncols = 1, .dense = want == WANT_DENSE};
    o.v = make_vector(size, type, want, &o.b);
    return o;
}

static object *any(chain *c)
{
    return &c->o[rng_below(OBJECTS)];
}

/* Masks are of other types. */
static object *any_source(chain *c)
{
    return rng_chance(90) ? any(c) : &c->mask[rng_below(MASKS)];
}

/* An operator's type: its operands and its result are cast. */
static int any_type(const chain *c)
{
    return rng_chance(85) ? c->type : random_type();
}

static object *any_mask(chain *c)
{
    if (rng_chance(70)) return NULL;
    if (rng_chance(60)) return &c->mask[rng_below(MASKS)];
    object *M = any(c);
    without_negative_zero(M);
    return M;
}

static GrB_Vector vector_of(const object *o)
{
    return o ? o->v : NULL;
}

static GrB_Matrix matrix_of(const object *o)
{
    return o ? o->m : NULL;
}

/* What a call writes to, under which mask, how. */
typedef struct output {
    object *C, *M;
    GrB_BinaryOp accum;
    GrB_Descriptor desc;
} output;

static GrB_Index count_of(const object *o)
{
    GrB_Index n = 0;
    if (o->vector) GrB_Vector_nvals(&n, o->v);
    else GrB_Matrix_nvals(&n, o->m);
    return n;
}

static bool has_every_entry(const chain *c, const object *o)
{
    return count_of(o) == (GrB_Index)(c->m * c->n);
}

/* 7.4.0 reads what a full mask does not have when it accumulates sparse results under it (GB_subassign_08n). */
static output any_output(chain *c)
{
    static const int accums[] = {OP_PLUS, OP_MINUS, OP_MIN, OP_TIMES, OP_SECOND, OP_FIRST, OP_LOR, OP_ISGT};
    output out = {.C = any(c), .M = any_mask(c)};
    report_count(out.C);
    int op = accums[rng_below(8)];
    if (op == OP_MIN && is_float(c->type)) op = OP_MINUS; /* of 0 and -0 7.4.0 takes either, and a later division shows it */
    if (rng_chance(35)) out.accum = binary_op(op, rng_chance(95) ? c->type : random_type());
    const bool square = !c->vector && c->m == c->n;
    if (rng_chance(60))
        out.desc = descriptor(rng_chance(30), out.M && rng_chance(30), rng_chance(50), square && rng_chance(30), square && rng_chance(30));
    if (out.accum && out.M && has_every_entry(c, out.M)) out.accum = NULL;
    return out;
}

/* 7.4.0 writes a full eWise result into an iso C that has room for one value: a new one then. */
static void make_new(const chain *c, object *C)
{
    void *fresh = NULL;
    if (c->vector) GrB_Vector_new((GrB_Vector *)&fresh, type_handle(C->type), (GrB_Index)c->m);
    else GrB_Matrix_new((GrB_Matrix *)&fresh, type_handle(C->type), (GrB_Index)c->m, (GrB_Index)c->n);
    object_replace(C, fresh);
    if (c->sparse && c->vector) GxB_Vector_Option_set(C->v, GxB_SPARSITY_CONTROL, GxB_SPARSE);
    else if (c->sparse) GxB_Matrix_Option_set(C->m, GxB_SPARSITY_CONTROL, GxB_SPARSE);
}

/* A mask with every entry is none to it. */
static output any_output_of_ewise(chain *c)
{
    output out = any_output(c);
    if (!out.accum && (!out.M || has_every_entry(c, out.M))) make_new(c, out.C);
    return out;
}

static GrB_BinaryOp ordering(int which, int type)
{
#define X(N, T, C) case N: { GrB_BinaryOp ops[] = {GrB_EQ_##T, GrB_NE_##T, GrB_GT_##T, GrB_LT_##T, GrB_GE_##T, GrB_LE_##T, \
                             GrB_DIV_##T, GxB_RDIV_##T}; return ops[which]; }
    switch (type) {
        EACH_TYPE(X)
    }
#undef X
    return NULL;
}

/* Comparisons have results of type BOOL. */
static GrB_BinaryOp any_binary(const chain *c)
{
    const int type = any_type(c);
    if (rng_chance(15)) return ordering(6 + rng_below(2), type);
    if (rng_chance(10)) return ordering(rng_below(6), type);
    return binary_op(rng_below(OP_ANY), type);
}

static any_value any_scalar(const chain *c)
{
    any_value x = {.i = 0};
    value_put(c->type, &x, 0, rng_below(7) - (c->type >= T_UINT8 && c->type <= T_UINT64 ? 0 : 2));
    return x;
}

/* ---- calls ---- */

static void apply(chain *c)
{
    output out = any_output(c);
    object *A = any_source(c);
    GrB_UnaryOp op = plain_unary(rng_below(5), any_type(c));
    report("chain_apply", c->vector ? GrB_Vector_apply(out.C->v, vector_of(out.M), out.accum, op, A->v, out.desc)
                                    : GrB_Matrix_apply(out.C->m, matrix_of(out.M), out.accum, op, A->m, out.desc), out.C);
}

static void bind(chain *c)
{
    output out = any_output(c);
    object *A = any_source(c);
    any_value y = any_scalar(c);
    GrB_BinaryOp op = any_binary(c);
    report("chain_bind", c->vector ? vec_bind2(c->type, out.C->v, vector_of(out.M), out.accum, op, A->v, &y, out.desc)
                                   : mat_bind2(c->type, out.C->m, matrix_of(out.M), out.accum, op, A->m, &y, out.desc), out.C);
}

static void ewise(chain *c)
{
    output out = any_output_of_ewise(c);
    object *A = any_source(c), *B = any_source(c);
    GrB_BinaryOp op = any_binary(c);
    bool add = rng_chance(50);
    if (c->vector)
        report("chain_ewise", add ? GrB_Vector_eWiseAdd_BinaryOp(out.C->v, vector_of(out.M), out.accum, op, A->v, B->v, out.desc)
                                  : GrB_Vector_eWiseMult_BinaryOp(out.C->v, vector_of(out.M), out.accum, op, A->v, B->v, out.desc), out.C);
    else
        report("chain_ewise", add ? GrB_Matrix_eWiseAdd_BinaryOp(out.C->m, matrix_of(out.M), out.accum, op, A->m, B->m, out.desc)
                                  : GrB_Matrix_eWiseMult_BinaryOp(out.C->m, matrix_of(out.M), out.accum, op, A->m, B->m, out.desc), out.C);
}

static void ewise_union(chain *c)
{
    output out = any_output_of_ewise(c);
    object *A = any(c), *B = any(c);
    GrB_Scalar one = NULL;
    GrB_Scalar_new(&one, GrB_INT32);
    GrB_Scalar_setElement_INT32(one, 1);
    GrB_BinaryOp op = binary_op(rng_below(OP_ANY), any_type(c));
    report("chain_union", c->vector
        ? GxB_Vector_eWiseUnion(out.C->v, vector_of(out.M), out.accum, op, A->v, one, B->v, one, out.desc)
        : GxB_Matrix_eWiseUnion(out.C->m, matrix_of(out.M), out.accum, op, A->m, one, B->m, one, out.desc), out.C);
    GrB_Scalar_free(&one);
}

/* Operators inside of monoids and semirings. */
static void ewise_inside(chain *c)
{
    output out = any_output_of_ewise(c);
    object *A = any(c), *B = any(c);
    GrB_Monoid sum = monoid(c->type == T_BOOL ? MON_LOR : MON_MAX, c->type);
    GrB_Semiring ring = semiring(c->type == T_BOOL ? MON_LOR : MON_PLUS, OP_TIMES, c->type, true);
    bool first = rng_chance(50);
    GrB_Info info;
    if (c->vector)
        info = first ? GrB_Vector_eWiseAdd_Monoid(out.C->v, vector_of(out.M), out.accum, sum, A->v, B->v, out.desc)
                     : GrB_Vector_eWiseMult_Semiring(out.C->v, vector_of(out.M), out.accum, ring, A->v, B->v, out.desc);
    else
        info = first ? GrB_Matrix_eWiseMult_Monoid(out.C->m, matrix_of(out.M), out.accum, sum, A->m, B->m, out.desc)
                     : GrB_Matrix_eWiseAdd_Semiring(out.C->m, matrix_of(out.M), out.accum, ring, A->m, B->m, out.desc);
    report("chain_inside", info, out.C);
}

/* GrB_assign or GrB_extract. */
typedef GrB_Info (*vector_move)(GrB_Vector, const GrB_Vector, const GrB_BinaryOp, const GrB_Vector, const GrB_Index *, GrB_Index,
                                const GrB_Descriptor);
typedef GrB_Info (*matrix_move)(GrB_Matrix, const GrB_Matrix, const GrB_BinaryOp, const GrB_Matrix, const GrB_Index *, GrB_Index,
                                const GrB_Index *, GrB_Index, const GrB_Descriptor);

enum { MOST_INDICES = 256 };

/* All places of a vector in any order, or from the last to the first. */
static void move_listed(chain *c, const char *name, vector_move move)
{
    static GrB_Index list[MOST_INDICES];
    output out = any_output(c);
    object *A = any_source(c);
    const bool backwards = rng_chance(20);
    for (int k = 0; k < c->m; k++) {
        const int other = rng_below(k + 1);
        list[k] = list[other];
        list[other] = (GrB_Index)k;
    }
    if (backwards) {
        list[GxB_BEGIN] = (GrB_Index)c->m - 1;
        list[GxB_END] = 0;
        list[GxB_INC] = 1;
    }
    report(name, move(out.C->v, vector_of(out.M), out.accum, A->v, list, backwards ? GxB_BACKWARDS : (GrB_Index)c->m, out.desc), out.C);
}

static void move_all(chain *c, const char *name, vector_move of_vector, matrix_move of_matrix)
{
    if (c->vector && c->m > 2 && c->m <= MOST_INDICES && rng_chance(50)) return move_listed(c, name, of_vector);
    output out = any_output(c);
    object *A = any_source(c);
    GrB_Index m = (GrB_Index)c->m, n = (GrB_Index)c->n;
    report(name, c->vector ? of_vector(out.C->v, vector_of(out.M), out.accum, A->v, GrB_ALL, m, out.desc)
                           : of_matrix(out.C->m, matrix_of(out.M), out.accum, A->m, GrB_ALL, m, GrB_ALL, n, out.desc), out.C);
}

static void assign_object(chain *c)
{
    move_all(c, "chain_assign", GrB_Vector_assign, GrB_Matrix_assign);
}

static void extract(chain *c)
{
    move_all(c, "chain_extract", GrB_Vector_extract, GrB_Matrix_extract);
}

static void transpose(chain *c)
{
    output out = any_output(c);
    object *A = any_source(c);
    if (c->vector) return report_text("skip", GrB_SUCCESS);
    report("chain_transpose", GrB_transpose(out.C->m, matrix_of(out.M), out.accum, A->m, out.desc), out.C);
}

static void assign_scalar(chain *c)
{
    output out = any_output(c);
    any_value x = any_scalar(c);
    if (out.M == out.C) out.M = NULL;
    if (!out.M) object_wait(out.C); /* 7.4.0 keeps counting zombies when a value fills all of C */
    GrB_Index m = (GrB_Index)c->m, n = (GrB_Index)c->n;
    report("chain_fill", c->vector ? vec_assign_value(c->type, out.C->v, vector_of(out.M), out.accum, &x, GrB_ALL, m, out.desc)
                                   : mat_assign_value(c->type, out.C->m, matrix_of(out.M), out.accum, &x, GrB_ALL, m, GrB_ALL, n, out.desc),
           out.C);
}

static void choose(chain *c)
{
    output out = any_output(c);
    object *A = any(c);
    bool by_value;
    GrB_IndexUnaryOp op = select_op(rng_below(10), c->type, &by_value);
    any_value y = any_scalar(c);
    report("chain_select", c->vector ? vec_select(c->type, out.C->v, vector_of(out.M), out.accum, op, A->v, &y, out.desc)
                                     : mat_select(c->type, out.C->m, matrix_of(out.M), out.accum, op, A->m, &y, out.desc), out.C);
}

/* Entries become where they are, or how they compare. */
static void number_places(chain *c)
{
    const GrB_IndexUnaryOp ops[] = {GrB_ROWINDEX_INT32, GrB_ROWINDEX_INT64, GrB_COLINDEX_INT32, GrB_COLINDEX_INT64, GrB_DIAGINDEX_INT32,
                                    GrB_DIAGINDEX_INT64};
    output out = any_output(c);
    object *A = any_source(c);
    bool by_value;
    GrB_IndexUnaryOp op = rng_chance(80) ? ops[rng_below(6)] : select_op(7 + rng_below(3), A->type, &by_value);
    const int64_t y = rng_below(9) - 4;
    report("chain_index", c->vector
        ? GrB_Vector_apply_IndexOp_INT64(out.C->v, vector_of(out.M), out.accum, op, A->v, y, out.desc)
        : GrB_Matrix_apply_IndexOp_INT64(out.C->m, matrix_of(out.M), out.accum, op, A->m, y, out.desc), out.C);
}

static void count(chain *c)
{
    object *A = any(c);
    uint64_t n = count_of(A);
    report_value("chain_nvals", GrB_SUCCESS, T_UINT64, &n);
}

/* Values 0 and 1 sum up exactly. */
static void make_small(chain *c, object *A)
{
    any_value one = {.i = 0};
    GrB_BinaryOp op = binary_op(OP_ISGT, c->type);
    value_put(c->type, &one, 0, is_float(c->type) ? 2 : 1);
    if (c->vector) vec_bind2(c->type, A->v, NULL, NULL, op, A->v, &one, NULL);
    else mat_bind2(c->type, A->m, NULL, NULL, op, A->m, &one, NULL);
}

static void sum(chain *c)
{
    static const int mons[] = {MON_PLUS, MON_MIN, MON_MAX, MON_TIMES};
    object *A = any(c);
    any_value x = any_scalar(c);
    const int type = any_type(c), mon = type == T_BOOL ? (rng_chance(50) ? MON_LOR : MON_LXOR) : mons[rng_below(4)];
    GrB_BinaryOp accum = rng_chance(30) ? binary_op(OP_PLUS, c->type) : NULL;
    make_small(c, A);
    if (count_of(A) == 0) return report_text("skip", GrB_SUCCESS); /* 7.4.0: an empty iso bitmap is not the identity */
    GrB_Info info = c->vector ? vec_reduce_value(c->type, &x, accum, monoid(mon, type), A->v)
                              : mat_reduce_value(c->type, &x, accum, monoid(mon, type), A->m);
    report_value("chain_reduce", info, c->type, &x);
}

static GrB_BinaryOp operator_of(GrB_Monoid sum)
{
    GrB_BinaryOp op = NULL;
    GxB_Monoid_operator(&op, sum);
    return op;
}

/* To a vector.  Any value is the same where all are 1. */
static void sum_rows(chain *c)
{
    object *A = any(c);
    const bool columns = rng_chance(40);
    object *w = &c->sums[columns], *M = rng_chance(70) ? NULL : &c->sums_mask[columns];
    const int mon = rng_below(MON_COUNT), type = any_type(c);
    GrB_Monoid sum = monoid(mon, type);
    if (c->vector || !sum) return report_text("skip", GrB_SUCCESS);
    GrB_BinaryOp accum = rng_chance(30) ? binary_op(rng_chance(50) ? OP_PLUS : OP_MIN, c->type) : NULL;
    GrB_Descriptor desc = descriptor(rng_chance(30), M && rng_chance(30), rng_chance(50), columns, false);
    if (accum && M && count_of(M) == (GrB_Index)w->nrows) accum = NULL;
    if (mon == MON_ANY) GrB_Matrix_apply(A->m, NULL, NULL, plain_unary(3, c->type), A->m, NULL);
    else if (rng_chance(70) || mon == MON_PLUS || mon == MON_TIMES) make_small(c, A);
    GrB_Info info = rng_chance(50) && type != T_BOOL
        ? GrB_Matrix_reduce_BinaryOp(w->v, vector_of(M), accum, operator_of(sum), A->m, desc)
        : GrB_Matrix_reduce_Monoid(w->v, vector_of(M), accum, sum, A->m, desc);
    report("chain_rows", info, w);
}

static void multiply(chain *c)
{
    static const int muls[] = {OP_TIMES, OP_FIRST, OP_SECOND, OP_PAIR};
    object *B = any(c), *C = any(c), *M = rng_chance(70) ? NULL : any_mask(c);
    GrB_BinaryOp accum = rng_chance(40) && !M ? binary_op(OP_PLUS, c->type) : NULL;
    GrB_Semiring ring = semiring(c->type == T_BOOL ? MON_LOR : MON_PLUS, muls[rng_below(4)], c->type, true);
    bool pushes = c->vector && rng_chance(50), turned = rng_chance(30), right = c->sparse && !c->vector && rng_chance(50);
    GrB_Descriptor desc = descriptor(rng_chance(30), M && rng_chance(30), rng_chance(50), !pushes && !right && turned, (pushes || right) && turned);
    make_small(c, B);
    if (accum) make_small(c, C);
    GrB_Info info = pushes      ? GrB_vxm(C->v, vector_of(M), accum, ring, B->v, c->A, desc)
                    : c->vector ? GrB_mxv(C->v, vector_of(M), accum, ring, c->A, B->v, desc)
                    : right     ? GrB_mxm(C->m, matrix_of(M), accum, ring, B->m, c->small.m, desc)
                                : GrB_mxm(C->m, matrix_of(M), accum, ring, c->A, B->m, desc);
    without_negative_zero(C); /* whose sign depends on the order of a sum, and a later division shows it */
    report("chain_product", info, C);
}

/* Where the objects are sparse vectors, products of few entries. */
static void thin(chain *c, object *A)
{
    any_value y = any_scalar(c);
    bool by_value;
    GrB_IndexUnaryOp op = select_op(7 + rng_below(3), c->type, &by_value);
    report("chain_thin", vec_select(c->type, A->v, NULL, NULL, op, A->v, &y, NULL), A);
}

/* A round of delta-stepping: paths over one edge more, where they are shorter, and those of them below a limit. */
static void relax(chain *c)
{
    object *bucket = any(c), *request = any(c), *path = any(c), *less = &c->mask[0];
    if (!c->vector || c->type == T_BOOL || less->type != T_BOOL) return multiply(c);
    const GrB_Index n = (GrB_Index)c->m;
    any_value limit = any_scalar(c);
    bool by_value;
    GrB_Semiring ring = semiring(rng_chance(50) ? MON_MIN : MON_MAX, OP_PLUS, c->type, true);
    if (rng_chance(50)) thin(c, bucket);
    report("relax_product", GrB_vxm(request->v, NULL, NULL, ring, bucket->v, c->A, NULL), request);
    make_new(c, less);
    report("relax_less", GrB_Vector_eWiseMult_BinaryOp(less->v, NULL, NULL, ordering(3, c->type), request->v, path->v, NULL), less);
    report("relax_true", GrB_Vector_select_BOOL(less->v, NULL, NULL, GrB_VALUEEQ_BOOL, less->v, true, NULL), less);
    report("relax_bucket", vec_select(c->type, bucket->v, less->v, NULL, select_op(7 + rng_below(3), c->type, &by_value), request->v,
                                      &limit, GrB_DESC_RS), bucket);
    report("relax_path", GrB_Vector_assign(path->v, less->v, NULL, request->v, GrB_ALL, n, GrB_DESC_S), path);
}

/* Written to, freed, or freed and made anew, often at the same address. */
static void disturb(GrB_Matrix *A, int n, int type)
{
    any_value x;
    bound b;
    bool hyper;
    const int how = rng_below(5);
    value_put(type, &x, 0, 1);
    if (how == 0) mat_set(type, *A, &x, (GrB_Index)rng_below(n), (GrB_Index)rng_below(n));
    if (how > 1) GrB_Matrix_free(A);
    if (how > 2) *A = make_matrix(n, n, type, WANT_SPARSE, &b, &hyper);
}

/* Pairs counted under a mask, twice with the same operands, which go before anybody looks at the counts, if anybody does.  Narrow
 * matrices (64) do not stay on a GPU. */
static void count_pairs(chain *c)
{
    const int n = 66 + rng_below(10), type = T_INT8 + rng_below(8), own = random_type(), of[3] = {0, rng_chance(40) ? 0 : 1, rng_chance(40) ? 0 : 2};
    GrB_Matrix part[3];
    object C[2];
    bound b;
    bool hyper;
    (void)c;
    for (int k = 0; k < 3; k++) part[k] = make_matrix(n, n, own, WANT_SPARSE, &b, &hyper);
    GrB_Descriptor desc = descriptor(rng_chance(30), false, rng_chance(50), rng_chance(30), rng_chance(50));
    for (int k = 0; k < 2; k++) {
        C[k] = (object){.type = type, .nrows = n, .ncols = n};
        GrB_Matrix_new(&C[k].m, type_handle(type), (GrB_Index)n, (GrB_Index)n);
        GrB_Info info = GrB_mxm(C[k].m, part[of[2]], NULL, semiring(MON_PLUS, OP_PAIR, type, true), part[of[0]], part[of[1]], desc);
        report("chain_pairs", info, &C[k]);
    }
    for (int k = 0; k < 3; k++) disturb(&part[k], n, own);
    for (int k = 0; k < 2; k++) {
        GrB_Index entries = 0;
        if (rng_chance(60)) report_value("chain_pairs_number", GrB_Matrix_nvals(&entries, C[k].m), T_UINT64, &entries);
        report("chain_pairs_end", GrB_SUCCESS, &C[k]);
        object_free(&C[k]);
    }
    for (int k = 0; k < 3; k++) GrB_Matrix_free(&part[k]);
}

static void multiply_dense(chain *c)
{
    object *A = any(c), *C = any(c);
    GrB_BinaryOp accum = rng_chance(30) ? binary_op(OP_PLUS, c->type) : NULL;
    if (c->vector || c->type == T_BOOL) return multiply(c);
    make_small(c, A);
    if (accum) make_small(c, C);
    GrB_Info info = GrB_mxm(C->m, NULL, accum, semiring(MON_PLUS, OP_TIMES, c->type, true), A->m, c->small.m,
                            descriptor(false, false, false, false, rng_chance(50)));
    without_negative_zero(C);
    report("chain_dense", info, C);
}

static void duplicate(chain *c)
{
    object *A = any(c), *B = any(c);
    void *copy = NULL;
    GrB_Info info = c->vector ? GrB_Vector_dup((GrB_Vector *)&copy, A->v) : GrB_Matrix_dup((GrB_Matrix *)&copy, A->m);
    if (info == GrB_SUCCESS) object_replace(B, copy);
    report("chain_dup", info, B);
}

static void swap(chain *c)
{
    object *A = any(c), *B = any(c), old = *A;
    *A = *B;
    *B = old;
    report("chain_swap", GrB_SUCCESS, A);
}

/* What may hold an object: also while its contents are on the device. */
static void set_control(chain *c)
{
    static const int controls[] = {GxB_AUTO_SPARSITY, GxB_BITMAP, GxB_BITMAP + GxB_FULL, GxB_SPARSE, GxB_SPARSE + GxB_FULL};
    object *A = any(c);
    const int control = controls[rng_below(5)];
    report("chain_control", c->vector ? GxB_Vector_Option_set(A->v, GxB_SPARSITY_CONTROL, control)
                                      : GxB_Matrix_Option_set(A->m, GxB_SPARSITY_CONTROL, control), A);
}

/* One element is looked at or written, or everything at once. */
static void touch(chain *c)
{
    object *A = any(c);
    any_value x = any_scalar(c);
    GrB_Index i = (GrB_Index)rng_below(c->m), j = (GrB_Index)rng_below(c->n);
    switch (rng_below(5)) {
    case 0: report("chain_set", c->vector ? vec_set(c->type, A->v, &x, i) : mat_set(c->type, A->m, &x, i, j), A); break;
    case 1: report("chain_clear", c->vector ? GrB_Vector_clear(A->v) : GrB_Matrix_clear(A->m), A); break;
    case 2: report("chain_wait", object_wait(A), A); break;
    default: {
        GrB_Info info = c->vector ? vec_get(c->type, &x, A->v, i) : mat_get(c->type, &x, A->m, i, j);
        report_value("chain_get", info, c->type, &x);
    }
    }
}

/* Held as bitmap before there is anything in it, then some entries. */
static void start_bitmap(chain *c)
{
    object *A = any(c);
    make_new(c, A);
    report("chain_bitmap", c->vector ? GxB_Vector_Option_set(A->v, GxB_SPARSITY_CONTROL, GxB_BITMAP + GxB_FULL)
                                     : GxB_Matrix_Option_set(A->m, GxB_SPARSITY_CONTROL, GxB_BITMAP + GxB_FULL), A);
    for (int k = rng_below(4); k > 0; k--) {
        any_value x = any_scalar(c);
        GrB_Index i = (GrB_Index)rng_below(c->m), j = (GrB_Index)rng_below(c->n);
        report("chain_set", c->vector ? vec_set(c->type, A->v, &x, i) : mat_set(c->type, A->m, &x, i, j), A);
    }
}

/* ---- a chain ---- */

static void begin(chain *c)
{
    bool hyper;
    bound b;
    *c = (chain){.vector = rng_chance(60), .type = rng_chance(50) ? (rng_chance(50) ? T_FP32 : T_FP64) : rng_below(NTYPES)};
    c->sparse = rng_chance(c->vector ? 50 : 30);
    c->m = pool_size();
    c->n = c->vector ? 1 : rng_chance(40) ? c->m : pool_size();
    for (int k = 0; k < OBJECTS; k++)
        c->o[k] = new_object(c, c->type, c->sparse ? WANT_SPARSE : rng_chance(85) ? WANT_DENSE : WANT_ANY);
    for (int k = 0; k < MASKS; k++)
        c->mask[k] = new_object(c, rng_chance(60) ? T_BOOL : random_type(), rng_chance(70) && !c->sparse ? WANT_DENSE : WANT_ANY);
    for (int k = 0; k < 2 && !c->vector; k++) {
        c->sums[k] = new_vector(k ? c->n : c->m, c->type, WANT_ANY);
        c->sums_mask[k] = new_vector(k ? c->n : c->m, T_BOOL, WANT_DENSE);
    }
    c->A = make_matrix(c->m, c->m, c->type, WANT_SPARSE, &b, &hyper);
    c->small = (object){.type = c->type, .nrows = c->n, .ncols = c->n};
    c->small.m = make_matrix(c->n, c->n, c->type, c->sparse ? WANT_SPARSE : WANT_DENSE, &c->small.b, &hyper);
    GxB_Matrix_Option_set(c->A, GxB_SPARSITY_CONTROL, GxB_SPARSE);
}

static void end(chain *c)
{
    for (int k = 0; k < OBJECTS; k++) {
        if (rng_chance(70)) make_small(c, &c->o[k]);
        report("chain_end", GrB_SUCCESS, &c->o[k]);
        object_free(&c->o[k]);
    }
    for (int k = 0; k < MASKS; k++) object_free(&c->mask[k]);
    for (int k = 0; k < 2 && !c->vector; k++) {
        report("chain_end", GrB_SUCCESS, &c->sums[k]);
        object_free(&c->sums[k]);
        object_free(&c->sums_mask[k]);
    }
    object_free(&c->small);
    GrB_Matrix_free(&c->A);
}

void op_chains(void)
{
    static void (*const calls[])(chain *) = {
        apply, bind, bind, ewise, ewise, ewise_union, ewise_inside, assign_object, extract, assign_scalar, transpose,
        choose, choose, number_places, sum, sum_rows, sum_rows, count, multiply, multiply, multiply_dense, relax,
        relax, duplicate, swap, touch, set_control, start_bitmap, count_pairs};
    chain c;
    begin(&c);
    report_rarely(true);
    for (int k = 10 + rng_below(20); k > 0; k--) {
        calls[rng_below(sizeof calls / sizeof *calls)](&c);
        for (int o = 0; o < OBJECTS; o++) c.o[o].failed = false;
        c.sums[0].failed = c.sums[1].failed = false;
    }
    report_rarely(false);
    end(&c);
}
