// Rows of a matrix taken in an order, and nonzero vectors of a sample.  SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/order/order.cuh"

namespace tsr_order {
namespace {

using tsr_convert::find_range;
using tsr_convert::get_array;

constexpr int chunk = 4 * threads; // entries of a block

struct taking {
    tsr_source in, out;
    const uint32_t *rows;
    int64_t size; // bytes of a value
    int64_t *p;   // out's
    uint32_t *i;
    void *x;
};

__global__ void __launch_bounds__(threads) measure_rows(taking t)
{
    int64_t r = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
    if (r < t.out.nrows)
        t.p[r] = t.in.p[t.rows[r] + static_cast<int64_t>(1)] - t.in.p[t.rows[r]];
}

/* A thread copies every threads-th entry of the block's; their rows lie among those of the block's first and last. */
template <class Value> __global__ void __launch_bounds__(threads) copy_entries(taking t)
{
    __shared__ int64_t ends[2];
    int64_t first = static_cast<int64_t>(blockIdx.x) * chunk, last = min(first + chunk, t.out.nvals);
    if (threadIdx.x < 2)
        ends[threadIdx.x] = find_range(t.p, t.out.nrows, threadIdx.x ? last - 1 : first);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < chunk / threads; k++) {
        int64_t e = first + k * threads + threadIdx.x;
        if (e >= last)
            return;
        int64_t row = ends[0] + find_range(t.p + ends[0], ends[1] - ends[0] + 1, e);
        int64_t from = t.in.p[t.rows[row]] + e - t.p[row];
        t.i[e] = __ldg(t.in.i + from);
        if (t.x)
            static_cast<Value *>(t.x)[e] = __ldg(static_cast<const Value *>(t.in.x) + from);
    }
}

__global__ void __launch_bounds__(threads) sample_rows(uint32_t *rows, const uint32_t *order, int64_t nrows, int64_t n)
{
    int64_t k = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
    if (k >= n)
        return;
    int64_t place = tsr_order_sample_place(nrows, k);
    rows[k] = order ? order[place] : static_cast<uint32_t>(place);
}

/* Offsets of out, and out.nvals. */
tsr_status add_up(taking *t, void *stream)
{
    Arena arena(stream);
    char *scratch;
    int64_t n = t->out.nrows;
    arena.want(&scratch, static_cast<int64_t>(tsr_cuda_scan_bytes(n)));
    tsr_status status = arena.get();
    if (status != TSR_OK)
        return status;
    if (n)
        TSR_LAUNCH(measure_rows, blocks_for(n, threads), threads, 0, stream, *t);
    status = tsr_cuda_scan(t->p, n, 1, scratch, stream);
    if (status == TSR_OK)
        status = tsr_cuda_to_host(&t->out.nvals, t->p + n, sizeof t->out.nvals, stream);
    return status == TSR_OK ? tsr_cuda_wait(stream) : status;
}

tsr_status copy(taking t, void *stream)
{
    if (t.out.nvals == 0)
        return TSR_OK;
    auto kernel = t.size == 8 ? copy_entries<uint64_t> : t.size == 4 ? copy_entries<uint32_t> : t.size == 2 ? copy_entries<uint16_t> : copy_entries<uint8_t>;
    TSR_LAUNCH(kernel, blocks_for(t.out.nvals, chunk), threads, 0, stream, t);
    return launch_status();
}

tsr_status take(taking *t, void *stream)
{
    char *x = nullptr;
    tsr_status status = get_array(&t->p, t->out.nrows + 1, stream);
    if (status == TSR_OK)
        status = add_up(t, stream);
    if (status == TSR_OK)
        status = get_array(&t->i, t->out.nvals, stream);
    if (status == TSR_OK && t->in.x)
        status = get_array(&x, t->out.nvals * t->size, stream);
    t->x = x;
    return status == TSR_OK ? copy(*t, stream) : status;
}

tsr_status take_rows(tsr_source *out, const tsr_source *in, const uint32_t *rows, int64_t n, int64_t size, void *stream)
{
    taking t = {*in, {}, rows, size, nullptr, nullptr, nullptr};
    t.out.nrows = n;
    t.out.ncols = in->ncols;
    t.out.number = in->number;
    tsr_status status = take(&t, stream);
    t.out.p = t.p;
    t.out.i = t.i;
    t.out.x = t.x;
    *out = t.out;
    if (status != TSR_OK)
        tsr_cuda_free_source(out, stream);
    return status;
}

} // namespace
} // namespace tsr_order

using namespace tsr_order;

extern "C" tsr_status tsr_cuda_take_rows(tsr_source *out, const tsr_source *in, const uint32_t *rows, int64_t n, void *stream)
{
    return take_rows(out, in, rows, n, static_cast<int64_t>(tsr_number_size(in->number)), stream);
}

extern "C" tsr_status tsr_cuda_take_rows_of(tsr_cuda_csr *out, const tsr_cuda_csr *in, const uint32_t *rows, int64_t n, int value_size, void *stream)
{
    tsr_source from = {}, taken;
    from.nrows = in->nrows;
    from.ncols = in->ncols;
    from.nvals = in->nvals;
    from.p = in->p;
    from.i = in->i;
    from.x = value_size ? in->x : nullptr;
    const tsr_status status = take_rows(&taken, &from, rows, n, value_size, stream);
    *out = {};
    out->nrows = taken.nrows;
    out->ncols = taken.ncols;
    out->nvals = taken.nvals;
    out->p = const_cast<int64_t *>(taken.p);
    out->i = const_cast<uint32_t *>(taken.i);
    out->x = const_cast<void *>(taken.x);
    return status;
}

extern "C" void tsr_cuda_free_source(tsr_source *source, void *stream)
{
    tsr_cuda_free(const_cast<int64_t *>(source->p), stream);
    tsr_cuda_free(const_cast<uint32_t *>(source->i), stream);
    tsr_cuda_free(const_cast<void *>(source->x), stream);
    *source = {};
}

extern "C" tsr_status tsr_cuda_sample_rows(tsr_source *out, const tsr_source *in, const uint32_t *order, void *stream)
{
    int64_t n = tsr_order_sampled(in->nrows);
    tsr_source pattern = *in;
    uint32_t *rows;
    pattern.x = nullptr;
    *out = {};
    tsr_status status = get_array(&rows, n, stream);
    if (status == TSR_OK && n) {
        TSR_LAUNCH(sample_rows, blocks_for(n, threads), threads, 0, stream, rows, order, in->nrows, n);
        status = launch_status();
    }
    if (status == TSR_OK)
        status = tsr_cuda_take_rows(out, &pattern, rows, n, stream);
    tsr_cuda_free(rows, stream);
    return status;
}

extern "C" tsr_status tsr_cuda_sample_vectors(double vectors[5], const tsr_source *in, const uint32_t *order, void *stream)
{
    int64_t count[5] = {};
    tsr_source sample;
    tsr_status status = tsr_cuda_sample_rows(&sample, in, order, stream);
    if (status == TSR_OK)
        status = tsr_cuda_count_vectors(count, &sample, stream);
    tsr_order_per_entry(vectors, count, sample.nvals);
    tsr_cuda_free_source(&sample, stream);
    return status;
}
