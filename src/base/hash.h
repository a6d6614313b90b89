/* Hashes that host and device compute alike.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_BASE_HASH_H
#define TSR_BASE_HASH_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define TSR_EVERYWHERE static __host__ __device__ inline
#else
#define TSR_EVERYWHERE static inline
#endif

/* One to one, so that different labels never tie. */
TSR_EVERYWHERE uint32_t tsr_order_hash(uint32_t x)
{
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

#endif
