/* Kronecker products of sparse contents on a device: the result, which is larger than both, stays there.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "src/base/types.h"
#include "src/engine/call/attempt.h"
#include "src/engine/call/contents.h"
#include "src/engine/product/kronecker.h"
#include "src/engine/product/operands.h"
#include "src/engine/sparse/compressed.h"
#include "src/policy/history/history.h"
#include "src/policy/history/placement_history.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"

/* ---- what is taken ---- */

static int64_t rows_of(const tsr_object *object)
{
    return object->transposed ? object->view.ncols : object->view.nrows;
}

static int64_t columns_of(const tsr_object *object)
{
    return object->transposed ? object->view.nrows : object->view.ncols;
}

/* What the host has need not be lists there: small ones often are bitmaps. */
static bool find_contents(tsr_object *object, const tsr_call *call, void *handle)
{
    const tsr_door *door = call->door;
    *object = (tsr_object){.handle = handle, .given = true};
    if (door->is_lost(handle))
        return false;
    if (tsr_object_take_compressed(object, door, handle))
        return true;
    if (door->is_absent(handle))
        return false;
    door->inspect(handle);
    return door->held(&object->view, handle, &object->copies) &&
           (tsr_is_compressed(&object->view) || tsr_operands_compress(&object->view, &object->copies, call->mod.nthreads));
}

static bool inspect(tsr_object *object, const tsr_call *call, void *handle)
{
    const bool transposed = object->transposed, valid = find_contents(object, call, handle);
    object->transposed = transposed;
    return valid && object->view.nvals > 0 && object->view.type == call->of.entries.step.type;
}

/* No number of a row or a column needs more than 32 bits there. */
static bool has_size(const tsr_call *call, const tsr_shape *c)
{
    int64_t nrows, ncols;
    return !__builtin_mul_overflow(rows_of(&call->a), rows_of(&call->b), &nrows) && nrows == c->nrows && nrows < UINT32_MAX &&
           !__builtin_mul_overflow(columns_of(&call->a), columns_of(&call->b), &ncols) && ncols == c->ncols && ncols < UINT32_MAX;
}

static const char *resolve(tsr_call *call)
{
    const tsr_door *door = call->door;
    tsr_shape c;
    int64_t entries;
    if (door->is_lost(call->given.C) || !inspect(&call->a, call, call->given.A) || !inspect(&call->b, call, call->given.B))
        return "an operand is not sparse, has no entries, or is of another type";
    if (!door->shape(&c, call->given.C, false) || c.type != call->of.entries.step.result || !has_size(call, &c) ||
        __builtin_mul_overflow(call->a.view.nvals, call->b.view.nvals, &entries))
        return "C is of another type or size, or too large";
    if (!door->may_be_compressed(call->given.C) || door->makes_dense(call->given.C, entries, (double)c.nrows * (double)c.ncols))
        return "C may not be on the device only";
    call->a.record = door->record(call->given.A, true);
    call->b.record = door->record(call->given.B, true);
    call->c_by_col = c.by_col;
    return call->a.record && call->b.record ? NULL : "no memory for a record";
}

/* ---- who computes ---- */

static uint64_t key_of(const tsr_call *call)
{
    const tsr_ewise *step = &call->of.entries.step;
    const uint64_t parts[] = {(uint64_t)step->op, (uint64_t)step->type, (uint64_t)call->a.view.nrows, (uint64_t)call->a.view.ncols,
                              (uint64_t)call->b.view.nrows, (uint64_t)call->b.view.ncols, 'k'};
    return tsr_history_key(parts, sizeof parts / sizeof *parts);
}

/* Where an operand is.  To download the result takes longer than to download both operands. */
static void decide(tsr_call *call)
{
    const tsr_config *config = tsr_config_get();
    const tsr_backend *gpu = tsr_backend_gpu();
    call->decision = (tsr_decision){.observed_ms = -1.0};
    if (!gpu || !gpu->compressed || !gpu->compressed->kronecker)
        return;
    const tsr_pull pull = {.elements = (double)(call->a.view.nvals * call->b.view.nvals), .least = config->min_work,
                           .forced = config->mode == TSR_MODE_GPU, .on_device = call->a.compressed || call->b.compressed,
                           .key = call->remote.key = key_of(call)};
    if (tsr_placement_pulls(&pull))
        call->decision.backend = gpu;
    snprintf(call->decision.reason, sizeof call->decision.reason, "a matrix is on the device");
}

/* ---- computing ---- */

/* Nothing is kept of lists that were made for the call. */
static tsr_compressed_operand operand_of(const tsr_call *call, const tsr_object *object, tsr_cache_entry *entry)
{
    if (object->copies.first)
        entry = NULL;
    return (tsr_compressed_operand){.view = object->view, .slot = entry ? tsr_cache_entry_place(entry) : NULL, .nthreads = call->mod.nthreads,
                                    .turned = object->view.by_col != (call->c_by_col != object->transposed)};
}

static tsr_status leave(tsr_call *call, bool one)
{
    const tsr_ewise *step = &call->of.entries.step;
    tsr_device_array_facts facts = {.backend = call->decision.backend, .type = step->result, .nrows = rows_of(&call->a) * rows_of(&call->b),
                                    .ncols = columns_of(&call->a) * columns_of(&call->b), .by_col = call->c_by_col, .iso = one,
                                    .origin = call->remote.key};
    if (one)
        facts.one = tsr_kronecker_one(call, step, step->result);
    return tsr_compressed_leave(call, facts, NULL);
}

static tsr_status run(tsr_call *call)
{
    const tsr_backend *backend = call->decision.backend;
    const tsr_ewise *step = &call->of.entries.step;
    const bool one = tsr_kronecker_is_one(call, step->op);
    tsr_cache_entry *of_a = tsr_record_cache_entry(call->a.record, backend), *of_b = tsr_record_cache_entry(call->b.record, backend);
    const tsr_compressed_operand a = operand_of(call, &call->a, of_a), b = operand_of(call, &call->b, of_b);
    const tsr_status status = TSR_ATTEMPT(backend->compressed->kronecker(&call->remote.stays, &a, &b, step, one, &call->moved));
    tsr_cache_entry_unref(of_a);
    tsr_cache_entry_unref(of_b);
    return status == TSR_OK ? leave(call, one) : status;
}

static void describe(char *text, size_t size, const tsr_call *call)
{
    tsr_kronecker_describe(text, size, call, &call->of.entries.step);
}

const tsr_operation tsr_device_kronecker_operation = {.resolve = resolve, .decide = decide, .run = run, .settle = tsr_compressed_settle,
                                                      .use = tsr_compressed_use, .drop = tsr_compressed_drop, .describe = describe, .kernel = "kronecker"};
