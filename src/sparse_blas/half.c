/* Dense operands of 16-bit numbers in host memory: a product that reads B so, and FP32 copies for all others.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "src/base/half.h"
#include "src/base/split.h"
#include "src/engine/call/clock.h"
#include "src/engine/call/host.h"
#include "src/engine/call/report.h"
#include "src/runtime/backends.h"
#include "src/sparse_blas/native.h"

/* ---- copies ---- */

static tsr_status widen(tsr_dense *d, void **copy, int nthreads)
{
    const bool by_col = d->layout == TSR_COL_MAJOR;
    const int64_t vectors = by_col ? d->ncols : d->nrows, length = by_col ? d->nrows : d->ncols;
    const uint16_t *from = d->data;
    float *to = malloc((size_t)(vectors * length + 1) * sizeof *to);
    if (!to) {
        return tsr_native_no_memory();
    }
    #pragma omp parallel for num_threads(tsr_team(nthreads)) schedule(static) if (vectors * length > 100000)
    for (int64_t v = 0; v < vectors; v++) {
        tsr_widen_values(to + v * length, from + v * d->ld, d->type, length);
    }
    *d = (tsr_dense){.data = to, .type = TSR_FP32, .layout = d->layout, .nrows = d->nrows, .ncols = d->ncols, .ld = length};
    *copy = to;
    return TSR_OK;
}

tsr_status tsr_native_widen(tsr_widened *w, const tsr_dense *d)
{
    *w = (tsr_widened){.dense = *d};
    return tsr_is_half(d->type) && d->data ? widen(&w->dense, &w->copy, tsr_native_threads()) : TSR_OK;
}

/* ---- the product that takes them as they are ---- */

bool tsr_native_takes_half(const tsr_plan *plan)
{
    const tsr_semiring s = plan->call.product.semiring;
    const tsr_view a = tsr_native_op_of(plan, plan->a);
    const bool plus_times = s.type == TSR_FP32 && s.add == TSR_ADD_PLUS && s.mul == TSR_MUL_TIMES;
    return plus_times && plan->call.product.op != TSR_OP_SDDMM && tsr_is_half(plan->first.type) && !a.by_col && a.type == TSR_FP32 &&
           plan->first.layout == TSR_ROW_MAJOR && plan->second.layout == TSR_ROW_MAJOR;
}

static void report(const tsr_plan *plan, double ms)
{
    char pattern[192];
    tsr_engine_describe(pattern, sizeof pattern, &plan->call.product);
    tsr_engine_report(tsr_backend_cpu(), "spmm_half", (tsr_trace_record){.call = plan->call.given.name, .pattern = pattern, .measured_ms = ms});
}

tsr_status tsr_native_execute_half(const tsr_plan *plan, double alpha, const tsr_sparse *given, const tsr_dense *b, double beta, const tsr_dense *c)
{
    const tsr_view a = tsr_native_op_of(plan, given);
    const tsr_half_spmm product = {.a = &a, .b = b->data, .b_type = b->type, .ldb = b->ld, .n = b->ncols, .c = c->data, .ldc = c->ld,
                                   .alpha = (float)alpha, .beta = (float)beta, .nthreads = tsr_native_threads()};
    const bool traced = tsr_trace_wanted();
    const double began = traced ? tsr_engine_clock_ms() : 0;
    const tsr_status status = tsr_engine_spmm_half(&product);
    if (status == TSR_OK && traced) {
        report(plan, tsr_engine_clock_ms() - began);
    }
    return status == TSR_OUT_OF_MEMORY ? tsr_native_no_memory() : status;
}
