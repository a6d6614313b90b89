// SpMV by row: n == 1, typed policies.
//
// A warp computes one item (see csr_work.cuh).  Lanes take entries: columns and values are read coalesced and once, eight of each in
// flight, then the eight elements of the vector.  One row, or a part of one: every lane adds up what it has, and the warp adds the
// lanes.  Several rows (fewer than 2 * spmv_chunk entries): the products go to shared memory, and 1 to 32 lanes, by the mean length,
// add up a row.  Both are fixed trees.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/spmm_csr.cuh"

constexpr int spmv_warps = 4, spmv_loads = 8;

template <class P> struct spmv_batch {
    uint32_t column[spmv_loads];
    typename P::element value[spmv_loads];
    typename P::element x[spmv_loads];

    /* Entries `entry` + lane + 32 k for lane + 32 k < left. */
    __device__ __forceinline__ void load(const csr_args &q, int64_t entry, int left, int lane)
    {
#pragma unroll
        for (int k = 0; k < spmv_loads; k++)
            if (k * 32 + lane < left) {
                column[k] = load_once(q.i + entry + k * 32 + lane);
                if (q.reads_a)
                    value[k] = load_once(static_cast<const typename P::element *>(q.x) + entry + k * 32 + lane);
            }
#pragma unroll
        for (int k = 0; k < spmv_loads; k++)
            if (k * 32 + lane < left)
                load_element(x[k], static_cast<const typename P::element *>(q.b) + int64_t(column[k]) * q.ldb);
    }
    static __device__ __forceinline__ void load_element(typename P::element &x, const typename P::element *at)
    {
        typename P::element one[1];
        load_vector(one, at);
        x = one[0];
    }
    __device__ __forceinline__ typename P::sum join(const csr_args &q, typename P::sum sum, typename P::sum iso, int k) const
    {
        return P::step(sum, q.reads_a ? P::widen(value[k]) : iso, P::widen(x[k]));
    }
};

/* The sums of `width` neighbouring lanes, in the first of them. */
template <class P> __device__ __forceinline__ typename P::sum add_lanes(typename P::sum sum, int width)
{
    for (int by = width / 2; by > 0; by /= 2)
        sum = P::merge(sum, __shfl_down_sync(~0u, sum, by));
    return sum;
}

template <class P> __device__ __forceinline__ void store_sum(const csr_args &q, int64_t row, typename P::sum sum, bool any)
{
    row_sums<P, 1> sums;
    sums.value[0] = sum;
    sums.have = any;
    store_row<P, 1>(q, row * q.ldc, sums, any);
}

template <class P> __device__ void spmv_one_row(const csr_args &q, const csr_item &item, int count, int lane)
{
    typename P::sum sum = P::identity(), iso = iso_value<P>(q.iso);
    for (int base = 0; base < count; base += 32 * spmv_loads) {
        spmv_batch<P> batch;
        batch.load(q, item.entry + base, count - base, lane);
#pragma unroll
        for (int k = 0; k < spmv_loads; k++)
            if (base + k * 32 + lane < count)
                sum = batch.join(q, sum, iso, k);
    }
    sum = add_lanes<P>(sum, 32);
    if (lane == 0) {
        if (item.partial < 0)
            store_sum<P>(q, item.row, sum, count > 0);
        else
            static_cast<typename P::sum *>(q.partial)[item.partial] = sum;
    }
}

template <class P>
__device__ void spmv_rows(const csr_args &q, const csr_item &item, int rows, int count, typename P::sum *product, int lane)
{
    typename P::sum iso = iso_value<P>(q.iso);
    for (int base = 0; base < count; base += 32 * spmv_loads) {
        spmv_batch<P> batch;
        batch.load(q, item.entry + base, count - base, lane);
#pragma unroll
        for (int k = 0; k < spmv_loads; k++)
            if (base + k * 32 + lane < count)
                product[base + k * 32 + lane] = batch.join(q, P::identity(), iso, k);
    }
    __syncwarp();
    int width = 1;
    while (width < 32 && width * 3 * rows < count)
        width *= 2;
    for (int first = 0; first < rows; first += 32 / width) {
        int row = first + lane / width, begin = 0, end = 0;
        if (row < rows) {
            begin = int(__ldg(q.p + item.row + row) - item.entry);
            end = int(__ldg(q.p + item.row + row + 1) - item.entry);
        }
        typename P::sum sum = P::identity();
        for (int at = begin + lane % width; at < end; at += width)
            sum = P::merge(sum, product[at]);
        sum = add_lanes<P>(sum, width);
        if (row < rows && lane % width == 0)
            store_sum<P>(q, item.row + row, sum, end > begin);
    }
}

template <class P> __global__ void __launch_bounds__(32 * spmv_warps) spmv_items(csr_args q)
{
    __shared__ typename P::sum product[spmv_warps][2 * spmv_chunk];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int64_t t = int64_t(blockIdx.x) * spmv_warps + warp;
    if (t >= q.nitems)
        return;
    csr_item item = q.items[t], next = q.items[t + 1];
    int count = int(next.entry - item.entry), rows = item.partial < 0 ? int(next.row - item.row) : 1;
    if (rows == 1)
        spmv_one_row<P>(q, item, count, lane);
    else
        spmv_rows<P>(q, item, rows, count, product[warp], lane);
}

template <class P> tsr_status launch_spmv(const csr_args &q, void *stream)
{
    int64_t blocks = (q.nitems + spmv_warps - 1) / spmv_warps;
    if (blocks > INT_MAX)
        return TSR_DECLINED;
    TSR_LAUNCH(spmv_items<P>, unsigned(blocks), 32 * spmv_warps, 0, stream, q);
    launch_partials<P>(q, stream);
    return cudaGetLastError() == cudaSuccess ? TSR_OK : TSR_INTERNAL_ERROR;
}
