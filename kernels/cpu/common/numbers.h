/* FP32 vectors of numbers that are stored in 16 bits, and single ones.  Loads convert exactly; stores round to nearest even.
 * Names: tsr_load_<number>, tsr_widen_<number>, tsr_narrow_<number>; numbers: fp32, fp16, bf16.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_NUMBERS_H
#define TSR_CPU_NUMBERS_H

#include "kernels/cpu/common/simd.h"
#include "src/base/half.h"

typedef uint16_t tsr_c_fp16;
typedef uint16_t tsr_c_bf16;

TSR_INLINE float tsr_widen_fp32(float x) { return x; }
TSR_INLINE float tsr_widen_bf16(tsr_c_bf16 x) { return tsr_float_of_bf16(x); }
TSR_INLINE float tsr_widen_fp16(tsr_c_fp16 x) { return tsr_float_of_fp16(x); }

TSR_INLINE tsr_v_fp32 tsr_load_bf16(const tsr_c_bf16 *x)
{
#if defined(__AVX512BW__)
    return (tsr_v_fp32)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)x)), 16);
#elif defined(__AVX2__)
    return (tsr_v_fp32)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)x)), 16);
#else
    typedef uint16_t halves __attribute__((vector_size(TSR_VECTOR_BYTES / 2)));
    typedef uint32_t words __attribute__((vector_size(TSR_VECTOR_BYTES)));
    halves narrow;
    memcpy(&narrow, x, sizeof narrow);
    return (tsr_v_fp32)(__builtin_convertvector(narrow, words) << 16);
#endif
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
