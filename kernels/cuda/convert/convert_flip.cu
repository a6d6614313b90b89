// The other orientation: a stable sort of the entries by column.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/convert/convert.cuh"

namespace tsr_convert {
namespace {

constexpr int threads = 256;
constexpr int load_entries = 16 * threads; // of a block, which looks for their rows together

/* What is sorted with the columns.  Rows alone, or with values of up to four bytes above; else the number of the entry. */
enum payload_kind { payload_row, payload_value, payload_entry };

struct flipping {
    tsr_cuda_csr in, out;
    int element_size;
    payload_kind kind;
    bool wide; // payloads of 8 bytes
    uint32_t *key[2];
    void *payload[2];
    uint32_t *row; // of each entry; payload_entry only
};

__device__ __forceinline__ uint64_t load_element(const void *x, int64_t e, int size)
{
    switch (size) {
    case 1: return static_cast<const uint8_t *>(x)[e];
    case 2: return static_cast<const uint16_t *>(x)[e];
    case 4: return static_cast<const uint32_t *>(x)[e];
    default: return static_cast<const uint64_t *>(x)[e];
    }
}

__device__ __forceinline__ void store_element(void *x, int64_t e, int size, uint64_t value)
{
    switch (size) {
    case 1: static_cast<uint8_t *>(x)[e] = static_cast<uint8_t>(value); break;
    case 2: static_cast<uint16_t *>(x)[e] = static_cast<uint16_t>(value); break;
    case 4: static_cast<uint32_t *>(x)[e] = static_cast<uint32_t>(value); break;
    default: static_cast<uint64_t *>(x)[e] = value;
    }
}

/* Of 8 or 16 bytes. */
__device__ __forceinline__ void move_element(const flipping &f, int64_t to, int64_t from)
{
    const int words = f.element_size / 8;
    for (int k = 0; k < words; k++)
        store_element(f.out.x, to * words + k, 8, load_element(f.in.x, from * words + k, 8));
}

/* Rows of the entries [begin, end) of a block, found among those of the first and the last: rows[0], rows[1]. */
__device__ __forceinline__ void find_rows(int64_t rows[2], const tsr_cuda_csr &a, int64_t begin, int64_t end)
{
    if (threadIdx.x < 2)
        rows[threadIdx.x] = find_range(a.p, a.nrows, threadIdx.x ? end - 1 : begin);
    __syncthreads();
}

__global__ void __launch_bounds__(threads) load_pairs(flipping f)
{
    __shared__ int64_t rows[2];
    int64_t begin = static_cast<int64_t>(blockIdx.x) * load_entries, end = min(begin + load_entries, f.in.nvals);
    find_rows(rows, f.in, begin, end);
    for (int64_t e = begin + threadIdx.x; e < end; e += threads) {
        uint64_t row = static_cast<uint64_t>(rows[0] + find_range(f.in.p + rows[0], rows[1] - rows[0] + 1, e));
        f.key[0][e] = f.in.i[e];
        if (f.kind == payload_entry)
            f.row[e] = static_cast<uint32_t>(row);
        uint64_t pay = f.kind == payload_entry ? static_cast<uint64_t>(e)
                       : f.kind == payload_row ? row
                                               : load_element(f.in.x, e, f.element_size) << 32 | row;
        store_element(f.payload[0], e, f.wide ? 8 : 4, pay);
    }
}

__global__ void __launch_bounds__(threads) store_entries(flipping f, const void *payload)
{
    int64_t e = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
    if (e >= f.in.nvals)
        return;
    uint64_t pay = load_element(payload, e, f.wide ? 8 : 4);
    if (f.kind == payload_entry) {
        f.out.i[e] = f.row[pay];
        move_element(f, e, static_cast<int64_t>(pay));
        return;
    }
    f.out.i[e] = static_cast<uint32_t>(pay);
    if (f.kind == payload_value)
        store_element(f.out.x, e, f.element_size, pay >> 32);
}

__global__ void __launch_bounds__(threads) find_offsets(tsr_cuda_csr out, const uint32_t *key)
{
    int64_t c = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
    if (c <= out.nrows)
        out.p[c] = lower_bound(key, static_cast<int64_t>(0), out.nvals, c);
}

tsr_status get_result(tsr_cuda_csr *out, bool values, int element_size, void *stream)
{
    char *x = nullptr;
    tsr_status status = get_array(&out->p, out->nrows + 1, stream);
    if (status == TSR_OK)
        status = get_array(&out->i, out->nvals, stream);
    if (status == TSR_OK && values)
        status = get_array(&x, out->nvals * element_size, stream);
    out->x = x;
    return status;
}

tsr_status flip(flipping f, void *stream)
{
    Arena arena(stream);
    char *scratch, *pay[2];
    int64_t n = f.in.nvals;
    int size = f.wide ? 8 : 4, bits = 0, at = 0;
    while (static_cast<int64_t>(1) << bits < f.in.ncols)
        bits++;
    for (int k = 0; k < 2; k++) {
        arena.want(&f.key[k], n);
        arena.want(&pay[k], n * size);
    }
    arena.want(&f.row, f.kind == payload_entry ? n : 0);
    arena.want(&scratch, static_cast<int64_t>(tsr_cuda_sort_bytes(n, size, bits)));
    tsr_status status = arena.get();
    if (status != TSR_OK)
        return status;
    f.payload[0] = pay[0];
    f.payload[1] = pay[1];
    if (n)
        TSR_LAUNCH(load_pairs, blocks_for(n, load_entries), threads, 0, stream, f);
    status = tsr_cuda_sort_pairs(f.key, f.payload, size, n, bits, &at, scratch, stream);
    if (status != TSR_OK)
        return status;
    if (n)
        TSR_LAUNCH(store_entries, blocks_for(n, threads), threads, 0, stream, f, static_cast<const void *>(f.payload[at]));
    TSR_LAUNCH(find_offsets, blocks_for(f.out.nrows + 1, threads), threads, 0, stream, f.out,
               static_cast<const uint32_t *>(f.key[at]));
    return launch_status();
}

} // namespace
} // namespace tsr_convert

using namespace tsr_convert;

extern "C" tsr_status tsr_cuda_flip(tsr_cuda_csr *out, const tsr_cuda_csr *in, int element_size, void *stream)
{
    const int64_t most = static_cast<int64_t>(1) << 32;
    *out = {};
    if (in->nrows > most || in->ncols > most)
        return TSR_NOT_SUPPORTED;
    flipping f = {};
    out->nrows = in->ncols;
    out->ncols = in->nrows;
    out->nvals = in->nvals;
    tsr_status status = get_result(out, in->x != nullptr, element_size, stream);
    f.in = *in;
    f.out = *out;
    f.element_size = element_size;
    f.kind = !in->x ? payload_row : element_size <= 4 ? payload_value : payload_entry;
    f.wide = f.kind == payload_value || (f.kind == payload_entry && in->nvals > most);
    if (status == TSR_OK)
        status = flip(f, stream);
    tsr_status waited = tsr_cuda_wait(stream);
    if (status == TSR_OK)
        status = waited;
    if (status == TSR_OK)
        return TSR_OK;
    tsr_cuda_free(out->p, stream);
    tsr_cuda_free(out->i, stream);
    tsr_cuda_free(out->x, stream);
    *out = {};
    return status;
}
