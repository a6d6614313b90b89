/* Which representation of A computes a product, by predicted times (src/route/model.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_CHOICE_H
#define TSR_CUDA_CHOICE_H

#include "backends/cuda/tensor.h"
#include "src/route/model.h"

/* The model for this device: the one that the options bring, unless it is of another GPU, which one line on stderr says; else the
 * nearest of the build. */
void tsr_cuda_set_model(const tsr_model *named);

/* The fastest for products with n columns of B: kind CSR where no blocks are predicted to be faster by a few percent.  *spared: the
 * share of the time of CSR that it saves.  A's nonzero vectors are known.  only: the one kind allowed beside CSR; TSR_CUDA_CSR: all. */
tsr_cuda_shape tsr_cuda_choose(double *spared, const struct tsr_cuda_sparse *a, tsr_cuda_math math, int64_t n, tsr_cuda_kind only);

/* Which windows go to Tensor Cores, and to which kernel of theirs. */
tsr_cuda_split_rule tsr_cuda_split_for(tsr_cuda_math math, int64_t n);
tsr_cuda_shape tsr_cuda_split_shape(tsr_cuda_math math);

#endif
