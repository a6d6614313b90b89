/* What the tests of the allocator's cache begin with.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_TEST_BLOCK_CACHE_H
#define TSR_TEST_BLOCK_CACHE_H

#include "src/graphblas/blocks.h"

#define MIB ((size_t) 1 << 20)

static inline void start_cache(void)
{
    tsr_blocks_set_limit(64 * MIB);
    tsr_blocks_enable();
}

#endif
