/* Which products of two sparse matrices are expected to be faster here.  A pure function of their patterns.
 * SPDX-License-Identifier: Apache-2.0 */
#include "petsc_plugin.h"

/* docs/petsc.md has the measurements. */
enum { SAMPLED_ROWS = 1024, LEAST_PRODUCTS = 100000, LEAST_LENGTH = 20 };

typedef struct sample {
    PetscInt64 rows, shifted;
    double products, weighted; /* of the rows; times the entries of A's row */
} sample;

static PetscInt length(const tsr_petsc_rows *m, PetscInt row)
{
    return m->offsets[row + 1] - m->offsets[row];
}

/* Is a row the one before it, moved?  So it is on meshes in their natural order, whose branches a processor predicts. */
static PetscBool is_shifted(const tsr_petsc_rows *a, PetscInt row)
{
    const PetscInt n = length(a, row), *columns = a->columns + a->offsets[row];
    if (row == 0 || n == 0 || length(a, row - 1) != n) {
        return PETSC_FALSE;
    }
    const PetscInt *before = a->columns + a->offsets[row - 1], distance = columns[0] - before[0];
    for (PetscInt k = 1; k < n; k++) {
        if (columns[k] - before[k] != distance) {
            return PETSC_FALSE;
        }
    }
    return PETSC_TRUE;
}

static void add_row(sample *s, const tsr_petsc_rows *a, const tsr_petsc_rows *b, PetscInt row)
{
    double products = 0;
    for (PetscInt e = a->offsets[row]; e < a->offsets[row + 1]; e++) {
        products += length(b, a->columns[e]);
    }
    s->rows++;
    s->shifted += is_shifted(a, row);
    s->products += products;
    s->weighted += length(a, row) * products;
}

/* For each entry of A's row PETSc walks through the list of C's columns so far. */
PetscBool tsr_petsc_sparse_pays(const tsr_petsc_rows *a, const tsr_petsc_rows *b)
{
    const PetscInt step = PetscMax(a->nrows / SAMPLED_ROWS, 1);
    sample s = {0};
    for (PetscInt row = step / 2; row < a->nrows; row += step) {
        add_row(&s, a, b, row);
    }
    const PetscBool large = s.products * (double)step >= LEAST_PRODUCTS, long_rows = s.weighted >= LEAST_LENGTH * s.products;
    return large && long_rows && 2 * s.shifted < s.rows ? PETSC_TRUE : PETSC_FALSE;
}
