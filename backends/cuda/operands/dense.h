/* Full operands on the device: of an SDDMM, for one product; of the caller's.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_DENSE_H
#define TSR_CUDA_DENSE_H

#include "backends/cuda/arrays/arrays.h"

typedef struct tsr_cuda_dense {
    void *x;      /* by row; NULL: every element is `iso`, or the product reads none */
    int64_t ld;   /* elements */
    uint64_t iso; /* bits of the one value */
    size_t bytes; /* reserved; 0: another one's array */
} tsr_cuda_dense;

/* Brings `view` (FULL, of the semiring's type) to the device, by row, queued on `compute` when it returns; nothing where its
 * values are not read.  value: it is there (NULL: it is not), and only turned where it is by column.  *moved grows by the bytes.
 * TSR_DECLINED: more memory than is allowed.  free: also after a failure. */
tsr_status tsr_cuda_dense_use(tsr_cuda_dense *d, const tsr_view *view, const tsr_cuda_array *value, bool reads, int nthreads,
                              int64_t *moved);
void tsr_cuda_dense_free(tsr_cuda_dense *d);

/* An operand of the caller's in device memory. */
typedef struct tsr_cuda_given {
    const void *x;
    int64_t ld;    /* elements between the starts of two rows; by_col: of two columns */
    bool by_col;
    tsr_type type;
} tsr_cuda_given;

/* Its rows by row, in `to`: as they are, or 16-bit numbers as FP32. */
tsr_status tsr_cuda_by_row(void *to, int64_t to_ld, const tsr_cuda_given *from, int64_t rows, int64_t columns, void *stream);

#endif
