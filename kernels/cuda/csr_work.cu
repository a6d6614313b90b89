// Cuts a matrix by row into items of bounded size, on the device, in three steps: count per block of rows, scan the blocks, write.  Whether a
// row begins an item depends on the row and its predecessor alone, so the lists are the same every time.
//
// A row longer than `cut` becomes items of its own, cut evenly.  A row longer than `chunk` is one item.  Other rows are grouped: a row
// begins a new item where its first entry lies in another chunk (entry / chunk) than that of the row before, after a row that is not
// grouped, and at multiples of `rows` (so that empty rows have a bound too).  A group has fewer than 2 * chunk entries.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/csr_work.cuh"
#include "kernels/cuda/device.cuh"

namespace {

constexpr int threads = 256; /* rows of a block */

struct rule {
    int64_t chunk, cut;
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
    if (length > rule.chunk || row % rule.rows == 0)
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

/* Enough items to keep every warp of the device busy several times over. */
int64_t cut_for(int64_t nvals, const tsr_cuda_device *device, int64_t least, int64_t most)
{
    int64_t cut = least, share = nvals / (int64_t(device->sms) * 256);
    while (cut < most && cut < share)
        cut *= 2;
    return cut;
}

tsr_status count_list(const tsr_cuda_csr *a, rule rule, counts *blocks, counts *total, void *stream)
{
    int64_t n = (a->nrows + threads - 1) / threads;
    TSR_LAUNCH(count_rows, unsigned(n), threads, 0, stream, a->p, a->nrows, rule, blocks);
    TSR_LAUNCH(scan_blocks, 1, threads, 0, stream, blocks, n);
    return tsr_cuda_to_host(total, blocks + n, sizeof *total, stream);
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

void write_list(const tsr_cuda_csr *a, rule rule, const counts *blocks, const tsr_cuda_csr_list *list, void *stream)
{
    TSR_LAUNCH(write_items, unsigned((a->nrows + threads - 1) / threads), threads, 0, stream, a->p, a->nrows, rule, blocks,
        static_cast<csr_item *>(list->items), static_cast<csr_split *>(list->split));
}

tsr_status make_lists(tsr_cuda_csr *a, const rule rules[2], counts *blocks[2], void *stream)
{
    counts total[2];
    tsr_status status = count_list(a, rules[0], blocks[0], &total[0], stream);
    if (status == TSR_OK)
        status = count_list(a, rules[1], blocks[1], &total[1], stream);
    if (status == TSR_OK)
        status = tsr_cuda_wait(stream);
    if (status == TSR_OK && (total[0].partials > INT32_MAX || total[1].partials > INT32_MAX))
        status = TSR_DECLINED;
    if (status == TSR_OK)
        status = tsr_cuda_malloc(&a->work, list_bytes(total[0]) + list_bytes(total[1]), stream);
    if (status != TSR_OK)
        return status;
    describe(&a->spmm, total[0], a->work);
    describe(&a->spmv, total[1], static_cast<char *>(a->work) + list_bytes(total[0]));
    write_list(a, rules[0], blocks[0], &a->spmm, stream);
    write_list(a, rules[1], blocks[1], &a->spmv, stream);
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
    int64_t spmm_cut = cut_for(a->nvals, device, 64, 1024);
    rule rules[2] = { { spmm_cut < 128 ? spmm_cut : 128, spmm_cut, spmm_item_rows },
        { spmv_chunk, cut_for(a->nvals, device, spmv_chunk, 4096), spmv_item_rows } };
    int64_t n = (a->nrows + threads - 1) / threads + 1;
    void *scratch;
    tsr_status status = tsr_cuda_malloc(&scratch, size_t(2 * n) * sizeof(counts), stream);
    if (status != TSR_OK)
        return status;
    counts *blocks[2] = { static_cast<counts *>(scratch), static_cast<counts *>(scratch) + n };
    status = make_lists(a, rules, blocks, stream);
    tsr_cuda_free(scratch, stream);
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
