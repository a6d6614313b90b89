/* ME-TCF of DTC-SpMM.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/format/blocks/tc_blocks.h"
#include "src/base/split.h"

#include <stdlib.h>
#include <string.h>

enum { HEIGHT = 16, WIDTH = 8 };

/* start[b] = entries of the window before its block b. */
static void count_blocks(uint32_t *start, int64_t nblocks, const uint32_t *place, int64_t n)
{
    memset(start, 0, (size_t)nblocks * sizeof *start);
    for (int64_t e = 0; e < n; e++)
        start[place[e] / WIDTH]++;
    uint32_t sum = 0;
    for (int64_t b = 0; b < nblocks; b++) {
        uint32_t here = start[b];
        start[b] = sum;
        sum += here;
    }
}

/* Rows are taken in order, so entries of a block come out by row, then slot.  Meanwhile start[b] is where the next entry of
 * block b goes. */
struct work {
    tsr_me_tcf *a;
    const tsr_source *in;
    const uint32_t *place;
};

static void fill_window(void *context, int64_t v)
{
    tsr_me_tcf *a = ((const struct work *)context)->a;
    const tsr_source *in = ((const struct work *)context)->in;
    const uint32_t *place = ((const struct work *)context)->place;
    int64_t first, last, begin = a->w.entry[v], nblocks = a->w.block[v + 1] - a->w.block[v];
    uint32_t *start = a->block_entry + a->w.block[v];
    size_t size = tsr_number_size(in->number);
    if (!nblocks)
        return;
    tsr_window_rows(&a->w, v, &first, &last);
    count_blocks(start, nblocks, place + begin, a->w.entry[v + 1] - begin);
    for (int64_t row = first; row < last; row++) {
        for (int64_t e = in->p[row]; e < in->p[row + 1]; e++) {
            int64_t to = begin + start[place[e] / WIDTH]++;
            a->local[to] = (uint8_t)((row - first) * WIDTH + place[e] % WIDTH);
            if (in->x)
                tsr_move_value(a->value, to, in->x, e, size);
        }
    }
    memmove(start + 1, start, (size_t)(nblocks - 1) * sizeof *start);
    start[0] = 0;
}

static tsr_status fill(void *context, const tsr_source *in, const uint32_t *place, int nthreads)
{
    tsr_me_tcf *a = context;
    a->block_entry = tsr_format_alloc(a->w.nblocks, sizeof *a->block_entry);
    a->local = tsr_format_alloc(in->nvals, sizeof *a->local);
    a->value = in->x ? tsr_format_alloc(in->nvals, tsr_number_size(in->number)) : NULL;
    if (!a->block_entry || !a->local || (in->x && !a->value))
        return TSR_OUT_OF_MEMORY;
    tsr_for_windows(&a->w, nthreads, fill_window, &(struct work){ a, in, place });
    return TSR_OK;
}

tsr_status tsr_make_me_tcf(tsr_me_tcf *out, const tsr_source *in, int nthreads)
{
    memset(out, 0, sizeof *out);
    tsr_status status = tsr_make_format(&out->w, in, HEIGHT, WIDTH, nthreads, fill, out);
    if (status != TSR_OK)
        tsr_free_me_tcf(out);
    return status;
}

void tsr_free_me_tcf(tsr_me_tcf *a)
{
    tsr_free_windows(&a->w);
    free(a->block_entry);
    free(a->local);
    free(a->value);
    memset(a, 0, sizeof *a);
}

size_t tsr_bytes_me_tcf(const tsr_me_tcf *a, tsr_number number)
{
    return tsr_bytes_windows(&a->w) + (size_t)a->w.nblocks * sizeof *a->block_entry +
           (size_t)a->w.nvals * (1 + (a->value ? tsr_number_size(number) : 0));
}

static void walk(const void *format, tsr_visit *visit, void *context)
{
    const tsr_me_tcf *a = format;
    for (int64_t v = 0; v < a->w.nwindows; v++) {
        for (int64_t b = a->w.block[v]; b < a->w.block[v + 1]; b++) {
            const uint32_t *column = a->w.column + a->w.vector[v] + (b - a->w.block[v]) * WIDTH;
            int64_t end = b + 1 < a->w.block[v + 1] ? a->w.entry[v] + a->block_entry[b + 1] : a->w.entry[v + 1];
            for (int64_t e = a->w.entry[v] + a->block_entry[b]; e < end; e++)
                visit(context, v * HEIGHT + a->local[e] / WIDTH, column[a->local[e] % WIDTH], e);
        }
    }
}

tsr_status tsr_expand_me_tcf(tsr_source *out, const tsr_me_tcf *a, tsr_number number)
{
    return tsr_expand(out, &a->w, walk, a, a->value, number);
}
