// SpMM over ME-TCF (DTC-SpMM, ASPLOS 2024).
//
// A warp, a thread block by itself, computes one work item for one tile of columns: 16 rows x 128, 256 or 512 bytes of a row of
// B.  With g = lane / 4 and t = lane % 4, lane (g, t) multiplies slots t and t + 4 of a block.
//   B     goes from global memory straight to registers: of its two rows a lane loads 16 of every 128 bytes, so that an
//         instruction fetches 4 x 128 whole bytes.  Such 16 bytes are one column each of 16 / size matrix instructions, see
//         tensor_rows.cuh.
//   A     is expanded from (local id, value) into a small tile of shared memory, which belongs to the warp.  There are two: the
//         next block's entries are scattered while this one is multiplied.  The tile is ordered by lane, so that a lane's four
//         operands are one load, and the lane that has read them writes the zeros of the next block but one in their place: the
//         only synchronisation is one __syncwarp per block.
//   All loads are issued together, after the matrix instructions of a block: the next block of B, the rows of the one after it,
//         entries 2 and bounds of entries 4 blocks ahead.  A wait for one load of the turn before is a wait for all (the compiler
//         has one counter for loads that cross a branch), so that more buffers or refilling single registers early only adds
//         waits; other warps fill the gap.
// Slots that the last block of an item lacks fetch its last row again (from L1) and multiply it by zero.
//
// DTC-SpMM's base form and its strict balance are two values of `most` in tsr_work, see tsr_cuda_me_tcf_most.
//
// variant = 10 * order + shape; 0 anywhere = the kernel's choice.
//   order  1: tiles of an item are neighbours; 2: all items of a tile come first.
//   shape  1, 2, 3: 128, 256, 512 bytes of B (512: TF32 and FP64 only).
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmm/tensor_rows.cuh"

namespace {

using arguments = tensor_rows::arguments<tsr_me_tcf>;

/* The row of B in slot `slot` of block k; past the end of the item its last one. */
static __device__ __forceinline__ uint32_t row_of(const tensor_rows::blocks &s, int k, int slot)
{
    const uint32_t vector = 8u * k + slot;
    return __ldg(s.column + (vector < s.last_vector ? vector : s.last_vector));
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

/* The tile of one block: A's operands as the matrix instructions want them, so that rounding and splitting are done once per
 * entry.  EXACT has a second plane with the low parts; a value that is not finite stands there alone, since low parts are
 * multiplied by the high part of B only and so make no NaN of Inf times a part that is 0. */
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
            a[0].bits = x.x, a[1].bits = x.y;
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
                a[0].hi = a[0].cross = x.x, a[0].lo = y.x;
                a[1].hi = a[1].cross = x.y, a[1].lo = y.y;
                a[2].hi = a[2].cross = x.z, a[2].lo = y.z;
                a[3].hi = a[3].cross = x.w, a[3].lo = y.w;
            } else {
                a[0].bits = x.x, a[1].bits = x.y, a[2].bits = x.z, a[3].bits = x.w;
            }
        }
    }
};

/* A lane's entries of the block to be scattered next: numbers lane and lane + 32.  Lanes past the last take the last, all without
 * a condition: a load that some lanes skip has to be waited for before its register is loaded again. */
template <class Element> struct entries {
    const uint8_t *locals; /* of the item's first entry */
    const Element *values;
    int first, count; /* of the block: number of its first entry in the item */
    uint32_t local[2];
    Element value[2];
};

/* Of the block after the one in `e`.  Past the end of the item `count` is 0, and lanes take the entry before. */
template <class Math, bool Pattern>
static __device__ __forceinline__ void load_entries(entries<typename Math::element> &e, int count, int lane)
{
    e.first += e.count;
    e.count = count;
    const int mine = e.first + (lane < count ? lane : count - 1);
    e.local[0] = __ldg(e.locals + mine);
    if constexpr (!Pattern)
        e.value[0] = __ldg(e.values + mine);
    if (count > 32) {
        const int other = e.first + (lane + 32 < count ? lane + 32 : count - 1);
        e.local[1] = __ldg(e.locals + other);
        if constexpr (!Pattern)
            e.value[1] = __ldg(e.values + other);
    }
}

/* Lanes that hold the same entry write the same to the same place. */
template <class Math, bool Pattern>
static __device__ __forceinline__ void scatter(unsigned char *to, const entries<typename Math::element> &e, int lane)
{
    using shape = tile<Math, Pattern>;
    shape::put(to, e.local[0], Pattern ? Math::one() : e.value[0]);
    if (e.count > 32) {
        shape::put(to, e.local[1], Pattern ? Math::one() : e.value[1]);
#pragma unroll 1
        for (int i = e.first + 64 + lane; i < e.first + e.count; i += 32)
            shape::put(to, __ldg(e.locals + i), Pattern ? Math::one() : __ldg(e.values + i));
    }
}

/* Groups: of 128 bytes of a row of B.  Full: every tile has all its columns; then B is loaded
 * without a condition, past the end of the item its last row again. */
template <class Math, int Groups, bool Pattern, bool Full, int Resident>
__global__ void __launch_bounds__(32, Resident) spmm_me_tcf(const arguments p)
{
    using element = typename Math::element;
    using sum = typename Math::sum;
    constexpr int width = tensor_rows::columns<Math>;
    constexpr int tile_bytes = tile<Math, Pattern>::bytes;
    __shared__ __align__(16) unsigned char tiles[2 * tile_bytes];

    const int lane = threadIdx.x;
    const uint32_t items = static_cast<uint32_t>(p.work.nitems);
    const uint32_t item = p.tile_major ? blockIdx.x % items : blockIdx.x / p.tiles;
    const uint32_t column_tile = p.tile_major ? blockIdx.x / items : blockIdx.x % p.tiles;
    const int64_t window = p.work.window[item];
    const int64_t first_column = static_cast<int64_t>(column_tile) * (8 * width * Groups);
    const int64_t entries_of_window = p.a.w.entry[window + 1] - p.a.w.entry[window];
    const tensor_rows::blocks s = tensor_rows::item_blocks<8>(
        p.a.w, p.a.block_entry, entries_of_window, window, p.work.block[item], p.work.block[item + 1], lane);

    sum total[Groups * width][4] = {};
    if (s.count > 0) {
        uint4 b[Groups][2] = {};
        uint32_t row[2] = {row_of(s, 0, lane % 4), row_of(s, 0, lane % 4 + 4)}; /* of B, of the block to be fetched next */
        entries<element> e;
        uint32_t bound, loaded_bound; /* of the block after the one in e, and of the next */
        const int piece = tensor_rows::piece(lane);
        const char *const base =
            tensor_rows::whole(static_cast<const char *>(p.p.b) + (first_column + width * piece) * sizeof(element), lane);
        const int64_t columns_left = p.p.n - first_column - width * piece;
        const int left = columns_left < width * 8 * Groups ? static_cast<int>(columns_left) : width * 8 * Groups;
        /* Block k of B, whose rows are known; then the rows of block k + 1. */
        auto fetch = [&](int k) {
            const char *const first = base + static_cast<uint64_t>(row[0]) * p.row_bytes;
            const char *const second = base + static_cast<uint64_t>(row[1]) * p.row_bytes;
            const int columns = k < s.count ? left : 0;
#pragma unroll
            for (int j = 0; j < Groups; j++)
                if (Full || columns > 8 * width * j) {
                    b[j][0] = __ldg(reinterpret_cast<const uint4 *>(first + 128 * j));
                    b[j][1] = __ldg(reinterpret_cast<const uint4 *>(second + 128 * j));
                }
            row[0] = row_of(s, k + 1, lane % 4);
            row[1] = row_of(s, k + 1, lane % 4 + 4);
        };

        for (int k = lane; k < 2 * tile_bytes / 16; k += 32)
            reinterpret_cast<uint4 *>(tiles)[k] = make_uint4(0, 0, 0, 0);
        const uint32_t begin = s.load_bound(0);
        bound = s.bound(1, s.load_bound(1));
        const int64_t first_entry = p.a.w.entry[window] + begin;
        e.locals = tensor_rows::whole(p.a.local + first_entry, lane);
        if constexpr (!Pattern)
            e.values = tensor_rows::whole(static_cast<const element *>(p.a.value) + first_entry, lane);
        e.first = e.count = 0;
        load_entries<Math, Pattern>(e, static_cast<int>(bound - begin), lane);
        fetch(0);
        __syncwarp();
        scatter<Math, Pattern>(tiles, e, lane);
        const uint32_t second = s.bound(2, s.load_bound(2));
        load_entries<Math, Pattern>(e, static_cast<int>(second - bound), lane);
        bound = second;
        loaded_bound = s.load_bound(3);

        /* Here: block k in its tile, entries of block k + 1 and block k of B on their way, and the rows of block k + 1. */
#pragma unroll 1
        for (int k = 0; k < s.count; k++) {
            const int current = k % 2 * tile_bytes;
            __syncwarp();
            typename Math::sparse a[Math::per_a];
            tile<Math, Pattern>::take(a, tiles + current, lane);
            scatter<Math, Pattern>(tiles + (tile_bytes - current), e, lane);
            const uint32_t next_bound = s.bound(k + 3, loaded_bound);
            load_entries<Math, Pattern>(e, static_cast<int>(next_bound - bound), lane);
#pragma unroll
            for (int j = 0; j < Groups; j++)
                tensor_rows::multiply<Math, Pattern>(total + j * width, a, b[j][0], b[j][1]);
            fetch(k + 1);
            bound = next_bound;
            loaded_bound = s.load_bound(k + 4);
        }
    }

    const tensor_output<sum> out =
        tensor_target<sum>(p.p, p.a.w.nrows, 16, window, p.work.partial[item], Pattern ? p.p.iso : 1.0);
    tensor_rows::store<Math, Groups>(out, 0, first_column, p.p.n, total, lane);
}

struct kernel {
    /* The widest tile needs too many registers where B is split (EXACT) and where 16 bytes are eight columns. */
    template <class Math> static constexpr bool has_widest = Math::pack == 1 && !Math::flushes;

    /* As wide as N needs, but not with fewer than four items for every warp that fits the device. */
    static int shape(const arguments &p, bool widest)
    {
        const int64_t bytes = p.p.n * static_cast<int64_t>(tsr_number_size(tsr_cuda_number(p.p.math)));
        const int64_t units = p.work.nitems * ((bytes + 511) / 512);
        return bytes <= 128 ? 1 : bytes <= 256 || !widest || units < 4 * 12 * p.p.device->sms ? 2 : 3;
    }

    template <class Math, int Groups, bool Pattern> static tsr_status launch(const arguments &p)
    {
        constexpr int resident = Groups == 1 ? 20 : Groups == 2 ? 16 : 12; /* warps of 96, 128, 168 registers */
        const bool full = p.p.n % (8 * tensor_rows::columns<Math> * Groups) == 0;
        auto function = full ? spmm_me_tcf<Math, Groups, Pattern, true, resident> : spmm_me_tcf<Math, Groups, Pattern, false, resident>;
        TSR_LAUNCH(function, static_cast<uint32_t>(p.work.nitems) * p.tiles, 32, 0, p.p.stream, p);
        return launch_status();
    }
};

} // namespace

extern "C" tsr_status tsr_cuda_spmm_me_tcf(const tsr_me_tcf *a, const tsr_work *work, const tsr_cuda_spmm *product)
{
    return tensor_rows::run<kernel>(a, work, product);
}
