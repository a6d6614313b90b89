/* Which form of A a product is computed with, by what the model predicts (src/policy/model/forms.h) and what products have lost so far.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_FORM_CHOICE_H
#define TSR_CUDA_FORM_CHOICE_H

#include "backends/cuda/spmm/representations.h"

/* Predicted for this product; 0: not known. */
double tsr_cuda_csr_ms(const tsr_cuda_sparse *a, tsr_cuda_math math, int64_t n);

/* A form other than CSR.  A hybrid has a stream and events of its own, which one product uses at a time. */
bool tsr_cuda_may_run(int form, const tsr_cuda_arithmetic *how);

/* What the automatic choice may take for a product of this arithmetic. */
unsigned tsr_cuda_allowed_forms(const tsr_gpu_matrix *m, const tsr_cuda_arithmetic *how, unsigned semirings);

/* Takes part in ski-rental: the form that it returns is built, or is to be built now. */
int tsr_cuda_choose_form(tsr_cuda_sparse *a, const tsr_cuda_arithmetic *how, unsigned semirings, const tsr_product *p);

/* Another order of rows is looked for when products have lost as much without it as finding one takes, if it spares what is hoped. */
tsr_status tsr_cuda_consider_order(tsr_cuda_sparse *a, tsr_cuda_math math, const tsr_product *p);

#endif
