/* A device for the tests of the plug-in that does its work as late as the contract allows, its streams in any order: what is missing
 * between two streams, or between a stream and the host, shows as a wrong answer.  Kernels are the reference kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_CUDA_LAZY_DEVICE_H
#define TEST_CUDA_LAZY_DEVICE_H

#include <stdint.h>

/* Order of the streams from now on. */
void lazy_seed(uint64_t seed);

/* The k-th call from now on that may fail does so, for want of memory if it is about memory: 0: none.  sticky: and all after it. */
void lazy_fail(long k, int sticky);
long lazy_calls(void); /* such calls since lazy_fail */

long lazy_live_blocks(void); /* device memory, events, pinned memory not freed */
long lazy_block_products(void), lazy_csr_products(void), lazy_half_products(void); /* kernels run so far */

#endif
