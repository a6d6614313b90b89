// A few columns of B side by side, or a bitmap vector: the walk of SpMV, with W sums in place of one.
//
// B is packed first, a row of W elements for each column of A, so that a lane fetches what its entry needs by one request.  An element that
// is not there holds a mark, a value that hardly occurs.  Should an element have it, a flag says so, and whoever meets the mark asks the
// presence bytes.  A sum is joined with bits that say in which columns a product was formed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/spmv/spmv_csr.cuh"

template <class T> using element_bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

/* A signalling NaN of floating-point numbers. */
template <class T> __device__ __forceinline__ element_bits<T> absent_mark()
{
    if constexpr (sizeof(T) == 8)
        return std::is_floating_point_v<T> ? 0x7ff4a5c3d2e1f0b7u : 0xa5c3d2e1f0b79684u;
    else
        return std::is_floating_point_v<T> ? 0x7fa5c3d2u : 0xa5c3d2e1u;
}

template <class P, int W> struct narrow {
    using element = typename P::element;
    struct sum {
        typename P::sum value[W];
        uint32_t have; /* columns in which a product was formed */
    };
    static constexpr bool generic = false;
    static __device__ __forceinline__ typename P::sum widen(element x) { return P::widen(x); }
    static __device__ __forceinline__ sum identity()
    {
        sum s;
#pragma unroll
        for (int w = 0; w < W; w++)
            s.value[w] = P::identity();
        s.have = 0;
        return s;
    }
    static __device__ __forceinline__ sum merge(sum s, const sum &t)
    {
#pragma unroll
        for (int w = 0; w < W; w++)
            s.value[w] = P::merge(s.value[w], t.value[w]);
        s.have |= t.have;
        return s;
    }
};

template <class P, int W> struct spmv_of<narrow<P, W>> {
    using sum = typename narrow<P, W>::sum;
    using factor = typename P::sum;
    using element = typename P::element;
    struct operand {
        element value[W];
    };

    static __device__ __forceinline__ operand load(const csr_args &q, uint32_t column)
    {
        operand x;
        load_vector(x.value, static_cast<const element *>(q.b) + uint64_t(column) * W);
        return x;
    }

    static __device__ __forceinline__ factor iso(const csr_args &q) { return iso_value<P>(q.iso); }

    static __device__ __forceinline__ bool is_there(const csr_args &q, element x, uint32_t column, int w)
    {
        element_bits<element> bits;
        memcpy(&bits, &x, sizeof bits);
        if (bits != absent_mark<element>())
            return true;
        return *q.marked && w < q.n && (!q.b_present || q.b_present[column * q.ldb + w]);
    }

    static __device__ __forceinline__ sum product(const csr_args &q, factor a, const operand &x, uint32_t column)
    {
        sum s;
        s.have = 0;
#pragma unroll
        for (int w = 0; w < W; w++) {
            const bool there = is_there(q, x.value[w], column, w);
            const typename P::sum term = P::step(P::identity(), a, P::widen(x.value[w]));
            s.value[w] = there ? term : P::identity();
            s.have |= uint32_t(there) << w;
        }
        return s;
    }

    static __device__ __forceinline__ void store(const csr_args &q, int64_t row, const sum &s, bool)
    {
        typename P::sum *c = static_cast<typename P::sum *>(q.c) + row * q.ldc;
        typename P::sum out[W];
#pragma unroll
        for (int w = 0; w < W; w++)
            out[w] = s.have >> w & 1 ? s.value[w] : typename P::sum(0);
        if (q.c_vectors) {
            store_vector(c, out);
        } else {
#pragma unroll
            for (int w = 0; w < W; w++)
                if (w < q.n)
                    store_once(c + w, out[w]);
        }
#pragma unroll
        for (int w = 0; w < W; w++)
            if (q.c_present && w < q.n)
                q.c_present[row * q.ldc + w] = int8_t(s.have >> w & 1);
    }

    static __device__ __forceinline__ void store_partial(const csr_args &q, int32_t number, const sum &s)
    {
        for (int w = 0; w < W && w < q.n; w++) {
            static_cast<typename P::sum *>(q.partial)[number * q.n + w] = s.value[w];
            q.partial_present[number * q.n + w] = int8_t(s.have >> w & 1);
        }
    }
};

/* `have` of sums that a policy without it would lose. */
template <class P> using any_of = any_semiring<typename P::sum>;

template <class P, int W> tsr_status launch_narrow(csr_args q, void *stream)
{
    tsr_status status = launch_spmv_rows<narrow<P, W>>(q, stream);
    if (status != TSR_OK)
        return status;
    launch_partials<any_of<P>>(q, stream);
    return launch_status();
}
