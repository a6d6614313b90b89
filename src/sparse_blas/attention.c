/* The native door of attention over a pattern (tessera/attention.h).
 * SPDX-License-Identifier: Apache-2.0 */
#include "tessera/attention.h"

#include <stdio.h>
#include <stdlib.h>

#include "src/base/types.h"
#include "src/engine/call/attempt.h"
#include "src/engine/call/clock.h"
#include "src/engine/call/host.h"
#include "src/engine/call/report.h"
#include "src/engine/product/operands.h"
#include "src/format/sparse/format.h"
#include "src/runtime/backends.h"
#include "src/sparse_blas/native.h"
#include "tessera/device.h"

/* Operands, those of a plan first. */
enum { Q, K, V, O, PLANNED, GRAD_O = PLANNED, GRAD_Q, GRAD_K, GRAD_V, OPERANDS };
static const char *const names[OPERANDS] = {"q", "k", "v", "o", "grad_o", "grad_q", "grad_k", "grad_v"};

struct tsr_attention_plan {
    const tsr_sparse *s;
    tsr_heads like[PLANNED];   /* without data */
    unsigned flags;
    const tsr_backend *gpu;    /* operands are in its memory; NULL: in host memory */
    int which;                 /* device, as tsr_backend_device.which counts; 0: any */
    void *prepared;            /* the GPU's; NULL: it declined */
    const char *kernel;        /* of it */
    tsr_compressed columns;    /* the pattern of the transpose, by row, where the CPU needs it for gradients */
    char explanation[256];
};

/* ---- one operand ---- */

static tsr_status check_fields(const char *name, const tsr_heads *h)
{
    const struct {
        const char *field;
        int64_t value, least, most;
    } ranges[] = {{"memory", h->memory, 0, TSR_MEMORY_DEVICE}, {"rows", h->rows, 0, INT64_MAX}, {"heads", h->heads, 1, INT32_MAX},
                  {"width", h->width, 1, INT32_MAX}, {"ld", h->ld, h->width, INT64_MAX}, {"head_stride", h->head_stride, 0, INT64_MAX}};
    for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++) {
        char field[32];
        snprintf(field, sizeof field, "%s->%s", name, ranges[k].field);
        tsr_status status = tsr_native_check_range(field, ranges[k].value, ranges[k].least, ranges[k].most);
        if (status != TSR_OK) {
            return status;
        }
    }
    const bool known = h->type == TSR_FP32 || h->type == TSR_FP16 || h->type == TSR_BF16;
    return known ? TSR_OK : tsr_native_fail(TSR_INVALID_VALUE, "%s->type = %d is not TSR_FP32, TSR_FP16 or TSR_BF16", name, (int)h->type);
}

static tsr_status check_heads(const char *name, const tsr_heads *h)
{
    int64_t rows, heads, bytes;
    tsr_status status = check_fields(name, h);
    if (status == TSR_OK && (__builtin_mul_overflow(h->rows, h->ld, &rows) || __builtin_mul_overflow(h->heads, h->head_stride, &heads) ||
                             __builtin_add_overflow(rows, heads, &rows) || __builtin_mul_overflow(rows, 4, &bytes))) {
        return tsr_native_fail(TSR_INVALID_VALUE, "%s: %lld rows, %lld heads and their strides are more than can be addressed", name,
                               (long long)h->rows, (long long)h->heads);
    }
    return status;
}

/* The heads of a row lie between it and the next one; or all rows of a head before the next head. */
static bool rows_hold_heads(const tsr_heads *h)
{
    return h->ld >= (h->heads - 1) * h->head_stride + h->width;
}
static bool heads_hold_rows(const tsr_heads *h)
{
    return h->heads == 1 || h->rows == 0 || h->head_stride >= (h->rows - 1) * h->ld + h->width;
}

static tsr_span span_of(const tsr_heads *h)
{
    const size_t size = tsr_type_size(h->type);
    const size_t row = (size_t)((h->heads - 1) * h->head_stride + h->width) * size, all = row + (size_t)((h->rows - 1) * h->ld) * size;
    if (h->rows == 0) {
        return (tsr_span){0};
    }
    if (rows_hold_heads(h)) {
        return (tsr_span){(uintptr_t)h->data, row, (size_t)h->ld * size, h->rows};
    }
    return heads_hold_rows(h) ? (tsr_span){(uintptr_t)h->data, (size_t)((h->rows - 1) * h->ld + h->width) * size, (size_t)h->head_stride * size, h->heads}
                              : (tsr_span){(uintptr_t)h->data, all, all, 1};
}

/* ---- plans ---- */

static bool is_of_columns(int operand)
{
    return operand == K || operand == V || operand == GRAD_K || operand == GRAD_V;
}

static tsr_status check_shape(const tsr_attention_plan *plan, int operand, const tsr_heads *h, tsr_status mismatch)
{
    const tsr_heads *q = &plan->like[Q];
    const int64_t rows = is_of_columns(operand) ? plan->s->view.ncols : plan->s->view.nrows;
    const struct {
        const char *field;
        int64_t value, expected;
        tsr_status status;
    } fields[] = {{"rows", h->rows, rows, mismatch}, {"heads", h->heads, q->heads, mismatch}, {"width", h->width, q->width, mismatch},
                  {"type", h->type, q->type, TSR_INVALID_VALUE}, {"memory", h->memory, q->memory, TSR_INVALID_VALUE}};
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++) {
        if (fields[k].value != fields[k].expected) {
            return tsr_native_fail(fields[k].status, "%s->%s is %lld, not %lld", names[operand], fields[k].field, (long long)fields[k].value,
                                   (long long)fields[k].expected);
        }
    }
    return TSR_OK;
}

/* Rows that are written must not share places. */
static tsr_status check_apart(int operand, const tsr_heads *h)
{
    if (rows_hold_heads(h) || heads_hold_rows(h)) {
        return TSR_OK;
    }
    return tsr_native_fail(TSR_INVALID_VALUE, "%s->ld = %lld and %s->head_stride = %lld: rows would overlap", names[operand], (long long)h->ld,
                           names[operand], (long long)h->head_stride);
}

static tsr_status check_plan(const tsr_attention_plan *plan)
{
    const tsr_view *s = &plan->s->view;
    if (plan->flags & ~(unsigned)TSR_ATTENTION_BACKWARD) {
        return tsr_native_fail(TSR_INVALID_VALUE, "flags = %#x has unknown bits", plan->flags);
    }
    tsr_status status = TSR_OK;
    for (int k = 0; k < PLANNED && status == TSR_OK; k++) {
        status = check_heads(names[k], &plan->like[k]);
    }
    for (int k = 0; k < PLANNED && status == TSR_OK; k++) {
        status = check_shape(plan, k, &plan->like[k], TSR_DIMENSION_MISMATCH);
    }
    if (status == TSR_OK) {
        status = check_apart(O, &plan->like[O]);
    }
    if (status == TSR_OK && tsr_is_complex(s->type)) {
        status = tsr_native_fail(TSR_NOT_SUPPORTED, "the values of s are complex");
    }
    if (status == TSR_OK && (s->by_col || s->nrows >= UINT32_MAX || s->ncols >= UINT32_MAX)) {
        status = tsr_native_fail(TSR_NOT_SUPPORTED, "s is held by columns, or has more than 2^32 - 2 rows or columns");
    }
    return status;
}

/* A sampled product over the same mask: the slot in which the GPU may keep S. */
static void describe(tsr_call *call, const tsr_sparse *s)
{
    *call = (tsr_call){.product = {.op = TSR_OP_SDDMM, .semiring = tsr_default_semiring(TSR_FP32), .m = s->view.nrows, .n = s->view.ncols,
                                   .k = 1, .mask = s->view, .mask_structural = true, .nthreads = tsr_native_threads()}};
    call->product.a = (tsr_view){.format = TSR_FULL, .type = TSR_FP32, .iso = true};
    call->product.b = call->product.a;
    call->mask.record = s->record;
}

/* Those of gradients may be NULL. */
static tsr_attention_operands operands_of(const tsr_heads *const h[OPERANDS])
{
    static const tsr_heads none;
    return (tsr_attention_operands){.q = *h[Q], .k = *h[K], .v = *h[V], .o = *h[O], .scale = 1, .grad_o = h[GRAD_O] ? *h[GRAD_O] : none,
                                    .grad_q = h[GRAD_Q] ? *h[GRAD_Q] : none, .grad_k = h[GRAD_K] ? *h[GRAD_K] : none,
                                    .grad_v = h[GRAD_V] ? *h[GRAD_V] : none};
}

static tsr_status prepare(tsr_attention_plan *plan)
{
    tsr_call call;
    tsr_operands held;
    tsr_product ready;
    const tsr_decision decision = {.backend = plan->gpu};
    const tsr_heads *const like[OPERANDS] = {&plan->like[Q], &plan->like[K], &plan->like[V], &plan->like[O]};
    tsr_attention_operands operands = operands_of(like);
    operands.device = plan->which;
    describe(&call, plan->s);
    tsr_status status = tsr_operands_prepare(&held, &ready, &call, &decision, true);
    if (status == TSR_OK) {
        operands.kernel = ready.kernel;
        status = TSR_ATTEMPT(plan->gpu->device->attention_prepare(&ready.mask, ready.mask_slot, &operands, plan->flags & TSR_ATTENTION_BACKWARD,
                                                                     &plan->prepared, &plan->kernel));
    }
    tsr_operands_release(&held);
    return status == TSR_OUT_OF_MEMORY ? tsr_native_no_memory() : TSR_OK;
}

static void explain(tsr_attention_plan *plan)
{
    const tsr_heads *q = &plan->like[Q];
    char queued[64];
    snprintf(queued, sizeof queued, "cuda:%s, queued on the stream", plan->prepared ? plan->kernel : "");
    const char *who = plan->prepared ? queued : !plan->gpu ? "cpu:attention: operands are in host memory"
                      : "cpu:attention; what is in device memory goes through the host, because the device declined";
    snprintf(plan->explanation, sizeof plan->explanation, "attention %s, %lld x %lld with %lld entries, %lld heads of %lld -> %s",
             tsr_type_name(q->type), (long long)plan->s->view.nrows, (long long)plan->s->view.ncols, (long long)plan->s->view.nvals,
             (long long)q->heads, (long long)q->width, who);
}

static tsr_status turn(tsr_compressed *columns, const tsr_sparse *s)
{
    tsr_view turned = tsr_view_transposed(s->view);
    turned.x = NULL;
    return tsr_compress(columns, &turned, TSR_BOOL, TSR_COMPRESS_PATTERN | TSR_COMPRESS_FLIP, tsr_native_threads());
}

/* o, q: where the operands are expected. */
static tsr_status fill(tsr_attention_plan *plan, const void *o, const void *q)
{
    tsr_status status = check_plan(plan);
    if (status == TSR_OK && plan->like[Q].memory == TSR_MEMORY_DEVICE) {
        plan->gpu = tsr_native_find_device();
        plan->which = plan->gpu ? tsr_native_which(plan->gpu, (const void *const[]){o, q}, 2) : 0;
        status = plan->gpu ? prepare(plan) : TSR_NOT_SUPPORTED;
    }
    if (status == TSR_OK && plan->flags & TSR_ATTENTION_BACKWARD && !plan->prepared) {
        status = turn(&plan->columns, plan->s) == TSR_OK ? TSR_OK : tsr_native_no_memory();
    }
    explain(plan);
    return status;
}

tsr_status tsr_attention_plan_create(tsr_attention_plan **out, tsr_sparse *s, const tsr_heads *q, const tsr_heads *k, const tsr_heads *v,
                                     const tsr_heads *o, unsigned flags)
{
    if (!out || !s || !q || !k || !v || !o) {
        return tsr_native_null(!out ? "plan" : !s ? "s" : !q ? "q" : !k ? "k" : !v ? "v" : "o");
    }
    tsr_attention_plan *plan = calloc(1, sizeof *plan);
    if (!plan) {
        return tsr_native_no_memory();
    }
    *plan = (tsr_attention_plan){.s = s, .like = {*q, *k, *v, *o}, .flags = flags};
    for (int operand = 0; operand < PLANNED; operand++) {
        plan->like[operand].data = NULL;
    }
    const tsr_status status = fill(plan, o->data, q->data);
    if (status != TSR_OK) {
        tsr_attention_plan_destroy(plan);
        return status;
    }
    *out = plan;
    return TSR_OK;
}

bool tsr_attention_plan_is_asynchronous(const tsr_attention_plan *plan)
{
    return plan && plan->prepared;
}

const char *tsr_attention_plan_explain(const tsr_attention_plan *plan)
{
    return plan ? plan->explanation : "";
}

void tsr_attention_plan_destroy(tsr_attention_plan *plan)
{
    if (!plan) {
        return;
    }
    if (plan->prepared) {
        plan->gpu->device->attention_drop(plan->prepared);
    }
    tsr_compressed_free(&plan->columns);
    free(plan);
}

/* ---- execution ---- */

static tsr_status check_operand(const tsr_attention_plan *plan, int operand, const tsr_heads *h)
{
    tsr_status status = check_heads(names[operand], h);
    if (status == TSR_OK) {
        status = check_shape(plan, operand, h, TSR_INVALID_VALUE);
    }
    if (status == TSR_OK && !h->data && h->rows > 0) {
        return tsr_native_fail(TSR_INVALID_VALUE, "%s->data is NULL", names[operand]);
    }
    if (status == TSR_OK) {
        status = tsr_native_check_pointer(names[operand], h->data, h->memory);
    }
    return status == TSR_OK && plan->prepared ? tsr_native_check_which(names[operand], h->data, plan->which) : status;
}

/* What is written overlaps no operand, nor the pattern.  written: bits. */
static tsr_status check_overlaps(const tsr_attention_plan *plan, const tsr_heads *const h[OPERANDS], unsigned written)
{
    for (int k = 0; k < OPERANDS; k++) {
        const tsr_span mine = h[k] ? span_of(h[k]) : (tsr_span){0};
        bool shared = tsr_native_overlaps_pattern(mine, &plan->s->view);
        for (int other = 0; other < OPERANDS; other++) {
            shared = shared || (other != k && h[other] && tsr_native_overlap(mine, span_of(h[other])));
        }
        if (!(written >> k & 1) || !h[k]) {
            continue;
        }
        if (shared) {
            return tsr_native_fail(TSR_INVALID_VALUE, "%s->data = %p overlaps an operand or the pattern", names[k], h[k]->data);
        }
        tsr_status status = check_apart(k, h[k]);
        if (status != TSR_OK) {
            return status;
        }
    }
    return TSR_OK;
}

/* lse is written by the forward pass only. */
static tsr_status check_lse(const tsr_attention_plan *plan, const tsr_heads *const h[OPERANDS], const float *lse)
{
    const tsr_span mine = tsr_native_span(lse, lse ? h[O]->rows * h[O]->heads : 0, sizeof *lse);
    bool shared = tsr_native_overlaps_pattern(mine, &plan->s->view);
    for (int k = 0; k < OPERANDS; k++) {
        shared = shared || (h[k] && tsr_native_overlap(mine, span_of(h[k])));
    }
    if (shared) {
        return tsr_native_fail(TSR_INVALID_VALUE, "lse = %p overlaps an operand or the pattern", (const void *)lse);
    }
    return lse ? tsr_native_check_pointer("lse", lse, h[O]->memory) : TSR_OK;
}

/* needed: bits of the operands that may not be NULL. */
static tsr_status check_call(const tsr_attention_plan *plan, const tsr_heads *const h[OPERANDS], unsigned needed, unsigned written,
                             const float *lse, const void *stream)
{
    tsr_status status = plan ? TSR_OK : tsr_native_null("plan");
    for (int k = 0; k < OPERANDS && status == TSR_OK; k++) {
        if (h[k]) {
            status = check_operand(plan, k, h[k]);
        } else if (needed >> k & 1) {
            status = tsr_native_null(names[k]);
        }
    }
    if (status == TSR_OK && stream && !plan->gpu) {
        return tsr_native_fail(TSR_NOT_SUPPORTED, "stream = %p, but all operands are in host memory", stream);
    }
    if (status == TSR_OK) {
        status = check_overlaps(plan, h, written);
    }
    return status == TSR_OK ? check_lse(plan, h, lse) : status;
}

/* ---- through the host ---- */

static tsr_status copy_heads(const tsr_backend *gpu, const tsr_heads *device, const tsr_heads *host, bool to_device, void *stream)
{
    const size_t size = tsr_type_size(device->type);
    tsr_status status = TSR_OK;
    for (int64_t head = 0; head < device->heads && status == TSR_OK; head++) {
        const tsr_device_copy copy = {.device = (char *)device->data + (size_t)(head * device->head_stride) * size,
                                      .host = (char *)host->data + (size_t)(head * host->head_stride) * size, .device_pitch = (size_t)device->ld * size,
                                      .host_pitch = (size_t)host->ld * size, .width = (size_t)device->width * size, .height = (size_t)device->rows,
                                      .to_device = to_device, .stream = stream};
        status = gpu->device->copy(&copy);
    }
    return status;
}

/* A copy of the same shape in host memory, with its contents where they are read. */
static tsr_status take(tsr_heads *host, const tsr_backend *gpu, const tsr_heads *device, bool read, void *stream)
{
    *host = *device;
    host->memory = TSR_MEMORY_HOST;
    host->head_stride = device->width;
    host->ld = device->heads * device->width;
    host->data = malloc((size_t)(device->rows * host->ld + 1) * tsr_type_size(device->type));
    if (!host->data) {
        return TSR_OUT_OF_MEMORY;
    }
    return read ? copy_heads(gpu, device, host, false, stream) : TSR_OK;
}

/* lse to the host, or from it. */
static tsr_status copy_lse(const tsr_backend *gpu, float *device, float *host, int64_t n, bool to_device, void *stream)
{
    const size_t bytes = (size_t)n * sizeof *host;
    const tsr_device_copy copy = {.device = device, .host = host, .device_pitch = bytes, .host_pitch = bytes, .width = bytes, .height = 1,
                                  .to_device = to_device, .stream = stream};
    return device ? gpu->device->copy(&copy) : TSR_OK;
}

/* Forward, or with the pattern by columns the gradients.  A device that was to compute them may have declined. */
static tsr_status on_host(const tsr_attention_plan *plan, const tsr_attention_operands *o, bool backward)
{
    tsr_compressed made = {0};
    const bool is_missing = backward && !plan->columns.view.p;
    const tsr_view *columns = !backward ? NULL : is_missing ? &made.view : &plan->columns.view;
    tsr_status status = is_missing ? turn(&made, plan->s) : TSR_OK;
    if (status == TSR_OK) {
        status = tsr_engine_attention(&plan->s->view, columns, o, tsr_native_threads());
    }
    tsr_compressed_free(&made);
    return status;
}

static tsr_status compute_copies(const tsr_attention_plan *plan, tsr_attention_operands *host, const tsr_attention_operands *device, bool backward)
{
    const int64_t rows = device->o.rows * device->o.heads;
    host->lse = malloc((size_t)(rows + 1) * sizeof(float));
    tsr_status status = host->lse ? TSR_OK : TSR_OUT_OF_MEMORY;
    if (status == TSR_OK && backward) {
        status = copy_lse(plan->gpu, device->lse, host->lse, rows, false, device->stream);
    }
    if (status == TSR_OK) {
        status = on_host(plan, host, backward);
    }
    if (status == TSR_OK && !backward) {
        status = copy_lse(plan->gpu, device->lse, host->lse, rows, true, device->stream);
    }
    free(host->lse);
    return status;
}

static tsr_status through_host(const tsr_attention_plan *plan, const tsr_attention_operands *o, bool backward)
{
    tsr_attention_operands host = *o;
    const struct {
        const tsr_heads *device;
        tsr_heads *host;
        bool written;
    } all[] = {{&o->q, &host.q, false}, {&o->k, &host.k, false}, {&o->v, &host.v, false}, {&o->o, &host.o, !backward},
               {&o->grad_o, &host.grad_o, false}, {&o->grad_q, &host.grad_q, true}, {&o->grad_k, &host.grad_k, true}, {&o->grad_v, &host.grad_v, true}};
    tsr_status status = TSR_OK;
    for (int k = 0; k < OPERANDS; k++) {
        all[k].host->data = NULL;
    }
    for (int k = 0; k < OPERANDS && status == TSR_OK; k++) {
        status = all[k].device->data ? take(all[k].host, plan->gpu, all[k].device, !all[k].written, o->stream) : TSR_OK;
    }
    if (status == TSR_OK) {
        status = compute_copies(plan, &host, o, backward);
    }
    for (int k = 0; k < OPERANDS; k++) {
        if (status == TSR_OK && all[k].written && all[k].device->data) {
            status = copy_heads(plan->gpu, all[k].device, all[k].host, true, o->stream);
        }
        free(all[k].host->data);
    }
    return status;
}

/* ---- anywhere ---- */

static tsr_status compute(const tsr_attention_plan *plan, const tsr_attention_operands *o, bool backward)
{
    const struct tsr_backend_device *device = plan->gpu ? plan->gpu->device : NULL;
    tsr_status status = TSR_DECLINED;
    if (!device) {
        return on_host(plan, o, backward);
    }
    if (plan->prepared) {
        status = backward ? device->attention_backward(plan->prepared, o) : device->attention_run(plan->prepared, o);
    }
    return status == TSR_DECLINED ? through_host(plan, o, backward) : status;
}

static tsr_status compute_traced(const tsr_attention_plan *plan, const tsr_attention_operands *o, bool backward)
{
    const bool traced = tsr_trace_wanted();
    const double began = traced ? tsr_engine_clock_ms() : 0;
    const tsr_status status = compute(plan, o, backward);
    if (status == TSR_OK && traced) {
        const char *call = backward ? "tsr_attention_backward" : "tsr_attention_execute";
        tsr_engine_report(plan->prepared ? plan->gpu : tsr_backend_cpu(), "attention",
                          (tsr_trace_record){.call = call, .pattern = plan->explanation, .measured_ms = tsr_engine_clock_ms() - began});
    }
    if (status == TSR_OUT_OF_MEMORY) {
        return tsr_native_no_memory();
    }
    return status == TSR_OK ? status : tsr_native_fail(TSR_INTERNAL_ERROR, "the device failed");
}

tsr_status tsr_attention_execute(const tsr_attention_plan *plan, double scale, const tsr_heads *q, const tsr_heads *k, const tsr_heads *v,
                                 const tsr_heads *o, float *lse, void *stream)
{
    const tsr_heads *const h[OPERANDS] = {q, k, v, o};
    tsr_status status = check_call(plan, h, 1u << Q | 1u << K | 1u << V | 1u << O, 1u << O, lse, stream);
    if (status != TSR_OK || o->rows == 0) {
        return status;
    }
    tsr_attention_operands operands = operands_of(h);
    operands.lse = lse;
    operands.scale = scale;
    operands.stream = stream;
    return compute_traced(plan, &operands, false);
}

tsr_status tsr_attention_backward(const tsr_attention_plan *plan, double scale, const tsr_heads *q, const tsr_heads *k, const tsr_heads *v,
                                  const tsr_heads *o, const float *lse, const tsr_heads *grad_o, const tsr_heads *grad_q, const tsr_heads *grad_k,
                                  const tsr_heads *grad_v, void *stream)
{
    const tsr_heads *const h[OPERANDS] = {q, k, v, o, grad_o, grad_q, grad_k, grad_v};
    const unsigned read = 1u << Q | 1u << K | 1u << V | 1u << O | 1u << GRAD_O;
    tsr_status status = check_call(plan, h, read, 1u << GRAD_Q | 1u << GRAD_K | 1u << GRAD_V, lse, stream);
    if (status == TSR_OK && !(plan->flags & TSR_ATTENTION_BACKWARD)) {
        return tsr_native_fail(TSR_NOT_SUPPORTED, "the plan was made without TSR_ATTENTION_BACKWARD");
    }
    if (status == TSR_OK && !lse) {
        return tsr_native_null("lse");
    }
    if (status != TSR_OK) {
        return status;
    }
    tsr_attention_operands operands = operands_of(h);
    operands.lse = (float *)(uintptr_t)lse;
    operands.scale = scale;
    operands.stream = stream;
    return compute_traced(plan, &operands, true);
}
