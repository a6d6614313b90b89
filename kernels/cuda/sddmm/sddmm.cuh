// SDDMM by row: C<S> = A (+).(x) B with A and B' dense by row, at the entries of the sparse mask S.
//
// A warp takes 128 or 256 consecutive entries, finds their rows (one wide search for the first, a short one for each entry), and
// computes 32 / G entries at a time: G lanes fetch V consecutive elements each of both rows, C times before they go on, so that a
// load of a group is a whole line of 128 bytes.  The rows of U such steps are in flight together.  Neighbouring entries share
// their row of A, which is then one line for the whole warp.  Lanes add their own products, then a tree adds the lanes: the same
// order every time, whatever the device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/common/entry_rows.cuh"
#include "kernels/cuda/common/mask.cuh"
#include "kernels/cuda/common/semiring.cuh"

namespace sddmm_rows {

constexpr int threads = 256;

struct sddmm_args : mask_entries {
    int64_t k;
    const void *a, *b;
    int64_t lda, ldb; /* elements */
    uint64_t a_iso, b_iso;
    void *x;
    int8_t *present;
    operators ops;
    /* Where b is B' rounded to FP16: what undoes the scaling of its rows (narrow.h), and B' itself. */
    const uint8_t *exponent;
    const float *wide;
    int64_t ld_wide;
    int64_t products, a_period, b_period, x_period; /* several in one launch: how many, and bytes from one to the next; 0: one */
};

// ---- Which row is an entry in? ----

/* Where the rows of both operands of a warp's entries are; past the last entry: the last again. */
template <int Chunk, bool Narrow = false> struct staged_entries {
    uint32_t row[Chunk], col[Chunk];
    float scale[Narrow ? Chunk : 1]; // of their rows of B'
};

/* A lane's entries, l, l + 32, ..., and their columns; asked for before the rows are searched. */
template <int Chunk> struct lane_entries {
    static constexpr int each = Chunk / 32;
    int64_t entry[each];
    uint32_t col[each];
    __device__ __forceinline__ lane_entries(const sddmm_args &q, int64_t first)
    {
#pragma unroll
        for (int k = 0; k < each; k++) {
            int64_t at = first + k * 32 + threadIdx.x % 32;
            entry[k] = at < q.end ? at : q.end - 1;
            col[k] = load_once(q.i + entry[k]);
        }
    }
};

/* The entries' rows lie between two rows, the second included; the searches run side by side. */
template <int Chunk, bool Narrow>
__device__ __forceinline__ void stage(const sddmm_args &q, staged_entries<Chunk, Narrow> &to, const lane_entries<Chunk> &from,
    int64_t first_row, int64_t last_row)
{
    constexpr int each = Chunk / 32;
    int lane = int(threadIdx.x % 32);
    uint8_t exponent[each];
    if constexpr (Narrow)
#pragma unroll
        for (int k = 0; k < each; k++)
            exponent[k] = __ldg(q.exponent + from.col[k]);
    uint32_t low[each], high[each];
#pragma unroll
    for (int k = 0; k < each; k++) {
        low[k] = uint32_t(first_row);
        high[k] = uint32_t(last_row);
    }
#pragma unroll 1
    for (uint32_t span = uint32_t(last_row - first_row); span > 0; span /= 2) {
#pragma unroll
        for (int k = 0; k < each; k++) {
            uint32_t middle = low[k] + (high[k] - low[k]) / 2;
            bool before = __ldg(q.p + middle + 1) <= from.entry[k] && low[k] < high[k];
            low[k] = before ? middle + 1 : low[k];
            high[k] = before ? high[k] : middle;
        }
    }
#pragma unroll
    for (int k = 0; k < each; k++) {
        to.row[k * 32 + lane] = low[k];
        to.col[k * 32 + lane] = from.col[k];
        if constexpr (Narrow)
            to.scale[k * 32 + lane] = __uint_as_float(uint32_t(exponent[k]) << 23);
    }
    __syncwarp();
}

template <class T> __device__ __forceinline__ void store_result(const sddmm_args &q, int64_t entry, T value)
{
    if (entry >= q.end)
        return;
    bool pass = mask_passes(q.mask, q.mask_size, entry);
    store_once(static_cast<T *>(q.x) + (entry - q.begin), pass ? value : T(0));
    if (q.present)
        q.present[entry - q.begin] = pass;
}

/* The first entry of this warp's share, staged; past the end when it has none. */
template <int Chunk, bool Narrow>
__device__ __forceinline__ int64_t warp_share(const sddmm_args &q, staged_entries<Chunk, Narrow> &to)
{
    int64_t first = q.begin + (blockIdx.x * int64_t(threads / 32) + threadIdx.x / 32) * Chunk;
    if (first >= q.end)
        return first;
    lane_entries<Chunk> mine(q, first);
    int64_t last = first + Chunk < q.end ? first + Chunk - 1 : q.end - 1;
    int64_t first_row = warp_row(q.p, 0, q.nrows, first);
    stage(q, to, mine, first_row, warp_row_near(q.p, first_row, q.nrows, last));
    return first;
}

// ---- plus_times ----

template <class T, int V> __device__ __forceinline__ void load_or_zero(T (&out)[V], const T *at, bool inside)
{
    if (inside) {
        load_vector(out, at);
    } else {
#pragma unroll
        for (int v = 0; v < V; v++)
            out[v] = T(0);
    }
}

// Y: what elements of B' are held as.

template <class T> __device__ __forceinline__ T widen(T x) { return x; }
__device__ __forceinline__ float widen(__half x) { return __half2float(x); }

/* Products of U steps from `from` on into sum.  One_row: all entries have one row of A, in `row` already. */
template <class T, class Y, int V, int G, int C, int U, bool Whole, bool One_row, class Staged>
__device__ __forceinline__ void add_steps(const sddmm_args &q, const Staged &mine, const T *a, const Y *b, int from, int l,
    const T (&row)[C][V], T (&sum)[U])
{
    constexpr int per_step = 32 / G;
    const T *x[U];
    const Y *y[U];
#pragma unroll
    for (int u = 0; u < U; u++) {
        x[u] = One_row ? a : a + int64_t(mine.row[from + u * per_step]) * q.lda;
        y[u] = b + int64_t(mine.col[from + u * per_step]) * q.ldb;
        sum[u] = T(0);
    }
#pragma unroll 1
    for (int64_t k = 0; k < (Whole ? 1 : q.k); k += G * V * C) {
        Y ys[U][C][V];
#pragma unroll
        for (int u = 0; u < U; u++)
#pragma unroll
            for (int c = 0; c < C; c++)
                load_or_zero(ys[u][c], y[u] + k + c * G * V, Whole || k + (c * G + l) * V < q.k);
#pragma unroll
        for (int u = 0; u < U; u++) {
            T xs[C][V];
#pragma unroll
            for (int c = 0; c < C; c++) {
                if (One_row)
                    memcpy(xs[c], row[c], sizeof xs[c]);
                else
                    load_or_zero(xs[c], x[u] + k + c * G * V, Whole || k + (c * G + l) * V < q.k);
            }
#pragma unroll
            for (int c = 0; c < C; c++)
#pragma unroll
                for (int v = 0; v < V; v++)
                    sum[u] = fused(xs[c][v], widen(ys[u][c][v]), sum[u]);
        }
    }
}

/* Results of the 32 entries from `base` on: lane l returns that of entry number `place`. */
template <class T, class Y, int V, int G, int C, bool Whole, bool One_row, class Staged>
__device__ __forceinline__ T batch_sums(const sddmm_args &q, const Staged &mine, const T *a, const Y *b, int base, int lane)
{
    constexpr int per_step = 32 / G, U = G < 8 / C ? G : 8 / C, share = G / U;
    int l = lane % G;
    T row[C][V] = {}, result = 0;
    if (One_row)
#pragma unroll
        for (int c = 0; c < C; c++)
            load_vector(row[c], a + int64_t(mine.row[base]) * q.lda + c * G * V);
#pragma unroll 1
    for (int part = 0; part < share; part++) {
        T sum[U];
        add_steps<T, Y, V, G, C, U, Whole, One_row>(q, mine, a, b, base + part * U * per_step + lane / G, l, row, sum);
        add_across<G>(sum);
        result = l % share == part ? sum[0] : result;
    }
    return result;
}

/* The dot of a row of A and one of B' as it was given, by the whole warp. */
__device__ __forceinline__ float wide_dot(const sddmm_args &q, int64_t row, int64_t col)
{
    const float *x = static_cast<const float *>(q.a) + row * q.lda, *y = q.wide + col * q.ld_wide;
    float sum = 0;
    for (int64_t k = threadIdx.x % 32; k < q.k; k += 32)
        sum = fmaf(__ldg(x + k), __ldg(y + k), sum);
    for (int by = 16; by > 0; by /= 2)
        sum += __shfl_xor_sync(~0u, sum, by);
    return sum;
}

/* A lane's dot of entry `at` with a scaled row of B', scaled back.  What is not finite then is computed anew: that may be overflow on the
 * way, or the row is one that FP16 cannot hold. */
template <class Staged> __device__ __forceinline__ float scale_back(const sddmm_args &q, const Staged &mine, int at, float dot)
{
    float result = dot * mine.scale[at];
    unsigned again = __ballot_sync(~0u, !(fabsf(result) < INFINITY));
    for (; again; again &= again - 1) {
        int lane = __ffs(int(again)) - 1, its = __shfl_sync(~0u, at, lane);
        float wide = wide_dot(q, mine.row[its], mine.col[its]);
        if (int(threadIdx.x % 32) == lane)
            result = wide;
    }
    return result;
}

/* How many entries a warp takes: more where each is little work, for the start of a warp is a chain of loads. */
template <int C> constexpr int chunk_of = C == 1 ? 256 : 128;

/* Whole: k == G * V * C. */
template <class T, class Y, int V, int G, int C, bool Whole> __device__ __forceinline__ void sum_entries(const sddmm_args &q)
{
    constexpr int U = G < 8 / C ? G : 8 / C, share = G / U, chunk = chunk_of<C>;
    constexpr bool narrow = !std::is_same_v<T, Y>;
    int lane = int(threadIdx.x % 32), l = lane % G, place = (l % share * U + l / share) * (32 / G) + lane / G;
    __shared__ staged_entries<chunk, narrow> staged[threads / 32];
    const staged_entries<chunk, narrow> &mine = staged[threadIdx.x / 32];
    int64_t first = warp_share(q, staged[threadIdx.x / 32]);
    const T *a = static_cast<const T *>(q.a) + l * V;
    const Y *b = static_cast<const Y *>(q.b) + l * V;
#pragma unroll 1
    for (int base = 0; base < chunk && first + base < q.end; base += 32) {
        T result;
        if (Whole && mine.row[base] == mine.row[base + 31])
            result = batch_sums<T, Y, V, G, C, Whole, Whole>(q, mine, a, b, base, lane);
        else
            result = batch_sums<T, Y, V, G, C, Whole, false>(q, mine, a, b, base, lane);
        if constexpr (narrow)
            result = scale_back(q, mine, base + place, result);
        store_result(q, first + base + place, result);
    }
}

/* Blocks: on an SM at once, at least. */
template <class T, class Y, int V, int G, int C, bool Whole, int Blocks>
__global__ void __launch_bounds__(threads, Blocks) sddmm_sums(const __grid_constant__ sddmm_args q)
{
    sum_entries<T, Y, V, G, C, Whole>(q);
}

/* The same of product y. */
template <class T, class Y, int V, int G, int C, bool Whole, int Blocks>
__global__ void __launch_bounds__(threads, Blocks) sddmm_sums_of_batch(const __grid_constant__ sddmm_args all)
{
    sddmm_args q = all;
    q.a = static_cast<const char *>(all.a) + blockIdx.y * all.a_period;
    q.b = static_cast<const char *>(all.b) + blockIdx.y * all.b_period;
    q.x = static_cast<char *>(all.x) + blockIdx.y * all.x_period;
    sum_entries<T, Y, V, G, C, Whole>(q);
}

// ---- Launches ----

inline unsigned blocks_for(const sddmm_args &q, int chunk)
{
    int64_t per_block = threads / 32 * chunk;
    return unsigned((q.end - q.begin + per_block - 1) / per_block);
}

template <class Kernel> tsr_status launch(Kernel kernel, const sddmm_args &q, int chunk, void *stream)
{
    const dim3 grid = dim3(blocks_for(q, chunk), unsigned(q.products ? q.products : 1));
    TSR_LAUNCH(kernel, grid, threads, 0, stream, q);
    return launch_status();
}

template <class T, class Y, int V, int G, int C, bool Whole, int Blocks> tsr_status launch_typed(const sddmm_args &q, void *stream)
{
    auto kernel = sddmm_sums<T, Y, V, G, C, Whole, Blocks>;
    if constexpr (std::is_same_v<T, Y>)
        if (q.products)
            kernel = sddmm_sums_of_batch<T, Y, V, G, C, Whole, Blocks>;
    return launch(kernel, q, chunk_of<C>, stream);
}

/* Operands, mask and results as they are. */
inline sddmm_args args_of(const tsr_cuda_sddmm *s)
{
    bool reads_a = tsr_mul_reads_a(s->semiring.mul), reads_b = tsr_mul_reads_b(s->semiring.mul);
    sddmm_args q = {};
    static_cast<mask_entries &>(q) = entries_of(s);
    q.k = s->k;
    q.a = reads_a ? s->a : nullptr;
    q.b = reads_b ? s->b : nullptr;
    q.lda = s->lda;
    q.ldb = s->ldb;
    q.a_iso = s->a_iso;
    q.b_iso = s->b_iso;
    q.x = s->x;
    q.present = s->present;
    q.ops = { int(s->semiring.add), int(s->semiring.mul) };
    if (s->batch.count > 1) {
        const int64_t size = int64_t(size_of(s->semiring.type));
        q.products = s->batch.count;
        q.a_period = s->batch.b * size;
        q.b_period = s->batch.c * size;
        q.x_period = s->batch.values * size;
    }
    return q;
}

inline bool in_range(const tsr_cuda_sddmm *s)
{
    return s->batch.count <= 65535 && s->mask->nrows < UINT32_MAX && (s->end - s->begin) / (threads / 32 * 128) < INT32_MAX;
}

} // namespace sddmm_rows
