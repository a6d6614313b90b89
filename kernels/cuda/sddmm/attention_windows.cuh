// Attention over windows of 16 rows on Tensor Cores, for Q, K, V and O in FP16 or BF16: what its two forms share.
//
// The pattern is a BMat of height 16: of every window its columns, 16 rows of bits each.  A warp walks the columns of an item 16 at a time, a step.
//     scores (16 x 16) = Q (16 x D) K' (D x 16)        weights = 2^(score - reference), 0 without an entry        O (16 x D) += weights V
// The reference of a row is the largest score so far, or one that is not much below it: then nothing that is there is multiplied anew.
// Weights are two numbers of 16 bits, what rounding leaves being the second, so that sums are those of FP32 weights.  Where V has Inf or NaN,
// 0 * Inf would reach rows without an entry there: what is not finite in the end is computed again, row by row.
// Nothing is added across lanes but once a window.  Items of a window that is cut write what they found, and a kernel joins them in order.  The same
// bits every time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/sddmm/attention.cuh"

namespace attention_rows {

constexpr int height = 16, step = 16; // columns of a step: two blocks

/* All that a warp must know, in one place: what leads from one array to the next is waited for each time. */
struct alignas(16) window_item {
    int64_t first, block, partial; // its first vector and block; where it leaves what it found, -1: it writes O
    uint32_t window;
    int count; // vectors
};

/* The columns of a step, as the staged form wants them. */
struct window_step;

struct window_args {
    const window_item *item;
    const window_step *step; // of all items, or null
    const int64_t *split_window, *split_partial; // tsr_work
    const uint32_t *column, *mask;               // mask: 4 numbers a block, 4 rows each
    head_array q, k, v, o;
    float *lse, *partial;
    int64_t nitems, nsplit, nrows;
    int heads, width, together; // together: columns of the heads of one item
    float scale; // times log2 (e)
};

// ---- Numbers of 16 bits ----

template <class T> constexpr bool is_bf16 = false;
template <> constexpr bool is_bf16<__nv_bfloat16> = true;

template <class T> __device__ __forceinline__ uint32_t pair_of(float low, float high)
{
    uint32_t bits;
    if constexpr (is_bf16<T>) {
        const __nv_bfloat162 x = __floats2bfloat162_rn(low, high);
        memcpy(&bits, &x, sizeof bits);
    } else {
        const __half2 x = __floats2half2_rn(low, high);
        memcpy(&bits, &x, sizeof bits);
    }
    return bits;
}

template <class T> __device__ __forceinline__ void as_floats(float (&x)[2], uint32_t bits)
{
    T y[2];
    memcpy(static_cast<void *>(y), &bits, sizeof bits);
    x[0] = widen(y[0]), x[1] = widen(y[1]);
}

// ---- Shapes: D columns of Q, K, V and O, of H heads side by side, of which `width` each are there ----

/* Is column `column` of the D there?  Whole: all are. */
template <bool Whole> __device__ __forceinline__ bool is_there(const window_args &a, int column) { return Whole || column < a.together; }

// ---- One item: some columns of a window, for a head ----

/* Of rows g (0) and g + 8 (1), for each head.  most: the reference; -Inf: no entry yet.  value: row g columns 32 c + 8 t + 2 w and the next, then
 * row g + 8.  sum: this lane's. */
template <int D, int H> struct window_state {
    static constexpr int each = D / 32 / H; // groups of 32 columns of a head
    float most[H][2], sum[H][2], value[D / 32][4][4];

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int h = 0; h < H; h++)
#pragma unroll
            for (int r = 0; r < 2; r++)
                most[h][r] = -INFINITY, sum[h][r] = 0;
        memset(value, 0, sizeof value);
    }
    __device__ __forceinline__ void multiply(int h, const float (&by)[2])
    {
        sum[h][0] *= by[0], sum[h][1] *= by[1];
#pragma unroll
        for (int c = h * each; c < (h + 1) * each; c++)
#pragma unroll
            for (int w = 0; w < 4; w++)
#pragma unroll
                for (int k = 0; k < 4; k++)
                    value[c][w][k] *= by[k / 2];
    }
    __device__ __forceinline__ bool is_finite() const
    {
        float x = 0;
#pragma unroll
        for (int c = 0; c < D / 32; c++)
#pragma unroll
            for (int w = 0; w < 4; w++)
#pragma unroll
                for (int k = 0; k < 4; k++)
                    x += value[c][w][k] * 0.0f;
        return x == 0;
    }
};

/* Where a warp works. */
struct place {
    window_item item;
    int64_t row;
    uint32_t number; // of the item
    int head, g, t, lane; // head: the first
};

template <int H> __device__ __forceinline__ place find_place(const window_args &a, uint32_t number)
{
    place p;
    const uint32_t nitems = uint32_t(a.nitems); // with all heads no more than blocks of a launch; 64 bits would take a tenth of a short item's time
    p.number = number % nitems, p.item = a.item[p.number];
    p.head = int(number / nitems) * H; // head by head: the rows that are used often stay in the cache
    p.lane = int(threadIdx.x % 32), p.g = p.lane / 4, p.t = p.lane % 4;
    p.row = int64_t(p.item.window) * height;
    return p;
}

__device__ __forceinline__ float largest(const float (&x)[2][4], int r)
{
    return fmaxf(fmaxf(x[0][2 * r], x[0][2 * r + 1]), fmaxf(x[1][2 * r], x[1][2 * r + 1]));
}

/* The references become the largest scores.  dot[n][e]: as an MMA has block n.  bits.keep (x, n, e): x, or -Inf without an entry. */
template <class Bits, int D, int H>
__device__ __forceinline__ void raise(window_state<D, H> &s, int h, const float (&dot)[2][4], const Bits &bits, float scale)
{
    float score[2][4], by[2];
#pragma unroll
    for (int n = 0; n < 2; n++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            score[n][e] = bits.keep(dot[n][e] * scale, n, e);
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float most = largest(score, r);
        most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
        most = fmaxf(s.most[h][r], fmaxf(most, __shfl_xor_sync(~0u, most, 2)));
        by[r] = exp2_of(s.most[h][r] - reference_of(most));
        s.most[h][r] = most;
    }
    s.multiply(h, by);
}

/* Weights as first operands of MMAs, in two numbers each. */
struct split_weights {
    uint32_t high[4], low[4]; // (g, 2t) (g + 8, 2t) (g, 2t + 8) (g + 8, 2t + 8)
    template <class T> __device__ __forceinline__ void set(const float (&weight)[2][4])
    {
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const float x = weight[e / 2][e % 2 * 2], y = weight[e / 2][e % 2 * 2 + 1];
            float rounded[2];
            high[e] = pair_of<T>(x, y);
            as_floats<T>(rounded, high[e]);
            low[e] = pair_of<T>(x - rounded[0], y - rounded[1]);
        }
    }
};

// ---- What an item found ----

__device__ __forceinline__ float *part_of(const window_args &a, int64_t partial, int row, int head)
{
    return a.partial + ((partial * height + row) * a.heads + head) * (a.width + 2);
}

/* Eight neighbouring results of a row. */
template <class T> __device__ __forceinline__ void store_results(T *to, const float (&x)[8], float share)
{
    T y[8];
#pragma unroll
    for (int k = 0; k < 8; k++)
        narrow(y[k], x[k] * share);
    store_vector<T, 8>(to, y);
}

/* Row g or g + 8, of the item's head h. */
template <class T, int D, int H>
__device__ __forceinline__ void store_row(const window_args &a, const place &p, const window_state<D, H> &s, int h, int half)
{
    const int64_t row = p.row + p.g + 8 * half;
    const int head = p.head + h;
    const bool empty = s.most[h][half] == -INFINITY;
    const float share = empty ? 0.0f : 1 / s.sum[h][half];
    float *part = p.item.partial < 0 ? nullptr : part_of(a, p.item.partial, p.g + 8 * half, head);
    if (row >= a.nrows)
        return;
#pragma unroll
    for (int c = 0; c < s.each; c++) {
        const int at = 32 * c + 8 * p.t;
        float x[8];
#pragma unroll
        for (int k = 0; k < 8; k++)
            x[k] = s.value[h * s.each + c][k / 2][2 * half + k % 2];
        if (at >= a.width)
            continue;
        if (!part)
            store_results<T>(reinterpret_cast<T *>(a.o.data + row * a.o.ld + head * a.o.stride) + at, x, share);
        else
            for (int k = 0; k < 8; k++)
                part[2 + at + k] = x[k];
    }
    if (p.t != 0)
        return;
    if (part)
        part[0] = s.most[h][half], part[1] = s.sum[h][half];
    else if (a.lse)
        a.lse[row * a.heads + head] = lse_of(s.most[h][half], s.sum[h][half], empty);
}

/* Sums of a row lie in four lanes. */
template <int D, int H> __device__ __forceinline__ void finish(window_state<D, H> &s)
{
#pragma unroll
    for (int h = 0; h < H; h++)
#pragma unroll
        for (int r = 0; r < 2; r++) {
            s.sum[h][r] += __shfl_xor_sync(~0u, s.sum[h][r], 1);
            s.sum[h][r] += __shfl_xor_sync(~0u, s.sum[h][r], 2);
        }
}

// ---- Where something is not finite: row by row, entry by entry ----

template <class T> __device__ __forceinline__ const T *row_at(const head_array &x, int64_t row, int head)
{
    return reinterpret_cast<const T *>(x.data + row * x.ld + head * x.stride);
}

template <class T> __device__ float score_of(const window_args &a, const place &p, int64_t row, uint32_t column)
{
    const T *q = row_at<T>(a.q, row, p.head), *k = row_at<T>(a.k, column, p.head);
    float sum[1] = {0};
    for (int c = p.lane; c < a.width; c += 32)
        sum[0] += widen(q[c]) * widen(k[c]);
    add_lanes<32>(sum);
    return sum[0] * a.scale;
}

template <class T, int D> __device__ void redo_row(const window_args &a, const place &p, int r)
{
    constexpr int N = D / 32;
    softmax_state<N> s;
    bool empty = true;
    clear(s);
    for (int at = 0; at < p.item.count; at++) {
        if (!(__ldg(a.mask + 4 * (p.item.block + at / 8) + r / 4) >> (r % 4 * 8 + at % 8) & 1))
            continue;
        const uint32_t column = __ldg(a.column + p.item.first + at);
        const T *v = row_at<T>(a.v, column, p.head);
        float x[N];
        for (int k = 0; k < N; k++)
            x[k] = p.lane + 32 * k < a.width ? widen(v[p.lane + 32 * k]) : 0.0f;
        const float score = score_of<T>(a, p, p.row + r, column);
        join<N>(s, score, score == score ? 1.0f : score, x);
        empty = false;
    }
    const float most = empty ? -INFINITY : most_of_part(s.most);
    float *part = p.item.partial < 0 ? nullptr : part_of(a, p.item.partial, r, p.head);
    T *o = reinterpret_cast<T *>(a.o.data + (p.row + r) * a.o.ld + p.head * a.o.stride);
    for (int k = 0; k < N; k++)
        if (p.lane + 32 * k < a.width) {
            if (part)
                part[2 + p.lane + 32 * k] = s.value[k];
            else
                narrow(o[p.lane + 32 * k], empty ? 0.0f : s.value[k] / s.sum);
        }
    if (part && p.lane == 0)
        part[0] = most, part[1] = s.sum;
    else if (a.lse && p.lane == 0)
        a.lse[(p.row + r) * a.heads + p.head] = lse_of(most, s.sum, empty);
}

template <class T, int D> __device__ void redo(const window_args &a, const place &p)
{
    for (int r = 0; r < height && p.row + r < a.nrows; r++)
        redo_row<T, D>(a, p, r);
}

/* What the warp found goes to O, or to what will be joined. */
template <class T, int D, int H> __device__ __forceinline__ void leave(const window_args &a, place p, window_state<D, H> &s)
{
    finish(s);
    if (__any_sync(~0u, !s.is_finite())) {
        for (int h = 0; h < H; h++, p.head++)
            redo<T, D / H>(a, p);
        return;
    }
#pragma unroll
    for (int h = 0; h < H; h++) {
        store_row<T>(a, p, s, h, 0);
        store_row<T>(a, p, s, h, 1);
    }
}

// ---- The form for up to 64 columns (attention_windows_staged.cu) ----

/* *steps: of `nitems` items over `nblocks` blocks, whose columns and masks a has. */
tsr_status make_window_steps(void **steps, const window_args &a, int64_t nblocks, void *stream);
template <class T> tsr_status launch_staged(const window_args &a, void *stream);

} // namespace attention_rows
