/* The entries of two sparse matrices side by side: contract of the CUDA kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_JOIN_ENTRIES_H
#define TSR_CUDA_JOIN_ENTRIES_H

#include "kernels/cuda/common/cuda_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every array is allocated. */
typedef struct tsr_cuda_joined {
    tsr_cuda_csr csr;              /* p, i, and x: the values of a */
    void *y;                       /* those of b */
    int8_t *x_present, *y_present; /* 0/1, of a union; NULL: all are.  What stands where nothing is present means nothing */
} tsr_cuda_joined;

/* Scratch, beside the result's arrays. */
size_t tsr_cuda_join_bytes(int64_t nvals_a);

/* The union (unite) or the intersection of the patterns of a and b, of the same sizes, columns ascending in each row; value_size: bytes of a value of
 * either.  Waits for the stream.  After a failure there are no arrays. */
tsr_status tsr_cuda_join_entries(tsr_cuda_joined *out, const tsr_cuda_csr *a, const tsr_cuda_csr *b, bool unite, int value_size, void *stream);
void tsr_cuda_join_free(tsr_cuda_joined *joined, void *stream);

#ifdef __cplusplus
}
#endif

#endif
