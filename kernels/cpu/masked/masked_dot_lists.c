/* Masked dot product of short lists: each pair is compared at once, as it lies, and nothing is marked.  Where values are added, pairs that have
 * products are compared once more to find them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/common/chunks.h"
#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/masked/masked_dot.h"
#include "kernels/cpu/masked/masked_dot_intersect.h"
#include "kernels/cpu/masked/masked_dot_short.h"
#include "src/base/split.h"
#include "src/format/sparse/format.h"

enum {
    SAMPLES = 128,
    PARTS_PER_THREAD = 8,
    PAIR_STEPS = 2, /* a pair is counted and becomes a result */
    FAR_BYTES = 16 << 20,
    UNEVEN = 16 /* one list so many times as long as the other is searched for what both have */
};

typedef struct listing {
    const tsr_md_job *job;
    tsr_md_short lists;
    tsr_md_short_function *count;
    tsr_md_hits_function *find;
    int nparts;
} listing;

/* Of the pair that entry e of the mask, in the stored row v, names. */
static int64_t blocks(const tsr_md_job *job, int64_t v, int64_t e)
{
    const int64_t r = job->m.h ? job->m.h[v] : v, c = tsr_md_index(job->m.i, job->m.wide, e);
    return tsr_list_blocks(tsr_md_entries(&job->a, r), tsr_md_entries(&job->b, c));
}

static bool lists_are_short(const tsr_md_job *job)
{
    const tsr_md_vectors *m = &job->m;
    const int64_t samples = m->nvals < SAMPLES ? m->nvals : SAMPLES, stride = m->nvals / samples;
    int64_t sum = 0;
    for (int64_t s = 0; s < samples; s++)
        sum += blocks(job, tsr_vector_of(m->p, m->nvec, s * stride), s * stride);
    return (double)sum <= tsr_short_list_blocks(job->kind != TSR_MD_FOLD) * (double)samples;
}

bool tsr_md_lists_pay(const tsr_md_job *job)
{
    const tsr_md_vectors *a = &job->a, *b = &job->b;
    return a->sorted && b->sorted && !a->h && !b->h && a->wide == b->wide && a->wide == job->m.wide &&
           job->k <= INT32_MAX && job->mrows <= INT32_MAX && lists_are_short(job);
}

/* More than caches hold of offsets and indices. */
static bool lists_are_far(const tsr_md_vectors *b)
{
    return b->nvals * (b->wide ? 8 : 4) + b->nvec * (b->p.narrow ? 4 : 8) > FAR_BYTES;
}

/* ---- values ---- */

typedef struct adder {
    const listing *l;
    tsr_md_intersection searched;
    tsr_md_hits hits;
} adder;

/* Values of a list from its first entry on, and the step to the next. */
static const void *values_of(const tsr_md_list *list, size_t size, int64_t *step)
{
    static const double ignored[1];
    const tsr_md_vectors *v = list->of;
    *step = v->x && !v->iso;
    return v->x ? (const void *)((const char *)v->x + (size_t)(list->begin * *step) * size) : ignored;
}

/* `count` products of the two lists, which have so many indices in common, become x[e]. */
static void add(adder *w, int64_t e, tsr_md_list a, tsr_md_list b, int64_t count)
{
    const tsr_md_job *job = w->l->job;
    const int64_t na = tsr_md_length(a), nb = tsr_md_length(b);
    int64_t a_step, b_step;
    if (count > TSR_MD_HITS_MOST || na > UNEVEN * nb || nb > UNEVEN * na) {
        tsr_md_intersect_searched(&w->searched, a, b, e);
        return;
    }
    const void *ax = values_of(&a, job->size, &a_step), *bx = values_of(&b, job->size, &b_step);
    const size_t width = job->a.wide ? sizeof(int64_t) : sizeof(uint32_t);
    w->l->find(&w->hits, (const char *)job->a.i + (size_t)a.begin * width, na, (const char *)job->b.i + (size_t)b.begin * width, nb, job->a.wide, count);
    w->searched.walked_b((char *)job->x + (size_t)e * job->size, true, bx, b_step, ax, a_step, w->hits.place, w->hits.index, count);
}

/* Entries [begin, end) of the mask, the first in the stored row v. */
static void add_counted(adder *w, int64_t v, int64_t begin, int64_t end, const uint32_t *counts)
{
    const tsr_md_job *job = w->l->job;
    for (int64_t e = begin; e < end; v++) {
        const int64_t stop = tsr_md_start(&job->m, v + 1) < end ? tsr_md_start(&job->m, v + 1) : end;
        const tsr_md_list a = tsr_md_list_of(&job->a, job->m.h ? job->m.h[v] : v);
        for (; e < stop; e++) {
            if (!counts[e - begin] || !tsr_md_passes(job, e))
                continue;
            add(w, e, a, tsr_md_list_of(&job->b, tsr_md_index(job->m.i, job->m.wide, e)), counts[e - begin]);
            job->present[e] = 1;
        }
    }
}

/* ---- parts of the mask ---- */

/* The vector, v or a later one, that entry e is in.  narrow: known where this is called, so that each offset is read without a question. */
TSR_INLINE int64_t vector_from(const void *p, const bool narrow, int64_t v, int64_t e)
{
    while (tsr_offset(p, narrow, v + 1) <= e)
        v++;
    return v;
}

static void count_part(void *context, int64_t part)
{
    const listing *l = context;
    const tsr_md_vectors *m = &l->job->m;
    uint32_t counts[TSR_MD_SHORT_MOST];
    adder w;
    w.l = l;
    tsr_md_intersection_begin(&w.searched, l->job);
    const tsr_offsets p = m->p;
    int64_t v = tsr_part_vector_of(p, m->nvec, (int)part, l->nparts);
    const int64_t end = tsr_offset_at(p, tsr_part_vector_of(p, m->nvec, (int)part + 1, l->nparts));
    for (int64_t e = tsr_offset_at(p, v); e < end; e += TSR_MD_SHORT_MOST) {
        const int64_t n = end - e < TSR_MD_SHORT_MOST ? end - e : TSR_MD_SHORT_MOST;
        v = p.narrow ? vector_from(p.list, true, v, e) : vector_from(p.list, false, v, e);
        l->count(counts, &l->lists, v, e, e + n);
        if (l->job->kind == TSR_MD_FOLD)
            add_counted(&w, v, e, e + n, counts);
        else
            tsr_md_finish_counts(l->job, e, counts, n);
    }
}

tsr_status tsr_md_lists(const tsr_md_job *job)
{
    const int threads = tsr_parts(PAIR_STEPS * job->m.nvals + job->m.nvec, TSR_MD_THREAD_WORK, job->nthreads);
    const listing l = {.job = job,
                       .lists = {.a_p = job->a.p.list, .b_p = job->b.p.list, .m_p = job->m.p.list, .m_h = job->m.h, .a_i = job->a.i,
                                 .b_i = job->b.i, .m_i = job->m.i, .nvals = job->m.nvals, .a_nvals = job->a.nvals, .b_nvals = job->b.nvals, .wide = job->a.wide,
                                 .narrow_offsets = job->narrow_offsets, .far = lists_are_far(&job->b)},
                       .count = TSR_PICK_ISA(tsr_md_count_short),
                       .find = TSR_PICK_ISA(tsr_md_find_hits),
                       .nparts = threads > 1 ? threads * PARTS_PER_THREAD : 1};
    tsr_for_jobs(l.nparts, threads, count_part, (void *)&l);
    return TSR_OK;
}
