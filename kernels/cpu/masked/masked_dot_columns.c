/* Entries of the mask whose list of B is far longer than their row of A are ordered by list.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/masked/masked_dot_columns.h"
#include "kernels/cpu/common/chunks.h"
#include "src/base/split.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 1024, PARTS_PER_THREAD = 16, RANGES_PER_THREAD = 16 };

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

/* Counting sort of threads: by range of lists, then each range by list. */
typedef struct ordering {
    const tsr_md_deferral *deferrals;
    tsr_md_deferred *by_range, *by_list;
    int64_t *at;    /* of each thread and range, where the next entry goes; thread after thread */
    int64_t *begin; /* of each range, and the end */
    int64_t *place; /* of each list, within its range: 0 before */
    int64_t lists;
    int threads, ranges, shift; /* a range has 2^shift lists */
} ordering;

static void count_ranges(void *context, int64_t thread)
{
    const ordering *o = context;
    const tsr_md_deferral *mine = &o->deferrals[thread];
    int64_t *at = o->at + thread * o->ranges;
    for (int64_t t = 0; t < mine->count; t++)
        at[mine->list[t].c >> o->shift]++;
}

static void place_ranges(const ordering *o)
{
    int64_t before = 0;
    for (int range = 0; range < o->ranges; range++) {
        o->begin[range] = before;
        for (int thread = 0; thread < o->threads; thread++) {
            int64_t *at = &o->at[(int64_t)thread * o->ranges + range];
            const int64_t count = *at;
            *at = before;
            before += count;
        }
    }
    o->begin[o->ranges] = before;
}

static void scatter_to_ranges(void *context, int64_t thread)
{
    const ordering *o = context;
    const tsr_md_deferral *mine = &o->deferrals[thread];
    int64_t *at = o->at + thread * o->ranges;
    for (int64_t t = 0; t < mine->count; t++)
        o->by_range[at[mine->list[t].c >> o->shift]++] = mine->list[t];
}

static void sort_range(void *context, int64_t range)
{
    const ordering *o = context;
    const int64_t first = range << o->shift, end = (range + 1) << o->shift, last = end < o->lists ? end : o->lists;
    for (int64_t t = o->begin[range]; t < o->begin[range + 1]; t++)
        o->place[o->by_range[t].c]++;
    int64_t before = o->begin[range];
    for (int64_t c = first; c < last; c++) {
        const int64_t count = o->place[c];
        o->place[c] = before;
        before += count;
    }
    for (int64_t t = o->begin[range]; t < o->begin[range + 1]; t++)
        o->by_list[o->place[o->by_range[t].c]++] = o->by_range[t];
}

static void split_to_ranges(ordering *o)
{
    tsr_for_jobs(o->threads, o->threads, count_ranges, o);
    place_ranges(o);
    tsr_for_jobs(o->threads, o->threads, scatter_to_ranges, o);
}

/* *out gets all of them.  One thread has one range: its entries are sorted where they were put aside. */
static tsr_status order(columns *out, const tsr_md_deferral *deferrals, int threads)
{
    const bool alone = threads == 1;
    ordering o = {.deferrals = deferrals, .lists = out->job->b.nvec, .threads = threads};
    while ((o.lists - 1) >> o.shift >= (alone ? 1 : (int64_t)threads * RANGES_PER_THREAD))
        o.shift++;
    o.ranges = (int)((o.lists - 1) >> o.shift) + 1;
    o.at = calloc((size_t)o.ranges * (size_t)threads, sizeof *o.at);
    o.begin = malloc(((size_t)o.ranges + 1) * sizeof *o.begin);
    o.place = calloc((size_t)o.lists, sizeof *o.place);
    o.by_list = malloc((size_t)out->count * sizeof *o.by_list);
    o.by_range = alone ? deferrals[0].list : malloc((size_t)out->count * sizeof *o.by_range);
    const bool enough = o.at && o.begin && o.place && o.by_list && o.by_range;
    if (enough && alone)
        memcpy(o.begin, (int64_t[]){0, out->count}, 2 * sizeof *o.begin);
    else if (enough)
        split_to_ranges(&o);
    if (enough)
        tsr_for_jobs(o.ranges, threads, sort_range, &o);
    free(alone ? NULL : o.by_range);
    free(o.place);
    free(o.begin);
    free(o.at);
    out->list = o.by_list;
    return enough ? TSR_OK : TSR_OUT_OF_MEMORY;
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
