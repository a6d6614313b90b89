/* Operations on few sparse vectors whose places are those of one list: a run of a few hundred places is looked up in dense operands, computed
 * and put away while all that it takes is in the first cache.  Long lists are dealt out to threads by pieces.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernels/cpu/common/chunks.h"
#include "kernels/cpu/elementwise/ewise_loops.h"
#include "kernels/cpu/sparse/step.h"
#include "kernels/cpu/sparse/take.h"
#include "src/base/split.h"

enum {
    RUN = 64,
    PIECE = 1 << 14, /* entries of a piece, at least */
    PIECES = 128,    /* and one more for each vector */
    PARALLEL = 1 << 16
};

/* Entries of one vector of the list. */
typedef struct piece {
    int64_t r, first, last;
    int64_t count; /* of T; of update: how many entries C has more */
} piece;

typedef struct runs {
    const tsr_few_step *s;
    const tsr_view *list;
    const tsr_ewise_table *table;
    size_t size, result; /* of elements */
    int64_t *i;          /* T's lists, entry by entry of the list; NULL: C is updated */
    char *x;             /* NULL: a pattern */
    int8_t *b;           /* C, of update */
    char *c;
    piece pieces[PIECES + TSR_FEW];
    int64_t count;
} runs;

/* Some places of one vector, at which all operands have an entry. */
typedef struct run {
    const int64_t *i;
    int64_t r, n, first; /* first: entry of the list */
    bool whole;          /* no entry was left out */
    int64_t kept[RUN], at[RUN];
} run;

/* ---- what it takes ---- */

/* For prices arrays need not be there yet. */
static bool fits_list(const tsr_few_step *s, bool has, const tsr_view *v)
{
    const tsr_view *list = tsr_view_of(s, tsr_walk_of(s));
    return !has || !tsr_is_compressed(v) || v == list || (v->p && list->p && tsr_same_list(v, list));
}

/* A list that needs no second look: those of operands are not masked, that of a mask has no values. */
bool tsr_step_has_runs(const tsr_few_step *s)
{
    const tsr_walk over = tsr_walk_of(s);
    const bool masked = over == TSR_WALK_MASK ? s->step.mask_structural : !s->has_mask;
    return over != TSR_WALK_ALL && masked && !s->step.select && !s->step.unite && fits_list(s, s->has_x, &s->x) && fits_list(s, s->has_y, &s->y);
}

/* ---- places ---- */

static bool has_gaps(const tsr_few_step *s, bool has, const tsr_view *v)
{
    return has && !tsr_is_compressed(v) && v->b && v->nvals < s->nvec * s->vlen;
}

/* Has an operand with gaps entries at all n places? */
static bool has_all(const tsr_view *v, int64_t r, const int64_t *restrict i, int64_t n)
{
    const int8_t *restrict b = v->b + r * v->ld;
    int8_t all = 1;
    for (int64_t t = 0; t < n; t++)
        all &= b[i[t]] != 0;
    return all;
}

static void leave_out(run *u, const tsr_view *v)
{
    const int8_t *restrict b = v->b + u->r * v->ld;
    int64_t kept = 0;
    for (int64_t t = 0; t < u->n; t++) {
        const int64_t j = u->i[t], at = u->whole ? u->first + t : u->at[t];
        u->kept[kept] = j;
        u->at[kept] = at;
        kept += b[j] != 0;
    }
    u->i = u->kept;
    u->n = kept;
    u->whole = false;
}

static void find_places(run *u, const runs *h, int64_t r, int64_t first, int64_t last)
{
    const tsr_few_step *s = h->s;
    u->r = r;
    u->first = first;
    u->i = (const int64_t *)h->list->i + first;
    u->n = last - first < RUN ? last - first : RUN;
    u->whole = true;
    if (has_gaps(s, s->has_x, &s->x) && !has_all(&s->x, r, u->i, u->n))
        leave_out(u, &s->x);
    if (has_gaps(s, s->has_y, &s->y) && !has_all(&s->y, r, u->i, u->n))
        leave_out(u, &s->y);
}

/* ---- values ---- */

static const void *values_of(const run *u, const tsr_view *v, bool has, const uint64_t *scalar, size_t size, void *room)
{
    const char *x = v->x;
    if (!has || v->iso)
        tsr_repeat(room, has ? v->x : scalar, u->n, size);
    else if (!tsr_is_compressed(v))
        tsr_take(room, x + (size_t)(u->r * v->ld) * size, u->i, u->n, size);
    else if (u->whole)
        return x + (size_t)u->first * size;
    else
        tsr_take(room, x, u->at, u->n, size);
    return room;
}

static const void *compute(const run *u, const runs *h, void *room_x, void *room_y, void *room_z)
{
    const tsr_few_step *s = h->s;
    const tsr_ewise_op op = s->step.op;
    const bool reads_x = op != TSR_EWISE_SECOND && op != TSR_EWISE_PAIR && op != TSR_EWISE_ONE;
    const bool reads_y = !tsr_ewise_is_unary(op) && op != TSR_EWISE_FIRST && op != TSR_EWISE_PAIR;
    const void *x = reads_x ? values_of(u, &s->x, s->has_x, &s->step.x.scalar, h->size, room_x) : room_x;
    const void *y = reads_y ? values_of(u, &s->y, s->has_y, &s->step.y.scalar, h->size, room_y) : room_y;
    return h->table->operate(op, s->step.type, x, y, room_z, u->n);
}

/* ---- T ---- */

static void list_piece(void *context, int64_t number)
{
    runs *h = context;
    piece *p = &h->pieces[number];
    uint64_t x[RUN], y[RUN], z[RUN];
    run u;
    const int64_t start = p->first - h->list->p[0];
    for (int64_t t = p->first; t < p->last; t += RUN) {
        find_places(&u, h, p->r, t, p->last);
        memcpy(h->i + start + p->count, u.i, (size_t)u.n * sizeof *u.i);
        if (h->x)
            memcpy(h->x + (size_t)(start + p->count) * h->result, compute(&u, h, x, y, z), (size_t)u.n * h->result);
        p->count += u.n;
    }
}

static void move(const runs *h, int64_t to, int64_t from, int64_t n)
{
    memmove(h->i + to, h->i + from, (size_t)n * sizeof *h->i);
    if (h->x)
        memmove(h->x + (size_t)to * h->result, h->x + (size_t)from * h->result, (size_t)n * h->result);
}

/* Pieces follow each other in T, and so do its vectors. */
static void join_pieces(const runs *h, tsr_few *t)
{
    for (int64_t k = 0; k < h->count; k++) {
        const piece *p = &h->pieces[k];
        const int64_t from = p->first - h->list->p[0];
        if (from != t->nvals)
            move(h, t->nvals, from, p->count);
        t->vectors[p->r].count += p->count;
        t->nvals += p->count;
    }
    int64_t first = 0;
    for (int64_t r = 0; r < t->nvec; r++) {
        tsr_few_vector *v = &t->vectors[r];
        v->i = h->i + first;
        v->x = h->x ? h->x + (size_t)first * h->result : NULL;
        v->sorted = !h->list->jumbled || v->count < 2;
        t->sorted &= v->sorted;
        first += v->count;
    }
}

/* ---- C accum= T ---- */

static int64_t set_present(const run *u, int8_t *restrict b, uint8_t *restrict was)
{
    int64_t more = 0;
    for (int64_t t = 0; t < u->n; t++) {
        was[t] = b[u->i[t]] != 0;
        more += !was[t];
        b[u->i[t]] = 1;
    }
    return more;
}

static void update_piece(void *context, int64_t number)
{
    runs *h = context;
    piece *p = &h->pieces[number];
    const tsr_few_step *s = h->s;
    uint64_t x[RUN], y[RUN], z[RUN], old[RUN], sums[RUN];
    uint8_t was[RUN];
    run u;
    char *c = h->c + (size_t)(p->r * s->vlen) * h->result;
    for (int64_t t = p->first; t < p->last; t += RUN) {
        find_places(&u, h, p->r, t, p->last);
        const void *made = compute(&u, h, x, y, z);
        tsr_take(old, c, u.i, u.n, h->result);
        const void *sum = h->table->operate(s->step.accum, s->step.result, old, made, sums, u.n);
        if (h->b) {
            p->count += set_present(&u, h->b + p->r * s->vlen, was);
            h->table->pick(h->result, old, was, sum, made, u.n);
            sum = old;
        }
        tsr_put(c, sum, u.i, u.n, h->result);
    }
}

/* ---- all pieces ---- */

static void cut(runs *h)
{
    const int64_t *p = h->list->p, nvec = h->s->nvec, all = p[nvec] - p[0], each = all / PIECES + 1 > PIECE ? all / PIECES + 1 : PIECE;
    h->count = 0;
    for (int64_t r = 0; r < nvec; r++)
        for (int64_t t = p[r]; t < p[r + 1]; t += each)
            h->pieces[h->count++] = (piece){.r = r, .first = t, .last = t + each < p[r + 1] ? t + each : p[r + 1]};
}

/* Pieces are many and few of them are used: nobody sets them to zero. */
static void begin(runs *h, const tsr_few_step *s)
{
    h->s = s;
    h->i = NULL;
    h->x = NULL;
    h->b = NULL;
    h->c = NULL;
    h->list = tsr_view_of(s, tsr_walk_of(s));
    h->table = TSR_PICK_ISA(&tsr_ewise_table);
    h->size = tsr_type_size(s->step.type);
    h->result = tsr_type_size(s->step.result);
    cut(h);
}

static int threads_of(const runs *h)
{
    return h->list->p[h->s->nvec] - h->list->p[0] < PARALLEL ? 1 : h->s->nthreads;
}

void tsr_step_runs(const tsr_few_step *s, tsr_scratch *w, tsr_few *t)
{
    runs h;
    begin(&h, s);
    h.i = w->i;
    h.x = s->pattern ? NULL : w->x;
    tsr_for_jobs(h.count, threads_of(&h), list_piece, &h);
    join_pieces(&h, t);
}

bool tsr_few_step_updates(const tsr_few_step *s)
{
    return s->step.accumulates && !s->pattern && !tsr_is_compressed(&s->c) && s->nvec <= TSR_FEW && !(s->has_mask && s->step.replace) && tsr_step_has_runs(s);
}

int64_t tsr_cpu_few_update(const tsr_few_step *s, int8_t *b, void *c)
{
    runs h;
    begin(&h, s);
    h.b = b;
    h.c = c;
    tsr_for_jobs(h.count, threads_of(&h), update_piece, &h);
    int64_t more = 0;
    for (int64_t k = 0; k < h.count; k++)
        more += h.pieces[k].count;
    return more;
}
