/* Entries with a bit each: which of them stay by their place, how many those of each vector are, and copies of them.  No branch depends on
 * where vectors end.  Compiled once per instruction set.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/selection/kept_entries.h"

#include "kernels/cpu/common/simd.h"
#include "src/base/types.h"

enum { WORD = 64, LANES = 8, SPREAD = 16 };

/* ---- bits by place ---- */

#if defined(__AVX512BW__)
/* What is compared with for each entry, in 32 bits; by SPREAD, over what the next vector overwrites.  Returns the last one. */
TSR_INLINE int64_t spread_from(int32_t *bounds, const tsr_selection *s, int64_t v, int64_t from, int64_t n, const bool hyper, const bool narrow)
{
    const int64_t *h = s->a.h, slope = s->slope, least = s->bound, behind = from + n;
    const void *p = s->a.p;
    for (int64_t e = from;; v++) {
        const int64_t end = tsr_offset(p, narrow, v + 1), stop = end < behind ? end : behind, bound = least + slope * (hyper ? h[v] : v);
        const __m512i lanes = _mm512_set1_epi32((int32_t)(bound < -1 ? -1 : bound > INT32_MAX ? INT32_MAX : bound));
        do
            _mm512_storeu_si512(bounds + (e - from), lanes);
        while ((e += SPREAD) < stop);
        e = stop;
        if (e == behind)
            return v;
    }
}

/* Functions of their own: within a larger one registers are short. */
#define SPREAD_BOUNDS(NAME, HYPER, NARROW)                                                                                    \
    static __attribute__((noinline)) int64_t NAME(int32_t *bounds, const tsr_selection *s, int64_t v, int64_t from, int64_t n) \
    {                                                                                                                         \
        return spread_from(bounds, s, v, from, n, HYPER, NARROW);                                                             \
    }
SPREAD_BOUNDS(spread_all, false, false)
SPREAD_BOUNDS(spread_all_narrow, false, true)
SPREAD_BOUNDS(spread_listed, true, false)
SPREAD_BOUNDS(spread_listed_narrow, true, true)

/* Those of LANES entries from i on below their bounds; of the first n of them. */
TSR_INLINE __mmask8 place_few(const void *i, const int32_t *bounds, int64_t n, const bool narrow)
{
    const __mmask8 some = n < LANES ? (__mmask8)((1u << n) - 1) : 0xff;
    const __m256i bound = _mm256_loadu_si256((const __m256i *)bounds);
    if (narrow)
        return _mm256_cmplt_epi32_mask(n < LANES ? _mm256_maskz_loadu_epi32(some, i) : _mm256_loadu_si256(i), bound);
    return _mm512_cmplt_epi64_mask(n < LANES ? _mm512_maskz_loadu_epi64(some, i) : _mm512_loadu_si512(i), _mm512_cvtepi32_epi64(bound));
}

/* A byte for LANES entries. */
TSR_INLINE void place_block(const tsr_selection *s, const int32_t *bounds, int64_t from, int64_t n, const bool narrow)
{
    const size_t size = narrow ? sizeof(uint32_t) : sizeof(int64_t);
    const char *i = (const char *)s->a.i + (size_t)from * size;
    const uint8_t others = s->keep == TSR_EWISE_GE ? 0xff : 0;
    uint8_t *kept = (uint8_t *)(s->kept + from / WORD);
    const int64_t whole = n / LANES * LANES;
    TSR_UNROLL(8)
    for (int64_t k = 0; k < whole; k += LANES)
        kept[k / LANES] = place_few(i + (size_t)k * size, bounds + k, LANES, narrow) ^ others;
    if (whole < n)
        kept[whole / LANES] = place_few(i + (size_t)whole * size, bounds + whole, n - whole, narrow) ^ others;
}

static int64_t place(const tsr_selection *s, int64_t v, int64_t from, int64_t n)
{
    int32_t bounds[TSR_KEPT_BLOCK + SPREAD];
    const bool narrow = s->a.narrow_offsets;
    const int64_t next = (s->a.h ? narrow ? spread_listed_narrow : spread_listed : narrow ? spread_all_narrow : spread_all)(bounds, s, v, from, n);
    if (s->a.index_size == 4)
        place_block(s, bounds, from, n, true);
    else
        place_block(s, bounds, from, n, false);
    return next;
}
#else
#define place NULL
#endif

/* ---- counts ---- */

TSR_INLINE uint64_t bits_below(uint64_t word, uint64_t n)
{
    return word & ((UINT64_C(1) << n) - 1);
}

TSR_INLINE int64_t count_ends(const tsr_selection *s, int64_t *p, int64_t first, int64_t last, int64_t from, int64_t to, const bool narrow)
{
    const uint64_t *kept = s->kept;
    uint64_t word = (uint64_t)from / WORD;
    int64_t before = 0; /* in words that are behind */
    for (int64_t v = first; v < last; v++) {
        const uint64_t end = (uint64_t)tsr_offset(s->a.p, narrow, v + 1);
        for (; word < end / WORD; word++)
            before += __builtin_popcountll(kept[word]);
        p[v + 1] = before + __builtin_popcountll(bits_below(kept[word], end % WORD));
    }
    for (; word < (uint64_t)to / WORD; word++)
        before += __builtin_popcountll(kept[word]);
    return before + __builtin_popcountll(bits_below(kept[word], (uint64_t)to % WORD));
}

static int64_t count(const tsr_selection *s, int64_t *p, int64_t first, int64_t last, int64_t from, int64_t to)
{
    return s->a.narrow_offsets ? count_ends(s, p, first, last, from, to, true) : count_ends(s, p, first, last, from, to, false);
}

/* ---- copies ---- */

/* To where, from where, and which: known where this is inlined but for the pointers. */
typedef struct copying {
    const void *from_i, *from_x;
    void *i, *x;
    size_t size;       /* of a value; 0: none */
    bool narrow, narrow_t;
} copying;

#define COPY_AS(Z, z, X, x) ((Z *)(z))[to] = (Z)((const X *)(x))[e]

TSR_INLINE void copy_one(const copying *c, int64_t to, int64_t e)
{
    if (c->narrow_t)
        ((uint32_t *)c->i)[to] = (uint32_t)tsr_offset(c->from_i, c->narrow, e);
    else
        ((int64_t *)c->i)[to] = tsr_offset(c->from_i, c->narrow, e);
    switch (c->size) {
    case 0: break;
    case 1: COPY_AS(uint8_t, c->x, uint8_t, c->from_x); break;
    case 2: COPY_AS(uint16_t, c->x, uint16_t, c->from_x); break;
    case 4: COPY_AS(uint32_t, c->x, uint32_t, c->from_x); break;
    default: COPY_AS(uint64_t, c->x, uint64_t, c->from_x); break;
    }
}

TSR_INLINE void copy_one_by_one(const copying *c, uint64_t bits, int64_t first, int64_t to)
{
    for (; bits; bits &= bits - 1)
        copy_one(c, to++, first + __builtin_ctzll(bits));
}

#if defined(__AVX512BW__)
TSR_INLINE void pack_words(void *to, const void *from, __mmask8 some)
{
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi64(some, _mm512_loadu_si512(from)));
}

TSR_INLINE void pack_halves(void *to, __m256i from, __mmask8 some)
{
    _mm256_storeu_si256((__m256i *)to, _mm256_maskz_compress_epi32(some, from));
}

TSR_INLINE void pack_indices(const copying *c, int64_t to, int64_t from, __mmask8 some)
{
    const uint32_t *i32 = (const uint32_t *)c->from_i + from;
    const int64_t *i64 = (const int64_t *)c->from_i + from;
    if (c->narrow_t)
        pack_halves((uint32_t *)c->i + to, c->narrow ? _mm256_loadu_si256((const __m256i *)i32) : _mm512_cvtepi64_epi32(_mm512_loadu_si512(i64)), some);
    else if (c->narrow)
        _mm512_storeu_si512((int64_t *)c->i + to, _mm512_cvtepu32_epi64(_mm256_maskz_compress_epi32(some, _mm256_loadu_si256((const __m256i *)i32))));
    else
        pack_words((int64_t *)c->i + to, i64, some);
}

TSR_INLINE void pack_values(const copying *c, int64_t to, int64_t from, __mmask8 some)
{
    const char *x = (const char *)c->from_x + (size_t)from * c->size;
    char *z = (char *)c->x + (size_t)to * c->size;
    switch (c->size) {
    case 0: break;
    case 1: _mm_storel_epi64((__m128i *)z, _mm256_cvtepi32_epi8(_mm256_maskz_compress_epi32(some, _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)x))))); break;
    case 2: _mm_storeu_si128((__m128i *)z, _mm256_cvtepi32_epi16(_mm256_maskz_compress_epi32(some, _mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)x))))); break;
    case 4: pack_halves(z, _mm256_loadu_si256((const __m256i *)x), some); break;
    default: pack_words(z, x, some); break;
    }
}

/* A word's entries, by LANES, which are written whole: what is behind is overwritten. */
TSR_INLINE void copy_packed(const copying *c, uint64_t bits, int64_t first, int64_t to)
{
    for (int k = 0; k < WORD; k += LANES) {
        const __mmask8 some = (__mmask8)(bits >> k);
        pack_indices(c, to, first + k, some);
        pack_values(c, to, first + k, some);
        to += __builtin_popcount(some);
    }
}
#else
#define copy_packed copy_one_by_one
#endif

/* The bits of entries [from, to) among those of one word. */
TSR_INLINE uint64_t some_bits(const uint64_t *kept, int64_t word, int64_t from, int64_t to)
{
    const int64_t begin = word * WORD;
    uint64_t bits = kept[word];
    if (from > begin)
        bits &= ~UINT64_C(0) << (from - begin);
    return to < begin + WORD ? bits_below(bits, (uint64_t)(to - begin)) : bits;
}

TSR_INLINE void fill_entries(const copying *c, const tsr_selection *s, int64_t at, int64_t room, int64_t from, int64_t to)
{
    for (int64_t word = from / WORD; word * WORD < to; word++) {
        const uint64_t bits = some_bits(s->kept, word, from, to);
        const int64_t n = __builtin_popcountll(bits), first = word * WORD;
        if (at + n + LANES <= room && first + WORD <= s->a.nvals)
            copy_packed(c, bits, first, at);
        else
            copy_one_by_one(c, bits, first, at);
        at += n;
    }
}

TSR_INLINE void fill_sized(copying c, size_t size, const tsr_selection *s, int64_t at, int64_t room, int64_t from, int64_t to)
{
    c.size = size;
    if (c.narrow && c.narrow_t)
        c.narrow = c.narrow_t = true, fill_entries(&c, s, at, room, from, to);
    else if (c.narrow)
        c.narrow = true, c.narrow_t = false, fill_entries(&c, s, at, room, from, to);
    else if (c.narrow_t)
        c.narrow = false, c.narrow_t = true, fill_entries(&c, s, at, room, from, to);
    else
        c.narrow = c.narrow_t = false, fill_entries(&c, s, at, room, from, to);
}

static void fill(const tsr_selection *s, const int64_t *p, void *i, void *x, int64_t first, int64_t last)
{
    const copying c = {.from_i = s->a.i, .from_x = s->a.x, .i = i, .x = x, .narrow = s->a.index_size == 4, .narrow_t = s->narrow};
    const int64_t at = p[first], room = p[last], from = tsr_view_start(&s->a, first), to = tsr_view_start(&s->a, last);
    switch (x ? tsr_type_size(s->a.type) : 0) {
    case 0: fill_sized(c, 0, s, at, room, from, to); break;
    case 1: fill_sized(c, 1, s, at, room, from, to); break;
    case 2: fill_sized(c, 2, s, at, room, from, to); break;
    case 4: fill_sized(c, 4, s, at, room, from, to); break;
    default: fill_sized(c, 8, s, at, room, from, to); break;
    }
}

const tsr_kept_loops TSR_NAME(tsr_kept_loops) = {place, count, fill};
