/* Arrays of the device to the host, through pinned memory.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_FETCH_H
#define TSR_CUDA_FETCH_H

#include "backends/cuda/device/context.h"

/* Takes elements [first, last) of an array out of staging memory into `target`; what it returns is added up.  Several threads. */
typedef int64_t (*tsr_cuda_take)(void *target, const void *staging, int64_t first, int64_t last);

enum { TSR_CUDA_FETCHED = 3 };

/* device[0..count), elements of `size` bytes, which go through `take`, chunk by chunk. */
typedef struct tsr_cuda_fetched {
    const void *device;
    int64_t count;
    size_t size;
    tsr_cuda_take take;
    void *target;
} tsr_cuda_fetched;

/* At most TSR_CUDA_FETCHED arrays side by side; what is queued on `compute` is waited for.  *total (NULL: not wanted) grows by what take
 * returned, *moved by the bytes.  All is done, or has failed and touches nothing any more but for copies that tsr_cuda_settle waits for, when it
 * returns. */
tsr_status tsr_cuda_fetch_all(const tsr_cuda_fetched *arrays, int count, int nthreads, int64_t *total, int64_t *moved);
/* One. */
tsr_status tsr_cuda_fetch(const void *device, int64_t count, size_t size, tsr_cuda_take take, void *target, int nthreads,
                          int64_t *total, int64_t *moved);

/* The array as it is; by the device alone where the host's is page-locked. */
tsr_status tsr_cuda_fetch_array(void *host, const void *device, int64_t count, size_t size, int nthreads, int64_t *moved);
/* Bytes 0/1; *present grows by the ones. */
tsr_status tsr_cuda_fetch_presence(int8_t *host, const int8_t *device, int64_t count, int nthreads, int64_t *present, int64_t *moved);

#endif
