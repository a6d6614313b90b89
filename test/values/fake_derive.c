/* Typecasts, transposes, what depends on places and what is gathered or scattered, one element at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "fake_values.h"

static bool has(const fake_value *v, int64_t k)
{
    return !v->b || v->b[k];
}

fake_value *fake_cast(const fake_value *v, tsr_type to)
{
    fake_value *r = fake_new(v->count, to, v->b != NULL);
    tsr_cast_values(r->x, to, v->x, v->type, v->count, 1);
    if (v->b)
        memcpy(r->b, v->b, (size_t)v->count);
    return r;
}

static void copy(fake_value *r, int64_t to, const fake_value *v, int64_t from)
{
    size_t size = tsr_type_size(v->type);
    memcpy((char *)r->x + (size_t)to * size, (const char *)v->x + (size_t)from * size, size);
    if (r->b)
        r->b[to] = has(v, from);
}

fake_value *fake_turn(const fake_value *v, int64_t vectors, int64_t length)
{
    fake_value *r = fake_new(v->count, v->type, v->b != NULL);
    for (int64_t vector = 0; vector < vectors; vector++)
        for (int64_t place = 0; place < length; place++)
            copy(r, place * vectors + vector, v, vector * length + place);
    return r;
}

static bool keeps(tsr_ewise_op keep, int64_t index)
{
    switch (keep) {
    case TSR_EWISE_EQ: return index == 0;
    case TSR_EWISE_NE: return index != 0;
    case TSR_EWISE_GT: return index > 0;
    case TSR_EWISE_LT: return index < 0;
    case TSR_EWISE_GE: return index >= 0;
    default: return index <= 0;
    }
}

fake_value *fake_places(const tsr_places *p)
{
    const fake_value *v = p->value;
    fake_value *r = fake_new(v->count, p->select ? v->type : TSR_INT64, v->b != NULL || p->select);
    for (int64_t at = 0; at < v->count; at++) {
        uint64_t index = (uint64_t)(p->by_vector * (at / p->length) + p->by_place * (at % p->length)) + (uint64_t)p->offset;
        if (!p->select) {
            memcpy((int64_t *)r->x + at, &index, sizeof index);
            if (r->b)
                r->b[at] = has(v, at);
        } else if (has(v, at) && keeps(p->keep, (int64_t)index)) {
            copy(r, at, v, at);
        }
    }
    return r;
}

fake_value *fake_gather(const fake_value *v, const tsr_indices *from)
{
    fake_value *r = fake_new(from->count, v->type, v->b != NULL);
    for (int64_t k = 0; k < from->count; k++)
        copy(r, k, v, tsr_index_at(from, k));
    return r;
}

fake_value *fake_scatter(const fake_value *v, const tsr_indices *to, int64_t count)
{
    fake_value *r = fake_new(count, v->type, true);
    bool once = true;
    for (int64_t k = 0; k < to->count; k++) {
        const int64_t at = tsr_index_at(to, k);
        once = once && !(has(v, k) && r->b[at]);
        if (has(v, k))
            copy(r, at, v, k);
    }
    if (once)
        return r;
    fake_free(r);
    return NULL;
}
