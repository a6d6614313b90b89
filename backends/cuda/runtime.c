/* Pinned memory and events.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/runtime.h"

#include <cuda_runtime_api.h>

static tsr_status status_of(cudaError_t error)
{
    if (error == cudaSuccess)
        return TSR_OK;
    (void)cudaGetLastError(); /* an error that does not stick must not be found by the next call */
    return error == cudaErrorMemoryAllocation ? TSR_OUT_OF_MEMORY : TSR_INTERNAL_ERROR;
}

tsr_status tsr_cuda_pin(void **p, size_t bytes)
{
    *p = NULL;
    return status_of(cudaHostAlloc(p, bytes, cudaHostAllocDefault));
}

void tsr_cuda_unpin(void *p)
{
    if (p)
        (void)status_of(cudaFreeHost(p));
}

tsr_status tsr_cuda_event_new(void **event)
{
    *event = NULL;
    return status_of(cudaEventCreateWithFlags((cudaEvent_t *)event, cudaEventDisableTiming));
}

void tsr_cuda_event_free(void *event)
{
    if (event)
        (void)status_of(cudaEventDestroy(event));
}

tsr_status tsr_cuda_event_record(void *event, void *stream)
{
    return status_of(cudaEventRecord(event, stream));
}

tsr_status tsr_cuda_event_wait(void *event)
{
    return status_of(cudaEventSynchronize(event));
}

tsr_status tsr_cuda_event_follow(void *event, void *stream)
{
    return status_of(cudaStreamWaitEvent(stream, event, 0));
}

int tsr_cuda_event_done(void *event)
{
    cudaError_t error = cudaEventQuery(event);
    tsr_status status = status_of(error); /* also forgets "not ready", which a launch that follows would take for its own */
    return error == cudaErrorNotReady ? 0 : error == cudaSuccess ? 1 : (int)status;
}

tsr_status tsr_cuda_use(int ordinal)
{
    return status_of(cudaSetDevice(ordinal));
}

tsr_status tsr_cuda_free_memory(size_t *bytes)
{
    size_t total;
    return status_of(cudaMemGetInfo(bytes, &total));
}
