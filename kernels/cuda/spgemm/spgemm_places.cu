// Sparse times sparse: where the values of every product are, found once for a pattern that is used again.
//
// How many products each entry of C has is known.  Entries of a window are sorted by that, and then it is known where each slice's places begin.  The
// products of a row are walked in the order of A's entries, and each takes the next place of its entry; long rows go in tiles of C's entries, a warp
// for a tile.  For this the places of an entry lie behind one another.  Last, those of each window are put as spgemm_places has them.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/common/arena.cuh"
#include "kernels/cuda/common/sort.cuh"
#include "kernels/cuda/spgemm/spgemm_common.cuh"

namespace {

/* Of `length` ascending columns from *start on, those in [low, high]. */
__device__ __forceinline__ void narrow_range(const uint32_t *i, int64_t *start, uint32_t *length, uint32_t low, uint32_t high)
{
    uint32_t from = uint32_t(lower_bound(i + *start, *length, low));
    uint32_t to = from + uint32_t(lower_bound(i + *start + from, *length - from, high));
    to += to < *length && __ldg(i + *start + to) == high;
    *start += from;
    *length = to - from;
}

constexpr int threads = 256;
constexpr int64_t tile = 512; // entries of C
constexpr uint32_t window = spgemm_window, slices = window / 32;
constexpr uint32_t count_most = UINT16_MAX / window; // that an entry of spgemm_places can say
/* Products of an entry that one thread adds up, at most: it waits for one after the other, and where there is little to do everybody waits for it. */
constexpr uint32_t few_most = 31, few_most_of_little = 15;
static_assert(few_most <= count_most, "");
constexpr uint64_t little = 4 << 20; // products

struct placing {
    const int64_t *ap, *bp, *cp;
    const uint32_t *ai, *bi, *ci;
    int64_t nvals, windows;
    uint32_t *next;            // [nvals] of each entry of C: how many products; then its next place
    uint16_t *entry;           // as of spgemm_places, all of these
    int64_t *slice;
    unsigned long long *code;
    int64_t *many_entry;
    uint32_t *many_start;
    int64_t *many, *many_places; // [windows + 1] each: entries of many products, and their places; then what lies before
    uint32_t *longest;           // places of a window, at most
    uint32_t few_most, few_places;
};

// ---- Windows: a thread for an entry ----

/* Keys ascend afterwards: mirrored merges, so that all runs ascend. */
__device__ __forceinline__ void sort_block(uint32_t *keys)
{
    uint32_t me = threadIdx.x;
    for (uint32_t run = 1; run < window; run *= 2)
        for (uint32_t stride = run; stride > 0; stride /= 2) {
            uint32_t other = me ^ (stride == run ? 2 * run - 1 : stride);
            __syncthreads();
            if (other > me && keys[other] < keys[me]) {
                uint32_t key = keys[me];
                keys[me] = keys[other], keys[other] = key;
            }
        }
    __syncthreads();
}

/* Of the threads before; *total of all. */
__device__ __forceinline__ uint32_t sum_before(uint32_t x, uint32_t *total)
{
    __shared__ uint32_t warps[32];
    uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, upto = sum_upto<32>(x, int(lane));
    __syncthreads();
    if (lane == 31)
        warps[warp] = upto;
    __syncthreads();
    uint32_t all = sum_upto<32>(warps[lane], int(lane)), before = __shfl_sync(~0u, all, int(warp) - 1) * (warp > 0);
    *total = __shfl_sync(~0u, all, 31);
    return before + upto - x;
}

__device__ __forceinline__ uint32_t count_of(const placing &s)
{
    int64_t e = int64_t(blockIdx.x) * window + threadIdx.x;
    return e < s.nvals ? s.next[e] : 0;
}

/* Most products first; entries of many products last, with none here. */
__global__ void __launch_bounds__(window) sort_windows(placing s)
{
    __shared__ uint32_t keys[window];
    uint32_t count = count_of(s), here = count > s.few_most ? 0 : count, places, many, many_places;
    keys[threadIdx.x] = (count_most - here) * window + threadIdx.x;
    sum_before(here, &places);
    sum_before(count > s.few_most, &many);
    sum_before(count - here, &many_places);
    sort_block(keys);
    uint32_t key = keys[threadIdx.x], sorted = count_most - key / window, of_slice = __reduce_add_sync(~0u, sorted);
    int64_t at = int64_t(blockIdx.x) * window + threadIdx.x;
    s.entry[at] = uint16_t(sorted * window + key % window);
    if (threadIdx.x % 32 == 0)
        s.slice[at / 32] = of_slice;
    if (threadIdx.x)
        return;
    s.many[blockIdx.x] = many;
    s.many_places[blockIdx.x] = many_places;
    if (places > *static_cast<volatile uint32_t *>(s.longest))
        atomicMax(s.longest, places);
}

/* Numbers of products become where an entry's places begin: in the order of C within the window, those of many products behind all windows. */
__global__ void __launch_bounds__(window) begin_entries(placing s)
{
    int64_t w = blockIdx.x, e = w * window + threadIdx.x;
    uint32_t count = count_of(s), all;
    bool is_many = count > s.few_most;
    uint32_t before = uint32_t(s.slice[w * slices]) + sum_before(is_many ? 0 : count, &all);
    uint32_t number = uint32_t(s.many[w]) + sum_before(is_many, &all);
    uint32_t many_before = s.few_places + uint32_t(s.many_places[w]) + sum_before(is_many ? count : 0, &all);
    if (e < s.nvals)
        s.next[e] = is_many ? many_before : before;
    if (is_many) {
        s.many_entry[number] = e;
        s.many_start[number] = many_before;
    }
    if (e == s.nvals - 1)
        s.many_start[s.many[s.windows]] = s.few_places + uint32_t(s.many_places[s.windows]);
}

/* When all products have their places; next is behind each entry's last.  A block takes several windows, through `scratch` for each block. */
__global__ void __launch_bounds__(window) turn_windows(placing s, unsigned long long *scratch, uint32_t scratch_each)
{
    scratch += uint64_t(blockIdx.x) * scratch_each;
    uint32_t lane = threadIdx.x % 32;
    for (int64_t w = blockIdx.x; w < s.windows; w += gridDim.x) {
        int64_t at = w * window + threadIdx.x, begin = s.slice[w * slices];
        uint32_t entry = s.entry[at], count = entry / window;
        unsigned long long *to = s.code + s.slice[at / 32] + lane;
        const unsigned long long *from = scratch + (count ? s.next[w * window + entry % window] - count - begin : 0);
        for (int64_t k = begin + threadIdx.x; k < s.slice[(w + 1) * slices]; k += window)
            scratch[k - begin] = s.code[k];
        __syncthreads();
        for (uint32_t k = 0, most = __shfl_sync(~0u, count, 0); k < most; k++) {
            if (k < count)
                *to = from[k];
            to += __popc(__ballot_sync(~0u, k < count));
        }
        __syncthreads();
    }
}

// ---- Places ----

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
    int64_t at = active ? s.ap[row] : 0, end = active ? s.ap[row + 1] : 0;
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
                    s.code[s.next[e]++] = (unsigned long long)(at + k) << 32 | uint32_t(start + o);
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

unsigned blocks_of(int64_t items, int per_block) { return unsigned((items + per_block - 1) / per_block); }

class Placer {
  public:
    Placer(const spgemm_rows_by_bin &known, const tsr_cuda_spgemm *product, const tsr_cuda_csr *c, uint64_t product_count, uint32_t *counts, size_t bytes)
        : rows(known), most_bytes(bytes), stream(product->stream), passing(stream), most_turning(2 * product->device->sms)
    {
        s = {};
        s.ap = product->a->p, s.bp = product->b->p, s.cp = c->p;
        s.ai = product->a->i, s.bi = product->b->i, s.ci = c->i;
        s.few_most = product_count < little ? few_most_of_little : few_most;
        s.next = counts, s.nvals = c->nvals, s.windows = (c->nvals + window - 1) / window;
    }

    /* *kept is the caller's, also after a failure. */
    tsr_status run(spgemm_places *places, spgemm_places_memory *kept)
    {
        tsr_status status = sort(kept);
        if (status == TSR_OK)
            status = begin(kept);
        if (status == TSR_OK)
            status = place();
        if (status != TSR_OK)
            return status;
        *places = { s.code, s.entry, s.slice, s.windows, s.many_entry, s.many_start, uint32_t(totals.many) };
        kept->bytes = taken;
        return TSR_OK;
    }

  private:
    /* The arrays of an arena, if they are still allowed. */
    tsr_status get(Arena *arena)
    {
        if (taken + arena->size() > most_bytes)
            return TSR_DECLINED;
        return arena->get();
    }
    tsr_status keep(Arena *arena, void **memory)
    {
        tsr_status status = get(arena);
        if (status != TSR_OK)
            return status;
        taken += arena->size();
        *memory = arena->keep();
        return TSR_OK;
    }

    tsr_status sort(spgemm_places_memory *kept)
    {
        Arena lasting(stream);
        char *scan;
        int64_t n = s.windows * slices;
        lasting.want(&s.entry, s.windows * window);
        lasting.want(&s.slice, n + 1);
        tsr_status status = keep(&lasting, &kept->entries);
        passing.want(&s.many, 2 * (s.windows + 1));
        passing.want(&s.longest, 1);
        passing.want(&scan, int64_t(tsr_cuda_scan_bytes(n)));
        if (status == TSR_OK)
            status = get(&passing);
        if (status == TSR_OK)
            status = tsr_cuda_set(s.longest, 0, sizeof *s.longest, stream);
        if (status != TSR_OK)
            return status;
        s.many_places = s.many + s.windows + 1;
        TSR_LAUNCH(sort_windows, unsigned(s.windows), window, 0, stream, s);
        status = tsr_cuda_scan(s.slice, n, 1, scan, stream);
        if (status == TSR_OK)
            status = tsr_cuda_scan(s.many, s.windows, 2, scan, stream);
        return status == TSR_OK ? read_totals() : status;
    }

    tsr_status read_totals()
    {
        tsr_status status = tsr_cuda_to_host(&totals.few_places, s.slice + s.windows * slices, sizeof totals.few_places, stream);
        if (status == TSR_OK)
            status = tsr_cuda_to_host(&totals.many, s.many + s.windows, sizeof totals.many, stream);
        if (status == TSR_OK)
            status = tsr_cuda_to_host(&totals.many_places, s.many_places + s.windows, sizeof totals.many_places, stream);
        if (status == TSR_OK)
            status = tsr_cuda_to_host(&totals.longest, s.longest, sizeof totals.longest, stream);
        return status == TSR_OK ? tsr_cuda_wait(stream) : status;
    }

    tsr_status begin(spgemm_places_memory *kept)
    {
        Arena lasting(stream);
        s.few_places = uint32_t(totals.few_places);
        lasting.want(&s.code, totals.few_places + totals.many_places);
        lasting.want(&s.many_entry, totals.many);
        lasting.want(&s.many_start, totals.many + 1);
        tsr_status status = keep(&lasting, &kept->code);
        if (status != TSR_OK)
            return status;
        TSR_LAUNCH(begin_entries, unsigned(s.windows), window, 0, stream, s);
        return launch_status();
    }

    template <int G> void launch(const uint32_t *list, uint32_t count, unsigned share) const
    {
        if (count)
            TSR_LAUNCH(place_rows<G>, dim3(blocks_of(count, threads / G), share), unsigned(threads), 0, stream, s, list, count);
    }

    tsr_status place()
    {
        const uint32_t *list = rows.list;
        for (int bin = 0; bin < SPGEMM_BINS; list += rows.rows[bin++]) {
            bool tiny = bin < SPGEMM_SORT + 4, heavy = bin == SPGEMM_RANK_BLOCK + 2 || bin == SPGEMM_RANK_BLOCK + 3;
            if (tiny)
                launch<8>(list, rows.rows[bin], 1);
            else
                launch<32>(list, rows.rows[bin], heavy ? 32 : bin >= SPGEMM_RANK_BLOCK ? 4 : 1);
        }
        tsr_status status = launch_status();
        if (status != TSR_OK)
            return status;
        Arena turning(stream);
        unsigned long long *scratch;
        int64_t blocks = s.windows < most_turning ? s.windows : most_turning;
        turning.want(&scratch, blocks * totals.longest);
        status = get(&turning);
        if (status == TSR_OK)
            TSR_LAUNCH(turn_windows, unsigned(blocks), window, 0, stream, s, scratch, totals.longest);
        return status == TSR_OK ? launch_status() : status;
    }

    struct {
        int64_t few_places, many, many_places;
        uint32_t longest;
    } totals = {};
    placing s;
    spgemm_rows_by_bin rows;
    size_t most_bytes, taken = 0;
    void *stream;
    Arena passing; // until all places are found
    int most_turning; // blocks
};

} // namespace

tsr_status spgemm_find_places(spgemm_places *places, spgemm_places_memory *memory, const spgemm_rows_by_bin &rows, const tsr_cuda_spgemm *product,
    const tsr_cuda_csr *c, uint64_t product_count, uint32_t *counts, size_t most_bytes)
{
    return Placer(rows, product, c, product_count, counts, most_bytes).run(places, memory);
}
