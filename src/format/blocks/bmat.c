/* BMat of Voltrix.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/format/blocks/tc_blocks.h"
#include "src/base/split.h"

#include <stdlib.h>
#include <string.h>

enum { WIDTH = 8 };

static inline uint64_t *word_of(const tsr_bmat *a, int64_t block, int64_t row)
{
    return a->mask + block * (a->w.height / 8) + row / 8;
}

static inline int64_t entries_of(const tsr_bmat *a, int64_t block)
{
    int64_t sum = 0;
    for (int64_t row = 0; row < a->w.height; row += 8)
        sum += __builtin_popcountll(*word_of(a, block, row));
    return sum;
}

struct work {
    tsr_bmat *a;
    const tsr_source *in;
    const uint32_t *place;
    int64_t *next; /* [nblocks] where a block's next value goes */
};

/* Two passes over the entries: bits, then values. */
static void fill_window(void *context, int64_t v)
{
    const struct work *w = context;
    tsr_bmat *a = w->a;
    const tsr_source *in = w->in;
    const uint32_t *place = w->place;
    int64_t first, last, block = a->w.block[v], words = a->w.height / 8, to = a->w.entry[v];
    tsr_window_rows(&a->w, v, &first, &last);
    memset(a->mask + block * words, 0, (size_t)((a->w.block[v + 1] - block) * words) * sizeof *a->mask);
    for (int64_t row = first; row < last; row++)
        for (int64_t e = in->p[row]; e < in->p[row + 1]; e++)
            *word_of(a, block + place[e] / WIDTH, row - first) |= 1ull << ((row - first) % 8 * WIDTH + place[e] % WIDTH);
    if (!in->x)
        return;
    for (int64_t b = block; b < a->w.block[v + 1]; b++) {
        w->next[b] = to;
        to += entries_of(a, b);
    }
    size_t size = tsr_number_size(in->number);
    for (int64_t e = a->w.entry[v]; e < a->w.entry[v + 1]; e++)
        tsr_move_value(a->value, w->next[block + place[e] / WIDTH]++, in->x, e, size);
}

static tsr_status fill(void *context, const tsr_source *in, const uint32_t *place, int nthreads)
{
    tsr_bmat *a = context;
    int64_t *next = tsr_format_alloc(in->x ? a->w.nblocks : 0, sizeof *next);
    a->mask = tsr_format_alloc(a->w.nblocks, (size_t)a->w.height / 8 * sizeof *a->mask);
    a->value = in->x ? tsr_format_alloc(in->nvals, tsr_number_size(in->number)) : NULL;
    if (!next || !a->mask || (in->x && !a->value)) {
        free(next);
        return TSR_OUT_OF_MEMORY;
    }
    tsr_for_windows(&a->w, nthreads, fill_window, &(struct work){ a, in, place, next });
    free(next);
    return TSR_OK;
}

tsr_status tsr_make_bmat(tsr_bmat *out, const tsr_source *in, int height, int nthreads)
{
    memset(out, 0, sizeof *out);
    if (height != 8 && height != 16)
        return TSR_INVALID_VALUE;
    tsr_status status = tsr_make_format(&out->w, in, height, WIDTH, nthreads, fill, out);
    if (status != TSR_OK)
        tsr_free_bmat(out);
    return status;
}

void tsr_free_bmat(tsr_bmat *a)
{
    tsr_free_windows(&a->w);
    free(a->mask);
    free(a->value);
    memset(a, 0, sizeof *a);
}

size_t tsr_bytes_bmat(const tsr_bmat *a, tsr_number number)
{
    return tsr_bytes_windows(&a->w) + (size_t)a->w.nblocks * (size_t)a->w.height +
           (a->value ? (size_t)a->w.nvals * tsr_number_size(number) : 0);
}

static void walk(const void *format, tsr_visit *visit, void *context)
{
    const tsr_bmat *a = format;
    int64_t e = 0;
    for (int64_t v = 0; v < a->w.nwindows; v++) {
        for (int64_t b = a->w.block[v]; b < a->w.block[v + 1]; b++) {
            const uint32_t *column = a->w.column + a->w.vector[v] + (b - a->w.block[v]) * WIDTH;
            for (int64_t row = 0; row < a->w.height; row += 8)
                for (uint64_t bits = *word_of(a, b, row); bits; bits &= bits - 1) {
                    int bit = __builtin_ctzll(bits);
                    visit(context, v * a->w.height + row + bit / WIDTH, column[bit % WIDTH], e++);
                }
        }
    }
}

tsr_status tsr_expand_bmat(tsr_source *out, const tsr_bmat *a, tsr_number number)
{
    return tsr_expand(out, &a->w, walk, a, a->value, number);
}
