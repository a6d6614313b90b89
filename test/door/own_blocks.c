/* A program whose allocator does not know malloc_usable_size, which the cache of blocks asks: the cache stays off there.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "src/graphblas/intercept/memory/block_cache.h"

static _Alignas(64) char area[1 << 24];
static size_t used;

#pragma GCC visibility push(default)

/* Never used again; an area of zeros. */
void *malloc(size_t bytes)
{
    const size_t at = __atomic_fetch_add(&used, (bytes + 63) / 64 * 64, __ATOMIC_RELAXED);
    return at + bytes <= sizeof area ? area + at : NULL;
}

void free(void *block)
{
    (void)block;
}

void *calloc(size_t count, size_t bytes)
{
    return malloc(count * bytes);
}

void *realloc(void *block, size_t bytes)
{
    char *moved = malloc(bytes);
    const size_t before = block && moved ? (size_t)(moved - (char *)block) : 0;
    return moved && before ? memcpy(moved, block, before < bytes ? before : bytes) : moved;
}

int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    *block = alignment <= 64 ? malloc(bytes) : NULL;
    return *block ? 0 : 12;
}

#pragma GCC visibility pop

int main(void)
{
    return tsr_blocks_possible() ? 1 : 0;
}
