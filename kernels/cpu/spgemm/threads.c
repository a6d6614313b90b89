/* SpGEMM: what one thread works with.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/spgemm/driver.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/common/arrays.h"

enum { TOUCHED_STEP = 1 << 15 }; /* entries */

uint32_t tsr_sg_most_places = UINT32_MAX - 1;

static void *own_resize(const void *context, void *block, size_t bytes)
{
    (void)context;
    return realloc(block, bytes);
}

static void own_release(const void *context, void *block)
{
    (void)context;
    free(block);
}

const tsr_spgemm_memory tsr_sg_own_memory = {own_resize, own_release, NULL};

bool tsr_sg_thread_begin(tsr_sg_thread *t, const tsr_spgemm_work *w, int64_t expected)
{
    *t = (tsr_sg_thread){.expected = expected, .waiting = -1, .memory = w->nthreads > 1 ? &tsr_sg_own_memory : &w->memory};
    t->terms = malloc(TSR_SG_TERM_BYTES);
    if (w->job.masked) {
        t->pass = malloc((size_t)w->job.n + 1);
        if (t->pass)
            memset(t->pass, w->job.complement, (size_t)w->job.n);
    }
    return t->terms && (t->pass || !w->job.masked);
}

void tsr_sg_thread_drop_scratch(tsr_sg_thread *t)
{
    free(t->place);
    free(t->table);
    free(t->window);
    free(t->mark);
    free(t->pass);
    free(t->terms);
    free(t->keys);
    free(t->bits);
    t->place = NULL;
    t->table = NULL;
    t->window = NULL;
    t->mark = t->group = t->pass = NULL;
    t->terms = NULL;
    t->keys = t->bits = NULL;
    t->keys_room = 0;
}

void tsr_sg_thread_end(tsr_sg_thread *t)
{
    tsr_sg_thread_drop_scratch(t);
    if (t->i)
        t->memory->release(t->memory->context, t->i);
    if (t->x)
        t->memory->release(t->memory->context, t->x);
    t->i = NULL;
    t->x = NULL;
}

bool tsr_sg_resize(const tsr_spgemm_memory *memory, void **block, size_t bytes)
{
    void *changed = memory->resize(memory->context, *block, bytes);
    *block = changed ? changed : *block;
    return changed;
}

static bool set_room(tsr_sg_thread *t, const tsr_spgemm_work *w, int64_t room)
{
    void *i = t->i;
    const bool ok = tsr_sg_resize(t->memory, &i, (size_t)room * sizeof *t->i);
    t->i = i;
    if (!ok || (w->job.valued && !tsr_sg_resize(t->memory, &t->x, (size_t)room * w->job.size)))
        return false;
    t->capacity = room;
    return true;
}

static bool grow(tsr_sg_thread *t, const tsr_spgemm_work *w, int64_t entries)
{
    const int64_t least = t->used + entries, first = t->capacity ? t->capacity + t->capacity / 4 : t->expected;
    return (first > least && set_room(t, w, first)) || set_room(t, w, least);
}

/* The output's pages come a step ahead of what is written. */
static void populate(tsr_sg_thread *t, const tsr_spgemm_work *w)
{
    const int64_t first = t->used > t->touched ? t->used : t->touched, ahead = t->used + 2 * TOUCHED_STEP;
    const int64_t end = ahead < t->capacity ? ahead : t->capacity;
    if (end <= first)
        return;
    tsr_populate(t->i + first, (size_t)(end - first) * sizeof *t->i, w->nthreads);
    if (w->job.valued)
        tsr_populate((char *)t->x + (size_t)first * w->job.size, (size_t)(end - first) * w->job.size, w->nthreads);
    t->touched = end;
}

bool tsr_sg_room(tsr_sg_thread *t, const tsr_spgemm_work *w, int64_t entries)
{
    if (t->used + entries > t->capacity && !grow(t, w, entries))
        return false;
    if (t->used + TOUCHED_STEP > t->touched)
        populate(t, w);
    if (t->used - t->base + entries < (int64_t)tsr_sg_most_places)
        return true;
    t->base = t->used;
    if (t->place)
        memset(t->place, 0, (size_t)w->job.n * sizeof *t->place);
    return true;
}
