// Sparse times sparse: any semiring, types of 32 bits.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spgemm/spgemm_bins.cuh"

template <class T> static tsr_status run(const spgemm_call &call) { return spgemm_launcher<spgemm_any<T>>(call).run(); }

tsr_status spgemm_run_any_32(const spgemm_call &call)
{
    switch (call.product->semiring.type) {
    case TSR_INT32: return run<int32_t>(call);
    case TSR_UINT32: return run<uint32_t>(call);
    default: return run<float>(call);
    }
}
