/* What a random case does to its objects between calls: copies, other sizes, entries that come and go.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "case.h"

static GrB_Info resize(case_object *o, int64_t nrows, int64_t ncols)
{
    printf(" to %lldx%lld", (long long)nrows, (long long)ncols);
    o->nrows = nrows;
    o->ncols = o->vector ? 1 : ncols;
    return o->vector ? GrB_Vector_resize(o->v, (GrB_Index)nrows) : GrB_Matrix_resize(o->m, (GrB_Index)nrows, (GrB_Index)ncols);
}

static GrB_Info clear(case_object *o)
{
    o->level = 0;
    o->iso = false;
    return o->vector ? GrB_Vector_clear(o->v) : GrB_Matrix_clear(o->m);
}

/* A few entries, which stay pending where they are new. */
static GrB_Info set_elements(case_object *o)
{
    GrB_Info info = GrB_SUCCESS;
    case_drop_empties(o); /* 7.4.0 lists a new vector behind later ones that have no entry */
    for (int k = 1 + rng_below(3); k > 0 && info == GrB_SUCCESS; k--) {
        any_value x = {.i = 0};
        const GrB_Index i = rng_next() % (uint64_t)o->nrows, j = rng_next() % (uint64_t)o->ncols;
        value_put(o->type, &x, 0, rng_below(5));
        info = o->vector ? vec_set(o->type, o->v, &x, i) : mat_set(o->type, o->m, &x, i, j);
        case_wrote(o);
    }
    o->written = true;
    return info;
}

static GrB_Info remove_elements(case_object *o)
{
    GrB_Info info = GrB_SUCCESS;
    for (int k = 1 + rng_below(6); k > 0 && info == GrB_SUCCESS; k--) {
        const GrB_Index i = rng_next() % (uint64_t)o->nrows, j = rng_next() % (uint64_t)o->ncols;
        info = o->vector ? GrB_Vector_removeElement(o->v, i) : GrB_Matrix_removeElement(o->m, i, j);
        case_wrote(o);
    }
    return info;
}

case_object *case_change(one_case *c, GrB_Info *info)
{
    static const char *const names[] = {"dup", "resize", "clear", "set", "remove"};
    const bool vector = rng_chance(30);
    const int64_t m = case_size(c), n = case_size(c), rows = case_size(c), columns = case_size(c);
    const int which = rng_below(5);
    printf("; %s", names[which]);
    case_object *o = case_shaped(c, vector, m, n, ANY_LEVEL);
    if (!o || (which > 2 && case_cells(o->nrows, o->ncols) == 0)) return NULL;
    switch (which) {
        case 0: return case_copy(c, o, info);
        case 1:
            if (case_needs_lists(rows, vector ? 1 : columns)) return NULL;
            *info = resize(o, rows, columns);
            break;
        case 2: *info = clear(o); break;
        case 3: *info = set_elements(o); break;
        default: *info = remove_elements(o); break;
    }
    return o;
}
