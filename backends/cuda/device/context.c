/* Opening the device, and what is held for the whole process.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/device/context.h"

#include <unistd.h>

#include "src/policy/model/model.h"

tsr_cuda_process tsr_cuda_all = {.busy = PTHREAD_MUTEX_INITIALIZER, .chunk = TSR_CUDA_CHUNK_BYTES, .tile = TSR_CUDA_TILE_BYTES,
                                 .row = TSR_CUDA_ROW_BYTES, .direct_row = TSR_CUDA_DIRECT_ROW_BYTES, .ring = TSR_CUDA_RING};

static tsr_cuda_context only;
_Thread_local tsr_cuda_context *tsr_cuda = &only;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static tsr_backend_options chosen;
static pid_t owner;
static bool opened;

static tsr_status open_device(void)
{
    size_t available = 0;
    tsr_status status = tsr_cuda_open(chosen.device, &tsr_cuda->device);
    if (status == TSR_OK)
        status = tsr_cuda_free_memory(&available);
    tsr_cuda->model = chosen.model ? chosen.model : tsr_model_default(tsr_cuda->device.major * 10 + tsr_cuda->device.minor);
    tsr_cuda->cap = chosen.device_memory ? chosen.device_memory : available / 5 * 4;
    void **const streams[] = {&tsr_cuda->compute, &tsr_cuda->up, &tsr_cuda->down};
    for (int k = 0; k < 3 && status == TSR_OK; k++)
        status = tsr_cuda_stream_new(streams[k]);
    return status == TSR_OK ? tsr_cuda_event_new(&tsr_cuda->order) : status;
}

static void open_once(void)
{
    void *before = tsr_cuda_current();
    owner = getpid();
    opened = open_device() == TSR_OK;
    tsr_cuda_restore(before);
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

tsr_status tsr_cuda_enter(void **before)
{
    *before = tsr_cuda_current();
    return tsr_cuda_use(tsr_cuda->device.ordinal);
}

void tsr_cuda_leave(void *before)
{
    tsr_cuda_restore(before);
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

/* tsr_cuda_all.busy is held. */
static void free_dead(void)
{
    pthread_mutex_lock(&letting_go);
    tsr_cuda_dead *first = all_dead;
    all_dead = NULL;
    pthread_mutex_unlock(&letting_go);
    for (tsr_cuda_dead *dead = first, *next; dead; dead = next) {
        next = dead->next;
        dead->free(dead);
    }
    tsr_cuda_all.callbacks->drop_unseen();
}

tsr_status tsr_cuda_begin(void **before)
{
    pthread_mutex_lock(&tsr_cuda_all.busy);
    tsr_status status = tsr_cuda_enter(before);
    if (status == TSR_OK)
        free_dead();
    return status;
}

void tsr_cuda_end(void *before)
{
    tsr_cuda_leave(before);
    pthread_mutex_unlock(&tsr_cuda_all.busy);
}

void tsr_cuda_free_dead_unless_busy(void)
{
    void *before;
    if (pthread_mutex_trylock(&tsr_cuda_all.busy) != 0)
        return;
    if (tsr_cuda_enter(&before) == TSR_OK)
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
