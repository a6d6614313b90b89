/* Kronecker products of sparse matrices by row: contract of the CUDA kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_KRONECKER_H
#define TSR_CUDA_KRONECKER_H

#include "kernels/cuda/common/cuda_kernels.h"
#include "tessera/values.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_cuda_kronecker {
    tsr_cuda_csr a, b;
    tsr_ewise_op op; /* a binary one, of `type` */
    tsr_type type;
    uint64_t x, y;   /* bytes of the one value of a, of b, where that has no values */
    bool pattern;    /* the product gets no values */
} tsr_cuda_kronecker;

/* Entry (i, j) of a and (k, l) of b make entry (i * b.nrows + k, j * b.ncols + l), op (x, y) of their values: bytes of BOOL where op compares.  Rows and
 * columns of the result are fewer than 2^32 - 1, its entries fewer than 2^62.  Its arrays are allocated; after a failure there are none. */
tsr_status tsr_cuda_kronecker_product(tsr_cuda_csr *out, const tsr_cuda_kronecker *k, void *stream);

#ifdef __cplusplus
}
#endif

#endif
