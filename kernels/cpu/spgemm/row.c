/* SpGEMM: which loop computes a row.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/spgemm/driver.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/common/arrays.h"

enum {
    WINDOW_MOST = 1 << 18,  /* columns */
    NEAR_SHARE = 16,        /* of them for each product: to look at all takes less time than to mark groups */
    WINDOW_SHARE = 32,      /* … where a row can be sorted by rank */
    WIDE_SHARE = 512,       /* … where it would be sorted by bits or digits */
    WINDOW_FROM = 32,       /* products */
    WIDE_FROM = 64,
    MOST_UNASKED = 31,      /* rows */
    DENSE_MOST = 1 << 22    /* columns of which notes are kept in an array */
};

typedef enum way { DENSE, HASH, WINDOW, COPY } way;

/* ---- scratch when it is first wanted ---- */

static bool have_places(tsr_sg_thread *t, const tsr_sg_job *job)
{
    if (t->place)
        return true;
    t->place = tsr_scratch((size_t)(job->n + 1) * sizeof *t->place);
    if (t->place)
        memset(t->place, 0, (size_t)(job->n + 1) * sizeof *t->place);
    return t->place;
}

/* At most `entries` indices: half of the table stays free. */
static bool have_table(tsr_sg_thread *t, int64_t entries)
{
    int bits = 6;
    while ((int64_t)1 << bits < 2 * entries)
        bits++;
    t->table_shift = 64 - bits;
    if (t->table_room >= (int64_t)1 << bits)
        return true;
    free(t->table);
    t->table = malloc(sizeof *t->table << bits);
    t->table_room = t->table ? (int64_t)1 << bits : 0;
    return t->table;
}

static bool have_window(tsr_sg_thread *t, const tsr_spgemm_work *w)
{
    if (t->window_room >= t->span)
        return true;
    const int64_t wanted = t->span < WINDOW_MOST / 4 ? t->span * 4 : t->span, room = wanted / TSR_SG_MARKS * TSR_SG_MARKS + 2 * TSR_SG_MARKS;
    free(t->window);
    free(t->mark);
    t->window = w->job.valued ? malloc((size_t)room * w->job.size) : NULL;
    t->mark = calloc((size_t)(room + room / 64 + TSR_SG_MARKS), 1);
    t->group = t->mark ? t->mark + room : NULL;
    t->window_room = t->mark && (t->window || !w->job.valued) ? room - TSR_SG_MARKS : 0;
    if (t->window_room && w->job.valued)
        w->loops.start(t->window, room);
    return t->window_room;
}

/* ---- the choice ---- */

/* Columns from the least to the greatest of the rows of B that are met. */
static void find_span(tsr_sg_thread *t, const tsr_sg_job *job, int64_t e, int64_t hi)
{
    int64_t least = INT64_MAX, most = -1;
    for (; e < hi; e++) {
        int64_t b0, b1;
        if (job->fetch)
            tsr_sg_fetch_ahead(job, e);
        tsr_sg_row_of_b(job, tsr_sg_index(job->a_i, job->a_wide, e), &b0, &b1);
        if (b0 == b1)
            continue;
        const int64_t first = tsr_sg_index(job->b_i, job->b_wide, b0), last = tsr_sg_index(job->b_i, job->b_wide, b1 - 1);
        least = first < least ? first : least;
        most = last > most ? last : most;
    }
    t->lo = least;
    t->span = most - least + 1;
}

/* Rows beside one another are alike: after one that was too wide one is not asked, then three and so on. */
static bool is_asked(tsr_sg_thread *t)
{
    if (t->unasked == 0)
        return true;
    t->unasked--;
    return false;
}

static void set_unasked(tsr_sg_thread *t, bool pays)
{
    const int more = 2 * t->wide_rows + 1;
    t->unasked = t->wide_rows = pays ? 0 : more < MOST_UNASKED ? more : MOST_UNASKED;
}

static bool window_pays(tsr_sg_thread *t, const tsr_sg_job *job, int64_t products, int64_t e, int64_t hi)
{
    const int64_t widest = (products < WIDE_FROM ? WINDOW_SHARE : WIDE_SHARE) * products;
    const bool surely = job->n <= widest;
    if (products < WINDOW_FROM || (!surely && !is_asked(t)))
        return false;
    t->lo = 0;
    t->span = job->n;
    if (job->b_sorted)
        find_span(t, job, e, hi);
    const bool pays = t->span <= WINDOW_MOST && t->span <= widest;
    if (!surely)
        set_unasked(t, pays);
    return pays;
}

bool tsr_sg_dense_pays(int64_t columns, int64_t products, int nthreads)
{
    return columns <= DENSE_MOST && columns / 2 <= products / nthreads;
}

static way choose(tsr_sg_thread *t, const tsr_spgemm_work *w, int64_t products, int64_t e, int64_t hi)
{
    const tsr_sg_job *job = &w->job;
    if (hi - e == 1 && w->loops.copy)
        return COPY;
    if (window_pays(t, job, products, e, hi))
        return WINDOW;
    const int64_t most = products < job->n ? products : job->n;
    return w->dense || most > job->n / 4 ? DENSE : HASH;
}

/* ---- a row without a mask ---- */

static int64_t row_of(const tsr_sg_job *job, int64_t v)
{
    return job->a_h ? job->a_h[v] : v;
}

static int64_t products_of(const tsr_spgemm_work *w, int64_t v)
{
    return w->before[v + 1] - w->before[v];
}

static int64_t most_of(const tsr_spgemm_work *w, int64_t v)
{
    const int64_t products = products_of(w, v);
    return products < w->job.n ? products : w->job.n;
}

static tsr_sg_row window_of(const tsr_sg_thread *t, const tsr_spgemm_work *w, int64_t v)
{
    return t->span <= NEAR_SHARE * products_of(w, v) ? w->loops.window : w->loops.wide;
}

static bool compute(tsr_sg_thread *t, const tsr_spgemm_work *w, int64_t v, way how)
{
    const tsr_sg_job *job = &w->job;
    const tsr_sg_loops *loops = &w->loops;
    const tsr_sg_row row[] = {[DENSE] = loops->dense, [HASH] = loops->hash, [WINDOW] = window_of(t, w, v), [COPY] = loops->copy};
    const bool ready = how == DENSE    ? have_places(t, job)
                       : how == HASH   ? have_table(t, most_of(w, v))
                       : how == WINDOW ? have_window(t, w)
                                       : true;
    if (ready)
        row[how](job, t, row_of(job, v), tsr_offset_at(job->a_p, v), tsr_offset_at(job->a_p, v + 1));
    return ready;
}

static bool compute_free(tsr_sg_thread *t, const tsr_spgemm_work *w, int64_t v, way *how)
{
    *how = choose(t, w, products_of(w, v), tsr_offset_at(w->job.a_p, v), tsr_offset_at(w->job.a_p, v + 1));
    return compute(t, w, v, *how);
}

/* ---- masks ---- */

static void row_of_mask(const tsr_sg_job *job, int64_t row, int64_t *lo, int64_t *hi)
{
    int64_t v = row;
    if (job->m_h) {
        v = tsr_sg_search(job->m_h, job->m_nvec, row);
        if (v == job->m_nvec || job->m_h[v] != row) {
            *lo = *hi = 0;
            return;
        }
    }
    *lo = tsr_offset_at(job->m_p, v);
    *hi = tsr_offset_at(job->m_p, v + 1);
}

/* The whole row in a window, of which what the mask hides is taken out: it comes sorted. */
static bool compute_hidden(tsr_sg_thread *t, const tsr_spgemm_work *w, int64_t v, int64_t lo, int64_t end)
{
    t->hidden = lo;
    t->hidden_end = end;
    const bool ok = compute(t, w, v, WINDOW);
    t->hidden = t->hidden_end = 0;
    return ok;
}

static bool compute_passing(tsr_sg_thread *t, const tsr_spgemm_work *w, int64_t v, int64_t lo, int64_t end)
{
    const tsr_sg_job *job = &w->job;
    if (!have_places(t, job))
        return false;
    for (int64_t at = lo; at < end; at++)
        if (tsr_sg_mask_is_true(job, at))
            t->pass[tsr_sg_index(job->m_i, job->m_wide, at)] = !job->complement;
    w->loops.masked(job, t, row_of(job, v), tsr_offset_at(job->a_p, v), tsr_offset_at(job->a_p, v + 1));
    for (int64_t at = lo; at < end; at++)
        t->pass[tsr_sg_index(job->m_i, job->m_wide, at)] = job->complement;
    return true;
}

static bool compute_masked(tsr_sg_thread *t, const tsr_spgemm_work *w, int64_t v, way *how)
{
    const tsr_sg_job *job = &w->job;
    int64_t lo, end;
    row_of_mask(job, row_of(job, v), &lo, &end);
    if (lo == end)
        return !job->complement || compute_free(t, w, v, how);
    *how = job->complement && window_pays(t, job, products_of(w, v), tsr_offset_at(job->a_p, v), tsr_offset_at(job->a_p, v + 1)) ? WINDOW : DENSE;
    return *how == WINDOW ? compute_hidden(t, w, v, lo, end) : compute_passing(t, w, v, lo, end);
}

/* ---- bitmap and full masks ---- */

static void move_value(void *x, size_t size, int64_t to, int64_t from)
{
    switch (size) {
    case 0: break;
    case 1: ((uint8_t *)x)[to] = ((uint8_t *)x)[from]; break;
    case 2: ((uint16_t *)x)[to] = ((uint16_t *)x)[from]; break;
    case 4: ((uint32_t *)x)[to] = ((uint32_t *)x)[from]; break;
    default: memmove((char *)x + (size_t)to * size, (char *)x + (size_t)from * size, size);
    }
}

/* Takes what the mask hides out of the row that begins at `start`. */
static void sieve(tsr_sg_thread *t, const tsr_sg_job *job, int64_t row, int64_t start)
{
    const int64_t at = row * job->m_ld, end = t->used;
    const size_t size = job->valued ? job->size : 0;
    int64_t kept = start;
    for (int64_t q = start; q < end; q++) {
        const int64_t j = t->i[q];
        const bool passes = (!job->m_b || job->m_b[at + j]) && tsr_sg_mask_is_true(job, at + j);
        t->i[kept] = j;
        move_value(t->x, size, kept, q);
        kept += passes != job->complement;
    }
    t->used = kept;
}

/* Notes say where entries were before the sieve: they are forgotten, and the row is sorted like one without. */
static bool compute_sieved(tsr_sg_thread *t, const tsr_spgemm_work *w, int64_t v, way *how)
{
    const int64_t start = t->used;
    if (!compute_free(t, w, v, how))
        return false;
    if (*how == DENSE) {
        for (int64_t q = start; q < t->used; q++)
            t->place[t->i[q]] = 0;
        *how = HASH;
    }
    sieve(t, &w->job, row_of(&w->job, v), start);
    return true;
}

/* ---- one row ---- */

bool tsr_sg_compute_row(tsr_sg_thread *t, const tsr_spgemm_work *w, int64_t v)
{
    const tsr_sg_job *job = &w->job;
    way how = WINDOW;
    if (products_of(w, v) == 0)
        return true;
    if (!tsr_sg_room(t, w, most_of(w, v)))
        return false;
    const int64_t start = t->used;
    const bool ok = job->masked ? compute_masked(t, w, v, &how) : job->sieved ? compute_sieved(t, w, v, &how) : compute_free(t, w, v, &how);
    return ok && (how == WINDOW || !w->product.sorted || tsr_sg_sort(t, job->valued ? job->size : 0, start, how == DENSE ? job->n : 0));
}
