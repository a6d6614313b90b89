// Chains of elementwise steps: what one step makes is the next one's operand in registers, and goes to memory where somebody looks at it.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/elementwise/fusion.h"
#include "kernels/cuda/elementwise/elementwise.cuh"
#include "kernels/cuda/elementwise/reduce.cuh"

namespace {

constexpr int step_blocks_per_sm = 32; /* without a sum, as of one step */

struct fused_args {
    int n;
    int64_t count;
    step_args step[TSR_FUSION_MOST]; /* a.z == NULL: not written */
};

/* One vector of all steps. */
template <class T, int V> __device__ __forceinline__ void run_steps(operand<T, V> &z, const fused_args &q, int64_t at, int64_t left)
{
#pragma unroll 1
    for (int k = 0; k < q.n; k++) {
        const step_args &s = q.step[k];
        operand<T, V> next;
        compute<T, T, V>(next, s, &z, at, left);
        if (s.a.c.x)
            join<T, V>(next, s, &z, all_bits<V>, at, left);
        z = next;
        if (s.a.z)
            store(s.a.z, z.x, at, left);
    }
}

template <class T> __global__ void __launch_bounds__(threads) fused_vectors(fused_args q)
{
    constexpr int V = lanes<T>;
    int64_t stride = int64_t(gridDim.x) * threads * V;
    for (int64_t at = (int64_t(blockIdx.x) * threads + threadIdx.x) * V; at < q.count; at += stride) {
        operand<T, V> z = {};
        run_steps(z, q, at, q.count - at);
    }
}

/* Threads take the elements that they take in a reduction. */
template <class T, class Sum> __global__ void __launch_bounds__(threads) fused_blocks(Sum *partial, fused_args q, tsr_reduce_op op)
{
    constexpr int V = lanes<T>;
    Sum sum = Sum::none(op);
    int64_t stride = int64_t(gridDim.x) * threads * V;
    for (int64_t at = (int64_t(blockIdx.x) * threads + threadIdx.x) * V; at < q.count; at += stride) {
        operand<T, V> z = {};
        run_steps(z, q, at, q.count - at);
#pragma unroll
        for (int v = 0; v < V; v++)
            if (at + v < q.count)
                sum.add(op, z.x[v]);
    }
    join_threads(sum, op);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sum;
}

// ---- Launching ----

fused_args arguments(const tsr_fusion *fused)
{
    fused_args q = {};
    q.n = fused->n;
    q.count = fused->step[0].count;
    for (int k = 0; k < fused->n; k++) {
        step_args &s = q.step[k];
        const void *before = k ? fused->arrays[k - 1].z : nullptr;
        s = arguments(&fused->step[k], &fused->arrays[k]);
        s.x_before = before && s.a.x.x == before;
        s.y_before = before && s.a.y.x == before;
        s.c_before = before && s.a.c.x == before;
        if (!fused->wanted[k])
            s.a.z = nullptr;
    }
    return q;
}

template <class T> tsr_status launch(const tsr_fusion *fused, const tsr_cuda_device *device, void *stream)
{
    fused_args q = arguments(fused);
    int64_t per_block = int64_t(threads) * lanes<T>, blocks = (q.count + per_block - 1) / per_block;
    int64_t most = int64_t(device->sms) * step_blocks_per_sm;
    auto kernel = fused_vectors<T>;
    TSR_LAUNCH(kernel, unsigned(blocks < most ? blocks : most), threads, 0, stream, q);
    return launch_status();
}

template <class T, class Sum>
tsr_status launch_reduce(tsr_cuda_reduced *result, void *scratch, tsr_reduce_op op, const tsr_fusion *fused,
    const tsr_cuda_device *device, void *stream)
{
    fused_args q = arguments(fused);
    int nblocks = blocks_for(q.count, threads * lanes<T>, device);
    Sum *partial = static_cast<Sum *>(scratch);
    auto blocks = fused_blocks<T, Sum>;
    auto partials = reduce_partials<T, Sum>;
    TSR_LAUNCH(blocks, unsigned(nblocks), threads, threads * sizeof(Sum), stream, partial, q, op);
    TSR_LAUNCH(partials, 1u, threads, threads * sizeof(Sum), stream, result, partial, nblocks, op);
    return launch_status();
}

template <class T>
tsr_status launch_reduce_of(tsr_cuda_reduced *result, void *scratch, tsr_reduce_op op, const tsr_fusion *fused,
    const tsr_cuda_device *device, void *stream)
{
    return op == TSR_REDUCE_PLUS || op == TSR_REDUCE_TIMES ? launch_reduce<T, real_sum<T>>(result, scratch, op, fused, device, stream)
                                                           : launch_reduce<T, plain_sum<T>>(result, scratch, op, fused, device, stream);
}

} // namespace

extern "C" tsr_status tsr_cuda_fusion(const tsr_fusion *fused, const tsr_cuda_device *device, void *stream)
{
    return fused->step[0].type == TSR_FP32 ? launch<float>(fused, device, stream) : launch<double>(fused, device, stream);
}

extern "C" tsr_status tsr_cuda_fusion_reduce(tsr_cuda_reduced *result, void *scratch, tsr_reduce_op op, const tsr_fusion *fused,
    const tsr_cuda_device *device, void *stream)
{
    return fused->step[0].type == TSR_FP32 ? launch_reduce_of<float>(result, scratch, op, fused, device, stream)
                                           : launch_reduce_of<double>(result, scratch, op, fused, device, stream);
}
