/* SpMV by row with gathers: a row of at least GATHERED entries takes x by vectors, a shorter one by four scalars at once.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/spmv/dots.h"
#include "kernels/cpu/spmv/spmv_kernels.h"

#if TSR_VECTOR_BYTES > 16

enum { GATHERED = 12 };

/* Entries [e, e + left) of an array, up to a vector of them; the other lanes are those of `none`, or zero. */
#if TSR_VECTOR_BYTES == 64
typedef __m512i vector;
#define FIRST_32(left) ((__mmask16)((1u << (left)) - 1))
#define FIRST_64(left) ((__mmask8)((1u << (left)) - 1))
#define INDICES_32(i) _mm512_loadu_si512(i)
#define INDICES_64(i) _mm256_loadu_si256((const __m256i *)(const void *)(i))
#define FIRST_INDICES_32(i, left) _mm512_maskz_loadu_epi32(FIRST_32(left), i)
#define FIRST_INDICES_64(i, left) _mm256_maskz_loadu_epi32(FIRST_64(left), i)
#define GATHER_32(x, at) _mm512_i32gather_epi32(at, x, 4)
#define GATHER_64(x, at) _mm512_i32gather_epi64(at, x, 8)
#define GATHER_FIRST_32(none, x, at, left) _mm512_mask_i32gather_epi32(none, FIRST_32(left), at, x, 4)
#define GATHER_FIRST_64(none, x, at, left) _mm512_mask_i32gather_epi64(none, FIRST_64(left), at, x, 8)
#define LOAD_FIRST_32(a, left) _mm512_maskz_loadu_epi32(FIRST_32(left), a)
#define LOAD_FIRST_64(a, left) _mm512_maskz_loadu_epi64(FIRST_64(left), a)
#else
typedef __m256i vector;
#define FIRST_32(left) _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(left)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
#define FIRST_64(left) _mm256_cmpgt_epi64(_mm256_set1_epi64x(left), _mm256_setr_epi64x(0, 1, 2, 3))
#define FIRST_HALF(left) _mm_cmpgt_epi32(_mm_set1_epi32((int)(left)), _mm_setr_epi32(0, 1, 2, 3))
#define INDICES_32(i) _mm256_loadu_si256((const __m256i *)(const void *)(i))
#define INDICES_64(i) _mm_loadu_si128((const __m128i *)(const void *)(i))
#define FIRST_INDICES_32(i, left) _mm256_maskload_epi32((const int *)(const void *)(i), FIRST_32(left))
#define FIRST_INDICES_64(i, left) _mm_maskload_epi32((const int *)(const void *)(i), FIRST_HALF(left))
#define GATHER_32(x, at) _mm256_i32gather_epi32(x, at, 4)
#define GATHER_64(x, at) _mm256_i32gather_epi64((const long long *)(x), at, 8)
#define GATHER_FIRST_32(none, x, at, left) _mm256_mask_i32gather_epi32(none, x, at, FIRST_32(left), 4)
#define GATHER_FIRST_64(none, x, at, left) _mm256_mask_i32gather_epi64(none, (const long long *)(x), at, FIRST_64(left), 8)
#define LOAD_FIRST_32(a, left) _mm256_maskload_epi32((const int *)(const void *)(a), FIRST_32(left))
#define LOAD_FIRST_64(a, left) _mm256_maskload_epi64((const long long *)(const void *)(a), FIRST_64(left))
#endif

#define VFAST_plus(type, x, y) tsr_vadd_plus_##type(x, y)
#define VFAST_min(type, x, y) TSR_PASTE(VMIN, type)(x, y)
#define VFAST_max(type, x, y) TSR_PASTE(VMAX, type)(x, y)
#define VMIN_int32 tsr_vadd_min_int32
#define VMIN_int64 tsr_vadd_min_int64
#define VMIN_uint32 tsr_vadd_min_uint32
#define VMIN_uint64 tsr_vadd_min_uint64
#define VMIN_fp32 tsr_fast_min_fp32
#define VMIN_fp64 tsr_fast_min_fp64
#define VMAX_int32 tsr_vadd_max_int32
#define VMAX_int64 tsr_vadd_max_int64
#define VMAX_uint32 tsr_vadd_max_uint32
#define VMAX_uint64 tsr_vadd_max_uint64
#define VMAX_fp32 tsr_fast_max_fp32
#define VMAX_fp64 tsr_fast_max_fp64

#define READS_A_second false
#define READS_A_times true
#define READS_A_plus true

#define TERM(type, mul, e) tsr_mul_##mul##_##type(a[(e) * a_step], x[i[e]])

/* A vector of terms; of the last ones, lanes beyond are `start`. */
#define TERMS(type, bits, mul) \
    TSR_INLINE tsr_v_##type TSR_PASTE3(terms, mul, type)(const tsr_c_##type *a, int64_t a_step, const tsr_c_##type *x, const uint32_t *i) \
    { \
        const tsr_v_##type v = (tsr_v_##type)GATHER_##bits((const void *)x, INDICES_##bits(i)); \
        return tsr_vmul_##mul##_##type(!READS_A_##mul || !a_step ? tsr_splat_##type(*a) : tsr_load_##type(a), v); \
    } \
    TSR_INLINE tsr_v_##type TSR_PASTE3(first_terms, mul, type)(const tsr_c_##type *a, int64_t a_step, const tsr_c_##type *x, \
                                                              const uint32_t *i, int64_t left, tsr_v_##type start) \
    { \
        const vector none = (vector)start; \
        const tsr_v_##type v = (tsr_v_##type)GATHER_FIRST_##bits(none, (const void *)x, FIRST_INDICES_##bits(i, left), left); \
        if (!READS_A_##mul) \
            return v; \
        const tsr_v_##type f = a_step ? (tsr_v_##type)LOAD_FIRST_##bits(a, left) : tsr_splat_##type(*a); \
        return tsr_blend_##type((tsr_m_##bits)WHERE_##bits(left), tsr_vmul_##mul##_##type(f, v), start); \
    }
#define WHERE_32(left) (LANE_NUMBERS_32 < (int32_t)(left))
#define WHERE_64(left) (LANE_NUMBERS_64 < (int64_t)(left))
#if TSR_VECTOR_BYTES == 64
#define LANE_NUMBERS_32 ((tsr_m_32){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
#define LANE_NUMBERS_64 ((tsr_m_64){0, 1, 2, 3, 4, 5, 6, 7})
#else
#define LANE_NUMBERS_32 ((tsr_m_32){0, 1, 2, 3, 4, 5, 6, 7})
#define LANE_NUMBERS_64 ((tsr_m_64){0, 1, 2, 3})
#endif

#define FOLD(type, add) \
    TSR_INLINE tsr_c_##type TSR_PASTE3(fold, add, type)(tsr_v_##type v) \
    { \
        tsr_c_##type lane[TSR_LANES(type)]; \
        tsr_store_##type(lane, v); \
        for (int64_t half = TSR_LANES(type) / 2; half; half /= 2) \
            for (int64_t k = 0; k < half; k++) \
                lane[k] = FAST_##add(type, lane[k], lane[k + half]); \
        return lane[0]; \
    }

#define DOT(type, bits, add, mul) \
    TSR_INLINE tsr_c_##type TSR_PASTE4(long_dot, add, mul, type)(const tsr_c_##type *a, int64_t a_step, const tsr_c_##type *x, const uint32_t *i, \
                                                              int64_t e, int64_t hi) \
    { \
        const tsr_v_##type start = tsr_splat_##type(START_##add(type)); \
        tsr_v_##type sum = start; \
        for (; e + TSR_LANES(type) <= hi; e += TSR_LANES(type)) \
            sum = VFAST_##add(type, sum, TSR_PASTE3(terms, mul, type)(a + e * a_step, a_step, x, i + e)); \
        if (e < hi) \
            sum = VFAST_##add(type, sum, TSR_PASTE3(first_terms, mul, type)(a + e * a_step, a_step, x, i + e, hi - e, start)); \
        return TSR_PASTE3(fold, add, type)(sum); \
    } \
    TSR_INLINE tsr_c_##type TSR_PASTE4(short_dot, add, mul, type)(const tsr_c_##type *a, int64_t a_step, const tsr_c_##type *x, const uint32_t *i, \
                                                              int64_t e, int64_t hi) \
    { \
        SUM_BY_FOUR(type, add, mul) \
        return sum; \
    } \
    static __attribute__((noinline)) bool TSR_PASTE4(all_nan, add, mul, type)(const tsr_spmv_job *job, int64_t e, int64_t hi) \
    { \
        const uint32_t *i = job->i; \
        const tsr_c_##type *a = job->a, *x = job->x; \
        const int64_t a_step = job->a_step; \
        bool all = true; \
        for (; all && e < hi; e++) { \
            const tsr_c_##type term = TERM(type, mul, e); \
            all = term != term; \
        } \
        return all; \
    } \
    static void TSR_PASTE4(rows, add, mul, type)(const tsr_spmv_job *job) \
    { \
        const int64_t *p = job->p, *h = job->h; \
        const uint32_t *i = job->i; \
        const tsr_c_##type *a = job->a, *x = job->x, *c = job->c; \
        const int64_t a_step = READS_A_##mul ? job->a_step : 0, last = job->last, c_mask = job->c_mask; \
        tsr_c_##type *y = job->y; \
        int8_t *yb = job->yb; \
        for (int64_t r = job->first; r < last; r++) { \
            const int64_t lo = p[r], hi = p[r + 1], row = h ? h[r] : r; \
            tsr_c_##type sum = hi - lo >= GATHERED ? TSR_PASTE4(long_dot, add, mul, type)(a, a_step, x, i, lo, hi) \
                                                   : TSR_PASTE4(short_dot, add, mul, type)(a, a_step, x, i, lo, hi); \
            if (REPAIRS_##add(type) && sum == START_##add(type) && TSR_PASTE4(all_nan, add, mul, type)(job, lo, hi)) \
                sum = tsr_identity_##add##_##type(); \
            y[row] = c ? tsr_add_##add##_##type(c[row & c_mask], sum) : sum; \
            if (yb) \
                yb[row] = hi > lo; \
        } \
    }

#define FOR_TYPES(F) F(int32, 32) F(int64, 64) F(uint32, 32) F(uint64, 64) F(fp32, 32) F(fp64, 64)
#define ALL_TERMS(type, bits) TERMS(type, bits, second) TERMS(type, bits, times) TERMS(type, bits, plus)
FOR_TYPES(ALL_TERMS)

#define FOR_SUMS(F) \
    F(UINT32, uint32, 32, PLUS, plus) F(UINT64, uint64, 64, PLUS, plus) F(FP32, fp32, 32, PLUS, plus) F(FP64, fp64, 64, PLUS, plus)
#define FOR_ENDS(F, ADD, add) \
    F(INT32, int32, 32, ADD, add) F(INT64, int64, 64, ADD, add) F(UINT32, uint32, 32, ADD, add) F(UINT64, uint64, 64, ADD, add) \
    F(FP32, fp32, 32, ADD, add) F(FP64, fp64, 64, ADD, add)
#define FOR_MONOIDS(F) FOR_SUMS(F) FOR_ENDS(F, MIN, min) FOR_ENDS(F, MAX, max)

#define DOTS(TYPE, type, bits, ADD, add) \
    FOLD(type, add) DOT(type, bits, add, second) DOT(type, bits, add, times) DOT(type, bits, add, plus)
FOR_MONOIDS(DOTS)

#define CASE(TYPE, type, ADD, add, MUL, mul) \
    case TSR_SEMIRING(TSR_##TYPE, TSR_ADD_##ADD, TSR_MUL_##MUL): return TSR_PASTE4(rows, add, mul, type);
#define CASES(TYPE, type, bits, ADD, add) \
    CASE(TYPE, type, ADD, add, SECOND, second) CASE(TYPE, type, ADD, add, TIMES, times) CASE(TYPE, type, ADD, add, PLUS, plus)

tsr_spmv_fn TSR_NAME(tsr_spmv_gathered)(tsr_semiring s)
{
    switch (TSR_SEMIRING(s.type, s.add, s.mul)) {
    FOR_MONOIDS(CASES)
    default: return NULL;
    }
}

#else

tsr_spmv_fn TSR_NAME(tsr_spmv_gathered)(tsr_semiring s)
{
    (void)s;
    return NULL;
}

#endif
