// SpMM over panels with B in 16 bits, on Tensor Cores: the same representation, the same producer as plain multiply-adds
// (spmm_panel.cuh), other consumers.
//
// A consumer owns 16 rows and 128 columns of C.  Of a block it finds which slots its entries use, numbers these, spreads the entries out
// as a dense tile of 16 rows by as many columns, and multiplies that with the slots' rows of B, 16 at a time: ldmatrix takes rows of B
// from wherever they are.  Rows of B lie 16 bytes more than 256 apart, so that 8 slots with different remainders of 8 are read without
// bank conflicts; numbers are given such that nearly all groups of 8 are of that kind.
//
// What is not an entry is multiplied as 0: B must be finite.  Values of A are rounded to the 16 bits of B.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/spmm_panel.cuh"

namespace panel_mma {

constexpr unsigned all = 0xffffffffu;
constexpr int rows = 16;     // of a consumer
constexpr int step = 16;     // slots of a matrix instruction
constexpr int columns = 128; // of C

template <bool Bf16, int Width> struct shape {
    using element = uint16_t;
    using sum = float;
    static constexpr int width = Width;
    static constexpr int tile = columns;
    static constexpr int pitch = columns * 2 + 16;
    static constexpr int stage = Width * pitch;
    static constexpr bool sized = true;
    static constexpr int padded = (Width + step - 1) / step * step;
    static constexpr int tile_pitch = padded * 2 + 16; // of the dense tile, an odd number of 16 bytes
    static constexpr int list_bytes = padded + step;
    static constexpr int scratch = rows * tile_pitch + list_bytes; // of a consumer
    static_assert(tile_pitch / 16 % 2 == 1 && scratch % 16 == 0, "");
};

/* What a consumer works with in shared memory: the dense tile, then the slot of each of its columns. */
struct scratch {
    unsigned char *tile, *slot;
};

/* The used slots of the 16 rows, one bit each; their entries are places [begin, end) of the block. */
struct usage {
    shared_place entries;
    int begin, end;
    uint32_t low, high;
};

__device__ __forceinline__ uint32_t below(int lane) { return (1u << lane) - 1; }

/* An entry; what fills a gap is taken for none: its place and its value are 0. */
struct item {
    uint32_t w[2];
    __device__ __forceinline__ bool is() const { return (w[0] | w[1]) != 0; }
    __device__ __forceinline__ uint32_t slot() const { return w[1] >> 16; }
    __device__ __forceinline__ uint32_t row() const { return w[1] & (rows - 1); }
};

/* The lane's entry of 32 from `at` on. */
__device__ __forceinline__ item load_item(const usage &u, int at)
{
    item e = {};
    const int mine = at + static_cast<int>(threadIdx.x % 32);
    if (mine < u.end)
        load_shared(e.w, u.entries + mine * 8);
    return e;
}

/* size: bytes of the block's data. */
template <int Height> __device__ __forceinline__ usage find_usage(shared_place data, int consumer, uint32_t size)
{
    constexpr int words = Height / 8, head = words * 4;
    usage u;
    uint32_t first[2], next[1];
    load_shared(first, data + consumer * 8);
    u.begin = static_cast<int>(first[0] >> 8 & 0xffff);
    u.end = (static_cast<int>(size) - head) / 8;
    if (2 * consumer + 2 < words) {
        load_shared(next, data + consumer * 8 + 8);
        u.end = static_cast<int>(next[0] >> 8 & 0xffff);
    }
    u.entries = data + head;
    uint32_t low = 0, high = 0;
    if (((first[0] | first[1]) & 255) == 0)
        u.end = u.begin;
    for (int at = u.begin; at < u.end; at += 32) {
        const item e = load_item(u, at);
        const uint32_t bit = e.is() ? 1u << (e.slot() & 31) : 0;
        low |= e.slot() < 32 ? bit : 0;
        high |= e.slot() < 32 ? 0 : bit;
    }
    u.low = __reduce_or_sync(all, low);
    u.high = __reduce_or_sync(all, high);
    return u;
}

/* Numbers of slots l and l + 32, if they are used: first one of every remainder of 8, then the second ones, and so on. */
struct numbering {
    int low, high, count;
};
__device__ __forceinline__ numbering number_slots(const usage &u)
{
    const int lane = threadIdx.x % 32;
    const uint32_t alike = 0x01010101u << (lane % 8), earlier = below(lane) & alike;
    const int low_before = __popc(u.low & earlier), low_all = __popc(u.low & alike), high_before = low_all + __popc(u.high & earlier),
              total = low_all + __popc(u.high & alike);
    numbering n = {};
    for (int round = 0;; round++) {
        const uint32_t have = __ballot_sync(all, total > round) & 255;
        if (!have)
            return n;
        const int mine = n.count + __popc(have & below(lane % 8));
        n.low = low_before == round ? mine : n.low;
        n.high = high_before == round ? mine : n.high;
        n.count += __popc(have);
    }
}

/* Which slot each number means; up to the next multiple of 16, any that there is. */
__device__ __forceinline__ void list_slots(const scratch &s, const usage &u, const numbering &n)
{
    const int lane = threadIdx.x % 32;
    if (lane < step)
        s.slot[n.count + lane] = 0;
    if (u.low >> lane & 1)
        s.slot[n.low] = static_cast<unsigned char>(lane);
    if (u.high >> lane & 1)
        s.slot[n.high] = static_cast<unsigned char>(lane + 32);
}

template <bool Bf16> __device__ __forceinline__ uint16_t round_value(uint32_t bits)
{
    uint16_t x;
    if constexpr (Bf16) {
        __nv_bfloat16 y = __float2bfloat16_rn(__uint_as_float(bits));
        memcpy(&x, &y, sizeof x);
    } else {
        __half y = __float2half_rn(__uint_as_float(bits));
        memcpy(&x, &y, sizeof x);
    }
    return x;
}

/* The dense tile. */
template <bool Bf16, class Shape> __device__ __forceinline__ void spread(const scratch &s, const usage &u, const numbering &n)
{
    const int lane = threadIdx.x % 32;
    for (int at = 0; at < n.count; at += step)
        *reinterpret_cast<uint4 *>(s.tile + lane / 2 * Shape::tile_pitch + at * 2 + lane % 2 * 16) = make_uint4(0, 0, 0, 0);
    __syncwarp();
    for (int at = u.begin; at < u.end; at += 32) {
        const item e = load_item(u, at);
        const int lane_of = static_cast<int>(e.slot() & 31);
        const int low = __shfl_sync(all, n.low, lane_of), high = __shfl_sync(all, n.high, lane_of);
        const int number = e.slot() < 32 ? low : high;
        if (e.is())
            *reinterpret_cast<uint16_t *>(s.tile + e.row() * Shape::tile_pitch + number * 2) = round_value<Bf16>(e.w[0]);
    }
    __syncwarp();
}

/* sum += tile * rows of B. */
template <bool Bf16, class Shape>
__device__ __forceinline__ void multiply(float (&sum)[columns / 8][4], const scratch &s, const unsigned char *b, int count, int inside)
{
    const int lane = threadIdx.x % 32;
#pragma unroll 1
    for (int at = 0; at < count; at += step) {
        uint32_t a[4];
        ldmatrix_x4(a, s.tile + lane % 16 * Shape::tile_pitch + at * 2 + lane / 16 * 16);
        const unsigned char *row = keep_address(b + s.slot[at + lane % 16] * Shape::pitch + lane / 16 * 16);
#pragma unroll
        for (int q = 0; q < columns / 16; q++) {
            if (q * 16 >= inside)
                break;
            uint32_t x[4];
            ldmatrix_x4_trans(x, row + q * 32);
            mma_m16n8k16_half<Bf16>(sum[2 * q], a, x);
            mma_m16n8k16_half<Bf16>(sum[2 * q + 1], a, x + 2);
        }
    }
}

template <bool Bf16, class Shape, int Height>
__device__ __forceinline__ void consume(const panel_job &j, const panel::task<float> &t, const panel::ring &r, const scratch &s, int consumer,
                                        float (&sum)[columns / 8][4])
{
    const bool speaks = threadIdx.x % 32 == 0;
    const int64_t left = j.p.n - t.column;
    const int inside = left < columns ? static_cast<int>(left) : columns;
    const uint32_t blocks = static_cast<uint32_t>(t.blocks);
    for (uint32_t k = 0; k < blocks; k++) {
        const uint32_t stage = k % panel::stages;
        mbarrier_wait(r.full + stage, k / panel::stages & 1);
        const usage u = find_usage<Height>(shared_place_of(r.data + stage * j.room), consumer, r.size[stage]);
        const numbering n = number_slots(u);
        list_slots(s, u, n);
        spread<Bf16, Shape>(s, u, n);
        multiply<Bf16, Shape>(sum, s, r.rows + stage * Shape::stage, n.count, inside);
        __syncwarp();
        if (speaks)
            mbarrier_arrive(r.empty + stage);
    }
}

/* Two neighbouring elements of a row. */
__device__ __forceinline__ void store_two(const tensor_output<float> &out, int row, int64_t column, int64_t n, float x, float y)
{
    if (row >= out.rows || column >= n)
        return;
    float *c = tensor_row(out, row) + column;
    const bool both = column + 1 < n;
    x *= out.alpha;
    y *= out.alpha;
    if (out.beta != 0) {
        x += out.beta * c[0];
        y += both ? out.beta * c[1] : 0;
    }
    if (both && out.vectors) {
        __stcs(reinterpret_cast<float2 *>(c), make_float2(x, y));
    } else {
        c[0] = x;
        if (both)
            c[1] = y;
    }
}

__device__ __forceinline__ void store(const panel_job &j, const panel::task<float> &t, int consumer, const float (&sum)[columns / 8][4])
{
    const int lane = threadIdx.x % 32, row = consumer * rows + lane / 4;
    const tensor_output<float> out = t.out;
#pragma unroll
    for (int q = 0; q < columns / 8; q++) {
        const int64_t column = t.column + q * 8 + lane % 4 * 2;
        store_two(out, row, column, j.p.n, sum[q][0], sum[q][1]);
        store_two(out, row + 8, column, j.p.n, sum[q][2], sum[q][3]);
    }
}

template <bool Bf16, int Height, int Width>
__global__ void __launch_bounds__(2 * Height + 32, Height == 64 ? 4 : 6) panel_mma_kernel(panel_job j)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    using of = shape<Bf16, Width>;
    constexpr int consumers = Height / rows;
    int warp = __shfl_sync(all, static_cast<int>(threadIdx.x / 32), 0); // the compiler learns that it is the same for all lanes
    panel::ring r = panel::ring_at<of>(j);
    panel::task<float> &t = *static_cast<panel::task<float> *>(r.task);
    if (threadIdx.x == 0)
        panel::begin_task<of>(&t, r, j, Height, consumers);
    __syncthreads();
    if (warp == 0) {
        panel::produce<of>(j, t, r);
        return;
    }
    float sum[columns / 8][4] = {};
    scratch s;
    s.tile = dynamic_shared() + panel::ring_bytes<of> + panel::stages * j.room + (warp - 1) * of::scratch;
    s.slot = s.tile + rows * of::tile_pitch;
    consume<Bf16, of, Height>(j, t, r, s, warp - 1, sum);
    store(j, t, warp - 1, sum);
#endif
}

template <bool Bf16, int Height, int Width> tsr_status launch(panel_job j)
{
    using of = shape<Bf16, Width>;
    const size_t scratch = static_cast<size_t>(Height / rows * of::scratch);
    return panel::launch_kernel<of>(panel_mma_kernel<Bf16, Height, Width>, 2 * Height + 32, scratch, j);
}

template <bool Bf16> tsr_status launch_shape(const panel_job &j, const tsr_windows &w)
{
    switch (w.height * 100 + w.width) {
    case 3224: return launch<Bf16, 32, 24>(j);
    case 6448: return launch<Bf16, 64, 48>(j);
    default: return TSR_DECLINED;
    }
}

} // namespace panel_mma
