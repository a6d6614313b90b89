/* The loops of Kronecker products, compiled once per instruction set.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_KRONECKER_ENTRIES_H
#define TSR_CPU_KRONECKER_ENTRIES_H

#include "kernels/cpu/elementwise/ewise_loops.h"
#include "kernels/kronecker.h"

/* Vectors are written in blocks of so many entries: what a block writes behind a short one the next overwrites. */
enum { TSR_KRONECKER_LANES = 8 };

/* An operand as the loops read it. */
typedef struct tsr_factor {
    const int64_t *p; /* offsets of its stored vectors */
    const void *i;    /* indices; of a full one those of a single vector */
    bool narrow, full;
    const void *x;    /* values; NULL: none are read */
    bool iso;
    int64_t nvec, vlen, nvals;
    int64_t room;     /* indices and values that may be read: nvals, and LANES more where they are copies */
} tsr_factor;

typedef struct tsr_kronecker_job {
    const tsr_kronecker *k;
    tsr_kronecker_c c;
    tsr_factor a, b;
    const tsr_ewise_table *table;
} tsr_kronecker_job;

/* Entries [first, last) of C. */
typedef void tsr_kronecker_fill(const tsr_kronecker_job *job, int64_t first, int64_t last);

TSR_DECLARE_ISA(extern tsr_kronecker_fill *const, tsr_kronecker_entries);

#endif
