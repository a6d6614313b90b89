/* Plans of products: the arithmetic that the caller allows, then a kernel asked for by name, or what is predicted to be the fastest;
 * what is not there yet is built when it has paid.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/spmm/product_plan.h"

#include <math.h>
#include <string.h>

#include "backends/cuda/spmm/form_choice.h"
#include "backends/cuda/spmm/matrix_statistics.h"

/* ---- arithmetic ---- */

static bool is_real(tsr_type type)
{
    return type == TSR_FP32 || type == TSR_FP64;
}

/* The one value of A is kept as a real number: integers have no room in it. */
static bool iso_fits(const tsr_product *p)
{
    return !p->a.iso || p->semiring.mul == TSR_MUL_SECOND || is_real(p->semiring.type);
}

/* Is there a choice beside CSR? */
static bool could_be_blocks(const tsr_product *p, unsigned semirings)
{
    return p->op == TSR_OP_SPMM && p->n > 1 && p->b.format == TSR_FULL && semirings != 0 && iso_fits(p);
}

static tsr_status choose_math(tsr_cuda_arithmetic *how, tsr_cuda_sparse *a, const tsr_product *p, unsigned semirings)
{
    static const tsr_cuda_math of_precision[] = {
        [TSR_PRECISION_EXACT] = TSR_CUDA_EXACT, [TSR_PRECISION_TF32] = TSR_CUDA_TF32, [TSR_PRECISION_BF16] = TSR_CUDA_BF16,
        [TSR_PRECISION_FP16] = TSR_CUDA_FP16,
    };
    bool wide = tsr_type_size(p->semiring.type) == 8;
    how->math = wide ? TSR_CUDA_FP64 : semirings == TSR_CUDA_SUMS ? of_precision[p->precision] : TSR_CUDA_EXACT;
    if (how->math == TSR_CUDA_BF16 && how->streamed && !how->bounded)
        how->math = TSR_CUDA_EXACT;
    if (how->math != TSR_CUDA_FP16)
        return TSR_OK;
    tsr_status status = tsr_cuda_check_range(a);
    if (a->statistics.out_of_range || (how->streamed && !how->bounded) || !(fabs(how->iso) < TSR_CUDA_FP16_LIMIT))
        how->math = TSR_CUDA_EXACT;
    return status;
}

/* SECOND is TIMES with ones (over integers: the real number with the bits of one), over MIN and MAX PLUS with zeros. */
static double second_value(tsr_semiring s)
{
    static const uint32_t one = 1;
    float bits;
    memcpy(&bits, &one, sizeof bits);
    if (s.add != TSR_ADD_PLUS)
        return 0.0;
    return is_real(s.type) ? 1.0 : tsr_type_size(s.type) == 8 ? 0x1p-1074 : (double)bits;
}

static double iso_value(const tsr_product *p)
{
    if (p->semiring.mul == TSR_MUL_SECOND)
        return second_value(p->semiring);
    if (!p->a.iso || !p->a.x)
        return 1.0;
    return p->semiring.type == TSR_FP64 ? *(const double *)p->a.x : (double)*(const float *)p->a.x;
}

/* TF32 by FP16 kernels, where these are predicted to be faster, finding the range of B and rounding it included. */
static tsr_status consider_narrow(tsr_cuda_plan *plan, tsr_cuda_sparse *a, const tsr_product *p)
{
    double iso = fabs(plan->how.iso);
    bool fits = a->csr.x || iso == 0 || (iso >= 0x1p-14 && iso < TSR_CUDA_FP16_LIMIT);
    if (plan->how.math != TSR_CUDA_TF32 || plan->how.streamed || a->statistics.wide || !fits)
        return TSR_OK;
    tsr_gpu_matrix m = tsr_cuda_matrix_of(a);
    if (!tsr_prefers_narrow(tsr_cuda->model, &m, (double)p->n, tsr_cuda_allowed_forms(&m, &plan->how, plan->semirings)))
        return TSR_OK;
    tsr_status status = tsr_cuda_find_shift(a);
    plan->how.narrow = status == TSR_OK && a->statistics.narrow;
    plan->how.math = plan->how.narrow ? TSR_CUDA_FP16 : TSR_CUDA_TF32;
    return status;
}

/* ---- representation ---- */

static tsr_status find_or_build(tsr_cuda_plan *plan, tsr_cuda_sparse *a, int form, const tsr_product *p)
{
    const tsr_cuda_kernel *kernel = tsr_cuda_kernel_of(form);
    tsr_cuda_blocks like = tsr_cuda_describe(kernel, &plan->how, a, p->n), *b = tsr_cuda_find_blocks(a->blocks, &like);
    tsr_status status = TSR_OK;
    if (!b) {
        status = like.width == 0 ? TSR_OK : tsr_cuda_count_matrix(a, p->reorder);
        if (status == TSR_OK)
            status = tsr_cuda_build_blocks(&b, a, &like);
    }
    if (b && !b->refused) {
        plan->blocks = b;
        plan->name = tsr_cuda_trace_name(kernel, plan->semirings, plan->how.math, plan->how.narrow);
        plan->limit = tsr_cuda_limit(kernel, plan->how.math);
    }
    return status;
}

/* Of the form that was chosen, and of CSR in FP32 or FP64, as which a product is computed whose C is finished by it. */
static void predict(tsr_cuda_plan *plan, const tsr_cuda_sparse *a, int form, const tsr_product *p)
{
    double ms[TSR_FORMS];
    const tsr_gpu_matrix m = tsr_cuda_matrix_of(a);
    tsr_predict_forms(ms, tsr_cuda->model, &m, (tsr_gpu_math)plan->how.math, (double)p->n, TSR_ALL_FORMS);
    plan->own_ms = ms[form];
    plan->csr_ms = tsr_cuda_csr_ms(a, tsr_cuda_is_half(plan->how.math) ? TSR_CUDA_EXACT : plan->how.math, p->n);
}

/* The choice by itself. */
static tsr_status choose_blocks(tsr_cuda_plan *plan, tsr_cuda_sparse *a, const tsr_product *p)
{
    tsr_cuda_statistics *statistics = &a->statistics;
    if (statistics->failed ||
        (!statistics->inspected && !tsr_may_inspect(&statistics->rental, tsr_cuda_csr_ms(a, plan->how.math, p->n), p->expected_calls)))
        return TSR_OK;
    tsr_status status = tsr_cuda_sample_matrix(a);
    if (status == TSR_OK)
        status = tsr_cuda_consider_order(a, plan->how.math, p);
    if (status == TSR_OK)
        status = consider_narrow(plan, a, p);
    if (status != TSR_OK)
        return status;
    int form = tsr_cuda_choose_form(a, &plan->how, plan->semirings, p);
    if (plan->how.streamed)
        predict(plan, a, form, p);
    return form == TSR_GPU_CSR ? TSR_OK : find_or_build(plan, a, form, p);
}

/* A kernel asked for by name that has no such semiring leaves the choice to us; csr does not. */
static tsr_status named_or_chosen(tsr_cuda_plan *plan, tsr_cuda_sparse *a, const tsr_product *p, bool keep)
{
    const int named = p->kernel ? tsr_gpu_find_kernel(p->kernel) : -1;
    if (named == TSR_GPU_CSR)
        return TSR_OK;
    if (named >= 0 && (tsr_cuda_kernel_of(named)->format->semirings & plan->semirings) && tsr_cuda_may_run(named, &plan->how))
        return find_or_build(plan, a, named, p);
    return keep ? choose_blocks(plan, a, p) : TSR_OK;
}

/* plan->how says how, but for math and iso. */
static tsr_status make_plan(tsr_cuda_plan *plan, tsr_cuda_sparse *a, const tsr_product *p, bool keep)
{
    plan->name = "csr";
    plan->own_ms = plan->csr_ms = -1;
    plan->how.iso = 1.0;
    plan->semiring = p->semiring;
    plan->semirings = tsr_cuda_class_of(p->semiring);
    if (!could_be_blocks(p, plan->semirings))
        return TSR_OK;
    plan->how.iso = iso_value(p);
    tsr_status status = choose_math(&plan->how, a, p, plan->semirings);
    if (status == TSR_OK)
        status = named_or_chosen(plan, a, p, keep);
    if (status == TSR_OK && !plan->blocks && tsr_cuda_is_half(plan->how.math))
        status = find_or_build(plan, a, TSR_GPU_CSR, p); /* rounding the values costs next to nothing */
    if (status != TSR_OK && status != TSR_INTERNAL_ERROR) {
        a->statistics.failed = true;
        status = TSR_OK;
    }
    return status;
}

tsr_status tsr_cuda_make_plan(tsr_cuda_plan *plan, tsr_cuda_sparse *a, const tsr_product *p, bool keep)
{
    *plan = (tsr_cuda_plan){0};
    return make_plan(plan, a, p, keep);
}

tsr_status tsr_cuda_make_streamed_plan(tsr_cuda_plan *plan, tsr_cuda_sparse *a, const tsr_product *p, bool bounded)
{
    *plan = (tsr_cuda_plan){.how = {.streamed = true, .bounded = bounded}};
    return make_plan(plan, a, p, true);
}
