/* The loops over one row of C, for every monoid and type.
 * Frequent multiplies are part of the loop; of the others the products of one entry of A are made before (`made`).
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/spgemm/rows.h"

#include <string.h>

#include "src/base/types.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline, unused))

/* ---- entries of A and rows of B ---- */

INLINE int64_t enter(const tsr_sg_job *job, int64_t e, int64_t *lo, int64_t *hi)
{
    const int64_t k = tsr_sg_index(job->a_i, job->a_wide, e);
    if (job->fetch)
        tsr_sg_fetch_ahead(job, e);
    tsr_sg_row_of_b(job, k, lo, hi);
    return k;
}

static const void *positions(const tsr_sg_job *job, tsr_sg_thread *t, int64_t name, int64_t b, int64_t n)
{
    int32_t *narrow = t->terms;
    int64_t *wide = t->terms;
    n = job->term_step ? n : 1;
    for (int64_t q = 0; q < n; q++) {
        const int64_t place = (job->term_step ? tsr_sg_index(job->b_i, job->b_wide, b + q) : name) + job->offset;
        if (job->size == 4)
            narrow[q] = (int32_t)place;
        else
            wide[q] = place;
    }
    return t->terms;
}

/* Products of A's entry e, which is A(row, k), and B's entries [b, b + n); one for all where term_step is 0. */
static const void *made(const tsr_sg_job *job, tsr_sg_thread *t, int64_t row, int64_t k, int64_t e, int64_t b, int64_t n)
{
    const char *second = (const char *)job->b_x + (size_t)(b * job->b_step) * job->size;
    const char *first = (const char *)job->a_x + (size_t)(e * job->a_step) * job->size;
    switch (job->source) {
    case TSR_SG_ONE:
    case TSR_SG_A: return first;
    case TSR_SG_B: return second;
    case TSR_SG_MULTIPLY: job->multiply(t->terms, first, second, job->b_step, n); return t->terms;
    case TSR_SG_I: return positions(job, t, row, b, n);
    default: return positions(job, t, k, b, n);
    }
}

/* ---- monoids ---- */

#define START_plus(type) tsr_identity_plus_##type()
#define START_min(type) tsr_identity_min_##type()
#define START_max(type) tsr_identity_max_##type()
#define START_lor(type) tsr_identity_lor_##type()
#define START_any(type) ((tsr_c_##type)0)

/* What stands there (the identity, unless `found`) plus a term.  ANY has no identity. */
#define JOIN_plus(type, old, found, term) tsr_add_plus_##type(old, term)
#define JOIN_min(type, old, found, term) tsr_add_min_##type(old, term)
#define JOIN_max(type, old, found, term) tsr_add_max_##type(old, term)
#define JOIN_lor(type, old, found, term) tsr_add_lor_##type(old, term)
#define JOIN_any(type, old, found, term) ((found) ? (old) : (term))

/* ---- where the products come from ---- */

/* Sets `term` for B's entry q + b0. */
#define TERMS_made(type) \
    const tsr_c_##type *terms = made(job, t, row, k, e, b0, n); \
    const int64_t step = job->term_step;
#define TERM_made(type, q) terms[(q) * step]
#define MOST_made TSR_SG_TERMS

#define TERMS_in_loop(type) \
    const tsr_c_##type av = ((const tsr_c_##type *)job->a_x)[e * job->a_step], \
                       *bv = (const tsr_c_##type *)job->b_x + b0 * job->b_step; \
    const int64_t step = job->b_step;
#define TERMS_times(type) TERMS_in_loop(type)
#define TERMS_plus(type) TERMS_in_loop(type)
#define TERM_times(type, q) tsr_mul_times_##type(av, bv[(q) * step])
#define TERM_plus(type, q) tsr_mul_plus_##type(av, bv[(q) * step])
#define MOST_times INT64_MAX
#define MOST_plus INT64_MAX

/* BODY for every product: j its column, `term`. */
#define EACH_PRODUCT(type, mul, index, BODY) \
    for (; e < hi; e++) { \
        int64_t b0, b1; \
        const int64_t k = enter(job, e, &b0, &b1); \
        (void)k; \
        for (int64_t n; b0 < b1; b0 += n) { \
            n = b1 - b0 < MOST_##mul ? b1 - b0 : MOST_##mul; \
            const index *bi = (const index *)job->b_i + b0; \
            TERMS_##mul(type) \
            for (int64_t q = 0; q < n; q++) { \
                const int64_t j = (int64_t)bi[q]; \
                const tsr_c_##type term = TERM_##mul(type, q); \
                BODY \
            } \
        } \
    }

/* The same without values. */
#define EACH_INDEX(index, BODY) \
    for (; e < hi; e++) { \
        int64_t b0, b1; \
        enter(job, e, &b0, &b1); \
        for (; b0 < b1; b0++) { \
            const int64_t j = (int64_t)((const index *)job->b_i)[b0]; \
            BODY \
        } \
    }

/* ---- notes ---- */

/* Output places are counted from 1, from t->base. */
#define OUTPUT \
    int64_t *ci = t->i + t->base - 1; \
    const uint32_t before = (uint32_t)(t->used - t->base); \
    uint32_t count = before;
#define OUTPUT_END t->used = t->base + count;

#define FIND_dense \
    const uint32_t noted = place[j]; \
    const bool found = noted > before; \
    const uint32_t at = found ? noted : count + 1; \
    place[j] = at;

#define HASH(j) (((uint64_t)(uint32_t)(j) * 0x9E3779B97F4A7C15u) >> shift)
#define FIND_hash \
    uint64_t slot = HASH(j); \
    uint64_t noted = table[slot]; \
    while (__builtin_expect(noted != 0 && (noted >> 32) != (uint64_t)j, 0)) { \
        slot = (slot + 1) & last; \
        noted = table[slot]; \
    } \
    const bool found = noted != 0; \
    const uint32_t at = found ? (uint32_t)noted : count + 1; \
    table[slot] = (uint64_t)j << 32 | at;

#define PUT_INDEX \
    ci[at] = j; \
    count += !found;
/* Chosen by address: a choice of values would become a branch that nobody can foresee. */
#define PUT(type, add) \
    PUT_INDEX \
    const tsr_c_##type *const old = found ? &cx[at] : &start; \
    cx[at] = JOIN_##add(type, *old, found, term);

#define BEGIN_dense uint32_t *const place = t->place;
#define BEGIN_hash \
    uint64_t *const table = t->table; \
    const int shift = t->table_shift; \
    const uint64_t last = ((uint64_t)1 << (64 - shift)) - 1; \
    memset(table, 0, (last + 1) * sizeof *table);

/* ---- windows ---- */

#define LOW_BITS(word) __builtin_ctzll(word)

/* Which of 64 marks are set; they are 0 then. */
INLINE uint64_t take_marks(uint8_t *mark)
{
    uint64_t set = 0;
#if defined(__SSE2__)
    __m128i bytes[4];
    for (int part = 0; part < 4; part++)
        bytes[part] = _mm_loadu_si128((const __m128i *)(const void *)(mark + 16 * part));
    const __m128i any = _mm_or_si128(_mm_or_si128(bytes[0], bytes[1]), _mm_or_si128(bytes[2], bytes[3]));
    if (_mm_movemask_epi8(_mm_cmpgt_epi8(any, _mm_setzero_si128())) == 0) /* most often */
        return 0;
    for (int part = 0; part < 4; part++)
        set |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpgt_epi8(bytes[part], _mm_setzero_si128())) << 16 * part;
    memset(mark, 0, 64);
#else
    for (int bit = 0; bit < 64; bit++)
        set |= (uint64_t)mark[bit] << bit;
    memset(mark, 0, 64);
#endif
    return set;
}

/* Is one of TSR_SG_MARKS set? */
INLINE bool has_marks(const uint8_t *mark)
{
#if defined(__SSE2__)
    __m128i any = _mm_setzero_si128();
    for (int part = 0; part < TSR_SG_MARKS / 16; part++)
        any = _mm_or_si128(any, _mm_loadu_si128((const __m128i *)(const void *)(mark + 16 * part)));
    return _mm_movemask_epi8(_mm_cmpgt_epi8(any, _mm_setzero_si128())) != 0;
#else
    uint8_t any = 0;
    for (int part = 0; part < TSR_SG_MARKS; part++)
        any |= mark[part];
    return any;
#endif
}

/* BODY for every marked column of the 64 from `first` on: q its place in the window. */
#define EACH_OF_64(first, BODY) \
    for (uint64_t set = take_marks(t->mark + (first)); set; set &= set - 1) { \
        const int64_t q = (first) + LOW_BITS(set); \
        BODY \
    }

/* All marks are looked at … */
#define BEGIN_window
#define MARK_window(q) mark[q] = 1;
#define EACH_MARKED_window(BODY) \
    for (int64_t part = 0; part < t->span; part += TSR_SG_MARKS) { \
        const int64_t end = has_marks(t->mark + part) ? part + TSR_SG_MARKS : part; \
        for (int64_t first = part; first < end; first += 64) \
            EACH_OF_64(first, BODY) \
    }

/* … or those of groups of 64 that are marked themselves. */
#define BEGIN_wide uint8_t *const group = t->group;
#define MARK_wide(q) \
    mark[q] = 1; \
    group[(uint64_t)(q) / 64] = 1;
#define EACH_MARKED_wide(BODY) \
    for (int64_t part = 0; part < t->span; part += 64 * 64) \
        for (uint64_t groups = take_marks(t->group + part / 64); groups; groups &= groups - 1) { \
            const int64_t first = part + 64 * LOW_BITS(groups); \
            EACH_OF_64(first, BODY) \
        }

/* BODY for every column that the mask hides: q its place in the window. */
#define EACH_HIDDEN(BODY) \
    for (int64_t at = t->hidden; at < t->hidden_end; at++) { \
        const int64_t q = tsr_sg_index(job->m_i, job->m_wide, at) - lo; \
        if (q >= 0 && q < t->span && tsr_sg_mask_is_true(job, at)) { \
            BODY \
        } \
    }

/* ---- the rows ---- */

/* By notes of one kind: dense or hash. */
#define NOTED_ROW(notes, type, add, mul, index) \
    static void TSR_PASTE5(notes, add, mul, type, index)(const tsr_sg_job *job, tsr_sg_thread *t, int64_t row, int64_t e, int64_t hi) \
    { \
        (void)row; \
        tsr_c_##type *const cx = (tsr_c_##type *)t->x + t->base - 1; \
        const tsr_c_##type start = START_##add(type); \
        OUTPUT BEGIN_##notes \
        EACH_PRODUCT(type, mul, index, FIND_##notes PUT(type, add)) \
        OUTPUT_END \
    }

#define NOTED_PATTERN(notes, index) \
    static void TSR_PASTE(notes##_pattern, index)(const tsr_sg_job *job, tsr_sg_thread *t, int64_t row, int64_t e, int64_t hi) \
    { \
        (void)row; \
        OUTPUT BEGIN_##notes \
        EACH_INDEX(index, FIND_##notes PUT_INDEX) \
        OUTPUT_END \
    }

#define WINDOW_ROW(marks, type, add, mul, index) \
    static void TSR_PASTE5(marks, add, mul, type, index)(const tsr_sg_job *job, tsr_sg_thread *t, int64_t row, int64_t e, int64_t hi) \
    { \
        (void)row; \
        tsr_c_##type *const value = t->window; \
        uint8_t *const mark = t->mark; \
        BEGIN_##marks \
        const int64_t lo = t->lo; \
        EACH_PRODUCT(type, mul, index, \
            value[j - lo] = JOIN_##add(type, value[j - lo], mark[j - lo], term); \
            MARK_##marks(j - lo)) \
        EACH_HIDDEN(mark[q] = 0; value[q] = START_##add(type);) \
        int64_t *ci = t->i + t->used; \
        tsr_c_##type *cx = (tsr_c_##type *)t->x + t->used; \
        int64_t count = 0; \
        EACH_MARKED_##marks(ci[count] = lo + q; cx[count++] = value[q]; value[q] = START_##add(type);) \
        t->used += count; \
    }

#define ROWS(type, add, mul, index) \
    NOTED_ROW(dense, type, add, mul, index) \
    NOTED_ROW(hash, type, add, mul, index) \
    WINDOW_ROW(window, type, add, mul, index) \
    WINDOW_ROW(wide, type, add, mul, index) \
    static void TSR_PASTE5(known, add, mul, type, index)(const tsr_sg_job *job, tsr_sg_thread *t, int64_t row, int64_t e, int64_t hi) \
    { \
        (void)row; \
        tsr_c_##type *const value = t->window, *const cx = t->x; \
        EACH_PRODUCT(type, mul, index, value[j] = JOIN_##add(type, value[j], true, term);) \
        for (int64_t q = t->used; q < t->capacity; q++) { \
            const uint32_t j = t->known[q]; \
            cx[q] = value[j]; \
            value[j] = START_##add(type); \
        } \
    } \
    static void TSR_PASTE5(masked, add, mul, type, index)(const tsr_sg_job *job, tsr_sg_thread *t, int64_t row, int64_t e, int64_t hi) \
    { \
        (void)row; \
        tsr_c_##type *const cx = (tsr_c_##type *)t->x + t->base - 1; \
        const tsr_c_##type start = START_##add(type); \
        const uint8_t *pass = t->pass; \
        OUTPUT BEGIN_dense \
        EACH_PRODUCT(type, mul, index, if (!pass[j]) continue; FIND_dense PUT(type, add)) \
        OUTPUT_END \
    }

#define WINDOW_PATTERN(marks, index) \
    static void TSR_PASTE(marks##_pattern, index)(const tsr_sg_job *job, tsr_sg_thread *t, int64_t row, int64_t e, int64_t hi) \
    { \
        (void)row; \
        uint8_t *const mark = t->mark; \
        BEGIN_##marks \
        const int64_t lo = t->lo; \
        EACH_INDEX(index, MARK_##marks(j - lo)) \
        EACH_HIDDEN(mark[q] = 0;) \
        int64_t *ci = t->i + t->used; \
        int64_t count = 0; \
        EACH_MARKED_##marks(ci[count++] = lo + q;) \
        t->used += count; \
    }

#define PATTERN_ROWS(index) \
    NOTED_PATTERN(dense, index) \
    NOTED_PATTERN(hash, index) \
    WINDOW_PATTERN(window, index) \
    WINDOW_PATTERN(wide, index) \
    static void TSR_PASTE(masked_pattern, index)(const tsr_sg_job *job, tsr_sg_thread *t, int64_t row, int64_t e, int64_t hi) \
    { \
        (void)row; \
        const uint8_t *pass = t->pass; \
        OUTPUT BEGIN_dense \
        EACH_INDEX(index, if (!pass[j]) continue; FIND_dense PUT_INDEX) \
        OUTPUT_END \
    }

PATTERN_ROWS(uint32_t)
PATTERN_ROWS(int64_t)

/* One entry of A: a row of B, each value multiplied. */
static void copy(const tsr_sg_job *job, tsr_sg_thread *t, int64_t row, int64_t e, int64_t hi)
{
    int64_t b0, b1;
    (void)hi;
    const int64_t k = enter(job, e, &b0, &b1);
    int64_t *ci = t->i + t->used;
    if (job->b_wide)
        memcpy(ci, (const int64_t *)job->b_i + b0, (size_t)(b1 - b0) * sizeof *ci);
    else
        for (int64_t q = 0; q < b1 - b0; q++)
            ci[q] = ((const uint32_t *)job->b_i)[b0 + q];
    for (int64_t n; job->valued && b0 < b1; b0 += n) {
        n = b1 - b0 < TSR_SG_TERMS ? b1 - b0 : TSR_SG_TERMS;
        const char *from = made(job, t, row, k, e, b0, n);
        char *to = (char *)t->x + (size_t)t->used * job->size;
        if (job->term_step)
            memcpy(to, from, (size_t)n * job->size);
        for (int64_t q = 0; !job->term_step && q < n; q++)
            memcpy(to + (size_t)q * job->size, from, job->size);
        t->used += n;
    }
    t->used += job->valued ? 0 : b1 - b0;
}

/* ---- all of them ---- */

#define LOOPS(TYPE, type, ADD, add, MUL, mul) ROWS(type, add, mul, uint32_t) ROWS(type, add, mul, int64_t)

#define STARTS(TYPE, type, ADD, add, MUL, mul) \
    static void TSR_PASTE3(start, add, type)(void *x, int64_t n) \
    { \
        for (int64_t q = 0; q < n; q++) \
            ((tsr_c_##type *)x)[q] = START_##add(type); \
    }

/* The multiply of loops whose products are made before. */
#define TSR_MUL_MADE TSR_MUL_COUNT

#define FOR_BITS(F, ADD, add) \
    F(UINT8, uint8, ADD, add, MADE, made) F(UINT16, uint16, ADD, add, MADE, made) F(UINT32, uint32, ADD, add, MADE, made) \
    F(UINT64, uint64, ADD, add, MADE, made) F(FP32, fp32, ADD, add, MADE, made) F(FP64, fp64, ADD, add, MADE, made)
#define FOR_SIGNED(F, ADD, add) \
    F(INT8, int8, ADD, add, MADE, made) F(INT16, int16, ADD, add, MADE, made) F(INT32, int32, ADD, add, MADE, made) \
    F(INT64, int64, ADD, add, MADE, made)
#define FOR_COMPLEX(F) F(FC64, fc64, PLUS, plus, TIMES, times) F(FC32, fc32, PLUS, plus, TIMES, times)
#define FOR_MONOIDS(F) \
    FOR_BITS(F, PLUS, plus) FOR_BITS(F, ANY, any) FOR_BITS(F, LOR, lor) FOR_BITS(F, MIN, min) FOR_BITS(F, MAX, max) \
    FOR_SIGNED(F, MIN, min) FOR_SIGNED(F, MAX, max)
#define FOR_FREQUENT(F) \
    F(FP64, fp64, PLUS, plus, TIMES, times) F(FP32, fp32, PLUS, plus, TIMES, times) F(UINT64, uint64, PLUS, plus, TIMES, times) \
    F(UINT32, uint32, PLUS, plus, TIMES, times) F(FP64, fp64, MIN, min, PLUS, plus) F(FP32, fp32, MIN, min, PLUS, plus) \
    F(INT64, int64, MIN, min, PLUS, plus) F(INT32, int32, MIN, min, PLUS, plus)

FOR_MONOIDS(LOOPS)
FOR_FREQUENT(LOOPS)
FOR_COMPLEX(LOOPS)
FOR_MONOIDS(STARTS)
FOR_COMPLEX(STARTS)

#define SET(type, add, mul, index) \
    *loops = (tsr_sg_loops){TSR_PASTE5(dense, add, mul, type, index), TSR_PASTE5(hash, add, mul, type, index), \
                            TSR_PASTE5(window, add, mul, type, index), TSR_PASTE5(wide, add, mul, type, index), \
                            TSR_PASTE5(masked, add, mul, type, index), TSR_PASTE5(known, add, mul, type, index), copy, \
                            TSR_PASTE3(start, add, type)}
#define NUMBER(type, add, mul) (((type) * TSR_ADD_COUNT + (add)) * (TSR_MUL_COUNT + 1) + (mul))
#define CASE(TYPE, type, ADD, add, MUL, mul) \
    case NUMBER(TSR_##TYPE, TSR_ADD_##ADD, TSR_MUL_##MUL): \
        if (job->b_wide) \
            SET(type, add, mul, int64_t); \
        else \
            SET(type, add, mul, uint32_t); \
        return true;

static bool find(tsr_sg_loops *loops, const tsr_sg_job *job, tsr_type type, int mul)
{
    switch (NUMBER((int)type, (int)job->semiring.add, mul)) {
    FOR_MONOIDS(CASE)
    FOR_FREQUENT(CASE)
    FOR_COMPLEX(CASE)
    default: return false;
    }
}

/* A type whose values add up by the same instructions. */
static tsr_type type_for(tsr_type type, tsr_add add)
{
    static const tsr_type without_sign[TSR_TYPE_COUNT] = {TSR_UINT8,  TSR_UINT8,  TSR_UINT16, TSR_UINT32, TSR_UINT64, TSR_UINT8,
                                                          TSR_UINT16, TSR_UINT32, TSR_UINT64, TSR_FP32,   TSR_FP64};
    const bool ordered = add == TSR_ADD_MIN || add == TSR_ADD_MAX;
    return (ordered && type != TSR_BOOL) || tsr_is_complex(type) ? type : without_sign[type];
}

static tsr_sg_loops of_pattern(const tsr_sg_job *job)
{
    if (job->b_wide)
        return (tsr_sg_loops){dense_pattern_int64_t, hash_pattern_int64_t, window_pattern_int64_t, wide_pattern_int64_t,
                              masked_pattern_int64_t, NULL, copy, NULL};
    return (tsr_sg_loops){dense_pattern_uint32_t, hash_pattern_uint32_t, window_pattern_uint32_t, wide_pattern_uint32_t,
                          masked_pattern_uint32_t, NULL, copy, NULL};
}

bool tsr_sg_find_loops(tsr_sg_loops *loops, const tsr_sg_job *job)
{
    if (!job->valued) {
        *loops = of_pattern(job);
        return true;
    }
    const tsr_type type = type_for(job->semiring.type, job->semiring.add);
    const bool multiplies = job->source == TSR_SG_MULTIPLY;
    if (!(multiplies && find(loops, job, type, (int)job->semiring.mul)) && !find(loops, job, type, TSR_MUL_MADE))
        return false;
    if (job->semiring.add == TSR_ADD_ANY)
        loops->known = NULL; /* it would need to know which product is the first */
    if (job->semiring.add == TSR_ADD_LOR)
        loops->copy = NULL; /* a single term becomes 0 or 1 */
    return true;
}
