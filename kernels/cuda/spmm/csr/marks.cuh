// A bitmap as one array: an element that is not there holds a mark, a value that hardly occurs, so that an entry of A needs one request and
// not a second one for a presence byte.  Should an element have that value, a flag says so, and whoever meets the mark asks the presence
// bytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/spmm/csr/spmm_csr.cuh"

template <class T> using element_bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

/* A signalling NaN of floating-point numbers. */
template <class T> __device__ __forceinline__ element_bits<T> absent_mark()
{
    if constexpr (sizeof(T) == 8)
        return std::is_floating_point_v<T> ? 0x7ff4a5c3d2e1f0b7u : 0xa5c3d2e1f0b79684u;
    else
        return std::is_floating_point_v<T> ? 0x7fa5c3d2u : 0xa5c3d2e1u;
}

template <class T> __device__ __forceinline__ bool has_mark(T x)
{
    element_bits<T> bits;
    memcpy(&bits, &x, sizeof bits);
    return bits == absent_mark<T>();
}

template <class P, int V>
__device__ __forceinline__ unsigned unmarked(const typename P::element (&row)[V], const int8_t *present, bool ask)
{
    unsigned bits = 0;
#pragma unroll
    for (int v = 0; v < V; v++)
        bits |= unsigned(!has_mark(row[v]) || (ask && present[v])) << v;
    return bits;
}
