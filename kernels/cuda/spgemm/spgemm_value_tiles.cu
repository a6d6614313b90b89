// Sparse times sparse where C is nearly full: sums of 128 x 128 places at a time by matrix instructions, of tiles in which absent entries are 0.
//
// A tile of an operand, 128 lines of 256 columns, lies in slices of 128 bytes of each line: 16 columns in FP64, 32 in FP32, 128 of 8-bit integers.
// A slice is what a block of threads brings at a time, and those without an entry are left out.  A lane takes 16 bytes of a line at once, chunk t or
// 4 + t of its eight; in odd lines the halves of a slice change places, so that eight lanes read different banks.
//
// Integers, whatever their type, that fit into 8 bits are added up exactly.  FP32 is split into three parts of 8 bits, which are products of
// BF16 exactly; the three smallest of nine products are left out, 2^-26 of the whole, and the sums of 16 columns are added to the others by themselves,
// rounded to nearest, because the instructions cut off.  FP64 has instructions of its own.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/common/arena.cuh"
#include "kernels/cuda/common/tile_results.cuh"
#include "kernels/cuda/spgemm/spgemm_value_tiles.cuh"

#include <cmath>

namespace {

using namespace spgemm_tile;

constexpr int line_bytes = 128, chunk_bytes = 16, half_chunks = 4, slice_bytes = side * line_bytes;
constexpr int pitch = side + 8; // of a tile's sums in shared memory
constexpr size_t most_shared = side * pitch * sizeof(double);

// ---- Instructions ----
//
// A line is what a lane has of one: a chunk of a row of A or of a column of B.  multiply<K>: the K-th instruction of several (`each`) that add up rows g and
// g + 8 of A times column g of B; others come between two of them, because an instruction waits for the one before with the same sums.

static __device__ __forceinline__ void multiply_words(int (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) { mma_m16n8k32_int8(d, a, b); }
static __device__ __forceinline__ void multiply_words(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) { mma_m16n8k8_tf32(d, a, b); }

/* Words as they lie there: integers of 8 bits, or FP32 of which the hardware cuts off 13 bits. */
template <class Element, class Sum> struct word_sums {
    using element = Element;
    using sum = Sum;
    using line = uint4;
    static constexpr int stages = 3, blocks = 2, each = 2;
    static constexpr bool apart = false;

    static __device__ __forceinline__ line prepare(const uint4 &x)
    {
        constexpr uint32_t half = std::is_floating_point_v<Element> ? 0x1000u : 0; // of the last place kept
        return { x.x + half, x.y + half, x.z + half, x.w + half };
    }
    template <int K> static __device__ __forceinline__ void multiply(sum (&d)[4], const line &low, const line &high, const line &b)
    {
        const uint32_t x[2][4] = { { low.x, high.x, low.y, high.y }, { low.z, high.z, low.w, high.w } }, y[2][2] = { { b.x, b.y }, { b.z, b.w } };
        multiply_words(d, x[K], y[K]);
    }
};
using int8_sums = word_sums<int8_t, int>;
using tf32_sums = word_sums<float, float>;

struct split_sums {
    using element = float;
    using sum = float;
    struct line {
        uint32_t part[3][2]; // the largest first, pairs of BF16
    };
    static constexpr int stages = 4, blocks = 1, each = 6;
    static constexpr bool apart = true; // the sums of half a slice by themselves

    /* Two floats as pairs, the first in the low halves. */
    static __device__ __forceinline__ void split(line &to, int word, float x, float y)
    {
#pragma unroll
        for (int k = 0; k < 3; k++) {
            const uint32_t pair = bf16_pair(x, y);
            to.part[k][word] = pair;
            x -= __uint_as_float(pair << 16), y -= __uint_as_float(pair & 0xffff0000u);
        }
    }
    static __device__ __forceinline__ line prepare(const uint4 &x)
    {
        line to;
        split(to, 0, __uint_as_float(x.x), __uint_as_float(x.y));
        split(to, 1, __uint_as_float(x.z), __uint_as_float(x.w));
        return to;
    }
    /* The smallest products first. */
    template <int K> static __device__ __forceinline__ void multiply(sum (&d)[4], const line &low, const line &high, const line &b)
    {
        constexpr int parts[each][2] = { { 0, 2 }, { 2, 0 }, { 1, 1 }, { 0, 1 }, { 1, 0 }, { 0, 0 } }, i = parts[K][0], j = parts[K][1];
        const uint32_t x[4] = { low.part[i][0], high.part[i][0], low.part[i][1], high.part[i][1] };
        mma_m16n8k16_half<true>(d, x, b.part[j]);
    }
};

struct fp64_sums {
    using element = double;
    using sum = double;
    struct line {
        double x[2];
    };
    static constexpr int stages = 4, blocks = 1, each = 1;
    static constexpr bool apart = false;

    static __device__ __forceinline__ line prepare(const uint4 &x) { return { { __hiloint2double(int(x.y), int(x.x)), __hiloint2double(int(x.w), int(x.z)) } }; }
    template <int> static __device__ __forceinline__ void multiply(sum (&d)[4], const line &low, const line &high, const line &b)
    {
        const double a[4] = { low.x[0], high.x[0], low.x[1], high.x[1] };
        mma_m16n8k8_f64(d, a, b.x);
    }
};

/* Calls run(instructions), of which only the type counts. */
template <class Run> tsr_status with_sums(tsr_spgemm_tile_sums sums, const Run &run)
{
    switch (sums) {
    case TSR_SPGEMM_TILE_INT8: return run(int8_sums());
    case TSR_SPGEMM_TILE_TF32: return run(tf32_sums());
    case TSR_SPGEMM_TILE_SPLIT: return run(split_sums());
    case TSR_SPGEMM_TILE_FP64: return run(fp64_sums());
    default: return TSR_INTERNAL_ERROR;
    }
}

/* Calls run(x), x of the type. */
template <class Run> tsr_status with_type(tsr_type type, const Run &run)
{
    switch (type) {
    case TSR_INT8: return run(int8_t());
    case TSR_INT16: return run(int16_t());
    case TSR_INT32: return run(int32_t());
    case TSR_INT64: return run(int64_t());
    case TSR_UINT8: return run(uint8_t());
    case TSR_UINT16: return run(uint16_t());
    case TSR_UINT32: return run(uint32_t());
    case TSR_UINT64: return run(uint64_t());
    case TSR_FP32: return run(float());
    case TSR_FP64: return run(double());
    default: return TSR_INTERNAL_ERROR;
    }
}

/* Integers of the same size have the same bits. */
template <class Run> tsr_status with_result(tsr_type type, const Run &run)
{
    const bool real = type == TSR_FP32 || type == TSR_FP64;
    switch (size_of(type)) {
    case 1: return run(int8_t());
    case 2: return run(int16_t());
    case 4: return real ? run(float()) : run(int32_t());
    default: return real ? run(double()) : run(int64_t());
    }
}

// ---- What is known of values ----

/* Sizes as bits of doubles, whose order is that of the numbers; NaN is beyond all.  Zeros before anything is found. */
struct found_facts {
    unsigned long long most, not_least; // the least but 0, inverted
    uint32_t large;                     // one is no integer of 8 bits
};

__device__ __forceinline__ unsigned long long bits_of_size(double x) { return static_cast<unsigned long long>(__double_as_longlong(x)) & ~(1ull << 63); }

/* -0 would become 0. */
template <class T> __device__ __forceinline__ bool fits_int8(T x)
{
    if constexpr (std::is_floating_point_v<T>)
        return x >= T(-127) && x <= T(127) && T(int(x)) == x && !(x == 0 && __double2hiint(double(x)) < 0);
    else
        return std::is_unsigned_v<T> ? x <= T(127) : x >= T(-127) && x <= T(127);
}

template <class T> __global__ void __launch_bounds__(threads) find_facts(const T *x, int64_t n, found_facts *facts)
{
    unsigned long long most = 0, not_least = 0;
    bool large = false;
    for (int64_t e = blockIdx.x * int64_t(threads) + threadIdx.x; e < n; e += int64_t(gridDim.x) * threads) {
        const unsigned long long size = bits_of_size(double(x[e]));
        most = most > size ? most : size;
        not_least = size && ~size > not_least ? ~size : not_least;
        large |= !fits_int8(x[e]);
    }
    for (int by = 16; by > 0; by /= 2) {
        const unsigned long long other = __shfl_xor_sync(~0u, most, by), lower = __shfl_xor_sync(~0u, not_least, by);
        most = most > other ? most : other;
        not_least = not_least > lower ? not_least : lower;
    }
    large = __ballot_sync(~0u, large) != 0;
    if (threadIdx.x % 32)
        return;
    atomicMax(&facts->most, most);
    atomicMax(&facts->not_least, not_least);
    if (large)
        atomicOr(&facts->large, 1u);
}

/* The values an operand brings into products: x, or one for all. */
struct operand_values {
    const void *x;
    uint64_t one;
};

uint64_t one_of(tsr_type type)
{
    const float narrow = 1;
    const double wide = 1;
    uint64_t bits = 1;
    if (type == TSR_FP32)
        bits = 0, memcpy(&bits, &narrow, sizeof narrow);
    if (type == TSR_FP64)
        memcpy(&bits, &wide, sizeof wide);
    return bits;
}

operand_values values_of(const tsr_cuda_spgemm *q, bool turned)
{
    const tsr_semiring s = q->semiring;
    if (s.mul == (turned ? TSR_MUL_FIRST : TSR_MUL_SECOND))
        return { nullptr, one_of(s.type) };
    return turned ? operand_values { q->b->x, q->b_iso } : operand_values { q->a->x, q->a_iso };
}

class Facts {
  public:
    explicit Facts(const tsr_cuda_spgemm *product) : q(product), arena(product->stream), stream(product->stream) {}

    /* Of A and of B, of their first values. */
    tsr_status find(tsr_spgemm_tile_facts (&facts)[2], int64_t most_values)
    {
        found_facts found[2] = {};
        uint64_t *one;
        arena.want(&on_device, 2);
        arena.want(&one, 2);
        tsr_status status = arena.get();
        if (status == TSR_OK)
            status = tsr_cuda_set(on_device, 0, sizeof found, stream);
        for (int turned = 0; turned < 2 && status == TSR_OK; turned++)
            status = start(turned, one + turned, most_values);
        if (status == TSR_OK)
            status = tsr_cuda_to_host(found, on_device, sizeof found, stream);
        const tsr_status waited = tsr_cuda_wait(stream);
        for (int k = 0; k < 2; k++)
            facts[k] = { size_of_bits(found[k].most), found[k].not_least ? size_of_bits(~found[k].not_least) : 0, found[k].large == 0 };
        return status == TSR_OK ? waited : status;
    }

  private:
    tsr_status start(bool turned, uint64_t *one, int64_t most_values)
    {
        const operand_values values = one_values[turned] = values_of(q, turned);
        const int64_t nvals = values.x ? (turned ? q->b : q->a)->nvals : 1, n = nvals < most_values ? nvals : most_values;
        tsr_status status = TSR_OK;
        if (!values.x)
            status = tsr_cuda_to_device(one, &one_values[turned].one, sizeof *one, stream);
        if (status != TSR_OK)
            return status;
        const unsigned needed = blocks_for(uint64_t(n), 8 * threads), most = unsigned(q->device->sms) * 8;
        return with_type(q->semiring.type, [&](auto x) {
            using T = decltype(x);
            const T *from = static_cast<const T *>(values.x ? values.x : one);
            TSR_LAUNCH(find_facts<T>, needed < 1 ? 1 : needed < most ? needed : most, unsigned(threads), 0, stream, from, n, on_device + turned);
            return launch_status();
        });
    }

    static double size_of_bits(unsigned long long bits)
    {
        double size;
        memcpy(&size, &bits, sizeof size);
        return size;
    }

    const tsr_cuda_spgemm *q;
    Arena arena;
    void *stream;
    found_facts *on_device = nullptr;
    operand_values one_values[2]; // outlive the copies
};

// ---- Tiles of the operands ----

/* A warp for a tile of bits: which slices have an entry. */
__global__ void __launch_bounds__(threads) find_slices(const uint32_t *bits, int64_t count, int columns, uint32_t *slices)
{
    const int64_t tile = (blockIdx.x * int64_t(threads) + threadIdx.x) / 32;
    const int lane = int(threadIdx.x % 32), word = lane % row_words;
    uint32_t seen = 0, mine = 0;
    if (tile >= count)
        return;
    for (int line = lane / row_words; line < side; line += 32 / row_words)
        seen |= bits[tile * tile_words + line * row_words + word];
    for (int by = row_words; by < 32; by *= 2)
        seen |= __shfl_xor_sync(~0u, seen, by);
    for (int bit = 0; bit < 32; bit++)
        mine |= (seen >> bit & 1u) << (word * 32 + bit) / columns;
    for (int by = 1; by < row_words; by *= 2)
        mine |= __shfl_xor_sync(~0u, mine, by);
    if (lane == 0)
        slices[tile] = mine;
}

/* Where an entry lies in its tile, in elements. */
template <class E> __device__ __forceinline__ uint32_t place_in_tile(uint32_t line, uint32_t column)
{
    constexpr uint32_t columns = line_bytes / sizeof(E), of_chunk = chunk_bytes / sizeof(E);
    const uint32_t slice = column / columns, chunk = column % columns / of_chunk ^ (line & 1) * half_chunks;
    return (slice * side + line) * columns + chunk * of_chunk + column % of_chunk;
}

/* gridDim.y warps for a row. */
template <class T, class E> __global__ void __launch_bounds__(threads) put_values(strips_of s, const T *x, T one, E *values)
{
    const int64_t row = (blockIdx.x * int64_t(threads) + threadIdx.x) / 32;
    if (row >= s.rows)
        return;
    for (int64_t e = s.p[row] + blockIdx.y * 32 + threadIdx.x % 32, end = s.p[row + 1]; e < end; e += 32 * gridDim.y) {
        const place_of_entry at = place_in(s, row, __ldg(s.i + e));
        values[tile_of(s, at) * (side * depth) + place_in_tile<E>(at.line % side, at.column % depth)] = E(x ? x[e] : one);
    }
}

template <class T, class E> tsr_status put_operand(const spgemm_tiles *w, const tsr_cuda_spgemm *q, bool turned)
{
    const strips_of s = strips_operand(w, q, turned);
    const operand_values from = values_of(q, turned);
    const int64_t nvals = (turned ? q->b : q->a)->nvals, warps = s.rows > 0 ? nvals / s.rows / 64 : 0; /* for a row */
    T one;
    memcpy(&one, &from.one, sizeof one);
    if (s.rows > 0)
        TSR_LAUNCH((put_values<T, E>), dim3(blocks_for(uint64_t(s.rows) * 32, threads), unsigned(min(max(warps, int64_t(1)), int64_t(16)))), unsigned(threads), 0,
            q->stream, s, static_cast<const T *>(from.x), one, reinterpret_cast<E *>(w->values));
    return launch_status();
}

template <class T, class E> tsr_status put_operands(const spgemm_tiles *w, const tsr_cuda_spgemm *q)
{
    const tsr_status status = put_operand<T, E>(w, q, false);
    return status == TSR_OK ? put_operand<T, E>(w, q, true) : status;
}

// ---- Computing a tile of C ----

struct value_args {
    tile_args t;
    const uint32_t *there;  // [tiles * side * side_words]
    const uint32_t *slices; // of each tile of A and B'
    const unsigned char *values;
    int tile_slices;
};

/* The slices that two strips have in common, one after the other. */
struct slice_walk {
    tile_walk blocks;
    const value_args &q;
    uint64_t a = 0, b = 0;
    uint32_t common = 0;

    __device__ __forceinline__ slice_walk(const value_args &args, uint2 tile) : blocks(args.t, tile), q(args) {}
    /* False: no more. */
    __device__ __forceinline__ bool next(const unsigned char **a_slice, const unsigned char **b_slice)
    {
        while (!common) {
            if (!blocks.next(&a, &b))
                return false;
            common = __ldg(q.slices + a) & __ldg(q.slices + b);
        }
        const uint32_t slice = uint32_t(__ffs(int(common)) - 1);
        common &= common - 1;
        *a_slice = q.values + (a * uint32_t(q.tile_slices) + slice) * slice_bytes;
        *b_slice = q.values + (b * uint32_t(q.tile_slices) + slice) * slice_bytes;
        return true;
    }
};

struct value_stage {
    unsigned char a[slice_bytes], b[slice_bytes];
};

template <class S> using sums_of = typename S::sum[row_tiles][col_tiles][4];

__device__ __forceinline__ void fetch_slice(value_stage &to, const unsigned char *a, const unsigned char *b)
{
    for (int at = int(threadIdx.x) * chunk_bytes; at < slice_bytes; at += threads * chunk_bytes) {
        cp_async<16>(to.a + at, a + at, true);
        cp_async<16>(to.b + at, b + at, true);
    }
}

/* All lines that a lane has are even, or all are odd. */
template <class S> __device__ __forceinline__ typename S::line line_at(const unsigned char *slice, int first, int half)
{
    const int g = int(threadIdx.x % 32 / 4), t = int(threadIdx.x % 4);
    return S::prepare(*reinterpret_cast<const uint4 *>(slice + (first + g) * line_bytes + (t + (half ^ (g & 1)) * half_chunks) * chunk_bytes));
}

/* The instructions from the K-th on, of sixteen rows. */
template <class S, int K = 0> __device__ __forceinline__ void multiply_rows(typename S::sum (&d)[col_tiles][4], const typename S::line &low,
    const typename S::line &high, const typename S::line (&b)[col_tiles])
{
#pragma unroll
    for (int c = 0; c < col_tiles; c++)
        S::template multiply<K>(d[c], low, high, b[c]);
    if constexpr (K + 1 < S::each)
        multiply_rows<S, K + 1>(d, low, high, b);
}

template <class S> __device__ __forceinline__ void multiply_half(sums_of<S> &d, const value_stage &s, int row, int col, int half)
{
    typename S::line y[col_tiles];
#pragma unroll
    for (int c = 0; c < col_tiles; c++)
        y[c] = line_at<S>(s.b, col + 8 * c, half);
#pragma unroll
    for (int r = 0; r < row_tiles; r++) {
        const typename S::line low = line_at<S>(s.a, row + 16 * r, half), high = line_at<S>(s.a, row + 16 * r + 8, half);
        multiply_rows<S>(d[r], low, high, y);
    }
}

template <class S> __device__ __forceinline__ void add_sums(sums_of<S> &d, const sums_of<S> &more)
{
#pragma unroll
    for (int r = 0; r < row_tiles; r++)
#pragma unroll
        for (int c = 0; c < col_tiles; c++)
#pragma unroll
            for (int k = 0; k < 4; k++)
                d[r][c][k] += more[r][c][k];
}

template <class S> __device__ __forceinline__ void multiply_slice(sums_of<S> &d, const value_stage &s, int row, int col)
{
#pragma unroll
    for (int half = 0; half < 2; half++)
        if constexpr (S::apart) {
            sums_of<S> of_half = {};
            multiply_half<S>(of_half, s, row, col, half);
            add_sums<S>(d, of_half);
        } else {
            multiply_half<S>(d, s, row, col, half);
        }
}

/* Slices are fetched `stages` - 1 ahead.  All threads are there afterwards. */
template <class S> __device__ __forceinline__ void sum_tile(sums_of<S> &d, value_stage *stage, const value_args &q, uint2 tile)
{
    const int row = first_row_of_warp(), col = first_col_of_warp();
    slice_walk walk(q, tile);
    int fetched = 0, to = 0, from = 0;
    auto fetch = [&] {
        const unsigned char *a, *b;
        if (walk.next(&a, &b)) {
            fetch_slice(stage[to], a, b);
            to = to + 1 < S::stages ? to + 1 : 0;
            fetched++;
        }
        cp_async_commit();
    };
    for (int k = 0; k < S::stages - 1; k++)
        fetch();
    for (int step = 0; step < fetched; step++) {
        cp_async_wait<S::stages - 2>();
        __syncthreads(); // this step is there, and the one before has been read
        fetch();
        multiply_slice<S>(d, stage[from], row, col);
        from = from + 1 < S::stages ? from + 1 : 0;
    }
    cp_async_wait<0>();
    __syncthreads();
}

/* A warp for sixteen rows: their entries to their places. */
template <class T, class Sum> __device__ __forceinline__ void write_rows(const Sum *sums, const value_args &q, uint2 tile)
{
    const int lane = int(threadIdx.x % 32), warp = int(threadIdx.x / 32), each = side / (threads / 32);
    for (int row = warp * each; row < warp * each + each && int64_t(tile.x) * side + row < q.t.m; row++) {
        int64_t at = q.t.p[int64_t(tile.x) * side + row] + q.t.before[uint64_t(blockIdx.x) * side + uint32_t(row)];
#pragma unroll
        for (int c = 0; c < side_words; c++) {
            const uint32_t there = __ldg(q.there + (uint64_t(blockIdx.x) * side + uint32_t(row)) * side_words + c);
            const int64_t to = at + __popc(there & ((1u << lane) - 1));
            if (there >> lane & 1) {
                store_once(q.t.i + to, tile.y * side + uint32_t(32 * c + lane));
                store_once(static_cast<T *>(q.t.x) + to, T(sums[row * pitch + 32 * c + lane]));
            }
            at += __popc(there);
        }
    }
}

/* A block for a tile. */
template <class S, class T> __global__ void __launch_bounds__(threads, S::blocks) fill_tiles(const __grid_constant__ value_args q)
{
    value_stage *stage = reinterpret_cast<value_stage *>(dynamic_shared());
    typename S::sum *sums = reinterpret_cast<typename S::sum *>(dynamic_shared());
    const uint2 tile = q.t.tiles[blockIdx.x];
    sums_of<S> d = {};
    sum_tile<S>(d, stage, q, tile);
    store_results(sums, pitch, d, first_row_of_warp(), first_col_of_warp());
    __syncthreads();
    write_rows<T>(sums, q, tile);
}

template <class S> tsr_status put(const spgemm_tiles *w, const tsr_cuda_spgemm *q)
{
    using E = typename S::element;
    if constexpr (std::is_floating_point_v<E>)
        return put_operands<E, E>(w, q);
    else
        return with_type(q->semiring.type, [&](auto x) { return put_operands<decltype(x), E>(w, q); });
}

template <class S, class T> tsr_status fill(const spgemm_tiles *w, const tsr_cuda_spgemm *q, const value_args &s)
{
    constexpr size_t stages = sizeof(value_stage) * S::stages, sums = sizeof(typename S::sum) * side * pitch, bytes = stages > sums ? stages : sums;
    static_assert(bytes <= most_shared, "what spgemm_value_tiles_fit asks for");
    if (!allow_shared(fill_tiles<S, T>, bytes))
        return TSR_INTERNAL_ERROR;
    TSR_LAUNCH((fill_tiles<S, T>), unsigned(w->n), unsigned(threads), bytes, q->stream, s);
    return launch_status();
}

/* FP32 and FP64 have instructions of their own. */
template <class S> tsr_status fill_of(const spgemm_tiles *w, const tsr_cuda_spgemm *q, const value_args &s)
{
    if constexpr (std::is_floating_point_v<typename S::element>)
        return fill<S, typename S::element>(w, q, s);
    else
        return with_result(q->semiring.type, [&](auto x) { return fill<S, decltype(x)>(w, q, s); });
}

} // namespace

// ---- From the host's side ----

bool spgemm_value_tiles_fit(const tsr_cuda_spgemm *q)
{
    const tsr_semiring s = q->semiring;
    const bool multiplies = s.mul == TSR_MUL_TIMES || s.mul == TSR_MUL_FIRST || s.mul == TSR_MUL_SECOND;
    return most_shared <= q->device->shared_bytes_block && !q->pattern && s.add == TSR_ADD_PLUS && multiplies && s.type != TSR_BOOL && s.type != TSR_FC32 && s.type != TSR_FC64;
}

static tsr_status choose(tsr_spgemm_tile_sums *sums, const tsr_cuda_spgemm *q, const tsr_spgemm_tile_facts (&facts)[2], tsr_status found)
{
    *sums = found == TSR_OK ? tsr_spgemm_tile_sums_of(q->semiring.type, q->precision, q->a->ncols, &facts[0], &facts[1]) : TSR_SPGEMM_TILE_NONE;
    return found == TSR_OK && *sums == TSR_SPGEMM_TILE_NONE ? TSR_DECLINED : found;
}

tsr_status spgemm_value_tiles_choose(tsr_spgemm_tile_sums *sums, const tsr_cuda_spgemm *q)
{
    tsr_spgemm_tile_facts facts[2];
    const tsr_status status = Facts(q).find(facts, INT64_MAX);
    return choose(sums, q, facts, status);
}

tsr_status spgemm_value_tiles_at_best(tsr_spgemm_tile_sums *sums, const tsr_cuda_spgemm *q)
{
    constexpr int64_t few = 4096;
    tsr_spgemm_tile_facts facts[2];
    const tsr_status status = Facts(q).find(facts, few);
    for (tsr_spgemm_tile_facts &f : facts)
        f.most = f.least = 1;
    return choose(sums, q, facts, status);
}

size_t spgemm_value_tile_bytes(tsr_spgemm_tile_sums sums)
{
    return size_t(side) * depth * (sums == TSR_SPGEMM_TILE_INT8 ? 1 : sums == TSR_SPGEMM_TILE_FP64 ? 8 : 4);
}

tsr_status spgemm_value_tiles_start(const spgemm_tiles *w, int64_t count, void *stream)
{
    const size_t bytes = spgemm_value_tile_bytes(w->sums);
    const tsr_status status = tsr_cuda_set(w->values, 0, size_t(count) * bytes, stream);
    if (status != TSR_OK)
        return status;
    if (count > 0)
        TSR_LAUNCH(find_slices, blocks_for(uint64_t(count) * 32, threads), unsigned(threads), 0, stream, w->bits, count, int(line_bytes * side * depth / bytes), w->slices);
    return launch_status();
}

tsr_status spgemm_value_tiles_fill(const spgemm_tiles *w, const tsr_cuda_spgemm *q, const tsr_cuda_csr *c, bool again)
{
    tsr_spgemm_tile_sums sums = w->sums;
    const tsr_status status = again ? spgemm_value_tiles_choose(&sums, q) : TSR_OK;
    if (status == TSR_OUT_OF_MEMORY || (status == TSR_OK && sums != w->sums))
        return TSR_DECLINED;
    if (status != TSR_OK)
        return status;
    value_args s = { args_of(w, q->a->nrows), w->there, w->slices, w->values, int(spgemm_value_tile_bytes(sums) / slice_bytes) };
    s.t.p = c->p, s.t.i = c->i, s.t.x = c->x;
    return with_sums(sums, [&](auto kind) {
        const tsr_status there = put<decltype(kind)>(w, q);
        return there == TSR_OK ? fill_of<decltype(kind)>(w, q, s) : there;
    });
}
