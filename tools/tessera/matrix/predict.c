/* The cost model asked about one product.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tools/tessera/matrix/predict.h"

#include <omp.h>

#include "src/policy/price/gpu_price.h"

const char *const tsr_predictor_names[TSR_PREDICTORS] = {"suitesparse", "cpu", "gpu"};
const char *const tsr_predictor_labels[TSR_PREDICTORS] = {"SuiteSparse", "Tessera, CPU", "Tessera, GPU"};

double tsr_predict_product_ms(int predictor, int64_t m, int64_t k, int64_t nnz, bool pattern, int64_t n)
{
    static double (*const predict[TSR_PREDICTORS])(const tsr_features *) = {tsr_predict_suitesparse_ms, tsr_predict_cpu_ms,
                                                                            tsr_predict_gpu_ms};
    const tsr_features f = {
        .op = TSR_OP_SPMM,
        .semiring = {TSR_FP32, TSR_ADD_PLUS, pattern ? TSR_MUL_SECOND : TSR_MUL_TIMES},
        .m = (double)m,
        .n = (double)n,
        .k = (double)k,
        .a_nnz = (double)nnz,
        .b_nnz = (double)k * (double)n,
        .a_pattern = pattern,
        .a_on_device = true,
        .nthreads = omp_get_max_threads(),
    };
    return predict[predictor](&f);
}
