/* Copies between host arrays and pinned memory.  To the device: ordinary stores, so that the bus reads from the cache.  From
 * the device: stores past the cache where whole cache lines are written, since nobody reads them soon.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/transfer/host_copy.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "backends/cuda/device/context.h"
#include "backends/cuda/transfer/pinned.h"

enum { LINE = 64, LONG_SEGMENT = 1024, LEAST_PIECE = 128 << 10 };

/* ---- one segment ---- */

#ifdef __SSE2__
static void stream_lines(char *to, const char *from, size_t lines)
{
    for (size_t line = 0; line < lines; line++, to += LINE, from += LINE) {
        __m128i a = _mm_loadu_si128((const __m128i *)from), b = _mm_loadu_si128((const __m128i *)(from + 16));
        __m128i c = _mm_loadu_si128((const __m128i *)(from + 32)), d = _mm_loadu_si128((const __m128i *)(from + 48));
        _mm_stream_si128((__m128i *)to, a);
        _mm_stream_si128((__m128i *)(to + 16), b);
        _mm_stream_si128((__m128i *)(to + 32), c);
        _mm_stream_si128((__m128i *)(to + 48), d);
    }
}

/* The ends, which share their lines with others, go through the cache. */
static void copy_past_cache(char *to, const char *from, size_t bytes)
{
    size_t head = -(uintptr_t)to % LINE;
    if (bytes < LONG_SEGMENT && (head || bytes % LINE)) {
        memcpy(to, from, bytes);
        return;
    }
    head = head < bytes ? head : bytes;
    size_t lines = (bytes - head) / LINE, body = head + lines * LINE;
    memcpy(to, from, head);
    stream_lines(to + head, from + head, lines);
    memcpy(to + body, from + body, bytes - body);
}

static void end_of_copies(void)
{
    _mm_sfence();
}

/* Four numbers; to: aligned to 16 bytes. */
static void stream_widened(int64_t *to, const uint32_t *from)
{
    const __m128i four = _mm_loadu_si128((const __m128i *)from), zero = _mm_setzero_si128();
    _mm_stream_si128((__m128i *)to, _mm_unpacklo_epi32(four, zero));
    _mm_stream_si128((__m128i *)(to + 2), _mm_unpackhi_epi32(four, zero));
}
#else
static void stream_widened(int64_t *to, const uint32_t *from)
{
    for (int k = 0; k < 4; k++)
        to[k] = from[k];
}

static void copy_past_cache(char *to, const char *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

static void end_of_copies(void)
{
}
#endif

void tsr_cuda_copy_out(void *to, const void *staging, size_t bytes)
{
    copy_past_cache(to, staging, bytes);
    end_of_copies();
}

void tsr_cuda_widen(int64_t *to, const uint32_t *staging, int64_t count)
{
    int64_t k = 0;
    for (; k < count && (uintptr_t)(to + k) % 16; k++)
        to[k] = staging[k];
    for (; k + 4 <= count; k += 4)
        stream_widened(to + k, staging + k);
    for (; k < count; k++)
        to[k] = staging[k];
    end_of_copies();
}

static void repeat(char *to, const char *value, size_t size, int64_t count)
{
    for (int64_t k = 0; k < count; k++)
        memcpy(to + (size_t)k * size, value, size);
}

/* ---- walking the segments of a range of positions ---- */

typedef struct segment {
    int64_t vector, from, count; /* elements [from, from + count) of this vector of the rectangle */
    int64_t at;                  /* their place in the range */
} segment;

/* What is left of the vector `s` stands in. */
static void measure(segment *s, const tsr_cuda_rectangle *r, int64_t length)
{
    int64_t in_vector = r->inner - s->from, in_range = length - s->at;
    s->count = in_vector < in_range ? in_vector : in_range;
}

static segment first_segment(const tsr_cuda_rectangle *r, int64_t first, int64_t last)
{
    segment s = {.vector = first / r->device_ld, .from = first % r->device_ld};
    measure(&s, r, last - first);
    return s;
}

static void next_segment(segment *s, const tsr_cuda_rectangle *r, int64_t length)
{
    s->at += r->device_ld - s->from;
    s->from = 0;
    s->vector++;
    measure(s, r, length);
}

static char *place(const tsr_cuda_rectangle *r, const segment *s)
{
    return r->host + (size_t)(s->vector * r->host_ld + s->from) * r->size;
}

void tsr_cuda_gather(void *staging, const tsr_cuda_rectangle *r, int64_t first, int64_t last)
{
    for (segment s = first_segment(r, first, last); s.at < last - first; next_segment(&s, r, last - first)) {
        char *to = (char *)staging + (size_t)s.at * r->size;
        if (s.count <= 0)
            continue; /* it began in the padding */
        if (r->iso)
            repeat(to, r->host, r->size, s.count);
        else
            memcpy(to, place(r, &s), (size_t)s.count * r->size);
    }
}

void tsr_cuda_scatter(const tsr_cuda_rectangle *r, const void *staging, int64_t first, int64_t last)
{
    for (segment s = first_segment(r, first, last); s.at < last - first; next_segment(&s, r, last - first))
        if (s.count > 0)
            copy_past_cache(place(r, &s), (const char *)staging + (size_t)s.at * r->size, (size_t)s.count * r->size);
    end_of_copies();
}

/* Eight at a time, as often as a byte can count. */
int64_t tsr_cuda_count_flags(const int8_t *flags, int64_t n)
{
    int64_t count = 0, k = 0;
    while (n - k >= 8) {
        uint64_t sums = 0, word;
        for (int64_t end = n - k < 8 * 255 ? n - 7 : k + 8 * 255 - 7; k < end; k += 8) {
            memcpy(&word, flags + k, sizeof word);
            sums += word;
        }
        for (int byte = 0; byte < 8; byte++)
            count += (int64_t)(sums >> 8 * byte & 255);
    }
    for (; k < n; k++)
        count += flags[k];
    return count;
}

int64_t tsr_cuda_count_present(const tsr_cuda_rectangle *r, const void *staging, int64_t first, int64_t last)
{
    int64_t present = 0;
    for (segment s = first_segment(r, first, last); s.at < last - first; next_segment(&s, r, last - first))
        present += tsr_cuda_count_flags((const int8_t *)staging + s.at, s.count);
    return present;
}

bool tsr_cuda_may_copy_direct(const void *x, int64_t vectors, int64_t length, int64_t ld, size_t size)
{
    bool pitch_fits = ld <= INT32_MAX / (int64_t)size;
    int64_t elements = vectors > 0 ? (vectors - 1) * ld + length : 0;
    return pitch_fits && tsr_cuda_is_pinned(x, (size_t)elements * size);
}

tsr_status tsr_cuda_copy_direct(const tsr_cuda_rectangle *r, bool to_device, void *stream)
{
    tsr_cuda_copy copy = {.device = r->device, .host = r->host, .device_pitch = (size_t)r->device_ld * r->size,
                          .host_pitch = (size_t)r->host_ld * r->size, .width = (size_t)r->inner * r->size,
                          .height = (size_t)r->outer};
    if (copy.width == copy.device_pitch && copy.width == copy.host_pitch) { /* one row */
        copy.width = copy.device_pitch = copy.host_pitch = copy.width * copy.height;
        copy.height = 1;
    }
    return to_device ? tsr_cuda_rows_to_device(&copy, stream) : tsr_cuda_rows_to_host(&copy, stream);
}

/* ---- arrays made on the way ---- */

int64_t tsr_cuda_chunk_elements(size_t size)
{
    return tsr_cuda_all.chunk / (int64_t)size;
}

int64_t tsr_cuda_piece_elements(int64_t count, size_t size, int nthreads)
{
    const int threads = nthreads < 1 ? 1 : nthreads < tsr_cuda_all.ring ? nthreads : tsr_cuda_all.ring;
    const int64_t most = tsr_cuda_chunk_elements(size), least = LEAST_PIECE / (int64_t)size, share = (count + threads - 1) / threads;
    return share > most || least > most ? most : share < least ? least : share;
}

typedef struct staging_job {
    tsr_cuda_context *on;
    char *device;
    int64_t count, chunk, nchunks;
    size_t size;
    tsr_cuda_fill fill;
    const void *source;
    atomic_int_least64_t next;
    atomic_int status;
} staging_job;

static tsr_status stage_chunk(staging_job *j, const tsr_cuda_chunk *c, int64_t chunk)
{
    int64_t first = chunk * j->chunk, last = first + j->chunk < j->count ? first + j->chunk : j->count;
    size_t bytes = (size_t)(last - first) * j->size;
    tsr_status status = tsr_cuda_event_wait(c->event); /* of the chunk before; at once when there was none */
    if (status != TSR_OK)
        return status;
    j->fill(c->staging, j->source, first, last);
    status = tsr_cuda_to_device(j->device + (size_t)first * j->size, c->staging, bytes, tsr_cuda->up);
    return status == TSR_OK ? tsr_cuda_event_record(c->event, tsr_cuda->up) : status;
}

/* One thread, with two chunks: one is copied by the device while the thread fills the other. */
static void stage_chunks(staging_job *j, const tsr_cuda_chunk pair[2])
{
    tsr_cuda_place before;
    tsr_status status = tsr_cuda_enter(j->on, &before);
    int64_t chunk;
    for (int turn = 0; status == TSR_OK && !atomic_load(&j->status); turn = 1 - turn) {
        if ((chunk = atomic_fetch_add(&j->next, 1)) >= j->nchunks)
            break;
        status = stage_chunk(j, &pair[turn], chunk);
    }
    if (status != TSR_OK)
        atomic_store(&j->status, (int)status);
    tsr_cuda_leave(before);
}

tsr_status tsr_cuda_host_copy(void *device, int64_t count, size_t size, tsr_cuda_fill fill, const void *source, int nthreads,
                          int64_t *moved)
{
    staging_job j = {.on = tsr_cuda, .device = device, .count = count, .size = size, .fill = fill, .source = source};
    j.chunk = tsr_cuda_piece_elements(count, size, nthreads);
    j.nchunks = (count + j.chunk - 1) / j.chunk;
    int pairs = tsr_cuda_need_pairs(j.nchunks < nthreads ? j.nchunks : nthreads);
    if (pairs < 0)
        return (tsr_status)pairs;
#pragma omp parallel for num_threads(nthreads) schedule(static, 1) if (pairs > 1) /* a smaller team would end threads */
    for (int pair = 0; pair < pairs; pair++)
        stage_chunks(&j, &j.on->chunks[2 * pair]);
    *moved += count * (int64_t)size;
    return (tsr_status)atomic_load(&j.status);
}

/* ---- rectangles ---- */

static void fill(void *staging, const void *source, int64_t first, int64_t last)
{
    tsr_cuda_gather(staging, source, first, last);
}

/* Waits: afterwards nothing reads the program's array. */
static tsr_status upload_direct(const tsr_cuda_rectangle *r, int64_t *moved)
{
    tsr_status status = tsr_cuda_copy_direct(r, true, tsr_cuda->up), waited = tsr_cuda_wait(tsr_cuda->up);
    *moved += r->outer * r->inner * (int64_t)r->size;
    return status == TSR_OK ? waited : status;
}

tsr_status tsr_cuda_upload(const tsr_cuda_rectangle *r, int nthreads, int64_t *moved)
{
    tsr_status status = tsr_cuda_after(tsr_cuda->up, tsr_cuda->compute);
    if (status == TSR_OK && tsr_cuda_may_copy_direct(r->host, r->outer, r->inner, r->host_ld, r->size))
        status = upload_direct(r, moved);
    else if (status == TSR_OK)
        status = tsr_cuda_host_copy(r->device, tsr_cuda_positions(r), r->size, fill, r, nthreads, moved);
    return status == TSR_OK ? tsr_cuda_after(tsr_cuda->compute, tsr_cuda->up) : status;
}
