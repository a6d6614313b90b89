/* Index lists on their way to the device.  A program that hooks trees packs one list as the indices of a matrix and gathers by it, step by step: what
 * is on the device already is not uploaded again.  tsr_cuda_all.busy is held.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_TRANSFER_LISTS_H
#define TSR_CUDA_TRANSFER_LISTS_H

#include "backends/cuda/device/context.h"
#include "src/base/types.h"

/* places->list as 32-bit numbers, queued on `compute` when it returns; *moved grows.  A copy is kept if one of that length was asked for below. */
tsr_status tsr_cuda_list_upload(uint32_t *list, const tsr_indices *places, int nthreads, int64_t *moved);

/* Are these numbers (of index_size bytes) the ones that were uploaded last?  Then they are copied, queued on `compute`. */
bool tsr_cuda_list_again(uint32_t *list, const void *numbers, uint8_t index_size, int64_t count, int nthreads);

/* Numbers of this device, downloaded as 64-bit ones.  They may be asked for as a list: that is kept likewise, and is not uploaded. */
tsr_status tsr_cuda_list_fetch(uint64_t *numbers, const uint32_t *device, int64_t count, int nthreads, int64_t *moved);

/* Is p[k] = k, k <= count?  Nobody needs to upload that. */
bool tsr_cuda_counts_up(tsr_offsets p, int64_t count, int nthreads);

/* What is kept is freed; false: nothing is. */
bool tsr_cuda_list_drop(void);

#endif
