/* Execution of plans of the native door: arguments checked, and whose memory they are in.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/base/types.h"
#include "src/sparse_blas/native.h"

static bool can_scale(const tsr_semiring *s)
{
    return s->add == TSR_ADD_PLUS && (s->type == TSR_FP32 || s->type == TSR_FP64 || tsr_is_complex(s->type));
}

static tsr_status check_scalars(const tsr_plan *plan, tsr_complex alpha, tsr_complex beta, const void *stream)
{
    const bool plain = tsr_complex_is(alpha, 1) && tsr_complex_is(beta, 0);
    if (stream && !plan->device) {
        return tsr_native_fail(TSR_NOT_SUPPORTED, "stream = %p, but all operands are in host memory", stream);
    }
    if ((alpha.im != 0 || beta.im != 0) && !tsr_native_is_complex(plan)) {
        return tsr_native_fail(TSR_NOT_SUPPORTED, "alpha = %g + %gi, beta = %g + %gi: the plan is of real numbers", alpha.re, alpha.im, beta.re, beta.im);
    }
    if (plain || can_scale(&plan->call.product.semiring)) {
        return TSR_OK;
    }
    return tsr_native_fail(TSR_NOT_SUPPORTED, "alpha = %g, beta = %g: the semiring takes 1 and 0 only", alpha.re, beta.re);
}

static tsr_status check_operand(const char *name, const tsr_dense *planned, const tsr_dense *given)
{
    const struct {
        const char *field;
        int64_t planned, given;
    } fields[] = {{"type", planned->type, given->type}, {"layout", planned->layout, given->layout}, {"nrows", planned->nrows, given->nrows},
                  {"ncols", planned->ncols, given->ncols}, {"memory", planned->memory, given->memory}};
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++) {
        if (fields[k].planned != fields[k].given) {
            return tsr_native_fail(TSR_INVALID_VALUE, "%s->%s = %lld, the plan was made for %lld", name, fields[k].field,
                                   (long long)fields[k].given, (long long)fields[k].planned);
        }
    }
    if (!given->data && given->nrows && given->ncols) {
        return tsr_native_fail(TSR_INVALID_VALUE, "%s->data is NULL", name);
    }
    return tsr_native_check_dense(name, given);
}

/* The names of the arguments, of SDDMM too. */
enum { SPARSE, FIRST, SECOND, ARGUMENTS };
static const char *const names[2][ARGUMENTS] = {{"a", "b", "c"}, {"s", "x", "y"}};

static tsr_status check_call(const tsr_plan *plan, const tsr_sparse *a, const tsr_dense *first, const tsr_dense *second,
                             bool sddmm)
{
    const char *const *name = names[sddmm];
    if (!plan || !a || !first || !second) {
        return tsr_native_null(!plan ? "plan" : !a ? name[SPARSE] : !first ? name[FIRST] : name[SECOND]);
    }
    if ((plan->call.product.op == TSR_OP_SDDMM) != sddmm) {
        return tsr_native_fail(TSR_NOT_SUPPORTED, "the plan is for %s", sddmm ? "tsr_execute" : "tsr_execute_sddmm");
    }
    if (a != plan->a) {
        return tsr_native_fail(TSR_INVALID_VALUE, "%s is not the matrix that the plan was made from", name[SPARSE]);
    }
    tsr_status status = check_operand(name[FIRST], &plan->first, first);
    return status == TSR_OK ? check_operand(name[SECOND], &plan->second, second) : status;
}

/* ---- overlaps ---- */

static tsr_span of_dense(const tsr_dense *d)
{
    const bool by_col = d->layout == TSR_COL_MAJOR;
    const size_t size = tsr_type_size(d->type);
    return (tsr_span){(uintptr_t)d->data, (size_t)(by_col ? d->nrows : d->ncols) * size, (size_t)d->ld * size, by_col ? d->ncols : d->nrows};
}

/* ---- what the program calls ---- */

static bool is_empty(const tsr_dense *c)
{
    return c->nrows == 0 || c->ncols == 0;
}

static tsr_status check_pointers(const tsr_plan *plan, bool sddmm, const tsr_dense *first, const tsr_dense *second)
{
    const tsr_dense *const operands[] = {first, second};
    const char *const called[] = {names[sddmm][FIRST], names[sddmm][SECOND]};
    tsr_status status = TSR_OK;
    for (int k = 0; k < 2 && status == TSR_OK; k++) {
        status = tsr_native_check_pointer(called[k], operands[k]->data, operands[k]->memory);
        if (status == TSR_OK && plan->device) {
            status = tsr_native_check_which(called[k], operands[k]->data, tsr_native_plan_which(plan));
        }
    }
    return status;
}

tsr_status tsr_native_check_execute(const tsr_plan *plan, tsr_complex alpha, const tsr_sparse *a, const tsr_dense *b, tsr_complex beta,
                                    const tsr_dense *c, const void *stream)
{
    tsr_status status = check_call(plan, a, b, c, false);
    if (status == TSR_OK) {
        status = check_scalars(plan, alpha, beta, stream);
    }
    if (status != TSR_OK || is_empty(c)) {
        return status;
    }
    if (tsr_native_overlap(of_dense(c), of_dense(b)) || tsr_native_overlaps_matrix(of_dense(c), a, a->view.nvals)) {
        return tsr_native_fail(TSR_INVALID_VALUE, "c->data = %p overlaps b or an array of a", c->data);
    }
    return check_pointers(plan, false, b, c);
}

tsr_status tsr_native_run(const tsr_plan *plan, tsr_complex alpha, tsr_sparse *a, const tsr_dense *b, tsr_complex beta, const tsr_dense *c,
                          void *stream)
{
    if (is_empty(c)) {
        return TSR_OK;
    }
    return plan->device ? tsr_native_execute_on_device(plan, alpha, a, b, beta, c, NULL, stream)
                        : tsr_native_execute_on_host(plan, alpha, a, b, beta, c);
}

tsr_status tsr_execute_complex(const tsr_plan *plan, tsr_complex alpha, tsr_sparse *a, const tsr_dense *b, tsr_complex beta,
                               const tsr_dense *c, void *stream)
{
    const tsr_status status = tsr_native_check_execute(plan, alpha, a, b, beta, c, stream);
    return status == TSR_OK ? tsr_native_run(plan, alpha, a, b, beta, c, stream) : status;
}

tsr_status tsr_execute(const tsr_plan *plan, double alpha, tsr_sparse *a, const tsr_dense *b, double beta,
                       const tsr_dense *c, void *stream)
{
    return tsr_execute_complex(plan, tsr_complex_of(alpha), a, b, tsr_complex_of(beta), c, stream);
}

tsr_status tsr_native_check_sddmm(const tsr_plan *plan, double alpha, const tsr_dense *x, const tsr_dense *y, double beta, const tsr_sparse *s,
                                  const void *values, const void *stream)
{
    tsr_status status = check_call(plan, s, x, y, true);
    if (status == TSR_OK) {
        status = check_scalars(plan, tsr_complex_of(alpha), tsr_complex_of(beta), stream);
    }
    if (status != TSR_OK || s->view.nvals == 0) {
        return status;
    }
    const tsr_span written = tsr_native_span(values, s->view.nvals, tsr_type_size(plan->call.product.semiring.type));
    if (!values) {
        return tsr_native_null("values");
    }
    if (tsr_native_overlap(written, of_dense(x)) || tsr_native_overlap(written, of_dense(y)) || tsr_native_overlaps_pattern(written, &s->view)) {
        return tsr_native_fail(TSR_INVALID_VALUE, "values = %p overlaps x, y or the pattern of s", values);
    }
    status = check_pointers(plan, true, x, y);
    if (status == TSR_OK) {
        status = tsr_native_check_pointer("values", values, x->memory);
    }
    return status;
}

tsr_status tsr_native_run_sddmm(const tsr_plan *plan, double alpha, const tsr_dense *x, const tsr_dense *y, double beta, tsr_sparse *s,
                                void *values, void *stream)
{
    if (s->view.nvals == 0) {
        return TSR_OK;
    }
    return plan->device ? tsr_native_execute_sddmm_on_device(plan, alpha, x, y, beta, s, values, stream)
                        : tsr_native_execute_sddmm_on_host(plan, alpha, x, y, beta, s, values);
}

tsr_status tsr_execute_sddmm(const tsr_plan *plan, double alpha, const tsr_dense *x, const tsr_dense *y, double beta,
                             tsr_sparse *s, void *values, void *stream)
{
    const tsr_status status = tsr_native_check_sddmm(plan, alpha, x, y, beta, s, values, stream);
    return status == TSR_OK ? tsr_native_run_sddmm(plan, alpha, x, y, beta, s, values, stream) : status;
}
