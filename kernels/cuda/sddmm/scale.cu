// Values of an SDDMM times alpha, plus beta times what was there.  Bound by memory; block (b, q) takes values of product q.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/sddmm/scale.h"

#include "kernels/cuda/common/semiring.cuh"

namespace {

constexpr int threads = 256;
constexpr int64_t most_blocks = 4096;

template <class T> __global__ void __launch_bounds__(threads) scale(T *x, int64_t x_stride, const T *t, int64_t t_stride, int64_t count, T alpha, T beta)
{
    x += blockIdx.y * x_stride;
    t += blockIdx.y * t_stride;
    const int64_t step = static_cast<int64_t>(gridDim.x) * threads;
    for (int64_t e = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x; e < count; e += step)
        x[e] = beta != 0 ? alpha * t[e] + beta * x[e] : alpha * t[e];
}

template <class T> tsr_status launch(const tsr_cuda_scaling &s, void *stream)
{
    const int64_t blocks = (s.count + threads - 1) / threads;
    const dim3 grid(static_cast<unsigned>(blocks < most_blocks ? blocks : most_blocks), static_cast<unsigned>(s.products));
    TSR_LAUNCH(scale<T>, grid, threads, 0, stream, static_cast<T *>(s.x), s.x_stride, static_cast<const T *>(s.t), s.t_stride, s.count,
               static_cast<T>(s.alpha), static_cast<T>(s.beta));
    return launch_status();
}

} // namespace

extern "C" tsr_status tsr_cuda_scale(const tsr_cuda_scaling *s, void *stream)
{
    if ((s->type != TSR_FP32 && s->type != TSR_FP64) || s->products > 65535)
        return TSR_DECLINED;
    if (s->count == 0 || s->products == 0)
        return TSR_OK;
    return s->type == TSR_FP32 ? launch<float>(*s, stream) : launch<double>(*s, stream);
}
