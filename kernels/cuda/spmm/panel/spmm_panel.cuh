// SpMM over panels: every row of B that a window of 32 or 64 rows needs is brought to shared memory once and used by all of them.
// Plain arithmetic, so that B meets real entries only: any semiring, and Inf and NaN stay where they belong.
//
// A block of threads computes one work item for one tile of columns.  Its first warp, the producer, brings the window's blocks one after
// the other into a ring of stages by bulk copies: one for each row of B (cut to the tile), one for the block's data.  Every other warp,
// a consumer, owns 8 rows of C, which stay in registers: Lane l has columns V l to V l + V - 1 of the tile of 32 V.  An entry costs a
// consumer two loads from shared memory: the entry, the same for all lanes, and the lane's part of the row of B.  A barrier tells when a
// stage is full, another one when all consumers are done with it.
//
// The error of a long FP32 sum grows with its length: where the format says so (TSR_PANEL_RENEW), a row's sum goes to C and begins anew.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/common/semiring.cuh"
#include "kernels/cuda/spmm/tensor.cuh"

// Before sm_90 the kernels are empty, and nvcc complains about all that they do not use.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#pragma nv_diag_suppress 177
#endif

struct panel_job {
    tsr_cuda_spmm p;
    const int64_t *offsets;        // CSR's, by row of C: which rows have entries; NULL: an empty sum is 0 anyway
    int64_t nrows, nvectors;
    const uint32_t *column;
    const int64_t *begin, *first;  // of each block: vectors and units of data before it
    const unsigned char *data;
    const int64_t *item_window, *item_block, *item_partial;
    uint32_t items, tiles;
    uint32_t row_bytes;            // of B
    uint32_t room;                 // bytes for a block's data in a stage
    bool renews;                   // sums begin anew where the format says so
    bool tile_major;
};

namespace panel {

constexpr int rows = 8; // of a consumer

/* P: a policy of semiring.cuh.  Finishes: bias and activation, where there are any. */
template <class P, int Columns, int Width, bool Finishes> struct shape {
    using policy = P;
    static constexpr bool finishes = Finishes;
    using element = typename P::element; // of B
    using sum = typename P::sum;         // of C; values of A are stored as it
    static constexpr int columns = Columns; // of a lane
    static constexpr int width = Width;     // rows of B in a stage
    static constexpr int tile = 32 * Columns;
    static constexpr int part = Columns * static_cast<int>(sizeof(element)); // bytes of a row of B for a lane
    static constexpr int pitch = 32 * part; // bytes from one row of B in a stage to the next
    static constexpr int stage = Width * pitch;
    /* An entry names its row of B by slot << 16: shifted right by this, the offset in the stage. */
    static constexpr int shift = pitch == 512 ? 7 : pitch == 256 ? 8 : 9;
    static_assert(pitch << shift == 1 << 16, "");
    static constexpr bool is_sum = std::is_same_v<P, plus_times<sum>> || !std::is_same_v<element, sum>; // plus_times
    static constexpr bool renews = is_sum && std::is_same_v<sum, float>;
};

/* Number k of what is stored in these words. */
template <class T, int Words> __device__ __forceinline__ T item_of(const uint32_t (&words)[Words], int k)
{
    constexpr int size = sizeof(T) < 4 ? 4 : sizeof(T), per = size / sizeof(T);
    T x[per];
    memcpy(static_cast<void *>(x), words + k * static_cast<int>(sizeof(T)) / 4, size);
    return x[per == 1 ? 0 : k % per];
}

/* An entry as it is stored. */
template <class Sum> struct entry {
    static constexpr int words = sizeof(Sum) / 2, at = sizeof(Sum) / 4;
    uint32_t w[words];
    __device__ __forceinline__ Sum value() const { return item_of<Sum>(w, 0); }
    __device__ __forceinline__ uint32_t place() const { return w[at]; }
};

// What a block of threads computes.  In shared memory, so that no thread keeps in registers what it needs at the end only.
template <class Sum> struct alignas(16) task {
    tensor_output<Sum> out;
    const int64_t *offsets; // as those of the job; NULL for a partial sum
    int64_t window, first;  // its first row, the item's first block
    int64_t column;         // of C: the tile's first
    int blocks;
    bool finishes;          // sums go to C itself
};

template <class Sum> __device__ __forceinline__ void find_task(task<Sum> *t, const panel_job &j, int tile, int height)
{
    uint32_t item = blockIdx.x, number = 0;
    if (j.tiles > 1) {
        uint32_t inner = j.tile_major ? j.items : j.tiles, outer = blockIdx.x / inner;
        item = j.tile_major ? blockIdx.x - outer * inner : outer;
        number = j.tile_major ? outer : blockIdx.x - outer * inner;
    }
    /* Asked for together: the block waits for these before it can do anything. */
    const int64_t window = j.item_window[item], partial = j.item_partial[item], first = j.item_block[item], last = j.item_block[item + 1];
    t->out = tensor_target<Sum>(j.p, j.nrows, height, window, partial, 1.0);
    t->offsets = partial < 0 ? j.offsets : nullptr;
    t->window = window * height;
    t->first = first;
    t->column = static_cast<int64_t>(number) * tile;
    t->blocks = static_cast<int>(last - first);
    t->finishes = partial < 0;
}

// The ring: rows of B of each stage, then data of each stage, then the barriers.
constexpr int stages = 2, task_bytes = 96;
static_assert(sizeof(task<float>) <= task_bytes && sizeof(task<double>) <= task_bytes, "");
struct ring {
    unsigned char *rows, *data;
    uint64_t *full, *empty;
    uint32_t *columns; // of the block that is copied
    void *task;
};

template <class Shape> __device__ __forceinline__ ring ring_at(const panel_job &j)
{
    ring r;
    r.rows = dynamic_shared();
    r.data = r.rows + stages * Shape::stage;
    r.task = r.data + stages * j.room;
    r.columns = static_cast<uint32_t *>(r.task) + task_bytes / 4;
    r.full = reinterpret_cast<uint64_t *>(r.columns + Shape::width);
    r.empty = r.full + stages;
    return r;
}
template <class Shape> constexpr int ring_bytes = stages * (Shape::stage + 16) + Shape::width * 4 + task_bytes; // and room for data

/* By one thread, before all others begin. */
template <class Shape>
__device__ __forceinline__ void begin_task(task<typename Shape::sum> *t, const ring &r, const panel_job &j, int height, int consumers)
{
    find_task(t, j, Shape::tile, height);
    for (int s = 0; s < stages; s++) {
        mbarrier_init(r.full + s, 1);
        mbarrier_init(r.empty + s, static_cast<unsigned>(32 * consumers));
    }
    mbarrier_fence_init();
}

// ---- the producer ----

/* `count` rows of B into a stage; one thread does this. */
template <class Shape>
__device__ __forceinline__ void copy_rows(unsigned char *to, const unsigned char *b, uint32_t row_bytes, uint32_t bytes,
                                          shared_place columns, int count, uint64_t *full)
{
    uint32_t column[4];
    if (count == Shape::width) {
#pragma unroll
        for (int i = 0; i < Shape::width; i += 4) {
            load_shared(column, columns + i * 4);
#pragma unroll
            for (int q = 0; q < 4; q++)
                bulk_copy(to + (i + q) * Shape::pitch, advance(b, column[q], row_bytes), bytes, full);
        }
        return;
    }
#pragma unroll 1
    for (int i = 0; i < count; i++) {
        uint32_t one[1];
        load_shared(one, columns + i * 4);
        bulk_copy(to + i * Shape::pitch, advance(b, one[0], row_bytes), bytes, full);
    }
}

/* Where a block lies, and the lane's columns of it. */
template <int Parts> struct source {
    int64_t vector, unit;   // its first
    uint32_t column[Parts];
};
template <class Shape, int Parts> __device__ __forceinline__ void find_columns(source<Parts> &s, const panel_job &j)
{
#pragma unroll
    for (int i = 0; i < Parts; i++) {
        int64_t place = s.vector + threadIdx.x % 32 + 32 * i;
        s.column[i] = place < j.nvectors ? __ldg(j.column + place) : 0;
    }
}

/* Everything about a block is asked for while the one before it waits for its stage. */
template <class Shape>
__device__ __forceinline__ void produce(const panel_job &j, const task<typename Shape::sum> &t, const ring &r)
{
    constexpr int parts = (Shape::width + 31) / 32, size = sizeof(typename Shape::element);
    const int lane = threadIdx.x % 32;
    const int64_t end = j.p.n - t.column, *begin = j.begin + t.first, *first = j.first + t.first;
    const uint32_t bytes = end < Shape::tile ? static_cast<uint32_t>((end * size + 15) / 16 * 16) : Shape::pitch;
    const unsigned char *b = keep_address(static_cast<const unsigned char *>(j.p.b) + t.column * size);
    const uint32_t blocks = static_cast<uint32_t>(t.blocks);
    if (blocks == 0)
        return;
    source<parts> here = {begin[0], first[0], {}}, next = {begin[1], first[1], {}};
    find_columns<Shape>(here, j);
    for (uint32_t k = 0; k < blocks; k++) {
        const uint32_t stage = k % stages;
        __syncwarp(); // the columns before are read
#pragma unroll
        for (int i = 0; i < parts; i++)
            if (lane + 32 * i < Shape::width)
                r.columns[lane + 32 * i] = here.column[i];
        __syncwarp();
        find_columns<Shape>(next, j);
        const uint32_t after = k + 2 <= blocks ? k + 2 : blocks;
        const int64_t vector_after = begin[after], unit_after = first[after];
        mbarrier_wait(r.empty + stage, ~(k / stages) & 1);
        if (elect_lane()) {
            const int count = static_cast<int>(next.vector - here.vector);
            const uint32_t size = static_cast<uint32_t>(next.unit - here.unit) * TSR_PANEL_UNIT;
            uint64_t *full = r.full + stage;
            mbarrier_arrive_expect(full, static_cast<unsigned>(count) * bytes + size);
            bulk_copy(r.data + stage * j.room, j.data + here.unit * TSR_PANEL_UNIT, size, full);
            copy_rows<Shape>(r.rows + stage * Shape::stage, b, j.row_bytes, bytes, shared_place_of(r.columns), count, full);
        }
        here = next;
        next.vector = vector_after;
        next.unit = unit_after;
    }
}

// ---- consumers ----

/* sum += entry; whether it is its row's last one in the block. */
template <class Shape>
__device__ __forceinline__ bool add_entry(typename Shape::sum (&sum)[Shape::columns], const entry<typename Shape::sum> &e, shared_place b)
{
    using P = typename Shape::policy;
    uint32_t x[Shape::part / 4];
    load_shared(x, b + (e.place() >> Shape::shift));
#pragma unroll
    for (int c = 0; c < Shape::columns; c++)
        sum[c] = P::step(sum[c], e.value(), P::widen(item_of<typename Shape::element>(x, c)));
    return e.place() & TSR_PANEL_LAST;
}

/* sum += entries of the 8 rows, from `at` on; b: the lane's part of row 0 of the stage.  Entries come two at a time, and a row may begin
 * with the second.  That is told by where in the code the thread is: with a variable the compiler would ask it at every turn. */
template <class Shape>
__device__ __forceinline__ void add_pairs(typename Shape::sum (&sum)[rows][Shape::columns], uint32_t present, shared_place at,
                                          shared_place b)
{
    uint32_t two[4];
#define TSR_PANEL_LOAD(r, next)                                 \
    load_##r : load_shared(two, at);                            \
    at += sizeof two;                                           \
    if (add_entry<Shape>(sum[r], {{two[0], two[1]}}, b)) \
        goto second_##next;
#define TSR_PANEL_ADD(r)                                         \
    if (!add_entry<Shape>(sum[r], {{two[2], two[3]}}, b)) \
        goto load_##r;
#define TSR_PANEL_ROW(r, next)     \
    first_##r :                    \
    if (!(present >> r & 1))       \
        goto first_##next;         \
    TSR_PANEL_LOAD(r, next)        \
    add_##r : TSR_PANEL_ADD(r)
#define TSR_PANEL_SECOND(r, next)  \
    second_##r :                   \
    if (!(present >> r & 1))       \
        goto second_##next;        \
    goto add_##r;
    if (!(present & 1))
        goto first_1;
    TSR_PANEL_LOAD(0, 1)
    TSR_PANEL_ADD(0)
    TSR_PANEL_ROW(1, 2)
    TSR_PANEL_ROW(2, 3)
    TSR_PANEL_ROW(3, 4)
    TSR_PANEL_ROW(4, 5)
    TSR_PANEL_ROW(5, 6)
    TSR_PANEL_ROW(6, 7)
    TSR_PANEL_ROW(7, 8)
first_8:
second_8:
    return;
    TSR_PANEL_SECOND(1, 2)
    TSR_PANEL_SECOND(2, 3)
    TSR_PANEL_SECOND(3, 4)
    TSR_PANEL_SECOND(4, 5)
    TSR_PANEL_SECOND(5, 6)
    TSR_PANEL_SECOND(6, 7)
    TSR_PANEL_SECOND(7, 8)
#undef TSR_PANEL_LOAD
#undef TSR_PANEL_ADD
#undef TSR_PANEL_ROW
#undef TSR_PANEL_SECOND
}

/* The same, entries of 16 bytes. */
template <class Shape>
__device__ __forceinline__ void add_singles(typename Shape::sum (&sum)[rows][Shape::columns], uint32_t present, shared_place at,
                                            shared_place b)
{
#pragma unroll
    for (int r = 0; r < rows; r++) {
        if (!(present >> r & 1))
            continue;
        bool last;
#pragma unroll 1
        do {
            entry<typename Shape::sum> e;
            load_shared(e.w, at);
            at += sizeof e;
            last = add_entry<Shape>(sum[r], e, b);
        } while (!last);
    }
}

/* What C holds where the sum of a row is `sum`; formed: of something. */
template <class Shape>
__device__ __forceinline__ void finish(typename Shape::sum (&sum)[Shape::columns], bool formed)
{
#pragma unroll
    for (int c = 0; c < Shape::columns; c++)
        sum[c] = formed ? sum[c] : typename Shape::sum(0);
}

/* Bias and activation of a row's columns from `column` on, which are complete: of C as it is now. */
template <class Shape>
__device__ __forceinline__ void finish_sum(const panel_job &j, const tensor_output<typename Shape::sum> &out, int row, int64_t column,
                                           typename Shape::sum (&sum)[Shape::columns])
{
    typename Shape::sum *c = tensor_row(out, row) + column;
#pragma unroll
    for (int i = 0; i < Shape::columns; i++)
        if (column + i < j.p.n) {
            const typename Shape::sum x = out.beta != 0 ? out.alpha * sum[i] + out.beta * c[i] : out.alpha * sum[i];
            c[i] = tensor_finish(j.p, column + i, x);
        }
}

/* The same of all rows in registers: alpha is in them already. */
template <class Shape>
__device__ __forceinline__ void finish_rows(const panel_job &j, int64_t column, typename Shape::sum (&sum)[rows][Shape::columns])
{
#pragma unroll
    for (int c = 0; c < Shape::columns; c++)
#pragma unroll
        for (int r = 0; r < rows; r++)
            sum[r][c] = tensor_finish(j.p, column + c, sum[r][c]);
}

/* plus_times: C = alpha * sum + beta * C. */
template <class Shape>
__device__ __forceinline__ void store_sum(const tensor_output<typename Shape::sum> &out, int row, int64_t column, int64_t n,
                                          const typename Shape::sum (&sum)[Shape::columns])
{
    if constexpr (Shape::columns * sizeof(typename Shape::sum) == 16) {
        tensor_store(out, row, column, n, sum);
    } else {
        typename Shape::sum *c = tensor_row(out, row) + column;
#pragma unroll
        for (int i = 0; i < Shape::columns; i++)
            if (column + i < n)
                c[i] = out.beta != 0 ? out.alpha * sum[i] + out.beta * c[i] : out.alpha * sum[i];
    }
}

/* Anything else: C = sum. */
template <class Shape>
__device__ __forceinline__ void store_plain(const tensor_output<typename Shape::sum> &out, int row, int64_t column, int64_t n,
                                            const typename Shape::sum (&sum)[Shape::columns])
{
    typename Shape::sum *c = tensor_row(out, row) + column;
    if (out.vectors && column + Shape::columns <= n) {
        store_vector(c, sum);
        return;
    }
#pragma unroll
    for (int i = 0; i < Shape::columns; i++)
        if (column + i < n)
            c[i] = sum[i];
}

/* A row of sums goes to C; more: a part of it is there already; last: no other part comes. */
template <class Shape>
__device__ __forceinline__ void store_row(const panel_job &j, const task<typename Shape::sum> &t, tensor_output<typename Shape::sum> out,
                                          int row, int64_t column, bool more, bool last, typename Shape::sum (&sum)[Shape::columns])
{
    if (column >= j.p.n || row >= out.rows)
        return;
    out.beta = more ? typename Shape::sum(1) : out.beta;
    if (Shape::finishes && last && t.finishes) {
        finish_sum<Shape>(j, out, row, column, sum);
        return;
    }
    if constexpr (Shape::is_sum && std::is_floating_point_v<typename Shape::sum>) {
        store_sum<Shape>(out, row, column, j.p.n, sum);
    } else {
        if (t.offsets) {
            const int64_t *at = t.offsets + (out.row ? out.row[row] : t.window + row);
            finish<Shape>(sum, at[1] > at[0]);
        }
        store_plain<Shape>(out, row, column, j.p.n, sum);
    }
}

/* All rows, where no part is there already, all are inside and have entries, and beta is 0.  false: nothing was stored. */
template <class Shape>
__device__ __forceinline__ bool store_all(const panel_job &j, const task<typename Shape::sum> &t, int consumer, uint32_t seen,
                                          uint32_t stored, typename Shape::sum (&sum)[rows][Shape::columns])
{
    const tensor_output<typename Shape::sum> &out = t.out;
    const bool inside = out.vectors && (consumer + 1) * rows <= out.rows && t.column + Shape::tile <= j.p.n;
    if (!inside || stored || out.beta != 0 || (t.offsets && seen != 255))
        return false;
    const int64_t column = t.column + static_cast<int>(threadIdx.x % 32) * Shape::columns;
    if constexpr (Shape::is_sum && std::is_floating_point_v<typename Shape::sum>) {
        const typename Shape::sum alpha = out.alpha;
#pragma unroll
        for (int r = 0; r < rows; r++)
#pragma unroll
            for (int c = 0; c < Shape::columns; c++)
                sum[r][c] *= alpha;
        if (Shape::finishes && t.finishes)
            finish_rows<Shape>(j, column, sum);
    }
    typename Shape::sum *c = out.c + column;
    if (out.row) {
        const uint32_t row = __ldg(out.row + consumer * rows + threadIdx.x % rows);
#pragma unroll
        for (int r = 0; r < rows; r++)
            store_vector(c + __shfl_sync(0xffffffffu, row, r) * out.ld, sum[r]);
        return true;
    }
    c += consumer * rows * out.ld;
#pragma unroll
    for (int r = 0; r < rows; r++, c += out.ld)
        store_vector(c, sum[r]);
    return true;
}

/* one = sum; sum = identity; for the compiler something that is jumped to, not a choice of values. */
template <class Shape>
__device__ __forceinline__ void take_row(typename Shape::sum (&one)[Shape::columns], typename Shape::sum (&sum)[Shape::columns])
{
#pragma unroll
    for (int c = 0; c < Shape::columns; c++) {
        one[c] = sum[c];
        sum[c] = Shape::policy::identity();
    }
    keep_branch();
}

/* Rows `due` go to C, and begin anew; of rows `stored` a part is there already.  One after the other: the sums of all rows are alive,
 * there is no room for more. */
template <class Shape>
__device__ __forceinline__ void store(const panel_job &j, const task<typename Shape::sum> &t, int consumer, uint32_t due, uint32_t stored,
                                      bool last, typename Shape::sum (&sum)[rows][Shape::columns])
{
    const int64_t column = t.column + static_cast<int>(threadIdx.x % 32) * Shape::columns;
#pragma unroll 1
    for (; due; due &= due - 1) {
        const int mine = __ffs(static_cast<int>(due)) - 1;
        typename Shape::sum one[Shape::columns] = {};
        switch (mine) {
        case 0: take_row<Shape>(one, sum[0]); break;
        case 1: take_row<Shape>(one, sum[1]); break;
        case 2: take_row<Shape>(one, sum[2]); break;
        case 3: take_row<Shape>(one, sum[3]); break;
        case 4: take_row<Shape>(one, sum[4]); break;
        case 5: take_row<Shape>(one, sum[5]); break;
        case 6: take_row<Shape>(one, sum[6]); break;
        default: take_row<Shape>(one, sum[7]); break;
        }
        store_row<Shape>(j, t, t.out, consumer * rows + mine, column, stored >> mine & 1, last, one);
    }
}

/* All blocks of the item.  seen: rows with entries (not for plus_times); returns rows of whose sums a part is in C. */
template <class Shape>
__device__ __forceinline__ uint32_t consume(const panel_job &j, const task<typename Shape::sum> &t, uint32_t &seen, const ring &r,
                                            int consumer, int head, typename Shape::sum (&sum)[rows][Shape::columns])
{
    using one = entry<typename Shape::sum>;
    const shared_place first_b = keep_place(shared_place_of(r.rows + threadIdx.x % 32 * Shape::part)),
                       data = keep_place(shared_place_of(r.data));
    uint64_t *full = keep_address(r.full);
    const uint32_t blocks = static_cast<uint32_t>(t.blocks);
    uint32_t stored = 0;
    for (uint32_t k = 0; k < blocks; k++) {
        const uint32_t stage = k % stages;
        mbarrier_wait(full + stage, k / stages & 1);
        const shared_place here = data + stage * j.room, b = first_b + stage * Shape::stage;
        uint32_t word[1];
        load_shared(word, here + consumer * 4);
        const uint32_t present = word[0] & 255, skip = (word[0] >> 8 & 0xffff) * sizeof(one) + head;
        if (present) {
            if constexpr (sizeof(one) < TSR_PANEL_UNIT)
                add_pairs<Shape>(sum, present, here + skip, b);
            else
                add_singles<Shape>(sum, present, here + skip, b);
        }
        if (!Shape::is_sum)
            seen |= present;
        mbarrier_arrive(full + stages + stage); // `empty`; every lane for itself
        const uint32_t due = word[0] >> 24;
        if (Shape::renews && due && j.renews) {
            store<Shape>(j, t, consumer, due, stored, false, sum);
            stored |= due;
        }
    }
    return stored;
}

template <class P, int Height, int Width, int Columns, bool Finishes>
__global__ void __launch_bounds__(4 * Height + 32, Height == 64 ? 4 : 7) panel_kernel(panel_job j)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    using of = shape<P, Columns, Width, Finishes>;
    using sum_type = typename of::sum;
    constexpr int consumers = Height / rows, head = consumers * 4;
    int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x / 32), 0); // the compiler learns that it is the same for all lanes
    ring r = ring_at<of>(j);
    task<sum_type> &t = *static_cast<task<sum_type> *>(r.task);
    if (threadIdx.x == 0)
        begin_task<of>(&t, r, j, Height, consumers);
    __syncthreads();
    if (warp == 0) {
        produce<of>(j, t, r);
        return;
    }
    uint32_t seen = 0;
    sum_type sum[rows][Columns];
#pragma unroll
    for (int i = 0; i < rows; i++)
#pragma unroll
        for (int c = 0; c < Columns; c++)
            sum[i][c] = P::identity();
    const uint32_t stored = consume<of>(j, t, seen, r, warp - 1, head, sum);
    if (!store_all<of>(j, t, warp - 1, seen, stored, sum))
        store<of>(j, t, warp - 1, 255, stored, true, sum);
#endif
}

/* Partial sums of split windows, joined in order.  Block (x, s): elements x * threads ... of the window that is split s-th. */
constexpr int merge_threads = 256;
template <class P>
__global__ void __launch_bounds__(merge_threads) merge_partials(const int64_t *window, const int64_t *split_partial, int64_t nsplit,
                                                                int height, panel_job j)
{
    using sum_type = typename P::sum;
    const int64_t place = static_cast<int64_t>(blockIdx.x) * merge_threads + threadIdx.x, tile = height * j.p.n;
    if (place >= tile)
        return;
    const sum_type *partial = static_cast<const sum_type *>(j.p.partial) + place;
    for (int64_t s = blockIdx.y; s < nsplit; s += gridDim.y) {
        const int64_t row = window[s] * height + place / j.p.n, last = split_partial[s + 1];
        if (row >= j.nrows)
            continue;
        sum_type sum = P::identity();
#pragma unroll 4
        for (int64_t k = split_partial[s]; k < last; k++)
            sum = P::merge(sum, load_once(partial + k * tile));
        const int64_t target = j.p.row ? j.p.row[row] : row;
        const bool formed = j.offsets[target + 1] > j.offsets[target];
        static_cast<sum_type *>(j.p.c)[target * j.p.ldc + place % j.p.n] = formed ? sum : sum_type(0);
    }
}

// ---- the host's side ----

/* Bias and activation: FP32 and FP64 plus_times. */
template <class P>
constexpr bool can_finish = std::is_same_v<P, plus_times<float>> || std::is_same_v<P, plus_times<double>>;

template <class P, int Height, int Width, int Columns> tsr_status launch(panel_job j)
{
    using of = shape<P, Columns, Width, false>;
    j.tiles = static_cast<uint32_t>((j.p.n + of::tile - 1) / of::tile);
    if (j.items * static_cast<uint64_t>(j.tiles) > 0x7fffffff)
        return TSR_DECLINED;
    const size_t shared = static_cast<size_t>(ring_bytes<of>) + stages * static_cast<size_t>(j.room);
    auto kernel = panel_kernel<P, Height, Width, Columns, false>;
    if (j.p.bias || j.p.rectified) {
        if constexpr (can_finish<P>)
            kernel = panel_kernel<P, Height, Width, Columns, true>;
        else
            return TSR_DECLINED;
    }
    if (!tensor_allow_shared(kernel, shared))
        return TSR_INTERNAL_ERROR;
    TSR_LAUNCH(kernel, j.items * j.tiles, 4 * Height + 32, shared, j.p.stream, j);
    return launch_status();
}

/* Narrow tiles where n is small, down to `Least` columns a lane. */
template <class P, int Height, int Width, int Most, int Least> tsr_status launch_columns(const panel_job &j)
{
    if constexpr (Most > Least)
        if (j.p.n <= 16 * Most)
            return launch_columns<P, Height, Width, Most / 2, Least>(j);
    return launch<P, Height, Width, Most>(j);
}

template <class P, int Most, int Least> tsr_status launch_shape(const panel_job &j, const tsr_windows &w)
{
    switch (w.height * 100 + w.width) {
    case 3224: return launch_columns<P, 32, 24, Most, Least>(j);
    case 6448: return launch_columns<P, 64, 48, Most, Least>(j);
    default: return TSR_DECLINED;
    }
}

} // namespace panel

/* plus_times; TSR_DECLINED: no kernel for this shape of windows. */
tsr_status tsr_panel_fp32(const panel_job &j, const tsr_windows &w);
tsr_status tsr_panel_fp64(const panel_job &j, const tsr_windows &w);
tsr_status tsr_panel_fp16(const panel_job &j, const tsr_windows &w); /* B; values of A and sums are FP32 */
tsr_status tsr_panel_bf16(const panel_job &j, const tsr_windows &w);
/* Other semirings, partial sums joined, too. */
tsr_status tsr_panel_typed(tsr_semiring semiring, const panel_job &j, const tsr_windows &w, const tsr_work &work);
