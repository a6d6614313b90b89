/* C = A B where all is on the device: a whole product, or one tile of its columns.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_MULTIPLY_H
#define TSR_CUDA_MULTIPLY_H

#include "backends/cuda/operands/sparse.h"
#include "backends/cuda/spmm/product_plan.h"

/* B and C by row; one column is one row as well. */
typedef struct tsr_cuda_multiplication {
    tsr_cuda_sparse *a;
    tsr_cuda_plan *plan;
    const tsr_product *product;
    int64_t n;               /* columns */
    const void *b;           /* NULL: not read */
    const int8_t *b_present; /* NULL: full */
    int64_t ldb;             /* tsr_cuda_padded: kernels of blocks may run */
    void *c;
    int8_t *c_present;       /* NULL: not wanted; by CSR only */
    int64_t ldc;
    void *half, *partial;    /* scratch: below */
    bool part;               /* of a wider product, for which scratch was counted */
    int *flag;               /* device, two of them; where there are blocks */
    double *below;           /* what is known of the magnitude of B's elements, grows; NULL: nothing */
    tsr_complex alpha, beta; /* C = alpha A B + beta C; 1 and 0, or plus_times of FP32, FP64 or complex numbers */
    bool conjugate;          /* of complex numbers: A's values */
    const void *values;      /* in place of A's, by CSR only; NULL: A's */
    tsr_cuda_batch batch;    /* several products, by CSR only */
    const void *bias;        /* then added to each row, of more than one column; NULL: none */
    bool rectified;          /* the same: then what is below 0 becomes 0 */
    void *stream;
} tsr_cuda_multiplication;

/* Leading dimension of B: blocks want rows to start at multiples of 16 bytes, in any number. */
int64_t tsr_cuda_padded(const tsr_cuda_plan *plan, int64_t columns);

/* Scratch: B in 16 bits (0: not needed), and partial sums.  Of m b, c and scratch are not looked at, but whether there is a
 * b_present. */
size_t tsr_cuda_half_bytes(const tsr_cuda_multiplication *m);
size_t tsr_cuda_scratch_bytes(const tsr_cuda_multiplication *m);

/* Queues it on m->stream, which is `compute` where it waits.  Waits for the device where the kernel depends on what B holds and that is not known. */
tsr_status tsr_cuda_multiply_arrays(const tsr_cuda_multiplication *m);

#endif
