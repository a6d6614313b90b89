/* How many indices pairs of short ascending lists have in common: eight of one list are compared with each of four or eight of the other,
 * whatever they hold, so that no branch depends on it (as blocks in Schlegel, Willhalm, Lehner, ADMS 2011).
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/masked/masked_dot_short.h"
#include "kernels/cpu/masked/masked_dot_block.h"

enum { AHEAD = 16, NEAR = 8 }; /* entries of the mask whose offsets, and whose lists, are prefetched */

#ifdef __AVX2__
/* Indices of A, each in all lanes; the last one again where there are fewer. */
typedef struct few {
    block each[LANES];
} few;

TSR_INLINE int64_t common(const few *x, int some, block y)
{
    block hits = _mm256_cmpeq_epi32(x->each[0], y);
    TSR_UNROLL(8)
    for (int k = 1; k < some; k++)
        hits = _mm256_or_si256(hits, _mm256_cmpeq_epi32(x->each[k], y));
    return __builtin_popcount((unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(hits)));
}
#else
typedef struct few {
    uint32_t each[LANES];
} few;

/* Equal ones of A count once. */
TSR_INLINE int64_t common(const few *x, int some, block y)
{
    int64_t count = 0;
    for (int b = 0; b < LANES; b++) {
        bool hit = false;
        for (int k = 0; k < some; k++)
            hit |= x->each[k] == y.index[b];
        count += hit;
    }
    return count;
}
#endif

/* Of lists of any length: blocks are left behind whose last index is not above that of the other.  Rows in [row, ...) of the mask, from entry
 * `begin` to `end`.  T: indices, P: offsets. */
#define COUNT(NAME, T, P, LOAD)                                                                                                   \
    TSR_INLINE few NAME##_few(const T *a, int64_t n, int some)                                                                    \
    {                                                                                                                             \
        few x;                                                                                                                    \
        TSR_UNROLL(8)                                                                                                             \
        for (int k = 0; k < some; k++)                                                                                            \
            x.each[k] = spread((uint32_t)a[k < n ? k : n - 1]);                                                                   \
        return x;                                                                                                                 \
    }                                                                                                                             \
    static int64_t NAME##_pair(const T *a, int64_t na, const T *b, int64_t nb)                                                    \
    {                                                                                                                             \
        int64_t count = 0;                                                                                                        \
        while (na > 0 && nb > 0) {                                                                                                \
            const T a_last = a[(na < LANES ? na : LANES) - 1], b_last = b[(nb < LANES ? nb : LANES) - 1];                         \
            const few x = NAME##_few(a, na, LANES);                                                                               \
            count += common(&x, LANES, LOAD(b, nb));                                                                              \
            const int64_t a_step = a_last <= b_last ? LANES : 0, b_step = b_last <= a_last ? LANES : 0;                           \
            a += a_step;                                                                                                          \
            na -= a_step;                                                                                                         \
            b += b_step;                                                                                                          \
            nb -= b_step;                                                                                                         \
        }                                                                                                                         \
        return count;                                                                                                             \
    }                                                                                                                             \
    TSR_INLINE void NAME##_row(uint32_t *counts, const tsr_md_short *s, const T *a, int64_t na, int some, int64_t begin, int64_t end) \
    {                                                                                                                             \
        const T *b = s->b_i, *m = s->m_i;                                                                                         \
        const int64_t last = s->nvals - 1;                                                                                        \
        const few x = NAME##_few(a, na, some);                                                                                    \
        for (int64_t e = begin; e < end; e++) {                                                                                   \
            const P *p = s->b_p;                                                                                                  \
            const int64_t from = p[m[e]], nb = p[m[e] + 1] - from;                                                                \
            __builtin_prefetch(&p[m[e + AHEAD < last ? e + AHEAD : last]]);                                                       \
            __builtin_prefetch(&b[p[m[e + NEAR < last ? e + NEAR : last]]]);                                                      \
            counts[e - begin] = (uint32_t)(na <= some && nb <= LANES ? common(&x, some, LOAD(b + from, nb)) : NAME##_pair(a, na, b + from, nb)); \
        }                                                                                                                         \
    }                                                                                                                             \
    static void NAME(uint32_t *counts, const tsr_md_short *s, int64_t row, int64_t begin, int64_t end)                            \
    {                                                                                                                             \
        for (int64_t e = begin; e < end; row++) {                                                                                 \
            const P *a_p = s->a_p, *m_p = s->m_p;                                                                                 \
            const int64_t next = m_p[row + 1], stop = next < end ? next : end, r = s->m_h ? s->m_h[row] : row;                    \
            const T *a = (const T *)s->a_i + a_p[r];                                                                              \
            const int64_t na = (int64_t)a_p[r + 1] - a_p[r];                                                                      \
            if (na == 0)                                                                                                          \
                memset(counts + (e - begin), 0, (size_t)(stop > e ? stop - e : 0) * sizeof *counts);                              \
            else if (na <= LANES / 2)                                                                                             \
                NAME##_row(counts + (e - begin), s, a, na, LANES / 2, e, stop);                                                   \
            else                                                                                                                  \
                NAME##_row(counts + (e - begin), s, a, na, LANES, e, stop);                                                       \
            e = stop > e ? stop : e;                                                                                              \
        }                                                                                                                         \
    }

COUNT(count_wide, int64_t, int64_t, load_wide)
COUNT(count_narrow, uint32_t, int64_t, load_narrow)
COUNT(count_wide_from_narrow, int64_t, uint32_t, load_wide)
COUNT(count_narrow_from_narrow, uint32_t, uint32_t, load_narrow)

void TSR_NAME(tsr_md_count_short)(uint32_t *counts, const tsr_md_short *s, int64_t row, int64_t begin, int64_t end)
{
    static tsr_md_short_function *const count[2][2] = {{count_narrow, count_wide}, {count_narrow_from_narrow, count_wide_from_narrow}};
    count[s->narrow_offsets][s->wide](counts, s, row, begin, end);
}
