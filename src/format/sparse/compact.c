/* Masked results into compressed arrays, and which rows of a matrix have entries.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/format/sparse/format.h"

#include "src/base/split.h"
#include "src/base/types.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ENTRIES = 1 << 16, FIRST_VECTORS = 1 << 12 };

static int64_t sum_bytes(const int8_t *b, int64_t begin, int64_t end)
{
    int64_t sum = 0;
    for (int64_t e = begin; e < end; e++)
        sum += b[e];
    return sum;
}

/* Of n <= 8 bytes that are 0 or 1, eight being readable: no branch depends on n. */
static int64_t sum_few(const int8_t *b, int64_t n)
{
    uint64_t word;
    memcpy(&word, b, sizeof word);
    return (int64_t)((n > 0 ? word << (64 - 8 * n) : 0) * UINT64_C(0x0101010101010101) >> 56);
}

/* p[v + 1] = entries kept in the vectors [first, v] of one part. */
static void count_part(int64_t *p, const tsr_view *mask, const int8_t *b, int64_t first, int64_t last)
{
    const int64_t readable = tsr_view_start(mask, mask->nvec) - 8;
    int64_t kept = 0, end = tsr_view_start(mask, first);
    for (int64_t v = first; v < last; v++) {
        const int64_t begin = end, n = tsr_view_start(mask, v + 1) - begin;
        end = begin + n;
        kept += n <= 8 && begin <= readable ? sum_few(b + begin, n) : sum_bytes(b, begin, begin + n);
        p[v + 1] = kept;
    }
}

int64_t tsr_compact_count(int64_t *p, const tsr_view *mask, const int8_t *b, int nthreads)
{
    const tsr_offsets offsets = tsr_offsets_of(mask);
    int nparts = tsr_pass_threads(mask->nvals + mask->nvec, nthreads);
    p[0] = 0;
#pragma omp parallel for num_threads(tsr_team(nparts)) schedule(static, 1) if (nparts > 1)
    for (int part = 0; part < nparts; part++)
        count_part(p, mask, b, tsr_part_vector_of(offsets, mask->nvec, part, nparts),
                   tsr_part_vector_of(offsets, mask->nvec, part + 1, nparts));

    for (int part = 0; part < nparts; part++)
        tsr_join_last(p, tsr_part_vector_of(offsets, mask->nvec, part, nparts), tsr_part_vector_of(offsets, mask->nvec, part + 1, nparts));
#pragma omp parallel for num_threads(tsr_team(nparts)) schedule(static, 1) if (nparts > 1)
    for (int part = 0; part < nparts; part++)
        tsr_join_others(p, tsr_part_vector_of(offsets, mask->nvec, part, nparts), tsr_part_vector_of(offsets, mask->nvec, part + 1, nparts));
    return p[mask->nvec];
}

/* Are eight bytes from e on 0, and readable? */
static inline bool none_of_eight(const int8_t *b, int64_t e, int64_t readable)
{
    uint64_t word = 1;
    if (e <= readable)
        memcpy(&word, b + e, sizeof word);
    return word == 0;
}

/* Written without a branch per entry: every entry goes to the next free place, only kept ones advance it; but eight that are not kept are
 * passed at once, and their values not read.  Stops with the last kept one, so nothing is written past `kept_end`. */
static inline __attribute__((always_inline)) void
fill_part(void *restrict i, bool to_narrow, char *restrict x, int64_t q, int64_t kept_end, const tsr_view *mask,
          const int8_t *restrict b, const char *restrict mask_x, size_t element_size, int64_t e)
{
    const uint32_t *i32 = mask->i;
    const int64_t *i64 = mask->i, readable = tsr_view_start(mask, mask->nvec) - 8;
    bool narrow = mask->index_size == 4;
    while (q < kept_end) {
        if (none_of_eight(b, e, readable)) {
            e += 8;
            continue;
        }
        for (const int64_t stop = e + 8; e < stop && q < kept_end; e++) {
            const int64_t index = narrow ? (int64_t)i32[e] : i64[e];
            if (to_narrow)
                ((uint32_t *)i)[q] = (uint32_t)index;
            else
                ((int64_t *)i)[q] = index;
            if (element_size)
                memcpy(x + (size_t)q * element_size, mask_x + (size_t)e * element_size, element_size);
            q += b[e];
        }
    }
}

int64_t tsr_compact_vectors(int64_t *p, int64_t *h, int64_t nvec)
{
    int64_t kept = 0;
    for (int64_t v = 0; v < nvec; v++) {
        const int64_t start = p[v];
        if (start == p[v + 1])
            continue;
        p[kept] = start;
        h[kept++] = h[v];
    }
    p[kept] = p[nvec];
    return kept;
}

static inline __attribute__((always_inline)) void fill_sized(void *i, bool narrow, char *x, int64_t q, int64_t end, const tsr_view *mask,
                                                             const int8_t *b, const char *mask_x, size_t element_size, int64_t e)
{
    switch (element_size) {
    case 0: fill_part(i, narrow, NULL, q, end, mask, b, NULL, 0, e); break;
    case 1: fill_part(i, narrow, x, q, end, mask, b, mask_x, 1, e); break;
    case 2: fill_part(i, narrow, x, q, end, mask, b, mask_x, 2, e); break;
    case 4: fill_part(i, narrow, x, q, end, mask, b, mask_x, 4, e); break;
    case 8: fill_part(i, narrow, x, q, end, mask, b, mask_x, 8, e); break;
    default: fill_part(i, narrow, x, q, end, mask, b, mask_x, element_size, e); break;
    }
}

void tsr_compact_fill(void *i, bool narrow, void *x, const int64_t *p, const tsr_view *mask, const int8_t *b, const void *mask_x,
                      size_t element_size, int nthreads)
{
    const tsr_offsets offsets = tsr_offsets_of(mask);
    int nparts = tsr_pass_threads(mask->nvals, nthreads);
#pragma omp parallel for num_threads(tsr_team(nparts)) schedule(static, 1) if (nparts > 1)
    for (int part = 0; part < nparts; part++) {
        int64_t first = tsr_part_vector_of(offsets, mask->nvec, part, nparts);
        int64_t last = tsr_part_vector_of(offsets, mask->nvec, part + 1, nparts);
        int64_t q = p[first], end = p[last], e = tsr_offset_at(offsets, first);
        const size_t size = x && mask_x ? element_size : 0;
        if (narrow)
            fill_sized(i, true, x, q, end, mask, b, mask_x, size, e);
        else
            fill_sized(i, false, x, q, end, mask, b, mask_x, size, e);
    }
}

/* The stored vector, v or a later one, that entry e is in: twice as far each time, then between. */
static int64_t vector_from(tsr_offsets p, int64_t v, int64_t nvec, int64_t e)
{
    int64_t step = 1;
    while (v + step < nvec && tsr_offset_at(p, v + step) <= e) {
        v += step;
        step *= 2;
    }
    return v + tsr_vector_of(tsr_offsets_from(p, v), step < nvec - v ? step : nvec - v, e);
}

/* Of the kept ones among entries [e, end), the first of which becomes the q-th. */
static void name_vectors(int64_t *h, int64_t q, const tsr_view *mask, const int8_t *b, int64_t e, int64_t end)
{
    const tsr_offsets p = tsr_offsets_of(mask);
    int64_t v = tsr_vector_of(p, mask->nvec, e);
    while (e < end) {
        if (none_of_eight(b, e, end - 8)) {
            e += 8;
            continue;
        }
        for (const int64_t stop = e + 8 < end ? e + 8 : end; e < stop; e++)
            if (b[e])
                h[q++] = v = vector_from(p, v, mask->nvec, e);
    }
}

bool tsr_compact_few(int64_t *h, void *i, bool narrow, void *x, int64_t kept, const tsr_view *mask, const int8_t *b, const void *mask_x,
                     size_t element_size, int nthreads)
{
    enum { MOST = 64 };
    const int wanted = tsr_pass_threads(mask->nvals, nthreads), nparts = wanted < MOST ? wanted : MOST;
    const size_t size = x && mask_x ? element_size : 0;
    int64_t before[MOST + 1] = {0};
#pragma omp parallel for num_threads(tsr_team(nparts)) schedule(static, 1) if (nparts > 1)
    for (int part = 0; part < nparts; part++)
        before[part + 1] = sum_bytes(b, tsr_part_begin(mask->nvals, part, nparts), tsr_part_begin(mask->nvals, part + 1, nparts));
    for (int part = 0; part < nparts; part++)
        before[part + 1] += before[part];
    if (before[nparts] != kept)
        return false;
#pragma omp parallel for num_threads(tsr_team(nparts)) schedule(static, 1) if (nparts > 1)
    for (int part = 0; part < nparts; part++) {
        const int64_t q = before[part], kept_end = before[part + 1], e = tsr_part_begin(mask->nvals, part, nparts);
        if (q < kept_end)
            name_vectors(h, q, mask, b, e, tsr_part_begin(mask->nvals, part + 1, nparts));
        if (narrow)
            fill_sized(i, true, x, q, kept_end, mask, b, mask_x, size, e);
        else
            fill_sized(i, false, x, q, kept_end, mask, b, mask_x, size, e);
    }
    return true;
}

/* Places of a bitmap on their way, of which q come before. */
typedef struct compaction {
    int64_t *p, *i;
    char *x;
    const int8_t *b; /* NULL: everything is present */
    const char *from;
    int64_t vlen, begin, end, q, kept_end;
} compaction;

static bool none_present(const int8_t *b)
{
    uint64_t eight;
    memcpy(&eight, b, sizeof eight);
    return eight == 0;
}

/* Written without a branch per place, as above. */
static inline __attribute__((always_inline)) void compact_part(const compaction *c, size_t size)
{
    int64_t q = c->q;
    for (int64_t v = c->begin / c->vlen, k = c->begin; k < c->end; v++) {
        const int64_t first = v * c->vlen, last = first + c->vlen < c->end ? first + c->vlen : c->end;
        while (k < last) {
            const int64_t stop = k + 8 < last ? k + 8 : last;
            if (c->b && stop - k == 8 && none_present(c->b + k)) {
                k = stop;
                continue;
            }
            for (; k < stop && q < c->kept_end; k++) {
                c->i[q] = k - first;
                memcpy(c->x + (size_t)q * size, c->from + (size_t)k * size, size);
                q += c->b ? c->b[k] : 1;
            }
            k = stop;
        }
        if (k == first + c->vlen)
            c->p[v + 1] = q;
    }
}

static void compact_by_size(const compaction *c, size_t size)
{
    switch (size) {
    case 1: compact_part(c, 1); break;
    case 2: compact_part(c, 2); break;
    case 4: compact_part(c, 4); break;
    case 8: compact_part(c, 8); break;
    default: compact_part(c, size); break;
    }
}

void tsr_compact_bitmap(int64_t *p, int64_t *i, void *x, const int8_t *b, const void *from, size_t element_size, int64_t nvec,
                        int64_t vlen, int nthreads)
{
    enum { MOST = 64 };
    const int64_t places = nvec * vlen;
    const int wanted = tsr_pass_threads(places, nthreads), nparts = wanted < MOST ? wanted : MOST;
    int64_t before[MOST + 1] = {0};
    if (vlen == 0) {
        memset(p, 0, (size_t)(nvec + 1) * sizeof *p);
        return;
    }
#pragma omp parallel for num_threads(tsr_team(nparts)) schedule(static, 1) if (nparts > 1)
    for (int part = 0; part < nparts; part++) {
        const int64_t begin = tsr_part_begin(places, part, nparts), end = tsr_part_begin(places, part + 1, nparts);
        before[part + 1] = b ? sum_bytes(b, begin, end) : end - begin;
    }
    for (int part = 0; part < nparts; part++)
        before[part + 1] += before[part];
    p[0] = 0;
#pragma omp parallel for num_threads(tsr_team(nparts)) schedule(static, 1) if (nparts > 1)
    for (int part = 0; part < nparts; part++) {
        const compaction c = {.p = p, .i = i, .x = x, .b = b, .from = from, .vlen = vlen, .begin = tsr_part_begin(places, part, nparts),
                              .end = tsr_part_begin(places, part + 1, nparts), .q = before[part], .kept_end = before[part + 1]};
        compact_by_size(&c, element_size);
    }
}

typedef struct spreading {
    int8_t *b;
    char *x;
    const int64_t *p, *h;
    const void *i;
    bool narrow;
    const char *from;
    int64_t nvec, vlen, places;
} spreading;

/* The first place of stored vector v. */
static int64_t place_of(const spreading *s, int64_t v)
{
    return v == s->nvec ? s->places : (s->h ? s->h[v] : v) * s->vlen;
}

static inline __attribute__((always_inline)) void spread_part(const spreading *s, int64_t first, int64_t last, size_t size)
{
    const int64_t begin = first ? place_of(s, first) : 0;
    int8_t *restrict b = s->b;
    char *restrict x = s->x;
    const char *restrict from = s->from;
    const void *restrict i = s->i;
    const bool narrow = s->narrow;
    memset(b + begin, 0, (size_t)(place_of(s, last) - begin));
    for (int64_t v = first; v < last; v++) {
        const int64_t start = place_of(s, v), end = s->p[v + 1];
        for (int64_t e = s->p[v]; e < end; e++) {
            const int64_t at = start + tsr_offset(i, narrow, e);
            b[at] = 1;
            if (size)
                memcpy(x + (size_t)at * size, from + (size_t)e * size, size);
        }
    }
}

static void spread_by_size(const spreading *s, int64_t first, int64_t last, size_t size)
{
    switch (size) {
    case 0: spread_part(s, first, last, 0); break;
    case 1: spread_part(s, first, last, 1); break;
    case 2: spread_part(s, first, last, 2); break;
    case 4: spread_part(s, first, last, 4); break;
    case 8: spread_part(s, first, last, 8); break;
    default: spread_part(s, first, last, size); break;
    }
}

void tsr_spread_lists(int8_t *b, void *x, const int64_t *p, const int64_t *h, const void *i, bool narrow, const void *from,
                      size_t element_size, int64_t nvec, int64_t places, int64_t vlen, int nthreads)
{
    const spreading s = {.b = b, .x = x, .p = p, .h = h, .i = i, .narrow = narrow, .from = from, .nvec = nvec, .vlen = vlen,
                         .places = places};
    const int nparts = tsr_pass_threads(places, nthreads);
#pragma omp parallel for num_threads(tsr_team(nparts)) schedule(static, 1) if (nparts > 1)
    for (int part = 0; part < nparts; part++)
        spread_by_size(&s, tsr_part_vector(p, nvec, part, nparts), tsr_part_vector(p, nvec, part + 1, nparts), element_size);
}

static void flag_vectors(int8_t *flags, const tsr_view *a)
{
    if (a->h)
        for (int64_t v = 0; v < a->nvec; v++)
            flags[a->h[v]] = tsr_view_start(a, v + 1) > tsr_view_start(a, v);
    else
        for (int64_t v = 0; v < a->nvec; v++)
            flags[v] = tsr_view_start(a, v + 1) > tsr_view_start(a, v);
}

/* Parts may flag the same row: relaxed stores of the same value, and only where none was made, as hubs would wander between caches. */
static inline void flag(int8_t *row)
{
    if (!__atomic_load_n(row, __ATOMIC_RELAXED))
        __atomic_store_n(row, 1, __ATOMIC_RELAXED);
}

static void flag_indices(int8_t *flags, const tsr_view *a, int64_t begin, int64_t end)
{
    const uint32_t *i32 = a->i;
    const int64_t *i64 = a->i;
    if (a->index_size == 4)
        for (int64_t e = begin; e < end; e++)
            flag(&flags[i32[e]]);
    else
        for (int64_t e = begin; e < end; e++)
            flag(&flags[i64[e]]);
}

/* Sets a bit; was it set? */
static bool set_bit(uint64_t *bits, int64_t at)
{
    const uint64_t bit = UINT64_C(1) << at % 64;
    const bool was = bits[at / 64] & bit;
    bits[at / 64] |= bit;
    return was;
}

bool tsr_share_rows(const tsr_view *a, int64_t spare)
{
    const int64_t count = a->nvals < FIRST_ENTRIES ? a->nvals : FIRST_ENTRIES;
    uint64_t *seen = calloc((size_t)(a->nrows / 64 + 1), sizeof *seen);
    for (int64_t e = 0; seen && spare >= 0 && e < count; e++)
        spare -= set_bit(seen, tsr_offset(a->i, a->index_size == 4, e));
    free(seen);
    return spare < 0;
}

static bool none_empty(const tsr_view *a, int64_t begin, int64_t end)
{
    for (int64_t v = begin; v < end; v++)
        if (tsr_view_start(a, v) == tsr_view_start(a, v + 1))
            return false;
    return true;
}

bool tsr_no_vector_empty(const tsr_view *a, int nthreads)
{
    const int nparts = tsr_parts(a->nvec, 1 << 16, nthreads);
    bool none = none_empty(a, 0, a->nvec < FIRST_VECTORS ? a->nvec : FIRST_VECTORS);
#pragma omp parallel for num_threads(tsr_team(nparts)) schedule(static, 1) reduction(&& : none) if (none && nparts > 1)
    for (int part = 0; part < nparts; part++)
        none = none && none_empty(a, tsr_part_begin(a->nvec, part, nparts), tsr_part_begin(a->nvec, part + 1, nparts));
    return none;
}

int64_t tsr_nonempty_rows(int8_t *flags, const tsr_view *a, int nthreads)
{
    memset(flags, 0, (size_t)a->nrows);
    if (!a->by_col) {
        flag_vectors(flags, a);
        return sum_bytes(flags, 0, a->nrows);
    }
    int nparts = tsr_parts(a->nvals, 1 << 16, nthreads);
#pragma omp parallel for num_threads(tsr_team(nparts)) schedule(static, 1) if (nparts > 1)
    for (int part = 0; part < nparts; part++)
        flag_indices(flags, a, tsr_part_begin(a->nvals, part, nparts), tsr_part_begin(a->nvals, part + 1, nparts));
    return sum_bytes(flags, 0, a->nrows);
}
