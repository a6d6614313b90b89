/* Chunks of an array on their way to the host: each thread has two, one is emptied while the other arrives.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/transfer/fetch.h"

#include <stdatomic.h>
#include <string.h>

#include "backends/cuda/transfer/host_copy.h"

/* So many chunks at most are waited for as a whole, and half of one is not worth a second thread.  Pieces of a chunk, for as many threads. */
enum { TOGETHER = 8, PIECES = 16 };

typedef struct fetch_job {
    tsr_cuda_context *on;
    const char *device;
    int64_t count, chunk, nchunks;
    size_t size;
    tsr_cuda_take take;
    void *target;
    atomic_int_least64_t next, total;
    atomic_int status;
} fetch_job;

static int64_t end_of(const fetch_job *j, int64_t chunk)
{
    int64_t end = (chunk + 1) * j->chunk;
    return end < j->count ? end : j->count;
}

static bool check(fetch_job *j, tsr_status status)
{
    if (status != TSR_OK)
        atomic_store(&j->status, (int)status);
    return status == TSR_OK;
}

/* The number of the chunk that is now on its way to c; -1: there is none left, or something has failed. */
static int64_t ask(fetch_job *j, const tsr_cuda_chunk *c)
{
    int64_t chunk = atomic_load(&j->status) ? j->nchunks : atomic_fetch_add(&j->next, 1);
    if (chunk >= j->nchunks)
        return -1;
    int64_t first = chunk * j->chunk;
    size_t bytes = (size_t)(end_of(j, chunk) - first) * j->size;
    tsr_status status = tsr_cuda_to_host(c->staging, j->device + (size_t)first * j->size, bytes, tsr_cuda->down);
    if (status == TSR_OK)
        status = tsr_cuda_event_record(c->event, tsr_cuda->down);
    return check(j, status) ? chunk : -1;
}

static void empty(fetch_job *j, const tsr_cuda_chunk *c, int64_t chunk)
{
    if (check(j, tsr_cuda_event_wait(c->event)))
        atomic_fetch_add(&j->total, j->take(j->target, c->staging, chunk * j->chunk, end_of(j, chunk)));
}

static void fetch_chunks(fetch_job *j, const tsr_cuda_chunk pair[2])
{
    tsr_cuda_place before;
    int64_t coming = check(j, tsr_cuda_enter(j->on, &before)) ? ask(j, &pair[0]) : -1;
    for (int turn = 0; coming >= 0; turn = 1 - turn) {
        int64_t next = ask(j, &pair[1 - turn]);
        empty(j, &pair[turn], coming);
        coming = next;
    }
    tsr_cuda_leave(before);
}

/* ---- a few chunks ---- */

/* Emptying a chunk takes a thread longer than the bus takes to fill it.  So what fits into a few is brought there by one thread, which asks the driver
 * and waits once, and is taken out by all. */
static bool fits_together(const fetch_job *j, int pairs, int nthreads)
{
    return nthreads > 1 && j->count > j->chunk / 2 && j->nchunks <= TOGETHER && j->nchunks <= 2 * pairs;
}

static tsr_status download_all(fetch_job *j)
{
    tsr_status status = TSR_OK;
    for (int64_t chunk = 0; chunk < j->nchunks && status == TSR_OK; chunk++) {
        const int64_t first = chunk * j->chunk;
        status = tsr_cuda_to_host(j->on->chunks[chunk].staging, j->device + (size_t)first * j->size, (size_t)(end_of(j, chunk) - first) * j->size,
                                  j->on->down);
    }
    const tsr_status waited = tsr_cuda_wait(j->on->down);
    return status == TSR_OK ? waited : status;
}

static tsr_status fetch_together(fetch_job *j, int nthreads)
{
    const tsr_status status = download_all(j);
    const int64_t per_chunk = (j->chunk + PIECES - 1) / PIECES, pieces = status == TSR_OK ? j->nchunks * PIECES : 0;
    int64_t total = 0;
#pragma omp parallel for num_threads(nthreads) reduction(+ : total)
    for (int64_t piece = 0; piece < pieces; piece++) {
        const int64_t chunk = piece / PIECES, begin = chunk * j->chunk, end = end_of(j, chunk), first = begin + piece % PIECES * per_chunk;
        const int64_t last = first + per_chunk < end ? first + per_chunk : end;
        if (first < last)
            total += j->take(j->target, (const char *)j->on->chunks[chunk].staging + (size_t)(first - begin) * j->size, first, last);
    }
    atomic_store(&j->total, total);
    return status;
}

/* ---- any number of them ---- */

static tsr_status fetch_by_chunks(fetch_job *j, int pairs, int nthreads)
{
#pragma omp parallel for num_threads(nthreads) schedule(static, 1) if (pairs > 1) /* a smaller team would end threads */
    for (int pair = 0; pair < pairs; pair++)
        fetch_chunks(j, &j->on->chunks[2 * pair]);
    return (tsr_status)atomic_load(&j->status);
}

tsr_status tsr_cuda_fetch(const void *device, int64_t count, size_t size, tsr_cuda_take take, void *target, int nthreads,
                          int64_t *total, int64_t *moved)
{
    fetch_job j = {.on = tsr_cuda, .device = device, .count = count, .size = size, .take = take, .target = target};
    j.chunk = tsr_cuda_chunk_elements(size);
    j.nchunks = (count + j.chunk - 1) / j.chunk;
    int pairs = tsr_cuda_need_pairs(j.nchunks < nthreads ? j.nchunks : nthreads);
    tsr_status status = pairs < 0 ? (tsr_status)pairs : tsr_cuda_after(tsr_cuda->down, tsr_cuda->compute);
    if (status != TSR_OK)
        return status;
    status = fits_together(&j, pairs, nthreads) ? fetch_together(&j, nthreads) : fetch_by_chunks(&j, pairs, nthreads);
    if (total)
        *total += atomic_load(&j.total);
    *moved += count * (int64_t)size;
    return status;
}

/* ---- arrays as they are ---- */

typedef struct target {
    char *values;
    size_t size;
} target;

static int64_t take_values(void *to, const void *staging, int64_t first, int64_t last)
{
    const target *t = to;
    memcpy(t->values + (size_t)first * t->size, staging, (size_t)(last - first) * t->size);
    return 0;
}

static int64_t take_presence(void *to, const void *staging, int64_t first, int64_t last)
{
    memcpy((int8_t *)to + first, staging, (size_t)(last - first));
    return tsr_cuda_count_flags(staging, last - first);
}

static tsr_status fetch_direct(void *host, const void *device, size_t bytes, int64_t *moved)
{
    tsr_status status = tsr_cuda_after(tsr_cuda->down, tsr_cuda->compute);
    if (status == TSR_OK)
        status = tsr_cuda_to_host(host, device, bytes, tsr_cuda->down);
    tsr_status waited = tsr_cuda_wait(tsr_cuda->down);
    *moved += (int64_t)bytes;
    return status == TSR_OK ? waited : status;
}

tsr_status tsr_cuda_fetch_array(void *host, const void *device, int64_t count, size_t size, int nthreads, int64_t *moved)
{
    target t = {.values = host, .size = size};
    if (count == 0)
        return TSR_OK;
    if (tsr_cuda_may_copy_direct(host, 1, count, 0, size))
        return fetch_direct(host, device, (size_t)count * size, moved);
    return tsr_cuda_fetch(device, count, size, take_values, &t, nthreads, NULL, moved);
}

tsr_status tsr_cuda_fetch_presence(int8_t *host, const int8_t *device, int64_t count, int nthreads, int64_t *present, int64_t *moved)
{
    return count ? tsr_cuda_fetch(device, count, 1, take_presence, host, nthreads, present, moved) : TSR_OK;
}
