/* Loops of elementwise steps: simple enough for the compiler to use vectors.  Compiled once per instruction set.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/elementwise/ewise_loops.h"

/* As a macro, bool would be expanded before it is pasted into a name. */
#undef bool
typedef _Bool bool;

/* z may be x or y, element by element. */
#define EACH(expression)                                                                                      \
    do {                                                                                                      \
        _Pragma("omp simd") for (int64_t k = 0; k < n; k++)                                                   \
            z[k] = expression;                                                                                \
        return z;                                                                                             \
    } while (0)

/* ---- numbers ---- */

#define COMMON_CASES(C)                                                                                       \
    case TSR_EWISE_IDENTITY:                                                                                   \
    case TSR_EWISE_FIRST: return x;                                                                            \
    case TSR_EWISE_SECOND: return y;                                                                           \
    case TSR_EWISE_ONE:                                                                                        \
    case TSR_EWISE_PAIR: EACH(1);                                                                              \
    case TSR_EWISE_LNOT: EACH((C)(x[k] == 0));                                                                 \
    case TSR_EWISE_PLUS: EACH((C)(x[k] + y[k]));                                                               \
    case TSR_EWISE_MINUS: EACH((C)(x[k] - y[k]));                                                              \
    case TSR_EWISE_RMINUS: EACH((C)(y[k] - x[k]));                                                             \
    case TSR_EWISE_TIMES: EACH((C)(x[k] * y[k]));                                                              \
    case TSR_EWISE_ISEQ: EACH((C)(x[k] == y[k]));                                                              \
    case TSR_EWISE_ISNE: EACH((C)(x[k] != y[k]));                                                              \
    case TSR_EWISE_ISGT: EACH((C)(x[k] > y[k]));                                                               \
    case TSR_EWISE_ISLT: EACH((C)(x[k] < y[k]));                                                               \
    case TSR_EWISE_ISGE: EACH((C)(x[k] >= y[k]));                                                              \
    case TSR_EWISE_ISLE: EACH((C)(x[k] <= y[k]));                                                              \
    case TSR_EWISE_LOR: EACH((C)((x[k] != 0) | (y[k] != 0)));                                                  \
    case TSR_EWISE_LAND: EACH((C)((x[k] != 0) & (y[k] != 0)));                                                 \
    case TSR_EWISE_LXOR: EACH((C)((x[k] != 0) ^ (y[k] != 0)));

/* Of two zeros MIN and MAX give y, as SuiteSparse's do on x86. */
#define FLOAT_OPERATORS(type, root, absolute)                                                                 \
    static const void *operate_##type(tsr_ewise_op op, const tsr_c_##type *x, const tsr_c_##type *y, tsr_c_##type *z, int64_t n) \
    {                                                                                                         \
        switch (op) {                                                                                         \
        COMMON_CASES(tsr_c_##type)                                                                            \
        case TSR_EWISE_AINV: EACH(-x[k]);                                                                      \
        case TSR_EWISE_MINV: EACH(1 / x[k]);                                                                   \
        case TSR_EWISE_ABS: EACH(absolute(x[k]));                                                              \
        case TSR_EWISE_SQRT: EACH(root(x[k]));                                                                 \
        case TSR_EWISE_DIV: EACH(x[k] / y[k]);                                                                 \
        case TSR_EWISE_RDIV: EACH(y[k] / x[k]);                                                                \
        case TSR_EWISE_MIN: EACH(((x[k] < y[k]) | (y[k] != y[k])) ? x[k] : y[k]);                              \
        case TSR_EWISE_MAX: EACH(((x[k] > y[k]) | (y[k] != y[k])) ? x[k] : y[k]);                              \
        default: return NULL;                                                                                 \
        }                                                                                                     \
    }

/* x / y: what has no quotient is 0 or the end of the range. */
#define SIGNED_QUOTIENT(type, wide, p, q)                                                                     \
    ((q) != 0 ? (q) == -1 ? (tsr_c_##type)(0 - (wide)(p)) : (tsr_c_##type)((p) / (q))                         \
              : (p) == 0 ? (tsr_c_##type)0 : (p) < 0 ? tsr_identity_max_##type() : tsr_identity_min_##type())
#define UNSIGNED_QUOTIENT(type, wide, p, q)                                                                   \
    ((q) != 0 ? (tsr_c_##type)((p) / (q)) : (p) == 0 ? (tsr_c_##type)0 : tsr_identity_min_##type())
#define SIGNED_ABSOLUTE(type, wide, p) ((p) < 0 ? (tsr_c_##type)(0 - (wide)(p)) : (p))
#define UNSIGNED_ABSOLUTE(type, wide, p) (p)

#define INTEGER_OPERATORS(type, wide, QUOTIENT, ABSOLUTE)                                                     \
    static const void *operate_##type(tsr_ewise_op op, const tsr_c_##type *x, const tsr_c_##type *y, tsr_c_##type *z, int64_t n) \
    {                                                                                                         \
        const tsr_c_##type one = 1;                                                                           \
        switch (op) {                                                                                         \
        COMMON_CASES(tsr_c_##type)                                                                            \
        case TSR_EWISE_AINV: EACH((tsr_c_##type)(0 - (wide)x[k]));                                             \
        case TSR_EWISE_MINV: EACH(QUOTIENT(type, wide, one, x[k]));                                            \
        case TSR_EWISE_ABS: EACH(ABSOLUTE(type, wide, x[k]));                                                  \
        case TSR_EWISE_DIV: EACH(QUOTIENT(type, wide, x[k], y[k]));                                            \
        case TSR_EWISE_RDIV: EACH(QUOTIENT(type, wide, y[k], x[k]));                                           \
        case TSR_EWISE_MIN: EACH(y[k] < x[k] ? y[k] : x[k]);                                                   \
        case TSR_EWISE_MAX: EACH(y[k] > x[k] ? y[k] : x[k]);                                                   \
        default: return NULL;                                                                                 \
        }                                                                                                     \
    }
#define SIGNED_OPERATORS(type, wide) INTEGER_OPERATORS(type, wide, SIGNED_QUOTIENT, SIGNED_ABSOLUTE)
#define UNSIGNED_OPERATORS(type, wide) INTEGER_OPERATORS(type, wide, UNSIGNED_QUOTIENT, UNSIGNED_ABSOLUTE)

TSR_FOR_SIGNED(SIGNED_OPERATORS)
TSR_FOR_UNSIGNED(UNSIGNED_OPERATORS)
FLOAT_OPERATORS(fp32, sqrtf, fabsf)
FLOAT_OPERATORS(fp64, sqrt, fabs)

#define COMPARISONS(type, wide)                                                                               \
    static const void *compare_##type(tsr_ewise_op op, const tsr_c_##type *x, const tsr_c_##type *y, uint8_t *z, int64_t n) \
    {                                                                                                         \
        switch (op) {                                                                                         \
        case TSR_EWISE_EQ: EACH(x[k] == y[k]);                                                                 \
        case TSR_EWISE_NE: EACH(x[k] != y[k]);                                                                 \
        case TSR_EWISE_GT: EACH(x[k] > y[k]);                                                                  \
        case TSR_EWISE_LT: EACH(x[k] < y[k]);                                                                  \
        case TSR_EWISE_GE: EACH(x[k] >= y[k]);                                                                 \
        default: EACH(x[k] <= y[k]);                                                                          \
        }                                                                                                     \
    }
TSR_FOR_NUMBERS(COMPARISONS)

/* ---- booleans: bytes 0 and 1 ---- */

static const void *operate_bool(tsr_ewise_op op, const uint8_t *x, const uint8_t *y, uint8_t *z, int64_t n)
{
    switch (op) {
    case TSR_EWISE_IDENTITY:
    case TSR_EWISE_AINV:
    case TSR_EWISE_ABS:
    case TSR_EWISE_DIV:
    case TSR_EWISE_FIRST: return x;
    case TSR_EWISE_RDIV:
    case TSR_EWISE_SECOND: return y;
    case TSR_EWISE_MINV:
    case TSR_EWISE_ONE:
    case TSR_EWISE_PAIR: EACH(1);
    case TSR_EWISE_LNOT: EACH(x[k] ^ 1);
    case TSR_EWISE_PLUS:
    case TSR_EWISE_MAX:
    case TSR_EWISE_LOR: EACH(x[k] | y[k]);
    case TSR_EWISE_TIMES:
    case TSR_EWISE_MIN:
    case TSR_EWISE_LAND: EACH(x[k] & y[k]);
    case TSR_EWISE_MINUS:
    case TSR_EWISE_RMINUS:
    case TSR_EWISE_ISNE:
    case TSR_EWISE_NE:
    case TSR_EWISE_LXOR: EACH(x[k] ^ y[k]);
    case TSR_EWISE_ISEQ:
    case TSR_EWISE_EQ: EACH(x[k] == y[k]);
    case TSR_EWISE_ISGT:
    case TSR_EWISE_GT: EACH(x[k] > y[k]);
    case TSR_EWISE_ISLT:
    case TSR_EWISE_LT: EACH(x[k] < y[k]);
    case TSR_EWISE_ISGE:
    case TSR_EWISE_GE: EACH(x[k] >= y[k]);
    case TSR_EWISE_ISLE:
    case TSR_EWISE_LE: EACH(x[k] <= y[k]);
    default: return NULL;
    }
}

/* ---- by type, by size ---- */

#define OPERATE_CASE(name, type) \
    case TSR_##name: return tsr_ewise_compares(op) ? compare_##type(op, x, y, z, n) : operate_##type(op, x, y, z, n);

static const void *operate(tsr_ewise_op op, tsr_type type, const void *x, const void *y, void *z, int64_t n)
{
    switch (type) {
    case TSR_BOOL: return operate_bool(op, x, y, z, n);
    OPERATE_CASE(INT8, int8)
    OPERATE_CASE(INT16, int16)
    OPERATE_CASE(INT32, int32)
    OPERATE_CASE(INT64, int64)
    OPERATE_CASE(UINT8, uint8)
    OPERATE_CASE(UINT16, uint16)
    OPERATE_CASE(UINT32, uint32)
    OPERATE_CASE(UINT64, uint64)
    OPERATE_CASE(FP32, fp32)
    OPERATE_CASE(FP64, fp64)
    }
    return NULL;
}

/* F (bytes, type) */
#define FOR_SIZES(F) F(1, uint8_t) F(2, uint16_t) F(4, uint32_t) F(8, uint64_t)

#define PICK(bytes, T)                                                                                        \
    static void pick_##bytes(T *z, const uint8_t *flags, const T *yes, const T *no, int64_t n)                \
    {                                                                                                         \
        _Pragma("omp simd") for (int64_t k = 0; k < n; k++)                                                   \
            z[k] = flags[k] ? yes[k] : no[k];                                                                 \
    }
#define TRUTH(bytes, T)                                                                                       \
    static void truth_##bytes(uint8_t *flags, const T *x, int64_t n)                                          \
    {                                                                                                         \
        _Pragma("omp simd") for (int64_t k = 0; k < n; k++)                                                   \
            flags[k] = x[k] != 0;                                                                             \
    }
FOR_SIZES(PICK)
FOR_SIZES(TRUTH)

#define PICK_CASE(bytes, T) case bytes: pick_##bytes(z, flags, yes, no, n); break;
#define TRUTH_CASE(bytes, T) case bytes: truth_##bytes(flags, x, n); break;

static void pick(size_t size, void *z, const uint8_t *flags, const void *yes, const void *no, int64_t n)
{
    switch (size) {
    FOR_SIZES(PICK_CASE)
    default: break;
    }
}

static void truth(size_t size, uint8_t *flags, const void *x, int64_t n)
{
    switch (size) {
    FOR_SIZES(TRUTH_CASE)
    default: break;
    }
}

const tsr_ewise_table TSR_NAME(tsr_ewise_table) = { operate, pick, truth };
