/* HRPB walked as its kernel does.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ref/formats.h"

/* column: those of the brick; e: its first entry. */
static void add_brick(tsr_ref_tile *tile, const tsr_hrpb *a, tsr_number number, double iso, int64_t brick, int64_t row,
                      const uint32_t *column, int64_t e)
{
    for (int bit = 0; bit < 64; bit++) {
        if (a->pattern[brick] >> bit & 1) {
            tsr_ref_add(tile, row + bit / 4, a->value ? tsr_ref_number(a->value, number, e) : iso, column[bit % 4]);
            e++;
        }
    }
}

tsr_status tsr_ref_spmm_hrpb(const tsr_hrpb *a, tsr_number number, double iso, int64_t n, const double *b, int64_t ldb, double *c,
                             int64_t ldc, double alpha, double beta, double *magnitude)
{
    const tsr_windows *w = &a->w;
    int q = w->height / 16;
    tsr_ref_tile tile = {n, b, ldb, c, ldc, alpha, beta, magnitude, NULL, NULL};
    if (!tsr_ref_begin(&tile, w->height))
        return TSR_OUT_OF_MEMORY;
    for (int64_t v = 0; v < w->nwindows; v++) {
        for (int64_t k = w->block[v]; k < w->block[v + 1]; k++) {
            const uint32_t *column = w->column + w->vector[v] + 16 * (k - w->block[v]);
            int64_t end = k + 1 < w->block[v + 1] ? a->brick[v] + a->block_brick[k + 1] : a->brick[v + 1];
            for (int64_t brick = a->brick[v] + a->block_brick[k]; brick < end; brick++) {
                int at = a->position[brick];
                add_brick(&tile, a, number, iso, brick, at % q * 16, column + at / q * 4, w->entry[v] + a->brick_entry[brick]);
            }
        }
        tsr_ref_write(&tile, w, v);
    }
    tsr_ref_end(&tile);
    return TSR_OK;
}
