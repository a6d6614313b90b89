/* What a door asks for, and what is decided about it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ENGINE_REQUEST_H
#define TSR_ENGINE_REQUEST_H

#include "kernels/kernels.h"
#include "src/object/record.h"

/* What a door knows about one product beyond the product itself. */
typedef struct tsr_request {
    tsr_product product;      /* normal form; a and b may still have another type than the semiring's (the engine casts) */
    tsr_record *a_matrix;     /* the record that may hold representations of a; NULL = none */
    tsr_record *b_matrix, *mask_matrix; /* of a masked product: likewise of b and the mask, for a backend's slots */
    bool a_transposed;        /* product.a shows the matrix of a_matrix transposed; so for b */
    bool b_transposed;
    const char *call;         /* for the trace: "GrB_mxm" */
    bool may_forward;         /* drop-in: SuiteSparse is a route.  native: it is not */
    bool finish_extra;        /* drop-in: the result goes through C<M> accum= T afterwards (costs memory traffic) */
    bool accum_full;          /* drop-in: the result is added to a full C */
    int64_t brought;          /* drop-in: bytes that were moved to have values of the operands */
    bool c_stays;             /* drop-in: a dense C need not be downloaded */
    bool b_away;              /* drop-in: b is only with a backend */
    double waiting;           /* drop-in: places of C and M that another route makes bitmaps of first */
    bool b_sparse;            /* drop-in: the host holds b sparse; product.b is the bitmap that would be brought: x tells that there are values */
    tsr_view sparse;          /* ... as the host holds it */
    bool iso;                 /* drop-in: the result is one value and a pattern, for which SuiteSparse has special cases */
    bool values;              /* drop-in: operands may be values of a backend, the result may stay one */
    bool direct;              /* drop-in: dense operands lie in blocks that are page-locked when products use them again */
    double expected_calls;    /* native hint; 0 = unknown */
    tsr_precision precision;  /* native hint; EXACT: as configured */
} tsr_request;

/* The decision, made before anything is allocated. */
typedef struct tsr_decision {
    const tsr_backend *backend; /* NULL: forward */
    double predicted_ms;        /* of the chosen route */
    double forward_ms;          /* predicted for SuiteSparse; < 0 unknown */
    char reason[96];
    uint64_t timing;        /* what this product's time is remembered by; 0: it is not */
    uint64_t alike;             /* … and that of others with other counts */
    uint64_t away;              /* the same of one whose operands are downloaded for it */
    double observed_ms;          /* predicted for a GPU that has the operands already; >= 0: the time of the forwarded call is wanted */
    bool build_a;               /* build (or use) the representation below */
    tsr_rep_key a_key;          /* of the matrix in the record, not of its transpose */
} tsr_decision;

#endif
