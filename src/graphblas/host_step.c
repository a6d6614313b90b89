/* One elementwise call on the host's own full and bitmap arrays, computed by the CPU kernels: in the place of C where that is full, all
 * of C<M> accum= op (x, y) in one pass.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "src/base/split.h"
#include "src/graphblas/handover/finish.h"
#include "src/graphblas/intercept/hooks.h"
#include "src/graphblas/step.h"
#include "src/runtime/config.h"
#include "src/runtime/trace.h"
#include "src/policy/elementwise.h"

static double elements_of(GrB_Matrix C)
{
    GrB_Index nrows, ncols;
    return tsr_real.GrB_Matrix_nrows(&nrows, C) == GrB_SUCCESS && tsr_real.GrB_Matrix_ncols(&ncols, C) == GrB_SUCCESS
               ? (double)nrows * (double)ncols : -1;
}

/* Small calls, which are many, end at the size of C. */
bool tsr_host_wanted(GrB_Matrix C, bool vector)
{
    const tsr_config *config = tsr_config_get();
    const double least = config->min_work >= 0 ? config->min_work : TSR_EWISE_LEAST;
    GrB_Index rows = 0, columns = 1;
    if (!C || tsr_real.GrB_Matrix_nrows(&rows, C) != GrB_SUCCESS || (vector && (double)rows < least) ||
        (!vector && tsr_real.GrB_Matrix_ncols(&columns, C) != GrB_SUCCESS))
        return false;
    return (double)rows * (double)columns >= least && tsr_may_route() && !(config->disabled & TSR_DISABLE_ELEMENTWISE);
}

/* A call on its way. */
typedef struct host_call {
    tsr_ewise_plan s;
    tsr_host_ewise step;
    tsr_handover arrays; /* of the result, unless it is left in C's own */
    bool in_place;       /* in C's own, or in those that were C's */
} host_call;

/* ---- operands ---- */

/* One value for all is a scalar. */
static bool take_operand(tsr_elements *elements, tsr_operand *scalar, const tsr_inspected *seen, tsr_type type)
{
    const tsr_view *v = &seen->view;
    if (!seen->given)
        return true;
    if (v->iso) {
        scalar->scalar = 0;
        tsr_cast_values(&scalar->scalar, type, v->x, v->type, 1, 1);
        return v->format == TSR_FULL;
    }
    *elements = (tsr_elements){v->x, v->b};
    return true;
}

static bool take_mask(host_call *h)
{
    const tsr_inspected *m = &h->s.m;
    if (!m->given)
        return true;
    const bool structural = h->step.step.mask_structural;
    h->step.step.mask = h->s.call.M;
    h->step.step.mask_type = m->view.type;
    h->step.arrays.mask = (tsr_elements){structural ? NULL : m->view.x, m->view.b};
    return structural || !m->view.iso;
}

/* One value for all: SuiteSparse writes only that. */
static bool is_iso(const tsr_ewise_plan *s)
{
    uint64_t one;
    return tsr_ewise_plan_iso(&one, s);
}

static bool take_operands(host_call *h)
{
    const tsr_ewise_plan *s = &h->s;
    tsr_host_ewise *step = &h->step;
    step->step = s->call.step;
    step->step.count = s->nrows * s->ncols;
    step->type = s->type;
    step->x_type = s->x.given ? s->x.view.type : s->call.step.type;
    step->y_type = s->y.given ? s->y.view.type : s->call.step.type;
    if (!take_operand(&step->arrays.x, &step->step.x, &s->x, s->call.step.type) ||
        !take_operand(&step->arrays.y, &step->step.y, &s->y, s->call.step.type) || !take_mask(h))
        return false;
    if (s->c.given)
        step->arrays.c = (tsr_elements){s->c.view.x, s->c.view.b};
    return !(s->c.given && s->c.view.iso) && !is_iso(s);
}

/* ---- who computes ---- */

static bool is_extreme(tsr_ewise_op op, tsr_type type)
{
    return (op == TSR_EWISE_MIN || op == TSR_EWISE_MAX) && (type == TSR_FP32 || type == TSR_FP64);
}

static bool accumulates_extremes(GrB_BinaryOp accum)
{
    tsr_ewise_op op;
    tsr_type type;
    return accum && tsr_match_binary(&op, &type, accum) && is_extreme(op, type);
}

static bool is_bitmap(GrB_Matrix handle)
{
    return tsr_match_sparsity(handle) == GxB_BITMAP;
}

/* A binary operator may be MIN or MAX.  One scalar for all of C SuiteSparse writes but once. */
bool tsr_host_considers(const tsr_output *out, GrB_Matrix A, GrB_Matrix B, bool binary)
{
    const int32_t a = tsr_match_sparsity(A), b = tsr_match_sparsity(B), sparse = GxB_SPARSE | GxB_HYPERSPARSE;
    if (((a | b) & sparse) || tsr_match_held_sparse(out->M) || !(A || B || out->M || out->accum))
        return false;
    return ((a | b) & GxB_BITMAP) || binary || out->M || out->accum || tsr_config_forces_cpu() ||
           elements_of(out->C) >= TSR_EWISE_FEW;
}

static bool is_of_another_type(GrB_Matrix handle, tsr_type wanted)
{
    tsr_type type;
    return handle && tsr_match_object_type(&type, handle) && type != wanted;
}

/* Known before any contents are looked at. */
static bool pays(const tsr_ewise_call *call)
{
    const tsr_ewise *s = &call->step;
    const tsr_ewise_features features = {
        .elements = elements_of(call->C),
        .forced = tsr_config_forces_cpu(),
        .select = s->select,
        .masked = call->M,
        .partial = is_bitmap(call->A) || is_bitmap(call->B) || (call->accum && is_bitmap(call->C)),
        .casts = is_of_another_type(call->A, s->type) || is_of_another_type(call->B, s->type) || is_of_another_type(call->C, s->result),
        .extremes = is_extreme(s->op, s->type) || accumulates_extremes(call->accum),
        .computes = s->op != TSR_EWISE_IDENTITY && s->op != TSR_EWISE_FIRST && s->op != TSR_EWISE_SECOND,
        .accumulates = call->accum,
        .moves = !(call->A && call->B) && call->A != call->C && call->B != call->C};
    return tsr_ewise_pays(&features);
}

/* ---- the result ---- */

/* C's own arrays: where every entry is present before and after they stay where they are; those of a bitmap are taken out, for how many
 * entries it has afterwards is told with them. */
static bool reuse_arrays(host_call *h)
{
    const tsr_ewise_plan *s = &h->s;
    tsr_view c;
    if (tsr_match_sparsity(s->call.C) != (s->full ? GxB_FULL : GxB_BITMAP) || !tsr_match_view(&c, s->call.C) || c.iso)
        return false;
    if (s->full)
        h->step.arrays.z = (void *)(uintptr_t)c.x;
    return s->full || tsr_arrays_take(&h->arrays, s->call.C, s->call.vector, s->by_col);
}

static bool reserve(host_call *h)
{
    h->in_place = reuse_arrays(h);
    if (!h->in_place && !tsr_arrays_dense(&h->arrays, &tsr_door_memory, h->step.step.count, h->s.type, !h->s.full))
        return false;
    if (h->arrays.x) {
        h->step.arrays.z = h->arrays.x;
        h->step.arrays.z_present = h->arrays.b;
    }
    return true;
}

/* SuiteSparse holds so few entries sparse, where it may. */
static bool wants_sparse(const host_call *h, int64_t present)
{
    double bitmap_switch = 0;
    int32_t control = GxB_AUTO_SPARSITY;
    tsr_real.GxB_Matrix_Option_get_FP64(h->s.call.C, GxB_BITMAP_SWITCH, &bitmap_switch);
    tsr_real.GxB_Matrix_Option_get_INT32(h->s.call.C, GxB_SPARSITY_CONTROL, &control);
    if (!(control & GxB_SPARSE))
        return false;
    return !(control & (GxB_BITMAP | GxB_FULL)) || (double)present < bitmap_switch / 2 * (double)h->step.step.count;
}

/* False: without memory for that they stay a bitmap, which SuiteSparse may turn. */
static bool compact(host_call *h, int64_t present)
{
    const tsr_ewise_plan *s = &h->s;
    const int64_t nvec = s->by_col ? s->ncols : s->nrows, vlen = s->by_col ? s->nrows : s->ncols;
    tsr_handover sparse;
    if (!tsr_arrays_compressed(&sparse, &tsr_door_memory, nvec, present, s->type))
        return false;
    tsr_arrays_compact(&sparse, &h->arrays, nvec, vlen, s->type, s->mod.nthreads);
    h->arrays = sparse;
    return true;
}

static GrB_Info hand_over(host_call *h, int64_t present)
{
    const bool sparse = h->arrays.b && wants_sparse(h, present) && compact(h, present);
    if (h->arrays.b && !sparse)
        tsr_arrays_count(&h->arrays, present, h->step.step.count);
    const GrB_Info info = tsr_finish_conforming(h->s.call.C, h->s.call.vector, h->s.by_col, &h->arrays);
    tsr_arrays_free(&h->arrays);
    return info;
}

static void report(const host_call *h, double ms)
{
    if (!tsr_trace_wanted())
        return;
    const tsr_ewise *step = &h->step.step;
    char pattern[128];
    snprintf(pattern, sizeof pattern, "step %s%s%s%s%s %s n=%lld", step->select ? "select " : "", tsr_ewise_name(step->op),
             step->accumulates ? " accum " : "", step->accumulates ? tsr_ewise_name(step->accum) : "", step->mask ? " masked" : "",
             tsr_type_name(step->type), (long long)step->count);
    const tsr_trace_record record = {.call = h->s.call.name, .pattern = pattern, .route = "cpu:step", .predicted_ms = -1.0, .measured_ms = ms,
                                     .reason = h->in_place ? "in the place of C" : "operands are full or bitmaps"};
    tsr_trace_product(&record);
}

static bool compute(GrB_Info *info, host_call *h)
{
    const double start = tsr_trace_wanted() ? tsr_engine_clock_ms() : 0;
    if (!reserve(h))
        return false;
    const int64_t present = tsr_engine_ewise(&h->step, tsr_parts(h->step.step.count, TSR_THREAD_WORK, h->s.mod.nthreads));
    *info = tsr_real.GrB_Matrix_wait(h->s.call.C, GrB_COMPLETE); /* a call that succeeds ends C's error text */
    if (h->arrays.x)
        *info = hand_over(h, present);
    report(h, tsr_engine_clock_ms() - start);
    return true;
}

bool tsr_ewise_on_host(GrB_Info *info, const tsr_ewise_call *call)
{
    if (!pays(call))
        return false;
    host_call h = {0};
    const bool done = tsr_ewise_plan_look(&h.s, call, NULL) && take_operands(&h) && compute(info, &h);
    tsr_ewise_plan_release(&h.s);
    return done;
}
