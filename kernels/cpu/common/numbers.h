/* FP32 vectors of numbers that are stored in 16 bits, and single ones.  Loads convert exactly; stores round to nearest even.
 * Names: tsr_load_<number>, tsr_widen_<number>, tsr_narrow_<number>; numbers: fp32, fp16, bf16.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_NUMBERS_H
#define TSR_CPU_NUMBERS_H

#include "kernels/cpu/common/simd.h"
#include "src/base/number.h"

typedef uint16_t tsr_c_fp16;
typedef uint16_t tsr_c_bf16;

TSR_INLINE float tsr_float_of_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

TSR_INLINE float tsr_widen_fp32(float x) { return x; }
TSR_INLINE float tsr_widen_bf16(tsr_c_bf16 x) { return tsr_float_of_bits((uint32_t)x << 16); }

/* The exponent moved by 112; what was infinite or NaN stays so, and what is below 2^-14 has steps of 2^-24. */
TSR_INLINE float tsr_widen_fp16(tsr_c_fp16 x)
{
    const uint32_t sign = (uint32_t)(x & 0x8000) << 16, size = x & 0x7fff;
    if (size >= 0x7c00)
        return tsr_float_of_bits(sign | 0x7f800000 | size << 13);
    const float f = size >= 0x0400 ? tsr_float_of_bits((size << 13) + 0x38000000) : (float)size * 0x1p-24f;
    return sign ? -f : f;
}

TSR_INLINE tsr_v_fp32 tsr_load_bf16(const tsr_c_bf16 *x)
{
    typedef uint16_t halves __attribute__((vector_size(TSR_VECTOR_BYTES / 2)));
    typedef uint32_t words __attribute__((vector_size(TSR_VECTOR_BYTES)));
    halves narrow;
    memcpy(&narrow, x, sizeof narrow);
    return (tsr_v_fp32)(__builtin_convertvector(narrow, words) << 16);
}

TSR_INLINE tsr_v_fp32 tsr_load_fp16(const tsr_c_fp16 *x)
{
#if defined(__AVX512BW__)
    return (tsr_v_fp32)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)x));
#elif defined(__F16C__) && defined(__AVX2__)
    return (tsr_v_fp32)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)x));
#else
    tsr_v_fp32 wide = { 0 };
    for (int64_t k = 0; k < TSR_LANES(fp32); k++)
        wide[k] = tsr_widen_fp16(x[k]);
    return wide;
#endif
}

TSR_INLINE void tsr_narrow_fp32(float *to, const float *x, int64_t n) { memcpy(to, x, (size_t)n * sizeof *x); }
TSR_INLINE void tsr_narrow_fp16(tsr_c_fp16 *to, const float *x, int64_t n) { tsr_round_values(to, TSR_NUMBER_FP16, x, TSR_FP32, n, 1); }
TSR_INLINE void tsr_narrow_bf16(tsr_c_bf16 *to, const float *x, int64_t n) { tsr_round_values(to, TSR_NUMBER_BF16, x, TSR_FP32, n, 1); }

#endif
