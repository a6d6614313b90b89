/* -mat_ordering_type tessera: rows that share columns near each other, by sampled label propagation.  For sequential matrices: a matrix is
 * put into this order before it is distributed.  -tessera_parts N prints what N processes would receive, in its own order and in this.
 * SPDX-License-Identifier: Apache-2.0 */
#include "petsc_plugin.h"

/* ---- rows that travel ---- */

/* Rows of a dense operand that parts need of others, when rows, and columns alike, are cut at `begins` places of an order. */
static PetscErrorCode count_received(const tsr_petsc_block *a, const int64_t order[], const int64_t begins[], PetscInt parts,
                                     PetscInt64 *received)
{
    PetscInt *part, *seen;

    PetscFunctionBegin;
    PetscCall(PetscMalloc2(a->nrows, &part, a->nrows, &seen));
    for (PetscInt k = 0; k < parts; k++) {
        for (int64_t place = begins[k]; place < begins[k + 1]; place++) {
            part[order ? order[place] : place] = k;
        }
    }
    for (PetscInt row = 0; row < a->nrows; row++) {
        seen[row] = -1;
    }
    *received = 0;
    for (int64_t place = 0; place < a->nrows; place++) {
        const PetscInt row = (PetscInt)(order ? order[place] : place);
        for (PetscInt e = a->offsets[row]; e < a->offsets[row + 1]; e++) {
            const PetscInt column = a->columns[e];
            if (part[column] != part[row] && seen[column] != part[row]) {
                seen[column] = part[row]; /* rows of a part are consecutive places */
                ++*received;
            }
        }
    }
    PetscCall(PetscFree2(part, seen));
    PetscFunctionReturn(0);
}

static PetscErrorCode print_received(const tsr_petsc_block *a, const int64_t order[], PetscInt parts)
{
    int64_t *begins;
    PetscInt64 own = 0, ordered = 0;

    PetscFunctionBegin;
    PetscCall(PetscMalloc1(parts + 1, &begins));
    tsr_sparse_cut_rows(a->sparse, NULL, parts, begins);
    PetscCall(count_received(a, NULL, begins, parts, &own));
    tsr_sparse_cut_rows(a->sparse, order, parts, begins);
    PetscCall(count_received(a, order, begins, parts, &ordered));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "Tessera order: %d parts receive %lld rows instead of %lld (%.3f and %.3f of all rows each)\n",
                          (int)parts, (long long)ordered, (long long)own, (double)ordered / (double)parts / (double)a->nrows,
                          (double)own / (double)parts / (double)a->nrows));
    PetscCall(PetscFree(begins));
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
    const tsr_status status = a->sparse ? tsr_sparse_row_order(a->sparse, order) : TSR_OUT_OF_MEMORY;
    PetscCheck(status == TSR_OK, PETSC_COMM_SELF, PETSC_ERR_LIB, "Tessera: no order: %s", tsr_status_string(status));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-tessera_parts", &parts, NULL));
    if (parts > 0 && a->nrows == a->ncols) {
        PetscCall(print_received(a, order, parts));
    }
    PetscCall(make_sets(a, order, row, column));
    PetscCall(PetscFree(order));
    PetscFunctionReturn(0);
}
