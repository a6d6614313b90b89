/* GrB_reduce of a full or bitmap matrix to a vector, where a backend has something of the call already.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "src/engine/attempt.h"
#include "src/graphblas/intercept/hooks.h"
#include "src/graphblas/handover/resident.h"
#include "src/graphblas/step.h"
#include "src/runtime/config.h"

/* One reduction on its way. */
typedef struct row_sums {
    const tsr_output *out;
    GrB_Matrix A;
    tsr_inspected a;
    tsr_sums sums;
    tsr_ewise_plan step; /* C<M> accum= T */
} row_sums;

/* Rows of A, or of its transpose, as the vectors of what is held. */
static bool look(row_sums *r)
{
    const tsr_output *o = r->out;
    const tsr_ewise_call rest = {.name = o->name, .C = o->C, .M = o->M, .accum = o->accum, .desc = o->desc, .vector = true,
                                .step = {.op = TSR_EWISE_IDENTITY, .type = r->sums.type, .result = r->sums.type}};
    const tsr_view *v = &r->a.view;
    if (tsr_contents_left_sparse(r->A) || !tsr_inspect_operand(&r->a, r->A) || tsr_inspected_iso(&r->a))
        return false; /* sums of iso values may be iso as well */
    const bool full = v->format == TSR_FULL;
    if ((!full && v->format != TSR_BITMAP) || !tsr_ewise_plan_look(&r->step, &rest, &full))
        return false;
    const bool columns = r->step.mod.tran0;
    r->sums.vectors = columns ? v->ncols : v->nrows;
    r->sums.length = columns ? v->nrows : v->ncols;
    r->sums.across = v->by_col != columns;
    return r->step.ncols == 1 && r->step.nrows == r->sums.vectors && r->sums.length > 0;
}

static bool pulls(row_sums *r)
{
    const tsr_output *o = r->out;
    const tsr_ewise_call call = {.C = o->C, .M = o->M, .A = r->A, .accum = o->accum};
    return tsr_ewise_plan_pulls(&r->step, tsr_ewise_attracting(&call), (double)r->sums.vectors * (double)r->sums.length);
}

static tsr_status add_up(row_sums *r, tsr_device_array **value)
{
    const tsr_backend *backend = r->step.backend;
    void *kept = NULL;
    tsr_status status = tsr_ewise_plan_bring(&r->step, &r->a);
    if (status == TSR_OK)
        status = tsr_ewise_plan_cast(&r->step, &r->a, r->sums.type, &r->sums.value);
    if (status == TSR_OK)
        status = TSR_ATTEMPT(backend->arrays->sums(&r->sums, &kept));
    if (status != TSR_OK)
        return status;
    const tsr_device_array_facts facts = {.backend = backend, .type = r->sums.type, .nrows = r->sums.vectors, .ncols = 1, .by_col = true,
                                   .full = r->a.view.format == TSR_FULL, .origin = r->step.key};
    *value = tsr_device_array_new(&facts, kept);
    return *value ? TSR_OK : TSR_OUT_OF_MEMORY;
}

static void report(const row_sums *r, double ms)
{
    if (!tsr_trace_wanted())
        return;
    char pattern[96];
    snprintf(pattern, sizeof pattern, "reduce rows %s n=%lld by %lld", tsr_type_name(r->sums.type), (long long)r->sums.vectors,
             (long long)r->sums.length);
    tsr_contents_report(r->step.backend, "reduce", (tsr_trace_record){.call = r->out->name, .pattern = pattern, .measured_ms = ms,
                                                                      .bytes_moved = r->step.moved});
}

static bool compute(row_sums *r)
{
    const double start = tsr_engine_clock_ms();
    tsr_device_array *value = NULL;
    if (add_up(r, &value) != TSR_OK || tsr_ewise_plan_take(&r->step, value) != TSR_OK)
        return false;
    tsr_contents_use(r->a.value);
    report(r, tsr_engine_clock_ms() - start);
    return true;
}

static bool run(GrB_Info *info, row_sums *r)
{
    const bool done = look(r) && pulls(r) && compute(r);
    tsr_inspected_release(&r->a);
    tsr_ewise_plan_release(&r->step);
    tsr_contents_decline(r->out->name, done ? NULL : r->step.why ? r->step.why : "the matrix does not fit");
    *info = GrB_SUCCESS;
    return done;
}

bool tsr_try_row_sums(GrB_Info *info, const tsr_output *out, GrB_BinaryOp op, GrB_Matrix A)
{
    row_sums r = {.out = out, .A = A};
    if (!A || !tsr_ewise_concerned(out, A, NULL) || !tsr_contents_allowed(TSR_DISABLE_ELEMENTWISE) ||
        !tsr_match_reduce(&r.sums.op, &r.sums.type, op))
        return false;
    tsr_depth++;
    tsr_caller = out->name;
    tsr_quiet_begin();
    const bool done = run(info, &r);
    tsr_quiet_end();
    tsr_depth--;
    return done;
}
