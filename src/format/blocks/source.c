/* Views as sources of the block formats.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/format/blocks/tc_blocks.h"
#include "src/base/split.h"

#include <stdlib.h>
#include <string.h>

/* Borrowed, or narrowed from 64 bits. */
static tsr_status view_indices(tsr_viewed *out, const tsr_view *in, int nthreads)
{
    out->source.i = in->i;
    if (in->index_size == 4)
        return TSR_OK;
    uint32_t *narrow = out->i = tsr_format_alloc(in->nvals, sizeof *narrow);
    const int64_t *wide = in->i;
    out->source.i = narrow;
    if (!narrow)
        return TSR_OUT_OF_MEMORY;
    int nparts = tsr_parts(in->nvals, 1 << 16, nthreads);
#pragma omp parallel for num_threads(tsr_team(nparts)) schedule(static, 1) if (nparts > 1)
    for (int part = 0; part < nparts; part++) {
        int64_t end = tsr_part_begin(in->nvals, part + 1, nparts);
        for (int64_t e = tsr_part_begin(in->nvals, part, nparts); e < end; e++)
            narrow[e] = (uint32_t)wide[e];
    }
    return TSR_OK;
}

/* Borrowed, rounded, or not there. */
static tsr_status view_values(tsr_viewed *out, const tsr_view *in, tsr_number number, int nthreads)
{
    out->iso = 1;
    if (!in->x)
        return TSR_OK;
    if (in->iso) {
        out->iso = in->type == TSR_FP32 ? (double)*(const float *)in->x : *(const double *)in->x;
        return TSR_OK;
    }
    out->source.x = in->x;
    if (number == (in->type == TSR_FP32 ? TSR_NUMBER_FP32 : TSR_NUMBER_FP64))
        return TSR_OK;
    out->source.x = out->x = tsr_format_alloc(in->nvals, tsr_number_size(number));
    if (!out->x)
        return TSR_OUT_OF_MEMORY;
    tsr_round_values(out->x, number, in->x, in->type, in->nvals, nthreads);
    return TSR_OK;
}

tsr_status tsr_view_source(tsr_viewed *out, const tsr_view *in, tsr_number number, int nthreads)
{
    memset(out, 0, sizeof *out);
    if (in->format != TSR_SPARSE || in->by_col || in->jumbled)
        return TSR_INVALID_VALUE;
    if (in->ncols > (int64_t)1 << 32 || (in->x && in->type != TSR_FP32 && in->type != TSR_FP64))
        return TSR_NOT_SUPPORTED;
    out->source = (tsr_source){.nrows = in->nrows, .ncols = in->ncols, .nvals = in->nvals, .p = in->p, .number = number};
    tsr_status status = view_indices(out, in, nthreads);
    if (status == TSR_OK)
        status = view_values(out, in, number, nthreads);
    if (status != TSR_OK)
        tsr_free_viewed(out);
    return status;
}

void tsr_free_viewed(tsr_viewed *viewed)
{
    free(viewed->i);
    free(viewed->x);
    memset(viewed, 0, sizeof *viewed);
}
