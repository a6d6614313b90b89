/* SpMV that counts: under PAIR with a full vector, y of a row of A follows from the number of its entries (PLUS: that number; else 1), so
 * that neither indices nor values are read.  A by row.  Declined: values of another type than the semiring's.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/common/chunks.h"
#include "kernels/cpu/spmm/spmm_plan.h"

#include <string.h>

typedef struct counts {
    const tsr_product *product;
    void *y;
    int8_t *present; /* or NULL */
} counts;

bool tsr_cpu_spmv_counts_takes(const tsr_product *p)
{
    return p->semiring.mul == TSR_MUL_PAIR && p->b.format == TSR_FULL && tsr_cpu_rows_times_vector(p);
}

#define STORE(kind) \
    for (int64_t v = first; v < last; v++) { \
        const int64_t n = tsr_view_start(a, v + 1) - tsr_view_start(a, v); \
        ((kind *)c->y)[h ? h[v] : v] = (kind)(adds ? n : n > 0); \
    } \
    break

static void store_counts(const counts *c, int64_t first, int64_t last)
{
    const tsr_view *a = &c->product->a;
    const int64_t *h = a->h;
    const bool adds = c->product->semiring.add == TSR_ADD_PLUS;
    switch (c->product->semiring.type) {
    case TSR_FP32: STORE(float);
    case TSR_FP64: STORE(double);
    case TSR_INT16: case TSR_UINT16: STORE(uint16_t);
    case TSR_INT32: case TSR_UINT32: STORE(uint32_t);
    case TSR_INT64: case TSR_UINT64: STORE(uint64_t);
    default: STORE(uint8_t);
    }
}

static void count_rows(void *context, int64_t first, int64_t last)
{
    const counts *c = context;
    const tsr_view *a = &c->product->a;
    store_counts(c, first, last);
    for (int64_t v = first; c->present && v < last; v++)
        c->present[a->h ? a->h[v] : v] = tsr_view_start(a, v + 1) > tsr_view_start(a, v);
}

tsr_status tsr_cpu_spmv_counts(const tsr_product *product, tsr_result *result)
{
    if (!tsr_cpu_spmv_counts_takes(product) || !tsr_values_fit(product))
        return TSR_DECLINED;
    if (result->c)
        return tsr_cpu_spmv(product, result); /* joins to C */
    if (tsr_is_trivial(product, result))
        return TSR_OK;
    counts c = {product, result->x, result->b};
    const size_t m = (size_t)product->m;
    if (product->a.h)
        memset(result->x, 0, m * tsr_type_size(product->semiring.type));
    if (product->a.h && result->b)
        memset(result->b, 0, m);
    tsr_for_ranges(product->a.nvec, 1 << 14, product->nthreads, count_rows, &c);
    result->nvals = result->b ? tsr_count_flags(result->b, product->m, product->nthreads) : product->m;
    return TSR_OK;
}
