/* Pinned memory and events.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/device/runtime.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <pthread.h>

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

tsr_status tsr_cuda_lock_pages(void *p, size_t bytes)
{
    return status_of(cudaHostRegister(p, bytes, cudaHostRegisterDefault));
}

void tsr_cuda_unlock_pages(void *p)
{
    (void)status_of(cudaHostUnregister(p));
}

tsr_status tsr_cuda_rows_to_device(const tsr_cuda_copy *c, void *stream)
{
    if (c->height == 1) /* of any width */
        return tsr_cuda_to_device(c->device, c->host, c->width, stream);
    return status_of(cudaMemcpy2DAsync(c->device, c->device_pitch, c->host, c->host_pitch, c->width, c->height,
                                       cudaMemcpyHostToDevice, stream));
}

tsr_status tsr_cuda_rows_to_host(const tsr_cuda_copy *c, void *stream)
{
    if (c->height == 1)
        return tsr_cuda_to_host(c->host, c->device, c->width, stream);
    return status_of(cudaMemcpy2DAsync(c->host, c->host_pitch, c->device, c->device_pitch, c->width, c->height,
                                       cudaMemcpyDeviceToHost, stream));
}

tsr_status tsr_cuda_rows_on_device(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                                   void *stream)
{
    return status_of(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, cudaMemcpyDeviceToDevice, stream));
}

tsr_status tsr_cuda_await(const uint64_t *word, uint32_t ticket, void *stream)
{
    enum { TRIES = 1 << 12 }; /* before the driver is asked whether the device still works on it */
    for (;;) {
        for (int k = 0; k < TRIES; k++)
            if (tsr_cuda_heard(__atomic_load_n(word, __ATOMIC_ACQUIRE), ticket))
                return TSR_OK;
        const cudaError_t error = cudaStreamQuery(stream);
        const tsr_status status = status_of(error);
        if (error != cudaErrorNotReady)
            return status;
    }
}

tsr_status tsr_cuda_event_new(void **event)
{
    *event = NULL;
    return status_of(cudaEventCreateWithFlags((cudaEvent_t *)event, cudaEventDisableTiming));
}

tsr_status tsr_cuda_timer_new(void **event)
{
    *event = NULL;
    return status_of(cudaEventCreate((cudaEvent_t *)event));
}

tsr_status tsr_cuda_event_ms(double *ms, void *from, void *to)
{
    float between = 0;
    tsr_status status = status_of(cudaEventElapsedTime(&between, from, to));
    *ms = (double)between;
    return status;
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

/* The runtime can only name devices, and to name one makes its context: so the driver is asked.  It is there once the runtime
 * has loaded it. */
static struct {
    int (*get_current)(void **context);
    int (*set_current)(void *context);
} driver;

/* dlsym gives an object pointer where a function pointer is meant. */
typedef union symbol {
    void *address;
    int (*get_current)(void **context);
    int (*set_current)(void *context);
} symbol;

static void find_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
        return;
    symbol get = {dlsym(library, "cuCtxGetCurrent")}, set = {dlsym(library, "cuCtxSetCurrent")};
    if (get.address && set.address) {
        driver.get_current = get.get_current;
        driver.set_current = set.set_current;
    }
}

static bool have_driver(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_driver);
    return driver.get_current != NULL;
}

/* Without a driver, as on an emulated device, a context is the device's number and 1, as a pointer. */
static void *current_number(void)
{
    int ordinal = 0;
    return status_of(cudaGetDevice(&ordinal)) == TSR_OK ? (void *)((uintptr_t)ordinal + 1) : NULL;
}

void *tsr_cuda_current(void)
{
    void *context = NULL;
    if (!have_driver())
        return current_number();
    return driver.get_current(&context) == 0 ? context : NULL;
}

void tsr_cuda_restore(void *context)
{
    if (have_driver())
        (void)driver.set_current(context);
    else if (context)
        (void)tsr_cuda_use((int)(uintptr_t)context - 1);
}

tsr_status tsr_cuda_free_memory(size_t *bytes)
{
    size_t total;
    return status_of(cudaMemGetInfo(bytes, &total));
}

tsr_status tsr_cuda_wait_device(void)
{
    return status_of(cudaDeviceSynchronize());
}

int tsr_cuda_ordinal_of(const void *p)
{
    struct cudaPointerAttributes it;
    const bool known = p && status_of(cudaPointerGetAttributes(&it, p)) == TSR_OK;
    return known && (it.type == cudaMemoryTypeDevice || it.type == cudaMemoryTypeManaged) ? it.device : -1;
}
