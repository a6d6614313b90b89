// What attention and its gradients share: rows held by lanes, and how many of them take a row.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/common/semiring.cuh"

#include <cfloat>

namespace attention_rows {

constexpr int threads = 256, warps = threads / 32;
constexpr float log2_of_e = 1.44269504088896340736f;

struct head_array {
    char *data;
    int64_t ld, stride; // bytes
};

/* The pattern, and the long rows of it that are cut into parts. */
struct pattern_args {
    const int64_t *p;
    const uint32_t *i;
    const tsr_cuda_attention_part *parts;
    int64_t nparts, nrows, most;
};

static inline pattern_args pattern_of(const tsr_cuda_csr *s, const tsr_cuda_attention_cut *cut)
{
    return {s->p, s->i, cut->parts, cut->nparts, s->nrows, cut->most};
}

// ---- Elements ----

__device__ __forceinline__ float widen(float x) { return x; }
__device__ __forceinline__ float widen(__half x) { return __half2float(x); }
__device__ __forceinline__ float widen(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ __forceinline__ void narrow(float &to, float x) { to = x; }
__device__ __forceinline__ void narrow(__half &to, float x) { to = __float2half_rn(x); }
__device__ __forceinline__ void narrow(__nv_bfloat16 &to, float x) { to = __float2bfloat16_rn(x); }

/* A lane's pieces of one row: number l, l + L, ... */
template <class T, int V, int C, int L> struct lane_row {
    T x[C][V];
    __device__ __forceinline__ void load(const char *row, int l, int pieces, bool valid)
    {
#pragma unroll
        for (int c = 0; c < C; c++) {
            if (valid && c * L + l < pieces)
                load_vector<T, V>(x[c], row + (c * L + l) * int(V * sizeof(T)));
            else
                memset(static_cast<void *>(x[c]), 0, sizeof x[c]);
        }
    }
};

template <class T, int V, int C, int L> __device__ __forceinline__ float dot(const float (&q)[C * V], const lane_row<T, V, C, L> &k)
{
    float sum = 0;
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
        for (int j = 0; j < V; j++)
            sum += q[c * V + j] * widen(k.x[c][j]);
    return sum;
}

/* Over the L lanes of a group, of U entries. */
template <int L, int U> __device__ __forceinline__ void add_lanes(float (&x)[U])
{
#pragma unroll
    for (int by = L / 2; by > 0; by /= 2)
#pragma unroll
        for (int u = 0; u < U; u++)
            x[u] += __shfl_xor_sync(~0u, x[u], by);
}

// ---- Online softmax ----

/* Relative to the largest score `most`, in powers of 2; -Inf: there was none yet. */
template <int N> struct softmax_state {
    float most, sum, value[N];
};

template <int N> __device__ __forceinline__ void clear(softmax_state<N> &s)
{
    s.most = -INFINITY, s.sum = 0;
#pragma unroll
    for (int k = 0; k < N; k++)
        s.value[k] = 0;
}

/* The logarithm of the sum of a row's exp (score); none: -Inf. */
__device__ __forceinline__ float lse_of(float most, float sum, bool empty) { return empty ? -INFINITY : (most + log2f(sum)) / log2_of_e; }

/* Where all scores are -Inf, weights are relative to 0: they are 0. */
__device__ __forceinline__ float reference_of(float most) { return most == -INFINITY ? 0.0f : most; }

template <int N> __device__ __forceinline__ void join(softmax_state<N> &s, float other_most, float other_sum, const float (&other)[N])
{
    const float most = fmaxf(s.most, other_most), reference = reference_of(most);
    const float mine = exp2f(s.most - reference), theirs = exp2f(other_most - reference);
    s.most = most;
    s.sum = s.sum * mine + other_sum * theirs;
#pragma unroll
    for (int k = 0; k < N; k++)
        s.value[k] = s.value[k] * mine + other[k] * theirs;
}

/* The largest score of a part that has entries: a number also where all scores are -Inf. */
__device__ __forceinline__ float most_of_part(float most) { return fmaxf(most, -FLT_MAX); }

/* What parts of a row found: the largest score (-Inf: no entry), the sum, `width` values each, `step` numbers apart. */
struct part_list {
    const float *first;
    int64_t step, count;
};

/* o[width) and *lse by a warp, element by element, in the order of the parts.  No part has an entry: zeros.  The largest score of all is known first,
 * so that no part waits for the one before. */
template <class T> __device__ __forceinline__ void join_row(T *o, float *lse, const part_list &parts, int width, int lane)
{
    float most = -INFINITY, sum = 0;
    for (int64_t k = lane; k < parts.count; k += 32)
        most = fmaxf(most, parts.first[k * parts.step]);
#pragma unroll
    for (int by = 16; by > 0; by /= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, by));
    const float reference = reference_of(most);
    for (int c = lane; c < width || c == lane; c += 32) {
        float value = 0;
        sum = 0;
#pragma unroll 8
        for (int64_t k = 0; k < parts.count; k++) {
            const float *at = parts.first + k * parts.step;
            const float weight = exp2f(at[0] - reference);
            sum += at[1] * weight;
            value += (c < width ? at[2 + c] : 0.0f) * weight;
        }
        if (c < width)
            narrow(o[c], most == -INFINITY ? 0.0f : value / sum);
    }
    if (lse && lane == 0)
        *lse = lse_of(most, sum, false);
}

// ---- Which row, which entries ----

/* What a group of lanes computes: entries [begin, end) of a row, for a head.  rank: of the groups that share it. */
struct share {
    int64_t begin, end, row, number; // number: of the part and head
    int head, rank, l;
    bool skipped, is_part;
};

template <int L> __device__ __forceinline__ share find_share(const pattern_args &a, int heads, int groups)
{
    constexpr int all = 32 / L;
    const int lane = int(threadIdx.x % 32), group = lane / L;
    const int64_t warp = int64_t(blockIdx.x) * warps + threadIdx.x / 32;
    share s = {};
    const int64_t at = warp * (all / groups) + group / groups, queries = a.nrows + a.nparts;
    // A warp of one row and head: head by head, so that rows that are used often stay in the cache.
    const bool head_by_head = groups == all;
    const bool is_there = at < queries * heads;
    s.head = !is_there ? 0 : int(head_by_head ? at / queries : at % heads);
    s.rank = group % groups;
    s.l = lane % L;
    const int64_t query = !is_there ? queries : head_by_head ? at % queries : at / heads;
    s.number = query * heads + s.head;
    s.is_part = query < a.nparts;
    s.row = s.is_part ? a.parts[query].row : query - a.nparts;
    if (s.row < a.nrows) {
        s.begin = a.p[s.row] + (s.is_part ? a.parts[query].number * a.most : 0);
        s.end = a.p[s.row + 1];
    }
    const int64_t n = s.end - s.begin;
    s.skipped = s.row >= a.nrows || (!s.is_part && n > a.most);
    s.end = s.skipped ? s.begin : s.begin + (n < a.most ? n : a.most);
    return s;
}

/* The next U entries of a group are at, at + step, ...; 0 past the end. */
template <int U> __device__ __forceinline__ void load_columns(uint32_t (&column)[U], const uint32_t *i, int64_t at, int step, int64_t end)
{
#pragma unroll
    for (int u = 0; u < U; u++)
        column[u] = at + u * step < end ? __ldg(i + at + u * step) : 0;
}

// ---- Shapes ----

/* How a row is held: V elements a piece, L lanes, C pieces a lane; L = 0: it is too wide. */
struct shape {
    int v, l, c;
};

static inline size_t size_of_number(tsr_type type) { return type == TSR_FP32 ? 4 : 2; }

static inline shape shape_of(const tsr_attention_operands *o)
{
    const int64_t size = int64_t(size_of_number(o->q.type)), v = 16 / size;
    const tsr_heads *all[] = {&o->q, &o->k, &o->v, &o->o, &o->grad_o, &o->grad_q, &o->grad_k, &o->grad_v};
    bool vectors = o->q.width % v == 0;
    for (const tsr_heads *h : all)
        vectors = vectors && h->ld % v == 0 && h->head_stride % v == 0 && reinterpret_cast<uintptr_t>(h->data) % 16 == 0;
    if (!vectors)
        return {1, o->q.width <= 256 ? 32 : 0, o->q.width <= 128 ? 4 : 8};
    const int64_t pieces = o->q.width / v;
    return {int(v), pieces <= 4 ? 4 : pieces <= 8 ? 8 : pieces <= 16 ? 16 : pieces <= 64 ? 32 : 0, pieces <= 32 ? 1 : 2};
}

static inline int power_below(int64_t n, int most)
{
    int power = 1;
    while (power < most && 2 * power <= n)
        power *= 2;
    return power;
}

/* Groups of lanes for one row and head: heads first, then as many as have entries. */
static inline int groups_of(const tsr_cuda_csr *s, int64_t heads, const shape &how, int unroll, bool whole_warp)
{
    const int all = 32 / how.l;
    const int64_t degree = s->nrows > 0 ? s->nvals / s->nrows : 0;
    const int side_by_side = whole_warp ? 1 : power_below(heads & -heads, all);
    const int long_enough = whole_warp ? all : power_below((degree + unroll - 1) / unroll, all);
    return long_enough < all / side_by_side ? long_enough : all / side_by_side;
}

static inline head_array bytes_of(const tsr_heads &h)
{
    const int64_t size = int64_t(size_of_number(h.type));
    return {static_cast<char *>(h.data), h.ld * size, h.head_stride * size};
}

static inline bool fits(const tsr_cuda_csr *s, const tsr_attention_operands *o)
{
    const int64_t most = int64_t(1) << 31;
    bool lds = true;
    for (const tsr_heads *h : {&o->k, &o->v, &o->q, &o->grad_o})
        lds = lds && bytes_of(*h).ld < most;
    return shape_of(o).l > 0 && lds && o->q.heads < most && o->q.heads * (2 * s->nrows + s->nvals / 64 + 1) < 8 * most;
}

static inline unsigned blocks_of(const pattern_args &a, int heads, int lanes, int groups)
{
    const int64_t queries = (a.nrows + a.nparts) * heads, together = 32 / lanes / groups;
    return unsigned(((queries + together - 1) / together + warps - 1) / warps);
}

} // namespace attention_rows
