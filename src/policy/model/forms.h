/* Which representation of A a GPU computes a product with, and when one is built.  Pure functions of predicted times and counts: the
 * plug-in, `tessera explain` and the test that replays measured times ask the same ones.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_FORMS_H
#define TSR_FORMS_H

#include "src/format/blocks/formats.h"
#include "src/policy/model/model.h"

/* A form of A is what one kernel computes with (src/policy/model/gpu_kernels.h): both have one number. */

/* A, counted. */
typedef struct tsr_gpu_matrix {
    double nrows, ncols, nvals;
    double own[5];     /* nonzero h x 1 vectors, h = 8, 16, 32, 64, 128, with rows as they are: csr */
    double vectors[5]; /* with rows in the order that block formats have them in */
    double longest, hot[TSR_HOT_SIZES]; /* as in tsr_gpu_product */
    int64_t nwindows[2];                /* of a sample, of 8 and of 16 rows, rows as they are */
    const tsr_window_count *windows[2]; /* NULL: not counted, and no hybrid */
} tsr_gpu_matrix;

/* What Tensor Cores get of A when its windows are split (HC-SpMM's choice), scaled up from the sample. */
typedef struct tsr_gpu_split {
    double nrows, nvals, vectors; /* vectors of the window kernel's height */
} tsr_gpu_split;

tsr_gpu_split tsr_split_windows(const tsr_model *model, const tsr_gpu_matrix *a, tsr_gpu_math math, double n);

/* Milliseconds of one product with everything on the device; < 0: the form is not allowed, or not known. */
void tsr_predict_forms(double ms[TSR_FORMS], const tsr_model *model, const tsr_gpu_matrix *a, tsr_gpu_math math, double n,
                       unsigned allowed);

/* Milliseconds of making a form; csr: 0.  < 0: not known. */
void tsr_predict_making(double ms[TSR_FORMS], const tsr_model *model, const tsr_gpu_matrix *a, tsr_gpu_math math, double n);

/* Where TF32 is allowed: is an FP16 kernel faster than every TF32 one, although the range of B must be found and B rounded? */
bool tsr_prefers_narrow(const tsr_model *model, const tsr_gpu_matrix *a, double n, unsigned allowed);

/* B and C cross the bus in panels while others are computed: what `kernel_ms` on the device come to for a product that takes
 * `transfer_ms` to cross. */
double tsr_exposed_ms(double kernel_ms, double transfer_ms);

/* Bias and activation of a graph network's layer: stored with C by the product's own kernel, by csr in its place, or in a pass over C. */
typedef enum tsr_finish_way { TSR_FINISH_IN_KERNEL, TSR_FINISH_BY_CSR, TSR_FINISH_IN_PASS } tsr_finish_way;

/* A pass over so many bytes of C, which are read and written. */
double tsr_finish_ms(double c_bytes);

/* can: the product's kernel stores what is finished.  kernel_ms, csr_ms: of the product alone; < 0: not known, the kernel was asked for by name. */
tsr_finish_way tsr_choose_finish(bool can, double kernel_ms, double csr_ms, double c_bytes);

/* What products of one A have lost so far without the forms that it does not have. */
typedef struct tsr_ski_rental {
    double spent_ms; /* by products before the matrix was inspected */
    double regret[TSR_FORMS][TSR_GPU_MATHS];
} tsr_ski_rental;

/* Counting a sample of A takes so long on an H200 (launches, mostly). */
#define TSR_INSPECT_MS 0.4

/* Products by csr so far, or those expected, take so long that looking at A is next to nothing.  csr_ms: predicted for this one, which
 * is counted. */
bool tsr_may_inspect(tsr_ski_rental *rental, double csr_ms, double expected);

/* The form of the next product, which is among `built` or is to be built for it, and is then worth it by ski-rental: what products have
 * lost without it, this one included, has reached its price; or `expected` more products (0: unknown) gain more than that. */
int tsr_choose_form(tsr_ski_rental *rental, const double ms[TSR_FORMS], const double price[TSR_FORMS], unsigned built, tsr_gpu_math math,
                    double expected);

#endif
