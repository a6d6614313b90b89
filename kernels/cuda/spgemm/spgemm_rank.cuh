// Rows with many products.  Rank: bits say which columns of a window there are, and counting bits says which entry of the row a column is;
// sums lie in shared memory if they fit.  Dense: a sum for each column of the span.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/spgemm/spgemm_packed.cuh"

/* Words of 32 bits, and how many bits come before each word: since the start of its segment, and in the segments before. */
template <int T> struct spgemm_bits {
    static constexpr int warps = T / 32;
    uint32_t *bits;
    uint16_t *rank;
    uint32_t *before; // [warps + 1]; T > 32
    uint32_t words;   // in use
    int shift;        // words of a segment, one for each warp: 1 << shift, at most 2048

    __device__ __forceinline__ void clear(uint32_t use, int thread)
    {
        words = use;
        shift = 5;
        while (T > 32 && uint32_t(warps) << shift < words)
            shift++;
        for (uint32_t w = uint32_t(thread); w < words; w += T)
            bits[w] = 0;
    }

    __device__ __forceinline__ void set(uint32_t k)
    {
        uint32_t bit = 1u << k % 32;
        if (!(bits[k / 32] & bit))
            atomicOr(bits + k / 32, bit);
    }

    /* Bits set; known to all.  Barriers before and after. */
    __device__ __forceinline__ uint32_t count(int thread)
    {
        constexpr int ahead = T == 32 ? 4 : 8;
        int lane = thread % 32, warp = thread / 32;
        uint32_t from = T == 32 ? 0 : uint32_t(warp) << shift, to = T == 32 ? words : min(uint32_t(warp + 1) << shift, words), sum = 0;
        for (uint32_t base = from; base < to; base += 32 * ahead) { // two counts to a sum
            uint32_t pair[ahead / 2];
#pragma unroll
            for (int u = 0; u < ahead; u += 2) {
                uint32_t w = base + uint32_t(u * 32 + lane);
                pair[u / 2] = (w < to ? uint32_t(__popc(bits[w])) : 0) | (w + 32 < to ? uint32_t(__popc(bits[w + 32])) : 0) << 16;
            }
#pragma unroll
            for (int u = 0; u < ahead; u += 2) {
                uint32_t here = pair[u / 2], upto = sum_upto<32>(here, lane), total = __shfl_sync(~0u, upto, 31), before_me = upto - here;
                uint32_t w = base + uint32_t(u * 32 + lane);
                if (w < to)
                    rank[w] = uint16_t(sum + (before_me & 0xffff));
                sum += total & 0xffff;
                if (w + 32 < to)
                    rank[w + 32] = uint16_t(sum + (before_me >> 16));
                sum += total >> 16;
            }
        }
        if constexpr (T == 32) {
            __syncwarp();
            return sum;
        } else {
            if (lane == 0)
                before[warp + 1] = sum;
            __syncthreads();
            if (thread == 0) {
                before[0] = 0;
                for (int k = 1; k <= warps; k++)
                    before[k] += before[k - 1];
            }
            __syncthreads();
            return before[warps];
        }
    }

    __device__ __forceinline__ bool has(uint32_t k) const { return bits[k / 32] >> k % 32 & 1; }
    __device__ __forceinline__ uint32_t word_rank(uint32_t w) const { return rank[w] + (T == 32 ? 0 : before[w >> shift]); }
    __device__ __forceinline__ uint32_t rank_of(uint32_t k) const
    {
        return word_rank(k / 32) + uint32_t(__popc(bits[k / 32] & ((1u << k % 32) - 1)));
    }
};

/* Shared memory of one team: words of a window, sums at most, and (Names) words of bits that say which words of the row there are. */
struct spgemm_sizes {
    uint32_t words, sums, coarse;
};

template <int T, bool Names, class V> __host__ __device__ __forceinline__ size_t rank_bytes(spgemm_sizes sizes)
{
    size_t bytes = (sizes.sums * sizeof(V) + 15) / 16 * 16 + size_t(sizes.words) * 6;
    if (T > 32)
        bytes += T * sizeof(spgemm_piece<V>);
    if (T > 32 || Names)
        bytes += (T / 32 + 2) * 4;
    if (Names)
        bytes += size_t(sizes.words) * 2 + size_t(sizes.coarse) * 6 + (T / 32 + 2) * 4;
    return (bytes + 15) / 16 * 16;
}

template <int T> __device__ __forceinline__ uint32_t team_least(uint32_t x, uint32_t *cell, int thread)
{
    x = __reduce_min_sync(~0u, x);
    if constexpr (T == 32)
        return x;
    if (thread == 0)
        *cell = ~0u;
    __syncthreads();
    if (thread % 32 == 0)
        atomicMin(cell, x);
    __syncthreads();
    x = *cell;
    __syncthreads();
    return x;
}

/* One row, by a team of T threads.  A window is a range of columns; with Names, of those words of 32 columns that the row touches, so that wide
 * rows with few columns need little memory. */
template <class P, int T, bool Names, bool Sieved, bool Packed, class Q = spgemm_operands<typename P::value>> struct spgemm_rank_team {
    using V = typename P::value;
    const Q &q;
    const spgemm_place<V> &place;
    spgemm_sizes sizes;
    spgemm_bits<T> window, coarse;
    uint16_t *names; // of the window's words
    V *sums;
    spgemm_piece<V> *pieces;
    uint32_t *cell;
    int thread;
    uint32_t row;
    uint32_t low;     // first column of the window; Names: of the row
    uint32_t touched; // Names: words of the row
    uint32_t from;    // Names: words of the row before the window
    int64_t begin, end, known_begin, known_end; // entries of A; of C, where its columns are known

    __device__ spgemm_rank_team(const Q &operands, const spgemm_place<V> &to, spgemm_sizes most, unsigned char *shared)
        : q(operands), place(to), sizes(most), thread(T == 32 ? int(threadIdx.x % 32) : int(threadIdx.x))
    {
        sums = reinterpret_cast<V *>(shared);
        shared += (sizes.sums * sizeof(V) + 15) / 16 * 16;
        pieces = reinterpret_cast<spgemm_piece<V> *>(shared);
        if (T > 32)
            shared += T * sizeof(spgemm_piece<V>);
        window.bits = reinterpret_cast<uint32_t *>(shared);
        window.before = window.bits + sizes.words;
        cell = window.before + T / 32 + 1;
        coarse.bits = cell + 1;
        coarse.before = coarse.bits + (Names ? sizes.coarse : 0);
        window.rank = reinterpret_cast<uint16_t *>(Names ? coarse.before + T / 32 + 2 : T == 32 ? window.before : coarse.bits);
        coarse.rank = window.rank + sizes.words;
        names = coarse.rank + sizes.coarse;
    }

    template <class See> __device__ __forceinline__ void each_known_column(const See &see)
    {
        if (place.again)
            for (int64_t e = known_begin + thread; e < known_end; e += T)
                see(place.i[e]);
        else if constexpr (Packed)
            each_packed_column(q, begin, end, see);
        else
            each_column<T>(q, begin, end, see);
    }

    /* Which words of 32 columns there are. */
    __device__ __forceinline__ void touch(uint32_t first, uint32_t last)
    {
        low = first;
        coarse.clear((last - first) / 1024 + 1, thread);
        team_sync<T>();
        each_known_column([&](uint32_t column) { coarse.set((column - low) / 32); });
        team_sync<T>();
        touched = coarse.count(thread);
    }

    __device__ __forceinline__ uint32_t first_column(uint32_t word) const { return low + (Names ? names[word] : word) * 32; }

    /* What the mask hides is no longer marked.  Columns that are known have passed. */
    __device__ __forceinline__ uint32_t count_passing()
    {
        if (Sieved && q.masked && !place.again) {
            for (uint32_t w = uint32_t(thread); w < window.words; w += T)
                if (window.bits[w])
                    window.bits[w] &= passing_bits(q, row, first_column(w));
            team_sync<T>();
        }
        return window.count(thread);
    }

    /* Marks the window that begins at word `at` of the row; returns its count.  *next: where the one after begins; ~0: nowhere. */
    __device__ __forceinline__ uint32_t look_named(uint32_t at, uint32_t *next)
    {
        from = at;
        window.clear(min(touched - at, sizes.words), thread);
        team_sync<T>();
        each_known_column([&](uint32_t column) {
            uint32_t k = column - low, word = coarse.rank_of(k / 32) - from;
            if (word < window.words) {
                window.set(word * 32 + k % 32);
                names[word] = uint16_t(k / 32);
            }
        });
        *next = touched - at > sizes.words ? at + sizes.words : ~0u;
        team_sync<T>();
        return count_passing();
    }

    /* The same for the window that begins at a column. */
    __device__ __forceinline__ uint32_t look_plain(uint32_t first, uint32_t last, uint32_t *next)
    {
        uint32_t after = ~0u;
        low = first;
        window.clear(min((last - first) / 32 + 1, sizes.words), thread);
        team_sync<T>();
        each_known_column([&](uint32_t column) {
            uint32_t k = column - low;
            if (column >= low && k / 32 < window.words)
                window.set(k);
            else if (column > low)
                after = min(after, column);
        });
        bool single = (last - first) / 32 < window.words;
        *next = single ? ~0u : team_least<T>(after, cell, thread);
        team_sync<T>();
        return count_passing();
    }

    __device__ __forceinline__ uint32_t look(uint32_t at, uint32_t last, uint32_t *next)
    {
        if constexpr (Names)
            return look_named(at, next);
        else
            return look_plain(at, last, next);
    }

    /* Which entry of the window a column is; ~0: it lies elsewhere, or is hidden. */
    __device__ __forceinline__ uint32_t rank_of(uint32_t column) const
    {
        uint32_t k = column - low, word = Names ? coarse.rank_of(k / 32) - from : k / 32, bit = word * 32 + k % 32;
        if (Sieved && q.masked && ((Names && !coarse.has(k / 32)) || word >= window.words || !window.has(bit)))
            return ~0u;
        return word < window.words ? window.rank_of(bit) : ~0u;
    }

    __device__ __forceinline__ void write_columns(int64_t at)
    {
        for (uint32_t w = uint32_t(thread); w < window.words; w += T) {
            int64_t to = at + window.word_rank(w);
            for (uint32_t bits = window.bits[w]; bits; bits &= bits - 1)
                place.i[to++] = first_column(w) + uint32_t(__ffs(int(bits))) - 1;
        }
    }

    /* In shared memory if all sums fit, else where they will stay. */
    __device__ __forceinline__ void write_values(int64_t at, uint32_t count)
    {
        V *x = place.x + at;
        if (count > sizes.sums) {
            add_up(x, count);
            return;
        }
        add_up(sums, count);
        for (uint32_t k = uint32_t(thread); k < count; k += T)
            x[k] = sums[k];
    }

    __device__ __forceinline__ void add_up(V *to, uint32_t count)
    {
        for (uint32_t k = uint32_t(thread); k < count; k += T)
            to[k] = P::identity(q.op);
        team_sync<T>();
        auto find = [&](uint32_t column) { return rank_of(column); };
        auto add = [&](uint32_t k, V product) {
            if (k < count)
                to[k] = P::merge(q.op, to[k], product);
        };
        if constexpr (Packed)
            each_packed_product<P>(q, begin, end, find, add);
        else
            each_product<P, T, T == 32 ? 4 : 8>(q, begin, end, pieces, [&](uint32_t column, V product) { add(find(column), product); });
    }

    __device__ __forceinline__ int64_t claim(uint32_t count)
    {
        int64_t at = 0;
        if (thread == 0)
            at = claim_place(place, row, count);
        if constexpr (T == 32)
            return __shfl_sync(~0u, at, 0);
        __shared__ int64_t shared_at;
        if (thread == 0)
            shared_at = at;
        __syncthreads();
        at = shared_at;
        __syncthreads();
        return at;
    }

    __device__ __forceinline__ void begin_row(uint32_t which)
    {
        row = which;
        begin = q.ap[row], end = q.ap[row + 1];
        if (place.again)
            known_begin = place.p[row], known_end = place.p[row + 1];
    }

    __device__ __forceinline__ void compute(uint32_t which, uint32_t first, uint32_t last)
    {
        begin_row(which);
        compute_columns(first, last, [this](uint32_t count) { return claim(count); });
    }

    /* claim_for(count): where so many entries are written, known to all. */
    template <class Claim> __device__ __forceinline__ void compute_columns(uint32_t first, uint32_t last, const Claim &claim_for)
    {
        if constexpr (Names) {
            touch(first, last);
            first = 0;
        }
        uint32_t next, here = look(first, last, &next), count = here;
        const bool single = next == ~0u;
        while (place.mode != SPGEMM_DIRECT && next != ~0u)
            count += look(next, last, &next);
        int64_t at = claim_for(count);
        if (at < 0)
            return;
        if (!single && place.mode != SPGEMM_DIRECT)
            here = look(first, last, &next);
        for (;;) {
            if (!place.again)
                write_columns(at);
            if (q.values)
                write_values(at, here);
            at += here;
            if (next == ~0u)
                break;
            team_sync<T>();
            here = look(next, last, &next);
        }
    }
};

template <int T> constexpr int rank_block = T == 32 ? 128 : T;
/* Blocks of a multiprocessor that registers must leave room for. */
template <int T> constexpr int rank_blocks = T == 32 ? 7 : T == 64 ? 12 : T == 128 ? 6 : T == 256 ? 3 : 1;

/* Sieved: there may be a mask; without one the check costs registers.  Packed: for short pieces, T = 32. */
template <class P, int T, bool Names, bool Sieved, bool Packed>
__global__ void __launch_bounds__(rank_block<T>, rank_blocks<T>) spgemm_rank_rows(spgemm_operands<typename P::value> q, spgemm_rows rows,
    spgemm_place<typename P::value> place, spgemm_sizes sizes)
{
    constexpr int teams = rank_block<T> / T;
    uint32_t mine = threadIdx.x / T;
    spgemm_rank_team<P, T, Names, Sieved, Packed> team(q, place, sizes, dynamic_shared() + mine * rank_bytes<T, Names, typename P::value>(sizes));
    for (uint64_t k = blockIdx.x * uint64_t(teams) + mine; k < rows.count; k += gridDim.x * uint64_t(teams)) {
        uint32_t row = rows.list[k * rows.stride];
        if (is_wanted(place, row))
            team.compute(row, rows.first[row], rows.last[row]);
        team_sync<T>();
    }
}

// ---- Parts of rows ----

template <class P> __global__ void __launch_bounds__(rank_block<32>, spgemm_part_blocks) spgemm_rank_parts(spgemm_operands<typename P::value> whole,
    spgemm_rows rows, spgemm_parts parts, spgemm_strips strips, spgemm_place<typename P::value> place, spgemm_sizes sizes)
{
    constexpr uint32_t teams = rank_block<32> / 32;
    const uint32_t mine = threadIdx.x / 32;
    spgemm_part_operands<typename P::value> q;
    static_cast<spgemm_operands<typename P::value> &>(q) = whole;
    q.row_cuts = strips.count + 1, q.wide = parts.wide, q.by_entry = strips.by_entry;
    spgemm_rank_team<P, 32, false, true, true, decltype(q)> team(q, place, sizes, dynamic_shared() + mine * rank_bytes<32, false, typename P::value>(sizes));
    uint64_t all = uint64_t(rows.count) * parts.each;
    for (uint64_t k = (blockIdx.x * uint64_t(teams) + mine) * rows.stride; k < all; k += uint64_t(gridDim.x) * teams * rows.stride) {
        uint32_t row = rows.list[k / parts.each], part = uint32_t(k % parts.each);
        const uint32_t first = max(strips.starts[part * parts.wide], rows.first[row]), end = min(strips.starts[(part + 1) * parts.wide], rows.last[row] + 1);
        auto claim = [&](uint32_t count) {
            int64_t at = 0;
            if (team.thread == 0)
                at = claim_part(place, row, parts, k, part, count);
            return __shfl_sync(~0u, at, 0);
        };
        if (first >= end) {
            if (place.mode != SPGEMM_DIRECT)
                claim(0);
        } else if (place.mode != SPGEMM_DIRECT || place.again || parts.at[k] < 0) {
            q.cuts = strips.cuts + part * parts.wide - (q.by_entry ? q.ap[0] * q.row_cuts : 0);
            team.begin_row(row);
            if (place.again) {
                team.known_begin = begin_of_part(place.p, row, parts, k, part);
                team.known_end = team.known_begin + parts.counts[k];
            }
            team.compute_columns(first, end - 1, claim);
        }
        __syncwarp();
    }
}

// ---- Dense ----

template <class V> __host__ __device__ __forceinline__ size_t dense_bytes(int threads, uint32_t columns)
{
    return (columns * sizeof(V) + 15) / 16 * 16 + threads * sizeof(spgemm_piece<V>) + (columns + 31) / 32 * 32;
}

/* By T threads: bit 1 of seen[k] for the columns first + k that the mask has, k < span. */
template <int T, class V>
__device__ __forceinline__ void mark_mask(const spgemm_operands<V> &q, uint32_t row, uint32_t first, uint32_t span, unsigned char *seen)
{
    if (q.mask_bits) {
        for (uint32_t k = threadIdx.x; k < span; k += T)
            seen[k] |= (mask_word(q, row, (first + k) / 32) >> (first + k) % 32 & 1) << 1;
        return;
    }
    for (int64_t e = q.mp[row] + threadIdx.x; e < q.mp[row + 1]; e += T)
        if (__ldg(q.mi + e) - first < span && mask_passes(q.mx, q.mask_size, e))
            seen[__ldg(q.mi + e) - first] |= 2;
}

/* The span of every row has at most `columns`. */
template <class P, int T> __global__ void __launch_bounds__(T, 1024 / T) spgemm_dense_rows(spgemm_operands<typename P::value> q, spgemm_rows rows,
    spgemm_place<typename P::value> place, uint32_t columns)
{
    using V = typename P::value;
    constexpr uint32_t warps = T / 32;
    __shared__ uint32_t counts[warps + 1];
    __shared__ int64_t start;
    V *sums = reinterpret_cast<V *>(dynamic_shared());
    auto *pieces = reinterpret_cast<spgemm_piece<V> *>(dynamic_shared() + (columns * sizeof(V) + 15) / 16 * 16);
    unsigned char *seen = reinterpret_cast<unsigned char *>(pieces + T);
    const uint32_t thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    const unsigned char wanted = q.masked && !q.complement ? 3 : 1; // a product was formed, and the mask has the column
    for (uint64_t item = blockIdx.x; item < rows.count; item += gridDim.x) {
        uint32_t row = rows.list[item * rows.stride];
        if (!is_wanted(place, row))
            continue;
        uint32_t first = rows.first[row], span = rows.last[row] - first + 1;
        uint32_t share = (span + 32 * warps - 1) / (32 * warps) * 32, from = min(warp * share, span), to = min(from + share, span);
        for (uint32_t k = thread; k < span; k += T)
            sums[k] = P::identity(q.op), seen[k] = 0;
        __syncthreads();
        each_product<P, T, 4>(q, q.ap[row], q.ap[row + 1], pieces, [&](uint32_t column, V product) {
            seen[column - first] = 1;
            if (q.values)
                sums[column - first] = P::merge(q.op, sums[column - first], product);
        });
        if (q.masked) {
            mark_mask<T>(q, row, first, span, seen);
            __syncthreads();
        }
        uint32_t mine = 0;
        for (uint32_t k = from; k < to; k += 32)
            mine += uint32_t(__popc(__ballot_sync(~0u, k + lane < to && seen[k + lane] == wanted)));
        if (lane == 0)
            counts[warp + 1] = mine;
        __syncthreads();
        if (thread == 0) {
            counts[0] = 0;
            for (uint32_t k = 1; k <= warps; k++)
                counts[k] += counts[k - 1];
            start = claim_place(place, row, counts[warps]);
        }
        __syncthreads();
        if (start >= 0) {
            int64_t at = start + counts[warp];
            for (uint32_t k = from; k < to; k += 32) {
                bool there = k + lane < to && seen[k + lane] == wanted;
                uint32_t voted = __ballot_sync(~0u, there);
                int64_t place_of_lane = at + __popc(voted & ((1u << lane) - 1));
                if (there && !place.again)
                    place.i[place_of_lane] = first + k + lane;
                if (there && q.values)
                    place.x[place_of_lane] = sums[k + lane];
                at += __popc(voted);
            }
        }
        __syncthreads();
    }
}
