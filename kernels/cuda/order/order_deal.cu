// Sketches of rows, a warp for each; and rows dealt to the pivots that they are most like: a block of threads for a chunk of rows, a warp
// for a row, two pivots for a lane.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/order/order_sketch.cuh"

namespace tsr_order {
namespace {

constexpr int chunk = TSR_ORDER_CHUNK, pivots = TSR_ORDER_PIVOTS, block = 512, block_warps = block / 32;
constexpr int pitch = words + 1; // of pivots' sketches: lanes read different banks
static_assert(pivots == 64 && chunk % block == 0, "");

struct chunk_memory {
    uint32_t row[chunk];
    uint32_t of[pivots * pitch];             // sketches of pivots
    uint32_t word[block_warps][words];       // the sketch of a warp's row
    int first[pivots];                       // rows dealt to pivots before
    uint8_t pivot[chunk];
};

__global__ void __launch_bounds__(threads) make_sketches(uint32_t *sketches, const uint32_t *order, const int64_t *p, const uint32_t *i,
                                                         int64_t nrows)
{
    __shared__ uint32_t of_warp[warps][TSR_ORDER_BUCKETS];
    const int64_t place = static_cast<int64_t>(blockIdx.x) * warps + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    uint32_t *least = of_warp[threadIdx.x / 32];
    if (place >= nrows)
        return;
    const int64_t row = order[place], begin = p[row], end = min(p[row + 1], begin + TSR_ORDER_LONGEST);
    least[lane] = TSR_ORDER_NOTHING;
    __syncwarp();
#pragma unroll 4
    for (int64_t e = begin + lane; e < end; e += 32) {
        uint32_t column = __ldg(i + e);
        atomicMin(least + tsr_order_bucket(column), tsr_order_bucket_hash(column));
    }
    __syncwarp();
    if (lane < words)
        sketches[place * words + lane] = least[2 * lane] | least[2 * lane + 1] << 16;
}

/* A bucket without columns is unlike any. */
__device__ __forceinline__ uint32_t without_nothing(uint32_t word)
{
    word = (word & 0xffffu) == TSR_ORDER_NOTHING ? (word & 0xffff0000u) | TSR_ORDER_NOTHING_YET : word;
    return word >> 16 == TSR_ORDER_NOTHING ? (word & 0xffffu) | TSR_ORDER_NOTHING_YET << 16 : word;
}

__device__ __forceinline__ void load_pivots(chunk_memory &m, const uint32_t *sketches, int n)
{
    for (int at = threadIdx.x; at < tsr_order_pivots(n) * words; at += block)
        m.of[at / words * pitch + at % words] = without_nothing(sketches[tsr_order_pivot(n, at / words) * words + at % words]);
}

/* Of the pivots `lane` and `lane` + 32: buckets shared, and which; more is better, then the first. */
__device__ __forceinline__ unsigned rank_of(const chunk_memory &m, const uint32_t *word, int k, int n)
{
    return k < tsr_order_pivots(n) ? static_cast<unsigned>(shared_buckets(word, m.of + k * pitch) * pivots + pivots - 1 - k) : 0;
}

__device__ __forceinline__ void find_pivots(chunk_memory &m, const uint32_t *sketches, int n)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int place = warp; place < n; place += block_warps) {
        if (lane < words)
            m.word[warp][lane] = sketches[place * words + lane];
        __syncwarp();
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

__global__ void __launch_bounds__(block) deal_chunk(uint32_t *order, const uint32_t *sketches, int64_t nrows)
{
    __shared__ chunk_memory m;
    const int warp = threadIdx.x / 32;
    order += static_cast<int64_t>(blockIdx.x) * chunk;
    sketches += static_cast<int64_t>(blockIdx.x) * chunk * words;
    const int n = static_cast<int>(min(nrows - static_cast<int64_t>(blockIdx.x) * chunk, static_cast<int64_t>(chunk)));
    for (int place = threadIdx.x; place < n; place += block)
        m.row[place] = order[place];
    load_pivots(m, sketches, n);
    __syncthreads();
    find_pivots(m, sketches, n);
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

tsr_status sketch_rows(Arena *arena, uint32_t **sketches, const uint32_t *order, const tsr_source *in, void *stream)
{
    arena->want(sketches, in->nrows * words);
    tsr_status status = arena->get();
    if (status != TSR_OK)
        return status;
    TSR_LAUNCH(make_sketches, blocks_for(in->nrows, warps), threads, 0, stream, *sketches, order, in->p, in->i, in->nrows);
    return launch_status();
}

tsr_status deal_rows(uint32_t *order, const tsr_source *in, void *stream)
{
    if (in->nvals < TSR_ORDER_SHORT * in->nrows || in->nrows == 0)
        return TSR_OK;
    Arena arena(stream);
    uint32_t *sketches;
    tsr_status status = sketch_rows(&arena, &sketches, order, in, stream);
    if (status != TSR_OK)
        return status;
    TSR_LAUNCH(deal_chunk, blocks_for(in->nrows, chunk), block, 0, stream, order, sketches, in->nrows);
    return launch_status();
}

} // namespace tsr_order
