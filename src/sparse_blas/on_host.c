/* Executions of the native door with operands in host memory.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "src/engine/call/host.h"
#include "src/engine/product/decide.h"
#include "src/engine/product/execute.h"
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

/* ---- memory of one call ---- */

static tsr_status reserve(run *r, int64_t cells, bool direct, bool full)
{
    if (!direct) {
        r->scratch = malloc((size_t)cells * tsr_type_size(r->finish.semiring.type));
    }
    if (!full) {
        r->present = malloc((size_t)cells);
    }
    return (direct || r->scratch) && (full || r->present) ? TSR_OK : tsr_native_no_memory();
}

static void release(run *r)
{
    free(r->scratch);
    free(r->present);
}

/* A plan that builds a representation is kept to; otherwise the engine goes on adding up what was lost. */
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
    if (status == TSR_OK) {
        return status;
    }
    const char *why = status == TSR_OUT_OF_MEMORY ? "ran out of memory" : status == TSR_INTERNAL_ERROR ? "failed" : "does not compute the product";
    return tsr_native_fail(status == TSR_DECLINED ? TSR_NOT_SUPPORTED : status, "the backend %s", why);
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

tsr_status tsr_native_execute_on_host(const tsr_plan *plan, tsr_complex by, tsr_sparse *a, const tsr_dense *b, tsr_complex beta,
                                      const tsr_dense *c)
{
    tsr_status status = tsr_native_refresh(a);
    if (status != TSR_OK) {
        return status;
    }
    if (tsr_native_is_complex(plan)) {
        return tsr_native_execute_complex(plan, by, a, b, beta, c);
    }
    const double alpha = by.re;
    run r = begin(plan, alpha, beta.re);
    describe_c(&r, c);
    if (tsr_native_takes_half(plan) && alpha != 0 && a->view.nvals > 0) {
        return tsr_native_execute_half(plan, alpha, a, b, beta.re, c);
    }
    tsr_widened wide;
    tsr_dense read = *b;
    read.data = alpha != 0 ? b->data : NULL;
    status = tsr_native_widen(&wide, &read);
    if (status != TSR_OK) {
        return status;
    }
    tsr_native_bind(&r.call, plan, a, &wide.dense, c);
    r.finish.nthreads = r.call.product.nthreads;
    if (is_nothing(&r, a->view.nvals)) {
        tsr_native_finish(&r.finish);
    } else {
        status = spmm(&r);
    }
    free(wide.copy);
    return status;
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

tsr_status tsr_native_execute_sddmm_on_host(const tsr_plan *plan, double alpha, const tsr_dense *x, const tsr_dense *y, double beta,
                                            tsr_sparse *s, void *values)
{
    run r = begin(plan, alpha, beta);
    tsr_widened wide_x, wide_y = {0};
    tsr_status status = tsr_native_widen(&wide_x, x);
    if (status == TSR_OK) {
        status = tsr_native_widen(&wide_y, y);
    }
    if (status == TSR_OK) {
        tsr_native_bind(&r.call, plan, s, &wide_x.dense, &wide_y.dense);
        r.finish.nthreads = r.call.product.nthreads;
        r.finish.c = values;
        status = sddmm(&r, &s->view);
    }
    free(wide_x.copy);
    free(wide_y.copy);
    return status;
}
