/* Deferred products and device-only contents: recorded by the call, run when another call touches their target or changes an operand.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>

#include "src/graphblas/intercept/door.h"
#include "src/graphblas/intercept/hooks.h"

enum { TARGET = 3, ROLES }; /* 0 to 2: operands */

/* Found by the records of its objects; the list of all is for the end, forks and want of memory. */
typedef struct pending {
    tsr_deferred product;
    tsr_record *records[ROLES]; /* references; NULL where the role is empty */
    tsr_wait waits[ROLES];
    bool held[TARGET]; /* operands that the program has freed: given to product.drop afterwards */
    bool running;      /* taken by `runner`, outside of the lock */
    pthread_t runner;
    struct pending *next, **link; /* … which points here */
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

static void settle(const void *handle, touch_t touch);

static void run_all_at_exit(void)
{
    if (!tsr_door_in_child())
        settle(NULL, TOUCH_EXIT);
}

static void register_exit(void)
{
    (void) atexit(run_all_at_exit);
}

static const void *object_of(const tsr_deferred *product, int role)
{
    return role == TARGET ? product->target : product->operands[role];
}

static void release(pending *p)
{
    for (int role = 0; role < ROLES; role++)
        tsr_record_unref(p->records[role]);
    free(p);
}

/* False: no memory for a record. */
static bool find_records(pending *p)
{
    bool found = true;
    for (int role = 0; role < ROLES && found; role++) {
        const void *object = object_of(&p->product, role);
        p->records[role] = tsr_table_get(object, true);
        p->waits[role] = (tsr_wait){.of = p, .target = role == TARGET};
        found = p->records[role] || !object;
    }
    return found;
}

static void link_locked(pending *p)
{
    p->link = last;
    *last = p;
    last = &p->next;
    for (int role = 0; role < ROLES; role++) {
        if (p->records[role])
            tsr_record_add_wait(p->records[role], &p->waits[role]);
    }
    __atomic_fetch_add(&pending_count, 1, __ATOMIC_RELAXED);
}

static void unlink_locked(pending *p)
{
    *p->link = p->next;
    if (p->next)
        p->next->link = p->link;
    else
        last = p->link;
    for (int role = 0; role < ROLES; role++) {
        if (p->records[role])
            tsr_record_remove_wait(p->records[role], &p->waits[role]);
    }
    __atomic_fetch_sub(&pending_count, 1, __ATOMIC_RELAXED);
}

bool tsr_defer(const tsr_deferred *product)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pending *p = __atomic_load_n(&tsr_keeps_nothing, __ATOMIC_RELAXED) ? NULL : calloc(1, sizeof *p);
    if (!p)
        return false;
    pthread_once(&once, register_exit);
    p->product = *product;
    if (!find_records(p)) {
        release(p);
        return false;
    }
    pthread_mutex_lock(&mutex);
    link_locked(p);
    pthread_mutex_unlock(&mutex);
    return true;
}

/* Must what waits run, or go, before an object in this role is touched so? */
static bool concerns(const tsr_wait *wait, touch_t touch)
{
    const pending *p = wait->of;
    return wait->target || (touch != TOUCH_READ && !(touch == TOUCH_FREE && p->product.drop));
}

static bool is_passed(const pending *p, touch_t touch)
{
    return p->running && (touch == TOUCH_IDLE || pthread_equal(p->runner, pthread_self()));
}

/* The oldest concerned that this thread is not running itself; locked. */
static pending *find_locked(const tsr_record *record, touch_t touch)
{
    for (const tsr_wait *wait = tsr_record_first_wait(record); wait; wait = wait->next) {
        if (!is_passed(wait->of, touch) && concerns(wait, touch))
            return wait->of;
    }
    return NULL;
}

static pending *find_any_locked(touch_t touch)
{
    for (pending *p = first; p; p = p->next) {
        if (!is_passed(p, touch) && (touch != TOUCH_EXIT || !p->product.only_value))
            return p;
    }
    return NULL;
}

static bool is_needed_locked(const tsr_record *record)
{
    for (const tsr_wait *wait = tsr_record_first_wait(record); wait; wait = wait->next) {
        if (!wait->target)
            return true;
    }
    return false;
}

/* Of a product that waits no more.  Locked on entry and exit, not in between. */
static void drop_held_locked(pending *p)
{
    const tsr_deferred *product = &p->product;
    for (int n = 0; n < TARGET; n++) {
        const void *handle = product->operands[n];
        const bool again = (n > 0 && handle == product->operands[0]) || (n > 1 && handle == product->operands[1]);
        if (!p->held[n] || again || is_needed_locked(p->records[n]))
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
    pthread_mutex_lock(&mutex);
    unlink_locked(p);
    pthread_cond_broadcast(&finished);
    drop_held_locked(p);
    pthread_mutex_unlock(&mutex);
    release(p);
    pthread_mutex_lock(&mutex);
}

static bool is_cancelled(const tsr_deferred *product, const void *handle, touch_t touch)
{
    return touch == TOUCH_END ? product->only_value : touch >= TOUCH_REPLACE && product->target == handle;
}

/* record NULL: all. */
static void settle_record(const tsr_record *record, const void *handle, touch_t touch)
{
    pthread_mutex_lock(&mutex);
    for (pending *p; (p = record ? find_locked(record, touch) : find_any_locked(touch));) {
        if (p->running)
            pthread_cond_wait(&finished, &mutex);
        else
            settle_locked(p, is_cancelled(&p->product, handle, touch));
    }
    pthread_mutex_unlock(&mutex);
}

/* handle NULL and touch from TOUCH_ALL on: all. */
static void settle(const void *handle, touch_t touch)
{
    if (!__atomic_load_n(&pending_count, __ATOMIC_RELAXED))
        return;
    if (touch >= TOUCH_ALL) {
        settle_record(NULL, NULL, touch);
        return;
    }
    tsr_record *record = tsr_table_get(handle, false);
    if (record && tsr_record_waits(record))
        settle_record(record, handle, touch);
    tsr_record_unref(record);
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
    if (!p->product.drop)
        return false;
    for (int n = 0; n < TARGET; n++)
        p->held[n] |= p->product.operands[n] == handle;
    return true;
}

/* Everything that still waits with it reads it. */
static bool hold(const tsr_record *record, const void *handle)
{
    bool held = false;
    pthread_mutex_lock(&mutex);
    for (const tsr_wait *wait = tsr_record_first_wait(record); wait; wait = wait->next)
        held |= !wait->target && hold_locked(wait->of, handle);
    pthread_mutex_unlock(&mutex);
    return held;
}

bool tsr_defer_before_free(const void *handle)
{
    settle(handle, TOUCH_FREE);
    if (!__atomic_load_n(&pending_count, __ATOMIC_RELAXED))
        return false;
    tsr_record *record = tsr_table_get(handle, false);
    const bool held = record && tsr_record_waits(record) && hold(record, handle);
    tsr_record_unref(record);
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

static bool total_of(const tsr_record *record, tsr_type *type, int64_t *total)
{
    bool found = false;
    pthread_mutex_lock(&mutex);
    for (const tsr_wait *wait = tsr_record_first_wait(record); wait && !found; wait = wait->next) {
        const pending *p = wait->of;
        found = wait->target && p->product.counted && !p->running;
        if (found) {
            *type = p->product.type;
            *total = extended(p->product.type, p->product.total);
        }
    }
    pthread_mutex_unlock(&mutex);
    return found;
}

bool tsr_defer_total(const void *target, tsr_type *type, int64_t *total)
{
    if (!__atomic_load_n(&pending_count, __ATOMIC_RELAXED))
        return false;
    tsr_record *record = tsr_table_get(target, false);
    const bool found = record && tsr_record_is_absent(record) && total_of(record, type, total);
    tsr_record_unref(record);
    return found;
}

bool tsr_defer_is_target(const void *handle)
{
    if (!__atomic_load_n(&pending_count, __ATOMIC_RELAXED))
        return false;
    tsr_record *record = tsr_table_get(handle, false);
    const bool absent = record && tsr_record_is_absent(record);
    tsr_record_unref(record);
    return absent;
}
