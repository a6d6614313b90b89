/* The native door with operands in device memory: queued on the caller's stream where a backend can, else through the host.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/half.h"
#include "src/engine/call/attempt.h"
#include "src/engine/call/clock.h"
#include "src/engine/call/report.h"
#include "src/engine/product/operands.h"
#include "src/sparse_blas/native.h"
#include "tessera/device.h"

struct tsr_native_device {
    const tsr_backend *gpu;
    int which;             /* device, as tsr_backend_device.which counts */
    const char *why_not;   /* executions are not asynchronous because; NULL: they are */
    pthread_mutex_t lock;  /* guards what is made again after a change of values */
    tsr_device_spmm spmm;
    tsr_device_sddmm sddmm;
    atomic_uint made_of;   /* a->changes then */
    bool scales;           /* alpha and beta may be anything */
    void *workspace;       /* the caller's */
    size_t workspace_bytes;
};

/* ---- plans ---- */

/* Elements between the starts of two vectors, or between two elements of one column. */
static int64_t stride_of(const tsr_dense *d)
{
    return d->ncols == 1 && d->layout == TSR_COL_MAJOR ? 1 : d->ld;
}

/* An operand that the device takes as it is, or widens. */
static bool fits(const tsr_dense *d, const tsr_product *p)
{
    return d->type == p->semiring.type || (tsr_is_half(d->type) && p->semiring.type == TSR_FP32);
}

static const char *why_not(const tsr_plan *plan)
{
    const tsr_product *p = &plan->call.product;
    if (plan->first.memory != TSR_MEMORY_DEVICE || plan->second.memory != TSR_MEMORY_DEVICE) {
        return "an operand is in host memory";
    }
    if (p->op == TSR_OP_SDDMM) {
        return !fits(&plan->first, p) || !fits(&plan->second, p) ? "X or Y is not of the semiring's type" : p->mask.nvals == 0 || p->k == 0 ? "nothing is multiplied" : NULL;
    }
    if (tsr_reads_b(p) && !fits(&plan->first, p)) {
        return "B is not of the semiring's type";
    }
    return p->m == 0 || p->n == 0 || p->k == 0 || p->a.nvals == 0 ? "nothing is multiplied" : NULL;
}

static tsr_status prepare_ready(tsr_native_device *d, const tsr_plan *plan, const tsr_product *ready)
{
    const tsr_backend *gpu = d->gpu;
    const tsr_device_operands like = {.device = d->which, .alpha = {1, 0}, .b_type = plan->first.type, .ldb = stride_of(&plan->first), .ldc = stride_of(&plan->second)};
    if (!gpu->supports(ready)) {
        return TSR_DECLINED;
    }
    return TSR_ATTEMPT(gpu->device->prepare(ready, &like, plan->flags & TSR_BOUNDED_B, &d->spmm));
}

static tsr_status prepare_sampled(tsr_native_device *d, const tsr_plan *plan, const tsr_product *ready)
{
    const tsr_backend *gpu = d->gpu;
    const tsr_device_samples like = {.device = d->which, .x_type = plan->first.type, .y_type = plan->second.type, .ldx = plan->first.ld,
                                     .ldy = plan->second.ld};
    return gpu->supports(ready) ? TSR_ATTEMPT(gpu->device->sddmm_prepare(ready, &like, &d->sddmm)) : TSR_DECLINED;
}

static tsr_status prepare(tsr_native_device *d, const tsr_plan *plan, tsr_sparse *a)
{
    static const uint64_t placeholder[1];
    static const double unknown_calls = 100;
    tsr_call call;
    tsr_operands held;
    tsr_product ready;
    tsr_dense b = plan->first, c = plan->second;
    const tsr_decision decision = {.backend = d->gpu};
    b.data = c.data = (void *)(uintptr_t)placeholder;
    tsr_native_bind(&call, plan, a, &b, &c);
    if (call.expected_calls == 0) {
        call.expected_calls = unknown_calls;
    }
    tsr_status status = tsr_native_refresh(a);
    if (status != TSR_OK) {
        return status;
    }
    status = tsr_operands_prepare(&held, &ready, &call, &decision, true);
    if (status == TSR_OK && (!ready.kernel || !*ready.kernel)) {
        ready.kernel = plan->kernel;
    }
    if (status == TSR_OK) {
        status = ready.op == TSR_OP_SDDMM ? prepare_sampled(d, plan, &ready) : prepare_ready(d, plan, &ready);
    }
    tsr_operands_release(&held);
    return status;
}

static const char *kernel_of(const tsr_native_device *d)
{
    return d->sddmm.prepared ? d->sddmm.kernel : d->spmm.kernel;
}

static size_t workspace_of(const tsr_native_device *d)
{
    return d->sddmm.prepared ? d->sddmm.workspace : d->spmm.workspace;
}

static void explain(tsr_plan *plan)
{
    const tsr_native_device *d = plan->device;
    char rest[256], where[32] = "";
    if (d->which > 0 && d->which - 1 != tsr_config_get()->device) {
        snprintf(where, sizeof where, " on device %d", d->which - 1);
    }
    if (d->why_not) {
        snprintf(rest, sizeof rest, "; what is in device memory goes through the host, because %s", d->why_not);
    } else {
        snprintf(rest, sizeof rest, "; in device memory %s:%s%s, queued on the stream, %zu bytes of workspace; through the host where alpha is 0%s",
                 d->gpu->name, kernel_of(d), where, workspace_of(d), d->scales ? "" : ", or alpha and beta are not 1 and 0");
    }
    const size_t used = strlen(plan->explanation);
    snprintf(plan->explanation + used, sizeof plan->explanation - used, "%s", rest);
}

static tsr_status fill(tsr_plan *plan, tsr_native_device *d)
{
    tsr_status status = TSR_OK;
    d->gpu = tsr_native_find_device();
    if (!d->gpu) {
        return TSR_NOT_SUPPORTED;
    }
    d->which = tsr_native_which(d->gpu, (const void *const[]){plan->second.data, plan->first.data, plan->a->device_values}, 3);
    d->why_not = why_not(plan);
    if (!d->why_not) {
        status = prepare(d, plan, (tsr_sparse *)(uintptr_t)plan->a);
        d->why_not = status == TSR_OK ? NULL : "the device declined";
        d->scales = d->sddmm.prepared ? d->sddmm.scales : d->spmm.scales;
    }
    return status == TSR_OUT_OF_MEMORY ? tsr_native_fail(status, "no memory for what the plan needs on the device") : TSR_OK;
}

tsr_status tsr_native_plan_on_device(tsr_plan *plan)
{
    tsr_native_device *d = calloc(1, sizeof *d);
    if (!d) {
        return tsr_native_no_memory();
    }
    pthread_mutex_init(&d->lock, NULL);
    atomic_init(&d->made_of, plan->a->changes);
    const tsr_status status = fill(plan, d);
    if (status != TSR_OK) {
        tsr_native_drop_device(d);
        return status;
    }
    plan->device = d;
    plan->gpu = d->gpu;
    explain(plan);
    return TSR_OK;
}

void tsr_native_drop_device(tsr_native_device *d)
{
    if (!d) {
        return;
    }
    if (d->spmm.prepared) {
        d->gpu->device->drop(&d->spmm);
    }
    if (d->sddmm.prepared) {
        d->gpu->device->sddmm_drop(&d->sddmm);
    }
    pthread_mutex_destroy(&d->lock);
    free(d);
}

bool tsr_plan_is_asynchronous(const tsr_plan *plan)
{
    return plan && plan->device && !plan->device->why_not;
}

int tsr_native_plan_which(const tsr_plan *plan)
{
    return tsr_plan_is_asynchronous(plan) ? plan->device->which : 0;
}

const char *tsr_native_device_kernel(const tsr_plan *plan)
{
    return tsr_plan_is_asynchronous(plan) ? kernel_of(plan->device) : "";
}

size_t tsr_plan_workspace_bytes(const tsr_plan *plan)
{
    return tsr_plan_is_asynchronous(plan) ? workspace_of(plan->device) : 0;
}

tsr_status tsr_plan_set_workspace(tsr_plan *plan, void *workspace, size_t bytes)
{
    const size_t needed = tsr_plan_workspace_bytes(plan);
    if (!plan) {
        return tsr_native_null("plan");
    }
    if (workspace && bytes < needed) {
        return tsr_native_fail(TSR_INVALID_VALUE, "bytes = %zu, the plan needs %zu", bytes, needed);
    }
    if (plan->device) {
        plan->device->workspace = workspace;
        plan->device->workspace_bytes = workspace ? bytes : 0;
    }
    return TSR_OK;
}

/* ---- on the stream ---- */

/* What was prepared is of the present values. */
static tsr_status renew(const tsr_plan *plan, tsr_sparse *a)
{
    tsr_native_device *d = plan->device;
    tsr_status status = TSR_OK;
    if (atomic_load_explicit(&d->made_of, memory_order_acquire) == a->changes) {
        return status;
    }
    pthread_mutex_lock(&d->lock);
    if (atomic_load_explicit(&d->made_of, memory_order_relaxed) != a->changes) {
        if (d->spmm.prepared) {
            d->gpu->device->drop(&d->spmm);
        }
        status = prepare(d, plan, a);
        if (status == TSR_OK) {
            atomic_store_explicit(&d->made_of, a->changes, memory_order_release);
        }
    }
    pthread_mutex_unlock(&d->lock);
    return status;
}

static tsr_device_operands operands_of(const tsr_plan *plan, tsr_complex alpha, const tsr_dense *b, tsr_complex beta, const tsr_dense *c, void *stream)
{
    const tsr_native_device *d = plan->device;
    return (tsr_device_operands){.alpha = alpha, .beta = beta, .conjugate = plan->flags & TSR_CONJUGATE_A, .b_type = b->type, .b = b->data,
                                 .ldb = stride_of(b), .c = c->data, .ldc = stride_of(c), .workspace = d->workspace, .workspace_bytes = d->workspace_bytes,
                                 .stream = stream};
}

/* A's values where the caller has them. */
static bool has_values(const tsr_plan *plan, const tsr_sparse *a)
{
    return a->device_values && a->view.type == plan->call.product.semiring.type;
}

/* Values that have changed since the plan was made, by the kernel that reads the caller's.  TSR_DECLINED: it is not the plan's, or cannot. */
static tsr_status queue_changed(const tsr_plan *plan, tsr_complex alpha, const tsr_sparse *a, const tsr_dense *b, tsr_complex beta, const tsr_dense *c,
                                void *stream)
{
    const tsr_native_device *d = plan->device;
    const bool changed = atomic_load_explicit(&d->made_of, memory_order_acquire) != a->changes;
    if (!changed || !has_values(plan, a) || !d->spmm.prepared || strcmp(d->spmm.kernel, "csr") != 0) {
        return TSR_DECLINED;
    }
    tsr_device_operands operands = operands_of(plan, alpha, b, beta, c, stream);
    operands.values = a->device_values;
    return d->gpu->device->run(&d->spmm, &operands);
}

static tsr_status queue(const tsr_plan *plan, tsr_complex alpha, const tsr_dense *b, tsr_complex beta, const tsr_dense *c,
                        const tsr_epilogue *epilogue, void *stream)
{
    tsr_device_operands operands = operands_of(plan, alpha, b, beta, c, stream);
    operands.bias = epilogue ? epilogue->bias : NULL;
    operands.rectified = epilogue && epilogue->activation == TSR_ACTIVATION_RELU;
    return plan->device->gpu->device->run(&plan->device->spmm, &operands);
}

static tsr_status device_failed(tsr_status status)
{
    return tsr_native_fail(status, "the device %s", status == TSR_OUT_OF_MEMORY ? "has no memory" : "failed");
}

static void report(const tsr_plan *plan, double ms)
{
    char pattern[192];
    tsr_engine_describe(pattern, sizeof pattern, &plan->call.product);
    tsr_engine_report(plan->device->gpu, kernel_of(plan->device),
                      (tsr_trace_record){.call = plan->call.given.name, .pattern = pattern, .measured_ms = ms});
}

/* Executions with these scalars only queue their work. */
static bool is_queued(const tsr_plan *plan, tsr_complex alpha, tsr_complex beta)
{
    const bool plain = tsr_complex_is(alpha, 1) && tsr_complex_is(beta, 0);
    return !plan->device->why_not && !tsr_complex_is(alpha, 0) && (plain || plan->device->scales);
}

tsr_status tsr_native_execute_on_device(const tsr_plan *plan, tsr_complex alpha, tsr_sparse *a, const tsr_dense *b, tsr_complex beta,
                                        const tsr_dense *c, const tsr_epilogue *epilogue, void *stream)
{
    if (!is_queued(plan, alpha, beta)) {
        return tsr_native_execute_through_host(plan, alpha, a, b, beta, c, epilogue, stream);
    }
    const bool traced = tsr_trace_wanted();
    const double began = traced ? tsr_engine_clock_ms() : 0;
    tsr_status status = epilogue ? TSR_DECLINED : queue_changed(plan, alpha, a, b, beta, c, stream);
    if (status == TSR_DECLINED) {
        status = renew(plan, a);
        if (status == TSR_OK) {
            status = queue(plan, alpha, b, beta, c, epilogue, stream);
        }
    }
    if (status == TSR_DECLINED) {
        return tsr_native_execute_through_host(plan, alpha, a, b, beta, c, epilogue, stream);
    }
    if (status == TSR_OK && traced) {
        report(plan, tsr_engine_clock_ms() - began);
    }
    return status == TSR_OK ? status : device_failed(status);
}

tsr_status tsr_native_batch_on_device(const tsr_plan *plan, tsr_complex alpha, tsr_sparse *a, const tsr_dense *b, tsr_complex beta,
                                      const tsr_dense *c, const tsr_batch *of, void *stream)
{
    const bool own = of->values_stride != 0;
    if (!is_queued(plan, alpha, beta) || (own && !has_values(plan, a))) {
        return TSR_DECLINED;
    }
    tsr_status status = renew(plan, a);
    if (status == TSR_OK) {
        tsr_device_operands operands = operands_of(plan, alpha, b, beta, c, stream);
        operands.values = own ? a->device_values : NULL;
        operands.batch = (tsr_device_batch){of->count, of->values_stride, of->first_stride, of->second_stride};
        status = plan->device->gpu->device->run(&plan->device->spmm, &operands);
    }
    return status == TSR_OK || status == TSR_DECLINED ? status : device_failed(status);
}

static tsr_status queue_samples(const tsr_plan *plan, double alpha, const tsr_dense *x, const tsr_dense *y, double beta, void *values,
                                const tsr_batch *of, void *stream)
{
    const tsr_native_device *d = plan->device;
    const tsr_device_batch batch = of ? (tsr_device_batch){of->count, of->values_stride, of->first_stride, of->second_stride} : (tsr_device_batch){0};
    const tsr_device_samples operands = {.batch = batch, .alpha = alpha, .beta = beta, .x_type = x->type, .y_type = y->type, .x = x->data,
                                         .y = y->data, .ldx = x->ld, .ldy = y->ld, .values = values,
                                         .softmax = plan->flags & TSR_SOFTMAX_ROWS, .workspace = d->workspace,
                                         .workspace_bytes = d->workspace_bytes, .stream = stream};
    return d->gpu->device->sddmm_run(&d->sddmm, &operands);
}

tsr_status tsr_native_execute_sddmm_on_device(const tsr_plan *plan, double alpha, const tsr_dense *x, const tsr_dense *y, double beta,
                                              tsr_sparse *s, void *values, void *stream)
{
    if (!is_queued(plan, tsr_complex_of(alpha), tsr_complex_of(beta))) {
        return tsr_native_sample_through_host(plan, alpha, x, y, beta, s, values, stream);
    }
    const bool traced = tsr_trace_wanted();
    const double began = traced ? tsr_engine_clock_ms() : 0;
    const tsr_status status = queue_samples(plan, alpha, x, y, beta, values, NULL, stream);
    if (status == TSR_OK && traced) {
        report(plan, tsr_engine_clock_ms() - began);
    }
    return status == TSR_OK ? status : device_failed(status);
}

tsr_status tsr_native_sample_batch_on_device(const tsr_plan *plan, double alpha, const tsr_dense *x, const tsr_dense *y, double beta, void *values,
                                             const tsr_batch *of, void *stream)
{
    if (!is_queued(plan, tsr_complex_of(alpha), tsr_complex_of(beta))) {
        return TSR_DECLINED;
    }
    const tsr_status status = queue_samples(plan, alpha, x, y, beta, values, of, stream);
    return status == TSR_OK || status == TSR_DECLINED ? status : device_failed(status);
}
