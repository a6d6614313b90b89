/* One elementwise call on values: looked at, brought, computed, put in the place of C.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/step.h"

#include <stdio.h>
#include <string.h>

#include "src/engine/attempt.h"
#include "src/graphblas/intercept/hooks.h"
#include "src/graphblas/handover/resident.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"
#include "src/policy/placement_history.h"

/* ---- what is where ---- */

bool tsr_inspect_operand(tsr_inspected *seen, GrB_Matrix handle)
{
    *seen = (tsr_inspected){.handle = handle, .given = true};
    if (tsr_is_lost(handle))
        return false;
    seen->value = tsr_contents_find(handle);
    if (seen->value) {
        seen->view = tsr_device_array_view(seen->value);
        return true;
    }
    tsr_will_inspect(handle);
    return tsr_match_view(&seen->view, handle) && tsr_match_object_type(&seen->view.type, handle);
}

/* After the hooks the host has everything. */
static bool see(const tsr_ewise_plan *s, tsr_inspected *seen, GrB_Matrix handle)
{
    if (!s->call.host)
        return tsr_inspect_operand(seen, handle);
    *seen = (tsr_inspected){.handle = handle, .given = true};
    return tsr_match_view(&seen->view, handle) && tsr_match_object_type(&seen->view.type, handle);
}

/* In C's shape. */
static bool fits(const tsr_ewise_plan *s, const tsr_inspected *seen)
{
    const tsr_view *v = &seen->view;
    return (seen->transposed ? v->ncols : v->nrows) == s->nrows && (seen->transposed ? v->nrows : v->ncols) == s->ncols;
}

/* Held otherwise than C; a row or a column is the same either way. */
static bool is_turned(const tsr_ewise_plan *s, const tsr_inspected *seen)
{
    return s->nrows > 1 && s->ncols > 1 && seen->view.by_col != (s->by_col != seen->transposed);
}

/* Shape, type and orientation of C; its contents may be anywhere. */
static bool look_at_target(tsr_ewise_plan *s)
{
    const GrB_Matrix C = s->call.C;
    GrB_Index nrows, ncols;
    int32_t format = GxB_BY_COL;
    tsr_type type;
    if (!C || tsr_is_lost(C))
        return false;
    tsr_device_array *value = !s->call.host && tsr_contents_only(C) ? tsr_contents_find(C) : NULL;
    if (value) {
        const tsr_device_array_facts *f = tsr_device_array_about(value);
        nrows = (GrB_Index)f->nrows;
        ncols = (GrB_Index)f->ncols;
        format = f->by_col ? GxB_BY_COL : GxB_BY_ROW;
        type = f->type;
        tsr_device_array_unref(value);
    } else if (tsr_real.GrB_Matrix_nrows(&nrows, C) != GrB_SUCCESS || tsr_real.GrB_Matrix_ncols(&ncols, C) != GrB_SUCCESS ||
               (!s->call.vector && tsr_real.GxB_Matrix_Option_get_INT32(C, GxB_FORMAT, &format) != GrB_SUCCESS) ||
               !tsr_match_object_type(&type, C) || (!s->call.host && !tsr_contents_may_wait(C))) {
        return false;
    }
    s->nrows = (int64_t)nrows;
    s->ncols = (int64_t)ncols;
    s->type = type;
    s->by_col = format == GxB_BY_COL;
    return nrows > 0 && ncols > 0 && (double)nrows * (double)ncols < 0x1p40;
}

/* What is selected by value keeps its type. */
static bool look_at_operand(tsr_ewise_plan *s, tsr_inspected *seen, GrB_Matrix handle, bool transposed)
{
    if (!handle)
        return true;
    if (!see(s, seen, handle) || (transposed && s->call.vector))
        return false;
    seen->transposed = transposed;
    return fits(s, seen) && (seen->view.type == s->call.step.type || !s->call.step.select);
}

/* A full mask by structure says nothing. */
static bool look_at_mask(tsr_ewise_plan *s)
{
    const GrB_Matrix M = s->call.M;
    if (!M)
        return !s->mod.mask_comp;
    if (!see(s, &s->m, M) || !fits(s, &s->m))
        return false;
    if (s->m.view.format != TSR_FULL || !s->mod.mask_struct || s->mod.mask_comp)
        return true;
    tsr_device_array_unref(s->m.value);
    s->m = (tsr_inspected){0};
    return true;
}

static bool empty(const tsr_inspected *seen)
{
    return !seen->value && seen->view.nvals == 0;
}

/* Has C, on the host, entries that are held sparse or pending?  Its memory tells: to count them would finish them, which an assignment
 * need not do. */
static bool old_is_sparse(const tsr_ewise_plan *s)
{
    const GrB_Matrix C = s->call.C;
    const size_t vectors = (size_t)(s->by_col ? s->ncols : s->nrows);
    size_t bytes = 0;
    return tsr_match_held_sparse(C) && tsr_real.GxB_Matrix_memoryUsage(&bytes, C) == GrB_SUCCESS && bytes > 1024 + 16 * vectors;
}

/* C before, where it counts; nothing is needed of an empty one. */
static bool look_at_old(tsr_ewise_plan *s)
{
    tsr_ewise *step = &s->call.step;
    step->replace = s->mod.replace;
    if (!step->accumulates && (!s->m.given || step->replace))
        return true;
    if ((s->call.host && old_is_sparse(s)) || !see(s, &s->c, s->call.C))
        return false;
    if (!empty(&s->c))
        return fits(s, &s->c);
    s->c = (tsr_inspected){0};
    step->accumulates = false;
    step->replace = true;
    return true;
}

static bool match_accum(tsr_ewise_plan *s)
{
    tsr_ewise *step = &s->call.step;
    tsr_type type;
    step->accumulates = s->call.accum;
    if (!s->call.accum)
        return true;
    return tsr_match_binary(&step->accum, &type, s->call.accum) && type == s->type &&
           (!tsr_ewise_compares(step->accum) || type == TSR_BOOL);
}

static bool all_present(const tsr_inspected *seen)
{
    return !seen->given || (seen->view.format == TSR_FULL && !(seen->rule && seen->rule->select));
}

static bool result_full(const tsr_ewise_plan *s)
{
    const tsr_ewise *step = &s->call.step;
    const bool x = all_present(&s->x), y = all_present(&s->y), c = s->c.given && all_present(&s->c);
    const bool z = !step->select && (step->unite ? x || y : x && y);
    if (!s->m.given)
        return z || (step->accumulates && c);
    return c && !step->replace && (z || step->accumulates);
}

/* Is one of them sparse on the host?  It goes to the backend as a bitmap. */
static bool any_sparse(const tsr_ewise_plan *s)
{
    const tsr_inspected *const all[] = {&s->x, &s->y, &s->c, &s->m};
    bool sparse = false;
    for (int k = 0; k < 4; k++)
        sparse |= all[k]->given && !all[k]->value && tsr_is_compressed(&all[k]->view) && !tsr_form_waits(all[k]->handle);
    return sparse;
}

static bool any_turned(const tsr_ewise_plan *s)
{
    return (s->x.given && is_turned(s, &s->x)) || (s->y.given && is_turned(s, &s->y)) || (s->m.given && is_turned(s, &s->m));
}

/* Would one of them have to be downloaded otherwise? */
static bool any_away(const tsr_ewise_plan *s)
{
    const tsr_inspected *const all[] = {&s->x, &s->y, &s->c, &s->m};
    bool away = false;
    for (int k = 0; k < 4; k++)
        away |= all[k]->value && tsr_defer_is_target(all[k]->handle);
    return away;
}

/* With the GPU forced, as the products of a loop would bring them. */
static bool may_spread(const tsr_ewise_plan *s)
{
    return tsr_contents_backend() && s->call.vector && (double)s->nrows <= 0x1p28;
}

/* Known before operands are looked at, which would sort them. */
static bool leaves_sparse(const tsr_ewise_plan *s)
{
    const tsr_ewise_call *call = &s->call;
    return (tsr_contents_left_sparse(call->A) || tsr_contents_left_sparse(call->B) || tsr_contents_left_sparse(call->M)) &&
           !may_spread(s) && !tsr_contents_only(call->A) && !tsr_contents_only(call->B) && !tsr_contents_only(call->M) &&
           !tsr_contents_only(call->C);
}

static uint64_t key_of(const tsr_ewise_plan *s)
{
    const tsr_ewise *step = &s->call.step;
    const uint64_t parts[] = {(uint64_t)step->op, (uint64_t)step->type, (uint64_t)s->type, step->unite, step->select, (uint64_t)s->nrows, (uint64_t)s->ncols,
                              step->accumulates ? 1 + (uint64_t)step->accum : 0, s->call.M != NULL, s->call.A != NULL, s->call.B != NULL};
    return tsr_placement_key(parts, sizeof parts / sizeof *parts);
}

/* An apply of C to itself leaves C in its form: a bitmap that has every entry, which any other call makes full.  Where the form matters
 * (SuiteSparse 7.4.0 crashes in C<M> += T with a full mask), ours would not be plain's. */
static bool keeps_bitmap(const tsr_ewise_plan *s)
{
    const tsr_ewise_call *call = &s->call;
    const bool itself = (call->A == call->C && !call->B) || (call->B == call->C && !call->A);
    int32_t control = GxB_BITMAP;
    if (!itself || call->M || call->accum || tsr_contents_only(call->C) || (call->A ? &s->x : &s->y)->view.format != TSR_FULL)
        return false;
    if (tsr_form_waits(call->C))
        return true;
    tsr_real.GxB_Matrix_Option_get_INT32(call->C, GxB_SPARSITY_CONTROL, &control);
    return tsr_match_sparsity(call->C) == GxB_BITMAP && control != GxB_BITMAP;
}

static bool look_at_operands(tsr_ewise_plan *s, const bool *promised)
{
    const tsr_ewise_call *call = &s->call;
    if (promised)
        s->x = (tsr_inspected){.given = true, .view = {.format = *promised ? TSR_FULL : TSR_BITMAP, .type = call->step.type,
                                                  .by_col = s->by_col}};
    else if (!look_at_operand(s, &s->x, call->A, s->mod.tran0 != call->flip))
        return false;
    if (call->placed)
        s->x.rule = &s->call.place;
    return look_at_operand(s, &s->y, call->B, s->mod.tran1);
}

/* NULL: matched. */
static const char *look(tsr_ewise_plan *s, const bool *promised)
{
    const tsr_ewise_call *call = &s->call;
    const char *descriptor = tsr_match_descriptor(&s->mod, call->desc);
    if (descriptor)
        return descriptor;
    if (!look_at_target(s))
        return "C may not stay there";
    if (!match_accum(s))
        return "accumulator of another type";
    s->key = key_of(s);
    if (!call->host && !promised && leaves_sparse(s))
        return "operands are sparse";
    if (!look_at_operands(s, promised))
        return "an operand does not fit";
    if (keeps_bitmap(s))
        return "C keeps its form";
    if (!look_at_mask(s) || !look_at_old(s))
        return "the mask or C does not fit";
    if (call->host && (any_sparse(s) || any_turned(s) || call->placed))
        return "operands are sparse or held otherwise";
    if (any_sparse(s) && !promised && !any_away(s) && !may_spread(s))
        return "operands are sparse";
    if (call->full_only && !(all_present(&s->x) && all_present(&s->y)))
        return "an operand is not full";
    return NULL;
}

bool tsr_ewise_plan_look(tsr_ewise_plan *s, const tsr_ewise_call *call, const bool *promised)
{
    *s = (tsr_ewise_plan){.call = *call};
    s->why = look(s, promised);
    if (s->why)
        return false;
    s->full = result_full(s);
    s->call.step.mask_structural = s->mod.mask_struct;
    s->call.step.mask_complement = s->mod.mask_comp;
    return true;
}

bool tsr_ewise_plan_pulls(tsr_ewise_plan *s, const tsr_backend *there, double elements)
{
    const tsr_config *config = tsr_config_get();
    const tsr_pull pull = {.elements = elements, .least = config->min_work, .there = there != NULL, .forced = config->mode == TSR_MODE_GPU,
                           .key = s->key};
    if (tsr_placement_pulls(&pull))
        s->backend = there ? there : tsr_contents_backend();
    if (!s->backend)
        s->why = "not worth it there";
    return s->backend;
}

bool tsr_ewise_plan_follows(tsr_ewise_plan *s)
{
    if ((double)s->nrows * (double)s->ncols < tsr_placement_least(tsr_config_get()->min_work, false))
        return false;
    if (tsr_placement_stays(s->key))
        s->backend = tsr_backend_gpu();
    else
        tsr_placement_lost_time(s->call.C, s->key);
    return s->backend && s->backend->arrays;
}

void tsr_inspected_release(tsr_inspected *seen)
{
    if (seen->made)
        tsr_device_array_about(seen->value)->backend->arrays->drop(seen->made);
    tsr_device_array_unref(seen->value);
    seen->made = NULL;
    seen->value = NULL;
}

void tsr_ewise_plan_release(tsr_ewise_plan *s)
{
    tsr_inspected *const all[] = {&s->x, &s->y, &s->c, &s->m};
    for (int k = 0; k < 4; k++)
        tsr_inspected_release(all[k]);
}

/* ---- operands ---- */

tsr_status tsr_ewise_plan_bring(tsr_ewise_plan *s, tsr_inspected *seen)
{
    if (!seen->given || seen->value)
        return TSR_OK;
    return tsr_contents_upload(&seen->value, seen->handle, &seen->view, s->backend, &s->moved);
}

/* Makes *result of `from`; to: of casts. */
typedef tsr_status (*derivation)(const tsr_backend_arrays *arrays, const tsr_inspected *seen, void *from, tsr_type to, void **result);

/* Of the value, or of what a rule made of it. */
static tsr_type type_of(const tsr_inspected *seen)
{
    return seen->rule && !seen->rule->select ? TSR_INT64 : seen->view.type;
}

static tsr_status cast(const tsr_backend_arrays *arrays, const tsr_inspected *seen, void *from, tsr_type to, void **result)
{
    return arrays->cast(from, type_of(seen), to, result);
}

/* Vectors are rows or columns of the operand. */
static tsr_status apply_rule(const tsr_backend_arrays *arrays, const tsr_inspected *seen, void *from, tsr_type to, void **result)
{
    const tsr_view *v = &seen->view;
    const tsr_place_rule *r = seen->rule;
    const bool columns = v->by_col != seen->transposed;
    const tsr_places places = {.value = from, .vectors = v->by_col ? v->ncols : v->nrows, .length = v->by_col ? v->nrows : v->ncols,
                               .by_vector = columns ? r->by_column : r->by_row, .by_place = columns ? r->by_row : r->by_column,
                               .offset = r->by_y * r->y, .select = r->select, .keep = r->keep};
    (void)to;
    return arrays->places(&places, result);
}

static tsr_status turn(const tsr_backend_arrays *arrays, const tsr_inspected *seen, void *from, tsr_type to, void **result)
{
    const tsr_view *v = &seen->view;
    (void)to;
    return arrays->turn(from, v->by_col ? v->ncols : v->nrows, v->by_col ? v->nrows : v->ncols, result);
}

/* *kept becomes what is made of it; what was made before is not needed any more. */
static tsr_status derive(tsr_ewise_plan *s, tsr_inspected *seen, derivation make, tsr_type to, void **kept)
{
    const tsr_backend_arrays *arrays = s->backend->arrays;
    void *result = NULL;
    const tsr_status status = TSR_ATTEMPT(make(arrays, seen, *kept, to, &result));
    if (status != TSR_OK)
        return status;
    if (seen->made)
        arrays->drop(seen->made);
    *kept = seen->made = result;
    return TSR_OK;
}

tsr_status tsr_ewise_plan_cast(tsr_ewise_plan *s, tsr_inspected *seen, tsr_type type, void **kept)
{
    tsr_status status = TSR_OK;
    *kept = tsr_device_array_kept(seen->value);
    if (seen->rule)
        status = derive(s, seen, apply_rule, type, kept);
    return status == TSR_OK && type_of(seen) != type ? derive(s, seen, cast, type, kept) : status;
}

/* Of this type, held like C. */
static tsr_status prepare(tsr_ewise_plan *s, tsr_inspected *seen, tsr_type type, void **kept)
{
    tsr_status status = tsr_ewise_plan_bring(s, seen);
    if (status == TSR_OK && seen->value)
        status = tsr_ewise_plan_cast(s, seen, type, kept);
    if (status == TSR_OK && seen->value && is_turned(s, seen))
        status = derive(s, seen, turn, type, kept);
    return status;
}

static tsr_status bring_operand(tsr_ewise_plan *s, tsr_inspected *seen, tsr_operand *operand)
{
    const tsr_view *v = &seen->view;
    if (seen->given && !seen->value && !seen->rule && v->iso && v->format == TSR_FULL) {
        operand->scalar = 0;
        tsr_cast_values(&operand->scalar, s->call.step.type, v->x, v->type, 1, 1);
        return TSR_OK;
    }
    return prepare(s, seen, s->call.step.type, &operand->value);
}

static tsr_status bring_all(tsr_ewise_plan *s)
{
    tsr_ewise *step = &s->call.step;
    tsr_status status = bring_operand(s, &s->x, &step->x);
    if (status == TSR_OK)
        status = bring_operand(s, &s->y, &step->y);
    if (status == TSR_OK)
        status = prepare(s, &s->c, s->type, &step->c);
    if (status == TSR_OK)
        status = prepare(s, &s->m, s->m.view.type, &step->mask);
    step->count = s->nrows * s->ncols;
    step->mask_type = s->m.view.type;
    return status;
}

/* ---- computing ---- */

static tsr_status run_step(const tsr_ewise_plan *s, const tsr_ewise *step, void **kept)
{
    return TSR_ATTEMPT(s->backend->arrays->step(step, kept));
}

/* T = op (x, y), of its own type. */
static tsr_status make_t(const tsr_ewise_plan *s, void **t)
{
    const tsr_ewise *all = &s->call.step;
    const tsr_ewise step = {.op = all->op, .type = all->type, .result = all->result, .count = all->count, .x = all->x, .y = all->y,
                           .unite = all->unite, .select = all->select};
    const tsr_backend_arrays *arrays = s->backend->arrays;
    void *plain = NULL;
    tsr_status status = run_step(s, &step, &plain);
    if (status != TSR_OK)
        return status;
    status = TSR_ATTEMPT(arrays->cast(plain, step.result, s->type, t));
    arrays->drop(plain);
    return status;
}

/* C<M> accum= T, T in C's type. */
static tsr_status step_through_t(const tsr_ewise_plan *s, void **kept)
{
    tsr_ewise step = s->call.step;
    void *t = NULL;
    tsr_status status = make_t(s, &t);
    if (status != TSR_OK || (!step.c && !step.mask)) {
        *kept = t;
        return status;
    }
    step.op = TSR_EWISE_IDENTITY;
    step.type = step.result = s->type;
    step.x = (tsr_operand){.value = t};
    step.unite = step.select = false;
    status = run_step(s, &step, kept);
    s->backend->arrays->drop(t);
    return status;
}

static tsr_status compute(tsr_ewise_plan *s, tsr_device_array **value)
{
    const tsr_ewise *step = &s->call.step;
    void *kept = NULL;
    const tsr_status status = step->result == s->type ? run_step(s, step, &kept) : step_through_t(s, &kept);
    if (status != TSR_OK)
        return status;
    tsr_device_array_facts facts = {.backend = s->backend, .type = s->type, .nrows = s->nrows, .ncols = s->ncols,
                             .by_col = s->by_col, .full = s->full, .origin = s->key};
    facts.iso = tsr_ewise_plan_iso(&facts.one, s);
    *value = tsr_device_array_new(&facts, kept);
    return *value ? TSR_OK : TSR_OUT_OF_MEMORY;
}

static void use_operands(const tsr_ewise_plan *s)
{
    const tsr_inspected *const all[] = {&s->x, &s->y, &s->c, &s->m};
    for (int k = 0; k < 4; k++) {
        if (all[k]->value)
            tsr_contents_use(all[k]->value);
    }
}

static void report(const tsr_ewise_plan *s, double ms)
{
    if (!tsr_trace_wanted())
        return;
    const tsr_ewise *step = &s->call.step;
    char pattern[128];
    const char *how = step->select ? "select " : s->call.placed ? "by place " : "";
    snprintf(pattern, sizeof pattern, "step %s%s%s %s n=%lld", how, tsr_ewise_name(step->op),
             s->m.given ? " masked" : "", tsr_type_name(step->type), (long long)step->count);
    tsr_contents_report(s->backend, "step", (tsr_trace_record){.call = s->call.name, .pattern = pattern, .measured_ms = ms,
                                                               .bytes_moved = s->moved});
}

/* C is the value from now on (a reference is taken over when it is done). */
static tsr_status put(tsr_ewise_plan *s, tsr_device_array *value)
{
    tsr_handover arrays;
    if (!tsr_arrays_dense(&arrays, &tsr_door_memory, s->nrows * s->ncols, s->type, !s->full))
        return TSR_OUT_OF_MEMORY;
    if (tsr_contents_put(s->call.C, s->call.vector, value, &arrays))
        return TSR_OK;
    tsr_arrays_free(&arrays);
    return TSR_OUT_OF_MEMORY;
}

tsr_status tsr_ewise_plan_finish(tsr_ewise_plan *s)
{
    const double start = tsr_engine_clock_ms();
    tsr_device_array *value = NULL;
    tsr_status status = bring_all(s);
    if (status == TSR_OK)
        status = compute(s, &value);
    if (status == TSR_OK)
        status = put(s, value);
    if (status != TSR_OK) {
        s->why = "the backend declined";
        tsr_device_array_unref(value);
        return status;
    }
    use_operands(s);
    report(s, tsr_engine_clock_ms() - start);
    return TSR_OK;
}

tsr_status tsr_ewise_plan_take(tsr_ewise_plan *s, tsr_device_array *value)
{
    const tsr_ewise_call *call = &s->call;
    if (call->accum || call->M || call->step.result != s->type) {
        s->x.value = value;
        return tsr_ewise_plan_finish(s);
    }
    const tsr_status status = put(s, value);
    if (status != TSR_OK)
        tsr_device_array_unref(value);
    return status;
}
