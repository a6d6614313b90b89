// SpMM by row: plus_times of complex numbers.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmm/csr/spmm_csr.cuh"

tsr_status tsr_csr_complex(tsr_type type, const csr_args &q, const csr_shape &shape, void *stream)
{
    return type == TSR_FC32 ? launch_typed<plus_times<complex_number<float>>, 2>(q, shape, stream)
                            : launch_typed<plus_times<complex_number<double>>, 1>(q, shape, stream);
}
