/* Elementwise operations and assignments of few sparse vectors of the host.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_GRAPHBLAS_FEW_STEP_H
#define TSR_GRAPHBLAS_FEW_STEP_H

#include "src/engine/elementwise/elementwise.h"
#include "src/graphblas/match/match.h"

/* May it be a call that we do sooner?  Asked before it is taken apart.  selects: it may be a selection by value. */
bool tsr_few_considers(const tsr_arguments *call, bool selects);

/* What is matched of one, after the hooks.  true: done, *info is the result; false: nothing has changed. */
bool tsr_few_on_host(GrB_Info *info, const tsr_elementwise *call);

#endif
