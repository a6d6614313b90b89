// Sketches of rows (tessera/row_order.h), made by warps.  SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/order.cuh"

namespace tsr_order {

constexpr unsigned all = 0xffffffffu;
constexpr int words = TSR_ORDER_BUCKETS / 2; // of a sketch: two buckets in each
static_assert(TSR_ORDER_BUCKETS == 32, "a lane for a bucket");

/* The whole warp.  least: [TSR_ORDER_BUCKETS] in shared memory, the warp's own; read by all lanes, and not changed before they met. */
static __device__ __forceinline__ void sketch_row(uint32_t *least, const int64_t *p, const uint32_t *i, uint32_t row)
{
    const int lane = threadIdx.x % 32;
    const int64_t begin = p[row], end = min(p[row + static_cast<int64_t>(1)], begin + TSR_ORDER_LONGEST);
    least[lane] = TSR_ORDER_NOTHING;
    __syncwarp();
#pragma unroll 4
    for (int64_t e = begin + lane; e < end; e += 32) {
        uint32_t column = __ldg(i + e);
        atomicMin(least + tsr_order_bucket(column), tsr_order_bucket_hash(column));
    }
    __syncwarp();
}

static __device__ __forceinline__ uint32_t sketch_word(const uint32_t *least, int w) { return least[2 * w] | least[2 * w + 1] << 16; }

/* Of two sketches, `words` each. */
static __device__ __forceinline__ int shared_buckets(const uint32_t *a, const uint32_t *b)
{
    int n = 0;
#pragma unroll
    for (int w = 0; w < words; w++) {
        uint32_t differs = a[w] ^ b[w];
        n += (differs & 0xffffu) == 0;
        n += differs >> 16 == 0;
    }
    return n;
}

} // namespace tsr_order
