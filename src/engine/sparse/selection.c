/* Selection, extraction, gathering and scattering of host arrays, by the CPU kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/sparse/selection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/types.h"
#include "src/engine/call/contents.h"
#include "src/engine/call/host.h"
#include "src/engine/elementwise/elementwise.h"
#include "src/policy/price/selection.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"

static const tsr_selection_kernels *kernels(void)
{
    return tsr_backend_cpu()->host->selection;
}

/* ---- C and A ---- */

/* What SuiteSparse refuses it refuses itself, and names the program's call: the end of ours is a GrB_apply. */
static bool end_is_valid(const tsr_call *call, const tsr_shape *c)
{
    tsr_shape m;
    tsr_ewise_op op;
    tsr_type type;
    const tsr_arguments *g = &call->given;
    const bool fits = !g->M || (call->door->shape(&m, g->M, g->vector) && m.nrows == c->nrows && m.ncols == c->ncols);
    return fits && (!g->accum || call->door->accumulator(&op, &type, g->accum));
}

/* T is C where nothing but its arrays is asked for; else C<M> accum= T follows.  7.4.0 crashes in some of C<M> += T. */
static const char *plan_finish(tsr_call *call)
{
    tsr_shape c;
    const tsr_arguments *g = &call->given;
    if (!call->door->shape(&c, g->C, g->vector))
        return "C is not a valid object";
    if ((g->M && g->accum) || (!g->M && call->mod.mask_comp))
        return "such a mask is not taken here";
    if (g->M && call->a.view.iso)
        return "one value under a mask"; /* whether it stays one depends on how SuiteSparse holds T */
    if (!end_is_valid(call, &c))
        return "mask or accumulator of another shape or type";
    call->c_by_col = c.by_col;
    call->t_by_col = g->vector || call->a.view.by_col;
    call->product.semiring.type = call->a.view.type;
    call->through_t = g->M || g->accum || c.type != call->a.view.type || (!g->vector && c.by_col != call->a.view.by_col);
    return NULL;
}

/* T is nvec vectors of vlen places, held as A. */
static bool shape_fits(const tsr_call *call, int64_t nvec, int64_t vlen)
{
    tsr_shape c;
    if (!call->door->shape(&c, call->given.C, call->given.vector))
        return false;
    return call->t_by_col ? c.nrows == vlen && c.ncols == nvec : c.nrows == nvec && c.ncols == vlen;
}

/* Narrow integers of a sparse A are read as they are. */
static const char *inspect(tsr_call *call)
{
    call->a = (tsr_object){.handle = call->given.A, .given = true};
    if (!call->door->held(&call->a.view, call->given.A, &call->a.copies))
        return "A is not a valid object of a built-in type";
    if (call->mod.tran0)
        call->a.view = tsr_view_transposed(call->a.view);
    return plan_finish(call);
}

static void decide(tsr_call *call)
{
    call->decision.backend = tsr_backend_cpu();
    snprintf(call->decision.reason, sizeof call->decision.reason, "%s", tsr_config_forces_cpu() ? "forced" : "measured to be faster");
}

/* ---- memory of a compressed T ---- */

/* By place: runs are copied from anywhere to anywhere, so that aligned blocks, into which a hole of the heap seldom fits, save nothing. */
static void *room(const tsr_call *call, size_t *bytes, int64_t count, size_t size)
{
    const tsr_memory *memory = call->door->memory;
    *bytes = (size_t)(count > 0 ? count : 1) * size;
    return call->update.placed ? memory->allocate_copy(*bytes) : memory->allocate(*bytes);
}

static bool reserve_offsets(tsr_call *call, int64_t nvec, bool narrow)
{
    tsr_handover *t = &call->arrays;
    *t = (tsr_handover){.memory = call->door->memory, .nvec = nvec, .narrow = narrow};
    t->p = room(call, &t->p_bytes, (nvec > 0 ? nvec : 1) + 1, sizeof *t->p);
    if (!t->p)
        return false;
    t->p[0] = t->p[1] = 0;
    if (!call->a.view.h)
        return true;
    t->h = room(call, &t->h_bytes, nvec, sizeof *t->h);
    if (t->h)
        memcpy(t->h, call->a.view.h, (size_t)nvec * sizeof *t->h);
    return t->h;
}

/* one: the value of all entries; NULL: they have their own. */
static bool reserve_entries(tsr_call *call, const void *one)
{
    tsr_handover *t = &call->arrays;
    const size_t size = tsr_type_size(call->a.view.type);
    t->nvals = (int64_t)t->p[t->nvec];
    t->iso = one;
    t->i = room(call, &t->i_bytes, t->nvals, t->narrow ? sizeof(uint32_t) : sizeof *t->i);
    t->x = room(call, &t->x_bytes, one ? 1 : t->nvals, size);
    if (!call->update.placed) /* a copy soon done: SuiteSparse's products have more use for the memory that it gives back */
        call->door->begin_result(t->i_bytes);
    if (!one || !t->x)
        return t->i && t->x;
    memcpy(t->x, one, size);
    memcpy(&call->one, one, size);
    call->iso = true;
    return t->i;
}

static void describe(char *text, size_t size, const tsr_call *call, const char *what)
{
    snprintf(text, size, "%s %s nnz=%lld of %lld", what, tsr_type_name(call->a.view.type), (long long)call->arrays.nvals,
             (long long)call->a.view.nvals);
}

/* ---- selection ---- */

/* By place: in A's order, of each vector what lies on one side of a bound, or at it, or not.  False: whole vectors stay or go, which
 * SuiteSparse copies. */
static bool place_bound(tsr_selection *s, const tsr_place_rule *rule)
{
    const int index = s->a.by_col ? rule->by_row : rule->by_column, vector = s->a.by_col ? rule->by_column : rule->by_row;
    tsr_ewise_op keep = rule->keep;
    if (index < 0) /* -l <= ... is l >= -... */
        keep = keep == TSR_EWISE_LE ? TSR_EWISE_GE : keep == TSR_EWISE_GE ? TSR_EWISE_LE : keep == TSR_EWISE_GT ? TSR_EWISE_LT : keep;
    const bool next = keep == TSR_EWISE_LE || keep == TSR_EWISE_GT;
    s->keep = keep == TSR_EWISE_LE ? TSR_EWISE_LT : keep == TSR_EWISE_GT ? TSR_EWISE_GE : keep;
    s->slope = -index * vector;
    s->bound = index * rule->y + next;
    return index != 0;
}

static const char *resolve_places(tsr_call *call)
{
    tsr_selection *s = &call->of.selection;
    if (!tsr_is_compressed(&s->a) || s->a.jumbled)
        return "A is dense, or its indices are in any order";
    return place_bound(s, &call->update.place) ? NULL : "whole vectors stay or go";
}

static const char *resolve_function(const tsr_selection *s)
{
    return tsr_is_compressed(&s->a) && s->a.x ? NULL : "A is dense";
}

/* By the value in A's own type; of one value all or nothing stays, and of booleans SuiteSparse makes several special cases. */
static const char *resolve_values(const tsr_selection *s, tsr_type type)
{
    const bool taken = s->a.type == type && type != TSR_BOOL && !s->a.iso && tsr_is_compressed(&s->a);
    return taken ? NULL : "A is iso, boolean, dense, or not of the operator's type";
}

static const char *resolve_selection(tsr_call *call)
{
    tsr_selection *s = &call->of.selection;
    const tsr_type type = s->a.type;
    const char *why = inspect(call);
    if (why)
        return why;
    s->a = call->a.view;
    s->placed = call->update.placed;
    s->nthreads = call->mod.nthreads;
    why = s->placed ? resolve_places(call) : s->function ? resolve_function(s) : resolve_values(s, type);
    if (why)
        return why;
    if (!shape_fits(call, tsr_view_vectors(&s->a), s->a.vlen))
        return "dimensions do not match";
    const bool pays = !call->through_t && tsr_select_pays((double)s->a.nvals, (double)s->a.nvec, s->placed);
    return pays || tsr_config_forces_cpu() ? NULL : "not worth it";
}

static bool reserve_selection(tsr_call *call)
{
    tsr_selection *s = &call->of.selection;
    s->narrow = tsr_call_narrows(call, s->a.vlen);
    return reserve_offsets(call, s->a.nvec, s->narrow);
}

/* The value that all of them have, or NULL. */
static const void *one_value(const tsr_selection *s, uint64_t *kept)
{
    const tsr_ewise step = {.op = s->keep, .type = s->a.type};
    if (s->placed || s->function)
        return s->a.iso ? s->a.x : NULL;
    return tsr_elementwise_selects_one(kept, &step, s->thunk) ? kept : NULL;
}

static tsr_status select_entries(tsr_call *call, tsr_selection *s)
{
    tsr_handover *t = &call->arrays;
    uint64_t kept;
    const tsr_status status = kernels()->select_count(s, (int64_t *)t->p);
    if (status != TSR_OK)
        return status;
    if (!reserve_entries(call, one_value(s, &kept)))
        return TSR_OUT_OF_MEMORY;
    kernels()->select_fill(s, (const int64_t *)t->p, t->i, t->iso ? NULL : t->x);
    tsr_arrays_drop_empty(t);
    return TSR_OK;
}

static tsr_status run_selection(tsr_call *call)
{
    tsr_selection *s = &call->of.selection;
    const tsr_status status = select_entries(call, s);
    kernels()->select_end(s);
    return status;
}

static void describe_selection(char *text, size_t size, const tsr_call *call)
{
    describe(text, size, call, "select");
}

const tsr_operation tsr_select_operation = {.resolve = resolve_selection, .decide = decide, .reserve = reserve_selection,
                                            .run = run_selection, .describe = describe_selection, .kernel = "select"};

/* ---- extraction ---- */

static bool extraction_pays(const tsr_extraction *e)
{
    const tsr_extract_features f = {.entries = (double)e->a.nvals, .vectors = (double)e->a.nvec, .length = (double)e->a.vlen,
                                    .wanted = (double)e->vectors.count, .listed = e->vectors.list,
                                    .permutes = e->places.list || e->places.step != 1};
    return tsr_config_forces_cpu() || tsr_extract_pays(&f);
}

static bool lists_fit(const tsr_extraction *e)
{
    return kernels()->indices_fit(&e->vectors, tsr_view_vectors(&e->a), e->nthreads) && kernels()->indices_fit(&e->places, e->a.vlen, e->nthreads);
}

static const char *resolve_extraction(tsr_call *call)
{
    tsr_extraction *e = &call->of.extraction;
    const char *why = inspect(call);
    if (why)
        return why;
    e->a = call->a.view;
    e->nthreads = call->mod.nthreads;
    if (e->a.format != TSR_SPARSE)
        return "A is not sparse";
    if (e->a.vlen >= INT32_MAX || e->places.count >= INT32_MAX || !shape_fits(call, e->vectors.count, e->places.count) || !lists_fit(e))
        return "dimensions or indices do not match";
    return extraction_pays(e) ? NULL : "not worth it";
}

static bool reserve_extraction(tsr_call *call)
{
    tsr_extraction *e = &call->of.extraction;
    e->narrow = tsr_call_narrows(call, e->places.count);
    return reserve_offsets(call, e->vectors.count, e->narrow);
}

static tsr_status extract_entries(tsr_call *call, tsr_extraction *e)
{
    tsr_handover *t = &call->arrays;
    tsr_status status = kernels()->extract_begin(e);
    if (status == TSR_OK)
        status = kernels()->extract_count(e, (int64_t *)t->p);
    if (status == TSR_OK && !reserve_entries(call, e->a.iso ? e->a.x : NULL))
        status = TSR_OUT_OF_MEMORY;
    return status == TSR_OK ? kernels()->extract_fill(e, (const int64_t *)t->p, t->i, t->iso ? NULL : t->x) : status;
}

static tsr_status run_extraction(tsr_call *call)
{
    tsr_extraction *e = &call->of.extraction;
    const tsr_status status = extract_entries(call, e);
    kernels()->extract_end(e);
    return status;
}

static void describe_extraction(char *text, size_t size, const tsr_call *call)
{
    describe(text, size, call, "extract");
}

const tsr_operation tsr_extract_operation = {.resolve = resolve_extraction, .decide = decide, .reserve = reserve_extraction,
                                             .run = run_extraction, .describe = describe_extraction, .kernel = "extract"};

/* ---- gathering ---- */

static const char *resolve_gathering(tsr_call *call)
{
    const tsr_indices *from = &call->of.extraction.places;
    const char *why = inspect(call);
    if (why)
        return why;
    if (call->a.view.format != TSR_FULL || call->a.view.iso)
        return "u is not full, or iso";
    if (!shape_fits(call, 1, from->count) || !kernels()->indices_fit(from, call->a.view.vlen, call->mod.nthreads))
        return "dimensions or indices do not match";
    return tsr_config_forces_cpu() || (double)from->count >= TSR_GATHER_LEAST ? NULL : "not worth it";
}

/* w's own array, where that is what T takes. */
static void *own_array(const tsr_call *call)
{
    tsr_view c;
    void *C = call->given.C;
    if (call->through_t || C == call->given.A || call->door->form(C) != 1u << TSR_FULL || !call->door->view(&c, C) || c.iso)
        return NULL;
    return (void *)(uintptr_t)c.x;
}

static bool reserve_gathering(tsr_call *call)
{
    const int64_t count = call->of.extraction.places.count;
    return own_array(call) || tsr_arrays_dense(&call->arrays, call->door->memory, count, call->a.view.type, false);
}

static tsr_status run_gathering(tsr_call *call)
{
    const tsr_indices *from = &call->of.extraction.places;
    void *z = call->arrays.x ? call->arrays.x : own_array(call);
    kernels()->gather(z, call->a.view.x, tsr_type_size(call->a.view.type), from, call->mod.nthreads);
    call->arrays.nvals = from->count;
    return TSR_OK;
}

static void describe_gathering(char *text, size_t size, const tsr_call *call)
{
    describe(text, size, call, "gather");
}

const tsr_operation tsr_gather_operation = {.resolve = resolve_gathering, .decide = decide, .reserve = reserve_gathering,
                                            .run = run_gathering, .describe = describe_gathering, .kernel = "gather"};

/* ---- scattering ---- */

/* w (I) accum= u: each place of w joins one of u. */
static bool resolve_accum(tsr_call *call, tsr_type type)
{
    tsr_ewise *step = &call->update.step;
    if (!call->given.accum)
        return true;
    if (!tsr_accumulates(&step->op, call->door, call->given.accum, type))
        return false;
    step->type = step->result = type;
    return true;
}

/* Into w's own array: of places that repeat the last one counts, as with SuiteSparse. */
static const char *resolve_scattering(tsr_call *call)
{
    tsr_shape w;
    const tsr_indices *to = &call->of.extraction.places;
    if (call->given.A && !tsr_object_inspect(&call->a, call->door, call->given.A, true))
        return "u is not a valid object of a built-in type";
    if (!call->door->shape(&w, call->given.C, true) || !kernels()->indices_fit(to, w.nrows, call->mod.nthreads))
        return "w is not a valid object, or indices do not fit";
    const tsr_view *u = &call->a.view;
    if (call->given.A && (u->format != TSR_FULL || u->type != w.type || u->nrows != to->count))
        return "u is not full, or of another type or length";
    if ((!call->given.A || u->iso) && to->count >= w.nrows)
        return "one value everywhere, perhaps";
    call->product.semiring.type = w.type;
    if (!own_array(call))
        return "w is not full, or iso";
    if (!resolve_accum(call, w.type) || (call->given.accum && !kernels()->indices_differ(to, w.nrows)))
        return "the accumulator is not w's, or places repeat";
    return tsr_config_forces_cpu() || (double)to->count >= TSR_SCATTER_LEAST ? NULL : "not worth it";
}

static tsr_status join_scattered(const tsr_call *call, void *w, const void *x, bool varies, size_t size)
{
    const tsr_indices *to = &call->of.extraction.places;
    const tsr_type type = call->update.step.type;
    void *z = malloc((size_t)to->count * size);
    if (!z)
        return TSR_OUT_OF_MEMORY;
    tsr_host_ewise join = {.step = call->update.step, .arrays = {.x = {z, NULL}, .y = {varies ? x : NULL, NULL}, .z = z},
                           .type = type, .x_type = type, .y_type = type};
    join.step.count = to->count;
    memcpy(&join.step.y.scalar, x, size);
    kernels()->gather(z, w, size, to, call->mod.nthreads);
    tsr_engine_ewise(&join, call->mod.nthreads);
    kernels()->scatter(w, z, 1, size, to);
    free(z);
    return TSR_OK;
}

static tsr_status run_scattering(tsr_call *call)
{
    const tsr_indices *to = &call->of.extraction.places;
    const tsr_view *u = call->given.A ? &call->a.view : NULL;
    const void *x = u ? u->x : &call->one;
    const bool varies = u && !u->iso;
    const size_t size = tsr_type_size(call->product.semiring.type);
    call->arrays.nvals = to->count;
    if (call->given.accum && to->count > 0)
        return join_scattered(call, own_array(call), x, varies, size);
    kernels()->scatter(own_array(call), x, varies, size, to);
    return TSR_OK;
}

static void describe_scattering(char *text, size_t size, const tsr_call *call)
{
    describe(text, size, call, "scatter");
}

const tsr_operation tsr_scatter_operation = {.resolve = resolve_scattering, .decide = decide, .run = run_scattering,
                                             .describe = describe_scattering, .kernel = "scatter"};
