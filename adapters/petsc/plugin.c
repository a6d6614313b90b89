/* The plug-in's entry: is this the PETSc that it was compiled for?  Then matrix types, a row order, events are registered.
 *
 *     -mat_type aijtessera              matrices that take their type from the options
 *     -mat_seqaij_type seqaijtessera    every sequential AIJ matrix, also within parallel ones
 *     -tessera_rebind                   every AIJ matrix; types keep their names
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "petsc_plugin.h"

#define MATSEQAIJTESSERA "seqaijtessera"
#define MATMPIAIJTESSERA "mpiaijtessera"
#define MATAIJTESSERA "aijtessera"

static PetscErrorCode (*own_seqaij)(Mat), (*own_mpiaij)(Mat); /* PETSc's constructors */

/* ---- functions of a matrix ---- */

static PetscErrorCode compose(Mat A, const char prefix[], const char type[], const char suffix[], PetscErrorCode (*function)(Mat))
{
    char name[128];

    PetscFunctionBegin;
    PetscCall(PetscSNPrintf(name, sizeof name, "%s%s%s", prefix, type, suffix));
    PetscCall(PetscObjectComposeFunction((PetscObject)A, name, function));
    PetscFunctionReturn(0);
}

/* PETSc asks for a function by the names of both types, the first matrix before the second. */
static PetscErrorCode hook_products(Mat A, PetscBool parallel)
{
    const char *dense = parallel ? "_mpidense_C" : "_seqdense_C";
    const char *before = parallel ? "MatProductSetFromOptions_mpidense_" : "MatProductSetFromOptions_seqdense_";
    MatType type;
    PetscErrorCode (*own)(Mat);

    PetscFunctionBegin;
    PetscCall(MatGetType(A, &type));
    PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatProductSetFromOptions_seqdense_seqaij_C", &own));
    if (own && own != tsr_petsc_dense_sparse) {
        PetscCall(PetscObjectComposeFunction((PetscObject)A, TSR_PETSC_KEPT_DENSE_SPARSE, own));
    }
    PetscCall(compose(A, "MatProductSetFromOptions_", type, dense, tsr_petsc_sparse_dense));
    PetscCall(compose(A, before, type, "_C", tsr_petsc_dense_sparse));
    if (!parallel) {
        PetscCall(tsr_petsc_hook_sparse(A));
    }
    PetscFunctionReturn(0);
}

/* ---- types ---- */

/* An AIJ matrix and one of ours differ in name and hooks only. */
static PetscErrorCode convert(Mat A, MatType type, MatReuse reuse, Mat *out)
{
    PetscBool ours, parallel;

    PetscFunctionBegin;
    if (reuse == MAT_INITIAL_MATRIX) {
        PetscCall(MatDuplicate(A, MAT_COPY_VALUES, out));
    } else if (reuse == MAT_REUSE_MATRIX) {
        PetscCall(MatCopy(A, *out, SAME_NONZERO_PATTERN));
    }
    PetscCall(PetscObjectChangeTypeName((PetscObject)*out, type));
    PetscCall(PetscStrendswith(type, "tessera", &ours));
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)*out, MATMPIAIJ, &parallel));
    if (ours) {
        PetscCall(hook_products(*out, parallel));
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode make_ours(Mat A, MatType from, MatType type, PetscBool parallel)
{
    PetscFunctionBegin;
    PetscCall(MatSetType(A, from));
    PetscCall(PetscObjectChangeTypeName((PetscObject)A, type));
    PetscCall(hook_products(A, parallel));
    PetscFunctionReturn(0);
}

static PetscErrorCode create_seqaijtessera(Mat A)
{
    PetscFunctionBegin;
    PetscCall(make_ours(A, MATSEQAIJ, MATSEQAIJTESSERA, PETSC_FALSE));
    PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_seqaijtessera_seqaij_C", convert));
    PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_seqaij_seqaijtessera_C", convert));
    PetscFunctionReturn(0);
}

static PetscErrorCode create_mpiaijtessera(Mat A)
{
    PetscFunctionBegin;
    PetscCall(make_ours(A, MATMPIAIJ, MATMPIAIJTESSERA, PETSC_TRUE));
    PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_mpiaijtessera_mpiaij_C", convert));
    PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_mpiaij_mpiaijtessera_C", convert));
    PetscFunctionReturn(0);
}

/* ---- rebinding ---- */

static PetscErrorCode create_rebound(Mat A, PetscErrorCode (*own)(Mat), MatType name, PetscBool parallel)
{
    PetscBool same;

    PetscFunctionBegin;
    PetscCall((*own)(A));
    PetscCall(PetscObjectTypeCompare((PetscObject)A, name, &same)); /* -mat_seqaij_type may have made another of it */
    if (same) {
        PetscCall(hook_products(A, parallel));
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode create_seqaij(Mat A)
{
    return create_rebound(A, own_seqaij, MATSEQAIJ, PETSC_FALSE);
}

static PetscErrorCode create_mpiaij(Mat A)
{
    return create_rebound(A, own_mpiaij, MATMPIAIJ, PETSC_TRUE);
}

static PetscErrorCode rebind(void)
{
    PetscFunctionBegin;
    PetscCall(PetscFunctionListFind(MatList, MATSEQAIJ, &own_seqaij));
    PetscCall(PetscFunctionListFind(MatList, MATMPIAIJ, &own_mpiaij));
    PetscCheck(own_seqaij && own_mpiaij, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Tessera: no AIJ matrices in this PETSc");
    PetscCall(MatRegister(MATSEQAIJ, create_seqaij));
    PetscCall(MatRegister(MATMPIAIJ, create_mpiaij));
    PetscFunctionReturn(0);
}

/* ---- which PETSc is this ---- */

/* Bytes of a PetscInt, and whether scalars are complex, of the PETSc that runs. */
static PetscErrorCode inspect_petsc(size_t *int_size, size_t *real_size, PetscBool *complex_scalars)
{
    PetscDataType type;
    PetscBool found;

    PetscFunctionBegin;
    PetscCall(PetscDataTypeGetSize(PETSC_INT, int_size));
    PetscCall(PetscDataTypeFromString("real", &type, &found));
    PetscCall(PetscDataTypeGetSize(type, real_size));
    PetscCall(PetscDataTypeFromString("scalar", &type, &found));
    *complex_scalars = type == PETSC_COMPLEX ? PETSC_TRUE : PETSC_FALSE;
    PetscFunctionReturn(0);
}

/* False, and one line: PETSc is left as it is. */
static PetscErrorCode check_petsc(PetscBool *good)
{
    int64_t version[4] = {0}; /* wide enough for any PetscInt; little-endian */
    size_t int_size = 0, real_size = 0;
    PetscBool has_complex = PETSC_FALSE;
    const char *const compiled = PetscDefined(USE_COMPLEX) ? "complex" : "real";

    PetscFunctionBegin;
    PetscCall(PetscGetVersionNumber((PetscInt *)&version[0], (PetscInt *)&version[1], (PetscInt *)&version[2], (PetscInt *)&version[3]));
    PetscCall(inspect_petsc(&int_size, &real_size, &has_complex));
    *good = version[0] == PETSC_VERSION_MAJOR && version[1] == PETSC_VERSION_MINOR && int_size == sizeof(PetscInt) &&
                    real_size == sizeof(PetscReal) && has_complex == (PetscDefined(USE_COMPLEX) ? PETSC_TRUE : PETSC_FALSE)
                ? PETSC_TRUE
                : PETSC_FALSE;
    if (!*good) {
        PetscCall(PetscFPrintf(PETSC_COMM_WORLD, stderr,
                               "tessera: this plug-in is for PETSc %d.%d, %s scalars, %d-bit indices, not for %d.%d, %s, %d-bit; not used\n",
                               PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, compiled, (int)sizeof(PetscInt) * 8, (int)version[0],
                               (int)version[1], has_complex ? "complex" : "real", (int)int_size * 8));
    } else if (PetscDefined(USE_COMPLEX)) {
        PetscCall(PetscFPrintf(PETSC_COMM_WORLD, stderr, "tessera: no products of complex numbers yet; PETSc computes them\n"));
        *good = PETSC_FALSE;
    }
    PetscFunctionReturn(0);
}

/* ---- entry ---- */

static PetscErrorCode read_options(void)
{
    static const char *const choices[] = {"auto", "always", "never"};
    PetscInt sparse = tsr_petsc_settings.sparse;

    PetscFunctionBegin;
    PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Tessera", "Mat");
    PetscCall(PetscOptionsBool("-tessera_rebind", "Every AIJ matrix, types keep their names", NULL, tsr_petsc_settings.rebind,
                               &tsr_petsc_settings.rebind, NULL));
    PetscCall(PetscOptionsBool("-tessera_view", "At the end, what was computed and what was left to PETSc", NULL, tsr_petsc_settings.view,
                               &tsr_petsc_settings.view, NULL));
    PetscCall(PetscOptionsInt("-tessera_min_columns", "Narrower dense matrices are left to PETSc", NULL, tsr_petsc_settings.min_columns,
                              &tsr_petsc_settings.min_columns, NULL));
    PetscCall(PetscOptionsEList("-tessera_sparse", "Products of two sparse matrices", NULL, choices, 3, choices[sparse], &sparse, NULL));
    tsr_petsc_settings.sparse = sparse;
    PetscOptionsEnd();
    PetscFunctionReturn(0);
}

static PetscErrorCode register_types(void)
{
    PetscFunctionBegin;
    PetscCall(MatInitializePackage());
    PetscCall(MatRegister(MATSEQAIJTESSERA, create_seqaijtessera));
    PetscCall(MatRegister(MATMPIAIJTESSERA, create_mpiaijtessera));
    PetscCall(MatRegisterRootName(MATAIJTESSERA, MATSEQAIJTESSERA, MATMPIAIJTESSERA));
    PetscCall(MatSeqAIJRegister(MATSEQAIJTESSERA, convert));
    PetscCall(MatOrderingRegister("tessera", tsr_petsc_order));
    PetscCall(MatPartitioningRegister("tessera", tsr_petsc_make_partitioning));
    if (tsr_petsc_settings.rebind) {
        PetscCall(rebind());
    }
    PetscFunctionReturn(0);
}

PetscErrorCode TSR_PETSC_ENTRY(void);

/* PETSc calls it once the library is open.  A device and threads are shared with the other processes of the host, unless somebody has
 * chosen. */
__attribute__((visibility("default"))) PetscErrorCode TSR_PETSC_ENTRY(void)
{
    PetscBool good = PETSC_FALSE;

    PetscFunctionBegin;
    PetscCall(check_petsc(&good));
    if (!good) {
        PetscFunctionReturn(0);
    }
    if (!getenv("TESSERA_DEVICE")) {
        tsr_set_option("device", "local");
    }
    PetscCall(read_options());
    PetscCall(tsr_petsc_events_register());
    PetscCall(register_types());
    if (tsr_petsc_settings.view) {
        PetscCall(PetscRegisterFinalize(tsr_petsc_view));
    }
    PetscFunctionReturn(0);
}
