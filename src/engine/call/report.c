/* What the trace says of calls.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/call/report.h"

#include <stdio.h>

#include "src/base/types.h"

static const char *const op_name[TSR_OP_COUNT] = {"spmm", "spmv", "sddmm", "masked_dot"};
static const char *const add_name[TSR_ADD_COUNT] = {"plus", "min", "max", "any", "lor"};
static const char *const mul_name[TSR_MUL_COUNT] = {"times", "first", "second", "pair", "plus", "and"};

void tsr_engine_describe(char *text, size_t size, const tsr_product *p)
{
    snprintf(text, size, "%s %s_%s %s m=%lld k=%lld n=%lld nnz=%lld", op_name[p->op], add_name[p->semiring.add],
             mul_name[p->semiring.mul], tsr_type_name(p->semiring.type), (long long)p->m, (long long)p->k,
             (long long)p->n, (long long)(p->op == TSR_OP_SDDMM ? p->mask.nvals : p->a.nvals));
}

void tsr_engine_report(const tsr_backend *backend, const char *kernel, tsr_trace_record record)
{
    char route[64];
    snprintf(route, sizeof route, "%s:%s", backend->name, kernel);
    record.route = route;
    record.backend = backend;
    record.predicted_ms = -1.0;
    if (!record.reason)
        record.reason = "operands are on the device";
    tsr_trace_product(&record);
}

void tsr_engine_report_forward(const char *call, const char *pattern, const char *reason, double ms)
{
    if (tsr_trace_wanted())
        tsr_trace_product(&(tsr_trace_record){.call = call, .pattern = pattern, .route = "suitesparse",
                                              .reason = reason, .predicted_ms = -1.0, .measured_ms = ms});
}
