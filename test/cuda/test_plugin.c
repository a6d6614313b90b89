/* The plug-in's own code on the lazy device, the emulated one or a GPU: every semiring and layout against the oracle, what it
 * keeps of A, kernels by name and those that it chooses.
 *   test_plugin [seed] [rounds] [pattern of the tests' names]
 * SPDX-License-Identifier: Apache-2.0 */
#include "test/cuda/plugin_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/device/context.h"
#include "backends/cuda/spmm/kernel_table.h"
#include "backends/cuda/transfer/pinned.h"
#include "src/policy/model/model.h"
#include "test/cuda/device_control.h"

/* ---- right answers ---- */

static void one_of_each(rng *r, tsr_op op, tsr_semiring s)
{
    test_case c = make_case(r, op, s, (int)rng_below(r, 2));
    assert_int_equal(check_at(&c, "semiring"), VERDICT_OK);
    case_free(&c);
}

static void test_every_semiring(void **state)
{
    (void)state;
    plain();
    for_every_semiring(one_of_each);
}

/* Arrays that the device reads and writes by itself, beside others that go through the chunks. */
static void pinned(rng *r, tsr_op op, tsr_semiring s)
{
    how.pin_b = rng_chance(r, 60);
    how.pin_c = rng_chance(r, 60);
    one_of_each(r, op, s);
}

static void test_pinned(void **state)
{
    (void)state;
    plain();
    long before = control_live();
    for_every_semiring(pinned);
    assert_in_range(control_live(), before, before + 4 * TSR_CUDA_RING);
}

/* Whatever stays, in all combinations. */
static void with_values(rng *r, tsr_op op, tsr_semiring s)
{
    how.b_is_value = rng_chance(r, 60);
    how.c_may_stay = rng_chance(r, 50);
    how.c_may_keep = !how.c_may_stay;
    how.pin_b = rng_chance(r, 20);
    how.pin_c = rng_chance(r, 20);
    how.use_slot = rng_chance(r, 30);
    one_of_each(r, op, s);
    release();
}

static void test_values_of_products(void **state)
{
    (void)state;
    plain();
    results_that_stayed = 0;
    for_every_semiring(with_values);
    assert_true(results_that_stayed > 100);
    assert_int_equal(tsr_cuda->used, 0);
}

/* With A, B and C there, nothing crosses the bus. */
static void test_nothing_moves(void **state)
{
    (void)state;
    plain();
    how.use_slot = how.b_is_value = how.c_may_stay = true;
    rng r = {seed};
    for (int round = 0; round < 20; round++) {
        test_case c;
        case_make(&c, &r, round % 2 ? TSR_OP_SPMM : TSR_OP_SPMV, (tsr_semiring){TSR_FP64, TSR_ADD_PLUS, TSR_MUL_TIMES}, 0);
        check_at(&c, "first");
        check_at(&c, "there");
        assert_int_equal(last.bytes_moved, 0);
        release();
        case_free(&c);
    }
}

/* A part of a pinned block is pinned, what sticks out is not. */
static void test_parts_of_pinned_blocks(void **state)
{
    (void)state;
    static char block[64];
    assert_false(tsr_cuda_is_pinned(block, 1));
    assert_true(gpu->pin(block + 8, 48));
    assert_true(tsr_cuda_is_pinned(block + 8, 48) && tsr_cuda_is_pinned(block + 55, 1) && tsr_cuda_is_pinned(block + 20, 8));
    assert_false(tsr_cuda_is_pinned(block + 7, 8) || tsr_cuda_is_pinned(block + 8, 49) || tsr_cuda_is_pinned(block + 50, 7));
    assert_false(tsr_cuda_is_pinned(block + 56, 1) || tsr_cuda_is_pinned(block + 20, SIZE_MAX));
    gpu->unpin(block + 9);
    assert_true(tsr_cuda_is_pinned(block + 8, 48));
    gpu->unpin(block + 8);
    assert_false(tsr_cuda_is_pinned(block + 8, 1));
}

/* With a slot: at first, and from what is kept; another version; the other orientation in the same slot. */
static void kept_and_again(rng *r, tsr_op op, tsr_semiring s)
{
    test_case c = make_case(r, op, s, 0);
    assert_int_equal(check_at(&c, "first"), VERDICT_OK);
    assert_int_equal(check_at(&c, "kept"), VERDICT_OK);
    case_free(&c);
    release();
}

static void test_kept(void **state)
{
    (void)state;
    plain();
    how.use_slot = true;
    long before = control_live();
    for_every_semiring(kept_and_again);
    assert_in_range(control_live(), before, before + 4 * TSR_CUDA_RING); /* pinned memory and events stay */
    assert_int_equal(tsr_cuda->used, 0);
}

static void test_holds_and_moves_less(void **state)
{
    (void)state;
    plain();
    how.use_slot = true;
    how.kernel = "csr"; /* for blocks, padded rows of B travel: more than A's entries where panels are narrow */
    rng r = {seed};
    for (int round = 0; round < 20; round++) {
        test_case c = make_plus_times(&r, TSR_FP64, 0);
        tsr_product p = c.product;
        p.a_slot = &slot;
        assert_false(gpu->holds(&p));
        check_at(&c, "first");
        assert_true(gpu->holds(&p));
        int64_t first = last.bytes_moved;
        check_at(&c, "kept");
        assert_true(last.bytes_moved < first && last.bytes_moved > 0);
        p.a_transposed = true;
        assert_false(gpu->holds(&p));
        p.a_transposed = false;
        p.semiring.type = TSR_FP32;
        assert_int_equal(gpu->holds(&p), p.a.iso);
        release();
        assert_false(gpu->holds(&(tsr_product){.a_slot = &slot}));
        case_free(&c);
    }
}

/* The engine does not cast what is held; when it is gone by then, the plug-in says so. */
static void test_uncast_values(void **state)
{
    (void)state;
    plain();
    how.use_slot = true;
    rng r = {seed};
    test_case c = make_plus_times(&r, TSR_FP64, 0);
    while (c.product.a.iso) {
        case_free(&c);
        c = make_plus_times(&r, TSR_FP64, 0);
    }
    check_at(&c, "first");
    tsr_product p = c.product;
    p.a_slot = &slot;
    p.a.type = TSR_FP32;
    size_t places = (size_t)(p.m * p.n);
    double *x = malloc(places * sizeof *x), *y = malloc(places * sizeof *y);
    int8_t *b = malloc(places);
    assert_int_equal(gpu->execute(&c.product, &(tsr_result){.x = x, .b = b}), TSR_OK);
    assert_int_equal(gpu->execute(&p, &(tsr_result){.x = y, .b = b}), TSR_OK);
    assert_memory_equal(x, y, places * sizeof *x);
    release();
    assert_int_equal(gpu->execute(&p, &(tsr_result){.x = y, .b = b}), TSR_DECLINED);
    free(x);
    free(y);
    free(b);
    case_free(&c);
}

/* ---- kernels by name, precisions ---- */

static const char *some_kernel(rng *r)
{
    const int which = (int)rng_below(r, 2 * TSR_FORMS + 1);
    return which < TSR_FORMS ? tsr_gpu_kernel_names[which] : which < 2 * TSR_FORMS ? tsr_gpu_format_names[which - TSR_FORMS] : "something";
}

static void test_named_kernels(void **state)
{
    (void)state;
    plain();
    rng r = {seed};
    int by_blocks_so_far = 0, in_half = 0;
    for (int round = 0; round < 100 * rounds || (round < 3000 && (by_blocks_so_far <= 5 || in_half == 0)); round++) {
        test_case c = make_plus_times(&r, round % 3 ? TSR_FP32 : TSR_FP64, (int)rng_below(&r, 2));
        how.kernel = by_blocks(&c) ? some_kernel(&r) : "csr";
        how.precision = c.draw == DRAW_DYADIC ? (tsr_precision)rng_below(&r, 4) : TSR_PRECISION_EXACT;
        how.reorder = (tsr_reorder)rng_below(&r, 5);
        how.use_slot = rng_chance(&r, 50);
        how.b_is_value = rng_chance(&r, 40);
        how.c_may_stay = rng_chance(&r, 40);
        how.c_may_keep = rng_chance(&r, 40);
        for (int again = 0; again < 2; again++)
            assert_int_equal(check_at(&c, how.kernel), VERDICT_OK);
        if (strcmp(how.kernel, "csr") == 0)
            assert_memory_equal(last.kernel, "csr", 3);
        by_blocks_so_far += strncmp(last.kernel, "csr", 3) != 0;
        in_half += strcmp(last.kernel, "csr-fp16") == 0 || strcmp(last.kernel, "csr-bf16") == 0;
        case_free(&c);
        release();
    }
    assert_true(by_blocks_so_far > 5 && in_half > 0);
}

/* By panels where these have the semiring, else by CSR: min and max, integers, all that they do not have. */
static void panel_of_each(rng *r, tsr_op op, tsr_semiring s)
{
    test_case c = make_case(r, op, s, (int)rng_below(r, 2));
    how.kernel = rng_chance(r, 50) ? "panel" : "panel-64";
    how.reorder = (tsr_reorder)rng_below(r, 5);
    how.use_slot = rng_chance(r, 50);
    if (by_blocks(&c) || s.add != TSR_ADD_PLUS || (s.type != TSR_FP32 && s.type != TSR_FP64))
        for (int again = 0; again < 2; again++)
            assert_int_equal(check_at(&c, how.kernel), VERDICT_OK);
    case_free(&c);
    release();
}

static void test_panels_over_semirings(void **state)
{
    (void)state;
    plain();
    for_every_semiring(panel_of_each);
}

static void test_blocks_are_built_when_they_pay(void **state)
{
    (void)state;
    plain();
    how.use_slot = true;
    tsr_product p;
    test_case c = make_dense_windows(&p, false);
    int calls = 0;
    do {
        assert_int_equal(check_at(&c, "lazy"), VERDICT_OK);
        calls++;
    } while (calls < 1000000 && strcmp(last.kernel, "csr") == 0);
    assert_in_range(calls, 2, 1000);
    assert_string_equal(last.kernel, "me-bcrs-exact");
    assert_int_equal(check_at(&c, "from blocks"), VERDICT_OK);
    assert_string_equal(last.kernel, "me-bcrs-exact");
    release();
    how.expected_calls = 1e9;
    how.precision = TSR_PRECISION_BF16;
    assert_int_equal(check_at(&c, "expected"), VERDICT_OK);
    assert_string_equal(last.kernel, "hrpb-bf16");
    release();
}

/* A model in which a kernel that is not in the automatic choice is the fastest, and made at once. */
static tsr_model fast_by_name_only(void)
{
    tsr_model m = *tsr_cuda->model;
    for (int kernel = 0; kernel < TSR_GPU_KERNELS; kernel++) {
        if (TSR_AUTOMATIC_FORMS & TSR_FORM_BIT(kernel))
            continue;
        for (int width = 0; width < TSR_MODEL_WIDTHS; width++)
            m.kernel[kernel][TSR_GPU_EXACT][width][0] = 1e-9;
        m.making[kernel][0] = 1e-9;
    }
    return m;
}

static void test_automatic_choice(void **state)
{
    (void)state;
    plain();
    how.use_slot = true;
    how.expected_calls = 1e9;
    const tsr_model *model = tsr_cuda->model, other = fast_by_name_only();
    tsr_cuda->model = &other;
    tsr_product p;
    test_case c = make_dense_windows(&p, false);
    for (int again = 0; again < 3; again++) {
        assert_int_equal(check_at(&c, "automatic"), VERDICT_OK);
        assert_string_equal(last.kernel, "me-bcrs-exact");
    }
    how.kernel = "me-tcf";
    assert_int_equal(check_at(&c, "by name"), VERDICT_OK);
    assert_string_equal(last.kernel, "me-tcf-exact");
    how.kernel = "hrpb-64";
    assert_int_equal(check_at(&c, "by name and height"), VERDICT_OK);
    assert_string_equal(last.kernel, "hrpb-exact");
    how.kernel = NULL;
    assert_int_equal(check_at(&c, "automatic again"), VERDICT_OK);
    assert_string_equal(last.kernel, "me-bcrs-exact");
    tsr_cuda->model = model;
    release();
}

/* Each kernel that is named runs in each arithmetic: none declines what was built for it. */
static void test_named_kernels_run(void **state)
{
    (void)state;
    plain();
    static const tsr_cuda_math maths[] = {[TSR_PRECISION_EXACT] = TSR_CUDA_EXACT, [TSR_PRECISION_TF32] = TSR_CUDA_TF32,
                                          [TSR_PRECISION_BF16] = TSR_CUDA_BF16, [TSR_PRECISION_FP16] = TSR_CUDA_FP16};
    tsr_product p;
    test_case c = make_dense_windows(&p, false);
    for (int form = TSR_GPU_PANEL_32; form < TSR_FORMS; form++)
        for (int precision = TSR_PRECISION_EXACT; precision <= TSR_PRECISION_FP16 && form != TSR_GPU_HYBRID; precision++) {
            how.kernel = tsr_gpu_kernel_names[form];
            how.precision = (tsr_precision)precision;
            assert_int_equal(check_at(&c, how.kernel), VERDICT_OK);
            assert_string_equal(last.kernel, tsr_cuda_trace_name(tsr_cuda_kernel_of(form), TSR_CUDA_SUMS, maths[precision], false));
        }
    release();
}

/* A model in which TF32 kernels are slow. */
static tsr_model slow_tf32(void)
{
    tsr_model m = *tsr_cuda->model;
    for (int kernel = 0; kernel < TSR_GPU_KERNELS; kernel++)
        for (int width = 0; width < TSR_MODEL_WIDTHS; width++)
            for (int term = 0; term < TSR_KERNEL_TERMS; term++)
                m.kernel[kernel][TSR_GPU_TF32][width][term] *= 4;
    return m;
}

/* FP16 in place of TF32: numbers far from 1, by blocks and by CSR, and a B that has no room, after which TF32 is taken. */
static void test_tf32_as_fp16(void **state)
{
    (void)state;
    plain();
    const tsr_model *model = tsr_cuda->model, slow = slow_tf32();
    tsr_cuda->model = &slow;
    tsr_product p;
    for (int round = 0; round < 16 * rounds; round++) {
        test_case c = make_dense_windows(&p, false);
        float *a = (float *)(uintptr_t)p.a.x, *b = (float *)(uintptr_t)p.b.x;
        bool small = round % 4 < 2, wide = round % 8 == 7;
        for (int64_t k = 0; k < p.a.nvals; k++)
            a[k] = ldexpf(a[k], small ? -25 : 0);
        for (int64_t k = 0; k < p.b.nvals; k++)
            b[k] = ldexpf(b[k], small ? 25 : -20);
        b[0] = wide ? 0x1p30f : b[0];
        how.use_slot = true;
        how.b_is_value = how.c_may_stay = round % 3 == 0;
        how.expected_calls = round % 2 ? 1e9 : 0;
        how.precision = TSR_PRECISION_TF32;
        const char *first = NULL;
        for (int again = 0; again < (round % 2 ? 3 : 20); again++) {
            assert_int_equal(check_at(&c, "narrow"), VERDICT_OK);
            first = first ? first : last.kernel;
        }
        if (round % 2)
            assert_string_equal(first, "hrpb-narrow");
        assert_string_equal(last.kernel, wide ? "hrpb-tf32" : "hrpb-narrow");
        release();
    }
    tsr_cuda->model = model;
    assert_int_equal(tsr_cuda->used, 0);
}

/* A value that is still on its way, through the chunks that the panels of a product with a kept A use next. */
static void test_panels_after_upload(void **state)
{
    enum { COUNT = 500 };
    (void)state;
    plain();
    how.use_slot = true;
    rng r = {seed};
    int64_t uploaded[COUNT], downloaded[COUNT], moved;
    for (int round = 0; round < 20; round++) {
        test_case c = make_plus_times(&r, TSR_FP64, 0);
        void *value;
        for (int k = 0; k < COUNT; k++)
            uploaded[k] = (int64_t)rng_next(&r);
        tsr_view v = {.format = TSR_FULL, .type = TSR_INT64, .by_col = true, .nrows = COUNT, .ncols = 1, .nvec = 1, .vlen = COUNT,
                      .ld = COUNT, .nvals = COUNT, .x = uploaded};
        check_at(&c, "A is kept");
        assert_int_equal(gpu->contents->upload(&v, 2, &value, &moved), TSR_OK);
        check_at(&c, "panels");
        assert_int_equal(gpu->contents->download(value, &(tsr_download){.nthreads = 2, .x = downloaded}), TSR_OK);
        assert_memory_equal(downloaded, uploaded, sizeof downloaded);
        gpu->contents->drop(value);
        release();
        case_free(&c);
    }
}

/* Timed with numbers of the plug-in's own; only A stays. */
static void test_measure(void **state)
{
    static const char *const names[][2] = {{"csr", "csr"}, {"bmat", "bmat-exact"}, {"panel", "panel-fp32"}};
    (void)state;
    plain();
    tsr_product p;
    make_dense_windows(&p, false);
    p.a_slot = &slot;
    p.b.x = NULL;
    for (int k = 0; k < 3; k++) {
        tsr_measured m;
        p.kernel = names[k][0];
        assert_int_equal(gpu->measure(&p, &m), TSR_OK);
        assert_string_equal(m.kernel, names[k][1]);
        assert_true(m.ms > 0 && gpu->holds(&p));
    }
    release();
    assert_int_equal(tsr_cuda->used, 0);
}

/* Every other window dense, the others with an entry a column: neither half of a hybrid would do for all. */
static test_case make_mixed_windows(tsr_product *p)
{
    enum { ROWS = 64, DEGREE = 8 };
    static int64_t offsets[ROWS + 1], indices[ROWS * DEGREE];
    test_case c = make_dense_windows(p, false);
    for (int row = 0; row < ROWS; row++)
        for (int e = 0; e < DEGREE; e++)
            indices[row * DEGREE + e] = row / 16 % 2 ? e * 50 + row / 16 : (row % 50) + e * 50;
    for (int row = 0; row <= ROWS; row++)
        offsets[row] = (int64_t)row * DEGREE;
    p->a.nvals = ROWS * DEGREE;
    p->a.p = offsets;
    p->a.i = indices;
    c.product = *p;
    return c;
}

static void test_mixed_windows_are_split(void **state)
{
    (void)state;
    static const char *const used[] = {[TSR_PRECISION_EXACT] = "hybrid-exact", [TSR_PRECISION_TF32] = "hybrid-tf32",
                                       [TSR_PRECISION_BF16] = "hybrid-bf16", [TSR_PRECISION_FP16] = "hybrid-fp16"};
    plain();
    how.use_slot = true;
    how.expected_calls = 1e9;
    tsr_product p;
    test_case c = make_mixed_windows(&p);
    for (int which = TSR_PRECISION_EXACT; which <= TSR_PRECISION_FP16; which++) {
        how.precision = (tsr_precision)which;
        for (int again = 0; again < 2; again++) {
            assert_int_equal(check_at(&c, "mixed"), VERDICT_OK);
            assert_string_equal(last.kernel, used[which]);
            assert_int_equal(last.built, again == 0);
        }
    }
    release();
    assert_int_equal(tsr_cuda->used, 0);
}

/* Another order brings scattered rows together, which their own is too sparse for. */
static void test_order_that_pays(void **state)
{
    (void)state;
    static const char *const used[] = {
        [TSR_REORDER_NONE] = "csr", [TSR_REORDER_AUTO] = "me-bcrs-exact", [TSR_REORDER_LPA] = "me-bcrs-exact",
        [TSR_REORDER_TCA] = "me-bcrs-exact",
    };
    plain();
    how.use_slot = true;
    how.expected_calls = 1e9;
    tsr_product p;
    test_case c = make_dense_windows(&p, true);
    for (int which = TSR_REORDER_NONE; which <= TSR_REORDER_TCA; which++) {
        how.reorder = (tsr_reorder)which;
        assert_int_equal(check_at(&c, "ordered"), VERDICT_OK);
        assert_string_equal(last.kernel, used[which]);
        release();
    }
}

/* ---- SDDMM over stencils ---- */

static void test_named_stencils(void **state)
{
    (void)state;
    static const char *const wanted[] = {
        [TSR_PRECISION_EXACT] = "sddmm-stencil", [TSR_PRECISION_TF32] = "sddmm-stencil-tf32",
        [TSR_PRECISION_BF16] = "sddmm-stencil-bf16", [TSR_PRECISION_FP16] = "sddmm-stencil-fp16",
    };
    plain();
    rng r = {seed};
    int used[4] = {0}, narrow = 0;
    for (int round = 0; round < 80 * rounds || (round < 3000 && !(used[0] && used[1] && used[2] && used[3] && narrow)); round++) {
        test_case c = make_sddmm(&r, (int)rng_below(&r, 2));
        how.kernel = rng_chance(&r, 90) ? rng_chance(&r, 50) ? "csr-narrow" : "stencil" : "csr";
        how.precision = c.draw == DRAW_DYADIC ? (tsr_precision)rng_below(&r, 4) : TSR_PRECISION_EXACT;
        how.use_slot = rng_chance(&r, 50);
        for (int again = 0; again < 2; again++)
            assert_int_equal(check_at(&c, how.kernel), VERDICT_OK);
        bool by_row = !last.kernel || strcmp(last.kernel, "sddmm") == 0; /* NULL: no entry passes */
        bool by_narrow = last.kernel && strcmp(last.kernel, "sddmm-narrow") == 0;
        bool right = by_narrow ? strcmp(how.kernel, "csr-narrow") == 0 && how.precision != TSR_PRECISION_EXACT
                               : by_row || (strcmp(how.kernel, "stencil") == 0 && strcmp(last.kernel, wanted[how.precision]) == 0);
        assert_true(right);
        used[how.precision] += !by_row && !by_narrow;
        narrow += by_narrow;
        case_free(&c);
        release();
        assert_int_equal(tsr_cuda->used, 0);
    }
    assert_true(used[0] && used[1] && used[2] && used[3] && narrow);
}

/* 32 rows alike, and operands that are wide enough: C<S> = X Y'. */
static test_case make_dense_mask(void)
{
    enum { ROWS = 32, COLS = 200, DEGREE = 25, K = 128 };
    static int64_t offsets[ROWS + 1], indices[ROWS * DEGREE];
    static float x[ROWS * K], y[COLS * K];
    for (int row = 0; row <= ROWS; row++)
        offsets[row] = (int64_t)row * DEGREE;
    for (int e = 0; e < ROWS * DEGREE; e++)
        indices[e] = e % DEGREE * 8;
    for (int e = 0; e < COLS * K; e++) {
        x[e % (ROWS * K)] = (float)(e % 7);
        y[e] = (float)(e % 11) - 5;
    }
    tsr_product p = {.op = TSR_OP_SDDMM, .semiring = {TSR_FP32, TSR_ADD_PLUS, TSR_MUL_TIMES}, .m = ROWS, .n = COLS, .k = K,
                     .mask_structural = true, .nthreads = 2};
    p.mask = (tsr_view){.format = TSR_SPARSE, .type = TSR_BOOL, .index_size = 8, .nrows = ROWS, .ncols = COLS, .nvec = ROWS,
                        .vlen = COLS, .nvals = ROWS * DEGREE, .p = offsets, .i = indices};
    p.a = (tsr_view){.format = TSR_FULL, .type = TSR_FP32, .nrows = ROWS, .ncols = K, .nvec = ROWS, .vlen = K, .ld = K,
                     .nvals = ROWS * K, .x = x};
    p.b = (tsr_view){.format = TSR_FULL, .type = TSR_FP32, .by_col = true, .nrows = K, .ncols = COLS, .nvec = COLS, .vlen = K, .ld = K,
                     .nvals = COLS * K, .x = y};
    return (test_case){.product = p, .draw = DRAW_DYADIC, .wants_flags = true};
}

static void test_stencil_is_built_when_it_pays(void **state)
{
    (void)state;
    plain();
    how.use_slot = true;
    test_case c = make_dense_mask();
    int calls = 0;
    do {
        assert_int_equal(check_at(&c, "lazy"), VERDICT_OK);
        calls++;
    } while (calls < 1000000 && strcmp(last.kernel, "sddmm") == 0);
    assert_in_range(calls, 2, 1000);
    assert_string_equal(last.kernel, "sddmm-stencil");
    assert_int_equal(check_at(&c, "from the stencil"), VERDICT_OK);
    release();
    how.expected_calls = 1e9;
    assert_int_equal(check_at(&c, "expected"), VERDICT_OK);
    assert_string_equal(last.kernel, "sddmm-stencil");
    how.precision = TSR_PRECISION_TF32;
    assert_int_equal(check_at(&c, "another arithmetic"), VERDICT_OK);
    assert_string_equal(last.kernel, "sddmm-stencil-tf32");
    c.product.k = c.product.a.vlen = c.product.a.ncols = c.product.b.vlen = c.product.b.nrows = 16;
    assert_int_equal(check_at(&c, "narrow"), VERDICT_OK);
    assert_string_equal(last.kernel, "sddmm");
    release();
}

/* One element that FP16 has not: by row. */
static void test_stencil_out_of_range(void **state)
{
    (void)state;
    plain();
    how.kernel = "stencil";
    how.precision = TSR_PRECISION_FP16;
    test_case c = make_dense_mask();
    assert_int_equal(check_at(&c, "in range"), VERDICT_OK);
    assert_string_equal(last.kernel, "sddmm-stencil-fp16");
    ((float *)(intptr_t)c.product.b.x)[1000] = 1e5f;
    assert_int_equal(check_at(&c, "out of range"), VERDICT_OK);
    assert_string_equal(last.kernel, "sddmm");
}

/* Rows of B' as FP16 in place of TF32: where many entries share a row of B', and not where they do not or TF32 is not allowed. */
static void test_narrow_sddmm(void **state)
{
    (void)state;
    plain();
    how.precision = TSR_PRECISION_TF32;
    test_case c = make_dense_mask();
    how.kernel = "csr-narrow";
    assert_int_equal(check_at(&c, "named"), VERDICT_OK);
    assert_string_equal(last.kernel, "sddmm-narrow");
    ((float *)(intptr_t)c.product.b.x)[1030] = INFINITY;
    assert_int_equal(check_at(&c, "not finite"), VERDICT_OK);
    assert_string_equal(last.kernel, "sddmm-narrow");
    how.precision = TSR_PRECISION_EXACT;
    assert_int_equal(check_at(&c, "exact"), VERDICT_OK);
    assert_string_equal(last.kernel, "sddmm");
}

/* ---- results that stay on the device ---- */

static uint64_t sum_of(tsr_type type, const void *x, const int8_t *b, int64_t count)
{
    uint64_t sum = 0;
    for (int64_t k = 0; k < count; k++) {
        uint64_t value = 0;
        memcpy(&value, (const char *)x + (size_t)k * type_size(type), type_size(type));
        sum += b[k] ? value : 0;
    }
    return sum;
}

/* As the door asks for it. */
static tsr_status execute_and_fetch(const tsr_product *product, tsr_result *result)
{
    result->may_stay = true;
    tsr_status status = execute(product, result);
    if (status != TSR_OK || !result->stays)
        return status;
    size_t size = type_size(product->semiring.type);
    uint64_t total = result->total, range = size == 8 ? 0 : UINT64_C(1) << 8 * size;
    for (int again = 0; again < 2 && status == TSR_OK; again++)
        status = download_stays(result);
    gpu->contents->drop(result->stays);
    result->stays = NULL;
    uint64_t sum = status == TSR_OK ? sum_of(product->semiring.type, result->x, result->b, product->mask.nvals) : total;
    assert_int_equal(range ? sum % range : sum, range ? total % range : total);
    return status;
}

static verdict check_staying(const test_case *c)
{
    char why[200] = "";
    verdict v = check_case(c, execute_and_fetch, why, sizeof why);
    if (v == VERDICT_WRONG)
        fail_msg("stays, seed %llu: %s", (unsigned long long)seed, why);
    return v;
}

static test_case make_counts(rng *r, tsr_type type)
{
    return make_busy(r, TSR_OP_MASKED_DOT, (tsr_semiring){type, TSR_ADD_PLUS, TSR_MUL_PAIR}, (int)rng_below(r, 2));
}

static void test_results_that_stay(void **state)
{
    (void)state;
    plain();
    rng r = {seed};
    for (int round = 0; round < 60 * rounds; round++) {
        test_case c = make_counts(&r, (tsr_type)(TSR_INT8 + rng_below(&r, TSR_FP32 - TSR_INT8)));
        how.use_slot = rng_chance(&r, 50);
        assert_int_equal(check_staying(&c), VERDICT_OK);
        tsr_result result = {.may_stay = true};
        size_t places = (size_t)places_of(&c.product);
        result.x = malloc(places * 8);
        result.b = malloc(places);
        assert_int_equal(execute(&c.product, &result), TSR_OK);
        if (result.stays)
            gpu->contents->drop(result.stays);
        free(result.x);
        free(result.b);
        release();
        assert_int_equal(tsr_cuda->used, 0);
        case_free(&c);
    }
}

/* ---- what it does not take ---- */

static void test_declines(void **state)
{
    (void)state;
    plain();
    rng r = {seed};
    tsr_product p;
    for (int op = TSR_OP_SDDMM; op < TSR_OP_COUNT; op++) {
        test_case c = make_masked(&r, (tsr_op)op);
        p = c.product;
        assert_true(gpu->supports(&p));
        p.mask.jumbled = true;
        assert_false(gpu->supports(&p));
        case_free(&c);
    }
    make_dense_windows(&p, false);
    assert_true(gpu->supports(&p));
    p.k = (int64_t)1 << 33;
    assert_false(gpu->supports(&p));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_semiring), cmocka_unit_test(test_pinned), cmocka_unit_test(test_values_of_products),
        cmocka_unit_test(test_nothing_moves), cmocka_unit_test(test_measure), cmocka_unit_test(test_panels_after_upload),
        cmocka_unit_test(test_parts_of_pinned_blocks), cmocka_unit_test(test_kept), cmocka_unit_test(test_holds_and_moves_less),
        cmocka_unit_test(test_uncast_values), cmocka_unit_test(test_named_kernels), cmocka_unit_test(test_automatic_choice),
        cmocka_unit_test(test_named_kernels_run), cmocka_unit_test(test_panels_over_semirings),
        cmocka_unit_test(test_blocks_are_built_when_they_pay), cmocka_unit_test(test_tf32_as_fp16),
        cmocka_unit_test(test_order_that_pays),
        cmocka_unit_test(test_mixed_windows_are_split), cmocka_unit_test(test_named_stencils),
        cmocka_unit_test(test_stencil_is_built_when_it_pays), cmocka_unit_test(test_stencil_out_of_range),
        cmocka_unit_test(test_narrow_sddmm),
        cmocka_unit_test(test_results_that_stay), cmocka_unit_test(test_declines),
    };
    int status = start_plugin_with_model(argc, argv);
    return status ? status : cmocka_run_group_tests(tests, NULL, NULL);
}
