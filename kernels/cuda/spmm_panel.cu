// SpMM over panels: every row of B that a window of 32 or 64 rows needs is brought to shared memory once and used by all of them.  Plain
// multiply-adds, so that Inf and NaN in B meet real entries only.
//
// A block of threads computes one work item for one tile of columns.  Its first warp, the producer, brings the window's blocks one after the
// other into a ring of stages by bulk copies: one for each row of B (cut to the tile), one for the block's data.  Every other warp, a
// consumer, owns 8 rows of C, which stay in registers: Lane l has columns V l to V l + V - 1 of the tile of 32 V.  An entry costs a consumer
// two loads from shared memory: the entry, the same for all lanes, and the lane's part of the row of B.  A barrier tells when a stage is full,
// another one when all consumers are done with it.
//
// Blocks with more entries than the room in a stage: only their rows of B are copied, the entries are read from global memory.
//
// variant, to try other choices than the kernel's own (0): 1 + stages - 2 + 3 * room + 9 * plain + 18 * single
//   stages  2, 3, 4 (of 32 or 64 rows of B: 2, 3)
//   room    0, 1, 2: 9, 15, 27 entries for every column of a stage
//   plain   0: entries are loaded one ahead; 1: not
//   single  0: neighbouring rows of B are one copy where they lie together; 1: each row is a copy
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/tensor.cuh"

// Before sm_90 the kernels are empty, and nvcc complains about all that they do not use.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#pragma nv_diag_suppress 177
#endif

namespace {

constexpr int rows = 8; // of a consumer

struct job {
    tsr_cuda_spmm p;
    int64_t nrows;
    const int64_t *vector, *block; // of the windows
    const uint32_t *column;
    const int64_t *first;          // units of data before each block
    const unsigned char *data;
    const int64_t *item_window, *item_block, *item_partial;
    uint32_t items, tiles;
    uint32_t row_bytes;            // of B
    uint32_t room;                 // bytes for a block's data in a stage
    const unsigned char *data_end;
    bool tile_major;
    bool whole_rows;               // rows of B follow each other without gaps, and a tile is all of them
};

template <class Element, int Columns, int Width, int Stages> struct shape {
    static constexpr int columns = Columns; // of a lane
    static constexpr int width = Width;     // rows of B in a stage
    static constexpr int stages = Stages;
    static constexpr int tile = 32 * Columns;
    static constexpr int pitch = tile * static_cast<int>(sizeof(Element)); // bytes of a row of B in a stage
    static constexpr int stage = Width * pitch;
    /* An entry names its row of B by slot << 16: shifted right by this, the offset in the stage. */
    static constexpr int shift = pitch == 512 ? 7 : pitch == 256 ? 8 : 9;
    static_assert(pitch << shift == 1 << 16, "");
};

/* What a lane reads at once: an entry; its part of a row of B. */
template <class Element> __device__ __forceinline__ Element element_of(const uint32_t *words)
{
    if constexpr (sizeof(Element) == 8)
        return __hiloint2double(static_cast<int>(words[1]), static_cast<int>(words[0]));
    else
        return __uint_as_float(words[0]);
}

template <class Element> struct entry {
    static constexpr int words = sizeof(Element) / 2, at = sizeof(Element) / 4;
    uint32_t w[words];
    __device__ __forceinline__ Element value() const { return element_of<Element>(w); }
    __device__ __forceinline__ uint32_t place() const { return w[at]; }
};

template <class Element> __device__ __forceinline__ void load_entry(entry<Element> &e, shared_place from) { load_shared(e.w, from); }
// What a block of threads computes.
struct task {
    int64_t window, partial;
    int64_t first;       // block
    int blocks;
    int64_t column;      // of C: the tile's first
    int64_t vector;      // before block `first`
    int64_t vectors;     // from there to the end of the window
};

__device__ __forceinline__ task find_task(const job &j, int tile, int width)
{
    uint32_t item = blockIdx.x, number = 0;
    if (j.tiles > 1) {
        uint32_t inner = j.tile_major ? j.items : j.tiles, outer = blockIdx.x / inner;
        item = j.tile_major ? blockIdx.x - outer * inner : outer;
        number = j.tile_major ? outer : blockIdx.x - outer * inner;
    }
    task t;
    t.window = j.item_window[item];
    t.partial = j.item_partial[item];
    t.first = j.item_block[item];
    t.blocks = static_cast<int>(j.item_block[item + 1] - t.first);
    t.column = static_cast<int64_t>(number) * tile;
    t.vector = j.vector[t.window] + (t.first - j.block[t.window]) * width;
    t.vectors = j.vector[t.window + 1] - t.vector;
    return t;
}

// The ring: stages of rows of B, then data of each stage, then the barriers.
struct ring {
    unsigned char *rows, *data;
    uint64_t *full, *empty;
    uint32_t *outside; // of each stage: whether its entries did not fit
    uint32_t *columns; // of the block that is copied
};

template <class Shape> __device__ __forceinline__ ring ring_at(const job &j)
{
    ring r;
    r.rows = dynamic_shared();
    r.data = r.rows + Shape::stages * Shape::stage;
    r.columns = reinterpret_cast<uint32_t *>(r.data + Shape::stages * j.room);
    r.full = reinterpret_cast<uint64_t *>(r.columns + Shape::width);
    r.empty = r.full + Shape::stages;
    r.outside = reinterpret_cast<uint32_t *>(r.empty + Shape::stages);
    return r;
}
template <class Shape> constexpr int ring_bytes = Shape::stages * (Shape::stage + 20) + Shape::width * 4; // and room for data

// ---- the producer ----

/* Rows of B that follow each other in B as in the stage are one copy.  starts: bit i = row i begins one; count: rows, 32 at most. */
template <class Shape>
__device__ __forceinline__ void copy_runs(unsigned char *to, const unsigned char *b, shared_place columns, uint32_t starts, int count, uint64_t *full)
{
#pragma unroll 1
    while (starts) {
        int first = __ffs(static_cast<int>(starts)) - 1;
        starts &= starts - 1;
        int last = starts ? __ffs(static_cast<int>(starts)) - 1 : count;
        uint32_t column[1];
        load_shared(column, columns + first * 4);
        bulk_copy(to + first * Shape::pitch, advance(b, column[0], Shape::pitch), static_cast<unsigned>((last - first) * Shape::pitch), full);
    }
}

/* `count` rows of B into a stage; one thread does this. */
template <class Shape>
__device__ __forceinline__ void copy_rows(unsigned char *to, const unsigned char *b, uint32_t row_bytes, uint32_t bytes, shared_place columns,
                                          int count, uint64_t *full)
{
    uint32_t column[4];
    if (count == Shape::width) {
#pragma unroll
        for (int i = 0; i < Shape::width; i += 4) {
            load_shared(column, columns + i * 4);
#pragma unroll
            for (int q = 0; q < 4; q++)
                bulk_copy(to + (i + q) * Shape::pitch, advance(b, column[q], row_bytes), bytes, full);
        }
        return;
    }
#pragma unroll 1
    for (int i = 0; i < count; i++) {
        uint32_t one[1];
        load_shared(one, columns + i * 4);
        bulk_copy(to + i * Shape::pitch, advance(b, one[0], row_bytes), bytes, full);
    }
}

template <class Element, class Shape, bool Outside>
__device__ __forceinline__ void produce(const job &j, const task &t, const ring &r, int head)
{
    int lane = threadIdx.x % 32, stage = 0;
    unsigned parity = 1;
    int64_t end = j.p.n - t.column;
    uint32_t bytes = end < Shape::tile ? static_cast<uint32_t>((end * static_cast<int>(sizeof(Element)) + 15) / 16 * 16) : Shape::pitch;
    const unsigned char *b = keep_address(static_cast<const unsigned char *>(j.p.b) + t.column * static_cast<int64_t>(sizeof(Element)));
    const uint32_t *column = j.column + t.vector + lane;
    const int64_t *first = j.first + t.first;
    int64_t left = t.vectors, unit = t.blocks ? *first : 0;
    for (int k = 0; k < t.blocks; k++) {
        int count = left < Shape::width ? static_cast<int>(left) : Shape::width;
        constexpr int parts = (Shape::width + 31) / 32;
        uint32_t which[parts];
#pragma unroll
        for (int i = 0; i < parts; i++)
            which[i] = lane + 32 * i < count ? __ldg(column + 32 * i) : 0;
        int64_t next = first[k + 1];
        uint32_t size = static_cast<uint32_t>(next - unit) * TSR_PANEL_UNIT;
        bool outside = Outside && size > j.room;
        uint64_t *full = r.full + stage;
        unsigned char *to = r.rows + stage * Shape::stage;
        __syncwarp(); // the columns before are read
        uint32_t starts[parts];
        bool runs = j.whole_rows;
        if (runs) {
            int n = 0;
#pragma unroll
            for (int i = 0; i < parts; i++) {
                uint32_t before = __shfl_up_sync(0xffffffffu, which[i], 1);
                starts[i] = __ballot_sync(0xffffffffu, lane + 32 * i < count && (lane == 0 || which[i] != before + 1));
                n += __popc(starts[i]);
            }
            runs = 2 * n <= count;
        }
#pragma unroll
        for (int i = 0; i < parts; i++)
            if (lane + 32 * i < Shape::width)
                r.columns[lane + 32 * i] = which[i];
        __syncwarp();
        mbarrier_wait(r.empty + stage, parity);
        if (elect_lane()) {
            size = outside ? static_cast<uint32_t>(head) : size;
            if (Outside)
                r.outside[stage] = outside;
            mbarrier_arrive_expect(full, static_cast<unsigned>(count) * bytes + size);
            bulk_copy(r.data + stage * j.room, j.data + unit * TSR_PANEL_UNIT, size, full);
            if (!runs)
                copy_rows<Shape>(to, b, j.row_bytes, bytes, shared_place_of(r.columns), count, full);
#pragma unroll
            for (int i = 0; i < parts; i++)
                if (runs)
                    copy_runs<Shape>(to + 32 * i * Shape::pitch, b, shared_place_of(r.columns) + 128 * i, starts[i], min(count - 32 * i, 32), full);
        }
        column += Shape::width;
        left -= Shape::width;
        unit = next;
        if (++stage == Shape::stages) {
            stage = 0;
            parity ^= 1;
        }
    }
}

// ---- consumers ----

/* sum += entry; whether it is its row's last one in the block. */
template <class Element, class Shape>
__device__ __forceinline__ bool add_entry(Element (&sum)[Shape::columns], const entry<Element> &e, shared_place b)
{
    constexpr int words = sizeof(Element) / 4;
    uint32_t x[Shape::columns * words];
    load_shared(x, b + (e.place() >> Shape::shift));
#pragma unroll
    for (int c = 0; c < Shape::columns; c++)
        sum[c] += e.value() * element_of<Element>(x + c * words);
    return e.place() & TSR_PANEL_LAST;
}

/* sum += entries of the 8 rows, from `at` on; b: the lane's part of row 0 of the stage. */
template <class Element, class Shape>
__device__ __forceinline__ void add_entries_plainly(Element (&sum)[rows][Shape::columns], uint32_t present, shared_place at, shared_place b)
{
#pragma unroll
    for (int r = 0; r < rows; r++) {
        if (!(present >> r & 1))
            continue;
        bool last;
#pragma unroll 1
        do {
            entry<Element> e;
            load_entry(e, at);
            at += sizeof e;
            last = add_entry<Element, Shape>(sum[r], e, b);
        } while (!last);
    }
}

/* The same; an entry is loaded while the one before it is added.  The two take turns in registers. */
template <class Element, class Shape>
__device__ __forceinline__ void add_entries_ahead(Element (&sum)[rows][Shape::columns], uint32_t present, shared_place at, shared_place b)
{
    entry<Element> e, after;
    constexpr int bytes = sizeof e;
    load_entry(e, at);
#pragma unroll
    for (int r = 0; r < rows; r++) {
        if (!(present >> r & 1))
            continue;
#pragma unroll 1
        for (;;) {
            load_entry(after, at + bytes);
            if (add_entry<Element, Shape>(sum[r], e, b)) {
                e = after;
                at += bytes;
                break;
            }
            at += 2 * bytes;
            load_entry(e, at);
            if (add_entry<Element, Shape>(sum[r], after, b))
                break;
        }
    }
}

/* The same from global memory: a lane loads every 32nd entry and tells the others. */
template <class Element, class Shape>
__device__ __forceinline__ void add_entries_outside(Element (&sum)[rows][Shape::columns], uint32_t present, const unsigned char *at,
                                                 const unsigned char *end, shared_place b)
{
    entry<Element> mine = {};
    int i = 32;
    at += threadIdx.x % 32 * sizeof mine;
#pragma unroll
    for (int r = 0; r < rows; r++) {
        if (!(present >> r & 1))
            continue;
        bool last;
#pragma unroll 1
        do {
            if (i == 32) {
                if (at < end)
#pragma unroll
                    for (int w = 0; w < entry<Element>::words; w++)
                        mine.w[w] = reinterpret_cast<const uint32_t *>(at)[w];
                at += 32 * sizeof mine;
                i = 0;
            }
            entry<Element> e;
#pragma unroll
            for (int w = 0; w < entry<Element>::words; w++)
                e.w[w] = __shfl_sync(0xffffffffu, mine.w[w], i);
            i++;
            last = add_entry<Element, Shape>(sum[r], e, b);
        } while (!last);
    }
}

template <class Element, class Shape, bool Ahead>
__device__ __forceinline__ void add_entries(Element (&sum)[rows][Shape::columns], uint32_t present, shared_place at, shared_place b)
{
    if constexpr (Ahead)
        add_entries_ahead<Element, Shape>(sum, present, at, b);
    else
        add_entries_plainly<Element, Shape>(sum, present, at, b);
}

template <class Element, class Shape, bool Outside, bool Ahead>
__device__ __forceinline__ void consume(const job &j, const task &t, const ring &r, int consumer, int head, Element (&sum)[rows][Shape::columns])
{
    constexpr uint32_t entry_bytes = sizeof(entry<Element>);
    const bool speaks = threadIdx.x % 32 == 0;
    const shared_place first_b = keep_place(shared_place_of(r.rows + threadIdx.x % 32 * Shape::columns * static_cast<int>(sizeof(Element)))),
                       data = keep_place(shared_place_of(r.data));
    uint64_t *full = keep_address(r.full);
    for (uint32_t k = 0; k < static_cast<uint32_t>(t.blocks); k++) {
        const uint32_t stage = k % Shape::stages;
        mbarrier_wait(full + stage, k / Shape::stages & 1);
        const shared_place here = data + stage * j.room, b = first_b + stage * Shape::stage;
        uint32_t word[1];
        load_shared(word, here + consumer * 4);
        const uint32_t present = word[0] & 255, skip = (word[0] >> 8) * entry_bytes + head;
        if (present) {
            if (Outside && r.outside[stage])
                add_entries_outside<Element, Shape>(sum, present, j.data + j.first[t.first + k] * TSR_PANEL_UNIT + skip, j.data_end, b);
            else
                add_entries<Element, Shape, Ahead>(sum, present, here + skip, b);
        }
        __syncwarp();
        if (speaks)
            mbarrier_arrive(full + Shape::stages + stage);
    }
}

template <class Element, class Shape>
__device__ __forceinline__ void store(const job &j, const task &t, int consumer, int height, const Element (&sum)[rows][Shape::columns])
{
    constexpr int piece = 16 / sizeof(Element);
    tensor_output<Element> out = tensor_target<Element>(j.p, j.nrows, height, t.window, t.partial, 1.0);
    int64_t column = t.column + static_cast<int>(threadIdx.x % 32) * Shape::columns;
    if (column >= j.p.n)
        return;
#pragma unroll
    for (int r = 0; r < rows; r++) {
        int row = consumer * rows + r;
        if constexpr (Shape::columns == piece) {
            tensor_store(out, row, column, j.p.n, sum[r]);
        } else if (row < out.rows) {
            Element *c = out.c + row * out.ld + column;
#pragma unroll
            for (int i = 0; i < Shape::columns; i++)
                if (column + i < j.p.n)
                    c[i] = out.beta != 0 ? out.alpha * sum[r][i] + out.beta * c[i] : out.alpha * sum[r][i];
        }
    }
}

template <class Element, int Height, int Width, int Columns, int Stages, bool Outside, bool Ahead>
__global__ void __launch_bounds__(4 * Height + 32, Height == 64 ? 4 : Width < 32 ? 7 : 6) panel_kernel(job j)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    using of = shape<Element, Columns, Width, Stages>;
    constexpr int consumers = Height / rows, head = consumers * 4;
    int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x / 32), 0); // the compiler learns that it is the same for all lanes
    task t = find_task(j, of::tile, Width);
    ring r = ring_at<of>(j);
    if (threadIdx.x == 0) {
        for (int s = 0; s < Stages; s++) {
            mbarrier_init(r.full + s, 1);
            mbarrier_init(r.empty + s, consumers);
        }
        mbarrier_fence_init();
    }
    __syncthreads();
    if (warp == 0) {
        produce<Element, of, Outside>(j, t, r, head);
        return;
    }
    Element sum[rows][Columns] = {};
    consume<Element, of, Outside, Ahead>(j, t, r, warp - 1, head, sum);
    store<Element, of>(j, t, warp - 1, Height, sum);
#endif
}

// ---- the host's side ----

struct choice {
    int stages, room; // room: entries of a block, for every column
    bool ahead, runs;
    int64_t largest;  // units
};

template <class Element, int Height, int Width, int Columns, int Stages, bool Ahead> tsr_status launch(job j, const choice &how)
{
    using of = shape<Element, Columns, Width, Stages>;
    j.tiles = static_cast<uint32_t>((j.p.n + of::tile - 1) / of::tile);
    if (j.items * static_cast<uint64_t>(j.tiles) > 0x7fffffff)
        return TSR_DECLINED;
    int64_t wanted = how.largest * TSR_PANEL_UNIT, room = (Height / 2 + how.room * Width * static_cast<int>(2 * sizeof(Element)) + 15) / 16 * 16;
    bool outside = wanted > room;
    j.room = static_cast<uint32_t>(outside ? room : wanted);
    j.whole_rows = how.runs && j.p.n == of::tile && j.row_bytes == of::pitch;
    size_t shared = static_cast<size_t>(ring_bytes<of>) + static_cast<size_t>(Stages) * j.room;
    if (shared > j.p.device->shared_bytes_block)
        return TSR_DECLINED;
    auto kernel = outside ? panel_kernel<Element, Height, Width, Columns, Stages, true, Ahead>
                          : panel_kernel<Element, Height, Width, Columns, Stages, false, Ahead>;
    if (!tensor_allow_shared(kernel, shared))
        return TSR_INTERNAL_ERROR;
    TSR_LAUNCH(kernel, j.items * j.tiles, 4 * Height + 32, shared, j.p.stream, j);
    return cudaPeekAtLastError() == cudaSuccess ? TSR_OK : TSR_INTERNAL_ERROR;
}

/* Narrow tiles have one shape each. */
template <class Element, int Height, int Width, int Stages> tsr_status launch(const job &j, const choice &how)
{
    constexpr int most = 16 / static_cast<int>(sizeof(Element));
    if (Stages == 2 && j.p.n <= 32)
        return launch<Element, Height, Width, 1, 2, true>(j, how);
    if (Stages == 2 && j.p.n <= 64 && most > 2)
        return launch<Element, Height, Width, 2, 2, true>(j, how);
    return how.ahead ? launch<Element, Height, Width, most, Stages, true>(j, how) : launch<Element, Height, Width, most, Stages, false>(j, how);
}

template <class Element> tsr_status launch(const job &j, const choice &how, const tsr_windows &w)
{
    switch (w.height * 1000 + w.width * 10 + how.stages) {
    case 32162: return launch<Element, 32, 16, 2>(j, how);
    case 32163: return launch<Element, 32, 16, 3>(j, how);
    case 32164: return launch<Element, 32, 16, 4>(j, how);
    case 32242: return launch<Element, 32, 24, 2>(j, how);
    case 32243: return launch<Element, 32, 24, 3>(j, how);
    case 32322: return launch<Element, 32, 32, 2>(j, how);
    case 64322: return launch<Element, 64, 32, 2>(j, how);
    case 64323: return launch<Element, 64, 32, 3>(j, how);
    case 64642: return launch<Element, 64, 64, 2>(j, how);
    default: return TSR_DECLINED;
    }
}

} // namespace

/* The start of an item and its partial sum cost about as much as 4 blocks.  Windows of a small matrix are cut such that items fill whole waves
 * of the device; with many waves an item may take an eighth of the whole time. */
extern "C" int64_t tsr_cuda_panel_most(const tsr_windows *w, const tsr_cuda_device *device)
{
    constexpr int least = 8, overhead = 4;
    const int64_t slots = static_cast<int64_t>(device->sms) * (w->height == 32 ? 6 : 3);
    if (w->nblocks == 0)
        return 1;
    int64_t best = 0, best_time = 0;
    for (int64_t pieces = 1; pieces <= 64; pieces++) {
        int64_t most = (w->nblocks + w->nwindows * pieces - 1) / (w->nwindows * pieces);
        int64_t time = (w->nwindows * pieces + slots - 1) / slots * (most + overhead);
        if (pieces == 1 || time < best_time) {
            best = most;
            best_time = time;
        }
    }
    const int64_t share = w->nblocks / slots / 8;
    best = best > share ? best : share;
    return best > least ? best : least;
}

extern "C" tsr_status tsr_cuda_spmm_panel(const tsr_panel *a, const tsr_work *work, const tsr_cuda_spmm *p)
{
    static const int rooms[] = {9, 15, 27};
    bool wide = p->math == TSR_CUDA_FP64;
    if ((p->math != TSR_CUDA_EXACT && p->math != TSR_CUDA_TF32 && !wide) || p->device->major < 9 || !tensor_takes(p, false))
        return TSR_DECLINED;
    const int64_t row_bytes = p->ldb * static_cast<int64_t>(wide ? sizeof(double) : sizeof(float));
    if (row_bytes > 0xffffffff || p->variant < 0 || p->variant > 36 || work->nitems > 0x7fffffff)
        return TSR_DECLINED;
    choice how = {p->variant ? 2 + (p->variant - 1) % 3 : 2, rooms[p->variant ? (p->variant - 1) / 3 % 3 : 0], p->variant == 0 || (p->variant - 1) / 9 % 2 == 0, p->variant < 19, a->largest};
    job j = {};
    j.p = *p;
    j.nrows = a->w.nrows;
    j.row_bytes = static_cast<uint32_t>(row_bytes);
    j.vector = a->w.vector;
    j.block = a->w.block;
    j.column = a->w.column;
    j.first = a->first;
    j.data = static_cast<const unsigned char *>(a->data);
    j.data_end = j.data + a->nunits * TSR_PANEL_UNIT;
    j.item_window = work->window;
    j.item_block = work->block;
    j.item_partial = work->partial;
    j.items = static_cast<uint32_t>(work->nitems);
    j.tile_major = tensor_tile_major(p, a->w.ncols, 512 / static_cast<int64_t>(wide ? sizeof(double) : sizeof(float)),
                                     wide ? sizeof(double) : sizeof(float));
    if (work->nitems == 0)
        return TSR_OK;
    tsr_status status = wide ? launch<double>(j, how, a->w) : launch<float>(j, how, a->w);
    return status == TSR_OK ? tsr_cuda_add_partials(&a->w, work, p) : status;
}
