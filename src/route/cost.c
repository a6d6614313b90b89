/* Predicted times: linear in entries, multiply-adds and outputs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/route/cost.h"

#include "src/route/route.h"

/* Rows of the coefficient tables: what the inner loop costs depends on the bytes of a value and on how well the
 * semiring vectorises. */
static int width_class(tsr_type type)
{
    static const int bytes_log2[TSR_TYPE_COUNT] = {0, 0, 1, 2, 3, 0, 1, 2, 3, 2, 3};
    return bytes_log2[type];
}

static bool is_plus(const tsr_semiring *s)
{
    return s->add == TSR_ADD_PLUS;
}

static double ns_to_ms(double ns, const tsr_features *f)
{
    return ns * 1e-6 / (f->nthreads > 0 ? f->nthreads : 1);
}

static double outputs_ns(const tsr_features *f, double per_byte)
{
    return f->m * f->n * (double)(1 << width_class(f->semiring.type)) * per_byte;
}

double tsr_predict_cpu_ms(const tsr_features *f)
{
    const tsr_cost_cpu *c = &tsr_cost_cpu_default;
    double value_bytes = (double)(1 << width_class(f->semiring.type));
    double ns = 0;
    switch (f->op) {
    case TSR_OP_SPMM:
        ns = f->a_nnz * (c->spmm_entry + c->spmm_byte * value_bytes * f->n * (f->a_by_col ? c->spmm_scatter : 1.0));
        ns += outputs_ns(f, c->output_byte);
        if (f->b_by_col)
            ns += f->k * f->n * value_bytes * c->flip_byte;
        if (f->c_by_col)
            ns += outputs_ns(f, c->flip_byte);
        break;
    case TSR_OP_SPMV:
        ns = f->a_nnz * (f->a_by_col ? c->spmv_scatter : f->narrow_index ? c->spmv_entry32 : c->spmv_entry64);
        ns += outputs_ns(f, c->output_byte);
        break;
    case TSR_OP_SDDMM:
        ns = f->mask_nnz * (c->sddmm_entry + c->sddmm_byte * value_bytes * f->k);
        break;
    case TSR_OP_MASKED_DOT:
        ns = tsr_work(f) * c->masked_step + f->mask_nnz * c->masked_entry;
        break;
    }
    if (f->a_cast)
        ns += f->a_nnz * c->cast_entry;
    if (f->b_cast)
        ns += f->b_nnz * c->cast_entry;
    if (f->finish_extra)
        ns += outputs_ns(f, c->finish_byte);
    return ns_to_ms(ns, f) + c->start_ms;
}

double tsr_predict_suitesparse_ms(const tsr_features *f)
{
    const tsr_cost_suitesparse *c = &tsr_cost_suitesparse_default;
    double ns = 0;
    switch (f->op) {
    case TSR_OP_SPMM:
        ns = f->a_nnz * (c->spmm_entry + f->n * (is_plus(&f->semiring) ? c->spmm_flop_plus : c->spmm_flop_other));
        ns += outputs_ns(f, c->output_byte);
        break;
    case TSR_OP_SPMV:
        ns = f->a_nnz * (f->a_by_col ? c->spmv_scatter : c->spmv_entry) + f->m * c->spmv_row;
        break;
    case TSR_OP_SDDMM:
        ns = f->mask_nnz * (c->sddmm_entry + c->sddmm_flop * f->k);
        break;
    case TSR_OP_MASKED_DOT:
        ns = tsr_work(f) * c->masked_step + f->mask_nnz * c->masked_entry;
        break;
    }
    return ns_to_ms(ns, f) + c->start_ms;
}

double tsr_predict_build_ms(double nnz, double vectors, bool flip, bool values, int nthreads)
{
    const tsr_cost_cpu *c = &tsr_cost_cpu_default;
    double ns = nnz * (flip ? c->build_flip : c->build_narrow) + vectors * c->build_vector;
    if (values)
        ns += nnz * c->build_value;
    return ns * 1e-6 / (nthreads > 0 ? nthreads : 1) + c->start_ms;
}

double tsr_least_work(const tsr_features *f)
{
    return f->op == TSR_OP_SPMV ? 2e5 : 5e4;
}
