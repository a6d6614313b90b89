/* Masked dot product, A by row and B by column: every mask entry is the meeting of two sparse vectors.
 *
 * Of the two, one is scattered into a mark array and serves for many entries, the other is walked.  Entries whose
 * column of B is longer than their row of A are gathered by column, so that always about the shorter vector is walked:
 * the work is the sum of min (|A_r|, |B_c|), not of |B_c|.  Vectors that meet too few others to be worth marking are
 * searched in each other.  When product and mask are symmetric (C = A A'), half is computed and half is copied.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/masked/masked_dot.h"
#include "kernels/cpu/common/template.h"
#include "src/base/split.h"

#include <stdlib.h>
#include <string.h>

#define BATCH 128             /* partners looked at together: their first lines are prefetched */
#define TRIM_LEAST 64
#define AHEAD 2               /* partners whose lists are prefetched … */
#define LINE 64
#define LINES_MOST 64         /* … up to so many cache lines of each */
#define ENTRY_COST 16         /* of a mask entry, in walked entries */
#define COLUMN_FACTOR 1       /* an entry goes to the columns when |B_c| > factor * |A_r| + margin */
#define COLUMN_MARGIN 16
#define SEARCH_FACTOR 16      /* a hub is searched in a partner only that is so many times as long */

/* present[e] while the product is under way; afterwards 0 or 1. */
enum { BY_ROW = 2, BY_COLUMN = 3, BY_MIRROR = 4 };

typedef int64_t count_function(const uint32_t *marks, const void *index, bool wide, int64_t begin, int64_t n);
TSR_DECLARE_ISA(count_function, tsr_md_count_marked);

typedef struct partner {
    int64_t begin, end; /* its entries */
    int64_t e;          /* the mask entry */
} partner;

/* The vector that serves a group of entries. */
typedef struct hub_vector {
    const tsr_md_vectors *of, *others;
    int64_t begin, end;
    int64_t low, high; /* least and greatest index, once marked */
    bool marked;
} hub_vector;

typedef struct scratch {
    hub_vector hub; /* stays marked until another is needed: a long row of the mask is dealt to a thread in many slices */
    uint32_t *bits; /* of the marked vector, where only the number of products counts … */
    uint8_t *mark;  /* … otherwise; both NULL: nothing can be marked */
    char *dense;    /* values of the marked vector, or NULL when one value or none is enough */
    count_function *count;
    partner partners[BATCH];
    uint32_t place[TSR_MD_CHUNK];
    int64_t index[TSR_MD_CHUNK];
} scratch;

typedef struct listed {
    int64_t e;
    int64_t row; /* stored position in A */
} listed;

typedef struct columns {
    int64_t *q;
    listed *list;
    tsr_md_tasks tasks;
} columns;

static int8_t state_of(const tsr_md_job *job, int64_t e)
{
    return __atomic_load_n(&job->present[e], __ATOMIC_RELAXED);
}

static void set_state(const tsr_md_job *job, int64_t e, int8_t state)
{
    __atomic_store_n(&job->present[e], state, __ATOMIC_RELAXED);
}

/* Values from entry `at` on, and the step to the next one. */
static const void *values_at(const tsr_md_vectors *v, int64_t at, size_t size, int64_t *step)
{
    static const double none[1];
    *step = v->x && !v->iso;
    if (!v->x)
        return none;
    return (const char *)v->x + (v->iso ? 0 : (size_t)at * size);
}

/* ---- one meeting ---- */

/* As tsr_md_gallop, but from the end: all from there on are >= key. */
static int64_t gallop_back(const tsr_md_vectors *v, int64_t begin, int64_t end, int64_t key)
{
    int64_t step = 1;
    while (end - step > begin && tsr_md_index(v->i, v->wide, end - step) >= key)
        step *= 2;
    int64_t low = end - step > begin ? end - step : begin;
    return tsr_md_lower_bound(v->i, v->wide, low, end - step / 2, key);
}

/* Entries beyond those of the hub, which are few at most times, are left out. */
static void trim(const tsr_md_vectors *w, const hub_vector *hub, int64_t *begin, int64_t *end)
{
    if (tsr_md_index(w->i, w->wide, *begin) < hub->low)
        *begin = tsr_md_gallop(w->i, w->wide, *begin, *end, hub->low);
    if (*begin < *end && tsr_md_index(w->i, w->wide, *end - 1) > hub->high)
        *end = gallop_back(w, *begin, *end, hub->high + 1);
}

/* Hits of walked entries beginning at `walked_at` into result e. */
static void fold_hits(const tsr_md_job *job, const scratch *s, const tsr_md_vectors *walked, int64_t walked_at,
                      const void *other, int64_t other_step, bool first, int64_t hits, int64_t e)
{
    int64_t step;
    const void *x = values_at(walked, walked_at, job->size, &step);
    tsr_md_fold fold = tsr_md_fold_of(job->semiring, walked == &job->a);
    fold((char *)job->x + (size_t)e * job->size, first, x, step, other, other_step, s->place, s->index, hits);
}

static bool intersect_marked(const tsr_md_job *job, scratch *s, const hub_vector *hub, const partner *with)
{
    const tsr_md_vectors *w = hub->others;
    int64_t begin = with->begin, end = with->end, step;
    if (w->sorted && end - begin > TRIM_LEAST)
        trim(w, hub, &begin, &end);
    if (job->kind == TSR_MD_COUNT) {
        int64_t count = s->count(s->bits, w->i, w->wide, begin, end - begin);
        if (count)
            tsr_md_finish(job, with->e, count);
        return count;
    }
    const void *other = values_at(hub->of, 0, job->size, &step);
    bool found = false;
    for (int64_t at = begin; at < end; at += TSR_MD_CHUNK) {
        int64_t n = end - at < TSR_MD_CHUNK ? end - at : TSR_MD_CHUNK;
        int64_t hits = tsr_md_find(s->mark, w->i, w->wide, at, n, s->place, s->index);
        if (!hits)
            continue;
        if (job->kind == TSR_MD_EXISTS)
            tsr_md_finish(job, with->e, 1);
        else
            fold_hits(job, s, w, at, step ? s->dense : other, step, !found, hits, with->e);
        found = true;
        if (job->kind == TSR_MD_EXISTS || job->semiring.add == TSR_ADD_ANY)
            break;
    }
    return found;
}

/* Both vectors sorted: entries of the shorter are searched in the longer. */
static bool intersect_merging(const tsr_md_job *job, scratch *s, const hub_vector *hub, const partner *with)
{
    bool hub_short = hub->end - hub->begin < with->end - with->begin;
    const tsr_md_vectors *small = hub_short ? hub->of : hub->others, *large = hub_short ? hub->others : hub->of;
    int64_t t = hub_short ? hub->begin : with->begin, t_end = hub_short ? hub->end : with->end;
    int64_t large_begin = hub_short ? with->begin : hub->begin, large_end = hub_short ? with->end : hub->end;
    int64_t cursor = large_begin, base = t, hits = 0, count = 0, step;
    const void *other = values_at(large, large_begin, job->size, &step);
    for (; t < t_end && cursor < large_end; t++) {
        int64_t key = tsr_md_index(small->i, small->wide, t);
        cursor = tsr_md_gallop(large->i, large->wide, cursor, large_end, key);
        if (cursor == large_end || tsr_md_index(large->i, large->wide, cursor) != key)
            continue;
        count++;
        if (job->kind == TSR_MD_EXISTS)
            break;
        if (job->kind == TSR_MD_COUNT)
            continue;
        if (hits == TSR_MD_CHUNK) {
            fold_hits(job, s, small, base, other, step, count - 1 == hits, hits, with->e);
            hits = 0;
        }
        if (!hits)
            base = t;
        s->place[hits] = (uint32_t)(t - base);
        s->index[hits++] = cursor - large_begin;
        if (job->semiring.add == TSR_ADD_ANY)
            break;
    }
    if (count && job->kind != TSR_MD_FOLD)
        tsr_md_finish(job, with->e, count);
    if (hits)
        fold_hits(job, s, small, base, other, step, count == hits, hits, with->e);
    return count;
}

/* ---- groups of meetings with one hub ---- */

static void mark_hub(const tsr_md_job *job, scratch *s, hub_vector *hub)
{
    const tsr_md_vectors *v = hub->of;
    int64_t step, low = INT64_MAX, high = -1;
    const char *x = values_at(v, hub->begin, job->size, &step);
    for (int64_t e = hub->begin; e < hub->end; e++) {
        int64_t k = tsr_md_index(v->i, v->wide, e);
        if (s->bits)
            s->bits[k / 32] |= (uint32_t)1 << k % 32;
        else
            s->mark[k] = 1;
        low = k < low ? k : low;
        high = k > high ? k : high;
    }
    if (s->dense && step)
        for (int64_t e = hub->begin; e < hub->end; e++)
            memcpy(s->dense + (size_t)tsr_md_index(v->i, v->wide, e) * job->size,
                   x + (size_t)(e - hub->begin) * job->size, job->size);
    hub->low = low;
    hub->high = high;
    hub->marked = true;
}

static void unmark_hub(scratch *s)
{
    const hub_vector *hub = &s->hub;
    for (int64_t e = hub->begin; hub->marked && e < hub->end; e++) {
        int64_t k = tsr_md_index(hub->of->i, hub->of->wide, e);
        if (s->bits)
            s->bits[k / 32] = 0;
        else
            s->mark[k] = 0;
    }
}

/* Vector `at` of v serves the next entries, which name vectors of `others`. */
static hub_vector *take_hub(scratch *s, const tsr_md_vectors *v, int64_t at, const tsr_md_vectors *others)
{
    hub_vector *hub = &s->hub;
    if (hub->of == v && hub->begin == v->p[at] && hub->end == v->p[at + 1])
        return hub;
    unmark_hub(s);
    *hub = (hub_vector){.of = v, .others = others, .begin = v->p[at], .end = v->p[at + 1]};
    return hub;
}

static bool can_mark(const scratch *s)
{
    return s->bits || s->mark;
}

static int64_t log2_ratio(int64_t a, int64_t b)
{
    uint64_t ratio = a > b ? (uint64_t)(a / b) : (uint64_t)(b / a);
    return 63 - __builtin_clzll(ratio);
}

/* Is marking the hub for these partners dearer than searching each?  In units of one walked entry. */
static bool merging_pays(const tsr_md_job *job, const scratch *s, const hub_vector *hub, int64_t n)
{
    if (!can_mark(s))
        return true;
    if (!job->a.sorted || !job->b.sorted || hub->marked)
        return false;
    int64_t length = hub->end - hub->begin, marking = 4 * length, merging = 0;
    for (int64_t j = 0; j < n && merging < marking; j++) {
        int64_t other = s->partners[j].end - s->partners[j].begin, shorter = other < length ? other : length;
        marking += other;
        merging += shorter * 6 * (1 + log2_ratio(length, other));
    }
    return merging < marking;
}

/* Is a marked hub so much shorter than its partner that it is rather searched there? */
static bool searching_pays(const tsr_md_job *job, const hub_vector *hub, const partner *with)
{
    const int64_t length = hub->end - hub->begin, other = with->end - with->begin;
    return job->a.sorted && job->b.sorted && other > SEARCH_FACTOR * length && length * 6 * (1 + log2_ratio(length, other)) < other;
}

/* The result of e = (r, c) is also that of (c, r), if the mask has it. */
static void copy_to_mirror(const tsr_md_job *job, int64_t r, int64_t e, bool found)
{
    const tsr_md_vectors *m = &job->m;
    int64_t v = tsr_md_vector(m, tsr_md_index(m->i, m->wide, e));
    if (v < 0)
        return;
    int64_t at = tsr_md_lower_bound(m->i, m->wide, m->p[v], m->p[v + 1], r);
    if (at == m->p[v + 1] || at == e || tsr_md_index(m->i, m->wide, at) != r || !tsr_md_passes(job, at))
        return;
    memcpy((char *)job->x + (size_t)at * job->size, (const char *)job->x + (size_t)e * job->size, job->size);
    set_state(job, at, found);
}

/* The lists are short and lie anywhere: no processor sees them coming. */
static void prefetch_partner(const tsr_md_vectors *v, const partner *with)
{
    size_t width = v->wide ? 8 : 4;
    const char *begin = (const char *)v->i + (size_t)with->begin * width, *end = (const char *)v->i + (size_t)with->end * width;
    if (end - begin > LINES_MOST * LINE)
        end = begin + LINES_MOST * LINE;
    for (const char *line = begin + LINE; line < end; line += LINE)
        __builtin_prefetch(line);
}

static void intersect_batch(const tsr_md_job *job, scratch *s, hub_vector *hub, int64_t n, int64_t mirror_row)
{
    bool merging = merging_pays(job, s, hub, n);
    if (!merging && !hub->marked)
        mark_hub(job, s, hub);
    for (int64_t j = 0; j < n; j++) {
        const partner *with = &s->partners[j];
        if (!merging && j + AHEAD < n)
            prefetch_partner(hub->others, &s->partners[j + AHEAD]);
        const bool search = merging || searching_pays(job, hub, with);
        bool found = search ? intersect_merging(job, s, hub, with) : intersect_marked(job, s, hub, with);
        set_state(job, with->e, found);
        if (mirror_row >= 0)
            copy_to_mirror(job, mirror_row, with->e, found);
    }
}

static void add_partner(scratch *s, int64_t n, const tsr_md_vectors *v, int64_t vector, int64_t e)
{
    s->partners[n] = (partner){v->p[vector], v->p[vector + 1], e};
    __builtin_prefetch((const char *)v->i + (size_t)v->p[vector] * (v->wide ? 8 : 4));
}

static int64_t row_name(const tsr_md_job *job, int64_t v)
{
    return job->m.h ? job->m.h[v] : v;
}

static void intersect_row(const tsr_md_job *job, scratch *s, int64_t v, int64_t begin, int64_t end)
{
    int64_t row = tsr_md_vector(&job->a, row_name(job, v)), mirror = job->mirrored ? row_name(job, v) : -1, n = 0;
    if (row < 0)
        return;
    hub_vector *hub = take_hub(s, &job->a, row, &job->b);
    for (int64_t e = begin; e < end; e++) {
        if (state_of(job, e) != BY_ROW)
            continue;
        add_partner(s, n++, &job->b, tsr_md_vector(&job->b, tsr_md_index(job->m.i, job->m.wide, e)), e);
        if (n == BATCH) {
            intersect_batch(job, s, hub, n, mirror);
            n = 0;
        }
    }
    if (n)
        intersect_batch(job, s, hub, n, mirror);
}

static void intersect_column(const tsr_md_job *job, scratch *s, const columns *cols, int64_t v, int64_t begin, int64_t end)
{
    hub_vector *hub = take_hub(s, &job->b, v, &job->a);
    for (int64_t at = begin; at < end; at += BATCH) {
        int64_t n = end - at < BATCH ? end - at : BATCH;
        for (int64_t j = 0; j < n; j++)
            add_partner(s, j, &job->a, cols->list[at + j].row, cols->list[at + j].e);
        intersect_batch(job, s, hub, n, -1);
    }
}

/* ---- who meets whom ---- */

/* Lists of entries for every column cost more than they save where few columns have any; their rows are searched in long columns. */
static bool lists_columns(const tsr_md_job *job)
{
    return job->m.nvals >= job->b.nvec || !job->a.sorted || !job->b.sorted;
}

static int8_t choose(const tsr_md_job *job, const scratch *s, int64_t r, int64_t c, int64_t a_length, int64_t b_length)
{
    if (!a_length || !b_length)
        return 0;
    if (job->mirrored)
        return b_length < a_length || (b_length == a_length && c <= r) ? BY_ROW : BY_MIRROR;
    return can_mark(s) && lists_columns(job) && b_length > COLUMN_FACTOR * a_length + COLUMN_MARGIN ? BY_COLUMN : BY_ROW;
}

/* Sets the states of one mask row and returns what its BY_ROW entries cost.  `again`: only what no mirror filled. */
static int64_t plan_row(const tsr_md_job *job, const scratch *s, int64_t v, bool again, int64_t *by_column)
{
    const tsr_md_vectors *m = &job->m;
    int64_t r = row_name(job, v), row = tsr_md_vector(&job->a, r), cost = 0;
    int64_t a_length = row < 0 ? 0 : job->a.p[row + 1] - job->a.p[row];
    for (int64_t e = m->p[v]; e < m->p[v + 1]; e++) {
        if (again && job->present[e] != BY_MIRROR)
            continue;
        int64_t c = tsr_md_index(m->i, m->wide, e), column = tsr_md_vector(&job->b, c);
        int64_t b_length = column < 0 ? 0 : job->b.p[column + 1] - job->b.p[column];
        int8_t state = tsr_md_passes(job, e) ? choose(job, s, r, c, a_length, b_length) : 0;
        job->present[e] = state;
        if (state == BY_ROW)
            cost += b_length + ENTRY_COST;
        *by_column += state == BY_COLUMN;
    }
    return cost ? cost + 2 * a_length : 0;
}

/* Returns how many entries go by column. */
static int64_t plan_rows(const tsr_md_job *job, const scratch *s, tsr_md_tasks *tasks, bool again)
{
    int64_t by_column = 0;
    const int nthreads = tsr_parts(job->m.nvals + job->m.nvec, TSR_MD_THREAD_WORK, job->nthreads);
#pragma omp parallel for num_threads(nthreads) schedule(dynamic, 512) reduction(+ : by_column) if (nthreads > 1)
    for (int64_t v = 0; v < job->m.nvec; v++)
        tasks->c[v + 1] = plan_row(job, s, v, again, &by_column);
    tsr_md_tasks_finish(tasks, job->nthreads);
    return by_column;
}

/* ---- the entries that go by column, listed by column ---- */

/* First mask row of part `part`. */
static int64_t part_row(const tsr_md_job *job, int64_t part, int64_t nparts)
{
    return part == nparts ? job->m.nvec
                          : tsr_md_lower_bound(job->m.p, true, 0, job->m.nvec, job->m.nvals / nparts * part);
}

/* One part of the counting sort: count (list = NULL) or fill. */
static void list_part(const tsr_md_job *job, int64_t *count, listed *list, int64_t first, int64_t last)
{
    for (int64_t v = first; v < last; v++) {
        int64_t row = tsr_md_vector(&job->a, row_name(job, v));
        for (int64_t e = job->m.p[v]; e < job->m.p[v + 1]; e++) {
            if (job->present[e] != BY_COLUMN)
                continue;
            int64_t at = count[tsr_md_vector(&job->b, tsr_md_index(job->m.i, job->m.wide, e))]++;
            if (list)
                list[at] = (listed){e, row};
        }
    }
}

/* Counts of the parts become the places where they begin to write. */
static void place_parts(columns *cols, int64_t *counts, int64_t nvec, int64_t nparts)
{
    int64_t sum = 0;
    for (int64_t v = 0; v < nvec; v++) {
        cols->q[v] = sum;
        for (int64_t part = 0; part < nparts; part++) {
            int64_t n = counts[part * nvec + v];
            counts[part * nvec + v] = sum;
            sum += n;
        }
    }
    cols->q[nvec] = sum;
}

static void cost_columns(const tsr_md_job *job, columns *cols)
{
    const int nthreads = tsr_parts(cols->q[job->b.nvec] + job->b.nvec, TSR_MD_THREAD_WORK, job->nthreads);
#pragma omp parallel for num_threads(nthreads) schedule(dynamic, 512) if (nthreads > 1)
    for (int64_t v = 0; v < job->b.nvec; v++) {
        int64_t cost = cols->q[v] < cols->q[v + 1] ? 2 * (job->b.p[v + 1] - job->b.p[v]) : 0;
        for (int64_t at = cols->q[v]; at < cols->q[v + 1]; at++)
            cost += job->a.p[cols->list[at].row + 1] - job->a.p[cols->list[at].row] + ENTRY_COST;
        cols->tasks.c[v + 1] = cost;
    }
    tsr_md_tasks_finish(&cols->tasks, job->nthreads);
}

static tsr_status list_columns(const tsr_md_job *job, columns *cols, int64_t entries)
{
    int64_t nvec = job->b.nvec, affordable = 1 + entries / (nvec + 1);
    const int useful = tsr_parts(job->m.nvals, TSR_MD_THREAD_WORK, job->nthreads);
    int64_t nparts = affordable < useful ? affordable : useful;
    int64_t *counts = calloc((size_t)nvec * (size_t)nparts, sizeof *counts);
    cols->q = malloc((size_t)(nvec + 1) * sizeof *cols->q);
    cols->list = malloc((size_t)entries * sizeof *cols->list);
    cols->tasks.c = malloc((size_t)(nvec + 1) * sizeof *cols->tasks.c);
    tsr_status status = counts && cols->q && cols->list && cols->tasks.c ? TSR_OK : TSR_OUT_OF_MEMORY;
    if (status == TSR_OK) {
        cols->tasks.q = cols->q;
        cols->tasks.nvec = nvec;
#pragma omp parallel for num_threads((int)nparts) schedule(static, 1) if (nparts > 1)
        for (int64_t part = 0; part < nparts; part++)
            list_part(job, counts + part * nvec, NULL, part_row(job, part, nparts), part_row(job, part + 1, nparts));
        place_parts(cols, counts, nvec, nparts);
#pragma omp parallel for num_threads((int)nparts) schedule(static, 1) if (nparts > 1)
        for (int64_t part = 0; part < nparts; part++)
            list_part(job, counts + part * nvec, cols->list, part_row(job, part, nparts),
                      part_row(job, part + 1, nparts));
        cost_columns(job, cols);
    }
    free(counts);
    return status;
}

static void free_columns(columns *cols)
{
    free(cols->q);
    free(cols->list);
    free(cols->tasks.c);
}

/* ---- running the tasks ---- */

/* cols = NULL: the rows of the mask; otherwise the listed columns. */
static void run_task(const tsr_md_job *job, scratch *s, const tsr_md_tasks *tasks, const columns *cols, int64_t t)
{
    tsr_md_position from = tsr_md_task_begin(tasks, t), to = tsr_md_task_begin(tasks, t + 1);
    for (int64_t v = from.vector; v <= to.vector && v < tasks->nvec; v++) {
        int64_t begin = v == from.vector ? from.entry : tasks->q[v], end = v == to.vector ? to.entry : tasks->q[v + 1];
        if (begin >= end || tasks->c[v] == tasks->c[v + 1])
            continue;
        if (cols)
            intersect_column(job, s, cols, v, begin, end);
        else
            intersect_row(job, s, v, begin, end);
    }
}

static void run_tasks(const tsr_md_job *job, scratch *scratches, const tsr_md_tasks *tasks, const columns *cols)
{
    int64_t next = 0;
    const int nthreads = tsr_md_tasks_threads(tasks, job->nthreads);
#pragma omp parallel for num_threads(nthreads) schedule(static, 1) if (nthreads > 1)
    for (int thread = 0; thread < nthreads; thread++)
        for (int64_t t; (t = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED)) < tasks->ntasks;)
            run_task(job, &scratches[thread], tasks, cols, t);
}

static tsr_status run_pass(tsr_md_job *job, scratch *scratches, tsr_md_tasks *tasks, bool again)
{
    int64_t by_column = plan_rows(job, scratches, tasks, again);
    run_tasks(job, scratches, tasks, NULL);
    if (!by_column)
        return TSR_OK;
    columns cols = {0};
    tsr_status status = list_columns(job, &cols, by_column);
    if (status == TSR_OK)
        run_tasks(job, scratches, &cols.tasks, &cols);
    free_columns(&cols);
    return status;
}

/* ---- scratch ---- */

static bool values_vary(const tsr_md_vectors *v)
{
    return v->x && !v->iso;
}

static void free_scratches(scratch *s, int n)
{
    for (int t = 0; s && t < n; t++) {
        free(s[t].bits);
        free(s[t].mark);
        free(s[t].dense);
    }
    free(s);
}

static scratch *new_scratches(const tsr_md_job *job)
{
    scratch *s = calloc((size_t)job->nthreads, sizeof *s);
    bool dense = job->kind == TSR_MD_FOLD && (values_vary(&job->a) || values_vary(&job->b)), complete = s != NULL;
    for (int t = 0; complete && tsr_md_may_mark(job) && t < job->nthreads; t++) {
        if (job->kind == TSR_MD_COUNT)
            s[t].bits = calloc((size_t)job->k / 32 + 1, sizeof *s[t].bits);
        else
            s[t].mark = calloc((size_t)job->k + 1, 1);
        s[t].count = TSR_PICK_ISA(tsr_md_count_marked);
        s[t].dense = dense ? malloc(((size_t)job->k + 1) * job->size) : NULL;
        complete = can_mark(&s[t]) && (s[t].dense || !dense);
    }
    if (complete)
        return s;
    free_scratches(s, job->nthreads);
    return NULL;
}

tsr_status tsr_md_dot(tsr_md_job *job)
{
    if (!tsr_md_may_mark(job) && !(job->a.sorted && job->b.sorted))
        return TSR_DECLINED;
    tsr_md_tasks tasks = {.q = job->m.p, .nvec = job->m.nvec};
    tasks.c = malloc((size_t)(job->m.nvec + 1) * sizeof *tasks.c);
    scratch *scratches = new_scratches(job);
    tsr_status status = tasks.c && scratches ? TSR_OK : TSR_OUT_OF_MEMORY;
    if (status == TSR_OK)
        status = run_pass(job, scratches, &tasks, false);
    if (status == TSR_OK && job->mirrored && memchr(job->present, BY_MIRROR, (size_t)job->m.nvals)) {
        job->mirrored = false;
        status = run_pass(job, scratches, &tasks, true);
    }
    free_scratches(scratches, job->nthreads);
    free(tasks.c);
    return status;
}
