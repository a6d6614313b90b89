/* Index lists on their way to the device.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/transfer/lists.h"

#include <stdlib.h>
#include <string.h>

#include "backends/cuda/transfer/fetch.h"
#include "backends/cuda/transfer/host_copy.h"

/* Shorter ones are not worth a look; tests have it smaller. */
#ifndef TSR_CUDA_LIST_LEAST
#define TSR_CUDA_LIST_LEAST 4096
#endif

enum { PIECE = 1 << 14 }; /* numbers that a thread compares at a time */

/* The list that was uploaded last, here and on the first device. */
static struct {
    uint32_t *host, *device;
    int64_t count;  /* 0: none */
    int64_t wanted; /* a list of that length was asked for after another one had been uploaded */
    int64_t last;   /* length of that other one */
} kept;

static size_t bytes_of(int64_t count)
{
    return (size_t)count * sizeof(uint32_t);
}

bool tsr_cuda_list_drop(void)
{
    const bool had = kept.count > 0;
    tsr_cuda_delete(kept.device);
    tsr_cuda_unreserve(bytes_of(kept.count));
    free(kept.host);
    kept.host = kept.device = NULL;
    kept.count = 0;
    return had;
}

/* ---- comparing ---- */

typedef bool (*same_fn)(const void *numbers, int64_t first, int64_t last);

static bool same_wide(const void *numbers, int64_t first, int64_t last)
{
    const uint64_t *wide = numbers;
    uint64_t differ = 0;
    for (int64_t k = first; k < last; k++)
        differ |= wide[k] ^ kept.host[k];
    return differ == 0;
}

static bool same_narrow(const void *numbers, int64_t first, int64_t last)
{
    const uint32_t *narrow = numbers;
    uint32_t differ = 0;
    for (int64_t k = first; k < last; k++)
        differ |= narrow[k] ^ kept.host[k];
    return differ == 0;
}

static bool same_places(const void *numbers, int64_t first, int64_t last)
{
    const int64_t *p = numbers;
    int64_t differ = 0;
    for (int64_t k = first; k < last; k++)
        differ |= p[k] ^ k;
    return differ == 0;
}

static bool same_narrow_places(const void *numbers, int64_t first, int64_t last)
{
    const uint32_t *p = numbers;
    uint32_t differ = 0;
    for (int64_t k = first; k < last; k++)
        differ |= p[k] ^ (uint32_t)k;
    return differ == 0;
}

/* The first piece tells most lists apart. */
static bool all_same(same_fn same, const void *numbers, int64_t count, int nthreads)
{
    const int64_t pieces = (count + PIECE - 1) / PIECE;
    bool well = same(numbers, 0, count < PIECE ? count : PIECE);
    if (!well || pieces < 2)
        return well;
#pragma omp parallel for num_threads(nthreads) reduction(&& : well)
    for (int64_t piece = 1; piece < pieces; piece++)
        well = same(numbers, piece * PIECE, (piece + 1) * PIECE < count ? (piece + 1) * PIECE : count) && well;
    return well;
}

bool tsr_cuda_counts_up(tsr_offsets p, int64_t count, int nthreads)
{
    return count >= TSR_CUDA_LIST_LEAST && tsr_offset_at(p, count) == count &&
           all_same(p.narrow ? same_narrow_places : same_places, p.list, count + 1, nthreads);
}

static bool copy_kept(uint32_t *list, const void *numbers, uint8_t index_size, int64_t count, int nthreads)
{
    const bool comparable = tsr_cuda == tsr_cuda_first() && count > 0 && count == kept.count;
    return comparable && all_same(index_size == sizeof(uint64_t) ? same_wide : same_narrow, numbers, count, nthreads) &&
           tsr_cuda_rows_on_device(list, bytes_of(count), kept.device, bytes_of(count), bytes_of(count), 1, tsr_cuda->compute) == TSR_OK;
}

bool tsr_cuda_list_again(uint32_t *list, const void *numbers, uint8_t index_size, int64_t count, int nthreads)
{
    kept.wanted = count == kept.last ? count : kept.wanted;
    return copy_kept(list, numbers, index_size, count, nthreads);
}

/* ---- uploading ---- */

/* Several threads fill parts of it. */
static void fill_list(void *staging, const void *source, int64_t first, int64_t last)
{
    const uint64_t *list = source;
    uint32_t *to = staging;
    for (int64_t k = first; k < last; k++)
        to[k - first] = (uint32_t)list[k];
}

static void fill_and_keep(void *staging, const void *source, int64_t first, int64_t last)
{
    const uint32_t *to = staging;
    fill_list(staging, source, first, last);
    for (int64_t k = first; k < last; k++)
        kept.host[k] = to[k - first];
}

/* Room for a copy, where there is some without giving anything else up. */
static bool make_room(int64_t count)
{
    if (kept.count == count)
        return true;
    tsr_cuda_list_drop();
    const size_t bytes = bytes_of(count);
    if (!tsr_cuda_has_room(bytes) || !tsr_cuda_reserve(bytes))
        return false;
    kept.count = count;
    kept.host = malloc(bytes);
    if (kept.host && tsr_cuda_new((void **)&kept.device, bytes) == TSR_OK)
        return true;
    tsr_cuda_list_drop();
    return false;
}

/* A copy of what is to be the list from now on. */
static tsr_status keep_on_device(const uint32_t *list, int64_t count)
{
    return tsr_cuda_rows_on_device(kept.device, bytes_of(count), list, bytes_of(count), bytes_of(count), 1, tsr_cuda->compute);
}

static bool will_keep(int64_t count)
{
    return tsr_cuda == tsr_cuda_first() && count >= TSR_CUDA_LIST_LEAST && kept.wanted == count && make_room(count);
}

tsr_status tsr_cuda_list_upload(uint32_t *list, const tsr_indices *places, int nthreads, int64_t *moved)
{
    const int64_t count = places->count;
    if (copy_kept(list, places->list, sizeof *places->list, count, nthreads))
        return TSR_OK;
    const bool keeps = will_keep(count);
    kept.last = count;
    tsr_status status = tsr_cuda_after(tsr_cuda->up, tsr_cuda->compute);
    if (status == TSR_OK)
        status = tsr_cuda_host_copy(list, count, sizeof *list, keeps ? fill_and_keep : fill_list, places->list, nthreads, moved);
    if (status == TSR_OK)
        status = tsr_cuda_after(tsr_cuda->compute, tsr_cuda->up);
    if (status == TSR_OK && keeps)
        status = keep_on_device(list, count);
    if (status != TSR_OK && keeps)
        tsr_cuda_list_drop();
    return status;
}

/* ---- to the host ---- */

static int64_t take_numbers(void *numbers, const void *staging, int64_t first, int64_t last)
{
    tsr_cuda_widen((int64_t *)numbers + first, staging, last - first);
    return 0;
}

static int64_t take_and_keep(void *numbers, const void *staging, int64_t first, int64_t last)
{
    memcpy(kept.host + first, staging, bytes_of(last - first));
    return take_numbers(numbers, staging, first, last);
}

tsr_status tsr_cuda_list_fetch(uint64_t *numbers, const uint32_t *device, int64_t count, int nthreads, int64_t *moved)
{
    const bool keeps = will_keep(count);
    tsr_status status = keeps ? keep_on_device(device, count) : TSR_OK;
    if (status == TSR_OK)
        status = tsr_cuda_fetch(device, count, sizeof *device, keeps ? take_and_keep : take_numbers, numbers, nthreads, NULL, moved);
    if (status != TSR_OK && keeps)
        tsr_cuda_list_drop();
    return status;
}
