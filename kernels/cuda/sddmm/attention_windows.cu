// Attention over windows: making them, the choice between its forms by width, and the form for 65 to 128 columns, in registers.
//
// K's rows are fetched once for all rows of the window, 16 bytes a lane, and lie in registers as the MMA wants them, because the order of the
// products in a dot product is free: a lane's 8 elements of K meet the same 8 of Q.  V's are fetched as whole lines, neighbouring lanes having
// neighbouring bytes of one row, and turned by movmatrix: fetched as the MMA wants them, eight neighbouring lanes would touch four lines, and the
// first cache takes a line at a time.  K's rows of the next step are fetched as soon as the scores are known, V's as soon as they are added: while one
// is computed with, the other is on its way.  Slots after the last column have that column and no entries.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/sddmm/attention_windows.cuh"

namespace {

using namespace attention_rows;

constexpr int most_staged = 64; // columns of a head that go by shared memory (attention_windows_staged.cu)
constexpr int D = 128;          // columns here
constexpr float room = 8;       // how far a score may be above its row's reference, as a power of 2

typedef window_state<D, 1> item_state;

// ---- Rows of Q, K and V ----

/* Of a block's eight slots, that of column `column` of the scores. */
__device__ __forceinline__ constexpr int slot_of(int column) { return column / 2 + column % 2 * 4; }

/* 16 bytes, or 0. */
__device__ __forceinline__ void load_words(uint32_t (&x)[4], const char *at, bool valid)
{
    if (valid)
        load_here(x, at);
    else
        memset(x, 0, sizeof x);
}

/* Q's rows g and g + 8: a lane has elements 32 j + 8 t to 32 j + 8 t + 7 of each, as first operands of MMAs.  They lie in shared memory, where each
 * lane reads what it has written: registers are few. */
struct query_rows {
    static constexpr size_t shared_bytes = 32 * D;
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
                memcpy(static_cast<void *>(mine + 32 * (2 * j + part)), words, sizeof words);
            }
        }
    }
    /* Number k: elements 32 (k / 2) + 8 t + 4 (k % 2) and the next three. */
    __device__ __forceinline__ void fetch(uint32_t (&words)[4], int k) const { load_shared<4>(words, place + 512 * k); }
};

/* K's rows of slots g and g + 8 of a step, in the order of the scores. */
template <bool Whole> struct key_rows {
    uint32_t x[2][D / 32][4];
    /* base: this lane's 16 bytes of row 0.  columns: those of the slots, a lane each. */
    __device__ __forceinline__ void load(const window_args &a, const char *base, uint32_t columns, int g, int t)
    {
#pragma unroll
        for (int n = 0; n < 2; n++) {
            const char *row = advance(base, __shfl_sync(~0u, columns, 8 * n + slot_of(g)), uint32_t(a.k.ld));
#pragma unroll
            for (int j = 0; j < D / 32; j++)
                load_words(x[n][j], row + 64 * j, is_there<Whole>(a, 32 * j + 8 * t));
        }
    }
};

/* V's rows of the slots of a step: `lanes` lanes for each, 16 bytes a lane, `pieces` times. */
template <bool Whole> struct value_rows {
    static constexpr int lanes = 8, at_once = 32 / lanes, pieces = D / 8 / lanes, loads = step / at_once;
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
    /* As fragment() wants them.  What is turned has one row twice, so that a lane gets two columns of slot t, and from the next load
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
        interleave();
    }
    /* Of 32 columns from 32 c on: 8 (g / 2) + 2 w + g % 2, for the slots of columns 2t and 2t + 1 of the scores of both blocks. */
    __device__ __forceinline__ void fragment(uint32_t (&b)[2], int c, int w) const
    {
        b[0] = x[c % 2][c / 2][w];
        b[1] = x[loads / 2 + c % 2][c / 2][w];
    }
};

// ---- A step ----

/* Which of its scores a lane's step has entries for: those of block n, rows g and g + 8. */
struct entry_bits {
    uint32_t word[2][2], first; // first: the bit of row g and the lane's first column
    /* mask: of the step's first block, from the word of row g on.  count: columns from there on. */
    __device__ __forceinline__ void load(const uint32_t *mask, int count)
    {
#pragma unroll
        for (int n = 0; n < 2; n++)
#pragma unroll
            for (int half = 0; half < 2; half++)
                word[n][half] = 8 * n < count ? __ldg(mask + 4 * n + 2 * half) : 0;
    }
    /* x, of score e of block n, or -Inf. */
    __device__ __forceinline__ float keep(float x, int n, int e) const { return (word[n][e / 2] & first << slot_of(e % 2)) != 0 ? x : -INFINITY; }
};

/* dot[n][e]: of block n, as an MMA has it. */
template <class T, bool Whole>
__device__ __forceinline__ void multiply_rows(float (&dot)[2][4], const query_rows &q, const key_rows<Whole> &keys)
{
    memset(dot, 0, sizeof dot);
#pragma unroll
    for (int k = 0; k < D / 16; k++) {
        uint32_t from[4];
        q.fetch(from, k);
#pragma unroll
        for (int n = 0; n < 2; n++) {
            const uint32_t to[2] = {keys.x[n][k / 2][2 * (k % 2)], keys.x[n][k / 2][2 * (k % 2) + 1]};
            mma_m16n8k16_half<is_bf16<T>>(dot[n], from, to);
        }
    }
}

/* above[n][e]: scores relative to the references; -Inf without an entry. */
__device__ __forceinline__ void find_above(float (&above)[2][4], const float (&dot)[2][4], const item_state &s, const entry_bits &bits, float scale)
{
#pragma unroll
    for (int n = 0; n < 2; n++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            above[n][e] = bits.keep(fmaf(dot[n][e], scale, -s.most[0][e / 2]), n, e);
}

/* Dot products become weights.  What is not a number stays so, and a row whose scores are all -Inf gets such weights: both are computed again. */
__device__ __forceinline__ void weigh(float (&weight)[2][4], item_state &s, const entry_bits &bits, float scale)
{
    float above[2][4];
    find_above(above, weight, s, bits, scale);
    if (__any_sync(~0u, fmaxf(largest(above, 0), largest(above, 1)) > room)) {
        raise(s, 0, weight, bits, scale);
        find_above(above, weight, s, bits, scale);
    }
#pragma unroll
    for (int n = 0; n < 2; n++)
#pragma unroll
        for (int e = 0; e < 4; e++) {
            weight[n][e] = exp2_of(above[n][e]);
            s.sum[0][e / 2] += weight[n][e];
        }
}

template <class T, bool Whole> __device__ __forceinline__ void add_values(item_state &s, const float (&weight)[2][4], const value_rows<Whole> &v)
{
    split_weights weights;
    weights.set<T>(weight);
#pragma unroll
    for (int c = 0; c < D / 32; c++)
#pragma unroll
        for (int w = 0; w < 4; w++) {
            uint32_t b[2];
            v.fragment(b, c, w);
            mma_m16n8k16_half<is_bf16<T>>(s.value[c][w], weights.low, b);
            mma_m16n8k16_half<is_bf16<T>>(s.value[c][w], weights.high, b);
        }
}

/* What a warp walks over. */
template <bool Whole> struct item_columns {
    const char *k, *v; // this lane's 16 bytes of row 0 of the head
    const uint32_t *column, *mask;
    int count;
    __device__ __forceinline__ item_columns(const window_args &a, const place &p)
        : k(keep_address(a.k.data + p.head * a.k.stride + 16 * p.t)),
          v(keep_address(a.v.data + p.head * a.v.stride + 16 * (p.lane % value_rows<Whole>::lanes))), column(a.column + p.item.first),
          mask(keep_address(a.mask + 4 * p.item.block + p.g / 4)), count(p.item.count)
    {
    }
    /* Column number `at`; past the end the last. */
    __device__ __forceinline__ uint32_t column_at(int at) const { return __ldg(advance(column, uint32_t(at < count ? at : count - 1), 4)); }
};

template <class T, bool Whole> __device__ __forceinline__ void walk(item_state &s, const window_args &a, const place &p, const query_rows &q)
{
    const item_columns<Whole> of(a, p);
    const int slot = p.lane % step;
    key_rows<Whole> k;
    value_rows<Whole> v;
    entry_bits bits;
    bits.first = 1u << (p.g % 4 * 8 + slot_of(2 * p.t));
    if (of.count == 0)
        return;
    uint32_t next = of.column_at(slot);
    k.load(a, of.k, next, p.g, p.t);
    v.load(a, of.v, next, p.lane);
    bits.load(of.mask, of.count);
    next = of.column_at(step + slot);
    for (int at = 0; at < of.count; at += step) {
        float weight[2][4];
        multiply_rows<T>(weight, q, k);
        k.load(a, of.k, next, p.g, p.t);
        weigh(weight, s, bits, a.scale);
        v.turn();
        add_values<T>(s, weight, v);
        v.load(a, of.v, next, p.lane);
        bits.load(advance(of.mask, uint32_t(at + step), 2), of.count - at - step);
        next = of.column_at(at + 2 * step + slot);
    }
}

// ---- Kernels ----

/* A warp a block: items are of very different sizes, and what the longest of a block leaves idle is lost.  12: measured; more hide more of the latency,
 * with fewer registers for each. */
template <class T, bool Whole> __global__ void __launch_bounds__(32, 12) attention_windows(const __grid_constant__ window_args a)
{
    const place p = find_place<1>(a, blockIdx.x);
    query_rows q;
    item_state s;
    s.clear();
    q.load(a, p.row, p.head, p.g, p.t);
    walk<T, Whole>(s, a, p, q);
    leave<T>(a, p, s);
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

template <class T> tsr_status launch_registers(const window_args &a, void *stream)
{
    auto kernel = a.width == D ? attention_windows<T, true> : attention_windows<T, false>;
    TSR_LAUNCH(kernel, unsigned(a.nitems * a.heads), 32, query_rows::shared_bytes, stream, a);
    return launch_status();
}

template <class T> tsr_status launch(const window_args &a, void *stream)
{
    const tsr_status status = a.step ? launch_staged<T>(a, stream) : launch_registers<T>(a, stream);
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
    a.step = static_cast<const window_step *>(s->steps);
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
 * must be little beside what it reads: items of 16 blocks took twice as long on ddi (one head of 128, an H100).  256 a
 * processor is what was measured of the staged form; in registers more windows that are cut cost more than evenness gains (docs/kernels-sddmm.md). */
int64_t most_blocks(const tsr_windows &w, const tsr_attention_operands *like, const tsr_cuda_device *device)
{
    const int64_t least = 64, items = like->q.width <= most_staged ? 256 : 64; // a processor
    const int64_t even = w.nblocks * like->q.heads / (device->sms * items) + 1;
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

extern "C" tsr_status tsr_cuda_attention_windows_make(tsr_cuda_attention_windows *out, const tsr_cuda_csr *s, const tsr_attention_operands *like,
                                                      const tsr_cuda_device *device, void *stream)
{
    *out = {};
    tsr_source source = {};
    source.nrows = s->nrows, source.ncols = s->ncols, source.nvals = s->nvals, source.p = s->p, source.i = s->i;
    tsr_status status = tsr_cuda_make_bmat(&out->blocks, &source, height, stream);
    if (status != TSR_OK)
        return status;
    status = tsr_cuda_make_work(&out->work, &out->blocks.w, out->blocks.mask, most_blocks(out->blocks.w, like, device), stream);
    const int64_t count = out->work.nitems;
    if (status == TSR_OK)
        status = tsr_cuda_malloc(&out->items, size_t(count + 1) * sizeof(window_item), stream);
    if (status == TSR_OK && count > 0) {
        TSR_LAUNCH(list_items, unsigned((count + threads - 1) / threads), threads, 0, stream, static_cast<window_item *>(out->items), out->work, out->blocks.w);
        status = launch_status();
    }
    if (status == TSR_OK && count > 0 && like->q.width <= most_staged)
        status = make_window_steps(&out->steps, arguments_of(out, like, nullptr), out->blocks.w.nblocks, stream);
    if (status != TSR_OK)
        tsr_cuda_attention_windows_free(out, stream);
    return status;
}

extern "C" void tsr_cuda_attention_windows_free(tsr_cuda_attention_windows *s, void *stream)
{
    if (s->blocks.w.height) {
        tsr_cuda_free(s->steps, stream);
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
