/* Elementwise operations on a device: operands uploaded and made fit, computed, put in the place of C.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "src/base/types.h"
#include "src/engine/call/attempt.h"
#include "src/engine/call/clock.h"
#include "src/engine/call/contents.h"
#include "src/engine/call/report.h"
#include "src/engine/elementwise/elementwise.h"
#include "src/policy/history/placement_history.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"
#include "src/runtime/trace.h"

/* ---- operands ---- */

tsr_status tsr_elementwise_upload(tsr_elementwise *e, tsr_object *object)
{
    if (!object->given || object->array)
        return TSR_OK;
    return tsr_contents_upload(object, &object->view, e->door, e->backend, &e->moved);
}

/* Makes *result of `from`; to: of casts. */
typedef tsr_status (*derivation)(const tsr_backend_arrays *arrays, const tsr_object *object, void *from, tsr_type to, void **result);

/* Of the array, or of what a rule made of it. */
static tsr_type type_of(const tsr_object *object)
{
    return object->rule && !object->rule->select ? TSR_INT64 : object->view.type;
}

static tsr_status cast(const tsr_backend_arrays *arrays, const tsr_object *object, void *from, tsr_type to, void **result)
{
    return arrays->cast(from, type_of(object), to, result);
}

/* Vectors are rows or columns of the operand. */
static tsr_status apply_rule(const tsr_backend_arrays *arrays, const tsr_object *object, void *from, tsr_type to, void **result)
{
    const tsr_view *v = &object->view;
    const tsr_place_rule *r = object->rule;
    const bool columns = v->by_col != object->transposed;
    const tsr_places places = {.value = from, .vectors = v->by_col ? v->ncols : v->nrows, .length = v->by_col ? v->nrows : v->ncols,
                               .by_vector = columns ? r->by_column : r->by_row, .by_place = columns ? r->by_row : r->by_column,
                               .offset = r->by_y * r->y, .select = r->select, .keep = r->keep};
    (void)to;
    return arrays->places(&places, result);
}

static tsr_status turn(const tsr_backend_arrays *arrays, const tsr_object *object, void *from, tsr_type to, void **result)
{
    const tsr_view *v = &object->view;
    (void)to;
    return arrays->turn(from, v->by_col ? v->ncols : v->nrows, v->by_col ? v->nrows : v->ncols, result);
}

/* *kept becomes what is made of it; what was made before is not needed any more. */
static tsr_status derive(tsr_elementwise *e, tsr_object *object, derivation make, tsr_type to, void **kept)
{
    const tsr_backend_arrays *arrays = e->backend->arrays;
    void *result = NULL;
    const tsr_status status = TSR_ATTEMPT(make(arrays, object, *kept, to, &result));
    if (status != TSR_OK)
        return status;
    if (object->made)
        e->backend->contents->drop(object->made);
    *kept = object->made = result;
    return TSR_OK;
}

/* Its elements from or to the places that are listed.  TSR_DECLINED: one of these is not there, which SuiteSparse reports, or is there
 * twice, of which the result is SuiteSparse's own. */
static tsr_status derive_listed(tsr_elementwise *e, tsr_object *object)
{
    const tsr_backend_arrays *arrays = e->backend->arrays;
    const int threads = e->door->threads();
    void *from = tsr_device_array_kept(object->array), *result = NULL;
    int64_t moved = 0;
    if (!tsr_backend_cpu()->host->selection->indices_fit(&e->list, object->from ? object->view.nrows : e->nrows, threads))
        return TSR_DECLINED;
    const tsr_status status = TSR_ATTEMPT(object->from ? arrays->gather(from, &e->list, threads, &result, &moved)
                                                       : arrays->scatter(from, &e->list, e->nrows, threads, &result, &moved));
    e->moved += moved;
    object->made = result;
    return status;
}

tsr_status tsr_elementwise_cast(tsr_elementwise *e, tsr_object *object, tsr_type type, void **kept)
{
    const bool listed = object->from || object->to;
    tsr_status status = listed ? derive_listed(e, object) : TSR_OK;
    *kept = listed ? object->made : tsr_device_array_kept(object->array);
    if (status == TSR_OK && object->rule)
        status = derive(e, object, apply_rule, type, kept);
    return status == TSR_OK && type_of(object) != type ? derive(e, object, cast, type, kept) : status;
}

/* Of this type, held like C. */
static tsr_status prepare(tsr_elementwise *e, tsr_object *object, tsr_type type, void **kept)
{
    tsr_status status = tsr_elementwise_upload(e, object);
    if (status == TSR_OK && object->array)
        status = tsr_elementwise_cast(e, object, type, kept);
    if (status == TSR_OK && object->array && tsr_is_turned(e, object))
        status = derive(e, object, turn, type, kept);
    return status;
}

static tsr_status upload_operand(tsr_elementwise *e, tsr_object *object, tsr_operand *operand)
{
    const tsr_view *v = &object->view;
    if (object->given && !object->array && !object->rule && !object->from && !object->to && v->iso && v->format == TSR_FULL) {
        operand->scalar = 0;
        tsr_cast_values(&operand->scalar, e->step.type, v->x, v->type, 1, 1);
        return TSR_OK;
    }
    return prepare(e, object, e->step.type, &operand->value);
}

static tsr_status upload_all(tsr_elementwise *e)
{
    tsr_ewise *step = &e->step;
    tsr_status status = upload_operand(e, &e->x, &step->x);
    if (status == TSR_OK)
        status = upload_operand(e, &e->y, &step->y);
    if (status == TSR_OK)
        status = prepare(e, &e->c, e->type, &step->c);
    if (status == TSR_OK)
        status = prepare(e, &e->m, e->m.view.type, &step->mask);
    step->count = e->nrows * e->ncols;
    step->mask_type = e->m.view.type;
    return status;
}

/* ---- computing ---- */

static tsr_status run_step(const tsr_elementwise *e, const tsr_ewise *step, void **kept)
{
    return TSR_ATTEMPT(e->backend->arrays->step(step, kept));
}

/* T = op (x, y), of its own type. */
static tsr_status make_t(const tsr_elementwise *e, void **t)
{
    const tsr_ewise *all = &e->step;
    const tsr_ewise step = {.op = all->op, .type = all->type, .result = all->result, .count = all->count, .x = all->x, .y = all->y,
                           .unite = all->unite, .select = all->select};
    const tsr_backend_arrays *arrays = e->backend->arrays;
    void *plain = NULL;
    tsr_status status = run_step(e, &step, &plain);
    if (status != TSR_OK)
        return status;
    status = TSR_ATTEMPT(arrays->cast(plain, step.result, e->type, t));
    e->backend->contents->drop(plain);
    return status;
}

/* C<M> accum= T, T in C's type. */
static tsr_status step_through_t(const tsr_elementwise *e, void **kept)
{
    tsr_ewise step = e->step;
    void *t = NULL;
    tsr_status status = make_t(e, &t);
    if (status != TSR_OK || (!step.c && !step.mask)) {
        *kept = t;
        return status;
    }
    step.op = TSR_EWISE_IDENTITY;
    step.type = step.result = e->type;
    step.x = (tsr_operand){.value = t};
    step.unite = step.select = false;
    status = run_step(e, &step, kept);
    e->backend->contents->drop(t);
    return status;
}

/* Of device-only contents: the record, the download that waits, and this call. */
enum { C_HOLDERS = 3 };

/* May C's array become the result, changed where the mask passes?  A call that fails after that is computed once more, from what C is then, with
 * the same result: nothing is accumulated, and C is no other operand.  facts: of the result. */
static bool yields_c(const tsr_elementwise *e, const tsr_device_array_facts *facts)
{
    const tsr_ewise *step = &e->step;
    tsr_device_array *c = e->c.array;
    if (!step->mask || !c || step->c != tsr_device_array_kept(c) || step->accumulates || !e->door->is_absent(e->given.C))
        return false;
    const tsr_device_array_facts *old = tsr_device_array_about(c);
    const bool same = !old->iso || (facts->iso && facts->one == old->one);
    if (!same || e->x.array == c || e->y.array == c || e->m.array == c || tsr_device_array_holders(c) != C_HOLDERS)
        return false;
    tsr_device_array_counted(c, -1);
    return true;
}

static tsr_status compute(tsr_elementwise *e, tsr_device_array **array)
{
    tsr_ewise *step = &e->step;
    void *kept = NULL;
    tsr_status status = upload_all(e);
    if (status != TSR_OK)
        return status;
    tsr_device_array_facts facts = {.backend = e->backend, .type = e->type, .nrows = e->nrows, .ncols = e->ncols,
                             .by_col = e->by_col, .full = e->full, .origin = e->key};
    facts.iso = tsr_elementwise_iso(&facts.one, e);
    step->yields_c = yields_c(e, &facts);
    status = step->result == e->type ? run_step(e, step, &kept) : step_through_t(e, &kept);
    if (status != TSR_OK)
        return status;
    *array = tsr_device_array_new(&facts, kept);
    return *array ? TSR_OK : TSR_OUT_OF_MEMORY;
}

static void use_operands(const tsr_elementwise *e)
{
    const tsr_object *const all[] = {&e->x, &e->y, &e->c, &e->m};
    for (int k = 0; k < 4; k++)
        tsr_contents_use(all[k]->array);
}

/* C is the array from now on (a reference is taken over when it is done). */
static tsr_status put(const tsr_elementwise *e, tsr_device_array *array)
{
    tsr_handover arrays;
    if (!tsr_arrays_dense(&arrays, e->door->memory, e->nrows * e->ncols, e->type, !e->full))
        return TSR_OUT_OF_MEMORY;
    if (e->door->leave(&e->given, array, &arrays))
        return TSR_OK;
    tsr_arrays_free(&arrays);
    return TSR_OUT_OF_MEMORY;
}

static void describe_step(char *text, size_t size, const tsr_elementwise *e)
{
    const tsr_ewise *step = &e->step;
    const char *how = step->select ? "select " : e->placed ? "by place " : e->gathers ? "gather " : e->scatters ? "scatter " : "";
    snprintf(text, size, "step %s%s%s %s n=%lld", how, tsr_ewise_name(step->op), e->m.given ? " masked" : "", tsr_type_name(step->type),
             (long long)step->count);
}

/* ---- the end of other operations ---- */

static void report(const tsr_elementwise *e, double ms)
{
    char pattern[128];
    if (!tsr_trace_wanted())
        return;
    describe_step(pattern, sizeof pattern, e);
    tsr_engine_report(e->backend, "step", (tsr_trace_record){.call = e->given.name, .pattern = pattern, .measured_ms = ms,
                                                             .bytes_moved = e->moved});
}

tsr_status tsr_elementwise_finish(tsr_elementwise *e)
{
    const double start = tsr_engine_clock_ms();
    tsr_device_array *array = NULL;
    tsr_status status = compute(e, &array);
    if (status == TSR_OK)
        status = put(e, array);
    if (status != TSR_OK) {
        tsr_device_array_unref(array);
        return status;
    }
    use_operands(e);
    report(e, tsr_engine_clock_ms() - start);
    return TSR_OK;
}

static tsr_status update_finish(tsr_elementwise *e, tsr_device_array *t)
{
    if (e->given.accum || e->given.M || e->step.result != e->type) {
        e->x.array = t;
        return tsr_elementwise_finish(e);
    }
    const tsr_status status = put(e, t);
    if (status != TSR_OK)
        tsr_device_array_unref(t);
    return status;
}

tsr_settlement tsr_settle_update(tsr_call *call, tsr_status *status)
{
    tsr_device_array *t = call->remote.array;
    call->remote.array = NULL;
    *status = update_finish(&call->update, t);
    return TSR_SETTLED;
}

/* ---- the operation ---- */

/* What may attract it: operands and the mask; C where it is needed, or would have to be downloaded first. */
static const tsr_backend *attracting(const tsr_call *call)
{
    const tsr_arguments *g = &call->given;
    const bool c = g->accum || g->M || call->update.scatters || call->door->is_absent(g->C);
    void *const handles[4] = {g->A, g->B, g->M, c ? g->C : NULL};
    return tsr_contents_device(call->door, handles, 4);
}

static const char *resolve(tsr_call *call)
{
    call->decision.backend = attracting(call);
    if (!call->decision.backend && !tsr_contents_possible())
        return "no device keeps arrays";
    return tsr_elementwise_plan(&call->update, NULL);
}

/* Nothing is there: the call goes after its result, since such results are used there. */
static void follow(tsr_elementwise *e)
{
    if ((double)e->nrows * (double)e->ncols < tsr_placement_least(tsr_config_get()->min_work, false))
        return;
    e->follows = tsr_placement_stays(e->key);
    if (e->follows)
        e->backend = tsr_backend_gpu();
    else
        tsr_placement_lost_time(e->given.C, e->key, e->given.A, e->given.B);
}

static void decide(tsr_call *call)
{
    tsr_elementwise *e = &call->update;
    const tsr_backend *device = call->decision.backend;
    if (!device && tsr_config_get()->mode != TSR_MODE_GPU)
        follow(e);
    else if (!tsr_elementwise_pulls(e, device, tsr_elementwise_size(e)))
        call->why = "not worth it on the device";
    call->decision.backend = e->backend;
}

static tsr_status run(tsr_call *call)
{
    return compute(&call->update, &call->remote.array);
}

static tsr_settlement settle(tsr_call *call, tsr_status *status)
{
    *status = put(&call->update, call->remote.array);
    if (*status == TSR_OK)
        call->remote.array = NULL;
    return TSR_SETTLED;
}

/* To upload as much as the result takes costs more than to compute it on the host: one use of it there is no reason to go on. */
static void use(tsr_call *call)
{
    const tsr_elementwise *e = &call->update;
    use_operands(e);
    if (e->follows && e->moved >= e->nrows * e->ncols * (int64_t)tsr_type_size(e->type))
        tsr_placement_moved(e->key);
}

static void describe(char *text, size_t size, const tsr_call *call)
{
    describe_step(text, size, &call->update);
}

const tsr_operation tsr_elementwise_operation = {.resolve = resolve, .decide = decide, .run = run, .settle = settle, .use = use,
                                                 .describe = describe, .kernel = "step"};
