/* Eight indices of a list in one vector, for pairs of short lists (masked_dot_short.c, masked_dot_hits.c).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_MASKED_DOT_BLOCK_H
#define TSR_CPU_MASKED_DOT_BLOCK_H

#include "kernels/cpu/common/simd.h"

enum {
    LANES = 8,
    NONE = -1 /* stands behind the end of a list; no index */
};

#ifdef __AVX2__
typedef __m256i block;

#ifdef __AVX512VL__
TSR_INLINE __mmask8 first_lanes(int64_t n)
{
    return n < LANES ? (__mmask8)((1u << n) - 1) : 0xff;
}

TSR_INLINE block load_wide(const int64_t *list, int64_t n)
{
    return _mm512_cvtepi64_epi32(_mm512_mask_loadu_epi64(_mm512_set1_epi64(NONE), first_lanes(n), list));
}

TSR_INLINE block load_narrow(const uint32_t *list, int64_t n)
{
    return _mm256_mask_loadu_epi32(_mm256_set1_epi32(NONE), first_lanes(n), list);
}
#else
/* Read from LANES - n on: n lanes that are set. */
static const int32_t lanes[2 * LANES] = {-1, -1, -1, -1, -1, -1, -1, -1};

TSR_INLINE block first_lanes(int64_t n)
{
    return _mm256_loadu_si256((const block *)(lanes + LANES - (n < LANES ? n : LANES)));
}

TSR_INLINE block load_narrow(const uint32_t *list, int64_t n)
{
    const block set = first_lanes(n);
    return _mm256_or_si256(_mm256_maskload_epi32((const int *)list, set), _mm256_andnot_si256(set, _mm256_set1_epi32(NONE)));
}

TSR_INLINE block half_wide(const int64_t *list, __m128i lanes_set)
{
    const block set = _mm256_cvtepi32_epi64(lanes_set);
    return _mm256_or_si256(_mm256_maskload_epi64((const long long *)list, set), _mm256_andnot_si256(set, _mm256_set1_epi64x(NONE)));
}

TSR_INLINE block load_wide(const int64_t *list, int64_t n)
{
    const block set = first_lanes(n), low = half_wide(list, _mm256_castsi256_si128(set));
    const block high = half_wide(list + LANES / 2, _mm256_extracti128_si256(set, 1));
    const __m256 halves = _mm256_shuffle_ps(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high), 0x88);
    return _mm256_permute4x64_epi64(_mm256_castps_si256(halves), 0xd8);
}
#endif
#else
typedef struct block {
    uint32_t index[LANES];
} block;

#define LOAD(NAME, T)                                         \
    TSR_INLINE block NAME(const T *list, int64_t n)           \
    {                                                         \
        block y;                                              \
        for (int64_t k = 0; k < LANES; k++)                   \
            y.index[k] = k < n ? (uint32_t)list[k] : (uint32_t)NONE; \
        return y;                                             \
    }
LOAD(load_wide, int64_t)
LOAD(load_narrow, uint32_t)
#endif

#endif
