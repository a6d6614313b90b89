// SDDMM by row: plus_times of FP32 and FP64 is typed, everything else looks its operators up.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/sddmm/sddmm.cuh"

namespace {

using namespace sddmm_rows;

// ---- Any semiring ----

template <class P> __device__ __forceinline__ typename P::sum element_at(const void *x, int64_t at, uint64_t iso)
{
    typename P::element value;
    memcpy(&value, &iso, sizeof value);
    return P::widen(x ? __ldg(static_cast<const typename P::element *>(x) + at) : value);
}

constexpr int any_chunk = 128;

/* Eight lanes an entry; a lane that has no product of its own does not count. */
template <class P> __global__ void __launch_bounds__(threads) sddmm_any(const __grid_constant__ sddmm_args q)
{
    constexpr int G = 8, chunk = any_chunk;
    int lane = int(threadIdx.x % 32), group = lane / G, l = lane % G;
    __shared__ staged_entries<chunk> staged[threads / 32];
    const staged_entries<chunk> &mine = staged[threadIdx.x / 32];
    int64_t first = warp_share(q, staged[threadIdx.x / 32]);
    for (int base = 0; base < chunk && first + base < q.end; base += 32) {
        typename P::sum result = P::identity();
        for (int step = 0; step < G; step++) {
            int from = base + step * (32 / G) + group;
            int64_t row = mine.row[from], col = mine.col[from];
            typename P::sum sum = P::identity();
            bool any = false;
            for (int64_t k = l; k < q.k; k += G) {
                typename P::sum term = P::multiply(q.ops.mul, element_at<P>(q.a, row * q.lda + k, q.a_iso),
                    element_at<P>(q.b, col * q.ldb + k, q.b_iso));
                sum = any ? P::merge(q.ops.add, sum, term) : P::begin(q.ops.add, term);
                any = true;
            }
            for (int by = G / 2; by > 0; by /= 2) {
                typename P::sum other = lane_xor(sum, by);
                bool others = __shfl_xor_sync(~0u, int(any), by) != 0;
                sum = !others ? sum : any ? P::merge(q.ops.add, sum, other) : other;
                any = any || others;
            }
            uint64_t bits = 0;
            memcpy(&bits, &sum, sizeof sum);
            bits = __shfl_sync(~0u, (unsigned long long)bits, lane % (32 / G) * G);
            if (lane / (32 / G) == step)
                memcpy(static_cast<void *>(&result), &bits, sizeof result);
        }
        store_result(q, first + base + lane, result);
    }
}

// ---- Launches ----

/* Rows of both operands begin at multiples of 16 bytes, and so does what is left of k. */
template <class T> bool has_vectors(const sddmm_args &q)
{
    constexpr int64_t v = 16 / sizeof(T);
    auto at_16 = [](const void *p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; };
    return q.k % v == 0 && q.lda % v == 0 && q.ldb % v == 0 && at_16(q.a) && at_16(q.b);
}

template <class T> tsr_status launch_vectors(const sddmm_args &q, void *stream)
{
    constexpr int V = 16 / sizeof(T);
    if (q.k <= 4 * V)
        return launch_typed<T, T, V, 4, 1, false, 3>(q, stream);
    if (q.k == 8 * V)
        return launch_typed<T, T, V, 8, 1, true, 3>(q, stream);
    if (q.k == 16 * V)
        return launch_typed<T, T, V, 8, 2, true, 3>(q, stream);
    if (q.k == 32 * V)
        return launch_typed<T, T, V, 8, 4, true, 3>(q, stream);
    if (q.k <= 16 * V)
        return launch_typed<T, T, V, 8, 2, false, 3>(q, stream);
    return launch_typed<T, T, V, 8, 4, false, 3>(q, stream);
}

template <class T> tsr_status launch_sums(const sddmm_args &q, void *stream)
{
    return has_vectors<T>(q) ? launch_vectors<T>(q, stream) : launch_typed<T, T, 1, 8, 4, false, 2>(q, stream);
}

template <class T> tsr_status launch_any(const sddmm_args &q, void *stream)
{
    return launch(sddmm_any<any_semiring<T>>, q, any_chunk, stream);
}

tsr_status launch_by_type(const sddmm_args &q, tsr_type type, void *stream)
{
    switch (type) {
    case TSR_BOOL: return launch_any<bool>(q, stream);
    case TSR_INT8: return launch_any<int8_t>(q, stream);
    case TSR_INT16: return launch_any<int16_t>(q, stream);
    case TSR_INT32: return launch_any<int32_t>(q, stream);
    case TSR_INT64: return launch_any<int64_t>(q, stream);
    case TSR_UINT8: return launch_any<uint8_t>(q, stream);
    case TSR_UINT16: return launch_any<uint16_t>(q, stream);
    case TSR_UINT32: return launch_any<uint32_t>(q, stream);
    case TSR_UINT64: return launch_any<uint64_t>(q, stream);
    case TSR_FP32: return launch_any<float>(q, stream);
    default: return launch_any<double>(q, stream);
    }
}

/* No terms: no entry is present. */
tsr_status nothing(const tsr_cuda_sddmm *q)
{
    int64_t n = q->end - q->begin, size = int64_t(size_of(q->semiring.type));
    tsr_status status = TSR_OK;
    for (int64_t k = 0; status == TSR_OK && k < (q->batch.count > 1 ? q->batch.count : 1); k++)
        status = tsr_cuda_set(static_cast<char *>(q->x) + k * q->batch.values * size, 0, size_t(n * size), q->stream);
    return status == TSR_OK && q->present ? tsr_cuda_set(q->present, 0, size_t(n), q->stream) : status;
}

/* All products by the same kernel.  Where operands lie in 16 bytes comes again after at most four of them. */
template <class T> bool alike(const sddmm_args &q)
{
    sddmm_args other = q;
    for (int64_t k = 1; k < 4 && k < q.products; k++) {
        other.a = static_cast<const char *>(q.a) + k * q.a_period;
        other.b = static_cast<const char *>(q.b) + k * q.b_period;
        if (has_vectors<T>(other) != has_vectors<T>(q))
            return false;
    }
    return true;
}

} // namespace

extern "C" tsr_status tsr_cuda_sddmm_csr(const tsr_cuda_sddmm *product)
{
    const tsr_cuda_sddmm *s = product;
    if (!in_range(s) || (s->batch.count > 1 && s->present))
        return TSR_DECLINED;
    if (s->k == 0 || s->begin == s->end)
        return nothing(s);
    const sddmm_args q = args_of(s);
    bool sums = s->semiring.add == TSR_ADD_PLUS && s->semiring.mul == TSR_MUL_TIMES && q.a && q.b;
    if (sums && s->semiring.type == TSR_FP32)
        return alike<float>(q) ? launch_sums<float>(q, s->stream) : TSR_DECLINED;
    if (sums && s->semiring.type == TSR_FP64)
        return alike<double>(q) ? launch_sums<double>(q, s->stream) : TSR_DECLINED;
    return q.products ? TSR_DECLINED : launch_by_type(q, s->semiring.type, s->stream);
}
