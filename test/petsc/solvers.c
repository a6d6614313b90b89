/* Programs of blocks of vectors in small: what they print, iterations above all, is the same without the plug-in.
 *
 *     mpirun -n N solvers -dll_append PLUGIN -tessera_rebind [-side 14] [-mat_ordering_type tessera [-tessera_parts 4]]
 *
 * A: a mesh of side^3 points, each with its six neighbours.  KSPMatSolve by blocks with multigrid (PCGAMG, whose Galerkin products are of
 * three matrices), conjugate gradients with it; with SLEPc (-DWITH_SLEPC) LOBPCG and subspace iteration.
 * SPDX-License-Identifier: Apache-2.0 */
#ifdef WITH_SLEPC
#include <slepceps.h>
#endif
#include <petscksp.h>

enum { BLOCK = 12 };

static PetscErrorCode make_mesh(Mat *A, PetscInt side)
{
    PetscInt first, last;
    const PetscInt n = side * side * side, steps[] = {1, side, side * side};

    PetscFunctionBeginUser;
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, 7, NULL, 6, NULL, A));
    PetscCall(MatGetOwnershipRange(*A, &first, &last));
    for (PetscInt row = first; row < last; row++) {
        PetscCall(MatSetValue(*A, row, row, 6.1 + .01 * (PetscReal)(row % 13), INSERT_VALUES));
        for (int k = 0; k < 3; k++) {
            const PetscInt place = row / steps[k] % side;
            if (place > 0) {
                PetscCall(MatSetValue(*A, row, row - steps[k], -1, INSERT_VALUES));
            }
            if (place < side - 1) {
                PetscCall(MatSetValue(*A, row, row + steps[k], -1, INSERT_VALUES));
            }
        }
    }
    PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

/* ---- linear systems ---- */

static PetscErrorCode make_solver(KSP *solver, Mat A, KSPType type)
{
    PC pc;

    PetscFunctionBeginUser;
    PetscCall(KSPCreate(PETSC_COMM_WORLD, solver));
    PetscCall(KSPSetType(*solver, type));
    PetscCall(KSPSetOperators(*solver, A, A));
    PetscCall(KSPGetPC(*solver, &pc));
    PetscCall(PCSetType(pc, PCGAMG));
    PetscCall(KSPSetFromOptions(*solver));
    PetscFunctionReturn(0);
}

static PetscErrorCode one_system(Mat A)
{
    KSP solver;
    Vec x, b;
    PetscInt iterations;

    PetscFunctionBeginUser;
    PetscCall(make_solver(&solver, A, KSPCG));
    PetscCall(KSPSetTolerances(solver, 1e-9, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSet(b, 1));
    PetscCall(KSPSolve(solver, b, x));
    PetscCall(KSPGetIterationNumber(solver, &iterations));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "PCGAMG with conjugate gradients: %d iterations\n", (int)iterations));
    PetscCall(KSPDestroy(&solver));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscFunctionReturn(0);
}

/* X += M (B - A X), M one cycle of multigrid for the whole block, until the residual is small. */
static PetscErrorCode block_system(Mat A)
{
    KSP cycle;
    Mat X, B, R, D;
    PetscReal norm, first;
    PetscInt iterations = 0, m, n, M, N;

    PetscFunctionBeginUser;
    PetscCall(make_solver(&cycle, A, KSPPREONLY));
    PetscCall(MatGetLocalSize(A, &m, &n));
    PetscCall(MatGetSize(A, &M, &N));
    PetscCall(MatCreateDense(PETSC_COMM_WORLD, n, PETSC_DECIDE, N, BLOCK, NULL, &B));
    PetscCall(MatSetRandom(B, NULL));
    PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &R));
    PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
    PetscCall(MatZeroEntries(X));
    PetscCall(MatDuplicate(X, MAT_COPY_VALUES, &D));
    PetscCall(MatNorm(R, NORM_FROBENIUS, &first));
    for (norm = first; norm > 1e-8 * first && iterations < 100; iterations++) {
        Mat AX;
        PetscCall(KSPMatSolve(cycle, R, D));
        PetscCall(MatAXPY(X, 1, D, SAME_NONZERO_PATTERN));
        PetscCall(MatMatMult(A, X, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &AX));
        PetscCall(MatCopy(B, R, SAME_NONZERO_PATTERN));
        PetscCall(MatAXPY(R, -1, AX, SAME_NONZERO_PATTERN));
        PetscCall(MatNorm(R, NORM_FROBENIUS, &norm));
        PetscCall(MatDestroy(&AX));
    }
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "KSPMatSolve with PCGAMG, %d columns: %d iterations\n", BLOCK, (int)iterations));
    PetscCall(MatDestroy(&X));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&R));
    PetscCall(MatDestroy(&D));
    PetscCall(KSPDestroy(&cycle));
    PetscFunctionReturn(0);
}

/* ---- eigenvalues ---- */

#ifdef WITH_SLEPC
static PetscErrorCode eigenvalues(Mat A, EPSType type, EPSWhich which, PetscReal tolerance)
{
    EPS solver;
    PetscInt iterations, found;
    PetscScalar value;

    PetscFunctionBeginUser;
    PetscCall(EPSCreate(PETSC_COMM_WORLD, &solver));
    PetscCall(EPSSetOperators(solver, A, NULL));
    PetscCall(EPSSetProblemType(solver, EPS_HEP));
    PetscCall(EPSSetType(solver, type));
    PetscCall(EPSSetWhichEigenpairs(solver, which));
    PetscCall(EPSSetDimensions(solver, 4, 4 * BLOCK, PETSC_DEFAULT));
    PetscCall(EPSSetTolerances(solver, tolerance, 3000));
    PetscCall(EPSSetFromOptions(solver));
    PetscCall(EPSSolve(solver));
    PetscCall(EPSGetIterationNumber(solver, &iterations));
    PetscCall(EPSGetConverged(solver, &found));
    PetscCheck(found > 0, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "no eigenvalue");
    PetscCall(EPSGetEigenvalue(solver, 0, &value, NULL));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %d iterations, %d values, the first %.4f\n", type, (int)iterations, (int)found,
                          (double)PetscRealPart(value)));
    PetscCall(EPSDestroy(&solver));
    PetscFunctionReturn(0);
}
#endif

/* ---- the order ---- */

/* Is it a permutation of the rows?  Only a sequential matrix has one. */
static PetscErrorCode check_order(Mat A)
{
    char type[64];
    PetscBool wanted, good;
    IS rows, columns;

    PetscFunctionBeginUser;
    PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_ordering_type", type, sizeof type, &wanted));
    if (wanted) {
        PetscCall(MatGetOrdering(A, type, &rows, &columns));
        PetscCall(ISGetInfo(rows, IS_PERMUTATION, IS_LOCAL, PETSC_TRUE, &good));
        PetscCall(PetscPrintf(PETSC_COMM_WORLD, "order %s: %s\n", type, good ? "a permutation" : "no permutation"));
        PetscCall(ISDestroy(&rows));
        PetscCall(ISDestroy(&columns));
    }
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    PetscInt side = 14;
    Mat A;

    PetscFunctionBeginUser;
#ifdef WITH_SLEPC
    PetscCall(SlepcInitialize(&argc, &argv, NULL, NULL));
#else
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
#endif
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-side", &side, NULL));
    PetscCall(make_mesh(&A, side));
    PetscCall(check_order(A));
    PetscCall(one_system(A));
    PetscCall(block_system(A));
#ifdef WITH_SLEPC
    PetscCall(eigenvalues(A, EPSLOBPCG, EPS_SMALLEST_REAL, 1e-6));
    PetscCall(eigenvalues(A, EPSSUBSPACE, EPS_LARGEST_MAGNITUDE, 1e-3));
    PetscCall(MatDestroy(&A));
    PetscCall(SlepcFinalize());
#else
    PetscCall(MatDestroy(&A));
    PetscCall(PetscFinalize());
#endif
    return 0;
}
