/* Extraction of vectors and places: the table of targets, and the division of work.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/common/chunks.h"
#include "kernels/cpu/selection/extract_rows.h"
#include "src/base/split.h"

enum { VECTORS_AT_ONCE = 1024 };

/* ---- targets ---- */

static bool is_range(const tsr_indices *s)
{
    return !s->list && s->step == 1;
}

static tsr_status fill_targets(tsr_extraction *e)
{
    int64_t last = -1;
    e->ascending = true;
    for (int64_t k = 0; k < e->places.count; k++) {
        const int64_t place = tsr_index_at(&e->places, k);
        if (e->target[place] >= 0)
            return TSR_DECLINED;
        e->target[place] = (int32_t)k;
        e->ascending = e->ascending && place > last;
        last = place;
    }
    return TSR_OK;
}

tsr_status tsr_cpu_extract_begin(tsr_extraction *e)
{
    e->target = NULL;
    e->ascending = true;
    e->whole = e->places.count == e->a.vlen;
    if (is_range(&e->places))
        return TSR_OK;
    const size_t bytes = (size_t)e->a.vlen * sizeof *e->target;
    e->target = malloc(bytes ? bytes : 1);
    if (!e->target)
        return TSR_OUT_OF_MEMORY;
    memset(e->target, 0xff, bytes);
    return fill_targets(e);
}

void tsr_cpu_extract_end(tsr_extraction *e)
{
    free(e->target);
    e->target = NULL;
}

/* ---- counts ---- */

typedef struct counting {
    const tsr_extraction *e;
    int64_t *p;
} counting;

static void count_vectors(void *context, int64_t first, int64_t last)
{
    const counting *c = context;
    TSR_PICK_ISA(tsr_extract_loops).count(c->e, c->p, first, last);
}

static int threads_of(const tsr_extraction *e, int64_t entries)
{
    return tsr_parts(entries + e->vectors.count, TSR_THREAD_WORK / 4, e->nthreads);
}

tsr_status tsr_cpu_extract_count(const tsr_extraction *e, int64_t *p)
{
    counting c = {e, p};
    p[0] = 0;
    tsr_for_ranges(e->vectors.count, VECTORS_AT_ONCE, threads_of(e, e->a.nvals), count_vectors, &c);
    for (int64_t k = 0; k < e->vectors.count; k++) {
        if (__builtin_add_overflow(p[k + 1], p[k], &p[k + 1]))
            return TSR_OUT_OF_MEMORY;
    }
    return TSR_OK;
}

/* ---- entries ---- */

typedef struct filling {
    const tsr_extraction *e;
    const int64_t *p;
    void *i, *x;
    tsr_share *shares;
} filling;

static void fill_share(void *context, int64_t job)
{
    const filling *f = context;
    const tsr_share *s = &f->shares[job];
    TSR_PICK_ISA(tsr_extract_loops).fill(f->e, f->p, f->i, f->x, s->first, s->last, s->scratch);
}

tsr_status tsr_cpu_extract_fill(const tsr_extraction *e, const int64_t *p, void *i, void *x)
{
    const int nparts = threads_of(e, p[e->vectors.count]);
    filling f = {e, p, i, x, tsr_make_shares(p, e->vectors.count, nparts, 2 * sizeof(uint64_t))};
    if (!f.shares)
        return TSR_OUT_OF_MEMORY;
    tsr_for_jobs(nparts, nparts, fill_share, &f);
    tsr_free_shares(f.shares);
    return TSR_OK;
}
