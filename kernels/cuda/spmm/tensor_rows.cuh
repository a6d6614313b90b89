// Tensor-Core kernels whose matrix instructions compute 16 rows of C times 8 columns: B as whole 16-byte pieces of its rows.
//
// Lane (g, t) holds pieces of two rows of B, t and t + 4 of eight: the 16 bytes number piece(lane) of 128.  They are P = 16 /
// size columns, and column g of P matrix instructions.  Which k a row gets is free as long as A agrees: with two elements in a
// register rows t and t + 4 are k = 2t and 2t + 1.  Which piece is column g is free too: column 2t is piece t and column 2t + 1
// piece 4 + (t ^ 1), so that four lanes store two whole sectors of a row of C at once, and eight neighbouring lanes read four
// rows of shared memory, 32 bytes apart modulo 128, from different banks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/spmm/tensor.cuh"

namespace tensor_rows {

template <class Math> constexpr int columns = 16 / static_cast<int>(sizeof(typename Math::element)); /* of a piece */

/* The same pointer.  The compiler takes sums of pointers apart to keep what is uniform in uniform registers, and adds up again at
 * every use; it does not see through this. */
template <class T> static __device__ __forceinline__ T *whole(T *p, int lane)
{
    return reinterpret_cast<T *>(__shfl_sync(~0u, reinterpret_cast<unsigned long long>(p), lane));
}

static __device__ __forceinline__ int piece(int lane) { return lane / 8 ^ lane / 4 % 2 * 5; }

/* Element i of two pieces, as B's operand. */
template <class Math>
static __device__ __forceinline__ void dense(typename Math::dense b[Math::per_b], const uint32_t first[4],
                                             const uint32_t second[4], int i)
{
    if constexpr (Math::pack == 2) {
        b[0] = Math::make_dense(first[i / 2], second[i / 2], i & 1);
    } else if constexpr (sizeof(typename Math::element) == 8) {
        b[0] = Math::make_dense(__hiloint2double(first[2 * i + 1], first[2 * i]));
        b[1] = Math::make_dense(__hiloint2double(second[2 * i + 1], second[2 * i]));
    } else {
        b[0] = Math::make_dense(__uint_as_float(first[i]));
        b[1] = Math::make_dense(__uint_as_float(second[i]));
    }
}

/* total[i] += a times column i of the pieces.  Whole: A's operands have no low parts (EXACT; a pattern). */
template <class Math, bool Whole>
static __device__ __forceinline__ void multiply(typename Math::sum total[][4], const typename Math::sparse a[Math::per_a],
                                                const uint4 &x, const uint4 &y)
{
    const uint32_t first[4] = {x.x, x.y, x.z, x.w}, second[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
    for (int i = 0; i < columns<Math>; i++) {
        typename Math::dense b[Math::per_b];
        dense<Math>(b, first, second, i);
        if constexpr (Math::flushes && Whole) {
            float d[4] = {};
            const uint32_t hi[4] = {a[0].hi, a[1].hi, a[2].hi, a[3].hi}, bhi[2] = {b[0].hi, b[1].hi}, blo[2] = {b[0].lo, b[1].lo};
            mma_m16n8k8_tf32(d, hi, blo);
            mma_m16n8k8_tf32(d, hi, bhi);
            for (int k = 0; k < 4; k++)
                total[i][k] += d[k];
        } else {
            Math::accumulate(total[i], a, b);
        }
    }
}

/* The same for row t of four only; a[2] and a[3] are zero (and a's high halves). */
template <class Math, bool Whole>
static __device__ __forceinline__ void multiply_one(typename Math::sum total[][4], const typename Math::sparse a[Math::per_a],
                                                    const uint4 &x)
{
    if constexpr (Math::pack == 2 || sizeof(typename Math::element) == 8) {
        multiply<Math, Whole>(total, a, x, x);
    } else {
        const uint32_t first[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const typename Math::dense b = Math::make_dense(__uint_as_float(first[i]));
            if constexpr (Math::flushes) {
                const uint32_t hi[2] = {a[0].hi, a[1].hi}, lo[2] = {a[0].lo, a[1].lo}, cross[2] = {a[0].cross, a[1].cross};
                float d[4] = {};
                if constexpr (!Whole)
                    mma_m16n8k4_tf32(d, lo, b.hi);
                mma_m16n8k4_tf32(d, cross, b.lo);
                mma_m16n8k4_tf32(d, hi, b.hi);
                for (int k = 0; k < 4; k++)
                    total[i][k] += d[k];
            } else {
                const uint32_t bits[2] = {a[0].bits, a[1].bits};
                mma_m16n8k4_tf32(total[i], bits, b.bits);
            }
        }
    }
}

/* 16 bytes of C: sums [i, i + 16 / size) of rows g (+ 8 where d >= 2). */
template <class Math>
static __device__ __forceinline__ void gather(typename Math::sum *x, const typename Math::sum total[][4], int i, int d)
{
#pragma unroll
    for (int k = 0; k < 16 / static_cast<int>(sizeof(typename Math::sum)); k++)
        x[k] = total[i + k][d];
}

/* Columns [column, column + 8 P Groups) of rows `row` + g and `row` + g + 8 of the window; column: a multiple of their number. */
template <class Math, int Groups>
static __device__ __forceinline__ void store(const tensor_output<typename Math::sum> &out, int row, int64_t column, int64_t n,
                                             const typename Math::sum total[][4], int lane)
{
    using sum = typename Math::sum;
    constexpr int width = columns<Math>, stored = 16 / static_cast<int>(sizeof(sum));
    sum x[stored];
    row += lane / 4;
    const int even = width * (lane % 4), odd = width * (4 + (lane % 4 ^ 1)); /* where the pieces of columns 2t and 2t + 1 begin */
    if (out.vectors && out.beta == 0 && column + 8 * width * Groups <= n) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            if (row + 8 * half >= out.rows)
                continue;
            sum *const c = tensor_row(out, row + 8 * half) + column;
#pragma unroll
            for (int place = 0; place < 2 * Groups; place++)
#pragma unroll
                for (int i = 0; i < width; i += stored) {
                    gather<Math>(x, total, place / 2 * width + i, 2 * half + place % 2);
                    const int first = (place % 2 ? odd : even) + place / 2 * 8 * width + i;
                    tensor_store_vector(c + first, x, out.alpha, sum(0));
                }
        }
        return;
    }
#pragma unroll
    for (int place = 0; place < 2 * Groups; place++)
#pragma unroll
        for (int half = 0; half < 2; half++)
#pragma unroll
            for (int i = 0; i < width; i += stored) {
                gather<Math>(x, total, place / 2 * width + i, 2 * half + place % 2);
                tensor_store(out, row + 8 * half, column + (place % 2 ? odd : even) + place / 2 * 8 * width + i, n, x);
            }
}

// ---- Items ----

/* The blocks of one item, by their number in it.  Members: what a format lists block by block (entries, bricks). */
struct blocks {
    const uint32_t *column; /* of the item's first vector */
    const uint32_t *before; /* members of the window before the item's first block, the next ... */
    int count;
    uint32_t end;         /* members of the window before the end of the item */
    uint32_t last_vector; /* of the item, from its first */

    /* Members of the window before block k are bound(k, load_bound(k)): to be asked for early and used late. */
    __device__ __forceinline__ uint32_t load_bound(int k) const { return __ldg(before + (k < count ? k : count - 1)); }
    __device__ __forceinline__ uint32_t bound(int k, uint32_t loaded) const { return k < count ? loaded : end; }
};

/* Blocks [first, last) of a window with `members` members, of which before[k] come before block k; Width vectors a block. */
template <int Width>
static __device__ __forceinline__ blocks item_blocks(const tsr_windows &w, const uint32_t *before, int64_t members, int64_t window,
                                                     int64_t first, int64_t last, int lane)
{
    const int64_t vector = w.vector[window] + Width * (first - w.block[window]);
    const int64_t vectors = w.vector[window + 1] - vector, most = Width * (last - first);
    blocks s;
    s.column = whole(w.column + vector, lane);
    s.before = whole(before + first, lane);
    s.count = static_cast<int>(last - first);
    s.end = last < w.block[window + 1] ? before[last] : static_cast<uint32_t>(members);
    s.last_vector = static_cast<uint32_t>((vectors < most ? vectors : most) - 1);
    return s;
}

// ---- Launching ----

template <class Format> struct arguments {
    Format a;
    tsr_work work;
    tsr_cuda_spmm p;
    uint32_t row_bytes, tiles;
    bool tile_major;
};

/* Kernel: has_widest<math>, whether it has tiles of 512 bytes; shape(arguments, has_widest), the best of 1, 2, 3 for 128, 256, 512
 * bytes; launch<math, Groups, Pattern>(arguments).  variant: 10 * order + shape, see the kernels. */
template <class Kernel, tsr_cuda_math Math, bool Pattern, class Format> static tsr_status choose(arguments<Format> &p)
{
    using math = tensor_math<Math>;
    constexpr bool widest = Kernel::template has_widest<math>;
    const int order = p.p.variant / 10, shape = p.p.variant % 10 ? p.p.variant % 10 : Kernel::shape(p, widest);
    if (shape > (widest ? 3 : 2))
        return TSR_DECLINED;
    const int64_t tile = 4 * columns<math> << shape, tiles = (p.p.n + tile - 1) / tile;
    if (tiles > INT32_MAX / p.work.nitems)
        return TSR_DECLINED;
    p.tiles = static_cast<uint32_t>(tiles);
    p.tile_major = order ? order == 2 : tensor_tile_major(&p.p, p.a.w.ncols, tile, sizeof(typename math::element));
    if constexpr (widest)
        if (shape == 3)
            return Kernel::template launch<math, 4, Pattern>(p);
    return shape == 2 ? Kernel::template launch<math, 2, Pattern>(p) : Kernel::template launch<math, 1, Pattern>(p);
}

template <class Kernel, tsr_cuda_math Math, class Format> static tsr_status choose(arguments<Format> &p)
{
    return p.a.value ? choose<Kernel, Math, false>(p) : choose<Kernel, Math, true>(p);
}

/* The product, of whatever arithmetic. */
template <class Kernel, class Format>
static tsr_status run(const Format *a, const tsr_work *work, const tsr_cuda_spmm *product)
{
    const uint64_t row_bytes = static_cast<uint64_t>(product->ldb) * tsr_number_size(tsr_cuda_number(product->math));
    if (!tensor_takes(product, a->value == nullptr) || row_bytes > UINT32_MAX || work->nitems > INT32_MAX)
        return TSR_DECLINED;
    if (work->nitems == 0)
        return TSR_OK;
    arguments<Format> p = {*a, *work, *product, static_cast<uint32_t>(row_bytes), 0, false};
    tsr_status status = TSR_DECLINED;
    switch (product->math) {
    case TSR_CUDA_EXACT: status = choose<Kernel, TSR_CUDA_EXACT>(p); break;
    case TSR_CUDA_TF32: status = choose<Kernel, TSR_CUDA_TF32>(p); break;
    case TSR_CUDA_FP16: status = choose<Kernel, TSR_CUDA_FP16>(p); break;
    case TSR_CUDA_BF16: status = choose<Kernel, TSR_CUDA_BF16>(p); break;
    case TSR_CUDA_FP64: status = choose<Kernel, TSR_CUDA_FP64>(p); break;
    }
    return status == TSR_OK ? tsr_cuda_add_partials(&a->w, work, product) : status;
}

} // namespace tensor_rows
