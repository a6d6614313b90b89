// Counts of a small dense graph on Tensor Cores: all results of a tile of 128 x 128 by one-bit matrix instructions, lists of columns as
// bits; those that the mask has are stored.
//
// A warp owns 64 x 32 results.  Lane (g, t) brings 16 bytes of 64 of every eighth row, for two instructions: any order of the columns
// will do as long as both sides have it.  Only columns where the lists of both sides reach are multiplied, and only tiles in which the
// mask has entries.  Where A and B' are the same lists, a tile serves its mirror image, too.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/common/tile_results.cuh"
#include "kernels/cuda/masked/masked_sets.cuh"

namespace {

constexpr int side = masked_tile_side, threads = 256;
constexpr int warp_rows = 64, warp_cols = 32, row_tiles = warp_rows / 16, col_tiles = warp_cols / 8;
constexpr int pitch = side + 4; // of the tile's results in shared memory

struct entry_range {
    uint32_t first, last; // of the entries wanted
};

struct shared_tile {
    uint32_t count[side][pitch];
    entry_range own[side], mirror[side]; // entries of a row of the tile; of a row of its mirror image
    uint32_t first[2], last[2];          // words that a row of A, of B' has
    uint32_t entries;
};

/* Entries of row `row` with columns from `column` on that the tile has. */
__device__ __forceinline__ entry_range entries_of(const masked_lists &q, int64_t row, uint32_t column)
{
    if (row >= q.nrows)
        return { 0, 0 };
    const int64_t low = max(__ldg(q.mp + row), q.begin), high = min(__ldg(q.mp + row + 1), q.end);
    if (low >= high)
        return { 0, 0 };
    const int64_t first = lower_place(q.mi, low, high, column), last = lower_place(q.mi, first, high, column + side);
    return { uint32_t(first - q.begin), uint32_t(last - q.begin) };
}

/* Threads 0 to 127: a row of A and its entries; the others: a row of B' and those of the mirror image. */
__device__ __forceinline__ void find_entries(shared_tile &s, const masked_args &q, uint32_t row, uint32_t col, bool mirrored)
{
    const int k = int(threadIdx.x) % side, mine = int(threadIdx.x) / side;
    if (threadIdx.x < 2) {
        s.first[threadIdx.x] = ~0u;
        s.last[threadIdx.x] = 0;
        s.entries = 0;
    }
    __syncthreads();
    entry_range r = { 0, 0 };
    if (mine == 0)
        r = s.own[k] = entries_of(q.lists, row + k, col);
    else
        r = s.mirror[k] = mirrored ? entries_of(q.lists, col + k, row) : r;
    if (r.last > r.first)
        atomicAdd(&s.entries, r.last - r.first);
    const uint32_t at = (mine ? col : row) + uint32_t(k), rows = mine ? q.bits.b_rows : q.bits.a_rows;
    const uint2 span = at < rows ? __ldg((mine ? q.bits.b_span : q.bits.a_span) + at) : uint2{ 0, 0 };
    if (span.x < span.y) {
        atomicMin(&s.first[mine], span.x);
        atomicMax(&s.last[mine], span.y);
    }
    __syncthreads();
}

__device__ __forceinline__ uint32_t word_of(const uint4 &v, int k)
{
    return k == 0 ? v.x : k == 1 ? v.y : k == 2 ? v.z : v.w;
}

/* a, b: the lane's first row of A and of B', rows are `quads` words apart.  Words [first, last). */
__device__ __forceinline__ void multiply(int (&d)[row_tiles][col_tiles][4], const uint4 *a, const uint4 *b, uint32_t quads, uint32_t first,
    uint32_t last)
{
    const uint32_t t = threadIdx.x % 4;
#pragma unroll 1
    for (uint32_t at = first + t; at < last + t; at += 4) {
        const uint32_t k = min(at, last - 1);
        uint4 x[row_tiles * 2], y[col_tiles];
#pragma unroll
        for (int r = 0; r < row_tiles * 2; r++)
            x[r] = __ldg(a + size_t(8 * r) * quads + k);
#pragma unroll
        for (int c = 0; c < col_tiles; c++)
            y[c] = at < last ? __ldg(b + size_t(8 * c) * quads + k) : uint4{ 0, 0, 0, 0 };
#pragma unroll
        for (int half = 0; half < 2; half++)
#pragma unroll
            for (int r = 0; r < row_tiles; r++)
#pragma unroll
                for (int c = 0; c < col_tiles; c++) {
                    const uint32_t fa[4] = { word_of(x[2 * r], 2 * half), word_of(x[2 * r + 1], 2 * half), word_of(x[2 * r], 2 * half + 1),
                        word_of(x[2 * r + 1], 2 * half + 1) };
                    const uint32_t fb[2] = { word_of(y[c], 2 * half), word_of(y[c], 2 * half + 1) };
                    mma_m16n8k256_bits(d[r][c], fa, fb);
                }
    }
}

/* Eight lanes a row.  Returns the number of products of what the lane has stored. */
template <bool Mirror> __device__ __forceinline__ uint64_t store_rows(const shared_tile &s, const masked_args &q, uint32_t first_col)
{
    constexpr int G = 8;
    uint64_t sum = 0;
    for (int row = int(threadIdx.x) / G; row < side; row += threads / G) {
        const entry_range r = Mirror ? s.mirror[row] : s.own[row];
        for (uint32_t e = r.first + threadIdx.x % G; e < r.last; e += G) {
            const uint32_t col = __ldg(q.lists.mi + q.lists.begin + e) - first_col;
            const uint32_t count = Mirror ? s.count[col][row] : s.count[row][col];
            if (count && passes(q, e))
                sum += store_one(q, e, count);
        }
    }
    return sum;
}

__global__ void __launch_bounds__(threads, 2) count_tiles(const __grid_constant__ masked_args q, uint32_t across, bool same)
{
    shared_tile &s = *reinterpret_cast<shared_tile *>(dynamic_shared());
    const uint32_t row = blockIdx.x / across * side, col = blockIdx.x % across * side;
    if (same && col > row)
        return;
    find_entries(s, q, row, col, same && col < row);
    const uint32_t first = max(s.first[0], s.first[1]), last = min(s.last[0], s.last[1]);
    if (s.entries == 0 || first >= last)
        return;
    const int warp = int(threadIdx.x) / 32, g = threadIdx.x % 32 / 4;
    const int warp_row = warp / (side / warp_cols) * warp_rows, warp_col = warp % (side / warp_cols) * warp_cols;
    int d[row_tiles][col_tiles][4] = {};
    multiply(d, q.bits.a + size_t(row + warp_row + g) * q.bits.quads, q.bits.b + size_t(col + warp_col + g) * q.bits.quads, q.bits.quads, first,
        last);
    store_results(&s.count[0][0], pitch, d, warp_row, warp_col);
    __syncthreads();
    uint64_t sum = store_rows<false>(s, q, col);
    if (same && col < row)
        sum += store_rows<true>(s, q, row);
    add_products(q, sum);
}

} // namespace

tsr_status tsr_cuda_masked_tiles(const masked_args &q, const tsr_cuda_masked *product, bool same)
{
    if (!allow_shared(count_tiles, sizeof(shared_tile)))
        return TSR_INTERNAL_ERROR;
    const int64_t down = (product->mask->nrows + side - 1) / side, across = (product->mask->ncols + side - 1) / side;
    TSR_LAUNCH(count_tiles, unsigned(down * across), threads, sizeof(shared_tile), product->stream, q, uint32_t(across), same);
    return launch_status();
}
