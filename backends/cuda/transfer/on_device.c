/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/transfer/on_device.h"

#include "backends/cuda/device/context.h"

static const size_t most_pitch = INT32_MAX;

static tsr_status copy_rectangle(const tsr_cuda_copy *c, bool to_device, void *stream)
{
    return to_device ? tsr_cuda_rows_to_device(c, stream) : tsr_cuda_rows_to_host(c, stream);
}

static tsr_status copy_row_by_row(const tsr_cuda_copy *whole, bool to_device, void *stream)
{
    tsr_status status = TSR_OK;
    for (size_t row = 0; row < whole->height && status == TSR_OK; row++) {
        tsr_cuda_copy one = *whole;
        one.device = (char *)whole->device + row * whole->device_pitch;
        one.host = (char *)whole->host + row * whole->host_pitch;
        one.height = 1;
        status = copy_rectangle(&one, to_device, stream);
    }
    return status;
}

static tsr_status queue_copy(const tsr_device_copy *c)
{
    tsr_cuda_copy rows = {c->device, c->host, c->device_pitch, c->host_pitch, c->width, c->height};
    if (c->device_pitch == c->width && c->host_pitch == c->width) {
        rows.width *= rows.height;
        rows.height = 1;
    }
    const bool wide = rows.height > 1 && (c->device_pitch > most_pitch || c->host_pitch > most_pitch);
    return wide ? copy_row_by_row(&rows, c->to_device, c->stream) : copy_rectangle(&rows, c->to_device, c->stream);
}

/* The device that has p in its memory; where none has it, the first one.  Left after a failure, too. */
static tsr_status enter_of(const void *p, tsr_cuda_place *before)
{
    tsr_cuda_context *device = tsr_cuda_device_numbered(tsr_cuda_which(p));
    const tsr_status status = tsr_cuda_enter(device ? device : tsr_cuda_first(), before);
    return device ? status : TSR_INTERNAL_ERROR;
}

tsr_status tsr_cuda_device_copy(const tsr_device_copy *c)
{
    tsr_cuda_place before;
    if (!tsr_cuda_alive())
        return TSR_INTERNAL_ERROR;
    if (!c->width || !c->height)
        return TSR_OK;
    tsr_status status = enter_of(c->device, &before);
    if (status == TSR_OK)
        status = queue_copy(c);
    const tsr_status waited = status == TSR_OK ? tsr_cuda_wait(c->stream) : status;
    tsr_cuda_leave(before);
    return waited;
}

tsr_status tsr_cuda_device_wait(const void *p)
{
    tsr_cuda_place before;
    if (!tsr_cuda_alive())
        return TSR_INTERNAL_ERROR;
    tsr_status status = enter_of(p, &before);
    if (status == TSR_OK)
        status = tsr_cuda_wait_device();
    tsr_cuda_leave(before);
    return status;
}

int tsr_cuda_device_which(const void *p)
{
    return tsr_cuda_alive() ? tsr_cuda_which(p) : 0;
}

tsr_status tsr_cuda_device_allocate(void **p, size_t bytes, int which)
{
    tsr_cuda_place before;
    *p = NULL;
    tsr_cuda_context *device = tsr_cuda_alive() ? tsr_cuda_device_numbered(which) : NULL;
    if (!device)
        return TSR_INTERNAL_ERROR;
    tsr_status status = tsr_cuda_enter(device, &before);
    if (status == TSR_OK)
        status = tsr_cuda_new(p, bytes);
    const tsr_status waited = tsr_cuda_wait(tsr_cuda->compute);
    tsr_cuda_leave(before);
    return status == TSR_OK ? waited : status;
}

void tsr_cuda_device_release(void *p)
{
    tsr_cuda_place before;
    if (!tsr_cuda_alive())
        return;
    if (enter_of(p, &before) == TSR_OK) {
        (void)tsr_cuda_wait_device(); /* streams of others may read it */
        tsr_cuda_delete(p);
    }
    tsr_cuda_leave(before);
}
