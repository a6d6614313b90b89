// Sparse times sparse: any semiring, types of 8 and 16 bits.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spgemm/spgemm_bins.cuh"

template <class T> static tsr_status run(const spgemm_call &call) { return spgemm_launcher<spgemm_any<T>>(call).run(); }

tsr_status spgemm_run_any(const spgemm_call &call)
{
    switch (call.product->semiring.type) {
    case TSR_BOOL: return run<bool>(call);
    case TSR_INT8: return run<int8_t>(call);
    case TSR_INT16: return run<int16_t>(call);
    case TSR_UINT8: return run<uint8_t>(call);
    case TSR_UINT16: return run<uint16_t>(call);
    case TSR_INT32:
    case TSR_UINT32:
    case TSR_FP32: return spgemm_run_any_32(call);
    default: return spgemm_run_any_64(call);
    }
}
