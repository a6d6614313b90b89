/* Sparse times sparse: when our kernels are expected to be faster.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_POLICY_SPARSE_PRODUCT_H
#define TSR_POLICY_SPARSE_PRODUCT_H

#include <stdbool.h>

#define TSR_SPARSE_PRODUCT_LEAST 65536.0 /* products; with fewer what surrounds our kernel is felt */

typedef struct tsr_sparse_product_features {
    double work;    /* products: pairs A(i,k), B(k,j); estimated */
    double columns; /* of C held by row */
    double nvals;   /* entries of both operands */
    double flipped; /* of these, entries of operands that are held the other way and are transposed first */
    double places;  /* rows times columns of C */
    double entries; /* of C; 0: not known, estimated */
    double lines;   /* rows of both operands and of C, held by row */
    double span;    /* columns from the first to the last that a row may have, on average; 0: not known */
    bool alike;     /* most rows have the same span, as in grids */
    double value_bytes; /* of an entry of C and of the operands; 0: patterns */
    bool held;      /* the GPU has both operands */
    bool stays;     /* … and keeps C */
    bool copies;    /* C's lines are lines of one operand times a number */
    bool renames;   /* … are lines of the left one with other indices, some joined */
    bool sieved;    /* by a bitmap or full mask … */
    double sieve_bytes; /* … of which so many bytes of a place are read */
    int nthreads;
} tsr_sparse_product_features;

/* By the average number of products, before the operands are inspected: that sorts what is jumbled among their entries, which SuiteSparse's
 * own product need not do.  nvals_a, nvals_b: 0 where neither operand may be jumbled; nvals_b: 0 where B is A.  A frontier is new at every call; what it is multiplied by mostly stays, and is sorted once.
 * Where there is a product for each entry of B, as in R (A P), A is no frontier, and B may be as new. */
bool tsr_sparse_product_is_small(double work, double nvals_a, double nvals_b);

/* May rows be so short that it is asked how far apart their columns are? */
bool tsr_sparse_product_asks_span(const tsr_sparse_product_features *f);

/* Predicted, C being unmasked.  gpu_price.h has the GPU's. */
double tsr_sparse_product_suitesparse_ms(const tsr_sparse_product_features *f);
double tsr_sparse_product_cpu_ms(const tsr_sparse_product_features *f);

double tsr_sparse_product_entries(const tsr_sparse_product_features *f); /* of C */

/* NULL: ours, on the host.  Otherwise why SuiteSparse's is taken (static text). */
const char *tsr_sparse_product_pays(const tsr_sparse_product_features *f);

#endif
