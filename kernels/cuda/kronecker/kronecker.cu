// Kronecker products.  Offsets follow from those of the operands.  A thread takes an entry of the product, whatever row it is in: blocks have equal
// shares of entries, and the rows of a block's entries lie among those of its first and last.  Bound: the product is written once; operands, and what
// is searched, come from the cache, for they are small beside it.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/kronecker/kronecker.h"

#include "kernels/cuda/convert/convert.cuh"
#include "kernels/cuda/elementwise/elementwise.cuh"
#include "kernels/kronecker.h"

namespace {

using tsr_convert::blocks_for;
using tsr_convert::find_range;
using tsr_convert::get_array;

constexpr int threads = 256, chunk = 8 * threads; // entries of a block

struct product {
    tsr_cuda_csr a, b, c;
    const void *x, *y; /* values that are read; NULL: the one value */
    uint64_t one_x, one_y;
    tsr_ewise_op op;
    bool swaps;
};

/* Entries of a and b. */
struct origin {
    int64_t of_a, of_b;
};

__global__ void __launch_bounds__(threads) find_offsets(product q)
{
    const int64_t r = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
    if (r > q.c.nrows)
        return;
    if (r == q.c.nrows) {
        q.c.p[r] = q.c.nvals;
        return;
    }
    const uint32_t rows = static_cast<uint32_t>(q.b.nrows), v = static_cast<uint32_t>(r) / rows, w = static_cast<uint32_t>(r) - v * rows;
    const int64_t begin = q.a.p[v];
    q.c.p[r] = begin * q.b.nvals + (q.a.p[v + 1] - begin) * q.b.p[w];
}

/* Which entries entry e of the product is made of.  64-bit divisions take several times as long: few rows need them. */
__device__ __forceinline__ origin origin_of(const product &q, int64_t row, int64_t e)
{
    const uint32_t rows = static_cast<uint32_t>(q.b.nrows), v = static_cast<uint32_t>(row) / rows, w = static_cast<uint32_t>(row) - v * rows;
    const int64_t begin = q.b.p[w], n = q.b.p[w + 1] - begin, at = e - q.c.p[row];
    const bool few = (at | n) >> 32 == 0;
    const int64_t segment = few ? static_cast<int64_t>(static_cast<uint32_t>(at) / static_cast<uint32_t>(n)) : at / n;
    return {q.a.p[v] + segment, begin + at - segment * n};
}

template <class S> __device__ __forceinline__ S value_of(const void *x, uint64_t one, int64_t e)
{
    if (x)
        return static_cast<const S *>(x)[e];
    S bytes;
    memcpy(&bytes, &one, sizeof bytes);
    return bytes;
}

/* R: of the result; void: it gets no values. */
template <class T, class R> __device__ __forceinline__ void put_value(const product &q, int64_t e, const origin &o)
{
    if constexpr (!std::is_void_v<R>) {
        const stored<T> of_a = value_of<stored<T>>(q.x, q.one_x, o.of_a), of_b = value_of<stored<T>>(q.y, q.one_y, o.of_b);
        const stored<T> x[1] = {q.swaps ? of_b : of_a}, y[1] = {q.swaps ? of_a : of_b};
        stored<R> z[1];
        if constexpr (std::is_same_v<T, R>)
            operate<T>(q.op, z, x, y);
        else
            z[0] = static_cast<stored<R>>(compare<T>(q.op, x, y) & 1);
        static_cast<stored<R> *>(q.c.x)[e] = z[0];
    }
}

template <class T, class R> __global__ void __launch_bounds__(threads) put_entries(product q)
{
    __shared__ int64_t rows[2];
    const int64_t first = static_cast<int64_t>(blockIdx.x) * chunk, last = min(first + chunk, q.c.nvals);
    if (threadIdx.x < 2)
        rows[threadIdx.x] = find_range(q.c.p, q.c.nrows, threadIdx.x ? last - 1 : first);
    __syncthreads();
    for (int64_t e = first + threadIdx.x; e < last; e += threads) {
        const int64_t row = rows[0] + find_range(q.c.p + rows[0], rows[1] - rows[0] + 1, e);
        const origin o = origin_of(q, row, e);
        q.c.i[e] = q.a.i[o.of_a] * static_cast<uint32_t>(q.b.ncols) + q.b.i[o.of_b];
        put_value<T, R>(q, e, o);
    }
}

// ---- Launches ----

bool compares(const tsr_cuda_kronecker &k) { return k.type != TSR_BOOL && tsr_ewise_compares(k.op); }

size_t result_size(const tsr_cuda_kronecker &k) { return k.pattern ? 0 : compares(k) ? 1 : size_of(k.type); }

template <class T, class R> void launch(const product &q, void *stream)
{
    auto kernel = put_entries<T, R>;
    TSR_LAUNCH(kernel, blocks_for(q.c.nvals, chunk), threads, 0, stream, q);
}

template <class T> void launch_typed(const product &q, bool compares, void *stream)
{
    if (compares)
        launch<T, bool>(q, stream);
    else
        launch<T, T>(q, stream);
}

void launch_values(const product &q, const tsr_cuda_kronecker &k, void *stream)
{
    const bool truth = compares(k);
    switch (k.type) {
    case TSR_BOOL: launch<bool, bool>(q, stream); break;
    case TSR_INT8: launch_typed<int8_t>(q, truth, stream); break;
    case TSR_INT16: launch_typed<int16_t>(q, truth, stream); break;
    case TSR_INT32: launch_typed<int32_t>(q, truth, stream); break;
    case TSR_INT64: launch_typed<int64_t>(q, truth, stream); break;
    case TSR_UINT8: launch_typed<uint8_t>(q, truth, stream); break;
    case TSR_UINT16: launch_typed<uint16_t>(q, truth, stream); break;
    case TSR_UINT32: launch_typed<uint32_t>(q, truth, stream); break;
    case TSR_UINT64: launch_typed<uint64_t>(q, truth, stream); break;
    case TSR_FP32: launch_typed<float>(q, truth, stream); break;
    default: launch_typed<double>(q, truth, stream); break;
    }
}

tsr_status fill(const product &q, const tsr_cuda_kronecker &k, void *stream)
{
    TSR_LAUNCH(find_offsets, blocks_for(q.c.nrows + 1, threads), threads, 0, stream, q);
    if (q.c.nvals && k.pattern)
        launch<bool, void>(q, stream);
    else if (q.c.nvals)
        launch_values(q, k, stream);
    return launch_status();
}

tsr_status get_arrays(tsr_cuda_csr *c, size_t value_size, void *stream)
{
    char *x = nullptr;
    tsr_status status = get_array(&c->p, c->nrows + 1, stream);
    if (status == TSR_OK)
        status = get_array(&c->i, c->nvals, stream);
    if (status == TSR_OK && value_size)
        status = get_array(&x, c->nvals * static_cast<int64_t>(value_size), stream);
    c->x = x;
    return status;
}

} // namespace

extern "C" tsr_status tsr_cuda_kronecker_product(tsr_cuda_csr *out, const tsr_cuda_kronecker *k, void *stream)
{
    product q = {k->a, k->b, {}, k->a.x, k->b.x, k->x, k->y, k->op, tsr_kronecker_swaps(k->op)};
    if (k->type == TSR_BOOL && tsr_ewise_compares(k->op))
        q.op = of_its_type(k->op);
    q.c.nrows = k->a.nrows * k->b.nrows;
    q.c.ncols = k->a.ncols * k->b.ncols;
    q.c.nvals = k->a.nvals * k->b.nvals;
    tsr_status status = get_arrays(&q.c, result_size(*k), stream);
    if (status == TSR_OK)
        status = fill(q, *k, stream);
    if (status != TSR_OK) {
        tsr_cuda_free(q.c.p, stream);
        tsr_cuda_free(q.c.i, stream);
        tsr_cuda_free(q.c.x, stream);
        q.c = {};
    }
    *out = q.c;
    return status;
}
