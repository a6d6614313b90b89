// Sparse times sparse: bringing stored rows, and parts of rows, to their places.  For spgemm_host.cu.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/spgemm/spgemm_analysis.cuh"

namespace {

constexpr int64_t long_row = 1024;

template <class V> struct copying {
    const int64_t *p, *at;
    const uint32_t *from_i;
    const V *from_x;
    uint32_t *i;
    V *x;
    int64_t m;
};

/* By G threads. */
template <int G, class V> __device__ __forceinline__ void copy_row(const copying<V> &s, int64_t from, int64_t to, int64_t count)
{
    constexpr int ahead = 4;
    for (int64_t base = threadIdx.x % G; base < count; base += ahead * G) {
        uint32_t i[ahead];
        V x[ahead];
#pragma unroll
        for (int u = 0; u < ahead; u++)
            if (base + u * G < count) {
                i[u] = load_once(s.from_i + from + base + u * G);
                if (s.x)
                    x[u] = load_once(s.from_x + from + base + u * G);
            }
#pragma unroll
        for (int u = 0; u < ahead; u++)
            if (base + u * G < count) {
                store_once(s.i + to + base + u * G, i[u]);
                if (s.x)
                    store_once(s.x + to + base + u * G, x[u]);
            }
    }
}

/* G lanes for a row, in the order of rows; long rows are left out. */
template <class V, int G> __global__ void __launch_bounds__(threads) copy_rows(copying<V> s)
{
    constexpr int groups = threads / G;
    int64_t row = blockIdx.x * int64_t(groups) + threadIdx.x / G;
    if (row >= s.m)
        return;
    int64_t to = s.p[row], count = s.p[row + 1] - to;
    if (count == 0 || count > long_row)
        return;
    int64_t from = s.at[row];
    if (from < 0)
        return;
    copy_row<G>(s, from, to, count);
}

/* A block for a row of the list, if it is long. */
template <class V> __global__ void __launch_bounds__(threads) copy_long_rows(copying<V> s, const uint32_t *list)
{
    uint32_t row = list[blockIdx.x];
    int64_t to = s.p[row], count = s.p[row + 1] - to, from = s.at[row];
    if (count <= long_row || from < 0)
        return;
    copy_row<threads>(s, from, to, count);
}

/* A warp for a part of a row. */
template <class V> __global__ void __launch_bounds__(threads) copy_parts(copying<V> s, const uint32_t *list, spgemm_parts parts, uint64_t all)
{
    uint64_t k = blockIdx.x * uint64_t(threads / 32) + threadIdx.x / 32;
    if (k < all && parts.at[k] >= 0 && parts.counts[k])
        copy_row<32>(s, parts.at[k], begin_of_part(s.p, list[k / parts.each], parts, k, uint32_t(k % parts.each)), parts.counts[k]);
}

} // namespace
