// SpMV by row: any semiring of any type, with a full vector; ANY also with a bitmap.  The operators are chosen while it runs.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmv/spmv_csr.cuh"

namespace {

constexpr int threads = 256;

template <class P> __device__ __forceinline__ typename P::sum product_of(const csr_args &q, int64_t entry)
{
    using element = typename P::element;
    element a = {}, b[1] = {};
    if (q.reads_a)
        a = static_cast<const element *>(q.x)[entry];
    if (q.reads_b)
        load_vector(b, static_cast<const char *>(q.b) + __ldg(q.i + entry) * q.b_stride);
    return P::multiply(q.ops.mul, q.reads_a ? P::widen(a) : iso_value<P>(q), P::widen(b[0]));
}

/* ANY: the product of the first entry of a row. */
template <class P> __global__ void __launch_bounds__(threads) spmv_first(const __grid_constant__ csr_args q)
{
    int64_t row = int64_t(blockIdx.x) * threads + threadIdx.x;
    if (row >= q.nrows)
        return;
    int64_t entry = __ldg(q.p + row);
    bool any = entry < __ldg(q.p + row + 1);
    spmv_of<P>::store(q, row, any ? product_of<P>(q, entry) : P::identity(), any);
}

constexpr int first_lanes = 8, first_unroll = 2;

/* ANY: the number of the first entry among [begin, end) that meets one of the vector; < 0: none does.  By a group of lanes. */
__device__ __forceinline__ int64_t find_first(const csr_args &q, int64_t begin, int64_t end)
{
    int shift = int(threadIdx.x % 32) / first_lanes * first_lanes, lane = int(threadIdx.x) % first_lanes;
    unsigned mine = ((1u << first_lanes) - 1) << shift;
    for (int64_t at = begin; at < end; at += first_unroll * first_lanes) {
        bool hit[first_unroll];
#pragma unroll
        for (int u = 0; u < first_unroll; u++) {
            int64_t entry = at + u * first_lanes + lane;
            hit[u] = entry < end && __ldg(q.b_present + __ldg(q.i + entry) * q.ldb) != 0;
        }
#pragma unroll
        for (int u = 0; u < first_unroll; u++) {
            unsigned hits = __ballot_sync(mine, hit[u]) & mine;
            if (hits)
                return at + u * first_lanes + __ffs(int(hits >> shift)) - 1;
        }
    }
    return -1;
}

/* An item of SpMM for each group: rows, or a part of one. */
template <class P> __global__ void __launch_bounds__(threads) spmv_first_present(const __grid_constant__ csr_args q)
{
    int64_t group = (int64_t(blockIdx.x) * threads + threadIdx.x) / first_lanes;
    if (group >= q.nitems)
        return;
    csr_item item = q.items[group], next = q.items[group + 1];
    uint32_t rows = item.partial < 0 ? next.row - item.row : 1;
    for (uint32_t k = 0; k < rows && item.partial != csr_skipped; k++) {
        uint32_t row = item.row + k;
        int64_t begin = item.partial < 0 ? __ldg(q.p + row) : item.entry, end = item.partial < 0 ? __ldg(q.p + row + 1) : next.entry;
        int64_t entry = find_first(q, begin, end);
        if (threadIdx.x % first_lanes != 0)
            continue;
        typename P::sum sum = entry >= 0 ? product_of<P>(q, entry) : P::identity();
        if (item.partial < 0) {
            spmv_of<P>::store(q, row, sum, entry >= 0);
        } else {
            static_cast<typename P::sum *>(q.partial)[item.partial] = sum;
            q.partial_present[item.partial] = entry >= 0;
        }
    }
}

template <class T> tsr_status launch(const csr_args &q, void *stream)
{
    using P = any_semiring<T>;
    if (q.ops.add != TSR_ADD_ANY)
        return launch_spmv<P>(q, stream);
    if (q.b_present) {
        TSR_LAUNCH(spmv_first_present<P>, unsigned((q.nitems * first_lanes + threads - 1) / threads), threads, 0, stream, q);
        launch_partials<P>(q, stream);
        return launch_status();
    }
    TSR_LAUNCH(spmv_first<P>, unsigned((q.nrows + threads - 1) / threads), threads, 0, stream, q);
    return launch_status();
}

} // namespace

tsr_status tsr_csr_spmv_any(tsr_type type, const csr_args &q, void *stream)
{
    switch (type) {
    case TSR_BOOL: return launch<bool>(q, stream);
    case TSR_INT8: return launch<int8_t>(q, stream);
    case TSR_INT16: return launch<int16_t>(q, stream);
    case TSR_INT32: return launch<int32_t>(q, stream);
    case TSR_INT64: return launch<int64_t>(q, stream);
    case TSR_UINT8: return launch<uint8_t>(q, stream);
    case TSR_UINT16: return launch<uint16_t>(q, stream);
    case TSR_UINT32: return launch<uint32_t>(q, stream);
    case TSR_UINT64: return launch<uint64_t>(q, stream);
    case TSR_FP32: return launch<float>(q, stream);
    case TSR_FP64: return launch<double>(q, stream);
    }
    return TSR_DECLINED;
}
