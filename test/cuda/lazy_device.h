/* What the lazy device does for kernels in files of their own.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_CUDA_LAZY_DEVICE_H
#define TEST_CUDA_LAZY_DEVICE_H

#include "kernels/cuda/common/list.h"
#include "tessera/backend.h"
#include "src/format/blocks/formats.h"

/* Queues run(copy of *described); a failure queues nothing.  `run` must not call the device. */
tsr_status lazy_queue(void (*run)(const void *described), const void *described, size_t bytes, void *stream);

/* Blocks that the host allocated (freed, when negative) in the place of the device. */
void lazy_count(long blocks);

/* Does all that is queued. */
void lazy_finish(void);

_Noreturn void lazy_fatal(const char *what);

/* What a kernel clears beside what it does, and that it tells how many entries there are. */
void lazy_tell(const tsr_cuda_told *told, uint32_t present);

/* A product of `places` results by the oracle, sums of floating-point numbers being exact but for the last rounding. */
tsr_status lazy_product(const tsr_product *product, int64_t places, tsr_result *result);

/* The same numbers in FP32; free.  NULL: none. */
float *lazy_widened(const void *from, tsr_number number, int64_t count);

#endif
