/* HRPB of cuTeSpMM.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/format/blocks/tc_blocks.h"
#include "src/base/split.h"

#include <stdlib.h>
#include <string.h>

enum { WIDTH = 16, BRICK_HEIGHT = 16, BRICK_WIDTH = 4 };

/* A conversion under way.  Places for bricks: 4q in every block, in the order of position; table holds one number for each, of
 * the whole matrix. */
typedef struct work {
    tsr_hrpb *a;
    const tsr_source *in;
    const uint32_t *place;
    uint32_t *table;
    int64_t brick_rows;   /* q */
    int64_t block_places; /* 4q */
} work;

static inline int64_t brick_place(const work *w, int64_t row, uint32_t place)
{
    return place / BRICK_WIDTH * w->brick_rows + row / BRICK_HEIGHT;
}

/* Entries of every brick -> table; brick[v+1] = nonempty bricks. */
static void count_window(void *context, int64_t v)
{
    const work *w = context;
    int64_t first, last, begin = w->a->w.block[v] * w->block_places, end = w->a->w.block[v + 1] * w->block_places, bricks = 0;
    uint32_t *count = w->table + begin;
    memset(count, 0, (size_t)(end - begin) * sizeof *count);
    tsr_window_rows(&w->a->w, v, &first, &last);
    for (int64_t row = first; row < last; row++)
        for (int64_t e = w->in->p[row]; e < w->in->p[row + 1]; e++)
            count[brick_place(w, row - first, w->place[e])]++;
    for (int64_t k = 0; k < end - begin; k++)
        bricks += count[k] > 0;
    w->a->brick[v + 1] = bricks;
}

/* Describe the bricks of window v but for their patterns; table = number of the brick in the window. */
static void number_bricks(const work *w, int64_t v)
{
    tsr_hrpb *a = w->a;
    int64_t brick = 0;
    uint32_t entry = 0;
    for (int64_t b = a->w.block[v]; b < a->w.block[v + 1]; b++) {
        a->block_brick[b] = (uint32_t)brick;
        for (int64_t position = 0; position < w->block_places; position++) {
            uint32_t *here = w->table + b * w->block_places + position, count = *here;
            *here = (uint32_t)brick;
            if (!count)
                continue;
            a->position[a->brick[v] + brick] = (uint8_t)position;
            a->pattern[a->brick[v] + brick] = 0;
            a->brick_entry[a->brick[v] + brick] = entry;
            entry += count;
            brick++;
        }
    }
}

/* Rows are taken in order, so entries of a brick come out by bit.  Meanwhile brick_entry is where a brick's next entry goes. */
static void fill_window(void *context, int64_t v)
{
    const work *w = context;
    tsr_hrpb *a = w->a;
    int64_t first, last, nbricks = a->brick[v + 1] - a->brick[v];
    const uint32_t *number = w->table + a->w.block[v] * w->block_places;
    size_t size = tsr_number_size(w->in->number);
    if (!nbricks)
        return;
    number_bricks(w, v);
    tsr_window_rows(&a->w, v, &first, &last);
    for (int64_t row = first; row < last; row++) {
        for (int64_t e = w->in->p[row]; e < w->in->p[row + 1]; e++) {
            int64_t brick = a->brick[v] + number[brick_place(w, row - first, w->place[e])];
            int64_t to = a->w.entry[v] + a->brick_entry[brick]++;
            a->pattern[brick] |= 1ull << ((row - first) % BRICK_HEIGHT * BRICK_WIDTH + w->place[e] % BRICK_WIDTH);
            if (w->in->x)
                tsr_move_value(a->value, to, w->in->x, e, size);
        }
    }
    uint32_t *start = a->brick_entry + a->brick[v];
    memmove(start + 1, start, (size_t)(nbricks - 1) * sizeof *start);
    start[0] = 0;
}

static tsr_status make_bricks(void *context, const tsr_source *in, const uint32_t *place, int nthreads)
{
    work *w = context;
    tsr_hrpb *a = w->a;
    w->in = in;
    w->place = place;
    a->brick = tsr_format_alloc(a->w.nwindows + 1, sizeof *a->brick);
    w->table = tsr_format_alloc(a->w.nblocks, (size_t)w->block_places * sizeof *w->table);
    if (!a->brick || !w->table)
        return TSR_OUT_OF_MEMORY;
    tsr_for_windows(&a->w, nthreads, count_window, w);
    a->brick[0] = 0;
    for (int64_t v = 0; v < a->w.nwindows; v++)
        a->brick[v + 1] += a->brick[v];
    a->nbricks = a->brick[a->w.nwindows];
    a->block_brick = tsr_format_alloc(a->w.nblocks, sizeof *a->block_brick);
    a->position = tsr_format_alloc(a->nbricks, sizeof *a->position);
    a->pattern = tsr_format_alloc(a->nbricks, sizeof *a->pattern);
    a->brick_entry = tsr_format_alloc(a->nbricks, sizeof *a->brick_entry);
    a->value = w->in->x ? tsr_format_alloc(a->w.nvals, tsr_number_size(w->in->number)) : NULL;
    if (!a->block_brick || !a->position || !a->pattern || !a->brick_entry || (w->in->x && !a->value))
        return TSR_OUT_OF_MEMORY;
    tsr_for_windows(&a->w, nthreads, fill_window, w);
    return TSR_OK;
}

tsr_status tsr_make_hrpb(tsr_hrpb *out, const tsr_source *in, int height, int nthreads)
{
    memset(out, 0, sizeof *out);
    if (height != 16 && height != 32 && height != 64)
        return TSR_INVALID_VALUE;
    int64_t q = height / BRICK_HEIGHT;
    work w = {.a = out, .brick_rows = q, .block_places = q * (WIDTH / BRICK_WIDTH)};
    tsr_status status = tsr_make_format(&out->w, in, height, WIDTH, nthreads, make_bricks, &w);
    free(w.table);
    if (status != TSR_OK)
        tsr_free_hrpb(out);
    return status;
}

void tsr_free_hrpb(tsr_hrpb *a)
{
    tsr_free_windows(&a->w);
    free(a->brick);
    free(a->block_brick);
    free(a->position);
    free(a->pattern);
    free(a->brick_entry);
    free(a->value);
    memset(a, 0, sizeof *a);
}

size_t tsr_bytes_hrpb(const tsr_hrpb *a, tsr_number number)
{
    size_t brick = sizeof *a->position + sizeof *a->pattern + sizeof *a->brick_entry;
    return tsr_bytes_windows(&a->w) + ((size_t)a->w.nwindows + 1) * sizeof *a->brick +
           (size_t)a->w.nblocks * sizeof *a->block_brick + (size_t)a->nbricks * brick +
           (a->value ? (size_t)a->w.nvals * tsr_number_size(number) : 0);
}

/* Entries of one brick; row and column are those of its corner. */
static void walk_brick(const tsr_hrpb *a, int64_t brick, int64_t row, const uint32_t *column, int64_t e, tsr_visit *visit,
                       void *context)
{
    for (uint64_t bits = a->pattern[brick]; bits; bits &= bits - 1) {
        int bit = __builtin_ctzll(bits);
        visit(context, row + bit / BRICK_WIDTH, column[bit % BRICK_WIDTH], e++);
    }
}

static void walk(const void *format, tsr_visit *visit, void *context)
{
    const tsr_hrpb *a = format;
    int64_t q = a->w.height / BRICK_HEIGHT;
    for (int64_t v = 0; v < a->w.nwindows; v++) {
        for (int64_t b = a->w.block[v]; b < a->w.block[v + 1]; b++) {
            const uint32_t *column = a->w.column + a->w.vector[v] + (b - a->w.block[v]) * WIDTH;
            int64_t end = b + 1 < a->w.block[v + 1] ? a->brick[v] + a->block_brick[b + 1] : a->brick[v + 1];
            for (int64_t brick = a->brick[v] + a->block_brick[b]; brick < end; brick++)
                walk_brick(a, brick, v * a->w.height + a->position[brick] % q * BRICK_HEIGHT,
                           column + a->position[brick] / q * BRICK_WIDTH, a->w.entry[v] + a->brick_entry[brick], visit, context);
        }
    }
}

tsr_status tsr_expand_hrpb(tsr_source *out, const tsr_hrpb *a, tsr_number number)
{
    return tsr_expand(out, &a->w, walk, a, a->value, number);
}
