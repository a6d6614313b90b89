/* AIJ x AIJ and PtAP in PETSc beside tsr_spgemm on the same arrays, in turns within one run: process CPU time, the best of several, first
 * products (symbolic and numeric) and repeated ones (numeric); and what a first product takes with our pattern, made a matrix of PETSc, and
 * PETSc's values.  One line of JSON for each product.
 *
 *     mpicc -O2 petsc_sparse_products.c petsc_matrices.c -I../include $(pkg-config --cflags --libs petsc) -ltessera-core -lm -o sparse_products
 *     sparse_products [-turns 3] [-side 40] [-scale 13]
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <time.h>

#include "petsc_matrices.h"
#include "tessera/spgemm.h"

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* ---- ours ---- */

static void check(tsr_status status)
{
    if (status != TSR_OK) {
        fprintf(stderr, "%s\n", tsr_status_string(status));
        exit(1);
    }
}

static tsr_sparse *describe(Mat A)
{
    PetscInt m = 0, n = 0, rows;
    const PetscInt *p, *i;
    const PetscScalar *x;
    PetscBool done;
    tsr_sparse *sparse;
    PetscCallAbort(PETSC_COMM_SELF, MatGetSize(A, &m, &n));
    PetscCallAbort(PETSC_COMM_SELF, MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &rows, &p, &i, &done));
    PetscCallAbort(PETSC_COMM_SELF, MatSeqAIJGetArrayRead(A, &x));
    const tsr_arrays arrays = {.index_type = TSR_INDEX_32, .offsets = p, .indices = i, .type = TSR_FP64, .values = x};
    check(tsr_sparse_create_csr(&sparse, m, n, &arrays, 0));
    return sparse;
}

typedef struct product {
    tsr_spgemm_plan *plan;
    int64_t rows, entries;
    int32_t *offsets, *indices;
    double *values;
} product;

static void make_plan(product *c, const tsr_sparse *a, const tsr_sparse *b, unsigned flags)
{
    const tsr_semiring plus_times = {TSR_FP64, TSR_ADD_PLUS, TSR_MUL_TIMES};
    int64_t columns;
    check(tsr_spgemm_plan_create(&c->plan, plus_times, a, b, flags));
    check(tsr_spgemm_plan_size(c->plan, &c->rows, &columns, &c->entries));
    c->offsets = malloc((size_t)(c->rows + 1) * sizeof *c->offsets);
    c->indices = malloc((size_t)c->entries * sizeof *c->indices);
    c->values = malloc((size_t)c->entries * sizeof *c->values);
}

static void execute(const product *c)
{
    check(tsr_spgemm_execute(c->plan, TSR_INDEX_32, c->offsets, c->indices, c->values));
}

static void destroy(product *c)
{
    tsr_spgemm_plan_destroy(c->plan);
    free(c->offsets);
    free(c->indices);
    free(c->values);
}

/* A B, or P' (A P): first and repeated ms, the least so far. */
static void measure_ours(const tsr_sparse *a, const tsr_sparse *b, PetscBool galerkin, double best[2], int64_t *entries)
{
    product ab, c;
    double begin = cpu_ms();
    make_plan(&ab, a, b, 0);
    execute(&ab);
    tsr_sparse *inner = NULL;
    if (galerkin) {
        const tsr_arrays arrays = {.index_type = TSR_INDEX_32, .offsets = ab.offsets, .indices = ab.indices, .type = TSR_FP64, .values = ab.values};
        int64_t columns;
        check(tsr_spgemm_plan_size(ab.plan, NULL, &columns, NULL));
        check(tsr_sparse_create_csr(&inner, ab.rows, columns, &arrays, 0));
        make_plan(&c, b, inner, TSR_SPGEMM_TRANSPOSE_A);
        execute(&c);
    }
    best[0] = fmin(best[0], cpu_ms() - begin);
    begin = cpu_ms();
    execute(&ab);
    if (galerkin) {
        tsr_sparse_values_changed(inner);
        execute(&c);
    }
    best[1] = fmin(best[1], cpu_ms() - begin);
    *entries = galerkin ? c.entries : ab.entries;
    if (galerkin) {
        destroy(&c);
        tsr_sparse_destroy(inner);
    }
    destroy(&ab);
}

/* The pattern of A B as a matrix of PETSc, without values: ms, the least so far. */
static PetscErrorCode measure_pattern(const tsr_sparse *a, const tsr_sparse *b, double *best)
{
    const tsr_semiring any_pair = {TSR_BOOL, TSR_ADD_ANY, TSR_MUL_PAIR};
    tsr_spgemm_plan *plan;
    int64_t m, n, entries;
    PetscInt *offsets, *columns;
    bool *values;
    Mat C;

    PetscFunctionBeginUser;
    const double begin = cpu_ms();
    check(tsr_spgemm_plan_create(&plan, any_pair, a, b, 0));
    check(tsr_spgemm_plan_size(plan, &m, &n, &entries));
    PetscCall(PetscMalloc3(m + 1, &offsets, entries, &columns, entries, &values));
    check(tsr_spgemm_execute(plan, TSR_INDEX_32, offsets, columns, values));
    tsr_spgemm_plan_destroy(plan);
    for (int64_t row = 0; row < m; row++) {
        offsets[row] = offsets[row + 1] - offsets[row];
    }
    PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, (PetscInt)m, (PetscInt)n, 0, offsets, &C));
    PetscCall(MatSeqAIJSetColumnIndices(C, columns));
    PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
    PetscCall(PetscFree3(offsets, columns, values));
    *best = fmin(*best, cpu_ms() - begin);
    PetscCall(MatDestroy(&C));
    PetscFunctionReturn(0);
}

/* ---- PETSc's ---- */

static PetscErrorCode multiply(Mat A, Mat B, PetscBool galerkin, MatReuse reuse, Mat *C)
{
    PetscFunctionBeginUser;
    if (galerkin) {
        PetscCall(MatPtAP(A, B, reuse, PETSC_DEFAULT, C));
    } else {
        PetscCall(MatMatMult(A, B, reuse, PETSC_DEFAULT, C));
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode measure_petsc(Mat A, Mat B, PetscBool galerkin, double best[2], int64_t *entries)
{
    Mat C;
    MatInfo info;

    PetscFunctionBeginUser;
    double begin = cpu_ms();
    PetscCall(multiply(A, B, galerkin, MAT_INITIAL_MATRIX, &C));
    best[0] = fmin(best[0], cpu_ms() - begin);
    begin = cpu_ms();
    PetscCall(multiply(A, B, galerkin, MAT_REUSE_MATRIX, &C));
    best[1] = fmin(best[1], cpu_ms() - begin);
    PetscCall(MatGetInfo(C, MAT_LOCAL, &info));
    *entries = (int64_t)info.nz_used;
    PetscCall(MatDestroy(&C));
    PetscFunctionReturn(0);
}

static PetscErrorCode compare(const char name[], Mat A, Mat B, PetscBool galerkin, PetscInt turns)
{
    double petsc[2] = {HUGE_VAL, HUGE_VAL}, ours[2] = {HUGE_VAL, HUGE_VAL}, pattern = HUGE_VAL;
    int64_t entries[2] = {0};
    tsr_sparse *a = describe(A), *b = describe(B);

    PetscFunctionBeginUser;
    for (PetscInt t = 0; t < turns; t++) {
        PetscCall(measure_petsc(A, B, galerkin, petsc, &entries[0]));
        measure_ours(a, b, galerkin, ours, &entries[1]);
        if (!galerkin) {
            PetscCall(measure_pattern(a, b, &pattern));
        }
    }
    PetscCheck(entries[0] == entries[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%lld entries, not %lld", (long long)entries[1], (long long)entries[0]);
    PetscCall(PetscPrintf(PETSC_COMM_SELF,
                          "{\"product\": \"%s\", \"entries\": %lld, \"petsc_first_ms\": %.1f, \"tessera_first_ms\": %.1f, "
                          "\"petsc_again_ms\": %.1f, \"tessera_again_ms\": %.1f",
                          name, (long long)entries[0], petsc[0], ours[0], petsc[1], ours[1]));
    if (!galerkin) {
        PetscCall(PetscPrintf(PETSC_COMM_SELF, ", \"our_pattern_first_ms\": %.1f", pattern + petsc[1]));
    }
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "}\n"));
    tsr_sparse_destroy(a);
    tsr_sparse_destroy(b);
    PetscFunctionReturn(0);
}

/* Linear interpolation of every second point along rows of the mesh. */
static PetscErrorCode interpolation(Mat *P, PetscInt n)
{
    PetscFunctionBeginUser;
    PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n / 2, 2, NULL, P));
    for (PetscInt row = 0; row < n; row++) {
        const PetscInt coarse = PetscMin(row / 2, n / 2 - 1), next = PetscMin(coarse + 1, n / 2 - 1);
        PetscCall(MatSetValue(*P, row, next, row % 2 ? .5 : 0, ADD_VALUES));
        PetscCall(MatSetValue(*P, row, coarse, row % 2 ? .5 : 1, ADD_VALUES));
    }
    PetscCall(MatAssemblyBegin(*P, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*P, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    PetscInt turns = 3, side = 40, scale = 13;
    Mat mesh, graph, P;

    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-turns", &turns, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-side", &side, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-scale", &scale, NULL));
    PetscCall(petsc_mesh(&mesh, MATAIJ, side));
    PetscCall(petsc_rmat(&graph, MATAIJ, (int)scale));
    PetscCall(interpolation(&P, side * side * side));
    PetscCall(compare("mesh A A", mesh, mesh, PETSC_FALSE, turns));
    PetscCall(compare("mesh PtAP", mesh, P, PETSC_TRUE, turns));
    PetscCall(compare("rmat A A", graph, graph, PETSC_FALSE, turns));
    PetscCall(MatDestroy(&mesh));
    PetscCall(MatDestroy(&graph));
    PetscCall(MatDestroy(&P));
    PetscCall(PetscFinalize());
    return 0;
}
