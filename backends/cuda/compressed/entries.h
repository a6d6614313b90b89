/* What is done with the values of compressed contents (tessera/compressed.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_COMPRESSED_ENTRIES_H
#define TSR_CUDA_COMPRESSED_ENTRIES_H

#include "tessera/compressed.h"

tsr_status tsr_cuda_compressed_apply(void **c, const tsr_compressed_operand *a, const tsr_compressed_step *step, int64_t *moved);
tsr_status tsr_cuda_compressed_join(void **c, const tsr_compressed_operand *a, const tsr_compressed_operand *b, const tsr_compressed_step *step,
                                    int64_t *moved);
tsr_status tsr_cuda_compressed_reduce(const tsr_compressed_operand *a, tsr_type type, tsr_reduce_op op, void *scalar, int64_t *moved);

#endif
