// SpMM over panels: plus_times, B in 16 bits, sums in FP32.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmm_panel_mma.cuh"

namespace {

template <class Math, class Half> tsr_status run(const panel_job &j, const tsr_windows &w)
{
    return j.p.variant == 1 ? panel::launch_shape<plus_times_half<Half>, 4, 2>(j, w) : panel_mma::launch_shape<Math>(j, w);
}

} // namespace

tsr_status tsr_panel_fp16(const panel_job &j, const tsr_windows &w) { return run<panel_mma::half<false>, __half>(j, w); }

tsr_status tsr_panel_bf16(const panel_job &j, const tsr_windows &w) { return run<panel_mma::half<true>, __nv_bfloat16>(j, w); }
