/* A sparse matrix times a full vector by a function, entry by entry.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/function_product.h"

#include <string.h>

#include "kernels/ref/step.h"
#include "src/base/types.h"

static tsr_value product_of(const tsr_function_product *p, int64_t entry)
{
    const tsr_view *a = &p->a;
    const char *x = (const char *)a->x + (a->iso ? 0 : (size_t)entry * tsr_type_size(a->type));
    const char *y = (const char *)p->u + (size_t)tsr_offset(a->i, a->index_size == 4, entry) * p->u_step;
    uint64_t z = 0;
    p->multiply(&z, p->swapped ? y : x, p->swapped ? x : y);
    return tsr_value_load(p->type, &z, 0);
}

int64_t tsr_ref_function_product(const tsr_function_product *p, int8_t *present, void *t)
{
    const tsr_view *a = &p->a;
    int64_t found = 0;
    memset(present, 0, (size_t)p->length);
    for (int64_t v = 0; v < a->nvec; v++) {
        const int64_t row = a->h ? a->h[v] : v, end = tsr_view_start(a, v + 1);
        for (int64_t e = tsr_view_start(a, v); e < end; e++) {
            const tsr_value z = product_of(p, e);
            tsr_value_store(p->type, t, row, present[row] ? tsr_ref_join(p->type, p->add, tsr_value_load(p->type, t, row), z) : z);
            found += !present[row];
            present[row] = 1;
        }
    }
    return found;
}
