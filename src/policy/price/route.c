/* Features, work and the ski-rental rule.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/policy/price/route.h"

#include "src/base/split.h"

static bool other_type(const tsr_view *v, bool read, const tsr_product *p)
{
    return read && v->x && v->type != p->semiring.type;
}

void tsr_features_of(tsr_features *f, const tsr_product *p)
{
    bool reads_a = tsr_reads_a(p), reads_b = tsr_reads_b(p);
    *f = (tsr_features){
        .op = p->op,
        .semiring = p->semiring,
        .m = (double)p->m,
        .n = (double)p->n,
        .k = (double)p->k,
        .a_nnz = (double)p->a.nvals,
        .b_nnz = (double)p->b.nvals,
        .mask_nnz = (double)p->mask.nvals,
        .a_by_col = p->a.by_col,
        .b_by_col = p->b.by_col,
        .c_by_col = p->c_by_col,
        .mask_by_col = p->mask.by_col,
        .a_pattern = !reads_a || p->a.iso || !p->a.x,
        .a_cast = !p->a.iso && other_type(&p->a, reads_a, p),
        .b_cast = !p->b.iso && other_type(&p->b, reads_b, p),
        .typecast = other_type(&p->a, reads_a, p) || other_type(&p->b, reads_b, p),
        .a_array_on_device = p->a_value != NULL,
        .b_on_device = p->b_value != NULL,
        .b_bitmap = p->b.format == TSR_BITMAP,
        .a_full = tsr_is_dense_product(p),
        .narrow_index = p->a.index_size == 4,
        .nthreads = p->nthreads,
    };
}

/* Masked dot: an average row of B for each entry of A or of the mask, where the degrees themselves were not looked at. */
static double masked_work(const tsr_features *f)
{
    if (f->walk > 0)
        return f->walk;
    double b_vectors = f->b_by_col ? f->n : f->k;
    double per_vector = b_vectors > 0 ? f->b_nnz / b_vectors : 0;
    double walked = f->a_by_col == f->b_by_col ? f->a_nnz : f->mask_nnz;
    return walked * (1.0 + per_vector);
}

double tsr_work_of(const tsr_features *f)
{
    switch (f->op) {
    case TSR_OP_SPMM:
    case TSR_OP_SPMV:
        return f->a_nnz * f->n;
    case TSR_OP_SDDMM:
        return f->mask_nnz * f->k;
    default:
        return masked_work(f);
    }
}

/* Of what SuiteSparse shares out: a sparse A by row is scanned entry by entry, however many columns each meets; into a full C, and B as well. */
static double shared_work(const tsr_features *f)
{
    if (f->op != TSR_OP_SPMM || f->a_full || f->a_by_col)
        return tsr_work_of(f);
    return f->accum_full ? f->a_nnz + f->b_nnz : f->a_nnz;
}

int tsr_suitesparse_threads(const tsr_features *f)
{
    return tsr_chunk_threads(shared_work(f), f->nthreads);
}

bool tsr_worth_building(double build_ms, double regret_ms, double gain_per_call_ms, double expected_calls)
{
    if (expected_calls > 0)
        return gain_per_call_ms * expected_calls > build_ms;
    return regret_ms >= build_ms;
}
