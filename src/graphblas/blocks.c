/* Cache of large freed blocks in front of the C library's allocator.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "src/graphblas/blocks.h"

#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/graphblas/pins.h"

#define HUGE_PAGE ((size_t) 2 << 20)
#define ALIGNMENT ((size_t) 4096)

typedef struct kept {
    void *block;
    size_t size; /* usable */
} kept;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool enabled;
static kept blocks[TSR_BLOCKS_MAX_COUNT]; /* oldest first */
static size_t block_count, kept_bytes, limit_bytes, hit_count;

static bool is_enabled(void)
{
    return __atomic_load_n(&enabled, __ATOMIC_RELAXED);
}

static kept take_locked(size_t n)
{
    const kept taken = blocks[n];
    block_count--;
    kept_bytes -= taken.size;
    memmove(&blocks[n], &blocks[n + 1], (block_count - n) * sizeof *blocks);
    return taken;
}

/* Best fit that wastes at most a quarter; half for blocks below 8 MiB. */
static size_t most_for(size_t size)
{
    return size + (size < ((size_t) 8 << 20) ? size / 2 : size / 4);
}

static void *find_kept(size_t size)
{
    size_t best = SIZE_MAX;
    void *found = NULL;
    pthread_mutex_lock(&mutex);
    for (size_t n = 0; n < block_count; n++) {
        const bool fits = blocks[n].size >= size && blocks[n].size <= most_for(size);
        if (fits && (best == SIZE_MAX || blocks[n].size <= blocks[best].size))
            best = n;
    }
    if (best != SIZE_MAX) {
        found = take_locked(best).block;
        hit_count++;
    }
    pthread_mutex_unlock(&mutex);
    return found;
}

static void advise_huge(void *block, size_t size)
{
    const uintptr_t begin = ((uintptr_t) block + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    const uintptr_t end = ((uintptr_t) block + size) & ~(HUGE_PAGE - 1);
    if (end > begin)
        (void) madvise((void *) begin, end - begin, MADV_HUGEPAGE);
}

/* To the C library. */
static void give_back(void *block)
{
    tsr_pins_forget(block);
    free(block);
}

static void release_all(void)
{
    for (;;) {
        kept taken = {0};
        pthread_mutex_lock(&mutex);
        if (block_count)
            taken = take_locked(block_count - 1);
        pthread_mutex_unlock(&mutex);
        if (!taken.block)
            return;
        give_back(taken.block);
    }
}

/* Aligned: the bus writes whole cache lines. */
static void *aligned(size_t size)
{
    void *block;
    return posix_memalign(&block, ALIGNMENT, size) == 0 ? block : NULL;
}

static void *fresh(size_t size)
{
    void *block = aligned(size);
    if (!block) {
        release_all();
        block = aligned(size);
    }
    if (block)
        advise_huge(block, size);
    return block;
}

void *tsr_block_malloc(size_t size)
{
    if (size < TSR_BLOCKS_MIN || !is_enabled())
        return malloc(size);
    void *block = find_kept(size);
    if (!block)
        block = fresh(size);
    if (block)
        tsr_pins_note(block, malloc_usable_size(block));
    return block;
}

static void *grown(void *block, size_t used, size_t size)
{
    void *large = tsr_block_malloc(size);
    if (large && used)
        memcpy(large, block, used);
    if (large)
        free(block);
    return large;
}

void *tsr_block_realloc(void *block, size_t size)
{
    const size_t before = block ? malloc_usable_size(block) : 0;
    if (!is_enabled())
        return realloc(block, size);
    if (before < TSR_BLOCKS_MIN && size >= TSR_BLOCKS_MIN)
        return grown(block, before, size);
    if (before >= TSR_BLOCKS_MIN)
        tsr_pins_forget(block);
    void *moved = realloc(block, size);
    if (!moved && size >= TSR_BLOCKS_MIN) {
        release_all();
        moved = realloc(block, size);
    }
    if (moved && size >= TSR_BLOCKS_MIN)
        tsr_pins_note(moved, malloc_usable_size(moved));
    return moved;
}

/* What the program made itself mostly is not; a result there would cross the bus slowly ever after. */
static bool is_aligned(const void *block)
{
    return (uintptr_t) block % ALIGNMENT == 0;
}

/* Keep the block; what had to go for it is in victims (freed by the caller, outside of the lock). False: it was
 * not kept. */
static bool keep(void *block, size_t size, void **victims, size_t *nvictims)
{
    *nvictims = 0;
    pthread_mutex_lock(&mutex);
    const bool room = is_enabled() && is_aligned(block) && size <= limit_bytes / 2;
    while (room && (block_count == TSR_BLOCKS_MAX_COUNT || kept_bytes + size > limit_bytes))
        victims[(*nvictims)++] = take_locked(0).block;
    if (room) {
        blocks[block_count++] = (kept){block, size};
        kept_bytes += size;
    }
    pthread_mutex_unlock(&mutex);
    return room;
}

void tsr_block_free(void *block)
{
    const size_t size = block && is_enabled() ? malloc_usable_size(block) : 0;
    void *victims[TSR_BLOCKS_MAX_COUNT];
    size_t nvictims;
    if (size < TSR_BLOCKS_MIN) {
        free(block);
        return;
    }
    if (!keep(block, size, victims, &nvictims))
        give_back(block);
    for (size_t n = 0; n < nvictims; n++)
        give_back(victims[n]);
}

/* A data pointer holds a function pointer here, as it does in the API. */
typedef union function {
    void *value;
    void *(*malloc)(size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
} function;

void tsr_blocks_hide(void *value)
{
    static const function ours[] = {{.malloc = tsr_block_malloc}, {.realloc = tsr_block_realloc}, {.free = tsr_block_free}};
    static const function plain[] = {{.malloc = malloc}, {.realloc = realloc}, {.free = free}};
    for (size_t n = 0; value && n < 3; n++)
        if (memcmp(value, &ours[n], sizeof ours[n]) == 0) {
            memcpy(value, &plain[n], sizeof plain[n]);
            return;
        }
}

static size_t default_limit(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    const size_t eighth = pages > 0 && page > 0 ? (size_t) pages * (size_t) page / 8 : 0;
    const size_t most = (size_t) 4 << 30; /* two results of 2 GiB */
    return eighth < most ? eighth : most;
}

void tsr_blocks_enable(void)
{
    pthread_mutex_lock(&mutex);
    if (!limit_bytes)
        limit_bytes = default_limit();
    __atomic_store_n(&enabled, true, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&mutex);
}

static void drain(bool unlock)
{
    pthread_mutex_lock(&mutex);
    __atomic_store_n(&enabled, false, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&mutex);
    tsr_pins_clear(unlock);
    release_all();
}

/* Also at exit, so that leak checkers see no block of ours. */
__attribute__((destructor)) static void drain_at_exit(void)
{
    if (is_enabled())
        drain(false);
}

void tsr_blocks_drain(void)
{
    drain(true);
}

void tsr_blocks_disable(void)
{
    __atomic_store_n(&enabled, false, __ATOMIC_RELAXED);
}

void tsr_blocks_set_limit(size_t bytes)
{
    pthread_mutex_lock(&mutex);
    limit_bytes = bytes;
    pthread_mutex_unlock(&mutex);
}

tsr_blocks_stats tsr_blocks_get_stats(void)
{
    pthread_mutex_lock(&mutex);
    const tsr_blocks_stats stats = {kept_bytes, block_count, limit_bytes, hit_count};
    pthread_mutex_unlock(&mutex);
    return stats;
}
