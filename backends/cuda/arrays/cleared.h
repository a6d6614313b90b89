/* Large listed bitmaps that nobody needs any more, kept for the next ones: a kernel that comes by clears the places that were listed, which spares an
 * allocation, a fill of all places and a free.  tsr_cuda_all.busy is held.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_CLEARED_H
#define TSR_CUDA_CLEARED_H

#include "backends/cuda/arrays/array.h"

/* Room for a list of `most` places, or more, so that arrays of one size are alike. */
int64_t tsr_cuda_cleared_room(int64_t count, size_t size, int64_t most);

/* An array whose memory is all 0 but for the list, reserved again.  NULL: there is none. */
tsr_cuda_array *tsr_cuda_cleared_take(int64_t count, size_t size, int64_t most);

/* Takes over an array that is to be freed.  False: it is not of that kind, or enough are kept. */
bool tsr_cuda_cleared_keep(tsr_cuda_array *v);

/* What the next kernel clears, if anything waits for it; and that the kernel was queued, or could not be: gives `status` back. */
void tsr_cuda_cleared_begin(tsr_cuda_clearing *clearing);
tsr_status tsr_cuda_cleared_end(tsr_status status);

/* Frees all that is kept.  False: there is nothing. */
bool tsr_cuda_cleared_forget(void);

#endif
