/* SpGEMM: C's entries, one behind the other.  What a thread has computed is copied to its place while it is in its cache, as soon as it is known how
 * many entries the rows before have.  So C's pages are the only large memory that is touched.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/spgemm/driver.h"

#include <string.h>

#include "kernels/cpu/common/arrays.h"

static size_t index_size(const tsr_spgemm_work *w)
{
    return w->product.narrow ? sizeof(uint32_t) : sizeof(int64_t);
}

/* ---- memory ---- */

bool tsr_sg_result_resize(tsr_spgemm_work *w, int64_t entries)
{
    tsr_sg_result *c = &w->result;
    const size_t room = entries > 0 ? (size_t)entries : 1;
    if (!tsr_sg_resize(&w->memory, &c->i, room * c->index_bytes) ||
        (w->job.valued && !tsr_sg_resize(&w->memory, &c->x, room * w->job.size)))
        return false;
    c->room = (int64_t)room;
    return true;
}

/* Who copies holds the lock as a reader: others may copy meanwhile, which takes long where C's pages are touched for the first time. */
static bool grow(tsr_sg_assembly *a, int64_t end)
{
    tsr_sg_result *c = &a->w->result;
    pthread_rwlock_wrlock(&a->moving);
    const int64_t larger = c->room + c->room / 4;
    const bool ok = c->room >= end || tsr_sg_result_resize(a->w, larger > end ? larger : end);
    pthread_rwlock_unlock(&a->moving);
    return ok;
}

/* C has room up to `end`, and stays where it is until it is unlocked; false: out of memory, and not locked. */
static bool lock_room(tsr_sg_assembly *a, int64_t end)
{
    pthread_rwlock_rdlock(&a->moving);
    while (a->w->result.room < end) {
        pthread_rwlock_unlock(&a->moving);
        if (!grow(a, end))
            return false;
        pthread_rwlock_rdlock(&a->moving);
    }
    return true;
}

bool tsr_sg_assembly_begin(tsr_sg_assembly *a, tsr_spgemm_work *w)
{
    *a = (tsr_sg_assembly){.w = w, .order = PTHREAD_MUTEX_INITIALIZER, .moving = PTHREAD_RWLOCK_INITIALIZER};
    w->result.index_bytes = index_size(w);
    return tsr_sg_result_resize(w, w->expected);
}

void tsr_sg_assembly_end(tsr_sg_assembly *a)
{
    pthread_mutex_destroy(&a->order);
    pthread_rwlock_destroy(&a->moving);
}

/* ---- places ---- */

/* Chunks before the one that is returned have places. */
static int64_t find_places(tsr_sg_assembly *a, tsr_sg_chunk *done, int64_t entries)
{
    const tsr_spgemm_work *w = a->w;
    pthread_mutex_lock(&a->order);
    done->entries = entries;
    for (; a->known < w->nchunks && w->chunks[a->known].entries >= 0; a->known++) {
        w->chunks[a->known].to = a->end;
        a->end += w->chunks[a->known].entries;
    }
    const int64_t known = a->known;
    pthread_mutex_unlock(&a->order);
    return known;
}

void tsr_sg_copy_indices(void *to, size_t to_size, const void *from, size_t from_size, int64_t n)
{
    if (to_size == from_size)
        memcpy(to, from, (size_t)n * to_size);
    else if (to_size == sizeof(int64_t))
        for (int64_t e = 0; e < n; e++)
            ((int64_t *)to)[e] = ((const uint32_t *)from)[e];
    else
        for (int64_t e = 0; e < n; e++)
            ((uint32_t *)to)[e] = (uint32_t)((const int64_t *)from)[e];
}

/* False: out of memory. */
static bool copy_chunk(tsr_sg_assembly *a, const tsr_sg_thread *t, const tsr_sg_chunk *chunk)
{
    const tsr_spgemm_work *w = a->w;
    const size_t size = w->job.size, narrow = w->result.index_bytes;
    if (!lock_room(a, chunk->to + chunk->entries))
        return false;
    char *i = (char *)w->result.i + (size_t)chunk->to * narrow, *x = (char *)w->result.x + (size_t)chunk->to * size;
    tsr_populate(i, (size_t)chunk->entries * narrow, w->nthreads);
    tsr_sg_copy_indices(i, narrow, t->i + chunk->at, sizeof *t->i, chunk->entries);
    if (w->job.valued) {
        tsr_populate(x, (size_t)chunk->entries * size, w->nthreads);
        memcpy(x, (const char *)t->x + (size_t)chunk->at * size, (size_t)chunk->entries * size);
    }
    pthread_rwlock_unlock(&a->moving);
    return true;
}

/* Copies what waits and has a place, of chunks before `known`.  An output that is empty begins anew: notes of what was there stay old. */
static bool place_waiting(tsr_sg_assembly *a, tsr_sg_thread *t, int64_t known)
{
    const tsr_spgemm_work *w = a->w;
    for (; t->waiting >= 0 && t->waiting < known; t->waiting = w->chunks[t->waiting].next) {
        const tsr_sg_chunk *chunk = &w->chunks[t->waiting];
        if (chunk->entries > 0 && !copy_chunk(a, t, chunk))
            return false;
    }
    if (t->waiting < 0) {
        t->base -= t->used;
        t->used = 0;
    }
    return true;
}

bool tsr_sg_assembly_add(tsr_sg_assembly *a, tsr_sg_thread *t, int64_t at)
{
    tsr_sg_chunk *chunks = a->w->chunks;
    chunks[at].next = -1;
    *(t->waiting < 0 ? &t->waiting : &chunks[t->latest].next) = at;
    t->latest = at;
    return place_waiting(a, t, find_places(a, &chunks[at], t->used - chunks[at].at));
}

bool tsr_sg_assembly_finish(tsr_sg_assembly *a, tsr_sg_thread *t)
{
    return place_waiting(a, t, a->w->nchunks);
}
