/* Times of elementwise calls on sparse matrices (bench/call_list.h).
 *     entries VERTICES DEGREE THREADS
 * SPDX-License-Identifier: Apache-2.0 */
#include "bench/call_list.h"

/* A: values of FP64.  S: others of the same pattern.  O: any others.  F: a twentieth as many.  C: a copy of A.  R: results. */
static GrB_Matrix A, S, O, F, C, R;
static GrB_Index n;

static GrB_Info scale(void) { return GrB_Matrix_apply_BinaryOp2nd_FP64(R, NULL, NULL, GrB_TIMES_FP64, A, 1.5, NULL); }
static GrB_Info negate(void) { return GrB_Matrix_apply(R, NULL, NULL, GrB_AINV_FP64, A, NULL); }
static GrB_Info add_scaled(void) { return GrB_Matrix_apply_BinaryOp2nd_FP64(C, NULL, GrB_PLUS_FP64, GrB_TIMES_FP64, A, 1.5, NULL); }
static GrB_Info times_same(void) { return GrB_Matrix_eWiseMult_BinaryOp(R, NULL, NULL, GrB_TIMES_FP64, A, S, NULL); }
static GrB_Info plus_same(void) { return GrB_Matrix_eWiseAdd_BinaryOp(R, NULL, NULL, GrB_PLUS_FP64, A, S, NULL); }
static GrB_Info times_other(void) { return GrB_Matrix_eWiseMult_BinaryOp(R, NULL, NULL, GrB_TIMES_FP64, A, O, NULL); }
static GrB_Info plus_other(void) { return GrB_Matrix_eWiseAdd_BinaryOp(R, NULL, NULL, GrB_PLUS_FP64, A, O, NULL); }
static GrB_Info times_few(void) { return GrB_Matrix_eWiseMult_BinaryOp(R, NULL, NULL, GrB_TIMES_FP64, A, F, NULL); }
static GrB_Info plus_few(void) { return GrB_Matrix_eWiseAdd_BinaryOp(R, NULL, NULL, GrB_PLUS_FP64, A, F, NULL); }

static const call calls[] = {
    {"R = A * 1.5", scale}, {"R = -A", negate}, {"C += A * 1.5", add_scaled}, {"A .* S, one pattern", times_same}, {"A + S, one pattern", plus_same},
    {"A .* O", times_other}, {"A + O", plus_other}, {"A .* F, few", times_few}, {"A + F, few", plus_few}};

int main(int argc, char **argv)
{
    const call_sizes sizes = start_calls(argc, argv);
    n = sizes.vertices;
    const GrB_Index count = n * sizes.degree;
    A = random_matrix(n, count);
    O = random_matrix(n, count);
    F = random_matrix(n, count / 20 + 1);
    must(GrB_Matrix_dup(&S, A));
    must(GrB_Matrix_apply(S, NULL, NULL, GrB_MINV_FP64, S, NULL));
    must(GrB_Matrix_dup(&C, A));
    must(GrB_Matrix_new(&R, GrB_FP64, n, n));
    time_calls(&sizes, calls, sizeof calls / sizeof *calls);
    return 0;
}
