// Sparse times sparse: analysis of the rows, which finds the bin of each.  For spgemm_host.cu.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/spgemm/spgemm_common.cuh"

namespace {

constexpr int threads = 256, warps = threads / 32;

/* Instructions of a warp, about: what a sort and a narrow rank of one row cost. */
__device__ __forceinline__ uint32_t sort_cost(int size)
{
    constexpr uint32_t cost[spgemm_sort_sizes] = { 60, 90, 150, 280, 530, 1050, 2400 };
    return cost[size];
}
__device__ __forceinline__ uint32_t rank_cost(uint32_t products, uint32_t entries, uint32_t span)
{
    return 42 * (entries + products / 32) + span / 32 + 100;
}

__device__ __forceinline__ int size_of_sort(uint32_t products) { return products <= 8 ? 0 : 29 - __clz(int(products - 1)); }
/* Of a product's number in a sorted key, for the largest kernel that may take this size. */
__device__ __forceinline__ int number_bits(int size) { return size < 3 ? 5 : size < 5 ? 7 : 9; }

struct row_facts {
    unsigned long long products;
    uint32_t entries, first, last;
};

__device__ __forceinline__ int narrow_bin(uint32_t span) { return SPGEMM_RANK_WARP + (span > 8192) + (span > 16384); }

/* Wherever its columns lie? */
__device__ __forceinline__ bool is_sorted_anyway(const row_facts &row, const spgemm_shapes &shapes)
{
    if (row.products > spgemm_sort_most)
        return false;
    uint32_t products = uint32_t(row.products);
    int size = size_of_sort(products);
    return shapes.ncols <= 1ull << (32 - number_bits(size)) && (products <= 64 || rank_cost(products, row.entries, 1) >= sort_cost(size));
}

__device__ __forceinline__ int bin_of(const row_facts &row, const spgemm_shapes &shapes)
{
    constexpr uint32_t narrow = 4 * spgemm_warp_words * 32;
    if (row.products == 0)
        return SPGEMM_EMPTY;
    uint64_t span = uint64_t(row.last - row.first) + 1;
    if (row.products <= spgemm_sort_most) {
        uint32_t products = uint32_t(row.products);
        int size = size_of_sort(products);
        if (products > 64 && span <= narrow && rank_cost(products, row.entries, uint32_t(span)) < sort_cost(size))
            return narrow_bin(uint32_t(span));
        return span <= 1ull << (32 - number_bits(size)) ? SPGEMM_SORT + size : SPGEMM_SORT_WIDE;
    }
    for (int k = 0; k < 2; k++)
        if (span <= shapes.dense[k] && row.products >= 2 * span)
            return SPGEMM_DENSE + k;
    bool short_rows = row.products < 96 * uint64_t(row.entries); // of B: a block would wait
    if (span <= narrow && (row.products < 1024 || (row.products < 8192 && short_rows)))
        return narrow_bin(uint32_t(span));
    return SPGEMM_RANK_BLOCK + (row.products >= 4096) + (row.products >= 16384) + (row.products >= 65536);
}

template <int G> __device__ __forceinline__ unsigned long long group_sum(unsigned long long x)
{
#pragma unroll
    for (int d = G / 2; d > 0; d /= 2)
        x += __shfl_xor_sync(~0u, x, d, G);
    return x;
}

struct analysis {
    const int64_t *ap, *bp, *mp; // mp: of a mask outside which C has no entries, or NULL
    const uint32_t *ai, *bi;
    int64_t m;
    spgemm_shapes shapes;
    uint32_t *first, *last;
    uint8_t *bin;
    spgemm_totals *totals;
};

/* A sum of 64 bits in shared memory, where additions of 32 bits are one instruction. */
struct wide_sum {
    uint32_t low, high;
    __device__ __forceinline__ void add(uint64_t x)
    {
        uint32_t before = atomicAdd(&low, uint32_t(x)), carried = uint32_t(x >> 32) + (before + uint32_t(x) < before);
        if (carried)
            atomicAdd(&high, carried);
    }
    __device__ __forceinline__ unsigned long long value() const { return uint64_t(high) << 32 | low; }
};

/* What the rows of a block add up to. */
struct block_totals {
    uint32_t rows[SPGEMM_BINS];
    wide_sum bound[SPGEMM_BINS], products, rank_products[SPGEMM_RANK_BINS], rank_entries[SPGEMM_RANK_BINS];

    __device__ __forceinline__ void clear()
    {
        if (threadIdx.x < SPGEMM_BINS)
            rows[threadIdx.x] = 0, bound[threadIdx.x] = {};
        if (threadIdx.x < SPGEMM_RANK_BINS)
            rank_products[threadIdx.x] = {}, rank_entries[threadIdx.x] = {};
        if (threadIdx.x == 0)
            products = {};
    }

    /* By one thread. */
    __device__ __forceinline__ void take(const analysis &s, int64_t row, const row_facts &facts)
    {
        uint64_t allowed = s.mp ? uint64_t(s.mp[row + 1] - s.mp[row]) : ~0ull;
        int bin = allowed ? bin_of(facts, s.shapes) : SPGEMM_EMPTY;
        s.bin[row] = uint8_t(bin);
        s.first[row] = facts.first;
        s.last[row] = facts.last;
        if (bin == SPGEMM_EMPTY)
            return;
        uint64_t span = uint64_t(facts.last - facts.first) + 1, most = facts.products < span ? facts.products : span;
        atomicAdd(rows + bin, 1u);
        products.add(facts.products);
        bound[bin].add(most < allowed ? most : allowed);
        const int rank = bin - SPGEMM_RANK_WARP;
        if (rank >= 0 && rank < SPGEMM_RANK_BINS)
            rank_products[rank].add(facts.products), rank_entries[rank].add(facts.entries);
    }

    __device__ __forceinline__ void add_to(spgemm_totals *all) const
    {
        if (threadIdx.x < SPGEMM_BINS && rows[threadIdx.x]) {
            atomicAdd(all->rows + threadIdx.x, rows[threadIdx.x]);
            atomicAdd(all->bound + threadIdx.x, bound[threadIdx.x].value());
        }
        if (threadIdx.x < SPGEMM_RANK_BINS && rows[SPGEMM_RANK_WARP + threadIdx.x]) {
            atomicAdd(all->rank_products + threadIdx.x, rank_products[threadIdx.x].value());
            atomicAdd(all->rank_entries + threadIdx.x, rank_entries[threadIdx.x].value());
        }
        if (threadIdx.x == 0 && products.value())
            atomicAdd(&all->products, products.value());
    }
};

__device__ __forceinline__ uint32_t length_of(const analysis &s, uint32_t k) { return uint32_t(__ldg(s.bp + k + 1) - __ldg(s.bp + k)); }

/* The row of B that an entry of A names widens the row's columns. */
__device__ __forceinline__ void widen(const analysis &s, int64_t entry, row_facts *facts)
{
    uint32_t k = __ldg(s.ai + entry);
    int64_t from = __ldg(s.bp + k), to = __ldg(s.bp + k + 1);
    if (from < to) {
        facts->first = min(facts->first, __ldg(s.bi + from));
        facts->last = max(facts->last, __ldg(s.bi + to - 1));
    }
}

/* Of the entries [begin, end) of A, by a group of G lanes. */
template <int G> __device__ __forceinline__ row_facts facts_of_row(const analysis &s, int64_t begin, int64_t end)
{
    row_facts facts = { 0, uint32_t(end - begin), ~0u, 0 };
    for (int64_t e = begin + threadIdx.x % G; e < end; e += G)
        facts.products += length_of(s, __ldg(s.ai + e));
    facts.products = group_sum<G>(facts.products);
    if (facts.products && is_sorted_anyway(facts, s.shapes))
        facts.first = 0, facts.last = s.shapes.ncols - 1;
    else
        for (int64_t e = begin + threadIdx.x % G; e < end; e += G)
            widen(s, e, &facts);
#pragma unroll
    for (int d = G / 2; d > 0; d /= 2) {
        facts.first = min(facts.first, __shfl_xor_sync(~0u, facts.first, d, G));
        facts.last = max(facts.last, __shfl_xor_sync(~0u, facts.last, d, G));
    }
    return facts;
}

/* By the whole block; thread 0 knows. */
__device__ row_facts facts_of_long_row(const analysis &s, int64_t begin, int64_t end)
{
    __shared__ wide_sum products;
    __shared__ uint32_t first, last;
    if (threadIdx.x == 0)
        products = {}, first = ~0u, last = 0;
    __syncthreads();
    row_facts facts = { 0, uint32_t(end - begin), ~0u, 0 };
    for (int64_t e = begin + threadIdx.x; e < end; e += threads) {
        facts.products += length_of(s, __ldg(s.ai + e));
        widen(s, e, &facts);
    }
    facts.products = group_sum<32>(facts.products);
    facts.first = __reduce_min_sync(~0u, facts.first);
    facts.last = __reduce_max_sync(~0u, facts.last);
    if (threadIdx.x % 32 == 0) {
        products.add(facts.products);
        atomicMin(&first, facts.first);
        atomicMax(&last, facts.last);
    }
    __syncthreads();
    facts.products = products.value(), facts.first = first, facts.last = last;
    __syncthreads();
    return facts;
}

/* G lanes for a row; the whole block for a row of many entries. */
template <int G> __global__ void __launch_bounds__(threads) analyse_rows(analysis s)
{
    constexpr int groups = threads / G;
    constexpr int64_t many = G < 8 ? 64 : 16 * G;
    __shared__ block_totals totals;
    __shared__ uint32_t waiting[groups], count;
    totals.clear();
    for (int64_t base = blockIdx.x * int64_t(groups); base < s.m; base += gridDim.x * int64_t(groups)) {
        if (threadIdx.x == 0)
            count = 0;
        __syncthreads();
        int64_t row = base + threadIdx.x / G;
        bool inside = row < s.m, waits = inside && s.ap[row + 1] - s.ap[row] > many;
        int64_t begin = inside && !waits ? s.ap[row] : 0, end = inside && !waits ? s.ap[row + 1] : 0;
        row_facts facts = facts_of_row<G>(s, begin, end);
        if (threadIdx.x % G == 0 && waits)
            waiting[atomicAdd(&count, 1u)] = uint32_t(row);
        else if (threadIdx.x % G == 0 && inside)
            totals.take(s, row, facts);
        __syncthreads();
        for (uint32_t k = 0, all = count; k < all; k++) {
            facts = facts_of_long_row(s, s.ap[waiting[k]], s.ap[waiting[k] + 1]);
            if (threadIdx.x == 0)
                totals.take(s, waiting[k], facts);
        }
        __syncthreads();
    }
    __syncthreads();
    totals.add_to(s.totals);
}

/* Rows of each bin behind one another. */
__global__ void __launch_bounds__(threads) list_rows(const uint8_t *bin, int64_t m, spgemm_totals *totals, uint32_t *list)
{
    constexpr int each = 4;
    __shared__ uint32_t counts[SPGEMM_BINS], starts[SPGEMM_BINS];
    if (threadIdx.x < SPGEMM_BINS)
        counts[threadIdx.x] = 0;
    __syncthreads();
    int64_t base = blockIdx.x * int64_t(threads * each) + threadIdx.x;
    uint32_t mine[each], number[each];
#pragma unroll
    for (int k = 0; k < each; k++) {
        int64_t row = base + k * threads;
        mine[k] = row < m ? bin[row] : uint32_t(SPGEMM_EMPTY);
        if (mine[k] != SPGEMM_EMPTY)
            number[k] = atomicAdd(counts + mine[k], 1u);
    }
    __syncthreads();
    if (threadIdx.x < SPGEMM_BINS) {
        uint32_t start = 0;
        for (uint32_t k = 0; k < threadIdx.x; k++)
            start += totals->rows[k];
        if (counts[threadIdx.x])
            start += atomicAdd(totals->filled + threadIdx.x, counts[threadIdx.x]);
        starts[threadIdx.x] = start;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < each; k++)
        if (mine[k] != SPGEMM_EMPTY)
            list[starts[mine[k]] + number[k]] = uint32_t(base + k * threads);
}

} // namespace
