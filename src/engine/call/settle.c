/* What a call holds, and a copy of it that is finished later.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/call/call.h"

#include <stdlib.h>

#include "src/base/types.h"
#include "src/engine/call/contents.h"
#include "src/runtime/warn.h"

/* ---- what a call holds ---- */

static void give_back(const tsr_call *call, void *block)
{
    if (block)
        call->door->memory->release(block);
}

void tsr_call_release(tsr_call *call)
{
    if (call->remote.stays)
        call->operation->drop(call);
    tsr_device_array_unref(call->remote.array);
    tsr_arrays_free(&call->arrays);
    give_back(call, call->masked_x);
    give_back(call, call->masked_b);
    tsr_object *const objects[] = {&call->a, &call->b, &call->mask, &call->update.x, &call->update.y, &call->update.c, &call->update.m};
    for (size_t k = 0; k < sizeof objects / sizeof *objects; k++)
        tsr_object_release(objects[k]);
}

/* ---- a result that waits ---- */

static bool lies_otherwise(const tsr_call *call, void *operand, bool transposed, const tsr_shape *c)
{
    tsr_shape shape;
    return operand && call->door->shape(&shape, operand, false) && (shape.by_col != transposed) != c->by_col;
}

bool tsr_engine_masks_t(const tsr_call *call)
{
    const tsr_arguments *g = &call->given;
    tsr_shape c;
    return g->vector || !call->door->shape(&c, g->C, false) || !lies_otherwise(call, g->A, call->mod.tran0, &c) ||
           !lies_otherwise(call, g->B, call->mod.tran1, &c);
}

/* An entry for each of the mask's, if it has any, all of which SuiteSparse deletes. */
static bool is_deleted(const tsr_call *call)
{
    return call->product.op == TSR_OP_MASKED_DOT && !call->through_t;
}

/* What SuiteSparse computes turned, or deletes, is not iso where it has no entry. */
static bool is_empty_without_value(const tsr_call *call)
{
    const tsr_handover *t = &call->arrays;
    if (!(t->p || t->b) || t->nvals > 0)
        return false;
    return is_deleted(call) || (call->given.B && !call->deferred && !tsr_engine_masks_t(call));
}

void tsr_call_unify(tsr_call *call)
{
    if (!call->iso)
        return;
    const bool empty = is_empty_without_value(call);
    if (!empty || call->arrays.p) /* lists of a pattern have no values yet */
        tsr_arrays_unify(&call->arrays, tsr_type_size(call->product.semiring.type), &call->one);
    if (empty)
        call->arrays.iso = false;
}

/* It has no other place to go: the program's arguments may be gone by now. */
static void run_deferred(void *kept)
{
    tsr_call *call = kept;
    const tsr_status status = call->operation->run(call);
    tsr_call_unify(call);
    if (status != TSR_OK || call->door->hand_over(call) != 0) {
        tsr_warn_once("deferred", "a deferred product could not be computed (status %d)", (int)status);
        abort();
    }
    tsr_call_release(call);
    free(call);
}

static void cancel_deferred(void *kept)
{
    tsr_call_release(kept);
    free(kept);
}

bool tsr_call_defer(const tsr_call *call)
{
    tsr_call *kept = malloc(sizeof *kept);
    if (!kept)
        return false;
    *kept = *call;
    kept->deferred = true;
    kept->remote.may_stay = false;
    if (call->door->defer(kept, run_deferred, cancel_deferred, kept))
        return true;
    free(kept);
    return false;
}
