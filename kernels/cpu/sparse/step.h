/* How an operation on few sparse vectors is walked over.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_SPARSE_STEP_H
#define TSR_CPU_SPARSE_STEP_H

#include "kernels/cpu/common/scratch.h"

typedef enum tsr_walk { TSR_WALK_MASK, TSR_WALK_X, TSR_WALK_Y, TSR_WALK_ALL } tsr_walk;

/* Are T's places among those of a list, the mask's? */
bool tsr_mask_is_listed(const tsr_few_step *step);

/* Whose entries are walked over. */
tsr_walk tsr_walk_of(const tsr_few_step *step);
const tsr_view *tsr_view_of(const tsr_few_step *step, tsr_walk over);

/* Has v the list of places of what is walked over? */
bool tsr_same_list(const tsr_view *v, const tsr_view *walked);

/* T of a step that has runs (kernels/sparse_vectors.h), in the lists of the scratch, which has room for all places of the list. */
void tsr_step_runs(const tsr_few_step *step, tsr_scratch *scratch, tsr_few *t);

#endif
