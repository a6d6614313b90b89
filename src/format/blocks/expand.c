/* Block formats back to CSR.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/format/blocks/tc_blocks.h"
#include "src/base/split.h"

#include <stdlib.h>
#include <string.h>

typedef struct expansion {
    int64_t *p; /* while entries are placed: where the next entry of each row goes */
    uint32_t *i;
    void *x;
    const void *value;
    size_t size;
} expansion;

static void count_entry(void *context, int64_t row, uint32_t column, int64_t from)
{
    expansion *to = context;
    (void)column;
    (void)from;
    to->p[row + 1]++;
}

static void place_entry(void *context, int64_t row, uint32_t column, int64_t from)
{
    expansion *to = context;
    int64_t e = to->p[row]++;
    to->i[e] = column;
    if (to->x)
        tsr_move_value(to->x, e, to->value, from, to->size);
}

static void release(expansion *to)
{
    free(to->p);
    free(to->i);
    free(to->x);
}

tsr_status tsr_expand(tsr_source *out, const tsr_windows *w, tsr_walk *walk, const void *format, const void *value,
                      tsr_number number)
{
    expansion to = {.p = tsr_format_alloc(w->nrows + 1, sizeof *to.p), .value = value, .size = tsr_number_size(number)};
    memset(out, 0, sizeof *out);
    if (!to.p)
        return TSR_OUT_OF_MEMORY;
    memset(to.p, 0, ((size_t)w->nrows + 1) * sizeof *to.p);
    walk(format, count_entry, &to);
    for (int64_t row = 0; row < w->nrows; row++)
        to.p[row + 1] += to.p[row];
    int64_t nvals = to.p[w->nrows];
    to.i = tsr_format_alloc(nvals, sizeof *to.i);
    to.x = value ? tsr_format_alloc(nvals, to.size) : NULL;
    if (!to.i || (value && !to.x)) {
        release(&to);
        return TSR_OUT_OF_MEMORY;
    }
    walk(format, place_entry, &to);
    memmove(to.p + 1, to.p, (size_t)w->nrows * sizeof *to.p);
    to.p[0] = 0;
    *out = (tsr_source){.nrows = w->nrows, .ncols = w->ncols, .nvals = nvals, .p = to.p, .i = to.i, .x = to.x, .number = number};
    return TSR_OK;
}

void tsr_free_source(tsr_source *source)
{
    free((void *)source->p);
    free((void *)source->i);
    free((void *)source->x);
    memset(source, 0, sizeof *source);
}
