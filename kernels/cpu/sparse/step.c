/* Elementwise operations and assignments of few sparse vectors: a list of places is made, and what is not present leaves it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernels/cpu/elementwise/ewise_loops.h"
#include "kernels/cpu/sparse/gate.h"
#include "kernels/cpu/common/scratch.h"
#include "kernels/cpu/sparse/step.h"
#include "kernels/cpu/sparse/take.h"
#include "src/base/types.h"

enum { SOME = 256, LINE = 64 };

/* One vector of T: places, and which entries of x and y stand there. */
typedef struct row {
    const tsr_few_step *s;
    tsr_scratch *w;
    int64_t r, count;
    int64_t *i, *of_x, *of_y;
    char *values;
    bool sorted;
} row;

static bool is_sparse(const tsr_view *v)
{
    return tsr_is_compressed(v);
}

static int64_t entries(const tsr_view *v, int64_t r)
{
    return v->p[r + 1] - v->p[r];
}

/* ---- where T may have entries ---- */

static bool mask_is_true(const tsr_few_step *s, int64_t at)
{
    return s->step.mask_structural || tsr_is_true(&s->mask, at);
}

/* Of x and y: are their entries those walked over? */
static bool needs_positions(const tsr_few_step *s, const tsr_view *walked)
{
    return (s->has_x && tsr_same_list(&s->x, walked)) || (s->has_y && tsr_same_list(&s->y, walked));
}

static void list_entries(row *w, tsr_walk over)
{
    const tsr_few_step *s = w->s;
    const tsr_view *v = tsr_view_of(s, over);
    const int64_t *at = v->i, first = v->p[w->r];
    const bool all = over != TSR_WALK_MASK || s->step.mask_structural;
    w->sorted = !v->jumbled;
    w->count = v->p[w->r + 1] - first;
    if (all && w->count > 0)
        memcpy(w->i, at + first, (size_t)w->count * sizeof *at);
    if (all && !needs_positions(s, v))
        return;
    int64_t count = 0;
    for (int64_t t = first; t < v->p[w->r + 1]; t++) {
        w->i[count] = at[t];
        w->of_x[count] = w->of_y[count] = t;
        count += all || mask_is_true(s, t);
    }
    w->count = count;
}

static int64_t list_some(int64_t *i, const uint8_t *bytes, const uint8_t *also, int64_t from, int64_t to, int64_t count)
{
    for (int64_t j = from; j < to; j++) {
        i[count] = j;
        count += (bytes[j] != 0) & (!also || also[j] != 0);
    }
    return count;
}

/* Is any of LINE bytes set? */
static bool any_set(const uint8_t *bytes)
{
    uint64_t word, any = 0;
    for (int k = 0; k < LINE; k += (int)sizeof word) {
        memcpy(&word, bytes + k, sizeof word);
        any |= word;
    }
    return any != 0;
}

static int64_t list_line(int64_t *i, const uint8_t *bytes, const uint8_t *also, int64_t line, int64_t count)
{
    for (int64_t j = line; j < line + LINE; j += 8) {
        uint64_t eight;
        memcpy(&eight, bytes + j, sizeof eight);
        if (eight != 0)
            count = list_some(i, bytes, also, j, j + 8, count);
    }
    return count;
}

/* Lines of a bitmap without an entry are passed at once, and so are eight bytes. */
static void list_open(row *w, const uint8_t *bytes, const uint8_t *also)
{
    const int64_t n = w->s->vlen, whole = n - n % LINE;
    int64_t count = 0;
    for (int64_t line = 0; line < whole; line += LINE)
        if (any_set(bytes + line))
            count = list_line(w->i, bytes, also, line, count);
    w->count = list_some(w->i, bytes, also, whole, n, count);
    w->sorted = true;
}

/* A bitmap or full mask of bytes: where it is true. */
static void list_mask(row *w)
{
    const tsr_view *m = &w->s->mask;
    const int64_t start = w->r * m->ld;
    const uint8_t *b = m->b ? (const uint8_t *)m->b + start : NULL;
    const uint8_t *x = w->s->step.mask_structural || m->iso ? NULL : (const uint8_t *)m->x + start;
    list_open(w, b ? b : x, b ? x : NULL);
}

static void apply_mask(row *w, tsr_walk over)
{
    const tsr_few_step *s = w->s;
    if (!s->has_mask || over == TSR_WALK_MASK || over == TSR_WALK_ALL)
        return;
    const tsr_view *m = &s->mask;
    const bool listed = is_sparse(m), complement = s->step.mask_complement;
    const uint8_t mark = tsr_scratch_generation(w->w, 1);
    const uint8_t *marks = w->w->marks;
    if (listed)
        tsr_mark_true(w->w, m, w->r, s->step.mask_structural, mark);
    const int64_t start = w->r * m->ld;
    int64_t kept = 0;
    for (int64_t t = 0; t < w->count; t++) {
        const int64_t j = w->i[t];
        const bool open = listed ? marks[j] == mark : (!m->b || m->b[start + j]) && mask_is_true(s, start + j);
        w->i[kept] = j;
        w->of_x[kept] = w->of_x[t];
        w->of_y[kept] = w->of_y[t];
        kept += open != complement;
    }
    w->count = kept;
}

/* ---- where both operands are ---- */

/* Which entries of a sparse v stand at the places that are left; the others leave. */
static void intersect_sparse(row *w, const tsr_view *v, int64_t *of_v, int64_t *of_other)
{
    const int64_t *at = v->i;
    const uint8_t mark = tsr_scratch_generation(w->w, 1);
    uint8_t *marks = w->w->marks;
    int64_t *position = w->w->sums, kept = 0;
    for (int64_t t = v->p[w->r]; t < v->p[w->r + 1]; t++) {
        marks[at[t]] = mark;
        position[at[t]] = t;
    }
    for (int64_t t = 0; t < w->count; t++) {
        const int64_t j = w->i[t];
        w->i[kept] = j;
        of_other[kept] = of_other[t];
        of_v[kept] = position[j];
        kept += marks[j] == mark;
    }
    w->count = kept;
}

static void intersect_dense(row *w, const tsr_view *v, int64_t *of_v, int64_t *of_other)
{
    const int64_t start = w->r * v->ld;
    int64_t kept = 0;
    for (int64_t t = 0; !v->b && t < w->count; t++)
        of_v[t] = start + w->i[t];
    if (!v->b)
        return;
    for (int64_t t = 0; t < w->count; t++) {
        const int64_t place = start + w->i[t];
        w->i[kept] = w->i[t];
        of_other[kept] = of_other[t];
        of_v[kept] = place;
        kept += v->b[place];
    }
    w->count = kept;
}

static void intersect(row *w, const tsr_view *v, const tsr_view *walked, int64_t *of_v, int64_t *of_other)
{
    if (!is_sparse(v))
        intersect_dense(w, v, of_v, of_other);
    else if (!walked || !tsr_same_list(v, walked))
        intersect_sparse(w, v, of_v, of_other);
}

/* ---- values ---- */

static const tsr_ewise_table *table(void)
{
    return TSR_PICK_ISA(&tsr_ewise_table);
}

/* n values of an operand. */
static void take(void *x, const tsr_view *v, bool given, uint64_t scalar, const int64_t *at, int64_t n, size_t size)
{
    if (!given || v->iso)
        tsr_repeat(x, given ? v->x : &scalar, n, size);
    else
        tsr_take(x, v->x, at, n, size);
}

static bool reads_y(tsr_ewise_op op)
{
    return !tsr_ewise_is_unary(op) && op != TSR_EWISE_FIRST && op != TSR_EWISE_PAIR;
}

static bool reads_x(tsr_ewise_op op)
{
    return op != TSR_EWISE_SECOND && op != TSR_EWISE_PAIR && op != TSR_EWISE_ONE;
}

static const void *compute_some(const row *w, int64_t first, int64_t n, uint64_t x[SOME], uint64_t y[SOME], uint64_t z[SOME])
{
    const tsr_few_step *s = w->s;
    const size_t size = tsr_type_size(s->step.type);
    if (reads_x(s->step.op))
        take(x, &s->x, s->has_x, s->step.x.scalar, w->of_x + first, n, size);
    if (reads_y(s->step.op))
        take(y, &s->y, s->has_y, s->step.y.scalar, w->of_y + first, n, size);
    return table()->operate(s->step.op, s->step.type, x, y, z, n);
}

static void compute_values(row *w)
{
    uint64_t x[SOME], y[SOME], z[SOME];
    const size_t size = tsr_type_size(w->s->step.result);
    for (int64_t first = 0; first < w->count; first += SOME) {
        const int64_t n = w->count - first < SOME ? w->count - first : SOME;
        memcpy(w->values + (size_t)first * size, compute_some(w, first, n, x, y, z), (size_t)n * size);
    }
}

/* Those x stay for which op (x, y) holds. */
static void select_values(row *w)
{
    uint64_t x[SOME], y[SOME], z[SOME];
    const size_t size = tsr_type_size(w->s->step.type);
    int64_t kept = 0;
    for (int64_t first = 0; first < w->count; first += SOME) {
        const int64_t n = w->count - first < SOME ? w->count - first : SOME;
        const uint8_t *holds = compute_some(w, first, n, x, y, z);
        for (int64_t t = 0; t < n; t++) {
            memcpy(w->values + (size_t)kept * size, (const char *)x + (size_t)t * size, size);
            w->i[kept] = w->i[first + t];
            kept += holds[t];
        }
    }
    w->count = kept;
}

static void compute(row *w)
{
    const tsr_few_step *s = w->s;
    const tsr_walk over = tsr_walk_of(s);
    const tsr_view *walked = over == TSR_WALK_ALL ? NULL : tsr_view_of(s, over);
    if (over == TSR_WALK_ALL)
        list_mask(w);
    else
        list_entries(w, over);
    apply_mask(w, over);
    if (s->has_x && over != TSR_WALK_X)
        intersect(w, &s->x, walked, w->of_x, w->of_y);
    if (s->has_y && over != TSR_WALK_Y)
        intersect(w, &s->y, walked, w->of_y, w->of_x);
    if (s->step.select)
        select_values(w);
    else if (!s->pattern)
        compute_values(w);
}

/* ---- all vectors ---- */

/* The most that vector r has places for. */
static int64_t room(const tsr_few_step *s, int64_t r)
{
    const tsr_walk over = tsr_walk_of(s);
    return over == TSR_WALK_ALL ? s->vlen : entries(tsr_view_of(s, over), r);
}

static int64_t room_of_all(const tsr_few_step *s)
{
    int64_t all = 1;
    for (int64_t r = 0; r < s->nvec; r++)
        all += room(s, r);
    return all;
}

static bool fits_mask(const tsr_few_step *s)
{
    const tsr_view *m = &s->mask;
    const bool structural = s->step.mask_structural, bytes = structural || tsr_type_size(m->type) == 1;
    if (tsr_walk_of(s) != TSR_WALK_ALL)
        return true;
    if (!s->has_mask || is_sparse(m) || s->step.mask_complement || !bytes)
        return false;
    return m->b ? structural || !m->iso || tsr_is_true(m, 0) : !structural && !m->iso;
}

static bool loses_places(const tsr_few_step *s)
{
    const tsr_ewise *e = &s->step;
    if (is_sparse(&s->c) || !s->has_c || (!e->accumulates && !s->has_mask))
        return false;
    return e->accumulates ? e->replace && s->has_mask : e->replace || !tsr_mask_is_listed(s);
}

bool tsr_few_step_takes(const tsr_few_step *s)
{
    const bool hyper = (s->has_x && s->x.format == TSR_HYPERSPARSE) || (s->has_y && s->y.format == TSR_HYPERSPARSE) ||
                       (s->has_mask && s->mask.format == TSR_HYPERSPARSE) || (s->has_c && s->c.format == TSR_HYPERSPARSE);
    return s->nvec <= TSR_FEW && !hyper && !s->step.unite && (s->has_mask || !s->step.mask_complement) && fits_mask(s) && !loses_places(s) &&
           (!s->step.select || !s->pattern);
}

/* How many of a full mask's values are true is not known. */
static int64_t open_work(const tsr_few_step *s)
{
    const int64_t places = s->nvec * s->vlen;
    return s->mask.b ? places / LINE + s->mask.nvals : places / 8;
}

int64_t tsr_few_step_work(const tsr_few_step *s)
{
    const tsr_walk over = tsr_walk_of(s);
    int64_t work = over == TSR_WALK_ALL ? open_work(s) : tsr_view_of(s, over)->nvals;
    work += (s->has_c && is_sparse(&s->c)) ? s->c.nvals : 0;
    if (s->has_mask && is_sparse(&s->mask))
        work += s->mask.nvals;
    return work;
}

/* The lists lie behind each other, a vector's places being dealt out before it is known how many it needs. */
tsr_status tsr_cpu_few_step(const tsr_few_step *s, tsr_few *t)
{
    tsr_few_begin(t, s->nvec);
    tsr_scratch *w = tsr_scratch_get(s->vlen, room_of_all(s));
    if (!w)
        return TSR_OUT_OF_MEMORY;
    if (tsr_step_has_runs(s)) {
        tsr_step_runs(s, w, t);
        return TSR_OK;
    }
    const size_t size = tsr_type_size(s->step.result);
    int64_t first = 0;
    for (int64_t r = 0; r < s->nvec; r++) {
        row one = {.s = s, .w = w, .r = r, .i = w->i + first, .of_x = w->from + first, .of_y = w->at + first,
                   .values = (char *)w->x + (size_t)first * size};
        compute(&one);
        t->vectors[r] = (tsr_few_vector){.i = one.i, .x = s->pattern ? NULL : one.values, .count = one.count,
                                         .sorted = one.sorted || one.count < 2};
        t->nvals += one.count;
        t->sorted &= t->vectors[r].sorted;
        first += one.count;
    }
    return TSR_OK;
}
