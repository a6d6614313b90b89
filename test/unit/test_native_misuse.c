/* The native door called wrongly: hundreds of random calls of every function, none of which crashes, writes an output it should not, or fails
 * without a sentence.
 *   test_native_misuse [seed | device]
 * device: what is right lies in the memory of the plug-in that is loaded, and pointers are checked.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/runtime/backends.h"
#include "test/threads.h"
#include "tessera/attention.h"
#include "tessera/device.h"
#include "tessera/spgemm.h"

enum { CALLS = 400, N = 3 };
static uint64_t seed = 1, state_of_random;
static int failures, successes;

static uint64_t below(uint64_t n)
{
    state_of_random = state_of_random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state_of_random >> 33) % n;
}

static uint64_t one_in = 6; /* the more arguments a function has, the rarer each is wrong */

static bool rarely(void)
{
    return below(one_in) == 0;
}

/* Counts, and looks at the sentence of a failure. */
static bool judge(tsr_status status)
{
    if (status == TSR_OK) {
        successes++;
        return true;
    }
    failures++;
    assert_in_range(-status, 1, 6);
    assert_true(strlen(tsr_last_error()) > 8);
    return false;
}

/* ---- arguments: mostly right, now and then wrong ---- */

static const int64_t right_offsets[N + 1] = {0, 1, 1, 3}, falling_offsets[N + 1] = {0, 2, 1, 3}, late_offsets[N + 1] = {1, 1, 2, 3};
static const int64_t right_indices[] = {1, 0, 2}, wild_indices[] = {1, -1, INT64_C(1) << 40};
enum { ROOM = 4 * N * N + 16, ARRAYS = 6 };                                /* of the largest type */
static float host_arrays[ARRAYS][ROOM];
static float *values = host_arrays[0], *b = host_arrays[1], *c = host_arrays[2], *q = host_arrays[3], *o = host_arrays[4], *gradient = host_arrays[5];
static tsr_memory_space memory = TSR_MEMORY_HOST; /* of these */

static int64_t any_size(int64_t right)
{
    static const int64_t wrong[] = {-1, INT64_MIN, INT64_MAX, (INT64_C(1) << 60) + 1};
    return rarely() ? wrong[below(4)] : right;
}

static int any_enumerator(int right, int count)
{
    static const int wrong[] = {-1, 99, INT32_MAX, INT32_MIN};
    return !rarely() ? right : below(3) ? (int)below((uint64_t)count) : wrong[below(4)];
}

static unsigned any_flags(unsigned right)
{
    static const unsigned wrong[] = {1u << 7, 1u << 31, 64, ~31u};
    return rarely() ? wrong[below(4)] : right;
}

static tsr_arrays any_arrays(void)
{
    return (tsr_arrays){.index_type = (tsr_index_type)(rarely() ? 7 : TSR_INDEX_64),
                        .offsets = !rarely() ? right_offsets : below(2) ? falling_offsets : below(2) ? late_offsets : NULL,
                        .indices = !rarely() ? right_indices : below(2) ? wild_indices : NULL,
                        .type = (tsr_type)(!rarely() ? TSR_FP32 : below(2) ? 42 : TSR_FC64),
                        .values = rarely() ? NULL : host_arrays[0],
                        .memory = (tsr_memory_space)(!rarely() ? TSR_MEMORY_HOST : below(2) ? 5 : TSR_MEMORY_DEVICE),
                        .index_base = rarely() ? (int)below(4) - 1 : 0};
}

static tsr_dense any_dense(float *data)
{
    return (tsr_dense){.data = rarely() ? NULL : data, .type = (tsr_type)any_enumerator(TSR_FP32, TSR_FC64 + 1),
                       .layout = (tsr_layout)any_enumerator(TSR_ROW_MAJOR, 2), .nrows = any_size(N), .ncols = any_size(N),
                       .ld = rarely() ? (int64_t)below(3) - 1 : any_size(N), .memory = (tsr_memory_space)any_enumerator(memory, 2)};
}

static tsr_semiring any_semiring(void)
{
    return (tsr_semiring){(tsr_type)any_enumerator(TSR_FP32, TSR_FC64 + 1), (tsr_add)any_enumerator(TSR_ADD_PLUS, TSR_ADD_COUNT),
                          (tsr_mul)any_enumerator(TSR_MUL_TIMES, TSR_MUL_COUNT)};
}

static tsr_sparse *right_matrix(void)
{
    const tsr_arrays arrays = {.index_type = TSR_INDEX_64, .offsets = right_offsets, .indices = right_indices, .type = TSR_FP32, .values = host_arrays[0]};
    tsr_sparse *a;
    assert_int_equal(tsr_sparse_create_csr(&a, N, N, &arrays, 0), TSR_OK);
    return a;
}

static tsr_dense right_dense(float *data)
{
    return (tsr_dense){.data = data, .type = TSR_FP32, .nrows = N, .ncols = N, .ld = N, .memory = memory};
}

/* ---- functions ---- */

static void misuse_create(void)
{
    const tsr_arrays arrays = any_arrays();
    tsr_sparse *const before = (tsr_sparse *)&arrays;
    tsr_sparse *a = before;
    const unsigned flags = any_flags(below(2) ? TSR_COPY : 0);
    const int64_t nrows = any_size(N), ncols = any_size(N);
    tsr_sparse **out = rarely() ? NULL : &a;
    const tsr_arrays *in = rarely() ? NULL : &arrays;
    if (judge(below(2) ? tsr_sparse_create_csr(out, nrows, ncols, in, flags) : tsr_sparse_create_csc(out, nrows, ncols, in, flags))) {
        tsr_sparse_destroy(a);
    } else {
        assert_ptr_equal(a, before);
    }
}

static void misuse_forms(void)
{
    const int64_t rows[] = {1, 2, rarely() ? -1 : 2}, columns[] = {1, 0, rarely() ? INT64_C(1) << 40 : 2};
    const tsr_arrays arrays = any_arrays();
    const tsr_coordinates entries = {.index_type = arrays.index_type, .nvals = any_size(3), .rows = rarely() ? NULL : rows,
                                     .columns = rarely() ? NULL : columns, .type = arrays.type, .values = arrays.values, .memory = arrays.memory,
                                     .index_base = arrays.index_base};
    const tsr_blocks blocks = {.index_type = arrays.index_type, .height = any_size(1), .width = any_size(1), .offsets = arrays.offsets,
                               .indices = arrays.indices, .type = arrays.type, .values = arrays.values,
                               .layout = (tsr_layout)any_enumerator(TSR_ROW_MAJOR, 2), .memory = arrays.memory, .index_base = arrays.index_base};
    tsr_sparse *const before = (tsr_sparse *)(uintptr_t)&arrays;
    tsr_sparse *a = before, **out = rarely() ? NULL : &a;
    const bool good = below(2) ? judge(tsr_sparse_create_coo(out, any_size(N), any_size(N), rarely() ? NULL : &entries))
                               : judge(tsr_sparse_create_bsr(out, any_size(N), any_size(N), rarely() ? NULL : &blocks));
    if (good) {
        tsr_sparse_destroy(a);
    } else {
        assert_ptr_equal(a, before);
    }
}

static void misuse_matrix(void)
{
    tsr_sparse *a = right_matrix(), *given = rarely() ? NULL : a;
    int64_t size, order[N], begins[N + 1];
    judge(tsr_sparse_size(given, rarely() ? NULL : &size, NULL, &size));
    judge(tsr_sparse_values_changed(given));
    judge(tsr_sparse_set_values(given, rarely() ? NULL : host_arrays[0]));
    judge(tsr_sparse_hint(given, (tsr_op)any_enumerator(TSR_OP_SPMM, TSR_OP_COUNT), any_size(4), rarely() ? NAN : rarely() ? -1.0 : 10.0,
                          (tsr_precision)any_enumerator(TSR_PRECISION_EXACT, 4), true));
    judge(tsr_sparse_row_order(given, rarely() ? NULL : order));
    judge(tsr_sparse_cut_rows(given, NULL, rarely() ? -(int64_t)below(2) : N, rarely() ? NULL : begins));
    tsr_sparse_destroy(a);
}

static void misuse_plan(void)
{
    tsr_sparse *a = right_matrix();
    const tsr_dense first = any_dense(b), second = any_dense(c);
    tsr_plan *const before = (tsr_plan *)a;
    tsr_plan *plan = before;
    if (judge(tsr_plan_create(rarely() ? NULL : &plan, (tsr_op)any_enumerator(TSR_OP_SPMM, TSR_OP_COUNT), any_semiring(), rarely() ? NULL : a,
                              rarely() ? NULL : &first, rarely() ? NULL : &second, any_flags((unsigned)below(16) & ~(unsigned)TSR_SOFTMAX_ROWS)))) {
        static const char *const paths[] = {"/nowhere/at/all", "/dev/null", "/tmp", "/dev/zero"};
        const char *path = rarely() ? NULL : paths[below(4)];
        tsr_plan *loaded = NULL;
        assert_true(strlen(tsr_plan_explain(plan)) > 0);
        assert_true(tsr_plan_bytes(NULL) == 0 && tsr_plan_predicted_ms(NULL) < 0 && tsr_plan_predicted_ms(plan) < 1e9);
        judge(tsr_plan_save(rarely() ? NULL : plan, path && below(2) ? paths[0] : path));
        assert_false(judge(tsr_plan_load(&loaded, a, path)) || loaded);
        judge(tsr_plan_set_workspace(rarely() ? NULL : plan, b, below(100)));
        tsr_plan_destroy(plan);
    } else {
        assert_ptr_equal(plan, before);
    }
    tsr_sparse_destroy(a);
}

static void misuse_execute(void)
{
    static const double scalars[] = {1, 0, -2, NAN, INFINITY};
    tsr_sparse *a = right_matrix(), *other = right_matrix();
    const bool sddmm = below(2);
    const tsr_dense shape = right_dense(b);
    tsr_plan *plan;
    assert_int_equal(tsr_plan_create(&plan, sddmm ? TSR_OP_SDDMM : TSR_OP_SPMM, tsr_default_semiring(TSR_FP32), a, &shape, &shape, 0), TSR_OK);
    const tsr_dense first = below(3) ? right_dense(b) : any_dense(b), second = below(3) ? right_dense(c) : any_dense(below(2) ? c : b);
    const tsr_plan *given_plan = rarely() ? NULL : plan;
    tsr_sparse *given = rarely() ? NULL : rarely() ? other : a;
    const tsr_dense *given_first = rarely() ? NULL : &first, *given_second = rarely() ? NULL : &second;
    const double alpha = scalars[below(5)], beta = scalars[below(5)];
    void *stream = memory == TSR_MEMORY_HOST && rarely() ? b : NULL; /* with device memory nobody can tell that it is none */
    const tsr_batch batch = {any_size(1), any_size(3), any_size(N * N), any_size(N * N)}, *given_batch = rarely() ? NULL : &batch;
    if (below(2)) {
        judge(sddmm == !rarely() ? tsr_execute_sddmm_batch(given_plan, alpha, given_first, given_second, beta, given, rarely() ? NULL : values, given_batch, stream)
                                 : tsr_execute_batch(given_plan, alpha, given, given_first, beta, given_second, given_batch, stream));
    } else if (sddmm == !rarely()) {
        judge(tsr_execute_sddmm(given_plan, alpha, given_first, given_second, beta, given, rarely() ? NULL : rarely() ? b : values, stream));
    } else {
        const tsr_complex by = {alpha, below(3) ? 0 : 1}, and_by = {beta, below(3) ? 0 : 1};
        const tsr_epilogue epilogue = {rarely() ? c : b, (tsr_activation)any_enumerator(TSR_ACTIVATION_RELU, 2)};
        judge(tsr_execute_fused(given_plan, alpha, given, given_first, beta, given_second, rarely() ? NULL : &epilogue, stream));
        judge(below(2) ? tsr_execute(given_plan, alpha, given, given_first, beta, given_second, stream)
                       : tsr_execute_complex(given_plan, by, given, given_first, and_by, given_second, stream));
    }
    tsr_plan_destroy(plan);
    tsr_sparse_destroy(a);
    tsr_sparse_destroy(other);
}

/* With operands in device memory or in the host's; into device memory only where there is one. */
static void misuse_device_product(const tsr_spgemm_plan *plan)
{
    const bool there = memory == TSR_MEMORY_DEVICE;
    judge(tsr_spgemm_execute_device(rarely() ? NULL : plan, (tsr_index_type)(rarely() ? 9 : TSR_INDEX_64), rarely() ? NULL : rarely() && there ? host_arrays[1] : b,
                                    rarely() ? NULL : c, rarely() ? NULL : o, NULL));
}

static void misuse_sparse_product(void)
{
    tsr_sparse *a = right_matrix(), *product = NULL;
    tsr_spgemm_plan *plan = NULL;
    int64_t offsets[N + 1] = {0}, indices[N * N] = {0}, size;
    double entries[2 * N * N];
    if (judge(tsr_spgemm_plan_create(rarely() ? NULL : &plan, any_semiring(), rarely() ? NULL : a, rarely() ? NULL : a, any_flags((unsigned)below(32))))) {
        const tsr_spgemm_plan *given = rarely() ? NULL : plan;
        judge(tsr_spgemm_plan_size(given, NULL, &size, rarely() ? NULL : &size));
        judge(tsr_spgemm_execute_new(given, rarely() ? NULL : &product));
        judge(tsr_spgemm_execute_values(given, rarely() ? NULL : entries));
        assert_true(tsr_spgemm_plan_work(NULL) == 0 && tsr_spgemm_plan_work(plan) > 0);
        assert_true(strlen(tsr_spgemm_plan_explain(plan)) > 0);
        tsr_spgemm_plan_destroy(plan);
        tsr_sparse_destroy(product);
    }
    assert_int_equal(tsr_spgemm_plan_create(&plan, tsr_default_semiring(TSR_FP32), a, a, 0), TSR_OK);
    judge(tsr_spgemm_execute(rarely() ? NULL : plan, (tsr_index_type)(rarely() ? 9 : TSR_INDEX_64), rarely() ? NULL : offsets,
                             rarely() ? NULL : indices, rarely() ? NULL : entries));
    misuse_device_product(plan);
    judge(tsr_spgemm_plan_pattern(rarely() ? NULL : plan, (tsr_index_type)(rarely() ? 9 : TSR_INDEX_64), rarely() ? NULL : offsets,
                                  rarely() ? NULL : indices));
    tsr_spgemm_plan_destroy(plan);
    tsr_sparse_destroy(a);
}

static tsr_heads any_heads(float *data)
{
    return (tsr_heads){.data = rarely() ? NULL : data, .type = (tsr_type)any_enumerator(TSR_FP32, TSR_FC64 + 1), .rows = any_size(N), .heads = any_size(1),
                       .width = any_size(N), .ld = rarely() ? (int64_t)below(3) - 1 : any_size(N), .head_stride = any_size(0),
                       .memory = (tsr_memory_space)any_enumerator(memory, 2)};
}

static void misuse_attention(void)
{
    float *lse = gradient + N * N;
    tsr_sparse *a = right_matrix();
    tsr_attention_plan *plan = NULL, *right;
    const tsr_heads good = {.data = q, .type = TSR_FP32, .rows = N, .heads = 1, .width = N, .ld = N, .memory = memory};
    const tsr_heads first = any_heads(q), second = any_heads(b), third = any_heads(c), out = any_heads(rarely() ? q : o);
    const tsr_heads slope = any_heads(gradient);
    if (judge(tsr_attention_plan_create(rarely() ? NULL : &plan, rarely() ? NULL : a, rarely() ? NULL : &first, &second, &third,
                                        rarely() ? NULL : &out, any_flags((unsigned)below(2))))) {
        assert_true(strlen(tsr_attention_plan_explain(plan)) > 0);
        tsr_attention_plan_destroy(plan);
    }
    assert_int_equal(tsr_attention_plan_create(&right, a, &good, &good, &good, &good, TSR_ATTENTION_BACKWARD), TSR_OK);
    const tsr_attention_plan *given = rarely() ? NULL : right;
    judge(tsr_attention_execute(given, rarely() ? NAN : 1, rarely() ? NULL : &first, &second, &third, rarely() ? NULL : &out, rarely() ? o : lse,
                                memory == TSR_MEMORY_HOST && rarely() ? b : NULL));
    judge(tsr_attention_backward(given, 1, &first, &second, &third, rarely() ? NULL : &out, rarely() ? NULL : lse, rarely() ? NULL : &first,
                                 rarely() ? &second : &slope, NULL, NULL, NULL));
    tsr_attention_plan_destroy(right);
    tsr_sparse_destroy(a);
}

static void misuse_settings(void)
{
    static const char *const names[] = {"mode", "min_work", "nonsense", "", "device", "check_pointers"};
    static const char *const settings[] = {"cpu", "1", "-1", "", "all of it"};
    judge(tsr_set_threads((int)below(4) - 2));
    judge(tsr_set_option(rarely() ? NULL : names[below(6)], rarely() ? NULL : settings[below(5)]));
    assert_int_equal(tsr_set_option("mode", "cpu"), TSR_OK);
    assert_int_equal(tsr_set_threads(0), TSR_OK);
    assert_true(strlen(tsr_status_string((tsr_status)any_size(3))) > 3);
    assert_true(strlen(tsr_version()) > 3);
    assert_int_equal(tsr_plan_workspace_bytes(NULL), 0);
    assert_false(tsr_plan_is_asynchronous(NULL));
    tsr_plan_destroy(NULL);
    tsr_attention_plan_destroy(NULL);
    assert_false(tsr_attention_plan_is_asynchronous(NULL));
    tsr_sparse_destroy(NULL);
}

/* CALLS calls, some of which fail. */
static void often(void (*misuse)(void), uint64_t rate)
{
    one_in = rate;
    state_of_random = seed;
    failures = successes = 0;
    for (int k = 0; k < CALLS; k++) {
        misuse();
    }
    printf("%d calls failed, %d did not\n", failures, successes);
    assert_true(failures > CALLS / 10 && successes > CALLS / 50);
}

static void test_create(void **state) { (void)state; often(misuse_create, 8); }
static void test_forms(void **state) { (void)state; often(misuse_forms, 16); }
static void test_matrix(void **state) { (void)state; often(misuse_matrix, 6); }
static void test_plan(void **state) { (void)state; often(misuse_plan, 24); }
static void test_execute(void **state) { (void)state; often(misuse_execute, 10); }
static void test_sparse_product(void **state) { (void)state; often(misuse_sparse_product, 12); }
static void test_attention(void **state) { (void)state; often(misuse_attention, 60); }
static void test_settings(void **state) { (void)state; often(misuse_settings, 6); }

/* ---- sentences ---- */

static void test_sentences_name_argument_and_value(void **state)
{
    (void)state;
    tsr_sparse *a = right_matrix(), *none;
    tsr_arrays arrays = {.index_type = TSR_INDEX_64, .offsets = falling_offsets, .indices = right_indices, .type = TSR_FP32};
    assert_int_equal(tsr_sparse_create_csr(&none, -5, N, &arrays, 0), TSR_INVALID_VALUE);
    assert_string_equal(tsr_last_error(), "nrows = -5 is not in 0 to 1152921504606846976");
    assert_int_equal(tsr_sparse_create_csr(&none, N, N, &arrays, 0), TSR_INVALID_VALUE);
    assert_string_equal(tsr_last_error(), "offsets[2] = 1 is less than 2, the one before");
    arrays.offsets = right_offsets;
    arrays.indices = wild_indices;
    assert_int_equal(tsr_sparse_create_csr(&none, N, N, &arrays, 0), TSR_INVALID_VALUE);
    assert_string_equal(tsr_last_error(), "indices[1] = -1 is not in 0 to 2");
    tsr_plan *plan;
    tsr_dense first = right_dense(b), second = right_dense(c);
    second.nrows = 7;
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMM, tsr_default_semiring(TSR_FP32), a, &first, &second, 0), TSR_DIMENSION_MISMATCH);
    assert_string_equal(tsr_last_error(), "second->nrows is 7, the number of rows of op(A) is 3");
    second.nrows = N;
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMM, tsr_default_semiring(TSR_FP32), a, &first, &second, 0), TSR_OK);
    second.ld = 2;
    assert_int_equal(tsr_execute(plan, 1, a, &first, 0, &second, NULL), TSR_INVALID_VALUE);
    assert_string_equal(tsr_last_error(), "c->ld = 2 is not in 3 to 9223372036854775807");
    tsr_plan_destroy(plan);
    tsr_sparse_destroy(a);
}

/* Each thread has its own. */
static void *fail_by_number(void *number)
{
    char expected[64];
    for (int k = 0; k < 200; k++) {
        const int value = -1 - (int)(intptr_t)number - 16 * k;
        snprintf(expected, sizeof expected, "threads = %d is negative", value);
        if (tsr_set_threads(value) != TSR_INVALID_VALUE || strcmp(tsr_last_error(), expected) != 0) {
            return (void *)(intptr_t)1;
        }
    }
    return NULL;
}

static void test_errors_belong_to_threads(void **state)
{
    (void)state;
    assert_int_equal(run_numbered_threads(8, fail_by_number), 0);
}

static void keep_message(void *context, const char *message)
{
    snprintf(context, 128, "%s", message);
}

static void test_log(void **state)
{
    char message[128] = "";
    (void)state;
    tsr_set_log(keep_message, message);
    assert_int_equal(tsr_sparse_size(NULL, NULL, NULL, NULL), TSR_INVALID_VALUE);
    assert_string_equal(message, "a is NULL");
    tsr_set_log(NULL, NULL);
    assert_int_equal(tsr_set_threads(-1), TSR_INVALID_VALUE);
    assert_string_equal(message, "a is NULL");
}

static void test_threads_change_nothing(void **state)
{
    (void)state;
    float one[N * N], three[N * N];
    tsr_sparse *a = right_matrix();
    tsr_plan *plan;
    tsr_dense first = right_dense(b), second = right_dense(one);
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMM, tsr_default_semiring(TSR_FP32), a, &first, &second, 0), TSR_OK);
    assert_int_equal(tsr_set_threads(1), TSR_OK);
    assert_int_equal(tsr_execute(plan, 1, a, &first, 0, &second, NULL), TSR_OK);
    assert_int_equal(tsr_set_threads(3), TSR_OK);
    second.data = three;
    assert_int_equal(tsr_execute(plan, 1, a, &first, 0, &second, NULL), TSR_OK);
    assert_memory_equal(one, three, sizeof one);
    assert_int_equal(tsr_set_threads(0), TSR_OK);
    tsr_plan_destroy(plan);
    tsr_sparse_destroy(a);
}

/* 77 without one. */
static int main_on_device(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plan), cmocka_unit_test(test_execute), cmocka_unit_test(test_sparse_product),
                                       cmocka_unit_test(test_attention)};
    float **const arrays[ARRAYS] = {&values, &b, &c, &q, &o, &gradient};
    const tsr_backend *gpu = tsr_backend_gpu();
    if (!gpu || !gpu->device || tsr_set_option("check_pointers", "1") != TSR_OK) {
        printf("no device\n");
        return 77;
    }
    memory = TSR_MEMORY_DEVICE;
    for (int k = 0; k < ARRAYS; k++) {
        void *there;
        assert_int_equal(gpu->device->allocate(&there, sizeof host_arrays[k], 0), TSR_OK);
        const tsr_device_copy copy = {there, host_arrays[k], sizeof host_arrays[k], sizeof host_arrays[k], sizeof host_arrays[k], 1, true, NULL};
        assert_int_equal(gpu->device->copy(&copy), TSR_OK);
        *arrays[k] = there;
    }
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int k = 0; k < ARRAYS; k++) {
        gpu->device->release(*arrays[k]);
    }
    return failed;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create), cmocka_unit_test(test_forms), cmocka_unit_test(test_matrix), cmocka_unit_test(test_plan), cmocka_unit_test(test_execute),
        cmocka_unit_test(test_settings), cmocka_unit_test(test_sparse_product), cmocka_unit_test(test_attention), cmocka_unit_test(test_sentences_name_argument_and_value),
        cmocka_unit_test(test_errors_belong_to_threads), cmocka_unit_test(test_log), cmocka_unit_test(test_threads_change_nothing),
    };
    for (int k = 0; k < N * N; k++) {
        values[k] = b[k] = (float)(k % 4);
    }
    if (argc > 1 && strcmp(argv[1], "device") == 0) {
        return main_on_device();
    }
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : seed;
    if (tsr_set_option("mode", "cpu") != TSR_OK) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
