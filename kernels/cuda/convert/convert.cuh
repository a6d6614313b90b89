// What the converters share: scratch, and the nonzero vectors of row windows as a list of (column, rows).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/common/arena.cuh"
#include "kernels/cuda/common/cuda_kernels.h"
#include "kernels/cuda/common/device.cuh"
#include "kernels/cuda/common/sort.cuh"

namespace tsr_convert {

static inline unsigned blocks_for(int64_t n, int threads) { return static_cast<unsigned>((n + threads - 1) / threads); }

static inline int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b > 0); }

/* A result's array; also when it has no element. */
template <class T> tsr_status get_array(T **p, int64_t n, void *stream)
{
    void *got = nullptr;
    tsr_status status = tsr_cuda_malloc(&got, static_cast<size_t>(n > 0 ? n : 1) * sizeof(T), stream);
    *p = static_cast<T *>(got);
    return status;
}

/* The largest k in [0, n) with first[k] <= at; first ascends and first[0] <= at. */
template <class T, class N> static __device__ __forceinline__ N find_range(const T *first, N n, T at)
{
    N low = 0, high = n;
    while (high - low > 1) {
        N middle = (low + high) / 2;
        if (first[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The first k in [low, high) with x[k] >= limit, or high. */
template <class T, class N, class L> static __device__ __forceinline__ N lower_bound(const T *x, N low, N high, L limit)
{
    while (low < high) {
        N middle = (low + high) / 2;
        if (x[middle] < limit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Windows of a source, their vectors' columns, and the rows of each vector.  Fills *w (arrays of the device) and *rows:
 * [nvectors] elements of height/8 bytes, bit r = row r of the window, freed by the caller.  group_width > 0: also *group,
 * [nwindows+1], vectors of a window in groups of group_width, freed by the caller, and their number.  On failure nothing is left
 * allocated. */
struct vectors {
    void *rows;
    int64_t *group;
    int64_t ngroups;
};
tsr_status make_vectors(tsr_windows *w, vectors *out, const tsr_source *in, int height, int width, int group_width, void *stream);
void free_windows(tsr_windows *w, void *stream);

} // namespace tsr_convert
