/* What is known of one matrix on the device: counts of its nonzero vectors and row windows, the order of its rows, the range of its values.
 * Functions wait for the device and give TSR_OK, TSR_OUT_OF_MEMORY or TSR_INTERNAL_ERROR; what is known already costs nothing.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_MATRIX_STATISTICS_H
#define TSR_CUDA_MATRIX_STATISTICS_H

#include "backends/cuda/operands/operand.h"

/* Vectors and windows of a sample of the rows, its longest row, columns of a sample of the entries. */
tsr_status tsr_cuda_sample_matrix(tsr_cuda_sparse *a);

/* The entries of its longest row alone.  TSR_NOT_SUPPORTED: it has too many columns. */
tsr_status tsr_cuda_measure_rows(tsr_cuda_sparse *a);

/* Counts vectors[], once; decides the order of rows first. */
tsr_status tsr_cuda_count_matrix(tsr_cuda_sparse *a, tsr_reorder wanted);

/* Sets out_of_range: values of A beyond FP16 would become infinite. */
tsr_status tsr_cuda_check_range(tsr_cuda_sparse *a);

/* Sets narrow and shift: may values of A be FP16 where TF32 is allowed? */
tsr_status tsr_cuda_find_shift(tsr_cuda_sparse *a);

void tsr_cuda_statistics_free(tsr_cuda_statistics *statistics);

/* ---- What follows from it ---- */

tsr_source tsr_cuda_source_of(const tsr_cuda_sparse *a);

/* As far as it is known: before anybody has looked no two entries share a vector. */
tsr_gpu_matrix tsr_cuda_matrix_of(const tsr_cuda_sparse *a);

/* Nonzero vectors, counted before. */
int64_t tsr_cuda_vectors_of(const tsr_cuda_sparse *a, int height);

#endif
