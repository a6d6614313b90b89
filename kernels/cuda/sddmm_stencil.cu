// SDDMM over a stencil (tessera/formats.h): C<S> = X Y' on Tensor Cores, a row of Y fetched once for 32 rows of X.
//
// A block of threads computes one work item, vectors of one window.  Its first warp, the producer, brings their rows of Y to a ring of stages
// in shared memory, 32 at a time.  Every other warp, a consumer, owns 8 rows of X, which stay in registers, and multiplies them by the rows of
// Y that its 8 rows have entries for: FlashSparse's swap (PPoPP 2025) makes these the 16-side of the matrix instruction.  So 16 dots of 8 rows
// are formed, and those that are entries are stored where CSR has them: after the entries of its row that come in earlier vectors.
//
// Which k of the instruction an element gets is free as long as X and Y agree: lane (g, t) has the bytes 16t to 16t + 15 of every 64 of a row,
// four (two, eight) neighbouring elements.  Rows in a stage are an odd multiple of 64 bytes apart: two neighbouring g read from different
// banks when their slots are one even, one odd.  Consumers deal slots to g that way.
//
// Rows longer than 512 bytes are multiplied 512 bytes at a time, results added up in C.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/mask.cuh"
#include "kernels/cuda/tensor.cuh"

// Before sm_90 the kernels are empty, and nvcc complains about all that they do not use.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#pragma nv_diag_suppress 177
#endif

namespace {

constexpr int height = TSR_STENCIL_HEIGHT, width = TSR_STENCIL_WIDTH;
constexpr int rows = 8;                     // of a consumer
constexpr int consumers = height / rows;
constexpr int threads = 32 * (consumers + 1);
constexpr int group = 16;                   // slots that are multiplied together
constexpr int chunk = 64;                   // bytes of a row that four lanes hold
constexpr int longest = 8;                  // chunks of a row that are multiplied at a time
constexpr unsigned all = 0xffffffffu;
constexpr uint8_t nobody = 255;             // in place of a slot

struct job {
    const int64_t *p;            // of the mask
    const uint32_t *i;
    const void *mask;            // its values, or NULL
    int mask_size;
    int64_t nrows, begin, end;   // entries wanted
    void *out;
    int8_t *present;
    bool more;                   // add to what is there
    const unsigned char *x, *y;  // where the bytes that are multiplied begin
    int64_t x_pitch;             // bytes
    uint32_t y_pitch;
    int pieces;                  // of 16 bytes, that are multiplied
    int64_t elements;            // the same
    const int64_t *vector, *block;
    const uint32_t *column, *sets;
    const int64_t *item_window, *item_block;
};

// ---- Arithmetic: 16 rows of Y times 8 rows of X, 64 bytes of each ----
//
// A lane brings 16 bytes of rows g and g + 8 of Y and of row g of X.  Sums are as in tensor.cuh: [0], [1] are row g of Y times rows 2t and
// 2t + 1 of X, [2] and [3] row g + 8.  Two sets of them, added up at the end, make chains of dependent instructions shorter.

/* Two instructions for one chunk: words 0 and 1, words 2 and 3. */
template <class Multiply>
__device__ __forceinline__ void by_halves(const uint32_t (&y0)[4], const uint32_t (&y1)[4], const uint32_t (&x)[4], Multiply multiply)
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const uint32_t a[4] = {y0[2 * half], y1[2 * half], y0[2 * half + 1], y1[2 * half + 1]}, b[2] = {x[2 * half], x[2 * half + 1]};
        multiply(half, a, b);
    }
}

template <tsr_cuda_math Math> struct arithmetic;

template <> struct arithmetic<TSR_CUDA_TF32> {
    using sum = float;
    using policy = tensor_math<TSR_CUDA_TF32>;
    struct fixed { uint32_t w[4]; };
    static __device__ __forceinline__ fixed fix(const uint32_t (&x)[4])
    {
        fixed f;
#pragma unroll
        for (int k = 0; k < 4; k++)
            f.w[k] = policy::make_sparse(__uint_as_float(x[k])).bits;
        return f;
    }
    static __device__ __forceinline__ void add(sum (&d)[2][4], uint32_t (&y0)[4], uint32_t (&y1)[4], const fixed &x)
    {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            y0[k] = policy::make_dense(__uint_as_float(y0[k])).bits;
            y1[k] = policy::make_dense(__uint_as_float(y1[k])).bits;
        }
        by_halves(y0, y1, x.w, [&](int half, const uint32_t *a, const uint32_t *b) { mma_m16n8k8_tf32(d[half], a, b); });
    }
};

/* FP32 in two TF32 parts each, as in tensor.cuh.  The sum of every 8 products is moved into an FP32 addition; the small products have sums of
 * their own.  What is not finite is computed anew: see store_dots. */
template <> struct arithmetic<TSR_CUDA_EXACT> {
    using sum = float;
    using policy = tensor_math<TSR_CUDA_EXACT>;
    struct fixed { uint32_t hi[4], lo[4]; };
    static __device__ __forceinline__ fixed fix(const uint32_t (&x)[4])
    {
        fixed f;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const policy::dense parts = policy::make_dense(__uint_as_float(x[k]));
            f.hi[k] = parts.hi;
            f.lo[k] = parts.lo;
        }
        return f;
    }
    static __device__ __forceinline__ void add(sum (&d)[2][4], const uint32_t (&y0)[4], const uint32_t (&y1)[4], const fixed &x)
    {
        const fixed first = fix(y0), second = fix(y1);
        by_halves(first.lo, second.lo, x.hi, [&](int, const uint32_t *a, const uint32_t *b) { mma_m16n8k8_tf32(d[1], a, b); });
        by_halves(first.hi, second.hi, x.lo, [&](int, const uint32_t *a, const uint32_t *b) { mma_m16n8k8_tf32(d[1], a, b); });
        by_halves(first.hi, second.hi, x.hi, [&](int, const uint32_t *a, const uint32_t *b) {
            float e[4] = {};
            mma_m16n8k8_tf32(e, a, b);
            for (int k = 0; k < 4; k++)
                d[0][k] += e[k];
        });
    }
};

template <bool Bf16> struct half_arithmetic {
    using sum = float;
    struct fixed { uint32_t w[4]; };
    static __device__ __forceinline__ fixed fix(const uint32_t (&x)[4]) { return {{x[0], x[1], x[2], x[3]}}; }
    static __device__ __forceinline__ void add(sum (&d)[2][4], const uint32_t (&y0)[4], const uint32_t (&y1)[4], const fixed &x)
    {
        by_halves(y0, y1, x.w, [&](int half, const uint32_t *a, const uint32_t *b) { mma_m16n8k16_half<Bf16>(d[half], a, b); });
    }
};
template <> struct arithmetic<TSR_CUDA_FP16> : half_arithmetic<false> {};
template <> struct arithmetic<TSR_CUDA_BF16> : half_arithmetic<true> {};

template <> struct arithmetic<TSR_CUDA_FP64> {
    using sum = double;
    struct fixed { double x[2]; };
    static __device__ __forceinline__ double number(const uint32_t (&w)[4], int k)
    {
        return __hiloint2double(static_cast<int>(w[2 * k + 1]), static_cast<int>(w[2 * k]));
    }
    static __device__ __forceinline__ fixed fix(const uint32_t (&x)[4]) { return {{number(x, 0), number(x, 1)}}; }
    static __device__ __forceinline__ void add(sum (&d)[2][4], const uint32_t (&y0)[4], const uint32_t (&y1)[4], const fixed &x)
    {
        const double a[4] = {number(y0, 0), number(y1, 0), number(y0, 1), number(y1, 1)};
        mma_m16n8k8_f64(d[0], a, x.x);
    }
};

// ---- The ring ----

/* What measured best on an H200: stages of the ring, blocks of threads on a multiprocessor, bulk copies or copies of 16 bytes. */
template <tsr_cuda_math Math, int Chunks> struct tuning {
    static constexpr int stages = Chunks < longest ? 4 : Math == TSR_CUDA_EXACT ? 3 : 2;
    static constexpr int blocks = Math == TSR_CUDA_EXACT ? (Chunks < longest ? 4 : 3) : Math == TSR_CUDA_FP64 ? 4 : 5;
    static constexpr bool bulk = Chunks == longest;
};

template <tsr_cuda_math Math, int Chunks> struct shape : tuning<Math, Chunks> {
    using math = arithmetic<Math>;
    using sum = typename math::sum;
    using tuned = tuning<Math, Chunks>;
    static constexpr tsr_cuda_math number = Math;
    static constexpr int chunks = Chunks;
    static constexpr int pitch = Chunks * chunk + (Chunks % 2 == 0 ? chunk : 0); // of a row in a stage
    static constexpr int stage = width * pitch;
    static constexpr int shared = tuned::stages * (stage + 16) + width * 4 + consumers * 2 * group;
    static_assert((tuned::stages * (stage + 16)) % 16 == 0, ""); // the columns are read 16 bytes at a time
};

struct ring {
    unsigned char *rows;
    uint64_t *full, *empty;
    uint32_t *columns; // of the block that is copied
    uint8_t *slots;    // of each consumer's groups
};

template <class Shape> __device__ __forceinline__ ring ring_at()
{
    ring r;
    r.rows = dynamic_shared();
    r.full = reinterpret_cast<uint64_t *>(r.rows + Shape::stages * Shape::stage);
    r.empty = r.full + Shape::stages;
    r.columns = reinterpret_cast<uint32_t *>(r.empty + Shape::stages);
    r.slots = reinterpret_cast<uint8_t *>(r.columns + width);
    return r;
}

/* Which stage, and how often the ring has been filled before. */
template <int Stages> struct turn {
    int stage = 0;
    unsigned round = 0;
    __device__ __forceinline__ void next()
    {
        stage = stage == Stages - 1 ? 0 : stage + 1;
        round += stage == 0;
    }
};

struct item {
    int64_t window, vector; // vector: its first
    int count, blocks;      // vectors; blocks of them
    bool whole;             // starts with the window's first
};

__device__ __forceinline__ item find_item(const job &j)
{
    item t;
    const int64_t first = j.item_block[blockIdx.x], last = j.item_block[blockIdx.x + 1];
    t.window = j.item_window[blockIdx.x];
    t.whole = first == j.block[t.window];
    t.vector = j.vector[t.window] + (first - j.block[t.window]) * width;
    t.count = static_cast<int>(min(j.vector[t.window + 1] - t.vector, (last - first) * width));
    t.blocks = static_cast<int>(last - first);
    return t;
}

// ---- The producer ----

/* count rows of Y, one bulk copy each; one thread does this. */
template <class Shape>
__device__ __forceinline__ void copy_rows(const job &j, unsigned char *to, const uint32_t *columns, int count, uint64_t *full)
{
    const unsigned bytes = static_cast<unsigned>(j.pieces) * 16;
    mbarrier_arrive_expect(full, static_cast<unsigned>(count) * bytes);
    if (count == width) {
#pragma unroll
        for (int s = 0; s < width; s += 4) {
            uint32_t column[4];
            load_shared(column, shared_place_of(columns + s));
#pragma unroll
            for (int k = 0; k < 4; k++)
                bulk_copy(to + (s + k) * Shape::pitch, advance(j.y, column[k], j.y_pitch), bytes, full);
        }
        return;
    }
#pragma unroll 1
    for (int s = 0; s < count; s++)
        bulk_copy(to + s * Shape::pitch, advance(j.y, columns[s], j.y_pitch), bytes, full);
}

/* The same in pieces of 16 bytes by all lanes; lane l has the column of slot l.  What is past the end of a row is zero. */
template <class Shape>
__device__ __forceinline__ void copy_pieces(const job &j, unsigned char *to, uint32_t column, int count, uint64_t *full)
{
    constexpr int lanes = Shape::chunks * 4, together = 32 / lanes; // of a row; rows
    const int lane = threadIdx.x % 32, piece = lane % lanes;
#pragma unroll 4
    for (int s = 0; s < width; s += together) {
        const int slot = s + lane / lanes;
        const uint32_t from = __shfl_sync(all, column, slot);
        if (slot < count)
            cp_async<16>(to + slot * Shape::pitch + piece * 16, advance(j.y + piece * 16, from, j.y_pitch), piece < j.pieces);
    }
    cp_async_arrive(full);
}

/* With bulk copies nothing else writes what lies past the end of a row. */
template <class Shape> __device__ __forceinline__ void clear_ends(const job &j, const ring &r)
{
    for (int s = threadIdx.x % 32; s < Shape::stages * width; s += 32)
        for (int piece = j.pieces; piece < Shape::chunks * 4; piece++)
            *reinterpret_cast<uint4 *>(r.rows + s * Shape::pitch + piece * 16) = {0, 0, 0, 0};
}

template <class Shape> __device__ __forceinline__ void produce(const job &j, const item &t, const ring &r)
{
    const int lane = threadIdx.x % 32;
    const uint32_t *column = j.column + t.vector;
    uint32_t next = lane < t.count ? __ldg(column + lane) : 0;
    turn<Shape::stages> at;
    for (int left = t.count; left > 0; left -= width) {
        const int count = min(left, width);
        const uint32_t mine = next;
        column += width;
        next = lane < left - width ? __ldg(column + lane) : 0;
        if constexpr (Shape::bulk) {
            __syncwarp(); // the columns before are read
            r.columns[lane] = mine;
            __syncwarp();
        }
        mbarrier_wait(r.empty + at.stage, ~at.round & 1);
        unsigned char *to = r.rows + at.stage * Shape::stage;
        if constexpr (!Shape::bulk)
            copy_pieces<Shape>(j, to, mine, count, r.full + at.stage);
        else if (elect_lane())
            copy_rows<Shape>(j, to, r.columns, count, r.full + at.stage);
        at.next();
    }
}

// ---- Consumers ----

/* A consumer's 8 rows: X, and how far the entries of rows 2t and 2t + 1 have come (from the window's first entry on). */
template <class Shape> struct owned {
    typename Shape::math::fixed x[Shape::chunks];
    int64_t entry, row; // the window's first entry, the first row
    uint32_t place[2];
    bool plain;         // every entry of the window is wanted, and nothing else
};

template <class Shape> __device__ __forceinline__ void load_rows(owned<Shape> &o, const job &j, int g, int t)
{
    const unsigned char *from = j.x + (o.row + g) * j.x_pitch + t * 16;
#pragma unroll
    for (int c = 0; c < Shape::chunks; c++) {
        uint4 x = {0, 0, 0, 0};
        if (o.row + g < j.nrows && c * 4 + t < j.pieces)
            x = __ldg(reinterpret_cast<const uint4 *>(from + c * chunk));
        const uint32_t words[4] = {x.x, x.y, x.z, x.w};
        o.x[c] = Shape::math::fix(words);
    }
}

/* The first of the row's entries at or after the item's first column. */
__device__ __forceinline__ int64_t first_entry(const job &j, const item &t, int64_t row)
{
    int64_t low = j.p[min(row, j.nrows)], high = j.p[min(row + 1, j.nrows)];
    const uint32_t column = t.whole ? 0 : j.column[t.vector];
    while (column > 0 && low < high) {
        const int64_t middle = (low + high) / 2;
        if (j.i[middle] < column)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

template <class Shape> __device__ __forceinline__ void take_rows(owned<Shape> &o, const job &j, const item &t, int consumer, int lane)
{
    const int64_t first = t.window * height, last = min(first + height, j.nrows);
    o.row = first + consumer * rows;
    o.entry = j.p[first];
    o.plain = !j.mask && !j.present && !j.more && o.entry >= j.begin && j.p[last] <= j.end;
    for (int k = 0; k < 2; k++)
        o.place[k] = static_cast<uint32_t>(first_entry(j, t, o.row + 2 * (lane % 4) + k) - o.entry);
    load_rows(o, j, lane / 4, lane % 4);
}

/* The dot as plain multiply-adds: where parts of FP32 numbers gave something that is not finite. */
__device__ float plain_dot(const job &j, int64_t row, uint32_t column)
{
    const float *x = reinterpret_cast<const float *>(j.x + row * j.x_pitch);
    const float *y = reinterpret_cast<const float *>(advance(j.y, column, j.y_pitch));
    float sum = 0;
#pragma unroll 1
    for (int64_t k = 0; k < j.elements; k++)
        sum = fmaf(x[k], y[k], sum);
    return sum;
}

template <class Sum> __device__ __forceinline__ void store_careful(const job &j, int64_t entry, Sum value)
{
    if (entry < j.begin || entry >= j.end)
        return;
    Sum *to = static_cast<Sum *>(j.out) + (entry - j.begin);
    const bool pass = mask_passes(j.mask, j.mask_size, entry);
    *to = !pass ? Sum(0) : j.more ? *to + value : value;
    if (j.present)
        j.present[entry - j.begin] = pass;
}

/* Dots of one slot with rows 2t and 2t + 1; entries: bit s of element k: row 2t + k has an entry in slot s.  column: the slots' columns. */
template <class Shape>
__device__ __forceinline__ void store_dots(const job &j, const owned<Shape> &o, const uint32_t (&entries)[2], int slot, typename Shape::sum first,
                                           typename Shape::sum second, const uint32_t *column)
{
    using sum = typename Shape::sum;
    sum value[2] = {first, second};
    const uint32_t bit = slot == nobody ? 0 : 1u << slot;
#pragma unroll
    for (int k = 0; k < 2; k++) {
        if (!(entries[k] & bit))
            continue;
        if constexpr (Shape::number == TSR_CUDA_EXACT)
            if (value[k] - value[k] != 0)
                value[k] = plain_dot(j, o.row + 2 * static_cast<int>(threadIdx.x % 4) + k, column[slot]);
        const int64_t entry = o.entry + (o.place[k] + static_cast<uint32_t>(__popc(entries[k] & (bit - 1))));
        if (o.plain)
            static_cast<sum *>(j.out)[entry - j.begin] = value[k];
        else
            store_careful(j, entry, value[k]);
    }
}

/* Even slots go to even places of a group, odd ones to odd places, as far as there are both; what is too many for a single group fills it up
 * from its end.  slots: [2 * group] of this consumer.  Returns the number of groups. */
__device__ __forceinline__ int deal_slots(uint8_t *slots, unsigned needed, int lane)
{
    const unsigned alike = needed & (lane & 1 ? 0xaaaaaaaau : 0x55555555u);
    int place = 2 * __popc(alike & ((1u << lane) - 1)) + (lane & 1);
    const bool one = __popc(needed) <= group;
    if (one && place >= group)
        place = 2 * group - 1 - place;
    __syncwarp(); // those of the block before are read
    slots[lane] = nobody;
    __syncwarp();
    if (needed >> lane & 1)
        slots[place] = static_cast<uint8_t>(lane);
    __syncwarp();
    return one ? 1 : 2;
}

/* Which of the slots rows 2t and 2t + 1 have an entry in; set: bit r: row r has one in this lane's slot. */
__device__ __forceinline__ void turn_sets(uint32_t (&entries)[2], unsigned set, int t)
{
#pragma unroll
    for (int r = 0; r < rows; r++) {
        const unsigned slots = __ballot_sync(all, set >> r & 1);
        if (r / 2 == t)
            entries[r % 2] = slots;
    }
}

/* d: dots of the rows of Y at y0 and y1. */
template <class Shape>
__device__ __forceinline__ void multiply(typename Shape::sum (&d)[2][4], const owned<Shape> &o, shared_place y0, shared_place y1)
{
#pragma unroll
    for (int c = 0; c < Shape::chunks; c++) {
        uint32_t first[4], second[4];
        load_shared(first, y0 + c * chunk);
        load_shared(second, y1 + c * chunk);
        Shape::math::add(d, first, second, o.x[c]);
    }
}

/* The entries of a block.  set: bit r: row r of the 8 has an entry in this lane's slot; y: the lane's part of the stage's first row. */
template <class Shape>
__device__ __forceinline__ void consume_block(owned<Shape> &o, const job &j, unsigned set, uint8_t *slots, shared_place y,
                                              uint64_t *full, unsigned parity, const uint32_t *column)
{
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const unsigned needed = __ballot_sync(all, set != 0);
    uint32_t entries[2] = {};
    int groups = 0;
    if (needed) {
        groups = deal_slots(slots, needed, lane);
        turn_sets(entries, set, t);
    }
    mbarrier_wait(full, parity);
    for (int k = 0; k < groups; k++) {
        const int first = slots[k * group + g], second = slots[k * group + g + group / 2], some = __ffs(static_cast<int>(needed)) - 1;
        typename Shape::sum d[2][4] = {};
        multiply<Shape>(d, o, y + static_cast<uint32_t>((first == nobody ? some : first) * Shape::pitch),
                        y + static_cast<uint32_t>((second == nobody ? some : second) * Shape::pitch));
        store_dots(j, o, entries, first, d[0][0] + d[1][0], d[0][1] + d[1][1], column);
        store_dots(j, o, entries, second, d[0][2] + d[1][2], d[0][3] + d[1][3], column);
    }
    for (int k = 0; k < 2; k++)
        o.place[k] += static_cast<uint32_t>(__popc(entries[k]));
}

template <class Shape> __device__ __forceinline__ void consume(const job &j, const item &t, const ring &r, int consumer)
{
    const int lane = threadIdx.x % 32;
    owned<Shape> o;
    take_rows(o, j, t, consumer, lane);
    uint8_t *slots = r.slots + consumer * 2 * group;
    const shared_place first = keep_place(shared_place_of(r.rows + lane % 4 * 16));
    const uint32_t *sets = j.sets + t.vector;
    uint32_t next = lane < t.count ? __ldg(sets + lane) : 0;
    turn<Shape::stages> at;
    for (int done = 0; done < t.count; done += width) {
        const unsigned set = next >> (consumer * rows) & ((1u << rows) - 1);
        next = done + width + lane < t.count ? __ldg(sets + done + width + lane) : 0;
        consume_block<Shape>(o, j, set, slots, first + static_cast<uint32_t>(at.stage * Shape::stage), r.full + at.stage, at.round & 1,
                             j.column + t.vector + done);
        __syncwarp();
        if (lane == 0)
            mbarrier_arrive(r.empty + at.stage);
        at.next();
    }
}

template <tsr_cuda_math Math, int Chunks> __global__ void __launch_bounds__(threads, tuning<Math, Chunks>::blocks) sddmm(const __grid_constant__ job j)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    using of = shape<Math, Chunks>;
    const int warp = __shfl_sync(all, static_cast<int>(threadIdx.x / 32), 0); // the compiler learns that it is the same for all lanes
    const item t = find_item(j);
    const int64_t first = t.window * height;
    if (t.count == 0 || j.p[first] >= j.end || j.p[min(first + height, j.nrows)] <= j.begin)
        return;
    const ring r = ring_at<of>();
    if (threadIdx.x == 0) {
        for (int s = 0; s < of::stages; s++) {
            mbarrier_init(r.full + s, of::bulk ? 1 : 32);
            mbarrier_init(r.empty + s, consumers);
        }
        mbarrier_fence_init();
    }
    if (of::bulk && warp == 0)
        clear_ends<of>(j, r);
    __syncthreads();
    if (warp == 0)
        produce<of>(j, t, r);
    else
        consume<of>(j, t, r, warp - 1);
#endif
}

// ---- The host's side ----

template <tsr_cuda_math Math, int Chunks> tsr_status launch(const job &j, const tsr_work *work, void *stream)
{
    auto kernel = sddmm<Math, Chunks>;
    if (!tensor_allow_shared(kernel, shape<Math, Chunks>::shared))
        return TSR_INTERNAL_ERROR;
    TSR_LAUNCH(kernel, static_cast<unsigned>(work->nitems), threads, (shape<Math, Chunks>::shared), stream, j);
    return launch_status();
}

template <tsr_cuda_math Math> tsr_status launch(const job &j, const tsr_work *work, void *stream)
{
    if (j.pieces <= 8)
        return launch<Math, 2>(j, work, stream);
    return j.pieces <= 16 ? launch<Math, 4>(j, work, stream) : launch<Math, 8>(j, work, stream);
}

tsr_status launch(const job &j, tsr_cuda_math math, const tsr_work *work, void *stream)
{
    switch (math) {
    case TSR_CUDA_EXACT: return launch<TSR_CUDA_EXACT>(j, work, stream);
    case TSR_CUDA_TF32: return launch<TSR_CUDA_TF32>(j, work, stream);
    case TSR_CUDA_FP16: return launch<TSR_CUDA_FP16>(j, work, stream);
    case TSR_CUDA_BF16: return launch<TSR_CUDA_BF16>(j, work, stream);
    default: return launch<TSR_CUDA_FP64>(j, work, stream);
    }
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
    const int64_t size = static_cast<int64_t>(tsr_number_size(tsr_cuda_number(math))), bytes = q->k * size, tile = longest * chunk;
    job j = {};
    j.p = q->mask->p;
    j.i = q->mask->i;
    j.mask = q->mask->x;
    j.mask_size = q->mask_size;
    j.nrows = q->mask->nrows;
    j.begin = q->begin;
    j.end = q->end;
    j.out = q->x;
    j.present = q->present;
    j.x_pitch = q->lda * size;
    j.y_pitch = static_cast<uint32_t>(q->ldb * size);
    j.vector = s->w.vector;
    j.block = s->w.block;
    j.column = s->w.column;
    j.sets = s->rows;
    j.item_window = work->window;
    j.item_block = work->block;
    tsr_status status = TSR_OK;
    for (int64_t from = 0; from < bytes && status == TSR_OK; from += tile) {
        const int64_t here = bytes - from < tile ? bytes - from : tile;
        j.more = from > 0;
        j.x = static_cast<const unsigned char *>(q->a) + from;
        j.y = static_cast<const unsigned char *>(q->b) + from;
        j.pieces = static_cast<int>(here / 16);
        j.elements = here / size;
        status = launch(j, math, work, q->stream);
    }
    return status;
}
