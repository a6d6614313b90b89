/* SpGEMM: what one thread works with.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "kernels/cpu/spgemm/driver.h"

#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#define PAGE ((uintptr_t)4096)
#define LARGE ((size_t)32 << 20) /* what the C library maps by itself */

uint32_t tsr_sg_most_places = UINT32_MAX - 1;

bool tsr_sg_thread_begin(tsr_sg_thread *t, const tsr_spgemm_work *w, int64_t expected)
{
    *t = (tsr_sg_thread){.expected = expected};
    t->terms = malloc(TSR_SG_TERMS * 8);
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
    t->place = NULL;
    t->table = NULL;
    t->window = NULL;
    t->mark = t->pass = NULL;
    t->terms = NULL;
}

void tsr_sg_thread_end(tsr_sg_thread *t, const tsr_spgemm_work *w)
{
    tsr_sg_thread_drop_scratch(t);
    if (t->i)
        w->memory.release(t->i);
    if (t->x)
        w->memory.release(t->x);
    t->i = NULL;
    t->x = NULL;
}

/* Fresh memory costs a page fault a page: in large pages, where there are such.  All pages of a block, so that its mapping stays one, which
 * can be moved. */
static void advise(void *block, size_t bytes)
{
#if defined(__linux__)
    const uintptr_t from = (uintptr_t)block & ~(PAGE - 1), to = ((uintptr_t)block + bytes + PAGE - 1) & ~(PAGE - 1);
    if (bytes >= LARGE)
        madvise((void *)from, to - from, MADV_HUGEPAGE);
#else
    (void)block;
    (void)bytes;
#endif
}

static bool resize(void **block, const tsr_spgemm_work *w, int64_t entries, size_t size)
{
    void *larger = w->memory.resize(*block, (size_t)entries * size);
    if (!larger)
        return false;
    advise(larger, (size_t)entries * size);
    *block = larger;
    return true;
}

static bool set_room(tsr_sg_thread *t, const tsr_spgemm_work *w, int64_t room)
{
    void *i = t->i;
    const bool ok = resize(&i, w, room, sizeof *t->i);
    t->i = i;
    if (!ok || (w->job.valued && !resize(&t->x, w, room, w->job.size)))
        return false;
    t->capacity = room;
    return true;
}

static bool grow(tsr_sg_thread *t, const tsr_spgemm_work *w, int64_t entries)
{
    const int64_t least = t->used + entries, first = t->capacity ? t->capacity + t->capacity / 4 : t->expected;
    return (first > least && set_room(t, w, first)) || set_room(t, w, least);
}

bool tsr_sg_room(tsr_sg_thread *t, const tsr_spgemm_work *w, int64_t entries)
{
    if (t->used + entries > t->capacity && !grow(t, w, entries))
        return false;
    if (t->used - t->base + entries < (int64_t)tsr_sg_most_places)
        return true;
    t->base = t->used;
    if (t->place)
        memset(t->place, 0, (size_t)w->job.n * sizeof *t->place);
    return true;
}
