/* What is done with C after a product, in the same call: a bias added, an activation.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/base/types.h"
#include "src/sparse_blas/native.h"

/* NaN stays. */
#define FINISH(real) \
    static void finish_##real(real *c, int64_t n, const real *bias, int64_t step, bool rectified) \
    { \
        for (int64_t k = 0; k < n; k++) { \
            const real sum = bias ? c[k] + bias[k * step] : c[k]; \
            c[k] = rectified && sum < 0 ? 0 : sum; \
        } \
    }

FINISH(float)
FINISH(double)

void tsr_native_finish_epilogue(const tsr_dense *c, const tsr_epilogue *e)
{
    const bool by_col = c->layout == TSR_COL_MAJOR, rectified = e->activation == TSR_ACTIVATION_RELU;
    const int64_t vectors = by_col ? c->ncols : c->nrows, length = by_col ? c->nrows : c->ncols;
    const size_t size = tsr_type_size(c->type);
    #pragma omp parallel for num_threads(tsr_native_threads()) schedule(static) if (vectors * length > 100000)
    for (int64_t v = 0; v < vectors; v++) {
        char *row = (char *)c->data + (size_t)(v * c->ld) * size;
        const char *bias = e->bias && by_col ? (const char *)e->bias + (size_t)v * size : e->bias;
        if (c->type == TSR_FP32) {
            finish_float((float *)row, length, (const float *)bias, !by_col, rectified);
        } else {
            finish_double((double *)row, length, (const double *)bias, !by_col, rectified);
        }
    }
}
