// Attention over a pattern by row, scores and weights kept in registers: O = softmax (scale Q K' at the entries) V.
//
// L lanes hold a row of Q and O, 16 bytes each (of other rows one element each), C times.  They fetch U entries' rows of K and V at once, and
// keep the largest score so far, the sum of the weights and the weighted sum of V's rows relative to it (online softmax), so K and V are
// read once and nothing else is stored.  A warp has 32 / L such groups of lanes.  They share a row and head as far as it is long, neighbouring
// heads of one row (whose rows of K and V lie side by side) or rows go to the others.  Groups of one row and head join theirs at the end.
// Rows longer than `most` are cut, and what their parts find is joined by a second kernel.  The same order every time.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/common/arena.cuh"
#include "kernels/cuda/sddmm/attention.cuh"

#include <new>
#include <vector>

namespace {

using namespace attention_rows;

struct attention_args : pattern_args {
    head_array q, k, v, o;
    float *lse, *partial;
    int heads, pieces; // V elements each
    int groups;        // of lanes, for one row and head
    float scale;       // times log2 (e)
};

/* Of the groups of one row and head: all have the same then. */
template <int N, int L> __device__ __forceinline__ void join_groups(softmax_state<N> &s, int groups)
{
    for (int by = L; by < L * groups; by *= 2) {
        float other[N];
        const float most = __shfl_xor_sync(~0u, s.most, by), sum = __shfl_xor_sync(~0u, s.sum, by);
#pragma unroll
        for (int k = 0; k < N; k++)
            other[k] = __shfl_xor_sync(~0u, s.value[k], by);
        join<N>(s, most, sum, other);
    }
}

/* U entries, their scores times log2 (e); -Inf where there is none, and V zero. */
template <class T, int V, int C, int L, int U>
__device__ __forceinline__ void add_entries(softmax_state<C * V> &s, const float (&score)[U], const lane_row<T, V, C, L> (&v)[U])
{
    float most = s.most, weight[U], sum = 0;
#pragma unroll
    for (int u = 0; u < U; u++)
        most = fmaxf(most, score[u]);
    const float reference = reference_of(most), kept = exp2f(s.most - reference);
#pragma unroll
    for (int u = 0; u < U; u++)
        sum += weight[u] = exp2f(score[u] - reference);
    s.most = most;
    s.sum = s.sum * kept + sum;
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
        for (int k = 0; k < V; k++) {
            float x = 0;
#pragma unroll
            for (int u = 0; u < U; u++)
                x += weight[u] * widen(v[u].x[c][k]);
            s.value[c * V + k] = s.value[c * V + k] * kept + x;
        }
}

// ---- One row (or part of one) and head for `groups` groups of lanes ----

template <class T, int V, int C, int L, int U>
__device__ __forceinline__ void walk(softmax_state<C * V> &s, const attention_args &a, const share &mine, const float (&q)[C * V])
{
    const char *k_head = a.k.data + mine.head * a.k.stride, *v_head = a.v.data + mine.head * a.v.stride;
    uint32_t column[U];
    const int step = a.groups;
    int64_t at = mine.begin + mine.rank;
    load_columns(column, a.i, at, step, mine.end);
    while (__any_sync(~0u, at < mine.end)) {
        lane_row<T, V, C, L> k[U], v[U];
        float score[U];
#pragma unroll
        for (int u = 0; u < U; u++)
            k[u].load(advance(k_head, column[u], uint32_t(a.k.ld)), mine.l, a.pieces, at + u * step < mine.end);
#pragma unroll
        for (int u = 0; u < U; u++)
            v[u].load(advance(v_head, column[u], uint32_t(a.v.ld)), mine.l, a.pieces, at + u * step < mine.end);
        const int64_t next = at + U * step;
        load_columns(column, a.i, next, step, mine.end);
#pragma unroll
        for (int u = 0; u < U; u++)
            score[u] = dot<T, V, C, L>(q, k[u]);
        add_lanes<L>(score);
#pragma unroll
        for (int u = 0; u < U; u++)
            score[u] = at + u * step < mine.end ? score[u] * a.scale : -INFINITY;
        add_entries<T, V, C, L, U>(s, score, v);
        at = next;
    }
}

template <class T, int V, int C, int L>
__device__ __forceinline__ void store_row(const attention_args &a, const softmax_state<C * V> &s, const share &mine)
{
    char *to = a.o.data + mine.row * a.o.ld + mine.head * a.o.stride;
    const bool empty = mine.begin == mine.end;
    const int l = mine.l;
#pragma unroll
    for (int c = 0; c < C; c++) {
        T x[V];
#pragma unroll
        for (int k = 0; k < V; k++)
            narrow(x[k], empty ? 0.0f : s.value[c * V + k] / s.sum);
        if (c * L + l < a.pieces)
            store_vector<T, V>(to + (c * L + l) * int(V * sizeof(T)), x);
    }
    if (a.lse && l == 0)
        a.lse[mine.row * a.heads + mine.head] = lse_of(s.most, s.sum, empty);
}

/* A part's: the largest score, the sum, the values. */
template <int V, int C, int L> __device__ __forceinline__ void store_part(const attention_args &a, const softmax_state<C * V> &s, int64_t number, int l)
{
    float *to = a.partial + number * (a.pieces * V + 2);
    if (l == 0) {
        to[0] = most_of_part(s.most);
        to[1] = s.sum;
    }
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
        for (int k = 0; k < V; k++)
            if (c * L + l < a.pieces)
                to[2 + (c * L + l) * V + k] = s.value[c * V + k];
}

template <class T, int V, int C, int L, int U> __global__ void __launch_bounds__(threads) attention(const __grid_constant__ attention_args a)
{
    constexpr int N = C * V;
    const share mine = find_share<L>(a, a.heads, a.groups);
    lane_row<T, V, C, L> loaded;
    loaded.load(a.q.data + (mine.skipped ? 0 : mine.row) * a.q.ld + mine.head * a.q.stride, mine.l, a.pieces, !mine.skipped);
    float q[N];
    softmax_state<N> s;
    clear(s);
#pragma unroll
    for (int k = 0; k < N; k++)
        q[k] = widen(loaded.x[k / V][k % V]);
    walk<T, V, C, L, U>(s, a, mine, q);
    join_groups<N, L>(s, a.groups);
    if (mine.skipped || mine.rank != 0)
        return;
    if (mine.is_part)
        store_part<V, C, L>(a, s, mine.number, mine.l);
    else
        store_row<T, V, C, L>(a, s, mine);
}

/* A warp for each row that was cut, and head. */
template <class T>
__global__ void __launch_bounds__(threads) join_parts(const __grid_constant__ attention_args a, const tsr_cuda_attention_row *rows, int64_t nrows, int width)
{
    const int64_t number = int64_t(blockIdx.x) * warps + threadIdx.x / 32, size = width + 2;
    const int head = int(number % a.heads);
    if (number / a.heads >= nrows)
        return;
    const tsr_cuda_attention_row r = rows[number / a.heads];
    const part_list parts = {a.partial + (int64_t(r.first) * a.heads + head) * size, a.heads * size, r.parts};
    float *lse = a.lse ? a.lse + int64_t(r.row) * a.heads + head : nullptr;
    join_row(reinterpret_cast<T *>(a.o.data + r.row * a.o.ld + head * a.o.stride), lse, parts, width, int(threadIdx.x % 32));
}

// ---- Launches ----

template <class T, int V, int C, int L> tsr_status launch(const attention_args &a, int unroll, void *stream)
{
    auto kernel = unroll == 2 ? attention<T, V, C, L, 2> : unroll == 8 ? attention<T, V, C, L, 8> : attention<T, V, C, L, 4>;
    TSR_LAUNCH(kernel, blocks_of(a, a.heads, L, a.groups), threads, 0, stream, a);
    return launch_status();
}

template <class T> tsr_status launch(const attention_args &a, const shape &how, int unroll, void *stream)
{
    constexpr int V = 16 / int(sizeof(T));
    if (how.v == 1)
        return how.c == 4 ? launch<T, 1, 4, 32>(a, unroll, stream) : launch<T, 1, 8, 32>(a, unroll, stream);
    if (how.c == 2)
        return launch<T, V, 2, 32>(a, unroll, stream);
    switch (how.l) {
    case 4: return launch<T, V, 1, 4>(a, unroll, stream);
    case 8: return launch<T, V, 1, 8>(a, unroll, stream);
    case 16: return launch<T, V, 1, 16>(a, unroll, stream);
    default: return launch<T, V, 1, 32>(a, unroll, stream);
    }
}

template <class T>
tsr_status launch_all(const attention_args &a, const shape &how, const tsr_cuda_attention_cut *cut, int unroll, int width, void *stream)
{
    tsr_status status = launch<T>(a, how, unroll, stream);
    if (status != TSR_OK || cut->nrows == 0)
        return status;
    auto kernel = join_parts<T>;
    TSR_LAUNCH(kernel, unsigned((cut->nrows * a.heads + warps - 1) / warps), threads, 0, stream, a, cut->rows, cut->nrows, width);
    return launch_status();
}

int unroll_of(const shape &how, int variant)
{
    const int wanted = variant % 4;
    return wanted == 1 || how.c == 2 ? 2 : wanted == 2 ? 8 : 4;
}

/* Lists of the rows that are longer than cut->most. */
struct long_rows {
    std::vector<tsr_cuda_attention_part> parts;
    std::vector<tsr_cuda_attention_row> rows;

    long_rows(const std::vector<int64_t> &p, int64_t most)
    {
        for (size_t r = 0; r + 1 < p.size(); r++) {
            const int64_t n = p[r + 1] - p[r], count = (n + most - 1) / most;
            if (n <= most)
                continue;
            rows.push_back({uint32_t(r), uint32_t(parts.size()), uint32_t(count)});
            for (int64_t k = 0; k < count; k++)
                parts.push_back({uint32_t(r), uint32_t(k)});
        }
    }
    tsr_status upload(tsr_cuda_attention_cut *cut, void *stream) const
    {
        Arena arena(stream);
        arena.want(&cut->parts, int64_t(parts.size()));
        arena.want(&cut->rows, int64_t(rows.size()));
        tsr_status status = arena.get();
        if (status == TSR_OK)
            status = tsr_cuda_to_device(cut->parts, parts.data(), parts.size() * sizeof parts[0], stream);
        if (status == TSR_OK)
            status = tsr_cuda_to_device(cut->rows, rows.data(), rows.size() * sizeof rows[0], stream);
        const tsr_status waited = tsr_cuda_wait(stream);
        status = status == TSR_OK ? waited : status;
        if (status != TSR_OK)
            return status;
        cut->nparts = int64_t(parts.size());
        cut->nrows = int64_t(rows.size());
        arena.keep();
        return TSR_OK;
    }
};

constexpr int64_t steps = 64; // of a group, in the longest row that is not cut

} // namespace

extern "C" tsr_status tsr_cuda_attention_cut_rows(tsr_cuda_attention_cut *cut, const tsr_cuda_csr *s, const tsr_attention_operands *like, void *stream)
{
    *cut = {};
    if (!fits(s, like))
        return TSR_DECLINED;
    cut->most = steps * 4 * groups_of(s, like->q.heads, shape_of(like), 4, false);
    try {
        std::vector<int64_t> p(size_t(s->nrows) + 1);
        tsr_status status = tsr_cuda_to_host(p.data(), s->p, p.size() * sizeof p[0], stream);
        const tsr_status waited = tsr_cuda_wait(stream);
        status = status == TSR_OK ? waited : status;
        if (status != TSR_OK)
            return status;
        const long_rows lists(p, cut->most);
        return lists.rows.empty() ? TSR_OK : lists.upload(cut, stream);
    } catch (const std::bad_alloc &) {
        return TSR_OUT_OF_MEMORY;
    }
}

extern "C" void tsr_cuda_attention_cut_free(tsr_cuda_attention_cut *cut, void *stream)
{
    tsr_cuda_free(cut->parts, stream); /* one allocation */
    *cut = {};
}

extern "C" size_t tsr_cuda_attention_bytes(const tsr_cuda_attention_cut *cut, const tsr_attention_operands *like)
{
    return size_t(cut->nparts * like->q.heads * (like->q.width + 2)) * sizeof(float);
}

extern "C" tsr_status tsr_cuda_attention(const tsr_cuda_csr *s, const tsr_cuda_attention_cut *cut, const tsr_attention_operands *operands,
                                         void *partial, int variant)
{
    const tsr_attention_operands *o = operands;
    if (!fits(s, o))
        return TSR_DECLINED;
    if (s->nrows == 0 || o->q.width == 0)
        return TSR_OK;
    const shape how = shape_of(o);
    const int unroll = unroll_of(how, variant);
    attention_args a = {};
    static_cast<pattern_args &>(a) = pattern_of(s, cut);
    a.q = bytes_of(o->q), a.k = bytes_of(o->k), a.v = bytes_of(o->v), a.o = bytes_of(o->o);
    a.lse = o->lse, a.partial = static_cast<float *>(partial);
    a.heads = int(o->q.heads), a.pieces = int(o->q.width / how.v);
    a.groups = groups_of(s, o->q.heads, how, unroll, variant & 4);
    a.scale = float(o->scale) * log2_of_e;
    const int width = int(o->q.width);
    if (o->q.type == TSR_FP32)
        return launch_all<float>(a, how, cut, unroll, width, o->stream);
    return o->q.type == TSR_FP16 ? launch_all<__half>(a, how, cut, unroll, width, o->stream)
                                 : launch_all<__nv_bfloat16>(a, how, cut, unroll, width, o->stream);
}
