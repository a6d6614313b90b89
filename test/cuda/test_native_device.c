/* The native door with arrays in device memory, on the device of the plug-in that is loaded: emulated, or a GPU.
 *   test_native_device [seed [number]]
 * number: of the device whose memory is meant, 1 is device 0.  The tests of two devices are skipped where there is one.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "src/base/number.h"
#include "src/runtime/backends.h"
#include "tessera/device.h"
#include "test/device_number.h"
#include "test/threads.h"
#include "test/unit/native_case.h"

static const tsr_backend_device *device;
static uint64_t seed = 1;

/* ---- random products, every array where it may be ---- */

static void run_cases(tsr_op op, int count)
{
    native_case_on_device = true;
    native_case_asynchronous = 0;
    for (int k = 0; k < count; k++) {
        char message[512] = "";
        if (!native_case_passes(op, seed + (uint64_t)k, message, sizeof message)) {
            fail_msg("seed %llu: %s", (unsigned long long)seed + (unsigned)k, message);
        }
    }
    printf("%d of %d only queue their work\n", native_case_asynchronous, count);
}

static void test_spmm(void **state)
{
    (void)state;
    run_cases(TSR_OP_SPMM, 500);
    assert_true(native_case_asynchronous > 50);
}

static void test_spmv(void **state)
{
    (void)state;
    run_cases(TSR_OP_SPMV, 300);
    assert_true(native_case_asynchronous > 30);
}

static void test_sddmm(void **state)
{
    (void)state;
    run_cases(TSR_OP_SDDMM, 400);
    assert_true(native_case_asynchronous > 15);
}

/* ---- one product: a band of three, 300 x 300, times 300 x 20 ---- */

enum { N = 300, COLUMNS = 20, LD = 23 };
static int32_t offsets[N + 1], columns[3 * N];
static float values[3 * N], b[N * LD], expected[N * COLUMNS];

static void *upload(const void *host, size_t bytes)
{
    void *p;
    assert_int_equal(device->allocate(&p, bytes, device_number), TSR_OK);
    const tsr_device_copy copy = {p, (void *)(uintptr_t)host, bytes, bytes, bytes, 1, true, NULL};
    assert_int_equal(device->copy(&copy), TSR_OK);
    return p;
}

static void download(void *host, void *there, size_t bytes)
{
    const tsr_device_copy copy = {there, host, bytes, bytes, bytes, 1, false, NULL};
    assert_int_equal(device->copy(&copy), TSR_OK);
}

static void make_band(void)
{
    int count = 0;
    for (int r = 0; r < N; r++) {
        for (int c = r > 0 ? r - 1 : 0; c <= r + 1 && c < N; c++) {
            columns[count] = c;
            values[count++] = (float)(1 + (r + c) % 7);
        }
        offsets[r + 1] = count;
    }
    for (int k = 0; k < N * LD; k++) {
        b[k] = (float)(k % 11 - 5);
    }
}

static void expect(double alpha)
{
    for (int r = 0; r < N; r++) {
        for (int j = 0; j < COLUMNS; j++) {
            float sum = 0;
            for (int e = offsets[r]; e < offsets[r + 1]; e++) {
                sum += values[e] * b[columns[e] * LD + j];
            }
            expected[r * COLUMNS + j] = (float)alpha * sum;
        }
    }
}

static tsr_dense there(void *data, int64_t ncols, int64_t ld)
{
    return (tsr_dense){.data = data, .type = TSR_FP32, .nrows = N, .ncols = ncols, .ld = ld, .memory = TSR_MEMORY_DEVICE};
}

typedef struct band {
    void *p, *i, *x, *b, *c; /* on the device */
    tsr_sparse *a;
    tsr_plan *plan;
    tsr_dense db, dc;
} band;

static band make_of(tsr_precision precision, unsigned flags)
{
    make_band();
    band t = {.p = upload(offsets, sizeof offsets), .i = upload(columns, sizeof columns), .x = upload(values, sizeof values),
              .b = upload(b, sizeof b), .c = upload(expected, sizeof expected)};
    const tsr_arrays arrays = {.index_type = TSR_INDEX_32, .offsets = t.p, .indices = t.i, .type = TSR_FP32, .values = t.x,
                               .memory = TSR_MEMORY_DEVICE};
    assert_int_equal(tsr_sparse_create_csr(&t.a, N, N, &arrays, 0), TSR_OK);
    assert_int_equal(tsr_sparse_hint(t.a, TSR_OP_SPMM, COLUMNS, 1e6, precision, true), TSR_OK);
    t.db = there(t.b, COLUMNS, LD);
    t.dc = there(t.c, COLUMNS, COLUMNS);
    assert_int_equal(tsr_plan_create(&t.plan, TSR_OP_SPMM, tsr_default_semiring(TSR_FP32), t.a, &t.db, &t.dc, flags), TSR_OK);
    assert_true(tsr_plan_is_asynchronous(t.plan));
    return t;
}

static band make(unsigned flags)
{
    return make_of(TSR_PRECISION_EXACT, flags);
}

static void drop(band *t)
{
    tsr_plan_destroy(t->plan);
    tsr_sparse_destroy(t->a);
    void *const arrays[] = {t->p, t->i, t->x, t->b, t->c};
    for (int k = 0; k < 5; k++) {
        device->release(arrays[k]);
    }
}

static void check(const band *t)
{
    static float found[N * COLUMNS];
    download(found, t->c, sizeof found);
    for (int k = 0; k < N * COLUMNS; k++) {
        assert_true(found[k] == expected[k]); /* small whole numbers: sums are exact */
    }
}

/* B of product q is B times q + 1; so is C, or (with values of its own, A times q + 1) C times (q + 1) squared. */
static void test_batch(void **state)
{
    enum { PRODUCTS = 5 };
    static float wide_b[PRODUCTS * N * LD], wide_values[PRODUCTS * 3 * N], found[PRODUCTS * N * COLUMNS];
    (void)state;
    band t = make(0);
    for (int q = 0; q < PRODUCTS; q++) {
        for (int k = 0; k < N * LD; k++) {
            wide_b[q * N * LD + k] = (float)(q + 1) * b[k];
        }
        for (int k = 0; k < 3 * N; k++) {
            wide_values[q * 3 * N + k] = (float)(q + 1) * values[k];
        }
    }
    expect(1);
    for (int own = 0; own < 2; own++) {
        void *const there_b = upload(wide_b, sizeof wide_b), *const there_c = upload(found, sizeof found);
        void *const there_x = upload(wide_values, sizeof wide_values);
        const tsr_arrays arrays = {.index_type = TSR_INDEX_32, .offsets = t.p, .indices = t.i, .type = TSR_FP32, .values = there_x,
                                   .memory = TSR_MEMORY_DEVICE};
        const tsr_batch batch = {PRODUCTS, own ? 3 * N : 0, N * LD, N * COLUMNS};
        const tsr_dense all_b = there(there_b, COLUMNS, LD), all_c = there(there_c, COLUMNS, COLUMNS);
        tsr_sparse *a;
        tsr_plan *plan;
        assert_int_equal(tsr_sparse_create_csr(&a, N, N, &arrays, 0), TSR_OK);
        assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMM, tsr_default_semiring(TSR_FP32), a, &all_b, &all_c, 0), TSR_OK);
        assert_int_equal(tsr_execute_batch(plan, 1, a, &all_b, 0, &all_c, &batch, NULL), TSR_OK);
        download(found, there_c, sizeof found);
        for (int k = 0; k < PRODUCTS * N * COLUMNS; k++) {
            const int q = k / (N * COLUMNS), times = own ? (q + 1) * (q + 1) : q + 1;
            assert_true(found[k] == (float)times * expected[k % (N * COLUMNS)]);
        }
        tsr_plan_destroy(plan);
        tsr_sparse_destroy(a);
        device->release(there_b);
        device->release(there_c);
        device->release(there_x);
    }
    drop(&t);
}

/* A panel holds one set of values: products with values of their own are csr's, and have its bits. */
static void test_batch_of_values_beside_a_panel(void **state)
{
    enum { PRODUCTS = 3 };
    static float own[PRODUCTS * 3 * N], found[PRODUCTS * N * COLUMNS], single[N * COLUMNS];
    (void)state;
    band t = make(0);
    for (int k = 0; k < PRODUCTS * 3 * N; k++) {
        own[k] = 1 / (float)(1 + k % 97);
    }
    void *const there_x = upload(own, sizeof own), *const there_c = upload(found, sizeof found);
    const tsr_arrays arrays = {.index_type = TSR_INDEX_32, .offsets = t.p, .indices = t.i, .type = TSR_FP32, .values = there_x,
                               .memory = TSR_MEMORY_DEVICE};
    const tsr_dense all = there(there_c, COLUMNS, COLUMNS);
    const tsr_batch batch = {PRODUCTS, 3 * N, 0, N * COLUMNS};
    tsr_sparse *a;
    tsr_plan *panel, *csr;
    assert_int_equal(tsr_sparse_create_csr(&a, N, N, &arrays, 0), TSR_OK);
    assert_int_equal(tsr_set_option("kernel", "panel"), TSR_OK);
    assert_int_equal(tsr_plan_create(&panel, TSR_OP_SPMM, tsr_default_semiring(TSR_FP32), a, &t.db, &all, 0), TSR_OK);
    assert_int_equal(tsr_set_option("kernel", "csr"), TSR_OK);
    assert_int_equal(tsr_plan_create(&csr, TSR_OP_SPMM, tsr_default_semiring(TSR_FP32), a, &t.db, &t.dc, 0), TSR_OK);
    assert_int_equal(tsr_set_option("kernel", ""), TSR_OK);
    assert_non_null(strstr(tsr_plan_explain(panel), "cuda:panel"));
    /* C may not lie on values of the last product. */
    const tsr_dense on_values = there((float *)there_x + (PRODUCTS * 3 - 1) * N, COLUMNS, COLUMNS);
    assert_int_equal(tsr_execute_batch(panel, 1, a, &t.db, 0, &on_values, &batch, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_execute_batch(panel, 1, a, &t.db, 0, &all, &batch, NULL), TSR_OK);
    download(found, there_c, sizeof found);
    for (int q = 0; q < PRODUCTS; q++) {
        assert_int_equal(tsr_sparse_set_values(a, (float *)there_x + q * 3 * N), TSR_OK);
        assert_int_equal(tsr_execute(csr, 1, a, &t.db, 0, &t.dc, NULL), TSR_OK);
        download(single, t.c, sizeof single);
        assert_memory_equal(single, found + q * N * COLUMNS, sizeof single);
    }
    tsr_plan_destroy(panel);
    tsr_plan_destroy(csr);
    tsr_sparse_destroy(a);
    device->release(there_x);
    device->release(there_c);
    drop(&t);
}

/* Queued as others are; elements that do not begin at multiples of their size go through the host. */
static void test_complex(void **state)
{
    (void)state;
    const int32_t p[] = {0, 1, 2}, i[] = {1, 0};
    const float x[] = {1, 2, 0, 1}, column[] = {1, 1, 3, 0}, wanted[] = {6, 3, 1, 1};
    float found[4];
    const tsr_arrays arrays = {.index_type = TSR_INDEX_32, .offsets = p, .indices = i, .type = TSR_FC32, .values = x};
    char *const far = upload((const float[]){0, 1, 1, 3, 0, 0}, 6 * sizeof(float));
    tsr_dense from = {.data = upload(column, sizeof column), .type = TSR_FC32, .nrows = 2, .ncols = 1, .ld = 1, .memory = TSR_MEMORY_DEVICE};
    tsr_dense to = from;
    tsr_sparse *a;
    tsr_plan *plan;
    to.data = upload(column, sizeof column);
    assert_int_equal(tsr_sparse_create_csr(&a, 2, 2, &arrays, 0), TSR_OK);
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMM, tsr_default_semiring(TSR_FC32), a, &from, &to, TSR_CONJUGATE_A), TSR_OK);
    assert_true(tsr_plan_is_asynchronous(plan));
    for (int shifted = 0; shifted < 2; shifted++) {
        tsr_dense placed = from;
        placed.data = shifted ? far + sizeof(float) : from.data;
        assert_int_equal(tsr_execute_complex(plan, (tsr_complex){0, 1}, a, &placed, (tsr_complex){0, 0}, &to, NULL), TSR_OK);
        download(found, to.data, sizeof found);
        /* i times conj (1 + 2i) 3 = 6 + 3i; i times conj (i) (1 + i) = 1 + i */
        for (int k = 0; k < 4; k++) {
            assert_true(found[k] == wanted[k]);
        }
    }
    tsr_plan_destroy(plan);
    tsr_sparse_destroy(a);
    device->release(from.data);
    device->release(to.data);
    device->release(far);
}

/* X by row or by column, softmax too, with the plan's workspace: as on the host. */
static void test_sampled(void **state)
{
    enum { K = 12 };
    static float x[N * K], y[N * K], on_host[3 * N], found[3 * N];
    (void)state;
    make_band();
    for (int k = 0; k < N * K; k++) {
        x[k] = (float)(k % 5 - 2);
        y[k] = (float)(k % 3) / 4;
    }
    const tsr_arrays arrays = {.index_type = TSR_INDEX_32, .offsets = offsets, .indices = columns, .type = TSR_FP32};
    void *there_x = upload(x, sizeof x), *there_y = upload(y, sizeof y), *there_v = upload(found, sizeof found), *workspace = upload(x, 1 << 16);
    for (int way = 0; way < 8; way++) {
        const tsr_layout of_x = way & 1 ? TSR_COL_MAJOR : TSR_ROW_MAJOR, of_y = way & 2 ? TSR_COL_MAJOR : TSR_ROW_MAJOR;
        tsr_dense dx = {.data = x, .type = TSR_FP32, .layout = of_x, .nrows = N, .ncols = K, .ld = way & 1 ? N : K};
        tsr_dense dy = {.data = y, .type = TSR_FP32, .layout = of_y, .nrows = K, .ncols = N, .ld = way & 2 ? K : N};
        tsr_sparse *s;
        tsr_plan *host, *plan;
        assert_int_equal(tsr_sparse_create_csr(&s, N, N, &arrays, 0), TSR_OK);
        const unsigned flags = way & 4 ? TSR_SOFTMAX_ROWS : 0;
        assert_int_equal(tsr_plan_create(&host, TSR_OP_SDDMM, tsr_default_semiring(TSR_FP32), s, &dx, &dy, flags), TSR_OK);
        const tsr_dense hx = dx, hy = dy;
        dx.data = there_x;
        dy.data = there_y;
        dx.memory = dy.memory = TSR_MEMORY_DEVICE;
        assert_int_equal(tsr_plan_create(&plan, TSR_OP_SDDMM, tsr_default_semiring(TSR_FP32), s, &dx, &dy, flags), TSR_OK);
        assert_true(tsr_plan_is_asynchronous(plan));
        assert_true(tsr_plan_workspace_bytes(plan) <= 1 << 16);
        assert_int_equal(tsr_plan_set_workspace(plan, workspace, 1 << 16), TSR_OK);
        for (int scalars = 0; scalars < 3; scalars++) { /* the old values are those of the last turn */
            const double alpha = scalars ? 0.5 : 1, beta = scalars == 2 ? 2 : 0;
            assert_int_equal(tsr_execute_sddmm(host, alpha, &hx, &hy, beta, s, on_host, NULL), TSR_OK);
            assert_int_equal(tsr_execute_sddmm(plan, alpha, &dx, &dy, beta, s, there_v, NULL), TSR_OK);
            download(found, there_v, sizeof found);
            for (int e = 0; e < offsets[N]; e++) {
                assert_true(fabsf(found[e] - on_host[e]) <= 1e-6f * (1 + fabsf(on_host[e])));
            }
        }
        tsr_plan_destroy(host);
        tsr_plan_destroy(plan);
        tsr_sparse_destroy(s);
    }
    void *const all[] = {there_x, there_y, there_v, workspace};
    for (int k = 0; k < 4; k++) {
        device->release(all[k]);
    }
}

/* Bias and activation as the kernel stores C, whatever kernel the plan has; C by column, too; one column through the host. */
static void test_epilogue(void **state)
{
    static float bias[COLUMNS], found[N * COLUMNS];
    (void)state;
    band t = make(TSR_BOUNDED_B);
    expect(2);
    for (int j = 0; j < COLUMNS; j++) {
        bias[j] = (float)(3 * j - 20);
    }
    void *there_bias = upload(bias, sizeof bias);
    for (int way = 0; way < 8; way++) {
        const bool by_col = way & 1, one = way & 2, with_bias = way & 4;
        const int64_t n = one ? 1 : COLUMNS;
        const tsr_dense from = there(t.b, n, LD);
        tsr_dense to = there(t.c, n, by_col ? N : n);
        tsr_plan *plan;
        to.layout = by_col ? TSR_COL_MAJOR : TSR_ROW_MAJOR;
        const tsr_epilogue epilogue = {with_bias ? there_bias : NULL, TSR_ACTIVATION_RELU};
        assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMM, tsr_default_semiring(TSR_FP32), t.a, &from, &to, 0), TSR_OK);
        assert_int_equal(tsr_execute_fused(plan, 2, t.a, &from, 0, &to, &epilogue, NULL), TSR_OK);
        download(found, t.c, (size_t)(N * n) * sizeof *found);
        for (int r = 0; r < N; r++) {
            for (int j = 0; j < n; j++) {
                const float sum = expected[r * COLUMNS + j] + (with_bias ? bias[j] : 0);
                assert_true(found[by_col ? j * N + r : r * n + j] == (sum > 0 ? sum : 0));
            }
        }
        tsr_plan_destroy(plan);
    }
    device->release(there_bias);
    drop(&t);
}

/* The file names the kernel, which is taken again. */
static void test_saved(void **state)
{
    (void)state;
    char path[] = "/tmp/tessera-device-plan-XXXXXX";
    const int file = mkstemp(path);
    band t = make(TSR_BOUNDED_B);
    tsr_plan *loaded;
    assert_true(file >= 0);
    assert_int_equal(tsr_plan_save(t.plan, path), TSR_OK);
    assert_int_equal(tsr_plan_load(&loaded, t.a, path), TSR_OK);
    assert_string_equal(tsr_plan_explain(loaded), tsr_plan_explain(t.plan));
    expect(1);
    assert_int_equal(tsr_execute(loaded, 1, t.a, &t.db, 0, &t.dc, NULL), TSR_OK);
    check(&t);
    tsr_plan_destroy(loaded);
    drop(&t);
    assert_int_equal(close(file), 0);
    assert_int_equal(unlink(path), 0);
}

static void test_values_change(void **state)
{
    (void)state;
    band t = make(0);
    assert_int_equal(tsr_execute(t.plan, 2.0, t.a, &t.db, 0.0, &t.dc, NULL), TSR_OK);
    expect(2.0);
    check(&t);
    for (int e = 0; e < offsets[N]; e++) {
        values[e] = (float)(e % 5);
    }
    const tsr_device_copy copy = {t.x, values, sizeof values, sizeof values, sizeof values, 1, true, NULL};
    assert_int_equal(device->copy(&copy), TSR_OK);
    assert_int_equal(tsr_sparse_values_changed(t.a), TSR_OK);
    assert_int_equal(tsr_execute(t.plan, 1.0, t.a, &t.db, 0.0, &t.dc, NULL), TSR_OK);
    expect(1.0);
    check(&t);
    for (int e = 0; e < offsets[N]; e++) {
        values[e] = (float)(e % 3);
    }
    void *elsewhere = upload(values, sizeof values);
    assert_int_equal(tsr_sparse_set_values(t.a, elsewhere), TSR_OK);
    assert_int_equal(tsr_execute(t.plan, 1.0, t.a, &t.db, 0.0, &t.dc, NULL), TSR_OK);
    expect(1.0);
    check(&t);
    /* csr reads them where they are; through the host they are those of the last time that somebody said so */
    assert_non_null(strstr(tsr_plan_explain(t.plan), "cuda:csr"));
    for (int e = 0; e < offsets[N]; e++) {
        values[e] = (float)(e % 7);
    }
    const tsr_device_copy later = {elsewhere, values, sizeof values, sizeof values, sizeof values, 1, true, NULL};
    assert_int_equal(device->copy(&later), TSR_OK);
    assert_int_equal(tsr_execute(t.plan, 3.0, t.a, &t.db, 0.0, &t.dc, NULL), TSR_OK);
    expect(3.0);
    check(&t);
    drop(&t);
    device->release(elsewhere);
}

/* C is added to, also by kernels for B of 16 bits. */
static void test_halves_are_added(void **state)
{
    (void)state;
    static const tsr_precision precisions[] = {TSR_PRECISION_FP16, TSR_PRECISION_BF16};
    for (int k = 0; k < 2; k++) {
        assert_int_equal(tsr_set_option("kernel", "csr"), TSR_OK);
        band t = make_of(precisions[k], TSR_BOUNDED_B);
        assert_int_equal(tsr_execute(t.plan, 2.0, t.a, &t.db, 0.0, &t.dc, NULL), TSR_OK);
        assert_int_equal(tsr_execute(t.plan, 3.0, t.a, &t.db, 4.0, &t.dc, NULL), TSR_OK);
        expect(11.0);
        check(&t);
        drop(&t);
        assert_int_equal(tsr_set_option("kernel", ""), TSR_OK);
    }
}

/* Every kernel by its name; those that must look at B, only where it is promised what B holds. */
static void test_kernels_by_name(void **state)
{
    static const char *const names[] = {"csr", "panel", "bmat", "hybrid", "hrpb", "me-tcf", "me-bcrs"};
    (void)state;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        for (unsigned bounded = 0; bounded < 2; bounded++) {
            assert_int_equal(tsr_set_option("kernel", names[k]), TSR_OK);
            band t = make(bounded ? TSR_BOUNDED_B : 0);
            const bool named = strstr(tsr_plan_explain(t.plan), names[k]) != NULL;
            assert_true(named || strcmp(names[k], "hybrid") == 0 || (!bounded && k > 1));
            assert_false(named && !bounded && k > 1);
            assert_int_equal(tsr_execute(t.plan, 1.0, t.a, &t.db, 0.0, &t.dc, NULL), TSR_OK);
            expect(1.0);
            check(&t);
            drop(&t);
        }
    }
    assert_int_equal(tsr_set_option("kernel", ""), TSR_OK);
}

/* ---- workspace: operands by column are turned there ---- */

static void test_workspace(void **state)
{
    (void)state;
    band t = make(0);
    tsr_plan *by_column;
    tsr_dense db = {.data = t.b, .type = TSR_FP32, .layout = TSR_COL_MAJOR, .nrows = N, .ncols = COLUMNS, .ld = N, .memory = TSR_MEMORY_DEVICE};
    tsr_dense dc = db;
    static float c[N * COLUMNS], first[N * COLUMNS];
    dc.data = t.c;
    assert_int_equal(tsr_plan_create(&by_column, TSR_OP_SPMM, tsr_default_semiring(TSR_FP32), t.a, &db, &dc, 0), TSR_OK);
    const size_t bytes = tsr_plan_workspace_bytes(by_column);
    assert_true(bytes >= 2 * sizeof c);
    assert_int_equal(tsr_execute(by_column, 1.0, t.a, &db, 0.0, &dc, NULL), TSR_OK);
    download(first, t.c, sizeof first);
    void *workspace = upload(b, bytes < sizeof b ? bytes : sizeof b), *enough;
    assert_int_equal(tsr_plan_set_workspace(by_column, workspace, bytes - 1), TSR_INVALID_VALUE);
    assert_non_null(strstr(tsr_last_error(), "the plan needs"));
    assert_int_equal(device->allocate(&enough, bytes, device_number), TSR_OK);
    assert_int_equal(tsr_plan_set_workspace(by_column, enough, bytes), TSR_OK);
    assert_int_equal(tsr_execute(by_column, 1.0, t.a, &db, 1.0, &dc, NULL), TSR_OK);
    download(c, t.c, sizeof c);
    for (int k = 0; k < N * COLUMNS; k++) {
        assert_true(c[k] == 2 * first[k]);
    }
    tsr_plan_destroy(by_column);
    device->release(workspace);
    device->release(enough);
    drop(&t);
}

/* ---- operands of 16-bit numbers: widened there ---- */

static void halves_of_b(uint16_t *to, tsr_type type, bool by_col)
{
    for (int r = 0; r < N; r++) {
        for (int j = 0; j < COLUMNS; j++) {
            tsr_round_values(&to[by_col ? j * N + r : r * LD + j], tsr_number_of(type), &b[r * LD + j], TSR_FP32, 1, 1);
        }
    }
}

static void test_sixteen_bits(void **state)
{
    (void)state;
    band t = make(0);
    static uint16_t halves[N * LD];
    for (int k = 0; k < 4; k++) {
        const tsr_type type = k & 1 ? TSR_BF16 : TSR_FP16;
        const bool by_col = k & 2;
        halves_of_b(halves, type, by_col);
        tsr_dense db = {.data = upload(halves, sizeof halves), .type = type, .layout = by_col ? TSR_COL_MAJOR : TSR_ROW_MAJOR, .nrows = N,
                        .ncols = COLUMNS, .ld = by_col ? N : LD, .memory = TSR_MEMORY_DEVICE};
        tsr_plan *plan;
        assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMM, tsr_default_semiring(TSR_FP32), t.a, &db, &t.dc, 0), TSR_OK);
        assert_true(tsr_plan_is_asynchronous(plan));
        assert_true(tsr_plan_workspace_bytes(plan) >= sizeof expected);
        assert_int_equal(tsr_execute(plan, 2.0, t.a, &db, 0.0, &t.dc, NULL), TSR_OK);
        expect(2.0);
        check(&t);
        tsr_plan_destroy(plan);
        device->release(db.data);
    }
    drop(&t);
}

/* ---- errors ---- */

static void test_pointers_are_checked(void **state)
{
    (void)state;
    band t = make(0);
    tsr_dense wrong = t.db;
    wrong.data = b;
    assert_int_equal(tsr_set_option("check_pointers", "1"), TSR_OK);
    assert_int_equal(tsr_execute(t.plan, 1.0, t.a, &wrong, 0.0, &t.dc, NULL), TSR_INVALID_VALUE);
    assert_non_null(strstr(tsr_last_error(), "is not in device memory"));
    assert_int_equal(tsr_execute(t.plan, 1.0, t.a, &t.db, 0.0, &t.dc, NULL), TSR_OK);
    assert_int_equal(tsr_set_option("check_pointers", "0"), TSR_OK);
    wrong = t.db;
    wrong.memory = TSR_MEMORY_HOST;
    assert_int_equal(tsr_execute(t.plan, 1.0, t.a, &wrong, 0.0, &t.dc, NULL), TSR_INVALID_VALUE);
    drop(&t);
}

static void test_wrong_arrays_are_refused(void **state)
{
    (void)state;
    int64_t wild[3] = {0, 5, INT64_C(1) << 62};
    void *p = upload(wild, sizeof wild);
    tsr_arrays arrays = {.index_type = TSR_INDEX_64, .offsets = p, .indices = p, .type = TSR_FP32, .memory = TSR_MEMORY_DEVICE};
    tsr_sparse *a = NULL;
    assert_int_equal(tsr_sparse_create_csr(&a, 2, 5, &arrays, 0), TSR_INVALID_VALUE);
    assert_null(a);
    arrays.memory = (tsr_memory_space)7;
    assert_int_equal(tsr_sparse_create_csr(&a, 2, 5, &arrays, 0), TSR_INVALID_VALUE);
    device->release(p);
}

/* ---- other forms of the band, from device memory ---- */

static void check_form(tsr_sparse *a, band *t)
{
    tsr_plan *plan;
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMM, tsr_default_semiring(TSR_FP32), a, &t->db, &t->dc, 0), TSR_OK);
    assert_int_equal(tsr_execute(plan, 1.0, a, &t->db, 0.0, &t->dc, NULL), TSR_OK);
    expect(1.0);
    check(t);
    tsr_plan_destroy(plan);
    tsr_sparse_destroy(a);
}

static void test_forms(void **state)
{
    static int32_t rows[3 * N];
    (void)state;
    band t = make(0);
    for (int r = 0; r < N; r++) {
        for (int e = offsets[r]; e < offsets[r + 1]; e++) {
            rows[e] = r;
        }
    }
    void *there = upload(rows, sizeof rows);
    const tsr_coordinates entries = {.index_type = TSR_INDEX_32, .nvals = offsets[N], .rows = there, .columns = t.i, .type = TSR_FP32, .values = t.x,
                                     .memory = TSR_MEMORY_DEVICE};
    const tsr_blocks blocks = {.index_type = TSR_INDEX_32, .height = 1, .width = 1, .offsets = t.p, .indices = t.i, .type = TSR_FP32, .values = t.x,
                               .memory = TSR_MEMORY_DEVICE};
    tsr_sparse *a;
    assert_int_equal(tsr_sparse_create_coo(&a, N, N, &entries), TSR_OK);
    check_form(a, &t);
    assert_int_equal(tsr_sparse_create_bsr(&a, N, N, &blocks), TSR_OK);
    check_form(a, &t);
    device->release(there);
    drop(&t);
}

/* ---- threads: one plan, a C each, while values change between rounds ---- */

typedef struct job {
    const band *t;
    tsr_dense c;
} job;

static void *execute_often(void *arg)
{
    const job *j = arg;
    tsr_status status = TSR_OK;
    for (int k = 0; k < 10 && status == TSR_OK; k++) {
        status = tsr_execute(j->t->plan, 1.0, j->t->a, &j->t->db, 0.0, &j->c, NULL);
    }
    return status == TSR_OK ? NULL : arg;
}

static void test_threads(void **state)
{
    enum { THREADS = 3 };
    (void)state;
    band t = make(0);
    job jobs[THREADS];
    expect(1.0);
    for (int k = 0; k < THREADS; k++) {
        jobs[k] = (job){&t, there(upload(b, sizeof expected), COLUMNS, COLUMNS)};
    }
    for (int round = 0; round < 2; round++) {
        assert_int_equal(tsr_sparse_values_changed(t.a), TSR_OK);
        assert_int_equal(run_threads(THREADS, execute_often, jobs, sizeof *jobs), 0);
    }
    for (int k = 0; k < THREADS; k++) {
        band each = t;
        each.c = jobs[k].c.data;
        check(&each);
        device->release(each.c);
    }
    drop(&t);
}

/* ---- two devices ---- */

/* Goes on with another device than before; false: there is none. */
static bool go_to_another(void)
{
    const int before = device_number;
    char other[16];
    snprintf(other, sizeof other, "%d", before == 2 ? 1 : 2);
    if (take_device_number(device, other)) {
        return true;
    }
    device_number = before;
    return false;
}

/* A matrix has plans on both, each with operands there, and either may go first. */
static void test_two_devices(void **state)
{
    (void)state;
    const int before = device_number;
    for (int first = 0; first < 2; first++) {
        band here = make(0), there_too = here;
        if (!go_to_another()) {
            drop(&here);
            skip();
        }
        there_too.b = upload(b, sizeof b);
        there_too.c = upload(expected, sizeof expected);
        there_too.db.data = there_too.b;
        there_too.dc.data = there_too.c;
        assert_int_equal(tsr_plan_create(&there_too.plan, TSR_OP_SPMM, tsr_default_semiring(TSR_FP32), here.a, &there_too.db, &there_too.dc, 0), TSR_OK);
        assert_true(tsr_plan_is_asynchronous(there_too.plan));
        band *const both[] = {&here, &there_too};
        for (int turn = 0; turn < 2; turn++) {
            band *t = both[(first + turn) % 2];
            assert_int_equal(tsr_execute(t->plan, 2.0 + turn, t->a, &t->db, 0.0, &t->dc, NULL), TSR_OK);
            expect(2.0 + turn);
            check(t);
        }
        tsr_plan_destroy(both[first]->plan);
        band *left = both[1 - first];
        assert_int_equal(tsr_execute(left->plan, 5.0, left->a, &left->db, 0.0, &left->dc, NULL), TSR_OK);
        expect(5.0);
        check(left);
        tsr_plan_destroy(left->plan);
        device->release(there_too.b);
        device->release(there_too.c);
        here.plan = NULL;
        drop(&here);
        device_number = before;
    }
}

static void test_another_device_is_refused(void **state)
{
    (void)state;
    const int before = device_number;
    band t = make(0);
    if (!go_to_another()) {
        drop(&t);
        skip();
    }
    const tsr_dense elsewhere = there(upload(expected, sizeof expected), COLUMNS, COLUMNS);
    assert_int_equal(tsr_set_option("check_pointers", "1"), TSR_OK);
    assert_int_equal(tsr_execute(t.plan, 1.0, t.a, &t.db, 0.0, &elsewhere, NULL), TSR_INVALID_VALUE);
    assert_non_null(strstr(tsr_last_error(), "the plan is for device"));
    assert_int_equal(tsr_execute(t.plan, 1.0, t.a, &t.db, 0.0, &t.dc, NULL), TSR_OK);
    assert_int_equal(tsr_set_option("check_pointers", "0"), TSR_OK);
    device->release(elsewhere.data);
    device_number = before;
    drop(&t);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spmm), cmocka_unit_test(test_spmv), cmocka_unit_test(test_sddmm), cmocka_unit_test(test_values_change),
        cmocka_unit_test(test_halves_are_added), cmocka_unit_test(test_kernels_by_name), cmocka_unit_test(test_workspace), cmocka_unit_test(test_sixteen_bits), cmocka_unit_test(test_pointers_are_checked),
        cmocka_unit_test(test_wrong_arrays_are_refused), cmocka_unit_test(test_forms), cmocka_unit_test(test_batch), cmocka_unit_test(test_batch_of_values_beside_a_panel),
        cmocka_unit_test(test_complex), cmocka_unit_test(test_sampled), cmocka_unit_test(test_saved), cmocka_unit_test(test_epilogue),
        cmocka_unit_test(test_threads), cmocka_unit_test(test_two_devices), cmocka_unit_test(test_another_device_is_refused),
    };
    const tsr_backend *gpu = tsr_backend_gpu();
    if (!gpu || !gpu->device || !take_device_number(gpu->device, argc > 2 ? argv[2] : NULL)) {
        printf("no device\n");
        return 77;
    }
    device = gpu->device;
    native_case_which = device_number;
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : seed;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
