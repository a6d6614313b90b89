/* Freed blocks that are kept, and what is counted of their sizes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/intercept/memory/kept_blocks.h"

#include <string.h>

/* By then a block has lost in small pages what huge ones cost.  A product that writes it gains 0.03 to 0.05 ms for each MiB; to fill it with huge
 * pages, which the host of a virtual machine may still have to find, takes 1.2 ms, up to 2.5.  Small blocks are collapsed with what they hold, for
 * 0.3 to 0.6 ms. */
enum { HUGE_AFTER = 32, COLLAPSE_AFTER = 16, LEAST_HUGE = 4 << 20 };

/* What happened to blocks of one size.  spare: freed and not asked for again, had all been kept; peak: the most of it, as far as it is
 * remembered; most: by how many it fell from there, so many are worth keeping. */
typedef struct history {
    int64_t spare, peak, most, kept;
    int64_t last; /* seconds */
} history;

/* How often a block was served from here. */
typedef struct reuse {
    const void *block;
    int times;
} reuse;

static tsr_kept_block blocks[TSR_BLOCKS_MAX_COUNT]; /* oldest first */
static history sizes[TSR_BLOCK_SIZES];
static reuse reuses[TSR_BLOCKS_MAX_COUNT]; /* the last ones */
static size_t next_reuse;
static size_t block_count, kept_bytes, small_bytes, limit_bytes, hit_count;

/* ---- sizes ---- */

int tsr_block_size_for(size_t bytes)
{
    if (bytes <= TSR_BLOCKS_MIN)
        return 0;
    const int octave = 63 - __builtin_clzll(bytes - 1), step = (int) ((bytes - 1) >> (octave - 2)) & 3;
    const int size = (octave - 20) * 4 + step + 1;
    return size < TSR_BLOCK_SIZES ? size : TSR_BLOCK_SIZES;
}

size_t tsr_block_bytes(int size)
{
    return (size_t) (5 + (size + 3) % 4) << (17 + (size + 3) / 4);
}

int tsr_block_size_of(size_t usable)
{
    return tsr_block_size_for(usable - 2 * TSR_BLOCK_ALIGNMENT);
}

/* ---- what is counted of a size ---- */

bool tsr_kept_count_request(int size, int64_t time)
{
    history *h = &sizes[size];
    h->last = time;
    if (h->spare == 0)
        return false;
    h->spare--;
    if (h->peak - h->spare > h->most)
        h->most = h->peak - h->spare;
    return true;
}

void tsr_kept_count_free(int size, int64_t time)
{
    history *h = &sizes[size];
    h->last = time;
    h->spare++;
    if (h->spare > h->peak)
        h->peak = h->spare;
}

/* A block of the size was kept in vain. */
static void count_old(history *h)
{
    h->most -= h->most > 0;
    if (h->peak > h->spare + h->most)
        h->peak = h->spare + h->most;
}

bool tsr_kept_wants(int size)
{
    return sizes[size].kept < sizes[size].most;
}

void tsr_kept_forget_counts(void)
{
    memset(sizes, 0, sizeof sizes);
}

/* ---- blocks that are used again ---- */

static reuse *find_reuse(const void *block)
{
    for (size_t n = 0; n < TSR_BLOCKS_MAX_COUNT; n++)
        if (reuses[n].block == block)
            return &reuses[n];
    return NULL;
}

bool tsr_kept_count_reuse(const void *block, size_t bytes)
{
    if (bytes < LEAST_HUGE)
        return false;
    reuse *r = find_reuse(block);
    if (!r) {
        r = &reuses[next_reuse++ % TSR_BLOCKS_MAX_COUNT];
        *r = (reuse){.block = block};
    }
    return ++r->times == (tsr_block_is_small(bytes) ? COLLAPSE_AFTER : HUGE_AFTER);
}

void tsr_kept_forget_reuse(const void *block)
{
    reuse *r = find_reuse(block);
    if (r)
        *r = (reuse){0};
}

/* ---- what is kept ---- */

static tsr_kept_block take(size_t n)
{
    const tsr_kept_block taken = blocks[n];
    block_count--;
    kept_bytes -= taken.bytes;
    small_bytes -= tsr_block_is_small(taken.bytes) ? taken.bytes : 0;
    sizes[taken.size].kept--;
    memmove(&blocks[n], &blocks[n + 1], (block_count - n) * sizeof *blocks);
    return taken;
}

void tsr_kept_put(tsr_kept_block block)
{
    blocks[block_count++] = block;
    kept_bytes += block.bytes;
    small_bytes += tsr_block_is_small(block.bytes) ? block.bytes : 0;
    sizes[block.size].kept++;
}

/* Small ones, which the kernel cannot take back, are an eighth of all. */
bool tsr_kept_has_room(size_t bytes)
{
    return block_count < TSR_BLOCKS_MAX_COUNT && kept_bytes + bytes <= limit_bytes && bytes <= limit_bytes / 2 &&
           (!tsr_block_is_small(bytes) || small_bytes + bytes <= limit_bytes / 8);
}

tsr_kept_block tsr_kept_take(int size)
{
    for (size_t n = block_count; n-- > 0;)
        if (blocks[n].size == size) {
            hit_count++;
            return take(n);
        }
    return (tsr_kept_block){0};
}

bool tsr_kept_is_old(int64_t since, int64_t time)
{
    return time - since >= TSR_BLOCKS_WHILE;
}

static void *drop(size_t n)
{
    void *block = take(n).block;
    tsr_kept_forget_reuse(block);
    return block;
}

size_t tsr_kept_take_old(int64_t time, void **victims)
{
    size_t count = 0;
    while (block_count && tsr_kept_is_old(blocks[0].since, time)) {
        count_old(&sizes[blocks[0].size]);
        victims[count++] = drop(0);
    }
    for (int n = 0; n < TSR_BLOCK_SIZES; n++)
        if (sizes[n].last && tsr_kept_is_old(sizes[n].last, time))
            sizes[n] = (history){.kept = sizes[n].kept};
    return count;
}

size_t tsr_kept_take_all(void **victims)
{
    size_t count = 0;
    while (block_count)
        victims[count++] = drop(block_count - 1);
    return count;
}

void tsr_kept_set_limit(size_t bytes)
{
    limit_bytes = bytes;
}

tsr_kept_stats tsr_kept_get_stats(void)
{
    return (tsr_kept_stats){kept_bytes, block_count, limit_bytes, hit_count};
}
