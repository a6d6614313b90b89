/* Batches of the native door against products one by one, over small whole numbers, which are added exactly.
 *   test_native_batch [device [number]]
 * device: all arrays of the batches in device memory; number: 1 is device 0.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/runtime/backends.h"
#include "test/device_number.h"
#include "test/unit/seeded.h"
#include "tessera/device.h"

enum { MOST = 24, PRODUCTS = 9, CASES = 300, ROOM = 40000 };
static int64_t offsets[MOST + 1], indices[MOST * MOST];
static int64_t values[ROOM], first[ROOM], second[ROOM], expected[ROOM]; /* of any type: 8 bytes at most */

static const tsr_type types[] = {TSR_FP32, TSR_FP64, TSR_FC32, TSR_INT32};

static size_t size_of(tsr_type type)
{
    return type == TSR_FP32 || type == TSR_INT32 ? 4 : 8;
}

static void fill(void *x, tsr_type type, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        const int number = (int)draw(9) - 4;
        if (type == TSR_FP64) {
            ((double *)x)[k] = number;
        } else if (type == TSR_INT32) {
            ((int32_t *)x)[k] = number;
        } else if (type == TSR_FP32) {
            ((float *)x)[k] = (float)number;
        } else {
            ((float *)x)[2 * k] = (float)number;
            ((float *)x)[2 * k + 1] = (float)draw(5);
        }
    }
}

static int64_t draw_pattern(int64_t nrows, int64_t ncols)
{
    int64_t nvals = 0;
    const int64_t one_in = 1 + draw(5);
    for (int64_t r = 0; r < nrows; r++) {
        offsets[r] = nvals;
        for (int64_t c = 0; c < ncols; c++) {
            if (draw(one_in) == 0) {
                indices[nvals++] = c;
            }
        }
    }
    offsets[nrows] = nvals;
    return nvals;
}

/* ---- arrays in device memory: the first four as the host has them ---- */

static const tsr_backend_device *device; /* NULL: they are in host memory */
static void *there[4];                   /* values, first, second; offsets and indices */

static void copy(void *on_device, void *host, size_t bytes, bool to_device)
{
    const tsr_device_copy c = {on_device, host, bytes, bytes, bytes, 1, to_device, NULL};
    assert_int_equal(device->copy(&c), TSR_OK);
}

static void upload_all(void)
{
    void *const host[] = {values, first, second};
    for (int k = 0; device && k < 3; k++) {
        copy(there[k], host[k], sizeof values, true);
    }
}

/* The batch's operand, which the host has at `data`. */
static tsr_dense place(const tsr_dense *d)
{
    tsr_dense placed = *d;
    if (device) {
        placed.data = d->data == (void *)first ? there[1] : there[2];
        placed.memory = TSR_MEMORY_DEVICE;
    }
    return placed;
}

static void take_back(int k, void *host)
{
    if (device) {
        copy(there[k], host, sizeof values, false);
    }
}

/* The same numbers; of zeros any sign. */
static void check_same(const void *found, const void *wanted, tsr_type type)
{
    const int64_t count = ROOM * 8 / (type == TSR_FP64 ? 8 : 4);
    for (int64_t k = 0; device && k < count; k++) {
        assert_true(type == TSR_FP64  ? ((const double *)found)[k] == ((const double *)wanted)[k]
                    : type == TSR_INT32 ? ((const int32_t *)found)[k] == ((const int32_t *)wanted)[k]
                                        : ((const float *)found)[k] == ((const float *)wanted)[k]);
    }
    if (!device) {
        assert_memory_equal(found, wanted, ROOM * 8);
    }
}

/* Whose values the batch has. */
static tsr_sparse *whole_matrix(int64_t nrows, int64_t ncols, tsr_type type)
{
    tsr_arrays arrays = {.index_type = TSR_INDEX_64, .offsets = offsets, .indices = indices, .type = type, .values = values};
    tsr_sparse *a;
    if (device) {
        copy(there[3], offsets, sizeof offsets, true);
        copy((char *)there[3] + sizeof offsets, indices, sizeof indices, true);
        arrays.offsets = there[3];
        arrays.indices = (char *)there[3] + sizeof offsets;
        arrays.values = there[0];
        arrays.memory = TSR_MEMORY_DEVICE;
    }
    assert_int_equal(tsr_sparse_create_csr(&a, nrows, ncols, &arrays, 0), TSR_OK);
    return a;
}

static tsr_sparse *matrix(int64_t nrows, int64_t ncols, tsr_type type, int64_t further)
{
    const tsr_arrays arrays = {.index_type = TSR_INDEX_64, .offsets = offsets, .indices = indices, .type = type,
                               .values = (char *)values + (size_t)further * size_of(type)};
    tsr_sparse *a;
    assert_int_equal(tsr_sparse_create_csr(&a, nrows, ncols, &arrays, 0), TSR_OK);
    return a;
}

/* One operand of all products: one after the other with a gap, or side by side. */
static tsr_dense draw_dense(void *data, tsr_type type, int64_t nrows, int64_t ncols, int64_t count, int64_t *stride)
{
    tsr_dense d = {.data = data, .type = type, .layout = draw(2) ? TSR_COL_MAJOR : TSR_ROW_MAJOR, .nrows = nrows, .ncols = ncols};
    const bool by_col = d.layout == TSR_COL_MAJOR, beside = draw(2);
    const int64_t length = by_col ? nrows : ncols, vectors = by_col ? ncols : nrows;
    d.ld = length * (beside && !by_col && count > 0 ? count : 1) + draw(3);
    *stride = beside ? (by_col ? vectors * d.ld : length) : vectors * d.ld + draw(5);
    return d;
}

static tsr_dense part(const tsr_dense *d, void *data, int64_t further)
{
    tsr_dense moved = *d;
    moved.data = (char *)data + (size_t)further * size_of(d->type);
    return moved;
}

static void one_product(void)
{
    static const double scalars[] = {1, 0, 2, -1};
    const tsr_type type = types[draw(4)];
    const bool integers = type == TSR_INT32, transposed = draw(2);
    const int64_t rows = draw(MOST), columns = draw(MOST), n = 1 + draw(6), count = draw(PRODUCTS);
    const int64_t nvals = draw_pattern(rows, columns), values_stride = draw(2) ? 0 : nvals + draw(4);
    const double alpha = integers ? 1 : scalars[draw(4)], beta = integers ? 0 : scalars[draw(4)];
    tsr_batch batch = {.count = count, .values_stride = values_stride};
    const tsr_dense b = draw_dense(first, type, transposed ? rows : columns, n, count, &batch.first_stride);
    const tsr_dense c = draw_dense(second, type, transposed ? columns : rows, n, count, &batch.second_stride);
    fill(values, type, nvals + 8 * (nvals + 4));
    fill(first, type, ROOM / 2);
    fill(second, type, ROOM / 2);
    memcpy(expected, second, sizeof expected);
    batch.first_stride = draw(5) ? batch.first_stride : 0;
    upload_all();
    tsr_sparse *a = whole_matrix(rows, columns, type);
    tsr_plan *plan;
    const tsr_dense all_b = place(&b), all_c = place(&c);
    assert_int_equal(tsr_sparse_hint(a, TSR_OP_SPMM, n, 100, TSR_PRECISION_EXACT, true), TSR_OK);
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMM, tsr_default_semiring(type), a, &all_b, &all_c, transposed ? TSR_TRANSPOSE_A : 0), TSR_OK);
    for (int64_t q = 0; q < count; q++) {
        tsr_sparse *own = matrix(rows, columns, type, q * values_stride);
        tsr_plan *single;
        const tsr_dense from = part(&b, first, q * batch.first_stride), to = part(&c, expected, q * batch.second_stride);
        assert_int_equal(tsr_plan_create(&single, TSR_OP_SPMM, tsr_default_semiring(type), own, &from, &to, transposed ? TSR_TRANSPOSE_A : 0), TSR_OK);
        assert_int_equal(tsr_execute(single, alpha, own, &from, beta, &to, NULL), TSR_OK);
        tsr_plan_destroy(single);
        tsr_sparse_destroy(own);
    }
    for (int again = 0; again < (beta == 0 ? 2 : 1); again++) {
        assert_int_equal(tsr_execute_batch(plan, alpha, a, &all_b, beta, &all_c, &batch, NULL), TSR_OK);
        take_back(2, second);
        check_same(second, expected, type);
    }
    tsr_plan_destroy(plan);
    tsr_sparse_destroy(a);
}

static void with_threads(void (*run)(void))
{
    for (int threads = 1; threads < 5; threads += 2) {
        assert_int_equal(tsr_set_threads(threads), TSR_OK);
        for (int k = 0; k < CASES / 2; k++) {
            run();
        }
    }
    assert_int_equal(tsr_set_threads(0), TSR_OK);
}

static void test_products(void **state)
{
    (void)state;
    with_threads(one_product);
}

static void one_sampled(void)
{
    const tsr_type type = types[draw(2)];
    const int64_t rows = draw(MOST), columns = draw(MOST), k = 1 + draw(6), count = draw(PRODUCTS), nvals = draw_pattern(rows, columns);
    tsr_batch batch = {.count = count, .values_stride = nvals + draw(4)};
    const tsr_dense x = draw_dense(first, type, rows, k, count, &batch.first_stride);
    const tsr_dense y = draw_dense(second, type, k, columns, count, &batch.second_stride);
    const double alpha = (double)(1 + draw(2)), beta = (double)draw(2);
    batch.second_stride = draw(4) ? batch.second_stride : 0;
    fill(first, type, ROOM / 2);
    fill(second, type, ROOM / 2);
    fill(values, type, ROOM / 2);
    memcpy(expected, values, sizeof expected);
    upload_all();
    tsr_sparse *s = matrix(rows, columns, type, 0);
    tsr_plan *plan, *single;
    const tsr_dense all_x = place(&x), all_y = place(&y);
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SDDMM, tsr_default_semiring(type), s, &all_x, &all_y, 0), TSR_OK);
    assert_int_equal(tsr_plan_create(&single, TSR_OP_SDDMM, tsr_default_semiring(type), s, &x, &y, 0), TSR_OK);
    for (int64_t q = 0; q < count; q++) {
        const tsr_dense xq = part(&x, first, q * batch.first_stride), yq = part(&y, second, q * batch.second_stride);
        assert_int_equal(tsr_execute_sddmm(single, alpha, &xq, &yq, beta, s, (char *)expected + (size_t)(q * batch.values_stride) * size_of(type), NULL),
                         TSR_OK);
    }
    assert_int_equal(tsr_execute_sddmm_batch(plan, alpha, &all_x, &all_y, beta, s, device ? there[0] : values, &batch, NULL), TSR_OK);
    take_back(0, values);
    check_same(values, expected, type);
    tsr_plan_destroy(plan);
    tsr_plan_destroy(single);
    tsr_sparse_destroy(s);
}

static void test_sampled(void **state)
{
    (void)state;
    with_threads(one_sampled);
}

/* ---- what is refused ---- */

static void test_refused(void **state)
{
    (void)state;
    draw_pattern(3, 3);
    fill(values, TSR_FP64, ROOM);
    tsr_sparse *a = matrix(3, 3, TSR_FP64, 0), *copies, *ones;
    const tsr_arrays arrays = {.index_type = TSR_INDEX_64, .offsets = offsets, .indices = indices, .type = TSR_FP64, .values = values};
    tsr_arrays pattern = arrays;
    tsr_dense b = {.data = first, .type = TSR_FP64, .nrows = 3, .ncols = 2, .ld = 2}, c = b, among = b;
    tsr_plan *plan, *of_copies, *of_ones;
    pattern.values = NULL;
    c.data = second;
    among.data = first + 10;
    assert_int_equal(tsr_sparse_create_csr(&copies, 3, 3, &arrays, TSR_COPY), TSR_OK);
    assert_int_equal(tsr_sparse_create_csr(&ones, 3, 3, &pattern, 0), TSR_OK);
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMM, tsr_default_semiring(TSR_FP64), a, &b, &c, 0), TSR_OK);
    assert_int_equal(tsr_plan_create(&of_copies, TSR_OP_SPMM, tsr_default_semiring(TSR_FP64), copies, &b, &c, 0), TSR_OK);
    assert_int_equal(tsr_plan_create(&of_ones, TSR_OP_SPMM, tsr_default_semiring(TSR_FP64), ones, &b, &c, 0), TSR_OK);
    const tsr_batch good = {3, 9, 6, 6}, overlap = {3, 0, 6, 5}, negative = {3, 0, -1, 6}, huge = {INT64_MAX, 0, 6, 6}, close = {3, 1, 6, 6},
                    many = {INT64_C(1) << 40, 0, 0, 0}, no_product = {0, 0, 0, 0}, less = {-1, 0, 6, 6}, one = {1, 0, 0, 0};
    assert_int_equal(tsr_execute_batch(plan, 1, a, &b, 0, &c, NULL, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_execute_batch(NULL, 1, a, &b, 0, &c, &good, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_execute_batch(plan, 1, a, &b, 0, &c, &overlap, NULL), TSR_INVALID_VALUE);
    assert_string_equal(tsr_last_error(), "batch->second_stride = 5: C of product 1 overlaps the first one");
    assert_int_equal(tsr_execute_batch(plan, 1, a, &b, 0, &c, &negative, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_execute_batch(plan, 1, a, &b, 0, &c, &less, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_execute_batch(plan, 1, a, &b, 0, &c, &huge, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_execute_batch(plan, 1, a, &b, 0, &c, &many, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_execute_batch(plan, 1, a, &b, 0, &c, &close, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_execute_batch(plan, 1, a, &b, 0, &among, &good, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_execute_batch(of_copies, 1, copies, &b, 0, &c, &good, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_execute_batch(of_ones, 1, ones, &b, 0, &c, &good, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_execute_batch(plan, 1, a, &b, 0, &c, &no_product, NULL), TSR_OK);
    assert_int_equal(tsr_execute_batch(plan, 1, a, &b, 0, &c, &one, NULL), TSR_OK);
    assert_int_equal(tsr_execute_sddmm_batch(plan, 1, &b, &c, 0, a, values, &good, NULL), TSR_NOT_SUPPORTED);
    tsr_plan_destroy(plan);
    tsr_plan_destroy(of_copies);
    tsr_plan_destroy(of_ones);
    tsr_sparse_destroy(a);
    tsr_sparse_destroy(copies);
    tsr_sparse_destroy(ones);
}

/* 77 without one. */
static int main_on_device(const char *which)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(test_products, set_seed), cmocka_unit_test_setup(test_sampled, set_seed)};
    const tsr_backend *gpu = tsr_backend_gpu();
    if (!gpu || !gpu->device || !take_device_number(gpu->device, which)) {
        printf("no device\n");
        return 77;
    }
    device = gpu->device;
    for (int k = 0; k < 4; k++) {
        assert_int_equal(device->allocate(&there[k], sizeof values + sizeof offsets, device_number), TSR_OK);
    }
    const int failed = cmocka_run_group_tests(tests, tell_seed, NULL);
    for (int k = 0; k < 4; k++) {
        device->release(there[k]);
    }
    return failed;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "device") == 0) {
        return main_on_device(argc > 2 ? argv[2] : NULL);
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(test_products, set_seed), cmocka_unit_test_setup(test_sampled, set_seed),
                                       cmocka_unit_test_setup(test_refused, set_seed)};
    return cmocka_run_group_tests(tests, tell_seed, NULL);
}
