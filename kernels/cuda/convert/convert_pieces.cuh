// One piece of the nonzero vectors of row windows, by one block of threads (see convert_vectors.cu): its entries merged, or marked
// as bits of columns.
//
// Merging is done in shared memory, two rows at a time, then two pairs of rows, and so on.  In each round a thread writes the same
// few places of the result: it finds by bisection where the lists are at its first place, and merges from there.  Nothing is moved
// but keys (column, row in window).
//
// Where the columns of each window of the piece are near each other there is a shorter way: a bit for every column of its range;
// an entry's vector is the number of bits before its own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/convert/convert.cuh"

namespace tsr_convert {
namespace {

constexpr int threads = 256;
constexpr int per_thread = 7; // odd: no bank conflicts between threads that each have consecutive places
constexpr int capacity = threads * per_thread;
constexpr int most_height = 128;
constexpr int bucket = capacity / 2;           // windows of up to this many entries share pieces
constexpr int target = capacity - most_height; // entries in a piece of a larger window, give or take a column's
constexpr int most_rows = 512;                 // rows of the windows of one piece
constexpr int most_windows = most_rows / 8;
constexpr int most_map_words = 11 * threads; // of the bits of the ranges of columns; odd, as above
constexpr int warps = threads / 32;
constexpr unsigned all = 0xffffffffu;

struct job {
    int64_t nrows, nwindows, ncols;
    int log_height;
    int64_t most_pieces;
    const int64_t *p;
    const uint32_t *i;
    int64_t *entry;   // [nwindows+1] as in tsr_windows
    int64_t *first;   // [nwindows+1] pieces that begin before the window
    int64_t *window;  // [pieces] first window
    int64_t *origin;  // [pieces] entries before it, when every window is sorted by column
    int64_t *count;   // [most_pieces+1] vectors; later vectors before
    uint32_t *cut;    // [pieces << log_height] entries of each row before the piece, for pieces that begin inside a window
    uint32_t *within; // [nwindows] vectors of the piece before the window
    int64_t *total;   // what the host wants to know
    uint32_t *column; // [nvals] columns of the vectors of a piece, from its origin on
    void *rows;       // [nvals] their rows
};

enum { total_vectors, total_blocks, total_groups, total_excess, totals, all_totals = totals + 5 };

/* ---- one piece ---- */

struct piece {
    int n;         // entries
    int nrows;     // a multiple of the height
    int nwindows;
    bool cut;      // a part of one window
    int64_t window, origin;
    uint32_t start[most_rows + 1];
    int64_t shift[most_height]; // cut: what makes a place an entry; else shift[0] for all rows
    uint32_t before[threads + 1]; // vectors that begin before the first place of a thread
    uint8_t heads[threads];       // bit k: one begins at the thread's place k
    uint32_t warp_sum[warps];
    uint32_t low[most_windows], high[most_windows]; // first and last word of the range of columns of a window
    uint32_t map[most_windows + 1];                 // where its bits begin
};

__device__ void load_whole(piece &s, const job &j, int64_t q, int64_t npieces)
{
    int64_t v = j.window[q], end = q + 1 < npieces ? j.window[q + 1] : j.nwindows;
    int64_t row = v << j.log_height, origin = j.p[row];
    int nrows = static_cast<int>((end - v) << j.log_height);
    for (int r = threadIdx.x; r <= nrows; r += threads)
        s.start[r] = static_cast<uint32_t>(j.p[min(row + r, j.nrows)] - origin);
    if (threadIdx.x == 0) {
        s.nrows = nrows;
        s.nwindows = static_cast<int>(end - v);
        s.cut = false;
        s.window = v;
        s.origin = s.shift[0] = origin;
    }
}

/* By the first warp: lane l has the rows 4l to 4l + 3. */
__device__ void load_cut(piece &s, const job &j, int64_t q)
{
    constexpr int most = most_height / 32;
    int lane = threadIdx.x, height = 1 << j.log_height;
    int64_t v = j.window[q], from[most] = {};
    uint32_t length[most] = {}, begins = 0, sum = 0;
    bool first = q == j.first[v], last = q + 1 == j.first[v + 1];
#pragma unroll
    for (int k = 0; k < most; k++) {
        int r = lane * most + k;
        int64_t row = (v << j.log_height) + r;
        if (r >= height || row >= j.nrows)
            continue;
        uint32_t begin = first ? 0 : j.cut[(q << j.log_height) + r];
        uint32_t end = last ? static_cast<uint32_t>(j.p[row + 1] - j.p[row]) : j.cut[((q + 1) << j.log_height) + r];
        from[k] = j.p[row] + begin;
        length[k] = end - begin;
        begins += begin;
        sum += end - begin;
    }
    uint32_t upto = sum;
    for (int d = 1; d < 32; d *= 2) {
        uint32_t other = __shfl_up_sync(all, upto, d);
        upto += lane >= d ? other : 0;
    }
    begins = __reduce_add_sync(all, begins);
    uint32_t at = upto - sum;
#pragma unroll
    for (int k = 0; k < most; k++) {
        int r = lane * most + k;
        if (r < height) {
            s.start[r] = at;
            s.shift[r] = from[k] - at;
        }
        at += length[k];
    }
    if (lane == 31) {
        s.start[height] = upto;
        s.nrows = height;
        s.nwindows = 1;
        s.cut = true;
        s.window = v;
        s.origin = j.entry[v] + begins;
    }
}

/* What a thread knows of its places: row (in the piece) of the first, and the window of each, six bits. */
struct places {
    int row;
    uint64_t windows;
};
static_assert(most_windows <= 64 && 6 * per_thread <= 64, "six bits for a window");

/* Keys of the thread's places: column, then row in the window. */
template <class Key> __device__ places load_keys(const piece &s, const job &j, Key (&key)[per_thread])
{
    int first = static_cast<int>(threadIdx.x) * per_thread, height = 1 << j.log_height;
    if (first >= s.n)
        return {0, 0};
    int at_row = find_range(s.start, s.nrows, static_cast<uint32_t>(first)), rows[per_thread];
    uint32_t end = s.start[at_row + 1], column[per_thread];
    places known = {at_row, 0};
#pragma unroll
    for (int k = 0; k < per_thread; k++) {
        while (first + k < s.n && static_cast<uint32_t>(first + k) >= end)
            end = s.start[++at_row + 1];
        rows[k] = at_row;
    }
#pragma unroll
    for (int k = 0; k < per_thread; k++) // all in flight together
        column[k] = first + k < s.n ? __ldg(j.i + s.shift[s.cut ? rows[k] : 0] + first + k) : 0;
#pragma unroll
    for (int k = 0; k < per_thread; k++)
        key[k] = static_cast<Key>(column[k]) << j.log_height | (rows[k] & (height - 1));
#pragma unroll
    for (int k = 0; k < per_thread; k++)
        known.windows |= static_cast<uint64_t>(rows[k] >> j.log_height) << (6 * k);
    return known;
}

template <class Key> __device__ void store_keys(const piece &s, Key *keys, const Key (&key)[per_thread])
{
    int first = static_cast<int>(threadIdx.x) * per_thread;
#pragma unroll
    for (int k = 0; k < per_thread; k++)
        if (first + k < s.n)
            keys[first + k] = key[k];
}

/* Two lists next to each other, and where their merging is. */
template <class Key> struct merging {
    static constexpr Key none = ~static_cast<Key>(0); // larger than any key
    int first; // row
    uint32_t a, b, middle, end;
    Key next_a, next_b;

    __device__ void begin(const Key *keys, uint32_t from_a, uint32_t from_b)
    {
        a = from_a;
        b = from_b;
        next_a = a < middle ? keys[a] : none;
        next_b = b < end ? keys[b] : none;
    }
    __device__ uint32_t enter(const piece &s, int row, int half)
    {
        first = row & -(2 * half);
        middle = s.start[first + half];
        end = s.start[first + 2 * half];
        return s.start[first];
    }
    /* The lists that row is in, from their result's place `at` on. */
    __device__ void seek(const piece &s, const Key *keys, int row, int half, uint32_t at)
    {
        uint32_t start = enter(s, row, half);
        uint32_t taken = at - start, low = taken > end - middle ? taken - (end - middle) : 0, high = min(taken, middle - start);
        while (low < high) { // how many of them are from the first list
            uint32_t half_way = (low + high) / 2;
            if (keys[start + half_way] < keys[middle + taken - 1 - half_way])
                low = half_way + 1;
            else
                high = half_way;
        }
        begin(keys, start + low, middle + taken - low);
    }
    /* The next lists that are not both empty; these end at place `at`. */
    __device__ void proceed(const piece &s, const Key *keys, int half, uint32_t at)
    {
        uint32_t start = enter(s, first + 2 * half, half);
        if (end == at)
            start = enter(s, find_range(s.start, s.nrows, at), half);
        begin(keys, start, middle);
    }
    __device__ Key next(const Key *keys)
    {
        bool first = next_a < next_b;
        Key least = first ? next_a : next_b;
        uint32_t place = (first ? a : b) + 1, limit = first ? middle : end;
        Key coming = place < limit ? keys[place] : none;
        a = first ? place : a;
        b = first ? b : place;
        next_a = first ? coming : next_a;
        next_b = first ? next_b : coming;
        return least;
    }
};

/* Merges the piece; key[]: the thread's places of it, before and after; row: that of the first before. */
template <class Key> __device__ void merge_piece(const piece &s, const job &j, Key *keys, Key (&key)[per_thread], int row)
{
    int first = static_cast<int>(threadIdx.x) * per_thread, height = 1 << j.log_height;
    for (int half = 1; half < height; half *= 2) {
        __syncthreads();
        if (first < s.n) {
            merging<Key> lists;
            lists.seek(s, keys, row, half, static_cast<uint32_t>(first));
#pragma unroll
            for (int k = 0; k < per_thread; k++) {
                uint32_t at = first + k;
                if (at < static_cast<uint32_t>(s.n)) {
                    if (at == lists.end)
                        lists.proceed(s, keys, half, at);
                    key[k] = lists.next(keys);
                }
            }
        }
        __syncthreads();
        store_keys(s, keys, key);
    }
    __syncthreads();
}

/* Vectors that begin before place `at`. */
__device__ uint32_t rank_of(const piece &s, uint32_t at)
{
    uint32_t owner = at / per_thread;
    return s.before[owner] + (owner < threads ? __popc(s.heads[owner] & ((1u << at % per_thread) - 1)) : 0);
}

/* before[] and the total from the numbers of the threads. */
__device__ void sum_heads(piece &s, uint32_t mine)
{
    int tid = threadIdx.x, lane = tid % 32;
    uint32_t upto = mine;
    for (int d = 1; d < 32; d *= 2) {
        uint32_t other = __shfl_up_sync(all, upto, d);
        upto += lane >= d ? other : 0;
    }
    if (lane == 31)
        s.warp_sum[tid / 32] = upto;
    __syncthreads();
    uint32_t before = 0;
    for (int w = 0; w < tid / 32; w++)
        before += s.warp_sum[w];
    s.before[tid + 1] = before + upto;
    if (tid == 0)
        s.before[0] = 0;
    __syncthreads();
}

template <class Rows> __device__ void write_rows(Rows *to, const uint32_t *bits, int nvectors)
{
    for (int k = threadIdx.x; k < nvectors; k += threads)
        if constexpr (sizeof(Rows) == 8)
            to[k] = static_cast<uint64_t>(bits[2 * k + 1]) << 32 | bits[2 * k];
        else
            to[k] = static_cast<Rows>(bits[k]);
}

__device__ void write_rows(const job &j, int64_t origin, const uint32_t *bits, int nvectors)
{
    switch (j.log_height) {
    case 3: write_rows(static_cast<uint8_t *>(j.rows) + origin, bits, nvectors); break;
    case 4: write_rows(static_cast<uint16_t *>(j.rows) + origin, bits, nvectors); break;
    case 5: write_rows(static_cast<uint32_t *>(j.rows) + origin, bits, nvectors); break;
    default: write_rows(static_cast<uint64_t *>(j.rows) + origin, bits, nvectors);
    }
}

/* Where vectors begin among the thread's places: bit k. */
template <class Key> __device__ unsigned find_heads(const piece &s, const job &j, const Key *keys, const Key (&key)[per_thread])
{
    int first = static_cast<int>(threadIdx.x) * per_thread, height = 1 << j.log_height;
    if (first >= s.n)
        return 0;
    int row = find_range(s.start, s.nrows, static_cast<uint32_t>(first)) & -height;
    uint32_t start = s.start[row];
    unsigned heads = 0;
#pragma unroll
    for (int k = 0; k < per_thread; k++) {
        uint32_t at = first + k;
        if (at < static_cast<uint32_t>(s.n)) {
            while (at >= s.start[row + height])
                start = s.start[row += height];
            Key before = k ? key[k ? k - 1 : 0] : at ? keys[at - 1] : 0;
            heads |= static_cast<unsigned>(at == start || key[k] >> j.log_height != before >> j.log_height) << k;
        }
    }
    return heads;
}

/* What a piece leaves behind. */
__device__ void write_vectors(const piece &s, const job &j, int64_t q, const uint32_t *column, const uint32_t *bits, int nvectors)
{
    if (threadIdx.x == 0) {
        j.count[q] = nvectors;
        j.origin[q] = s.origin;
    }
    for (int k = threadIdx.x; k < nvectors; k += threads)
        j.column[s.origin + k] = column[k];
    write_rows(j, s.origin, bits, nvectors);
}

/* Columns and rows of the vectors of a merged piece; the keys are overwritten. */
template <class Key> __device__ void list_merged(piece &s, const job &j, int64_t q, Key *keys, const Key (&key)[per_thread])
{
    int tid = threadIdx.x, first = tid * per_thread, height = 1 << j.log_height, wide = height > 32 ? 2 : 1;
    unsigned heads = find_heads(s, j, keys, key);
    s.heads[tid] = static_cast<uint8_t>(heads);
    sum_heads(s, __popc(heads)); // and nobody reads keys any more
    int nvectors = static_cast<int>(s.before[threads]);
    uint32_t *column = reinterpret_cast<uint32_t *>(keys), *bits = column + capacity;
    for (int k = tid; k < nvectors * wide; k += threads)
        bits[k] = 0;
    __syncthreads();
    uint32_t place = s.before[tid] - 1;
#pragma unroll
    for (int k = 0; k < per_thread; k++)
        if (first + k < s.n) {
            int r = static_cast<int>(key[k]) & (height - 1);
            if (heads >> k & 1)
                column[++place] = static_cast<uint32_t>(key[k] >> j.log_height);
            atomicOr(&bits[place * wide + r / 32], 1u << r % 32);
        }
    for (int k = tid; k < s.nwindows; k += threads) // 0 from every piece of a window that is cut
        j.within[s.window + k] = rank_of(s, s.start[k << j.log_height]);
    __syncthreads();
    write_vectors(s, j, q, column, bits, nvectors);
}

/* ---- a bit for every column ---- */

/* Where the bits of the windows would be, from the ends of the (stored) rows; false: there are too many.  Keys may be overwritten
 * then. */
template <class Key> __device__ bool map_windows(piece &s, const job &j, const Key *keys)
{
    int tid = threadIdx.x;
    if (tid < s.nwindows) {
        s.low[tid] = ~0u;
        s.high[tid] = 0;
    }
    __syncthreads();
    for (int r = tid; r < s.nrows; r += threads)
        if (s.start[r] < s.start[r + 1]) {
            atomicMin(&s.low[r >> j.log_height], static_cast<uint32_t>(keys[s.start[r]] >> j.log_height) / 32);
            atomicMax(&s.high[r >> j.log_height], static_cast<uint32_t>(keys[s.start[r + 1] - 1] >> j.log_height) / 32);
        }
    __syncthreads();
    if (tid < 32) {
        uint32_t n[2], upto = 0;
        for (int k = 0; k < 2; k++) {
            int w = 2 * tid + k;
            n[k] = w < s.nwindows && s.low[w] <= s.high[w] ? min(s.high[w] - s.low[w], static_cast<uint32_t>(most_map_words)) + 1
                                                           : 0;
            upto += n[k];
        }
        uint32_t sum = upto;
        for (int d = 1; d < 32; d *= 2) {
            uint32_t other = __shfl_up_sync(all, upto, d);
            upto += tid >= d ? other : 0;
        }
        s.map[2 * tid] = upto - sum;
        s.map[2 * tid + 1] = upto - n[1];
        if (tid == 31)
            s.map[most_windows] = upto;
    }
    __syncthreads();
    return s.map[most_windows] <= most_map_words;
}

/* before[word]: bits set in earlier words; returns their number. */
__device__ int sum_map(piece &s, const uint32_t *map, uint16_t *before)
{
    int n = static_cast<int>(s.map[most_windows]), share = (n + threads - 1) / threads | 1;
    int first = min(static_cast<int>(threadIdx.x) * share, n), last = min(first + share, n);
    uint32_t sum = 0;
    for (int k = first; k < last; k++)
        sum += __popc(map[k]);
    sum_heads(s, sum);
    sum = s.before[threadIdx.x];
    for (int k = first; k < last; k++) {
        before[k] = static_cast<uint16_t>(sum);
        sum += __popc(map[k]);
    }
    __syncthreads();
    return static_cast<int>(s.before[threads]);
}

/* Shared memory of the way by bits; `wide` words for what is known of each vector. */
struct mapping {
    uint32_t *column, *bits, *map;
    uint16_t *before;

    __device__ mapping(void *shared, int wide)
    {
        column = static_cast<uint32_t *>(shared);
        bits = column + capacity;
        map = bits + capacity * wide;
        before = reinterpret_cast<uint16_t *>(map + most_map_words);
    }
};

__device__ __forceinline__ uint32_t word_of(const piece &s, uint64_t windows, int k, uint32_t column)
{
    int w = static_cast<int>(windows >> (6 * k)) & 63;
    return s.map[w] + column / 32 - s.low[w];
}

/* Sets the bits of the columns.  Bit k of the result: the thread's place k was the first in its vector to do so. */
template <class Key> __device__ unsigned mark_columns(const piece &s, const job &j, const mapping &m, int wide,
                                                      const Key (&key)[per_thread], uint64_t windows)
{
    int tid = threadIdx.x;
    unsigned owned = 0;
    for (int k = tid; k < static_cast<int>(s.map[most_windows]); k += threads)
        m.map[k] = 0;
    for (int k = tid; k < s.n * wide; k += threads)
        m.bits[k] = 0;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < per_thread; k++)
        if (tid * per_thread + k < s.n) {
            uint32_t column = static_cast<uint32_t>(key[k] >> j.log_height), bit = 1u << column % 32;
            owned |= atomicOr(&m.map[word_of(s, windows, k, column)], bit) & bit ? 0 : 1u << k;
        }
    __syncthreads();
    return owned;
}

/* The number of a column's vector in the piece, after sum_map. */
__device__ __forceinline__ uint32_t place_of(const piece &s, const mapping &m, uint64_t windows, int k, uint32_t column)
{
    uint32_t word = word_of(s, windows, k, column);
    return m.before[word] + __popc(m.map[word] & ((1u << column % 32) - 1));
}

/* Columns and rows of the vectors of a piece by way of the bits; the stored keys are overwritten. */
template <class Key>
__device__ void list_mapped(piece &s, const job &j, int64_t q, void *shared, const Key (&key)[per_thread], uint64_t windows)
{
    int tid = threadIdx.x, height = 1 << j.log_height, wide = height > 32 ? 2 : 1;
    mapping m(shared, wide);
    unsigned owned = mark_columns(s, j, m, wide, key, windows);
    int nvectors = sum_map(s, m.map, m.before);
#pragma unroll
    for (int k = 0; k < per_thread; k++)
        if (tid * per_thread + k < s.n) {
            uint32_t column = static_cast<uint32_t>(key[k] >> j.log_height), place = place_of(s, m, windows, k, column);
            int r = static_cast<int>(key[k]) & (height - 1);
            if (owned >> k & 1)
                m.column[place] = column;
            atomicOr(&m.bits[place * wide + r / 32], 1u << r % 32);
        }
    for (int k = tid; k < s.nwindows; k += threads) // 0 from every piece of a window that is cut
        j.within[s.window + k] = s.map[k] < s.map[most_windows] ? m.before[s.map[k]] : nvectors;
    __syncthreads();
    write_vectors(s, j, q, m.column, m.bits, nvectors);
}

/* Adds the numbers of vectors at heights 8 to 128 of a piece at height 128, by way of the bits. */
template <class Key> __device__ void count_mapped(uint32_t (&sum)[5], piece &s, const job &j, void *shared,
                                                  const Key (&key)[per_thread], uint64_t windows)
{
    mapping m(shared, 1);
    mark_columns(s, j, m, 1, key, windows);
    int nvectors = sum_map(s, m.map, m.before);
#pragma unroll
    for (int k = 0; k < per_thread; k++)
        if (static_cast<int>(threadIdx.x) * per_thread + k < s.n) {
            uint32_t column = static_cast<uint32_t>(key[k] >> j.log_height), eighth = static_cast<uint32_t>(key[k]) / 8 % 16;
            atomicOr(&m.bits[place_of(s, m, windows, k, column)], 1u << eighth);
        }
    __syncthreads();
    for (int k = threadIdx.x; k < nvectors; k += threads) {
        uint32_t rows = m.bits[k], mask = 0xffff; // a bit for 8 rows, for 16, ...
#pragma unroll
        for (int h = 0; h < 5; h++) {
            sum[h] += __popc(rows & mask);
            rows |= rows >> (1 << h);
            mask = h == 0 ? 0x5555 : h == 1 ? 0x1111 : h == 2 ? 0x0101 : 1;
        }
    }
}

/* The same from the merged piece. */
template <class Key>
__device__ void count_merged(uint32_t (&sum)[5], const piece &s, const job &j, const Key *keys, const Key (&key)[per_thread])
{
    int first = static_cast<int>(threadIdx.x) * per_thread;
    unsigned heads = find_heads(s, j, keys, key);
#pragma unroll
    for (int k = 0; k < per_thread; k++)
        if (first + k < s.n) {
            Key before = k ? key[k ? k - 1 : 0] : first ? keys[first - 1] : 0;
            Key differ = heads >> k & 1 ? ~static_cast<Key>(0) : key[k] ^ before;
#pragma unroll
            for (int h = 0; h < 5; h++)
                sum[h] += differ >> (3 + h) != 0;
        }
}

} // namespace
} // namespace tsr_convert
