// Which row is an entry of CSR in?
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/common/device.cuh"

/* The first row of [low, high) that ends after entry e, found by the whole warp. */
__device__ __forceinline__ int64_t warp_row(const int64_t *p, int64_t low, int64_t high, int64_t e)
{
    int lane = int(threadIdx.x % 32);
    while (high - low > 1) {
        int64_t step = (high - low + 31) / 32, probe = low + (lane + 1) * step - 1;
        bool before = probe < high && __ldg(p + probe + 1) <= e;
        int64_t skipped = __popc(__ballot_sync(~0u, before));
        low += skipped * step;
        high = low + step < high ? low + step : high;
    }
    return low;
}

/* The same for an entry that is likely in one of the next 32 rows. */
__device__ __forceinline__ int64_t warp_row_near(const int64_t *p, int64_t low, int64_t high, int64_t e)
{
    int64_t probe = low + threadIdx.x % 32;
    unsigned before = __ballot_sync(~0u, probe < high && __ldg(p + probe + 1) <= e);
    return before == ~0u ? warp_row(p, low + 32, high, e) : low + __popc(before);
}
