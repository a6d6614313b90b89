// How the entries of a matrix are spread over its rows and columns: src/format/blocks/degrees.c.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/convert/convert.cuh"

namespace {

using tsr_convert::blocks_for;

constexpr int threads = 256, classes = TSR_COLUMN_CLASSES;
constexpr int64_t most_blocks = 1024;

struct tally {
    unsigned long long longest_row, columns[classes], entries[classes];
};
static_assert(sizeof(tally) == sizeof(tsr_degrees), "");

/* counts: of each column, in either half of the sample. */
__global__ void __launch_bounds__(threads) count_entries(uint32_t *counts, const uint32_t *i, int64_t nvals, int64_t step)
{
    int64_t k = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x, at = tsr_degree_entry(k, step);
    if (at < nvals)
        atomicAdd(&counts[2 * static_cast<int64_t>(i[at]) + k % 2], 1u);
}

__global__ void __launch_bounds__(threads) measure_rows(tally *sum, const int64_t *p, int64_t nrows)
{
    unsigned longest = 0; // of a warp's rows: more than 2^32 columns are not supported
    for (int64_t r = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x; r < nrows; r += static_cast<int64_t>(gridDim.x) * threads)
        longest = max(longest, static_cast<unsigned>(p[r + 1] - p[r]));
    longest = __reduce_max_sync(~0u, longest);
    if (threadIdx.x % 32 == 0 && longest)
        atomicMax(&sum->longest_row, static_cast<unsigned long long>(longest));
}

__global__ void __launch_bounds__(threads) sort_columns(tally *sum, const uint2 *counts, int64_t ncols)
{
    __shared__ uint32_t columns[classes], entries[classes];
    int k = threadIdx.x;
    if (k < classes)
        columns[k] = entries[k] = 0;
    __syncthreads();
    for (int64_t c = static_cast<int64_t>(blockIdx.x) * threads + k; c < ncols; c += static_cast<int64_t>(gridDim.x) * threads) {
        uint2 halves = counts[c];
        atomicAdd(&columns[32 - __clz(halves.x)], 1u);
        if (halves.y)
            atomicAdd(&entries[32 - __clz(halves.x)], halves.y);
    }
    __syncthreads();
    if (k < classes && columns[k]) {
        atomicAdd(&sum->columns[k], static_cast<unsigned long long>(columns[k]));
        atomicAdd(&sum->entries[k], static_cast<unsigned long long>(entries[k]));
    }
}

} // namespace

extern "C" tsr_status tsr_cuda_count_degrees(tsr_degrees *out, const tsr_source *in, int64_t most, void *stream)
{
    Arena arena(stream);
    uint2 *counts;
    tally *sum;
    *out = {};
    if (in->ncols > static_cast<int64_t>(1) << 32)
        return TSR_NOT_SUPPORTED;
    arena.want(&counts, in->ncols);
    arena.want(&sum, 1);
    tsr_status status = arena.get();
    if (status == TSR_OK)
        status = tsr_cuda_set(counts, 0, arena.size(), stream);
    if (status != TSR_OK)
        return status;
    int64_t step = tsr_degree_step(in->nvals, most), sampled = (in->nvals + step - 1) / step;
    if (sampled)
        TSR_LAUNCH(count_entries, blocks_for(sampled, threads), threads, 0, stream, reinterpret_cast<uint32_t *>(counts),
                   in->i, in->nvals, step);
    if (in->nrows)
        TSR_LAUNCH(measure_rows, blocks_for(min(in->nrows, most_blocks * threads), threads), threads, 0, stream, sum, in->p, in->nrows);
    if (in->ncols)
        TSR_LAUNCH(sort_columns, blocks_for(min(in->ncols, most_blocks * threads), threads), threads, 0, stream, sum, counts, in->ncols);
    status = launch_status();
    if (status == TSR_OK)
        status = tsr_cuda_to_host(out, sum, sizeof *out, stream);
    return status == TSR_OK ? tsr_cuda_wait(stream) : status;
}
