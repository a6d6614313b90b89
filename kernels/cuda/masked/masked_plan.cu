// The plan of a masked product (see masked_plan.cuh): which list is walked for each entry, groups by owner, tasks of bounded work,
// heavy first. It depends on patterns only.
//
// Entries are sorted by owner (and, within a group, by the length of the walker, longest first); entries without a group come
// after them in the mask's order, entries with empty intersections of the column ranges last, and are forgotten.
//
// Where it is less work and only counts are wanted, there is none of this: the plan is the lists as bits.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/common/arena.cuh"
#include "kernels/cuda/masked/masked_plan.cuh"
#include "kernels/cuda/common/sort.cuh"

#include <climits>

namespace {

constexpr int threads = 256;
constexpr int length_bits = 4;
constexpr uint32_t record_cost = 16; /* of an entry, in columns walked */
constexpr uint64_t warp_most = 1 << 11; /* what a warp takes upon itself */

/* Lists as bits: never, where they pay, wherever there is room. */
enum bits_rule { NO_BITS, BITS_WHERE_THEY_PAY, BITS_IN_PAIRS, BITS_IN_TILES };

struct plan_rule {
    uint64_t bitmap_cost, table_cost, warp_cost, most; /* a group's least cost for a form; a task's most */
    uint32_t bitmap_list, large_list;       /* longest lists of a bitmap (0: it does not fit) and a large table */
    int shift;                              /* key = owner << shift | how short the walker is */
    uint32_t owners;
    uint32_t search_key; /* of entries without a group; the next one: of those that have no product */
    bits_rule bits;
};

struct plan_counts {
    unsigned long long grouped, pairs;
    unsigned long long tasks[MASKED_FORMS];
    unsigned long long written; /* tasks, while they are written */
    unsigned long long walked, quads; /* over all entries: columns walked; words of 128 columns in which both lists have columns */
};

__device__ __forceinline__ masked_form form_of(const plan_rule &rule, uint64_t cost, int64_t list)
{
    if (cost >= rule.warp_cost && cost < warp_most && list <= warp_slots / 2)
        return MASKED_WARP;
    if (cost < rule.table_cost)
        return MASKED_SEARCH;
    if (cost >= rule.bitmap_cost && list <= rule.bitmap_list)
        return MASKED_BITMAP;
    if (list <= small_slots / 2)
        return MASKED_TABLE;
    if (list <= rule.bitmap_list)
        return MASKED_BITMAP;
    return list <= rule.large_list ? MASKED_LARGE_TABLE : MASKED_SEARCH;
}

/* Lists cut to where they overlap. */
struct overlap {
    int64_t a, b;
    uint32_t a_length, b_length;
    uint32_t quads; /* words of 128 columns there */
    __device__ __forceinline__ bool owner_is_b() const { return b_length > a_length; }
    __device__ __forceinline__ uint32_t walked() const { return owner_is_b() ? a_length : b_length; }
};

__device__ __forceinline__ overlap cut(const masked_lists &q, int64_t row, int64_t col)
{
    int64_t a = q.ap[row], a_end = q.ap[row + 1], b = q.bp[col], b_end = q.bp[col + 1];
    if (a == a_end || b == b_end)
        return {};
    uint32_t a_first = q.ai[a], a_last = q.ai[a_end - 1], b_first = q.bi[b], b_last = q.bi[b_end - 1];
    if (a_first > b_last || b_first > a_last)
        return {};
    if (a_first < b_first)
        a = lower_place(q.ai, a, a_end, b_first);
    if (a_last > b_last)
        a_end = lower_place(q.ai, a, a_end, b_last + 1);
    if (b_first < a_first)
        b = lower_place(q.bi, b, b_end, a_first);
    if (b_last > a_last)
        b_end = lower_place(q.bi, b, b_end, a_last + 1);
    if (a >= a_end || b >= b_end)
        return {};
    uint32_t quads = min(a_last, b_last) / quad_columns - max(a_first, b_first) / quad_columns + 1;
    return { a, b, uint32_t(a_end - a), uint32_t(b_end - b), quads };
}

__device__ __forceinline__ int64_t list_length(const masked_lists &q, uint32_t owner)
{
    return owner < q.nrows ? q.ap[owner + 1] - q.ap[owner] : q.bp[owner - q.nrows + 1] - q.bp[owner - q.nrows];
}

/* The entry with row and column exchanged; -1: there is none among those of the plan. */
__device__ __forceinline__ int64_t mirror_of(const masked_lists &q, int64_t row, uint32_t col)
{
    if (col >= q.nrows)
        return -1;
    int64_t end = q.mp[col + 1], at = lower_place(q.mi, q.mp[col], end, uint32_t(row));
    return at < end && q.mi[at] == row && at >= q.begin && at < q.end ? at - q.begin : -1;
}

/* Keys of the entries as if all had groups, and the cost of every group. */
__global__ void __launch_bounds__(threads) measure_entries(masked_lists q, plan_rule rule, uint32_t *keys, uint32_t *entries,
    unsigned long long *cost, plan_counts *counts)
{
    int64_t at = blockIdx.x * int64_t(threads) + threadIdx.x;
    bool inside = at < q.end - q.begin;
    int64_t row = inside ? row_with(q.mp, q.nrows, q.begin + at) : 0;
    uint32_t col = inside ? q.mi[q.begin + at] : 0;
    bool skipped = !inside || (q.mirrored && col > row && mirror_of(q, row, col) >= 0);
    overlap lists = skipped ? overlap{} : cut(q, row, col);
    uint32_t length = lists.walked(), key = rule.search_key + 1;
    unsigned walked = __reduce_add_sync(~0u, min(length, 1u << 26)), quads = __reduce_add_sync(~0u, lists.quads);
    if (threadIdx.x % 32 == 0 && walked) {
        atomicAdd(&counts->walked, (unsigned long long)walked);
        atomicAdd(&counts->quads, (unsigned long long)quads);
    }
    if (!inside)
        return;
    if (length) {
        int bits = 32 - __clz(int(length));
        uint32_t owner = lists.owner_is_b() ? uint32_t(q.nrows) + col : uint32_t(row);
        key = owner << rule.shift | (rule.shift ? (1u << length_bits) - 1 - uint32_t(min(bits, (1 << length_bits) - 1)) : 0);
        atomicAdd(cost + owner, (unsigned long long)(length + record_cost));
    }
    keys[at] = key;
    entries[at] = uint32_t(at);
}

/* Entries of owners without a group get the key of all such. */
__global__ void __launch_bounds__(threads) choose_groups(masked_lists q, plan_rule rule, uint32_t *keys,
    const unsigned long long *cost, plan_counts *counts)
{
    int64_t at = blockIdx.x * int64_t(threads) + threadIdx.x;
    bool grouped = false, pair = false;
    if (at < q.end - q.begin && keys[at] < rule.search_key) {
        uint32_t owner = keys[at] >> rule.shift;
        grouped = form_of(rule, cost[owner], list_length(q, owner)) != MASKED_SEARCH;
        pair = !grouped;
        if (pair)
            keys[at] = rule.search_key;
    }
    int all_grouped = __syncthreads_count(grouped), all_pairs = __syncthreads_count(pair);
    if (threadIdx.x == 0) {
        if (all_grouped)
            atomicAdd(&counts->grouped, (unsigned long long)all_grouped);
        if (all_pairs)
            atomicAdd(&counts->pairs, (unsigned long long)all_pairs);
    }
}

__device__ __forceinline__ uint32_t tasks_of(const plan_rule &rule, uint64_t cost)
{
    return uint32_t((cost + rule.most - 1) / rule.most);
}

/* The form of a group; MASKED_SEARCH where there is none. */
__device__ __forceinline__ masked_form owner_form(const masked_lists &q, const plan_rule &rule, const unsigned long long *cost,
    int64_t owner)
{
    bool group = owner < rule.owners && cost[owner];
    return group ? form_of(rule, cost[owner], list_length(q, uint32_t(owner))) : MASKED_SEARCH;
}

__global__ void __launch_bounds__(threads) count_tasks(masked_lists q, plan_rule rule, const unsigned long long *cost,
    plan_counts *counts)
{
    __shared__ uint32_t sums[MASKED_FORMS];
    if (threadIdx.x < MASKED_FORMS)
        sums[threadIdx.x] = 0;
    __syncthreads();
    int64_t owner = blockIdx.x * int64_t(threads) + threadIdx.x;
    masked_form form = owner_form(q, rule, cost, owner);
    if (form != MASKED_SEARCH)
        atomicAdd(sums + form, tasks_of(rule, cost[owner]));
    __syncthreads();
    if (threadIdx.x < MASKED_FORMS && sums[threadIdx.x])
        atomicAdd(counts->tasks + threadIdx.x, (unsigned long long)sums[threadIdx.x]);
}

/* Records and pairs in sorted order; where the groups begin and end. */
__global__ void __launch_bounds__(threads) write_records(masked_lists q, plan_rule rule, const uint32_t *keys,
    const uint32_t *entries, uint32_t grouped, uint32_t count, masked_record *records, masked_pair *pairs, uint32_t *mirrors,
    uint32_t *first, uint32_t *last)
{
    uint32_t at = blockIdx.x * uint32_t(threads) + threadIdx.x;
    if (at >= count)
        return;
    uint32_t entry = entries[at];
    int64_t row = row_with(q.mp, q.nrows, q.begin + entry);
    if (q.mirrored) {
        int64_t mirror = mirror_of(q, row, q.mi[q.begin + entry]);
        mirrors[at] = mirror >= 0 ? uint32_t(mirror) : entry;
    }
    overlap lists = cut(q, row, q.mi[q.begin + entry]);
    bool owner_is_b = lists.owner_is_b();
    int64_t walker = owner_is_b ? lists.a : lists.b;
    if (at >= grouped) {
        uint32_t owned = owner_is_b ? lists.b_length : lists.a_length;
        pairs[at - grouped] = { walker, owner_is_b ? lists.b : lists.a, lists.walked(), owned, entry, owner_is_b };
        return;
    }
    records[at] = { uint64_t(walker), lists.walked(), entry };
    uint32_t owner = keys[at] >> rule.shift;
    if (at == 0 || keys[at - 1] >> rule.shift != owner)
        first[owner] = at;
    if (at + 1 == grouped || keys[at + 1] >> rule.shift != owner)
        last[owner] = at + 1;
}

/* Tasks in any order; the key puts them in order of form, then by cost, heavy first. */
__global__ void __launch_bounds__(threads) write_tasks(masked_lists q, plan_rule rule, const unsigned long long *cost,
    const masked_record *records, const uint32_t *first, const uint32_t *last, masked_task *tasks, uint32_t *keys,
    uint32_t *numbers, plan_counts *counts)
{
    constexpr uint64_t cost_most = (1u << 30) - 1, long_walker = 2048;
    __shared__ uint32_t sum, before;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    int64_t owner = blockIdx.x * int64_t(threads) + threadIdx.x;
    masked_form form = owner_form(q, rule, cost, owner);
    uint32_t n = form != MASKED_SEARCH ? tasks_of(rule, cost[owner]) : 0, at = n ? atomicAdd(&sum, n) : 0;
    __syncthreads();
    if (threadIdx.x == 0)
        before = uint32_t(atomicAdd(&counts->written, (unsigned long long)sum));
    __syncthreads();
    if (n == 0)
        return;
    at += before;
    int64_t length = list_length(q, uint32_t(owner));
    uint32_t begin = first[owner], count = last[owner] - begin;
    uint64_t share = cost[owner] / n;
    masked_task task = {};
    task.owner_is_b = owner >= q.nrows;
    task.list = task.owner_is_b ? q.bp[owner - q.nrows] : q.ap[owner];
    task.list_length = uint32_t(length);
    task.stride = n;
    for (uint32_t k = 0; k < n; k++) {
        task.first = begin + k;
        task.count = k < count ? (count - k + n - 1) / n : 0;
        task.long_walkers = task.count && records[task.first].length >= long_walker;
        tasks[at + k] = task;
        keys[at + k] = uint32_t(form) << 30 | uint32_t(cost_most - (share < cost_most ? share : cost_most));
        numbers[at + k] = at + k;
    }
}

__global__ void __launch_bounds__(threads) order_tasks(const masked_task *from, const uint32_t *numbers, uint32_t n,
    masked_task *to)
{
    uint32_t at = blockIdx.x * uint32_t(threads) + threadIdx.x;
    if (at < n)
        to[at] = from[numbers[at]];
}

unsigned blocks_for(int64_t n) { return unsigned((n + threads - 1) / threads); }

int bits_of(uint32_t most)
{
    int bits = 0;
    for (; most; most /= 2)
        bits++;
    return bits;
}

struct scratch {
    uint32_t *keys[2], *entries[2], *first, *last;
    unsigned long long *cost;
    plan_counts *counts;
    char *sort;
};

/* ---- Lists as bits ---- */

/* A warp for every row; the bits are zero before. */
__global__ void __launch_bounds__(threads) set_bits(const int64_t *p, const uint32_t *i, int64_t nrows, uint32_t quads, uint32_t *bits,
    uint2 *span)
{
    int64_t row = (blockIdx.x * int64_t(threads) + threadIdx.x) / 32, begin = row < nrows ? p[row] : 0, end = row < nrows ? p[row + 1] : 0;
    for (int64_t e = begin + threadIdx.x % 32; e < end; e += 32)
        atomicOr(bits + row * quads * 4 + i[e] / 32, 1u << i[e] % 32);
    if (row < nrows && threadIdx.x % 32 == 0)
        span[row] = begin < end ? uint2{ i[begin] / quad_columns, i[end - 1] / quad_columns + 1 } : uint2{ 0, 0 };
}

__global__ void __launch_bounds__(threads) find_rows(masked_lists q, uint32_t *rows)
{
    int64_t at = blockIdx.x * int64_t(threads) + threadIdx.x;
    if (at < q.end - q.begin)
        rows[at] = uint32_t(row_with(q.mp, q.nrows, q.begin + at));
}

struct maker {
    tsr_cuda_masked_plan *plan;
    const tsr_cuda_masked *product;
    masked_lists q;
    plan_rule rule;
    void *stream;

    uint32_t entries() const { return uint32_t(q.end - q.begin); }

    tsr_status measure(const scratch &s, plan_counts *counts) const
    {
        tsr_status status = tsr_cuda_set(s.cost, 0, size_t(rule.owners) * sizeof *s.cost, stream);
        if (status == TSR_OK)
            status = tsr_cuda_set(s.counts, 0, sizeof *s.counts, stream);
        if (status != TSR_OK)
            return status;
        TSR_LAUNCH(measure_entries, blocks_for(entries()), threads, 0, stream, q, rule, s.keys[0], s.entries[0], s.cost,
            s.counts);
        TSR_LAUNCH(choose_groups, blocks_for(entries()), threads, 0, stream, q, rule, s.keys[0], s.cost, s.counts);
        TSR_LAUNCH(count_tasks, blocks_for(rule.owners), threads, 0, stream, q, rule, s.cost, s.counts);
        status = launch_status();
        if (status == TSR_OK)
            status = tsr_cuda_to_host(counts, s.counts, sizeof *counts, stream);
        return status == TSR_OK ? tsr_cuda_wait(stream) : status;
    }

    int64_t quads_of_list() const { return (product->a->ncols + quad_columns - 1) / quad_columns; }
    int64_t rows_of_bits() const { return tile_rows(product->a->nrows) + (q.mirrored ? 0 : tile_rows(product->b->nrows)); }

    /* What computing costs with lists as bits, in columns walked.  Pairs: 128 columns of a lane about 3, and mirror images are computed. */
    uint64_t pairs_cost(const plan_counts &counts) const { return uint64_t(q.mirrored ? 6 : 3) * counts.quads; }

    /* Tiles: one of 128 x 128 results, and 512 columns of it; at most, as columns are cut.  From an H200: 45 and 7 ns. */
    uint64_t tiles_cost() const
    {
        constexpr uint64_t tile_cost = 46000, step_cost = 7100;
        uint64_t down = uint64_t(tile_rows(product->mask->nrows) / masked_tile_side);
        uint64_t across = uint64_t(tile_rows(product->mask->ncols) / masked_tile_side), tiles = q.mirrored ? down * (down + 1) / 2 : down * across;
        return tiles * (tile_cost + uint64_t((quads_of_list() + 3) / 4) * step_cost);
    }

    bool tiles_pay(const plan_counts &counts) const
    {
        return rule.bits == BITS_IN_TILES || (rule.bits == BITS_WHERE_THEY_PAY && tiles_cost() < pairs_cost(counts));
    }

    /* No more memory than records take; 16 MB where they are asked for. */
    bool bits_pay(const plan_counts &counts) const
    {
        const int64_t room = rule.bits == BITS_WHERE_THEY_PAY ? int64_t(entries()) : 1 << 20;
        if (rule.bits == NO_BITS || plan->positions || rows_of_bits() * quads_of_list() > room)
            return false;
        return rule.bits != BITS_WHERE_THEY_PAY || (tiles_pay(counts) ? tiles_cost() : pairs_cost(counts)) < counts.walked;
    }

    tsr_status make_bits(bool tiles) const
    {
        const tsr_cuda_csr *a = product->a, *b = product->b;
        Arena arena(stream);
        const int64_t quads = quads_of_list();
        uint4 *bits;
        uint2 *spans;
        uint32_t *rows = nullptr;
        arena.want(&bits, rows_of_bits() * quads);
        arena.want(&spans, a->nrows + b->nrows);
        if (!tiles)
            arena.want(&rows, entries());
        tsr_status status = arena.get();
        if (status != TSR_OK)
            return status;
        plan->bytes = arena.size();
        plan->memory = arena.keep();
        plan->bits = bits;
        plan->spans = spans;
        plan->rows = rows;
        status = tsr_cuda_set(bits, 0, size_t(rows_of_bits() * quads) * sizeof *bits, stream);
        if (status != TSR_OK)
            return status;
        TSR_LAUNCH(set_bits, blocks_for(a->nrows * 32), threads, 0, stream, a->p, a->i, a->nrows, uint32_t(quads),
            reinterpret_cast<uint32_t *>(bits), spans);
        if (!q.mirrored)
            TSR_LAUNCH(set_bits, blocks_for(b->nrows * 32), threads, 0, stream, b->p, b->i, b->nrows, uint32_t(quads),
                reinterpret_cast<uint32_t *>(bits + tile_rows(a->nrows) * quads), spans + a->nrows);
        if (!tiles)
            TSR_LAUNCH(find_rows, blocks_for(entries()), threads, 0, stream, q, rows);
        return launch_status();
    }

    tsr_status allocate(const plan_counts &counts) const
    {
        Arena arena(stream);
        masked_task *tasks;
        masked_record *records;
        masked_pair *pairs;
        uint32_t *mirrors = nullptr;
        int64_t ntasks = 0;
        for (int form = 0; form < MASKED_FORMS; form++)
            ntasks += int64_t(counts.tasks[form]);
        arena.want(&tasks, ntasks);
        arena.want(&records, int64_t(counts.grouped));
        arena.want(&pairs, int64_t(counts.pairs));
        if (q.mirrored)
            arena.want(&mirrors, int64_t(counts.grouped) + int64_t(counts.pairs));
        tsr_status status = arena.get();
        if (status != TSR_OK)
            return status;
        plan->bytes = arena.size();
        plan->memory = arena.keep();
        plan->tasks = tasks;
        plan->records = records;
        plan->pairs = pairs;
        plan->mirrors = mirrors;
        plan->nrecords = int64_t(counts.grouped);
        plan->npairs = int64_t(counts.pairs);
        for (int form = 0; form < MASKED_FORMS; form++)
            plan->ntasks[form] = int64_t(counts.tasks[form]);
        return TSR_OK;
    }

    /* The arrays of entries serve for tasks afterwards: there are fewer. */
    tsr_status write(scratch s, int at) const
    {
        auto *records = static_cast<masked_record *>(plan->records);
        auto grouped = uint32_t(plan->nrecords), count = uint32_t(plan->nrecords + plan->npairs);
        if (count)
            TSR_LAUNCH(write_records, blocks_for(count), threads, 0, stream, q, rule, s.keys[at], s.entries[at], grouped, count,
                records, static_cast<masked_pair *>(plan->pairs), static_cast<uint32_t *>(plan->mirrors), s.first, s.last);
        tsr_status status = launch_status();
        return status == TSR_OK && plan->nrecords ? write_ordered(s, records) : status;
    }

    tsr_status write_ordered(const scratch &s, const masked_record *records) const
    {
        int64_t n = 0;
        for (int64_t of_form : plan->ntasks)
            n += of_form;
        Arena arena(stream);
        masked_task *tasks;
        uint32_t *keys[2], *numbers[2];
        char *sort;
        arena.want(&tasks, n);
        for (int k = 0; k < 2; k++) {
            arena.want(&keys[k], n);
            arena.want(&numbers[k], n);
        }
        arena.want(&sort, int64_t(tsr_cuda_sort_bytes(n, 4, 32)));
        tsr_status status = arena.get();
        if (status != TSR_OK)
            return status;
        TSR_LAUNCH(write_tasks, blocks_for(rule.owners), threads, 0, stream, q, rule, s.cost, records, s.first, s.last, tasks, keys[0],
            numbers[0], s.counts);
        int at = 0;
        void *payloads[2] = { numbers[0], numbers[1] };
        status = tsr_cuda_sort_pairs(keys, payloads, 4, n, 32, &at, sort, stream);
        if (status != TSR_OK)
            return status;
        TSR_LAUNCH(order_tasks, blocks_for(n), threads, 0, stream, tasks, numbers[at], uint32_t(n), static_cast<masked_task *>(plan->tasks));
        return launch_status();
    }

    tsr_status make() const
    {
        int64_t n = entries();
        Arena arena(stream);
        scratch s;
        for (int k = 0; k < 2; k++) {
            arena.want(&s.keys[k], n);
            arena.want(&s.entries[k], n);
        }
        arena.want(&s.first, rule.owners);
        arena.want(&s.last, rule.owners);
        arena.want(&s.cost, rule.owners);
        arena.want(&s.counts, 1);
        arena.want(&s.sort, int64_t(tsr_cuda_sort_bytes(n, 4, 32)));
        tsr_status status = arena.get();
        if (status != TSR_OK)
            return status;
        plan_counts counts;
        int at = 0;
        status = measure(s, &counts);
        bool bits = status == TSR_OK && bits_pay(counts);
        if (status == TSR_OK)
            status = bits ? make_bits(tiles_pay(counts)) : allocate(counts);
        void *payloads[2] = { s.entries[0], s.entries[1] };
        if (status == TSR_OK && !bits)
            status = tsr_cuda_sort_pairs(s.keys, payloads, 4, n, bits_of(rule.search_key + 1), &at, s.sort, stream);
        if (status == TSR_OK && !bits)
            status = write(s, at);
        return status == TSR_OK ? tsr_cuda_wait(stream) : status;
    }
};

/* variant: 0; lists as bits where 16 MB have room for them, -1: for pairs, -2: for tiles; or log2 of a warp's least cost, a task's most (both 0: as
 * usual), a bitmap's least and a table's least, two decimal digits each, and no lists as bits. */
plan_rule rule_of(const tsr_cuda_masked *q, bool positions, int variant)
{
    plan_rule rule = {};
    rule.bits = variant == 0 ? BITS_WHERE_THEY_PAY : variant == -1 ? BITS_IN_PAIRS : variant == -2 ? BITS_IN_TILES : NO_BITS;
    variant = variant > 0 ? variant : 0;
    int warp = variant / 1000000, most = variant / 10000 % 100, bitmap = variant ? variant / 100 % 100 : 14;
    int table = variant ? variant % 100 : 9;
    rule.bitmap_cost = uint64_t(1) << bitmap;
    rule.table_cost = uint64_t(1) << table;
    rule.warp_cost = uint64_t(1) << (warp ? warp : 8);
    rule.most = uint64_t(1) << (most ? most : 19);
    bool fits = bitmap_bytes(q->a->ncols, positions) + 1024 <= q->device->shared_bytes_block;
    rule.bitmap_list = !fits ? 0 : positions ? UINT16_MAX : UINT32_MAX;
    rule.large_list = large_slots(positions) / 2;
    rule.owners = uint32_t(q->mask->nrows + q->mask->ncols);
    rule.shift = rule.owners < 1u << (31 - length_bits) ? length_bits : 0;
    rule.search_key = rule.owners << rule.shift;
    return rule;
}

} // namespace

extern "C" tsr_status tsr_cuda_make_masked_plan(tsr_cuda_masked_plan *plan, const tsr_cuda_masked *product, bool positions,
    int variant)
{
    *plan = {};
    plan->begin = product->begin;
    plan->end = product->end;
    plan->positions = positions;
    if (product->mask->nrows + product->mask->ncols >= UINT32_MAX - 1 || product->end - product->begin >= UINT32_MAX ||
        product->a->ncols >= UINT32_MAX)
        return TSR_DECLINED;
    if (product->end == product->begin || product->a->nvals == 0 || product->b->nvals == 0)
        return TSR_OK;
    maker m = { plan, product, lists_of(product), rule_of(product, positions, variant), product->stream };
    m.q.mirrored = !positions && same_lists(product);
    tsr_status status = m.make();
    if (status != TSR_OK)
        tsr_cuda_free_masked_plan(plan, product->stream);
    return status;
}

extern "C" void tsr_cuda_free_masked_plan(tsr_cuda_masked_plan *plan, void *stream)
{
    tsr_cuda_free(plan->memory, stream);
    *plan = {};
}
