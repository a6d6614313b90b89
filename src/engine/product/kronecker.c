/* Kronecker products on the host: C as SuiteSparse holds it, whose loop calls functions for each entry (docs/host-calls.md).
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/product/kronecker.h"

#include <stdio.h>

#include "src/base/late_team.h"
#include "src/base/split.h"
#include "src/base/types.h"
#include "src/engine/call/clock.h"
#include "src/engine/call/contents.h"
#include "src/engine/call/host.h"
#include "src/engine/elementwise/elementwise.h"
#include "src/engine/product/operands.h"
#include "src/policy/price/kronecker.h"
#include "src/policy/price/route.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"

/* ---- what is taken ---- */

/* SuiteSparse counts the same way, and has no word for more. */
static bool multiply(int64_t *product, int64_t a, int64_t b)
{
    return !__builtin_mul_overflow(a, b, product) && *product < INT64_C(1) << 60;
}

/* As lists where it is a bitmap. */
static bool inspect(tsr_object *object, const tsr_call *call, void *handle, bool transposed)
{
    tsr_view *v = &object->view;
    if (!tsr_object_inspect(object, call->door, handle, true) || !v->x || v->nvals == 0 ||
        (v->format == TSR_BITMAP && !tsr_operands_compress(v, &object->copies, call->mod.nthreads)))
        return false;
    if (transposed)
        *v = tsr_view_transposed(*v);
    return true;
}

static bool has_shape(const tsr_call *call, void *handle, int64_t nrows, int64_t ncols)
{
    tsr_shape m;
    return !handle || (call->door->shape(&m, handle, false) && m.nrows == nrows && m.ncols == ncols);
}

static const char *resolve(tsr_call *call)
{
    const tsr_arguments *g = &call->given;
    const tsr_view *a = &call->a.view, *b = &call->b.view;
    tsr_shape c;
    int64_t nrows, ncols, entries, vectors;
    if (!inspect(&call->a, call, g->A, call->mod.tran0) || !inspect(&call->b, call, g->B, call->mod.tran1) || !call->door->shape(&c, g->C, false))
        return "an operand without entries, or not of a built-in type";
    if (a->by_col != c.by_col || b->by_col != c.by_col)
        return "operands are not held as C";
    if (!multiply(&nrows, a->nrows, b->nrows) || !multiply(&ncols, a->ncols, b->ncols) || !multiply(&entries, a->nvals, b->nvals) ||
        !multiply(&vectors, a->nvec, b->nvec) || c.nrows != nrows || c.ncols != ncols || !has_shape(call, g->M, nrows, ncols))
        return "dimensions do not match";
    if ((a->h || b->h) && (c.by_col ? ncols : nrows) == 1)
        return "a vector in hypersparse form";
    call->c_by_col = call->t_by_col = c.by_col;
    call->through_t = g->M || g->accum;
    call->product.semiring.type = call->through_t ? call->update.step.result : c.type;
    return NULL;
}

static void decide(tsr_call *call)
{
    call->decision.backend = tsr_backend_cpu();
    snprintf(call->decision.reason, sizeof call->decision.reason, "%s", tsr_config_forces_cpu() ? "forced" : "measured to be faster");
}

/* ---- the result ---- */

static bool is_full(const tsr_call *call)
{
    return call->a.view.format == TSR_FULL && call->b.view.format == TSR_FULL;
}

static uint64_t first_value(const tsr_view *v)
{
    uint64_t x = 0;
    tsr_cast_values(&x, v->type, v->x, v->type, v->x ? 1 : 0, 1);
    return x;
}

bool tsr_kronecker_is_one(const tsr_call *call, tsr_ewise_op op)
{
    const bool x = call->a.view.iso, y = call->b.view.iso;
    return op == TSR_EWISE_PAIR || (op == TSR_EWISE_FIRST ? x : op == TSR_EWISE_SECOND ? y : x && y);
}

uint64_t tsr_kronecker_one(const tsr_call *call, const tsr_ewise *step, tsr_type type)
{
    const bool swaps = tsr_kronecker_swaps(step->op);
    const tsr_view *x = swaps ? &call->b.view : &call->a.view, *y = swaps ? &call->a.view : &call->b.view;
    return tsr_elementwise_one(step, type, x->type, x->iso ? first_value(x) : 0, y->type, y->iso ? first_value(y) : 0);
}

static bool reserve_lists(tsr_call *call, int64_t entries, bool values)
{
    const tsr_view *a = &call->a.view, *b = &call->b.view;
    tsr_handover *to = &call->arrays;
    const int64_t vectors = a->nvec * b->nvec;
    call->door->begin_result((size_t)entries * sizeof *to->i);
    if (!tsr_arrays_lists(to, call->door->memory, vectors, entries, tsr_call_narrows(call, a->vlen * b->vlen)))
        return false;
    return (!(a->h || b->h) || tsr_arrays_names(to, vectors)) && (!values || tsr_arrays_values(to, call->product.semiring.type));
}

static bool reserve(tsr_call *call)
{
    tsr_handover *to = &call->arrays;
    const tsr_type type = call->product.semiring.type;
    const int64_t entries = call->a.view.nvals * call->b.view.nvals;
    const bool one = tsr_kronecker_is_one(call, call->update.step.op);
    *to = (tsr_handover){.memory = call->door->memory, .nvals = entries};
    if (is_full(call) ? !one && !tsr_arrays_dense(to, call->door->memory, entries, type, false) : !reserve_lists(call, entries, !one))
        return false;
    if (one)
        tsr_arrays_unify(to, tsr_type_size(type), &(const uint64_t){tsr_kronecker_one(call, &call->update.step, type)});
    call->door->note_scratch(to->i ? (void *)to->i : to->x, to->i ? to->i_bytes : to->x_bytes);
    return to->x;
}

/* What one thread takes longer than all that are allowed, of what it takes. */
static double more_of(const tsr_call *call, double alone_ms)
{
    return alone_ms - alone_ms / call->mod.nthreads;
}

/* One thread where a team may come late. */
static double choose_team(const tsr_call *call)
{
    const double entries = (double)call->arrays.nvals, alone_ms = tsr_kronecker_ms(entries, !call->arrays.iso);
    const double other_ms = tsr_kronecker_other_ms(entries, !call->arrays.iso, call->mod.nthreads);
    if (call->mod.nthreads > 1)
        tsr_team_spare(more_of(call, alone_ms), alone_ms < TSR_ROUTE_MARGIN * other_ms && !tsr_late_team_seen());
    return alone_ms;
}

static tsr_status compute(const tsr_call *call, const tsr_kronecker *k)
{
    const tsr_handover *to = &call->arrays;
    const tsr_kronecker_c c = {.p = to->p, .h = to->h, .i = to->i, .x = to->iso ? NULL : to->x};
    const double start = tsr_engine_clock_ms(), alone_ms = choose_team(call);
    const tsr_status status = tsr_engine_by_reference() ? tsr_ref_kronecker(k, &c) : tsr_backend_cpu()->host->kronecker(k, &c);
    tsr_late_team_took(more_of(call, alone_ms - (tsr_engine_clock_ms() - start)));
    return status;
}

static tsr_status run(tsr_call *call)
{
    const tsr_ewise *step = &call->update.step;
    const int nthreads = call->mod.nthreads;
    const bool values = !call->arrays.iso;
    tsr_operands held = {0};
    tsr_kronecker k = {.a = call->a.view, .b = call->b.view, .op = step->op, .type = step->type, .result = step->result,
                       .c_type = call->product.semiring.type, .narrow = call->arrays.narrow, .nthreads = nthreads};
    tsr_status status = tsr_operands_cast(&k.a, k.type, values && tsr_kronecker_reads_a(k.op), &held.a_iso, &held.a_cast, nthreads);
    if (status == TSR_OK)
        status = tsr_operands_cast(&k.b, k.type, values && tsr_kronecker_reads_b(k.op), &held.b_iso, &held.b_cast, nthreads);
    if (status == TSR_OK)
        status = compute(call, &k);
    tsr_operands_release(&held);
    tsr_arrays_drop_empty(&call->arrays);
    return status;
}

void tsr_kronecker_describe(char *text, size_t size, const tsr_call *call, const tsr_ewise *step)
{
    snprintf(text, size, "kronecker %s %s nnz=%lld x %lld", tsr_ewise_name(step->op), tsr_type_name(step->type), (long long)call->a.view.nvals,
             (long long)call->b.view.nvals);
}

static void describe(char *text, size_t size, const tsr_call *call)
{
    tsr_kronecker_describe(text, size, call, &call->update.step);
}

const tsr_operation tsr_kronecker_operation = {.resolve = resolve, .decide = decide, .reserve = reserve, .run = run, .describe = describe,
                                               .kernel = "kronecker"};
