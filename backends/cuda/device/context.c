/* Opening devices, and what is held for the whole process.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/device/context.h"

#include <stdlib.h>
#include <unistd.h>

#include "src/policy/model/model.h"

tsr_cuda_process tsr_cuda_all = {.busy = PTHREAD_MUTEX_INITIALIZER, .chunk = TSR_CUDA_CHUNK_BYTES, .tile = TSR_CUDA_TILE_BYTES,
                                 .row = TSR_CUDA_ROW_BYTES, .direct_row = TSR_CUDA_DIRECT_ROW_BYTES, .ring = TSR_CUDA_RING};

static tsr_cuda_context first;
_Thread_local tsr_cuda_context *tsr_cuda = &first;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static tsr_backend_options chosen;
static pid_t owner;
static bool opened;

/* Other devices than the first one, by number; made when they are asked for, and never freed. */
enum { MOST_DEVICES = 64 };
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static tsr_cuda_context *others[MOST_DEVICES];

/* ---- opening ---- */

static tsr_status open_device(tsr_cuda_context *c, int ordinal)
{
    size_t available = 0;
    tsr_status status = tsr_cuda_open(ordinal, &c->device);
    if (status == TSR_OK)
        status = tsr_cuda_free_memory(&available);
    c->context = tsr_cuda_current();
    c->model = chosen.model ? chosen.model : tsr_model_default(c->device.major * 10 + c->device.minor);
    c->cap = chosen.device_memory ? chosen.device_memory : available / 5 * 4;
    void **const streams[] = {&c->compute, &c->up, &c->down};
    for (int k = 0; k < 3 && status == TSR_OK; k++)
        status = tsr_cuda_stream_new(streams[k]);
    return status == TSR_OK ? tsr_cuda_event_new(&c->order) : status;
}

static void open_once(void)
{
    void *before = tsr_cuda_current();
    owner = getpid();
    opened = open_device(&first, chosen.device) == TSR_OK;
    if (opened && chosen.beside)
        (void)tsr_cuda_need_pairs(tsr_cuda_all.ring); /* 30 to 40 ms of the first upload otherwise */
    tsr_cuda_restore(before);
}

static tsr_cuda_context *open_other(int ordinal)
{
    void *before = tsr_cuda_current();
    tsr_cuda_context *c = ordinal < tsr_cuda_count() ? calloc(1, sizeof *c) : NULL;
    if (c && open_device(c, ordinal) != TSR_OK) {
        free(c); /* a stream may be lost with it, as the device is */
        c = NULL;
    }
    tsr_cuda_restore(before);
    return c;
}

tsr_cuda_context *tsr_cuda_first(void)
{
    return &first;
}

tsr_cuda_context *tsr_cuda_device_numbered(int which)
{
    if (which == 0 || which - 1 == first.device.ordinal)
        return &first;
    if (which < 0 || which > MOST_DEVICES)
        return NULL;
    pthread_mutex_lock(&opening);
    tsr_cuda_context **c = &others[which - 1];
    if (!*c)
        *c = open_other(which - 1);
    pthread_mutex_unlock(&opening);
    return *c;
}

int tsr_cuda_which(const void *p)
{
    const int ordinal = tsr_cuda_ordinal_of(p);
    return ordinal < 0 ? 0 : ordinal + 1;
}

bool tsr_cuda_start(const tsr_backend_options *options, const tsr_cuda_callbacks *callbacks)
{
    chosen = *options;
    tsr_cuda_all.timed = options->timed;
    tsr_cuda_all.callbacks = callbacks;
    pthread_once(&once, open_once);
    return opened;
}

bool tsr_cuda_alive(void)
{
    return opened && getpid() == owner;
}

tsr_status tsr_cuda_enter(tsr_cuda_context *device, tsr_cuda_place *before)
{
    *before = (tsr_cuda_place){tsr_cuda, tsr_cuda_current()};
    tsr_cuda = device;
    return before->context == device->context ? TSR_OK : tsr_cuda_use(device->device.ordinal);
}

void tsr_cuda_leave(tsr_cuda_place before)
{
    if (before.context != tsr_cuda->context)
        tsr_cuda_restore(before.context);
    tsr_cuda = before.device;
}

/* Guards the list; held for moments only. */
static pthread_mutex_t letting_go = PTHREAD_MUTEX_INITIALIZER;
static tsr_cuda_dead *all_dead;

void tsr_cuda_let_go(tsr_cuda_dead *dead)
{
    pthread_mutex_lock(&letting_go);
    dead->next = all_dead;
    all_dead = dead;
    pthread_mutex_unlock(&letting_go);
}

static void free_there(tsr_cuda_dead *dead)
{
    tsr_cuda_place before;
    if (tsr_cuda_enter(dead->device ? dead->device : &first, &before) == TSR_OK)
        dead->free(dead);
    tsr_cuda_leave(before);
}

/* tsr_cuda_all.busy is held. */
static void free_dead(void)
{
    tsr_cuda_place before;
    pthread_mutex_lock(&letting_go);
    tsr_cuda_dead *dead = all_dead;
    all_dead = NULL;
    pthread_mutex_unlock(&letting_go);
    for (tsr_cuda_dead *next; dead; dead = next) {
        next = dead->next;
        free_there(dead);
    }
    if (tsr_cuda_enter(&first, &before) == TSR_OK)
        tsr_cuda_all.callbacks->drop_unseen();
    tsr_cuda_leave(before);
}

tsr_status tsr_cuda_begin(tsr_cuda_context *device, tsr_cuda_place *before)
{
    pthread_mutex_lock(&tsr_cuda_all.busy);
    tsr_status status = tsr_cuda_enter(device, before);
    if (status == TSR_OK)
        free_dead();
    return status;
}

void tsr_cuda_end(tsr_cuda_place before)
{
    tsr_cuda_leave(before);
    pthread_mutex_unlock(&tsr_cuda_all.busy);
}

void tsr_cuda_free_dead_unless_busy(void)
{
    tsr_cuda_place before;
    if (pthread_mutex_trylock(&tsr_cuda_all.busy) != 0)
        return;
    if (tsr_cuda_enter(&first, &before) == TSR_OK)
        free_dead();
    tsr_cuda_end(before);
}

/* ---- streams ---- */

tsr_status tsr_cuda_after(void *stream, void *earlier)
{
    tsr_status status = tsr_cuda_event_record(tsr_cuda->order, earlier);
    return status == TSR_OK ? tsr_cuda_event_follow(tsr_cuda->order, stream) : status;
}

tsr_status tsr_cuda_settle(void)
{
    void *const streams[] = {tsr_cuda->up, tsr_cuda->compute, tsr_cuda->down};
    tsr_status status = TSR_OK;
    for (int k = 0; k < 3; k++) {
        tsr_status one = tsr_cuda_wait(streams[k]);
        status = status == TSR_OK ? one : status;
    }
    return status;
}

/* ---- staging ---- */

static void free_chunk(tsr_cuda_chunk *c)
{
    tsr_cuda_unpin(c->staging);
    tsr_cuda_event_free(c->event);
    *c = (tsr_cuda_chunk){0};
}

static tsr_status new_chunk(tsr_cuda_chunk *c)
{
    tsr_status status = tsr_cuda_pin(&c->staging, (size_t)tsr_cuda_all.chunk);
    if (status == TSR_OK)
        status = tsr_cuda_event_new(&c->event);
    if (status != TSR_OK)
        free_chunk(c);
    return status;
}

static tsr_status new_pair(tsr_cuda_chunk pair[2])
{
    tsr_status status = new_chunk(&pair[0]);
    if (status == TSR_OK && (status = new_chunk(&pair[1])) != TSR_OK)
        free_chunk(&pair[0]);
    return status;
}

int tsr_cuda_need_pairs(int64_t wanted)
{
    int count = wanted > tsr_cuda_all.ring ? tsr_cuda_all.ring : wanted < 1 ? 1 : (int)wanted;
    tsr_status status = TSR_OK;
    while (tsr_cuda->npairs < count && (status = new_pair(&tsr_cuda->chunks[2 * tsr_cuda->npairs])) == TSR_OK)
        tsr_cuda->npairs++;
    if (status == TSR_INTERNAL_ERROR || tsr_cuda->npairs == 0)
        return (int)status;
    return tsr_cuda->npairs < count ? tsr_cuda->npairs : count;
}

/* ---- device memory ---- */

bool tsr_cuda_reserve(size_t bytes)
{
    if (bytes > tsr_cuda->cap)
        return false; /* and nothing is evicted in vain */
    while (!tsr_cuda_has_room(bytes))
        if (!tsr_cuda_all.callbacks->evict_oldest())
            return false;
    tsr_cuda->used += bytes;
    return true;
}

bool tsr_cuda_has_room(size_t bytes)
{
    return bytes <= tsr_cuda->cap - tsr_cuda->used;
}

void tsr_cuda_evict_all(void)
{
    free_dead();
    while (tsr_cuda_all.callbacks->evict_oldest())
        ;
}

void tsr_cuda_unreserve(size_t bytes)
{
    tsr_cuda->used -= bytes;
}

tsr_status tsr_cuda_new(void **p, size_t bytes)
{
    return tsr_cuda_malloc(p, bytes ? bytes : 1, tsr_cuda->compute);
}

void tsr_cuda_delete(void *p)
{
    tsr_cuda_free(p, tsr_cuda->compute);
}
