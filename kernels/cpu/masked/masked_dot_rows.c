/* Masked dot product by rows of the mask, where only the number of products counts, or whether there is one: a row of A is marked, one byte for
 * every value an index can take, and each list of B that the row of the mask names is summed over the marks, up to the last index of the row.
 * Nothing is planned before, and no branch depends on what a list holds, or on how many indices are left at its end, but the one that ends it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/common/chunks.h"
#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/masked/masked_dot.h"
#include "kernels/cpu/masked/masked_dot_columns.h"
#include "kernels/cpu/masked/masked_dot_mirror.h"
#include "src/base/split.h"
#include "src/format/sparse/format.h"

#include <stdlib.h>

enum {
    AHEAD = 16,         /* entries of the mask whose offsets … */
    NEAR = 8,           /* … and whose lists are prefetched */
    STRIDE = 8,         /* indices of a list that are summed before its end is looked for */
    DEFER_LEAST = 4,    /* a row of fewer indices is searched rather */
    MARK_FACTOR = 4,    /* a row so many times as long as all its lists is searched for theirs */
    SURELY_MARKED = 64, /* a row of so few indices is marked at once */
    PARTS_PER_THREAD = 64,
    LEAST_PART = 4096   /* entries of the mask */
};

typedef struct rows {
    const tsr_md_job *job;
    uint8_t **marks; /* of each thread */
    int nparts, next;
    tsr_md_deferral *deferrals;
    int64_t uncopied; /* entries left to their mirror images */
} rows;

/* What one thread works with.  counts[] belong to the entries of the mask from `base` on. */
typedef struct walker {
    const tsr_md_job *job;
    uint8_t *mark;
    int64_t base, filled;
    int64_t uncopied; /* as in rows */
    tsr_md_deferral *deferral; /* NULL: nothing is computed by column */
    uint32_t counts[TSR_MD_CHUNK];
} walker;

static void flush(walker *w)
{
    tsr_md_finish_counts(w->job, w->base, w->counts, w->filled);
    w->base += w->filled;
    w->filled = 0;
}

static void put(walker *w, int64_t count)
{
    w->counts[w->filled++] = (uint32_t)count;
    if (w->filled == TSR_MD_CHUNK)
        flush(w);
}

static int64_t mask_column(const tsr_md_job *job, int64_t e)
{
    return tsr_md_index(job->m.i, job->m.wide, e);
}

/* Indices of the lists that the entries [begin, end) of the mask name; no more than `most` are counted. */
static int64_t listed(const tsr_md_job *job, int64_t begin, int64_t end, int64_t most)
{
    int64_t sum = 0;
    for (int64_t e = begin; e < end && sum < most; e++) {
        const int64_t c = mask_column(job, e);
        sum += tsr_md_entries(&job->b, c);
    }
    return sum;
}

static bool marking_pays(const tsr_md_job *job, int64_t na, int64_t begin, int64_t end)
{
    return na <= SURELY_MARKED || listed(job, begin, end, na / MARK_FACTOR + 1) > na / MARK_FACTOR;
}

/* Product and mask symmetric: is entry e = (r, c) of the mask copied from its mirror image afterwards?  It holds nothing till then. */
TSR_INLINE bool copied(walker *w, int64_t e, int64_t r, int64_t c, int64_t na, int64_t n)
{
    if (tsr_md_side_of(r, c, na, n) != TSR_MD_COPIED)
        return false;
    put(w, 0);
    w->uncopied += tsr_md_passes(w->job, e);
    return true;
}

/* ---- lists far longer than their rows ---- */

static bool defer(const walker *w, int64_t e, int64_t r, int64_t c, int64_t na)
{
    return w->deferral && na >= DEFER_LEAST && tsr_md_defer(w->deferral, (tsr_md_deferred){e, (uint32_t)r, (uint32_t)c});
}

/* Ordering entries by column costs more than it saves where few columns have any. */
static bool may_defer(const tsr_md_job *job)
{
    return !job->mirrored && job->m.nvals >= job->b.nvec && job->a.nvec <= UINT32_MAX && job->b.nvec <= UINT32_MAX;
}

/* ---- rows ---- */

/* How many indices of list l of `few` list m of `many` has; `one`: the first in common ends the search. */
static int64_t search(const tsr_md_vectors *few, int64_t l, const tsr_md_vectors *many, int64_t m, bool one)
{
    const int64_t last = tsr_md_start(few, l + 1), stop = tsr_md_start(many, m + 1);
    int64_t count = 0, at = tsr_md_start(many, m);
    for (int64_t e = tsr_md_start(few, l); e < last && at < stop && !(one && count); e++) {
        const int64_t key = tsr_md_index(few->i, few->wide, e);
        at = tsr_md_gallop(many->i, many->wide, at, stop, key);
        count += at < stop && tsr_md_index(many->i, many->wide, at) == key;
    }
    return count;
}

static void searched(walker *w, int64_t r, int64_t begin, int64_t end, bool one)
{
    const tsr_md_job *job = w->job;
    const int64_t na = tsr_md_entries(&job->a, r);
    for (int64_t e = begin; e < end; e++) {
        const int64_t c = mask_column(job, e), n = tsr_md_entries(&job->b, c);
        if (!job->mirrored || !copied(w, e, r, c, na, n))
            put(w, search(&job->b, c, &job->a, r, one));
    }
}

/* Lists of one width.  The marked ones of an ascending list, up to `last`, beyond which nothing is marked. */
#define SUM(T)                                                                                                                                  \
    TSR_INLINE int64_t sum_##T(const uint8_t *restrict mark, const T *restrict list, int64_t n, T last, bool one)                               \
    {                                                                                                                                           \
        int64_t even = 0, odd = 0, t = 0;                                                                                                       \
        for (; t + STRIDE <= n; t += STRIDE) {                                                                                                  \
            even += mark[list[t]] + mark[list[t + 2]] + mark[list[t + 4]] + mark[list[t + 6]];                                                  \
            odd += mark[list[t + 1]] + mark[list[t + 3]] + mark[list[t + 5]] + mark[list[t + 7]];                                               \
            if (list[t + STRIDE - 1] >= last || (one && even + odd))                                                                            \
                return even + odd;                                                                                                              \
        }                                                                                                                                       \
        if (t < n) {                                                                                                                                    \
            TSR_UNROLL(8)                                                                                                                               \
            for (int64_t s = t; s < t + STRIDE - 1; s++)                                                                                                \
                even += mark[list[s < n ? s : n - 1]] & -(s < n);                                                                                       \
        }                                                                                                                                               \
        return even + odd;                                                                                                                      \
    }

/* Rows whose lists are of one width; P: of all offsets. */
#define ROWS(T, P)                                                                                                                              \
    TSR_INLINE void marked_##T##_by_##P(walker *w, const T *a, int64_t r, int64_t na, int64_t begin, int64_t end, bool one, bool mirrored)      \
    {                                                                                                                                           \
        const tsr_md_job *job = w->job;                                                                                                         \
        const P *p = job->b.p.list;                                                                                                             \
        const int64_t last = job->m.nvals - 1;                                                                                                  \
        const T *lists = job->b.i;                                                                                                              \
        tsr_md_set_marks(w->mark, &job->a, r, 1);                                                                                               \
        for (int64_t e = begin; e < end; e++) {                                                                                                 \
            const int64_t c = mask_column(job, e), n = p[c + 1] - p[c];                                                                         \
            const T *list = lists + p[c];                                                                                                       \
            __builtin_prefetch(&p[mask_column(job, e + AHEAD < last ? e + AHEAD : last)]);                                                      \
            __builtin_prefetch(&lists[p[mask_column(job, e + NEAR < last ? e + NEAR : last)]]);                                                 \
            if (mirrored && copied(w, e, r, c, na, n))                                                                                          \
                continue;                                                                                                                       \
            if (!mirrored && tsr_is_far_longer(n, na) && defer(w, e, r, c, na)) {                                                               \
                put(w, 0); /* later */                                                                                                          \
                continue;                                                                                                                       \
            }                                                                                                                                   \
            put(w, n / TSR_SEARCHED_LIST > na ? search(&job->a, r, &job->b, c, one) : sum_##T(w->mark, list, n, a[na - 1], one));               \
        }                                                                                                                                       \
        tsr_md_set_marks(w->mark, &job->a, r, 0);                                                                                               \
    }                                                                                                                                           \
    static void row_##T##_by_##P(walker *w, int64_t r, int64_t begin, int64_t end)                                                              \
    {                                                                                                                                           \
        const tsr_md_vectors *a = &w->job->a;                                                                                                   \
        const P *p = a->p.list;                                                                                                                 \
        const T *list = (const T *)a->i + p[r];                                                                                                 \
        const int64_t na = (int64_t)p[r + 1] - p[r];                                                                                            \
        const bool one = w->job->kind == TSR_MD_EXISTS;                                                                                         \
        if (na == 0 || !marking_pays(w->job, na, begin, end))                                                                                   \
            searched(w, r, begin, end, one);                                                                                                    \
        else if (one || w->job->mirrored)                                                                                                       \
            marked_##T##_by_##P(w, list, r, na, begin, end, one, w->job->mirrored);                                                             \
        else                                                                                                                                    \
            marked_##T##_by_##P(w, list, r, na, begin, end, false, false);                                                                      \
    }

SUM(uint32_t)
SUM(uint64_t)
ROWS(uint32_t, int64_t)
ROWS(uint64_t, int64_t)
ROWS(uint32_t, uint32_t)
ROWS(uint64_t, uint32_t)

typedef void row_function(walker *w, int64_t r, int64_t begin, int64_t end);

static row_function *row_of(const tsr_md_job *job)
{
    static row_function *const row[2][2] = {{row_uint32_t_by_int64_t, row_uint64_t_by_int64_t}, {row_uint32_t_by_uint32_t, row_uint64_t_by_uint32_t}};
    return row[job->narrow_offsets][job->a.wide];
}

/* Entries of the mask from `begin` to `end`. */
static void walk(walker *w, int64_t begin, int64_t end)
{
    const tsr_md_vectors *m = &w->job->m;
    row_function *row = row_of(w->job);
    int64_t from = begin;
    w->base = begin;
    for (int64_t v = tsr_vector_of(m->p, m->nvec, begin); from < end; v++) {
        const int64_t stop = tsr_md_start(m, v + 1), to = stop < end ? stop : end;
        if (from < to)
            row(w, m->h ? m->h[v] : v, from, to);
        from = to;
    }
    flush(w);
}

/* Hubs stand together: whoever is free takes the next part. */
static void work(void *context, int64_t thread)
{
    rows *all = context;
    walker w = {.job = all->job, .mark = all->marks[thread], .deferral = may_defer(all->job) ? &all->deferrals[thread] : NULL};
    for (int part; (part = __atomic_fetch_add(&all->next, 1, __ATOMIC_RELAXED)) < all->nparts;)
        walk(&w, tsr_part_begin(w.job->m.nvals, part, all->nparts), tsr_part_begin(w.job->m.nvals, part + 1, all->nparts));
    __atomic_fetch_add(&all->uncopied, w.uncopied, __ATOMIC_RELAXED);
}

static void count_column(void *context, int64_t thread, const tsr_md_deferred *list, int64_t n)
{
    const rows *all = context;
    tsr_md_count_column(all->job, all->marks[thread], list, n);
}

static void free_scratch(rows *all, int threads)
{
    for (int t = 0; t < threads; t++) {
        if (all->marks)
            free(all->marks[t]);
        if (all->deferrals)
            free(all->deferrals[t].list);
    }
    free(all->marks);
    free(all->deferrals);
}

static tsr_status new_scratch(rows *all, int threads)
{
    all->marks = calloc((size_t)threads, sizeof *all->marks);
    all->deferrals = calloc((size_t)threads, sizeof *all->deferrals);
    bool complete = all->marks && all->deferrals;
    for (int t = 0; complete && t < threads; t++)
        complete = (all->marks[t] = calloc((size_t)all->job->k + 1, 1)) != NULL;
    return complete ? TSR_OK : TSR_OUT_OF_MEMORY;
}

bool tsr_md_rows_pay(const tsr_md_job *job)
{
    const tsr_md_vectors *a = &job->a, *b = &job->b;
    return job->kind != TSR_MD_FOLD && a->sorted && b->sorted && !a->h && !b->h && a->wide == b->wide && tsr_md_may_mark(job);
}

tsr_status tsr_md_rows(tsr_md_job *job)
{
    const int threads = tsr_parts(job->m.nvals + job->b.nvals, TSR_MD_THREAD_WORK, job->nthreads);
    const int64_t affordable = job->m.nvals / LEAST_PART + 1, wanted = (int64_t)threads * PARTS_PER_THREAD;
    rows all = {.job = job, .nparts = threads == 1 ? 1 : (int)(affordable < wanted ? affordable : wanted)};
    tsr_status status = new_scratch(&all, threads);
    if (status == TSR_OK)
        tsr_for_jobs(threads, threads, work, &all);
    int64_t images = 0;
    if (status == TSR_OK && all.uncopied)
        status = tsr_md_copy_to_mirrors(job, &images);
    if (status == TSR_OK && all.uncopied != images) { /* the mask is not symmetric after all */
        job->mirrored = false;
        all.next = 0;
        tsr_for_jobs(threads, threads, work, &all);
    }
    if (status == TSR_OK)
        status = tsr_md_columns(job, all.deferrals, threads, count_column, &all);
    free_scratch(&all, threads);
    return status;
}
