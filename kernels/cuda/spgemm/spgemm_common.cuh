// What the kernels of sparse times sparse share: bins of rows, operands, where results go, semirings, and walks over the products of a row.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/common/mask.cuh"
#include "kernels/cuda/common/semiring.cuh"
#include "kernels/cuda/spgemm/spgemm.h"
#include "kernels/cuda/spgemm/tile_price.h"

// ---- Bins ----
//
// A row goes to a kernel by how many products it has and how many columns they span.  Sort: at most 8, 16 … 512 products.  Sort wide:
// at most 512, so far apart that column and number do not fit into 32 bits.  Rank: a bit per column of a window; a warp for a row where
// the span is narrow, else a block.  Dense: a sum for each column of the span.

enum spgemm_bin {
    SPGEMM_SORT, // 8; SPGEMM_SORT + 1: 16, …
    SPGEMM_SORT_WIDE = 7,
    SPGEMM_RANK_WARP, // 8192 columns; then 16384, 32768
    SPGEMM_RANK_BLOCK = 11, // 64 threads; then 128, 256, 512
    SPGEMM_DENSE = 15,      // 128 threads; then 512
    SPGEMM_BINS = 17,
    SPGEMM_EMPTY = 255
};

constexpr int SPGEMM_RANK_BINS = SPGEMM_DENSE - SPGEMM_RANK_WARP;
constexpr uint32_t spgemm_sort_most = 512;
constexpr int spgemm_sort_sizes = 7;
constexpr uint32_t spgemm_warp_words = 256; // of 32 columns, in the first bin of SPGEMM_RANK_WARP
constexpr uint32_t spgemm_wide_columns = 8192 * 32;   // of more, few words may be kept by name
constexpr uint32_t spgemm_named_columns = 65536 * 32; // a name of a word has 16 bits
constexpr uint32_t spgemm_part_words = 1024; // of a part, at most
constexpr int spgemm_part_blocks = 6;        // of a multiprocessor, four parts each

/* Shapes that depend on the type, the number of columns and the device. */
struct spgemm_shapes {
    uint32_t ncols;
    uint32_t dense[2]; // most columns of the two dense bins
};

/* Rows that are computed: list[0], list[stride], … */
struct spgemm_rows {
    const uint32_t *list;
    uint32_t count; // of rows computed
    uint32_t stride;
    const uint32_t *first, *last; // [m] columns of each row's products
};

/* B's columns in strips that have about as many of its entries each, and where B's rows cross from one into the next. */
struct spgemm_strips {
    uint32_t count;
    bool by_entry;    // cuts of the row of B that each entry of A names, which are fewer; else of each row
    uint32_t *starts; // [count + 1] columns
    int64_t *cuts;    // [rows of B, or entries of A][count + 1] entries of B
    void *memory;
    size_t bytes;
};
constexpr uint32_t spgemm_strips_most = 64, spgemm_strips_least = 8;
/* Columns of `wide` strips of `count`, at most: four times the average, about. */
inline uint64_t spgemm_widest(uint64_t ncols, uint64_t count, uint64_t wide) { return ncols * 4 * wide / count + ncols / 256 + 1; }
/* strips->count of them, perhaps none.  TSR_DECLINED: the columns of B's rows lie close together, so that most rows are in few strips.  Waits for the
 * stream.  After a failure there is nothing to free. */
tsr_status spgemm_cut_strips(spgemm_strips *strips, const tsr_cuda_spgemm *product);

/* Rows of a bin, each divided into as many parts: some strips of columns, a warp for a part.  No product of one part has a column of another, so warps
 * do not wait for each other. */
struct spgemm_parts {
    uint32_t each;    // of a row; 0: rows are not divided
    uint32_t wide;    // strips of a part
    uint32_t *counts; // [rows * each] entries
    int64_t *at;      // as of rows
};

enum spgemm_mode {
    SPGEMM_COUNT, // entries of these rows, added up
    SPGEMM_STORE, // results behind one another, and where they are; rows that find no room are counted only
    SPGEMM_DIRECT // to their places in C; rows that were stored are left out
};

struct spgemm_totals {
    unsigned long long products;
    unsigned long long cursor, deferred; // entries stored; rows that found no room
    uint32_t rows[SPGEMM_BINS], filled[SPGEMM_BINS];
    unsigned long long sampled[SPGEMM_BINS], bound[SPGEMM_BINS]; // entries: of sampled rows; at most
    unsigned long long rank_products[SPGEMM_RANK_BINS], rank_entries[SPGEMM_RANK_BINS]; // entries of A; of the rows of SPGEMM_RANK_WARP and the bins behind it
};

template <class T> struct spgemm_place {
    spgemm_mode mode;
    int64_t *p;  // STORE: number of entries of each row is written; DIRECT: where each row begins
    int64_t *at; // where a row was stored; negative: it was not
    uint32_t *i;
    T *x;
    int64_t capacity;
    unsigned long long *cursor, *deferred, *sampled;
    bool again; // DIRECT: every row, columns are there
};

template <class T> struct spgemm_operands {
    const int64_t *ap, *bp;
    const uint32_t *ai, *bi;
    const T *ax, *bx; // NULL: the values below
    T a_iso, b_iso;
    operators op;
    bool values;
    bool masked;
    const uint32_t *mask_bits; // of each place; NULL: the mask is sparse
    int64_t mask_words;
    const int64_t *mp;
    const uint32_t *mi;
    const void *mx; // NULL: all its entries count
    int mask_size;  // of a value
    bool complement;
};

/* Of B's rows what lies in some strips of columns: from cuts[0] to cuts[wide] of each. */
template <class T> struct spgemm_part_operands : spgemm_operands<T> {
    const int64_t *cuts; // of row 0 of B, or of entry 0 of A
    uint32_t row_cuts, wide;
    bool by_entry;
};

/* Where the values of every product are, for the entries of C in windows.  In a window, entries come in the order of how many products they have, most
 * first; 32 of them make a slice.  Of a slice first come the first products of its entries, then the second ones of those that have two, and so on.
 * Those of one entry are in the order of A's entries.  An entry of many products has its places by itself, behind the windows. */
struct spgemm_places {
    const unsigned long long *code; // entry of A << 32 | entry of B; NULL: nothing is kept
    const uint16_t *entry;          // [windows * spgemm_window] products * spgemm_window + number in the window; 0 products: none here
    const int64_t *slice;           // [windows * spgemm_window / 32 + 1] where its places begin
    int64_t windows;
    const int64_t *many_entry;      // [many] of C
    const uint32_t *many_start;     // [many + 1] where its places begin
    uint32_t many;
};
constexpr uint32_t spgemm_window = 1024;

struct spgemm_places_memory {
    void *entries, *code;
    size_t bytes;
};

/* Rows of each bin, those of one behind those of the one before. */
struct spgemm_rows_by_bin {
    const uint32_t *list;
    const uint32_t *rows; // [SPGEMM_BINS], on the host
};

/* Of C, whose p and i are there, and of whose entries `counts` has the numbers of products (it is written to), at most product_count
 * in all, fewer than 2^32 - 1.  The memory is the caller's, also after a failure.  TSR_DECLINED: it is more than most_bytes. */
tsr_status spgemm_find_places(spgemm_places *places, spgemm_places_memory *memory, const spgemm_rows_by_bin &rows, const tsr_cuda_spgemm *product,
    const tsr_cuda_csr *c, uint64_t product_count, uint32_t *counts, size_t most_bytes);

/* A product by tiles (spgemm_tiles.cu); strips of A come before those of B'. */
struct spgemm_tiles {
    tsr_spgemm_tile_sums sums;
    uint32_t a_strips, b_strips, words; // strips of 128 rows; words of 32 blocks of 256 columns for each
    uint32_t *has, *rank;               // [strips * words] bits: the blocks a strip has; how many in its words before
    int64_t *first;                     // [strips + 1] tiles of bits before those of a strip
    uint32_t *bits;                     // NULL: the product does not go by tiles
    int64_t n;                          // tiles of C
    int64_t *tiles_before;              // [a_strips + 1] … before those of a strip
    uint2 *tiles;                       // [n] strip of A, strip of B'
    uint32_t *before;                   // [n * 128] entries of a row in the tiles before
    uint32_t *there;                    // NULL: counts; else [n * 128 * 4] bits: the entries of C, …
    uint32_t *slices;                   // … of each tile of bits, which slices of its tile of values have an entry, …
    unsigned char *values;              // … and these tiles (spgemm_value_tiles.cuh)
    size_t bytes;
    void *strips_memory, *tiles_memory;
};

/* Is every product one number, whose sums are exact, or is it a sum of products of reals or integers, and are there such instructions? */
bool spgemm_tiles_fit(const tsr_cuda_spgemm *product);
/* Are counts all that is needed? */
bool spgemm_tiles_count_only(const tsr_cuda_spgemm *product);
/* Entries of each row -> row_counts[m], where that is expected to be faster than row by row and takes at most so many bytes; waits for the stream to know.
 * Else TSR_DECLINED.  After a failure there is nothing to free. */
tsr_status spgemm_tiles_count(spgemm_tiles *tiles, const tsr_cuda_spgemm *product, const tsr_spgemm_tile_counts &known, int64_t *row_counts,
    size_t most_bytes);
/* Columns and values of C, whose offsets are there.  again: values may be others than when it was counted; TSR_DECLINED: they don't go by these tiles. */
tsr_status spgemm_tiles_fill(const spgemm_tiles *tiles, const tsr_cuda_spgemm *product, const tsr_cuda_csr *c, bool again);
void spgemm_tiles_free(spgemm_tiles *tiles, void *stream);

/* What launches one bin of one semiring. */
struct spgemm_call {
    const tsr_cuda_spgemm *product;
    const spgemm_places *places; // not NULL: no bin but all values of C, into place.x
    int bin;
    bool short_pieces; // rows of B are short
    bool close;        // their columns lie close together
    spgemm_shapes shapes;
    spgemm_rows rows;
    spgemm_parts parts;
    spgemm_strips strips;
    spgemm_place<void> place;
};
typedef tsr_status (*spgemm_run)(const spgemm_call &call);

tsr_status spgemm_run_fp64(const spgemm_call &call);  // plus_times
tsr_status spgemm_run_fp32(const spgemm_call &call);
tsr_status spgemm_run_int32(const spgemm_call &call); // signed or not
tsr_status spgemm_run_int64(const spgemm_call &call);
tsr_status spgemm_run_pair32(const spgemm_call &call); // plus_pair
tsr_status spgemm_run_pair64(const spgemm_call &call);
tsr_status spgemm_run_any(const spgemm_call &call); // any other
tsr_status spgemm_run_any_32(const spgemm_call &call);
tsr_status spgemm_run_any_64(const spgemm_call &call);
tsr_status spgemm_run_complex(const spgemm_call &call); // plus_times


// ---- Semirings ----
//
// all_shapes: with a kernel for each bin; else some bins share one.

template <class T> struct spgemm_plus_times {
    using value = T;
    static constexpr bool all_shapes = true;
    static __device__ __forceinline__ T multiply(operators, T a, T b)
    {
        if constexpr (std::is_same_v<T, double>)
            return __dmul_rn(a, b);
        else if constexpr (std::is_same_v<T, float>)
            return __fmul_rn(a, b);
        else
            return a * b;
    }
    static __device__ __forceinline__ T merge(operators, T s, T t)
    {
        if constexpr (std::is_same_v<T, double>)
            return __dadd_rn(s, t);
        else if constexpr (std::is_same_v<T, float>)
            return __fadd_rn(s, t);
        else
            return s + t;
    }
    static __device__ __forceinline__ T identity(operators) { return std::is_floating_point_v<T> ? T(-0.0) : T(0); }
};

/* Unsigned: sums wrap. */
template <class T> struct spgemm_plus_pair {
    using value = T;
    static constexpr bool all_shapes = true;
    static __device__ __forceinline__ T multiply(operators, T, T) { return 1; }
    static __device__ __forceinline__ T merge(operators, T s, T t) { return s + t; }
    static __device__ __forceinline__ T identity(operators) { return 0; }
};

template <class T> struct spgemm_any {
    using value = T;
    static constexpr bool all_shapes = false;
    static __device__ __forceinline__ T multiply(operators op, T a, T b) { return any_semiring<T>::multiply(op.mul, a, b); }
    static __device__ __forceinline__ T merge(operators op, T s, T t)
    {
        return op.add == TSR_ADD_ANY ? t : any_semiring<T>::merge(op.add, s, t);
    }
    static __device__ __forceinline__ T identity(operators op)
    {
        if (std::is_floating_point_v<T> && op.add == TSR_ADD_PLUS)
            return T(-0.0);
        return any_semiring<T>::identity(op.add);
    }
};

// ---- Lanes ----

template <class T> __device__ __forceinline__ T load_value(const T *at)
{
    T x[1];
    load_vector<T, 1>(x, at);
    return x[0];
}

/* What lane `from` of the group of G has. */
template <int G, class T> __device__ __forceinline__ T lane_of(T x, int from)
{
    using raw = std::conditional_t<(sizeof(T) >= 8), unsigned long long, unsigned>;
    constexpr int words = sizeof(T) > 8 ? 2 : 1;
    raw bits[words] = {};
    memcpy(bits, &x, sizeof x);
#pragma unroll
    for (int k = 0; k < words; k++)
        bits[k] = __shfl_sync(~0u, bits[k], from, G);
    memcpy(static_cast<void *>(&x), bits, sizeof x);
    return x;
}

/* The sum up to and with this lane, of a group of G. */
template <int G> __device__ __forceinline__ uint32_t sum_upto(uint32_t x, int lane)
{
#pragma unroll
    for (int d = 1; d < G; d *= 2) {
        uint32_t other = __shfl_up_sync(~0u, x, unsigned(d), G);
        x += lane >= d ? other : 0;
    }
    return x;
}

/* The first of n ascending indices that is not less. */
__device__ __forceinline__ int64_t lower_bound(const uint32_t *i, int64_t n, uint32_t index)
{
    int64_t lo = 0;
    while (n > 0) {
        int64_t half = n / 2;
        bool less = __ldg(i + lo + half) < index;
        lo = less ? lo + half + 1 : lo;
        n = less ? n - half - 1 : half;
    }
    return lo;
}

/* Of the threads that share a row. */
template <int T> __device__ __forceinline__ void team_sync()
{
    if constexpr (T == 32)
        __syncwarp();
    else
        __syncthreads();
}

// ---- The products of a row ----

/* A row of B that an entry of A names. */
template <class V> struct spgemm_piece {
    int64_t start;
    V a;
    uint32_t length;
};

template <class V>
__device__ __forceinline__ spgemm_piece<V> piece_of(const spgemm_operands<V> &q, int64_t entry, int64_t end, bool with_value)
{
    if (entry >= end)
        return { 0, q.a_iso, 0 };
    uint32_t k = __ldg(q.ai + entry);
    int64_t start = __ldg(q.bp + k);
    V a = with_value && q.ax ? load_value(q.ax + entry) : q.a_iso;
    return { start, a, uint32_t(__ldg(q.bp + k + 1) - start) };
}
template <class V>
__device__ __forceinline__ spgemm_piece<V> piece_of(const spgemm_part_operands<V> &q, int64_t entry, int64_t end, bool with_value)
{
    if (entry >= end)
        return { 0, q.a_iso, 0 };
    const int64_t *cuts = q.cuts + (q.by_entry ? entry : int64_t(__ldg(q.ai + entry))) * q.row_cuts, start = __ldg(cuts);
    const V a = with_value && q.ax ? load_value(q.ax + entry) : q.a_iso;
    return { start, a, uint32_t(__ldg(cuts + q.wide) - start) };
}

/* Of a mask with a bit for each place: columns from 32 `word` on; none behind the last one. */
template <class V> __device__ __forceinline__ uint32_t mask_word(const spgemm_operands<V> &q, uint32_t row, uint32_t word)
{
    return word < q.mask_words ? __ldg(q.mask_bits + row * q.mask_words + word) : 0;
}

/* Does the mask let an entry pass?  Of 32 columns from `first` on: those it lets pass. */
template <class V> __device__ __forceinline__ bool passes(const spgemm_operands<V> &q, uint32_t row, uint32_t column)
{
    if (!q.masked)
        return true;
    if (q.mask_bits)
        return bool(mask_word(q, row, column / 32) >> column % 32 & 1) != q.complement;
    int64_t end = q.mp[row + 1], at = q.mp[row];
    at += lower_bound(q.mi + at, end - at, column);
    return (at < end && __ldg(q.mi + at) == column && mask_passes(q.mx, q.mask_size, at)) != q.complement;
}
template <class V> __device__ __forceinline__ uint32_t passing_bits(const spgemm_operands<V> &q, uint32_t row, uint32_t first)
{
    if (q.mask_bits) {
        uint32_t there = __funnelshift_r(mask_word(q, row, first / 32), mask_word(q, row, first / 32 + 1), first % 32);
        return q.complement ? ~there : there;
    }
    uint32_t bits = 0;
    int64_t end = q.mp[row + 1], at = q.mp[row];
    for (at += lower_bound(q.mi + at, end - at, first); at < end && __ldg(q.mi + at) - first < 32; at++)
        bits |= uint32_t(mask_passes(q.mx, q.mask_size, at)) << (__ldg(q.mi + at) - first);
    return q.complement ? ~bits : bits;
}

template <class V> __device__ __forceinline__ V b_value(const spgemm_operands<V> &q, int64_t at)
{
    return q.bx ? load_value(q.bx + at) : q.b_iso;
}

/* G lanes for each of the first `count` pieces of the warp's lanes. */
template <int G, class V, class See> __device__ __forceinline__ void each_column_of(const spgemm_operands<V> &q, const spgemm_piece<V> &mine,
    int count, const See &see)
{
    constexpr int ahead = 8 / (32 / G) > 2 ? 8 : 4, at_once = 32 / G;
    uint32_t lane = threadIdx.x % G;
    int k = int(threadIdx.x % 32) / G;
    uint32_t done = 0; // of piece k
    while (__any_sync(~0u, k < count)) {
        uint32_t column[ahead];
        bool there[ahead];
#pragma unroll
        for (int u = 0; u < ahead; u++) {
            int from = min(k, count - 1);
            int64_t start = lane_of<32>(mine.start, from);
            uint32_t length = lane_of<32>(mine.length, from);
            length = k < count ? length : 0;
            there[u] = done + lane < length;
            column[u] = there[u] ? __ldg(q.bi + start + done + lane) : 0;
            done += G;
            if (done >= length)
                done = 0, k += at_once;
        }
#pragma unroll
        for (int u = 0; u < ahead; u++)
            if (there[u])
                see(column[u]);
    }
}

/* Of those that the lanes of a warp have, or of those in shared memory. */
template <int T, class V> __device__ __forceinline__ spgemm_piece<V> nth_piece(const spgemm_piece<V> &mine, const spgemm_piece<V> *pieces, int k)
{
    if constexpr (T > 32)
        return pieces[k];
    return { lane_of<32>(mine.start, k), lane_of<32>(mine.a, k), lane_of<32>(mine.length, k) };
}

/* Calls see(column) for the columns of every product of the row, in any order, by all threads of the team. */
template <int T, class Q, class See> __device__ __forceinline__ void each_column(const Q &q, int64_t begin, int64_t end, const See &see)
{
    constexpr int warps = T / 32;
    int lane = int(threadIdx.x % 32), warp = T == 32 ? 0 : int(threadIdx.x / 32);
    for (int64_t base = begin + warp; base < end; base += 32 * warps) {
        auto mine = piece_of(q, base + int64_t(lane) * warps, end, false);
        int count = int(min((end - base + warps - 1) / warps, int64_t(32)));
        if (__reduce_add_sync(~0u, min(mine.length, 1u << 20)) < 16u * unsigned(count))
            each_column_of<8>(q, mine, count, see);
        else
            each_column_of<32>(q, mine, count, see);
    }
}

/* Calls add(column, product) for every product of the row.  Those of one entry of A have different columns and come together; the next
 * entry's come after a barrier.  Ahead: loads in flight.  pieces: T of them in shared memory, where T > 32. */
template <class P, int T, int Ahead, class Q, class Add, class V = typename P::value>
__device__ __forceinline__ void each_product(const Q &q, int64_t begin, int64_t end, spgemm_piece<V> *pieces, const Add &add)
{
    int lane = T == 32 ? int(threadIdx.x % 32) : int(threadIdx.x);
    for (int64_t base = begin; base < end; base += T) {
        spgemm_piece<V> mine = piece_of(q, base + lane, end, true);
        if constexpr (T > 32) {
            pieces[lane] = mine;
            __syncthreads();
        }
        int count = int(min(end - base, int64_t(T))), k = 0;
        for (uint32_t done = 0; k < count;) { // of piece k
            uint32_t column[Ahead];
            V a[Ahead], b[Ahead];
            bool there[Ahead];
#pragma unroll
            for (int u = 0; u < Ahead; u++) {
                spgemm_piece<V> piece = nth_piece<T>(mine, pieces, min(k, count - 1));
                uint32_t length = k < count ? piece.length : 0, o = done + uint32_t(lane);
                there[u] = o < length;
                a[u] = piece.a;
                column[u] = there[u] ? __ldg(q.bi + piece.start + o) : 0;
                b[u] = there[u] ? b_value(q, piece.start + o) : q.b_iso;
                done += T;
                if (done >= length)
                    done = 0, k++;
            }
#pragma unroll
            for (int u = 0; u < Ahead; u++) {
                if (there[u])
                    add(column[u], P::multiply(q.op, a[u], b[u]));
                team_sync<T>();
            }
        }
    }
}

// ---- Where results go ----

/* By one thread of the team: where a row of `count` entries is written; negative: nowhere. */
template <class V> __device__ __forceinline__ int64_t claim_place(const spgemm_place<V> &place, uint32_t row, uint32_t count)
{
    if (place.mode == SPGEMM_COUNT) {
        atomicAdd(place.sampled, (unsigned long long)count);
        return -1;
    }
    if (place.mode == SPGEMM_DIRECT)
        return place.p[row];
    int64_t at = int64_t(atomicAdd(place.cursor, (unsigned long long)count));
    if (at + count > place.capacity) {
        atomicAdd(place.deferred, 1ull);
        at = -1;
    }
    place.p[row] = count;
    place.at[row] = at;
    return at;
}

/* Where part `k`, the part-th of its row, begins in C: behind those before it. */
__device__ __forceinline__ int64_t begin_of_part(const int64_t *p, uint32_t row, const spgemm_parts &parts, uint64_t k, uint32_t part)
{
    int64_t begin = p[row];
    for (uint32_t before = 1; before <= part; before++)
        begin += parts.counts[k - before];
    return begin;
}

/* By one thread; as claim_place. */
template <class V> __device__ __forceinline__ int64_t claim_part(const spgemm_place<V> &place, uint32_t row, const spgemm_parts &parts, uint64_t k,
    uint32_t part, uint32_t count)
{
    if (place.mode == SPGEMM_COUNT) {
        atomicAdd(place.sampled, (unsigned long long)count);
        return -1;
    }
    if (place.mode == SPGEMM_DIRECT)
        return begin_of_part(place.p, row, parts, k, part);
    int64_t at = int64_t(atomicAdd(place.cursor, (unsigned long long)count));
    if (at + count > place.capacity) {
        atomicAdd(place.deferred, 1ull);
        at = -1;
    }
    atomicAdd(reinterpret_cast<unsigned long long *>(place.p + row), (unsigned long long)count);
    place.at[row] = -1; /* not as a whole */
    parts.counts[k] = count;
    parts.at[k] = at;
    return at;
}

template <class V> __device__ __forceinline__ bool is_wanted(const spgemm_place<V> &place, uint32_t row)
{
    return place.mode != SPGEMM_DIRECT || place.again || place.at[row] < 0;
}
