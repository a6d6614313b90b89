// Products of few vectors whose places are listed: where there is a product is found along columns of A, its sum along a row of A.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmv/few_listed.h"
#include "kernels/cuda/common/list.cuh"
#include "kernels/cuda/common/semiring.cuh"

namespace {

constexpr int threads = 256, blocks_per_sm = 8;

struct few_args {
    tsr_cuda_list from, to;
    tsr_cuda_told told;
    tsr_cuda_csr rows, columns;
    const void *u;
    const int8_t *u_present;
    void *w;
    int8_t *present;
    uint64_t iso;
    operators ops;
    bool reads_a, reads_b;
};

__global__ void __launch_bounds__(threads) find_places(const __grid_constant__ few_args q)
{
    const unsigned length = q.from.head->length, k = uint32_t(q.columns.nrows), m = uint32_t(q.columns.ncols);
    clear_places(q.told.clearing);
    for (unsigned n = blockIdx.x * threads + threadIdx.x; n < length; n += gridDim.x * threads) {
        const uint32_t at = q.from.places[n], vector = at / k, column = at % k;
        if (!q.u_present[at])
            continue;
        for (int64_t e = q.columns.p[column]; e < q.columns.p[column + 1]; e++)
            find_place(q.to, q.present, vector * m + q.columns.i[e]);
    }
    if (is_last_block(q.to.head) && threadIdx.x == 0) {
        q.to.head->present = __ldcg(&q.to.head->length);
        tell(q.told);
    }
}

template <class T> __global__ void __launch_bounds__(threads) sum_places(const __grid_constant__ few_args q)
{
    using P = any_semiring<T>;
    using element = typename P::element;
    const element *x = static_cast<const element *>(q.rows.x), *u = static_cast<const element *>(q.u);
    const unsigned length = q.to.head->length, m = uint32_t(q.rows.nrows), k = uint32_t(q.rows.ncols);
    T iso = T(0);
    memcpy(static_cast<void *>(&iso), &q.iso, sizeof iso);
    for (unsigned n = blockIdx.x * threads + threadIdx.x; n < length; n += gridDim.x * threads) {
        const uint32_t at = q.to.places[n], first = at / m * k, row = at % m;
        T sum = T(0);
        bool any = false;
        for (int64_t e = q.rows.p[row]; e < q.rows.p[row + 1]; e++) {
            const uint32_t from = first + q.rows.i[e];
            if (!q.u_present[from])
                continue;
            const T a = q.reads_a ? T(P::widen(x[e])) : iso, b = q.reads_b ? T(P::widen(u[from])) : T(0), t = P::multiply(q.ops.mul, a, b);
            sum = any ? P::merge(q.ops.add, sum, t) : P::begin(q.ops.add, t);
            any = true;
        }
        static_cast<T *>(q.w)[at] = sum;
    }
}

unsigned blocks_for(const tsr_cuda_list *list, const tsr_cuda_device *device)
{
    const int64_t blocks = (list->most + threads - 1) / threads, most = int64_t(device->sms) * blocks_per_sm;
    return unsigned(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

template <class T> tsr_status launch(const few_args &q, const tsr_cuda_device *device, void *stream)
{
    auto sums = sum_places<T>;
    TSR_LAUNCH(find_places, blocks_for(&q.from, device), threads, 0, stream, q);
    TSR_LAUNCH(sums, blocks_for(&q.to, device), threads, 0, stream, q);
    return launch_status();
}

} // namespace

extern "C" tsr_status tsr_cuda_few_listed(
    const tsr_cuda_few *few, const tsr_cuda_list *from, const tsr_cuda_list *to, const tsr_cuda_told *told)
{
    few_args q = {};
    q.from = *from;
    q.to = *to;
    q.told = *told;
    q.rows = *few->rows;
    q.columns = *few->columns;
    q.u = few->u;
    q.u_present = few->u_present;
    q.w = few->w;
    q.present = few->w_present;
    q.iso = few->iso;
    q.ops = { few->semiring.add, few->semiring.mul };
    q.reads_a = tsr_mul_reads_a(few->semiring.mul) && few->rows->x;
    q.reads_b = tsr_mul_reads_b(few->semiring.mul);
    switch (few->semiring.type) {
    case TSR_BOOL: return launch<bool>(q, few->device, few->stream);
    case TSR_INT8: return launch<int8_t>(q, few->device, few->stream);
    case TSR_INT16: return launch<int16_t>(q, few->device, few->stream);
    case TSR_INT32: return launch<int32_t>(q, few->device, few->stream);
    case TSR_INT64: return launch<int64_t>(q, few->device, few->stream);
    case TSR_UINT8: return launch<uint8_t>(q, few->device, few->stream);
    case TSR_UINT16: return launch<uint16_t>(q, few->device, few->stream);
    case TSR_UINT32: return launch<uint32_t>(q, few->device, few->stream);
    case TSR_UINT64: return launch<uint64_t>(q, few->device, few->stream);
    case TSR_FP32: return launch<float>(q, few->device, few->stream);
    case TSR_FP64: return launch<double>(q, few->device, few->stream);
    default: return TSR_DECLINED;
    }
}
