// Rows with few products: a group of lanes forms them, sorts (column, number) in registers, and adds up what has one column, in order.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/spgemm/spgemm_common.cuh"

template <class Key> constexpr int spgemm_sort_threads = sizeof(Key) == 4 ? 256 : 128;

/* Keys in shared memory: neighbours of one lane must not share a bank with those of others. */
__device__ __forceinline__ uint32_t key_slot(uint32_t k) { return k + k / 16; }

template <class Key> __device__ __forceinline__ void put_in_order(Key &x, Key &y)
{
    Key less = min(x, y), more = max(x, y);
    x = less, y = more;
}

/* Element k of the sorted G V keys ends in v[k % V] of lane k / V.  A bitonic network whose merges begin mirrored, so that all ascend. */
template <int G, int V, class Key> __device__ __forceinline__ void sort_keys(Key (&v)[V], int lane)
{
    constexpr int steps = (G * V >= 512) + (G * V >= 256) + (G * V >= 128) + (G * V >= 64) + (G * V >= 32) + (G * V >= 16) + (G * V >= 8) + 2;
#pragma unroll
    for (int step = 1; step <= steps; step++) {
#pragma unroll
        for (int down = step - 1; down >= 0; down--) {
            const int stride = 1 << down, flip = down == step - 1 ? 2 * stride - 1 : stride; // partner: k ^ flip
            if (stride < V) {
#pragma unroll
                for (int t = 0; t < V; t++)
                    if (!(t & stride))
                        put_in_order(v[t], v[t ^ flip]);
            } else {
                Key other[V];
                bool lower = !(lane & (stride / V));
#pragma unroll
                for (int t = 0; t < V; t++)
                    other[t] = __shfl_xor_sync(~0u, v[t ^ (flip % V)], flip / V);
#pragma unroll
                for (int t = 0; t < V; t++)
                    v[t] = lower ? min(v[t], other[t]) : max(v[t], other[t]);
            }
        }
    }
}

/* Keys and values of the row's products in the order of A's entries; returns how many.  All lanes of the warp take part. */
template <class P, class Key, int Bits, int G, class V = typename P::value>
__device__ __forceinline__ uint32_t form_products(const spgemm_operands<V> &q, int64_t at, int64_t end, uint32_t first, Key *keys, V *values)
{
    int lane = int(threadIdx.x % G);
    uint32_t n = 0;
    for (; __any_sync(~0u, at < end); at += G) {
        spgemm_piece<V> mine = piece_of(q, at + lane, end, true);
        uint32_t upto = sum_upto<G>(mine.length, lane), total = __shfl_sync(~0u, upto, G - 1, G);
        for (uint32_t k = uint32_t(lane); __any_sync(~0u, k - uint32_t(lane) < total); k += G) {
            int from = 0; // the first lane whose sum exceeds k
#pragma unroll
            for (int d = G / 2; d > 0; d /= 2)
                from += __shfl_sync(~0u, upto, from + d - 1, G) <= k ? d : 0;
            uint32_t before = __shfl_sync(~0u, upto - mine.length, from, G);
            int64_t place = lane_of<G>(mine.start, from) + (k - before);
            V a = lane_of<G>(mine.a, from);
            if (k < total) {
                keys[key_slot(n + k)] = Key(__ldg(q.bi + place) - first) << Bits | (n + k);
                if (q.values)
                    values[n + k] = P::multiply(q.op, a, b_value(q, place));
            }
        }
        n += total;
    }
    return n;
}

/* As claim_place, for the rows of all groups of the block. */
template <int Groups, class V> __device__ __forceinline__ int64_t claim_places(const spgemm_place<V> &place, bool active, uint32_t row,
    uint32_t count, int group, int lane)
{
    static_assert(Groups <= 32, "");
    __shared__ uint32_t counts[32];
    __shared__ int64_t starts[32];
    if (place.mode == SPGEMM_DIRECT)
        return active ? place.p[row] : -1;
    if (lane == 0)
        counts[group] = active ? count : 0;
    __syncthreads();
    if (threadIdx.x < 32) {
        uint32_t mine = threadIdx.x < Groups ? counts[threadIdx.x] : 0, upto = sum_upto<32>(mine, int(threadIdx.x));
        uint32_t total = __shfl_sync(~0u, upto, 31);
        int64_t base = -1;
        if (threadIdx.x == 0 && place.mode == SPGEMM_COUNT)
            atomicAdd(place.sampled, (unsigned long long)total);
        if (threadIdx.x == 0 && place.mode == SPGEMM_STORE) {
            base = int64_t(atomicAdd(place.cursor, (unsigned long long)total));
            if (base + total > place.capacity)
                base = -1;
        }
        base = __shfl_sync(~0u, base, 0);
        starts[threadIdx.x] = base < 0 ? -1 : base + upto - mine;
    }
    __syncthreads();
    int64_t at = starts[group];
    if (place.mode == SPGEMM_STORE && active && lane == 0) {
        place.p[row] = count;
        place.at[row] = at;
        if (at < 0)
            atomicAdd(place.deferred, 1ull);
    }
    return active ? at : -1;
}

/* N products at most, G lanes for a row. */
template <class P, class Key, int N, int G>
__global__ void __launch_bounds__(spgemm_sort_threads<Key>) spgemm_sort_rows(spgemm_operands<typename P::value> q, spgemm_rows rows,
    spgemm_place<typename P::value> place)
{
    using V = typename P::value;
    constexpr int threads = spgemm_sort_threads<Key>, groups = threads / G, each = N / G;
    constexpr int bits = N == 8 ? 3 : N == 16 ? 4 : N == 32 ? 5 : N == 64 ? 6 : N == 128 ? 7 : N == 256 ? 8 : 9;
    static_assert(1 << bits == N, "");
    unsigned char *shared = dynamic_shared();
    int group = int(threadIdx.x / G), lane = int(threadIdx.x % G), shift = int(threadIdx.x % 32) / G * G;
    const uint32_t lanes = G == 32 ? ~0u : (1u << G % 32) - 1;
    V *values = reinterpret_cast<V *>(shared) + group * N;
    Key *keys = reinterpret_cast<Key *>(shared + groups * N * sizeof(V)) + group * (N + N / 16);
    for (uint64_t base = blockIdx.x * uint64_t(groups); base < rows.count; base += gridDim.x * uint64_t(groups)) {
        bool active = base + group < rows.count;
        uint32_t row = active ? rows.list[(base + group) * rows.stride] : 0;
        active = active && is_wanted(place, row);
        int64_t begin = active ? q.ap[row] : 0, end = active ? q.ap[row + 1] : 0;
        uint32_t first = active ? rows.first[row] : 0;
        uint32_t n = form_products<P, Key, bits, G>(q, begin, end, first, keys, values);
        __syncwarp();
        Key v[each];
#pragma unroll
        for (int t = 0; t < each; t++)
            v[t] = uint32_t(t * G + lane) < n ? keys[key_slot(uint32_t(t * G + lane))] : ~Key(0);
        __syncwarp();
        sort_keys<G, each>(v, lane);
#pragma unroll
        for (int t = 0; t < each; t++)
            keys[key_slot(uint32_t(lane * each + t))] = v[t];
        __syncwarp();
        uint32_t heads = 0, count = 0; // bit t: a column begins at t G + lane
#pragma unroll
        for (int t = 0; t < each; t++) {
            uint32_t k = uint32_t(t * G + lane);
            bool head = k < n && (k == 0 || keys[key_slot(k - 1)] >> bits != keys[key_slot(k)] >> bits) &&
                        passes(q, row, uint32_t(keys[key_slot(k)] >> bits) + first);
            heads |= uint32_t(head) << t;
            count += uint32_t(__popc(__ballot_sync(~0u, head) >> shift & lanes));
        }
        int64_t at = claim_places<groups>(place, active, row, count, group, lane);
#pragma unroll
        for (int t = 0; t < each; t++) {
            bool head = heads >> t & 1;
            uint32_t voted = __ballot_sync(~0u, head) >> shift & lanes;
            if (head && at >= 0) {
                uint32_t k = uint32_t(t * G + lane);
                Key key = keys[key_slot(k)], column = key >> bits;
                int64_t to = at + __popc(voted & ((1u << lane) - 1));
                if (!place.again)
                    place.i[to] = uint32_t(column) + first;
                if (q.values) {
                    V sum = P::merge(q.op, P::identity(q.op), values[uint32_t(key) % N]);
                    for (k++; k < n && (key = keys[key_slot(k)]) >> bits == column; k++)
                        sum = P::merge(q.op, sum, values[uint32_t(key) % N]);
                    place.x[to] = sum;
                }
            }
            at += at >= 0 ? __popc(voted) : 0;
        }
        __syncwarp();
    }
}
