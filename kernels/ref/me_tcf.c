/* ME-TCF walked as its kernel does.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ref/formats.h"

static void add_block(tsr_ref_tile *tile, const tsr_me_tcf *a, tsr_number number, double iso, const uint32_t *column,
                      int64_t begin, int64_t end)
{
    for (int64_t e = begin; e < end; e++) {
        int row = a->local[e] >> 3, slot = a->local[e] & 7;
        tsr_ref_add(tile, row, a->value ? tsr_ref_number(a->value, number, e) : iso, column[slot]);
    }
}

tsr_status tsr_ref_spmm_me_tcf(const tsr_me_tcf *a, tsr_number number, double iso, int64_t n, const double *b, int64_t ldb,
                               double *c, int64_t ldc, double alpha, double beta, double *magnitude)
{
    const tsr_windows *w = &a->w;
    tsr_ref_tile tile = {n, b, ldb, c, ldc, alpha, beta, magnitude, NULL, NULL};
    if (!tsr_ref_begin(&tile, w->height))
        return TSR_OUT_OF_MEMORY;
    for (int64_t v = 0; v < w->nwindows; v++) {
        for (int64_t k = w->block[v]; k < w->block[v + 1]; k++) {
            int64_t begin = w->entry[v] + a->block_entry[k];
            int64_t end = k + 1 < w->block[v + 1] ? w->entry[v] + a->block_entry[k + 1] : w->entry[v + 1];
            add_block(&tile, a, number, iso, w->column + w->vector[v] + 8 * (k - w->block[v]), begin, end);
        }
        tsr_ref_write(&tile, w, v);
    }
    tsr_ref_end(&tile);
    return TSR_OK;
}
