/* Matrices of the benchmarks that PETSc takes part in.
 * SPDX-License-Identifier: Apache-2.0 */
#include "petsc_matrices.h"

static uint64_t state;

static double draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) * 0x1p-53;
}

static PetscErrorCode begin(Mat *A, const char type[], PetscInt n, PetscInt *first, PetscInt *last)
{
    PetscInt local = PETSC_DECIDE;

    PetscFunctionBeginUser;
    PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &local, &n));
    PetscCallMPI(MPI_Scan(&local, last, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
    *first = *last - local;
    PetscCall(MatCreate(PETSC_COMM_WORLD, A));
    PetscCall(MatSetSizes(*A, local, local, n, n));
    PetscCall(MatSetType(*A, type));
    PetscFunctionReturn(0);
}

static PetscErrorCode end(Mat A)
{
    PetscFunctionBeginUser;
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

PetscErrorCode petsc_mesh(Mat *A, const char type[], PetscInt side)
{
    PetscInt first, last;

    PetscFunctionBeginUser;
    PetscCall(begin(A, type, side * side * side, &first, &last));
    PetscCall(MatSeqAIJSetPreallocation(*A, 27, NULL));
    PetscCall(MatMPIAIJSetPreallocation(*A, 27, NULL, 18, NULL));
    for (PetscInt row = first; row < last; row++) {
        for (PetscInt k = 0; k < 27; k++) {
            const PetscInt x = row % side + k % 3 - 1, y = row / side % side + k / 3 % 3 - 1, z = row / side / side + k / 9 - 1;
            const PetscInt column = x + side * (y + side * z);
            const PetscScalar value = column == row ? 27 : -1;
            if (PetscMin(PetscMin(x, y), z) >= 0 && PetscMax(PetscMax(x, y), z) < side) {
                PetscCall(MatSetValues(*A, 1, &row, 1, &column, &value, INSERT_VALUES));
            }
        }
    }
    PetscCall(end(*A));
    PetscFunctionReturn(0);
}

/* Edge factor 16, drawn alike by every process: the ends of edge k are ends[2k] and ends[2k + 1]. */
static void draw_edges(PetscInt ends[], PetscInt edges, int scale)
{
    state = 88172645463325252u;
    for (PetscInt k = 0; k < edges; k++) {
        PetscInt u = 0, v = 0;
        for (int b = 0; b < scale; b++) {
            const double r = draw();
            u = 2 * u + (r >= .76);
            v = 2 * v + ((r >= .57 && r < .76) || r >= .95);
        }
        ends[2 * k] = u;
        ends[2 * k + 1] = v;
    }
}

/* Columns of rows [first, last) of the symmetric matrix, sorted, each once: those of row first + r from offsets[r] on. */
static PetscErrorCode sort_rows(const PetscInt ends[], PetscInt edges, PetscInt first, PetscInt last, PetscInt **offsets, PetscInt **columns)
{
    const PetscInt nrows = last - first;
    PetscInt *begin, *column, *p;

    PetscFunctionBeginUser;
    PetscCall(PetscCalloc1(nrows + 1, &p));
    PetscCall(PetscCalloc1(nrows + 2, &begin));
    for (PetscInt k = 0; k < 2 * edges; k++) {
        begin[ends[k] >= first && ends[k] < last ? ends[k] - first + 2 : 0] += 1;
    }
    begin[0] = 0;
    for (PetscInt r = 0; r < nrows; r++) {
        begin[r + 2] += begin[r + 1];
    }
    PetscCall(PetscMalloc1(begin[nrows + 1], &column));
    for (PetscInt k = 0; k < 2 * edges; k++) {
        if (ends[k] >= first && ends[k] < last) {
            column[begin[ends[k] - first + 1]++] = ends[k ^ 1];
        }
    }
    for (PetscInt r = 0; r < nrows; r++) {
        PetscInt n = begin[r + 1] - begin[r];
        PetscCall(PetscSortRemoveDupsInt(&n, column + begin[r]));
        PetscCall(PetscArraymove(column + p[r], column + begin[r], n));
        p[r + 1] = p[r] + n;
    }
    PetscCall(PetscFree(begin));
    *offsets = p;
    *columns = column;
    PetscFunctionReturn(0);
}

PetscErrorCode petsc_rmat(Mat *A, const char type[], int scale)
{
    const PetscInt n = (PetscInt)1 << scale, edges = 16 * n;
    PetscInt first, last, *ends, *offsets = NULL, *columns = NULL;
    PetscScalar *values;

    PetscFunctionBeginUser;
    PetscCall(begin(A, type, n, &first, &last));
    PetscCall(PetscMalloc1(2 * edges, &ends));
    draw_edges(ends, edges, scale);
    PetscCall(sort_rows(ends, edges, first, last, &offsets, &columns));
    PetscCall(PetscFree(ends));
    PetscCall(PetscMalloc1(offsets[last - first], &values));
    for (PetscInt r = 0; r < last - first; r++) {
        for (PetscInt e = offsets[r]; e < offsets[r + 1]; e++) {
            values[e] = 1 + .25 * (double)((first + r + columns[e]) % 7);
        }
    }
    PetscCall(MatSeqAIJSetPreallocationCSR(*A, offsets, columns, values));
    PetscCall(MatMPIAIJSetPreallocationCSR(*A, offsets, columns, values));
    PetscCall(PetscFree(offsets));
    PetscCall(PetscFree(columns));
    PetscCall(PetscFree(values));
    PetscFunctionReturn(0);
}
