/* Stencils: blocks of windows as bits.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/format/blocks.h"
#include "src/format/split.h"

#include <stdlib.h>
#include <string.h>

static void fill_window(tsr_stencil *a, const tsr_source *in, const uint32_t *place, int64_t v)
{
    int64_t first, last;
    uint32_t *slots = a->slots + a->w.block[v] * TSR_STENCIL_HEIGHT;
    tsr_window_rows(&a->w, v, &first, &last);
    memset(slots, 0, (size_t)(a->w.block[v + 1] - a->w.block[v]) * TSR_STENCIL_HEIGHT * sizeof *slots);
    for (int64_t row = first; row < last; row++)
        for (int64_t e = in->p[row]; e < in->p[row + 1]; e++)
            slots[place[e] / TSR_STENCIL_WIDTH * TSR_STENCIL_HEIGHT + (row - first)] |= 1u << place[e] % TSR_STENCIL_WIDTH;
}

static tsr_status fill(tsr_stencil *a, const tsr_source *in, const uint32_t *place, int nthreads)
{
    a->slots = tsr_format_alloc(a->w.nblocks * TSR_STENCIL_HEIGHT, sizeof *a->slots);
    if (!a->slots)
        return TSR_OUT_OF_MEMORY;
    int nparts = tsr_parts(in->nvals, 1 << 15, nthreads);
#pragma omp parallel for num_threads(nparts) schedule(static, 1) if (nparts > 1)
    for (int part = 0; part < nparts; part++) {
        int64_t last = tsr_part_vector(a->w.entry, a->w.nwindows, part + 1, nparts);
        for (int64_t v = tsr_part_vector(a->w.entry, a->w.nwindows, part, nparts); v < last; v++)
            fill_window(a, in, place, v);
    }
    return TSR_OK;
}

tsr_status tsr_make_stencil(tsr_stencil *out, const tsr_source *in, int nthreads)
{
    uint32_t *place;
    memset(out, 0, sizeof *out);
    tsr_status status = tsr_make_windows(&out->w, &place, in, TSR_STENCIL_HEIGHT, TSR_STENCIL_WIDTH, nthreads);
    if (status == TSR_OK)
        status = fill(out, in, place, nthreads);
    free(place);
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
