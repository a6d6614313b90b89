// Short pieces of a row, packed: a warp takes 32 products at a time, from as many pieces as they come from.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/spgemm/spgemm_common.cuh"

/* Up to 32 pieces, a lane each, those without entries behind the others. */
template <class V> struct spgemm_packed {
    int64_t origin; // where entry 0 of B would be for the number of a product to be added to it
    V a;
    uint32_t before, length, total; // products before this piece's; of it; in all
    int started = 0;                // pieces that began before the next 32 products

    __device__ __forceinline__ explicit spgemm_packed(spgemm_piece<V> piece)
    {
        const uint32_t there = __ballot_sync(~0u, piece.length > 0), lane = threadIdx.x % 32;
        if (there != ~0u) {
            const uint32_t mine = __popc(there & ((1u << lane) - 1));
            int from = 0;
#pragma unroll
            for (int step = 16; step > 0; step /= 2)
                from += __shfl_sync(~0u, mine, from + step) <= lane ? step : 0;
            piece = { lane_of<32>(piece.start, from), lane_of<32>(piece.a, from), lane_of<32>(piece.length, from) };
            piece.length = lane < uint32_t(__popc(there)) ? piece.length : 0;
        }
        before = sum_upto<32>(piece.length, int(lane));
        total = __shfl_sync(~0u, before, 31);
        before -= piece.length;
        origin = piece.start - before, a = piece.a, length = piece.length;
    }

    /* Of 32 products from `first` on, one after the other: a bit where a piece begins, and which piece this lane's product is of. */
    __device__ __forceinline__ uint32_t next(uint32_t first, int *piece)
    {
        const uint32_t at = before - first, begins = __reduce_or_sync(~0u, length > 0 && at < 32 ? 1u << at : 0);
        *piece = started + __popc(begins & (~0u >> (31 - threadIdx.x % 32))) - 1;
        started += __popc(begins);
        return begins;
    }
};

/* As each_column. */
template <class Q, class See> __device__ __forceinline__ void each_packed_column(const Q &q, int64_t begin, int64_t end, const See &see)
{
    constexpr int ahead = 4;
    const uint32_t lane = threadIdx.x % 32;
    for (int64_t base = begin; base < end; base += 32) {
        spgemm_packed pack(piece_of(q, base + lane, end, false));
        for (uint32_t first = 0; first < pack.total; first += 32 * ahead) {
            uint32_t column[ahead];
#pragma unroll
            for (int u = 0; u < ahead; u++) {
                const uint32_t n = first + uint32_t(u) * 32 + lane;
                int piece;
                pack.next(n - lane, &piece);
                const int64_t at = lane_of<32>(pack.origin, piece) + n;
                column[u] = n < pack.total ? __ldg(q.bi + at) : 0;
            }
#pragma unroll
            for (int u = 0; u < ahead; u++)
                if (first + uint32_t(u) * 32 + lane < pack.total)
                    see(column[u]);
        }
    }
}

/* Calls add(find(column), product) for every product of the row: find for 32 at once, then add for those of one entry of A after the other. */
template <class P, class Q, class Find, class Add, class V = typename P::value>
__device__ __forceinline__ void each_packed_product(const Q &q, int64_t begin, int64_t end, const Find &find, const Add &add)
{
    constexpr int ahead = 4;
    const uint32_t lane = threadIdx.x % 32;
    for (int64_t base = begin; base < end; base += 32) {
        spgemm_packed pack(piece_of(q, base + lane, end, true));
        for (uint32_t first = 0; first < pack.total; first += 32 * ahead) {
            uint32_t column[ahead], begins[ahead];
            V a[ahead], b[ahead];
#pragma unroll
            for (int u = 0; u < ahead; u++) {
                const uint32_t n = first + uint32_t(u) * 32 + lane;
                int piece;
                begins[u] = pack.next(n - lane, &piece) | 1;
                const int64_t at = lane_of<32>(pack.origin, piece) + n;
                a[u] = lane_of<32>(pack.a, piece);
                column[u] = n < pack.total ? __ldg(q.bi + at) : 0;
                b[u] = n < pack.total ? b_value(q, at) : q.b_iso;
            }
#pragma unroll
            for (int u = 0; u < ahead; u++) {
                const bool there = first + uint32_t(u) * 32 + lane < pack.total;
                const int turns = __popc(begins[u]), mine = there ? __popc(begins[u] & (~0u >> (31 - lane))) : 0;
                const uint32_t k = there ? find(column[u]) : ~0u;
                const V product = P::multiply(q.op, a[u], b[u]);
                for (int turn = 1; turn <= turns; turn++) {
                    if (mine == turn)
                        add(k, product);
                    __syncwarp();
                }
            }
        }
    }
}
