/* Tuples become vectors as it is defined: place after place, tuple after tuple.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/build.h"

#include <string.h>

#include "kernels/ref/step.h"
#include "src/base/types.h"

static uint64_t vector_of(const tsr_tuples *t, int64_t k)
{
    return t->vector ? t->vector[k] : 0;
}

/* Is tuple k at a place before that of tuple l? */
static bool is_before(const tsr_tuples *t, int64_t k, int64_t l)
{
    return vector_of(t, k) < vector_of(t, l) || (vector_of(t, k) == vector_of(t, l) && t->place[k] < t->place[l]);
}

/* The first tuple of the least place behind that of tuple `last` (-1: of all); -1: there is none. */
static int64_t next_place(const tsr_tuples *t, int64_t last)
{
    int64_t found = -1;
    for (int64_t k = 0; k < t->count; k++)
        if ((last < 0 || is_before(t, last, k)) && (found < 0 || is_before(t, k, found)))
            found = k;
    return found;
}

static tsr_ewise_op operator_of(tsr_reduce_op monoid)
{
    static const tsr_ewise_op operators[TSR_REDUCE_COUNT] = {
        [TSR_REDUCE_PLUS] = TSR_EWISE_PLUS, [TSR_REDUCE_TIMES] = TSR_EWISE_TIMES, [TSR_REDUCE_MIN] = TSR_EWISE_MIN,
        [TSR_REDUCE_MAX] = TSR_EWISE_MAX,   [TSR_REDUCE_LOR] = TSR_EWISE_LOR,     [TSR_REDUCE_LAND] = TSR_EWISE_LAND,
        [TSR_REDUCE_LXOR] = TSR_EWISE_LXOR, [TSR_REDUCE_EQ] = TSR_EWISE_EQ};
    return operators[monoid];
}

static tsr_value join(const tsr_tuples *t, tsr_value x, tsr_value y)
{
    switch (t->joining) {
    case TSR_JOIN_LAST: return y;
    case TSR_JOIN_FOLD: return tsr_ref_operator(operator_of(t->monoid), t->type, x, y);
    default: return x;
    }
}

/* Of all tuples at the place of the first one; returns how many they are. */
static int64_t join_all(const tsr_tuples *t, int64_t first, tsr_value *x)
{
    int64_t count = 1;
    *x = tsr_value_load(t->type, t->x, first);
    for (int64_t k = first + 1; k < t->count; k++) {
        if (is_before(t, k, first) || is_before(t, first, k))
            continue;
        *x = join(t, *x, tsr_value_load(t->type, t->x, k));
        count++;
    }
    return count;
}

static bool fits(const tsr_tuples *t)
{
    for (int64_t k = 0; k < t->count; k++)
        if (vector_of(t, k) >= (uint64_t)t->nvec || t->place[k] >= (uint64_t)t->vlen)
            return false;
    return true;
}

tsr_status tsr_ref_build(tsr_tuples *t, uint64_t *h, uint64_t *p, uint64_t *i, void *x)
{
    t->nvals = t->nonempty = 0;
    if (!fits(t))
        return TSR_DECLINED;
    for (int64_t last = -1, k; (k = next_place(t, last)) >= 0; last = k) {
        tsr_value value;
        if (join_all(t, k, &value) > 1 && t->joining == TSR_JOIN_NONE)
            return TSR_DECLINED;
        if (last < 0 || vector_of(t, last) != vector_of(t, k)) {
            if (h)
                h[t->nonempty] = vector_of(t, k);
            if (p)
                p[t->nonempty] = (uint64_t)t->nvals;
            t->nonempty++;
        }
        if (i)
            i[t->nvals] = t->place[k];
        if (x)
            tsr_value_store(t->type, x, t->nvals, value);
        t->nvals++;
    }
    if (p)
        p[t->nonempty] = (uint64_t)t->nvals;
    return TSR_OK;
}
