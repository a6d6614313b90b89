/* -mat_ordering_type tessera: rows that share columns near each other, by sampled label propagation.  For sequential matrices: a matrix is
 * put into this order before it is distributed.  -tessera_parts N prints what N processes would receive, in its own order, in this, and by
 * what PETSc has.
 * SPDX-License-Identifier: Apache-2.0 */
#include "petsc_plugin.h"

/* ---- rows that travel ---- */

static PetscErrorCode print_traffic(const tsr_petsc_block *a, const char name[], const PetscInt part[], PetscInt parts)
{
    const double share = (double)a->nrows / (double)parts, entries = (double)a->offsets[a->nrows] / (double)parts;
    tsr_petsc_traffic t;

    PetscFunctionBegin;
    PetscCall(tsr_petsc_count_traffic(a, part, parts, &t));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %-9s %10lld rows, %.3f of all for each; the largest part has %.2f of its share of rows, %.2f of entries\n",
                          name, (long long)t.received, (double)t.received / (double)parts / (double)a->nrows,
                          (double)t.most_rows / PetscMax(share, 1.), (double)t.most_entries / PetscMax(entries, 1.)));
    PetscFunctionReturn(0);
}

/* Consecutive places of an order (NULL: of the rows as they are), cut where no part has more than twice its share. */
static PetscErrorCode print_order(const tsr_petsc_block *a, const char name[], const int64_t order[], PetscInt parts)
{
    PetscInt *part;

    PetscFunctionBegin;
    PetscCall(PetscMalloc1(a->nrows, &part));
    PetscCall(tsr_petsc_cut_rows(a, order, parts, part));
    PetscCall(print_traffic(a, name, part, parts));
    PetscCall(PetscFree(part));
    PetscFunctionReturn(0);
}

/* ---- beside PETSc's ---- */

static PetscErrorCode print_petsc_order(const tsr_petsc_block *a, Mat A, PetscInt parts)
{
    IS rows, columns;
    const PetscInt *places;
    int64_t *order;

    PetscFunctionBegin;
    PetscCall(MatGetOrdering(A, MATORDERINGRCM, &rows, &columns));
    PetscCall(PetscMalloc1(a->nrows, &order));
    PetscCall(ISGetIndices(rows, &places));
    for (PetscInt k = 0; k < a->nrows; k++) {
        order[k] = places[k];
    }
    PetscCall(ISRestoreIndices(rows, &places));
    PetscCall(print_order(a, MATORDERINGRCM, order, parts));
    PetscCall(PetscFree(order));
    PetscCall(ISDestroy(&rows));
    PetscCall(ISDestroy(&columns));
    PetscFunctionReturn(0);
}

/* -mat_partitioning_type, or what PETSc takes first of those that it was built with: ParMETIS, PTScotch, …  They want a symmetric pattern: of
 * A + A'. */
static PetscErrorCode print_petsc_parts(const tsr_petsc_block *a, Mat A, PetscInt parts)
{
    Mat both, graph;
    MatPartitioning partitioning;
    MatPartitioningType type;
    IS set;
    const PetscInt *part;

    PetscFunctionBegin;
    PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &both));
    PetscCall(MatAXPY(both, 1, A, DIFFERENT_NONZERO_PATTERN));
    PetscCall(MatConvert(both, MATMPIADJ, MAT_INITIAL_MATRIX, &graph));
    PetscCall(MatDestroy(&both));
    PetscCall(MatPartitioningCreate(PETSC_COMM_SELF, &partitioning));
    PetscCall(MatPartitioningSetAdjacency(partitioning, graph));
    PetscCall(MatPartitioningSetNParts(partitioning, parts));
    PetscCall(MatPartitioningSetFromOptions(partitioning));
    PetscCall(MatPartitioningApply(partitioning, &set));
    PetscCall(MatPartitioningGetType(partitioning, &type));
    PetscCall(ISGetIndices(set, &part));
    PetscCall(print_traffic(a, type, part, parts));
    PetscCall(ISRestoreIndices(set, &part));
    PetscCall(ISDestroy(&set));
    PetscCall(MatPartitioningDestroy(&partitioning));
    PetscCall(MatDestroy(&graph));
    PetscFunctionReturn(0);
}

static PetscErrorCode print_received(const tsr_petsc_block *a, Mat A, const int64_t order[], PetscInt parts)
{
    PetscFunctionBegin;
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "Tessera order: rows that %d parts receive of each other\n", (int)parts));
    PetscCall(print_order(a, "own order", NULL, parts));
    PetscCall(print_order(a, "tessera", order, parts));
    PetscCall(print_petsc_order(a, A, parts));
    PetscCall(print_petsc_parts(a, A, parts));
    PetscFunctionReturn(0);
}

/* ---- the order ---- */

static PetscErrorCode make_sets(const tsr_petsc_block *a, const int64_t order[], IS *row, IS *column)
{
    PetscInt *places;

    PetscFunctionBegin;
    PetscCall(PetscMalloc1(a->nrows, &places));
    for (PetscInt k = 0; k < a->nrows; k++) {
        places[k] = (PetscInt)order[k];
    }
    PetscCall(ISCreateGeneral(PETSC_COMM_SELF, a->nrows, places, PETSC_OWN_POINTER, row));
    PetscCall(ISSetPermutation(*row));
    if (a->nrows == a->ncols) {
        PetscCall(ISDuplicate(*row, column));
        PetscCall(ISCopy(*row, *column));
    } else {
        PetscCall(ISCreateStride(PETSC_COMM_SELF, a->ncols, 0, 1, column));
    }
    PetscCall(ISSetPermutation(*column));
    PetscFunctionReturn(0);
}

PetscErrorCode tsr_petsc_order(Mat A, MatOrderingType type, IS *row, IS *column)
{
    tsr_petsc_block *a;
    int64_t *order;
    PetscBool sequential;
    PetscInt parts = 0;

    PetscFunctionBegin;
    (void)type;
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &sequential));
    PetscCheck(sequential, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "The order tessera is for sequential AIJ matrices");
    PetscCall(tsr_petsc_block_of(A, &a));
    PetscCall(PetscMalloc1(a->nrows, &order));
    PetscCall(tsr_petsc_row_order(a, order));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-tessera_parts", &parts, NULL));
    if (parts > 0 && a->nrows == a->ncols) {
        PetscCall(print_received(a, A, order, parts));
    }
    PetscCall(make_sets(a, order, row, column));
    PetscCall(PetscFree(order));
    PetscFunctionReturn(0);
}
