// Rows dealt to the pivots that they are most like: a block of threads for a chunk of rows, a warp for a row, two pivots for a lane.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/order_sketch.cuh"

namespace tsr_order {
namespace {

constexpr int chunk = TSR_ORDER_CHUNK, pivots = TSR_ORDER_PIVOTS, block = 512, block_warps = block / 32;
constexpr int pitch = words + 1; // of pivots' sketches: lanes read different banks
static_assert(pivots == 64 && chunk % block == 0, "");

struct chunk_memory {
    uint32_t row[chunk];
    uint32_t of[pivots * pitch];             // sketches of pivots
    uint32_t least[block_warps][TSR_ORDER_BUCKETS];
    uint32_t word[block_warps][words];       // the sketch of a warp's row
    int first[pivots];                       // rows dealt to pivots before
    uint8_t pivot[chunk];
};

/* The sketch of a row in words. */
__device__ __forceinline__ void sketch_into(uint32_t *word, uint32_t *least, const int64_t *p, const uint32_t *i, uint32_t row)
{
    sketch_row(least, p, i, row);
    if (threadIdx.x % 32 < words)
        word[threadIdx.x % 32] = sketch_word(least, threadIdx.x % 32);
    __syncwarp();
}

/* A bucket without columns is unlike any. */
__device__ __forceinline__ uint32_t without_nothing(uint32_t word)
{
    word = (word & 0xffffu) == TSR_ORDER_NOTHING ? (word & 0xffff0000u) | TSR_ORDER_NOTHING_YET : word;
    return word >> 16 == TSR_ORDER_NOTHING ? (word & 0xffffu) | TSR_ORDER_NOTHING_YET << 16 : word;
}

__device__ __forceinline__ void sketch_pivots(chunk_memory &m, const int64_t *p, const uint32_t *i, int n)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int k = warp; k < tsr_order_pivots(n); k += block_warps) {
        sketch_into(m.word[warp], m.least[warp], p, i, m.row[tsr_order_pivot(n, k)]);
        if (lane < words)
            m.of[k * pitch + lane] = without_nothing(m.word[warp][lane]);
        __syncwarp();
    }
}

/* Of the pivots `lane` and `lane` + 32: buckets shared, and which; more is better, then the first. */
__device__ __forceinline__ unsigned rank_of(const chunk_memory &m, const uint32_t *word, int k, int n)
{
    return k < tsr_order_pivots(n) ? static_cast<unsigned>(shared_buckets(word, m.of + k * pitch) * pivots + pivots - 1 - k) : 0;
}

__device__ __forceinline__ void find_pivots(chunk_memory &m, const int64_t *p, const uint32_t *i, int n)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int place = warp; place < n; place += block_warps) {
        sketch_into(m.word[warp], m.least[warp], p, i, m.row[place]);
        unsigned mine = max(rank_of(m, m.word[warp], lane, n), rank_of(m, m.word[warp], lane + 32, n));
        unsigned best = __reduce_max_sync(all, mine);
        bool shares = best / pivots >= TSR_ORDER_LEAST_SHARED;
        if (lane == 0)
            m.pivot[place] = static_cast<uint8_t>(shares ? pivots - 1 - best % pivots : tsr_order_pivot_before(n, place));
        __syncwarp();
    }
}

/* The warp meets the rows of pivot k in turn; to: where they go, null: they are only counted. */
__device__ __forceinline__ int walk_pivot(const chunk_memory &m, int k, int n, uint32_t *to)
{
    const int lane = threadIdx.x % 32;
    int before = 0;
    for (int first = 0; first < n; first += 32) {
        bool is_his = first + lane < n && m.pivot[first + lane] == k;
        unsigned his = __ballot_sync(all, is_his);
        if (to && is_his)
            to[before + __popc(his & ((1u << lane) - 1))] = m.row[first + lane];
        before += __popc(his);
    }
    return before;
}

__global__ void __launch_bounds__(block) deal_chunk(uint32_t *order, const int64_t *p, const uint32_t *i, int64_t nrows)
{
    __shared__ chunk_memory m;
    const int warp = threadIdx.x / 32;
    order += static_cast<int64_t>(blockIdx.x) * chunk;
    const int n = static_cast<int>(min(nrows - static_cast<int64_t>(blockIdx.x) * chunk, static_cast<int64_t>(chunk)));
    for (int place = threadIdx.x; place < n; place += block)
        m.row[place] = order[place];
    __syncthreads();
    sketch_pivots(m, p, i, n);
    __syncthreads();
    find_pivots(m, p, i, n);
    __syncthreads();
    for (int k = warp; k < pivots; k += block_warps) {
        int rows = walk_pivot(m, k, n, nullptr);
        if (threadIdx.x % 32 == 0)
            m.first[k] = rows;
    }
    __syncthreads();
    for (int k = warp; k < pivots; k += block_warps) {
        int before = 0;
        for (int other = 0; other < k; other++)
            before += m.first[other];
        walk_pivot(m, k, n, order + before);
    }
}

} // namespace

tsr_status deal_rows(uint32_t *order, const tsr_source *in, void *stream)
{
    if (in->nvals < TSR_ORDER_SHORT * in->nrows || in->nrows == 0)
        return TSR_OK;
    TSR_LAUNCH(deal_chunk, blocks_for(in->nrows, chunk), block, 0, stream, order, in->p, in->i, in->nrows);
    return launch_status();
}

} // namespace tsr_order
