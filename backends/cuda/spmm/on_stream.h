/* Products of operands that are in device memory, queued on a stream of the caller's.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_ON_STREAM_H
#define TSR_CUDA_ON_STREAM_H

#include "tessera/device.h"

/* tsr_backend_device.prepare, run and drop; `product` is one that the backend supports. */
tsr_status tsr_cuda_stream_prepare(const tsr_product *product, const tsr_device_operands *like, bool bounded, tsr_device_spmm *spmm);
tsr_status tsr_cuda_stream_run(const tsr_device_spmm *spmm, const tsr_device_operands *operands);
void tsr_cuda_stream_drop(tsr_device_spmm *spmm);

#endif
