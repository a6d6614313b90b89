/* Selection by value, by a function, or by place in short vectors: a bit for every entry, counted by vector, then the entries with one.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/common/chunks.h"
#include "kernels/cpu/elementwise/ewise_loops.h"
#include "kernels/cpu/selection/kept_entries.h"
#include "kernels/cpu/selection/place_rows.h"
#include "kernels/selection.h"
#include "src/base/split.h"

enum { WORD = 64, BLOCK = TSR_KEPT_BLOCK, PARTS_PER_THREAD = 8, MOST_PARTS = 512 };

typedef struct selecting {
    const tsr_selection *s;
    int64_t *p; /* of the result */
    size_t size;
    tsr_ewise_table loops;
    tsr_kept_loops kept;
    int nparts;                 /* of whole blocks; a vector is counted by that in which it ends, from its first entry on */
    int64_t counts[MOST_PARTS + 1]; /* entries that stay, at [part + 1] */
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

/* ---- bits by place ---- */

static void place_blocks(const selecting *w, int64_t first, int64_t last)
{
    const tsr_view *a = &w->s->a;
    const int64_t end = last * BLOCK < a->nvals ? last * BLOCK : a->nvals;
    int64_t v = tsr_vector_of(tsr_offsets_of(a), a->nvec, first * BLOCK);
    for (int64_t from = first * BLOCK; from < end; from += BLOCK) {
        for (; tsr_view_start(a, v + 1) <= from; v++)
            ;
        v = w->kept.place(w->s, v, from, end - from < BLOCK ? end - from : BLOCK);
    }
}

/* Of short vectors each takes longer than all its entries; what leaves out one of each copies long runs. */
static bool places_by_bits(const tsr_selection *s)
{
    enum { SHORT = 16 };
    const bool side = s->keep == TSR_EWISE_LT || s->keep == TSR_EWISE_GE;
    return TSR_PICK_ISA(tsr_kept_loops).place && side && s->a.vlen <= INT32_MAX && s->a.nvals < SHORT * s->a.nvec;
}

/* ---- both ---- */

static void make_bits(const selecting *w, int64_t first, int64_t last)
{
    if (w->s->placed)
        place_blocks(w, first, last);
    else if (w->s->function)
        ask_blocks(w, first, last);
    else
        compare_blocks(w, first, last);
}

static int64_t first_block(const selecting *w, int64_t part)
{
    return tsr_part_begin((w->s->a.nvals + BLOCK - 1) / BLOCK, (int)part, w->nparts);
}

/* The first vector that ends in this part. */
static int64_t first_vector(const selecting *w, int64_t part)
{
    const tsr_view *a = &w->s->a;
    return part == 0 ? 0 : part == w->nparts ? a->nvec : tsr_vector_of(tsr_offsets_of(a), a->nvec, first_block(w, part) * BLOCK);
}

static void count_part(void *context, int64_t part)
{
    selecting *w = context;
    const int64_t first = first_block(w, part), last = first_block(w, part + 1), n = w->s->a.nvals;
    make_bits(w, first, last);
    w->counts[part + 1] = w->kept.count(w->s, w->p, first_vector(w, part), first_vector(w, part + 1), first * BLOCK, last * BLOCK < n ? last * BLOCK : n);
}

static void join_part(void *context, int64_t part)
{
    const selecting *w = context;
    const int64_t before = w->counts[part], last = first_vector(w, part + 1);
    for (int64_t v = first_vector(w, part); before > 0 && v < last; v++)
        w->p[v + 1] += before;
}

/* By place each vector is looked at twice, whatever it has. */
static int threads_of(const tsr_selection *s)
{
    enum { VECTOR_PASSES = 4 };
    return tsr_pass_threads((s->function ? TSR_CALL_PASSES : 1) * s->a.nvals + (s->placed ? VECTOR_PASSES : 1) * s->a.nvec, s->nthreads);
}

static int parts_of(const tsr_selection *s, int nthreads)
{
    const int64_t blocks = (s->a.nvals + BLOCK - 1) / BLOCK, wanted = (int64_t)nthreads * PARTS_PER_THREAD;
    const int64_t most = blocks < MOST_PARTS ? blocks : MOST_PARTS;
    return nthreads > 1 && most > 0 ? (int)(wanted < most ? wanted : most) : 1;
}

static tsr_status count_kept(tsr_selection *s, int64_t *p, int nthreads)
{
    const size_t words = (size_t)(s->a.nvals / BLOCK + 2) * (BLOCK / WORD);
    selecting w = {.s = s, .p = p, .size = tsr_type_size(s->a.type), .loops = TSR_PICK_ISA(tsr_ewise_table), .kept = TSR_PICK_ISA(tsr_kept_loops),
                   .nparts = parts_of(s, nthreads)};
    s->kept = malloc(words * sizeof *s->kept);
    if (!s->kept)
        return TSR_OUT_OF_MEMORY;
    for (size_t k = 0; k < BLOCK; k++)
        memcpy(w.thunks + k * w.size, &s->thunk, w.size);
    p[0] = 0;
    tsr_for_jobs(w.nparts, nthreads, count_part, &w);
    for (int part = 0; part < w.nparts; part++)
        w.counts[part + 1] += w.counts[part];
    tsr_for_jobs(w.nparts, tsr_pass_threads(s->a.nvec, nthreads), join_part, &w);
    return TSR_OK;
}

tsr_status tsr_cpu_select_count(tsr_selection *s, int64_t *p)
{
    const int nthreads = threads_of(s);
    if (!s->placed || places_by_bits(s))
        return count_kept(s, p, nthreads);
    tsr_select_vectors_count(s, TSR_PICK_ISA(tsr_place_loops).count, p, nthreads);
    return TSR_OK;
}

void tsr_cpu_select_fill(const tsr_selection *s, const int64_t *p, void *i, void *x)
{
    tsr_select_fill *fill = s->kept ? TSR_PICK_ISA(tsr_kept_loops).fill : TSR_PICK_ISA(tsr_place_loops).fill;
    tsr_select_vectors_fill(s, fill, p, i, x, threads_of(s));
}

void tsr_cpu_select_end(tsr_selection *s)
{
    free(s->kept);
    s->kept = NULL;
}
