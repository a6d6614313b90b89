/* One product on a backend: operands made ready, tried again with more room, elsewhere when it fails; the trace record.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/product/execute.h"

#include <stdio.h>

#include "src/base/split.h"
#include "src/engine/call/attempt.h"
#include "src/engine/call/clock.h"
#include "src/engine/call/host.h"
#include "src/engine/call/report.h"
#include "src/engine/product/decide.h"
#include "src/engine/product/operands.h"
#include "src/runtime/backends.h"
#include "src/runtime/trace.h"

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

/* Predicted: what one thread takes longer than all of them. */
static double more_by_one_ms(const tsr_call *call, const tsr_decision *d)
{
    return d->predicted_ms * (call->product.nthreads - 1);
}

tsr_status tsr_engine_execute(const tsr_call *call, const tsr_decision *d, tsr_result *result)
{
    double start = tsr_engine_clock_ms();
    tsr_decision used = *d;
    execute_fn first = tsr_engine_by_reference() ? tsr_ref_execute : d->backend->execute;
    const bool device = d->backend != tsr_backend_cpu();
    if (!device && d->predicted_ms > 0 && call->product.nthreads > 1)
        tsr_team_spare(more_by_one_ms(call, d));
    tsr_status status = device ? TSR_ATTEMPT(execute_with(first, call, d, result)) : execute_with(first, call, d, result);
    if (status != TSR_OK && device && !tsr_reads_device(call) && !result->compressed) {
        used = on_cpu(d, status);
        result->kernel = NULL;
        result->bytes_moved = 0;
        status = execute_with(used.backend->execute, call, &used, result);
    }
    if (status == TSR_OK)
        report(call, &used, result, tsr_engine_clock_ms() - start);
    return status;
}
