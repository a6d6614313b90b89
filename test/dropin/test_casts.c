/* Operands of another type than the semiring, again and again: what a backend has kept is not what was cast.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "routed.h"

enum { M = 24, N = 40, K = 7, CALLS = 3, STEP = 5 };

static void ok(GrB_Info info)
{
    assert_int_equal(info, GrB_SUCCESS);
}

/* Full, of values whose low bytes are zero. */
static GrB_Matrix full(GrB_Type type, GrB_Index nrows)
{
    GrB_Matrix out;
    ok(GrB_Matrix_new(&out, type, nrows, K));
    for (GrB_Index i = 0; i < nrows; i++)
        for (GrB_Index k = 0; k < K; k++) ok(GrB_Matrix_setElement_INT64(out, (int64_t)(i + k + 1) * 256, i, k));
    ok(GrB_Matrix_wait(out, GrB_MATERIALIZE));
    return out;
}

static GrB_Matrix pattern(void)
{
    GrB_Matrix out;
    ok(GrB_Matrix_new(&out, GrB_BOOL, M, N));
    for (GrB_Index i = 0; i < M; i++)
        for (GrB_Index j = i % STEP; j < N; j += STEP) ok(GrB_Matrix_setElement_BOOL(out, true, i, j));
    ok(GrB_Matrix_wait(out, GrB_MATERIALIZE));
    return out;
}

/* Entry (i, j) of A B', A and B as above. */
static double dot(GrB_Index i, GrB_Index j)
{
    double sum = 0;
    for (GrB_Index k = 0; k < K; k++) sum += (double)((i + k + 1) * 256) * (double)((j + k + 1) * 256);
    return sum;
}

static void expect_dots(GrB_Matrix C, bool any)
{
    for (GrB_Index i = 0; i < M; i++)
        for (GrB_Index j = i % STEP; j < N; j += STEP) {
            double x = -1;
            ok(GrB_Matrix_extractElement_FP64(&x, C, i, j));
            assert_true(x == (any ? 1 : dot(i, j)));
        }
}

/* From the second call on a device has the mask, and nothing of A and B. */
static void check(GrB_Type a, GrB_Type b, GrB_Type c, GrB_Semiring semiring)
{
    GrB_Matrix mask = pattern(), A = full(a, M), B = full(b, N);
    for (int call = 0; call < CALLS; call++) {
        GrB_Matrix C;
        ok(GrB_Matrix_new(&C, c, M, N));
        const int before = routed_products();
        ok(GrB_mxm(C, mask, NULL, semiring, A, B, GrB_DESC_ST1));
        ok(GrB_Matrix_wait(C, GrB_MATERIALIZE));
        assert_true(routed_products() > before);
        expect_dots(C, c == GrB_BOOL);
        ok(GrB_Matrix_free(&C));
    }
    ok(GrB_Matrix_free(&A));
    ok(GrB_Matrix_free(&B));
    ok(GrB_Matrix_free(&mask));
}

static void test_a_full_operand_is_cast_beside_a_kept_mask(void **state)
{
    (void)state;
    check(GrB_INT16, GrB_FP64, GrB_FP64, GrB_PLUS_TIMES_SEMIRING_FP64);
    check(GrB_FP64, GrB_INT16, GrB_FP64, GrB_PLUS_TIMES_SEMIRING_FP64);
    check(GrB_UINT64, GrB_BOOL, GrB_BOOL, GrB_LOR_LAND_SEMIRING_BOOL);
    check(GrB_INT64, GrB_INT64, GrB_FP64, GrB_PLUS_TIMES_SEMIRING_FP64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_full_operand_is_cast_beside_a_kept_mask)};
    return cmocka_run_group_tests(tests, start_session, stop_session);
}
