// Sparse times sparse: any semiring, types of 64 bits.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spgemm/spgemm_bins.cuh"

template <class T> static tsr_status run(const spgemm_call &call) { return spgemm_launcher<spgemm_any<T>>(call).run(); }

tsr_status spgemm_run_any_64(const spgemm_call &call)
{
    switch (call.product->semiring.type) {
    case TSR_INT64: return run<int64_t>(call);
    case TSR_UINT64: return run<uint64_t>(call);
    default: return run<double>(call);
    }
}
