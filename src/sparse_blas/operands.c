/* Operands of the native door: dense ones checked, and as the engine sees them, bound to a plan's call.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/base/half.h"
#include "src/sparse_blas/native.h"

int64_t tsr_native_vector_length(const tsr_dense *d)
{
    return d->layout == TSR_COL_MAJOR ? d->nrows : d->ncols;
}

tsr_status tsr_native_check_dense(const char *name, const tsr_dense *d)
{
    const struct {
        const char *field;
        int64_t value, least, most;
    } ranges[] = {{"type", d->type, 0, TSR_FC64}, {"layout", d->layout, 0, TSR_COL_MAJOR}, {"memory", d->memory, 0, TSR_MEMORY_DEVICE},
                  {"nrows", d->nrows, 0, INT64_MAX}, {"ncols", d->ncols, 0, INT64_MAX}, {"ld", d->ld, tsr_native_vector_length(d), INT64_MAX}};
    for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++) {
        if (ranges[k].value < ranges[k].least || ranges[k].value > ranges[k].most) {
            return tsr_native_fail(TSR_INVALID_VALUE, "%s->%s = %lld is not in %lld to %lld", name, ranges[k].field, (long long)ranges[k].value,
                                   (long long)ranges[k].least, (long long)ranges[k].most);
        }
    }
    int64_t cells, bytes, vectors = d->layout == TSR_COL_MAJOR ? d->ncols : d->nrows;
    if (__builtin_mul_overflow(vectors, d->ld, &cells) || __builtin_mul_overflow(cells, 16, &bytes)) {
        return tsr_native_fail(TSR_INVALID_VALUE, "%s: %lld vectors %lld elements apart are more than can be addressed", name,
                               (long long)vectors, (long long)d->ld);
    }
    return TSR_OK;
}

tsr_view tsr_native_dense_view(const tsr_dense *d)
{
    bool column = d->ncols == 1 && d->ld == 1; /* consecutive: the engine's form of a vector */
    bool by_col = column || d->layout == TSR_COL_MAJOR;
    const tsr_type type = tsr_is_half(d->type) ? TSR_FP32 : d->type;
    return (tsr_view){.format = TSR_FULL, .type = type, .by_col = by_col, .nrows = d->nrows, .ncols = d->ncols,
                      .nvec = by_col ? d->ncols : d->nrows, .vlen = by_col ? d->nrows : d->ncols,
                      .ld = column ? d->nrows : d->ld, .nvals = d->nrows * d->ncols, .x = d->data};
}

/* ---- the product ---- */

static void bind_sddmm(tsr_call *r, const tsr_sparse *s, const tsr_dense *x, const tsr_dense *y)
{
    tsr_product *p = &r->product;
    r->mask.record = s->record;
    p->m = s->view.nrows;
    p->n = s->view.ncols;
    p->k = x->ncols;
    p->a = tsr_native_dense_view(x);
    p->b = tsr_native_dense_view(y);
    p->mask = s->view;
    p->mask_structural = true;
    p->c_by_col = s->view.by_col;
}

static void bind_spmm(tsr_call *r, const tsr_sparse *a, bool transpose, const tsr_dense *b, const tsr_dense *c)
{
    tsr_product *p = &r->product;
    p->a = transpose ? tsr_view_transposed(a->view) : a->view;
    p->b = tsr_native_dense_view(b);
    p->m = p->a.nrows;
    p->k = p->a.ncols;
    p->n = b->ncols;
    p->op = p->n == 1 && p->b.by_col ? TSR_OP_SPMV : TSR_OP_SPMM;
    p->c_by_col = p->n == 1 || c->layout == TSR_COL_MAJOR;
    r->a.record = transpose ? a->transposed : a->record;
}

void tsr_native_bind(tsr_call *r, const tsr_plan *plan, tsr_sparse *a, const tsr_dense *first,
                     const tsr_dense *second)
{
    *r = plan->call;
    r->product.nthreads = tsr_native_threads();
    if (r->product.op == TSR_OP_SDDMM) {
        bind_sddmm(r, a, first, second);
    } else {
        bind_spmm(r, a, plan->flags & TSR_TRANSPOSE_A, first, second);
    }
}
