/* Masked dot product C<M> = A (+).(x) B of sparse matrices: normalisation, and the choice of a form.
 * Takes sparse and hypersparse operands and masks in every orientation, every semiring and type.
 * Declines bitmap and full operands or masks, and inner dimensions beyond what can be marked when something is jumbled.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/masked/masked_dot.h"
#include "src/base/split.h"
#include "src/format/sparse/format.h"

#include <stdlib.h>
#include <string.h>

#define SPREAD_MOST ((int64_t)1 << 31) /* columns a mask row may have to be marked */

static bool compressed(const tsr_view *v)
{
    return (v->format == TSR_SPARSE || v->format == TSR_HYPERSPARSE) && (v->i || !v->nvals);
}

static tsr_md_vectors vectors_of(const tsr_view *v, bool with_values)
{
    return (tsr_md_vectors){.p = tsr_offsets_of(v), .h = v->h, .i = v->i, .x = with_values ? v->x : NULL, .nvec = v->nvec,
                            .nvals = v->nvals, .wide = v->index_size == 8, .iso = v->iso, .sorted = !v->jumbled};
}

static void set_kind(tsr_md_job *job)
{
    bool same = (!job->a.x || job->a.iso) && (!job->b.x || job->b.iso);
    if (!same)
        job->kind = TSR_MD_FOLD;
    else
        job->kind = job->semiring.add == TSR_ADD_PLUS ? TSR_MD_COUNT : TSR_MD_EXISTS;
    if (same)
        tsr_md_one_product(job->product, job->semiring, job->a.x, job->b.x);
}

static tsr_md_job job_of(const tsr_product *p, tsr_result *result)
{
    tsr_md_job job = {.m = vectors_of(&p->mask, false), .k = p->k, .mrows = p->m, .mcols = p->n,
                      .semiring = p->semiring, .size = tsr_type_size(p->semiring.type),
                      .mask_x = p->mask_structural ? NULL : p->mask.x, .mask_size = tsr_type_size(p->mask.type),
                      .mask_iso = p->mask.iso, .x = result->x, .present = result->b, .nthreads = p->nthreads};
    job.narrow_offsets = p->mask.narrow_offsets;
    job.a = vectors_of(&p->a, tsr_reads_a(p));
    job.b = vectors_of(&p->b, tsr_reads_b(p));
    set_kind(&job);
    return job;
}

/* ---- symmetry ---- */

static bool same_indices(const tsr_md_vectors *a, const tsr_md_vectors *b)
{
    if (a->i == b->i)
        return a->wide == b->wide;
    for (int64_t e = 0; e < a->nvals; e++)
        if (tsr_md_index(a->i, a->wide, e) != tsr_md_index(b->i, b->wide, e))
            return false;
    return true;
}

static bool same_values(const tsr_md_job *job)
{
    if (job->kind != TSR_MD_FOLD || job->a.x == job->b.x)
        return true;
    if (!job->a.x || !job->b.x || job->a.iso != job->b.iso)
        return false;
    return memcmp(job->a.x, job->b.x, (job->a.iso ? 1 : (size_t)job->a.nvals) * job->size) == 0;
}

static bool commutes(const tsr_md_job *job)
{
    tsr_mul mul = job->semiring.mul;
    return job->kind != TSR_MD_FOLD || (mul != TSR_MUL_FIRST && mul != TSR_MUL_SECOND);
}

/* Rows of A and columns of B are the same vectors: the product is symmetric. */
static bool product_symmetric(const tsr_md_job *job)
{
    const tsr_md_vectors *a = &job->a, *b = &job->b;
    if (job->mrows != job->mcols || a->nvec != b->nvec || a->nvals != b->nvals || a->h || b->h || !commutes(job))
        return false;
    const size_t offsets = (size_t)(a->nvec + 1) * (job->narrow_offsets ? sizeof(uint32_t) : sizeof(int64_t));
    if (a->p.list != b->p.list && memcmp(a->p.list, b->p.list, offsets) != 0)
        return false;
    return same_indices(a, b) && same_values(job);
}

#define SAMPLES 256

/* Most of a few mask entries have their mirror image in the mask. */
static bool mask_looks_symmetric(const tsr_md_job *job)
{
    const tsr_md_vectors *m = &job->m;
    int64_t mirrored = 0, samples = m->nvals < SAMPLES ? m->nvals : SAMPLES;
    for (int64_t s = 0; s < samples; s++) {
        int64_t e = m->nvals / samples * s;
        int64_t v = tsr_vector_of(m->p, m->nvec, e);
        int64_t r = m->h ? m->h[v] : v, c = tsr_md_vector(m, tsr_md_index(m->i, m->wide, e));
        if (c < 0)
            continue;
        const int64_t end = tsr_md_start(m, c + 1), at = tsr_md_lower_bound(m->i, m->wide, tsr_md_start(m, c), end, r);
        mirrored += at < end && tsr_md_index(m->i, m->wide, at) == r;
    }
    return mirrored * 10 >= samples * 9;
}

/* ---- temporary layouts ---- */

typedef struct temporaries {
    tsr_compressed a, b;
    void *p[3]; /* offsets of A, B and the mask in another width */
} temporaries;

static void free_temporaries(temporaries *t)
{
    tsr_compressed_free(&t->a);
    tsr_compressed_free(&t->b);
    for (int k = 0; k < 3; k++)
        free(t->p[k]);
}

static tsr_status flip(tsr_compressed *out, tsr_view *v, tsr_type type, bool with_values, int nthreads)
{
    unsigned flags = TSR_COMPRESS_FLIP | (with_values ? 0 : TSR_COMPRESS_PATTERN);
    tsr_status status = tsr_compress(out, v, type, flags, nthreads);
    if (status == TSR_OK)
        *v = out->view;
    return status;
}

/* Narrow indices halve what is read, worth it when every entry is walked several times.  Values stay where they are. */
static tsr_status narrow(tsr_compressed *out, tsr_view *v, const tsr_product *p)
{
    int64_t names = v->by_col ? v->ncols : v->nrows;
    bool walked_often = p->mask.nvals / 4 > v->nvec && v->nvals > v->nvec;
    if (v->index_size == 4 || out->view.p || !walked_often || v->jumbled || v->vlen > UINT32_MAX ||
        names > 8 * v->nvals)
        return TSR_OK;
    tsr_status status = tsr_compress(out, v, p->semiring.type, TSR_COMPRESS_PATTERN, p->nthreads);
    if (status != TSR_OK)
        return status == TSR_OUT_OF_MEMORY ? TSR_OK : status;
    const void *x = v->x;
    bool iso = v->iso;
    *v = out->view;
    v->x = x;
    v->iso = iso;
    return TSR_OK;
}

static void share_structure(tsr_view *v, const tsr_view *from)
{
    v->format = from->format;
    v->nvec = from->nvec;
    v->p = from->p;
    v->narrow_offsets = from->narrow_offsets;
    v->h = from->h;
    v->i = from->i;
    v->index_size = from->index_size;
}

/* The offsets of an operand in the other width. */
static tsr_status recast(void **copy, tsr_view *v)
{
    const bool narrow = !v->narrow_offsets;
    void *p = malloc((size_t)(v->nvec + 1) * (narrow ? sizeof(uint32_t) : sizeof(int64_t)));
    if (!p)
        return TSR_OUT_OF_MEMORY;
    for (int64_t k = 0; k <= v->nvec; k++)
        if (narrow)
            ((uint32_t *)p)[k] = (uint32_t)tsr_view_start(v, k);
        else
            ((int64_t *)p)[k] = tsr_view_start(v, k);
    free(*copy); /* of an earlier turn */
    *copy = p;
    v->p = p;
    v->narrow_offsets = narrow;
    return TSR_OK;
}

/* Offsets of all operands get one width: where they have two, that of which fewer offsets are lacking.  Copies of ours have 64 bits. */
static tsr_status level_offsets(tsr_product *p, temporaries *t)
{
    tsr_view *const views[] = {&p->a, &p->b, &p->mask};
    const bool shared = p->a.p == p->b.p && p->a.i == p->b.i;
    int64_t wide = 0, narrow = 0;
    bool fits = true;
    tsr_status status = TSR_OK;
    for (int k = 0; k < 3; k++) {
        *(views[k]->narrow_offsets ? &narrow : &wide) += k == 1 && shared ? 0 : views[k]->nvec + 1;
        fits = fits && tsr_view_start(views[k], views[k]->nvec) <= UINT32_MAX;
    }
    if (!wide || !narrow)
        return status;
    for (int k = 0; k < 3 && status == TSR_OK; k++)
        if (views[k]->narrow_offsets != (fits && wide < narrow) && !(k == 1 && shared))
            status = recast(&t->p[k], views[k]);
    if (shared)
        share_structure(&p->b, &p->a);
    return status;
}

/* Products of the rows of A that the mask names; counted until there are more than `most`.  narrow: known where this is called, so that
 * offsets are read without a question. */
TSR_INLINE int64_t walked(const tsr_md_job *job, int64_t most, const bool narrow)
{
    const tsr_md_vectors *a = &job->a, *b = &job->b, *m = &job->m;
    int64_t sum = 0;
    for (int64_t v = 0; v < m->nvec && sum <= most; v++) {
        const bool empty = tsr_offset(m->p.list, narrow, v) == tsr_offset(m->p.list, narrow, v + 1);
        const int64_t row = empty ? -1 : tsr_md_vector(a, m->h ? m->h[v] : v), end = row < 0 ? 0 : tsr_offset(a->p.list, narrow, row + 1);
        for (int64_t e = row < 0 ? 0 : tsr_offset(a->p.list, narrow, row); e < end; e++) {
            const int64_t k = tsr_md_vector(b, tsr_md_index(a->i, a->wide, e));
            sum += k < 0 ? 0 : tsr_offset(b->p.list, narrow, k + 1) - tsr_offset(b->p.list, narrow, k);
        }
    }
    return sum;
}

/* Both operands by row.  Walking the rows of B needs no flip; it is chosen when it walks no more than a flip of B and a
 * look at each mask entry would cost, which is less where only counts are wanted. */
static bool spread_is_cheap(const tsr_md_job *job)
{
    const bool counts = job->kind != TSR_MD_FOLD;
    const int64_t allowed = counts ? 2 * job->b.nvals + 3 * job->m.nvals : 12 * job->b.nvals + 8 * job->m.nvals;
    if (job->mcols > SPREAD_MOST)
        return false;
    return (job->narrow_offsets ? walked(job, allowed, true) : walked(job, allowed, false)) <= allowed;
}

static int64_t count_present(const int8_t *present, int64_t n, int nthreads)
{
    int64_t sum = 0;
    const int useful = tsr_pass_threads(n, nthreads);
#pragma omp parallel for num_threads(tsr_team(useful)) schedule(static) reduction(+ : sum) if (useful > 1)
    for (int64_t e = 0; e < n; e++)
        sum += present[e];
    return sum;
}

static tsr_status pairs_form(tsr_product *p, tsr_result *result, temporaries *t)
{
    tsr_status status = level_offsets(p, t);
    if (status != TSR_OK)
        return status;
    const tsr_md_job as_given = job_of(p, result);
    if (tsr_md_lists_pay(&as_given))
        return tsr_md_lists(&as_given);
    bool shared = p->a.p == p->b.p && p->a.i == p->b.i;
    status = narrow(&t->a, &p->a, p);
    if (status == TSR_OK && !shared)
        status = narrow(&t->b, &p->b, p);
    if (shared)
        share_structure(&p->b, &p->a);
    if (status == TSR_OK)
        status = level_offsets(p, t);
    if (status != TSR_OK)
        return status;
    tsr_md_job job = job_of(p, result);
    if (tsr_md_bits_pay(&job))
        return tsr_md_bits(&job);
    job.mirrored = job.m.sorted && product_symmetric(&job) && mask_looks_symmetric(&job);
    return tsr_md_rows_pay(&job) ? tsr_md_rows(&job) : tsr_md_values(&job);
}

static tsr_status compute(tsr_product *p, tsr_result *result, temporaries *t)
{
    tsr_status status = TSR_OK;
    if (p->a.by_col)
        status = flip(&t->a, &p->a, p->semiring.type, tsr_reads_a(p), p->nthreads);
    if (status == TSR_OK)
        status = level_offsets(p, t);
    if (status == TSR_OK && !p->b.by_col) {
        tsr_md_job job = job_of(p, result);
        if (spread_is_cheap(&job))
            return tsr_md_spread_rows(&job);
        status = flip(&t->b, &p->b, p->semiring.type, tsr_reads_b(p), p->nthreads);
    }
    return status == TSR_OK ? pairs_form(p, result, t) : status;
}

tsr_status tsr_cpu_masked_dot(const tsr_product *product, tsr_result *result)
{
    if (!compressed(&product->a) || !compressed(&product->b) || !compressed(&product->mask))
        return TSR_DECLINED;
    tsr_product p = tsr_product_by_row(product);
    result->nvals = 0;
    if (!p.mask.nvals)
        return TSR_OK;
    memset(result->b, 0, (size_t)p.mask.nvals);
    if (!p.a.nvals || !p.b.nvals)
        return TSR_OK;
    temporaries t = {0};
    tsr_status status = compute(&p, result, &t);
    free_temporaries(&t);
    if (status == TSR_OK)
        result->nvals = count_present(result->b, p.mask.nvals, p.nthreads);
    return status;
}
