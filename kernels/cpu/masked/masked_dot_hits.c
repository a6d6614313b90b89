/* Where two ascending lists have indices in common, eight of one compared with eight of the other at once.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/masked/masked_dot_short.h"
#include "kernels/cpu/masked/masked_dot_block.h"

#ifdef __AVX512CD__
/* Each of b's lanes is told which lanes before it, of a's, it equals. */
TSR_INLINE int64_t note(tsr_md_hits *out, int64_t count, block a, block b, int64_t nb, int64_t a_first, int64_t b_first)
{
    const __m512i before = _mm512_conflict_epi32(_mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1));
    const __m256i of_a = _mm256_and_si256(_mm512_extracti64x4_epi64(before, 1), _mm256_set1_epi32(0xff));
    const __mmask8 hits = _mm256_mask_test_epi32_mask(first_lanes(nb), of_a, of_a);
    const __m256i lane = _mm256_sub_epi32(_mm256_set1_epi32(31 + (int)a_first), _mm256_lzcnt_epi32(of_a));
    const __m256i place = _mm256_add_epi32(_mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0), _mm256_set1_epi32((int)b_first));
    _mm512_storeu_si512(out->index + count, _mm512_cvtepu32_epi64(_mm256_maskz_compress_epi32(hits, lane)));
    _mm256_storeu_si256((__m256i *)(out->place + count), _mm256_maskz_compress_epi32(hits, place));
    return count + __builtin_popcount(hits);
}
#else
#ifdef __AVX2__
TSR_INLINE unsigned equal_lanes(block y, block x, int k)
{
    const block all = _mm256_permutevar8x32_epi32(x, _mm256_set1_epi32(k));
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(all, y)));
}
#else
TSR_INLINE unsigned equal_lanes(block y, block x, int k)
{
    unsigned bits = 0;
    for (int lane = 0; lane < LANES; lane++)
        bits |= (unsigned)(y.index[lane] == x.index[k]) << lane;
    return bits;
}
#endif

/* The k-th entry of a in common is the k-th of b. */
TSR_INLINE int64_t note(tsr_md_hits *out, int64_t count, block a, block b, int64_t nb, int64_t a_first, int64_t b_first)
{
    const unsigned some = nb < LANES ? (1u << nb) - 1 : 0xff;
    unsigned of_a = 0, of_b = 0;
    TSR_UNROLL(8)
    for (int k = 0; k < LANES; k++) {
        const unsigned at = equal_lanes(b, a, k) & some;
        of_a |= (unsigned)(at != 0) << k;
        of_b |= at;
    }
    for (; of_a; count++) {
        out->index[count] = a_first + __builtin_ctz(of_a);
        out->place[count] = (uint32_t)(b_first + __builtin_ctz(of_b));
        of_a &= of_a - 1;
        of_b &= of_b - 1;
    }
    return count;
}
#endif

/* `wanted` of them: what follows need not be read. */
#define HITS(NAME, T, LOAD)                                                                                        \
    static void NAME(tsr_md_hits *out, const T *a, int64_t na, const T *b, int64_t nb, int64_t wanted)             \
    {                                                                                                              \
        for (int64_t s = 0, t = 0, count = 0; count < wanted && s < na && t < nb;) {                               \
            const int64_t some = na - s < LANES ? na - s : LANES, others = nb - t < LANES ? nb - t : LANES;        \
            count = note(out, count, LOAD(a + s, some), LOAD(b + t, others), others, s, t);                        \
            const T a_last = a[s + some - 1], b_last = b[t + others - 1];                                          \
            s += a_last <= b_last ? LANES : 0;                                                                     \
            t += b_last <= a_last ? LANES : 0;                                                                     \
        }                                                                                                          \
    }
HITS(hits_wide, int64_t, load_wide)
HITS(hits_narrow, uint32_t, load_narrow)

void TSR_NAME(tsr_md_find_hits)(tsr_md_hits *out, const void *a, int64_t na, const void *b, int64_t nb, bool wide, int64_t wanted)
{
    if (wide)
        hits_wide(out, a, na, b, nb, wanted);
    else
        hits_narrow(out, a, na, b, nb, wanted);
}
