/* Times of calls that pick entries of a sparse matrix, or of a full vector, or build one of tuples (bench/call_list.h).
 *     selection VERTICES DEGREE THREADS
 * The matrix has a few vertices of many neighbours, as R-MAT has them, and is symmetric.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "bench/call_list.h"

/* A: values of FP64.  P: its pattern, iso.  R, B: results.  u, w: full vectors. */
static GrB_Matrix A, P, R, B;
static GrB_Vector u, w;
static GrB_Index n, *permutation, *some;
static GrB_Index *rows, *columns, tuples; /* of A, in any order */
static double *values;

/* Low numbers are likelier: the product of two. */
static GrB_Index vertex(void)
{
    return draw(n) * draw(n) / n;
}

static void make_matrices(GrB_Index degree)
{
    const GrB_Index count = n * degree / 2;
    GrB_Index *i = malloc(count * sizeof *i), *j = malloc(count * sizeof *j);
    double *x = malloc(count * sizeof *x);
    for (GrB_Index k = 0; k < count; k++) {
        i[k] = permutation[vertex()];
        j[k] = permutation[vertex()];
        x[k] = (double)(1 + draw(255));
    }
    must(GrB_Matrix_new(&A, GrB_FP64, n, n));
    must(GrB_Matrix_build_FP64(A, i, j, x, count, GrB_PLUS_FP64));
    must(GrB_Matrix_eWiseAdd_BinaryOp(A, NULL, NULL, GrB_PLUS_FP64, A, A, GrB_DESC_T1));
    must(GrB_Matrix_new(&P, GrB_BOOL, n, n));
    must(GrB_Matrix_assign_BOOL(P, A, NULL, true, GrB_ALL, n, GrB_ALL, n, GrB_DESC_S));
    must(GrB_Matrix_new(&R, GrB_FP64, n, n));
    must(GrB_Matrix_new(&B, GrB_BOOL, n, n));
    must(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    must(GrB_Matrix_wait(P, GrB_MATERIALIZE));
    free(i);
    free(j);
    free(x);
}

static void make_lists(void)
{
    permutation = malloc(n * sizeof *permutation);
    some = malloc(n * sizeof *some);
    for (GrB_Index k = 0; k < n; k++) {
        const GrB_Index other = draw(k + 1);
        permutation[k] = permutation[other];
        permutation[other] = k;
        some[k] = draw(n);
    }
}

static void make_vectors(void)
{
    must(GrB_Vector_new(&u, GrB_UINT32, n));
    must(GrB_Vector_new(&w, GrB_UINT32, n));
    must(GrB_Vector_assign_UINT32(w, NULL, NULL, 0, GrB_ALL, n, NULL));
    must(GrB_Vector_assign_UINT32(u, NULL, NULL, 0, GrB_ALL, n, NULL));
    for (GrB_Index k = 0; k < n; k++)
        must(GrB_Vector_setElement_UINT32(u, (uint32_t)draw(n), k));
    must(GrB_Vector_wait(u, GrB_MATERIALIZE));
}

static void swap(GrB_Index *list, GrB_Index k, GrB_Index l)
{
    const GrB_Index one = list[k];
    list[k] = list[l];
    list[l] = one;
}

static void make_tuples(void)
{
    must(GrB_Matrix_nvals(&tuples, A));
    rows = malloc(tuples * sizeof *rows);
    columns = malloc(tuples * sizeof *columns);
    values = malloc(tuples * sizeof *values);
    must(GrB_Matrix_extractTuples_FP64(rows, columns, values, &tuples, A));
    for (GrB_Index k = tuples; k-- > 1;) {
        const GrB_Index other = draw(k + 1);
        swap(rows, k, other);
        swap(columns, k, other);
    }
}

/* Weights are sums: half of them are above 128, few above 500. */
static GrB_Info select_half(void) { return GrB_Matrix_select_FP64(R, NULL, NULL, GrB_VALUEGT_FP64, A, 128, NULL); }
static GrB_Info select_few(void) { return GrB_Matrix_select_FP64(R, NULL, NULL, GrB_VALUEGT_FP64, A, 500, NULL); }
static GrB_Info select_lower(void) { return GrB_Matrix_select_INT64(R, NULL, NULL, GrB_TRIL, A, -1, NULL); }
static GrB_Info select_upper_iso(void) { return GrB_Matrix_select_INT64(B, NULL, NULL, GrB_TRIU, P, 1, NULL); }
static GrB_Info select_others(void) { return GrB_Matrix_select_INT64(R, NULL, NULL, GrB_OFFDIAG, A, 0, NULL); }
static GrB_Info permute(void) { return GrB_Matrix_extract(R, NULL, NULL, A, permutation, n, permutation, n, NULL); }
static GrB_Info permute_iso(void) { return GrB_Matrix_extract(B, NULL, NULL, P, permutation, n, permutation, n, NULL); }
static GrB_Info permute_rows(void) { return GrB_Matrix_extract(R, NULL, NULL, A, permutation, n, GrB_ALL, n, NULL); }
static GrB_Info permute_columns(void) { return GrB_Matrix_extract(R, NULL, NULL, A, GrB_ALL, n, permutation, n, NULL); }
static GrB_Info gather(void) { return GrB_Vector_extract(w, NULL, NULL, u, some, n, NULL); }
static GrB_Info gather_new(void)
{
    must(GrB_Vector_clear(w));
    return GrB_Vector_extract(w, NULL, NULL, u, some, n, NULL);
}

static GrB_Info scatter(void) { return GrB_Vector_assign(w, NULL, NULL, u, permutation, n, NULL); }
static GrB_Info scatter_one(void) { return GrB_Vector_assign_UINT32(w, NULL, NULL, 7, permutation, n / 2, NULL); }
static GrB_Info build(void)
{
    must(GrB_Matrix_clear(R));
    return GrB_Matrix_build_FP64(R, rows, columns, values, tuples, GrB_PLUS_FP64);
}
static GrB_Info build_one(void)
{
    GrB_Scalar one;
    must(GrB_Scalar_new(&one, GrB_BOOL));
    must(GrB_Scalar_setElement_BOOL(one, true));
    must(GrB_Matrix_clear(B));
    const GrB_Info info = GxB_Matrix_build_Scalar(B, rows, columns, one, tuples);
    GrB_Scalar_free(&one);
    return info;
}
static GrB_Info sum_by_index(void)
{
    GrB_Vector sums;
    must(GrB_Vector_new(&sums, GrB_FP64, n));
    const GrB_Info info = GrB_Vector_build_FP64(sums, rows, values, tuples, GrB_PLUS_FP64);
    GrB_Vector_free(&sums);
    return info;
}

static const call calls[] = {
    {"A(P,P)", permute}, {"A(P,P), iso", permute_iso}, {"A(P,:)", permute_rows}, {"A(:,P)", permute_columns},
    {"select x > c, half", select_half}, {"select x > c, few", select_few}, {"select tril", select_lower},
    {"select triu, iso", select_upper_iso}, {"select offdiag", select_others},
    {"w = u(I)", gather}, {"w = u(I), w empty", gather_new}, {"w(I) = u", scatter}, {"w(I) = 7, half", scatter_one},
    {"build A", build}, {"build A, iso", build_one}, {"build sums by index", sum_by_index}};

int main(int argc, char **argv)
{
    const call_sizes sizes = start_calls(argc, argv);
    n = sizes.vertices;
    make_lists();
    make_matrices(sizes.degree);
    make_vectors();
    make_tuples();
    time_calls(&sizes, calls, sizeof calls / sizeof *calls);
    return 0;
}
