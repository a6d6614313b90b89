/* Planning C<M> accum= op (x, y): what is where, what fits, whether a device takes it.  Nothing is computed or moved.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/call/contents.h"
#include "src/engine/elementwise/elementwise.h"
#include "src/policy/history/history.h"
#include "src/policy/history/placement_history.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"

static bool inspect(const tsr_elementwise *e, tsr_object *object, void *handle)
{
    return tsr_object_inspect(object, e->door, handle, e->on_host);
}

/* In C's shape. */
static bool fits(const tsr_elementwise *e, const tsr_object *object)
{
    const tsr_view *v = &object->view;
    if (object->from || object->to)
        return v->ncols == 1 && e->ncols == 1 && e->list.count == (object->from ? e->nrows : v->nrows);
    return (object->transposed ? v->ncols : v->nrows) == e->nrows && (object->transposed ? v->nrows : v->ncols) == e->ncols;
}

static bool shape_of_device(tsr_shape *shape, const tsr_elementwise *e, const void *handle)
{
    tsr_device_array *array = !e->on_host && e->door->is_absent(handle) ? e->door->array(handle) : NULL;
    if (!array)
        return false;
    const tsr_device_array_facts *f = tsr_device_array_about(array);
    *shape = (tsr_shape){.nrows = f->nrows, .ncols = f->ncols, .type = f->type, .by_col = f->by_col};
    tsr_device_array_unref(array);
    return true;
}

/* C's contents may be anywhere. */
static bool inspect_target(tsr_elementwise *e)
{
    void *C = e->given.C;
    tsr_shape c;
    if (!C || e->door->is_lost(C))
        return false;
    if (!shape_of_device(&c, e, C) &&
        (!e->door->shape(&c, C, e->given.vector) || (!e->on_host && !e->door->may_be_absent(C))))
        return false;
    e->nrows = c.nrows;
    e->ncols = c.ncols;
    e->type = c.type;
    e->by_col = c.by_col;
    return c.nrows > 0 && c.ncols > 0 && (double)c.nrows * (double)c.ncols < 0x1p40;
}

/* What is selected by value keeps its type. */
static bool inspect_operand(tsr_elementwise *e, tsr_object *object, void *handle, bool transposed)
{
    if (!handle)
        return true;
    if (!inspect(e, object, handle) || (transposed && e->given.vector))
        return false;
    object->transposed = transposed;
    object->from = e->gathers && object == &e->x ? &e->list : NULL;
    object->to = e->scatters && object == &e->x ? &e->list : NULL;
    return fits(e, object) && (object->view.type == e->step.type || !e->step.select);
}

/* A full mask by structure says nothing. */
static bool inspect_mask(tsr_elementwise *e)
{
    void *M = e->given.M;
    if (!M)
        return !e->mod.mask_comp;
    if (!inspect(e, &e->m, M) || !fits(e, &e->m))
        return false;
    if (e->m.view.format != TSR_FULL || !e->mod.mask_struct || e->mod.mask_comp)
        return true;
    tsr_device_array_unref(e->m.array);
    e->m = (tsr_object){0};
    return true;
}

static bool empty(const tsr_object *object)
{
    return !object->array && object->view.nvals == 0;
}

/* T has no entry, so far as the host knows: whether C stays iso depends on what is pending of it, if it is there. */
static bool is_nothing(const tsr_elementwise *e)
{
    const bool x = e->x.given && empty(&e->x), y = e->y.given && empty(&e->y);
    return (e->step.unite ? x && y : x || y) && !e->door->is_absent(e->given.C);
}

/* C before, where it counts; nothing is needed of an empty one. */
static bool inspect_old(tsr_elementwise *e)
{
    tsr_ewise *step = &e->step;
    step->replace = e->mod.replace;
    if (!step->accumulates && (!e->m.given || step->replace))
        return true;
    if ((e->on_host && e->door->has_entries(e->given.C, (size_t)(e->by_col ? e->ncols : e->nrows))) || !inspect(e, &e->c, e->given.C))
        return false;
    if (!empty(&e->c))
        return fits(e, &e->c);
    tsr_object_release(&e->c);
    e->c = (tsr_object){0};
    step->accumulates = false;
    step->replace = true;
    return true;
}

/* Whether accumulated pairs are iso depends on whose lists T has. */
static bool match_accum(tsr_elementwise *e)
{
    tsr_ewise *step = &e->step;
    step->accumulates = e->given.accum || e->scatters;
    step->accum = TSR_EWISE_SECOND;
    if (!e->given.accum)
        return true;
    return tsr_accumulates(&step->accum, e->door, e->given.accum, e->type) && step->accum != TSR_EWISE_PAIR;
}

static bool all_present(const tsr_object *object)
{
    return !object->given || (object->view.format == TSR_FULL && !object->to && !(object->rule && object->rule->select));
}

static bool t_full(const tsr_elementwise *e)
{
    const bool x = all_present(&e->x), y = all_present(&e->y);
    return !e->step.select && (e->step.unite ? x || y : x && y);
}

static bool result_full(const tsr_elementwise *e)
{
    const tsr_ewise *step = &e->step;
    const bool c = e->c.given && all_present(&e->c), z = t_full(e);
    if (!e->m.given)
        return z || (step->accumulates && c);
    return c && !step->replace && (z || step->accumulates);
}

/* Is one of them sparse on the host?  It goes to the backend as a bitmap. */
static bool any_sparse(const tsr_elementwise *e)
{
    const tsr_object *const all[] = {&e->x, &e->y, &e->c, &e->m};
    bool sparse = false;
    for (int k = 0; k < 4; k++)
        sparse |= all[k]->given && !all[k]->array && tsr_is_compressed(&all[k]->view) && !e->door->form_waits(all[k]->handle);
    return sparse;
}

static bool any_turned(const tsr_elementwise *e)
{
    return (e->x.given && tsr_is_turned(e, &e->x)) || (e->y.given && tsr_is_turned(e, &e->y)) || (e->m.given && tsr_is_turned(e, &e->m));
}

/* Would one of them have to be downloaded otherwise? */
static bool any_device_only(const tsr_elementwise *e)
{
    const tsr_object *const all[] = {&e->x, &e->y, &e->c, &e->m};
    bool device_only = false;
    for (int k = 0; k < 4; k++)
        device_only |= all[k]->array && e->door->is_absent(all[k]->handle);
    return device_only;
}

/* With the GPU forced, as the products of a loop would upload them. */
static bool may_spread(const tsr_elementwise *e)
{
    return tsr_contents_backend() && e->given.vector && (double)e->nrows <= 0x1p28;
}

/* Known before operands are looked at, which would sort them. */
static bool leaves_sparse(const tsr_elementwise *e)
{
    const tsr_arguments *given = &e->given;
    const tsr_door *door = e->door;
    return (door->left_sparse(given->A) || door->left_sparse(given->B) || door->left_sparse(given->M)) && !may_spread(e) &&
           !tsr_contents_only(door, given->A) && !tsr_contents_only(door, given->B) && !tsr_contents_only(door, given->M) &&
           !tsr_contents_only(door, given->C);
}

/* The same on the host, where nothing of a call that is forwarded may be finished. */
static bool held_in_lists(const tsr_elementwise *e)
{
    const tsr_arguments *given = &e->given;
    return tsr_held_in_lists(e->door, given->A) || tsr_held_in_lists(e->door, given->B) || tsr_held_in_lists(e->door, given->M);
}

static uint64_t key_of(const tsr_elementwise *e)
{
    const tsr_ewise *step = &e->step;
    const uint64_t parts[] = {(uint64_t)step->op, (uint64_t)step->type, (uint64_t)e->type, step->unite, step->select, (uint64_t)e->nrows,
                              (uint64_t)e->ncols, step->accumulates ? 1 + (uint64_t)step->accum : 0, e->given.M != NULL,
                              e->given.A != NULL, e->given.B != NULL, e->gathers, e->scatters};
    return tsr_history_key(parts, sizeof parts / sizeof *parts);
}

/* An apply of C to itself leaves C in its form: a bitmap that has every entry, which any other call makes full, or few, which it makes sparse.
 * Where the form matters (SuiteSparse 7.4.0 crashes in C<M> += T with a full mask), ours would not be plain's. */
static bool keeps_form(const tsr_elementwise *e)
{
    const tsr_arguments *given = &e->given;
    if (e->assigns && !given->A && !given->M && e->nrows * e->ncols == 1)
        return true; /* a scalar to a scalar: the entry is set */
    const bool itself = (given->A == given->C && !given->B) || (given->B == given->C && !given->A);
    if (!itself || e->gathers || e->scatters || given->M || given->accum || tsr_contents_only(e->door, given->C))
        return false;
    const bool full = (given->A ? &e->x : &e->y)->view.format == TSR_FULL;
    return (full && e->door->form_waits(given->C)) || !e->door->has_its_form(given->C, given->vector);
}

static bool inspect_operands(tsr_elementwise *e, const tsr_promise *promised)
{
    const tsr_arguments *given = &e->given;
    if (promised)
        e->x = (tsr_object){.given = true, .view = {.format = promised->full ? TSR_FULL : TSR_BITMAP, .type = e->step.type,
                                                  .by_col = e->by_col}};
    else if (!inspect_operand(e, &e->x, given->A, e->mod.tran0 != e->flip))
        return false;
    if (e->placed)
        e->x.rule = &e->place;
    return inspect_operand(e, &e->y, given->B, e->mod.tran1);
}

static const char *plan(tsr_elementwise *e, const tsr_promise *promised)
{
    if (!inspect_target(e))
        return "C may not stay on the device";
    if (!match_accum(e))
        return "accumulator of another type, or pairs";
    e->key = key_of(e);
    if (!promised && (e->on_host ? held_in_lists(e) : leaves_sparse(e)))
        return "operands are sparse";
    if (!inspect_operands(e, promised))
        return "an operand does not fit";
    if (!promised && is_nothing(e))
        return "an operand has no entry";
    if (keeps_form(e))
        return "C keeps its form";
    if (!inspect_mask(e) || !inspect_old(e))
        return "the mask or C does not fit";
    if (tsr_elementwise_adds_to_itself(e))
        return "C in lists is added to itself";
    if (!(promised && promised->one_value) && tsr_elementwise_may_leave_one(e, t_full(e)))
        return "C has one value, which T may leave";
    if (e->on_host && (any_sparse(e) || any_turned(e) || e->placed))
        return "operands are sparse or held otherwise";
    if (any_sparse(e) && !promised && !any_device_only(e) && !may_spread(e))
        return "operands are sparse";
    if (e->scatters && !e->given.accum && e->x.view.format != TSR_FULL)
        return "entries of C may go";
    if (e->scatters && !e->given.accum && e->list.count == e->nrows && tsr_object_iso(&e->x) && tsr_elementwise_passes_all(e))
        return "C gets one value";
    if (e->full_only && !(all_present(&e->x) && all_present(&e->y)))
        return "an operand is not full";
    return NULL;
}

const char *tsr_elementwise_plan(tsr_elementwise *e, const tsr_promise *promised)
{
    const char *why = plan(e, promised);
    if (why)
        return why;
    e->full = result_full(e);
    e->step.mask_structural = e->mod.mask_struct;
    e->step.mask_complement = e->mod.mask_comp;
    return NULL;
}

const char *tsr_update_plan(tsr_call *call, tsr_type type, bool full)
{
    tsr_elementwise *e = &call->update;
    *e = (tsr_elementwise){.door = call->door, .given = call->given, .mod = call->mod, .of_product = true,
                           .step = {.op = TSR_EWISE_IDENTITY, .type = type, .result = type}};
    e->given.A = e->given.B = NULL;
    return tsr_elementwise_plan(e, &(tsr_promise){.full = full, .one_value = call->one_value});
}

double tsr_elementwise_size(const tsr_elementwise *e)
{
    const double written = (double)e->nrows * (double)e->ncols, read = e->gathers ? (double)e->x.view.nrows : 0;
    return read > written ? read : written;
}

bool tsr_elementwise_pulls(tsr_elementwise *e, const tsr_backend *device, double elements)
{
    const tsr_config *config = tsr_config_get();
    const tsr_pull pull = {.elements = elements, .least = config->min_work, .on_device = device != NULL, .forced = config->mode == TSR_MODE_GPU,
                           .key = e->key};
    if (tsr_placement_pulls(&pull))
        e->backend = device ? device : tsr_contents_backend();
    return e->backend;
}
