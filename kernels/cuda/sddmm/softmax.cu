// Softmax of every row of values held by row (CSR): what stands between SDDMM and SpMM in attention.
//
// A group of 8 or 32 lanes takes a row.  Up to `each` values of a lane stay in registers: read once, written once.  Longer rows are read
// twice and scaled at the end, those of more than `long_row` values by the whole block of threads.  Lanes are added as a tree: the same
// bits every time.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/common/semiring.cuh"

namespace {

constexpr int threads = 256, each = 8;
constexpr int64_t long_row = 2048;

__device__ __forceinline__ float exponential(float x) { return expf(x); }
__device__ __forceinline__ double exponential(double x) { return exp(x); }
__device__ __forceinline__ float larger(float x, float y) { return fmaxf(x, y); }
__device__ __forceinline__ double larger(double x, double y) { return fmax(x, y); }

template <class T> constexpr T least = -std::numeric_limits<T>::infinity();

template <int G, class T> __device__ __forceinline__ T largest_of_lanes(T x)
{
#pragma unroll
    for (int by = G / 2; by > 0; by /= 2)
        x = larger(x, __shfl_xor_sync(~0u, x, by));
    return x;
}

template <int G, class T> __device__ __forceinline__ T sum_of_lanes(T x)
{
#pragma unroll
    for (int by = G / 2; by > 0; by /= 2)
        x += __shfl_xor_sync(~0u, x, by);
    return x;
}

/* Rows of at most G * each values, one for every group of the warp; 0 values: none. */
template <int G, class T> __device__ __forceinline__ void short_row(T *y, const T *x, T scale, int n, int l)
{
    T value[each], most = least<T>, sum = 0;
#pragma unroll
    for (int k = 0; k < each; k++) {
        value[k] = k * G + l < n ? scale * load_once(x + k * G + l) : least<T>;
        most = larger(most, value[k]);
    }
    most = largest_of_lanes<G>(most);
#pragma unroll
    for (int k = 0; k < each; k++)
        if (k * G + l < n)
            sum += value[k] = exponential(value[k] - most);
    sum = sum_of_lanes<G>(sum);
#pragma unroll
    for (int k = 0; k < each; k++)
        if (k * G + l < n)
            y[k * G + l] = value[k] / sum;
}

/* What a lane (thread) of `size` finds and leaves behind in a longer row. */
template <class T> __device__ __forceinline__ T largest_value(const T *x, T scale, int64_t n, int rank, int size)
{
    T most = least<T>;
    for (int64_t k = rank; k < n; k += size)
        most = larger(most, scale * x[k]);
    return most;
}
template <class T> __device__ __forceinline__ T write_exponentials(T *y, const T *x, T scale, int64_t n, T most, int rank, int size)
{
    T sum = 0;
    for (int64_t k = rank; k < n; k += size)
        sum += y[k] = exponential(scale * x[k] - most);
    return sum;
}
template <class T> __device__ __forceinline__ void divide(T *y, int64_t n, T sum, int rank, int size)
{
    for (int64_t k = rank; k < n; k += size)
        y[k] /= sum;
}

/* The same for rows that do not fit registers; all groups of the warp call it. */
template <int G, class T> __device__ __forceinline__ void middle_row(T *y, const T *x, T scale, int64_t n, int l)
{
    T most = largest_of_lanes<G>(largest_value(x, scale, n, l, G));
    T sum = sum_of_lanes<G>(write_exponentials(y, x, scale, n, most, l, G));
    divide(y, n, sum, l, G);
}

/* By the whole block; scratch: one number for each warp. */
template <class T> __device__ __forceinline__ void whole_block_row(T *y, const T *x, T scale, int64_t n, T *scratch)
{
    const int rank = static_cast<int>(threadIdx.x);
    T most = largest_of_lanes<32>(largest_value(x, scale, n, rank, threads));
    if (rank % 32 == 0)
        scratch[rank / 32] = most;
    __syncthreads();
    most = largest_of_lanes<threads / 32>(scratch[rank % (threads / 32)]);
    __syncthreads();
    T sum = sum_of_lanes<32>(write_exponentials(y, x, scale, n, most, rank, threads));
    if (rank % 32 == 0)
        scratch[rank / 32] = sum;
    __syncthreads();
    sum = sum_of_lanes<threads / 32>(scratch[rank % (threads / 32)]);
    divide(y, n, sum, rank, threads);
    __syncthreads();
}

template <int G, class T> __global__ void __launch_bounds__(threads) softmax(T *y, const T *x, int64_t stride, T scale, const int64_t *p, int64_t nrows)
{
    x += blockIdx.y * stride;
    y += blockIdx.y * stride;
    constexpr int groups = threads / G;
    __shared__ double scratch[threads / 32];
    const int group = static_cast<int>(threadIdx.x) / G, l = static_cast<int>(threadIdx.x) % G;
    const int64_t first = static_cast<int64_t>(blockIdx.x) * groups, row = first + group;
    const int64_t begin = row < nrows ? p[row] : 0, n = row < nrows ? p[row + 1] - begin : 0;
    const bool is_short = n <= G * each, is_long = n > long_row;
    if (__any_sync(~0u, is_short && n > 0))
        short_row<G>(y + begin, x + begin, scale, is_short ? static_cast<int>(n) : 0, l);
    if (__any_sync(~0u, !is_short && !is_long))
        middle_row<G>(y + begin, x + begin, scale, is_short || is_long ? 0 : n, l);
    if (!__syncthreads_or(is_long))
        return;
    for (int64_t r = first; r < first + groups && r < nrows; r++)
        if (p[r + 1] - p[r] > long_row)
            whole_block_row(y + p[r], x + p[r], scale, p[r + 1] - p[r], reinterpret_cast<T *>(scratch));
}

/* Arrays of values of one pattern; block (x, y) has rows of array y. */
struct arrays {
    void *y;
    const void *x;
    int64_t count, stride;
    double scale; /* of x */
};

template <int G, class T> tsr_status launch(const arrays &a, const tsr_cuda_csr *pattern, void *stream)
{
    constexpr int groups = threads / G;
    auto kernel = softmax<G, T>;
    const dim3 grid(static_cast<unsigned>((pattern->nrows + groups - 1) / groups), static_cast<unsigned>(a.count));
    TSR_LAUNCH(kernel, grid, threads, 0, stream, static_cast<T *>(a.y), static_cast<const T *>(a.x), a.stride, static_cast<T>(a.scale), pattern->p,
               pattern->nrows);
    return launch_status();
}

template <class T> tsr_status launch(const arrays &a, const tsr_cuda_csr *pattern, void *stream)
{
    bool narrow = pattern->nvals / pattern->nrows <= 16;
    return narrow ? launch<8, T>(a, pattern, stream) : launch<32, T>(a, pattern, stream);
}

} // namespace

extern "C" tsr_status tsr_cuda_softmax_batch(void *y, const void *x, int64_t count, int64_t stride, double scale, const tsr_cuda_csr *pattern,
                                             tsr_type type, void *stream)
{
    const arrays a = {y, x, count, stride, scale};
    if ((type != TSR_FP32 && type != TSR_FP64) || pattern->nrows >= UINT32_MAX || count > 65535)
        return TSR_DECLINED;
    if (pattern->nvals == 0)
        return TSR_OK;
    return type == TSR_FP32 ? launch<float>(a, pattern, stream) : launch<double>(a, pattern, stream);
}

extern "C" tsr_status tsr_cuda_softmax_rows(void *y, const void *x, const tsr_cuda_csr *pattern, tsr_type type, void *stream)
{
    return tsr_cuda_softmax_batch(y, x, 1, 0, 1, pattern, type, stream);
}
