// What a warp of SpMM of BMat (spmm_bmat.cuh) has in shared memory: a ring of stages with rows of B and values of A, fetched ahead.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/spmm/tensor.cuh"

#include <type_traits>

namespace bmat {

constexpr unsigned all = 0xffffffffu;

/* The arrays, as the kernel wants them. */
struct matrix {
    const int64_t *item_window, *item_block, *item_entry, *item_partial; // of tsr_work
    const int64_t *window_block, *window_vector;
    const uint32_t *column;
    const uint64_t *mask;
    const void *value;
    int64_t nitems, nrows;
    double iso; // 1 where there are values
    bool tile_major;
    int tiles;
    int tasks;      // of a warp, one after the other
    int team;       // blocks of threads that run together; at any time they work on neighbouring tasks
    int64_t ntasks; // items times tiles
};

/* What an item says of itself. */
enum { at_window, at_first, at_last, at_entry, at_partial, at_block, at_vector, at_end, facts };

/* Small things that a warp fetches ahead of their use: columns of B and masks, 32 words at a time, and the facts of items.
 * They come by cp.async: loads into registers that are used rounds later would be copied, and wait, at the end of a round. */
struct ahead {
    static constexpr int parts = 3, items = 3;
    uint32_t column[parts][32], mask[parts][32];
    int64_t fact[items][facts];
    int64_t target[2]; // window and partial sum of the item whose sums are not stored yet
    const uint32_t *columns, *masks; // of that item, from its first on
};

/* Which parts of `ahead` groups of 32 words go to: those of an item to `even` and `odd` in turn, the first of the next item to
 * `spare`. */
struct parts {
    int even, odd, spare;
    __device__ __forceinline__ int of(int group) const { return group % 2 ? odd : even; }
    __device__ __forceinline__ parts next() const { return {spare, even, odd}; }
};

constexpr int warps = 4; // of a block of threads

template <tsr_cuda_math Math, int Height, int Columns> struct shape {
    using math = tensor_math<Math>;
    using element = typename math::element;
    using sum = typename math::sum;
    static constexpr tsr_cuda_math arithmetic = Math;
    static constexpr int height = Height, columns = Columns;
    static constexpr int piece = 16 / sizeof(sum); // columns
    static constexpr int piece_words = piece * sizeof(element) / 4;
    static constexpr int slab = 8 * piece; // columns that eight lanes g cover with a piece each
    static constexpr int pieces = columns / slab; // per lane and row of B
    static constexpr int products = height == 8 ? pieces * piece / 2 : pieces * piece; // matrix instructions per block
    static constexpr int words = height / 8; // masks of a block
    static constexpr int row_bytes = columns * sizeof(element);
    static constexpr int lanes_per_row = row_bytes < 128 ? row_bytes / 16 : 8; // that fetch together
    /* Row r of a block has its 16 bytes number i of every 128 at place i ^ swizzle * (r % 4), or rows are padded. */
    static constexpr int swizzle = row_bytes < 128 ? 0 : height == 16 && sizeof(element) >= 4 ? 1 : 2;
    static constexpr int stride = row_bytes + (swizzle ? 0 : 32);
    static constexpr int stages = 3; // of the ring
    static constexpr int group = row_bytes >= 512 ? 1 : 2; // blocks of a stage, which one step multiplies
    static constexpr bool fused = group == 2 && math::pack == 2; // the two blocks of a step in one m16n8k16
    using word = std::conditional_t<sizeof(element) == 8, double, uint32_t>; // by which values of A come
    static constexpr int stage_bytes = group * 8 * stride; // a stage has the rows of B
    static constexpr int values_bytes = 32 * group * words * 2 * sizeof(word); // and a lane what it multiplies them by
    static constexpr int rows_bytes = stages * stage_bytes;
    static constexpr int near_bytes = (stages - 1) * values_bytes + static_cast<int>(sizeof(ahead));
    static __device__ __forceinline__ int near_at(int warp)
    {
        return warps * rows_bytes + warp * near_bytes + (stages - 1) * values_bytes;
    }
    static constexpr int arrays_at = warps * (rows_bytes + near_bytes), shared_bytes = arrays_at + facts * 8; // of fact_array
    /* Registers are given to 16 or 20 warps. */
    static constexpr int by_registers = row_bytes > 128 || columns * words > 64 ? 4 : 5,
                         by_memory = 228 * 1024 / (shared_bytes + 1024);
    static constexpr int blocks_per_sm = by_registers < by_memory ? by_registers : by_memory;
    /* Columns and masks of blocks are fetched 4 and 16 / words blocks before they are used, and waits for rows wait for them. */
    static_assert((stages - 1) * group <= 4, "");
};

/* The piece that lane g reads at height 16; also the piece that column g of a matrix instruction belongs to. */
template <class Shape> __device__ __forceinline__ int unit(int g)
{
    if constexpr (sizeof(typename Shape::element) >= 4)
        return g >> 1 | (g & 1) << 2;
    else
        return (g & 4) | (g & 1) << 1 | (g >> 1 & 1);
}

/* x, kept in a register: else the compiler computes such numbers anew, from threadIdx, at every use.  All lanes call it. */
template <class T> __device__ __forceinline__ T keep(T x) { return __shfl_sync(all, x, static_cast<int>(threadIdx.x % 32)); }

/* Where a lane finds its parts in shared memory, in bytes. */
struct lane_places {
    int to, column;   // rows of B: to the first stage, a first column
    int from, values; // from the first stage; of A
    int shift;        // of slot t of row g in its half of a mask

    template <class Shape> __device__ __forceinline__ void set(int warp, int lane)
    {
        int row = lane / Shape::lanes_per_row, t = lane % 4, piece_bytes = Shape::piece_words * 4;
        int mine = (Shape::height == 8 ? lane / 4 : unit<Shape>(lane / 4)) * piece_bytes;
        int mine_values = lane * (Shape::words * 2 * static_cast<int>(sizeof(typename Shape::word)));
        int rows = warp * Shape::rows_bytes, near = Shape::near_at(warp);
        to = keep(rows + row * Shape::stride + (lane % Shape::lanes_per_row ^ row % 4 * Shape::swizzle) * 16);
        column = keep(near + row * 4);
        from = keep(rows + t * Shape::stride + (mine ^ t * Shape::swizzle * 16));
        values = keep(near - (Shape::stages - 1) * Shape::values_bytes + mine_values);
        shift = keep(lane / 4 % 4 * 8 + t);
    }
};

// ---- Rows of B into the ring ----

/* Word `at` of those at `from`; words behind the end become 0. */
__device__ __forceinline__ void fetch_word(uint32_t *to, const uint32_t *from, int at, int end)
{
    cp_async<4>(to, from + at, at < end);
}

/* What a warp needs to fetch the blocks of one item, in order. */
struct fetcher {
    const unsigned char *b; // this lane's part of row 0 of B
    uint32_t pitch;         // bytes between rows of B
    int left;               // vectors of the item from the lane's first row on
    int bytes;              // from b to the end of the tile or of the row of B, whichever comes first
};

/* Eight lanes copy 128 bytes of a row at a time, so that an instruction touches four lines.  Rows of the stage that the block
 * has no vector for stay as they are: rows of B of long ago, or zeros.  Whole: no row of B ends inside the tile. */
template <class Shape, bool Whole>
__device__ __forceinline__ void fetch_rows(const fetcher &f, const uint32_t *column, unsigned char *to, int block)
{
    constexpr int rows = 32 / Shape::lanes_per_row, bytes = Shape::lanes_per_row * 16, mine = 8 * Shape::group / rows;
    const unsigned char *from[mine];
#pragma unroll
    for (int i = 0; i < mine; i++)
        from[i] = f.b + static_cast<uint64_t>(column[i * rows]) * f.pitch;
#pragma unroll
    for (int i = 0; i < mine; i++)
        if (block * 8 + i * rows < f.left) {
#pragma unroll
            for (int j = 0; j < Shape::row_bytes; j += bytes)
                if (Whole || j < f.bytes)
                    cp_async<16>(to + i * rows * Shape::stride + j, from[i] + j, true);
        }
}

// ---- Values of A into the ring ----

/* Masks in halves of 32 bits (4 rows), one per lane, and the entries of the item before each. */
template <class Shape> struct masks {
    static constexpr int halves = 2 * Shape::words, blocks = 32 / halves; // of a block; in use at a time
    uint32_t mine;
    int before, total; // total: entries before the next group, from giver::value on

    /* The masks of `block` and those after it, which are there, are put to use, and the group after them is fetched. */
    __device__ __forceinline__ void turn(ahead *near, const parts &where, int block, int nblocks, int lane)
    {
        mine = near->mask[where.of(block / blocks)][lane];
        fetch_word(near->mask[where.of(block / blocks + 1)] + lane, near->masks, (block + blocks) * halves + lane,
                   nblocks * halves);
        int bits = __popc(mine), sum = bits;
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            int other = __shfl_up_sync(all, sum, step);
            if (lane >= step)
                sum += other;
        }
        before = total + sum - bits;
        total += __shfl_sync(all, sum, 31);
    }
};

/* In memory, as values of A are there: ones. */
__device__ const uint32_t fp32_one = 0x3f800000, fp16_ones = 0x3c003c00, bf16_ones = 0x3f803f80;
__device__ const double fp64_one = 1;
template <class Shape> __device__ __forceinline__ const typename Shape::word *ones()
{
    if constexpr (Shape::arithmetic == TSR_CUDA_FP64)
        return &fp64_one;
    else if constexpr (Shape::arithmetic == TSR_CUDA_FP16)
        return &fp16_ones;
    else if constexpr (Shape::arithmetic == TSR_CUDA_BF16)
        return &bf16_ones;
    else
        return &fp32_one;
}

/* What a warp needs to fetch the values of one item: of each block a lane fetches what it will multiply, rows g and g + 8,
 * slots t and t + 4, to a place of its own in the stage; zeros where there is no entry.  16-bit numbers come as the aligned
 * pair of them that the number is in. */
template <class Shape> struct giver {
    static constexpr bool pairs = sizeof(typename Shape::element) == 2;
    using word = typename Shape::word;
    const word *value; // what m counts from; for a pattern a one
    int stored;        // 0 for a pattern, else -1
    masks<Shape> m;
    uint32_t odd; // pairs: which of the pair it was, the last fetched in the lowest bits

    static constexpr int next_block = 32 * Shape::words * 2; // words

    /* To [q][w][i]: slot t + 4 i in word w of the mask of block q of the group.  Behind the item's last block: zeros. */
    __device__ __forceinline__ void fetch(ahead *near, const parts &where, word *to, int block, int nblocks, int shift, int lane)
    {
        constexpr int halves = masks<Shape>::halves;
        int local = block % masks<Shape>::blocks;
        if (local == 0)
            m.turn(near, where, block, nblocks, lane);
#pragma unroll
        for (int q = 0; q < Shape::group; q++)
#pragma unroll
            for (int w = 0; w < Shape::words; w++) {
                int source = (local + q) * halves + 2 * w + lane / 16;
                uint32_t half = __shfl_sync(all, m.mine, source), rest = half >> shift;
                int first = __shfl_sync(all, m.before, source) + __popc(half & ((1u << shift) - 1)),
                    second = first + __popc(rest & 0xf);
                first &= stored, second &= stored;
                if constexpr (pairs) {
                    odd = odd << 2 | (first & 1) | (second & 1) << 1;
                    first = static_cast<unsigned>(first) / 2, second = static_cast<unsigned>(second) / 2;
                }
                cp_async<sizeof(word)>(to + q * next_block + w * 2, value + first, (rest & 1) != 0);
                cp_async<sizeof(word)>(to + q * next_block + w * 2 + 1, value + second, (rest & 16) != 0);
            }
    }
};

// ---- The ring ----

template <class Shape> struct ring {
    lane_places place;

    __device__ __forceinline__ ring(int warp, int lane)
    {
        place.set<Shape>(warp, lane);
        clear(lane);
    }
    static __device__ __forceinline__ ahead *near()
    {
        return reinterpret_cast<ahead *>(dynamic_shared() + Shape::near_at(threadIdx.x / 32));
    }
    /* No garbage: 0 times NaN is NaN. */
    __device__ __forceinline__ void clear(int lane) const
    {
        for (int i = lane * 16; i < Shape::rows_bytes; i += 512)
            *reinterpret_cast<uint4 *>(dynamic_shared() + threadIdx.x / 32 * Shape::rows_bytes + i) = uint4{0, 0, 0, 0};
    }
    /* The stage after the one at `offset`. */
    static __device__ __forceinline__ int next(int offset)
    {
        offset += Shape::stage_bytes;
        return offset == Shape::rows_bytes ? 0 : offset;
    }
    /* Starts fetching the blocks of step number `step`, if the item has it, to the stage at `offset` and the values at
     * `values`; their columns are there. */
    template <bool Whole> __device__ __forceinline__ void fetch(const fetcher &f, giver<Shape> &a, const parts &where,
                                                                int &offset, int values, int step, int nblocks, int lane) const
    {
        int block = step * Shape::group;
        if (block < nblocks) {
            if (block % 4 == 0)
                fetch_word(near()->column[where.of(block / 4 + 1)] + lane, near()->columns, block * 8 + 32 + lane,
                           f.left + lane / Shape::lanes_per_row);
            int column = place.column + where.of(block / 4) * 128 + block % 4 * 32;
            fetch_rows<Shape, Whole>(f, reinterpret_cast<const uint32_t *>(dynamic_shared() + column),
                                     dynamic_shared() + place.to + offset, block);
            a.fetch(near(), where, reinterpret_cast<typename Shape::word *>(dynamic_shared() + place.values + values), block,
                    nblocks, place.shift, lane);
            offset = next(offset);
        }
        cp_async_commit();
    }
    /* The values after those at `values`: there is a place less than stages, since they are read before others are fetched. */
    static __device__ __forceinline__ int next_values(int values) { return values ^ Shape::values_bytes; }
    /* Until the oldest stage is there, for all lanes; then the one before it is free. */
    __device__ __forceinline__ void wait() const
    {
        cp_async_wait<Shape::stages - 2>();
        __syncwarp();
    }
};

} // namespace bmat
