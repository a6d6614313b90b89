// SDDMM: C<S> = A (+).(x) B with A and B' dense by row, at the entries of the sparse mask S.
//
// A warp takes 128 or 256 consecutive entries, finds their rows (one wide search for the first, a short one for each entry), and
// computes 32 / G entries at a time: G lanes fetch V consecutive elements each of both rows, C times before they go on, so that a
// load of a group is a whole line of 128 bytes.  The rows of U such steps are in flight together.  Neighbouring entries share
// their row of A, which is then one line for the whole warp.  Lanes add their own products, then a tree adds the lanes: the same
// order every time, whatever the device.  plus_times of FP32 and FP64 is typed, everything else looks its operators up.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/mask.cuh"
#include "kernels/cuda/semiring.cuh"

namespace {

constexpr int threads = 256;

struct sddmm_args : mask_entries {
    int64_t k;
    const void *a, *b;
    int64_t lda, ldb; /* elements */
    uint64_t a_iso, b_iso;
    void *x;
    int8_t *present;
    operators ops;
};

// ---- Which row is an entry in? ----

/* The first row of [low, high) that ends after entry e, found by the whole warp. */
__device__ __forceinline__ int64_t warp_row(const int64_t *p, int64_t low, int64_t high, int64_t e)
{
    int lane = int(threadIdx.x % 32);
    while (high - low > 1) {
        int64_t step = (high - low + 31) / 32, probe = low + (lane + 1) * step - 1;
        bool before = probe < high && __ldg(p + probe + 1) <= e;
        int64_t skipped = __popc(__ballot_sync(~0u, before));
        low += skipped * step;
        high = low + step < high ? low + step : high;
    }
    return low;
}

/* The same for an entry that is likely in one of the next 32 rows. */
__device__ __forceinline__ int64_t warp_row_near(const int64_t *p, int64_t low, int64_t high, int64_t e)
{
    int64_t probe = low + threadIdx.x % 32;
    unsigned before = __ballot_sync(~0u, probe < high && __ldg(p + probe + 1) <= e);
    return before == ~0u ? warp_row(p, low + 32, high, e) : low + __popc(before);
}

/* Where the rows of both operands of a warp's entries are; past the last entry: the last again. */
template <int Chunk> struct staged_entries {
    uint32_t row[Chunk], col[Chunk];
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
template <int Chunk>
__device__ __forceinline__ void stage(const sddmm_args &q, staged_entries<Chunk> &to, const lane_entries<Chunk> &from, int64_t first_row,
    int64_t last_row)
{
    constexpr int each = Chunk / 32;
    int lane = int(threadIdx.x % 32);
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
template <int Chunk> __device__ __forceinline__ int64_t warp_share(const sddmm_args &q, staged_entries<Chunk> &to)
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

/* Products of U steps from `step` on, entries base + ..., into sum.  One_row: all entries have one row of A, in xs already. */
template <class T, int V, int G, int C, int U, bool Whole, bool One_row, int Chunk>
__device__ __forceinline__ void add_steps(const sddmm_args &q, const staged_entries<Chunk> &mine, const T *a, const T *b, int from,
    int l, const T (&row)[C][V], T (&sum)[U])
{
    constexpr int per_step = 32 / G;
    const T *x[U], *y[U];
#pragma unroll
    for (int u = 0; u < U; u++) {
        x[u] = One_row ? a : a + int64_t(mine.row[from + u * per_step]) * q.lda;
        y[u] = b + int64_t(mine.col[from + u * per_step]) * q.ldb;
        sum[u] = T(0);
    }
#pragma unroll 1
    for (int64_t k = 0; k < (Whole ? 1 : q.k); k += G * V * C) {
        T ys[U][C][V];
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
                    sum[u] = fused(xs[c][v], ys[u][c][v], sum[u]);
        }
    }
}

/* Results of the 32 entries from `base` on: lane l returns that of entry number `place`. */
template <class T, int V, int G, int C, bool Whole, bool One_row, int Chunk>
__device__ __forceinline__ T batch_sums(const sddmm_args &q, const staged_entries<Chunk> &mine, const T *a, const T *b, int base,
    int lane)
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
        add_steps<T, V, G, C, U, Whole, One_row>(q, mine, a, b, base + part * U * per_step + lane / G, l, row, sum);
        add_across<G>(sum);
        result = l % share == part ? sum[0] : result;
    }
    return result;
}

/* How many entries a warp takes: more where each is little work, for the start of a warp is a chain of loads. */
template <int C> constexpr int chunk_of = C == 1 ? 256 : 128;

/* Whole: k == G * V * C.  Blocks: on an SM at once, at least. */
template <class T, int V, int G, int C, bool Whole, int Blocks>
__global__ void __launch_bounds__(threads, Blocks) sddmm_sums(const __grid_constant__ sddmm_args q)
{
    constexpr int U = G < 8 / C ? G : 8 / C, share = G / U;
    int lane = int(threadIdx.x % 32), l = lane % G, place = (l % share * U + l / share) * (32 / G) + lane / G;
    constexpr int chunk = chunk_of<C>;
    __shared__ staged_entries<chunk> staged[threads / 32];
    const staged_entries<chunk> &mine = staged[threadIdx.x / 32];
    int64_t first = warp_share(q, staged[threadIdx.x / 32]);
    const T *a = static_cast<const T *>(q.a) + l * V, *b = static_cast<const T *>(q.b) + l * V;
#pragma unroll 1
    for (int base = 0; base < chunk && first + base < q.end; base += 32) {
        T result;
        if (Whole && mine.row[base] == mine.row[base + 31])
            result = batch_sums<T, V, G, C, Whole, Whole>(q, mine, a, b, base, lane);
        else
            result = batch_sums<T, V, G, C, Whole, false>(q, mine, a, b, base, lane);
        store_result(q, first + base + place, result);
    }
}

// ---- Any semiring ----

template <class P> __device__ __forceinline__ typename P::sum element_at(const void *x, int64_t at, uint64_t iso)
{
    typename P::element value;
    memcpy(&value, &iso, sizeof value);
    return P::widen(x ? __ldg(static_cast<const typename P::element *>(x) + at) : value);
}

constexpr int any_chunk = 128;

/* Eight lanes an entry; a lane that has no product of its own does not count. */
template <class P> __global__ void __launch_bounds__(threads) sddmm_any(const __grid_constant__ sddmm_args q)
{
    constexpr int G = 8, chunk = any_chunk;
    int lane = int(threadIdx.x % 32), group = lane / G, l = lane % G;
    __shared__ staged_entries<chunk> staged[threads / 32];
    const staged_entries<chunk> &mine = staged[threadIdx.x / 32];
    int64_t first = warp_share(q, staged[threadIdx.x / 32]);
    for (int base = 0; base < chunk && first + base < q.end; base += 32) {
        typename P::sum result = P::identity();
        for (int step = 0; step < G; step++) {
            int from = base + step * (32 / G) + group;
            int64_t row = mine.row[from], col = mine.col[from];
            typename P::sum sum = P::identity();
            bool any = false;
            for (int64_t k = l; k < q.k; k += G) {
                typename P::sum term = P::multiply(q.ops.mul, element_at<P>(q.a, row * q.lda + k, q.a_iso),
                    element_at<P>(q.b, col * q.ldb + k, q.b_iso));
                sum = any ? P::merge(q.ops.add, sum, term) : P::begin(q.ops.add, term);
                any = true;
            }
            for (int by = G / 2; by > 0; by /= 2) {
                typename P::sum other = lane_xor(sum, by);
                bool others = __shfl_xor_sync(~0u, int(any), by) != 0;
                sum = !others ? sum : any ? P::merge(q.ops.add, sum, other) : other;
                any = any || others;
            }
            uint64_t bits = 0;
            memcpy(&bits, &sum, sizeof sum);
            bits = __shfl_sync(~0u, (unsigned long long)bits, lane % (32 / G) * G);
            if (lane / (32 / G) == step)
                memcpy(static_cast<void *>(&result), &bits, sizeof result);
        }
        store_result(q, first + base + lane, result);
    }
}

// ---- Launches ----

unsigned blocks_for(const sddmm_args &q, int chunk)
{
    int64_t per_block = threads / 32 * chunk;
    return unsigned((q.end - q.begin + per_block - 1) / per_block);
}

template <class Kernel> tsr_status launch(Kernel kernel, const sddmm_args &q, int chunk, void *stream)
{
    TSR_LAUNCH(kernel, blocks_for(q, chunk), threads, 0, stream, q);
    return launch_status();
}

template <class T, int V, int G, int C, bool Whole, int Blocks> tsr_status launch_typed(const sddmm_args &q, void *stream)
{
    return launch(sddmm_sums<T, V, G, C, Whole, Blocks>, q, chunk_of<C>, stream);
}

/* Rows of both operands begin at multiples of 16 bytes, and so does what is left of k. */
template <class T> bool has_vectors(const sddmm_args &q)
{
    constexpr int64_t v = 16 / sizeof(T);
    auto at_16 = [](const void *p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; };
    return q.k % v == 0 && q.lda % v == 0 && q.ldb % v == 0 && at_16(q.a) && at_16(q.b);
}

template <class T> tsr_status launch_vectors(const sddmm_args &q, void *stream)
{
    constexpr int V = 16 / sizeof(T);
    if (q.k <= 4 * V)
        return launch_typed<T, V, 4, 1, false, 3>(q, stream);
    if (q.k == 8 * V)
        return launch_typed<T, V, 8, 1, true, 3>(q, stream);
    if (q.k == 16 * V)
        return launch_typed<T, V, 8, 2, true, 3>(q, stream);
    if (q.k == 32 * V)
        return launch_typed<T, V, 8, 4, true, 3>(q, stream);
    if (q.k <= 16 * V)
        return launch_typed<T, V, 8, 2, false, 3>(q, stream);
    return launch_typed<T, V, 8, 4, false, 3>(q, stream);
}

template <class T> tsr_status launch_sums(const sddmm_args &q, void *stream)
{
    return has_vectors<T>(q) ? launch_vectors<T>(q, stream) : launch_typed<T, 1, 8, 4, false, 2>(q, stream);
}

template <class T> tsr_status launch_any(const sddmm_args &q, void *stream)
{
    return launch(sddmm_any<any_semiring<T>>, q, any_chunk, stream);
}

tsr_status launch_by_type(const sddmm_args &q, tsr_type type, void *stream)
{
    switch (type) {
    case TSR_BOOL: return launch_any<bool>(q, stream);
    case TSR_INT8: return launch_any<int8_t>(q, stream);
    case TSR_INT16: return launch_any<int16_t>(q, stream);
    case TSR_INT32: return launch_any<int32_t>(q, stream);
    case TSR_INT64: return launch_any<int64_t>(q, stream);
    case TSR_UINT8: return launch_any<uint8_t>(q, stream);
    case TSR_UINT16: return launch_any<uint16_t>(q, stream);
    case TSR_UINT32: return launch_any<uint32_t>(q, stream);
    case TSR_UINT64: return launch_any<uint64_t>(q, stream);
    case TSR_FP32: return launch_any<float>(q, stream);
    default: return launch_any<double>(q, stream);
    }
}

/* No terms: no entry is present. */
tsr_status nothing(const tsr_cuda_sddmm *q)
{
    int64_t n = q->end - q->begin;
    tsr_status status = tsr_cuda_set(q->x, 0, size_t(n) * size_of(q->semiring.type), q->stream);
    return status == TSR_OK && q->present ? tsr_cuda_set(q->present, 0, size_t(n), q->stream) : status;
}

} // namespace

extern "C" tsr_status tsr_cuda_sddmm_csr(const tsr_cuda_sddmm *product)
{
    const tsr_cuda_sddmm *s = product;
    if (s->mask->nrows >= UINT32_MAX || (s->end - s->begin) / (threads / 32 * any_chunk) >= INT32_MAX)
        return TSR_DECLINED;
    if (s->k == 0 || s->begin == s->end)
        return nothing(s);
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
    bool sums = s->semiring.add == TSR_ADD_PLUS && s->semiring.mul == TSR_MUL_TIMES && q.a && q.b;
    if (sums && s->semiring.type == TSR_FP32)
        return launch_sums<float>(q, s->stream);
    if (sums && s->semiring.type == TSR_FP64)
        return launch_sums<double>(q, s->stream);
    return launch_by_type(q, s->semiring.type, s->stream);
}
