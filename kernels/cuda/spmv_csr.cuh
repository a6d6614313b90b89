// SpMV by row: n == 1, a full vector, any monoid but ANY.
//
// 1 to 32 lanes compute a row, by its length (see csr_work.cuh); very long rows are cut into segments, whose partial sums a
// second kernel adds in order.  The lanes of a row load its columns and values, coalesced and 16 bytes at a time where it is long
// enough, then the elements of the vector, all without conditions, so that many loads are in flight; a shuffle tree adds the
// lanes.  No shared memory.
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
/* The sum over groups of 2^shift neighbouring lanes, in each of them. */
template <class P> __device__ __forceinline__ typename P::sum add_lanes(const csr_args &q, typename P::sum sum, int shift)
{
    if (shift == 0)
        return sum;
#pragma unroll
    for (int k = 0; k < 5; k++)
        if (k < shift)
            sum = join<P>(q, sum, typename P::sum(__shfl_xor_sync(~0u, sum, 1 << k)));
    return sum;
}

template <class P> __device__ __forceinline__ void store_sum(const csr_args &q, int64_t row, typename P::sum sum, bool any)
{
    if (has_plain<P> && q.plain) {
        store_once(static_cast<typename P::sum *>(q.c) + row * q.ldc, sum);
        return;
    }
    row_sums<P, 1> sums;
    sums.value[0] = sum;
    sums.have = any;
    store_row<P, 1>(q, row * q.ldc, sums, any);
}

template <class P>
__device__ __forceinline__ typename P::sum add_product(const csr_args &q, typename P::sum s, typename P::sum a, typename P::sum b)
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

/* U entries or quads of entries of one lane, all loads before their use.  Where a lane has fewer, it repeats the last place of
 * its row, which is at hand, and leaves it out of the sum: loads without conditions stay together. */
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
    __device__ __forceinline__ typename P::sum add(
        const csr_args &q, typename P::sum sum, typename P::sum iso, int at, int step, int end) const
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

/* Entries [begin, end) of a row, not none, for lane `part` of 2^shift >= 8: the aligned quads, and the up to six entries around
 * them. */
template <class P, int U, bool Values> __device__ __forceinline__ typename P::sum add_quads(
    const csr_args &q, const spmv_entries<P> &from, typename P::sum iso, int begin, int end, int part, int shift)
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
template <class P, int U, bool Values> __device__ __forceinline__ typename P::sum add_singles(
    const csr_args &q, const spmv_entries<P> &from, typename P::sum iso, int begin, int end, int part, int shift)
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

// ---- The kernel ----

/* How rows are dealt to blocks of threads: segments first, a warp each, then class by class, long rows first. */
struct spmv_plan {
    uint32_t segments;                 /* blocks */
    uint32_t from[spmv_classes];       /* first block of the class */
    int64_t rows[spmv_classes];        /* of the class */
    const uint32_t *row[spmv_classes]; /* their numbers; NULL: 0, 1, 2 ... */
};

/* Classes before this one have short rows. */
constexpr int spmv_long = 4;

/* Lanes of a row are 2^shift; of class 0 a lane has two rows. */
__host__ __device__ __forceinline__ int spmv_shift(int c)
{
    return c < spmv_long ? c : c - 1;
}
constexpr int spmv_pair = 2 * spmv_threads;

/* Entries [begin, end) of a row (all that this group of 2^shift lanes adds up), in each lane. */
template <class P, int U, bool Quads, bool Values>
__device__ __forceinline__ typename P::sum add_row(const csr_args &q, int64_t begin, int64_t end, int shift)
{
    int part = threadIdx.x & ((1 << shift) - 1);
    int64_t base = begin & ~int64_t(3);
    spmv_entries<P> from = { q.i + base, static_cast<const typename P::element *>(q.x) + (Values ? base : 0),
        static_cast<const typename P::element *>(q.b) };
    typename P::sum sum = neutral<P>(q), iso = iso_value<P>(q.iso);
    bool quads = Quads && q.a_vectors && ((end + 3) & ~int64_t(3)) <= q.nvals;
    if (quads && begin < end)
        sum = add_quads<P, U, Values>(q, from, iso, int(begin - base), int(end - base), part, shift);
    if (!quads && begin < end)
        sum = add_singles<P, 4, Values>(q, from, iso, int(begin - base), int(end - base), part, shift);
    return add_lanes<P>(q, sum, shift);
}

/* The part of class c that block number `block` of the class has. */
template <class P, int U, bool Quads, bool Values>
__device__ __forceinline__ void spmv_class(const csr_args &q, const spmv_plan &plan, int c, int64_t block)
{
    int shift = spmv_shift(c);
    int64_t at = (block * spmv_threads + threadIdx.x) >> shift, begin = 0, end = 0;
    bool mine = at < plan.rows[c];
    uint32_t row = mine && plan.row[c] ? __ldg(plan.row[c] + at) : uint32_t(at);
    if (mine) {
        begin = __ldg(q.p + row);
        end = __ldg(q.p + row + 1);
    }
    typename P::sum sum = add_row<P, U, Quads, Values>(q, begin, end, shift);
    if (mine && (threadIdx.x & ((1 << shift) - 1)) == 0)
        store_sum<P>(q, row, sum, end > begin);
}

/* Class 0: each lane adds up two rows, two entries of each in flight. */
template <class P, bool Values>
__device__ __forceinline__ void spmv_pairs(const csr_args &q, const spmv_plan &plan, int64_t block)
{
    using element = typename P::element;
    int64_t begin[2];
    uint32_t row[2];
    int length[2];
    typename P::sum sum[2], iso = iso_value<P>(q.iso);
    bool mine[2];
#pragma unroll
    for (int r = 0; r < 2; r++) {
        int64_t at = block * spmv_pair + r * spmv_threads + threadIdx.x;
        mine[r] = at < plan.rows[0];
        row[r] = mine[r] && plan.row[0] ? __ldg(plan.row[0] + at) : uint32_t(at);
        begin[r] = mine[r] ? __ldg(q.p + row[r]) : 0;
        length[r] = mine[r] ? int(__ldg(q.p + row[r] + 1) - begin[r]) : 0;
        sum[r] = neutral<P>(q);
    }
    begin[0] = length[0] > 0 ? begin[0] : begin[1]; /* an empty row reads with the other */
    begin[1] = length[1] > 0 ? begin[1] : begin[0];
    int most = length[0] > length[1] ? length[0] : length[1];
    const uint32_t *columns[2] = { q.i + begin[0], q.i + begin[1] };
    const element *all = static_cast<const element *>(q.x), *values[2] = { all, all };
    if (Values) {
        values[0] += begin[0];
        values[1] += begin[1];
    }
    int last[2] = { length[0] > 1 ? length[0] - 1 : 0, length[1] > 1 ? length[1] - 1 : 0 };
#pragma unroll 1
    for (int k = 0; k < most; k += 2) {
        uint32_t column[4];
        element value[4], x[4];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            int place = k + j % 2 < last[j / 2] ? k + j % 2 : last[j / 2];
            column[j] = load_once(keep_address(columns[j / 2]) + place);
            if (Values)
                value[j] = load_once(keep_address(values[j / 2]) + place);
        }
#pragma unroll
        for (int j = 0; j < 4; j++) {
            element one[1] = {};
            if (!P::generic || q.reads_b)
                load_vector(one, static_cast<const char *>(q.b) + b_offset<true>(q, column[j]));
            x[j] = one[0];
        }
#pragma unroll
        for (int j = 0; j < 4; j++)
            if (k + j % 2 < length[j / 2])
                sum[j / 2] = add_product<P>(q, sum[j / 2], Values ? P::widen(value[j]) : iso, P::widen(x[j]));
    }
#pragma unroll
    for (int r = 0; r < 2; r++)
        if (mine[r])
            store_sum<P>(q, row[r], sum[r], length[r] > 0);
}

template <class P, int U, bool Values> __device__ __forceinline__ void spmv_segment(const csr_args &q)
{
    int64_t t = (int64_t(blockIdx.x) * spmv_threads + threadIdx.x) / 32;
    if (t >= q.nitems)
        return;
    csr_item item = q.items[t], next = q.items[t + 1];
    int64_t end = next.row == item.row ? next.entry : __ldg(q.p + item.row + 1);
    typename P::sum sum = add_row<P, U, true, Values>(q, item.entry, end, 5);
    if (threadIdx.x % 32 == 0)
        static_cast<typename P::sum *>(q.partial)[item.partial] = sum;
}

/* Which rows there are: a kernel for one kind has more registers, or more threads. */
enum spmv_kind { only_short, only_long, short_and_long };

/* Blocks in a multiprocessor; without this the compiler saves registers and waits for one load after the other. */
template <class P> constexpr int spmv_blocks(spmv_kind kind)
{
    return sizeof(typename P::element) == 8 ? (kind == only_short ? 5 : 4) : kind == only_short ? 6 : kind == only_long ? 4 : 5;
}

template <class P, spmv_kind Kind, bool Values> __global__ void __launch_bounds__(spmv_threads, spmv_blocks<P>(Kind))
    spmv_rows(const __grid_constant__ csr_args q, const __grid_constant__ spmv_plan plan)
{
    constexpr int U = Kind == only_long && sizeof(typename P::element) <= 4 ? 4 : 2;
    if (Kind != only_short && blockIdx.x < plan.segments) {
        spmv_segment<P, U, Values>(q);
        return;
    }
    int c = Kind == only_short ? spmv_long - 1 : spmv_classes - 1;
    while (c > 0 && blockIdx.x >= plan.from[c - 1])
        c--;
    int64_t block = blockIdx.x - plan.from[c];
    if (Kind != only_long && c == 0)
        spmv_pairs<P, Values>(q, plan, block);
    else if (Kind == only_short || (Kind == short_and_long && c < spmv_long))
        spmv_class<P, U, false, Values>(q, plan, c, block);
    else
        spmv_class<P, U, true, Values>(q, plan, c, block);
}

// ---- Launching ----

/* The class in whose way all rows are computed, in their order, where the others are few and not much longer: no list is needed;
 * else -1. */
inline int one_class(const csr_args &q)
{
    int64_t longer = q.nitems > 0 ? q.nrows : 0;
    for (int c = spmv_classes - 1; c >= 0 && longer == 0; c--) {
        if (q.class_rows[c] >= q.nrows / 10 * 7)
            return c;
        if (c > 0 && c < spmv_classes - 1 && q.class_rows[c - 1] >= q.nrows / 10 * 9)
            return c - 1;
        longer += q.class_rows[c];
    }
    return -1;
}

inline void choose_rows(const csr_args &q, spmv_plan *plan)
{
    int one = one_class(q);
    int64_t before = 0, few = 0;
    for (int c = 0; c < spmv_classes; c++) {
        plan->rows[c] = one < 0 ? q.class_rows[c] : one == c ? q.nrows : 0;
        plan->row[c] = one < 0 ? q.rows + before : nullptr;
        before += q.class_rows[c];
        few += c < spmv_long ? plan->rows[c] : 0;
    }
    if (few == 0 || few > q.nrows / 20 || one >= 0)
        return;
    for (int c = 0; c < spmv_long; c++) /* not worth the mixed kernel */
        plan->rows[c] = 0;
    plan->rows[spmv_long] += few;
    plan->row[spmv_long] = q.rows;
}

/* Returns the number of blocks. */
inline int64_t choose_blocks(const csr_args &q, spmv_plan *plan)
{
    int64_t blocks = (q.nitems + spmv_threads / 32 - 1) / (spmv_threads / 32);
    plan->segments = uint32_t(blocks);
    for (int c = spmv_classes - 1; c >= 0; c--) {
        int64_t threads = c == 0 ? (plan->rows[0] + 1) / 2 : plan->rows[c] << spmv_shift(c);
        plan->from[c] = uint32_t(blocks);
        blocks += (threads + spmv_threads - 1) / spmv_threads;
    }
    return blocks;
}

template <class P, spmv_kind Kind> void launch_kind(const csr_args &q, const spmv_plan &plan, int64_t blocks, void *stream)
{
    auto kernel = q.reads_a ? spmv_rows<P, Kind, true> : spmv_rows<P, Kind, false>;
    TSR_LAUNCH(kernel, unsigned(blocks), spmv_threads, 0, stream, q, plan);
}

template <class P> tsr_status launch_spmv(csr_args q, void *stream)
{
    q.plain = is_plain<P>(q);
    spmv_plan plan = {};
    choose_rows(q, &plan);
    int64_t blocks = choose_blocks(q, &plan);
    if (blocks > INT_MAX || q.b_stride > UINT32_MAX)
        return TSR_DECLINED;
    bool any_long = q.nitems > 0, any_short = false;
    for (int c = 0; c < spmv_classes; c++)
        (c < spmv_long ? any_short : any_long) |= plan.rows[c] > 0;
    if (any_long && any_short)
        launch_kind<P, short_and_long>(q, plan, blocks, stream);
    else if (any_long)
        launch_kind<P, only_long>(q, plan, blocks, stream);
    else
        launch_kind<P, only_short>(q, plan, blocks, stream);
    launch_partials<P>(q, stream);
    return launch_status();
}
