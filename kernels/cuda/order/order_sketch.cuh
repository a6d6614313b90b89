// Sketches of rows (src/format/order/row_order.h), made by warps.  SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/order/order.cuh"

namespace tsr_order {

constexpr unsigned all = 0xffffffffu; // lanes
constexpr int words = TSR_ORDER_BUCKETS / 2; // of a sketch: two buckets in each
static_assert(TSR_ORDER_BUCKETS == 32, "a lane for a bucket");

/* Of the row at each place: (*sketches)[place * words ...], in the arena, which gets its memory here. */
tsr_status sketch_rows(Arena *arena, uint32_t **sketches, const uint32_t *order, const tsr_source *in, void *stream);

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
