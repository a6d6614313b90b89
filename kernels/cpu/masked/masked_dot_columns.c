/* Entries of the mask whose list of B is far longer than their row of A are ordered by list.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/masked/masked_dot_columns.h"
#include "kernels/cpu/common/chunks.h"
#include "src/base/split.h"

#include <stdlib.h>

enum { FIRST_ROOM = 1024, PARTS_PER_THREAD = 16 };

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
    tsr_md_column_work *work;
    void *context;
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

static void take_parts(void *context, int64_t thread)
{
    columns *all = context;
    for (int part; (part = __atomic_fetch_add(&all->next, 1, __ATOMIC_RELAXED)) < all->nparts;) {
        int64_t t = tsr_part_begin(all->count, part, all->nparts);
        const int64_t end = tsr_part_begin(all->count, part + 1, all->nparts);
        while (t < end) {
            const int64_t begin = t;
            for (; t < end && all->list[t].c == all->list[begin].c; t++)
                ;
            all->work(all->context, thread, all->list + begin, t - begin);
        }
    }
}

tsr_status tsr_md_columns(const tsr_md_job *job, const tsr_md_deferral *deferrals, int threads, tsr_md_column_work *work, void *context)
{
    columns all = {.job = job, .work = work, .context = context, .nparts = threads == 1 ? 1 : threads * PARTS_PER_THREAD};
    for (int t = 0; t < threads; t++)
        all.count += deferrals[t].count;
    if (!all.count)
        return TSR_OK;
    const tsr_status status = order(&all, deferrals, threads);
    if (status == TSR_OK)
        tsr_for_jobs(threads, threads, take_parts, &all);
    free(all.list);
    return status;
}
