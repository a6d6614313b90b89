/* Sparse times sparse as an operation: C is as large as it turns out to be, so its memory is asked for in the middle.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/spgemm.h"
#include "src/base/types.h"
#include "src/engine/call/attempt.h"
#include "src/engine/call/clock.h"
#include "src/engine/call/host.h"
#include "src/engine/call/report.h"
#include "src/engine/call/contents.h"
#include "src/engine/product/decide.h"
#include "src/engine/product/operands.h"
#include "src/engine/product/sparse_product.h"
#include "src/engine/sparse/compressed.h"
#include "src/runtime/backends.h"
#include "src/runtime/trace.h"

static const char *resolve(tsr_call *call)
{
    (void)call;
    return NULL;
}

/* ---- memory ---- */

/* C is mostly larger than its operands, and how large is known here first. */
static void *resize(const void *door, void *block, size_t bytes)
{
    const tsr_door *of = door;
    if (!block)
        of->begin_result(bytes);
    return of->memory->resize(block, bytes);
}

static void release(const void *door, void *block)
{
    ((const tsr_door *)door)->memory->release(block);
}

static bool allocate(tsr_handover *a, const tsr_memory *memory, const tsr_spgemm_size *size, bool narrow)
{
    *a = (tsr_handover){.memory = memory, .nvals = size->nvals, .nvec = size->nvec, .narrow = narrow};
    a->p_bytes = (size_t)((size->nvec > 0 ? size->nvec : 1) + 1) * sizeof *a->p;
    a->h_bytes = (size_t)(size->nvec > 0 ? size->nvec : 1) * sizeof *a->h;
    a->p = memory->allocate(a->p_bytes);
    a->h = size->hyper ? memory->allocate(a->h_bytes) : NULL;
    if (!a->p || (size->hyper && !a->h))
        return false;
    a->p[0] = a->p[1] = 0;
    return true;
}

static uint8_t index_size(const tsr_handover *a)
{
    return a->narrow ? sizeof(uint32_t) : sizeof *a->i;
}

/* For what a kernel writes itself. */
static bool allocate_entries(tsr_handover *a, const tsr_spgemm_size *size, size_t value_size)
{
    const size_t entries = (size_t)(size->nvals > 0 ? size->nvals : 1);
    a->i_bytes = entries * index_size(a);
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

/* C is m x n, or n x m. */
static bool narrows(const tsr_call *call)
{
    const int64_t m = call->product.m, n = call->product.n;
    return tsr_call_narrows(call, m > n ? m : n);
}

/* ---- on the host ---- */

static const tsr_spgemm_kernels *kernels(void)
{
    return tsr_backend_cpu()->host->spgemm;
}

static tsr_status take(tsr_call *call, tsr_spgemm_work *work, const tsr_spgemm_size *size, bool narrow)
{
    tsr_handover *a = &call->arrays;
    const size_t entries = (size_t)(size->nvals > 0 ? size->nvals : 1);
    if (!allocate(a, call->door->memory, size, narrow))
        return TSR_OUT_OF_MEMORY;
    tsr_spgemm_c c = {.p = (int64_t *)a->p, .h = (int64_t *)a->h};
    const tsr_status status = kernels()->take(work, &c);
    if (status != TSR_OK)
        return status;
    a->i = c.i;
    a->x = c.x;
    a->i_bytes = entries * c.index_size;
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
    if (status != TSR_OK || !allocate(a, memory, &size, s->narrow) || !allocate_entries(a, &size, value_size(call)))
        return TSR_OUT_OF_MEMORY;
    const tsr_spgemm_c c = {.p = (int64_t *)a->p, .h = (int64_t *)a->h, .i = a->i, .x = a->x, .index_size = index_size(a)};
    status = tsr_ref_spgemm_fill(s, &c);
    tsr_arrays_drop_empty(a);
    return status == TSR_OK && set_one(a, call) ? TSR_OK : TSR_OUT_OF_MEMORY;
}

static tsr_status multiply(tsr_call *call, const tsr_product *ready)
{
    tsr_spgemm s = tsr_sparse_product_of(call);
    tsr_spgemm_work *work;
    tsr_spgemm_size size;
    const tsr_spgemm_memory memory = {resize, release, call->door};
    s.a = ready->a;
    s.b = ready->b;
    s.narrow = narrows(call);
    if (tsr_engine_by_reference())
        return multiply_by_reference(call, &s);
    tsr_status status = kernels()->count(&work, &s, &memory, &size);
    if (status != TSR_OK)
        return status;
    status = take(call, work, &size, s.narrow);
    kernels()->free(work);
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
    const tsr_spgemm plain = tsr_sparse_product_of(call), s = tsr_spgemm_by_row(&plain);
    const bool hyper = s.a.format == TSR_HYPERSPARSE && !s.a.by_col;
    *names = hyper ? s.a.h : NULL;
    return (tsr_spgemm_size){.nvec = hyper ? s.a.nvec : s.m, .nvals = nvals, .hyper = hyper};
}

static tsr_status download(tsr_call *call, void *c, int64_t nvals, int nthreads)
{
    tsr_handover *a = &call->arrays;
    tsr_download to = {.nthreads = nthreads};
    const tsr_spgemm_size size = size_of(call, nvals, &to.h);
    call->door->begin_result((size_t)size.nvals * sizeof *a->i);
    if (!allocate(a, call->door->memory, &size, narrows(call)) || !allocate_entries(a, &size, value_size(call)))
        return TSR_OUT_OF_MEMORY;
    if (size.hyper)
        memcpy(a->h, to.h, (size_t)size.nvec * sizeof *a->h);
    to.nvec = size.nvec;
    to.index_size = index_size(a);
    to.p = (int64_t *)a->p;
    to.i = a->i;
    to.x = a->x;
    const tsr_status status = call->decision.backend->contents->download(c, &to);
    call->moved += to.bytes_moved;
    if (status != TSR_OK)
        return status;
    tsr_arrays_drop_empty(a);
    return set_one(a, call) ? TSR_OK : TSR_OUT_OF_MEMORY;
}

/* SuiteSparse holds what is fuller as a bitmap, and what is empty in several ways. */
static bool may_be_left(const tsr_call *call, int64_t nvals)
{
    const tsr_product *p = &call->product;
    return call->remote.compressed && nvals > 0 && !call->door->makes_dense(call->given.C, nvals, (double)p->m * (double)p->n);
}

/* c is taken over. */
static tsr_status leave(tsr_call *call, void *c)
{
    const tsr_product *p = &call->product;
    const tsr_device_array_facts facts = {.backend = call->decision.backend, .type = p->semiring.type, .nrows = p->m, .ncols = p->n,
                                          .by_col = p->c_by_col, .iso = call->one_value, .one = call->one, .origin = call->remote.key};
    call->remote.stays = c;
    return tsr_compressed_leave(call, facts, NULL);
}

/* C as a whole where it may stay so; else, and where it finds no room, what is downloaded in portions. */
static tsr_status make_on_device(tsr_call *call, void **c, const tsr_product *ready, tsr_sparse_result *result)
{
    const tsr_backend_sparse *sparse = call->decision.backend->sparse;
    result->compressed = call->remote.compressed;
    tsr_status status = sparse->multiply(c, ready, result);
    if (status != TSR_DECLINED || !result->compressed)
        return status;
    result->compressed = call->remote.compressed = false;
    return sparse->multiply(c, ready, result);
}

/* all: values are made ready also where the device has them. */
static tsr_status try_device(tsr_call *call, bool all, bool *kept)
{
    const tsr_backend *device = call->decision.backend;
    tsr_sparse_result result = {.pattern = call->one_value};
    const tsr_spgemm s = tsr_sparse_product_of(call);
    tsr_operands held;
    tsr_product ready;
    void *c = NULL;
    tsr_status status = tsr_operands_prepare(&held, &ready, call, &call->decision, all);
    *kept = held.kept;
    ready.semiring = tsr_sparse_product_on_device(&s).semiring;
    ready.mask = s.mask;
    if (status == TSR_OK)
        status = make_on_device(call, &c, &ready, &result);
    call->moved = result.bytes_moved;
    call->remote.kernel = result.kernel;
    call->remote.compressed = may_be_left(call, result.nvals);
    if (status == TSR_OK && call->remote.compressed) {
        status = leave(call, c);
        c = NULL;
    } else if (status == TSR_OK) {
        status = download(call, c, result.nvals, ready.nthreads);
    }
    if (c)
        device->contents->drop(c);
    tsr_operands_release(&held);
    if (status != TSR_OK)
        tsr_arrays_free(&call->arrays);
    return status;
}

static tsr_status multiply_on_device(tsr_call *call)
{
    const bool stays = call->remote.compressed;
    bool kept;
    const tsr_status status = try_device(call, false, &kept);
    if (status == TSR_OK)
        return status;
    call->remote.compressed = stays;
    return status == TSR_DECLINED && kept ? try_device(call, true, &kept) : status;
}

/* ---- the run ---- */

static tsr_status run(tsr_call *call)
{
    tsr_decision *d = &call->decision;
    tsr_status status = d->backend->sparse ? TSR_ATTEMPT(multiply_on_device(call)) : TSR_DECLINED;
    if (status == TSR_OK || tsr_reads_device(call))
        return status;
    call->remote.compressed = false;
    if (d->backend->sparse)
        snprintf(d->reason, sizeof d->reason, "the GPU did not");
    d->backend = tsr_backend_cpu();
    call->moved = 0;
    call->remote.kernel = NULL;
    status = multiply_here(call);
    if (status != TSR_OK)
        tsr_arrays_free(&call->arrays);
    return status;
}

static tsr_settlement settle(tsr_call *call, tsr_status *status)
{
    (void)status;
    return call->remote.compressed ? TSR_SETTLED : TSR_HAND_OVER;
}

static void use(tsr_call *call)
{
    tsr_contents_use(call->a.compressed);
    tsr_contents_use(call->b.compressed);
    tsr_contents_use(call->mask.compressed);
}

static void drop(tsr_call *call)
{
    call->decision.backend->contents->drop(call->remote.stays);
    call->remote.stays = NULL;
}

/* ---- for a door whose arrays are the caller's ---- */

/* C of the last product of these patterns gets the values of this one; *kept = NULL if it cannot. */
static tsr_status multiply_again(const tsr_backend *device, const tsr_product *turned, tsr_sparse_result *result, void **kept)
{
    const tsr_status status = *kept && device->sparse->again ? device->sparse->again(*kept, turned, result) : TSR_DECLINED;
    if (status == TSR_OK)
        return status;
    if (*kept)
        device->contents->drop(*kept);
    *kept = NULL;
    return status;
}

/* Where C goes: to the host, or to device memory. */
typedef struct target {
    const tsr_spgemm_c *here;
    const tsr_spgemm_device_c *device; /* NULL: here */
} target;

static tsr_status deliver(const tsr_backend *device, void *held, const tsr_spgemm_size *size, const target *t, int nthreads, int64_t *moved)
{
    const tsr_spgemm_c *c = t->here;
    if (t->device)
        return device->sparse->place(held, &t->device->to);
    tsr_download to = {.nthreads = nthreads, .p = c->p, .nvec = size->nvec, .i = c->i, .x = c->x, .index_size = c->index_size};
    const tsr_status status = device->contents->download(held, &to);
    *moved += to.bytes_moved;
    return status;
}

static tsr_status multiply_into(const tsr_backend *device, const tsr_spgemm *s, const tsr_spgemm_size *size, const target *t, void **kept,
                                int64_t *moved, const char **kernel)
{
    const tsr_product turned = tsr_sparse_product_on_device(s);
    tsr_sparse_result result = {.pattern = s->pattern, .comes_again = kept};
    if (t->device) {
        result.a_values = t->device->a_values;
        result.b_values = t->device->b_values;
        result.stream = t->device->to.stream;
        result.device = t->device->device;
    }
    void *held = kept ? *kept : NULL;
    tsr_status status = kept ? multiply_again(device, &turned, &result, kept) : TSR_DECLINED;
    if (status == TSR_DECLINED || status == TSR_OUT_OF_MEMORY)
        status = device->sparse->multiply(&held, &turned, &result);
    if (status != TSR_OK)
        return status;
    *moved = result.bytes_moved;
    *kernel = result.kernel;
    status = result.nvals == size->nvals ? deliver(device, held, size, t, turned.nthreads, moved) : TSR_DECLINED;
    if (kept && status == TSR_OK)
        *kept = held;
    else
        device->contents->drop(held);
    if (kept && status != TSR_OK)
        *kept = NULL;
    return status;
}

static tsr_status multiply_to(const tsr_backend *device, const tsr_spgemm *s, const tsr_spgemm_size *size, const target *t, void **kept)
{
    int64_t moved = 0;
    const char *kernel = "spgemm";
    if (device != tsr_backend_gpu())
        return TSR_DECLINED; /* it has failed since */
    const double start = tsr_engine_clock_ms();
    const tsr_status status = TSR_ATTEMPT(multiply_into(device, s, size, t, kept, &moved, &kernel));
    if (status == TSR_OK && tsr_trace_wanted())
        tsr_engine_report(device, kernel, (tsr_trace_record){.call = "tsr_spgemm_execute", .pattern = "spgemm", .reason = "the plan's choice",
                                                              .measured_ms = tsr_engine_clock_ms() - start, .bytes_moved = moved});
    return status;
}

tsr_status tsr_engine_spgemm_on_device(const tsr_backend *device, const tsr_spgemm *s, const tsr_spgemm_size *size, const tsr_spgemm_c *c,
                                       void **kept)
{
    return multiply_to(device, s, size, &(target){.here = c}, kept);
}

tsr_status tsr_engine_spgemm_into_device(const tsr_backend *device, const tsr_spgemm *s, const tsr_spgemm_size *size, const tsr_spgemm_device_c *c,
                                   void **kept)
{
    const tsr_product turned = tsr_sparse_product_on_device(s);
    if (!device->sparse || !device->sparse->place || !device->sparse->supports(&turned))
        return TSR_DECLINED;
    return multiply_to(device, s, size, &(target){.device = c}, kept);
}

static void describe(char *text, size_t size, const tsr_call *call)
{
    const tsr_product *p = &call->product;
    *text = '\0';
    if (call->product.m > 0)
        snprintf(text, size, "spgemm %s m=%lld k=%lld n=%lld nnz=%lld", tsr_type_name(p->semiring.type), (long long)p->m, (long long)p->k,
                 (long long)p->n, (long long)p->a.nvals);
}

const tsr_operation tsr_sparse_product_operation = {.resolve = resolve, .decide = tsr_sparse_product_decide, .run = run, .settle = settle,
                                                    .use = use, .drop = drop, .describe = describe, .kernel = "spgemm"};
