/* Bitmaps with few entries, whose places are listed beside them (kernels/cuda/common/list.h): a kernel looks at these alone, and tells the host how many
 * are present with its end.  A list is made once and handed on: what a step makes of a listed bitmap has entries nowhere else.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_LISTED_H
#define TSR_CUDA_LISTED_H

#include "backends/cuda/arrays/array.h"

/* Places that are listed, at most. */
enum { TSR_CUDA_LISTED_MOST = 1 << 16 };

/* ---- with tsr_cuda_all.busy held.  TSR_DECLINED: not by lists ---- */

/* *z: the result, or C itself with one reference more (tsr_ewise.yields_c). */
tsr_status tsr_cuda_listed_step(tsr_cuda_array **z, const tsr_ewise *step, const tsr_ewise_arrays *arrays);
tsr_status tsr_cuda_listed_reduce(tsr_cuda_reduced *result, tsr_type type, tsr_reduce_op op, const tsr_cuda_array *value);

/* A list of v's entries if there is none yet, where few enough of them are known to be there. */
tsr_status tsr_cuda_listed_make(tsr_cuda_array *v);

#endif
