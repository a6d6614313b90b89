/* Elementwise calls on the host: which are computed by the CPU kernels, where their results are left, what is refused.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <GraphBLAS.h>

#include "routed.h"

enum { N = 1500 };

static void ok(GrB_Info info)
{
    assert_int_equal(info, GrB_SUCCESS);
}

/* x[k] = first + k, where k is no multiple of `gap` (0: everywhere; then the vector is full). */
static GrB_Vector make(float first, int gap)
{
    GrB_Vector v;
    float *x = malloc(N * sizeof *x);
    int8_t *b = malloc(N);
    GrB_Index present = 0;
    void *values = x;
    for (int k = 0; k < N; k++) {
        x[k] = first + (float)k;
        b[k] = gap == 0 || k % gap != 0;
        present += (GrB_Index)b[k];
    }
    ok(GrB_Vector_new(&v, GrB_FP32, N));
    if (gap == 0) {
        free(b);
        ok(GxB_Vector_pack_Full(v, &values, N * sizeof *x, false, NULL));
    } else {
        ok(GxB_Vector_pack_Bitmap(v, &b, &values, N, N * sizeof *x, false, present, NULL));
    }
    return v;
}

static float at(GrB_Vector v, int k, float absent)
{
    float x = absent;
    const GrB_Info info = GrB_Vector_extractElement_FP32(&x, v, (GrB_Index)k);
    assert_true(info == GrB_SUCCESS || info == GrB_NO_VALUE);
    return x;
}

static void free_all(GrB_Vector a, GrB_Vector b, GrB_Vector c)
{
    ok(GrB_Vector_free(&a));
    ok(GrB_Vector_free(&b));
    ok(GrB_Vector_free(&c));
}

static void test_all_of_a_call_in_one_pass(void **state)
{
    (void)state;
    GrB_Vector c = make(0, 0), a = make(10, 0), m = make(0, 3);
    const int before = routed_products();
    ok(GrB_Vector_eWiseAdd_BinaryOp(c, m, GrB_PLUS_FP32, GrB_MAX_FP32, a, c, GrB_DESC_S));
    assert_int_equal(routed_products(), before + 1);
    for (int k = 0; k < N; k++) {
        const int want = k % 3 == 0 ? k : 2 * k + 10;
        assert_float_equal(at(c, k, -1), want, 0);
    }
    free_all(c, a, m);
}

static void test_a_full_result_stays_in_its_array(void **state)
{
    (void)state;
    GrB_Vector c, a = make(1, 0), b = make(2, 0);
    float *x = malloc(N * sizeof *x);
    void *values = x, *after = NULL;
    GrB_Index bytes;
    bool iso;
    ok(GrB_Vector_new(&c, GrB_FP32, N));
    for (int k = 0; k < N; k++)
        x[k] = (float)(k % 5);
    ok(GxB_Vector_pack_Full(c, &values, N * sizeof *x, false, NULL));
    ok(GrB_Vector_eWiseMult_BinaryOp(c, NULL, NULL, GrB_MINUS_FP32, b, a, NULL));
    ok(GrB_Vector_apply_BinaryOp2nd_FP32(c, NULL, GrB_PLUS_FP32, GrB_TIMES_FP32, c, 3, NULL));
    ok(GxB_Vector_unpack_Full(c, &after, &bytes, &iso, NULL));
    assert_ptr_equal(after, x);
    for (int k = 0; k < N; k++)
        assert_float_equal(x[k], 4, 0);
    free(x);
    free_all(c, a, b);
}

static void test_a_bitmap_stays_in_its_arrays(void **state)
{
    (void)state;
    GrB_Vector c, a = make(1, 2), m = make(0, 5);
    float *x = malloc(N * sizeof *x);
    int8_t *b = malloc(N), *present = NULL;
    void *values = x, *after = NULL;
    GrB_Index b_bytes, x_bytes, count = 0, nvals;
    bool iso;
    int8_t *own = b;
    for (int k = 0; k < N; k++) {
        x[k] = 100;
        b[k] = k % 7 != 0;
        count += (GrB_Index)b[k];
    }
    ok(GrB_Vector_new(&c, GrB_FP32, N));
    ok(GxB_Vector_pack_Bitmap(c, &b, &values, N, N * sizeof *x, false, count, NULL));
    ok(GxB_Vector_Option_set(c, GxB_SPARSITY_CONTROL, GxB_BITMAP));
    const int before = routed_products();
    ok(GrB_Vector_assign(c, m, GrB_PLUS_FP32, a, GrB_ALL, N, GrB_DESC_S));
    assert_int_equal(routed_products(), before + 1);
    ok(GxB_Vector_unpack_Bitmap(c, &present, &after, &b_bytes, &x_bytes, &iso, &nvals, NULL));
    assert_ptr_equal(after, x);
    assert_ptr_equal(present, own);
    for (int k = 0; k < N; k++) {
        const bool old = k % 7 != 0, new = k % 2 != 0 && k % 5 != 0;
        assert_int_equal(present[k], old || new);
        if (old || new)
            assert_float_equal(x[k], (old ? 100 : 0) + (new ? k + 1 : 0), 0);
        nvals -= old || new;
    }
    assert_int_equal(nvals, 0);
    free(x);
    free(present);
    free_all(c, a, m);
}

/* Few entries are held sparse, where they may be. */
static void test_few_entries_are_sparse(void **state)
{
    (void)state;
    GrB_Vector c, a = make(0, 0), none = NULL;
    GrB_Index nvals;
    int32_t status;
    ok(GrB_Vector_new(&c, GrB_FP32, N));
    const int before = routed_products();
    ok(GrB_Vector_select_FP32(c, NULL, NULL, GrB_VALUELT_FP32, a, 5, NULL));
    assert_int_equal(routed_products(), before + 1);
    ok(GrB_Vector_nvals(&nvals, c));
    assert_int_equal(nvals, 5);
    ok(GxB_Vector_Option_get(c, GxB_SPARSITY_STATUS, &status));
    assert_int_equal(status, GxB_SPARSE);
    for (int k = 0; k < N; k++)
        assert_true(at(c, k, -1) == (float)(k < 5 ? k : -1));
    free_all(c, a, none);
}

static GrB_Vector one_entry(int place)
{
    GrB_Vector s;
    ok(GrB_Vector_new(&s, GrB_FP32, N));
    ok(GrB_Vector_setElement_FP32(s, 1, (GrB_Index)place));
    ok(GrB_Vector_wait(s, GrB_MATERIALIZE));
    return s;
}

static void test_a_sparse_mask_names_all_places(void **state)
{
    (void)state;
    GrB_Vector c = make(0, 0), a = make(1, 0), s = one_entry(3);
    const int before = routed_products();
    ok(GrB_Vector_assign(c, s, NULL, a, GrB_ALL, N, GrB_DESC_S));
    assert_int_equal(routed_products(), before + 1);
    for (int k = 0; k < N; k++)
        assert_float_equal(at(c, k, -1), k == 3 ? 4 : k, 0);
    free_all(c, a, s);
}

static void test_what_is_forwarded(void **state)
{
    (void)state;
    GrB_Vector c = make(0, 0), a = make(1, 0), s = one_entry(3);
    const int before = routed_products();
    ok(GrB_Vector_eWiseAdd_BinaryOp(c, NULL, NULL, GrB_PLUS_FP32, a, s, NULL));
    ok(GrB_Vector_assign_FP32(c, NULL, NULL, 2, GrB_ALL, N, NULL)); /* one value for all */
    ok(GrB_Vector_apply(a, NULL, NULL, GrB_AINV_FP32, c, NULL));
    assert_int_equal(routed_products(), before);
    free_all(c, a, s);
}

static void test_errors_are_the_library_s(void **state)
{
    (void)state;
    GrB_Vector c = make(0, 0), a = make(1, 0), shorter;
    const char *text;
    ok(GrB_Vector_new(&shorter, GrB_FP32, N - 1));
    ok(GrB_Vector_assign_FP32(shorter, NULL, NULL, 1, GrB_ALL, N - 1, NULL));
    assert_int_equal(GrB_Vector_eWiseMult_BinaryOp(c, NULL, NULL, GrB_MAX_FP32, a, shorter, NULL), GrB_DIMENSION_MISMATCH);
    ok(GrB_Vector_error(&text, c));
    assert_true(strlen(text) > 0);
    ok(GrB_Vector_eWiseMult_BinaryOp(c, NULL, NULL, GrB_MAX_FP32, a, c, NULL));
    ok(GrB_Vector_error(&text, c));
    assert_int_equal(strlen(text), 0);
    assert_int_equal(GrB_Vector_apply(NULL, NULL, NULL, GrB_AINV_FP32, a, NULL), GrB_NULL_POINTER);
    free_all(c, a, shorter);
}

static bool is_iso(GrB_Vector v)
{
    bool iso = false;
    ok(GxB_Vector_iso(&iso, v));
    return iso;
}

/* Iso where it is so without us: one value everywhere, but not where another one of C may stay. */
static void test_results_are_iso(void **state)
{
    (void)state;
    GrB_Vector c = make(0, 5), m = make(1, 3), none;
    GrB_Matrix A;
    ok(GrB_Vector_assign_FP32(c, m, NULL, 1, GrB_ALL, N, GrB_DESC_S));
    assert_false(is_iso(c));
    ok(GrB_Vector_assign_FP32(c, c, NULL, 1, GrB_ALL, N, GrB_DESC_S));
    assert_true(is_iso(c));
    ok(GrB_Vector_assign_FP32(c, m, NULL, 1, GrB_ALL, N, GrB_DESC_S));
    assert_true(is_iso(c));
    ok(GrB_Vector_new(&none, GrB_FP32, N));
    ok(GrB_Vector_assign_FP32(none, m, NULL, 3, GrB_ALL, N, GrB_DESC_S));
    assert_true(is_iso(none));
    ok(GrB_Vector_apply(c, NULL, NULL, GxB_ONE_FP32, m, NULL));
    assert_true(is_iso(c));
    ok(GrB_Vector_select_FP32(none, NULL, NULL, GrB_VALUEEQ_FP32, m, 5, NULL));
    assert_true(is_iso(none));
    ok(GrB_Matrix_new(&A, GrB_FP32, N, N));
    for (GrB_Index i = 0; i < N; i++)
        ok(GrB_Matrix_setElement_FP32(A, (float)i, i, (i * 7) % N));
    ok(GrB_mxv(none, NULL, NULL, GxB_ANY_PAIR_FP32, A, m, NULL));
    assert_true(is_iso(none));
    ok(GrB_mxv(none, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP32, A, m, NULL));
    assert_false(is_iso(none));
    ok(GrB_Matrix_free(&A));
    free_all(c, m, none);
}

/* An assignment that replaces a full vector clears it first, unless a bitmap may come of it. */
static void test_replaced_by_one_value(void **state)
{
    (void)state;
    static const int controls[] = {GxB_FULL, GxB_SPARSE | GxB_FULL, GxB_BITMAP | GxB_FULL};
    GrB_Vector m = make(1, 3);
    for (int k = 0; k < 3; k++) {
        GrB_Vector c = make(0, 0);
        ok(GxB_Vector_Option_set(c, GxB_SPARSITY_CONTROL, controls[k]));
        ok(GrB_Vector_assign_FP32(c, m, NULL, 1, GrB_ALL, N, GrB_DESC_RS));
        assert_int_equal(is_iso(c), k < 2);
        ok(GrB_Vector_free(&c));
    }
    GrB_Vector pending;
    ok(GrB_Vector_new(&pending, GrB_FP32, N));
    ok(GxB_Vector_Option_set(pending, GxB_SPARSITY_CONTROL, GxB_SPARSE | GxB_BITMAP));
    ok(GxB_Vector_Option_set(pending, GxB_BITMAP_SWITCH, 0.0));
    ok(GrB_Vector_setElement_FP32(pending, 5, 1)); /* finished, it is a bitmap */
    ok(GrB_Vector_assign_FP32(pending, m, NULL, 1, GrB_ALL, N, GrB_DESC_RS));
    assert_true(is_iso(pending));
    ok(GrB_Vector_free(&pending));
    ok(GrB_Vector_free(&m));
}

enum { FEW = 100 };

/* Entries where k is no multiple of `gap` (0: everywhere); sparse, or held as it comes. */
static GrB_Vector few_entries(GrB_Type type, int gap, bool sparse, bool iso)
{
    GrB_Vector v;
    ok(GrB_Vector_new(&v, type, FEW));
    if (sparse) ok(GxB_Vector_Option_set(v, GxB_SPARSITY_CONTROL, GxB_SPARSE));
    for (int k = 0; k < FEW; k++)
        if (gap == 0 || k % gap != 0) ok(GrB_Vector_setElement_FP32(v, iso ? 1 : 1 + (float)k, (GrB_Index)k));
    if (iso) ok(GrB_Vector_assign_FP32(v, v, NULL, 1, GrB_ALL, FEW, GrB_DESC_S));
    ok(GrB_Vector_wait(v, GrB_MATERIALIZE));
    return v;
}

/* A full vector, or a bitmap, is replaced through a sparse mask: what it held counts where it is a bitmap by then. */
static void test_replaced_through_a_sparse_mask(void **state)
{
    (void)state;
    GrB_Vector m = few_entries(GrB_FP32, 3, true, false);
    for (int gap = 0; gap <= 5; gap += 5)
        for (int same = 0; same < 2; same++) {
            GrB_Vector c = few_entries(GrB_FP32, gap, false, true);
            const int before = routed_products();
            ok(GrB_Vector_assign_FP32(c, m, NULL, same ? 1 : 2, GrB_ALL, FEW, GrB_DESC_R));
            assert_int_equal(routed_products(), before + 1);
            assert_int_equal(is_iso(c), same);
            ok(GrB_Vector_free(&c));
        }
    ok(GrB_Vector_free(&m));
}

/* Nothing passes the complement of a full mask: C stays iso, whatever T is; a mask of one value is taken for no mask, or by its structure. */
static void test_idle_masks(void **state)
{
    (void)state;
    GrB_Vector c = few_entries(GrB_FP32, 3, true, true), all = few_entries(GrB_FP32, 0, false, false), zero = few_entries(GrB_FP32, 4, true, true);
    ok(GrB_Vector_apply(c, all, NULL, GrB_AINV_FP32, c, GrB_DESC_SC));
    assert_true(is_iso(c));
    assert_float_equal(at(c, 1, -1), 1, 0);
    ok(GrB_Vector_assign_FP32(zero, zero, NULL, 0, GrB_ALL, FEW, GrB_DESC_S));
    ok(GrB_Vector_apply(c, zero, NULL, GrB_AINV_FP32, c, NULL));
    assert_true(is_iso(c));
    ok(GrB_Vector_apply(c, zero, NULL, GrB_AINV_FP32, c, GrB_DESC_C));
    assert_true(is_iso(c));
    assert_float_equal(at(c, 1, -1), -1, 0);
    free_all(c, all, zero);
}

/* What is pending of C is not finished where nothing is computed, and SuiteSparse makes one value of it later; where T only meets an empty
 * mask it finishes it as well. */
static void test_pending_entries_stay_pending(void **state)
{
    (void)state;
    GrB_Matrix A;
    ok(GrB_Matrix_new(&A, GrB_FP32, FEW, FEW));
    for (GrB_Index k = 0; k + 1 < FEW; k++) ok(GrB_Matrix_setElement_FP32(A, 2, k, k + 1));
    ok(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    for (int kind = 0; kind < 4; kind++) {
        GrB_Vector c, m, u = few_entries(GrB_FP32, kind % 2 ? 3 : 1, true, false);
        ok(GrB_Vector_new(&c, GrB_FP32, FEW));
        ok(GxB_Vector_Option_set(c, GxB_SPARSITY_CONTROL, GxB_SPARSE));
        ok(GrB_Vector_new(&m, GrB_FP32, FEW));
        if (kind % 2 == 0) ok(GrB_Vector_setElement_FP32(m, 1, 5)); /* u is empty; else the mask */
        for (GrB_Index k = 1; k < 4; k++) ok(GrB_Vector_setElement_FP32(c, 3, 7 * k));
        if (kind < 2) ok(GrB_Vector_apply(c, m, NULL, GrB_AINV_FP32, u, GrB_DESC_S));
        else ok(GrB_vxm(c, m, NULL, GrB_MIN_PLUS_SEMIRING_FP32, u, A, GrB_DESC_S));
        ok(GrB_Vector_wait(c, GrB_MATERIALIZE));
        assert_int_equal(is_iso(c), kind != 1);
        free_all(c, m, u);
    }
    ok(GrB_Matrix_free(&A));
}

/* An entry that is deleted, but not yet gone, keeps C from being empty, and so the result from being iso. */
static void test_deleted_entries_stay_deleted(void **state)
{
    (void)state;
    GrB_Vector w;
    ok(GrB_Vector_new(&w, GrB_FP32, N));
    ok(GxB_Vector_Option_set(w, GxB_SPARSITY_CONTROL, GxB_SPARSE));
    ok(GrB_Vector_setElement_FP32(w, 3, 5));
    ok(GrB_Vector_wait(w, GrB_MATERIALIZE));
    ok(GrB_Vector_removeElement(w, 5));
    ok(GrB_Vector_assign_FP32(w, NULL, GrB_PLUS_FP32, 1, GrB_ALL, N, NULL));
    ok(GrB_Vector_wait(w, GrB_MATERIALIZE));
    assert_false(is_iso(w));
    ok(GrB_Vector_free(&w));
}

/* The loop of 7.4 over three arrays leaves ones that are not iso, also where an operand is a list of every place; 9.4 sees that they are. */
static void test_ones_of_all_entries(void **state)
{
    (void)state;
    GrB_Vector list = few_entries(GrB_FP32, 0, true, false), all = few_entries(GrB_FP32, 0, false, false), c = few_entries(GrB_FP32, 5, true, false);
    ok(GrB_Vector_eWiseMult_BinaryOp(c, NULL, NULL, GrB_ONEB_FP32, list, all, NULL));
    assert_true(is_iso(c) == (GxB_IMPLEMENTATION_MAJOR > 7));
    free_all(c, list, all);
}

/* T of C's own lists is accumulated entry by entry, and pairs are iso then. */
static void test_accumulated_pairs(void **state)
{
    (void)state;
    GrB_Vector own = few_entries(GrB_FP32, 0, true, false), other = few_entries(GrB_FP32, 0, true, false), c = few_entries(GrB_FP32, 0, true, false);
    ok(GrB_Vector_apply_BinaryOp2nd_FP32(own, NULL, GrB_ONEB_FP32, GrB_PLUS_FP32, own, 2, NULL));
    assert_true(is_iso(own));
    ok(GrB_Vector_apply_BinaryOp2nd_FP32(c, NULL, GrB_ONEB_FP32, GrB_PLUS_FP32, other, 2, NULL));
    assert_false(is_iso(c));
    free_all(own, other, c);
}

static GrB_Vector sparse_vector(int first, int step)
{
    GrB_Vector v;
    ok(GrB_Vector_new(&v, GrB_FP32, N));
    ok(GxB_Vector_Option_set(v, GxB_SPARSITY_CONTROL, GxB_SPARSE));
    for (int k = first; k < N; k += step) ok(GrB_Vector_setElement_FP32(v, (float)k, (GrB_Index)k));
    ok(GrB_Vector_wait(v, GrB_MATERIALIZE));
    return v;
}

/* The text stays with u until a call that writes u succeeds. */
static void fail_into(GrB_Vector u)
{
    GrB_Vector longer;
    ok(GrB_Vector_new(&longer, GrB_FP32, N + 1));
    assert_int_equal(GrB_Vector_apply(u, NULL, NULL, GrB_AINV_FP32, longer, NULL), GrB_DIMENSION_MISMATCH);
    ok(GrB_Vector_free(&longer));
}

/* Ours may leave entries in any order, and GrB_apply would sort their indices without their values. */
static void test_an_applied_operand_is_whole(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        GrB_Vector c = sparse_vector(3, 50), u = sparse_vector(40, 40), more = sparse_vector(15, 30);
        const char *text = "";
        ok(GrB_Vector_assign(u, NULL, GrB_SECOND_FP32, more, GrB_ALL, N, NULL));
        fail_into(u);
        switch (kind) {
        case 0: ok(GrB_Vector_apply(c, NULL, GrB_PLUS_FP32, GrB_AINV_FP32, u, NULL)); break;
        case 1: ok(GrB_Vector_apply_BinaryOp1st_FP32(c, more, NULL, GrB_MINUS_FP32, 2, u, NULL)); break;
        case 2: ok(GrB_Vector_apply_BinaryOp2nd_FP32(c, NULL, GrB_PLUS_FP32, GrB_MINUS_FP32, u, 2, NULL)); break;
        default: ok(GrB_Vector_apply_IndexOp_INT64(c, NULL, GrB_PLUS_FP32, GrB_ROWINDEX_INT64, u, 0, NULL));
        }
        ok(GrB_Vector_error(&text, u));
        assert_non_null(strstr(text, "DIMENSION_MISMATCH"));
        for (int k = 0; k < N; k++) assert_true(at(u, k, -1) == (float)((k > 0 && k % 40 == 0) || k % 30 == 15 ? k : -1));
        free_all(c, u, more);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_applied_operand_is_whole),
        cmocka_unit_test(test_all_of_a_call_in_one_pass),    cmocka_unit_test(test_a_full_result_stays_in_its_array),
        cmocka_unit_test(test_a_bitmap_stays_in_its_arrays), cmocka_unit_test(test_few_entries_are_sparse),
        cmocka_unit_test(test_a_sparse_mask_names_all_places),
        cmocka_unit_test(test_what_is_forwarded),            cmocka_unit_test(test_errors_are_the_library_s),
        cmocka_unit_test(test_results_are_iso),              cmocka_unit_test(test_replaced_by_one_value),
        cmocka_unit_test(test_replaced_through_a_sparse_mask), cmocka_unit_test(test_idle_masks),
        cmocka_unit_test(test_pending_entries_stay_pending),
        cmocka_unit_test(test_deleted_entries_stay_deleted), cmocka_unit_test(test_ones_of_all_entries),
        cmocka_unit_test(test_accumulated_pairs),
    };
    return cmocka_run_group_tests(tests, start_session, stop_session);
}
