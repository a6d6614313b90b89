/* A graph of communities whose members are far apart, partitioned: every row has a part, parts are bounded, and few rows travel.
 *
 *     mpirun -n N partition -dll_append PLUGIN -mat_partitioning_type tessera [-parts 6] [-adjacency] [-mat_partitioning_view]
 *
 * Prints the same on any number of processes.
 * SPDX-License-Identifier: Apache-2.0 */
#include <petscmat.h>

enum { COMMUNITIES = 6, MEMBERS = 90, ROWS = MEMBERS * COMMUNITIES, NEAR = 5 };

/* Member p of all communities, one after the other, is row p STEP mod ROWS. */
enum { STEP = 197, BACK = 233 };

/* Row r's neighbours: 2 NEAR of its community, every third one outside; else itself. */
static PetscInt neighbour(PetscInt r, PetscInt k)
{
    const PetscInt p = r * BACK % ROWS, base = p / MEMBERS * MEMBERS, step = k < NEAR ? k + 1 : MEMBERS + NEAR - 1 - k;
    const PetscInt outside = p % 3 == 0 ? (p + MEMBERS + 7) % ROWS : p;
    return (k < 2 * NEAR ? base + (p + step - base) % MEMBERS : outside) * STEP % ROWS;
}

static PetscErrorCode make_graph(Mat *A)
{
    const PetscScalar one = 1;
    PetscInt first, last;

    PetscFunctionBeginUser;
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, ROWS, ROWS, 4 * NEAR, NULL, 4 * NEAR, NULL, A));
    PetscCall(MatGetOwnershipRange(*A, &first, &last));
    for (PetscInt r = 0; r < ROWS; r++) {
        for (PetscInt k = 0; k <= 2 * NEAR; k++) {
            const PetscInt c = neighbour(r, k);
            if (r >= first && r < last) {
                PetscCall(MatSetValues(*A, 1, &r, 1, &c, &one, INSERT_VALUES));
            }
            if (c >= first && c < last) {
                PetscCall(MatSetValues(*A, 1, &c, 1, &r, &one, INSERT_VALUES));
            }
        }
    }
    PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

/* Rows that parts receive of each other, counted without the plug-in. */
static PetscInt received(const PetscInt part[])
{
    static PetscBool needed[ROWS][ROWS]; /* by part, row */
    PetscInt n = 0;
    memset(needed, 0, sizeof needed);
    for (PetscInt r = 0; r < ROWS; r++) {
        for (PetscInt k = 0; k <= 2 * NEAR; k++) {
            const PetscInt c = neighbour(r, k);
            needed[part[r]][c] = needed[part[c]][r] = PETSC_TRUE;
        }
    }
    for (PetscInt k = 0; k < ROWS; k++) {
        for (PetscInt r = 0; r < ROWS; r++) {
            n += needed[k][r] && part[r] != k;
        }
    }
    return n;
}

static PetscErrorCode check(const PetscInt part[], PetscInt parts)
{
    PetscInt sizes[ROWS] = {0}, most = 0, sum = 0;

    PetscFunctionBeginUser;
    for (PetscInt r = 0; r < ROWS; r++) {
        PetscCheck(part[r] >= 0 && part[r] < parts, PETSC_COMM_SELF, PETSC_ERR_PLIB, "row %d: part %d", (int)r, (int)part[r]);
        sizes[part[r]]++;
        sum += (r + 1) * (part[r] + 1);
        most = PetscMax(most, sizes[part[r]]);
    }
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d rows travel, %s, checksum %d\n", (int)received(part),
                          most * parts <= 2 * ROWS ? "parts are bounded" : "a part is too large", (int)sum));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    PetscInt parts = COMMUNITIES;
    PetscBool adjacency = PETSC_FALSE;
    Mat A;
    MatPartitioning partitioning;
    IS set, all;
    const PetscInt *part;

    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-parts", &parts, NULL));
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-adjacency", &adjacency, NULL));
    PetscCall(make_graph(&A));
    if (adjacency) {
        PetscCall(MatConvert(A, MATMPIADJ, MAT_INPLACE_MATRIX, &A));
    }
    PetscCall(MatPartitioningCreate(PETSC_COMM_WORLD, &partitioning));
    PetscCall(MatPartitioningSetAdjacency(partitioning, A));
    PetscCall(MatPartitioningSetNParts(partitioning, parts));
    PetscCall(MatPartitioningSetFromOptions(partitioning));
    PetscCall(MatPartitioningApply(partitioning, &set));
    PetscCall(ISAllGather(set, &all));
    PetscCall(ISGetIndices(all, &part));
    PetscCall(check(part, parts));
    PetscCall(ISRestoreIndices(all, &part));
    PetscCall(ISDestroy(&all));
    PetscCall(ISDestroy(&set));
    PetscCall(MatPartitioningDestroy(&partitioning));
    PetscCall(MatDestroy(&A));
    PetscCall(PetscFinalize());
    return 0;
}
