// Sparse times sparse: plus_times of FP64.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spgemm/spgemm_bins.cuh"

tsr_status spgemm_run_fp64(const spgemm_call &call) { return spgemm_launcher<spgemm_plus_times<double>>(call).run(); }
