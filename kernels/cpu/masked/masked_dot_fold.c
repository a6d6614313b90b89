/* The typed parts of the masked dot product: folding hits with every monoid and multiply, results from counts.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/masked/masked_dot.h"
#include "kernels/cpu/common/template.h"

#include <string.h>

/* As a macro, bool would be expanded before it is pasted into a name. */
#undef bool
typedef _Bool bool;

#define FOLD_NAME(add, mul, type) fold_##add##_##mul##_##type
#define SPREAD_NAME(add, mul, type) spread_##add##_##mul##_##type

/* ANY keeps what it has: nothing is read once there is a value. */
#define FUNCTIONS(add, mul, type)                                                                                    \
    static void FOLD_NAME(add, mul, type)(void *acc, bool first, const void *walked, int64_t walked_step,            \
                                          const void *other, int64_t other_step, const uint32_t *restrict place,     \
                                          const int64_t *restrict index, int64_t n)                                  \
    {                                                                                                                \
        const tsr_c_##type *restrict w = walked, *restrict o = other;                                                \
        tsr_c_##type *out = acc;                                                                                     \
        int64_t t = 0;                                                                                               \
        if (first && n > 0) {                                                                                        \
            *out = LIFT_##add(tsr_mul_##mul##_##type(w[place[0] * walked_step], o[index[0] * other_step]));          \
            t = 1;                                                                                                   \
        }                                                                                                            \
        tsr_c_##type z = *out;                                                                                       \
        for (; t < n; t++)                                                                                           \
            z = tsr_add_##add##_##type(z, tsr_mul_##mul##_##type(w[place[t] * walked_step],                          \
                                                                 o[index[t] * other_step]));                         \
        *out = z;                                                                                                    \
    }                                                                                                                \
    static void SPREAD_NAME(add, mul, type)(void *x, int8_t *restrict present, const void *a, const void *b,         \
                                            int64_t b_step, const uint32_t *restrict place,                          \
                                            const int64_t *restrict target, int64_t n)                               \
    {                                                                                                                \
        const tsr_c_##type av = *(const tsr_c_##type *)a, *restrict bx = b;                                          \
        tsr_c_##type *restrict out = x;                                                                              \
        for (int64_t t = 0; t < n; t++) {                                                                            \
            int64_t e = target[t];                                                                                   \
            tsr_c_##type z = tsr_mul_##mul##_##type(av, bx[place[t] * b_step]);                                      \
            out[e] = present[e] ? tsr_add_##add##_##type(out[e], z) : LIFT_##add(z);                                 \
            present[e] = 1;                                                                                          \
        }                                                                                                            \
    }

/* What a single product becomes: LOR gives 0 or 1 even then. */
#define LIFT_plus(z) z
#define LIFT_min(z) z
#define LIFT_max(z) z
#define LIFT_any(z) z
#define LIFT_lor(z) (z) != 0

#define MULS(add, type)         \
    FUNCTIONS(add, times, type) \
    FUNCTIONS(add, first, type) \
    FUNCTIONS(add, second, type) \
    FUNCTIONS(add, plus, type)  \
    FUNCTIONS(add, and, type)

#define ADDS(type, wide) MULS(plus, type) MULS(min, type) MULS(max, type) MULS(any, type) MULS(lor, type)

TSR_FOR_NUMBERS(ADDS)
MULS(any, bool)
MULS(lor, bool)

#define ROW(NAME, add, type)                                                            \
    {                                                                                   \
        [TSR_MUL_TIMES] = NAME(add, times, type), [TSR_MUL_FIRST] = NAME(add, first, type), \
        [TSR_MUL_SECOND] = NAME(add, second, type), [TSR_MUL_PLUS] = NAME(add, plus, type), \
        [TSR_MUL_AND] = NAME(add, and, type)                                            \
    }
#define TABLE(NAME, type)                                                                                 \
    {                                                                                                     \
        [TSR_ADD_PLUS] = ROW(NAME, plus, type), [TSR_ADD_MIN] = ROW(NAME, min, type),                     \
        [TSR_ADD_MAX] = ROW(NAME, max, type), [TSR_ADD_ANY] = ROW(NAME, any, type),                       \
        [TSR_ADD_LOR] = ROW(NAME, lor, type)                                                              \
    }
#define TABLE_BOOL(NAME) { [TSR_ADD_ANY] = ROW(NAME, any, bool), [TSR_ADD_LOR] = ROW(NAME, lor, bool) }
#define TYPES(NAME)                                                                                        \
    {                                                                                                      \
        [TSR_BOOL] = TABLE_BOOL(NAME), [TSR_INT8] = TABLE(NAME, int8), [TSR_INT16] = TABLE(NAME, int16),   \
        [TSR_INT32] = TABLE(NAME, int32), [TSR_INT64] = TABLE(NAME, int64), [TSR_UINT8] = TABLE(NAME, uint8), \
        [TSR_UINT16] = TABLE(NAME, uint16), [TSR_UINT32] = TABLE(NAME, uint32),                            \
        [TSR_UINT64] = TABLE(NAME, uint64), [TSR_FP32] = TABLE(NAME, fp32), [TSR_FP64] = TABLE(NAME, fp64) \
    }

static const tsr_md_fold folds[TSR_TYPE_COUNT][TSR_ADD_COUNT][TSR_MUL_COUNT] = TYPES(FOLD_NAME);
static const tsr_md_spread spreads[TSR_TYPE_COUNT][TSR_ADD_COUNT][TSR_MUL_COUNT] = TYPES(SPREAD_NAME);

tsr_md_fold tsr_md_fold_of(tsr_semiring s, bool walked_is_a)
{
    return folds[s.type][s.add][walked_is_a ? s.mul : tsr_mul_swapped(s.mul)];
}

tsr_md_spread tsr_md_spread_of(tsr_semiring s)
{
    return spreads[s.type][s.add][s.mul];
}

/* ---- equal products ---- */

static void one_pair(void *product, tsr_type type)
{
    switch (type) {
    case TSR_FP32: *(float *)product = 1; break;
    case TSR_FP64: *(double *)product = 1; break;
    case TSR_INT64:
    case TSR_UINT64: *(uint64_t *)product = 1; break;
    case TSR_INT32:
    case TSR_UINT32: *(uint32_t *)product = 1; break;
    case TSR_INT16:
    case TSR_UINT16: *(uint16_t *)product = 1; break;
    default: *(uint8_t *)product = 1; break;
    }
}

void tsr_md_one_product(void *product, tsr_semiring s, const void *a, const void *b)
{
    static const double ignored[1];
    const uint32_t place = 0;
    const int64_t index = 0;
    if (s.mul == TSR_MUL_PAIR)
        one_pair(product, s.type);
    else
        folds[s.type][TSR_ADD_ANY][s.mul](product, true, a ? a : ignored, 0, b ? b : ignored, 0, &place, &index, 1);
}

/* count equal products summed: exact for integers (modulo 2^bits), one rounding for floating point. */
#define FINISH(TYPE, T, sum)                                                             \
    case TYPE: {                                                                         \
        T v;                                                                             \
        memcpy(&v, job->product, sizeof v);                                              \
        ((T *)job->x)[e] = add == TSR_ADD_PLUS ? (T)(sum) : add == TSR_ADD_LOR ? (T)(v != 0) : v; \
        break;                                                                           \
    }

void tsr_md_finish(const tsr_md_job *job, int64_t e, int64_t count)
{
    tsr_add add = job->semiring.add;
    uint64_t n = (uint64_t)count;
    switch (job->semiring.type) {
    case TSR_BOOL:
        ((uint8_t *)job->x)[e] = job->product[0] != 0;
        break;
    FINISH(TSR_INT8, int8_t, (uint64_t)v * n)
    FINISH(TSR_INT16, int16_t, (uint64_t)v * n)
    FINISH(TSR_INT32, int32_t, (uint64_t)v * n)
    FINISH(TSR_INT64, int64_t, (uint64_t)v * n)
    FINISH(TSR_UINT8, uint8_t, v * n)
    FINISH(TSR_UINT16, uint16_t, v * n)
    FINISH(TSR_UINT32, uint32_t, v * n)
    FINISH(TSR_UINT64, uint64_t, v * n)
    FINISH(TSR_FP32, float, (double)v * (double)n)
    FINISH(TSR_FP64, double, v * (double)n)
    }
}
