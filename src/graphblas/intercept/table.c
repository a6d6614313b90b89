/* Side table: handle of the real library -> record, in shards.  No lock is held across a call of the real library.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>

#include "src/base/pages.h"
#include "src/graphblas/intercept/door.h"
#include "src/graphblas/intercept/hooks.h"

#define SHARDS 16
#define BUCKETS 64 /* per shard */

typedef struct entry {
    const void *handle;
    tsr_record *matrix;
    struct entry *next;
} entry;

typedef struct shard {
    pthread_mutex_t mutex;
    entry *buckets[BUCKETS];
} __attribute__((aligned(64))) shard;

static shard shards[SHARDS] = {[0 ... SHARDS - 1] = {.mutex = PTHREAD_MUTEX_INITIALIZER}};

static uint64_t hash_of(const void *handle)
{
    return ((uint64_t) (uintptr_t) handle >> 4) * UINT64_C(0x9e3779b97f4a7c15);
}

static shard *shard_of(uint64_t hash)
{
    return &shards[hash >> 60];
}

static entry **find_link(shard *s, uint64_t hash, const void *handle)
{
    entry **link = &s->buckets[(hash >> 48) % BUCKETS];
    while (*link && (*link)->handle != handle)
        link = &(*link)->next;
    return link;
}

static entry *new_entry(const void *handle)
{
    entry *e = malloc(sizeof *e);
    tsr_record *matrix = e ? tsr_record_new() : NULL;
    if (!matrix) {
        free(e);
        return NULL;
    }
    *e = (entry){.handle = handle, .matrix = matrix};
    tsr_filter_add(handle);
    return e;
}

void tsr_table_begin(void)
{
    tsr_pages_touch(shards, sizeof shards);
    tsr_pages_touch(tsr_filter, sizeof tsr_filter);
}

tsr_record *tsr_table_get(const void *handle, bool create)
{
    if (!handle || (!create && !tsr_filter_hit(handle)) || __atomic_load_n(&tsr_keeps_nothing, __ATOMIC_RELAXED))
        return NULL;
    const uint64_t hash = hash_of(handle);
    shard *s = shard_of(hash);
    pthread_mutex_lock(&s->mutex);
    entry **link = find_link(s, hash, handle);
    if (!*link && create)
        *link = new_entry(handle);
    tsr_record *found = *link ? tsr_record_ref((*link)->matrix) : NULL;
    pthread_mutex_unlock(&s->mutex);
    return found;
}

static void free_entry(entry *e)
{
    tsr_filter_remove(e->handle);
    tsr_record_unref(e->matrix);
    free(e);
}

void tsr_table_drop(const void *handle)
{
    const uint64_t hash = hash_of(handle);
    shard *s = shard_of(hash);
    pthread_mutex_lock(&s->mutex);
    entry **link = find_link(s, hash, handle), *e = *link;
    if (e)
        *link = e->next;
    pthread_mutex_unlock(&s->mutex);
    if (e)
        free_entry(e);
}

static entry *take_all(shard *s)
{
    entry *all = NULL;
    pthread_mutex_lock(&s->mutex);
    for (size_t n = 0; n < BUCKETS; n++)
        for (entry *e = s->buckets[n]; e; e = s->buckets[n]) {
            s->buckets[n] = e->next;
            e->next = all;
            all = e;
        }
    pthread_mutex_unlock(&s->mutex);
    return all;
}

void tsr_table_clear(void)
{
    for (size_t n = 0; n < SHARDS; n++) {
        entry *list = take_all(&shards[n]);
        while (list) {
            entry *next = list->next;
            free_entry(list);
            list = next;
        }
    }
}

size_t tsr_table_each(bool (*visit)(const void *handle, tsr_record *record))
{
    size_t count = 0;
    for (size_t n = 0; n < SHARDS * BUCKETS; n++) {
        shard *s = &shards[n / BUCKETS];
        pthread_mutex_lock(&s->mutex);
        for (const entry *e = s->buckets[n % BUCKETS]; e; e = e->next)
            count += visit(e->handle, e->matrix);
        pthread_mutex_unlock(&s->mutex);
    }
    return count;
}

bool tsr_is_lost(const void *handle)
{
    if (!(tsr_busy() & TSR_BUSY_LOST))
        return false;
    tsr_record *record = tsr_table_get(handle, false);
    const bool lost = record && tsr_record_is_lost(record);
    tsr_record_unref(record);
    return lost;
}
