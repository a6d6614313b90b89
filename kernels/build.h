/* Matrices and vectors made of tuples in any order: contracts of the CPU and reference kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_BUILD_H
#define TSR_BUILD_H

#include "kernels/kernels.h"
#include "tessera/values.h"

/* What several tuples of one place become: one after the other, in their order. */
typedef enum tsr_joining { TSR_JOIN_NONE, TSR_JOIN_FIRST, TSR_JOIN_LAST, TSR_JOIN_FOLD } tsr_joining;

/* Fewer than 2^32 tuples; vectors and places are numbered below 2^32. */
typedef struct tsr_tuples {
    const uint64_t *vector; /* NULL: there is one vector, number 0 */
    const uint64_t *place;
    const void *x;          /* NULL: values are of no interest */
    tsr_type type;
    int64_t count, nvec, vlen;
    tsr_joining joining;
    tsr_reduce_op monoid;   /* of TSR_JOIN_FOLD */
    int nthreads;
    bool narrow;            /* places of the result in 32 bits */
    int64_t nvals, nonempty;   /* entries of the result, vectors that have any: known after _sort */
    struct tsr_sorted *sorted; /* of the kernel: made by _sort, freed by _end */
} tsr_tuples;

/* Does a sample of neighbouring tuples say that they are not sorted? */
bool tsr_tuples_unsorted(const tsr_tuples *t);

/* TSR_DECLINED: a number is too large, or two tuples have one place and nothing joins them.  _end in any case. */
tsr_status tsr_cpu_build_sort(tsr_tuples *t);
/* Of the vectors that have entries: their numbers, offsets (nonempty + 1), and ascending places; x NULL: no values. */
void tsr_cpu_build_fill(const tsr_tuples *t, uint64_t *h, uint64_t *p, void *i, void *x);
void tsr_cpu_build_end(tsr_tuples *t);

/* The same, place by place, in 64 bits; h, p, i and x NULL: only nvals and nonempty. */
tsr_status tsr_ref_build(tsr_tuples *t, uint64_t *h, uint64_t *p, uint64_t *i, void *x);

/* The CPU backend's (tsr_backend_host). */
typedef struct tsr_build_kernels {
    bool (*unsorted)(const tsr_tuples *t);
    tsr_status (*sort)(tsr_tuples *t);
    void (*fill)(const tsr_tuples *t, uint64_t *h, uint64_t *p, void *i, void *x);
    void (*end)(tsr_tuples *t);
} tsr_build_kernels;

#endif
