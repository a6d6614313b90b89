/* Sparse times sparse into device memory: by the GPU, which reads values there, else by the CPU with copies both ways.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "src/base/types.h"
#include "src/sparse_blas/spgemm_plan.h"

/* ---- by the CPU ---- */

/* C in host memory; offsets as the caller wants them. */
typedef struct host_c {
    int64_t *p;
    uint32_t *narrow_p;
    void *i, *x;
} host_c;

static void free_c(host_c *c)
{
    free(c->p);
    free(c->narrow_p);
    free(c->i);
    free(c->x);
}

static tsr_status allocate_c(host_c *c, const tsr_spgemm_plan *plan, const tsr_device_entries *to)
{
    const size_t entries = (size_t)plan->size.nvals + 1, vectors = (size_t)plan->size.nvec + 1;
    *c = (host_c){.x = malloc(entries * tsr_type_size(plan->product.semiring.type))};
    if (!to->offsets)
        return c->x ? TSR_OK : TSR_OUT_OF_MEMORY;
    c->p = malloc(vectors * sizeof *c->p);
    c->narrow_p = malloc(vectors * sizeof *c->narrow_p);
    c->i = malloc(entries * (size_t)to->index_size);
    return c->x && c->p && c->narrow_p && c->i ? TSR_OK : TSR_OUT_OF_MEMORY;
}

static tsr_status upload(const tsr_backend *gpu, void *device, void *host, size_t bytes, void *stream)
{
    const tsr_device_copy copy = {.device = device, .host = host, .device_pitch = bytes, .host_pitch = bytes, .width = bytes, .height = 1,
                                  .to_device = true, .stream = stream};
    return bytes ? gpu->device->copy(&copy) : TSR_OK;
}

static tsr_status upload_c(const tsr_backend *gpu, const host_c *c, const tsr_spgemm_plan *plan, const tsr_device_entries *to)
{
    const size_t entries = (size_t)plan->size.nvals, vectors = (size_t)plan->size.nvec + 1;
    const bool narrow = to->index_size == 4;
    tsr_status status = upload(gpu, to->values, c->x, entries * tsr_type_size(plan->product.semiring.type), to->stream);
    if (!to->offsets || status != TSR_OK)
        return status;
    for (size_t v = 0; narrow && v < vectors; v++)
        c->narrow_p[v] = (uint32_t)c->p[v];
    status = upload(gpu, to->offsets, narrow ? (void *)c->narrow_p : c->p, vectors * (size_t)to->index_size, to->stream);
    return status == TSR_OK ? upload(gpu, to->indices, c->i, entries * (size_t)to->index_size, to->stream) : status;
}

static tsr_status compute_here(const tsr_spgemm_plan *plan, const host_c *c, const tsr_device_entries *to, bool repeated)
{
    const tsr_spgemm_c arrays = {.p = c->p, .i = c->i, .x = c->x, .index_size = (uint8_t)to->index_size};
    tsr_spgemm_ready ready;
    tsr_status status = tsr_spgemm_make_ready(&ready, plan, &(tsr_spgemm_direct){0});
    if (status == TSR_OK)
        status = tsr_spgemm_fill_here(plan, &ready.product, &arrays, repeated);
    tsr_spgemm_free_ready(&ready);
    return status;
}

static tsr_status through_host(const tsr_spgemm_plan *plan, const tsr_backend *gpu, const tsr_device_entries *to, bool repeated)
{
    host_c c;
    tsr_status status = allocate_c(&c, plan, to);
    if (status == TSR_OK)
        status = compute_here(plan, &c, to, repeated);
    if (status == TSR_OK) {
        status = upload_c(gpu, &c, plan, to);
        status = status == TSR_OK ? status : tsr_native_fail(status, "the device failed to take %lld entries", (long long)plan->size.nvals);
    }
    free_c(&c);
    return status;
}

/* ---- by the GPU ---- */

static tsr_status on_device(const tsr_spgemm_plan *plan, const tsr_backend *gpu, const tsr_device_entries *to, bool repeated)
{
    const tsr_spgemm_direct direct = tsr_spgemm_direct_of(plan);
    const tsr_spgemm_device_c c = {*to, direct.a, direct.b, gpu->device->which(to->values)};
    tsr_spgemm_ready ready;
    tsr_status status = tsr_spgemm_make_ready(&ready, plan, &direct);
    if (status == TSR_OK)
        status = tsr_engine_spgemm_into_device(gpu, &ready.product, &plan->size, &c, tsr_spgemm_kept(plan->history, gpu, repeated));
    tsr_spgemm_free_ready(&ready);
    return status;
}

static tsr_status compute(const tsr_spgemm_plan *plan, const tsr_backend *gpu, const tsr_device_entries *to)
{
    tsr_spgemm_history *h = plan->history;
    pthread_mutex_lock(&h->lock);
    const bool repeated = tsr_spgemm_is_repeated(h, !to->offsets);
    tsr_status status = on_device(plan, gpu, to, repeated);
    if (status != TSR_OK)
        status = through_host(plan, gpu, to, repeated);
    pthread_mutex_unlock(&h->lock);
    return status;
}

/* ---- what the program calls ---- */

static tsr_status check_arrays(const void *offsets, const void *indices, const void *values)
{
    tsr_status status = tsr_native_check_pointer("offsets", offsets, TSR_MEMORY_DEVICE);
    if (status == TSR_OK)
        status = tsr_native_check_pointer("indices", indices, TSR_MEMORY_DEVICE);
    return status == TSR_OK ? tsr_native_check_pointer("values", values, TSR_MEMORY_DEVICE) : status;
}

tsr_status tsr_spgemm_execute_device(const tsr_spgemm_plan *plan, tsr_index_type index_type, void *offsets, void *indices, void *values, void *stream)
{
    if (!plan || (!values && plan->size.nvals > 0))
        return tsr_native_null(plan ? "values" : "plan");
    if (plan->size.nvals > 0 && !offsets != !indices)
        return tsr_native_null(offsets ? "indices" : "offsets");
    tsr_status status = tsr_spgemm_check_index(plan, offsets ? index_type : TSR_INDEX_64);
    const tsr_backend *gpu = status == TSR_OK ? tsr_native_find_device() : NULL;
    if (!gpu)
        return status == TSR_OK ? TSR_NOT_SUPPORTED : status;
    status = check_arrays(offsets, indices, values);
    const tsr_device_entries to = {offsets, indices, index_type == TSR_INDEX_32 ? 4 : 8, values, stream};
    return status == TSR_OK ? tsr_spgemm_status(compute(plan, gpu, &to)) : status;
}
