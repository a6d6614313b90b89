// SpMM by row: any semiring of any type, bitmaps; one kernel per type, the operators chosen while it runs.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmm/csr/spmm_csr.cuh"

namespace {

template <class T> tsr_status launch(const csr_args &q, const csr_shape &shape, void *stream)
{
    using P = any_semiring<T>;
    constexpr int full = sizeof(T) == 8 ? 2 : 4;
    csr_shape mine = shape;
    mine.lanes = shape.lanes <= 8 ? 8 : shape.lanes;
    if (shape.vector < full || reinterpret_cast<uintptr_t>(q.b_present) % full != 0)
        return mine.lanes == 8 ? launch_rows<P, 1, 8, 4>(q, mine, stream) : launch_rows<P, 1, 32, 4>(q, mine, stream);
    switch (mine.lanes) {
    case 8: return launch_rows<P, full, 8, 4>(q, mine, stream);
    case 16: return launch_rows<P, full, 16, 4>(q, mine, stream);
    default: return launch_rows<P, full, 32, 4>(q, mine, stream);
    }
}

} // namespace

tsr_status tsr_csr_any(tsr_type type, const csr_args &q, const csr_shape &shape, void *stream)
{
    switch (type) {
    case TSR_BOOL: return launch<bool>(q, shape, stream);
    case TSR_INT8: return launch<int8_t>(q, shape, stream);
    case TSR_INT16: return launch<int16_t>(q, shape, stream);
    case TSR_INT32: return launch<int32_t>(q, shape, stream);
    case TSR_INT64: return launch<int64_t>(q, shape, stream);
    case TSR_UINT8: return launch<uint8_t>(q, shape, stream);
    case TSR_UINT16: return launch<uint16_t>(q, shape, stream);
    case TSR_UINT32: return launch<uint32_t>(q, shape, stream);
    case TSR_UINT64: return launch<uint64_t>(q, shape, stream);
    case TSR_FP32: return launch<float>(q, shape, stream);
    case TSR_FP64: return launch<double>(q, shape, stream);
    }
    return TSR_DECLINED;
}
