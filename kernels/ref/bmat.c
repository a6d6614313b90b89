/* BMat walked as its kernel does: the values of a window follow each other in the order of the bits.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ref/formats.h"

tsr_status tsr_ref_spmm_bmat(const tsr_bmat *a, tsr_number number, double iso, int64_t n, const double *b, int64_t ldb, double *c,
                             int64_t ldc, double alpha, double beta, double *magnitude)
{
    const tsr_windows *w = &a->w;
    int words = w->height / 8;
    tsr_ref_tile tile = {n, b, ldb, c, ldc, alpha, beta, magnitude, NULL, NULL};
    if (!tsr_ref_begin(&tile, w->height))
        return TSR_OUT_OF_MEMORY;
    for (int64_t v = 0; v < w->nwindows; v++) {
        int64_t e = w->entry[v];
        for (int64_t k = w->block[v]; k < w->block[v + 1]; k++) {
            const uint32_t *column = w->column + w->vector[v] + 8 * (k - w->block[v]);
            for (int place = 0; place < 64 * words; place++)
                if (a->mask[k * words + place / 64] >> place % 64 & 1) {
                    tsr_ref_add(&tile, place / 8, a->value ? tsr_ref_number(a->value, number, e) : iso, column[place % 8]);
                    e++;
                }
        }
        tsr_ref_write(&tile, w, v);
    }
    tsr_ref_end(&tile);
    return TSR_OK;
}
