/* Who computes one product, with what: predictions, what was lost without, what was measured.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/product/decide.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/base/split.h"
#include "src/engine/call/clock.h"
#include "src/engine/call/host.h"
#include "src/engine/call/start.h"
#include "src/engine/product/operands.h"
#include "src/policy/history/frontier_history.h"
#include "src/policy/history/start_history.h"
#include "src/policy/history/stay_history.h"
#include "src/policy/history/timing_history.h"
#include "src/policy/price/gpu_price.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"
#include "src/runtime/trace.h"

static const unsigned disable_bit[TSR_OP_COUNT] = {
    [TSR_OP_SPMM] = TSR_DISABLE_SPMM,
    [TSR_OP_SPMV] = TSR_DISABLE_SPMV,
    [TSR_OP_SDDMM] = TSR_DISABLE_SDDMM,
    [TSR_OP_MASKED_DOT] = TSR_DISABLE_MASKED_DOT,
};

static bool forward(tsr_decision *d, const char *reason)
{
    d->backend = NULL;
    snprintf(d->reason, sizeof d->reason, "%s", reason);
    return false;
}

/* Adds to the reason, which only the trace reads: numbers cost as much time as a small product. */
__attribute__((format(printf, 2, 3))) static void explain(tsr_decision *d, const char *format, ...)
{
    if (!tsr_trace_wanted())
        return;
    const size_t used = strlen(d->reason);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(d->reason + used, sizeof d->reason - used, format, arguments);
    va_end(arguments);
}

static bool below_least(const tsr_config *config, tsr_op op, double work)
{
    return work < (config->min_work >= 0 ? config->min_work : tsr_least_work(op));
}

bool tsr_engine_too_small(const tsr_product *p)
{
    tsr_features f;
    if ((p->a_value || p->b_value) && tsr_config_get()->min_work < 0)
        return false;
    tsr_features_of(&f, p);
    return below_least(tsr_config_get(), f.op, tsr_work_of(&f));
}

bool tsr_engine_hopeless(double most_work, bool masked)
{
    return below_least(tsr_config_get(), masked ? TSR_OP_MASKED_DOT : TSR_OP_SPMM, most_work);
}

bool tsr_engine_leaves(double most_work, bool masked)
{
    const tsr_config *config = tsr_config_get();
    return below_least(config, masked ? TSR_OP_MASKED_DOT : TSR_OP_SPMM, most_work) && !tsr_trace_asked_for(config);
}

int tsr_engine_useful_threads(const tsr_product *p)
{
    tsr_features f;
    tsr_features_of(&f, p);
    return tsr_chunk_threads(tsr_work_of(&f), p->nthreads);
}

/* The product as tsr_operands_prepare will make it. */
static tsr_product as_cast(const tsr_product *p)
{
    tsr_product cast = *p;
    cast.a.type = cast.b.type = cast.semiring.type;
    return cast;
}

/* Limits that hold before any prediction. */
static bool allowed(const tsr_call *call, tsr_decision *d)
{
    if (tsr_config_get()->disabled & disable_bit[call->product.op])
        return forward(d, "disabled");
    tsr_product cast = as_cast(&call->product);
    if (!tsr_backend_cpu()->supports(&cast))
        return forward(d, "no backend supports it");
    return true;
}

/* Representation that the CPU kernels like best: 32-bit indices, values cast, by row for SpMM and SpMV. */
static void wanted_reps(const tsr_call *call, tsr_decision *d)
{
    const tsr_product *p = &call->product;
    d->a_key = (tsr_rep_key){.by_col = tsr_wanted_by_col_a(p) != call->a.transposed, .pattern = !tsr_reads_a(p),
                             .type = p->semiring.type};
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
static double plan_representation(const tsr_call *call, const tsr_features *f, tsr_decision *d)
{
    double without = tsr_predict_cpu_ms(f);
    if (!call->a.record || tsr_is_masked(call->product.op) || call->b_sparse)
        return without;
    if (tsr_config_get()->eager) {
        d->build_a = true;
        return without;
    }
    bool rep_by_col = d->a_key.by_col != call->a.transposed;
    tsr_features g = with_rep(f, rep_by_col);
    double with = tsr_predict_cpu_ms(&g);
    if (with >= without)
        return without;
    tsr_rep *rep = tsr_record_find(call->a.record, d->a_key);
    d->build_a = rep != NULL;
    tsr_rep_unref(rep);
    if (d->build_a)
        return with;
    bool flip = f->a_by_col != rep_by_col;
    double price = tsr_predict_build_ms(f->a_nnz, f->m + f->k, flip, !d->a_key.pattern && !call->product.a.iso, f->nthreads);
    /* What is lost without it is counted against the best of what is possible without. */
    double base = call->may_forward && d->forward_ms >= 0 && d->forward_ms < without ? d->forward_ms : without;
    double gain = base - with;
    if (gain <= 0)
        return without;
    double regret = tsr_record_regret(call->a.record, d->a_key, 0.0);
    d->build_a = tsr_worth_building(price, regret, gain, call->expected_calls);
    if (d->build_a)
        return with;
    tsr_record_regret(call->a.record, d->a_key, gain);
    return without;
}

/* May dense operands and results of such products live on the device, once it runs?  In a loop of a program they come to. */
static bool may_settle(const tsr_call *call)
{
    return call->may_forward && !tsr_is_masked(call->product.op) && !(tsr_config_get()->disabled & TSR_DISABLE_RESIDENCY);
}

/* With everything on the device, as in a loop that has moved.  Where each product has an A of its own, as one that is packed for it,
 * that is uploaded each time. */
static double settled_ms(const tsr_features *f, bool dense)
{
    tsr_features g = *f;
    g.a_on_device = f->a_known;
    g.a_array_on_device = g.b_on_device = g.c_stays = dense;
    return tsr_predict_gpu_ms(&g);
}

/* Once it runs, operands and results of a loop may be there. */
static double started_ms(const tsr_call *call, const tsr_features *f)
{
    return settled_ms(f, may_settle(call));
}

static bool start_pays(const tsr_call *call, const tsr_features *f, double base)
{
    const double device = started_ms(call, f);
    return tsr_engine_starts_gpu(tsr_start_gains(base, device) ? base - device : 0, call->expected_calls);
}

/* Left to the host it is timed there, and that counts. */
static bool is_timed_on_host(const tsr_call *call)
{
    return call->in_place && call->b_sparse && call->given.M && !call->given.vector;
}

/* Is the GPU wanted for a product that takes `base` ms without? */
static bool wants_gpu(const tsr_call *call, const tsr_features *f, double base)
{
    const tsr_config *config = tsr_config_get();
    if (tsr_engine_by_reference() || config->mode != TSR_MODE_AUTO)
        return !tsr_engine_by_reference() && config->mode == TSR_MODE_GPU;
    if (call->remote.settled)
        return true;
    if (tsr_reads_device(call))
        return !tsr_stay_given_up(call->remote.loop);
    if (base < TSR_GPU_LEAST_MS)
        return false;
    return config->eager || tsr_backend_gpu_asked() || (!is_timed_on_host(call) && start_pays(call, f, base));
}

/* The GPU, started now if it was not, if it computes such products. */
static const tsr_backend *gpu_that_takes(const tsr_call *call)
{
    const tsr_backend *gpu = tsr_backend_gpu();
    tsr_product cast = as_cast(&call->product);
    return gpu && gpu->supports(&cast) ? gpu : NULL;
}

/* What is lost without A on the GPU. */
static tsr_rep_key device_key(const tsr_call *call, const tsr_decision *d)
{
    tsr_rep_key key = d->a_key;
    key.by_col = call->a.transposed;
    key.device = true;
    return key;
}

/* Predicted time on the GPU.  Uploading A is paid for like a representation: when it costs more than this one product
 * gains. */
static double plan_gpu(const tsr_call *call, const tsr_features *f, const tsr_decision *d, const tsr_backend *gpu, double base)
{
    tsr_features g = *f;
    g.a_on_device = true;
    double without = tsr_predict_gpu_ms(f), with = tsr_predict_gpu_ms(&g);
    if (call->a.compressed || (call->a.record && tsr_operands_kept(call, gpu)))
        return with;
    if (!call->a.record || without < base * TSR_ROUTE_MARGIN || with >= base * TSR_ROUTE_MARGIN)
        return without;
    tsr_rep_key key = device_key(call, d);
    double regret = tsr_record_regret(call->a.record, key, 0.0), gain = base - with;
    if (tsr_worth_building(without - with, regret, gain, call->expected_calls))
        return with;
    tsr_record_regret(call->a.record, key, gain);
    return without;
}

/* Without the GPU, ms: the better of what was measured where it was, of what is predicted where not. */
static double without_gpu(const tsr_call *call, const tsr_features *f, const tsr_decision *d)
{
    if (call->b_sparse)
        return d->forward_ms; /* as its entries go, not as others of this shape */
    const uint64_t kind = tsr_timing_key(f);
    const double cpu = tsr_timing_ms(kind, TSR_ROUTE_CPU), real = tsr_timing_ms(kind, TSR_ROUTE_SUITESPARSE);
    const double cpu_ms = cpu >= 0 ? cpu : d->predicted_ms, real_ms = real >= 0 ? real : d->forward_ms;
    return d->forward_ms >= 0 && real_ms < cpu_ms ? real_ms : cpu_ms;
}

/* The GPU instead of what was decided, when it is predicted to be faster or asked for. */
static void consider_gpu(const tsr_call *call, const tsr_features *f, tsr_decision *d)
{
    double cpu_ms = d->predicted_ms, base = without_gpu(call, f, d);
    if (tsr_config_get()->mode == TSR_MODE_AUTO && tsr_backend_gpu_unasked()) {
        d->started_ms = started_ms(call, f);
        d->expected_ms = fmax(base, d->started_ms);
    }
    const tsr_backend *gpu = wants_gpu(call, f, base) ? gpu_that_takes(call) : NULL;
    if (!gpu)
        return;
    const bool forced = tsr_config_get()->mode == TSR_MODE_GPU, settled = call->remote.settled;
    double ms = settled ? settled_ms(f, true) : plan_gpu(call, f, d, gpu, base);
    if (!forced && !settled && ms >= base * TSR_ROUTE_MARGIN)
        return;
    d->backend = gpu;
    d->build_a = false;
    d->predicted_ms = ms;
    d->reason[0] = '\0';
    explain(d, "%spredicted %.3g ms, CPU %.3g ms", forced ? "forced; " : settled ? "the loop is on the device; " : "", ms, cpu_ms);
    if (d->forward_ms >= 0)
        explain(d, ", SuiteSparse %.3g ms", d->forward_ms);
}

/* ---- searches: products with an iso result, or of places ---- */

/* Share of the entries of A that are looked at: those of the entries of a sparse vector, or up to the first hit. */
static double searched_share(const tsr_features *f)
{
    return f->b_sparse ? f->b_nnz / (f->k * f->n) : TSR_SEARCHED_SHARE;
}

static double upload_ms(const tsr_features *f)
{
    tsr_features g = *f;
    g.a_on_device = true;
    return tsr_predict_gpu_ms(f) - tsr_predict_gpu_ms(&g);
}

/* A GPU that has the operands already and keeps the result. */
static double search_ms(const tsr_features *f)
{
    tsr_features g = *f;
    g.a_on_device = g.b_on_device = g.c_stays = true;
    g.a_nnz *= searched_share(f);
    return tsr_predict_gpu_ms(&g) + (f->a_known ? 0 : upload_ms(f));
}

/* A pull is computed there when its loop has moved, a push when pulls of such matrices have. */
static bool search_on_device(const tsr_call *call)
{
    const uint64_t loop = call->remote.loop;
    const tsr_product *p = &call->product;
    const double entries = (double)p->a.nvals, sides = (double)(p->m + p->k);
    if (tsr_config_get()->eager || !tsr_backend_gpu_asked())
        return tsr_config_get()->eager;
    if (!loop)
        return tsr_stay_is_searched(entries, sides);
    tsr_stay_set_searched(entries, sides, call->remote.settled);
    if (call->remote.settled)
        tsr_stay_starts(loop, true, tsr_engine_clock_ms());
    return call->remote.settled;
}

/* What SuiteSparse takes is not predicted but measured; what the GPU would have gained, in a loop that has settled there, is added up. */
static void decide_search(const tsr_call *call, const tsr_features *f, tsr_decision *d)
{
    forward(d, call->positions ? "a search: SuiteSparse ends at the first hit" : "iso result: SuiteSparse has a special case");
    if (tsr_config_get()->mode == TSR_MODE_CPU || !call->in_place || !may_settle(call) || !call->a.record || tsr_engine_by_reference())
        return;
    if (tsr_work_of(f) < TSR_OBSERVED_LEAST)
        return;
    d->observed_ms = search_ms(f);
    d->move_ms = upload_ms(f);
    const tsr_backend *gpu = search_on_device(call) ? gpu_that_takes(call) : NULL;
    if (!gpu)
        return;
    d->backend = gpu;
    d->predicted_ms = d->observed_ms;
    d->reason[0] = '\0';
    explain(d, "predicted %.3g ms, SuiteSparse measured", d->observed_ms);
}

/* The least place in a row of A that a full vector has is A's first one: SuiteSparse looks at no other, and so nobody brings A to the device
 * for that. */
static bool ends_at_once(const tsr_call *call, const tsr_features *f)
{
    const tsr_product *p = &call->product;
    if (!call->positions || p->semiring.add != TSR_ADD_MIN || p->a.by_col || p->b.format != TSR_FULL || tsr_work_of(f) < TSR_OBSERVED_LEAST)
        return false;
    const tsr_backend *gpu = tsr_backend_gpu();
    return !gpu || !tsr_operands_kept(call, gpu);
}

/* Is it left to SuiteSparse unless times that were measured say otherwise? */
static bool searches(const tsr_call *call, const tsr_features *f)
{
    if (!tsr_is_search(call) || tsr_config_forces_cpu())
        return false;
    return tsr_config_get()->mode != TSR_MODE_GPU || ends_at_once(call, f);
}

void tsr_engine_lost(double ms)
{
    const double share = 0.9; /* few rows under a mask are 8 to 50 times as fast on an H200 as with 16 threads */
    if (ms >= TSR_GPU_LEAST_MS)
        tsr_engine_start_gpu_for(share * ms);
}

void tsr_engine_observe(const tsr_call *call, const tsr_decision *d, double ms)
{
    const uint64_t loop = call->remote.loop;
    const tsr_product *p = &call->product;
    const double gain = ms - d->observed_ms;
    if (!loop)
        return;
    tsr_stay_starts(loop, false, tsr_engine_clock_ms() - ms);
    tsr_stay_lost_time(loop, gain + tsr_stay_take_pushed((double)p->a.nvals, (double)(p->m + p->k)), d->move_ms);
    tsr_engine_start_gpu_for(gain);
}

void tsr_engine_observe_push(const tsr_frontier *p, double ms)
{
    const tsr_features f = {.op = TSR_OP_SPMV, .semiring.type = TSR_INT64, .m = p->rows, .n = 1, .k = p->columns, .a_nnz = p->entries,
                            .b_nnz = p->vertices, .b_sparse = true, .a_known = true, .nthreads = p->nthreads};
    const double gain = ms - search_ms(&f);
    tsr_stay_lost_pushing(p->entries, p->rows + p->columns, gain);
    tsr_engine_start_gpu_for(gain);
}

/* ---- several sparse vectors ---- */

/* 0: it is no frontier. */
static uint64_t frontier_kind(const tsr_call *call)
{
    const tsr_product *p = &call->product;
    const bool pushed = call->in_place && call->b_sparse && p->op == TSR_OP_SPMM && tsr_config_get()->mode == TSR_MODE_AUTO;
    return pushed ? tsr_frontier_kind((double)p->a.nvals, (double)(p->m + p->k), (double)p->n) : 0;
}

bool tsr_engine_frontier_moves(const tsr_call *call)
{
    const uint64_t kind = frontier_kind(call);
    return kind && tsr_frontier_on_device(kind);
}

void tsr_engine_frontier_moved(const tsr_call *call, double ms)
{
    const uint64_t kind = frontier_kind(call);
    if (!kind || call->decision.backend == tsr_backend_cpu())
        return;
    if (tsr_frontier_on_device(kind))
        tsr_frontier_begins(kind, tsr_engine_clock_ms());
    else
        tsr_frontier_uploaded(kind, ms);
}

bool tsr_engine_gpu_multiplies(const tsr_call *call)
{
    if (tsr_config_get()->mode != TSR_MODE_AUTO || tsr_config_get()->eager)
        return false;
    tsr_features f;
    tsr_features_of(&f, &call->product);
    f.direct = call->direct;
    const double cpu = tsr_predict_cpu_ms(&f), real = tsr_predict_suitesparse_ms(&f), base = cpu < real ? cpu : real;
    return tsr_predict_gpu_ms(&f) < base * TSR_ROUTE_MARGIN && wants_gpu(call, &f, base);
}

static void choose(const tsr_call *call, tsr_decision *d)
{
    d->backend = tsr_backend_cpu();
    if (!call->may_forward) {
        explain(d, "predicted %.3g ms", d->predicted_ms);
        return;
    }
    bool forced = tsr_config_forces_cpu();
    bool better = d->predicted_ms < d->forward_ms * TSR_ROUTE_MARGIN;
    explain(d, "%spredicted %.3g ms, SuiteSparse %.3g ms", forced ? "forced; " : "", d->predicted_ms, d->forward_ms);
    if (!better && !forced)
        d->backend = NULL;
}

static tsr_route route_of(const tsr_decision *d)
{
    return !d->backend ? TSR_ROUTE_SUITESPARSE : d->backend == tsr_backend_cpu() ? TSR_ROUTE_CPU : TSR_ROUTE_GPU;
}

/* Where predictions were wrong before, measured times decide. */
static void follow_times(const tsr_call *call, const tsr_features *f, double cpu_ms, tsr_decision *d)
{
    const tsr_config *config = tsr_config_get();
    if (!call->may_forward || config->mode == TSR_MODE_GPU || tsr_config_forces_cpu() || config->defer || config->eager || tsr_engine_by_reference())
        return;
    if (call->b.absent)
        d->forwarded = tsr_timing_key(f);
    if (tsr_reads_device(call) || call->b_sparse || tsr_result_stays(call))
        return;
    d->timing = tsr_timing_key(f);
    d->alike = tsr_timing_alike(f);
    const tsr_route chosen = route_of(d);
    const tsr_route first = chosen == TSR_ROUTE_CPU && tsr_timing_lost(d->alike) ? TSR_ROUTE_SUITESPARSE : chosen;
    const double predicted[TSR_ROUTE_COUNT] = {d->forward_ms, cpu_ms, first == TSR_ROUTE_GPU ? d->predicted_ms : -1.0};
    tsr_route route = tsr_timing_choose(d->timing, predicted, first);
    if (route == chosen)
        return;
    d->backend = route == TSR_ROUTE_CPU ? tsr_backend_cpu() : NULL;
    d->predicted_ms = predicted[route];
    d->reason[0] = '\0';
    explain(d, "measured times; predicted %.3g ms, SuiteSparse %.3g ms", cpu_ms, d->forward_ms);
}

void tsr_engine_learn(const tsr_decision *d, double ms, double busy_ms)
{
    const tsr_route route = route_of(d);
    if (d->expected_ms > 0 && tsr_start_gains(busy_ms, d->started_ms))
        tsr_engine_start_gpu_for(busy_ms - d->expected_ms); /* it has been lost, too */
    tsr_timing_add(d->timing, route, ms, route == TSR_ROUTE_GPU ? ms : busy_ms);
    tsr_timing_judge(d->alike, route, busy_ms, d->forward_ms);
}

void tsr_engine_learn_forwarded(uint64_t forwarded, double ms)
{
    tsr_timing_add(forwarded, TSR_ROUTE_SUITESPARSE, ms, ms);
}

/* What is lost on the host counts towards moving the loop.  In place nothing is known yet of a product whose result is downloaded. */
static void weigh_stay(const tsr_call *call, const tsr_features *f, const tsr_decision *d)
{
    const uint64_t loop = call->remote.loop;
    const bool on_device = route_of(d) == TSR_ROUTE_GPU;
    if (!loop || (call->in_place && !on_device))
        return;
    tsr_stay_starts(loop, on_device, tsr_engine_clock_ms());
    if (on_device)
        return;
    const double base = without_gpu(call, f, d), settled = settled_ms(f, true);
    if (base >= TSR_GPU_LEAST_MS)
        tsr_stay_lost_time(loop, base - settled, tsr_predict_gpu_ms(f) - settled);
}

static tsr_walk walk_of(const tsr_call *call, const tsr_features *f)
{
    tsr_product held = call->product;
    if (call->b_sparse)
        held.b = call->sparse;
    const bool frontier = call->b_sparse && !call->a.compressed && (held.op == TSR_OP_SPMM || held.a.by_col);
    const bool dots = held.op == TSR_OP_MASKED_DOT && !tsr_has_compressed(call) && tsr_work_of(f) >= TSR_WALK_LEAST;
    return frontier || dots ? tsr_sample_walk(&held) : (tsr_walk){0};
}

/* Sparse contents that only a device has are downloaded for everybody else. */
static double compressed_download_ms(const tsr_object *object)
{
    const tsr_view *v = &object->view;
    const double entry = (double)(tsr_type_size(v->type) + sizeof(int64_t));
    return object->compressed ? tsr_compressed_download_ms((double)v->nvals * entry + (double)v->nvec * sizeof(int64_t)) : 0;
}

/* What anybody but the device waits for before a product begins. */
static double before_ms(const tsr_call *call, const tsr_features *f)
{
    const double dense = call->b.absent ? tsr_predict_download_ms(f) : 0;
    return dense + compressed_download_ms(&call->a) + compressed_download_ms(&call->b) + tsr_predict_settle_ms(call->waiting, f->nthreads);
}

static void decide(const tsr_call *call, tsr_decision *d)
{
    *d = (tsr_decision){.predicted_ms = -1.0, .forward_ms = -1.0, .observed_ms = -1.0};
    tsr_features f;
    tsr_features_of(&f, &call->product);
    f.finish_extra = call->through_t && !call->add_c;
    f.accum_full = call->add_c;
    f.joins = call->joins_c;
    f.direct = call->direct && !f.b_cast;
    f.c_stays = tsr_result_stays(call);
    f.b_sparse = call->b_sparse;
    const tsr_walk walk = walk_of(call, &f);
    f.walk = walk.walked;
    f.merged = walk.merged;
    f.marked = walk.marked;
    f.blocks = walk.blocks;
    f.uneven = walk.uneven;
    f.turns = walk.turns;
    f.common = walk.common;
    f.regular = walk.regular;
    f.a_known = call->expected_calls > 1 || (call->a.record && tsr_record_had_product(call->a.record));
    if (!allowed(call, d))
        return;
    wanted_reps(call, d);
    if (searches(call, &f)) {
        decide_search(call, &f, d);
        return;
    }
    const double before = before_ms(call, &f);
    d->forward_ms = call->may_forward ? before + tsr_predict_suitesparse_ms(&f) : -1.0;
    d->predicted_ms = before + plan_representation(call, &f, d);
    choose(call, d);
    double cpu_ms = d->predicted_ms;
    consider_gpu(call, &f, d);
    follow_times(call, &f, cpu_ms, d);
    weigh_stay(call, &f, d);
}

/* In place nothing is said yet of a product that is left to the host. */
void tsr_engine_decide(const tsr_call *call, tsr_decision *d)
{
    decide(call, d);
    if (call->a.record && (!call->in_place || d->backend || d->observed_ms >= 0))
        tsr_record_note_product(call->a.record);
}

bool tsr_engine_joins(const tsr_call *call, const tsr_decision *decision)
{
    const tsr_backend *backend = decision->backend;
    return backend && backend->joins && !tsr_engine_by_reference() && backend->joins(&call->product);
}

bool tsr_engine_result_full(const tsr_call *call)
{
    const tsr_product *p = &call->product;
    if (tsr_is_masked(p->op))
        return false;
    return p->b.format == TSR_FULL && p->k > 0 && tsr_record_all_rows_present(call->a.record, &p->a, call->a.transposed, p->nthreads);
}
