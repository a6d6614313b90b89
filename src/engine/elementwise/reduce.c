/* Reductions, as operations: of the rows of a matrix, on a device or on the host, and of all entries to a scalar, on a device.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/elementwise/reduce.h"

#include <stdio.h>

#include "src/base/split.h"
#include "src/base/types.h"
#include "src/engine/call/attempt.h"
#include "src/engine/call/contents.h"
#include "src/engine/elementwise/elementwise.h"
#include "src/policy/price/elementwise.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"

/* ---- rows ---- */

/* Rows of A, or of its transpose, as the vectors of what is held. */
static void orient(tsr_sums *sums, const tsr_view *a, bool columns)
{
    sums->vectors = columns ? a->ncols : a->nrows;
    sums->length = columns ? a->nrows : a->ncols;
    sums->across = a->by_col != columns;
}

/* Sums of iso values may be iso as well. */
static const char *resolve_rows(tsr_call *call)
{
    static const char *const no = "the matrix does not fit";
    tsr_sums *sums = &call->of.sums;
    const tsr_view *v = &call->a.view;
    if (call->door->left_sparse(call->given.A) || !tsr_object_inspect(&call->a, call->door, call->given.A, false) ||
        tsr_object_iso(&call->a))
        return no;
    const bool full = v->format == TSR_FULL;
    if (!full && v->format != TSR_BITMAP)
        return no;
    const char *why = tsr_update_plan(call, sums->type, full);
    if (why)
        return why;
    orient(sums, v, call->mod.tran0);
    return call->update.ncols == 1 && call->update.nrows == sums->vectors && sums->length > 0 ? NULL : no;
}

/* C counts where it is needed, or would have to be downloaded first. */
static void decide_rows(tsr_call *call)
{
    const tsr_arguments *g = &call->given;
    const tsr_sums *sums = &call->of.sums;
    const bool c = g->accum || g->M || call->door->is_absent(g->C);
    void *const handles[] = {g->A, g->M, c ? g->C : NULL};
    const tsr_backend *device = tsr_contents_device(call->door, handles, 3);
    if (!tsr_elementwise_pulls(&call->update, device, (double)sums->vectors * (double)sums->length))
        call->why = "not worth it on the device";
    call->decision.backend = call->update.backend;
}

static tsr_status run_rows(tsr_call *call)
{
    const tsr_backend *backend = call->decision.backend;
    tsr_sums *sums = &call->of.sums;
    void *kept = NULL;
    tsr_status status = tsr_elementwise_upload(&call->update, &call->a);
    if (status == TSR_OK)
        status = tsr_elementwise_cast(&call->update, &call->a, sums->type, &sums->value);
    if (status == TSR_OK)
        status = TSR_ATTEMPT(backend->arrays->sums(sums, &kept));
    if (status != TSR_OK)
        return status;
    const tsr_device_array_facts facts = {.backend = backend, .type = sums->type, .nrows = sums->vectors, .ncols = 1, .by_col = true,
                                          .full = call->a.view.format == TSR_FULL, .origin = call->update.key};
    call->remote.array = tsr_device_array_new(&facts, kept);
    return call->remote.array ? TSR_OK : TSR_OUT_OF_MEMORY;
}

static void use(tsr_call *call)
{
    tsr_contents_use(call->a.array);
}

static void describe_rows(char *text, size_t size, const tsr_call *call)
{
    const tsr_sums *sums = &call->of.sums;
    snprintf(text, size, "reduce rows %s n=%lld by %lld", tsr_type_name(sums->type), (long long)sums->vectors, (long long)sums->length);
}

const tsr_operation tsr_row_sums_operation = {.resolve = resolve_rows, .decide = decide_rows, .run = run_rows,
                                              .settle = tsr_settle_update, .use = use, .describe = describe_rows, .kernel = "reduce"};

/* ---- rows of a full or sparse matrix on the host ---- */

static bool take_host_rows(tsr_sums *sums, const tsr_view *a, bool columns)
{
    sums->value = (void *)(uintptr_t)a->x;
    orient(sums, a, columns);
    return a->format == TSR_FULL && !a->iso && a->type == sums->type && sums->vectors > 0 && sums->length > 0;
}

/* Of entries that are cast: SuiteSparse casts them one by one.  One value for all rows stays one but for sums. */
static bool take_sparse_rows(tsr_sums *sums, const tsr_view *a, bool columns)
{
    orient(sums, a, columns);
    return a->format == TSR_SPARSE && !sums->across && a->nvec == sums->vectors && a->type != sums->type && sums->type != TSR_BOOL &&
           (!a->iso || sums->op == TSR_REDUCE_PLUS) && sums->vectors > 0 && sums->length > 0;
}

static bool take_rows(tsr_call *call)
{
    tsr_sums *sums = &call->of.sums;
    tsr_object *a = &call->a;
    *a = (tsr_object){.handle = call->given.A, .given = true};
    if (call->door->form(a->handle) == 1u << TSR_FULL)
        return call->door->view(&a->view, a->handle) && take_host_rows(sums, &a->view, call->mod.tran0);
    return call->door->held(&a->view, a->handle, &a->copies) && take_sparse_rows(sums, &a->view, call->mod.tran0);
}

static bool of_entries(const tsr_call *call)
{
    return call->a.view.format == TSR_SPARSE;
}

/* Sums of a sparse matrix may be missing; C += T needs no third object where C is full. */
static void plan_accum(tsr_call *call)
{
    const tsr_arguments *g = &call->given;
    tsr_ewise_op op;
    tsr_type type;
    call->through_t = g->accum;
    call->add_c = g->accum && !of_entries(call) && call->door->form(g->C) == 1u << TSR_FULL && call->door->accumulator(&op, &type, g->accum) &&
                  op == TSR_EWISE_PLUS && type == call->of.sums.type && type != TSR_BOOL && call->door->view(&call->c, g->C);
}

static const char *resolve_host_rows(tsr_call *call)
{
    tsr_sums *sums = &call->of.sums;
    const tsr_arguments *g = &call->given;
    tsr_shape c;
    if (g->M || call->mod.mask_comp || g->C == g->A || sums->op == TSR_REDUCE_ANY || !call->door->shape(&c, g->C, true) || c.type != sums->type)
        return "C has a mask or another type";
    if (!take_rows(call) || c.nrows != sums->vectors)
        return "the matrix does not fit";
    const double elements = of_entries(call) ? (double)call->a.view.nvals : (double)sums->vectors * (double)sums->length;
    if (elements < TSR_EWISE_LEAST && !tsr_config_forces_cpu())
        return "not worth it";
    call->t_by_col = true;
    call->product.m = sums->vectors;
    call->product.n = 1;
    call->product.semiring.type = sums->type;
    call->product.nthreads = tsr_pass_threads((int64_t)elements, call->mod.nthreads);
    plan_accum(call);
    return NULL;
}

static void decide_host_rows(tsr_call *call)
{
    call->decision.backend = tsr_backend_cpu();
    snprintf(call->decision.reason, sizeof call->decision.reason, of_entries(call) ? "entries are cast" : "the matrix is full");
}

static bool reserve_host_rows(tsr_call *call)
{
    return tsr_arrays_dense(&call->arrays, call->door->memory, call->of.sums.vectors, call->of.sums.type, of_entries(call));
}

static tsr_status sum_entries(tsr_call *call)
{
    tsr_handover *t = &call->arrays;
    const tsr_sums *sums = &call->of.sums;
    const int64_t nvals = tsr_backend_cpu()->host->list_sums(sums, &call->a.view, t->b, t->x, call->product.nthreads);
    if (nvals < 0)
        return TSR_DECLINED;
    tsr_arrays_count(t, nvals, sums->vectors);
    return TSR_OK;
}

static tsr_status run_host_rows(tsr_call *call)
{
    if (of_entries(call))
        return sum_entries(call);
    const bool done = tsr_backend_cpu()->host->sums(&call->of.sums, call->arrays.x, call->product.nthreads);
    return done ? TSR_OK : TSR_DECLINED;
}

const tsr_operation tsr_host_row_sums_operation = {.resolve = resolve_host_rows, .decide = decide_host_rows, .reserve = reserve_host_rows,
                                                   .run = run_host_rows, .describe = describe_rows, .kernel = "reduce"};

/* ---- all entries ---- */

static const char *resolve_total(tsr_call *call)
{
    call->a.array = call->door->array(call->given.A);
    return call->a.array ? NULL : "the matrix is not on the device";
}

static void decide_total(tsr_call *call)
{
    call->decision.backend = tsr_device_array_about(call->a.array)->backend;
    call->moved = (int64_t)tsr_type_size(tsr_device_array_about(call->a.array)->type);
}

static tsr_status reduce(const tsr_call *call, void *kept, tsr_total *total)
{
    const tsr_backend_arrays *arrays = call->decision.backend->arrays;
    return TSR_ATTEMPT(arrays->reduce(kept, total->type, total->op, &total->value, &total->any));
}

static tsr_status run_total(tsr_call *call)
{
    const tsr_device_array_facts *f = tsr_device_array_about(call->a.array);
    tsr_total *total = &call->of.total;
    void *kept = tsr_device_array_kept(call->a.array), *other = NULL;
    if (total->type == f->type)
        return reduce(call, kept, total);
    tsr_status status = TSR_ATTEMPT(f->backend->arrays->cast(kept, f->type, total->type, &other));
    if (status != TSR_OK)
        return status;
    status = reduce(call, other, total);
    f->backend->contents->drop(other);
    return status;
}

static tsr_settlement settle_total(tsr_call *call, tsr_status *status)
{
    (void)call;
    (void)status;
    return TSR_SETTLED;
}

static void describe_total(char *text, size_t size, const tsr_call *call)
{
    snprintf(text, size, "reduce %s n=%lld", tsr_type_name(tsr_device_array_about(call->a.array)->type),
             (long long)tsr_device_array_places(call->a.array));
}

const tsr_operation tsr_total_operation = {.resolve = resolve_total, .decide = decide_total, .run = run_total, .settle = settle_total,
                                           .use = use, .describe = describe_total, .kernel = "reduce"};
