/* SPDX-License-Identifier: Apache-2.0 */
#include "exact_product.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct dense {
    GrB_Index nrows, ncols;
    bool there[EXACT_MOST][EXACT_MOST];
    double x[EXACT_MOST][EXACT_MOST];
} dense;

/* As the semiring reads A. */
static bool read_matrix(dense *out, GrB_Matrix A, bool transpose, bool narrow)
{
    static GrB_Index i[EXACT_MOST * EXACT_MOST], j[EXACT_MOST * EXACT_MOST];
    static double x[EXACT_MOST * EXACT_MOST];
    static float single[EXACT_MOST * EXACT_MOST];
    GrB_Index n = EXACT_MOST * EXACT_MOST;
    memset(out, 0, sizeof *out);
    if (GrB_Matrix_nrows(&out->nrows, A) != GrB_SUCCESS || GrB_Matrix_ncols(&out->ncols, A) != GrB_SUCCESS)
        return false;
    if ((narrow ? GrB_Matrix_extractTuples_FP32(i, j, single, &n, A) : GrB_Matrix_extractTuples_FP64(i, j, x, &n, A)) != GrB_SUCCESS)
        return false;
    for (GrB_Index e = 0; e < n; e++) {
        const GrB_Index row = transpose ? j[e] : i[e], column = transpose ? i[e] : j[e];
        out->there[row][column] = true;
        out->x[row][column] = narrow ? (double)single[e] : x[e];
    }
    return true;
}

static long double multiply(const char *name, long double a, long double b)
{
    return strcmp(name, "times") == 0 ? a * b : strcmp(name, "plus") == 0 ? a + b : strcmp(name, "first") == 0 ? a : strcmp(name, "second") == 0 ? b : 1;
}

static long double add(const char *name, long double s, long double z)
{
    return strcmp(name, "min") == 0 ? fminl(s, z) : strcmp(name, "max") == 0 ? fmaxl(s, z) : s + z;
}

static void add_product(exact_product *out, const char *monoid, GrB_Index i, GrB_Index j, long double z)
{
    const bool sums = strcmp(monoid, "plus") == 0;
    out->value[i][j] = out->there[i][j] ? add(monoid, out->value[i][j], z) : z;
    out->size[i][j] = sums ? out->size[i][j] + fabsl(z) : fabsl(out->value[i][j]);
    out->there[i][j] = true;
}

bool exact_multiply(exact_product *out, const char *semiring, GrB_Matrix A, bool transpose_a, GrB_Matrix B, bool transpose_b)
{
    static dense a, b;
    char monoid[8], times[8], type[8];
    memset(out, 0, sizeof *out);
    if (sscanf(semiring, "%7[a-z]_%7[a-z]_%7s", monoid, times, type) != 3 || strncmp(type, "fp", 2) != 0 || strcmp(monoid, "any") == 0)
        return false;
    if (!read_matrix(&a, A, transpose_a, type[2] == '3') || !read_matrix(&b, B, transpose_b, type[2] == '3'))
        return false;
    const GrB_Index inner = transpose_a ? a.nrows : a.ncols;
    for (GrB_Index i = 0; i < EXACT_MOST; i++)
        for (GrB_Index k = 0; k < inner; k++)
            for (GrB_Index j = 0; a.there[i][k] && j < EXACT_MOST; j++)
                if (b.there[k][j])
                    add_product(out, monoid, i, j, multiply(times, a.x[i][k], b.x[k][j]));
    return true;
}
