/* The drop-in door's table for the engine: handles of the real library behind plain functions.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/product.h"

#include <stdlib.h>

#include "src/graphblas/handover/resident.h"
#include "src/graphblas/intercept/block_cache.h"
#include "src/graphblas/intercept/hooks.h"
#include "src/graphblas/intercept/pins.h"
#include "src/graphblas/step.h"

const tsr_memory tsr_door_memory = {.allocate = tsr_user_malloc, .release = tsr_user_free};

/* ---- objects ---- */

static tsr_status upload(tsr_object *object, const tsr_view *view, const tsr_backend *backend, int64_t *moved)
{
    object->array = tsr_contents_find(object->handle);
    return object->array ? TSR_OK : tsr_contents_upload(&object->array, object->handle, view, backend, moved);
}

/* ---- results ---- */

static bool may_stay(const tsr_arguments *given)
{
    return tsr_contents_allowed_inside() && tsr_contents_possible() && tsr_contents_may_wait(given->C);
}

/* Only a hand-over that cannot fail may wait. */
static bool may_wait(const tsr_call *call)
{
    int32_t control = GxB_AUTO_SPARSITY;
    if (tsr_door_blocking() || call->through_t)
        return false;
    return tsr_real.GxB_Matrix_Option_get_INT32(call->given.C, GxB_SPARSITY_CONTROL, &control) == GrB_SUCCESS &&
           control == GxB_AUTO_SPARSITY;
}

/* The hooks may not have run, and what was downloaded of C is stale soon. */
static bool yield_c(const tsr_call *call)
{
    const tsr_arguments *given = &call->given;
    (call->through_t ? tsr_will_write : tsr_will_replace)(given->C);
    tsr_will_read(given->M);
    return !tsr_is_lost(given->C) && !tsr_is_lost(given->M);
}

static bool leave(tsr_call *call, tsr_device_array *array)
{
    return tsr_contents_put(call->given.C, call->given.vector, array, &call->arrays);
}

static void keep(const tsr_call *call, tsr_device_array *array)
{
    tsr_contents_keep(call->given.C, array);
}

/* A, B or M, freed by the program since: the mask says which entries a result has that stays, and all three what they are, should it
 * be lost there. */
static void drop_operand(const void *handle)
{
    GrB_Matrix object = (GrB_Matrix)handle;
    tsr_real.GrB_Matrix_free(&object);
}

static bool defer(const tsr_call *call, void (*run)(void *kept), void (*cancel)(void *kept), void *kept)
{
    const tsr_arguments *given = &call->given;
    const bool stays = call->remote.stays;
    const tsr_deferred d = {.target = given->C, .operands = {given->A, given->B, given->M}, .run = run, .cancel = cancel, .closure = kept,
                            .counted = stays, .type = call->product.semiring.type, .total = call->remote.total, .only_value = stays,
                            .drop = stays ? drop_operand : NULL};
    return tsr_defer(&d);
}

/* ---- C<M> accum= T on the device ---- */

typedef struct update {
    tsr_update facts;
    tsr_ewise_plan plan;
} update;

static void drop_update(tsr_update *facts)
{
    tsr_ewise_plan_release(&((update *)facts)->plan);
    free(facts);
}

static tsr_update *plan_update(tsr_call *call, bool full)
{
    const tsr_arguments *given = &call->given;
    const tsr_type type = call->product.semiring.type;
    const tsr_ewise_call step = {.name = given->name, .C = given->C, .M = given->M, .accum = given->accum, .desc = given->desc,
                                 .vector = given->vector, .step = {.op = TSR_EWISE_IDENTITY, .type = type, .result = type}};
    update *u = calloc(1, sizeof *u);
    if (u && !tsr_ewise_plan_look(&u->plan, &step, &full)) {
        drop_update(&u->facts);
        return NULL;
    }
    if (!u)
        return NULL;
    const tsr_inspected *old = &u->plan.c, *mask = &u->plan.m;
    u->facts = (tsr_update){.reads_c = old->given, .mask_there = !mask->given || mask->value,
                            .c_is_free = !old->given || old->value || (old->view.iso && old->view.format == TSR_FULL)};
    return &u->facts;
}

static bool run_update(tsr_call *call, tsr_device_array *t)
{
    tsr_ewise_plan *plan = &((update *)call->remote.update)->plan;
    plan->x.value = t;
    plan->backend = call->decision.backend;
    plan->key = call->remote.key;
    if (tsr_ewise_plan_finish(plan) == TSR_OK)
        return true;
    plan->x.value = NULL;
    return false;
}

static bool try_full(int *info, const tsr_arguments *given, bool there, bool pays)
{
    GrB_Info code = GrB_SUCCESS;
    const bool done = pays ? tsr_dense_there(&code, given) : tsr_try_dense(&code, given, there);
    *info = (int)code;
    return done;
}

const tsr_door tsr_graphblas_door = {
    .memory = &tsr_door_memory,
    .concerns_device = tsr_product_concerns_device, .match = tsr_match_product, .bring = tsr_product_bring, .pays = tsr_product_pays,
    .try_full = try_full, .forward = tsr_product_forward,
    .record = tsr_table_get, .is_absent = tsr_defer_is_target, .form_waits = tsr_form_waits, .upload = upload,
    .note_use = tsr_contents_note_use, .is_page_locked = tsr_pins_noted, .use_block = tsr_pins_use, .begin_result = tsr_blocks_product,
    .may_stay = may_stay, .may_wait = may_wait, .yield = yield_c, .hand_over = tsr_finish_call, .leave = leave, .keep = keep, .defer = defer,
    .plan_update = plan_update, .update = run_update, .drop_update = drop_update, .report_download = tsr_contents_report_download};
