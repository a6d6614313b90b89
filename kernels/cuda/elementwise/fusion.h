/* Elementwise steps one after the other, each on what the one before has made, as one kernel (kernels/cuda/elementwise/fusion.cu).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_CHAIN_H
#define TSR_CUDA_CHAIN_H

#include "kernels/cuda/common/cuda_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TSR_CHAIN_MOST = 4 };

/* Steps over as many elements of one type, each tsr_step_is_full and without a mask (tsr_chain_takes).  Where x, y or c of a step is z
 * of the step before, that is taken as it is made; z of an earlier step is no operand. */
typedef struct tsr_chain {
    int n;
    tsr_step step[TSR_CHAIN_MOST];
    tsr_step_arrays arrays[TSR_CHAIN_MOST];
    bool looked_at[TSR_CHAIN_MOST]; /* else z need not be written */
} tsr_chain;

static inline bool tsr_chain_takes(const tsr_step *s, const tsr_step_arrays *a)
{
    return (s->type == TSR_FP32 || s->type == TSR_FP64) && s->result == s->type && !s->select && !tsr_step_compares(s->op) &&
           !tsr_step_masked(s, a) && tsr_step_is_full(s, a) && s->count > 0;
}

/* The same bits as of tsr_cuda_step, one by one. */
tsr_status tsr_cuda_chain(const tsr_chain *chain, const tsr_cuda_device *device, void *stream);

/* And what the last step makes reduced, the same bits as of tsr_cuda_reduce; PLUS, TIMES, MIN, MAX. */
tsr_status tsr_cuda_chain_reduce(tsr_cuda_reduced *result, void *scratch, tsr_reduce_op op, const tsr_chain *chain,
                                 const tsr_cuda_device *device, void *stream);

#ifdef __cplusplus
}
#endif

#endif
