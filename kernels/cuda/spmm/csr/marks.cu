// Bitmaps become arrays with marks.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmm/csr/marks.cuh"

namespace {

constexpr int threads = 256, blocks_per_sm = 16;

template <class T> __device__ __forceinline__ T absent()
{
    const element_bits<T> bits = absent_mark<T>();
    T x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* A thread for each element. */
template <class T> __global__ void __launch_bounds__(threads) mark_rows(const __grid_constant__ csr_args q, const __grid_constant__ marked_rows rows)
{
    const T *from = static_cast<const T *>(q.b);
    T *to = static_cast<T *>(rows.x);
    for (int64_t at = int64_t(blockIdx.x) * threads + threadIdx.x; at < rows.count * rows.width; at += int64_t(gridDim.x) * threads) {
        const int64_t row = at / rows.width, column = at % rows.width, place = row * q.ldb + column;
        const bool there = column < q.n && q.b_present[place];
        const T x = there ? from[place] : absent<T>();
        if (there && has_mark(x))
            *rows.flag = 1;
        to[at] = x;
    }
}

/* Rows begin where a lane's elements can be loaded at once. */
int64_t width_of(int64_t n)
{
    return n == 3 ? 4 : n;
}

size_t align(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

} // namespace

size_t tsr_csr_marked_bytes(size_t partial_bytes, int64_t rows, int64_t n, tsr_type type)
{
    return align(partial_bytes) + align(sizeof(int)) + size_t(rows) * size_t(width_of(n)) * size_of(type);
}

marked_rows tsr_csr_marked_rows(void *partial, size_t partial_bytes, int64_t rows, int64_t n)
{
    char *flag = static_cast<char *>(partial) + align(partial_bytes);
    return { flag + align(sizeof(int)), reinterpret_cast<int *>(flag), rows, width_of(n) };
}

tsr_status tsr_csr_mark(csr_args *args, const marked_rows &rows, tsr_type type, const tsr_cuda_device *device, void *stream)
{
    const int64_t most = int64_t(device->sms) * blocks_per_sm, blocks = (rows.count * rows.width + threads - 1) / threads;
    tsr_status status = tsr_cuda_set(rows.flag, 0, sizeof *rows.flag, stream);
    if (status != TSR_OK)
        return status;
    auto kernel = type == TSR_FP64 ? mark_rows<double> : type == TSR_FP32 ? mark_rows<float> : size_of(type) == 8 ? mark_rows<uint64_t> : mark_rows<uint32_t>;
    if (blocks > 0)
        TSR_LAUNCH(kernel, unsigned(blocks < most ? blocks : most), threads, 0, stream, *args, rows);
    args->b = rows.x;
    args->b_stride = rows.width * int64_t(size_of(type));
    args->marked = rows.flag;
    return launch_status();
}
