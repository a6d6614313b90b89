/* Entries of the mask whose list of B is far longer than their row of A: they are ordered by list, the list is marked, and the rows that meet
 * it are summed over the marks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/masked/masked_dot_columns.h"
#include "kernels/cpu/common/chunks.h"
#include "kernels/cpu/common/simd.h"
#include "src/base/split.h"

#include <stdlib.h>

enum { FIRST_ROOM = 1024, AHEAD = 16, NEAR = 8, STRIDE = 8, PARTS_PER_THREAD = 16 };

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

/* By counting: *out gets all of them. */
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

static void ask_ahead(const columns *all, int64_t t, int64_t end)
{
    const tsr_md_vectors *a = &all->job->a;
    const int64_t far = t + AHEAD < end ? t + AHEAD : end - 1, near = t + NEAR < end ? t + NEAR : end - 1;
    __builtin_prefetch(&a->p[all->list[far].r]);
    __builtin_prefetch((const char *)a->i + (size_t)a->p[all->list[near].r] * (a->wide ? 8 : 4));
    __builtin_prefetch(&all->job->present[all->list[near].e], 1);
}

/* Marked ones of an ascending list, from its end to `first`, below which nothing is marked. */
#define SUM(T)                                                                                                               \
    TSR_INLINE int64_t sum_##T(const uint8_t *restrict mark, const T *restrict list, int64_t n, T first)                     \
    {                                                                                                                        \
        int64_t even = 0, odd = 0, t = n;                                                                                    \
        for (; t >= STRIDE; t -= STRIDE) {                                                                                   \
            even += mark[list[t - 1]] + mark[list[t - 3]] + mark[list[t - 5]] + mark[list[t - 7]];                           \
            odd += mark[list[t - 2]] + mark[list[t - 4]] + mark[list[t - 6]] + mark[list[t - 8]];                            \
            if (list[t - STRIDE] <= first)                                                                                   \
                return even + odd;                                                                                           \
        }                                                                                                                    \
        for (; t > 0; t--)                                                                                                   \
            even += mark[list[t - 1]];                                                                                       \
        return even + odd;                                                                                                   \
    }                                                                                                                        \
    static void rows_##T(const columns *all, const uint8_t *mark, int64_t begin, int64_t end, T first)                       \
    {                                                                                                                        \
        const tsr_md_vectors *a = &all->job->a;                                                                              \
        for (int64_t t = begin; t < end; t++) {                                                                              \
            const int64_t r = all->list[t].r, from = a->p[r];                                                                \
            ask_ahead(all, t, end);                                                                                          \
            tsr_md_finish_count(all->job, all->list[t].e, sum_##T(mark, (const T *)a->i + from, a->p[r + 1] - from, first)); \
        }                                                                                                                    \
    }
SUM(uint32_t)
SUM(uint64_t)

/* Entries [begin, end) of the list, which meet one list of B. */
static void compute_column(const columns *all, uint8_t *mark, int64_t begin, int64_t end)
{
    const tsr_md_vectors *b = &all->job->b;
    const int64_t c = all->list[begin].c, first = tsr_md_index(b->i, b->wide, b->p[c]);
    tsr_md_set_marks(mark, b, c, 1);
    if (b->wide)
        rows_uint64_t(all, mark, begin, end, (uint64_t)first);
    else
        rows_uint32_t(all, mark, begin, end, (uint32_t)first);
    tsr_md_set_marks(mark, b, c, 0);
}

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
            compute_column(all, all->marks[thread], begin, t);
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
