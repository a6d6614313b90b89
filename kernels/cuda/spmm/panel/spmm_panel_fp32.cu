// SpMM over panels: plus_times of FP32.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmm/panel/spmm_panel.cuh"

tsr_status tsr_panel_fp32(const panel_job &j, const tsr_windows &w)
{
    return panel::launch_shape<plus_times<float>, 4, 1>(j, w);
}
