/* SpGEMM: operands as the loops want them, and how many products there are.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/spgemm/driver.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/common/chunks.h"
#include "src/base/split.h"

enum {
    NARROW_FROM = 6,     /* products for each entry of B from which a copy with 32-bit indices pays */
    FETCH_FROM = 1 << 21 /* bytes of B that caches do not hold */
};

/* ---- layouts ---- */

static tsr_status copy_of(tsr_compressed *out, tsr_view *v, unsigned flags, bool values, int nthreads)
{
    const bool keeps_values = !(flags & TSR_COMPRESS_FLIP);
    const tsr_view was = *v;
    const tsr_status status = tsr_compress(out, v, v->type, flags | (values && !keeps_values ? 0 : TSR_COMPRESS_PATTERN), nthreads);
    if (status != TSR_OK)
        return status;
    *v = out->view;
    if (keeps_values) {
        v->x = was.x;
        v->iso = was.iso;
    }
    return TSR_OK;
}

static tsr_status flip(tsr_compressed *out, tsr_view *v, bool values, int nthreads)
{
    return v->by_col ? copy_of(out, v, TSR_COMPRESS_FLIP, values, nthreads) : TSR_OK;
}

/* Offsets of all rows of a hypersparse B, where they are not many more than what is done with them. */
static bool expand(tsr_spgemm_work *w)
{
    const tsr_view *b = &w->product.b;
    if (b->format != TSR_HYPERSPARSE || b->nrows / 4 > b->nvec + w->product.a.nvals + 1024)
        return true;
    int64_t *p = w->b_offsets = malloc((size_t)(b->nrows + 1) * sizeof *p);
    if (!p)
        return false;
    int64_t done = 0;
    for (int64_t v = 0; v < b->nvec; v++)
        while (done <= b->h[v])
            p[done++] = tsr_view_start(b, v);
    while (done <= b->nrows)
        p[done++] = b->nvals;
    return true;
}

/* ---- the job ---- */

static tsr_sg_source source_of(const tsr_spgemm *s)
{
    static const tsr_sg_source of_position[] = {[TSR_POSITION_I] = TSR_SG_I, [TSR_POSITION_K] = TSR_SG_K, [TSR_POSITION_J] = TSR_SG_J};
    if (s->position)
        return of_position[s->position];
    switch (s->semiring.mul) {
    case TSR_MUL_PAIR: return TSR_SG_ONE;
    case TSR_MUL_FIRST: return TSR_SG_A;
    case TSR_MUL_SECOND: return TSR_SG_B;
    default: return TSR_SG_MULTIPLY;
    }
}

static uint64_t one_of(tsr_type type)
{
    const float narrow = 1;
    const double wide = 1;
    uint64_t bits = 1;
    if (type == TSR_FP32)
        memcpy(&bits, &narrow, sizeof narrow);
    if (type == TSR_FP64)
        memcpy(&bits, &wide, sizeof wide);
    return bits;
}

static int64_t step_of_terms(const tsr_sg_job *job)
{
    if (job->source == TSR_SG_B)
        return job->b_step;
    return job->source == TSR_SG_MULTIPLY || job->source == TSR_SG_J;
}

static void set_values(tsr_spgemm_work *w)
{
    const tsr_spgemm *s = &w->product;
    tsr_sg_job *job = &w->job;
    const bool reads_a = tsr_spgemm_reads_a(s), reads_b = tsr_spgemm_reads_b(s);
    w->one = one_of(s->semiring.type);
    job->semiring = s->semiring;
    job->offset = s->offset;
    job->source = source_of(s);
    job->valued = !s->pattern;
    job->size = tsr_type_size(s->semiring.type);
    job->multiply = tsr_sg_find_multiply(s->semiring.type, s->semiring.mul);
    job->a_x = reads_a && s->a.x ? s->a.x : &w->one;
    job->b_x = reads_b && s->b.x ? s->b.x : &w->one;
    job->a_step = reads_a && s->a.x && !s->a.iso;
    job->b_step = reads_b && s->b.x && !s->b.iso;
    job->term_step = step_of_terms(job);
}

static void set_patterns(tsr_spgemm_work *w)
{
    const tsr_spgemm *s = &w->product;
    tsr_sg_job *job = &w->job;
    job->m = s->m;
    job->n = s->n;
    job->k = s->k;
    job->nvec = s->a.nvec;
    job->a_p = tsr_offsets_of(&s->a);
    job->a_h = s->a.format == TSR_HYPERSPARSE ? s->a.h : NULL;
    job->a_i = s->a.i;
    job->a_wide = s->a.index_size == 8;
    job->b_p = w->b_offsets ? (tsr_offsets){.list = w->b_offsets} : tsr_offsets_of(&s->b);
    job->b_h = s->b.format == TSR_HYPERSPARSE && !w->b_offsets ? s->b.h : NULL;
    job->b_i = s->b.i;
    job->b_wide = s->b.index_size == 8;
    job->b_nvec = s->b.nvec;
    job->b_sorted = !s->b.jumbled;
    job->fetch = !job->b_h && (double)s->b.nvals * (double)(s->b.index_size + (job->b_step ? job->size : 0)) > FETCH_FROM;
}

static void set_mask(tsr_spgemm_work *w)
{
    const tsr_spgemm *s = &w->product;
    tsr_sg_job *job = &w->job;
    if (!s->masked)
        return;
    job->masked = tsr_is_compressed(&s->mask);
    job->sieved = !job->masked;
    job->m_b = s->mask.format == TSR_BITMAP ? s->mask.b : NULL;
    job->m_ld = s->mask.ld;
    job->complement = s->mask_complement;
    job->m_p = tsr_offsets_of(&s->mask);
    job->m_h = s->mask.format == TSR_HYPERSPARSE ? s->mask.h : NULL;
    job->m_i = s->mask.i;
    job->m_wide = s->mask.index_size == 8;
    job->m_nvec = s->mask.nvec;
    job->m_x = s->mask.x;
    job->m_size = s->mask_structural || !s->mask.x ? 0 : tsr_type_size(s->mask.type);
    job->m_step = !s->mask.iso;
}

/* ---- products ---- */

static void count_range(void *context, int64_t first, int64_t last)
{
    tsr_spgemm_work *w = context;
    const tsr_sg_job *job = &w->job;
    enum { AHEAD = 16 };
    const int64_t end = tsr_offset_at(job->a_p, last);
    for (int64_t v = first; v < last; v++) {
        int64_t products = 0;
        for (int64_t e = tsr_offset_at(job->a_p, v); e < tsr_offset_at(job->a_p, v + 1); e++) {
            int64_t lo, hi;
            if (job->fetch && e + AHEAD < end)
                tsr_offset_fetch(job->b_p, tsr_sg_index(job->a_i, job->a_wide, e + AHEAD));
            tsr_sg_row_of_b(job, tsr_sg_index(job->a_i, job->a_wide, e), &lo, &hi);
            products += hi - lo;
        }
        w->before[v + 1] = products;
    }
}

static tsr_status count_products(tsr_spgemm_work *w)
{
    const int64_t nvec = w->job.nvec;
    w->before = malloc((size_t)(nvec + 1) * sizeof *w->before);
    if (!w->before)
        return TSR_OUT_OF_MEMORY;
    w->before[0] = 0;
    const int parts = tsr_parts(w->product.a.nvals + nvec, TSR_THREAD_WORK / 4, w->product.nthreads);
    tsr_for_ranges(nvec, nvec / (parts > 1 ? 8 * parts : 1) + 1, parts, count_range, w);
    tsr_prefix_sums(w->before, nvec + 1, w->product.nthreads);
    return TSR_OK;
}

/* 32-bit indices halve what is read of B's pattern; not worth failing for. */
static void narrow(tsr_spgemm_work *w)
{
    tsr_view *b = &w->product.b;
    const bool pays = w->before[w->job.nvec] / NARROW_FROM > b->nvals + b->nrows;
    if (!pays || b->index_size == 4 || b->jumbled || b->ncols > UINT32_MAX || b->format != TSR_SPARSE || w->b.view.p)
        return;
    if (copy_of(&w->b, b, 0, false, w->product.nthreads) == TSR_OK)
        set_patterns(w);
}

static bool is_valid(const tsr_spgemm *s)
{
    return tsr_is_compressed(&s->a) && tsr_is_compressed(&s->b) && (!s->masked || tsr_is_compressed(&s->mask) || !s->mask.by_col);
}

/* Indices are kept in 32 bits beside their places, and compressed masks as a byte a column. */
static bool fits(const tsr_spgemm *s)
{
    return s->n <= UINT32_MAX && (!s->masked || !tsr_is_compressed(&s->mask) || s->n <= (int64_t)1 << 27);
}

tsr_status tsr_sg_prepare(tsr_spgemm_work *w)
{
    tsr_spgemm *s = &w->product;
    if (!is_valid(s) || !fits(s))
        return TSR_DECLINED;
    tsr_status status = flip(&w->a, &s->a, tsr_spgemm_reads_a(s), s->nthreads);
    if (status == TSR_OK)
        status = flip(&w->b, &s->b, tsr_spgemm_reads_b(s), s->nthreads);
    if (status == TSR_OK && s->masked && tsr_is_compressed(&s->mask))
        status = flip(&w->mask, &s->mask, !s->mask_structural && s->mask.x, s->nthreads);
    if (status == TSR_OK && !expand(w))
        status = TSR_OUT_OF_MEMORY;
    if (status != TSR_OK)
        return status;
    set_values(w);
    set_patterns(w);
    set_mask(w);
    status = count_products(w);
    if (status == TSR_OK)
        narrow(w);
    return status == TSR_OK && !tsr_sg_find_loops(&w->loops, &w->job) ? TSR_DECLINED : status;
}
