/* Cache of large freed blocks in front of the C library's allocator.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "src/graphblas/intercept/memory/block_cache.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "src/graphblas/intercept/memory/memory.h"
#include "src/graphblas/intercept/memory/pins.h"

#define HUGE_PAGE ((size_t) 2 << 20)
#define ALIGNMENT ((size_t) 4096)
#define UNLIKELY __attribute__((cold, noinline)) /* what every small call passes stays short */
/* Beyond the C library's largest threshold, so that such a block is a mapping of its own: advice to the kernel ends with it. */
#define OWN_MAPPING (((size_t) 32 << 20) + 1)
/* By then the faults in small pages that a block has saved cost as much as filling it with huge ones, which the host of a virtual machine
 * may still have to find: up to 2.5 ms for each MiB. */
enum { HUGE_AFTER = 8 };
enum { SIZES = 84, SMALL_EVENTS = 256 };

typedef struct kept {
    void *block;
    size_t bytes; /* usable */
    int size;     /* which of `sizes` */
    int64_t since;
} kept;

/* What happened to blocks of one size.  spare: freed and not asked for again, had all been kept; peak: the most of it, as far as it is
 * remembered; most: by how many it fell from there, so many are worth keeping. */
typedef struct history {
    int64_t spare, peak, most, kept;
    int64_t last; /* seconds */
} history;

/* How often a large block was served from here. */
typedef struct reuse {
    const void *block;
    int times;
} reuse;

/* ON: between GrB_init and GrB_finalize.  Without one of the others malloc and free have nothing to do here. */
enum { ON = 1, DEVICE = 2, ACTIVE = 4 };
static unsigned state;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static kept blocks[TSR_BLOCKS_MAX_COUNT];                 /* oldest first */
static history sizes[SIZES];
static reuse reuses[TSR_BLOCKS_MAX_COUNT]; /* the last ones */
static size_t next_reuse;
static size_t block_count, kept_bytes, small_bytes, limit_bytes, hit_count;
static int64_t last_product, last_aged;

static bool product_seen; /* since blocks were aged last; atomic, as */
static unsigned small_events;
static int64_t standing; /* seconds; tests */

static bool is_set(unsigned bits)
{
    return __atomic_load_n(&state, __ATOMIC_RELAXED) & bits;
}

static int64_t now(void)
{
    const int64_t told = __atomic_load_n(&standing, __ATOMIC_RELAXED);
    struct timespec t;
    if (told)
        return told;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (int64_t) t.tv_sec;
}

/* ---- sizes: four steps an octave, from 1 MiB on ---- */

/* The least size that holds so many bytes; SIZES: none does. */
static int size_for(size_t bytes)
{
    if (bytes <= TSR_BLOCKS_MIN)
        return 0;
    const int octave = 63 - __builtin_clzll(bytes - 1), step = (int) ((bytes - 1) >> (octave - 2)) & 3;
    const int size = (octave - 20) * 4 + step + 1;
    return size < SIZES ? size : SIZES;
}

static size_t bytes_of(int size)
{
    return (size_t) (5 + (size + 3) % 4) << (17 + (size + 3) / 4);
}

/* Of a block: the allocator may have added up to two pages. */
static int size_of(size_t usable)
{
    return size_for(usable - 2 * ALIGNMENT);
}

/* ---- what is kept; the mutex is held ---- */

static bool is_small(size_t bytes)
{
    return bytes < OWN_MAPPING;
}

static kept take_locked(size_t n)
{
    const kept taken = blocks[n];
    block_count--;
    kept_bytes -= taken.bytes;
    small_bytes -= is_small(taken.bytes) ? taken.bytes : 0;
    sizes[taken.size].kept--;
    memmove(&blocks[n], &blocks[n + 1], (block_count - n) * sizeof *blocks);
    return taken;
}

static void put_locked(kept k)
{
    blocks[block_count++] = k;
    kept_bytes += k.bytes;
    small_bytes += is_small(k.bytes) ? k.bytes : 0;
    sizes[k.size].kept++;
}

/* Small ones, which the kernel cannot take back, are an eighth of all. */
static bool has_room(size_t bytes)
{
    return block_count < TSR_BLOCKS_MAX_COUNT && kept_bytes + bytes <= limit_bytes && bytes <= limit_bytes / 2 &&
           (!is_small(bytes) || small_bytes + bytes <= limit_bytes / 8);
}

/* The newest of the size, the others may grow old; no block: none is kept. */
static kept find_locked(int size)
{
    for (size_t n = block_count; n-- > 0;)
        if (blocks[n].size == size) {
            hit_count++;
            return take_locked(n);
        }
    return (kept){0};
}

/* True: it would have been served, had all been kept. */
static bool count_request(history *h, int64_t time)
{
    h->last = time;
    if (h->spare == 0)
        return false;
    h->spare--;
    if (h->peak - h->spare > h->most)
        h->most = h->peak - h->spare;
    return true;
}

static void count_free(history *h, int64_t time)
{
    h->last = time;
    h->spare++;
    if (h->spare > h->peak)
        h->peak = h->spare;
}

/* A block of the size was kept in vain. */
static void count_old(history *h)
{
    h->most -= h->most > 0;
    if (h->peak > h->spare + h->most)
        h->peak = h->spare + h->most;
}

static bool is_old(int64_t since, int64_t time)
{
    return time - since >= TSR_BLOCKS_WHILE;
}

/* ---- large blocks that are used again; the mutex is held ---- */

static reuse *find_reuse(const void *block)
{
    for (size_t n = 0; n < TSR_BLOCKS_MAX_COUNT; n++)
        if (reuses[n].block == block)
            return &reuses[n];
    return NULL;
}

/* True: from now on huge pages pay. */
static bool count_reuse(const void *block)
{
    reuse *r = find_reuse(block);
    if (!r) {
        r = &reuses[next_reuse++ % TSR_BLOCKS_MAX_COUNT];
        *r = (reuse){.block = block};
    }
    return ++r->times == HUGE_AFTER;
}

static void forget_reuse(const void *block)
{
    reuse *r = find_reuse(block);
    if (r)
        *r = (reuse){0};
}

/* ---- giving back ---- */

static void give_back(void *block)
{
    if (is_set(DEVICE))
        tsr_pins_forget(block);
    free(block);
}

static void *drop_locked(size_t n)
{
    void *block = take_locked(n).block;
    forget_reuse(block);
    return block;
}

/* Takes what is to go; its number.  The mutex is held. */
static size_t take_old(int64_t time, void **victims)
{
    size_t count = 0;
    while (block_count && is_old(blocks[0].since, time)) {
        count_old(&sizes[blocks[0].size]);
        victims[count++] = drop_locked(0);
    }
    for (int n = 0; n < SIZES; n++)
        if (sizes[n].last && is_old(sizes[n].last, time))
            sizes[n] = (history){.kept = sizes[n].kept};
    return count;
}

static size_t take_all(void **victims)
{
    size_t count = 0;
    while (block_count)
        victims[count++] = drop_locked(block_count - 1);
    return count;
}

static void give_back_all(void *const *victims, size_t count)
{
    for (size_t n = 0; n < count; n++)
        give_back(victims[n]);
}

/* Nothing is kept and counted any more; the mutex is held. */
static size_t stop_locked(unsigned bits, void **victims)
{
    const size_t count = take_all(victims);
    __atomic_and_fetch(&state, ~bits, __ATOMIC_RELAXED);
    memset(sizes, 0, sizeof sizes);
    return count;
}

/* What nothing took for a while. */
static size_t age_locked(int64_t time, void **victims)
{
    if (time == last_aged)
        return 0;
    last_aged = time;
    if (__atomic_exchange_n(&product_seen, false, __ATOMIC_RELAXED))
        last_product = time;
    return is_old(last_product, time) ? stop_locked(ACTIVE, victims) : take_old(time, victims);
}

static void age(int64_t time)
{
    void *victims[TSR_BLOCKS_MAX_COUNT];
    pthread_mutex_lock(&mutex);
    const size_t count = age_locked(time, victims);
    pthread_mutex_unlock(&mutex);
    give_back_all(victims, count);
}

/* Also from time to time where only small blocks come and go: of those that go. */
static void count_small(void)
{
    if (!is_set(ACTIVE))
        return;
    const unsigned events = __atomic_load_n(&small_events, __ATOMIC_RELAXED) + 1; /* threads may lose some */
    __atomic_store_n(&small_events, events, __ATOMIC_RELAXED);
    if (events % SMALL_EVENTS == 0)
        age(now());
}

static void stop(unsigned bits)
{
    void *victims[TSR_BLOCKS_MAX_COUNT];
    pthread_mutex_lock(&mutex);
    const size_t count = stop_locked(bits, victims);
    pthread_mutex_unlock(&mutex);
    give_back_all(victims, count);
}

static void release_all(void)
{
    void *victims[TSR_BLOCKS_MAX_COUNT];
    pthread_mutex_lock(&mutex);
    const size_t count = take_all(victims);
    pthread_mutex_unlock(&mutex);
    give_back_all(victims, count);
}

/* ---- advice to the kernel: whole huge pages inside of the block ---- */

static void advise(void *block, size_t bytes, int advice)
{
    const uintptr_t begin = ((uintptr_t) block + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    const uintptr_t end = ((uintptr_t) block + bytes) & ~(HUGE_PAGE - 1);
    if (end > begin)
        (void) madvise((void *) begin, end - begin, advice);
}

/* The contents are lost. */
static void move_to_huge_pages(void *block, size_t bytes)
{
    advise(block, bytes, MADV_DONTNEED);
    advise(block, bytes, MADV_HUGEPAGE);
}

/* ---- malloc ---- */

static void *allocate(size_t bytes, bool align)
{
    void *block;
    if (!align)
        return malloc(bytes);
    return posix_memalign(&block, ALIGNMENT, bytes) == 0 ? block : NULL;
}

static void *surely(size_t bytes, bool align)
{
    void *block = allocate(bytes, align);
    if (block || !is_set(ACTIVE))
        return block;
    release_all();
    return allocate(bytes, align);
}

/* A kept block, or NULL.  *again: the fresh one will be used again. */
static void *ask(int size, bool *again)
{
    const int64_t time = now();
    void *victims[TSR_BLOCKS_MAX_COUNT];
    pthread_mutex_lock(&mutex);
    const size_t count = age_locked(time, victims);
    const bool active = is_set(ACTIVE);
    const bool wanted = active && count_request(&sizes[size], time);
    const kept found = wanted ? find_locked(size) : (kept){0};
    *again = wanted && !found.block && has_room(bytes_of(size));
    const bool due = found.block && !is_small(found.bytes) && count_reuse(found.block);
    pthread_mutex_unlock(&mutex);
    give_back_all(victims, count);
    if (due && !is_set(DEVICE))
        move_to_huge_pages(found.block, bytes_of(size));
    return found.block;
}

/* A block that may be kept some day has all the bytes of its size, which cost nothing until they are touched.  One that a device may
 * write will be page-locked, which is faster in huge pages. */
static void *fresh(size_t bytes, int size, bool align, bool again)
{
    const bool whole = (align || again) && size < SIZES && is_set(ACTIVE);
    const size_t all = whole ? bytes_of(size) : bytes;
    void *block = surely(all, align || again);
    if (block && again && !is_small(all) && is_set(DEVICE))
        advise(block, all, MADV_HUGEPAGE);
    return block;
}

static void *large(size_t bytes, bool align)
{
    const int size = size_for(bytes);
    bool again = false;
    void *block = size < SIZES && is_set(ACTIVE) ? ask(size, &again) : NULL;
    if (!block)
        block = fresh(bytes, size, align, again);
    if (block && is_set(DEVICE))
        tsr_pins_note(block, malloc_usable_size(block));
    return block;
}

static UNLIKELY void *cached_malloc(size_t bytes)
{
    if (bytes >= TSR_BLOCKS_MIN)
        return large(bytes, is_set(DEVICE));
    void *block = malloc(bytes);
    return block ? block : surely(bytes, false);
}

void *tsr_block_malloc(size_t bytes)
{
    return is_set(DEVICE | ACTIVE) ? cached_malloc(bytes) : malloc(bytes);
}

void *tsr_block_result(size_t bytes)
{
    return bytes >= TSR_BLOCKS_MIN && is_set(ON) ? large(bytes, true) : surely(bytes, false);
}

/* ---- realloc ---- */

static UNLIKELY void *cached_realloc(void *block, size_t bytes)
{
    const size_t before = block ? malloc_usable_size(block) : 0;
    if (before >= TSR_BLOCKS_MIN && is_set(DEVICE))
        tsr_pins_forget(block);
    void *moved = realloc(block, bytes);
    if (!moved && bytes) {
        release_all();
        moved = realloc(block, bytes);
    }
    if (moved && bytes >= TSR_BLOCKS_MIN && is_set(DEVICE))
        tsr_pins_note(moved, malloc_usable_size(moved));
    return moved;
}

void *tsr_block_realloc(void *block, size_t bytes)
{
    return is_set(DEVICE | ACTIVE) ? cached_realloc(block, bytes) : realloc(block, bytes);
}

/* ---- free ---- */

/* Is it worth keeping?  Blocks that are not aligned are the program's, or were not expected to be used again. */
static bool is_wanted(const void *block, size_t bytes, int size)
{
    return is_set(ACTIVE) && sizes[size].kept < sizes[size].most && (uintptr_t) block % ALIGNMENT == 0 && bytes >= bytes_of(size) &&
           has_room(bytes);
}

static bool count_freed(const void *block, size_t bytes, int size, int64_t time)
{
    void *victims[TSR_BLOCKS_MAX_COUNT];
    pthread_mutex_lock(&mutex);
    const size_t count = age_locked(time, victims);
    if (is_set(ACTIVE))
        count_free(&sizes[size], time);
    const bool wanted = is_wanted(block, bytes, size);
    if (!wanted && !is_small(bytes))
        forget_reuse(block);
    pthread_mutex_unlock(&mutex);
    give_back_all(victims, count);
    return wanted;
}

/* The kernel may have the pages of a large block while it lies here, before it looks for memory elsewhere; not those that a device
 * may write. */
static bool keep(void *block, size_t bytes, int size, int64_t time)
{
    if (!is_small(bytes) && !is_set(DEVICE))
        advise(block, bytes, MADV_FREE);
    pthread_mutex_lock(&mutex);
    const bool wanted = is_wanted(block, bytes, size);
    if (wanted)
        put_locked((kept){block, bytes, size, time});
    pthread_mutex_unlock(&mutex);
    return wanted;
}

static bool may_keep(void)
{
    const bool limited = tsr_memory_is_limited();
    if (limited)
        stop(ACTIVE);
    return !limited;
}

static void free_large(void *block, size_t bytes)
{
    const int size = size_of(bytes);
    const int64_t time = now();
    const bool wanted = size < SIZES && is_set(ACTIVE) && count_freed(block, bytes, size, time) && may_keep();
    if (!wanted || !keep(block, bytes, size, time))
        give_back(block);
}

static UNLIKELY void cached_free(void *block)
{
    const size_t bytes = block ? malloc_usable_size(block) : 0;
    if (bytes >= TSR_BLOCKS_MIN) {
        free_large(block, bytes);
        return;
    }
    free(block);
    count_small();
}

void tsr_block_free(void *block)
{
    if (is_set(DEVICE | ACTIVE))
        cached_free(block);
    else
        free(block);
}

/* ---- which functions ---- */

/* A data pointer holds a function pointer here, as it does in the API. */
typedef union function {
    void *value;
    void *(*malloc)(size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
} function;

void tsr_blocks_hide(void *value)
{
    static const function ours[] = {{.malloc = tsr_block_malloc}, {.realloc = tsr_block_realloc}, {.free = tsr_block_free}};
    static const function plain[] = {{.malloc = malloc}, {.realloc = realloc}, {.free = free}};
    for (size_t n = 0; value && n < 3; n++)
        if (memcmp(value, &ours[n], sizeof ours[n]) == 0) {
            memcpy(value, &plain[n], sizeof plain[n]);
            return;
        }
}

/* NULL: nobody knows. */
static const void *object_of(const char *name)
{
    Dl_info info;
    void *address = dlsym(RTLD_DEFAULT, name);
    return address && dladdr(address, &info) ? info.dli_fbase : NULL;
}

bool tsr_blocks_possible(void)
{
    static const char *const others[] = {"free", "calloc", "realloc", "posix_memalign", "malloc_usable_size"};
    const void *object = object_of("malloc");
    for (size_t n = 0; object && n < sizeof others / sizeof *others; n++)
        if (object_of(others[n]) != object)
            return false;
    return object;
}

/* ---- on and off ---- */

static size_t default_limit(void)
{
    const size_t eighth = tsr_memory_most() / 8, most = (size_t) 4 << 30; /* two results of 2 GiB */
    return eighth < most ? eighth : most;
}

void tsr_blocks_enable(bool device)
{
    __atomic_store_n(&state, ON | (device ? DEVICE : 0), __ATOMIC_RELAXED);
}

void tsr_blocks_no_device(void)
{
    if (!is_set(DEVICE))
        return;
    tsr_pins_clear(true);
    __atomic_and_fetch(&state, ~(unsigned) DEVICE, __ATOMIC_RELAXED);
}

static void begin(void)
{
    if (tsr_memory_is_limited())
        return;
    const size_t limit = default_limit();
    pthread_mutex_lock(&mutex);
    if (!limit_bytes)
        limit_bytes = limit;
    last_product = last_aged = now();
    if (is_set(ON))
        __atomic_or_fetch(&state, ACTIVE, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&mutex);
}

void tsr_blocks_product(size_t bytes)
{
    if (bytes < TSR_BLOCKS_MIN || !is_set(ON))
        return;
    if (!is_set(ACTIVE))
        begin();
    else if (!__atomic_load_n(&product_seen, __ATOMIC_RELAXED))
        __atomic_store_n(&product_seen, true, __ATOMIC_RELAXED);
}

static void drain(bool unlock)
{
    tsr_pins_clear(unlock);
    stop(ON | DEVICE | ACTIVE);
}

/* Also at exit, so that leak checkers see no block of ours. */
__attribute__((destructor)) static void drain_at_exit(void)
{
    if (is_set(ON))
        drain(false);
}

void tsr_blocks_drain(void)
{
    drain(true);
}

void tsr_blocks_disable(void)
{
    __atomic_store_n(&state, 0, __ATOMIC_RELAXED);
}

void tsr_blocks_set_limit(size_t bytes)
{
    pthread_mutex_lock(&mutex);
    limit_bytes = bytes;
    pthread_mutex_unlock(&mutex);
}

void tsr_blocks_set_clock(int64_t seconds)
{
    __atomic_store_n(&standing, seconds, __ATOMIC_RELAXED);
}

tsr_blocks_stats tsr_blocks_get_stats(void)
{
    pthread_mutex_lock(&mutex);
    const tsr_blocks_stats stats = {kept_bytes, block_count, limit_bytes, hit_count};
    pthread_mutex_unlock(&mutex);
    return stats;
}
