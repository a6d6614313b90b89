/* SDDMM: C<S> = X (+).(x) Y with X and Y full, computed at the entries of the sparse mask S only.
 * Takes full X and Y in every orientation (iso and pattern too), sparse and hypersparse masks, every semiring and type.
 * Declines bitmap X or Y, and bitmap or full masks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/sddmm/sddmm_dots.h"
#include "src/format/sparse/format.h"
#include "src/base/split.h"

#include <stdlib.h>
#include <string.h>

#define BATCH 32            /* entries whose vectors of Y are prefetched together */
#define PREFETCH_MOST 1024  /* bytes of one vector of Y */
#define TASK_PRODUCTS 65536 /* multiply-adds worth a task */
#define TASKS_PER_THREAD 32
#define FLIP_FACTOR 2 /* an operand held the wrong way is flipped when there are this many entries per vector */

/* How vector v of an operand is reached: contiguous at x + v * stride, or gathered, or the same for all. */
typedef struct source {
    const char *x;      /* NULL: constant */
    int64_t vec, place; /* elements between vectors, and between places of one vector */
    void *flipped;      /* owned */
} source;

typedef struct job {
    const tsr_product *p; /* mask by row */
    source a, b;
    size_t size;
    tsr_sddmm_dots dots;
    char *x;
    int8_t *present;
    int64_t per_task, ntasks;
} job;

typedef struct scratch {
    char *row;        /* k values: the row of X in use, when it is not contiguous */
    char *columns;    /* BATCH * k values: columns of Y that are not contiguous */
    char *constant_a; /* k values: what a constant operand reads */
    char *constant_b;
    char *results;    /* BATCH values */
} scratch;

static int64_t index_of(const tsr_view *mask, int64_t e)
{
    return mask->index_size == 4 ? (int64_t)((const uint32_t *)mask->i)[e] : ((const int64_t *)mask->i)[e];
}

/* The bits are tested, so -0.0 passes, as in SuiteSparse. */
static bool passes(const tsr_product *p, int64_t e)
{
    if (p->mask_structural || !p->mask.x)
        return true;
    int64_t at = p->mask.iso ? 0 : e;
    switch (tsr_type_size(p->mask.type)) {
    case 1: return ((const uint8_t *)p->mask.x)[at] != 0;
    case 2: return ((const uint16_t *)p->mask.x)[at] != 0;
    case 4: return ((const uint32_t *)p->mask.x)[at] != 0;
    default: return ((const uint64_t *)p->mask.x)[at] != 0;
    }
}

/* ---- reaching the vectors ---- */

/* `inner_by_col`: the orientation in which the vectors wanted are contiguous. */
static source source_of(const tsr_view *v, bool inner_by_col)
{
    if (!v->x || v->iso)
        return (source){NULL, 0, 0, NULL};
    if (v->by_col == inner_by_col)
        return (source){v->x, v->ld, 1, NULL};
    return (source){v->x, 1, v->ld, NULL};
}

/* Flip an operand held the wrong way, when enough entries use it; otherwise its vectors are gathered one by one. */
static tsr_status make_contiguous(source *s, const tsr_view *v, const tsr_product *p, size_t size)
{
    if (!s->x || s->place == 1 || p->mask.nvals / FLIP_FACTOR < v->vlen)
        return TSR_OK;
    s->flipped = malloc((size_t)v->nvec * (size_t)v->vlen * size);
    if (!s->flipped)
        return TSR_OUT_OF_MEMORY;
    tsr_dense_flip(s->flipped, v->x, v->nvec, v->vlen, v->ld, size, p->nthreads);
    s->x = s->flipped;
    s->vec = v->nvec;
    s->place = 1;
    return TSR_OK;
}

static void gather(char *out, const source *s, int64_t v, int64_t k, size_t size)
{
    const char *x = s->x + (size_t)(v * s->vec) * size;
    for (int64_t t = 0; t < k; t++)
        memcpy(out + (size_t)t * size, x + (size_t)(t * s->place) * size, size);
}

static const char *vector_of(const source *s, int64_t v, int64_t k, size_t size, char *room, const char *constant)
{
    if (!s->x)
        return constant;
    if (s->place == 1)
        return s->x + (size_t)(v * s->vec) * size;
    gather(room, s, v, k, size);
    return room;
}

static void fill_constant(char *out, const tsr_view *v, int64_t k, size_t size)
{
    memset(out, 0, (size_t)k * size);
    for (int64_t t = 0; v->x && v->iso && t < k; t++)
        memcpy(out + (size_t)t * size, v->x, size);
}

static void prefetch(const source *s, int64_t v, int64_t k, size_t size)
{
    const char *x = s->x + (size_t)(v * s->vec) * size;
    size_t bytes = (size_t)k * size < PREFETCH_MOST ? (size_t)k * size : PREFETCH_MOST;
    for (size_t at = 0; at < bytes; at += 64)
        __builtin_prefetch(x + at);
}

/* ---- entries ---- */

static void store_results(const job *w, const scratch *s, const int64_t *entries, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        memcpy(w->x + (size_t)entries[j] * w->size, s->results + (size_t)j * w->size, w->size);
        w->present[entries[j]] = 1;
    }
}

static void compute_batch(const job *w, scratch *s, const char *row, const int64_t *entries, int64_t n)
{
    const void *columns[BATCH];
    int64_t k = w->p->k;
    for (int64_t j = 0; j < n; j++)
        columns[j] = vector_of(&w->b, index_of(&w->p->mask, entries[j]), k, w->size,
                               s->columns + (size_t)(j * k) * w->size, s->constant_b);
    w->dots(s->results, row, columns, n, k);
    store_results(w, s, entries, n);
}

/* Up to BATCH entries from *e on that pass; their vectors of Y are on the way when this returns. */
static int64_t next_batch(const job *w, int64_t *e, int64_t end, int64_t *entries)
{
    int64_t n = 0;
    for (; *e < end && n < BATCH; ++*e) {
        if (!passes(w->p, *e)) {
            w->present[*e] = 0;
            continue;
        }
        if (w->b.x && w->b.place == 1)
            prefetch(&w->b, index_of(&w->p->mask, *e), w->p->k, w->size);
        entries[n++] = *e;
    }
    return n;
}

/* Entries [e, end) of one row; while a batch is computed, the next one is fetched. */
static void compute_row(const job *w, scratch *s, int64_t r, int64_t e, int64_t end)
{
    int64_t entries[2][BATCH], now = 0, n = next_batch(w, &e, end, entries[0]);
    if (!n)
        return;
    const char *row = vector_of(&w->a, r, w->p->k, w->size, s->row, s->constant_a);
    while (n) {
        int64_t coming = next_batch(w, &e, end, entries[1 - now]);
        compute_batch(w, s, row, entries[now], n);
        now = 1 - now;
        n = coming;
    }
}

static void run_task(const job *w, scratch *s, int64_t task)
{
    const tsr_view *mask = &w->p->mask;
    int64_t e = task * w->per_task, end = e + w->per_task < mask->nvals ? e + w->per_task : mask->nvals;
    const tsr_offsets p = tsr_offsets_of(mask);
    for (int64_t v = tsr_vector_of(p, mask->nvec, e); e < end; v++) {
        const int64_t stop = tsr_offset_at(p, v + 1), row_end = stop < end ? stop : end;
        if (e < row_end)
            compute_row(w, s, mask->h ? mask->h[v] : v, e, row_end);
        e = row_end;
    }
}

/* ---- scratch and tasks ---- */

static scratch scratch_at(const job *w, char *block, int thread)
{
    size_t vector = (size_t)w->p->k * w->size, stride = (BATCH + 3) * vector + BATCH * 8;
    char *at = block + stride * (size_t)thread;
    scratch s = {.row = at, .constant_a = at + vector, .constant_b = at + 2 * vector, .columns = at + 3 * vector,
                 .results = at + (BATCH + 3) * vector};
    fill_constant(s.constant_a, &w->p->a, w->p->k, w->size);
    fill_constant(s.constant_b, &w->p->b, w->p->k, w->size);
    return s;
}

static void cut_tasks(job *w)
{
    int64_t nvals = w->p->mask.nvals, least = TASK_PRODUCTS / w->p->k + 16;
    int64_t fair = nvals / ((int64_t)w->p->nthreads * TASKS_PER_THREAD) + 1;
    w->per_task = fair > least ? fair : least;
    w->ntasks = (nvals + w->per_task - 1) / w->per_task;
}

static tsr_status run(job *w)
{
    cut_tasks(w);
    int nthreads = w->ntasks < w->p->nthreads ? (int)w->ntasks : w->p->nthreads;
    size_t vector = (size_t)w->p->k * w->size, stride = (BATCH + 3) * vector + BATCH * 8;
    char *block = malloc(stride * (size_t)nthreads);
    if (!block)
        return TSR_OUT_OF_MEMORY;
    int64_t next = 0;
#pragma omp parallel for num_threads(tsr_team(nthreads)) schedule(static, 1) if (nthreads > 1)
    for (int thread = 0; thread < nthreads; thread++) {
        scratch s = scratch_at(w, block, thread);
        for (int64_t t; (t = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED)) < w->ntasks;)
            run_task(w, &s, t);
    }
    free(block);
    return TSR_OK;
}

/* ---- products that need no arithmetic ---- */

#define SET_ALL(TYPE, T)                           \
    case TYPE: {                                   \
        T value = (T)(uint64_t)(plus ? p->k : 1);  \
        for (int64_t e = 0; e < p->mask.nvals; e++) \
            ((T *)x)[e] = value;                   \
        break;                                     \
    }

/* PAIR: every result is the number of products under PLUS, 1 under the other monoids. */
static void all_pairs(const tsr_product *p, void *x)
{
    bool plus = p->semiring.add == TSR_ADD_PLUS;
    switch (p->semiring.type) {
    case TSR_BOOL: memset(x, 1, (size_t)p->mask.nvals); break;
    SET_ALL(TSR_INT8, int8_t)
    SET_ALL(TSR_INT16, int16_t)
    SET_ALL(TSR_INT32, int32_t)
    SET_ALL(TSR_INT64, int64_t)
    SET_ALL(TSR_UINT8, uint8_t)
    SET_ALL(TSR_UINT16, uint16_t)
    SET_ALL(TSR_UINT32, uint32_t)
    SET_ALL(TSR_UINT64, uint64_t)
    SET_ALL(TSR_FP32, float)
    SET_ALL(TSR_FP64, double)
    }
}

static void all_present(const tsr_product *p, int8_t *present)
{
    for (int64_t e = 0; e < p->mask.nvals; e++)
        present[e] = passes(p, e);
}

static int64_t count_present(const int8_t *present, int64_t n)
{
    int64_t sum = 0;
    for (int64_t e = 0; e < n; e++)
        sum += present[e];
    return sum;
}

static tsr_status compute(const tsr_product *p, tsr_result *result)
{
    tsr_sddmm_dots dots = TSR_PICK_ISA(&tsr_sddmm_table)->dots[p->semiring.type][p->semiring.add][p->semiring.mul];
    job w = {.p = p, .size = tsr_type_size(p->semiring.type), .dots = dots, .x = result->x, .present = result->b,
             .a = source_of(&p->a, false), .b = source_of(&p->b, true)};
    if (!dots)
        return TSR_DECLINED;
    tsr_status status = make_contiguous(&w.a, &p->a, p, w.size);
    if (status == TSR_OK)
        status = make_contiguous(&w.b, &p->b, p, w.size);
    if (status == TSR_OK)
        status = run(&w);
    free(w.a.flipped);
    free(w.b.flipped);
    return status;
}

tsr_status tsr_cpu_sddmm(const tsr_product *product, tsr_result *result)
{
    const tsr_view *mask = &product->mask;
    if (product->a.format != TSR_FULL || product->b.format != TSR_FULL ||
        (mask->format != TSR_SPARSE && mask->format != TSR_HYPERSPARSE))
        return TSR_DECLINED;
    tsr_product p = tsr_product_by_row(product);
    tsr_status status = TSR_OK;
    result->nvals = 0;
    if (!p.k)
        memset(result->b, 0, (size_t)p.mask.nvals);
    if (!p.mask.nvals || !p.k)
        return TSR_OK;
    if (p.semiring.mul == TSR_MUL_PAIR) {
        all_pairs(&p, result->x);
        all_present(&p, result->b);
    } else {
        status = compute(&p, result);
    }
    if (status == TSR_OK)
        result->nvals = count_present(result->b, p.mask.nvals);
    return status;
}
