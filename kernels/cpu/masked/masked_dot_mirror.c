/* Results are copied to their mirror images.  Rows are walked in their order, so what row c has for them comes in its order, too: a cursor for
 * each row takes the place of a search for each entry.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/masked/masked_dot_mirror.h"
#include "kernels/cpu/common/chunks.h"
#include "src/base/split.h"
#include "src/format/sparse/format.h"

#include <stdlib.h>
#include <string.h>

enum { ENTRIES_PER_CURSOR = 4, NOWHERE = -1 };

typedef struct copying {
    const tsr_md_job *job;
    int64_t *cursors; /* of each part for each stored row of the mask */
    int64_t copied;
    int parts;
} copying;

/* Entry (c, r) of the mask, c its stored row v; or NOWHERE.  r ascends from call to call. */
static int64_t image_of(const tsr_md_vectors *m, int64_t *cursor, int64_t v, int64_t r)
{
    const int64_t stop = tsr_md_start(m, v + 1);
    int64_t at = cursor[v];
    if (at == NOWHERE)
        at = tsr_md_lower_bound(m->i, m->wide, tsr_md_start(m, v), stop, r);
    while (at < stop && tsr_md_index(m->i, m->wide, at) < r)
        at++;
    cursor[v] = at;
    return at < stop && tsr_md_index(m->i, m->wide, at) == r ? at : NOWHERE;
}

static int64_t length_of(const tsr_md_vectors *v, int64_t name)
{
    const int64_t at = tsr_md_vector(v, name);
    return at < 0 ? 0 : tsr_md_start(v, at + 1) - tsr_md_start(v, at);
}

/* How many results of stored row v were copied. */
static int64_t copy_row(const tsr_md_job *job, int64_t *cursor, int64_t v)
{
    const tsr_md_vectors *m = &job->m;
    const int64_t r = m->h ? m->h[v] : v, row = length_of(&job->a, r);
    int64_t copied = 0;
    for (int64_t e = tsr_md_start(m, v), end = tsr_md_start(m, v + 1); e < end; e++) {
        const int64_t c = tsr_md_index(m->i, m->wide, e);
        if (tsr_md_side_of(r, c, row, length_of(&job->b, c)) != TSR_MD_COMPUTED || !tsr_md_passes(job, e))
            continue;
        const int64_t of_c = tsr_md_vector(m, c), at = of_c < 0 ? NOWHERE : image_of(m, cursor, of_c, r);
        if (at == NOWHERE || !tsr_md_passes(job, at))
            continue;
        memcpy((char *)job->x + (size_t)at * job->size, (const char *)job->x + (size_t)e * job->size, job->size);
        job->present[at] = job->present[e];
        copied++;
    }
    return copied;
}

static void copy_part(void *context, int64_t part)
{
    copying *all = context;
    const tsr_md_vectors *m = &all->job->m;
    int64_t *cursor = all->cursors + part * m->nvec, copied = 0;
    for (int64_t v = 0; v < m->nvec; v++)
        cursor[v] = part ? NOWHERE : tsr_md_start(m, v);
    const int64_t end = tsr_part_vector_of(m->p, m->nvec, (int)part + 1, all->parts);
    for (int64_t v = tsr_part_vector_of(m->p, m->nvec, (int)part, all->parts); v < end; v++)
        copied += copy_row(all->job, cursor, v);
    __atomic_fetch_add(&all->copied, copied, __ATOMIC_RELAXED);
}

tsr_status tsr_md_copy_to_mirrors(const tsr_md_job *job, int64_t *copied)
{
    const int64_t most = job->m.nvals / (ENTRIES_PER_CURSOR * (job->m.nvec + 1)) + 1;
    const int threads = tsr_parts(job->m.nvals, TSR_MD_THREAD_WORK, job->nthreads);
    copying all = {.job = job, .parts = most < threads ? (int)most : threads};
    all.cursors = malloc((size_t)all.parts * (size_t)(job->m.nvec + 1) * sizeof *all.cursors);
    if (!all.cursors)
        return TSR_OUT_OF_MEMORY;
    tsr_for_jobs(all.parts, all.parts, copy_part, &all);
    free(all.cursors);
    *copied = all.copied;
    return TSR_OK;
}
