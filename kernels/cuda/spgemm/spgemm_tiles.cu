// Sparse times sparse where every product is one number: C is that number times counts, and one-bit matrix instructions count, 128 x 128 places at a time.
//
// Rows of A, and rows of B', are taken in strips of 128; columns of A in blocks of 256.  Of a strip only the blocks that have an entry are kept, as bits:
// 128 x 256, 4 KB.  A tile of C is there where its strips have a block in common.  Tiles are computed twice, to count their entries and to write
// them: so nothing is kept beside C but the bits, and a row's number of entries in each tile.
//
// Where products differ, tiles are counted only, and which places have an entry is kept: a bit each.  The sums are those of spgemm_value_tiles.cu.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/common/arena.cuh"
#include "kernels/cuda/common/sort.cuh"
#include "kernels/cuda/common/tile_results.cuh"
#include "kernels/cuda/spgemm/spgemm_value_tiles.cuh"

#include <cmath>

int tsr_cuda_spgemm_tiles = 0;

namespace {

using namespace spgemm_tile;

constexpr int stages = 4;
constexpr int pitch = side + 4; // of a tile's counts in shared memory

static_assert(threads * 16 == tile_words * 4, "a thread brings 16 bytes of a tile");

// ---- Which blocks a strip has ----

/* By a block of threads, `part` of `parts`: which pieces of so many columns have an entry.  All threads know afterwards. */
__device__ __forceinline__ void reach(uint32_t *reached, uint32_t words, const uint32_t *i, int64_t begin, int64_t end, uint32_t width, unsigned part, unsigned parts)
{
    for (uint32_t w = threadIdx.x; w < words; w += threads)
        reached[w] = 0;
    __syncthreads();
    for (int64_t e = begin + part * int64_t(threads) + threadIdx.x; e < end; e += int64_t(parts) * threads) {
        const uint32_t at = __ldg(i + e) / width, bit = 1u << at % 32;
        if (!(static_cast<volatile uint32_t *>(reached)[at / 32] & bit))
            atomicOr(reached + at / 32, bit);
    }
    __syncthreads();
}

/* A block for 128 rows, of every `stride` strips: their entries, and in how many blocks of 256 columns these lie; of very many entries some are looked at. */
__global__ void __launch_bounds__(threads) sample_blocks(const int64_t *p, const uint32_t *i, int64_t rows, uint32_t words, uint32_t stride, unsigned long long *found)
{
    uint32_t *reached = reinterpret_cast<uint32_t *>(dynamic_shared()), blocks = 0;
    const int64_t row = int64_t(blockIdx.x) * stride * side, begin = p[row], end = p[min(row + side, rows)];
    reach(reached, words, i, begin, end, depth, 0, unsigned(1 + (end - begin) / 8192));
    for (uint32_t w = threadIdx.x; w < words; w += threads)
        blocks += uint32_t(__popc(reached[w]));
    if (blocks)
        atomicAdd(found, static_cast<unsigned long long>(blocks));
    if (threadIdx.x == 0)
        atomicAdd(found + 1, static_cast<unsigned long long>(end - begin));
}

/* gridDim.y blocks for 128 rows of A, which are a strip, or 256 of B, which are a block of B': what their entries reach is marked in shared memory first,
 * because all would wait for the few words of `has`. */
__global__ void __launch_bounds__(threads) mark_blocks(strips_of s)
{
    uint32_t *reached = reinterpret_cast<uint32_t *>(dynamic_shared());
    const int64_t each = s.turned ? depth : side, row = blockIdx.x * each, begin = s.p[row], end = s.p[min(row + each, s.rows)];
    reach(reached, s.reach_words, s.i, begin, end, s.turned ? side : depth, blockIdx.y, gridDim.y);
    for (uint32_t w = threadIdx.x; w < s.reach_words; w += threads)
        if (!s.turned && reached[w])
            atomicOr(s.has + uint64_t(blockIdx.x) * s.words + w, reached[w]);
        else
            for (uint32_t bits = reached[w]; bits; bits &= bits - 1)
                atomicOr(s.has + uint64_t(32 * w + uint32_t(__ffs(int(bits)) - 1)) * s.words + blockIdx.x / 32, 1u << blockIdx.x % 32);
}

/* A thread for a strip. */
__global__ void __launch_bounds__(threads) rank_blocks(const uint32_t *has, uint32_t *rank, int64_t *count, uint32_t strips, uint32_t words)
{
    uint32_t strip = blockIdx.x * threads + threadIdx.x, sum = 0;
    if (strip >= strips)
        return;
    for (uint64_t w = uint64_t(strip) * words, end = w + words; w < end; w++) {
        rank[w] = sum;
        sum += uint32_t(__popc(has[w]));
    }
    count[strip] = sum;
}

/* When tiles have numbers; gridDim.y warps for a row. */
__global__ void __launch_bounds__(threads) set_bits(strips_of s)
{
    int64_t row = (blockIdx.x * int64_t(threads) + threadIdx.x) / 32;
    if (row >= s.rows)
        return;
    for (int64_t e = s.p[row] + blockIdx.y * 32 + threadIdx.x % 32, end = s.p[row + 1]; e < end; e += 32 * gridDim.y) {
        place_of_entry at = place_in(s, row, __ldg(s.i + e));
        atomicOr(s.bits + tile_of(s, at) * tile_words + at.line % side * row_words + at.column % depth / 32, 1u << at.column % 32);
    }
}

// ---- Which tiles C has ----

struct tile_finding {
    const uint32_t *a_has, *b_has;
    uint32_t a_strips, b_strips, words;
    int64_t *count;     // [a_strips] tiles; then, of the strips before
    uint2 *tiles;       // strip of A, strip of B'
    unsigned long long *steps;
};

/* Blocks that both strips have. */
__device__ __forceinline__ uint32_t common_blocks(const tile_finding &s, uint32_t a, uint32_t b)
{
    uint32_t sum = 0;
    for (uint32_t w = 0; w < s.words; w++)
        sum += uint32_t(__popc(__ldg(s.a_has + uint64_t(a) * s.words + w) & __ldg(s.b_has + uint64_t(b) * s.words + w)));
    return sum;
}

/* A warp for a strip of A. */
template <bool Listed> __global__ void __launch_bounds__(threads) find_tiles(tile_finding s)
{
    uint32_t strip = (blockIdx.x * threads + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (strip >= s.a_strips)
        return;
    unsigned long long steps = 0;
    int64_t found = Listed ? s.count[strip] : 0;
    for (uint32_t base = 0; base < s.b_strips; base += 32) {
        uint32_t common = base + lane < s.b_strips ? common_blocks(s, strip, base + lane) : 0, voted = __ballot_sync(~0u, common != 0);
        if (Listed && common)
            s.tiles[found + __popc(voted & ((1u << lane) - 1))] = { strip, base + lane };
        found += __popc(voted);
        steps += common;
    }
    if (Listed)
        return;
    if (lane == 0)
        s.count[strip] = found;
    if (steps)
        atomicAdd(s.steps, steps);
}

// ---- Computing a tile ----

struct tile_stage {
    uint32_t a[tile_words], b[tile_words];
};

using tile_counts = int[row_tiles][col_tiles][4];

/* Lane (g, t) has words 2t and 2t + 1 of its rows: any order of the columns will do as long as both sides have it. */
__device__ __forceinline__ void multiply_block(tile_counts &d, const tile_stage &s)
{
    const int lane = int(threadIdx.x % 32), warp = int(threadIdx.x / 32), g = lane / 4, t = lane % 4;
    const uint32_t *a = s.a + (warp / (side / warp_cols) * warp_rows + g) * row_words + 2 * t;
    const uint32_t *b = s.b + (warp % (side / warp_cols) * warp_cols + g) * row_words + 2 * t;
    uint2 x[row_tiles * 2], y[col_tiles];
#pragma unroll
    for (int r = 0; r < row_tiles * 2; r++)
        x[r] = *reinterpret_cast<const uint2 *>(a + 8 * r * row_words);
#pragma unroll
    for (int c = 0; c < col_tiles; c++)
        y[c] = *reinterpret_cast<const uint2 *>(b + 8 * c * row_words);
#pragma unroll
    for (int r = 0; r < row_tiles; r++)
#pragma unroll
        for (int c = 0; c < col_tiles; c++) {
            const uint32_t fa[4] = { x[2 * r].x, x[2 * r + 1].x, x[2 * r].y, x[2 * r + 1].y }, fb[2] = { y[c].x, y[c].y };
            mma_m16n8k256_bits(d[r][c], fa, fb);
        }
}

/* Blocks are fetched `stages` - 1 ahead.  All threads are there afterwards. */
__device__ __forceinline__ void multiply_tile(tile_counts &d, tile_stage *stage, const tile_args &q, uint2 tile)
{
    tile_walk walk(q, tile);
    int fetched = 0;
    auto fetch = [&] {
        uint64_t a, b;
        if (walk.next(&a, &b)) {
            tile_stage &to = stage[fetched % stages];
            cp_async<16>(to.a + threadIdx.x * 4, q.a.bits + a * tile_words + threadIdx.x * 4, true);
            cp_async<16>(to.b + threadIdx.x * 4, q.b.bits + b * tile_words + threadIdx.x * 4, true);
            fetched++;
        }
        cp_async_commit();
    };
    for (int k = 0; k < stages - 1; k++)
        fetch();
    for (int step = 0; step < fetched; step++) {
        cp_async_wait<stages - 2>();
        __syncthreads(); // this step is there, and the one before has been read
        fetch();
        multiply_block(d, stage[step % stages]);
    }
    cp_async_wait<0>();
    __syncthreads();
}

/* Which of the 32 columns of a warp a row of `d` has, `half` 0: row g of its 16, 1: row g + 8. */
__device__ __forceinline__ uint32_t columns_of_row(const int (&d)[col_tiles][4], int half)
{
    const int t = int(threadIdx.x % 4);
    uint32_t there = 0;
#pragma unroll
    for (int c = 0; c < col_tiles; c++)
        there |= (uint32_t(d[c][2 * half] != 0) | uint32_t(d[c][2 * half + 1] != 0) << 1) << (8 * c + 2 * t);
    there |= __shfl_xor_sync(~0u, there, 1);
    return there | __shfl_xor_sync(~0u, there, 2);
}

/* A block for a tile: how many entries each row has there, and which if `there` is. */
__global__ void __launch_bounds__(threads, 2) count_tiles(const __grid_constant__ tile_args q, uint32_t *there)
{
    tile_stage *stage = reinterpret_cast<tile_stage *>(dynamic_shared());
    uint32_t *rows = reinterpret_cast<uint32_t *>(stage + stages);
    if (threadIdx.x < side)
        rows[threadIdx.x] = 0;
    tile_counts d = {};
    multiply_tile(d, stage, q, q.tiles[blockIdx.x]);
#pragma unroll
    for (int r = 0; r < row_tiles; r++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const uint32_t columns = columns_of_row(d[r], half);
            const int row = first_row_of_warp() + 16 * r + 8 * half + int(threadIdx.x % 32 / 4);
            if (threadIdx.x % 4)
                continue;
            if (columns)
                atomicAdd(rows + row, uint32_t(__popc(columns)));
            if (there)
                there[(uint64_t(blockIdx.x) * side + uint32_t(row)) * side_words + first_col_of_warp() / 32] = columns;
        }
    __syncthreads();
    if (threadIdx.x < side)
        q.before[uint64_t(blockIdx.x) * side + threadIdx.x] = rows[threadIdx.x];
}

/* A thread for a row of A: the entries of its tiles become those of the tiles before; p: of the row. */
__global__ void __launch_bounds__(side) sum_tiles(const int64_t *tiles_before, uint32_t *before, int64_t *p, int64_t m)
{
    int64_t row = blockIdx.x * int64_t(side) + threadIdx.x;
    uint32_t sum = 0;
#pragma unroll 8
    for (int64_t tile = tiles_before[blockIdx.x]; tile < tiles_before[blockIdx.x + 1]; tile++) {
        uint32_t here = before[tile * side + threadIdx.x];
        before[tile * side + threadIdx.x] = sum;
        sum += here;
    }
    if (row < m)
        p[row] = sum;
}

/* Integers wrap. */
template <class T> __device__ __forceinline__ T multiple(T one, uint32_t count)
{
    if constexpr (std::is_floating_point_v<T>)
        return one * T(count);
    else
        return T(uint64_t(one) * count);
}

/* A warp for sixteen rows. */
template <class T> __device__ __forceinline__ void write_rows(const uint32_t *counts, const tile_args &q, uint2 tile, T one)
{
    const int lane = int(threadIdx.x % 32), warp = int(threadIdx.x / 32), each = side / (threads / 32);
    for (int row = warp * each; row < warp * each + each && int64_t(tile.x) * side + row < q.m; row++) {
        int64_t at = q.p[int64_t(tile.x) * side + row] + q.before[uint64_t(blockIdx.x) * side + uint32_t(row)];
#pragma unroll
        for (int c = 0; c < side; c += 32) {
            uint32_t count = counts[row * pitch + c + lane], voted = __ballot_sync(~0u, count != 0);
            int64_t to = at + __popc(voted & ((1u << lane) - 1));
            if (count) {
                store_once(q.i + to, tile.y * side + uint32_t(c + lane));
                if (q.x)
                    store_once(static_cast<T *>(q.x) + to, multiple(one, count));
            }
            at += __popc(voted);
        }
    }
}

/* A block for a tile: its entries to their places. */
template <class T> __global__ void __launch_bounds__(threads, 2) fill_tiles(const __grid_constant__ tile_args q, T one)
{
    tile_stage *stage = reinterpret_cast<tile_stage *>(dynamic_shared());
    uint32_t *counts = reinterpret_cast<uint32_t *>(stage);
    const uint2 tile = q.tiles[blockIdx.x];
    tile_counts d = {};
    multiply_tile(d, stage, q, tile);
    store_results(counts, pitch, d, first_row_of_warp(), first_col_of_warp());
    __syncthreads();
    write_rows(counts, q, tile, one);
}

constexpr size_t stage_bytes = sizeof(tile_stage) * stages, count_bytes = stage_bytes + side * sizeof(uint32_t);
constexpr size_t fill_bytes = stage_bytes > sizeof(uint32_t) * side * pitch ? stage_bytes : sizeof(uint32_t) * side * pitch;

// ---- The number that every product is ----

/* Its value, where the multiply makes one of what is known.  false: products differ, or this is not known here. */
bool find_one(const tsr_cuda_spgemm *q, double *real, uint64_t *bits)
{
    const tsr_semiring s = q->semiring;
    const bool a_is_one = !q->a->x, b_is_one = !q->b->x;
    auto as_real = [&](uint64_t x) {
        float narrow;
        double wide;
        memcpy(&narrow, &x, sizeof narrow);
        memcpy(&wide, &x, sizeof wide);
        return s.type == TSR_FP32 ? double(narrow) : wide;
    };
    switch (s.mul) {
    case TSR_MUL_PAIR:
        *real = 1, *bits = 1;
        return true;
    case TSR_MUL_FIRST:
        *real = as_real(q->a_iso), *bits = q->a_iso;
        return a_is_one;
    case TSR_MUL_SECOND:
        *real = as_real(q->b_iso), *bits = q->b_iso;
        return b_is_one;
    case TSR_MUL_TIMES:
        *real = as_real(q->a_iso) * as_real(q->b_iso), *bits = q->a_iso * q->b_iso;
        return a_is_one && b_is_one;
    default: return false;
    }
}

/* Are one, 2 one, … most one floats of this precision?  Then a sum in any order is a multiple. */
bool multiples_are_exact(double one, int precision, int largest, double most)
{
    int exponent;
    const double fraction = std::frexp(one, &exponent);
    const int spare = most < 1 ? 0 : std::ilogb(most) + 1; /* bits that a multiple may need beside those of one */
    if (one == 0)
        return true;
    if (!std::isfinite(one) || precision <= spare || exponent + spare > largest || exponent < precision - largest)
        return false;
    const double scaled = std::ldexp(fraction, precision - spare);
    return scaled == std::floor(scaled);
}

} // namespace

/* Sums of integers wrap as often as their multiples do. */
bool spgemm_tiles_count_only(const tsr_cuda_spgemm *q)
{
    double one;
    uint64_t bits;
    if (q->pattern)
        return true;
    if (q->semiring.add != TSR_ADD_PLUS || q->semiring.type == TSR_BOOL || !find_one(q, &one, &bits))
        return false;
    if (q->semiring.type == TSR_FP32)
        return float(one) == one && multiples_are_exact(one, 24, 127, double(q->a->ncols));
    if (q->semiring.type == TSR_FP64)
        return multiples_are_exact(one, 53, 1023, double(q->a->ncols));
    return q->semiring.type != TSR_FC32 && q->semiring.type != TSR_FC64;
}

// ---- From the host's side ----

bool spgemm_tiles_fit(const tsr_cuda_spgemm *q)
{
    const bool native = q->device->major == 8 || q->device->major == 9; /* others have no such instruction, or take many others for it */
    return native && !q->mask && !q->mask_bits && q->a->nrows > 0 && q->b->ncols > 0 && (spgemm_tiles_count_only(q) || spgemm_value_tiles_fit(q));
}

namespace {

class Tiler {
  public:
    Tiler(spgemm_tiles *made, const tsr_cuda_spgemm *product, const tsr_spgemm_tile_counts &known, size_t most)
        : w(made), q(product), counts(known), most_bytes(most), stream(product->stream)
    {
        w->a_strips = pieces(q->a->nrows, side), w->b_strips = pieces(q->b->ncols, side);
        w->words = pieces(pieces(q->a->ncols, depth), 32);
        counts.words = double(w->a_strips) * w->b_strips * w->words;
    }

    tsr_status run(int64_t *row_counts)
    {
        if (w->words > most_words || w->b_strips / 32 >= most_words)
            return TSR_DECLINED;
        w->sums = spgemm_tiles_count_only(q) ? TSR_SPGEMM_TILE_COUNTS : TSR_SPGEMM_TILE_NONE;
        if (tsr_cuda_spgemm_tiles < 0 || (tsr_cuda_spgemm_tiles == 0 && !tsr_spgemm_tiles_may_pay(&counts, w->sums)))
            return TSR_DECLINED;
        tsr_status status = w->sums == TSR_SPGEMM_TILE_COUNTS ? TSR_OK : choose_sums();
        if (status == TSR_OK)
            status = inspect();
        if (status == TSR_OK)
            status = get_tiles();
        if (status == TSR_OK)
            status = make_tiles();
        if (status == TSR_OK)
            status = count_entries(row_counts);
        return status;
    }

  private:
    uint32_t strips() const { return w->a_strips + w->b_strips; }

    /* Products of a step, about: how many there are is known, and of the blocks of both operands so many meet in each block of A's columns. */
    tsr_status sample_steps(double *products)
    {
        constexpr uint32_t samples = 32;
        Arena arena(stream);
        unsigned long long *on_device, found[2][2] = {};
        arena.want(&on_device, 4);
        tsr_status status = arena.get();
        if (status == TSR_OK)
            status = tsr_cuda_set(on_device, 0, sizeof found, stream);
        for (int k = 0; k < 2 && status == TSR_OK; k++) {
            const tsr_cuda_csr *s = k ? q->b : q->a;
            const uint32_t words = pieces(pieces(s->ncols, depth), 32), strips = pieces(s->nrows, side), stride = pieces(strips, samples);
            if (words > most_words)
                return TSR_DECLINED;
            TSR_LAUNCH(sample_blocks, pieces(strips, stride), unsigned(threads), words * sizeof(uint32_t), stream, s->p, s->i, s->nrows, words, stride, on_device + 2 * k);
            status = launch_status();
        }
        if (status == TSR_OK)
            status = tsr_cuda_to_host(found, on_device, sizeof found, stream);
        const tsr_status waited = tsr_cuda_wait(stream);
        *products = counts.products * double(pieces(q->a->ncols, depth));
        for (int k = 0; k < 2; k++)
            *products *= found[k][0] ? double(found[k][1]) / (double(found[k][0]) * double((k ? q->b : q->a)->nvals)) : 0;
        return status == TSR_OK ? waited : status;
    }

    /* All values are looked at where it may matter. */
    tsr_status choose_sums()
    {
        if (tsr_cuda_spgemm_tiles == 1)
            return spgemm_value_tiles_choose(&w->sums, q);
        double products = 0;
        tsr_status status = sample_steps(&products);
        auto go_on = [&] { return status == TSR_OK && tsr_spgemm_steps_may_pay(products, w->sums); };
        w->sums = TSR_SPGEMM_TILE_INT8;
        if (go_on())
            status = spgemm_value_tiles_at_best(&w->sums, q);
        if (go_on())
            status = spgemm_value_tiles_choose(&w->sums, q);
        return status == TSR_OK && !go_on() ? TSR_DECLINED : status;
    }

    void mark() const
    {
        for (int turned = 0; turned < 2; turned++) {
            const strips_of s = strips_operand(w, q, turned);
            const int64_t groups = pieces(s.rows, turned ? depth : side), wanted = 8 * int64_t(q->device->sms), entries = (turned ? q->b : q->a)->nvals;
            const int64_t parts = min(wanted / max(groups, int64_t(1)), groups > 0 ? entries / groups / (4 * threads) : 0);
            if (groups > 0)
                TSR_LAUNCH(mark_blocks, dim3(unsigned(groups), unsigned(max(parts, int64_t(1)))), unsigned(threads), s.reach_words * sizeof(uint32_t), stream, s);
        }
    }

    void set() const
    {
        for (int turned = 0; turned < 2; turned++) {
            const strips_of s = strips_operand(w, q, turned);
            const int64_t warps = s.rows > 0 ? (turned ? q->b : q->a)->nvals / s.rows / 64 : 0; /* for a row */
            if (s.rows > 0)
                TSR_LAUNCH(set_bits, dim3(blocks_for(uint64_t(s.rows) * 32, threads), unsigned(min(max(warps, int64_t(1)), int64_t(16)))), unsigned(threads), 0,
                    stream, s);
        }
    }

    tile_finding finding() const
    {
        return { w->has, w->has + uint64_t(w->a_strips) * w->words, w->a_strips, w->b_strips, w->words, w->tiles_before, w->tiles, steps };
    }

    tsr_status get_strips()
    {
        const int64_t all_words = int64_t(strips()) * w->words;
        Arena arena(stream);
        arena.want(&w->has, all_words);
        arena.want(&w->rank, all_words);
        arena.want(&w->first, strips() + 1);
        arena.want(&w->tiles_before, w->a_strips + 1);
        arena.want(&steps, 1);
        arena.want(&scan, int64_t(tsr_cuda_scan_bytes(strips())));
        if (arena.size() > most_bytes)
            return TSR_DECLINED;
        tsr_status status = arena.get();
        w->bytes = arena.size();
        w->strips_memory = arena.keep();
        if (status == TSR_OK)
            status = tsr_cuda_set(w->has, 0, size_t(all_words) * sizeof *w->has, stream);
        return status == TSR_OK ? tsr_cuda_set(steps, 0, sizeof *steps, stream) : status;
    }

    /* Which blocks, tiles and steps there are. */
    tsr_status inspect()
    {
        tsr_status status = get_strips();
        if (status != TSR_OK)
            return status;
        mark();
        TSR_LAUNCH(rank_blocks, blocks_for(strips(), threads), unsigned(threads), 0, stream, w->has, w->rank, w->first, strips(), w->words);
        TSR_LAUNCH(find_tiles<false>, blocks_for(w->a_strips * 32ull, threads), unsigned(threads), 0, stream, finding());
        status = tsr_cuda_scan(w->first, strips(), 1, scan, stream);
        if (status == TSR_OK)
            status = tsr_cuda_scan(w->tiles_before, w->a_strips, 1, scan, stream);
        return status == TSR_OK ? read_counts() : status;
    }

    tsr_status read_counts()
    {
        unsigned long long all_steps = 0;
        tsr_status status = tsr_cuda_to_host(&kept, w->first + strips(), sizeof kept, stream);
        if (status == TSR_OK)
            status = tsr_cuda_to_host(&w->n, w->tiles_before + w->a_strips, sizeof w->n, stream);
        if (status == TSR_OK)
            status = tsr_cuda_to_host(&all_steps, steps, sizeof all_steps, stream);
        if (status == TSR_OK)
            status = tsr_cuda_wait(stream);
        counts.tiles = double(w->n);
        counts.steps = double(all_steps);
        return status;
    }

    tsr_status get_tiles()
    {
        const bool pays = tsr_cuda_spgemm_tiles > 0 || tsr_spgemm_tiles_pay(&counts, w->sums);
        const bool with_values = w->sums != TSR_SPGEMM_TILE_COUNTS;
        if (!pays || w->n == 0 || w->n > INT32_MAX)
            return TSR_DECLINED;
        Arena arena(stream);
        arena.want(&w->bits, kept * tile_words);
        arena.want(&w->tiles, w->n);
        arena.want(&w->before, w->n * side);
        if (with_values) {
            arena.want(&w->there, w->n * side * side_words);
            arena.want(&w->slices, kept);
            arena.want(&w->values, kept * int64_t(spgemm_value_tile_bytes(w->sums)));
        }
        if (w->bytes + arena.size() > most_bytes)
            return TSR_DECLINED;
        tsr_status status = arena.get();
        w->bytes += arena.size();
        w->tiles_memory = arena.keep();
        return status == TSR_OUT_OF_MEMORY ? TSR_DECLINED : status;
    }

    tsr_status make_tiles()
    {
        tsr_status status = tsr_cuda_set(w->bits, 0, size_t(kept) * tile_words * sizeof *w->bits, stream);
        if (status != TSR_OK)
            return status;
        set();
        TSR_LAUNCH(find_tiles<true>, blocks_for(w->a_strips * 32ull, threads), unsigned(threads), 0, stream, finding());
        return w->values ? spgemm_value_tiles_start(w, kept, stream) : launch_status();
    }

    tsr_status count_entries(int64_t *row_counts)
    {
        if (!allow_shared(count_tiles, count_bytes))
            return TSR_INTERNAL_ERROR;
        const tile_args s = args_of(w, q->a->nrows);
        TSR_LAUNCH(count_tiles, unsigned(w->n), unsigned(threads), count_bytes, stream, s, w->there);
        TSR_LAUNCH(sum_tiles, w->a_strips, unsigned(side), 0, stream, w->tiles_before, w->before, row_counts, q->a->nrows);
        return launch_status();
    }

    static constexpr uint32_t most_words = 12 * 1024; /* in shared memory */
    spgemm_tiles *w;
    const tsr_cuda_spgemm *q;
    tsr_spgemm_tile_counts counts;
    size_t most_bytes;
    void *stream;
    int64_t kept = 0; // tiles of A and B'
    unsigned long long *steps = nullptr;
    char *scan = nullptr;
};

template <class T> tsr_status fill(const spgemm_tiles *w, const tile_args &s, T one, void *stream)
{
    if (!allow_shared(fill_tiles<T>, fill_bytes))
        return TSR_INTERNAL_ERROR;
    TSR_LAUNCH(fill_tiles<T>, unsigned(w->n), unsigned(threads), fill_bytes, stream, s, one);
    return launch_status();
}

tsr_status fill_counts(const spgemm_tiles *tiles, const tsr_cuda_spgemm *q, const tsr_cuda_csr *c)
{
    double real = 0;
    uint64_t bits = 0;
    tile_args s = args_of(tiles, q->a->nrows);
    s.p = c->p, s.i = c->i, s.x = q->pattern ? nullptr : c->x;
    if (!q->pattern)
        find_one(q, &real, &bits);
    const size_t size = size_of(q->semiring.type);
    if (q->pattern || size == 1)
        return fill(tiles, s, uint8_t(bits), q->stream);
    if (q->semiring.type == TSR_FP32)
        return fill(tiles, s, float(real), q->stream);
    if (q->semiring.type == TSR_FP64)
        return fill(tiles, s, real, q->stream);
    return size == 2   ? fill(tiles, s, uint16_t(bits), q->stream)
           : size == 4 ? fill(tiles, s, uint32_t(bits), q->stream)
                       : fill(tiles, s, bits, q->stream);
}

} // namespace

tsr_status spgemm_tiles_count(spgemm_tiles *tiles, const tsr_cuda_spgemm *q, const tsr_spgemm_tile_counts &known, int64_t *row_counts, size_t most_bytes)
{
    *tiles = {};
    tsr_status status = Tiler(tiles, q, known, most_bytes).run(row_counts);
    if (status != TSR_OK)
        spgemm_tiles_free(tiles, q->stream);
    return status == TSR_OUT_OF_MEMORY ? TSR_DECLINED : status;
}

/* Values that differ now, or no longer, are not those of these tiles. */
tsr_status spgemm_tiles_fill(const spgemm_tiles *tiles, const tsr_cuda_spgemm *q, const tsr_cuda_csr *c, bool again)
{
    const bool counts = tiles->sums == TSR_SPGEMM_TILE_COUNTS;
    if (!spgemm_tiles_fit(q) || counts != spgemm_tiles_count_only(q))
        return TSR_DECLINED;
    return counts ? fill_counts(tiles, q, c) : spgemm_value_tiles_fill(tiles, q, c, again);
}

void spgemm_tiles_free(spgemm_tiles *tiles, void *stream)
{
    tsr_cuda_free(tiles->strips_memory, stream);
    tsr_cuda_free(tiles->tiles_memory, stream);
    *tiles = {};
}
