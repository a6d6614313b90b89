/* The list of page-locked blocks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/transfer/pinned.h"

#include <stdint.h>

#include "backends/cuda/device/context.h"

enum { MOST_BLOCKS = 256 };

typedef struct pinned_block {
    char *start;
    size_t bytes;
} pinned_block;

/* Guarded by tsr_cuda_all.busy. */
static pinned_block blocks[MOST_BLOCKS];
static int nblocks;

static bool pin(void *block, size_t bytes)
{
    if (nblocks == MOST_BLOCKS || tsr_cuda_lock_pages(block, bytes) != TSR_OK)
        return false;
    blocks[nblocks++] = (pinned_block){block, bytes};
    return true;
}

static void unpin(const void *block)
{
    for (int k = 0; k < nblocks; k++)
        if (blocks[k].start == block) {
            tsr_cuda_unlock_pages(blocks[k].start);
            blocks[k] = blocks[--nblocks];
            return;
        }
}

bool tsr_cuda_pin_block(void *block, size_t bytes)
{
    if (!tsr_cuda_alive())
        return false;
    tsr_cuda_place before;
    bool pinned = tsr_cuda_begin(tsr_cuda_first(), &before) == TSR_OK && pin(block, bytes);
    tsr_cuda_end(before);
    return pinned;
}

void tsr_cuda_unpin_block(void *block)
{
    if (!tsr_cuda_alive())
        return;
    tsr_cuda_place before;
    (void)tsr_cuda_begin(tsr_cuda_first(), &before); /* even where it fails the block must be off the list */
    unpin(block);
    tsr_cuda_end(before);
}

bool tsr_cuda_is_pinned(const void *p, size_t bytes)
{
    const char *first = p;
    for (int k = 0; k < nblocks; k++)
        if (first >= blocks[k].start && bytes <= blocks[k].bytes &&
            (size_t)(first - blocks[k].start) <= blocks[k].bytes - bytes)
            return true;
    return false;
}
