/* How many indices pairs of short ascending lists have in common: eight of one list are compared with eight of the other at once, whatever they
 * hold, and pairs follow each other without regard to rows, so that no branch depends on lists or rows (after blocks in Schlegel, Willhalm, Lehner,
 * ADMS 2011).
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/masked/masked_dot_short.h"
#include "kernels/cpu/masked/masked_dot_block.h"
#include "src/base/types.h"

enum { AHEAD = 64, NEAR = 32 }; /* entries of the mask whose offsets, and whose lists, are prefetched */

/* ---- eight with eight ---- */

TSR_INLINE const void *entry_at(const void *list, const bool wide, int64_t k)
{
    return (const char *)list + (size_t)k * (wide ? sizeof(int64_t) : sizeof(uint32_t));
}

/* Of the first eight of each list.  whole: as many can be read of both. */
#if defined(__AVX512BW__)
static const uint64_t first_of_each[LANES + 1] = {0,
                                                  UINT64_C(0x0101010101010101),
                                                  UINT64_C(0x0303030303030303),
                                                  UINT64_C(0x0707070707070707),
                                                  UINT64_C(0x0f0f0f0f0f0f0f0f),
                                                  UINT64_C(0x1f1f1f1f1f1f1f1f),
                                                  UINT64_C(0x3f3f3f3f3f3f3f3f),
                                                  UINT64_C(0x7f7f7f7f7f7f7f7f),
                                                  UINT64_C(0xffffffffffffffff)};

/* Lanes of 64 bits or of 32, as the list has them: loads of some take several times as long as of all (Zen 5). */
TSR_INLINE __m512i load(const void *list, int64_t n, const bool wide, bool whole)
{
    if (wide)
        return whole ? _mm512_loadu_si512(list) : _mm512_maskz_loadu_epi64(first_lanes(n), list);
    return _mm512_castsi256_si512(whole ? _mm256_loadu_si256(list) : _mm256_maskz_loadu_epi32(first_lanes(n), list));
}

/* Eight times lane k of b, eight times the next one; to be compared with all of a, twice. */
TSR_INLINE __mmask16 equal(__m512i twice, __m512i b, int k, const int step)
{
    const int x = k * step, y = x + step;
    return _mm512_cmpeq_epi32_mask(twice, _mm512_permutexvar_epi32(_mm512_setr_epi32(x, x, x, x, x, x, x, x, y, y, y, y, y, y, y, y), b));
}

TSR_INLINE int64_t common(const void *a, int64_t na, const void *b, int64_t nb, const bool wide, bool whole)
{
    const int s = wide ? 2 : 1; /* 32-bit lanes from one index to the next */
    const __m512i from = load(b, nb, wide, whole), order = _mm512_setr_epi32(0, s, 2 * s, 3 * s, 4 * s, 5 * s, 6 * s, 7 * s, 0, s, 2 * s, 3 * s, 4 * s, 5 * s, 6 * s, 7 * s);
    const __m512i twice = _mm512_permutexvar_epi32(order, load(a, na, wide, whole));
    const __mmask32 low = _mm512_kunpackw(equal(twice, from, 2, s), equal(twice, from, 0, s));
    const __mmask32 high = _mm512_kunpackw(equal(twice, from, 6, s), equal(twice, from, 4, s));
    const uint64_t hits = _cvtmask64_u64(_mm512_kunpackd(high, low));
    return __builtin_popcountll(hits & _bzhi_u64(first_of_each[na < LANES ? na : LANES], (uint32_t)(LANES * (nb < LANES ? nb : LANES))));
}
#elif defined(__AVX2__)
TSR_INLINE int64_t common(const void *a, int64_t na, const void *b, int64_t nb, const bool wide, bool whole)
{
    (void)whole;
    const block x = wide ? load_wide(a, na) : load_narrow(a, na), y = wide ? load_wide(b, nb) : load_narrow(b, nb);
    block hits = _mm256_setzero_si256();
    TSR_UNROLL(8)
    for (int k = 0; k < LANES; k++)
        hits = _mm256_or_si256(hits, _mm256_cmpeq_epi32(x, _mm256_permutevar8x32_epi32(y, _mm256_set1_epi32(k))));
    const unsigned lanes_of_a = na < LANES ? (1u << na) - 1 : 0xff; /* the others may be what stands behind the end of b */
    return __builtin_popcount((unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(hits)) & lanes_of_a);
}
#else
TSR_INLINE int64_t common(const void *a, int64_t na, const void *b, int64_t nb, const bool wide, bool whole)
{
    (void)whole;
    int64_t count = 0;
    for (int64_t s = 0; s < na && s < LANES; s++)
        for (int64_t t = 0; t < nb && t < LANES; t++)
            count += tsr_offset(a, !wide, s) == tsr_offset(b, !wide, t);
    return count;
}
#endif

/* ---- pairs ---- */

/* Of any length: blocks are left behind whose last index is not above that of the other. */
TSR_INLINE int64_t common_of_long(const void *a, int64_t na, const void *b, int64_t nb, const bool wide)
{
    int64_t count = 0;
    for (int64_t s = 0, t = 0; s < na && t < nb;) {
        const int64_t some = na - s < LANES ? na - s : LANES, others = nb - t < LANES ? nb - t : LANES;
        const int64_t a_last = tsr_offset(a, !wide, s + some - 1), b_last = tsr_offset(b, !wide, t + others - 1);
        count += common(entry_at(a, wide, s), some, entry_at(b, wide, t), others, wide, some + others == 2 * LANES);
        s += a_last <= b_last ? LANES : 0;
        t += b_last <= a_last ? LANES : 0;
    }
    return count;
}

static int64_t count_long_wide(const void *a, int64_t na, const void *b, int64_t nb)
{
    return common_of_long(a, na, b, nb, true);
}

static int64_t count_long_narrow(const void *a, int64_t na, const void *b, int64_t nb)
{
    return common_of_long(a, na, b, nb, false);
}

/* The row of each entry of the mask in [begin, end), the first in the stored row v; by LANES, over what the next row overwrites. */
TSR_INLINE void spread_rows(int32_t *rows, const tsr_md_short *s, int64_t v, int64_t begin, int64_t end, const bool narrow)
{
    typedef int32_t lanes_of_rows __attribute__((vector_size(LANES * sizeof(int32_t)), aligned(sizeof(int32_t)), may_alias));
    for (int64_t e = begin; e < end; v++) {
        const int64_t next = tsr_offset(s->m_p, narrow, v + 1), stop = next < end ? next : end;
        const int32_t row = (int32_t)(s->m_h ? s->m_h[v] : v);
        do
            *(lanes_of_rows *)(rows + (e - begin)) = (lanes_of_rows){0} + row;
        while ((e += LANES) < stop);
        e = stop;
    }
}

TSR_INLINE void prefetch(const tsr_md_short *s, int64_t e, const bool wide, const bool narrow)
{
    const int64_t last = s->nvals - 1, later = e + AHEAD < last ? e + AHEAD : last, next = e + NEAR < last ? e + NEAR : last;
    __builtin_prefetch((const char *)s->b_p + (size_t)tsr_offset(s->m_i, !wide, later) * (narrow ? sizeof(uint32_t) : sizeof(int64_t)));
    __builtin_prefetch(entry_at(s->b_i, wide, tsr_offset(s->b_p, narrow, tsr_offset(s->m_i, !wide, next))));
}

TSR_INLINE void count_pairs(uint32_t *counts, const tsr_md_short *s, int64_t v, int64_t begin, int64_t end, const bool wide, const bool narrow,
                            const bool far)
{
    int32_t rows[TSR_MD_SHORT_MOST + LANES];
    const int64_t a_readable = s->a_nvals - LANES, b_readable = s->b_nvals - LANES;
    spread_rows(rows, s, v, begin, end, narrow);
    for (int64_t e = begin; e < end; e++) {
        const int64_t r = rows[e - begin], c = tsr_offset(s->m_i, !wide, e);
        const int64_t a_from = tsr_offset(s->a_p, narrow, r), na = tsr_offset(s->a_p, narrow, r + 1) - a_from;
        const int64_t b_from = tsr_offset(s->b_p, narrow, c), nb = tsr_offset(s->b_p, narrow, c + 1) - b_from;
        const void *a = entry_at(s->a_i, wide, a_from), *b = entry_at(s->b_i, wide, b_from);
        if (far)
            prefetch(s, e, wide, narrow);
        if (na <= LANES && nb <= LANES && a_from <= a_readable && b_from <= b_readable)
            counts[e - begin] = (uint32_t)common(a, na, b, nb, wide, true);
        else
            counts[e - begin] = (uint32_t)(wide ? count_long_wide : count_long_narrow)(a, na, b, nb);
    }
}

#define COUNT(NAME, WIDE, NARROW, FAR)                                                                          \
    static void NAME(uint32_t *counts, const tsr_md_short *s, int64_t v, int64_t begin, int64_t end)            \
    {                                                                                                           \
        count_pairs(counts, s, v, begin, end, WIDE, NARROW, FAR);                                               \
    }
COUNT(count_narrow, false, false, false)
COUNT(count_wide, true, false, false)
COUNT(count_narrow_from_narrow, false, true, false)
COUNT(count_wide_from_narrow, true, true, false)
COUNT(count_far_narrow, false, false, true)
COUNT(count_far_wide, true, false, true)
COUNT(count_far_narrow_from_narrow, false, true, true)
COUNT(count_far_wide_from_narrow, true, true, true)

void TSR_NAME(tsr_md_count_short)(uint32_t *counts, const tsr_md_short *s, int64_t v, int64_t begin, int64_t end)
{
    static tsr_md_short_function *const count[2][2][2] = {{{count_narrow, count_wide}, {count_narrow_from_narrow, count_wide_from_narrow}},
                                                          {{count_far_narrow, count_far_wide}, {count_far_narrow_from_narrow, count_far_wide_from_narrow}}};
    count[s->far][s->narrow_offsets][s->wide](counts, s, v, begin, end);
}
