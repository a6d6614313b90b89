// SpMM of BMat: a warp computes work items (at most some 64 blocks of one window) times one tile of columns, one after the other.
// Nothing is shared between warps, so that no warp waits for another.
//
// The warp keeps a ring of stages in shared memory; a stage holds the 8 rows of B that one block names (or 16 and two blocks),
// cut to the tile.  Rows come by 16-byte cp.async two stages ahead: what limits this kernel is bytes in flight from L2.  Values
// of A come the same way, each lane's to a place of its own; where they are follows from population counts of the masks.
//
// With g = lane / 4 and t = lane % 4 a lane reads from rows t and t + 4 of a block, so that k = t, t + 4 are slots t, t + 4 (with
// two numbers to a register: k = 2t, 2t + 1 are slots t, t + 4).  It reads pieces of as many columns as 16 bytes of C hold:
//   height 8   M = 16 columns of B, N = 8 rows of A (operands swapped).  Lane g reads piece g of every 8.  Instruction i takes
//              number i of the first half of a piece as M = g, of the second as M = g + 8, so that the lane ends up with whole
//              pieces of rows 2t and 2t + 1.
//   height 16  M = 16 rows of A, N = 8 columns of B.  Lane g reads piece unit(g) of every 8, instruction i takes number i, and
//              the lane ends up with pieces unit(2t), unit(2t + 1) of rows g, g + 8; unit() is such that four lanes store whole
//              sectors.
// The 16-byte parts of rows are permuted so that these reads have no bank conflict.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/spmm/bmat/spmm_bmat.h"
#include "kernels/cuda/spmm/bmat/spmm_bmat_multiply.cuh"

namespace bmat {

// ---- The kernel ----

/* Item and tile of a task. */
struct place {
    int64_t item;
    int tile;
};
__device__ __forceinline__ place task_place(const matrix &a, int64_t task)
{
    if (a.tiles == 1)
        return {task, 0};
    if (a.tile_major) {
        int64_t tile = task / a.nitems;
        return {task - tile * a.nitems, static_cast<int>(tile)};
    }
    int64_t item = task / a.tiles;
    return {item, static_cast<int>(task - item * a.tiles)};
}

/* The array that lane's fact is in; its index is the item (below at_block) or the window. */
__device__ __forceinline__ const int64_t *fact_array(const matrix &a, int lane)
{
    switch (lane) {
    case at_window: return a.item_window;
    case at_first: return a.item_block;
    case at_last: return a.item_block + 1;
    case at_entry: return a.item_entry;
    case at_partial: return a.item_partial;
    case at_block: return a.window_block;
    case at_vector: return a.window_vector;
    default: return a.window_vector + 1;
    }
}

/* Fetches what the arrays of items say of `item` (< 0: none) to place `to`, and what those of windows say of the item at place
 * `of` (< 0: none). */
__device__ __forceinline__ void fetch_facts(const int64_t *const *array, ahead *near, int64_t item, int to, int of, int lane)
{
    if (lane < at_block ? item >= 0 : lane < facts && of >= 0) {
        int64_t index = lane < at_block ? item : near->fact[of][at_window];
        cp_async<8>(&near->fact[lane < at_block ? to : of][lane], array[lane] + index, true);
    }
}

/* In the ring: the stage to multiply next, the one to fetch to next, and the values of both. */
struct progress {
    int at, to, values;
};

/* One item. */
template <class Shape> struct item {
    using element = typename Shape::element;
    using sums = typename Shape::sum[Shape::products][4];
    ring<Shape> r;
    fetcher f;
    giver<Shape> g;
    parts where;
    int nblocks, lane;
    bool whole; // no row of B ends inside the tile
    int vectors; // and pointers: only until start
    const uint32_t *columns, *masks_of;

    __device__ __forceinline__ item(const matrix &a, const ring<Shape> &ring, const parts &where, const int64_t *fact, int lane)
        : r(ring), where(where), lane(lane)
    {
        int64_t first = fact[at_first], vector = fact[at_vector] + (first - fact[at_block]) * 8;
        int odd = giver<Shape>::pairs ? static_cast<int>(fact[at_entry] & 1) : 0;
        const element *value = static_cast<const element *>(a.value) + (fact[at_entry] - odd);
        nblocks = static_cast<int>(fact[at_last] - first);
        vectors = static_cast<int>(min(fact[at_end] - vector, static_cast<int64_t>(nblocks) * 8));
        columns = a.column + vector;
        masks_of = reinterpret_cast<const uint32_t *>(a.mask + first * Shape::words);
        g.value = a.value ? reinterpret_cast<const typename Shape::word *>(value) : ones<Shape>();
        g.stored = a.value ? -1 : 0;
        g.odd = 0;
        g.m.total = odd;
    }
    /* The first columns and masks. */
    __device__ __forceinline__ void fetch_first() const
    {
        fetch_word(r.near()->column[where.even] + lane, columns, lane, vectors);
        fetch_word(r.near()->mask[where.even] + lane, masks_of, lane, nblocks * masks<Shape>::halves);
    }
    template <bool Whole> __device__ __forceinline__ void fetch_steps(progress &now)
    {
#pragma unroll 1
        for (int k = 0; k < Shape::stages - 1; k++) {
            r.template fetch<Whole>(f, g, where, now.to, now.values, k, nblocks, lane);
            now.values = r.next_values(now.values);
        }
    }
    /* Starts fetching the first steps; the first columns and masks are there.  skip: bytes before the tile. */
    __device__ __forceinline__ void start(const tsr_cuda_spmm &p, int64_t skip, progress &now)
    {
        int64_t pitch = p.ldb * static_cast<int64_t>(sizeof(element));
        int within = lane % Shape::lanes_per_row * 16;
        f.pitch = keep(static_cast<uint32_t>(pitch));
        f.left = keep(vectors - lane / Shape::lanes_per_row);
        f.b = keep_address(static_cast<const unsigned char *>(p.b) + skip + within);
        f.bytes = static_cast<int>(min(pitch - skip, static_cast<int64_t>(Shape::row_bytes))) - within;
        whole = pitch - skip >= Shape::row_bytes;
        if (lane == 0) {
            r.near()->columns = columns;
            r.near()->masks = masks_of;
        }
        __syncwarp();
        if (whole)
            fetch_steps<true>(now);
        else
            fetch_steps<false>(now);
    }
    template <bool Whole> __device__ __forceinline__ void compute(sums &total, progress &now)
    {
        constexpr int bits = 2 * Shape::group * Shape::words; // of g.odd per step
        int steps = (nblocks + Shape::group - 1) / Shape::group;
#pragma unroll 1
        for (int k = 0; k < steps; k++) {
            r.wait();
            int ahead_steps = min(steps - k, Shape::stages - 1) - 1;
            const operand<Shape> x(reinterpret_cast<const typename Shape::word *>(dynamic_shared() + r.place.values + now.values),
                                   g.odd >> bits * ahead_steps);
            r.template fetch<Whole>(f, g, where, now.to, now.values, k + Shape::stages - 1, nblocks, lane);
            multiply<Shape>(total, r.place.from + now.at, x);
            now.at = r.next(now.at);
            now.values = r.next_values(now.values);
        }
    }
};

/* All that this lane has fetched by cp.async is there, for all lanes, and all lanes are done with what they read before. */
__device__ __forceinline__ void wait_all()
{
    cp_async_commit();
    cp_async_wait<0>();
    __syncwarp();
}

template <class Shape>
__global__ void __launch_bounds__(warps * 32, Shape::blocks_per_sm) spmm(const __grid_constant__ matrix a,
                                                                         const __grid_constant__ tsr_cuda_spmm p)
{
    using sum = typename Shape::sum;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    /* The tasks of this warp: task_of(0), task_of(1), ... below the end. */
    auto task_of = [&](int number) {
        int64_t team = blockIdx.x / a.team, member = blockIdx.x % a.team;
        return ((team * a.tasks + number) * a.team + member) * warps + warp;
    };
    auto has = [&](int number) { return number < a.tasks && task_of(number) < a.ntasks; };
    const int64_t **array = reinterpret_cast<const int64_t **>(dynamic_shared() + Shape::arrays_at);
    if (threadIdx.x < facts)
        array[threadIdx.x] = fact_array(a, lane);
    __syncthreads();
    if (!has(0))
        return;
    const ring<Shape> r(warp, lane);
    parts where = {0, 1, 2};
    progress now = {0, 0, 0};
    auto item_of = [&](int number) { return has(number) ? task_place(a, task_of(number)).item : -1; };
    auto tile_of = [&](int number) { return static_cast<int64_t>(task_place(a, task_of(number)).tile); };
    for (int k = 0; k < 3; k++)
        fetch_facts(array, r.near(), item_of(k), k, -1, lane);
    wait_all();
    fetch_facts(array, r.near(), -1, 0, 0, lane);
    fetch_facts(array, r.near(), -1, 0, has(1) ? 1 : -1, lane);
    wait_all();
    item<Shape> it(a, r, where, r.near()->fact[0], lane);
    it.fetch_first();
    wait_all();
    it.start(p, tile_of(0) * Shape::row_bytes, now);

    /* While a task is computed, what its successors say of themselves is on its way, and the first columns of the next one. */
#pragma unroll 1
    for (int number = 0; has(number); number++) {
        int own = number % ahead::items, next = (number + 1) % ahead::items;
        if (lane < 2)
            r.near()->target[lane] = r.near()->fact[own][lane ? at_partial : at_window];
        __syncwarp(); // then there is a place for the item after the next two
        fetch_facts(array, r.near(), item_of(number + 3), own, has(number + 2) ? (number + 2) % ahead::items : -1, lane);
        if (has(number + 1))
            item<Shape>(a, r, where.next(), r.near()->fact[next], lane).fetch_first();
        sum total[Shape::products][4] = {};
        if (it.whole)
            it.template compute<true>(total, now);
        else
            it.template compute<false>(total, now);

        wait_all();
        int64_t column = tile_of(number) * Shape::columns;
        if (a.tiles > 1 && column + Shape::columns > p.n) {
            r.clear(lane); // what follows the columns of B must not meet columns of another tile
            __syncwarp();
        }
        where = where.next();
        if (has(number + 1)) {
            it = item<Shape>(a, r, where, r.near()->fact[next], lane);
            it.start(p, tile_of(number + 1) * Shape::row_bytes, now);
        }
        const int64_t *target = r.near()->target;
        tensor_output<sum> out = tensor_target<sum>(p, a.nrows, Shape::height, target[0], target[1], a.iso);
        if (out.vectors && out.rows == Shape::height && column + Shape::columns <= p.n)
            store<true, Shape>(out, total, column, p.n, lane);
        else
            store<false, Shape>(out, total, column, p.n, lane);
        __syncwarp(); // all have read the target
    }
}

// ---- Host side ----

template <class Shape> tsr_status launch(matrix a, const tsr_cuda_spmm *p, const tsr_bmat_choice &choice)
{
    a.tiles = static_cast<int>((p->n + Shape::columns - 1) / Shape::columns);
    a.ntasks = a.nitems * a.tiles;
    a.tasks = choice.tasks;
    a.team = p->device->sms * Shape::blocks_per_sm;
    int64_t most = static_cast<int64_t>(a.team) * warps * a.tasks, blocks = (a.ntasks + most - 1) / most * a.team;
    if (a.tasks == 1)
        blocks = (a.ntasks + warps - 1) / warps;
    auto kernel = spmm<Shape>;
    if (blocks > INT32_MAX)
        return TSR_DECLINED;
    if (!tensor_allow_shared(kernel, Shape::shared_bytes))
        return TSR_INTERNAL_ERROR;
    TSR_LAUNCH(kernel, static_cast<unsigned>(blocks), warps * 32, Shape::shared_bytes, p->stream, a, *p);
    return launch_status();
}

template <tsr_cuda_math Math, int Height>
tsr_status launch_columns(const matrix &a, const tsr_cuda_spmm *p, const tsr_bmat_choice &choice)
{
    if constexpr (Math != TSR_CUDA_FP64)
        if (choice.columns == 128)
            return launch<shape<Math, Height, 128>>(a, p, choice);
    if (choice.columns == 64)
        return launch<shape<Math, Height, 64>>(a, p, choice);
    return launch<shape<Math, Height, 32>>(a, p, choice);
}

template <tsr_cuda_math Math>
tsr_status run(const tsr_bmat *a, const tsr_work *work, const tsr_cuda_spmm *p, const tsr_bmat_choice *choice)
{
    matrix m = {work->window, work->block, work->entry, work->partial, a->w.block, a->w.vector, a->w.column, a->mask, a->value,
                work->nitems, a->w.nrows, a->value ? 1.0 : p->iso, choice->tile_major, 0, 0, 0, 0};
    return a->w.height == 8 ? launch_columns<Math, 8>(m, p, *choice) : launch_columns<Math, 16>(m, p, *choice);
}

} // namespace bmat
