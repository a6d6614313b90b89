/* Products of MatProduct: which are taken, their results set up, sequential ones computed.
 * SPDX-License-Identifier: Apache-2.0 */
#include "petsc_plugin.h"

#include <string.h>

/* ---- kinds ---- */

typedef struct kind {
    const char *name;
    MatProductType type;
    PetscBool dense_first; /* else the sparse matrix is the first */
    PetscBool parallel;
    PetscBool transposed;  /* the sparse matrix, as the library sees the product */
    PetscBool turned;      /* the library sees dense matrices by row: of their transposes */
} kind;

static const kind kinds[] = {
    {"AIJ x dense", MATPRODUCT_AB, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE},
    {"AIJ' x dense", MATPRODUCT_AtB, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE},
    {"AIJ x dense'", MATPRODUCT_ABt, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE},
    {"dense x AIJ", MATPRODUCT_AB, PETSC_TRUE, PETSC_FALSE, PETSC_TRUE, PETSC_TRUE}, /* C' = A' D' */
    {"parallel AIJ x dense", MATPRODUCT_AB, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE, PETSC_FALSE},
    {"parallel AIJ' x dense", MATPRODUCT_AtB, PETSC_FALSE, PETSC_TRUE, PETSC_TRUE, PETSC_FALSE},
};

/* NULL: none of ours. */
static PetscErrorCode find_kind(MatProductType type, Mat A, Mat B, const kind **found, Mat *sparse, Mat *dense)
{
    PetscBool dense_first, parallel;

    PetscFunctionBegin;
    PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &dense_first, MATSEQDENSE, MATMPIDENSE, ""));
    *sparse = dense_first ? B : A;
    *dense = dense_first ? A : B;
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)*sparse, MATMPIAIJ, &parallel));
    *found = NULL;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (kinds[k].type == type && kinds[k].dense_first == dense_first && kinds[k].parallel == parallel) {
            *found = &kinds[k];
        }
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode kind_of(Mat C, const kind **found, Mat *sparse, Mat *dense)
{
    Mat A, B, third;
    MatProductType type;

    PetscFunctionBegin;
    PetscCall(MatProductGetMats(C, &A, &B, &third));
    PetscCall(MatProductGetType(C, &type));
    PetscCall(find_kind(type, A, B, found, sparse, dense));
    PetscFunctionReturn(0);
}

/* ---- numeric ---- */

static tsr_dense dense_operand(const kind *k, const PetscScalar *data, PetscInt nrows, PetscInt ncols, PetscInt ld)
{
    return k->turned ? tsr_petsc_dense(data, TSR_ROW_MAJOR, ncols, nrows, ld) : tsr_petsc_dense(data, TSR_COL_MAJOR, nrows, ncols, ld);
}

static PetscErrorCode multiply(const kind *k, Mat sparse, Mat dense, Mat C)
{
    tsr_petsc_block *a;
    const PetscScalar *b_data;
    PetscScalar *c_data;
    PetscInt m, n, ld;

    PetscFunctionBegin;
    PetscCall(tsr_petsc_block_of(sparse, &a));
    PetscCall(MatDenseGetArrayRead(dense, &b_data));
    PetscCall(MatGetSize(dense, &m, &n));
    PetscCall(MatDenseGetLDA(dense, &ld));
    const tsr_dense b = dense_operand(k, b_data, m, n, ld);
    PetscCall(MatDenseGetArrayWrite(C, &c_data));
    PetscCall(MatGetSize(C, &m, &n));
    PetscCall(MatDenseGetLDA(C, &ld));
    tsr_dense c = dense_operand(k, c_data, m, n, ld);
    if (k->type == MATPRODUCT_ABt) { /* only B is turned */
        c = tsr_petsc_dense(c_data, TSR_COL_MAJOR, m, n, ld);
    }
    PetscCall(tsr_petsc_multiply(a, k->transposed, &b, &c));
    PetscCall(MatDenseRestoreArrayWrite(C, &c_data));
    PetscCall(MatDenseRestoreArrayRead(dense, &b_data));
    PetscFunctionReturn(0);
}

static PetscErrorCode compute(MatProductType type, Mat A, Mat B, Mat C)
{
    const kind *k;
    Mat sparse, dense;

    PetscFunctionBegin;
    PetscCall(find_kind(type, A, B, &k, &sparse, &dense));
    PetscCheck(k, PetscObjectComm((PetscObject)C), PETSC_ERR_PLIB, "Tessera: not a product that was taken");
    tsr_petsc_count(k->name, NULL);
    if (k->parallel) {
        PetscCall(tsr_petsc_parallel_product(sparse, dense, C, k->transposed));
    } else {
        PetscCall(multiply(k, sparse, dense, C));
    }
    PetscFunctionReturn(0);
}

PetscErrorCode tsr_petsc_compute_product(Mat C, PetscErrorCode (*compute_with)(MatProductType, Mat, Mat, Mat))
{
    Mat A, B, third;
    MatProductType type;

    PetscFunctionBegin;
    PetscCall(MatProductGetMats(C, &A, &B, &third));
    PetscCall(MatProductGetType(C, &type));
    PetscCall((*compute_with)(type, A, B, C));
    PetscFunctionReturn(0);
}

static PetscErrorCode numeric(Mat C)
{
    return tsr_petsc_compute_product(C, compute);
}

/* PETSc's products of three matrices call these of the result, with matrices of their own. */
static PetscErrorCode compute_ab(Mat A, Mat B, Mat C)
{
    return compute(MATPRODUCT_AB, A, B, C);
}

static PetscErrorCode compute_atb(Mat A, Mat B, Mat C)
{
    return compute(MATPRODUCT_AtB, A, B, C);
}

static PetscErrorCode compute_abt(Mat A, Mat B, Mat C)
{
    return compute(MATPRODUCT_ABt, A, B, C);
}

static PetscErrorCode set_numeric(const kind *k, Mat C)
{
    PetscFunctionBegin;
    PetscCall(MatSetOperation(C, MATOP_PRODUCTNUMERIC, (void (*)(void))numeric));
    switch (k->type) {
    case MATPRODUCT_AtB: PetscCall(MatSetOperation(C, MATOP_TRANSPOSE_MAT_MULT_NUMER, (void (*)(void))compute_atb)); break;
    case MATPRODUCT_ABt: PetscCall(MatSetOperation(C, MATOP_MAT_TRANSPOSE_MULT_NUMER, (void (*)(void))compute_abt)); break;
    default: PetscCall(MatSetOperation(C, MATOP_MAT_MULT_NUMERIC, (void (*)(void))compute_ab));
    }
    PetscFunctionReturn(0);
}

/* ---- symbolic ---- */

/* Rows and columns of op(A) op(B): here and everywhere. */
static PetscErrorCode result_sizes(const kind *k, Mat A, Mat B, PetscInt *m, PetscInt *n, PetscInt *M, PetscInt *N)
{
    PetscInt unused;

    PetscFunctionBegin;
    if (k->type == MATPRODUCT_AtB) {
        PetscCall(MatGetLocalSize(A, &unused, m));
        PetscCall(MatGetSize(A, &unused, M));
    } else {
        PetscCall(MatGetLocalSize(A, m, &unused));
        PetscCall(MatGetSize(A, M, &unused));
    }
    if (k->type == MATPRODUCT_ABt) {
        PetscCall(MatGetLocalSize(B, n, &unused));
        PetscCall(MatGetSize(B, N, &unused));
    } else {
        PetscCall(MatGetLocalSize(B, &unused, n));
        PetscCall(MatGetSize(B, &unused, N));
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode take(Mat C);

static PetscErrorCode set_sizes(const kind *k, Mat A, Mat B, Mat C)
{
    PetscInt m, n, M, N, have[4];

    PetscFunctionBegin;
    PetscCall(result_sizes(k, A, B, &m, &n, &M, &N));
    PetscCall(MatGetLocalSize(C, &have[0], &have[1]));
    PetscCall(MatGetSize(C, &have[2], &have[3]));
    if (have[0] < 0 || have[1] < 0 || have[2] < 0 || have[3] < 0) {
        PetscCall(MatSetSizes(C, m, n, M, N));
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode symbolic(Mat C)
{
    const kind *k;
    Mat sparse, dense, A, B, third;
    MatType type;
    PetscBool is_dense;

    PetscFunctionBegin;
    PetscCall(kind_of(C, &k, &sparse, &dense));
    PetscCheck(k, PetscObjectComm((PetscObject)C), PETSC_ERR_PLIB, "Tessera: not a product that was taken");
    PetscCall(MatProductGetMats(C, &A, &B, &third));
    PetscCall(set_sizes(k, A, B, C));
    PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)C, &is_dense, MATSEQDENSE, MATMPIDENSE, ""));
    if (!is_dense) {
        PetscCall(MatGetType(dense, &type));
        PetscCall(MatSetType(C, type));
    }
    if (k->type == MATPRODUCT_AB && k->parallel) {
        PetscCall(MatSetBlockSizesFromMats(C, A, B));
    }
    PetscCall(MatSetUp(C));
    if (k->parallel) {
        PetscCall(MatSetOption(C, MAT_NO_OFF_PROC_ENTRIES, PETSC_TRUE));
        PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
        PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
    }
    PetscCall(take(C)); /* setting the type forgot it */
    PetscCall(set_numeric(k, C));
    PetscFunctionReturn(0);
}

static PetscErrorCode take(Mat C)
{
    PetscFunctionBegin;
    PetscCall(MatSetOperation(C, MATOP_PRODUCTSYMBOLIC, (void (*)(void))symbolic));
    PetscFunctionReturn(0);
}

/* ---- deciding ---- */

/* Rows of a distributed dense matrix must lie where the sparse one wants them; else PETSc says what is wrong. */
static PetscErrorCode rows_fit(const kind *k, Mat sparse, Mat dense, PetscBool *fit)
{
    PetscInt wanted[2], have[2];

    PetscFunctionBegin;
    if (k->transposed) {
        PetscCall(MatGetOwnershipRange(sparse, &wanted[0], &wanted[1]));
    } else {
        PetscCall(MatGetOwnershipRangeColumn(sparse, &wanted[0], &wanted[1]));
    }
    PetscCall(MatGetOwnershipRange(dense, &have[0], &have[1]));
    *fit = wanted[0] == have[0] && wanted[1] == have[1] ? PETSC_TRUE : PETSC_FALSE;
    PetscFunctionReturn(0);
}

/* Why not?  NULL: the product is ours. */
static PetscErrorCode reason_against(const kind *k, Mat sparse, Mat dense, const char **why)
{
    PetscInt m, n;
    PetscBool fit = PETSC_TRUE;

    PetscFunctionBegin;
    *why = NULL;
    if (!k) {
        *why = "a kind of product that is PETSc's";
        PetscFunctionReturn(0);
    }
    PetscCall(MatGetSize(dense, &m, &n));
    if ((k->turned ? m : n) < tsr_petsc_settings.min_columns) {
        *why = "narrower than -tessera_min_columns";
    }
    if (k->parallel) {
        PetscCall(rows_fit(k, sparse, dense, &fit));
    }
    if (!fit) {
        *why = "distributed otherwise than the sparse matrix";
    }
    PetscFunctionReturn(0);
}

/* PETSc's own function for a product: composed on one of the two, under the name that a type had before we were there. */
static PetscErrorCode hand_on(Mat C, const char *const names[], Mat A, Mat B)
{
    PetscErrorCode (*own)(Mat) = NULL;

    PetscFunctionBegin;
    for (int k = 0; names[k] && !own; k++) {
        PetscCall(PetscObjectQueryFunction((PetscObject)A, names[k], &own));
        if (!own) {
            PetscCall(PetscObjectQueryFunction((PetscObject)B, names[k], &own));
        }
        own = own == tsr_petsc_sparse_dense || own == tsr_petsc_dense_sparse ? NULL : own;
    }
    if (own) {
        PetscCall((*own)(C));
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode decide(Mat C, PetscBool *taken)
{
    const kind *k;
    const char *why;
    Mat sparse, dense;

    PetscFunctionBegin;
    PetscCall(kind_of(C, &k, &sparse, &dense));
    PetscCall(reason_against(k, sparse, dense, &why));
    *taken = why ? PETSC_FALSE : PETSC_TRUE;
    if (why) {
        tsr_petsc_count(k ? k->name : "others with a dense matrix", why);
    } else {
        PetscCall(take(C));
    }
    PetscFunctionReturn(0);
}

PetscErrorCode tsr_petsc_sparse_dense(Mat C)
{
    static const char *const sequential[] = {"MatProductSetFromOptions_seqaij_seqdense_C", NULL};
    static const char *const parallel[] = {"MatProductSetFromOptions_mpiaij_mpidense_C", NULL};
    Mat A, B, third;
    PetscBool taken, is_parallel;

    PetscFunctionBegin;
    PetscCall(decide(C, &taken));
    if (!taken) {
        PetscCall(MatProductGetMats(C, &A, &B, &third));
        PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &is_parallel));
        PetscCall(hand_on(C, is_parallel ? parallel : sequential, B, B)); /* A may have ours */
    }
    PetscFunctionReturn(0);
}

PetscErrorCode tsr_petsc_dense_sparse(Mat C)
{
    static const char *const names[] = {TSR_PETSC_KEPT_DENSE_SPARSE, "MatProductSetFromOptions_mpidense_mpiaij_C",
                                        "MatProductSetFromOptions_seqdense_seqaij_C", NULL};
    Mat A, B, third;
    PetscBool taken;

    PetscFunctionBegin;
    PetscCall(decide(C, &taken));
    if (!taken) {
        PetscCall(MatProductGetMats(C, &A, &B, &third));
        PetscCall(hand_on(C, names, B, A));
    }
    PetscFunctionReturn(0);
}
