/* Raises the thresholds of glibc as programs do: by freeing a mapping.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/intercept/memory/heap_top.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "src/base/pages.h"
#include "src/graphblas/intercept/memory/memory.h"

#define LEAST ((size_t)128 << 10) /* what a block has to be larger than to be a mapping, at first */
#define MOST ((size_t)32 << 20)   /* a larger mapping changes nothing when it is freed */
enum {
    HEAD = 16, /* of a mapping, before the block */
    TIMES = 2  /* of a call's block; twice as much may lie free then */
};

static size_t raised = LEAST;

/* Now and then a block of the heap looks like one; so may all of another allocator's, whose blocks are not to be asked. */
static bool is_mapping(const void *block)
{
    return (uintptr_t)block % TSR_PAGE == HEAD;
}

static size_t power_of_two_from(size_t bytes)
{
    size_t power = LEAST;
    while (power < bytes)
        power *= 2;
    return power;
}

void tsr_heap_top_note(const void *block, size_t bytes)
{
    const size_t before = __atomic_load_n(&raised, __ATOMIC_RELAXED);
    if (before >= MOST || bytes <= before / TIMES || is_mapping(block) || tsr_memory_is_limited())
        return;
    const size_t now = bytes >= MOST / TIMES ? MOST : power_of_two_from(bytes * TIMES);
    __atomic_store_n(&raised, now, __ATOMIC_RELAXED); /* two threads may do it twice, or for the smaller one */
    void *volatile mapping = malloc(now - TSR_PAGE);
    free(mapping);
}
