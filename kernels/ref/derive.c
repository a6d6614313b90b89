/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ref/derive.h"

#include <math.h>
#include <string.h>

#include "kernels/ref/step.h"

static bool is_present(const tsr_elements *e, int64_t k)
{
    return !e->present || e->present[k];
}

/* ---- sums ---- */

/* The vector's elements one after the other, as tsr_ref_reduce takes them. */
static void sum_of(const tsr_sums *s, const tsr_elements *e, int64_t vector, tsr_value *sum, bool *any)
{
    *sum = (tsr_value){0};
    *any = false;
    for (int64_t k = 0; k < s->length; k++) {
        int64_t at = s->across ? k * s->vectors + vector : vector * s->length + k;
        if (!is_present(e, at))
            continue;
        tsr_value x = tsr_value_load(s->type, e->x, at);
        *sum = *any ? tsr_ref_join(s->type, s->op, *sum, x) : x;
        *any = true;
    }
}

void tsr_ref_sums(const tsr_sums *s, const tsr_elements *e, void *z, int8_t *z_present)
{
    for (int64_t vector = 0; vector < s->vectors; vector++) {
        tsr_value sum;
        bool any;
        sum_of(s, e, vector, &sum, &any);
        tsr_value_store(s->type, z, vector, sum);
        z_present[vector] = any;
    }
}

/* ---- typecasts ---- */

static int bits_of(tsr_type type)
{
    static const int bits[TSR_TYPE_COUNT] = {1, 8, 16, 32, 64, 8, 16, 32, 64};
    return bits[type];
}

static bool is_signed(tsr_type type)
{
    return type >= TSR_INT8 && type <= TSR_INT64;
}

static uint64_t saturated(tsr_type to, long double x)
{
    long double most = ldexpl(1, bits_of(to) - is_signed(to)) - 1, least = is_signed(to) ? -most - 1 : 0;
    if (isnan(x))
        return 0;
    x = x > most ? most : x < least ? least : truncl(x);
    return x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x;
}

tsr_value tsr_ref_cast(tsr_type to, tsr_type from, tsr_value x)
{
    if (to == TSR_BOOL)
        return (tsr_value){.bits = tsr_value_true(from, x)};
    if (!tsr_type_is_float(to))
        return (tsr_value){.bits = tsr_type_is_float(from) ? saturated(to, x.real) : x.bits};
    if (tsr_type_is_float(from))
        return x;
    return (tsr_value){.real = is_signed(from) ? (long double)(int64_t)x.bits : (long double)x.bits};
}

void tsr_ref_cast_all(void *z, int8_t *z_present, tsr_type to, const tsr_elements *e, tsr_type from, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        z_present[k] = is_present(e, k);
        tsr_value_store(to, z, k, z_present[k] ? tsr_ref_cast(to, from, tsr_value_load(from, e->x, k)) : (tsr_value){0});
    }
}

/* ---- transposes, places, gathering and scattering ---- */

static void copy(void *z, int64_t to, const tsr_elements *e, int64_t from, size_t size, bool present)
{
    memset((char *)z + (size_t)to * size, 0, size);
    if (present)
        memcpy((char *)z + (size_t)to * size, (const char *)e->x + (size_t)from * size, size);
}

void tsr_ref_turn(void *z, int8_t *z_present, const tsr_elements *e, size_t size, int64_t vectors, int64_t length)
{
    for (int64_t vector = 0; vector < vectors; vector++)
        for (int64_t place = 0; place < length; place++) {
            int64_t from = vector * length + place, to = place * vectors + vector;
            z_present[to] = is_present(e, from);
            copy(z, to, e, from, size, z_present[to]);
        }
}

static bool keeps(tsr_ewise_op keep, int64_t index)
{
    return tsr_ref_operator(keep, TSR_INT64, (tsr_value){.bits = (uint64_t)index}, (tsr_value){0}).bits;
}

void tsr_ref_places(const tsr_places *p, const tsr_elements *e, size_t size, void *z, int8_t *z_present)
{
    for (int64_t vector = 0; vector < p->vectors; vector++)
        for (int64_t place = 0; place < p->length; place++) {
            int64_t at = vector * p->length + place;
            int64_t index = (int64_t)((uint64_t)(p->by_vector * vector + p->by_place * place) + (uint64_t)p->offset);
            z_present[at] = is_present(e, at) && (!p->select || keeps(p->keep, index));
            if (p->select)
                copy(z, at, e, at, size, z_present[at]);
            else
                ((int64_t *)z)[at] = z_present[at] ? index : 0;
        }
}

void tsr_ref_gather(const tsr_indices *from, const tsr_elements *e, size_t size, void *z, int8_t *z_present)
{
    for (int64_t k = 0; k < from->count; k++) {
        int64_t at = tsr_index_at(from, k);
        z_present[k] = is_present(e, at);
        copy(z, k, e, at, size, z_present[k]);
    }
}

bool tsr_ref_scatter(const tsr_indices *to, const tsr_elements *e, size_t size, void *z, int8_t *z_present, int64_t count)
{
    bool once = true;
    memset(z, 0, (size_t)count * size);
    memset(z_present, 0, (size_t)count);
    for (int64_t k = 0; k < to->count; k++) {
        int64_t at = tsr_index_at(to, k);
        if (!is_present(e, k))
            continue;
        once = once && !z_present[at];
        z_present[at] = 1;
        copy(z, at, e, k, size, true);
    }
    return once;
}
