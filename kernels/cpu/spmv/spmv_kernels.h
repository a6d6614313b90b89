/* Inner loops of SpMV as the driver sees them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_SPMV_KERNELS_H
#define TSR_CPU_SPMV_KERNELS_H

#include "kernels/cpu/common/template.h"

/* Vectors [first, last) of A.  By row: y[r'] = c[r'] (+) dot of row r with x, where r' = h ? h[r] : r; without c the dot alone.  By column:
 * y[i] (+)= a (x) x[k] for every entry, y holding values of the monoid already (yb tells which for ANY); c is not looked at.
 * c[r' & c_mask], x[k & x_mask]: the mask is -1, or 0 when all are the first.  xb: presence of x or NULL.  yb: presence of y, or NULL if not
 * wanted (by column with ANY it is needed). */
typedef struct tsr_spmv_job {
    const int64_t *p, *h;
    int64_t first, last;
    const void *i;
    const void *a;
    int64_t a_step;
    const void *x;
    int64_t x_mask;
    const int8_t *xb;
    const void *c; /* NULL under ANY; may be y */
    int64_t c_mask;
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

/* By row with 32-bit indices below 2^31 and an x of which all are present and not one value: long rows gather x by vectors.  NULL: no such
 * loop of this instruction set. */
#define TSR_SPMV_MOST_GATHERED INT32_MAX
typedef tsr_spmv_fn tsr_spmv_gathered_fn(tsr_semiring semiring);
TSR_DECLARE_ISA(tsr_spmv_gathered_fn, tsr_spmv_gathered);

#endif
