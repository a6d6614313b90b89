/* Times of elementwise calls on full and bitmap matrices: one line per call, "name milliseconds", the least of some.
 *     elementwise ROWS COLUMNS THREADS
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "bench/calls.h"

enum { REPEATS = 9 };

/* C, R: results.  X, Y: full.  A, B: bitmaps.  M: mask, a bitmap.  D: full, FP64.  S: for what is selected. */
static GrB_Matrix C, R, X, Y, A, B, M, D, S;
static GrB_Index nrows, ncols;

/* Each entry is there with this chance. */
static GrB_Matrix make(GrB_Type type, unsigned percent, int control)
{
    GrB_Matrix matrix;
    must(GrB_Matrix_new(&matrix, type, nrows, ncols));
    must(GxB_Matrix_Option_set(matrix, GxB_SPARSITY_CONTROL, control));
    for (GrB_Index i = 0; i < nrows; i++)
        for (GrB_Index j = 0; j < ncols; j++)
            if (draw(100) < percent)
                must(GrB_Matrix_setElement_FP32(matrix, (float)draw(100) + 0.5f, i, j));
    must(GrB_Matrix_wait(matrix, GrB_MATERIALIZE));
    return matrix;
}

static GrB_Info divide(void) { return GrB_Matrix_eWiseMult_BinaryOp(R, NULL, NULL, GrB_DIV_FP32, X, Y, NULL); }
static GrB_Info greatest(void) { return GrB_Matrix_eWiseMult_BinaryOp(R, NULL, NULL, GrB_MAX_FP32, X, Y, NULL); }
static GrB_Info relu(void) { return GrB_Matrix_apply_BinaryOp2nd_FP32(R, NULL, NULL, GrB_MAX_FP32, R, 0, NULL); }
static GrB_Info scale_into(void) { return GrB_Matrix_apply_BinaryOp2nd_FP32(R, NULL, NULL, GrB_TIMES_FP32, X, 2, NULL); }
static GrB_Info times_plus(void) { return GrB_Matrix_eWiseMult_BinaryOp(R, NULL, GrB_PLUS_FP32, GrB_TIMES_FP32, X, Y, NULL); }
static GrB_Info cast_add(void) { return GrB_Matrix_eWiseAdd_BinaryOp(R, NULL, NULL, GrB_PLUS_FP32, X, D, NULL); }
static GrB_Info subtract(void) { return GrB_Matrix_assign(R, NULL, GrB_MINUS_FP32, X, GrB_ALL, nrows, GrB_ALL, ncols, NULL); }
static GrB_Info copy(void) { return GrB_Matrix_assign(R, NULL, NULL, X, GrB_ALL, nrows, GrB_ALL, ncols, NULL); }
static GrB_Info scalar_where(void) { return GrB_Matrix_assign_FP32(R, M, NULL, 3, GrB_ALL, nrows, GrB_ALL, ncols, GrB_DESC_S); }
static GrB_Info copy_where(void) { return GrB_Matrix_assign(R, M, NULL, X, GrB_ALL, nrows, GrB_ALL, ncols, GrB_DESC_S); }
static GrB_Info only_where(void) { return GrB_Matrix_assign(C, M, NULL, X, GrB_ALL, nrows, GrB_ALL, ncols, GrB_DESC_RS); }
static GrB_Info bitmap_add(void) { return GrB_Matrix_eWiseAdd_BinaryOp(C, NULL, NULL, GrB_PLUS_FP32, A, B, NULL); }
static GrB_Info bitmap_times(void) { return GrB_Matrix_eWiseMult_BinaryOp(C, NULL, NULL, GrB_TIMES_FP32, A, B, NULL); }
static GrB_Info bitmap_plus(void) { return GrB_Matrix_eWiseMult_BinaryOp(R, NULL, GrB_PLUS_FP32, GrB_TIMES_FP32, A, X, NULL); }
static GrB_Info select_some(void) { return GrB_Matrix_select_FP32(S, NULL, NULL, GrB_VALUELT_FP32, X, 3, NULL); }
static GrB_Info select_of_bitmap(void) { return GrB_Matrix_select_FP32(C, NULL, NULL, GrB_VALUELT_FP32, A, 50, NULL); }

static const struct {
    const char *name;
    GrB_Info (*run)(void);
} calls[] = {
    {"R = X / Y", divide},          {"R = X", copy},                     {"R -= X", subtract},
    {"R = max(X, Y)", greatest},    {"R = max(R, 0)", relu},             {"R = 2 X", scale_into},
    {"R += X * Y", times_plus},     {"R = X + D, D of FP64", cast_add},  {"R<M> = 3", scalar_where},
    {"R<M> = X", copy_where},       {"C<M> = X, replaced", only_where},  {"C = A + B, bitmaps", bitmap_add},
    {"C = A * B, bitmaps", bitmap_times}, {"R += A * X, A a bitmap", bitmap_plus}, {"C = A where A < 50", select_of_bitmap},
    {"S = X where X < 3", select_some},
};

int main(int argc, char **argv)
{
    if (argc != 4)
        return fprintf(stderr, "usage: elementwise ROWS COLUMNS THREADS\n"), 2;
    nrows = strtoull(argv[1], NULL, 0);
    ncols = strtoull(argv[2], NULL, 0);
    must(GrB_init(GrB_NONBLOCKING));
    must(GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, atoi(argv[3])));
    R = make(GrB_FP32, 100, GxB_AUTO_SPARSITY);
    X = make(GrB_FP32, 100, GxB_AUTO_SPARSITY);
    Y = make(GrB_FP32, 100, GxB_AUTO_SPARSITY);
    D = make(GrB_FP64, 100, GxB_AUTO_SPARSITY);
    A = make(GrB_FP32, 50, GxB_BITMAP);
    B = make(GrB_FP32, 50, GxB_BITMAP);
    M = make(GrB_BOOL, 50, GxB_BITMAP);
    must(GrB_Matrix_new(&C, GrB_FP32, nrows, ncols));
    must(GrB_Matrix_new(&S, GrB_FP32, nrows, ncols));
    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
        double best = 1e30;
        for (int n = 0; n < REPEATS; n++) {
            const double start = now_ms(CLOCK_MONOTONIC);
            must(calls[k].run());
            const double took = now_ms(CLOCK_MONOTONIC) - start;
            best = took < best ? took : best;
        }
        printf("%-28s %.4f\n", calls[k].name, best);
    }
    GrB_Matrix *const all[] = {&C, &R, &X, &Y, &A, &B, &M, &D, &S};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        must(GrB_Matrix_free(all[k]));
    must(GrB_finalize());
    return 0;
}
