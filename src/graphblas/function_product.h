/* GrB_mxv and GrB_vxm with a full vector and a multiplier that the program made.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_GRAPHBLAS_FUNCTION_PRODUCT_H
#define TSR_GRAPHBLAS_FUNCTION_PRODUCT_H

#include "src/graphblas/match/match.h"

/* true: done, *info is the result of the call. */
bool tsr_try_function_product(GrB_Info *info, const tsr_arguments *given);

#endif
