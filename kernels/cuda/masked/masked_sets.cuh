// What the kernels of masked products share: sets of columns in shared memory, the walk over a list, results, launches.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/common/mask.cuh"
#include "kernels/cuda/masked/masked_plan.cuh"

// ---- Results ----

/* What n >= 1 equal products make. */
struct masked_result {
    enum { INTEGER, FP32, FP64, ONE } kind; /* ONE: one product is the result */
    int size;
    uint64_t product; /* bits */

    __device__ __forceinline__ void store(void *x, uint32_t at, uint32_t n) const
    {
        if (kind == FP32) {
            static_cast<float *>(x)[at] = float(double(__uint_as_float(uint32_t(product))) * double(n));
            return;
        }
        if (kind == FP64) {
            static_cast<double *>(x)[at] = __longlong_as_double((long long)(product)) * double(n);
            return;
        }
        uint64_t bits = kind == INTEGER ? product * n : product;
        switch (size) {
        case 1: static_cast<uint8_t *>(x)[at] = uint8_t(bits); break;
        case 2: static_cast<uint16_t *>(x)[at] = uint16_t(bits); break;
        case 4: static_cast<uint32_t *>(x)[at] = uint32_t(bits); break;
        default: static_cast<uint64_t *>(x)[at] = bits; break;
        }
    }
};

struct masked_args {
    masked_lists lists;
    const masked_task *tasks;
    uint32_t ntasks, *queue;
    const masked_record *records;
    const masked_pair *pairs;
    int64_t npairs;
    masked_bits bits;
    /* beside records and pairs: the entry that has the same result, or the same entry; NULL: none */
    const uint32_t *mirrors, *pair_mirrors;
    uint32_t words, slots; /* of a bitmap, of a table (a power of two) */
    int hash_shift;
    const void *mask;
    int mask_size;
    masked_result result;
    void *x;
    int8_t *present;
    uint64_t *products;
    const void *ax, *bx; /* NULL: iso */
    uint64_t a_iso, b_iso;
    int add, mul;
};

__device__ __forceinline__ bool passes(const masked_args &q, uint32_t entry) { return mask_passes(q.mask, q.mask_size, entry); }

/* An entry has so many products.  Returns what it adds to their number. */
__device__ __forceinline__ uint64_t store_one(const masked_args &q, uint32_t entry, uint32_t count)
{
    if (count == 0)
        return 0;
    if (q.x)
        q.result.store(q.x, entry, count);
    if (q.present)
        q.present[entry] = 1;
    return count;
}

/* Sum over groups of G lanes; every lane of the warp takes part. */
template <int G, class T> __device__ __forceinline__ T add_lanes(T x)
{
#pragma unroll
    for (int by = G / 2; by > 0; by /= 2)
        x += __shfl_xor_sync(~0u, x, by);
    return x;
}

/* Integers: the order does not matter. */
__device__ __forceinline__ void add_products(const masked_args &q, uint64_t sum)
{
    if (!q.products)
        return;
    sum = add_lanes<32>(sum);
    if (threadIdx.x % 32 == 0 && sum)
        atomicAdd(reinterpret_cast<unsigned long long *>(q.products), (unsigned long long)sum);
}

// ---- Walks ----

__device__ __forceinline__ int64_t record_place(const masked_task &task, uint32_t k)
{
    return task.first + int64_t(k) * task.stride;
}

__device__ __forceinline__ masked_record record_at(const masked_args &q, const masked_task &task, uint32_t k)
{
    masked_record record = {};
    if (k < task.count) {
        uint4 bits = __ldcs(reinterpret_cast<const uint4 *>(q.records + record_place(task, k)));
        memcpy(&record, &bits, sizeof record);
    }
    return record;
}

/* A list as `head` ids, vectors of four at multiples of 16 bytes, and the rest; head and rest are the loose ones, at most six. */
struct walk_shape {
    uint32_t head, vectors, rest;
    int loose;
    __device__ __forceinline__ uint32_t loose_place(int l) const
    {
        return uint32_t(l) < head ? uint32_t(l) : uint32_t(l) + 4 * vectors;
    }
};

__device__ __forceinline__ walk_shape shape_of(const uint32_t *ids, uint32_t length)
{
    uint32_t head = uint32_t(0 - reinterpret_cast<uintptr_t>(ids) / 4) & 3;
    walk_shape shape;
    shape.head = head < length ? head : length;
    shape.vectors = (length - shape.head) / 4;
    shape.rest = (length - shape.head) % 4;
    shape.loose = int(shape.head + shape.rest);
    return shape;
}

/* That walk an entry's list.  Where longer ones have groups, what counts is how many are walked at a time. */
template <bool Planned> constexpr int pair_lanes = Planned ? 2 : 8;

/* An entry and its lists; none of them (walked == 0) when the mask is false (with mirrors that is seen later).  Without a plan they are
 * whole rows of A and B'. */
template <bool Planned> __device__ __forceinline__ masked_pair pair_at(const masked_args &q, int64_t at)
{
    masked_pair pair = {};
    if (at >= q.npairs)
        return pair;
    if constexpr (Planned) {
        const uint4 *from = reinterpret_cast<const uint4 *>(q.pairs + at);
        const uint4 bits[2] = { __ldcs(from), __ldcs(from + 1) };
        memcpy(&pair, bits, sizeof pair);
        if (!q.pair_mirrors && !passes(q, pair.entry))
            pair.walked = 0;
        return pair;
    }
    int64_t row = row_with(q.lists.mp, q.lists.nrows, q.lists.begin + at);
    pair.entry = uint32_t(at);
    if (!passes(q, pair.entry))
        return pair;
    uint32_t col = __ldg(q.lists.mi + q.lists.begin + at);
    int64_t a = __ldg(q.lists.ap + row), b = __ldg(q.lists.bp + col);
    int64_t a_length = __ldg(q.lists.ap + row + 1) - a, b_length = __ldg(q.lists.bp + col + 1) - b;
    pair.owner_is_b = b_length > a_length;
    pair.walker = pair.owner_is_b ? a : b;
    pair.owner = pair.owner_is_b ? b : a;
    pair.walked = uint32_t(pair.owner_is_b ? a_length : b_length);
    pair.owned = uint32_t(pair.owner_is_b ? b_length : a_length);
    return pair;
}

__device__ __forceinline__ const uint32_t *walker_of(const masked_args &q, const masked_pair &pair)
{
    return (pair.owner_is_b ? q.lists.ai : q.lists.bi) + pair.walker;
}
__device__ __forceinline__ const uint32_t *owner_of(const masked_args &q, const masked_pair &pair)
{
    return (pair.owner_is_b ? q.lists.bi : q.lists.ai) + pair.owner;
}

// ---- Sets: where is a column in the owner's list, if at all? ----

constexpr uint32_t nowhere = ~0u;

/* The list itself; not empty. */
struct search_set {
    const uint32_t *list;
    uint32_t length;
    __device__ __forceinline__ uint32_t find(uint32_t id) const
    {
        uint32_t low = 0, n = length;
        while (n > 1) {
            uint32_t half = n / 2;
            if (__ldg(list + low + half) <= id)
                low += half;
            n -= half;
        }
        return __ldg(list + low) == id ? low : nowhere;
    }
    __device__ __forceinline__ bool has(uint32_t id) const { return find(id) != nowhere; }
};

/* The threads that share a set: a block, or a warp. */
struct team {
    uint32_t rank, size;
};

/* f(column, place) for the columns of a list, eight of a thread fetched together. */
template <class F> __device__ __forceinline__ void for_list(team us, const uint32_t *list, uint32_t length, F f)
{
    constexpr uint32_t each = 8;
#pragma unroll 1
    for (uint32_t k = us.rank; k < length; k += each * us.size) {
        uint32_t id[each];
#pragma unroll
        for (uint32_t n = 0; n < each; n++)
            id[n] = __ldg(list + min(k + n * us.size, length - 1));
#pragma unroll
        for (uint32_t n = 0; n < each; n++)
            if (k + n * us.size < length)
                f(id[n], k + n * us.size);
    }
}

/* A bit per column. */
struct bitmap_set {
    uint32_t *words, nwords;
    team us;
    __device__ __forceinline__ bitmap_set(unsigned char *memory, const masked_args &q, team threads)
        : words(reinterpret_cast<uint32_t *>(memory)), nwords(q.words), us(threads)
    {
    }
    __device__ __forceinline__ void begin()
    {
        for (uint32_t w = us.rank; w < nwords / 4; w += us.size)
            reinterpret_cast<uint4 *>(words)[w] = { 0, 0, 0, 0 };
        if (us.rank < nwords % 4)
            words[nwords - 1 - us.rank] = 0;
    }
    __device__ __forceinline__ void insert(const uint32_t *list, uint32_t length)
    {
        for_list(us, list, length, [&](uint32_t id, uint32_t) { atomicOr(words + id / 32, 1u << id % 32); });
    }
    __device__ __forceinline__ void clear(const uint32_t *list, uint32_t length)
    {
        if (length > nwords / 8)
            begin();
        else
            for_list(us, list, length, [&](uint32_t id, uint32_t) { words[id / 32] = 0; });
    }
    __device__ __forceinline__ uint32_t has(uint32_t id) const { return __funnelshift_r(words[id / 32], 0, id) & 1; }
};

/* The same, and beside each word the place of its first column.  Lists of fewer than 2^16. */
struct ranked_set : bitmap_set {
    uint16_t *places;
    __device__ __forceinline__ ranked_set(unsigned char *memory, const masked_args &q, team threads)
        : bitmap_set(memory, q, threads), places(reinterpret_cast<uint16_t *>(memory + 4 * size_t(q.words)))
    {
    }
    __device__ __forceinline__ void insert(const uint32_t *list, uint32_t length)
    {
        for_list(us, list, length, [&](uint32_t id, uint32_t k) {
            atomicOr(words + id / 32, 1u << id % 32);
            if (k == 0 || __ldg(list + k - 1) / 32 != id / 32)
                places[id / 32] = uint16_t(k);
        });
    }
    __device__ __forceinline__ uint32_t find(uint32_t id) const
    {
        uint32_t word = words[id / 32], bit = 1u << id % 32;
        return word & bit ? places[id / 32] + uint32_t(__popc(word & (bit - 1))) : nowhere;
    }
};

/* A hash table with open addressing, at most half full. */
struct table_set {
    uint32_t *keys, slots;
    int shift;
    team us;
    __device__ __forceinline__ table_set(unsigned char *memory, const masked_args &q, team threads)
        : keys(reinterpret_cast<uint32_t *>(memory)), slots(q.slots), shift(q.hash_shift), us(threads)
    {
    }
    __device__ __forceinline__ uint32_t slot_of(uint32_t id) const { return id * 2654435769u >> shift; }
    __device__ __forceinline__ void begin()
    {
        for (uint32_t s = us.rank; s < slots / 4; s += us.size)
            reinterpret_cast<uint4 *>(keys)[s] = { table_empty, table_empty, table_empty, table_empty };
    }
    __device__ __forceinline__ void clear(const uint32_t *, uint32_t) { begin(); }
    __device__ __forceinline__ uint32_t put(uint32_t id)
    {
        uint32_t s = slot_of(id);
        while (atomicCAS(keys + s, table_empty, id) != table_empty)
            s = (s + 1) & (slots - 1);
        return s;
    }
    __device__ __forceinline__ void insert(const uint32_t *list, uint32_t length)
    {
        for_list(us, list, length, [&](uint32_t id, uint32_t) { put(id); });
    }
    __device__ __forceinline__ uint32_t slot_with(uint32_t id) const
    {
        uint32_t s = slot_of(id), key;
        while ((key = keys[s]) != id && key != table_empty)
            s = (s + 1) & (slots - 1);
        return key == id ? s : nowhere;
    }
    __device__ __forceinline__ bool has(uint32_t id) const { return slot_with(id) != nowhere; }
};

/* The same with places. */
struct placed_table_set : table_set {
    uint32_t *places;
    __device__ __forceinline__ placed_table_set(unsigned char *memory, const masked_args &q, team threads)
        : table_set(memory, q, threads), places(keys + q.slots)
    {
    }
    __device__ __forceinline__ void insert(const uint32_t *list, uint32_t length)
    {
        for_list(us, list, length, [&](uint32_t id, uint32_t k) { places[put(id)] = k; });
    }
    __device__ __forceinline__ uint32_t find(uint32_t id) const
    {
        uint32_t s = slot_with(id);
        return s == nowhere ? nowhere : places[s];
    }
};

// ---- Tasks ----

__device__ __forceinline__ const uint32_t *owner_list(const masked_args &q, const masked_task &task)
{
    return (task.owner_is_b ? q.lists.bi : q.lists.ai) + task.list;
}

/* Blocks take tasks from the queue: f(task) with the owner's list in the set. */
template <class Set, class F> __device__ __forceinline__ void for_queued(const masked_args &q, Set &set, F f)
{
    __shared__ uint32_t turns[2];
    set.begin();
    if (threadIdx.x == 0)
        turns[0] = atomicAdd(q.queue, 1u);
    __syncthreads();
    for (int now = 0; turns[now] < q.ntasks; now = 1 - now) {
        masked_task task = q.tasks[turns[now]];
        if (threadIdx.x == 0) /* in time for the next task */
            turns[1 - now] = atomicAdd(q.queue, 1u);
        const uint32_t *list = owner_list(q, task);
        set.insert(list, task.list_length);
        __syncthreads();
        f(task);
        __syncthreads();
        set.clear(list, task.list_length);
        __syncthreads();
    }
}

/* A task for each warp: f(task, set), the set with slots of slot_bytes. */
template <class Set, class F> __device__ __forceinline__ void for_own(const masked_args &q, int slot_bytes, F f)
{
    uint32_t warp = threadIdx.x / 32, at = blockIdx.x * (warp_threads / 32) + warp;
    if (at >= q.ntasks)
        return;
    masked_task task = q.tasks[at];
    Set set(dynamic_shared() + size_t(warp) * warp_slots * size_t(slot_bytes), q, { threadIdx.x % 32, 32 });
    set.begin();
    __syncwarp();
    set.insert(owner_list(q, task), task.list_length);
    __syncwarp();
    f(task, set);
}

// ---- Launches ----

/* The kinds of kernels; outputs are zero before. */
tsr_status tsr_cuda_masked_count(masked_args q, const tsr_cuda_masked_plan *plan, const tsr_cuda_masked *product);
tsr_status tsr_cuda_masked_tiles(const masked_args &q, const tsr_cuda_masked *product, bool same); /* counts; lists are bits */
tsr_status tsr_cuda_masked_fold(masked_args q, const tsr_cuda_masked_plan *plan, const tsr_cuda_masked *product);

/* The tasks of one form, or false. */
static inline bool take_tasks(masked_args *q, const tsr_cuda_masked_plan *plan, int form)
{
    int64_t first = 0;
    for (int k = 0; k < form; k++)
        first += plan->ntasks[k];
    q->tasks = static_cast<const masked_task *>(plan->tasks) + first;
    q->ntasks = uint32_t(plan->ntasks[form]);
    return q->ntasks > 0;
}

static inline void set_slots(masked_args *q, uint32_t slots)
{
    q->slots = slots;
    q->hash_shift = 32;
    for (; slots > 1; slots /= 2)
        q->hash_shift--;
}

/* A warp for every task: the device takes blocks in order, and tasks are ordered by cost. */
template <class Kernel> static tsr_status launch_warps(Kernel kernel, masked_args q, bool positions, void *stream)
{
    constexpr uint32_t warps = warp_threads / 32;
    set_slots(&q, warp_slots);
    size_t shared = size_t(warps) * warp_slots * (positions ? 8 : 4);
    TSR_LAUNCH(kernel, (q.ntasks + warps - 1) / warps, warp_threads, shared, stream, q);
    return launch_status();
}

/* As many blocks as fit on the device at once; each form has a queue of its own. */
template <class Kernel>
static tsr_status launch_form(Kernel kernel, masked_args q, int form, bool positions, const tsr_cuda_masked *product)
{
    const tsr_cuda_device *device = product->device;
    int64_t ncols = product->a->ncols;
    q.words = uint32_t((ncols + 31) / 32);
    set_slots(&q, form == MASKED_TABLE ? small_slots : large_slots(positions));
    size_t shared = form == MASKED_BITMAP ? bitmap_bytes(ncols, positions) : size_t(q.slots) * (positions ? 8 : 4);
    size_t per_sm = device->shared_bytes_sm / (shared + 1024 + 128), most = form == MASKED_TABLE ? 16 : 8;
    per_sm = per_sm < 1 ? 1 : per_sm < most ? per_sm : most;
    unsigned threads = small_threads;
    while (form != MASKED_TABLE && threads < 1024 && threads * 2 * per_sm <= 2048)
        threads *= 2;
    int64_t blocks = int64_t(per_sm) * device->sms;
    if (blocks > q.ntasks)
        blocks = q.ntasks;
    q.queue += form;
    if (!allow_shared(kernel, shared))
        return TSR_INTERNAL_ERROR;
    TSR_LAUNCH(kernel, unsigned(blocks), threads, shared, product->stream, q);
    return launch_status();
}

static inline unsigned pair_blocks(const masked_args &q, const tsr_cuda_masked *product)
{
    int64_t wanted = (q.npairs + 31) / 32, most = int64_t(product->device->sms) * 8;
    return unsigned(wanted < most ? wanted : most);
}
