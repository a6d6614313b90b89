/* One elementwise call on values: looked at, brought, computed, put in the place of C.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/step.h"

#include <stdio.h>
#include <string.h>

#include "src/graphblas/hooks.h"
#include "src/graphblas/resident.h"
#include "src/registry/config.h"
#include "src/route/gravity.h"

/* ---- what is where ---- */

bool tsr_see(tsr_seen *seen, GrB_Matrix handle)
{
    *seen = (tsr_seen){.handle = handle, .given = true};
    if (tsr_is_lost(handle))
        return false;
    seen->value = tsr_resident_find(handle);
    if (seen->value) {
        seen->view = tsr_value_view(seen->value);
        return true;
    }
    tsr_will_read(handle);
    return tsr_match_view(&seen->view, handle) && tsr_match_object_type(&seen->view.type, handle);
}

/* Held like C, in C's shape. */
static bool fits(const tsr_stepper *s, const tsr_view *v)
{
    const bool either = s->nrows == 1 || s->ncols == 1;
    return v->nrows == s->nrows && v->ncols == s->ncols && (either || v->by_col == s->by_col);
}

/* Shape, type and orientation of C; its contents may be anywhere. */
static bool look_at_target(tsr_stepper *s)
{
    const GrB_Matrix C = s->call.C;
    GrB_Index nrows, ncols;
    int32_t format = GxB_BY_COL;
    tsr_type type;
    if (!C || tsr_is_lost(C))
        return false;
    tsr_value *value = tsr_resident_only(C) ? tsr_resident_find(C) : NULL;
    if (value) {
        const tsr_value_facts *f = tsr_value_about(value);
        nrows = (GrB_Index)f->nrows;
        ncols = (GrB_Index)f->ncols;
        format = f->by_col ? GxB_BY_COL : GxB_BY_ROW;
        type = f->type;
        tsr_value_unref(value);
    } else if (tsr_real.GrB_Matrix_nrows(&nrows, C) != GrB_SUCCESS || tsr_real.GrB_Matrix_ncols(&ncols, C) != GrB_SUCCESS ||
               (!s->call.vector && tsr_real.GxB_Matrix_Option_get_INT32(C, GxB_FORMAT, &format) != GrB_SUCCESS) ||
               !tsr_match_object_type(&type, C) || !tsr_resident_may_wait(C)) {
        return false;
    }
    s->nrows = (int64_t)nrows;
    s->ncols = (int64_t)ncols;
    s->by_col = format == GxB_BY_COL;
    return nrows > 0 && ncols > 0 && type == s->call.step.result && (double)nrows * (double)ncols < 0x1p40;
}

static bool look_at_operand(tsr_stepper *s, tsr_seen *seen, GrB_Matrix handle)
{
    return !handle || (tsr_see(seen, handle) && fits(s, &seen->view) && seen->view.type == s->call.step.type);
}

/* A full mask by structure says nothing. */
static bool look_at_mask(tsr_stepper *s)
{
    const GrB_Matrix M = s->call.M;
    if (!M)
        return !s->mod.mask_comp;
    if (!tsr_see(&s->m, M) || !fits(s, &s->m.view))
        return false;
    if (s->m.view.format != TSR_FULL || !s->mod.mask_struct || s->mod.mask_comp)
        return true;
    tsr_value_unref(s->m.value);
    s->m = (tsr_seen){0};
    return true;
}

static bool empty(const tsr_seen *seen)
{
    return !seen->value && seen->view.nvals == 0;
}

/* C before, where it counts; nothing is needed of an empty one. */
static bool look_at_old(tsr_stepper *s)
{
    tsr_step *step = &s->call.step;
    step->replace = s->mod.replace;
    if (!step->accumulates && (!s->m.given || step->replace))
        return true;
    if (!tsr_see(&s->c, s->call.C))
        return false;
    if (!empty(&s->c))
        return fits(s, &s->c.view);
    s->c = (tsr_seen){0};
    step->accumulates = false;
    step->replace = true;
    return true;
}

static bool match_accum(tsr_stepper *s)
{
    tsr_step *step = &s->call.step;
    tsr_type type;
    step->accumulates = s->call.accum;
    if (!s->call.accum)
        return true;
    return tsr_match_binary(&step->accum, &type, s->call.accum) && type == step->result &&
           (!tsr_step_compares(step->accum) || type == TSR_BOOL);
}

static bool all_present(const tsr_seen *seen)
{
    return !seen->given || seen->view.format == TSR_FULL;
}

static bool result_full(const tsr_stepper *s)
{
    const tsr_step *step = &s->call.step;
    const bool x = all_present(&s->x), y = all_present(&s->y), c = s->c.given && all_present(&s->c);
    const bool z = !step->select && (step->unite ? x || y : x && y);
    if (!s->m.given)
        return z || (step->accumulates && c);
    return c && !step->replace && (z || step->accumulates);
}

/* Is one of them sparse on the host?  It goes to the backend as a bitmap. */
static bool any_sparse(const tsr_stepper *s)
{
    const tsr_seen *const all[] = {&s->x, &s->y, &s->c, &s->m};
    bool sparse = false;
    for (int k = 0; k < 4; k++)
        sparse |= all[k]->given && !all[k]->value && tsr_is_compressed(&all[k]->view);
    return sparse;
}

/* Would one of them have to come home otherwise? */
static bool any_away(const tsr_stepper *s)
{
    const tsr_seen *const all[] = {&s->x, &s->y, &s->c, &s->m};
    bool away = false;
    for (int k = 0; k < 4; k++)
        away |= all[k]->value && tsr_defer_is_target(all[k]->handle);
    return away;
}

/* With the GPU forced, as the products of a loop would bring them. */
static bool may_spread(const tsr_stepper *s)
{
    return tsr_resident_backend() && s->call.vector && (double)s->nrows <= 0x1p28;
}

static uint64_t key_of(const tsr_stepper *s)
{
    const tsr_step *step = &s->call.step;
    const uint64_t parts[] = {(uint64_t)step->op, (uint64_t)step->type, step->unite, step->select, (uint64_t)s->nrows, (uint64_t)s->ncols,
                              step->accumulates ? 1 + (uint64_t)step->accum : 0, s->call.M != NULL, s->call.A != NULL, s->call.B != NULL};
    return tsr_gravity_key(parts, sizeof parts / sizeof *parts);
}

/* An apply of C to itself leaves C in its form: a bitmap that has every entry, which any other call makes full.  Where the form matters
 * (SuiteSparse 7.4.0 crashes in C<M> += T with a full mask), ours would not be plain's. */
static bool keeps_bitmap(const tsr_stepper *s)
{
    const tsr_step_call *call = &s->call;
    const bool itself = (call->A == call->C && !call->B) || (call->B == call->C && !call->A);
    int32_t status = 0, control = GxB_BITMAP;
    if (!itself || call->M || call->accum || tsr_resident_only(call->C) || (call->A ? &s->x : &s->y)->view.format != TSR_FULL)
        return false;
    tsr_real.GxB_Matrix_Option_get_INT32(call->C, GxB_SPARSITY_STATUS, &status);
    tsr_real.GxB_Matrix_Option_get_INT32(call->C, GxB_SPARSITY_CONTROL, &control);
    return status == GxB_BITMAP && control != GxB_BITMAP;
}

bool tsr_stepper_look(tsr_stepper *s, const tsr_step_call *call, const bool *promised)
{
    *s = (tsr_stepper){.call = *call};
    if (!look_at_target(s) || !match_accum(s) || tsr_match_descriptor(&s->mod, call->desc))
        return false;
    s->key = key_of(s);
    if (promised)
        s->x = (tsr_seen){.given = true, .view = {.format = *promised ? TSR_FULL : TSR_BITMAP}};
    if (!promised && (s->mod.tran0 || s->mod.tran1 || !look_at_operand(s, &s->x, call->A)))
        return false;
    if (!look_at_operand(s, &s->y, call->B) || keeps_bitmap(s) || !look_at_mask(s) || !look_at_old(s))
        return false;
    if (any_sparse(s) && !promised && !any_away(s) && !may_spread(s))
        return false;
    if (call->full_only && !(all_present(&s->x) && all_present(&s->y)))
        return false;
    s->full = result_full(s);
    s->call.step.mask_structural = s->mod.mask_struct;
    s->call.step.mask_complement = s->mod.mask_comp;
    return true;
}

bool tsr_stepper_pulls(tsr_stepper *s, const tsr_backend *there, double elements)
{
    const tsr_config *config = tsr_config_get();
    const tsr_pull pull = {.elements = elements, .least = config->min_work, .there = there != NULL, .forced = config->mode == TSR_MODE_GPU,
                           .key = s->key};
    if (tsr_gravity_pulls(&pull))
        s->backend = there ? there : tsr_resident_backend();
    return s->backend;
}

void tsr_stepper_release(tsr_stepper *s)
{
    tsr_seen *const all[] = {&s->x, &s->y, &s->c, &s->m};
    for (int k = 0; k < 4; k++) {
        tsr_value_unref(all[k]->value);
        all[k]->value = NULL;
    }
}

/* ---- computing ---- */

tsr_status tsr_stepper_bring(tsr_stepper *s, tsr_seen *seen)
{
    if (!seen->given || seen->value)
        return TSR_OK;
    return tsr_resident_bring(&seen->value, seen->handle, &seen->view, s->backend, &s->moved);
}

static tsr_status bring_operand(tsr_stepper *s, tsr_seen *seen, tsr_operand *operand)
{
    const tsr_view *v = &seen->view;
    if (seen->given && !seen->value && v->iso && v->format == TSR_FULL) {
        memcpy(&operand->scalar, v->x, tsr_type_size(v->type));
        return TSR_OK;
    }
    const tsr_status status = tsr_stepper_bring(s, seen);
    operand->value = seen->value ? tsr_value_kept(seen->value) : NULL;
    return status;
}

static tsr_status bring_all(tsr_stepper *s)
{
    tsr_step *step = &s->call.step;
    tsr_status status = bring_operand(s, &s->x, &step->x);
    if (status == TSR_OK)
        status = bring_operand(s, &s->y, &step->y);
    if (status == TSR_OK)
        status = tsr_stepper_bring(s, &s->c);
    if (status == TSR_OK)
        status = tsr_stepper_bring(s, &s->m);
    step->count = s->nrows * s->ncols;
    step->c = s->c.value ? tsr_value_kept(s->c.value) : NULL;
    step->mask = s->m.value ? tsr_value_kept(s->m.value) : NULL;
    step->mask_type = s->m.view.type;
    return status;
}

static tsr_status compute(tsr_stepper *s, tsr_value **value)
{
    const tsr_backend_values *values = s->backend->values;
    void *kept = NULL;
    tsr_status status = values->step(&s->call.step, &kept);
    if (tsr_resident_again(status))
        status = values->step(&s->call.step, &kept);
    if (status != TSR_OK)
        return status;
    const tsr_value_facts facts = {.backend = s->backend, .type = s->call.step.result, .nrows = s->nrows, .ncols = s->ncols,
                                   .by_col = s->by_col, .full = s->full, .origin = s->key};
    *value = tsr_value_new(&facts, kept);
    return *value ? TSR_OK : TSR_OUT_OF_MEMORY;
}

static void use_operands(const tsr_stepper *s)
{
    const tsr_seen *const all[] = {&s->x, &s->y, &s->c, &s->m};
    for (int k = 0; k < 4; k++) {
        if (all[k]->value)
            tsr_resident_use(all[k]->value);
    }
}

static void report(const tsr_stepper *s, double ms)
{
    if (!tsr_trace_wanted())
        return;
    const tsr_step *step = &s->call.step;
    char pattern[128];
    snprintf(pattern, sizeof pattern, "step %s%s%s %s n=%lld", step->select ? "select " : "", tsr_step_name(step->op),
             s->m.given ? " masked" : "", tsr_type_name(step->type), (long long)step->count);
    tsr_resident_report(s->backend, "step", (tsr_trace_record){.call = s->call.name, .pattern = pattern, .measured_ms = ms,
                                                               .bytes_moved = s->moved});
}

tsr_status tsr_stepper_put(tsr_stepper *s, tsr_value *value)
{
    tsr_handover arrays;
    if (!tsr_arrays_dense(&arrays, s->nrows * s->ncols, s->call.step.result, !s->full))
        return TSR_OUT_OF_MEMORY;
    if (tsr_resident_put(s->call.C, s->call.vector, value, &arrays))
        return TSR_OK;
    tsr_arrays_free(&arrays);
    return TSR_OUT_OF_MEMORY;
}

tsr_status tsr_stepper_finish(tsr_stepper *s)
{
    const double start = tsr_engine_clock_ms();
    tsr_value *value = NULL;
    tsr_status status = bring_all(s);
    if (status == TSR_OK)
        status = compute(s, &value);
    if (status == TSR_OK)
        status = tsr_stepper_put(s, value);
    if (status != TSR_OK) {
        tsr_value_unref(value);
        return status;
    }
    use_operands(s);
    report(s, tsr_engine_clock_ms() - start);
    return TSR_OK;
}
