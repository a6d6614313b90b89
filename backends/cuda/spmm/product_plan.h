/* What computes a product of one matrix: arithmetic and representation.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_PRODUCT_PLAN_H
#define TSR_CUDA_PRODUCT_PLAN_H

#include "backends/cuda/spmm/representations.h"

typedef struct tsr_cuda_plan {
    tsr_cuda_arithmetic how;
    tsr_semiring semiring;
    unsigned semirings;      /* tsr_cuda_class_of it */
    tsr_cuda_blocks *blocks; /* NULL: plain CSR */
    double limit;            /* elements of B must be below this in magnitude, else CSR; 0: they may be anything */
    const char *name;
    double own_ms, csr_ms;   /* predicted, with blocks and without them; < 0: not known */
} tsr_cuda_plan;

/* The plan for one product of A; builds what pays.  keep: A stays for further products.  TSR_OK also when there was no memory for
 * blocks; TSR_INTERNAL_ERROR. */
tsr_status tsr_cuda_make_plan(tsr_cuda_plan *plan, tsr_cuda_sparse *a, const tsr_product *product, bool keep);
/* ... for products that are `streamed` (tsr_cuda_arithmetic). */
tsr_status tsr_cuda_make_streamed_plan(tsr_cuda_plan *plan, tsr_cuda_sparse *a, const tsr_product *product, bool bounded);

#endif
