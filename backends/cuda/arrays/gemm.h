/* Dense products by cuBLAS, where it is installed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_GEMM_H
#define TSR_CUDA_GEMM_H

#include "tessera/backend.h"

/* c = a b, m, n, k > 0, without padding, queued on `stream`; arithmetic of the type itself.  TSR_DECLINED: no cuBLAS, a type other than
 * FP32 and FP64, or a size that has no 32 bits.  tsr_cuda_all.busy is held. */
tsr_status tsr_cuda_gemm(const tsr_dense_product *product, const void *a, const void *b, void *c, void *stream);

#endif
