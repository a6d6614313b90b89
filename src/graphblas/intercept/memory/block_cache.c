/* Cache of large freed blocks in front of the C library's allocator.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "src/graphblas/intercept/memory/block_cache.h"
#include "src/graphblas/intercept/memory/huge_pages.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "src/base/loaded.h"
#include "src/graphblas/intercept/memory/heap_top.h"
#include "src/graphblas/intercept/memory/memory.h"
#include "src/graphblas/intercept/memory/pins.h"

#define UNLIKELY __attribute__((cold, noinline)) /* what every small call passes stays short */
enum { SMALL_EVENTS = 256 };

/* ON: between GrB_init and GrB_finalize.  Without DEVICE or ACTIVE malloc and free have nothing to do here.  USED: the device computes products. */
enum { ON = 1, DEVICE = 2, ACTIVE = 4, USED = 8 };
static unsigned state;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards what is kept, and */
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

/* ---- giving back ---- */

static void give_back(void *block)
{
    if (is_set(DEVICE))
        tsr_pins_forget(block);
    free(block);
}

static void give_back_all(void *const *victims, size_t count)
{
    for (size_t n = 0; n < count; n++)
        give_back(victims[n]);
}

/* Nothing is kept and counted any more; the mutex is held. */
static size_t stop_locked(unsigned bits, void **victims)
{
    const size_t count = tsr_kept_take_all(victims);
    __atomic_and_fetch(&state, ~bits, __ATOMIC_RELAXED);
    tsr_kept_forget_counts();
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
    return tsr_kept_is_old(last_product, time) ? stop_locked(ACTIVE, victims) : tsr_kept_take_old(time, victims);
}

static UNLIKELY void age(int64_t time)
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
    const size_t count = tsr_kept_take_all(victims);
    pthread_mutex_unlock(&mutex);
    give_back_all(victims, count);
}

/* ---- malloc ---- */

static void *allocate(size_t bytes, bool align)
{
    void *block;
    if (!align)
        return malloc(bytes);
    return posix_memalign(&block, TSR_BLOCK_ALIGNMENT, bytes) == 0 ? block : NULL;
}

static UNLIKELY void *surely(size_t bytes, bool align)
{
    void *block = allocate(bytes, align);
    if (block || !is_set(ACTIVE))
        return block;
    release_all();
    return allocate(bytes, align);
}

/* Small blocks get no advice: it would outlive them in the C library's heap. */
static void move_to_huge_pages(tsr_kept_block found)
{
    if (tsr_block_is_small(found.bytes))
        (void)tsr_huge_collapse(found.block, found.bytes);
    else
        tsr_huge_move(found.block, tsr_block_bytes(found.size));
}

/* A kept block, or NULL.  *again: the fresh one will be used again. */
static void *ask(int size, bool *again)
{
    const int64_t time = now();
    void *victims[TSR_BLOCKS_MAX_COUNT];
    pthread_mutex_lock(&mutex);
    const size_t count = age_locked(time, victims);
    const bool active = is_set(ACTIVE);
    const bool wanted = active && tsr_kept_count_request(size, time);
    const tsr_kept_block found = wanted ? tsr_kept_take(size) : (tsr_kept_block){0};
    *again = wanted && !found.block && tsr_kept_has_room(tsr_block_bytes(size));
    const bool due = found.block && tsr_kept_count_reuse(found.block, found.bytes);
    pthread_mutex_unlock(&mutex);
    give_back_all(victims, count);
    if (due && !is_set(DEVICE))
        move_to_huge_pages(found);
    return found.block;
}

/* What a block is for: ALIGNED: a device may read or write it; RESULT: all of it is written soon. */
typedef enum use { ANY, ALIGNED, RESULT } use;

/* Threads that take large results out of staging memory are done with huge pages twice as soon; page-locking is faster, too. */
static bool wants_huge_pages(size_t bytes, use of, bool again)
{
    return !tsr_block_is_small(bytes) && is_set(DEVICE) && (again || (of == RESULT && is_set(USED)));
}

/* A block that may be kept some day has all the bytes of its size, which cost nothing until they are touched. */
static void *fresh(size_t bytes, int size, use of, bool again)
{
    const bool align = of != ANY || again, whole = align && size < TSR_BLOCK_SIZES && is_set(ACTIVE);
    const size_t all = whole ? tsr_block_bytes(size) : bytes;
    void *block = surely(all, align);
    if (block && wants_huge_pages(all, of, again))
        tsr_huge_advise(block, all, MADV_HUGEPAGE);
    return block;
}

static UNLIKELY void *large(size_t bytes, use of)
{
    const int size = tsr_block_size_for(bytes);
    bool again = false;
    void *block = size < TSR_BLOCK_SIZES && is_set(ACTIVE) ? ask(size, &again) : NULL;
    if (!block)
        block = fresh(bytes, size, of, again);
    if (block && is_set(DEVICE))
        tsr_pins_note(block, malloc_usable_size(block));
    return block;
}

/* Before the device is used only mappings are aligned: in the C library's heap an aligned block seldom fits where the last one was, so each would touch
 * new pages. */
static bool is_for_device(size_t bytes)
{
    return is_set(DEVICE) && (!tsr_block_is_small(bytes) || is_set(USED));
}

static UNLIKELY void *cached_malloc(size_t bytes)
{
    if (bytes >= TSR_BLOCKS_MIN)
        return large(bytes, is_for_device(bytes) ? ALIGNED : ANY);
    void *block = malloc(bytes);
    return block ? block : surely(bytes, false);
}

void *tsr_block_malloc(size_t bytes)
{
    void *block = is_set(DEVICE | ACTIVE) ? cached_malloc(bytes) : malloc(bytes);
    if (bytes >= TSR_HEAP_TOP_LEAST && block)
        tsr_heap_top_observe(block, bytes);
    return block;
}

void *tsr_block_result(size_t bytes)
{
    return bytes >= TSR_BLOCKS_MIN && (is_set(ACTIVE) || is_for_device(bytes)) ? large(bytes, RESULT) : surely(bytes, false);
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
    return is_set(ACTIVE) && tsr_kept_wants(size) && (uintptr_t) block % TSR_BLOCK_ALIGNMENT == 0 && bytes >= tsr_block_bytes(size) &&
           tsr_kept_has_room(bytes);
}

static bool count_freed(const void *block, size_t bytes, int size, int64_t time)
{
    void *victims[TSR_BLOCKS_MAX_COUNT];
    pthread_mutex_lock(&mutex);
    const size_t count = age_locked(time, victims);
    if (is_set(ACTIVE))
        tsr_kept_count_free(size, time);
    const bool wanted = is_wanted(block, bytes, size);
    if (!wanted)
        tsr_kept_forget_reuse(block);
    pthread_mutex_unlock(&mutex);
    give_back_all(victims, count);
    return wanted;
}

/* The kernel may have the pages of a large block while it lies here, before it looks for memory elsewhere; not those that a device
 * may write. */
static bool keep(void *block, size_t bytes, int size, int64_t time)
{
    if (!tsr_block_is_small(bytes) && !is_set(DEVICE))
        tsr_huge_advise(block, bytes, MADV_FREE);
    pthread_mutex_lock(&mutex);
    const bool wanted = is_wanted(block, bytes, size);
    if (wanted)
        tsr_kept_put((tsr_kept_block){block, bytes, size, time});
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

static UNLIKELY void free_large(void *block, size_t bytes)
{
    const int size = tsr_block_size_of(bytes);
    const int64_t time = now();
    const bool wanted = size < TSR_BLOCK_SIZES && is_set(ACTIVE) && count_freed(block, bytes, size, time) && may_keep();
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
    count_small(); /* first: nothing is left to do after free */
    free(block);
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
    tsr_loaded object;
    const void *address = dlsym(RTLD_DEFAULT, name);
    return address && tsr_loaded_find(&object, address) ? object.segments : NULL;
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

void tsr_blocks_device_is_used(void)
{
    if (is_set(DEVICE) && !is_set(USED))
        __atomic_or_fetch(&state, USED, __ATOMIC_RELAXED);
}

void tsr_blocks_no_device(void)
{
    if (!is_set(DEVICE))
        return;
    tsr_pins_clear(true);
    __atomic_and_fetch(&state, ~(unsigned) (DEVICE | USED), __ATOMIC_RELAXED);
}

static void begin(void)
{
    if (tsr_memory_is_limited())
        return;
    const size_t limit = default_limit();
    pthread_mutex_lock(&mutex);
    if (!tsr_kept_get_stats().limit)
        tsr_kept_set_limit(limit);
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
    stop(ON | DEVICE | ACTIVE | USED);
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
    tsr_kept_set_limit(bytes);
    pthread_mutex_unlock(&mutex);
}

void tsr_blocks_set_clock(int64_t seconds)
{
    __atomic_store_n(&standing, seconds, __ATOMIC_RELAXED);
}

tsr_kept_stats tsr_blocks_get_stats(void)
{
    pthread_mutex_lock(&mutex);
    const tsr_kept_stats stats = tsr_kept_get_stats();
    pthread_mutex_unlock(&mutex);
    return stats;
}
