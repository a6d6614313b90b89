// SpMM over panels on Tensor Cores, TF32, FP16 and BF16: the same representation, the same producer as plain multiply-adds
// (spmm_panel.cuh), other consumers.
//
// A consumer owns 16 rows and 128 columns of C.  Of a block it finds which slots its entries use, numbers these, spreads the entries out
// as a dense tile of 16 rows by as many columns, and multiplies that with the slots' rows of B, a step of 8 or 16 slots at a time, wherever
// these rows are.  Rows of B lie a little more than 256 (512) bytes apart, so that 8 (4) slots with different remainders are read without
// bank conflicts; numbers are given such that nearly all groups of 8 (4) are of that kind.
//
// What is not an entry is multiplied as 0: B must be finite (TF32: and below 2^127).  Values of A are rounded to what B is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/spmm_panel.cuh"

namespace panel_mma {

constexpr unsigned all = 0xffffffffu;
constexpr int rows = 16;     // of a consumer
constexpr int columns = 128; // of C
typedef float sums[columns / 8][4];

template <class Math, int Width> struct shape {
    using element = typename Math::element;
    using sum = float;
    static constexpr int width = Width;
    static constexpr int tile = columns;
    static constexpr int pitch = columns * static_cast<int>(sizeof(element)) + 128 / Math::classes;
    static constexpr int stage = Width * pitch;
    static constexpr bool sized = true;
    static constexpr int steps = (Width + Math::step - 1) / Math::step;
    static constexpr int tile_pitch = steps * 32 + 16; // of the dense tile: an odd number of 16 bytes
    static constexpr int scratch = rows * tile_pitch + (steps + 1) * 16; // of a consumer
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

/* Numbers of slots l and l + 32, if they are used: first one of every class (remainder), then the second ones, and so on. */
struct numbering {
    int low, high, count;
};
template <int Classes> __device__ __forceinline__ numbering number_slots(const usage &u)
{
    const int lane = threadIdx.x % 32;
    const uint32_t alike = (Classes == 8 ? 0x01010101u : 0x11111111u) << (lane % Classes), earlier = below(lane) & alike;
    const int low_before = __popc(u.low & earlier), low_all = __popc(u.low & alike), high_before = low_all + __popc(u.high & earlier),
              total = low_all + __popc(u.high & alike);
    numbering n = {};
    for (int round = 0;; round++) {
        const uint32_t have = __ballot_sync(all, total > round) & ((1u << Classes) - 1);
        if (!have)
            return n;
        const int mine = n.count + __popc(have & below(lane % Classes));
        n.low = low_before == round ? mine : n.low;
        n.high = high_before == round ? mine : n.high;
        n.count += __popc(have);
    }
}

/* Which slot each number means; up to the next whole step, any that there is. */
template <int Step> __device__ __forceinline__ void list_slots(const scratch &s, const usage &u, const numbering &n)
{
    const int lane = threadIdx.x % 32;
    if (lane < Step)
        s.slot[n.count + lane] = 0;
    if (u.low >> lane & 1)
        s.slot[n.low] = static_cast<unsigned char>(lane);
    if (u.high >> lane & 1)
        s.slot[n.high] = static_cast<unsigned char>(lane + 32);
}

/* The dense tile: 32 bytes of a row for every step. */
template <class Math, class Shape> __device__ __forceinline__ void spread(const scratch &s, const usage &u, const numbering &n)
{
    const int lane = threadIdx.x % 32;
    for (int at = 0; at < n.count; at += Math::step)
        *reinterpret_cast<uint4 *>(s.tile + lane / 2 * Shape::tile_pitch + at / Math::step * 32 + lane % 2 * 16) = make_uint4(0, 0, 0, 0);
    __syncwarp();
    for (int at = u.begin; at < u.end; at += 32) {
        const item e = load_item(u, at);
        const int owner = static_cast<int>(e.slot() & 31);
        const int low = __shfl_sync(all, n.low, owner), high = __shfl_sync(all, n.high, owner), number = e.slot() < 32 ? low : high;
        if (e.is())
            reinterpret_cast<typename Math::stored *>(s.tile + e.row() * Shape::tile_pitch)[number] = Math::rounded(e.w[0]);
    }
    __syncwarp();
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

// ---- Arithmetic: how B is read, and which columns a lane's sums are of ----
//
// multiply: sum += tile * rows of B, of which `inside` columns matter.

template <bool Bf16> struct half {
    using element = uint16_t;
    using stored = uint16_t; // in the dense tile
    static constexpr int step = 16, classes = 8;

    static __device__ __forceinline__ stored rounded(uint32_t bits)
    {
        using number = std::conditional_t<Bf16, __nv_bfloat16, __half>;
        number y;
        if constexpr (Bf16)
            y = __float2bfloat16_rn(__uint_as_float(bits));
        else
            y = __float2half_rn(__uint_as_float(bits));
        stored x;
        memcpy(&x, &y, sizeof x);
        return x;
    }

    template <class Shape>
    static __device__ __forceinline__ void multiply(sums &sum, const scratch &s, const unsigned char *b, int count, int inside)
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

    static __device__ __forceinline__ void store(const tensor_output<float> &out, int row, int64_t first, int64_t n, const sums &sum)
    {
        const int t = threadIdx.x % 4;
#pragma unroll
        for (int q = 0; q < columns / 8; q++) {
            store_two(out, row, first + q * 8 + t * 2, n, sum[q][0], sum[q][1]);
            store_two(out, row + 8, first + q * 8 + t * 2, n, sum[q][2], sum[q][3]);
        }
    }
};

/* A lane reads 4 neighbouring columns of two rows of B at once: column 32 q + 4 g + i is column g of matrix instruction 4 q + i. */
struct tf32 {
    using element = float;
    using stored = uint32_t;
    static constexpr int step = 8, classes = 4;

    static __device__ __forceinline__ stored rounded(uint32_t bits) { return tensor_detail::tf32::make_sparse(__uint_as_float(bits)).bits; }

    template <class Shape>
    static __device__ __forceinline__ void multiply(sums &sum, const scratch &s, const unsigned char *b, int count, int inside)
    {
        const int lane = threadIdx.x % 32;
#pragma unroll 1
        for (int at = 0; at < count; at += step) {
            uint32_t a[4];
            ldmatrix_x4(a, s.tile + lane % 16 * Shape::tile_pitch + at * 4 + lane / 16 * 16);
            const shared_place first = keep_place(shared_place_of(b + s.slot[at + lane % 4] * Shape::pitch + lane / 4 * 16)),
                               second = keep_place(shared_place_of(b + s.slot[at + 4 + lane % 4] * Shape::pitch + lane / 4 * 16));
#pragma unroll
            for (int q = 0; q < columns / 32; q++) {
                if (q * 32 >= inside)
                    break;
                uint32_t x[4], y[4];
                load_shared(x, first + q * 128);
                load_shared(y, second + q * 128);
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    const uint32_t both[2] = {x[i] + 0x1000u, y[i] + 0x1000u}; // rounded, as tensor_detail::tf32 does
                    mma_m16n8k8_tf32(sum[4 * q + i], a, both);
                }
            }
        }
    }

    static __device__ __forceinline__ void store(const tensor_output<float> &out, int row, int64_t first, int64_t n, const sums &sum)
    {
        const int t = threadIdx.x % 4;
#pragma unroll
        for (int q = 0; q < columns / 32; q++)
#pragma unroll
            for (int part = 0; part < 4; part++) { // of columns: the first or second 4; of rows: the upper or lower 8
                const float four[4] = {sum[4 * q][part], sum[4 * q + 1][part], sum[4 * q + 2][part], sum[4 * q + 3][part]};
                const int64_t column = first + q * 32 + t * 8 + part % 2 * 4;
                if (column < n)
                    tensor_store(out, row + part / 2 * 8, column, n, four);
            }
    }
};

// ---- The kernel ----

template <class Math, class Shape, int Height>
__device__ __forceinline__ void consume(const panel_job &j, const panel::task<float> &t, const panel::ring &r, const scratch &s,
                                        int consumer, sums &sum)
{
    const bool speaks = threadIdx.x % 32 == 0;
    const int64_t left = j.p.n - t.column;
    const int inside = left < columns ? static_cast<int>(left) : columns;
    const uint32_t blocks = static_cast<uint32_t>(t.blocks);
    for (uint32_t k = 0; k < blocks; k++) {
        const uint32_t stage = k % panel::stages;
        mbarrier_wait(r.full + stage, k / panel::stages & 1);
        const usage u = find_usage<Height>(shared_place_of(r.data + stage * j.room), consumer, r.size[stage]);
        const numbering n = number_slots<Math::classes>(u);
        list_slots<Math::step>(s, u, n);
        spread<Math, Shape>(s, u, n);
        Math::template multiply<Shape>(sum, s, r.rows + stage * Shape::stage, n.count, inside);
        __syncwarp();
        if (speaks)
            mbarrier_arrive(r.empty + stage);
    }
}

template <class Math, int Height, int Width>
__global__ void __launch_bounds__(2 * Height + 32, Height == 64 ? 4 : 6) panel_mma_kernel(panel_job j)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    using of = shape<Math, Width>;
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
    sums sum = {};
    scratch s;
    s.tile = dynamic_shared() + panel::ring_bytes<of> + panel::stages * j.room + (warp - 1) * of::scratch;
    s.slot = s.tile + rows * of::tile_pitch;
    consume<Math, of, Height>(j, t, r, s, warp - 1, sum);
    Math::store(t.out, (warp - 1) * rows + static_cast<int>(threadIdx.x % 32 / 4), t.column, j.p.n, sum);
#endif
}

template <class Math, int Height, int Width> tsr_status launch(const panel_job &j)
{
    using of = shape<Math, Width>;
    return panel::launch_kernel<of>(panel_mma_kernel<Math, Height, Width>, 2 * Height + 32, Height / rows * of::scratch, j);
}

template <class Math> tsr_status launch_shape(const panel_job &j, const tsr_windows &w)
{
    switch (w.height * 100 + w.width) {
    case 3224: return launch<Math, 32, 24>(j);
    case 6448: return launch<Math, 64, 48>(j);
    default: return TSR_DECLINED;
    }
}

} // namespace panel_mma
