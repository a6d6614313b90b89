/* Products whose B is on the device already, or whose C stays there: the whole width at once.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_RESIDENT_H
#define TSR_CUDA_RESIDENT_H

#include "backends/cuda/operands/sparse.h"
#include "backends/cuda/spmm/product_plan.h"
#include "backends/cuda/arrays/arrays.h"

/* C = A B with A and its plan on the device.  Nothing is waited for where C stays and nothing of B must be known.
 * TSR_OUT_OF_MEMORY: tiles might do. */
tsr_status tsr_cuda_multiply_whole(tsr_cuda_sparse *a, tsr_cuda_plan *plan, const tsr_product *product, tsr_result *result);

/* C to where the result goes: it stays (*c becomes NULL), or is downloaded. */
tsr_status tsr_cuda_deliver(tsr_cuda_array **c, const tsr_product *product, tsr_result *result);

#endif
