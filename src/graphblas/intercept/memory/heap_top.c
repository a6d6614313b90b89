/* Raises the thresholds of glibc as programs do: by freeing a mapping.
 * SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE
#include "src/graphblas/intercept/memory/heap_top.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/base/pages.h"
#include "src/graphblas/intercept/memory/memory.h"

#define LEAST TSR_HEAP_TOP_LEAST /* what a block has to be larger than to be a mapping, at first */
#define MOST ((size_t)32 << 20)   /* a mapping of this size changes nothing when it is freed */
enum {
    HEAD = 16, /* of a mapping, before the block */
    TIMES = 2, /* of a call's block; twice as much may lie free then */
    SLACK = 4  /* a share of any block: two arrays freed side by side stay, whatever small ones lie around them */
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
    while (power < bytes && power < MOST)
        power *= 2;
    return power;
}

/* Two threads may do it twice, or for the smaller one. */
static void raise_to(size_t bytes)
{
    if (bytes <= __atomic_load_n(&raised, __ATOMIC_RELAXED) || tsr_memory_is_limited())
        return;
    __atomic_store_n(&raised, bytes, __ATOMIC_RELAXED);
    void *volatile mapping = malloc(bytes - 2 * TSR_PAGE);
    free(mapping);
}

void tsr_heap_top_note(const void *block, size_t bytes)
{
    const size_t before = __atomic_load_n(&raised, __ATOMIC_RELAXED);
    if (before < MOST && bytes > before / TIMES && !is_mapping(block))
        raise_to(power_of_two_from(bytes * TIMES));
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of these */
static uintptr_t seen, highest, lowest; /* where the heap ended last, before it was given back, and after that */

/* Half of it is wanted again: so will be the rest. */
static void follow(uintptr_t end)
{
    if (end < seen) {
        highest = highest > seen ? highest : seen;
        lowest = end;
    } else if (highest > lowest && end - lowest >= (highest - lowest) / 2) {
        raise_to(power_of_two_from(highest - lowest + TSR_PAGE));
        highest = 0;
    }
    __atomic_store_n(&seen, end, __ATOMIC_RELAXED);
}

void tsr_heap_top_observe(const void *block, size_t bytes)
{
    if (bytes < MOST - MOST / SLACK && !is_mapping(block))
        raise_to(bytes + bytes / SLACK);
    const uintptr_t end = (uintptr_t)sbrk(0);
    if (end == __atomic_load_n(&seen, __ATOMIC_RELAXED) || pthread_mutex_trylock(&mutex) != 0)
        return;
    follow(end);
    pthread_mutex_unlock(&mutex);
}
