// SDDMM over a stencil (src/format/blocks/formats.h): C<S> = X Y' with a row of Y brought to shared memory once for 32 rows of X.
//
// A block of threads computes one work item, vectors of one window.  Its first warp, the producer, brings their rows of Y to a ring of
// stages in shared memory, 32 at a time.  Every other warp, a consumer, owns 8 rows of X, which stay in registers.  Two kinds of
// consumers: multiply-adds (sddmm_stencil.cu: FP32, FP64) and matrix instructions (sddmm_stencil_mma.cu: TF32, FP16, BF16).  Results are
// stored where CSR has them: after the entries of their row that come in earlier vectors.
//
// Rows longer than 512 bytes are multiplied 512 bytes at a time, results added up in C.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/common/mask.cuh"
#include "kernels/cuda/spmm/tensor.cuh"

namespace sddmm_stencil {

constexpr int height = TSR_STENCIL_HEIGHT, width = TSR_STENCIL_WIDTH;
constexpr int rows = 8; // of a consumer
constexpr int consumers = height / rows;
constexpr int threads = 32 * (consumers + 1);
constexpr int longest = 512; // bytes of a row that are multiplied at a time
constexpr unsigned every_lane = 0xffffffffu;

struct job : mask_entries {
    void *out;
    int8_t *present;
    bool more;                   // add to what is there
    const unsigned char *x, *y;  // where the bytes that are multiplied begin
    int64_t x_pitch;             // bytes
    uint32_t y_pitch;
    int pieces;                  // of 16 bytes, that are multiplied
    const int64_t *vector, *block;
    const uint32_t *column, *sets;
    const int64_t *item_window, *item_block;
    uint32_t items;
    void *stream;
};

// ---- The ring of stages ----

/* Bytes of a row, rounded up; how far rows are apart in a stage; stages. */
template <int Bytes, int Pitch, int Stages> struct ring_shape {
    static constexpr int bytes = Bytes, pitch = Pitch, stages = Stages;
    static constexpr int stage = width * Pitch;
    static constexpr int shared = Stages * (stage + 16); // bytes in all
};

template <class Shape> struct ring {
    unsigned char *data = dynamic_shared();
    uint64_t *full = reinterpret_cast<uint64_t *>(data + Shape::stages * Shape::stage), *empty = full + Shape::stages;

    __device__ __forceinline__ void begin() const
    {
        for (int s = 0; s < Shape::stages; s++) {
            mbarrier_init(full + s, 32);
            mbarrier_init(empty + s, 32 * consumers);
        }
        mbarrier_fence_init();
    }
};

/* Which stage, and how often the ring has been filled before. */
template <class Shape> struct turn {
    int stage = 0;
    unsigned round = 0;
    __device__ __forceinline__ void next()
    {
        stage = stage == Shape::stages - 1 ? 0 : stage + 1;
        round += stage == 0;
    }
};

struct item {
    int64_t window, vector, block; // vector, block: its first
    int count;                     // vectors
    bool whole;                    // starts with the window's first
};

__device__ __forceinline__ item find_item(const job &j)
{
    item t;
    const int64_t last = j.item_block[blockIdx.x + 1];
    t.block = j.item_block[blockIdx.x];
    t.window = j.item_window[blockIdx.x];
    t.whole = t.block == j.block[t.window];
    t.vector = j.vector[t.window] + (t.block - j.block[t.window]) * width;
    t.count = static_cast<int>(min(j.vector[t.window + 1] - t.vector, (last - t.block) * width));
    return t;
}

/* Rows of Y in pieces of 16 bytes by all lanes; lane l has the column of slot l.  What is past the end of a row is zero. */
template <class Shape>
__device__ __forceinline__ void copy_rows(const job &j, unsigned char *to, uint32_t column, int count, uint64_t *full)
{
    constexpr int lanes = Shape::bytes / 16, together = 32 / lanes; // of a row; rows
    const int lane = threadIdx.x % 32, piece = lane % lanes;
#pragma unroll 4
    for (int s = 0; s < width; s += together) {
        const int slot = s + lane / lanes;
        const uint32_t from = __shfl_sync(every_lane, column, slot);
        if (slot < count)
            cp_async<16>(to + slot * Shape::pitch + piece * 16, advance(j.y + piece * 16, from, j.y_pitch), piece < j.pieces);
    }
    cp_async_arrive(full);
}

template <class Shape> __device__ __forceinline__ void produce(const job &j, const item &t, const ring<Shape> &r)
{
    const int lane = threadIdx.x % 32;
    const uint32_t *column = j.column + t.vector;
    uint32_t next = lane < t.count ? __ldg(column + lane) : 0;
    turn<Shape> at;
    for (int left = t.count; left > 0; left -= width) {
        const uint32_t mine = next;
        column += width;
        next = lane < left - width ? __ldg(column + lane) : 0;
        mbarrier_wait(r.empty + at.stage, ~at.round & 1);
        copy_rows<Shape>(j, r.data + at.stage * Shape::stage, mine, min(left, width), r.full + at.stage);
        at.next();
    }
}

// ---- Results ----

/* The first of the row's entries at or after the item's first column. */
__device__ __forceinline__ int64_t first_entry(const job &j, const item &t, int64_t row)
{
    int64_t low = j.p[min(row, j.nrows)], high = j.p[min(row + 1, j.nrows)];
    const uint32_t column = t.whole ? 0 : j.column[t.vector];
    while (column > 0 && low < high) {
        const int64_t middle = (low + high) / 2;
        if (j.i[middle] < column)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Where results of a window go. */
template <class Sum> struct target {
    int64_t entry; // the window's first
    Sum *out;      // its result
    bool plain;    // every entry of the window is wanted, and nothing else

    __device__ __forceinline__ target(const job &j, int64_t window)
    {
        const int64_t first = window * height;
        entry = j.p[first];
        out = keep_address(static_cast<Sum *>(j.out) + (entry - j.begin));
        plain = !j.mask && !j.present && !j.more && entry >= j.begin && j.p[min(first + height, j.nrows)] <= j.end;
    }
    /* place: of the entry, from the window's first on. */
    __device__ __forceinline__ void store(const job &j, uint32_t place, Sum value) const
    {
        if (plain) {
            out[place] = value;
            return;
        }
        const int64_t e = entry + place;
        if (e < j.begin || e >= j.end)
            return;
        const bool pass = mask_passes(j.mask, j.mask_size, e);
        out[place] = !pass ? Sum(0) : j.more ? out[place] + value : value;
        if (j.present)
            j.present[e - j.begin] = pass;
    }
};

// ---- The whole ----

/* Consumer: its ring's shape; what its constructor reads does not wait; next_block() reads a block's entries, consume(job, stage) computes
 * them when the rows of Y are there. */
template <class Consumer> __device__ __forceinline__ void compute(const job &j)
{
    using shape = typename Consumer::shape;
    const int warp = __shfl_sync(every_lane, static_cast<int>(threadIdx.x / 32), 0); // the compiler learns that it is the same for all
    const item t = find_item(j);
    const int64_t first = t.window * height;
    if (t.count == 0 || j.p[first] >= j.end || j.p[min(first + height, j.nrows)] <= j.begin)
        return;
    const ring<shape> r;
    if (threadIdx.x == 0)
        r.begin();
    __syncthreads();
    if (warp == 0) {
        produce<shape>(j, t, r);
        return;
    }
    Consumer consumer(j, t, warp - 1);
    turn<shape> at;
    for (int left = t.count; left > 0; left -= width) {
        consumer.next_block();
        mbarrier_wait(r.full + at.stage, at.round & 1);
        consumer.consume(j, at.stage);
        mbarrier_arrive(r.empty + at.stage);
        at.next();
    }
}

template <class Kernel> tsr_status launch(Kernel kernel, const job &j, int shared)
{
    if (!tensor_allow_shared(kernel, static_cast<size_t>(shared)))
        return TSR_INTERNAL_ERROR;
    TSR_LAUNCH(kernel, j.items, threads, static_cast<size_t>(shared), j.stream, j);
    return launch_status();
}

} // namespace sddmm_stencil

/* Queue one pass; in sddmm_stencil_mma.cu.  math: TF32, FP16, BF16. */
tsr_status tsr_cuda_sddmm_stencil_mma(const sddmm_stencil::job &j, tsr_cuda_math math);
