/* The oracle of SpGEMM: one row of C at a time, over all its places.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/spgemm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ref/value.h"
#include "src/base/types.h"

typedef struct row {
    const tsr_spgemm *product; /* by row */
    tsr_rounding rounding;
    tsr_value *value;
    int8_t *present, *passes;
    const tsr_value *claimed;  /* not NULL: look for these instead of adding up … */
    int8_t *found;             /* … and note where they were met */
} row;

static int64_t index_at(const tsr_view *v, int64_t entry)
{
    return v->index_size == 4 ? (int64_t)((const uint32_t *)v->i)[entry] : ((const int64_t *)v->i)[entry];
}

static int64_t name_of(const tsr_view *v, int64_t vector)
{
    return v->format == TSR_HYPERSPARSE ? v->h[vector] : vector;
}

/* Of a bitmap or full matrix. */
static void visit_places(const tsr_view *v, int64_t line, bool along, void (*visit)(void *, int64_t, int64_t), void *context)
{
    for (int64_t place = 0; place < (along ? v->vlen : v->nvec); place++) {
        const int64_t e = along ? line * v->ld + place : place * v->ld + line;
        if (v->format == TSR_FULL || v->b[e])
            visit(context, place, e);
    }
}

/* Calls visit (context, place in the line, entry of v) for every entry of line `line` (a row; a column if `across`). */
static void visit_line(const tsr_view *v, int64_t line, bool across, void (*visit)(void *, int64_t, int64_t), void *context)
{
    const bool along = v->by_col == across;
    if (!tsr_is_compressed(v)) {
        visit_places(v, line, along, visit, context);
        return;
    }
    for (int64_t s = 0; s < v->nvec; s++)
        for (int64_t e = tsr_view_start(v, s); e < tsr_view_start(v, s + 1); e++) {
            const int64_t name = name_of(v, s), index = index_at(v, e);
            if ((along ? name : index) == line)
                visit(context, along ? index : name, e);
        }
}

/* ---- one product ---- */

typedef struct term {
    row *r;
    int64_t i, k, a; /* a: entry of A */
} term;

static tsr_value value_at(const tsr_view *v, int64_t entry)
{
    return tsr_value_load(v->type, v->x, v->iso ? 0 : entry);
}

static tsr_value product_of(const term *t, int64_t j, int64_t b)
{
    const tsr_spgemm *s = t->r->product;
    const int64_t places[] = {0, t->i, t->k, j};
    if (s->position)
        return (tsr_value){.bits = (uint64_t)(places[s->position] + s->offset)};
    return tsr_value_multiply(&s->semiring, t->r->rounding, value_at(&s->a, t->a), value_at(&s->b, b));
}

static void add_term(void *context, int64_t j, int64_t b)
{
    const term *t = context;
    row *r = t->r;
    if (!r->passes[j])
        return;
    const tsr_value z = r->product->pattern ? (tsr_value){0} : product_of(t, j, b);
    if (r->claimed)
        r->found[j] |= tsr_value_same(z, r->claimed[j]);
    r->value[j] = r->present[j] ? tsr_value_add(&r->product->semiring, r->rounding, r->value[j], z)
                                : tsr_value_begin(&r->product->semiring, z);
    r->present[j] = 1;
}

static void add_row_of_b(void *context, int64_t k, int64_t a)
{
    term *t = context;
    t->k = k;
    t->a = a;
    visit_line(&t->r->product->b, k, false, add_term, t);
}

/* ---- one row ---- */

static void mark_mask(void *context, int64_t j, int64_t entry)
{
    const row *r = context;
    const tsr_spgemm *s = r->product;
    bool lets = s->mask_structural || !s->mask.x;
    if (!lets) {
        const tsr_value value = value_at(&s->mask, entry);
        lets = tsr_value_true(s->mask.type, value) || signbit(value.real);
    }
    if (lets)
        r->passes[j] = !s->mask_complement;
}

static int64_t compute_row(row *r, int64_t i)
{
    const tsr_spgemm *s = r->product;
    int64_t count = 0;
    memset(r->present, 0, (size_t)s->n);
    memset(r->passes, !s->masked || s->mask_complement, (size_t)s->n);
    if (s->masked)
        visit_line(&s->mask, i, false, mark_mask, r);
    term t = {.r = r, .i = i};
    visit_line(&s->a, i, false, add_row_of_b, &t);
    for (int64_t j = 0; j < s->n; j++)
        count += r->present[j];
    return count;
}

static bool begin(row *r, const tsr_spgemm *by_row, tsr_rounding rounding)
{
    const size_t n = (size_t)by_row->n + 1;
    *r = (row){.product = by_row, .rounding = rounding, .value = calloc(n, sizeof *r->value), .present = malloc(n), .passes = malloc(n)};
    return r->value && r->present && r->passes;
}

static void end(row *r)
{
    free(r->value);
    free(r->present);
    free(r->passes);
}

static bool is_hyper(const tsr_spgemm *by_row)
{
    return by_row->a.format == TSR_HYPERSPARSE && !by_row->a.by_col;
}

tsr_status tsr_ref_spgemm_count(const tsr_spgemm *product, tsr_spgemm_size *size, int64_t *p)
{
    const tsr_spgemm s = tsr_spgemm_by_row(product);
    row r;
    const bool ok = begin(&r, &s, TSR_ROUND_TO_TYPE);
    *size = (tsr_spgemm_size){.nvec = is_hyper(&s) ? s.a.nvec : s.m, .hyper = is_hyper(&s)};
    p[0] = 0;
    for (int64_t v = 0; ok && v < size->nvec; v++)
        p[v + 1] = p[v] + compute_row(&r, size->hyper ? s.a.h[v] : v);
    size->nvals = ok ? p[size->nvec] : 0;
    end(&r);
    return ok ? TSR_OK : TSR_OUT_OF_MEMORY;
}

static void put_entry(const tsr_spgemm *s, const tsr_spgemm_c *c, int64_t e, int64_t j, tsr_value value, bool exact)
{
    if (c->index_size == 4)
        ((uint32_t *)c->i)[e] = (uint32_t)j;
    else
        ((int64_t *)c->i)[e] = j;
    if (s->pattern)
        return;
    if (exact)
        ((long double *)c->x)[e] = value.real;
    else
        tsr_value_store(s->semiring.type, c->x, e, value);
}

static tsr_status fill(const tsr_spgemm *product, const tsr_spgemm_c *c, bool exact)
{
    const tsr_spgemm s = tsr_spgemm_by_row(product);
    row r;
    const bool ok = begin(&r, &s, exact ? TSR_ROUND_NEVER : TSR_ROUND_TO_TYPE);
    const int64_t nvec = is_hyper(&s) ? s.a.nvec : s.m;
    int64_t e = 0;
    for (int64_t v = 0; ok && v < nvec; v++) {
        c->p[v] = e;
        if (is_hyper(&s))
            c->h[v] = s.a.h[v];
        compute_row(&r, is_hyper(&s) ? s.a.h[v] : v);
        for (int64_t j = 0; j < s.n; j++)
            if (r.present[j])
                put_entry(&s, c, e++, j, r.value[j], exact);
    }
    if (ok)
        c->p[nvec] = e;
    end(&r);
    return ok ? TSR_OK : TSR_OUT_OF_MEMORY;
}

tsr_status tsr_ref_spgemm_fill(const tsr_spgemm *product, const tsr_spgemm_c *c)
{
    return fill(product, c, false);
}

tsr_status tsr_ref_spgemm_exact(const tsr_spgemm *product, const tsr_spgemm_c *c)
{
    return fill(product, c, true);
}

/* ---- ANY ---- */

static bool row_matches(row *r, const tsr_spgemm_c *c, int64_t v, int64_t i, tsr_value *claimed)
{
    const tsr_spgemm *s = r->product;
    for (int64_t e = c->p[v]; e < c->p[v + 1]; e++) {
        const int64_t j = c->index_size == 4 ? (int64_t)((const uint32_t *)c->i)[e] : ((const int64_t *)c->i)[e];
        claimed[j] = s->pattern ? (tsr_value){0} : tsr_value_load(s->semiring.type, c->x, e);
    }
    r->claimed = claimed;
    memset(r->found, 0, (size_t)s->n);
    if (compute_row(r, i) != c->p[v + 1] - c->p[v])
        return false;
    for (int64_t e = c->p[v]; e < c->p[v + 1]; e++) {
        const int64_t j = c->index_size == 4 ? (int64_t)((const uint32_t *)c->i)[e] : ((const int64_t *)c->i)[e];
        if (!r->present[j] || !r->found[j])
            return false;
        r->found[j] = 0; /* an index given twice */
    }
    return true;
}

bool tsr_ref_spgemm_matches_any(const tsr_spgemm *product, const tsr_spgemm_c *c, int64_t nvec)
{
    const tsr_spgemm s = tsr_spgemm_by_row(product);
    row r;
    tsr_value *claimed = calloc((size_t)s.n + 1, sizeof *claimed);
    bool ok = begin(&r, &s, TSR_ROUND_TO_TYPE) && claimed;
    r.found = malloc((size_t)s.n + 1);
    ok = ok && r.found && nvec == (is_hyper(&s) ? s.a.nvec : s.m);
    for (int64_t v = 0; ok && v < nvec; v++)
        ok = row_matches(&r, c, v, is_hyper(&s) ? s.a.h[v] : v, claimed);
    free(r.found);
    free(claimed);
    end(&r);
    return ok;
}
