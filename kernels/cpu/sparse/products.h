/* Products of entries of a vector and of a matrix, some hundred at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_SPARSE_PRODUCTS_H
#define TSR_CPU_SPARSE_PRODUCTS_H

#include "kernels/cpu/elementwise/ewise_loops.h"
#include "kernels/sparse_vectors.h"

enum { TSR_PRODUCTS = 256 };

/* The products of one entry of U with entries of a row of A. */
typedef struct tsr_products {
    const tsr_push_semiring *semiring;
    const tsr_ewise_table *table;
    int64_t r, step;    /* step: -1, or 0 where all products are the same */
    const void *of_u;   /* the value of the entry of U */
    int64_t filled;     /* copies of it in `same` */
    bool reads_u, reads_a;
    uint64_t one[1], same[TSR_PRODUCTS], made[TSR_PRODUCTS];
} tsr_products;

void tsr_products_begin(tsr_products *products, const tsr_push_semiring *semiring, int64_t r);
void tsr_products_row(tsr_products *products, const tsr_view *u, int64_t t, int64_t k); /* entry t of U, whose index is k */

/* With n <= TSR_PRODUCTS entries of A from e on, whose indices are j. */
const void *tsr_products_make(tsr_products *products, const tsr_view *a, int64_t e, const int64_t *j, int64_t n);

/* x[t] = the product of entry from[t] of U and at[t] of A, for index i[t] of vector r. */
void tsr_products_list(void *x, const tsr_push *push, int64_t r, const int64_t *i, const int64_t *from, const int64_t *at, int64_t n);

#endif
