/* The native door of attention, in host memory, and with the plug-in that is loaded (emulated, or of a GPU) in its memory.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/runtime/backends.h"
#include "tessera/attention.h"
#include "tessera/device.h"
#include "test/device_number.h"

static const tsr_backend_device *device; /* NULL: operands are in host memory */

/* ---- memory ---- */

static void *put(const void *host, size_t bytes)
{
    void *p = malloc(bytes);
    if (!device) {
        memcpy(p, host, bytes);
        return p;
    }
    free(p);
    assert_int_equal(device->allocate(&p, bytes, device_number), TSR_OK);
    const tsr_device_copy copy = {p, (void *)(uintptr_t)host, bytes, bytes, bytes, 1, true, NULL};
    assert_int_equal(device->copy(&copy), TSR_OK);
    return p;
}

static void get(void *host, void *there, size_t bytes)
{
    if (!device) {
        memcpy(host, there, bytes);
        return;
    }
    const tsr_device_copy copy = {there, host, bytes, bytes, bytes, 1, false, NULL};
    assert_int_equal(device->copy(&copy), TSR_OK);
}

static void release(void *p)
{
    if (device) {
        device->release(p);
    } else {
        free(p);
    }
}

static tsr_heads heads_of(void *data, int64_t rows, int64_t heads, int64_t width, bool by_head)
{
    return (tsr_heads){.data = data, .type = TSR_FP32, .rows = rows, .heads = heads, .width = width, .ld = by_head ? width : heads * width,
                       .head_stride = by_head ? rows * width : width, .memory = device ? TSR_MEMORY_DEVICE : TSR_MEMORY_HOST};
}

/* ---- one layer: a row of no entry, of one, of several, of all ---- */

enum { M = 5, N = 4, HEADS = 2, WIDTH = 8, QS = M * HEADS * WIDTH, KS = N * HEADS * WIDTH };
static const int64_t offsets[M + 1] = {0, 0, 1, 4, 8, 10};
static const int32_t indices[] = {2, 3, 0, 1, 0, 1, 2, 3, 1, 2}, offsets_32[M + 1] = {0, 0, 1, 4, 8, 10};
static float q[QS], k[KS], v[KS], grad[QS];

static tsr_sparse *pattern(void)
{
    const tsr_arrays arrays = {.index_type = TSR_INDEX_32, .offsets = offsets_32, .indices = indices, .type = TSR_FP32};
    tsr_sparse *s;
    assert_int_equal(tsr_sparse_create_csr(&s, M, N, &arrays, 0), TSR_OK);
    return s;
}

typedef struct layer {
    tsr_sparse *s;
    tsr_attention_plan *plan;
    tsr_heads q, k, v, o;
    float *lse;
} layer;

static layer make(unsigned flags, bool by_head)
{
    const float nothing[QS] = {0};
    layer l = {.s = pattern(), .q = heads_of(put(q, sizeof q), M, HEADS, WIDTH, by_head), .k = heads_of(put(k, sizeof k), N, HEADS, WIDTH, by_head),
               .v = heads_of(put(v, sizeof v), N, HEADS, WIDTH, by_head), .o = heads_of(put(nothing, sizeof nothing), M, HEADS, WIDTH, by_head),
               .lse = put(nothing, M * HEADS * sizeof(float))};
    assert_int_equal(tsr_attention_plan_create(&l.plan, l.s, &l.q, &l.k, &l.v, &l.o, flags), TSR_OK);
    assert_int_equal(tsr_attention_plan_is_asynchronous(l.plan), device != NULL);
    return l;
}

static void drop(layer *l)
{
    void *const all[] = {l->q.data, l->k.data, l->v.data, l->o.data, l->lse};
    tsr_attention_plan_destroy(l->plan);
    tsr_sparse_destroy(l->s);
    for (int p = 0; p < 5; p++) {
        release(all[p]);
    }
}

static size_t at(int64_t rows, bool by_head, int64_t row, int64_t head, int64_t c)
{
    return (size_t)(by_head ? (head * rows + row) * WIDTH + c : (row * HEADS + head) * WIDTH + c);
}

/* By the definition, in FP64.  lse may be NULL. */
static void expect(double o[QS], double *lse, double scale, bool by_head)
{
    for (int row = 0; row < M; row++) {
        for (int head = 0; head < HEADS; head++) {
            double weight[N] = {0}, sum = 0;
            for (int64_t e = offsets[row]; e < offsets[row + 1]; e++) {
                double score = 0;
                for (int c = 0; c < WIDTH; c++) {
                    score += (double)q[at(M, by_head, row, head, c)] * (double)k[at(N, by_head, indices[e], head, c)];
                }
                sum += weight[indices[e]] = exp(scale * score);
            }
            for (int c = 0; c < WIDTH; c++) {
                double x = 0;
                for (int column = 0; column < N; column++) {
                    x += weight[column] * (double)v[at(N, by_head, column, head, c)];
                }
                o[at(M, by_head, row, head, c)] = sum > 0 ? x / sum : 0;
            }
            if (lse) {
                lse[row * HEADS + head] = log(sum);
            }
        }
    }
}

static void test_layer(void **state)
{
    (void)state;
    for (int by_head = 0; by_head < 2; by_head++) {
        double exact[QS], exact_lse[M * HEADS];
        float found[QS], lse[M * HEADS];
        layer l = make(0, by_head);
        expect(exact, exact_lse, 0.5, by_head);
        assert_int_equal(tsr_attention_execute(l.plan, 0.5, &l.q, &l.k, &l.v, &l.o, l.lse, NULL), TSR_OK);
        get(found, l.o.data, sizeof found);
        get(lse, l.lse, sizeof lse);
        for (int x = 0; x < QS; x++) {
            assert_true(fabs((double)found[x] - exact[x]) < 1e-6);
        }
        for (int x = 0; x < M * HEADS; x++) {
            assert_true(isinf(exact_lse[x]) ? (double)lse[x] == exact_lse[x] : fabs((double)lse[x] - exact_lse[x]) < 1e-6);
        }
        /* One entry: its weight is 1. */
        assert_memory_equal(&found[at(M, by_head, 1, 1, 0)], &v[at(N, by_head, 2, 1, 0)], WIDTH * sizeof(float));
        drop(&l);
    }
}

static void test_heads_may_share_keys(void **state)
{
    float found[QS];
    (void)state;
    layer l = make(0, true);
    l.k.head_stride = l.v.head_stride = 0;
    assert_int_equal(tsr_attention_execute(l.plan, 1, &l.q, &l.k, &l.v, &l.o, NULL, NULL), TSR_OK);
    get(found, l.o.data, sizeof found);
    assert_memory_equal(&found[at(M, true, 1, 1, 0)], &v[at(N, true, 2, 0, 0)], WIDTH * sizeof(float));
    drop(&l);
}

/* 16-bit numbers: 1, 2 and 3 and their mean are exact in both. */
static void test_half(void **state)
{
    static const uint16_t numbers[2][4] = {{0x3c00, 0x4000, 0x4200, 0x4000}, {0x3f80, 0x4000, 0x4040, 0x4000}};
    static const int32_t p[] = {0, 3}, i[] = {0, 1, 2};
    const tsr_arrays arrays = {.index_type = TSR_INDEX_32, .offsets = p, .indices = i, .type = TSR_FP32};
    const tsr_type types[] = {TSR_FP16, TSR_BF16};
    (void)state;
    for (int t = 0; t < 2; t++) {
        tsr_sparse *s;
        tsr_attention_plan *plan;
        uint16_t zeros[3] = {0}, found;
        tsr_heads rows = heads_of(put(zeros, 2), 1, 1, 1, false), columns = heads_of(put(zeros, 6), 3, 1, 1, false);
        tsr_heads values = heads_of(put(numbers[t], 6), 3, 1, 1, false), out = heads_of(put(zeros, 2), 1, 1, 1, false);
        rows.type = columns.type = values.type = out.type = types[t];
        assert_int_equal(tsr_sparse_create_csr(&s, 1, 3, &arrays, 0), TSR_OK);
        assert_int_equal(tsr_attention_plan_create(&plan, s, &rows, &columns, &values, &out, 0), TSR_OK);
        assert_non_null(strstr(tsr_attention_plan_explain(plan), t ? "bf16" : "fp16"));
        assert_int_equal(tsr_attention_execute(plan, 1, &rows, &columns, &values, &out, NULL, NULL), TSR_OK);
        get(&found, out.data, sizeof found);
        assert_int_equal(found, numbers[t][3]);
        tsr_attention_plan_destroy(plan);
        tsr_sparse_destroy(s);
        void *const all[] = {rows.data, columns.data, values.data, out.data};
        for (int x = 0; x < 4; x++) {
            release(all[x]);
        }
    }
}

/* ---- three calls in place of one pass, on a device ---- */

enum { ROWS = 90, COLUMNS = 70, BROAD = 16, THREE_HEADS = 3 };

/* By the kernel of that name, whatever its price; lse: wanted, too. */
static void run_by(const char *kernel, const char *explained, tsr_sparse *s, const tsr_heads h[4], bool with_lse, float *found)
{
    static float zeros[ROWS * THREE_HEADS];
    tsr_attention_plan *plan;
    float *lse = with_lse ? put(zeros, sizeof zeros) : NULL;
    assert_int_equal(tsr_set_option("kernel", kernel), TSR_OK);
    assert_int_equal(tsr_attention_plan_create(&plan, s, &h[0], &h[1], &h[2], &h[3], 0), TSR_OK);
    assert_int_equal(tsr_set_option("kernel", ""), TSR_OK);
    assert_non_null(strstr(tsr_attention_plan_explain(plan), explained));
    assert_int_equal(tsr_attention_execute(plan, 0.25, &h[0], &h[1], &h[2], &h[3], lse, NULL), TSR_OK);
    get(found, h[3].data, sizeof(float) * ROWS * THREE_HEADS * BROAD);
    tsr_attention_plan_destroy(plan);
    if (lse) {
        release(lse);
    }
}

static void compare_ways(tsr_sparse *s, bool by_head)
{
    static float filled[4][ROWS * THREE_HEADS * BROAD], one[ROWS * THREE_HEADS * BROAD], three[ROWS * THREE_HEADS * BROAD];
    tsr_heads h[4];
    for (int x = 0; x < 4; x++) {
        const int64_t rows = x == 1 || x == 2 ? COLUMNS : ROWS;
        for (int64_t c = 0; c < rows * THREE_HEADS * BROAD; c++) {
            filled[x][c] = (float)(1 + (c * 7 + x) % 13) / 8 * ((c / 3 + x) % 2 ? -1.0f : 1.0f);
        }
        h[x] = heads_of(put(filled[x], sizeof filled[x]), rows, THREE_HEADS, BROAD, by_head);
    }
    for (int with_lse = 0; with_lse < 2; with_lse++) { /* with lse both are one pass */
        run_by("attention", "cuda:attention", s, h, with_lse, one);
        run_by("attention-three", "cuda:attention-three", s, h, with_lse, three);
        for (int64_t c = 0; c < ROWS * THREE_HEADS * BROAD; c++) {
            assert_true(fabs((double)one[c] - (double)three[c]) <= (with_lse ? 0 : 2e-6));
        }
    }
    for (int x = 0; x < 4; x++) {
        release(h[x].data);
    }
}

/* Rows without entries, of few, and of all columns. */
static void test_three_calls(void **state)
{
    static int32_t p[ROWS + 1], i[ROWS * COLUMNS];
    tsr_sparse *s;
    (void)state;
    if (!device) {
        return;
    }
    for (int row = 0; row < ROWS; row++) {
        p[row + 1] = p[row];
        for (int column = 0; column < COLUMNS; column++) {
            if (row % 9 == 4 || (row % 5 && (row * 31 + column * 17) % 11 == 0)) {
                i[p[row + 1]++] = column;
            }
        }
    }
    const tsr_arrays arrays = {.index_type = TSR_INDEX_32, .offsets = p, .indices = i, .type = TSR_FP32};
    assert_int_equal(tsr_sparse_create_csr(&s, ROWS, COLUMNS, &arrays, 0), TSR_OK);
    for (int by_head = 0; by_head < 2; by_head++) {
        compare_ways(s, by_head);
    }
    tsr_sparse_destroy(s);
}

/* ---- gradients: those of sum (O .* grad), by differences ---- */

static double loss(void)
{
    double o[QS], sum = 0;
    expect(o, NULL, 0.5, false);
    for (int x = 0; x < QS; x++) {
        sum += o[x] * (double)grad[x];
    }
    return sum;
}

static void check_gradient(float *x, int count, const float *found)
{
    for (int j = 0; j < count; j++) {
        const float before = x[j], step = 0x1p-8f;
        x[j] = before + step;
        const double above = loss();
        x[j] = before - step;
        const double slope = (above - loss()) / (2 * (double)step);
        x[j] = before;
        assert_true(fabs((double)found[j] - slope) < 2e-4);
    }
}

static void test_gradients(void **state)
{
    float found[3][QS], nothing[QS] = {0};
    (void)state;
    layer l = make(TSR_ATTENTION_BACKWARD, false);
    const tsr_heads grad_o = heads_of(put(grad, sizeof grad), M, HEADS, WIDTH, false), grad_q = heads_of(put(nothing, sizeof nothing), M, HEADS, WIDTH, false);
    const tsr_heads grad_k = heads_of(put(nothing, sizeof k), N, HEADS, WIDTH, false), grad_v = heads_of(put(nothing, sizeof v), N, HEADS, WIDTH, false);
    assert_int_equal(tsr_attention_execute(l.plan, 0.5, &l.q, &l.k, &l.v, &l.o, l.lse, NULL), TSR_OK);
    assert_int_equal(tsr_attention_backward(l.plan, 0.5, &l.q, &l.k, &l.v, &l.o, l.lse, &grad_o, NULL, NULL, &grad_v, NULL), TSR_OK);
    assert_int_equal(tsr_attention_backward(l.plan, 0.5, &l.q, &l.k, &l.v, &l.o, l.lse, &grad_o, &grad_q, &grad_k, NULL, NULL), TSR_OK);
    get(found[0], grad_q.data, sizeof q);
    get(found[1], grad_k.data, sizeof k);
    get(found[2], grad_v.data, sizeof v);
    check_gradient(q, QS, found[0]);
    check_gradient(k, KS, found[1]);
    check_gradient(v, KS, found[2]);
    void *const all[] = {grad_o.data, grad_q.data, grad_k.data, grad_v.data};
    for (int x = 0; x < 4; x++) {
        release(all[x]);
    }
    drop(&l);
}

/* ---- what the kernel of the device does not take goes through the host ---- */

static void test_wide_rows(void **state)
{
    enum { WIDE = 600 };
    static const int32_t p[] = {0, 1}, i[] = {0};
    const tsr_arrays arrays = {.index_type = TSR_INDEX_32, .offsets = p, .indices = i, .type = TSR_FP32};
    float x[WIDE], found[WIDE], lse, back;
    tsr_sparse *s;
    tsr_attention_plan *plan;
    (void)state;
    for (int c = 0; c < WIDE; c++) {
        x[c] = (float)c;
    }
    tsr_heads in = heads_of(put(x, sizeof x), 1, 1, WIDE, false), out = heads_of(put(x, sizeof x), 1, 1, WIDE, false), slope = in;
    void *there = put(&lse, sizeof lse);
    slope.data = put(x, sizeof x);
    assert_int_equal(tsr_sparse_create_csr(&s, 1, 1, &arrays, 0), TSR_OK);
    assert_int_equal(tsr_attention_plan_create(&plan, s, &in, &in, &in, &out, TSR_ATTENTION_BACKWARD), TSR_OK);
    assert_false(tsr_attention_plan_is_asynchronous(plan));
    assert_true(!device || strstr(tsr_attention_plan_explain(plan), "through the host"));
    assert_int_equal(tsr_attention_execute(plan, 1e-9, &in, &in, &in, &out, there, NULL), TSR_OK);
    get(found, out.data, sizeof found);
    get(&back, there, sizeof back);
    assert_memory_equal(found, x, sizeof x);
    assert_true(back > 0.07f && back < 0.08f); /* 1e-9 times the sum of squares below 600 */
    assert_int_equal(tsr_attention_backward(plan, 1e-9, &in, &in, &in, &out, there, &in, NULL, NULL, &slope, NULL), TSR_OK);
    get(found, slope.data, sizeof found);
    assert_true(fabsf(found[599] - 599) < 1e-2f);
    tsr_attention_plan_destroy(plan);
    tsr_sparse_destroy(s);
    void *const all[] = {in.data, out.data, slope.data, there};
    for (int c = 0; c < 4; c++) {
        release(all[c]);
    }
}

/* ---- refusals ---- */

static void refuse(layer *l, tsr_status status, const char *sentence)
{
    tsr_attention_plan *plan = NULL;
    assert_int_equal(tsr_attention_plan_create(&plan, l->s, &l->q, &l->k, &l->v, &l->o, 0), status);
    assert_null(plan);
    assert_string_equal(tsr_last_error(), sentence);
}

static void test_refusals(void **state)
{
    (void)state;
    layer l = make(0, false), wrong = l;
    wrong.k.rows = 3;
    refuse(&wrong, TSR_DIMENSION_MISMATCH, "k->rows is 3, not 4");
    wrong = l;
    wrong.v.type = TSR_FP64;
    refuse(&wrong, TSR_INVALID_VALUE, "v->type = 10 is not TSR_FP32, TSR_FP16 or TSR_BF16");
    wrong = l;
    wrong.o.ld = WIDTH;
    refuse(&wrong, TSR_INVALID_VALUE, "o->ld = 8 and o->head_stride = 8: rows would overlap");
    wrong = l;
    wrong.q.head_stride = -1;
    refuse(&wrong, TSR_INVALID_VALUE, "q->head_stride = -1 is not in 0 to 9223372036854775807");
    wrong = l;
    wrong.o.data = l.v.data;
    assert_int_equal(tsr_attention_execute(l.plan, 1, &l.q, &l.k, &l.v, &wrong.o, NULL, NULL), TSR_INVALID_VALUE);
    assert_non_null(strstr(tsr_last_error(), "overlaps an operand"));
    assert_int_equal(tsr_attention_execute(l.plan, 1, &l.q, &l.k, &l.v, &l.o, l.o.data, NULL), TSR_INVALID_VALUE);
    assert_int_equal(tsr_attention_backward(l.plan, 1, &l.q, &l.k, &l.v, &l.o, l.lse, &l.o, NULL, NULL, NULL, NULL), TSR_NOT_SUPPORTED);
    assert_string_equal(tsr_last_error(), "the plan was made without TSR_ATTENTION_BACKWARD");
    drop(&l);
}

static void run_in(const tsr_backend_device *where, int *failed)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layer), cmocka_unit_test(test_heads_may_share_keys), cmocka_unit_test(test_half), cmocka_unit_test(test_three_calls),
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_wide_rows), cmocka_unit_test(test_refusals),
    };
    device = where;
    *failed += cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    const tsr_backend *gpu = argc > 1 ? tsr_backend_gpu() : NULL;
    int failed = 0;
    for (int x = 0; x < QS; x++) {
        q[x] = (float)(x % 7 - 3) / 3;
        grad[x] = (float)(x % 5 - 2) / 2;
    }
    for (int x = 0; x < KS; x++) {
        k[x] = (float)(x % 11 - 5) / 5;
        v[x] = (float)(x * 3 % 13 - 6) / 6;
    }
    if (argc > 1 && (!gpu || !gpu->device || strcmp(argv[1], "device") != 0 || !take_device_number(gpu->device, argc > 2 ? argv[2] : NULL))) {
        printf("no device\n");
        return 77;
    }
    run_in(gpu ? gpu->device : NULL, &failed);
    return failed != 0;
}
