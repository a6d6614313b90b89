// Work of bounded size, made on the device: the rule of src/format.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/convert/convert.cuh"

namespace tsr_convert {
namespace {

constexpr int threads = 256;
constexpr unsigned all = 0xffffffffu;

/* Sums before each window, [nwindows+1] each, one array after the other. */
struct sums {
    int64_t *item, *partial, *split;
};

__global__ void __launch_bounds__(threads) count_items(tsr_windows w, sums s, int64_t most, bool empty)
{
    int64_t v = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
    if (v >= w.nwindows)
        return;
    int64_t n = w.block[v + 1] - w.block[v], items = n > most ? n / most + (n % most > 0) : n > 0 || empty;
    s.item[v] = items;
    s.partial[v] = items > 1 ? items : 0;
    s.split[v] = items > 1;
}

__global__ void tell_totals(sums s, int64_t nwindows, int64_t *total)
{
    total[0] = s.item[nwindows];
    total[1] = s.partial[nwindows];
    total[2] = s.split[nwindows];
}

/* A thread per item, and one more for the ends. */
__global__ void __launch_bounds__(threads) list_items(tsr_windows w, sums s, tsr_work work)
{
    int64_t t = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
    if (t > work.nitems)
        return;
    if (t == work.nitems) {
        work.block[t] = w.nblocks;
        work.split_partial[work.nsplit] = work.npartials;
        return;
    }
    int64_t v = find_range(s.item, w.nwindows, t), items = s.item[v + 1] - s.item[v], place = t - s.item[v];
    int64_t first = w.block[v], n = w.block[v + 1] - first;
    work.window[t] = v;
    work.block[t] = first + n * place / items;
    work.partial[t] = items > 1 ? s.partial[v] + place : -1;
    if (items > 1 && place == 0) {
        work.split_window[s.split[v]] = v;
        work.split_partial[s.split[v]] = s.partial[v];
    }
}

/* Entries of each item; a warp per item. */
__global__ void __launch_bounds__(threads) count_entries(tsr_windows w, tsr_work work, const uint64_t *mask)
{
    int64_t t = static_cast<int64_t>(blockIdx.x) * (threads / 32) + threadIdx.x / 32;
    if (t >= work.nitems)
        return;
    int lane = threadIdx.x % 32, words = w.height / 8;
    int64_t v = work.window[t];
    uint32_t n = 0;
    if (work.partial[t] < 0)
        n = lane == 0 ? static_cast<uint32_t>(w.entry[v + 1] - w.entry[v]) : 0;
    else
        for (int64_t k = work.block[t] * words + lane; k < work.block[t + 1] * words; k += 32)
            n += static_cast<uint32_t>(__popcll(mask[k]));
    n = __reduce_add_sync(all, n);
    if (lane == 0)
        work.entry[t] = n;
}

tsr_status get_items(tsr_work *work, bool entries, void *stream)
{
    tsr_status status = get_array(&work->window, work->nitems, stream);
    if (status == TSR_OK)
        status = get_array(&work->block, work->nitems + 1, stream);
    if (status == TSR_OK && entries)
        status = get_array(&work->entry, work->nitems + 1, stream); // one more for the sum
    if (status == TSR_OK)
        status = get_array(&work->partial, work->nitems, stream);
    if (status == TSR_OK)
        status = get_array(&work->split_window, work->nsplit, stream);
    return status == TSR_OK ? get_array(&work->split_partial, work->nsplit + 1, stream) : status;
}

tsr_status sum_entries(const tsr_work &work, const tsr_windows &w, const uint64_t *mask, void *stream)
{
    Arena arena(stream);
    char *scratch;
    arena.want(&scratch, static_cast<int64_t>(tsr_cuda_scan_bytes(work.nitems)));
    tsr_status status = arena.get();
    if (status != TSR_OK)
        return status;
    if (work.nitems)
        TSR_LAUNCH(count_entries, blocks_for(work.nitems, threads / 32), threads, 0, stream, w, work, mask);
    return tsr_cuda_scan(work.entry, work.nitems, 1, scratch, stream);
}

tsr_status count_all(tsr_work *work, const tsr_windows &w, const sums &s, int64_t *total, int64_t most, bool empty,
                     void *scratch, void *stream)
{
    int64_t host[3];
    if (w.nwindows)
        TSR_LAUNCH(count_items, blocks_for(w.nwindows, threads), threads, 0, stream, w, s, most, empty);
    tsr_status status = tsr_cuda_scan(s.item, w.nwindows, 3, scratch, stream);
    TSR_LAUNCH(tell_totals, 1, 1, 0, stream, s, w.nwindows, total);
    if (status == TSR_OK)
        status = launch_status();
    if (status == TSR_OK)
        status = tsr_cuda_to_host(host, total, sizeof host, stream);
    if (status == TSR_OK)
        status = tsr_cuda_wait(stream);
    if (status != TSR_OK)
        return status;
    work->nitems = host[0];
    work->npartials = host[1];
    work->nsplit = host[2];
    return TSR_OK;
}

tsr_status fill(tsr_work *work, const tsr_windows &w, const uint64_t *mask, int64_t most, bool empty, void *stream)
{
    Arena arena(stream);
    sums s;
    int64_t *total;
    char *scratch;
    arena.want(&s.item, 3 * (w.nwindows + 1));
    arena.want(&total, 3);
    arena.want(&scratch, static_cast<int64_t>(tsr_cuda_scan_bytes(w.nwindows)));
    tsr_status status = arena.get();
    if (status != TSR_OK)
        return status;
    s.partial = s.item + w.nwindows + 1;
    s.split = s.partial + w.nwindows + 1;
    status = count_all(work, w, s, total, most, empty, scratch, stream);
    if (status == TSR_OK)
        status = get_items(work, mask != nullptr, stream);
    if (status != TSR_OK)
        return status;
    TSR_LAUNCH(list_items, blocks_for(work->nitems + 1, threads), threads, 0, stream, w, s, *work);
    return mask ? sum_entries(*work, w, mask, stream) : launch_status();
}

tsr_status make_work(tsr_work *out, const tsr_windows *windows, const uint64_t *mask, int64_t most, bool empty, void *stream)
{
    *out = {};
    if (most < 1)
        return TSR_INVALID_VALUE;
    tsr_status status = fill(out, *windows, mask, most, empty, stream), waited = tsr_cuda_wait(stream);
    if (status == TSR_OK)
        status = waited;
    if (status != TSR_OK)
        tsr_cuda_free_work(out, stream);
    return status;
}

} // namespace
} // namespace tsr_convert

using namespace tsr_convert;

extern "C" tsr_status tsr_cuda_make_work(tsr_work *out, const tsr_windows *windows, const uint64_t *mask, int64_t most,
                                         void *stream)
{
    return make_work(out, windows, mask, most, true, stream);
}

extern "C" tsr_status tsr_cuda_make_work_part(tsr_work *out, const tsr_windows *windows, const uint64_t *mask, int64_t most,
                                              void *stream)
{
    return make_work(out, windows, mask, most, false, stream);
}

extern "C" void tsr_cuda_free_work(tsr_work *work, void *stream)
{
    tsr_cuda_free(work->window, stream);
    tsr_cuda_free(work->block, stream);
    tsr_cuda_free(work->entry, stream);
    tsr_cuda_free(work->partial, stream);
    tsr_cuda_free(work->split_window, stream);
    tsr_cuda_free(work->split_partial, stream);
    *work = {};
}
