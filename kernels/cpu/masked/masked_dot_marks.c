/* Entries of a sparse vector that are marked, one bit for every value an index can take: of 2^18 columns all marks stay in the L1 cache.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/common/simd.h"

#include <stdbool.h>

int64_t TSR_NAME(tsr_md_count_marked)(const uint32_t *marks, const void *index, bool wide, int64_t begin, int64_t n);

/* Four counters: a single one would make every addition wait for the one before. */
#define COUNT(NAME, T)                                                                                \
    TSR_INLINE int64_t NAME(const uint32_t *restrict marks, const T *restrict index, int64_t n)       \
    {                                                                                                 \
        uint64_t c0 = 0, c1 = 0, c2 = 0, c3 = 0;                                                      \
        int64_t t = 0;                                                                                \
        for (; t + 4 <= n; t += 4) {                                                                  \
            c0 += marks[(uint64_t)index[t] / 32] >> index[t] % 32 & 1;                                \
            c1 += marks[(uint64_t)index[t + 1] / 32] >> index[t + 1] % 32 & 1;                        \
            c2 += marks[(uint64_t)index[t + 2] / 32] >> index[t + 2] % 32 & 1;                        \
            c3 += marks[(uint64_t)index[t + 3] / 32] >> index[t + 3] % 32 & 1;                        \
        }                                                                                             \
        for (; t < n; t++)                                                                            \
            c0 += marks[(uint64_t)index[t] / 32] >> index[t] % 32 & 1;                                \
        return (int64_t)(c0 + c1 + c2 + c3);                                                          \
    }

COUNT(count_wide, uint64_t)

#ifdef __AVX512F__
/* The bit of every index is turned to the lowest place of its word. */
TSR_INLINE int64_t hits(__m512i words, __m512i index)
{
    return __builtin_popcount(_mm512_test_epi32_mask(_mm512_rorv_epi32(words, index), _mm512_set1_epi32(1)));
}

TSR_INLINE int64_t count_narrow(const uint32_t *marks, const uint32_t *index, int64_t n)
{
    int64_t count = 0, t = 0;
    for (; t + 16 <= n; t += 16) {
        __m512i at = _mm512_loadu_si512(index + t);
        count += hits(_mm512_i32gather_epi32(_mm512_srli_epi32(at, 5), marks, 4), at);
    }
    if (t < n) {
        __mmask16 rest = (__mmask16)((1u << (n - t)) - 1);
        __m512i at = _mm512_maskz_loadu_epi32(rest, index + t);
        count += hits(_mm512_mask_i32gather_epi32(_mm512_setzero_si512(), rest, _mm512_srli_epi32(at, 5), marks, 4), at);
    }
    return count;
}
#else
COUNT(count_narrow, uint32_t)
#endif

int64_t TSR_NAME(tsr_md_count_marked)(const uint32_t *marks, const void *index, bool wide, int64_t begin, int64_t n)
{
    return wide ? count_wide(marks, (const uint64_t *)index + begin, n) : count_narrow(marks, (const uint32_t *)index + begin, n);
}
