// Two levels of clusters by min-hashes.  SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/order/order.cuh"

namespace tsr_order {
namespace {

constexpr unsigned all = 0xffffffffu;

struct hashes {
    uint32_t *row[TSR_ORDER_HASHES]; // [nrows]
    uint32_t *window;                // [nwindows]
};

/* A warp for a row. */
__global__ void __launch_bounds__(threads) hash_rows(hashes h, const int64_t *p, const uint32_t *i, int64_t nrows)
{
    int64_t row = static_cast<int64_t>(blockIdx.x) * warps + threadIdx.x / 32;
    if (row >= nrows)
        return;
    int64_t begin = p[row], end = min(p[row + 1], begin + TSR_ORDER_LONGEST);
    uint32_t least[TSR_ORDER_HASHES] = {TSR_ORDER_EMPTY, TSR_ORDER_EMPTY, TSR_ORDER_EMPTY, TSR_ORDER_EMPTY};
#pragma unroll 4
    for (int64_t e = begin + threadIdx.x % 32; e < end; e += 32) {
        uint32_t column = __ldg(i + e);
#pragma unroll
        for (int k = 0; k < TSR_ORDER_HASHES; k++)
            least[k] = min(least[k], tsr_order_hash_of(k, column));
    }
#pragma unroll
    for (int k = 0; k < TSR_ORDER_HASHES; k++) {
        uint32_t of_row = __reduce_min_sync(all, least[k]);
        if (threadIdx.x % 32 == 0)
            h.row[k][row] = of_row;
    }
}

/* The least hash of a window's union is the least of its rows'. */
__global__ void __launch_bounds__(threads) hash_windows(uint32_t *window, const uint32_t *least, const uint32_t *order, int64_t nwindows)
{
    int64_t v = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
    if (v >= nwindows)
        return;
    uint32_t mine = TSR_ORDER_EMPTY;
#pragma unroll
    for (int r = 0; r < TSR_ORDER_WINDOW; r++)
        mine = min(mine, least[order[v * TSR_ORDER_WINDOW + r]]);
    window[v] = mine;
}

/* Rows in the order of their windows; those left over stay. */
__global__ void __launch_bounds__(threads) place_rows(uint32_t *order, const uint32_t *row, const uint32_t *window,
                                                      int64_t nwindows, int64_t n)
{
    int64_t place = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x, v = place / TSR_ORDER_WINDOW;
    if (place < n)
        order[place] = row[v < nwindows ? static_cast<int64_t>(window[v]) * TSR_ORDER_WINDOW + place % TSR_ORDER_WINDOW : place];
}

tsr_status sort_rows(Sorter *rows, const hashes &h, int64_t n, void *stream)
{
    rows->from_zero(n, stream);
    tsr_status status = rows->sort(h.row[1], 32, stream);
    return status == TSR_OK ? rows->sort(h.row[0], 32, stream) : status;
}

tsr_status sort_windows(Sorter *windows, const hashes &h, const uint32_t *rows, int64_t n, void *stream)
{
    tsr_status status = TSR_OK;
    windows->from_zero(n, stream);
    for (int k = TSR_ORDER_HASHES - 1; k >= 2 && n && status == TSR_OK; k--) {
        TSR_LAUNCH(hash_windows, blocks_for(n, threads), threads, 0, stream, h.window, h.row[k], rows, n);
        status = windows->sort(h.window, 32, stream);
    }
    return status;
}

} // namespace

tsr_status clusters(uint32_t *order, const tsr_source *in, void *stream)
{
    Arena arena(stream);
    Sorter rows, windows;
    hashes h;
    int64_t n = in->nrows, nwindows = n / TSR_ORDER_WINDOW;
    if (n == 0)
        return TSR_OK;
    for (uint32_t *&row : h.row)
        arena.want(&row, n);
    arena.want(&h.window, nwindows);
    rows.want(&arena, n);
    windows.want(&arena, nwindows);
    tsr_status status = arena.get();
    if (status != TSR_OK)
        return status;
    TSR_LAUNCH(hash_rows, blocks_for(n, warps), threads, 0, stream, h, in->p, in->i, n);
    status = sort_rows(&rows, h, n, stream);
    if (status == TSR_OK)
        status = sort_windows(&windows, h, rows.items(), nwindows, stream);
    if (status != TSR_OK)
        return status;
    TSR_LAUNCH(place_rows, blocks_for(n, threads), threads, 0, stream, order, rows.items(), windows.items(), nwindows, n);
    return launch_status();
}

} // namespace tsr_order
