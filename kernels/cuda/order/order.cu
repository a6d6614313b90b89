// Row orders on the device, bitwise those of src/format/order*.c: which one, and sorting.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/order/order.cuh"

namespace tsr_order {
namespace {

__global__ void __launch_bounds__(threads) count_from_zero(uint32_t *item, int64_t n)
{
    int64_t k = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
    if (k < n)
        item[k] = static_cast<uint32_t>(k);
}

/* to[k] = from[item[k]], or from[k] without items. */
__global__ void __launch_bounds__(threads) gather(uint32_t *to, const uint32_t *item, const uint32_t *from, int64_t n)
{
    int64_t k = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
    if (k < n)
        to[k] = from[item ? item[k] : k];
}

} // namespace

void Sorter::want(Arena *arena, int64_t most)
{
    for (int k = 0; k < 2; k++) {
        arena->want(&key_of[k], most);
        arena->want(&item[k], most);
    }
    arena->want(&scratch, static_cast<int64_t>(tsr_cuda_sort_bytes(most, 4, 32)));
}

void Sorter::from_zero(int64_t count, void *stream)
{
    n = count;
    at = 0;
    if (n)
        TSR_LAUNCH(count_from_zero, blocks_for(n, threads), threads, 0, stream, item[0], n);
}

tsr_status Sorter::sort(const uint32_t *key, int bits, void *stream)
{
    if (n == 0)
        return TSR_OK;
    uint32_t *keys[2] = {key_of[0], key_of[1]};
    void *items[2] = {item[at], item[1 - at]};
    if (tsr_status status = launch_status()) /* items and keys have been written */
        return status;
    TSR_LAUNCH(gather, blocks_for(n, threads), threads, 0, stream, keys[0], item[at], key, n);
    tsr_status status = launch_status();
    int sorted = 0;
    if (status == TSR_OK)
        status = tsr_cuda_sort_pairs(keys, items, 4, n, bits, &sorted, scratch, stream);
    at = sorted ? 1 - at : at;
    return status;
}

tsr_status Sorter::copy(uint32_t *to, void *stream) const
{
    if (n)
        TSR_LAUNCH(gather, blocks_for(n, threads), threads, 0, stream, to, nullptr, item[at], n);
    return launch_status();
}

} // namespace tsr_order

extern "C" tsr_status tsr_cuda_make_order(uint32_t *order, const tsr_source *in, tsr_reorder which, void *stream)
{
    if (in->nrows > UINT32_MAX || in->ncols > UINT32_MAX)
        return TSR_NOT_SUPPORTED;
    switch (which) {
    case TSR_REORDER_LPA: return tsr_order::label_propagation(order, in, stream);
    case TSR_REORDER_LOA: return tsr_order::filled_windows(order, in, stream);
    case TSR_REORDER_TCA: return tsr_order::clusters(order, in, stream);
    default: return TSR_INVALID_VALUE;
    }
}
