/* New results that are freed before the next one is made lie where the last one was: they touch no new pages.
 * SPDX-License-Identifier: Apache-2.0 */
#include <sys/resource.h>

#include "same.h"

enum { WARM = 4, TIMES = 40, PAGE = 4096 };

static int64_t faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

/* w = u u of a bitmap. */
static void multiply(GrB_Vector u, GrB_Index n)
{
    GrB_Vector w;
    ok(GrB_Vector_new(&w, GrB_FP64, n));
    ok(GrB_Vector_eWiseMult_BinaryOp(w, NULL, NULL, GrB_TIMES_FP64, u, u, NULL));
    ok(GrB_Vector_free(&w));
}

static void check(GrB_Index n)
{
    GrB_Vector u;
    ok(GrB_Vector_new(&u, GrB_FP64, n));
    ok(GxB_Vector_Option_set(u, GxB_SPARSITY_CONTROL, GxB_BITMAP));
    ok(GrB_Vector_assign_FP64(u, NULL, NULL, 3, GrB_ALL, n, NULL));
    ok(GrB_Vector_setElement_FP64(u, 2, 5));
    ok(GrB_Vector_removeElement(u, 7));
    ok(GrB_Vector_wait(u, GrB_MATERIALIZE));
    for (int k = 0; k < WARM; k++)
        multiply(u, n);
    const int before = traced("\"route\":\"cpu:step");
    const int64_t first = faults();
    for (int k = 0; k < TIMES; k++)
        multiply(u, n);
    const int64_t pages = (int64_t)(n * 9 / PAGE), touched = faults() - first;
    assert_int_equal(traced("\"route\":\"cpu:step"), before + TIMES);
    assert_true(touched < TIMES * pages / 4);
    ok(GrB_Vector_free(&u));
}

/* A presence of a power of two bytes, which SuiteSparse's pool would take; values of 1 MiB and more. */
static void test_fresh_memory(void **state)
{
    (void)state;
    check(1 << 14);
    check((1 << 17) + 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fresh_memory)};
    return cmocka_run_group_tests(tests, start_session, stop_session);
}
