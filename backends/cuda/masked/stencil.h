/* SDDMM over a stencil of the mask, or with rows of B' as FP16 in place of TF32, where that pays.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_STENCIL_H
#define TSR_CUDA_STENCIL_H

#include "backends/cuda/operands/dense.h"
#include "backends/cuda/operands/operand.h"
#include "tessera/kernel_row.h"

enum { TSR_CUDA_SDDMM_CSR, TSR_CUDA_SDDMM_NARROW, TSR_CUDA_SDDMM_STENCIL, TSR_CUDA_SDDMM_KERNELS };
extern const tsr_kernel_row tsr_cuda_sddmm_kernels[TSR_CUDA_SDDMM_KERNELS];

/* What computes one SDDMM. */
typedef struct tsr_cuda_sddmm_plan {
    const tsr_cuda_stencil *stencil; /* NULL: by row */
    tsr_cuda_math math;
    const char *name;
    void *rounded[2];                /* operands in 16 bits; NULL: as they are */
    int64_t ld[2];                   /* of these */
    uint8_t *exponent;               /* by row, rounded[1] is what tsr_cuda_narrow_rows made; NULL: no */
    size_t bytes;                    /* reserved for them */
} tsr_cuda_sddmm_plan;

/* The plan for one product with this mask, whose operands (A and B') are on the device; builds the stencil when it pays.  keep: the mask
 * stays for further products.  TSR_OK also when there was no memory for it; TSR_INTERNAL_ERROR.  close in either case. */
tsr_status tsr_cuda_sddmm_open(tsr_cuda_sddmm_plan *plan, struct tsr_cuda_sparse *mask, const tsr_cuda_dense dense[2],
                               const tsr_product *product, bool keep);
void tsr_cuda_sddmm_close(tsr_cuda_sddmm_plan *plan);

/* Queue it; operands as for the product by row. */
tsr_status tsr_cuda_sddmm_run(const tsr_cuda_sddmm_plan *plan, const tsr_cuda_sddmm *product);

/* Makes it where it pays for rows of so many bytes, over many products. */
tsr_status tsr_cuda_stencil_prepare(tsr_cuda_stencil *stencil, const tsr_cuda_csr *mask, int64_t row_bytes, tsr_cuda_math math);

void tsr_cuda_stencil_free(tsr_cuda_stencil *stencil);

#endif
