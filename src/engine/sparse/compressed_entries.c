/* What is done with the values of sparse contents on a device: operators of one or two matrices, transposes, all entries joined.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "src/base/types.h"
#include "src/engine/call/attempt.h"
#include "src/engine/call/contents.h"
#include "src/engine/elementwise/elementwise.h"
#include "src/engine/sparse/compressed.h"
#include "src/policy/history/history.h"
#include "src/policy/history/placement_history.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"

/* ---- operands ---- */

static bool fits(const tsr_object *object, const tsr_shape *c, tsr_type type)
{
    const tsr_view *v = &object->view;
    const int64_t nrows = object->transposed ? v->ncols : v->nrows, ncols = object->transposed ? v->nrows : v->ncols;
    return nrows == c->nrows && ncols == c->ncols && v->type == type;
}

/* Has the result one value, whatever the operands have? */
static bool gives_one(const tsr_compressed_step *t)
{
    const tsr_ewise_op op = t->step.op;
    return op == TSR_EWISE_ONE || op == TSR_EWISE_PAIR || (op == TSR_EWISE_FIRST && !t->x_is_a) || (op == TSR_EWISE_SECOND && !t->y_is_a);
}

static bool is_copy(const tsr_compressed_step *t)
{
    return t->step.op == TSR_EWISE_IDENTITY;
}

/* Of one value it is SuiteSparse that knows whether the result is. */
static bool is_iso(const tsr_call *call)
{
    const bool operand = call->a.view.iso || (call->given.B && call->b.view.iso);
    return gives_one(&call->of.entries) || (operand && !is_copy(&call->of.entries));
}

static bool inspect(tsr_call *call)
{
    const tsr_door *door = call->door;
    if (door->is_lost(call->given.C))
        return false;
    const bool transposed[] = {call->a.transposed, call->b.transposed};
    const bool valid = tsr_compressed_inspect(&call->a, door, call->given.A) &&
                       (!call->given.B || tsr_compressed_inspect(&call->b, door, call->given.B));
    call->a.transposed = transposed[0];
    call->b.transposed = transposed[1];
    return valid;
}

static const char *resolve(tsr_call *call)
{
    const tsr_ewise *step = &call->of.entries.step;
    tsr_shape c;
    if (!inspect(call))
        return "an operand is not sparse, or not of a built-in type";
    if (!call->door->shape(&c, call->given.C, false) || c.type != step->result)
        return "C is of another type";
    if (!fits(&call->a, &c, step->type) || (call->given.B && !fits(&call->b, &c, step->type)))
        return "an operand is of another type or size";
    if (is_iso(call))
        return "one value";
    if (!call->door->may_be_compressed(call->given.C))
        return "C may not be on the device only";
    call->a.record = call->door->record(call->given.A, true);
    call->b.record = call->given.B ? call->door->record(call->given.B, true) : NULL;
    call->c_by_col = c.by_col;
    return call->a.record && (!call->given.B || call->b.record) ? NULL : "no memory for a record";
}

/* ---- who computes ---- */

static uint64_t key_of(const tsr_call *call)
{
    const tsr_ewise *step = &call->of.entries.step;
    const uint64_t parts[] = {(uint64_t)step->op, (uint64_t)step->type, (uint64_t)step->result, step->unite, (uint64_t)call->a.view.nrows,
                              (uint64_t)call->a.view.ncols, call->given.B != NULL};
    return tsr_history_key(parts, sizeof parts / sizeof *parts);
}

/* Where contents are. */
static void decide(tsr_call *call)
{
    const tsr_config *config = tsr_config_get();
    const tsr_backend *gpu = tsr_backend_gpu();
    call->decision = (tsr_decision){.observed_ms = -1.0};
    if (!gpu || !gpu->compressed)
        return;
    const double entries = (double)call->a.view.nvals + (call->given.B ? (double)call->b.view.nvals : 0);
    const tsr_pull pull = {.elements = entries, .least = config->min_work, .forced = config->mode == TSR_MODE_GPU,
                           .device_only = call->a.compressed || call->b.compressed, .key = call->remote.key = key_of(call)};
    if (tsr_placement_pulls(&pull))
        call->decision.backend = gpu;
    snprintf(call->decision.reason, sizeof call->decision.reason, "a matrix is on the device");
}

/* ---- computing ---- */

static tsr_compressed_operand operand_of(const tsr_call *call, const tsr_object *object, tsr_cache_entry *entry)
{
    return (tsr_compressed_operand){.view = object->view, .slot = entry ? tsr_cache_entry_place(entry) : NULL, .nthreads = call->mod.nthreads,
                                    .turned = object->view.by_col != (call->c_by_col != object->transposed)};
}

static tsr_status compute(tsr_call *call, const tsr_compressed_operand *a, const tsr_compressed_operand *b)
{
    const tsr_backend_compressed *device = call->decision.backend->compressed;
    const tsr_compressed_step *step = &call->of.entries;
    return call->given.B ? TSR_ATTEMPT(device->join(&call->remote.stays, a, b, step, &call->moved))
                         : TSR_ATTEMPT(device->apply(&call->remote.stays, a, step, &call->moved));
}

/* SuiteSparse holds what is fuller as a bitmap. */
static bool stays_sparse(const tsr_call *call)
{
    const tsr_view *a = &call->a.view;
    const int64_t nvals = call->decision.backend->compressed->nvals(call->remote.stays);
    return !call->door->makes_dense(call->given.C, nvals, (double)a->nrows * (double)a->ncols);
}

static tsr_status leave(tsr_call *call)
{
    const tsr_view *a = &call->a.view;
    const bool turns = call->a.transposed;
    tsr_device_array_facts facts = {.backend = call->decision.backend, .type = call->of.entries.step.result, .nrows = turns ? a->ncols : a->nrows,
                                    .ncols = turns ? a->nrows : a->ncols, .by_col = call->c_by_col, .iso = a->iso, .origin = call->remote.key};
    if (a->iso)
        memcpy(&facts.one, a->x, tsr_type_size(a->type));
    return stays_sparse(call) ? tsr_compressed_leave(call, facts, NULL) : TSR_DECLINED;
}

static tsr_status run(tsr_call *call)
{
    const tsr_backend *backend = call->decision.backend;
    tsr_cache_entry *of_a = tsr_record_cache_entry(call->a.record, backend);
    tsr_cache_entry *of_b = call->b.record ? tsr_record_cache_entry(call->b.record, backend) : NULL;
    const tsr_compressed_operand a = operand_of(call, &call->a, of_a), b = operand_of(call, &call->b, of_b);
    const tsr_status status = compute(call, &a, &b);
    tsr_cache_entry_unref(of_a);
    tsr_cache_entry_unref(of_b);
    return status == TSR_OK ? leave(call) : status;
}

static void describe(char *text, size_t size, const tsr_call *call)
{
    const tsr_ewise *step = &call->of.entries.step;
    snprintf(text, size, "entries %s %s nnz=%lld", tsr_ewise_name(step->op), tsr_type_name(step->type), (long long)call->a.view.nvals);
}

const tsr_operation tsr_device_entries_operation = {.resolve = resolve, .decide = decide, .run = run, .settle = tsr_compressed_settle,
                                                    .use = tsr_compressed_use, .drop = tsr_compressed_drop,
                                                    .describe = describe, .kernel = "entries"};

/* ---- all entries ---- */

static const char *resolve_total(tsr_call *call)
{
    if (call->door->is_lost(call->given.A) || !tsr_object_take_compressed(&call->a, call->door, call->given.A))
        return "the matrix is not on the device";
    const tsr_view *a = &call->a.view;
    if (a->iso || a->nvals == 0)
        return "the matrix is of one value, or empty";
    call->a.record = call->door->record(call->given.A, true);
    return call->a.record ? NULL : "no memory for a record";
}

static void decide_total(tsr_call *call)
{
    call->decision.backend = tsr_device_array_about(call->a.compressed)->backend;
}

static tsr_status run_total(tsr_call *call)
{
    const tsr_backend *backend = call->decision.backend;
    tsr_total *total = &call->of.total;
    tsr_cache_entry *entry = tsr_record_cache_entry(call->a.record, backend);
    const tsr_compressed_operand a = {.view = call->a.view, .slot = entry ? tsr_cache_entry_place(entry) : NULL, .nthreads = 1};
    const tsr_status status = TSR_ATTEMPT(backend->compressed->reduce(&a, total->type, total->op, &total->value, &call->moved));
    total->any = true;
    call->moved += (int64_t)tsr_type_size(total->type);
    tsr_cache_entry_unref(entry);
    return status;
}

static void describe_total(char *text, size_t size, const tsr_call *call)
{
    snprintf(text, size, "reduce %s nnz=%lld", tsr_type_name(call->a.view.type), (long long)call->a.view.nvals);
}

const tsr_operation tsr_device_total_operation = {.resolve = resolve_total, .decide = decide_total, .run = run_total, .settle = tsr_compressed_settle,
                                                  .use = tsr_compressed_use, .describe = describe_total, .kernel = "reduce"};
