/* Plans saved and loaded: the same results; files of other matrices, of other versions, damaged or made up.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/sparse_blas/plan_file.h"
#include "test/unit/seeded.h"
#include "tessera/tessera.h"

enum { N = 200, COLUMNS = 5 };
static int64_t offsets[N + 1], indices[3 * N], other_indices[3 * N];
static double values[6 * N], b[2 * N * COLUMNS], c[2 * N * COLUMNS], expected[2 * N * COLUMNS];
static char path[] = "/tmp/tessera-plan-XXXXXX";

/* Three entries a column, in rows near the diagonal. */
static int make_matrix(void **state)
{
    tell_seed(state);
    for (int k = 0; k < 3 * N; k++) {
        offsets[k / 3] = k / 3 * 3;
        indices[k] = (k / 3 + k % 3) % N;
        other_indices[k] = (k / 3 + k % 3 + (k > 300)) % N;
    }
    offsets[N] = 3 * N;
    for (int k = 0; k < 6 * N; k++) {
        values[k] = 1 + k % 5;
    }
    for (int k = 0; k < 2 * N * COLUMNS; k++) {
        b[k] = k % 7 - 3;
    }
    const int file = mkstemp(path);
    return file < 0 || close(file);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static tsr_sparse *matrix(tsr_type type, const int64_t *at)
{
    const tsr_arrays arrays = {.index_type = TSR_INDEX_64, .offsets = offsets, .indices = at, .type = type, .values = values};
    tsr_sparse *a;
    assert_int_equal(tsr_sparse_create_csc(&a, N, N, &arrays, 0), TSR_OK);
    return a;
}

static tsr_dense dense(double *data, tsr_type type)
{
    return (tsr_dense){.data = data, .type = type, .nrows = N, .ncols = COLUMNS, .ld = COLUMNS};
}

static void same_plan(tsr_type type, unsigned flags)
{
    tsr_sparse *a = matrix(type, indices), *same = matrix(type, indices);
    const tsr_dense db = dense(b, type), dc = dense(c, type), de = dense(expected, type);
    tsr_plan *plan, *loaded;
    assert_int_equal(tsr_sparse_hint(a, TSR_OP_SPMM, COLUMNS, 1e6, TSR_PRECISION_EXACT, true), TSR_OK);
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMM, tsr_default_semiring(type), a, &db, &dc, flags), TSR_OK);
    assert_int_equal(tsr_plan_save(plan, path), TSR_OK);
    assert_int_equal(tsr_plan_load(&loaded, same, path), TSR_OK);
    assert_int_equal(tsr_plan_bytes(loaded), tsr_plan_bytes(plan));
    assert_int_equal(tsr_execute(plan, 1, a, &db, 0, &de, NULL), TSR_OK);
    assert_int_equal(tsr_execute(loaded, 1, same, &db, 0, &dc, NULL), TSR_OK);
    assert_memory_equal(c, expected, sizeof c);
    tsr_plan_destroy(plan);
    tsr_plan_destroy(loaded);
    tsr_sparse_destroy(a);
    tsr_sparse_destroy(same);
}

static void test_same_results(void **state)
{
    (void)state;
    same_plan(TSR_FP64, 0);
    same_plan(TSR_FP64, TSR_TRANSPOSE_A);
    same_plan(TSR_FC64, 0);
    same_plan(TSR_FC64, TSR_TRANSPOSE_A | TSR_CONJUGATE_A);
}

static void test_sampled(void **state)
{
    (void)state;
    tsr_sparse *s = matrix(TSR_FP64, indices);
    const tsr_dense x = dense(b, TSR_FP64);
    tsr_dense y = x;
    tsr_plan *plan, *loaded;
    y.layout = TSR_COL_MAJOR;
    y.nrows = COLUMNS;
    y.ncols = N;
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SDDMM, tsr_default_semiring(TSR_FP64), s, &x, &y, 0), TSR_OK);
    assert_int_equal(tsr_plan_save(plan, path), TSR_OK);
    assert_int_equal(tsr_plan_load(&loaded, s, path), TSR_OK);
    assert_int_equal(tsr_execute_sddmm(plan, 1, &x, &y, 0, s, expected, NULL), TSR_OK);
    assert_int_equal(tsr_execute_sddmm(loaded, 1, &x, &y, 0, s, c, NULL), TSR_OK);
    assert_memory_equal(c, expected, 3 * N * sizeof *c);
    tsr_plan_destroy(plan);
    tsr_plan_destroy(loaded);
    tsr_sparse_destroy(s);
}

/* ---- what is refused ---- */

static void save_one(void)
{
    tsr_sparse *a = matrix(TSR_FP64, indices);
    const tsr_dense db = dense(b, TSR_FP64), dc = dense(c, TSR_FP64);
    tsr_plan *plan;
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMM, tsr_default_semiring(TSR_FP64), a, &db, &dc, 0), TSR_OK);
    assert_int_equal(tsr_plan_save(plan, path), TSR_OK);
    assert_int_equal(tsr_plan_save(plan, "/nowhere/at/all"), TSR_IO_ERROR);
    assert_int_equal(tsr_plan_save(plan, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_plan_save(NULL, path), TSR_INVALID_VALUE);
    tsr_plan_destroy(plan);
    tsr_sparse_destroy(a);
}

static void test_other_matrix(void **state)
{
    (void)state;
    const tsr_arrays arrays = {.index_type = TSR_INDEX_64, .offsets = offsets, .indices = indices, .type = TSR_FP64, .values = values};
    tsr_sparse *a = matrix(TSR_FP64, indices), *pattern = matrix(TSR_FP64, other_indices), *type = matrix(TSR_FP32, indices), *shape, *by_row;
    tsr_plan *plan = NULL;
    assert_int_equal(tsr_sparse_create_csc(&shape, N + 1, N, &arrays, 0), TSR_OK);
    assert_int_equal(tsr_sparse_create_csr(&by_row, N, N, &arrays, 0), TSR_OK);
    save_one();
    assert_int_equal(tsr_plan_load(&plan, shape, path), TSR_DIMENSION_MISMATCH);
    assert_int_equal(tsr_plan_load(&plan, pattern, path), TSR_INVALID_VALUE);
    assert_string_equal(tsr_last_error(), "a has another pattern than the matrix of the plan");
    assert_int_equal(tsr_plan_load(&plan, type, path), TSR_INVALID_VALUE);
    assert_int_equal(tsr_plan_load(&plan, by_row, path), TSR_INVALID_VALUE);
    assert_int_equal(tsr_plan_load(&plan, a, "/nowhere/at/all"), TSR_IO_ERROR);
    assert_int_equal(tsr_plan_load(&plan, a, "/tmp"), TSR_IO_ERROR);
    assert_int_equal(tsr_plan_load(&plan, a, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_plan_load(NULL, a, path), TSR_INVALID_VALUE);
    assert_int_equal(tsr_plan_load(&plan, NULL, path), TSR_INVALID_VALUE);
    assert_null(plan);
    tsr_sparse_destroy(a);
    tsr_sparse_destroy(pattern);
    tsr_sparse_destroy(type);
    tsr_sparse_destroy(shape);
    tsr_sparse_destroy(by_row);
}

static void write_bytes(const unsigned char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void test_damaged(void **state)
{
    (void)state;
    unsigned char bytes[TSR_PLAN_FILE_BYTES + 1] = {0};
    tsr_sparse *a = matrix(TSR_FP64, indices);
    tsr_plan *plan = NULL;
    save_one();
    FILE *file = fopen(path, "rb");
    assert_int_equal(fread(bytes, 1, sizeof bytes, file), TSR_PLAN_FILE_BYTES);
    fclose(file);
    for (size_t k = 0; k < TSR_PLAN_FILE_BYTES; k++) {
        const unsigned char was = bytes[k];
        bytes[k] ^= (unsigned char)(1 + draw(255));
        write_bytes(bytes, TSR_PLAN_FILE_BYTES);
        assert_int_equal(tsr_plan_load(&plan, a, path), k >= 8 && k < 24 ? TSR_NOT_SUPPORTED : TSR_IO_ERROR);
        bytes[k] = was;
        write_bytes(bytes, k);
        assert_int_equal(tsr_plan_load(&plan, a, path), TSR_IO_ERROR);
    }
    write_bytes(bytes, sizeof bytes);
    assert_int_equal(tsr_plan_load(&plan, a, path), TSR_IO_ERROR);
    assert_null(plan);
    tsr_sparse_destroy(a);
}

/* Numbers out of nowhere with a check sum that is right: refused, or a plan that refuses operands that are not its own. */
static void test_made_up(void **state)
{
    (void)state;
    unsigned char bytes[TSR_PLAN_FILE_BYTES];
    static const int64_t wild[] = {-1, 0, 1, 2, 3, N, INT64_MAX, INT64_MIN, INT64_C(1) << 32, COLUMNS, 13, 14, 12};
    tsr_sparse *a = matrix(TSR_FP64, indices);
    const tsr_dense db = dense(b, TSR_FP64), dc = dense(c, TSR_FP64);
    tsr_saved_plan good, made_up;
    const char *why;
    int loaded = 0;
    save_one();
    FILE *file = fopen(path, "rb");
    assert_int_equal(fread(bytes, 1, sizeof bytes, file), sizeof bytes);
    fclose(file);
    assert_int_equal(tsr_plan_file_parse(&good, bytes, sizeof bytes, &why), TSR_OK);
    for (int turn = 0; turn < 4000; turn++) {
        int64_t numbers[TSR_PLAN_FIELD_COUNT];
        memcpy(numbers, &good, sizeof numbers);
        for (int64_t k = draw(4); k > 0; k--) {
            numbers[draw(TSR_PLAN_FIELD_COUNT)] = wild[draw(13)];
        }
        made_up = good;
        memcpy(&made_up, numbers, sizeof numbers);
        tsr_plan_file_print(bytes, &made_up);
        write_bytes(bytes, sizeof bytes);
        tsr_plan *plan;
        if (tsr_plan_load(&plan, a, path) == TSR_OK) {
            loaded++;
            tsr_execute(plan, 1, a, &db, 0, &dc, NULL);
            tsr_plan_destroy(plan);
        }
    }
    assert_true(loaded > 100);
    tsr_sparse_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_same_results, set_seed), cmocka_unit_test_setup(test_sampled, set_seed), cmocka_unit_test_setup(test_other_matrix, set_seed),
        cmocka_unit_test_setup(test_damaged, set_seed), cmocka_unit_test_setup(test_made_up, set_seed)};
    return cmocka_run_group_tests(tests, make_matrix, remove_file);
}
