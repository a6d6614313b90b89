// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmm/bmat/spmm_bmat.cuh"

extern "C" tsr_status tsr_bmat_fp64(const tsr_bmat *a, const tsr_work *work, const tsr_cuda_spmm *product,
                                    const tsr_bmat_choice *choice)
{
    return bmat::run<TSR_CUDA_FP64>(a, work, product, choice);
}
