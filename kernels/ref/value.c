/* The oracle's arithmetic.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ref/value.h"

#include <math.h>

#include "src/base/types.h"

bool tsr_type_is_float(tsr_type type)
{
    return type == TSR_FP32 || type == TSR_FP64 || tsr_is_complex(type);
}

static bool is_signed(tsr_type type)
{
    return type == TSR_INT8 || type == TSR_INT16 || type == TSR_INT32 || type == TSR_INT64;
}

/* Number `position` of an array of complex numbers, each of which counts twice. */
static long double number_at(tsr_type type, const void *x, int64_t position)
{
    return type == TSR_FC32 ? ((const float *)x)[position] : ((const double *)x)[position];
}

static void put_number(tsr_type type, void *x, int64_t position, long double number)
{
    if (type == TSR_FC32)
        ((float *)x)[position] = (float)number;
    else
        ((double *)x)[position] = (double)number;
}

tsr_value tsr_value_load(tsr_type type, const void *x, int64_t position)
{
    tsr_value value = { 0 };
    if (x == NULL)
        return value;
    if (tsr_is_complex(type)) {
        value.real = number_at(type, x, 2 * position);
        value.imag = number_at(type, x, 2 * position + 1);
        return value;
    }
    switch (type) {
    case TSR_BOOL: value.bits = ((const uint8_t *)x)[position] != 0; break;
    case TSR_INT8: value.bits = (uint64_t)((const int8_t *)x)[position]; break;
    case TSR_INT16: value.bits = (uint64_t)((const int16_t *)x)[position]; break;
    case TSR_INT32: value.bits = (uint64_t)((const int32_t *)x)[position]; break;
    case TSR_INT64: value.bits = (uint64_t)((const int64_t *)x)[position]; break;
    case TSR_UINT8: value.bits = ((const uint8_t *)x)[position]; break;
    case TSR_UINT16: value.bits = ((const uint16_t *)x)[position]; break;
    case TSR_UINT32: value.bits = ((const uint32_t *)x)[position]; break;
    case TSR_UINT64: value.bits = ((const uint64_t *)x)[position]; break;
    case TSR_FP32: value.real = ((const float *)x)[position]; break;
    case TSR_FP64: value.real = ((const double *)x)[position]; break;
    }
    return value;
}

void tsr_value_store(tsr_type type, void *x, int64_t position, tsr_value value)
{
    if (tsr_is_complex(type)) {
        put_number(type, x, 2 * position, value.real);
        put_number(type, x, 2 * position + 1, value.imag);
        return;
    }
    switch (type) {
    case TSR_BOOL: ((uint8_t *)x)[position] = value.bits != 0; break;
    case TSR_INT8:
    case TSR_UINT8: ((uint8_t *)x)[position] = (uint8_t)value.bits; break;
    case TSR_INT16:
    case TSR_UINT16: ((uint16_t *)x)[position] = (uint16_t)value.bits; break;
    case TSR_INT32:
    case TSR_UINT32: ((uint32_t *)x)[position] = (uint32_t)value.bits; break;
    case TSR_INT64:
    case TSR_UINT64: ((uint64_t *)x)[position] = value.bits; break;
    case TSR_FP32: ((float *)x)[position] = (float)value.real; break;
    case TSR_FP64: ((double *)x)[position] = (double)value.real; break;
    }
}

/* 64 bits -> the value that an integer of this type would hold, extended again. */
static uint64_t wrap(tsr_type type, uint64_t bits)
{
    switch (type) {
    case TSR_BOOL: return bits != 0;
    case TSR_INT8: return (uint64_t)(int8_t)bits;
    case TSR_INT16: return (uint64_t)(int16_t)bits;
    case TSR_INT32: return (uint64_t)(int32_t)bits;
    case TSR_UINT8: return (uint8_t)bits;
    case TSR_UINT16: return (uint16_t)bits;
    case TSR_UINT32: return (uint32_t)bits;
    default: return bits;
    }
}

bool tsr_value_true(tsr_type type, tsr_value value)
{
    return tsr_type_is_float(type) ? value.real != 0 || value.imag != 0 : value.bits != 0;
}

static bool same_number(long double x, long double y)
{
    return x == y || (x != x && y != y);
}

bool tsr_value_same(tsr_value x, tsr_value y)
{
    return x.bits == y.bits && same_number(x.real, y.real) && same_number(x.imag, y.imag);
}

static tsr_value of_bits(uint64_t bits)
{
    return (tsr_value){ .bits = bits };
}

static tsr_value of_real(long double real)
{
    return (tsr_value){ .real = real };
}

static tsr_value of_bool(tsr_type type, bool truth)
{
    return tsr_type_is_float(type) ? of_real(truth) : of_bits(truth);
}

/* One product, one sum of real or imaginary parts. */
static long double part_times(tsr_type type, tsr_rounding how, long double a, long double b)
{
    return how == TSR_ROUND_NEVER ? a * b : type == TSR_FC32 ? (long double)((float)a * (float)b) : (long double)((double)a * (double)b);
}

static long double part_plus(tsr_type type, tsr_rounding how, long double a, long double b)
{
    return how == TSR_ROUND_NEVER ? a + b : type == TSR_FC32 ? (long double)((float)a + (float)b) : (long double)((double)a + (double)b);
}

static tsr_value complex_times(tsr_type type, tsr_rounding how, tsr_value a, tsr_value b)
{
    const long double rr = part_times(type, how, a.real, b.real), ii = part_times(type, how, a.imag, b.imag);
    const long double ri = part_times(type, how, a.real, b.imag), ir = part_times(type, how, a.imag, b.real);
    return (tsr_value){ .real = part_plus(type, how, rr, -ii), .imag = part_plus(type, how, ri, ir) };
}

static tsr_value complex_plus(tsr_type type, tsr_rounding how, tsr_value a, tsr_value b)
{
    return (tsr_value){ .real = part_plus(type, how, a.real, b.real), .imag = part_plus(type, how, a.imag, b.imag) };
}

static tsr_value times(tsr_type type, tsr_rounding rounding, tsr_value a, tsr_value b)
{
    if (!tsr_type_is_float(type))
        return of_bits(wrap(type, a.bits * b.bits));
    if (tsr_is_complex(type))
        return complex_times(type, rounding, a, b);
    if (rounding == TSR_ROUND_NEVER)
        return of_real(a.real * b.real);
    if (type == TSR_FP32)
        return of_real((float)a.real * (float)b.real);
    return of_real((double)a.real * (double)b.real);
}

static tsr_value plus(tsr_type type, tsr_rounding rounding, tsr_value a, tsr_value b)
{
    if (!tsr_type_is_float(type))
        return of_bits(wrap(type, a.bits + b.bits));
    if (tsr_is_complex(type))
        return complex_plus(type, rounding, a, b);
    if (rounding == TSR_ROUND_NEVER)
        return of_real(a.real + b.real);
    if (type == TSR_FP32)
        return of_real((float)a.real + (float)b.real);
    return of_real((double)a.real + (double)b.real);
}

static bool less(tsr_type type, tsr_value a, tsr_value b)
{
    return is_signed(type) ? (int64_t)a.bits < (int64_t)b.bits : a.bits < b.bits;
}

static tsr_value minimum(tsr_type type, tsr_value a, tsr_value b)
{
    if (tsr_type_is_float(type))
        return of_real(fminl(a.real, b.real));
    return less(type, b, a) ? b : a;
}

static tsr_value maximum(tsr_type type, tsr_value a, tsr_value b)
{
    if (tsr_type_is_float(type))
        return of_real(fmaxl(a.real, b.real));
    return less(type, a, b) ? b : a;
}

tsr_value tsr_value_multiply(const tsr_semiring *semiring, tsr_rounding rounding, tsr_value a, tsr_value b)
{
    tsr_type type = semiring->type;
    switch (semiring->mul) {
    case TSR_MUL_TIMES: return times(type, rounding, a, b);
    case TSR_MUL_FIRST: return a;
    case TSR_MUL_SECOND: return b;
    case TSR_MUL_PAIR: return of_bool(type, true);
    case TSR_MUL_PLUS: return plus(type, rounding, a, b);
    case TSR_MUL_AND: return of_bool(type, tsr_value_true(type, a) && tsr_value_true(type, b));
    }
    return a;
}

tsr_value tsr_value_add(const tsr_semiring *semiring, tsr_rounding rounding, tsr_value sum, tsr_value term)
{
    tsr_type type = semiring->type;
    switch (semiring->add) {
    case TSR_ADD_PLUS: return plus(type, rounding, sum, term);
    case TSR_ADD_MIN: return minimum(type, sum, term);
    case TSR_ADD_MAX: return maximum(type, sum, term);
    case TSR_ADD_ANY: return sum;
    case TSR_ADD_LOR: return of_bool(type, tsr_value_true(type, sum) || tsr_value_true(type, term));
    }
    return sum;
}

tsr_value tsr_value_begin(const tsr_semiring *semiring, tsr_value term)
{
    return semiring->add == TSR_ADD_LOR ? of_bool(semiring->type, tsr_value_true(semiring->type, term)) : term;
}
