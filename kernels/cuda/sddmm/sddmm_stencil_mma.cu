// SDDMM over a stencil on Tensor Cores: TF32, FP16, BF16.
//
// A consumer multiplies its 8 rows of X by the rows of Y that they have entries for, 16 at a time: FlashSparse's swap (PPoPP 2025) makes
// these the 16-side of the matrix instruction.  Of the 16 x 8 dots those that are entries are stored.
//
// Which k of the instruction an element gets is free as long as X and Y agree: lane (g, t) has the bytes 16t to 16t + 15 of every 64 of a
// row, four (eight) neighbouring elements.  Rows in a stage are an odd multiple of 64 bytes apart: two neighbouring g read from different
// banks when their slots are one even, one odd.  Slots are dealt to g that way.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/sddmm/sddmm_stencil.cuh"

// Before sm_90 the kernels are empty, and nvcc complains about all that they do not use.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#pragma nv_diag_suppress 177
#endif

namespace {

using namespace sddmm_stencil;

constexpr int group = 16;        // slots that are multiplied together
constexpr int chunk = 64;        // bytes of a row that four lanes hold
constexpr uint8_t nobody = 255;  // in place of a slot

// ---- Arithmetic: 16 rows of Y times 8 rows of X, 64 bytes of each ----
//
// A lane brings 16 bytes of rows g and g + 8 of Y and of row g of X, for two instructions.  Sums are as in tensor.cuh: [0], [1] are row g
// of Y times rows 2t and 2t + 1 of X, [2] and [3] row g + 8.  Each instruction has sums of its own, added up at the end, which makes
// chains of dependent instructions shorter.

template <tsr_cuda_math Math> struct arithmetic {
    static constexpr bool rounds = Math == TSR_CUDA_TF32;
    using rounding = tensor_math<TSR_CUDA_TF32>;

    static __device__ __forceinline__ uint32_t fix(uint32_t x)
    {
        return rounds ? rounding::make_sparse(__uint_as_float(x)).bits : x;
    }
    static __device__ __forceinline__ void multiply(float d[4], const uint32_t a[4], const uint32_t b[2])
    {
        if constexpr (rounds)
            mma_m16n8k8_tf32(d, a, b);
        else
            mma_m16n8k16_half<Math == TSR_CUDA_BF16>(d, a, b);
    }
    static __device__ __forceinline__ void add(float (&d)[2][4], uint32_t (&y0)[4], uint32_t (&y1)[4], const uint32_t (&x)[4])
    {
#pragma unroll
        for (int k = 0; k < 4 && rounds; k++) {
            y0[k] = rounding::make_dense(__uint_as_float(y0[k])).bits;
            y1[k] = rounding::make_dense(__uint_as_float(y1[k])).bits;
        }
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const uint32_t a[4] = {y0[2 * half], y1[2 * half], y0[2 * half + 1], y1[2 * half + 1]};
            multiply(d[half], a, x + 2 * half);
        }
    }
};

/* What measured best on an H200: stages of the ring, blocks of threads on a multiprocessor. */
template <int Chunks> struct tuning {
    static constexpr int stages = Chunks < 8 ? 4 : 3;
    static constexpr int blocks = Chunks < 8 ? 5 : 4;
};

template <tsr_cuda_math Math, int Chunks> struct consumer {
    using math = arithmetic<Math>;
    using shape = ring_shape<Chunks * chunk, Chunks * chunk + chunk, tuning<Chunks>::stages>;
    static constexpr int shared = shape::shared + consumers * 2 * group;
    uint32_t x[Chunks][4];
    uint32_t entries[2], next[2]; // slots of the entries of rows 2t and 2t + 1 in this block, and the one after it
    const uint32_t *sets;         // of the two rows, in the block after that
    const uint32_t *sets_end;
    target<float> results;
    uint32_t place[2];            // of the next entries of rows 2t and 2t + 1
    shared_place y;
    uint8_t *slots;               // of the consumer's groups
    int groups;

    __device__ __forceinline__ consumer(const job &j, const item &t, int number) : results(j, t.window)
    {
        const int lane = threadIdx.x % 32, pair = lane % 4 * 2;
        const int64_t first = t.window * height + number * rows;
        load_row(j, first + lane / 4, lane % 4);
        sets = j.sets + t.block * height + number * rows + pair;
        sets_end = sets + (t.count + width - 1) / width * height;
        for (int k = 0; k < 2; k++)
            place[k] = static_cast<uint32_t>(first_entry(j, t, first + pair + k) - results.entry);
        y = keep_place(shared_place_of(dynamic_shared() + lane % 4 * 16));
        slots = dynamic_shared() + shape::shared + number * 2 * group;
        load_sets();
    }
    __device__ __forceinline__ void load_row(const job &j, int64_t row, int t)
    {
#pragma unroll
        for (int c = 0; c < Chunks; c++) {
            uint4 v = {0, 0, 0, 0};
            if (row < j.nrows && c * 4 + t < j.pieces)
                v = __ldg(reinterpret_cast<const uint4 *>(j.x + row * j.x_pitch) + c * 4 + t);
            const uint32_t w[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
            for (int k = 0; k < 4; k++)
                x[c][k] = math::fix(w[k]);
        }
    }
    __device__ __forceinline__ void load_sets()
    {
        const uint2 both = sets < sets_end ? __ldg(reinterpret_cast<const uint2 *>(sets)) : uint2{0, 0};
        next[0] = both.x;
        next[1] = both.y;
        sets += height;
    }
    /* Even slots go to even places of a group, odd ones to odd places, as far as there are both; what is too many for a single group fills
     * it up from its end. */
    __device__ __forceinline__ void deal_slots(uint32_t needed)
    {
        const int lane = threadIdx.x % 32;
        const uint32_t alike = needed & (lane & 1 ? 0xaaaaaaaau : 0x55555555u);
        int to = 2 * __popc(alike & ((1u << lane) - 1)) + (lane & 1);
        groups = __popc(needed) <= group ? 1 : 2;
        if (groups == 1 && to >= group)
            to = 2 * group - 1 - to;
        __syncwarp(); // those of the block before are read
        slots[lane] = nobody;
        __syncwarp();
        if (needed >> lane & 1)
            slots[to] = static_cast<uint8_t>(lane);
        __syncwarp();
    }
    __device__ __forceinline__ void next_block()
    {
        entries[0] = next[0];
        entries[1] = next[1];
        load_sets();
        uint32_t needed = entries[0] | entries[1];
        needed |= __shfl_xor_sync(every_lane, needed, 1);
        needed |= __shfl_xor_sync(every_lane, needed, 2);
        groups = 0;
        if (needed)
            deal_slots(needed);
    }
    /* d: dots of the rows of Y in two slots. */
    __device__ __forceinline__ void multiply(float (&d)[2][4], shared_place stage, int first, int second) const
    {
        const shared_place y0 = stage + static_cast<uint32_t>(first % width * shape::pitch);
        const shared_place y1 = stage + static_cast<uint32_t>(second % width * shape::pitch);
#pragma unroll
        for (int c = 0; c < Chunks; c++) {
            uint32_t w0[4], w1[4];
            load_shared(w0, y0 + c * chunk);
            load_shared(w1, y1 + c * chunk);
            math::add(d, w0, w1, x[c]);
        }
    }
    __device__ __forceinline__ void store(const job &j, int slot, float first, float second) const
    {
        const uint32_t bit = slot == nobody ? 0 : 1u << slot;
        if (entries[0] & bit)
            results.store(j, place[0] + static_cast<uint32_t>(__popc(entries[0] & (bit - 1))), first);
        if (entries[1] & bit)
            results.store(j, place[1] + static_cast<uint32_t>(__popc(entries[1] & (bit - 1))), second);
    }
    __device__ __forceinline__ void consume(const job &j, int stage)
    {
        const int g = threadIdx.x % 32 / 4;
        for (int k = 0; k < groups; k++) {
            const int first = slots[k * group + g], second = slots[k * group + g + group / 2];
            float d[2][4] = {};
            multiply(d, y + static_cast<uint32_t>(stage * shape::stage), first, second);
            store(j, first, d[0][0] + d[1][0], d[0][1] + d[1][1]);
            store(j, second, d[0][2] + d[1][2], d[0][3] + d[1][3]);
        }
        for (int k = 0; k < 2; k++)
            place[k] += static_cast<uint32_t>(__popc(entries[k]));
    }
};

template <tsr_cuda_math Math, int Chunks>
__global__ void __launch_bounds__(threads, tuning<Chunks>::blocks) sddmm(const __grid_constant__ job j)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    compute<consumer<Math, Chunks>>(j);
#endif
}

template <tsr_cuda_math Math> tsr_status launch_blocks(const job &j)
{
    if (j.pieces <= 8)
        return launch(sddmm<Math, 2>, j, consumer<Math, 2>::shared);
    return j.pieces <= 16 ? launch(sddmm<Math, 4>, j, consumer<Math, 4>::shared) : launch(sddmm<Math, 8>, j, consumer<Math, 8>::shared);
}

} // namespace

tsr_status tsr_cuda_sddmm_stencil_mma(const job &j, tsr_cuda_math math)
{
    switch (math) {
    case TSR_CUDA_TF32: return launch_blocks<TSR_CUDA_TF32>(j);
    case TSR_CUDA_FP16: return launch_blocks<TSR_CUDA_FP16>(j);
    default: return launch_blocks<TSR_CUDA_BF16>(j);
    }
}
