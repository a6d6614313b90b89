/* The native door of sparse times sparse: sizes, transposes, both index widths, new values, wrong arguments.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tessera/spgemm.h"
#include "test/trace_routes.h"

/*  A = 1 2 .     A A = 1 2 6     A' A = 1  2  .     A A' = 5 . .
 *      . . 3           . . .            2  4  .            . 9 .
 *      . . .           . . .            .  .  9            . . .     */
static const int32_t offsets[] = {0, 2, 3, 3}, columns[] = {0, 1, 2};
static double values[] = {1, 2, 3};
static const tsr_semiring plus_times = {TSR_FP64, TSR_ADD_PLUS, TSR_MUL_TIMES};

static tsr_sparse *matrix(void)
{
    tsr_sparse *a;
    const tsr_arrays arrays = {.index_type = TSR_INDEX_32, .offsets = offsets, .indices = columns, .type = TSR_FP64, .values = values};
    assert_int_equal(tsr_sparse_create_csr(&a, 3, 3, &arrays, 0), TSR_OK);
    return a;
}

static void check(unsigned flags, int64_t entries, const int64_t *p, const int64_t *i, const double *x)
{
    tsr_sparse *a = matrix(), *made;
    tsr_spgemm_plan *plan;
    int64_t nvals, got_p[4], got_i[9];
    uint32_t narrow_p[4], narrow_i[9];
    double got_x[9];
    assert_int_equal(tsr_spgemm_plan_create(&plan, plus_times, a, a, flags), TSR_OK);
    assert_int_equal(tsr_spgemm_plan_size(plan, NULL, NULL, &nvals), TSR_OK);
    assert_int_equal(nvals, entries);
    assert_int_equal(tsr_spgemm_execute(plan, TSR_INDEX_64, got_p, got_i, got_x), TSR_OK);
    assert_memory_equal(got_p, p, sizeof got_p);
    assert_memory_equal(got_i, i, (size_t)entries * sizeof *i);
    assert_memory_equal(got_x, x, (size_t)entries * sizeof *x);
    assert_int_equal(tsr_spgemm_execute(plan, TSR_INDEX_32, narrow_p, narrow_i, got_x), TSR_OK);
    for (int64_t e = 0; e < entries; e++)
        assert_int_equal(narrow_i[e], i[e]);
    assert_int_equal(narrow_p[3], entries);
    assert_int_equal(tsr_spgemm_execute_new(plan, &made), TSR_OK);
    assert_int_equal(tsr_sparse_size(made, NULL, NULL, &nvals), TSR_OK);
    assert_int_equal(nvals, entries);
    tsr_sparse_destroy(made);
    tsr_spgemm_plan_destroy(plan);
    tsr_sparse_destroy(a);
}

static void products(void **state)
{
    (void)state;
    check(0, 3, (int64_t[]){0, 3, 3, 3}, (int64_t[]){0, 1, 2}, (double[]){1, 2, 6});
    check(TSR_SPGEMM_TRANSPOSE_A, 5, (int64_t[]){0, 2, 4, 5}, (int64_t[]){0, 1, 0, 1, 2}, (double[]){1, 2, 2, 4, 9});
    check(TSR_SPGEMM_TRANSPOSE_B, 2, (int64_t[]){0, 1, 2, 2}, (int64_t[]){0, 1}, (double[]){5, 9});
    check(TSR_SPGEMM_BY_COLUMN, 3, (int64_t[]){0, 1, 2, 3}, (int64_t[]){0, 0, 0}, (double[]){1, 2, 6});
}

static void new_values(void **state)
{
    (void)state;
    tsr_sparse *a = matrix();
    tsr_spgemm_plan *plan;
    int64_t p[4], i[9];
    float x[9];
    const tsr_semiring narrow = {TSR_FP32, TSR_ADD_PLUS, TSR_MUL_TIMES}; /* values are typecast */
    assert_int_equal(tsr_spgemm_plan_create(&plan, narrow, a, a, 0), TSR_OK);
    assert_int_equal((int)tsr_spgemm_plan_work(plan), 3);
    assert_non_null(strstr(tsr_spgemm_plan_explain(plan), "spgemm: ")); /* and why */
    assert_string_equal(tsr_spgemm_plan_explain(NULL), "");
    assert_int_equal(tsr_spgemm_execute(plan, TSR_INDEX_64, p, i, x), TSR_OK);
    assert_true(x[2] == 6);
    for (int again = 0; again < 4; again++) { /* the third knows the pattern */
        values[2] = 5 + again;
        memset(p, 0xa5, sizeof p);
        memset(i, 0xa5, sizeof i);
        assert_int_equal(tsr_spgemm_execute(plan, TSR_INDEX_64, p, i, x), TSR_OK);
        assert_true(x[0] == 1 && x[1] == 2 && x[2] == 10 + 2 * (float)again);
        assert_memory_equal(p, ((int64_t[]){0, 3, 3, 3}), sizeof p);
        assert_memory_equal(i, ((int64_t[]){0, 1, 2}), 3 * sizeof *i);
        values[2] = 7 + again;
        assert_int_equal(tsr_spgemm_execute_values(plan, x), TSR_OK);
        assert_true(x[0] == 1 && x[1] == 2 && x[2] == 14 + 2 * (float)again);
    }
    double elsewhere[] = {1, 2, 20}; /* the same plan */
    assert_int_equal(tsr_sparse_set_values(a, elsewhere), TSR_OK);
    assert_int_equal(tsr_spgemm_execute_values(plan, x), TSR_OK);
    assert_true(x[0] == 1 && x[1] == 2 && x[2] == 40);
    assert_int_equal(tsr_spgemm_execute(plan, TSR_INDEX_64, p, i, x), TSR_OK);
    assert_true(x[2] == 40);
    values[2] = 3;
    tsr_spgemm_plan_destroy(plan);
    tsr_sparse_destroy(a);
}

/* The caller keeps C's pattern, in either width. */
static void callers_pattern(void **state)
{
    (void)state;
    tsr_sparse *a = matrix();
    tsr_spgemm_plan *plan;
    int32_t p[4], i[9];
    const int64_t long_p[] = {0, 3, 3, 3}, long_i[] = {0, 1, 2};
    double x[9];
    assert_int_equal(tsr_spgemm_plan_create(&plan, plus_times, a, a, 0), TSR_OK);
    assert_int_equal(tsr_spgemm_execute(plan, TSR_INDEX_32, p, i, x), TSR_OK);
    for (int wide = 0; wide < 2; wide++) {
        const void *offsets_now = wide ? (const void *)long_p : p, *indices_now = wide ? (const void *)long_i : i;
        assert_int_equal(tsr_spgemm_plan_pattern(plan, wide ? TSR_INDEX_64 : TSR_INDEX_32, offsets_now, indices_now), TSR_OK);
        values[2] = 5 + wide;
        memset(x, 0xa5, sizeof x);
        assert_int_equal(tsr_spgemm_execute_values(plan, x), TSR_OK);
        assert_true(x[0] == 1 && x[1] == 2 && x[2] == 10 + 2 * wide);
        assert_int_equal(tsr_spgemm_execute(plan, TSR_INDEX_32, p, i, x), TSR_OK); /* also into the arrays that were told */
        assert_memory_equal(i, ((int32_t[]){0, 1, 2}), 3 * sizeof *i);
    }
    p[3] = 2;
    assert_int_equal(tsr_spgemm_plan_pattern(plan, TSR_INDEX_32, p, i), TSR_INVALID_VALUE);
    assert_int_equal(tsr_spgemm_plan_pattern(plan, TSR_INDEX_32, p, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_spgemm_plan_pattern(NULL, TSR_INDEX_32, p, i), TSR_INVALID_VALUE);
    values[2] = 3;
    tsr_spgemm_plan_destroy(plan);
    tsr_sparse_destroy(a);
}

/* Arrays without elements may be NULL, as an empty vector's are. */
static void no_entries(void **state)
{
    (void)state;
    static const int32_t none[] = {0, 0, 0, 0};
    tsr_sparse *a = matrix(), *empty, *product;
    tsr_spgemm_plan *plan;
    int32_t p[4];
    int64_t nvals = -1;
    const tsr_arrays arrays = {.index_type = TSR_INDEX_32, .offsets = none, .type = TSR_FP64};
    assert_int_equal(tsr_sparse_create_csr(&empty, 3, 3, &arrays, 0), TSR_OK);
    assert_int_equal(tsr_sparse_set_values(empty, NULL), TSR_OK);
    assert_int_equal(tsr_spgemm_plan_create(&plan, plus_times, empty, a, 0), TSR_OK);
    for (int again = 0; again < 3; again++) {
        memset(p, 0xa5, sizeof p);
        assert_int_equal(tsr_spgemm_execute(plan, TSR_INDEX_32, p, NULL, NULL), TSR_OK);
        assert_memory_equal(p, none, sizeof p);
        assert_int_equal(tsr_spgemm_execute_values(plan, NULL), TSR_OK);
    }
    assert_int_equal(tsr_spgemm_plan_pattern(plan, TSR_INDEX_32, p, NULL), TSR_OK);
    assert_int_equal(tsr_spgemm_execute_values(plan, NULL), TSR_OK);
    assert_int_equal(tsr_spgemm_execute_new(plan, &product), TSR_OK);
    assert_int_equal(tsr_sparse_size(product, NULL, NULL, &nvals), TSR_OK);
    assert_int_equal(nvals, 0);
    assert_int_equal(tsr_spgemm_execute(plan, TSR_INDEX_32, NULL, NULL, NULL), TSR_INVALID_VALUE);
    tsr_sparse_destroy(product);
    tsr_spgemm_plan_destroy(plan);
    tsr_sparse_destroy(empty);
    tsr_sparse_destroy(a);
}

static void wrong_arguments(void **state)
{
    (void)state;
    tsr_sparse *a = matrix(), *wide;
    tsr_spgemm_plan *plan = NULL;
    int64_t p[4], i[9];
    const tsr_arrays arrays = {.index_type = TSR_INDEX_32, .offsets = offsets, .indices = columns, .type = TSR_FP64, .values = values};
    assert_int_equal(tsr_sparse_create_csr(&wide, 3, 7, &arrays, 0), TSR_OK);
    const tsr_semiring none = {TSR_BOOL, TSR_ADD_PLUS, TSR_MUL_TIMES};
    assert_int_equal(tsr_spgemm_plan_create(NULL, plus_times, a, a, 0), TSR_INVALID_VALUE);
    assert_int_equal(tsr_spgemm_plan_create(&plan, plus_times, NULL, a, 0), TSR_INVALID_VALUE);
    assert_int_equal(tsr_spgemm_plan_create(&plan, plus_times, a, a, 1u << 10), TSR_INVALID_VALUE);
    assert_int_equal(tsr_spgemm_plan_create(&plan, none, a, a, 0), TSR_INVALID_VALUE);
    assert_int_equal(tsr_spgemm_plan_create(&plan, plus_times, wide, a, 0), TSR_DIMENSION_MISMATCH);
    assert_null(plan);
    assert_int_equal(tsr_spgemm_plan_create(&plan, plus_times, a, wide, 0), TSR_OK);
    assert_int_equal(tsr_spgemm_execute(plan, TSR_INDEX_64, p, i, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_spgemm_execute_new(plan, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_spgemm_execute_values(plan, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_spgemm_execute_values(NULL, p), TSR_INVALID_VALUE);
    assert_int_equal(tsr_spgemm_plan_size(NULL, NULL, NULL, NULL), TSR_INVALID_VALUE);
    assert_true(tsr_spgemm_plan_work(NULL) == 0);
    tsr_spgemm_plan_destroy(plan);
    tsr_spgemm_plan_destroy(NULL);
    tsr_sparse_destroy(wide);
    tsr_sparse_destroy(a);
}

/* With TESSERA_MODE=gpu the device must have computed something. */
int main(void)
{
    char trace[64] = "";
    const char *mode = getenv("TESSERA_MODE");
    if (mode && strcmp(mode, "gpu") == 0) {
        snprintf(trace, sizeof trace, "/tmp/tessera-test-native-spgemm-%ld", (long)getpid());
        setenv("TESSERA_TRACE", trace, 1);
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(products), cmocka_unit_test(new_values), cmocka_unit_test(callers_pattern),
                                       cmocka_unit_test(no_entries), cmocka_unit_test(wrong_arguments)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return *trace && trace_routes(trace, "\"cuda:spgemm\"") == 0 ? 1 : failed;
}
