/* Measured products, and models fitted to them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_SAMPLE_H
#define TSR_SAMPLE_H

#include "src/policy/model/model.h"

/* Many equal row windows, made up or of a real matrix; a matrix made up or read from a file.  Real ones are never fitted to. */
typedef enum tsr_sample_role { TSR_SAMPLE_WINDOW, TSR_SAMPLE_REAL_WINDOW, TSR_SAMPLE_GRAPH, TSR_SAMPLE_REAL } tsr_sample_role;
#define TSR_SAMPLE_ROLES 4

typedef struct tsr_sample {
    tsr_sample_role role;
    char matrix[48]; /* no blanks */
    int height;      /* of its equal windows; 0: it has none */
    tsr_gpu_kernel kernel;
    tsr_gpu_product product;
    double ms, build_ms;
} tsr_sample;

/* One line of text with its newline, tab-separated; the length, as snprintf. */
int tsr_sample_print(char *text, size_t size, const tsr_sample *sample);
/* False: the line is not one of these. */
bool tsr_sample_parse(tsr_sample *sample, const char *line);

/* Fits everything that there are enough samples for; the rest of *model stays as it was.  False: out of memory. */
bool tsr_model_fit(tsr_model *model, const tsr_sample *samples, size_t count);

/* How good choices are.  Accuracy: share of right ones.  Loss: time of the chosen over time of the best, less 1. */
typedef struct tsr_accuracy {
    size_t cases;
    double right;
    double loss;  /* windows: of the whole; kernels: geometric mean */
    double worst; /* kernels: of the worst case */
} tsr_accuracy;

/* Choosing csr or the Tensor-Core kernel for windows of a role; math < 0: any. */
tsr_accuracy tsr_judge_windows(const tsr_model *model, const tsr_sample *samples, size_t count, tsr_sample_role role, int math);
/* Choosing among all kernels that were measured for a matrix of a role, arithmetic and n. */
tsr_accuracy tsr_judge_kernels(const tsr_model *model, const tsr_sample *samples, size_t count, tsr_sample_role role, int math);

#endif
