/* Of each vector the entries below a bound, or those from it on, or at it, or all others.  Compiled once per instruction set.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/selection/place_rows.h"

#include "kernels/cpu/common/simd.h"
#include "src/base/types.h"

enum { LANES = 8, FEW = 16 * LANES };

/* ---- counts ---- */

/* Indices [from, from + n) below `bound`, or at it. */
TSR_INLINE int64_t count_one_by_one(const void *i, bool narrow, int64_t from, int64_t n, int64_t bound, bool at)
{
    int64_t found = 0;
    for (int64_t k = from; k < from + n; k++)
        found += at ? tsr_offset(i, narrow, k) == bound : tsr_offset(i, narrow, k) < bound;
    return found;
}

/* The same of LANES, of which the first n count: all are loaded, for loads of some take several times as long (Zen 5). */
#if defined(__AVX512BW__)
TSR_INLINE unsigned find(const void *i, bool narrow, int64_t from, int64_t bound, bool at)
{
    const __m512i wanted = _mm512_set1_epi64(bound);
    const __m512i l = narrow ? _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)((const uint32_t *)i + from)))
                             : _mm512_loadu_si512((const int64_t *)i + from);
    return at ? _mm512_cmpeq_epi64_mask(l, wanted) : _mm512_cmplt_epi64_mask(l, wanted);
}
#elif defined(__AVX2__)
TSR_INLINE unsigned find_four(const void *i, bool narrow, int64_t from, int64_t bound, bool at)
{
    const __m256i wanted = _mm256_set1_epi64x(bound);
    const __m256i l = narrow ? _mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)((const uint32_t *)i + from)))
                             : _mm256_loadu_si256((const __m256i *)((const int64_t *)i + from));
    return (unsigned)_mm256_movemask_pd((__m256d)(at ? _mm256_cmpeq_epi64(wanted, l) : _mm256_cmpgt_epi64(wanted, l)));
}

TSR_INLINE unsigned find(const void *i, bool narrow, int64_t from, int64_t bound, bool at)
{
    return find_four(i, narrow, from, bound, at) | find_four(i, narrow, from + 4, bound, at) << 4;
}
#endif

#if defined(__AVX2__)
TSR_INLINE int64_t count_few(const void *i, bool narrow, int64_t from, int64_t n, int64_t bound, bool at)
{
    return __builtin_popcount(find(i, narrow, from, bound, at) & ((1u << n) - 1));
}
#else
#define count_few count_one_by_one
#endif

/* Ascending indices: FEW of them at most, behind all that are below `bound`; the next one, if there is one, is among them.  Returns how many. */
TSR_INLINE int64_t narrow_down(const void *i, bool narrow, int64_t *from, int64_t n, int64_t bound)
{
    while (n > FEW) {
        const int64_t half = n / 2;
        const bool below = tsr_offset(i, narrow, *from + half - 1) < bound;
        *from += below ? half : 0;
        n = below ? n - half : half;
    }
    return n;
}

/* Entries [begin, end) of a, below `bound` or at it: no branch depends on the indices of a short vector. */
TSR_INLINE int64_t count_in(const tsr_view *a, bool narrow, int64_t begin, int64_t end, int64_t bound, bool at)
{
    int64_t from = begin, n = narrow_down(a->i, narrow, &from, end - begin, bound), found = at ? 0 : from - begin;
    for (; n > LANES; n -= LANES, from += LANES)
        found += count_few(a->i, narrow, from, LANES, bound, at);
    const bool whole = from + LANES <= a->nvals;
    return found + (whole ? count_few(a->i, narrow, from, n, bound, at) : count_one_by_one(a->i, narrow, from, n, bound, at));
}

/* What is compared with in stored vector v. */
TSR_INLINE int64_t bound_of(const tsr_selection *s, int64_t v)
{
    return s->bound + s->slope * (s->a.h ? s->a.h[v] : v);
}

/* LT and EQ are counted, GE and NE are what is left. */
TSR_INLINE void count_vectors(const tsr_selection *s, bool narrow, bool at, int64_t *p, int64_t first, int64_t last)
{
    const bool rest = s->keep == TSR_EWISE_GE || s->keep == TSR_EWISE_NE;
    int64_t kept = 0, begin = tsr_view_start(&s->a, first);
    for (int64_t v = first; v < last; v++) {
        const int64_t end = tsr_view_start(&s->a, v + 1), found = count_in(&s->a, narrow, begin, end, bound_of(s, v), at);
        kept += rest ? end - begin - found : found;
        p[v + 1] = kept;
        begin = end;
    }
}

static void count(const tsr_selection *s, int64_t *p, int64_t first, int64_t last)
{
    const bool narrow = s->a.index_size == 4, at = s->keep == TSR_EWISE_EQ || s->keep == TSR_EWISE_NE;
    if (narrow && at)
        count_vectors(s, true, true, p, first, last);
    else if (narrow)
        count_vectors(s, true, false, p, first, last);
    else if (at)
        count_vectors(s, false, true, p, first, last);
    else
        count_vectors(s, false, false, p, first, last);
}

/* ---- entries ---- */

/* Copies of vectors one behind the other: up to `room` what is written behind one the next overwrites. */
typedef struct filling {
    const tsr_selection *s;
    void *i, *x;
    size_t size;
    int64_t room;
    bool narrow, narrow_t; /* indices of a, of the result have 32 bits: known where this is inlined */
} filling;

/* By LANES, where both arrays have as many; then no branch depends on n while that is few. */
#define COPY(Z, z, X, x) \
    do { \
        typedef Z z_lanes __attribute__((vector_size(LANES * sizeof(Z)), aligned(sizeof(Z)), may_alias)); \
        typedef X x_lanes __attribute__((vector_size(LANES * sizeof(X)), aligned(sizeof(X)), may_alias)); \
        Z *to_ = (Z *)(z) + to; \
        const X *from_ = (const X *)(x) + from; \
        int64_t k = 0; \
        if (whole) \
            do \
                *(z_lanes *)(to_ + k) = __builtin_convertvector(*(const x_lanes *)(from_ + k), z_lanes); \
            while ((k += LANES) < n); \
        for (; k < n; k++) \
            to_[k] = (Z)from_[k]; \
    } while (0)

TSR_INLINE void copy_values(const filling *f, int64_t to, int64_t from, int64_t n, bool whole)
{
    const void *x = f->s->a.x;
    switch (f->size) {
    case 1: COPY(uint8_t, f->x, uint8_t, x); break;
    case 2: COPY(uint16_t, f->x, uint16_t, x); break;
    case 4: COPY(uint32_t, f->x, uint32_t, x); break;
    default: COPY(uint64_t, f->x, uint64_t, x); break;
    }
}

/* n entries of a, from `from` on. */
TSR_INLINE void copy_run(const filling *f, int64_t to, int64_t from, int64_t n)
{
    const void *i = f->s->a.i;
    const bool whole = to + n + LANES <= f->room && from + n + LANES <= f->s->a.nvals;
    if (f->narrow && f->narrow_t)
        COPY(uint32_t, f->i, uint32_t, i);
    else if (f->narrow)
        COPY(int64_t, f->i, uint32_t, i);
    else if (f->narrow_t)
        COPY(uint32_t, f->i, int64_t, i);
    else
        COPY(int64_t, f->i, int64_t, i);
    if (f->x)
        copy_values(f, to, from, n, whole);
}

/* Where the entry is that the bound names; some are at it or above. */
TSR_INLINE int64_t place_of(const filling *f, int64_t v, int64_t begin, int64_t end)
{
    return begin + count_in(&f->s->a, f->narrow, begin, end, bound_of(f->s, v), false);
}

/* One entry of a vector, or none. */
TSR_INLINE void fill_single(const filling *f, const int64_t *p, int64_t first, int64_t last)
{
    const tsr_view *a = &f->s->a;
    for (int64_t v = first; v < last; v++) {
        if (p[v + 1] > p[v])
            copy_run(f, p[v], place_of(f, v, tsr_view_start(a, v), tsr_view_start(a, v + 1)), 1);
    }
}

/* All but one of a vector, or all: from one that is left out to the next. */
TSR_INLINE void fill_others(const filling *f, const int64_t *p, int64_t first, int64_t last)
{
    const tsr_view *a = &f->s->a;
    int64_t to = p[first], from = tsr_view_start(a, first), begin = from;
    for (int64_t v = first; v < last; v++) {
        const int64_t end = tsr_view_start(a, v + 1);
        if (p[v + 1] - p[v] < end - begin) {
            const int64_t out = place_of(f, v, begin, end);
            copy_run(f, to, from, out - from);
            to += out - from;
            from = out + 1;
        }
        begin = end;
    }
    copy_run(f, to, from, begin - from);
}

/* The first entries of a vector, or the last. */
TSR_INLINE void fill_side(const filling *f, const int64_t *p, int64_t first, int64_t last)
{
    const tsr_selection *s = f->s;
    int64_t begin = tsr_view_start(&s->a, first);
    for (int64_t v = first; v < last; v++) {
        const int64_t end = tsr_view_start(&s->a, v + 1), n = p[v + 1] - p[v];
        copy_run(f, p[v], s->keep == TSR_EWISE_LT ? begin : end - n, n);
        begin = end;
    }
}

TSR_INLINE void fill_vectors(const filling *f, const int64_t *p, int64_t first, int64_t last)
{
    switch (f->s->keep) {
    case TSR_EWISE_EQ: fill_single(f, p, first, last); break;
    case TSR_EWISE_NE: fill_others(f, p, first, last); break;
    default: fill_side(f, p, first, last); break;
    }
}

static void fill(const tsr_selection *s, const int64_t *p, void *i, void *x, int64_t first, int64_t last)
{
    filling f = {.s = s, .i = i, .x = x, .size = tsr_type_size(s->a.type), .room = p[last], .narrow = true, .narrow_t = s->narrow};
    if (s->a.index_size == 4) {
        fill_vectors(&f, p, first, last);
        return;
    }
    f.narrow = false;
    fill_vectors(&f, p, first, last);
}

const tsr_place_loops TSR_NAME(tsr_place_loops) = {count, fill};
