// SpMV by row: n == 1, a full vector, any monoid but ANY.
//
// 1 to 32 lanes compute a row, by its length (see csr_work.cuh); very long rows are cut into segments, whose partial sums a second kernel
// adds in order.  The lanes of a row load its columns and values, coalesced and 16 bytes at a time where it is long enough, then the
// elements of the vector, all without conditions, so that many loads are in flight; a shuffle tree adds the lanes.  No shared memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/spmm_csr.cuh"

constexpr int spmv_threads = 256;

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

/* The same by aligned quads, which exist, with any number of lanes: what is outside of the row is masked. */
template <class P, bool Values>
__device__ __forceinline__ typename P::sum add_masked(const csr_args &q, const spmv_entries<P> &from, typename P::sum iso, int begin, int end,
    int part, int shift)
{
    using element = typename P::element;
    typename P::sum sum = neutral<P>(q);
#pragma unroll 1
    for (int at = (begin & ~3) + 4 * part; at < end; at += 4 << shift) {
        uint32_t column[4];
        element value[4], x[4];
        stream_vector(column, from.column + at);
        if (Values)
            stream_vector(value, from.value + at);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            element one[1] = {};
            if (at + k >= begin && at + k < end && (!P::generic || q.reads_b))
                load_vector(one, reinterpret_cast<const char *>(from.x) + b_offset<true>(q, column[k]));
            x[k] = one[0];
        }
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (at + k >= begin && at + k < end)
                sum = add_product<P>(q, sum, Values ? P::widen(value[k]) : iso, P::widen(x[k]));
    }
    return sum;
}

/* An offset of A, less `base`; offsets of one item differ by less than 2^31, so that their low halves suffice. */
__device__ __forceinline__ uint32_t load_offset(const int64_t *p)
{
    return __ldg(reinterpret_cast<const uint32_t *>(p));
}

template <class P, int U, bool Values>
__global__ void __launch_bounds__(spmv_threads, 4) spmv_rows(const __grid_constant__ csr_args q, int each)
{
    int lane = threadIdx.x % 32;
    int64_t t = int64_t(blockIdx.x) * (spmv_threads / 32) + threadIdx.x / 32;
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
    int64_t blocks = (q.nitems + spmv_threads / 32 - 1) / (spmv_threads / 32);
    if (blocks > INT_MAX || q.b_stride > UINT32_MAX)
        return TSR_DECLINED;
    auto kernel = q.reads_a ? spmv_rows<P, U, true> : spmv_rows<P, U, false>;
    TSR_LAUNCH(kernel, unsigned(blocks), spmv_threads, 0, stream, q, each);
    launch_partials<P>(q, stream);
    return cudaGetLastError() == cudaSuccess ? TSR_OK : TSR_INTERNAL_ERROR;
}

// ---- Rows by class ----

/* Blocks of a launch: long rows first, those of class c from block[c] on. */
struct spmv_blocks {
    uint32_t block[spmv_classes];
    int64_t rows[spmv_classes];       /* in the class */
    int64_t first[spmv_classes];      /* in the list of rows */
};

/* How the lanes of a row take its entries. */
enum spmv_way { by_singles, by_masked_quads, by_quads };

/* Entries [begin, end) of a row (all that this group of 2^shift lanes adds up), in each lane. */
template <class P, int U, spmv_way Way, bool Values>
__device__ __forceinline__ typename P::sum add_row(const csr_args &q, int64_t begin, int64_t end, int shift)
{
    int part = threadIdx.x & ((1 << shift) - 1);
    int64_t base = begin & ~int64_t(3);
    spmv_entries<P> from = { q.i + base, static_cast<const typename P::element *>(q.x) + (Values ? base : 0),
        static_cast<const typename P::element *>(q.b) };
    typename P::sum sum = neutral<P>(q), iso = iso_value<P>(q.iso);
    bool quads = Way != by_singles && q.a_vectors && ((end + 3) & ~int64_t(3)) <= q.nvals;
    if (Way == by_quads && quads && begin < end)
        sum = add_quads<P, U, Values>(q, from, iso, int(begin - base), int(end - base), part, shift);
    if (Way == by_masked_quads && quads)
        sum = add_masked<P, Values>(q, from, iso, int(begin - base), int(end - base), part, shift);
    if (!quads && begin < end)
        sum = add_singles<P, 4, Values>(q, from, iso, int(begin - base), int(end - base), part, shift);
    return add_lanes<P>(q, sum, shift);
}

template <class P, int U, spmv_way Way, bool Values>
__device__ __forceinline__ void spmv_class(const csr_args &q, const spmv_blocks &blocks, const uint32_t *rows, int c, int shift)
{
    int64_t at = (int64_t(blockIdx.x - blocks.block[c]) * spmv_threads + threadIdx.x) >> shift, begin = 0, end = 0;
    bool mine = at < blocks.rows[c];
    uint32_t row = mine && rows ? __ldg(rows + blocks.first[c] + at) : uint32_t(at);
    if (mine) {
        begin = __ldg(q.p + row);
        end = __ldg(q.p + row + 1);
    }
    typename P::sum sum = add_row<P, U, Way, Values>(q, begin, end, shift);
    if (mine && (threadIdx.x & ((1 << shift) - 1)) == 0)
        store_sum<P>(q, row, sum, end > begin);
}

/* Rows of up to 32 entries: 2^(shift + c) lanes for class c. */
template <class P, spmv_way Way, bool Values>
__global__ void __launch_bounds__(spmv_threads, sizeof(typename P::element) == 8 ? 5 : 6) spmv_short(const __grid_constant__ csr_args q, const __grid_constant__ spmv_blocks blocks,
    const uint32_t *rows, int shift)
{
    int c = blockIdx.x >= blocks.block[0] ? 0 : blockIdx.x >= blocks.block[1] ? 1 : blockIdx.x >= blocks.block[2] ? 2 : 3;
    spmv_class<P, 1, Way, Values>(q, blocks, rows, c, c + shift);
}

/* Longer rows, and segments (a warp each). */
template <class P, int U, bool Values>
__global__ void __launch_bounds__(spmv_threads, sizeof(typename P::element) * U < 16 ? 5 : sizeof(typename P::element) * U < 32 ? 4 : 2) spmv_long(const __grid_constant__ csr_args q, const __grid_constant__ spmv_blocks blocks,
    const uint32_t *rows)
{
    if (blockIdx.x >= blocks.block[6]) {
        int c = blockIdx.x >= blocks.block[4] ? 4 : blockIdx.x >= blocks.block[5] ? 5 : 6;
        spmv_class<P, U, by_quads, Values>(q, blocks, rows, c, c - 1);
        return;
    }
    int64_t t = (int64_t(blockIdx.x) * spmv_threads + threadIdx.x) / 32;
    if (t >= q.nitems)
        return;
    csr_item item = q.items[t], next = q.items[t + 1];
    int64_t end = next.row == item.row ? next.entry : __ldg(q.p + item.row + 1);
    typename P::sum sum = add_row<P, U, by_quads, Values>(q, item.entry, end, 5);
    if (threadIdx.x % 32 == 0)
        static_cast<typename P::sum *>(q.partial)[item.partial] = sum;
}

/* Block numbers of classes [first, last) after `total` other blocks, 2^shift lanes a row of the first class, twice as many for the next;
 * returns how many blocks it makes. */
inline int64_t count_blocks(spmv_blocks &blocks, int64_t total, int first, int last, int shift)
{
    for (int c = last - 1; c >= first; c--) {
        blocks.block[c] = uint32_t(total);
        total += ((blocks.rows[c] << (shift + c - first)) + spmv_threads - 1) / spmv_threads;
    }
    return total;
}

/* One class for all rows, in their order, where others are few and not much longer: sorted rows read A in pieces. */
inline int one_class(const csr_args &q)
{
    int64_t longer = q.nitems > 0 ? q.nrows : 0;
    for (int c = spmv_classes - 1; c >= 0; c--) {
        if (longer == 0 && q.class_rows[c] >= q.nrows / 10 * 7)
            return c;
        if (c > 0 && c < spmv_classes - 1 && longer == 0 && q.class_rows[c - 1] >= q.nrows / 10 * 9)
            return c - 1;
        longer += q.class_rows[c];
    }
    return -1;
}

template <class P, int U, spmv_way Short, bool Values> tsr_status launch_classes(const csr_args &q, int shift, void *stream)
{
    spmv_blocks blocks = {};
    int one = one_class(q);
    int64_t before = 0;
    for (int c = 0; c < spmv_classes; c++) {
        blocks.rows[c] = one < 0 ? q.class_rows[c] : one == c ? q.nrows : 0;
        blocks.first[c] = before;
        before += blocks.rows[c];
    }
    spmv_blocks of_long = blocks;
    int64_t segments = (q.nitems + spmv_threads / 32 - 1) / (spmv_threads / 32);
    int64_t n_short = count_blocks(blocks, 0, 0, 4, shift), n_long = count_blocks(of_long, segments, 4, spmv_classes, 3);
    if (n_short > INT_MAX || n_long > INT_MAX || q.b_stride > UINT32_MAX)
        return TSR_DECLINED;
    auto kernel_long = spmv_long<P, U, Values>;
    auto kernel_short = spmv_short<P, Short, Values>;
    const uint32_t *rows = one < 0 ? q.rows : nullptr;
    if (n_long > 0)
        TSR_LAUNCH(kernel_long, unsigned(n_long), spmv_threads, 0, stream, q, of_long, rows);
    if (n_short > 0)
        TSR_LAUNCH(kernel_short, unsigned(n_short), spmv_threads, 0, stream, q, blocks, rows, shift);
    launch_partials<P>(q, stream);
    return cudaGetLastError() == cudaSuccess ? TSR_OK : TSR_INTERNAL_ERROR;
}

template <class P, int U, spmv_way Short> tsr_status launch_values(const csr_args &q, int shift, void *stream)
{
    return q.reads_a ? launch_classes<P, U, Short, true>(q, shift, stream) : launch_classes<P, U, Short, false>(q, shift, stream);
}

template <class P> tsr_status launch_spmv(const csr_args &q, int variant, void *stream)
{
    if constexpr (!P::generic)
        switch (variant) {
        case 1: return launch_spmv_rows<P, 2>(q, 8, stream);
        case 2: return launch_values<P, 1, by_masked_quads>(q, 0, stream);
        case 3: return launch_values<P, 1, by_masked_quads>(q, 1, stream);
        case 4: return launch_values<P, 4, by_singles>(q, 1, stream);
        }
    return launch_values<P, 2, by_singles>(q, 0, stream);
}
