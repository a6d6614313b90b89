/* Entries of a sparse matrix that stay: contract of the CUDA kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_KEEP_ENTRIES_H
#define TSR_CUDA_KEEP_ENTRIES_H

#include "kernels/cuda/common/cuda_kernels.h"
#include "tessera/compressed.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_cuda_keep {
    const int8_t *flags;      /* [nvals] 0/1, on the device: these say it; NULL: the rule */
    tsr_compressed_rule rule; /* vectors are rows, indices columns */
    tsr_type type;            /* of the values, where it looks at them */
} tsr_cuda_keep;

/* Scratch, beside the result's arrays. */
size_t tsr_cuda_keep_bytes(int64_t nvals);

/* out: the entries of `in` that stay, in order; its arrays are allocated.  value_size: bytes of a value; 0: out has none.  Waits for the stream. */
tsr_status tsr_cuda_keep_entries(tsr_cuda_csr *out, const tsr_cuda_csr *in, const tsr_cuda_keep *keep, int value_size, void *stream);

#ifdef __cplusplus
}
#endif

#endif
