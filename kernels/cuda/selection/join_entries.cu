// The union or the intersection of two sparse patterns, values side by side.  A thread takes an entry, however long its row is: it looks for its
// column in the same row of the other matrix.  An entry of a goes to the place that its own number, the entries of b before it and the matches before
// it say; an entry of b that has no match likewise.  Bound: indices of both are read twice, values and offsets once, the result is written once; a
// search takes one read for each doubling of the other row, mostly from the cache, as neighbours search side by side.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/selection/join_entries.h"

#include "kernels/cuda/convert/convert.cuh"

namespace {

using tsr_convert::blocks_for;
using tsr_convert::find_range;
using tsr_convert::get_array;
using tsr_convert::lower_bound;

constexpr int threads = 256, word = 32;
constexpr int chunk = 4 * threads; // entries of a block

struct joining {
    tsr_cuda_csr a, b;
    tsr_cuda_joined out;
    bool unite;
    uint32_t *bits;  // of each entry of a: has b one there?
    int64_t *before; // of each word of them: how many; then, before it
};

int64_t words_of(int64_t nvals) { return (nvals + word - 1) / word; }

// ---- Where is what? ----

/* Matches among the entries of a before number e, which may be one past the last. */
__device__ __forceinline__ int64_t matches_before(const joining &j, int64_t e)
{
    const int64_t full = j.before[e / word];
    return e % word ? full + __popc(j.bits[e / word] & ((1u << e % word) - 1)) : full;
}

/* The rows of a block's entries lie among those of its first and last. */
__device__ __forceinline__ void find_rows(int64_t (&rows)[2], const tsr_cuda_csr &m, int64_t first, int64_t last)
{
    if (threadIdx.x < 2)
        rows[threadIdx.x] = find_range(m.p, m.nrows, threadIdx.x ? last - 1 : first);
    __syncthreads();
}

__device__ __forceinline__ int64_t row_of(const int64_t (&rows)[2], const tsr_cuda_csr &m, int64_t e)
{
    return rows[0] + find_range(m.p + rows[0], rows[1] - rows[0] + 1, e);
}

/* The first entry of `in` in this row whose column is not less. */
__device__ __forceinline__ int64_t place_in(const tsr_cuda_csr &in, int64_t row, uint32_t column)
{
    return lower_bound(in.i, in.p[row], in.p[row + 1], column);
}

__device__ __forceinline__ bool is_at(const tsr_cuda_csr &in, int64_t row, int64_t place, uint32_t column)
{
    return place < in.p[row + 1] && in.i[place] == column;
}

/* A warp takes a word at a time. */
__global__ void __launch_bounds__(threads) match(joining j)
{
    __shared__ int64_t rows[2];
    const int64_t first = static_cast<int64_t>(blockIdx.x) * chunk, last = min(first + chunk, j.a.nvals);
    find_rows(rows, j.a, first, last);
    for (int step = 0; step < chunk / threads; step++) {
        const int64_t e = first + step * threads + threadIdx.x;
        bool found = false;
        if (e < last) {
            const int64_t row = row_of(rows, j.a, e);
            found = is_at(j.b, row, place_in(j.b, row, j.a.i[e]), j.a.i[e]);
        }
        const uint32_t bits = __ballot_sync(~0u, found);
        if (threadIdx.x % word == 0 && e < last) {
            j.bits[e / word] = bits;
            j.before[e / word] = __popc(bits);
        }
    }
}

// ---- The result ----

template <class Value> __device__ __forceinline__ void copy_value(void *to, int64_t at, const void *from, int64_t e)
{
    static_cast<Value *>(to)[at] = static_cast<const Value *>(from)[e];
}

template <class Value> __global__ void __launch_bounds__(threads) fill_from_a(joining j)
{
    __shared__ int64_t rows[2];
    const int64_t first = static_cast<int64_t>(blockIdx.x) * chunk, last = min(first + chunk, j.a.nvals);
    find_rows(rows, j.a, first, last);
    for (int64_t e = first + threadIdx.x; e < last; e += threads) {
        const bool matches = j.bits[e / word] >> e % word & 1;
        if (!matches && !j.unite)
            continue;
        const uint32_t column = j.a.i[e];
        const int64_t in_b = place_in(j.b, row_of(rows, j.a, e), column), before = matches_before(j, e);
        const int64_t at = j.unite ? e + in_b - before : before;
        j.out.csr.i[at] = column;
        copy_value<Value>(j.out.csr.x, at, j.a.x, e);
        if (matches)
            copy_value<Value>(j.out.y, at, j.b.x, in_b);
        if (j.unite) {
            j.out.x_present[at] = 1;
            j.out.y_present[at] = matches;
        }
    }
}

/* What a has not. */
template <class Value> __global__ void __launch_bounds__(threads) fill_from_b(joining j)
{
    __shared__ int64_t rows[2];
    const int64_t first = static_cast<int64_t>(blockIdx.x) * chunk, last = min(first + chunk, j.b.nvals);
    find_rows(rows, j.b, first, last);
    for (int64_t e = first + threadIdx.x; e < last; e += threads) {
        const uint32_t column = j.b.i[e];
        const int64_t row = row_of(rows, j.b, e), in_a = place_in(j.a, row, column);
        if (is_at(j.a, row, in_a, column))
            continue;
        const int64_t at = e + in_a - matches_before(j, in_a);
        j.out.csr.i[at] = column;
        copy_value<Value>(j.out.y, at, j.b.x, e);
        j.out.x_present[at] = 0;
        j.out.y_present[at] = 1;
    }
}

__global__ void __launch_bounds__(threads) find_offsets(joining j)
{
    const int64_t r = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
    if (r > j.a.nrows)
        return;
    const int64_t before = matches_before(j, j.a.p[r]);
    j.out.csr.p[r] = j.unite ? j.a.p[r] + j.b.p[r] - before : before;
}

// ---- Launches ----

/* Matched and counted; out.csr.nvals is known. */
tsr_status count_entries(joining *j, void *scratch, void *stream)
{
    const int64_t words = words_of(j->a.nvals);
    int64_t matches = 0;
    if (j->a.nvals)
        TSR_LAUNCH(match, blocks_for(j->a.nvals, chunk), threads, 0, stream, *j);
    tsr_status status = tsr_cuda_scan(j->before, words, 1, scratch, stream);
    if (status == TSR_OK)
        status = tsr_cuda_to_host(&matches, j->before + words, sizeof matches, stream);
    const tsr_status waited = tsr_cuda_wait(stream);
    j->out.csr.nvals = j->unite ? j->a.nvals + j->b.nvals - matches : matches;
    return status == TSR_OK ? waited : status;
}

tsr_status get_arrays(tsr_cuda_joined *out, bool unite, int value_size, void *stream)
{
    const int64_t n = out->csr.nvals;
    char *x = nullptr, *y = nullptr;
    tsr_status status = get_array(&out->csr.p, out->csr.nrows + 1, stream);
    if (status == TSR_OK)
        status = get_array(&out->csr.i, n, stream);
    if (status == TSR_OK)
        status = get_array(&x, n * value_size, stream);
    out->csr.x = x;
    if (status == TSR_OK)
        status = get_array(&y, n * value_size, stream);
    out->y = y;
    if (status == TSR_OK && unite)
        status = get_array(&out->x_present, n, stream);
    return status == TSR_OK && unite ? get_array(&out->y_present, n, stream) : status;
}

template <class Value> void launch_fill(const joining &j, void *stream)
{
    auto from_a = fill_from_a<Value>, from_b = fill_from_b<Value>;
    if (j.a.nvals)
        TSR_LAUNCH(from_a, blocks_for(j.a.nvals, chunk), threads, 0, stream, j);
    if (j.b.nvals && j.unite)
        TSR_LAUNCH(from_b, blocks_for(j.b.nvals, chunk), threads, 0, stream, j);
}

tsr_status fill(const joining &j, int value_size, void *stream)
{
    switch (value_size) {
    case 8: launch_fill<uint64_t>(j, stream); break;
    case 4: launch_fill<uint32_t>(j, stream); break;
    case 2: launch_fill<uint16_t>(j, stream); break;
    default: launch_fill<uint8_t>(j, stream); break;
    }
    TSR_LAUNCH(find_offsets, blocks_for(j.a.nrows + 1, threads), threads, 0, stream, j);
    const tsr_status status = launch_status(), waited = tsr_cuda_wait(stream);
    return status == TSR_OK ? waited : status;
}

} // namespace

extern "C" size_t tsr_cuda_join_bytes(int64_t nvals_a)
{
    const int64_t words = words_of(nvals_a);
    return static_cast<size_t>(words) * (sizeof(uint32_t) + sizeof(int64_t)) + tsr_cuda_scan_bytes(words) + 4096;
}

extern "C" tsr_status tsr_cuda_join_entries(tsr_cuda_joined *out, const tsr_cuda_csr *a, const tsr_cuda_csr *b, bool unite, int value_size, void *stream)
{
    Arena arena(stream);
    joining j = {*a, *b, {}, unite, nullptr, nullptr};
    char *scratch;
    const int64_t words = words_of(a->nvals);
    j.out.csr.nrows = a->nrows;
    j.out.csr.ncols = a->ncols;
    arena.want(&j.bits, words);
    arena.want(&j.before, words + 1);
    arena.want(&scratch, static_cast<int64_t>(tsr_cuda_scan_bytes(words)));
    tsr_status status = arena.get();
    if (status == TSR_OK)
        status = count_entries(&j, scratch, stream);
    if (status == TSR_OK)
        status = get_arrays(&j.out, unite, value_size, stream);
    if (status == TSR_OK)
        status = fill(j, value_size, stream);
    if (status != TSR_OK)
        tsr_cuda_join_free(&j.out, stream);
    *out = j.out;
    return status;
}

extern "C" void tsr_cuda_join_free(tsr_cuda_joined *joined, void *stream)
{
    tsr_cuda_free(joined->csr.p, stream);
    tsr_cuda_free(joined->csr.i, stream);
    tsr_cuda_free(joined->csr.x, stream);
    tsr_cuda_free(joined->y, stream);
    tsr_cuda_free(joined->x_present, stream);
    tsr_cuda_free(joined->y_present, stream);
    *joined = {};
}
