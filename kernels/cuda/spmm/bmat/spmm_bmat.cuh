// SpMM of BMat: a warp computes work items (at most some 64 blocks of one window) times one tile of columns, one after the other.
// Nothing is shared between warps, so that no warp waits for another.
//
// The warp keeps a ring of stages in shared memory; a stage holds the 8 rows of B that one block names (or 16 and two blocks),
// cut to the tile.  Rows come by 16-byte cp.async two stages ahead: what limits this kernel is bytes in flight from L2.  Values
// of A come the same way, each lane's to a place of its own; where they are follows from population counts of the masks.
//
// With g = lane / 4 and t = lane % 4 a lane reads from rows t and t + 4 of a block, so that k = t, t + 4 are slots t, t + 4 (with
// two numbers to a register: k = 2t, 2t + 1 are slots t, t + 4).  It reads pieces of as many columns as 16 bytes of C hold:
//   height 8   M = 16 columns of B, N = 8 rows of A (operands swapped).  Lane g reads piece g of every 8.  Instruction i takes
//              number i of the first half of a piece as M = g, of the second as M = g + 8, so that the lane ends up with whole
//              pieces of rows 2t and 2t + 1.
//   height 16  M = 16 rows of A, N = 8 columns of B.  Lane g reads piece unit(g) of every 8, instruction i takes number i, and
//              the lane ends up with pieces unit(2t), unit(2t + 1) of rows g, g + 8; unit() is such that four lanes store whole
//              sectors.
// The 16-byte parts of rows are permuted so that these reads have no bank conflict.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/spmm/bmat/spmm_bmat.h"
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

// ---- Multiplication ----

__device__ __forceinline__ float number(uint32_t word) { return __uint_as_float(word); }
__device__ __forceinline__ double number(double word) { return word; }

/* The sparse operands of a step. */
template <class Shape> struct operand {
    using math = typename Shape::math;
    typename math::sparse x[Shape::group][Shape::height == 8 ? math::per_b : math::per_a];

    /* odd: as fetched with the step, in the lowest bits */
    __device__ __forceinline__ operand(const typename Shape::word *from, uint32_t odd)
    {
        using word = typename Shape::word;
#pragma unroll
        for (int q = 0; q < Shape::group; q++) {
            struct alignas(Shape::words * 2 * sizeof(word)) {
                word x[Shape::words][2];
            } v;
            v = *reinterpret_cast<const decltype(v) *>(from + q * giver<Shape>::next_block);
#pragma unroll
            for (int w = 0; w < Shape::words; w++) {
                if constexpr (math::pack == 2) {
                    uint32_t which = odd >> 2 * (Shape::group * Shape::words - 1 - q * Shape::words - w);
                    x[q][w] = {__byte_perm(v.x[w][0], v.x[w][1], 0x5410u + (which & 1) * 0x22u + (which & 2) * 0x1100u)};
                } else {
                    x[q][w] = math::make_sparse(number(v.x[w][0]));
                    x[q][w + Shape::words] = math::make_sparse(number(v.x[w][1]));
                }
            }
        }
    }
};

/* A lane's piece of one row. */
template <class Shape> struct piece {
    uint32_t x[Shape::piece_words];

    __device__ __forceinline__ void load(const unsigned char *from)
    {
        if constexpr (Shape::piece_words == 4) {
            uint4 v = *reinterpret_cast<const uint4 *>(from);
            x[0] = v.x, x[1] = v.y, x[2] = v.z, x[3] = v.w;
        } else {
            uint2 v = *reinterpret_cast<const uint2 *>(from);
            x[0] = v.x, x[1] = v.y;
        }
    }
};

/* A lane's pieces of rows t and t + 4 of every block of a step, at one place of the rows. */
template <class Shape> struct pieces {
    piece<Shape> one[Shape::group], two[Shape::group];

    __device__ __forceinline__ explicit pieces(const unsigned char *from)
    {
#pragma unroll
        for (int q = 0; q < Shape::group; q++) {
            one[q].load(from + 8 * q * Shape::stride);
            two[q].load(from + (8 * q + 4) * Shape::stride);
        }
    }
};

/* The dense operands of a step. */
template <class Shape> struct fragments {
    using math = typename Shape::math;
    static constexpr int step = Shape::height == 8 ? 2 : 1; // between t and t + 4
    typename math::dense x[Shape::group][Shape::height == 8 ? math::per_a : math::per_b];

    /* Number i of the pieces, for column g (which == 0) or g + 8 (1) of the instruction. */
    __device__ __forceinline__ void set(const pieces<Shape> &p, int i, int which)
    {
#pragma unroll
        for (int q = 0; q < Shape::group; q++) {
            const uint32_t *one = p.one[q].x, *two = p.two[q].x;
            if constexpr (math::pack == 2) {
                x[q][which] = math::make_dense(one[i / 2], two[i / 2], i % 2);
            } else if constexpr (sizeof(typename Shape::element) == 8) {
                x[q][which] = math::make_dense(__hiloint2double(one[2 * i + 1], one[2 * i]));
                x[q][which + step] = math::make_dense(__hiloint2double(two[2 * i + 1], two[2 * i]));
            } else {
                x[q][which] = math::make_dense(__uint_as_float(one[i]));
                x[q][which + step] = math::make_dense(__uint_as_float(two[i]));
            }
        }
    }
};

/* total += a b, summed over the blocks of a step: 16 x 8 operands a, 8 x 8 operands b. */
template <class Shape, class A, class B>
__device__ __forceinline__ void accumulate(typename Shape::sum total[4], const A &a, const B &b)
{
    using math = typename Shape::math;
    if constexpr (Shape::fused) {
        const uint32_t both_a[4] = {a.x[0][0].bits, a.x[0][1].bits, a.x[1][0].bits, a.x[1][1].bits};
        const uint32_t both_b[2] = {b.x[0][0].bits, b.x[1][0].bits};
        mma_m16n8k16_half<Shape::arithmetic == TSR_CUDA_BF16>(total, both_a, both_b);
    } else {
#pragma unroll
        for (int q = 0; q < Shape::group; q++)
            math::accumulate(total, a.x[q], b.x[q]);
    }
}

/* at: the place in shared memory of the lane's pieces. */
template <class Shape>
__device__ __forceinline__ void multiply(typename Shape::sum total[Shape::products][4], int at, const operand<Shape> &a)
{
    constexpr int slab_bytes = 8 * Shape::piece_words * 4, width = Shape::piece;
    /* The pieces of slab p.  (Slabs of 64 bytes share 128 bytes that are permuted.) */
    auto from = [=](int p) {
        int within = Shape::swizzle && slab_bytes == 64 ? p % 2 * 64 : 0;
        return dynamic_shared() + (at ^ within) + (p * slab_bytes - within);
    };
    fragments<Shape> b;
    if constexpr (Shape::height == 16) {
#pragma unroll
        for (int p = 0; p < Shape::pieces; p++) {
            const pieces<Shape> x(from(p));
#pragma unroll
            for (int i = 0; i < width; i++) {
                b.set(x, i, 0);
                accumulate<Shape>(total[p * width + i], a, b);
            }
        }
    } else {
#pragma unroll
        for (int p = 0; p < Shape::pieces; p++) {
            const pieces<Shape> x(from(p));
#pragma unroll
            for (int i = 0; i < width / 2; i++) {
                b.set(x, i, 0);
                b.set(x, i + width / 2, 1);
                accumulate<Shape>(total[p * (width / 2) + i], b, a);
            }
        }
    }
}

/* The lane's sums to C; column: the tile's first.  Inside: see tensor_store. */
template <bool Inside, class Shape> __device__ __forceinline__ void store(const tensor_output<typename Shape::sum> &out,
                                                                          const typename Shape::sum total[Shape::products][4],
                                                                          int64_t column, int64_t n, int lane)
{
    using sum = typename Shape::sum;
    constexpr int piece = Shape::piece, slab = Shape::slab;
    int g = lane / 4, t = lane % 4;
#pragma unroll
    for (int p = 0; p < Shape::pieces; p++)
#pragma unroll
        for (int k = 0; k < Shape::height / 4; k++) { // the pieces of slab p that this lane has
            sum x[piece];
#pragma unroll
            for (int i = 0; i < piece; i++) {
                if constexpr (Shape::height == 16)
                    x[i] = total[p * piece + i][k];
                else
                    x[i] = total[p * (piece / 2) + i % (piece / 2)][i / (piece / 2) * 2 + k];
            }
            int row = Shape::height == 16 ? g + k / 2 * 8 : 2 * t + k;
            int mine = Shape::height == 16 ? unit<Shape>(2 * t + k % 2) : g;
            tensor_store<Inside>(out, row, column + p * slab + mine * piece, n, x);
        }
}

// ---- The kernel ----

/* Item and tile of a task. */
struct place {
    int64_t item;
    int tile;
};
__device__ __forceinline__ place task_place(const matrix &a, int64_t task)
{
    if (a.tiles == 1)
        return {task, 0};
    if (a.tile_major) {
        int64_t tile = task / a.nitems;
        return {task - tile * a.nitems, static_cast<int>(tile)};
    }
    int64_t item = task / a.tiles;
    return {item, static_cast<int>(task - item * a.tiles)};
}

/* The array that lane's fact is in; its index is the item (below at_block) or the window. */
__device__ __forceinline__ const int64_t *fact_array(const matrix &a, int lane)
{
    switch (lane) {
    case at_window: return a.item_window;
    case at_first: return a.item_block;
    case at_last: return a.item_block + 1;
    case at_entry: return a.item_entry;
    case at_partial: return a.item_partial;
    case at_block: return a.window_block;
    case at_vector: return a.window_vector;
    default: return a.window_vector + 1;
    }
}

/* Fetches what the arrays of items say of `item` (< 0: none) to place `to`, and what those of windows say of the item at place
 * `of` (< 0: none). */
__device__ __forceinline__ void fetch_facts(const int64_t *const *array, ahead *near, int64_t item, int to, int of, int lane)
{
    if (lane < at_block ? item >= 0 : lane < facts && of >= 0) {
        int64_t index = lane < at_block ? item : near->fact[of][at_window];
        cp_async<8>(&near->fact[lane < at_block ? to : of][lane], array[lane] + index, true);
    }
}

/* In the ring: the stage to multiply next, the one to fetch to next, and the values of both. */
struct progress {
    int at, to, values;
};

/* One item. */
template <class Shape> struct item {
    using element = typename Shape::element;
    using sums = typename Shape::sum[Shape::products][4];
    ring<Shape> r;
    fetcher f;
    giver<Shape> g;
    parts where;
    int nblocks, lane;
    bool whole; // no row of B ends inside the tile
    int vectors; // and pointers: only until start
    const uint32_t *columns, *masks_of;

    __device__ __forceinline__ item(const matrix &a, const ring<Shape> &ring, const parts &where, const int64_t *fact, int lane)
        : r(ring), where(where), lane(lane)
    {
        int64_t first = fact[at_first], vector = fact[at_vector] + (first - fact[at_block]) * 8;
        int odd = giver<Shape>::pairs ? static_cast<int>(fact[at_entry] & 1) : 0;
        const element *value = static_cast<const element *>(a.value) + (fact[at_entry] - odd);
        nblocks = static_cast<int>(fact[at_last] - first);
        vectors = static_cast<int>(min(fact[at_end] - vector, static_cast<int64_t>(nblocks) * 8));
        columns = a.column + vector;
        masks_of = reinterpret_cast<const uint32_t *>(a.mask + first * Shape::words);
        g.value = a.value ? reinterpret_cast<const typename Shape::word *>(value) : ones<Shape>();
        g.stored = a.value ? -1 : 0;
        g.odd = 0;
        g.m.total = odd;
    }
    /* The first columns and masks. */
    __device__ __forceinline__ void fetch_first() const
    {
        fetch_word(r.near()->column[where.even] + lane, columns, lane, vectors);
        fetch_word(r.near()->mask[where.even] + lane, masks_of, lane, nblocks * masks<Shape>::halves);
    }
    template <bool Whole> __device__ __forceinline__ void fetch_steps(progress &now)
    {
#pragma unroll 1
        for (int k = 0; k < Shape::stages - 1; k++) {
            r.template fetch<Whole>(f, g, where, now.to, now.values, k, nblocks, lane);
            now.values = r.next_values(now.values);
        }
    }
    /* Starts fetching the first steps; the first columns and masks are there.  skip: bytes before the tile. */
    __device__ __forceinline__ void start(const tsr_cuda_spmm &p, int64_t skip, progress &now)
    {
        int64_t pitch = p.ldb * static_cast<int64_t>(sizeof(element));
        int within = lane % Shape::lanes_per_row * 16;
        f.pitch = keep(static_cast<uint32_t>(pitch));
        f.left = keep(vectors - lane / Shape::lanes_per_row);
        f.b = keep_address(static_cast<const unsigned char *>(p.b) + skip + within);
        f.bytes = static_cast<int>(min(pitch - skip, static_cast<int64_t>(Shape::row_bytes))) - within;
        whole = pitch - skip >= Shape::row_bytes;
        if (lane == 0) {
            r.near()->columns = columns;
            r.near()->masks = masks_of;
        }
        __syncwarp();
        if (whole)
            fetch_steps<true>(now);
        else
            fetch_steps<false>(now);
    }
    template <bool Whole> __device__ __forceinline__ void compute(sums &total, progress &now)
    {
        constexpr int bits = 2 * Shape::group * Shape::words; // of g.odd per step
        int steps = (nblocks + Shape::group - 1) / Shape::group;
#pragma unroll 1
        for (int k = 0; k < steps; k++) {
            r.wait();
            int ahead_steps = min(steps - k, Shape::stages - 1) - 1;
            const operand<Shape> x(reinterpret_cast<const typename Shape::word *>(dynamic_shared() + r.place.values + now.values),
                                   g.odd >> bits * ahead_steps);
            r.template fetch<Whole>(f, g, where, now.to, now.values, k + Shape::stages - 1, nblocks, lane);
            multiply<Shape>(total, r.place.from + now.at, x);
            now.at = r.next(now.at);
            now.values = r.next_values(now.values);
        }
    }
};

/* All that this lane has fetched by cp.async is there, for all lanes, and all lanes are done with what they read before. */
__device__ __forceinline__ void wait_all()
{
    cp_async_commit();
    cp_async_wait<0>();
    __syncwarp();
}

template <class Shape>
__global__ void __launch_bounds__(warps * 32, Shape::blocks_per_sm) spmm(const __grid_constant__ matrix a,
                                                                         const __grid_constant__ tsr_cuda_spmm p)
{
    using sum = typename Shape::sum;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    /* The tasks of this warp: task_of(0), task_of(1), ... below the end. */
    auto task_of = [&](int number) {
        int64_t team = blockIdx.x / a.team, member = blockIdx.x % a.team;
        return ((team * a.tasks + number) * a.team + member) * warps + warp;
    };
    auto has = [&](int number) { return number < a.tasks && task_of(number) < a.ntasks; };
    const int64_t **array = reinterpret_cast<const int64_t **>(dynamic_shared() + Shape::arrays_at);
    if (threadIdx.x < facts)
        array[threadIdx.x] = fact_array(a, lane);
    __syncthreads();
    if (!has(0))
        return;
    const ring<Shape> r(warp, lane);
    parts where = {0, 1, 2};
    progress now = {0, 0, 0};
    auto item_of = [&](int number) { return has(number) ? task_place(a, task_of(number)).item : -1; };
    auto tile_of = [&](int number) { return static_cast<int64_t>(task_place(a, task_of(number)).tile); };
    for (int k = 0; k < 3; k++)
        fetch_facts(array, r.near(), item_of(k), k, -1, lane);
    wait_all();
    fetch_facts(array, r.near(), -1, 0, 0, lane);
    fetch_facts(array, r.near(), -1, 0, has(1) ? 1 : -1, lane);
    wait_all();
    item<Shape> it(a, r, where, r.near()->fact[0], lane);
    it.fetch_first();
    wait_all();
    it.start(p, tile_of(0) * Shape::row_bytes, now);

    /* While a task is computed, what its successors say of themselves is on its way, and the first columns of the next one. */
#pragma unroll 1
    for (int number = 0; has(number); number++) {
        int own = number % ahead::items, next = (number + 1) % ahead::items;
        if (lane < 2)
            r.near()->target[lane] = r.near()->fact[own][lane ? at_partial : at_window];
        __syncwarp(); // then there is a place for the item after the next two
        fetch_facts(array, r.near(), item_of(number + 3), own, has(number + 2) ? (number + 2) % ahead::items : -1, lane);
        if (has(number + 1))
            item<Shape>(a, r, where.next(), r.near()->fact[next], lane).fetch_first();
        sum total[Shape::products][4] = {};
        if (it.whole)
            it.template compute<true>(total, now);
        else
            it.template compute<false>(total, now);

        wait_all();
        int64_t column = tile_of(number) * Shape::columns;
        if (a.tiles > 1 && column + Shape::columns > p.n) {
            r.clear(lane); // what follows the columns of B must not meet columns of another tile
            __syncwarp();
        }
        where = where.next();
        if (has(number + 1)) {
            it = item<Shape>(a, r, where, r.near()->fact[next], lane);
            it.start(p, tile_of(number + 1) * Shape::row_bytes, now);
        }
        const int64_t *target = r.near()->target;
        tensor_output<sum> out = tensor_target<sum>(p, a.nrows, Shape::height, target[0], target[1], a.iso);
        if (out.vectors && out.rows == Shape::height && column + Shape::columns <= p.n)
            store<true, Shape>(out, total, column, p.n, lane);
        else
            store<false, Shape>(out, total, column, p.n, lane);
        __syncwarp(); // all have read the target
    }
}

// ---- Host side ----

template <class Shape> tsr_status launch(matrix a, const tsr_cuda_spmm *p, const tsr_bmat_choice &choice)
{
    a.tiles = static_cast<int>((p->n + Shape::columns - 1) / Shape::columns);
    a.ntasks = a.nitems * a.tiles;
    a.tasks = choice.tasks;
    a.team = p->device->sms * Shape::blocks_per_sm;
    int64_t most = static_cast<int64_t>(a.team) * warps * a.tasks, blocks = (a.ntasks + most - 1) / most * a.team;
    if (a.tasks == 1)
        blocks = (a.ntasks + warps - 1) / warps;
    auto kernel = spmm<Shape>;
    if (blocks > INT32_MAX)
        return TSR_DECLINED;
    if (!tensor_allow_shared(kernel, Shape::shared_bytes))
        return TSR_INTERNAL_ERROR;
    TSR_LAUNCH(kernel, static_cast<unsigned>(blocks), warps * 32, Shape::shared_bytes, p->stream, a, *p);
    return launch_status();
}

template <tsr_cuda_math Math, int Height>
tsr_status launch_columns(const matrix &a, const tsr_cuda_spmm *p, const tsr_bmat_choice &choice)
{
    if constexpr (Math != TSR_CUDA_FP64)
        if (choice.columns == 128)
            return launch<shape<Math, Height, 128>>(a, p, choice);
    if (choice.columns == 64)
        return launch<shape<Math, Height, 64>>(a, p, choice);
    return launch<shape<Math, Height, 32>>(a, p, choice);
}

template <tsr_cuda_math Math>
tsr_status run(const tsr_bmat *a, const tsr_work *work, const tsr_cuda_spmm *p, const tsr_bmat_choice *choice)
{
    matrix m = {work->window, work->block, work->entry, work->partial, a->w.block, a->w.vector, a->w.column, a->mask, a->value,
                work->nitems, a->w.nrows, a->value ? 1.0 : p->iso, choice->tile_major, 0, 0, 0, 0};
    return a->w.height == 8 ? launch_columns<Math, 8>(m, p, *choice) : launch_columns<Math, 16>(m, p, *choice);
}

} // namespace bmat
