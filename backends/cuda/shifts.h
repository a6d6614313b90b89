/* Powers of two by which FP32 arrays become FP16 in place of TF32 (kernels/cuda/narrow.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_SHIFTS_H
#define TSR_CUDA_SHIFTS_H

#include <stdbool.h>
#include <stdint.h>

#include "tessera/backend.h"

enum { TSR_CUDA_MOST_SHIFTS = 2 };

typedef struct tsr_cuda_numbers {
    const void *x; /* device; NULL: no numbers */
    int64_t ld, rows, columns;
} tsr_cuda_numbers;

/* shift[k]: that of of[k].  *fit = false: one of them has none.  ranges: scratch on the device, two numbers for each of them; NULL: allocated.
 * Waits for the device, once. */
tsr_status tsr_cuda_find_shifts(int *shift, bool *fit, const tsr_cuda_numbers *of, int count, uint32_t *ranges);

#endif
