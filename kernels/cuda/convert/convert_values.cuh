// Values of a block format: entries of a group are ordered by bit, and so the values of a row are copied in runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/convert/convert_groups.cuh"

namespace tsr_convert {
namespace {

constexpr int walk = 32;  // groups that a thread walks
constexpr int chunk = 16; // groups that a warp places together: a lane for each, in two rows
constexpr int most_height = 16; // of windows whose groups are placed so
constexpr unsigned all = 0xffffffffu;

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

inline placing placing_of(const tsr_source *in)
{
    placing p = {};
    p.p = in->p;
    p.i = in->i;
    p.x = in->x;
    return p;
}

inline tsr_status get_values(void **value, int64_t n, tsr_number number, void *stream)
{
    char *got;
    tsr_status status = get_array(&got, n * static_cast<int64_t>(tsr_number_size(number)), stream);
    *value = got;
    return status;
}

/* Waits whatever happened before; the first failure counts. */
inline tsr_status finish(tsr_status status, void *stream)
{
    tsr_status waited = tsr_cuda_wait(stream);
    return status != TSR_OK ? status : waited;
}

} // namespace
} // namespace tsr_convert
