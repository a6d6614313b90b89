/* Selection and extraction as they are defined, entry by entry.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/selection.h"

#include <string.h>

#include "kernels/ref/step.h"
#include "src/base/types.h"

static bool keeps_place(const tsr_selection *s, int64_t v, int64_t entry)
{
    const int64_t index = tsr_offset(s->a.i, s->a.index_size == 4, entry), bound = s->slope * (s->a.h ? s->a.h[v] : v) + s->bound;
    switch (s->keep) {
    case TSR_EWISE_LT: return index < bound;
    case TSR_EWISE_GE: return index >= bound;
    case TSR_EWISE_EQ: return index == bound;
    default: return index != bound;
    }
}

static bool function_keeps(const tsr_selection *s, int64_t v, int64_t entry)
{
    const tsr_view *a = &s->a;
    const uint64_t index = (uint64_t)tsr_offset(a->i, a->index_size == 4, entry), name = (uint64_t)(a->h ? a->h[v] : v);
    const char *x = (const char *)a->x + (a->iso ? 0 : (size_t)entry * tsr_type_size(a->type));
    uint64_t cast;
    bool keeps = false;
    tsr_cast_values(&cast, s->x_type, x, a->type, 1, 1);
    s->function(&keeps, &cast, a->by_col ? index : name, a->by_col ? name : index, &s->thunk);
    return keeps;
}

bool tsr_ref_keeps(const tsr_selection *s, int64_t v, int64_t entry)
{
    if (s->placed)
        return keeps_place(s, v, entry);
    if (s->function)
        return function_keeps(s, v, entry);
    const tsr_view *a = &s->a;
    const tsr_value x = tsr_value_load(a->type, a->x, entry), y = tsr_value_load(a->type, &s->thunk, 0);
    return tsr_ref_operator(s->keep, a->type, x, y).bits != 0;
}

/* The entries of a vector of T, one place after the other. */
static int64_t extract_vector(const tsr_extraction *e, int64_t v, int64_t at, void *i, char *x)
{
    const tsr_view *a = &e->a;
    const size_t size = tsr_type_size(a->type);
    const bool narrow = a->index_size == 4;
    for (int64_t l = 0; l < e->places.count; l++) {
        for (int64_t entry = tsr_view_start(a, v); entry < tsr_view_start(a, v + 1); entry++) {
            if (tsr_offset(a->i, narrow, entry) != tsr_index_at(&e->places, l))
                continue;
            if (i && e->narrow)
                ((uint32_t *)i)[at] = (uint32_t)l;
            else if (i)
                ((int64_t *)i)[at] = l;
            if (x)
                memcpy(x + (size_t)at * size, (const char *)a->x + (size_t)entry * size, size);
            at++;
        }
    }
    return at;
}

void tsr_ref_extract(const tsr_extraction *e, int64_t *p, void *i, void *x)
{
    p[0] = 0;
    for (int64_t k = 0; k < e->vectors.count; k++)
        p[k + 1] = extract_vector(e, tsr_index_at(&e->vectors, k), p[k], i, x);
}
