/* Matrices of the benchmarks that PETSc takes part in: distributed by rows over PETSC_COMM_WORLD, of a type of MatSetType.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_PETSC_MATRICES_H
#define BENCH_PETSC_MATRICES_H

#include <petscmat.h>

/* side^3 points, each with its 26 neighbours. */
PetscErrorCode petsc_mesh(Mat *A, const char type[], PetscInt side);

/* R-MAT of 2^scale rows and edge factor 16, symmetric, the same on any number of processes. */
PetscErrorCode petsc_rmat(Mat *A, const char type[], int scale);

#endif
