// SpMM over panels: TF32 on Tensor Cores.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmm_panel_mma.cuh"

tsr_status tsr_panel_tf32(const panel_job &j, const tsr_windows &w) { return panel_mma::launch_shape<panel_mma::tf32>(j, w); }
