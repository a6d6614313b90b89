// SpMM by row: plus_times with 16-bit operands and FP32 sums.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmm/csr/spmm_csr.cuh"

tsr_status tsr_csr_fp16(const csr_args &q, const csr_shape &shape, void *stream)
{
    return launch_typed<plus_times_half<__half>, 8>(q, shape, stream);
}

tsr_status tsr_csr_bf16(const csr_args &q, const csr_shape &shape, void *stream)
{
    return launch_typed<plus_times_half<__nv_bfloat16>, 8>(q, shape, stream);
}
