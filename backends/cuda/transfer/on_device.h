/* Memory of devices that others hold: tsr_backend_device.copy, wait, which, allocate and release.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_ON_DEVICE_H
#define TSR_CUDA_ON_DEVICE_H

#include "tessera/device.h"

tsr_status tsr_cuda_device_copy(const tsr_device_copy *copy);
tsr_status tsr_cuda_device_wait(const void *p);
int tsr_cuda_device_which(const void *p);
tsr_status tsr_cuda_device_allocate(void **p, size_t bytes, int which);
void tsr_cuda_device_release(void *p);

#endif
