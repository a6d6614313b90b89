/* SpMM on the CPU: which way a product goes, and what is common to all ways.
 *
 *   A by row     gather (spmm_gather.c): tiles of C in registers, or entry by entry
 *   A by column  scatter (spmm_scatter.c)
 *   n = 1        SpMV
 *
 * Declined: operands of another type than the semiring's, a sparse B, a dense A (gemm.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/spmm/spmm_plan.h"

#include <stdlib.h>
#include <string.h>

bool tsr_cpu_spmm_joins(const tsr_product *product)
{
    const tsr_semiring s = product->semiring;
    return product->op == TSR_OP_SPMM && s.add == TSR_ADD_PLUS && s.mul == TSR_MUL_TIMES && (s.type == TSR_FP32 || s.type == TSR_FP64) &&
           product->a.format == TSR_SPARSE && !product->a.by_col && product->a.nvals > 0 && product->m > 0 && product->n > 1 &&
           product->b.format == TSR_FULL && !product->b.iso;
}

static bool accepts(const tsr_product *product, const tsr_result *result)
{
    return tsr_is_compressed(&product->a) && !tsr_is_compressed(&product->b) && tsr_values_fit(product) &&
           (!result->c || tsr_cpu_spmm_joins(product));
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

tsr_status tsr_cpu_spmm(const tsr_product *product, tsr_result *result)
{
    if (!accepts(product, result))
        return TSR_DECLINED;
    if (tsr_is_trivial(product, result))
        return TSR_OK;
    if (product->n == 1)
        return tsr_cpu_spmv(product, result);
    tsr_spmm_plan plan;
    tsr_status status = plan_make(&plan, product, result);
    if (status == TSR_OK)
        status = product->a.by_col ? tsr_spmm_scatter(&plan, result) : tsr_spmm_gather(&plan, result);
    free(plan.b_same);
    return status;
}
