/* Chunks of arrays on their way to the host: each thread has two, one is emptied while the other arrives.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/transfer/fetch.h"

#include <stdatomic.h>
#include <string.h>

#include "backends/cuda/transfer/host_copy.h"

/* So many chunks at most are waited for as a whole, and half of one is not worth a second thread.  Pieces of a chunk, for as many threads. */
enum { TOGETHER = 8, PIECES = 16 };

typedef struct fetch_job {
    tsr_cuda_context *on;
    const tsr_cuda_fetched *arrays;
    int64_t before[TSR_CUDA_FETCHED + 1]; /* chunks of the arrays before each; all of them */
    int count;
    atomic_int_least64_t next, total;
    atomic_int status;
} fetch_job;

/* Elements [first, last) of an array. */
typedef struct range {
    const tsr_cuda_fetched *array;
    int64_t first, last;
} range;

static int64_t chunks_of(const fetch_job *j)
{
    return j->before[j->count];
}

static range range_of(const fetch_job *j, int64_t chunk)
{
    int k = 0;
    while (chunk >= j->before[k + 1])
        k++;
    const tsr_cuda_fetched *array = &j->arrays[k];
    const int64_t elements = tsr_cuda_chunk_elements(array->size), first = (chunk - j->before[k]) * elements;
    return (range){array, first, first + elements < array->count ? first + elements : array->count};
}

static tsr_status send(const range *r, const tsr_cuda_chunk *c)
{
    const size_t size = r->array->size;
    return tsr_cuda_to_host(c->staging, (const char *)r->array->device + (size_t)r->first * size, (size_t)(r->last - r->first) * size, tsr_cuda->down);
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
    const int64_t chunk = atomic_load(&j->status) ? chunks_of(j) : atomic_fetch_add(&j->next, 1);
    if (chunk >= chunks_of(j))
        return -1;
    const range r = range_of(j, chunk);
    tsr_status status = send(&r, c);
    if (status == TSR_OK)
        status = tsr_cuda_event_record(c->event, tsr_cuda->down);
    return check(j, status) ? chunk : -1;
}

static void empty(fetch_job *j, const tsr_cuda_chunk *c, int64_t chunk)
{
    const range r = range_of(j, chunk);
    if (check(j, tsr_cuda_event_wait(c->event)))
        atomic_fetch_add(&j->total, r.array->take(r.array->target, c->staging, r.first, r.last));
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

static bool is_little(const fetch_job *j)
{
    int64_t bytes = 0;
    for (int k = 0; k < j->count; k++)
        bytes += j->arrays[k].count * (int64_t)j->arrays[k].size;
    return bytes <= tsr_cuda_all.chunk / 2;
}

static tsr_status download_all(const fetch_job *j)
{
    tsr_status status = TSR_OK;
    for (int64_t chunk = 0; chunk < chunks_of(j) && status == TSR_OK; chunk++) {
        const range r = range_of(j, chunk);
        status = send(&r, &j->on->chunks[chunk]);
    }
    const tsr_status waited = tsr_cuda_wait(j->on->down);
    return status == TSR_OK ? waited : status;
}

static int64_t take_piece(const fetch_job *j, int64_t piece)
{
    const range r = range_of(j, piece / PIECES);
    const int64_t each = (tsr_cuda_chunk_elements(r.array->size) + PIECES - 1) / PIECES, from = piece % PIECES * each, first = r.first + from;
    const int64_t last = first + each < r.last ? first + each : r.last;
    const char *staging = j->on->chunks[piece / PIECES].staging;
    return first < last ? r.array->take(r.array->target, staging + (size_t)from * r.array->size, first, last) : 0;
}

/* Emptying a chunk takes a thread longer than the bus takes to fill it.  So what fits into a few is brought there by one thread, which asks the driver
 * and waits once, and is taken out by all. */
static tsr_status fetch_together(fetch_job *j, int nthreads)
{
    const tsr_status status = download_all(j);
    const int64_t pieces = status == TSR_OK ? chunks_of(j) * PIECES : 0;
    int64_t total = 0;
#pragma omp parallel for num_threads(nthreads) reduction(+ : total) if (nthreads > 1)
    for (int64_t piece = 0; piece < pieces; piece++)
        total += take_piece(j, piece);
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

static tsr_status fetch_as_fits(fetch_job *j, int pairs, int nthreads)
{
    const bool little = is_little(j), few = chunks_of(j) <= TOGETHER && chunks_of(j) <= 2 * pairs;
    return few && (little || nthreads > 1) ? fetch_together(j, little ? 1 : nthreads) : fetch_by_chunks(j, little ? 1 : pairs, nthreads);
}

tsr_status tsr_cuda_fetch_all(const tsr_cuda_fetched *arrays, int count, int nthreads, int64_t *total, int64_t *moved)
{
    fetch_job j = {.on = tsr_cuda, .arrays = arrays, .count = count};
    for (int k = 0; k < count; k++)
        j.before[k + 1] = j.before[k] + (arrays[k].count + tsr_cuda_chunk_elements(arrays[k].size) - 1) / tsr_cuda_chunk_elements(arrays[k].size);
    const int pairs = tsr_cuda_need_pairs(chunks_of(&j) < nthreads ? chunks_of(&j) : nthreads);
    tsr_status status = pairs < 0 ? (tsr_status)pairs : tsr_cuda_after(tsr_cuda->down, tsr_cuda->compute);
    if (status != TSR_OK)
        return status;
    status = fetch_as_fits(&j, pairs, nthreads);
    if (total)
        *total += atomic_load(&j.total);
    for (int k = 0; k < count; k++)
        *moved += arrays[k].count * (int64_t)arrays[k].size;
    return status;
}

tsr_status tsr_cuda_fetch(const void *device, int64_t count, size_t size, tsr_cuda_take take, void *target, int nthreads,
                          int64_t *total, int64_t *moved)
{
    return tsr_cuda_fetch_all(&(tsr_cuda_fetched){device, count, size, take, target}, 1, nthreads, total, moved);
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
