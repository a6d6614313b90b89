// The device, seen through plain C: memory from the stream-ordered pool, copies, streams.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/common/cuda_kernels.h"
#include "kernels/cuda/common/device.cuh"

#include <cstdio>

namespace {

cudaStream_t as_stream(void *stream)
{
    return static_cast<cudaStream_t>(stream);
}

/* An error that was returned must not be found again by who checks the next launch. */
tsr_status as_status(cudaError_t error)
{
    if (error == cudaSuccess)
        return TSR_OK;
    cudaGetLastError();
    return error == cudaErrorMemoryAllocation ? TSR_OUT_OF_MEMORY : TSR_INTERNAL_ERROR;
}

int attribute(cudaDeviceAttr which, int ordinal, cudaError_t *error)
{
    int value = 0;
    cudaError_t mine = cudaDeviceGetAttribute(&value, which, ordinal);
    if (mine != cudaSuccess)
        *error = mine;
    return value;
}

/* The pool keeps what is freed: products come again, and giving pages back costs more than they do. */
cudaError_t keep_pool(int ordinal)
{
    cudaMemPool_t pool;
    cudaError_t error = cudaDeviceGetDefaultMemPool(&pool, ordinal);
    uint64_t threshold = UINT64_MAX;
    return error != cudaSuccess ? error : cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold);
}

/* The words first, then that they are there. */
__global__ void __launch_bounds__(1) send_answer(volatile uint64_t *to, const uint64_t *from, int words)
{
    for (int k = 0; k < words; k++)
        to[1 + k] = from[k];
    __threadfence_system();
    to[0] = 1;
}

} // namespace

int tsr_cuda_count(void)
{
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) {
        cudaGetLastError();
        return 0;
    }
    return count;
}

tsr_status tsr_cuda_open(int ordinal, tsr_cuda_device *device)
{
    cudaDeviceProp properties;
    cudaError_t error = cudaSetDevice(ordinal);
    if (error == cudaSuccess)
        error = cudaGetDeviceProperties(&properties, ordinal);
    if (error != cudaSuccess)
        return as_status(error);
    int pools = attribute(cudaDevAttrMemoryPoolsSupported, ordinal, &error);
    if (error == cudaSuccess && !pools)
        return TSR_DECLINED;
    if (error == cudaSuccess)
        error = keep_pool(ordinal);
    if (error != cudaSuccess)
        return as_status(error);
    device->ordinal = ordinal;
    device->major = properties.major;
    device->minor = properties.minor;
    device->sms = properties.multiProcessorCount;
    device->l2_bytes = static_cast<size_t>(properties.l2CacheSize);
    device->memory_bytes = properties.totalGlobalMem;
    device->shared_bytes_sm = properties.sharedMemPerMultiprocessor;
    device->shared_bytes_block = properties.sharedMemPerBlockOptin;
    snprintf(device->name, sizeof device->name, "%.*s", static_cast<int>(sizeof device->name) - 1, properties.name);
    return TSR_OK;
}

tsr_status tsr_cuda_malloc(void **p, size_t bytes, void *stream)
{
    *p = nullptr;
    size_t whole = bytes ? (bytes + 15) & ~size_t{15} : 16; // the pool refuses 0 bytes
    tsr_status status = as_status(cudaMallocAsync(p, whole > bytes ? whole : bytes, as_stream(stream)));
    if (status)
        *p = nullptr;
    return status;
}

void tsr_cuda_free(void *p, void *stream)
{
    if (p && cudaFreeAsync(p, as_stream(stream)) != cudaSuccess)
        cudaGetLastError();
}

tsr_status tsr_cuda_to_device(void *device, const void *host, size_t bytes, void *stream)
{
    return bytes ? as_status(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, as_stream(stream))) : TSR_OK;
}

tsr_status tsr_cuda_to_host(void *host, const void *device, size_t bytes, void *stream)
{
    return bytes ? as_status(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, as_stream(stream))) : TSR_OK;
}

tsr_status tsr_cuda_send(uint64_t *answer, const void *device, int words, void *stream)
{
    TSR_LAUNCH(send_answer, 1u, 1, 0, stream, answer, static_cast<const uint64_t *>(device), words);
    return launch_status();
}

tsr_status tsr_cuda_set(void *p, int byte, size_t bytes, void *stream)
{
    return bytes ? as_status(cudaMemsetAsync(p, byte, bytes, as_stream(stream))) : TSR_OK;
}

tsr_status tsr_cuda_wait(void *stream)
{
    return as_status(cudaStreamSynchronize(as_stream(stream)));
}

tsr_status tsr_cuda_stream_new(void **stream)
{
    cudaStream_t made = nullptr;
    tsr_status status = as_status(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
    *stream = status ? nullptr : made;
    return status;
}

void tsr_cuda_stream_free(void *stream)
{
    if (stream && cudaStreamDestroy(as_stream(stream)) != cudaSuccess)
        cudaGetLastError();
}
