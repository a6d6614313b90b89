/* Selection by place: indices of a vector ascend, so what stays of it is what lies before a bound, behind it, at it, or all but that.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/selection/select_places.h"

#include "kernels/cpu/common/chunks.h"
#include "kernels/cpu/selection/copy.h"
#include "src/base/split.h"
#include "src/base/types.h"

enum { VECTORS_AT_ONCE = 4096, PARTS_PER_THREAD = 8 };

typedef struct picking {
    const tsr_selection *s;
    int64_t *counts;  /* p of the result, written: counts at [v + 1] */
    const int64_t *p; /* ... read */
    int64_t *i;
    char *x;
    int nparts;
} picking;

/* What stays of a vector: its entries [first, last), and with NE those of all that are not among them. */
typedef struct stretch {
    int64_t first, last;
} stretch;

/* What  k <keep> bound  is to be, for  by_place k + c <keep> 0. */
static tsr_ewise_op turned(tsr_ewise_op keep)
{
    switch (keep) {
    case TSR_EWISE_GT: return TSR_EWISE_LT;
    case TSR_EWISE_GE: return TSR_EWISE_LE;
    case TSR_EWISE_LT: return TSR_EWISE_GT;
    case TSR_EWISE_LE: return TSR_EWISE_GE;
    default: return keep;
    }
}

static bool holds(tsr_ewise_op keep, int64_t value)
{
    switch (keep) {
    case TSR_EWISE_EQ: return value == 0;
    case TSR_EWISE_NE: return value != 0;
    case TSR_EWISE_GT: return value > 0;
    case TSR_EWISE_GE: return value >= 0;
    case TSR_EWISE_LT: return value < 0;
    default: return value <= 0;
    }
}

/* First entry of [first, last) with an index of at least bound; without a branch that nobody can tell. */
static int64_t first_at_least(const int64_t *i, int64_t first, int64_t last, int64_t bound)
{
    int64_t at = first, n = last - first;
    for (; n > 1; n -= n / 2)
        at += i[at + n / 2 - 1] < bound ? n / 2 : 0;
    return at + (n == 1 && i[at] < bound);
}

static stretch find(const tsr_selection *s, int64_t v)
{
    const tsr_view *a = &s->a;
    const int64_t first = a->p[v], last = a->p[v + 1], c = s->by_vector * (a->h ? a->h[v] : v) + s->offset;
    if (s->by_place == 0) {
        const bool stays = holds(s->keep, c) != (s->keep == TSR_EWISE_NE);
        return (stretch){first, stays ? last : first};
    }
    const int64_t bound = s->by_place > 0 ? -c : c, *i = a->i;
    switch (s->by_place > 0 ? s->keep : turned(s->keep)) {
    case TSR_EWISE_LT: return (stretch){first, first_at_least(i, first, last, bound)};
    case TSR_EWISE_LE: return (stretch){first, first_at_least(i, first, last, bound + 1)};
    case TSR_EWISE_GE: return (stretch){first_at_least(i, first, last, bound), last};
    case TSR_EWISE_GT: return (stretch){first_at_least(i, first, last, bound + 1), last};
    default: break;
    }
    const int64_t at = first_at_least(i, first, last, bound);
    return (stretch){at, at + (at < last && i[at] == bound)};
}

static void count_vectors(void *context, int64_t first, int64_t last)
{
    const picking *w = context;
    const int64_t *p = w->s->a.p;
    for (int64_t v = first; v < last; v++) {
        const stretch kept = find(w->s, v);
        w->counts[v + 1] = w->s->keep == TSR_EWISE_NE ? p[v + 1] - p[v] - (kept.last - kept.first) : kept.last - kept.first;
    }
}

static void copy(const picking *w, int64_t to, int64_t first, int64_t last)
{
    const tsr_view *a = &w->s->a;
    const size_t size = tsr_type_size(a->type);
    tsr_copy_indices(w->i + to, (const int64_t *)a->i + first, last - first);
    if (w->x)
        tsr_copy_values(w->x + (size_t)to * size, (const char *)a->x + (size_t)first * size, last - first, size);
}

static void fill_vector(const picking *w, int64_t v, tsr_ewise_op keep)
{
    const int64_t *p = w->s->a.p, to = w->p[v], count = w->p[v + 1] - to;
    if (keep == TSR_EWISE_LT || keep == TSR_EWISE_LE) {
        copy(w, to, p[v], p[v] + count);
    } else if (keep == TSR_EWISE_GT || keep == TSR_EWISE_GE) {
        copy(w, to, p[v + 1] - count, p[v + 1]);
    } else {
        const stretch found = find(w->s, v);
        const bool all_but = keep == TSR_EWISE_NE;
        copy(w, to, all_but ? p[v] : found.first, all_but ? found.first : found.last);
        copy(w, to + found.first - p[v], found.last, all_but ? p[v + 1] : found.last);
    }
}

static void fill_part(void *context, int64_t part)
{
    const picking *w = context;
    const tsr_view *a = &w->s->a;
    const int64_t last = tsr_part_vector(a->p, a->nvec, (int)part + 1, w->nparts);
    const tsr_ewise_op keep = w->s->by_place < 0 ? turned(w->s->keep) : w->s->keep;
    for (int64_t v = tsr_part_vector(a->p, a->nvec, (int)part, w->nparts); v < last; v++)
        fill_vector(w, v, keep);
}

void tsr_select_places_count(const tsr_selection *s, int64_t *p, int nthreads)
{
    picking w = {.s = s, .counts = p};
    tsr_for_ranges(s->a.nvec, VECTORS_AT_ONCE, nthreads, count_vectors, &w);
}

void tsr_select_places_fill(const tsr_selection *s, const int64_t *p, int64_t *i, void *x, int nthreads)
{
    picking w = {.s = s, .p = p, .i = i, .x = x, .nparts = nthreads > 1 ? nthreads * PARTS_PER_THREAD : 1};
    tsr_for_jobs(w.nparts, nthreads, fill_part, &w);
}
