/* SpMV on the CPU: y = A (+).(x) x.
 *   A by row      chunks of rows to threads in any order; a long row in pieces that are joined in their order
 *   A by column   every thread adds its columns up in a y of its own; these are joined in their order
 * C (+) that: C is where the rows, or the first thread's sums, begin.
 * Declined: operands of another type than the semiring's, a sparse x, a dense A.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/spmv/spmv_kernels.h"
#include "kernels/cpu/spmm/spmm_plan.h"

#include <stdlib.h>
#include <string.h>

typedef struct spmv {
    const tsr_product *product;
    tsr_spmv_fns fns;
    tsr_spmv_fn rows; /* by row */
    tsr_semiring semiring;
    int64_t size;
    tsr_spmv_job job; /* what all parts share */
    uint64_t one;
    char *x_packed;
    tsr_chunks chunks;
    char *carry; /* by row: a value per slot.  By column: a y per thread but the first */
    int8_t *carry_flags;
    int parts;
} spmv;

/* ---- operands ---- */

static void take_a(spmv *s)
{
    const tsr_view *a = &s->product->a;
    bool constant = !tsr_reads_a(s->product) || a->x == NULL;
    s->job.p = a->p;
    s->job.h = a->h;
    s->job.i = a->i;
    s->job.a = constant ? &s->one : a->x;
    s->job.a_step = constant || a->iso ? 0 : 1;
}

/* An x with gaps between its values (a row-major matrix of one column) is packed. */
static tsr_status pack_x(spmv *s)
{
    const tsr_view *x = &s->product->b;
    const int64_t k = s->product->k;
    s->x_packed = malloc((size_t)(k * (s->size + 1)));
    if (s->x_packed == NULL)
        return TSR_OUT_OF_MEMORY;
    int8_t *flags = (int8_t *)s->x_packed + k * s->size;
    for (int64_t at = 0; at < k; at++) {
        if (s->job.x_mask != 0)
            memcpy(s->x_packed + at * s->size, (const char *)x->x + at * x->ld * s->size, (size_t)s->size);
        flags[at] = x->format == TSR_BITMAP ? x->b[at * x->ld] : 1;
    }
    s->job.x = s->job.x_mask != 0 ? s->x_packed : s->job.x;
    s->job.xb = x->format == TSR_BITMAP ? flags : NULL;
    return TSR_OK;
}

static tsr_status take_x(spmv *s)
{
    const tsr_view *x = &s->product->b;
    bool ignored = !tsr_reads_b(s->product) || x->x == NULL;
    bool same = ignored || x->iso;
    s->job.x = ignored ? &s->one : x->x;
    s->job.x_mask = same ? 0 : -1;
    s->job.xb = x->format == TSR_BITMAP ? x->b : NULL;
    bool gaps = !x->by_col && x->ld != 1 && (!same || s->job.xb != NULL);
    return gaps ? pack_x(s) : TSR_OK;
}

/* ---- offsets ---- */

/* The vectors from `first` on are those from 0 on of this job. */
static tsr_spmv_job from_vector(const spmv *s, const tsr_spmv_job *whole, int64_t first, bool by_col)
{
    tsr_spmv_job job = *whole;
    if (job.h) {
        job.h += first;
    } else if (by_col) {
        job.x = (const char *)job.x + (first & job.x_mask) * s->size;
        job.xb = job.xb ? job.xb + first : NULL;
    } else {
        job.y = (char *)job.y + first * s->size;
        job.yb = job.yb ? job.yb + first : NULL;
        job.c = job.c ? (const char *)job.c + (first & job.c_mask) * s->size : NULL;
    }
    return job;
}

/* Vectors [first, last) of the job.  The loops read offsets of 64 bits: narrow ones are widened some at a time. */
static void run_vectors(const spmv *s, tsr_spmv_fn loop, const tsr_spmv_job *job, bool by_col)
{
    enum { SOME = 512 };
    int64_t p[SOME + 1];
    if (!s->product->a.narrow_offsets) {
        loop(job);
        return;
    }
    for (int64_t first = job->first; first < job->last; first += SOME) {
        tsr_spmv_job part = from_vector(s, job, first, by_col);
        part.p = p;
        part.first = 0;
        part.last = job->last - first < SOME ? job->last - first : SOME;
        for (int64_t v = 0; v <= part.last; v++)
            p[v] = tsr_view_start(&s->product->a, first + v);
        loop(&part);
    }
}

/* ---- A by row ---- */

static int64_t least_gathered = 1 << 19;

void tsr_cpu_gather_from(int64_t entries)
{
    least_gathered = entries;
}

/* A loop for 32-bit indices, others for the rest. */
static tsr_spmv_fn rows_of(const spmv *s)
{
    const tsr_product *p = s->product;
    const bool gathers = p->a.index_size == 4 && p->k <= TSR_SPMV_MOST_GATHERED && p->a.nvals >= least_gathered && !s->job.xb && s->job.x_mask;
    const tsr_spmv_fn gathered = gathers ? TSR_PICK_ISA(tsr_spmv_gathered)(s->semiring) : NULL;
    return gathered ? gathered : s->fns.by_row[p->a.index_size == 4 ? 0 : 1];
}

static void run_rows(void *context, int64_t at)
{
    const spmv *s = context;
    const tsr_chunk *chunk = &s->chunks.list[at];
    tsr_spmv_job job = s->job;
    job.first = chunk->first;
    job.last = chunk->last;
    if (chunk->slot < 0) {
        run_vectors(s, s->rows, &job, false);
    } else {
        job.c = NULL;
        job.p = chunk->bounds;
        job.h = NULL;
        job.first = 0;
        job.last = 1;
        job.y = s->carry + chunk->slot * s->size;
        job.yb = s->carry_flags + chunk->slot;
        s->rows(&job);
    }
}

/* C may be y. */
static void copy_c(const spmv *s, int64_t first, int64_t last)
{
    char *y = (char *)s->job.y + first * s->size;
    if (s->job.c == s->job.y)
        return;
    if (s->job.c_mask)
        memcpy(y, (const char *)s->job.c + first * s->size, (size_t)((last - first) * s->size));
    else
        tsr_fill(y, s->job.c, (size_t)s->size, last - first);
}

/* Pieces of a long row: the first one is copied or joined to C, the others are joined to it. */
static void join_pieces(const spmv *s)
{
    const tsr_view *a = &s->product->a;
    int64_t before = -1;
    for (int64_t at = 0; at < s->chunks.count; at++) {
        const tsr_chunk *chunk = &s->chunks.list[at];
        if (chunk->slot < 0)
            continue;
        int64_t row = a->h != NULL ? a->h[chunk->first] : chunk->first;
        char *y = (char *)s->job.y + row * s->size;
        const char *part = s->carry + chunk->slot * s->size;
        int8_t ignored = 0, *yb = s->job.yb != NULL ? s->job.yb + row : &ignored;
        const bool begins = chunk->first != before;
        if (begins && s->job.c)
            copy_c(s, row, row + 1);
        if (begins && !s->job.c) {
            memcpy(y, part, (size_t)s->size);
            *yb = s->carry_flags[chunk->slot];
        } else {
            s->fns.join(y, part, yb, s->carry_flags + chunk->slot, 1);
        }
        before = chunk->first;
    }
}

static tsr_status spmv_by_row(spmv *s)
{
    const tsr_view *a = &s->product->a;
    bool split = s->product->semiring.add != TSR_ADD_ANY;
    if (tsr_chunks_make(&s->chunks, tsr_offsets_of(a), a->nvec, s->product->nthreads, split) != TSR_OK)
        return TSR_OUT_OF_MEMORY;
    s->carry = malloc((size_t)((s->chunks.slots + 1) * s->size));
    s->carry_flags = malloc((size_t)s->chunks.slots + 1);
    if (s->carry == NULL || s->carry_flags == NULL)
        return TSR_OUT_OF_MEMORY;
    if (a->h != NULL && s->job.c)
        copy_c(s, 0, s->product->m);
    else if (a->h != NULL)
        memset(s->job.y, 0, (size_t)(s->product->m * s->size));
    if (a->h != NULL && s->job.yb != NULL)
        memset(s->job.yb, 0, (size_t)s->product->m);
    s->rows = rows_of(s);
    tsr_for_jobs(s->chunks.count, s->product->nthreads, run_rows, s);
    join_pieces(s);
    return TSR_OK;
}

/* ---- A by column ---- */

static int8_t *flags_of_part(const spmv *s, int64_t part)
{
    if (part == 0)
        return s->job.yb;
    return s->carry_flags != NULL ? s->carry_flags + (part - 1) * s->product->m : NULL;
}

static void run_columns(void *context, int64_t part)
{
    const spmv *s = context;
    const int64_t m = s->product->m, nvec = s->product->a.nvec;
    tsr_spmv_job job = s->job;
    job.y = part == 0 ? s->job.y : s->carry + (part - 1) * m * s->size;
    job.yb = flags_of_part(s, part);
    uint64_t identity = tsr_identity_bits(s->product->semiring.type, s->product->semiring.add);
    if (part == 0 && job.c)
        copy_c(s, 0, m);
    else
        tsr_fill(job.y, &identity, (size_t)s->size, m);
    if (job.yb != NULL)
        memset(job.yb, 0, (size_t)m);
    job.first = nvec;
    for (int64_t at = 0, seen = -1; at < s->chunks.count && job.first == nvec; at++)
        if ((seen = at * s->parts / s->chunks.count) == part)
            job.first = s->chunks.list[at].first;
    job.last = nvec;
    for (int64_t at = s->chunks.count - 1; at >= 0 && at * s->parts / s->chunks.count > part; at--)
        job.last = s->chunks.list[at].first;
    run_vectors(s, s->fns.by_col[s->product->a.index_size == 4 ? 0 : 1], &job, true);
}

static void join_columns(void *context, int64_t first, int64_t last)
{
    const spmv *s = context;
    for (int64_t part = 1; part < s->parts; part++) {
        int8_t *yb = s->job.yb, *part_b = flags_of_part(s, part);
        s->fns.join((char *)s->job.y + first * s->size, s->carry + ((part - 1) * s->product->m + first) * s->size,
            yb != NULL ? yb + first : NULL, part_b != NULL ? part_b + first : NULL, last - first);
    }
}

/* As many parts as pay for their own y. */
static int parts_worth(const tsr_product *product)
{
    int64_t most = 1 + product->a.nvals / (2 * product->m + 1);
    return product->nthreads < most ? product->nthreads : (int)most;
}

static tsr_status spmv_by_column(spmv *s)
{
    const tsr_view *a = &s->product->a;
    size_t m = (size_t)s->product->m;
    int8_t *own = NULL;
    s->parts = parts_worth(s->product);
    if (tsr_chunks_make(&s->chunks, tsr_offsets_of(a), a->nvec, s->product->nthreads, false) != TSR_OK)
        return TSR_OUT_OF_MEMORY;
    if (s->job.yb == NULL && s->semiring.add == TSR_ADD_ANY)
        s->job.yb = own = malloc(m);
    bool flags = s->job.yb != NULL;
    s->carry = tsr_scratch((size_t)(s->parts - 1) * m * (size_t)s->size);
    s->carry_flags = flags ? malloc((size_t)(s->parts - 1) * m + 1) : NULL;
    bool ok = s->carry != NULL && (!flags || s->carry_flags != NULL) && (flags || s->semiring.add != TSR_ADD_ANY);
    if (ok) {
        tsr_for_jobs(s->parts, s->parts, run_columns, s);
        tsr_for_ranges(s->product->m, 1 << 14, s->product->nthreads, join_columns, s);
    }
    free(own);
    return ok ? TSR_OK : TSR_OUT_OF_MEMORY;
}

/* ---- the whole ---- */

/* Under any what C has stays, and lor makes numbers truth values. */
bool tsr_cpu_spmv_joins(const tsr_product *product)
{
    const tsr_semiring s = product->semiring;
    return product->op == TSR_OP_SPMV && s.add != TSR_ADD_ANY && (s.add != TSR_ADD_LOR || s.type == TSR_BOOL);
}

static bool accepts(const tsr_product *product, const tsr_result *result)
{
    return product->n == 1 && tsr_is_compressed(&product->a) && !tsr_is_compressed(&product->b) && tsr_values_fit(product) &&
           (!result->c || tsr_cpu_spmv_joins(product));
}

static void spmv_end(spmv *s)
{
    tsr_chunks_free(&s->chunks);
    free(s->carry);
    free(s->carry_flags);
    free(s->x_packed);
}

static tsr_status empty_result(const spmv *s, tsr_result *result)
{
    const int64_t m = s->product->m;
    result->nvals = s->job.c ? m : 0;
    if (m > 0 && s->job.c)
        copy_c(s, 0, m);
    else if (m > 0)
        memset(result->x, 0, (size_t)(m * s->size));
    if (m > 0 && result->b != NULL)
        memset(result->b, 0, (size_t)m);
    return TSR_OK;
}

tsr_status tsr_cpu_spmv(const tsr_product *product, tsr_result *result)
{
    if (!accepts(product, result))
        return TSR_DECLINED;
    spmv s = { .product = product, .semiring = tsr_canonical(product->semiring),
        .size = (int64_t)tsr_type_size(product->semiring.type), .one = tsr_one_bits(product->semiring.type) };
    s.job.c = result->c;
    s.job.c_mask = result->c_iso ? 0 : -1;
    s.job.y = result->x;
    s.job.yb = result->b;
    if (product->m == 0 || product->a.nvals == 0)
        return empty_result(&s, result);
    if (!tsr_find_spmv(&s.fns, s.semiring))
        return TSR_DECLINED;
    take_a(&s);
    tsr_status status = take_x(&s);
    if (status == TSR_OK)
        status = product->a.by_col ? spmv_by_column(&s) : spmv_by_row(&s);
    if (status == TSR_OK)
        result->nvals = result->b != NULL ? tsr_count_flags(result->b, product->m, product->nthreads) : product->m;
    spmv_end(&s);
    return status;
}
