/* Few sparse vectors times a matrix, entry by entry of the vectors (push).  The loop over the entries of A has no branch: on a frontier
 * of a graph nobody can tell which neighbours are new.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/sparse/bits.h"
#include "kernels/cpu/sparse/joint.h"
#include "kernels/cpu/sparse/lane.h"
#include "kernels/cpu/sparse/products.h"
#include "kernels/cpu/sparse/take.h"
#include "src/base/split.h"

enum { FEW_ROWS = 1 << 13 };

/* Does it not matter which products a sum has? */
static bool takes_any(const tsr_push *p)
{
    return p->pattern || p->semiring.add == TSR_REDUCE_ANY;
}

/* ---- one vector ---- */

static void begin(tsr_lane *w)
{
    const bool plain = tsr_is_listed(w->p) && !w->p->mask_complement;
    w->gate = tsr_gate_of(w->p, w->r);
    w->listed = plain;
    w->sums = w->p->sums && w->p->u.nvec == 1 ? w->p->sums : w->s->sums;
    w->was = tsr_scratch_generation(w->s, 2);
    w->found = (uint8_t)(w->was + (plain || !takes_any(w->p)));
    if (tsr_is_listed(w->p))
        tsr_mark_true(w->s, w->p->mask, w->r, !tsr_mask_has_values(w->p), w->was); /* open ones of a plain mask, closed ones else */
}

/* What is listed of the first product of a place: nothing else, the entry of U, that of A as well; the index of U's entry as the product, of 32
 * or 64 bits. */
typedef enum first_list { LIST_PLACES, LIST_U, LIST_BOTH, LIST_MIDDLE_32, LIST_MIDDLE_64 } first_list;

/* Any product will do. */
static inline __attribute__((always_inline)) int64_t find_first_in(const tsr_lane *w, const first_list lists, const bool narrow)
{
    const tsr_push *p = w->p;
    const int64_t *restrict k = p->u.i, end = p->u.p[w->r + 1], all = w->gate.all;
    const void *restrict starts = p->starts, *restrict indices = p->a.i;
    const uint8_t *restrict open = w->gate.open, was = w->was, found = w->found;
    uint8_t *restrict marks = w->s->marks;
    const bool differs = !w->listed, closed = w->gate.closed;
    int64_t *restrict i = w->s->i + w->first, *restrict from = w->s->from + w->first, *restrict at = w->s->at + w->first, count = 0;
    int32_t *restrict x32 = (int32_t *)w->s->x + w->first;
    int64_t *restrict x64 = (int64_t *)w->s->x + w->first;
    for (int64_t t = p->u.p[w->r]; t < end; t++) {
        tsr_ask_ahead(p, k, t, end);
        const int64_t stop = tsr_push_at(starts, k[t] + 1, narrow), position = k[t] + p->semiring.offset;
        for (int64_t e = tsr_push_at(starts, k[t], narrow); e < stop; e++) {
            const int64_t j = tsr_push_at(indices, e, narrow);
            const bool fresh = ((marks[j] == was) != differs) & ((open[j & all] != 0) != closed);
            marks[j] = found;
            i[count] = j;
            if (lists == LIST_U || lists == LIST_BOTH)
                from[count] = t;
            if (lists == LIST_BOTH)
                at[count] = e;
            if (lists == LIST_MIDDLE_32)
                x32[count] = (int32_t)position;
            if (lists == LIST_MIDDLE_64)
                x64[count] = position;
            count += fresh;
        }
    }
    return count;
}

static inline __attribute__((always_inline)) int64_t find_first(const tsr_lane *w, const first_list lists)
{
    return tsr_push_is_narrow(w->p) ? find_first_in(w, lists, true) : find_first_in(w, lists, false);
}

static int64_t find_places(const tsr_lane *w) { return find_first(w, LIST_PLACES); }
static int64_t find_from(const tsr_lane *w) { return find_first(w, LIST_U); }
static int64_t find_both(const tsr_lane *w) { return find_first(w, LIST_BOTH); }
static int64_t find_middle_32(const tsr_lane *w) { return find_first(w, LIST_MIDDLE_32); }
static int64_t find_middle_64(const tsr_lane *w) { return find_first(w, LIST_MIDDLE_64); }

/* ---- the entries of the result ---- */

/* The mask's values say what stays. */
static int64_t filter(const tsr_lane *w, int64_t count)
{
    const tsr_view *m = w->p->mask;
    const int64_t start = w->r * m->ld;
    int64_t *i = w->s->i + w->first, *from = w->s->from + w->first, *at = w->s->at + w->first, kept = 0;
    for (int64_t t = 0; t < count; t++) {
        const int64_t place = start + i[t];
        const bool open = (!m->b || m->b[place]) && tsr_is_true(m, place);
        i[kept] = i[t];
        from[kept] = from[t];
        at[kept] = at[t];
        kept += open != w->p->mask_complement;
    }
    return kept;
}

static void *values_at(const tsr_lane *w)
{
    return (char *)w->s->x + (size_t)w->first * tsr_type_size(w->p->semiring.result);
}

/* Products are indices of U's entries. */
static int64_t push_middle(const tsr_lane *w)
{
    return w->p->semiring.result == TSR_INT32 ? find_middle_32(w) : find_middle_64(w);
}

static int64_t push_any(const tsr_lane *w, bool *ascending)
{
    const tsr_push_semiring *s = &w->p->semiring;
    const bool values = !w->p->pattern && s->factor == TSR_FACTOR_VALUES, middle = !w->p->pattern && s->factor == TSR_FACTOR_MIDDLE;
    const bool both = values && tsr_push_reads_a(s), later = w->gate.later;
    if (middle && !later)
        return push_middle(w);
    int64_t count = both ? find_both(w) : values || middle ? find_from(w) : find_places(w);
    if (later)
        count = filter(w, count);
    *ascending = w->p->pattern && tsr_lane_order(w, count);
    if (!w->p->pattern)
        tsr_products_list(values_at(w), w->p, w->r, w->s->i + w->first, w->s->from + w->first, w->s->at + w->first, count);
    return count;
}

/* Sums of many places are values as they lie there, unless a further vector needs them. */
static void push_sums(const tsr_lane *w, tsr_few_vector *v)
{
    v->count = tsr_lane_sum(w, &v->sorted);
    if (w->gate.later)
        v->count = filter(w, v->count);
    v->by_place = tsr_lane_has_many(w, v->count);
    if (v->by_place)
        v->x = w->sums;
    else
        tsr_take(values_at(w), w->sums, w->s->i + w->first, v->count, tsr_type_size(w->p->semiring.result));
}

static tsr_few_vector compute(tsr_lane *w)
{
    const tsr_push *p = w->p;
    begin(w);
    tsr_few_vector v = {.x = p->pattern ? NULL : values_at(w)};
    if (takes_any(p))
        v.count = push_any(w, &v.sorted);
    else
        push_sums(w, &v);
    v.sorted |= v.count < 2;
    v.i = w->s->i + w->first;
    return v;
}

/* ---- all vectors ---- */

static int64_t entries_of_mask(const tsr_push *p, int64_t r)
{
    return tsr_is_listed(p) ? p->mask->p[r + 1] - p->mask->p[r] : 0;
}

/* The most that one vector writes to the lists. */
static int64_t room(const tsr_push *p, int64_t r, int64_t work)
{
    const int64_t most = work < p->a.vlen ? work : p->a.vlen, listed = entries_of_mask(p, r);
    return (most > listed ? most : listed) + 1;
}

static tsr_status push_one_by_one(const tsr_push *p, int64_t work, tsr_few *result)
{
    tsr_lane w = {.p = p};
    for (int64_t r = 0; r < p->u.nvec; r++) {
        w.r = r;
        w.s = r == 0 ? tsr_scratch_get(p->a.vlen, room(p, r, work)) : w.s;
        if (!w.s || !tsr_scratch_grow(w.s, w.first + room(p, r, work)))
            return TSR_OUT_OF_MEMORY;
        result->vectors[r] = compute(&w);
        w.first += result->vectors[r].count;
    }
    /* the lists may have moved */
    int64_t first = 0;
    for (int64_t r = 0; r < p->u.nvec; r++) {
        tsr_few_vector *v = &result->vectors[r];
        v->i = w.s->i + first;
        if (v->x && !v->by_place)
            v->x = (char *)w.s->x + (size_t)first * tsr_type_size(p->semiring.result);
        first += v->count;
    }
    return TSR_OK;
}

/* Another thread's lists are its own. */
static bool own(tsr_few_vector *v, size_t size)
{
    const size_t indices = (size_t)v->count * sizeof *v->i, values = v->x ? (size_t)v->count * size : 0;
    char *block = malloc(indices + values + 1);
    if (!block)
        return false;
    memcpy(block, v->i, indices);
    if (v->x)
        v->x = memcpy(block + indices, v->x, values);
    v->i = (const int64_t *)block;
    v->owned = block;
    return true;
}

static tsr_status push_at_once(const tsr_push *p, int64_t work, tsr_few *result)
{
    const size_t size = tsr_type_size(p->semiring.result);
    const int nthreads = p->nthreads < p->u.nvec ? p->nthreads : (int)p->u.nvec;
    bool failed = false;
#pragma omp parallel for num_threads(tsr_team(nthreads)) schedule(dynamic, 1) reduction(|| : failed)
    for (int64_t r = 0; r < p->u.nvec; r++) {
        tsr_lane w = {.p = p, .s = tsr_scratch_get(p->a.vlen, room(p, r, work)), .r = r};
        if (w.s)
            result->vectors[r] = compute(&w);
        failed = failed || !w.s || !own(&result->vectors[r], size);
    }
    if (failed)
        tsr_few_release(result);
    return failed ? TSR_OUT_OF_MEMORY : TSR_OK;
}

/* Of a dense u: as if its entries were spread evenly over A's rows. */
static int64_t mean_work(const tsr_push *p)
{
    return (int64_t)((double)p->u.nvals * (double)p->a.nvals / (double)p->a.nvec);
}

/* Of few rows the first entries are asked for already: all these lines are in the second cache when the push begins. */
int64_t tsr_push_work(const tsr_push *p, int64_t most)
{
    if (!tsr_is_compressed(&p->u))
        return mean_work(p);
    const int64_t *k = p->u.i, end = p->u.p[p->u.nvec];
    const bool few = end - p->u.p[0] <= FEW_ROWS;
    int64_t work = 0;
    for (int64_t t = p->u.p[0]; t < end && work <= most; t++) {
        __builtin_prefetch((const char *)p->starts + k[t + 2 * TSR_AHEAD < end ? t + 2 * TSR_AHEAD : t] * p->a.index_size);
        const int64_t start = tsr_push_start(p, k[t]);
        if (few)
            __builtin_prefetch((const char *)p->a.i + start * p->a.index_size);
        work += tsr_push_start(p, k[t] + 1) - start;
    }
    return work;
}

static bool takes(const tsr_push *p)
{
    const tsr_push_semiring *s = &p->semiring;
    const bool mask = !p->mask || p->mask->format != TSR_HYPERSPARSE;
    return p->u.format == TSR_SPARSE && p->a.format == TSR_SPARSE && p->u.index_size == 8 && mask &&
           p->u.nvec <= TSR_FEW && (takes_any(p) || tsr_lane_has_sums(s));
}

tsr_status tsr_cpu_push(const tsr_push *p, int64_t work, tsr_few *result)
{
    tsr_few_begin(result, p->u.nvec);
    const bool bits = tsr_push_has_bits(p, work);
    if (!bits && !takes(p))
        return TSR_DECLINED;
    const bool joint = tsr_push_is_joint(p, work), parallel = p->nthreads > 1 && p->u.nvec > 1 && work >= TSR_THREAD_WORK;
    const tsr_status status = bits ? tsr_push_bits(p, result) : joint ? tsr_push_joint(p, work, result) : parallel ? push_at_once(p, work, result) : push_one_by_one(p, work, result);
    for (int64_t r = 0; status == TSR_OK && r < result->nvec; r++) {
        result->nvals += result->vectors[r].count;
        result->sorted &= result->vectors[r].sorted;
    }
    return status;
}
