/* Route and execute one product.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/kernels.h"
#include "src/engine/operands.h"
#include "src/registry/backends.h"
#include "src/registry/config.h"
#include "src/registry/trace.h"
#include "src/route/route.h"

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static const unsigned disable_bit[TSR_OP_COUNT] = {
    [TSR_OP_SPMM] = TSR_DISABLE_SPMM,
    [TSR_OP_SPMV] = TSR_DISABLE_SPMV,
    [TSR_OP_SDDMM] = TSR_DISABLE_SDDMM,
    [TSR_OP_MASKED_DOT] = TSR_DISABLE_MASKED_DOT,
};

static const char *const op_name[TSR_OP_COUNT] = {"spmm", "spmv", "sddmm", "masked_dot"};
static const char *const add_name[TSR_ADD_COUNT] = {"plus", "min", "max", "any", "lor"};
static const char *const mul_name[TSR_MUL_COUNT] = {"times", "first", "second", "pair", "plus", "and"};

void tsr_engine_describe(char *text, size_t size, const tsr_product *p)
{
    snprintf(text, size, "%s %s_%s %s m=%lld k=%lld n=%lld nnz=%lld", op_name[p->op], add_name[p->semiring.add],
             mul_name[p->semiring.mul], tsr_type_name(p->semiring.type), (long long)p->m, (long long)p->k,
             (long long)p->n, (long long)(p->op == TSR_OP_SDDMM ? p->mask.nvals : p->a.nvals));
}

static bool forward(tsr_decision *d, const char *reason)
{
    d->backend = NULL;
    snprintf(d->reason, sizeof d->reason, "%s", reason);
    return false;
}

bool tsr_engine_too_small(const tsr_product *p)
{
    tsr_features f;
    tsr_features_of(&f, p);
    double least = tsr_config_get()->min_work;
    return tsr_work(&f) < (least >= 0 ? least : tsr_least_work(&f));
}

int tsr_engine_useful_threads(const tsr_product *p)
{
    tsr_features f;
    tsr_features_of(&f, p);
    double useful = tsr_work(&f) / 65536.0;
    return useful < 1 ? 1 : useful < p->nthreads ? (int)useful : p->nthreads;
}

/* Limits that hold before any prediction. */
static bool allowed(const tsr_request *r, tsr_decision *d)
{
    if (tsr_config_get()->disabled & disable_bit[r->product.op])
        return forward(d, "disabled");
    tsr_product cast = r->product; /* as tsr_operands_prepare will make it */
    cast.a.type = cast.b.type = cast.semiring.type;
    if (!tsr_backend_cpu()->supports(&cast))
        return forward(d, "no backend supports it");
    return true;
}

/* Representation that the CPU kernels like best: 32-bit indices, values cast, by row for SpMM and SpMV. */
static void wanted_reps(const tsr_request *r, tsr_decision *d)
{
    const tsr_product *p = &r->product;
    d->a_key = (tsr_rep_key){.by_col = tsr_wanted_by_col_a(p) != r->a_transposed, .pattern = !tsr_reads_a(p), .type = p->semiring.type};
    if (d->a_key.pattern)
        d->a_key.type = TSR_BOOL;
}

static tsr_features with_rep(const tsr_features *f, bool by_col)
{
    tsr_features g = *f;
    g.a_by_col = by_col;
    g.a_cast = false;
    g.narrow_index = true;
    return g;
}

/* Use the representation of A if there is one; build it when it pays (ski-rental). Returns the predicted time. */
static double plan_representation(const tsr_request *r, const tsr_features *f, tsr_decision *d)
{
    double without = tsr_predict_cpu_ms(f);
    if (!r->a_matrix || (r->product.op != TSR_OP_SPMM && r->product.op != TSR_OP_SPMV))
        return without;
    if (tsr_config_get()->eager) {
        d->build_a = true;
        return without;
    }
    bool rep_by_col = d->a_key.by_col != r->a_transposed;
    tsr_features g = with_rep(f, rep_by_col);
    double with = tsr_predict_cpu_ms(&g);
    if (with >= without)
        return without;
    tsr_rep *rep = tsr_matrix_find(r->a_matrix, d->a_key);
    d->build_a = rep != NULL;
    tsr_rep_unref(rep);
    if (d->build_a)
        return with;
    bool flip = f->a_by_col != rep_by_col;
    double price = tsr_predict_build_ms(f->a_nnz, f->m + f->k, flip, !d->a_key.pattern && !r->product.a.iso, f->nthreads);
    /* What is lost without it is counted against the best of what is possible without. */
    double base = r->may_forward && d->forward_ms >= 0 && d->forward_ms < without ? d->forward_ms : without;
    double gain = base - with;
    if (gain <= 0)
        return without;
    double regret = tsr_matrix_regret(r->a_matrix, d->a_key, 0.0);
    d->build_a = tsr_worth_building(price, regret, gain, r->expected_calls);
    if (d->build_a)
        return with;
    tsr_matrix_regret(r->a_matrix, d->a_key, gain);
    return without;
}

void tsr_engine_decide(const tsr_request *r, tsr_decision *d)
{
    *d = (tsr_decision){.predicted_ms = -1.0, .forward_ms = -1.0};
    tsr_features f;
    tsr_features_of(&f, &r->product);
    f.finish_extra = r->finish_extra;
    f.accum_full = r->accum_full;
    if (!allowed(r, d))
        return;
    wanted_reps(r, d);
    d->forward_ms = r->may_forward ? tsr_predict_suitesparse_ms(&f) : -1.0;
    d->predicted_ms = plan_representation(r, &f, d);
    d->backend = tsr_backend_cpu();
    if (!r->may_forward) {
        snprintf(d->reason, sizeof d->reason, "predicted %.3g ms", d->predicted_ms);
        return;
    }
    bool forced = tsr_config_get()->mode == TSR_MODE_CPU;
    bool better = d->predicted_ms < d->forward_ms * TSR_ROUTE_MARGIN;
    snprintf(d->reason, sizeof d->reason, "%spredicted %.3g ms, SuiteSparse %.3g ms", forced ? "forced; " : "",
             d->predicted_ms, d->forward_ms);
    if (!better && !forced)
        d->backend = NULL;
}

bool tsr_engine_result_full(const tsr_request *r)
{
    const tsr_product *p = &r->product;
    if (p->op != TSR_OP_SPMM && p->op != TSR_OP_SPMV)
        return false;
    return p->b.format == TSR_FULL && p->k > 0 && tsr_matrix_all_rows_present(r->a_matrix, &p->a, r->a_transposed, p->nthreads);
}

/* TESSERA_KERNEL=ref: every routed product by the reference kernels, to check an answer. */
static bool by_reference(void)
{
    return strcmp(tsr_config_get()->kernel, "ref") == 0;
}

static void report(const tsr_request *r, const tsr_decision *d, double measured_ms)
{
    if (!tsr_trace_wanted())
        return;
    char pattern[160], route[96];
    tsr_engine_describe(pattern, sizeof pattern, &r->product);
    snprintf(route, sizeof route, "%s:%s", d->backend->name,
             by_reference() ? "ref" : d->backend->kernel_name(&r->product));
    tsr_trace_product(&(tsr_trace_record){.call = r->call, .pattern = pattern, .route = route, .reason = d->reason,
                                          .predicted_ms = d->predicted_ms, .measured_ms = measured_ms});
}

void tsr_engine_report_forward(const char *call, const char *pattern, const char *reason)
{
    if (tsr_trace_wanted())
        tsr_trace_product(&(tsr_trace_record){.call = call, .pattern = pattern, .route = "suitesparse",
                                              .reason = reason, .predicted_ms = -1.0, .measured_ms = -1.0});
}

typedef tsr_status (*execute_fn)(const tsr_product *product, tsr_result *result);

static tsr_status execute_with(execute_fn execute, const tsr_request *r, const tsr_decision *d, tsr_result *result)
{
    tsr_operands held;
    tsr_product ready;
    tsr_status status = tsr_operands_prepare(&held, &ready, r, d);
    if (status == TSR_OK)
        status = execute(&ready, result);
    tsr_operands_release(&held);
    return status;
}

void tsr_engine_add_to(void *x, tsr_type type, const void *c, bool iso, int64_t n, int nthreads)
{
    tsr_cpu_add_to(x, type, c, iso, n, nthreads);
}

tsr_status tsr_engine_execute_surely(const tsr_request *r, const tsr_decision *d, tsr_result *result)
{
    tsr_status status = tsr_engine_execute(r, d, result);
    if (status == TSR_OK)
        return status;
    tsr_request alone = *r;
    tsr_decision plain = *d;
    alone.product.nthreads = 1;
    plain.build_a = false;
    status = execute_with(d->backend->execute, &alone, &plain, result);
    return status == TSR_OK ? status : execute_with(tsr_ref_execute, &alone, &plain, result);
}

tsr_status tsr_engine_execute(const tsr_request *r, const tsr_decision *d, tsr_result *result)
{
    double start = now_ms();
    tsr_status status = execute_with(by_reference() ? tsr_ref_execute : d->backend->execute, r, d, result);
    if (status == TSR_OK)
        report(r, d, now_ms() - start);
    return status;
}
