/* Representations beside plain CSR of a matrix on the device: which there are, building one, and running it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_REPRESENTATIONS_H
#define TSR_CUDA_REPRESENTATIONS_H

#include "backends/cuda/operands/operand.h"
#include "backends/cuda/spmm/kernel_table.h"

/* How a product is computed. */
typedef struct tsr_cuda_arithmetic {
    tsr_cuda_math math; /* other than plus_times: EXACT for types of 4 bytes, FP64 for 8 */
    bool narrow;        /* FP16 in place of TF32 (kernels/cuda/common/fp16_scaling.h): B times a power of two, if its elements fit */
    double iso;         /* the value of a pattern */
    bool streamed;      /* by kernels that several streams may run at once, without a look at what B holds … */
    bool bounded;       /* … of which it is promised that every kernel takes it */
} tsr_cuda_arithmetic;

/* What the kernel's representation of A would be, for B of n columns. */
tsr_cuda_blocks tsr_cuda_describe(const tsr_cuda_kernel *kernel, const tsr_cuda_arithmetic *how, const tsr_cuda_sparse *a, int64_t n);

/* NULL: it is not there. */
tsr_cuda_blocks *tsr_cuda_find_blocks(tsr_cuda_blocks *list, const tsr_cuda_blocks *like);

/* Adds it to A's.  Any status but TSR_OK leaves *out = NULL: there is no memory for it, or the format does not take this matrix. */
tsr_status tsr_cuda_build_blocks(tsr_cuda_blocks **out, tsr_cuda_sparse *a, const tsr_cuda_blocks *like);

void tsr_cuda_blocks_free(tsr_cuda_blocks *list);

/* Queue the product; scratch for it. */
tsr_status tsr_cuda_run_blocks(const tsr_cuda_blocks *b, const tsr_cuda_sparse *a, tsr_semiring semiring, const tsr_cuda_spmm *product);
size_t tsr_cuda_blocks_partial_bytes(const tsr_cuda_blocks *b, const tsr_cuda_sparse *a, const tsr_cuda_spmm *product);

#endif
