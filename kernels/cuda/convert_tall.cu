// ME-BCRS with windows of 128 rows on the device, bitwise that of src/format.  Such matrices are some tenth full, so the columns of a
// window are found as a set of bits, and an entry's place by looking for its column among them.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/convert.cuh"

namespace tsr_convert {
namespace {

constexpr int threads = 256, height = 128, width = 32, spare_words = 16384;
constexpr unsigned all = 0xffffffffu;

struct tall {
    tsr_windows w;
    const int64_t *p;
    const uint32_t *i;
    uint32_t *bits;
    int64_t words; // of a window
    int64_t *counts; // vectors of each window, then blocks; later those before it
};

__device__ __forceinline__ int64_t warp_number() { return (blockIdx.x * int64_t(threads) + threadIdx.x) / 32; }

/* A warp for each row. */
__global__ void __launch_bounds__(threads) set_bits(tall j)
{
    const int64_t row = warp_number();
    if (row >= j.w.nrows)
        return;
    uint32_t *bits = j.bits + row / height * j.words;
    for (int64_t e = j.p[row] + threadIdx.x % 32; e < j.p[row + 1]; e += 32)
        atomicOr(bits + j.i[e] / 32, 1u << j.i[e] % 32);
}

/* A warp for each window; one more tells the number of all entries. */
__global__ void __launch_bounds__(threads) count_bits(tall j)
{
    const int64_t v = warp_number();
    const int lane = threadIdx.x % 32;
    if (v > j.w.nwindows)
        return;
    if (lane == 0)
        j.w.entry[v] = j.p[min(v * height, j.w.nrows)];
    if (v == j.w.nwindows)
        return;
    int count = 0;
    for (int64_t k = lane; k < j.words; k += 32)
        count += __popc(j.bits[v * j.words + k]);
    for (int d = 16; d > 0; d /= 2)
        count += __shfl_xor_sync(all, count, d);
    if (lane == 0) {
        j.counts[v] = count;
        j.counts[j.w.nwindows + 1 + v] = (count + width - 1) / width;
    }
}

__global__ void __launch_bounds__(threads) take_counts(tall j)
{
    const int64_t v = blockIdx.x * int64_t(threads) + threadIdx.x;
    if (v <= j.w.nwindows) {
        j.w.vector[v] = j.counts[v];
        j.w.block[v] = j.counts[j.w.nwindows + 1 + v];
    }
}

/* A warp for each window. */
__global__ void __launch_bounds__(threads) list_columns(tall j)
{
    const int64_t v = warp_number();
    const int lane = threadIdx.x % 32;
    if (v >= j.w.nwindows)
        return;
    int64_t at = j.w.vector[v];
    for (int64_t k = 0; k < j.words; k += 32) {
        uint32_t mine = k + lane < j.words ? j.bits[v * j.words + k + lane] : 0;
        int upto = __popc(mine);
        for (int d = 1; d < 32; d *= 2) {
            const int other = __shfl_up_sync(all, upto, d);
            upto += lane >= d ? other : 0;
        }
        int64_t to = at + upto - __popc(mine);
        for (; mine; mine &= mine - 1)
            j.w.column[to++] = static_cast<uint32_t>((k + lane) * 32) + static_cast<uint32_t>(__ffs(static_cast<int>(mine)) - 1);
        at += __shfl_sync(all, upto, 31);
    }
}

/* A warp for each row; value is filled with zeros. */
template <class Value> __global__ void __launch_bounds__(threads) place_values(tall j, Value *value, const Value *x, Value iso)
{
    const int64_t row = warp_number();
    if (row >= j.w.nrows)
        return;
    const int64_t v = row / height, first = j.w.vector[v], end = j.w.vector[v + 1];
    for (int64_t e = j.p[row] + threadIdx.x % 32; e < j.p[row + 1]; e += 32) {
        const int64_t place = lower_bound(j.w.column, first, end, j.i[e]) - first, start = place / width * width;
        const int64_t length = min(end - first - start, int64_t(width));
        value[height * (first + start) + row % height * length + (place - start)] = x ? x[e] : iso;
    }
}

template <class Value> tsr_status fill_values(tsr_me_bcrs *out, const tall &j, const void *x, uint64_t iso, void *stream)
{
    const int64_t count = height * j.w.nvectors;
    Value *value;
    tsr_status status = get_array(&value, count, stream);
    out->value = value;
    if (status == TSR_OK)
        status = tsr_cuda_set(value, 0, static_cast<size_t>(count) * sizeof(Value), stream);
    if (status != TSR_OK || j.w.nvals == 0)
        return status;
    TSR_LAUNCH(place_values<Value>, blocks_for(j.w.nrows * 32, threads), threads, 0, stream, j, value, static_cast<const Value *>(x),
               static_cast<Value>(iso));
    return launch_status();
}

tsr_status fill_values(tsr_me_bcrs *out, const tall &j, const tsr_source *in, uint64_t iso, void *stream)
{
    switch (tsr_number_size(in->number)) {
    case 2: return fill_values<uint16_t>(out, j, in->x, iso, stream);
    case 4: return fill_values<uint32_t>(out, j, in->x, iso, stream);
    default: return fill_values<uint64_t>(out, j, in->x, iso, stream);
    }
}

/* Vectors and blocks before each window; waits, for their numbers. */
tsr_status count_all(tall *j, void *scratch, void *stream)
{
    tsr_windows *w = &j->w;
    const unsigned by_window = blocks_for((w->nwindows + 1) * 32, threads);
    tsr_status status = tsr_cuda_set(j->bits, 0, static_cast<size_t>(w->nwindows * j->words) * sizeof *j->bits, stream);
    if (status == TSR_OK && w->nvals > 0) {
        TSR_LAUNCH(set_bits, blocks_for(w->nrows * 32, threads), threads, 0, stream, *j);
        status = launch_status();
    }
    if (status != TSR_OK)
        return status;
    TSR_LAUNCH(count_bits, by_window, threads, 0, stream, *j);
    status = launch_status();
    if (status == TSR_OK)
        status = tsr_cuda_scan(j->counts, w->nwindows, 2, scratch, stream);
    if (status != TSR_OK)
        return status;
    TSR_LAUNCH(take_counts, blocks_for(w->nwindows + 1, threads), threads, 0, stream, *j);
    status = launch_status();
    if (status == TSR_OK)
        status = tsr_cuda_to_host(&w->nvectors, w->vector + w->nwindows, sizeof w->nvectors, stream);
    if (status == TSR_OK)
        status = tsr_cuda_to_host(&w->nblocks, w->block + w->nwindows, sizeof w->nblocks, stream);
    const tsr_status waited = tsr_cuda_wait(stream);
    return status == TSR_OK ? waited : status;
}

tsr_status get_windows(tsr_windows *w, void *stream)
{
    tsr_status status = get_array(&w->entry, w->nwindows + 1, stream);
    if (status == TSR_OK)
        status = get_array(&w->vector, w->nwindows + 1, stream);
    return status == TSR_OK ? get_array(&w->block, w->nwindows + 1, stream) : status;
}

tsr_status fill(tsr_me_bcrs *out, const tsr_source *in, uint64_t iso, void *stream)
{
    tall j = {};
    Arena arena(stream);
    char *scratch;
    tsr_status status = get_windows(&out->w, stream);
    j.w = out->w;
    j.p = in->p;
    j.i = in->i;
    j.words = (in->ncols + 31) / 32;
    arena.want(&j.bits, j.w.nwindows * j.words);
    arena.want(&j.counts, 2 * (j.w.nwindows + 1));
    arena.want(&scratch, static_cast<int64_t>(tsr_cuda_scan_bytes(j.w.nwindows)));
    if (status == TSR_OK)
        status = arena.get();
    if (status == TSR_OK)
        status = count_all(&j, scratch, stream);
    if (status == TSR_OK)
        status = get_array(&j.w.column, j.w.nvectors, stream);
    out->w = j.w;
    if (status != TSR_OK)
        return status;
    if (j.w.nvectors > 0) {
        TSR_LAUNCH(list_columns, blocks_for(j.w.nwindows * 32, threads), threads, 0, stream, j);
        status = launch_status();
    }
    return status == TSR_OK ? fill_values(out, j, in, iso, stream) : status;
}

} // namespace

tsr_status make_tall(tsr_me_bcrs *out, const tsr_source *in, uint64_t iso, void *stream)
{
    tsr_windows *w = &out->w;
    if (in->ncols > static_cast<int64_t>(1) << 32)
        return TSR_NOT_SUPPORTED;
    w->height = height;
    w->width = width;
    w->nrows = in->nrows;
    w->ncols = in->ncols;
    w->nvals = in->nvals;
    w->nwindows = ceil_div(in->nrows, height);
    if (w->nwindows > (2 * in->nvals + spare_words) / ceil_div(in->ncols + 1, 32))
        return TSR_NOT_SUPPORTED; // sets of columns would take more than the entries
    return fill(out, in, iso, stream);
}

} // namespace tsr_convert
