/* Which elementwise calls our CPU kernels do sooner than SuiteSparse, all operands being full or bitmaps on the host.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ELEMENTWISE_H
#define TSR_ELEMENTWISE_H

#include <stdbool.h>

/* Elements below which a call is forwarded before it is taken apart. */
#define TSR_EWISE_LEAST 16384.0

/* Elements below which some pays only that takes SuiteSparse many times as long. */
#define TSR_EWISE_FEW 1e5

/* Entries of sparse matrices of one pattern below which a call on them is forwarded; of a single operand, which SuiteSparse copies as fast while
 * the copy lies in the cache. */
#define TSR_ENTRIES_LEAST 16384.0

/* Do the common entries of two sparse matrices, of which one has fewer, take less here? */
bool tsr_common_pays(double fewer, double more, double vectors);

#define TSR_ENTRIES_MOVED_LEAST 1e6

typedef struct tsr_ewise_features {
    double elements;
    bool forced;      /* test mode: all of them */
    bool select;      /* by value */
    bool masked;
    bool partial;     /* an operand is a bitmap */
    bool casts;       /* an operand, or the result, has another type than the operator */
    bool extremes;    /* the operator or the accumulator is MIN or MAX of floating point */
    bool computes;    /* the operator is more than a copy of an operand */
    bool accumulates;
    bool moves;       /* unary or with a scalar, and C is not the operand */
} tsr_ewise_features;

bool tsr_ewise_pays(const tsr_ewise_features *call);

#endif
