/* The C library's malloc, realloc and free with a cache of large freed blocks: a fresh result costs page faults, a
 * recycled one does not.  Blocks stay the C library's: free() of a block from here, and tsr_block_free of one from
 * malloc(), are right.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_BLOCKS_H
#define TSR_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>

#define TSR_BLOCKS_MIN ((size_t) 1 << 20) /* smaller blocks are not kept */
#define TSR_BLOCKS_MAX_COUNT 48

void *tsr_block_malloc(size_t size);
void *tsr_block_realloc(void *block, size_t size);
void tsr_block_free(void *block);

/* *(function *)value is what GraphBLAS says it allocates with: functions of ours become the C library's, whose blocks a program may
 * give to anybody. */
void tsr_blocks_hide(void *value);

/* Begin to keep blocks: at most min(4 GiB, an eighth of the machine's memory). */
void tsr_blocks_enable(void);
void tsr_blocks_drain(void);   /* give everything back to the C library and keep nothing from now on */
void tsr_blocks_disable(void); /* as drain but without a lock or a free: for a forked child */

typedef struct tsr_blocks_stats {
    size_t bytes, count, limit; /* kept now; the most bytes kept */
    size_t hits;                /* requests served from here */
} tsr_blocks_stats;
tsr_blocks_stats tsr_blocks_get_stats(void);
void tsr_blocks_set_limit(size_t bytes); /* tests */

#endif
