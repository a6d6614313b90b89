// SpMV by row: the semirings that have a kernel of their own.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmv/spmv_csr.cuh"

tsr_status tsr_csr_spmv_half(tsr_number number, const csr_args &q, void *stream)
{
    return number == TSR_NUMBER_FP16 ? launch_spmv<plus_times_half<__half>>(q, stream)
                                     : launch_spmv<plus_times_half<__nv_bfloat16>>(q, stream);
}

tsr_status tsr_csr_spmv_plus_times(tsr_type type, const csr_args &q, void *stream)
{
    switch (type) {
    case TSR_INT32:
    case TSR_UINT32: return launch_spmv<plus_times<uint32_t>>(q, stream);
    case TSR_INT64:
    case TSR_UINT64: return launch_spmv<plus_times<uint64_t>>(q, stream);
    case TSR_FP32: return launch_spmv<plus_times<float>>(q, stream);
    case TSR_FP64: return launch_spmv<plus_times<double>>(q, stream);
    default: return TSR_DECLINED;
    }
}

tsr_status tsr_csr_spmv_min_plus(tsr_type type, const csr_args &q, void *stream)
{
    switch (type) {
    case TSR_INT32: return launch_spmv<min_plus<int32_t>>(q, stream);
    case TSR_INT64: return launch_spmv<min_plus<int64_t>>(q, stream);
    case TSR_UINT32: return launch_spmv<min_plus<uint32_t>>(q, stream);
    case TSR_UINT64: return launch_spmv<min_plus<uint64_t>>(q, stream);
    case TSR_FP32: return launch_spmv<min_plus<float>>(q, stream);
    case TSR_FP64: return launch_spmv<min_plus<double>>(q, stream);
    default: return TSR_DECLINED;
    }
}
