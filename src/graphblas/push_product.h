/* Products of few sparse vectors.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_GRAPHBLAS_PUSH_PRODUCT_H
#define TSR_GRAPHBLAS_PUSH_PRODUCT_H

#include "src/engine/call/call.h"
#include "src/graphblas/match/match.h"

/* C<M> = U A, U few sparse vectors or a bitmap: by a device, if its price says so, or by our kernels here.  true: done, *info is the result; false:
 * nothing has changed; call->here says that no device need be asked again. */
bool tsr_try_push(GrB_Info *info, tsr_arguments *call);

#endif
