/* Entries of the mask whose list of B is far longer than their row of A: they are ordered by list, the list is marked, and the rows that meet
 * it are summed over the marks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/masked/masked_dot_columns.h"
#include "kernels/cpu/common/chunks.h"
#include "kernels/cpu/masked/masked_dot_intersect.h"
#include "src/base/split.h"

#include <stdlib.h>

enum { FIRST_ROOM = 1024, AHEAD = 16, NEAR = 8, PARTS_PER_THREAD = 16 };

bool tsr_md_defer(tsr_md_deferral *deferral, tsr_md_deferred entry)
{
    if (deferral->count == deferral->room) {
        const int64_t room = deferral->room ? 2 * deferral->room : FIRST_ROOM;
        tsr_md_deferred *list = realloc(deferral->list, (size_t)room * sizeof *list);
        if (!list)
            return false;
        deferral->list = list;
        deferral->room = room;
    }
    deferral->list[deferral->count++] = entry;
    return true;
}

typedef struct columns {
    const tsr_md_job *job;
    tsr_md_deferred *list; /* ascending by c */
    uint8_t *const *marks;
    int64_t count;
    int nparts, next;
} columns;

/* By counting: *columns gets all of them. */
static tsr_status order(columns *out, const tsr_md_deferral *deferrals, int threads)
{
    int64_t *at = calloc((size_t)out->job->b.nvec + 1, sizeof *at);
    out->list = malloc((size_t)out->count * sizeof *out->list);
    if (at && out->list) {
        for (int d = 0; d < threads; d++)
            for (int64_t t = 0; t < deferrals[d].count; t++)
                at[deferrals[d].list[t].c + 1]++;
        for (int64_t c = 0; c < out->job->b.nvec; c++)
            at[c + 1] += at[c];
        for (int d = 0; d < threads; d++)
            for (int64_t t = 0; t < deferrals[d].count; t++)
                out->list[at[deferrals[d].list[t].c]++] = deferrals[d].list[t];
    }
    free(at);
    return at && out->list ? TSR_OK : TSR_OUT_OF_MEMORY;
}

static void finish(const tsr_md_job *job, int64_t e, int64_t count)
{
    if (!count || !tsr_md_passes(job, e))
        return;
    tsr_md_finish(job, e, count);
    job->present[e] = 1;
}

static void ask_ahead(const columns *all, int64_t t, int64_t end)
{
    const tsr_md_vectors *a = &all->job->a;
    const int64_t far = t + AHEAD < end ? t + AHEAD : end - 1, near = t + NEAR < end ? t + NEAR : end - 1;
    __builtin_prefetch(&a->p[all->list[far].r]);
    __builtin_prefetch((const char *)a->i + (size_t)a->p[all->list[near].r] * (a->wide ? 8 : 4));
    __builtin_prefetch(&all->job->present[all->list[near].e], 1);
}

/* Entries [begin, end) of the list, which meet one list of B. */
#define COLUMN(T)                                                                                                              \
    static void column_##T(const columns *all, uint8_t *mark, int64_t begin, int64_t end)                                      \
    {                                                                                                                          \
        const tsr_md_vectors *a = &all->job->a, *b = &all->job->b;                                                             \
        const int64_t c = all->list[begin].c, n = b->p[c + 1] - b->p[c];                                                       \
        const T *rows = a->i, *list = (const T *)b->i + b->p[c];                                                               \
        for (int64_t t = 0; t < n; t++)                                                                                        \
            mark[list[t]] = 1;                                                                                                 \
        for (int64_t t = begin; t < end; t++) {                                                                                \
            const int64_t r = all->list[t].r, from = a->p[r];                                                                  \
            ask_ahead(all, t, end);                                                                                            \
            finish(all->job, all->list[t].e, sum_down_##T(mark, rows + from, a->p[r + 1] - from, list[0], false));             \
        }                                                                                                                      \
        for (int64_t t = 0; t < n; t++)                                                                                        \
            mark[list[t]] = 0;                                                                                                 \
    }

TSR_MD_SUMS(uint32_t)
TSR_MD_SUMS(uint64_t)
COLUMN(uint32_t)
COLUMN(uint64_t)

static void work(void *context, int64_t thread)
{
    columns *all = context;
    for (int part; (part = __atomic_fetch_add(&all->next, 1, __ATOMIC_RELAXED)) < all->nparts;) {
        int64_t t = tsr_part_begin(all->count, part, all->nparts);
        const int64_t end = tsr_part_begin(all->count, part + 1, all->nparts);
        while (t < end) {
            const int64_t begin = t;
            for (; t < end && all->list[t].c == all->list[begin].c; t++)
                ;
            (all->job->a.wide ? column_uint64_t : column_uint32_t)(all, all->marks[thread], begin, t);
        }
    }
}

tsr_status tsr_md_columns(const tsr_md_job *job, const tsr_md_deferral *deferrals, uint8_t *const *marks, int threads)
{
    columns all = {.job = job, .marks = marks, .nparts = threads == 1 ? 1 : threads * PARTS_PER_THREAD};
    for (int t = 0; t < threads; t++)
        all.count += deferrals[t].count;
    if (!all.count)
        return TSR_OK;
    const tsr_status status = order(&all, deferrals, threads);
    if (status == TSR_OK)
        tsr_for_jobs(threads, threads, work, &all);
    free(all.list);
    return status;
}
