/* Products of two sequential sparse matrices in PETSc, A B and P' A P, on random matrices: the pattern and the values of C against loops over
 * dense arrays; values that change, other matrices of the same pattern, patterns that grow, C changed in between.  Prints one line for what
 * differs, then "checked N".
 *
 *     sparse_products [-dll_append PLUGIN] [-tessera_sparse always] [-tessera_rebind] [-ours seqaijtessera] [-other seqaij] [-seed S] [-few]
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <petscmat.h>

enum { MOST = 40 };
typedef struct table {
    PetscInt m, n;
    PetscBool has[MOST][MOST];
    PetscScalar x[MOST][MOST];
} table;

static PetscInt checked, wrong;
static PetscRandom dice;

static PetscInt draw(PetscInt below)
{
    PetscReal r = 0;
    PetscCallAbort(PETSC_COMM_SELF, PetscRandomGetValueReal(dice, &r));
    return PetscMin((PetscInt)(r * (PetscReal)below), below - 1);
}

static PetscErrorCode assemble(Mat A)
{
    PetscFunctionBeginUser;
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

/* Some rows are empty, one may be full; whole numbers, so that sums are exact and some are zero. */
static PetscErrorCode make(Mat *A, MatType type, PetscInt m, PetscInt n)
{
    const PetscInt full = draw(2 * m);

    PetscFunctionBeginUser;
    PetscCall(MatCreate(PETSC_COMM_SELF, A));
    PetscCall(MatSetSizes(*A, m, n, m, n));
    PetscCall(MatSetType(*A, type));
    PetscCall(MatSeqAIJSetPreallocation(*A, n, NULL));
    PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    for (PetscInt row = 0; row < m; row++) {
        for (PetscInt k = row == full ? n : draw(PetscMin(n, 6)); k > 0; k--) {
            const PetscInt column = row == full ? k - 1 : draw(n);
            PetscCall(MatSetValue(*A, row, column, (PetscScalar)(draw(9) - 4), INSERT_VALUES));
        }
    }
    PetscCall(assemble(*A));
    PetscFunctionReturn(0);
}

static PetscErrorCode read_table(Mat A, table *t)
{
    PetscFunctionBeginUser;
    PetscCall(PetscMemzero(t, sizeof *t));
    PetscCall(MatGetSize(A, &t->m, &t->n));
    for (PetscInt row = 0; row < t->m; row++) {
        PetscInt count;
        const PetscInt *columns;
        const PetscScalar *values;
        PetscCall(MatGetRow(A, row, &count, &columns, &values));
        for (PetscInt k = 0; k < count; k++) {
            t->has[row][columns[k]] = PETSC_TRUE;
            t->x[row][columns[k]] = values[k];
            PetscCheck(k == 0 || columns[k - 1] < columns[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "columns of row %d do not ascend", (int)row);
        }
        PetscCall(MatRestoreRow(A, row, &count, &columns, &values));
    }
    PetscFunctionReturn(0);
}

/* c = a b, or a' b */
static void multiply_tables(const table *a, PetscBool transposed, const table *b, table *c)
{
    *c = (table){.m = transposed ? a->n : a->m, .n = b->n};
    for (PetscInt i = 0; i < c->m; i++) {
        for (PetscInt k = 0; k < b->m; k++) {
            for (PetscInt j = 0; j < b->n; j++) {
                const PetscInt row = transposed ? k : i, column = transposed ? i : k;
                if (a->has[row][column] && b->has[k][j]) {
                    c->has[i][j] = PETSC_TRUE;
                    c->x[i][j] += a->x[row][column] * b->x[k][j];
                }
            }
        }
    }
}

/* may_have: C may have entries more, which are zero. */
static PetscErrorCode check(const char what[], PetscBool galerkin, Mat A, Mat B, Mat C, PetscBool may_have)
{
    static table a, b, c, inner, expected;
    PetscInt differ = 0;

    PetscFunctionBeginUser;
    PetscCall(read_table(A, &a));
    PetscCall(read_table(B, &b));
    PetscCall(read_table(C, &c));
    multiply_tables(&a, PETSC_FALSE, &b, galerkin ? &inner : &expected);
    if (galerkin) {
        multiply_tables(&b, PETSC_TRUE, &inner, &expected);
    }
    differ += c.m != expected.m || c.n != expected.n;
    for (PetscInt i = 0; i < c.m; i++) {
        for (PetscInt j = 0; j < c.n; j++) {
            differ += c.x[i][j] != expected.x[i][j] || (c.has[i][j] != expected.has[i][j] && !may_have);
        }
    }
    checked++;
    wrong += differ > 0;
    if (differ) {
        PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %s: %d entries differ\n", galerkin ? "P' A P" : "A B", what, (int)differ));
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode multiply(PetscBool galerkin, Mat A, Mat B, MatReuse reuse, Mat *C)
{
    PetscFunctionBeginUser;
    if (galerkin) {
        PetscCall(MatPtAP(A, B, reuse, PETSC_DEFAULT, C));
    } else {
        PetscCall(MatMatMult(A, B, reuse, PETSC_DEFAULT, C));
    }
    PetscFunctionReturn(0);
}

/* Values of the operands change, by PETSc and by their array's owner. */
static PetscErrorCode check_values(PetscBool galerkin, Mat A, Mat B, Mat *C)
{
    PetscScalar *x;
    MatInfo info;

    PetscFunctionBeginUser;
    PetscCall(MatScale(A, -3));
    PetscCall(multiply(galerkin, A, B, MAT_REUSE_MATRIX, C));
    PetscCall(check("A changed", galerkin, A, B, *C, PETSC_FALSE));
    PetscCall(MatGetInfo(B, MAT_LOCAL, &info));
    PetscCall(MatSeqAIJGetArray(B, &x));
    for (PetscInt k = 0; k < (PetscInt)info.nz_used; k++) {
        x[k] += 1;
    }
    PetscCall(MatSeqAIJRestoreArray(B, &x));
    PetscCall(multiply(galerkin, A, B, MAT_REUSE_MATRIX, C));
    PetscCall(check("B changed", galerkin, A, B, *C, PETSC_FALSE));
    PetscFunctionReturn(0);
}

/* Other matrices of the same pattern; then C has an entry more. */
static PetscErrorCode check_others(PetscBool galerkin, Mat A, Mat B, Mat *C)
{
    Mat other;
    PetscInt m, n;

    PetscFunctionBeginUser;
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &other));
    PetscCall(MatScale(other, 2));
    PetscCall(multiply(galerkin, other, B, MAT_REUSE_MATRIX, C));
    PetscCall(check("another A", galerkin, other, B, *C, PETSC_FALSE));
    PetscCall(MatGetSize(*C, &m, &n));
    PetscCall(MatSetValue(*C, draw(m), draw(n), 7, INSERT_VALUES));
    PetscCall(assemble(*C));
    PetscCall(multiply(galerkin, other, B, MAT_REUSE_MATRIX, C));
    PetscCall(check("C grown", galerkin, other, B, *C, PETSC_TRUE));
    PetscCall(MatDestroy(&other));
    PetscFunctionReturn(0);
}

/* Its steps one by one; C is cleared between the symbolic and the numeric one. */
static PetscErrorCode check_steps(PetscBool galerkin, Mat A, Mat B)
{
    Mat C;

    PetscFunctionBeginUser;
    PetscCall(MatProductCreate(A, B, NULL, &C));
    PetscCall(MatProductSetType(C, galerkin ? MATPRODUCT_PtAP : MATPRODUCT_AB));
    PetscCall(MatProductSetFromOptions(C));
    PetscCall(MatProductSymbolic(C));
    PetscCall(MatScale(A, 2));
    PetscCall(MatProductNumeric(C));
    PetscCall(check("steps", galerkin, A, B, C, PETSC_FALSE));
    PetscCall(MatZeroEntries(C));
    PetscCall(MatProductNumeric(C));
    PetscCall(check("C cleared", galerkin, A, B, C, PETSC_FALSE));
    PetscCall(MatDestroy(&C));
    PetscFunctionReturn(0);
}

/* Entries of C's diagonal are wanted, whatever A and B have. */
static PetscErrorCode check_forced(Mat S)
{
    Mat C;
    Vec ones;

    PetscFunctionBeginUser;
    PetscCall(MatProductCreate(S, S, NULL, &C));
    PetscCall(MatProductSetType(C, MATPRODUCT_AB));
    PetscCall(MatSetOption(C, MAT_FORCE_DIAGONAL_ENTRIES, PETSC_TRUE));
    PetscCall(MatProductSetFromOptions(C));
    PetscCall(MatProductSymbolic(C));
    PetscCall(MatProductNumeric(C));
    PetscCall(check("diagonal forced", PETSC_FALSE, S, S, C, PETSC_TRUE));
    PetscCall(MatSetOption(C, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_TRUE));
    PetscCall(MatCreateVecs(C, &ones, NULL));
    PetscCall(VecSet(ones, 1));
    PetscCall(MatDiagonalSet(C, ones, INSERT_VALUES)); /* an error where an entry is missing */
    PetscCall(VecDestroy(&ones));
    PetscCall(MatDestroy(&C));
    PetscFunctionReturn(0);
}

static PetscErrorCode check_product(PetscBool galerkin, Mat A, Mat B)
{
    Mat C, copy;

    PetscFunctionBeginUser;
    PetscCall(multiply(galerkin, A, B, MAT_INITIAL_MATRIX, &C));
    PetscCall(check("first", galerkin, A, B, C, PETSC_FALSE));
    PetscCall(check_values(galerkin, A, B, &C));
    PetscCall(MatDuplicate(C, MAT_COPY_VALUES, &copy));
    PetscCall(check_others(galerkin, A, B, &C));
    PetscCall(MatDestroy(&C));
    PetscCall(check("a copy", galerkin, A, B, copy, PETSC_FALSE));
    PetscCall(MatDestroy(&copy));
    PetscCall(check_steps(galerkin, A, B));
    PetscFunctionReturn(0);
}

static PetscErrorCode check_matrices(MatType type, MatType other)
{
    const PetscInt m = 1 + draw(MOST), k = 1 + draw(MOST), n = 1 + draw(MOST);
    Mat A, B, S;

    PetscFunctionBeginUser;
    PetscCall(make(&A, type, m, k));
    PetscCall(make(&B, other, k, n));
    PetscCall(make(&S, type, k, k));
    PetscCall(check_product(PETSC_FALSE, A, B));
    PetscCall(check_product(PETSC_TRUE, S, B));
    PetscCall(check_product(PETSC_FALSE, S, S));
    PetscCall(MatSetValue(S, draw(k), draw(k), 5, INSERT_VALUES));
    PetscCall(assemble(S));
    PetscCall(check_product(PETSC_FALSE, S, S));
    PetscCall(check_forced(S));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&S));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    char type[64] = MATSEQAIJ, other[64] = MATSEQAIJ;
    PetscInt seed = 20261124;
    PetscBool few = PETSC_FALSE;

    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(PetscOptionsGetString(NULL, NULL, "-ours", type, sizeof type, NULL));
    PetscCall(PetscOptionsGetString(NULL, NULL, "-other", other, sizeof other, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-seed", &seed, NULL));
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-few", &few, NULL));
    PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &dice));
    PetscCall(PetscRandomSetSeed(dice, (unsigned long)seed));
    PetscCall(PetscRandomSeed(dice));
    for (int k = 0; k < (few ? 3 : 60); k++) {
        PetscCall(check_matrices(type, other));
    }
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "seed %d, checked %d, %d wrong\n", (int)seed, (int)checked, (int)wrong));
    PetscCall(PetscRandomDestroy(&dice));
    PetscCall(PetscFinalize());
    return wrong != 0;
}
