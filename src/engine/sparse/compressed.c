/* Extraction and selection on a device: of sparse contents that it has, or that it is worth bringing there; the result stays.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/sparse/compressed.h"

#include <stdio.h>
#include <string.h>

#include "src/base/types.h"
#include "src/engine/call/attempt.h"
#include "src/engine/call/contents.h"
#include "src/engine/elementwise/elementwise.h"
#include "src/policy/history/history.h"
#include "src/policy/history/placement_history.h"
#include "src/policy/price/gpu_price.h"
#include "src/policy/price/selection.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"

/* ---- operands ---- */

bool tsr_compressed_inspect(tsr_object *object, const tsr_door *door, void *A)
{
    *object = (tsr_object){.handle = A, .given = true};
    if (door->is_lost(A))
        return false;
    if (tsr_object_take_compressed(object, door, A))
        return true;
    door->inspect(A);
    return tsr_held_in_lists(door, A) && door->held(&object->view, A, &object->copies);
}

static bool inspect(tsr_call *call)
{
    return !call->door->is_lost(call->given.C) && tsr_compressed_inspect(&call->a, call->door, call->given.A);
}

/* The result lies as A does, and has A's type unless A has one value: there is no step that casts or turns it. */
static const char *resolve(tsr_call *call, int64_t nrows, int64_t ncols)
{
    tsr_shape c;
    const tsr_view *a = &call->a.view;
    if (!call->door->shape(&c, call->given.C, false) || (c.type != a->type && !a->iso) || c.by_col != a->by_col)
        return "C is of another type, or held otherwise";
    if (c.nrows != nrows || c.ncols != ncols)
        return "dimensions do not match";
    if (!call->door->may_be_compressed(call->given.C))
        return "C may not be on the device only";
    call->a.record = call->door->record(call->given.A, true);
    return call->a.record ? NULL : "no memory for a record";
}

static const char not_sparse[] = "A is not sparse, or not of a built-in type";

/* ---- who computes ---- */

static uint64_t key_of(const tsr_call *call)
{
    const tsr_view *a = &call->a.view;
    const tsr_picking *p = &call->of.picking;
    const uint64_t parts[] = {call->operation == &tsr_device_extract_operation, (uint64_t)a->type, (uint64_t)a->nrows, (uint64_t)a->ncols,
                              (uint64_t)p->vectors.count, (uint64_t)p->places.count, (uint64_t)p->rule.keep, (uint64_t)call->update.placed};
    return tsr_history_key(parts, sizeof parts / sizeof *parts);
}

static tsr_compressed_operand operand_of(const tsr_call *call, tsr_cache_entry *entry)
{
    return (tsr_compressed_operand){.view = call->a.view, .slot = entry ? tsr_cache_entry_place(entry) : NULL, .nthreads = call->mod.nthreads};
}

static bool is_held(const tsr_call *call, const tsr_backend *gpu)
{
    tsr_cache_entry *entry = tsr_record_cache_entry(call->a.record, gpu);
    const tsr_compressed_operand a = operand_of(call, entry);
    const bool held = call->a.compressed || (entry && gpu->compressed->holds(&a));
    tsr_cache_entry_unref(entry);
    return held;
}

/* What is kept for results that are made so; NULL: nothing.  Lists that are longer than the matrix are not worth their copies. */
static tsr_cache_entry *remembered(const tsr_call *call, const tsr_backend *gpu)
{
    const tsr_picking *p = &call->of.picking;
    const bool fits = p->how.lists[0].count + p->how.lists[1].count <= call->a.view.nvals;
    return p->remembered && fits ? tsr_record_derived(call->a.record, &p->how, gpu) : NULL;
}

/* The result, as what is kept is asked for it; one: its value, if it has only one. */
static tsr_view result_like(const tsr_call *call, const tsr_shape *c, const void *one)
{
    const tsr_view *a = &call->a.view;
    return (tsr_view){.format = TSR_SPARSE, .type = a->type, .by_col = a->by_col, .iso = a->iso, .nrows = c->nrows, .ncols = c->ncols, .x = one};
}

/* Has the device what this call will make?  Then nothing is computed or moved. */
static bool is_made(const tsr_call *call, const tsr_backend *gpu)
{
    tsr_shape c;
    tsr_cache_entry *entry = call->door->shape(&c, call->given.C, false) ? remembered(call, gpu) : NULL;
    const tsr_view like = entry ? result_like(call, &c, call->a.view.x) : (tsr_view){0};
    void *kept = NULL;
    const bool made = entry && TSR_ATTEMPT(gpu->compressed->find(&kept, &like, tsr_cache_entry_place(entry))) == TSR_OK && kept;
    if (made)
        gpu->contents->drop(kept);
    tsr_cache_entry_unref(entry);
    return made;
}

/* Is it faster there?  Then what the device has of A, or will have, pulls. */
static bool pays(const tsr_call *call, bool held)
{
    const tsr_view *a = &call->a.view;
    const tsr_picking *p = &call->of.picking;
    const tsr_pick_features f = {.entries = (double)a->nvals, .vectors = (double)tsr_view_vectors(a), .held = held, .nthreads = call->mod.nthreads,
                                 .value_bytes = a->iso ? 0 : (double)tsr_type_size(a->type),
                                 .indices = (p->vectors.list ? (double)p->vectors.count : 0) + (p->places.list ? (double)p->places.count : 0),
                                 .extracts = call->operation == &tsr_device_extract_operation};
    return tsr_pick_gpu_ms(&f) < TSR_ROUTE_MARGIN * tsr_pick_host_ms(&f);
}

static void decide(tsr_call *call)
{
    const tsr_config *config = tsr_config_get();
    const tsr_backend *gpu = tsr_backend_gpu();
    call->decision = (tsr_decision){.observed_ms = -1.0};
    if (!gpu || !gpu->compressed)
        return;
    const bool held = is_held(call, gpu);
    const tsr_pull pull = {.elements = (double)call->a.view.nvals, .least = config->min_work, .forced = config->mode == TSR_MODE_GPU,
                           .on_device = !call->a.compressed && (is_made(call, gpu) || pays(call, held)), .device_only = call->a.compressed,
                           .key = call->remote.key = key_of(call)};
    if (tsr_placement_pulls(&pull))
        call->decision.backend = gpu;
    snprintf(call->decision.reason, sizeof call->decision.reason, held ? "the matrix is on the device" : "the result stays on the device");
}

/* ---- the result ---- */

void tsr_compressed_share(const tsr_door *door, void *C, void *A, const tsr_backend *backend)
{
    tsr_record *from = door->record(A, true), *to = door->record(C, true);
    tsr_cache_entry *entry = from && to ? tsr_record_cache_entry(from, backend) : NULL;
    if (entry)
        tsr_record_take(to, entry);
    tsr_cache_entry_unref(entry);
    tsr_record_unref(from);
    tsr_record_unref(to);
}

tsr_status tsr_compressed_leave(tsr_call *call, tsr_device_array_facts facts, tsr_cache_entry *entry)
{
    void *kept = call->remote.stays;
    facts.compressed = true;
    call->remote.stays = NULL;
    tsr_device_array *array = tsr_device_array_new(&facts, kept);
    tsr_handover none = {0};
    if (!array || !call->door->leave(&call->given, array, &none)) {
        tsr_device_array_unref(array);
        return TSR_OUT_OF_MEMORY;
    }
    tsr_record *record = call->door->record(call->given.C, true);
    if (record && entry)
        tsr_record_take(record, entry);
    tsr_cache_entry *own = record ? tsr_record_cache_entry(record, facts.backend) : NULL;
    if (own)
        facts.backend->compressed->share(kept, facts.by_col, tsr_cache_entry_place(own));
    tsr_cache_entry_unref(own);
    tsr_record_unref(record);
    return TSR_OK;
}

typedef tsr_status (*pick_fn)(tsr_call *call, const tsr_compressed_operand *a);

/* What results that were made so before have, or, if they have nothing, what `pick` makes. */
static tsr_status find_or_pick(tsr_call *call, pick_fn pick, tsr_cache_entry *entry, const tsr_view *like)
{
    const tsr_backend *backend = call->decision.backend;
    tsr_status status = entry ? backend->compressed->find(&call->remote.stays, like, tsr_cache_entry_place(entry)) : TSR_OK;
    if (status != TSR_OK || call->remote.stays)
        return tsr_engine_outcome(status);
    tsr_cache_entry *of_a = tsr_record_cache_entry(call->a.record, backend);
    const tsr_compressed_operand a = operand_of(call, of_a);
    status = pick(call, &a);
    tsr_cache_entry_unref(of_a);
    return status;
}

static tsr_status run(tsr_call *call, pick_fn pick, const void *one)
{
    const tsr_view *a = &call->a.view;
    tsr_shape c;
    if (!call->door->shape(&c, call->given.C, false))
        return TSR_DECLINED;
    tsr_device_array_facts facts = {.backend = call->decision.backend, .type = c.type, .nrows = c.nrows, .ncols = c.ncols, .by_col = a->by_col,
                                    .iso = one, .origin = call->remote.key};
    if (one)
        tsr_cast_values(&facts.one, c.type, one, a->type, 1, 1);
    const tsr_view like = result_like(call, &c, &facts.one);
    tsr_cache_entry *entry = remembered(call, call->decision.backend);
    tsr_status status = find_or_pick(call, pick, entry, &like);
    if (status == TSR_OK)
        status = tsr_compressed_leave(call, facts, entry);
    tsr_cache_entry_unref(entry);
    return status;
}

tsr_settlement tsr_compressed_settle(tsr_call *call, tsr_status *status)
{
    (void)call;
    (void)status;
    return TSR_SETTLED;
}

void tsr_compressed_drop(tsr_call *call)
{
    call->decision.backend->contents->drop(call->remote.stays);
    call->remote.stays = NULL;
}

void tsr_compressed_use(tsr_call *call)
{
    tsr_contents_use(call->a.compressed);
    tsr_contents_use(call->b.compressed);
}

static void describe(char *text, size_t size, const tsr_call *call, const char *what)
{
    snprintf(text, size, "%s %s nnz=%lld", what, tsr_type_name(call->a.view.type), (long long)call->a.view.nvals);
}

/* ---- extraction ---- */

static bool lists_fit(const tsr_call *call)
{
    const tsr_picking *p = &call->of.picking;
    const tsr_selection_kernels *kernels = tsr_backend_cpu()->host->selection;
    return kernels->indices_fit(&p->vectors, tsr_view_vectors(&call->a.view), call->mod.nthreads) &&
           kernels->indices_fit(&p->places, call->a.view.vlen, call->mod.nthreads);
}

/* GrB_ALL was matched before anybody knew how many there are. */
static void orient(tsr_call *call)
{
    tsr_picking *p = &call->of.picking;
    const bool by_col = call->a.view.by_col;
    p->vectors = by_col ? p->columns : p->rows;
    p->places = by_col ? p->rows : p->columns;
}

static const char *resolve_extraction(tsr_call *call)
{
    tsr_picking *p = &call->of.picking;
    if (!inspect(call))
        return not_sparse;
    orient(call);
    const char *why = resolve(call, p->rows.count, p->columns.count);
    if (why)
        return why;
    return lists_fit(call) ? NULL : "an index is too large";
}

static tsr_status extract(tsr_call *call, const tsr_compressed_operand *a)
{
    const tsr_picking *p = &call->of.picking;
    const tsr_backend_compressed *device = call->decision.backend->compressed;
    return TSR_ATTEMPT(device->extract(&call->remote.stays, a, &p->vectors, &p->places, &call->moved));
}

static tsr_status run_extraction(tsr_call *call)
{
    return run(call, extract, call->a.view.iso ? call->a.view.x : NULL);
}

static void describe_extraction(char *text, size_t size, const tsr_call *call)
{
    describe(text, size, call, "extract");
}

const tsr_operation tsr_device_extract_operation = {.resolve = resolve_extraction, .decide = decide, .run = run_extraction, .settle = tsr_compressed_settle,
                                                    .use = tsr_compressed_use, .drop = tsr_compressed_drop, .describe = describe_extraction, .kernel = "extract"};

/* ---- selection ---- */

static void orient_rule(tsr_call *call)
{
    const tsr_place_rule *place = &call->update.place;
    const bool by_col = call->a.view.by_col;
    call->of.picking.rule = (tsr_compressed_rule){.placed = true, .keep = place->keep, .by_vector = by_col ? place->by_column : place->by_row,
                                                  .by_index = by_col ? place->by_row : place->by_column, .offset = place->by_y * place->y};
}

/* Of one value all or nothing stays, and of booleans SuiteSparse makes several special cases. */
static bool takes_values(const tsr_call *call)
{
    const tsr_view *a = &call->a.view;
    return !a->iso && a->type == call->of.picking.type && a->type != TSR_BOOL;
}

static const char *resolve_selection(tsr_call *call)
{
    if (!inspect(call))
        return not_sparse;
    if (call->update.placed)
        orient_rule(call);
    else if (!takes_values(call))
        return "A is iso, boolean, or not of the operator's type";
    return resolve(call, call->a.view.nrows, call->a.view.ncols);
}

static tsr_status select_entries(tsr_call *call, const tsr_compressed_operand *a)
{
    const tsr_backend_compressed *device = call->decision.backend->compressed;
    return TSR_ATTEMPT(device->select(&call->remote.stays, a, &call->of.picking.rule, &call->moved));
}

static tsr_status run_selection(tsr_call *call)
{
    const tsr_compressed_rule *rule = &call->of.picking.rule;
    const tsr_ewise step = {.op = rule->keep, .type = call->a.view.type};
    const void *one = call->a.view.iso ? call->a.view.x : NULL;
    if (!rule->placed && tsr_elementwise_selects_one(&call->one, &step, rule->thunk))
        one = &call->one;
    return run(call, select_entries, one);
}

static void describe_selection(char *text, size_t size, const tsr_call *call)
{
    describe(text, size, call, "select");
}

const tsr_operation tsr_device_select_operation = {.resolve = resolve_selection, .decide = decide, .run = run_selection, .settle = tsr_compressed_settle,
                                                   .use = tsr_compressed_use, .drop = tsr_compressed_drop, .describe = describe_selection, .kernel = "select"};
