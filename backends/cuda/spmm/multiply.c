/* Which kernel computes a product whose operands are on the device, and its scratch.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/spmm/multiply.h"

#include <math.h>
#include <string.h>

#include "backends/cuda/operands/fp16_scaling.h"

static size_t value_size(const tsr_cuda_multiplication *m)
{
    return tsr_type_size(m->product->semiring.type);
}

static tsr_cuda_csr_spmm csr_product(const tsr_cuda_multiplication *m)
{
    uint64_t iso[2] = {0};
    const tsr_view *a = &m->product->a;
    if (a->iso && a->x && tsr_reads_a(m->product))
        memcpy(iso, a->x, value_size(m));
    return (tsr_cuda_csr_spmm){
        .semiring = m->product->semiring, .n = m->n, .b = m->b, .b_present = m->b_present, .ldb = m->ldb, .c = m->c,
        .c_present = m->c_present, .ldc = m->ldc, .alpha = m->alpha.re, .beta = m->beta.re, .alpha_im = m->alpha.im, .beta_im = m->beta.im,
        .conjugate = m->conjugate, .iso = iso[0], .iso_rest = iso[1], .bias = m->bias, .rectified = m->rectified, .batch = m->batch,
        .partial = m->partial, .variant = m->part ? -1 : 0, .device = &tsr_cuda->device, .stream = m->stream};
}

/* A, with the values that are given. */
static tsr_cuda_csr csr_of(const tsr_cuda_multiplication *m)
{
    tsr_cuda_csr csr = m->a->csr;
    csr.x = m->values ? (void *)(uintptr_t)m->values : csr.x;
    return csr;
}

/* shift: of B. */
static tsr_cuda_spmm blocks_product(const tsr_cuda_multiplication *m, int shift)
{
    shift += m->plan->blocks ? m->plan->blocks->shift : 0;
    return (tsr_cuda_spmm){
        .math = m->plan->how.math, .n = m->n, .b = m->half ? m->half : m->b, .ldb = m->ldb, .c = m->c, .ldc = m->ldc,
        .alpha = ldexp(m->alpha.re, -shift), .beta = m->beta.re, .iso = m->plan->how.iso, .partial = m->partial, .device = &tsr_cuda->device,
        .stream = m->stream};
}

int64_t tsr_cuda_padded(const tsr_cuda_plan *plan, int64_t columns)
{
    return plan->blocks && columns > 1 ? (columns + 7) / 8 * 8 : columns;
}

size_t tsr_cuda_half_bytes(const tsr_cuda_multiplication *m)
{
    bool half = m->plan->blocks && tsr_cuda_is_half(m->plan->how.math);
    return half ? (size_t)m->product->k * (size_t)m->ldb * 2 : 0;
}

size_t tsr_cuda_scratch_bytes(const tsr_cuda_multiplication *m)
{
    tsr_cuda_csr_spmm by_csr = csr_product(m);
    tsr_cuda_spmm by_blocks = blocks_product(m, 0);
    size_t csr = tsr_cuda_csr_partial_bytes(&m->a->csr, &by_csr);
    size_t blocks = m->plan->blocks ? tsr_cuda_blocks_partial_bytes(m->plan->blocks, m->a, &by_blocks) : 0;
    return csr > blocks ? csr : blocks;
}

/* Waits for the device: the kernel depends on the answer. */
static tsr_status inspect_b(bool *in_range, const tsr_cuda_multiplication *m)
{
    int flag = 1;
    tsr_number number = value_size(m) == 8 ? TSR_NUMBER_FP64 : TSR_NUMBER_FP32;
    tsr_status status = tsr_cuda_set(m->flag, 0, sizeof flag, tsr_cuda->compute);
    if (status == TSR_OK)
        status = tsr_cuda_check_finite(m->flag, m->b, number, m->ldb, m->product->k, m->n, m->plan->limit, tsr_cuda->compute);
    if (status == TSR_OK)
        status = tsr_cuda_to_host(&flag, m->flag, sizeof flag, tsr_cuda->compute);
    tsr_status waited = tsr_cuda_wait(tsr_cuda->compute);
    *in_range = flag == 0;
    return status == TSR_OK ? waited : status;
}

static tsr_status b_in_range(bool *in_range, const tsr_cuda_multiplication *m)
{
    double limit = m->plan->limit;
    bool known = m->below && *m->below > 0 && *m->below <= limit;
    *in_range = true;
    if (limit == 0 || known)
        return TSR_OK;
    tsr_status status = inspect_b(in_range, m);
    if (status == TSR_OK && *in_range && m->below)
        *m->below = limit;
    return status;
}

/* B as FP16 in place of TF32.  TSR_DECLINED: it does not fit.  Waits for the device. */
static tsr_status narrow_b(int *shift, const tsr_cuda_multiplication *m)
{
    const tsr_cuda_numbers b = {m->b, m->ldb, m->product->k, m->n};
    bool fits;
    tsr_status status = tsr_cuda_find_fp16_scale(shift, &fits, &b, (uint32_t *)m->flag);
    if (status != TSR_OK)
        return status;
    if (fits)
        return tsr_cuda_narrow(m->half, m->ldb, m->b, m->ldb, m->product->k, m->n, ldexpf(1, *shift), tsr_cuda->compute);
    m->a->statistics.wide = true;
    return TSR_DECLINED;
}

/* B as the kernel wants it.  TSR_DECLINED: it holds elements that the kernel does not take. */
static tsr_status prepare_b(int *shift, const tsr_cuda_multiplication *m)
{
    bool in_range;
    *shift = 0;
    if (m->plan->how.narrow)
        return narrow_b(shift, m);
    tsr_status status = b_in_range(&in_range, m);
    if (status != TSR_OK || !in_range)
        return status != TSR_OK ? status : TSR_DECLINED;
    if (!m->half)
        return TSR_OK;
    return tsr_cuda_convert(m->half, tsr_cuda_number(m->plan->how.math), m->ldb, m->b, TSR_NUMBER_FP32, m->ldb, m->product->k, m->n,
                            m->stream);
}

/* Where bias and activation come in. */
static tsr_finish_way finish_way(const tsr_cuda_multiplication *m)
{
    const tsr_cuda_plan *plan = m->plan;
    if (!m->bias && !m->rectified)
        return TSR_FINISH_IN_KERNEL;
    const bool can = plan->blocks->kernel->format->finishes && !tsr_cuda_is_half(plan->how.math);
    return tsr_choose_finish(can, plan->own_ms, plan->csr_ms, (double)m->product->m * (double)m->n * (double)value_size(m));
}

static tsr_status run_blocks(const tsr_cuda_multiplication *m, tsr_cuda_spmm product, bool in_kernel)
{
    if (in_kernel) {
        product.bias = m->bias;
        product.rectified = m->rectified;
    }
    tsr_status status = tsr_cuda_run_blocks(m->plan->blocks, m->a, m->plan->semiring, &product);
    if (status != TSR_OK || in_kernel)
        return status;
    product.bias = m->bias;
    product.rectified = m->rectified;
    return tsr_cuda_finish_rows(&product, m->product->m);
}

/* TSR_DECLINED: by CSR. */
static tsr_status multiply_blocks(const tsr_cuda_multiplication *m)
{
    int shift;
    if (!m->plan->blocks || m->plan->blocks->refused || m->n == 1 || m->values || m->batch.count > 1)
        return TSR_DECLINED;
    const tsr_finish_way way = finish_way(m);
    if (way == TSR_FINISH_BY_CSR)
        return TSR_DECLINED;
    tsr_status status = prepare_b(&shift, m);
    if (status != TSR_OK)
        return status;
    status = run_blocks(m, blocks_product(m, shift), way == TSR_FINISH_IN_KERNEL);
    if (status == TSR_DECLINED) {
        m->plan->blocks->refused = true;
        m->plan->name = "csr";
    }
    return status;
}

tsr_status tsr_cuda_multiply_arrays(const tsr_cuda_multiplication *m)
{
    tsr_status status = multiply_blocks(m);
    if (status != TSR_DECLINED)
        return status;
    const tsr_cuda_csr csr = csr_of(m);
    tsr_cuda_csr_spmm product = csr_product(m);
    return tsr_cuda_spmm_csr(&csr, &product);
}
