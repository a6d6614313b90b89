/* Counts of pairs, which a GPU may keep until they are read: summed up first, read afterwards, with operands changed or freed in
 * between, never read.  Every form of triangle counting, every integer type; brute force says what is right.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <GraphBLAS.h>

#include "routed.h"

enum { N = 70, REPEATS = 20 }; /* narrow matrices (64) do not stay */

static bool edge[N][N];
static GrB_Matrix A, L, U;

static void ok(GrB_Info info)
{
    assert_int_equal(info, GrB_SUCCESS);
}

/* ---- operands ---- */

/* Dense enough that sums leave the range of 8 bits. */
static int make_graph(void **state)
{
    (void)state;
    srand(5);
    ok(GrB_Matrix_new(&A, GrB_BOOL, N, N));
    ok(GrB_Matrix_new(&L, GrB_BOOL, N, N));
    ok(GrB_Matrix_new(&U, GrB_BOOL, N, N));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < i; j++) {
            edge[i][j] = edge[j][i] = rand() % 4 == 0;
            if (!edge[i][j]) continue;
            ok(GrB_Matrix_setElement_BOOL(A, true, (GrB_Index)i, (GrB_Index)j));
            ok(GrB_Matrix_setElement_BOOL(A, true, (GrB_Index)j, (GrB_Index)i));
        }
    ok(GrB_Matrix_select_INT64(L, NULL, NULL, GrB_TRIL, A, -1, NULL));
    ok(GrB_Matrix_select_INT64(U, NULL, NULL, GrB_TRIU, A, 1, NULL));
    return 0;
}

static int free_graph(void **state)
{
    (void)state;
    ok(GrB_Matrix_free(&A));
    ok(GrB_Matrix_free(&L));
    ok(GrB_Matrix_free(&U));
    return 0;
}

typedef enum part { ALL, LOWER, UPPER } part;

static GrB_Matrix matrix_of(part p)
{
    return p == ALL ? A : p == LOWER ? L : U;
}

static bool has(part p, int i, int j)
{
    return edge[i][j] && (p == ALL || (p == LOWER ? j < i : j > i));
}

/* C<mask> = first * second, or first * second' */
typedef struct form {
    part mask, first, second;
    bool transposed;
} form;

static const form forms[] = {{ALL, ALL, ALL, false},     {ALL, LOWER, UPPER, false},     {LOWER, LOWER, LOWER, false},
                             {UPPER, UPPER, UPPER, false}, {LOWER, LOWER, UPPER, true}, {UPPER, UPPER, LOWER, true},
                             {ALL, ALL, ALL, true}};

static int64_t expected(const form *f, int i, int j)
{
    int64_t count = 0;
    for (int k = 0; k < N && has(f->mask, i, j); k++)
        count += has(f->first, i, k) && (f->transposed ? has(f->second, j, k) : has(f->second, k, j));
    return count;
}

static int64_t expected_sum(const form *f)
{
    int64_t sum = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) sum += expected(f, i, j);
    return sum;
}

static GrB_Matrix multiply(const form *f)
{
    GrB_Matrix C;
    ok(GrB_Matrix_new(&C, GrB_INT64, N, N));
    ok(GrB_mxm(C, matrix_of(f->mask), NULL, GxB_PLUS_PAIR_INT64, matrix_of(f->first), matrix_of(f->second),
               f->transposed ? GrB_DESC_ST1 : GrB_DESC_S));
    return C;
}

static int64_t sum_of(const GrB_Matrix C)
{
    int64_t sum = -1;
    ok(GrB_Matrix_reduce_INT64(&sum, NULL, GrB_PLUS_MONOID_INT64, C, NULL));
    return sum;
}

static void assert_entries(const GrB_Matrix C, const form *f)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            int64_t value = 0;
            const GrB_Info info = GrB_Matrix_extractElement_INT64(&value, C, (GrB_Index)i, (GrB_Index)j);
            assert_int_equal(value, expected(f, i, j));
            assert_int_equal(info, value ? GrB_SUCCESS : GrB_NO_VALUE);
        }
}

/* ---- tests ---- */

static void test_summed_then_read(void **state)
{
    (void)state;
    for (int k = 0; k < (int)(sizeof forms / sizeof *forms) * REPEATS; k++) {
        const form *f = &forms[k / REPEATS];
        GrB_Matrix C = multiply(f);
        if (k % 3) assert_int_equal(sum_of(C), expected_sum(f));
        if (k % 2) assert_entries(C, f);
        assert_int_equal(sum_of(C), expected_sum(f));
        ok(GrB_Matrix_free(&C));
    }
    assert_true(routed_products() > 0);
}

/* Each operand in turn is changed, or freed, while the result may not be here yet. */
static void test_operands_go_first(void **state)
{
    for (int k = 0; k < 6; k++) {
        GrB_Matrix *const operands[] = {&A, &L, &U};
        const form *f = &forms[1]; /* A, L and U take part */
        GrB_Matrix C = multiply(f);
        if (k < 3)
            ok(GrB_Matrix_clear(*operands[k]));
        else
            ok(GrB_Matrix_free(operands[k - 3]));
        assert_int_equal(sum_of(C), expected_sum(f));
        assert_entries(C, f);
        ok(GrB_Matrix_free(&C));
        free_graph(state);
        make_graph(state);
    }
}

/* The target itself is written to, or takes part in the next product. */
static void test_target_is_used(void **state)
{
    (void)state;
    const form *f = &forms[4];
    GrB_Matrix C = multiply(f), D;
    ok(GrB_Matrix_setElement_INT64(C, 1000, 0, 0));
    assert_int_equal(sum_of(C), expected_sum(f) + 1000);
    ok(GrB_Matrix_free(&C));
    C = multiply(f);
    ok(GrB_mxm(C, L, GrB_PLUS_INT64, GxB_PLUS_PAIR_INT64, L, U, GrB_DESC_ST1));
    assert_int_equal(sum_of(C), 2 * expected_sum(f));
    ok(GrB_Matrix_free(&C));
    C = multiply(f);
    ok(GrB_Matrix_dup(&D, C));
    assert_entries(D, f);
    assert_int_equal(sum_of(C), expected_sum(f));
    ok(GrB_Matrix_free(&C));
    ok(GrB_Matrix_free(&D));
}

/* Sums are those of the type of C: modulo its range, and only by its own monoid. */
static void test_narrow_types(void **state)
{
    (void)state;
    const struct {
        GrB_Type type;
        GrB_Semiring semiring;
        GrB_Monoid monoid;
        int64_t sum;
    } cases[] = {
        {GrB_INT8, GxB_PLUS_PAIR_INT8, GrB_PLUS_MONOID_INT8, (int8_t)expected_sum(&forms[0])},
        {GrB_UINT8, GxB_PLUS_PAIR_UINT8, GrB_PLUS_MONOID_UINT8, (uint8_t)expected_sum(&forms[0])},
        {GrB_INT16, GxB_PLUS_PAIR_INT16, GrB_PLUS_MONOID_INT16, (int16_t)expected_sum(&forms[0])},
        {GrB_UINT32, GxB_PLUS_PAIR_UINT32, GrB_PLUS_MONOID_UINT32, expected_sum(&forms[0])},
        {GrB_INT8, GxB_PLUS_PAIR_INT8, GrB_PLUS_MONOID_INT64, expected_sum(&forms[0])},
        {GrB_UINT64, GxB_PLUS_PAIR_UINT64, GrB_PLUS_MONOID_UINT64, expected_sum(&forms[0])},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        GrB_Matrix C;
        int64_t sum = 0, accumulated = 1;
        uint64_t as_unsigned = 0;
        ok(GrB_Matrix_new(&C, cases[k].type, N, N));
        ok(GrB_mxm(C, A, NULL, cases[k].semiring, A, A, GrB_DESC_S));
        ok(GrB_Matrix_reduce_INT64(&sum, NULL, cases[k].monoid, C, NULL));
        ok(GrB_Matrix_reduce_UINT64(&as_unsigned, NULL, cases[k].monoid, C, NULL));
        ok(GrB_Matrix_reduce_INT64(&accumulated, GrB_PLUS_INT64, cases[k].monoid, C, NULL));
        assert_int_equal(sum, cases[k].sum);
        assert_int_equal(as_unsigned, (uint64_t)cases[k].sum);
        assert_int_equal(accumulated, cases[k].sum + 1);
        ok(GrB_Matrix_free(&C));
    }
}

/* The identity that is asked for is not taken with a built-in operator. */
static void test_user_monoid(void **state)
{
    (void)state;
    static const form some_forms[] = {{ALL, ALL, ALL, false}, {UPPER, LOWER, LOWER, false}}; /* the second has no entries */
    GrB_Monoid adds;
    ok(GrB_Monoid_new_INT64(&adds, GrB_PLUS_INT64, 7));
    for (int k = 0; k < 2; k++) {
        int64_t sum = -1;
        GrB_Matrix C = multiply(&some_forms[k]);
        ok(GrB_Matrix_reduce_INT64(&sum, NULL, adds, C, NULL));
        assert_int_equal(sum, expected_sum(&some_forms[k]));
        ok(GrB_Matrix_free(&C));
    }
    ok(GrB_Monoid_free(&adds));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_summed_then_read, make_graph, free_graph),
        cmocka_unit_test_setup_teardown(test_operands_go_first, make_graph, free_graph),
        cmocka_unit_test_setup_teardown(test_target_is_used, make_graph, free_graph),
        cmocka_unit_test_setup_teardown(test_narrow_types, make_graph, free_graph),
        cmocka_unit_test_setup_teardown(test_user_monoid, make_graph, free_graph),
    };
    return cmocka_run_group_tests(tests, start_session, stop_session);
}
