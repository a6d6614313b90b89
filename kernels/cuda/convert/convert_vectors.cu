// Nonzero vectors of row windows.
//
// The rows of a window are sorted, so its vectors come from merging them.  Work is cut into pieces of at most `capacity` entries:
// some consecutive windows, or a range of columns of one large window.  What a block of threads does with a piece: convert_pieces.cuh.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/convert/convert_pieces.cuh"

namespace tsr_convert {
namespace {

/* ---- cutting the work ---- */

__global__ void __launch_bounds__(threads) count_pieces(job j)
{
    int64_t v = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
    if (v > j.nwindows)
        return;
    int64_t begin = j.p[min(v << j.log_height, j.nrows)];
    j.entry[v] = begin;
    if (v == j.nwindows)
        return;
    int64_t n = j.p[min((v + 1) << j.log_height, j.nrows)] - begin;
    int64_t before = v ? j.p[(v - 1) << j.log_height] : -1;
    bool starts = v % (most_rows >> j.log_height) == 0 || before / bucket != begin / bucket;
    j.first[v] = n > bucket ? (n + target - 1) / target : starts;
    if (n > INT32_MAX)
        j.total[total_excess] = 1;
}

/* None when a window has too many entries: the host learns of it and gives up. */
__device__ int64_t count_of_pieces(const job &j) { return j.total[total_excess] ? 0 : j.first[j.nwindows]; }

__global__ void __launch_bounds__(threads) place_pieces(job j)
{
    int64_t v = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x, step = static_cast<int64_t>(gridDim.x) * threads;
    for (int64_t q = count_of_pieces(j) + v; q < j.most_pieces; q += step)
        j.count[q] = 0;
    if (v < j.nwindows && !j.total[total_excess])
        for (int64_t q = j.first[v]; q < j.first[v + 1]; q++)
            j.window[q] = v;
}

/* Where a piece, not the first of its window, begins: by bisection a column with `before` entries before it, or up to most_height
 * more, which the entries of one column may be.  It is between the columns that are as far on in their rows as the piece in the
 * window: before the least of them there are too few entries, up to the largest of them enough. */
__device__ void find_cut(const job &j, int64_t q, int64_t v)
{
    constexpr int most = most_height / 32;
    int lane = threadIdx.x % 32, height = 1 << j.log_height;
    int64_t place = q - j.first[v], pieces = j.first[v + 1] - j.first[v], before = (j.entry[v + 1] - j.entry[v]) * place / pieces;
    const uint32_t *row[most];
    uint32_t low[most], high[most], least = ~0u, largest = 0;
#pragma unroll
    for (int k = 0; k < most; k++) {
        int64_t r = (v << j.log_height) + k * 32 + lane;
        bool mine = k * 32 + lane < height && r < j.nrows;
        row[k] = j.i + (mine ? j.p[r] : 0);
        high[k] = mine ? static_cast<uint32_t>(j.p[r + 1] - j.p[r]) : 0;
        low[k] = static_cast<uint32_t>(high[k] * place / pieces);
        if (high[k]) {
            least = min(least, row[k][low[k]]);
            largest = max(largest, row[k][low[k]]);
        }
    }
    int64_t from = __reduce_min_sync(all, least), to = static_cast<int64_t>(__reduce_max_sync(all, largest)) + 1;
    uint32_t fewest = 0, enough = 0; // entries before these two columns
#pragma unroll
    for (int k = 0; k < most; k++) {
        high[k] = lower_bound(row[k], low[k], high[k], to);
        low[k] = lower_bound(row[k], static_cast<uint32_t>(0), low[k], from);
        fewest += low[k];
        enough += high[k];
    }
    fewest = __reduce_add_sync(all, fewest);
    enough = __reduce_add_sync(all, enough);
    while (from < to && enough - fewest > most_height) {
        int64_t middle = (from + to) / 2;
        uint32_t at[most], sum = 0;
#pragma unroll
        for (int k = 0; k < most; k++) {
            at[k] = lower_bound(row[k], low[k], high[k], middle);
            sum += at[k];
        }
        sum = __reduce_add_sync(all, sum);
        bool down = sum >= before;
#pragma unroll
        for (int k = 0; k < most; k++)
            (down ? high[k] : low[k]) = at[k];
        from = down ? from : middle + 1;
        to = down ? middle : to;
        (down ? enough : fewest) = sum;
    }
#pragma unroll
    for (int k = 0; k < most; k++)
        if (k * 32 + lane < height)
            j.cut[(q << j.log_height) + k * 32 + lane] = high[k];
}

__global__ void __launch_bounds__(threads) cut_windows(job j)
{
    int64_t npieces = count_of_pieces(j);
    for (int64_t q = static_cast<int64_t>(blockIdx.x) * warps + threadIdx.x / 32; q < npieces;
         q += static_cast<int64_t>(gridDim.x) * warps) {
        int64_t v = j.window[q];
        if (q > j.first[v])
            find_cut(j, q, v);
    }
}

/* ---- all pieces ---- */

__device__ void load_piece(piece &s, const job &j, int64_t q, int64_t npieces)
{
    int64_t v = j.window[q];
    if (j.first[v + 1] - j.first[v] <= 1)
        load_whole(s, j, q, npieces);
    else if (threadIdx.x < 32)
        load_cut(s, j, q);
    __syncthreads();
    if (threadIdx.x == 0)
        s.n = static_cast<int>(s.start[s.nrows]);
    __syncthreads();
}

template <class Key> __global__ void __launch_bounds__(threads, 5) unite_rows(job j)
{
    __shared__ piece s;
    Key *keys = reinterpret_cast<Key *>(dynamic_shared()), key[per_thread];
    int64_t npieces = count_of_pieces(j);
    for (int64_t q = blockIdx.x; q < npieces; q += gridDim.x) {
        load_piece(s, j, q, npieces);
        places known = load_keys(s, j, key);
        store_keys(s, keys, key);
        if (map_windows(s, j, keys))
            list_mapped(s, j, q, keys, key, known.windows);
        else {
            merge_piece(s, j, keys, key, known.row);
            list_merged(s, j, q, keys, key);
        }
        __syncthreads();
    }
}

/* Vectors at heights 8, 16, ... up to that of the job, 128. */
template <class Key> __global__ void __launch_bounds__(threads) count_rows(job j, unsigned long long *vectors)
{
    __shared__ piece s;
    Key *keys = reinterpret_cast<Key *>(dynamic_shared()), key[per_thread];
    uint32_t sum[5] = {};
    int64_t npieces = count_of_pieces(j);
    for (int64_t q = blockIdx.x; q < npieces; q += gridDim.x) {
        load_piece(s, j, q, npieces);
        places known = load_keys(s, j, key);
        store_keys(s, keys, key);
        if (map_windows(s, j, keys))
            count_mapped(sum, s, j, keys, key, known.windows);
        else {
            merge_piece(s, j, keys, key, known.row);
            count_merged(sum, s, j, keys, key);
        }
        __syncthreads();
    }
#pragma unroll
    for (int h = 0; h < 5; h++) {
        uint32_t of_warp = __reduce_add_sync(all, sum[h]);
        if (threadIdx.x % 32 == 0 && of_warp)
            atomicAdd(&vectors[h], static_cast<unsigned long long>(of_warp));
    }
}

/* ---- from pieces to windows ---- */

__device__ int64_t vectors_before(const job &j, int64_t v)
{
    if (v == j.nwindows)
        return j.count[j.most_pieces];
    int64_t q = j.first[v];
    return j.count[j.first[v + 1] > q ? q : q - 1] + j.within[v];
}

__global__ void __launch_bounds__(threads) sum_windows(job j, tsr_windows w, int64_t *group, int group_width)
{
    int64_t v = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
    if (v > w.nwindows)
        return;
    int64_t before = vectors_before(j, v);
    w.vector[v] = before;
    if (v == w.nwindows)
        return;
    int64_t n = vectors_before(j, v + 1) - before;
    w.block[v] = (n + w.width - 1) / w.width;
    if (group)
        group[v] = (n + group_width - 1) / group_width;
}

__global__ void tell_totals(job j, tsr_windows w, const int64_t *group)
{
    j.total[total_vectors] = w.vector[w.nwindows];
    j.total[total_blocks] = w.block[w.nwindows];
    j.total[total_groups] = group ? group[w.nwindows] : 0;
}

template <class Rows> __global__ void __launch_bounds__(threads) close_gaps(job j, uint32_t *column, Rows *rows)
{
    int64_t npieces = count_of_pieces(j);
    for (int64_t q = blockIdx.x; q < npieces; q += gridDim.x) {
        int64_t from = j.origin[q], to = j.count[q], n = j.count[q + 1] - to;
        for (int64_t k = threadIdx.x; k < n; k += threads) {
            column[to + k] = j.column[from + k];
            rows[to + k] = static_cast<const Rows *>(j.rows)[from + k];
        }
    }
}

__global__ void __launch_bounds__(threads) tell_windows(tsr_windows w, tsr_window_count *windows)
{
    int64_t v = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
    if (v < w.nwindows)
        windows[v] = {static_cast<uint32_t>(w.entry[v + 1] - w.entry[v]), static_cast<uint32_t>(w.vector[v + 1] - w.vector[v])};
}

/* ---- the host's side ---- */

unsigned piece_blocks(const job &j) { return static_cast<unsigned>(j.most_pieces < 4096 ? j.most_pieces : 4096); }

void describe(job *j, const tsr_source *in, int log_height)
{
    int64_t height = 1 << log_height;
    *j = {};
    j->nrows = in->nrows;
    j->ncols = in->ncols;
    j->nwindows = in->nrows / height + (in->nrows % height > 0);
    j->log_height = log_height;
    // Windows of at most `bucket` entries begin a piece where entries reach another bucket, or after most_rows; larger ones have
    // n / target + 1 pieces at most.
    j->most_pieces = 2 * (in->nvals / bucket) + in->nvals / target + j->nwindows / (most_rows / height) + 3;
    j->p = in->p;
    j->i = in->i;
}

void want_pieces(Arena *arena, job *j)
{
    arena->want(&j->first, j->nwindows + 1);
    arena->want(&j->window, j->most_pieces);
    arena->want(&j->count, j->most_pieces + 1);
    arena->want(&j->cut, j->most_pieces << j->log_height);
    arena->want(&j->total, all_totals);
}

tsr_status cut_pieces(const job &j, void *scratch, void *stream)
{
    tsr_status status = tsr_cuda_set(j.total, 0, all_totals * sizeof *j.total, stream);
    if (status != TSR_OK)
        return status;
    TSR_LAUNCH(count_pieces, blocks_for(j.nwindows + 1, threads), threads, 0, stream, j);
    status = tsr_cuda_scan(j.first, j.nwindows, 1, scratch, stream);
    if (status != TSR_OK)
        return status;
    TSR_LAUNCH(place_pieces, blocks_for(j.nwindows + 1, threads), threads, 0, stream, j);
    TSR_LAUNCH(cut_windows, piece_blocks(j), threads, 0, stream, j);
    return launch_status();
}

/* 32 bits are enough for a column and a row, and one more. */
bool short_keys(const job &j) { return j.ncols < static_cast<int64_t>(1) << (32 - j.log_height); }

/* Keys; then columns and rows of vectors in the same place, and bits of columns behind. */
size_t shared_bytes(int wide) { return capacity * (4 + 4 * wide) + most_map_words * 6; }

tsr_status list_all(const job &j, void *scratch, void *stream)
{
    auto kernel = short_keys(j) ? unite_rows<uint32_t> : unite_rows<uint64_t>;
    TSR_LAUNCH(kernel, piece_blocks(j), threads, shared_bytes(j.log_height > 5 ? 2 : 1), stream, j);
    return tsr_cuda_scan(j.count, j.most_pieces, 1, scratch, stream);
}

template <class Rows> tsr_status close_pieces(const job &j, tsr_windows *w, void **rows, void *stream)
{
    Rows *to = nullptr;
    tsr_status status = get_array(&w->column, w->nvectors, stream);
    if (status == TSR_OK)
        status = get_array(&to, w->nvectors, stream);
    if (status != TSR_OK)
        return status;
    *rows = to;
    TSR_LAUNCH(close_gaps<Rows>, piece_blocks(j), threads, 0, stream, j, w->column, to);
    return launch_status();
}

tsr_status close_pieces(const job &j, tsr_windows *w, void **rows, void *stream)
{
    switch (j.log_height) {
    case 3: return close_pieces<uint8_t>(j, w, rows, stream);
    case 4: return close_pieces<uint16_t>(j, w, rows, stream);
    case 5: return close_pieces<uint32_t>(j, w, rows, stream);
    default: return close_pieces<uint64_t>(j, w, rows, stream);
    }
}

tsr_status sum_up(const job &j, tsr_windows *w, int64_t *group, int group_width, int64_t host[totals], void *scratch,
                  void *stream)
{
    TSR_LAUNCH(sum_windows, blocks_for(w->nwindows + 1, threads), threads, 0, stream, j, *w, group, group_width);
    tsr_status status = tsr_cuda_scan(w->block, w->nwindows, 1, scratch, stream);
    if (status == TSR_OK && group)
        status = tsr_cuda_scan(group, w->nwindows, 1, scratch, stream);
    if (status != TSR_OK)
        return status;
    TSR_LAUNCH(tell_totals, 1, 1, 0, stream, j, *w, static_cast<const int64_t *>(group));
    status = launch_status();
    if (status == TSR_OK)
        status = tsr_cuda_to_host(host, j.total, totals * sizeof *host, stream);
    return status != TSR_OK ? status : tsr_cuda_wait(stream);
}

tsr_status fill(tsr_windows *w, vectors *out, const tsr_source *in, int log_height, int group_width, void *stream)
{
    job j;
    Arena arena(stream);
    char *scratch;
    int64_t host[totals];
    describe(&j, in, log_height);
    j.entry = w->entry;
    want_pieces(&arena, &j);
    arena.want(&j.origin, j.most_pieces);
    arena.want(&j.within, j.nwindows);
    arena.want(&j.column, in->nvals);
    arena.want(reinterpret_cast<char **>(&j.rows), in->nvals << (log_height - 3));
    arena.want(&scratch, static_cast<int64_t>(tsr_cuda_scan_bytes(max(j.nwindows, j.most_pieces))));
    tsr_status status = arena.get();
    if (status == TSR_OK)
        status = cut_pieces(j, scratch, stream);
    if (status == TSR_OK)
        status = list_all(j, scratch, stream);
    if (status == TSR_OK)
        status = sum_up(j, w, out->group, group_width, host, scratch, stream);
    if (status != TSR_OK)
        return status;
    if (host[total_excess])
        return TSR_NOT_SUPPORTED;
    w->nvectors = host[total_vectors];
    w->nblocks = host[total_blocks];
    out->ngroups = host[total_groups];
    return close_pieces(j, w, &out->rows, stream);
}

} // namespace

void free_windows(tsr_windows *w, void *stream)
{
    tsr_cuda_free(w->entry, stream);
    tsr_cuda_free(w->vector, stream);
    tsr_cuda_free(w->block, stream);
    tsr_cuda_free(w->column, stream);
    *w = {};
}

tsr_status make_vectors(tsr_windows *w, vectors *out, const tsr_source *in, int height, int width, int group_width, void *stream)
{
    *w = {};
    *out = {};
    if (in->ncols > static_cast<int64_t>(1) << 32)
        return TSR_NOT_SUPPORTED;
    w->height = height;
    w->width = width;
    w->nrows = in->nrows;
    w->ncols = in->ncols;
    w->nvals = in->nvals;
    w->nwindows = in->nrows / height + (in->nrows % height > 0);
    tsr_status status = get_array(&w->entry, w->nwindows + 1, stream);
    if (status == TSR_OK)
        status = get_array(&w->vector, w->nwindows + 1, stream);
    if (status == TSR_OK)
        status = get_array(&w->block, w->nwindows + 1, stream);
    if (status == TSR_OK && group_width)
        status = get_array(&out->group, w->nwindows + 1, stream);
    int log_height = 3;
    while (1 << log_height < height)
        log_height++;
    if (status == TSR_OK)
        status = fill(w, out, in, log_height, group_width, stream);
    if (status != TSR_OK) {
        free_windows(w, stream);
        tsr_cuda_free(out->group, stream);
        tsr_cuda_free(out->rows, stream);
        *out = {};
    }
    return status;
}

} // namespace tsr_convert

using namespace tsr_convert;

extern "C" tsr_status tsr_cuda_count_vectors(int64_t counts[5], const tsr_source *in, void *stream)
{
    job j;
    Arena arena(stream);
    char *scratch;
    int64_t host[all_totals];
    if (in->ncols > static_cast<int64_t>(1) << 32)
        return TSR_NOT_SUPPORTED;
    describe(&j, in, 7);
    want_pieces(&arena, &j);
    arena.want(&j.entry, j.nwindows + 1);
    arena.want(&scratch, static_cast<int64_t>(tsr_cuda_scan_bytes(j.nwindows)));
    tsr_status status = arena.get();
    if (status == TSR_OK)
        status = cut_pieces(j, scratch, stream);
    if (status != TSR_OK)
        return status;
    auto kernel = short_keys(j) ? count_rows<uint32_t> : count_rows<uint64_t>;
    TSR_LAUNCH(kernel, piece_blocks(j), threads, shared_bytes(1), stream, j,
               reinterpret_cast<unsigned long long *>(j.total + totals));
    status = launch_status();
    if (status == TSR_OK)
        status = tsr_cuda_to_host(host, j.total, sizeof host, stream);
    if (status == TSR_OK)
        status = tsr_cuda_wait(stream);
    if (status == TSR_OK && host[total_excess])
        status = TSR_NOT_SUPPORTED;
    for (int h = 0; h < 5 && status == TSR_OK; h++)
        counts[h] = host[totals + h];
    return status;
}

extern "C" tsr_status tsr_cuda_count_windows(tsr_window_count *windows, const tsr_source *in, int height, void *stream)
{
    tsr_windows w;
    vectors made;
    tsr_window_count *counts = nullptr;
    tsr_status status = make_vectors(&w, &made, in, height, 8, 0, stream);
    if (status != TSR_OK)
        return status;
    status = get_array(&counts, w.nwindows, stream);
    if (status == TSR_OK && w.nwindows) {
        TSR_LAUNCH(tell_windows, blocks_for(w.nwindows, threads), threads, 0, stream, w, counts);
        status = launch_status();
    }
    if (status == TSR_OK && w.nwindows)
        status = tsr_cuda_to_host(windows, counts, static_cast<size_t>(w.nwindows) * sizeof *windows, stream);
    tsr_status waited = tsr_cuda_wait(stream);
    tsr_cuda_free(counts, stream);
    tsr_cuda_free(made.rows, stream);
    free_windows(&w, stream);
    return status == TSR_OK ? waited : status;
}
