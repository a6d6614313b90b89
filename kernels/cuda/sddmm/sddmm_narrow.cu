// SDDMM by row in place of TF32: rows of B' as FP16, each scaled by a power of two (narrow.h), half the bytes to fetch.  Rows of A stay
// as they are, sums are FP32.  Entries whose dot is not finite are computed anew from FP32, so nothing need be known of the operands.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/common/fp16_scaling.h"
#include "kernels/cuda/sddmm/sddmm.cuh"

namespace {

using namespace sddmm_rows;

constexpr int vector = 8; // elements that a lane has at a time

// ---- Rounding rows ----

struct narrow_args {
    __half *out;
    uint8_t *exponent;
    const float *in;
    int64_t ld, rows, cols;
};

/* The greatest magnitude of a row, and the least that is not 0 with all bits turned. */
struct magnitudes {
    uint32_t greatest = 0, least = 0;

    __device__ __forceinline__ void add(const float (&x)[vector])
    {
#pragma unroll
        for (int k = 0; k < vector; k++) {
            const uint32_t bits = __float_as_uint(x[k]) & 0x7fffffffu;
            greatest = max(greatest, bits);
            least = bits ? max(least, ~bits) : least;
        }
    }
    template <int Lanes> __device__ __forceinline__ void join()
    {
#pragma unroll
        for (int by = Lanes / 2; by > 0; by /= 2) {
            greatest = max(greatest, __shfl_xor_sync(~0u, greatest, by));
            least = max(least, __shfl_xor_sync(~0u, least, by));
        }
    }
    /* Brings the greatest to [2^14, 2^15) where its exponent allows; scaled back it is times 2^(exponent - 127). */
    __device__ __forceinline__ int exponent() const { return max(int(greatest >> 23) - 14, 1); }
    __device__ __forceinline__ float scale() const { return __uint_as_float(uint32_t(254 - exponent()) << 23); }
    /* Finite, and none becomes 0. */
    __device__ __forceinline__ bool fit() const
    {
        return greatest < 0x7f800000u && !(least && __uint_as_float(~least) * scale() < 0x1p-24f);
    }
};

__device__ __forceinline__ void store_narrow(__half *to, const float (&x)[vector], float scale)
{
    __half y[vector];
#pragma unroll
    for (int k = 0; k < vector; k++)
        y[k] = __float2half_rn(x[k] * scale);
    uint4 bits;
    memcpy(&bits, y, sizeof bits);
    *reinterpret_cast<uint4 *>(to) = bits;
}

/* So many lanes have a row.  Once: they hold all of it. */
template <int Lanes, bool Once> __global__ void __launch_bounds__(threads) narrow_rows(const __grid_constant__ narrow_args q)
{
    const int64_t row = (int64_t(blockIdx.x) * threads + threadIdx.x) / Lanes, cols = row < q.rows ? q.cols : 0;
    const int64_t first = threadIdx.x % Lanes * vector;
    const float *in = q.in + row * q.ld;
    float x[vector] = {};
    magnitudes m;
    for (int64_t k = first; k < cols; k += Lanes * vector) {
        load_vector(x, in + k);
        m.add(x);
    }
    m.join<Lanes>();
    for (int64_t k = first; k < cols; k += Lanes * vector) {
        if (!Once)
            load_vector(x, in + k);
        store_narrow(q.out + row * q.cols + k, x, m.scale());
    }
    if (first == 0 && row < q.rows)
        q.exponent[row] = uint8_t(m.fit() ? m.exponent() : 255);
}

template <int Lanes, bool Once = true> tsr_status launch_rows(const narrow_args &q, void *stream)
{
    constexpr int together = threads / Lanes;
    const unsigned blocks = unsigned((q.rows + together - 1) / together);
    auto kernel = narrow_rows<Lanes, Once>;
    TSR_LAUNCH(kernel, blocks, threads, 0, stream, q);
    return launch_status();
}

bool at_16(const void *p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

/* Four lanes a row leave registers for a fourth block. */
template <int V, int G, int C, bool Whole> tsr_status launch_narrow(const sddmm_args &q, void *stream)
{
    return launch_typed<float, __half, V, G, C, Whole, G == 4 ? 4 : 3>(q, stream);
}

} // namespace

extern "C" tsr_status tsr_cuda_narrow_rows(
    void *dst, uint8_t *exponent, const void *src, int64_t ld, int64_t rows, int64_t cols, void *stream)
{
    const narrow_args q = { static_cast<__half *>(dst), exponent, static_cast<const float *>(src), ld, rows, cols };
    if (cols % vector != 0 || ld % 4 != 0 || !at_16(src) || !at_16(dst) || rows / (threads / 32) >= INT32_MAX)
        return TSR_DECLINED;
    if (rows == 0 || cols == 0)
        return TSR_OK;
    if (cols <= 4 * vector)
        return launch_rows<4>(q, stream);
    if (cols <= 8 * vector)
        return launch_rows<8>(q, stream);
    if (cols <= 16 * vector)
        return launch_rows<16>(q, stream);
    return cols <= 32 * vector ? launch_rows<32>(q, stream) : launch_rows<32, false>(q, stream);
}

extern "C" tsr_status tsr_cuda_sddmm_narrow(const tsr_cuda_sddmm *product, const void *b, const uint8_t *exponent)
{
    const tsr_cuda_sddmm *s = product;
    const tsr_semiring semiring = s->semiring;
    if (semiring.type != TSR_FP32 || semiring.add != TSR_ADD_PLUS || semiring.mul != TSR_MUL_TIMES || !s->a || !s->b || !in_range(s) ||
        s->k == 0 || s->k % vector != 0 || s->lda % 4 != 0 || !at_16(s->a) || !at_16(b))
        return TSR_DECLINED;
    if (s->begin == s->end)
        return TSR_OK;
    sddmm_args q = args_of(s);
    q.wide = static_cast<const float *>(s->b);
    q.ld_wide = s->ldb;
    q.exponent = exponent;
    q.b = b;
    q.ldb = s->k;
    switch (s->k / vector) {
    case 4: return launch_narrow<vector, 4, 1, true>(q, s->stream);
    case 8: return launch_narrow<vector, 8, 1, true>(q, s->stream);
    case 16: return launch_narrow<vector, 8, 2, true>(q, s->stream);
    case 32: return launch_narrow<vector, 8, 4, true>(q, s->stream);
    default: return s->k < 4 * vector ? launch_narrow<vector, 4, 1, false>(q, s->stream) : launch_narrow<vector, 8, 2, false>(q, s->stream);
    }
}
