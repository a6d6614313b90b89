// Elementwise steps over whole arrays.  Bound by memory: a thread takes 16 bytes of elements at a time, presence as bits; types are
// known when compiling, operators while running (every thread takes the same branch).
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/elementwise/elementwise.cuh"
#include "kernels/cuda/elementwise/spread.h"

namespace {

constexpr int threads = 256, blocks_per_sm = 32;

template <class T, class R> __global__ void __launch_bounds__(threads) step_vectors(step_args q)
{
    constexpr int V = lanes<T>;
    int64_t stride = int64_t(gridDim.x) * threads * V;
    for (int64_t at = (int64_t(blockIdx.x) * threads + threadIdx.x) * V; at < q.count; at += stride) {
        int64_t left = q.count - at;
        operand<stored<R>, V> z;
        unsigned passes = q.masked ? load_mask<V>(q, at, left) : all_bits<V>;
        compute<T, R, V>(z, q, nullptr, at, left);
        if (q.a.c.x)
            join<R, V>(z, q, nullptr, passes, at, left);
        else
            z.present &= passes;
        if (q.a.z_present) {
            const stored<R> none[V] = {};
            where(z.present, z.x, none);
            store_bits<V>(q.a.z_present, z.present, at, left);
        }
        store(q.a.z, z.x, at, left);
    }
}

// ---- Launching ----

template <class T, class R = T> tsr_status launch(const step_args &q, const tsr_cuda_device *device, void *stream)
{
    constexpr int64_t per_block = int64_t(threads) * lanes<T>;
    int64_t blocks = (q.count + per_block - 1) / per_block, most = int64_t(device->sms) * blocks_per_sm;
    auto kernel = step_vectors<T, R>;
    TSR_LAUNCH(kernel, unsigned(blocks < most ? blocks : most), threads, 0, stream, q);
    return launch_status();
}

template <class T> tsr_status launch_typed(const tsr_ewise *s, const step_args &q, const tsr_cuda_device *device, void *stream)
{
    return makes_bool(s) ? launch<T, bool>(q, device, stream) : launch<T>(q, device, stream);
}

// ---- Presence of rows ----

/* A warp writes a row. */
__global__ void __launch_bounds__(threads) mark_by_row(int8_t *present, const int64_t *offsets, int64_t rows, int64_t columns)
{
    int64_t first = int64_t(blockIdx.x) * (threads / 32) + threadIdx.x / 32;
    for (int64_t row = first; row < rows; row += int64_t(gridDim.x) * (threads / 32)) {
        int8_t filled = offsets[row + 1] > offsets[row];
        for (int64_t column = threadIdx.x % 32; column < columns; column += 32)
            present[row * columns + column] = filled;
    }
}

__global__ void __launch_bounds__(threads) mark_by_column(int8_t *present, const int64_t *offsets, int64_t rows, int64_t columns)
{
    for (int64_t row = int64_t(blockIdx.x) * threads + threadIdx.x; row < rows; row += int64_t(gridDim.x) * threads) {
        int8_t filled = offsets[row + 1] > offsets[row];
        for (int64_t column = 0; column < columns; column++)
            present[column * rows + row] = filled;
    }
}

// ---- Sparse to bitmap ----

/* Entry e lies in the last row that begins at or before it. */
__device__ __forceinline__ int64_t row_of(const int64_t *offsets, int64_t rows, int64_t e)
{
    int64_t low = 0, high = rows - 1;
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (offsets[middle] <= e)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* values == NULL: `one` everywhere. */
template <class S>
__global__ void __launch_bounds__(threads) spread_entries(S *x, int8_t *present, tsr_cuda_csr a, const S *values, S one)
{
    for (int64_t e = int64_t(blockIdx.x) * threads + threadIdx.x; e < a.nvals; e += int64_t(gridDim.x) * threads) {
        int64_t at = row_of(a.p, a.nrows, e) * a.ncols + a.i[e];
        x[at] = values ? values[e] : one;
        present[at] = 1;
    }
}

unsigned at_most(int64_t blocks, const tsr_cuda_device *device)
{
    int64_t most = int64_t(device->sms) * blocks_per_sm;
    return unsigned(blocks < most ? blocks : most);
}

template <class S>
tsr_status spread(void *x, int8_t *present, const tsr_cuda_csr *csr, uint64_t iso, const tsr_cuda_device *device, void *stream)
{
    auto kernel = spread_entries<S>;
    S one;
    memcpy(&one, &iso, sizeof one);
    TSR_LAUNCH(kernel, at_most((csr->nvals + threads - 1) / threads, device), threads, 0, stream, static_cast<S *>(x), present, *csr,
        static_cast<const S *>(csr->x), one);
    return launch_status();
}

} // namespace

extern "C" tsr_status tsr_cuda_ewise(
    const tsr_ewise *s, const tsr_ewise_arrays *arrays, const tsr_cuda_device *device, void *stream)
{
    if (s->op == TSR_EWISE_SQRT && s->type != TSR_FP32 && s->type != TSR_FP64)
        return TSR_DECLINED;
    if (s->count == 0)
        return TSR_OK;
    step_args q = arguments(s, arrays);
    switch (s->type) {
    case TSR_BOOL: return launch<bool>(q, device, stream);
    case TSR_INT8: return launch_typed<int8_t>(s, q, device, stream);
    case TSR_INT16: return launch_typed<int16_t>(s, q, device, stream);
    case TSR_INT32: return launch_typed<int32_t>(s, q, device, stream);
    case TSR_INT64: return launch_typed<int64_t>(s, q, device, stream);
    case TSR_UINT8: return launch_typed<uint8_t>(s, q, device, stream);
    case TSR_UINT16: return launch_typed<uint16_t>(s, q, device, stream);
    case TSR_UINT32: return launch_typed<uint32_t>(s, q, device, stream);
    case TSR_UINT64: return launch_typed<uint64_t>(s, q, device, stream);
    case TSR_FP32: return launch_typed<float>(s, q, device, stream);
    case TSR_FP64: return launch_typed<double>(s, q, device, stream);
    }
    return TSR_DECLINED;
}

extern "C" tsr_status tsr_cuda_mark_rows(int8_t *present, const int64_t *offsets, int64_t rows, int64_t columns, bool by_col,
    const tsr_cuda_device *device, void *stream)
{
    if (rows == 0 || columns == 0)
        return TSR_OK;
    if (by_col || columns == 1)
        TSR_LAUNCH(mark_by_column, at_most((rows + threads - 1) / threads, device), threads, 0, stream, present, offsets, rows, columns);
    else
        TSR_LAUNCH(mark_by_row, at_most((rows + threads / 32 - 1) / (threads / 32), device), threads, 0, stream, present, offsets, rows,
            columns);
    return launch_status();
}

extern "C" tsr_status tsr_cuda_spread(void *x, int8_t *present, const tsr_cuda_csr *csr, int size, uint64_t iso,
    const tsr_cuda_device *device, void *stream)
{
    if (csr->nvals == 0)
        return TSR_OK;
    switch (size) {
    case 1: return spread<uint8_t>(x, present, csr, iso, device, stream);
    case 2: return spread<uint16_t>(x, present, csr, iso, device, stream);
    case 4: return spread<uint32_t>(x, present, csr, iso, device, stream);
    default: return spread<uint64_t>(x, present, csr, iso, device, stream);
    }
}
