/* Selection, vector by vector, by all threads: each counts some vectors from zero, and fills others of as many entries.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/selection/select_vectors.h"

#include "kernels/cpu/common/chunks.h"
#include "src/base/split.h"

enum { PARTS_PER_THREAD = 8 };

typedef struct selecting {
    const tsr_selection *s;
    tsr_select_count *count;
    tsr_select_fill *fill;
    int64_t *counts;  /* p of the result, written */
    const int64_t *p; /* ... read */
    void *i, *x;
    int nparts;
} selecting;

static int parts_of(const tsr_selection *s, int nthreads)
{
    return nthreads > 1 && s->a.nvec > 0 ? nthreads * PARTS_PER_THREAD : 1;
}

static void count_part(void *context, int64_t part)
{
    const selecting *w = context;
    const int64_t nvec = w->s->a.nvec;
    const int64_t first = tsr_part_begin(nvec, (int)part, w->nparts), last = tsr_part_begin(nvec, (int)part + 1, w->nparts);
    w->count(w->s, w->counts, first, last);
}

static void join_part(void *context, int64_t part)
{
    const selecting *w = context;
    const int64_t nvec = w->s->a.nvec;
    tsr_join_others(w->counts, tsr_part_begin(nvec, (int)part, w->nparts), tsr_part_begin(nvec, (int)part + 1, w->nparts));
}

/* Each part has counted from zero. */
static void join_parts(selecting *w, int nthreads)
{
    const int64_t nvec = w->s->a.nvec;
    for (int part = 0; part < w->nparts; part++)
        tsr_join_last(w->counts, tsr_part_begin(nvec, part, w->nparts), tsr_part_begin(nvec, part + 1, w->nparts));
    tsr_for_jobs(w->nparts, nthreads, join_part, w);
}

void tsr_select_vectors_count(const tsr_selection *s, tsr_select_count *count, int64_t *p, int nthreads)
{
    selecting w = {.s = s, .count = count, .counts = p, .nparts = parts_of(s, nthreads)};
    p[0] = 0;
    tsr_for_jobs(w.nparts, nthreads, count_part, &w);
    join_parts(&w, nthreads);
}

static void fill_part(void *context, int64_t part)
{
    const selecting *w = context;
    const int64_t nvec = w->s->a.nvec;
    const int64_t first = tsr_part_vector(w->p, nvec, (int)part, w->nparts), last = tsr_part_vector(w->p, nvec, (int)part + 1, w->nparts);
    w->fill(w->s, w->p, w->i, w->x, first, last);
}

void tsr_select_vectors_fill(const tsr_selection *s, tsr_select_fill *fill, const int64_t *p, void *i, void *x, int nthreads)
{
    selecting w = {.s = s, .fill = fill, .p = p, .i = i, .x = x, .nparts = parts_of(s, nthreads)};
    tsr_for_jobs(w.nparts, nthreads, fill_part, &w);
}
