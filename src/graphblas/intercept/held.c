/* Where the arrays lie that were handed over: SuiteSparse keeps them in place until a call writes the object, which its hooks tell.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "src/graphblas/intercept/hooks.h"

/* So few entries SuiteSparse has sorted before we could look at them. */
enum { SETS = 4096, WAYS = 4, QUICKLY_SORTED = 32 };

typedef struct slot {
    const void *handle;
    uint64_t kept; /* when */
    tsr_view view;
    int64_t ends[2];
} slot;

/* Where handles lie differs from run to run: WAYS of a set are kept beside each other, what was kept longest ago goes.  A program may keep a result
 * of each of a thousand turns, most keep a few: so sets are small, and slots are used in the order in which they are first needed. */
static struct set {
    uint16_t ways[WAYS]; /* number of a slot; 0: none yet */
} sets[SETS];
static slot slots[SETS * WAYS + 1];
static uint16_t used;
static uint64_t keeps;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct set *set_of(const void *handle)
{
    return &sets[((uint32_t)((uintptr_t)handle >> 4) * 2654435769u >> 16) % SETS]; /* Knuth's multiplicative hash */
}

/* NULL: none.  Without the mutex only to see that there is none. */
static slot *slot_of(const void *handle)
{
    const struct set *set = set_of(handle);
    for (int k = 0; handle && k < WAYS; k++) {
        slot *s = &slots[__atomic_load_n(&set->ways[k], __ATOMIC_RELAXED)];
        if (__atomic_load_n(&s->handle, __ATOMIC_RELAXED) == handle)
            return s;
    }
    return NULL;
}

static slot *slot_of_way(uint16_t *way)
{
    if (*way == 0)
        __atomic_store_n(way, ++used, __ATOMIC_RELAXED);
    return &slots[*way];
}

/* The handle's own, a free one, or the oldest of its set; the mutex is held. */
static slot *slot_for(const void *handle)
{
    slot *own = slot_of(handle);
    uint16_t *ways = set_of(handle)->ways, *oldest = ways;
    for (int k = 0; k < WAYS && slots[*oldest].handle; k++)
        if (!slots[ways[k]].handle || slots[ways[k]].kept < slots[*oldest].kept)
            oldest = &ways[k];
    return own ? own : slot_of_way(oldest);
}

bool tsr_held_find(tsr_view *view, int64_t ends[2], const void *handle)
{
    pthread_mutex_lock(&mutex);
    const slot *s = slot_of(handle);
    if (s) {
        *view = s->view;
        ends[0] = s->ends[0];
        ends[1] = s->ends[1];
    }
    pthread_mutex_unlock(&mutex);
    if (s && !view->p)
        view->p = ends;
    return s;
}

bool tsr_held_jumbled(const void *handle)
{
    if (!handle || !tsr_filter_hit(handle))
        return false;
    pthread_mutex_lock(&mutex);
    const slot *s = slot_of(handle);
    const bool jumbled = s && s->view.jumbled && s->view.nvals > QUICKLY_SORTED;
    pthread_mutex_unlock(&mutex);
    return jumbled;
}

/* A vector's offsets are copied: SuiteSparse may hold others. */
void tsr_held_keep(const void *handle, const tsr_view *view)
{
    if (__atomic_load_n(&tsr_keeps_nothing, __ATOMIC_RELAXED))
        return;
    pthread_mutex_lock(&mutex);
    slot *s = slot_for(handle);
    const void *gone = s->handle;
    s->view = *view;
    s->kept = ++keeps;
    __atomic_store_n(&s->handle, handle, __ATOMIC_RELAXED);
    if (view->nvec == 1) {
        s->ends[1] = view->p[1];
        s->view.p = NULL;
    }
    pthread_mutex_unlock(&mutex);
    if (gone == handle)
        return;
    tsr_filter_add(handle);
    if (gone)
        tsr_filter_remove(gone);
}

void tsr_held_forget(const void *handle)
{
    if (!slot_of(handle))
        return;
    pthread_mutex_lock(&mutex);
    slot *s = slot_of(handle);
    if (s)
        __atomic_store_n(&s->handle, NULL, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&mutex);
    if (s)
        tsr_filter_remove(handle);
}

void tsr_held_clear(void)
{
    for (int k = 1; k <= used; k++)
        if (slots[k].handle)
            tsr_held_forget(slots[k].handle);
}
