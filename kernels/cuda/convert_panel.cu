// Panels on the device, bitwise those of src/format.
//
// A warp walks a few blocks one after the other.  Lane l has vectors l (and l + 32) of the block as sets of rows; votes turn them into rows l
// (and l + 32) as sets of slots.  A lane knows which entry of its rows comes next.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/convert.cuh"

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
    int64_t *first;
    unsigned char *data;
    unsigned long long *largest;
};

template <class Rows> constexpr int height_of = 8 * static_cast<int>(sizeof(Rows));

/* Where a warp is: its blocks, and the window of the block at hand. */
struct position {
    int64_t k, last, v, next; // next: first block after the window
};

__device__ __forceinline__ void enter_window(position &at, const panels &j)
{
    int64_t v = at.v + 1;
    if (v >= j.w.nwindows || j.w.block[v + 1] <= at.k || j.w.block[v] > at.k)
        v = find_range(j.w.block, j.w.nwindows, at.k);
    at.v = v;
    at.next = j.w.block[v + 1];
}

/* false: nothing is left for this warp. */
__device__ __forceinline__ bool find_blocks(position &at, const panels &j)
{
    at.k = (static_cast<int64_t>(blockIdx.x) * (threads / 32) + threadIdx.x / 32) * chunk;
    at.last = min(at.k + chunk, j.w.nblocks);
    if (at.k >= at.last)
        return false;
    at.v = find_range(j.w.block, j.w.nwindows, at.k) - 1;
    enter_window(at, j);
    return true;
}

/* The block at hand: its vectors are [first, first + n). */
struct slice {
    int64_t first;
    int n;
};
__device__ __forceinline__ slice slice_of(const position &at, const panels &j)
{
    int64_t first = j.w.vector[at.v] + (at.k - j.w.block[at.v]) * j.w.width;
    return {first, static_cast<int>(min(j.w.vector[at.v + 1] - first, static_cast<int64_t>(j.w.width)))};
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

/* first[k] = units of block k. */
template <class Rows, int Parts> __global__ void __launch_bounds__(threads) count_units(panels j, int entry_bytes)
{
    position at;
    uint32_t largest = 0;
    if (!find_blocks(at, j))
        return;
    for (; at.k < at.last; at.k++) {
        if (at.k >= at.next)
            enter_window(at, j);
        Rows rows[Parts];
        load_rows<Rows, Parts>(rows, j, slice_of(at, j));
        uint32_t n = 0;
#pragma unroll
        for (int h = 0; h < Parts; h++)
            n += static_cast<uint32_t>(count_bits(rows[h]));
        n = __reduce_add_sync(all, n);
        uint32_t units = (height_of<Rows> / 2 + n * static_cast<uint32_t>(entry_bytes) + TSR_PANEL_UNIT - 1) / TSR_PANEL_UNIT;
        if (threadIdx.x % 32 == 0)
            j.first[at.k] = units;
        largest = max(largest, units);
    }
    if (threadIdx.x % 32 == 0)
        atomicMax(j.largest, static_cast<unsigned long long>(largest));
}

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

template <class Value> struct stored;
template <> struct alignas(8) stored<uint32_t> {
    uint32_t value, place;
};
template <> struct alignas(16) stored<uint64_t> {
    uint64_t value;
    uint32_t place, zero;
};

/* Next entries of rows l, l + 32. */
template <class Rows> __device__ __forceinline__ void find_entries(int64_t (&entry)[height_of<Rows> / 32], const position &at, const panels &j)
{
#pragma unroll
    for (int half = 0; half < height_of<Rows> / 32; half++) {
        int64_t row = at.v * height_of<Rows> + 32 * half + static_cast<int>(threadIdx.x % 32);
        entry[half] = row < j.w.nrows ? j.p[row] : 0;
    }
}

/* The same where the warp begins inside the window, at a block that begins with `column`. */
template <class Rows>
__device__ __forceinline__ void skip_entries(int64_t (&entry)[height_of<Rows> / 32], const position &at, const panels &j, uint32_t column)
{
#pragma unroll
    for (int half = 0; half < height_of<Rows> / 32; half++) {
        int64_t row = at.v * height_of<Rows> + 32 * half + static_cast<int>(threadIdx.x % 32);
        if (row < j.w.nrows)
            entry[half] = lower_bound(j.i, entry[half], j.p[row + 1], column);
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
    int lane = threadIdx.x % 32;
    position at;
    if (!find_blocks(at, j))
        return;
    int64_t entry[halves];
    find_entries<Rows>(entry, at, j);
    if (at.k > j.w.block[at.v])
        skip_entries<Rows>(entry, at, j, j.w.column[slice_of(at, j).first]);
    for (; at.k < at.last; at.k++) {
        if (at.k >= at.next) {
            enter_window(at, j);
            find_entries<Rows>(entry, at, j);
        }
        Rows rows[Parts];
        slots_of slots[halves] = {};
        load_rows<Rows, Parts>(rows, j, slice_of(at, j));
        turn<Rows, Parts>(slots, rows);
        unsigned char *block = j.data + j.first[at.k] * TSR_PANEL_UNIT;
        stored<Value> *to = reinterpret_cast<stored<Value> *>(block + head);
        int before = 0;
#pragma unroll
        for (int half = 0; half < halves; half++) {
            int n = count_bits(slots[half]), upto = sum_up(n);
            unsigned present = __ballot_sync(all, n > 0);
            int start = before + upto - n;
            if (lane % 8 == 0)
                reinterpret_cast<uint32_t *>(block)[half * 4 + lane / 8] = (present >> lane & 255) | static_cast<uint32_t>(start) << 8;
            write_row<Value>(to + start, j, entry[half], slots[half], 32 * half + lane);
            entry[half] += n;
            before += __shfl_sync(all, upto, 31);
        }
        if (sizeof(stored<Value>) < TSR_PANEL_UNIT && before % 2 && lane == 0)
            to[before] = {};
    }
}

// ---- the host's side ----

template <class Rows, int Parts> tsr_status count_all(const panels &j, tsr_number number, void *stream)
{
    auto kernel = count_units<Rows, Parts>;
    TSR_LAUNCH(kernel, blocks_for(j.w.nblocks, threads / 32 * chunk), threads, 0, stream, j, static_cast<int>(2 * tsr_number_size(number)));
    return queued();
}

template <class Rows, int Parts> tsr_status write_all(const panels &j, tsr_number number, void *stream)
{
    auto kernel = number == TSR_NUMBER_FP64 ? write_blocks<Rows, Parts, uint64_t> : write_blocks<Rows, Parts, uint32_t>;
    TSR_LAUNCH(kernel, blocks_for(j.w.nblocks, threads / 32 * chunk), threads, 0, stream, j);
    return queued();
}

/* step: count_all or write_all, for the shape of the windows. */
#define FOR_SHAPE(step)                                                                                               \
    (j.w.height == 32 ? (j.w.width <= 32 ? step<uint32_t, 1>(j, number, stream) : step<uint32_t, 2>(j, number, stream)) \
                      : (j.w.width <= 32 ? step<uint64_t, 1>(j, number, stream) : step<uint64_t, 2>(j, number, stream)))

/* Units before each block; *largest and *units on the host. */
tsr_status count_blocks(panels j, tsr_number number, int64_t *largest, int64_t *units, void *stream)
{
    Arena arena(stream);
    char *scratch;
    arena.want(&j.largest, 1);
    arena.want(&scratch, static_cast<int64_t>(tsr_cuda_scan_bytes(j.w.nblocks)));
    tsr_status status = arena.get();
    if (status == TSR_OK)
        status = tsr_cuda_set(j.largest, 0, sizeof *j.largest, stream);
    if (status == TSR_OK && j.w.nblocks)
        status = FOR_SHAPE(count_all);
    if (status == TSR_OK)
        status = tsr_cuda_scan(j.first, j.w.nblocks, 1, scratch, stream);
    if (status == TSR_OK)
        status = tsr_cuda_to_host(largest, j.largest, sizeof *largest, stream);
    if (status == TSR_OK)
        status = tsr_cuda_to_host(units, j.first + j.w.nblocks, sizeof *units, stream);
    return status == TSR_OK ? tsr_cuda_wait(stream) : status;
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
    tsr_status status = get_array(&out->first, out->w.nblocks + 1, stream);
    panels j = {out->w, v.rows, in->p, in->i, in->x, bits_of_iso(iso, number), out->first, nullptr, nullptr};
    if (status == TSR_OK)
        status = count_blocks(j, number, &out->largest, &out->nunits, stream);
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

extern "C" tsr_status tsr_cuda_make_panel(tsr_panel *out, const tsr_cuda_source *in, int height, int width, double iso, void *stream)
{
    *out = {};
    if ((height != 32 && height != 64) || width % 8 != 0 || width < 8 || width > 64 ||
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
    tsr_cuda_free(a->first, stream);
    tsr_cuda_free(a->data, stream);
    *a = {};
}
