// SpMM over panels: plus_times of FP64.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmm/panel/spmm_panel.cuh"

tsr_status tsr_panel_fp64(const panel_job &j, const tsr_windows &w)
{
    return panel::launch_shape<plus_times<double>, 2, 1>(j, w);
}
