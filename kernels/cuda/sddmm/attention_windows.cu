// Attention over windows of 16 rows on Tensor Cores, for Q, K, V and O in FP16 or BF16.
//
// The pattern is a BMat of height 16: of every window its columns, 16 rows of bits each.  A warp walks the columns of an item 16 at a time.
// K's rows are fetched once for all rows of the window, 16 bytes a lane, and lie in registers as the MMA wants them, because the order of the
// products in a dot product is free: a lane's 8 elements of K meet the same 8 of Q.  V's are fetched as whole lines, neighbouring lanes having
// neighbouring bytes of one row, and turned by movmatrix: fetched as the MMA wants them, eight neighbouring lanes would touch four lines, and the
// first cache takes a line at a time.  Two heads of 32 columns that lie side by side are computed together, so that their rows are whole lines.
// K's rows of the next step are fetched as soon as the scores are known, V's as soon as they are added: while one is computed with, the other is on
// its way.  Slots after the last column have that column and no entries.  Nothing is added across lanes but once a window.
//     scores (16 x 16) = Q (16 x D) K' (D x 16)        weights = 2^(score - reference), 0 without an entry        O (16 x D) += weights V
// The reference of a row is the largest score so far, or one that is at most 2^`room` below it: then nothing that is there is multiplied anew.
// Weights are two numbers of 16 bits, what rounding leaves being the second, so that sums are those of FP32 weights.  Where V has Inf or NaN,
// 0 * Inf would reach rows without an entry there: what is not finite in the end is computed again, row by row.
// Items of a window that is cut write what they found, and a second kernel joins them in order.  The same bits every time.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/sddmm/attention.cuh"

namespace {

using namespace attention_rows;

constexpr int height = 16, step = 16; // columns of a step: two blocks
constexpr float room = 8;             // how far a score may be above its row's reference, as a power of 2

/* All that a warp must know, in one place: what leads from one array to the next is waited for each time. */
struct alignas(16) window_item {
    int64_t first, block, partial; // its first vector and block; where it leaves what it found, -1: it writes O
    uint32_t window;
    int count; // vectors
};

struct window_args {
    const window_item *item;
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

/* Of a block's eight slots, that of column `column` of the scores. */
template <int D> __device__ __forceinline__ constexpr int slot_of(int column) { return D == 32 ? column : column / 2 + column % 2 * 4; }

/* 16 bytes, or 0. */
__device__ __forceinline__ void load_words(uint32_t (&x)[4], const char *at, bool valid)
{
    if (valid)
        load_here(x, at);
    else
        memset(x, 0, sizeof x);
}

/* Is column `column` of the D there?  Whole: all are. */
template <bool Whole> __device__ __forceinline__ bool is_there(const window_args &a, int column) { return Whole || column < a.together; }

/* Q's rows g and g + 8: a lane has elements 32 j + 8 t to 32 j + 8 t + 7 of each, as first operands of MMAs.  128 columns lie in shared memory, where
 * each lane reads what it has written: registers are few. */
template <int D> struct query_rows {
    static constexpr bool shared = D == 128;
    static constexpr size_t shared_bytes = shared ? 32 * D : 0;
    uint32_t x[shared ? 1 : D / 16][4];
    shared_place place;
    __device__ __forceinline__ void load(const window_args &a, int64_t row, int head, int g, int t)
    {
        uint4 *mine = reinterpret_cast<uint4 *>(dynamic_shared()) + threadIdx.x;
        place = shared_place_of(mine);
#pragma unroll
        for (int j = 0; j < D / 32; j++) {
            uint32_t rows[2][4];
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int64_t r = row + g + 8 * half;
                load_words(rows[half], a.q.data + r * a.q.ld + head * a.q.stride + (32 * j + 8 * t) * 2, r < a.nrows && 32 * j + 8 * t < a.together);
            }
#pragma unroll
            for (int part = 0; part < 2; part++) {
                const uint32_t words[4] = {rows[0][2 * part], rows[1][2 * part], rows[0][2 * part + 1], rows[1][2 * part + 1]};
                memcpy(shared ? static_cast<void *>(mine + 32 * (2 * j + part)) : x[shared ? 0 : 2 * j + part], words, sizeof words);
            }
        }
    }
    /* Number k: elements 32 (k / 2) + 8 t + 4 (k % 2) and the next three. */
    __device__ __forceinline__ void fetch(uint32_t (&words)[4], int k) const
    {
        if (shared)
            load_shared<4>(words, place + 512 * k);
        else
            memcpy(words, x[k], sizeof words);
    }
};

/* K's rows of slots g and g + 8 of a step, in the order of the scores. */
template <int D, bool Whole> struct key_rows {
    uint32_t x[2][D / 32][4];
    /* base: this lane's 16 bytes of row 0.  columns: those of the slots, a lane each. */
    __device__ __forceinline__ void load(const window_args &a, const char *base, uint32_t columns, int g, int t)
    {
#pragma unroll
        for (int n = 0; n < 2; n++) {
            const char *row = advance(base, __shfl_sync(~0u, columns, 8 * n + slot_of<D>(g)), uint32_t(a.k.ld));
#pragma unroll
            for (int j = 0; j < D / 32; j++)
                load_words(x[n][j], row + 64 * j, is_there<Whole>(a, 32 * j + 8 * t));
        }
    }
};

/* V's rows of the slots of a step: `lanes` lanes for each, 16 bytes a lane, `pieces` times. */
template <int D, bool Whole> struct value_rows {
    static constexpr int lanes = D == 32 ? 4 : 8, at_once = 32 / lanes, pieces = D / 8 / lanes, loads = step / at_once;
    uint32_t x[loads][pieces][4];
    __device__ __forceinline__ void load(const window_args &a, const char *base, uint32_t columns, int lane)
    {
#pragma unroll
        for (int e = 0; e < loads; e++) {
            const char *row = advance(base, __shfl_sync(~0u, columns, e * at_once + lane / lanes), uint32_t(a.v.ld));
#pragma unroll
            for (int h = 0; h < pieces; h++)
                load_words(x[e][h], row + 16 * lanes * h, is_there<Whole>(a, (h * lanes + lane % lanes) * 8));
        }
    }
    __device__ __forceinline__ void interleave()
    {
#pragma unroll
        for (int e = 0; e < loads; e += 2)
#pragma unroll
            for (int h = 0; h < pieces; h++)
#pragma unroll
                for (int w = 0; w < 4; w++) {
                    const uint32_t low = x[e][h][w], high = x[e + 1][h][w];
                    x[e][h][w] = __byte_perm(low, high, 0x5410);
                    x[e + 1][h][w] = __byte_perm(low, high, 0x7632);
                }
    }
    /* As fragment() wants them.  Of eight lanes a row, what is turned has one row twice, so that a lane gets two columns of slot t, and from the next load
     * those of slot t + 4. */
    __device__ __forceinline__ void turn()
    {
#pragma unroll
        for (int e = 0; e < loads; e++)
#pragma unroll
            for (int h = 0; h < pieces; h++)
#pragma unroll
                for (int w = 0; w < 4; w++)
                    x[e][h][w] = transpose_8x8(x[e][h][w]);
        if constexpr (lanes == 8)
            interleave();
    }
    /* Of 32 columns from 32 c on: 8 (g / 2) + 2 w + g % 2, for the slots of columns 2t and 2t + 1 of the scores of both blocks. */
    __device__ __forceinline__ void fragment(uint32_t (&b)[2], int c, int w) const
    {
        b[0] = lanes == 4 ? x[0][c][w] : x[c % 2][c / 2][w];
        b[1] = lanes == 4 ? x[1][c][w] : x[loads / 2 + c % 2][c / 2][w];
    }
};

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
    int head, g, t, lane; // head: the first
};

template <int H> __device__ __forceinline__ place find_place(const window_args &a, uint32_t number)
{
    place p;
    const uint32_t nitems = uint32_t(a.nitems); // with all heads no more than blocks of a launch; 64 bits would take a tenth of a short item's time
    p.item = a.item[number % nitems];
    p.head = int(number / nitems) * H; // head by head: the rows that are used often stay in the cache
    p.lane = int(threadIdx.x % 32), p.g = p.lane / 4, p.t = p.lane % 4;
    p.row = int64_t(p.item.window) * height;
    return p;
}

/* Which of its scores a lane's step has entries for: those of block n, rows g and g + 8. */
template <int D> struct entry_bits {
    uint32_t word[2][2];
    /* mask: of the step's first block, from the word of row g on.  count: columns from there on. */
    __device__ __forceinline__ void load(const uint32_t *mask, int count)
    {
#pragma unroll
        for (int n = 0; n < 2; n++)
#pragma unroll
            for (int half = 0; half < 2; half++)
                word[n][half] = 8 * n < count ? __ldg(mask + 4 * n + 2 * half) : 0;
    }
    /* Of score e of block n.  first: the bit of row g and the lane's first column. */
    __device__ __forceinline__ bool has(int n, int e, uint32_t first) const { return (word[n][e / 2] & first << slot_of<D>(e % 2)) != 0; }
};

/* dot[h][n][e]: of head h and block n, as an MMA has it. */
template <class T, int D, int H, bool Whole>
__device__ __forceinline__ void multiply_rows(float (&dot)[H][2][4], const query_rows<D> &q, const key_rows<D, Whole> &keys)
{
    constexpr int each = D / 16 / H;
    memset(dot, 0, sizeof dot);
#pragma unroll
    for (int k = 0; k < D / 16; k++) {
        uint32_t from[4];
        q.fetch(from, k);
#pragma unroll
        for (int n = 0; n < 2; n++) {
            const uint32_t to[2] = {keys.x[n][k / 2][2 * (k % 2)], keys.x[n][k / 2][2 * (k % 2) + 1]};
            mma_m16n8k16_half<is_bf16<T>>(dot[k / each][n], from, to);
        }
    }
}

/* above[n][e]: scores relative to the references; -Inf without an entry. */
template <int D, int H>
__device__ __forceinline__ void find_above(float (&above)[2][4], const float (&dot)[2][4], const window_state<D, H> &s, int h, const entry_bits<D> &bits,
                                           uint32_t first, float scale)
{
#pragma unroll
    for (int n = 0; n < 2; n++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            above[n][e] = bits.has(n, e, first) ? fmaf(dot[n][e], scale, -s.most[h][e / 2]) : -INFINITY;
}

__device__ __forceinline__ float largest(const float (&x)[2][4], int r)
{
    return fmaxf(fmaxf(x[0][2 * r], x[0][2 * r + 1]), fmaxf(x[1][2 * r], x[1][2 * r + 1]));
}

/* The references become the largest scores. */
template <int D, int H>
__device__ __forceinline__ void raise(window_state<D, H> &s, int h, const float (&dot)[2][4], const entry_bits<D> &bits, uint32_t first, float scale)
{
    float score[2][4], by[2];
#pragma unroll
    for (int n = 0; n < 2; n++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            score[n][e] = bits.has(n, e, first) ? dot[n][e] * scale : -INFINITY;
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

/* Dot products become weights.  What is not a number stays so, and a row whose scores are all -Inf gets such weights: both are computed again. */
template <int D, int H>
__device__ __forceinline__ void weigh(float (&weight)[2][4], window_state<D, H> &s, int h, const entry_bits<D> &bits, uint32_t first, float scale)
{
    float above[2][4];
    find_above(above, weight, s, h, bits, first, scale);
    if (__any_sync(~0u, fmaxf(largest(above, 0), largest(above, 1)) > room)) {
        raise(s, h, weight, bits, first, scale);
        find_above(above, weight, s, h, bits, first, scale);
    }
#pragma unroll
    for (int n = 0; n < 2; n++)
#pragma unroll
        for (int e = 0; e < 4; e++) {
            weight[n][e] = exp2_of(above[n][e]);
            s.sum[h][e / 2] += weight[n][e];
        }
}

template <class T, int D, int H, bool Whole>
__device__ __forceinline__ void add_values(window_state<D, H> &s, int h, const float (&weight)[2][4], const value_rows<D, Whole> &v)
{
    uint32_t high[4], low[4];
#pragma unroll
    for (int e = 0; e < 4; e++) { // (g, 2t) (g + 8, 2t) (g, 2t + 8) (g + 8, 2t + 8)
        const float x = weight[e / 2][e % 2 * 2], y = weight[e / 2][e % 2 * 2 + 1];
        float rounded[2];
        high[e] = pair_of<T>(x, y);
        as_floats<T>(rounded, high[e]);
        low[e] = pair_of<T>(x - rounded[0], y - rounded[1]);
    }
#pragma unroll
    for (int c = h * s.each; c < (h + 1) * s.each; c++)
#pragma unroll
        for (int w = 0; w < 4; w++) {
            uint32_t b[2];
            v.fragment(b, c, w);
            mma_m16n8k16_half<is_bf16<T>>(s.value[c][w], low, b);
            mma_m16n8k16_half<is_bf16<T>>(s.value[c][w], high, b);
        }
}

/* What a warp walks over. */
template <int D, bool Whole> struct item_columns {
    const char *k, *v; // this lane's 16 bytes of row 0 of the first head
    const uint32_t *column, *mask;
    int count;
    __device__ __forceinline__ item_columns(const window_args &a, const place &p)
        : k(keep_address(a.k.data + p.head * a.k.stride + 16 * p.t)),
          v(keep_address(a.v.data + p.head * a.v.stride + 16 * (p.lane % value_rows<D, Whole>::lanes))), column(a.column + p.item.first),
          mask(keep_address(a.mask + 4 * p.item.block + p.g / 4)), count(p.item.count)
    {
    }
    /* Column number `at`; past the end the last. */
    __device__ __forceinline__ uint32_t column_at(int at) const { return __ldg(advance(column, uint32_t(at < count ? at : count - 1), 4)); }
};

template <class T, int D, int H, bool Whole>
__device__ __forceinline__ void walk(window_state<D, H> &s, const window_args &a, const place &p, const query_rows<D> &q)
{
    const item_columns<D, Whole> of(a, p);
    const uint32_t first = 1u << (p.g % 4 * 8 + slot_of<D>(2 * p.t));
    const int slot = p.lane % step;
    key_rows<D, Whole> k;
    value_rows<D, Whole> v;
    entry_bits<D> bits;
    if (of.count == 0)
        return;
    uint32_t next = of.column_at(slot);
    k.load(a, of.k, next, p.g, p.t);
    v.load(a, of.v, next, p.lane);
    bits.load(of.mask, of.count);
    next = of.column_at(step + slot);
    for (int at = 0; at < of.count; at += step) {
        float weight[H][2][4];
        multiply_rows<T, D, H, Whole>(weight, q, k);
        k.load(a, of.k, next, p.g, p.t);
#pragma unroll
        for (int h = 0; h < H; h++)
            weigh(weight[h], s, h, bits, first, a.scale);
        v.turn();
#pragma unroll
        for (int h = 0; h < H; h++)
            add_values<T>(s, h, weight[h], v);
        v.load(a, of.v, next, p.lane);
        bits.load(advance(of.mask, uint32_t(at + step), 2), of.count - at - step);
        next = of.column_at(at + 2 * step + slot);
    }
}

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

// ---- Kernels ----

/* Warps that a multiprocessor should hold, for D columns.  Measured: more hide more of the latency, with fewer registers for each. */
template <int D> constexpr int warps_held = D == 128 ? 12 : D == 64 ? 16 : 24;

/* A warp a block: items are of very different sizes, and what the longest of a block leaves idle is lost. */
template <class T, int D, int H, bool Whole>
__global__ void __launch_bounds__(32, warps_held<D>) attention_windows(const __grid_constant__ window_args a)
{
    place p = find_place<H>(a, blockIdx.x);
    query_rows<D> q;
    window_state<D, H> s;
    s.clear();
    q.load(a, p.row, p.head, p.g, p.t);
    walk<T, D, H, Whole>(s, a, p, q);
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

__global__ void list_items(window_item *item, const tsr_work work, const tsr_windows w)
{
    const int64_t k = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (k >= work.nitems)
        return;
    const int64_t window = work.window[k], block = work.block[k], before = w.vector[window] - 8 * w.block[window]; // vectors, less 8 a block
    const int64_t end = before + 8 * work.block[k + 1], last = w.vector[window + 1];
    item[k] = {before + 8 * block, block, work.partial[k], uint32_t(window), int((end < last ? end : last) - (before + 8 * block))};
}

/* A warp for each row of a window that was cut, and head. */
template <class T> __global__ void __launch_bounds__(threads) join_windows(const __grid_constant__ window_args a)
{
    const int64_t number = int64_t(blockIdx.x) * warps + threadIdx.x / 32, split = number / a.heads / height;
    const int head = int(number % a.heads), r = int(number / a.heads % height);
    if (split >= a.nsplit)
        return;
    const int64_t row = a.split_window[split] * height + r, first = a.split_partial[split];
    if (row >= a.nrows)
        return;
    const part_list parts = {part_of(a, first, r, head), int64_t(height) * a.heads * (a.width + 2), a.split_partial[split + 1] - first};
    float *lse = a.lse ? a.lse + row * a.heads + head : nullptr;
    join_row(reinterpret_cast<T *>(a.o.data + row * a.o.ld + head * a.o.stride), lse, parts, a.width, int(threadIdx.x % 32));
}

// ---- Launches ----

unsigned blocks_for(int64_t count) { return unsigned((count + warps - 1) / warps); }

template <class T, int D, int H> void launch_items(const window_args &a, void *stream)
{
    const bool whole = a.together == D;
    auto kernel = whole ? attention_windows<T, D, H, true> : attention_windows<T, D, H, false>;
    TSR_LAUNCH(kernel, unsigned(a.nitems * (a.heads / H)), 32, query_rows<D>::shared_bytes, stream, a);
}

template <class T> tsr_status launch(const window_args &a, void *stream)
{
    if (a.together > a.width)
        launch_items<T, 64, 2>(a, stream);
    else if (a.width <= 32)
        launch_items<T, 32, 1>(a, stream);
    else if (a.width <= 64)
        launch_items<T, 64, 1>(a, stream);
    else
        launch_items<T, 128, 1>(a, stream);
    tsr_status status = launch_status();
    if (status != TSR_OK || a.nsplit == 0)
        return status;
    auto join = join_windows<T>;
    TSR_LAUNCH(join, blocks_for(a.nsplit * height * a.heads), threads, 0, stream, a);
    return launch_status();
}

/* Heads of 32 columns, side by side wherever whole rows are fetched. */
bool two_at_once(const tsr_attention_operands *o)
{
    const int64_t width = o->q.width;
    return width == 32 && o->q.heads % 2 == 0 && o->q.head_stride == width && o->k.head_stride == width && o->v.head_stride == width;
}

window_args arguments_of(const tsr_cuda_attention_windows *s, const tsr_attention_operands *o, void *partial)
{
    window_args a = {};
    const tsr_work &work = s->work;
    const tsr_windows &w = s->blocks.w;
    a.item = static_cast<const window_item *>(s->items);
    a.split_window = work.split_window, a.split_partial = work.split_partial;
    a.column = w.column, a.mask = reinterpret_cast<const uint32_t *>(s->blocks.mask);
    a.q = bytes_of(o->q), a.k = bytes_of(o->k), a.v = bytes_of(o->v), a.o = bytes_of(o->o);
    a.lse = o->lse, a.partial = static_cast<float *>(partial);
    a.nitems = work.nitems, a.nsplit = work.nsplit, a.nrows = w.nrows;
    a.heads = int(o->q.heads), a.width = int(o->q.width), a.together = two_at_once(o) ? 2 * a.width : a.width;
    a.scale = float(o->scale) * log2_of_e;
    return a;
}

/* Blocks of an item: enough items for all processors, and none much longer than the others.  What a part leaves for joining, 16 rows of FP32 numbers,
 * must be little beside what it reads: items of 16 blocks took twice as long on ddi (one head of 128, an H100). */
int64_t most_blocks(const tsr_windows &w, int64_t heads, const tsr_cuda_device *device)
{
    constexpr int64_t least = 64, items = 64; // a processor
    const int64_t even = w.nblocks * heads / (device->sms * items) + 1;
    return even > least ? even : least;
}

} // namespace

extern "C" bool tsr_cuda_attention_windows_fit(const tsr_cuda_csr *s, const tsr_attention_operands *like)
{
    const bool is_half = like->q.type == TSR_FP16 || like->q.type == TSR_BF16;
    return is_half && like->q.width <= 128 && shape_of(like).v == 8 && fits(s, like) && s->nrows > 0;
}

/* Of fewer than 32 columns (measured on an H100, of 32, with half of them in vain), a column of a window takes 1.23 times as long as an entry of a row
 * whose heads lie side by side. */
extern "C" bool tsr_cuda_attention_windows_pay(int64_t vectors, int64_t entries, const tsr_attention_operands *like)
{
    return like->q.width >= 32 || like->q.heads < 4 || double(vectors) * 1.23 < double(entries);
}

extern "C" tsr_status tsr_cuda_attention_windows_make(tsr_cuda_attention_windows *out, const tsr_cuda_csr *s, int64_t heads,
                                                      const tsr_cuda_device *device, void *stream)
{
    *out = {};
    tsr_source source = {};
    source.nrows = s->nrows, source.ncols = s->ncols, source.nvals = s->nvals, source.p = s->p, source.i = s->i;
    tsr_status status = tsr_cuda_make_bmat(&out->blocks, &source, height, stream);
    if (status != TSR_OK)
        return status;
    status = tsr_cuda_make_work(&out->work, &out->blocks.w, out->blocks.mask, most_blocks(out->blocks.w, heads, device), stream);
    const int64_t count = out->work.nitems;
    if (status == TSR_OK)
        status = tsr_cuda_malloc(&out->items, size_t(count + 1) * sizeof(window_item), stream);
    if (status == TSR_OK && count > 0) {
        TSR_LAUNCH(list_items, unsigned((count + threads - 1) / threads), threads, 0, stream, static_cast<window_item *>(out->items), out->work, out->blocks.w);
        status = launch_status();
    }
    if (status != TSR_OK)
        tsr_cuda_attention_windows_free(out, stream);
    return status;
}

extern "C" void tsr_cuda_attention_windows_free(tsr_cuda_attention_windows *s, void *stream)
{
    if (s->blocks.w.height) {
        tsr_cuda_free(s->items, stream);
        tsr_cuda_free_work(&s->work, stream);
        tsr_cuda_free_bmat(&s->blocks, stream);
    }
    *s = {};
}

extern "C" size_t tsr_cuda_attention_windows_bytes(const tsr_cuda_attention_windows *s, const tsr_attention_operands *like)
{
    return size_t(s->work.npartials * height * like->q.heads * (like->q.width + 2)) * sizeof(float);
}

extern "C" tsr_status tsr_cuda_attention_by_windows(const tsr_cuda_attention_windows *s, const tsr_attention_operands *operands, void *partial)
{
    const window_args a = arguments_of(s, operands, partial);
    if (a.width == 0 || a.nitems == 0)
        return TSR_OK;
    return operands->q.type == TSR_FP16 ? launch<__half>(a, operands->stream) : launch<__nv_bfloat16>(a, operands->stream);
}
