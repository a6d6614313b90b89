/* How long the device takes for what calls put on it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_TIMES_H
#define TSR_CUDA_TIMES_H

#include <stdbool.h>

/* With tsr_cuda_all.busy held, around the work of one call; nothing happens unless times were asked for.  What is on `compute` between the two
 * counts, and what the call waits for. */
void tsr_cuda_times_start(void);
void tsr_cuda_times_stop(void);

/* tsr_backend.times and .elapsed. */
void *tsr_cuda_times(void);
double tsr_cuda_elapsed(void *times, bool wait);

#endif
