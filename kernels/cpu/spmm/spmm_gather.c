/* SpMM with A by row.  Columns are taken in slabs: what is hot of B stays in cache, and a B by column is turned
 * over one
 * slab at a time.  Within a slab, chunks of rows go to threads in any order: each row is computed by one thread
 * in a fixed
 * order, so the result does not depend on who came first.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/spmm/spmm_plan.h"

#include <stdlib.h>
#include <string.h>

#define TILE_VECTORS 8
#define ENTRY_SLAB_BYTES 512
#define BLOCK_BYTES (16 << 10) /* of C, computed before it is turned over; and 8 rows more */
#define MOST_COLUMNS ENTRY_SLAB_BYTES
#define MOST_BLOCK_BYTES (BLOCK_BYTES + 8 * ENTRY_SLAB_BYTES)
#define FLIP_ROWS 256
#define MAX_VECTOR 64
#define LEAST_APART 1024 /* bytes from one row of B to the next; what follows is in gathers of a row of a slab: */
#define APART 4          /* packing one */
#define TOUCHED_SMALL 48 /* touching the first scratch for it, in small pages */
#define TOUCHED_HUGE 16  /* ... in huge ones */

typedef struct slab {
    const tsr_spmm_plan *plan;
    tsr_tile_fn tiles[TSR_TILE_WIDTHS];
    bool tiled;
    tsr_entries_fn entries;
    tsr_chunks chunks;
    int64_t first, columns; /* of B and C */
    const char *b;          /* row-major, this slab's first column */
    int64_t ldb;
    const int8_t *bb;
    int64_t ldbb;
    bool pack;           /* B is by column, or its rows lie far apart */
    char *packed;        /* scratch of such a B */
    int8_t *packed_flags;
    char *carry;         /* one slab row per carry slot */
    int8_t *carry_flags;
    int64_t narrow_columns, safe_row; /* the last, partial tile */
    char *tail;
    bool in_place;           /* the product is added to result->x */
    const char *same;        /* ... or to this row, for every row of C; NULL: to nothing */
} slab;

/* A block of C: rows [first, last) of p (and h), written row-major. */
typedef struct block {
    tsr_offsets p;
    const int64_t *h;
    int64_t first, last;
    char *c;
    int64_t ldc;
    const char *joined; /* what is added to it, NULL: nothing */
    int64_t ldj;
    int8_t *cb; /* flags only; ldcb = 0: one row, overwritten by each row */
    int64_t ldcb;
} block;

/* ---- computing a block ---- */

static int tile_width(int64_t vectors)
{
    return vectors >= 8 ? TSR_TILE_8 : vectors >= 4 ? TSR_TILE_4 : vectors >= 2 ? TSR_TILE_2 : TSR_TILE_1;
}

static void run_tiles(const slab *s, const block *k)
{
    const tsr_view *a = &s->plan->product->a;
    const int64_t lanes = s->plan->table->vector_bytes / (int64_t)s->plan->size;
    tsr_tile_job job = { .p = k->p, .h = k->h, .first = k->first, .last = k->last, .i = a->i, .a = s->plan->a,
        .a_step = s->plan->a_step, .last_entry = tsr_view_start(a, a->nvec) - 1, .ldb = s->ldb, .ldc = k->ldc,
        .safe_row = s->safe_row, .tail = s->tail, .ldj = k->ldj };
    for (int64_t j = 0; j < s->columns; j += job.columns) {
        int64_t vectors = (s->columns - j) / lanes;
        int width = vectors > 0 ? tile_width(vectors) : TSR_TILE_NARROW;
        job.b = s->b + j * (int64_t)s->plan->size;
        job.c = k->c + j * (int64_t)s->plan->size;
        job.joined = k->joined != NULL ? k->joined + j * (int64_t)s->plan->size : NULL;
        job.columns = vectors > 0 ? lanes << width : s->columns - j;
        s->tiles[width](&job);
    }
}

static void run_row_entries(const slab *s, tsr_entries_job *job, int64_t lo, int64_t hi)
{
    int64_t buffer[TSR_BATCH];
    if (s->plan->semiring.add == TSR_ADD_ANY && !s->plan->flags && hi > lo)
        hi = lo + 1;
    for (int64_t e = lo; e < hi; e += job->count) {
        job->count = hi - e < TSR_BATCH ? hi - e : TSR_BATCH;
        job->i = tsr_widen(&s->plan->product->a, e, job->count, buffer);
        job->a = s->plan->a + e * s->plan->a_step * (int64_t)s->plan->size;
        s->entries(job);
    }
}

static void run_entries(const slab *s, const block *k)
{
    tsr_entries_job job = { .a_step = s->plan->a_step, .b = s->b, .ldb = s->ldb, .columns = s->columns, .bb = s->bb,
        .ldbb = s->ldbb };
    for (int64_t r = k->first; r < k->last; r++) {
        int64_t row = k->h != NULL ? k->h[r] : r;
        job.c = k->c + row * k->ldc * (int64_t)s->plan->size;
        job.cb = k->cb + (k->cb != NULL ? row * k->ldcb : 0);
        tsr_fill(job.c, &s->plan->identity, s->plan->size, s->columns);
        if (job.cb != NULL)
            memset(job.cb, 0, (size_t)s->columns);
        run_row_entries(s, &job, tsr_offset_at(k->p, r), tsr_offset_at(k->p, r + 1));
    }
}

static void run_block(const slab *s, const block *k)
{
    if (s->tiled)
        run_tiles(s, k);
    else
        run_entries(s, k);
}

/* ---- where a chunk goes ---- */

static void run_piece(slab *s, const tsr_chunk *chunk)
{
    int64_t at = chunk->slot * s->columns;
    block k = { .p = tsr_offsets_wide(chunk->bounds), .last = 1, .c = s->carry + at * (int64_t)s->plan->size, .ldc = s->columns,
        .cb = s->carry_flags != NULL ? s->carry_flags + at : NULL, .ldcb = s->columns };
    run_block(s, &k);
}

static void run_by_row(slab *s, const tsr_chunk *chunk)
{
    const tsr_product *product = s->plan->product;
    const tsr_result *result = s->plan->result;
    int8_t own_flags[MOST_COLUMNS];
    block k = { .p = tsr_offsets_of(&product->a), .h = product->a.h, .first = chunk->first, .last = chunk->last,
        .c = (char *)result->x + s->first * (int64_t)s->plan->size, .ldc = product->n };
    k.joined = s->in_place ? k.c : s->same;
    k.ldj = s->in_place ? k.ldc : 0;
    if (s->plan->flags) {
        k.cb = result->b != NULL ? result->b + s->first : own_flags;
        k.ldcb = result->b != NULL ? product->n : 0;
    }
    run_block(s, &k);
}

typedef void flip_fn(void *dst, int64_t dst_ld, const void *src, int64_t src_ld, int64_t rows, int64_t columns, size_t size);

static flip_fn *flip_to(int64_t bytes)
{
    return bytes > TSR_STREAM_BYTES ? tsr_flip_block_streamed : tsr_flip_block;
}

/* Rows [first, last) of a scratch block to where they belong in a C by column. */
static void flip_to_c(const slab *s, const void *from, void *to, size_t size, int64_t first, int64_t last)
{
    const tsr_product *product = s->plan->product;
    char *c = (char *)to + (size_t)(s->first * product->m) * size;
    if (product->a.h == NULL) {
        flip_fn *flip = s->in_place ? tsr_flip_add_block : flip_to(product->m * product->n * (int64_t)size);
        flip(c + (size_t)first * size, product->m, from, s->columns, last - first, s->columns, size);
        return;
    }
    for (int64_t r = first; r < last; r++)
        tsr_flip_block(c + (size_t)product->a.h[r] * size, product->m,
            (const char *)from + (size_t)((r - first) * s->columns) * size, s->columns, 1, s->columns, size);
}

/* Rows [first, first + count) of C; p: where their entries begin. */
static void run_rows_by_column(slab *s, tsr_offsets p, int64_t first, int64_t count)
{
    _Alignas(MAX_VECTOR) char c[MOST_BLOCK_BYTES];
    int8_t flags[MOST_BLOCK_BYTES];
    const tsr_result *result = s->plan->result;
    block k = { .p = p, .last = count, .c = c, .ldc = s->columns, .cb = s->plan->flags ? flags : NULL, .ldcb = s->columns, .joined = s->same };
    if (s->in_place && tsr_offset_at(p, 0) == tsr_offset_at(p, count))
        return;
    run_block(s, &k);
    flip_to_c(s, c, result->x, s->plan->size, first, first + count);
    if (k.cb != NULL && result->b != NULL)
        flip_to_c(s, flags, result->b, 1, first, first + count);
}

static void run_by_column(slab *s, const tsr_chunk *chunk)
{
    const int64_t rows = 8 + BLOCK_BYTES / (s->columns * (int64_t)s->plan->size) / 8 * 8;
    const tsr_offsets p = tsr_offsets_of(&s->plan->product->a);
    for (int64_t first = chunk->first; first < chunk->last; first += rows) {
        const int64_t left = chunk->last - first;
        run_rows_by_column(s, tsr_offsets_from(p, first), first, rows < left ? rows : left);
    }
}

static void run_chunk(void *context, int64_t job)
{
    slab *s = context;
    const tsr_chunk *chunk = &s->chunks.list[job];
    if (chunk->slot >= 0)
        run_piece(s, chunk);
    else if (s->plan->product->c_by_col)
        run_by_column(s, chunk);
    else
        run_by_row(s, chunk);
}

/* ---- long rows: pieces joined in their order ---- */

/* c (+)= b, one row of the slab. */
static void add_row(const slab *s, char *c, int8_t *cb, const char *b, const int8_t *bb)
{
    const tsr_spmm_plan *plan = s->plan;
    const tsr_semiring sum = { plan->semiring.type, plan->semiring.add, TSR_MUL_SECOND };
    const int64_t zero = 0;
    const tsr_entries_job job = { .i = &zero, .count = 1, .a = plan->a, .c = c, .columns = s->columns, .cb = cb, .b = b, .bb = bb };
    plan->table->entries(sum, plan->flags)(&job);
}

static void write_row(const slab *s, const void *from, void *to, size_t size, int64_t row)
{
    const tsr_product *product = s->plan->product;
    if (product->c_by_col) {
        flip_fn *flip = s->in_place ? tsr_flip_add_block : tsr_flip_block;
        flip((char *)to + (size_t)(s->first * product->m + row) * size, product->m, from, s->columns, 1, s->columns, size);
        return;
    }
    char *c = (char *)to + (size_t)(row * product->n + s->first) * size;
    if (s->in_place)
        add_row(s, c, NULL, from, NULL);
    else
        memcpy(c, from, (size_t)s->columns * size);
}

static void join_row(const slab *s, int64_t row, int64_t first_slot, int64_t last_slot)
{
    const tsr_spmm_plan *plan = s->plan;
    char *c = s->carry + first_slot * s->columns * (int64_t)plan->size;
    int8_t *cb = plan->flags ? s->carry_flags + first_slot * s->columns : NULL;
    for (int64_t slot = first_slot + 1; slot < last_slot; slot++)
        add_row(s, c, cb, s->carry + slot * s->columns * (int64_t)plan->size, plan->flags ? s->carry_flags + slot * s->columns : NULL);
    if (s->same != NULL)
        add_row(s, c, NULL, s->same, NULL);
    write_row(s, c, plan->result->x, plan->size, row);
    if (cb != NULL && plan->result->b != NULL)
        write_row(s, cb, plan->result->b, 1, row);
}

static void join_pieces(const slab *s)
{
    const tsr_view *a = &s->plan->product->a;
    for (int64_t at = 0, next; at < s->chunks.count; at = next) {
        const tsr_chunk *chunk = &s->chunks.list[at];
        for (next = at + 1; chunk->slot >= 0 && next < s->chunks.count && s->chunks.list[next].slot >= 0
             && s->chunks.list[next].first == chunk->first;)
            next++;
        if (chunk->slot >= 0)
            join_row(s, a->h != NULL ? a->h[chunk->first] : chunk->first, chunk->slot, chunk->slot + next - at);
    }
}

/* ---- B of a slab ---- */

/* Rows [first, last) of a slab of B by row, side by side. */
static void copy_rows(char *to, const char *from, int64_t ld, size_t bytes, int64_t rows)
{
    for (int64_t r = 0; r < rows; r++)
        memcpy(to + r * (int64_t)bytes, from + r * ld, bytes);
}

static void pack_values(void *context, int64_t first, int64_t last)
{
    slab *s = context;
    const tsr_spmm_plan *plan = s->plan;
    int64_t size = (int64_t)plan->size;
    char *to = s->packed + first * s->columns * size;
    if (plan->product->b.by_col)
        flip_to(plan->product->k * s->columns * size)(to, s->columns, plan->b + (s->first * plan->ldb + first) * size, plan->ldb,
            s->columns, last - first, plan->size);
    else
        copy_rows(to, plan->b + (first * plan->ldb + s->first) * size, plan->ldb * size, (size_t)(s->columns * size), last - first);
}

static void pack_flags(void *context, int64_t first, int64_t last)
{
    slab *s = context;
    const tsr_view *b = &s->plan->product->b;
    int8_t *to = s->packed_flags + first * s->columns;
    if (b->by_col)
        tsr_flip_block(to, s->columns, b->b + s->first * b->ld + first, b->ld, s->columns, last - first, 1);
    else
        copy_rows((char *)to, (const char *)b->b + first * b->ld + s->first, b->ld, (size_t)s->columns, last - first);
}

/* Rows of B that a narrow tile would read past the end of the array are copied to s->tail. */
static void prepare_tail(slab *s, int64_t end_of_b)
{
    const int64_t size = (int64_t)s->plan->size, vector = s->plan->table->vector_bytes, lanes = vector / size;
    s->narrow_columns = s->columns % lanes;
    int64_t start = s->columns - s->narrow_columns, room = end_of_b - start - lanes;
    s->safe_row = room < 0 ? -1 : room / s->ldb;
    if (s->narrow_columns == 0 || !s->tiled)
        return;
    int64_t k = s->plan->product->k;
    for (int64_t row = s->safe_row + 1; row < k; row++)
        memcpy(s->tail + (row - s->safe_row - 1) * vector, s->b + (row * s->ldb + start) * size,
            (size_t)(s->narrow_columns * size));
}

static void prepare_b(slab *s)
{
    const tsr_spmm_plan *plan = s->plan;
    const tsr_view *b = &plan->product->b;
    const int64_t k = plan->product->k;
    const bool pack = s->pack && plan->b_same == NULL;
    s->ldb = pack ? s->columns : plan->ldb;
    s->b = pack ? s->packed : plan->b + (plan->b_same == NULL ? s->first * (int64_t)plan->size : 0);
    if (pack)
        tsr_for_ranges(k, FLIP_ROWS, plan->product->nthreads, pack_values, s);
    if (plan->flags && s->pack)
        tsr_for_ranges(k, FLIP_ROWS, plan->product->nthreads, pack_flags, s);
    s->bb = !plan->flags ? NULL : s->pack ? s->packed_flags : b->b + s->first;
    s->ldbb = s->pack ? s->columns : b->ld;
    if (s->tiled)
        prepare_tail(s, pack ? k * s->columns : (k - 1) * s->ldb + plan->product->n - s->first);
}

/* ---- C before the product ---- */

/* One value for all of C becomes the row `same`; other values are put where the product is added to them. */
static void prepare_joined(slab *s, char same[ENTRY_SLAB_BYTES], int64_t width)
{
    const tsr_result *result = s->plan->result;
    const size_t size = s->plan->size;
    if (result->c == NULL)
        return;
    s->in_place = !result->c_iso;
    if (result->c_iso) {
        tsr_fill(same, result->c, size, width);
        s->same = same;
    } else if (result->c != result->x) {
        memcpy(result->x, result->c, (size_t)(s->plan->product->m * s->plan->product->n) * size);
    }
}

/* ---- the whole ---- */

/* Does a B by row of several slabs pay for being packed?  Rows of a slab lie far apart in it, each on a page of its own, and where their distance is
 * a power of two in the same few sets of a cache.  Packing reads and writes a row of a slab in the time of APART gathers; the scratch is touched
 * for the first time once in all slabs. */
static bool is_apart(const slab *s, int64_t width)
{
    const tsr_product *product = s->plan->product;
    const int64_t slabs = (product->n + width - 1) / width, row = width * (int64_t)s->plan->size;
    const int64_t touched = product->k * row < (int64_t)TSR_SCRATCH_HUGE ? TOUCHED_SMALL : TOUCHED_HUGE;
    return s->plan->b_same == NULL && s->plan->ldb * (int64_t)s->plan->size >= LEAST_APART
        && slabs * product->a.nvals >= product->k * (APART * slabs + touched);
}

/* Without scratch a B by row is read where it lies. */
static bool packing_begin(slab *s, int64_t width)
{
    const tsr_spmm_plan *plan = s->plan;
    const bool by_col = plan->product->b.by_col, apart = !by_col && is_apart(s, width);
    const size_t places = (size_t)(plan->product->k * width);
    if (!by_col && !apart)
        return true;
    s->packed = plan->b_same == NULL ? tsr_scratch(places * plan->size) : NULL;
    s->packed_flags = plan->flags ? tsr_scratch(places) : NULL;
    s->pack = (plan->b_same != NULL || s->packed != NULL) && (!plan->flags || s->packed_flags != NULL);
    return s->pack || apart;
}

static tsr_status slab_begin(slab *s, int64_t width)
{
    const tsr_product *product = s->plan->product;
    bool split = s->plan->flags || product->semiring.add != TSR_ADD_ANY;
    if (tsr_chunks_make(&s->chunks, tsr_offsets_of(&product->a), product->a.nvec, product->nthreads, split) != TSR_OK)
        return TSR_OUT_OF_MEMORY;
    const size_t places = (size_t)(s->chunks.slots + 1) * (size_t)width;
    s->carry = malloc(places * s->plan->size);
    s->carry_flags = s->plan->flags ? malloc(places) : NULL;
    s->tail = calloc(MAX_VECTOR, MAX_VECTOR);
    const bool ok = packing_begin(s, width) && s->carry != NULL && s->tail != NULL && (!s->plan->flags || s->carry_flags != NULL);
    return ok ? TSR_OK : TSR_OUT_OF_MEMORY;
}

static void slab_end(slab *s)
{
    tsr_chunks_free(&s->chunks);
    free(s->packed);
    free(s->packed_flags);
    free(s->carry);
    free(s->carry_flags);
    free(s->tail);
}

static int64_t slab_width(const slab *s)
{
    int64_t bytes = s->tiled ? TILE_VECTORS * s->plan->table->vector_bytes : ENTRY_SLAB_BYTES;
    int64_t columns = bytes / (int64_t)s->plan->size;
    return columns < s->plan->product->n ? columns : s->plan->product->n;
}

/* Absent vectors of a hypersparse A are rows of C that no chunk writes. */
static void blank_hypersparse(const tsr_spmm_plan *plan, tsr_result *result)
{
    size_t places = (size_t)plan->product->m * (size_t)plan->product->n;
    if (plan->product->a.h == NULL)
        return;
    memset(result->x, 0, places * plan->size);
    if (plan->flags && result->b != NULL)
        memset(result->b, 0, places);
}

static tsr_status finish(const tsr_spmm_plan *plan, tsr_result *result)
{
    const tsr_product *product = plan->product;
    if (!plan->flags)
        return tsr_spmm_presence(product, result);
    int64_t places = product->m * product->n;
    result->nvals = result->b != NULL ? tsr_count_flags(result->b, places, product->nthreads) : places;
    return TSR_OK;
}

tsr_status tsr_spmm_gather(const tsr_spmm_plan *plan, tsr_result *result)
{
    const tsr_product *product = plan->product;
    char same[ENTRY_SLAB_BYTES];
    slab s = { .plan = plan };
    s.tiled = !plan->flags && plan->table->tiles(s.tiles, plan->semiring, product->a.index_size);
    s.entries = plan->table->entries(plan->semiring, plan->flags);
    if (!s.tiled && s.entries == NULL)
        return TSR_DECLINED;
    int64_t width = slab_width(&s);
    tsr_status status = slab_begin(&s, width);
    if (status == TSR_OK) {
        blank_hypersparse(plan, result);
        prepare_joined(&s, same, width);
    }
    for (s.first = 0; status == TSR_OK && s.first < product->n; s.first += width) {
        s.columns = product->n - s.first < width ? product->n - s.first : width;
        prepare_b(&s);
        tsr_for_jobs(s.chunks.count, product->nthreads, run_chunk, &s);
        join_pieces(&s);
    }
    slab_end(&s);
    return status == TSR_OK ? finish(plan, result) : status;
}
