/* Masked dot product, A by row and B by row: the entries of the mask row are marked, the rows of B that A_r names are
 * walked, and what falls on a mark is added there.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/masked/masked_dot.h"
#include "src/base/split.h"

#include <stdlib.h>
#include <string.h>

#define TRIM_LEAST 24
#define CUT_LEAST 512 /* entries of an average list from which half a mask row takes about half as long */

typedef struct scratch {
    uint8_t *mark;
    uint32_t *slot;   /* of a marked column: its place in the slice of the mask row */
    int64_t *counts;  /* per place */
    uint32_t place[TSR_MD_CHUNK];
    int64_t index[TSR_MD_CHUNK];
} scratch;

/* A part of one mask row. */
typedef struct slice {
    int64_t begin, end;
    int64_t low, high; /* least and greatest marked column */
} slice;

static void mark_slice(const tsr_md_job *job, scratch *s, slice *w)
{
    const tsr_md_vectors *m = &job->m;
    w->low = INT64_MAX;
    w->high = -1;
    for (int64_t e = w->begin; e < w->end; e++) {
        job->present[e] = 0;
        if (!tsr_md_passes(job, e))
            continue;
        int64_t c = tsr_md_index(m->i, m->wide, e);
        s->mark[c] = 1;
        s->slot[c] = (uint32_t)(e - w->begin);
        w->low = c < w->low ? c : w->low;
        w->high = c > w->high ? c : w->high;
    }
    if (job->kind == TSR_MD_COUNT)
        memset(s->counts, 0, (size_t)(w->end - w->begin) * sizeof *s->counts);
}

static void unmark_slice(const tsr_md_job *job, scratch *s, const slice *w)
{
    for (int64_t e = w->begin; e < w->end; e++)
        s->mark[tsr_md_index(job->m.i, job->m.wide, e)] = 0;
}

/* Entries [at, at + n) of B, multiplied by entry a_at of A, onto the marks. */
TSR_INLINE void spread_chunk(const tsr_md_job *job, scratch *s, const slice *w, int64_t a_at, int64_t at, int64_t n)
{
    static const double none[1];
    int64_t hits = tsr_md_find(s->mark, job->b.i, job->b.wide, at, n, s->place, s->index);
    for (int64_t t = 0; t < hits; t++)
        s->index[t] = s->slot[s->index[t]];
    if (job->kind == TSR_MD_COUNT) {
        for (int64_t t = 0; t < hits; t++)
            s->counts[s->index[t]]++;
        return;
    }
    int8_t *present = job->present + w->begin;
    if (job->kind == TSR_MD_EXISTS) {
        for (int64_t t = 0; t < hits; t++)
            present[s->index[t]] = 1;
        return;
    }
    size_t a_offset = job->a.iso ? 0 : (size_t)a_at * job->size, b_offset = job->b.iso ? 0 : (size_t)at * job->size;
    const char *a = job->a.x ? (const char *)job->a.x + a_offset : (const char *)none;
    const char *b = job->b.x ? (const char *)job->b.x + b_offset : (const char *)none;
    tsr_md_spread_of(job->semiring)((char *)job->x + (size_t)w->begin * job->size, present, a, b,
                                    job->b.x && !job->b.iso, s->place, s->index, hits);
}

/* narrow, here and below: known where this is called, so that offsets are read without a question. */
TSR_INLINE void spread_lists(const tsr_md_job *job, scratch *s, const slice *w, int64_t row, const bool narrow)
{
    const tsr_md_vectors *a = &job->a, *b = &job->b;
    const int64_t a_end = tsr_offset(a->p.list, narrow, row + 1);
    for (int64_t a_at = tsr_offset(a->p.list, narrow, row); a_at < a_end; a_at++) {
        int64_t k = tsr_md_vector(b, tsr_md_index(a->i, a->wide, a_at));
        if (k < 0)
            continue;
        int64_t begin = tsr_offset(b->p.list, narrow, k), end = tsr_offset(b->p.list, narrow, k + 1);
        if (b->sorted && end - begin > TRIM_LEAST) {
            begin = tsr_md_lower_bound(b->i, b->wide, begin, end, w->low);
            end = tsr_md_lower_bound(b->i, b->wide, begin, end, w->high + 1);
        }
        for (int64_t at = begin; at < end; at += TSR_MD_CHUNK)
            spread_chunk(job, s, w, a_at, at, end - at < TSR_MD_CHUNK ? end - at : TSR_MD_CHUNK);
    }
}

static void spread_row(const tsr_md_job *job, scratch *s, const slice *w, int64_t row)
{
    if (job->narrow_offsets)
        spread_lists(job, s, w, row, true);
    else
        spread_lists(job, s, w, row, false);
}

static void finish_slice(const tsr_md_job *job, const scratch *s, const slice *w)
{
    for (int64_t e = w->begin; e < w->end; e++) {
        int64_t count = job->kind == TSR_MD_COUNT ? s->counts[e - w->begin] : job->present[e];
        job->present[e] = count > 0;
        if (count)
            tsr_md_finish(job, e, count);
    }
}

static void do_slice(const tsr_md_job *job, scratch *s, int64_t v, int64_t begin, int64_t end)
{
    int64_t row = tsr_md_vector(&job->a, job->m.h ? job->m.h[v] : v);
    slice w = {.begin = begin, .end = end};
    mark_slice(job, s, &w);
    if (row >= 0 && w.high >= 0)
        spread_row(job, s, &w, row);
    if (job->kind != TSR_MD_FOLD)
        finish_slice(job, s, &w);
    unmark_slice(job, s, &w);
}

static void run_task(const tsr_md_job *job, scratch *s, const tsr_md_tasks *tasks, int64_t t)
{
    tsr_md_position from = tsr_md_task_begin(tasks, t), to = tsr_md_task_begin(tasks, t + 1);
    for (int64_t v = from.vector; v <= to.vector && v < tasks->nvec; v++) {
        const int64_t begin = v == from.vector ? from.entry : tsr_offset_at(tasks->q, v);
        const int64_t end = v == to.vector ? to.entry : tsr_offset_at(tasks->q, v + 1);
        if (begin < end)
            do_slice(job, s, v, begin, end);
    }
}

TSR_INLINE int64_t row_cost(const tsr_md_job *job, int64_t v, const bool narrow)
{
    const tsr_md_vectors *a = &job->a, *b = &job->b;
    const int64_t row = tsr_md_vector(a, job->m.h ? job->m.h[v] : v), entries = tsr_md_entries(&job->m, v);
    const int64_t end = row < 0 || !entries ? 0 : tsr_offset(a->p.list, narrow, row + 1);
    int64_t cost = 4 * entries;
    for (int64_t at = end ? tsr_offset(a->p.list, narrow, row) : 0; at < end; at++) {
        int64_t k = tsr_md_vector(b, tsr_md_index(a->i, a->wide, at));
        cost += k < 0 ? 1 : tsr_offset(b->p.list, narrow, k + 1) - tsr_offset(b->p.list, narrow, k) + 8;
    }
    return cost;
}

/* Every part of a mask row begins all lists of its row of A again: with short ones no part would take less than the whole. */
static void cost_rows(const tsr_md_job *job, tsr_md_tasks *tasks)
{
    const int nthreads = tsr_parts(job->m.nvec + job->a.nvals, TSR_MD_THREAD_WORK, job->nthreads);
#pragma omp parallel for num_threads(tsr_team(nthreads)) schedule(dynamic, 512) if (nthreads > 1)
    for (int64_t v = 0; v < job->m.nvec; v++)
        tasks->c[v + 1] = job->narrow_offsets ? row_cost(job, v, true) : row_cost(job, v, false);
    tsr_md_tasks_finish(tasks, job->nthreads);
    tasks->whole = tasks->c[tasks->nvec] - 4 * job->m.nvals < CUT_LEAST * job->a.nvals;
}

static void free_scratches(scratch *s, int n)
{
    for (int t = 0; s && t < n; t++) {
        free(s[t].mark);
        free(s[t].slot);
        free(s[t].counts);
    }
    free(s);
}

static scratch *new_scratches(const tsr_md_job *job)
{
    scratch *s = calloc((size_t)job->nthreads, sizeof *s);
    bool complete = s != NULL;
    int64_t longest = 1;
    for (int64_t v = 0; v < job->m.nvec; v++)
        longest = tsr_md_entries(&job->m, v) > longest ? tsr_md_entries(&job->m, v) : longest;
    for (int t = 0; complete && t < job->nthreads; t++) {
        s[t].mark = calloc((size_t)job->mcols + 1, 1);
        s[t].slot = malloc(((size_t)job->mcols + 1) * sizeof *s->slot);
        s[t].counts = job->kind == TSR_MD_COUNT ? malloc((size_t)longest * sizeof *s->counts) : NULL;
        complete = s[t].mark && s[t].slot && (s[t].counts || job->kind != TSR_MD_COUNT);
    }
    if (complete)
        return s;
    free_scratches(s, job->nthreads);
    return NULL;
}

/* What a row costs is the length of lists all over B: one thread does not ask.  False: out of memory. */
static bool divide(const tsr_md_job *job, tsr_md_tasks *tasks)
{
    if (job->nthreads == 1)
        return true;
    tasks->c = malloc((size_t)(job->m.nvec + 1) * sizeof *tasks->c);
    if (tasks->c)
        cost_rows(job, tasks);
    return tasks->c;
}

tsr_status tsr_md_spread_rows(tsr_md_job *job)
{
    tsr_md_tasks tasks = {.q = job->m.p, .nvec = job->m.nvec, .ntasks = 1};
    scratch *scratches = new_scratches(job);
    tsr_status status = scratches && divide(job, &tasks) ? TSR_OK : TSR_OUT_OF_MEMORY;
    if (status == TSR_OK) {
        int64_t next = 0;
        const int nthreads = tsr_md_tasks_threads(&tasks, job->nthreads);
#pragma omp parallel for num_threads(tsr_team(nthreads)) schedule(static, 1) if (nthreads > 1)
        for (int thread = 0; thread < nthreads; thread++)
            for (int64_t t; (t = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED)) < tasks.ntasks;)
                run_task(job, &scratches[thread], &tasks, t);
    }
    free_scratches(scratches, job->nthreads);
    free(tasks.c);
    return status;
}
