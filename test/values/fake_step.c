/* Elementwise steps and sums as SuiteSparse's user guide and GB_math.h define them, one element at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fake_values.h"

/* One element of any type. */
typedef union number {
    uint64_t bits;
    bool b;
    int8_t i8;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    float f;
    double d;
} number;

static number load(const void *x, tsr_type type, int64_t k)
{
    number n = {0};
    size_t size = tsr_type_size(type);
    memcpy(&n, (const char *)x + (size_t)k * size, size);
    return n;
}

static void store(void *x, tsr_type type, int64_t k, number n)
{
    size_t size = tsr_type_size(type);
    memcpy((char *)x + (size_t)k * size, &n, size);
}

static bool compare(tsr_ewise_op op, double order, bool ordered)
{
    switch (op) {
    case TSR_EWISE_EQ: case TSR_EWISE_ISEQ: return ordered && order == 0;
    case TSR_EWISE_NE: case TSR_EWISE_ISNE: return !ordered || order != 0;
    case TSR_EWISE_GT: case TSR_EWISE_ISGT: return ordered && order > 0;
    case TSR_EWISE_LT: case TSR_EWISE_ISLT: return ordered && order < 0;
    case TSR_EWISE_GE: case TSR_EWISE_ISGE: return ordered && order >= 0;
    default: return ordered && order <= 0;
    }
}

static bool is_comparison(tsr_ewise_op op)
{
    return op >= TSR_EWISE_EQ || (op >= TSR_EWISE_ISEQ && op <= TSR_EWISE_ISLE);
}

#define ORDER(x, y) ((x) > (y) ? 1.0 : (x) < (y) ? -1.0 : 0.0)

/* Integers wrap; division by zero is 0/0 = 0, otherwise the end of the range. */
#define INTEGER(T, U, LEAST, MOST)                                                              \
    static T divide_##T(T x, T y)                                                               \
    {                                                                                           \
        if (y == 0)                                                                             \
            return x == 0 ? 0 : x < 0 ? LEAST : MOST;                                           \
        return (LEAST) < 0 && y == (T)-1 ? (T)(0 - (U)x) : (T)(x / y);                          \
    }                                                                                           \
    static T apply_##T(tsr_ewise_op op, T x, T y)                                                \
    {                                                                                           \
        switch (op) {                                                                           \
        case TSR_EWISE_IDENTITY: case TSR_EWISE_FIRST: return x;                                  \
        case TSR_EWISE_AINV: return (T)(0 - (U)x);                                               \
        case TSR_EWISE_MINV: return divide_##T(1, x);                                            \
        case TSR_EWISE_ABS: return x < 0 ? (T)(0 - (U)x) : x;                                    \
        case TSR_EWISE_LNOT: return x == 0;                                                      \
        case TSR_EWISE_ONE: case TSR_EWISE_PAIR: return 1;                                        \
        case TSR_EWISE_SECOND: return y;                                                         \
        case TSR_EWISE_PLUS: return (T)((U)x + (U)y);                                            \
        case TSR_EWISE_MINUS: return (T)((U)x - (U)y);                                           \
        case TSR_EWISE_RMINUS: return (T)((U)y - (U)x);                                          \
        case TSR_EWISE_TIMES: return (T)(U)((uint64_t)(U)x * (uint64_t)(U)y);                    \
        case TSR_EWISE_DIV: return divide_##T(x, y);                                             \
        case TSR_EWISE_RDIV: return divide_##T(y, x);                                            \
        case TSR_EWISE_MIN: return x < y ? x : y;                                                \
        case TSR_EWISE_MAX: return x > y ? x : y;                                                \
        case TSR_EWISE_LOR: return x != 0 || y != 0;                                             \
        case TSR_EWISE_LAND: return x != 0 && y != 0;                                            \
        case TSR_EWISE_LXOR: return (x != 0) != (y != 0);                                        \
        default: return compare(op, ORDER(x, y), true);                                         \
        }                                                                                       \
    }

INTEGER(int8_t, uint8_t, INT8_MIN, INT8_MAX)
INTEGER(int16_t, uint16_t, INT16_MIN, INT16_MAX)
INTEGER(int32_t, uint32_t, INT32_MIN, INT32_MAX)
INTEGER(int64_t, uint64_t, INT64_MIN, INT64_MAX)
#pragma GCC diagnostic ignored "-Wtype-limits"
INTEGER(uint8_t, uint8_t, 0, UINT8_MAX)
INTEGER(uint16_t, uint16_t, 0, UINT16_MAX)
INTEGER(uint32_t, uint32_t, 0, UINT32_MAX)
INTEGER(uint64_t, uint64_t, 0, UINT64_MAX)

#define FLOATING(T, SUFFIX)                                                                     \
    static T apply_##T(tsr_ewise_op op, T x, T y)                                                \
    {                                                                                           \
        switch (op) {                                                                           \
        case TSR_EWISE_IDENTITY: case TSR_EWISE_FIRST: return x;                                  \
        case TSR_EWISE_AINV: return -x;                                                          \
        case TSR_EWISE_MINV: return 1 / x;                                                       \
        case TSR_EWISE_ABS: return fabs##SUFFIX(x);                                              \
        case TSR_EWISE_LNOT: return !(x != 0);                                                   \
        case TSR_EWISE_ONE: case TSR_EWISE_PAIR: return 1;                                        \
        case TSR_EWISE_SQRT: return sqrt##SUFFIX(x);                                             \
        case TSR_EWISE_SECOND: return y;                                                         \
        case TSR_EWISE_PLUS: return x + y;                                                       \
        case TSR_EWISE_MINUS: return x - y;                                                      \
        case TSR_EWISE_RMINUS: return y - x;                                                     \
        case TSR_EWISE_TIMES: return x * y;                                                      \
        case TSR_EWISE_DIV: return x / y;                                                        \
        case TSR_EWISE_RDIV: return y / x;                                                       \
        case TSR_EWISE_MIN: return fmin##SUFFIX(x, y);                                           \
        case TSR_EWISE_MAX: return fmax##SUFFIX(x, y);                                           \
        case TSR_EWISE_LOR: return x != 0 || y != 0;                                             \
        case TSR_EWISE_LAND: return x != 0 && y != 0;                                            \
        case TSR_EWISE_LXOR: return (x != 0) != (y != 0);                                        \
        default: return compare(op, ORDER(x, y), !isnan(x) && !isnan(y));                       \
        }                                                                                       \
    }

FLOATING(float, f)
FLOATING(double, )

static bool apply_bool(tsr_ewise_op op, bool x, bool y)
{
    switch (op) {
    case TSR_EWISE_IDENTITY: case TSR_EWISE_FIRST: return x;
    case TSR_EWISE_LNOT: return !x;
    case TSR_EWISE_ONE: case TSR_EWISE_PAIR: return true;
    case TSR_EWISE_SECOND: return y;
    case TSR_EWISE_LOR: return x || y;
    case TSR_EWISE_LAND: return x && y;
    case TSR_EWISE_LXOR: return x != y;
    default:
        if (!is_comparison(op))
            abort(); /* the others are no operators on BOOL */
        return compare(op, ORDER(x, y), true);
    }
}

static number same_type(tsr_ewise_op op, tsr_type type, number x, number y)
{
    switch (type) {
    case TSR_BOOL: return (number){.b = apply_bool(op, x.b, y.b)};
    case TSR_INT8: return (number){.i8 = apply_int8_t(op, x.i8, y.i8)};
    case TSR_INT16: return (number){.i16 = apply_int16_t(op, x.i16, y.i16)};
    case TSR_INT32: return (number){.i32 = apply_int32_t(op, x.i32, y.i32)};
    case TSR_INT64: return (number){.i64 = apply_int64_t(op, x.i64, y.i64)};
    case TSR_UINT8: return (number){.u8 = apply_uint8_t(op, x.u8, y.u8)};
    case TSR_UINT16: return (number){.u16 = apply_uint16_t(op, x.u16, y.u16)};
    case TSR_UINT32: return (number){.u32 = apply_uint32_t(op, x.u32, y.u32)};
    case TSR_UINT64: return (number){.u64 = apply_uint64_t(op, x.u64, y.u64)};
    case TSR_FP32: return (number){.f = apply_float(op, x.f, y.f)};
    default: return (number){.d = apply_double(op, x.d, y.d)};
    }
}

/* Of a mask: -0.0 is true. */
static bool is_true(number n)
{
    return n.bits != 0;
}

/* ---- a step ---- */

static bool has(const fake_value *v, int64_t k)
{
    return !v->b || v->b[k];
}

static bool operand_at(const tsr_operand *o, tsr_type type, int64_t k, number *n)
{
    const fake_value *v = o->value;
    if (v && (v->type != type || k >= v->count))
        abort();
    *n = v ? load(v->x, type, k) : load(&o->scalar, type, 0);
    return !v || has(v, k);
}

/* z = op (x, y) at k; false: nothing is there. */
static bool z_at(const tsr_ewise *s, int64_t k, number *z)
{
    number x = {0}, y = {0};
    bool has_x = operand_at(&s->x, s->type, k, &x), has_y = tsr_ewise_is_unary(s->op) || operand_at(&s->y, s->type, k, &y);
    if (s->unite && has_x != has_y) {
        *z = has_x ? x : y;
        return true;
    }
    if (!has_x || !has_y)
        return false;
    *z = same_type(s->op, s->type, x, y);
    if (s->select) {
        bool holds = is_true(*z);
        *z = x;
        return holds;
    }
    if (tsr_ewise_compares(s->op) && s->type != TSR_BOOL)
        *z = (number){.b = is_true(*z)};
    return true;
}

static bool mask_at(const tsr_ewise *s, int64_t k)
{
    const fake_value *m = s->mask;
    if (!m)
        return true;
    bool in = has(m, k) && (s->mask_structural || is_true(load(m->x, s->mask_type, k)));
    return in != s->mask_complement;
}

static bool result_at(const tsr_ewise *s, int64_t k, number *out)
{
    const fake_value *c = s->c;
    bool has_c = c && has(c, k);
    number old = has_c ? load(c->x, s->result, k) : (number){0}, z = {0};
    if (!mask_at(s, k)) {
        *out = old;
        return has_c && !s->replace;
    }
    bool has_z = z_at(s, k, &z);
    if (s->accumulates && has_c) {
        *out = has_z ? same_type(s->accum, s->result, old, z) : old;
        return true;
    }
    *out = z;
    return has_z;
}

fake_value *fake_step(const tsr_ewise *s)
{
    fake_value *r = fake_new(s->count, s->result, true);
    bool all = true;
    for (int64_t k = 0; k < s->count; k++) {
        number n;
        r->b[k] = result_at(s, k, &n);
        all &= r->b[k];
        if (r->b[k])
            store(r->x, s->result, k, n);
    }
    if (all) {
        free(r->b);
        r->b = NULL;
    }
    return r;
}

/* ---- a sum ---- */

static tsr_ewise_op step_of(tsr_reduce_op op)
{
    static const tsr_ewise_op ops[TSR_REDUCE_COUNT] = {
        TSR_EWISE_PLUS, TSR_EWISE_TIMES, TSR_EWISE_MIN, TSR_EWISE_MAX, TSR_EWISE_LOR, TSR_EWISE_LAND, TSR_EWISE_LXOR, TSR_EWISE_EQ, TSR_EWISE_FIRST};
    return ops[op];
}

bool fake_reduce(const fake_value *v, tsr_type type, tsr_reduce_op op, void *scalar)
{
    number sum = {0};
    bool any = false;
    for (int64_t k = 0; k < v->count; k++) {
        if (!has(v, k))
            continue;
        number n = load(v->x, type, k);
        sum = any ? same_type(step_of(op), type, sum, n) : n;
        any = true;
    }
    if (any)
        memcpy(scalar, &sum, tsr_type_size(type));
    return any;
}

fake_value *fake_sums(const tsr_sums *s)
{
    const fake_value *v = s->value;
    const size_t size = tsr_type_size(s->type);
    fake_value *r = fake_new(s->vectors, s->type, v->b != NULL || s->length == 0), *one = fake_new(s->length, s->type, v->b != NULL);
    for (int64_t vector = 0; vector < s->vectors; vector++) {
        for (int64_t k = 0; k < s->length; k++) {
            int64_t at = s->across ? k * s->vectors + vector : vector * s->length + k;
            store(one->x, s->type, k, load(v->x, s->type, at));
            if (one->b)
                one->b[k] = has(v, at);
        }
        bool any = fake_reduce(one, s->type, s->op, (char *)r->x + (size_t)vector * size);
        if (r->b)
            r->b[vector] = any;
    }
    fake_free(one);
    return r;
}
