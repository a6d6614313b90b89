/* Operators, monoids, semirings and descriptors by number, built-in and user-defined.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "program.h"

static GrB_BinaryOp binary[OP_COUNT][NTYPES];
static GrB_Monoid monoids[MON_ALL][NTYPES];
static GrB_Semiring builtin_semirings[MON_ALL][OP_COUNT][NTYPES];
static GrB_Semiring made_semirings[MON_ALL][OP_COUNT][NTYPES];
static GrB_UnaryOp tame_ops[NKINDS];
static GrB_BinaryOp user_ops[NKINDS], user_add;
static GrB_Monoid user_monoid;
static GrB_Semiring user_semirings[NKINDS], positional[ALL_POSITIONAL];
static GrB_UnaryOp nested;
static GrB_IndexUnaryOp user_index, user_index_of_user, user_select;
static GrB_Descriptor descriptors[32], methods[16];

/* ---- user functions ---- */

#define X(N, T, C)                                                                                                    \
    static void tame_##T(void *z, const void *x)                                                                      \
    {                                                                                                                 \
        double d = (double)*(const C *)x;                                                                             \
        double r = isfinite(d) ? floor(2 * fmod(d, 4.0)) / 2 : 1;                                                     \
        *(C *)z = (C)(is_float(N) ? r : (double)((int)r));                                                            \
    }
EACH_TYPE(X)
#undef X

static void tame_user(void *z, const void *x)
{
    const user_value *u = x;
    *(user_value *)z = (user_value){u->a & 15, u->b ^ 1};
}

static void mul_add_fp64(void *z, const void *x, const void *y)
{
    *(double *)z = *(const double *)x + 2 * *(const double *)y;
}

static void mul_add_int32(void *z, const void *x, const void *y)
{
    *(uint32_t *)z = *(const uint32_t *)x + 2 * *(const uint32_t *)y;
}

static void user_times(void *z, const void *x, const void *y)
{
    const user_value *u = x, *v = y;
    *(user_value *)z = (user_value){u->a * v->b, u->b + v->a};
}

static void user_plus(void *z, const void *x, const void *y)
{
    const user_value *u = x, *v = y;
    *(user_value *)z = (user_value){u->a + v->a, u->b + v->b};
}

static void index_fp64(void *z, const void *x, GrB_Index i, GrB_Index j, const void *y)
{
    *(double *)z = *(const double *)x + 2 * (double)i - (double)j + (double)*(const int64_t *)y;
}

static void index_user(void *z, const void *x, GrB_Index i, GrB_Index j, const void *y)
{
    const user_value *u = x;
    *(user_value *)z = (user_value){u->a + (uint32_t)(2 * i), u->b + (uint32_t)j + (uint32_t)*(const int64_t *)y};
}

static void select_fp64(void *z, const void *x, GrB_Index i, GrB_Index j, const void *y)
{
    *(bool *)z = *(const double *)x > 0 || (i + 3 * j + (GrB_Index)*(const int64_t *)y) % 2 == 0;
}

/* z = 2 x + the number of entries of a product made on the way. */
static void nested_call(void *z, const void *x)
{
    GrB_Matrix D = NULL, P = NULL, T = NULL;
    GrB_Index n = 0;
    double value = *(const double *)x, sum = 0;
    GrB_Matrix_new(&D, GrB_FP64, 3, 3);
    GrB_Matrix_new(&P, GrB_FP64, 3, 3);
    GrB_Matrix_new(&T, GrB_FP64, 3, 3);
    GrB_Matrix_assign_FP64(P, NULL, NULL, 1.0, GrB_ALL, 3, GrB_ALL, 3, NULL);
    GrB_Matrix_setElement_FP64(D, value, 0, 1);
    GrB_Matrix_setElement_FP64(D, value, 2, 2);
    GrB_mxm(T, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, D, P, NULL);
    GrB_Matrix_nvals(&n, T);
    GrB_Matrix_extractElement_FP64(&sum, T, 2, 1);
    *(double *)z = sum + value + (double)n;
    GrB_Matrix_free(&D);
    GrB_Matrix_free(&P);
    GrB_Matrix_free(&T);
}

/* ---- tables ---- */

#define NUMERIC(P, S) P##INT8##S, P##INT16##S, P##INT32##S, P##INT64##S, P##UINT8##S, P##UINT16##S, P##UINT32##S,     \
                      P##UINT64##S, P##FP32##S, P##FP64##S
#define EVERY(P, S) P##BOOL##S, NUMERIC(P, S)
#define SET(ROW, ...) do { void *t_[] = {__VA_ARGS__}; memcpy(ROW, t_, sizeof t_); } while (0)

static void fill_binary(void)
{
    SET(binary[OP_TIMES], EVERY(GrB_TIMES_, ));
    SET(binary[OP_FIRST], EVERY(GrB_FIRST_, ));
    SET(binary[OP_SECOND], EVERY(GrB_SECOND_, ));
    SET(binary[OP_PAIR], EVERY(GrB_ONEB_, ));
    SET(binary[OP_PLUS], EVERY(GrB_PLUS_, ));
    SET(binary[OP_LAND], EVERY(GxB_LAND_, ));
    SET(binary[OP_MINUS], EVERY(GrB_MINUS_, ));
    SET(binary[OP_MIN], EVERY(GrB_MIN_, ));
    SET(binary[OP_MAX], EVERY(GrB_MAX_, ));
    SET(binary[OP_LOR], EVERY(GxB_LOR_, ));
    SET(binary[OP_LXOR], EVERY(GxB_LXOR_, ));
    SET(binary[OP_ISEQ], EVERY(GxB_ISEQ_, ));
    SET(binary[OP_ISGT], EVERY(GxB_ISGT_, ));
    SET(binary[OP_RMINUS], EVERY(GxB_RMINUS_, ));
    SET(binary[OP_ANY], EVERY(GxB_ANY_, ));
    SET(binary[OP_DIV], EVERY(GrB_DIV_, ));
    SET(binary[OP_RDIV], EVERY(GxB_RDIV_, ));
    SET(binary[OP_ISNE], EVERY(GxB_ISNE_, ));
    SET(binary[OP_ISLT], EVERY(GxB_ISLT_, ));
    SET(binary[OP_ISGE], EVERY(GxB_ISGE_, ));
    SET(binary[OP_ISLE], EVERY(GxB_ISLE_, ));
    SET(binary[OP_EQ], EVERY(GrB_EQ_, ));
    SET(binary[OP_NE], EVERY(GrB_NE_, ));
    SET(binary[OP_GT], EVERY(GrB_GT_, ));
    SET(binary[OP_LT], EVERY(GrB_LT_, ));
    SET(binary[OP_GE], EVERY(GrB_GE_, ));
    SET(binary[OP_LE], EVERY(GrB_LE_, ));
}

static void fill_monoids(void)
{
    SET(monoids[MON_PLUS] + 1, NUMERIC(GrB_PLUS_MONOID_, ));
    SET(monoids[MON_MIN] + 1, NUMERIC(GrB_MIN_MONOID_, ));
    SET(monoids[MON_MAX] + 1, NUMERIC(GrB_MAX_MONOID_, ));
    SET(monoids[MON_TIMES] + 1, NUMERIC(GrB_TIMES_MONOID_, ));
    SET(monoids[MON_ANY], EVERY(GxB_ANY_, _MONOID));
    monoids[MON_LOR][T_BOOL] = GrB_LOR_MONOID_BOOL;
    monoids[MON_LAND][T_BOOL] = GrB_LAND_MONOID_BOOL;
    monoids[MON_LXOR][T_BOOL] = GrB_LXOR_MONOID_BOOL;
    monoids[MON_EQ][T_BOOL] = GrB_LXNOR_MONOID_BOOL;
}

#define SEMI(M, O, A, B) SET(builtin_semirings[M][O] + 1, NUMERIC(GxB_##A##_##B##_, ))
#define SEMI_ALL(M, A)                                                                                                \
    SEMI(M, OP_TIMES, A, TIMES); SEMI(M, OP_FIRST, A, FIRST); SEMI(M, OP_SECOND, A, SECOND);                          \
    SEMI(M, OP_PAIR, A, PAIR); SEMI(M, OP_PLUS, A, PLUS); SEMI(M, OP_LAND, A, LAND); SEMI(M, OP_MIN, A, MIN)
#define SEMI_BOOL(M, O, A, B) builtin_semirings[M][O][T_BOOL] = GxB_##A##_##B##_BOOL

static void fill_semirings(void)
{
    SEMI_ALL(MON_PLUS, PLUS);
    SEMI_ALL(MON_MIN, MIN);
    SEMI_ALL(MON_MAX, MAX);
    SEMI_ALL(MON_ANY, ANY);
    SEMI_BOOL(MON_LOR, OP_FIRST, LOR, FIRST);
    SEMI_BOOL(MON_LOR, OP_SECOND, LOR, SECOND);
    SEMI_BOOL(MON_LOR, OP_PAIR, LOR, PAIR);
    SEMI_BOOL(MON_LOR, OP_LAND, LOR, LAND);
    SEMI_BOOL(MON_LOR, OP_LOR, LOR, LOR);
    SEMI_BOOL(MON_ANY, OP_PAIR, ANY, PAIR);
    SEMI_BOOL(MON_ANY, OP_FIRST, ANY, FIRST);
    SEMI_BOOL(MON_ANY, OP_SECOND, ANY, SECOND);
    SEMI_BOOL(MON_LXOR, OP_LAND, LXOR, LAND);
}

static void fill_user(void)
{
    user_value zero = {0, 0};
#define X(N, T, C) GrB_UnaryOp_new(&tame_ops[N], tame_##T, GrB_##T, GrB_##T);
    EACH_TYPE(X)
#undef X
    GrB_Type udt = type_handle(T_USER);
    GrB_UnaryOp_new(&tame_ops[T_USER], tame_user, udt, udt);
    GrB_UnaryOp_new(&nested, nested_call, GrB_FP64, GrB_FP64);
    GrB_BinaryOp_new(&user_ops[T_FP64], mul_add_fp64, GrB_FP64, GrB_FP64, GrB_FP64);
    GrB_BinaryOp_new(&user_ops[T_INT32], mul_add_int32, GrB_INT32, GrB_INT32, GrB_INT32);
    GrB_BinaryOp_new(&user_ops[T_USER], user_times, udt, udt, udt);
    GrB_BinaryOp_new(&user_add, user_plus, udt, udt, udt);
    GrB_IndexUnaryOp_new(&user_index, index_fp64, GrB_FP64, GrB_FP64, GrB_INT64);
    GrB_IndexUnaryOp_new(&user_index_of_user, index_user, udt, udt, GrB_INT64);
    GrB_IndexUnaryOp_new(&user_select, select_fp64, GrB_BOOL, GrB_FP64, GrB_INT64);
    GrB_Monoid_new_UDT(&user_monoid, user_add, &zero);
    GrB_Semiring_new(&user_semirings[T_FP64], GrB_PLUS_MONOID_FP64, user_ops[T_FP64]);
    GrB_Semiring_new(&user_semirings[T_INT32], GrB_PLUS_MONOID_INT32, user_ops[T_INT32]);
    GrB_Semiring_new(&user_semirings[T_USER], user_monoid, user_ops[T_USER]);
    GrB_Semiring_new(&positional[0], GrB_MIN_MONOID_INT64, GxB_SECONDI_INT64);
    GrB_Semiring_new(&positional[1], GrB_MAX_MONOID_INT64, GxB_FIRSTJ_INT64);
    GrB_Semiring_new(&positional[2], GrB_PLUS_MONOID_INT64, GxB_FIRSTI1_INT64);
    GrB_Semiring_new(&positional[3], GrB_MIN_MONOID_INT64, GxB_SECONDJ_INT64);
    GrB_Semiring_new(&positional[4], GrB_MIN_MONOID_INT32, GxB_SECONDI1_INT32);
    GrB_Semiring_new(&positional[5], GrB_MAX_MONOID_INT32, GxB_FIRSTJ1_INT32);
    GrB_Semiring_new(&positional[6], GrB_PLUS_MONOID_INT32, GxB_FIRSTI_INT32);
    GrB_Semiring_new(&positional[7], GrB_MAX_MONOID_INT32, GxB_SECONDJ1_INT32);
}

static GrB_Descriptor new_descriptor(bool replace, bool comp, bool structural, bool t0, bool t1)
{
    GrB_Descriptor d = NULL;
    GrB_Descriptor_new(&d);
    if (replace) GrB_Descriptor_set(d, GrB_OUTP, GrB_REPLACE);
    if (comp) GrB_Descriptor_set(d, GrB_MASK, GrB_COMP);
    if (structural) GrB_Descriptor_set(d, GrB_MASK, GrB_STRUCTURE);
    if (t0) GrB_Descriptor_set(d, GrB_INP0, GrB_TRAN);
    if (t1) GrB_Descriptor_set(d, GrB_INP1, GrB_TRAN);
    return d;
}

static void fill_descriptors(void)
{
    static const int names[4] = {GxB_AxB_GUSTAVSON, GxB_AxB_DOT, GxB_AxB_HASH, GxB_AxB_SAXPY};
    for (int i = 0; i < 32; i++) descriptors[i] = new_descriptor(i & 1, i & 2, i & 4, i & 8, i & 16);
    for (int i = 0; i < 16; i++) {
        methods[i] = new_descriptor(false, false, false, i & 4, i & 8);
        GxB_Desc_set(methods[i], GxB_AxB_METHOD, names[i & 3]);
    }
}

void operators_init(void)
{
    fill_binary();
    fill_monoids();
    fill_semirings();
    fill_user();
    fill_descriptors();
}

void operators_free(void)
{
    for (int m = 0; m < MON_ALL; m++)
        for (int o = 0; o < OP_COUNT; o++)
            for (int t = 0; t < NTYPES; t++) GrB_Semiring_free(&made_semirings[m][o][t]);
    for (int t = 0; t < NKINDS; t++) {
        GrB_Semiring_free(&user_semirings[t]);
        GrB_BinaryOp_free(&user_ops[t]);
        GrB_UnaryOp_free(&tame_ops[t]);
    }
    for (int i = 0; i < ALL_POSITIONAL; i++) GrB_Semiring_free(&positional[i]);
    for (int i = 0; i < 32; i++) GrB_Descriptor_free(&descriptors[i]);
    for (int i = 0; i < 16; i++) GrB_Descriptor_free(&methods[i]);
    GrB_UnaryOp_free(&nested);
    GrB_IndexUnaryOp_free(&user_index);
    GrB_IndexUnaryOp_free(&user_index_of_user);
    GrB_IndexUnaryOp_free(&user_select);
    GrB_Monoid_free(&user_monoid);
    GrB_BinaryOp_free(&user_add);
    GrB_Type udt = type_handle(T_USER);
    GrB_Type_free(&udt);
}

GrB_BinaryOp binary_op(int op, int type)
{
    if (type == T_USER) return op == OP_PLUS ? user_add : user_ops[T_USER];
    return binary[op][type];
}

GrB_BinaryOp user_binary(int type)
{
    return user_ops[type];
}

GrB_UnaryOp tame_op(int type)
{
    return tame_ops[type];
}

GrB_UnaryOp nested_op(void)
{
    return nested;
}

GrB_UnaryOp plain_unary(int which, int type)
{
    GrB_UnaryOp identity[] = {EVERY(GrB_IDENTITY_, )}, ainv[] = {EVERY(GrB_AINV_, )}, absolute[] = {EVERY(GrB_ABS_, )};
    GrB_UnaryOp one[] = {EVERY(GxB_ONE_, )}, lnot[] = {EVERY(GxB_LNOT_, )}, minv[] = {EVERY(GrB_MINV_, )};
    if (type == T_USER) return tame_ops[T_USER];
    switch (which) {
        case 0: return identity[type];
        case 1: return ainv[type];
        case 2: return absolute[type];
        case 3: return one[type];
        case 4: return lnot[type];
        case 6: return minv[type];
        default: return tame_ops[type];
    }
}

GrB_IndexUnaryOp select_op(int which, int type, bool *by_value)
{
    GrB_IndexUnaryOp ne[] = {EVERY(GrB_VALUENE_, )}, gt[] = {EVERY(GrB_VALUEGT_, )}, le[] = {EVERY(GrB_VALUELE_, )};
    GrB_IndexUnaryOp by_place[] = {GrB_TRIL, GrB_TRIU, GrB_DIAG, GrB_OFFDIAG, type % 2 ? GrB_COLLE : GrB_ROWLE, GrB_COLGT, GrB_ROWGT};
    *by_value = which >= 7 && type != T_USER;
    if (!*by_value) return by_place[which % 7];
    return which == 7 ? ne[type] : which == 8 ? gt[type] : le[type];
}

GrB_IndexUnaryOp index_op(int which, int type, int *of)
{
    GrB_IndexUnaryOp by_place[] = {GrB_ROWINDEX_INT32, GrB_COLINDEX_INT32, GrB_DIAGINDEX_INT32,
                                   GrB_ROWINDEX_INT64, GrB_COLINDEX_INT64, GrB_DIAGINDEX_INT64};
    bool by_value = false;
    const GrB_IndexUnaryOp select = which < 10 ? select_op(which, type, &by_value) : NULL;
    *of = by_value ? type : which >= 10 && which < 13 ? T_INT32 : T_INT64;
    if (select) return select;
    if (which < INDEX_OP_OF_USER) return by_place[which - 10];
    return type == T_USER ? user_index_of_user : user_index;
}

GrB_IndexUnaryOp user_select_op(void)
{
    return user_select;
}

GrB_Monoid monoid(int mon, int type)
{
    return type == T_USER ? user_monoid : monoids[mon][type];
}

GrB_Semiring semiring(int mon, int op, int type, bool builtin)
{
    GrB_Semiring *made = &made_semirings[mon][op][type];
    const GrB_Monoid sums = monoids[mon][op >= OP_EQ ? T_BOOL : type];
    if (!sums) return NULL;
    if (builtin && builtin_semirings[mon][op][type]) return builtin_semirings[mon][op][type];
    if (!*made) GrB_Semiring_new(made, sums, binary[op][type]);
    return *made;
}

GrB_Semiring user_semiring(int type)
{
    return user_semirings[type];
}

GrB_Semiring positional_semiring(int which)
{
    return positional[which];
}

GrB_Descriptor descriptor(bool replace, bool comp, bool structural, bool t0, bool t1)
{
    GrB_Descriptor named[32] = {
        NULL, GrB_DESC_R, GrB_DESC_C, GrB_DESC_RC, GrB_DESC_S, GrB_DESC_RS, GrB_DESC_SC, GrB_DESC_RSC,
        GrB_DESC_T0, GrB_DESC_RT0, GrB_DESC_CT0, GrB_DESC_RCT0, GrB_DESC_ST0, GrB_DESC_RST0, GrB_DESC_SCT0,
        GrB_DESC_RSCT0, GrB_DESC_T1, GrB_DESC_RT1, GrB_DESC_CT1, GrB_DESC_RCT1, GrB_DESC_ST1, GrB_DESC_RST1,
        GrB_DESC_SCT1, GrB_DESC_RSCT1, GrB_DESC_T0T1, GrB_DESC_RT0T1, GrB_DESC_CT0T1, GrB_DESC_RCT0T1,
        GrB_DESC_ST0T1, GrB_DESC_RST0T1, GrB_DESC_SCT0T1, GrB_DESC_RSCT0T1};
    int i = replace | comp << 1 | structural << 2 | t0 << 3 | t1 << 4;
    return rng_chance(50) ? named[i] : descriptors[i];
}

GrB_Descriptor method_descriptor(int method, bool t0, bool t1)
{
    return methods[method | t0 << 2 | t1 << 3];
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static bound either(bound x, bound y)
{
    return (bound){larger(x.mag, y.mag), larger(x.frac, y.frac), x.special || y.special};
}

bound op_bound(int op, bound x, bound y)
{
    bound z = either(x, y);
    switch (op) {
        case OP_TIMES: return (bound){x.mag + y.mag, x.frac + y.frac, z.special};
        case OP_FIRST: return x;
        case OP_SECOND: return y;
        case OP_PLUS: case OP_MINUS: case OP_RMINUS: z.mag++; return z;
        case OP_MIN: case OP_MAX: case OP_ANY: return z;
        default: return (bound){1, 0, false};
    }
}
