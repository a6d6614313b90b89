// SpMM over HRPB (cuTeSpMM): panels of 16 Q rows, bricks of 16 x 4.
//
// A thread block of Q warps computes one work item for one tile of columns: 16 Q rows x 128, 256 or 512 bytes of a row of B; warp
// r computes rows 16 r to 16 r + 15, the bricks of brick row r.
//   B     The 16 rows that a block of the format names are copied once (cp.async, a ring of stages) into shared memory for all
//         warps: one barrier per block, no thread block waits for another.  Rows in a stage are padded by 32 bytes, so that the
//         16-byte pieces of four rows that eight lanes read together lie in different banks.  See tensor_rows.cuh for what the
//         pieces are.
//   A     Lane g * 4 + t holds places (g, t) and (g + 8, t) of a brick, which are bits `lane` of the two halves of its pattern:
//         its values are population counts away from the brick's first.  Lanes load the bricks of a block side by side two blocks
//         ahead, and values one block ahead.  A pattern needs no load at all.
// A matrix instruction multiplies any two bricks of a warp's list at once (16 x 8): their columns need not be neighbours, since
// each brings its own rows of B.  Of an odd number the last is multiplied alone (TF32: by the instruction for 16 x 4).
// Q warps share a stage, instead of one warp with Q times the sums: the sums of 128 columns fill half of a lane's registers, and
// narrower tiles would decode every brick more often.
//
// variant = 10 * order + shape; 0 anywhere = the kernel's choice.
//   order  1: tiles of an item are neighbours; 2: all items of a tile come first.
//   shape  1, 2, 3: 128, 256, 512 bytes of B (512: no 16-bit numbers).
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmm/tensor_rows.cuh"

namespace {

using arguments = tensor_rows::arguments<tsr_hrpb>;

/* The bricks of one block, one per lane; lanes 16 to 31 have none, and so an empty pattern. */
struct bricks {
    uint32_t position, low, high, entry;
    uint32_t count; /* of the block */
};

/* first: of the block, in the whole matrix */
static __device__ __forceinline__ bricks load_bricks(const tsr_hrpb &a, int64_t first, uint32_t count, uint32_t lane)
{
    bricks d = {0, 0, 0, 0, count};
    if (lane < count) {
        const uint2 pattern = __ldg(reinterpret_cast<const uint2 *>(a.pattern) + first + lane);
        d.position = __ldg(a.position + first + lane);
        d.entry = __ldg(a.brick_entry + first + lane);
        d.low = pattern.x;
        d.high = pattern.y;
    }
    return d;
}

/* One warp's bricks of one block, four at most: this lane's values, and the brick columns. */
template <class Element> struct operands {
    int count;
    uint32_t column; /* byte i: brick column of brick i */
    Element value[4][2];
};

/* Without a branch, so that all loads of values are on their way together: bricks that do not exist are read from a lane that has
 * none. */
template <class Math, int Q, bool Pattern>
static __device__ __forceinline__ operands<typename Math::element> decode(const bricks &d, const typename Math::element *value,
                                                                           uint32_t row, uint32_t lane)
{
    using element = typename Math::element;
    operands<element> a;
    const uint32_t bit = 1u << lane, below = bit - 1;
    uint32_t mine = Q == 1 ? 0 : __ballot_sync(~0u, lane < d.count && d.position % Q == row);
    a.count = Q == 1 ? static_cast<int>(d.count) : __popc(mine);
    a.column = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int from = Q == 1 ? i : (__ffs(static_cast<int>(mine)) - 1) & 31;
        mine &= mine - 1;
        const uint32_t low = __shfl_sync(~0u, d.low, from), high = __shfl_sync(~0u, d.high, from);
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

/* Warps matter more than stages, but narrow ones have little on its way. */
template <int Groups> constexpr int stages = Groups == 1 ? 4 : 2;
template <int Groups> constexpr int stage_bytes = 16 * (128 * Groups + 32);

/* Q: warps.  Groups: of 128 bytes of a row of B. */
template <class Math, int Q, int Groups, bool Pattern, int Resident>
__global__ void __launch_bounds__(32 * Q, Resident) spmm_hrpb(const arguments p)
{
    using element = typename Math::element;
    using sum = typename Math::sum;
    constexpr int width = tensor_rows::columns<Math>, stride = 128 * Groups + 32, copies = 4 * Groups / Q;
    constexpr int ahead = stages<Groups> - 1;
    static_assert(4 * Groups % Q == 0, "every thread copies the same number of pieces");

    const int lane = threadIdx.x % 32, warp = Q == 1 ? 0 : threadIdx.x / 32;
    const uint32_t items = static_cast<uint32_t>(p.work.nitems);
    const uint32_t item = p.tile_major ? blockIdx.x % items : blockIdx.x / p.tiles;
    const uint32_t column_tile = p.tile_major ? blockIdx.x / items : blockIdx.x % p.tiles;
    const int64_t window = p.work.window[item];
    const int64_t first_column = static_cast<int64_t>(column_tile) * (8 * width * Groups);
    const int64_t first_brick = p.a.brick[window], bricks_of_window = p.a.brick[window + 1] - first_brick;
    const tensor_rows::blocks s = tensor_rows::item_blocks<16>(
        p.a.w, p.a.block_brick, bricks_of_window, window, p.work.block[item], p.work.block[item + 1], lane);

    sum total[Groups * width][4] = {};
    if (s.count > 0) {
        unsigned char *const ring = dynamic_shared();
        /* what this thread copies: this piece of every row, of rows first_row + i * 4 Q / Groups */
        const int piece = threadIdx.x % (8 * Groups), first_row = 4 * Q > Groups ? threadIdx.x / (8 * Groups) : 0;
        const bool real = first_column + width * piece < p.p.n;
        const char *const base =
            tensor_rows::whole(static_cast<const char *>(p.p.b) + (first_column + width * piece) * sizeof(element), lane);
        unsigned char *const to = ring + first_row * stride + 16 * piece;
        /* of B: the block's vector number lane % 16 */
        auto find_row = [&](int k) {
            const uint32_t vector = 16u * k + lane % 16;
            return __ldg(s.column + (vector < s.last_vector ? vector : s.last_vector));
        };
        auto copy_rows = [&](unsigned char *here, uint32_t row, bool all, uint32_t vectors) {
#pragma unroll
            for (int i = 0; i < copies; i++) {
                constexpr int step = 4 * Q / Groups;
                const uint32_t slot = first_row + i * step, source = __shfl_sync(~0u, row, slot);
                cp_async<16>(here + i * step * stride, base + static_cast<uint64_t>(source) * p.row_bytes,
                             real && (all || slot < vectors));
            }
        };
        auto copy = [&](int k, uint32_t row, int stage) {
            const uint32_t first = 16u * k;
            if (first <= s.last_vector) {
                unsigned char *const here = to + stage * stage_bytes<Groups>;
                if (s.last_vector - first >= 15)
                    copy_rows(here, row, true, 16);
                else
                    copy_rows(here, row, false, s.last_vector - first + 1);
            }
            cp_async_commit();
        };

        uint32_t row = find_row(0); /* of the block to be copied next */
        for (int k = 0; k < ahead; k++) {
            copy(k, row, k);
            row = find_row(k + 1);
        }

        const element *const value = tensor_rows::whole(static_cast<const element *>(p.a.value) + p.a.w.entry[window], lane);
        const uint32_t begin = s.load_bound(0), second = s.bound(1, s.load_bound(1));
        uint32_t bound = s.bound(2, s.load_bound(2)), loaded_bound = s.load_bound(3);
        operands<element> next =
            decode<Math, Q, Pattern>(load_bricks(p.a, first_brick + begin, second - begin, lane), value, warp, lane);
        bricks listed = load_bricks(p.a, first_brick + second, bound - second, lane);

        int stage = 0, free_stage = ahead;
        const unsigned char *const mine = ring + lane % 4 * stride + tensor_rows::piece(lane) * 16;
#pragma unroll 1
        for (int k = 0; k < s.count; k++) {
            cp_async_wait<ahead - 1>();
            sync<Q>(); /* the copies of all threads have arrived, and all have left the stage before */
            copy(k + ahead, row, free_stage);
            const operands<element> a = next;
            /* What was loaded in the turn before has been used from here on; only now more is loaded: one wait is for all. */
            next = decode<Math, Q, Pattern>(listed, value, warp, lane);
            const uint32_t next_bound = s.bound(k + 3, loaded_bound);
            listed = load_bricks(p.a, first_brick + bound, next_bound - bound, lane);
            bound = next_bound;
            loaded_bound = s.load_bound(k + 4);
            row = find_row(k + ahead + 1);

            const unsigned char *const rows = mine + stage * stage_bytes<Groups>;
#pragma unroll
            for (int i = 0; i < 4; i += 2) {
                const unsigned char *const at = rows + (a.column >> 8 * i & 0xff) * (4 * stride);
                const unsigned char *const at_second = rows + (a.column >> (8 * i + 8) & 0xff) * (4 * stride);
                if (a.count > i + 1)
                    multiply<Math, Groups, Pattern, true>(total, a.value + i, at, at_second);
                else if (a.count > i)
                    multiply<Math, Groups, Pattern, false>(total, a.value + i, at, at);
            }
            free_stage = stage;
            stage = stage + 1 == stages<Groups> ? 0 : stage + 1;
        }
    }

    const tensor_output<sum> out =
        tensor_target<sum>(p.p, p.a.w.nrows, 16 * Q, window, p.work.partial[item], Pattern ? p.p.iso : 1.0);
    tensor_rows::store<Math, Groups>(out, 16 * warp, first_column, p.p.n, total, lane);
}

struct kernel {
    /* 16-bit numbers have twice the sums. */
    template <class Math> static constexpr bool has_widest = Math::pack == 1;

    /* As wide as N needs; FP64 has twice as large sums. */
    static int shape(const arguments &p, bool widest)
    {
        const int64_t size = static_cast<int64_t>(tsr_number_size(tsr_cuda_number(p.p.math))), bytes = p.p.n * size;
        return bytes <= 128 ? 1 : bytes <= 256 || !widest || (size == 8 && p.a.w.height > 16) ? 2 : 3;
    }

    template <class Math, int Q, int Groups, bool Pattern> static tsr_status launch_height(const arguments &p)
    {
        /* Warps per multiprocessor: 16 of 128 registers; 12 of 168 where those would be spilled or stages leave no room for more. */
        constexpr int warps = Groups == 4 && (Q == 1 || Math::flushes || sizeof(typename Math::sum) == 8) ? 12 : 16;
        auto function = spmm_hrpb<Math, Q, Groups, Pattern, warps / Q>;
        const size_t shared = static_cast<size_t>(stages<Groups>) * stage_bytes<Groups>;
        if (!tensor_allow_shared(function, shared))
            return TSR_DECLINED;
        TSR_LAUNCH(function, static_cast<unsigned>(p.work.nitems) * p.tiles, 32 * Q, shared, p.p.stream, p);
        return launch_status();
    }

    template <class Math, int Groups, bool Pattern> static tsr_status launch(const arguments &p)
    {
        switch (p.a.w.height) {
        case 16: return launch_height<Math, 1, Groups, Pattern>(p);
        case 32: return launch_height<Math, 2, Groups, Pattern>(p);
        case 64: return launch_height<Math, 4, Groups, Pattern>(p);
        default: return TSR_DECLINED;
        }
    }
};

} // namespace

extern "C" tsr_status tsr_cuda_spmm_hrpb(const tsr_hrpb *a, const tsr_work *work, const tsr_cuda_spmm *product)
{
    return tensor_rows::run<kernel>(a, work, product);
}
