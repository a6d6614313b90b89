/* Plans of masked products, kept with the mask: they depend on patterns only.  tsr_cuda_all.busy is held.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_PLANS_H
#define TSR_CUDA_PLANS_H

#include "kernels/cuda/common/cuda_kernels.h"

typedef struct tsr_cuda_kept_plan {
    struct tsr_cuda_kept_plan *next;
    uint64_t a, b; /* numbers of the representations of A and B */
    bool positions;
    tsr_cuda_masked_plan plan;
} tsr_cuda_kept_plan;

/* NULL: it is not there. */
tsr_cuda_kept_plan *tsr_cuda_plan_find(tsr_cuda_kept_plan *plans, uint64_t a, uint64_t b, bool positions);

/* NULL in *out: there is no memory for one, and the product goes without. */
tsr_status tsr_cuda_plan_make(tsr_cuda_kept_plan **out, uint64_t a, uint64_t b, bool positions, const tsr_cuda_masked *product);

/* As the first; of too many the oldest are dropped. */
void tsr_cuda_plan_keep(tsr_cuda_kept_plan **plans, tsr_cuda_kept_plan *plan);

void tsr_cuda_plans_free(tsr_cuda_kept_plan *plans); /* this one and those after it */

#endif
