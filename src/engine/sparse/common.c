/* op (x, y) of the entries that two sparse matrices have in common, on the host: SuiteSparse merges lists, or looks the entries of the one up in the
 * other, once to count and once to compute (docs/host-calls.md).
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/format/sparse/common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/split.h"
#include "src/base/types.h"
#include "src/engine/call/contents.h"
#include "src/engine/call/host.h"
#include "src/engine/elementwise/elementwise.h"
#include "src/engine/sparse/entries.h"
#include "src/policy/price/elementwise.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"

static bool is_taken(const tsr_view *v)
{
    return v->format == TSR_SPARSE && v->x && !v->jumbled;
}

/* Seen before anything is inspected. */
static bool pays(const tsr_call *call)
{
    tsr_view a, b;
    if (tsr_config_forces_cpu())
        return true;
    if (!call->door->view(&a, call->given.A) || !call->door->view(&b, call->given.B))
        return false;
    const bool fewer_is_a = a.nvals <= b.nvals;
    return tsr_common_pays((double)(fewer_is_a ? a : b).nvals, (double)(fewer_is_a ? b : a).nvals, (double)tsr_view_vectors(&a));
}

static const char *resolve(tsr_call *call)
{
    const tsr_view *a = &call->a.view, *b = &call->b.view;
    if (call->mod.tran0 || call->mod.tran1 || call->mod.mask_comp || call->given.accum)
        return "a transpose, a complement of no mask, or an accumulator";
    if (!pays(call))
        return "short lists";
    if (!tsr_object_inspect(&call->a, call->door, call->given.A, true) || !tsr_object_inspect(&call->b, call->door, call->given.B, true) ||
        !is_taken(a) || !is_taken(b) || a->nrows != b->nrows || a->ncols != b->ncols || a->by_col != b->by_col || !tsr_entries_fit_c(call, a))
        return "not sparse matrices of one shape and orientation";
    return tsr_entries_make_one_value(call) ? "the result has one value" : NULL;
}

static void decide(tsr_call *call)
{
    call->decision.backend = tsr_backend_cpu();
    snprintf(call->decision.reason, sizeof call->decision.reason, "%s", tsr_config_forces_cpu() ? "forced" : "long lists");
}

/* Room for the values of the entries that are common, where the operator reads more than one.  False: there is none. */
static bool reserve_values(void **room, tsr_elements *values, tsr_type type, int64_t count, bool read)
{
    *room = read && values->x ? malloc((size_t)(count + 1) * tsr_type_size(type)) : NULL;
    const bool done = *room || !read || !values->x;
    values->x = *room;
    return done;
}

static tsr_status compute(tsr_call *call, const tsr_common *common, void *x, void *y)
{
    const tsr_view *a = &call->a.view, *b = &call->b.view;
    const bool fewer_is_a = a->nvals <= b->nvals;
    const int64_t count = common->p[tsr_view_vectors(a)];
    if (!tsr_arrays_compressed(&call->arrays, call->door->memory, tsr_view_vectors(a), count, call->of.host.type, tsr_call_narrows(call, a->vlen)))
        return TSR_OUT_OF_MEMORY;
    memcpy(call->arrays.p, common->p, (size_t)(tsr_view_vectors(a) + 1) * sizeof *common->p);
    tsr_common_take(common, call->arrays.i, call->arrays.narrow, fewer_is_a ? x : y, fewer_is_a ? y : x, fewer_is_a ? a : b, fewer_is_a ? b : a,
                    call->mod.nthreads);
    call->of.host.arrays.z = call->arrays.x;
    tsr_engine_ewise(&call->of.host, tsr_pass_threads(count, call->mod.nthreads));
    return TSR_OK;
}

static tsr_status run(tsr_call *call)
{
    const tsr_view *a = &call->a.view, *b = &call->b.view;
    const bool fewer_is_a = a->nvals <= b->nvals;
    tsr_host_ewise *step = &call->of.host;
    tsr_common common;
    void *x = NULL, *y = NULL;
    if (!tsr_common_find(&common, fewer_is_a ? a : b, fewer_is_a ? b : a, call->mod.nthreads))
        return TSR_OUT_OF_MEMORY;
    const int64_t count = common.p[tsr_view_vectors(a)];
    tsr_entries_prepare(call, count);
    const bool room = reserve_values(&x, &step->arrays.x, a->type, count, step->step.op != TSR_EWISE_SECOND) &&
                      reserve_values(&y, &step->arrays.y, b->type, count, step->step.op != TSR_EWISE_FIRST);
    const tsr_status status = room ? compute(call, &common, x, y) : TSR_OUT_OF_MEMORY;
    free(x);
    free(y);
    tsr_common_free(&common);
    return status;
}

static void describe(char *text, size_t size, const tsr_call *call)
{
    snprintf(text, size, "common %s %s nnz=%lld of %lld and %lld", tsr_ewise_name(call->update.step.op), tsr_type_name(call->update.step.type),
             (long long)call->arrays.nvals, (long long)call->a.view.nvals, (long long)call->b.view.nvals);
}

const tsr_operation tsr_common_operation = {.resolve = resolve, .decide = decide, .run = run, .describe = describe, .kernel = "common"};
