/* SpMM where all columns of C are equal: y = A (+).(x) one column of B, copied n times.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/spmm/spmm_plan.h"

#include <stdlib.h>
#include <string.h>

struct copies {
    const tsr_product *product;
    const char *y;
    char *c;
    size_t size;
};

static void copy_to_rows(void *context, int64_t first, int64_t last)
{
    struct copies *s = context;
    size_t row = (size_t)s->product->n * s->size;
    for (int64_t r = first; r < last; r++)
        tsr_fill(s->c + (size_t)r * row, s->y + (size_t)r * s->size, s->size, s->product->n);
}

static void copy_to_columns(void *context, int64_t first, int64_t last)
{
    struct copies *s = context;
    size_t column = (size_t)s->product->m * s->size;
    for (int64_t j = first; j < last; j++)
        memcpy(s->c + (size_t)j * column, s->y, column);
}

/* FIRST and PAIR with a full B, or a full iso B; n > 1. */
bool tsr_cpu_spmm_copies_takes(const tsr_product *product)
{
    tsr_mul mul = product->semiring.mul;
    return tsr_is_compressed(&product->a) && product->n > 1 && product->b.format == TSR_FULL &&
           (mul == TSR_MUL_FIRST || mul == TSR_MUL_PAIR || product->b.iso);
}

static void copy_column(const tsr_product *product, const char *y, void *c, size_t size)
{
    struct copies copies = { product, y, c, size };
    if (product->c_by_col)
        tsr_for_ranges(product->n, 1, product->nthreads, copy_to_columns, &copies);
    else
        tsr_for_ranges(product->m, 1 + (1 << 16) / product->n, product->nthreads, copy_to_rows, &copies);
}

tsr_status tsr_cpu_spmm_copies(const tsr_product *product, tsr_result *result)
{
    if (!tsr_cpu_spmm_copies_takes(product) || !tsr_values_fit(product))
        return TSR_DECLINED;
    if (tsr_is_trivial(product, result))
        return TSR_OK;
    size_t size = tsr_type_size(product->semiring.type);
    char *y = tsr_scratch((size_t)product->m * (size + 1));
    if (y == NULL)
        return TSR_OUT_OF_MEMORY;
    tsr_product one = *product;
    one.op = TSR_OP_SPMV;
    one.n = 1;
    one.b.ncols = 1;
    tsr_result column = { .x = y, .b = (int8_t *)y + (size_t)product->m * size };
    tsr_status status = tsr_cpu_spmv(&one, &column);
    if (status == TSR_OK) {
        copy_column(product, y, result->x, size);
        result->nvals = result->b != NULL ? tsr_spmm_spread(product, column.b, result->b) : product->m * product->n;
    }
    free(y);
    return status;
}
