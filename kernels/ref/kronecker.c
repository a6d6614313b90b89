/* Kronecker products as they are defined, entry by entry.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kronecker.h"

#include "kernels/ref/step.h"
#include "src/base/types.h"

static int64_t start(const tsr_view *v, int64_t k)
{
    return v->format == TSR_FULL ? k * v->vlen : tsr_view_start(v, k);
}

static int64_t index_of(const tsr_view *v, int64_t k, int64_t e)
{
    return v->format == TSR_FULL ? e - k * v->vlen : tsr_offset(v->i, v->index_size == 4, e);
}

static int64_t name_of(const tsr_view *v, int64_t k)
{
    return v->h ? v->h[k] : k;
}

static void put_value(const tsr_kronecker *k, void *x, int64_t at, int64_t of_a, int64_t of_b)
{
    const tsr_value x_a = tsr_value_load(k->type, k->a.x, k->a.iso ? 0 : of_a), x_b = tsr_value_load(k->type, k->b.x, k->b.iso ? 0 : of_b);
    const bool swaps = tsr_kronecker_swaps(k->op);
    const tsr_value z = tsr_ref_operator(k->op, k->type, swaps ? x_b : x_a, swaps ? x_a : x_b);
    uint64_t bytes = 0;
    tsr_value_store(k->result, &bytes, 0, z);
    tsr_cast_values((char *)x + (size_t)at * tsr_type_size(k->c_type), k->c_type, &bytes, k->result, 1, 1);
}

static int64_t put_vector(const tsr_kronecker *k, const tsr_kronecker_c *c, int64_t v, int64_t w, int64_t at)
{
    for (int64_t e = start(&k->a, v); e < start(&k->a, v + 1); e++)
        for (int64_t f = start(&k->b, w); f < start(&k->b, w + 1); f++, at++) {
            const int64_t index = index_of(&k->a, v, e) * k->b.vlen + index_of(&k->b, w, f);
            if (c->i && k->narrow)
                ((uint32_t *)c->i)[at] = (uint32_t)index;
            else if (c->i)
                ((int64_t *)c->i)[at] = index;
            if (c->x)
                put_value(k, c->x, at, e, f);
        }
    return at;
}

tsr_status tsr_ref_kronecker(const tsr_kronecker *k, const tsr_kronecker_c *c)
{
    int64_t at = 0, vector = 0;
    for (int64_t v = 0; v < k->a.nvec; v++)
        for (int64_t w = 0; w < k->b.nvec; w++, vector++) {
            if (c->p)
                c->p[vector] = (uint64_t)at;
            if (c->h)
                c->h[vector] = (uint64_t)(name_of(&k->a, v) * tsr_view_vectors(&k->b) + name_of(&k->b, w));
            at = put_vector(k, c, v, w, at);
        }
    if (c->p)
        c->p[vector] = (uint64_t)at;
    return TSR_OK;
}
