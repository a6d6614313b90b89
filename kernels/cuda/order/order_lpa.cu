// Sampled label propagation: a warp for a row.  SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/order/order.cuh"

namespace tsr_order {
namespace {

constexpr unsigned all = 0xffffffffu;

struct labels {
    int64_t nrows, ncols;
    const int64_t *p;
    const uint32_t *i;
    uint32_t *first, *row;     // [nrows] a row's first and present label
    uint32_t *second;          // [nrows] another min-hash
    uint32_t *column;          // [ncols]
    unsigned long long *offer; // [ncols] the least that rows have made
};

/* The row's columns, and a lane's one of a sample of `count` of them. */
struct row_part {
    const uint32_t *columns;
    int64_t length;
};
__device__ __forceinline__ bool draw(uint32_t *column, const row_part &r, int lane, int count, uint32_t row, int step)
{
    bool takes = lane < count && lane < r.length;
    if (takes)
        *column = __ldg(r.columns + (r.length <= count ? lane : tsr_order_pick(r.length, lane, count, row, step)));
    return takes;
}

__device__ __forceinline__ void offer_label(const labels &l, const row_part &r, int lane, uint32_t row, int step, uint32_t label)
{
    uint32_t column;
    if (draw(&column, r, lane, TSR_ORDER_VOTES, row, step + TSR_ORDER_STEPS))
        atomicMin(l.offer + column, static_cast<unsigned long long>(tsr_order_offer(row, column, step, label)));
}

/* The column of least hash, and the least of another hash, the same in all lanes. */
__device__ __forceinline__ uint32_t first_label(uint32_t *second, const row_part &r, int lane)
{
    uint32_t least = TSR_ORDER_EMPTY, column = TSR_ORDER_EMPTY, other = TSR_ORDER_EMPTY;
    int length = static_cast<int>(min(r.length, static_cast<int64_t>(TSR_ORDER_LONGEST)));
#pragma unroll 4
    for (int k = lane; k < length; k += 32) {
        uint32_t here = __ldg(r.columns + k), hash = tsr_order_hash_of(0, here);
        column = hash <= least ? here : column;
        least = min(hash, least);
        other = min(tsr_order_hash_of(1, here), other);
    }
    *second = __reduce_min_sync(all, other);
    bool leads = least == __reduce_min_sync(all, least) && r.length > lane;
    unsigned winners = __ballot_sync(all, leads);
    return winners ? __shfl_sync(all, column, __ffs(static_cast<int>(winners)) - 1) : TSR_ORDER_EMPTY;
}

/* The most frequent label of the sampled columns, of several the one of least hash; the same in all lanes. */
__device__ __forceinline__ uint32_t next_label(const labels &l, const row_part &r, int lane, uint32_t row, int step)
{
    uint32_t column = 0, label = TSR_ORDER_EMPTY;
    bool takes = draw(&column, r, lane, TSR_ORDER_SAMPLE, row, step);
    if (takes)
        label = l.column[column];
    unsigned taking = __ballot_sync(all, takes), same = __match_any_sync(all, label) & taking;
    unsigned most = __reduce_max_sync(all, takes ? static_cast<unsigned>(__popc(same)) : 0u);
    bool leads = takes && static_cast<unsigned>(__popc(same)) == most;
    uint32_t hash = tsr_order_hash(label), least = __reduce_min_sync(all, leads ? hash : 0xffffffffu);
    unsigned winners = __ballot_sync(all, leads && hash == least);
    return winners ? __shfl_sync(all, label, __ffs(static_cast<int>(winners)) - 1) : TSR_ORDER_EMPTY;
}

/* step -1: first labels; and offers for the step after, unless it was the last. */
__global__ void __launch_bounds__(threads) label_rows(labels l, int step)
{
    int64_t row = static_cast<int64_t>(blockIdx.x) * warps + threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    if (row >= l.nrows)
        return;
    int64_t begin = l.p[row];
    row_part r = {l.i + begin, l.p[row + 1] - begin};
    uint32_t number = static_cast<uint32_t>(row), second = 0;
    uint32_t label = step < 0 ? first_label(&second, r, lane) : next_label(l, r, lane, number, step);
    if (lane == 0)
        (step < 0 ? l.first : l.row)[row] = label;
    if (lane == 0 && step < 0)
        l.second[row] = second;
    if (step + 1 < TSR_ORDER_STEPS)
        offer_label(l, r, lane, number, step + 1, label);
}

__global__ void __launch_bounds__(threads) begin_columns(labels l)
{
    int64_t column = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
    if (column >= l.ncols)
        return;
    l.column[column] = static_cast<uint32_t>(column);
    l.offer[column] = TSR_ORDER_NO_OFFER;
}

__global__ void __launch_bounds__(threads) take_offers(labels l)
{
    int64_t column = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
    if (column >= l.ncols || l.offer[column] == TSR_ORDER_NO_OFFER)
        return;
    l.column[column] = static_cast<uint32_t>(l.offer[column]);
    l.offer[column] = TSR_ORDER_NO_OFFER;
}

tsr_status propagate(const labels &l, void *stream)
{
    unsigned row_blocks = blocks_for(l.nrows, warps), column_blocks = blocks_for(l.ncols > 0 ? l.ncols : 1, threads);
    TSR_LAUNCH(begin_columns, column_blocks, threads, 0, stream, l);
    TSR_LAUNCH(label_rows, row_blocks, threads, 0, stream, l, -1);
    for (int step = 0; step < TSR_ORDER_STEPS; step++) {
        TSR_LAUNCH(take_offers, column_blocks, threads, 0, stream, l);
        TSR_LAUNCH(label_rows, row_blocks, threads, 0, stream, l, step);
    }
    return launch_status();
}

} // namespace

tsr_status label_propagation(uint32_t *order, const tsr_source *in, void *stream)
{
    Arena arena(stream);
    Sorter sorter;
    labels l = {in->nrows, in->ncols, in->p, in->i, nullptr, nullptr, nullptr, nullptr, nullptr};
    int bits = 1; // of a label; all ones is that of an empty row
    while (bits < 32 && (static_cast<int64_t>(1) << bits) <= in->ncols)
        bits++;
    if (in->nrows == 0)
        return TSR_OK;
    arena.want(&l.first, l.nrows);
    arena.want(&l.second, l.nrows);
    arena.want(&l.row, l.nrows);
    arena.want(&l.column, l.ncols);
    arena.want(&l.offer, l.ncols);
    sorter.want(&arena, l.nrows);
    tsr_status status = arena.get();
    if (status == TSR_OK)
        status = propagate(l, stream);
    if (status != TSR_OK)
        return status;
    sorter.from_zero(l.nrows, stream);
    status = sorter.sort(l.second, 32, stream);
    if (status == TSR_OK)
        status = sorter.sort(l.first, bits, stream);
    if (status == TSR_OK)
        status = sorter.sort(l.row, bits, stream);
    if (status == TSR_OK)
        status = sorter.copy(order, stream);
    return status;
}

} // namespace tsr_order
