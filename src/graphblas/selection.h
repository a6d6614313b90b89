/* Calls that pick entries: select of what is sparse, extract; on the host, or before that where a device has them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_GRAPHBLAS_SELECTION_H
#define TSR_GRAPHBLAS_SELECTION_H

#include "src/graphblas/elementwise.h"

/* C = select (op, A, y) of sparse A.  true: done, *info is the result of the call. */
bool tsr_try_select_sparse(GrB_Info *info, const tsr_output *out, GrB_IndexUnaryOp op, GrB_Matrix A, tsr_argument y);

/* Such calls have been done, whoever did them. */
void tsr_selected(const tsr_output *out, GrB_IndexUnaryOp op, GrB_Matrix A, tsr_argument y);
void tsr_extracted(const tsr_output *out, GrB_Matrix A, tsr_list rows, tsr_list columns);

/* C = A (I, J); of a vector A (I): columns are not looked at. */
bool tsr_try_extract(GrB_Info *info, const tsr_output *out, GrB_Matrix A, tsr_list rows, tsr_list columns);

/* The same of matrices that a device has, or is worth bringing there; the result stays. */
bool tsr_try_extract_on_device(GrB_Info *info, const tsr_output *out, GrB_Matrix A, tsr_list rows, tsr_list columns);
bool tsr_try_select_on_device(GrB_Info *info, const tsr_output *out, GrB_IndexUnaryOp op, GrB_Matrix A, tsr_argument y);

/* Sparse on the device alone, or on the host. */
bool tsr_is_sparse_somewhere(GrB_Matrix A);

/* The same of matrices of which a device has one (sparse_entries.c): C = op (A), op (A, B), A', without mask and accumulator; … */
bool tsr_try_unary_on_device(GrB_Info *info, const tsr_output *out, GrB_UnaryOp op, GrB_Matrix A);
bool tsr_try_binary_on_device(GrB_Info *info, const tsr_output *out, GrB_BinaryOp op, tsr_argument x, tsr_argument y, tsr_pairing pairing);
bool tsr_try_transpose_on_device(GrB_Info *info, const tsr_output *out, GrB_Matrix A);
/* … w<m> accum= the rows of A, or its columns, each joined. */
bool tsr_try_rows_on_device(GrB_Info *info, const tsr_output *out, GrB_BinaryOp op, GrB_Matrix A);

/* Is this a list of so many indices? */
bool tsr_list_wanted(const GrB_Index *list, GrB_Index count);

/* w (I) accum= u, or a scalar, in the host's own array of w. */
bool tsr_try_scatter_here(GrB_Info *info, const tsr_output *out, tsr_argument x, tsr_list places);

#endif
