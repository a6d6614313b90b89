/* SpMM on the CPU: which way a product goes, and what is common to all ways.
 *
 *   A by row               gather (spmm_gather.c): tiles of C in registers, or entry by entry
 *   A by column            scatter (spmm_scatter.c)
 *   columns of C all equal FIRST and PAIR with a full B, or a full iso B: one SpMV, then copies
 *   n = 1                  SpMV
 *
 * Declined: operands of another type than the semiring's, a sparse B, a dense A (gemm.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/spmm/spmm_plan.h"

#include <stdlib.h>
#include <string.h>

static bool accepts(const tsr_product *product)
{
    return tsr_is_compressed(&product->a) && !tsr_is_compressed(&product->b) && tsr_values_fit(product);
}

static void plan_a(tsr_spmm_plan *plan)
{
    const tsr_view *a = &plan->product->a;
    plan->a_one = tsr_one_bits(plan->product->semiring.type);
    bool constant = !tsr_reads_a(plan->product) || a->x == NULL;
    plan->a = constant ? (const char *)&plan->a_one : a->x;
    plan->a_step = constant || a->iso ? 0 : 1;
}

static tsr_status plan_b(tsr_spmm_plan *plan)
{
    const tsr_view *b = &plan->product->b;
    bool ignored = !tsr_reads_b(plan->product) || b->x == NULL;
    plan->flags = b->format == TSR_BITMAP;
    plan->b = b->x;
    plan->ldb = b->ld;
    if (!b->iso && !ignored)
        return TSR_OK;
    plan->b_same = malloc((size_t)plan->product->n * plan->size);
    if (plan->b_same == NULL)
        return TSR_OUT_OF_MEMORY;
    tsr_fill(plan->b_same, ignored ? (const void *)&plan->a_one : b->x, plan->size, plan->product->n);
    plan->b = plan->b_same;
    plan->ldb = 0;
    return TSR_OK;
}

static tsr_status plan_make(tsr_spmm_plan *plan, const tsr_product *product, const tsr_result *result)
{
    memset(plan, 0, sizeof *plan);
    plan->product = product;
    plan->result = result;
    plan->table = TSR_PICK_ISA(&tsr_spmm_table);
    plan->semiring = tsr_canonical(product->semiring);
    plan->size = tsr_type_size(product->semiring.type);
    plan->identity = tsr_identity_bits(product->semiring.type, product->semiring.add);
    plan_a(plan);
    return plan_b(plan);
}

/* All columns of C are equal: y = A (+).(x) one column of B, copied n times. */
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

static bool columns_equal(const tsr_product *product)
{
    tsr_mul mul = product->semiring.mul;
    return product->b.format == TSR_FULL && (mul == TSR_MUL_FIRST || mul == TSR_MUL_PAIR || product->b.iso);
}

static void copy_column(const tsr_product *product, const char *y, void *c, size_t size)
{
    struct copies copies = { product, y, c, size };
    if (product->c_by_col)
        tsr_for_ranges(product->n, 1, product->nthreads, copy_to_columns, &copies);
    else
        tsr_for_ranges(product->m, 1 + (1 << 16) / product->n, product->nthreads, copy_to_rows, &copies);
}

static tsr_status spmm_equal_columns(const tsr_product *product, tsr_result *result)
{
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

tsr_status tsr_cpu_spmm(const tsr_product *product, tsr_result *result)
{
    if (!accepts(product))
        return TSR_DECLINED;
    if (tsr_is_trivial(product, result))
        return TSR_OK;
    if (product->n == 1)
        return tsr_cpu_spmv(product, result);
    if (columns_equal(product))
        return spmm_equal_columns(product, result);
    tsr_spmm_plan plan;
    tsr_status status = plan_make(&plan, product, result);
    if (status == TSR_OK)
        status = product->a.by_col ? tsr_spmm_scatter(&plan, result) : tsr_spmm_gather(&plan, result);
    free(plan.b_same);
    return status;
}
