/* What the tests of the plug-in ask of the device they run on: the lazy one, the emulated one, or a GPU.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_CUDA_DEVICE_CONTROL_H
#define TEST_CUDA_DEVICE_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

/* Order of what has none: streams, threads. */
void control_seed(uint64_t seed);

/* The k-th call from now on that may fail does so, for want of memory if it is about memory; 0: none.  sticky: and all after
 * it.  False: this device cannot do that. */
bool control_fail(long k, bool sticky);
long control_calls(void); /* such calls since control_fail */

long control_live(void); /* what is allocated on the device and not freed */

/* Are sums of block formats exact but for the last rounding, so that every place can be judged? */
bool control_sums_exactly(void);

#endif
