/* Plans of the native door: checked shapes and the engine's decision.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "src/engine/call/report.h"
#include "src/engine/product/decide.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"
#include "src/sparse_blas/native.h"
#include "src/sparse_blas/plan_file.h"

/* ---- checks ---- */

static tsr_status check_semiring(const tsr_semiring *s)
{
    tsr_status status = tsr_native_check_type("semiring.type", s->type);
    if (status == TSR_OK) {
        status = tsr_native_check_range("semiring.add", s->add, 0, TSR_ADD_COUNT - 1);
    }
    if (status == TSR_OK) {
        status = tsr_native_check_range("semiring.mul", s->mul, 0, TSR_MUL_COUNT - 1);
    }
    const bool fits = s->add == TSR_ADD_ANY || (s->add == TSR_ADD_LOR) == (s->type == TSR_BOOL);
    return status != TSR_OK || fits ? status : tsr_native_fail(TSR_INVALID_VALUE, "type %d has no monoid %d", (int)s->type, (int)s->add);
}

/* Equal sizes that two operands must share. */
static tsr_status check_equal(const char *first, int64_t n, const char *second, int64_t other)
{
    return n == other ? TSR_OK : tsr_native_fail(TSR_DIMENSION_MISMATCH, "%s is %lld, %s is %lld", first, (long long)n, second, (long long)other);
}

static tsr_status check_shapes(const tsr_plan *plan, tsr_op op)
{
    const tsr_view *a = &plan->a->view;
    const tsr_dense *first = &plan->first, *second = &plan->second;
    const bool sddmm = op == TSR_OP_SDDMM, transpose = plan->flags & TSR_TRANSPOSE_A;
    const int64_t m = transpose ? a->ncols : a->nrows, k = transpose ? a->nrows : a->ncols;
    tsr_status status = sddmm ? check_equal("first->nrows", first->nrows, "the number of rows of S", a->nrows)
                              : check_equal("first->nrows", first->nrows, "the number of columns of op(A)", k);
    if (status == TSR_OK) {
        status = sddmm ? check_equal("second->ncols", second->ncols, "the number of columns of S", a->ncols)
                       : check_equal("second->nrows", second->nrows, "the number of rows of op(A)", m);
    }
    if (status == TSR_OK) {
        status = sddmm ? check_equal("first->ncols", first->ncols, "second->nrows", second->nrows)
                       : check_equal("first->ncols", first->ncols, "second->ncols", second->ncols);
    }
    return status == TSR_OK && op == TSR_OP_SPMV ? check_equal("first->ncols", first->ncols, "that of a vector", 1) : status;
}

static tsr_status check_operands(const tsr_plan *plan, tsr_op op)
{
    const unsigned allowed = op == TSR_OP_SDDMM ? TSR_SOFTMAX_ROWS : TSR_TRANSPOSE_A | TSR_CONJUGATE_A | TSR_BOUNDED_B;
    if (plan->flags & ~allowed) {
        return tsr_native_fail(TSR_INVALID_VALUE, "flags = %#x: the operation has none of %#x", plan->flags, plan->flags & ~allowed);
    }
    tsr_status status = tsr_native_check_dense("first", &plan->first);
    return status == TSR_OK ? tsr_native_check_dense("second", &plan->second) : status;
}

static tsr_status check_plan(const tsr_plan *plan, tsr_op op)
{
    const tsr_type type = plan->call.product.semiring.type;
    tsr_status status = tsr_native_check_range("op", op, 0, TSR_OP_COUNT - 1);
    if (status == TSR_OK) {
        status = check_semiring(&plan->call.product.semiring);
    }
    if (status == TSR_OK && op == TSR_OP_MASKED_DOT) {
        status = tsr_native_fail(TSR_NOT_SUPPORTED, "op = TSR_OP_MASKED_DOT has no plans");
    }
    if (status == TSR_OK) {
        status = check_operands(plan, op);
    }
    if (status == TSR_OK && op != TSR_OP_SDDMM && plan->second.type != type) {
        status = tsr_native_fail(TSR_INVALID_VALUE, "second->type = %d is not the semiring's, %d", (int)plan->second.type, (int)type);
    }
    if (status == TSR_OK) {
        status = tsr_native_check_complex(plan, op);
    }
    if (status == TSR_OK) {
        status = check_shapes(plan, op);
    }
    const bool has_softmax = !plan->a->view.by_col && (type == TSR_FP32 || type == TSR_FP64);
    if (status == TSR_OK && plan->flags & TSR_SOFTMAX_ROWS && !has_softmax) {
        status = tsr_native_fail(TSR_NOT_SUPPORTED, "TSR_SOFTMAX_ROWS: S is held by columns, or the semiring's type is not real");
    }
    return status;
}

/* ---- what is told ---- */

static size_t representation_bytes(const tsr_call *r, const tsr_decision *d)
{
    const tsr_view *a = &r->product.a;
    int64_t vectors = d->a_key.by_col ? a->ncols : a->nrows;
    size_t value = d->a_key.pattern || a->iso ? 0 : tsr_type_size(d->a_key.type);
    return d->build_a ? (size_t)(vectors + 1) * sizeof(int64_t) + (size_t)a->nvals * (sizeof(uint32_t) + value) : 0;
}

static size_t work_bytes(const tsr_plan *plan)
{
    const tsr_product *p = &plan->call.product;
    size_t value = tsr_type_size(p->semiring.type);
    if (p->op == TSR_OP_SDDMM) {
        return (size_t)p->mask.nvals;
    }
    size_t cells = (size_t)(p->m * p->n);
    size_t present = tsr_engine_result_full(&plan->call) ? 0 : cells;
    return present + (plan->second.ld > tsr_native_vector_length(&plan->second) ? cells * value : 0);
}

static const char *why_no_gpu(void)
{
    const tsr_mode mode = tsr_config_get()->mode;
    if (mode != TSR_MODE_AUTO && mode != TSR_MODE_GPU) {
        return mode == TSR_MODE_CPU ? "mode is cpu" : "mode is off";
    }
    if (!tsr_backend_gpu_asked()) {
        return tsr_backend_gpu_installed() ? "a GPU is not expected to make up for its start yet" : "no GPU is installed";
    }
    return tsr_backend_gpu() ? "the GPU takes operands of host memory where it is expected to be faster" : "there is no GPU that can be used";
}

/* The engine's own reason is written for traces only. */
static void give_reason(char *text, size_t size, const tsr_decision *d)
{
    const bool on_cpu = d->backend == tsr_backend_cpu();
    if (*d->reason) {
        snprintf(text, size, "%s", d->reason);
    } else {
        snprintf(text, size, "predicted %.3g ms; %s", d->predicted_ms, on_cpu ? why_no_gpu() : "the GPU is expected to be faster");
    }
}

static void explain(tsr_plan *plan)
{
    char product[192], reason[160];
    const tsr_decision *d = &plan->decision;
    give_reason(reason, sizeof reason, d);
    tsr_engine_describe(product, sizeof product, &plan->call.product);
    if (tsr_native_takes_half(plan)) {
        snprintf(plan->explanation, sizeof plan->explanation, "%s -> cpu:spmm_half, reads the caller's arrays: B has 16-bit numbers", product);
        return;
    }
    snprintf(plan->explanation, sizeof plan->explanation, "%s%s -> %s:%s, %s, %zu bytes: %s", product,
             plan->flags & TSR_TRANSPOSE_A ? " transposed" : "", d->backend->name,
             d->backend->kernel_name(&plan->call.product),
             d->build_a ? "builds a representation" : "reads the caller's arrays", plan->bytes, reason);
}

static bool is_on_device(const tsr_plan *plan)
{
    return plan->first.memory == TSR_MEMORY_DEVICE || plan->second.memory == TSR_MEMORY_DEVICE;
}

/* Decide with the operands' shapes; a placeholder stands where data will be. */
static tsr_status decide(tsr_plan *plan, const tsr_saved_plan *saved)
{
    static const uint64_t placeholder[1];
    tsr_call *r = &plan->call;
    tsr_dense first = plan->first, second = plan->second;
    first.data = second.data = (void *)placeholder;
    tsr_native_bind(r, plan, (tsr_sparse *)plan->a, &first, &second);
    tsr_engine_decide(r, &plan->decision);
    if (!plan->decision.backend) {
        return tsr_native_fail(TSR_NOT_SUPPORTED, "no backend computes the product: %s", plan->decision.reason);
    }
    if (saved && plan->decision.backend == tsr_backend_cpu()) {
        plan->decision.build_a = saved->build_a;
    }
    plan->bytes = representation_bytes(r, &plan->decision) + work_bytes(plan);
    explain(plan);
    return TSR_OK;
}

static tsr_status prepare(tsr_plan *plan, tsr_op op, const tsr_saved_plan *saved)
{
    tsr_status status = check_plan(plan, op);
    if (status != TSR_OK) {
        return status;
    }
    plan->call.product.op = op;
    plan->call.given.name = op == TSR_OP_SDDMM ? "tsr_execute_sddmm" : "tsr_execute";
    plan->op = op;
    plan->call.expected_calls = saved ? (double)saved->expected_calls : plan->a->hints[op].expected_calls;
    plan->call.precision = saved ? (tsr_precision)saved->precision : plan->a->hints[op].precision;
    snprintf(plan->kernel, sizeof plan->kernel, "%s", saved ? saved->kernel : "");
    status = tsr_native_is_complex(plan) ? tsr_native_plan_complex(plan) : decide(plan, saved);
    return status == TSR_OK && is_on_device(plan) ? tsr_native_plan_on_device(plan) : status;
}

tsr_status tsr_plan_create(tsr_plan **plan, tsr_op op, tsr_semiring semiring, tsr_sparse *a, const tsr_dense *first,
                           const tsr_dense *second, unsigned flags)
{
    return tsr_native_plan(plan, op, semiring, a, first, second, flags, NULL);
}

tsr_status tsr_native_plan(tsr_plan **out, tsr_op op, tsr_semiring semiring, tsr_sparse *a, const tsr_dense *first, const tsr_dense *second,
                           unsigned flags, const tsr_saved_plan *saved)
{
    if (!out || !a || !first || !second) {
        return tsr_native_null(!out ? "plan" : !a ? "a" : !first ? "first" : "second");
    }
    tsr_plan *plan = calloc(1, sizeof *plan);
    if (!plan) {
        return tsr_native_no_memory();
    }
    plan->a = a;
    plan->first = *first;
    plan->second = *second;
    plan->flags = flags;
    plan->call.product.semiring = semiring;
    tsr_status status = prepare(plan, op, saved);
    if (status != TSR_OK) {
        tsr_plan_destroy(plan);
        return status;
    }
    *out = plan;
    return TSR_OK;
}

size_t tsr_plan_bytes(const tsr_plan *plan)
{
    return plan ? plan->bytes : 0;
}

double tsr_plan_predicted_ms(const tsr_plan *plan)
{
    return plan ? plan->decision.predicted_ms : -1;
}

const char *tsr_plan_explain(const tsr_plan *plan)
{
    return plan ? plan->explanation : "";
}

void tsr_plan_destroy(tsr_plan *plan)
{
    if (plan) {
        tsr_native_drop_device(plan->device);
        tsr_compressed_free(&plan->turned);
    }
    free(plan);
}
