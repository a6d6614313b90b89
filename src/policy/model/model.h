/* What products cost on a GPU: the time of every kernel from a few counts of the matrix, and which row windows are worth Tensor
 * Cores.  Coefficients come from `tessera train`; those of the build are in model_default.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_MODEL_H
#define TSR_MODEL_H

#include "tessera/backend.h"
#include "src/format/blocks/degrees.h"
#include "src/policy/model/gpu_kernels.h"

/* In the order of tsr_cuda_math. */
typedef enum tsr_gpu_math { TSR_GPU_EXACT, TSR_GPU_TF32, TSR_GPU_FP16, TSR_GPU_BF16, TSR_GPU_FP64 } tsr_gpu_math;
#define TSR_GPU_MATHS 5

extern const char *const tsr_gpu_math_names[TSR_GPU_MATHS]; /* "exact", … */

/* Everything is known for these widths of B, and interpolated between. */
#define TSR_MODEL_WIDTHS 4
extern const int tsr_model_widths[TSR_MODEL_WIDTHS]; /* 8, 32, 128, 512 */

/* Columns of A are counted by how hot they are, in these numbers: 2^12, 2^13, … 2^22. */
#define TSR_HOT_LEAST 4096
#define TSR_HOT_SIZES 11

#define TSR_KERNEL_TERMS 7
#define TSR_MAKING_TERMS 4
#define TSR_WINDOW_TERMS 9

typedef struct tsr_model {
    int arch;        /* 90: measured on compute capability 9.0 */
    char device[64]; /* "NVIDIA H200" */
    char date[11];   /* "2026-11-21" */
    double kernel[TSR_GPU_KERNELS][TSR_GPU_MATHS][TSR_MODEL_WIDTHS][TSR_KERNEL_TERMS]; /* >= 0; all 0: not measured */
    double window[TSR_GPU_MATHS][TSR_MODEL_WIDTHS][TSR_WINDOW_TERMS];                  /* all 0: not measured */
    double making[TSR_GPU_KERNELS][TSR_MAKING_TERMS];                                  /* >= 0; all 0: not measured */
} tsr_model;

/* The model of the build whose architecture is nearest to `arch` (0: unknown). */
const tsr_model *tsr_model_default(int arch);

/* ---- Kernels ---- */

/* One product C = A B, counted. */
typedef struct tsr_gpu_product {
    double nrows, ncols, nvals, n; /* of A; columns of B and C */
    double vectors[5];             /* nonzero h x 1 vectors of A, h = 8, 16, 32, 64, 128 */
    double longest;                /* entries of its longest row; 0: not known */
    double hot[TSR_HOT_SIZES];     /* share of A's entries in the hottest 2^12, … columns; 0: not known, as if all had as many */
    tsr_gpu_math math;
} tsr_gpu_product;

/* As far as a sample of entries shows them; within a class of columns all count alike. */
void tsr_hot_shares(double hot[TSR_HOT_SIZES], const tsr_degrees *counts);

/* Rows of B that a kernel fetches: entries for csr, else nonzero vectors of its height. */
double tsr_gpu_rows_fetched(tsr_gpu_kernel kernel, const tsr_gpu_product *product);

/* What the time for one width is linear in: 1, entries, rows, columns, rows of B fetched (entries for csr, else nonzero vectors), how many
 * of these come from beyond the L2 cache: nonzero 128 x 1 vectors times the share of entries that are not in the hottest columns, as many as
 * the cache holds rows of B; and the entries of the longest row, which others may have to wait for. */
void tsr_kernel_terms(double terms[TSR_KERNEL_TERMS], tsr_gpu_kernel kernel, const tsr_gpu_product *product);

/* Milliseconds with everything on the device; 0: the model does not know this kernel. */
double tsr_predict_kernel_ms(const tsr_model *model, tsr_gpu_kernel kernel, const tsr_gpu_product *product);

/* What the time of making a kernel's format from csr is linear in: 1, entries, nonzero vectors of its height, rows. */
void tsr_making_terms(double terms[TSR_MAKING_TERMS], tsr_gpu_kernel kernel, const tsr_gpu_product *product);

/* Milliseconds; < 0: the model does not know this kernel. */
double tsr_predict_making_ms(const tsr_model *model, tsr_gpu_kernel kernel, const tsr_gpu_product *product);

/* ---- Row windows ---- */

/* The kernel that competes with csr for the windows of a product. */
tsr_gpu_kernel tsr_window_kernel(tsr_gpu_math math);

/* Number of the width that is nearest to n: windows are told apart by its weights. */
int tsr_nearest_width(double n);

/* 1, i, s, i s, s s, i i with i = log2(nvals / vectors), s = log2(vectors); and max(0, 2 - r), max(0, r - 2), max(0, r - 5) with
 * r = log2(nvals / height), entries of a row: csr is another kernel below 4 and from 32 on. */
void tsr_window_terms(double terms[TSR_WINDOW_TERMS], double nvals, double vectors, int height);

/* 1 / (1 + exp(-w.x)). */
double tsr_logistic(const double *w, const double *x, int n);

/* Probability that Tensor Cores are faster than CUDA cores for a window of the window kernel's height with so many entries and nonzero vectors; 0: no entry, or
 * the model does not know this arithmetic. */
double tsr_window_probability(const tsr_model *model, tsr_gpu_math math, double nvals, double vectors, double n);

/* ---- As text ---- */

/* Reads a file's bytes; NULL, or what is wrong with them (static storage; *model is then unchanged): another version, a line that
 * is not known, numbers missing or not finite, no end. */
const char *tsr_model_parse(tsr_model *model, const char *text, size_t length);

/* Writes at most `size` bytes, with a 0; returns the length it needs. */
size_t tsr_model_print(char *text, size_t size, const tsr_model *model);

#endif
