/* Large listed bitmaps that nobody needs any more, kept for the next ones: a kernel that comes by clears the places that were listed, which spares an
 * allocation, a fill of all places and a free.  tsr_cuda_all.busy is held.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_CLEARED_H
#define TSR_CUDA_CLEARED_H

#include "backends/cuda/arrays/array.h"

/* A bitmap in which nothing is present, with a list of so many places at most beside it. */
tsr_status tsr_cuda_array_new_listed(tsr_cuda_array **value, int64_t count, size_t size, int64_t most);

/* What the next kernel clears, if anything waits for it; and that the kernel was queued, or could not be: gives `status` back. */
void tsr_cuda_cleared_begin(tsr_cuda_clearing *clearing);
tsr_status tsr_cuda_cleared_end(tsr_status status);

/* Frees all that is kept.  False: there is nothing. */
bool tsr_cuda_cleared_forget(void);

#endif
