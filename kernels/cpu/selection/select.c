/* Selection by value or by a function: a bit for every entry, counted by vector, then the entries with one.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/common/chunks.h"
#include "kernels/cpu/elementwise/ewise_loops.h"
#include "kernels/cpu/selection/select_places.h"
#include "kernels/selection.h"
#include "src/base/split.h"

enum { WORD = 64, BLOCK = 512, PARTS_PER_THREAD = 8 };

typedef struct selecting {
    const tsr_selection *s;
    int64_t *counts;  /* p of the result, written: counts at [v + 1] */
    const int64_t *p; /* ... read */
    void *i, *x;
    size_t size;
    tsr_ewise_table loops;
    int nparts;
    _Alignas(64) char thunks[BLOCK * sizeof(uint64_t)];
} selecting;

/* ---- bits ---- */

/* Of 64 flags, bytes 0 and 1; the product moves the lowest bits of eight bytes into its highest byte. */
static uint64_t bits_of(const uint8_t *flags)
{
    uint64_t word = 0;
    for (int k = 0; k < WORD / 8; k++) {
        uint64_t eight;
        memcpy(&eight, flags + 8 * k, sizeof eight);
        word |= (eight * UINT64_C(0x0102040810204080) >> 56) << 8 * k;
    }
    return word;
}

/* Entries [first, first + n), n at most a block; first a multiple of it. */
static void compare_block(const selecting *w, int64_t first, int64_t n)
{
    uint8_t flags[BLOCK] = {0};
    const tsr_view *a = &w->s->a;
    w->loops.operate(w->s->keep, a->type, (const char *)a->x + (size_t)first * w->size, w->thunks, flags, n);
    for (int64_t k = 0; k < n; k += WORD)
        w->s->kept[(first + k) / WORD] = bits_of(flags + k);
}

/* The values of a block in the type that the function takes. */
typedef struct block_values {
    const char *x;   /* of entry `first` */
    int64_t first;
    size_t step;     /* bytes; 0: one value */
    uint64_t cast[BLOCK];
} block_values;

static void take_values(block_values *values, const selecting *w, int64_t first, int64_t n)
{
    const tsr_selection *s = w->s;
    const tsr_view *a = &s->a;
    values->first = first;
    values->step = a->iso ? 0 : tsr_type_size(s->x_type);
    values->x = (const char *)a->x + (a->iso ? 0 : (size_t)first * w->size);
    if (s->x_type == a->type)
        return;
    tsr_cast_values(values->cast, s->x_type, values->x, a->type, a->iso ? 1 : n, 1);
    values->x = (const char *)values->cast;
}

/* Entries [from, to) of stored vector v; their words are this thread's. */
static void ask_vector(const selecting *w, const block_values *values, int64_t v, int64_t from, int64_t to)
{
    const tsr_selection *s = w->s;
    const uint64_t name = (uint64_t)(s->a.h ? s->a.h[v] : v);
    const char *x = values->x + (size_t)(from - values->first) * values->step;
    const bool narrow = s->a.index_size == 4, by_col = s->a.by_col;
    uint64_t word = 0; /* added to the list when it ends: a sum in memory would wait for each answer */
    for (int64_t e = from; e < to; e++, x += values->step) {
        const uint64_t index = (uint64_t)tsr_offset(s->a.i, narrow, e);
        bool stays = false;
        s->function(&stays, x, by_col ? index : name, by_col ? name : index, &s->thunk);
        word |= (uint64_t)stays << e % WORD;
        if (e % WORD == WORD - 1 || e + 1 == to) {
            s->kept[e / WORD] |= word;
            word = 0;
        }
    }
}

/* A vector may go on in the next block. */
static void ask_block(const selecting *w, int64_t *v, int64_t from, int64_t to)
{
    block_values values;
    take_values(&values, w, from, to - from);
    memset(w->s->kept + from / WORD, 0, BLOCK / 8);
    while (from < to) {
        const int64_t end = tsr_view_start(&w->s->a, *v + 1), last = end < to ? end : to;
        ask_vector(w, &values, *v, from, last);
        *v += last == end;
        from = last;
    }
}

static void ask_blocks(const selecting *w, int64_t first, int64_t last)
{
    const tsr_view *a = &w->s->a;
    int64_t v = tsr_vector_of(tsr_offsets_of(a), a->nvec, first * BLOCK);
    for (int64_t block = first; block < last; block++)
        ask_block(w, &v, block * BLOCK, (block + 1) * BLOCK < a->nvals ? (block + 1) * BLOCK : a->nvals);
}

static void compare_blocks(const selecting *w, int64_t first, int64_t last)
{
    const int64_t n = w->s->a.nvals;
    for (int64_t block = first; block < last; block++)
        compare_block(w, block * BLOCK, n - block * BLOCK < BLOCK ? n - block * BLOCK : BLOCK);
}

/* The bits of entries [from, to) among those of one word. */
static uint64_t some_bits(const uint64_t *kept, int64_t word, int64_t from, int64_t to)
{
    const int64_t begin = word * WORD;
    uint64_t bits = kept[word];
    if (from > begin)
        bits &= ~UINT64_C(0) << (from - begin);
    if (to < begin + WORD)
        bits &= ~(~UINT64_C(0) << (to - begin));
    return bits;
}

/* ---- counts ---- */

static int64_t count_bits(const uint64_t *kept, int64_t from, int64_t to)
{
    int64_t n = 0;
    for (int64_t word = from / WORD; word * WORD < to; word++)
        n += __builtin_popcountll(some_bits(kept, word, from, to));
    return n;
}

/* Entries [from, to) add to the counts of their vectors, of which the first and the last may be others' too. */
static void count_entries(const selecting *w, int64_t from, int64_t to)
{
    const tsr_view *a = &w->s->a;
    int64_t begin = from;
    for (int64_t v = tsr_vector_of(tsr_offsets_of(a), a->nvec, from); begin < to; v++) {
        const int64_t end = tsr_view_start(a, v + 1), last = end < to ? end : to;
        if (begin == last)
            continue;
        const int64_t n = count_bits(w->s->kept, begin, last);
        if (begin == tsr_view_start(a, v) && last == end)
            w->counts[v + 1] = n;
        else
            __atomic_fetch_add(&w->counts[v + 1], n, __ATOMIC_RELAXED);
        begin = last;
    }
}

static void compare_and_count(void *context, int64_t first, int64_t last)
{
    const selecting *w = context;
    const int64_t n = w->s->a.nvals;
    if (w->s->function)
        ask_blocks(w, first, last);
    else
        compare_blocks(w, first, last);
    count_entries(w, first * BLOCK, last * BLOCK < n ? last * BLOCK : n);
}

/* ---- entries ---- */

#define COPY_AS(Z, z, X, x) \
    for (uint64_t rest = bits; rest; rest &= rest - 1) \
        ((Z *)(z))[to++] = (Z)((const X *)(x))[first + __builtin_ctzll(rest)];
#define COPY(T, z, x) COPY_AS(T, z, T, x)

static void copy_values(const selecting *w, uint64_t bits, int64_t first, int64_t to)
{
    switch (w->size) {
    case 1: COPY(uint8_t, w->x, w->s->a.x) break;
    case 2: COPY(uint16_t, w->x, w->s->a.x) break;
    case 4: COPY(uint32_t, w->x, w->s->a.x) break;
    default: COPY(uint64_t, w->x, w->s->a.x) break;
    }
}

static void copy_indices(const selecting *w, uint64_t bits, int64_t first, int64_t to)
{
    const void *i = w->s->a.i;
    const bool from_narrow = w->s->a.index_size == 4;
    if (w->s->narrow && from_narrow)
        COPY(uint32_t, w->i, i)
    else if (w->s->narrow)
        COPY_AS(uint32_t, w->i, int64_t, i)
    else if (from_narrow)
        COPY_AS(int64_t, w->i, uint32_t, i)
    else
        COPY(int64_t, w->i, i)
}

static void fill_part(void *context, int64_t part)
{
    const selecting *w = context;
    const tsr_view *a = &w->s->a;
    const int64_t first = tsr_part_vector(w->p, a->nvec, (int)part, w->nparts);
    const int64_t last = tsr_part_vector(w->p, a->nvec, (int)part + 1, w->nparts);
    const int64_t from = tsr_view_start(a, first), to = tsr_view_start(a, last);
    int64_t at = w->p[first];
    for (int64_t word = from / WORD; word * WORD < to; word++) {
        const uint64_t bits = some_bits(w->s->kept, word, from, to);
        copy_indices(w, bits, word * WORD, at);
        if (w->x)
            copy_values(w, bits, word * WORD, at);
        at += __builtin_popcountll(bits);
    }
}

/* ---- both ---- */

static void prepare(selecting *w, const tsr_selection *s, int nthreads)
{
    w->s = s;
    w->size = tsr_type_size(s->a.type);
    w->loops = TSR_PICK_ISA(tsr_ewise_table);
    w->nparts = nthreads > 1 ? nthreads * PARTS_PER_THREAD : 1;
    for (size_t k = 0; k < BLOCK; k++)
        memcpy(w->thunks + k * w->size, &s->thunk, w->size);
}

/* By place each vector is looked at twice, whatever it has. */
static int threads_of(const tsr_selection *s)
{
    enum { VECTOR_PASSES = 4 };
    return tsr_pass_threads((s->function ? TSR_CALL_PASSES : 1) * s->a.nvals + (s->placed ? VECTOR_PASSES : 1) * s->a.nvec, s->nthreads);
}

static tsr_status count_values(tsr_selection *s, int64_t *p, int nthreads)
{
    enum { BLOCKS_AT_ONCE = 64 };
    const int64_t blocks = (s->a.nvals + BLOCK - 1) / BLOCK;
    selecting w = {.counts = p};
    s->kept = malloc((size_t)(blocks + 1) * (BLOCK / 8));
    if (!s->kept)
        return TSR_OUT_OF_MEMORY;
    prepare(&w, s, nthreads);
    memset(p, 0, (size_t)(s->a.nvec + 1) * sizeof *p);
    tsr_for_ranges(blocks, BLOCKS_AT_ONCE, nthreads, compare_and_count, &w);
    for (int64_t v = 0; v < s->a.nvec; v++)
        p[v + 1] += p[v];
    return TSR_OK;
}

tsr_status tsr_cpu_select_count(tsr_selection *s, int64_t *p)
{
    const int nthreads = threads_of(s);
    if (!s->placed)
        return count_values(s, p, nthreads);
    tsr_place_count(s, p, nthreads);
    return TSR_OK;
}

void tsr_cpu_select_fill(const tsr_selection *s, const int64_t *p, void *i, void *x)
{
    const int nthreads = threads_of(s);
    selecting w = {.p = p, .i = i, .x = x};
    if (s->placed) {
        tsr_place_fill(s, p, i, x, nthreads);
        return;
    }
    prepare(&w, s, nthreads);
    tsr_for_jobs(w.nparts, nthreads, fill_part, &w);
}

void tsr_cpu_select_end(tsr_selection *s)
{
    free(s->kept);
    s->kept = NULL;
}
