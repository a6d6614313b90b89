// SpMM over ME-TCF (DTC-SpMM, ASPLOS 2024).
//
// A warp computes one work item for one tile of columns: 16 rows x 128, 256 or 512 bytes of a row of B.  With g = lane / 4 and t = lane % 4,
// lane (g, t) multiplies slots t and t + 4 of a block.
//   B     goes from global memory straight to registers: of its two rows a lane loads the 16 bytes number g of every 128 bytes, so that an
//         instruction fetches 4 x 128 whole bytes.  Such 16 bytes are P = 16 / size columns of C, column g of P matrix instructions: instruction i
//         computes columns P g + i of the 8 P.  A lane ends with 16-byte pieces of rows g and g + 8 of C.
//   A     is expanded from (local id, value) into a small tile of shared memory, which belongs to the warp.  There are two: the next block's
//         entries are scattered while this one is multiplied.  The tile is ordered by lane, so that a lane's four operands are one load, and the lane
//         that has read them writes the zeros of the next block but one in their place: the only synchronisation is one __syncwarp per block.
//   Loads are issued well ahead: bounds of entries 3 blocks, entries 2, columns of B's rows depth + 1, B itself `depth` blocks, each piece
//         right after the matrix instructions that free its registers.
// Slots that the last block of an item lacks fetch its last row again (from L1) and multiply it by zero.
//
// DTC-SpMM's base form and its strict balance are two values of `most` in tsr_work, see tsr_cuda_me_tcf_most.
//
// variant = 10 * order + shape; 0 anywhere = the kernel's choice.
//   order 1: tiles of an item are neighbours; 2: all items of a tile come first.
//   shape  1, 2: 128 bytes of B, 1 or 2 blocks of it on their way;  3, 4: 256 bytes, 1 or 2 blocks;  5: 512 bytes, 1 block (no 16-bit numbers).
//          With columns left over, N not a multiple of the tile: 2, 3 or 5.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/tensor_rows.cuh"

namespace {

constexpr int warps = 4;

struct arguments {
    tsr_me_tcf a;
    tsr_work work;
    tsr_cuda_spmm p;
    uint32_t row_bytes, tiles;
    bool tile_major;
};

/* Blocks of one item, by their number in the item. */
struct blocks {
    const uint32_t *column;      /* of the item's first vector */
    const uint32_t *block_entry; /* of the item's first block */
    int count;
    uint32_t end;         /* entries of the window before the end of the item */
    uint32_t last_vector; /* of the item, from its first */

    __device__ __forceinline__ uint32_t entry(int k) const { return k < count ? __ldg(block_entry + k) : end; }
    __device__ __forceinline__ uint32_t row(int k, int slot) const
    {
        uint32_t vector = 8u * k + slot;
        return __ldg(column + (vector < last_vector ? vector : last_vector));
    }
};

static __device__ __forceinline__ blocks item_blocks(const tsr_me_tcf &a, int64_t window, int64_t first, int64_t last)
{
    blocks s;
    int64_t vector = a.w.vector[window] + 8 * (first - a.w.block[window]);
    int64_t vectors = a.w.vector[window + 1] - vector, most = 8 * (last - first);
    s.column = a.w.column + vector;
    s.block_entry = a.block_entry + first;
    s.count = static_cast<int>(last - first);
    s.end = last < a.w.block[window + 1] ? a.block_entry[last] : static_cast<uint32_t>(a.w.entry[window + 1] - a.w.entry[window]);
    s.last_vector = static_cast<uint32_t>((vectors < most ? vectors : most) - 1);
    return s;
}

/* Where the entry with this local id lies in the tile: operands of a lane together, in the order of its registers. */
template <int Pack> static __device__ __forceinline__ uint32_t tile_place(uint32_t local)
{
    uint32_t lane = (local & 0x38) << 1 | (local & 3) << 2;
    if constexpr (Pack == 2)
        return lane | (local >> 5 & 2) | (local >> 2 & 1); /* rows 8 to 15 second, slots 4 to 7 in the high half */
    else
        return lane | (local >> 1 & 2) | local >> 6;
}

/* The tile of one block: A's operands as the matrix instructions want them, so that rounding and splitting are done once per entry.
 * EXACT has a second plane with the low parts; a value that is not finite stands there alone, since low parts are multiplied by the high
 * part of B only and so make no NaN of Inf times a part that is 0. */
template <class Math, bool Pattern> struct tile {
    using element = typename Math::element;
    static constexpr bool split = Math::flushes && !Pattern;
    static constexpr int bytes = 128 * static_cast<int>(sizeof(element)) * (split ? 2 : 1);

    static __device__ __forceinline__ void put(unsigned char *tile, uint32_t local, element x)
    {
        element *to = reinterpret_cast<element *>(tile) + tile_place<Math::pack>(local);
        if constexpr (split) {
            const typename Math::sparse parts = Math::make_sparse(x);
            to[0] = __uint_as_float(parts.cross);
            to[128] = __uint_as_float(parts.cross == parts.hi ? parts.lo : parts.hi);
        } else if constexpr (Math::pack == 1 && sizeof(element) == 4 && !Pattern) {
            to[0] = __uint_as_float(Math::make_sparse(x).bits);
        } else {
            to[0] = x;
        }
    }
    /* Reads this lane's operands and leaves zeros. */
    static __device__ __forceinline__ void take(typename Math::sparse a[Math::per_a], unsigned char *tile, int lane)
    {
        if constexpr (Math::pack == 2) {
            uint2 *place = reinterpret_cast<uint2 *>(tile) + lane, x = *place;
            *place = make_uint2(0, 0);
            a[0] = {x.x};
            a[1] = {x.y};
        } else if constexpr (sizeof(element) == 8) {
            double2 *place = reinterpret_cast<double2 *>(tile) + 2 * lane, x = place[0], y = place[1];
            place[0] = place[1] = make_double2(0, 0);
            a[0] = Math::make_sparse(x.x);
            a[1] = Math::make_sparse(x.y);
            a[2] = Math::make_sparse(y.x);
            a[3] = Math::make_sparse(y.y);
        } else {
            uint4 *place = reinterpret_cast<uint4 *>(tile) + lane, x = *place;
            *place = make_uint4(0, 0, 0, 0);
            if constexpr (Math::flushes) {
                uint4 y = make_uint4(0, 0, 0, 0);
                if constexpr (split) {
                    y = place[32];
                    place[32] = make_uint4(0, 0, 0, 0);
                }
                a[0] = {x.x, y.x, x.x};
                a[1] = {x.y, y.y, x.y};
                a[2] = {x.z, y.z, x.z};
                a[3] = {x.w, y.w, x.w};
            } else {
                a[0] = {x.x};
                a[1] = {x.y};
                a[2] = {x.z};
                a[3] = {x.w};
            }
        }
    }
};

/* A lane's entries of the block to be scattered next: numbers lane and lane + 32 in registers. */
template <class Element> struct entries {
    int64_t first;  /* number of the lane's first entry in the whole matrix */
    uint32_t count; /* of the block */
    uint32_t local[2];
    Element value[2];
};

/* Of the block after the one in `e`, which has `count` entries. */
template <class Math, bool Pattern>
static __device__ __forceinline__ void load_entries(entries<typename Math::element> &e, const tsr_me_tcf &a, uint32_t count, uint32_t lane)
{
    e.first += e.count;
    e.count = count;
    const uint8_t *local = a.local + e.first;
    const typename Math::element *value = static_cast<const typename Math::element *>(a.value) + e.first;
    if (lane < count) {
        e.local[0] = __ldg(local);
        if constexpr (!Pattern)
            e.value[0] = __ldg(value);
    }
    if (count > 32 && lane + 32 < count) {
        e.local[1] = __ldg(local + 32);
        if constexpr (!Pattern)
            e.value[1] = __ldg(value + 32);
    }
}

template <class Math, bool Pattern>
static __device__ __forceinline__ void scatter(unsigned char *to, const entries<typename Math::element> &e, const tsr_me_tcf &a, uint32_t lane)
{
    using shape = tile<Math, Pattern>;
    if (lane < e.count)
        shape::put(to, e.local[0], Pattern ? Math::one() : e.value[0]);
    if (e.count <= 32)
        return;
    if (lane + 32 < e.count)
        shape::put(to, e.local[1], Pattern ? Math::one() : e.value[1]);
#pragma unroll 1
    for (uint32_t i = 64; i + lane < e.count; i += 32) {
        const typename Math::element *value = static_cast<const typename Math::element *>(a.value) + e.first + i;
        shape::put(to, __ldg(a.local + e.first + i), Pattern ? Math::one() : __ldg(value));
    }
}

/* Groups: of 128 bytes of a row of B.  Depth: blocks of B in flight.  Full: every tile has all its columns; then B is loaded
 * without a condition, past the end of the item its last row again. */
template <class Math, int Groups, int Depth, bool Pattern, bool Full, int Resident>
__global__ void __launch_bounds__(32 * warps, Resident) spmm_me_tcf(const arguments p)
{
    using element = typename Math::element;
    using sum = typename Math::sum;
    constexpr int width = tensor_rows::columns<Math>;
    constexpr int tile_bytes = tile<Math, Pattern>::bytes;
    __shared__ __align__(16) unsigned char shared_tiles[warps][2][tile_bytes];

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint32_t unit = blockIdx.x * warps + warp, items = static_cast<uint32_t>(p.work.nitems);
    if (unit >= items * p.tiles)
        return;
    const uint32_t item = p.tile_major ? unit % items : unit / p.tiles, column_tile = p.tile_major ? unit / items : unit % p.tiles;
    const int64_t window = p.work.window[item];
    const int64_t first_column = static_cast<int64_t>(column_tile) * (8 * width * Groups);
    const blocks s = item_blocks(p.a, window, p.work.block[item], p.work.block[item + 1]);

    sum total[Groups * width][4] = {};
    if (s.count > 0) {
        unsigned char(*const tiles)[tile_bytes] = shared_tiles[warp];
        uint4 b[Depth][Groups][2] = {};
        const char *from[2] = {}; /* this lane's pieces of the rows of B to be fetched next */
        uint32_t row[2] = {s.row(0, lane % 4), s.row(0, lane % 4 + 4)}; /* of B, after those */
        entries<element> e;
        uint32_t bound; /* entries of the window before the block after the one in e, and after that */
        uint32_t next_bound;
        const char *base = static_cast<const char *>(p.p.b) + (first_column + width * (lane / 4)) * sizeof(element);
        const int64_t columns_left = p.p.n - first_column - width * (lane / 4);
        const int left = columns_left < width * 8 * Groups ? static_cast<int>(columns_left) : width * 8 * Groups;
        auto fetch = [&](uint4 to[2], int j, int columns) {
            if (Full || columns > 8 * width * j) {
                to[0] = __ldg(reinterpret_cast<const uint4 *>(from[0] + 128 * j));
                to[1] = __ldg(reinterpret_cast<const uint4 *>(from[1] + 128 * j));
            }
        };
        auto next_rows = [&](int k) {
            from[0] = base + static_cast<uint64_t>(row[0]) * p.row_bytes;
            from[1] = base + static_cast<uint64_t>(row[1]) * p.row_bytes;
            row[0] = s.row(k, lane % 4);
            row[1] = s.row(k, lane % 4 + 4);
        };

        for (int k = lane; k < 2 * tile_bytes / 16; k += 32)
            reinterpret_cast<uint4 *>(tiles[0])[k] = make_uint4(0, 0, 0, 0);
        for (int d = 0; d < Depth; d++) {
            next_rows(d + 1);
            for (int j = 0; j < Groups; j++)
                fetch(b[d][j], j, d < s.count ? left : 0);
        }
        bound = s.entry(0);
        next_bound = s.entry(1);
        e.first = p.a.w.entry[window] + bound + lane;
        e.count = 0;
        load_entries<Math, Pattern>(e, p.a, next_bound - bound, lane);
        __syncwarp();
        scatter<Math, Pattern>(tiles[0], e, p.a, lane);
        bound = s.entry(2);
        load_entries<Math, Pattern>(e, p.a, bound - next_bound, lane);
        next_bound = s.entry(3);
        __syncwarp();

        /* Here: block i in its tile, entries of block i + 1 loaded, blocks i to i + Depth - 1 of B on their way. */
        for (int i = 0; i < s.count; i += 2)
#pragma unroll
            for (int odd = 0; odd < 2; odd++) {
                const int k = i + odd;
                if (k >= s.count)
                    break;
                typename Math::sparse a[Math::per_a];
                tile<Math, Pattern>::take(a, tiles[odd], lane);
                scatter<Math, Pattern>(tiles[1 - odd], e, p.a, lane);
                load_entries<Math, Pattern>(e, p.a, next_bound - bound, lane);
                bound = next_bound;
                next_bound = s.entry(k + 4);
                next_rows(k + Depth + 1);
                const int columns = k + Depth < s.count ? left : 0;
#pragma unroll
                for (int j = 0; j < Groups; j++) {
                    tensor_rows::multiply<Math, Pattern>(total + j * width, a, b[odd % Depth][j][0], b[odd % Depth][j][1]);
                    fetch(b[odd % Depth][j], j, columns);
                }
                __syncwarp();
            }
    }

    const tensor_output<sum> out = tensor_target<sum>(p.p, p.a.w.nrows, 16, window, p.work.partial[item], Pattern ? p.p.iso : 1.0);
#pragma unroll
    for (int j = 0; j < Groups; j++)
        tensor_rows::store<Math>(out, 0, first_column + 8 * width * j, p.p.n, total + j * width, lane);
}

template <class Math, int Groups, int Depth, bool Pattern, bool Full> static tsr_status launch(const arguments &p)
{
    /* Sums and pieces of B in flight, and some 50 registers more. */
    constexpr int registers = Groups * (Math::pack == 2 ? 32 : 16) + Groups * 8 * Depth;
    constexpr int resident = registers > 48 || Math::flushes ? 4 : registers > 24 ? 5 : 6;
    auto kernel = spmm_me_tcf<Math, Groups, Depth, Pattern, Full, resident>;
    unsigned grid = (static_cast<uint32_t>(p.work.nitems) * p.tiles + warps - 1) / warps;
    TSR_LAUNCH(kernel, grid, 32 * warps, 0, p.p.stream, p);
    return cudaPeekAtLastError() == cudaSuccess ? TSR_OK : TSR_INTERNAL_ERROR;
}

/* As wide as N needs; EXACT splits B, and 16-bit numbers have twice the sums: there the widest tile needs too many registers. */
static int choose_shape(const tsr_cuda_spmm &p)
{
    int64_t bytes = p.n * static_cast<int64_t>(tsr_number_size(tsr_cuda_number(p.math)));
    bool wide = p.math == TSR_CUDA_TF32 || p.math == TSR_CUDA_FP64;
    return bytes <= 128 ? 2 : bytes <= 256 || !wide ? 4 : 5;
}

template <tsr_cuda_math Math, bool Pattern> static tsr_status choose(arguments &p)
{
    using math = tensor_math<Math>;
    static const int groups_of[] = {0, 1, 1, 2, 2, 4};
    int shape = p.p.variant % 10, order = p.p.variant / 10;
    if (shape == 0)
        shape = choose_shape(p.p);
    if (shape > 5)
        return TSR_DECLINED;
    int64_t tile = 8 * tensor_rows::columns<math> * groups_of[shape], tiles = (p.p.n + tile - 1) / tile;
    if (tiles > UINT32_MAX / p.work.nitems)
        return TSR_DECLINED;
    p.tiles = static_cast<uint32_t>(tiles);
    p.tile_major = order ? order == 2 : tensor_tile_major(&p.p, p.a.w.ncols, tile, sizeof(typename math::element));
    const bool full = p.p.n % tile == 0;
    switch (shape) {
    case 1:
    case 2:
        if (!full)
            return launch<math, 1, 2, Pattern, false>(p);
        return shape == 1 ? launch<math, 1, 1, Pattern, true>(p) : launch<math, 1, 2, Pattern, true>(p);
    case 3:
    case 4:
        if (!full)
            return launch<math, 2, 1, Pattern, false>(p);
        return shape == 3 ? launch<math, 2, 1, Pattern, true>(p) : launch<math, 2, 2, Pattern, true>(p);
    default:
        if constexpr (math::pack == 1)
            return full ? launch<math, 4, 1, Pattern, true>(p) : launch<math, 4, 1, Pattern, false>(p);
        return TSR_DECLINED;
    }
}

} // namespace

extern "C" tsr_status tsr_cuda_spmm_me_tcf(const tsr_me_tcf *a, const tsr_work *work, const tsr_cuda_spmm *product)
{
    const bool pattern = a->value == nullptr;
    const uint64_t row_bytes = static_cast<uint64_t>(product->ldb) * tsr_number_size(tsr_cuda_number(product->math));
    if (!tensor_takes(product, pattern) || row_bytes > UINT32_MAX || work->nitems > UINT32_MAX)
        return TSR_DECLINED;
    if (work->nitems == 0)
        return TSR_OK;
    arguments p = {*a, *work, *product, static_cast<uint32_t>(row_bytes), 0, false};
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
