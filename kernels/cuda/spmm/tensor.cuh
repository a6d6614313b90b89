// What the Tensor-Core kernels share: one policy per arithmetic (storage, fragments, rounding and splitting, multiplication), how
// finished sums reach C, and the choice of the order of column tiles.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/common/cuda_kernels.h"
#include "kernels/cuda/common/device.cuh"

#include <cstddef>

// ---- Arithmetic ----
//
// An MMA here is 16 x 8 x 8: `d` (16 x 8 sums) += `a` (16 x 8) times `b` (8 x 8).  With g = lane / 4 and t = lane % 4 a lane
// holds
//     d[0], d[1]: (g, 2t), (g, 2t+1)      d[2], d[3]: (g+8, 2t), (g+8, 2t+1)
// and, where one register holds one element (pack == 1: EXACT, TF32, FP64),
//     a: (g, t), (g+8, t), (g, t+4), (g+8, t+4)      b: (t, g), (t+4, g)
// but where it holds two (pack == 2: FP16, BF16; the lower k in the low half)
//     a: (g, 2t..2t+1), (g+8, 2t..2t+1)              b: (2t..2t+1, g)
// So a lane deals with k = first(t) and k = second(t) in either case, see tensor_math::k.
//
// Either operand can be the sparse one (values of A, any bit pattern) or the dense one (elements of B, finite and, for EXACT and
// TF32, below 2^127).  Products of a row with a non-finite value of A stay in its row: 0 is what other rows hold there.

namespace tensor_detail {

// FP32 operands rounded to TF32.
struct tf32 {
    using element = float;
    using sum = float;
    static constexpr int pack = 1, per_a = 4, per_b = 2;
    static constexpr bool flushes = false;
    struct sparse { uint32_t bits; };
    struct dense { uint32_t bits; };

    // The hardware cuts off 13 bits; adding half of the last place kept rounds to nearest (ties away).  Values near the largest
    // are cut off only, and a NaN must not turn into infinity when its low bits go.
    static __device__ __forceinline__ sparse make_sparse(element x)
    {
        uint32_t bits = __float_as_uint(x), size = bits & 0x7fffffffu;
        if (size < 0x7f000000u)
            return {bits + 0x1000u};
        return {size > 0x7f800000u ? 0x7fffffffu : bits};
    }
    static __device__ __forceinline__ dense make_dense(element x) { return {__float_as_uint(x) + 0x1000u}; }
    static __device__ __forceinline__ void multiply(sum d[4], const sparse a[4], const dense b[2])
    {
        const uint32_t fa[4] = {a[0].bits, a[1].bits, a[2].bits, a[3].bits}, fb[2] = {b[0].bits, b[1].bits};
        mma_m16n8k8_tf32(d, fa, fb);
    }
    static __device__ __forceinline__ void multiply(sum d[4], const dense a[4], const sparse b[2])
    {
        const uint32_t fa[4] = {a[0].bits, a[1].bits, a[2].bits, a[3].bits}, fb[2] = {b[0].bits, b[1].bits};
        mma_m16n8k8_tf32(d, fa, fb);
    }
    static __device__ __forceinline__ element one() { return 1.0f; }
};

// FP32 operands in two TF32 parts: x = hi + lo.  lo * lo is below the last place of the product.  lo would have up to 13 bits,
// of which the hardware keeps 11: rounding hi to nearest, not cutting it off, saves one of them, and errors get either sign.
struct exact {
    using element = float;
    using sum = float;
    static constexpr int pack = 1, per_a = 4, per_b = 2;
    static constexpr bool flushes = true;
    // cross is hi, or 0 where hi is not finite: Inf times a lo that is 0 would be NaN.
    struct sparse { uint32_t hi, lo, cross; };
    struct dense { uint32_t hi, lo; };

    static __device__ __forceinline__ sparse make_sparse(element x)
    {
        uint32_t bits = __float_as_uint(x), size = bits & 0x7fffffffu;
        if (size >= 0x7f800000u)
            return {size > 0x7f800000u ? 0x7fffffffu : bits, 0, 0};
        uint32_t hi = (size < 0x7f000000u ? bits + 0x1000u : bits) & 0xffffe000u;
        return {hi, __float_as_uint(x - __uint_as_float(hi)), hi};
    }
    static __device__ __forceinline__ dense make_dense(element x)
    {
        uint32_t hi = (__float_as_uint(x) + 0x1000u) & 0xffffe000u;
        return {hi, __float_as_uint(x - __uint_as_float(hi))};
    }
    static __device__ __forceinline__ void multiply(sum d[4], const sparse a[4], const dense b[2])
    {
        const uint32_t hi[4] = {a[0].hi, a[1].hi, a[2].hi, a[3].hi}, lo[4] = {a[0].lo, a[1].lo, a[2].lo, a[3].lo},
                       cross[4] = {a[0].cross, a[1].cross, a[2].cross, a[3].cross};
        const uint32_t bhi[2] = {b[0].hi, b[1].hi}, blo[2] = {b[0].lo, b[1].lo};
        mma_m16n8k8_tf32(d, lo, bhi);
        mma_m16n8k8_tf32(d, cross, blo);
        mma_m16n8k8_tf32(d, hi, bhi);
    }
    static __device__ __forceinline__ void multiply(sum d[4], const dense a[4], const sparse b[2])
    {
        const uint32_t hi[4] = {a[0].hi, a[1].hi, a[2].hi, a[3].hi}, lo[4] = {a[0].lo, a[1].lo, a[2].lo, a[3].lo};
        const uint32_t bhi[2] = {b[0].hi, b[1].hi}, blo[2] = {b[0].lo, b[1].lo}, cross[2] = {b[0].cross, b[1].cross};
        mma_m16n8k8_tf32(d, hi, blo);
        mma_m16n8k8_tf32(d, lo, cross);
        mma_m16n8k8_tf32(d, hi, bhi);
    }
    static __device__ __forceinline__ element one() { return 1.0f; }
};

// Pairs of 16-bit numbers, sums in FP32.
template <bool Bf16> struct half {
    using element = uint16_t;
    using sum = float;
    static constexpr int pack = 2, per_a = 2, per_b = 1;
    static constexpr bool flushes = false;
    struct sparse { uint32_t bits; };
    struct dense { uint32_t bits; };

    static __device__ __forceinline__ sparse make_sparse(element low, element high)
    {
        return {static_cast<uint32_t>(low) | static_cast<uint32_t>(high) << 16};
    }
    /* Elements `which` (0 or 1) of two words, each two neighbouring elements of a row of B. */
    static __device__ __forceinline__ dense make_dense(uint32_t low, uint32_t high, int which)
    {
        return {__byte_perm(low, high, which ? 0x7632 : 0x5410)};
    }
    static __device__ __forceinline__ void multiply(sum d[4], const sparse a[2], const dense b[1])
    {
        const uint32_t fa[2] = {a[0].bits, a[1].bits};
        mma_m16n8k8_half<Bf16>(d, fa, b[0].bits);
    }
    static __device__ __forceinline__ void multiply(sum d[4], const dense a[2], const sparse b[1])
    {
        const uint32_t fa[2] = {a[0].bits, a[1].bits};
        mma_m16n8k8_half<Bf16>(d, fa, b[0].bits);
    }
    static __device__ __forceinline__ element one() { return Bf16 ? 0x3f80 : 0x3c00; }
};

struct fp64 {
    using element = double;
    using sum = double;
    static constexpr int pack = 1, per_a = 4, per_b = 2;
    static constexpr bool flushes = false;
    struct sparse { double x; };
    struct dense { double x; };

    static __device__ __forceinline__ sparse make_sparse(element x) { return {x}; }
    static __device__ __forceinline__ dense make_dense(element x) { return {x}; }
    static __device__ __forceinline__ void multiply(sum d[4], const sparse a[4], const dense b[2])
    {
        const double fa[4] = {a[0].x, a[1].x, a[2].x, a[3].x}, fb[2] = {b[0].x, b[1].x};
        mma_m16n8k8_f64(d, fa, fb);
    }
    static __device__ __forceinline__ void multiply(sum d[4], const dense a[4], const sparse b[2])
    {
        const double fa[4] = {a[0].x, a[1].x, a[2].x, a[3].x}, fb[2] = {b[0].x, b[1].x};
        mma_m16n8k8_f64(d, fa, fb);
    }
    static __device__ __forceinline__ element one() { return 1.0; }
};

template <tsr_cuda_math Math> struct choose;
template <> struct choose<TSR_CUDA_EXACT> { using type = exact; };
template <> struct choose<TSR_CUDA_TF32> { using type = tf32; };
template <> struct choose<TSR_CUDA_FP16> { using type = half<false>; };
template <> struct choose<TSR_CUDA_BF16> { using type = half<true>; };
template <> struct choose<TSR_CUDA_FP64> { using type = fp64; };

} // namespace tensor_detail

/* element, sum, sparse, dense, make_sparse, make_dense, multiply, one; and below. */
template <tsr_cuda_math Math> struct tensor_math : tensor_detail::choose<Math>::type {
    using base = typename tensor_detail::choose<Math>::type;

    /* The two places along k (0 to 7) that lane t = lane % 4 deals with. */
    static __device__ __forceinline__ int k(int t, int which)
    {
        return base::pack == 2 ? 2 * t + which : t + 4 * which;
    }

    /* total += a b, to be called once per 8 steps along k.  An MMA's sum is cut off, not rounded, so long chains drift: EXACT
     * moves every sum of 8 products into a rounded FP32 addition.  (multiply is the bare instruction.) */
    template <class A, class B>
    static __device__ __forceinline__ void accumulate(typename base::sum total[4], const A *a, const B *b)
    {
        if constexpr (base::flushes) {
            typename base::sum d[4] = {};
            base::multiply(d, a, b);
            for (int i = 0; i < 4; i++)
                total[i] += d[i];
        } else {
            base::multiply(total, a, b);
        }
    }
};

// ---- C ----

/* Where the rows of one window go: C itself, or a partial sum. */
template <class Sum> struct tensor_output {
    Sum *c;           /* row 0 of the window; where there is `row`: of all */
    const uint32_t *row; /* of each row of the window, in c; NULL: consecutive */
    int64_t ld;
    Sum alpha, beta;  /* alpha includes iso */
    int rows;         /* rows of the window that exist */
    bool vectors;     /* 16-byte stores are aligned at columns that are multiples of 4 (2 for FP64) */
};

/* partial: the item's number, -1: C.  iso: 1 where A's values are stored. */
template <class Sum>
static __device__ __forceinline__ tensor_output<Sum> tensor_target(const tsr_cuda_spmm &p, int64_t nrows, int height,
                                                                   int64_t window, int64_t partial, double iso)
{
    constexpr int piece = 16 / sizeof(Sum);
    tensor_output<Sum> out;
    if (partial >= 0) {
        out.c = static_cast<Sum *>(p.partial) + partial * height * p.n;
        out.row = nullptr;
        out.ld = p.n;
        out.alpha = static_cast<Sum>(iso);
        out.beta = 0;
        out.rows = height;
    } else {
        int64_t left = nrows - window * height;
        out.c = static_cast<Sum *>(p.c) + (p.row ? 0 : window * height * p.ldc);
        out.row = p.row ? p.row + window * height : nullptr;
        out.ld = p.ldc;
        out.alpha = static_cast<Sum>(p.alpha * iso);
        out.beta = static_cast<Sum>(p.beta);
        out.rows = left < height ? static_cast<int>(left) : height;
    }
    out.vectors = (reinterpret_cast<uintptr_t>(out.c) & 15) == 0 && out.ld % piece == 0;
    return out;
}

/* What becomes of an element of C in the end: bias and activation.  NaN is not below 0. */
template <class Sum> static __device__ __forceinline__ Sum tensor_finish(const tsr_cuda_spmm &p, int64_t column, Sum x)
{
    if (p.bias)
        x += __ldg(static_cast<const Sum *>(p.bias) + column);
    return p.rectified && x < Sum(0) ? Sum(0) : x;
}

/* Row `row` of the window; it exists. */
template <class Sum> static __device__ __forceinline__ Sum *tensor_row(const tensor_output<Sum> &out, int row)
{
    return out.c + (out.row ? static_cast<int64_t>(__ldg(out.row + row)) : row) * out.ld;
}

static __device__ __forceinline__ void tensor_store_vector(float *c, const float x[4], float alpha, float beta)
{
    float4 y = {alpha * x[0], alpha * x[1], alpha * x[2], alpha * x[3]};
    if (beta != 0) {
        float4 old = __ldcs(reinterpret_cast<const float4 *>(c));
        y = {y.x + beta * old.x, y.y + beta * old.y, y.z + beta * old.z, y.w + beta * old.w};
    }
    __stcs(reinterpret_cast<float4 *>(c), y);
}
static __device__ __forceinline__ void tensor_store_vector(double *c, const double x[2], double alpha, double beta)
{
    double2 y = {alpha * x[0], alpha * x[1]};
    if (beta != 0) {
        double2 old = __ldcs(reinterpret_cast<const double2 *>(c));
        y = {y.x + beta * old.x, y.y + beta * old.y};
    }
    __stcs(reinterpret_cast<double2 *>(c), y);
}

/* 16 bytes of sums: row `row` of the window, columns [column, column + 4) (2 for FP64); column is a multiple of that.
 * Inside: the caller knows that the row exists, columns are below n and out.vectors holds. */
template <bool Inside = false, class Sum>
static __device__ __forceinline__ void tensor_store(const tensor_output<Sum> &out, int row, int64_t column, int64_t n,
                                                    const Sum *x)
{
    if (!Inside && row >= out.rows)
        return;
    Sum *c = tensor_row(out, row) + column;
    if constexpr (Inside) {
        tensor_store_vector(c, x, out.alpha, out.beta);
    } else {
        constexpr int piece = 16 / sizeof(Sum);
        if (out.vectors && column + piece <= n) {
            tensor_store_vector(c, x, out.alpha, out.beta);
            return;
        }
        for (int i = 0; i < piece; i++)
            if (column + i < n)
                c[i] = out.beta != 0 ? out.alpha * x[i] + out.beta * c[i] : out.alpha * x[i];
    }
}

// ---- Host side ----

/* Column tiles outermost?  When B does not fit the L2 cache, but `tile` columns of it (more nearly) do, all windows take one tile
 * before the next. */
static inline bool tensor_tile_major(const tsr_cuda_spmm *p, int64_t ncols, int64_t tile, size_t element)
{
    if (p->n <= tile)
        return false;
    double whole = static_cast<double>(ncols) * static_cast<double>(p->n) * static_cast<double>(element);
    return whole > 0.8 * static_cast<double>(p->device->l2_bytes);
}

/* Products that no Tensor-Core kernel takes: then TSR_DECLINED. */
static inline bool tensor_takes(const tsr_cuda_spmm *p, bool pattern)
{
    size_t size = tsr_number_size(tsr_cuda_number(p->math));
    if (p->device->major < 8 || p->n < 1 || p->ldb < p->n || p->ldc < p->n)
        return false;
    if (reinterpret_cast<uintptr_t>(p->b) % 16 != 0 || p->ldb * size % 16 != 0)
        return false;
    /* iso multiplies whole sums, so that it must not make NaN of a sum that is 0 */
    return !pattern || p->iso - p->iso == 0;
}

/* Before a launch with `shared` bytes of dynamic shared memory: allow more than 48 KB, and prefer shared memory to L1. */
template <class Kernel> static inline bool tensor_allow_shared(Kernel *kernel, size_t shared)
{
    return allow_shared(kernel, shared) && cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 100) == cudaSuccess;
}
