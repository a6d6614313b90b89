/* Vectors of an extraction: gathered through the table of targets, then sorted.  Compiled once per instruction set.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/selection/extract_rows.h"

#include <string.h>

#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/selection/copy.h"
#include "src/base/split.h"

/* One vector on its way: entries [begin, end) of a become n entries of T, the first of them at `at`. */
typedef struct extracted {
    const tsr_extraction *e;
    int64_t begin, end, at, n;
    bool narrow, narrow_t; /* indices of a, of T have 32 bits: known where this is inlined */
    char *i, *x;
    size_t size;
    uint64_t *scratch;
} extracted;

TSR_INLINE const void *shown(const void *indices, bool narrow, int64_t from)
{
    return (const char *)indices + (size_t)from * (narrow ? sizeof(uint32_t) : sizeof(int64_t));
}

TSR_INLINE const void *indices(const extracted *v)
{
    return shown(v->e->a.i, v->narrow, v->begin);
}

TSR_INLINE void put_index(const extracted *v, int64_t to, int64_t index)
{
    if (v->narrow_t)
        ((uint32_t *)v->i)[v->at + to] = (uint32_t)index;
    else
        ((int64_t *)v->i)[v->at + to] = index;
}

TSR_INLINE int32_t target_of(const extracted *v, const void *i, int64_t k)
{
    return v->e->target[tsr_offset(i, v->narrow, k)];
}

TSR_INLINE void move_value(const extracted *v, int64_t to, int64_t from)
{
    const char *x = v->e->a.x;
    if (v->size == 1)
        v->x[v->at + to] = x[v->begin + from];
    else
        tsr_move_value(v->x, v->at + to, x, v->begin + from, v->size);
}

/* ---- a range of places ---- */

/* The first of a's entries in [begin, end) that is not before `place`. */
TSR_INLINE int64_t first_at_least(const tsr_extraction *e, bool narrow, int64_t begin, int64_t end, int64_t place)
{
    while (place > 0 && begin < end) {
        const int64_t middle = begin + (end - begin) / 2;
        if (tsr_offset(e->a.i, narrow, middle) < place)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

TSR_INLINE void copy_range(const extracted *v)
{
    const int64_t shift = v->e->places.first, from = first_at_least(v->e, v->narrow, v->begin, v->end, shift);
    const void *i = shown(v->e->a.i, v->narrow, from);
    if (shift == 0 && v->narrow == v->narrow_t) {
        tsr_copy_values((char *)shown(v->i, v->narrow, v->at), i, v->n, v->narrow ? sizeof(uint32_t) : sizeof(int64_t));
    } else {
        for (int64_t k = 0; k < v->n; k++)
            put_index(v, k, tsr_offset(i, v->narrow, k) - shift);
    }
    if (v->x)
        tsr_copy_values(v->x + (size_t)v->at * v->size, (const char *)v->e->a.x + (size_t)from * v->size, v->n, v->size);
}

/* ---- places that ascend ---- */

TSR_INLINE void copy_kept(const extracted *v)
{
    const void *i = indices(v);
    int64_t to = 0;
    for (int64_t k = 0; to < v->n; k++) {
        const int32_t target = target_of(v, i, k);
        put_index(v, to, target);
        if (v->x && target >= 0)
            move_value(v, to, k);
        to += target >= 0;
    }
}

/* ---- places in any order ---- */

/* Kept targets and where they came from; returns how many. */
TSR_INLINE void gather_few(const extracted *v, uint32_t *key, uint32_t *from)
{
    const void *i = indices(v);
    if (v->e->whole) {
        for (int64_t k = 0; k < v->n; k++) {
            key[k] = (uint32_t)target_of(v, i, k);
            from[k] = (uint32_t)k;
        }
        return;
    }
    for (int64_t k = 0, to = 0; to < v->n; k++) {
        const int32_t target = target_of(v, i, k);
        key[to] = (uint32_t)target;
        from[to] = (uint32_t)k;
        to += target >= 0;
    }
}

typedef int32_t lanes __attribute__((vector_size(64), aligned(64)));
enum { LANES = 16 };

/* Targets differ, so that how many are smaller is where each belongs. */
static void rank_keys(uint32_t *rank, const uint32_t *key, int64_t n)
{
    for (int64_t block = 0; block < n; block += LANES) {
        const lanes mine = *(const lanes *)(key + block);
        lanes smaller = {0};
        for (int64_t k = 0; k < n; k++)
            smaller -= (lanes){0} + (int32_t)key[k] < mine;
        *(lanes *)(rank + block) = smaller;
    }
}

TSR_INLINE void sort_few(const extracted *v)
{
    _Alignas(64) uint32_t key[TSR_RANKED], rank[TSR_RANKED], from[TSR_RANKED];
    gather_few(v, key, from);
    rank_keys(rank, key, v->n);
    for (int64_t k = 0; k < v->n; k++)
        put_index(v, rank[k], key[k]);
    for (int64_t k = 0; v->x && k < v->n; k++)
        move_value(v, rank[k], from[k]);
}

/* Target above, origin below. */
TSR_INLINE void gather_many(const extracted *v, uint64_t *key)
{
    const void *i = indices(v);
    for (int64_t k = 0, to = 0; to < v->n; k++) {
        const int32_t target = target_of(v, i, k);
        key[to] = (uint64_t)(uint32_t)target << 32 | (uint64_t)k;
        to += target >= 0;
    }
}

enum { WIDE_DIGIT = 11, NARROW_DIGIT = 6, MANY = 512 };

static void one_pass(uint64_t *to, const uint64_t *key, int64_t n, int shift, int digit)
{
    uint32_t place[1 << WIDE_DIGIT];
    const uint32_t values = UINT32_C(1) << digit;
    memset(place, 0, values * sizeof *place);
    for (int64_t k = 0; k < n; k++)
        place[key[k] >> shift & (values - 1)]++;
    uint32_t before = 0;
    for (uint32_t d = 0; d < values; d++) {
        const uint32_t count = place[d];
        place[d] = before;
        before += count;
    }
    for (int64_t k = 0; k < n; k++)
        to[place[key[k] >> shift & (values - 1)]++] = key[k];
}

/* By `bits` bits of the target; the sorted keys lie in one of the two. */
static const uint64_t *sort_keys(uint64_t *key, uint64_t *other, int64_t n, int bits)
{
    const int most = n < MANY ? NARROW_DIGIT : WIDE_DIGIT, passes = (bits + most - 1) / most;
    const int digit = (bits + passes - 1) / passes;
    for (int pass = 0; pass < passes; pass++) {
        one_pass(other, key, n, 32 + pass * digit, digit);
        uint64_t *sorted = other;
        other = key;
        key = sorted;
    }
    return key;
}

TSR_INLINE void sort_many(const extracted *v)
{
    const int bits = 64 - __builtin_clzll((uint64_t)v->e->places.count | 1);
    gather_many(v, v->scratch);
    const uint64_t *key = sort_keys(v->scratch, v->scratch + v->n, v->n, bits);
    for (int64_t k = 0; k < v->n; k++)
        put_index(v, k, (int64_t)(key[k] >> 32));
    for (int64_t k = 0; v->x && k < v->n; k++)
        move_value(v, k, (int64_t)(uint32_t)key[k]);
}

/* ---- all of them ---- */

enum { OFFSETS_AHEAD = 32, ENTRIES_AHEAD = 12, FETCHED = 4 };

/* Vectors in the order of a list lie anywhere.  Inlined: gcc 12 takes a function that only fetches for one without effect. */
TSR_INLINE void fetch_ahead(const tsr_extraction *e, bool narrow, bool values, int64_t k, int64_t last)
{
    if (k + OFFSETS_AHEAD < last)
        __builtin_prefetch(shown(e->a.p, e->a.narrow_offsets, e->vectors.list[k + OFFSETS_AHEAD]));
    if (k + ENTRIES_AHEAD >= last)
        return;
    const size_t size = tsr_type_size(e->a.type);
    const int64_t begin = tsr_view_start(&e->a, e->vectors.list[k + ENTRIES_AHEAD]);
    const char *i = shown(e->a.i, narrow, begin), *x = (const char *)e->a.x + (size_t)begin * size;
    for (int line = 0; line < FETCHED; line++) {
        __builtin_prefetch(i + 64 * line);
        if (values && (size_t)line * 8 < FETCHED * size)
            __builtin_prefetch(x + 64 * line);
    }
}

TSR_INLINE void fill_vectors(const tsr_extraction *e, bool narrow, bool narrow_t, const int64_t *p, void *i, void *x, int64_t first, int64_t last,
                             uint64_t *scratch)
{
    extracted v = {.e = e, .narrow = narrow, .narrow_t = narrow_t, .i = i, .x = x, .size = tsr_type_size(e->a.type), .scratch = scratch};
    for (int64_t k = first; k < last; k++) {
        const int64_t from = tsr_index_at(&e->vectors, k);
        if (e->vectors.list)
            fetch_ahead(e, narrow, x, k, last);
        v.begin = tsr_view_start(&e->a, from);
        v.end = tsr_view_start(&e->a, from + 1);
        v.at = p[k];
        v.n = p[k + 1] - p[k];
        if (v.n == 0)
            continue;
        if (!e->target)
            copy_range(&v);
        else if (e->ascending)
            copy_kept(&v);
        else if (v.n <= TSR_RANKED)
            sort_few(&v);
        else
            sort_many(&v);
    }
}

static void fill(const tsr_extraction *e, const int64_t *p, void *i, void *x, int64_t first, int64_t last, uint64_t *scratch)
{
    const bool narrow = e->a.index_size == 4;
    if (narrow && e->narrow)
        fill_vectors(e, true, true, p, i, x, first, last, scratch);
    else if (narrow)
        fill_vectors(e, true, false, p, i, x, first, last, scratch);
    else if (e->narrow)
        fill_vectors(e, false, true, p, i, x, first, last, scratch);
    else
        fill_vectors(e, false, false, p, i, x, first, last, scratch);
}

TSR_INLINE int64_t count_of(const tsr_extraction *e, bool narrow, int64_t begin, int64_t end)
{
    if (e->whole)
        return end - begin;
    if (!e->target)
        return first_at_least(e, narrow, begin, end, e->places.first + e->places.count) -
               first_at_least(e, narrow, begin, end, e->places.first);
    int64_t n = 0;
    for (int64_t k = begin; k < end; k++)
        n += e->target[tsr_offset(e->a.i, narrow, k)] >= 0;
    return n;
}

TSR_INLINE void count_vectors(const tsr_extraction *e, bool narrow, int64_t *p, int64_t first, int64_t last)
{
    for (int64_t k = first; k < last; k++) {
        const int64_t v = tsr_index_at(&e->vectors, k);
        p[k + 1] = count_of(e, narrow, tsr_view_start(&e->a, v), tsr_view_start(&e->a, v + 1));
    }
}

static void count(const tsr_extraction *e, int64_t *p, int64_t first, int64_t last)
{
    if (e->a.index_size == 4)
        count_vectors(e, true, p, first, last);
    else
        count_vectors(e, false, p, first, last);
}

const tsr_extract_loops TSR_NAME(tsr_extract_loops) = {count, fill};
