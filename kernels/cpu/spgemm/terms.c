/* Products of one entry of A with a row of B, for semirings without a loop of their own.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/spgemm/rows.h"

#define MULTIPLY(TYPE, type, MUL, mul) \
    static void mul##_##type(void *z, const void *a, const void *b, int64_t step, int64_t n) \
    { \
        const tsr_c_##type first = *(const tsr_c_##type *)a; \
        const tsr_c_##type *second = b; \
        tsr_c_##type *out = z; \
        if (step) \
            for (int64_t t = 0; t < n; t++) \
                out[t] = tsr_mul_##mul##_##type(first, second[t]); \
        else \
            for (int64_t t = 0; t < n; t++) \
                out[t] = tsr_mul_##mul##_##type(first, *second); \
    }
#define CASE(TYPE, type, MUL, mul) \
    case TSR_SEMIRING(TSR_##TYPE, 0, TSR_MUL_##MUL): return mul##_##type;

#define FOR_TYPES(F, MUL, mul) \
    F(BOOL, bool, MUL, mul) F(INT8, int8, MUL, mul) F(INT16, int16, MUL, mul) F(INT32, int32, MUL, mul) F(INT64, int64, MUL, mul) \
    F(UINT8, uint8, MUL, mul) F(UINT16, uint16, MUL, mul) F(UINT32, uint32, MUL, mul) F(UINT64, uint64, MUL, mul) \
    F(FP32, fp32, MUL, mul) F(FP64, fp64, MUL, mul)
#define FOR_ALL(F) \
    FOR_TYPES(F, TIMES, times) FOR_TYPES(F, PLUS, plus) FOR_TYPES(F, AND, and) FOR_TYPES(F, FIRST, first) FOR_TYPES(F, SECOND, second) \
    FOR_TYPES(F, PAIR, pair) \
    F(FC32, fc32, TIMES, times) F(FC64, fc64, TIMES, times)

FOR_ALL(MULTIPLY)

tsr_sg_multiply tsr_sg_find_multiply(tsr_type type, tsr_mul mul)
{
    switch (TSR_SEMIRING(type, 0, mul)) {
    FOR_ALL(CASE)
    default: return NULL;
    }
}
