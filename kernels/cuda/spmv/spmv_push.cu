// SpMV from a frontier: columns of A are walked where u has entries.
//
// The entries of u become a list of pieces of at most 256 entries of a column, in no order.  A warp walks a piece; products join in w by
// atomic operations, where the order does not matter.  Of a matrix with short columns only, threads walk whole columns, without a list.
// Floating-point numbers are compared as integers in the same order, in which NaN stands last (MIN) or first (MAX), so that it loses.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmv/spmv_push.h"
#include "kernels/cuda/spmv/joined.cuh"

namespace {

constexpr int threads = 256, blocks_per_sm = 16, piece_entries = 256;

struct push_piece {
    uint32_t column, number;
};

struct push_args {
    const push_piece *pieces;
    const tsr_cuda_push_work *work;
    const int8_t *u_present;
    int64_t columns;
    const int64_t *p;
    const uint32_t *i;
    const void *x, *u;
    void *w;
    int8_t *present;
    uint64_t iso;
    int64_t rows;
    operators ops;
    bool reads_a, reads_b;
};

unsigned at_most(uint64_t blocks, const tsr_cuda_device *device)
{
    uint64_t most = uint64_t(device->sms) * blocks_per_sm;
    return unsigned(blocks < most ? blocks : most);
}

// ---- Pieces ----

/* Every warp reserves room for what its 32 columns have. */
__global__ void __launch_bounds__(threads)
    list_pieces(tsr_cuda_push_work *work, push_piece *pieces, const int8_t *present, const int64_t *p, int64_t columns)
{
    int lane = threadIdx.x % 32;
    int64_t first = int64_t(blockIdx.x) * threads + threadIdx.x - lane;
    for (; first < columns; first += int64_t(gridDim.x) * threads) {
        int64_t column = first + lane;
        unsigned long long entries = column < columns && (!present || present[column]) ? p[column + 1] - p[column] : 0;
        unsigned mine = unsigned((entries + piece_entries - 1) / piece_entries), upto = mine;
        if (!__any_sync(~0u, mine != 0))
            continue;
#pragma unroll
        for (int by = 1; by < 32; by *= 2) {
            unsigned below = __shfl_up_sync(~0u, upto, by);
            upto += lane >= by ? below : 0;
            entries += __shfl_xor_sync(~0u, entries, by);
        }
        unsigned long long at = 0;
        if (lane == 31) {
            at = atomicAdd(reinterpret_cast<unsigned long long *>(&work->pieces), (unsigned long long)upto);
            atomicAdd(reinterpret_cast<unsigned long long *>(&work->entries), entries);
        }
        at = __shfl_sync(~0u, at, 31) + upto - mine;
        for (unsigned k = 0; k < mine; k++)
            pieces[at + k] = {uint32_t(column), k};
    }
}

// ---- What w holds while products join ----

template <class T> __device__ __forceinline__ joined<T> identity_of(int add)
{
    return to_joined<T>(add, any_semiring<T>::identity(add));
}

template <class T> __device__ __forceinline__ void join(T *w, int add, T t)
{
    if (add == TSR_ADD_ANY || add == TSR_ADD_LOR) {
        if (t != T(0))
            *w = T(1);
        return;
    }
    if constexpr (joins<T>) {
        joined<T> *at = reinterpret_cast<joined<T> *>(w), s = to_joined<T>(add, t);
        if (add == TSR_ADD_PLUS)
            atomicAdd(reinterpret_cast<unsigned_of<T> *>(at), unsigned_of<T>(s));
        else if (add == TSR_ADD_MIN ? s < __ldcg(at) : s > __ldcg(at))
            add == TSR_ADD_MIN ? atomicMin(at, s) : atomicMax(at, s);
    }
}

// ---- Kernels ----

/* Nothing is present; MIN and MAX begin with their identities. */
template <class T> __global__ void __launch_bounds__(threads) begin_push(const __grid_constant__ push_args q)
{
    joined<T> *w = static_cast<joined<T> *>(q.w);
    for (int64_t row = int64_t(blockIdx.x) * threads + threadIdx.x; row < q.rows; row += int64_t(gridDim.x) * threads) {
        w[row] = identity_of<T>(q.ops.add);
        q.present[row] = 0;
    }
}

/* Entries first, first + step, ... below end of a column, times what u has there. */
template <class T> __device__ __forceinline__ void push_entries(const push_args &q, int64_t column, int64_t first, int64_t end, int step)
{
    using P = any_semiring<T>;
    using element = typename P::element;
    const element *x = static_cast<const element *>(q.x), *u = static_cast<const element *>(q.u);
    T *w = static_cast<T *>(q.w), iso = T(0);
    memcpy(static_cast<void *>(&iso), &q.iso, sizeof iso);
    T b = q.reads_b ? T(P::widen(u[column])) : T(0);
    for (int64_t e = first; e < end; e += step) {
        uint32_t row = load_once(q.i + e);
        T a = q.reads_a ? T(P::widen(load_once(x + e))) : iso;
        join<T>(w + row, q.ops.add, P::multiply(q.ops.mul, a, b));
        q.present[row] = 1;
    }
}

template <class T> __global__ void __launch_bounds__(threads) push_columns(const __grid_constant__ push_args q)
{
    for (int64_t column = int64_t(blockIdx.x) * threads + threadIdx.x; column < q.columns; column += int64_t(gridDim.x) * threads) {
        if (!q.u_present || q.u_present[column])
            push_entries<T>(q, column, q.p[column], q.p[column + 1], 1);
    }
}

template <class T> __global__ void __launch_bounds__(threads) push_pieces(const __grid_constant__ push_args q)
{
    const uint64_t warps = uint64_t(gridDim.x) * (threads / 32), npieces = q.work->pieces;
    for (uint64_t k = uint64_t(blockIdx.x) * (threads / 32) + threadIdx.x / 32; k < npieces; k += warps) {
        push_piece piece = q.pieces[k];
        int64_t begin = q.p[piece.column] + int64_t(piece.number) * piece_entries, end = q.p[piece.column + 1];
        end = end < begin + piece_entries ? end : begin + piece_entries;
        push_entries<T>(q, piece.column, begin + threadIdx.x % 32, end, 32);
    }
}

template <class T> __global__ void __launch_bounds__(threads) end_push(const __grid_constant__ push_args q)
{
    const joined<T> *s = static_cast<const joined<T> *>(q.w);
    T *w = static_cast<T *>(q.w);
    for (int64_t row = int64_t(blockIdx.x) * threads + threadIdx.x; row < q.rows; row += int64_t(gridDim.x) * threads) {
        T t = from_joined<T>(q.ops.add, s[row]);
        w[row] = q.present[row] ? t : T(0);
    }
}

tsr_status clear(const push_args &q, size_t size, void *stream)
{
    tsr_status status = tsr_cuda_set(q.present, 0, size_t(q.rows), stream);
    return status == TSR_OK ? tsr_cuda_set(q.w, 0, size_t(q.rows) * size, stream) : status;
}

template <class T> tsr_status launch(const push_args &q, uint64_t most, const tsr_cuda_device *device, void *stream)
{
    unsigned of_rows = at_most((uint64_t(q.rows) + threads - 1) / threads, device);
    unsigned of_pieces = at_most((most + threads / 32 - 1) / (threads / 32), device);
    bool orders = most && (q.ops.add == TSR_ADD_MIN || q.ops.add == TSR_ADD_MAX);
    tsr_status status = orders ? TSR_OK : clear(q, sizeof(T), stream);
    if (status != TSR_OK || !most)
        return status;
    if constexpr (joins<T>) {
        if (orders)
            TSR_LAUNCH(begin_push<T>, of_rows, threads, 0, stream, q);
    }
    if (q.pieces) {
        TSR_LAUNCH(push_pieces<T>, of_pieces, threads, 0, stream, q);
    } else {
        TSR_LAUNCH(push_columns<T>, at_most((uint64_t(q.columns) + threads - 1) / threads, device), threads, 0, stream, q);
    }
    if constexpr (joins<T>) {
        if (orders)
            TSR_LAUNCH(end_push<T>, of_rows, threads, 0, stream, q);
    }
    return launch_status();
}

} // namespace

extern "C" size_t tsr_cuda_push_bytes(const tsr_cuda_csr *columns)
{
    return size_t(columns->nrows + columns->nvals / piece_entries + 1) * sizeof(push_piece);
}

extern "C" uint64_t tsr_cuda_push_pieces(uint64_t entries)
{
    return (entries + piece_entries - 1) / piece_entries;
}

extern "C" tsr_status tsr_cuda_push_list(tsr_cuda_push_work *work, void *pieces, const tsr_cuda_push *push)
{
    int64_t columns = push->columns->nrows;
    tsr_status status = tsr_cuda_set(work, 0, sizeof *work, push->stream);
    if (status != TSR_OK || columns == 0)
        return status;
    TSR_LAUNCH(list_pieces, at_most((uint64_t(columns) + threads - 1) / threads, push->device), threads, 0, push->stream, work,
        static_cast<push_piece *>(pieces), push->u_present, push->columns->p, columns);
    return launch_status();
}

extern "C" tsr_status tsr_cuda_push_run(const tsr_cuda_push *push, const void *pieces, const tsr_cuda_push_work *work, uint64_t most)
{
    const tsr_cuda_csr *a = push->columns;
    if (!tsr_cuda_push_takes(push->semiring))
        return TSR_DECLINED;
    if (a->nrows == 0 || a->ncols == 0)
        most = 0;
    push_args q = {};
    q.pieces = static_cast<const push_piece *>(pieces);
    q.work = work;
    q.u_present = push->u_present;
    q.columns = a->nrows;
    q.p = a->p;
    q.i = a->i;
    q.x = a->x;
    q.u = push->u;
    q.w = push->w;
    q.present = push->w_present;
    q.iso = push->iso;
    q.rows = a->ncols;
    q.ops = { push->semiring.add, push->semiring.mul };
    q.reads_a = tsr_mul_reads_a(push->semiring.mul) && a->x;
    q.reads_b = tsr_mul_reads_b(push->semiring.mul);
    switch (push->semiring.type) {
    case TSR_BOOL: return launch<bool>(q, most, push->device, push->stream);
    case TSR_INT8: return launch<int8_t>(q, most, push->device, push->stream);
    case TSR_INT16: return launch<int16_t>(q, most, push->device, push->stream);
    case TSR_INT32: return launch<int32_t>(q, most, push->device, push->stream);
    case TSR_INT64: return launch<int64_t>(q, most, push->device, push->stream);
    case TSR_UINT8: return launch<uint8_t>(q, most, push->device, push->stream);
    case TSR_UINT16: return launch<uint16_t>(q, most, push->device, push->stream);
    case TSR_UINT32: return launch<uint32_t>(q, most, push->device, push->stream);
    case TSR_UINT64: return launch<uint64_t>(q, most, push->device, push->stream);
    case TSR_FP32: return launch<float>(q, most, push->device, push->stream);
    case TSR_FP64: return launch<double>(q, most, push->device, push->stream);
    }
    return TSR_DECLINED;
}
