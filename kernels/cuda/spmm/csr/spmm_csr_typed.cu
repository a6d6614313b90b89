// SpMM by row: the other common semirings that have a kernel of their own.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmm/csr/spmm_csr.cuh"

namespace {

template <class P, int Full> tsr_status launch(const csr_args &q, const csr_shape &shape, void *stream)
{
    return shape.vector == Full ? launch_lanes<P, Full>(q, shape, stream) : launch_lanes<P, 1>(q, shape, stream);
}

} // namespace

tsr_status tsr_csr_plus_times(tsr_type type, const csr_args &q, const csr_shape &shape, void *stream)
{
    switch (type) {
    case TSR_INT32:
    case TSR_UINT32: return launch<plus_times<uint32_t>, 4>(q, shape, stream);
    case TSR_INT64:
    case TSR_UINT64: return launch<plus_times<uint64_t>, 2>(q, shape, stream);
    default: return TSR_DECLINED;
    }
}

tsr_status tsr_csr_min_plus(tsr_type type, const csr_args &q, const csr_shape &shape, void *stream)
{
    switch (type) {
    case TSR_INT32: return launch<min_plus<int32_t>, 4>(q, shape, stream);
    case TSR_INT64: return launch<min_plus<int64_t>, 2>(q, shape, stream);
    case TSR_UINT32: return launch<min_plus<uint32_t>, 4>(q, shape, stream);
    case TSR_UINT64: return launch<min_plus<uint64_t>, 2>(q, shape, stream);
    case TSR_FP32: return launch<min_plus<float>, 4>(q, shape, stream);
    case TSR_FP64: return launch<min_plus<double>, 2>(q, shape, stream);
    default: return TSR_DECLINED;
    }
}
