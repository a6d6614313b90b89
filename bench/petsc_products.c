/* AIJ x dense in PETSc, its own beside the plug-in's, in turns within one run: process CPU time, the slowest process, the best of several.
 * One line of JSON for each matrix and width.
 *
 *     mpicc -O2 petsc_products.c petsc_matrices.c $(pkg-config --cflags --libs petsc) -lm -o petsc_products
 *     mpirun -n N petsc_products -dll_append PLUGIN [-turns 7] [-side 64] [-scale 17] [-widths 8,32,128] [-write]
 *
 * -write: writes the matrices to mesh.petsc and rmat.petsc, as SLEPc's ex4 reads them, and does no more.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <time.h>

#include "petsc_matrices.h"

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* A[0]: PETSc's, A[1]: ours. */
static PetscErrorCode measure(const char name[], Mat A[2], PetscInt width, PetscInt turns)
{
    Mat B, C[2];
    PetscInt m, n, M, N;
    PetscReal norm, error;
    PetscMPIInt size;
    double best[2] = {HUGE_VAL, HUGE_VAL};

    PetscFunctionBeginUser;
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
    PetscCall(MatGetLocalSize(A[0], &m, &n));
    PetscCall(MatGetSize(A[0], &M, &N));
    PetscCall(MatCreateDense(PETSC_COMM_WORLD, n, PETSC_DECIDE, N, width, NULL, &B));
    PetscCall(MatSetRandom(B, NULL));
    for (int k = 0; k < 2; k++) {
        PetscCall(MatMatMult(A[k], B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C[k]));
    }
    for (PetscInt t = 0; t < 2 * turns; t++) {
        const int k = (int)(t % 2);
        PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
        double ms = cpu_ms();
        PetscCall(MatMatMult(A[k], B, MAT_REUSE_MATRIX, PETSC_DEFAULT, &C[k]));
        ms = cpu_ms() - ms;
        PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &ms, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
        best[k] = PetscMin(best[k], ms);
    }
    PetscCall(MatNorm(C[0], NORM_FROBENIUS, &norm));
    PetscCall(MatAXPY(C[1], -1, C[0], SAME_NONZERO_PATTERN));
    PetscCall(MatNorm(C[1], NORM_FROBENIUS, &error));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "{\"matrix\": \"%s\", \"processes\": %d, \"n\": %d, \"petsc_ms\": %.2f, \"tessera_ms\": %.2f, \"error\": %.1e}\n",
                          name, size, (int)width, best[0], best[1], (double)(error / norm)));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&C[0]));
    PetscCall(MatDestroy(&C[1]));
    PetscFunctionReturn(0);
}

static PetscErrorCode write_matrix(Mat A, const char file[])
{
    PetscViewer viewer;

    PetscFunctionBeginUser;
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, file, FILE_MODE_WRITE, &viewer));
    PetscCall(MatView(A, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    PetscInt turns = 7, side = 64, scale = 17, widths[16] = {8, 32, 128}, nwidths = 16;
    PetscBool given, write = PETSC_FALSE;

    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-turns", &turns, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-side", &side, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-scale", &scale, NULL));
    PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-widths", widths, &nwidths, &given));
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-write", &write, NULL));
    nwidths = write ? 0 : given ? nwidths : 3;
    for (int which = 0; which < 2; which++) {
        Mat A[2];
        for (int k = 0; k < 2; k++) {
            PetscCall(which ? petsc_rmat(&A[k], k && !write ? "aijtessera" : MATAIJ, (int)scale) : petsc_mesh(&A[k], k && !write ? "aijtessera" : MATAIJ, side));
        }
        for (PetscInt w = 0; w < nwidths; w++) {
            PetscCall(measure(which ? "rmat" : "mesh", A, widths[w], turns));
        }
        if (write) {
            PetscCall(write_matrix(A[0], which ? "rmat.petsc" : "mesh.petsc"));
        }
        PetscCall(MatDestroy(&A[0]));
        PetscCall(MatDestroy(&A[1]));
    }
    PetscCall(PetscFinalize());
    return 0;
}
