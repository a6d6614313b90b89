// Sparse times sparse: where the values of every product are, found once for a pattern that is used again.
//
// How many products each entry of C has is known; so is where those of each entry begin.  A row's products are then walked in the order of A's
// entries, and each takes the next place of its entry.  Long rows go in tiles of C's entries, a warp for a tile.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/common/arena.cuh"
#include "kernels/cuda/common/sort.cuh"
#include "kernels/cuda/spgemm/spgemm.cuh"

namespace {

constexpr int threads = 256;
constexpr int64_t tile = 512; // entries of C
constexpr uint64_t few = 4 << 20;
constexpr uint32_t most_alone = 64; // products that one thread adds up

struct placing {
    const int64_t *ap, *bp, *cp;
    const uint32_t *ai, *bi, *ci;
    uint32_t *next;           // [nvals]: of each entry of C, its next place, counted from the row's first
    int64_t *before;          // [m + 1] products of the rows before
    unsigned long long *code; // [products]
    int64_t *first;
    uint32_t *start, *longest; // start NULL: heads are marked instead
    int64_t m;
    uint32_t chunk;
};

/* A warp for a row: numbers of products become where they begin. */
__global__ void __launch_bounds__(threads) begin_entries(placing s)
{
    int lane = int(threadIdx.x % 32);
    int64_t row = blockIdx.x * int64_t(threads / 32) + threadIdx.x / 32;
    if (row >= s.m)
        return;
    uint32_t sum = 0, most = 0;
    int64_t end = s.cp[row + 1];
    for (int64_t base = s.cp[row]; base < end; base += 32) {
        int64_t e = base + lane;
        uint32_t count = e < end ? s.next[e] : 0, upto = sum_upto<32>(count, lane);
        if (e < end)
            s.next[e] = sum + upto - count;
        sum += __shfl_sync(~0u, upto, 31);
        most = max(most, __reduce_max_sync(~0u, count));
    }
    if (lane == 0)
        s.before[row] = sum;
    if (lane == 0 && most > *static_cast<volatile uint32_t *>(s.longest))
        atomicMax(s.longest, most);
}

/* A row of B, as far as it lies within columns [low, high]. */
struct part_of_row {
    int64_t start;
    uint32_t length;
};

__device__ __forceinline__ part_of_row part_of(const placing &s, int64_t entry, int64_t end, bool narrow, uint32_t low, uint32_t high)
{
    if (entry >= end)
        return { 0, 0 };
    uint32_t k = __ldg(s.ai + entry);
    int64_t start = __ldg(s.bp + k);
    uint32_t length = uint32_t(__ldg(s.bp + k + 1) - start);
    if (narrow)
        narrow_range(s.bi, &start, &length, low, high);
    return { start, length };
}

/* G lanes: the products of one row that belong to entries [from, to) of C.  All lanes of the warp take part. */
template <int G> __device__ __forceinline__ void place_row(const placing &s, bool active, uint32_t row, int64_t from, int64_t to, bool narrow)
{
    int lane = int(threadIdx.x % G);
    int64_t at = active ? s.ap[row] : 0, end = active ? s.ap[row + 1] : 0, begin = active ? s.before[row] : 0;
    uint32_t low = narrow ? s.ci[from] : 0, high = narrow ? s.ci[to - 1] : 0;
    for (; __any_sync(~0u, at < end); at += G) {
        part_of_row mine = part_of(s, at + lane, end, narrow, low, high);
        for (int k = 0; k < G; k++) {
            int64_t start = lane_of<G>(mine.start, k);
            uint32_t length = lane_of<G>(mine.length, k);
            for (uint32_t o = uint32_t(lane); o < length; o += G) {
                uint32_t column = __ldg(s.bi + start + o);
                int64_t e = from + lower_bound(s.ci + from, to - from, column);
                if (e < to && s.ci[e] == column)
                    s.code[begin + s.next[e]++] = (unsigned long long)(at + k) << 32 | uint32_t(start + o);
            }
            __syncwarp();
        }
    }
}

/* G lanes for a row; blocks (x, 0), (x, 1), … share the tiles of long rows. */
template <int G> __global__ void __launch_bounds__(threads) place_rows(placing s, const uint32_t *list, uint32_t count)
{
    constexpr int groups = threads / G;
    uint32_t item = blockIdx.x * groups + threadIdx.x / G;
    bool active = item < count;
    uint32_t row = active ? list[item] : 0;
    int64_t begin = active ? s.cp[row] : 0, end = active ? s.cp[row + 1] : 0;
    if constexpr (G < 32)
        place_row<G>(s, active && begin < end, row, begin, end, false);
    else
        for (int64_t from = begin + blockIdx.y * tile; from < end; from += gridDim.y * tile)
            place_row<G>(s, true, row, from, min(from + tile, end), end - begin > tile);
}

/* A warp for a row, when all products have their places: entries of C begin where the one before ends. */
__global__ void __launch_bounds__(threads) mark_entries(placing s)
{
    int lane = int(threadIdx.x % 32);
    int64_t row = blockIdx.x * int64_t(threads / 32) + threadIdx.x / 32;
    if (row >= s.m)
        return;
    int64_t begin = s.cp[row], before = s.before[row];
    for (int64_t e = begin + lane; e < s.cp[row + 1]; e += 32) {
        uint64_t from = uint64_t(before + (e > begin ? s.next[e - 1] : 0)), to = uint64_t(before + s.next[e]);
        if (s.start) {
            s.start[e + 1] = uint32_t(to);
            continue;
        }
        s.code[from] |= spgemm_head;
        for (uint64_t chunk = (from + s.chunk - 1) / s.chunk; chunk * s.chunk < to; chunk++)
            s.first[chunk] = chunk * s.chunk == from ? e : e + 1;
    }
}

unsigned blocks_of(int64_t items, int per_block) { return unsigned((items + per_block - 1) / per_block); }

class Placer {
  public:
    Placer(const spgemm_rows_by_bin &known, const tsr_cuda_spgemm *product, const tsr_cuda_csr *c, uint32_t *counts, size_t bytes)
        : rows(known), most_bytes(bytes), stream(product->stream)
    {
        s = { product->a->p, product->b->p, c->p, product->a->i, product->b->i, c->i, counts, nullptr, nullptr, nullptr, nullptr, nullptr, c->nrows, 0 };
        nvals = c->nvals;
    }

    tsr_status run(spgemm_places *places, void **memory, size_t *bytes)
    {
        Arena rows_arena(stream), kept(stream);
        char *scan;
        rows_arena.want(&s.before, s.m + 1);
        rows_arena.want(&s.longest, 1);
        rows_arena.want(&scan, int64_t(tsr_cuda_scan_bytes(s.m)));
        tsr_status status = rows_arena.get();
        if (status == TSR_OK)
            status = begin(scan, places);
        if (status != TSR_OK)
            return status;
        s.chunk = places->chunk;
        int64_t chunks = int64_t((places->count + s.chunk - 1) / s.chunk);
        kept.want(&s.code, int64_t(places->count));
        if (are_short)
            kept.want(&s.start, nvals + 1);
        else
            kept.want(&s.first, chunks);
        if (kept.size() > most_bytes)
            return TSR_DECLINED;
        status = kept.get();
        if (status == TSR_OK)
            status = place();
        if (status != TSR_OK)
            return status;
        places->code = s.code, places->first = s.first;
        places->start = s.start, places->entries = nvals;
        *bytes = kept.size();
        *memory = kept.keep();
        return TSR_OK;
    }

  private:
    tsr_status begin(void *scan, spgemm_places *places)
    {
        int64_t products;
        uint32_t longest;
        tsr_status status = tsr_cuda_set(s.longest, 0, sizeof *s.longest, stream);
        if (status != TSR_OK)
            return status;
        TSR_LAUNCH(begin_entries, blocks_of(s.m, threads / 32), unsigned(threads), 0, stream, s);
        status = launch_status();
        if (status == TSR_OK)
            status = tsr_cuda_scan(s.before, s.m, 1, scan, stream);
        if (status == TSR_OK)
            status = tsr_cuda_to_host(&products, s.before + s.m, sizeof products, stream);
        if (status == TSR_OK)
            status = tsr_cuda_to_host(&longest, s.longest, sizeof longest, stream);
        if (status == TSR_OK)
            status = tsr_cuda_wait(stream);
        places->count = status == TSR_OK ? uint64_t(products) : 0;
        places->chunk = places->count < few ? 256 : 1024;
        are_short = status == TSR_OK && longest <= most_alone && products < UINT32_MAX;
        return status;
    }

    template <int G> void launch(const uint32_t *list, uint32_t count, unsigned share) const
    {
        if (count)
            TSR_LAUNCH(place_rows<G>, dim3(blocks_of(count, threads / G), share), unsigned(threads), 0, stream, s, list, count);
    }

    tsr_status place() const
    {
        const uint32_t *list = rows.list;
        for (int bin = 0; bin < SPGEMM_BINS; list += rows.rows[bin++]) {
            bool tiny = bin < SPGEMM_SORT + 4, heavy = bin == SPGEMM_RANK_BLOCK + 2 || bin == SPGEMM_RANK_BLOCK + 3;
            if (tiny)
                launch<8>(list, rows.rows[bin], 1);
            else
                launch<32>(list, rows.rows[bin], heavy ? 32 : bin >= SPGEMM_RANK_BLOCK ? 4 : 1);
        }
        if (s.start && tsr_cuda_set(s.start, 0, sizeof *s.start, stream) != TSR_OK)
            return TSR_INTERNAL_ERROR;
        TSR_LAUNCH(mark_entries, blocks_of(s.m, threads / 32), unsigned(threads), 0, stream, s);
        return launch_status();
    }

    placing s;
    spgemm_rows_by_bin rows;
    size_t most_bytes;
    void *stream;
    int64_t nvals;
    bool are_short = false; // no entry of C has many products
};

} // namespace

tsr_status spgemm_find_places(spgemm_places *places, void **memory, size_t *bytes, const spgemm_rows_by_bin &rows, const tsr_cuda_spgemm *product,
    const tsr_cuda_csr *c, uint32_t *counts, size_t most_bytes)
{
    return Placer(rows, product, c, counts, most_bytes).run(places, memory, bytes);
}
