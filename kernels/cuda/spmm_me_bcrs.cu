// SpMM over ME-BCRS (FlashSparse, PPoPP 2025).  Operands are swapped and transposed: a matrix instruction computes 16 columns of
// B times the 8 rows of a window, so that windows are 8 rows high and fewer zeros are multiplied.
//
// A warp computes a few work items for one tile of columns: 8 rows x 64 to 512 bytes of a row of B.  With g = lane / 4,
// t = lane % 4 and R = width / 4, lane (g, t) multiplies vectors tR to tR + R - 1 of a block: its values of A are R neighbours in
// row g, and of each of these rows of B it needs the 16 bytes number g of every 128 bytes (tiles of 64 bytes: 8 bytes of 64).
// Which k of the instruction a vector gets and which m a column, is free as long as A, B and C agree: columns 2i and 2i + 1 of
// 16 bytes are m = g and g + 8 of instruction i.  So a lane ends with neighbouring columns of rows 2t and 2t + 1 of C, which it
// stores 16 bytes at a time.
//
// Rows of B and values of A come by cp.async into a ring of steps of the warp's own; 8 neighbouring lanes copy 128 consecutive
// bytes of a row.  The rows of the ring that one load of fragments meets are 32 bytes apart modulo 128, so it has no bank
// conflict.  A step's place is filled again as soon as it has been multiplied, and copies run ahead into the next item, so that
// short windows cost no waiting.  Many warps with short rings beat few with long ones.  Warps share nothing.
//
// variant = 1 + shape + 3 * tile + 12 * order + 24 * warps + 48 * batch, to try other choices than the kernel's own (0):
//   shape  0, 1, 2: a ring of 2 steps of a block, 3 of a block, 2 of two blocks
//   tile   0, 1, 2, 3: 64 (16-bit numbers only), 128, 256, 512 (not 16-bit: registers) bytes of a row of B
//   order  0: the tiles of an item are neighbours; 1: all items of a tile before the next tile
//   warps  0, 1: registers for 24, 20 on a multiprocessor
//   batch  0: by the mean length of the items; 1, 2, 3: 1, 4, 16 items to a warp
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/tensor.cuh"

namespace {

constexpr int block_warps = 2; // of a block of threads
constexpr unsigned all_lanes = 0xffffffffu;
struct job {
    tsr_cuda_spmm p;
    int64_t nrows;
    uint32_t row_bytes; /* of B */
    const int64_t *vector, *block; /* of the windows */
    const uint32_t *column;
    const unsigned char *value;
    const int64_t *item_window, *item_block, *item_partial;
    uint32_t items, batch, batches, tiles; /* a warp takes `batch` items, at most 32 */
    bool tile_major;
};

template <int Words> struct alignas(4 * Words) words {
    uint32_t w[Words];
};

/* Sizes for one arithmetic and block width. */
template <tsr_cuda_math Math, int Width, int Tile> struct shape {
    using math = tensor_math<Math>;
    using element = typename math::element;
    using sum = typename math::sum;
    static constexpr int width = Width, tile = Tile;           /* tile: bytes of a row of B */
    static constexpr int piece_bytes = Tile < 128 ? Tile / 8 : 16;
    static constexpr int pieces = Tile / 8 / piece_bytes;      /* of a row, for one lane */
    using piece = words<piece_bytes / 4>;
    static constexpr int rows = Width / 4;                     /* R: vectors of a block that one lane deals with */
    static constexpr int columns = piece_bytes / sizeof(element);
    static constexpr int value_words = rows * sizeof(element) / 4;
    using values = words<value_words>;                         /* a lane's values of A in a block */

    static __device__ __forceinline__ element at(const uint32_t *w, int i)
    {
        if constexpr (sizeof(element) == 8)
            return __hiloint2double(static_cast<int>(w[2 * i + 1]), static_cast<int>(w[2 * i]));
        else
            return __uint_as_float(w[i]);
    }
};

/* Fragments of A, and pieces times them: d[i] is for columns 2i and 2i + 1 of the piece. */
template <tsr_cuda_math Math, int Width, int Tile> struct block_math : shape<Math, Width, Tile> {
    using base = shape<Math, Width, Tile>;
    using math = typename base::math;
    typename math::sparse a[base::rows];

    __device__ __forceinline__ explicit block_math(const typename base::values &v)
    {
#pragma unroll
        for (int k = 0; k < base::rows; k++)
            a[k] = math::make_sparse(base::at(v.w, k));
    }
    __device__ __forceinline__ void multiply(typename base::sum d[][4], const typename base::piece x[base::rows]) const
    {
#pragma unroll
        for (int i = 0; i < base::columns / 2; i++)
#pragma unroll
            for (int k = 0; k < base::rows; k += 2) {
                const typename math::dense b[4] = {
                    math::make_dense(base::at(x[k].w, 2 * i)), math::make_dense(base::at(x[k].w, 2 * i + 1)),
                    math::make_dense(base::at(x[k + 1].w, 2 * i)), math::make_dense(base::at(x[k + 1].w, 2 * i + 1))};
                math::accumulate(d[i], b, a + k);
            }
    }
};

/* 16-bit numbers, width 16: one m16n8k16 where the shared policy has two m16n8k8. */
template <bool Bf16, int Words> struct half_block_math {
    uint32_t a[2];

    __device__ __forceinline__ explicit half_block_math(const words<2> &v) : a{v.w[0], v.w[1]} {}
    __device__ __forceinline__ void multiply(float d[][4], const words<Words> x[4]) const
    {
#pragma unroll
        for (int i = 0; i < Words; i++) {
            const uint32_t b[4] = {__byte_perm(x[0].w[i], x[1].w[i], 0x5410), __byte_perm(x[0].w[i], x[1].w[i], 0x7632),
                                   __byte_perm(x[2].w[i], x[3].w[i], 0x5410), __byte_perm(x[2].w[i], x[3].w[i], 0x7632)};
            mma_m16n8k16_half<Bf16>(d[i], b, a);
        }
    }
};
template <int Tile>
struct block_math<TSR_CUDA_FP16, 16, Tile> : shape<TSR_CUDA_FP16, 16, Tile>, half_block_math<false, Tile < 128 ? 2 : 4> {
    using half_block_math<false, Tile < 128 ? 2 : 4>::half_block_math;
};
template <int Tile>
struct block_math<TSR_CUDA_BF16, 16, Tile> : shape<TSR_CUDA_BF16, 16, Tile>, half_block_math<true, Tile < 128 ? 2 : 4> {
    using half_block_math<true, Tile < 128 ? 2 : 4>::half_block_math;
};

/* x, as a value that the compiler keeps in a register: else it computes addresses from threadIdx again at every use.  All lanes
 * call it. */
template <class T> __device__ __forceinline__ T keep(T x)
{
    return __shfl_sync(all_lanes, x, static_cast<int>(threadIdx.x % 32));
}
__device__ __forceinline__ const unsigned char *keep(const unsigned char *x)
{
    return reinterpret_cast<const unsigned char *>(keep(reinterpret_cast<unsigned long long>(x)));
}

/* What a warp computes. */
struct task {
    uint32_t first, items;
    int64_t offset; /* of the tile in a row of B, bytes */
    bool full;      /* no piece of the tile is past the last column */
};

/* false: no task is left for this warp. */
template <class Shape> __device__ __forceinline__ bool find_task(task &out, const job &j)
{
    uint32_t number = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (number >= j.batches * j.tiles)
        return false;
    uint32_t batch = number, tile = 0;
    if (j.tiles > 1) {
        uint32_t inner = j.tile_major ? j.batches : j.tiles, outer = number / inner;
        batch = j.tile_major ? number - outer * inner : outer;
        tile = j.tile_major ? outer : number - outer * inner;
    }
    out.first = batch * j.batch;
    out.items = min(j.batch, j.items - out.first);
    out.offset = static_cast<int64_t>(tile) * Shape::tile;
    out.full = out.offset + Shape::tile <= j.p.n * static_cast<int64_t>(sizeof(typename Shape::element));
    return true;
}

/* The vectors of a work item. */
struct item {
    int64_t vector; /* the first */
    int count;
};

/* Lane l's is item l of the task; past the last they are empty. */
__device__ __forceinline__ item load_item(const job &j, const task &w, int width)
{
    uint32_t lane = threadIdx.x % 32, number = w.first + lane;
    item out = {};
    if (lane >= w.items)
        return out;
    int64_t first = j.item_block[number], last = j.item_block[number + 1];
    int64_t window = j.item_window[number];
    int64_t vector = j.vector[window], end = j.vector[window + 1], block = j.block[window];
    out.vector = vector + (first - block) * width;
    out.count = static_cast<int>(min(end, vector + (last - block) * width) - out.vector);
    return out;
}

/* A lane's values of a block of `left` vectors in shared memory: Width, or fewer, then the rest is 0.  x: its first one if the
 * block is full. */
template <class Shape>
__device__ __forceinline__ typename Shape::values load_values(const unsigned char *x, int left, int g, int t)
{
    constexpr int size = sizeof(typename Shape::element);
    typename Shape::values v = {};
    if (left >= Shape::width)
        return *reinterpret_cast<const typename Shape::values *>(x);
    x -= g * (Shape::width - left) * size;
#pragma unroll
    for (int i = 0; i < Shape::rows; i++) {
        if (t * Shape::rows + i >= left)
            break;
        if constexpr (size == 2)
            v.w[i / 2] |= static_cast<uint32_t>(*reinterpret_cast<const uint16_t *>(x + i * size)) << (16 * (i % 2));
        else
#pragma unroll
            for (int k = 0; k < size / 4; k++)
                v.w[i * (size / 4) + k] = *reinterpret_cast<const uint32_t *>(x + i * size + 4 * k);
    }
    return v;
}

/* Sums of item `number`; d[q] is for the piece at byte place(q) of the tile. */
template <class Shape, class Place>
__device__ __forceinline__ void store(const job &j, const task &w, uint32_t number,
                                      const typename Shape::sum (*d)[Shape::columns / 2][4], int t, Place place)
{
    using sum = typename Shape::sum;
    constexpr int several = 16 / sizeof(sum);
    tensor_output<sum> out = tensor_target<sum>(j.p, j.nrows, 8, j.item_window[number], j.item_partial[number], 1.0);
    bool inside = w.full && out.vectors && out.rows == 8;
#pragma unroll
    for (int q = 0; q < Shape::pieces; q++) {
        int64_t column = (w.offset + place(q)) / static_cast<int>(sizeof(typename Shape::element));
        if (column >= j.p.n)
            continue;
#pragma unroll
        for (int h = 0; h < 2; h++) {
            sum x[Shape::columns];
#pragma unroll
            for (int i = 0; i < Shape::columns; i++)
                x[i] = d[q][i / 2][2 * (i % 2) + h];
#pragma unroll
            for (int i = 0; i < Shape::columns; i += several)
                if (inside)
                    tensor_store<true>(out, 2 * t + h, column + i, j.p.n, x + i);
                else
                    tensor_store(out, 2 * t + h, column + i, j.p.n, x + i);
        }
    }
}

/* A step is Blocks blocks: rows of B, row 4 i + t of a block for its vector t * rows + i; then values of A as in memory. */
template <class Shape, int Blocks> struct ring_layout {
    static constexpr int pitch = Shape::tile + 32; /* of a row */
    static constexpr int vectors = Blocks * Shape::width;
    static constexpr int vector_bytes = 8 * sizeof(typename Shape::element); /* values of a vector */
    static constexpr int step = vectors * (pitch + vector_bytes);
    /* An instruction of the warp copies 128 (or 64) bytes of `together` consecutive rows, number c from row c * together on. */
    static constexpr int lanes = Shape::tile < 128 ? Shape::tile / 16 : 8; /* that copy of one row */
    static constexpr int together = 32 / lanes;
    static constexpr int copies = vectors / together;
    /* The vector that copy c is of: vector(c) + first(lane). */
    static __device__ __forceinline__ constexpr int vector(int c)
    {
        return c / (Shape::width / together) * Shape::width + c % (Shape::width / together) * (together / 4);
    }
    static __device__ __forceinline__ int first(int lane) { return lane / lanes % 4 * Shape::rows + lane / lanes / 4; }
};

template <tsr_cuda_math Math, int Width, int Tile, int Stages, int Blocks, int Warps>
__global__ void __launch_bounds__(32 * block_warps, Warps / block_warps) spmm(job j)
{
    using shape = block_math<Math, Width, Tile>;
    using layout = ring_layout<shape, Blocks>;
    constexpr int rows = shape::rows, pieces = shape::pieces, copies = layout::copies, vectors = layout::vectors;
    task w;
    if (!find_task<shape>(w, j))
        return;
    int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    int ring = static_cast<int>(threadIdx.x / 32) * (Stages * layout::step); /* in shared memory */
    int part = lane % layout::lanes * 16, first = layout::first(lane);      /* for copying */
    unsigned char *to = dynamic_shared() + keep(ring + lane / layout::lanes * layout::pitch + part);
    const unsigned char *from = dynamic_shared() + keep(ring + t * layout::pitch + g * shape::piece_bytes);
    int value_place = (g * Width + t * rows) * layout::vector_bytes / 8;
    unsigned char *values = dynamic_shared() + ring + vectors * layout::pitch + lane * 16;
    const unsigned char *own_values = dynamic_shared() + keep(ring + vectors * layout::pitch + value_place);
    const unsigned char *b = keep(static_cast<const unsigned char *>(j.p.b) + w.offset + part);
    int present = pieces; /* copies of this lane along a row that are not past the last column */
    if (!w.full) {
        int64_t end = j.p.n * static_cast<int64_t>(sizeof(typename shape::element)) - w.offset - part;
        present = static_cast<int>(max(min((end + 127) / 128, int64_t{pieces}), int64_t{0}));
        for (int q = present; q < pieces; q++) /* never copied */
            for (int s = 0; s < Stages; s++)
                for (int c = 0; c < copies; c++)
                    *reinterpret_cast<words<4> *>(to + s * layout::step + c * layout::together * layout::pitch + q * 128) = {};
    }

    const item own = load_item(j, w, Width);
    unsigned todo = __ballot_sync(all_lanes, own.count > 0); /* items whose steps have not begun to be copied */
    int64_t at = 0; /* first vector of the step that is copied next */
    int ahead = 0;  /* vectors from there on in its item, not positive: there is none */
    /* Goes one step on; loads its columns. */
    auto advance = [&](uint32_t columns[copies]) {
        at += vectors;
        ahead -= vectors;
        if (ahead <= 0 && todo != 0) {
            int next = __ffs(static_cast<int>(todo)) - 1;
            todo &= todo - 1;
            at = __shfl_sync(all_lanes, own.vector, next);
            ahead = __shfl_sync(all_lanes, own.count, next);
        }
        const uint32_t *column = j.column + (at + first);
#pragma unroll
        for (int c = 0; c < copies; c++)
            if (ahead - first > layout::vector(c))
                columns[c] = __ldg(column + layout::vector(c));
    };
    auto copy = [&](int place, const uint32_t columns[copies], int64_t from_vector, int left) {
        unsigned char *step = to + place;
        if (left > 0) {
            const unsigned char *value = j.value + from_vector * layout::vector_bytes;
#pragma unroll
            for (int i = 0; i < vectors * layout::vector_bytes; i += 32 * 16)
                if (i + lane * 16 < vectors * layout::vector_bytes)
                    cp_async<16>(values + place + i, value + i + lane * 16, i + lane * 16 < left * layout::vector_bytes);
        }
        if (left > 0 && w.full) {
#pragma unroll
            for (int c = 0; c < copies; c++) {
                const unsigned char *row = b + static_cast<uint64_t>(columns[c]) * j.row_bytes;
#pragma unroll
                for (int q = 0; q < pieces; q++)
                    cp_async<16>(step + c * layout::together * layout::pitch + q * 128, row + q * 128,
                                 left - first > layout::vector(c));
            }
        } else if (left > 0) {
#pragma unroll 1
            for (int q = 0; q < present; q++)
#pragma unroll
                for (int c = 0; c < copies; c++) {
                    const unsigned char *row = b + static_cast<uint64_t>(columns[c]) * j.row_bytes;
                    cp_async<16>(step + c * layout::together * layout::pitch + q * 128, row + q * 128,
                                 left - first > layout::vector(c));
                }
        }
        cp_async_commit();
    };

    uint32_t columns[copies] = {}, early[Stages][copies] = {};
    int64_t early_at[Stages];
    int early_ahead[Stages];
#pragma unroll
    for (int s = 0; s < Stages; s++) {
        advance(early[s]);
        early_at[s] = at;
        early_ahead[s] = ahead;
    }
    advance(columns);
#pragma unroll
    for (int s = 0; s < Stages; s++)
        copy(s * layout::step, early[s], early_at[s], early_ahead[s]);

    int place = 0;
    for (uint32_t k = 0; k < w.items; k++) {
        typename shape::sum d[pieces][shape::columns / 2][4] = {};
        for (int left = __shfl_sync(all_lanes, own.count, static_cast<int>(k)); left > 0; left -= vectors) {
            cp_async_wait<Stages - 1>();
            __syncwarp(); /* every lane's copies are there */
#pragma unroll
            for (int i = 0; i < Blocks; i++) {
                const shape a(load_values<shape>(own_values + place + i * Width * layout::vector_bytes, left - i * Width, g, t));
#pragma unroll
                for (int q = 0; q < pieces; q++) {
                    typename shape::piece x[rows];
#pragma unroll
                    for (int r = 0; r < rows; r++)
                        x[r] = *reinterpret_cast<const typename shape::piece *>(
                            from + place + (i * Width + r * 4) * layout::pitch + q * 128);
                    a.multiply(d[q], x);
                }
            }
            __syncwarp(); /* every lane is done with this place */
            copy(place, columns, at, ahead);
            advance(columns);
            place = place == (Stages - 1) * layout::step ? 0 : place + layout::step;
        }
        store<shape>(j, w, w.first + k, d, t, [&](int q) { return 128 * q + shape::piece_bytes * g; });
    }
}

// ---- Host side ----

using kernel = void (*)(job);

struct choice {
    int stages, blocks; /* of the ring, of a step */
    int tile;           /* 64, 128, 256 or 512 */
    bool tile_major;
    int occupancy; /* warps on a multiprocessor */
    int64_t batch;
};

struct launch {
    kernel function; /* NULL: there is none */
    int shared;      /* bytes per warp */
};

template <tsr_cuda_math Math, int Width, int Tile, int Stages, int Blocks> launch ring(int occupancy)
{
    constexpr int shared = Stages * ring_layout<block_math<Math, Width, Tile>, Blocks>::step;
    return {occupancy > 20 ? spmm<Math, Width, Tile, Stages, Blocks, 24> : spmm<Math, Width, Tile, Stages, Blocks, 20>, shared};
}

template <tsr_cuda_math Math, int Width, int Tile> launch find(const choice &c)
{
    if (c.stages == 3)
        return ring<Math, Width, Tile, 3, 1>(c.occupancy);
    if (c.blocks == 1)
        return ring<Math, Width, Tile, 2, 1>(c.occupancy);
    if constexpr (Tile <= 128)
        return ring<Math, Width, Tile, 2, 2>(c.occupancy);
    return {};
}

template <tsr_cuda_math Math, int Width> launch find(const choice &c)
{
    constexpr int odd = Width == 8 ? 512 : 64; /* the tile that not every number has */
    switch (c.tile) {
    case 128: return find<Math, Width, 128>(c);
    case 256: return find<Math, Width, 256>(c);
    case odd: return find<Math, Width, odd>(c);
    default: return {};
    }
}

launch find(tsr_cuda_math math, const choice &c)
{
    switch (math) {
    case TSR_CUDA_EXACT: return find<TSR_CUDA_EXACT, 8>(c);
    case TSR_CUDA_TF32: return find<TSR_CUDA_TF32, 8>(c);
    case TSR_CUDA_FP16: return find<TSR_CUDA_FP16, 16>(c);
    case TSR_CUDA_BF16: return find<TSR_CUDA_BF16, 16>(c);
    default: return find<TSR_CUDA_FP64, 8>(c);
    }
}

/* Items to a warp: enough for a few dozen steps, but not so many that warps get few. */
int64_t batch_of(const tsr_work *work, const tsr_windows *w, int sms)
{
    constexpr int64_t steps = 32, most = 16;
    int64_t mean = w->nblocks / (work->nitems + 1) + 1, waves = work->nitems / (int64_t{128} * (sms > 0 ? sms : 1));
    int64_t batch = steps / mean < waves ? steps / mean : waves;
    return batch < 1 ? 1 : batch < most ? batch : most;
}

choice choose(const tsr_me_bcrs *a, const tsr_work *work, const tsr_cuda_spmm *p, size_t size)
{
    int64_t bytes = p->n * static_cast<int64_t>(size), batch = batch_of(work, &a->w, p->device->sms);
    choice c = {2, bytes > 128 ? 1 : 2, 128, false, p->math == TSR_CUDA_EXACT ? 20 : 24, batch};
    if (p->variant > 0) {
        const int64_t batches[4] = {batch, 1, 4, 16};
        int v = p->variant - 1;
        return {v % 3 == 1 ? 3 : 2, v % 3 == 2 ? 2 : 1, 64 << v / 3 % 4, v / 12 % 2 != 0,
                v / 24 % 2 ? 20 : 24, batches[v / 48 % 4]};
    }
    if (size == 2)
        c.tile = bytes > 128 ? 256 : bytes > 64 ? 128 : 64;
    else
        c.tile = bytes > 256 ? 512 : bytes > 128 ? 256 : 128;
    return c;
}

/* Launches have at most 2^31 warps; `most` items each. */
tsr_status run(job j, const launch &l, const choice &c, const tsr_work *work, int64_t most)
{
    int shared = l.shared * block_warps;
    if (!tensor_allow_shared(l.function, static_cast<size_t>(shared)))
        return TSR_INTERNAL_ERROR;
    j.batch = static_cast<uint32_t>(c.batch);
    for (int64_t first = 0; first < work->nitems; first += most) {
        j.items = static_cast<uint32_t>(work->nitems - first < most ? work->nitems - first : most);
        j.batches = (j.items + j.batch - 1) / j.batch;
        j.item_window = work->window + first;
        j.item_block = work->block + first;
        j.item_partial = work->partial + first;
        kernel function = l.function;
        TSR_LAUNCH(function, (j.batches * j.tiles + block_warps - 1) / block_warps, 32 * block_warps, shared, j.p.stream, j);
    }
    return cudaPeekAtLastError() == cudaSuccess ? TSR_OK : TSR_INTERNAL_ERROR;
}

} // namespace

extern "C" tsr_status tsr_cuda_spmm_me_bcrs(const tsr_me_bcrs *a, const tsr_work *work, const tsr_cuda_spmm *product)
{
    size_t size = tsr_number_size(tsr_cuda_number(product->math));
    if (!tensor_takes(product, false) || a->w.width != (size == 2 ? 16 : 8))
        return TSR_DECLINED;
    choice c = choose(a, work, product, size);
    launch l = find(product->math, c);
    int64_t tile = c.tile / static_cast<int64_t>(size), tiles = (product->n + tile - 1) / tile;
    if (!l.function || static_cast<size_t>(l.shared * block_warps) > product->device->shared_bytes_block || tiles > INT32_MAX ||
        product->ldb > static_cast<int64_t>(UINT32_MAX / size))
        return TSR_DECLINED;
    job j = {};
    j.p = *product;
    j.nrows = a->w.nrows;
    j.row_bytes = static_cast<uint32_t>(product->ldb * static_cast<int64_t>(size));
    j.vector = a->w.vector;
    j.block = a->w.block;
    j.column = a->w.column;
    j.value = static_cast<const unsigned char *>(a->value);
    j.tiles = static_cast<uint32_t>(tiles);
    j.tile_major = c.tile_major;
    tsr_status status = run(j, l, c, work, INT32_MAX / tiles);
    return status == TSR_OK ? tsr_cuda_add_partials(&a->w, work, product) : status;
}
