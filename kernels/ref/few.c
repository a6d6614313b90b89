/* The oracle of products of few sparse vectors: for every place of T, the products that meet there, in the order of U's entries.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "kernels/ref/step.h"
#include "kernels/sparse_vectors.h"

/* Entry k of a vector of a bitmap, full or sparse view: where its value is; -1: there is none. */
static int64_t find(const tsr_view *v, int64_t vector, int64_t k)
{
    const int64_t *i = v->i, at = vector * v->ld + k;
    if (!tsr_is_compressed(v))
        return !v->b || v->b[at] ? at : -1;
    for (int64_t e = v->p[vector]; e < v->p[vector + 1]; e++)
        if (i[e] == k)
            return e;
    return -1;
}

static bool passes(const tsr_push *p, int64_t r, int64_t j)
{
    if (!p->mask)
        return true;
    const int64_t at = find(p->mask, r, j);
    const bool open = at >= 0 && (p->mask_structural ||
                                  tsr_value_true(p->mask->type, tsr_value_load(p->mask->type, p->mask->x, p->mask->iso ? 0 : at)));
    return open != p->mask_complement;
}

static tsr_value value_at(const tsr_view *v, int64_t at)
{
    return tsr_value_load(v->type, v->x, v->iso ? 0 : at);
}

static tsr_value product(const tsr_push *p, int64_t r, int64_t k, int64_t j, int64_t of_u, int64_t of_a)
{
    const tsr_push_semiring *s = &p->semiring;
    const int64_t positions[] = {[TSR_FACTOR_MIDDLE] = k, [TSR_FACTOR_OUTPUT] = j, [TSR_FACTOR_VECTOR] = r};
    if (s->factor != TSR_FACTOR_VALUES)
        return (tsr_value){.bits = (uint64_t)(positions[s->factor] + s->offset)};
    const tsr_value u = tsr_push_reads_u(s) ? value_at(&p->u, of_u) : (tsr_value){0};
    const tsr_value a = tsr_push_reads_a(s) ? value_at(&p->a, of_a) : (tsr_value){0};
    return tsr_ref_operator(s->mul, s->type, s->swapped ? a : u, s->swapped ? u : a);
}

static void join(const tsr_push *p, tsr_value *sum, bool *any, tsr_value term)
{
    *sum = *any ? tsr_ref_join(p->semiring.result, p->semiring.add, *sum, term) : term;
    *any = true;
}

/* Entry (k,j) of A; -1: there is none. */
static int64_t find_in_a(const tsr_push *p, int64_t k, int64_t j)
{
    for (int64_t e = tsr_push_start(p, k); e < tsr_push_start(p, k + 1); e++)
        if (tsr_push_at(p->a.i, e, tsr_push_is_narrow(p)) == j)
            return e;
    return -1;
}

/* Its entries with row k of A. */
static bool sum_at(const tsr_push *p, int64_t r, int64_t j, tsr_value *sum)
{
    const int64_t *k = p->u.i;
    const bool listed = tsr_is_compressed(&p->u);
    const int64_t first = listed ? p->u.p[r] : r * p->u.ld, last = listed ? p->u.p[r + 1] : first + p->u.vlen;
    bool any = false;
    for (int64_t t = first; passes(p, r, j) && t < last; t++) {
        const int64_t row = listed ? k[t] : t - first;
        const int64_t e = p->u.b && !p->u.b[t] ? -1 : find_in_a(p, row, j);
        if (e >= 0)
            join(p, sum, &any, p->pattern ? (tsr_value){0} : product(p, r, row, j, t, e));
    }
    return any;
}

static bool push_vector(const tsr_push *p, int64_t r, tsr_few_vector *v)
{
    const int64_t n = p->a.vlen;
    int64_t *i = malloc(((size_t)n + 1) * 16);
    if (!i)
        return false;
    *v = (tsr_few_vector){.i = i, .x = p->pattern ? NULL : i + n, .sorted = true, .owned = i};
    for (int64_t j = 0; j < n; j++) {
        tsr_value sum = {0};
        if (!sum_at(p, r, j, &sum))
            continue;
        if (!p->pattern)
            tsr_value_store(p->semiring.result, i + n, v->count, sum);
        i[v->count++] = j;
    }
    return true;
}

static void release(tsr_few *few)
{
    for (int64_t r = 0; r < few->nvec; r++)
        free(few->vectors[r].owned);
}

tsr_status tsr_ref_push(const tsr_push *p, int64_t work, tsr_few *result)
{
    (void)work;
    tsr_few_begin(result, p->u.nvec);
    for (int64_t r = 0; r < p->u.nvec; r++) {
        if (!push_vector(p, r, &result->vectors[r])) {
            release(result);
            return TSR_OUT_OF_MEMORY;
        }
        result->nvals += result->vectors[r].count;
    }
    return TSR_OK;
}

int64_t tsr_ref_pull(const tsr_push *p, int8_t *b, void *x)
{
    const int64_t n = p->a.nvec;
    int64_t nvals = 0;
    for (int64_t at = 0; at < p->u.nvec * n; at++) {
        const int64_t r = at / n, j = at % n;
        tsr_value sum = {0};
        bool any = false;
        for (int64_t e = tsr_push_start(p, j); passes(p, r, j) && e < tsr_push_start(p, j + 1); e++) {
            const int64_t k = tsr_push_at(p->a.i, e, tsr_push_is_narrow(p)), of_u = find(&p->u, r, k);
            if (of_u >= 0)
                join(p, &sum, &any, product(p, r, k, j, of_u, e));
        }
        if (any)
            tsr_value_store(p->semiring.result, x, at, sum);
        b[at] = any;
        nvals += any;
    }
    return nvals;
}
