// Partial sums of split windows, and what the arithmetics store.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmm/tensor.cuh"

namespace {

constexpr int threads = 256;

/* Block (x, s): elements x * threads ... of the window that is split s-th. */
template <class Sum>
__global__ void __launch_bounds__(threads) add_partials(const int64_t *window, const int64_t *split_partial, int64_t nsplit,
                                                        int64_t nrows, int height, tsr_cuda_spmm p)
{
    int64_t place = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x, tile = height * p.n;
    if (place >= tile)
        return;
    const Sum *partial = static_cast<const Sum *>(p.partial) + place;
    for (int64_t s = blockIdx.y; s < nsplit; s += gridDim.y) {
        int64_t row = window[s] * height + place / p.n;
        if (row >= nrows)
            continue;
        Sum sum = 0;
        int64_t last = split_partial[s + 1];
#pragma unroll 4
        for (int64_t t = split_partial[s]; t < last; t++)
            sum += __ldcs(partial + t * tile);
        Sum *c = static_cast<Sum *>(p.c) + (p.row ? p.row[row] : row) * p.ldc + place % p.n;
        Sum y = static_cast<Sum>(p.alpha) * sum;
        y = p.beta != 0 ? y + static_cast<Sum>(p.beta) * *c : y;
        *c = tensor_finish(p, place % p.n, y);
    }
}

/* Blocks take rows in turn, threads columns. */
template <class Sum> __global__ void __launch_bounds__(threads) finish_rows(int64_t rows, tsr_cuda_spmm p)
{
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        Sum *c = static_cast<Sum *>(p.c) + row * p.ldc;
        for (int64_t column = threadIdx.x; column < p.n; column += blockDim.x)
            c[column] = tensor_finish(p, column, c[column]);
    }
}

} // namespace

extern "C" tsr_status tsr_cuda_finish_rows(const tsr_cuda_spmm *p, int64_t rows)
{
    const unsigned blocks = static_cast<unsigned>(rows < 65536 ? rows : 65536), width = p->n < threads ? (static_cast<unsigned>(p->n) + 31) / 32 * 32 : threads;
    if (rows == 0 || p->n == 0)
        return TSR_OK;
    if (p->math == TSR_CUDA_FP64)
        TSR_LAUNCH(finish_rows<double>, blocks, width, 0, p->stream, rows, *p);
    else
        TSR_LAUNCH(finish_rows<float>, blocks, width, 0, p->stream, rows, *p);
    return launch_status();
}

extern "C" tsr_number tsr_cuda_number(tsr_cuda_math math)
{
    switch (math) {
    case TSR_CUDA_FP16: return TSR_NUMBER_FP16;
    case TSR_CUDA_BF16: return TSR_NUMBER_BF16;
    case TSR_CUDA_FP64: return TSR_NUMBER_FP64;
    default: return TSR_NUMBER_FP32;
    }
}

static size_t sum_size(tsr_cuda_math math) { return math == TSR_CUDA_FP64 ? sizeof(double) : sizeof(float); }

extern "C" size_t tsr_cuda_partial_bytes(const tsr_work *work, int height, const tsr_cuda_spmm *product)
{
    return static_cast<size_t>(work->npartials) * static_cast<size_t>(height) * static_cast<size_t>(product->n) *
           sum_size(product->math);
}

extern "C" tsr_status tsr_cuda_add_partials(const tsr_windows *windows, const tsr_work *work, const tsr_cuda_spmm *product)
{
    if (work->nsplit == 0)
        return TSR_OK;
    int64_t blocks = (windows->height * product->n + threads - 1) / threads;
    dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(work->nsplit < 65535 ? work->nsplit : 65535));
    if (product->math == TSR_CUDA_FP64)
        TSR_LAUNCH(add_partials<double>, grid, threads, 0, product->stream, work->split_window, work->split_partial, work->nsplit,
                   windows->nrows, windows->height, *product);
    else
        TSR_LAUNCH(add_partials<float>, grid, threads, 0, product->stream, work->split_window, work->split_partial, work->nsplit,
                   windows->nrows, windows->height, *product);
    return launch_status();
}
