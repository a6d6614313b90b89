/* Numbers stored in 16 bits as FP32.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_BASE_HALF_H
#define TSR_BASE_HALF_H

#include <string.h>

#include "src/base/number.h"

static inline float tsr_float_of_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline float tsr_float_of_bf16(uint16_t x)
{
    return tsr_float_of_bits((uint32_t)x << 16);
}

/* The exponent moved by 112; what was infinite or NaN stays so, and what is below 2^-14 has steps of 2^-24. */
static inline float tsr_float_of_fp16(uint16_t x)
{
    const uint32_t sign = (uint32_t)(x & 0x8000) << 16, size = x & 0x7fff;
    if (size >= 0x7c00)
        return tsr_float_of_bits(sign | 0x7f800000 | size << 13);
    const float f = size >= 0x0400 ? tsr_float_of_bits((size << 13) + 0x38000000) : (float)size * 0x1p-24f;
    return sign ? -f : f;
}

static inline bool tsr_is_half(tsr_type type)
{
    return type == TSR_FP16 || type == TSR_BF16;
}

/* dst[0..n) = src[0..n) of a type that is half. */
void tsr_widen_values(float *dst, const uint16_t *src, tsr_type from, int64_t n);

#endif
