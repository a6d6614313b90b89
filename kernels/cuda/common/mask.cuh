// The values of a mask.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/common/cuda_kernels.h"
#include "kernels/cuda/common/device.cuh"

/* Entries [begin, end) of a mask by row. */
struct mask_entries {
    const int64_t *p;
    const uint32_t *i;
    const void *mask; // its values, or NULL
    int mask_size;
    int64_t nrows, begin, end;
};

static inline mask_entries entries_of(const tsr_cuda_sddmm *s)
{
    return {s->mask->p, s->mask->i, s->mask->x, s->mask_size, s->mask->nrows, s->begin, s->end};
}

/* Does the mask let the result of entry e pass?  values: of `size` bytes, NULL: structural.  The bits are tested, so -0.0 passes. */
static __device__ __forceinline__ bool mask_passes(const void *values, int size, int64_t e)
{
    if (!values)
        return true;
    switch (size) {
    case 1: return static_cast<const uint8_t *>(values)[e] != 0;
    case 2: return static_cast<const uint16_t *>(values)[e] != 0;
    case 4: return static_cast<const uint32_t *>(values)[e] != 0;
    default: return static_cast<const uint64_t *>(values)[e] != 0;
    }
}
