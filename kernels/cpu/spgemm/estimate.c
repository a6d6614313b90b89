/* SpGEMM: how large C will be, from the patterns of a few rows: memory of about the right size is neither moved nor given back, and blocks
 * that are kept fit the next time.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/spgemm/driver.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/common/chunks.h"
#include "src/base/split.h"

enum {
    FEW = 1 << 16,          /* products of which the memory of all is taken */
    SHARE = 64,             /* one row in so many, at least */
    MOST_ROWS = 1024,
    PRODUCTS_PER_JOB = 1 << 14, /* to look at, at least */
    RANGE = 1 << 16,        /* rows bounded at once */
    SPARE = 4               /* a quarter more than expected: what is not touched costs nothing, to move costs new memory */
};

/* Different columns of stored row v; seen: a table of `room` (a power of two) columns + 1. */
static int64_t count_row(const tsr_sg_job *job, int64_t v, uint32_t *seen, int64_t room)
{
    int64_t count = 0;
    memset(seen, 0, (size_t)room * sizeof *seen);
    for (int64_t e = tsr_offset_at(job->a_p, v); e < tsr_offset_at(job->a_p, v + 1); e++) {
        int64_t lo, hi;
        tsr_sg_row_of_b(job, tsr_sg_index(job->a_i, job->a_wide, e), &lo, &hi);
        for (; lo < hi; lo++) {
            const uint32_t name = (uint32_t)tsr_sg_index(job->b_i, job->b_wide, lo) + 1;
            int64_t slot = (int64_t)(name * 0x9E3779B1u) & (room - 1);
            while (seen[slot] && seen[slot] != name)
                slot = (slot + 1) & (room - 1);
            count += !seen[slot];
            seen[slot] = name;
        }
    }
    return count;
}

static int64_t most_of_row(const tsr_spgemm_work *w, int64_t v)
{
    const int64_t products = w->before[v + 1] - w->before[v];
    return products < w->job.n ? products : w->job.n;
}

/* ---- a bound of all rows ---- */

typedef struct bounds {
    const tsr_spgemm_work *w;
    atomic_llong all;
} bounds;

static void add_bounds(void *context, int64_t first, int64_t last)
{
    bounds *b = context;
    int64_t sum = 0;
    for (int64_t v = first; v < last; v++)
        sum += most_of_row(b->w, v);
    atomic_fetch_add_explicit(&b->all, sum, memory_order_relaxed);
}

static double bound_of_all(const tsr_spgemm_work *w)
{
    bounds b = {.w = w};
    tsr_for_ranges(w->job.nvec, RANGE, tsr_pass_threads(w->job.nvec, w->product.nthreads), add_bounds, &b);
    return (double)b.all;
}

/* ---- the sample ---- */

typedef struct sample {
    const tsr_spgemm_work *w;
    int64_t step, limit;         /* one row in so many; products that a job looks at, about */
    int64_t jobs;                /* job n takes every so manieth of these rows, from the n-th on */
    atomic_llong most, counted;  /* bounds of the rows that were counted, what they have */
    atomic_bool failed;
} sample;

typedef struct table {
    uint32_t *seen;
    int64_t room;
} table;

static bool make_room(table *t, int64_t most)
{
    if (t->room >= 2 * most)
        return true;
    for (t->room = 64; t->room < 2 * most;)
        t->room *= 2;
    free(t->seen);
    t->seen = malloc((size_t)t->room * sizeof *t->seen);
    return t->seen;
}

static void count_some(void *context, int64_t job)
{
    sample *s = context;
    const tsr_spgemm_work *w = s->w;
    int64_t limit = s->limit, all = 0, counted = 0;
    table t = {0};
    bool ok = true;
    for (int64_t v = s->step / 2 + job * s->step; ok && v < w->job.nvec && limit >= 0; v += s->jobs * s->step) {
        const int64_t most = most_of_row(w, v);
        if (most == 0)
            continue;
        limit -= w->before[v + 1] - w->before[v];
        all += most;
        ok = make_room(&t, most);
        counted += ok ? count_row(&w->job, v, t.seen, t.room) : 0;
    }
    free(t.seen);
    atomic_fetch_add(&s->most, all);
    atomic_fetch_add(&s->counted, counted);
    if (!ok)
        atomic_store(&s->failed, true);
}

/* Entries for each that a row may have at most; half of them if that cannot be told. */
static double share_of_most(const tsr_spgemm_work *w)
{
    const int64_t nvec = w->job.nvec, products = w->before[nvec] / SHARE;
    sample s = {.w = w, .step = nvec / MOST_ROWS > SHARE ? nvec / MOST_ROWS : SHARE,
                .jobs = tsr_parts(products, PRODUCTS_PER_JOB, w->product.nthreads)};
    s.limit = products / s.jobs;
    tsr_for_jobs(s.jobs, (int)s.jobs, count_some, &s);
    return s.failed || s.most == 0 ? .5 : (double)s.counted / (double)s.most;
}

int64_t tsr_sg_estimate(const tsr_spgemm_work *w)
{
    const int64_t products = w->before[w->job.nvec];
    if (products <= FEW)
        return products + 1;
    const double all = bound_of_all(w), expected = all * share_of_most(w) * (1 + 1.0 / SPARE);
    return (int64_t)(expected < all ? expected : all) + 1;
}
