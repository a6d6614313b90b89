// SpMM by row: plus_times of FP32.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmm/csr/spmm_csr.cuh"

tsr_status tsr_csr_fp32(const csr_args &q, const csr_shape &shape, void *stream)
{
    return launch_typed<plus_times<float>, 4>(q, shape, stream);
}
