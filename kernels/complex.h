/* The contract of products of complex numbers (reference, CPU).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_COMPLEX_H
#define TSR_COMPLEX_H

#include "tessera/backend.h"

/* C = alpha op(A) B + beta C, plus_times of TSR_FC32 or TSR_FC64; products by the formulas of school, sums one entry after the other.
 * a: sparse by row (m rows), values of the type or iso.  places: where the value of each entry is in a->x; NULL: in order.
 * conjugate: of A's values.  Element (r, j) of B and C is at r * row + j * column; C is not read if beta is 0. */
typedef struct tsr_complex_spmm {
    tsr_type type;
    const tsr_view *a;
    const int64_t *places;
    bool conjugate;
    int64_t n;
    const void *b;
    int64_t b_row, b_column;
    void *c;
    int64_t c_row, c_column;
    tsr_complex alpha, beta;
    int nthreads;
} tsr_complex_spmm;

tsr_status tsr_cpu_spmm_complex(const tsr_complex_spmm *product);
tsr_status tsr_ref_spmm_complex(const tsr_complex_spmm *product);

#endif
