/* Attention of FP32 in three calls for each head: SDDMM, softmax of rows, SpMM.  The scores of one head are stored.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_ATTENTION_THREE_H
#define TSR_CUDA_ATTENTION_THREE_H

#include "backends/cuda/operands/operand.h"

/* The pattern has what the calls need: lists of work, and a stencil where one pays.  *good: they can be made. */
tsr_status tsr_cuda_three_prepare(bool *good, tsr_cuda_sparse *s, const tsr_attention_operands *like);

/* Do these operands lie as the calls want them?  lse is not computed. */
bool tsr_cuda_three_fit(const tsr_attention_operands *operands);

/* Queued on the operands' stream, scratch from its pool. */
tsr_status tsr_cuda_three_run(const tsr_cuda_sparse *s, const tsr_attention_operands *operands);

#endif
