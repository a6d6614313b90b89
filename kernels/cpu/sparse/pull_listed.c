/* One sparse vector times the rows of a matrix (pull): its entries are marked, and every row that the mask lets pass is walked over for marked
 * ones.  Most entries are not, so that nothing else is asked of them: where any product will do eight at a time, up to the first one; where
 * they are added up without a branch, the marked ones listed.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/common/chunks.h"
#include "kernels/cpu/common/scratch.h"
#include "kernels/cpu/sparse/gate.h"
#include "kernels/cpu/sparse/open.h"
#include "kernels/cpu/sparse/products.h"
#include "src/base/split.h"

/* As a macro, bool would be expanded before it is pasted into a name. */
#undef bool
typedef _Bool bool;

enum {
    PART_WORK = 65536,     /* entries and rows for which another thread is worth its start */
    PARTS_PER_THREAD = 8,
    ASKED = 8,             /* entries of a row asked together */
    HELD = 1024            /* marked entries listed before they are added */
};

/* Results of `type` that end a list, entry by entry of equal places, which follow each other. */
typedef int64_t fold_function(int64_t *i, void *x, int64_t count, const int64_t *j, const void *z, int64_t n);

/* The call.  Part r of the rows lists its results where it begins. */
typedef struct pulling {
    const tsr_push *p;
    tsr_scratch *s;
    uint8_t mark;           /* of places where u has an entry; s->sums says which one */
    const int64_t *rows;    /* a plain sparse mask's; NULL: all rows … */
    const uint8_t *open;    /* … that this is not 0 of; NULL: all */
    int64_t first, count;   /* of rows */
    fold_function *fold;    /* NULL: any product will do */
    int64_t *ends;          /* of the list of each part */
    int parts;
} pulling;

/* What one part works with: its lists. */
typedef struct lists {
    const pulling *w;
    int64_t *i, *from, *at, count;
    char *x;
    int64_t held, of_row[HELD], of_a[HELD], of_u[HELD]; /* marked entries: rows, entries of A, of u */
} lists;

/* ---- sums ---- */

#define FOLD(name, type, sum)                                                                                                     \
    static int64_t fold_##name##_##type(int64_t *i, void *results, int64_t count, const int64_t *j, const void *products, int64_t n) \
    {                                                                                                                             \
        tsr_c_##type *restrict s = results;                                                                                       \
        const tsr_c_##type *restrict z = products;                                                                                \
        for (int64_t e = 0; e < n; e++) {                                                                                         \
            if (count > 0 && i[count - 1] == j[e]) {                                                                              \
                const tsr_c_##type x = s[count - 1], y = z[e];                                                                    \
                s[count - 1] = (tsr_c_##type)(sum);                                                                               \
            } else {                                                                                                              \
                s[count] = z[e];                                                                                                  \
                i[count++] = j[e];                                                                                                \
            }                                                                                                                     \
        }                                                                                                                         \
        return count;                                                                                                             \
    }
TSR_FOR_MONOIDS(FOLD)
#define FOLD_OF(name, type) fold_##name##_##type

static fold_function *find_fold(const tsr_push_semiring *s)
{
    TSR_RETURN_OF_MONOID(s->result, s->add, FOLD_OF)
    return NULL;
}

/* ---- rows ---- */

static inline __attribute__((always_inline)) int64_t row_at(const pulling *w, int64_t t)
{
    return w->rows ? w->rows[t] : t;
}

/* Row t may have results. */
static inline __attribute__((always_inline)) bool passes(const pulling *w, int64_t t)
{
    if (w->rows)
        return !tsr_mask_has_values(w->p) || tsr_is_true(w->p->mask, t);
    return !w->open || w->open[t];
}

/* The first marked entry of [e, stop), or stop. */
static inline __attribute__((always_inline)) int64_t first_marked(const pulling *w, int64_t e, int64_t stop, const bool narrow)
{
    const void *restrict k = w->p->a.i;
    const uint8_t *restrict marks = w->s->marks, mark = w->mark;
    for (; e + ASKED <= stop; e += ASKED) {
        unsigned found = 0;
        for (int64_t q = 0; q < ASKED; q++)
            found |= marks[tsr_push_at(k, e + q, narrow)] == mark;
        if (found)
            break;
    }
    while (e < stop && marks[tsr_push_at(k, e, narrow)] != mark)
        e++;
    return e;
}

static inline __attribute__((always_inline)) void find_in(lists *l, int64_t first, int64_t last, const bool narrow)
{
    const pulling *w = l->w;
    const tsr_push *p = w->p;
    const int64_t *entry_of_u = w->s->sums;
    for (int64_t t = first; t < last; t++) {
        const int64_t j = row_at(w, t), stop = tsr_push_at(p->starts, j + 1, narrow);
        const int64_t e = passes(w, t) ? first_marked(w, tsr_push_at(p->starts, j, narrow), stop, narrow) : stop;
        if (e == stop)
            continue;
        l->i[l->count] = j;
        l->at[l->count] = e;
        l->from[l->count++] = entry_of_u[tsr_push_at(p->a.i, e, narrow)];
    }
}

static void find_first(lists *l, int64_t first, int64_t last)
{
    const tsr_push *p = l->w->p;
    if (tsr_push_is_narrow(p))
        find_in(l, first, last, true);
    else
        find_in(l, first, last, false);
    if (!p->pattern)
        tsr_products_list(l->x, p, 0, l->i, l->from, l->at, l->count);
}

static void add_held(lists *l)
{
    const pulling *w = l->w;
    const tsr_push *p = w->p;
    const int64_t *entry_of_u = w->s->sums;
    uint64_t products[HELD];
    for (int64_t h = 0; h < l->held; h++)
        l->of_u[h] = entry_of_u[tsr_push_at(p->a.i, l->of_a[h], tsr_push_is_narrow(p))];
    tsr_products_list(products, p, 0, l->of_row, l->of_u, l->of_a, l->held);
    l->count = w->fold(l->i, l->x, l->count, l->of_row, products, l->held);
    l->held = 0;
}

static inline __attribute__((always_inline)) void hold_in(lists *l, int64_t first, int64_t last, const bool narrow)
{
    const pulling *w = l->w;
    const tsr_push *p = w->p;
    const void *restrict k = p->a.i;
    const uint8_t *restrict marks = w->s->marks, mark = w->mark;
    for (int64_t t = first; t < last; t++) {
        const int64_t j = row_at(w, t), stop = tsr_push_at(p->starts, j + 1, narrow);
        for (int64_t e = passes(w, t) ? tsr_push_at(p->starts, j, narrow) : stop; e < stop;) {
            const int64_t room = HELD - 1 - l->held, end = stop - e < room ? stop : e + room;
            int64_t held = l->held;
            for (; e < end; e++) {
                l->of_row[held] = j;
                l->of_a[held] = e;
                held += marks[tsr_push_at(k, e, narrow)] == mark;
            }
            l->held = held;
            if (held > HELD / 2)
                add_held(l);
        }
    }
    add_held(l);
}

static void sum_marked(lists *l, int64_t first, int64_t last)
{
    if (tsr_push_is_narrow(l->w->p))
        hold_in(l, first, last, true);
    else
        hold_in(l, first, last, false);
}

/* ---- parts ---- */

static size_t value_size(const pulling *w)
{
    return tsr_type_size(w->p->semiring.result);
}

/* Parts have about as many entries of A each; those of a mask's rows, about as many rows. */
static int64_t part_begin(const pulling *w, int64_t part)
{
    const tsr_push *p = w->p;
    if (w->rows)
        return w->first + tsr_part_begin(w->count, (int)part, w->parts);
    return tsr_part_vector_of((tsr_offsets){p->starts, tsr_push_is_narrow(p)}, w->count, (int)part, w->parts);
}

static void work(void *context, int64_t part)
{
    pulling *w = context;
    const int64_t first = part_begin(w, part), last = part_begin(w, part + 1), at = first - w->first;
    lists l = {.w = w, .i = w->s->i + at, .from = w->s->from + at, .at = w->s->at + at, .x = (char *)w->s->x + (size_t)at * value_size(w)};
    if (w->fold)
        sum_marked(&l, first, last);
    else
        find_first(&l, first, last);
    w->ends[part] = l.count;
}

/* The lists of all parts, one behind the other. */
static tsr_few_vector join(const pulling *w)
{
    const size_t size = value_size(w);
    char *x = w->s->x;
    int64_t count = 0;
    for (int part = 0; part < w->parts; part++) {
        const int64_t from = part_begin(w, part) - w->first, n = w->ends[part];
        if (from != count) {
            memmove(w->s->i + count, w->s->i + from, (size_t)n * sizeof *w->s->i);
            memmove(x + (size_t)count * size, x + (size_t)from * size, w->p->pattern ? 0 : (size_t)n * size);
        }
        count += n;
    }
    return (tsr_few_vector){.i = w->s->i, .x = w->p->pattern ? NULL : x, .count = count, .sorted = !w->rows || !w->p->mask->jumbled};
}

/* ---- the call ---- */

static bool takes(const tsr_push *p)
{
    const bool mask = !p->mask || p->mask->format != TSR_HYPERSPARSE;
    return p->u.nvec == 1 && p->u.format == TSR_SPARSE && p->u.index_size == 8 && p->a.format == TSR_SPARSE && mask &&
           (p->pattern || p->semiring.add == TSR_REDUCE_ANY || find_fold(&p->semiring));
}

static bool open_rows(pulling *w)
{
    const tsr_push *p = w->p;
    w->count = p->a.nvec;
    if (p->mask && tsr_is_listed(p) && !p->mask_complement) {
        w->rows = p->mask->i;
        w->first = p->mask->p[0];
        w->count = p->mask->p[1] - w->first;
    } else if (p->mask) {
        uint8_t *open = tsr_scratch_block(p->a.nvec);
        w->open = open;
        if (!open)
            return false;
        tsr_open_places(open, p, p->a.nvec);
    }
    return true;
}

static bool mark_entries(pulling *w)
{
    const tsr_push *p = w->p;
    const int64_t *k = p->u.i;
    w->s = tsr_scratch_get(p->a.vlen, w->count + 1);
    if (!w->s)
        return false;
    w->mark = tsr_scratch_generation(w->s, 1);
    int64_t *entry_of_u = w->s->sums;
    for (int64_t t = p->u.p[0]; t < p->u.p[1]; t++) {
        w->s->marks[k[t]] = w->mark;
        entry_of_u[k[t]] = t;
    }
    return true;
}

tsr_status tsr_cpu_pull_listed(const tsr_push *p, int64_t entries, tsr_few *result)
{
    tsr_few_begin(result, 1);
    if (!takes(p))
        return TSR_DECLINED;
    pulling w = {.p = p, .fold = p->pattern || p->semiring.add == TSR_REDUCE_ANY ? NULL : find_fold(&p->semiring)};
    if (!open_rows(&w) || !mark_entries(&w))
        return TSR_OUT_OF_MEMORY;
    const int threads = tsr_parts(entries + w.count, PART_WORK, p->nthreads);
    w.parts = threads == 1 ? 1 : threads * PARTS_PER_THREAD;
    w.ends = calloc((size_t)w.parts, sizeof *w.ends);
    if (!w.ends)
        return TSR_OUT_OF_MEMORY;
    tsr_for_jobs(w.parts, threads, work, &w);
    result->vectors[0] = join(&w);
    free(w.ends);
    result->nvals = result->vectors[0].count;
    result->sorted = result->vectors[0].sorted || result->nvals < 2;
    result->vectors[0].sorted = result->sorted;
    return TSR_OK;
}
