/* A bitmap or full mask on its way to the device, where it has a bit for each place.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_MASK_BITS_H
#define TSR_CUDA_MASK_BITS_H

#include "backends/cuda/device/context.h"

typedef struct tsr_cuda_mask_bits {
    uint32_t *bits; /* rows * words; 1: the mask has an entry there that counts.  NULL: there are none */
    int64_t words;  /* of a row */
    size_t bytes;   /* reserved */
} tsr_cuda_mask_bits;

/* Of a mask held by row.  Queued on `compute`; *moved grows by the bytes.  Free what there is in any case.  TSR_DECLINED: no room. */
tsr_status tsr_cuda_mask_bits_upload(tsr_cuda_mask_bits *mask, const tsr_view *view, bool structural, int nthreads, int64_t *moved);
void tsr_cuda_mask_bits_free(tsr_cuda_mask_bits *mask);

#endif
