/* Scalars of an SDDMM (kernels/cuda/sddmm/scale.cu).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_SCALE_H
#define TSR_CUDA_SCALE_H

#include "kernels/cuda/common/cuda_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* x = alpha t + beta x for `products` arrays of `count` values, TSR_FP32 or TSR_FP64. */
typedef struct tsr_cuda_scaling {
    tsr_type type;
    int64_t count, products;
    void *x; /* the old contents are not read where beta is 0 */
    int64_t x_stride;
    const void *t; /* may be x, with beta 0 */
    int64_t t_stride;
    double alpha, beta;
} tsr_cuda_scaling;

/* TSR_DECLINED: another type, or more than 65535 products. */
tsr_status tsr_cuda_scale(const tsr_cuda_scaling *scaling, void *stream);

#ifdef __cplusplus
}
#endif

#endif
