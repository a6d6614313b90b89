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

static double real_arithmetic(tsr_ewise_op op, double x, double y)
{
    switch (op) {
    case TSR_EWISE_AINV: return -x;
    case TSR_EWISE_MINV: return 1 / x;
    case TSR_EWISE_ABS: return fabs(x);
    case TSR_EWISE_SQRT: return sqrt(x);
    case TSR_EWISE_PLUS: return x + y;
    case TSR_EWISE_MINUS: return x - y;
    case TSR_EWISE_RMINUS: return y - x;
    case TSR_EWISE_TIMES: return x * y;
    case TSR_EWISE_DIV: return x / y;
    case TSR_EWISE_RDIV: return y / x;
    case TSR_EWISE_MIN: return real_extreme(x, y, true);
    default: return real_extreme(x, y, false);
    }
}

/* Of two floats the double result, rounded once more, is the float one. */
static tsr_value arithmetic_of_reals(tsr_ewise_op op, tsr_value x, tsr_value y)
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

static uint64_t integer_arithmetic(tsr_ewise_op op, tsr_type type, uint64_t x, uint64_t y)
{
    switch (op) {
    case TSR_EWISE_AINV: return -x;
    case TSR_EWISE_MINV: return quotient(type, 1, x);
    case TSR_EWISE_ABS: return is_signed(type) && (int64_t)x < 0 ? -x : x;
    case TSR_EWISE_PLUS: return x + y;
    case TSR_EWISE_MINUS: return x - y;
    case TSR_EWISE_RMINUS: return y - x;
    case TSR_EWISE_TIMES: return x * y;
    case TSR_EWISE_DIV: return quotient(type, x, y);
    case TSR_EWISE_RDIV: return quotient(type, y, x);
    case TSR_EWISE_MIN: return integer_less(type, y, x) ? y : x;
    default: return integer_less(type, x, y) ? y : x;
    }
}

static bool boolean_arithmetic(tsr_ewise_op op, bool x, bool y)
{
    switch (op) {
    case TSR_EWISE_MINV: return true;
    case TSR_EWISE_PLUS:
    case TSR_EWISE_MAX: return x || y;
    case TSR_EWISE_MINUS:
    case TSR_EWISE_RMINUS: return x != y;
    case TSR_EWISE_TIMES:
    case TSR_EWISE_MIN: return x && y;
    case TSR_EWISE_RDIV: return y;
    default: return x; /* AINV, ABS, DIV */
    }
}

static bool compare(tsr_ewise_op op, tsr_type type, tsr_value x, tsr_value y)
{
    bool real = tsr_type_is_float(type), less = real ? x.real < y.real : integer_less(type, x.bits, y.bits);
    bool more = real ? x.real > y.real : integer_less(type, y.bits, x.bits), same = real ? x.real == y.real : x.bits == y.bits;
    switch (op) {
    case TSR_EWISE_EQ:
    case TSR_EWISE_ISEQ: return same;
    case TSR_EWISE_NE:
    case TSR_EWISE_ISNE: return !same;
    case TSR_EWISE_GT:
    case TSR_EWISE_ISGT: return more;
    case TSR_EWISE_LT:
    case TSR_EWISE_ISLT: return less;
    case TSR_EWISE_GE:
    case TSR_EWISE_ISGE: return more || same;
    default: return less || same;
    }
}

tsr_value tsr_ref_operator(tsr_ewise_op op, tsr_type type, tsr_value x, tsr_value y)
{
    bool p = tsr_value_true(type, x), q = tsr_value_true(type, y);
    switch (op) {
    case TSR_EWISE_IDENTITY:
    case TSR_EWISE_FIRST: return x;
    case TSR_EWISE_SECOND: return y;
    case TSR_EWISE_ONE:
    case TSR_EWISE_PAIR: return number(type, 1);
    case TSR_EWISE_LNOT: return number(type, !p);
    case TSR_EWISE_LOR: return number(type, p || q);
    case TSR_EWISE_LAND: return number(type, p && q);
    case TSR_EWISE_LXOR: return number(type, p != q);
    case TSR_EWISE_ISEQ:
    case TSR_EWISE_ISNE:
    case TSR_EWISE_ISGT:
    case TSR_EWISE_ISLT:
    case TSR_EWISE_ISGE:
    case TSR_EWISE_ISLE: return number(type, compare(op, type, x, y));
    default: break;
    }
    if (tsr_ewise_compares(op))
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

static bool passes(const tsr_ewise *s, const tsr_ewise_arrays *a, int64_t k)
{
    if (!tsr_ewise_masked(s, a))
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

static entry compute(const tsr_ewise *s, entry x, entry y)
{
    if (tsr_ewise_is_unary(s->op))
        return (entry){x.present, tsr_ref_operator(s->op, s->type, x.value, x.value)};
    if (s->unite && !(x.present && y.present))
        return x.present ? x : y;
    tsr_value z = tsr_ref_operator(s->op, s->type, x.value, y.value);
    if (s->select)
        return (entry){x.present && y.present && z.bits, x.value};
    return (entry){x.present && y.present, z};
}

static entry join(const tsr_ewise *s, entry c, entry z)
{
    if (!s->accumulates || !c.present)
        return z;
    return z.present ? (entry){true, tsr_ref_operator(s->accum, s->result, c.value, z.value)} : c;
}

static void store(const tsr_ewise *s, const tsr_ewise_arrays *a, int64_t k, entry z)
{
    tsr_value_store(s->result, a->z, k, z.present ? z.value : (tsr_value){0});
    if (a->z_present)
        a->z_present[k] = z.present;
}

static entry compute_at(const tsr_ewise *s, const tsr_ewise_arrays *a, int64_t k)
{
    return compute(s, entry_at(&a->x, s->type, k, &s->x.scalar), entry_at(&a->y, s->type, k, &s->y.scalar));
}

void tsr_ref_ewise(const tsr_ewise *s, const tsr_ewise_arrays *a)
{
    for (int64_t k = 0; k < s->count; k++) {
        entry c = entry_at(&a->c, s->result, k, NULL), z = join(s, c, compute_at(s, a, k));
        if (!passes(s, a, k))
            z = (entry){c.present && !s->replace, c.value};
        store(s, a, k, z);
    }
}

uint32_t tsr_ref_ewise_listed(const tsr_ewise *s, const tsr_ewise_arrays *a, const uint32_t *places, uint32_t length)
{
    uint32_t present = 0;
    for (uint32_t k = 0; k < length; k++) {
        const entry t = compute_at(s, a, places[k]);
        const entry z = s->accumulates ? join(s, entry_at(&a->c, s->result, places[k], NULL), t) : t;
        if (!passes(s, a, places[k]) || !(s->c || z.present))
            continue;
        store(s, a, places[k], z);
        present += z.present;
    }
    return present;
}

/* ---- a reduction ---- */

tsr_value tsr_ref_join(tsr_type type, tsr_reduce_op op, tsr_value s, tsr_value x)
{
    static const tsr_ewise_op operators[TSR_REDUCE_COUNT] = {
        [TSR_REDUCE_PLUS] = TSR_EWISE_PLUS, [TSR_REDUCE_TIMES] = TSR_EWISE_TIMES, [TSR_REDUCE_MIN] = TSR_EWISE_MIN,
        [TSR_REDUCE_MAX] = TSR_EWISE_MAX, [TSR_REDUCE_LOR] = TSR_EWISE_LOR, [TSR_REDUCE_LAND] = TSR_EWISE_LAND,
        [TSR_REDUCE_LXOR] = TSR_EWISE_LXOR, [TSR_REDUCE_EQ] = TSR_EWISE_ISEQ, [TSR_REDUCE_ANY] = TSR_EWISE_FIRST,
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

bool tsr_ref_reduce_listed(tsr_value *result, tsr_type type, tsr_reduce_op op, const tsr_elements *e, const uint32_t *places, uint32_t length)
{
    bool any = false;
    for (uint32_t k = 0; k < length; k++) {
        if (!is_present(e, places[k]))
            continue;
        tsr_value x = tsr_value_load(type, e->x, places[k]);
        *result = any ? tsr_ref_join(type, op, *result, x) : x;
        any = true;
    }
    return any;
}
