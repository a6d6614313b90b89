// Masked products of sparse matrices (see masked_plan.cuh) that add up products of values.  Every lane adds its products in the order
// of its columns, then the lanes of an entry are added as a tree: the same order every time.  plus_times of FP32 and FP64 has
// typed kernels and uses the plan; all else looks its operators up and searches.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/masked/masked_sets.cuh"
#include "kernels/cuda/common/semiring.cuh"

namespace {

template <class P> __device__ __forceinline__ typename P::sum iso_of(uint64_t bits)
{
    typename P::element x;
    memcpy(&x, &bits, sizeof x);
    return P::widen(x);
}

template <class P> __device__ __forceinline__ typename P::sum value_at(const void *x, uint64_t iso, int64_t at)
{
    return x ? P::widen(__ldg(static_cast<const typename P::element *>(x) + at)) : iso_of<P>(iso);
}

/* The sum of one lane. */
template <class P> struct lane_sum {
    typename P::sum value = P::identity();
    uint32_t products = 0;

    __device__ __forceinline__ void add(const masked_args &q, int64_t a_place, int64_t b_place)
    {
        typename P::sum a = value_at<P>(q.ax, q.a_iso, a_place), b = value_at<P>(q.bx, q.b_iso, b_place);
        if constexpr (P::generic) {
            typename P::sum term = P::multiply(q.mul, a, b);
            value = products ? P::merge(q.add, value, term) : P::begin(q.add, term);
        } else {
            value = P::step(value, a, b);
        }
        products++;
    }

    template <int G> __device__ __forceinline__ void add_lanes_up(const masked_args &q)
    {
#pragma unroll
        for (int by = G / 2; by > 0; by /= 2) {
            typename P::sum other = lane_xor(value, by);
            uint32_t others = __shfl_xor_sync(~0u, products, by);
            if constexpr (P::generic)
                value = !others ? value : products ? P::merge(q.add, value, other) : other;
            else
                value = P::merge(value, other);
            products += others;
        }
    }

    __device__ __forceinline__ void store(const masked_args &q, uint32_t entry) const
    {
        if (!products)
            return;
        if (q.x)
            static_cast<typename P::sum *>(q.x)[entry] = value;
        if (q.present)
            q.present[entry] = 1;
    }
};

/* Places of a column in the lists of the owner and of the walker, as places in A and B. */
struct places_of {
    int64_t owner, walker;
    bool owner_is_b;
    template <class P> __device__ __forceinline__ void add(const masked_args &q, lane_sum<P> &sum, uint32_t found,
        uint32_t walked) const
    {
        if (found != nowhere)
            sum.add(q, owner_is_b ? walker + walked : owner + found, owner_is_b ? owner + found : walker + walked);
    }
};

/* As count_hits: two loads of a lane in flight, past the end the last vector again. */
template <int G, class P, class Set>
__device__ __forceinline__ void fold_hits(const masked_args &q, const Set &set, const uint32_t *ids, uint32_t length, int l,
    places_of places, lane_sum<P> &sum)
{
    constexpr int W = 2;
    walk_shape shape = shape_of(ids, length);
    const uint4 *vectors = reinterpret_cast<const uint4 *>(ids + shape.head);
    uint32_t loose_at = l < shape.loose ? shape.loose_place(l) : 0, loose = __ldg(ids + loose_at);
#pragma unroll 1
    for (uint32_t v = uint32_t(l); v < shape.vectors; v += W * G) {
        uint4 id[W];
#pragma unroll
        for (int w = 0; w < W; w++)
            id[w] = __ldg(vectors + min(v + w * G, shape.vectors - 1));
#pragma unroll
        for (int w = 0; w < W; w++) {
            uint32_t found[4] = { set.find(id[w].x), set.find(id[w].y), set.find(id[w].z), set.find(id[w].w) };
            if (v + w * G < shape.vectors)
#pragma unroll
                for (int k = 0; k < 4; k++)
                    places.add(q, sum, found[k], shape.head + 4 * (v + w * G) + uint32_t(k));
        }
    }
    if (l < shape.loose)
        places.add(q, sum, set.find(loose), loose_at);
}

template <int G, class P, class Set>
__device__ __forceinline__ void fold_records(const masked_args &q, const masked_task &task, const Set &set)
{
    int l = int(set.us.rank % G);
    uint32_t groups = set.us.size / G, group = set.us.rank / G;
    const uint32_t *ids = task.owner_is_b ? q.lists.ai : q.lists.bi;
    masked_record next = record_at(q, task, group);
    for (uint32_t base = 0; base < task.count; base += groups) {
        masked_record record = next;
        next = record_at(q, task, base + groups + group);
        lane_sum<P> sum;
        if (record.length && passes(q, record.entry)) {
            places_of places = { task.list, int64_t(record.walker), bool(task.owner_is_b) };
            fold_hits<G>(q, set, ids + record.walker, record.length, l, places, sum);
        }
        sum.template add_lanes_up<G>(q);
        if (l == 0)
            sum.store(q, record.entry);
    }
}

template <class P, class Set> __global__ void __launch_bounds__(1024) fold_tasks(const __grid_constant__ masked_args q)
{
    Set set(dynamic_shared(), q, { threadIdx.x, blockDim.x });
    for_queued(q, set, [&](const masked_task &task) {
        if (task.long_walkers)
            fold_records<32, P>(q, task, set);
        else
            fold_records<8, P>(q, task, set);
    });
}

template <class P> __global__ void __launch_bounds__(warp_threads) fold_warps(const __grid_constant__ masked_args q)
{
    for_own<placed_table_set>(q, 8, [&](const masked_task &task, const placed_table_set &set) { fold_records<8, P>(q, task, set); });
}

template <class P, bool Planned> __global__ void __launch_bounds__(256) fold_pairs(const __grid_constant__ masked_args q)
{
    constexpr int G = pair_lanes<Planned>;
    int l = int(threadIdx.x % G);
    int64_t groups = gridDim.x * int64_t(blockDim.x / G), group = blockIdx.x * int64_t(blockDim.x / G) + threadIdx.x / G;
    for (int64_t base = 0; base < q.npairs; base += groups) {
        const masked_pair pair = pair_at<Planned>(q, base + group);
        const uint32_t *walker = walker_of(q, pair);
        const search_set set = { owner_of(q, pair), pair.owned };
        const places_of places = { pair.owner, pair.walker, pair.owner_is_b != 0 };
        lane_sum<P> sum;
        for (uint32_t k = uint32_t(l); k < pair.walked; k += G)
            places.add(q, sum, set.find(__ldg(walker + k)), k);
        sum.template add_lanes_up<G>(q);
        if (l == 0)
            sum.store(q, pair.entry);
    }
}

template <class P, bool Planned> tsr_status launch_pairs(const masked_args &q, const tsr_cuda_masked *product)
{
    auto kernel = fold_pairs<P, Planned>;
    TSR_LAUNCH(kernel, pair_blocks(q, product), 256, 0, product->stream, q);
    return launch_status();
}

template <class P> tsr_status fold_planned(masked_args q, const tsr_cuda_masked_plan *plan, const tsr_cuda_masked *product)
{
    auto bits = fold_tasks<P, ranked_set>;
    auto table = fold_tasks<P, placed_table_set>;
    tsr_status status = TSR_OK;
    for (int form = 0; form < MASKED_FORMS && status == TSR_OK; form++)
        if (take_tasks(&q, plan, form))
            status = form == MASKED_WARP ? launch_warps(fold_warps<P>, q, true, product->stream)
                                         : launch_form(form == MASKED_BITMAP ? bits : table, q, form, true, product);
    return status == TSR_OK && q.npairs ? launch_pairs<P, true>(q, product) : status;
}

template <class T> tsr_status fold_any(const masked_args &q, const tsr_cuda_masked *product)
{
    return launch_pairs<any_semiring<T>, false>(q, product);
}

} // namespace

tsr_status tsr_cuda_masked_fold(masked_args q, const tsr_cuda_masked_plan *plan, const tsr_cuda_masked *product)
{
    tsr_semiring s = product->semiring;
    bool typed = s.add == TSR_ADD_PLUS && s.mul == TSR_MUL_TIMES && (s.type == TSR_FP32 || s.type == TSR_FP64);
    if (typed && plan)
        return s.type == TSR_FP32 ? fold_planned<plus_times<float>>(q, plan, product)
                                  : fold_planned<plus_times<double>>(q, plan, product);
    q.npairs = product->end - product->begin;
    if (typed)
        return s.type == TSR_FP32 ? launch_pairs<plus_times<float>, false>(q, product)
                                  : launch_pairs<plus_times<double>, false>(q, product);
    switch (s.type) {
    case TSR_BOOL: return fold_any<bool>(q, product);
    case TSR_INT8: return fold_any<int8_t>(q, product);
    case TSR_INT16: return fold_any<int16_t>(q, product);
    case TSR_INT32: return fold_any<int32_t>(q, product);
    case TSR_INT64: return fold_any<int64_t>(q, product);
    case TSR_UINT8: return fold_any<uint8_t>(q, product);
    case TSR_UINT16: return fold_any<uint16_t>(q, product);
    case TSR_UINT32: return fold_any<uint32_t>(q, product);
    case TSR_UINT64: return fold_any<uint64_t>(q, product);
    case TSR_FP32: return fold_any<float>(q, product);
    default: return fold_any<double>(q, product);
    }
}
