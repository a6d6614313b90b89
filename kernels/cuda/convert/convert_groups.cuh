// Groups: what the entries of a block format are ordered by, a block of ME-TCF, BMat and ME-BCRS, a brick column (4 vectors) of HRPB.
// A group's mask has bit row * width + slot.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/convert/convert.cuh"

namespace tsr_convert {
namespace {

constexpr int threads = 256;

struct groups {
    int64_t nwindows, nvals, ngroups, nrows;
    int height;
    int words;             // 64-bit words of a mask
    const int64_t *vector; // [nwindows+1]
    const int64_t *first;  // [nwindows+1] groups before the window
    const uint32_t *column;
    const void *rows;      // [nvectors] height/8 bytes each
    int64_t *window;       // [ngroups] that the group is in
    uint64_t *mask;        // [ngroups * words]
    int64_t *entry;        // [ngroups+1] entries before the group; not for ME-BCRS
    int64_t *brick;        // [ngroups+1] nonzero words before the group; HRPB only
};

/* Bit k of x goes to bit k * width: 16 bits at most, width 4; 8 bits, width 8; 4 bits, width 16. */
template <int Width> __device__ __forceinline__ uint64_t spread(uint64_t x)
{
    if constexpr (Width == 4) {
        x = (x | x << 24) & 0x000000ff000000ffu;
        x = (x | x << 12) & 0x000f000f000f000fu;
        x = (x | x << 6) & 0x0303030303030303u;
        return (x | x << 3) & 0x1111111111111111u;
    } else if constexpr (Width == 8) {
        x = (x | x << 28) & 0x0000000f0000000fu;
        x = (x | x << 14) & 0x0003000300030003u;
        return (x | x << 7) & 0x0101010101010101u;
    } else {
        x = (x | x << 30) & 0x0000000300000003u;
        return (x | x << 15) & 0x0001000100010001u;
    }
}

/* The window of group k, found among the windows of the groups of the block. */
__device__ __forceinline__ int64_t window_of(const groups &g, int64_t k)
{
    __shared__ int64_t ends[2];
    if (threadIdx.x < 2) {
        int64_t outer = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x * (threads - 1);
        ends[threadIdx.x] = find_range(g.first, g.nwindows, min(outer, g.ngroups - 1));
    }
    __syncthreads();
    return ends[0] + find_range(g.first + ends[0], ends[1] - ends[0] + 1, min(k, g.ngroups - 1));
}

/* A thread makes the mask of a group. */
template <class Rows, int Width> __global__ void __launch_bounds__(threads) make_masks(groups g)
{
    constexpr int words = static_cast<int>(sizeof(Rows)) * Width / 8, step = 64 / Width;
    int64_t k = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
    int64_t v = window_of(g, k);
    if (k >= g.ngroups)
        return;
    g.window[k] = v;
    int64_t from = g.vector[v] + (k - g.first[v]) * Width;
    int n = static_cast<int>(min(g.vector[v + 1] - from, static_cast<int64_t>(Width)));
    uint64_t mask[words] = {};
#pragma unroll
    for (int slot = 0; slot < Width; slot++) {
        uint64_t rows = slot < n ? static_cast<const Rows *>(g.rows)[from + slot] : 0;
#pragma unroll
        for (int w = 0; w < words; w++)
            mask[w] |= spread<Width>(rows >> (w * step) & ((1u << step) - 1)) << slot;
    }
    int entries = 0, bricks = 0;
#pragma unroll
    for (int w = 0; w < words; w++) {
        g.mask[k * words + w] = mask[w];
        entries += __popcll(mask[w]);
        bricks += mask[w] != 0;
    }
    if (g.entry)
        g.entry[k] = entries;
    if (g.brick)
        g.brick[k] = bricks;
}

/* The masks, and the sums of what is in them.  entry and brick: [ngroups+1]. */
template <class Rows, int Width> tsr_status fill_groups(const groups &g, void *scratch, void *stream)
{
    if (g.ngroups) {
        auto kernel = make_masks<Rows, Width>;
        TSR_LAUNCH(kernel, blocks_for(g.ngroups, threads), threads, 0, stream, g);
    }
    tsr_status status = launch_status();
    if (status == TSR_OK && g.entry)
        status = tsr_cuda_scan(g.entry, g.ngroups, 1, scratch, stream);
    if (status == TSR_OK && g.brick)
        status = tsr_cuda_scan(g.brick, g.ngroups, 1, scratch, stream);
    return status;
}

inline groups groups_of(const tsr_windows &w, const vectors &v, int width)
{
    groups g = {};
    g.nwindows = w.nwindows;
    g.nvals = w.nvals;
    g.nrows = w.nrows;
    g.height = w.height;
    g.words = w.height * width / 64;
    g.ngroups = v.group ? v.ngroups : w.nblocks;
    g.vector = w.vector;
    g.first = v.group ? v.group : w.block;
    g.column = w.column;
    g.rows = v.rows;
    return g;
}

} // namespace
} // namespace tsr_convert
