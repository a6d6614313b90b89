// Sums and sorts of whole arrays: CUB, and a kernel of one block where two launches would cost more than the work.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/common/device.cuh"

#ifdef TSR_EMULATE
#include <algorithm>
#include <numeric>
#include <vector>
#else
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#endif

#include "kernels/cuda/common/sort.cuh"

namespace {

constexpr int threads = 1024;
constexpr int64_t small = 16 * threads;

/* One block per array: every thread adds up its share, the shares are summed over the block, the share is walked again. */
__global__ void __launch_bounds__(threads) scan_small(int64_t *x, int n)
{
    __shared__ int64_t warps[threads / 32];
    int tid = static_cast<int>(threadIdx.x), lane = tid % 32, share = (n + threads - 1) / threads;
    int first = min(tid * share, n), last = min(first + share, n);
    x += static_cast<int64_t>(blockIdx.x) * (n + 1);
    int64_t sum = 0;
    for (int k = first; k < last; k++)
        sum += x[k];
    int64_t upto = sum;
    for (int d = 1; d < 32; d *= 2) {
        int64_t other = __shfl_up_sync(0xffffffffu, upto, d);
        upto += lane >= d ? other : 0;
    }
    if (lane == 31)
        warps[tid / 32] = upto;
    __syncthreads();
    int64_t before = upto - sum;
    for (int k = 0; k < tid / 32; k++)
        before += warps[k];
    for (int k = first; k < last; k++) {
        int64_t here = x[k];
        x[k] = before;
        before += here;
    }
    if (tid == threads - 1)
        x[n] = before;
}

#ifdef TSR_EMULATE

size_t scan_bytes(int64_t) { return 1; }

tsr_status scan_large(int64_t *x, int64_t n, void *, size_t, void *)
{
    std::exclusive_scan(x, x + n + 1, x, static_cast<int64_t>(0));
    return TSR_OK;
}

template <class Payload> size_t sort_bytes(int64_t, int) { return 1; }

template <class Payload>
tsr_status sort(uint32_t *const keys[2], void *const payloads[2], int64_t n, int bits, int *at, void *, void *)
{
    const uint32_t *key = keys[0];
    const Payload *payload = static_cast<const Payload *>(payloads[0]);
    uint32_t mask = bits < 32 ? (1u << bits) - 1 : ~0u;
    std::vector<int64_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [=](int64_t a, int64_t b) { return (key[a] & mask) < (key[b] & mask); });
    for (size_t k = 0; k < order.size(); k++) {
        keys[1][k] = key[order[k]];
        static_cast<Payload *>(payloads[1])[k] = payload[order[k]];
    }
    *at = 1;
    return TSR_OK;
}

#else

size_t scan_bytes(int64_t n)
{
    size_t bytes = 0;
    int64_t *none = nullptr;
    cub::DeviceScan::ExclusiveSum(nullptr, bytes, none, none, n + 1);
    return bytes;
}

tsr_status scan_large(int64_t *x, int64_t n, void *scratch, size_t bytes, void *stream)
{
    cudaError_t error = cub::DeviceScan::ExclusiveSum(scratch, bytes, x, x, n + 1, static_cast<cudaStream_t>(stream));
    return error == cudaSuccess ? TSR_OK : TSR_INTERNAL_ERROR;
}

template <class Payload> size_t sort_bytes(int64_t n, int bits)
{
    size_t bytes = 0;
    cub::DoubleBuffer<uint32_t> keys;
    cub::DoubleBuffer<Payload> payloads;
    cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, payloads, n, 0, bits);
    return bytes;
}

template <class Payload>
tsr_status sort(uint32_t *const keys[2], void *const payloads[2], int64_t n, int bits, int *at, void *scratch, void *stream)
{
    size_t bytes = sort_bytes<Payload>(n, bits);
    cub::DoubleBuffer<uint32_t> k(keys[0], keys[1]);
    cub::DoubleBuffer<Payload> v(static_cast<Payload *>(payloads[0]), static_cast<Payload *>(payloads[1]));
    cudaError_t error = cub::DeviceRadixSort::SortPairs(scratch, bytes, k, v, n, 0, bits, static_cast<cudaStream_t>(stream));
    *at = k.selector;
    return error == cudaSuccess && k.selector == v.selector ? TSR_OK : TSR_INTERNAL_ERROR;
}

#endif

} // namespace

size_t tsr_cuda_scan_bytes(int64_t n) { return n <= small ? 1 : scan_bytes(n); }

tsr_status tsr_cuda_scan(int64_t *x, int64_t n, int arrays, void *scratch, void *stream)
{
    if (tsr_status status = launch_status()) /* what is added up has been written */
        return status;
    if (n <= small) {
        TSR_LAUNCH(scan_small, static_cast<unsigned>(arrays), threads, 0, stream, x, static_cast<int>(n));
        return launch_status();
    }
    size_t bytes = scan_bytes(n);
    for (int k = 0; k < arrays; k++)
        if (tsr_status status = scan_large(x + k * (n + 1), n, scratch, bytes, stream))
            return status;
    return TSR_OK;
}

size_t tsr_cuda_sort_bytes(int64_t n, int payload_size, int bits)
{
    return payload_size == 4 ? sort_bytes<uint32_t>(n, bits) : sort_bytes<uint64_t>(n, bits);
}

tsr_status tsr_cuda_sort_pairs(uint32_t *const keys[2], void *const payloads[2], int payload_size, int64_t n, int bits, int *at,
                               void *scratch, void *stream)
{
    *at = 0;
    tsr_status status = launch_status(); /* what is sorted has been written */
    if (status != TSR_OK || n == 0 || bits == 0)
        return status;
    return payload_size == 4 ? sort<uint32_t>(keys, payloads, n, bits, at, scratch, stream)
                             : sort<uint64_t>(keys, payloads, n, bits, at, scratch, stream);
}
