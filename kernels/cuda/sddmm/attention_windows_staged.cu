// Attention over windows for heads of up to 64 columns: rows of K and V by shared memory.
//
// The pattern is brought into steps: 16 columns of an item, and which of their 16 x 16 places have entries, as the lanes of a warp want them.
// K's and V's rows are copied once for all rows of the window, as whole lines and past the registers, to shared memory, where matrices of 8 x 8 are
// read as the MMA wants them, V's transposed.  Two heads of 32 columns that lie side by side are computed together, so that their rows are whole
// lines.  K's rows of the next step are asked for as soon as the scores are known, V's as soon as they are added: while one is computed with, the other
// is on its way, and so are the columns of the step after.  Rows of columns that are not there are 0.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/sddmm/attention_windows.cuh"

namespace attention_rows {

/* Column number 4 q + r is word 4 r + q: of what one lane reads, 16 bytes, each number is of another load of V's rows.  Past the end the item's last
 * column.  has: lane 4 g + t has bit q of row g and bit 4 + q of row g + 8, of column number 4 q + t. */
struct alignas(32) window_step {
    uint32_t column[16];
    uint8_t has[32];
};

} // namespace attention_rows

namespace {

using namespace attention_rows;

constexpr float most_weight = 256; // that the weights of a lane and row may add up to before the reference rises

/* The columns of a step that a lane needs: numbers r, 4 + r, 8 + r, 12 + r for r = lane / 8. */
struct lane_columns {
    uint32_t x[4];
    __device__ __forceinline__ void load(const window_step *at, int lane) { load_now(x, at->column + lane / 8 * 4); }
};

/* 16 rows of D numbers in shared memory.  Pieces of 16 bytes change places within their row, so that those of one number in eight rows lie in different
 * banks, and so do two neighbouring ones of crossed rows. */
template <int D> struct staged {
    static constexpr int row_bytes = 2 * D, bytes = height * row_bytes, lanes = D == 32 ? 4 : 8, at_once = 32 / lanes, pieces = D / 8 / lanes;
    static constexpr int loads = step / at_once;
    static __device__ __forceinline__ int shuffled(int row) { return (D == 32 ? row / 2 % 4 : row % 8) ^ row / 8; }
    static __device__ __forceinline__ int offset(int row, int piece) { return row * row_bytes + (piece ^ shuffled(row)) * 16; }
    /* Crossed: piece 2k + 1 of the first eight rows and piece 2k of the others have changed places. */
    static __device__ __forceinline__ int crossed_offset(int row, int piece) { return offset(row % 8 + piece % 2 * 8, piece / 2 * 2 + row / 8); }
    /* Of four matrices of eight rows and 16 bytes, that are read at once: pieces 2k and 2k + 1 of the first rows, then of the others; for k xor 32 k. */
    static __device__ __forceinline__ int matrix_offset(int lane) { return offset(lane / 16 * 8 + lane % 8, lane / 8 % 2); }
};

/* Q's rows, crossed: matrices come in the order of a first operand. */
template <int D, bool Whole> __device__ __forceinline__ void copy_queries(unsigned char *to, const window_args &a, int64_t row, int head, int lane)
{
    typedef staged<D> s;
#pragma unroll
    for (int e = 0; e < s::loads; e++) {
        const int r = s::at_once * e + lane / s::lanes;
        const bool is_row = row + r < a.nrows;
        const char *from = a.q.data + (is_row ? row + r : row) * a.q.ld + head * a.q.stride;
#pragma unroll
        for (int h = 0; h < s::pieces; h++) {
            const int piece = s::lanes * h + lane % s::lanes;
            cp_async_cached(to + s::crossed_offset(r, piece), from + 16 * piece, is_row && is_there<Whole>(a, 8 * piece));
        }
    }
}

/* What a lane copies of K and V: its column is number `number` of the step, further ones 4 or 8 after each other; columns 2t and 2t + 1 of the scores of
 * block n are numbers 8 n + t and 8 n + 4 + t, and rows lie in the order of the scores.  At offset `own` its first piece, of crossed rows at `crossed`. */
template <int D> struct lane_copies {
    typedef staged<D> s;
    int number, own, crossed;
    __device__ __forceinline__ explicit lane_copies(int lane)
    {
        const int row = s::lanes == 8 ? lane / 8 * 2 : lane / 4, piece = lane % s::lanes;
        number = s::lanes == 8 ? lane / 8 : lane / 8 + lane / 4 % 2 * 4;
        own = s::offset(row, piece), crossed = s::crossed_offset(row, piece);
        number = keep_number(number), own = keep_number(own), crossed = keep_number(crossed);
    }
    /* Rows of K, or of V, crossed, of which `left` are there.  base: this lane's 16 bytes of row 0. */
    template <bool Whole, bool Crossed>
    __device__ __forceinline__ void copy(unsigned char *to, const window_args &a, const char *base, uint32_t ld, const lane_columns &columns, int left,
                                         int lane) const
    {
        const int there = left - number;
#pragma unroll
        for (int e = 0; e < s::loads; e++) {
            const int low = s::lanes == 8 ? e % 2 : 0, half = s::lanes == 8 ? e / 2 : e;
            const uint32_t column = s::lanes == 8 ? columns.x[e] : lane / 4 % 2 ? columns.x[(2 * e + 1) % 4] : columns.x[2 * e % 4];
            const char *from = advance(base, column, ld);
            const int at = ((Crossed ? crossed : own) ^ (low ^ half) * 16) + low * s::row_bytes + (Crossed ? 0 : half * 8 * s::row_bytes);
#pragma unroll
            for (int h = 0; h < s::pieces; h++)
                cp_async_cached(to + at + 16 * s::lanes * h, from + 16 * s::lanes * h,
                                there > 16 / s::loads * e && is_there<Whole>(a, 8 * (s::lanes * h + lane % s::lanes)));
        }
    }
};

// ---- A step ----

/* Of a lane: bit 4 (e / 2) + 2 n + e % 2 for score e of block n. */
struct step_bits {
    uint32_t has;
    __device__ __forceinline__ float keep(float x, int n, int e) const { return score_if(x, has & 1u << (e / 2 * 4 + 2 * n + e % 2)); }
};

/* dot[h][n][e]: of head h and block n, as an MMA has it.  q, k: Q's and K's rows.  own: staged<D>::matrix_offset. */
template <class T, int D, int H>
__device__ __forceinline__ void multiply_rows(float (&dot)[H][2][4], shared_place q, shared_place k, int own)
{
    constexpr int each = D / 16 / H;
    memset(dot, 0, sizeof dot);
#pragma unroll
    for (int j = 0; j < D / 16; j++) {
        uint32_t from[4], to[4];
        load_matrices<false>(from, q + (own ^ j * 32));
        load_matrices<false>(to, k + (own ^ j * 32));
#pragma unroll
        for (int n = 0; n < 2; n++) {
            const uint32_t b[2] = {to[2 * n], to[2 * n + 1]};
            mma_m16n8k16_half<is_bf16<T>>(dot[j / each][n], from, b);
        }
    }
}

/* Weights relative to the references, 0 without an entry, and what those of rows g and g + 8 add up to. */
template <int D, int H>
__device__ __forceinline__ void find_weights(float (&weight)[2][4], float (&total)[2], const float (&dot)[2][4], const window_state<D, H> &s, int h,
                                             const step_bits &bits, float scale)
{
#pragma unroll
    for (int n = 0; n < 2; n++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            weight[n][e] = exp2_of(bits.keep(fmaf(dot[n][e], scale, -s.most[h][e / 2]), n, e));
#pragma unroll
    for (int r = 0; r < 2; r++)
        total[r] = (weight[0][2 * r] + weight[0][2 * r + 1]) + (weight[1][2 * r] + weight[1][2 * r + 1]);
}

/* Dot products become weights.  What is not a number stays so, and a row whose scores are all -Inf gets such weights: both are computed again. */
template <int D, int H>
__device__ __forceinline__ void weigh(float (&weight)[2][4], const float (&dot)[2][4], window_state<D, H> &s, int h, const step_bits &bits, float scale)
{
    float total[2];
    find_weights(weight, total, dot, s, h, bits, scale);
    if (__any_sync(~0u, fmaxf(total[0], total[1]) > most_weight)) {
        raise(s, h, dot, bits, scale);
        find_weights(weight, total, dot, s, h, bits, scale);
    }
    s.sum[h][0] += total[0], s.sum[h][1] += total[1];
}

/* v: V's rows.  own: staged<D>::matrix_offset. */
template <class T, int D, int H>
__device__ __forceinline__ void add_values(window_state<D, H> &s, const split_weights (&weights)[H], shared_place v, int own)
{
#pragma unroll
    for (int j = 0; j < D / 16; j++) {
        uint32_t x[4];
        load_matrices<true>(x, v + (own ^ j * 32));
        const int c = j / 2, h = c / s.each;
#pragma unroll
        for (int k = 0; k < 2; k++) {
            const uint32_t b[2] = {x[2 * k], x[2 * k + 1]};
            mma_m16n8k16_half<is_bf16<T>>(s.value[c][j % 2 * 2 + k], weights[h].low, b);
            mma_m16n8k16_half<is_bf16<T>>(s.value[c][j % 2 * 2 + k], weights[h].high, b);
        }
    }
}

/* Steps of the items before number k, at least, of which the first has block `block`: no scan is needed. */
__host__ __device__ __forceinline__ int64_t steps_before(int64_t block, int64_t k) { return (block + k) / 2; }

template <class T, int D, int H, bool Whole> __device__ __forceinline__ void walk(window_state<D, H> &s, const window_args &a, const place &p)
{
    unsigned char *q_rows = dynamic_shared(), *k_rows = q_rows + staged<D>::bytes, *v_rows = k_rows + staged<D>::bytes;
    const shared_place q = shared_place_of(q_rows), k = shared_place_of(k_rows), v = shared_place_of(v_rows);
    const lane_copies<D> copies(p.lane);
    const int own = 16 * (p.lane % staged<D>::lanes), matrix = keep_number(staged<D>::matrix_offset(p.lane));
    const char *k_base = keep_address(a.k.data + p.head * a.k.stride + own), *v_base = keep_address(a.v.data + p.head * a.v.stride + own);
    const window_step *at = a.step + steps_before(p.item.block, p.number); // some past the last may be read, but not followed
    lane_columns columns;
    if (p.item.count == 0)
        return;
    columns.load(at, p.lane);
    uint32_t has = load_byte_now(at->has + p.lane), next_has = load_byte_now(at[1].has + p.lane);
    copy_queries<D, Whole>(q_rows, a, p.row, p.head, p.lane);
    copies.template copy<Whole, false>(k_rows, a, k_base, uint32_t(a.k.ld), columns, p.item.count, p.lane);
    cp_async_commit();
    copies.template copy<Whole, true>(v_rows, a, v_base, uint32_t(a.v.ld), columns, p.item.count, p.lane);
    cp_async_commit();
    columns.load(at + 1, p.lane);
    for (int left = p.item.count;; left -= step, at++) {
        float dot[H][2][4];
        split_weights weights[H];
        cp_async_wait<1>();
        __syncwarp();
        multiply_rows<T, D, H>(dot, q, k, matrix);
        __syncwarp();
        const uint32_t later = load_byte_now(at[2].has + p.lane); // brings the columns, too
        if (left > step)
            copies.template copy<Whole, false>(k_rows, a, k_base, uint32_t(a.k.ld), columns, left - step, p.lane);
        cp_async_commit();
#pragma unroll
        for (int h = 0; h < H; h++) {
            float weight[2][4];
            weigh(weight, dot[h], s, h, step_bits{has}, a.scale);
            weights[h].template set<T>(weight);
        }
        cp_async_wait<1>();
        __syncwarp();
        add_values<T>(s, weights, v, matrix);
        if (left <= step)
            return;
        __syncwarp();
        copies.template copy<Whole, true>(v_rows, a, v_base, uint32_t(a.v.ld), columns, left - step, p.lane);
        cp_async_commit();
        columns.load(at + 2, p.lane);
        has = next_has, next_has = later;
    }
}

// ---- What an item found ----

/* x[w] of lane t becomes x[t] of lane w, of four neighbouring lanes: columns 8 w + 2 t and the next, as an MMA leaves them, those of window_state. */
__device__ __forceinline__ void turn_columns(float (&x)[4][4], int t)
{
#pragma unroll
    for (int by = 1; by <= 2; by *= 2)
#pragma unroll
        for (int low = 0; low < 4; low++) {
            if (low & by)
                continue;
#pragma unroll
            for (int k = 0; k < 4; k++) {
                float &mine = x[low][k], &other = x[low + by][k];
                const float sent = __shfl_xor_sync(~0u, t & by ? mine : other, by);
                if (t & by)
                    mine = sent;
                else
                    other = sent;
            }
        }
}

// ---- Kernels ----

/* Warps that a multiprocessor should hold.  Measured: fewer wait longer, more spill registers. */
template <int D, int H> constexpr int warps_held = H == 2 ? 16 : D == 64 ? 20 : 24;

/* A warp a block: items are of very different sizes, and what the longest of a block leaves idle is lost. */
template <class T, int D, int H, bool Whole>
__global__ void __launch_bounds__(32, warps_held<D, H>) attention_staged(const __grid_constant__ window_args a)
{
    const place p = find_place<H>(a, blockIdx.x);
    window_state<D, H> s;
    s.clear();
    walk<T, D, H, Whole>(s, a, p);
#pragma unroll
    for (int c = 0; c < D / 32; c++)
        turn_columns(s.value[c], p.t);
    leave<T>(a, p, s);
}

/* Of the step of an item that begins at column `at`: the column of a lane's word, and the lane's bits. */
__device__ __forceinline__ void fill_step(window_step *to, const window_args &a, const window_item &item, int at, int lane)
{
    const int g = lane / 4, t = lane % 4, number = at + 4 * t + g;
    if (lane < step)
        to->column[lane] = a.column[item.first + (number < item.count ? number : item.count - 1)];
    uint32_t has = 0;
    for (int k = 0; k < 8; k++) {
        const int column = at + k % 4 * 4 + t, row = g + k / 4 * 8;
        if (column < item.count)
            has |= (a.mask[4 * (item.block + column / 8) + row / 4] >> (row % 4 * 8 + column % 8) & 1) << k;
    }
    to->has[lane] = uint8_t(has);
}

/* A block for each item. */
__global__ void __launch_bounds__(threads) fill_steps(window_step *steps, const __grid_constant__ window_args a)
{
    const window_item item = a.item[blockIdx.x];
    window_step *to = steps + steps_before(item.block, blockIdx.x);
    for (int at = int(threadIdx.x / 32) * step; at < item.count; at += warps * step)
        fill_step(to + at / step, a, item, at, int(threadIdx.x % 32));
}

template <class T, int D, int H> void launch_items(const window_args &a, void *stream)
{
    const bool whole = a.together == D;
    auto kernel = whole ? attention_staged<T, D, H, true> : attention_staged<T, D, H, false>;
    TSR_LAUNCH(kernel, unsigned(a.nitems * (a.heads / H)), 32, 3 * staged<D>::bytes, stream, a);
}

} // namespace

tsr_status attention_rows::make_window_steps(void **steps, const window_args &a, int64_t nblocks, void *stream)
{
    const int64_t count = steps_before(nblocks, a.nitems) + 3; // two past the last are read
    const tsr_status status = tsr_cuda_malloc(steps, size_t(count) * sizeof(window_step), stream);
    if (status != TSR_OK)
        return status;
    TSR_LAUNCH(fill_steps, unsigned(a.nitems), threads, 0, stream, static_cast<window_step *>(*steps), a);
    return launch_status();
}

template <class T> tsr_status attention_rows::launch_staged(const window_args &a, void *stream)
{
    if (a.together > a.width)
        launch_items<T, 64, 2>(a, stream);
    else if (a.width <= 32)
        launch_items<T, 32, 1>(a, stream);
    else
        launch_items<T, 64, 1>(a, stream);
    return launch_status();
}

template tsr_status attention_rows::launch_staged<__half>(const window_args &a, void *stream);
template tsr_status attention_rows::launch_staged<__nv_bfloat16>(const window_args &a, void *stream);
