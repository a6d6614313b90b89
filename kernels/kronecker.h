/* Kronecker products of matrices: contracts of the CPU and reference kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_KRONECKER_H
#define TSR_KRONECKER_H

#include "kernels/kernels.h"

/* C = kron (A, B): op (x, y) for each entry x of A and y of B.  Vector v of A and w of B make vector v * (vectors of B) + w of C, entries i and j
 * of them its entry i * (length of B's vectors) + j.
 * A and B are held alike, sparse, hypersparse or full; not jumbled; nvals of both are positive.  Values of the type `type`, which the operator
 * has; none (NULL) where it does not read them, or where C gets none. */
typedef struct tsr_kronecker {
    tsr_view a, b;
    tsr_ewise_op op;       /* a binary one */
    tsr_type type, result; /* of its operands, of its result */
    tsr_type c_type;       /* of C's values, which the result is cast to */
    bool narrow;           /* indices of C have 32 bits */
    int nthreads;
} tsr_kronecker;

/* Stored vectors of C are those of A times those of B, the empty ones as well. */
typedef struct tsr_kronecker_c {
    uint64_t *p; /* one more than there are vectors; NULL: both operands are full, and so is C */
    uint64_t *h; /* NULL: no operand is hypersparse */
    void *i;     /* NULL with p */
    void *x;     /* NULL: no values are wanted */
} tsr_kronecker_c;

static inline bool tsr_kronecker_reads_a(tsr_ewise_op op) { return op != TSR_EWISE_SECOND && op != TSR_EWISE_PAIR; }
static inline bool tsr_kronecker_reads_b(tsr_ewise_op op) { return op != TSR_EWISE_FIRST && op != TSR_EWISE_PAIR; }

/* op (y, x) is what x and y become: of two zeros MIN and MAX give x here, for SuiteSparse calls fmin and fmax, where the loops of steps give y. */
static inline bool tsr_kronecker_swaps(tsr_ewise_op op) { return op == TSR_EWISE_MIN || op == TSR_EWISE_MAX; }

tsr_status tsr_cpu_kronecker(const tsr_kronecker *k, const tsr_kronecker_c *c);

/* The same, entry by entry. */
tsr_status tsr_ref_kronecker(const tsr_kronecker *k, const tsr_kronecker_c *c);

#endif
