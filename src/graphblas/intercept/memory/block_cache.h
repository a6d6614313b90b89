/* The C library's malloc, realloc and free with a cache of large freed blocks: a fresh result costs page faults, a recycled one does
 * not.  Blocks stay the C library's: free() of a block from here, and tsr_block_free of one from malloc(), are right.
 *
 * Kept is what was asked for again: blocks are counted by size as if all that is freed were kept, and as many of a size are kept as
 * requests would have taken of them.  Nothing is kept before the first product with a large result that is computed here, later than
 * TSR_BLOCKS_WHILE seconds after the last one, or where allocations are limited; a block that nothing took for so long goes back.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_BLOCKS_H
#define TSR_BLOCKS_H

#include "src/graphblas/intercept/memory/kept_blocks.h"

/* GraphBLAS's memory. */
void *tsr_block_malloc(size_t size);
void *tsr_block_realloc(void *block, size_t size);
void tsr_block_free(void *block);

/* Memory of a result; large ones are aligned to 4096 bytes while blocks are kept, or a device may use them. */
void *tsr_block_result(size_t size);

/* *(function *)value is what GraphBLAS says it allocates with: functions of ours become the C library's, whose blocks a program may
 * give to anybody. */
void tsr_blocks_hide(void *value);

/* Are malloc, free and the other functions that are called here one allocator's?  A program may bring its own, and not all of them. */
bool tsr_blocks_possible(void);

/* From now on blocks may be kept: at most min(4 GiB, an eighth of the memory).  device: one may read and write blocks, so that large ones are
 * noted (pins.h), and those that are mappings are aligned. */
void tsr_blocks_enable(bool device);
void tsr_blocks_device_is_used(void); /* it computes products: small blocks are aligned, too, and large results lie in huge pages */
void tsr_blocks_no_device(void);      /* there is none after all */
void tsr_blocks_drain(void);          /* give everything back to the C library and keep nothing from now on */
void tsr_blocks_disable(void);        /* as drain but without a lock or a free: for a forked child */

/* A product is about to be computed here, whose result takes so many bytes. */
void tsr_blocks_product(size_t bytes);

tsr_kept_stats tsr_blocks_get_stats(void);
void tsr_blocks_set_limit(size_t bytes);    /* tests */
void tsr_blocks_set_clock(int64_t seconds); /* tests: it stands there */

#endif
