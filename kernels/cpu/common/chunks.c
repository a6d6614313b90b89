/* Dealing rows to threads.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/common/chunks.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "src/base/split.h"

#define CHUNKS_PER_THREAD 16
#define LEAST_WORK 4096
#define WORK_PER_VECTOR 2 /* in entries: what an empty row costs */

static int64_t work_before(tsr_offsets p, int64_t v)
{
    return tsr_offset_at(p, v) - tsr_offset_at(p, 0) + WORK_PER_VECTOR * v;
}

/* The first vector boundary in [from, nvec] with at least `target` work before it. */
static int64_t boundary(tsr_offsets p, int64_t from, int64_t nvec, int64_t target)
{
    int64_t lo = from, hi = nvec;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (work_before(p, mid) < target)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void push(tsr_chunks *chunks, tsr_chunk chunk)
{
    chunks->list[chunks->count++] = chunk;
}

static void push_whole(tsr_chunks *chunks, int64_t first, int64_t last)
{
    if (first < last)
        push(chunks, (tsr_chunk){ .first = first, .last = last, .slot = -1 });
}

static void push_pieces(tsr_chunks *chunks, tsr_offsets p, int64_t v, int64_t size)
{
    int64_t pieces = (tsr_offset_at(p, v + 1) - tsr_offset_at(p, v) + size - 1) / size;
    for (int64_t piece = 0; piece < pieces; piece++) {
        int64_t lo = tsr_offset_at(p, v) + piece * size, hi = piece + 1 < pieces ? lo + size : tsr_offset_at(p, v + 1);
        push(chunks, (tsr_chunk){ .first = v, .last = v + 1, .bounds = { lo, hi }, .slot = chunks->slots++ });
    }
}

/* A vector longer than two chunks' work ends the chunk that its beginning falls into: it is always the last one. */
static void push_range(tsr_chunks *chunks, tsr_offsets p, int64_t first, int64_t last, int64_t size, bool may_split)
{
    bool split = may_split && tsr_offset_at(p, last) - tsr_offset_at(p, last - 1) > 2 * size;
    push_whole(chunks, first, split ? last - 1 : last);
    if (split)
        push_pieces(chunks, p, last - 1, size);
}

tsr_status tsr_chunks_make(tsr_chunks *chunks, tsr_offsets p, int64_t nvec, int nthreads, bool may_split)
{
    int64_t work = nvec > 0 ? work_before(p, nvec) : 0;
    int64_t wanted = nthreads > 1 ? (int64_t)nthreads * CHUNKS_PER_THREAD : 1;
    int64_t size = work / wanted + 1;
    if (size < LEAST_WORK)
        size = LEAST_WORK;
    *chunks = (tsr_chunks){ 0 };
    /* chunks and pieces have `size` work, but for the last one and two short ones per split vector */
    chunks->list = malloc((size_t)(4 * (work / size) + 4) * sizeof *chunks->list);
    if (chunks->list == NULL)
        return TSR_OUT_OF_MEMORY;
    for (int64_t first = 0, last; first < nvec; first = last) {
        last = boundary(p, first + 1, nvec, work_before(p, first) + size);
        push_range(chunks, p, first, last, size, may_split && nthreads > 1);
    }
    return TSR_OK;
}

void tsr_chunks_free(tsr_chunks *chunks)
{
    free(chunks->list);
    chunks->list = NULL;
}

void tsr_for_jobs(int64_t jobs, int nthreads, void (*work)(void *context, int64_t job), void *context)
{
    if (nthreads > jobs)
        nthreads = (int)jobs;
    if (nthreads <= 1) {
        for (int64_t job = 0; job < jobs; job++)
            work(context, job);
        return;
    }
    atomic_llong next = 0;
#pragma omp parallel num_threads(tsr_team(nthreads))
    for (int64_t job; (job = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed)) < jobs;)
        work(context, job);
}

struct ranges {
    int64_t size, grain;
    void (*work)(void *context, int64_t first, int64_t last);
    void *context;
};

static void one_range(void *context, int64_t job)
{
    const struct ranges *r = context;
    int64_t first = job * r->grain, last = first + r->grain < r->size ? first + r->grain : r->size;
    r->work(r->context, first, last);
}

void tsr_for_ranges(int64_t size, int64_t grain, int nthreads,
    void (*work)(void *context, int64_t first, int64_t last), void *context)
{
    struct ranges r = { size, grain, work, context };
    tsr_for_jobs((size + grain - 1) / grain, nthreads, one_range, &r);
}

enum { MOST_PARTS = 64 };

typedef struct prefix_sums {
    int64_t *sums, count;
    int parts;
    int64_t before[MOST_PARTS + 1]; /* the sum of each part, then of those before it */
} prefix_sums;

static void sum_part(void *context, int64_t part)
{
    prefix_sums *s = context;
    int64_t sum = 0;
    for (int64_t k = tsr_part_begin(s->count, (int)part, s->parts), end = tsr_part_begin(s->count, (int)part + 1, s->parts); k < end; k++)
        sum += s->sums[k];
    s->before[part + 1] = sum;
}

static void add_up_part(void *context, int64_t part)
{
    prefix_sums *s = context;
    int64_t sum = s->before[part];
    for (int64_t k = tsr_part_begin(s->count, (int)part, s->parts), end = tsr_part_begin(s->count, (int)part + 1, s->parts); k < end; k++)
        s->sums[k] = sum += s->sums[k];
}

void tsr_prefix_sums(int64_t *sums, int64_t count, int nthreads)
{
    prefix_sums s = {.sums = sums, .count = count, .parts = tsr_pass_threads(count, nthreads < MOST_PARTS ? nthreads : MOST_PARTS)};
    if (s.parts > 1) {
        tsr_for_jobs(s.parts, s.parts, sum_part, &s);
        for (int part = 0; part < s.parts; part++)
            s.before[part + 1] += s.before[part];
    }
    tsr_for_jobs(s.parts, s.parts, add_up_part, &s);
}
