/* One product on a backend: operands made ready, tried again with more room, elsewhere when it fails; the trace record.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/product/execute.h"

#include <stdio.h>

#include "src/base/late_team.h"
#include "src/base/split.h"
#include "src/engine/call/attempt.h"
#include "src/engine/call/clock.h"
#include "src/engine/call/host.h"
#include "src/engine/call/report.h"
#include "src/engine/product/decide.h"
#include "src/engine/product/operands.h"
#include "src/policy/price/route.h"
#include "src/runtime/backends.h"
#include "src/runtime/trace.h"

/* Predicted, by one thread.  Waking a team that sleeps takes 30 to 60 us, starting one 50 to 120. */
#define TEAM_LEAST_MS .1

static const char *kernel_used(const tsr_call *call, const tsr_decision *d, const tsr_result *result)
{
    return tsr_engine_by_reference() ? "ref" : result->kernel ? result->kernel : d->backend->kernel_name(&call->product);
}

static void report(const tsr_call *call, const tsr_decision *d, const tsr_result *result, double measured_ms)
{
    if (!tsr_trace_wanted())
        return;
    char pattern[160], route[96];
    tsr_engine_describe(pattern, sizeof pattern, &call->product);
    snprintf(route, sizeof route, "%s:%s", d->backend->name, kernel_used(call, d, result));
    tsr_trace_product(&(tsr_trace_record){.call = call->given.name, .pattern = pattern, .route = route, .reason = d->reason,
                                          .predicted_ms = d->predicted_ms, .measured_ms = measured_ms, .other_ms = call->other_ms,
                                          .backend = d->backend,
                                          .bytes_moved = result->bytes_moved + call->moved, .built = result->built,
                                          .evicted = result->evicted});
}

typedef tsr_status (*execute_fn)(const tsr_product *product, tsr_result *result);

static tsr_status execute_with(execute_fn execute, const tsr_call *call, const tsr_decision *d, tsr_result *result)
{
    tsr_status status = TSR_DECLINED;
    bool kept = true;
    for (int attempt = 0; status == TSR_DECLINED && kept && attempt < 2; attempt++) {
        tsr_operands held;
        tsr_product ready;
        status = tsr_operands_prepare(&held, &ready, call, d, attempt > 0);
        kept = held.kept;
        if (status == TSR_OK)
            status = execute(&ready, result);
        tsr_operands_release(&held);
    }
    return status;
}

/* The decision without the GPU, which has failed, is out of memory or has declined. */
static tsr_decision on_cpu(const tsr_decision *d, tsr_status status)
{
    tsr_decision plain = *d;
    plain.backend = tsr_backend_cpu();
    plain.build_a = false;
    plain.predicted_ms = -1.0;
    snprintf(plain.reason, sizeof plain.reason, "the GPU %s", status == TSR_DECLINED ? "declined"
                                                              : status == TSR_OUT_OF_MEMORY ? "is out of memory" : "failed");
    return plain;
}

tsr_status tsr_engine_execute_surely(const tsr_call *call, const tsr_decision *d, tsr_result *result)
{
    tsr_status status = tsr_engine_execute(call, d, result);
    if (status == TSR_OK)
        return status;
    tsr_call alone = *call;
    tsr_decision plain = on_cpu(d, status);
    alone.product.nthreads = 1;
    status = execute_with(plain.backend->execute, &alone, &plain, result);
    return status == TSR_OK ? status : execute_with(tsr_ref_execute, &alone, &plain, result);
}

/* Predicted to take so long, by one thread; of SuiteSparse by as many as it has.  Those that it has come, once a team of any call has. */
static bool wins_alone(const tsr_call *call, const tsr_decision *d, double alone_ms)
{
    tsr_features f;
    tsr_features_of(&f, &call->product);
    f.accum_full = call->add_c;
    const int threads = tsr_suitesparse_threads(&f);
    return alone_ms < TSR_ROUTE_MARGIN * d->forward_ms * f.nthreads / threads && (threads == 1 || !tsr_late_team_seen());
}

/* What one thread takes longer than all that are allowed, of what it takes. */
static double more_of(const tsr_call *call, double alone_ms)
{
    return alone_ms - alone_ms / call->product.nthreads;
}

/* One thread where a team gains no more than it costs, or may come late. */
static void choose_team(const tsr_call *call, const tsr_decision *d)
{
    const double alone_ms = d->predicted_ms * call->product.nthreads;
    if (call->product.nthreads == 1 || d->predicted_ms <= 0)
        return;
    if (alone_ms < TEAM_LEAST_MS)
        tsr_team_none();
    else
        tsr_team_spare(more_of(call, alone_ms), wins_alone(call, d, alone_ms));
}

tsr_status tsr_engine_execute(const tsr_call *call, const tsr_decision *d, tsr_result *result)
{
    double start = tsr_engine_clock_ms();
    tsr_decision used = *d;
    execute_fn first = tsr_engine_by_reference() ? tsr_ref_execute : d->backend->execute;
    const bool device = d->backend != tsr_backend_cpu();
    if (!device)
        choose_team(call, d);
    tsr_status status = device ? TSR_ATTEMPT(execute_with(first, call, d, result)) : execute_with(first, call, d, result);
    if (status != TSR_OK && device && !tsr_reads_device(call) && !result->compressed) {
        used = on_cpu(d, status);
        result->kernel = NULL;
        result->bytes_moved = 0;
        status = execute_with(used.backend->execute, call, &used, result);
    }
    if (status == TSR_OK) {
        const double took = tsr_engine_clock_ms() - start;
        tsr_late_team_took(more_of(call, d->predicted_ms * call->product.nthreads - took));
        report(call, &used, result, took);
    }
    return status;
}
