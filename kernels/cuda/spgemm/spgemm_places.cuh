// Values alone from the places of products (spgemm_places): a thread for an entry of C, a warp for one of many products.  The order of every sum is
// that of A's entries.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/spgemm/spgemm_common.cuh"

constexpr int places_threads = 256, places_warps = places_threads / 32;
constexpr uint32_t places_ahead = 2; // products that a thread reads at a time: more take registers, and fewer warps fit

/* The product of a place; beyond the places, anything. */
template <class P, class V = typename P::value>
__device__ __forceinline__ V product_at(const spgemm_operands<V> &q, unsigned long long code, bool there)
{
    V a = q.ax && there ? load_value(q.ax + (code >> 32)) : q.a_iso;
    V b = q.bx && there ? load_value(q.bx + uint32_t(code)) : q.b_iso;
    return P::multiply(q.op, a, b);
}

/* The sum of this lane's entry of `count` products, whose slice has its places from `code` on; counts do not ascend from lane to lane.  Places are read
 * while the values at those before are under way. */
template <class P, class V = typename P::value>
__device__ __forceinline__ V sum_in_slice(const spgemm_operands<V> &q, const unsigned long long *code, uint32_t count)
{
    const uint32_t most = __shfl_sync(~0u, count, 0);
    unsigned long long place[places_ahead];
    V s = P::identity(q.op);
    code += threadIdx.x % 32;
    auto read = [&](uint32_t begin) {
#pragma unroll
        for (uint32_t u = 0; u < places_ahead; u++) {
            bool there = begin + u < count;
            place[u] = there ? load_once(code) : 0;
            code += __popc(__ballot_sync(~0u, there));
        }
    };
    read(0);
    for (uint32_t k = 0; k < most; k += places_ahead) {
        V product[places_ahead];
#pragma unroll
        for (uint32_t u = 0; u < places_ahead; u++)
            product[u] = product_at<P>(q, place[u], k + u < count);
        read(k + places_ahead);
#pragma unroll
        for (uint32_t u = 0; u < places_ahead; u++)
            if (k + u < count)
                s = P::merge(q.op, s, product[u]);
    }
    return s;
}

/* A block for a window; its sums are written in the order of C. */
template <class P, class V = typename P::value>
__device__ __forceinline__ void sum_window(const spgemm_operands<V> &q, const spgemm_places &places, int64_t window, V *sums, V *x)
{
    constexpr int slices = spgemm_window / 32;
    __shared__ bool has_sum[spgemm_window]; // by few products
    uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, entry[slices / places_warps];
    int64_t from[slices / places_warps];
#pragma unroll
    for (uint32_t k = 0; k < slices / places_warps; k++) {
        int64_t slice = window * slices + k * places_warps + warp;
        entry[k] = __ldg(places.entry + slice * 32 + lane);
        from[k] = __ldg(places.slice + slice);
    }
#pragma unroll
    for (uint32_t k = 0; k < slices / places_warps; k++) {
        uint32_t count = entry[k] / spgemm_window, number = entry[k] % spgemm_window;
        V s = sum_in_slice<P>(q, places.code + from[k], count);
        has_sum[number] = count > 0;
        if (count > 0)
            sums[number] = s;
    }
    __syncthreads();
    x += window * spgemm_window;
    for (uint32_t k = threadIdx.x; k < spgemm_window; k += places_threads)
        if (has_sum[k])
            x[k] = sums[k];
}

/* A warp for an entry of many products: while one tile of them is added up, the next is under way. */
template <class P, class V = typename P::value>
__device__ __forceinline__ V sum_many(const spgemm_operands<V> &q, const unsigned long long *code, uint32_t count, V *formed)
{
    constexpr uint32_t tile = 32 * places_ahead;
    uint32_t lane = threadIdx.x % 32;
    unsigned long long place[places_ahead];
    V product[places_ahead], s = P::identity(q.op);
    auto read = [&](uint32_t begin) {
#pragma unroll
        for (uint32_t u = 0; u < places_ahead; u++) {
            uint32_t k = begin + u * 32 + lane;
            place[u] = k < count ? load_once(code + k) : 0;
        }
    };
    auto form = [&](uint32_t begin) {
#pragma unroll
        for (uint32_t u = 0; u < places_ahead; u++)
            product[u] = product_at<P>(q, place[u], begin + u * 32 + lane < count);
    };
    read(0);
    form(0);
    read(tile);
    for (uint32_t begin = 0; begin < count; begin += tile) {
#pragma unroll
        for (uint32_t u = 0; u < places_ahead; u++)
            formed[u * 32 + lane] = product[u];
        __syncwarp();
        form(begin + tile);
        read(begin + 2 * tile);
        uint32_t end = min(tile, count - begin);
#pragma unroll 8
        for (uint32_t k = 0; k < end; k++)
            s = P::merge(q.op, s, formed[k]);
        __syncwarp();
    }
    return s;
}

/* Blocks for entries of many products come first: they take longest.  As many warps as the device holds: they wait for memory. */
template <class P> __global__ void __launch_bounds__(places_threads, sizeof(typename P::value) > 8 ? 4 : 8) spgemm_sum_places(spgemm_operands<typename P::value> q, spgemm_places places,
    typename P::value *x)
{
    using V = typename P::value;
    static_assert(places_warps * 32 * places_ahead <= spgemm_window, "products of each warp fit where sums do");
    __shared__ __align__(16) unsigned char memory[spgemm_window * sizeof(V)];
    V *sums = reinterpret_cast<V *>(memory);
    uint32_t many_blocks = (places.many + places_warps - 1) / places_warps;
    if (blockIdx.x >= many_blocks) {
        sum_window<P>(q, places, blockIdx.x - many_blocks, sums, x);
        return;
    }
    uint32_t warp = threadIdx.x / 32, at = blockIdx.x * places_warps + warp;
    if (at >= places.many)
        return;
    uint32_t begin = places.many_start[at];
    V s = sum_many<P>(q, places.code + begin, places.many_start[at + 1] - begin, sums + warp * 32 * places_ahead);
    if (threadIdx.x % 32 == 0)
        x[places.many_entry[at]] = s;
}
