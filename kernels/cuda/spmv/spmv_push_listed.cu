// SpMV from a frontier whose places are listed, in one kernel.
//
// Some lanes walk a column together.  Where nothing has joined in w yet all bits are 0: MIN joins numbers whose bits are turned, so that 0 is the identity
// of both, and the block that comes last turns them back at the places that were found.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/common/list.cuh"
#include "kernels/cuda/spmv/joined.cuh"
#include "kernels/cuda/spmv/spmv_push.h"

namespace {

constexpr int threads = 512, blocks_per_sm = 4;

struct listed_args {
    tsr_cuda_list from, to;
    tsr_cuda_told told;
    const int8_t *u_present;
    const int64_t *p;
    const uint32_t *i;
    const void *x, *u;
    void *w;
    int8_t *present;
    uint64_t iso;
    operators ops;
    int group; /* lanes of a column */
    bool reads_a, reads_b;
};

// ---- Joining ----

/* Of the order that MAX has: integers without a sign. */
template <class T> __device__ __forceinline__ unsigned_of<T> to_rank(int add, T t)
{
    unsigned_of<T> bits = unsigned_of<T>(to_joined<T>(add, t));
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
        bits ^= unsigned_of<T>(1) << (8 * sizeof(T) - 1);
    return add == TSR_ADD_MIN ? ~bits : bits;
}

template <class T> __device__ __forceinline__ T from_rank(int add, unsigned_of<T> bits)
{
    bits = add == TSR_ADD_MIN ? ~bits : bits;
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
        bits ^= unsigned_of<T>(1) << (8 * sizeof(T) - 1);
    return from_joined<T>(add, joined<T>(bits));
}

__device__ __forceinline__ bool orders(int add) { return add == TSR_ADD_MIN || add == TSR_ADD_MAX; }

template <class T> __device__ __forceinline__ void join_listed(T *w, int add, T t)
{
    if (add == TSR_ADD_ANY || add == TSR_ADD_LOR) {
        if (t != T(0))
            *w = T(1);
        return;
    }
    if constexpr (joins<T>) {
        unsigned_of<T> *at = reinterpret_cast<unsigned_of<T> *>(w);
        if (add == TSR_ADD_PLUS)
            atomicAdd(at, unsigned_of<T>(t));
        else
            atomicMax(at, to_rank<T>(add, t));
    }
}

// ---- The kernel ----

template <class T> __device__ __forceinline__ void push_column(const listed_args &q, uint32_t column, unsigned lane)
{
    using P = any_semiring<T>;
    using element = typename P::element;
    const element *x = static_cast<const element *>(q.x), *u = static_cast<const element *>(q.u);
    T *w = static_cast<T *>(q.w), iso = T(0);
    memcpy(static_cast<void *>(&iso), &q.iso, sizeof iso);
    const T b = q.reads_b ? T(P::widen(u[column])) : T(0);
    const int64_t end = q.p[column + 1];
    for (int64_t e = q.p[column] + lane; e < end; e += q.group) {
        const uint32_t row = q.i[e];
        const T a = q.reads_a ? T(P::widen(x[e])) : iso;
        join_listed<T>(w + row, q.ops.add, P::multiply(q.ops.mul, a, b));
        find_place(q.to, q.present, row);
    }
}

/* Places that were found, by the last block alone. */
template <class T> __device__ __forceinline__ void end_places(const listed_args &q)
{
    T *w = static_cast<T *>(q.w);
    const unsigned length = __ldcg(&q.to.head->length);
    if constexpr (joins<T>) {
        for (unsigned k = threadIdx.x; orders(q.ops.add) && k < length; k += threads) {
            const uint32_t row = __ldcg(q.to.places + k);
            w[row] = from_rank<T>(q.ops.add, __ldcg(reinterpret_cast<unsigned_of<T> *>(w) + row));
        }
    }
    if (threadIdx.x == 0) {
        q.to.head->present = length;
        tell(q.told);
    }
}

template <class T> __global__ void __launch_bounds__(threads) push_places(const __grid_constant__ listed_args q)
{
    const unsigned length = q.from.head->length, lane = threadIdx.x % q.group, groups = gridDim.x * threads / q.group;
    clear_places(q.told.clearing);
    for (unsigned k = (blockIdx.x * threads + threadIdx.x) / q.group; k < length; k += groups) {
        const uint32_t column = q.from.places[k];
        if (q.u_present[column])
            push_column<T>(q, column, lane);
    }
    if (is_last_block(q.to.head))
        end_places<T>(q);
}

/* A power of two, at most a warp. */
int group_for(int64_t longest)
{
    int lanes = 1;
    while (lanes < 32 && lanes < longest)
        lanes *= 2;
    return lanes;
}

template <class T> tsr_status launch(const listed_args &q, const tsr_cuda_device *device, void *stream)
{
    auto kernel = push_places<T>;
    const int64_t blocks = (q.from.most * q.group + threads - 1) / threads, most = int64_t(device->sms) * blocks_per_sm;
    TSR_LAUNCH(kernel, unsigned(blocks < 1 ? 1 : blocks < most ? blocks : most), threads, 0, stream, q);
    return launch_status();
}

} // namespace

extern "C" tsr_status tsr_cuda_push_listed(
    const tsr_cuda_push *push, const tsr_cuda_list *from, int64_t longest, const tsr_cuda_list *to, const tsr_cuda_told *told)
{
    const tsr_cuda_csr *a = push->columns;
    if (!tsr_cuda_push_takes(push->semiring))
        return TSR_DECLINED;
    listed_args q = {};
    q.from = *from;
    q.to = *to;
    q.told = *told;
    q.u_present = push->u_present;
    q.p = a->p;
    q.i = a->i;
    q.x = a->x;
    q.u = push->u;
    q.w = push->w;
    q.present = push->w_present;
    q.iso = push->iso;
    q.ops = { push->semiring.add, push->semiring.mul };
    q.group = group_for(longest);
    q.reads_a = tsr_mul_reads_a(push->semiring.mul) && a->x;
    q.reads_b = tsr_mul_reads_b(push->semiring.mul);
    switch (push->semiring.type) {
    case TSR_BOOL: return launch<bool>(q, push->device, push->stream);
    case TSR_INT8: return launch<int8_t>(q, push->device, push->stream);
    case TSR_INT16: return launch<int16_t>(q, push->device, push->stream);
    case TSR_INT32: return launch<int32_t>(q, push->device, push->stream);
    case TSR_INT64: return launch<int64_t>(q, push->device, push->stream);
    case TSR_UINT8: return launch<uint8_t>(q, push->device, push->stream);
    case TSR_UINT16: return launch<uint16_t>(q, push->device, push->stream);
    case TSR_UINT32: return launch<uint32_t>(q, push->device, push->stream);
    case TSR_UINT64: return launch<uint64_t>(q, push->device, push->stream);
    case TSR_FP32: return launch<float>(q, push->device, push->stream);
    case TSR_FP64: return launch<double>(q, push->device, push->stream);
    }
    return TSR_DECLINED;
}
