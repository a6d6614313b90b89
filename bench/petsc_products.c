/* AIJ x dense in PETSc, its own beside the plug-in's, in turns within one run: process CPU time, the slowest process, the best of several.
 * One line of JSON for each matrix and width.
 *
 *     mpirun -n N petsc_products -dll_append PLUGIN [-turns 7] [-side 64] [-scale 17] [-widths 8,32,128]
 * SPDX-License-Identifier: Apache-2.0 */
#include <petscmat.h>
#include <stdlib.h>
#include <time.h>

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

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

/* side^3 points, each with its 26 neighbours. */
static PetscErrorCode mesh(Mat *A, const char type[], PetscInt side)
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

static PetscErrorCode rmat(Mat *A, const char type[], int scale)
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
            values[e] = 1 + .25 * (double)((first + r) % 7);
        }
    }
    PetscCall(MatSeqAIJSetPreallocationCSR(*A, offsets, columns, values));
    PetscCall(MatMPIAIJSetPreallocationCSR(*A, offsets, columns, values));
    PetscCall(PetscFree(offsets));
    PetscCall(PetscFree(columns));
    PetscCall(PetscFree(values));
    PetscFunctionReturn(0);
}

/* A[0]: PETSc's, A[1]: ours. */
static PetscErrorCode measure(const char name[], Mat A[2], PetscInt width, PetscInt turns)
{
    Mat B, C[2];
    PetscInt m, n, M, N;
    PetscReal norm, error;
    PetscMPIInt size;
    double best[2] = {HUGE_VAL, HUGE_VAL};

    PetscFunctionBeginUser;
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
    PetscCall(MatGetLocalSize(A[0], &m, &n));
    PetscCall(MatGetSize(A[0], &M, &N));
    PetscCall(MatCreateDense(PETSC_COMM_WORLD, n, PETSC_DECIDE, N, width, NULL, &B));
    PetscCall(MatSetRandom(B, NULL));
    for (int k = 0; k < 2; k++) {
        PetscCall(MatMatMult(A[k], B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C[k]));
    }
    for (PetscInt t = 0; t < 2 * turns; t++) {
        const int k = (int)(t % 2);
        PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
        double ms = cpu_ms();
        PetscCall(MatMatMult(A[k], B, MAT_REUSE_MATRIX, PETSC_DEFAULT, &C[k]));
        ms = cpu_ms() - ms;
        PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &ms, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
        best[k] = PetscMin(best[k], ms);
    }
    PetscCall(MatNorm(C[0], NORM_FROBENIUS, &norm));
    PetscCall(MatAXPY(C[1], -1, C[0], SAME_NONZERO_PATTERN));
    PetscCall(MatNorm(C[1], NORM_FROBENIUS, &error));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "{\"matrix\": \"%s\", \"processes\": %d, \"n\": %d, \"petsc_ms\": %.2f, \"tessera_ms\": %.2f, \"error\": %.1e}\n",
                          name, size, (int)width, best[0], best[1], (double)(error / norm)));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&C[0]));
    PetscCall(MatDestroy(&C[1]));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    PetscInt turns = 7, side = 64, scale = 17, widths[16] = {8, 32, 128}, nwidths = 16;
    PetscBool given;

    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-turns", &turns, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-side", &side, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-scale", &scale, NULL));
    PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-widths", widths, &nwidths, &given));
    nwidths = given ? nwidths : 3;
    for (int which = 0; which < 2; which++) {
        Mat A[2];
        for (int k = 0; k < 2; k++) {
            PetscCall(which ? rmat(&A[k], k ? "aijtessera" : MATAIJ, (int)scale) : mesh(&A[k], k ? "aijtessera" : MATAIJ, side));
        }
        for (PetscInt w = 0; w < nwidths; w++) {
            PetscCall(measure(which ? "rmat" : "mesh", A, widths[w], turns));
        }
        PetscCall(MatDestroy(&A[0]));
        PetscCall(MatDestroy(&A[1]));
    }
    PetscCall(PetscFinalize());
    return 0;
}
