/* Sparse arrays to a bitmap (kernels/cuda/elementwise/elementwise.cu).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_SPREAD_H
#define TSR_CUDA_SPREAD_H

#include "kernels/cuda/common/cuda_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* x and present (device, 0 before; nrows vectors of ncols elements of `size` bytes) = the entries of csr.  csr->x == NULL: iso's bytes. */
tsr_status tsr_cuda_spread(void *x, int8_t *present, const tsr_cuda_csr *csr, int size, uint64_t iso, const tsr_cuda_device *device,
                           void *stream);

#ifdef __cplusplus
}
#endif

#endif
