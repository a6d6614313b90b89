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
    int64_t chunk, cut;
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
    if (length > rule.chunk || row % spmm_item_rows == 0)
        return { 1, 0, 0 };
    int64_t before = p[row - 1];
    return { start - before > rule.chunk || start / rule.chunk != before / rule.chunk, 0, 0 };
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
    return { rows > spmv_item_rows ? (rows + spmv_item_rows - 1) / spmv_item_rows : 1, 0, 0 };
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
        uint32_t first = row[c] + uint32_t(k) * spmv_item_rows;
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

/* Scratch of both lists.  blocks: one per block of rows or chunks, and a total. */
struct scratch {
    int64_t nchunks;
    counts *rows, *chunks;
    uint32_t *first_row; /* of every chunk */
    counts total_rows, total_chunks;
};

size_t scratch_bytes(const tsr_cuda_csr *a, int64_t nchunks)
{
    return sizeof(counts) * (size_t(blocks_for(a->nrows)) + blocks_for(nchunks) + 2) + sizeof(uint32_t) * size_t(nchunks + 1);
}

tsr_status count_both(const tsr_cuda_csr *a, rule rule, scratch *s, void *stream)
{
    unsigned rows = blocks_for(a->nrows), chunks = blocks_for(s->nchunks);
    TSR_LAUNCH(count_rows, rows, threads, 0, stream, a->p, a->nrows, rule, s->rows);
    TSR_LAUNCH(scan_blocks, 1, threads, 0, stream, s->rows, int64_t(rows));
    TSR_LAUNCH(find_rows, blocks_for(s->nchunks + 1), threads, 0, stream, a->p, a->nrows, s->nchunks, s->first_row);
    TSR_LAUNCH(count_chunks, chunks, threads, 0, stream, s->first_row, s->nchunks, s->chunks);
    TSR_LAUNCH(scan_blocks, 1, threads, 0, stream, s->chunks, int64_t(chunks));
    tsr_status status = tsr_cuda_to_host(&s->total_rows, s->rows + rows, sizeof(counts), stream);
    if (status == TSR_OK)
        status = tsr_cuda_to_host(&s->total_chunks, s->chunks + chunks, sizeof(counts), stream);
    return status == TSR_OK ? tsr_cuda_wait(stream) : status;
}

size_t list_bytes(counts total)
{
    return size_t(total.items + 1) * sizeof(csr_item) + size_t(total.split + 1) * sizeof(csr_split);
}

void describe(tsr_cuda_csr_list *list, counts total, void *work)
{
    list->nitems = total.items;
    list->npartials = total.partials;
    list->nsplit = total.split;
    list->items = work;
    list->split = static_cast<csr_item *>(work) + total.items + 1;
}

void write_both(const tsr_cuda_csr *a, rule rule, const scratch *s, void *stream)
{
    TSR_LAUNCH(write_items, blocks_for(a->nrows), threads, 0, stream, a->p, a->nrows, rule, s->rows,
        static_cast<csr_item *>(a->spmm.items), static_cast<csr_split *>(a->spmm.split));
    TSR_LAUNCH(write_chunks, blocks_for(s->nchunks), threads, 0, stream, a->p, a->nrows, a->nvals, s->first_row, s->nchunks, s->chunks,
        static_cast<csr_item *>(a->spmv.items));
}

tsr_status make_lists(tsr_cuda_csr *a, rule rule, scratch *s, void *stream)
{
    tsr_status status = count_both(a, rule, s, stream);
    if (status == TSR_OK && s->total_rows.partials > INT32_MAX)
        status = TSR_DECLINED;
    if (status == TSR_OK)
        status = tsr_cuda_malloc(&a->work, list_bytes(s->total_rows) + list_bytes(s->total_chunks), stream);
    if (status != TSR_OK)
        return status;
    describe(&a->spmm, s->total_rows, a->work);
    describe(&a->spmv, s->total_chunks, static_cast<char *>(a->work) + list_bytes(s->total_rows));
    write_both(a, rule, s, stream);
    return tsr_cuda_wait(stream);
}

} // namespace

extern "C" tsr_status tsr_cuda_csr_work(tsr_cuda_csr *a, const tsr_cuda_device *device, void *stream)
{
    a->work = nullptr;
    a->spmm = a->spmv = tsr_cuda_csr_list{};
    if (a->nrows >= UINT32_MAX)
        return TSR_DECLINED;
    if (a->nrows == 0)
        return TSR_OK;
    int64_t cut = cut_for(a->nvals, device, 64, 1024);
    scratch s = {};
    s.nchunks = a->nvals > spmv_chunk ? (a->nvals + spmv_chunk - 1) / spmv_chunk : 1;
    void *memory;
    tsr_status status = tsr_cuda_malloc(&memory, scratch_bytes(a, s.nchunks), stream);
    if (status != TSR_OK)
        return status;
    s.rows = static_cast<counts *>(memory);
    s.chunks = s.rows + blocks_for(a->nrows) + 1;
    s.first_row = reinterpret_cast<uint32_t *>(s.chunks + blocks_for(s.nchunks) + 1);
    status = make_lists(a, { cut < 128 ? cut : 128, cut }, &s, stream);
    tsr_cuda_free(memory, stream);
    if (status != TSR_OK)
        tsr_cuda_csr_work_free(a, stream);
    return status;
}

extern "C" void tsr_cuda_csr_work_free(tsr_cuda_csr *a, void *stream)
{
    tsr_cuda_free(a->work, stream);
    a->work = nullptr;
    a->spmm = a->spmv = tsr_cuda_csr_list{};
}
