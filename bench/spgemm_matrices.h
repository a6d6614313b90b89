/* Operands of the SpGEMM benchmark: made by recipe or read from a Matrix Market file.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_SPGEMM_MATRICES_H
#define BENCH_SPGEMM_MATRICES_H

#include <GraphBLAS.h>
#include <stdbool.h>

/* A = the matrix `name`, FP64, by row; B is the second operand of the product with this name, the same handle as A where the product is A A.
 *   rmat16 rmat18 er mesh2d mesh27 fem3 mcl     squares
 *   amg-AP amg-RAP                              A P and R (A P) of a 7-point grid
 *   ms64 ms4096 ms4096er                        few rows times rmat18, rmat18, er
 *   FILE, FILE:transpose                        A A, A A' of a file
 * Values lie in (0, 1]. */
GrB_Info bench_operands(GrB_Matrix *A, GrB_Matrix *B, const char *name);

#endif
