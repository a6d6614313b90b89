/* Freed blocks that are kept for their next use, and what is counted of sizes and of large blocks to know which are worth keeping.  One table a
 * process: whoever calls holds the lock of the cache (block_cache.c), but for the sizes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_KEPT_BLOCKS_H
#define TSR_KEPT_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TSR_BLOCKS_MIN ((size_t) 1 << 20) /* smaller blocks are not kept */
#define TSR_BLOCKS_MAX_COUNT 48
#define TSR_BLOCKS_WHILE 5

/* ---- sizes: four from one power of two to the next, from TSR_BLOCKS_MIN on ---- */

enum { TSR_BLOCK_SIZES = 84 };
#define TSR_BLOCK_ALIGNMENT ((size_t) 4096)

int tsr_block_size_for(size_t bytes); /* the least size that holds so many bytes; TSR_BLOCK_SIZES: none does */
size_t tsr_block_bytes(int size);
int tsr_block_size_of(size_t usable); /* of a block: the allocator may have added up to two pages */

/* The others are beyond the C library's largest threshold, so that such a block is a mapping of its own: advice to the kernel ends with it. */
static inline bool tsr_block_is_small(size_t bytes)
{
    return bytes <= (size_t) 32 << 20;
}

/* ---- what is kept ---- */

typedef struct tsr_kept_block {
    void *block;
    size_t bytes; /* usable */
    int size;
    int64_t since; /* seconds */
} tsr_kept_block;

bool tsr_kept_has_room(size_t bytes);
void tsr_kept_put(tsr_kept_block block);
/* The newest of the size, the others may grow old; no block: none is kept. */
tsr_kept_block tsr_kept_take(int size);
/* Takes what is too old, or everything, and forgets it as a block that is used again; the number of blocks. */
size_t tsr_kept_take_old(int64_t time, void **victims);
size_t tsr_kept_take_all(void **victims);
bool tsr_kept_is_old(int64_t since, int64_t time);

void tsr_kept_set_limit(size_t bytes);

typedef struct tsr_kept_stats {
    size_t bytes, count, limit; /* kept now; the most bytes kept */
    size_t hits;                /* blocks taken by their size */
} tsr_kept_stats;
tsr_kept_stats tsr_kept_get_stats(void);

/* ---- what is counted ---- */

/* A block of the size is asked for; true: it would have been served, had all been kept. */
bool tsr_kept_count_request(int size, int64_t time);
void tsr_kept_count_free(int size, int64_t time);
/* Are more of the size worth keeping than there are? */
bool tsr_kept_wants(int size);
void tsr_kept_forget_counts(void);

/* A block is served from here; true: from now on huge pages pay. */
bool tsr_kept_count_reuse(const void *block, size_t bytes);
void tsr_kept_forget_reuse(const void *block);

#endif
