// ME-BCRS with windows of 128 rows: what spmm_me_bcrs.cu hands on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/tensor.cuh"

/* As tsr_cuda_me_bcrs_most. */
int64_t tsr_me_bcrs_tall_most(const tsr_windows &w, const tsr_cuda_device &device);
/* As tsr_cuda_spmm_me_bcrs, without adding partial sums. */
tsr_status tsr_spmm_me_bcrs_tall(const tsr_me_bcrs &a, const tsr_work &work, const tsr_cuda_spmm &p);
