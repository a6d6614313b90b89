// Reductions of whole arrays to one element.  The tree is fixed by the number of elements and the device: every thread takes every so
// many vectors, a block adds up its threads, one block adds up the blocks.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/elementwise/reduce.cuh"

namespace {

// ---- Kernels ----

template <class T, class Sum>
__global__ void __launch_bounds__(threads) reduce_blocks(Sum *partial, tsr_elements e, int64_t count, tsr_reduce_op op)
{
    constexpr int V = lanes<T>;
    using S = stored<T>;
    const S *x = static_cast<const S *>(e.x);
    Sum sum = Sum::none(op);
    int64_t stride = int64_t(gridDim.x) * threads * V;
    for (int64_t at = (int64_t(blockIdx.x) * threads + threadIdx.x) * V; at < count; at += stride) {
        S value[V];
        int8_t present[V];
        bool whole = at + V <= count;
        if (whole)
            load_vector(value, x + at);
        if (whole && e.present)
            load_vector(present, e.present + at);
#pragma unroll
        for (int v = 0; v < V; v++) {
            bool there = at + v < count && (!e.present || (whole ? present[v] : e.present[at + v]));
            if (there)
                sum.add(op, T(whole ? value[v] : x[at + v]));
        }
    }
    join_threads(sum, op);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(threads) first_present(unsigned long long *first, const int8_t *present, int64_t count)
{
    int64_t stride = int64_t(gridDim.x) * threads;
    for (int64_t at = int64_t(blockIdx.x) * threads + threadIdx.x; at < count; at += stride)
        if (present[at]) {
            atomicMin(first, static_cast<unsigned long long>(at));
            return;
        }
}

/* first == NULL: all are present. */
template <class S> __global__ void take_first(tsr_cuda_reduced *result, const unsigned long long *first, const S *x, int64_t count)
{
    unsigned long long at = first ? *first : 0;
    tsr_cuda_reduced r = {0, at < static_cast<unsigned long long>(count)};
    if (r.any) {
        S value = x[at];
        memcpy(&r.scalar, &value, sizeof value);
    }
    *result = r;
}

__global__ void __launch_bounds__(threads) count_bytes(unsigned long long *total, const int8_t *present, int64_t count)
{
    constexpr int V = 16;
    unsigned mine = 0;
    int64_t stride = int64_t(gridDim.x) * threads * V;
    for (int64_t at = (int64_t(blockIdx.x) * threads + threadIdx.x) * V; at < count; at += stride) {
        if (at + V <= count) {
            unsigned word[V / 4];
            load_vector(word, present + at);
#pragma unroll
            for (int k = 0; k < V / 4; k++)
                mine += __popc(word[k]);
        } else {
            for (int64_t k = at; k < count; k++)
                mine += present[k];
        }
    }
    mine = __reduce_add_sync(~0u, mine);
    if (threadIdx.x % 32 == 0 && mine)
        atomicAdd(total, static_cast<unsigned long long>(mine));
}

// ---- Launching ----

template <class T, class Sum>
tsr_status reduce(tsr_cuda_reduced *result, void *scratch, tsr_reduce_op op, const tsr_elements *e, int64_t count,
    const tsr_cuda_device *device, void *stream)
{
    int nblocks = blocks_for(count, threads * lanes<T>, device);
    Sum *partial = static_cast<Sum *>(scratch);
    auto blocks = reduce_blocks<T, Sum>;
    auto partials = reduce_partials<T, Sum>;
    TSR_LAUNCH(blocks, unsigned(nblocks), threads, threads * sizeof(Sum), stream, partial, *e, count, op);
    TSR_LAUNCH(partials, 1u, threads, threads * sizeof(Sum), stream, result, partial, nblocks, op);
    return launch_status();
}

template <class T>
tsr_status reduce_typed(tsr_cuda_reduced *result, void *scratch, tsr_reduce_op op, const tsr_elements *e, int64_t count,
    const tsr_cuda_device *device, void *stream)
{
    if constexpr (std::is_floating_point_v<T>)
        if (op == TSR_REDUCE_PLUS || op == TSR_REDUCE_TIMES)
            return reduce<T, real_sum<T>>(result, scratch, op, e, count, device, stream);
    return reduce<T, plain_sum<T>>(result, scratch, op, e, count, device, stream);
}

template <class S>
tsr_status any_typed(tsr_cuda_reduced *result, unsigned long long *first, const tsr_elements *e, int64_t count,
    const tsr_cuda_device *device, void *stream)
{
    auto take = take_first<S>;
    if (e->present) {
        tsr_status status = tsr_cuda_set(first, 0xff, sizeof *first, stream);
        if (status != TSR_OK)
            return status;
        TSR_LAUNCH(first_present, unsigned(blocks_for(count, threads, device)), threads, 0, stream, first, e->present, count);
    }
    TSR_LAUNCH(take, 1u, 1, 0, stream, result, e->present ? first : nullptr, static_cast<const S *>(e->x), count);
    return launch_status();
}

} // namespace

extern "C" size_t tsr_cuda_reduce_bytes(int64_t count, const tsr_cuda_device *device)
{
    return size_t(blocks_for(count, threads, device)) * sizeof(real_sum<double>);
}

extern "C" tsr_status tsr_cuda_reduce(tsr_cuda_reduced *result, void *scratch, tsr_type type, tsr_reduce_op op, const tsr_elements *e,
    int64_t count, const tsr_cuda_device *device, void *stream)
{
    if (op == TSR_REDUCE_EQ && type != TSR_BOOL)
        return TSR_DECLINED;
    if (op == TSR_REDUCE_ANY) {
        unsigned long long *first = static_cast<unsigned long long *>(scratch);
        switch (size_of(type)) {
        case 1: return any_typed<uint8_t>(result, first, e, count, device, stream);
        case 2: return any_typed<uint16_t>(result, first, e, count, device, stream);
        case 4: return any_typed<uint32_t>(result, first, e, count, device, stream);
        default: return any_typed<uint64_t>(result, first, e, count, device, stream);
        }
    }
    switch (type) {
    case TSR_BOOL: return reduce_typed<bool>(result, scratch, op, e, count, device, stream);
    case TSR_INT8: return reduce_typed<int8_t>(result, scratch, op, e, count, device, stream);
    case TSR_INT16: return reduce_typed<int16_t>(result, scratch, op, e, count, device, stream);
    case TSR_INT32: return reduce_typed<int32_t>(result, scratch, op, e, count, device, stream);
    case TSR_INT64: return reduce_typed<int64_t>(result, scratch, op, e, count, device, stream);
    case TSR_UINT8: return reduce_typed<uint8_t>(result, scratch, op, e, count, device, stream);
    case TSR_UINT16: return reduce_typed<uint16_t>(result, scratch, op, e, count, device, stream);
    case TSR_UINT32: return reduce_typed<uint32_t>(result, scratch, op, e, count, device, stream);
    case TSR_UINT64: return reduce_typed<uint64_t>(result, scratch, op, e, count, device, stream);
    case TSR_FP32: return reduce_typed<float>(result, scratch, op, e, count, device, stream);
    case TSR_FP64: return reduce_typed<double>(result, scratch, op, e, count, device, stream);
    }
    return TSR_DECLINED;
}

extern "C" tsr_status tsr_cuda_count_ones(
    int64_t *total, const int8_t *present, int64_t count, const tsr_cuda_device *device, void *stream)
{
    tsr_status status = tsr_cuda_set(total, 0, sizeof *total, stream);
    if (status != TSR_OK || count == 0)
        return status;
    TSR_LAUNCH(count_bytes, unsigned(blocks_for(count, 16 * threads, device)), threads, 0, stream,
        reinterpret_cast<unsigned long long *>(total), present, count);
    return launch_status();
}
