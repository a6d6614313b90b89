// Sums of vectors of an array: of consecutive elements, by a few lanes each; across, by one thread each.  Few long vectors are cut into
// pieces, whose sums a second kernel joins.  All of it is fixed by the shape and the device.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/elementwise/derive.h"
#include "kernels/cuda/common/sums.cuh"

#include <algorithm>

namespace {

constexpr int threads = 256, blocks_per_sm = 8;
constexpr int64_t most_pieces = 4096, least_along = 1024, least_across = 64;

struct cut {
    int64_t pieces, length; /* the last piece may be shorter */
};

struct sums_args {
    tsr_elements e;
    void *z;
    int8_t *z_present;
    int64_t vectors, length;
    cut pieces;
    int group; /* lanes of one sum */
    tsr_reduce_op op;
};

template <class T> struct element {
    const stored<T> *x;
    const int8_t *present;
    template <class Sum> __device__ __forceinline__ void add_to(Sum &sum, tsr_reduce_op op, int64_t at) const
    {
        if (!present || present[at])
            sum.add(op, T(x[at]));
    }
};

template <class T> __device__ __forceinline__ element<T> elements(const sums_args &q)
{
    return {static_cast<const stored<T> *>(q.e.x), q.e.present};
}

/* A sum is a result, or one of the pieces of a result. */
template <class T, class Sum>
__device__ __forceinline__ void give(const sums_args &q, Sum *partial, const Sum &sum, int64_t piece, int64_t vector)
{
    if (partial) {
        partial[piece * q.vectors + vector] = sum;
        return;
    }
    static_cast<stored<T> *>(q.z)[vector] = sum.any ? stored<T>(sum.result(q.op)) : stored<T>(0);
    if (q.z_present)
        q.z_present[vector] = sum.any;
}

/* Afterwards the first lane of each group has the sum of its lanes. */
template <class Sum> __device__ __forceinline__ void join_group(Sum &sum, int group, tsr_reduce_op op)
{
    Sum *all = reinterpret_cast<Sum *>(dynamic_shared());
    all[threadIdx.x] = sum;
    __syncwarp();
    for (int half = group / 2; half > 0; half /= 2) {
        if (int(threadIdx.x) % group < half)
            all[threadIdx.x].join(op, all[threadIdx.x + half]);
        __syncwarp();
    }
    sum = all[threadIdx.x];
    __syncwarp();
}

template <class T, class Sum> __global__ void __launch_bounds__(threads) sum_along(sums_args q, Sum *partial)
{
    const element<T> e = elements<T>(q);
    int lane = int(threadIdx.x) % q.group;
    int64_t count = q.vectors * q.pieces.pieces, step = int64_t(gridDim.x) * (threads / q.group);
    for (int64_t first = int64_t(blockIdx.x) * (threads / q.group); first < count; first += step) {
        int64_t item = first + threadIdx.x / q.group, vector = item / q.pieces.pieces, piece = item % q.pieces.pieces;
        int64_t begin = piece * q.pieces.length, end = min(begin + q.pieces.length, q.length);
        Sum sum = Sum::none(q.op);
        for (int64_t k = begin + lane; item < count && k < end; k += q.group)
            e.add_to(sum, q.op, vector * q.length + k);
        join_group(sum, q.group, q.op);
        if (lane == 0 && item < count)
            give<T>(q, partial, sum, piece, vector);
    }
}

template <class T, class Sum> __global__ void __launch_bounds__(threads) sum_across(sums_args q, Sum *partial)
{
    const element<T> e = elements<T>(q);
    int64_t count = q.vectors * q.pieces.pieces;
    for (int64_t item = int64_t(blockIdx.x) * threads + threadIdx.x; item < count; item += int64_t(gridDim.x) * threads) {
        int64_t vector = item % q.vectors, piece = item / q.vectors;
        int64_t begin = piece * q.pieces.length, end = min(begin + q.pieces.length, q.length);
        Sum sum = Sum::none(q.op);
        for (int64_t k = begin; k < end; k++)
            e.add_to(sum, q.op, k * q.vectors + vector);
        give<T>(q, partial, sum, piece, vector);
    }
}

/* A warp joins the pieces of a vector. */
template <class T, class Sum> __global__ void __launch_bounds__(threads) join_pieces(sums_args q, const Sum *partial)
{
    int lane = int(threadIdx.x) % 32;
    for (int64_t vector = int64_t(blockIdx.x) * (threads / 32) + threadIdx.x / 32; vector < q.vectors;
         vector += int64_t(gridDim.x) * (threads / 32)) {
        Sum sum = Sum::none(q.op);
        for (int64_t piece = lane; piece < q.pieces.pieces; piece += 32)
            sum.join(q.op, partial[piece * q.vectors + vector]);
        join_group(sum, 32, q.op);
        if (lane == 0)
            give<T>(q, static_cast<Sum *>(nullptr), sum, 0, vector);
    }
}

// ---- Launching ----

/* One vector lies in one piece of memory either way. */
bool lies_across(const tsr_sums *s) { return s->across && s->vectors > 1; }

/* So many that the device has work, none too short. */
cut cut_of(const tsr_sums *s, const tsr_cuda_device *device)
{
    bool across = lies_across(s);
    int64_t lanes = int64_t(device->sms) * blocks_per_sm * threads / (across ? 1 : 32);
    int64_t pieces = std::min(lanes / std::max<int64_t>(s->vectors, 1), s->length / (across ? least_across : least_along));
    pieces = std::max<int64_t>(std::min(pieces, most_pieces), 1);
    int64_t length = (s->length + pieces - 1) / pieces;
    return {length ? (s->length + length - 1) / length : 1, length};
}

int group_of(int64_t length)
{
    int group = 1;
    while (group < 32 && group < length)
        group *= 2;
    return group;
}

unsigned blocks_for(int64_t count, int64_t per_block, const tsr_cuda_device *device)
{
    return unsigned(std::min((count + per_block - 1) / per_block, int64_t(device->sms) * blocks_per_sm));
}

template <class T, class Sum> tsr_status launch(const sums_args &q, bool across, void *scratch, const tsr_cuda_device *device, void *stream)
{
    Sum *partial = q.pieces.pieces > 1 ? static_cast<Sum *>(scratch) : nullptr;
    int64_t count = q.vectors * q.pieces.pieces;
    auto first = across ? sum_across<T, Sum> : sum_along<T, Sum>;
    auto second = join_pieces<T, Sum>;
    TSR_LAUNCH(first, blocks_for(count, across ? threads : threads / q.group, device), threads, threads * sizeof(Sum), stream, q, partial);
    if (partial)
        TSR_LAUNCH(second, blocks_for(q.vectors, threads / 32, device), threads, threads * sizeof(Sum), stream, q, partial);
    return launch_status();
}

template <class T> tsr_status launch_typed(const sums_args &q, bool across, void *scratch, const tsr_cuda_device *device, void *stream)
{
    if constexpr (std::is_floating_point_v<T>)
        if (q.op == TSR_REDUCE_PLUS || q.op == TSR_REDUCE_TIMES)
            return launch<T, real_sum<T>>(q, across, scratch, device, stream);
    return launch<T, plain_sum<T>>(q, across, scratch, device, stream);
}

} // namespace

extern "C" size_t tsr_cuda_sums_bytes(const tsr_sums *sums, const tsr_cuda_device *device)
{
    int64_t pieces = cut_of(sums, device).pieces;
    return pieces > 1 ? size_t(pieces * sums->vectors) * sizeof(real_sum<double>) : 0;
}

extern "C" tsr_status tsr_cuda_sums(const tsr_sums *s, const tsr_elements *e, void *z, int8_t *z_present, void *scratch,
    const tsr_cuda_device *device, void *stream)
{
    if (s->op == TSR_REDUCE_EQ && s->type != TSR_BOOL)
        return TSR_DECLINED;
    if (s->vectors == 0)
        return TSR_OK;
    const cut pieces = cut_of(s, device);
    const sums_args q = {*e, z, z_present, s->vectors, s->length, pieces, group_of(pieces.length), s->op};
    const bool across = lies_across(s);
    switch (s->type) {
    case TSR_BOOL: return launch_typed<bool>(q, across, scratch, device, stream);
    case TSR_INT8: return launch_typed<int8_t>(q, across, scratch, device, stream);
    case TSR_INT16: return launch_typed<int16_t>(q, across, scratch, device, stream);
    case TSR_INT32: return launch_typed<int32_t>(q, across, scratch, device, stream);
    case TSR_INT64: return launch_typed<int64_t>(q, across, scratch, device, stream);
    case TSR_UINT8: return launch_typed<uint8_t>(q, across, scratch, device, stream);
    case TSR_UINT16: return launch_typed<uint16_t>(q, across, scratch, device, stream);
    case TSR_UINT32: return launch_typed<uint32_t>(q, across, scratch, device, stream);
    case TSR_UINT64: return launch_typed<uint64_t>(q, across, scratch, device, stream);
    case TSR_FP32: return launch_typed<float>(q, across, scratch, device, stream);
    case TSR_FP64: return launch_typed<double>(q, across, scratch, device, stream);
    }
    return TSR_DECLINED;
}
