/* Execution of plans of the native door.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "src/sparse_blas/native.h"

/* One execution: the result goes straight to the caller's array, or through scratch. */
typedef struct run {
    const tsr_plan *plan;
    tsr_call call;
    tsr_decision decision;
    tsr_finish finish;
    void *scratch;   /* T, when it cannot be C itself */
    int8_t *present; /* NULL: every place has an entry */
    const void *joined; /* what T is added to: C, or one zero; NULL: nothing */
} run;

static bool can_scale(const tsr_semiring *s)
{
    return s->add == TSR_ADD_PLUS && (s->type == TSR_FP32 || s->type == TSR_FP64);
}

static tsr_status check_scalars(const tsr_plan *plan, double alpha, double beta, const void *stream)
{
    bool plain = alpha == 1 && beta == 0;
    return !stream && (plain || can_scale(&plan->call.product.semiring)) ? TSR_OK : TSR_NOT_SUPPORTED;
}

static bool same_operand(const tsr_dense *planned, const tsr_dense *given)
{
    return planned->type == given->type && planned->layout == given->layout && planned->nrows == given->nrows &&
           planned->ncols == given->ncols && tsr_native_check_dense(given) == TSR_OK &&
           (given->data || given->nrows == 0 || given->ncols == 0);
}

static tsr_status check_call(const tsr_plan *plan, const tsr_sparse *a, const tsr_dense *first, const tsr_dense *second,
                             bool sddmm)
{
    if (!plan || !a || !first || !second) {
        return TSR_INVALID_VALUE;
    }
    if ((plan->call.product.op == TSR_OP_SDDMM) != sddmm) {
        return TSR_NOT_SUPPORTED;
    }
    return a == plan->a && same_operand(&plan->first, first) && same_operand(&plan->second, second) ? TSR_OK
                                                                                                   : TSR_INVALID_VALUE;
}

/* ---- overlaps ---- */

/* `count` pieces of `length` bytes, each `period` after the one before. */
typedef struct span {
    uintptr_t begin;
    size_t length, period;
    int64_t count;
} span;

static span of_dense(const tsr_dense *d)
{
    const bool by_col = d->layout == TSR_COL_MAJOR;
    const size_t size = tsr_type_size(d->type);
    return (span){(uintptr_t)d->data, (size_t)(by_col ? d->nrows : d->ncols) * size, (size_t)d->ld * size, by_col ? d->ncols : d->nrows};
}

static span of_array(const void *data, int64_t n, size_t size)
{
    return (span){(uintptr_t)data, (size_t)n * size, (size_t)n * size, 1};
}

static uintptr_t end_of(const span *s)
{
    return s->begin + (size_t)(s->count - 1) * s->period + s->length;
}

/* Blocks of one larger matrix may lie between each other's rows. */
static bool overlap(span a, span b)
{
    if (!a.count || !b.count || !a.length || !b.length || a.begin >= end_of(&b) || b.begin >= end_of(&a)) {
        return false;
    }
    const size_t period = a.count > 1 ? a.period : b.period;
    if (b.count > 1 && b.period != period) {
        return true;
    }
    const size_t after = b.begin >= a.begin ? (b.begin - a.begin) % period : period - 1 - (a.begin - b.begin - 1) % period;
    return after < a.length || after + b.length > period;
}

/* The arrays of `a` are those that the caller gave, or copies that nobody else has. */
static bool overlaps_pattern(span written, const tsr_view *a)
{
    return overlap(written, of_array(a->p, a->nvec + 1, sizeof *a->p)) || overlap(written, of_array(a->i, a->nvals, a->index_size));
}

static bool overlaps_matrix(span written, const tsr_view *a)
{
    return overlaps_pattern(written, a) || (!a->iso && overlap(written, of_array(a->x, a->nvals, tsr_type_size(a->type))));
}

/* ---- memory of one call ---- */

static tsr_status reserve(run *r, int64_t cells, bool direct, bool full)
{
    if (!direct) {
        r->scratch = malloc((size_t)cells * tsr_type_size(r->finish.semiring.type));
    }
    if (!full) {
        r->present = malloc((size_t)cells);
    }
    return (direct || r->scratch) && (full || r->present) ? TSR_OK : TSR_OUT_OF_MEMORY;
}

static void release(run *r)
{
    free(r->scratch);
    free(r->present);
}

/* A plan that builds a representation is kept to; otherwise the engine's account of what was lost goes on. */
static void decide(run *r)
{
    if (r->plan->decision.build_a) {
        r->decision = r->plan->decision;
    } else {
        tsr_engine_decide(&r->call, &r->decision);
    }
}

static tsr_status compute(run *r)
{
    tsr_result result = {.x = r->scratch ? r->scratch : r->finish.c, .b = r->present, .c = r->joined, .c_iso = r->joined != r->finish.c};
    tsr_status status = TSR_NOT_SUPPORTED;
    if (r->decision.backend) {
        status = tsr_engine_execute(&r->call, &r->decision, &result);
    }
    r->finish.t = result.x;
    r->finish.present = r->present;
    return status == TSR_DECLINED ? TSR_NOT_SUPPORTED : status;
}

static bool is_nothing(const run *r, int64_t entries)
{
    return entries == 0 || r->call.product.k == 0 || r->finish.alpha == 0;
}

/* ---- SpMM, SpMV ---- */

static void describe_c(run *r, const tsr_dense *c)
{
    bool by_col = c->layout == TSR_COL_MAJOR;
    r->finish.c = c->data;
    r->finish.outer = by_col ? c->ncols : c->nrows;
    r->finish.inner = by_col ? c->nrows : c->ncols;
    r->finish.ld = c->ld;
}

/* A backend that joins sums to C adds them itself, or adds them to zeros, which makes T full.  True: C is written directly. */
static bool place_result(run *r)
{
    static const double zero; /* of any type */
    const tsr_finish *f = &r->finish;
    const bool unscaled = f->alpha == 1 && (f->beta == 0 || f->beta == 1), dense = f->ld == f->inner || f->outer == 1;
    r->call.through_t = !(unscaled && dense);
    decide(r);
    if (f->semiring.add == TSR_ADD_PLUS && tsr_engine_joins(&r->call, &r->decision)) {
        r->joined = unscaled && dense && f->beta == 1 ? f->c : &zero;
    }
    r->call.through_t = !(unscaled && dense && (f->beta == 0 || r->joined));
    return !r->call.through_t;
}

static tsr_status spmm(run *r)
{
    tsr_finish *f = &r->finish;
    const bool direct = place_result(r);
    const bool full = r->joined || tsr_engine_result_full(&r->call);
    tsr_status status = reserve(r, f->outer * f->inner, direct, full);
    if (status == TSR_OK) {
        status = compute(r);
    }
    if (status == TSR_OK && !(direct && full)) {
        tsr_native_finish(f);
    }
    release(r);
    return status;
}

static run begin(const tsr_plan *plan, double alpha, double beta)
{
    run r = {.plan = plan};
    r.finish.semiring = plan->call.product.semiring;
    r.finish.alpha = alpha;
    r.finish.beta = beta;
    return r;
}

tsr_status tsr_execute(const tsr_plan *plan, double alpha, tsr_sparse *a, const tsr_dense *b, double beta,
                       const tsr_dense *c, void *stream)
{
    tsr_status status = check_call(plan, a, b, c, false);
    if (status == TSR_OK) {
        status = check_scalars(plan, alpha, beta, stream);
    }
    if (status != TSR_OK || c->nrows == 0 || c->ncols == 0) {
        return status;
    }
    if (overlap(of_dense(c), of_dense(b)) || overlaps_matrix(of_dense(c), &a->view)) {
        return TSR_INVALID_VALUE;
    }
    run r = begin(plan, alpha, beta);
    tsr_native_bind(&r.call, plan, a, b, c);
    r.finish.nthreads = r.call.product.nthreads;
    describe_c(&r, c);
    if (is_nothing(&r, a->view.nvals)) {
        tsr_native_finish(&r.finish);
        return TSR_OK;
    }
    return spmm(&r);
}

/* ---- SDDMM ---- */

/* The values as blocks, for the threads of tsr_native_finish, and the rest. */
static void finish_values(const tsr_finish *whole, int64_t count)
{
    enum { BLOCK = 4096 };
    size_t size = tsr_type_size(whole->semiring.type), done = (size_t)(count / BLOCK * BLOCK);
    tsr_finish blocks = *whole, rest = *whole;
    blocks.outer = count / BLOCK;
    blocks.inner = blocks.ld = BLOCK;
    rest.outer = 1;
    rest.inner = rest.ld = count % BLOCK;
    rest.c = (char *)whole->c + done * size;
    rest.t = whole->t ? (const char *)whole->t + done * size : NULL;
    rest.present = whole->present ? whole->present + done : NULL;
    tsr_native_finish(&blocks);
    tsr_native_finish(&rest);
}

static tsr_status sampled_values(run *r, int64_t count)
{
    if (is_nothing(r, count)) {
        finish_values(&r->finish, count);
        return TSR_OK;
    }
    const bool direct = r->finish.alpha == 1 && r->finish.beta == 0;
    tsr_status status = reserve(r, count, direct, false);
    if (status == TSR_OK) {
        decide(r);
        status = compute(r);
    }
    if (status == TSR_OK) {
        finish_values(&r->finish, count);
    }
    release(r);
    return status;
}

static tsr_status sddmm(run *r, const tsr_view *s)
{
    tsr_status status = sampled_values(r, s->nvals);
    if (status == TSR_OK && r->plan->flags & TSR_SOFTMAX_ROWS) {
        tsr_engine_softmax_rows(r->finish.c, s->p, s->nrows, r->finish.semiring.type, r->finish.nthreads);
    }
    return status;
}

tsr_status tsr_execute_sddmm(const tsr_plan *plan, double alpha, const tsr_dense *x, const tsr_dense *y, double beta,
                             tsr_sparse *s, void *values, void *stream)
{
    tsr_status status = check_call(plan, s, x, y, true);
    if (status == TSR_OK) {
        status = check_scalars(plan, alpha, beta, stream);
    }
    if (status != TSR_OK || s->view.nvals == 0) {
        return status;
    }
    const span written = of_array(values, s->view.nvals, tsr_type_size(plan->call.product.semiring.type));
    if (!values || overlap(written, of_dense(x)) || overlap(written, of_dense(y)) || overlaps_pattern(written, &s->view)) {
        return TSR_INVALID_VALUE;
    }
    run r = begin(plan, alpha, beta);
    tsr_native_bind(&r.call, plan, s, x, y);
    r.finish.nthreads = r.call.product.nthreads;
    r.finish.c = values;
    return sddmm(&r, &s->view);
}
