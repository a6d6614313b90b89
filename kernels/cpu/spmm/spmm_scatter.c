/* SpMM with A by column: each entry of column k adds a multiple of row k of B to some row of C.
 * The work is cut into slices of columns and blocks of rows, one thread each, so that no two threads write the
 * same place
 * and every place sees its terms in the order of A.  B and C are turned over in slabs where they are by column.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/spmm/spmm_plan.h"

#include <stdlib.h>
#include <string.h>

#define LINE 64
#define FLIP_SLAB_BYTES 256
#define FLIP_RANGE 256
#define SAMPLES 65536

typedef struct scatter {
    const tsr_spmm_plan *plan;
    tsr_entries_fn entries;
    bool flags; /* bitmap B, or ANY: what is present stays */
    int64_t first, columns;
    const char *b; /* row-major slabs */
    int64_t ldb;
    const int8_t *bb;
    int64_t ldbb;
    char *c;
    int64_t ldc;
    int8_t *cb;
    int64_t ldcb;
    char *b_scratch, *c_scratch;
    int8_t *bb_scratch, *cb_scratch, *ones;
    int8_t *row_present; /* full B */
    int slices, blocks;
    int64_t *bound; /* row blocks: bound[blocks + 1] */
} scatter;

/* ---- one thread's part ---- */

static int64_t lower_bound(const tsr_view *a, int64_t lo, int64_t hi, int64_t row)
{
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (tsr_index(a, mid) < row)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void mark(int8_t *row_present, const int64_t *i, int64_t count)
{
    for (int64_t e = 0; e < count; e++)
        row_present[i[e]] = 1;
}

static void run_column(const scatter *s, tsr_entries_job *job, int64_t lo, int64_t hi, bool marks)
{
    int64_t buffer[TSR_BATCH];
    for (int64_t e = lo; e < hi; e += job->count) {
        job->count = hi - e < TSR_BATCH ? hi - e : TSR_BATCH;
        job->i = tsr_widen(&s->plan->product->a, e, job->count, buffer);
        job->a = s->plan->a + e * s->plan->a_step * (int64_t)s->plan->size;
        s->entries(job);
        if (marks)
            mark(s->row_present, job->i, job->count);
    }
}

static void blank_part(const scatter *s, int64_t column, int64_t columns, int64_t first, int64_t last)
{
    size_t size = s->plan->size;
    for (int64_t r = first; r < last; r++) {
        tsr_fill(s->c + (size_t)(r * s->ldc + column) * size, &s->plan->identity, size, columns);
        if (s->flags)
            memset(s->cb + r * s->ldcb + column, 0, (size_t)columns);
    }
}

/* Columns of a slab are dealt in whole cache lines. */
static int64_t slice_start(const scatter *s, int slice)
{
    int64_t line = LINE / (int64_t)s->plan->size, lines = (s->columns + line - 1) / line;
    int64_t start = lines * slice / s->slices * line;
    return start < s->columns ? start : s->columns;
}

static void run_part(void *context, int64_t part)
{
    const scatter *s = context;
    const tsr_view *a = &s->plan->product->a;
    const int64_t size = (int64_t)s->plan->size;
    const int slice = (int)(part % s->slices), at = (int)(part / s->slices);
    const int64_t column = slice_start(s, slice), columns = slice_start(s, slice + 1) - column;
    const int64_t first = s->bound[at], last = s->bound[at + 1];
    blank_part(s, column, columns, first, last);
    tsr_entries_job job = { .a_step = s->plan->a_step, .c = s->c + column * size, .ldc = s->ldc, .columns = columns,
        .cb = s->flags ? s->cb + column : NULL, .ldcb = s->ldcb };
    const tsr_offsets p = tsr_offsets_of(a);
    for (int64_t v = 0, end = tsr_offset_at(p, 0); v < a->nvec; v++) {
        int64_t lo = end, hi = end = tsr_offset_at(p, v + 1), k = a->h != NULL ? a->h[v] : v;
        if (s->blocks > 1) {
            lo = lower_bound(a, lo, hi, first);
            hi = lower_bound(a, lo, hi, last);
        }
        job.b = s->b + (k * s->ldb + column) * size;
        job.bb = s->flags ? s->bb + k * s->ldbb + column : NULL;
        if (lo < hi && (!s->plan->flags || memchr(job.bb, 1, (size_t)columns) != NULL))
            run_column(s, &job, lo, hi, slice == 0 && s->row_present != NULL);
    }
}

/* ---- dealing ---- */

/* Rows cut so that a sample of the entries falls evenly. */
static void cut_rows(scatter *s, int32_t *histogram, int64_t buckets)
{
    const tsr_view *a = &s->plan->product->a;
    const int64_t m = s->plan->product->m, base = tsr_view_start(a, 0), total = tsr_view_start(a, a->nvec) - base;
    const int64_t step = total / SAMPLES + 1, per_bucket = (m + buckets - 1) / buckets;
    int64_t sampled = 0, seen = 0;
    for (int64_t e = 0; e < total; e += step, sampled++)
        histogram[tsr_index(a, base + e) / per_bucket]++;
    int at = 1;
    for (int64_t bucket = 0; bucket < buckets && at < s->blocks; bucket++) {
        seen += histogram[bucket];
        while (at < s->blocks && seen * s->blocks >= sampled * at)
            s->bound[at++] = (bucket + 1) * per_bucket < m ? (bucket + 1) * per_bucket : m;
    }
    while (at < s->blocks)
        s->bound[at++] = m;
}

static tsr_status deal(scatter *s, int64_t width)
{
    const tsr_product *product = s->plan->product;
    const int64_t lines = (width * (int64_t)s->plan->size + LINE - 1) / LINE;
    s->slices = product->nthreads < lines ? product->nthreads : (int)lines;
    s->blocks = product->a.jumbled ? 1 : product->nthreads / s->slices;
    s->bound = calloc((size_t)s->blocks + 1, sizeof *s->bound);
    int64_t buckets = product->m < 4096 ? product->m : 4096;
    int32_t *histogram = calloc((size_t)buckets, sizeof *histogram);
    if (s->bound != NULL && histogram != NULL) {
        s->bound[s->blocks] = product->m;
        if (s->blocks > 1)
            cut_rows(s, histogram, buckets);
    }
    bool ok = s->bound != NULL && histogram != NULL;
    free(histogram);
    return ok ? TSR_OK : TSR_OUT_OF_MEMORY;
}

/* ---- turning slabs over ---- */

struct flip {
    char *dst;
    int64_t dst_ld;
    const char *src;
    int64_t src_ld;
    int64_t rows;
    size_t size;
};

/* Columns [first, last) of src become rows of dst. */
static void flip_to_rows(void *context, int64_t first, int64_t last)
{
    const struct flip *f = context;
    tsr_flip_block(f->dst + (size_t)(first * f->dst_ld) * f->size, f->dst_ld, f->src + (size_t)first * f->size,
        f->src_ld,
        f->rows, last - first, f->size);
}

/* Rows [first, last) of src become columns of dst. */
static void flip_to_columns(void *context, int64_t first, int64_t last)
{
    const struct flip *f = context;
    tsr_flip_block(f->dst + (size_t)first * f->size, f->dst_ld, f->src + (size_t)(first * f->src_ld) * f->size,
        f->src_ld,
        last - first, f->rows, f->size);
}

/* Slab of B by column -> row-major scratch. */
static void take_b(const scatter *s, void *dst, const void *src, int64_t src_ld, size_t size)
{
    struct flip f = { dst, s->columns, (const char *)src + (size_t)(s->first * src_ld) * size, src_ld, s->columns,
        size };
    tsr_for_ranges(s->plan->product->k, FLIP_RANGE, s->plan->product->nthreads, flip_to_rows, &f);
}

/* Row-major scratch -> slab of C by column. */
static void give_c(const scatter *s, void *dst, const void *src, size_t size)
{
    int64_t m = s->plan->product->m;
    struct flip f = { (char *)dst + (size_t)(s->first * m) * size, m, src, s->columns, s->columns, size };
    tsr_for_ranges(m, FLIP_RANGE, s->plan->product->nthreads, flip_to_columns, &f);
}

static void prepare_b(scatter *s)
{
    const tsr_spmm_plan *plan = s->plan;
    const tsr_view *b = &plan->product->b;
    bool turn = s->b_scratch != NULL;
    if (turn)
        take_b(s, s->b_scratch, plan->b, plan->ldb, plan->size);
    if (s->bb_scratch != NULL)
        take_b(s, s->bb_scratch, b->b, b->ld, 1);
    s->b = turn ? s->b_scratch : plan->b + (plan->b_same == NULL ? s->first * (int64_t)plan->size : 0);
    s->ldb = turn ? s->columns : plan->ldb;
    s->bb = s->ones != NULL ? s->ones : s->bb_scratch != NULL ? s->bb_scratch : plan->flags ? b->b + s->first : NULL;
    s->ldbb = s->ones != NULL ? 0 : s->bb_scratch != NULL ? s->columns : b->ld;
}

static void prepare_c(scatter *s)
{
    const tsr_result *result = s->plan->result;
    int64_t n = s->plan->product->n;
    bool turn = s->c_scratch != NULL;
    s->c = turn ? s->c_scratch : (char *)result->x + s->first * (int64_t)s->plan->size;
    s->ldc = turn ? s->columns : n;
    s->cb = s->cb_scratch != NULL ? s->cb_scratch : s->flags ? result->b + s->first : NULL;
    s->ldcb = s->cb_scratch != NULL ? s->columns : n;
}

/* ---- the whole ---- */

static bool get(void *pointer, bool wanted, size_t bytes)
{
    void *block = wanted ? tsr_scratch(bytes) : NULL;
    memcpy(pointer, &block, sizeof block);
    return !wanted || block != NULL;
}

static tsr_status scatter_begin(scatter *s, int64_t width)
{
    const tsr_spmm_plan *plan = s->plan;
    const tsr_product *product = plan->product;
    size_t k = (size_t)product->k, m = (size_t)product->m, w = (size_t)width;
    bool own_flags = s->flags && (product->c_by_col || plan->result->b == NULL);
    bool ok = get(&s->b_scratch, product->b.by_col && plan->b_same == NULL, k * w * plan->size)
        && get(&s->bb_scratch, product->b.by_col && plan->flags, k * w)
        && get(&s->c_scratch, product->c_by_col, m * w * plan->size) && get(&s->cb_scratch, own_flags, m * w)
        && get(&s->ones, s->flags && !plan->flags, w) && get(&s->row_present, !plan->flags, m);
    if (!ok)
        return TSR_OUT_OF_MEMORY;
    if (s->ones != NULL)
        memset(s->ones, 1, w);
    if (s->row_present != NULL)
        memset(s->row_present, 0, m);
    return deal(s, width);
}

static void scatter_end(scatter *s)
{
    free(s->b_scratch);
    free(s->bb_scratch);
    free(s->c_scratch);
    free(s->cb_scratch);
    free(s->ones);
    free(s->row_present);
    free(s->bound);
}

static void run_slab(scatter *s, tsr_result *result)
{
    prepare_b(s);
    prepare_c(s);
    tsr_for_jobs((int64_t)s->slices * s->blocks, s->plan->product->nthreads, run_part, s);
    if (s->c_scratch != NULL)
        give_c(s, result->x, s->c_scratch, s->plan->size);
    if (s->cb_scratch != NULL && result->b != NULL)
        give_c(s, result->b, s->cb_scratch, 1);
}

static void finish(const scatter *s, tsr_result *result)
{
    const tsr_product *product = s->plan->product;
    int64_t places = product->m * product->n;
    if (result->b == NULL)
        result->nvals = places;
    else if (s->row_present != NULL)
        result->nvals = tsr_spmm_spread(product, s->row_present, result->b);
    else
        result->nvals = tsr_count_flags(result->b, places, product->nthreads);
}

tsr_status tsr_spmm_scatter(const tsr_spmm_plan *plan, tsr_result *result)
{
    const tsr_product *product = plan->product;
    scatter s = { .plan = plan, .flags = plan->flags || plan->semiring.add == TSR_ADD_ANY };
    s.entries = plan->table->entries(plan->semiring, s.flags);
    if (s.entries == NULL)
        return TSR_DECLINED;
    int64_t width = product->n;
    if ((product->b.by_col || product->c_by_col) && width > FLIP_SLAB_BYTES / (int64_t)plan->size)
        width = FLIP_SLAB_BYTES / (int64_t)plan->size;
    tsr_status status = scatter_begin(&s, width);
    for (s.first = 0; status == TSR_OK && s.first < product->n; s.first += width) {
        s.columns = product->n - s.first < width ? product->n - s.first : width;
        run_slab(&s, result);
    }
    if (status == TSR_OK)
        finish(&s, result);
    scatter_end(&s);
    return status;
}
