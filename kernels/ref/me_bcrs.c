/* ME-BCRS walked as its kernel does.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ref/formats.h"

/* 8 x length values, row-major, from value number `from`. */
static void add_block(tsr_ref_tile *tile, const tsr_me_bcrs *a, tsr_number number, const uint32_t *column, int64_t from,
                      int64_t length)
{
    for (int64_t row = 0; row < 8; row++) {
        for (int64_t slot = 0; slot < length; slot++) {
            double value = tsr_ref_number(a->value, number, from + row * length + slot);
            if (value != 0)
                tsr_ref_add(tile, row, value, column[slot]);
        }
    }
}

tsr_status tsr_ref_spmm_me_bcrs(const tsr_me_bcrs *a, tsr_number number, int64_t n, const double *b, int64_t ldb, double *c,
                                int64_t ldc, double alpha, double beta, double *magnitude)
{
    const tsr_windows *w = &a->w;
    tsr_ref_tile tile = {n, b, ldb, c, ldc, alpha, beta, magnitude, NULL, NULL};
    if (!tsr_ref_begin(&tile, w->height))
        return TSR_OUT_OF_MEMORY;
    for (int64_t v = 0; v < w->nwindows; v++) {
        for (int64_t s = w->vector[v]; s < w->vector[v + 1]; s += w->width) {
            int64_t left = w->vector[v + 1] - s;
            add_block(&tile, a, number, w->column + s, 8 * s, left < w->width ? left : w->width);
        }
        tsr_ref_write(&tile, w, v);
    }
    tsr_ref_end(&tile);
    return TSR_OK;
}
