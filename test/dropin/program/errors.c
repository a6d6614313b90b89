/* Calls that must fail, and calls made from inside a user's operator.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "program.h"

static double uninitialised[512]; /* a block without a valid header: not a wild pointer */

static void mismatch(object *C, object *A, object *B)
{
    GrB_Index ncols = (GrB_Index)A->ncols;
    GrB_Semiring s = GrB_PLUS_TIMES_SEMIRING_FP32;
    if (ncols == (GrB_Index)B->nrows) return report_text("skip", GrB_SUCCESS);
    report("mxm_mismatch", GrB_mxm(C->m, NULL, NULL, s, A->m, B->m, NULL), C);
}

static void null_operand(object *C, object *A, object *B)
{
    GrB_Semiring s = rng_chance(30) ? NULL : GrB_PLUS_TIMES_SEMIRING_FP32;
    GrB_Matrix a = s && rng_chance(50) ? NULL : A->m, b = s && a ? NULL : B->m;
    report("mxm_null", GrB_mxm(C->m, NULL, NULL, s, a, b, NULL), C);
    report_text("mxm_null_c", GrB_mxm(NULL, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, A->m, B->m, NULL));
}

static void uninitialised_operand(object *C, object *A, object *B)
{
    GrB_Matrix bad = (GrB_Matrix)uninitialised;
    GrB_Semiring s = GrB_PLUS_TIMES_SEMIRING_FP32;
    bool first = rng_chance(50);
    report("mxm_bad", GrB_mxm(C->m, NULL, NULL, s, first ? bad : A->m, first ? B->m : bad, NULL), C);
}

static void wrong_domain(object *C, object *A, object *B)
{
    int type = C->type == T_USER ? T_FP64 : T_USER;
    report("mxm_domain", GrB_mxm(C->m, NULL, NULL, user_semiring(type), A->m, B->m, NULL), C);
}

static void wrong_mask(object *C, object *A, object *B)
{
    object *M = pool_any_matrix();
    if (M->nrows == C->nrows && M->ncols == C->ncols) return report_text("skip", GrB_SUCCESS);
    (void)B;
    report("mask_shape", GrB_Matrix_apply(C->m, M->m, NULL, GrB_IDENTITY_INT32, A->m, NULL), C);
}

static void out_of_bounds(object *C, object *A, object *B)
{
    int32_t x = 0;
    (void)B;
    report("set_outside", GrB_Matrix_setElement_INT32(C->m, 1, (GrB_Index)C->nrows, 0), C);
    report_text("get_outside", GrB_Matrix_extractElement_INT32(&x, A->m, 0, (GrB_Index)A->ncols + 3));
}

static void bad_vector_product(object *C, object *A, object *B)
{
    object *w = pool_any_vector(), *u = pool_any_vector();
    (void)C;
    (void)B;
    operand(u);
    if (u == w || (u->nrows == A->ncols && w->nrows == A->nrows)) return report_text("skip", GrB_SUCCESS);
    GrB_Info info = GrB_mxv(w->v, NULL, NULL, GrB_MIN_PLUS_SEMIRING_FP64, A->m, u->v, NULL);
    if (A->type == T_USER) return report_text("mxv_domain", info);
    report("mxv_mismatch", info, w);
}

static void rubbish_blob(object *C, object *A, object *B)
{
    GrB_Matrix out = NULL;
    unsigned char blob[64] = {1, 2, 3};
    (void)A;
    (void)B;
    report_text("deserialize_rubbish", GrB_Matrix_deserialize(&out, type_handle(C->type), blob, sizeof blob));
    report_text("init_again", GrB_init(GrB_NONBLOCKING));
}

void op_errors(void)
{
    static void (*const ops[])(object *, object *, object *) = {
        mismatch, mismatch, null_operand, uninitialised_operand, wrong_domain, wrong_mask, out_of_bounds,
        bad_vector_product, rubbish_blob};
    object *C = pool_any_matrix(), *A = pool_any_matrix(), *B = pool_any_matrix();
    operand(A);
    operand(B);
    if (C == A || C == B) return report_text("skip", GrB_SUCCESS);
    ops[rng_below(9)](C, A, B);
}

/* ---- GraphBLAS inside an operator ---- */

void op_nested(void)
{
    int m = pool_size(), n = pool_size();
    object *A = pool_matrix(m, n, TYPE_ANY, WANT_ANY), *C = pool_matrix(m, n, TYPE_ANY, WANT_ANY);
    int threads = 0;
    operand(A);
    without_hyper(A, false);
    without_hyper(C, false);
    if (is_float(A->type)) tame(A);
    GxB_Global_Option_get(GxB_NTHREADS, &threads);
    GxB_Global_Option_set(GxB_NTHREADS, 1);
    GrB_Info info = GrB_Matrix_apply(C->m, NULL, NULL, nested_op(), A->m, NULL);
    GxB_Global_Option_set(GxB_NTHREADS, threads);
    bound t = bound_cast(A->b, A->type, T_FP64);
    t.mag += 4;
    object_bound(C, t, T_FP64, -1);
    report("nested", info, C);
}
