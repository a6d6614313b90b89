// Sparse times sparse: strips of B's columns, so that warps share a row of C.
//
// Columns of B's rows are sampled, and columns at equal distances with them, so that no strip becomes very wide; the sorted sample is cut into
// strips.  Then each row of B is searched for where strips begin.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/common/arena.cuh"
#include "kernels/cuda/spgemm/spgemm_common.cuh"

namespace {

constexpr int threads = 1024, cut_threads = 256;
constexpr uint32_t samples = 1024, of_columns = samples / 4, of_entries = samples - of_columns; // a quarter at equal distances: see spgemm_widest

struct sampling {
    const int64_t *ap, *bp;
    const uint32_t *ai, *bi;
    int64_t m;
    uint32_t ncols, strips;
    uint32_t *starts;
    uint32_t *close; // samples that have a sixteenth of their row much closer than its length lets expect
};

/* A column of the row of B that an entry of A names, and one `step` entries before or behind it: a sixteenth of the row, but one at least. */
struct sample {
    uint32_t column, other, step, length;
};
__device__ __forceinline__ sample sample_of(const sampling &s, uint32_t number)
{
    const int64_t first = s.ap[0], entries = s.ap[s.m] - first;
    const uint32_t k = __ldg(s.ai + first + int64_t(uint64_t(number) * uint64_t(entries) / of_entries));
    const int64_t begin = __ldg(s.bp + k);
    const uint32_t length = uint32_t(__ldg(s.bp + k + 1) - begin), step = length < 16 ? 1 : length / 16;
    if (length < 2) {
        const uint32_t column = length ? __ldg(s.bi + begin) : uint32_t(uint64_t(number) * s.ncols / of_entries);
        return { column, column, 0, 0 };
    }
    const uint32_t at = uint32_t(uint64_t(number * 2654435761u) * length >> 32), other = at + step < length ? at + step : at - step;
    return { __ldg(s.bi + begin + at), __ldg(s.bi + begin + other), step, length };
}

/* Of `samples` columns in shared memory, by all threads of the block. */
__device__ __forceinline__ void sort_samples(uint32_t *columns)
{
    for (uint32_t run = 2; run <= samples; run *= 2)
        for (uint32_t distance = run / 2; distance > 0; distance /= 2) {
            __syncthreads();
            for (uint32_t pair = threadIdx.x; pair < samples / 2; pair += threads) {
                uint32_t low = 2 * pair - (pair & (distance - 1)), high = low + distance;
                uint32_t x = columns[low], y = columns[high];
                if ((x > y) == ((low & run) == 0))
                    columns[low] = y, columns[high] = x;
            }
        }
    __syncthreads();
}

/* Of the sorted columns. */
__device__ __forceinline__ uint32_t first_not_less(const uint32_t *columns, uint32_t column)
{
    uint32_t at = 0;
    for (uint32_t step = samples / 2; step > 0; step /= 2)
        at += columns[at + step - 1] < column ? step : 0;
    return at + (columns[at] < column);
}

__global__ void __launch_bounds__(threads) choose_strips(sampling s)
{
    __shared__ uint32_t columns[samples];
    for (uint32_t k = threadIdx.x; k < samples; k += threads)
        columns[k] = k < of_entries ? sample_of(s, k).column : uint32_t(uint64_t(k - of_entries) * s.ncols / of_columns);
    sort_samples(columns);
    uint32_t close = 0;
    for (uint32_t k = threadIdx.x; k < of_entries; k += threads) {
        const sample here = sample_of(s, k);
        const uint32_t from = first_not_less(columns, min(here.column, here.other)), between = first_not_less(columns, max(here.column, here.other)) - from;
        close += uint64_t(between) * here.length * 8 < uint64_t(samples) * here.step;
    }
    if (close)
        atomicAdd(s.close, close);
    if (threadIdx.x <= s.strips)
        s.starts[threadIdx.x] = threadIdx.x == 0 ? 0 : threadIdx.x == s.strips ? s.ncols : columns[threadIdx.x * (samples / s.strips)];
}

/* A thread for a row of B and a strip. */
__global__ void __launch_bounds__(cut_threads) cut_rows(const int64_t *ap, const uint32_t *ai, const int64_t *bp, const uint32_t *bi, int64_t rows, spgemm_strips strips)
{
    const uint64_t item = blockIdx.x * uint64_t(cut_threads) + threadIdx.x;
    const int64_t number = int64_t(item / strips.count);
    const uint32_t strip = uint32_t(item % strips.count);
    if (number >= rows)
        return;
    const int64_t row = strips.by_entry ? int64_t(ai[ap[0] + number]) : number, begin = bp[row], end = bp[row + 1];
    int64_t *cuts = strips.cuts + uint64_t(number) * (strips.count + 1);
    cuts[strip] = begin + (strip ? lower_bound(bi + begin, end - begin, strips.starts[strip]) : 0);
    if (strip + 1 == strips.count)
        cuts[strips.count] = end;
}

/* Do B's rows have their columns close together? */
tsr_status choose(const spgemm_strips *strips, const tsr_cuda_spgemm *q, uint32_t *counter, bool *close)
{
    uint32_t count = 0;
    tsr_status status = tsr_cuda_set(counter, 0, sizeof *counter, q->stream);
    if (status != TSR_OK)
        return status;
    const sampling s = { q->a->p, q->b->p, q->a->i, q->b->i, q->a->nrows, uint32_t(q->b->ncols), strips->count, strips->starts, counter };
    TSR_LAUNCH(choose_strips, 1u, unsigned(threads), 0, q->stream, s);
    status = tsr_cuda_to_host(&count, counter, sizeof count, q->stream);
    if (status == TSR_OK)
        status = tsr_cuda_wait(q->stream);
    *close = status == TSR_OK && count > of_entries / 3;
    return status;
}

} // namespace

tsr_status spgemm_cut_strips(spgemm_strips *strips, const tsr_cuda_spgemm *product)
{
    const tsr_cuda_csr *a = product->a, *b = product->b;
    const int64_t rows = strips->by_entry ? a->nvals : b->nrows;
    uint32_t *counter;
    bool close = false;
    Arena arena(product->stream);
    arena.want(&strips->starts, strips->count + 1);
    arena.want(&counter, 1);
    arena.want(&strips->cuts, strips->count ? rows * (strips->count + 1) : 0);
    tsr_status status = arena.get();
    if (status == TSR_OK)
        status = choose(strips, product, counter, &close);
    if (status != TSR_OK || close || strips->count == 0)
        return close ? TSR_DECLINED : status;
    const uint64_t items = uint64_t(rows) * strips->count;
    TSR_LAUNCH(cut_rows, unsigned((items + cut_threads - 1) / cut_threads), unsigned(cut_threads), 0, product->stream, a->p, a->i, b->p, b->i, rows, *strips);
    status = launch_status();
    if (status != TSR_OK)
        return status;
    strips->bytes = arena.size();
    strips->memory = arena.keep();
    return TSR_OK;
}
