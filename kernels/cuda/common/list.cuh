// How the blocks of a kernel over a list end together.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/common/device.cuh"
#include "kernels/cuda/common/list.h"

namespace {

/* True in every thread of the block that comes last, which sees what the others have written.  All threads of a block ask, once. */
__device__ __forceinline__ bool is_last_block(tsr_cuda_list_head *head)
{
    __threadfence();
    __syncthreads();
    const bool last = threadIdx.x == 0 && atomicAdd(&head->done, 1u) == gridDim.x - 1;
    const bool all = __syncthreads_or(last);
    __threadfence();
    return all;
}

/* Whoever finds a place first lists it.  Four places are a word. */
__device__ __forceinline__ void find_place(const tsr_cuda_list &list, int8_t *present, uint32_t place)
{
    unsigned *word = reinterpret_cast<unsigned *>(present) + place / 4;
    const unsigned bit = 1u << (place % 4 * 8);
    if (__ldcg(word) & bit || atomicOr(word, bit) & bit)
        return;
    list.places[atomicAdd(&list.head->length, 1u)] = place;
}

/* By all threads of all blocks. */
__device__ __forceinline__ void clear_places(const tsr_cuda_clearing &c)
{
    if (!c.x)
        return;
    const unsigned length = c.list.head->length;
    for (unsigned k = blockIdx.x * blockDim.x + threadIdx.x; k < length; k += gridDim.x * blockDim.x) {
        const uint32_t at = c.list.places[k];
        c.present[at] = 0;
        switch (c.size) {
        case 1: static_cast<uint8_t *>(c.x)[at] = 0; break;
        case 2: static_cast<uint16_t *>(c.x)[at] = 0; break;
        case 4: static_cast<uint32_t *>(c.x)[at] = 0; break;
        default: static_cast<uint64_t *>(c.x)[at] = 0; break;
        }
    }
}

/* One thread of the last block, when head->present is complete. */
__device__ __forceinline__ void tell(const tsr_cuda_told &told)
{
    if (told.clearing.x)
        *told.clearing.head = tsr_cuda_list_head{};
    const uint64_t present = __ldcg(&told.head->present);
    *static_cast<volatile uint64_t *>(told.slot) = uint64_t(told.ticket) << 32 | present;
}

} // namespace
