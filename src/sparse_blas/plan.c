/* Plans of the native door: checked shapes and the engine's decision.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "src/base/half.h"
#include "src/sparse_blas/native.h"

/* ---- dense operands ---- */

static int64_t vector_length(const tsr_dense *d)
{
    return d->layout == TSR_COL_MAJOR ? d->nrows : d->ncols;
}

tsr_status tsr_native_check_dense(const char *name, const tsr_dense *d)
{
    const struct {
        const char *field;
        int64_t value, least, most;
    } ranges[] = {{"type", d->type, 0, TSR_BF16}, {"layout", d->layout, 0, TSR_COL_MAJOR}, {"memory", d->memory, 0, TSR_MEMORY_DEVICE},
                  {"nrows", d->nrows, 0, INT64_MAX}, {"ncols", d->ncols, 0, INT64_MAX}, {"ld", d->ld, vector_length(d), INT64_MAX}};
    for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++) {
        if (ranges[k].value < ranges[k].least || ranges[k].value > ranges[k].most) {
            return tsr_native_fail(TSR_INVALID_VALUE, "%s->%s = %lld is not in %lld to %lld", name, ranges[k].field, (long long)ranges[k].value,
                                   (long long)ranges[k].least, (long long)ranges[k].most);
        }
    }
    int64_t cells, bytes, vectors = d->layout == TSR_COL_MAJOR ? d->ncols : d->nrows;
    if (__builtin_mul_overflow(vectors, d->ld, &cells) || __builtin_mul_overflow(cells, 8, &bytes)) {
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

/* ---- checks ---- */

static tsr_status check_semiring(const tsr_semiring *s)
{
    tsr_status status = tsr_native_check_range("semiring.type", s->type, 0, TSR_TYPE_COUNT - 1);
    if (status == TSR_OK) {
        status = tsr_native_check_range("semiring.add", s->add, 0, TSR_ADD_COUNT - 1);
    }
    if (status == TSR_OK) {
        status = tsr_native_check_range("semiring.mul", s->mul, 0, TSR_MUL_COUNT - 1);
    }
    const bool fits = s->add == TSR_ADD_ANY || (s->add == TSR_ADD_LOR) == (s->type == TSR_BOOL);
    return status != TSR_OK || fits ? status : tsr_native_fail(TSR_INVALID_VALUE, "type %d has no monoid %d", (int)s->type, (int)s->add);
}

/* Equal sizes that two operands must share. */
static tsr_status check_equal(const char *first, int64_t n, const char *second, int64_t other)
{
    return n == other ? TSR_OK : tsr_native_fail(TSR_DIMENSION_MISMATCH, "%s is %lld, %s is %lld", first, (long long)n, second, (long long)other);
}

static tsr_status check_shapes(const tsr_plan *plan, tsr_op op)
{
    const tsr_view *a = &plan->a->view;
    const tsr_dense *first = &plan->first, *second = &plan->second;
    const bool sddmm = op == TSR_OP_SDDMM, transpose = plan->flags & TSR_TRANSPOSE_A;
    const int64_t m = transpose ? a->ncols : a->nrows, k = transpose ? a->nrows : a->ncols;
    tsr_status status = sddmm ? check_equal("first->nrows", first->nrows, "the number of rows of S", a->nrows)
                              : check_equal("first->nrows", first->nrows, "the number of columns of op(A)", k);
    if (status == TSR_OK) {
        status = sddmm ? check_equal("second->ncols", second->ncols, "the number of columns of S", a->ncols)
                       : check_equal("second->nrows", second->nrows, "the number of rows of op(A)", m);
    }
    if (status == TSR_OK) {
        status = sddmm ? check_equal("first->ncols", first->ncols, "second->nrows", second->nrows)
                       : check_equal("first->ncols", first->ncols, "second->ncols", second->ncols);
    }
    return status == TSR_OK && op == TSR_OP_SPMV ? check_equal("first->ncols", first->ncols, "that of a vector", 1) : status;
}

static tsr_status check_operands(const tsr_plan *plan, tsr_op op)
{
    const unsigned allowed = op == TSR_OP_SDDMM ? TSR_SOFTMAX_ROWS : TSR_TRANSPOSE_A | TSR_BOUNDED_B;
    if (plan->flags & ~allowed) {
        return tsr_native_fail(TSR_INVALID_VALUE, "flags = %#x: the operation has none of %#x", plan->flags, plan->flags & ~allowed);
    }
    tsr_status status = tsr_native_check_dense("first", &plan->first);
    return status == TSR_OK ? tsr_native_check_dense("second", &plan->second) : status;
}

static tsr_status check_plan(const tsr_plan *plan, tsr_op op)
{
    const tsr_type type = plan->call.product.semiring.type;
    tsr_status status = tsr_native_check_range("op", op, 0, TSR_OP_COUNT - 1);
    if (status == TSR_OK) {
        status = check_semiring(&plan->call.product.semiring);
    }
    if (status == TSR_OK && op == TSR_OP_MASKED_DOT) {
        status = tsr_native_fail(TSR_NOT_SUPPORTED, "op = TSR_OP_MASKED_DOT has no plans");
    }
    if (status == TSR_OK) {
        status = check_operands(plan, op);
    }
    if (status == TSR_OK && op != TSR_OP_SDDMM && plan->second.type != type) {
        status = tsr_native_fail(TSR_INVALID_VALUE, "second->type = %d is not the semiring's, %d", (int)plan->second.type, (int)type);
    }
    if (status == TSR_OK) {
        status = check_shapes(plan, op);
    }
    const bool has_softmax = !plan->a->view.by_col && (type == TSR_FP32 || type == TSR_FP64);
    if (status == TSR_OK && plan->flags & TSR_SOFTMAX_ROWS && !has_softmax) {
        status = tsr_native_fail(TSR_NOT_SUPPORTED, "TSR_SOFTMAX_ROWS: S is held by columns, or the semiring's type is not real");
    }
    return status;
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
    if (tsr_native_takes_half(plan)) {
        snprintf(plan->explanation, sizeof plan->explanation, "%s -> cpu:spmm_half, reads the caller's arrays: B has 16-bit numbers", product);
        return;
    }
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
        return tsr_native_fail(TSR_NOT_SUPPORTED, "no backend computes the product: %s", plan->decision.reason);
    }
    plan->bytes = representation_bytes(r, &plan->decision) + work_bytes(plan);
    explain(plan);
    const bool on_device = first.memory == TSR_MEMORY_DEVICE || second.memory == TSR_MEMORY_DEVICE;
    return on_device ? tsr_native_plan_on_device(plan) : TSR_OK;
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
        return tsr_native_null(!out ? "plan" : !a ? "a" : !first ? "first" : "second");
    }
    tsr_plan *plan = calloc(1, sizeof *plan);
    if (!plan) {
        return tsr_native_no_memory();
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
    if (plan) {
        tsr_native_drop_device(plan->device);
    }
    free(plan);
}
