/* Dense cells and GraphBLAS objects.
 * SPDX-License-Identifier: Apache-2.0 */
#include "objects.h"

#include <math.h>
#include <stdlib.h>

static long double random_special(void)
{
    static const long double special[] = {INFINITY, -INFINITY, NAN, -0.0L, 0.0L, 1e30L, -1e30L};
    return special[rng_below(7)];
}

static cell random_cell(int type, int values, int iso)
{
    cell x = {.there = true};
    int v = values == VALUES_ISO ? iso : rng_below(13) - 6;
    if (!is_float(type)) {
        x.i = type >= T_UINT8 && type <= T_UINT64 ? abs(v) : v;
        if (values == VALUES_RANDOM && type != T_BOOL) x.i = (int64_t)rng_next();
        return cell_cast(x, T_INT64, type, true);
    }
    x.f = v / 2.0L;
    if (values == VALUES_RANDOM) x.f = ((long double)rng_next() / 18446744073709551616.0L - 0.5L) * 8;
    if (values == VALUES_SPECIAL && rng_chance(15)) x.f = random_special();
    return cell_cast(x, T_FP64, type, true);
}

void dense_random(dense *D, int type, int nrows, int ncols, int percent, int values)
{
    int iso = 1 + rng_below(5);
    *D = (dense){.type = type, .nrows = nrows, .ncols = ncols};
    for (int i = 0; i < nrows; i++)
        for (int j = 0; j < ncols; j++)
            if (rng_chance(percent)) D->at[i][j] = random_cell(type, values, iso);
}

static void cell_store(int type, any_value *x, cell c)
{
    x->i = c.i;
    if (type == T_FP64) x->d = (double)c.f;
    if (type == T_FP32) *(float *)x = (float)c.f;
    if (type == T_BOOL) x->b = c.i != 0;
}

static cell cell_load(int type, const any_value *x)
{
    cell c = {.there = true};
    if (type == T_FP64) c.f = x->d;
    else if (type == T_FP32) c.f = *(const float *)x;
    else c.i = type == T_BOOL ? x->b : x->i;
    return cell_cast(c, type == T_BOOL || is_float(type) ? type : T_INT64, type, false);
}

/* Small matrices turn bitmap by themselves: keep what is not full sparse, mostly. */
static void random_format(GrB_Matrix A, bool full)
{
    static const int controls[] = {GxB_SPARSE, GxB_BITMAP, GxB_FULL | GxB_BITMAP, GxB_AUTO_SPARSITY};
    if (rng_chance(40)) GxB_Matrix_Option_set(A, GxB_FORMAT, GxB_BY_COL);
    if (!full && rng_chance(80)) GxB_Matrix_Option_set(A, GxB_SPARSITY_CONTROL, GxB_SPARSE);
    else if (rng_chance(30)) GxB_Matrix_Option_set(A, GxB_SPARSITY_CONTROL, controls[rng_below(4)]);
}

GrB_Matrix matrix_of(const dense *D, bool plain)
{
    GrB_Matrix A = NULL;
    int entries = 0;
    GrB_Matrix_new(&A, type_handle(D->type), (GrB_Index)D->nrows, (GrB_Index)D->ncols);
    for (int i = 0; i < D->nrows; i++)
        for (int j = 0; j < D->ncols; j++) {
            any_value x = {0};
            if (!D->at[i][j].there) continue;
            entries++;
            cell_store(D->type, &x, D->at[i][j]);
            mat_set(D->type, A, &x, (GrB_Index)i, (GrB_Index)j);
        }
    if (!plain) random_format(A, entries > D->nrows * D->ncols / 2);
    return A;
}

GrB_Vector vector_of(const dense *D)
{
    GrB_Vector v = NULL;
    GrB_Vector_new(&v, type_handle(D->type), (GrB_Index)D->nrows);
    for (int i = 0; i < D->nrows; i++) {
        any_value x = {0};
        if (!D->at[i][0].there) continue;
        cell_store(D->type, &x, D->at[i][0]);
        vec_set(D->type, v, &x, (GrB_Index)i);
    }
    return v;
}

void dense_of_matrix(dense *D, GrB_Matrix A, int type)
{
    GrB_Index nrows = 0, ncols = 0;
    GrB_Matrix_nrows(&nrows, A);
    GrB_Matrix_ncols(&ncols, A);
    *D = (dense){.type = type, .nrows = (int)nrows, .ncols = (int)ncols};
    for (GrB_Index i = 0; i < nrows; i++)
        for (GrB_Index j = 0; j < ncols; j++) {
            any_value x = {0};
            if (mat_get(type, &x, A, i, j) == GrB_SUCCESS) D->at[i][j] = cell_load(type, &x);
        }
}

void dense_of_vector(dense *D, GrB_Vector v, int type)
{
    GrB_Index size = 0;
    GrB_Vector_size(&size, v);
    *D = (dense){.type = type, .nrows = (int)size, .ncols = 1};
    for (GrB_Index i = 0; i < size; i++) {
        any_value x = {0};
        if (vec_get(type, &x, v, i) == GrB_SUCCESS) D->at[i][0] = cell_load(type, &x);
    }
}
