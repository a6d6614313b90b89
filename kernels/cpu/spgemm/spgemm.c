/* SpGEMM on the CPU: rows in chunks of about equal work to threads, each with an output of its own; then one array.
 * The first thread takes chunks from the front, the others from the back: what the first has is in place already.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/spgemm/driver.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/common/chunks.h"
#include "src/base/split.h"

enum {
    CHUNKS_PER_THREAD = 24,
    ROW_COST = 8,           /* of a row beside its products, in products */
    WORK_PER_THREAD = 1 << 18,
    OFFSETS = 1 << 16       /* copied at once */
};

/* ---- chunks ---- */

static int64_t work_before(const tsr_spgemm_work *w, int64_t v)
{
    return w->before[v] + ROW_COST * v;
}

static int64_t row_at(const tsr_spgemm_work *w, int64_t from, int64_t work)
{
    int64_t lo = from, hi = w->job.nvec;
    while (lo < hi) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (work_before(w, mid) < work)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static bool make_chunks(tsr_spgemm_work *w)
{
    const int64_t nvec = w->job.nvec, work = work_before(w, nvec);
    w->nthreads = tsr_parts(work, WORK_PER_THREAD, w->product.nthreads);
    const int64_t wanted = w->nthreads > 1 ? (int64_t)w->nthreads * CHUNKS_PER_THREAD : 1;
    w->dense = tsr_sg_dense_pays(w->job.n, w->before[nvec], w->nthreads);
    w->chunks = malloc((size_t)wanted * sizeof *w->chunks);
    w->threads = calloc((size_t)w->nthreads, sizeof *w->threads);
    if (!w->chunks || !w->threads)
        return false;
    for (int64_t c = 0, first = 0; c < wanted && first < nvec; c++) {
        const int64_t last = c + 1 < wanted ? row_at(w, first + 1, (int64_t)((double)work * (double)(c + 1) / (double)wanted)) : nvec;
        w->chunks[w->nchunks++] = (tsr_sg_chunk){.first = first, .last = last};
        first = last;
    }
    return true;
}

/* ---- computing ---- */

typedef struct run {
    tsr_spgemm_work *w;
    atomic_llong taken; /* chunks from the front << 32 | chunks from the back: one sum, so that no chunk is taken twice */
    atomic_bool failed;
} run;

/* The next chunk, or -1. */
static int64_t take_chunk(run *r, int thread)
{
    const int64_t count = r->w->nchunks;
    static const int64_t FRONT = (int64_t)1 << 32;
    const int64_t was = atomic_fetch_add(&r->taken, thread == 0 ? FRONT : 1), front = was / FRONT, back = was % FRONT;
    if (front + back >= count)
        return -1;
    return thread == 0 ? front : count - 1 - back;
}

/* Row by row: each ends at or before its wide indices begin.  The low half of an integer is its first. */
static void narrow_row(tsr_sg_thread *t, int64_t start)
{
    typedef uint32_t four __attribute__((vector_size(16), aligned(4), may_alias)), one __attribute__((may_alias));
    one *to = (one *)t->i;
    int64_t e = start;
    for (; e + 4 <= t->used; e += 4)
        *(four *)(to + e) = __builtin_shufflevector(*(const four *)(t->i + e), *(const four *)(t->i + e + 2), 0, 2, 4, 6);
    for (; e < t->used; e++)
        to[e] = (uint32_t)t->i[e];
}

static bool compute_chunk(run *r, int thread, tsr_sg_chunk *chunk)
{
    tsr_spgemm_work *w = r->w;
    tsr_sg_thread *t = &w->threads[thread];
    chunk->thread = thread;
    chunk->at = t->used;
    for (int64_t v = chunk->first; v < chunk->last; v++) {
        const int64_t start = t->used;
        if (!tsr_sg_compute_row(t, w, v))
            return false;
        if (w->product.narrow)
            narrow_row(t, start);
        w->p[v + 1] = t->used - start;
    }
    return true;
}

static void work_of_thread(void *context, int64_t thread)
{
    run *r = context;
    const int64_t share = r->w->expected / r->w->nthreads; /* the first one's output becomes C */
    bool ok = tsr_sg_thread_begin(&r->w->threads[thread], r->w, thread == 0 ? r->w->expected : share + share / 8);
    for (int64_t c; ok && (c = take_chunk(r, (int)thread)) >= 0;)
        ok = compute_chunk(r, (int)thread, &r->w->chunks[c]);
    tsr_sg_thread_drop_scratch(&r->w->threads[thread]);
    if (!ok)
        atomic_store(&r->failed, true);
}

static tsr_status compute(tsr_spgemm_work *w)
{
    const int64_t nvec = w->job.nvec;
    run r = {.w = w};
    w->expected = tsr_sg_estimate(w);
    w->p = malloc((size_t)(nvec + 1) * sizeof *w->p);
    if (!w->p || !make_chunks(w))
        return TSR_OUT_OF_MEMORY;
    tsr_for_jobs(w->nthreads, w->nthreads, work_of_thread, &r);
    if (r.failed)
        return TSR_OUT_OF_MEMORY;
    w->p[0] = 0;
    tsr_prefix_sums(w->p, nvec + 1, w->product.nthreads);
    return TSR_OK;
}

/* ---- one array ---- */

typedef struct gathering {
    const tsr_spgemm_work *w;
    tsr_spgemm_c c;
    bool in_place; /* the first thread's output is where it shall be */
} gathering;

static void gather_indices(const gathering *g, int64_t to, const int64_t *i, int64_t from, int64_t n)
{
    const bool narrow = g->w->product.narrow;
    if (narrow == (g->c.index_size == 4))
        memcpy((char *)g->c.i + (size_t)to * g->c.index_size, (const char *)i + (size_t)from * g->c.index_size, (size_t)n * g->c.index_size);
    else if (narrow)
        for (int64_t e = 0; e < n; e++)
            ((int64_t *)g->c.i)[to + e] = ((const uint32_t *)i)[from + e];
    else
        for (int64_t e = 0; e < n; e++)
            ((uint32_t *)g->c.i)[to + e] = (uint32_t)i[from + e];
}

static void gather_chunk(void *context, int64_t at)
{
    const gathering *g = context;
    const tsr_sg_chunk *chunk = &g->w->chunks[at];
    const tsr_sg_thread *t = &g->w->threads[chunk->thread];
    const int64_t to = g->w->p[chunk->first], n = g->w->p[chunk->last] - to;
    if ((g->in_place && chunk->thread == 0) || n == 0)
        return;
    gather_indices(g, to, t->i, chunk->at, n);
    const size_t size = g->w->job.size;
    if (g->w->job.valued)
        memcpy((char *)g->c.x + (size_t)to * size, (const char *)t->x + (size_t)chunk->at * size, (size_t)n * size);
}

static void gather(const gathering *g)
{
    tsr_for_jobs(g->w->nchunks, g->w->nthreads, gather_chunk, (void *)g);
}

static void put_offsets(void *context, int64_t first, int64_t last)
{
    const gathering *g = context;
    memcpy(g->c.p + first, g->w->p + first, (size_t)(last - first) * sizeof *g->c.p);
}

static void put_vectors(const gathering *g)
{
    const int64_t count = g->w->job.nvec + 1;
    tsr_for_ranges(count, OFFSETS, tsr_pass_threads(count, g->w->nthreads), put_offsets, (void *)g);
    if (g->w->job.a_h)
        memcpy(g->c.h, g->w->job.a_h, (size_t)g->w->job.nvec * sizeof *g->c.h);
}

/* ---- values alone ---- */

typedef struct repeat {
    tsr_spgemm_work *w;
    const int64_t *p;
    const uint32_t *i;
    void *x;
    atomic_llong taken;
    atomic_bool failed;
} repeat;

static bool begin_known(tsr_sg_thread *t, const repeat *r)
{
    const tsr_sg_job *job = &r->w->job;
    *t = (tsr_sg_thread){.terms = malloc(TSR_SG_TERM_BYTES), .window = malloc((size_t)(job->n + 1) * job->size), .known = r->i, .x = r->x};
    if (t->window)
        r->w->loops.start(t->window, job->n);
    return t->terms && t->window;
}

static void compute_known(tsr_sg_thread *t, const repeat *r, const tsr_sg_chunk *chunk)
{
    const tsr_sg_job *job = &r->w->job;
    for (int64_t v = chunk->first; v < chunk->last; v++) {
        t->used = r->p[v];
        t->capacity = r->p[v + 1];
        if (t->used < t->capacity)
            r->w->loops.known(job, t, job->a_h ? job->a_h[v] : v, tsr_offset_at(job->a_p, v), tsr_offset_at(job->a_p, v + 1));
    }
}

static void known_of_thread(void *context, int64_t thread)
{
    repeat *r = context;
    tsr_sg_thread t;
    const bool ok = begin_known(&t, r);
    (void)thread;
    for (int64_t c; ok && (c = atomic_fetch_add(&r->taken, 1)) < r->w->nchunks;)
        compute_known(&t, r, &r->w->chunks[c]);
    free(t.terms);
    free(t.window);
    if (!ok)
        atomic_store(&r->failed, true);
}

static tsr_status fill_known(repeat *r)
{
    tsr_spgemm_work *w = r->w;
    tsr_status status = tsr_sg_prepare(w);
    if (status == TSR_OK && (!w->loops.known || w->product.masked))
        return TSR_DECLINED;
    if (status == TSR_OK && !make_chunks(w))
        status = TSR_OUT_OF_MEMORY;
    if (status != TSR_OK)
        return status;
    tsr_for_jobs(w->nthreads, w->nthreads, known_of_thread, r);
    return r->failed ? TSR_OUT_OF_MEMORY : TSR_OK;
}

/* ---- the door ---- */

static void *own_resize(const void *context, void *block, size_t bytes)
{
    (void)context;
    return realloc(block, bytes);
}

static void own_release(const void *context, void *block)
{
    (void)context;
    free(block);
}

static const tsr_spgemm_memory own_memory = {own_resize, own_release, NULL};

tsr_status tsr_cpu_spgemm_count(tsr_spgemm_work **work, const tsr_spgemm *product, const tsr_spgemm_memory *memory, tsr_spgemm_size *size)
{
    tsr_spgemm_work *w = *work = calloc(1, sizeof *w);
    if (!w)
        return TSR_OUT_OF_MEMORY;
    w->product = tsr_spgemm_by_row(product);
    w->memory = memory ? *memory : own_memory;
    tsr_status status = tsr_sg_prepare(w);
    if (status == TSR_OK)
        status = compute(w);
    if (status != TSR_OK) {
        tsr_cpu_spgemm_free(w);
        *work = NULL;
        return status;
    }
    *size = (tsr_spgemm_size){.nvec = w->job.nvec, .nvals = w->p[w->job.nvec], .hyper = w->job.a_h,
                              .work = (double)w->before[w->job.nvec]};
    return TSR_OK;
}

tsr_status tsr_cpu_spgemm_fill(tsr_spgemm_work *w, const tsr_spgemm_c *c)
{
    const gathering g = {.w = w, .c = *c};
    put_vectors(&g);
    gather(&g);
    return TSR_OK;
}

/* The first output becomes as large as C, or stays a little larger: a block that is kept will fit again.  Narrow indices take half of
 * theirs: to give the rest back would cost more page faults than they save. */
static bool fit(tsr_spgemm_work *w, int64_t nvals)
{
    tsr_sg_thread *t = &w->threads[0];
    const int64_t room = nvals > 0 ? nvals : 1;
    if (t->capacity >= room && t->capacity - room <= room / 2)
        return true;
    void *i = w->memory.resize(w->memory.context, t->i, (size_t)room * sizeof *t->i);
    t->i = i ? i : t->i;
    void *x = i && w->job.valued ? w->memory.resize(w->memory.context, t->x, (size_t)room * w->job.size) : NULL;
    t->x = x ? x : t->x;
    return i && (x || !w->job.valued);
}

tsr_status tsr_cpu_spgemm_take(tsr_spgemm_work *w, tsr_spgemm_c *c)
{
    const int64_t nvals = w->p[w->job.nvec];
    tsr_sg_thread *t = &w->threads[0];
    if (!fit(w, nvals))
        return TSR_OUT_OF_MEMORY;
    c->i = t->i;
    c->x = t->x;
    c->index_size = w->product.narrow ? 4 : 8;
    const gathering g = {.w = w, .c = *c, .in_place = true};
    put_vectors(&g);
    gather(&g);
    t->i = NULL;
    t->x = NULL;
    return TSR_OK;
}

tsr_status tsr_cpu_spgemm_again(const tsr_spgemm *product, const int64_t *p, const uint32_t *i, void *x)
{
    tsr_spgemm_work *w = calloc(1, sizeof *w);
    if (!w)
        return TSR_OUT_OF_MEMORY;
    w->product = tsr_spgemm_by_row(product);
    w->memory = own_memory;
    const tsr_status status = fill_known(&(repeat){.w = w, .p = p, .i = i, .x = x});
    tsr_cpu_spgemm_free(w);
    return status;
}

/* On threads of their own: to give pages back takes as long as to copy what they hold. */
static void end_thread(void *context, int64_t thread)
{
    tsr_spgemm_work *w = context;
    tsr_sg_thread_end(&w->threads[thread], w);
}

void tsr_cpu_spgemm_free(tsr_spgemm_work *w)
{
    if (!w)
        return;
    if (w->threads)
        tsr_for_jobs(w->nthreads, w->nthreads, end_thread, w);
    tsr_compressed_free(&w->a);
    tsr_compressed_free(&w->b);
    tsr_compressed_free(&w->mask);
    free(w->b_offsets);
    free(w->before);
    free(w->p);
    free(w->chunks);
    free(w->threads);
    free(w);
}
