/* Compressed contents on the device (tessera/compressed.h): representations of sparse operands that nobody else may have.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_COMPRESSED_H
#define TSR_CUDA_COMPRESSED_H

#include "backends/cuda/compressed/new.h"
#include "tessera/kernel_row.h"

extern const tsr_backend_compressed tsr_cuda_compressed;

/* Of its functions, by the names of the engine's operations. */
enum { TSR_CUDA_COMPRESSED_KERNELS = 4 };
extern const tsr_kernel_row tsr_cuda_compressed_kernels[TSR_CUDA_COMPRESSED_KERNELS];

/* ---- with tsr_cuda_all.busy held ---- */

/* Contents of the entries of `in` of which flags says 1, with values x (of `type`) instead of its own.  *nvals: how many. */
tsr_status tsr_cuda_compressed_flagged(void **c, const tsr_cuda_csr *in, const int8_t *flags, void *x, tsr_type type, int64_t *nvals);

#endif
