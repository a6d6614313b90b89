/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ref/step.h"

#include <math.h>

/* ---- operators ---- */

static bool is_signed(tsr_type type)
{
    return type >= TSR_INT8 && type <= TSR_INT64;
}

static size_t size_of(tsr_type type)
{
    static const uint8_t sizes[TSR_TYPE_COUNT] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8};
    return sizes[type];
}

/* As the type holds it. */
static tsr_value rounded(tsr_type type, tsr_value v)
{
    uint64_t memory = 0;
    tsr_value_store(type, &memory, 0, v);
    return tsr_value_load(type, &memory, 0);
}

static tsr_value number(tsr_type type, int value)
{
    return tsr_type_is_float(type) ? (tsr_value){.real = value} : (tsr_value){.bits = (uint64_t)value};
}

/* fmin and fmax of two zeros differ between libraries: SuiteSparse's, on x86, gives y. */
static double real_extreme(double x, double y, bool least)
{
    return isnan(y) || (least ? x < y : x > y) ? x : y;
}

static double real_arithmetic(tsr_step_op op, double x, double y)
{
    switch (op) {
    case TSR_STEP_AINV: return -x;
    case TSR_STEP_MINV: return 1 / x;
    case TSR_STEP_ABS: return fabs(x);
    case TSR_STEP_SQRT: return sqrt(x);
    case TSR_STEP_PLUS: return x + y;
    case TSR_STEP_MINUS: return x - y;
    case TSR_STEP_RMINUS: return y - x;
    case TSR_STEP_TIMES: return x * y;
    case TSR_STEP_DIV: return x / y;
    case TSR_STEP_RDIV: return y / x;
    case TSR_STEP_MIN: return real_extreme(x, y, true);
    default: return real_extreme(x, y, false);
    }
}

/* Of two floats the double result, rounded once more, is the float one. */
static tsr_value arithmetic_of_reals(tsr_step_op op, tsr_value x, tsr_value y)
{
    return (tsr_value){.real = real_arithmetic(op, (double)x.real, (double)y.real)};
}

static uint64_t greatest(tsr_type type)
{
    size_t bits = 8 * size_of(type);
    return is_signed(type) ? (UINT64_C(1) << (bits - 1)) - 1 : bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static uint64_t quotient(tsr_type type, uint64_t x, uint64_t y)
{
    bool negative = is_signed(type) && (int64_t)x < 0;
    if (y == 0)
        return x == 0 ? 0 : negative ? ~greatest(type) : greatest(type);
    if (!is_signed(type))
        return x / y;
    return (int64_t)y == -1 ? -x : (uint64_t)((int64_t)x / (int64_t)y);
}

static bool integer_less(tsr_type type, uint64_t x, uint64_t y)
{
    return is_signed(type) ? (int64_t)x < (int64_t)y : x < y;
}

static uint64_t integer_arithmetic(tsr_step_op op, tsr_type type, uint64_t x, uint64_t y)
{
    switch (op) {
    case TSR_STEP_AINV: return -x;
    case TSR_STEP_MINV: return quotient(type, 1, x);
    case TSR_STEP_ABS: return is_signed(type) && (int64_t)x < 0 ? -x : x;
    case TSR_STEP_PLUS: return x + y;
    case TSR_STEP_MINUS: return x - y;
    case TSR_STEP_RMINUS: return y - x;
    case TSR_STEP_TIMES: return x * y;
    case TSR_STEP_DIV: return quotient(type, x, y);
    case TSR_STEP_RDIV: return quotient(type, y, x);
    case TSR_STEP_MIN: return integer_less(type, y, x) ? y : x;
    default: return integer_less(type, x, y) ? y : x;
    }
}

static bool boolean_arithmetic(tsr_step_op op, bool x, bool y)
{
    switch (op) {
    case TSR_STEP_MINV: return true;
    case TSR_STEP_PLUS:
    case TSR_STEP_MAX: return x || y;
    case TSR_STEP_MINUS:
    case TSR_STEP_RMINUS: return x != y;
    case TSR_STEP_TIMES:
    case TSR_STEP_MIN: return x && y;
    case TSR_STEP_RDIV: return y;
    default: return x; /* AINV, ABS, DIV */
    }
}

static bool compare(tsr_step_op op, tsr_type type, tsr_value x, tsr_value y)
{
    bool real = tsr_type_is_float(type), less = real ? x.real < y.real : integer_less(type, x.bits, y.bits);
    bool more = real ? x.real > y.real : integer_less(type, y.bits, x.bits), same = real ? x.real == y.real : x.bits == y.bits;
    switch (op) {
    case TSR_STEP_EQ:
    case TSR_STEP_ISEQ: return same;
    case TSR_STEP_NE:
    case TSR_STEP_ISNE: return !same;
    case TSR_STEP_GT:
    case TSR_STEP_ISGT: return more;
    case TSR_STEP_LT:
    case TSR_STEP_ISLT: return less;
    case TSR_STEP_GE:
    case TSR_STEP_ISGE: return more || same;
    default: return less || same;
    }
}

tsr_value tsr_ref_operator(tsr_step_op op, tsr_type type, tsr_value x, tsr_value y)
{
    bool p = tsr_value_true(type, x), q = tsr_value_true(type, y);
    switch (op) {
    case TSR_STEP_IDENTITY:
    case TSR_STEP_FIRST: return x;
    case TSR_STEP_SECOND: return y;
    case TSR_STEP_ONE:
    case TSR_STEP_PAIR: return number(type, 1);
    case TSR_STEP_LNOT: return number(type, !p);
    case TSR_STEP_LOR: return number(type, p || q);
    case TSR_STEP_LAND: return number(type, p && q);
    case TSR_STEP_LXOR: return number(type, p != q);
    case TSR_STEP_ISEQ:
    case TSR_STEP_ISNE:
    case TSR_STEP_ISGT:
    case TSR_STEP_ISLT:
    case TSR_STEP_ISGE:
    case TSR_STEP_ISLE: return number(type, compare(op, type, x, y));
    default: break;
    }
    if (tsr_step_compares(op))
        return (tsr_value){.bits = compare(op, type, x, y)};
    if (tsr_type_is_float(type))
        return rounded(type, arithmetic_of_reals(op, x, y));
    if (type == TSR_BOOL)
        return (tsr_value){.bits = boolean_arithmetic(op, p, q)};
    return rounded(type, (tsr_value){.bits = integer_arithmetic(op, type, x.bits, y.bits)});
}

/* ---- a step ---- */

static bool is_present(const tsr_elements *e, int64_t k)
{
    return !e->present || e->present[k];
}

/* An entry that is there, or is not. */
typedef struct entry {
    bool present;
    tsr_value value;
} entry;

static entry entry_at(const tsr_elements *e, tsr_type type, int64_t k, const uint64_t *scalar)
{
    if (e->x)
        return (entry){is_present(e, k), tsr_value_load(type, e->x, k)};
    return (entry){scalar != NULL, tsr_value_load(type, scalar, 0)};
}

static bool passes(const tsr_step *s, const tsr_step_arrays *a, int64_t k)
{
    if (!tsr_step_masked(s, a))
        return true;
    bool set = is_present(&a->mask, k);
    const uint8_t *bytes = a->mask.x;
    if (set && !s->mask_structural) {
        set = false;
        for (size_t size = size_of(s->mask_type), at = 0; at < size; at++)
            set = set || bytes[(size_t)k * size + at];
    }
    return set != s->mask_complement;
}

static entry compute(const tsr_step *s, entry x, entry y)
{
    if (tsr_step_is_unary(s->op))
        return (entry){x.present, tsr_ref_operator(s->op, s->type, x.value, x.value)};
    if (s->unite && !(x.present && y.present))
        return x.present ? x : y;
    tsr_value z = tsr_ref_operator(s->op, s->type, x.value, y.value);
    if (s->select)
        return (entry){x.present && y.present && z.bits, x.value};
    return (entry){x.present && y.present, z};
}

static entry join(const tsr_step *s, entry c, entry z)
{
    if (!s->accumulates || !c.present)
        return z;
    return z.present ? (entry){true, tsr_ref_operator(s->accum, s->result, c.value, z.value)} : c;
}

void tsr_ref_step(const tsr_step *s, const tsr_step_arrays *a)
{
    for (int64_t k = 0; k < s->count; k++) {
        entry x = entry_at(&a->x, s->type, k, &s->x.scalar), y = entry_at(&a->y, s->type, k, &s->y.scalar);
        entry c = entry_at(&a->c, s->result, k, NULL), z = join(s, c, compute(s, x, y));
        if (!passes(s, a, k))
            z = (entry){c.present && !s->replace, c.value};
        tsr_value_store(s->result, a->z, k, z.present ? z.value : (tsr_value){0, 0});
        if (a->z_present)
            a->z_present[k] = z.present;
    }
}

/* ---- a reduction ---- */

tsr_value tsr_ref_join(tsr_type type, tsr_reduce_op op, tsr_value s, tsr_value x)
{
    static const tsr_step_op operators[TSR_REDUCE_COUNT] = {
        [TSR_REDUCE_PLUS] = TSR_STEP_PLUS, [TSR_REDUCE_TIMES] = TSR_STEP_TIMES, [TSR_REDUCE_MIN] = TSR_STEP_MIN,
        [TSR_REDUCE_MAX] = TSR_STEP_MAX, [TSR_REDUCE_LOR] = TSR_STEP_LOR, [TSR_REDUCE_LAND] = TSR_STEP_LAND,
        [TSR_REDUCE_LXOR] = TSR_STEP_LXOR, [TSR_REDUCE_EQ] = TSR_STEP_ISEQ, [TSR_REDUCE_ANY] = TSR_STEP_FIRST,
    };
    if (tsr_type_is_float(type) && op == TSR_REDUCE_PLUS)
        return (tsr_value){.real = s.real + x.real};
    if (tsr_type_is_float(type) && op == TSR_REDUCE_TIMES)
        return (tsr_value){.real = s.real * x.real};
    return tsr_ref_operator(operators[op], type, s, x);
}

bool tsr_ref_reduce(tsr_value *result, tsr_type type, tsr_reduce_op op, const tsr_elements *e, int64_t count)
{
    bool any = false;
    for (int64_t k = 0; k < count; k++) {
        if (!is_present(e, k))
            continue;
        tsr_value x = tsr_value_load(type, e->x, k);
        *result = any ? tsr_ref_join(type, op, *result, x) : x;
        any = true;
    }
    return any;
}
