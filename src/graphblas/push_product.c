/* Products of few sparse vectors: C<M> accum= U A entry by entry of U (push), or place by place of C with U one sparse vector, or several that are
 * bitmap or full (pull).
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/push_product.h"

#include <stdio.h>
#include <string.h>

#include "src/engine/call/clock.h"
#include "src/engine/engine.h"
#include "src/graphblas/handover/few.h"
#include "src/graphblas/intercept/hooks.h"
#include "src/graphblas/intercept/options.h"
#include "src/graphblas/product.h"
#include "src/policy/price/few.h"
#include "src/runtime/config.h"
#include "src/runtime/trace.h"

enum { SCALED_SHARE = 32 }; /* of a diagonal's places: so few entries are moved sooner than it is looked at */

/* A call on its way. */
typedef struct push_call {
    tsr_arguments *c;
    tsr_modifiers mod;
    tsr_push p;
    GrB_Matrix u_handle, a_handle;
    tsr_few_operand u, m, old; /* old: C */
    bool pull;
    bool masked;
    bool through; /* SuiteSparse joins C and the product */
    bool timed; /* a GPU may want to know what it took */
    bool iso;
    uint64_t one;
    int64_t work, nvals; /* nvals: of the result */
} push_call;

/* ---- what the call is ---- */

static bool held_by_row(bool *by_row, GrB_Matrix A)
{
    int32_t format = 0;
    *by_row = A && tsr_option_get_int32(A, GxB_FORMAT, &format) == GrB_SUCCESS && format == GxB_BY_ROW;
    return format == GxB_BY_ROW || format == GxB_BY_COL;
}

/* The right operand lies by row for a push, by column for a pull. */
static bool orient(push_call *h)
{
    const tsr_arguments *c = h->c;
    bool by_row;
    h->u_handle = c->vector ? c->B : c->A;
    h->a_handle = c->vector ? c->A : c->B;
    if (!c->C || !h->u_handle || tsr_match_descriptor(&h->mod, c->desc) || !held_by_row(&by_row, h->a_handle))
        return false;
    if (!c->vector) {
        h->pull = by_row == h->mod.tran1;
        return !h->mod.tran0 && !c->accum;
    }
    h->pull = c->flip ? by_row == h->mod.tran1 : by_row != h->mod.tran0;
    return h->pull || !c->accum;
}

static bool is_distinct(const push_call *h)
{
    const tsr_arguments *c = h->c;
    return c->C != c->M && c->C != h->a_handle && h->a_handle != c->M && (c->M || !h->mod.mask_comp);
}

static bool is_dense(GrB_Matrix handle)
{
    return tsr_match_sparsity(handle) & (GxB_BITMAP | GxB_FULL);
}

/* A pull of one sparse vector.  Dense ones SuiteSparse pulls as soon. */
static bool pulls_list(const push_call *h)
{
    return h->pull && h->c->vector;
}

/* Known without looking at anything: the forms that a push or a pull takes. */
static bool has_forms(const push_call *h)
{
    const bool dense = is_dense(h->u_handle), sparse = tsr_match_sparsity(h->u_handle) == GxB_SPARSE;
    return (h->c->vector ? sparse : dense || (sparse && !h->pull)) && tsr_match_sparsity(h->c->M) != GxB_HYPERSPARSE;
}

/* ---- operands ---- */

/* Several vectors are pulled together; those of one value SuiteSparse treats by rules of its own.  Dense ones are pushed as patterns. */
static bool fits_lanes(const push_call *h)
{
    const tsr_view *u = &h->u.view;
    if (pulls_list(h)) /* SuiteSparse sees at once that nothing can come of it */
        return u->nvals > 0;
    if (!h->pull)
        return !is_dense(h->u_handle) || u->iso || !tsr_push_reads_u(&h->p.semiring);
    return u->nvec > 1 && u->nvec <= TSR_PULL_MOST && (h->p.semiring.add == TSR_REDUCE_PLUS || !u->iso);
}

/* As SuiteSparse does: values of a mask of one are not looked at, nor is a mask that everything passes.  False: nothing does, as it sees at once. */
static bool reduce_mask(push_call *h)
{
    static const uint64_t zero;
    const tsr_view *m = &h->m.view;
    tsr_modifiers *mod = &h->mod;
    const bool one = !mod->mask_struct && m->iso && m->x, none = one && memcmp(m->x, &zero, tsr_type_size(m->type)) == 0;
    const bool all = (mod->mask_struct || one) && m->nvals == m->nvec * m->vlen;
    const bool passes = none ? mod->mask_comp : !(all && mod->mask_comp);
    h->masked = !none && !all;
    mod->mask_struct |= one;
    mod->mask_comp &= h->masked;
    return passes;
}

static bool inspect_vectors(push_call *h)
{
    const tsr_arguments *c = h->c;
    if (!tsr_few_inspect(&h->u, h->u_handle, c->vector) || !fits_lanes(h))
        return false;
    h->old = h->u;
    if (c->C != h->u_handle && !tsr_few_inspect_emptied(&h->old, c->C, c->vector))
        return false;
    if (!c->M)
        return true;
    return tsr_few_inspect(&h->m, c->M, c->vector) && (!h->m.sorts || tsr_few_inspect_sorted(&h->m)) && reduce_mask(h);
}

static bool fits(const push_call *h)
{
    const tsr_view *u = &h->u.view, *a = &h->p.a, *c = &h->old.view, *m = &h->m.view;
    const int64_t inner = h->pull ? a->vlen : a->nvec, outer = h->pull ? a->nvec : a->vlen;
    return u->vlen == inner && c->vlen == outer && c->nvec == u->nvec && (!h->c->M || (m->vlen == outer && m->nvec == u->nvec)) &&
           outer > 0 && inner > 0;
}

static bool fits_types(const push_call *h)
{
    const tsr_push_semiring *s = &h->p.semiring;
    return (!tsr_push_reads_u(s) || h->u.view.type == s->type) && (!tsr_push_reads_a(s) || h->p.a.type == s->type);
}

/* C, which is not U.  A new matrix is hypersparse. */
static bool is_empty(push_call *h)
{
    const tsr_arguments *c = h->c;
    GrB_Index nvals;
    if (h->old.sparsity == GxB_HYPERSPARSE)
        return tsr_real.GrB_Matrix_nvals(&nvals, c->C) == GrB_SUCCESS && nvals == 0;
    return tsr_few_inspect(&h->old, c->C, c->vector) && h->old.view.nvals == 0;
}

/* Is the product all that C has?  Else C keeps entries outside of the mask.  To count them finishes what is pending of it, so that comes last. */
static bool replaces(push_call *h)
{
    const tsr_arguments *c = h->c;
    if (!h->masked || h->mod.replace)
        return true;
    return c->C == h->u_handle ? h->old.view.nvals == 0 : is_empty(h);
}

/* Nothing of C is looked at where nothing is computed. */
static bool fits_c(push_call *h)
{
    const tsr_arguments *c = h->c;
    const bool replaced = !c->accum && (!h->masked || h->mod.replace);
    if (!replaced && (h->u.view.nvals == 0 || (h->masked && h->m.view.nvals == 0 && !h->mod.mask_comp)))
        return false;
    const bool joins = c->accum || !replaces(h);
    h->through = joins && pulls_list(h);
    return h->through == joins;
}

/* ---- a result of one value ---- */

static bool one_value(const tsr_view *v)
{
    return v->iso || (v->nvals == 1 && v->format != TSR_BITMAP && v->x);
}

/* As with SuiteSparse: idempotent monoids, and those that are with products of 1. */
static bool keeps_one(const tsr_push_semiring *s)
{
    switch (s->add) {
    case TSR_REDUCE_PLUS:
    case TSR_REDUCE_LXOR: return false;
    case TSR_REDUCE_TIMES:
    case TSR_REDUCE_EQ: return s->mul == TSR_EWISE_PAIR;
    default: return true;
    }
}

/* A has the entries (k, k) alone, and all of these. */
static bool is_diagonal(const tsr_push *p)
{
    const tsr_view *a = &p->a;
    const bool narrow = tsr_push_is_narrow(p);
    bool diagonal = a->nvec == a->vlen && a->nvals == a->nvec && a->i;
    for (int64_t k = 0; diagonal && k < a->nvec; k++)
        diagonal = tsr_push_start(p, k + 1) == k + 1 && tsr_push_at(a->i, k, narrow) == k;
    return diagonal;
}

/* SuiteSparse scales by such an operand, without a mask: each sum is of one product, whatever the monoid. */
static bool scales(const push_call *h)
{
    return !h->c->M && (is_diagonal(&h->p) || tsr_is_diagonal(&h->u.view));
}

/* So it need not move a place, once it has looked at the whole diagonal. */
static bool scales_sooner(const push_call *h)
{
    const int64_t few = h->p.a.nvec / SCALED_SHARE;
    return !h->c->M && !h->pull && h->u.view.nvals > few && !tsr_config_forces_cpu() && is_diagonal(&h->p);
}

static void find_one(push_call *h)
{
    const tsr_push_semiring *s = &h->p.semiring;
    const tsr_view *u = &h->u.view, *a = &h->p.a;
    if (s->factor != TSR_FACTOR_VALUES || (tsr_push_reads_u(s) && !one_value(u)) || (tsr_push_reads_a(s) && !one_value(a)) ||
        !(keeps_one(s) || scales(h)))
        return;
    uint64_t of_u = 0, of_a = 0;
    if (tsr_push_reads_u(s))
        memcpy(&of_u, u->x, tsr_type_size(s->type));
    if (tsr_push_reads_a(s))
        memcpy(&of_a, a->x, tsr_type_size(s->type));
    h->one = tsr_engine_push_one(s, of_u, of_a);
    h->iso = h->p.pattern = true;
}

/* ---- match ---- */

static void complete(push_call *h)
{
    h->p.u = h->u.view;
    h->p.mask = h->masked ? &h->m.view : NULL;
    h->p.mask_structural = h->mod.mask_struct;
    h->p.mask_complement = h->mod.mask_comp;
    h->p.nthreads = h->mod.nthreads;
}

static bool is_short(const push_call *h)
{
    GrB_Index length = 0;
    const GrB_Info info = h->c->vector ? tsr_real.GrB_Matrix_nrows(&length, h->c->C) : tsr_real.GrB_Matrix_ncols(&length, h->c->C);
    return info != GrB_SUCCESS || (length < TSR_FEW_LEAST && !tsr_config_forces_cpu());
}

static bool has_most(GrB_Matrix A, GrB_Index most)
{
    GrB_Index nvals;
    return tsr_real.GrB_Matrix_nvals(&nvals, A) == GrB_SUCCESS && nvals <= most;
}

/* A few dots, of which a sparse mask names each. */
static bool makes_few_dots(const push_call *h)
{
    const tsr_arguments *c = h->c;
    return pulls_list(h) && c->M && !h->mod.mask_comp && !is_dense(c->M) && !tsr_config_forces_cpu() && has_most(c->M, TSR_FEW_DOTS) &&
           has_most(h->u_handle, TSR_FEW_DOTS);
}

/* A pull adds up values of the vectors; a push of dense ones makes one value. */
static bool fits_dense(const push_call *h)
{
    const tsr_push_semiring *s = &h->p.semiring;
    if (!h->pull || pulls_list(h))
        return !is_dense(h->u_handle) || (s->factor == TSR_FACTOR_VALUES && keeps_one(s));
    return s->add != TSR_REDUCE_ANY && tsr_push_reads_u(s) && !tsr_push_reads_a(s);
}

/* Nothing but ones: they are the same in every type, so that a cast to that of C changes none. */
static bool makes_ones(const tsr_push_semiring *s)
{
    return s->factor == TSR_FACTOR_VALUES && s->mul == TSR_EWISE_PAIR && keeps_one(s);
}

static bool fits_target(push_call *h)
{
    tsr_push_semiring *s = &h->p.semiring;
    tsr_type type;
    if (!tsr_match_object_type(&type, h->c->C))
        return false;
    if (makes_ones(s))
        *s = (tsr_push_semiring){.add = TSR_REDUCE_ANY, .mul = TSR_EWISE_PAIR, .factor = TSR_FACTOR_VALUES, .type = type, .result = type,
                                 .swapped = s->swapped};
    return s->result == type;
}

static bool match(push_call *h)
{
    return orient(h) && is_distinct(h) && has_forms(h) && !is_short(h) && !makes_few_dots(h) &&
           tsr_match_push_semiring(&h->p.semiring, h->c->semiring, h->c->vector && !h->c->flip) && fits_dense(h) && fits_target(h);
}

/* What waited is here after the hooks, and may be held otherwise than what was matched. */
static bool inspect(push_call *h)
{
    const tsr_arguments *c = h->c;
    TSR_HOOK_READ(c->M);
    TSR_HOOK_READ(c->A);
    TSR_HOOK_READ(c->B);
    if (c->C != h->u_handle)
        TSR_HOOK_WRITE(c->C);
    if (!has_forms(h) || !inspect_vectors(h) || !tsr_few_inspect_matrix(&h->p, h->a_handle) || !fits(h) || !fits_types(h) || !fits_c(h) ||
        scales_sooner(h))
        return false;
    if (h->u.sorts && (c->C != h->u_handle || h->through))
        return tsr_few_inspect_sorted(&h->u);
    return true;
}

/* ---- by a device ---- */

/* If it is predicted to be sooner there, although everything is here. */
static bool on_device(GrB_Info *info, push_call *h)
{
    int code = 0;
    tsr_caller = h->c->name;
    const bool done = tsr_engine_call_on_device(&tsr_graphblas_door, h->c, &code);
    h->c->here = !done;
    *info = (GrB_Info)code;
    return done;
}

/* ---- push, and pull of one sparse vector ---- */

static void report(const push_call *h, const char *route, int64_t nvals, double start)
{
    if (!tsr_trace_wanted())
        return;
    char pattern[128];
    const tsr_push *p = &h->p;
    snprintf(pattern, sizeof pattern, "%s%s%s %s n=%lld of %lld entries, %lld multiply-adds, %lld entries", h->pull ? "pull" : "push",
             h->c->accum ? " accum" : "", p->mask ? p->mask_complement ? " !mask" : " mask" : "", tsr_type_name(p->semiring.result), (long long)h->old.view.vlen,
             (long long)h->u.view.nvals, (long long)h->work, (long long)nvals);
    const tsr_trace_record record = {.call = h->c->name, .pattern = pattern, .route = route, .predicted_ms = -1.0,
                                     .measured_ms = tsr_engine_clock_ms() - start, .reason = "few sparse vectors"};
    tsr_trace_product(&record);
}

static bool is_target(const push_call *h)
{
    return h->c->C == h->u_handle;
}

/* C's arrays, if it is U and they are not known: otherwise new ones are sooner. */
static bool take_target(push_call *h, tsr_few_target *target)
{
    if (h->old.sparsity == GxB_SPARSE && is_target(h) && h->u.sorts && !h->through)
        return tsr_few_take(target, &h->u);
    *target = tsr_few_target_of(&h->old);
    return true;
}

/* Does a single vector's result probably have an eighth of all places, as sums? */
static bool makes_many(const push_call *h)
{
    const tsr_view *m = &h->m.view;
    const bool listed = h->masked && !h->mod.mask_comp && tsr_is_compressed(m);
    const int64_t most = listed && m->nvals < h->work ? m->nvals : h->work;
    return !h->p.pattern && h->p.semiring.add != TSR_REDUCE_ANY && most >= h->old.view.vlen / 8;
}

static bool compute(push_call *h, tsr_few_target *target, tsr_few *t)
{
    find_one(h);
    complete(h);
    if (is_dense(h->u_handle) && !h->iso)
        return false;
    h->work = h->pull ? tsr_engine_pull_listed_work(&h->p) : tsr_engine_push_work(&h->p);
    if (h->work < 0)
        return false;
    h->p.many_by_place = !h->pull && !h->through && h->p.u.nvec == 1 && tsr_few_many_by_place(target);
    if (h->p.many_by_place && makes_many(h))
        h->p.sums = tsr_few_room(target, h->p.semiring.result);
    return (h->pull ? tsr_engine_pull_listed(&h->p, h->work, t) : tsr_engine_push(&h->p, h->work, t)) == TSR_OK;
}

/* How SuiteSparse would have come by it.  To transpose no entries leaves no one value, and what is transposed under a mask it joins with C
 * whatever C keeps. */
static void settle_form(push_call *h, tsr_few_target *target, const tsr_few *t)
{
    const tsr_dots dots = tsr_dots_of(&h->p);
    target->from = tsr_dots_form(dots, t->nvals, h->old.view.vlen);
    target->dead = dots == TSR_DOTS_LISTED ? h->m.view.nvals - t->nvals : 0;
    h->iso = h->iso && (t->nvals > 0 || dots != TSR_DOTS_TRANSPOSED);
    h->through = h->through || (dots == TSR_DOTS_TRANSPOSED && h->p.mask);
}

/* What SuiteSparse refuses to join it is to refuse as a product. */
static bool give(GrB_Info *info, push_call *h, tsr_few_target *target, const tsr_few *t)
{
    const tsr_type type = h->p.semiring.result;
    const void *one = h->iso ? &h->one : NULL;
    const tsr_through to = {.C = h->c->C, .M = h->p.mask ? h->c->M : NULL, .accum = h->c->accum, .vector = h->c->vector};
    if (!h->through)
        return tsr_few_give(info, target, t, type, one);
    return tsr_few_put_back(target) && tsr_few_put(info, target, t, type, one, &to, &h->mod) &&
           (*info == GrB_SUCCESS || *info == GrB_OUT_OF_MEMORY);
}

static bool finish(GrB_Info *info, push_call *h, tsr_few_target *target)
{
    tsr_few t;
    bool done = false;
    if (compute(h, target, &t)) {
        if (h->pull)
            settle_form(h, target, &t);
        if (is_target(h))
            TSR_HOOK_WRITE(h->c->C);
        done = give(info, h, target, &t);
        h->nvals = t.nvals;
        tsr_engine_few_release(&t);
    }
    return done;
}

static double start_ms(const push_call *h)
{
    return h->timed || tsr_trace_wanted() ? tsr_engine_clock_ms() : 0;
}

static bool lists(GrB_Info *info, push_call *h)
{
    h->timed = tsr_engine_few_is_timed();
    const double start = start_ms(h);
    tsr_few_target target;
    if (!take_target(h, &target))
        return false;
    const bool done = finish(info, h, &target);
    if (!done) {
        tsr_few_put_back(&target);
        return false;
    }
    if (h->timed && h->pull)
        tsr_engine_pull_took(&h->p, h->work, tsr_engine_clock_ms() - start);
    else if (h->timed)
        tsr_engine_push_took(&h->p, tsr_engine_clock_ms() - start);
    report(h, h->pull ? "cpu:pull_listed" : "cpu:push", h->nvals, start);
    return true;
}

/* ---- pull of several dense vectors ---- */

/* New arrays for the result; C's old ones may be u's. */
static bool pull_here(GrB_Info *info, push_call *h)
{
    h->timed = tsr_engine_few_is_timed();
    const double start = start_ms(h);
    const int64_t n = h->old.view.vlen * h->u.view.nvec;
    tsr_handover arrays;
    if (!tsr_arrays_dense(&arrays, &tsr_door_memory, n, h->p.semiring.result, true))
        return false;
    const int64_t nvals = tsr_engine_pull(&h->p, h->work, arrays.b, arrays.x);
    if (nvals < 0) {
        tsr_arrays_free(&arrays);
        return false;
    }
    tsr_arrays_count(&arrays, nvals, n);
    if (is_target(h))
        TSR_HOOK_WRITE(h->c->C);
    *info = tsr_finish_own(h->c->C, false, false, &arrays);
    tsr_arrays_free(&arrays);
    if (h->timed)
        tsr_engine_pull_took(&h->p, h->work, tsr_engine_clock_ms() - start);
    report(h, "cpu:pull", nvals, start);
    return true;
}

static bool pull(GrB_Info *info, push_call *h)
{
    complete(h);
    h->work = tsr_engine_pull_work(&h->p);
    if (h->work < 0)
        return false;
    return (!h->c->here && tsr_engine_pull_leaves(&h->p, h->work) && on_device(info, h)) || pull_here(info, h);
}

/* ---- calls ---- */

/* Controls that are promised are not what the objects say. */
static bool forms_wait(const tsr_arguments *c)
{
    return tsr_form_waits(c->C) || tsr_form_waits(c->M) || tsr_form_waits(c->A) || tsr_form_waits(c->B);
}

static bool allowed(const tsr_arguments *call)
{
    const tsr_config *config = tsr_config_get();
    return config->mode != TSR_MODE_OFF && config->mode != TSR_MODE_GPU && !(config->disabled & call->disable) &&
           config->min_work <= 0 && !(tsr_busy() & TSR_BUSY_LOST) && !forms_wait(call);
}

static bool on_host(GrB_Info *info, push_call *h)
{
    const bool done = inspect(h) && (h->pull && !pulls_list(h) ? pull(info, h) : lists(info, h));
    tsr_few_drop_copies(&h->u);
    tsr_few_drop_copies(&h->m);
    return done;
}

bool tsr_try_push(GrB_Info *info, tsr_arguments *call)
{
    push_call h = {.c = call};
    if (!allowed(call) || !match(&h) || tsr_product_is_measured(call) || tsr_product_is_on_device(&tsr_graphblas_door, call))
        return false;
    tsr_quiet_begin();
    const bool done = (tsr_product_concerns_device(&tsr_graphblas_door, call) && on_device(info, &h)) || on_host(info, &h);
    tsr_quiet_end();
    return done;
}
