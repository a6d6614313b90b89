// SpMV by row: any semiring of any type, with a full vector; the operators chosen while it runs.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmv_csr.cuh"

namespace {

constexpr int threads = 256;

/* ANY: the product of the first entry of a row. */
template <class P> __global__ void __launch_bounds__(threads) spmv_first(const __grid_constant__ csr_args q)
{
    using element = typename P::element;
    int64_t row = int64_t(blockIdx.x) * threads + threadIdx.x;
    if (row >= q.nrows)
        return;
    int64_t entry = __ldg(q.p + row);
    bool any = entry < __ldg(q.p + row + 1);
    typename P::sum sum = P::identity();
    if (any) {
        element a = {}, b[1] = {};
        if (q.reads_a)
            a = static_cast<const element *>(q.x)[entry];
        if (q.reads_b)
            load_vector(b, static_cast<const char *>(q.b) + __ldg(q.i + entry) * q.b_stride);
        sum = P::multiply(q.ops.mul, q.reads_a ? P::widen(a) : iso_value<P>(q.iso), P::widen(b[0]));
    }
    store_sum<P>(q, row, sum, any);
}

template <class T> tsr_status launch(const csr_args &q, void *stream)
{
    using P = any_semiring<T>;
    if (q.ops.add != TSR_ADD_ANY)
        return launch_spmv<P>(q, stream);
    TSR_LAUNCH(spmv_first<P>, unsigned((q.nrows + threads - 1) / threads), threads, 0, stream, q);
    return launch_status();
}

} // namespace

tsr_status tsr_csr_spmv_any(tsr_type type, const csr_args &q, void *stream)
{
    switch (type) {
    case TSR_BOOL: return launch<bool>(q, stream);
    case TSR_INT8: return launch<int8_t>(q, stream);
    case TSR_INT16: return launch<int16_t>(q, stream);
    case TSR_INT32: return launch<int32_t>(q, stream);
    case TSR_INT64: return launch<int64_t>(q, stream);
    case TSR_UINT8: return launch<uint8_t>(q, stream);
    case TSR_UINT16: return launch<uint16_t>(q, stream);
    case TSR_UINT32: return launch<uint32_t>(q, stream);
    case TSR_UINT64: return launch<uint64_t>(q, stream);
    case TSR_FP32: return launch<float>(q, stream);
    case TSR_FP64: return launch<double>(q, stream);
    }
    return TSR_DECLINED;
}
