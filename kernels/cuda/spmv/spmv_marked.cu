// SpMV with a bitmap vector that has been marked (marks.cuh): the walk of SpMV, whose sums know whether a product was formed.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmm/csr/marks.cuh"
#include "kernels/cuda/spmv/spmv_csr.cuh"

template <class P> struct marked {
    using element = typename P::element;
    struct sum {
        typename P::sum value;
        element_bits<element> have; /* of value's size: no padding */
    };
    static constexpr bool generic = false;
    static __device__ __forceinline__ typename P::sum widen(element x) { return P::widen(x); }
    static __device__ __forceinline__ sum identity() { return { P::identity(), 0 }; }
    static __device__ __forceinline__ sum merge(const sum &s, const sum &t) { return { P::merge(s.value, t.value), s.have | t.have }; }
};

template <class P> struct spmv_of<marked<P>> {
    using sum = typename marked<P>::sum;
    using factor = typename P::sum;
    using operand = typename P::element;

    static __device__ __forceinline__ operand load(const csr_args &q, uint32_t column)
    {
        return __ldg(static_cast<const operand *>(q.b) + column);
    }

    static __device__ __forceinline__ factor iso(const csr_args &q) { return iso_value<P>(q); }

    static __device__ __forceinline__ sum product(const csr_args &q, factor a, operand x, uint32_t column)
    {
        if (has_mark(x) && !(*q.marked && q.b_present[column * q.ldb]))
            return marked<P>::identity();
        return { P::step(P::identity(), a, P::widen(x)), 1 };
    }

    static __device__ __forceinline__ void store(const csr_args &q, int64_t row, const sum &s, bool)
    {
        store_once(static_cast<factor *>(q.c) + row * q.ldc, s.have ? s.value : factor(0));
        if (q.c_present)
            q.c_present[row * q.ldc] = int8_t(s.have);
    }

    static __device__ __forceinline__ void store_partial(const csr_args &q, int32_t number, const sum &s)
    {
        static_cast<factor *>(q.partial)[number] = s.value;
        q.partial_present[number] = int8_t(s.have);
    }
};

namespace {

template <class P> tsr_status launch(const csr_args &q, void *stream)
{
    tsr_status status = launch_spmv_rows<marked<P>>(q, stream);
    if (status != TSR_OK)
        return status;
    launch_partials<any_semiring<typename P::sum>>(q, stream);
    return launch_status();
}

} // namespace

tsr_status tsr_csr_spmv_marked(tsr_type type, bool least, const csr_args &q, void *stream)
{
    switch (type) {
    case TSR_INT32: return least ? launch<min_plus<int32_t>>(q, stream) : launch<plus_times<uint32_t>>(q, stream);
    case TSR_UINT32: return least ? launch<min_plus<uint32_t>>(q, stream) : launch<plus_times<uint32_t>>(q, stream);
    case TSR_INT64: return least ? launch<min_plus<int64_t>>(q, stream) : launch<plus_times<uint64_t>>(q, stream);
    case TSR_UINT64: return least ? launch<min_plus<uint64_t>>(q, stream) : launch<plus_times<uint64_t>>(q, stream);
    case TSR_FP32: return least ? launch<min_plus<float>>(q, stream) : launch<plus_times<float>>(q, stream);
    case TSR_FP64: return least ? launch<min_plus<double>>(q, stream) : launch<plus_times<double>>(q, stream);
    default: return TSR_DECLINED;
    }
}
