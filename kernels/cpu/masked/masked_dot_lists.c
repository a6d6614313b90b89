/* Masked dot product of short lists of which only the number of products counts: each pair is compared at once, as it lies, and nothing is
 * marked.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/common/chunks.h"
#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/masked/masked_dot.h"
#include "kernels/cpu/masked/masked_dot_short.h"
#include "src/base/split.h"
#include "src/format/sparse/format.h"

enum { SAMPLES = 128, PARTS_PER_THREAD = 8 };

typedef struct listing {
    const tsr_md_job *job;
    tsr_md_short lists;
    tsr_md_short_function *count;
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
    return (double)sum <= TSR_SHORT_LIST_BLOCKS * (double)samples;
}

bool tsr_md_lists_pay(const tsr_md_job *job)
{
    const tsr_md_vectors *a = &job->a, *b = &job->b;
    return job->kind != TSR_MD_FOLD && a->sorted && b->sorted && !a->h && !b->h && a->wide == b->wide && a->wide == job->m.wide &&
           job->k <= INT32_MAX &&
           lists_are_short(job);
}

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
    uint32_t counts[TSR_MD_CHUNK];
    const tsr_offsets p = m->p;
    int64_t v = tsr_part_vector_of(p, m->nvec, (int)part, l->nparts);
    const int64_t end = tsr_offset_at(p, tsr_part_vector_of(p, m->nvec, (int)part + 1, l->nparts));
    for (int64_t e = tsr_offset_at(p, v); e < end; e += TSR_MD_CHUNK) {
        const int64_t n = end - e < TSR_MD_CHUNK ? end - e : TSR_MD_CHUNK;
        v = p.narrow ? vector_from(p.list, true, v, e) : vector_from(p.list, false, v, e);
        l->count(counts, &l->lists, v, e, e + n);
        tsr_md_finish_counts(l->job, e, counts, n);
    }
}

tsr_status tsr_md_lists(const tsr_md_job *job)
{
    const int threads = tsr_parts(job->m.nvals + job->m.nvec, TSR_MD_THREAD_WORK, job->nthreads);
    const listing l = {.job = job,
                       .lists = {.a_p = job->a.p.list, .b_p = job->b.p.list, .m_p = job->m.p.list, .m_h = job->m.h, .a_i = job->a.i,
                                 .b_i = job->b.i, .m_i = job->m.i, .narrow_offsets = job->narrow_offsets, .nvals = job->m.nvals, .wide = job->a.wide},
                       .count = TSR_PICK_ISA(tsr_md_count_short),
                       .nparts = threads > 1 ? threads * PARTS_PER_THREAD : 1};
    tsr_for_jobs(l.nparts, threads, count_part, (void *)&l);
    return TSR_OK;
}
