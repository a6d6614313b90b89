// SpMM over HRPB (cuTeSpMM): panels of 16 Q rows, bricks of 16 x 4.
//
// A thread block of Q warps computes one work item for one tile of columns: 16 Q rows x 128, 256 or 512 bytes of a row of B; warp r computes rows
// 16 r to 16 r + 15, the bricks of brick row r.
//   B     The 16 rows that a block of the format names are copied once (cp.async, a ring of stages) into shared memory for all warps: one barrier per
//         block, no thread block waits for another.  Rows in a stage are padded by 32 bytes, so that the 16-byte pieces of four rows that eight lanes
//         read together lie in different banks.  See tensor_rows.cuh for what the pieces are.
//   A     Lane g * 4 + t holds places (g, t) and (g + 8, t) of a brick, which are bits `lane` of the two halves of its pattern: its values are
//         population counts away from the brick's first.  Lanes load the bricks of a block side by side two blocks ahead, and values one block
//         ahead.  A pattern needs no load at all.
//   A matrix instruction multiplies any two bricks of a warp's list at once, (16 x 8): their columns need not be neighbours, since each brings its own
//   rows of B.  Of an odd number the last is multiplied alone (TF32: by the instruction for 16 x 4).
//   Q warps sharing a stage instead of one with Q times the sums: the sums of 128 columns fill half of a lane's registers, and narrower
//   tiles would decode every brick more often.
//
// variant = 100 * ahead + 10 * order + shape; 0 anywhere = the kernel's choice.
//   ahead  1: A is brought into the L2 cache some blocks before it is loaded.
//   order 1: tiles of an item are neighbours; 2: all items of a tile come first.
//   shape  1, 2: 128 bytes of B, a ring of 2 or 4 stages;  3, 4: 256 bytes, 2 or 3 stages;  5, 6, 7: 512 bytes, 2, 3 or 4 stages
//          (no 16-bit numbers);  8, 9: 256 or 512 bytes, 3 stages of half a block (Q = 1 only).
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/tensor_rows.cuh"

namespace {

struct arguments {
    tsr_hrpb a;
    tsr_work work;
    tsr_cuda_spmm p;
    uint32_t row_bytes, tiles;
    int stages;
    bool tile_major, ahead;
};

constexpr int blocks_ahead = 4;

/* Blocks of one item, by their number in the item. */
struct blocks {
    const uint32_t *column;      /* of the item's first vector */
    const uint32_t *block_brick; /* of the item's first block */
    int64_t first_brick;         /* of the window, and their arrays from it on */
    const uint8_t *position;
    const uint2 *pattern;
    const uint32_t *brick_entry;
    int count;
    uint32_t end;         /* bricks of the window before the end of the item */
    uint32_t last_vector; /* of the item, from its first */

    /* Bricks of the window before block k are bound(k, load_bound(k)): to be asked for early and used late. */
    __device__ __forceinline__ uint32_t load_bound(int k) const { return __ldg(block_brick + (k < count ? k : count - 1)); }
    __device__ __forceinline__ uint32_t bound(int k, uint32_t loaded) const { return k < count ? loaded : end; }
};

static __device__ __forceinline__ blocks item_blocks(const tsr_hrpb &a, int64_t window, int64_t first, int64_t last, int lane)
{
    blocks s;
    int64_t vector = a.w.vector[window] + 16 * (first - a.w.block[window]);
    int64_t vectors = a.w.vector[window + 1] - vector, most = 16 * (last - first);
    s.column = tensor_rows::whole(a.w.column + vector, lane);
    s.block_brick = tensor_rows::whole(a.block_brick + first, lane);
    s.first_brick = a.brick[window];
    s.position = tensor_rows::whole(a.position + s.first_brick, lane);
    s.pattern = tensor_rows::whole(reinterpret_cast<const uint2 *>(a.pattern) + s.first_brick, lane);
    s.brick_entry = tensor_rows::whole(a.brick_entry + s.first_brick, lane);
    s.count = static_cast<int>(last - first);
    s.end = last < a.w.block[window + 1] ? a.block_brick[last] : static_cast<uint32_t>(a.brick[window + 1] - s.first_brick);
    s.last_vector = static_cast<uint32_t>((vectors < most ? vectors : most) - 1);
    return s;
}

/* Columns, bricks and values of blocks_ahead blocks further, by the mean numbers of the item's blocks. */
static __device__ __forceinline__ tensor_rows::stream item_stream(const tsr_hrpb &a, const blocks &s, uint32_t begin, const void *value, int size,
                                                                  int lane)
{
    const int64_t first = s.first_brick + begin;
    const int bricks = static_cast<int>((s.end - begin + s.count - 1) / s.count);
    const uint32_t entry = a.brick_entry[first], last_entry = a.brick_entry[s.first_brick + s.end - 1];
    const int bytes = static_cast<int>((last_entry - entry) / s.count + 1) * size;
    tensor_rows::stream ahead = {nullptr, 0};
    if (lane == 0)
        ahead.start(s.column, 64, blocks_ahead);
    else if (lane == 1)
        ahead.start(s.block_brick, 4, blocks_ahead);
    else if (lane == 2)
        ahead.start(a.position + first, bricks, blocks_ahead);
    else if (lane == 3)
        ahead.start(a.brick_entry + first, 4 * bricks, blocks_ahead);
    else if (lane == 4)
        ahead.start(a.pattern + first, 8 * bricks, blocks_ahead);
    else if (value && 128 * (lane - 5) < bytes)
        ahead.start(static_cast<const char *>(value) + static_cast<int64_t>(entry) * size + 128 * (lane - 5), bytes, blocks_ahead);
    return ahead;
}

/* The bricks of one block, one per lane; lanes 16 to 31 have none, and so an empty pattern. */
struct bricks {
    uint32_t position, low, high, entry;
    uint32_t count; /* of the block */
};

static __device__ __forceinline__ bricks load_bricks(const blocks &s, uint32_t first, uint32_t count, uint32_t lane)
{
    bricks d = {0, 0, 0, 0, count};
    if (lane < count) {
        const uint2 pattern = __ldg(s.pattern + (first + lane));
        d.position = __ldg(s.position + (first + lane));
        d.entry = __ldg(s.brick_entry + (first + lane));
        d.low = pattern.x;
        d.high = pattern.y;
    }
    return d;
}

/* One warp's bricks of one block, four at most: this lane's values, and the brick columns. */
template <class Element> struct operands {
    int count;
    uint32_t column; /* byte i: brick column of brick i; or by column: bit i: there is a brick in column i */
    Element value[4][2];
};

/* Without a branch, so that all loads of values are on their way together: bricks that do not exist are read from a lane that has none.
 * By_column: brick i is that of brick column i. */
template <class Math, int Q, bool By_column, bool Pattern>
static __device__ __forceinline__ operands<typename Math::element> decode(const bricks &d, const typename Math::element *value,
                                                                           uint32_t row, uint32_t lane)
{
    using element = typename Math::element;
    operands<element> a;
    const uint32_t bit = 1u << lane, below = bit - 1;
    uint32_t mine = Q == 1 ? 0 : __ballot_sync(~0u, lane < d.count && d.position % Q == row);
    a.count = Q == 1 ? static_cast<int>(d.count) : __popc(mine);
    a.column = By_column ? __reduce_or_sync(~0u, lane < d.count ? 1u << d.position : 0) : 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int from = Q == 1 ? i : (__ffs(static_cast<int>(mine)) - 1) & 31;
        if constexpr (By_column)
            from = a.column >> i & 1 ? __popc(a.column & ((1u << i) - 1)) : 31;
        mine &= mine - 1;
        const uint32_t low = __shfl_sync(~0u, d.low, from), high = __shfl_sync(~0u, d.high, from);
        if constexpr (!By_column)
            a.column |= __shfl_sync(~0u, d.position, from) / Q % 4 << 8 * i;
        a.value[i][0] = a.value[i][1] = 0;
        if constexpr (Pattern) {
            a.value[i][0] = low & bit ? Math::one() : 0;
            a.value[i][1] = high & bit ? Math::one() : 0;
        } else {
            const uint32_t first = __shfl_sync(~0u, d.entry, from);
            if (low & bit)
                a.value[i][0] = __ldg(value + (first + __popc(low & below)));
            if (high & bit)
                a.value[i][1] = __ldg(value + (first + __popc(low) + __popc(high & below)));
        }
    }
    return a;
}

/* total += brick times rows [4 c, 4 c + 4) of the stage, for one or two bricks; at: this lane's piece of row t of c. */
template <class Math, int Groups, bool Pattern, bool Two>
static __device__ __forceinline__ void multiply(typename Math::sum total[][4], const typename Math::element (*value)[2],
                                                const unsigned char *at, const unsigned char *at_second)
{
    using element = typename Math::element;
    constexpr int width = tensor_rows::columns<Math>;
    const element third = Two ? value[1][0] : element(0), fourth = Two ? value[1][1] : element(0);
    typename Math::sparse a[Math::per_a];
    if constexpr (Math::pack == 2) {
        a[0] = Math::make_sparse(value[0][0], third);
        a[1] = Math::make_sparse(value[0][1], fourth);
    } else {
        a[0] = Math::make_sparse(value[0][0]);
        a[1] = Math::make_sparse(value[0][1]);
        a[2] = Math::make_sparse(third);
        a[3] = Math::make_sparse(fourth);
    }
#pragma unroll
    for (int j = 0; j < Groups; j++) {
        const uint4 x = *reinterpret_cast<const uint4 *>(at + 128 * j);
        if constexpr (Two)
            tensor_rows::multiply<Math, Pattern>(total + j * width, a, x, *reinterpret_cast<const uint4 *>(at_second + 128 * j));
        else
            tensor_rows::multiply_one<Math, Pattern>(total + j * width, a, x);
    }
}

/* All threads that share a stage. */
template <int Q> static __device__ __forceinline__ void sync()
{
    if constexpr (Q == 1)
        __syncwarp();
    else
        __syncthreads();
}

/* Until the oldest of the `stages` - 1 groups of copies on their way has arrived. */
static __device__ __forceinline__ void wait_stage(int stages)
{
    if (stages == 2)
        cp_async_wait<0>();
    else if (stages == 3)
        cp_async_wait<1>();
    else
        cp_async_wait<2>();
}

template <int Groups, int Halves> constexpr int stage_bytes = 16 / Halves * (128 * Groups + 32);

/* Q: warps.  Groups: of 128 bytes of a row of B. */
template <class Math, int Q, int Groups, int Halves, bool Pattern, int Resident>
__global__ void __launch_bounds__(32 * Q, Resident) spmm_hrpb(const arguments p)
{
    using element = typename Math::element;
    using sum = typename Math::sum;
    constexpr int width = tensor_rows::columns<Math>, stride = 128 * Groups + 32, copies = 4 * Groups / (Q * Halves);
    static_assert(4 * Groups % (Q * Halves) == 0, "every thread copies the same number of pieces");
    static_assert(Halves == 1 || Q == 1, "halves are for one warp");

    const int lane = threadIdx.x % 32, warp = Q == 1 ? 0 : threadIdx.x / 32;
    const uint32_t items = static_cast<uint32_t>(p.work.nitems);
    const uint32_t item = p.tile_major ? blockIdx.x % items : blockIdx.x / p.tiles;
    const uint32_t column_tile = p.tile_major ? blockIdx.x / items : blockIdx.x % p.tiles;
    const int64_t window = p.work.window[item];
    const int64_t first_column = static_cast<int64_t>(column_tile) * (8 * width * Groups);
    const blocks s = item_blocks(p.a, window, p.work.block[item], p.work.block[item + 1], lane);

    sum total[Groups * width][4] = {};
    if (s.count > 0) {
        unsigned char *const stages = dynamic_shared();
        /* pieces this thread copies: number threadIdx.x % (8 Groups) of the row, rows threadIdx.x / (8 Groups) + i * 32 Q / (8 Groups) */
        const int piece = threadIdx.x % (8 * Groups), first_row = 4 * Q > Groups ? threadIdx.x / (8 * Groups) : 0;
        const bool real = first_column + width * piece < p.p.n;
        const char *const base =
            tensor_rows::whole(static_cast<const char *>(p.p.b) + (first_column + width * piece) * sizeof(element), lane);
        unsigned char *const to = stages + first_row * stride + 16 * piece;
        /* of B: the block's vector number lane % 16 */
        auto find_row = [&](int k) {
            const uint32_t vector = 16u * k + lane % 16;
            return __ldg(s.column + (vector < s.last_vector ? vector : s.last_vector));
        };
        auto copy_rows = [&](unsigned char *here, uint32_t row, int half, bool all, uint32_t vectors) {
#pragma unroll
            for (int i = 0; i < copies; i++) {
                constexpr int step = 4 * Q / Groups;
                const uint32_t slot = first_row + i * step, source = __shfl_sync(~0u, row, slot + 8 * half);
                cp_async<16>(here + i * step * stride, base + static_cast<uint64_t>(source) * p.row_bytes, real && (all || slot < vectors));
            }
        };
        auto copy = [&](int k, int half, uint32_t row, int stage) {
            const uint32_t first = 16u * k + 8u * half;
            if (first <= s.last_vector) {
                unsigned char *const here = to + stage * stage_bytes<Groups, Halves>;
                if (s.last_vector - first >= 16 / Halves - 1)
                    copy_rows(here, row, half, true, 16);
                else
                    copy_rows(here, row, half, false, s.last_vector - first + 1);
            }
            cp_async_commit();
        };

        const int ahead = p.stages - 1; /* 2 with halves: the next block */
        uint32_t row = find_row(0);     /* of the block to be copied next */
        for (int k = 0; k < ahead / Halves; k++) {
            for (int half = 0; half < Halves; half++)
                copy(k, half, row, Halves * k + half);
            row = find_row(k + 1);
        }

        const element *const value = tensor_rows::whole(static_cast<const element *>(p.a.value) + p.a.w.entry[window], lane);
        const uint32_t begin = s.load_bound(0), second = s.bound(1, s.load_bound(1));
        uint32_t bound = s.bound(2, s.load_bound(2)), loaded_bound = s.load_bound(3);
        operands<element> next =
            decode<Math, Q, Halves == 2, Pattern>(load_bricks(s, begin, second - begin, lane), value, warp, lane);
        bricks listed = load_bricks(s, second, bound - second, lane);

        tensor_rows::stream stream = {nullptr, 0};
        if (p.ahead && warp == 0)
            stream = item_stream(p.a, s, begin, Pattern ? nullptr : value, sizeof(element), lane);

        int stage = 0, free_stage = ahead;
        const unsigned char *const mine = stages + lane % 4 * stride + tensor_rows::piece<true>(lane) * 16;
#pragma unroll 1
        for (int k = 0; k < s.count; k++) {
            wait_stage(p.stages);
            sync<Q>(); /* the copies of all threads have arrived, and all have left the stage before */
            copy(k + ahead / Halves, 0, row, free_stage);
            const operands<element> a = next;
            const uint32_t row_again = row;
            /* What was loaded in the turn before has been used from here on; only now more is loaded: one wait is for all. */
            next = decode<Math, Q, Halves == 2, Pattern>(listed, value, warp, lane);
            const uint32_t next_bound = s.bound(k + 3, loaded_bound);
            listed = load_bricks(s, bound, next_bound - bound, lane);
            bound = next_bound;
            loaded_bound = s.load_bound(k + 4);
            row = find_row(k + ahead / Halves + 1);
            stream.advance(k + blocks_ahead < s.count);

#pragma unroll
            for (int i = 0; i < 4; i += 2) {
                if (Halves == 2 && i == 2) {
                    wait_stage(p.stages);
                    sync<Q>();
                    copy(k + ahead / Halves, 1, row_again, free_stage);
                }
                const unsigned char *const rows = mine + stage * stage_bytes<Groups, Halves>;
                if constexpr (Halves == 2) {
                    const uint32_t there = a.column >> i & 3;
                    if (there == 3)
                        multiply<Math, Groups, Pattern, true>(total, a.value + i, rows, rows + 4 * stride);
                    else if (there == 1)
                        multiply<Math, Groups, Pattern, false>(total, a.value + i, rows, rows);
                    else if (there == 2)
                        multiply<Math, Groups, Pattern, false>(total, a.value + i + 1, rows + 4 * stride, rows);
                } else {
                    const unsigned char *const at = rows + (a.column >> 8 * i & 0xff) * (4 * stride);
                    const unsigned char *const at_second = rows + (a.column >> (8 * i + 8) & 0xff) * (4 * stride);
                    if (a.count > i + 1)
                        multiply<Math, Groups, Pattern, true>(total, a.value + i, at, at_second);
                    else if (a.count > i)
                        multiply<Math, Groups, Pattern, false>(total, a.value + i, at, at);
                }
                if (Halves == 2 || i == 2) {
                    free_stage = stage;
                    stage = stage + 1 == p.stages ? 0 : stage + 1;
                }
            }
        }
    }

    const tensor_output<sum> out = tensor_target<sum>(p.p, p.a.w.nrows, 16 * Q, window, p.work.partial[item], Pattern ? p.p.iso : 1.0);
    tensor_rows::store<Math, Groups, true>(out, 16 * warp, first_column, p.p.n, total, lane);
}

template <class Math, int Q, int Groups, bool Pattern, int Halves = 1> static tsr_status launch(const arguments &p)
{
    /* 16 warps of 128 registers fit a multiprocessor, or 12 of 168: what tiles of 512 bytes need to have several reads of a stage on their way. */
    constexpr int resident = Groups == 4 && Halves == 1 ? 12 / Q : 16 / Q;
    auto kernel = spmm_hrpb<Math, Q, Groups, Halves, Pattern, resident>;
    const size_t shared = static_cast<size_t>(p.stages) * stage_bytes<Groups, Halves>;
    if (!tensor_allow_shared(kernel, shared))
        return TSR_DECLINED;
    TSR_LAUNCH(kernel, static_cast<unsigned>(p.work.nitems) * p.tiles, 32 * Q, shared, p.p.stream, p);
    return cudaPeekAtLastError() == cudaSuccess ? TSR_OK : TSR_INTERNAL_ERROR;
}

/* As wide as N needs; 16-bit numbers have twice the sums.  Warps matter more than stages. */
static int choose_shape(const tsr_cuda_spmm &p, int q)
{
    size_t size = tsr_number_size(tsr_cuda_number(p.math));
    int64_t bytes = p.n * static_cast<int64_t>(size);
    return bytes <= 128 ? q == 1 ? 1 : 2 : bytes <= 256 || size == 2 ? 3 : 5;
}

template <tsr_cuda_math Math, bool Pattern> static tsr_status choose(arguments &p)
{
    using math = tensor_math<Math>;
    static const int groups_of[] = {0, 1, 1, 2, 2, 4, 4, 4, 2, 4}, stages_of[] = {0, 2, 4, 2, 3, 2, 3, 4, 3, 3};
    const int q = p.a.w.height / 16, order = p.p.variant / 10 % 10;
    p.ahead = p.p.variant / 100 == 1;
    int shape = p.p.variant % 10;
    if (shape == 0)
        shape = choose_shape(p.p, q);
    const int groups = groups_of[shape];
    p.stages = stages_of[shape];
    int64_t tile = 8 * tensor_rows::columns<math> * groups, tiles = (p.p.n + tile - 1) / tile;
    if (tiles > INT32_MAX / p.work.nitems)
        return TSR_DECLINED;
    p.tiles = static_cast<uint32_t>(tiles);
    p.tile_major = order ? order == 2 : tensor_tile_major(&p.p, p.a.w.ncols, tile, sizeof(typename math::element));
    if (shape >= 8) {
        if (q == 1 && shape == 8)
            return launch<math, 1, 2, Pattern, 2>(p);
        if constexpr (math::pack == 1)
            if (q == 1)
                return launch<math, 1, 4, Pattern, 2>(p);
        return TSR_DECLINED;
    }
    switch (10 * q + groups) {
    case 11: return launch<math, 1, 1, Pattern>(p);
    case 12: return launch<math, 1, 2, Pattern>(p);
    case 21: return launch<math, 2, 1, Pattern>(p);
    case 22: return launch<math, 2, 2, Pattern>(p);
    case 41: return launch<math, 4, 1, Pattern>(p);
    case 42: return launch<math, 4, 2, Pattern>(p);
    }
    if constexpr (math::pack == 1) {
        switch (10 * q + groups) {
        case 14: return launch<math, 1, 4, Pattern>(p);
        case 24: return launch<math, 2, 4, Pattern>(p);
        case 44: return launch<math, 4, 4, Pattern>(p);
        }
    }
    return TSR_DECLINED;
}

} // namespace

extern "C" tsr_status tsr_cuda_spmm_hrpb(const tsr_hrpb *a, const tsr_work *work, const tsr_cuda_spmm *product)
{
    const bool pattern = a->value == nullptr;
    const uint64_t row_bytes = static_cast<uint64_t>(product->ldb) * tsr_number_size(tsr_cuda_number(product->math));
    if (!tensor_takes(product, pattern) || row_bytes > UINT32_MAX || work->nitems > INT32_MAX)
        return TSR_DECLINED;
    if (work->nitems == 0)
        return TSR_OK;
    arguments p = {*a, *work, *product, static_cast<uint32_t>(row_bytes), 0, 0, false, false};
    tsr_status status = TSR_DECLINED;
    switch (product->math) {
    case TSR_CUDA_EXACT: status = pattern ? choose<TSR_CUDA_EXACT, true>(p) : choose<TSR_CUDA_EXACT, false>(p); break;
    case TSR_CUDA_TF32: status = pattern ? choose<TSR_CUDA_TF32, true>(p) : choose<TSR_CUDA_TF32, false>(p); break;
    case TSR_CUDA_FP16: status = pattern ? choose<TSR_CUDA_FP16, true>(p) : choose<TSR_CUDA_FP16, false>(p); break;
    case TSR_CUDA_BF16: status = pattern ? choose<TSR_CUDA_BF16, true>(p) : choose<TSR_CUDA_BF16, false>(p); break;
    case TSR_CUDA_FP64: status = pattern ? choose<TSR_CUDA_FP64, true>(p) : choose<TSR_CUDA_FP64, false>(p); break;
    }
    return status == TSR_OK ? tsr_cuda_add_partials(&a->w, work, product) : status;
}
