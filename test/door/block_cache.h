/* What the tests of the allocator's cache begin with.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_TEST_BLOCK_CACHE_H
#define TSR_TEST_BLOCK_CACHE_H

#include <stdlib.h>

#include "src/graphblas/intercept/memory/block_cache.h"
#include "src/graphblas/intercept/memory/pins.h"

#define MIB ((size_t) 1 << 20)

static int64_t clock_now = 1000;

static inline void pass_time(int seconds)
{
    tsr_blocks_set_clock(__atomic_add_fetch(&clock_now, seconds, __ATOMIC_RELAXED));
}

/* Products are computed; small blocks have an eighth of the limit. */
static inline void start_cache(bool device)
{
    tsr_blocks_set_limit(512 * MIB);
    pass_time(0);
    tsr_blocks_enable(device);
    tsr_blocks_product(MIB);
}

/* From now on `count` (at most 128) blocks of the size are worth keeping, since as many were asked for again. */
static inline void ask_again(size_t count, size_t size)
{
    void *blocks[128];
    for (int round = 0; round < 2; round++) {
        for (size_t n = 0; n < count; n++)
            blocks[n] = tsr_block_result(size);
        for (size_t n = 0; n < count; n++) {
            tsr_pins_forget(blocks[n]);
            round ? free(blocks[n]) : tsr_block_free(blocks[n]);
        }
    }
}

#endif
