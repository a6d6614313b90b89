/* Compressed contents of what is on the device.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_COMPRESSED_NEW_H
#define TSR_CUDA_COMPRESSED_NEW_H

#include "backends/cuda/device/contents.h"
#include "backends/cuda/operands/sparse.h"
#include "tessera/compressed.h"

typedef struct tsr_cuda_compressed_contents {
    tsr_cuda_contents contents;
    tsr_cuda_sparse *held; /* these are one of its users: so it stays */
} tsr_cuda_compressed_contents;

/* Bytes of a value; 0: it has none, or one for all. */
size_t tsr_cuda_compressed_value_size(const tsr_cuda_sparse *held);

/* By row, the view turned if it is held by column; or its transpose. */
tsr_cuda_operand tsr_cuda_compressed_operand(const tsr_compressed_operand *a, bool turned);

/* ---- with tsr_cuda_all.busy held ---- */

/* As tsr_cuda_sparse_use, turned as the operand says. */
tsr_status tsr_cuda_compressed_use(tsr_cuda_sparse **held, const tsr_compressed_operand *a, int64_t *moved);

/* The caller's use of `held` is taken over, also by a failure. */
tsr_status tsr_cuda_compressed_hold(void **c, tsr_cuda_sparse *held);

/* Contents of arrays that were computed, by the rows of `csr`; type: of the values, ignored without them.  csr is taken over, also by a failure. */
tsr_status tsr_cuda_compressed_new(void **c, tsr_cuda_csr *csr, tsr_type type);

#endif
