/* The power of two by which an FP32 array becomes FP16 in place of TF32 (kernels/cuda/common/fp16_scaling.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_OPERANDS_FP16_SCALING_H
#define TSR_CUDA_OPERANDS_FP16_SCALING_H

#include <stdbool.h>
#include <stdint.h>

#include "tessera/backend.h"

typedef struct tsr_cuda_numbers {
    const void *x; /* device; NULL: no numbers */
    int64_t ld, rows, columns;
} tsr_cuda_numbers;

/* *fits = false: there is none.  range: scratch on the device, two numbers; NULL: allocated.  Waits for the device. */
tsr_status tsr_cuda_find_fp16_scale(int *shift, bool *fits, const tsr_cuda_numbers *of, uint32_t *range);

#endif
