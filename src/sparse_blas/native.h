/* What the files of the native door share.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_NATIVE_H
#define TSR_NATIVE_H

#include "src/engine/engine.h"

typedef struct tsr_hint {
    int64_t n;
    double expected_calls;
    tsr_precision precision;
    bool deterministic;
} tsr_hint;

struct tsr_sparse {
    tsr_view view;           /* SPARSE; values absent (x = &one, iso) or the caller's */
    tsr_record *record;      /* representations of A ... */
    tsr_record *transposed;  /* ... and of its transpose: orientation alone does not tell them apart */
    tsr_hint hints[TSR_OP_COUNT];
    bool copied;
    void *owned_offsets, *owned_indices, *owned_values; /* NULL: the caller's */
    union { uint64_t u; double d; float f; } one;       /* the value of a pattern's entries */
};

struct tsr_plan {
    tsr_call call; /* operands as given at creation, without data */
    tsr_decision decision;
    tsr_dense first, second; /* shapes, types, layouts */
    unsigned flags;
    const tsr_sparse *a;
    size_t bytes;
    char explanation[640];
};

/* Read-only view of a dense operand; a column of consecutive elements becomes by_col. */
tsr_view tsr_native_dense_view(const tsr_dense *d);

/* Shape, enumerators and leading dimension in order; data is not looked at. */
tsr_status tsr_native_check_dense(const tsr_dense *d);

/* Product with the operands of a plan (op(A) resolved), dense ones from `first` and `second`. */
void tsr_native_bind(tsr_call *call, const tsr_plan *plan, tsr_sparse *a, const tsr_dense *first,
                     const tsr_dense *second);

/* C = alpha T + beta C, where T has the places present[] (NULL: all); T itself NULL: none.  Absent places count as the
 * monoid's identity.  T and present are `outer` vectors of `inner` elements without padding, C has leading dimension
 * ld.  c may be t.  alpha and beta: 1 and 0, or the semiring adds floating-point numbers. */
typedef struct tsr_finish {
    tsr_semiring semiring;
    double alpha, beta;
    const void *t;
    const int8_t *present;
    void *c;
    int64_t outer, inner, ld;
    int nthreads;
} tsr_finish;

void tsr_native_finish(const tsr_finish *f);

#endif
