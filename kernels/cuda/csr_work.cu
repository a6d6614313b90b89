// Cuts a matrix by row into items of bounded size, on the device, in three steps: count per block of rows (chunks), scan the
// blocks, write. The lists are the same every time.
//
// SpMM: whether a row begins an item depends on the row and its predecessor alone.  A row longer than `cut` becomes items of its
// own, cut evenly.  A row longer than `chunk` is one item.  Other rows are grouped: a row begins a new item where its first entry
// lies in another chunk (entry / chunk) than that of the row before, after a row that is not grouped, and at multiples of
// spmm_item_rows (so that empty rows have a bound too).
//
// SpMV: rows are sorted by length into a few classes, ascending in each; rows that are longer still are cut into segments.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/csr_work.cuh"
#include "kernels/cuda/device.cuh"

namespace {

constexpr int threads = 256; /* rows of a block */

struct rule {
    int64_t chunk, alone, cut;
    int rows; /* 0: only rows that are cut */
    const uint8_t *skip = nullptr; /* by row >> log_height: somebody else computes these rows */
    int log_height = 0;

    __device__ bool skips(int64_t row) const { return skip && skip[row >> log_height]; }
};

/* What a row (a block of rows, all rows) adds to the lists. */
struct counts {
    int64_t items, partials, split;
};

__device__ __forceinline__ counts operator+(counts a, counts b)
{
    return { a.items + b.items, a.partials + b.partials, a.split + b.split };
}

__device__ __forceinline__ counts shift_up(counts c, int by)
{
    return { __shfl_up_sync(~0u, c.items, by), __shfl_up_sync(~0u, c.partials, by), __shfl_up_sync(~0u, c.split, by) };
}

__device__ counts count_row(const int64_t *p, int64_t nrows, int64_t row, rule rule)
{
    if (row >= nrows)
        return { 0, 0, 0 };
    if (rule.skips(row))
        return { row == 0 || !rule.skips(row - 1), 0, 0 };
    int64_t start = p[row], length = p[row + 1] - start;
    if (length > rule.cut) {
        int64_t segments = (length + rule.cut - 1) / rule.cut;
        return { segments, segments, 1 };
    }
    if (rule.rows == 0)
        return { 0, 0, 0 };
    if (length > rule.alone || row % rule.rows == 0 || rule.skips(row - 1))
        return { 1, 0, 0 };
    int64_t before = p[row - 1];
    return { start - before > rule.alone || start / rule.chunk != before / rule.chunk, 0, 0 };
}

/* Sum of the values of the threads before this one; *total: of all threads of the block. */
__device__ counts scan_block(counts mine, counts *total)
{
    __shared__ counts warps[threads / 32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    counts sum = mine;
    for (int by = 1; by < 32; by *= 2) {
        counts below = shift_up(sum, by);
        if (lane >= by)
            sum = sum + below;
    }
    if (lane == 31)
        warps[warp] = sum;
    __syncthreads();
    counts before = { 0, 0, 0 };
    *total = before;
    for (int w = 0; w < threads / 32; w++) {
        if (w == warp)
            before = *total;
        *total = *total + warps[w];
    }
    __syncthreads();
    return { before.items + sum.items - mine.items, before.partials + sum.partials - mine.partials,
        before.split + sum.split - mine.split };
}

__global__ void __launch_bounds__(threads) count_rows(const int64_t *p, int64_t nrows, rule rule, counts *blocks)
{
    counts total;
    scan_block(count_row(p, nrows, blockIdx.x * int64_t(threads) + threadIdx.x, rule), &total);
    if (threadIdx.x == 0)
        blocks[blockIdx.x] = total;
}

/* blocks[0 .. n) become sums of those before; blocks[n] the total. */
__global__ void __launch_bounds__(threads) scan_blocks(counts *blocks, int64_t n)
{
    counts before = { 0, 0, 0 };
    for (int64_t first = 0; first < n; first += threads) {
        int64_t at = first + threadIdx.x;
        counts total, none = { 0, 0, 0 };
        counts sum = scan_block(at < n ? blocks[at] : none, &total);
        if (at < n)
            blocks[at] = before + sum;
        before = before + total;
    }
    if (threadIdx.x == 0)
        blocks[n] = before;
}

__global__ void __launch_bounds__(threads)
    write_items(const int64_t *p, int64_t nrows, rule rule, const counts *blocks, csr_item *items, csr_split *split)
{
    int64_t row = blockIdx.x * int64_t(threads) + threadIdx.x;
    counts mine = count_row(p, nrows, row, rule), total;
    counts at = blocks[blockIdx.x] + scan_block(mine, &total);
    if (row >= nrows)
        return;
    int64_t start = p[row], length = p[row + 1] - start;
    if (mine.split)
        split[at.split] = { at.partials, row };
    for (int64_t k = 0; k < mine.items; k++)
        items[at.items + k] = { start + length / mine.items * k + length % mine.items * k / mine.items, uint32_t(row),
            mine.split ? int32_t(at.partials + k) : rule.skips(row) ? csr_skipped : -1 };
    if (row == nrows - 1) {
        items[at.items + mine.items] = { start + length, uint32_t(nrows), -1 };
        split[at.split + mine.split] = { at.partials + mine.partials, 0 };
    }
}

// ---- Classes of rows ----

__device__ int class_of(const int64_t *p, int64_t nrows, int64_t row)
{
    constexpr int most[spmv_classes] = SPMV_CLASS_LENGTHS;
    if (row >= nrows)
        return spmv_classes;
    int64_t length = p[row + 1] - p[row];
    int c = 0;
#pragma unroll
    for (int k = 0; k < spmv_classes; k++)
        c += length > most[k];
    return c;
}

/* How many threads of the block before this one have the same class; in[c]: how many of all have class c. */
__device__ int rank_in_class(int c, int in[spmv_classes])
{
    __shared__ int warps[spmv_classes][threads / 32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, rank = 0;
#pragma unroll
    for (int k = 0; k < spmv_classes; k++) {
        unsigned same = __ballot_sync(~0u, c == k);
        if (c == k)
            rank = __popc(same & ((1u << lane) - 1));
        if (lane == 0)
            warps[k][warp] = __popc(same);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < spmv_classes; k++) {
        in[k] = 0;
        for (int w = 0; w < threads / 32; w++) {
            if (c == k && w == warp)
                rank += in[k];
            in[k] += warps[k][w];
        }
    }
    return rank;
}

/* count[k * (nblocks + 1) + b]: rows of class k in block b. */
__global__ void __launch_bounds__(threads) count_classes(const int64_t *p, int64_t nrows, uint32_t *count)
{
    int in[spmv_classes];
    rank_in_class(class_of(p, nrows, blockIdx.x * int64_t(threads) + threadIdx.x), in);
    if (threadIdx.x == 0)
#pragma unroll
        for (int k = 0; k < spmv_classes; k++)
            count[k * (int64_t(gridDim.x) + 1) + blockIdx.x] = in[k];
}

/* Block k: the counts of class k become sums of those before, the last the total. */
__global__ void __launch_bounds__(threads) scan_classes(uint32_t *count, int64_t nblocks)
{
    counts before = { 0, 0, 0 };
    uint32_t *mine = count + blockIdx.x * (nblocks + 1);
    for (int64_t first = 0; first < nblocks; first += threads) {
        int64_t at = first + threadIdx.x;
        counts total, here = { at < nblocks ? mine[at] : 0, 0, 0 };
        counts sum = scan_block(here, &total);
        if (at < nblocks)
            mine[at] = uint32_t(before.items + sum.items);
        before = before + total;
    }
    if (threadIdx.x == 0)
        mine[nblocks] = uint32_t(before.items);
}

__global__ void __launch_bounds__(threads) write_classes(const int64_t *p, int64_t nrows, const uint32_t *count, uint32_t *rows)
{
    int64_t row = blockIdx.x * int64_t(threads) + threadIdx.x, nblocks = gridDim.x, start = 0;
    int in[spmv_classes], c = class_of(p, nrows, row), rank = rank_in_class(c, in);
    if (c == spmv_classes)
        return;
    for (int k = 0; k < c; k++)
        start += count[k * (nblocks + 1) + nblocks];
    rows[start + count[c * (nblocks + 1) + blockIdx.x] + rank] = uint32_t(row);
}

// ---- All ----

/* Enough items to keep every warp of the device busy several times over. */
int64_t cut_for(int64_t nvals, const tsr_cuda_device *device, int64_t least, int64_t most)
{
    int64_t cut = least, share = nvals / (int64_t(device->sms) * 128);
    while (cut < most && cut < share)
        cut *= 2;
    return cut;
}

unsigned blocks_for(int64_t n)
{
    return unsigned((n + threads - 1) / threads);
}

/* Scratch: one per block of rows, and a total. */
struct scratch {
    counts *spmm, *segments;
    uint32_t *classes;
    counts total_spmm, total_segments;
};

size_t scratch_bytes(const tsr_cuda_csr *a)
{
    return (size_t(blocks_for(a->nrows)) + 1) * (2 * sizeof(counts) + spmv_classes * sizeof(uint32_t));
}

tsr_status count_list(const tsr_cuda_csr *a, rule rule, counts *blocks, counts *total, void *stream)
{
    unsigned n = blocks_for(a->nrows);
    TSR_LAUNCH(count_rows, n, threads, 0, stream, a->p, a->nrows, rule, blocks);
    TSR_LAUNCH(scan_blocks, 1, threads, 0, stream, blocks, int64_t(n));
    tsr_status status = launch_status();
    return status == TSR_OK ? tsr_cuda_to_host(total, blocks + n, sizeof *total, stream) : status;
}

tsr_status count_by_length(tsr_cuda_csr *a, uint32_t *count, void *stream)
{
    int64_t n = blocks_for(a->nrows);
    uint32_t total[spmv_classes];
    TSR_LAUNCH(count_classes, unsigned(n), threads, 0, stream, a->p, a->nrows, count);
    TSR_LAUNCH(scan_classes, spmv_classes, threads, 0, stream, count, n);
    tsr_status status = launch_status();
    for (int c = 0; c < spmv_classes && status == TSR_OK; c++)
        status = tsr_cuda_to_host(&total[c], count + c * (n + 1) + n, sizeof total[c], stream);
    if (status == TSR_OK)
        status = tsr_cuda_wait(stream);
    for (int c = 0; c < spmv_classes; c++)
        a->class_rows[c] = status == TSR_OK ? total[c] : 0;
    return status;
}

size_t list_bytes(counts total)
{
    return size_t(total.items + 1) * sizeof(csr_item) + size_t(total.split + 1) * sizeof(csr_split);
}

char *describe(tsr_cuda_csr_list *list, counts total, char *work)
{
    list->nitems = total.items;
    list->npartials = total.partials;
    list->nsplit = total.split;
    list->items = work;
    list->split = reinterpret_cast<csr_item *>(work) + total.items + 1;
    return work + list_bytes(total);
}

void write_list(const tsr_cuda_csr *a, rule rule, const counts *blocks, const tsr_cuda_csr_list *list, void *stream)
{
    TSR_LAUNCH(write_items, blocks_for(a->nrows), threads, 0, stream, a->p, a->nrows, rule, blocks,
        static_cast<csr_item *>(list->items), static_cast<csr_split *>(list->split));
}

tsr_status make_lists(tsr_cuda_csr *a, rule spmm, rule segments, scratch *s, void *stream)
{
    tsr_status status = count_list(a, spmm, s->spmm, &s->total_spmm, stream);
    if (status == TSR_OK)
        status = count_list(a, segments, s->segments, &s->total_segments, stream);
    if (status == TSR_OK)
        status = count_by_length(a, s->classes, stream);
    if (status == TSR_OK && s->total_spmm.partials > INT32_MAX)
        status = TSR_DECLINED;
    size_t bytes = list_bytes(s->total_spmm) + list_bytes(s->total_segments);
    if (status == TSR_OK)
        status = tsr_cuda_malloc(&a->work, bytes + size_t(a->nrows) * sizeof(uint32_t), stream);
    if (status != TSR_OK)
        return status;
    char *work = describe(&a->spmm, s->total_spmm, static_cast<char *>(a->work));
    work = describe(&a->segments, s->total_segments, work);
    a->rows = reinterpret_cast<uint32_t *>(work);
    write_list(a, spmm, s->spmm, &a->spmm, stream);
    write_list(a, segments, s->segments, &a->segments, stream);
    TSR_LAUNCH(write_classes, blocks_for(a->nrows), threads, 0, stream, a->p, a->nrows, s->classes, a->rows);
    status = launch_status();
    return status == TSR_OK ? tsr_cuda_wait(stream) : status;
}

void forget_work(tsr_cuda_csr *a)
{
    a->work = nullptr;
    a->rows = nullptr;
    a->spmm = a->segments = tsr_cuda_csr_list{};
    for (int c = 0; c < spmv_classes; c++)
        a->class_rows[c] = 0;
}

} // namespace

extern "C" tsr_status tsr_cuda_csr_work(tsr_cuda_csr *a, const tsr_cuda_device *device, void *stream)
{
    constexpr int most[spmv_classes] = SPMV_CLASS_LENGTHS;
    forget_work(a);
    if (a->nrows >= UINT32_MAX)
        return TSR_DECLINED;
    if (a->nrows == 0)
        return TSR_OK;
    int64_t cut = cut_for(a->nvals, device, 64, 1024), chunk = cut < 128 ? cut : 128;
    int64_t n = int64_t(blocks_for(a->nrows)) + 1;
    void *memory;
    tsr_status status = tsr_cuda_malloc(&memory, scratch_bytes(a), stream);
    if (status != TSR_OK)
        return status;
    scratch s = {};
    s.spmm = static_cast<counts *>(memory);
    s.segments = s.spmm + n;
    s.classes = reinterpret_cast<uint32_t *>(s.segments + n);
    status = make_lists(a, { chunk, chunk, cut, spmm_item_rows }, { 0, 0, most[spmv_classes - 1], 0 }, &s, stream);
    tsr_cuda_free(memory, stream);
    if (status != TSR_OK)
        tsr_cuda_csr_work_free(a, stream);
    return status;
}

extern "C" tsr_status tsr_cuda_csr_work_part(
    tsr_cuda_csr *a, const uint8_t *skip, int height, const tsr_cuda_device *device, void *stream)
{
    forget_work(a);
    if (a->nrows >= UINT32_MAX)
        return TSR_DECLINED;
    int64_t cut = cut_for(a->nvals, device, 64, 1024), chunk = cut < 128 ? cut : 128;
    rule rule = { chunk, chunk, cut, spmm_item_rows, skip, __builtin_ctz(unsigned(height)) };
    counts total;
    void *memory;
    tsr_status status = tsr_cuda_malloc(&memory, (size_t(blocks_for(a->nrows)) + 1) * sizeof(counts), stream);
    if (status != TSR_OK)
        return status;
    status = count_list(a, rule, static_cast<counts *>(memory), &total, stream);
    tsr_status waited = tsr_cuda_wait(stream);
    if (status == TSR_OK)
        status = waited == TSR_OK && total.partials > INT32_MAX ? TSR_DECLINED : waited;
    if (status == TSR_OK)
        status = tsr_cuda_malloc(&a->work, list_bytes(total), stream);
    if (status == TSR_OK) {
        describe(&a->spmm, total, static_cast<char *>(a->work));
        write_list(a, rule, static_cast<counts *>(memory), &a->spmm, stream);
        status = launch_status();
    }
    tsr_cuda_free(memory, stream);
    if (status != TSR_OK)
        tsr_cuda_csr_work_free(a, stream);
    return status;
}

extern "C" void tsr_cuda_csr_work_free(tsr_cuda_csr *a, void *stream)
{
    tsr_cuda_free(a->work, stream);
    forget_work(a);
}
