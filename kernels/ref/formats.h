/* Reference executors of the block formats: the oracle of the Tensor-Core kernels.
 * Each walks its format in the kernels' order (windows, blocks, entries), decodes positions as a kernel does, and computes in
 * double.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_REF_FORMATS_H
#define TSR_REF_FORMATS_H

#include "src/format/blocks/formats.h"

/* C = alpha A B + beta C over plus_times.
 *   number     what A's values are stored as
 *   iso        the value of every entry where the representation has value == NULL
 *   n          columns of B and C; n = 0 does nothing
 *   b          ncols x n, row-major, leading dimension ldb >= n; already rounded by the caller to what the kernel reads
 *   c          nrows x n, row-major, leading dimension ldc >= n; not read when beta == 0; columns n..ldc-1 are left alone
 *   magnitude  NULL, or shaped like c: |alpha| sum |a| |b| + |beta| |c|, to bound errors by
 * Only entries are multiplied: places of a block without one contribute nothing whatever B holds (ME-BCRS: nor do entries whose
 * value is zero).
 * TSR_OUT_OF_MEMORY: nothing was written. */
tsr_status tsr_ref_spmm_me_tcf(const tsr_me_tcf *a, tsr_number number, double iso, int64_t n, const double *b, int64_t ldb,
                               double *c, int64_t ldc, double alpha, double beta, double *magnitude);
tsr_status tsr_ref_spmm_me_bcrs(const tsr_me_bcrs *a, tsr_number number, int64_t n, const double *b, int64_t ldb, double *c,
                                int64_t ldc, double alpha, double beta, double *magnitude);
tsr_status tsr_ref_spmm_bmat(const tsr_bmat *a, tsr_number number, double iso, int64_t n, const double *b, int64_t ldb, double *c,
                             int64_t ldc, double alpha, double beta, double *magnitude);
tsr_status tsr_ref_spmm_hrpb(const tsr_hrpb *a, tsr_number number, double iso, int64_t n, const double *b, int64_t ldb, double *c,
                             int64_t ldc, double alpha, double beta, double *magnitude);
tsr_status tsr_ref_spmm_panel(const tsr_panel *a, tsr_number number, int64_t n, const double *b, int64_t ldb, double *c, int64_t ldc,
                              double alpha, double beta, double *magnitude);

/* Value number k of an array, exactly. */
double tsr_ref_number(const void *x, tsr_number number, int64_t k);

/* ---- Shared by the files of the formats ---- */

/* The operands but A, and the sums of the window at hand. */
typedef struct tsr_ref_tile {
    int64_t n;
    const double *b;
    int64_t ldb;
    double *c;
    int64_t ldc;
    double alpha, beta;
    double *magnitude;
    double *sum, *size; /* height x n: sum of a b, sum of |a| |b| */
} tsr_ref_tile;

/* Allocates sums for windows of `height` rows, all zero; false: out of memory. */
bool tsr_ref_begin(tsr_ref_tile *tile, int height);
/* Row `row` of the window += a times row `column` of B. */
void tsr_ref_add(tsr_ref_tile *tile, int64_t row, double a, uint32_t column);
/* Writes window v to C; the sums are zero again. */
void tsr_ref_write(tsr_ref_tile *tile, const tsr_windows *w, int64_t v);
void tsr_ref_end(tsr_ref_tile *tile);

#endif
