/* Sparse times sparse as an operation: C is as large as it turns out to be, so its memory is asked for in the middle.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/spgemm.h"
#include "src/base/types.h"
#include "src/engine/attempt.h"
#include "src/engine/engine.h"
#include "src/engine/operands.h"
#include "src/engine/sparse_product.h"
#include "src/policy/route.h"
#include "src/policy/sparse_product.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"
#include "src/runtime/trace.h"

static const char *resolve(tsr_call *call)
{
    (void)call;
    return NULL;
}

/* ---- the decision ---- */

enum { SAMPLES = 512 };

/* Entries of line k of a matrix held by such lines. */
static double length_of(const tsr_view *b, int64_t k)
{
    if (b->format != TSR_HYPERSPARSE)
        return (double)(b->p[k + 1] - b->p[k]);
    int64_t lo = 0, hi = b->nvec;
    while (lo < hi) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (b->h[mid] < k)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < b->nvec && b->h[lo] == k ? (double)(b->p[lo + 1] - b->p[lo]) : 0;
}

/* Products of C by row, from a few of A's entries.  An operand held by column will be flipped: then by averages. */
static double estimate_work(const tsr_spgemm *s)
{
    const tsr_view *a = &s->a, *b = &s->b;
    const int64_t n = a->nvals < SAMPLES ? a->nvals : SAMPLES;
    double sum = 0;
    if (b->by_col || n == 0)
        return s->k > 0 ? (double)a->nvals * ((double)b->nvals / (double)s->k) : 0;
    for (int64_t q = 0; q < n; q++) {
        const int64_t e = (int64_t)((double)a->nvals / (double)n * ((double)q + 0.5));
        const int64_t minor = a->index_size == 4 ? (int64_t)((const uint32_t *)a->i)[e] : ((const int64_t *)a->i)[e];
        sum += a->by_col ? (double)b->nvals / (double)s->k : length_of(b, minor);
    }
    return sum / (double)n * (double)a->nvals;
}

static tsr_spgemm product_of(const tsr_call *call)
{
    const tsr_product *p = &call->product;
    const bool masked = call->given.M;
    return (tsr_spgemm){.masked = masked, .mask_structural = p->mask_structural, .mask_complement = masked && call->mod.mask_comp,
                        .mask = masked ? p->mask : (tsr_view){0},
                        .semiring = p->semiring, .m = p->m, .n = p->n, .k = p->k, .a = p->a, .b = p->b, .pattern = call->one_value,
                        .c_by_col = p->c_by_col, .nthreads = p->nthreads};
}

static tsr_sparse_product_features features_of(const tsr_spgemm *product)
{
    const tsr_spgemm s = tsr_spgemm_by_row(product);
    return (tsr_sparse_product_features){.work = estimate_work(&s), .columns = (double)s.n, .nvals = (double)(s.a.nvals + s.b.nvals + s.mask.nvals),
                                         .flipped = (double)((s.a.by_col ? s.a.nvals : 0) + (s.b.by_col ? s.b.nvals : 0) +
                                                             (s.mask.by_col ? s.mask.nvals : 0)),
                                         .places = (double)s.m * (double)s.n, .lines = 2 * (double)s.m + (double)s.k,
                                         .value_bytes = s.pattern ? 0 : (double)tsr_type_size(s.semiring.type), .nthreads = s.nthreads};
}

/* As a device gets it: types as they will be; of a pattern it finds the structure. */
static tsr_product product_there(const tsr_spgemm *s)
{
    const tsr_semiring structure = {TSR_BOOL, TSR_ADD_ANY, TSR_MUL_PAIR}, semiring = s->pattern ? structure : s->semiring;
    tsr_product p = {.semiring = semiring, .m = s->m, .n = s->n, .k = s->k, .a = s->a, .b = s->b, .c_by_col = s->c_by_col,
                     .nthreads = s->nthreads};
    p.a.type = p.b.type = semiring.type;
    return p;
}

/* What is built of an operand that is about to be overwritten would be stale. */
static tsr_record *record_of(const tsr_call *call, const void *handle)
{
    return handle == call->given.C ? NULL : call->door->record(handle, true);
}

static bool gpu_is_wanted(double other, double gain, double expected_calls)
{
    const tsr_config *config = tsr_config_get();
    if (tsr_engine_by_reference() || config->mode == TSR_MODE_CPU)
        return false;
    if (config->mode == TSR_MODE_GPU || config->eager)
        return true;
    return other >= TSR_GPU_LEAST_MS && (tsr_backend_gpu_asked() || tsr_engine_starts_gpu(tsr_start_pays(gain, expected_calls)));
}

/* The GPU, if it may compute what takes `other` ms elsewhere. */
static const tsr_backend *gpu_for(const tsr_spgemm *s, const tsr_sparse_product_features *f, double other, double expected_calls)
{
    const tsr_product there = product_there(s);
    const bool wanted = !s->masked && gpu_is_wanted(other, other - tsr_sparse_product_gpu_ms(f), expected_calls);
    const tsr_backend *gpu = wanted ? tsr_backend_gpu() : NULL;
    return gpu && gpu->sparse && gpu->sparse->supports(&there) ? gpu : NULL;
}

static bool gpu_pays(const tsr_sparse_product_features *f, double other)
{
    return tsr_config_get()->mode == TSR_MODE_GPU || tsr_sparse_product_gpu_ms(f) < other * TSR_ROUTE_MARGIN;
}

/* Instead of what was decided. */
static void consider_gpu(tsr_call *call, const tsr_spgemm *s, tsr_sparse_product_features *f)
{
    tsr_decision *d = &call->decision;
    const double other = d->backend ? tsr_sparse_product_cpu_ms(f) : d->forward_ms;
    const tsr_backend *gpu = gpu_for(s, f, other, call->expected_calls);
    if (!gpu)
        return;
    call->a.record = record_of(call, call->a.handle);
    call->b.record = record_of(call, call->b.handle);
    f->there = tsr_operands_kept(call, gpu);
    if (!gpu_pays(f, other))
        return;
    d->backend = gpu;
    d->predicted_ms = tsr_sparse_product_gpu_ms(f);
    if (tsr_trace_wanted())
        snprintf(d->reason, sizeof d->reason, "%spredicted %.3g ms, host %.3g ms", tsr_config_get()->mode == TSR_MODE_GPU ? "forced; " : "",
                 d->predicted_ms, other);
}

static void decide(tsr_call *call)
{
    tsr_decision *d = &call->decision;
    const tsr_spgemm s = product_of(call);
    tsr_sparse_product_features f = features_of(&s);
    const char *why = tsr_sparse_product_pays(&f);
    *d = (tsr_decision){.predicted_ms = -1, .forward_ms = tsr_sparse_product_suitesparse_ms(&f), .observed_ms = -1};
    if (tsr_config_get()->disabled & TSR_DISABLE_SPGEMM) {
        snprintf(d->reason, sizeof d->reason, "disabled");
        return;
    }
    if (!why || tsr_config_forces_cpu())
        d->backend = tsr_backend_cpu();
    snprintf(d->reason, sizeof d->reason, "%s", why ? why : "sparse times sparse");
    consider_gpu(call, &s, &f);
}

/* ---- memory ---- */

static void *resize(const void *memory, void *block, size_t bytes)
{
    return ((const tsr_memory *)memory)->resize(block, bytes);
}

static void release(const void *memory, void *block)
{
    ((const tsr_memory *)memory)->release(block);
}

static bool allocate(tsr_handover *a, const tsr_memory *memory, const tsr_spgemm_size *size)
{
    *a = (tsr_handover){.memory = memory, .nvals = size->nvals, .nvec = size->nvec, .jumbled = !size->sorted};
    a->p_bytes = (size_t)((size->nvec > 0 ? size->nvec : 1) + 1) * sizeof *a->p;
    a->h_bytes = (size_t)(size->nvec > 0 ? size->nvec : 1) * sizeof *a->h;
    a->p = memory->allocate(a->p_bytes);
    a->h = size->hyper ? memory->allocate(a->h_bytes) : NULL;
    if (!a->p || (size->hyper && !a->h))
        return false;
    a->p[0] = a->p[1] = 0;
    return true;
}

/* For what a kernel writes itself. */
static bool allocate_entries(tsr_handover *a, const tsr_spgemm_size *size, size_t value_size)
{
    const size_t entries = (size_t)(size->nvals > 0 ? size->nvals : 1);
    a->i_bytes = entries * sizeof *a->i;
    a->i = a->memory->allocate(a->i_bytes);
    a->x_bytes = entries * value_size;
    a->x = value_size ? a->memory->allocate(a->x_bytes) : NULL;
    return a->i && (a->x || !value_size);
}

static size_t value_size(const tsr_call *call)
{
    return call->one_value ? 0 : tsr_type_size(call->product.semiring.type);
}

/* Of a result of one value, for which the kernel writes none. */
static bool set_one(tsr_handover *a, const tsr_call *call)
{
    const size_t size = tsr_type_size(call->product.semiring.type);
    if (!call->one_value)
        return a->x != NULL;
    a->x = a->memory->allocate(size);
    if (!a->x)
        return false;
    memcpy(a->x, &call->one, size);
    a->x_bytes = size;
    a->iso = true;
    return true;
}

/* ---- on the host ---- */

static tsr_status take(tsr_call *call, tsr_spgemm_work *work, const tsr_spgemm_size *size)
{
    tsr_handover *a = &call->arrays;
    const size_t entries = (size_t)(size->nvals > 0 ? size->nvals : 1);
    if (!allocate(a, call->door->memory, size))
        return TSR_OUT_OF_MEMORY;
    tsr_spgemm_c c = {.p = (int64_t *)a->p, .h = (int64_t *)a->h};
    const tsr_status status = tsr_cpu_spgemm_take(work, &c);
    if (status != TSR_OK)
        return status;
    a->i = c.i;
    a->x = c.x;
    a->i_bytes = entries * sizeof *a->i;
    a->x_bytes = entries * tsr_type_size(call->product.semiring.type);
    tsr_arrays_drop_empty(a);
    return set_one(a, call) ? TSR_OK : TSR_OUT_OF_MEMORY;
}

/* TESSERA_KERNEL=ref */
static tsr_status multiply_by_reference(tsr_call *call, const tsr_spgemm *s)
{
    tsr_handover *a = &call->arrays;
    const tsr_memory *memory = call->door->memory;
    const int64_t rows = s->c_by_col ? s->n : s->m;
    tsr_spgemm_size size;
    int64_t *p = malloc((size_t)(rows + 2) * sizeof *p);
    tsr_status status = p ? tsr_ref_spgemm_count(s, &size, p) : TSR_OUT_OF_MEMORY;
    free(p);
    if (status != TSR_OK || !allocate(a, memory, &size) || !allocate_entries(a, &size, value_size(call)))
        return TSR_OUT_OF_MEMORY;
    const tsr_spgemm_c c = {.p = (int64_t *)a->p, .h = (int64_t *)a->h, .i = a->i, .x = a->x, .index_size = 8};
    status = tsr_ref_spgemm_fill(s, &c);
    tsr_arrays_drop_empty(a);
    return status == TSR_OK && set_one(a, call) ? TSR_OK : TSR_OUT_OF_MEMORY;
}

static tsr_status multiply(tsr_call *call, const tsr_product *ready)
{
    tsr_spgemm s = product_of(call);
    tsr_spgemm_work *work;
    tsr_spgemm_size size;
    const tsr_spgemm_memory memory = {resize, release, call->door->memory};
    s.a = ready->a;
    s.b = ready->b;
    if (tsr_engine_by_reference())
        return multiply_by_reference(call, &s);
    tsr_status status = tsr_cpu_spgemm_count(&work, &s, &memory, &size);
    if (status != TSR_OK)
        return status;
    status = take(call, work, &size);
    tsr_cpu_spgemm_free(work);
    return status;
}

static tsr_status multiply_here(tsr_call *call)
{
    tsr_operands held;
    tsr_product ready;
    tsr_status status = tsr_operands_prepare(&held, &ready, call, &call->decision, true);
    if (status == TSR_OK)
        status = multiply(call, &ready);
    tsr_operands_release(&held);
    return status;
}

/* ---- on a device ---- */

/* The vectors of C are those of A, as on the host. */
static tsr_spgemm_size size_of(const tsr_call *call, int64_t nvals, const int64_t **names)
{
    const tsr_spgemm plain = product_of(call), s = tsr_spgemm_by_row(&plain);
    const bool hyper = s.a.format == TSR_HYPERSPARSE && !s.a.by_col;
    *names = hyper ? s.a.h : NULL;
    return (tsr_spgemm_size){.nvec = hyper ? s.a.nvec : s.m, .nvals = nvals, .hyper = hyper, .sorted = true};
}

static tsr_status download(tsr_call *call, void *c, tsr_sparse_result *result)
{
    tsr_handover *a = &call->arrays;
    const tsr_spgemm_size size = size_of(call, result->nvals, &result->h);
    call->door->begin_result((size_t)size.nvals * sizeof *a->i);
    if (!allocate(a, call->door->memory, &size) || !allocate_entries(a, &size, value_size(call)))
        return TSR_OUT_OF_MEMORY;
    if (size.hyper)
        memcpy(a->h, result->h, (size_t)size.nvec * sizeof *a->h);
    result->nvec = size.nvec;
    result->p = (int64_t *)a->p;
    result->i = a->i;
    result->x = a->x;
    result->index_size = sizeof *a->i;
    const tsr_status status = call->decision.backend->sparse->download(c, result);
    if (status != TSR_OK)
        return status;
    tsr_arrays_drop_empty(a);
    return set_one(a, call) ? TSR_OK : TSR_OUT_OF_MEMORY;
}

/* all: values are made ready also where the device has them. */
static tsr_status try_there(tsr_call *call, bool all, bool *kept)
{
    const tsr_backend_sparse *sparse = call->decision.backend->sparse;
    tsr_sparse_result result = {.pattern = call->one_value};
    const tsr_spgemm s = product_of(call);
    tsr_operands held;
    tsr_product ready;
    void *c = NULL;
    tsr_status status = tsr_operands_prepare(&held, &ready, call, &call->decision, all);
    *kept = held.kept;
    ready.semiring = product_there(&s).semiring;
    if (status == TSR_OK)
        status = sparse->multiply(&c, &ready, &result);
    if (status == TSR_OK)
        status = download(call, c, &result);
    if (c)
        sparse->drop(c);
    tsr_operands_release(&held);
    call->moved = result.bytes_moved;
    if (status != TSR_OK)
        tsr_arrays_free(&call->arrays);
    return status;
}

static tsr_status multiply_there(tsr_call *call)
{
    bool kept;
    const tsr_status status = try_there(call, false, &kept);
    return status == TSR_DECLINED && kept ? try_there(call, true, &kept) : status;
}

/* ---- the run ---- */

static tsr_status run(tsr_call *call)
{
    tsr_decision *d = &call->decision;
    call->door->begin_result((size_t)call->product.a.nvals * tsr_type_size(call->product.semiring.type));
    tsr_status status = d->backend->sparse ? TSR_ATTEMPT(multiply_there(call)) : TSR_DECLINED;
    if (status == TSR_OK)
        return status;
    if (d->backend->sparse)
        snprintf(d->reason, sizeof d->reason, "the GPU did not");
    d->backend = tsr_backend_cpu();
    call->moved = 0;
    status = multiply_here(call);
    if (status != TSR_OK)
        tsr_arrays_free(&call->arrays);
    return status;
}

/* ---- for a door whose arrays are the caller's ---- */

const tsr_backend *tsr_engine_spgemm_device(const tsr_spgemm *s, const tsr_spgemm_size *size)
{
    tsr_sparse_product_features f = features_of(s);
    f.work = size->work;
    f.entries = (double)size->nvals;
    const double other = tsr_sparse_product_cpu_ms(&f);
    if (tsr_config_get()->disabled & TSR_DISABLE_SPGEMM)
        return NULL;
    const tsr_backend *gpu = gpu_for(s, &f, other, 0);
    return gpu && gpu_pays(&f, other) ? gpu : NULL;
}

static tsr_status multiply_into(const tsr_backend *device, const tsr_spgemm *s, const tsr_spgemm_size *size, const tsr_spgemm_c *c,
                                int64_t *moved)
{
    const tsr_product there = product_there(s);
    tsr_sparse_result result = {.pattern = s->pattern, .p = c->p, .nvec = size->nvec, .i = c->i, .x = c->x, .index_size = c->index_size};
    void *held;
    tsr_status status = device->sparse->multiply(&held, &there, &result);
    if (status != TSR_OK)
        return status;
    status = result.nvals == size->nvals ? device->sparse->download(held, &result) : TSR_INTERNAL_ERROR;
    device->sparse->drop(held);
    *moved = result.bytes_moved;
    return status;
}

tsr_status tsr_engine_spgemm_there(const tsr_backend *device, const tsr_spgemm *s, const tsr_spgemm_size *size, const tsr_spgemm_c *c)
{
    int64_t moved = 0;
    if (device != tsr_backend_gpu())
        return TSR_DECLINED; /* it has failed since */
    const double start = tsr_engine_clock_ms();
    const tsr_status status = TSR_ATTEMPT(multiply_into(device, s, size, c, &moved));
    if (status == TSR_OK && tsr_trace_wanted())
        tsr_engine_report(device, "spgemm", (tsr_trace_record){.call = "tsr_spgemm_execute", .pattern = "spgemm", .reason = "the plan's choice",
                                                              .measured_ms = tsr_engine_clock_ms() - start, .bytes_moved = moved});
    return status;
}

static void describe(char *text, size_t size, const tsr_call *call)
{
    const tsr_product *p = &call->product;
    *text = '\0';
    if (call->product.m > 0)
        snprintf(text, size, "spgemm %s m=%lld k=%lld n=%lld nnz=%lld", tsr_type_name(p->semiring.type), (long long)p->m, (long long)p->k,
                 (long long)p->n, (long long)p->a.nvals);
}

const tsr_operation tsr_sparse_product_operation = {.resolve = resolve, .decide = decide, .run = run, .describe = describe,
                                                    .kernel = "spgemm"};
