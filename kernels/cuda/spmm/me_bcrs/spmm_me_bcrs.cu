// SpMM over ME-BCRS (FlashSparse, PPoPP 2025).  Operands are swapped and transposed: a matrix instruction computes 16 columns of
// B times the 8 rows of a window, so that windows are 8 rows high and fewer zeros are multiplied.
//
// A warp computes one work item for one tile of columns: 8 rows x 64 to 512 bytes of a row of B.  With g = lane / 4,
// t = lane % 4 and R = width / 4, lane (g, t) multiplies vectors tR to tR + R - 1 of a block: its values of A are R neighbours in
// row g (one load), and of each of these rows of B it needs the 16 bytes number g of every 128 (tiles of 64 bytes: 8 of 64).
// Which k of the instruction a vector gets and which m a column, is free as long as A, B and C agree: columns 2i and 2i + 1 of
// 16 bytes are m = g and g + 8 of instruction i.  So a lane ends with neighbouring columns of rows 2t and 2t + 1 of C, which it
// stores 16 bytes at a time.
//
// Rows of B come by cp.async into a ring of steps of the warp's own; 8 neighbouring lanes copy 128 consecutive bytes of a row.
// The rows of the ring that one load of fragments meets are 32 bytes apart modulo 128, so it has no bank conflict.  Columns and
// values of A are loaded a step further ahead.  Many warps with short rings beat few with long ones.  Warps share nothing.
//
// variant = 1 + tile + 4 * order, to try other choices than the kernel's own (0):
//   tile   0, 1, 2, 3: 64 (16-bit numbers only), 128, 256, 512 (not 16-bit: registers) bytes of a row of B
//   order  0: the tiles of an item are neighbours; 1: all items of a tile before the next tile
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmm/tensor.cuh"

namespace {

constexpr int block_warps = 2;     // of a block of threads
constexpr int stages = 2;          // steps in a ring
constexpr int resident_warps = 24; // on a multiprocessor, about

struct job {
    tsr_cuda_spmm p;
    int64_t nrows;
    uint32_t row_bytes; /* of B */
    const int64_t *vector, *block; /* of the windows */
    const uint32_t *column;
    const unsigned char *value;
    const int64_t *item_window, *item_block, *item_partial;
    uint32_t items, tiles;
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

/* x, as a value that the compiler keeps in a register: else it computes places from threadIdx again at every use.  All lanes
 * call it. */
__device__ __forceinline__ int keep(int x) { return __shfl_sync(0xffffffffu, x, static_cast<int>(threadIdx.x % 32)); }

/* What a warp computes. */
template <class Shape> struct task {
    using element = typename Shape::element;
    const uint32_t *column;  /* of the item's vectors */
    const element *value;
    int count;               /* vectors */
    int64_t window, partial;
    int64_t offset;          /* of the tile in a row of B, bytes */
    bool full;               /* no piece of the tile is past the last column */
};

/* false: no task is left for this warp. */
template <class Shape> __device__ __forceinline__ bool find_task(task<Shape> &out, const job &j)
{
    uint32_t number = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (number >= j.items * j.tiles)
        return false;
    uint32_t item = number, tile = 0;
    if (j.tiles > 1) {
        uint32_t inner = j.tile_major ? j.items : j.tiles, outer = number / inner;
        item = j.tile_major ? number - outer * inner : outer;
        tile = j.tile_major ? outer : number - outer * inner;
    }
    int64_t first = j.item_block[item], last = j.item_block[item + 1];
    out.window = j.item_window[item];
    out.partial = j.item_partial[item];
    int64_t vector = j.vector[out.window], end = j.vector[out.window + 1], block = j.block[out.window];
    end = min(end, vector + (last - block) * Shape::width);
    vector += (first - block) * Shape::width;
    out.column = j.column + vector;
    out.value = reinterpret_cast<const typename Shape::element *>(j.value) + 8 * vector;
    out.count = static_cast<int>(end - vector);
    out.offset = static_cast<int64_t>(tile) * Shape::tile;
    out.full = out.offset + Shape::tile <= j.p.n * static_cast<int64_t>(sizeof(typename Shape::element));
    return true;
}

/* A lane's values of a block of `left` vectors: Width, or fewer, then the rest is 0.  x: its first one if the block is full. */
template <class Shape>
__device__ __forceinline__ typename Shape::values load_values(const typename Shape::element *x, int left, int g, int t)
{
    using values = typename Shape::values;
    using element = typename Shape::element;
    values v = {};
    if (left >= Shape::width) {
        if constexpr (sizeof(values) == 16) {
            uint4 y = __ldcs(reinterpret_cast<const uint4 *>(x));
            v = {{y.x, y.y, y.z, y.w}};
        } else {
            uint2 y = __ldcs(reinterpret_cast<const uint2 *>(x));
            v = {{y.x, y.y}};
        }
        return v;
    }
    x -= g * (Shape::width - left);
#pragma unroll
    for (int i = 0; i < Shape::rows; i++) {
        if (t * Shape::rows + i >= left)
            break;
        if constexpr (sizeof(element) == 2)
            v.w[i / 2] |= static_cast<uint32_t>(__ldcs(x + i)) << (16 * (i % 2));
        else if constexpr (sizeof(element) == 4)
            v.w[i] = __ldcs(reinterpret_cast<const uint32_t *>(x + i));
        else {
            uint2 y = __ldcs(reinterpret_cast<const uint2 *>(x + i));
            v.w[2 * i] = y.x;
            v.w[2 * i + 1] = y.y;
        }
    }
    return v;
}

/* d[q] is for the piece at byte place(q) of the tile. */
template <class Shape, class Place>
__device__ __forceinline__ void store(const job &j, const task<Shape> &w, typename Shape::sum (*d)[Shape::columns / 2][4], int t,
                                      Place place)
{
    using sum = typename Shape::sum;
    constexpr int several = 16 / sizeof(sum);
    tensor_output<sum> out = tensor_target<sum>(j.p, j.nrows, 8, w.window, w.partial, 1.0);
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

/* What measured best on an H200.  late: a step's place in the ring is filled again after it was multiplied, and not a step later.
 * warps: registers are for so many on a multiprocessor. */
template <tsr_cuda_math Math, int Width, int Tile> struct tuning {
    static constexpr int blocks = Tile * Width <= 1024 ? 2 : 1; /* of a step */
    static constexpr bool late = Tile < 512 || Math == TSR_CUDA_FP64;
    static constexpr int warps = Tile == 512 && Math == TSR_CUDA_EXACT ? 20 : resident_warps;
};

/* A step is Blocks blocks.  Row 4 i + t of a block in the ring holds its vector t * rows + i. */
template <class Shape, int Blocks> struct ring_layout {
    static constexpr int pitch = Shape::tile + 32; /* of a row */
    static constexpr int vectors = Blocks * Shape::width;
    static constexpr int step = vectors * pitch;
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

/* A lane's share of filling the ring. */
template <class Shape, int Blocks> struct filler {
    using layout = ring_layout<Shape, Blocks>;
    static constexpr int copies = layout::copies, pieces = Shape::pieces;
    unsigned char *to;
    const unsigned char *b;
    const uint32_t *column; /* of the step whose columns are loaded next */
    uint32_t row_bytes;
    int first;              /* vector c of a step is the lane's if it is layout::vector(c) + first */
    int present;            /* pieces of this lane along a row that are not past the last column */
    bool full;

    /* ring: the warp's place in shared memory. */
    __device__ __forceinline__ filler(const job &j, const task<Shape> &w, int ring)
    {
        int lane = threadIdx.x % 32, part = lane % layout::lanes * 16;
        to = dynamic_shared() + keep(ring + lane / layout::lanes * layout::pitch + part);
        b = keep_address(static_cast<const unsigned char *>(j.p.b) + w.offset + part);
        first = layout::first(lane);
        column = w.column + first;
        row_bytes = j.row_bytes;
        full = w.full;
        present = pieces;
        if (full)
            return;
        int64_t end = j.p.n * static_cast<int64_t>(sizeof(typename Shape::element)) - w.offset - part;
        present = static_cast<int>(max(min((end + 127) / 128, int64_t{pieces}), int64_t{0}));
        for (int q = present; q < pieces; q++) /* never copied */
            for (int c = 0; c < stages * copies; c++)
                *reinterpret_cast<words<4> *>(to + c * layout::together * layout::pitch + q * 128) = {};
    }
    /* left: vectors of the item from the step on. */
    __device__ __forceinline__ void load_columns(uint32_t out[copies], int left)
    {
#pragma unroll
        for (int c = 0; c < copies; c++)
            if (left - first > layout::vector(c))
                out[c] = __ldg(column + layout::vector(c));
        column += layout::vectors;
    }
    __device__ __forceinline__ void copy(int place, int c, int q, uint32_t row, bool exists) const
    {
        const unsigned char *from = b + static_cast<uint64_t>(row) * row_bytes + q * 128;
        cp_async<16>(to + place + c * layout::together * layout::pitch + q * 128, from, exists);
    }
    /* Always one group of copies; place: of the step in the ring. */
    __device__ __forceinline__ void copy_step(int place, const uint32_t rows[copies], int left) const
    {
        if (left > 0 && full) {
#pragma unroll
            for (int c = 0; c < copies; c++)
#pragma unroll
                for (int q = 0; q < pieces; q++)
                    copy(place, c, q, rows[c], left - first > layout::vector(c));
        } else if (left > 0) {
#pragma unroll 1
            for (int q = 0; q < present; q++)
#pragma unroll
                for (int c = 0; c < copies; c++)
                    copy(place, c, q, rows[c], left - first > layout::vector(c));
        }
        cp_async_commit();
    }
};

/* A lane's values of the steps, one after the other. */
template <class Shape, int Blocks> struct value_reader {
    const typename Shape::element *value;
    int g, t;

    __device__ __forceinline__ void load(typename Shape::values out[Blocks], int left)
    {
#pragma unroll
        for (int k = 0; k < Blocks; k++)
            out[k] = load_values<Shape>(value + k * 8 * Shape::width, left - k * Shape::width, g, t);
        value += Blocks * 8 * Shape::width;
    }
};

/* d += the step at `from` (where the lane's fragments begin). */
template <class Shape, int Blocks>
__device__ __forceinline__ void multiply(typename Shape::sum d[Shape::pieces][Shape::columns / 2][4],
                                         const typename Shape::values values[Blocks], const unsigned char *from)
{
    constexpr int pitch = ring_layout<Shape, Blocks>::pitch;
#pragma unroll
    for (int k = 0; k < Blocks; k++) {
        const Shape a(values[k]);
#pragma unroll
        for (int q = 0; q < Shape::pieces; q++) {
            typename Shape::piece x[Shape::rows];
#pragma unroll
            for (int i = 0; i < Shape::rows; i++)
                x[i] = *reinterpret_cast<const typename Shape::piece *>(from + (k * Shape::width + i * 4) * pitch + q * 128);
            a.multiply(d[q], x);
        }
    }
}

template <tsr_cuda_math Math, int Width, int Tile>
__global__ void __launch_bounds__(32 * block_warps, tuning<Math, Width, Tile>::warps / block_warps) spmm(job j)
{
    using shape = block_math<Math, Width, Tile>;
    constexpr int blocks = tuning<Math, Width, Tile>::blocks;
    constexpr bool late = tuning<Math, Width, Tile>::late;
    using layout = ring_layout<shape, blocks>;
    /* A step is copied this many steps before it is multiplied. */
    constexpr int ahead = late ? stages : stages - 1, vectors = layout::vectors;
    task<shape> w;
    if (!find_task(w, j))
        return;
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    typename shape::sum d[shape::pieces][shape::columns / 2][4] = {};
    if (w.count > 0) {
        int ring = static_cast<int>(threadIdx.x / 32) * (stages * layout::step), left = w.count;
        filler<shape, blocks> fill(j, w, ring);
        value_reader<shape, blocks> reader = {w.value + g * Width + t * shape::rows, g, t};
        const unsigned char *from = dynamic_shared() + keep(ring + t * layout::pitch + g * shape::piece_bytes);
        uint32_t columns[layout::copies] = {}, early[ahead][layout::copies] = {};
#pragma unroll
        for (int s = 0; s < ahead; s++)
            fill.load_columns(early[s], left - s * vectors);
        fill.load_columns(columns, left - ahead * vectors);
        typename shape::values next[blocks], now[blocks];
        reader.load(next, left);
#pragma unroll
        for (int s = 0; s < ahead; s++)
            fill.copy_step(s * layout::step, early[s], left - s * vectors);

        int read = 0, write = late ? 0 : (stages - 1) * layout::step;
        for (; left > 0; left -= vectors) {
            auto refill = [&] {
                fill.copy_step(write, columns, left - ahead * vectors);
                fill.load_columns(columns, left - (ahead + 1) * vectors);
            };
            cp_async_wait<ahead - 1>();
            __syncwarp(); /* every lane's copies are there, and every lane is done with the step before */
            if (!late)
                refill();
#pragma unroll
            for (int k = 0; k < blocks; k++)
                now[k] = next[k];
            if (left > vectors)
                reader.load(next, left - vectors);
            multiply<shape, blocks>(d, now, from + read);
            if (late) {
                __syncwarp();
                refill();
            }
            int last = read;
            read = read == (stages - 1) * layout::step ? 0 : read + layout::step;
            write = late ? read : last;
        }
    }
    store(j, w, d, t, [&](int q) { return 128 * q + shape::piece_bytes * g; });
}

// ---- Host side ----

using kernel = void (*)(job);

struct choice {
    int tile; /* 64, 128, 256 or 512 */
    bool tile_major;
};

struct launch {
    kernel function; /* NULL: there is none */
    int shared;      /* bytes per warp */
};

template <tsr_cuda_math Math, int Width, int Tile> launch find()
{
    using layout = ring_layout<block_math<Math, Width, Tile>, tuning<Math, Width, Tile>::blocks>;
    return {spmm<Math, Width, Tile>, stages * layout::step};
}

template <tsr_cuda_math Math, int Width> launch find(int tile)
{
    constexpr int odd = Width == 8 ? 512 : 64; /* the tile that not every number has */
    switch (tile) {
    case 128: return find<Math, Width, 128>();
    case 256: return find<Math, Width, 256>();
    case odd: return find<Math, Width, odd>();
    default: return {};
    }
}

launch find(tsr_cuda_math math, int tile)
{
    switch (math) {
    case TSR_CUDA_EXACT: return find<TSR_CUDA_EXACT, 8>(tile);
    case TSR_CUDA_TF32: return find<TSR_CUDA_TF32, 8>(tile);
    case TSR_CUDA_FP16: return find<TSR_CUDA_FP16, 16>(tile);
    case TSR_CUDA_BF16: return find<TSR_CUDA_BF16, 16>(tile);
    default: return find<TSR_CUDA_FP64, 8>(tile);
    }
}

choice choose(const tsr_me_bcrs *a, const tsr_work *work, const tsr_cuda_spmm *p, size_t size)
{
    if (p->variant > 0)
        return {64 << (p->variant - 1) % 4, (p->variant - 1) / 4 % 2 != 0};
    const int64_t bytes = p->n * static_cast<int64_t>(size), full = int64_t{resident_warps} * p->device->sms;
    int tile = size == 2 ? 64 : 128;
    while (tile < bytes && tile < (size == 2 ? 256 : 512))
        tile *= 2;
    /* With few items, warps that start last decide: more of them. */
    if (tile == 512 && work->nitems * ((bytes + tile - 1) / tile) < 4 * full)
        tile = 256;
    bool tile_major = bytes > 2 * tile && tensor_tile_major(p, a->w.ncols, tile / static_cast<int64_t>(size), size);
    return {tile, tile_major};
}

/* Launches have at most 2^31 warps; `most` items each. */
tsr_status run(job j, const launch &l, const tsr_work *work, int64_t most)
{
    int shared = l.shared * block_warps;
    if (!tensor_allow_shared(l.function, static_cast<size_t>(shared)))
        return TSR_INTERNAL_ERROR;
    for (int64_t first = 0; first < work->nitems; first += most) {
        j.items = static_cast<uint32_t>(work->nitems - first < most ? work->nitems - first : most);
        j.item_window = work->window + first;
        j.item_block = work->block + first;
        j.item_partial = work->partial + first;
        kernel function = l.function;
        TSR_LAUNCH(function, (j.items * j.tiles + block_warps - 1) / block_warps, 32 * block_warps, shared, j.p.stream, j);
    }
    return launch_status();
}

} // namespace

/* Items of 64 blocks hide their start.  Where a warp gets many, longer ones leave fewer partial sums to add, but not so long that
 * all wait for one at the end; where there are too few to go round, shorter ones. */
extern "C" int64_t tsr_cuda_me_bcrs_most(const tsr_windows *windows, const tsr_cuda_device *device)
{
    const int64_t usual = 64, least = 32, warps = int64_t{resident_warps} * (device->sms > 0 ? device->sms : 1);
    const int64_t fair = windows->nblocks / warps;
    if (fair < usual)
        return fair > least ? fair : least;
    return fair / 10 > usual ? fair / 10 : usual;
}

extern "C" tsr_status tsr_cuda_spmm_me_bcrs(const tsr_me_bcrs *a, const tsr_work *work, const tsr_cuda_spmm *product)
{
    size_t size = tsr_number_size(tsr_cuda_number(product->math));
    if (!tensor_takes(product, false) || a->w.width != (size == 2 ? 16 : 8))
        return TSR_DECLINED;
    choice c = choose(a, work, product, size);
    launch l = find(product->math, c.tile);
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
    tsr_status status = run(j, l, work, INT32_MAX / tiles);
    return status == TSR_OK ? tsr_cuda_add_partials(&a->w, work, product) : status;
}
