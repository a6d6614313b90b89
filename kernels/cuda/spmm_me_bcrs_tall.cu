// SpMM over ME-BCRS with windows of 128 rows: a dense product of what the windows hold, for matrices some tenth full.
//
// A block of threads computes one work item for a tile of 32 Tiles columns.  Blocks of A and the rows of B that they name come by
// cp.async into a ring of stages, once for all warps: two warps share the rows of the window, four the columns of the tile.  With
// g = lane / 4 and t = lane % 4 lane g of a row of B takes Tiles neighbouring columns, one for each of the warp's instructions side by
// side, so that it reads them in one piece and ends with 2 Tiles neighbouring columns of C.  Rows are padded such that neither these
// reads nor those of A have bank conflicts.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmm_me_bcrs_tall.cuh"

namespace {

constexpr int height = 128, width = 32, threads = 256;
constexpr int rows_tiles = 4; // of 16 rows, of a warp

struct job {
    tsr_cuda_spmm p;
    int64_t nrows;
    uint32_t row_bytes; // of B
    const int64_t *vector, *block; // of the windows
    const uint32_t *column;
    const unsigned char *value;
    const int64_t *item_window, *item_block, *item_partial;
    uint32_t tiles;
};

template <tsr_cuda_math Math, int Tiles> struct shape {
    using math = tensor_math<Math>;
    using element = typename math::element;
    using sum = typename math::sum;
    static constexpr int size = sizeof(element), tiles = Tiles, columns = 32 * Tiles;
    static constexpr int a_row = width * size, a_pitch = a_row + (size == 8 ? 32 : 16);
    static constexpr int b_row = columns * size, b_pitch = b_row + (size == 2 ? 16 : 32);
    static constexpr int a_bytes = height * a_pitch, stage = a_bytes + width * b_pitch;
    static constexpr int stages = size == 8 ? 2 : size == 4 ? 3 : 4;
    static constexpr bool packed = math::pack == 2;
};

template <class Shape> using sums = typename Shape::sum[rows_tiles][Shape::tiles][4];

/* What a block of threads computes. */
struct task {
    const uint32_t *column; // of the item's vectors
    const unsigned char *value;
    int64_t window, partial;
    int count;              // vectors
};

template <class Shape> __device__ __forceinline__ task find_task(const job &j, uint32_t item)
{
    task w;
    const int64_t first = j.item_block[item], last = j.item_block[item + 1];
    w.window = j.item_window[item];
    w.partial = j.item_partial[item];
    const int64_t block = j.block[w.window], vector = j.vector[w.window] + (first - block) * width;
    w.count = static_cast<int>(min(j.vector[w.window + 1] - vector, (last - first) * width));
    w.column = j.column + vector;
    w.value = j.value + vector * (height * Shape::size);
    return w;
}

// ---- From memory into the ring ----

/* The thread's part of every block: 16 bytes each of some rows of B, whose numbers it knows one block ahead. */
template <class Shape> struct filler {
    static constexpr int pieces = Shape::b_row / 16, copies = width * pieces / threads, apart = threads / pieces; // rows
    const task &w;
    const unsigned char *b; // the thread's column
    uint32_t row_bytes, next[copies];
    bool inside; // B has the column

    __device__ __forceinline__ filler(const job &j, const task &of, int64_t column) : w(of), row_bytes(j.row_bytes)
    {
        const int64_t offset = column * Shape::size + threadIdx.x % pieces * 16;
        inside = offset < static_cast<int64_t>(j.row_bytes);
        b = static_cast<const unsigned char *>(j.p.b) + (inside ? offset : 0);
        find_rows(0);
    }
    __device__ __forceinline__ int slot(int c) const { return static_cast<int>(threadIdx.x) / pieces + c * apart; }
    __device__ __forceinline__ void find_rows(int block)
    {
#pragma unroll
        for (int c = 0; c < copies; c++)
            next[c] = block * width + slot(c) < w.count ? __ldg(w.column + block * width + slot(c)) : 0;
    }
    /* The last block of a window may have fewer vectors: their values are not aligned, the others are zero. */
    __device__ __forceinline__ void copy_tail(unsigned char *to, const unsigned char *from, int length) const
    {
        using element = typename Shape::element;
        for (int i = static_cast<int>(threadIdx.x); i < height * width; i += threads) {
            const int row = i / width, place = i % width;
            element x = element(0);
            if (place < length)
                x = __ldg(reinterpret_cast<const element *>(from) + row * length + place);
            *reinterpret_cast<element *>(to + row * Shape::a_pitch + place * Shape::size) = x;
        }
    }
    __device__ __forceinline__ void copy(unsigned char *to, int block)
    {
        constexpr int row_pieces = Shape::a_row / 16;
        const unsigned char *from = w.value + static_cast<int64_t>(block) * (height * Shape::a_row);
        const int left = w.count - block * width;
        if (left < width) {
            copy_tail(to, from, left);
        } else {
#pragma unroll
            for (int i = 0; i < height * row_pieces; i += threads) {
                const int at = i + static_cast<int>(threadIdx.x);
                cp_async<16>(to + at / row_pieces * Shape::a_pitch + at % row_pieces * 16, from + at * 16, true);
            }
        }
#pragma unroll
        for (int c = 0; c < copies; c++)
            cp_async<16>(to + Shape::a_bytes + slot(c) * Shape::b_pitch + threadIdx.x % pieces * 16, advance(b, next[c], row_bytes),
                         inside && slot(c) < left);
        find_rows(block + 1);
    }
};

// ---- Products of a stage ----

/* Element i of some words. */
template <class T, int Words> __device__ __forceinline__ T element_at(const uint32_t (&w)[Words], int i)
{
    if constexpr (sizeof(T) == 8)
        return __hiloint2double(static_cast<int>(w[2 * i + 1]), static_cast<int>(w[2 * i]));
    else
        return __uint_as_float(w[i]);
}

/* a: the lane's first row and place along k; b: its first row and columns. */
template <class Shape> __device__ __forceinline__ void multiply(sums<Shape> &total, shared_place a, shared_place b)
{
    using math = typename Shape::math;
    using element = typename Shape::element;
    constexpr int words = Shape::size / 4;
#pragma unroll
    for (int k = 0; k < width; k += 8) {
        typename math::dense x[Shape::tiles][2];
#pragma unroll
        for (int half = 0; half < 2; half++) {
            uint32_t w[Shape::tiles * words];
            load_shared(w, b + (k + 4 * half) * Shape::b_pitch);
#pragma unroll
            for (int i = 0; i < Shape::tiles; i++)
                x[i][half] = math::make_dense(element_at<element>(w, i));
        }
#pragma unroll
        for (int m = 0; m < rows_tiles; m++) {
            typename math::sparse y[4];
#pragma unroll
            for (int q = 0; q < 4; q++) {
                uint32_t w[words];
                load_shared(w, a + (m * 16 + q % 2 * 8) * Shape::a_pitch + (k + q / 2 * 4) * Shape::size);
                y[q] = math::make_sparse(element_at<element>(w, 0));
            }
#pragma unroll
            for (int i = 0; i < Shape::tiles; i++)
                math::accumulate(total[m][i], y, x[i]);
        }
    }
}

/* 16-bit numbers: 16 along k at a time. */
template <bool Bf16, class Shape>
__device__ __forceinline__ void multiply_pairs(sums<Shape> &total, shared_place a, shared_place b)
{
#pragma unroll
    for (int k = 0; k < width; k += 16) {
        uint32_t x[Shape::tiles][2];
#pragma unroll
        for (int half = 0; half < 2; half++) {
            uint32_t low[Shape::tiles / 2], high[Shape::tiles / 2];
            load_shared(low, b + (k + 8 * half) * Shape::b_pitch);
            load_shared(high, b + (k + 8 * half + 1) * Shape::b_pitch);
#pragma unroll
            for (int i = 0; i < Shape::tiles; i++)
                x[i][half] = __byte_perm(low[i / 2], high[i / 2], i % 2 ? 0x7632 : 0x5410);
        }
#pragma unroll
        for (int m = 0; m < rows_tiles; m++) {
            uint32_t y[4];
#pragma unroll
            for (int q = 0; q < 4; q++) {
                uint32_t w[1];
                load_shared(w, a + (m * 16 + q % 2 * 8) * Shape::a_pitch + (k + q / 2 * 8) * Shape::size);
                y[q] = w[0];
            }
#pragma unroll
            for (int i = 0; i < Shape::tiles; i++)
                mma_m16n8k16_half<Bf16>(total[m][i], y, x[i]);
        }
    }
}

/* row: of the window, column: of C; of the lane's first sums. */
template <class Shape>
__device__ __forceinline__ void store(const job &j, const task &w, const sums<Shape> &total, int row, int64_t column)
{
    using sum = typename Shape::sum;
    constexpr int piece = 16 / sizeof(sum), pieces = 2 * Shape::tiles / piece;
    const tensor_output<sum> out = tensor_target<sum>(j.p, j.nrows, height, w.window, w.partial, 1.0);
#pragma unroll
    for (int m = 0; m < rows_tiles; m++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            sum x[2 * Shape::tiles];
#pragma unroll
            for (int i = 0; i < Shape::tiles; i++) {
                x[i] = total[m][i][2 * h];
                x[Shape::tiles + i] = total[m][i][2 * h + 1];
            }
#pragma unroll
            for (int q = 0; q < pieces; q++)
                tensor_store(out, row + m * 16 + h * 8, column + q * piece, j.p.n, x + q * piece);
        }
}

template <tsr_cuda_math Math, int Tiles> __global__ void __launch_bounds__(threads, 2) spmm(const __grid_constant__ job j)
{
    using of = shape<Math, Tiles>;
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4, warp = threadIdx.x / 32;
    const uint32_t item = blockIdx.x / j.tiles, tile = blockIdx.x - item * j.tiles;
    const int row = warp / 4 * (16 * rows_tiles) + g, column = warp % 4 * (8 * Tiles);
    const int64_t first_column = static_cast<int64_t>(tile) * of::columns;
    const task w = find_task<of>(j, item);
    const int blocks = (w.count + width - 1) / width;
    unsigned char *ring = dynamic_shared();
    filler<of> fill(j, w, first_column);
#pragma unroll
    for (int s = 0; s < of::stages - 1; s++) {
        if (s < blocks)
            fill.copy(ring + s * of::stage, s);
        cp_async_commit();
    }
    const shared_place places = shared_place_of(ring);
    const shared_place a = places + row * of::a_pitch + t * (of::packed ? 2 : 1) * of::size;
    const shared_place b = places + of::a_bytes + t * (of::packed ? 2 : 1) * of::b_pitch + (column + Tiles * g) * of::size;
    sums<of> total = {};
    int read = 0, write = of::stages - 1;
    for (int k = 0; k < blocks; k++) {
        cp_async_wait<of::stages - 2>();
        __syncthreads(); // everybody's copies are there, and everybody is done with the stage before
        if (k + of::stages - 1 < blocks)
            fill.copy(ring + write * of::stage, k + of::stages - 1);
        cp_async_commit();
        if constexpr (of::packed)
            multiply_pairs<Math == TSR_CUDA_BF16, of>(total, a + read * of::stage, b + read * of::stage);
        else
            multiply<of>(total, a + read * of::stage, b + read * of::stage);
        write = read;
        read = read == of::stages - 1 ? 0 : read + 1;
    }
    store<of>(j, w, total, row, first_column + column + 2 * Tiles * t);
}

// ---- Host side ----

template <tsr_cuda_math Math, int Tiles> tsr_status launch(job j, int64_t nitems)
{
    using of = shape<Math, Tiles>;
    const int64_t tiles = (j.p.n + of::columns - 1) / of::columns;
    constexpr size_t shared = static_cast<size_t>(of::stages) * of::stage;
    if (shared > j.p.device->shared_bytes_block || nitems * tiles > INT32_MAX)
        return TSR_DECLINED;
    auto kernel = spmm<Math, Tiles>;
    if (!tensor_allow_shared(kernel, shared))
        return TSR_INTERNAL_ERROR;
    j.tiles = static_cast<uint32_t>(tiles);
    TSR_LAUNCH(kernel, static_cast<unsigned>(nitems * tiles), threads, shared, j.p.stream, j);
    return launch_status();
}

template <tsr_cuda_math Math> tsr_status launch_columns(const job &j, int64_t nitems)
{
    if constexpr (Math != TSR_CUDA_FP64)
        if (j.p.n > 64)
            return launch<Math, 4>(j, nitems);
    return launch<Math, 2>(j, nitems);
}

tsr_status launch_math(const job &j, int64_t nitems)
{
    switch (j.p.math) {
    case TSR_CUDA_EXACT: return launch_columns<TSR_CUDA_EXACT>(j, nitems);
    case TSR_CUDA_TF32: return launch_columns<TSR_CUDA_TF32>(j, nitems);
    case TSR_CUDA_FP16: return launch_columns<TSR_CUDA_FP16>(j, nitems);
    case TSR_CUDA_BF16: return launch_columns<TSR_CUDA_BF16>(j, nitems);
    default: return launch_columns<TSR_CUDA_FP64>(j, nitems);
    }
}

} // namespace

/* One item for each multiprocessor: two are there at a time, and partial sums cost.  Where there are many, none is so long that all
 * wait for it at the end. */
int64_t tsr_me_bcrs_tall_most(const tsr_windows &w, const tsr_cuda_device &device)
{
    const int64_t least = 8, usual = 64, sms = device.sms > 0 ? device.sms : 1, fair = (w.nblocks + sms - 1) / sms;
    if (fair <= usual)
        return fair > least ? fair : least;
    return fair / 8 > usual ? fair / 8 : usual;
}

tsr_status tsr_spmm_me_bcrs_tall(const tsr_me_bcrs &a, const tsr_work &work, const tsr_cuda_spmm &p)
{
    const uint64_t row_bytes = static_cast<uint64_t>(p.ldb) * tsr_number_size(tsr_cuda_number(p.math));
    if (p.variant != 0 || row_bytes > UINT32_MAX)
        return TSR_DECLINED;
    if (work.nitems == 0)
        return TSR_OK;
    job j = {};
    j.p = p;
    j.nrows = a.w.nrows;
    j.row_bytes = static_cast<uint32_t>(row_bytes);
    j.vector = a.w.vector;
    j.block = a.w.block;
    j.column = a.w.column;
    j.value = static_cast<const unsigned char *>(a.value);
    j.item_window = work.window;
    j.item_block = work.block;
    j.item_partial = work.partial;
    return launch_math(j, work.nitems);
}
