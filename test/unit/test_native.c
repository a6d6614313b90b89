/* The native door against triple loops: every type, semiring, layout, leading dimension, index width, scalar; every
 * error. --seed N repeats one random case.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/object/record.h"
#include "tessera/tessera.h"
#include "test/threads.h"
#include "test/unit/native_case.h"

static uint64_t only_seed;

/* ---- random products ---- */

static void run_cases(tsr_op op, uint64_t first, int count)
{
    for (int k = 0; k < count; k++) {
        uint64_t seed = only_seed ? only_seed : first + (uint64_t)k;
        char message[512] = "";
        if (!native_case_passes(op, seed, message, sizeof message)) {
            fail_msg("--seed %llu: %s", (unsigned long long)seed, message);
        }
    }
}

static void test_spmm_equals_loops(void **state)
{
    (void)state;
    run_cases(TSR_OP_SPMM, 1000, 1500);
}

static void test_spmv_equals_loops(void **state)
{
    (void)state;
    run_cases(TSR_OP_SPMV, 200000, 1000);
}

static void test_sddmm_equals_loops(void **state)
{
    (void)state;
    run_cases(TSR_OP_SDDMM, 400000, 1000);
}

/* ---- a fixed small matrix: rows {0: 1 at 1}, {1: empty}, {2: 2 at 0, 3 at 2} of 3 x 4 ---- */

static const int64_t offsets[] = {0, 1, 1, 3};
static const int64_t columns[] = {1, 0, 2};
static float values[] = {1, 2, 3};

static tsr_arrays small_arrays(void)
{
    values[0] = 1;
    values[1] = 2;
    values[2] = 3;
    return (tsr_arrays){.index_type = TSR_INDEX_64, .offsets = offsets, .indices = columns, .type = TSR_FP32, .values = values};
}

static tsr_sparse *small_matrix(unsigned flags)
{
    tsr_arrays arrays = small_arrays();
    tsr_sparse *a = NULL;
    assert_int_equal(tsr_sparse_create_csr(&a, 3, 4, &arrays, flags), TSR_OK);
    return a;
}

static tsr_dense dense(float *data, int64_t nrows, int64_t ncols)
{
    return (tsr_dense){.data = data, .type = TSR_FP32, .layout = TSR_ROW_MAJOR, .nrows = nrows, .ncols = ncols, .ld = ncols};
}

/* 2 x 4. */
static tsr_dense by_column(float *data)
{
    return (tsr_dense){.data = data, .type = TSR_FP32, .layout = TSR_COL_MAJOR, .nrows = 2, .ncols = 4, .ld = 2};
}

static tsr_semiring plus_times(void)
{
    return tsr_default_semiring(TSR_FP32);
}

static void test_small_product_by_hand(void **state)
{
    (void)state;
    float b[8] = {1, 2, 3, 4, 5, 6, 7, 8}, c[6];
    const float expected[6] = {3, 4, 0, 0, 2 * 1 + 3 * 5, 2 * 2 + 3 * 6};
    tsr_sparse *a = small_matrix(0);
    tsr_plan *plan;
    tsr_dense db = dense(b, 4, 2), dc = dense(c, 3, 2);
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMM, plus_times(), a, &db, &dc, 0), TSR_OK);
    memset(c, 0xff, sizeof c); /* NaN: must not be read */
    assert_int_equal(tsr_execute(plan, 1, a, &db, 0, &dc, NULL), TSR_OK);
    assert_memory_equal(c, expected, sizeof c);
    assert_int_equal(tsr_execute(plan, 2, a, &db, -1, &dc, NULL), TSR_OK);
    assert_memory_equal(c, expected, sizeof c);
    tsr_plan_destroy(plan);
    tsr_sparse_destroy(a);
}

static void test_beta_zero_never_reads_c(void **state)
{
    (void)state;
    float b[8] = {1, 2, 3, 4, 5, 6, 7, 8}, c[6];
    tsr_sparse *a = small_matrix(0);
    tsr_plan *plan;
    tsr_dense db = dense(b, 4, 2), dc = dense(c, 3, 2);
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMM, plus_times(), a, &db, &dc, 0), TSR_OK);
    for (int k = 0; k < 6; k++) {
        c[k] = NAN;
    }
    assert_int_equal(tsr_execute(plan, 0.5, a, &db, 0, &dc, NULL), TSR_OK);
    for (int k = 0; k < 6; k++) {
        assert_false(isnan(c[k]));
    }
    for (int k = 0; k < 8; k++) {
        b[k] = NAN; /* alpha == 0 does not read B either */
    }
    assert_int_equal(tsr_execute(plan, 0, a, &db, 2, &dc, NULL), TSR_OK);
    assert_true(c[0] == 3);
    tsr_plan_destroy(plan);
    tsr_sparse_destroy(a);
}

/* A sum begins at +0: rows without entries and sums of -0 alone, as in a loop over a C of zeros.  Added to C they leave it. */
static void test_zeros_are_positive(void **state)
{
    (void)state;
    const int64_t begins[] = {0, 2, 2, 3}, at[] = {0, 1, 1};
    const float entries[] = {-1, -1, 2};
    float b[] = {0, 1, 0, 5}, c[] = {7, 7, 7, 7, 7, 7};
    tsr_arrays arrays = {.index_type = TSR_INDEX_64, .offsets = begins, .indices = at, .type = TSR_FP32, .values = entries};
    tsr_sparse *a;
    tsr_plan *plan;
    assert_int_equal(tsr_sparse_create_csr(&a, 3, 2, &arrays, 0), TSR_OK);
    for (int by_col = 0; by_col < 2; by_col++) {
        tsr_dense db = dense(b, 2, 2), dc = dense(c, 3, 2);
        dc.layout = by_col ? TSR_COL_MAJOR : TSR_ROW_MAJOR;
        dc.ld = by_col ? 3 : 2;
        assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMM, plus_times(), a, &db, &dc, 0), TSR_OK);
        assert_int_equal(tsr_execute(plan, 1, a, &db, 0, &dc, NULL), TSR_OK);
        const float first[] = {0, -6, 0, 0, 0, 10};
        for (int k = 0; k < 6; k++) {
            const float value = c[by_col ? k % 2 * 3 + k / 2 : k];
            assert_true(value == first[k] && !signbit(value) == (first[k] >= 0));
        }
        assert_int_equal(tsr_execute(plan, 1, a, &db, 1, &dc, NULL), TSR_OK);
        assert_true(c[by_col ? 3 : 1] == -12 && c[5] == 20 && c[2] == 0);
        tsr_plan_destroy(plan);
    }
    tsr_sparse_destroy(a);
}

/* ---- epilogues ---- */

#define EPILOGUE(real, of_type, all, columns) \
    do { \
        real b[8] = {1, -2, 3, 4, 5, -6, 7, 8}, c[6] = {1, 1, 1, 1, 1, 1}, bias[2] = {(real)-4, 1}; \
        const tsr_epilogue epilogue = {(all) ? bias : NULL, (all) ? TSR_ACTIVATION_RELU : TSR_ACTIVATION_NONE}; \
        const real plain[6] = {4, 5, 1, 1, 18, -21}, whole[6] = {0, 6, 0, 2, 14, 0}; \
        tsr_sparse *a = small_matrix(0); \
        tsr_plan *plan; \
        tsr_dense db = {.data = b, .type = of_type, .nrows = 4, .ncols = 2, .ld = 2}; \
        tsr_dense dc = {.data = c, .type = of_type, .layout = (columns) ? TSR_COL_MAJOR : TSR_ROW_MAJOR, .nrows = 3, .ncols = 2, .ld = (columns) ? 3 : 2}; \
        assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMM, tsr_default_semiring(of_type), a, &db, &dc, 0), TSR_OK); \
        assert_int_equal(tsr_execute_fused(plan, 1, a, &db, 1, &dc, &epilogue, NULL), TSR_OK); \
        for (int k = 0; k < 6; k++) { \
            assert_true(c[(columns) ? k % 2 * 3 + k / 2 : k] == ((all) ? whole : plain)[k]); \
        } \
        tsr_plan_destroy(plan); \
        tsr_sparse_destroy(a); \
    } while (0)

/* A B = {3, 4}, {0, 0}, {2 + 15, -4 - 18}; C is 1 everywhere before. */
static void test_epilogue_by_hand(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        EPILOGUE(float, TSR_FP32, way & 1, way & 2);
        EPILOGUE(double, TSR_FP64, way & 1, way & 2);
    }
}

static void test_epilogue_is_refused(void **state)
{
    (void)state;
    float b[8] = {0}, c[6] = {0};
    tsr_sparse *a = small_matrix(0);
    tsr_plan *plan;
    tsr_dense db = dense(b, 4, 2), dc = dense(c, 3, 2);
    const tsr_epilogue overlaps = {c + 5, TSR_ACTIVATION_NONE}, unknown = {b, (tsr_activation)7}, nothing = {NULL, TSR_ACTIVATION_NONE};
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMM, plus_times(), a, &db, &dc, 0), TSR_OK);
    assert_int_equal(tsr_execute_fused(plan, 1, a, &db, 0, &dc, NULL, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_execute_fused(NULL, 1, a, &db, 0, &dc, &nothing, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_execute_fused(plan, 1, a, &db, 0, &dc, &overlaps, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_execute_fused(plan, 1, a, &db, 0, &dc, &unknown, NULL), TSR_INVALID_VALUE);
    assert_string_equal(tsr_last_error(), "epilogue->activation = 7 is not in 0 to 1");
    assert_int_equal(tsr_execute_fused(plan, 1, a, &db, 0, &dc, &nothing, NULL), TSR_OK);
    tsr_plan_destroy(plan);
    dc.type = TSR_INT32;
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMM, tsr_default_semiring(TSR_INT32), a, &db, &dc, 0), TSR_OK);
    assert_int_equal(tsr_execute_fused(plan, 1, a, &db, 0, &dc, &nothing, NULL), TSR_NOT_SUPPORTED);
    tsr_plan_destroy(plan);
    tsr_sparse_destroy(a);
}

/* ---- versions and representations ---- */

enum { WIDE = 200 };

typedef struct banded {
    int64_t offsets[WIDE + 1], indices[3 * WIDE];
    double values[3 * WIDE];
    tsr_sparse *a;
} banded;

/* By columns: column j holds rows j, j + 1, j + 2 (modulo WIDE) with values 1, 2, 3 times scale. */
static void set_values(banded *m, double scale)
{
    for (int k = 0; k < 3 * WIDE; k++) {
        m->values[k] = scale * (1 + k % 3);
    }
}

static void make_banded(banded *m)
{
    for (int j = 0; j < WIDE; j++) {
        m->offsets[j] = 3 * j;
        for (int d = 0; d < 3; d++) {
            m->indices[3 * j + d] = (j + d) % WIDE;
        }
    }
    m->offsets[WIDE] = 3 * WIDE;
    set_values(m, 1);
    tsr_arrays arrays = {.index_type = TSR_INDEX_64, .offsets = m->offsets, .indices = m->indices, .type = TSR_FP64, .values = m->values};
    assert_int_equal(tsr_sparse_create_csc(&m->a, WIDE, WIDE, &arrays, 0), TSR_OK);
}

/* The same at another place; what was looked at before is spoilt. */
static tsr_status set_values_elsewhere(banded *m, double scale)
{
    static double elsewhere[2][3 * WIDE];
    double *to = elsewhere[(int)scale % 2];
    memcpy(to, m->values, sizeof m->values);
    memset(m->values, 0xff, sizeof m->values);
    memset(elsewhere[((int)scale + 1) % 2], 0xff, sizeof elsewhere[0]);
    return tsr_sparse_set_values(m->a, to);
}

static tsr_dense column_block(double *data, int64_t n)
{
    return (tsr_dense){.data = data, .type = TSR_FP64, .layout = TSR_ROW_MAJOR, .nrows = WIDE, .ncols = n, .ld = n};
}

/* C = op(A) B with B[r][c] = r; row r of A B is then scale (r + 2 (r - 1) + 3 (r - 2)), of A' B scale (r + 2 (r + 1) +
 * 3 (r + 2)), away from the wrap. */
static void expect_banded(const double *c, int64_t n, double scale, bool transpose)
{
    for (int r = 2; r < WIDE - 2; r++) {
        double expected = transpose ? scale * (6 * r + 8) : scale * (6 * r - 8);
        for (int64_t col = 0; col < n; col++) {
            assert_true(c[r * n + col] == expected);
        }
    }
}

static void values_changed_and_transposes(tsr_op op, int64_t n)
{
    enum { MOST = 24 };
    static banded m;
    static double b[WIDE * MOST], c[WIDE * MOST];
    tsr_plan *plan[2];
    tsr_dense db = column_block(b, n), dc = column_block(c, n);
    for (int k = 0; k < WIDE * n; k++) {
        b[k] = (double)(k / n);
    }
    make_banded(&m);
    assert_int_equal(tsr_sparse_hint(m.a, op, n, 1e9, TSR_PRECISION_EXACT, true), TSR_OK);
    for (int t = 0; t < 2; t++) {
        unsigned flags = t ? TSR_TRANSPOSE_A : 0;
        assert_int_equal(tsr_plan_create(&plan[t], op, tsr_default_semiring(TSR_FP64), m.a, &db, &dc, flags), TSR_OK);
        const char *why = strstr(tsr_plan_explain(plan[t]), "bytes: "); /* a reason follows */
        assert_non_null(strstr(tsr_plan_explain(plan[t]), "fp64"));
        assert_true(why && strlen(why) > strlen("bytes: "));
        assert_true(tsr_plan_predicted_ms(plan[t]) >= 0);
    }
    for (int round = 1; round <= 4; round++) {
        set_values(&m, round);
        assert_int_equal(round < 3 ? tsr_sparse_values_changed(m.a) : set_values_elsewhere(&m, round), TSR_OK);
        for (int t = 0; t < 4; t++) {
            assert_int_equal(tsr_execute(plan[t % 2], 1, m.a, &db, 0, &dc, NULL), TSR_OK);
            expect_banded(c, n, round, t % 2);
        }
    }
    /* representations were built, here or on the device, or this test shows little */
    assert_true(tsr_record_get_stats().bytes > 0 || strstr(tsr_plan_explain(plan[0]), "cuda:"));
    tsr_plan_destroy(plan[0]);
    tsr_plan_destroy(plan[1]);
    tsr_sparse_destroy(m.a);
    assert_int_equal(tsr_record_get_stats().bytes, 0);
}

/* A and its transpose want representations of the same orientation, which must not be mixed up. */
static void test_values_changed_and_transposes(void **state)
{
    (void)state;
    values_changed_and_transposes(TSR_OP_SPMM, 24);
    values_changed_and_transposes(TSR_OP_SPMV, 1);
}

static void test_copies_do_not_look_at_the_callers_arrays(void **state)
{
    (void)state;
    float b[4] = {1, 1, 1, 1}, c[3];
    tsr_arrays arrays = small_arrays();
    tsr_sparse *a = NULL;
    assert_int_equal(tsr_sparse_create_csr(&a, 3, 4, &arrays, TSR_COPY), TSR_OK);
    values[0] = 77;
    tsr_plan *plan;
    tsr_dense db = dense(b, 4, 1), dc = dense(c, 3, 1);
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMV, plus_times(), a, &db, &dc, 0), TSR_OK);
    assert_int_equal(tsr_execute(plan, 1, a, &db, 0, &dc, NULL), TSR_OK);
    assert_true(c[0] == 1);
    assert_int_equal(tsr_sparse_values_changed(a), TSR_INVALID_VALUE);
    assert_int_equal(tsr_sparse_set_values(a, values), TSR_INVALID_VALUE);
    tsr_plan_destroy(plan);
    tsr_sparse_destroy(a);
}

/* ---- threads ---- */

typedef struct shared_plan {
    const tsr_plan *plan;
    tsr_sparse *a;
    double *b;
} shared_plan;

static void *execute_often(void *argument)
{
    enum { N = 5 };
    shared_plan *s = argument;
    static _Thread_local double c[WIDE * N];
    tsr_dense db = column_block(s->b, N), dc = column_block(c, N);
    bool good = true;
    for (int k = 0; k < 50; k++) {
        memset(c, 0xff, sizeof c);
        good = good && tsr_execute(s->plan, 1, s->a, &db, 0, &dc, NULL) == TSR_OK;
        for (int r = 2; r < WIDE - 2; r++) {
            good = good && c[r * N] == 6 * r - 8 && c[r * N + 4] == 6 * r - 8;
        }
    }
    return good ? NULL : argument;
}

static void test_one_plan_many_threads(void **state)
{
    (void)state;
    enum { N = 5 };
    static banded m;
    static double b[WIDE * N];
    make_banded(&m);
    for (int k = 0; k < WIDE * N; k++) {
        b[k] = k / N;
    }
    tsr_plan *plan;
    tsr_dense shape = column_block(NULL, N);
    assert_int_equal(tsr_sparse_hint(m.a, TSR_OP_SPMM, N, 1e9, TSR_PRECISION_EXACT, true), TSR_OK);
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMM, tsr_default_semiring(TSR_FP64), m.a, &shape, &shape, 0),
                     TSR_OK);
    shared_plan shared = {plan, m.a, b};
    assert_int_equal(run_threads(4, execute_often, &shared, 0), 0);
    tsr_plan_destroy(plan);
    tsr_sparse_destroy(m.a);
}

/* ---- errors ---- */

static tsr_status create_with(int64_t nrows, int64_t ncols, tsr_arrays arrays, unsigned flags)
{
    tsr_sparse *a = NULL;
    tsr_status status = tsr_sparse_create_csr(&a, nrows, ncols, &arrays, flags);
    assert_true(status == TSR_OK || a == NULL);
    tsr_sparse_destroy(a);
    return status;
}

static void test_create_refuses_wrong_arrays(void **state)
{
    (void)state;
    static const int64_t not_zero[] = {1, 1, 1, 3}, falling[] = {0, 2, 1, 3}, negative[] = {0, -1, 1, 3};
    static const int64_t too_large[] = {1, 0, 4}, below[] = {1, -1, 2};
    static const uint32_t offsets32[] = {0, 1, 1, 3}, wide32[] = {1, 0, UINT32_MAX};
    const tsr_arrays good = small_arrays();
    tsr_arrays bad = good;
    assert_int_equal(create_with(3, 4, good, 0), TSR_OK);
    assert_int_equal(tsr_sparse_create_csr(NULL, 3, 4, &good, 0), TSR_INVALID_VALUE);
    tsr_sparse *a;
    assert_int_equal(tsr_sparse_create_csr(&a, 3, 4, NULL, 0), TSR_INVALID_VALUE);
    assert_int_equal(create_with(-1, 4, good, 0), TSR_INVALID_VALUE);
    assert_int_equal(create_with(3, -4, good, 0), TSR_INVALID_VALUE);
    assert_int_equal(create_with(3, INT64_MAX, good, 0), TSR_INVALID_VALUE);
    assert_int_equal(create_with(3, 4, good, 64), TSR_INVALID_VALUE);
    assert_int_equal(create_with(3, 2, good, 0), TSR_INVALID_VALUE);
    const int64_t *const wrong_offsets[] = {not_zero, falling, negative, NULL};
    for (int k = 0; k < 4; k++) {
        bad.offsets = wrong_offsets[k];
        assert_int_equal(create_with(3, 4, bad, 0), TSR_INVALID_VALUE);
    }
    bad = good;
    const int64_t *const wrong_indices[] = {too_large, below, NULL};
    for (int k = 0; k < 3; k++) {
        bad.indices = wrong_indices[k];
        assert_int_equal(create_with(3, 4, bad, 0), TSR_INVALID_VALUE);
    }
    bad = (tsr_arrays){.index_type = TSR_INDEX_32, .offsets = offsets32, .indices = wide32, .type = TSR_FP32, .values = values};
    assert_int_equal(create_with(3, 4, bad, 0), TSR_INVALID_VALUE);
    bad = good;
    bad.type = (tsr_type)TSR_TYPE_COUNT;
    assert_int_equal(create_with(3, 4, bad, 0), TSR_INVALID_VALUE);
    bad = good;
    bad.index_type = (tsr_index_type)2;
    assert_int_equal(create_with(3, 4, bad, 0), TSR_INVALID_VALUE);
}

static tsr_status plan_with(tsr_op op, tsr_semiring semiring, tsr_sparse *a, tsr_dense first, tsr_dense second,
                            unsigned flags)
{
    tsr_plan *plan = NULL;
    tsr_status status = tsr_plan_create(&plan, op, semiring, a, &first, &second, flags);
    assert_true((status == TSR_OK) == (plan != NULL));
    tsr_plan_destroy(plan);
    return status;
}

static void test_plan_refuses_wrong_arguments(void **state)
{
    (void)state;
    tsr_sparse *a = small_matrix(0);
    tsr_plan *plan;
    const tsr_semiring s = plus_times();
    const tsr_dense b = dense(NULL, 4, 2), c = dense(NULL, 3, 2), x = dense(NULL, 3, 5), y = dense(NULL, 5, 4);
    tsr_dense short_ld = c, other_type = c, layout = c;
    short_ld.ld = 1;
    other_type.type = TSR_FP64;
    layout.layout = (tsr_layout)9;
    assert_int_equal(plan_with(TSR_OP_SPMM, s, a, b, c, 0), TSR_OK);
    assert_int_equal(plan_with(TSR_OP_SDDMM, s, a, x, y, 0), TSR_OK);
    assert_int_equal(tsr_plan_create(NULL, TSR_OP_SPMM, s, a, &b, &c, 0), TSR_INVALID_VALUE);
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMM, s, NULL, &b, &c, 0), TSR_INVALID_VALUE);
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMM, s, a, NULL, &c, 0), TSR_INVALID_VALUE);
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMM, s, a, &b, NULL, 0), TSR_INVALID_VALUE);
    assert_int_equal(plan_with((tsr_op)17, s, a, b, c, 0), TSR_INVALID_VALUE);
    assert_int_equal(plan_with(TSR_OP_SPMM, s, a, b, c, 1u << 10), TSR_INVALID_VALUE);
    assert_int_equal(plan_with(TSR_OP_SPMM, s, a, b, short_ld, 0), TSR_INVALID_VALUE);
    assert_int_equal(plan_with(TSR_OP_SPMM, s, a, b, other_type, 0), TSR_INVALID_VALUE);
    assert_int_equal(plan_with(TSR_OP_SPMM, s, a, b, layout, 0), TSR_INVALID_VALUE);
    assert_int_equal(plan_with(TSR_OP_SPMM, (tsr_semiring){TSR_BOOL, TSR_ADD_PLUS, TSR_MUL_AND}, a, b, c, 0),
                     TSR_INVALID_VALUE);
    assert_int_equal(plan_with(TSR_OP_SPMM, (tsr_semiring){TSR_FP32, TSR_ADD_LOR, TSR_MUL_AND}, a, b, c, 0),
                     TSR_INVALID_VALUE);
    assert_int_equal(plan_with(TSR_OP_SDDMM, s, a, x, y, TSR_TRANSPOSE_A), TSR_INVALID_VALUE);
    assert_int_equal(plan_with(TSR_OP_SPMM, s, a, c, b, 0), TSR_DIMENSION_MISMATCH);
    assert_int_equal(plan_with(TSR_OP_SPMM, s, a, b, c, TSR_TRANSPOSE_A), TSR_DIMENSION_MISMATCH);
    assert_int_equal(plan_with(TSR_OP_SPMV, s, a, b, c, 0), TSR_DIMENSION_MISMATCH);
    assert_int_equal(plan_with(TSR_OP_SDDMM, s, a, y, x, 0), TSR_DIMENSION_MISMATCH);
    assert_int_equal(plan_with(TSR_OP_MASKED_DOT, s, a, b, c, 0), TSR_NOT_SUPPORTED);
    tsr_sparse_destroy(a);
}

static void test_execute_refuses_wrong_arguments(void **state)
{
    (void)state;
    float b[8] = {0}, c[6] = {0}, edge[3];
    tsr_sparse *a = small_matrix(0), *other = small_matrix(0);
    tsr_plan *plan, *sddmm, *tropical;
    tsr_dense db = dense(b, 4, 2), dc = dense(c, 3, 2), wrong = dense(c, 2, 3), none = dense(NULL, 3, 2);
    tsr_dense x = dense(c, 3, 2), y = by_column(b);
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMM, plus_times(), a, &db, &dc, 0), TSR_OK);
    assert_int_equal(tsr_plan_create(&sddmm, TSR_OP_SDDMM, plus_times(), a, &x, &y, 0), TSR_OK);
    assert_int_equal(tsr_plan_create(&tropical, TSR_OP_SPMM, (tsr_semiring){TSR_FP32, TSR_ADD_MIN, TSR_MUL_PLUS}, a,
                                     &db, &dc, 0),
                     TSR_OK);
    assert_int_equal(tsr_execute(NULL, 1, a, &db, 0, &dc, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_execute(plan, 1, NULL, &db, 0, &dc, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_execute(plan, 1, other, &db, 0, &dc, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_execute(plan, 1, a, NULL, 0, &dc, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_execute(plan, 1, a, &db, 0, &wrong, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_execute(plan, 1, a, &db, 0, &none, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_execute(plan, 1, a, &db, 0, &dc, b), TSR_NOT_SUPPORTED);
    assert_int_equal(tsr_execute(sddmm, 1, a, &db, 0, &dc, NULL), TSR_NOT_SUPPORTED);
    assert_int_equal(tsr_execute(tropical, 2, a, &db, 0, &dc, NULL), TSR_NOT_SUPPORTED);
    assert_int_equal(tsr_execute(tropical, 1, a, &db, 1, &dc, NULL), TSR_NOT_SUPPORTED);
    assert_int_equal(tsr_execute_sddmm(plan, 1, &x, &y, 0, a, edge, NULL), TSR_NOT_SUPPORTED);
    assert_int_equal(tsr_execute_sddmm(sddmm, 1, &x, &y, 0, a, NULL, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_execute_sddmm(sddmm, 1, &y, &x, 0, a, edge, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_execute_sddmm(sddmm, 1, &x, &y, 0, a, edge, NULL), TSR_OK);
    tsr_plan_destroy(plan);
    tsr_plan_destroy(sddmm);
    tsr_plan_destroy(tropical);
    tsr_sparse_destroy(a);
    tsr_sparse_destroy(other);
}

/* ---- operands that overlap ---- */

static float pool[64];

static tsr_dense in_pool(int at, int64_t nrows, int64_t ncols, int64_t ld)
{
    return (tsr_dense){.data = pool + at, .type = TSR_FP32, .layout = TSR_ROW_MAJOR, .nrows = nrows, .ncols = ncols, .ld = ld};
}

/* A refused call changes nothing. */
static tsr_status overlapping(tsr_op op, tsr_sparse *a, tsr_dense b, tsr_dense c)
{
    tsr_plan *plan;
    for (int k = 0; k < 64; k++)
        pool[k] = (float)k;
    assert_int_equal(tsr_plan_create(&plan, op, plus_times(), a, &b, &c, 0), TSR_OK);
    tsr_status status = tsr_execute(plan, 1, a, &b, 0, &c, NULL);
    for (int k = 0; k < 64 && status != TSR_OK; k++)
        assert_true(pool[k] == (float)k);
    tsr_plan_destroy(plan);
    return status;
}

static void test_c_overlaps_b(void **state)
{
    (void)state;
    tsr_sparse *a = small_matrix(0);
    const tsr_dense b = in_pool(8, 4, 2, 2), wide = in_pool(8, 4, 2, 8);
    assert_int_equal(overlapping(TSR_OP_SPMM, a, b, in_pool(8, 3, 2, 2)), TSR_INVALID_VALUE);
    assert_int_equal(overlapping(TSR_OP_SPMM, a, b, in_pool(3, 3, 2, 2)), TSR_INVALID_VALUE);
    assert_int_equal(overlapping(TSR_OP_SPMM, a, b, in_pool(2, 3, 2, 2)), TSR_OK);
    assert_int_equal(overlapping(TSR_OP_SPMM, a, b, in_pool(15, 3, 2, 2)), TSR_INVALID_VALUE);
    assert_int_equal(overlapping(TSR_OP_SPMM, a, b, in_pool(16, 3, 2, 2)), TSR_OK);
    assert_int_equal(overlapping(TSR_OP_SPMM, a, b, in_pool(4, 3, 2, 10)), TSR_INVALID_VALUE);
    assert_int_equal(overlapping(TSR_OP_SPMM, a, wide, in_pool(33, 3, 2, 2)), TSR_INVALID_VALUE);
    assert_int_equal(overlapping(TSR_OP_SPMM, a, wide, in_pool(34, 3, 2, 2)), TSR_OK);
    assert_int_equal(overlapping(TSR_OP_SPMV, a, in_pool(8, 4, 1, 1), in_pool(11, 3, 1, 1)), TSR_INVALID_VALUE);
    assert_int_equal(overlapping(TSR_OP_SPMV, a, in_pool(8, 4, 1, 1), in_pool(12, 3, 1, 1)), TSR_OK);
    tsr_sparse_destroy(a);
}

/* Blocks of one matrix of 8 columns. */
static void test_c_beside_b(void **state)
{
    (void)state;
    tsr_sparse *a = small_matrix(0);
    for (int at = 0; at < 24; at++) {
        const bool apart = at % 8 == 0 || at % 8 >= 4; /* from columns 2 and 3 */
        assert_int_equal(overlapping(TSR_OP_SPMM, a, in_pool(10, 4, 2, 8), in_pool(at, 3, 2, 8)), apart ? TSR_OK : TSR_INVALID_VALUE);
    }
    assert_int_equal(overlapping(TSR_OP_SPMM, a, in_pool(10, 4, 2, 8), in_pool(12, 3, 2, 8)), TSR_OK);
    assert_true(pool[12] == 18 && pool[13] == 19 && pool[20] == 0 && pool[28] == 2 * 10 + 3 * 26 && pool[14] == 14 && pool[36] == 36);
    assert_int_equal(overlapping(TSR_OP_SPMV, a, in_pool(10, 4, 1, 8), in_pool(11, 3, 1, 8)), TSR_OK);
    assert_int_equal(overlapping(TSR_OP_SPMV, a, in_pool(10, 4, 1, 8), in_pool(18, 3, 1, 8)), TSR_INVALID_VALUE);
    tsr_sparse_destroy(a);
}

/* C is array number `which` of A, whose elements all have 8 bytes. */
static tsr_status written_over(int which, unsigned flags)
{
    static int64_t p[16], i[16];
    static double x[16], zeros[8];
    void *const arrays[] = {p, i, x};
    memcpy(p, offsets, sizeof offsets);
    memcpy(i, columns, sizeof columns);
    tsr_sparse *a;
    tsr_plan *plan;
    const tsr_arrays in = {.index_type = TSR_INDEX_64, .offsets = p, .indices = i, .type = TSR_FP64, .values = x};
    const tsr_dense b = {.data = zeros, .type = TSR_FP64, .nrows = 4, .ncols = 2, .ld = 2};
    const tsr_dense c = {.data = arrays[which], .type = TSR_FP64, .nrows = 3, .ncols = 2, .ld = 2};
    assert_int_equal(tsr_sparse_create_csr(&a, 3, 4, &in, flags), TSR_OK);
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMM, tsr_default_semiring(TSR_FP64), a, &b, &c, 0), TSR_OK);
    const tsr_status status = tsr_execute(plan, 1, a, &b, 0, &c, NULL);
    assert_int_equal(memcmp(p, offsets, sizeof offsets) || memcmp(i, columns, sizeof columns), flags && which < 2);
    tsr_plan_destroy(plan);
    tsr_sparse_destroy(a);
    return status;
}

static void test_c_overlaps_an_array_of_a(void **state)
{
    (void)state;
    for (int which = 0; which < 3; which++) {
        assert_int_equal(written_over(which, 0), TSR_INVALID_VALUE);
        assert_int_equal(written_over(which, TSR_COPY), TSR_OK);
    }
}

static void test_sddmm_overlaps(void **state)
{
    (void)state;
    float x[6] = {1, 1, 1, 1, 1, 1}, y[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    tsr_sparse *s = small_matrix(0);
    tsr_plan *plan;
    tsr_dense dx = dense(x, 3, 2), dy = by_column(y);
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SDDMM, plus_times(), s, &dx, &dy, 0), TSR_OK);
    assert_int_equal(tsr_execute_sddmm(plan, 1, &dx, &dy, 0, s, x, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_execute_sddmm(plan, 1, &dx, &dy, 0, s, x + 3, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_execute_sddmm(plan, 1, &dx, &dy, 0, s, y + 5, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_execute_sddmm(plan, 1, &dx, &dy, 0, s, (void *)columns, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_execute_sddmm(plan, 1, &dx, &dy, 0, s, (char *)offsets + 20, NULL), TSR_INVALID_VALUE);
    assert_true(x[0] == 1 && y[7] == 1);
    assert_int_equal(tsr_execute_sddmm(plan, 1, &dx, &dy, 0, s, values, NULL), TSR_OK);
    assert_true(values[0] == 2 && values[1] == 2 && values[2] == 2);
    tsr_plan_destroy(plan);
    tsr_sparse_destroy(s);
}

/* ---- softmax of rows ---- */

static tsr_status softmax_plan(tsr_plan **plan, tsr_sparse *s, tsr_type type, const tsr_dense *x, const tsr_dense *y)
{
    *plan = NULL;
    return tsr_plan_create(plan, TSR_OP_SDDMM, (tsr_semiring){type, TSR_ADD_PLUS, TSR_MUL_TIMES}, s, x, y, TSR_SOFTMAX_ROWS);
}

/* One attention layer, C = softmax(S .* (X Y)) V, by hand; the values of the row with one entry become 1, large ones do not overflow. */
static void test_attention_by_hand(void **state)
{
    (void)state;
    float x[6] = {1, 0, 0, 0, 300, 2}, y[8] = {0, 5, 1, 0, 0.5f, 0, 1, 1}, weights[3] = {7, 7, 7}, v[4] = {1, 10, 100, 1000}, c[3];
    tsr_dense dx = dense(x, 3, 2), dy = by_column(y), dv = dense(v, 4, 1), dc = dense(c, 3, 1);
    tsr_sparse *s = small_matrix(0), *attention;
    tsr_plan *plan;
    assert_int_equal(softmax_plan(&plan, s, TSR_FP32, &dx, &dy), TSR_OK);
    assert_int_equal(tsr_execute_sddmm(plan, 1, &dx, &dy, 0, s, weights, NULL), TSR_OK);
    tsr_plan_destroy(plan);
    double first = 10, second = 300 * 0.5; /* entries (2, 0) and (2, 2) of X Y */
    double share = exp(first - second) / (1 + exp(first - second));
    assert_true(weights[0] == 1);
    assert_true(fabs(weights[1] - share) <= 1e-6 && fabs(weights[2] - (1 - share)) <= 1e-6);
    tsr_arrays arrays = {.index_type = TSR_INDEX_64, .offsets = offsets, .indices = columns, .type = TSR_FP32, .values = weights};
    assert_int_equal(tsr_sparse_create_csr(&attention, 3, 4, &arrays, 0), TSR_OK);
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMM, plus_times(), attention, &dv, &dc, 0), TSR_OK);
    assert_int_equal(tsr_execute(plan, 1, attention, &dv, 0, &dc, NULL), TSR_OK);
    assert_true(c[0] == 10 && c[1] == 0 && fabs(c[2] - 100) <= 1e-4);
    tsr_plan_destroy(plan);
    tsr_sparse_destroy(attention);
    tsr_sparse_destroy(s);
}

static void test_softmax_is_refused(void **state)
{
    (void)state;
    tsr_dense x = dense(NULL, 3, 2), y = by_column(NULL);
    tsr_plan *plan;
    tsr_sparse *s = small_matrix(0), *by_col;
    assert_int_equal(softmax_plan(&plan, s, TSR_INT32, &x, &y), TSR_NOT_SUPPORTED);
    assert_int_equal(plan_with(TSR_OP_SPMM, plus_times(), s, dense(NULL, 4, 2), dense(NULL, 3, 2), TSR_SOFTMAX_ROWS),
                     TSR_INVALID_VALUE);
    tsr_sparse_destroy(s);
    tsr_arrays arrays = {.index_type = TSR_INDEX_64, .offsets = (int64_t[]){0, 0, 0, 0, 1}, .indices = (int64_t[]){2}, .type = TSR_FP32};
    assert_int_equal(tsr_sparse_create_csc(&by_col, 3, 4, &arrays, 0), TSR_OK);
    assert_int_equal(softmax_plan(&plan, by_col, TSR_FP32, &x, &y), TSR_NOT_SUPPORTED);
    tsr_sparse_destroy(by_col);
}

static void test_small_functions(void **state)
{
    (void)state;
    int64_t nrows, ncols, nvals;
    char version[32];
    tsr_sparse *a = small_matrix(0);
    assert_int_equal(tsr_sparse_size(a, &nrows, &ncols, &nvals), TSR_OK);
    assert_true(nrows == 3 && ncols == 4 && nvals == 3);
    assert_int_equal(tsr_sparse_size(a, NULL, NULL, NULL), TSR_OK);
    assert_int_equal(tsr_sparse_size(NULL, NULL, NULL, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_sparse_hint(NULL, TSR_OP_SPMM, 1, 1, TSR_PRECISION_EXACT, true), TSR_INVALID_VALUE);
    assert_int_equal(tsr_sparse_hint(a, TSR_OP_SPMM, -1, 1, TSR_PRECISION_EXACT, true), TSR_INVALID_VALUE);
    assert_int_equal(tsr_sparse_hint(a, TSR_OP_SPMM, 1, NAN, TSR_PRECISION_EXACT, true), TSR_INVALID_VALUE);
    assert_int_equal(tsr_sparse_hint(a, TSR_OP_SPMM, 1, 1, (tsr_precision)7, true), TSR_INVALID_VALUE);
    assert_int_equal(tsr_sparse_values_changed(NULL), TSR_INVALID_VALUE);
    tsr_sparse_destroy(a);
    tsr_sparse_destroy(NULL);
    tsr_plan_destroy(NULL);
    assert_string_equal(tsr_plan_explain(NULL), "");
    assert_int_equal(tsr_plan_bytes(NULL), 0);
    assert_true(tsr_plan_predicted_ms(NULL) < 0);
    snprintf(version, sizeof version, "%d.%d.%d", TESSERA_VERSION_MAJOR, TESSERA_VERSION_MINOR, TESSERA_VERSION_PATCH);
    assert_string_equal(tsr_version(), version);
    for (int status = -8; status <= 1; status++) {
        assert_true(strlen(tsr_status_string((tsr_status)status)) > 3);
    }
    assert_int_equal(tsr_set_option("mode", "nonsense"), TSR_INVALID_VALUE);
    assert_int_equal(tsr_set_option("nonsense", "1"), TSR_INVALID_VALUE);
    assert_int_equal(tsr_set_option(NULL, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_set_option("mode", "cpu"), TSR_OK);
}

/* Two communities of rows, numbered in turns: the order parts them, and cuts keep to their bounds. */
static void test_row_order(void **state)
{
    (void)state;
    enum { N = 64, PARTS = 5 };
    static int32_t p[N + 1], i[N * 8];
    int64_t order[N], begins[PARTS + 1], changes = 0;
    bool seen[N] = {false};
    for (int r = 0; r < N; r++) {
        p[r + 1] = p[r] + 8;
        for (int k = 0; k < 8; k++) {
            i[p[r] + k] = 2 * ((r / 2 + 4 * k) % (N / 2)) + r % 2;
        }
    }
    const tsr_arrays arrays = {.index_type = TSR_INDEX_32, .offsets = p, .indices = i, .type = TSR_FP32};
    tsr_sparse *a, *by_col;
    assert_int_equal(tsr_sparse_create_csr(&a, N, N, &arrays, 0), TSR_OK);
    assert_int_equal(tsr_sparse_row_order(a, order), TSR_OK);
    for (int r = 0; r < N; r++) {
        assert_in_range(order[r], 0, N - 1);
        assert_false(seen[order[r]]);
        seen[order[r]] = true;
        changes += r > 0 && order[r] % 2 != order[r - 1] % 2;
    }
    assert_true(changes < N / 4); /* as numbered: N - 1 */
    assert_int_equal(tsr_sparse_cut_rows(a, order, PARTS, begins), TSR_OK);
    assert_int_equal(begins[0], 0);
    assert_int_equal(begins[PARTS], N);
    for (int k = 0; k < PARTS; k++) {
        assert_in_range(begins[k + 1] - begins[k], 1, 2 * N / PARTS + 1);
    }
    assert_int_equal(tsr_sparse_cut_rows(a, NULL, 0, begins), TSR_INVALID_VALUE);
    assert_int_equal(tsr_sparse_row_order(a, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_sparse_create_csc(&by_col, N, N, &arrays, 0), TSR_OK);
    assert_int_equal(tsr_sparse_row_order(by_col, order), TSR_NOT_SUPPORTED);
    assert_int_equal(tsr_sparse_cut_rows(by_col, NULL, 2, begins), TSR_NOT_SUPPORTED);
    tsr_sparse_destroy(by_col);
    tsr_sparse_destroy(a);
}

/* Device memory where no device may be used: an error in words, at creation and of plans. */
static void test_no_device(void **state)
{
    (void)state;
    assert_int_equal(tsr_set_option("mode", "cpu"), TSR_OK);
    tsr_arrays arrays = small_arrays();
    tsr_sparse *a = small_matrix(0), *none = NULL;
    tsr_plan *plan = NULL;
    tsr_dense b = dense(values, 4, 2), c = dense(values, 3, 2);
    arrays.memory = b.memory = TSR_MEMORY_DEVICE;
    assert_int_equal(tsr_sparse_create_csr(&none, 3, 4, &arrays, 0), TSR_NOT_SUPPORTED);
    assert_non_null(strstr(tsr_last_error(), "device memory, but mode is cpu"));
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMM, plus_times(), a, &b, &c, 0), TSR_NOT_SUPPORTED);
    assert_non_null(strstr(tsr_last_error(), "device memory, but mode is cpu"));
    b.memory = (tsr_memory_space)9;
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMM, plus_times(), a, &b, &c, 0), TSR_INVALID_VALUE);
    assert_null(none);
    assert_null(plan);
    tsr_sparse_destroy(a);
}

static void test_disabled_operation(void **state)
{
    (void)state;
    tsr_sparse *a = small_matrix(0);
    assert_int_equal(tsr_set_option("disable", "spmm"), TSR_OK);
    assert_int_equal(plan_with(TSR_OP_SPMM, plus_times(), a, dense(NULL, 4, 2), dense(NULL, 3, 2), 0),
                     TSR_NOT_SUPPORTED);
    assert_int_equal(tsr_set_option("disable", ""), TSR_OK);
    assert_int_equal(plan_with(TSR_OP_SPMM, plus_times(), a, dense(NULL, 4, 2), dense(NULL, 3, 2), 0), TSR_OK);
    tsr_sparse_destroy(a);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spmm_equals_loops),
        cmocka_unit_test(test_spmv_equals_loops),
        cmocka_unit_test(test_sddmm_equals_loops),
        cmocka_unit_test(test_small_product_by_hand),
        cmocka_unit_test(test_beta_zero_never_reads_c),
        cmocka_unit_test(test_zeros_are_positive),
        cmocka_unit_test(test_values_changed_and_transposes),
        cmocka_unit_test(test_copies_do_not_look_at_the_callers_arrays),
        cmocka_unit_test(test_one_plan_many_threads),
        cmocka_unit_test(test_create_refuses_wrong_arrays),
        cmocka_unit_test(test_plan_refuses_wrong_arguments),
        cmocka_unit_test(test_execute_refuses_wrong_arguments),
        cmocka_unit_test(test_c_overlaps_b),
        cmocka_unit_test(test_c_beside_b),
        cmocka_unit_test(test_c_overlaps_an_array_of_a),
        cmocka_unit_test(test_sddmm_overlaps),
        cmocka_unit_test(test_attention_by_hand),
        cmocka_unit_test(test_epilogue_by_hand),
        cmocka_unit_test(test_epilogue_is_refused),
        cmocka_unit_test(test_softmax_is_refused),
        cmocka_unit_test(test_small_functions),
        cmocka_unit_test(test_row_order),
        cmocka_unit_test(test_no_device),
        cmocka_unit_test(test_disabled_operation),
    };
    only_seed = argc == 3 && strcmp(argv[1], "--seed") == 0 ? strtoull(argv[2], NULL, 10) : 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
