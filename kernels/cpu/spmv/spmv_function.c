/* SpMV that multiplies by a function of the caller's: a row is summed up as its products are made.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernels/cpu/common/chunks.h"
#include "kernels/cpu/common/template.h"
#include "kernels/function_product.h"
#include "src/base/split.h"
#include "src/base/types.h"

/* As a macro, bool would be expanded before it is pasted into a name. */
#undef bool
typedef _Bool bool;

enum { PARTS_PER_THREAD = 8 };

typedef struct multiplying {
    const tsr_function_product *p;
    int8_t *present;
    void *t;
    size_t a_step; /* bytes from one value of A to the next */
    int nparts;
    int64_t found;
} multiplying;

static inline void multiply(const multiplying *w, int64_t entry, void *z)
{
    const tsr_function_product *p = w->p;
    const char *x = (const char *)p->a.x + (size_t)entry * w->a_step;
    const char *y = (const char *)p->u + (size_t)tsr_offset(p->a.i, p->a.index_size == 4, entry) * p->u_step;
    if (p->swapped)
        p->multiply(z, y, x);
    else
        p->multiply(z, x, y);
}

/* The sum of entries [from, to), which are some. */
typedef void sum_row(const multiplying *w, int64_t row, int64_t from, int64_t to);

#define SUM(name, type, join)                                                                     \
    static void sum_##name##_##type(const multiplying *w, int64_t row, int64_t from, int64_t to)  \
    {                                                                                             \
        tsr_c_##type x, y;                                                                        \
        multiply(w, from, &x);                                                                    \
        for (int64_t e = from + 1; e < to; e++) {                                                 \
            multiply(w, e, &y);                                                                   \
            x = (tsr_c_##type)(join);                                                             \
        }                                                                                         \
        ((tsr_c_##type *)w->t)[row] = x;                                                          \
    }
TSR_FOR_MONOIDS(SUM)

#define SUM_NAMED(name, type) sum_##name##_##type

static sum_row *find_sum(const tsr_function_product *p)
{
    TSR_RETURN_OF_MONOID(p->type, p->add, SUM_NAMED)
    return NULL;
}

bool tsr_cpu_function_product_takes(const tsr_function_product *product)
{
    return find_sum(product);
}

static void run_part(void *context, int64_t part)
{
    multiplying *w = context;
    const tsr_view *a = &w->p->a;
    sum_row *const sum = find_sum(w->p);
    const int64_t first = tsr_part_vector_of(tsr_offsets_of(a), a->nvec, (int)part, w->nparts);
    const int64_t last = tsr_part_vector_of(tsr_offsets_of(a), a->nvec, (int)part + 1, w->nparts);
    int64_t found = 0;
    for (int64_t v = first; v < last; v++) {
        const int64_t row = a->h ? a->h[v] : v, from = tsr_view_start(a, v), to = tsr_view_start(a, v + 1);
        w->present[row] = from < to;
        if (from == to)
            continue;
        found++;
        sum(w, row, from, to);
    }
    __atomic_fetch_add(&w->found, found, __ATOMIC_RELAXED);
}

int64_t tsr_cpu_function_product(const tsr_function_product *product, int8_t *present, void *t)
{
    multiplying w = {.p = product, .present = present, .t = t, .nparts = product->nthreads > 1 ? product->nthreads * PARTS_PER_THREAD : 1};
    w.a_step = product->a.iso ? 0 : tsr_type_size(product->a.type);
    if (product->a.h)
        memset(present, 0, (size_t)product->length);
    tsr_for_jobs(w.nparts, product->nthreads, run_part, &w);
    return w.found;
}
