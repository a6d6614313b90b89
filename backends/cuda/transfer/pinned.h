/* Host memory of others that is page-locked: the device reads and writes it directly.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_PINNED_H
#define TSR_CUDA_PINNED_H

#include <stdbool.h>
#include <stddef.h>

/* The two functions of the vtable (include/tessera/backend.h).  They wait for the product that executes. */
bool tsr_cuda_pin_block(void *block, size_t bytes);
void tsr_cuda_unpin_block(void *block);

/* Does all of it lie in one pinned block?  tsr_cuda_all.busy is held, so that the answer stays true. */
bool tsr_cuda_is_pinned(const void *p, size_t bytes);

#endif
