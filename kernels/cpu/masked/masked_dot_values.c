/* Masked dot product by rows of the mask, for every semiring and every sparse layout: a row of A is laid out as a dense vector, and each list
 * of B that the row of the mask names is walked over it.  Under a mask of few rows each is laid out once, for all threads, which take parts of
 * the mask; else each thread lays out the rows that it comes to.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/common/chunks.h"
#include "kernels/cpu/masked/masked_dot.h"
#include "kernels/cpu/masked/masked_dot_columns.h"
#include "kernels/cpu/masked/masked_dot_intersect.h"
#include "kernels/cpu/masked/masked_dot_mirror.h"
#include "kernels/cpu/common/scratch.h"
#include "src/base/split.h"
#include "src/format/sparse/format.h"

#include <stdlib.h>
#include <string.h>

enum {
    AHEAD = 48,         /* entries of the mask whose offsets … */
    NEAR = 24,          /* … and whose lists are prefetched */
    ENTRY_STEPS = 16,   /* of a mask entry, in walked entries */
    DEFER_LEAST = 4,    /* a row of fewer entries is searched rather */
    LONGER_FACTOR = 2,  /* a list so many times as long as its row … */
    LONGER_MARGIN = 32, /* … and so much longer is laid out itself, for all rows that meet it */
    MARK_FACTOR = 8,    /* a row so many times as long as all its lists is searched for theirs */
    FAR_VALUES = 512,   /* values of a row of so many entries are asked for before they are needed */
    SURELY_LAID = 64,   /* a row of so few entries is laid out at once */
    SEARCH_FACTOR = 16, /* no list is searched that is not so many times as long as the row */
    SEARCH_STEPS = 6,   /* of a comparison in a search, in walked entries */
    PARTS_PER_THREAD = 64,
    PART_STEPS = 32768,
    SHARED_LEAST = 16384, /* entries of a row that a thread lays out for others */
    LINE = 64
};
#define KEPT_BYTES (INT64_C(64) << 20)

typedef struct values {
    const tsr_md_job *job;
    tsr_md_layout *layouts; /* of each row of the mask, or of each thread; NULL: nothing can be laid out */
    tsr_md_deferral *deferrals;
    bool shared;
    int threads, nparts, next, pieces;
    int64_t uncopied; /* entries left to their mirror images */
} values;

typedef struct walker {
    values *all;
    const tsr_md_job *job;
    tsr_md_layout *own;        /* NULL: shared, or nothing can be laid out */
    tsr_md_deferral *deferral; /* NULL: nothing is computed by column */
    int64_t uncopied;          /* as in values */
    tsr_md_intersection intersection;
} walker;

/* A mask entry: its row and column, and what meets there. */
typedef struct place {
    int64_t e, r, c;
    int64_t row, list; /* stored positions */
} place;

static int64_t mask_column(const tsr_md_job *job, int64_t e)
{
    return tsr_md_index(job->m.i, job->m.wide, e);
}

static int64_t mask_row(const tsr_md_job *job, int64_t v)
{
    return job->m.h ? job->m.h[v] : v;
}

static bool sorted(const tsr_md_job *job)
{
    return job->a.sorted && job->b.sorted;
}

/* ---- rows of A ---- */

/* Entries of the lists that row v of the mask names; no more than `most` are counted. */
static int64_t listed(const tsr_md_job *job, int64_t v, int64_t most)
{
    int64_t sum = 0;
    const int64_t end = tsr_md_start(&job->m, v + 1);
    for (int64_t e = tsr_md_start(&job->m, v); e < end && sum < most; e++) {
        const int64_t list = tsr_md_vector(&job->b, mask_column(job, e));
        sum += list < 0 ? 0 : tsr_md_entries(&job->b, list);
    }
    return sum;
}

static bool laying_out_pays(const tsr_md_job *job, int64_t v, int64_t na)
{
    return na <= SURELY_LAID || !sorted(job) || listed(job, v, na / MARK_FACTOR + 1) > na / MARK_FACTOR;
}

static void clear_own(walker *w)
{
    if (!w->own)
        return;
    tsr_md_clear(w->own, w->own->laid);
    tsr_md_set_laid(w->own, (tsr_md_list){&w->job->a, 0, 0});
}

/* The layout of a row of A that has entries, for row v of the mask; NULL: it is searched.  A row stays from one part of the mask to the next. */
static const tsr_md_layout *layout_of(walker *w, int64_t v, tsr_md_list row)
{
    if (w->all->shared) {
        const tsr_md_layout *common = &w->all->layouts[v];
        return tsr_md_length(common->laid) > 0 ? common : NULL;
    }
    if (!w->own || (w->own->laid.begin == row.begin && w->own->laid.end == row.end))
        return w->own;
    if (!laying_out_pays(w->job, v, tsr_md_length(row)))
        return NULL;
    clear_own(w);
    tsr_md_set_laid(w->own, row);
    tsr_md_lay_out(w->job, w->own, row);
    return w->own;
}

/* ---- one entry of the mask ---- */

static int64_t log2_of(int64_t ratio)
{
    return 63 - __builtin_clzll((uint64_t)ratio);
}

static bool searching_pays(const tsr_md_job *job, int64_t na, int64_t n)
{
    return n > SEARCH_FACTOR * na && sorted(job) && na * SEARCH_STEPS * (1 + log2_of(n / na)) < n;
}

static void compute(walker *w, const tsr_md_layout *layout, const place *at)
{
    const tsr_md_job *job = w->job;
    const tsr_md_list row = tsr_md_list_of(&job->a, at->row), list = tsr_md_list_of(&job->b, at->list);
    const int64_t na = tsr_md_length(row), n = tsr_md_length(list);
    if (job->mirrored && tsr_md_side_of(at->r, at->c, na, n) == TSR_MD_COPIED) {
        w->uncopied++;
        return;
    }
    if (w->deferral && layout && na >= DEFER_LEAST && n > LONGER_FACTOR * na + LONGER_MARGIN &&
        tsr_md_defer(w->deferral, (tsr_md_deferred){at->e, (uint32_t)at->row, (uint32_t)at->list}))
        return;
    const bool search = !layout || searching_pays(job, na, n);
    if (!search && na >= FAR_VALUES) {
        tsr_md_intersect_soon(&w->intersection, layout, list, at->e);
        return;
    }
    if (!search) {
        job->present[at->e] = tsr_md_intersect_laid(&w->intersection, layout, list, at->e);
        return;
    }
    if (layout)
        tsr_md_finish_waiting(&w->intersection, layout);
    job->present[at->e] = n > 0 && tsr_md_intersect_searched(&w->intersection, row, list, at->e);
}

/* ---- parts of the mask ---- */

static void ask_ahead(const tsr_md_job *job, int64_t e)
{
    const tsr_md_vectors *b = &job->b;
    const int64_t last = job->m.nvals - 1;
    if (b->h)
        return;
    tsr_offset_fetch(b->p, mask_column(job, e + AHEAD < last ? e + AHEAD : last));
    const int64_t near = mask_column(job, e + NEAR < last ? e + NEAR : last);
    const char *list = (const char *)b->i + (size_t)tsr_md_start(b, near) * (b->wide ? 8 : 4);
    __builtin_prefetch(list);
    __builtin_prefetch(list + LINE);
}

/* Entries [begin, end) of row v of the mask. */
static void walk_row(walker *w, int64_t v, int64_t begin, int64_t end)
{
    const tsr_md_job *job = w->job;
    place at = {.r = mask_row(job, v)};
    at.row = tsr_md_vector(&job->a, at.r);
    if (at.row < 0 || !tsr_md_entries(&job->a, at.row))
        return;
    const tsr_md_layout *layout = layout_of(w, v, tsr_md_list_of(&job->a, at.row));
    for (at.e = begin; at.e < end; at.e++) {
        ask_ahead(job, at.e);
        if (!tsr_md_passes(job, at.e))
            continue;
        at.c = mask_column(job, at.e);
        at.list = tsr_md_vector(&job->b, at.c);
        if (at.list >= 0)
            compute(w, layout, &at);
    }
    if (layout)
        tsr_md_finish_waiting(&w->intersection, layout);
}

static void walk(walker *w, int64_t begin, int64_t end)
{
    const tsr_md_vectors *m = &w->job->m;
    int64_t from = begin;
    for (int64_t v = tsr_vector_of(m->p, m->nvec, begin); from < end; v++) {
        const int64_t stop = tsr_md_start(m, v + 1), to = stop < end ? stop : end;
        if (from < to)
            walk_row(w, v, from, to);
        from = to;
    }
}

/* Ordering entries by column costs more than it saves where few columns have any. */
static bool may_defer(const values *all)
{
    const tsr_md_job *job = all->job;
    return all->layouts && !all->shared && !job->mirrored && job->m.nvals >= job->b.nvec && job->a.nvec <= UINT32_MAX &&
           job->b.nvec <= UINT32_MAX;
}

static void work(void *context, int64_t thread)
{
    values *all = context;
    const int64_t nvals = all->job->m.nvals;
    walker w = {.all = all, .job = all->job, .own = all->layouts && !all->shared ? &all->layouts[thread] : NULL,
                .deferral = may_defer(all) ? &all->deferrals[thread] : NULL};
    tsr_md_intersection_begin(&w.intersection, all->job);
    for (int part; (part = __atomic_fetch_add(&all->next, 1, __ATOMIC_RELAXED)) < all->nparts;)
        walk(&w, tsr_part_begin(nvals, part, all->nparts), tsr_part_begin(nvals, part + 1, all->nparts));
    clear_own(&w);
    __atomic_fetch_add(&all->uncopied, w.uncopied, __ATOMIC_RELAXED);
}

static void compute_column(void *context, int64_t thread, const tsr_md_deferred *list, int64_t n)
{
    const values *all = context;
    const tsr_md_job *job = all->job;
    const tsr_md_list column = tsr_md_list_of(&job->b, list->c);
    tsr_md_layout *layout = &all->layouts[thread];
    tsr_md_intersection intersection;
    tsr_md_intersection_begin(&intersection, job);
    tsr_md_set_laid(layout, column);
    tsr_md_lay_out(job, layout, column);
    for (int64_t t = 0; t < n; t++)
        job->present[list[t].e] = tsr_md_intersect_laid(&intersection, layout, tsr_md_list_of(&job->a, list[t].r), list[t].e);
    tsr_md_clear(layout, column);
}

/* ---- rows for all threads ---- */

static tsr_md_list piece_of(const values *all, int64_t job)
{
    const tsr_md_list laid = all->layouts[job / all->pieces].laid;
    const int piece = (int)(job % all->pieces);
    return (tsr_md_list){laid.of, laid.begin + tsr_part_begin(tsr_md_length(laid), piece, all->pieces),
                         laid.begin + tsr_part_begin(tsr_md_length(laid), piece + 1, all->pieces)};
}

static void lay_out_piece(void *context, int64_t job)
{
    const values *all = context;
    tsr_md_lay_out(all->job, &all->layouts[job / all->pieces], piece_of(all, job));
}

static void clear_piece(void *context, int64_t job)
{
    const values *all = context;
    tsr_md_clear(&all->layouts[job / all->pieces], piece_of(all, job));
}

static void share_rows(values *all)
{
    const tsr_md_job *job = all->job;
    int64_t entries = 0;
    for (int64_t v = 0; v < job->m.nvec; v++) {
        const int64_t row = tsr_md_vector(&job->a, mask_row(job, v));
        const tsr_md_list list = row < 0 ? (tsr_md_list){&job->a, 0, 0} : tsr_md_list_of(&job->a, row);
        const bool pays = tsr_md_length(list) > 0 && laying_out_pays(job, v, tsr_md_length(list));
        tsr_md_set_laid(&all->layouts[v], pays ? list : (tsr_md_list){&job->a, 0, 0});
        entries += tsr_md_length(all->layouts[v].laid);
    }
    const int threads = tsr_parts(entries, SHARED_LEAST, all->threads);
    all->pieces = (int)((threads + job->m.nvec - 1) / job->m.nvec);
    tsr_for_jobs(job->m.nvec * all->pieces, threads, lay_out_piece, all);
}

static void walk_all(values *all)
{
    all->next = 0;
    all->uncopied = 0;
    if (all->shared)
        share_rows(all);
    tsr_for_jobs(all->threads, all->threads, work, all);
    if (all->shared)
        tsr_for_jobs(all->job->m.nvec * all->pieces, all->pieces > 1 ? all->threads : 1, clear_piece, all);
}

/* ---- memory ---- */

static int64_t line_of(int64_t bytes)
{
    return (bytes + LINE - 1) / LINE * LINE;
}

static bool values_vary(const tsr_md_vectors *v)
{
    return v->x && !v->iso;
}

static tsr_status new_layouts(values *all)
{
    const tsr_md_job *job = all->job;
    if (!tsr_md_may_mark(job))
        return TSR_OK;
    const bool dense = job->kind == TSR_MD_FOLD && (values_vary(&job->a) || values_vary(&job->b));
    const int64_t count = all->shared ? job->m.nvec : all->threads, marks = line_of(job->k + 1),
                  bytes = dense ? line_of((job->k + 1) * (int64_t)job->size) : 0;
    uint8_t *mark = tsr_scratch_zeros(count * marks);
    char *room = bytes ? tsr_scratch_block(count * bytes) : NULL;
    all->layouts = malloc((size_t)count * sizeof *all->layouts);
    if (!mark || (bytes && !room) || !all->layouts)
        return TSR_OUT_OF_MEMORY;
    for (int64_t t = 0; t < count; t++)
        all->layouts[t] = (tsr_md_layout){.mark = mark + t * marks, .dense = room ? room + t * bytes : NULL, .laid = {&job->a, 0, 0}};
    return TSR_OK;
}

static void free_all(values *all)
{
    for (int t = 0; all->deferrals && t < all->threads; t++)
        free(all->deferrals[t].list);
    free(all->deferrals);
    free(all->layouts);
    tsr_scratch_keep(KEPT_BYTES);
}

static tsr_status copy_to_mirrors(values *all)
{
    int64_t copied = 0;
    const tsr_status status = all->uncopied ? tsr_md_copy_to_mirrors(all->job, &copied) : TSR_OK;
    all->uncopied -= copied;
    return status;
}

/* Steps that the mask is worth, by averages. */
static int64_t steps_of(const tsr_md_job *job)
{
    return job->m.nvals * (ENTRY_STEPS + job->b.nvals / (job->b.nvec + 1));
}

tsr_status tsr_md_values(tsr_md_job *job)
{
    if (!tsr_md_may_mark(job) && !sorted(job))
        return TSR_DECLINED;
    const int64_t steps = steps_of(job), affordable = steps / PART_STEPS + 1;
    values all = {.job = job, .threads = tsr_parts(steps, TSR_MD_THREAD_WORK, job->nthreads)};
    const int64_t wanted = (int64_t)all.threads * PARTS_PER_THREAD;
    all.nparts = all.threads == 1 ? 1 : (int)(affordable < wanted ? affordable : wanted);
    all.shared = tsr_md_may_mark(job) && job->m.nvec <= all.threads;
    all.deferrals = calloc((size_t)all.threads, sizeof *all.deferrals);
    tsr_status status = all.deferrals ? new_layouts(&all) : TSR_OUT_OF_MEMORY;
    if (status == TSR_OK)
        walk_all(&all);
    if (status == TSR_OK && job->mirrored)
        status = copy_to_mirrors(&all);
    if (status == TSR_OK && all.uncopied) { /* the mask is not symmetric after all */
        job->mirrored = false;
        walk_all(&all);
    }
    if (status == TSR_OK)
        status = tsr_md_columns(job, all.deferrals, all.threads, compute_column, &all);
    free_all(&all);
    return status;
}
