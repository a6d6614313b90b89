// SpMM by row with a bitmap of few columns that has been marked (marks.cuh).
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmm/csr/marks.cuh"

/* P, whose sums keep a bit per element for "a product was formed". */
template <class P> struct with_marks : P { };
template <class P> constexpr bool has_marks<with_marks<P>> = true;

namespace {

constexpr int lanes = 4, unrolled = 4;

/* Four lanes for a row of B, 16 bytes of it at most for each. */
template <class P> tsr_status launch(const csr_args &q, const csr_shape &shape, void *stream)
{
    constexpr int most = 16 / int(sizeof(typename P::element));
    csr_shape mine = { 1, lanes, shape.warps };
    if (q.n <= lanes)
        return launch_rows<with_marks<P>, 1, lanes, unrolled>(q, mine, stream);
    if (q.n % 2 == 0 && q.n <= 2 * lanes)
        return launch_rows<with_marks<P>, 2, lanes, unrolled>(q, mine, stream);
    if constexpr (most == 4)
        if (q.n % 4 == 0 && q.n <= 4 * lanes)
            return launch_rows<with_marks<P>, 4, lanes, unrolled>(q, mine, stream);
    return TSR_DECLINED;
}

} // namespace

bool tsr_csr_takes_marked(tsr_type type, int64_t n)
{
    const int64_t each = n <= lanes ? 1 : n % 2 == 0 && n <= 2 * lanes ? 2 : n % 4 == 0 && n <= 4 * lanes ? 4 : 0;
    return each > 0 && size_of(type) >= 4 && each * int64_t(size_of(type)) <= 16;
}

tsr_status tsr_csr_marked(tsr_type type, bool least, const csr_args &q, const csr_shape &shape, void *stream)
{
    switch (type) {
    case TSR_INT32: return least ? launch<min_plus<int32_t>>(q, shape, stream) : launch<plus_times<uint32_t>>(q, shape, stream);
    case TSR_UINT32: return least ? launch<min_plus<uint32_t>>(q, shape, stream) : launch<plus_times<uint32_t>>(q, shape, stream);
    case TSR_INT64: return least ? launch<min_plus<int64_t>>(q, shape, stream) : launch<plus_times<uint64_t>>(q, shape, stream);
    case TSR_UINT64: return least ? launch<min_plus<uint64_t>>(q, shape, stream) : launch<plus_times<uint64_t>>(q, shape, stream);
    case TSR_FP32: return least ? launch<min_plus<float>>(q, shape, stream) : launch<plus_times<float>>(q, shape, stream);
    case TSR_FP64: return least ? launch<min_plus<double>>(q, shape, stream) : launch<plus_times<double>>(q, shape, stream);
    default: return TSR_DECLINED;
    }
}
