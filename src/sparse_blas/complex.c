/* SpMM and SpMV of complex numbers, by the CPU kernel.
 * SPDX-License-Identifier: Apache-2.0 */

#include <stdio.h>
#include <stdlib.h>

#include "src/base/types.h"
#include "src/engine/call/clock.h"
#include "src/engine/call/host.h"
#include "src/engine/call/report.h"
#include "src/runtime/backends.h"
#include "src/sparse_blas/native.h"

bool tsr_native_is_complex(const tsr_plan *plan)
{
    return tsr_is_complex(plan->call.product.semiring.type);
}

/* ---- plans ---- */

tsr_status tsr_native_check_complex(const tsr_plan *plan, tsr_op op)
{
    const tsr_semiring s = plan->call.product.semiring;
    const tsr_type types[] = {s.type, plan->a->view.type, plan->first.type, plan->second.type};
    static const char *const names[] = {"semiring.type", "the type of a's values", "first->type", "second->type"};
    int complex = -1;
    for (int k = 0; k < 4 && complex < 0; k++) {
        complex = tsr_is_complex(types[k]) ? k : -1;
    }
    if (complex < 0) {
        return TSR_OK;
    }
    if (op == TSR_OP_SDDMM || s.add != TSR_ADD_PLUS || s.mul != TSR_MUL_TIMES) {
        return tsr_native_fail(TSR_NOT_SUPPORTED, "%s = %d is complex: there are plus_times of SpMM and SpMV only", names[complex], (int)types[complex]);
    }
    for (int k = 0; k < 4; k++) {
        if (types[k] != types[complex]) {
            return tsr_native_fail(TSR_NOT_SUPPORTED, "%s is %d, %s is %d: complex numbers are not typecast", names[complex], (int)types[complex],
                                   names[k], (int)types[k]);
        }
    }
    return TSR_OK;
}

/* op(A) by row: where each of its entries is among A's values, which may change. */
static tsr_status turn(tsr_plan *plan, tsr_view a)
{
    int64_t *places = malloc((size_t)(a.nvals + 1) * sizeof *places);
    if (!places) {
        return tsr_native_no_memory();
    }
    for (int64_t e = 0; e < a.nvals; e++) {
        places[e] = e;
    }
    a.type = TSR_INT64;
    a.x = places;
    a.iso = false;
    const tsr_status status = tsr_compress(&plan->turned, &a, TSR_INT64, TSR_COMPRESS_FLIP, tsr_native_threads());
    free(places);
    return status == TSR_OK ? status : tsr_native_no_memory();
}

tsr_status tsr_native_plan_complex(tsr_plan *plan)
{
    const tsr_view a = tsr_native_op_of(plan, plan->a);
    tsr_product *p = &plan->call.product;
    char product[192];
    p->a = a;
    p->m = a.nrows;
    p->k = a.ncols;
    p->n = plan->first.ncols;
    plan->decision.backend = tsr_backend_cpu();
    plan->decision.predicted_ms = -1;
    if (a.by_col && turn(plan, a) != TSR_OK) {
        return TSR_OUT_OF_MEMORY;
    }
    plan->bytes = plan->turned.bytes;
    tsr_engine_describe(product, sizeof product, p);
    snprintf(plan->explanation, sizeof plan->explanation, "%s%s%s -> cpu:spmm_complex, %s, %zu bytes: complex numbers in host memory", product,
             plan->flags & TSR_CONJUGATE_A ? " conjugate" : "", plan->flags & TSR_TRANSPOSE_A ? " transposed" : "",
             a.by_col ? "builds a representation" : "reads the caller's arrays", plan->bytes);
    return TSR_OK;
}

/* ---- execution ---- */

static void report(const tsr_plan *plan, double ms)
{
    char pattern[192];
    tsr_engine_describe(pattern, sizeof pattern, &plan->call.product);
    tsr_engine_report(tsr_backend_cpu(), "spmm_complex",
                      (tsr_trace_record){.call = plan->call.given.name, .pattern = pattern, .measured_ms = ms});
}

static tsr_status run(const tsr_plan *plan, const tsr_complex_spmm *product)
{
    const bool traced = tsr_trace_wanted();
    const double began = traced ? tsr_engine_clock_ms() : 0;
    const tsr_status status = tsr_engine_spmm_complex(product);
    if (status == TSR_OK && traced) {
        report(plan, tsr_engine_clock_ms() - began);
    }
    return status == TSR_OK ? status : tsr_native_no_memory();
}

static int64_t row_stride(const tsr_dense *d)
{
    return d->layout == TSR_COL_MAJOR ? 1 : d->ld;
}

static int64_t column_stride(const tsr_dense *d)
{
    return d->layout == TSR_COL_MAJOR ? d->ld : 1;
}

/* alpha = 0: neither A nor B is looked at. */
static tsr_status scale(const tsr_plan *plan, tsr_complex_spmm product)
{
    int64_t *offsets = calloc((size_t)product.a->nvec + 1, sizeof *offsets);
    const tsr_view none = {.format = TSR_SPARSE, .type = product.type, .index_size = 4, .nrows = product.a->nrows, .nvec = product.a->nvec, .p = offsets};
    if (!offsets) {
        return tsr_native_no_memory();
    }
    product.a = &none;
    const tsr_status status = run(plan, &product);
    free(offsets);
    return status;
}

tsr_status tsr_native_execute_complex(const tsr_plan *plan, tsr_complex alpha, const tsr_sparse *a, const tsr_dense *b, tsr_complex beta,
                                      const tsr_dense *c)
{
    const bool turned = plan->turned.view.p;
    tsr_view by_row = turned ? plan->turned.view : tsr_native_op_of(plan, a);
    by_row.type = a->view.type;
    by_row.iso = a->view.iso;
    by_row.x = a->view.x;
    const tsr_complex_spmm product = {.type = b->type, .a = &by_row, .places = turned ? plan->turned.view.x : NULL,
                                      .conjugate = plan->flags & TSR_CONJUGATE_A, .n = b->ncols, .b = b->data, .b_row = row_stride(b),
                                      .b_column = column_stride(b), .c = c->data, .c_row = row_stride(c), .c_column = column_stride(c),
                                      .alpha = alpha, .beta = beta, .nthreads = tsr_native_threads()};
    return tsr_complex_is(alpha, 0) ? scale(plan, product) : run(plan, &product);
}
