/* Executions of a plan with operands in device memory that go through the host: what is there is copied, and so is the result.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "src/base/types.h"
#include "src/sparse_blas/native.h"
#include "tessera/device.h"

/* An operand as the host sees it; `memory` is its copy. */
typedef struct host_operand {
    tsr_dense dense;
    void *memory;
} host_operand;

static tsr_device_copy copy_of(const tsr_dense *device, const tsr_dense *host, bool to_device, void *stream)
{
    const size_t size = tsr_type_size(device->type);
    const bool by_col = device->layout == TSR_COL_MAJOR;
    return (tsr_device_copy){.device = device->data, .host = host->data, .device_pitch = (size_t)device->ld * size,
                             .host_pitch = (size_t)host->ld * size, .width = (size_t)(by_col ? device->nrows : device->ncols) * size,
                             .height = (size_t)(by_col ? device->ncols : device->nrows), .to_device = to_device, .stream = stream};
}

/* read: with its contents. */
static tsr_status take(host_operand *h, const tsr_backend *gpu, const tsr_dense *d, bool read, void *stream)
{
    *h = (host_operand){.dense = *d};
    h->dense.memory = TSR_MEMORY_HOST;
    if (d->memory == TSR_MEMORY_HOST) {
        return TSR_OK;
    }
    h->dense.ld = d->layout == TSR_COL_MAJOR ? d->nrows : d->ncols;
    const size_t cells = (size_t)(d->nrows * d->ncols);
    h->dense.data = h->memory = malloc((cells ? cells : 1) * tsr_type_size(d->type));
    if (!h->memory) {
        return TSR_OUT_OF_MEMORY;
    }
    const tsr_device_copy copy = copy_of(d, &h->dense, false, stream);
    return read ? gpu->device->copy(&copy) : TSR_OK;
}

static tsr_status give_back(const host_operand *h, const tsr_backend *gpu, const tsr_dense *d, void *stream)
{
    const tsr_device_copy copy = copy_of(d, &h->dense, true, stream);
    return h->memory ? gpu->device->copy(&copy) : TSR_OK;
}

static tsr_status failed(tsr_status status)
{
    if (status == TSR_OUT_OF_MEMORY) {
        return tsr_native_no_memory();
    }
    return status == TSR_INTERNAL_ERROR ? tsr_native_fail(status, "the device failed to copy an operand") : status;
}

/* bias: in `memory`. */
static tsr_status finish_on_host(const tsr_plan *plan, const tsr_dense *c, tsr_memory_space memory, const tsr_epilogue *epilogue, void *stream)
{
    const tsr_dense bias = {.data = (void *)(uintptr_t)epilogue->bias, .type = c->type, .layout = TSR_COL_MAJOR, .nrows = c->ncols, .ncols = 1,
                            .ld = c->ncols, .memory = epilogue->bias ? memory : TSR_MEMORY_HOST};
    host_operand h;
    const tsr_status status = failed(take(&h, plan->gpu, &bias, true, stream));
    if (status == TSR_OK) {
        const tsr_epilogue on_host = {h.dense.data, epilogue->activation};
        tsr_native_finish_epilogue(c, &on_host);
    }
    free(h.memory);
    return status;
}

tsr_status tsr_native_execute_through_host(const tsr_plan *plan, tsr_complex alpha, tsr_sparse *a, const tsr_dense *b, tsr_complex beta,
                                           const tsr_dense *c, const tsr_epilogue *epilogue, void *stream)
{
    const tsr_backend *gpu = plan->gpu;
    host_operand hb, hc = {0};
    tsr_status status = failed(take(&hb, gpu, b, !tsr_complex_is(alpha, 0), stream));
    if (status == TSR_OK) {
        status = failed(take(&hc, gpu, c, !tsr_complex_is(beta, 0), stream));
    }
    if (status == TSR_OK) {
        status = tsr_native_execute_on_host(plan, alpha, a, &hb.dense, beta, &hc.dense);
    }
    if (status == TSR_OK && epilogue) {
        status = finish_on_host(plan, &hc.dense, c->memory, epilogue, stream);
    }
    if (status == TSR_OK) {
        status = failed(give_back(&hc, gpu, c, stream));
    }
    free(hb.memory);
    free(hc.memory);
    return status;
}

/* The values as a dense column. */
static tsr_dense column_of(void *values, const tsr_plan *plan, const tsr_sparse *s)
{
    return (tsr_dense){.data = values, .type = plan->call.product.semiring.type, .layout = TSR_COL_MAJOR, .nrows = s->view.nvals, .ncols = 1,
                       .ld = s->view.nvals, .memory = plan->first.memory};
}

tsr_status tsr_native_sample_through_host(const tsr_plan *plan, double alpha, const tsr_dense *x, const tsr_dense *y, double beta, tsr_sparse *s,
                                          void *values, void *stream)
{
    const tsr_backend *gpu = plan->gpu;
    const tsr_dense v = column_of(values, plan, s);
    host_operand hx, hy = {0}, hv = {0};
    tsr_status status = failed(take(&hx, gpu, x, alpha != 0, stream));
    if (status == TSR_OK) {
        status = failed(take(&hy, gpu, y, alpha != 0, stream));
    }
    if (status == TSR_OK) {
        status = failed(take(&hv, gpu, &v, beta != 0, stream));
    }
    if (status == TSR_OK) {
        status = tsr_native_execute_sddmm_on_host(plan, alpha, &hx.dense, &hy.dense, beta, s, hv.dense.data);
    }
    if (status == TSR_OK) {
        status = failed(give_back(&hv, gpu, &v, stream));
    }
    free(hx.memory);
    free(hy.memory);
    free(hv.memory);
    return status;
}
