/* CHECK mode: a fingerprint of every matrix and vector, taken before and after each call that gets its handle.
 * Contents that change while no write hook stood in between would have left a stale representation behind: that is
 * reported.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/graphblas/intercept/held_arrays.h"
#include "src/graphblas/intercept/door.h"
#include "src/graphblas/intercept/hooks.h"

#define BUCKETS 4096

/* Number of changes found without a write hook so far (tests read it by dlsym). */
TSR_WRAPPER extern long tsr_check_reports(void);

typedef struct known {
    const void *handle;
    uint64_t fingerprint;
    bool valid;
    int writers;      /* calls under way that write it: nothing is compared or stored meanwhile */
    int64_t places;   /* what a fingerprint has to walk */
    const char *name; /* the function that was compared for last, and how often in a row */
    int64_t comparisons;
    struct known *next;
} known;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static known *buckets[BUCKETS];
static long report_count, check_count;

/* ---- fingerprint: independent of the storage format, so that conversions do not count as changes ---- */

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    x = (x ^ (x >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ (x >> 32);
}

static uint64_t hash_bytes(const unsigned char *bytes, size_t size)
{
    uint64_t hash = size;
    for (; size >= 8; bytes += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        hash = mix(hash ^ word);
    }
    for (; size; bytes++, size--)
        hash = mix(hash ^ *bytes);
    return hash;
}

static uint64_t hash_entry(const tsr_held_arrays *c, int64_t vector, int64_t index, int64_t place)
{
    const uint64_t row = (uint64_t) (c->by_col ? index : vector), column = (uint64_t) (c->by_col ? vector : index);
    const unsigned char *value = (const unsigned char *) c->x + (c->iso ? 0 : (size_t) place * c->type_size);
    return mix(mix(mix(row) + column) ^ hash_bytes(value, c->type_size));
}

static uint64_t hash_compressed(const tsr_held_arrays *c)
{
    uint64_t sum = 0;
    for (int64_t k = 0; k < c->nvec; k++) {
        const int64_t vector = c->h.at ? tsr_integer(c->h, k) : k;
        for (int64_t p = tsr_integer(c->p, k); p < tsr_integer(c->p, k + 1); p++)
            sum += hash_entry(c, vector, tsr_integer(c->i, p), p);
    }
    return sum;
}

static uint64_t hash_dense(const tsr_held_arrays *c)
{
    uint64_t sum = 0;
    for (int64_t p = 0; p < c->places; p++) {
        if (!c->b || c->b[p])
            sum += hash_entry(c, p / c->vlen, p % c->vlen, p);
    }
    return sum;
}

/* False: the object is not in a state that has contents (NULL, not initialised, damaged by an earlier error). */
static bool fingerprint_of(const void *handle, uint64_t *fingerprint, int64_t *places)
{
    tsr_held_arrays c;
    if (!handle || !tsr_held_arrays_read(&c, (GrB_Matrix) handle))
        return false;
    const uint64_t rows = (uint64_t) (c.by_col ? c.vlen : c.vdim);
    const uint64_t columns = (uint64_t) (c.by_col ? c.vdim : c.vlen);
    uint64_t sum = 0;
    if (c.places > 0 && c.x)
        sum = c.p.at ? hash_compressed(&c) : hash_dense(&c);
    *places = c.places;
    *fingerprint = mix(sum ^ mix(rows + mix(columns + mix(c.type_size))));
    return true;
}

/* ---- what is known ---- */

static known **find_locked(const void *handle)
{
    known **link = &buckets[mix((uintptr_t) handle) % BUCKETS];
    while (*link && (*link)->handle != handle)
        link = &(*link)->next;
    return link;
}

static known *get_locked(const void *handle)
{
    known **link = find_locked(handle);
    if (!*link) {
        *link = calloc(1, sizeof **link);
        if (*link)
            (*link)->handle = handle;
    }
    return *link;
}

static void forget(const void *handle)
{
    pthread_mutex_lock(&mutex);
    known **link = find_locked(handle), *k = *link;
    if (k)
        *link = k->next;
    pthread_mutex_unlock(&mutex);
    free(k);
}

static void report(const char *name, const void *handle, const char *when)
{
    report_count++;
    fprintf(stderr, "tessera: CHECK: %s: object %p changed %s without a write hook\n", name, handle, when);
}

/* A loop that reads or writes a large object element by element would walk all of it every time.  From the 32nd comparison for one function in
 * a row on, only every so many are taken that a comparison costs 64 places on average; a change is then found a little later. */
static bool is_spared(const void *handle, const char *name)
{
    enum { ALWAYS = 32, PLACES = 64 };
    pthread_mutex_lock(&mutex);
    known *k = *find_locked(handle);
    bool spared = false;
    if (k) {
        k->comparisons = k->name == name ? k->comparisons + 1 : 0;
        k->name = name;
        spared = k->comparisons > ALWAYS && k->comparisons % (k->places / PLACES + 1) != 0;
    }
    pthread_mutex_unlock(&mutex);
    return spared;
}

/* Compare with what is known, then remember. */
static void compare(const char *name, const void *handle, const char *when)
{
    uint64_t now = 0;
    int64_t places = 0;
    if (tsr_defer_is_target(handle) || is_spared(handle, name))
        return;
    const bool valid = fingerprint_of(handle, &now, &places);
    pthread_mutex_lock(&mutex);
    known *k = get_locked(handle);
    if (k && k->writers == 0) {
        check_count++;
        if (valid && k->valid && k->fingerprint != now)
            report(name, handle, when);
        k->valid = valid;
        k->fingerprint = now;
        k->places = places;
    }
    pthread_mutex_unlock(&mutex);
}

/* A write begins (+1) or ends (-1): what is known of the handle is void. */
static void writer(const void *handle, int change)
{
    pthread_mutex_lock(&mutex);
    known *k = get_locked(handle);
    if (k) {
        k->writers = k->writers + change > 0 ? k->writers + change : 0;
        k->valid = false;
    }
    pthread_mutex_unlock(&mutex);
}

/* ---- around a call ---- */

static const void *at(const void *where)
{
    return where ? *(const void *const *) where : NULL;
}

/* What is held is not freed now. */
static void will_free(const void *where)
{
    if (tsr_will_free(at(where)))
        memset((void *) (uintptr_t) where, 0, sizeof(void *));
}

static bool is_written(const tsr_check_call *call, const tsr_touch *touch)
{
    return (touch->role & ~TSR_TOUCH_SCALAR) == TSR_TOUCH_WRITE && !call->blind;
}

/* Is the handle also written in this call (C aliased with A)? */
static bool is_target(const tsr_check_call *call, const void *handle)
{
    for (size_t n = 0; n < call->count; n++) {
        if (is_written(call, &call->touches[n]) && call->touches[n].handle == handle)
            return true;
    }
    return false;
}

static void hook(const tsr_check_call *call, const tsr_touch *touch)
{
    switch (touch->role & ~TSR_TOUCH_SCALAR) {
    case TSR_TOUCH_READ: tsr_will_read(touch->handle); break;
    case TSR_TOUCH_WRITE: (call->blind ? tsr_will_read : tsr_will_write)(touch->handle); break;
    case TSR_TOUCH_MOVE: tsr_will_move(touch->handle); break;
    case TSR_TOUCH_MOVE_AT: tsr_will_move(at(touch->handle)); break;
    case TSR_TOUCH_FREE_AT: will_free(touch->handle); break;
    case TSR_TOUCH_EXPORT_AT: tsr_exported(at(touch->handle)); break;
    case TSR_TOUCH_READ_ARRAY: tsr_hook_read_array(touch->handle, touch->count); break;
    default: break;
    }
}

static void compare_array(const char *name, const void *const *handles, size_t count, const char *when)
{
    for (size_t n = 0; handles && n < count; n++)
        compare(name, handles[n], when);
}

/* Compare the operands this touch stands for with what is known of them. */
static void check_one(const char *name, const tsr_touch *touch, const char *when)
{
    switch (touch->role) {
    case TSR_TOUCH_READ:
    case TSR_TOUCH_MOVE:
    case TSR_TOUCH_WRITE: compare(name, touch->handle, when); break;
    case TSR_TOUCH_MOVE_AT: compare(name, at(touch->handle), when); break;
    case TSR_TOUCH_READ_ARRAY: compare_array(name, touch->handle, touch->count, when); break;
    default: break;
    }
}

static bool is_blind(const char *name)
{
    const char *prefix = secure_getenv("TESSERA_CHECK_BLIND");
    return prefix && *prefix && !strncmp(name, prefix, strlen(prefix));
}

void tsr_check_before(tsr_check_call *call, const char *name, const tsr_touch *touches, size_t count)
{
    *call = (tsr_check_call){name, touches, count, is_blind(name)};
    for (size_t n = 0; n < count; n++)
        hook(call, &touches[n]);
    for (size_t n = 0; n < count; n++)
        check_one(name, &touches[n], "before this call");
    for (size_t n = 0; n < count; n++) {
        const int role = touches[n].role;
        if (role == TSR_TOUCH_FREE_AT || role == TSR_TOUCH_EXPORT_AT)
            forget(at(touches[n].handle));
        else if (role == TSR_TOUCH_WRITE && !call->blind)
            writer(touches[n].handle, +1);
    }
}

static void after_new(const void *handle)
{
    tsr_created(handle);
    forget(handle);
}

void tsr_check_after(const tsr_check_call *call)
{
    for (size_t n = 0; n < call->count; n++) {
        const tsr_touch *touch = &call->touches[n];
        const void *const *handles = touch->handle;
        switch (touch->role) {
        case TSR_TOUCH_WRITE:
            if (!call->blind)
                writer(touch->handle, -1);
            break;
        case TSR_TOUCH_NEW_AT: after_new(at(touch->handle)); break;
        case TSR_TOUCH_NEW_ARRAY:
            for (size_t t = 0; handles && t < touch->count; t++)
                after_new(handles[t]);
            break;
        default: break;
        }
    }
    for (size_t n = 0; n < call->count; n++) {
        if (is_written(call, &call->touches[n]) || !is_target(call, call->touches[n].handle))
            check_one(call->name, &call->touches[n], "in this call");
    }
}

long tsr_check_reports(void)
{
    pthread_mutex_lock(&mutex);
    const long count = report_count;
    pthread_mutex_unlock(&mutex);
    return count;
}

static void summary(void)
{
    if (!tsr_door_in_child())
        fprintf(stderr, "tessera: CHECK: %ld fingerprints compared, %ld changes without a write hook\n", check_count,
                report_count);
}

void tsr_check_start(void)
{
    (void) atexit(summary);
    tsr_busy_add(TSR_BUSY_CHECK);
}

void tsr_check_stop(void)
{
    for (size_t n = 0; n < BUCKETS; n++) {
        pthread_mutex_lock(&mutex);
        known *list = buckets[n];
        buckets[n] = NULL;
        pthread_mutex_unlock(&mutex);
        while (list) {
            known *next = list->next;
            free(list);
            list = next;
        }
    }
}
