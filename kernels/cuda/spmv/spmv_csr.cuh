// SpMV by row: n == 1, a full vector, any monoid but ANY.
//
// Entries are taken as they lie, whatever their rows, in strips of 128, four neighbours a lane: columns and values come in whole
// lines.  (What bounds SpMV is how many lines a multiprocessor can ask L2 for.)  Which entries end a row is known beforehand, see
// csr_work.cuh.
//
// A block computes one item, consecutive whole rows or a part of a long one; its warps take even shares of the item's strips.
// Where no row ends in a strip, its products join the sums of the lanes.  Else every lane adds up what it has before its first
// end and after its last, a segmented scan over the lanes adds what went before, and the lanes store their rows.  Rows that
// several warps have a share of are joined in the end, in order; parts of a row leave partial sums, which a second kernel adds.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/spmm/csr/spmm_csr.cuh"

constexpr int spmv_warps = 8, spmv_threads = 32 * spmv_warps;
constexpr int spmv_strip = 128; /* entries */

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

template <class P> __device__ __forceinline__ typename P::sum add_product(
    const csr_args &q, typename P::sum s, typename P::sum a, typename P::sum b)
{
    if constexpr (P::generic)
        return P::merge(q.ops.add, s, P::begin(q.ops.add, P::multiply(q.ops.mul, a, b)));
    else
        return P::step(s, a, b);
}

/* A sum of another lane, word by word. */
template <class S, class Shuffle> __device__ __forceinline__ S shuffled(S sum, Shuffle &&shuffle)
{
    if constexpr (std::is_arithmetic_v<S>) {
        return S(shuffle(sum));
    } else {
        uint32_t word[sizeof sum / 4];
        memcpy(word, &sum, sizeof sum);
#pragma unroll
        for (int k = 0; k < int(sizeof sum / 4); k++)
            word[k] = shuffle(word[k]);
        memcpy(&sum, word, sizeof sum);
        return sum;
    }
}

template <class S> __device__ __forceinline__ S from_below(S sum, int by)
{
    return shuffled(sum, [by](auto x) { return __shfl_up_sync(~0u, x, by); });
}

template <class S> __device__ __forceinline__ S from_lane(S sum, int lane)
{
    return shuffled(sum, [lane](auto x) { return __shfl_sync(~0u, x, lane); });
}

template <class S> __device__ __forceinline__ S across(S sum, int by)
{
    return shuffled(sum, [by](auto x) { return __shfl_xor_sync(~0u, x, by); });
}

/* The sum over the warp, in every lane. */
template <class P> __device__ __forceinline__ typename P::sum add_lanes(const csr_args &q, typename P::sum sum)
{
#pragma unroll
    for (int by = 1; by < 32; by *= 2)
        sum = join<P>(q, sum, across(sum, by));
    return sum;
}

/* The sum of the lanes from `start` (this lane's own, not above it) up to this one. */
template <class P> __device__ __forceinline__ typename P::sum add_lanes_from(
    const csr_args &q, typename P::sum sum, int start, int lane)
{
#pragma unroll
    for (int by = 1; by < 32; by *= 2) {
        typename P::sum below = from_below(sum, by);
        if (lane - by >= start)
            sum = join<P>(q, below, sum);
    }
    return sum;
}

/* What products are made of, and where sums go: an element of B for each entry, or one of a marked bitmap (spmv_marked.cu). */
template <class P> struct spmv_of {
    using sum = typename P::sum;
    using factor = sum;                     /* of A */
    using operand = typename P::element;    /* of B */

    static __device__ __forceinline__ operand load(const csr_args &q, uint32_t column)
    {
        operand x[1] = {};
        if (!P::generic || q.reads_b)
            load_vector(x, static_cast<const char *>(q.b) + b_offset<true>(q, column));
        return x[0];
    }

    static __device__ __forceinline__ factor iso(const csr_args &q) { return iso_value<P>(q); }

    static __device__ __forceinline__ sum product(const csr_args &q, factor a, operand x, uint32_t)
    {
        if constexpr (is_complex<sum>)
            a = a.conjugated(q.conjugate);
        return add_product<P>(q, neutral<P>(q), a, P::widen(x));
    }

    static __device__ __forceinline__ void store(const csr_args &q, int64_t row, sum s, bool any)
    {
        if (has_plain<P> && q.plain) {
            store_once(static_cast<sum *>(q.c) + row * q.ldc, s);
            return;
        }
        row_sums<P, 1> sums;
        sums.value[0] = s;
        sums.have = any;
        store_row<P, 1>(q, row * q.ldc, 0, sums, any);
    }

    static __device__ __forceinline__ void store_partial(const csr_args &q, int32_t number, sum s)
    {
        static_cast<sum *>(q.partial)[number] = s;
    }
};

/* Row number `row` of those with entries is complete. */
template <class P> __device__ __forceinline__ void store_filled(const csr_args &q, uint32_t row, typename P::sum sum)
{
    spmv_of<P>::store(q, q.filled == q.nrows ? row : __ldg(q.rows + row), sum, true);
}

// ---- The rows of a warp ----

constexpr uint32_t no_row = ~0u;

/* What rows that began or go on in another warp get from this one. */
template <class P> struct spmv_share {
    typename P::sum head, tail; /* the sums up to the first end of a row, and after the last one; without an end all is tail */
    uint32_t row;               /* that ends first, or no_row */
};

/* What a lane has of a strip: products of four neighbours (neutral: no entry); a bit for each that ends a row; the first such row. */
template <class P> struct spmv_quad {
    typename P::sum product[4];
    uint32_t ends, row;
};

/* A warp on its way through its strips. */
template <class P> struct spmv_walk {
    using sum = typename P::sum;
    int lane;
    spmv_share<P> *share; /* in shared memory; head and row */
    sum carry;            /* since the last end of a row up to ...; the same in all lanes */
    sum since;            /* ... here: strips without an end, each lane its own */
    bool pending, ended;  /* there were such strips; there was an end */

    __device__ __forceinline__ void start(const csr_args &q, spmv_share<P> *to)
    {
        lane = threadIdx.x % 32;
        share = to;
        carry = since = neutral<P>(q);
        pending = ended = false;
        if (lane == 0)
            share->row = no_row;
        __syncwarp();
    }

    /* All since the last end becomes `carry`. */
    __device__ __forceinline__ void collect(const csr_args &q)
    {
        if (!pending)
            return;
        carry = join<P>(q, carry, add_lanes<P>(q, since));
        since = neutral<P>(q);
        pending = false;
    }

    /* first: up to the first end; last: after the last one, all without an end.  Rows between are stored. */
    __device__ __forceinline__ void split(const csr_args &q, const spmv_quad<P> &mine, sum &first, sum &last) const
    {
        if (__any_sync(~0u, mine.ends & (mine.ends - 1))) {
            uint32_t row = mine.row;
            first = last = neutral<P>(q);
#pragma unroll
            for (int k = 0; k < 4; k++) {
                last = join<P>(q, last, mine.product[k]);
                if (mine.ends >> k & 1) {
                    if (row == mine.row)
                        first = last;
                    else
                        store_filled<P>(q, row, last);
                    row++;
                    last = neutral<P>(q);
                }
            }
        } else {
            first = mine.product[0];
            last = neutral<P>(q);
#pragma unroll
            for (int k = 1; k < 4; k++)
                if (mine.ends & ((1u << k) - 1))
                    last = join<P>(q, last, mine.product[k]);
                else
                    first = join<P>(q, first, mine.product[k]);
            last = mine.ends ? last : first;
        }
    }

    __device__ __forceinline__ void take(const csr_args &q, const spmv_quad<P> &mine)
    {
        uint32_t lanes = __ballot_sync(~0u, mine.ends != 0);
        if (lanes == 0) {
            sum left = join<P>(q, mine.product[0], mine.product[1]), right = join<P>(q, mine.product[2], mine.product[3]);
            since = join<P>(q, since, join<P>(q, left, right));
            pending = true;
            return;
        }
        collect(q);
        sum first, last;
        split(q, mine, first, last);
        uint32_t before = lanes & ((1u << lane) - 1);
        int start = 31 - __clz(int((lanes & ((2u << lane) - 1)) | 1));
        last = add_lanes_from<P>(q, last, start, lane);
        sum left = from_below(last, 1);
        left = lane == 0 ? neutral<P>(q) : left;
        left = before == 0 ? join<P>(q, carry, left) : left;
        first = join<P>(q, left, first);
        if (mine.ends && before == 0 && !ended) {
            share->head = first;
            share->row = mine.row;
        } else if (mine.ends) {
            store_filled<P>(q, mine.row, first);
        }
        carry = from_lane(last, 31);
        ended = true;
    }
};

// ---- Strips ----

/* Entries [begin, end) from `base`, a multiple of the length of a strip, on. */
struct spmv_span {
    int64_t base;
    int begin, end;
    bool whole; /* rows; else a part of one, whose end does not count */
};

template <class P, bool Values> __device__ __forceinline__ const typename P::element *values_from(const csr_args &q, int64_t base)
{
    return static_cast<const typename P::element *>(q.x) + (Values ? base : 0);
}

/* The ends of rows among the four entries at `place` of which only those from number `skip` on count. */
template <class P>
__device__ __forceinline__ void set_ends(spmv_quad<P> &mine, const csr_ends &ends, int place, int skip, uint32_t counts)
{
    int shift = place % 32;
    mine.ends = ends.bits >> shift & counts;
    mine.row = ends.row + __popc(ends.bits & ((1u << (shift + skip)) - 1));
}

/* U strips from number `at` of the span on that lie inside it, all loads before their use. */
template <class P, int U, bool Values>
__device__ __forceinline__ void add_strips(const csr_args &q, const spmv_span &span, int at, spmv_walk<P> &walk)
{
    using element = typename P::element;
    using of = spmv_of<P>;
    const uint32_t *columns = q.i + span.base;
    const element *values = values_from<P, Values>(q, span.base);
    const csr_ends *ends = q.ends + span.base / 32;
    int place = at * spmv_strip + 4 * walk.lane;
    uint32_t column[U][4];
    element value[U][4];
    typename of::operand x[U][4];
    csr_ends mine[U];
#pragma unroll
    for (int u = 0; u < U; u++) {
        stream_vector(column[u], columns + place + u * spmv_strip);
        if (Values)
            stream_vector(value[u], values + place + u * spmv_strip);
        mine[u] = ends[place / 32 + u * (spmv_strip / 32)];
    }
#pragma unroll
    for (int u = 0; u < U; u++)
#pragma unroll
        for (int k = 0; k < 4; k++)
            x[u][k] = of::load(q, column[u][k]);
    typename of::factor iso = of::iso(q);
#pragma unroll
    for (int u = 0; u < U; u++) {
        spmv_quad<P> quad;
#pragma unroll
        for (int k = 0; k < 4; k++)
            quad.product[k] = of::product(q, Values ? P::widen(value[u][k]) : iso, x[u][k], column[u][k]);
        set_ends(quad, mine[u], place, 0, span.whole ? 15 : 0);
        walk.take(q, quad);
    }
}

/* A strip that may lie partly outside of the span, for any alignment.  Lanes without an entry read one that is at hand. */
template <class P, bool Values>
__device__ __forceinline__ void add_edge(const csr_args &q, const spmv_span &span, int at, spmv_walk<P> &walk)
{
    const uint32_t *columns = q.i + span.base;
    const typename P::element *values = values_from<P, Values>(q, span.base);
    int place = at * spmv_strip + 4 * walk.lane, last = (span.end - 1) / 32;
    using of = spmv_of<P>;
    typename of::factor iso = of::iso(q);
    spmv_quad<P> quad;
    uint32_t counts = 0;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        bool exists = place + k >= span.begin && place + k < span.end;
        int from = exists ? place + k : span.end - 1;
        uint32_t column = load_once(columns + from);
        typename of::factor a = Values ? P::widen(load_once(values + from)) : iso;
        typename P::sum product = of::product(q, a, of::load(q, column), column);
        quad.product[k] = exists ? product : neutral<P>(q);
        counts |= uint32_t(exists && span.whole) << k;
    }
    int skip = span.begin - place;
    csr_ends ends = q.ends[span.base / 32 + (place / 32 < last ? place / 32 : last)];
    set_ends(quad, ends, place, skip < 0 ? 0 : skip > 3 ? 3 : skip, counts);
    walk.take(q, quad);
}

// ---- The kernel ----

/* Strips in flight, and blocks that a multiprocessor has registers for: more of FP64 drive each other's elements of the vector out
 * of L1. */
constexpr int spmv_unroll = 2;
template <class P> constexpr int spmv_blocks = sizeof(typename P::sum) > 8 ? 2 : P::generic || sizeof(typename P::sum) == 8 ? 3 : 5;

/* This warp's share of the item; head and row are written by the way, the tail is returned. */
template <class P, bool Values>
__device__ __forceinline__ typename P::sum add_share(const csr_args &q, const csr_item &item, int64_t end, spmv_share<P> *share)
{
    spmv_span span = { item.entry / spmv_strip * spmv_strip, int(item.entry % spmv_strip), 0, item.partial < 0 };
    span.end = int(end - span.base);
    int strips = span.end > span.begin ? (span.end + spmv_strip - 1) / spmv_strip : 0;
    int each = (strips + spmv_warps - 1) / spmv_warps, at = threadIdx.x / 32 * each;
    int last = at + each < strips ? at + each : strips;
    int inside = q.a_vectors ? span.begin > 0 : strips, inside_end = span.end / spmv_strip; /* strips inside the span */
    spmv_walk<P> walk;
    walk.start(q, share);
#pragma unroll 1
    while (at < last) {
        int left = (last < inside_end ? last : inside_end) - at;
        if (at < inside || left <= 0)
            add_edge<P, Values>(q, span, at++, walk);
        else if (left < spmv_unroll)
            add_strips<P, 1, Values>(q, span, at++, walk);
        else {
            add_strips<P, spmv_unroll, Values>(q, span, at, walk);
            at += spmv_unroll;
        }
    }
    walk.collect(q);
    return walk.carry;
}

/* Rows that end in the strips of warp `warp`, first of them, and began in others'; or the item's partial sum. */
template <class P>
__device__ __forceinline__ void join_shares(const csr_args &q, const csr_item &item, const spmv_share<P> *shares, int warp)
{
    bool ends = shares[warp].row != no_row;
    typename P::sum sum = ends ? shares[warp].head : shares[warp].tail;
    for (int before = warp - 1; before >= 0; before--) {
        sum = join<P>(q, shares[before].tail, sum);
        if (shares[before].row != no_row)
            break;
    }
    if (ends)
        store_filled<P>(q, shares[warp].row, sum);
    else if (item.partial >= 0 && warp == spmv_warps - 1)
        spmv_of<P>::store_partial(q, item.partial, sum);
}

/* One block for each item; then blocks for rows without entries. */
template <class P, bool Values> __device__ __forceinline__ void multiply_vector(const csr_args &q)
{
    __shared__ spmv_share<P> shares[spmv_warps];
    if (blockIdx.x >= q.nitems) {
        int64_t at = q.filled + (blockIdx.x - q.nitems) * spmv_threads + threadIdx.x;
        if (at < q.nrows)
            spmv_of<P>::store(q, __ldg(q.rows + at), neutral<P>(q), false);
        return;
    }
    csr_item item = q.items[blockIdx.x];
    spmv_share<P> *share = shares + threadIdx.x / 32;
    typename P::sum tail = add_share<P, Values>(q, item, q.items[blockIdx.x + 1].entry, share);
    if (threadIdx.x % 32 == 0)
        share->tail = tail;
    __syncthreads();
    if (threadIdx.x < spmv_warps)
        join_shares<P>(q, item, shares, threadIdx.x);
}

template <class P, bool Values> __global__ void __launch_bounds__(spmv_threads, spmv_blocks<P>)
    spmv_rows(const __grid_constant__ csr_args q)
{
    multiply_vector<P, Values>(q);
}

/* The same of product y. */
template <class P, bool Values> __global__ void __launch_bounds__(spmv_threads, spmv_blocks<P>)
    spmv_rows_of_batch(const __grid_constant__ csr_args all)
{
    const csr_args q = product_of_batch(all, blockIdx.y);
    multiply_vector<P, Values>(q);
}

/* All but partial sums. */
template <class P> tsr_status launch_spmv_rows(const csr_args &q, void *stream)
{
    int64_t blocks = q.nitems + (q.nrows - q.filled + spmv_threads - 1) / spmv_threads;
    if (blocks > INT_MAX || q.b_stride > UINT32_MAX)
        return TSR_DECLINED;
    auto kernel = q.reads_a ? spmv_rows<P, true> : spmv_rows<P, false>;
    if constexpr (has_batches<P>)
        if (q.products)
            kernel = q.reads_a ? spmv_rows_of_batch<P, true> : spmv_rows_of_batch<P, false>;
    const dim3 grid = dim3(unsigned(blocks), unsigned(q.products ? q.products : 1));
    TSR_LAUNCH(kernel, grid, spmv_threads, 0, stream, q);
    return launch_status();
}

template <class P> tsr_status launch_spmv(csr_args q, void *stream)
{
    q.plain = is_plain<P>(q);
    tsr_status status = launch_spmv_rows<P>(q, stream);
    if (status == TSR_OK)
        launch_partials<P>(q, stream);
    return status == TSR_OK ? launch_status() : status;
}
