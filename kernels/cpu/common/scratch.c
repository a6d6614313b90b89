/* What each thread keeps between calls on sparse vectors: marks, sums and lists, grown by need and given back with the thread.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "kernels/cpu/common/scratch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of more than this nothing is kept: a call on such vectors can pay for its memory. */
#define KEPT_PLACES (INT64_C(1) << 25)

/* A page made when it is touched takes about two microseconds, as much as a small call: those of marks, which calls touch all over, are made
 * at once when so many calls have come, up to so many. */
#define POPULATING_CALL 6
#define POPULATED_PLACES (INT64_C(1) << 21)

/* Lists begin with room for a whole vector of up to so many places: pages that nobody writes to cost nothing, those that move have to be forgotten by
 * all processors. */
#define WHOLE_LISTS (INT64_C(1) << 18)

enum { LISTS = 4 };

static _Thread_local tsr_scratch *mine;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool has_key;

/* Zeros, page by page when one is touched: calloc would write all of them into memory that was used before. */
static void *map(int64_t bytes)
{
    void *at = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

/* One mapping holds the sums and behind them the marks. */
static void unmap_places(tsr_scratch *s)
{
    if (s->sums)
        munmap(s->sums, (size_t)s->places * 9);
    s->sums = NULL;
    s->marks = NULL;
    s->places = 0;
}

static void unmap_block(tsr_scratch *s)
{
    if (s->block)
        munmap(s->block, (size_t)s->bytes);
    s->block = NULL;
    s->bytes = 0;
}

static void unmap_zeros(tsr_scratch *s)
{
    if (s->zeros)
        munmap(s->zeros, (size_t)s->zero_bytes);
    s->zeros = NULL;
    s->zero_bytes = 0;
}

/* A list is whole pages. */
static size_t bytes_of(int64_t entries)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return ((size_t)entries * 8 + page - 1) / page * page;
}

static void get_lists(void *lists[LISTS], const tsr_scratch *s)
{
    void *of_s[LISTS] = {s->i, s->from, s->at, s->x};
    memcpy(lists, of_s, sizeof of_s);
}

static void set_lists(tsr_scratch *s, void *const lists[LISTS], int64_t entries)
{
    s->i = lists[0];
    s->from = lists[1];
    s->at = lists[2];
    s->x = lists[3];
    s->entries = entries;
}

/* One mapping for all, until they grow. */
static bool map_lists(tsr_scratch *s, int64_t entries)
{
    void *lists[LISTS];
    char *at = map((int64_t)bytes_of(entries) * LISTS);
    for (int l = 0; at && l < LISTS; l++)
        lists[l] = at + (size_t)l * bytes_of(entries);
    if (at)
        set_lists(s, lists, entries);
    return at;
}

static void unmap_lists(tsr_scratch *s)
{
    void *lists[LISTS];
    get_lists(lists, s);
    for (int l = 0; s->entries > 0 && l < LISTS; l++)
        munmap(lists[l], bytes_of(s->entries));
    s->entries = 0;
}

/* Pages move with what they hold: of a list that grows none is copied, and none made that nobody has written to. */
static bool resize(void **list, int64_t from, int64_t to)
{
    void *moved = mremap(*list, bytes_of(from), bytes_of(to), MREMAP_MAYMOVE);
    if (moved == MAP_FAILED)
        return false;
    *list = moved;
    return true;
}

static bool resize_lists(tsr_scratch *s, int64_t to)
{
    void *lists[LISTS];
    int done = 0;
    get_lists(lists, s);
    while (done < LISTS && resize(&lists[done], s->entries, to))
        done++;
    for (int l = 0; done < LISTS && l < done; l++)
        (void)resize(&lists[l], to, s->entries); /* no larger than it was: that cannot fail */
    set_lists(s, lists, done == LISTS ? to : s->entries);
    return done == LISTS;
}

static void release(void *scratch)
{
    tsr_scratch *s = scratch;
    if (!s)
        return;
    unmap_places(s);
    unmap_block(s);
    unmap_zeros(s);
    unmap_lists(s);
    free(s);
}

static void at_thread_end(void *scratch)
{
    mine = NULL;
    release(scratch);
}

static void make_key(void)
{
    has_key = pthread_key_create(&key, at_thread_end) == 0;
}

static tsr_scratch *find(void)
{
    if (mine)
        return mine;
    pthread_once(&once, make_key);
    tsr_scratch *s = has_key ? calloc(1, sizeof *s) : NULL;
    if (s && pthread_setspecific(key, s) != 0) {
        free(s);
        return NULL;
    }
    return mine = s;
}

static void populate(const tsr_scratch *s)
{
#ifdef MADV_POPULATE_WRITE
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)s->marks & ~(page - 1);
    if (s->places <= POPULATED_PLACES)
        (void)madvise((void *)start, (uintptr_t)s->marks + (uintptr_t)s->places - start, MADV_POPULATE_WRITE);
#else
    (void)s;
#endif
}

static bool make_places(tsr_scratch *s, int64_t places)
{
    const int64_t wanted = places + places / 4;
    unmap_places(s);
    s->sums = map(wanted * 9);
    s->marks = s->sums ? (uint8_t *)s->sums + wanted * 8 : NULL;
    s->places = s->sums ? wanted : 0;
    s->generation = 0;
    s->calls = 0;
    return s->sums;
}

bool tsr_scratch_grow(tsr_scratch *s, int64_t entries)
{
    if (entries <= s->entries)
        return true;
    const int64_t wanted = entries + entries / 2 + 64, whole = s->places < WHOLE_LISTS ? s->places : WHOLE_LISTS;
    if (s->entries > 0)
        return resize_lists(s, wanted);
    return (whole > wanted && map_lists(s, whole)) || map_lists(s, wanted);
}

tsr_scratch *tsr_scratch_get(int64_t places, int64_t entries)
{
    tsr_scratch *s = find();
    if (!s || (places > s->places && !make_places(s, places)) || !tsr_scratch_grow(s, entries))
        return NULL;
    if (s->calls < POPULATING_CALL && ++s->calls == POPULATING_CALL)
        populate(s);
    return s;
}

void *tsr_scratch_block(int64_t bytes)
{
    tsr_scratch *s = find();
    if (!s || bytes <= s->bytes)
        return s ? s->block : NULL;
    unmap_block(s);
    s->block = map(bytes);
    s->bytes = s->block ? bytes : 0;
    return s->block;
}

uint8_t *tsr_scratch_zeros(int64_t bytes)
{
    tsr_scratch *s = find();
    if (!s || bytes <= s->zero_bytes)
        return s ? s->zeros : NULL;
    unmap_zeros(s);
    s->zeros = map(bytes);
    s->zero_bytes = s->zeros ? bytes : 0;
    return s->zeros;
}

void tsr_scratch_keep(int64_t most)
{
    if (!mine || mine->bytes + mine->zero_bytes <= most)
        return;
    unmap_block(mine);
    unmap_zeros(mine);
}

uint8_t tsr_scratch_generation(tsr_scratch *s, int count)
{
    if (s->generation + count > UINT8_MAX) {
        memset(s->marks, 0, (size_t)s->places);
        s->generation = 0;
    }
    const uint8_t first = (uint8_t)(s->generation + 1);
    s->generation = (uint8_t)(s->generation + count);
    return first;
}

void tsr_few_forget(void)
{
    if (!mine)
        return;
    pthread_setspecific(key, NULL);
    release(mine);
    mine = NULL;
}

void tsr_few_release(tsr_few *few)
{
    for (int64_t r = 0; r < few->nvec; r++) {
        free(few->vectors[r].owned);
        few->vectors[r].owned = NULL;
    }
    if (mine && (mine->places > KEPT_PLACES || mine->entries > KEPT_PLACES || mine->bytes / 8 > KEPT_PLACES))
        tsr_few_forget();
}
