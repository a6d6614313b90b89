/* Products of entries of a vector and of a matrix, some hundred at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/sparse/products.h"
#include "kernels/cpu/common/scratch.h"
#include "kernels/cpu/sparse/take.h"

#include <string.h>

#include "src/base/types.h"

static const tsr_ewise_table *table(void)
{
    return TSR_PICK_ISA(&tsr_ewise_table);
}

static const void *element(const tsr_view *v, int64_t at)
{
    return (const char *)v->x + (v->iso ? 0 : (size_t)at * tsr_type_size(v->type));
}

/* Positions are INT32 or INT64. */
static void put_position(void *x, tsr_type type, int64_t at, int64_t position)
{
    if (type == TSR_INT32)
        ((int32_t *)x)[at] = (int32_t)position;
    else
        ((int64_t *)x)[at] = position;
}

static const void *operate(tsr_products *w, const void *u, const void *a, int64_t n)
{
    const tsr_push_semiring *s = w->semiring;
    return w->table->operate(s->mul, s->type, s->swapped ? a : u, s->swapped ? u : a, w->made, n);
}

void tsr_products_begin(tsr_products *w, const tsr_push_semiring *s, int64_t r)
{
    w->semiring = s;
    w->table = table();
    w->r = r;
    w->reads_u = tsr_push_reads_u(s);
    w->reads_a = tsr_push_reads_a(s);
    if (s->factor == TSR_FACTOR_VECTOR)
        put_position(w->one, s->result, 0, r + s->offset);
    else if (s->factor == TSR_FACTOR_VALUES && s->mul == TSR_EWISE_PAIR)
        tsr_cast_values(w->one, s->result, &(uint8_t){1}, TSR_BOOL, 1, 1);
}

void tsr_products_row(tsr_products *w, const tsr_view *u, int64_t t, int64_t k)
{
    w->filled = 0;
    if (w->reads_u)
        w->of_u = element(u, t);
    if (w->semiring->factor == TSR_FACTOR_MIDDLE)
        put_position(w->one, w->semiring->result, 0, k + w->semiring->offset);
}

static const void *make_positions(tsr_products *w, const int64_t *j, int64_t n)
{
    for (int64_t t = 0; t < n; t++)
        put_position(w->made, w->semiring->result, t, j[t] + w->semiring->offset);
    return w->made;
}

static const void *one_for_all(tsr_products *w, const void *one)
{
    w->step = 0;
    return one;
}

const void *tsr_products_make(tsr_products *w, const tsr_view *a, int64_t e, const int64_t *j, int64_t n)
{
    const tsr_push_semiring *s = w->semiring;
    w->step = -1;
    if (s->factor == TSR_FACTOR_OUTPUT)
        return make_positions(w, j, n);
    if (s->factor != TSR_FACTOR_VALUES || !(w->reads_u || w->reads_a))
        return one_for_all(w, w->one);
    if (!w->reads_a)
        return one_for_all(w, w->of_u);
    const void *x = element(a, e);
    if (!w->reads_u)
        return a->iso ? one_for_all(w, x) : x;
    if (a->iso)
        return one_for_all(w, operate(w, w->of_u, x, 1));
    if (w->filled < n) {
        tsr_repeat(w->same, w->of_u, n, tsr_type_size(s->type));
        w->filled = n;
    }
    return operate(w, w->same, x, n);
}

static void gather(void *x, const tsr_view *v, const int64_t *at, int64_t n)
{
    const size_t size = tsr_type_size(v->type);
    if (v->iso)
        tsr_repeat(x, v->x, n, size);
    else
        tsr_take(x, v->x, at, n, size);
}

static void list_values(void *x, const tsr_push *p, const int64_t *from, const int64_t *at, int64_t n)
{
    const tsr_push_semiring *s = &p->semiring;
    const size_t size_z = tsr_type_size(s->result);
    tsr_products w;
    uint64_t of_a[TSR_PRODUCTS];
    tsr_products_begin(&w, s, 0);
    if (!w.reads_u || !w.reads_a) {
        if (w.reads_u || w.reads_a)
            gather(x, w.reads_u ? &p->u : &p->a, w.reads_u ? from : at, n);
        else
            tsr_repeat(x, w.one, n, size_z);
        return;
    }
    for (int64_t first = 0; first < n; first += TSR_PRODUCTS) {
        const int64_t some = n - first < TSR_PRODUCTS ? n - first : TSR_PRODUCTS;
        gather(w.same, &p->u, from + first, some);
        gather(of_a, &p->a, at + first, some);
        memcpy((char *)x + (size_t)first * size_z, operate(&w, w.same, of_a, some), (size_t)some * size_z);
    }
}

#define PUT_POSITIONS(type, name)                                                                                          \
    static void put_##name(type *restrict x, const int64_t *restrict k, const int64_t *restrict at, int64_t offset, int64_t n) \
    {                                                                                                                      \
        for (int64_t t = 0; t < n; t++)                                                                                    \
            x[t] = (type)((k ? k[at[t]] : at[t]) + offset);                                                                \
    }
PUT_POSITIONS(int32_t, narrow)
PUT_POSITIONS(int64_t, wide)

/* k NULL: at is the position. */
static void put_positions(void *x, const tsr_push_semiring *s, const int64_t *k, const int64_t *at, int64_t n)
{
    if (s->result == TSR_INT32)
        put_narrow(x, k, at, s->offset, n);
    else
        put_wide(x, k, at, s->offset, n);
}

void tsr_products_list(void *x, const tsr_push *p, int64_t r, const int64_t *i, const int64_t *from, const int64_t *at, int64_t n)
{
    const tsr_push_semiring *s = &p->semiring;
    uint64_t position;
    switch (s->factor) {
    case TSR_FACTOR_VALUES: list_values(x, p, from, at, n); break;
    case TSR_FACTOR_MIDDLE: put_positions(x, s, p->u.i, from, n); break;
    case TSR_FACTOR_OUTPUT: put_positions(x, s, NULL, i, n); break;
    default:
        put_position(&position, s->result, 0, r + s->offset);
        tsr_repeat(x, &position, n, tsr_type_size(s->result));
    }
}
