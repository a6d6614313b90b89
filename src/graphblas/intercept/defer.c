/* Deferred products: recorded by the call, run when another call touches their target or changes an operand.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>

#include "src/graphblas/intercept/door.h"
#include "src/graphblas/intercept/hooks.h"

typedef struct pending {
    tsr_deferred product;
    bool held[3];    /* operands that the program has freed: given to product.drop afterwards */
    bool running;    /* taken by `runner`, outside of the lock */
    pthread_t runner;
    struct pending *next;
} pending;

typedef enum touch_t {
    TOUCH_READ, TOUCH_WRITE, TOUCH_REPLACE, TOUCH_FREE, TOUCH_ALL,
    TOUCH_IDLE, /* all that nobody is running */
    TOUCH_END,  /* all; values are forgotten */
    TOUCH_EXIT  /* all but values, which go with the process */
} touch_t;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t finished = PTHREAD_COND_INITIALIZER;
static pending *first; /* oldest first */
static pending **last = &first;
static int pending_count;

static void count_handles(const tsr_deferred *product, void (*count)(const void *))
{
    count(product->target);
    for (int n = 0; n < 3; n++) {
        if (product->operands[n])
            count(product->operands[n]);
    }
}

static void settle(const void *handle, touch_t touch);

static void run_all_at_exit(void)
{
    if (!tsr_door_in_child())
        settle(NULL, TOUCH_EXIT);
}

static void watch_exit(void)
{
    (void) atexit(run_all_at_exit);
}

bool tsr_defer(const tsr_deferred *product)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pending *p = __atomic_load_n(&tsr_keeps_nothing, __ATOMIC_RELAXED) ? NULL : malloc(sizeof *p);
    if (!p)
        return false;
    pthread_once(&once, watch_exit);
    *p = (pending){.product = *product};
    count_handles(product, tsr_filter_add);
    pthread_mutex_lock(&mutex);
    *last = p;
    last = &p->next;
    __atomic_fetch_add(&pending_count, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&mutex);
    return true;
}

/* Programs free NULL, which is no operand. */
static bool is_operand(const tsr_deferred *product, const void *handle)
{
    return handle && (product->operands[0] == handle || product->operands[1] == handle || product->operands[2] == handle);
}

static bool concerns(const tsr_deferred *product, const void *handle, touch_t touch)
{
    if (touch >= TOUCH_ALL)
        return touch != TOUCH_EXIT || !product->only_value;
    if (product->target == handle)
        return true;
    return touch != TOUCH_READ && !(touch == TOUCH_FREE && product->drop) && is_operand(product, handle);
}

/* The oldest product concerned that this thread is not running itself; locked. */
static pending *find_locked(const void *handle, touch_t touch)
{
    for (pending *p = first; p; p = p->next) {
        const bool passed = p->running && (touch == TOUCH_IDLE || pthread_equal(p->runner, pthread_self()));
        if (!passed && concerns(&p->product, handle, touch))
            return p;
    }
    return NULL;
}

static void unlink_locked(pending *p)
{
    pending **link = &first;
    while (*link != p)
        link = &(*link)->next;
    *link = p->next;
    if (last == &p->next)
        last = link;
    __atomic_fetch_sub(&pending_count, 1, __ATOMIC_RELAXED);
}

static bool is_needed_locked(const void *handle)
{
    for (const pending *p = first; p; p = p->next) {
        if (is_operand(&p->product, handle))
            return true;
    }
    return false;
}

/* Of a product that is in the list no more.  Locked on entry and exit, not in between. */
static void drop_held_locked(pending *p)
{
    const tsr_deferred *product = &p->product;
    for (int n = 0; n < 3; n++) {
        const void *handle = product->operands[n];
        const bool again = (n > 0 && handle == product->operands[0]) || (n > 1 && handle == product->operands[1]);
        if (!p->held[n] || again || is_needed_locked(handle))
            continue;
        pthread_mutex_unlock(&mutex);
        product->drop(handle);
        pthread_mutex_lock(&mutex);
    }
}

/* Locked on entry and exit, not in between. */
static void settle_locked(pending *p, bool cancel)
{
    p->running = true;
    p->runner = pthread_self();
    pthread_mutex_unlock(&mutex);
    tsr_depth++;
    tsr_quiet_begin();
    (cancel ? p->product.cancel : p->product.run)(p->product.closure);
    tsr_quiet_end();
    tsr_depth--;
    count_handles(&p->product, tsr_filter_remove);
    pthread_mutex_lock(&mutex);
    unlink_locked(p);
    pthread_cond_broadcast(&finished);
    drop_held_locked(p);
    free(p);
}

static bool is_cancelled(const tsr_deferred *product, const void *handle, touch_t touch)
{
    return touch == TOUCH_END ? product->only_value : touch >= TOUCH_REPLACE && product->target == handle;
}

static void settle(const void *handle, touch_t touch)
{
    if (!__atomic_load_n(&pending_count, __ATOMIC_RELAXED))
        return;
    pthread_mutex_lock(&mutex);
    for (pending *p; (p = find_locked(handle, touch));) {
        if (p->running)
            pthread_cond_wait(&finished, &mutex);
        else
            settle_locked(p, is_cancelled(&p->product, handle, touch));
    }
    pthread_mutex_unlock(&mutex);
}

void tsr_defer_before_read(const void *handle)
{
    settle(handle, TOUCH_READ);
}

void tsr_defer_before_write(const void *handle)
{
    settle(handle, TOUCH_WRITE);
}

void tsr_defer_before_replace(const void *handle)
{
    settle(handle, TOUCH_REPLACE);
}

static bool hold_locked(pending *p, const void *handle)
{
    if (!p->product.drop || !is_operand(&p->product, handle))
        return false;
    for (int n = 0; n < 3; n++)
        p->held[n] |= p->product.operands[n] == handle;
    return true;
}

bool tsr_defer_before_free(const void *handle)
{
    settle(handle, TOUCH_FREE);
    if (!__atomic_load_n(&pending_count, __ATOMIC_RELAXED))
        return false;
    bool held = false;
    pthread_mutex_lock(&mutex);
    for (pending *p = first; p; p = p->next)
        held |= hold_locked(p, handle);
    pthread_mutex_unlock(&mutex);
    return held;
}

void tsr_defer_run_all(void)
{
    settle(NULL, TOUCH_ALL);
}

void tsr_defer_run_idle(void)
{
    settle(NULL, TOUCH_IDLE);
}

void tsr_defer_end(void)
{
    settle(NULL, TOUCH_END);
}

static int64_t extended(tsr_type type, uint64_t total)
{
    switch (type) {
    case TSR_INT8: return (int8_t)total;
    case TSR_INT16: return (int16_t)total;
    case TSR_INT32: return (int32_t)total;
    case TSR_UINT8: return (uint8_t)total;
    case TSR_UINT16: return (uint16_t)total;
    case TSR_UINT32: return (uint32_t)total;
    default: return (int64_t)total;
    }
}

bool tsr_defer_total(const void *target, tsr_type *type, int64_t *total)
{
    if (!__atomic_load_n(&pending_count, __ATOMIC_RELAXED))
        return false;
    bool found = false;
    pthread_mutex_lock(&mutex);
    for (pending *p = first; p && !found; p = p->next) {
        found = p->product.target == target && p->product.counted && !p->running;
        if (found) {
            *type = p->product.type;
            *total = extended(p->product.type, p->product.total);
        }
    }
    pthread_mutex_unlock(&mutex);
    return found;
}

bool tsr_defer_is_target(const void *handle)
{
    if (!__atomic_load_n(&pending_count, __ATOMIC_RELAXED))
        return false;
    pthread_mutex_lock(&mutex);
    bool found = false;
    for (pending *p = first; p && !found; p = p->next)
        found = p->product.target == handle;
    pthread_mutex_unlock(&mutex);
    return found;
}
