/* A scalar under a structural mask, to a vector without entries: SuiteSparse copies the mask's places, which is left to it; of a vector with
 * entries it is computed here.
 * SPDX-License-Identifier: Apache-2.0 */
#include "same.h"

enum { N = 20000 };

static int computed(void)
{
    return traced("\"route\":\"cpu:few");
}

/* Every other place of a bitmap. */
static GrB_Vector make_mask(void)
{
    GrB_Vector m;
    ok(GrB_Vector_new(&m, GrB_FP32, N));
    ok(GxB_Vector_Option_set(m, GxB_SPARSITY_CONTROL, GxB_BITMAP));
    for (GrB_Index k = 0; k < N; k += 2)
        ok(GrB_Vector_setElement_FP32(m, 1, k));
    ok(GrB_Vector_wait(m, GrB_MATERIALIZE));
    return m;
}

static void assign(GrB_Vector w, GrB_Vector m, bool here)
{
    typedef GrB_Info function(GrB_Vector, GrB_Vector, GrB_BinaryOp, double, const GrB_Index *, GrB_Index, GrB_Descriptor);
    GrB_Vector want;
    const int before = computed();
    ok(GrB_Vector_dup(&want, w));
    ok(((function *)(uintptr_t)of_suitesparse("GrB_Vector_assign_FP64"))(want, m, NULL, 7, GrB_ALL, N, GrB_DESC_S));
    ok(GrB_Vector_assign_FP64(w, m, NULL, 7, GrB_ALL, N, GrB_DESC_S));
    assert_int_equal(computed() - before, here);
    expect_same((GrB_Matrix)want, (GrB_Matrix)w);
    ok(GrB_Vector_free(&want));
}

static void test_copied_masks(void **state)
{
    (void)state;
    GrB_Vector m = make_mask(), w;
    ok(GrB_Vector_new(&w, GrB_FP64, N));
    assign(w, m, false);
    ok(GrB_Vector_free(&w));
    ok(GrB_Vector_new(&w, GrB_FP64, N));
    ok(GrB_Vector_setElement_FP64(w, 3, 1));
    ok(GrB_Vector_setElement_FP64(w, 4, 9));
    ok(GrB_Vector_wait(w, GrB_MATERIALIZE));
    assign(w, m, true);
    ok(GrB_Vector_free(&m));
    ok(GrB_Vector_free(&w));
}

static int start(void **state)
{
    setenv("TEST_MODE", "auto", 1);
    return start_session(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_copied_masks)};
    return cmocka_run_group_tests(tests, start, stop_session);
}
