// SpMM over panels: every row of B that a window of 32 or 64 rows needs is brought to shared memory once and used by all of them.  Plain
// multiply-adds, so that Inf and NaN in B meet real entries only.
//
// A block of threads computes one work item for one tile of columns.  Its first warp, the producer, brings the window's blocks one after the
// other into a ring of stages by bulk copies: one for each row of B (cut to the tile), one for the block's data.  Every other warp, a
// consumer, owns 8 rows of C, which stay in registers: Lane l has columns V l to V l + V - 1 of the tile of 32 V.  An entry costs a consumer
// two loads from shared memory: the entry, the same for all lanes, and the lane's part of the row of B.  A barrier tells when a stage is full,
// another one when all consumers are done with it.
//
// FP32 sums go to C (to the partial sum) and begin anew after every 2048 columns of a window: the error of a long sum grows with its length.
//
// variant: 0 = the kernel's own choice, 1 = sums go to C after each block.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/tensor.cuh"

// Before sm_90 the kernels are empty, and nvcc complains about all that they do not use.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#pragma nv_diag_suppress 177
#endif

namespace {

constexpr int rows = 8; // of a consumer
constexpr int longest_chain = 2048; // columns

struct job {
    tsr_cuda_spmm p;
    int64_t nrows, nvectors;
    const uint32_t *column;
    const int64_t *begin, *first;  // of each block: vectors and units of data before it
    const unsigned char *data;
    const int64_t *item_window, *item_block, *item_partial;
    uint32_t items, tiles;
    uint32_t row_bytes;            // of B
    uint32_t room;                 // bytes for a block's data in a stage
    uint32_t chain;                // blocks after which sums go to C
    bool tile_major;
};

template <class Element, int Columns, int Width> struct shape {
    static constexpr int columns = Columns; // of a lane
    static constexpr int width = Width;     // rows of B in a stage
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

// What a block of threads computes.  In shared memory, so that no thread keeps in registers what it needs at the end only.
template <class Element> struct alignas(16) task {
    tensor_output<Element> out;
    int64_t first;       // block
    int64_t column;      // of C: the tile's first
    int blocks;
};

template <class Element> __device__ __forceinline__ void find_task(task<Element> *t, const job &j, int tile, int height)
{
    uint32_t item = blockIdx.x, number = 0;
    if (j.tiles > 1) {
        uint32_t inner = j.tile_major ? j.items : j.tiles, outer = blockIdx.x / inner;
        item = j.tile_major ? blockIdx.x - outer * inner : outer;
        number = j.tile_major ? outer : blockIdx.x - outer * inner;
    }
    t->out = tensor_target<Element>(j.p, j.nrows, height, j.item_window[item], j.item_partial[item], 1.0);
    t->first = j.item_block[item];
    t->column = static_cast<int64_t>(number) * tile;
    t->blocks = static_cast<int>(j.item_block[item + 1] - t->first);
}

// The ring: rows of B of each stage, then data of each stage, then the barriers.
constexpr int stages = 2, task_bytes = 80;
static_assert(sizeof(task<float>) <= task_bytes && sizeof(task<double>) <= task_bytes, "");
struct ring {
    unsigned char *rows, *data;
    uint64_t *full, *empty;
    uint32_t *columns; // of the block that is copied
    void *task;
};

template <class Shape> __device__ __forceinline__ ring ring_at(const job &j)
{
    ring r;
    r.rows = dynamic_shared();
    r.data = r.rows + stages * Shape::stage;
    r.task = r.data + stages * j.room;
    r.columns = static_cast<uint32_t *>(r.task) + task_bytes / 4;
    r.full = reinterpret_cast<uint64_t *>(r.columns + Shape::width);
    r.empty = r.full + stages;
    return r;
}
template <class Shape> constexpr int ring_bytes = stages * (Shape::stage + 16) + Shape::width * 4 + task_bytes; // and room for data

// ---- the producer ----

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

/* Where a block lies, and the lane's columns of it. */
template <int Parts> struct source {
    int64_t vector, unit;   // its first
    uint32_t column[Parts];
};
template <class Shape, int Parts> __device__ __forceinline__ void find_columns(source<Parts> &s, const job &j)
{
#pragma unroll
    for (int i = 0; i < Parts; i++) {
        int64_t place = s.vector + threadIdx.x % 32 + 32 * i;
        s.column[i] = place < j.nvectors ? __ldg(j.column + place) : 0;
    }
}

/* Everything about a block is asked for while the one before it waits for its stage. */
template <class Element, class Shape> __device__ __forceinline__ void produce(const job &j, const task<Element> &t, const ring &r)
{
    constexpr int parts = (Shape::width + 31) / 32;
    const int lane = threadIdx.x % 32;
    const int64_t end = j.p.n - t.column, *begin = j.begin + t.first, *first = j.first + t.first;
    const uint32_t bytes = end < Shape::tile ? static_cast<uint32_t>((end * static_cast<int>(sizeof(Element)) + 15) / 16 * 16) : Shape::pitch;
    const unsigned char *b = keep_address(static_cast<const unsigned char *>(j.p.b) + t.column * static_cast<int64_t>(sizeof(Element)));
    const uint32_t blocks = static_cast<uint32_t>(t.blocks);
    if (blocks == 0)
        return;
    source<parts> here = {begin[0], first[0], {}}, next = {begin[1], first[1], {}};
    find_columns<Shape>(here, j);
    for (uint32_t k = 0; k < blocks; k++) {
        const uint32_t stage = k % stages;
        __syncwarp(); // the columns before are read
#pragma unroll
        for (int i = 0; i < parts; i++)
            if (lane + 32 * i < Shape::width)
                r.columns[lane + 32 * i] = here.column[i];
        __syncwarp();
        find_columns<Shape>(next, j);
        const uint32_t after = k + 2 <= blocks ? k + 2 : blocks;
        const int64_t vector_after = begin[after], unit_after = first[after];
        mbarrier_wait(r.empty + stage, ~(k / stages) & 1);
        if (elect_lane()) {
            const int count = static_cast<int>(next.vector - here.vector);
            const uint32_t size = static_cast<uint32_t>(next.unit - here.unit) * TSR_PANEL_UNIT;
            uint64_t *full = r.full + stage;
            mbarrier_arrive_expect(full, static_cast<unsigned>(count) * bytes + size);
            bulk_copy(r.data + stage * j.room, j.data + here.unit * TSR_PANEL_UNIT, size, full);
            copy_rows<Shape>(r.rows + stage * Shape::stage, b, j.row_bytes, bytes, shared_place_of(r.columns), count, full);
        }
        here = next;
        next.vector = vector_after;
        next.unit = unit_after;
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

/* sum += entries of the 8 rows, from `at` on; b: the lane's part of row 0 of the stage.  Entries come two at a time (FP64: one), and a row may begin
 * with the second.  That is told by where in the code the thread is: with a variable the compiler would ask it at every turn. */
template <class Shape>
__device__ __forceinline__ void add_entries(float (&sum)[rows][Shape::columns], uint32_t present, shared_place at, shared_place b)
{
    uint32_t two[4];
#define TSR_PANEL_LOAD(r, next)                                 \
    load_##r : load_shared(two, at);                            \
    at += sizeof two;                                           \
    if (add_entry<float, Shape>(sum[r], {{two[0], two[1]}}, b)) \
        goto second_##next;
#define TSR_PANEL_ADD(r)                                         \
    if (!add_entry<float, Shape>(sum[r], {{two[2], two[3]}}, b)) \
        goto load_##r;
#define TSR_PANEL_ROW(r, next)     \
    first_##r :                    \
    if (!(present >> r & 1))       \
        goto first_##next;         \
    TSR_PANEL_LOAD(r, next)        \
    add_##r : TSR_PANEL_ADD(r)
#define TSR_PANEL_SECOND(r, next)  \
    second_##r :                   \
    if (!(present >> r & 1))       \
        goto second_##next;        \
    goto add_##r;
    if (!(present & 1))
        goto first_1;
    TSR_PANEL_LOAD(0, 1)
    TSR_PANEL_ADD(0)
    TSR_PANEL_ROW(1, 2)
    TSR_PANEL_ROW(2, 3)
    TSR_PANEL_ROW(3, 4)
    TSR_PANEL_ROW(4, 5)
    TSR_PANEL_ROW(5, 6)
    TSR_PANEL_ROW(6, 7)
    TSR_PANEL_ROW(7, 8)
first_8:
second_8:
    return;
    TSR_PANEL_SECOND(1, 2)
    TSR_PANEL_SECOND(2, 3)
    TSR_PANEL_SECOND(3, 4)
    TSR_PANEL_SECOND(4, 5)
    TSR_PANEL_SECOND(5, 6)
    TSR_PANEL_SECOND(6, 7)
    TSR_PANEL_SECOND(7, 8)
#undef TSR_PANEL_LOAD
#undef TSR_PANEL_ADD
#undef TSR_PANEL_ROW
#undef TSR_PANEL_SECOND
}

template <class Shape>
__device__ __forceinline__ void add_entries(double (&sum)[rows][Shape::columns], uint32_t present, shared_place at, shared_place b)
{
#pragma unroll
    for (int r = 0; r < rows; r++) {
        if (!(present >> r & 1))
            continue;
        bool last;
#pragma unroll 1
        do {
            entry<double> e;
            load_shared(e.w, at);
            at += sizeof e;
            last = add_entry<double, Shape>(sum[r], e, b);
        } while (!last);
    }
}

/* Blocks [from, to) of the item. */
template <class Element, class Shape>
__device__ __forceinline__ void consume(const job &j, uint32_t from, uint32_t to, const ring &r, int consumer, int head,
                                        Element (&sum)[rows][Shape::columns])
{
    constexpr uint32_t entry_bytes = sizeof(entry<Element>);
    const bool speaks = threadIdx.x % 32 == 0;
    const shared_place first_b = keep_place(shared_place_of(r.rows + threadIdx.x % 32 * Shape::columns * static_cast<int>(sizeof(Element)))),
                       data = keep_place(shared_place_of(r.data));
    uint64_t *full = keep_address(r.full);
    for (uint32_t k = from; k < to; k++) {
        const uint32_t stage = k % stages;
        mbarrier_wait(full + stage, k / stages & 1);
        const shared_place here = data + stage * j.room, b = first_b + stage * Shape::stage;
        uint32_t word[1];
        load_shared(word, here + consumer * 4);
        const uint32_t present = word[0] & 255, skip = (word[0] >> 8) * entry_bytes + head;
        if (present)
            add_entries<Shape>(sum, present, here + skip, b);
        __syncwarp();
        if (speaks)
            mbarrier_arrive(full + stages + stage); // `empty`
    }
}

/* more: the first sums are there already. */
template <class Element, class Shape>
__device__ __forceinline__ void store(const job &j, const task<Element> &t, int consumer, const Element (&sum)[rows][Shape::columns], bool more)
{
    constexpr int piece = 16 / sizeof(Element);
    tensor_output<Element> out = t.out;
    out.beta = more ? 1 : out.beta;
    int64_t column = t.column + static_cast<int>(threadIdx.x % 32) * Shape::columns;
    if (column >= j.p.n)
        return;
#pragma unroll
    for (int r = 0; r < rows; r++) {
        int row = consumer * rows + r;
        if constexpr (Shape::columns == piece) {
            tensor_store(out, row, column, j.p.n, sum[r]);
        } else if (row < out.rows) {
            Element *c = tensor_row(out, row) + column;
#pragma unroll
            for (int i = 0; i < Shape::columns; i++)
                if (column + i < j.p.n)
                    c[i] = out.beta != 0 ? out.alpha * sum[r][i] + out.beta * c[i] : out.alpha * sum[r][i];
        }
    }
}

template <class Element, int Height, int Width, int Columns>
__global__ void __launch_bounds__(4 * Height + 32, Height == 64 ? 4 : Width < 32 ? 7 : 6) panel_kernel(job j)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    using of = shape<Element, Columns, Width>;
    constexpr int consumers = Height / rows, head = consumers * 4;
    int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x / 32), 0); // the compiler learns that it is the same for all lanes
    ring r = ring_at<of>(j);
    task<Element> &t = *static_cast<task<Element> *>(r.task);
    if (threadIdx.x == 0) {
        find_task(&t, j, of::tile, Height);
        for (int s = 0; s < stages; s++) {
            mbarrier_init(r.full + s, 1);
            mbarrier_init(r.empty + s, consumers);
        }
        mbarrier_fence_init();
    }
    __syncthreads();
    if (warp == 0) {
        produce<Element, of>(j, t, r);
        return;
    }
    const uint32_t blocks = static_cast<uint32_t>(t.blocks);
    uint32_t from = 0, to;
    do {
        Element sum[rows][Columns] = {};
        to = min(from + j.chain, blocks);
        consume<Element, of>(j, from, to, r, warp - 1, head, sum);
        store<Element, of>(j, t, warp - 1, sum, from > 0);
        from = to;
    } while (to < blocks);
#endif
}

// ---- the host's side ----

template <class Element, int Height, int Width, int Columns> tsr_status launch(job j)
{
    using of = shape<Element, Columns, Width>;
    j.tiles = static_cast<uint32_t>((j.p.n + of::tile - 1) / of::tile);
    if (j.items * static_cast<uint64_t>(j.tiles) > 0x7fffffff)
        return TSR_DECLINED;
    j.chain = j.p.variant == 1 ? 1 : sizeof(Element) == sizeof(float) ? longest_chain / Width : 1u << 30;
    size_t shared = static_cast<size_t>(ring_bytes<of>) + stages * static_cast<size_t>(j.room);
    auto kernel = panel_kernel<Element, Height, Width, Columns>;
    if (!tensor_allow_shared(kernel, shared))
        return TSR_INTERNAL_ERROR;
    TSR_LAUNCH(kernel, j.items * j.tiles, 4 * Height + 32, shared, j.p.stream, j);
    return launch_status();
}

template <class Element, int Height, int Width> tsr_status launch(const job &j)
{
    constexpr int most = 16 / static_cast<int>(sizeof(Element));
    if (j.p.n <= 32)
        return launch<Element, Height, Width, 1>(j);
    if (j.p.n <= 64 && most > 2)
        return launch<Element, Height, Width, 2>(j);
    return launch<Element, Height, Width, most>(j);
}

template <class Element> tsr_status launch(const job &j, const tsr_windows &w)
{
    switch (w.height * 100 + w.width) {
    case 3216: return launch<Element, 32, 16>(j);
    case 3224: return launch<Element, 32, 24>(j);
    case 3232: return launch<Element, 32, 32>(j);
    case 6432: return launch<Element, 64, 32>(j);
    case 6448: return launch<Element, 64, 48>(j);
    case 6464: return launch<Element, 64, 64>(j);
    default: return TSR_DECLINED;
    }
}

} // namespace

/* The start of an item and its partial sum cost about as much as 4 blocks.  Windows of a small matrix are cut such that items fill whole waves
 * of the device; with many waves an item may take an eighth of the whole time. */
extern "C" int64_t tsr_cuda_panel_most(const tsr_windows *w, const tsr_cuda_device *device)
{
    constexpr int least = 8, overhead = 4;
    const int64_t slots = static_cast<int64_t>(device->sms) * (w->height == 64 ? (w->width < 64 ? 4 : 3) : w->width < 32 ? 7 : 6);
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
    const bool wide = p->math == TSR_CUDA_FP64;
    const int64_t size = wide ? sizeof(double) : sizeof(float), row_bytes = p->ldb * size;
    if ((p->math != TSR_CUDA_EXACT && p->math != TSR_CUDA_TF32 && !wide) || p->device->major < 9 || !tensor_takes(p, false))
        return TSR_DECLINED;
    if (row_bytes > 0xffffffff || p->variant < 0 || p->variant > 1 || work->nitems > 0x7fffffff)
        return TSR_DECLINED;
    job j = {};
    j.p = *p;
    j.nrows = a->w.nrows;
    j.nvectors = a->w.nvectors;
    j.column = a->w.column;
    j.begin = a->begin;
    j.first = a->first;
    j.data = static_cast<const unsigned char *>(a->data);
    j.item_window = work->window;
    j.item_block = work->block;
    j.item_partial = work->partial;
    j.items = static_cast<uint32_t>(work->nitems);
    j.row_bytes = static_cast<uint32_t>(row_bytes);
    j.room = static_cast<uint32_t>(a->largest) * TSR_PANEL_UNIT;
    j.tile_major = tensor_tile_major(p, a->w.ncols, 512 / size, static_cast<size_t>(size));
    if (work->nitems == 0)
        return TSR_OK;
    tsr_status status = wide ? launch<double>(j, a->w) : launch<float>(j, a->w);
    return status == TSR_OK ? tsr_cuda_add_partials(&a->w, work, p) : status;
}
