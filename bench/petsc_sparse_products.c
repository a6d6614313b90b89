/* AIJ x AIJ and PtAP in PETSc, its own beside the plug-in's, in turns within one run: process CPU time, the best of several, first products
 * (symbolic and numeric) and repeated ones (numeric).  One line of JSON for each product.
 *
 *     mpicc -O2 petsc_sparse_products.c petsc_matrices.c $(pkg-config --cflags --libs petsc) -lm -o sparse_products
 *     sparse_products -dll_append PLUGIN [-tessera_sparse always] [-turns 3] [-side 40] [-scale 13] [-files a.petsc,b.petsc]
 *
 * -files: these matrices, written by MatView, instead of a mesh and R-MAT.  -tessera_view says which products the plug-in takes by itself.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <time.h>

#include "petsc_matrices.h"

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static PetscErrorCode multiply(Mat A, Mat B, PetscBool galerkin, MatReuse reuse, Mat *C)
{
    PetscFunctionBeginUser;
    if (galerkin) {
        PetscCall(MatPtAP(A, B, reuse, PETSC_DEFAULT, C));
    } else {
        PetscCall(MatMatMult(A, B, reuse, PETSC_DEFAULT, C));
    }
    PetscFunctionReturn(0);
}

/* First and repeated ms, the least so far. */
static PetscErrorCode measure(Mat A, Mat B, PetscBool galerkin, double best[2], Mat *C)
{
    PetscFunctionBeginUser;
    double begin = cpu_ms();
    PetscCall(multiply(A, B, galerkin, MAT_INITIAL_MATRIX, C));
    best[0] = fmin(best[0], cpu_ms() - begin);
    for (int again = 0; again < 3; again++) {
        PetscCall(MatScale(A, -1)); /* values change */
        begin = cpu_ms();
        PetscCall(multiply(A, B, galerkin, MAT_REUSE_MATRIX, C));
        best[1] = fmin(best[1], cpu_ms() - begin);
    }
    PetscFunctionReturn(0);
}

/* The same entries, and values within rounding. */
static PetscErrorCode compare_results(Mat C[2], PetscInt64 *entries)
{
    MatInfo info[2];
    PetscReal norm, error;

    PetscFunctionBeginUser;
    for (int k = 0; k < 2; k++) {
        PetscCall(MatGetInfo(C[k], MAT_LOCAL, &info[k]));
    }
    PetscCheck(info[0].nz_used == info[1].nz_used, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%g entries, not %g", info[1].nz_used, info[0].nz_used);
    PetscCall(MatNorm(C[0], NORM_FROBENIUS, &norm));
    PetscCall(MatAXPY(C[1], -1, C[0], SAME_NONZERO_PATTERN));
    PetscCall(MatNorm(C[1], NORM_FROBENIUS, &error));
    PetscCheck(error <= 1e-12 * norm, PETSC_COMM_SELF, PETSC_ERR_PLIB, "results differ by %g", (double)(error / norm));
    *entries = (PetscInt64)info[0].nz_used;
    PetscFunctionReturn(0);
}

/* A and B [0]: PETSc's, [1]: ours. */
static PetscErrorCode compare(const char name[], Mat A[2], Mat B[2], PetscBool galerkin, PetscInt turns)
{
    double best[2][2] = {{HUGE_VAL, HUGE_VAL}, {HUGE_VAL, HUGE_VAL}};
    PetscInt64 entries = 0;

    PetscFunctionBeginUser;
    for (PetscInt t = 0; t < turns; t++) {
        Mat C[2];
        for (int k = 0; k < 2; k++) {
            PetscCall(measure(A[k], B[k], galerkin, best[k], &C[k]));
        }
        PetscCall(compare_results(C, &entries));
        PetscCall(MatDestroy(&C[0]));
        PetscCall(MatDestroy(&C[1]));
    }
    PetscCall(PetscPrintf(PETSC_COMM_SELF,
                          "{\"matrix\": \"%s\", \"product\": \"%s\", \"entries\": %lld, \"petsc_first_ms\": %.2f, \"tessera_first_ms\": %.2f, "
                          "\"petsc_again_ms\": %.2f, \"tessera_again_ms\": %.2f}\n",
                          name, galerkin ? "PtAP" : "A A", (long long)entries, best[0][0], best[1][0], best[0][1], best[1][1]));
    PetscFunctionReturn(0);
}

/* Linear interpolation of every second point along rows of a mesh. */
static PetscErrorCode interpolation(Mat *P, PetscInt n)
{
    PetscFunctionBeginUser;
    PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n / 2, 2, NULL, P));
    for (PetscInt row = 0; row < n; row++) {
        const PetscInt coarse = PetscMin(row / 2, n / 2 - 1), next = PetscMin(coarse + 1, n / 2 - 1);
        PetscCall(MatSetValue(*P, row, next, row % 2 ? .5 : 0, ADD_VALUES));
        PetscCall(MatSetValue(*P, row, coarse, row % 2 ? .5 : 1, ADD_VALUES));
    }
    PetscCall(MatAssemblyBegin(*P, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*P, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

/* Both products of A, which is freed. */
static PetscErrorCode compare_matrix(const char name[], Mat A, PetscInt turns)
{
    Mat a[2] = {A}, p[2];
    PetscInt n;

    PetscFunctionBeginUser;
    PetscCall(MatGetSize(A, &n, NULL));
    PetscCall(interpolation(&p[0], n));
    PetscCall(MatConvert(a[0], "seqaijtessera", MAT_INITIAL_MATRIX, &a[1]));
    PetscCall(MatConvert(p[0], "seqaijtessera", MAT_INITIAL_MATRIX, &p[1]));
    PetscCall(compare(name, a, a, PETSC_FALSE, turns));
    PetscCall(compare(name, a, p, PETSC_TRUE, turns));
    for (int k = 0; k < 2; k++) {
        PetscCall(MatDestroy(&a[k]));
        PetscCall(MatDestroy(&p[k]));
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode compare_file(const char name[], PetscInt turns)
{
    PetscViewer file;
    Mat A;

    PetscFunctionBeginUser;
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_SELF, name, FILE_MODE_READ, &file));
    PetscCall(MatCreate(PETSC_COMM_SELF, &A));
    PetscCall(MatSetType(A, MATSEQAIJ));
    PetscCall(MatLoad(A, file));
    PetscCall(PetscViewerDestroy(&file));
    PetscCall(compare_matrix(name, A, turns));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    enum { MOST_FILES = 64 };
    PetscInt turns = 3, side = 40, scale = 13, nfiles = MOST_FILES;
    char *files[MOST_FILES];
    Mat A;

    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-turns", &turns, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-side", &side, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-scale", &scale, NULL));
    PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-files", files, &nfiles, NULL));
    for (PetscInt k = 0; k < nfiles; k++) {
        PetscCall(compare_file(files[k], turns));
        PetscCall(PetscFree(files[k]));
    }
    if (!nfiles) {
        PetscCall(petsc_mesh(&A, MATSEQAIJ, side));
        PetscCall(compare_matrix("mesh", A, turns));
        PetscCall(petsc_rmat(&A, MATSEQAIJ, (int)scale));
        PetscCall(compare_matrix("rmat", A, turns));
    }
    PetscCall(PetscFinalize());
    return 0;
}
