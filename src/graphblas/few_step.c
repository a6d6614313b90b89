/* Elementwise operations and assignments of few sparse vectors: C<M> accum= op (x, y) at the price of their entries.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/few_step.h"

#include <stdio.h>
#include <string.h>

#include "src/engine/call/clock.h"
#include "src/graphblas/handover/few.h"
#include "src/graphblas/intercept/hooks.h"
#include "src/graphblas/intercept/options.h"
#include "src/policy/price/few.h"
#include "src/runtime/config.h"
#include "src/runtime/trace.h"

/* A call on its way. */
typedef struct few_call {
    const tsr_elementwise *c;
    tsr_modifiers mod;
    tsr_few_step s;
    tsr_few_operand x, y, m, old; /* old: C */
    bool iso;                     /* T is */
    uint64_t one;
    double start;                 /* for the trace */
} few_call;

/* ---- what the call is ---- */

static bool is_sparse(GrB_Matrix handle)
{
    return tsr_match_sparsity(handle) == GxB_SPARSE;
}

static bool is_dense(GrB_Matrix handle)
{
    return tsr_match_sparsity(handle) & (GxB_BITMAP | GxB_FULL);
}

static bool update_pays(GrB_Matrix list, GrB_Matrix C, bool pairs)
{
    GrB_Index entries, rows, columns;
    if (tsr_config_forces_cpu())
        return true;
    if (tsr_real.GrB_Matrix_nvals(&entries, list) != GrB_SUCCESS || tsr_real.GrB_Matrix_nrows(&rows, C) != GrB_SUCCESS ||
        tsr_real.GrB_Matrix_ncols(&columns, C) != GrB_SUCCESS)
        return false;
    return tsr_few_update_pays(&(tsr_few_update_features){.entries = (double)entries, .places = (double)rows * (double)columns, .pairs = pairs});
}

/* C accum= op (A, B) into a bitmap or full C, where the entries of T are those of one sparse operand: SuiteSparse makes T first. */
static bool updates_dense(const tsr_arguments *out)
{
    const bool a = out->A && is_sparse(out->A), b = out->B && is_sparse(out->B);
    return out->accum && !out->M && is_dense(out->C) && a != b && (a || is_dense(out->A)) && (b || !out->B || is_dense(out->B)) &&
           update_pays(a ? out->A : out->B, out->C, out->B);
}

/* SuiteSparse takes a microsecond and two nanoseconds an entry for most calls on sparse vectors.  Not where it walks over all places of a
 * dense mask by a general method, nor where it sorts what is new among C's entries, nor where it computes all that a sparse mask drops, nor
 * where it would sort what our products left in any order. */
static bool is_slow_in_suitesparse(const tsr_arguments *out, bool selects)
{
    const GrB_Matrix A = out->A;
    const int32_t dense = GxB_BITMAP | GxB_FULL, m = tsr_match_sparsity(out->M);
    if (tsr_config_forces_cpu())
        return m == GxB_SPARSE || is_sparse(A) || is_sparse(out->C);
    if (!(m & dense) && !(A && out->M == A && !is_sparse(out->C)) && (tsr_held_jumbled(out->M) || tsr_held_jumbled(A)))
        return true;
    if (!out->M || !is_sparse(out->C))
        return false;
    return (m & dense) ? !is_sparse(A) : m == GxB_SPARSE && (selects || out->accum || !A);
}

bool tsr_few_considers(const tsr_arguments *out, bool selects)
{
    GrB_Index rows = 0;
    const bool joint = out->C && !selects && updates_dense(out);
    return out->C && (joint || ((!out->B || tsr_config_forces_cpu()) && is_slow_in_suitesparse(out, selects))) &&
           (out->vector || (tsr_real.GrB_Matrix_nrows(&rows, out->C) == GrB_SUCCESS && rows <= TSR_FEW));
}

/* Whether accumulated pairs are iso depends on whose lists T has. */
static bool match_accum(few_call *h)
{
    tsr_ewise *step = &h->s.step;
    step->accumulates = h->c->given.accum;
    if (!h->c->given.accum)
        return true;
    return tsr_accumulates(&step->accum, h->c->door, h->c->given.accum, step->result) && step->accum != TSR_EWISE_PAIR;
}

/* C<M> = A of a dense A under a sparse M: into an empty C SuiteSparse copies M, in its order and with its settings. */
static bool is_gather(const few_call *h)
{
    const tsr_arguments *g = &h->c->given;
    return g->A && g->M && !is_sparse(g->A) && is_sparse(g->M) && !g->accum && !h->mod.mask_comp && !h->c->step.select &&
           h->c->step.op == TSR_EWISE_IDENTITY;
}

/* SuiteSparse has rules of its own for which of these are iso, where T is. */
static bool has_own_rules(const few_call *h)
{
    const tsr_arguments *g = &h->c->given;
    return g->accum || (g->M == g->C && !h->mod.mask_struct);
}

/* An apply of C to itself leaves C in its form, whatever that is. */
static bool keeps_form(const few_call *h)
{
    const tsr_arguments *g = &h->c->given;
    const bool itself = (g->A == g->C && !g->B) || (g->B == g->C && !g->A);
    return itself && !g->M && !g->accum && !h->c->step.select && !tsr_has_its_form(g->C, g->vector);
}

static bool match(few_call *h)
{
    const tsr_elementwise *c = h->c;
    h->mod = c->mod;
    if (h->mod.replace && is_gather(h))
        return false;
    if (!c->given.A && !c->given.B && is_sparse(c->given.C) && has_own_rules(h))
        return false; /* before anything that is pending is finished */
    if (!c->given.C || c->placed || c->flip || c->full_only || c->step.unite ||
        (!c->given.vector && (h->mod.tran0 || h->mod.tran1)) || (!c->given.M && h->mod.mask_comp))
        return false;
    h->s.step = c->step;
    h->s.step.replace = h->mod.replace;
    h->s.step.mask_structural = h->mod.mask_struct;
    h->s.step.mask_complement = h->mod.mask_comp;
    return match_accum(h);
}

/* ---- operands ---- */

static bool inspect_operand(few_call *h, tsr_few_operand *o, GrB_Matrix handle)
{
    return !handle || tsr_few_inspect(o, handle, h->c->given.vector);
}

/* Does it matter what C holds?  What is pending of it is not finished if not. */
static bool reads_c(const few_call *h)
{
    const tsr_arguments *g = &h->c->given;
    return g->accum || (g->M && !h->mod.replace) || g->C == g->M || g->C == g->A || g->C == g->B;
}

/* C<M,structure> = a scalar: into a C without entries SuiteSparse copies the places of M, and their form. */
static bool sets_places(const few_call *h)
{
    const tsr_arguments *g = &h->c->given;
    return !g->A && !g->B && g->M && !g->accum && h->mod.mask_struct && !h->mod.mask_comp;
}

/* A new matrix is hypersparse, and has nothing that could be read. */
static bool is_new(GrB_Matrix C)
{
    return tsr_match_sparsity(C) == GxB_HYPERSPARSE && tsr_match_new(C, false);
}

static bool inspect_c(few_call *h)
{
    const tsr_arguments *g = &h->c->given;
    if (sets_places(h) && is_new(g->C))
        return tsr_few_inspect_emptied(&h->old, g->C, g->vector);
    if (reads_c(h))
        return tsr_few_inspect(&h->old, g->C, g->vector);
    return tsr_few_inspect_emptied(&h->old, g->C, g->vector) && h->old.sparsity != GxB_HYPERSPARSE;
}

static bool fits(const few_call *h, const tsr_few_operand *o)
{
    return !o->handle || (o->view.nrows == h->old.view.nrows && o->view.ncols == h->old.view.ncols);
}

static bool fits_types(const few_call *h)
{
    const tsr_ewise *step = &h->s.step;
    return (!h->x.handle || h->x.view.type == step->type) && (!h->y.handle || h->y.view.type == step->type) &&
           h->old.view.type == step->result;
}

static bool is_empty(const tsr_few_operand *o)
{
    return o->handle && o->view.nvals == 0;
}

/* T has no entry: what is pending of C stays so. */
static bool is_nothing(const few_call *h)
{
    const bool x = is_empty(&h->x), y = is_empty(&h->y);
    return (h->s.step.unite ? x && y : x || y) || (is_empty(&h->m) && !h->mod.mask_comp);
}

static bool inspect(few_call *h)
{
    const tsr_elementwise *c = h->c;
    return inspect_operand(h, &h->x, c->given.A) && inspect_operand(h, &h->y, c->given.B) && inspect_operand(h, &h->m, c->given.M) &&
           !is_nothing(h) && inspect_c(h) && fits(h, &h->x) && fits(h, &h->y) && fits(h, &h->m) && fits_types(h) && h->old.view.vlen > 0;
}

static void complete(few_call *h)
{
    tsr_few_step *s = &h->s;
    s->has_x = h->x.handle;
    s->has_y = h->y.handle;
    s->has_mask = h->m.handle;
    s->x = h->x.view;
    s->y = h->y.view;
    s->mask = h->m.view;
    s->c = h->old.view;
    s->has_c = h->old.view.nvals > 0;
    s->nvec = h->old.view.nvec;
    s->vlen = h->old.view.vlen;
    s->nthreads = h->mod.nthreads;
}

static bool inspect_sorted(few_call *h, tsr_few_operand *o)
{
    return !o->sorts || o->handle == h->c->given.C || tsr_few_inspect_sorted(o);
}

/* A mask of one value that lets nothing pass, or everything, and the complement of all places: SuiteSparse does without it. */
static bool is_idle(const few_call *h)
{
    const tsr_ewise *step = &h->s.step;
    const tsr_few_operand *m = &h->m;
    static const uint64_t zero;
    const bool one = m->handle && !step->mask_structural && m->view.iso && m->view.x;
    if (one && memcmp(m->view.x, &zero, tsr_type_size(m->view.type)) == 0)
        return true;
    return step->mask_complement && m->sparsity == GxB_FULL && (one || step->mask_structural);
}

/* ---- a result of one value ---- */

static bool constant(uint64_t *value, const tsr_few_operand *o, const tsr_operand *scalar)
{
    *value = scalar->scalar;
    if (o->handle && o->view.iso)
        memcpy(value, o->view.x, tsr_type_size(o->view.type));
    return !o->handle || o->view.iso;
}

static void find_one(few_call *h)
{
    const tsr_ewise *step = &h->s.step;
    uint64_t x = 0, y = 0;
    const bool x_known = constant(&x, &h->x, &step->x), y_known = constant(&y, &h->y, &step->y);
    const bool reads_x = step->op != TSR_EWISE_SECOND && step->op != TSR_EWISE_PAIR && step->op != TSR_EWISE_ONE;
    const bool reads_y = !tsr_ewise_is_unary(step->op) && step->op != TSR_EWISE_FIRST && step->op != TSR_EWISE_PAIR;
    if (step->select) {
        h->one = x;
        h->iso = x_known || tsr_elementwise_selects_one(&h->one, step, y);
        return;
    }
    h->iso = (!reads_x || x_known) && (!reads_y || y_known);
    h->one = x;
    if (h->iso && (step->op != TSR_EWISE_IDENTITY || step->type != step->result))
        h->one = tsr_elementwise_one(step, step->result, step->type, x, step->type, y);
}

/* C<C,structure> = a scalar. */
static bool sets_all(const few_call *h)
{
    const tsr_ewise *step = &h->s.step;
    return h->c->given.M == h->c->given.C && !h->c->given.A && !h->c->given.B && step->mask_structural && !step->mask_complement && !step->accumulates;
}

static tsr_listed listed(const tsr_few_operand *o)
{
    return (tsr_listed){o->sparsity == GxB_SPARSE, o->view.nvals};
}

static bool masks_t(const few_call *h)
{
    return h->x.handle && h->y.handle &&
           tsr_elementwise_masks(&h->s.step, listed(&h->x), listed(&h->y), listed(&h->m), h->s.step.mask_complement);
}

/* C<M, replace> = T: SuiteSparse assigns T to what is a bitmap, or becomes one, and clears that last. */
static bool is_cleared_late(const few_call *h)
{
    const bool dense = h->old.sparsity & (GxB_BITMAP | GxB_FULL);
    return dense && h->m.handle && !h->s.step.accumulates && h->s.step.replace && !masks_t(h) && !tsr_elementwise_clears_full(h->c);
}

/* Has C no entry, or T's one value? */
static bool had_one(const few_call *h)
{
    tsr_few_operand C;
    return tsr_few_inspect(&C, h->c->given.C, h->c->given.vector) &&
           (C.view.nvals == 0 || (C.view.iso && memcmp(C.view.x, &h->one, tsr_type_size(h->s.step.result)) == 0));
}

/* Of C<M> accum= T: T is all of C, or C has that one value. */
static bool stays_one(const few_call *h)
{
    const tsr_few_step *s = &h->s;
    const size_t size = tsr_type_size(s->step.result);
    if (h->iso && !sets_all(h) && is_cleared_late(h))
        return had_one(h);
    if (!h->iso || sets_all(h) || !s->has_c || (!s->step.accumulates && (!s->has_mask || s->step.replace)))
        return h->iso;
    tsr_ewise accum = {.op = s->step.accum, .type = s->step.result, .result = s->step.result};
    if (!s->c.iso || memcmp(s->c.x, &h->one, size) != 0)
        return false;
    const uint64_t sum = s->step.accumulates ? tsr_elementwise_one(&accum, accum.type, accum.type, h->one, accum.type, h->one) : h->one;
    return memcmp(&sum, &h->one, size) == 0;
}

/* T has one entry, which SuiteSparse takes for one value and compares with C's. */
static bool may_stay_one(const few_call *h, const tsr_few *t)
{
    return !h->iso && t->nvals == 1 && h->s.has_c && h->s.c.iso;
}

static bool has_all(const tsr_few_operand *o)
{
    return o->handle && o->view.nvals == o->view.nvec * o->view.vlen;
}

/* C = op (A, B) of all entries: SuiteSparse's loop over three arrays knows of no operator whose result is iso. */
static bool is_loop(const few_call *h)
{
    return !h->m.handle && has_all(&h->x) && has_all(&h->y);
}

/* ---- compute ---- */

static void report(const few_call *h, int64_t nvals)
{
    if (!tsr_trace_wanted())
        return;
    char pattern[128];
    const tsr_ewise *step = &h->s.step;
    snprintf(pattern, sizeof pattern, "few %s%s%s%s %s n=%lld, %lld entries", step->select ? "select " : "", tsr_ewise_name(step->op),
             step->accumulates ? " accum" : "", h->s.has_mask ? step->mask_complement ? " !mask" : " mask" : "",
             tsr_type_name(step->result), (long long)h->s.vlen, (long long)nvals);
    const tsr_trace_record record = {.call = h->c->given.name, .pattern = pattern, .route = "cpu:few", .predicted_ms = -1.0,
                                     .measured_ms = tsr_engine_clock_ms() - h->start, .reason = "few sparse vectors"};
    tsr_trace_product(&record);
}

static bool merge(GrB_Info *info, few_call *h, tsr_few_target *target)
{
    tsr_few t, c;
    find_one(h);
    if (h->iso && (has_own_rules(h) || is_loop(h)))
        return false;
    const bool iso = stays_one(h);
    h->s.pattern = iso && !h->s.step.select;
    if (tsr_engine_few_step(&h->s, &t) != TSR_OK)
        return false;
    const bool done = !may_stay_one(h, &t) && tsr_engine_few_merge(&h->s, &t, &c) == TSR_OK &&
                      tsr_few_give(info, target, &c, h->s.step.result, iso ? &h->one : NULL);
    tsr_engine_few_release(&t);
    if (done)
        report(h, c.nvals);
    return done;
}

static bool into_sparse(GrB_Info *info, few_call *h)
{
    const bool sparse = h->old.sparsity == GxB_SPARSE;
    tsr_few_target target = tsr_few_target_of(&h->old);
    if (sparse && !tsr_few_take(&target, &h->old))
        return false;
    tsr_few_operand *const all[] = {&h->x, &h->y, &h->m};
    for (int k = 0; sparse && k < 3; k++)
        if (all[k]->handle == h->c->given.C)
            all[k]->view = h->old.view;
    complete(h);
    const bool done = !is_idle(h) && merge(info, h, &target); /* C's values as mask are known only now */
    if (!done)
        tsr_few_put_back(&target);
    return done;
}

/* C's arrays take T, place by place if its list is known before. */
static bool put_into(few_call *h, tsr_few *t, bool updates, const tsr_handover *arrays, int64_t *more)
{
    if (!updates)
        return tsr_engine_few_scatter(&h->s, t, arrays->b, arrays->x, more);
    *more = tsr_engine_few_update(&h->s, arrays->b, arrays->x);
    return true;
}

/* In the arrays of a full C, or in those taken of a bitmap, as their entries have to be counted. */
static bool into_dense(GrB_Info *info, few_call *h)
{
    const GrB_Matrix C = h->c->given.C;
    const bool bitmap = h->old.sparsity == GxB_BITMAP, updates = tsr_engine_few_updates(&h->s);
    tsr_handover arrays = {.x = (void *)(uintptr_t)h->old.view.x};
    tsr_few t;
    int64_t more = 0;
    tsr_few_begin(&t, 0);
    if (h->old.view.iso || tsr_option_is_read_only(C) || (!updates && tsr_engine_few_step(&h->s, &t) != TSR_OK))
        return false;
    const tsr_settings settings = tsr_settings_read(C);
    if (bitmap && !tsr_arrays_take(&arrays, C, h->c->given.vector, h->c->given.vector)) {
        tsr_engine_few_release(&t);
        return false;
    }
    const bool done = put_into(h, &t, updates, &arrays, &more);
    tsr_engine_few_release(&t);
    *info = GrB_SUCCESS;
    if (bitmap) {
        tsr_arrays_count(&arrays, arrays.nvals + more, h->s.nvec * h->s.vlen);
        *info = tsr_finish_arrays(C, h->c->given.vector, h->c->given.vector, &arrays, &settings);
        tsr_arrays_free(&arrays);
    } else if (done) {
        *info = tsr_real.GrB_Matrix_wait(C, GrB_COMPLETE); /* a call that succeeds ends C's error text */
    }
    if (done)
        report(h, t.nvals);
    return done;
}

/* C is computed anew, whatever it was. */
static bool is_replaced(const few_call *h)
{
    const tsr_ewise *step = &h->s.step;
    return !h->s.has_c || (!step->accumulates && (!h->s.has_mask || step->replace));
}

static bool copies_mask(const few_call *h)
{
    return sets_places(h) && h->old.view.nvals == 0;
}

/* Short vectors; new entries of a C that has none. */
static bool is_quick_in_suitesparse(const few_call *h)
{
    const bool plain = !h->s.step.select && h->m.sparsity == GxB_SPARSE && h->old.view.nvals == 0;
    if (plain && is_gather(h))
        return true;
    if (copies_mask(h) && !tsr_held_jumbled(h->m.handle) && !tsr_config_forces_cpu())
        return true;
    return ((plain && !tsr_held_jumbled(h->m.handle)) || h->old.view.vlen < TSR_FEW_LEAST) && !tsr_config_forces_cpu();
}

static bool compute(GrB_Info *info, few_call *h)
{
    complete(h);
    return h->old.sparsity == GxB_SPARSE || is_replaced(h) ? into_sparse(info, h) : into_dense(info, h);
}

bool tsr_few_on_host(GrB_Info *info, const tsr_elementwise *call)
{
    few_call h = {.c = call, .start = tsr_trace_wanted() ? tsr_engine_clock_ms() : 0};
    if (!match(&h) || !inspect(&h))
        return false;
    if (is_quick_in_suitesparse(&h))
        return false;
    complete(&h);
    if (!tsr_engine_few_step_wanted(&h.s, h.mod.nthreads))
        return false;
    if (keeps_form(&h))
        return false;
    const bool done = inspect_sorted(&h, &h.x) && inspect_sorted(&h, &h.y) && inspect_sorted(&h, &h.m) && !is_idle(&h) && compute(info, &h);
    tsr_few_operand *const all[] = {&h.x, &h.y, &h.m};
    for (int k = 0; k < 3; k++)
        tsr_few_drop_copies(all[k]);
    return done;
}
