/* Dot products of contiguous vectors: explicit vectors, several accumulators.  Compiled once per instruction set.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/sddmm/sddmm_dots.h"
#include "kernels/cpu/common/simd.h"

/* As a macro, bool would be expanded before it is pasted into a name. */
#undef bool
typedef _Bool bool;

#define DOT(add, mul, type) dot_##add##_##mul##_##type
#define DOTS(add, mul, type) dots_##add##_##mul##_##type

#define MANY(add, mul, type)                                                                                  \
    static void DOTS(add, mul, type)(void *out, const void *a, const void *const *b, int64_t n, int64_t k)    \
    {                                                                                                         \
        for (int64_t j = 0; j < n; j++)                                                                       \
            ((tsr_c_##type *)out)[j] = DOT(add, mul, type)(a, b[j], k);                                       \
    }

/* PLUS, MIN, MAX, LOR over numbers: two vectors of partial results. */
#define VECTOR_DOT(add, mul, type)                                                                            \
    static tsr_c_##type DOT(add, mul, type)(const tsr_c_##type *a, const tsr_c_##type *b, int64_t k)          \
    {                                                                                                         \
        enum { LANES = TSR_VECTOR_BYTES / (int)sizeof(tsr_c_##type) };                                        \
        tsr_c_##type part[LANES], sum = tsr_identity_##add##_##type();                                        \
        int64_t t = 0;                                                                                        \
        if (k >= LANES) {                                                                                     \
            tsr_v_##type s0 = tsr_splat_##type(sum), s1 = s0;                                                 \
            for (; t + 2 * LANES <= k; t += 2 * LANES) {                                                      \
                s0 = tsr_vadd_##add##_##type(s0, tsr_vmul_##mul##_##type(tsr_load_##type(a + t),              \
                                                                         tsr_load_##type(b + t)));            \
                s1 = tsr_vadd_##add##_##type(s1, tsr_vmul_##mul##_##type(tsr_load_##type(a + t + LANES),      \
                                                                         tsr_load_##type(b + t + LANES)));    \
            }                                                                                                 \
            for (; t + LANES <= k; t += LANES)                                                                \
                s0 = tsr_vadd_##add##_##type(s0, tsr_vmul_##mul##_##type(tsr_load_##type(a + t),              \
                                                                         tsr_load_##type(b + t)));            \
            tsr_store_##type(part, tsr_vadd_##add##_##type(s0, s1));                                          \
            for (int lane = 0; lane < LANES; lane++)                                                          \
                sum = tsr_add_##add##_##type(sum, part[lane]);                                                \
        }                                                                                                     \
        for (; t < k; t++)                                                                                    \
            sum = tsr_add_##add##_##type(sum, tsr_mul_##mul##_##type(a[t], b[t]));                            \
        return sum;                                                                                           \
    }                                                                                                         \
    MANY(add, mul, type)

#define SCALAR_DOT(add, mul, type)                                                                            \
    static tsr_c_##type DOT(add, mul, type)(const tsr_c_##type *a, const tsr_c_##type *b, int64_t k)          \
    {                                                                                                         \
        tsr_c_##type sum = tsr_identity_##add##_##type();                                                     \
        for (int64_t t = 0; t < k; t++)                                                                       \
            sum = tsr_add_##add##_##type(sum, tsr_mul_##mul##_##type(a[t], b[t]));                            \
        return sum;                                                                                           \
    }                                                                                                         \
    MANY(add, mul, type)

/* ANY takes the first product. */
#define ANY_DOT(add, mul, type)                                                                               \
    static tsr_c_##type DOT(any, mul, type)(const tsr_c_##type *a, const tsr_c_##type *b, int64_t k)          \
    {                                                                                                         \
        (void)k;                                                                                              \
        return tsr_mul_##mul##_##type(a[0], b[0]);                                                            \
    }                                                                                                         \
    MANY(any, mul, type)

#define MULS(F, add, type) \
    F(add, times, type) F(add, first, type) F(add, second, type) F(add, plus, type) F(add, and, type)

/* Four results at a time over floating point: the four share every load of a, and their lanes are summed together. */
#define FOUR(type, SUM4)                                                                                      \
    static void four_##type(tsr_c_##type *out, const tsr_c_##type *a, const void *const *b, int64_t k)        \
    {                                                                                                         \
        enum { LANES = TSR_VECTOR_BYTES / (int)sizeof(tsr_c_##type) };                                        \
        const tsr_c_##type *b0 = b[0], *b1 = b[1], *b2 = b[2], *b3 = b[3];                                    \
        const tsr_v_##type zero = tsr_splat_##type((tsr_c_##type)-0.0);                                       \
        tsr_v_##type s0 = zero, s1 = zero, s2 = zero, s3 = zero, r0 = zero, r1 = zero, r2 = zero, r3 = zero;  \
        int64_t t = 0;                                                                                        \
        for (; t + 2 * LANES <= k; t += 2 * LANES) {                                                          \
            tsr_v_##type x = tsr_load_##type(a + t), y = tsr_load_##type(a + t + LANES);                      \
            s0 = x * tsr_load_##type(b0 + t) + s0;                                                            \
            s1 = x * tsr_load_##type(b1 + t) + s1;                                                            \
            s2 = x * tsr_load_##type(b2 + t) + s2;                                                            \
            s3 = x * tsr_load_##type(b3 + t) + s3;                                                            \
            r0 = y * tsr_load_##type(b0 + t + LANES) + r0;                                                    \
            r1 = y * tsr_load_##type(b1 + t + LANES) + r1;                                                    \
            r2 = y * tsr_load_##type(b2 + t + LANES) + r2;                                                    \
            r3 = y * tsr_load_##type(b3 + t + LANES) + r3;                                                    \
        }                                                                                                     \
        for (; t + LANES <= k; t += LANES) {                                                                  \
            tsr_v_##type x = tsr_load_##type(a + t);                                                          \
            s0 = x * tsr_load_##type(b0 + t) + s0;                                                            \
            s1 = x * tsr_load_##type(b1 + t) + s1;                                                            \
            s2 = x * tsr_load_##type(b2 + t) + s2;                                                            \
            s3 = x * tsr_load_##type(b3 + t) + s3;                                                            \
        }                                                                                                     \
        tsr_c_##type sums[4];                                                                                 \
        SUM4(sums, s0 + r0, s1 + r1, s2 + r2, s3 + r3);                                                       \
        for (int j = 0; j < 4; j++) {                                                                         \
            const tsr_c_##type *bj = b[j];                                                                    \
            tsr_c_##type sum = sums[j];                                                                       \
            for (int64_t u = t; u < k; u++)                                                                   \
                sum += a[u] * bj[u];                                                                          \
            out[j] = sum;                                                                                     \
        }                                                                                                     \
    }                                                                                                         \
    static void DOTS(plus, times, type)(void *out, const void *a, const void *const *b, int64_t n, int64_t k) \
    {                                                                                                         \
        tsr_c_##type *x = out, rest[4];                                                                       \
        int64_t j = 0;                                                                                        \
        for (; j + 4 <= n; j += 4)                                                                            \
            four_##type(x + j, a, b + j, k);                                                                  \
        if (j == n)                                                                                           \
            return;                                                                                           \
        const void *last[4];                                                                                  \
        for (int l = 0; l < 4; l++)                                                                           \
            last[l] = b[j + l < n ? j + l : j];                                                               \
        four_##type(rest, a, last, k);                                                                        \
        for (int l = 0; j + l < n; l++)                                                                       \
            x[j + l] = rest[l];                                                                               \
    }

#if defined(__AVX2__)
#if defined(__AVX512BW__)
#define HALVES_PS(v) _mm256_add_ps(_mm512_castps512_ps256((__m512)(v)), _mm512_extractf32x8_ps((__m512)(v), 1))
#define HALVES_PD(v) _mm256_add_pd(_mm512_castpd512_pd256((__m512d)(v)), _mm512_extractf64x4_pd((__m512d)(v), 1))
#else
#define HALVES_PS(v) (__m256)(v)
#define HALVES_PD(v) (__m256d)(v)
#endif
TSR_INLINE void sum4_fp32(float *out, tsr_v_fp32 s0, tsr_v_fp32 s1, tsr_v_fp32 s2, tsr_v_fp32 s3)
{
    __m256 s01 = _mm256_hadd_ps(HALVES_PS(s0), HALVES_PS(s1)), s23 = _mm256_hadd_ps(HALVES_PS(s2), HALVES_PS(s3));
    __m256 s = _mm256_hadd_ps(s01, s23);
    _mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1)));
}

TSR_INLINE void sum4_fp64(double *out, tsr_v_fp64 s0, tsr_v_fp64 s1, tsr_v_fp64 s2, tsr_v_fp64 s3)
{
    __m256d s01 = _mm256_hadd_pd(HALVES_PD(s0), HALVES_PD(s1)), s23 = _mm256_hadd_pd(HALVES_PD(s2), HALVES_PD(s3));
    __m256d low = _mm256_permute2f128_pd(s01, s23, 0x20), high = _mm256_permute2f128_pd(s01, s23, 0x31);
    _mm256_storeu_pd(out, _mm256_add_pd(low, high));
}
#else
#define SUM4(type)                                                                                            \
    TSR_INLINE tsr_c_##type lanes_##type(tsr_v_##type v)                                                      \
    {                                                                                                         \
        enum { LANES = TSR_VECTOR_BYTES / (int)sizeof(tsr_c_##type) };                                        \
        tsr_c_##type sum = v[0];                                                                              \
        for (int lane = 1; lane < LANES; lane++)                                                              \
            sum += v[lane];                                                                                   \
        return sum;                                                                                           \
    }                                                                                                         \
    TSR_INLINE void sum4_##type(tsr_c_##type *out, tsr_v_##type s0, tsr_v_##type s1, tsr_v_##type s2,         \
                                tsr_v_##type s3)                                                              \
    {                                                                                                         \
        out[0] = lanes_##type(s0);                                                                            \
        out[1] = lanes_##type(s1);                                                                            \
        out[2] = lanes_##type(s2);                                                                            \
        out[3] = lanes_##type(s3);                                                                            \
    }
SUM4(fp32)
SUM4(fp64)
#endif

#define WITHOUT_PLUS(type) \
    MULS(VECTOR_DOT, min, type) MULS(VECTOR_DOT, max, type) MULS(VECTOR_DOT, lor, type) MULS(ANY_DOT, any, type)
#define INTEGER(type, wide) MULS(VECTOR_DOT, plus, type) WITHOUT_PLUS(type)
#define FLOATING(type, wide)     \
    FOUR(type, sum4_##type)      \
    VECTOR_DOT(plus, first, type) \
    VECTOR_DOT(plus, second, type) \
    VECTOR_DOT(plus, plus, type) \
    VECTOR_DOT(plus, and, type)  \
    WITHOUT_PLUS(type)

TSR_FOR_INTEGERS(INTEGER)
TSR_FOR_FLOATS(FLOATING)
MULS(ANY_DOT, any, bool)
MULS(SCALAR_DOT, lor, bool)

/* PAIR never comes here: its result is known without looking. */
#define ROW(add, type)                                                                                        \
    {                                                                                                         \
        [TSR_MUL_TIMES] = DOTS(add, times, type), [TSR_MUL_FIRST] = DOTS(add, first, type),                   \
        [TSR_MUL_SECOND] = DOTS(add, second, type), [TSR_MUL_PLUS] = DOTS(add, plus, type),                   \
        [TSR_MUL_AND] = DOTS(add, and, type)                                                                  \
    }
#define TABLE(type)                                                                                           \
    {                                                                                                         \
        [TSR_ADD_PLUS] = ROW(plus, type), [TSR_ADD_MIN] = ROW(min, type), [TSR_ADD_MAX] = ROW(max, type),     \
        [TSR_ADD_ANY] = ROW(any, type), [TSR_ADD_LOR] = ROW(lor, type)                                        \
    }

const tsr_sddmm_table TSR_NAME(tsr_sddmm_table) = {.dots = {
    [TSR_BOOL] = {[TSR_ADD_ANY] = ROW(any, bool), [TSR_ADD_LOR] = ROW(lor, bool)},
    [TSR_INT8] = TABLE(int8), [TSR_INT16] = TABLE(int16), [TSR_INT32] = TABLE(int32), [TSR_INT64] = TABLE(int64),
    [TSR_UINT8] = TABLE(uint8), [TSR_UINT16] = TABLE(uint16), [TSR_UINT32] = TABLE(uint32),
    [TSR_UINT64] = TABLE(uint64), [TSR_FP32] = TABLE(fp32), [TSR_FP64] = TABLE(fp64)}};
