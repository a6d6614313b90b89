/* SpGEMM on the CPU: rows in chunks of about equal work to threads, each with an output of its own, from which C is assembled.  One thread's output
 * is C.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/spgemm/driver.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/common/chunks.h"
#include "src/base/split.h"

enum {
    CHUNKS_PER_THREAD = 24,
    CHUNK_ENTRIES = 1 << 15, /* of C, about and at most: they stay in a cache until they are in their places */
    ROW_COST = 8,           /* of a row beside its products, in products */
    WORK_PER_THREAD = 1 << 18,
    PIECE = 1 << 16         /* of arrays, copied at once */
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
    const int64_t least = (int64_t)w->nthreads * CHUNKS_PER_THREAD, small = w->expected / CHUNK_ENTRIES;
    const int64_t wanted = w->nthreads == 1 ? 1 : small > least ? small : least;
    w->dense = tsr_sg_dense_pays(w->job.n, w->before[nvec], w->nthreads);
    w->chunks = malloc((size_t)wanted * sizeof *w->chunks);
    w->threads = calloc((size_t)w->nthreads, sizeof *w->threads);
    if (!w->chunks || !w->threads)
        return false;
    for (int64_t c = 0, first = 0; c < wanted && first < nvec; c++) {
        const int64_t last = c + 1 < wanted ? row_at(w, first + 1, (int64_t)((double)work * (double)(c + 1) / (double)wanted)) : nvec;
        w->chunks[w->nchunks++] = (tsr_sg_chunk){.first = first, .last = last, .entries = -1};
        first = last;
    }
    return true;
}

/* ---- computing ---- */

typedef struct run {
    tsr_spgemm_work *w;
    tsr_sg_assembly assembly; /* of several threads */
    atomic_llong taken;
    atomic_bool failed;
} run;

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

static bool compute_rows(tsr_spgemm_work *w, tsr_sg_thread *t, const tsr_sg_chunk *chunk)
{
    const bool narrow = w->product.narrow && w->nthreads == 1;
    for (int64_t v = chunk->first; v < chunk->last; v++) {
        const int64_t start = t->used;
        if (!tsr_sg_compute_row(t, w, v))
            return false;
        if (narrow)
            narrow_row(t, start);
        w->p[v + 1] = t->used - start;
    }
    return true;
}

static bool compute_chunk(run *r, tsr_sg_thread *t, int64_t at)
{
    tsr_sg_chunk *chunk = &r->w->chunks[at];
    chunk->at = t->used;
    return compute_rows(r->w, t, chunk) && (r->w->nthreads == 1 || tsr_sg_assembly_add(&r->assembly, t, at));
}

static void work_of_thread(void *context, int64_t thread)
{
    run *r = context;
    tsr_sg_thread *t = &r->w->threads[thread];
    bool ok = tsr_sg_thread_begin(t, r->w, r->w->expected / r->w->nchunks + 1);
    for (int64_t c; ok && (c = atomic_fetch_add(&r->taken, 1)) < r->w->nchunks;)
        ok = compute_chunk(r, t, c);
    tsr_sg_thread_drop_scratch(t);
    if (!ok)
        atomic_store(&r->failed, true);
}

static void finish_thread(void *context, int64_t thread)
{
    run *r = context;
    if (!tsr_sg_assembly_finish(&r->assembly, &r->w->threads[thread]))
        atomic_store(&r->failed, true);
}

static void take_output(tsr_spgemm_work *w, tsr_sg_thread *t)
{
    w->result = (tsr_sg_result){.i = t->i, .x = t->x, .room = t->capacity, .index_bytes = sizeof *t->i};
    t->i = NULL;
    t->x = NULL;
}

static void run_one(run *r)
{
    work_of_thread(r, 0);
    take_output(r->w, &r->w->threads[0]);
}

static void run_several(run *r)
{
    const int nthreads = r->w->nthreads;
    r->failed = !tsr_sg_assembly_begin(&r->assembly, r->w);
    if (!r->failed)
        tsr_for_jobs(nthreads, nthreads, work_of_thread, r);
    if (!r->failed)
        tsr_for_jobs(nthreads, nthreads, finish_thread, r);
    tsr_sg_assembly_end(&r->assembly);
}

static tsr_status compute(tsr_spgemm_work *w)
{
    const int64_t nvec = w->job.nvec;
    run r = {.w = w};
    w->result.index_bytes = sizeof(int64_t);
    w->expected = tsr_sg_estimate(w);
    w->p = malloc((size_t)(nvec + 1) * sizeof *w->p);
    if (!w->p || !make_chunks(w))
        return TSR_OUT_OF_MEMORY;
    if (w->nchunks > 0 && w->nthreads == 1)
        run_one(&r);
    else if (w->nchunks > 0)
        run_several(&r);
    if (r.failed)
        return TSR_OUT_OF_MEMORY;
    w->p[0] = 0;
    tsr_prefix_sums(w->p, nvec + 1, w->product.nthreads);
    return TSR_OK;
}

/* ---- the caller's arrays ---- */

typedef struct copying {
    const tsr_spgemm_work *w;
    tsr_spgemm_c c;
} copying;

static void copy_entries(void *context, int64_t first, int64_t last)
{
    const copying *g = context;
    const tsr_spgemm_work *w = g->w;
    const size_t narrow = w->product.narrow ? sizeof(uint32_t) : sizeof(int64_t), size = w->job.size;
    tsr_sg_copy_indices((char *)g->c.i + (size_t)first * g->c.index_size, g->c.index_size, (const char *)w->result.i + (size_t)first * narrow, narrow,
                        last - first);
    if (w->job.valued)
        memcpy((char *)g->c.x + (size_t)first * size, (const char *)w->result.x + (size_t)first * size, (size_t)(last - first) * size);
}

static void put_offsets(void *context, int64_t first, int64_t last)
{
    const copying *g = context;
    memcpy(g->c.p + first, g->w->p + first, (size_t)(last - first) * sizeof *g->c.p);
}

static void put_vectors(const copying *g)
{
    const int64_t count = g->w->job.nvec + 1;
    tsr_for_ranges(count, PIECE, tsr_pass_threads(count, g->w->nthreads), put_offsets, (void *)g);
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

tsr_status tsr_cpu_spgemm_count(tsr_spgemm_work **work, const tsr_spgemm *product, const tsr_spgemm_memory *memory, tsr_spgemm_size *size)
{
    tsr_spgemm_work *w = *work = calloc(1, sizeof *w);
    if (!w)
        return TSR_OUT_OF_MEMORY;
    w->product = tsr_spgemm_by_row(product);
    w->memory = memory ? *memory : tsr_sg_own_memory;
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
    const int64_t nvals = w->p[w->job.nvec];
    copying g = {.w = w, .c = *c};
    put_vectors(&g);
    tsr_for_ranges(nvals, PIECE, tsr_pass_threads(nvals, w->nthreads), copy_entries, &g);
    return TSR_OK;
}

/* The result becomes as large as C, or stays a little larger: a block that is kept will fit again.  Narrow indices of one thread take half of
 * theirs: to give the rest back would cost more page faults than they save. */
static bool fit(tsr_spgemm_work *w, int64_t nvals)
{
    const int64_t room = nvals > 0 ? nvals : 1, more = w->result.room - room;
    if (more >= 0 && more <= room / 2)
        return true;
    return tsr_sg_result_resize(w, room);
}

tsr_status tsr_cpu_spgemm_take(tsr_spgemm_work *w, tsr_spgemm_c *c)
{
    if (!fit(w, w->p[w->job.nvec]))
        return TSR_OUT_OF_MEMORY;
    c->i = w->result.i;
    c->x = w->result.x;
    c->index_size = w->product.narrow ? 4 : 8;
    put_vectors(&(copying){.w = w, .c = *c});
    w->result.i = w->result.x = NULL;
    return TSR_OK;
}

tsr_status tsr_cpu_spgemm_again(const tsr_spgemm *product, const int64_t *p, const uint32_t *i, void *x)
{
    tsr_spgemm_work *w = calloc(1, sizeof *w);
    if (!w)
        return TSR_OUT_OF_MEMORY;
    w->product = tsr_spgemm_by_row(product);
    w->memory = tsr_sg_own_memory;
    const tsr_status status = fill_known(&(repeat){.w = w, .p = p, .i = i, .x = x});
    tsr_cpu_spgemm_free(w);
    return status;
}

/* On threads of their own: to give pages back takes as long as to copy what they hold. */
static void end_thread(void *context, int64_t thread)
{
    tsr_spgemm_work *w = context;
    tsr_sg_thread_end(&w->threads[thread]);
}

void tsr_cpu_spgemm_free(tsr_spgemm_work *w)
{
    if (!w)
        return;
    if (w->threads)
        tsr_for_jobs(w->nthreads, w->nthreads, end_thread, w);
    if (w->result.i)
        w->memory.release(w->memory.context, w->result.i);
    if (w->result.x)
        w->memory.release(w->memory.context, w->result.x);
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
