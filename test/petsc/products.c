/* Products of sparse and dense matrices in PETSc: each kind, width, layout and distribution on random matrices; values and
 * patterns that change; matrices that are copied, converted and freed in between.  Prints one line for what differs, then "checked N".
 *
 *     mpirun -n N products -dll_append PLUGIN [-tessera_rebind] [-ours aijtessera] [-seed S] [-few] [-die RANK]
 *
 * What is expected is computed a column at a time: PETSc's MatMult of AIJ matrices is never ours.
 * SPDX-License-Identifier: Apache-2.0 */
#include <petscmat.h>
#include <signal.h>

static PetscInt checked, wrong;
static PetscRandom dice;

static PetscErrorCode draw(PetscInt below, PetscInt *value)
{
    PetscReal r;

    PetscFunctionBeginUser;
    PetscCall(PetscRandomGetValueReal(dice, &r));
    *value = (PetscInt)(r * (PetscReal)below);
    PetscFunctionReturn(0);
}

/* Every process draws the same numbers, and sets the rows it owns.  Some rows stay empty, one is full. */
static PetscErrorCode fill(Mat A, PetscInt M, PetscInt N, PetscInt per_row)
{
    PetscInt first, last, full, column, count;

    PetscFunctionBeginUser;
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    PetscCall(draw(M, &full));
    for (PetscInt row = 0; row < M; row++) {
        PetscCall(draw(2 * per_row + 1, &count));
        count = row == full ? N : PetscMin(count, N);
        for (PetscInt k = 0; k < count; k++) {
            PetscReal value;
            PetscCall(draw(N, &column));
            PetscCall(PetscRandomGetValueReal(dice, &value));
            const PetscScalar x = value - .5;
            if (row >= first && row < last) {
                PetscCall(MatSetValues(A, 1, &row, 1, row == full ? &k : &column, &x, INSERT_VALUES));
            }
        }
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

static PetscErrorCode make_sparse(Mat *A, MatType type, PetscInt M, PetscInt N, PetscInt per_row)
{
    PetscFunctionBeginUser;
    PetscCall(MatCreate(PETSC_COMM_WORLD, A));
    PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, M, N));
    PetscCall(MatSetType(*A, type));
    PetscCall(MatSetUp(*A));
    PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(fill(*A, M, N, per_row));
    PetscFunctionReturn(0);
}

/* m x n here, M x N everywhere; sometimes part of a larger array. */
static PetscErrorCode make_dense(Mat *B, PetscInt m, PetscInt n, PetscInt M, PetscInt N)
{
    PetscInt wider, first, last, lda;
    PetscScalar *x;

    PetscFunctionBeginUser;
    PetscCall(draw(3, &wider));
    PetscCall(MatCreate(PETSC_COMM_WORLD, B));
    PetscCall(MatSetSizes(*B, m, n, M, N));
    PetscCall(MatSetType(*B, MATDENSE));
    PetscCall(MatDenseSetLDA(*B, PetscMax(m, 1) + wider));
    PetscCall(MatSetUp(*B));
    PetscCall(MatGetOwnershipRange(*B, &first, &last));
    PetscCall(MatDenseGetLDA(*B, &lda));
    PetscCall(MatDenseGetArray(*B, &x));
    for (PetscInt row = first; row < last; row++) {
        for (PetscInt column = 0; column < N; column++) {
            x[row - first + column * lda] = PetscSinReal((PetscReal)(7 * row + 3 * column + 1));
        }
    }
    PetscCall(MatDenseRestoreArray(*B, &x));
    PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

static PetscErrorCode compare(const char what[], Mat C, Mat expected)
{
    Mat difference;
    PetscReal error, norm;

    PetscFunctionBeginUser;
    PetscCall(MatDuplicate(C, MAT_COPY_VALUES, &difference));
    PetscCall(MatAXPY(difference, -1, expected, SAME_NONZERO_PATTERN));
    PetscCall(MatNorm(difference, NORM_INFINITY, &error));
    PetscCall(MatNorm(expected, NORM_INFINITY, &norm));
    PetscCall(MatDestroy(&difference));
    checked++;
    if (!(error <= 1e-12 * (norm + 1))) { /* also of NaN */
        wrong++;
        PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s differs: %g of %g\n", what, (double)error, (double)norm));
    }
    PetscFunctionReturn(0);
}

typedef enum product { AB, ATB, ABT, DENSE_AB, PRODUCTS } product;
static const char *const names[] = {"A B", "A' B", "A B'", "D A"};

static PetscErrorCode multiply(product p, Mat A, Mat B, MatReuse reuse, Mat *C)
{
    PetscFunctionBeginUser;
    switch (p) {
    case AB: PetscCall(MatMatMult(A, B, reuse, PETSC_DEFAULT, C)); break;
    case ATB: PetscCall(MatTransposeMatMult(A, B, reuse, PETSC_DEFAULT, C)); break;
    case ABT: PetscCall(MatMatTransposeMult(A, B, reuse, PETSC_DEFAULT, C)); break;
    default: PetscCall(MatMatMult(B, A, reuse, PETSC_DEFAULT, C));
    }
    PetscFunctionReturn(0);
}

/* C = A B or A' B of dense B and C, a column at a time. */
static PetscErrorCode multiply_columns(Mat A, PetscBool transposed, Mat B, Mat C)
{
    Vec x, y;
    PetscInt unused, n;

    PetscFunctionBeginUser;
    PetscCall(MatGetSize(C, &unused, &n));
    for (PetscInt j = 0; j < n; j++) {
        PetscCall(MatDenseGetColumnVecRead(B, j, &x));
        PetscCall(MatDenseGetColumnVecWrite(C, j, &y));
        PetscCall(transposed ? MatMultTranspose(A, x, y) : MatMult(A, x, y));
        PetscCall(MatDenseRestoreColumnVecWrite(C, j, &y));
        PetscCall(MatDenseRestoreColumnVecRead(B, j, &x));
    }
    PetscFunctionReturn(0);
}

/* The same as multiply, without products of matrices but transposition. */
static PetscErrorCode expect(product p, Mat A, Mat B, Mat C, Mat *expected)
{
    Mat Bt, Ct;

    PetscFunctionBeginUser;
    if (p == AB || p == ATB) {
        PetscCall(MatDuplicate(C, MAT_DO_NOT_COPY_VALUES, expected));
        PetscCall(multiply_columns(A, p == ATB ? PETSC_TRUE : PETSC_FALSE, B, *expected));
        PetscFunctionReturn(0);
    }
    PetscCall(MatTranspose(B, MAT_INITIAL_MATRIX, &Bt));
    if (p == ABT) {
        PetscCall(MatDuplicate(C, MAT_DO_NOT_COPY_VALUES, expected));
        PetscCall(multiply_columns(A, PETSC_FALSE, Bt, *expected));
    } else {
        PetscCall(MatTranspose(C, MAT_INITIAL_MATRIX, &Ct));
        PetscCall(multiply_columns(A, PETSC_TRUE, Bt, Ct));
        PetscCall(MatTranspose(Ct, MAT_INITIAL_MATRIX, expected));
        PetscCall(MatDestroy(&Ct));
    }
    PetscCall(MatDestroy(&Bt));
    PetscFunctionReturn(0);
}

/* The dense operand of a product with n columns in the result, or rows if it is dense times sparse. */
static PetscErrorCode make_operand(product p, Mat A, PetscInt n, Mat *B)
{
    PetscInt m, k, M, K, local = PETSC_DECIDE, all = n;

    PetscFunctionBeginUser;
    PetscCall(MatGetLocalSize(A, &m, &k));
    PetscCall(MatGetSize(A, &M, &K));
    PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &local, &all));
    switch (p) {
    case AB: PetscCall(make_dense(B, k, PETSC_DECIDE, K, n)); break;
    case ATB: PetscCall(make_dense(B, m, PETSC_DECIDE, M, n)); break;
    case ABT: PetscCall(make_dense(B, local, k, n, K)); break;
    default: PetscCall(make_dense(B, local, m, n, M));
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode check_result(product p, Mat A, Mat B, Mat C)
{
    Mat expected;

    PetscFunctionBeginUser;
    PetscCall(expect(p, A, B, C, &expected));
    PetscCall(compare(names[p], C, expected));
    PetscCall(MatDestroy(&expected));
    PetscFunctionReturn(0);
}

/* One entry more, somewhere. */
static PetscErrorCode grow(Mat A)
{
    PetscInt M, N, row, column, first, last;
    PetscScalar two = 2;

    PetscFunctionBeginUser;
    PetscCall(MatGetSize(A, &M, &N));
    PetscCall(draw(M, &row));
    PetscCall(draw(N, &column));
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    if (row >= first && row < last) {
        PetscCall(MatSetValues(A, 1, &row, 1, &column, &two, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

/* Made; made again after values changed, by PETSc and by their array's owner; after the pattern grew. */
static PetscErrorCode check_product(product p, Mat A, PetscInt n)
{
    Mat B, C;

    PetscFunctionBeginUser;
    PetscCall(make_operand(p, A, n, &B));
    PetscCall(multiply(p, A, B, MAT_INITIAL_MATRIX, &C));
    PetscCall(check_result(p, A, B, C));
    PetscCall(MatScale(A, -3));
    PetscCall(multiply(p, A, B, MAT_REUSE_MATRIX, &C));
    PetscCall(check_result(p, A, B, C));
    PetscCall(MatDestroy(&C));
    PetscCall(grow(A));
    PetscCall(multiply(p, A, B, MAT_INITIAL_MATRIX, &C));
    PetscCall(check_result(p, A, B, C));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&C));
    PetscFunctionReturn(0);
}

static PetscErrorCode check_matrix(MatType type, PetscInt M, PetscInt N, PetscInt per_row, PetscInt width)
{
    Mat A, copy;
    PetscMPIInt size;

    PetscFunctionBeginUser;
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
    PetscCall(make_sparse(&A, type, M, N, per_row));
    for (int p = 0; p < PRODUCTS; p++) {
        if (p != ABT || size == 1) { /* PETSc has no parallel one */
            PetscCall(check_product((product)p, A, width));
        }
    }
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &copy));
    PetscCall(MatDestroy(&A));
    PetscCall(check_product(AB, copy, width));
    PetscCall(MatConvert(copy, MATAIJ, MAT_INPLACE_MATRIX, &copy));
    PetscCall(MatConvert(copy, type, MAT_INPLACE_MATRIX, &copy));
    PetscCall(check_product(AB, copy, width));
    PetscCall(MatDestroy(&copy));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    static const PetscInt widths[] = {1, 8, 33, 2, 3, 7, 31, 100};
    char type[64] = MATAIJ;
    PetscInt seed = 20261122, M, N, per_row, dies = -1;
    PetscBool few = PETSC_FALSE;
    PetscMPIInt rank;

    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(PetscOptionsGetString(NULL, NULL, "-ours", type, sizeof type, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-seed", &seed, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-die", &dies, NULL));
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-few", &few, NULL));
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &dice));
    PetscCall(PetscRandomSetSeed(dice, (unsigned long)seed));
    PetscCall(PetscRandomSeed(dice));
    for (size_t k = 0; k < (few ? 3 : sizeof widths / sizeof *widths); k++) {
        PetscCall(draw(90, &M));
        PetscCall(draw(90, &N));
        PetscCall(draw(6, &per_row));
        PetscCall(check_matrix(type, M + 1, N + 1, per_row, widths[k]));
        if (k == 1 && rank == dies) {
            raise(SIGKILL);
        }
        PetscCall(check_matrix(type, M + 1, M + 1, per_row, widths[k]));
    }
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "seed %d, checked %d, %d wrong\n", (int)seed, (int)checked, (int)wrong));
    PetscCall(PetscRandomDestroy(&dice));
    PetscCall(PetscFinalize());
    return wrong != 0;
}
