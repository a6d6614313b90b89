/* Products timed on the device, for models of their time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_MEASURE_H
#define TSR_CUDA_MEASURE_H

#include "backends/cuda/spmm/product_plan.h"

/* tsr_backend.measure.  TSR_DECLINED also where no time can be told: without a slot, or when the device is not used. */
tsr_status tsr_cuda_measure(const tsr_product *product, tsr_measured *measured);

#endif
