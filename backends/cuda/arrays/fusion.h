/* Steps that are held back: the next call shows whether it goes on with what they make (then one kernel does both) and what of it anybody
 * can still read.  One fusion at a time; tsr_cuda_all.busy is held.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_FUSION_OF_STEPS_H
#define TSR_CUDA_FUSION_OF_STEPS_H

#include "backends/cuda/arrays/array.h"

/* z, whose memory is there, = the step: queued, or held back (then its operands stay as long). */
tsr_status tsr_cuda_fusion_add(const tsr_ewise *step, const tsr_ewise_arrays *arrays, tsr_cuda_array *z);

/* Queues what is held.  Every call but a step and a reduction begins so: afterwards all values have their elements.  When it fails it is
 * still held, and no value can be read. */
tsr_status tsr_cuda_fusion_run(void);

/* The same, and `value` reduced into *result (device).  TSR_DECLINED: the value is not the last that is held, or not for this op; nothing
 * has happened. */
tsr_status tsr_cuda_fusion_reduce_into(tsr_cuda_reduced *result, void *scratch, tsr_type type, tsr_reduce_op op,
                                      const tsr_cuda_array *value);

/* What nobody can read any more is not computed. */
void tsr_cuda_fusion_drop(void);

#endif
