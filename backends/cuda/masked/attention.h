/* Attention over a pattern that is on the device, queued on a stream of the caller's.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_ATTENTION_H
#define TSR_CUDA_ATTENTION_H

#include "tessera/device.h"
#include "tessera/kernel_row.h"

enum { TSR_CUDA_ATTENTION_ONE, TSR_CUDA_ATTENTION_THREE, TSR_CUDA_ATTENTION_KERNELS };
extern const tsr_kernel_row tsr_cuda_attention_kernels[TSR_CUDA_ATTENTION_KERNELS];

/* tsr_backend_device.attention_prepare, _run, _backward and _drop. */
tsr_status tsr_cuda_attention_prepare(const tsr_view *s, void **slot, const tsr_attention_operands *like, bool backward, void **prepared,
                                      const char **kernel);
tsr_status tsr_cuda_attention_run(const void *prepared, const tsr_attention_operands *operands);
tsr_status tsr_cuda_attention_differentiate(const void *prepared, const tsr_attention_operands *operands);
void tsr_cuda_attention_drop(void *prepared);

#endif
