/* Entries of a Kronecker product, one segment after the other: an entry of A times a vector of B.  Indices and operands of short segments are laid side by
 * side first, whatever vectors they are of: values are computed some hundred at a time, and C, which may be large, is written line by line.
 * Compiled once per instruction set.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/kronecker/kronecker_entries.h"

#include <string.h>

#include "kernels/cpu/common/simd.h"
#include "src/base/split.h"
#include "src/base/types.h"

enum { LANES = TSR_KRONECKER_LANES, BLOCK = 512, LONG = 64, WIDEST = 8 };

typedef struct block_buffer {
    _Alignas(64) char bytes[(BLOCK + LANES) * WIDEST];
} block_buffer;

/* What one thread holds: of short segments the entries that go to C together. */
typedef struct filling {
    const tsr_kronecker_job *job;
    size_t size, c_size;   /* of a value of the operands, of C */
    bool lays_x, lays_y;   /* they differ from segment to segment */
    int64_t at, last;      /* the next entry of C, the end of the share */
    int64_t laid;          /* entries before `at` that lie in the buffers, and are not in C yet */
    block_buffer i, x, y, z;
} filling;

TSR_INLINE int64_t in_lanes(int64_t n)
{
    return (n + LANES - 1) / LANES * LANES;
}

/* ---- indices ---- */

/* to[0..n) = base + from[0..n); whole: and as many more as fill the lanes. */
#define PUT_INDICES(name, T)                                                                               \
    TSR_INLINE void put_##name(T *restrict to, const T *restrict from, int64_t n, int64_t base, bool whole) \
    {                                                                                                      \
        if (!whole) {                                                                                      \
            for (int64_t t = 0; t < n; t++)                                                                \
                to[t] = (T)base + from[t];                                                                 \
            return;                                                                                        \
        }                                                                                                  \
        for (int64_t t = 0; t < n; t += LANES)                                                             \
            for (int l = 0; l < LANES; l++)                                                                \
                to[t + l] = (T)base + from[t + l];                                                         \
    }
PUT_INDICES(wide, int64_t)
PUT_INDICES(narrow, uint32_t)

/* Behind `at` others of the array; `from` of B's indices. */
TSR_INLINE void put_indices(void *to, int64_t at, const void *b, int64_t from, int64_t n, int64_t base, bool whole, bool narrow)
{
    if (narrow)
        put_narrow((uint32_t *)to + at, (const uint32_t *)b + from, n, base, whole);
    else
        put_wide((int64_t *)to + at, (const int64_t *)b + from, n, base, whole);
}

/* ---- values ---- */

#define FOR_SIZES(F) F(1, uint8_t) F(2, uint16_t) F(4, uint32_t) F(8, uint64_t)

/* Into a buffer, which has room for all lanes; whole: so has what is read. */
#define LAY(bytes, T)                                                                       \
    TSR_INLINE void repeat_##bytes(T *restrict to, T value, int64_t n)                      \
    {                                                                                       \
        for (int64_t t = 0; t < n; t += LANES)                                              \
            for (int l = 0; l < LANES; l++)                                                 \
                to[t + l] = value;                                                          \
    }                                                                                       \
    TSR_INLINE void copy_##bytes(T *restrict to, const T *restrict from, int64_t n, bool whole) \
    {                                                                                       \
        if (!whole) {                                                                       \
            for (int64_t t = 0; t < n; t++)                                                 \
                to[t] = from[t];                                                            \
            return;                                                                         \
        }                                                                                   \
        for (int64_t t = 0; t < n; t += LANES)                                              \
            for (int l = 0; l < LANES; l++)                                                 \
                to[t + l] = from[t + l];                                                    \
    }
FOR_SIZES(LAY)

#define REPEAT_CASE(bytes, T) case bytes: repeat_##bytes((T *)to + at, ((const T *)x)[from], n); break;
#define COPY_CASE(bytes, T) case bytes: copy_##bytes((T *)to + at, (const T *)x + from, n, whole); break;

TSR_INLINE void repeat(void *to, int64_t at, const void *x, int64_t from, int64_t n, size_t size)
{
    switch (size) {
    FOR_SIZES(REPEAT_CASE)
    default: break;
    }
}

TSR_INLINE void copy(void *to, int64_t at, const void *x, int64_t from, int64_t n, size_t size, bool whole)
{
    switch (size) {
    FOR_SIZES(COPY_CASE)
    default: break;
    }
}

/* Values of n entries of C from `to` on. */
static void compute(filling *f, const void *x, const void *y, int64_t to, int64_t n)
{
    const tsr_kronecker *k = f->job->k;
    char *c = (char *)f->job->c.x + (size_t)to * f->c_size;
    const bool same = k->result == k->c_type, swaps = tsr_kronecker_swaps(k->op);
    const void *z = f->job->table->operate(k->op, k->type, swaps ? y : x, swaps ? x : y, same ? c : f->z.bytes, n);
    if (!same)
        tsr_cast_values(c, k->c_type, z, k->result, n, 1);
    else if (z != c)
        memcpy(c, z, (size_t)n * f->c_size);
}

/* ---- segments ---- */

/* How arrays are: known where what takes it is inlined. */
typedef struct widths {
    size_t size; /* of values; 0: none */
    bool lists, narrow; /* C has indices, of 32 bits */
} widths;

static void put_laid(filling *f)
{
    const tsr_kronecker_job *j = f->job;
    const size_t width = j->k->narrow ? sizeof(uint32_t) : sizeof(int64_t);
    if (f->laid > 0 && j->c.i)
        memcpy((char *)j->c.i + (size_t)(f->at - f->laid) * width, f->i.bytes, (size_t)f->laid * width);
    if (f->laid > 0 && j->c.x)
        compute(f, f->x.bytes, f->y.bytes, f->at - f->laid, f->laid);
    f->laid = 0;
}

/* Straight to C; y lies as B has it. */
static void compute_long(filling *f, int64_t of_a, int64_t of_b, int64_t n)
{
    if (f->lays_x)
        repeat(f->x.bytes, 0, f->job->a.x, of_a, n < BLOCK ? n : BLOCK, f->size);
    for (int64_t t = 0; t < n; t += BLOCK) {
        const void *y = f->lays_y ? (const char *)f->job->b.x + (size_t)(of_b + t) * f->size : f->y.bytes;
        compute(f, f->x.bytes, y, f->at + t, n - t < BLOCK ? n - t : BLOCK);
    }
}

/* Where an entry of C comes from: stored vectors of A and B, entries of A, and of B's vector before it. */
typedef struct origin {
    int64_t v, u, of_a, before;
} origin;

static origin find(const tsr_factor *a, const tsr_factor *b, int64_t entry)
{
    origin o = {.v = tsr_vector_of(tsr_offsets_wide(a->p), a->nvec, entry / b->nvals)};
    const int64_t length = a->p[o.v + 1] - a->p[o.v], of_v = entry - a->p[o.v] * b->nvals;
    o.u = tsr_vector_of(tsr_offsets_wide(b->p), b->nvec, of_v / length);
    const int64_t n = b->p[o.u + 1] - b->p[o.u], of_u = of_v - length * b->p[o.u];
    o.of_a = a->p[o.v] + of_u / n;
    o.before = of_u % n;
    return o;
}

/* The next pair of vectors that both have entries. */
TSR_INLINE void advance(origin *o, const tsr_factor *a, const tsr_factor *b)
{
    do
        o->u++;
    while (o->u < b->nvec && b->p[o->u] == b->p[o->u + 1]);
    if (o->u == b->nvec) {
        for (o->u = 0; b->p[o->u] == b->p[o->u + 1]; o->u++)
            ;
        for (o->v++; a->p[o->v] == a->p[o->v + 1]; o->v++)
            ;
    }
    o->of_a = a->p[o->v];
}

/* Entry of_a of A, whose index is i, times n entries of B from of_b on, of which `before` entries of its vector come first. */
TSR_INLINE void put_segment(filling *f, const widths w, int64_t i, int64_t of_a, int64_t of_b, int64_t before, int64_t n)
{
    const tsr_kronecker_job *j = f->job;
    const int64_t from = j->b.full ? before : of_b, base = i * j->b.vlen;
    const bool whole = of_b + in_lanes(n) <= j->b.room;
    if (n > LONG || f->laid + n > BLOCK)
        put_laid(f);
    if (w.lists && n > LONG)
        put_indices(j->c.i, f->at, j->b.i, from, n, base, false, w.narrow);
    else if (w.lists)
        put_indices(f->i.bytes, f->laid, j->b.i, from, n, base, whole, w.narrow);
    if (w.size && n > LONG)
        compute_long(f, of_a, of_b, n);
    else if (f->lays_x)
        repeat(f->x.bytes, f->laid, j->a.x, of_a, n, w.size);
    if (f->lays_y && n <= LONG)
        copy(f->y.bytes, f->laid, j->b.x, of_b, n, w.size, whole);
    f->laid += n > LONG ? 0 : n;
    f->at += n;
}

#define LANES_OF(bytes, T) typedef T lanes_##bytes __attribute__((vector_size(LANES * bytes), aligned(bytes), may_alias));
FOR_SIZES(LANES_OF)

#define LAY_LANES(bytes, T)                                                            \
    case bytes:                                                                        \
        if (lays_x)                                                                    \
            *(lanes_##bytes *)((T *)x + at) = ((const T *)of_x)[e] - (lanes_##bytes){0}; \
        if (lays_y)                                                                    \
            *(lanes_##bytes *)((T *)y + at) = *(const lanes_##bytes *)of_y;            \
        break;

/* Segments of n <= LANES entries, those of `count` entries of A and a whole vector of B, into the buffers. */
TSR_INLINE void lay_short_segments(filling *f, const widths w, const origin *o, int64_t n, int64_t count)
{
    const tsr_factor *a = &f->job->a, *b = &f->job->b;
    const bool full = a->full, narrow = a->narrow, lays_x = f->lays_x, lays_y = f->lays_y;
    const void *of_i = a->i, *of_x = lays_x ? (const char *)a->x + (size_t)o->of_a * w.size : NULL;
    const int64_t vlen = b->vlen, begin = b->p[o->u], from = b->full ? 0 : begin, of_a = o->of_a, first = a->p[o->v], laid = f->laid;
    const void *i = (const char *)b->i + (size_t)from * (w.narrow ? 4 : 8), *of_y = lays_y ? (const char *)b->x + (size_t)begin * w.size : NULL;
    char *c = f->i.bytes, *x = f->x.bytes, *y = f->y.bytes;
    for (int64_t e = 0, at = laid; e < count; e++, at += n) {
        const int64_t base = (full ? of_a + e - first : tsr_offset(of_i, narrow, of_a + e)) * vlen;
        if (w.lists && w.narrow)
            *(lanes_4 *)((uint32_t *)c + at) = *(const lanes_4 *)i + (uint32_t)base;
        else if (w.lists)
            *(lanes_8 *)((uint64_t *)c + at) = *(const lanes_8 *)i + (uint64_t)base;
        switch (w.size) {
        FOR_SIZES(LAY_LANES)
        default: break;
        }
    }
    f->at += count * n;
    f->laid += count * n;
}

/* How many segments of n entries, the next ones, may be laid so; 0: none. */
TSR_INLINE int64_t short_segments(filling *f, const origin *o, int64_t n)
{
    const tsr_factor *a = &f->job->a, *b = &f->job->b;
    if (n > LANES || o->before > 0 || b->p[o->u] + LANES > b->room)
        return 0;
    if (f->laid + n > BLOCK)
        put_laid(f);
    const int64_t left = f->last - f->at, room = BLOCK - f->laid, places = left < room ? left : room, most = a->p[o->v + 1] - o->of_a;
    return most * n <= places ? most : places / n;
}

TSR_INLINE void put_entries(filling *f, const widths w, int64_t first)
{
    const tsr_factor *a = &f->job->a, *b = &f->job->b;
    origin o = find(a, b, first);
    for (;; advance(&o, a, b)) {
        const int64_t begin = b->p[o.u], n = b->p[o.u + 1] - begin;
        while (o.of_a < a->p[o.v + 1]) {
            const int64_t some = short_segments(f, &o, n), rest = n - o.before < f->last - f->at ? n - o.before : f->last - f->at;
            if (some > 0)
                lay_short_segments(f, w, &o, n, some);
            else
                put_segment(f, w, a->full ? o.of_a - a->p[o.v] : tsr_offset(a->i, a->narrow, o.of_a), o.of_a, begin + o.before, o.before, rest);
            if (f->at == f->last)
                return;
            o.of_a += some > 0 ? some : 1;
            o.before = 0;
        }
    }
}

#define LISTS_CASE(bytes, T)                                        \
    case bytes:                                                     \
        if (f->job->k->narrow)                                      \
            put_entries(f, (widths){bytes, true, true}, first);     \
        else                                                        \
            put_entries(f, (widths){bytes, true, false}, first);    \
        break;

static void fill_lists(filling *f, int64_t first)
{
    switch (f->size) {
    FOR_SIZES(LISTS_CASE)
    LISTS_CASE(0, void)
    default: break;
    }
}

static void fill(const tsr_kronecker_job *job, int64_t first, int64_t last)
{
    filling f;
    f.job = job;
    f.size = job->c.x ? tsr_type_size(job->k->type) : 0;
    f.c_size = tsr_type_size(job->k->c_type);
    f.lays_x = job->a.x && !job->a.iso;
    f.lays_y = job->b.x && !job->b.iso;
    f.at = first;
    f.last = last;
    f.laid = 0;
    if (job->a.x && job->a.iso)
        repeat(f.x.bytes, 0, job->a.x, 0, BLOCK, f.size);
    if (job->b.x && job->b.iso)
        repeat(f.y.bytes, 0, job->b.x, 0, BLOCK, f.size);
    if (job->c.i)
        fill_lists(&f, first);
    else
        put_entries(&f, (widths){f.size, false, false}, first);
    put_laid(&f);
}

tsr_kronecker_fill *const TSR_NAME(tsr_kronecker_entries) = fill;
