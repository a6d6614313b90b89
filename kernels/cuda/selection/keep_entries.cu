// Entries of a sparse matrix that stay: a bit for each, counted by words of 32, so that a place in the result is one look-up.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/selection/keep_entries.h"

#include "kernels/cuda/convert/convert.cuh"

namespace {

using tsr_convert::blocks_for;
using tsr_convert::find_range;
using tsr_convert::get_array;

constexpr int threads = 256, word = 32;
constexpr int chunk = 4 * threads; // entries of a block

struct keeping {
    tsr_cuda_csr in, out;
    tsr_cuda_keep how;
    uint32_t *bits;  // of each entry
    int64_t *before; // of each word of them: how many stay; then, before it
};

int64_t words_of(int64_t nvals) { return (nvals + word - 1) / word; }

// ---- Which ----

template <class T> __device__ __forceinline__ bool holds(tsr_ewise_op op, T x, T y)
{
    switch (op) {
    case TSR_EWISE_EQ: return x == y;
    case TSR_EWISE_NE: return x != y;
    case TSR_EWISE_GT: return x > y;
    case TSR_EWISE_LT: return x < y;
    case TSR_EWISE_GE: return x >= y;
    default: return x <= y;
    }
}

struct by_flag {
    static constexpr bool placed = false;
    static __device__ __forceinline__ bool stays(const keeping &k, int64_t, int64_t e) { return k.how.flags[e]; }
};

struct by_place {
    static constexpr bool placed = true;
    static __device__ __forceinline__ bool stays(const keeping &k, int64_t row, int64_t e)
    {
        const tsr_compressed_rule &r = k.how.rule;
        return holds(r.keep, r.by_vector * row + r.by_index * static_cast<int64_t>(k.in.i[e]) + r.offset, static_cast<int64_t>(0));
    }
};

template <class T> struct by_value {
    static constexpr bool placed = false;
    static __device__ __forceinline__ bool stays(const keeping &k, int64_t, int64_t e)
    {
        T thunk;
        memcpy(&thunk, &k.how.rule.thunk, sizeof thunk);
        return holds(k.how.rule.keep, static_cast<const T *>(k.in.x)[e], thunk);
    }
};

/* A warp takes a word at a time; the rows of a block's entries lie among those of its first and last. */
template <class Rule> __global__ void __launch_bounds__(threads) mark(keeping k)
{
    __shared__ int64_t rows[2];
    int64_t first = static_cast<int64_t>(blockIdx.x) * chunk, last = min(first + chunk, k.in.nvals);
    if (Rule::placed && threadIdx.x < 2)
        rows[threadIdx.x] = find_range(k.in.p, k.in.nrows, threadIdx.x ? last - 1 : first);
    if (Rule::placed)
        __syncthreads();
    for (int step = 0; step < chunk / threads; step++) {
        int64_t e = first + step * threads + threadIdx.x;
        int64_t row = Rule::placed && e < last ? rows[0] + find_range(k.in.p + rows[0], rows[1] - rows[0] + 1, e) : 0;
        uint32_t bits = __ballot_sync(~0u, e < last && Rule::stays(k, row, e));
        if (threadIdx.x % word == 0 && e < last) {
            k.bits[e / word] = bits;
            k.before[e / word] = __popc(bits);
        }
    }
}

// ---- Where to ----

__device__ __forceinline__ int64_t rank_of(const keeping &k, int64_t e, uint32_t bits)
{
    return k.before[e / word] + __popc(bits & ((1u << e % word) - 1));
}

template <class Value> __global__ void __launch_bounds__(threads) fill(keeping k)
{
    int64_t e = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
    uint32_t bits = e < k.in.nvals ? k.bits[e / word] : 0;
    if (!(bits >> e % word & 1))
        return;
    int64_t at = rank_of(k, e, bits);
    k.out.i[at] = k.in.i[e];
    if (k.out.x)
        static_cast<Value *>(k.out.x)[at] = static_cast<const Value *>(k.in.x)[e];
}

__global__ void __launch_bounds__(threads) find_offsets(keeping k)
{
    int64_t r = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
    if (r > k.in.nrows)
        return;
    int64_t e = k.in.p[r];
    k.out.p[r] = e < k.in.nvals ? rank_of(k, e, k.bits[e / word]) : k.out.nvals;
}

template <class To, class From> __global__ void __launch_bounds__(threads) copy_numbers(To *to, const From *from, int64_t count)
{
    const int64_t k = int64_t(blockIdx.x) * threads + threadIdx.x;
    if (k < count)
        to[k] = To(from[k]);
}

template <class N> __global__ void __launch_bounds__(threads) number(N *list, int64_t first, int64_t step, int64_t count)
{
    int64_t k = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
    if (k < count)
        list[k] = static_cast<N>(first + k * step);
}

// ---- Launches ----

template <class Rule> void launch_mark(const keeping &k, void *stream)
{
    auto kernel = mark<Rule>;
    TSR_LAUNCH(kernel, blocks_for(k.in.nvals, chunk), threads, 0, stream, k);
}

tsr_status mark_values(const keeping &k, void *stream)
{
    switch (k.how.type) {
    case TSR_INT8: launch_mark<by_value<int8_t>>(k, stream); break;
    case TSR_INT16: launch_mark<by_value<int16_t>>(k, stream); break;
    case TSR_INT32: launch_mark<by_value<int32_t>>(k, stream); break;
    case TSR_INT64: launch_mark<by_value<int64_t>>(k, stream); break;
    case TSR_UINT8: launch_mark<by_value<uint8_t>>(k, stream); break;
    case TSR_UINT16: launch_mark<by_value<uint16_t>>(k, stream); break;
    case TSR_UINT32: launch_mark<by_value<uint32_t>>(k, stream); break;
    case TSR_UINT64: launch_mark<by_value<uint64_t>>(k, stream); break;
    case TSR_FP32: launch_mark<by_value<float>>(k, stream); break;
    case TSR_FP64: launch_mark<by_value<double>>(k, stream); break;
    default: return TSR_DECLINED;
    }
    return TSR_OK;
}

tsr_status mark_entries(const keeping &k, void *stream)
{
    if (!k.how.flags && !k.how.rule.placed)
        return mark_values(k, stream);
    if (k.how.flags)
        launch_mark<by_flag>(k, stream);
    else
        launch_mark<by_place>(k, stream);
    return TSR_OK;
}

/* Marked and counted; out.nvals is known. */
tsr_status count_entries(keeping *k, void *scratch, void *stream)
{
    const int64_t words = words_of(k->in.nvals);
    tsr_status status = k->in.nvals ? mark_entries(*k, stream) : TSR_OK;
    if (status == TSR_OK)
        status = tsr_cuda_scan(k->before, words, 1, scratch, stream);
    if (status == TSR_OK)
        status = tsr_cuda_to_host(&k->out.nvals, k->before + words, sizeof k->out.nvals, stream);
    const tsr_status waited = tsr_cuda_wait(stream);
    return status == TSR_OK ? waited : status;
}

void launch_fill(const keeping &k, int value_size, void *stream)
{
    auto kernel = value_size == 8 ? fill<uint64_t> : value_size == 4 ? fill<uint32_t> : value_size == 2 ? fill<uint16_t> : fill<uint8_t>;
    TSR_LAUNCH(kernel, blocks_for(k.in.nvals, threads), threads, 0, stream, k);
}

tsr_status take_entries(keeping *k, int value_size, void *stream)
{
    char *x = nullptr;
    tsr_status status = get_array(&k->out.p, k->out.nrows + 1, stream);
    if (status == TSR_OK)
        status = get_array(&k->out.i, k->out.nvals, stream);
    if (status == TSR_OK && value_size)
        status = get_array(&x, k->out.nvals * value_size, stream);
    k->out.x = x;
    if (status != TSR_OK)
        return status;
    if (k->out.nvals)
        launch_fill(*k, value_size, stream);
    TSR_LAUNCH(find_offsets, blocks_for(k->out.nrows + 1, threads), threads, 0, stream, *k);
    status = launch_status();
    const tsr_status waited = tsr_cuda_wait(stream);
    return status == TSR_OK ? waited : status;
}

void drop(tsr_cuda_csr *csr, void *stream)
{
    tsr_cuda_free(csr->p, stream);
    tsr_cuda_free(csr->i, stream);
    tsr_cuda_free(csr->x, stream);
    *csr = {};
}

} // namespace

extern "C" size_t tsr_cuda_keep_bytes(int64_t nvals)
{
    const int64_t words = words_of(nvals);
    return static_cast<size_t>(words) * (sizeof(uint32_t) + sizeof(int64_t)) + tsr_cuda_scan_bytes(words) + 4096;
}

extern "C" tsr_status tsr_cuda_keep_entries(tsr_cuda_csr *out, const tsr_cuda_csr *in, const tsr_cuda_keep *keep, int value_size, void *stream)
{
    Arena arena(stream);
    keeping k = {*in, {}, *keep, nullptr, nullptr};
    char *scratch;
    const int64_t words = words_of(in->nvals);
    k.out.nrows = in->nrows;
    k.out.ncols = in->ncols;
    arena.want(&k.bits, words);
    arena.want(&k.before, words + 1);
    arena.want(&scratch, static_cast<int64_t>(tsr_cuda_scan_bytes(words)));
    tsr_status status = arena.get();
    if (status == TSR_OK)
        status = count_entries(&k, scratch, stream);
    if (status == TSR_OK)
        status = take_entries(&k, value_size, stream);
    if (status != TSR_OK)
        drop(&k.out, stream);
    *out = k.out;
    return status;
}

extern "C" tsr_status tsr_cuda_number_list(uint32_t *list, int64_t first, int64_t step, int64_t count, void *stream)
{
    auto kernel = number<uint32_t>;
    if (count)
        TSR_LAUNCH(kernel, blocks_for(count, threads), threads, 0, stream, list, first, step, count);
    return launch_status();
}

extern "C" tsr_status tsr_cuda_copy_indices(void *to, int to_size, const void *from, int from_size, int64_t count, void *stream)
{
    if (count == 0)
        return TSR_OK;
    const size_t bytes = size_t(count) * size_t(to_size);
    if (to_size == from_size)
        return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, static_cast<cudaStream_t>(stream)) == cudaSuccess ? TSR_OK : TSR_INTERNAL_ERROR;
    auto widen = copy_numbers<int64_t, uint32_t>;
    auto narrow = copy_numbers<uint32_t, int64_t>;
    if (to_size == 8)
        TSR_LAUNCH(widen, blocks_for(count, threads), threads, 0, stream, static_cast<int64_t *>(to), static_cast<const uint32_t *>(from), count);
    else
        TSR_LAUNCH(narrow, blocks_for(count, threads), threads, 0, stream, static_cast<uint32_t *>(to), static_cast<const int64_t *>(from), count);
    return launch_status();
}

extern "C" tsr_status tsr_cuda_number_offsets(int64_t *p, int64_t count, void *stream)
{
    auto kernel = number<int64_t>;
    if (count)
        TSR_LAUNCH(kernel, blocks_for(count, threads), threads, 0, stream, p, static_cast<int64_t>(0), static_cast<int64_t>(1), count);
    return launch_status();
}
