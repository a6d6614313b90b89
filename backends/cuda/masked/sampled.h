/* SDDMM of operands that are on the device, queued on a stream of the caller's.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_SAMPLED_H
#define TSR_CUDA_SAMPLED_H

#include "tessera/device.h"

/* tsr_backend_device.sddmm_prepare, _run and _drop. */
tsr_status tsr_cuda_sampled_prepare(const tsr_product *product, const tsr_device_samples *like, tsr_device_sddmm *sddmm);
tsr_status tsr_cuda_sampled_run(const tsr_device_sddmm *sddmm, const tsr_device_samples *operands);
void tsr_cuda_sampled_drop(tsr_device_sddmm *sddmm);

#endif
