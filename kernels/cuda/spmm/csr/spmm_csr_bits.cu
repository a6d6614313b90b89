// SpMM by row where products join by a logical or: B as bits, a word of 32 columns for 32 elements.
//
// Elements of B become bits (which are there; which are true), a warp takes 256 consecutive entries of A, a lane fetches the bits of the
// row of B of its entry, lanes of one row of A join theirs, and what is new goes to the bits of C by atomic or, which gives the same
// whatever the order.  Then bits become elements of C.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/common/entry_rows.cuh"
#include "kernels/cuda/spmm/csr/spmm_csr.cuh"

namespace {

constexpr int threads = 256, chunk = 256; // entries of a warp
constexpr int width = 32;                 // columns of a word
constexpr int least = 16;                 // columns, for it to pay
constexpr unsigned every_lane = 0xffffffffu;

/* Words of a row: 1, 2, or a multiple of 4, which are fetched together. */
int64_t words_of(int64_t n)
{
    const int64_t words = (n + width - 1) / width;
    return words <= 2 ? words : (words + 3) / 4 * 4;
}

struct bits_args {
    csr_args q;
    csr_bits bits;
    int64_t ncols, nvals, words;
    uint32_t *b[2], *c[2]; // present, values: of each a row of words, NULL where not needed
};

// ---- To bits ----

/* Which of four bytes are not 0, as four bits. */
__device__ __forceinline__ uint32_t four_bits(uint32_t x)
{
    x |= x >> 4;
    x |= x >> 2;
    x |= x >> 1;
    return ((x & 0x01010101u) * 0x01020408u) >> 24 & 15u;
}

__device__ __forceinline__ uint32_t pack(const uint8_t *from, int64_t count, bool aligned)
{
    uint32_t word = 0;
    if (aligned && count >= width) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const uint4 v = __ldcs(reinterpret_cast<const uint4 *>(from) + half);
            word |= (four_bits(v.x) | four_bits(v.y) << 4 | four_bits(v.z) << 8 | four_bits(v.w) << 12) << 16 * half;
        }
        return word;
    }
    for (int k = 0; k < width && k < count; k++)
        word |= from[k] ? 1u << k : 0;
    return word;
}

/* A thread makes a word of each kind. */
__global__ void __launch_bounds__(threads) pack_b(const __grid_constant__ bits_args a, bool b_aligned, bool present_aligned)
{
    const int64_t at = int64_t(blockIdx.x) * threads + threadIdx.x, row = at / a.words, first = at % a.words * width;
    if (row >= a.ncols)
        return;
    const int64_t place = row * a.q.ldb + first, count = a.q.n - first;
    uint32_t there = ~0u;
    if (a.q.b_present)
        there = count > 0 ? pack(reinterpret_cast<const uint8_t *>(a.q.b_present) + place, count, present_aligned) : 0;
    if (a.b[0])
        a.b[0][at] = there;
    if (a.b[1])
        a.b[1][at] = !a.q.reads_b ? there : count > 0 ? there & pack(static_cast<const uint8_t *>(a.q.b) + place, count, b_aligned) : 0;
}

// ---- Products ----

template <int Words> __device__ __forceinline__ void fetch(uint32_t (&to)[Words], const uint32_t *from, bool inside)
{
    if (inside) {
        load_vector(to, from);
    } else {
#pragma unroll
        for (int w = 0; w < Words; w++)
            to[w] = 0;
    }
}

/* Joins the words of the lanes of each row, which begin at the lanes in `heads`, in C. */
template <int Words> __device__ __forceinline__ void join_rows(uint32_t *c, const uint32_t (&mine)[Words], unsigned heads)
{
    const int lane = threadIdx.x % 32;
    const int my_head = 31 - __clz(static_cast<int>(heads & ((2u << lane) - 1)));
    for (unsigned rest = heads; rest; rest &= rest - 1) {
        const int head = __ffs(static_cast<int>(rest)) - 1;
#pragma unroll
        for (int w = 0; w < Words; w++) {
            const uint32_t all = __reduce_or_sync(every_lane, my_head == head ? mine[w] : 0u);
            if (lane == head && all & ~__ldcg(c + w))
                atomicOr(c + w, all);
        }
    }
}

template <int Words> __global__ void __launch_bounds__(threads) multiply_bits(const __grid_constant__ bits_args a)
{
    const int lane = threadIdx.x % 32;
    const int64_t first = (int64_t(blockIdx.x) * (threads / 32) + threadIdx.x / 32) * chunk;
    if (first >= a.nvals)
        return;
    const int64_t last = min(first + chunk, a.nvals) - 1;
    const int64_t first_row = warp_row(a.q.p, 0, a.q.nrows, first), last_row = warp_row_near(a.q.p, first_row, a.q.nrows, last);
#pragma unroll 1
    for (int64_t base = first; base <= last; base += 32) {
        const bool inside = base + lane <= last;
        const int64_t e = min(base + lane, last), col = load_once(a.q.i + e);
        const bool on = !a.bits.weighted || (a.q.reads_a ? static_cast<const uint8_t *>(a.q.x)[e] != 0 : a.q.iso != 0);
        int64_t low = first_row, high = last_row;
        while (low < high) {
            const int64_t middle = (low + high) / 2;
            if (__ldg(a.q.p + middle + 1) <= e)
                low = middle + 1;
            else
                high = middle;
        }
        const int64_t before = __shfl_up_sync(every_lane, static_cast<long long>(low), 1);
        const unsigned heads = __ballot_sync(every_lane, lane == 0 || low != before);
#pragma unroll
        for (int kind = 0; kind < 2; kind++)
            for (int64_t w = 0; a.b[kind] && w < a.words; w += Words) {
                uint32_t mine[Words];
                fetch(mine, a.b[kind] + col * a.words + w, inside && (kind == 0 || on));
                join_rows(a.c[kind] + low * a.words + w, mine, heads);
            }
    }
}

// ---- From bits ----

/* A thread makes four elements.  Without bits of what is there: rows with entries are there. */
template <class T> __global__ void __launch_bounds__(threads) unpack_c(const __grid_constant__ bits_args a, bool c_aligned, bool present_aligned)
{
    constexpr int each = 4;
    const int64_t quads = (a.q.n + each - 1) / each;
    const int64_t at = int64_t(blockIdx.x) * threads + threadIdx.x, row = at / quads, first = at % quads * each;
    if (row >= a.q.nrows)
        return;
    const int64_t word = row * a.words + first / width, place = row * a.q.ldc + first;
    const int shift = static_cast<int>(first % width), count = static_cast<int>(min(int64_t(each), a.q.n - first));
    const bool filled = __ldg(a.q.p + row + 1) > __ldg(a.q.p + row);
    const uint32_t there = a.c[0] ? __ldg(a.c[0] + word) >> shift : filled ? ~0u : 0;
    const uint32_t ones = a.c[1] ? __ldg(a.c[1] + word) >> shift : there;
    T x[each];
    int8_t present[each];
#pragma unroll
    for (int k = 0; k < each; k++) {
        x[k] = T(ones >> k & 1);
        present[k] = int8_t(there >> k & 1);
    }
    T *c = static_cast<T *>(a.q.c) + place;
    if (c_aligned && count == each)
        store_vector(c, x);
    else
        for (int k = 0; k < count; k++)
            c[k] = x[k];
    if (!a.q.c_present)
        return;
    if (present_aligned && count == each)
        store_vector(a.q.c_present + place, present);
    else
        for (int k = 0; k < count; k++)
            a.q.c_present[place + k] = present[k];
}

bool aligned(const void *p, int64_t ld, size_t size, size_t to)
{
    return reinterpret_cast<uintptr_t>(p) % to == 0 && size_t(ld) * size % to == 0;
}

unsigned blocks_for(int64_t count)
{
    return static_cast<unsigned>((count + threads - 1) / threads);
}

template <class T> tsr_status unpack(const bits_args &a, void *stream)
{
    constexpr size_t most = 4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16;
    auto kernel = unpack_c<T>;
    TSR_LAUNCH(kernel, blocks_for(a.q.nrows * ((a.q.n + 3) / 4)), threads, 0, stream, a, aligned(a.q.c, a.q.ldc, sizeof(T), most),
               aligned(a.q.c_present, a.q.ldc, 1, 4));
    return launch_status();
}

tsr_status unpack_by_type(tsr_type type, const bits_args &a, void *stream)
{
    switch (type) {
    case TSR_FP32: return unpack<float>(a, stream);
    case TSR_FP64: return unpack<double>(a, stream);
    default: break;
    }
    switch (size_of(type)) {
    case 1: return unpack<uint8_t>(a, stream);
    case 2: return unpack<uint16_t>(a, stream);
    case 4: return unpack<uint32_t>(a, stream);
    default: return unpack<uint64_t>(a, stream);
    }
}

tsr_status multiply(const bits_args &a, void *stream)
{
    const unsigned blocks = blocks_for((a.nvals + chunk - 1) / chunk * 32);
    auto kernel = a.words == 1 ? multiply_bits<1> : a.words == 2 ? multiply_bits<2> : multiply_bits<4>;
    TSR_LAUNCH(kernel, blocks, threads, 0, stream, a);
    return launch_status();
}

} // namespace

csr_bits tsr_csr_bits_of(tsr_semiring semiring, bool b_present, int64_t n, int64_t nvals, int64_t nrows, int64_t ncols)
{
    const tsr_add add = semiring.add;
    const tsr_mul mul = semiring.mul;
    const bool boolean = semiring.type == TSR_BOOL, joins = add == TSR_ADD_LOR || add == TSR_ADD_MAX || (add == TSR_ADD_PLUS && boolean);
    const bool ones = mul == TSR_MUL_PAIR && (joins || add == TSR_ADD_ANY || add == TSR_ADD_MIN);
    const bool truths = boolean && joins && (mul == TSR_MUL_TIMES || mul == TSR_MUL_AND || mul == TSR_MUL_FIRST || mul == TSR_MUL_SECOND);
    csr_bits bits = {};
    bits.taken = (ones || truths) && n >= least && nvals >= nrows + ncols;
    bits.present = b_present;
    bits.values = !ones;
    bits.weighted = tsr_mul_reads_a(mul);
    return bits;
}

size_t tsr_csr_bits_bytes(const csr_bits &bits, int64_t n, int64_t nrows, int64_t ncols)
{
    return size_t(bits.present + bits.values) * size_t(nrows + ncols) * size_t(words_of(n)) * sizeof(uint32_t);
}

tsr_status tsr_csr_by_bits(tsr_type type, const csr_bits &bits, const csr_args &q, int64_t ncols, int64_t nvals, void *stream)
{
    bits_args a = {};
    a.q = q;
    a.bits = bits;
    a.ncols = ncols;
    a.nvals = nvals;
    a.words = words_of(q.n);
    auto *next = static_cast<uint32_t *>(q.partial);
    const bool needed[2] = { bits.present, bits.values };
    for (int kind = 0; kind < 2; kind++)
        if (needed[kind]) {
            a.c[kind] = next;
            next += q.nrows * a.words;
        }
    const size_t c_bytes = size_t(reinterpret_cast<char *>(next) - static_cast<char *>(q.partial));
    for (int kind = 0; kind < 2; kind++)
        if (needed[kind]) {
            a.b[kind] = next;
            next += ncols * a.words;
        }
    if (!bits.present && !bits.values)
        return unpack_by_type(type, a, stream);
    tsr_status status = tsr_cuda_set(q.partial, 0, c_bytes, stream);
    if (status != TSR_OK)
        return status;
    TSR_LAUNCH(pack_b, blocks_for(ncols * a.words), threads, 0, stream, a, aligned(q.b, q.ldb, 1, 16), aligned(q.b_present, q.ldb, 1, 16));
    status = launch_status();
    if (status == TSR_OK)
        status = multiply(a, stream);
    return status == TSR_OK ? unpack_by_type(type, a, stream) : status;
}
