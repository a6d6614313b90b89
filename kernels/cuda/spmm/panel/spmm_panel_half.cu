// SpMM over panels: plus_times, B in 16 bits, values of A and sums in FP32.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmm/panel/spmm_panel.cuh"

tsr_status tsr_panel_fp16(const panel_job &j, const tsr_windows &w)
{
    return panel::launch_shape<plus_times_half<__half>, 4, 2>(j, w);
}

tsr_status tsr_panel_bf16(const panel_job &j, const tsr_windows &w)
{
    return panel::launch_shape<plus_times_half<__nv_bfloat16>, 4, 2>(j, w);
}
