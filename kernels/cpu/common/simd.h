/* Vectors of every type in the width of the instruction set a file is compiled for, and the operators on them.
 * GCC vector extensions; intrinsics only where no compiler finds the instruction by itself.
 * Names: tsr_v_<type>, tsr_load_<type>, tsr_store_<type>, tsr_splat_<type>, tsr_vmul_<op>_<type>,
 * tsr_vadd_<monoid>_<type>.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_SIMD_H
#define TSR_CPU_SIMD_H

#include "kernels/cpu/common/template.h"

#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#if defined(__AVX512BW__)
#define TSR_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define TSR_VECTOR_BYTES 32
#else
#define TSR_VECTOR_BYTES 16
#endif

#define TSR_INLINE static inline __attribute__((always_inline, unused))
#define TSR_PRAGMA(text) _Pragma(#text)
#define TSR_UNROLL(times) TSR_PRAGMA(GCC unroll times)
#define TSR_LANES(type) ((int64_t)(TSR_VECTOR_BYTES / sizeof(tsr_c_##type)))

typedef int8_t tsr_m_8 __attribute__((vector_size(TSR_VECTOR_BYTES)));
typedef int16_t tsr_m_16 __attribute__((vector_size(TSR_VECTOR_BYTES)));
typedef int32_t tsr_m_32 __attribute__((vector_size(TSR_VECTOR_BYTES)));
typedef int64_t tsr_m_64 __attribute__((vector_size(TSR_VECTOR_BYTES)));

/* F(type, bits) */
#define TSR_FOR_VECTOR_INTEGERS(F) \
    F(int8, 8) F(int16, 16) F(int32, 32) F(int64, 64) F(uint8, 8) F(uint16, 16) F(uint32, 32) F(uint64, 64)
#define TSR_FOR_VECTOR_FLOATS(F) F(fp32, 32) F(fp64, 64)

/* tsr_m_<bits> is the mask type: all bits of a lane set, or none. */
#define TSR_VECTOR_BASIC(type, bits) \
    typedef tsr_c_##type tsr_v_##type __attribute__((vector_size(TSR_VECTOR_BYTES))); \
    typedef tsr_c_##type tsr_u_##type __attribute__((vector_size(TSR_VECTOR_BYTES), aligned(1), may_alias)); \
    TSR_INLINE tsr_v_##type tsr_load_##type(const tsr_c_##type *x) { return *(const tsr_u_##type *)x; } \
    TSR_INLINE void tsr_store_##type(tsr_c_##type *x, tsr_v_##type v) { *(tsr_u_##type *)x = v; } \
    TSR_INLINE tsr_v_##type tsr_splat_##type(tsr_c_##type s) { return s - (tsr_v_##type){ 0 }; } \
    TSR_INLINE tsr_v_##type tsr_blend_##type(tsr_m_##bits mask, tsr_v_##type yes, tsr_v_##type no) \
    { return (tsr_v_##type)((mask & (tsr_m_##bits)yes) | (~mask & (tsr_m_##bits)no)); } \
    TSR_INLINE tsr_v_##type tsr_truth_##type(tsr_m_##bits mask) \
    { return (tsr_v_##type)(mask & (tsr_m_##bits)tsr_splat_##type(1)); } \
    TSR_INLINE tsr_m_##bits tsr_nonzero_##type(tsr_v_##type v) { return (tsr_m_##bits)(v != (tsr_v_##type){ 0 }); } \
    TSR_INLINE tsr_v_##type tsr_vmul_first_##type(tsr_v_##type a, tsr_v_##type b) { (void)b; return a; } \
    TSR_INLINE tsr_v_##type tsr_vmul_second_##type(tsr_v_##type a, tsr_v_##type b) { (void)a; return b; } \
    TSR_INLINE tsr_v_##type tsr_vmul_and_##type(tsr_v_##type a, tsr_v_##type b) \
    { return tsr_truth_##type(tsr_nonzero_##type(a) & tsr_nonzero_##type(b)); } \
    TSR_INLINE tsr_v_##type tsr_vmul_times_##type(tsr_v_##type a, tsr_v_##type b) { return a * b; } \
    TSR_INLINE tsr_v_##type tsr_vmul_plus_##type(tsr_v_##type a, tsr_v_##type b) { return a + b; } \
    TSR_INLINE tsr_v_##type tsr_vadd_plus_##type(tsr_v_##type x, tsr_v_##type y) { return x + y; } \
    TSR_INLINE tsr_v_##type tsr_vadd_any_##type(tsr_v_##type x, tsr_v_##type y) { (void)x; return y; } \
    TSR_INLINE tsr_v_##type tsr_vadd_lor_##type(tsr_v_##type x, tsr_v_##type y) \
    { return (tsr_v_##type)((tsr_m_##bits)x | (tsr_m_##bits)tsr_truth_##type(tsr_nonzero_##type(y))); }

TSR_FOR_VECTOR_INTEGERS(TSR_VECTOR_BASIC)
TSR_FOR_VECTOR_FLOATS(TSR_VECTOR_BASIC)

/* min and max by comparison, for whatever has no instruction. */
#define TSR_VECTOR_COMPARE(type, bits, name, op) \
    TSR_INLINE tsr_v_##type tsr_v##name##_##type(tsr_v_##type x, tsr_v_##type y) \
    { return tsr_blend_##type((tsr_m_##bits)(x op y), x, y); }

#define TSR_VECTOR_INTRINSIC(type, name, intrinsic, cast) \
    TSR_INLINE tsr_v_##type tsr_v##name##_##type(tsr_v_##type x, tsr_v_##type y) \
    { return (tsr_v_##type)intrinsic((cast)x, (cast)y); }

#define TSR_COMPARE_BOTH(type, bits) \
    TSR_VECTOR_COMPARE(type, bits, add_min, <) TSR_VECTOR_COMPARE(type, bits, add_max, >)
#define TSR_INTRINSIC_BOTH(type, prefix, suffix, cast) \
    TSR_VECTOR_INTRINSIC(type, add_min, prefix##_min_##suffix, cast) \
    TSR_VECTOR_INTRINSIC(type, add_max, prefix##_max_##suffix, cast)

/* fast_min(sum, x), fast_max: as fmin, fmax as long as sum is not NaN (the x86 instructions yield their second operand
 * when one is NaN). */
#if defined(__AVX512BW__)
#define TSR_FOR_NARROW(F) \
    F(int8, _mm512, epi8, __m512i) F(int16, _mm512, epi16, __m512i) F(int32, _mm512, epi32, __m512i) \
    F(uint8, _mm512, epu8, __m512i) F(uint16, _mm512, epu16, __m512i) F(uint32, _mm512, epu32, __m512i) \
    F(int64, _mm512, epi64, __m512i) F(uint64, _mm512, epu64, __m512i)
#define TSR_FAST_FLOAT(F) F(fp32, _mm512, ps, __m512) F(fp64, _mm512, pd, __m512d)
TSR_FOR_NARROW(TSR_INTRINSIC_BOTH)
#elif defined(__AVX2__)
#define TSR_FOR_NARROW(F) \
    F(int8, _mm256, epi8, __m256i) F(int16, _mm256, epi16, __m256i) F(int32, _mm256, epi32, __m256i) \
    F(uint8, _mm256, epu8, __m256i) F(uint16, _mm256, epu16, __m256i) F(uint32, _mm256, epu32, __m256i)
#define TSR_FAST_FLOAT(F) F(fp32, _mm256, ps, __m256) F(fp64, _mm256, pd, __m256d)
TSR_FOR_NARROW(TSR_INTRINSIC_BOTH)
TSR_COMPARE_BOTH(int64, 64)
TSR_COMPARE_BOTH(uint64, 64)
#elif defined(__SSE2__)
#define TSR_FAST_FLOAT(F) F(fp32, _mm, ps, __m128) F(fp64, _mm, pd, __m128d)
TSR_INTRINSIC_BOTH(uint8, _mm, epu8, __m128i)
TSR_INTRINSIC_BOTH(int16, _mm, epi16, __m128i)
TSR_COMPARE_BOTH(int8, 8)
TSR_COMPARE_BOTH(uint16, 16)
TSR_COMPARE_BOTH(int32, 32)
TSR_COMPARE_BOTH(uint32, 32)
TSR_COMPARE_BOTH(int64, 64)
TSR_COMPARE_BOTH(uint64, 64)
#else
#define TSR_FOR_ALL_INTEGERS_COMPARED(type, bits) TSR_COMPARE_BOTH(type, bits)
TSR_FOR_VECTOR_INTEGERS(TSR_FOR_ALL_INTEGERS_COMPARED)
#endif

#ifdef TSR_FAST_FLOAT
#define TSR_FAST_BOTH(type, prefix, suffix, cast) \
    TSR_INLINE tsr_v_##type tsr_fast_min_##type(tsr_v_##type sum, tsr_v_##type x) \
    { return (tsr_v_##type)prefix##_min_##suffix((cast)x, (cast)sum); } \
    TSR_INLINE tsr_v_##type tsr_fast_max_##type(tsr_v_##type sum, tsr_v_##type x) \
    { return (tsr_v_##type)prefix##_max_##suffix((cast)x, (cast)sum); }
TSR_FAST_FLOAT(TSR_FAST_BOTH)
#else
#define TSR_FAST_BOTH(type, bits) \
    TSR_INLINE tsr_v_##type tsr_fast_min_##type(tsr_v_##type sum, tsr_v_##type x) \
    { return tsr_blend_##type((tsr_m_##bits)(x < sum), x, sum); } \
    TSR_INLINE tsr_v_##type tsr_fast_max_##type(tsr_v_##type sum, tsr_v_##type x) \
    { return tsr_blend_##type((tsr_m_##bits)(x > sum), x, sum); }
TSR_FOR_VECTOR_FLOATS(TSR_FAST_BOTH)
#endif

/* fmin and fmax in full: a NaN on either side loses. */
#define TSR_VECTOR_FLOAT(type, bits) \
    TSR_INLINE tsr_v_##type tsr_vadd_min_##type(tsr_v_##type x, tsr_v_##type y) \
    { return tsr_blend_##type((tsr_m_##bits)(x != x), y, tsr_fast_min_##type(x, y)); } \
    TSR_INLINE tsr_v_##type tsr_vadd_max_##type(tsr_v_##type x, tsr_v_##type y) \
    { return tsr_blend_##type((tsr_m_##bits)(x != x), y, tsr_fast_max_##type(x, y)); }
TSR_FOR_VECTOR_FLOATS(TSR_VECTOR_FLOAT)

/* The first 16 bytes of a vector, for what is left of a row; the other lanes are zero. */
#if defined(__AVX512BW__) || defined(__AVX2__)
#define TSR_SMALL_BYTES 16
#if defined(__AVX512BW__)
#define TSR_WIDEN_SMALL _mm512_zextsi128_si512
#define TSR_NARROW_SMALL(v) _mm512_castsi512_si128((__m512i)(v))
#else
#define TSR_WIDEN_SMALL _mm256_zextsi128_si256
#define TSR_NARROW_SMALL(v) _mm256_castsi256_si128((__m256i)(v))
#endif
#define TSR_VECTOR_SMALL(type, bits) \
    TSR_INLINE tsr_v_##type tsr_load_small_##type(const tsr_c_##type *x) \
    { return (tsr_v_##type)TSR_WIDEN_SMALL(_mm_loadu_si128((const __m128i *)(const void *)x)); } \
    TSR_INLINE void tsr_store_small_##type(tsr_c_##type *x, tsr_v_##type v) \
    { _mm_storeu_si128((__m128i *)(void *)x, TSR_NARROW_SMALL(v)); }
TSR_FOR_VECTOR_INTEGERS(TSR_VECTOR_SMALL)
TSR_FOR_VECTOR_FLOATS(TSR_VECTOR_SMALL)
#endif

/* Lanes whose byte is nonzero, from one byte per lane. */
#define TSR_VECTOR_FLAGS(type, bits) \
    TSR_INLINE tsr_m_##bits tsr_flags_##type(const int8_t *b) \
    { \
        typedef int8_t bytes __attribute__((vector_size(TSR_VECTOR_BYTES / sizeof(tsr_c_##type)))); \
        bytes narrow; \
        memcpy(&narrow, b, sizeof narrow); \
        return __builtin_convertvector(narrow, tsr_m_##bits) != 0; \
    }
TSR_FOR_VECTOR_INTEGERS(TSR_VECTOR_FLAGS)
TSR_FOR_VECTOR_FLOATS(TSR_VECTOR_FLAGS)

#endif
