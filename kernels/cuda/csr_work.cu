// Cuts a matrix by row into items of bounded size, on the device, in three steps: count per block of rows (chunks), scan the blocks, write.
// The lists are the same every time.
//
// SpMM: whether a row begins an item depends on the row and its predecessor alone.  A row longer than `cut` becomes items of its own, cut evenly.  A row longer than `chunk` is one item.  Other rows are grouped: a row
// begins a new item where its first entry lies in another chunk (entry / chunk) than that of the row before, after a row that is not
// grouped, and at multiples of spmm_item_rows (so that empty rows have a bound too).
//
// SpMV: every spmv_chunk entries are an item, or several where very many rows end in them (empty ones).
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/csr_work.cuh"
#include "kernels/cuda/device.cuh"

namespace {

constexpr int threads = 256; /* rows of a block */

struct rule {
    int64_t chunk, alone, cut;
    int rows;
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
    int64_t start = p[row], length = p[row + 1] - start;
    if (length > rule.cut) {
        int64_t segments = (length + rule.cut - 1) / rule.cut;
        return { segments, segments, 1 };
    }
    if (length > rule.alone || row % rule.rows == 0)
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
    return { before.items + sum.items - mine.items, before.partials + sum.partials - mine.partials, before.split + sum.split - mine.split };
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

__global__ void __launch_bounds__(threads) write_items(const int64_t *p, int64_t nrows, rule rule, const counts *blocks, csr_item *items,
    csr_split *split)
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
            mine.split ? int32_t(at.partials + k) : -1 };
    if (row == nrows - 1) {
        items[at.items + mine.items] = { start + length, uint32_t(nrows), -1 };
        split[at.split + mine.split] = { at.partials + mine.partials, 0 };
    }
}

// ---- SpMV ----

/* row[c]: how many rows end at or before the first entry of chunk c; of the first chunk none, even if they are empty. */
__global__ void __launch_bounds__(threads) find_rows(const int64_t *p, int64_t nrows, int64_t nchunks, uint32_t *row)
{
    int64_t c = blockIdx.x * int64_t(threads) + threadIdx.x;
    if (c > nchunks)
        return;
    int64_t low = 0, high = c == 0 ? 0 : nrows;
    if (c == nchunks)
        low = nrows;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (__ldg(p + middle + 1) > c * spmv_chunk)
            high = middle;
        else
            low = middle + 1;
    }
    row[c] = uint32_t(low);
}

__device__ counts count_chunk(const uint32_t *row, int64_t nchunks, int64_t c)
{
    if (c >= nchunks)
        return { 0, 0, 0 };
    int64_t rows = int64_t(row[c + 1]) - row[c];
    return { rows > span_item_rows ? (rows + span_item_rows - 1) / span_item_rows : 1, 0, 0 };
}

__global__ void __launch_bounds__(threads) count_chunks(const uint32_t *row, int64_t nchunks, counts *blocks)
{
    counts total;
    scan_block(count_chunk(row, nchunks, blockIdx.x * int64_t(threads) + threadIdx.x), &total);
    if (threadIdx.x == 0)
        blocks[blockIdx.x] = total;
}

__global__ void __launch_bounds__(threads) write_chunks(const int64_t *p, int64_t nrows, int64_t nvals, const uint32_t *row,
    int64_t nchunks, const counts *blocks, csr_item *items)
{
    int64_t c = blockIdx.x * int64_t(threads) + threadIdx.x;
    counts mine = count_chunk(row, nchunks, c), total;
    counts at = blocks[blockIdx.x] + scan_block(mine, &total);
    if (c >= nchunks)
        return;
    for (int64_t k = 0; k < mine.items; k++) {
        uint32_t first = row[c] + uint32_t(k) * span_item_rows;
        items[at.items + k] = { k == 0 ? c * spmv_chunk : p[first], first, -1 };
    }
    if (c == nchunks - 1)
        items[at.items + mine.items] = { nvals, uint32_t(nrows), -1 };
}

// ---- Both ----

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

/* Scratch.  blocks: one per block of rows or chunks, and a total. */
struct scratch {
    int64_t nchunks;
    counts *spmm, *spmv, *spans;
    uint32_t *first_row; /* of every chunk */
    counts total_spmm, total_spmv, total_spans;
};

size_t scratch_bytes(const tsr_cuda_csr *a, int64_t nchunks)
{
    return sizeof(counts) * (2 * size_t(blocks_for(a->nrows)) + blocks_for(nchunks) + 3) + sizeof(uint32_t) * size_t(nchunks + 1);
}

tsr_status count_list(const tsr_cuda_csr *a, rule rule, counts *blocks, counts *total, void *stream)
{
    unsigned n = blocks_for(a->nrows);
    TSR_LAUNCH(count_rows, n, threads, 0, stream, a->p, a->nrows, rule, blocks);
    TSR_LAUNCH(scan_blocks, 1, threads, 0, stream, blocks, int64_t(n));
    return tsr_cuda_to_host(total, blocks + n, sizeof *total, stream);
}

tsr_status count_spans(const tsr_cuda_csr *a, scratch *s, void *stream)
{
    unsigned n = blocks_for(s->nchunks);
    TSR_LAUNCH(find_rows, blocks_for(s->nchunks + 1), threads, 0, stream, a->p, a->nrows, s->nchunks, s->first_row);
    TSR_LAUNCH(count_chunks, n, threads, 0, stream, s->first_row, s->nchunks, s->spans);
    TSR_LAUNCH(scan_blocks, 1, threads, 0, stream, s->spans, int64_t(n));
    return tsr_cuda_to_host(&s->total_spans, s->spans + n, sizeof(counts), stream);
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

tsr_status make_lists(tsr_cuda_csr *a, rule spmm, rule spmv, scratch *s, void *stream)
{
    tsr_status status = count_list(a, spmm, s->spmm, &s->total_spmm, stream);
    if (status == TSR_OK)
        status = count_list(a, spmv, s->spmv, &s->total_spmv, stream);
    if (status == TSR_OK)
        status = count_spans(a, s, stream);
    if (status == TSR_OK)
        status = tsr_cuda_wait(stream);
    if (status == TSR_OK && (s->total_spmm.partials > INT32_MAX || s->total_spmv.partials > INT32_MAX))
        status = TSR_DECLINED;
    if (status == TSR_OK)
        status = tsr_cuda_malloc(&a->work, list_bytes(s->total_spmm) + list_bytes(s->total_spmv) + list_bytes(s->total_spans), stream);
    if (status != TSR_OK)
        return status;
    char *work = describe(&a->spmm, s->total_spmm, static_cast<char *>(a->work));
    work = describe(&a->spmv, s->total_spmv, work);
    describe(&a->spans, s->total_spans, work);
    write_list(a, spmm, s->spmm, &a->spmm, stream);
    write_list(a, spmv, s->spmv, &a->spmv, stream);
    TSR_LAUNCH(write_chunks, blocks_for(s->nchunks), threads, 0, stream, a->p, a->nrows, a->nvals, s->first_row, s->nchunks, s->spans,
        static_cast<csr_item *>(a->spans.items));
    return tsr_cuda_wait(stream);
}

} // namespace

extern "C" tsr_status tsr_cuda_csr_work(tsr_cuda_csr *a, const tsr_cuda_device *device, void *stream)
{
    a->work = nullptr;
    a->spmm = a->spmv = a->spans = tsr_cuda_csr_list{};
    if (a->nrows >= UINT32_MAX)
        return TSR_DECLINED;
    if (a->nrows == 0)
        return TSR_OK;
    int64_t cut = cut_for(a->nvals, device, 64, 1024), chunk = cut < 128 ? cut : 128, wide = cut_for(a->nvals, device, 128, 1024);
    scratch s = {};
    s.nchunks = a->nvals > spmv_chunk ? (a->nvals + spmv_chunk - 1) / spmv_chunk : 1;
    void *memory;
    tsr_status status = tsr_cuda_malloc(&memory, scratch_bytes(a, s.nchunks), stream);
    if (status != TSR_OK)
        return status;
    s.spmm = static_cast<counts *>(memory);
    s.spmv = s.spmm + blocks_for(a->nrows) + 1;
    s.spans = s.spmv + blocks_for(a->nrows) + 1;
    s.first_row = reinterpret_cast<uint32_t *>(s.spans + blocks_for(s.nchunks) + 1);
    status = make_lists(a, { chunk, chunk, cut, spmm_item_rows }, { wide, wide < 256 ? wide : 256, 4 * wide, spmv_item_rows }, &s, stream);
    tsr_cuda_free(memory, stream);
    if (status != TSR_OK)
        tsr_cuda_csr_work_free(a, stream);
    return status;
}

extern "C" void tsr_cuda_csr_work_free(tsr_cuda_csr *a, void *stream)
{
    tsr_cuda_free(a->work, stream);
    a->work = nullptr;
    a->spmm = a->spmv = a->spans = tsr_cuda_csr_list{};
}
