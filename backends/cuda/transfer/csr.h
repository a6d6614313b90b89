/* The arrays of a sparse matrix on their way to the device and back.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_TRANSFER_CSR_H
#define TSR_CUDA_TRANSFER_CSR_H

#include "backends/cuda/device/context.h"

/* The arrays of a sparse or hypersparse view as they are, but for narrow indices and offsets for every vector: CSR of the matrix, or of its
 * transpose when it is held by column.  value_size 0: no values.  Queued on `compute`; delete what there is of them in any case. */
tsr_status tsr_cuda_csr_upload(tsr_cuda_csr *csr, const tsr_view *view, size_t value_size, int nthreads, int64_t *moved);
/* Other values for the same entries, in the order of the view. */
tsr_status tsr_cuda_csr_upload_values(tsr_cuda_csr *csr, const tsr_view *view, int nthreads, int64_t *moved);
/* The first of the names h[0..nvec), which ascend, that is not below `name`. */
int64_t tsr_cuda_find_name(const int64_t *h, int64_t nvec, int64_t name);
void tsr_cuda_csr_delete(tsr_cuda_csr *csr);

/* Rows from number `first` on of what the host gets, to their places: entries from number `entries` on.  The last offset, of what comes after all
 * rows, is left out. */
tsr_status tsr_cuda_csr_download(const tsr_cuda_csr *csr, size_t value_size, int64_t first, int64_t entries, tsr_download *to);

#endif
