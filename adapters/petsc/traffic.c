/* A matrix cut into parts by rows: order, cut, and the rows of a dense operand that parts need of each other.
 * SPDX-License-Identifier: Apache-2.0 */
#include "petsc_plugin.h"

PetscErrorCode tsr_petsc_row_order(const tsr_petsc_block *a, int64_t order[])
{
    PetscFunctionBegin;
    const tsr_status status = a->sparse ? tsr_sparse_row_order(a->sparse, order) : TSR_OUT_OF_MEMORY;
    PetscCheck(status == TSR_OK, PETSC_COMM_SELF, PETSC_ERR_LIB, "Tessera: no order: %s", tsr_status_string(status));
    PetscFunctionReturn(0);
}

PetscErrorCode tsr_petsc_cut_rows(const tsr_petsc_block *a, const int64_t order[], PetscInt parts, PetscInt part[])
{
    int64_t *begins;

    PetscFunctionBegin;
    PetscCall(PetscMalloc1(parts + 1, &begins));
    const tsr_status status = a->sparse ? tsr_sparse_cut_rows(a->sparse, order, parts, begins) : TSR_OUT_OF_MEMORY;
    PetscCheck(status == TSR_OK, PETSC_COMM_SELF, PETSC_ERR_LIB, "Tessera: no parts: %s", tsr_status_string(status));
    for (PetscInt k = 0; k < parts; k++) {
        for (int64_t place = begins[k]; place < begins[k + 1]; place++) {
            part[order ? order[place] : place] = k;
        }
    }
    PetscCall(PetscFree(begins));
    PetscFunctionReturn(0);
}

/* Rows by part, those of one after those of another. */
static PetscErrorCode sort_by_part(const tsr_petsc_block *a, const PetscInt part[], PetscInt parts, PetscInt rows[])
{
    PetscInt *next;

    PetscFunctionBegin;
    PetscCall(PetscCalloc1(parts + 1, &next));
    for (PetscInt row = 0; row < a->nrows; row++) {
        next[part[row] + 1]++;
    }
    for (PetscInt k = 0; k < parts; k++) {
        next[k + 1] += next[k];
    }
    for (PetscInt row = 0; row < a->nrows; row++) {
        rows[next[part[row]]++] = row;
    }
    PetscCall(PetscFree(next));
    PetscFunctionReturn(0);
}

PetscErrorCode tsr_petsc_count_traffic(const tsr_petsc_block *a, const PetscInt part[], PetscInt parts, tsr_petsc_traffic *t)
{
    PetscInt *rows, *seen, nrows = 0, entries = 0;

    PetscFunctionBegin;
    PetscCall(PetscMalloc2(a->nrows, &rows, a->nrows, &seen));
    PetscCall(sort_by_part(a, part, parts, rows));
    for (PetscInt k = 0; k < a->nrows; k++) {
        seen[k] = -1;
    }
    *t = (tsr_petsc_traffic){0};
    for (PetscInt k = 0; k < a->nrows; k++) {
        const PetscInt row = rows[k];
        const PetscBool begins = k == 0 || part[rows[k - 1]] != part[row] ? PETSC_TRUE : PETSC_FALSE;
        nrows = begins ? 1 : nrows + 1;
        entries = (begins ? 0 : entries) + a->offsets[row + 1] - a->offsets[row];
        t->most_rows = PetscMax(t->most_rows, nrows);
        t->most_entries = PetscMax(t->most_entries, entries);
        for (PetscInt e = a->offsets[row]; e < a->offsets[row + 1]; e++) {
            const PetscInt column = a->columns[e];
            if (part[column] != part[row] && seen[column] != part[row]) {
                seen[column] = part[row];
                t->received++;
            }
        }
    }
    PetscCall(PetscFree2(rows, seen));
    PetscFunctionReturn(0);
}
