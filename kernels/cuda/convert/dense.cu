// Dense operands: transpose, conversion to 16 bits, the search for values that a Tensor-Core kernel must not see.  All
// bound by memory.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/common/semiring.cuh"

#include <climits>

namespace {

bool aligned(const void *p, int64_t ld, int element, int vector)
{
    return reinterpret_cast<uintptr_t>(p) % size_t(element * vector) == 0 && ld % vector == 0;
}

// ---- Transpose: square tiles of 128 bytes a row through shared memory; small elements travel in fours of bytes ----

constexpr int transpose_warps = 8;

template <class T> struct transpose_tile {
    static constexpr int pack = sizeof(T) < 4 ? 4 / int(sizeof(T)) : 1, size = 32 * pack;
    T at[size][size + pack];
};

struct transpose_args {
    void *dst;
    int64_t dst_ld;
    const void *src;
    int64_t src_ld, rows, cols, col_tiles, tiles;
    bool src_packs, dst_packs;
};

/* `pack` elements from (to) `at`, of which `left` exist. */
template <class T, int Pack> __device__ __forceinline__ void read_pack(T (&x)[Pack], const T *at, int64_t left, bool packs)
{
    if (packs && left >= Pack) {
        load_vector(x, at);
    } else {
#pragma unroll
        for (int k = 0; k < Pack; k++)
            x[k] = k < left ? at[k] : T();
    }
}
template <class T, int Pack> __device__ __forceinline__ void write_pack(T *at, const T (&x)[Pack], int64_t left, bool packs)
{
    if (packs && left >= Pack) {
        store_vector(at, x);
    } else {
#pragma unroll
        for (int k = 0; k < Pack; k++)
            if (k < left)
                at[k] = x[k];
    }
}

template <class To, class T> __global__ void __launch_bounds__(32 * transpose_warps) transpose_tiles(transpose_args q)
{
    using tile = transpose_tile<T>;
    constexpr int pack = tile::pack, size = tile::size;
    tile &stage = *reinterpret_cast<tile *>(dynamic_shared());
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int64_t t = blockIdx.x; t < q.tiles; t += gridDim.x) {
        int64_t row = t / q.col_tiles * size, col = t % q.col_tiles * size;
        for (int r = warp; r < size && row + r < q.rows; r += transpose_warps) {
            T x[pack];
            read_pack(x, static_cast<const T *>(q.src) + (row + r) * q.src_ld + col + lane * pack, q.cols - col - lane * pack,
                q.src_packs);
#pragma unroll
            for (int k = 0; k < pack; k++)
                stage.at[r][lane * pack + k] = x[k];
        }
        __syncthreads();
        for (int c = warp; c < size && col + c < q.cols; c += transpose_warps) {
            To x[pack];
#pragma unroll
            for (int k = 0; k < pack; k++)
                x[k] = row + lane * pack + k < q.rows ? To(stage.at[lane * pack + k][c]) : To();
            write_pack(
                static_cast<To *>(q.dst) + (col + c) * q.dst_ld + row + lane * pack, x, q.rows - row - lane * pack, q.dst_packs);
        }
        __syncthreads();
    }
}

template <class T, class To = T> tsr_status transpose(transpose_args q, void *stream)
{
    using tile = transpose_tile<T>;
    q.col_tiles = (q.cols + tile::size - 1) / tile::size;
    q.tiles = (q.rows + tile::size - 1) / tile::size * q.col_tiles;
    q.src_packs = aligned(q.src, q.src_ld, sizeof(T), tile::pack);
    q.dst_packs = aligned(q.dst, q.dst_ld, sizeof(To), tile::pack);
    const auto kernel = transpose_tiles<To, T>;
    int64_t blocks = q.tiles < INT_MAX ? q.tiles : INT_MAX;
    TSR_LAUNCH(kernel, unsigned(blocks), 32 * transpose_warps, sizeof(tile), stream, q);
    return launch_status();
}

// ---- Element by element: threads take `quad` columns of a row each, a block some columns of some rows ----

constexpr int quad = 4, sweep_threads = 256;

struct sweep {
    int64_t rows, cols;
    int across;     /* threads along a row: a power of two */
    int64_t pieces; /* of a row, for as many blocks */
    unsigned blocks;
};

sweep make_sweep(int64_t rows, int64_t cols)
{
    sweep s = { rows, cols, 1, 1, 0 };
    while (s.across < sweep_threads && s.across * quad < cols)
        s.across *= 2;
    s.pieces = (cols + s.across * quad - 1) / (s.across * quad);
    int64_t down = sweep_threads / s.across, blocks = (rows + down - 1) / down * s.pieces;
    s.blocks = unsigned(blocks < 65536 ? blocks : 65536);
    return s;
}

/* Calls what(row, first column, columns left) for all groups of four that are this thread's. */
template <class What> __device__ __forceinline__ void for_quads(const sweep &s, What what)
{
    int down = sweep_threads / s.across, across = threadIdx.x % s.across;
    int64_t parts = (s.rows + down - 1) / down * s.pieces;
    for (int64_t t = blockIdx.x; t < parts; t += gridDim.x) {
        int64_t row = t / s.pieces * down + threadIdx.x / s.across, col = (t % s.pieces * s.across + across) * quad;
        if (row < s.rows && col < s.cols)
            what(row, col, s.cols - col);
    }
}

__device__ __forceinline__ void cast(float &to, float from) { to = from; }
__device__ __forceinline__ void cast(double &to, double from) { to = from; }
__device__ __forceinline__ void cast(float &to, __half from) { to = __half2float(from); }
__device__ __forceinline__ void cast(float &to, __nv_bfloat16 from) { to = __bfloat162float(from); }
__device__ __forceinline__ void cast(__half &to, float from) { to = __float2half_rn(from); }
__device__ __forceinline__ void cast(__half &to, __half from) { to = from; }
__device__ __forceinline__ void cast(__nv_bfloat16 &to, float from) { to = __float2bfloat16_rn(from); }
__device__ __forceinline__ void cast(__nv_bfloat16 &to, __nv_bfloat16 from) { to = from; }

/* Without padding, short rows are one long one. */
void join_rows(int64_t *rows, int64_t *cols, int64_t ld, int64_t other_ld)
{
    constexpr int64_t wide = quad * sweep_threads;
    if (ld != *cols || other_ld != *cols || *cols >= wide || *rows * *cols % wide != 0)
        return;
    *rows = *rows * *cols / wide;
    *cols = wide;
}

struct convert_args {
    void *dst;
    int64_t dst_ld;
    const void *src;
    int64_t src_ld;
    bool src_quads, dst_quads;
    float scale; /* of numbers, where they are Scaled */
};

template <class To, class From, bool Scaled> __global__ void __launch_bounds__(sweep_threads) convert_quads(convert_args q, sweep s)
{
    for_quads(s, [&](int64_t row, int64_t col, int64_t left) {
        From x[quad];
        To y[quad];
        read_pack(x, static_cast<const From *>(q.src) + row * q.src_ld + col, left, q.src_quads);
#pragma unroll
        for (int k = 0; k < quad; k++)
            if constexpr (Scaled)
                cast(y[k], q.scale * x[k]);
            else
                cast(y[k], x[k]);
        write_pack(static_cast<To *>(q.dst) + row * q.dst_ld + col, y, left, q.dst_quads);
    });
}

/* rows, cols > 0. */
template <class To, class From, bool Scaled = false> tsr_status convert(convert_args q, int64_t rows, int64_t cols, void *stream)
{
    int64_t old_cols = cols;
    join_rows(&rows, &cols, q.dst_ld, q.src_ld);
    if (cols != old_cols)
        q.dst_ld = q.src_ld = cols;
    q.src_quads = aligned(q.src, q.src_ld, sizeof(From), quad);
    q.dst_quads = aligned(q.dst, q.dst_ld, sizeof(To), quad);
    sweep s = make_sweep(rows, cols);
    auto kernel = convert_quads<To, From, Scaled>;
    TSR_LAUNCH(kernel, s.blocks, sweep_threads, 0, stream, q, s);
    return launch_status();
}

template <class T> __device__ __forceinline__ T magnitude(T x) { return fabs(x); }
__device__ __forceinline__ float magnitude(__half x) { return fabsf(__half2float(x)); }
__device__ __forceinline__ float magnitude(__nv_bfloat16 x) { return fabsf(__bfloat162float(x)); }

/* All writers write the same. */
template <class T, class Limit> __global__ void __launch_bounds__(sweep_threads)
    check_quads(int *flag, const T *x, int64_t ld, bool quads, Limit limit, sweep s)
{
    bool bad = false;
    for_quads(s, [&](int64_t row, int64_t col, int64_t left) {
        T y[quad];
        read_pack(y, x + row * ld + col, left, quads);
#pragma unroll
        for (int k = 0; k < quad; k++)
            bad |= k < left && !(magnitude(y[k]) < limit);
    });
    if (bad)
        *flag = 1;
}

template <class T, class Limit>
tsr_status check(int *flag, const void *x, int64_t ld, int64_t rows, int64_t cols, Limit limit, void *stream)
{
    sweep s = make_sweep(rows, cols);
    auto kernel = check_quads<T, Limit>;
    TSR_LAUNCH(kernel, s.blocks, sweep_threads, 0, stream, flag, static_cast<const T *>(x), ld, aligned(x, ld, sizeof(T), quad),
        limit, s);
    return launch_status();
}

/* A few blocks a multiprocessor: each ends with an atomic operation. */
constexpr unsigned range_blocks = 2048;

__global__ void __launch_bounds__(sweep_threads) range_quads(uint32_t *range, const float *x, int64_t ld, bool quads, sweep s)
{
    uint32_t greatest = 0, least = 0; /* least: all bits of it turned */
    for_quads(s, [&](int64_t row, int64_t col, int64_t left) {
        float y[quad];
        read_pack(y, x + row * ld + col, left, quads);
#pragma unroll
        for (int k = 0; k < quad; k++) {
            const uint32_t bits = k < left ? __float_as_uint(y[k]) & 0x7fffffffu : 0;
            greatest = max(greatest, bits);
            least = bits ? max(least, ~bits) : least;
        }
    });
    greatest = __reduce_max_sync(0xffffffffu, greatest);
    least = __reduce_max_sync(0xffffffffu, least);
    if (threadIdx.x % 32 == 0) {
        atomicMax(range, greatest);
        atomicMax(range + 1, least);
    }
}

/* x >= this exactly if x >= limit, for floats x. */
float float_limit(double limit)
{
    float nearest = float(limit);
    return double(nearest) < limit ? nextafterf(nearest, INFINITY) : nearest;
}

} // namespace

extern "C" tsr_status tsr_cuda_transpose(
    void *dst, int64_t dst_ld, const void *src, int64_t src_ld, int64_t rows, int64_t cols, int size, void *stream)
{
    transpose_args q = { dst, dst_ld, src, src_ld, rows, cols, 0, 0, false, false };
    if (rows == 0 || cols == 0)
        return TSR_OK;
    switch (size) {
    case 1: return transpose<uint8_t>(q, stream);
    case 2: return transpose<uint16_t>(q, stream);
    case 4: return transpose<uint32_t>(q, stream);
    case 8: return transpose<uint64_t>(q, stream);
    case 16: return transpose<uint4>(q, stream);
    default: return TSR_DECLINED;
    }
}

extern "C" tsr_status tsr_cuda_convert(void *dst, tsr_number to, int64_t dst_ld, const void *src, tsr_number from, int64_t src_ld,
    int64_t rows, int64_t cols, void *stream)
{
    convert_args q = { dst, dst_ld, src, src_ld, false, false, 1 };
    if (rows == 0 || cols == 0)
        return TSR_OK;
    if (to == from)
        switch (to) {
        case TSR_NUMBER_FP32: return convert<float, float>(q, rows, cols, stream);
        case TSR_NUMBER_FP64: return convert<double, double>(q, rows, cols, stream);
        case TSR_NUMBER_FP16: return convert<__half, __half>(q, rows, cols, stream);
        case TSR_NUMBER_BF16: return convert<__nv_bfloat16, __nv_bfloat16>(q, rows, cols, stream);
        }
    if (from == TSR_NUMBER_FP32 && to == TSR_NUMBER_FP16)
        return convert<__half, float>(q, rows, cols, stream);
    if (from == TSR_NUMBER_FP32 && to == TSR_NUMBER_BF16)
        return convert<__nv_bfloat16, float>(q, rows, cols, stream);
    if (from == TSR_NUMBER_FP16 && to == TSR_NUMBER_FP32)
        return convert<float, __half>(q, rows, cols, stream);
    if (from == TSR_NUMBER_BF16 && to == TSR_NUMBER_FP32)
        return convert<float, __nv_bfloat16>(q, rows, cols, stream);
    return TSR_DECLINED;
}

extern "C" tsr_status tsr_cuda_transpose_widened(
    float *dst, int64_t dst_ld, const void *src, tsr_number from, int64_t src_ld, int64_t rows, int64_t cols, void *stream)
{
    transpose_args q = { dst, dst_ld, src, src_ld, rows, cols, 0, 0, false, false };
    if (rows == 0 || cols == 0)
        return TSR_OK;
    return from == TSR_NUMBER_FP16 ? transpose<__half, float>(q, stream) : transpose<__nv_bfloat16, float>(q, stream);
}

extern "C" tsr_status tsr_cuda_narrow(
    void *dst, int64_t dst_ld, const void *src, int64_t src_ld, int64_t rows, int64_t cols, float scale, void *stream)
{
    convert_args q = { dst, dst_ld, src, src_ld, false, false, scale };
    return rows == 0 || cols == 0 ? TSR_OK : convert<__half, float, true>(q, rows, cols, stream);
}

extern "C" tsr_status tsr_cuda_find_range(uint32_t *range, const void *x, int64_t ld, int64_t rows, int64_t cols, void *stream)
{
    if (rows == 0 || cols == 0)
        return TSR_OK;
    int64_t old_cols = cols;
    join_rows(&rows, &cols, ld, ld);
    ld = cols != old_cols ? cols : ld;
    sweep s = make_sweep(rows, cols);
    s.blocks = s.blocks < range_blocks ? s.blocks : range_blocks;
    TSR_LAUNCH(range_quads, s.blocks, sweep_threads, 0, stream, range, static_cast<const float *>(x), ld,
        aligned(x, ld, sizeof(float), quad), s);
    return launch_status();
}

extern "C" tsr_status tsr_cuda_check_finite(
    int *flag, const void *x, tsr_number number, int64_t ld, int64_t rows, int64_t cols, double limit, void *stream)
{
    if (rows == 0 || cols == 0)
        return TSR_OK;
    int64_t old_cols = cols;
    join_rows(&rows, &cols, ld, ld);
    ld = cols != old_cols ? cols : ld;
    switch (number) {
    case TSR_NUMBER_FP32: return check<float>(flag, x, ld, rows, cols, float_limit(limit), stream);
    case TSR_NUMBER_FP64: return check<double>(flag, x, ld, rows, cols, limit, stream);
    case TSR_NUMBER_FP16: return check<__half>(flag, x, ld, rows, cols, float_limit(limit), stream);
    case TSR_NUMBER_BF16: return check<__nv_bfloat16>(flag, x, ld, rows, cols, float_limit(limit), stream);
    }
    return TSR_DECLINED;
}
