/* Inner loops of SpMV as the driver sees them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_SPMV_KERNELS_H
#define TSR_CPU_SPMV_KERNELS_H

#include "kernels/cpu/common/template.h"

/* Vectors [first, last) of A.  By row: y[h ? h[r] : r] = dot of row r with x.  By column: y[i] (+)= a (x) x[k]
 * for every
 * entry, y holding values of the monoid already (yb tells which for ANY).
 * x[k & x_mask]: x_mask = -1, or 0 when all are x[0].  xb: presence of x or NULL.  yb: presence of y, or NULL if
 * not wanted
 * (by column with ANY it is needed). */
typedef struct tsr_spmv_job {
    const int64_t *p, *h;
    int64_t first, last;
    const void *i;
    const void *a;
    int64_t a_step;
    const void *x;
    int64_t x_mask;
    const int8_t *xb;
    void *y;
    int8_t *yb;
} tsr_spmv_job;

typedef void (*tsr_spmv_fn)(const tsr_spmv_job *job);

typedef struct tsr_spmv_fns {
    tsr_spmv_fn by_row[2]; /* index_size 4, 8 */
    tsr_spmv_fn by_col[2];
    void (*join)(void *y, const void *part, int8_t *yb, const int8_t *part_b, int64_t n); /* y (+)= part */
} tsr_spmv_fns;

/* False: none. The semiring is canonical. */
bool tsr_find_spmv(tsr_spmv_fns *fns, tsr_semiring semiring);

#endif
