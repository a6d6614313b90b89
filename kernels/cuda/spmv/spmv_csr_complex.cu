// SpMV by row: plus_times of complex numbers.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmv/spmv_csr.cuh"

tsr_status tsr_csr_spmv_complex(tsr_type type, const csr_args &q, void *stream)
{
    return type == TSR_FC32 ? launch_spmv<plus_times<complex_number<float>>>(q, stream) : launch_spmv<plus_times<complex_number<double>>>(q, stream);
}
