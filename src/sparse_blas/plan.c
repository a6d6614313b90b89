/* Plans of the native door: checked shapes and the engine's decision.
 * SPDX-License-Identifier: Apache-2.0 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/sparse_blas/native.h"

/* ---- dense operands ---- */

static int64_t vector_length(const tsr_dense *d)
{
    return d->layout == TSR_COL_MAJOR ? d->nrows : d->ncols;
}

tsr_status tsr_native_check_dense(const tsr_dense *d)
{
    int64_t cells, bytes;
    if ((unsigned)d->type >= TSR_TYPE_COUNT || (d->layout != TSR_ROW_MAJOR && d->layout != TSR_COL_MAJOR)) {
        return TSR_INVALID_VALUE;
    }
    if (d->nrows < 0 || d->ncols < 0 || d->ld < vector_length(d)) {
        return TSR_INVALID_VALUE;
    }
    int64_t vectors = d->layout == TSR_COL_MAJOR ? d->ncols : d->nrows;
    if (__builtin_mul_overflow(vectors, d->ld, &cells) || __builtin_mul_overflow(cells, 8, &bytes)) {
        return TSR_INVALID_VALUE;
    }
    return TSR_OK;
}

tsr_view tsr_native_dense_view(const tsr_dense *d)
{
    bool column = d->ncols == 1 && d->ld == 1; /* consecutive: the engine's form of a vector */
    bool by_col = column || d->layout == TSR_COL_MAJOR;
    return (tsr_view){.format = TSR_FULL, .type = d->type, .by_col = by_col, .nrows = d->nrows, .ncols = d->ncols,
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
    r->product.nthreads = omp_get_max_threads();
    if (r->product.op == TSR_OP_SDDMM) {
        bind_sddmm(r, a, first, second);
    } else {
        bind_spmm(r, a, plan->flags & TSR_TRANSPOSE_A, first, second);
    }
}

/* ---- checks ---- */

static bool semiring_valid(const tsr_semiring *s)
{
    if ((unsigned)s->type >= TSR_TYPE_COUNT || (unsigned)s->add >= TSR_ADD_COUNT || (unsigned)s->mul >= TSR_MUL_COUNT) {
        return false;
    }
    bool logical = s->add == TSR_ADD_LOR;
    return s->add == TSR_ADD_ANY || logical == (s->type == TSR_BOOL);
}

static bool shapes_fit(const tsr_plan *plan, tsr_op op)
{
    const tsr_view *a = &plan->a->view;
    const tsr_dense *first = &plan->first, *second = &plan->second;
    if (op == TSR_OP_SDDMM) {
        return first->nrows == a->nrows && second->ncols == a->ncols && first->ncols == second->nrows;
    }
    bool transpose = plan->flags & TSR_TRANSPOSE_A;
    int64_t m = transpose ? a->ncols : a->nrows, k = transpose ? a->nrows : a->ncols;
    bool columns_fit = first->ncols == second->ncols && (op == TSR_OP_SPMM || first->ncols == 1);
    return first->nrows == k && second->nrows == m && columns_fit;
}

static tsr_status check_plan(const tsr_plan *plan, tsr_op op)
{
    if ((unsigned)op >= TSR_OP_COUNT || !semiring_valid(&plan->call.product.semiring)) {
        return TSR_INVALID_VALUE;
    }
    if (op == TSR_OP_MASKED_DOT) {
        return TSR_NOT_SUPPORTED;
    }
    unsigned allowed = op == TSR_OP_SDDMM ? TSR_SOFTMAX_ROWS : TSR_TRANSPOSE_A;
    if (plan->flags & ~allowed || tsr_native_check_dense(&plan->first) != TSR_OK ||
        tsr_native_check_dense(&plan->second) != TSR_OK) {
        return TSR_INVALID_VALUE;
    }
    if (op != TSR_OP_SDDMM && plan->second.type != plan->call.product.semiring.type) {
        return TSR_INVALID_VALUE;
    }
    if (!shapes_fit(plan, op)) {
        return TSR_DIMENSION_MISMATCH;
    }
    tsr_type type = plan->call.product.semiring.type;
    bool has_softmax = !plan->a->view.by_col && (type == TSR_FP32 || type == TSR_FP64);
    return plan->flags & TSR_SOFTMAX_ROWS && !has_softmax ? TSR_NOT_SUPPORTED : TSR_OK;
}

/* ---- what is told ---- */

static size_t representation_bytes(const tsr_call *r, const tsr_decision *d)
{
    const tsr_view *a = &r->product.a;
    int64_t vectors = d->a_key.by_col ? a->ncols : a->nrows;
    size_t value = d->a_key.pattern || a->iso ? 0 : tsr_type_size(d->a_key.type);
    return d->build_a ? (size_t)(vectors + 1) * sizeof(int64_t) + (size_t)a->nvals * (sizeof(uint32_t) + value) : 0;
}

static size_t work_bytes(const tsr_plan *plan)
{
    const tsr_product *p = &plan->call.product;
    size_t value = tsr_type_size(p->semiring.type);
    if (p->op == TSR_OP_SDDMM) {
        return (size_t)p->mask.nvals;
    }
    size_t cells = (size_t)(p->m * p->n);
    size_t present = tsr_engine_result_full(&plan->call) ? 0 : cells;
    return present + (plan->second.ld > vector_length(&plan->second) ? cells * value : 0);
}

static void explain(tsr_plan *plan)
{
    char product[192];
    const tsr_decision *d = &plan->decision;
    tsr_engine_describe(product, sizeof product, &plan->call.product);
    snprintf(plan->explanation, sizeof plan->explanation, "%s%s -> %s:%s, %s, %zu bytes: %s", product,
             plan->flags & TSR_TRANSPOSE_A ? " transposed" : "", d->backend->name,
             d->backend->kernel_name(&plan->call.product),
             d->build_a ? "builds a representation" : "reads the caller's arrays", plan->bytes, d->reason);
}

/* Decide with the operands' shapes; a placeholder stands where data will be. */
static tsr_status decide(tsr_plan *plan)
{
    static const uint64_t placeholder[1];
    tsr_call *r = &plan->call;
    tsr_dense first = plan->first, second = plan->second;
    first.data = second.data = (void *)placeholder;
    tsr_native_bind(r, plan, (tsr_sparse *)plan->a, &first, &second);
    tsr_engine_decide(r, &plan->decision);
    if (!plan->decision.backend) {
        return TSR_NOT_SUPPORTED;
    }
    plan->bytes = representation_bytes(r, &plan->decision) + work_bytes(plan);
    explain(plan);
    return TSR_OK;
}

static tsr_status prepare(tsr_plan *plan, tsr_op op)
{
    tsr_status status = check_plan(plan, op);
    if (status != TSR_OK) {
        return status;
    }
    plan->call.product.op = op;
    plan->call.given.name = op == TSR_OP_SDDMM ? "tsr_execute_sddmm" : "tsr_execute";
    plan->call.expected_calls = plan->a->hints[op].expected_calls;
    plan->call.precision = plan->a->hints[op].precision;
    return decide(plan);
}

tsr_status tsr_plan_create(tsr_plan **out, tsr_op op, tsr_semiring semiring, tsr_sparse *a, const tsr_dense *first,
                           const tsr_dense *second, unsigned flags)
{
    if (!out || !a || !first || !second) {
        return TSR_INVALID_VALUE;
    }
    tsr_plan *plan = calloc(1, sizeof *plan);
    if (!plan) {
        return TSR_OUT_OF_MEMORY;
    }
    plan->a = a;
    plan->first = *first;
    plan->second = *second;
    plan->flags = flags;
    plan->call.product.semiring = semiring;
    tsr_status status = prepare(plan, op);
    if (status != TSR_OK) {
        free(plan);
        return status;
    }
    *out = plan;
    return TSR_OK;
}

size_t tsr_plan_bytes(const tsr_plan *plan)
{
    return plan ? plan->bytes : 0;
}

double tsr_plan_predicted_ms(const tsr_plan *plan)
{
    return plan ? plan->decision.predicted_ms : -1;
}

const char *tsr_plan_explain(const tsr_plan *plan)
{
    return plan ? plan->explanation : "";
}

void tsr_plan_destroy(tsr_plan *plan)
{
    free(plan);
}
