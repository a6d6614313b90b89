// Products with a few columns of B, or a bitmap vector: B is packed, and the columns are computed side by side.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmv/spmv_narrow.cuh"

namespace {

constexpr int threads = 256;

// ---- Packing B ----

template <class T> __device__ __forceinline__ T marked_as_absent()
{
    element_bits<T> bits = absent_mark<T>();
    T x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

template <class T> __device__ __forceinline__ bool has_mark(T x)
{
    element_bits<T> bits;
    memcpy(&bits, &x, sizeof bits);
    return bits == absent_mark<T>();
}

/* A thread for each element of the packed rows. */
template <class T, int W> __global__ void __launch_bounds__(threads) pack_rows(T *to, int *marked, const __grid_constant__ csr_args q, int64_t rows)
{
    const T *from = static_cast<const T *>(q.b);
    for (int64_t at = int64_t(blockIdx.x) * threads + threadIdx.x; at < rows * W; at += int64_t(gridDim.x) * threads) {
        const int64_t row = at / W, place = row * q.ldb + at % W;
        const bool there = at % W < q.n && (!q.b_present || q.b_present[place]);
        const T x = there ? from[place] : marked_as_absent<T>();
        if (there && has_mark(x))
            *marked = 1;
        to[at] = x;
    }
}

struct narrow_scratch {
    void *rows;
    int *marked;
};

template <class P, int W> tsr_status launch(csr_args q, const narrow_scratch &scratch, int64_t ncols, const tsr_cuda_device *device, void *stream)
{
    using T = typename P::element;
    const int64_t most = int64_t(device->sms) * 16, blocks = (ncols * W + threads - 1) / threads;
    tsr_status status = tsr_cuda_set(scratch.marked, 0, sizeof *scratch.marked, stream);
    if (status != TSR_OK)
        return status;
    if (blocks > 0)
        TSR_LAUNCH((pack_rows<T, W>), unsigned(blocks < most ? blocks : most), threads, 0, stream, static_cast<T *>(scratch.rows), scratch.marked, q,
            ncols);
    q.b = scratch.rows;
    q.marked = scratch.marked;
    q.c_vectors = q.n == W && reinterpret_cast<uintptr_t>(q.c) % piece_bytes<T, W> == 0 && q.ldc * int64_t(sizeof(T)) % piece_bytes<T, W> == 0;
    return launch_narrow<P, W>(q, stream);
}

template <class P, int Most>
tsr_status launch_width(const csr_args &q, const narrow_scratch &scratch, int64_t ncols, const tsr_cuda_device *device, void *stream)
{
    if (q.n == 1)
        return launch<P, 1>(q, scratch, ncols, device, stream);
    if constexpr (Most > 4)
        if (q.n > 4)
            return launch<P, Most>(q, scratch, ncols, device, stream);
    return launch<P, 4>(q, scratch, ncols, device, stream);
}

/* Elements of a packed row. */
int64_t width_of(int64_t n)
{
    return n == 1 ? 1 : n <= 4 ? 4 : 8;
}

size_t align(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

} // namespace

bool tsr_csr_is_narrow(tsr_semiring s, bool plus_times, int64_t n, bool b_present)
{
    const int most = s.type == TSR_FP32 && plus_times ? 8 : 4;
    const bool wide_element = size_of(s.type) >= 4;
    return wide_element && n <= most && (n > 1 || b_present);
}

size_t tsr_csr_narrow_bytes(tsr_type type, int64_t n, int64_t ncols)
{
    return align(size_t(ncols) * size_t(width_of(n)) * size_of(type)) + 3 * align(1);
}

tsr_status tsr_csr_narrow(tsr_type type, bool plus_times, const csr_args &q, size_t partial_bytes, int64_t ncols, const tsr_cuda_device *device,
                          void *stream)
{
    char *at = static_cast<char *>(q.partial) + align(partial_bytes);
    const narrow_scratch scratch = {at + align(1), reinterpret_cast<int *>(at)};
    if (plus_times)
        switch (type) {
        case TSR_INT32:
        case TSR_UINT32: return launch_width<::plus_times<uint32_t>, 4>(q, scratch, ncols, device, stream);
        case TSR_INT64:
        case TSR_UINT64: return launch_width<::plus_times<uint64_t>, 4>(q, scratch, ncols, device, stream);
        case TSR_FP32: return launch_width<::plus_times<float>, 8>(q, scratch, ncols, device, stream);
        case TSR_FP64: return launch_width<::plus_times<double>, 4>(q, scratch, ncols, device, stream);
        default: return TSR_DECLINED;
        }
    switch (type) {
    case TSR_INT32: return launch_width<min_plus<int32_t>, 4>(q, scratch, ncols, device, stream);
    case TSR_INT64: return launch_width<min_plus<int64_t>, 4>(q, scratch, ncols, device, stream);
    case TSR_UINT32: return launch_width<min_plus<uint32_t>, 4>(q, scratch, ncols, device, stream);
    case TSR_UINT64: return launch_width<min_plus<uint64_t>, 4>(q, scratch, ncols, device, stream);
    case TSR_FP32: return launch_width<min_plus<float>, 4>(q, scratch, ncols, device, stream);
    case TSR_FP64: return launch_width<min_plus<double>, 4>(q, scratch, ncols, device, stream);
    default: return TSR_DECLINED;
    }
}
