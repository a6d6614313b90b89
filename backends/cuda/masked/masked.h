/* Masked products on the device: C<M> = A B of sparse matrices, and SDDMM.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_MASKED_H
#define TSR_CUDA_MASKED_H

#include "backends/cuda/operands/sparse.h"
#include "tessera/kernel_row.h"

enum { TSR_CUDA_MASKED_PLAN, TSR_CUDA_MASKED_SEARCH, TSR_CUDA_MASKED_KERNELS };
extern const tsr_kernel_row tsr_cuda_masked_kernels[TSR_CUDA_MASKED_KERNELS];

/* Operands and mask of a kind that the kernels take? */
bool tsr_cuda_masked_supports(const tsr_product *product);

/* A mask without entries, or of which every value is the same, false: nothing passes. */
bool tsr_cuda_masked_empty(const tsr_product *product);

/* MASKED_DOT: are A, B and the mask on the device? */
bool tsr_cuda_masked_held(const tsr_product *product);

/* Computes the product.  Everything is done, or has failed and touches nothing any more, when it returns.  TSR_DECLINED: too
 * large for the memory allowed, or values of another type are needed.  result->stays is contents. */
tsr_status tsr_cuda_masked_execute(const tsr_product *product, tsr_result *result);

#endif
