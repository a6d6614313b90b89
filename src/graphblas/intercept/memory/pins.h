/* Which large blocks the device may read and write directly.  Locking the pages of a block costs about as much as two products
 * lose without it, so a block is locked when products have used it that often; it stays locked, also while it waits in the cache
 * for its next use, until it goes back to the C library or to the program.
 *
 * Only blocks that GraphBLAS alone holds can be locked: they are noted when they are made here, and forgotten when they leave
 * through free, realloc, an unpack or export (the wrappers tell), GrB_finalize or a fork.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_PINS_H
#define TSR_PINS_H

#include "tessera/backend.h"

/* The block was made here, or is used again.  What is noted already stays as it is. */
void tsr_pins_note(void *block, size_t bytes);

/* The block is about to leave; its pages are unlocked.  Others, and NULL, are ignored. */
void tsr_pins_forget(const void *block);

/* May it be locked some day? */
bool tsr_pins_noted(const void *block);

/* A product on `device` is about to use the block, from its start. */
void tsr_pins_use(const void *block, const tsr_backend *device);

/* All are forgotten; their pages stay locked unless `unlock` (at exit the device may be gone). */
void tsr_pins_clear(bool unlock);

/* Around a fork: no page is locked meanwhile, so that none of the parent's is shared with the child under the device's hands. */
void tsr_pins_before_fork(void);
void tsr_pins_after_fork(void);

typedef struct tsr_pins_stats {
    size_t noted, pinned, pinned_bytes, limit; /* blocks, blocks, bytes, most bytes */
} tsr_pins_stats;
tsr_pins_stats tsr_pins_get_stats(void);

#endif
