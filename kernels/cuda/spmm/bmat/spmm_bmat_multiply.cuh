// What a warp of SpMM of BMat (spmm_bmat.cuh) does with a stage of its ring: matrix instructions, and sums to C.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/spmm/bmat/spmm_bmat_ring.cuh"

namespace bmat {

__device__ __forceinline__ float number(uint32_t word) { return __uint_as_float(word); }
__device__ __forceinline__ double number(double word) { return word; }

/* The sparse operands of a step. */
template <class Shape> struct operand {
    using math = typename Shape::math;
    typename math::sparse x[Shape::group][Shape::height == 8 ? math::per_b : math::per_a];

    /* odd: as fetched with the step, in the lowest bits */
    __device__ __forceinline__ operand(const typename Shape::word *from, uint32_t odd)
    {
        using word = typename Shape::word;
#pragma unroll
        for (int q = 0; q < Shape::group; q++) {
            struct alignas(Shape::words * 2 * sizeof(word)) {
                word x[Shape::words][2];
            } v;
            v = *reinterpret_cast<const decltype(v) *>(from + q * giver<Shape>::next_block);
#pragma unroll
            for (int w = 0; w < Shape::words; w++) {
                if constexpr (math::pack == 2) {
                    uint32_t which = odd >> 2 * (Shape::group * Shape::words - 1 - q * Shape::words - w);
                    x[q][w] = {__byte_perm(v.x[w][0], v.x[w][1], 0x5410u + (which & 1) * 0x22u + (which & 2) * 0x1100u)};
                } else {
                    x[q][w] = math::make_sparse(number(v.x[w][0]));
                    x[q][w + Shape::words] = math::make_sparse(number(v.x[w][1]));
                }
            }
        }
    }
};

/* A lane's piece of one row. */
template <class Shape> struct piece {
    uint32_t x[Shape::piece_words];

    __device__ __forceinline__ void load(const unsigned char *from)
    {
        if constexpr (Shape::piece_words == 4) {
            uint4 v = *reinterpret_cast<const uint4 *>(from);
            x[0] = v.x, x[1] = v.y, x[2] = v.z, x[3] = v.w;
        } else {
            uint2 v = *reinterpret_cast<const uint2 *>(from);
            x[0] = v.x, x[1] = v.y;
        }
    }
};

/* A lane's pieces of rows t and t + 4 of every block of a step, at one place of the rows. */
template <class Shape> struct pieces {
    piece<Shape> one[Shape::group], two[Shape::group];

    __device__ __forceinline__ explicit pieces(const unsigned char *from)
    {
#pragma unroll
        for (int q = 0; q < Shape::group; q++) {
            one[q].load(from + 8 * q * Shape::stride);
            two[q].load(from + (8 * q + 4) * Shape::stride);
        }
    }
};

/* The dense operands of a step. */
template <class Shape> struct fragments {
    using math = typename Shape::math;
    static constexpr int step = Shape::height == 8 ? 2 : 1; // between t and t + 4
    typename math::dense x[Shape::group][Shape::height == 8 ? math::per_a : math::per_b];

    /* Number i of the pieces, for column g (which == 0) or g + 8 (1) of the instruction. */
    __device__ __forceinline__ void set(const pieces<Shape> &p, int i, int which)
    {
#pragma unroll
        for (int q = 0; q < Shape::group; q++) {
            const uint32_t *one = p.one[q].x, *two = p.two[q].x;
            if constexpr (math::pack == 2) {
                x[q][which] = math::make_dense(one[i / 2], two[i / 2], i % 2);
            } else if constexpr (sizeof(typename Shape::element) == 8) {
                x[q][which] = math::make_dense(__hiloint2double(one[2 * i + 1], one[2 * i]));
                x[q][which + step] = math::make_dense(__hiloint2double(two[2 * i + 1], two[2 * i]));
            } else {
                x[q][which] = math::make_dense(__uint_as_float(one[i]));
                x[q][which + step] = math::make_dense(__uint_as_float(two[i]));
            }
        }
    }
};

/* total += a b, summed over the blocks of a step: 16 x 8 operands a, 8 x 8 operands b. */
template <class Shape, class A, class B>
__device__ __forceinline__ void accumulate(typename Shape::sum total[4], const A &a, const B &b)
{
    using math = typename Shape::math;
    if constexpr (Shape::fused) {
        const uint32_t both_a[4] = {a.x[0][0].bits, a.x[0][1].bits, a.x[1][0].bits, a.x[1][1].bits};
        const uint32_t both_b[2] = {b.x[0][0].bits, b.x[1][0].bits};
        mma_m16n8k16_half<Shape::arithmetic == TSR_CUDA_BF16>(total, both_a, both_b);
    } else {
#pragma unroll
        for (int q = 0; q < Shape::group; q++)
            math::accumulate(total, a.x[q], b.x[q]);
    }
}

/* at: the place in shared memory of the lane's pieces. */
template <class Shape>
__device__ __forceinline__ void multiply(typename Shape::sum total[Shape::products][4], int at, const operand<Shape> &a)
{
    constexpr int slab_bytes = 8 * Shape::piece_words * 4, width = Shape::piece;
    /* The pieces of slab p.  (Slabs of 64 bytes share 128 bytes that are permuted.) */
    auto from = [=](int p) {
        int within = Shape::swizzle && slab_bytes == 64 ? p % 2 * 64 : 0;
        return dynamic_shared() + (at ^ within) + (p * slab_bytes - within);
    };
    fragments<Shape> b;
    if constexpr (Shape::height == 16) {
#pragma unroll
        for (int p = 0; p < Shape::pieces; p++) {
            const pieces<Shape> x(from(p));
#pragma unroll
            for (int i = 0; i < width; i++) {
                b.set(x, i, 0);
                accumulate<Shape>(total[p * width + i], a, b);
            }
        }
    } else {
#pragma unroll
        for (int p = 0; p < Shape::pieces; p++) {
            const pieces<Shape> x(from(p));
#pragma unroll
            for (int i = 0; i < width / 2; i++) {
                b.set(x, i, 0);
                b.set(x, i + width / 2, 1);
                accumulate<Shape>(total[p * (width / 2) + i], b, a);
            }
        }
    }
}

/* The lane's sums to C; column: the tile's first.  Inside: see tensor_store. */
template <bool Inside, class Shape> __device__ __forceinline__ void store(const tensor_output<typename Shape::sum> &out,
                                                                          const typename Shape::sum total[Shape::products][4],
                                                                          int64_t column, int64_t n, int lane)
{
    using sum = typename Shape::sum;
    constexpr int piece = Shape::piece, slab = Shape::slab;
    int g = lane / 4, t = lane % 4;
#pragma unroll
    for (int p = 0; p < Shape::pieces; p++)
#pragma unroll
        for (int k = 0; k < Shape::height / 4; k++) { // the pieces of slab p that this lane has
            sum x[piece];
#pragma unroll
            for (int i = 0; i < piece; i++) {
                if constexpr (Shape::height == 16)
                    x[i] = total[p * piece + i][k];
                else
                    x[i] = total[p * (piece / 2) + i % (piece / 2)][i / (piece / 2) * 2 + k];
            }
            int row = Shape::height == 16 ? g + k / 2 * 8 : 2 * t + k;
            int mine = Shape::height == 16 ? unit<Shape>(2 * t + k % 2) : g;
            tensor_store<Inside>(out, row, column + p * slab + mine * piece, n, x);
        }
}

} // namespace bmat
