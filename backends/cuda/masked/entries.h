/* Results of a masked product on the device: one for each entry of the mask.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_ENTRIES_H
#define TSR_CUDA_ENTRIES_H

#include "backends/cuda/device/context.h"

/* Of entries [begin, end) of the mask. */
typedef struct tsr_cuda_entries {
    int64_t begin, end;
    size_t size;     /* bytes of a value */
    void *x;         /* device, [end - begin] */
    int8_t *present; /* likewise, 0/1 */
    size_t bytes;    /* reserved */
} tsr_cuda_entries;

/* Reserves and allocates; after a failure there is nothing to close.  TSR_DECLINED: more memory than is allowed. */
tsr_status tsr_cuda_entries_open(tsr_cuda_entries *e, int64_t begin, int64_t end, size_t size);
void tsr_cuda_entries_close(tsr_cuda_entries *e);

/* To their places in to->x and ->b, when what is queued on `compute` is done; nvals and bytes_moved grow. */
tsr_status tsr_cuda_entries_download(const tsr_cuda_entries *e, tsr_download *to);

/* Queues the computation of e's entries on `compute`. */
typedef tsr_status (*tsr_cuda_compute_entries)(void *product, const tsr_cuda_entries *e);

/* All entries of a mask, in as few portions as memory allows. */
tsr_status tsr_cuda_entries_in_portions(int64_t count, size_t size, tsr_cuda_compute_entries compute, void *product,
                                        tsr_download *to);

#endif
