// SpMM by row on CUDA cores, for any semiring policy.
//
// A group of G lanes (32, 16, 8 or 4) computes one item (see csr_work.cuh) for a tile of G * V columns, V consecutive columns per
// lane. The item's columns, values and row ends are staged in shared memory, so that every lane has the next U entries after a
// few 16-byte reads; the U rows of B are then fetched by independent loads of V elements before the first is used, whatever rows
// the entries belong to.  At the end of a row its sums go straight to C, past the caches.  Entries join in their order.  A part
// of a long row leaves a partial sum; a second kernel adds these in order.
//
// B tiles are the outer loop (all items of the first tile of columns, then the next), so that a narrow tile keeps its part of B
// in L2. A and C are streamed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/spmm/csr/csr_work.cuh"
#include "kernels/cuda/common/complex.cuh"

#include <climits>

struct csr_args {
    const csr_item *items;
    int64_t nitems;
    const csr_split *split;
    int64_t nsplit;
    const int64_t *p;
    const uint32_t *i;
    const void *x;
    uint64_t iso, iso_rest;
    int64_t n;
    const void *b;
    const int8_t *b_present;
    int64_t b_stride; /* bytes */
    int64_t ldb;
    void *c;
    int8_t *c_present;
    int64_t ldc;
    double alpha, beta;
    double alpha_im, beta_im; /* of complex numbers, as is */
    bool conjugate;           /* A's values */
    const void *bias; /* of the columns; NULL: none */
    bool rectified;   /* then what is below 0 becomes 0 */
    float value_scale; /* of A's values in 16 bits (spmm_rows): alpha in its place */
    void *partial;
    int8_t *partial_present;
    const csr_ends *ends; /* SpMV */
    const uint32_t *rows; /* those with entries, `filled` of them, then those without */
    int64_t nrows, filled;
    const int *marked;    /* B is marked (marks.cuh): some element equals the mark of what is not there */
    bool c_vectors; /* C can be stored V elements at a time */
    bool plain;     /* alpha == 1, beta == 0, no flags (SpMV) */
    bool a_vectors; /* columns and values can be loaded 16 bytes at a time (SpMV) */
    bool reads_a, reads_b;
    operators ops;
    int64_t products;                                      /* in one launch; 0: one */
    int64_t x_period, b_period, c_period, partial_period; /* of several: bytes from one to the next */
};

/* How a product is cut among threads. */
struct csr_shape {
    int vector, lanes, warps; /* V, G, and warps in a block */
};

/* Of policies for a marked B (marks.cuh), whose sums keep a bit for each element as those of generic ones. */
template <class P> constexpr bool has_marks = false;
template <class P> constexpr bool keeps_bits = P::generic || has_marks<P>;

// ---- Sums of V columns ----

template <class P, int V> struct row_sums {
    using sum = typename P::sum;
    sum value[V];
    unsigned have; /* policies that keep bits: columns in which a product was formed */

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int v = 0; v < V; v++)
            value[v] = P::identity();
        have = 0;
    }

    /* present: bits of B's elements (policies that keep bits). */
    __device__ __forceinline__ void add(operators ops, sum a, const typename P::element (&b)[V], unsigned present)
    {
#pragma unroll
        for (int v = 0; v < V; v++) {
            if constexpr (P::generic) {
                sum term = P::multiply(ops.mul, a, P::widen(b[v]));
                sum both = have >> v & 1 ? P::merge(ops.add, value[v], term) : P::begin(ops.add, term);
                value[v] = present >> v & 1 ? both : value[v];
            } else if constexpr (has_marks<P>) {
                value[v] = present >> v & 1 ? P::step(value[v], a, P::widen(b[v])) : value[v];
            } else {
                value[v] = P::step(value[v], a, P::widen(b[v]));
            }
        }
        have |= present;
    }

    __device__ __forceinline__ void merge(operators ops, const sum (&other)[V], unsigned present)
    {
#pragma unroll
        for (int v = 0; v < V; v++) {
            if constexpr (P::generic) {
                sum both = have >> v & 1 ? P::merge(ops.add, value[v], other[v]) : other[v];
                value[v] = present >> v & 1 ? both : value[v];
            } else {
                value[v] = P::merge(value[v], other[v]);
            }
        }
        have |= present;
    }
};

template <int V> constexpr unsigned all_present = (1u << V) - 1;

template <int V> __device__ __forceinline__ void store_present(int8_t *at, unsigned present)
{
#pragma unroll
    for (int v = 0; v < V; v++)
        at[v] = int8_t(present >> v & 1);
}

/* Aligned to V bytes. */
template <int V> __device__ __forceinline__ unsigned load_present(const int8_t *at)
{
    int8_t byte[V];
    unsigned present = 0;
    load_vector(byte, at);
#pragma unroll
    for (int v = 0; v < V; v++)
        present |= unsigned(byte[v] != 0) << v;
    return present;
}

/* alpha * sum + beta * *c. */
template <class T> __device__ __forceinline__ complex_number<T> scaled(const csr_args &q, complex_number<T> sum, const complex_number<T> *c)
{
    sum = complex_number<T>(T(q.alpha), T(q.alpha_im)) * sum;
    return q.beta != 0 || q.beta_im != 0 ? sum + complex_number<T>(T(q.beta), T(q.beta_im)) * *c : sum;
}

/* C at `place` (elements from the first), columns `column` on, becomes alpha * sums + beta * C; without a product 0 (* alpha).  NaN is not below 0. */
template <class P, int V>
__device__ __forceinline__ void store_row(const csr_args &q, int64_t place, int64_t column, const row_sums<P, V> &sums, bool any)
{
    using sum = typename P::sum;
    sum out[V], *c = static_cast<sum *>(q.c) + place;
#pragma unroll
    for (int v = 0; v < V; v++) {
        bool formed = keeps_bits<P> ? sums.have >> v & 1 : any;
        out[v] = formed ? sums.value[v] : sum(0);
        if constexpr (is_complex<sum>) {
            out[v] = scaled(q, out[v], c + v);
        } else if constexpr (std::is_floating_point_v<sum> && !P::generic) {
            out[v] *= sum(q.alpha);
            if (q.beta != 0)
                out[v] = fused(sum(q.beta), c[v], out[v]);
            if (q.bias)
                out[v] += static_cast<const sum *>(q.bias)[column + v];
            if (q.rectified && out[v] < sum(0))
                out[v] = 0;
        }
    }
    if (q.c_vectors) {
        store_vector(c, out);
    } else {
#pragma unroll
        for (int v = 0; v < V; v++)
            store_once(c + v, out[v]);
    }
    if (q.c_present)
        store_present<V>(q.c_present + place, keeps_bits<P> ? sums.have : any ? all_present<V> : 0);
}

// ---- Staging ----

template <int G> constexpr int staged_entries = G == 4 ? 16 : 32;

/* Of one group.  The size is 16 bytes times an odd number, so that groups do not meet in the same banks. */
template <class P, int G> struct csr_stage {
    static constexpr int size = staged_entries<G>;
    alignas(16) uint32_t column[size];
    alignas(16) typename P::sum value[size];
    alignas(16) int row_end[spmm_item_rows + 4];
};

template <class P> constexpr bool is_half = false;
template <class Half> constexpr bool is_half<plus_times_half<Half>> = true;

/* The entries at `from` that a lane brings from global to shared memory. */
template <class P, int G> struct csr_fetch {
    static constexpr int each = staged_entries<G> / G;
    uint32_t column[each];
    typename P::element value[each];

    /* Past the end, the last entry again: its row of B is at hand, and its product is not used. */
    __device__ __forceinline__ void load(const csr_args &q, int64_t entry, int left, int l)
    {
        const uint32_t *columns = q.i + entry;
        const typename P::element *values = static_cast<const typename P::element *>(q.x) + (q.reads_a ? entry : 0);
#pragma unroll
        for (int k = 0; k < each; k++) {
            int at = k * G + l < left ? k * G + l : left - 1;
            column[k] = load_once(columns + at);
            if (q.reads_a)
                value[k] = load_once(values + at);
        }
    }
    __device__ __forceinline__ void put(const csr_args &q, csr_stage<P, G> &stage, typename P::sum iso, int l) const
    {
#pragma unroll
        for (int k = 0; k < each; k++) {
            stage.column[k * G + l] = column[k];
            stage.value[k * G + l] = q.reads_a ? P::widen(value[k]) : iso;
            if constexpr (is_half<P>)
                stage.value[k * G + l] *= q.value_scale;
            if constexpr (is_complex<typename P::sum>)
                stage.value[k * G + l] = stage.value[k * G + l].conjugated(q.conjugate);
        }
    }
};

template <int U, class T> __device__ __forceinline__ void read_staged(T (&out)[U], const T *at)
{
    if constexpr (U * sizeof(T) % 16 == 0) {
        uint4 piece[U * sizeof(T) / 16];
#pragma unroll
        for (int k = 0; k < int(U * sizeof(T) / 16); k++)
            piece[k] = reinterpret_cast<const uint4 *>(at)[k];
        memcpy(out, piece, sizeof out);
    } else {
#pragma unroll
        for (int k = 0; k < U; k++)
            out[k] = at[k];
    }
}

// ---- The kernel ----

template <class P> __device__ __forceinline__ typename P::sum iso_value(const csr_args &q)
{
    const uint64_t bits[2] = { q.iso, q.iso_rest };
    typename P::sum x;
    if constexpr (std::is_same_v<typename P::sum, bool>)
        x = (q.iso & 0xff) != 0;
    else
        memcpy(&x, bits, sizeof x);
    return x;
}

/* The rows of an item as a group walks through its entries: the sums of the current one, and where it ends.
 * Plain: alpha == 1, beta == 0, C is stored by vectors, and the sum of no entries is what an empty row holds; then rows of C and
 * partial sums are written alike. */
template <class P, int V, bool Plain> struct row_walk {
    using sum = typename P::sum;
    row_sums<P, V> sums;
    const int *end_of; /* in shared memory: of the next row */
    int end;           /* entries of the item up to the end of this row */
    int begin;
    int64_t place; /* of the row in C, or of its partial sum */
    int64_t first_column;
    sum *at;       /* the same, as an address (Plain) */
    bool whole, inside;
    bool ask; /* of a marked B: the mark may be an element */

    __device__ __forceinline__ void start(
        const csr_args &q, const csr_item &item, const int *ends, int64_t column, bool lane_counts)
    {
        end_of = ends + 1;
        begin = 0;
        end = ends[0];
        whole = item.partial < 0;
        first_column = column;
        place = column + (whole ? item.row * q.ldc : item.partial * q.n);
        at = static_cast<sum *>(whole ? q.c : q.partial) + place;
        inside = lane_counts;
        ask = has_marks<P> && *q.marked;
        sums.clear();
    }

    __device__ __forceinline__ void store(const csr_args &q)
    {
        if (Plain) {
            store_vector(at, sums.value);
        } else if (whole) {
            store_row<P, V>(q, place, first_column, sums, end > begin);
        } else {
            store_vector(static_cast<sum *>(q.partial) + place, sums.value);
            if (keeps_bits<P> && q.b_present)
                store_present<V>(q.partial_present + place, sums.have);
        }
    }

    /* The first level of sums joins the second. */
    __device__ __forceinline__ void join(row_sums<P, V> &part)
    {
        if constexpr (P::two_levels) {
#pragma unroll
            for (int v = 0; v < V; v++)
                sums.value[v] = P::merge(sums.value[v], part.value[v]);
            sums.have |= part.have;
            part.clear();
        } else {
            sums = part;
        }
    }

    /* Write out the rows that end after `entries` entries of the item. */
    __device__ __forceinline__ void finish_rows(const csr_args &q, int entries, row_sums<P, V> &part)
    {
#pragma unroll 1
        while (end == entries) {
            join(part);
            if (inside)
                store(q);
            part.clear();
            sums.clear();
            if (Plain) {
                at += q.ldc;
            } else {
                place += q.ldc;
                begin = end;
            }
            end = *end_of++;
        }
    }
};

/* Plain kernels are not for rows of B 4 GB apart. */
template <bool Plain> __device__ __forceinline__ int64_t b_offset(const csr_args &q, uint32_t column)
{
    return Plain ? int64_t(uint64_t(column) * uint32_t(q.b_stride)) : column * q.b_stride;
}

/* Which elements of a marked row are there; present: their bytes, asked where the mark may be an element. */
template <class P, int V>
__device__ __forceinline__ unsigned unmarked(const typename P::element (&row)[V], const int8_t *present, bool ask);

template <class P, int V, int G, int U, bool Plain> __device__ __forceinline__ void add_entries(const csr_args &q,
    const csr_stage<P, G> &stage, int at, int entries, const char *b, const int8_t *present, row_walk<P, V, Plain> &walk)
{
    uint32_t column[U];
    typename P::sum value[U];
    typename P::element row[U][V];
    unsigned bits[U];
    read_staged(column, stage.column + at);
    read_staged(value, stage.value + at);
#pragma unroll
    for (int k = 0; k < U; k++)
        bits[k] = P::generic && present ? load_present<V>(present + column[k] * q.ldb) : all_present<V>;
#pragma unroll
    for (int k = 0; k < U; k++) {
        if constexpr (P::generic)
            memset(static_cast<void *>(row[k]), 0, sizeof row[k]);
        if (!P::generic || (q.reads_b && bits[k] != 0)) /* few entries of a bitmap: few rows of it are read */
            load_vector(row[k], b + b_offset<Plain>(q, column[k]));
    }
    if constexpr (has_marks<P>) {
#pragma unroll
        for (int k = 0; k < U; k++)
            bits[k] = unmarked<P, V>(row[k], present + column[k] * q.ldb, walk.ask);
    }
    row_sums<P, V> part = walk.sums;
    if (P::two_levels)
        part.clear();
    /* Groups of one warp differ: a branch for rows that do not end here would be taken both ways. */
    if (G == 32 && walk.end >= entries + U) {
#pragma unroll
        for (int k = 0; k < U; k++)
            part.add(q.ops, value[k], row[k], bits[k]);
        walk.finish_rows(q, entries + U, part);
    } else {
#pragma unroll
        for (int k = 0; k < U; k++) {
            part.add(q.ops, value[k], row[k], bits[k]);
            walk.finish_rows(q, entries + k + 1, part);
        }
    }
    walk.join(part);
}

/* Where the rows of an item end, in entries from its first; more than any behind the last. */
template <class P, int G> __device__ __forceinline__ void stage_ends(
    const csr_args &q, csr_stage<P, G> &stage, const csr_item &first, int rows, int count, int l)
{
    const int64_t *ends = q.p + first.row + 1;
#pragma unroll
    for (int k = 0; k < spmm_item_rows / G; k++) {
        int row = k * G + l;
        if (row < rows)
            stage.row_end[row] = first.partial < 0 ? int(__ldg(ends + row) - first.entry) : count;
    }
    if (l == 0)
        stage.row_end[rows] = INT_MAX;
}

/* Block (x, y): items from x * items per block on, columns from y * G * V on. */
template <class P, int V, int G, int U, bool Plain> __device__ __forceinline__ void multiply_rows(const csr_args &q)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = warp * (32 / G) + lane / G, l = lane % G;
    csr_stage<P, G> &stage = reinterpret_cast<csr_stage<P, G> *>(dynamic_shared())[group];
    int64_t item = int64_t(blockIdx.x) * (blockDim.x / G) + group;
    int64_t column = (int64_t(blockIdx.y) * G + l) * V;
    bool inside = column < q.n;
    if (!inside)
        column = 0;

    csr_item first = q.items[item < q.nitems ? item : q.nitems], next = q.items[item < q.nitems ? item + 1 : q.nitems];
    int count = int(next.entry - first.entry), rows = first.partial < 0 ? int(next.row - first.row) : 1;
    if (first.partial == csr_skipped)
        count = rows = 0;
    csr_fetch<P, G> fetch = {};
    if (count > 0)
        fetch.load(q, first.entry, count, l);
    stage_ends<P, G>(q, stage, first, rows, count, l);
    __syncwarp();
    row_walk<P, V, Plain> walk;
    walk.start(q, first, stage.row_end, column, inside);
    row_sums<P, V> none;
    none.clear();
    walk.finish_rows(q, 0, none);
    typename P::sum iso = iso_value<P>(q);
    const char *b = keep_address(static_cast<const char *>(q.b) + column * int64_t(sizeof(typename P::element)));
    const int8_t *present = keeps_bits<P> && q.b_present ? q.b_present + column : nullptr;
#pragma unroll 1
    for (int base = 0; __any_sync(~0u, base < count); base += stage.size) {
        if (base < count)
            fetch.put(q, stage, iso, l);
        __syncwarp();
        if (base + stage.size < count)
            fetch.load(q, first.entry + base + stage.size, count - base - stage.size, l);
#pragma unroll 1
        for (int at = 0; at < stage.size && base + at < count; at += U)
            add_entries<P, V, G, U, Plain>(q, stage, at, base + at, b, present, walk);
        __syncwarp();
    }
}

template <class P, int V, int G, int U, bool Plain> __global__ void __launch_bounds__(1024, 1)
    spmm_rows(const __grid_constant__ csr_args q)
{
    multiply_rows<P, V, G, U, Plain>(q);
}

/* Number `product` of several. */
static __device__ __forceinline__ csr_args product_of_batch(const csr_args &all, int64_t product)
{
    csr_args q = all;
    q.x = static_cast<const char *>(all.x) + product * all.x_period;
    q.b = static_cast<const char *>(all.b) + product * all.b_period;
    q.c = static_cast<char *>(all.c) + product * all.c_period;
    q.partial = static_cast<char *>(all.partial) + product * all.partial_period;
    return q;
}

/* The same of product z. */
template <class P, int V, int G, int U> __global__ void __launch_bounds__(1024, 1) spmm_rows_of_batch(const __grid_constant__ csr_args all)
{
    const csr_args q = product_of_batch(all, blockIdx.z);
    multiply_rows<P, V, G, U, false>(q);
}

/* The partial sums of a row for one column each lane: numbers [begin, end), in order. */
template <class P>
__device__ __forceinline__ row_sums<P, 1> add_partials(const csr_args &q, int64_t begin, int64_t end, int64_t column)
{
    using sum = typename P::sum;
    row_sums<P, 1> sums;
    sums.clear();
    if (column < q.n) {
#pragma unroll 4
        for (int64_t k = begin; k < end; k++) {
            sum other[1] = { load_once(static_cast<const sum *>(q.partial) + k * q.n + column) };
            sums.merge(q.ops, other, keeps_bits<P> && q.b_present ? q.partial_present[k * q.n + column] : 1);
        }
    }
    return sums;
}

/* Block (x, y): row `split[x]`, columns y * 32 * slices and on.  Few partial sums: a warp adds up 32 columns.  Many: slices of
 * consecutive ones are added by one warp each, then the slices, all in order. */
constexpr int slices = 8;

template <class P> __device__ __forceinline__ void add_split_rows(const csr_args &q)
{
    using sum = typename P::sum;
    __shared__ sum value[slices][32];
    __shared__ unsigned have[slices][32];
    csr_split mine = q.split[blockIdx.x];
    int64_t end = q.split[blockIdx.x + 1].first, count = end - mine.first, place = mine.row * q.ldc;
    int lane = threadIdx.x % 32, slice = threadIdx.x / 32;
    if (count <= 2 * slices) {
        int64_t column = int64_t(blockIdx.y) * 32 * slices + threadIdx.x;
        row_sums<P, 1> sums = add_partials<P>(q, mine.first, end, column);
        if (column < q.n)
            store_row<P, 1>(q, place + column, column, sums, true);
        return;
    }
    for (int tile = 0; tile < slices; tile++) {
        int64_t column = (int64_t(blockIdx.y) * slices + tile) * 32 + lane;
        row_sums<P, 1> sums =
            add_partials<P>(q, mine.first + count * slice / slices, mine.first + count * (slice + 1) / slices, column);
        value[slice][lane] = sums.value[0];
        have[slice][lane] = sums.have;
        __syncthreads();
        if (slice == 0 && column < q.n) {
            for (int s = 1; s < slices; s++) {
                sum other[1] = { value[s][lane] };
                sums.merge(q.ops, other, have[s][lane]);
            }
            store_row<P, 1>(q, place + column, column, sums, true);
        }
        __syncthreads();
    }
}

template <class P> __global__ void __launch_bounds__(32 * slices) add_csr_partials(const __grid_constant__ csr_args q)
{
    add_split_rows<P>(q);
}

template <class P> __global__ void __launch_bounds__(32 * slices) add_partials_of_batch(const __grid_constant__ csr_args all)
{
    const csr_args q = product_of_batch(all, blockIdx.z);
    add_split_rows<P>(q);
}

// ---- Launching ----

/* Policies whose products may be several in one launch. */
template <class P> constexpr bool has_batches = false;
template <> inline constexpr bool has_batches<plus_times<float>> = true;
template <> inline constexpr bool has_batches<plus_times<double>> = true;
template <class T> constexpr bool has_batches<plus_times<complex_number<T>>> = true;

constexpr int64_t most_of_batch = 65535;

template <class P> void launch_partials(const csr_args &q, void *stream)
{
    dim3 grid = dim3(unsigned(q.nsplit), unsigned((q.n + 32 * slices - 1) / (32 * slices)));
    if (q.nsplit == 0)
        return;
    if constexpr (has_batches<P>) {
        if (q.products) {
            grid.z = unsigned(q.products);
            TSR_LAUNCH(add_partials_of_batch<P>, grid, 32 * slices, 0, stream, q);
            return;
        }
    }
    TSR_LAUNCH(add_csr_partials<P>, grid, 32 * slices, 0, stream, q);
}

template <class P> constexpr bool has_plain = false;
template <class T> constexpr bool has_plain<plus_times<T>> = true;
template <class Half> constexpr bool has_plain<plus_times_half<Half>> = true;

template <class P> bool is_plain(const csr_args &q)
{
    constexpr bool scales = std::is_floating_point_v<typename P::sum> || is_complex<typename P::sum>;
    bool scaled = scales && (q.alpha != 1 || q.beta != 0 || q.alpha_im != 0 || q.beta_im != 0);
    return !scaled && !q.bias && !q.rectified && q.c_present == nullptr;
}

template <class P, int V, int G, int U> tsr_status launch_rows(csr_args q, const csr_shape &shape, void *stream)
{
    constexpr int per_warp = 32 / G,
                  most = 48 * 1024 / (per_warp * int(sizeof(csr_stage<P, G>))); /* shared memory without asking */
    int warps = shape.warps < most ? shape.warps : most;
    int64_t per_block = int64_t(warps) * per_warp, blocks = (q.nitems + per_block - 1) / per_block;
    int64_t tiles = (q.n + G * V - 1) / (G * V);
    if (blocks > INT_MAX || tiles > 65535)
        return TSR_DECLINED;
    if (is_half<P>) {
        q.value_scale = static_cast<float>(q.alpha);
        q.alpha = 1;
    }
    q.c_vectors = reinterpret_cast<uintptr_t>(q.c) % piece_bytes<typename P::sum, V> == 0
        && q.ldc * int64_t(sizeof(typename P::sum)) % piece_bytes<typename P::sum, V> == 0 && q.c_period % piece_bytes<typename P::sum, V> == 0;
    auto kernel = spmm_rows<P, V, G, U, false>;
    if constexpr (has_plain<P>)
        if (is_plain<P>(q) && q.c_vectors && q.b_stride <= UINT32_MAX)
            kernel = spmm_rows<P, V, G, U, true>;
    dim3 grid = dim3(unsigned(blocks), unsigned(tiles));
    if constexpr (has_batches<P>)
        if (q.products) {
            kernel = spmm_rows_of_batch<P, V, G, U>;
            grid.z = unsigned(q.products);
        }
    TSR_LAUNCH(kernel, grid, unsigned(warps * 32), size_t(per_block) * sizeof(csr_stage<P, G>), stream, q);
    launch_partials<P>(q, stream);
    return launch_status();
}

/* Entries in flight: more where their rows of B are short. */
template <class P, int V> constexpr int unroll = !P::generic && sizeof(typename P::element) * V <= 8 ? 8 : 4;

template <class P, int V> tsr_status launch_lanes(const csr_args &q, const csr_shape &shape, void *stream)
{
    constexpr int U = unroll<P, V>;
    switch (shape.lanes) {
    case 4: return launch_rows<P, V, 4, U>(q, shape, stream);
    case 8: return launch_rows<P, V, 8, U>(q, shape, stream);
    case 16: return launch_rows<P, V, 16, U>(q, shape, stream);
    default: return launch_rows<P, V, 32, U>(q, shape, stream);
    }
}

/* The kernel for full vectors of `Full` elements, and those for narrower ones. */
template <class P, int Full> tsr_status launch_typed(const csr_args &q, const csr_shape &shape, void *stream)
{
    if (shape.vector >= Full)
        return launch_lanes<P, Full>(q, shape, stream);
    if constexpr (Full > 4)
        if (shape.vector == 4)
            return launch_lanes<P, 4>(q, shape, stream);
    if constexpr (Full > 2)
        if (shape.vector == 2)
            return launch_lanes<P, 2>(q, shape, stream);
    return launch_lanes<P, 1>(q, shape, stream);
}

// ---- By type.  TSR_DECLINED: no kernel for this one ----

tsr_status tsr_csr_fp32(const csr_args &q, const csr_shape &shape, void *stream);
tsr_status tsr_csr_fp64(const csr_args &q, const csr_shape &shape, void *stream);
tsr_status tsr_csr_fp16(const csr_args &q, const csr_shape &shape, void *stream);
tsr_status tsr_csr_bf16(const csr_args &q, const csr_shape &shape, void *stream);
tsr_status tsr_csr_complex(tsr_type type, const csr_args &q, const csr_shape &shape, void *stream);
/* plus_times of 32-bit and 64-bit integers; min_plus of them and of floating point. */
tsr_status tsr_csr_plus_times(tsr_type type, const csr_args &q, const csr_shape &shape, void *stream);
tsr_status tsr_csr_min_plus(tsr_type type, const csr_args &q, const csr_shape &shape, void *stream);
tsr_status tsr_csr_spmv_half(tsr_number number, const csr_args &q, void *stream);
tsr_status tsr_csr_spmv_complex(tsr_type type, const csr_args &q, void *stream);
tsr_status tsr_csr_spmv_plus_times(tsr_type type, const csr_args &q, void *stream);
tsr_status tsr_csr_spmv_min_plus(tsr_type type, const csr_args &q, void *stream);
tsr_status tsr_csr_spmv_any(tsr_type type, const csr_args &q, void *stream);
/* plus_times and min_plus (`least`) with a marked bitmap of few columns, or of one; alpha == 1, beta == 0; SpMM's items, or SpMV's. */
bool tsr_csr_takes_marked(tsr_type type, int64_t n);
tsr_status tsr_csr_marked(tsr_type type, bool least, const csr_args &q, const csr_shape &shape, void *stream);
tsr_status tsr_csr_spmv_marked(tsr_type type, bool least, const csr_args &q, void *stream);
/* Everything: also bitmaps. */
tsr_status tsr_csr_any(tsr_type type, const csr_args &q, const csr_shape &shape, void *stream);

// ---- By bits: a product is a logical or, and B has several columns ----

/* What a semiring needs of B: which elements are there, and which of these are true. */
struct csr_bits {
    bool taken, present, values;
    bool weighted; /* values of A that are 0 give no true product */
};
/* b_present: B is a bitmap. */
csr_bits tsr_csr_bits_of(tsr_semiring semiring, bool b_present, int64_t n, int64_t nvals, int64_t nrows, int64_t ncols);
/* Of scratch, in args.partial. */
size_t tsr_csr_bits_bytes(const csr_bits &bits, int64_t n, int64_t nrows, int64_t ncols);
tsr_status tsr_csr_by_bits(tsr_type type, const csr_bits &bits, const csr_args &q, int64_t ncols, int64_t nvals, void *stream);

// ---- A bitmap with marks (marks.cu) ----

/* Rows of `width` elements, n of them of B, and the flag. */
struct marked_rows {
    void *x;
    int *flag;
    int64_t count, width;
};

/* Scratch at the end of args.partial, behind partial sums of so many bytes. */
size_t tsr_csr_marked_bytes(size_t partial_bytes, int64_t rows, int64_t n, tsr_type type);
marked_rows tsr_csr_marked_rows(void *partial, size_t partial_bytes, int64_t rows, int64_t n);

/* Fills them; afterwards args has them in B's place. */
tsr_status tsr_csr_mark(csr_args *args, const marked_rows &rows, tsr_type type, const tsr_cuda_device *device, void *stream);
