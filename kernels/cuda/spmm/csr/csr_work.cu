// Cuts a matrix by row into items of bounded size, on the device, in three steps: count per block of rows (chunks), scan the
// blocks, write. The lists are the same every time.
//
// Whether a row begins an item depends on the row and its predecessor alone.  A row longer than `cut` becomes items of its own,
// cut evenly.  A row longer than `alone` is one item.  Other rows are grouped: a row begins a new item where its first entry lies
// in another chunk (entry / chunk) than that of the row before, after a row that is not grouped, and at multiples of `rows` (in
// SpMM empty rows have a bound too).
//
// For SpMV also: the numbers of rows with entries, and which entries end a row.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmm/csr/csr_work.cuh"
#include "kernels/cuda/common/device.cuh"

namespace {

constexpr int threads = 256; /* rows of a block */

struct rule {
    int64_t chunk, alone, cut, rows;
    const uint8_t *skip = nullptr; /* by row >> log_height: somebody else computes these rows */
    int log_height = 0;

    __device__ bool skips(int64_t row) const { return skip && skip[row >> log_height]; }
};

/* What a row (a block of rows, all rows) adds to the lists; filled: rows with entries. */
struct counts {
    int64_t items, partials, split, filled;
};

__device__ __forceinline__ counts operator+(counts a, counts b)
{
    return { a.items + b.items, a.partials + b.partials, a.split + b.split, a.filled + b.filled };
}

__device__ __forceinline__ counts shift_up(counts c, int by)
{
    return { __shfl_up_sync(~0u, c.items, by), __shfl_up_sync(~0u, c.partials, by), __shfl_up_sync(~0u, c.split, by),
        __shfl_up_sync(~0u, c.filled, by) };
}

__device__ counts count_row(const int64_t *p, int64_t nrows, int64_t row, rule rule)
{
    if (row >= nrows)
        return {};
    if (rule.skips(row))
        return { row == 0 || !rule.skips(row - 1), 0, 0, 0 };
    int64_t start = p[row], length = p[row + 1] - start, parts = (length + rule.cut - 1) / rule.cut;
    if (length > rule.cut)
        return { parts, parts, 1, 1 };
    if (length > rule.alone || row % rule.rows == 0 || rule.skips(row - 1))
        return { 1, 0, 0, length > 0 };
    int64_t before = p[row - 1];
    return { start - before > rule.alone || start / rule.chunk != before / rule.chunk, 0, 0, length > 0 };
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
    counts before = {};
    *total = before;
    for (int w = 0; w < threads / 32; w++) {
        if (w == warp)
            before = *total;
        *total = *total + warps[w];
    }
    __syncthreads();
    return { before.items + sum.items - mine.items, before.partials + sum.partials - mine.partials,
        before.split + sum.split - mine.split, before.filled + sum.filled - mine.filled };
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
    counts before = {};
    for (int64_t first = 0; first < n; first += threads) {
        int64_t at = first + threadIdx.x;
        counts total, none = {};
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

// ---- Rows with entries ----

/* rows: the numbers of those with entries, then of the others.  blocks: of any list, scanned. */
__global__ void __launch_bounds__(threads) write_rows(const int64_t *p, int64_t nrows, const counts *blocks, uint32_t *rows)
{
    int64_t row = blockIdx.x * int64_t(threads) + threadIdx.x;
    bool filled = row < nrows && p[row + 1] > p[row];
    counts mine = {}, total;
    mine.filled = filled;
    int64_t before = blocks[blockIdx.x].filled + scan_block(mine, &total).filled;
    if (row < nrows)
        rows[filled ? before : blocks[gridDim.x].filled + row - before] = uint32_t(row);
}

/* Which of the rows with entries holds entry `entry`. */
__device__ int64_t row_of(int64_t entry, const int64_t *p, const uint32_t *rows, int64_t filled)
{
    int64_t low = 0, high = filled - 1;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (p[rows[middle] + 1] <= entry)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

__global__ void __launch_bounds__(threads)
    write_ends(const int64_t *p, int64_t nvals, const uint32_t *rows, int64_t filled, csr_ends *ends)
{
    int64_t k = blockIdx.x * int64_t(threads) + threadIdx.x, first = 32 * k;
    if (first >= nvals)
        return;
    int64_t row = row_of(first, p, rows, filled);
    csr_ends out = { 0, uint32_t(row) };
    for (; row < filled; row++) {
        int64_t last = p[rows[row] + 1] - 1 - first;
        if (last >= 32)
            break;
        out.bits |= 1u << last;
    }
    ends[k] = out;
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
    counts *spmm, *spmv;
    counts total_spmm, total_spmv;
};

size_t scratch_bytes(const tsr_cuda_csr *a)
{
    return (size_t(blocks_for(a->nrows)) + 1) * 2 * sizeof(counts);
}

tsr_status count_list(const tsr_cuda_csr *a, rule rule, counts *blocks, counts *total, void *stream)
{
    unsigned n = blocks_for(a->nrows);
    TSR_LAUNCH(count_rows, n, threads, 0, stream, a->p, a->nrows, rule, blocks);
    TSR_LAUNCH(scan_blocks, 1, threads, 0, stream, blocks, int64_t(n));
    tsr_status status = launch_status();
    return status == TSR_OK ? tsr_cuda_to_host(total, blocks + n, sizeof *total, stream) : status;
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

/* SpMV: entries of an item.  As many as one block of all that are resident gets, if that is little; else so few that blocks are
 * dealt out some twenty times and all end together. */
int64_t spmv_chunk(int64_t nvals, const tsr_cuda_device *device)
{
    int64_t share = nvals / (int64_t(device->sms) * 5) + 32, even = share + share / 64, dealt = share / 20;
    if (even <= 16384)
        return even > 1024 ? even : 1024;
    return dealt < 2048 ? 2048 : dealt > 8192 ? 8192 : dealt;
}

int64_t ends_of(const tsr_cuda_csr *a)
{
    return (a->nvals + 31) / 32;
}

/* Where the lists lie in a->work. */
size_t work_bytes(const tsr_cuda_csr *a, const scratch *s)
{
    return list_bytes(s->total_spmm) + list_bytes(s->total_spmv) + size_t(ends_of(a)) * sizeof(csr_ends)
        + size_t(a->nrows) * sizeof(uint32_t);
}

void lay_out(tsr_cuda_csr *a, const scratch *s)
{
    char *work = describe(&a->spmm, s->total_spmm, static_cast<char *>(a->work));
    work = describe(&a->spmv, s->total_spmv, work);
    a->ends = work;
    a->rows = reinterpret_cast<uint32_t *>(work + size_t(ends_of(a)) * sizeof(csr_ends));
    a->filled = s->total_spmv.filled;
}

void write_all(const tsr_cuda_csr *a, rule spmm, rule spmv, const scratch *s, void *stream)
{
    write_list(a, spmm, s->spmm, &a->spmm, stream);
    write_list(a, spmv, s->spmv, &a->spmv, stream);
    TSR_LAUNCH(write_rows, blocks_for(a->nrows), threads, 0, stream, a->p, a->nrows, s->spmv, a->rows);
    if (a->nvals > 0)
        TSR_LAUNCH(write_ends, blocks_for(ends_of(a)), threads, 0, stream, a->p, a->nvals, a->rows, a->filled,
            static_cast<csr_ends *>(a->ends));
}

tsr_status make_lists(tsr_cuda_csr *a, rule spmm, rule spmv, scratch *s, void *stream)
{
    tsr_status status = count_list(a, spmm, s->spmm, &s->total_spmm, stream);
    if (status == TSR_OK)
        status = count_list(a, spmv, s->spmv, &s->total_spmv, stream);
    if (status == TSR_OK)
        status = tsr_cuda_wait(stream);
    if (status == TSR_OK && s->total_spmm.partials > INT32_MAX)
        status = TSR_DECLINED;
    if (status == TSR_OK)
        status = tsr_cuda_malloc(&a->work, work_bytes(a, s), stream);
    if (status != TSR_OK)
        return status;
    lay_out(a, s);
    write_all(a, spmm, spmv, s, stream);
    status = launch_status();
    return status == TSR_OK ? tsr_cuda_wait(stream) : status;
}

void forget_work(tsr_cuda_csr *a)
{
    a->work = a->ends = nullptr;
    a->rows = nullptr;
    a->filled = 0;
    a->spmm = a->spmv = tsr_cuda_csr_list{};
}

} // namespace

extern "C" tsr_status tsr_cuda_csr_work(tsr_cuda_csr *a, const tsr_cuda_device *device, void *stream)
{
    forget_work(a);
    if (a->nrows >= UINT32_MAX)
        return TSR_DECLINED;
    if (a->nrows == 0)
        return TSR_OK;
    int64_t cut = cut_for(a->nvals, device, 64, 1024), grouped = cut < 128 ? cut : 128;
    int64_t chunk = spmv_chunk(a->nvals, device);
    void *memory;
    tsr_status status = tsr_cuda_malloc(&memory, scratch_bytes(a), stream);
    if (status != TSR_OK)
        return status;
    scratch s = {};
    s.spmm = static_cast<counts *>(memory);
    s.spmv = s.spmm + blocks_for(a->nrows) + 1;
    status = make_lists(a, { grouped, grouped, cut, spmm_item_rows }, { chunk, 2 * chunk, 2 * chunk, INT64_MAX }, &s, stream);
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
