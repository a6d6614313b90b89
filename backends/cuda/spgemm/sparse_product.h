/* Sparse times sparse on the device: operands in the slots of their records, C by row there, then on the host.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_SPARSE_PRODUCT_H
#define TSR_CUDA_SPARSE_PRODUCT_H

#include "tessera/backend.h"
#include "tessera/kernel_row.h"

extern const tsr_backend_sparse tsr_cuda_sparse_products;

enum { TSR_CUDA_SPGEMM_KERNELS = 2 };
extern const tsr_kernel_row tsr_cuda_spgemm_kernels[TSR_CUDA_SPGEMM_KERNELS];

/* Do the slots have both operands? */
bool tsr_cuda_sparse_product_held(const tsr_product *product);

#endif
