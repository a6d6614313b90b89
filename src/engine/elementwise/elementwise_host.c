/* Elementwise operations on the host's own full and bitmap arrays, by the CPU kernels: in the place of C where that is full, all of
 * C<M> accum= op (x, y) in one pass.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "src/base/split.h"
#include "src/base/types.h"
#include "src/engine/call/host.h"
#include "src/engine/elementwise/elementwise.h"
#include "src/policy/price/elementwise.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"

/* ---- does it pay?  Known before any contents are inspected ---- */

static bool is_extreme(tsr_ewise_op op, tsr_type type)
{
    return (op == TSR_EWISE_MIN || op == TSR_EWISE_MAX) && (type == TSR_FP32 || type == TSR_FP64);
}

static bool accumulates_extremes(const tsr_elementwise *e)
{
    tsr_ewise_op op;
    tsr_type type;
    return e->given.accum && e->door->accumulator(&op, &type, e->given.accum) && is_extreme(op, type);
}

static bool is_bitmap(const tsr_elementwise *e, const void *handle)
{
    return e->door->form(handle) == 1u << TSR_BITMAP;
}

static bool is_of_another_type(const tsr_elementwise *e, void *handle, tsr_type wanted)
{
    tsr_shape shape;
    return handle && e->door->shape(&shape, handle, e->given.vector) && shape.type != wanted;
}

static bool pays(const tsr_elementwise *e)
{
    const tsr_ewise *s = &e->step;
    const tsr_arguments *g = &e->given;
    tsr_shape c = {0};
    const bool known = e->door->shape(&c, g->C, g->vector);
    const tsr_ewise_features features = {
        .elements = known ? (double)c.nrows * (double)c.ncols : -1,
        .forced = tsr_config_forces_cpu(),
        .select = s->select,
        .masked = g->M,
        .partial = is_bitmap(e, g->A) || is_bitmap(e, g->B) || (g->accum && is_bitmap(e, g->C)),
        .casts = is_of_another_type(e, g->A, s->type) || is_of_another_type(e, g->B, s->type) || (known && c.type != s->result),
        .extremes = is_extreme(s->op, s->type) || accumulates_extremes(e),
        .computes = s->op != TSR_EWISE_IDENTITY && s->op != TSR_EWISE_FIRST && s->op != TSR_EWISE_SECOND,
        .accumulates = g->accum,
        .moves = !(g->A && g->B) && g->A != g->C && g->B != g->C};
    return tsr_ewise_pays(&features);
}

/* ---- operands ---- */

/* One value for all is a scalar. */
static bool take_operand(tsr_elements *elements, tsr_operand *scalar, const tsr_object *object, tsr_type type)
{
    const tsr_view *v = &object->view;
    if (!object->given)
        return true;
    if (v->iso) {
        scalar->scalar = 0;
        tsr_cast_values(&scalar->scalar, type, v->x, v->type, 1, 1);
        return v->format == TSR_FULL;
    }
    *elements = (tsr_elements){v->x, v->b};
    return true;
}

static bool take_mask(tsr_host_ewise *host, const tsr_elementwise *e)
{
    const tsr_object *m = &e->m;
    if (!m->given)
        return true;
    const bool structural = host->step.mask_structural;
    host->step.mask = e->given.M;
    host->step.mask_type = m->view.type;
    host->arrays.mask = (tsr_elements){structural ? NULL : m->view.x, m->view.b};
    return structural || !m->view.iso;
}

/* One value for all: SuiteSparse writes only that. */
static bool is_iso(const tsr_elementwise *e)
{
    uint64_t one;
    return tsr_elementwise_iso(&one, e);
}

static bool take_operands(tsr_host_ewise *host, const tsr_elementwise *e)
{
    *host = (tsr_host_ewise){.step = e->step, .type = e->type};
    host->step.count = e->nrows * e->ncols;
    host->x_type = e->x.given ? e->x.view.type : e->step.type;
    host->y_type = e->y.given ? e->y.view.type : e->step.type;
    if (!take_operand(&host->arrays.x, &host->step.x, &e->x, e->step.type) ||
        !take_operand(&host->arrays.y, &host->step.y, &e->y, e->step.type) || !take_mask(host, e))
        return false;
    if (e->c.given)
        host->arrays.c = (tsr_elements){e->c.view.x, e->c.view.b};
    return !(e->c.given && e->c.view.iso) && !is_iso(e);
}

static const char *resolve(tsr_call *call)
{
    tsr_elementwise *e = &call->update;
    const char *why = pays(e) ? tsr_elementwise_plan(e, NULL) : "not worth it";
    if (why)
        return why;
    call->t_by_col = e->by_col;
    return take_operands(&call->of.host, e) ? NULL : "an operand or C has one value";
}

static void decide(tsr_call *call)
{
    call->decision.backend = tsr_backend_cpu();
    snprintf(call->decision.reason, sizeof call->decision.reason, "operands are full or bitmaps");
}

/* ---- the result ---- */

/* C's own arrays: where every entry is present before and after they stay where they are; those of a bitmap are taken out, for how many
 * entries it has afterwards is told with them. */
static bool reuse_arrays(tsr_call *call)
{
    const tsr_elementwise *e = &call->update;
    tsr_view c;
    if (e->door->form(e->given.C) != 1u << (e->full ? TSR_FULL : TSR_BITMAP) || !e->door->view(&c, e->given.C) || c.iso)
        return false;
    if (e->full)
        call->of.host.arrays.z = (void *)(uintptr_t)c.x;
    return e->full || e->door->take(&call->arrays, e->given.C, e->given.vector, e->by_col);
}

static bool reserve(tsr_call *call)
{
    const tsr_elementwise *e = &call->update;
    const bool in_place = reuse_arrays(call);
    if (!in_place && !tsr_arrays_dense(&call->arrays, e->door->memory, call->of.host.step.count, e->type, !e->full))
        return false;
    if (in_place)
        snprintf(call->decision.reason, sizeof call->decision.reason, "in the place of C");
    if (call->arrays.x) {
        call->of.host.arrays.z = call->arrays.x;
        call->of.host.arrays.z_present = call->arrays.b;
    }
    return true;
}

static tsr_status run(tsr_call *call)
{
    const tsr_host_ewise *host = &call->of.host;
    const int64_t present = tsr_engine_ewise(host, tsr_pass_threads(host->step.count, call->update.mod.nthreads));
    if (call->arrays.b)
        call->arrays.nvals = present;
    return TSR_OK;
}

static void describe(char *text, size_t size, const tsr_call *call)
{
    const tsr_ewise *step = &call->of.host.step;
    snprintf(text, size, "step %s%s%s%s%s %s n=%lld", step->select ? "select " : "", tsr_ewise_name(step->op),
             step->accumulates ? " accum " : "", step->accumulates ? tsr_ewise_name(step->accum) : "", step->mask ? " masked" : "",
             tsr_type_name(step->type), (long long)step->count);
}

const tsr_operation tsr_host_elementwise_operation = {.resolve = resolve, .decide = decide, .reserve = reserve, .run = run,
                                                      .describe = describe, .kernel = "step"};
