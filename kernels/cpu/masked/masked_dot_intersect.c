/* Two vectors meet in one result of the masked dot product.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/masked/masked_dot_intersect.h"

#include <string.h>

#define TRIM_LEAST 64

void tsr_md_intersection_begin(tsr_md_intersection *intersection, const tsr_md_job *job)
{
    intersection->job = job;
    intersection->waiting_lists = 0;
    intersection->waiting_hits = 0;
    if (job->kind != TSR_MD_FOLD)
        return;
    intersection->walked_a = tsr_md_fold_of(job->semiring, true);
    intersection->walked_b = tsr_md_fold_of(job->semiring, false);
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

/* ---- layouts ---- */

#define SCATTER(T)                                                                   \
    {                                                                                \
        T *out = (T *)dense;                                                         \
        const T *in = list.of->x;                                                    \
        for (int64_t e = list.begin; e < list.end; e++)                              \
            out[tsr_md_index(list.of->i, list.of->wide, e)] = in[e];                 \
        break;                                                                       \
    }

static void scatter(void *dense, tsr_md_list list, size_t size)
{
    switch (size) {
    case 1: SCATTER(uint8_t)
    case 2: SCATTER(uint16_t)
    case 4: SCATTER(uint32_t)
    default: SCATTER(uint64_t)
    }
}

static void set_marks(uint8_t *mark, tsr_md_list list, uint8_t value)
{
    for (int64_t e = list.begin; e < list.end; e++)
        mark[tsr_md_index(list.of->i, list.of->wide, e)] = value;
}

void tsr_md_lay_out(const tsr_md_job *job, tsr_md_layout *layout, tsr_md_list list)
{
    set_marks(layout->mark, list, 1);
    if (job->kind == TSR_MD_FOLD && list.of->x && !list.of->iso)
        scatter(layout->dense, list, job->size);
}

void tsr_md_clear(tsr_md_layout *layout, tsr_md_list list)
{
    set_marks(layout->mark, list, 0);
}

void tsr_md_set_laid(tsr_md_layout *layout, tsr_md_list list)
{
    const tsr_md_vectors *v = list.of;
    layout->laid = list;
    if (v->sorted && tsr_md_length(list) > 0) {
        layout->low = tsr_md_index(v->i, v->wide, list.begin);
        layout->high = tsr_md_index(v->i, v->wide, list.end - 1);
        return;
    }
    layout->low = 0;
    layout->high = INT64_MAX;
}

/* ---- meetings ---- */

/* Hits of walked entries from `base` on into result e. */
static void fold_hits(const tsr_md_intersection *m, const tsr_md_vectors *walked, int64_t base, const void *other, int64_t other_step, bool first,
                      int64_t hits, int64_t e)
{
    const tsr_md_job *job = m->job;
    int64_t step;
    const void *x = values_at(walked, base, job->size, &step);
    const tsr_md_fold fold = walked == &job->a ? m->walked_a : m->walked_b;
    fold((char *)job->x + (size_t)e * job->size, first, x, step, other, other_step, m->place, m->index, hits);
}

/* As tsr_md_gallop, but from the end: all from there on are >= key. */
static int64_t gallop_back(tsr_md_list list, int64_t key)
{
    const tsr_md_vectors *v = list.of;
    int64_t step = 1;
    while (list.end - step > list.begin && tsr_md_index(v->i, v->wide, list.end - step) >= key)
        step *= 2;
    const int64_t low = list.end - step > list.begin ? list.end - step : list.begin;
    return tsr_md_lower_bound(v->i, v->wide, low, list.end - step / 2, key);
}

/* Entries beyond those that are laid out, which are few at most times, are left out. */
static void trim(tsr_md_list *list, const tsr_md_layout *layout)
{
    const tsr_md_vectors *v = list->of;
    if (tsr_md_index(v->i, v->wide, list->begin) < layout->low)
        list->begin = tsr_md_gallop(v->i, v->wide, list->begin, list->end, layout->low);
    if (list->begin < list->end && tsr_md_index(v->i, v->wide, list->end - 1) > layout->high)
        list->end = gallop_back(*list, layout->high + 1);
}

bool tsr_md_intersect_laid(tsr_md_intersection *m, const tsr_md_layout *layout, tsr_md_list walked, int64_t e)
{
    const tsr_md_job *job = m->job;
    const tsr_md_vectors *w = walked.of;
    int64_t step, count = 0;
    if (w->sorted && tsr_md_length(walked) > TRIM_LEAST)
        trim(&walked, layout);
    const void *other = values_at(layout->laid.of, 0, job->size, &step);
    const bool one = job->kind == TSR_MD_EXISTS || (job->kind == TSR_MD_FOLD && job->semiring.add == TSR_ADD_ANY);
    for (int64_t at = walked.begin; at < walked.end && !(one && count); at += TSR_MD_CHUNK) {
        const int64_t n = walked.end - at < TSR_MD_CHUNK ? walked.end - at : TSR_MD_CHUNK;
        const int64_t hits = tsr_md_find(layout->mark, w->i, w->wide, at, n, m->place, m->index);
        if (hits && job->kind == TSR_MD_FOLD)
            fold_hits(m, w, at, step ? layout->dense : other, step, !count, hits, e);
        count += hits;
    }
    if (count && job->kind != TSR_MD_FOLD)
        tsr_md_finish(job, e, count);
    return count;
}

/* ---- lists whose values are asked for first ---- */

#define SOON_MOST 64 /* entries of a list; in a longer one they ask for each other */

/* Of hits from `first` on: nobody sees them coming. */
static void ask_for_values(const tsr_md_intersection *m, const tsr_md_layout *layout, int64_t base, int64_t first, int64_t hits)
{
    const size_t size = m->job->size;
    int64_t of_laid, of_walked;
    (void)values_at(layout->laid.of, 0, size, &of_laid);
    const char *x = values_at(&m->job->b, base, size, &of_walked);
    for (int64_t t = first; of_laid && t < first + hits; t++)
        __builtin_prefetch(layout->dense + (size_t)m->index[t] * size);
    for (int64_t t = first; of_walked && t < first + hits; t++)
        __builtin_prefetch(x + m->place[t] * size);
}

void tsr_md_finish_waiting(tsr_md_intersection *m, const tsr_md_layout *layout)
{
    const tsr_md_job *job = m->job;
    int64_t laid_step, step;
    const void *laid = values_at(layout->laid.of, 0, job->size, &laid_step);
    for (int k = 0; k < m->waiting_lists; k++) {
        const tsr_md_waiting *w = &m->waiting[k];
        const void *x = values_at(&job->b, w->base, job->size, &step);
        m->walked_b((char *)job->x + (size_t)w->e * job->size, true, x, step, laid_step ? layout->dense : laid, laid_step, m->place + w->first,
                    m->index + w->first, w->hits);
    }
    m->waiting_lists = 0;
    m->waiting_hits = 0;
}

void tsr_md_intersect_soon(tsr_md_intersection *m, const tsr_md_layout *layout, tsr_md_list walked, int64_t e)
{
    const tsr_md_job *job = m->job;
    const tsr_md_vectors *w = walked.of;
    const int64_t n = tsr_md_length(walked), first = m->waiting_hits;
    if (job->kind != TSR_MD_FOLD || job->semiring.add == TSR_ADD_ANY || n > SOON_MOST) {
        tsr_md_finish_waiting(m, layout);
        job->present[e] = tsr_md_intersect_laid(m, layout, walked, e);
        return;
    }
    const int64_t hits = tsr_md_find(layout->mark, w->i, w->wide, walked.begin, n, m->place + first, m->index + first);
    job->present[e] = hits > 0;
    if (!hits)
        return;
    ask_for_values(m, layout, walked.begin, first, hits);
    m->waiting[m->waiting_lists++] = (tsr_md_waiting){.e = e, .base = walked.begin, .first = first, .hits = hits};
    m->waiting_hits += hits;
    if (m->waiting_lists == TSR_MD_WAITING || m->waiting_hits + SOON_MOST > TSR_MD_CHUNK)
        tsr_md_finish_waiting(m, layout);
}

bool tsr_md_intersect_searched(tsr_md_intersection *m, tsr_md_list one, tsr_md_list other, int64_t e)
{
    const tsr_md_job *job = m->job;
    const bool swap = tsr_md_length(other) < tsr_md_length(one), first_ends = job->kind == TSR_MD_EXISTS || job->semiring.add == TSR_ADD_ANY;
    const tsr_md_list few = swap ? other : one, many = swap ? one : other;
    int64_t at = many.begin, base = few.begin, hits = 0, count = 0, step;
    const void *x = values_at(many.of, many.begin, job->size, &step);
    for (int64_t t = few.begin; t < few.end && at < many.end && !(first_ends && count); t++) {
        const int64_t key = tsr_md_index(few.of->i, few.of->wide, t);
        at = tsr_md_gallop(many.of->i, many.of->wide, at, many.end, key);
        if (at == many.end || tsr_md_index(many.of->i, many.of->wide, at) != key)
            continue;
        count++;
        if (job->kind != TSR_MD_FOLD)
            continue;
        if (hits == TSR_MD_CHUNK) {
            fold_hits(m, few.of, base, x, step, count - 1 == hits, hits, e);
            hits = 0;
        }
        if (!hits)
            base = t;
        m->place[hits] = (uint32_t)(t - base);
        m->index[hits++] = at - many.begin;
    }
    if (hits)
        fold_hits(m, few.of, base, x, step, count == hits, hits, e);
    if (count && job->kind != TSR_MD_FOLD)
        tsr_md_finish(job, e, count);
    return count;
}
