// A CUDA runtime for the emulated device: work queued on a stream has run when the call returns.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/emulate/scheduler.h"

#include <chrono>
#include <map>
#include <sys/mman.h>
#include <unistd.h>

struct CUstream_st {
    int device;
};
struct CUevent_st {
    int device;
    std::chrono::steady_clock::time_point time;
};

namespace tsr_emulate {

namespace {

struct block {
    size_t bytes;
    bool pinned;
    int device;
};

struct device_memory {
    std::map<uintptr_t, block> blocks;
    size_t live, limit;
    long live_blocks, mallocs, launches;
    long fail_malloc, fail_launch; // counting down, 0: never
    long fail_every;               // as many allocations, 0: none
    long work, lost_at;            // allocations, copies and launches; at which the device is lost, 0: never
    bool lost;
    std::map<std::pair<int, const void *>, int> dynamic_shared;
    int devices;
    bool ready;
};
device_memory &memory = *new device_memory(); // lives on while others free things at exit

thread_local cudaError_t last_error;
thread_local int current_device;

#if defined(__SANITIZE_ADDRESS__)
constexpr size_t canary = 0; // AddressSanitizer watches the ends
#else
constexpr size_t canary = 64;
#endif
constexpr unsigned char canary_byte = 0xc5;

long environment(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text ? strtol(text, nullptr, 0) : otherwise;
}

/* To be called with the lock held. */
void configure_memory()
{
    if (memory.ready)
        return;
    memory.ready = true;
    memory.limit = static_cast<size_t>(environment("TSR_EMULATE_MEMORY", 1L << 30));
    memory.fail_malloc = environment("TSR_EMULATE_FAIL_MALLOC", 0);
    memory.fail_launch = environment("TSR_EMULATE_FAIL_LAUNCH", 0);
    memory.fail_every = environment("TSR_EMULATE_FAIL_EVERY", 0);
    memory.lost_at = environment("TSR_EMULATE_LOST", 0);
    memory.devices = static_cast<int>(environment("TSR_EMULATE_DEVICES", 1));
}

bool counts_down(long *k) { return *k > 0 && --*k == 0; }

/* Every call of the runtime that depends on the device fails from then on. */
cudaError_t still_there() { return memory.lost ? report(cudaErrorIllegalAddress) : cudaSuccess; }

bool malloc_must_fail()
{
    memory.mallocs++;
    const bool one_of_many = memory.fail_every > 0 && memory.mallocs % memory.fail_every == 0;
    return counts_down(&memory.fail_malloc) || one_of_many;
}

/* Of several devices: whole pages, which can be hidden. */
size_t page() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }
size_t whole(size_t bytes) { return memory.devices > 1 ? (bytes + page() - 1) / page() * page() : bytes; }

void *raw_memory(size_t bytes)
{
    void *p = nullptr;
    if (posix_memalign(&p, memory.devices > 1 ? page() : 256, whole(std::max(bytes, static_cast<size_t>(1)) + canary)))
        return nullptr;
    memset(p, 0xff, bytes);
    memset(static_cast<char *>(p) + bytes, canary_byte, canary);
    return p;
}

bool is_device(int device)
{
    std::lock_guard<std::recursive_mutex> guard(device_lock);
    configure_memory();
    return device >= 0 && device < memory.devices;
}

cudaError_t take(void **p, size_t bytes, bool pinned, int device)
{
    std::lock_guard<std::recursive_mutex> guard(device_lock);
    configure_memory();
    *p = nullptr;
    if (lost_by_this_work())
        return report(cudaErrorIllegalAddress);
    if (!pinned) {
        if (malloc_must_fail() || bytes > memory.limit || memory.live > memory.limit - bytes)
            return report(cudaErrorMemoryAllocation);
        if (!bytes)
            return cudaSuccess;
    }
    void *it = raw_memory(bytes);
    if (!it)
        return report(cudaErrorMemoryAllocation);
    memory.blocks[reinterpret_cast<uintptr_t>(it)] = {bytes, pinned, device};
    if (!pinned) {
        memory.live += bytes;
        memory.live_blocks++;
    }
    *p = it;
    return cudaSuccess;
}

cudaError_t release(void *p, bool pinned)
{
    if (!p)
        return cudaSuccess;
    std::lock_guard<std::recursive_mutex> guard(device_lock);
    auto it = memory.blocks.find(reinterpret_cast<uintptr_t>(p));
    if (it == memory.blocks.end() || it->second.pinned != pinned)
        fail("free of %p, which is not an allocation", p);
    const unsigned char *end = static_cast<const unsigned char *>(p) + it->second.bytes;
    for (size_t i = 0; i < canary; i++)
        if (end[i] != canary_byte)
            fail("%zu bytes at %p: written past the end, at offset %zu", it->second.bytes, p, it->second.bytes + i);
    if (!pinned) {
        memory.live -= it->second.bytes;
        memory.live_blocks--;
    }
    memset(p, 0xff, it->second.bytes); // for who still reads it
    memory.blocks.erase(it);
    free(p);
    return still_there();
}

/* The device in whose memory all bytes are; -1: there is none. */
int device_of(const void *p, size_t bytes)
{
    auto it = memory.blocks.upper_bound(reinterpret_cast<uintptr_t>(p));
    if (it == memory.blocks.begin())
        return -1;
    --it;
    size_t offset = reinterpret_cast<uintptr_t>(p) - it->first;
    return !it->second.pinned && offset <= it->second.bytes && bytes <= it->second.bytes - offset ? it->second.device : -1;
}

int stream_device(cudaStream_t stream) { return stream ? stream->device : current_device; }

cudaError_t check_side(const char *name, const void *p, size_t bytes, bool device)
{
    if (!device || !bytes || device_of(p, bytes) >= 0)
        return cudaSuccess;
    fprintf(stderr, "tessera emulator: %s: %zu bytes at %p are not device memory\n", name, bytes, p);
    return report(cudaErrorInvalidValue);
}

cudaError_t copy_2d(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                    cudaMemcpyKind kind)
{
    if (!width || !height)
        return cudaSuccess;
    if (width > to_pitch || width > from_pitch)
        return report(cudaErrorInvalidPitchValue);
    std::lock_guard<std::recursive_mutex> guard(device_lock);
    if (lost_by_this_work())
        return report(cudaErrorIllegalAddress);
    size_t to_bytes = (height - 1) * to_pitch + width, from_bytes = (height - 1) * from_pitch + width;
    bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    cudaError_t error = check_side("copy to", to, to_bytes, to_device);
    if (!error)
        error = check_side("copy from", from, from_bytes, from_device);
    if (error)
        return error;
    for (size_t i = 0; i < height; i++)
        memcpy(static_cast<char *>(to) + i * to_pitch, static_cast<const char *>(from) + i * from_pitch, width);
    return cudaSuccess;
}

cudaError_t set_2d(void *p, size_t pitch, int value, size_t width, size_t height)
{
    if (!width || !height)
        return cudaSuccess;
    std::lock_guard<std::recursive_mutex> guard(device_lock);
    if (lost_by_this_work())
        return report(cudaErrorIllegalAddress);
    cudaError_t error = check_side("memset", p, (height - 1) * pitch + width, true);
    if (error)
        return error;
    for (size_t i = 0; i < height; i++)
        memset(static_cast<char *>(p) + i * pitch, value, width);
    return cudaSuccess;
}

const struct {
    cudaDeviceAttr attribute;
    int value;
} attributes[] = {
    {cudaDevAttrMaxThreadsPerBlock, static_cast<int>(block_threads)},
    {cudaDevAttrMaxSharedMemoryPerBlock, static_cast<int>(shared_without_asking)},
    {cudaDevAttrMaxSharedMemoryPerBlockOptin, static_cast<int>(shared_most)},
    {cudaDevAttrMaxSharedMemoryPerMultiprocessor, static_cast<int>(shared_per_sm)},
    {cudaDevAttrReservedSharedMemoryPerBlock, static_cast<int>(shared_reserved)},
    {cudaDevAttrMultiProcessorCount, 4},
    {cudaDevAttrMaxThreadsPerMultiProcessor, 2048},
    {cudaDevAttrMaxBlocksPerMultiprocessor, 32},
    {cudaDevAttrMaxRegistersPerBlock, 65536},
    {cudaDevAttrMaxRegistersPerMultiprocessor, 65536},
    {cudaDevAttrMaxGridDimX, 0x7fffffff},
    {cudaDevAttrMaxGridDimY, 65535},
    {cudaDevAttrMaxGridDimZ, 65535},
    {cudaDevAttrWarpSize, static_cast<int>(warp_lanes)},
    {cudaDevAttrL2CacheSize, 60 << 20},
    {cudaDevAttrComputeCapabilityMajor, 9},
    {cudaDevAttrComputeCapabilityMinor, 0},
    {cudaDevAttrMemoryPoolsSupported, 1},
    {cudaDevAttrClockRate, 1000000},
    {cudaDevAttrUnifiedAddressing, 1},
};

} // namespace

cudaError_t report(cudaError_t error)
{
    if (error)
        last_error = error;
    return error;
}

size_t dynamic_shared_limit(const void *kernel)
{
    auto it = memory.dynamic_shared.find({current_device, kernel});
    size_t asked = it == memory.dynamic_shared.end() ? 0 : static_cast<size_t>(it->second);
    return std::max(shared_without_asking - shared_declared, asked);
}

bool is_on_current_device(const void *stream)
{
    const bool it_is = !stream || static_cast<const CUstream_st *>(stream)->device == current_device;
    if (!it_is)
        report(cudaErrorInvalidResourceHandle);
    return it_is;
}

void hide_other_devices(bool hidden)
{
    for (const auto &b : memory.blocks)
        if (memory.devices > 1 && !b.second.pinned && b.second.device != current_device)
            mprotect(reinterpret_cast<void *>(b.first), whole(b.second.bytes + canary), hidden ? PROT_NONE : PROT_READ | PROT_WRITE);
}

bool lost_by_this_work()
{
    configure_memory();
    memory.lost |= memory.lost_at > 0 && ++memory.work >= memory.lost_at;
    return memory.lost;
}

bool launch_must_fail()
{
    configure_memory();
    memory.launches++;
    return counts_down(&memory.fail_launch);
}

} // namespace tsr_emulate

using namespace tsr_emulate;
typedef std::lock_guard<std::recursive_mutex> locked;

void tsr_emulate_fail_malloc(long k)
{
    locked guard(device_lock);
    configure_memory();
    memory.fail_malloc = k;
}
void tsr_emulate_fail_launch(long k)
{
    locked guard(device_lock);
    configure_memory();
    memory.fail_launch = k;
}
long tsr_emulate_mallocs(void)
{
    locked guard(device_lock);
    return memory.mallocs;
}
long tsr_emulate_launches(void)
{
    locked guard(device_lock);
    return memory.launches;
}
size_t tsr_emulate_live_bytes(void)
{
    locked guard(device_lock);
    return memory.live;
}
long tsr_emulate_live_blocks(void)
{
    locked guard(device_lock);
    return memory.live_blocks;
}

// ---- Device ----

cudaError_t cudaGetDeviceCount(int *count)
{
    locked guard(device_lock);
    configure_memory();
    *count = memory.devices;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device)
{
    if (!is_device(device))
        return report(cudaErrorInvalidDevice);
    current_device = device;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int *device)
{
    *device = current_device;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int device)
{
    if (!is_device(device))
        return report(cudaErrorInvalidDevice);
    memset(p, 0, sizeof *p);
    strcpy(p->name, "emulated");
    size_t free_bytes;
    cudaMemGetInfo(&free_bytes, &p->totalGlobalMem);
    p->sharedMemPerBlock = shared_without_asking;
    p->sharedMemPerBlockOptin = shared_most;
    p->sharedMemPerMultiprocessor = shared_per_sm;
    p->reservedSharedMemPerBlock = shared_reserved;
    p->regsPerBlock = p->regsPerMultiprocessor = 65536;
    p->warpSize = static_cast<int>(warp_lanes);
    p->maxThreadsPerBlock = p->maxThreadsDim[0] = p->maxThreadsDim[1] = static_cast<int>(block_threads);
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = 0x7fffffff;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->major = 9;
    p->multiProcessorCount = 4;
    p->maxThreadsPerMultiProcessor = 2048;
    p->maxBlocksPerMultiProcessor = 32;
    p->l2CacheSize = 60 << 20;
    p->memoryBusWidth = 5120;
    p->memoryPoolsSupported = p->unifiedAddressing = p->concurrentKernels = 1;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device)
{
    if (!is_device(device))
        return report(cudaErrorInvalidDevice);
    *value = 0;
    for (const auto &a : attributes)
        if (a.attribute == attribute)
            *value = a.value;
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() { return still_there(); }
cudaError_t cudaDeviceReset() { return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int *version) { return cudaDriverGetVersion(version); }
cudaError_t cudaGetLastError()
{
    cudaError_t error = last_error;
    last_error = memory.lost ? error : cudaSuccess; // which nobody forgets
    return error;
}
cudaError_t cudaPeekAtLastError() { return last_error; }
const char *cudaGetErrorName(cudaError_t error)
{
    switch (error) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    case cudaErrorInvalidResourceHandle: return "cudaErrorInvalidResourceHandle";
    case cudaErrorInvalidPitchValue: return "cudaErrorInvalidPitchValue";
    case cudaErrorIllegalAddress: return "cudaErrorIllegalAddress";
    case cudaErrorLaunchOutOfResources: return "cudaErrorLaunchOutOfResources";
    default: return "an error that the emulator does not make";
    }
}
const char *cudaGetErrorString(cudaError_t error) { return cudaGetErrorName(error); }

// ---- Memory ----

cudaError_t cudaMalloc(void **p, size_t bytes) { return take(p, bytes, false, current_device); }
cudaError_t cudaFree(void *p) { return release(p, false); }
cudaError_t cudaMallocAsync(void **p, size_t bytes, cudaStream_t stream) { return take(p, bytes, false, stream_device(stream)); }
cudaError_t cudaMallocFromPoolAsync(void **p, size_t bytes, cudaMemPool_t, cudaStream_t stream)
{
    return take(p, bytes, false, stream_device(stream));
}
cudaError_t cudaFreeAsync(void *p, cudaStream_t) { return release(p, false); }
cudaError_t cudaMallocHost(void **p, size_t bytes) { return take(p, bytes, true, 0); }
cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned) { return take(p, bytes, true, 0); }
cudaError_t cudaFreeHost(void *p) { return release(p, true); }
cudaError_t cudaHostRegister(void *, size_t, unsigned) { return still_there(); }
cudaError_t cudaHostUnregister(void *) { return still_there(); }
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
    *pool = nullptr;
    return report(is_device(device) ? cudaSuccess : cudaErrorInvalidDevice);
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void *) { return cudaSuccess; }
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr, void *value)
{
    locked guard(device_lock);
    uint64_t bytes = memory.live;
    memcpy(value, &bytes, sizeof bytes);
    return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) { return cudaSuccess; }
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    locked guard(device_lock);
    configure_memory();
    *total = memory.limit;
    *free_bytes = memory.limit - memory.live;
    return still_there();
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *a, const void *p)
{
    locked guard(device_lock);
    memset(a, 0, sizeof *a);
    a->device = device_of(p, 1);
    a->type = a->device >= 0 ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
    a->devicePointer = a->type == cudaMemoryTypeDevice ? const_cast<void *>(p) : nullptr;
    return cudaSuccess;
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    return copy_2d(to, bytes, from, bytes, bytes, 1, kind);
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t)
{
    return copy_2d(to, bytes, from, bytes, bytes, 1, kind);
}
cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind kind)
{
    return copy_2d(to, to_pitch, from, from_pitch, width, height, kind);
}
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                              cudaMemcpyKind kind, cudaStream_t)
{
    return copy_2d(to, to_pitch, from, from_pitch, width, height, kind);
}
cudaError_t cudaMemset(void *p, int value, size_t bytes) { return set_2d(p, bytes, value, bytes, 1); }
cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t) { return set_2d(p, bytes, value, bytes, 1); }
cudaError_t cudaMemset2DAsync(void *p, size_t pitch, int value, size_t width, size_t height, cudaStream_t)
{
    return set_2d(p, pitch, value, width, height);
}

// ---- Streams and events ----

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    *stream = new CUstream_st{current_device};
    return still_there();
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) { return cudaStreamCreate(stream); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned, int) { return cudaStreamCreate(stream); }
cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    delete stream;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return still_there(); }
cudaError_t cudaStreamQuery(cudaStream_t) { return still_there(); }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return still_there(); }
cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    *event = new CUevent_st{current_device, {}};
    return still_there();
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) { return cudaEventCreate(event); }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    if (event->device != stream_device(stream))
        return report(cudaErrorInvalidResourceHandle);
    event->time = std::chrono::steady_clock::now();
    return still_there();
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return still_there(); }
cudaError_t cudaEventQuery(cudaEvent_t) { return still_there(); }
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    *ms = std::chrono::duration<float, std::milli>(to->time - from->time).count();
    return still_there();
}
cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    delete event;
    return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t function, void *data)
{
    function(data);
    return still_there();
}

// ---- Kernels ----

cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute attribute, int value)
{
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize)
        return cudaSuccess;
    if (value < 0 || static_cast<size_t>(value) > shared_most)
        return report(cudaErrorInvalidValue);
    locked guard(device_lock);
    memory.dynamic_shared[{current_device, kernel}] = value;
    return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *a, const void *kernel)
{
    locked guard(device_lock);
    memset(a, 0, sizeof *a);
    a->maxThreadsPerBlock = static_cast<int>(block_threads);
    a->numRegs = 64;
    a->ptxVersion = a->binaryVersion = 90;
    a->maxDynamicSharedSizeBytes = static_cast<int>(dynamic_shared_limit(kernel));
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel, int threads, size_t shared)
{
    locked guard(device_lock);
    if (threads <= 0 || threads > static_cast<int>(block_threads))
        return report(cudaErrorInvalidValue);
    size_t by_threads = 2048u / ((static_cast<size_t>(threads) + 31) / 32 * 32);
    size_t by_shared = shared_per_sm / (shared + shared_reserved);
    bool fits = shared <= dynamic_shared_limit(kernel);
    *blocks = fits ? static_cast<int>(std::min({by_threads, by_shared, static_cast<size_t>(32)})) : 0;
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *kernel, int threads, size_t shared,
                                                                   unsigned)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, shared);
}
