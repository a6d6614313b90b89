/* The last part of an operation on few sparse vectors: what T and C become together.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernels/cpu/elementwise/ewise_loops.h"
#include "kernels/cpu/sparse/gate.h"
#include "kernels/cpu/common/scratch.h"
#include "kernels/cpu/sparse/take.h"

enum { SOME = 256 };

static const tsr_ewise_table *table(void)
{
    return TSR_PICK_ISA(&tsr_ewise_table);
}

/* ---- C bitmap or full ---- */

static int64_t true_entries(const tsr_few_step *s, int64_t r)
{
    const tsr_view *m = &s->mask;
    int64_t count = 0;
    if (s->step.mask_structural)
        return m->p[r + 1] - m->p[r];
    for (int64_t t = m->p[r]; t < m->p[r + 1]; t++)
        count += tsr_is_true(m, t);
    return count;
}

/* Has T all entries that the mask lets pass?  Then nothing of C leaves. */
static bool covers(const tsr_few_step *s, const tsr_few *t)
{
    bool all = true;
    for (int64_t r = 0; all && r < s->nvec; r++)
        all = t->vectors[r].count == true_entries(s, r);
    return all;
}

/* Returns how many leave. */
static int64_t clear_masked(const tsr_few_step *s, int64_t r, int8_t *b)
{
    const tsr_view *m = &s->mask;
    const int64_t *i = m->i;
    int64_t left = 0;
    for (int64_t t = m->p[r]; t < m->p[r + 1]; t++) {
        const bool leaves = s->step.mask_structural || tsr_is_true(m, t);
        left += leaves & (b[i[t]] != 0);
        b[i[t]] = (int8_t)(leaves ? 0 : b[i[t]]);
    }
    return left;
}

static void accumulate(const tsr_few_step *s, const tsr_few_vector *v, const int8_t *b, void *x)
{
    const size_t size = tsr_type_size(s->step.result);
    uint64_t old[SOME], sum[SOME];
    uint8_t present[SOME];
    for (int64_t first = 0; first < v->count; first += SOME) {
        const int64_t n = v->count - first < SOME ? v->count - first : SOME, *i = v->i + first;
        const void *t = (const char *)v->x + (size_t)first * size;
        tsr_take(old, x, i, n, size);
        const void *z = table()->operate(s->step.accum, s->step.result, old, t, sum, n);
        if (b) {
            tsr_take(present, b, i, n, 1);
            table()->pick(size, sum, present, z, t, n);
            z = sum;
        }
        tsr_put(x, z, i, n, size);
    }
}

static int64_t set_present(const tsr_few_vector *v, int8_t *b)
{
    int64_t more = 0;
    for (int64_t t = 0; t < v->count; t++) {
        more += b[v->i[t]] == 0;
        b[v->i[t]] = 1;
    }
    return more;
}

bool tsr_cpu_few_scatter(const tsr_few_step *s, const tsr_few *t, int8_t *b, void *x, int64_t *more)
{
    const size_t size = tsr_type_size(s->step.result);
    const bool leave = s->has_mask && !s->step.accumulates && !covers(s, t);
    *more = 0;
    if (leave && !b)
        return false;
    for (int64_t r = 0; r < s->nvec; r++) {
        const tsr_few_vector *v = &t->vectors[r];
        const int64_t start = r * s->vlen;
        int8_t *const present = b ? b + start : NULL;
        char *const values = (char *)x + (size_t)start * size;
        if (leave)
            *more -= clear_masked(s, r, present);
        if (s->step.accumulates)
            accumulate(s, v, present, values);
        else
            tsr_put(values, v->x, v->i, v->count, size);
        if (b)
            *more += set_present(v, present);
    }
    return true;
}

/* ---- C sparse ---- */

/* Lists of C's entries that stay, behind those of T. */
typedef struct merger {
    const tsr_few_step *s;
    tsr_scratch *w;
    size_t size;
    int64_t r, count; /* of the result of this vector so far */
    int64_t *i;
    char *x;          /* NULL: a pattern */
} merger;

static bool stays(const tsr_few_step *s, bool open)
{
    return s->step.accumulates ? open || !s->step.replace : !open && !s->step.replace;
}

/* Without a mask nothing of C stays, unless T is accumulated. */
static void keep_old(merger *g)
{
    const tsr_few_step *s = g->s;
    const tsr_view *c = &s->c, *m = &s->mask;
    const bool listed = s->has_mask && tsr_is_compressed(m), complement = s->step.mask_complement;
    const uint8_t mark = tsr_scratch_generation(g->w, 1);
    const uint8_t *marks = g->w->marks;
    const int64_t *at = c->i, start = s->has_mask ? g->r * m->ld : 0;
    int64_t *of_c = g->w->from;
    if (listed)
        tsr_mark_true(g->w, m, g->r, s->step.mask_structural, mark);
    g->count = 0;
    for (int64_t t = c->p[g->r]; t < c->p[g->r + 1]; t++) {
        const int64_t j = at[t];
        const bool passes = listed ? marks[j] == mark
                          : s->has_mask ? (!m->b || m->b[start + j]) && (s->step.mask_structural || tsr_is_true(m, start + j)) : true;
        g->i[g->count] = j;
        of_c[g->count] = t;
        g->count += stays(s, passes != complement);
    }
    if (g->x && c->iso)
        tsr_repeat(g->x, c->x, g->count, g->size);
    else if (g->x)
        tsr_take(g->x, c->x, of_c, g->count, g->size);
}

/* Both lists ascend, and so does the result. */
static void append_sorted(merger *g, const tsr_few_vector *t)
{
    const size_t size = g->size;
    int64_t old = g->count - 1, new = t->count - 1;
    for (int64_t to = g->count + t->count - 1; new >= 0; to--) {
        const bool takes_old = old >= 0 && g->i[old] > t->i[new];
        g->i[to] = takes_old ? g->i[old] : t->i[new];
        if (g->x)
            memcpy(g->x + (size_t)to * size, takes_old ? g->x + (size_t)old * size : (const char *)t->x + (size_t)new * size, size);
        old -= takes_old;
        new -= !takes_old;
    }
    g->count += t->count;
}

static void append(merger *g, const tsr_few_vector *t)
{
    if (t->sorted && !g->s->c.jumbled) {
        append_sorted(g, t);
        return;
    }
    memcpy(g->i + g->count, t->i, (size_t)t->count * sizeof *t->i);
    if (g->x)
        memcpy(g->x + (size_t)g->count * g->size, t->x, (size_t)t->count * g->size);
    g->count += t->count;
}

/* Entries of T that meet one of C join it. */
static void join(merger *g, const tsr_few_vector *t)
{
    const uint8_t mark = tsr_scratch_generation(g->w, 1);
    uint8_t *marks = g->w->marks;
    int64_t *position = g->w->sums;
    uint64_t z[1];
    for (int64_t e = 0; e < g->count; e++) {
        marks[g->i[e]] = mark;
        position[g->i[e]] = e;
    }
    for (int64_t e = 0; e < t->count; e++) {
        const int64_t j = t->i[e];
        const bool meets = marks[j] == mark;
        const int64_t at = meets ? position[j] : g->count++;
        g->i[at] = j;
        if (!g->x)
            continue;
        const void *value = (const char *)t->x + (size_t)e * g->size;
        char *place = g->x + (size_t)at * g->size;
        memcpy(place, meets ? table()->operate(g->s->step.accum, g->s->step.result, place, value, z, 1) : value, g->size);
    }
}

static bool is_sorted(const int64_t *i, int64_t n)
{
    for (int64_t t = 1; t < n; t++)
        if (i[t - 1] > i[t])
            return false;
    return true;
}

tsr_status tsr_cpu_few_merge(const tsr_few_step *s, tsr_few *t, tsr_few *c)
{
    tsr_few_begin(c, s->nvec);
    if (!s->has_c || (!s->step.accumulates && (!s->has_mask || s->step.replace))) {
        memcpy(c->vectors, t->vectors, (size_t)t->nvec * sizeof *t->vectors);
        c->nvals = t->nvals;
        c->sorted = t->sorted;
        return TSR_OK;
    }
    const int64_t most = t->nvals + s->c.nvals;
    tsr_scratch *w = tsr_scratch_get(s->vlen, 0);
    if (!w || !tsr_scratch_grow(w, t->nvals + most + 1))
        return TSR_OUT_OF_MEMORY;
    merger g = {.s = s, .w = w, .size = tsr_type_size(s->step.result), .i = w->i + t->nvals};
    g.x = s->pattern ? NULL : (char *)w->x + (size_t)t->nvals * g.size;
    int64_t first = 0;
    for (g.r = 0; g.r < s->nvec; g.r++) {
        const tsr_few_vector v = {.i = w->i + first, .x = (char *)w->x + (size_t)first * g.size, .count = t->vectors[g.r].count,
                                  .sorted = t->vectors[g.r].sorted};
        keep_old(&g);
        if (s->step.accumulates)
            join(&g, &v);
        else
            append(&g, &v);
        c->vectors[g.r] = (tsr_few_vector){.i = g.i, .x = g.x, .count = g.count, .sorted = is_sorted(g.i, g.count)};
        c->sorted &= c->vectors[g.r].sorted;
        c->nvals += g.count;
        first += v.count;
        g.i += g.count;
        g.x = g.x ? g.x + (size_t)g.count * g.size : NULL;
    }
    return TSR_OK;
}
