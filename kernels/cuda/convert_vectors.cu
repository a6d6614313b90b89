// Nonzero vectors of row windows.
//
// The rows of a window are sorted, so its vectors come from merging them.  Work is cut into pieces of at most `capacity` entries:
// some consecutive windows, or a range of columns of one large window.  A block of threads merges a piece in shared memory, two
// rows at a time, then two pairs of rows, and so on.  In each round a thread writes the same few places of the result: it finds
// by bisection where the lists are at its first place, and merges from there.  Nothing is moved but keys (column, row in window).
//
// Where the columns of each window of the piece are near each other there is a shorter way: a bit for every column of its range;
// an entry's vector is the number of bits before its own.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/convert.cuh"

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

/* ---- cutting the work ---- */

__global__ void __launch_bounds__(threads) count_pieces(job j)
{
    int64_t v = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
    if (v > j.nwindows)
        return;
    int64_t begin = j.p[min(v << j.log_height, j.nrows)];
    j.entry[v] = begin;
    if (v == j.nwindows)
        return;
    int64_t n = j.p[min((v + 1) << j.log_height, j.nrows)] - begin;
    int64_t before = v ? j.p[(v - 1) << j.log_height] : -1;
    bool starts = v % (most_rows >> j.log_height) == 0 || before / bucket != begin / bucket;
    j.first[v] = n > bucket ? (n + target - 1) / target : starts;
    if (n > INT32_MAX)
        j.total[total_excess] = 1;
}

/* None when a window has too many entries: the host learns of it and gives up. */
__device__ int64_t count_of_pieces(const job &j) { return j.total[total_excess] ? 0 : j.first[j.nwindows]; }

__global__ void __launch_bounds__(threads) place_pieces(job j)
{
    int64_t v = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x, step = static_cast<int64_t>(gridDim.x) * threads;
    for (int64_t q = count_of_pieces(j) + v; q < j.most_pieces; q += step)
        j.count[q] = 0;
    if (v < j.nwindows && !j.total[total_excess])
        for (int64_t q = j.first[v]; q < j.first[v + 1]; q++)
            j.window[q] = v;
}

/* Where a piece, not the first of its window, begins: by bisection a column with `before` entries before it, or up to most_height
 * more, which the entries of one column may be.  It is between the columns that are as far on in their rows as the piece in the
 * window: before the least of them there are too few entries, up to the largest of them enough. */
__device__ void find_cut(const job &j, int64_t q, int64_t v)
{
    constexpr int most = most_height / 32;
    int lane = threadIdx.x % 32, height = 1 << j.log_height;
    int64_t place = q - j.first[v], pieces = j.first[v + 1] - j.first[v], before = (j.entry[v + 1] - j.entry[v]) * place / pieces;
    const uint32_t *row[most];
    uint32_t low[most], high[most], least = ~0u, largest = 0;
#pragma unroll
    for (int k = 0; k < most; k++) {
        int64_t r = (v << j.log_height) + k * 32 + lane;
        bool mine = k * 32 + lane < height && r < j.nrows;
        row[k] = j.i + (mine ? j.p[r] : 0);
        high[k] = mine ? static_cast<uint32_t>(j.p[r + 1] - j.p[r]) : 0;
        low[k] = static_cast<uint32_t>(high[k] * place / pieces);
        if (high[k]) {
            least = min(least, row[k][low[k]]);
            largest = max(largest, row[k][low[k]]);
        }
    }
    int64_t from = __reduce_min_sync(all, least), to = static_cast<int64_t>(__reduce_max_sync(all, largest)) + 1;
    uint32_t fewest = 0, enough = 0; // entries before these two columns
#pragma unroll
    for (int k = 0; k < most; k++) {
        high[k] = lower_bound(row[k], low[k], high[k], to);
        low[k] = lower_bound(row[k], static_cast<uint32_t>(0), low[k], from);
        fewest += low[k];
        enough += high[k];
    }
    fewest = __reduce_add_sync(all, fewest);
    enough = __reduce_add_sync(all, enough);
    while (from < to && enough - fewest > most_height) {
        int64_t middle = (from + to) / 2;
        uint32_t at[most], sum = 0;
#pragma unroll
        for (int k = 0; k < most; k++) {
            at[k] = lower_bound(row[k], low[k], high[k], middle);
            sum += at[k];
        }
        sum = __reduce_add_sync(all, sum);
        bool down = sum >= before;
#pragma unroll
        for (int k = 0; k < most; k++)
            (down ? high[k] : low[k]) = at[k];
        from = down ? from : middle + 1;
        to = down ? middle : to;
        (down ? enough : fewest) = sum;
    }
#pragma unroll
    for (int k = 0; k < most; k++)
        if (k * 32 + lane < height)
            j.cut[(q << j.log_height) + k * 32 + lane] = high[k];
}

__global__ void __launch_bounds__(threads) cut_windows(job j)
{
    int64_t npieces = count_of_pieces(j);
    for (int64_t q = static_cast<int64_t>(blockIdx.x) * warps + threadIdx.x / 32; q < npieces;
         q += static_cast<int64_t>(gridDim.x) * warps) {
        int64_t v = j.window[q];
        if (q > j.first[v])
            find_cut(j, q, v);
    }
}

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

/* ---- all pieces ---- */

__device__ void load_piece(piece &s, const job &j, int64_t q, int64_t npieces)
{
    int64_t v = j.window[q];
    if (j.first[v + 1] - j.first[v] <= 1)
        load_whole(s, j, q, npieces);
    else if (threadIdx.x < 32)
        load_cut(s, j, q);
    __syncthreads();
    if (threadIdx.x == 0)
        s.n = static_cast<int>(s.start[s.nrows]);
    __syncthreads();
}

template <class Key> __global__ void __launch_bounds__(threads, 5) unite_rows(job j)
{
    __shared__ piece s;
    Key *keys = reinterpret_cast<Key *>(dynamic_shared()), key[per_thread];
    int64_t npieces = count_of_pieces(j);
    for (int64_t q = blockIdx.x; q < npieces; q += gridDim.x) {
        load_piece(s, j, q, npieces);
        places known = load_keys(s, j, key);
        store_keys(s, keys, key);
        if (map_windows(s, j, keys))
            list_mapped(s, j, q, keys, key, known.windows);
        else {
            merge_piece(s, j, keys, key, known.row);
            list_merged(s, j, q, keys, key);
        }
        __syncthreads();
    }
}

/* Vectors at heights 8, 16, ... up to that of the job, 128. */
template <class Key> __global__ void __launch_bounds__(threads) count_rows(job j, unsigned long long *vectors)
{
    __shared__ piece s;
    Key *keys = reinterpret_cast<Key *>(dynamic_shared()), key[per_thread];
    uint32_t sum[5] = {};
    int64_t npieces = count_of_pieces(j);
    for (int64_t q = blockIdx.x; q < npieces; q += gridDim.x) {
        load_piece(s, j, q, npieces);
        places known = load_keys(s, j, key);
        store_keys(s, keys, key);
        if (map_windows(s, j, keys))
            count_mapped(sum, s, j, keys, key, known.windows);
        else {
            merge_piece(s, j, keys, key, known.row);
            count_merged(sum, s, j, keys, key);
        }
        __syncthreads();
    }
#pragma unroll
    for (int h = 0; h < 5; h++) {
        uint32_t of_warp = __reduce_add_sync(all, sum[h]);
        if (threadIdx.x % 32 == 0 && of_warp)
            atomicAdd(&vectors[h], static_cast<unsigned long long>(of_warp));
    }
}

/* ---- from pieces to windows ---- */

__device__ int64_t vectors_before(const job &j, int64_t v)
{
    if (v == j.nwindows)
        return j.count[j.most_pieces];
    int64_t q = j.first[v];
    return j.count[j.first[v + 1] > q ? q : q - 1] + j.within[v];
}

__global__ void __launch_bounds__(threads) sum_windows(job j, tsr_windows w, int64_t *group, int group_width)
{
    int64_t v = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
    if (v > w.nwindows)
        return;
    int64_t before = vectors_before(j, v);
    w.vector[v] = before;
    if (v == w.nwindows)
        return;
    int64_t n = vectors_before(j, v + 1) - before;
    w.block[v] = (n + w.width - 1) / w.width;
    if (group)
        group[v] = (n + group_width - 1) / group_width;
}

__global__ void tell_totals(job j, tsr_windows w, const int64_t *group)
{
    j.total[total_vectors] = w.vector[w.nwindows];
    j.total[total_blocks] = w.block[w.nwindows];
    j.total[total_groups] = group ? group[w.nwindows] : 0;
}

template <class Rows> __global__ void __launch_bounds__(threads) close_gaps(job j, uint32_t *column, Rows *rows)
{
    int64_t npieces = count_of_pieces(j);
    for (int64_t q = blockIdx.x; q < npieces; q += gridDim.x) {
        int64_t from = j.origin[q], to = j.count[q], n = j.count[q + 1] - to;
        for (int64_t k = threadIdx.x; k < n; k += threads) {
            column[to + k] = j.column[from + k];
            rows[to + k] = static_cast<const Rows *>(j.rows)[from + k];
        }
    }
}

/* ---- the host's side ---- */

unsigned piece_blocks(const job &j) { return static_cast<unsigned>(j.most_pieces < 4096 ? j.most_pieces : 4096); }

void describe(job *j, const tsr_source *in, int log_height)
{
    int64_t height = 1 << log_height;
    *j = {};
    j->nrows = in->nrows;
    j->ncols = in->ncols;
    j->nwindows = in->nrows / height + (in->nrows % height > 0);
    j->log_height = log_height;
    // Windows of at most `bucket` entries begin a piece where entries reach another bucket, or after most_rows; larger ones have
    // n / target + 1 pieces at most.
    j->most_pieces = 2 * (in->nvals / bucket) + in->nvals / target + j->nwindows / (most_rows / height) + 3;
    j->p = in->p;
    j->i = in->i;
}

void want_pieces(Arena *arena, job *j)
{
    arena->want(&j->first, j->nwindows + 1);
    arena->want(&j->window, j->most_pieces);
    arena->want(&j->count, j->most_pieces + 1);
    arena->want(&j->cut, j->most_pieces << j->log_height);
    arena->want(&j->total, all_totals);
}

tsr_status cut_pieces(const job &j, void *scratch, void *stream)
{
    tsr_status status = tsr_cuda_set(j.total, 0, all_totals * sizeof *j.total, stream);
    if (status != TSR_OK)
        return status;
    TSR_LAUNCH(count_pieces, blocks_for(j.nwindows + 1, threads), threads, 0, stream, j);
    status = tsr_cuda_scan(j.first, j.nwindows, 1, scratch, stream);
    TSR_LAUNCH(place_pieces, blocks_for(j.nwindows + 1, threads), threads, 0, stream, j);
    TSR_LAUNCH(cut_windows, piece_blocks(j), threads, 0, stream, j);
    return status != TSR_OK ? status : launch_status();
}

/* 32 bits are enough for a column and a row, and one more. */
bool short_keys(const job &j) { return j.ncols < static_cast<int64_t>(1) << (32 - j.log_height); }

/* Keys; then columns and rows of vectors in the same place, and bits of columns behind. */
size_t shared_bytes(int wide) { return capacity * (4 + 4 * wide) + most_map_words * 6; }

tsr_status list_all(const job &j, void *scratch, void *stream)
{
    auto kernel = short_keys(j) ? unite_rows<uint32_t> : unite_rows<uint64_t>;
    TSR_LAUNCH(kernel, piece_blocks(j), threads, shared_bytes(j.log_height > 5 ? 2 : 1), stream, j);
    tsr_status status = tsr_cuda_scan(j.count, j.most_pieces, 1, scratch, stream);
    return status != TSR_OK ? status : launch_status();
}

template <class Rows> tsr_status close_pieces(const job &j, tsr_windows *w, void **rows, void *stream)
{
    Rows *to = nullptr;
    tsr_status status = get_array(&w->column, w->nvectors, stream);
    if (status == TSR_OK)
        status = get_array(&to, w->nvectors, stream);
    if (status != TSR_OK)
        return status;
    *rows = to;
    TSR_LAUNCH(close_gaps<Rows>, piece_blocks(j), threads, 0, stream, j, w->column, to);
    return launch_status();
}

tsr_status close_pieces(const job &j, tsr_windows *w, void **rows, void *stream)
{
    switch (j.log_height) {
    case 3: return close_pieces<uint8_t>(j, w, rows, stream);
    case 4: return close_pieces<uint16_t>(j, w, rows, stream);
    case 5: return close_pieces<uint32_t>(j, w, rows, stream);
    default: return close_pieces<uint64_t>(j, w, rows, stream);
    }
}

tsr_status sum_up(const job &j, tsr_windows *w, int64_t *group, int group_width, int64_t host[totals], void *scratch,
                  void *stream)
{
    TSR_LAUNCH(sum_windows, blocks_for(w->nwindows + 1, threads), threads, 0, stream, j, *w, group, group_width);
    tsr_status status = tsr_cuda_scan(w->block, w->nwindows, 1, scratch, stream);
    if (status == TSR_OK && group)
        status = tsr_cuda_scan(group, w->nwindows, 1, scratch, stream);
    if (status != TSR_OK)
        return status;
    TSR_LAUNCH(tell_totals, 1, 1, 0, stream, j, *w, static_cast<const int64_t *>(group));
    status = launch_status();
    if (status == TSR_OK)
        status = tsr_cuda_to_host(host, j.total, totals * sizeof *host, stream);
    return status != TSR_OK ? status : tsr_cuda_wait(stream);
}

tsr_status fill(tsr_windows *w, vectors *out, const tsr_source *in, int log_height, int group_width, void *stream)
{
    job j;
    Arena arena(stream);
    char *scratch;
    int64_t host[totals];
    describe(&j, in, log_height);
    j.entry = w->entry;
    want_pieces(&arena, &j);
    arena.want(&j.origin, j.most_pieces);
    arena.want(&j.within, j.nwindows);
    arena.want(&j.column, in->nvals);
    arena.want(reinterpret_cast<char **>(&j.rows), in->nvals << (log_height - 3));
    arena.want(&scratch, static_cast<int64_t>(tsr_cuda_scan_bytes(max(j.nwindows, j.most_pieces))));
    tsr_status status = arena.get();
    if (status == TSR_OK)
        status = cut_pieces(j, scratch, stream);
    if (status == TSR_OK)
        status = list_all(j, scratch, stream);
    if (status == TSR_OK)
        status = sum_up(j, w, out->group, group_width, host, scratch, stream);
    if (status != TSR_OK)
        return status;
    if (host[total_excess])
        return TSR_NOT_SUPPORTED;
    w->nvectors = host[total_vectors];
    w->nblocks = host[total_blocks];
    out->ngroups = host[total_groups];
    return close_pieces(j, w, &out->rows, stream);
}

} // namespace

void free_windows(tsr_windows *w, void *stream)
{
    tsr_cuda_free(w->entry, stream);
    tsr_cuda_free(w->vector, stream);
    tsr_cuda_free(w->block, stream);
    tsr_cuda_free(w->column, stream);
    *w = {};
}

tsr_status make_vectors(tsr_windows *w, vectors *out, const tsr_source *in, int height, int width, int group_width, void *stream)
{
    *w = {};
    *out = {};
    if (in->ncols > static_cast<int64_t>(1) << 32)
        return TSR_NOT_SUPPORTED;
    w->height = height;
    w->width = width;
    w->nrows = in->nrows;
    w->ncols = in->ncols;
    w->nvals = in->nvals;
    w->nwindows = in->nrows / height + (in->nrows % height > 0);
    tsr_status status = get_array(&w->entry, w->nwindows + 1, stream);
    if (status == TSR_OK)
        status = get_array(&w->vector, w->nwindows + 1, stream);
    if (status == TSR_OK)
        status = get_array(&w->block, w->nwindows + 1, stream);
    if (status == TSR_OK && group_width)
        status = get_array(&out->group, w->nwindows + 1, stream);
    int log_height = 3;
    while (1 << log_height < height)
        log_height++;
    if (status == TSR_OK)
        status = fill(w, out, in, log_height, group_width, stream);
    if (status != TSR_OK) {
        free_windows(w, stream);
        tsr_cuda_free(out->group, stream);
        tsr_cuda_free(out->rows, stream);
        *out = {};
    }
    return status;
}

} // namespace tsr_convert

using namespace tsr_convert;

extern "C" tsr_status tsr_cuda_count_vectors(int64_t counts[5], const tsr_source *in, void *stream)
{
    job j;
    Arena arena(stream);
    char *scratch;
    int64_t host[all_totals];
    if (in->ncols > static_cast<int64_t>(1) << 32)
        return TSR_NOT_SUPPORTED;
    describe(&j, in, 7);
    want_pieces(&arena, &j);
    arena.want(&j.entry, j.nwindows + 1);
    arena.want(&scratch, static_cast<int64_t>(tsr_cuda_scan_bytes(j.nwindows)));
    tsr_status status = arena.get();
    if (status == TSR_OK)
        status = cut_pieces(j, scratch, stream);
    if (status != TSR_OK)
        return status;
    auto kernel = short_keys(j) ? count_rows<uint32_t> : count_rows<uint64_t>;
    TSR_LAUNCH(kernel, piece_blocks(j), threads, shared_bytes(1), stream, j,
               reinterpret_cast<unsigned long long *>(j.total + totals));
    status = launch_status();
    if (status == TSR_OK)
        status = tsr_cuda_to_host(host, j.total, sizeof host, stream);
    if (status == TSR_OK)
        status = tsr_cuda_wait(stream);
    if (status == TSR_OK && host[total_excess])
        status = TSR_NOT_SUPPORTED;
    for (int h = 0; h < 5 && status == TSR_OK; h++)
        counts[h] = host[totals + h];
    return status;
}
