/* Panels walked as their kernel does.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ref/formats.h"

/* Entries of the 8 rows from `row` on; column: those of the block. */
static void add_rows(tsr_ref_tile *tile, const tsr_panel *a, tsr_number number, int64_t k, int row, const uint32_t *column)
{
    int64_t per_entry = number == TSR_NUMBER_FP64 ? 4 : 2; /* words */
    const uint32_t *block = (const uint32_t *)a->data + a->first[k] * (TSR_PANEL_UNIT / 4);
    uint32_t head = block[row / 8];
    int64_t at = block - (const uint32_t *)a->data + a->w.height / 8 + (head >> 8 & 0xffff) * per_entry;
    for (int r = 0; r < 8; r++) {
        for (bool more = head >> r & 1; more; at += per_entry) {
            uint32_t place = ((const uint32_t *)a->data)[at + per_entry / 2];
            tsr_ref_add(tile, row + r, tsr_ref_number(a->data, number, at / (per_entry / 2)), column[place >> 16]);
            more = !(place & TSR_PANEL_LAST);
        }
    }
}

tsr_status tsr_ref_spmm_panel(const tsr_panel *a, tsr_number number, int64_t n, const double *b, int64_t ldb, double *c, int64_t ldc,
                              double alpha, double beta, double *magnitude)
{
    const tsr_windows *w = &a->w;
    tsr_ref_tile tile = {n, b, ldb, c, ldc, alpha, beta, magnitude, NULL, NULL};
    if (!tsr_ref_begin(&tile, w->height))
        return TSR_OUT_OF_MEMORY;
    for (int64_t v = 0; v < w->nwindows; v++) {
        for (int64_t k = w->block[v]; k < w->block[v + 1]; k++)
            for (int row = 0; row < w->height; row += 8)
                add_rows(&tile, a, number, k, row, w->column + a->begin[k]);
        tsr_ref_write(&tile, w, v);
    }
    tsr_ref_end(&tile);
    return TSR_OK;
}
