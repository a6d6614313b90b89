/* Opening the device, and what is held for the whole process.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/context.h"

#include <unistd.h>

#include "backends/cuda/sparse.h"

tsr_cuda_context tsr_cuda = {.busy = PTHREAD_MUTEX_INITIALIZER, .chunk = TSR_CUDA_CHUNK_BYTES, .panel = TSR_CUDA_PANEL_BYTES};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static tsr_backend_options wanted;
static pid_t owner;
static bool opened;

static tsr_status open_device(void)
{
    size_t available = 0;
    tsr_status status = tsr_cuda_open(wanted.device, &tsr_cuda.device);
    if (status == TSR_OK)
        status = tsr_cuda_free_memory(&available);
    tsr_cuda.cap = wanted.device_memory ? wanted.device_memory : available / 5 * 4;
    void **const streams[] = {&tsr_cuda.compute, &tsr_cuda.up, &tsr_cuda.down};
    for (int k = 0; k < 3 && status == TSR_OK; k++)
        status = tsr_cuda_stream_new(streams[k]);
    return status == TSR_OK ? tsr_cuda_event_new(&tsr_cuda.order) : status;
}

static void open_once(void)
{
    owner = getpid();
    opened = open_device() == TSR_OK;
}

bool tsr_cuda_start(const tsr_backend_options *options)
{
    wanted = *options;
    pthread_once(&once, open_once);
    return opened;
}

bool tsr_cuda_alive(void)
{
    return opened && getpid() == owner;
}

/* ---- streams ---- */

tsr_status tsr_cuda_after(void *stream, void *earlier)
{
    tsr_status status = tsr_cuda_event_record(tsr_cuda.order, earlier);
    return status == TSR_OK ? tsr_cuda_event_follow(tsr_cuda.order, stream) : status;
}

tsr_status tsr_cuda_settle(void)
{
    void *const streams[] = {tsr_cuda.up, tsr_cuda.compute, tsr_cuda.down};
    tsr_status status = TSR_OK;
    for (int k = 0; k < 3; k++) {
        tsr_status one = tsr_cuda_wait(streams[k]);
        status = status == TSR_OK ? one : status;
    }
    return status;
}

/* ---- staging ---- */

static tsr_status new_lane(tsr_cuda_lane *lane)
{
    tsr_status status = TSR_OK;
    for (int turn = 0; turn < TSR_CUDA_TURNS && status == TSR_OK; turn++) {
        status = tsr_cuda_pin(&lane->staging[turn], (size_t)tsr_cuda.chunk);
        if (status == TSR_OK)
            status = tsr_cuda_event_new(&lane->event[turn]);
    }
    if (status == TSR_OK)
        return status;
    for (int turn = 0; turn < TSR_CUDA_TURNS; turn++) {
        tsr_cuda_unpin(lane->staging[turn]);
        tsr_cuda_event_free(lane->event[turn]);
    }
    *lane = (tsr_cuda_lane){0};
    return status;
}

int tsr_cuda_need_lanes(int count)
{
    count = count > TSR_CUDA_LANES ? TSR_CUDA_LANES : count < 1 ? 1 : count;
    tsr_status status = TSR_OK;
    while (tsr_cuda.nlanes < count && (status = new_lane(&tsr_cuda.lanes[tsr_cuda.nlanes])) == TSR_OK)
        tsr_cuda.nlanes++;
    if (status == TSR_INTERNAL_ERROR || tsr_cuda.nlanes == 0)
        return (int)status;
    return tsr_cuda.nlanes < count ? tsr_cuda.nlanes : count;
}

/* ---- device memory ---- */

bool tsr_cuda_reserve(size_t bytes)
{
    if (bytes > tsr_cuda.cap)
        return false; /* and nothing is evicted in vain */
    while (bytes > tsr_cuda.cap - tsr_cuda.used)
        if (!tsr_cuda_evict_oldest())
            return false;
    tsr_cuda.used += bytes;
    return true;
}

void tsr_cuda_unreserve(size_t bytes)
{
    tsr_cuda.used -= bytes;
}

tsr_status tsr_cuda_new(void **p, size_t bytes)
{
    return tsr_cuda_malloc(p, bytes ? bytes : 1, tsr_cuda.compute);
}

void tsr_cuda_delete(void *p)
{
    tsr_cuda_free(p, tsr_cuda.compute);
}
