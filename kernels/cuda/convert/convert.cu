// The block formats on the device, bitwise those of src/format.
//
// All of them come from a window's vectors, each with the set of its rows (convert_vectors.cu).  A group is what the entries are
// ordered by: a block of ME-TCF, BMat and ME-BCRS, a brick column (4 vectors) of HRPB.  Its mask has bit row * width + slot;
// entries of a group are ordered by bit, and so the values of a row are copied in runs.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/convert/convert.cuh"

namespace tsr_convert {
namespace {

constexpr int threads = 256;
constexpr int walk = 32;  // groups that a thread walks
constexpr int chunk = 16; // groups that a warp places together: a lane for each, in two rows
constexpr int most_height = 16; // of windows whose groups are placed so
constexpr unsigned all = 0xffffffffu;

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

/* ---- values ---- */

struct placing {
    const int64_t *p;
    const uint32_t *i;
    const void *x;         // NULL: pattern
    uint64_t iso;          // ME-BCRS: bits of the one value of a pattern
    void *value;           // NULL: not wanted
    uint8_t *local;        // ME-TCF, else NULL
    uint32_t *block_entry; // ME-TCF, else NULL
};

/* A row of one group: its bits, and the entries of the group before it. */
struct row_part {
    unsigned bits;
    int before;
};

template <int Width> __device__ __forceinline__ row_part part_of(const groups &g, int64_t k, int row)
{
    const uint64_t *mask = g.mask + k * g.words;
    int bit = row * Width % 64, word = row * Width / 64, before = 0;
    for (int w = 0; w < word; w++)
        before += __popcll(__ldg(mask + w));
    uint64_t mine = __ldg(mask + word);
    return {static_cast<unsigned>(mine >> bit) & ((1u << Width) - 1),
            before + __popcll(mine & ((static_cast<uint64_t>(1) << bit) - 1))};
}

/* n values from x to `to`. */
template <int Width, class Value> __device__ __forceinline__ void copy_run(Value *to, const Value *x, int n)
{
    Value held[Width];
#pragma unroll
    for (int k = 0; k < Width; k++)
        if (k < n)
            held[k] = __ldg(x + k);
#pragma unroll
    for (int k = 0; k < Width; k++)
        if (k < n)
            to[k] = held[k];
}

/* A row of a dense block of n vectors.  `to` is 16-byte aligned if the block is full: blocks have 8 rows. */
template <int Width, class Value>
__device__ __forceinline__ void fill_run(Value *to, const Value *x, Value iso, unsigned bits, int n)
{
    constexpr int pack = 16 / static_cast<int>(sizeof(Value));
    union {
        Value one[Width];
        uint4 all[Width / pack];
    } held;
#pragma unroll
    for (int k = 0; k < Width; k++)
        held.one[k] = !(bits >> k & 1) ? Value(0) : x ? __ldg(x + __popc(bits & ((1u << k) - 1))) : iso;
    if (n == Width) {
#pragma unroll
        for (int k = 0; k < Width / pack; k++)
            reinterpret_cast<uint4 *>(to)[k] = held.all[k];
        return;
    }
#pragma unroll
    for (int k = 0; k < Width; k++)
        if (k < n)
            to[k] = held.one[k];
}

template <int Width> __device__ __forceinline__ void write_local(uint8_t *to, int row, unsigned bits)
{
    for (; bits; bits &= bits - 1)
        *to++ = static_cast<uint8_t>(row * Width + __ffs(static_cast<int>(bits)) - 1);
}

/* ---- values where rows have few entries in a group: a thread for each row ---- */

/* Where a thread is: window, row, and the entry of that row that comes next. */
struct walker {
    int64_t v, next_group, entry;
};

__device__ __forceinline__ void enter_window(walker &at, const groups &g, const placing &p, int64_t k, int row)
{
    at.v = g.window[k];
    at.next_group = g.first[at.v + 1];
    int64_t r = at.v * g.height + row;
    at.entry = r < g.nrows ? p.p[r] : 0;
}

/* A thread walks some groups for one row of the windows. */
template <int Width, class Value, bool Dense> __global__ void __launch_bounds__(threads) walk_values(groups g, placing p)
{
    int64_t t = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x, k = t / g.height * walk;
    int row = static_cast<int>(t % g.height);
    int64_t last = min(k + walk, g.ngroups);
    if (k >= last)
        return;
    const Value *x = static_cast<const Value *>(p.x);
    walker at;
    enter_window(at, g, p, k, row);
    int64_t within = k - g.first[at.v], r = at.v * g.height + row;
    if (within && r < g.nrows)
        at.entry = lower_bound(p.i, at.entry, p.p[r + 1], g.column[g.vector[at.v] + within * Width]);
    for (; k < last; k++) {
        if (k >= at.next_group)
            enter_window(at, g, p, k, row);
        row_part part = part_of<Width>(g, k, row);
        int n = __popc(part.bits);
        if (Dense) {
            int64_t first = g.vector[at.v] + (k - g.first[at.v]) * Width;
            int width = static_cast<int>(min(g.vector[at.v + 1] - first, static_cast<int64_t>(Width)));
            fill_run<Width>(static_cast<Value *>(p.value) + first * g.height + row * width, x ? x + at.entry : nullptr,
                            static_cast<Value>(p.iso), part.bits, width);
        } else {
            int64_t to = g.entry[k] + part.before;
            if (x)
                copy_run<Width>(static_cast<Value *>(p.value) + to, x + at.entry, n);
            if (p.local)
                write_local<Width>(p.local + to, row, part.bits);
            if (p.block_entry && row == 0)
                p.block_entry[k] = static_cast<uint32_t>(g.entry[k] - g.entry[g.first[at.v]]);
        }
        at.entry += n;
    }
}

/* ---- values where they have more: collected in shared memory, a warp for some groups ---- */

/* Where the group of a lane is. */
struct lane_group {
    int64_t k, v, first; // group, window, first group of the window
    bool valid;
};

__device__ __forceinline__ lane_group group_of(const groups &g, int64_t k, int64_t last)
{
    lane_group at;
    at.k = k;
    at.valid = k < last;
    at.v = at.valid ? __ldg(g.window + k) : 0;
    at.first = at.valid ? __ldg(g.first + at.v) : k;
    return at;
}

/* The entry of each row that comes next in the window of group k, if that began before. */
template <int Width> __device__ __forceinline__ void find_cursors(int64_t *cursor, const groups &g, const placing &p, int64_t k)
{
    int64_t v = g.window[k], within = k - g.first[v];
    for (int row = threadIdx.x % 32; row < g.height; row += 32) {
        int64_t r = v * g.height + row;
        if (within && r < g.nrows)
            cursor[row] = lower_bound(p.i, p.p[r], p.p[r + 1], g.column[g.vector[v] + within * Width]);
    }
    __syncwarp();
}

/* The first entry of a row in the lane's group, of n there.  cursor: the row's next entry, kept for the next chunk. */
__device__ __forceinline__ int64_t find_entry(int64_t *cursor, const groups &g, const placing &p, const lane_group &at,
                                              int64_t from, int row, int n)
{
    int lane = threadIdx.x % chunk, upto = n;
    for (int d = 1; d < chunk; d *= 2) {
        int other = __shfl_up_sync(all, upto, d, chunk);
        upto += lane >= d ? other : 0;
    }
    int before = upto - n, head = at.first > from ? static_cast<int>(at.first - from) : 0;
    int within = before - __shfl_sync(all, before, head, chunk);
    int64_t r = at.v * g.height + row, start = at.first < from ? cursor[row] : at.valid && r < g.nrows ? __ldg(p.p + r) : 0;
    __syncwarp();
    if (lane == chunk - 1)
        cursor[row] = start + within + n;
    return start + within;
}

/* What a warp collects before it is written: entries [first, first + n) of the result. */
template <class Value> struct staging {
    static constexpr int capacity = 832;
    static constexpr int warps = sizeof(Value) == 8 ? 4 : 8; // that have room for so many in one block of threads
    static constexpr int value_bytes = capacity * static_cast<int>(sizeof(Value)), local_bytes = capacity + 16;
    Value *value;
    uint8_t *local; // as far from a multiple of 4 as its place in the result
    int64_t first;
    int n;

    __device__ staging(const groups &g, const placing &p, int64_t from, int64_t last)
    {
        unsigned char *mine = dynamic_shared() + threadIdx.x / 32 * ((p.x ? value_bytes : 0) + (p.local ? local_bytes : 0));
        first = __ldg(g.entry + from);
        n = static_cast<int>(__ldg(g.entry + last) - first);
        value = reinterpret_cast<Value *>(mine);
        local = mine + (p.x ? value_bytes : 0) + first % 4;
    }
};

template <class Value> __device__ __forceinline__ void flush(const staging<Value> &s, const placing &p)
{
    int lane = threadIdx.x % 32;
    if (p.x)
        for (int k = lane; k < s.n; k += 32)
            static_cast<Value *>(p.value)[s.first + k] = s.value[k];
    if (!p.local)
        return;
    uint8_t *to = p.local + s.first;
    int lead = min(static_cast<int>(-s.first & 3), s.n), quads = (s.n - lead) / 4, tail = lead + 4 * quads;
    for (int k = lane; k < quads; k += 32)
        reinterpret_cast<uint32_t *>(to + lead)[k] = reinterpret_cast<const uint32_t *>(s.local + lead)[k];
    if (lane < lead)
        to[lane] = s.local[lane];
    if (tail + lane < s.n)
        to[tail + lane] = s.local[tail + lane];
}

/* The rows of groups [from, last): into the staging, or in place. */
template <int Width, class Value, bool Staged> __device__ __forceinline__ void
place_rows(int64_t *cursor, const groups &g, const placing &p, const lane_group &at, const staging<Value> &s, int64_t from)
{
    int64_t entry = at.valid ? __ldg(g.entry + at.k) : 0;
#pragma unroll 2
    for (int row = threadIdx.x % 32 / chunk; row < g.height; row += 2) {
        row_part part = at.valid ? part_of<Width>(g, at.k, row) : row_part{0, 0};
        int64_t next = find_entry(cursor, g, p, at, from, row, __popc(part.bits)), to = entry + part.before;
        if (p.x)
            copy_run<Width>(Staged ? s.value + (to - s.first) : static_cast<Value *>(p.value) + to,
                            static_cast<const Value *>(p.x) + next, __popc(part.bits));
        if (p.local)
            write_local<Width>(Staged ? s.local + (to - s.first) : p.local + to, row, part.bits);
    }
}

/* Groups [from, last), 16 at most. */
template <int Width, class Value>
__device__ __forceinline__ void place_chunk(int64_t *cursor, const groups &g, const placing &p, int64_t from, int64_t last)
{
    int lane = threadIdx.x % 32;
    lane_group at = group_of(g, from + lane % chunk, last);
    staging<Value> s(g, p, from, last);
    if (p.block_entry && lane < chunk && at.valid)
        p.block_entry[at.k] = static_cast<uint32_t>(g.entry[at.k] - g.entry[at.first]);
    if (s.n <= s.capacity) {
        place_rows<Width, Value, true>(cursor, g, p, at, s, from);
        __syncwarp();
        flush(s, p);
    } else {
        place_rows<Width, Value, false>(cursor, g, p, at, s, from);
    }
    __syncwarp();
}

/* A warp places `chunks` chunks of groups. */
template <int Width, class Value> __global__ void __launch_bounds__(32 * staging<Value>::warps)
    place_values(groups g, placing p, int chunks)
{
    constexpr int warps = staging<Value>::warps;
    __shared__ int64_t cursors[warps][most_height];
    int64_t *cursor = cursors[threadIdx.x / 32];
    int64_t from = (static_cast<int64_t>(blockIdx.x) * warps + threadIdx.x / 32) * chunks * chunk,
            end = min(from + chunks * chunk, g.ngroups);
    if (from >= end)
        return;
    find_cursors<Width>(cursor, g, p, from);
    for (; from < end; from += chunk)
        place_chunk<Width, Value>(cursor, g, p, from, min(from + chunk, end));
}

/* ---- which of the two ---- */

template <int Width, class Value> tsr_status queue_placing(const groups &g, const placing &p, void *stream)
{
    typedef staging<Value> stage;
    auto kernel = place_values<Width, Value>;
    // Warps that do more find the cursors less often, but there should be enough of them.
    int chunks = static_cast<int>(min(max(g.ngroups / (chunk * 16384), static_cast<int64_t>(1)), static_cast<int64_t>(8)));
    int shared = stage::warps * ((p.x ? stage::value_bytes : 0) + (p.local ? stage::local_bytes : 0));
    TSR_LAUNCH(kernel, blocks_for(g.ngroups, chunks * chunk * stage::warps), 32 * stage::warps, shared, stream, g, p, chunks);
    return launch_status();
}

template <int Width, class Value, bool Dense> tsr_status queue_values(const groups &g, const placing &p, void *stream)
{
    if constexpr (Width == 8 && !Dense)
        if (2 * g.nvals >= 5 * g.ngroups * g.height)
            return queue_placing<Width, Value>(g, p, stream);
    auto kernel = walk_values<Width, Value, Dense>;
    TSR_LAUNCH(kernel, blocks_for(ceil_div(g.ngroups, walk) * g.height, threads), threads, 0, stream, g, p);
    return launch_status();
}

template <int Width, bool Dense> tsr_status queue_values(const groups &g, const placing &p, tsr_number number, void *stream)
{
    if (g.ngroups == 0)
        return TSR_OK;
    switch (tsr_number_size(number)) {
    case 2: return queue_values<Width, uint16_t, Dense>(g, p, stream);
    case 4: return queue_values<Width, uint32_t, Dense>(g, p, stream);
    default: return queue_values<Width, uint64_t, Dense>(g, p, stream);
    }
}

/* ---- groups ---- */

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

groups groups_of(const tsr_windows &w, const vectors &v, int width)
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

placing placing_of(const tsr_source *in)
{
    placing p = {};
    p.p = in->p;
    p.i = in->i;
    p.x = in->x;
    return p;
}

tsr_status get_values(void **value, int64_t n, tsr_number number, void *stream)
{
    char *got;
    tsr_status status = get_array(&got, n * static_cast<int64_t>(tsr_number_size(number)), stream);
    *value = got;
    return status;
}

/* Waits whatever happened before; the first failure counts. */
tsr_status finish(tsr_status status, void *stream)
{
    tsr_status waited = tsr_cuda_wait(stream);
    return status != TSR_OK ? status : waited;
}

/* ---- Stencils ---- */

/* A warp turns the rows of a block's vectors, one for each lane, into slots of its rows. */
__global__ void __launch_bounds__(threads) turn_vectors(tsr_windows w, const uint32_t *rows, uint32_t *slots)
{
    const int64_t block = (blockIdx.x * int64_t(threads) + threadIdx.x) / 32;
    const int lane = static_cast<int>(threadIdx.x % 32);
    if (block >= w.nblocks)
        return;
    const int64_t v = find_range(w.block, w.nwindows, block), vector = w.vector[v] + (block - w.block[v]) * w.width + lane;
    const uint32_t mine = vector < w.vector[v + 1] ? rows[vector] : 0;
    uint32_t turned = 0;
#pragma unroll
    for (int r = 0; r < 32; r++) {
        const uint32_t row = __ballot_sync(0xffffffffu, static_cast<int>(mine >> r & 1));
        turned = lane == r ? row : turned;
    }
    slots[block * 32 + lane] = turned;
}

tsr_status fill_stencil(tsr_stencil *out, const vectors &v, void *stream)
{
    tsr_status status = get_array(&out->slots, out->w.nblocks * TSR_STENCIL_HEIGHT, stream);
    if (status != TSR_OK || out->w.nblocks == 0)
        return status;
    TSR_LAUNCH(turn_vectors, blocks_for(out->w.nblocks, threads / 32), threads, 0, stream, out->w, static_cast<const uint32_t *>(v.rows),
               out->slots);
    return launch_status();
}

/* ---- BMat and ME-TCF ---- */

/* mask: NULL, then it is scratch. */
template <class Rows>
tsr_status fill_blocks(const tsr_windows &w, const vectors &v, placing p, uint64_t *mask, tsr_number number, void *stream)
{
    groups g = groups_of(w, v, 8);
    Arena arena(stream);
    char *scratch;
    g.mask = mask;
    if (!mask)
        arena.want(&g.mask, g.ngroups * g.words);
    arena.want(&g.entry, g.ngroups + 1);
    arena.want(&g.window, g.ngroups);
    arena.want(&scratch, static_cast<int64_t>(tsr_cuda_scan_bytes(g.ngroups)));
    tsr_status status = arena.get();
    if (status == TSR_OK)
        status = fill_groups<Rows, 8>(g, scratch, stream);
    if (status == TSR_OK && (p.x || p.local))
        status = queue_values<8, false>(g, p, number, stream);
    return status;
}

tsr_status fill_bmat(tsr_bmat *out, const vectors &v, const tsr_source *in, void *stream)
{
    placing p = placing_of(in);
    tsr_status status = get_array(&out->mask, out->w.nblocks * (out->w.height / 8), stream);
    if (status == TSR_OK && in->x)
        status = get_values(&out->value, in->nvals, in->number, stream);
    p.value = out->value;
    if (status != TSR_OK)
        return status;
    return out->w.height == 8 ? fill_blocks<uint8_t>(out->w, v, p, out->mask, in->number, stream)
                              : fill_blocks<uint16_t>(out->w, v, p, out->mask, in->number, stream);
}

tsr_status fill_me_tcf(tsr_me_tcf *out, const vectors &v, const tsr_source *in, void *stream)
{
    placing p = placing_of(in);
    tsr_status status = get_array(&out->block_entry, out->w.nblocks, stream);
    if (status == TSR_OK)
        status = get_array(&out->local, in->nvals, stream);
    if (status == TSR_OK && in->x)
        status = get_values(&out->value, in->nvals, in->number, stream);
    p.value = out->value;
    p.local = out->local;
    p.block_entry = out->block_entry;
    return status != TSR_OK ? status : fill_blocks<uint16_t>(out->w, v, p, nullptr, in->number, stream);
}

/* ---- ME-BCRS ---- */

uint64_t bits_of(double value, tsr_number number)
{
    uint64_t bits = 0;
    float single = static_cast<float>(value);
    __half half = __double2half(value);
    __nv_bfloat16 brain = __double2bfloat16(value);
    bool nan = value != value;
    const uint16_t canonical = 0x7fff;
    switch (number) {
    case TSR_NUMBER_FP64: memcpy(&bits, &value, sizeof value); break;
    case TSR_NUMBER_FP32: memcpy(&bits, &single, sizeof single); break;
    case TSR_NUMBER_FP16: memcpy(&bits, nan ? static_cast<const void *>(&canonical) : &half, sizeof half); break;
    default: memcpy(&bits, nan ? static_cast<const void *>(&canonical) : &brain, sizeof brain);
    }
    return bits;
}

template <int Width> tsr_status fill_me_bcrs(tsr_me_bcrs *out, const vectors &v, const tsr_source *in, double iso, void *stream)
{
    groups g = groups_of(out->w, v, Width);
    placing p = placing_of(in);
    Arena arena(stream);
    arena.want(&g.mask, g.ngroups * g.words);
    arena.want(&g.window, g.ngroups);
    tsr_status status = arena.get();
    if (status == TSR_OK)
        status = get_values(&out->value, 8 * out->w.nvectors, in->number, stream);
    p.value = out->value;
    p.iso = bits_of(iso, in->number);
    if (status == TSR_OK)
        status = fill_groups<uint8_t, Width>(g, nullptr, stream);
    return status == TSR_OK ? queue_values<Width, true>(g, p, in->number, stream) : status;
}

/* ---- HRPB ---- */

struct bricks {
    int64_t *brick;        // as in tsr_hrpb
    uint32_t *block_brick;
    uint8_t *position;
    uint64_t *pattern;
    uint32_t *brick_entry;
    const int64_t *block;
};

__global__ void __launch_bounds__(threads) sum_bricks(groups g, int64_t *brick)
{
    int64_t v = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
    if (v <= g.nwindows)
        brick[v] = g.brick[g.first[v]];
}

__global__ void __launch_bounds__(threads) list_bricks(groups g, bricks b)
{
    int64_t k = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
    if (k >= g.ngroups)
        return;
    int64_t v = g.window[k], first = g.first[v], at = g.brick[k], within = k - first;
    uint32_t entry = static_cast<uint32_t>(g.entry[k] - g.entry[first]);
    if (within % 4 == 0)
        b.block_brick[b.block[v] + within / 4] = static_cast<uint32_t>(at - g.brick[first]);
    for (int w = 0; w < g.words; w++) {
        uint64_t pattern = g.mask[k * g.words + w];
        if (!pattern)
            continue;
        b.position[at] = static_cast<uint8_t>(within % 4 * g.words + w);
        b.pattern[at] = pattern;
        b.brick_entry[at] = entry;
        entry += static_cast<uint32_t>(__popcll(pattern));
        at++;
    }
}

tsr_status get_bricks(tsr_hrpb *out, const groups &g, void *stream)
{
    tsr_status status = tsr_cuda_to_host(&out->nbricks, g.brick + g.ngroups, sizeof out->nbricks, stream);
    if (status == TSR_OK)
        status = tsr_cuda_wait(stream);
    if (status == TSR_OK)
        status = get_array(&out->brick, out->w.nwindows + 1, stream);
    if (status == TSR_OK)
        status = get_array(&out->block_brick, out->w.nblocks, stream);
    if (status == TSR_OK)
        status = get_array(&out->position, out->nbricks, stream);
    if (status == TSR_OK)
        status = get_array(&out->pattern, out->nbricks, stream);
    return status == TSR_OK ? get_array(&out->brick_entry, out->nbricks, stream) : status;
}

tsr_status fill_bricks(const tsr_hrpb *out, const groups &g, void *stream)
{
    bricks b = {out->brick, out->block_brick, out->position, out->pattern, out->brick_entry, out->w.block};
    TSR_LAUNCH(sum_bricks, blocks_for(g.nwindows + 1, threads), threads, 0, stream, g, out->brick);
    if (g.ngroups)
        TSR_LAUNCH(list_bricks, blocks_for(g.ngroups, threads), threads, 0, stream, g, b);
    return launch_status();
}

tsr_status fill_brick_columns(const groups &g, void *scratch, void *stream)
{
    switch (g.height) {
    case 16: return fill_groups<uint16_t, 4>(g, scratch, stream);
    case 32: return fill_groups<uint32_t, 4>(g, scratch, stream);
    default: return fill_groups<uint64_t, 4>(g, scratch, stream);
    }
}

tsr_status fill_hrpb(tsr_hrpb *out, const vectors &v, const tsr_source *in, void *stream)
{
    groups g = groups_of(out->w, v, 4);
    placing p = placing_of(in);
    Arena arena(stream);
    char *scratch;
    arena.want(&g.mask, g.ngroups * g.words);
    arena.want(&g.entry, g.ngroups + 1);
    arena.want(&g.window, g.ngroups);
    arena.want(&g.brick, g.ngroups + 1);
    arena.want(&scratch, static_cast<int64_t>(tsr_cuda_scan_bytes(g.ngroups)));
    tsr_status status = arena.get();
    if (status == TSR_OK && in->x)
        status = get_values(&out->value, in->nvals, in->number, stream);
    p.value = out->value;
    if (status == TSR_OK)
        status = fill_brick_columns(g, scratch, stream);
    if (status == TSR_OK && in->x)
        status = queue_values<4, false>(g, p, in->number, stream);
    if (status == TSR_OK)
        status = get_bricks(out, g, stream);
    return status == TSR_OK ? fill_bricks(out, g, stream) : status;
}

} // namespace
} // namespace tsr_convert

using namespace tsr_convert;

extern "C" tsr_status tsr_cuda_make_bmat(tsr_bmat *out, const tsr_source *in, int height, void *stream)
{
    *out = {};
    if (height != 8 && height != 16)
        return TSR_INVALID_VALUE;
    vectors v;
    tsr_status status = make_vectors(&out->w, &v, in, height, 8, 0, stream);
    if (status == TSR_OK)
        status = fill_bmat(out, v, in, stream);
    tsr_cuda_free(v.rows, stream);
    status = finish(status, stream);
    if (status != TSR_OK)
        tsr_cuda_free_bmat(out, stream);
    return status;
}

extern "C" tsr_status tsr_cuda_make_me_tcf(tsr_me_tcf *out, const tsr_source *in, void *stream)
{
    *out = {};
    vectors v;
    tsr_status status = make_vectors(&out->w, &v, in, 16, 8, 0, stream);
    if (status == TSR_OK)
        status = fill_me_tcf(out, v, in, stream);
    tsr_cuda_free(v.rows, stream);
    status = finish(status, stream);
    if (status != TSR_OK)
        tsr_cuda_free_me_tcf(out, stream);
    return status;
}

extern "C" tsr_status tsr_cuda_make_me_bcrs(tsr_me_bcrs *out, const tsr_source *in, int width, double iso, void *stream)
{
    *out = {};
    if (width != 8 && width != 16)
        return TSR_INVALID_VALUE;
    vectors v;
    tsr_status status = make_vectors(&out->w, &v, in, 8, width, 0, stream);
    if (status == TSR_OK)
        status = width == 8 ? fill_me_bcrs<8>(out, v, in, iso, stream) : fill_me_bcrs<16>(out, v, in, iso, stream);
    tsr_cuda_free(v.rows, stream);
    status = finish(status, stream);
    if (status != TSR_OK)
        tsr_cuda_free_me_bcrs(out, stream);
    return status;
}

extern "C" tsr_status tsr_cuda_make_hrpb(tsr_hrpb *out, const tsr_source *in, int height, void *stream)
{
    *out = {};
    if (height != 16 && height != 32 && height != 64)
        return TSR_INVALID_VALUE;
    vectors v;
    tsr_status status = make_vectors(&out->w, &v, in, height, 16, 4, stream);
    if (status == TSR_OK)
        status = fill_hrpb(out, v, in, stream);
    tsr_cuda_free(v.group, stream);
    tsr_cuda_free(v.rows, stream);
    status = finish(status, stream);
    if (status != TSR_OK)
        tsr_cuda_free_hrpb(out, stream);
    return status;
}

extern "C" tsr_status tsr_cuda_make_stencil(tsr_stencil *out, const tsr_source *in, void *stream)
{
    *out = {};
    vectors v;
    tsr_status status = make_vectors(&out->w, &v, in, TSR_STENCIL_HEIGHT, TSR_STENCIL_WIDTH, 0, stream);
    if (status == TSR_OK)
        status = fill_stencil(out, v, stream);
    tsr_cuda_free(v.rows, stream);
    status = finish(status, stream);
    if (status != TSR_OK)
        tsr_cuda_free_stencil(out, stream);
    return status;
}

extern "C" void tsr_cuda_free_bmat(tsr_bmat *a, void *stream)
{
    free_windows(&a->w, stream);
    tsr_cuda_free(a->mask, stream);
    tsr_cuda_free(a->value, stream);
    *a = {};
}

extern "C" void tsr_cuda_free_me_tcf(tsr_me_tcf *a, void *stream)
{
    free_windows(&a->w, stream);
    tsr_cuda_free(a->block_entry, stream);
    tsr_cuda_free(a->local, stream);
    tsr_cuda_free(a->value, stream);
    *a = {};
}

extern "C" void tsr_cuda_free_me_bcrs(tsr_me_bcrs *a, void *stream)
{
    free_windows(&a->w, stream);
    tsr_cuda_free(a->value, stream);
    *a = {};
}

extern "C" void tsr_cuda_free_hrpb(tsr_hrpb *a, void *stream)
{
    free_windows(&a->w, stream);
    tsr_cuda_free(a->brick, stream);
    tsr_cuda_free(a->block_brick, stream);
    tsr_cuda_free(a->position, stream);
    tsr_cuda_free(a->pattern, stream);
    tsr_cuda_free(a->brick_entry, stream);
    tsr_cuda_free(a->value, stream);
    *a = {};
}

extern "C" void tsr_cuda_free_stencil(tsr_stencil *a, void *stream)
{
    free_windows(&a->w, stream);
    tsr_cuda_free(a->slots, stream);
    *a = {};
}
