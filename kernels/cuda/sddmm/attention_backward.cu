// Gradients of attention over a pattern: one pass over the rows of S for Q, one over its columns for K and V.
//
// With weights P = exp (scale Q K' - lse), and D = the sums of dO .* O over rows:
//     dS = P .* (dO V' - D)    dQ = scale dS K    dK = scale dS' Q    dV = P' dO
// Nothing of the size of S is stored: both passes compute the weights of their entries again.  Who computes what as in attention.cu: a row or
// column keeps its own two rows in registers (of Q and dO, or of K and V) and fetches the two others of every entry.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/sddmm/attention.cuh"

namespace {

using namespace attention_rows;

/* Of a pass by row: own q and do, fetched k and v.  By column: own k and v, fetched q and do. */
struct backward_args : pattern_args {
    head_array own_key, own_value, key, value;
    head_array out, out_value; // without data: not wanted
    const float *lse, *sums;   // sums: D
    float *partial;
    int heads, pieces, groups;
    float scale;
};

// ---- D ----

template <class T> __global__ void __launch_bounds__(threads) sum_rows(float *sums, head_array o, head_array grad, int64_t nrows, int heads, int width)
{
    const int64_t number = int64_t(blockIdx.x) * warps + threadIdx.x / 32, row = number / heads;
    const int head = int(number % heads);
    if (row >= nrows)
        return;
    const T *x = reinterpret_cast<const T *>(o.data + row * o.ld + head * o.stride);
    const T *y = reinterpret_cast<const T *>(grad.data + row * grad.ld + head * grad.stride);
    float sum[1] = {0};
    for (int c = int(threadIdx.x % 32); c < width; c += 32)
        sum[0] += widen(x[c]) * widen(y[c]);
    add_lanes<32>(sum);
    if (threadIdx.x % 32 == 0)
        sums[number] = sum[0];
}

// ---- A pass ----

/* Sums of a row (a column): of dS times the fetched keys and, by column, of P times the fetched dO. */
template <int N, bool Columns> struct gradient {
    float key[N], value[Columns ? N : 1];
};

template <class T, int V, int C, int L>
__device__ __forceinline__ void load_own(float (&x)[C * V], const head_array &from, const share &mine, int pieces)
{
    lane_row<T, V, C, L> loaded;
    loaded.load(from.data + (mine.skipped ? 0 : mine.row) * from.ld + mine.head * from.stride, mine.l, pieces, !mine.skipped);
#pragma unroll
    for (int k = 0; k < C * V; k++)
        x[k] = widen(loaded.x[k / V][k % V]);
}

template <class T, int V, int C, int L, bool Columns>
__device__ __forceinline__ void add_entry(gradient<C * V, Columns> &g, float weight, float difference, const lane_row<T, V, C, L> &key,
    const lane_row<T, V, C, L> &value)
{
#pragma unroll
    for (int k = 0; k < C * V; k++) {
        g.key[k] += difference * widen(key.x[k / V][k % V]);
        if constexpr (Columns)
            g.value[k] += weight * widen(value.x[k / V][k % V]);
    }
}

template <class T, int V, int C, int L, int U, bool Columns>
__device__ __forceinline__ void walk(gradient<C * V, Columns> &g, const backward_args &a, const share &mine)
{
    float own_key[C * V], own_value[C * V];
    load_own<T, V, C, L>(own_key, a.own_key, mine, a.pieces);
    load_own<T, V, C, L>(own_value, a.own_value, mine, a.pieces);
    const char *keys = a.key.data + mine.head * a.key.stride, *values = a.value.data + mine.head * a.value.stride;
    const int64_t own = (mine.skipped ? 0 : mine.row) * a.heads + mine.head;
    const int step = a.groups;
    uint32_t column[U];
    int64_t at = mine.begin + mine.rank;
    load_columns(column, a.i, at, step, mine.end);
    while (__any_sync(~0u, at < mine.end)) {
        lane_row<T, V, C, L> key[U], value[U];
        float score[U], product[U], lse[U], sum[U];
#pragma unroll
        for (int u = 0; u < U; u++) {
            const bool valid = at + u * step < mine.end;
            key[u].load(advance(keys, column[u], uint32_t(a.key.ld)), mine.l, a.pieces, valid);
            value[u].load(advance(values, column[u], uint32_t(a.value.ld)), mine.l, a.pieces, valid);
            const int64_t place = Columns ? int64_t(column[u]) * a.heads + mine.head : own;
            lse[u] = valid ? __ldg(a.lse + place) : 0;
            sum[u] = valid ? __ldg(a.sums + place) : 0;
        }
        const int64_t next = at + U * step;
        load_columns(column, a.i, next, step, mine.end);
#pragma unroll
        for (int u = 0; u < U; u++) {
            score[u] = dot<T, V, C, L>(own_key, key[u]);
            product[u] = dot<T, V, C, L>(own_value, value[u]);
        }
        add_lanes<L>(score);
        add_lanes<L>(product);
#pragma unroll
        for (int u = 0; u < U; u++) {
            const float weight = at + u * step < mine.end ? exp2f((score[u] * a.scale - lse[u]) * log2_of_e) : 0;
            const float difference = at + u * step < mine.end ? weight * (product[u] - sum[u]) : 0;
            add_entry<T, V, C, L, Columns>(g, weight, difference, key[u], value[u]);
        }
        at = next;
    }
}

template <int N, int L, bool Columns> __device__ __forceinline__ void join_groups(gradient<N, Columns> &g, int groups)
{
    for (int by = L; by < L * groups; by *= 2)
#pragma unroll
        for (int k = 0; k < N; k++) {
            g.key[k] += __shfl_xor_sync(~0u, g.key[k], by);
            if constexpr (Columns)
                g.value[k] += __shfl_xor_sync(~0u, g.value[k], by);
        }
}

template <class T, int V, int C, int L> __device__ __forceinline__ void store_row(const head_array &to, const float (&x)[C * V], float scale, const share &mine, int pieces)
{
    if (!to.data)
        return;
    char *row = to.data + mine.row * to.ld + mine.head * to.stride;
#pragma unroll
    for (int c = 0; c < C; c++) {
        T y[V];
#pragma unroll
        for (int k = 0; k < V; k++)
            narrow(y[k], x[c * V + k] * scale);
        if (c * L + mine.l < pieces)
            store_vector<T, V>(row + (c * L + mine.l) * int(V * sizeof(T)), y);
    }
}

template <int V, int C, int L> __device__ __forceinline__ void store_part(float *to, const float (&x)[C * V], const share &mine, int pieces)
{
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
        for (int k = 0; k < V; k++)
            if (c * L + mine.l < pieces)
                to[(c * L + mine.l) * V + k] = x[c * V + k];
}

template <class T, int V, int C, int L, int U, bool Columns> __global__ void __launch_bounds__(threads) backward(const __grid_constant__ backward_args a)
{
    constexpr int N = C * V;
    const share mine = find_share<L>(a, a.heads, a.groups);
    gradient<N, Columns> g = {};
    walk<T, V, C, L, U, Columns>(g, a, mine);
    join_groups<N, L, Columns>(g, a.groups);
    if (mine.skipped || mine.rank != 0)
        return;
    if (mine.is_part) {
        float *to = a.partial + mine.number * (Columns ? 2 : 1) * a.pieces * V;
        store_part<V, C, L>(to, g.key, mine, a.pieces);
        if constexpr (Columns)
            store_part<V, C, L>(to + a.pieces * V, g.value, mine, a.pieces);
        return;
    }
    store_row<T, V, C, L>(a.out, g.key, a.scale, mine, a.pieces);
    if constexpr (Columns)
        store_row<T, V, C, L>(a.out_value, g.value, 1, mine, a.pieces);
}

/* A warp for each row that was cut, and head: its parts in their order.  each: numbers of a part, from `from` on those of this output. */
template <class T>
__global__ void __launch_bounds__(threads) add_parts(const float *partial, const tsr_cuda_attention_row *rows, int64_t nrows, int heads, int width,
    int each, int from, head_array to, float scale)
{
    const int64_t number = int64_t(blockIdx.x) * warps + threadIdx.x / 32;
    const int head = int(number % heads);
    if (number / heads >= nrows)
        return;
    const tsr_cuda_attention_row r = rows[number / heads];
    for (int c = int(threadIdx.x % 32); c < width; c += 32) {
        float sum = 0;
        for (uint32_t k = 0; k < r.parts; k++)
            sum += partial[((int64_t(r.first) + k) * heads + head) * each + from + c];
        narrow(reinterpret_cast<T *>(to.data + r.row * to.ld + head * to.stride)[c], sum * scale);
    }
}

// ---- Launches ----

template <class T, int V, int C, int L, bool Columns> tsr_status launch(const backward_args &a, void *stream)
{
    constexpr int U = C * V > 8 ? 1 : C * V > 4 ? 2 : 4;
    auto kernel = backward<T, V, C, L, U, Columns>;
    TSR_LAUNCH(kernel, blocks_of(a, a.heads, L, a.groups), threads, 0, stream, a);
    return launch_status();
}

template <class T, bool Columns> tsr_status launch(const backward_args &a, const shape &how, void *stream)
{
    constexpr int V = 16 / int(sizeof(T));
    if (how.v == 1)
        return how.c == 4 ? launch<T, 1, 4, 32, Columns>(a, stream) : launch<T, 1, 8, 32, Columns>(a, stream);
    if (how.c == 2)
        return launch<T, V, 2, 32, Columns>(a, stream);
    switch (how.l) {
    case 4: return launch<T, V, 1, 4, Columns>(a, stream);
    case 8: return launch<T, V, 1, 8, Columns>(a, stream);
    case 16: return launch<T, V, 1, 16, Columns>(a, stream);
    default: return launch<T, V, 1, 32, Columns>(a, stream);
    }
}

template <class T>
tsr_status join_rows(const backward_args &a, const tsr_cuda_attention_cut *cut, int width, bool columns, void *stream)
{
    if (cut->nrows == 0)
        return TSR_OK;
    auto kernel = add_parts<T>;
    const unsigned blocks = unsigned((cut->nrows * a.heads + warps - 1) / warps);
    const int each = (columns ? 2 : 1) * width;
    if (a.out.data)
        TSR_LAUNCH(kernel, blocks, threads, 0, stream, a.partial, cut->rows, cut->nrows, a.heads, width, each, 0, a.out, a.scale);
    if (columns && a.out_value.data)
        TSR_LAUNCH(kernel, blocks, threads, 0, stream, a.partial, cut->rows, cut->nrows, a.heads, width, each, width, a.out_value, 1.0f);
    return launch_status();
}

/* Of one type: both passes share scratch, which begins with D. */
template <class T> struct backward_run {
    const tsr_attention_operands *o;
    shape how;
    float *sums, *partial;

    backward_args begin(const tsr_cuda_csr *s, const tsr_cuda_attention_cut *cut) const
    {
        backward_args a = {};
        static_cast<pattern_args &>(a) = pattern_of(s, cut);
        a.lse = o->lse, a.sums = sums, a.partial = partial;
        a.heads = int(o->q.heads), a.pieces = int(o->q.width / how.v);
        a.groups = groups_of(s, o->q.heads, how, 4, false);
        a.scale = float(o->scale);
        return a;
    }
    tsr_status sum(int64_t nrows) const
    {
        auto kernel = sum_rows<T>;
        const int heads = int(o->q.heads);
        TSR_LAUNCH(kernel, unsigned((nrows * heads + warps - 1) / warps), threads, 0, o->stream, sums, bytes_of(o->o), bytes_of(o->grad_o), nrows,
                   heads, int(o->q.width));
        return launch_status();
    }
    tsr_status by_row(const tsr_cuda_csr *s, const tsr_cuda_attention_cut *cut) const
    {
        backward_args a = begin(s, cut);
        a.own_key = bytes_of(o->q), a.own_value = bytes_of(o->grad_o), a.key = bytes_of(o->k), a.value = bytes_of(o->v);
        a.out = bytes_of(o->grad_q);
        tsr_status status = launch<T, false>(a, how, o->stream);
        return status == TSR_OK ? join_rows<T>(a, cut, int(o->q.width), false, o->stream) : status;
    }
    tsr_status by_column(const tsr_cuda_csr *columns, const tsr_cuda_attention_cut *cut) const
    {
        backward_args a = begin(columns, cut);
        a.own_key = bytes_of(o->k), a.own_value = bytes_of(o->v), a.key = bytes_of(o->q), a.value = bytes_of(o->grad_o);
        a.out = bytes_of(o->grad_k), a.out_value = bytes_of(o->grad_v);
        tsr_status status = launch<T, true>(a, how, o->stream);
        return status == TSR_OK ? join_rows<T>(a, cut, int(o->q.width), true, o->stream) : status;
    }
    tsr_status both(const tsr_cuda_csr *s, const tsr_cuda_attention_cut *cut, const tsr_cuda_csr *columns, const tsr_cuda_attention_cut *columns_cut) const
    {
        tsr_status status = s->nrows > 0 ? sum(s->nrows) : TSR_OK;
        if (status == TSR_OK && o->grad_q.data && s->nrows > 0)
            status = by_row(s, cut);
        if (status == TSR_OK && (o->grad_k.data || o->grad_v.data) && columns->nrows > 0)
            status = by_column(columns, columns_cut);
        return status;
    }
};

} // namespace

extern "C" size_t tsr_cuda_attention_backward_bytes(const tsr_cuda_csr *s, const tsr_cuda_attention_cut *cut, const tsr_cuda_attention_cut *columns_cut,
                                                    const tsr_attention_operands *operands)
{
    const int64_t parts = cut->nparts > 2 * columns_cut->nparts ? cut->nparts : 2 * columns_cut->nparts;
    return size_t((s->nrows + parts * operands->q.width) * operands->q.heads) * sizeof(float);
}

extern "C" tsr_status tsr_cuda_attention_backward(const tsr_cuda_csr *s, const tsr_cuda_attention_cut *cut, const tsr_cuda_csr *columns,
                                                  const tsr_cuda_attention_cut *columns_cut, const tsr_attention_operands *operands, void *partial)
{
    const tsr_attention_operands *o = operands;
    if (!fits(s, o) || !fits(columns, o))
        return TSR_DECLINED;
    float *sums = static_cast<float *>(partial), *parts = sums + s->nrows * o->q.heads;
    const shape how = shape_of(o);
    if (o->q.type == TSR_FP32)
        return backward_run<float>{o, how, sums, parts}.both(s, cut, columns, columns_cut);
    return o->q.type == TSR_FP16 ? backward_run<__half>{o, how, sums, parts}.both(s, cut, columns, columns_cut)
                                 : backward_run<__nv_bfloat16>{o, how, sums, parts}.both(s, cut, columns, columns_cut);
}
