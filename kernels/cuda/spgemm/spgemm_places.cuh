// Values alone from the places of products: products of one entry of C lie behind one another, those of the next entry follow.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/spgemm/spgemm.cuh"

constexpr int places_threads = 256, places_ahead = 8, places_tile = 32 * places_ahead;

/* What the lanes of a warp know of one tile of products. */
struct spgemm_tile_heads {
    uint32_t words[places_ahead]; // bit: an entry of C begins at this product
    uint32_t count;               // of products in the tile

    /* The first head from product k on, or the end of the tile. */
    __device__ __forceinline__ uint32_t next(uint32_t k) const
    {
        uint32_t found = count;
#pragma unroll
        for (int u = places_ahead - 1; u >= 0; u--) {
            uint32_t from = uint32_t(u) * 32, bits = k <= from ? words[u] : k < from + 32 ? words[u] >> (k - from) << (k - from) : 0;
            if (bits)
                found = from + uint32_t(__ffs(int(bits))) - 1;
        }
        return found;
    }
};

/* A warp for a chunk of products: the entries of C that begin there, to their ends.  The order of a sum is that of A's entries. */
template <class P> class spgemm_places_warp {
    using V = typename P::value;

  public:
    __device__ spgemm_places_warp(const spgemm_operands<V> &operands, const spgemm_places &kept, V *to, V *shared)
        : q(operands), places(kept), x(to), formed(shared), lane(threadIdx.x % 32) {}

    __device__ __forceinline__ void compute(uint64_t chunk)
    {
        const uint64_t limit = (chunk + 1) * places.chunk;
        entry = places.first[chunk] - 1; // of C, that the next head follows
        open = false;
        for (uint64_t base = chunk * places.chunk; base < places.count && (base < limit || open); base += places_tile) {
            form(base);
            __syncwarp();
            add_up(base < limit ? places_tile : 0);
            __syncwarp();
        }
        if (open && lane == 0)
            x[entry] = carry;
    }

  private:
    __device__ __forceinline__ void form(uint64_t base)
    {
        unsigned long long code[places_ahead];
        V a[places_ahead], b[places_ahead];
        heads.count = uint32_t(min(places.count - base, uint64_t(places_tile)));
#pragma unroll
        for (int u = 0; u < places_ahead; u++) {
            uint32_t k = uint32_t(u) * 32 + lane;
            code[u] = k < heads.count ? load_once(places.code + base + k) : 0;
        }
#pragma unroll
        for (int u = 0; u < places_ahead; u++) {
            bool there = uint32_t(u) * 32 + lane < heads.count;
            a[u] = q.ax && there ? load_value(q.ax + (code[u] >> 32)) : q.a_iso;
            b[u] = q.bx && there ? load_value(q.bx + (code[u] & ~spgemm_head & 0xffffffffu)) : q.b_iso;
            heads.words[u] = __ballot_sync(~0u, there && (code[u] & spgemm_head));
        }
#pragma unroll
        for (int u = 0; u < places_ahead; u++)
            formed[u * 32 + lane] = P::multiply(q.op, a[u], b[u]);
    }

    __device__ __forceinline__ V sum(V s, uint32_t from, uint32_t to) const
    {
        for (; from < to; from++)
            s = P::merge(q.op, s, formed[from]);
        return s;
    }

    /* Entries that begin at product `most` of the tile or later are others'. */
    __device__ __forceinline__ void add_up(uint32_t most)
    {
        uint32_t begin = heads.next(0);
        if (open) {
            carry = sum(carry, 0, begin);
            if (begin < heads.count && lane == 0)
                x[entry] = carry;
        }
        bool still = open && begin == heads.count;
        V last = carry;
        uint32_t before = 0, mine = 0; // heads before; a bit of the word whose entry goes on
#pragma unroll
        for (int u = 0; u < places_ahead; u++) {
            uint32_t k = uint32_t(u) * 32 + lane, word = uint32_t(u) * 32 < most ? heads.words[u] : 0;
            if (word >> lane & 1) {
                uint32_t end = heads.next(k + 1), number = before + uint32_t(__popc(word & ((1u << lane) - 1)));
                V s = sum(P::identity(q.op), k, end);
                if (end < heads.count) {
                    x[entry + 1 + number] = s;
                } else {
                    last = s;
                    mine = 1;
                }
            }
            before += uint32_t(__popc(word));
        }
        uint32_t owner = __ballot_sync(~0u, mine);
        entry += before;
        open = still || owner;
        if (owner)
            carry = lane_of<32>(last, __ffs(int(owner)) - 1);
    }

    const spgemm_operands<V> &q;
    const spgemm_places &places;
    V *x, *formed;
    uint32_t lane;
    spgemm_tile_heads heads;
    int64_t entry;
    bool open; // the entry has begun and not ended; `carry` is its sum so far, known to all
    V carry;
};

/* A thread for an entry of C; the products of its neighbours lie beside its own.  The order of a sum is that of A's entries here, too. */
template <class P> __global__ void __launch_bounds__(places_threads) spgemm_sum_entries(spgemm_operands<typename P::value> q, spgemm_places places,
    typename P::value *x)
{
    using V = typename P::value;
    constexpr int ahead = 4;
    for (int64_t e = blockIdx.x * int64_t(places_threads) + threadIdx.x; e < places.entries; e += gridDim.x * int64_t(places_threads)) {
        uint32_t end = __ldg(places.start + e + 1);
        V s = P::identity(q.op);
        for (uint32_t k = __ldg(places.start + e); k < end; k += ahead) {
            V a[ahead], b[ahead];
#pragma unroll
            for (uint32_t u = 0; u < ahead; u++) {
                unsigned long long code = k + u < end ? __ldg(places.code + k + u) : 0;
                a[u] = q.ax && k + u < end ? load_value(q.ax + (code >> 32)) : q.a_iso;
                b[u] = q.bx && k + u < end ? load_value(q.bx + uint32_t(code)) : q.b_iso;
            }
#pragma unroll
            for (uint32_t u = 0; u < ahead; u++)
                if (k + u < end)
                    s = P::merge(q.op, s, P::multiply(q.op, a[u], b[u]));
        }
        x[e] = s;
    }
}

template <class P> __global__ void __launch_bounds__(places_threads) spgemm_sum_places(spgemm_operands<typename P::value> q, spgemm_places places,
    typename P::value *x)
{
    constexpr int warps = places_threads / 32;
    using V = typename P::value;
    __shared__ __align__(16) unsigned char memory[warps * places_tile * sizeof(V)];
    uint32_t warp = threadIdx.x / 32;
    spgemm_places_warp<P> mine(q, places, x, reinterpret_cast<V *>(memory) + warp * places_tile);
    uint64_t chunks = (places.count + places.chunk - 1) / places.chunk;
    for (uint64_t chunk = blockIdx.x * uint64_t(warps) + warp; chunk < chunks; chunk += gridDim.x * uint64_t(warps))
        mine.compute(chunk);
}
