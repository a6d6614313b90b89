// Sparse times sparse: plus_times of integers of 32 and 64 bits, which wrap.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spgemm/spgemm_bins.cuh"

tsr_status spgemm_run_int32(const spgemm_call &call) { return spgemm_launcher<spgemm_plus_times<uint32_t>>(call).run(); }
tsr_status spgemm_run_int64(const spgemm_call &call) { return spgemm_launcher<spgemm_plus_times<uint64_t>>(call).run(); }
