// Elementwise steps and reductions at the listed places of bitmaps.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/common/list.cuh"
#include "kernels/cuda/elementwise/elementwise.cuh"

namespace {

constexpr int threads = 256, sum_threads = 1024, blocks_per_sm = 8;

unsigned blocks_for(int64_t count, int64_t per_block, int64_t most)
{
    const int64_t blocks = (count + per_block - 1) / per_block;
    return unsigned(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

// ---- Listing ----

constexpr int bytes_of_thread = 16;

/* Every warp reserves room for what its lanes have. */
__global__ void __launch_bounds__(threads) list_bytes(tsr_cuda_list list, const int8_t *present, int64_t count)
{
    const int lane = threadIdx.x % 32;
    const int64_t stride = int64_t(gridDim.x) * threads * bytes_of_thread;
    for (int64_t at = (int64_t(blockIdx.x) * threads + threadIdx.x) * bytes_of_thread; at - lane * bytes_of_thread < count; at += stride) {
        int8_t byte[bytes_of_thread];
        load(byte, present, at, at < count ? count - at : 0);
        unsigned mine = 0;
#pragma unroll
        for (int k = 0; k < bytes_of_thread; k++)
            mine += byte[k] != 0;
        if (!__any_sync(~0u, mine != 0))
            continue;
        unsigned upto = mine;
#pragma unroll
        for (int by = 1; by < 32; by *= 2) {
            const unsigned below = __shfl_up_sync(~0u, upto, by);
            upto += lane >= by ? below : 0;
        }
        unsigned first = 0;
        if (lane == 31)
            first = atomicAdd(&list.head->length, upto);
        first = __shfl_sync(~0u, first, 31) + upto - mine;
        for (int k = 0; k < bytes_of_thread; k++)
            if (byte[k])
                list.places[first++] = uint32_t(at + k);
    }
}

// ---- Steps ----

/* keeps: z is C before. */
template <class T, class R> __global__ void __launch_bounds__(threads) step_places(step_args q, tsr_cuda_list list, tsr_cuda_told told, bool keeps)
{
    using S = stored<R>;
    const unsigned length = list.head->length;
    unsigned mine = 0;
    clear_places(told.clearing);
    for (unsigned k = blockIdx.x * threads + threadIdx.x; k < length; k += gridDim.x * threads) {
        const int64_t at = list.places[k];
        operand<S, 1> z;
        const bool passes = !q.masked || load_mask<1>(q, at, 1);
        compute<T, R, 1>(z, q, nullptr, at, 1);
        if (q.accumulates)
            join<R, 1>(z, q, nullptr, passes, at, 1);
        const bool there = z.present & 1;
        if (!passes || !(keeps || there))
            continue;
        static_cast<S *>(q.a.z)[at] = there ? z.x[0] : S(0);
        if (q.a.z_present)
            q.a.z_present[at] = there;
        mine += there;
    }
    if (!told.slot)
        return;
    mine = __reduce_add_sync(~0u, mine);
    if (threadIdx.x % 32 == 0 && mine)
        atomicAdd(&told.head->present, mine);
    if (is_last_block(told.head) && threadIdx.x == 0)
        tell(told);
}

template <class T, class R = T> tsr_status launch(
    const step_args &q, const tsr_cuda_list *list, const tsr_cuda_told *told, bool keeps, const tsr_cuda_device *device, void *stream)
{
    auto kernel = step_places<T, R>;
    const unsigned blocks = blocks_for(list->most, threads, int64_t(device->sms) * blocks_per_sm);
    TSR_LAUNCH(kernel, blocks, threads, 0, stream, q, *list, told ? *told : tsr_cuda_told{}, keeps);
    return launch_status();
}

template <class T> tsr_status launch_typed(const tsr_ewise *s, const step_args &q, const tsr_cuda_list *list, const tsr_cuda_told *told,
    const tsr_cuda_device *device, void *stream)
{
    return makes_bool(s) ? launch<T, bool>(q, list, told, s->c, device, stream) : launch<T>(q, list, told, s->c, device, stream);
}

// ---- Reductions ----

/* One block. */
template <class T>
__global__ void __launch_bounds__(sum_threads) reduce_places(volatile uint64_t *answer, tsr_elements e, tsr_cuda_list list, tsr_reduce_op op)
{
    using Sum = plain_sum<T>;
    const stored<T> *x = static_cast<const stored<T> *>(e.x);
    const unsigned length = list.head->length;
    Sum *all = reinterpret_cast<Sum *>(dynamic_shared());
    Sum sum = Sum::none(op);
    for (unsigned k = threadIdx.x; k < length; k += sum_threads) {
        const uint32_t at = list.places[k];
        if (!e.present || e.present[at])
            sum.add(op, T(x[at]));
    }
    all[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned half = sum_threads / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            all[threadIdx.x].join(op, all[threadIdx.x + half]);
        __syncthreads();
    }
    if (threadIdx.x != 0)
        return;
    const stored<T> value = all[0].any ? all[0].result(op) : T(0);
    uint64_t scalar = 0;
    memcpy(&scalar, &value, sizeof value);
    answer[1] = scalar;
    answer[2] = all[0].any;
    __threadfence_system();
    answer[0] = 1;
}

template <class T>
tsr_status launch_reduce(uint64_t *answer, tsr_reduce_op op, const tsr_elements *e, const tsr_cuda_list *list, void *stream)
{
    auto kernel = reduce_places<T>;
    TSR_LAUNCH(kernel, 1u, sum_threads, sum_threads * sizeof(plain_sum<T>), stream, answer, *e, *list, op);
    return launch_status();
}

} // namespace

extern "C" tsr_status tsr_cuda_list_present(
    const tsr_cuda_list *list, const int8_t *present, int64_t count, const tsr_cuda_device *device, void *stream)
{
    if (count == 0)
        return TSR_OK;
    const unsigned blocks = blocks_for(count, int64_t(threads) * bytes_of_thread, int64_t(device->sms) * blocks_per_sm);
    TSR_LAUNCH(list_bytes, blocks, threads, 0, stream, *list, present, count);
    return launch_status();
}

extern "C" tsr_status tsr_cuda_ewise_listed(const tsr_ewise *s, const tsr_ewise_arrays *arrays, const tsr_cuda_list *list,
    const tsr_cuda_told *told, const tsr_cuda_device *device, void *stream)
{
    if (s->op == TSR_EWISE_SQRT && s->type != TSR_FP32 && s->type != TSR_FP64)
        return TSR_DECLINED;
    const step_args q = arguments(s, arrays);
    switch (s->type) {
    case TSR_BOOL: return launch<bool>(q, list, told, s->c, device, stream);
    case TSR_INT8: return launch_typed<int8_t>(s, q, list, told, device, stream);
    case TSR_INT16: return launch_typed<int16_t>(s, q, list, told, device, stream);
    case TSR_INT32: return launch_typed<int32_t>(s, q, list, told, device, stream);
    case TSR_INT64: return launch_typed<int64_t>(s, q, list, told, device, stream);
    case TSR_UINT8: return launch_typed<uint8_t>(s, q, list, told, device, stream);
    case TSR_UINT16: return launch_typed<uint16_t>(s, q, list, told, device, stream);
    case TSR_UINT32: return launch_typed<uint32_t>(s, q, list, told, device, stream);
    case TSR_UINT64: return launch_typed<uint64_t>(s, q, list, told, device, stream);
    case TSR_FP32: return launch_typed<float>(s, q, list, told, device, stream);
    case TSR_FP64: return launch_typed<double>(s, q, list, told, device, stream);
    }
    return TSR_DECLINED;
}

extern "C" tsr_status tsr_cuda_reduce_listed(
    uint64_t *answer, tsr_type type, tsr_reduce_op op, const tsr_elements *e, const tsr_cuda_list *list, void *stream)
{
    if (!tsr_cuda_reduces_listed(type, op))
        return TSR_DECLINED;
    switch (type) {
    case TSR_BOOL: return launch_reduce<bool>(answer, op, e, list, stream);
    case TSR_INT8: return launch_reduce<int8_t>(answer, op, e, list, stream);
    case TSR_INT16: return launch_reduce<int16_t>(answer, op, e, list, stream);
    case TSR_INT32: return launch_reduce<int32_t>(answer, op, e, list, stream);
    case TSR_INT64: return launch_reduce<int64_t>(answer, op, e, list, stream);
    case TSR_UINT8: return launch_reduce<uint8_t>(answer, op, e, list, stream);
    case TSR_UINT16: return launch_reduce<uint16_t>(answer, op, e, list, stream);
    case TSR_UINT32: return launch_reduce<uint32_t>(answer, op, e, list, stream);
    default: return launch_reduce<uint64_t>(answer, op, e, list, stream);
    }
}
