/* The drop-in door: handles of the real library, hooks, side table, allocator.
 * Only files of src/graphblas include this.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_DOOR_H
#define TSR_DOOR_H

#include <GraphBLAS.h>

#include "src/engine/call/call.h"
#include "tsr_functions.h" /* generated: struct tsr_real { GrB_Info (*GrB_mxm)(…); … }; extern struct tsr_real tsr_real; */

/* ---- the real library (real.c) ---- */

/* Find it once; false: no real library, or its version differs from the header's (pass-through, warned once). */
bool tsr_real_load(void);
bool tsr_real_compatible(void);
/* Address of a data symbol ("GrB_PLUS_FP32") of the real library; NULL if it has none. */
void *tsr_real_symbol(const char *name);

/* ---- the process (process.c) ---- */
void tsr_door_capture(bool blocking, const tsr_memory *user); /* of the GrB_init that succeeds, before it counts as started */
void tsr_door_set_started(bool started);
bool tsr_door_started(void);
void tsr_door_enter_child(void);
bool tsr_door_blocking(void);         /* GrB_BLOCKING mode */
bool tsr_door_in_child(void);         /* forked from a process that had started: pass everything through */

/* The allocator given to GrB_init or GxB_init: results handed over to SuiteSparse come from it. */
extern const tsr_memory tsr_door_memory;
void *tsr_user_malloc(size_t size);
/* As realloc; NULL: the block is as it was, also where the program has no realloc of its own. */
void *tsr_user_resize(void *block, size_t size);
void tsr_user_free(void *block);

/* ---- threads (context.c) ---- */
/* Threads that a call of this thread may use, if its descriptor does not say: at least 1 (context.c). */
int tsr_context_threads(void);

/* From begin to end a product with `desc` that is a share (0 to 1) of the work of another gets as many threads as all of that with `given`
 * would.  False: the share has to be ended too. */
typedef struct tsr_share {
    GrB_Descriptor desc;
#if GxB_IMPLEMENTATION_MAJOR >= 8
    GxB_Context context;
#endif
} tsr_share;
bool tsr_share_begin(tsr_share *out, GrB_Descriptor given, double share);
void tsr_share_end(tsr_share *share);

/* ---- side table (table.c): handle -> record ---- */

/* The record of a matrix or vector, with a reference for the caller; created when missing and `create`.  NULL: none, or no memory. */
tsr_record *tsr_table_get(const void *handle, bool create);

/* ---- hooks (hooks.c), called by every generated wrapper before the real function ---- */
void tsr_will_read(const void *handle);
void tsr_will_write(const void *handle);
void tsr_freed(const void *handle); /* the object is gone, or goes with an export */

/* ---- deferral (defer.c): DEFER test mode, counts and contents that stay with a backend ---- */

/* A product whose arguments are all captured, or a result that is only with a backend.  run: hand over the result; cancel: free what was
 * reserved (C was freed or replaced unread). */
typedef struct tsr_deferred {
    const void *target;          /* C */
    const void *operands[3];     /* A, B, M; NULL where absent */
    void (*run)(void *closure);
    void (*cancel)(void *closure);
    void *closure;
    bool counted;                /* the sum of C is known: of integers of `type`, modulo its range */
    tsr_type type;
    uint64_t total;
    bool only_value;             /* nothing is computed any more: at the end it is forgotten */
    void (*drop)(const void *operand); /* frees an operand that the program freed while this waited; NULL: it runs before that */
} tsr_deferred;

/* False: no memory for it; the caller runs it now. */
bool tsr_defer(const tsr_deferred *product);

/* The sum of a matrix that is the target of a deferred product, as an integer of its type extended to 64 bits.  False: it is none,
 * or its sum is not known. */
bool tsr_defer_total(const void *target, tsr_type *type, int64_t *total);

/* Is a product of matrices, or with a vector u, so small that SuiteSparse computes it, whatever it is?  A says so alone, unless u is sparse, or it is
 * one of a process's first. */
bool tsr_is_small(GrB_Matrix A, GrB_Matrix B, GrB_Matrix C, bool masked);
bool tsr_is_small_with(GrB_Matrix A, GrB_Vector u);

/* ---- products (product.c, match.c): true = done, *info is the result; false = forward to the real function ---- */
bool tsr_try_mxm(GrB_Info *info, GrB_Matrix C, const GrB_Matrix M, const GrB_BinaryOp accum, const GrB_Semiring semiring,
                 const GrB_Matrix A, const GrB_Matrix B, const GrB_Descriptor desc);
bool tsr_try_mxv(GrB_Info *info, GrB_Vector w, const GrB_Vector mask, const GrB_BinaryOp accum, const GrB_Semiring semiring,
                 const GrB_Matrix A, const GrB_Vector u, const GrB_Descriptor desc);
bool tsr_try_vxm(GrB_Info *info, GrB_Vector w, const GrB_Vector mask, const GrB_BinaryOp accum, const GrB_Semiring semiring,
                 const GrB_Vector u, const GrB_Matrix A, const GrB_Descriptor desc);

/* ---- sums (reduce.c): true = *c is the sum of A, whose product is deferred ---- */
bool tsr_try_total_INT64(int64_t *c, const GrB_BinaryOp accum, const GrB_Monoid monoid, const GrB_Matrix A, const GrB_Descriptor desc);
bool tsr_try_total_UINT64(uint64_t *c, const GrB_BinaryOp accum, const GrB_Monoid monoid, const GrB_Matrix A, const GrB_Descriptor desc);

#endif
