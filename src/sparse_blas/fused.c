/* A product and its epilogue in one call.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/base/types.h"
#include "src/sparse_blas/native.h"

static tsr_status check(const tsr_dense *c, const tsr_epilogue *e)
{
    const size_t size = tsr_type_size(c->type);
    tsr_status status = tsr_native_check_range("epilogue->activation", e->activation, 0, TSR_ACTIVATION_RELU);
    if (status == TSR_OK && c->type != TSR_FP32 && c->type != TSR_FP64) {
        return tsr_native_fail(TSR_NOT_SUPPORTED, "c->type = %d: there are epilogues of TSR_FP32 and TSR_FP64 only", (int)c->type);
    }
    const int64_t vectors = c->layout == TSR_COL_MAJOR ? c->ncols : c->nrows;
    const tsr_span written = {(uintptr_t)c->data, (size_t)tsr_native_vector_length(c) * size, (size_t)c->ld * size, vectors};
    if (status == TSR_OK && e->bias && tsr_native_overlap(written, tsr_native_span(e->bias, c->ncols, size))) {
        return tsr_native_fail(TSR_INVALID_VALUE, "epilogue->bias = %p overlaps c", e->bias);
    }
    return status == TSR_OK && e->bias ? tsr_native_check_pointer("epilogue->bias", e->bias, c->memory) : status;
}

tsr_status tsr_execute_fused(const tsr_plan *plan, double alpha, tsr_sparse *a, const tsr_dense *b, double beta, const tsr_dense *c,
                             const tsr_epilogue *epilogue, void *stream)
{
    const tsr_complex by = tsr_complex_of(alpha), and_by = tsr_complex_of(beta);
    if (!epilogue) {
        return tsr_native_null("epilogue");
    }
    tsr_status status = tsr_native_check_execute(plan, by, a, b, and_by, c, stream);
    if (status == TSR_OK) {
        status = check(c, epilogue);
    }
    if (status != TSR_OK || c->nrows == 0 || c->ncols == 0) {
        return status;
    }
    if (plan->device) {
        return tsr_native_execute_on_device(plan, by, a, b, and_by, c, epilogue, stream);
    }
    status = tsr_native_execute_on_host(plan, by, a, b, and_by, c);
    if (status == TSR_OK) {
        tsr_native_finish_epilogue(c, epilogue);
    }
    return status;
}
