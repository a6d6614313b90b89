/* Products of few vectors with few entries, which the device has: where there are products is found along columns of A.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_FEW_PUSH_H
#define TSR_CUDA_FEW_PUSH_H

#include "backends/cuda/operands/sparse.h"
#include "tessera/kernel_row.h"

extern const tsr_kernel_row tsr_cuda_few_kernel;

/* W = A U.  TSR_DECLINED: better otherwise, or not possible; nothing was written. */
tsr_status tsr_cuda_few_multiply(const tsr_product *product, tsr_result *result);

#endif
