/* Products of a vector with few entries, which the device has: their columns of A alone.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_PUSHED_H
#define TSR_CUDA_PUSHED_H

#include "backends/cuda/operands/sparse.h"
#include "tessera/kernel_row.h"

/* A turned over: what columns of A are taken from.  False: not a product that may be pushed, or A would have to be turned for it. */
bool tsr_cuda_push_operand(tsr_cuda_operand *columns, const tsr_product *product);

extern const tsr_kernel_row tsr_cuda_push_kernel;

/* w = A u.  TSR_DECLINED: better otherwise, which is found out on the device (waits for it), or not possible; nothing was written. */
tsr_status tsr_cuda_push_multiply(const tsr_product *product, tsr_result *result);

#endif
