/* Matrices and vectors built of tuples: what their arguments say.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_GRAPHBLAS_BUILD_H
#define TSR_GRAPHBLAS_BUILD_H

#include "src/graphblas/elementwise.h"

/* So many tuples? */
bool tsr_build_wanted(GrB_Index count);

/* C = tuples (I, J, X), a vector without J.  X: a list of values as `scalar` and `type`, or one value in a box, of which the first tuple of a place
 * counts.  true: done, *info is the result of the call. */
bool tsr_try_build(GrB_Info *info, const tsr_output *out, const GrB_Index *I, const GrB_Index *J, tsr_argument X, GrB_Index count, GrB_BinaryOp dup);

#endif
