/* Elementwise steps one after the other, each on what the one before has made, as one kernel (kernels/cuda/elementwise/fusion.cu).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_FUSION_H
#define TSR_CUDA_FUSION_H

#include "kernels/cuda/common/cuda_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TSR_FUSION_MOST = 4 };

/* Steps over as many elements of one type, each tsr_ewise_is_full and without a mask (tsr_fusion_takes).  Where x, y or c of a step is z
 * of the step before, that is taken as it is made; z of an earlier step is no operand. */
typedef struct tsr_fusion {
    int n;
    tsr_ewise step[TSR_FUSION_MOST];
    tsr_ewise_arrays arrays[TSR_FUSION_MOST];
    bool wanted[TSR_FUSION_MOST]; /* else z need not be written */
} tsr_fusion;

static inline bool tsr_fusion_takes(const tsr_ewise *s, const tsr_ewise_arrays *a)
{
    return (s->type == TSR_FP32 || s->type == TSR_FP64) && s->result == s->type && !s->select && !tsr_ewise_compares(s->op) &&
           !tsr_ewise_masked(s, a) && tsr_ewise_is_full(s, a) && s->count > 0;
}

/* The same bits as of tsr_cuda_ewise, one by one. */
tsr_status tsr_cuda_fusion(const tsr_fusion *fused, const tsr_cuda_device *device, void *stream);

/* And what the last step makes reduced, the same bits as of tsr_cuda_reduce; PLUS, TIMES, MIN, MAX. */
tsr_status tsr_cuda_fusion_reduce(tsr_cuda_reduced *result, void *scratch, tsr_reduce_op op, const tsr_fusion *fused,
                                 const tsr_cuda_device *device, void *stream);

#ifdef __cplusplus
}
#endif

#endif
