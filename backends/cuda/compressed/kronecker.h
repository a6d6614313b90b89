/* Kronecker products of compressed contents (tessera/compressed.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_COMPRESSED_KRONECKER_H
#define TSR_CUDA_COMPRESSED_KRONECKER_H

#include "tessera/compressed.h"

tsr_status tsr_cuda_compressed_kronecker(void **c, const tsr_compressed_operand *a, const tsr_compressed_operand *b, const tsr_ewise *step, bool pattern,
                                         int64_t *moved);

#endif
