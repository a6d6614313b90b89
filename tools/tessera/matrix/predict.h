/* Predicted times of a plain product, for people to read.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_PREDICT_H
#define TSR_PREDICT_H

#include <stdbool.h>
#include <stdint.h>

enum { TSR_PREDICT_SUITESPARSE, TSR_PREDICT_CPU, TSR_PREDICT_GPU, TSR_PREDICTORS };
/* "suitesparse", "cpu", "gpu", and the same in words. */
extern const char *const tsr_predictor_names[TSR_PREDICTORS], *const tsr_predictor_labels[TSR_PREDICTORS];

/* Milliseconds of A (m x k, nnz entries, by row, as GraphBLAS holds it) times a dense FP32 matrix of n columns in host memory, computed by
 * `predictor` with all threads.  The GPU is an H200 that keeps A. */
double tsr_predict_product_ms(int predictor, int64_t m, int64_t k, int64_t nnz, bool pattern, int64_t n);

#endif
