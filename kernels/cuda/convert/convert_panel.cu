// Panels on the device, bitwise those of src/format.
//
// Spans are cut into blocks by warps: sums over the entries of lanes' vectors tell every lane how large the block is that it is in.  Then a
// warp walks a few blocks one after the other.  Lane l has vectors l (and l + 32) of the block as sets of rows; votes turn them into rows l
// (and l + 32) as sets of slots.  A lane knows which entry of its rows comes next.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/convert/convert.cuh"

namespace tsr_convert {
namespace {

constexpr int threads = 256;
constexpr int chunk = 8; // blocks that a warp walks
constexpr unsigned all = 0xffffffffu;

struct panels {
    tsr_windows w;
    const void *rows;  // [nvectors] height/8 bytes each
    const int64_t *p;
    const uint32_t *i;
    const void *x;     // NULL: pattern
    uint64_t iso;      // bits of the one value of a pattern
    int64_t nspans;
    const int64_t *span; // [nwindows+1] spans before the window
    int64_t *parts;      // [nspans+1] blocks of each span; later before it
    int64_t *begin, *first;
    unsigned char *data;
    unsigned long long *largest;
    int most, head, entry_bytes; // entries of a block; bytes of a block's words, of an entry
    int spare;           // places of a block besides those of its entries
};

template <class Rows> constexpr int height_of = 8 * static_cast<int>(sizeof(Rows));

/* Where a warp is: things of windows (spans, blocks) [k, last), and the window of thing k.  before: [nwindows+1] things before a window. */
struct position {
    const int64_t *before;
    int64_t k, last, v, next; // next: first thing after the window
};

__device__ __forceinline__ void enter_window(position &at, const panels &j)
{
    int64_t v = at.v + 1;
    if (v >= j.w.nwindows || at.before[v + 1] <= at.k || at.before[v] > at.k)
        v = find_range(at.before, j.w.nwindows, at.k);
    at.v = v;
    at.next = at.before[v + 1];
}

/* false: nothing is left for this warp. */
__device__ __forceinline__ bool find_place(position &at, const panels &j, const int64_t *before, int64_t n)
{
    at.before = before;
    at.k = (static_cast<int64_t>(blockIdx.x) * (threads / 32) + threadIdx.x / 32) * chunk;
    at.last = min(at.k + chunk, n);
    if (at.k >= at.last)
        return false;
    at.v = find_range(before, j.w.nwindows, at.k) - 1;
    enter_window(at, j);
    return true;
}

/* Vectors [first, first + n) of a span or a block. */
struct slice {
    int64_t first;
    int n;
};
__device__ __forceinline__ slice span_at(const position &at, const panels &j)
{
    int64_t first = j.w.vector[at.v] + (at.k - at.before[at.v]) * j.w.width;
    return {first, static_cast<int>(min(j.w.vector[at.v + 1] - first, static_cast<int64_t>(j.w.width)))};
}
__device__ __forceinline__ slice block_at(const position &at, const panels &j)
{
    return {j.begin[at.k], static_cast<int>(j.begin[at.k + 1] - j.begin[at.k])};
}

template <class Rows, int Parts> __device__ __forceinline__ void load_rows(Rows (&rows)[Parts], const panels &j, const slice &s)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int h = 0; h < Parts; h++)
        rows[h] = lane + 32 * h < s.n ? static_cast<const Rows *>(j.rows)[s.first + lane + 32 * h] : 0;
}

__device__ __forceinline__ int count_bits(uint32_t x) { return __popc(x); }
__device__ __forceinline__ int count_bits(uint64_t x) { return __popcll(x); }
__device__ __forceinline__ int first_bit(uint32_t x) { return __ffs(static_cast<int>(x)) - 1; }
__device__ __forceinline__ int first_bit(uint64_t x) { return __ffsll(static_cast<long long>(x)) - 1; }

/* Sum over the lanes up to this one. */
__device__ __forceinline__ int sum_up(int x)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        int other = __shfl_up_sync(all, x, d);
        x += lane >= d ? other : 0;
    }
    return x;
}

/* The same among 8 lanes. */
__device__ __forceinline__ int sum_eight(int x)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int d = 1; d < 8; d *= 2) {
        int other = __shfl_up_sync(all, x, d);
        x += lane % 8 >= d ? other : 0;
    }
    return x;
}

/* How a span is cut, as seen by vector l + 32 h of it: whether a block begins there, and the entries of the block it is in. */
template <int Parts> struct cut {
    unsigned starts[Parts]; // of all lanes
    int entries[Parts];
};

/* Entries before vector x of the span; upto: sums up to each vector. */
template <int Parts> __device__ __forceinline__ int entries_before(const int (&upto)[Parts], int x)
{
    int sum = __shfl_sync(all, upto[0], (x - 1) & 31);
    if (Parts == 2) {
        int high = __shfl_sync(all, upto[Parts - 1], (x - 1) & 31);
        sum = x > 32 ? high : sum;
    }
    return x > 0 ? sum : 0;
}

template <class Rows, int Parts> __device__ __forceinline__ cut<Parts> cut_span(const panels &j, const slice &s)
{
    int lane = threadIdx.x % 32, upto[Parts], before = 0;
    Rows rows[Parts];
    cut<Parts> c;
    load_rows<Rows, Parts>(rows, j, s);
#pragma unroll
    for (int h = 0; h < Parts; h++) {
        upto[h] = before + sum_up(count_bits(rows[h]));
        before = __shfl_sync(all, upto[h], 31);
    }
#pragma unroll
    for (int h = 0; h < Parts; h++) {
        int slot = lane + 32 * h, size = j.w.width, mine = 0;
        for (int tried = j.w.width; tried > 0; tried /= 2) {
            int from = slot / size * size, to = min(from + size, s.n);
            mine = entries_before<Parts>(upto, to) - entries_before<Parts>(upto, from);
            size = mine > j.most && tried == size && size > 1 ? size / 2 : size;
        }
        c.starts[h] = __ballot_sync(all, slot < s.n && slot % size == 0);
        c.entries[h] = mine;
    }
    return c;
}

template <class Rows, int Parts> __global__ void __launch_bounds__(threads) count_parts(panels j)
{
    position at;
    if (!find_place(at, j, j.span, j.nspans))
        return;
    for (; at.k < at.last; at.k++) {
        if (at.k >= at.next)
            enter_window(at, j);
        cut<Parts> c = cut_span<Rows, Parts>(j, span_at(at, j));
        int n = 0;
#pragma unroll
        for (int h = 0; h < Parts; h++)
            n += __popc(c.starts[h]);
        if (threadIdx.x % 32 == 0)
            j.parts[at.k] = n;
    }
}

/* begin[k]; first[k] = units of block k. */
template <class Rows, int Parts> __global__ void __launch_bounds__(threads) note_parts(panels j)
{
    int lane = threadIdx.x % 32;
    uint32_t largest = 0;
    position at;
    if (!find_place(at, j, j.span, j.nspans))
        return;
    for (; at.k < at.last; at.k++) {
        if (at.k >= at.next)
            enter_window(at, j);
        slice s = span_at(at, j);
        cut<Parts> c = cut_span<Rows, Parts>(j, s);
        int64_t k = j.parts[at.k];
#pragma unroll
        for (int h = 0; h < Parts; h++) {
            int bytes = j.head + (c.entries[h] + j.spare) * j.entry_bytes;
            uint32_t units = static_cast<uint32_t>((bytes + TSR_PANEL_UNIT - 1) / TSR_PANEL_UNIT);
            if (c.starts[h] >> lane & 1) {
                int64_t mine = k + __popc(c.starts[h] & ((1u << lane) - 1));
                j.begin[mine] = s.first + lane + 32 * h;
                j.first[mine] = units;
                largest = max(largest, units);
            }
            k += __popc(c.starts[h]);
        }
    }
    largest = __reduce_max_sync(all, largest);
    if (lane == 0)
        atomicMax(j.largest, static_cast<unsigned long long>(largest));
}

/* Spans before each window -> blocks before it, and the end of begin. */
__global__ void __launch_bounds__(threads) sum_windows(panels j)
{
    int64_t v = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
    if (v <= j.w.nwindows)
        j.w.block[v] = j.parts[j.span[v]];
}

__global__ void end_blocks(panels j) { j.begin[j.w.nblocks] = j.w.nvectors; }

/* The slots of rows l, l + 32. */
template <class Rows, int Parts, class Slots>
__device__ __forceinline__ void turn(Slots (&slots)[height_of<Rows> / 32], const Rows (&rows)[Parts])
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int half = 0; half < height_of<Rows> / 32; half++)
#pragma unroll 8
        for (int r = 0; r < 32; r++) {
            Slots here = 0;
#pragma unroll
            for (int h = 0; h < Parts; h++)
                here |= static_cast<Slots>(__ballot_sync(all, static_cast<int>(rows[h] >> (32 * half + r) & 1))) << (32 * h);
            if (lane == r)
                slots[half] = here;
        }
}

template <class Value> struct stored;
template <> struct alignas(8) stored<uint32_t> {
    uint32_t value, place;
};
template <> struct alignas(16) stored<uint64_t> {
    uint64_t value;
    uint32_t place, zero;
};

/* Entries of rows l, l + 32: the first, and the next. */
template <class Rows> struct places {
    int64_t first[height_of<Rows> / 32], next[height_of<Rows> / 32];
};
template <class Rows> __device__ __forceinline__ void find_entries(places<Rows> &entry, const position &at, const panels &j)
{
#pragma unroll
    for (int half = 0; half < height_of<Rows> / 32; half++) {
        int64_t row = at.v * height_of<Rows> + 32 * half + static_cast<int>(threadIdx.x % 32);
        entry.first[half] = entry.next[half] = row < j.w.nrows ? j.p[row] : 0;
    }
}

/* The same where the warp begins inside the window, at a block that begins with `column`. */
template <class Rows>
__device__ __forceinline__ void skip_entries(places<Rows> &entry, const position &at, const panels &j, uint32_t column)
{
#pragma unroll
    for (int half = 0; half < height_of<Rows> / 32; half++) {
        int64_t row = at.v * height_of<Rows> + 32 * half + static_cast<int>(threadIdx.x % 32);
        if (row < j.w.nrows)
            entry.next[half] = lower_bound(j.i, entry.next[half], j.p[row + 1], column);
    }
}

/* Entries of one row of a block. */
template <class Value, class Slots>
__device__ __forceinline__ void write_row(stored<Value> *to, const panels &j, int64_t entry, Slots slots, int row)
{
    for (; slots; to++, entry++) {
        uint32_t slot = static_cast<uint32_t>(first_bit(slots));
        slots &= slots - 1;
        stored<Value> e = {};
        e.value = j.x ? static_cast<const Value *>(j.x)[entry] : static_cast<Value>(j.iso);
        e.place = slot << 16 | (slots ? 0u : TSR_PANEL_LAST) | static_cast<uint32_t>(row);
        *to = e;
    }
}

template <class Rows, int Parts, class Value> __global__ void __launch_bounds__(threads) write_blocks(panels j)
{
    using slots_of = typename std::conditional<Parts == 2, uint64_t, uint32_t>::type;
    constexpr int halves = height_of<Rows> / 32, head = height_of<Rows> / 2;
    constexpr bool pairs = sizeof(stored<Value>) < TSR_PANEL_UNIT;
    int lane = threadIdx.x % 32;
    position at;
    if (!find_place(at, j, j.w.block, j.w.nblocks))
        return;
    places<Rows> entry;
    find_entries<Rows>(entry, at, j);
    if (at.k > at.before[at.v])
        skip_entries<Rows>(entry, at, j, j.w.column[j.begin[at.k]]);
    for (; at.k < at.last; at.k++) {
        if (at.k >= at.next) {
            enter_window(at, j);
            find_entries<Rows>(entry, at, j);
        }
        Rows rows[Parts];
        slots_of slots[halves] = {};
        load_rows<Rows, Parts>(rows, j, block_at(at, j));
        turn<Rows, Parts>(slots, rows);
        unsigned char *block = j.data + j.first[at.k] * TSR_PANEL_UNIT;
        stored<Value> *to = reinterpret_cast<stored<Value> *>(block + head);
        int before = 0;
#pragma unroll
        for (int half = 0; half < halves; half++) {
            int n = count_bits(slots[half]), upto = sum_eight(n), group = __shfl_sync(all, upto, lane | 7);
            int64_t past = entry.next[half] - entry.first[half];
            unsigned present = __ballot_sync(all, n > 0),
                     renewed = __ballot_sync(all, (past + n) / TSR_PANEL_RENEW > past / TSR_PANEL_RENEW);
            int taken = pairs ? group + (group & 1) : group, start = before;
#pragma unroll
            for (int g = 0; g < 4; g++) {
                int there = __shfl_sync(all, taken, 8 * g);
                start += g < lane / 8 ? there : 0;
                before += there;
            }
            if (lane % 8 == 0)
                reinterpret_cast<uint32_t *>(block)[half * 4 + lane / 8] =
                    (present >> lane & 255) | static_cast<uint32_t>(start) << 8 | renewed >> lane << 24;
            if (lane % 8 == 0 && taken > group)
                to[start + group] = {};
            write_row<Value>(to + start + upto - n, j, entry.next[half], slots[half], 32 * half + lane);
            entry.next[half] += n;
        }
        int places = static_cast<int>((j.first[at.k + 1] - j.first[at.k]) * TSR_PANEL_UNIT - head) / static_cast<int>(sizeof *to);
        if (before + lane < places)
            to[before + lane] = {};
    }
}

// ---- the host's side ----

unsigned warps_for(int64_t n) { return blocks_for(n, threads / 32 * chunk); }

template <class Rows, int Parts> tsr_status count_all(const panels &j, tsr_number, void *stream)
{
    auto kernel = count_parts<Rows, Parts>;
    TSR_LAUNCH(kernel, warps_for(j.nspans), threads, 0, stream, j);
    return launch_status();
}

template <class Rows, int Parts> tsr_status note_all(const panels &j, tsr_number, void *stream)
{
    auto kernel = note_parts<Rows, Parts>;
    TSR_LAUNCH(kernel, warps_for(j.nspans), threads, 0, stream, j);
    return launch_status();
}

template <class Rows, int Parts> tsr_status write_all(const panels &j, tsr_number number, void *stream)
{
    auto kernel = number == TSR_NUMBER_FP64 ? write_blocks<Rows, Parts, uint64_t> : write_blocks<Rows, Parts, uint32_t>;
    TSR_LAUNCH(kernel, warps_for(j.w.nblocks), threads, 0, stream, j);
    return launch_status();
}

/* step: one of these, for the shape of the windows. */
#define FOR_SHAPE(step)                                                                                               \
    (j.w.height == 32 ? (j.w.width <= 32 ? step<uint32_t, 1>(j, number, stream) : step<uint32_t, 2>(j, number, stream)) \
                      : (j.w.width <= 32 ? step<uint64_t, 1>(j, number, stream) : step<uint64_t, 2>(j, number, stream)))

/* Blocks of every window; their number. */
tsr_status count_blocks(const panels &j, tsr_number number, int64_t *nblocks, void *scratch, void *stream)
{
    tsr_status status = j.nspans ? FOR_SHAPE(count_all) : TSR_OK;
    if (status == TSR_OK)
        status = tsr_cuda_scan(j.parts, j.nspans, 1, scratch, stream);
    if (status != TSR_OK)
        return status;
    TSR_LAUNCH(sum_windows, blocks_for(j.w.nwindows + 1, threads), threads, 0, stream, j);
    status = launch_status();
    if (status == TSR_OK)
        status = tsr_cuda_to_host(nblocks, j.parts + j.nspans, sizeof *nblocks, stream);
    return status == TSR_OK ? tsr_cuda_wait(stream) : status;
}

/* begin, first, and what the host wants to know. */
tsr_status describe_blocks(const panels &j, tsr_number number, tsr_panel *out, void *scratch, void *stream)
{
    tsr_status status = tsr_cuda_set(j.largest, 0, sizeof *j.largest, stream);
    if (status == TSR_OK && j.nspans)
        status = FOR_SHAPE(note_all);
    if (status != TSR_OK)
        return status;
    TSR_LAUNCH(end_blocks, 1, 1, 0, stream, j);
    status = tsr_cuda_scan(j.first, j.w.nblocks, 1, scratch, stream);
    if (status == TSR_OK)
        status = tsr_cuda_to_host(&out->largest, j.largest, sizeof out->largest, stream);
    if (status == TSR_OK)
        status = tsr_cuda_to_host(&out->nunits, j.first + j.w.nblocks, sizeof out->nunits, stream);
    return status == TSR_OK ? tsr_cuda_wait(stream) : status;
}

/* All but the data.  The windows' blocks come in as spans and go out as blocks. */
tsr_status cut_blocks(tsr_panel *out, panels &j, tsr_number number, void *stream)
{
    Arena arena(stream);
    char *scratch;
    int64_t *span = out->w.block;
    j.span = span;
    arena.want(&j.parts, j.nspans + 1);
    arena.want(&j.largest, 1);
    arena.want(&scratch, static_cast<int64_t>(tsr_cuda_scan_bytes(j.w.nvectors)));
    tsr_status status = get_array(&out->w.block, j.w.nwindows + 1, stream);
    j.w.block = out->w.block;
    if (status == TSR_OK)
        status = arena.get();
    if (status == TSR_OK)
        status = count_blocks(j, number, &out->w.nblocks, scratch, stream);
    j.w.nblocks = out->w.nblocks;
    if (status == TSR_OK)
        status = get_array(&out->begin, out->w.nblocks + 1, stream);
    if (status == TSR_OK)
        status = get_array(&out->first, out->w.nblocks + 1, stream);
    j.begin = out->begin;
    j.first = out->first;
    if (status == TSR_OK)
        status = describe_blocks(j, number, out, scratch, stream);
    tsr_cuda_free(span, stream);
    return status;
}

uint64_t bits_of_iso(double iso, tsr_number number)
{
    uint64_t bits = 0;
    float single = static_cast<float>(iso);
    if (number == TSR_NUMBER_FP64)
        memcpy(&bits, &iso, sizeof iso);
    else
        memcpy(&bits, &single, sizeof single);
    return bits;
}

tsr_status fill_panel(tsr_panel *out, const vectors &v, const tsr_source *in, double iso, void *stream)
{
    unsigned char *data = nullptr;
    tsr_number number = in->number;
    panels j = {};
    j.w = out->w;
    j.rows = v.rows;
    j.p = in->p;
    j.i = in->i;
    j.x = in->x;
    j.iso = bits_of_iso(iso, number);
    j.nspans = out->w.nblocks;
    j.most = tsr_panel_most(out->w.height, out->w.width, number);
    j.head = out->w.height / 2;
    j.entry_bytes = static_cast<int>(2 * tsr_number_size(number));
    j.spare = j.entry_bytes < TSR_PANEL_UNIT ? out->w.height / 8 : 0;
    tsr_status status = cut_blocks(out, j, number, stream);
    if (status == TSR_OK)
        status = get_array(&data, (out->nunits + 1) * TSR_PANEL_UNIT, stream);
    if (status != TSR_OK)
        return status;
    out->data = j.data = data;
    status = tsr_cuda_set(data + out->nunits * TSR_PANEL_UNIT, 0, TSR_PANEL_UNIT, stream);
    return status == TSR_OK && j.w.nblocks ? FOR_SHAPE(write_all) : status;
}

} // namespace
} // namespace tsr_convert

using namespace tsr_convert;

extern "C" tsr_status tsr_cuda_make_panel(tsr_panel *out, const tsr_source *in, int height, int width, double iso, void *stream)
{
    *out = {};
    if ((height != 32 && height != 64) || (width != 16 && width != 24 && width != 32 && width != 48 && width != 64) ||
        (in->number != TSR_NUMBER_FP32 && in->number != TSR_NUMBER_FP64))
        return TSR_INVALID_VALUE;
    vectors v;
    tsr_status status = make_vectors(&out->w, &v, in, height, width, 0, stream);
    if (status == TSR_OK)
        status = fill_panel(out, v, in, iso, stream);
    tsr_cuda_free(v.rows, stream);
    tsr_status waited = tsr_cuda_wait(stream);
    if (status == TSR_OK)
        status = waited;
    if (status != TSR_OK)
        tsr_cuda_free_panel(out, stream);
    return status;
}

extern "C" void tsr_cuda_free_panel(tsr_panel *a, void *stream)
{
    free_windows(&a->w, stream);
    tsr_cuda_free(a->begin, stream);
    tsr_cuda_free(a->first, stream);
    tsr_cuda_free(a->data, stream);
    *a = {};
}
