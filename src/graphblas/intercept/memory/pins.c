/* Page-locked blocks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/intercept/memory/pins.h"

#include <pthread.h>
#include <stdint.h>

#include "src/graphblas/intercept/memory/memory.h"

enum {
    MOST_NOTED = 1024, /* what comes when so many are alive is never locked */
    USES_BEFORE = 1,       /* products that use a block before its pages are locked; a small one, */
    USES_OF_SMALL = 4,     /* where threads copy nearly as fast */
    SMALL_BLOCK = 16 << 20
};

typedef struct note {
    void *block;
    size_t bytes;
    int uses; /* -1: it could not be locked */
    bool pinned;
} note;

static pthread_mutex_t pinning = PTHREAD_MUTEX_INITIALIZER; /* held while pages are locked and unlocked; taken before `mutex` */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;   /* guards all below, for moments */
static note notes[MOST_NOTED];
static size_t count, pinned_count, pinned_bytes;
static int forks; /* under way */
static const tsr_backend *owner; /* of every pinned block; there is one device */

static size_t limit(void)
{
    return tsr_memory_most() / 4;
}

/* ---- the list; the mutex is held ---- */

static note *find(const void *block)
{
    for (size_t n = 0; n < count; n++)
        if (notes[n].block == block)
            return &notes[n];
    return NULL;
}

static void set_pinned(note *n, bool pinned)
{
    if (n->pinned == pinned)
        return;
    n->pinned = pinned;
    pinned_count += pinned ? 1 : -(size_t) 1;
    pinned_bytes += pinned ? n->bytes : -n->bytes;
}

/* Bytes to lock; 0: not now. */
static size_t wanted(note *n)
{
    if (!n || n->pinned || n->uses < 0 || n->uses++ < (n->bytes < SMALL_BLOCK ? USES_OF_SMALL : USES_BEFORE))
        return 0;
    return forks == 0 && pinned_bytes + n->bytes <= limit() ? n->bytes : 0;
}

static void *any_pinned(void)
{
    for (size_t n = 0; n < count; n++)
        if (notes[n].pinned)
            return notes[n].block;
    return NULL;
}

/* ---- one block at a time ---- */

void tsr_pins_note(void *block, size_t bytes)
{
    pthread_mutex_lock(&mutex);
    if (count < MOST_NOTED && !find(block))
        notes[count++] = (note){.block = block, .bytes = bytes};
    pthread_mutex_unlock(&mutex);
}

bool tsr_pins_noted(const void *block)
{
    pthread_mutex_lock(&mutex);
    const bool noted = block && find(block);
    pthread_mutex_unlock(&mutex);
    return noted;
}

/* False: it is pinned. */
static bool forget_plain(const void *block)
{
    pthread_mutex_lock(&mutex);
    note *n = find(block);
    const bool plain = !n || !n->pinned;
    if (n && plain)
        *n = notes[--count];
    pthread_mutex_unlock(&mutex);
    return plain;
}

/* `pinning` is held. */
static void unpin(void *block)
{
    pthread_mutex_lock(&mutex);
    note *n = find(block);
    const bool pinned = n && n->pinned;
    if (pinned)
        set_pinned(n, false);
    pthread_mutex_unlock(&mutex);
    if (pinned)
        owner->unpin(block);
}

void tsr_pins_forget(const void *block)
{
    if (!block || forget_plain(block))
        return;
    pthread_mutex_lock(&pinning);
    unpin((void *) (intptr_t) block);
    pthread_mutex_unlock(&pinning);
    (void) forget_plain(block);
}

/* False: it is not noted any more. */
static bool set_result(const void *block, bool pinned)
{
    pthread_mutex_lock(&mutex);
    note *n = find(block);
    if (n) {
        n->uses = pinned ? n->uses : -1;
        set_pinned(n, pinned);
    }
    pthread_mutex_unlock(&mutex);
    return n;
}

/* `pinning` is held. */
static void pin(void *block, const tsr_backend *device)
{
    pthread_mutex_lock(&mutex);
    const size_t bytes = wanted(find(block));
    pthread_mutex_unlock(&mutex);
    if (!bytes)
        return;
    owner = device;
    const bool pinned = device->pin(block, bytes);
    if (!set_result(block, pinned) && pinned)
        device->unpin(block);
}

void tsr_pins_use(const void *block, const tsr_backend *device)
{
    if (!block || !device->pin)
        return;
    pthread_mutex_lock(&pinning);
    pin((void *) (intptr_t) block, device);
    pthread_mutex_unlock(&pinning);
}

/* ---- all of them ---- */

static void unpin_all(void)
{
    void *block;
    do {
        pthread_mutex_lock(&mutex);
        block = any_pinned();
        pthread_mutex_unlock(&mutex);
        if (block)
            unpin(block);
    } while (block);
}

void tsr_pins_clear(bool unlock)
{
    pthread_mutex_lock(&pinning);
    if (unlock)
        unpin_all();
    pthread_mutex_lock(&mutex);
    count = pinned_count = pinned_bytes = 0;
    pthread_mutex_unlock(&mutex);
    pthread_mutex_unlock(&pinning);
}

static void count_fork(int change)
{
    pthread_mutex_lock(&mutex);
    forks += change;
    pthread_mutex_unlock(&mutex);
}

void tsr_pins_before_fork(void)
{
    pthread_mutex_lock(&pinning);
    count_fork(1);
    unpin_all();
    pthread_mutex_unlock(&pinning);
}

void tsr_pins_after_fork(void)
{
    count_fork(-1);
}

tsr_pins_stats tsr_pins_get_stats(void)
{
    pthread_mutex_lock(&mutex);
    const tsr_pins_stats stats = {count, pinned_count, pinned_bytes, limit()};
    pthread_mutex_unlock(&mutex);
    return stats;
}
