// SpMV by row: n == 1, a full vector, any monoid but ANY.
//
// The entries are cut into chunks of spmv_chunk, whatever rows they belong to (see csr_work.cuh); a warp works through a span of
// consecutive chunks.  While the elements of the vector for one chunk are on their way, the columns and values of the next are loaded,
// 16 bytes each lane, so that A is streamed without pause.  The products go to shared memory; 1 to 32 lanes, by the mean length, add up
// a row that ends in the chunk; what remains is carried into the next chunk.  The carry of the last chunk of a span is joined to its row
// by a second kernel.  The shape of every sum is fixed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/spmm_csr.cuh"

constexpr int spmv_warps = 4, spmv_quads = spmv_chunk / 128, spmv_each = 4 * spmv_quads;

// ---- Arithmetic: of the policy, or of the operators given at run time ----

template <class P> __device__ __forceinline__ typename P::sum neutral(const csr_args &q)
{
    if constexpr (P::generic)
        return P::identity(q.ops.add);
    else
        return P::identity();
}
template <class P> __device__ __forceinline__ typename P::sum join(const csr_args &q, typename P::sum s, typename P::sum t)
{
    if constexpr (P::generic)
        return P::merge(q.ops.add, s, t);
    else
        return P::merge(s, t);
}
template <class P> __device__ __forceinline__ typename P::sum multiply(const csr_args &q, typename P::sum a, typename P::sum b)
{
    if constexpr (P::generic)
        return P::begin(q.ops.add, P::multiply(q.ops.mul, a, b));
    else
        return P::step(P::identity(), a, b);
}

// ---- The kernel ----

/* Carries of all spans: values, then rows (UINT32_MAX: none). */
template <class P> struct spmv_carries {
    typename P::sum *value;
    uint32_t *row;
};

template <class T> using spmv_vector = T[spmv_quads][4];

/* The columns and values of one chunk: quad j of a lane are entries base + 128 j + 4 lane and on. */
template <class P> struct spmv_batch {
    using element = typename P::element;
    spmv_vector<uint32_t> column;
    spmv_vector<element> value;

    /* The chunk ends at `end`; entries before its first (in the same quad) are loaded too.  Behind the end: column 0. */
    __device__ __forceinline__ void load(const csr_args &q, int64_t base, int64_t end, int lane)
    {
        const uint32_t *columns = q.i + base + lane * 4;
        const element *values = static_cast<const element *>(q.x) + (q.reads_a ? base + lane * 4 : 0);
        if (q.a_vectors && end - base == spmv_chunk) {
#pragma unroll
            for (int j = 0; j < spmv_quads; j++)
                stream_vector(column[j], columns + j * 128);
            if (q.reads_a)
#pragma unroll
                for (int j = 0; j < spmv_quads; j++)
                    stream_vector(value[j], values + j * 128);
        } else {
            int left = int(end - base) - lane * 4;
#pragma unroll
            for (int j = 0; j < spmv_quads; j++)
#pragma unroll
                for (int k = 0; k < 4; k++) {
                    column[j][k] = j * 128 + k < left ? load_once(columns + j * 128 + k) : 0;
                    if (q.reads_a && j * 128 + k < left)
                        value[j][k] = load_once(values + j * 128 + k);
                }
        }
    }

    __device__ __forceinline__ void gather(const csr_args &q, const char *b, spmv_vector<element> &x) const
    {
#pragma unroll
        for (int j = 0; j < spmv_quads; j++)
#pragma unroll
            for (int k = 0; k < 4; k++) {
                element one[1];
                load_vector(one, b + b_offset<true>(q, column[j][k]));
                x[j][k] = one[0];
            }
    }
};

/* The identity where an entry does not belong to the chunk, which is at places [begin, end) from base. */
template <class P>
__device__ __forceinline__ void mask_products(const csr_args &q, spmv_vector<typename P::sum> &product, int begin, int end, int lane)
{
#pragma unroll
    for (int j = 0; j < spmv_quads; j++)
#pragma unroll
        for (int k = 0; k < 4; k++) {
            int place = j * 128 + lane * 4 + k;
            if (place < begin || place >= end)
                product[j][k] = neutral<P>(q);
        }
}

/* The sum over groups of 2^shift neighbouring lanes, in each of them. */
template <class P> __device__ __forceinline__ typename P::sum add_lanes(const csr_args &q, typename P::sum sum, int shift)
{
#pragma unroll
    for (int k = 0; k < 5; k++)
        if (k < shift)
            sum = join<P>(q, sum, typename P::sum(__shfl_xor_sync(~0u, sum, 1 << k)));
    return sum;
}

template <class P> __device__ __forceinline__ void store_sum(const csr_args &q, int64_t row, typename P::sum sum, bool any)
{
    row_sums<P, 1> sums;
    sums.value[0] = sum;
    sums.have = any;
    store_row<P, 1>(q, row * q.ldc, sums, any);
}

/* Of one warp.  end: where the rows end, as places in the chunk. */
template <class P> struct spmv_stage {
    alignas(16) typename P::sum product[spmv_chunk];
    uint16_t end[span_item_rows];
};

constexpr int spmv_early = 4; /* row ends per lane that are loaded ahead */

/* What is known of the row in which the last chunk ended. */
template <class P> struct spmv_carry {
    typename P::sum sum;
    bool any;
};

/* Rows [first, first + rows) end in this chunk, whose entries are at places [begin, end); what is behind them is carried on. */
template <class P>
__device__ __forceinline__ void finish_spmv_rows(const csr_args &q, const spmv_stage<P> &stage, uint32_t first, int rows, int begin, int end,
    spmv_carry<P> &carry, int lane)
{
    int shift = 0;
    while (shift < 5 && (3 * rows << shift) < end - begin)
        shift++;
    int at_once = 32 >> shift, part = lane & ((1 << shift) - 1);
    typename P::sum sum;
    int base = 0;
#pragma unroll 1
    for (;;) {
        int row = base + (lane >> shift), from = row > 0 && row <= rows ? stage.end[row - 1] : begin;
        int to = row < rows ? stage.end[row] : row == rows ? end : from;
        sum = neutral<P>(q);
#pragma unroll 1
        for (int at = from + part; at < to; at += 1 << shift)
            sum = join<P>(q, sum, stage.product[at]);
        sum = add_lanes<P>(q, sum, shift);
        if (row < rows && part == 0)
            store_sum<P>(q, int64_t(first) + row, row == 0 ? join<P>(q, carry.sum, sum) : sum, to > from || (row == 0 && carry.any));
        if (base + at_once > rows)
            break;
        base += at_once;
    }
    carry.sum = typename P::sum(__shfl_sync(~0u, sum, (rows - base) << shift));
    carry.any = stage.end[rows - 1] < end;
}

/* Row ends of a chunk on their way; only the low halves count. */
struct spmv_ends {
    uint32_t early[spmv_early];

    __device__ __forceinline__ void load(const int64_t *ends, int rows, int lane)
    {
#pragma unroll
        for (int k = 0; k < spmv_early; k++) {
            early[k] = 0;
            if (k * 32 + lane < rows)
                early[k] = __ldg(reinterpret_cast<const uint32_t *>(ends + k * 32 + lane));
        }
    }
    __device__ __forceinline__ void put(const int64_t *ends, uint16_t *to, int64_t base, int rows, int lane) const
    {
#pragma unroll
        for (int k = 0; k < spmv_early; k++)
            if (k * 32 + lane < rows)
                to[k * 32 + lane] = uint16_t(early[k] - uint32_t(base));
#pragma unroll 1
        for (int row = spmv_early * 32 + lane; row < rows; row += 32)
            to[row] = uint16_t(__ldg(ends + row) - base);
    }
};

/* Adds the chunk between two items; `batch` holds its entries, and then those of the chunk that ends at `after`. */
template <class P>
__device__ __forceinline__ void spmv_step(const csr_args &q, spmv_stage<P> &stage, spmv_batch<P> &batch, const csr_item &item,
    const csr_item &next, int64_t after, bool more, const char *b, typename P::sum iso, spmv_carry<P> &carry, int lane)
{
    using sum = typename P::sum;
    int64_t base = item.entry & ~int64_t(3);
    int begin = int(item.entry - base), end = int(next.entry - base), rows = int(next.row - item.row);
    const int64_t *row_ends = q.p + item.row + 1;
    spmv_vector<typename P::element> x = {}, value;
    spmv_ends ends;
    if (end > begin && q.reads_b)
        batch.gather(q, b, x);
    ends.load(row_ends, rows, lane);
    memcpy(static_cast<void *>(value), batch.value, sizeof value);
    if (more)
        batch.load(q, next.entry & ~int64_t(3), after, lane);
    spmv_vector<sum> product;
#pragma unroll
    for (int j = 0; j < spmv_quads; j++)
#pragma unroll
        for (int k = 0; k < 4; k++)
            product[j][k] = multiply<P>(q, q.reads_a ? P::widen(value[j][k]) : iso, P::widen(x[j][k]));
    if (begin > 0 || end < spmv_chunk)
        mask_products<P>(q, product, begin, end, lane);
    if (rows == 0) {
        sum all = neutral<P>(q);
#pragma unroll
        for (int j = 0; j < spmv_quads; j++)
#pragma unroll
            for (int k = 0; k < 4; k++)
                all = join<P>(q, all, product[j][k]);
        carry.sum = join<P>(q, carry.sum, add_lanes<P>(q, all, 5));
        carry.any = carry.any || end > begin;
        return;
    }
    __syncwarp();
#pragma unroll
    for (int j = 0; j < spmv_quads; j++)
#pragma unroll
        for (int k = 0; k < 4; k++)
            stage.product[j * 128 + lane * 4 + k] = product[j][k];
    ends.put(row_ends, stage.end, base, rows, lane);
    __syncwarp();
    finish_spmv_rows<P>(q, stage, item.row, rows, begin, end, carry, lane);
}

/* Warp w: items w * span and on. */
template <class P> __global__ void __launch_bounds__(32 * spmv_warps) spmv_spans(const __grid_constant__ csr_args q, int64_t span,
    spmv_carries<P> carries)
{
    __shared__ spmv_stage<P> stages[spmv_warps];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int64_t w = int64_t(blockIdx.x) * spmv_warps + warp, t = w * span, last = t + span < q.nitems ? t + span : q.nitems;
    if (t >= last)
        return;
    typename P::sum iso = iso_value<P>(q.iso);
    const char *b = keep_address(static_cast<const char *>(q.b));
    csr_item item = q.items[t], next = q.items[t + 1], after = q.items[t + 2 <= q.nitems ? t + 2 : q.nitems];
    spmv_carry<P> carry = { neutral<P>(q), item.row < q.nrows && __ldg(q.p + item.row) < item.entry };
    spmv_batch<P> batch = {};
    batch.load(q, item.entry & ~int64_t(3), next.entry, lane);
#pragma unroll 1
    for (; t < last; t++) {
        csr_item later = q.items[t + 3 <= q.nitems ? t + 3 : q.nitems]; /* not used before the next round */
        spmv_step<P>(q, stages[warp], batch, item, next, after.entry, t + 1 < last, b, iso, carry, lane);
        item = next;
        next = after;
        after = later;
    }
    if (lane == 0) {
        carries.value[w] = carry.sum;
        carries.row[w] = carry.any && item.row < q.nrows && __ldg(q.p + item.row) < item.entry ? item.row : UINT32_MAX;
    }
}

/* The first of the carries for one row joins all of them to it, in order. */
template <class P> __global__ void __launch_bounds__(128) join_carries(const __grid_constant__ csr_args q, spmv_carries<P> carries, int64_t n)
{
    using sum = typename P::sum;
    int64_t w = int64_t(blockIdx.x) * 128 + threadIdx.x;
    if (w >= n || carries.row[w] == UINT32_MAX || (w > 0 && carries.row[w - 1] == carries.row[w]))
        return;
    uint32_t row = carries.row[w];
    sum total = carries.value[w], *c = static_cast<sum *>(q.c) + row * q.ldc;
    for (int64_t k = w + 1; k < n && carries.row[k] == row; k++)
        total = join<P>(q, total, carries.value[k]);
    if constexpr (std::is_floating_point_v<sum> && !P::generic)
        total *= sum(q.alpha);
    *c = join<P>(q, *c, total);
}

// ---- Lanes by rows ----
//
// A warp computes one item: 1 to 32 lanes a row, by the mean length of its rows.  A lane takes aligned quads of entries, U of them in
// flight; what is outside of its row is left out.

template <class P> __device__ __forceinline__ typename P::sum add_product(const csr_args &q, typename P::sum s, typename P::sum a,
    typename P::sum b)
{
    if constexpr (P::generic)
        return P::merge(q.ops.add, s, P::begin(q.ops.add, P::multiply(q.ops.mul, a, b)));
    else
        return P::step(s, a, b);
}

/* The entries of the item, from the quad before its first one on. */
template <class P> struct spmv_entries {
    const uint32_t *column;
    const typename P::element *value, *x;
};

/* U entries or quads of entries of one lane, all loads before their use.  Where a lane has fewer, it repeats the last place of its row,
 * which is at hand, and leaves it out of the sum: loads without conditions stay together. */
template <class P, int U, int Wide, bool Values> struct spmv_loads {
    uint32_t column[U][Wide];
    typename P::element value[U][Wide], x[U][Wide];

    __device__ __forceinline__ void load(const spmv_entries<P> &from, int at, int step, int most)
    {
#pragma unroll
        for (int j = 0; j < U; j++) {
            int place = at + j * step < most ? at + j * step : most;
            stream_vector(column[j], from.column + place);
            if (Values)
                stream_vector(value[j], from.value + place);
        }
    }
    __device__ __forceinline__ void gather(const csr_args &q, const spmv_entries<P> &from)
    {
#pragma unroll
        for (int j = 0; j < U; j++)
#pragma unroll
            for (int k = 0; k < Wide; k++) {
                typename P::element one[1] = {};
                if (!P::generic || q.reads_b)
                    load_vector(one, reinterpret_cast<const char *>(from.x) + b_offset<true>(q, column[j][k]));
                x[j][k] = one[0];
            }
    }
    __device__ __forceinline__ typename P::sum add(const csr_args &q, typename P::sum sum, typename P::sum iso, int at, int step,
        int end) const
    {
#pragma unroll
        for (int j = 0; j < U; j++)
            if (at + j * step < end)
#pragma unroll
                for (int k = 0; k < Wide; k++)
                    sum = add_product<P>(q, sum, Values ? P::widen(value[j][k]) : iso, P::widen(x[j][k]));
        return sum;
    }
};

/* Entries [begin, end) of a row, not none, for lane `part` of 2^shift >= 8: the aligned quads, and the up to six entries around them. */
template <class P, int U, bool Values>
__device__ __forceinline__ typename P::sum add_quads(const csr_args &q, const spmv_entries<P> &from, typename P::sum iso, int begin, int end,
    int part, int shift)
{
    int first = (begin + 3) & ~3, last = end & ~3, step = 4 << shift, at = first + 4 * part;
    int head = (first < end ? first : end) - begin, edges = head + (last >= first ? end - last : 0);
    int most = last - 4 > (begin & ~3) ? last - 4 : begin & ~3, edge = part < head ? begin + part : last + part - head;
    spmv_loads<P, U, 4, Values> quads;
    spmv_loads<P, 1, 1, Values> single;
    quads.load(from, at, step, most);
    single.load(from, part < edges ? edge : begin, 0, end);
    quads.gather(q, from);
    single.gather(q, from);
    typename P::sum sum = quads.add(q, neutral<P>(q), iso, at, step, last);
    sum = single.add(q, sum, iso, part, 0, edges);
#pragma unroll 1
    for (at += U * step; at < last; at += U * step) {
        quads.load(from, at, step, most);
        quads.gather(q, from);
        sum = quads.add(q, sum, iso, at, step, last);
    }
    return sum;
}

/* The same one by one, for any alignment and number of lanes. */
template <class P, int U, bool Values>
__device__ __forceinline__ typename P::sum add_singles(const csr_args &q, const spmv_entries<P> &from, typename P::sum iso, int begin, int end,
    int part, int shift)
{
    typename P::sum sum = neutral<P>(q);
    int step = 1 << shift;
    spmv_loads<P, U, 1, Values> singles;
#pragma unroll 1
    for (int at = begin + part; at < end; at += U * step) {
        singles.load(from, at, step, end - 1);
        singles.gather(q, from);
        sum = singles.add(q, sum, iso, at, step, end);
    }
    return sum;
}

/* Lanes a row: at most `each` entries a lane on the average, if 32 lanes suffice. */
__device__ __forceinline__ int choose_shift(int rows, int count, int each)
{
    int shift = 0;
    while (shift < 5 && (int64_t(each) * rows << shift) < count)
        shift++;
    return shift;
}

/* From which mean length of rows on quads are worth their edges. */
constexpr int spmv_long_rows = 24;

/* An offset of A, less `base`; offsets of one item differ by less than 2^31, so that their low halves suffice. */
__device__ __forceinline__ uint32_t load_offset(const int64_t *p)
{
    return __ldg(reinterpret_cast<const uint32_t *>(p));
}

template <class P, int U, bool Values>
__global__ void __launch_bounds__(32 * spmv_warps, 8) spmv_rows(const __grid_constant__ csr_args q, int each)
{
    int lane = threadIdx.x % 32;
    int64_t t = int64_t(blockIdx.x) * spmv_warps + threadIdx.x / 32;
    if (t >= q.nitems)
        return;
    csr_item item = q.items[t], next = q.items[t + 1];
    int64_t base = item.entry & ~int64_t(3);
    int rows = item.partial < 0 ? int(next.row - item.row) : 1;
    int count = int(next.entry - item.entry);
    bool quads = q.a_vectors && count >= spmv_long_rows * rows && ((next.entry + 3) & ~int64_t(3)) <= q.nvals;
    int shift = choose_shift(rows, count, quads ? each : 4);
    shift = quads && shift < 3 ? 3 : shift;
    int at_once = 32 >> shift, part = lane & ((1 << shift) - 1);
    spmv_entries<P> from = { q.i + base, static_cast<const typename P::element *>(q.x) + (Values ? base : 0),
        static_cast<const typename P::element *>(q.b) };
    typename P::sum iso = iso_value<P>(q.iso);
    const int64_t *p = q.p + item.row;
    int row = lane >> shift;
    uint32_t begin = uint32_t(item.entry), end = uint32_t(rows > 1 ? item.entry : next.entry);
    if (rows > 1 && row < rows) {
        begin = load_offset(p + row);
        end = load_offset(p + row + 1);
    }
#pragma unroll 1
    for (int done = 0; done < rows; done += at_once) {
        int next_row = row + at_once, from_entry = int(begin - uint32_t(base)), to_entry = int(end - uint32_t(base));
        begin = end = uint32_t(base);
        if (next_row < rows) {
            begin = load_offset(p + next_row);
            end = load_offset(p + next_row + 1);
        }
        typename P::sum sum = neutral<P>(q);
        if (quads && to_entry > from_entry)
            sum = add_quads<P, U, Values>(q, from, iso, from_entry, to_entry, part, shift);
        if (!quads)
            sum = add_singles<P, 4, Values>(q, from, iso, from_entry, to_entry, part, shift);
        sum = add_lanes<P>(q, sum, shift);
        if (row < rows && part == 0) {
            if (item.partial < 0)
                store_sum<P>(q, int64_t(item.row) + row, sum, to_entry > from_entry);
            else
                static_cast<typename P::sum *>(q.partial)[item.partial] = sum;
        }
        row = next_row;
    }
}

template <class P, int U> tsr_status launch_spmv_rows(const csr_args &q, int each, void *stream)
{
    int64_t blocks = (q.nitems + spmv_warps - 1) / spmv_warps;
    if (blocks > INT_MAX || q.b_stride > UINT32_MAX)
        return TSR_DECLINED;
    auto kernel = q.reads_a ? spmv_rows<P, U, true> : spmv_rows<P, U, false>;
    TSR_LAUNCH(kernel, unsigned(blocks), 32 * spmv_warps, 0, stream, q, each);
    launch_partials<P>(q, stream);
    return cudaGetLastError() == cudaSuccess ? TSR_OK : TSR_INTERNAL_ERROR;
}

template <class P> tsr_status launch_spans(const csr_args &q, void *stream)
{
    if (q.nspans > INT_MAX || q.b_stride > UINT32_MAX)
        return TSR_DECLINED;
    int64_t even = q.nspans + q.nspans % 2; /* the values stay aligned to 8 bytes */
    spmv_carries<P> carries = { nullptr, static_cast<uint32_t *>(q.partial) };
    carries.value = reinterpret_cast<typename P::sum *>(carries.row + even);
    TSR_LAUNCH(spmv_spans<P>, unsigned((q.nspans + spmv_warps - 1) / spmv_warps), 32 * spmv_warps, 0, stream, q, q.span, carries);
    TSR_LAUNCH(join_carries<P>, unsigned((q.nspans + 127) / 128), 128, 0, stream, q, carries, q.nspans);
    return cudaGetLastError() == cudaSuccess ? TSR_OK : TSR_INTERNAL_ERROR;
}

template <class P> tsr_status launch_spmv(const csr_args &q, int variant, void *stream)
{
    if constexpr (P::generic) {
        return launch_spmv_rows<P, 2>(q, 8, stream);
    } else {
        if (variant == 9)
            return launch_spans<P>(q, stream);
        int each = variant % 4 == 0 ? 8 : variant % 4 == 1 ? 4 : variant % 4 == 2 ? 16 : 12;
        return variant < 4 ? launch_spmv_rows<P, 2>(q, each, stream) : launch_spmv_rows<P, 4>(q, each, stream);
    }
}
