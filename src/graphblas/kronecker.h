/* Kronecker products: what their arguments say.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_GRAPHBLAS_KRONECKER_H
#define TSR_GRAPHBLAS_KRONECKER_H

#include "src/graphblas/elementwise.h"

/* Has their product so many entries that it may pay? */
bool tsr_kronecker_wanted(GrB_Matrix A, GrB_Matrix B);

/* op, type and result of a step; false: not an operator that is computed here. */
bool tsr_match_kronecker(tsr_ewise *step, GrB_BinaryOp op);

/* C = kron (A, B) of sparse matrices of which a device has one (sparse_entries.c). */
bool tsr_try_kronecker_on_device(GrB_Info *info, const tsr_output *out, GrB_BinaryOp op, GrB_Matrix A, GrB_Matrix B);

/* C<M> accum= kron (A, B).  true: done, *info is the result of the call. */
bool tsr_try_kronecker(GrB_Info *info, const tsr_output *out, GrB_BinaryOp op, GrB_Matrix A, GrB_Matrix B);

#endif
