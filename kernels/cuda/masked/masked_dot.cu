// Masked products of sparse matrices (see masked_plan.cuh) where values do not matter: the number of products tells the result.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/masked/masked_sets.cuh"

namespace {

// ---- One entry: G lanes walk its list ----

/* How many of the ids are in the set.  Ids are read 16 bytes at a time, W such loads in flight beside those of the up to three
 * ids before and after: what this costs is waiting for the L2 cache.  Loads past the end fetch the last vector again, so that
 * none waits for a branch. */
template <int G, int W, class Set> __device__ __forceinline__ uint32_t count_hits(const Set &set, const uint32_t *ids,
    uint32_t length, int l)
{
    walk_shape shape = shape_of(ids, length);
    const uint4 *vectors = reinterpret_cast<const uint4 *>(ids + shape.head);
    uint32_t hits = 0, loose = __ldg(ids + (l < shape.loose ? shape.loose_place(l) : 0));
#pragma unroll 1
    for (uint32_t v = uint32_t(l); v < shape.vectors; v += W * G) {
        uint4 id[W];
#pragma unroll
        for (int w = 0; w < W; w++)
            id[w] = __ldg(vectors + min(v + w * G, shape.vectors - 1));
#pragma unroll
        for (int w = 0; w < W; w++) {
            uint32_t found = uint32_t(set.has(id[w].x)) + uint32_t(set.has(id[w].y));
            found += uint32_t(set.has(id[w].z)) + uint32_t(set.has(id[w].w));
            hits += v + w * G < shape.vectors ? found : 0;
        }
    }
    return hits + (l < shape.loose ? uint32_t(set.has(loose)) : 0);
}

/* The same for short lists: an id of a lane at a time, two in flight. */
template <int G, class Set> __device__ __forceinline__ uint32_t count_few(const Set &set, const uint32_t *ids, uint32_t length,
    int l)
{
    uint32_t hits = 0;
#pragma unroll 1
    for (uint32_t k = uint32_t(l); k < length; k += 2 * G) {
        uint32_t id = __ldg(ids + k), other = __ldg(ids + min(k + G, length - 1));
        hits += uint32_t(set.has(id));
        if (k + G < length)
            hits += uint32_t(set.has(other));
    }
    return hits;
}

/* An entry and its mirror image have so many products; the first lane of its group says so. */
__device__ __forceinline__ uint64_t store_both(const masked_args &q, const uint32_t *mirror, uint32_t entry, uint32_t count)
{
    uint32_t other = *mirror;
    uint64_t products = passes(q, entry) ? store_one(q, entry, count) : 0;
    return other != entry && passes(q, other) ? products + store_one(q, other, count) : products;
}

/* W: loads in flight; 0: walkers are short.  The task's records by all groups of the team.  The next record is fetched while this
 * one is walked. */
template <int G, int W, class Set>
__device__ __forceinline__ uint64_t count_records(const masked_args &q, const masked_task &task, const Set &set)
{
    int l = int(set.us.rank % G);
    uint32_t groups = set.us.size / G, group = set.us.rank / G;
    const uint32_t *ids = task.owner_is_b ? q.lists.ai : q.lists.bi;
    uint64_t sum = 0;
    masked_record next = record_at(q, task, group);
    for (uint32_t base = 0; base < task.count; base += groups) {
        masked_record record = next;
        next = record_at(q, task, base + groups + group);
        uint32_t hits = 0;
        if (record.length && (q.mirrors || passes(q, record.entry)))
            hits = W ? count_hits<G, W ? W : 1>(set, ids + record.walker, record.length, l)
                     : count_few<G>(set, ids + record.walker, record.length, l);
        hits = add_lanes<G>(hits);
        if (l == 0 && hits)
            sum += q.mirrors ? store_both(q, q.mirrors + record_place(task, base + group), record.entry, hits)
                             : store_one(q, record.entry, hits);
    }
    return sum;
}

template <class Set, int W> __global__ void __launch_bounds__(1024) count_tasks(const __grid_constant__ masked_args q)
{
    Set set(dynamic_shared(), q, { threadIdx.x, blockDim.x });
    uint64_t sum = 0;
    for_queued(q, set, [&](const masked_task &task) {
        sum += task.long_walkers ? count_records<32, W>(q, task, set) : count_records<8, W>(q, task, set);
    });
    add_products(q, sum);
}

__global__ void __launch_bounds__(warp_threads) count_warps(const __grid_constant__ masked_args q)
{
    for_own<table_set>(q, 4, [&](const masked_task &task, const table_set &set) { add_products(q, count_records<8, 0>(q, task, set)); });
}

/* Entries without a group: a few lanes each.  The next one's lists are fetched while this one's are walked. */
template <bool Planned> __global__ void __launch_bounds__(256) count_pairs(const __grid_constant__ masked_args q)
{
    constexpr int G = pair_lanes<Planned>;
    int l = int(threadIdx.x % G);
    int64_t groups = gridDim.x * int64_t(blockDim.x / G), group = blockIdx.x * int64_t(blockDim.x / G) + threadIdx.x / G;
    uint64_t sum = 0;
    masked_pair next = pair_at<Planned>(q, group);
    for (int64_t base = 0; base < q.npairs; base += groups) {
        masked_pair pair = next;
        next = pair_at<Planned>(q, base + groups + group);
        const uint32_t *walker = walker_of(q, pair);
        const search_set set = { owner_of(q, pair), pair.owned };
        uint32_t hits = 0;
        for (uint32_t k = uint32_t(l); k < pair.walked; k += G)
            hits += set.has(__ldg(walker + k));
        hits = add_lanes<G>(hits);
        if (l == 0 && hits)
            sum += Planned && q.pair_mirrors ? store_both(q, q.pair_mirrors + base + group, pair.entry, hits)
                                             : store_one(q, pair.entry, hits);
    }
    add_products(q, sum);
}

/* Lists as bits: eight lanes an entry, 128 columns of a lane at a time. */
__global__ void __launch_bounds__(256) count_bits(const __grid_constant__ masked_args q)
{
    constexpr int G = 8;
    int64_t groups = gridDim.x * int64_t(blockDim.x / G), group = blockIdx.x * int64_t(blockDim.x / G) + threadIdx.x / G;
    uint64_t sum = 0;
    for (int64_t base = 0; base < q.npairs; base += groups) {
        uint32_t entry = uint32_t(base + group), hits = 0;
        if (base + group < q.npairs && passes(q, entry)) {
            uint32_t row = __ldg(q.bits.row + entry), col = __ldg(q.lists.mi + q.lists.begin + entry);
            uint2 a = __ldg(q.bits.a_span + row), b = __ldg(q.bits.b_span + col);
            const uint4 *x = q.bits.a + size_t(row) * q.bits.quads, *y = q.bits.b + size_t(col) * q.bits.quads;
            for (uint32_t k = max(a.x, b.x) + threadIdx.x % G; k < min(a.y, b.y); k += G) {
                uint4 s = __ldg(x + k), t = __ldg(y + k);
                hits += uint32_t(__popc(s.x & t.x) + __popc(s.y & t.y) + __popc(s.z & t.z) + __popc(s.w & t.w));
            }
        }
        hits = add_lanes<G>(hits);
        if (threadIdx.x % G == 0)
            sum += store_one(q, entry, hits);
    }
    add_products(q, sum);
}

template <class Set, int W> tsr_status launch_tasks(const masked_args &q, int form, const tsr_cuda_masked *product)
{
    auto kernel = count_tasks<Set, W>;
    return launch_form(kernel, q, form, false, product);
}

} // namespace

tsr_status tsr_cuda_masked_count(masked_args q, const tsr_cuda_masked_plan *plan, const tsr_cuda_masked *product)
{
    tsr_status status = TSR_OK;
    if (plan == nullptr) {
        q.npairs = product->end - product->begin;
        auto kernel = count_pairs<false>;
        TSR_LAUNCH(kernel, pair_blocks(q, product), 256, 0, product->stream, q);
        return launch_status();
    }
    if (plan->bits && !plan->rows)
        return tsr_cuda_masked_tiles(q, product, same_lists(product));
    if (plan->bits) {
        q.npairs = product->end - product->begin;
        TSR_LAUNCH(count_bits, pair_blocks(q, product), 256, 0, product->stream, q);
        return launch_status();
    }
    for (int form = 0; form < MASKED_FORMS && status == TSR_OK; form++) {
        if (!take_tasks(&q, plan, form))
            continue;
        status = form == MASKED_WARP     ? launch_warps(count_warps, q, false, product->stream)
                 : form == MASKED_BITMAP ? launch_tasks<bitmap_set, 4>(q, form, product)
                                         : launch_tasks<table_set, 2>(q, form, product);
    }
    if (status == TSR_OK && q.npairs) {
        auto kernel = count_pairs<true>;
        TSR_LAUNCH(kernel, pair_blocks(q, product), 256, 0, product->stream, q);
        status = launch_status();
    }
    return status;
}
