// The tree of a reduction to one element: blocks add up their threads, one block adds up the blocks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/common/sums.cuh"

namespace {

constexpr int threads = 256, blocks_per_sm = 8;

template <class Sum> __device__ Sum *of_block() { return reinterpret_cast<Sum *>(dynamic_shared()); }

/* Afterwards thread 0 has the sum of the block. */
template <class Sum> __device__ __forceinline__ void join_threads(Sum &sum, tsr_reduce_op op)
{
    Sum *all = of_block<Sum>();
    all[threadIdx.x] = sum;
    __syncthreads();
    for (int half = threads / 2; half > 0; half /= 2) {
        if (int(threadIdx.x) < half)
            all[threadIdx.x].join(op, all[threadIdx.x + half]);
        __syncthreads();
    }
    sum = all[0];
}

template <class T, class Sum>
__global__ void __launch_bounds__(threads) reduce_partials(tsr_cuda_reduced *result, const Sum *partial, int nblocks, tsr_reduce_op op)
{
    Sum sum = Sum::none(op);
    for (int k = threadIdx.x; k < nblocks; k += threads)
        sum.join(op, partial[k]);
    join_threads(sum, op);
    if (threadIdx.x == 0) {
        stored<T> value = sum.result(op);
        tsr_cuda_reduced r = {0, sum.any};
        memcpy(&r.scalar, &value, sizeof value);
        *result = r;
    }
}

inline int blocks_for(int64_t count, int per_block, const tsr_cuda_device *device)
{
    int64_t blocks = (count + per_block - 1) / per_block, most = int64_t(device->sms) * blocks_per_sm;
    return int(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

} // namespace
