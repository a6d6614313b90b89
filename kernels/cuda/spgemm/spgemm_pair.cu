// Sparse times sparse: plus_pair, counts in 32 and 64 bits.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spgemm/spgemm_bins.cuh"

tsr_status spgemm_run_pair32(const spgemm_call &call) { return spgemm_launcher<spgemm_plus_pair<uint32_t>>(call).run(); }
tsr_status spgemm_run_pair64(const spgemm_call &call) { return spgemm_launcher<spgemm_plus_pair<uint64_t>>(call).run(); }
