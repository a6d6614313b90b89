/* Products: mxm, mxv, vxm over every family of semirings, shapes, formats, masks, accumulators and descriptors.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "program.h"

typedef struct choice { /* one product being made up */
    GrB_Semiring semiring;
    int mon, op, type;
    GrB_BinaryOp accum;
    int accum_op, accum_type;
    bool replace, comp, structural, t0, t1;
    bool swapped;    /* vxm: the vector, B, is the first operand */
    bool positional; /* values are indices */
    object *C, *M, *A, *B;
} choice;

static const char *const op_names[OP_COUNT] = {"times", "first", "second", "pair", "plus", "land", "minus", "min",
                                               "max", "lor", "lxor", "iseq", "isgt", "rminus", "any"};
static const char *const monoid_names[MON_COUNT] = {"plus", "min", "max", "any", "lor", "times", "land", "lxor"};

static void random_semiring(choice *c)
{
    static const int mons[] = {MON_PLUS, MON_PLUS, MON_PLUS, MON_MIN, MON_MAX};
    c->type = random_type();
    c->mon = mons[rng_below(5)];
    c->op = rng_chance(85) ? rng_below(6) : rng_below(OP_ANY);
    if (c->type == T_BOOL) c->mon = rng_chance(80) ? MON_LOR : rng_chance(50) ? MON_LAND : MON_LXOR;
    else if (!is_float(c->type) && rng_chance(5)) c->mon = MON_TIMES;
    c->semiring = semiring(c->mon, c->op, c->type, rng_chance(50));
}

static void odd_semiring(choice *c)
{
    static const int types[] = {T_FP64, T_INT32, T_USER};
    if (rng_chance(40)) {
        c->type = T_INT64;
        c->semiring = positional_semiring(rng_below(4));
        c->op = OP_PLUS;
        c->positional = true;
    } else {
        c->type = types[rng_below(3)];
        c->semiring = user_semiring(c->type);
        c->op = OP_TIMES;
    }
    c->mon = MON_PLUS;
}

static int operand_type(int type)
{
    return type == T_USER || rng_chance(70) ? type : TYPE_ANY;
}

static int log2_ceil(int k)
{
    int n = 0;
    while ((1 << n) < k) n++;
    return n + 1;
}

static bound product_bound(const choice *c, int k)
{
    bound a = bound_cast(c->A->b, c->A->type, c->type), b = bound_cast(c->B->b, c->B->type, c->type);
    bound t = c->swapped ? op_bound(c->op, b, a) : op_bound(c->op, a, b);
    if (c->positional) t = (bound){10, 0, false};
    if (c->mon == MON_PLUS) t.mag += log2_ceil(k);
    if (c->mon == MON_TIMES) t.mag = 64;
    return bound_cast(t, T_FP64, c->type);
}

/* The operands' values such that the order of the additions cannot be seen. */
static bound make_exact(choice *c, int k)
{
    bound t = product_bound(c, k);
    bool floats = is_float(c->type) || is_float(c->accum_type) || is_float(c->C->type);
    if (!floats) return t;
    if (!bound_exact(t, c->type) || (t.special && c->mon != MON_PLUS)) {
        tame(c->A);
        tame(c->B);
        t = product_bound(c, k);
    }
    if (c->accum && !bound_exact(op_bound(OP_PLUS, c->C->b, t), c->accum_type == T_FP32 ? T_FP32 : c->type)) tame(c->C);
    return t;
}

static void random_accumulator(choice *c)
{
    c->accum_op = random_accum(c->C, &c->accum_type);
    c->accum = c->accum_op >= 0 ? binary_op(c->accum_op, c->accum_type) : NULL;
    if (c->accum_op < 0) c->accum_type = c->type;
}

static void random_flags(choice *c, bool masked)
{
    c->replace = rng_chance(25);
    c->structural = rng_chance(60);
    c->comp = masked && rng_chance(30);
}

static void care_for_faults(choice *c)
{
    operand(c->A);
    operand(c->B);
    if (c->M) operand_mask(c->M, c->accum != NULL);
    without_hyper(c->A, !c->M);
    without_hyper(c->B, !c->M);
    without_hyper(c->C, !c->M);
}

static void name_product(char *name, size_t size, const char *call, const char *family, const choice *c)
{
    snprintf(name, size, "%s.%s %s_%s.%d%s%s%s%s%s%s%s", call, family, monoid_names[c->mon], op_names[c->op], c->type,
             c->M ? " M" : "", c->comp ? "c" : "", c->structural ? "s" : "", c->replace ? "r" : "", c->t0 ? " T0" : "",
             c->t1 ? " T1" : "", c->accum ? " acc" : "");
}

/* ---- mxm ---- */

enum { FAMILY_SPMM, FAMILY_DSPMM, FAMILY_SDDMM, FAMILY_DOT, FAMILY_OTHER, FAMILIES };

/* Hold it as the family wants it, now and then: small objects change their format by themselves. */
static void hold_as(object *o, int want)
{
    int control = want == WANT_SPARSE ? GxB_SPARSE : GxB_FULL | GxB_BITMAP;
    if (want == WANT_ANY || o->hyper || rng_chance(30)) return;
    operand(o);
    if (o->vector) GxB_Vector_Option_set(o->v, GxB_SPARSITY_CONTROL, control);
    else GxB_Matrix_Option_set(o->m, GxB_SPARSITY_CONTROL, control);
}

static void pick_operands(choice *c, int family, int m, int k, int n)
{
    static const int want_a[FAMILIES] = {WANT_SPARSE, WANT_DENSE, WANT_DENSE, WANT_SPARSE, WANT_ANY};
    static const int want_b[FAMILIES] = {WANT_DENSE, WANT_SPARSE, WANT_DENSE, WANT_SPARSE, WANT_ANY};
    c->A = pool_matrix(c->t0 ? k : m, c->t0 ? m : k, operand_type(c->type), want_a[family]);
    c->B = pool_matrix(c->t1 ? n : k, c->t1 ? k : n, operand_type(c->type), want_b[family]);
    hold_as(c->A, want_a[family]);
    if (c->A != c->B) hold_as(c->B, want_b[family]);
    if (c->type == T_USER) c->accum_type = T_USER;
    bool masked = family == FAMILY_SDDMM || family == FAMILY_DOT || rng_chance(25);
    if (masked) {
        int want = family == FAMILY_SDDMM || family == FAMILY_DOT ? WANT_SPARSE : WANT_ANY;
        c->M = pool_matrix(m, n, TYPE_ANY, want);
    }
}

static bool same_shape(const object *o, int nrows, int ncols, int type)
{
    return o && o->nrows == nrows && o->ncols == ncols && (o->type == T_USER) == (type == T_USER);
}

static object *pick_result(const choice *c, int m, int n)
{
    if (rng_chance(12) && same_shape(c->A, m, n, c->type)) return c->A;
    if (rng_chance(12) && same_shape(c->B, m, n, c->type)) return c->B;
    if (rng_chance(12) && same_shape(c->M, m, n, c->type)) return c->M;
    return pool_matrix(m, n, operand_type(c->type), WANT_ANY);
}

static void result_format(object *C)
{
    if (rng_chance(20)) GxB_Matrix_Option_set(C->m, GxB_FORMAT, rng_chance(50) ? GxB_BY_COL : GxB_BY_ROW);
    if (rng_chance(5)) GrB_Matrix_clear(C->m);
}

static void plan_mxm(choice *c, int family, int m, int k, int n)
{
    if (rng_chance(90)) random_semiring(c);
    else odd_semiring(c);
    c->t0 = rng_chance(25);
    c->t1 = rng_chance(family == FAMILY_DOT || family == FAMILY_SDDMM ? 60 : 25);
    pick_operands(c, family, m, k, n);
    random_flags(c, c->M != NULL);
    if (family == FAMILY_SDDMM || family == FAMILY_DOT) c->comp = rng_chance(8);
    c->C = pick_result(c, m, n);
    random_accumulator(c);
    if (c->C == c->A || c->C == c->B || c->C == c->M) return;
    result_format(c->C);
    if ((family == FAMILY_SDDMM || family == FAMILY_DOT) && rng_chance(60)) {
        c->accum = NULL;
        c->accum_op = -1;
    }
}

static void op_mxm(void)
{
    static const char *const names[FAMILIES] = {"spmm", "dspmm", "sddmm", "dot", "any"};
    choice c = {.accum_op = -1};
    int family = rng_below(FAMILIES), m = pool_size(), k = pool_size(), n = pool_size();
    char name[100];
    plan_mxm(&c, family, m, k, n);
    care_for_faults(&c);
    bound t = make_exact(&c, k);
    GrB_Descriptor desc = descriptor(c.replace, c.comp, c.structural, c.t0, c.t1);
    if (!c.M && !c.replace && rng_chance(8)) desc = method_descriptor(rng_below(4), c.t0, c.t1);
    name_product(name, sizeof name, "mxm", names[family], &c);
    GrB_Info info = GrB_mxm(c.C->m, c.M ? c.M->m : NULL, c.accum, c.semiring, c.A->m, c.B->m, desc);
    if (info == GrB_SUCCESS) object_bound(c.C, t, c.type, c.accum_op);
    c.C->dense = family == FAMILY_SPMM && !c.M && rng_chance(50);
    report(name, info, c.C);
}

/* ---- mxv, vxm ---- */

static object *pick_vector_result(const choice *c, int m)
{
    if (rng_chance(15) && c->B->nrows == m && (c->B->type == T_USER) == (c->type == T_USER)) return c->B;
    return pool_vector(m, operand_type(c->type), WANT_ANY);
}

static void plan_mxv(choice *c, int m, int k)
{
    if (rng_chance(90)) random_semiring(c);
    else odd_semiring(c);
    c->t0 = rng_chance(35);
    c->A = pool_matrix(c->t0 ? k : m, c->t0 ? m : k, operand_type(c->type), rng_chance(80) ? WANT_SPARSE : WANT_ANY);
    c->B = pool_vector(k, operand_type(c->type), rng_chance(75) ? WANT_DENSE : WANT_ANY);
    hold_as(c->A, WANT_SPARSE);
    if (rng_chance(75)) hold_as(c->B, WANT_DENSE);
    if (rng_chance(25)) c->M = pool_vector(m, TYPE_ANY, WANT_ANY);
    c->C = pick_vector_result(c, m);
    random_flags(c, c->M != NULL);
    random_accumulator(c);
}

static void op_mxv(bool reversed)
{
    choice c = {.accum_op = -1, .swapped = reversed};
    int m = pool_size(), k = pool_size();
    char name[100];
    plan_mxv(&c, m, k);
    care_for_faults(&c);
    bound t = make_exact(&c, k);
    bool t0 = reversed ? false : c.t0, t1 = reversed ? !c.t0 : false;
    GrB_Descriptor desc = descriptor(c.replace, c.comp, c.structural, t0, t1);
    GrB_Vector mask = c.M ? c.M->v : NULL;
    name_product(name, sizeof name, reversed ? "vxm" : "mxv", "", &c);
    GrB_Info info = reversed ? GrB_vxm(c.C->v, mask, c.accum, c.semiring, c.B->v, c.A->m, desc)
                             : GrB_mxv(c.C->v, mask, c.accum, c.semiring, c.A->m, c.B->v, desc);
    if (info == GrB_SUCCESS) object_bound(c.C, t, c.type, c.accum_op);
    report(name, info, c.C);
}

void op_products(void)
{
    int which = rng_below(10);
    if (which < 6) op_mxm();
    else op_mxv(which < 8);
}

/* ---- the any monoid: whichever value is taken, only the structure is printed, unless all candidates are one ---- */

void op_any_products(void)
{
    choice c = {.mon = MON_ANY, .accum_op = -1};
    int m = pool_size(), k = pool_size(), n = pool_size();
    bool one = rng_chance(50);
    GrB_Matrix T = NULL;
    c.type = random_type();
    c.op = one ? OP_PAIR : rng_below(5);
    c.semiring = semiring(MON_ANY, c.op, c.type, rng_chance(50));
    c.t0 = rng_chance(25);
    c.t1 = rng_chance(25);
    pick_operands(&c, rng_below(FAMILIES), m, k, n);
    c.structural = rng_chance(60);
    if (one) c.C = pick_result(&c, m, n);
    else c.C = c.A;
    care_for_faults(&c);
    GrB_Descriptor desc = descriptor(false, false, c.structural, c.t0, c.t1);
    if (!one) GrB_Matrix_new(&T, GrB_FP64, (GrB_Index)m, (GrB_Index)n);
    GrB_Info info = GrB_mxm(one ? c.C->m : T, c.M ? c.M->m : NULL, NULL, c.semiring, c.A->m, c.B->m, desc);
    if (one) {
        if (info == GrB_SUCCESS) object_bound(c.C, (bound){1, 0, false}, c.type, -1);
        report("any_pair", info, c.C);
    } else {
        report_structure("any_other", info, T);
        GrB_Matrix_free(&T);
    }
}
