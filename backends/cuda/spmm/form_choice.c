/* Prices of the forms of one matrix.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/spmm/form_choice.h"

#include "backends/cuda/operands/order.h"
#include "backends/cuda/spmm/matrix_statistics.h"
#include "src/policy/price/gpu_price.h"

/* Share of a CSR product that another order of rows is hoped to spare. */
static const double order_gain = 0.3;

double tsr_cuda_csr_ms(const tsr_cuda_sparse *a, tsr_cuda_math math, int64_t n)
{
    double ms[TSR_FORMS];
    tsr_gpu_matrix m = tsr_cuda_matrix_of(a);
    tsr_predict_forms(ms, tsr_cuda->model, &m, (tsr_gpu_math)math, (double)n, TSR_FORM_BIT(TSR_GPU_CSR));
    return ms[TSR_GPU_CSR] > 0 ? ms[TSR_GPU_CSR] : 0;
}

/* B and C. */
static double transfer_ms(const tsr_product *p)
{
    double size = (double)tsr_type_size(p->semiring.type), n = (double)p->n;
    double up = p->b_value || p->b.iso ? 0 : (double)p->k * n * size, down = p->b_value ? 0 : (double)p->m * n * size;
    return tsr_gpu_crossing_ms(up, down);
}

/* EXACT on Tensor Cores errs about as much as adding six products one by one in FP32: too much for shorter rows. */
static bool rows_are_too_short(const tsr_gpu_matrix *m, int form)
{
    if (form != TSR_GPU_HYBRID)
        return m->nvals < 6 * m->nrows;
    tsr_gpu_split split = tsr_split_windows(tsr_cuda->model, m, TSR_GPU_EXACT, 32);
    return split.nvals < 6 * split.nrows;
}

bool tsr_cuda_may_run(int form, const tsr_cuda_arithmetic *how)
{
    const tsr_cuda_kernel *kernel = tsr_cuda_kernel_of(form);
    return !how->streamed || (form != TSR_GPU_HYBRID && (how->bounded || tsr_cuda_limit(kernel, how->math) == 0));
}

unsigned tsr_cuda_allowed_forms(const tsr_gpu_matrix *m, const tsr_cuda_arithmetic *how, unsigned semirings)
{
    unsigned allowed = TSR_FORM_BIT(TSR_GPU_CSR);
    for (int form = 0; form < TSR_FORMS; form++) {
        const tsr_cuda_format *format = tsr_cuda_kernel_of(form)->format;
        bool rounds = format->exact_rounds && how->math == TSR_CUDA_EXACT;
        if ((format->semirings & semirings) && tsr_cuda_may_run(form, how) && !(rounds && rows_are_too_short(m, form)))
            allowed |= TSR_FORM_BIT(form);
    }
    return allowed & TSR_AUTOMATIC_FORMS;
}

/* Forms that are there; one that a kernel has refused is not allowed any more. */
static unsigned built_forms(const tsr_cuda_arithmetic *how, const tsr_cuda_sparse *a, int64_t n, unsigned *allowed)
{
    unsigned built = TSR_FORM_BIT(TSR_GPU_CSR);
    for (int form = TSR_GPU_CSR + 1; form < TSR_FORMS; form++) {
        tsr_cuda_blocks like = tsr_cuda_describe(tsr_cuda_kernel_of(form), how, a, n), *b = tsr_cuda_find_blocks(a->blocks, &like);
        built |= b && !b->refused ? TSR_FORM_BIT(form) : 0;
        *allowed &= ~(b && b->refused ? TSR_FORM_BIT(form) : 0);
    }
    return built;
}

tsr_status tsr_cuda_consider_order(tsr_cuda_sparse *a, tsr_cuda_math math, const tsr_product *p)
{
    tsr_source source = tsr_cuda_source_of(a);
    tsr_cuda_statistics *statistics = &a->statistics;
    double price = tsr_cuda_order_ms(&source, p->reorder);
    if (statistics->ordered || price == 0)
        return TSR_OK;
    double gain = order_gain * tsr_cuda_csr_ms(a, math, p->n);
    statistics->order_regret += gain;
    bool pays = (p->expected_calls > 0 ? gain * p->expected_calls : statistics->order_regret) >= price;
    return pays ? tsr_cuda_count_matrix(a, p->reorder) : TSR_OK;
}

int tsr_cuda_choose_form(tsr_cuda_sparse *a, const tsr_cuda_arithmetic *how, unsigned semirings, const tsr_product *p)
{
    double ms[TSR_FORMS], price[TSR_FORMS], transfer = transfer_ms(p);
    const tsr_gpu_math math = (tsr_gpu_math)how->math;
    tsr_gpu_matrix m = tsr_cuda_matrix_of(a);
    unsigned allowed = tsr_cuda_allowed_forms(&m, how, semirings), built = built_forms(how, a, p->n, &allowed);
    tsr_predict_forms(ms, tsr_cuda->model, &m, math, (double)p->n, allowed);
    tsr_predict_making(price, tsr_cuda->model, &m, math, (double)p->n);
    for (int form = 0; form < TSR_FORMS; form++) {
        ms[form] = ms[form] >= 0 ? tsr_exposed_ms(ms[form], transfer) : ms[form];
        price[form] *= 1 + a->statistics.evictions; /* what is given up again and again must gain more */
    }
    return tsr_choose_form(&a->statistics.rental, ms, price, built, math, p->expected_calls);
}
