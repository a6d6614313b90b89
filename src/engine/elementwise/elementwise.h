/* Elementwise operations, C<M> accum= op (x, y): on devices, on the host, and as the end of other operations.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ENGINE_ELEMENTWISE_H
#define TSR_ENGINE_ELEMENTWISE_H

#include "src/engine/call/call.h"

/* What the call computes elementwise, on a device or on the host (call->update, all but what is planned). */
extern const tsr_operation tsr_elementwise_operation, tsr_host_elementwise_operation;

/* ---- elementwise_plan.c ---- */

/* An operand that is not there yet. */
typedef struct tsr_promise {
    bool full;      /* has every entry */
    bool one_value; /* all its entries are the same */
} tsr_promise;

/* Matches without computing or moving anything.  promised: x is not A but will be an array of the step's type and of C's shape, held like C.
 * NULL: matched; else why not.  Release in any case. */
const char *tsr_elementwise_plan(tsr_elementwise *e, const tsr_promise *promised);

/* C<M> accum= T of a product or of sums over rows, T being of `type`, full or not. */
const char *tsr_update_plan(tsr_call *call, tsr_type type, bool full);

/* Elements that are written, or read where these are more: what would have to be moved. */
double tsr_elementwise_size(const tsr_elementwise *e);

/* Does it go to the backend of `device` (NULL: nothing is on one)?  Sets backend. */
bool tsr_elementwise_pulls(tsr_elementwise *e, const tsr_backend *device, double elements);

/* Held otherwise than C; a row or a column is the same either way. */
static inline bool tsr_is_turned(const tsr_elementwise *e, const tsr_object *object)
{
    return e->nrows > 1 && e->ncols > 1 && object->view.by_col != (e->by_col != object->transposed);
}

/* ---- elementwise.c ---- */

/* The operand's array, uploaded if need be; and one of another type, made of it. */
tsr_status tsr_elementwise_upload(tsr_elementwise *e, tsr_object *object);
tsr_status tsr_elementwise_cast(tsr_elementwise *e, tsr_object *object, tsr_type type, void **kept);

/* Uploads what is not there, computes, and makes the result C.  TSR_OK: done.  Otherwise C is as it was. */
tsr_status tsr_elementwise_finish(tsr_elementwise *e);

/* Settles a call whose T (remote.array) was promised to call->update: C<M> accum= T. */
tsr_settlement tsr_settle_update(tsr_call *call, tsr_status *status);

/* ---- elementwise_iso.c ---- */

typedef struct tsr_listed {
    bool lists;    /* sparse or hypersparse */
    int64_t nvals;
} tsr_listed;

/* T = op (x, y): does SuiteSparse mask it as it computes it?  Not a sum of two lists under the complement of one; of .*, not a list by a dense
 * operand under a dense mask, nor lists under one that is not far shorter. */
bool tsr_elementwise_masks(const tsr_ewise *step, tsr_listed x, tsr_listed y, tsr_listed m, bool complement);

/* Is the result iso, as it would be with SuiteSparse?  Then *one is its value in C's type.  C is as before the call. */
bool tsr_elementwise_iso(uint64_t *one, const tsr_elementwise *e);
/* Of C<M, replace> = T into a full C: SuiteSparse clears C first unless it may become a bitmap. */
bool tsr_elementwise_clears_full(const tsr_elementwise *e);
/* C accum= T of C itself, or under C as mask, where C has every entry, but in lists: SuiteSparse's sum is iso as that of full matrices. */
bool tsr_elementwise_adds_to_itself(const tsr_elementwise *e);
/* C of one value stays so, or not, for what T has: where C<M> = T, C in lists, or C += what is selected, and T may have no entry, or where the
 * mask lets one of T pass, or T has one, which may have C's value.  Of an A that is assigned and has one entry that value is asked for. */
bool tsr_elementwise_may_leave_one(tsr_elementwise *e, bool t_full);
/* Are the entries that a selection by value keeps all the same?  y: of its second operand. */
bool tsr_elementwise_selects_one(uint64_t *kept, const tsr_ewise *e, uint64_t y);
/* Is there no mask, or is it the complement of one value that is false? */
bool tsr_elementwise_passes_all(const tsr_elementwise *e);
bool tsr_object_iso(const tsr_object *object);
/* op (x, y) of one element, from the types of x and y to `type`. */
uint64_t tsr_elementwise_one(const tsr_ewise *step, tsr_type type, tsr_type x_type, uint64_t x, tsr_type y_type, uint64_t y);

const char *tsr_ewise_name(tsr_ewise_op op);

#endif
