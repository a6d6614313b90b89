/* Products of few sparse vectors.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_GRAPHBLAS_PUSH_PRODUCT_H
#define TSR_GRAPHBLAS_PUSH_PRODUCT_H

#include "src/engine/call/call.h"
#include "src/graphblas/match/match.h"

/* C<M> = U A, U few sparse vectors or a bitmap.  true: done, *info is the result; false: nothing has changed, or it concerns a device. */
bool tsr_try_push(GrB_Info *info, const tsr_arguments *call);

#endif
