// Windows filled greedily by sketches: a block of threads for a group of rows, a thread for a row.  SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/order/order_sketch.cuh"

namespace tsr_order {
namespace {

constexpr int group = TSR_ORDER_GROUP, group_warps = group / 32;

/* The least of both halves. */
__device__ __forceinline__ uint32_t least_halves(uint32_t a, uint32_t b)
{
    return min(a & 0xffffu, b & 0xffffu) | min(a >> 16, b >> 16) << 16;
}

/* The largest rank of the block, the same in all threads. */
__device__ __forceinline__ unsigned largest(unsigned rank, unsigned *of_warp)
{
    unsigned mine = __reduce_max_sync(all, rank);
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = mine;
    __syncthreads();
    return __reduce_max_sync(all, threadIdx.x % 32 < group_warps ? of_warp[threadIdx.x % 32] : 0);
}

__global__ void __launch_bounds__(group) fill_windows(uint32_t *order, const uint32_t *sketches, int64_t nrows)
{
    __shared__ uint32_t window[words];
    __shared__ unsigned of_warp[2][group_warps];
    const int me = static_cast<int>(threadIdx.x);
    sketches += (static_cast<int64_t>(blockIdx.x) * group + me) * words;
    order += static_cast<int64_t>(blockIdx.x) * group;
    const int n = static_cast<int>(min(nrows - static_cast<int64_t>(blockIdx.x) * group, static_cast<int64_t>(group)));
    const uint32_t row = me < n ? order[me] : 0;
    bool waits = me < n;
    uint32_t mine[words];
#pragma unroll
    for (int w = 0; w < words; w++)
        mine[w] = waits ? sketches[w] : 0;
    __syncthreads();
    for (int place = 0; place < n; place++) {
        if (place % TSR_ORDER_FILLED == 0 && me < words)
            window[me] = TSR_ORDER_NOTHING_YET | TSR_ORDER_NOTHING_YET << 16;
        __syncthreads();
        unsigned rank = waits ? static_cast<unsigned>((1 + shared_buckets(mine, window)) * group + group - 1 - me) : 0;
        if (rank == largest(rank, of_warp[place % 2]) && waits) {
            waits = false;
            order[place] = row;
#pragma unroll
            for (int w = 0; w < words; w++)
                window[w] = least_halves(window[w], mine[w]);
        }
        __syncthreads();
    }
}

} // namespace

tsr_status filled_windows(uint32_t *order, const tsr_source *in, void *stream)
{
    tsr_status status = label_propagation(order, in, stream);
    if (status == TSR_OK)
        status = deal_rows(order, in, stream);
    if (status != TSR_OK || in->nrows == 0)
        return status;
    Arena arena(stream);
    uint32_t *sketches;
    status = sketch_rows(&arena, &sketches, order, in, stream);
    if (status != TSR_OK)
        return status;
    TSR_LAUNCH(fill_windows, blocks_for(in->nrows, group), group, 0, stream, order, sketches, in->nrows);
    return launch_status();
}

} // namespace tsr_order
