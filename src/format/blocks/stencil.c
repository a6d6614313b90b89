/* Stencils: blocks of windows as bits.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/format/blocks/tc_blocks.h"
#include "src/base/split.h"

#include <stdlib.h>
#include <string.h>

struct work {
    tsr_stencil *a;
    const tsr_source *in;
    const uint32_t *place;
};

static void fill_window(void *context, int64_t v)
{
    const struct work *w = context;
    const tsr_stencil *a = w->a;
    int64_t first, last;
    uint32_t *slots = a->slots + a->w.block[v] * TSR_STENCIL_HEIGHT;
    tsr_window_rows(&a->w, v, &first, &last);
    memset(slots, 0, (size_t)(a->w.block[v + 1] - a->w.block[v]) * TSR_STENCIL_HEIGHT * sizeof *slots);
    for (int64_t row = first; row < last; row++)
        for (int64_t e = w->in->p[row]; e < w->in->p[row + 1]; e++)
            slots[w->place[e] / TSR_STENCIL_WIDTH * TSR_STENCIL_HEIGHT + (row - first)] |= 1u << w->place[e] % TSR_STENCIL_WIDTH;
}

static tsr_status fill(void *context, const tsr_source *in, const uint32_t *place, int nthreads)
{
    tsr_stencil *a = context;
    a->slots = tsr_format_alloc(a->w.nblocks * TSR_STENCIL_HEIGHT, sizeof *a->slots);
    if (!a->slots)
        return TSR_OUT_OF_MEMORY;
    tsr_for_windows(&a->w, nthreads, fill_window, &(struct work){ a, in, place });
    return TSR_OK;
}

tsr_status tsr_make_stencil(tsr_stencil *out, const tsr_source *in, int nthreads)
{
    memset(out, 0, sizeof *out);
    tsr_status status = tsr_make_format(&out->w, in, TSR_STENCIL_HEIGHT, TSR_STENCIL_WIDTH, nthreads, fill, out);
    if (status != TSR_OK)
        tsr_free_stencil(out);
    return status;
}

void tsr_free_stencil(tsr_stencil *a)
{
    tsr_free_windows(&a->w);
    free(a->slots);
    memset(a, 0, sizeof *a);
}

size_t tsr_bytes_stencil(const tsr_stencil *a)
{
    return tsr_bytes_windows(&a->w) + (size_t)a->w.nblocks * TSR_STENCIL_HEIGHT * sizeof *a->slots;
}
