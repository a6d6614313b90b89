// SDDMM over a stencil: FP32 and FP64 by multiply-adds; and the entry of all arithmetics.
//
// Four lanes have a row of X, 16 bytes of every 64 each.  In a step each of a consumer's 8 rows is multiplied by the row of Y of its next
// entry; after four steps the lanes add up four dots together, and store one each.  Eight neighbouring lanes read 64 bytes of two rows of
// Y, those of even rows the first half of 128 bytes while those of odd ones read the second, so that there are no bank conflicts,
// whatever the slots.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/sddmm/sddmm_stencil.cuh"
#include "kernels/cuda/common/semiring.cuh"

// Before sm_90 the kernels are empty, and nvcc complains about all that they do not use.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#pragma nv_diag_suppress 177
#endif

namespace {

using namespace sddmm_stencil;

/* What measured best on an H200: stages of the ring, blocks of threads on a multiprocessor.  Lines: 128 bytes of a row each. */
template <int Lines> struct tuning {
    static constexpr int stages = Lines < 4 ? 3 : 2;
    static constexpr int blocks = Lines < 4 ? 8 : 6;
};

template <class T> __device__ __forceinline__ T number_of(const uint32_t *words)
{
    if constexpr (sizeof(T) == 8)
        return __hiloint2double(static_cast<int>(words[1]), static_cast<int>(words[0]));
    else
        return __uint_as_float(words[0]);
}

template <class T, int Lines> struct consumer {
    static constexpr int group = 4, words = sizeof(T) / 4, numbers = 4 / words; /* of 16 bytes */
    using shape = ring_shape<Lines * 128, Lines * 128, tuning<Lines>::stages>;
    T x[Lines][2][numbers];  // of the row: in every 128 bytes the half that the lane reads first, and the other one
    uint32_t entries, next;  // slots of the row's entries in this block, and the one after it
    const uint32_t *sets;    // in the block after that
    const uint32_t *sets_end;
    target<T> results;
    uint32_t place;          // of the row's next entry
    shared_place y;          // the half read first
    int other;               // where the other one is from there

    __device__ __forceinline__ consumer(const job &j, const item &t, int number) : results(j, t.window)
    {
        const int lane = threadIdx.x % 32, r = row_by_length(j, t.window, number * rows + lane / group), odd = lane / group % 2;
        const int64_t row = t.window * height + r;
        other = odd ? -64 : 64;
        load_row(j, row, lane % group, odd);
        sets = j.sets + t.block * height + r;
        sets_end = sets + (t.count + width - 1) / width * height;
        place = static_cast<uint32_t>(first_entry(j, t, row) - results.entry);
        y = keep_place(shared_place_of(dynamic_shared() + odd * 64 + lane % group * 16));
        load_sets();
    }
    /* The window's row that so many are longer than.  Rows of one warp are of similar length then, and take as many steps. */
    static __device__ __forceinline__ int row_by_length(const job &j, int64_t window, int rank)
    {
        const int lane = threadIdx.x % 32;
        const int64_t row = window * height + lane;
        const int length = row < j.nrows ? static_cast<int>(j.p[row + 1] - j.p[row]) : -1;
        int longer = 0, found = 0;
        for (int other = 0; other < height; other++) {
            const int its = __shfl_sync(every_lane, length, other);
            longer += its > length || (its == length && other < lane);
        }
        for (int other = 0; other < height; other++)
            if (__shfl_sync(every_lane, longer, other) == rank)
                found = other;
        return found;
    }
    __device__ __forceinline__ void load_row(const job &j, int64_t row, int t, int odd)
    {
#pragma unroll
        for (int c = 0; c < Lines; c++)
#pragma unroll
            for (int k = 0; k < 2; k++) {
                const int piece = c * 8 + (k ^ odd) * 4 + t;
                uint4 v = {0, 0, 0, 0};
                if (row < j.nrows && piece < j.pieces)
                    v = __ldg(reinterpret_cast<const uint4 *>(j.x + row * j.x_pitch) + piece);
                const uint32_t w[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
                for (int n = 0; n < numbers; n++)
                    x[c][k][n] = number_of<T>(w + n * words);
            }
    }
    __device__ __forceinline__ void load_sets()
    {
        next = sets < sets_end ? __ldg(sets) : 0;
        sets += height;
    }
    __device__ __forceinline__ void next_block()
    {
        entries = next;
        load_sets();
    }
    /* The lane's part of the dot with the row of Y in the first of the slots. */
    __device__ __forceinline__ T multiply(shared_place stage, uint32_t slots) const
    {
        const shared_place first = stage + static_cast<uint32_t>((__ffs(static_cast<int>(slots)) - 1) * shape::pitch);
        const shared_place second = first + other;
        uint32_t w[Lines][2][4];
        T sum[2] = {};
#pragma unroll
        for (int c = 0; c < Lines; c++) {
            load_shared(w[c][0], first + c * 128);
            load_shared(w[c][1], second + c * 128);
        }
#pragma unroll
        for (int c = 0; c < Lines; c++)
#pragma unroll
            for (int k = 0; k < 2; k++)
#pragma unroll
                for (int n = 0; n < numbers; n++)
                    sum[k] = fma(x[c][k][n], number_of<T>(w[c][k] + n * words), sum[k]);
        return sum[0] + sum[1];
    }
    __device__ __forceinline__ void consume(const job &j, int stage)
    {
        const int lane = threadIdx.x % group;
        const shared_place from = keep_place(y + static_cast<uint32_t>(stage * shape::stage));
#pragma unroll 1
        while (__any_sync(every_lane, entries != 0)) {
            const int count = min(__popc(entries), group);
            T sum[group] = {};
#pragma unroll
            for (int k = 0; k < group; k++)
                if (entries) {
                    sum[k] = multiply(from, entries);
                    entries &= entries - 1;
                }
            add_across<group>(sum); // lane k: entry k
            if (lane < count)
                results.store(j, place + static_cast<uint32_t>(lane), sum[0]);
            place += static_cast<uint32_t>(count);
        }
    }
};

template <class T, int Lines> __global__ void __launch_bounds__(threads, tuning<Lines>::blocks) sddmm(const __grid_constant__ job j)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    compute<consumer<T, Lines>>(j);
#endif
}

template <class T> tsr_status launch_sums(const job &j)
{
    if (j.pieces <= 8)
        return launch(sddmm<T, 1>, j, consumer<T, 1>::shape::shared);
    return j.pieces <= 16 ? launch(sddmm<T, 2>, j, consumer<T, 2>::shape::shared) : launch(sddmm<T, 4>, j, consumer<T, 4>::shape::shared);
}

tsr_status launch_pass(const job &j, tsr_cuda_math math)
{
    if (math == TSR_CUDA_EXACT)
        return launch_sums<float>(j);
    return math == TSR_CUDA_FP64 ? launch_sums<double>(j) : tsr_cuda_sddmm_stencil_mma(j, math);
}

bool takes(const tsr_work *work, tsr_cuda_math math, const tsr_cuda_sddmm *q)
{
    const int64_t size = static_cast<int64_t>(tsr_number_size(tsr_cuda_number(math)));
    auto at_16 = [](const void *p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; };
    return q->device->major >= 9 && q->semiring.add == TSR_ADD_PLUS && q->semiring.mul == TSR_MUL_TIMES &&
           q->semiring.type == (math == TSR_CUDA_FP64 ? TSR_FP64 : TSR_FP32) && q->a && q->b && at_16(q->a) && at_16(q->b) && q->k > 0 &&
           q->k * size % 16 == 0 && q->lda * size % 16 == 0 && q->ldb * size % 16 == 0 && q->ldb * size <= UINT32_MAX &&
           work->nitems <= INT32_MAX;
}

} // namespace

/* An item's start costs about as much as two blocks; a multiprocessor takes four at a time, and wants several, one after the other. */
extern "C" int64_t tsr_cuda_stencil_most(const tsr_windows *windows, const tsr_cuda_device *device)
{
    constexpr int64_t least = 8, usual = 64;
    const int64_t share = windows->nblocks / (int64_t{16} * (device->sms > 0 ? device->sms : 1));
    return share < least ? least : share < usual ? share : usual;
}

extern "C" tsr_status tsr_cuda_sddmm_stencil(const tsr_stencil *s, const tsr_work *work, tsr_cuda_math math, const tsr_cuda_sddmm *product)
{
    const tsr_cuda_sddmm *q = product;
    if (!takes(work, math, q))
        return TSR_DECLINED;
    if (work->nitems == 0 || q->begin == q->end)
        return TSR_OK;
    const int64_t size = static_cast<int64_t>(tsr_number_size(tsr_cuda_number(math))), bytes = q->k * size;
    job j = {};
    static_cast<mask_entries &>(j) = entries_of(q);
    j.out = q->x;
    j.present = q->present;
    j.x_pitch = q->lda * size;
    j.y_pitch = static_cast<uint32_t>(q->ldb * size);
    j.vector = s->w.vector;
    j.block = s->w.block;
    j.column = s->w.column;
    j.sets = s->slots;
    j.item_window = work->window;
    j.item_block = work->block;
    j.items = static_cast<uint32_t>(work->nitems);
    j.stream = q->stream;
    tsr_status status = TSR_OK;
    for (int64_t from = 0; from < bytes && status == TSR_OK; from += longest) {
        j.more = from > 0;
        j.x = static_cast<const unsigned char *>(q->a) + from;
        j.y = static_cast<const unsigned char *>(q->b) + from;
        j.pieces = static_cast<int>((bytes - from < longest ? bytes - from : longest) / 16);
        status = launch_pass(j, math);
    }
    return status;
}
