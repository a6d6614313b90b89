/* The plug-in's own code on the lazy device, the emulated one or a GPU: every semiring and layout against the oracle, what it
 * keeps of A, tight memory, failures.
 *   test_plugin [seed] [rounds] [pattern of the tests' names]
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "backends/cuda/context.h"
#include "backends/cuda/pinned.h"
#include "src/route/model.h"
#include "test/cuda/device_control.h"
#include "test/kernels/compare.h"
#include "test/threads.h"

const tsr_backend *tsr_backend_init(const tsr_backend_options *options);
int tsr_backend_score(const tsr_backend_options *options);

enum { SKIPPED = 77 };

static const tsr_backend *gpu;
static uint64_t seed;
static int rounds = 1;

/* ---- a product as the engine would send it ---- */

static void *slot, *b_slot, *mask_slot;
static bool use_slot;
static const char *kernel;
static tsr_precision precision;
static tsr_reorder reorder;
static double expected_calls;
static const char *used_kernel;
static int64_t bytes_moved;
static int built, evicted; /* for the last product */

static int64_t places_of(const tsr_product *p)
{
    return tsr_is_masked(p->op) ? p->mask.nvals : p->m * p->n;
}

static bool pin_b, pin_c;
static long product_calls; /* of the device, without those that pin */

/* What was pinned, or NULL. */
static void *pin(bool wanted, const void *block, int64_t elements, tsr_type type)
{
    void *p = (void *)(intptr_t)block;
    return wanted && p && elements > 0 && gpu->pin(p, (size_t)elements * tsr_cuda_type_size(type)) ? p : NULL;
}

static void unpin(void *block)
{
    if (block)
        gpu->unpin(block);
}

/* The calling thread keeps the context that it had. */
static tsr_status execute_pinned(const tsr_product *p, tsr_result *result)
{
    int64_t elements = p->b.nvec > 0 ? (p->b.nvec - 1) * p->b.ld + p->b.vlen : 0;
    void *b = pin(pin_b && !p->b.iso && p->op != TSR_OP_MASKED_DOT, p->b.x, elements, p->b.type);
    void *c = pin(pin_c, result->x, places_of(p), p->semiring.type), *current = tsr_cuda_current();
    long calls = control_calls();
    tsr_status status = gpu->execute(p, result);
    product_calls = control_calls() - calls;
    assert_ptr_equal(tsr_cuda_current(), current);
    unpin(b);
    unpin(c);
    return status;
}

/* ---- operands and results that stay with the backend ---- */

static bool b_is_value, c_may_stay, c_may_keep;

/* A dense operand is brought, and no longer shown. */
static tsr_status bring(tsr_view *v, void **value)
{
    int64_t moved;
    if (!b_is_value || tsr_is_compressed(v) || !v->x)
        return TSR_OK;
    tsr_status status = gpu->values->bring(v, 2, value, &moved);
    v->x = v->b = NULL;
    return status;
}

static void forget(void *value)
{
    if (value)
        gpu->values->forget(value);
}

/* Also twice. */
static tsr_status fetch_value(tsr_result *result)
{
    int64_t nvals = 0, known = result->nvals;
    tsr_status status = gpu->values->count(result->stays, &nvals);
    for (int again = 0; again < 2 && status == TSR_OK; again++)
        status = gpu->values->fetch(result->stays, result, 2);
    if (status == TSR_OK) {
        assert_true(known < 0 || known == nvals);
        assert_int_equal(result->nvals, nvals);
    }
    return status;
}

/* What was kept is what came home. */
static tsr_status compare_kept(const tsr_product *p, const tsr_result *result)
{
    size_t places = (size_t)places_of(p), size = tsr_cuda_type_size(p->semiring.type);
    char *x = malloc(places * size);
    int8_t *b = malloc(places);
    tsr_result kept = {.x = x, .b = b, .stays = result->stays, .nvals = result->nvals};
    tsr_status status = fetch_value(&kept);
    for (size_t k = 0; k < places && status == TSR_OK; k++) {
        assert_int_equal(b[k], !result->b || result->b[k]);
        if (b[k])
            assert_memory_equal(x + k * size, (char *)result->x + k * size, size);
    }
    free(x);
    free(b);
    return status;
}

static int results_that_stayed;

static tsr_status execute_with_values(tsr_product *p, tsr_result *result)
{
    bool dense = !tsr_is_masked(p->op), stays = c_may_stay && dense;
    tsr_status status = bring(&p->b, &p->b_value);
    if (status == TSR_OK && p->op == TSR_OP_SDDMM)
        status = bring(&p->a, &p->a_value);
    result->may_stay = stays;
    result->may_keep = c_may_keep && dense;
    if (status == TSR_OK)
        status = execute_pinned(p, result);
    forget(p->a_value);
    forget(p->b_value);
    int64_t moved = result->bytes_moved;
    results_that_stayed += status == TSR_OK && dense && result->stays;
    if (status == TSR_OK && dense && result->stays)
        status = stays ? fetch_value(result) : compare_kept(p, result);
    if (dense)
        forget(result->stays);
    result->bytes_moved = moved;
    return status == TSR_OUT_OF_MEMORY ? TSR_DECLINED : status; /* less would have to stay */
}

static tsr_status execute(const tsr_product *product, tsr_result *result)
{
    tsr_product p = *product;
    p.a_slot = use_slot ? &slot : NULL;
    p.b_slot = use_slot && tsr_is_masked(product->op) ? &b_slot : NULL;
    p.mask_slot = use_slot && tsr_is_masked(product->op) ? &mask_slot : NULL;
    p.kernel = kernel;
    p.precision = precision;
    p.reorder = reorder;
    p.expected_calls = expected_calls;
    if (!gpu->supports(&p))
        return TSR_DECLINED;
    tsr_status status = execute_with_values(&p, result);
    used_kernel = result->kernel;
    bytes_moved = result->bytes_moved;
    built = result->built;
    evicted = result->evicted;
    return status;
}

static void plain(void)
{
    use_slot = pin_b = pin_c = b_is_value = c_may_stay = c_may_keep = false;
    kernel = NULL;
    precision = TSR_PRECISION_EXACT;
    reorder = TSR_REORDER_NONE;
    expected_calls = 0;
}

static void release(void)
{
    void **const slots[] = {&slot, &b_slot, &mask_slot};
    for (int k = 0; k < 3; k++) {
        if (*slots[k])
            gpu->release(*slots[k]);
        *slots[k] = NULL;
    }
}

static verdict check_at(const test_case *c, const char *where)
{
    char why[200] = "";
    verdict v = check_case(c, execute, why, sizeof why);
    if (v == VERDICT_WRONG) {
        printf("%s, seed %llu: %s (%s)\n", where, (unsigned long long)seed, why, used_kernel ? used_kernel : "none");
        case_print(c);
        fail();
    }
    return v;
}

static bool exists(tsr_semiring s)
{
    return s.type != TSR_BOOL || s.add == TSR_ADD_LOR || s.add == TSR_ADD_ANY;
}

static void for_every_semiring(void (*body)(rng *r, tsr_op op, tsr_semiring s))
{
    rng r = {seed};
    for (int op = TSR_OP_SPMM; op < TSR_OP_COUNT; op++)
        for (int type = 0; type < TSR_TYPE_COUNT; type++)
            for (int add = 0; add < TSR_ADD_COUNT; add++)
                for (int mul = 0; mul < TSR_MUL_COUNT; mul++) {
                    tsr_semiring s = {(tsr_type)type, (tsr_add)add, (tsr_mul)mul};
                    for (int round = 0; round < rounds && exists(s); round++)
                        body(&r, (tsr_op)op, s);
                }
}

/* ---- right answers ---- */

/* A jumbled mask is not taken. */
static test_case make_case(rng *r, tsr_op op, tsr_semiring s, int size)
{
    test_case c;
    for (;;) {
        case_make(&c, r, op, s, size);
        if (!tsr_is_masked(c.product.op) || !c.product.mask.jumbled)
            return c;
        case_free(&c);
    }
}

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
    pin_b = rng_chance(r, 60);
    pin_c = rng_chance(r, 60);
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
    b_is_value = rng_chance(r, 60);
    c_may_stay = rng_chance(r, 50);
    c_may_keep = !c_may_stay;
    pin_b = rng_chance(r, 20);
    pin_c = rng_chance(r, 20);
    use_slot = rng_chance(r, 30);
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
    assert_int_equal(tsr_cuda.used, 0);
}

/* With A, B and C there, nothing crosses the bus. */
static void test_nothing_moves(void **state)
{
    (void)state;
    plain();
    use_slot = b_is_value = c_may_stay = true;
    rng r = {seed};
    for (int round = 0; round < 20; round++) {
        test_case c;
        case_make(&c, &r, round % 2 ? TSR_OP_SPMM : TSR_OP_SPMV, (tsr_semiring){TSR_FP64, TSR_ADD_PLUS, TSR_MUL_TIMES}, 0);
        check_at(&c, "first");
        check_at(&c, "there");
        assert_int_equal(bytes_moved, 0);
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
    use_slot = true;
    long before = control_live();
    for_every_semiring(kept_and_again);
    assert_in_range(control_live(), before, before + 4 * TSR_CUDA_RING); /* pinned memory and events stay */
    assert_int_equal(tsr_cuda.used, 0);
}

static test_case make_plus_times(rng *r, tsr_type type, int size)
{
    test_case c;
    for (;;) {
        case_make(&c, r, TSR_OP_SPMM, (tsr_semiring){type, TSR_ADD_PLUS, TSR_MUL_TIMES}, size);
        if (c.product.m > 0 && c.product.n > 1 && c.product.k > 0 && c.product.a.nvals > 0)
            return c;
        case_free(&c);
    }
}

static void test_holds_and_moves_less(void **state)
{
    (void)state;
    plain();
    use_slot = true;
    kernel = "csr"; /* for blocks, padded rows of B travel: more than A's entries where panels are narrow */
    rng r = {seed};
    for (int round = 0; round < 20; round++) {
        test_case c = make_plus_times(&r, TSR_FP64, 0);
        tsr_product p = c.product;
        p.a_slot = &slot;
        assert_false(gpu->holds(&p));
        check_at(&c, "first");
        assert_true(gpu->holds(&p));
        int64_t first = bytes_moved;
        check_at(&c, "kept");
        assert_true(bytes_moved < first && bytes_moved > 0);
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
    use_slot = true;
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

/* Blocks add in another order than the oracle, and may round more often: they are judged where all sums are exact. */
static bool by_blocks(const test_case *c)
{
    return c->draw == DRAW_DYADIC || (control_sums_exactly() && c->product.semiring.type == TSR_FP32);
}

static void test_named_kernels(void **state)
{
    (void)state;
    static const char *const names[] = {"csr", "me-tcf", "me-bcrs", "hrpb", "bmat", "panel", "hybrid", "something"};
    plain();
    rng r = {seed};
    int by_blocks_so_far = 0, in_half = 0;
    for (int round = 0; round < 100 * rounds || (round < 3000 && (by_blocks_so_far <= 5 || in_half == 0)); round++) {
        test_case c = make_plus_times(&r, round % 3 ? TSR_FP32 : TSR_FP64, (int)rng_below(&r, 2));
        kernel = by_blocks(&c) ? names[rng_below(&r, 8)] : "csr";
        precision = c.draw == DRAW_DYADIC ? (tsr_precision)rng_below(&r, 4) : TSR_PRECISION_EXACT;
        reorder = (tsr_reorder)rng_below(&r, 5);
        use_slot = rng_chance(&r, 50);
        b_is_value = rng_chance(&r, 40);
        c_may_stay = rng_chance(&r, 40);
        c_may_keep = rng_chance(&r, 40);
        for (int again = 0; again < 2; again++)
            assert_int_equal(check_at(&c, kernel), VERDICT_OK);
        if (strcmp(kernel, "csr") == 0)
            assert_memory_equal(used_kernel, "csr", 3);
        by_blocks_so_far += strncmp(used_kernel, "csr", 3) != 0;
        in_half += strcmp(used_kernel, "csr-fp16") == 0 || strcmp(used_kernel, "csr-bf16") == 0;
        case_free(&c);
        release();
    }
    assert_true(by_blocks_so_far > 5 && in_half > 0);
}

/* By panels where these have the semiring, else by CSR: min and max, integers, all that they do not have. */
static void panel_of_each(rng *r, tsr_op op, tsr_semiring s)
{
    test_case c = make_case(r, op, s, (int)rng_below(r, 2));
    kernel = rng_chance(r, 50) ? "panel" : "panel-64";
    reorder = (tsr_reorder)rng_below(r, 5);
    use_slot = rng_chance(r, 50);
    if (by_blocks(&c) || s.add != TSR_ADD_PLUS || (s.type != TSR_FP32 && s.type != TSR_FP64))
        for (int again = 0; again < 2; again++)
            assert_int_equal(check_at(&c, kernel), VERDICT_OK);
    case_free(&c);
    release();
}

static void test_panels_over_semirings(void **state)
{
    (void)state;
    plain();
    for_every_semiring(panel_of_each);
}

/* Kernels as slow as tests can be small: csr pays for entries, two others for nonzero vectors, twice as much each. */
static tsr_model model = {.arch = 90, .device = "a model"};

static void make_model(void)
{
    for (int math = 0; math < TSR_GPU_MATHS; math++)
        for (int width = 0; width < TSR_MODEL_WIDTHS; width++) {
            tsr_gpu_kernel blocks = math == TSR_GPU_EXACT ? TSR_GPU_ME_BCRS : TSR_GPU_HRPB_16;
            model.kernel[TSR_GPU_CSR][math][width][1] = 1e-3;
            model.kernel[blocks][math][width][4] = 2e-3;
            model.making[blocks][0] = 10;
            model.window[math][width][0] = -1; /* two entries in a vector */
            model.window[math][width][1] = 1;
        }
}

/* 16 rows alike, one after the other or scattered: blocks pay sooner or later, or at once when many calls are expected. */
static test_case make_dense_windows(tsr_product *p, bool scattered)
{
    enum { ROWS = 64, COLS = 400, DEGREE = 50, N = 40 };
    static int64_t offsets[ROWS + 1], indices[ROWS * DEGREE];
    static float values[ROWS * DEGREE], b[COLS * N];
    for (int row = 0; row < ROWS; row++)
        for (int e = 0; e < DEGREE; e++) {
            indices[row * DEGREE + e] = e * 8 + (scattered ? row % 4 : row / 16);
            values[row * DEGREE + e] = (float)((row + e) % 7);
        }
    for (int row = 0; row <= ROWS; row++)
        offsets[row] = (int64_t)row * DEGREE;
    for (int k = 0; k < COLS * N; k++)
        b[k] = (float)(k % 11);
    *p = (tsr_product){.op = TSR_OP_SPMM, .semiring = {TSR_FP32, TSR_ADD_PLUS, TSR_MUL_TIMES}, .m = ROWS, .n = N, .k = COLS,
                       .nthreads = 2};
    p->a = (tsr_view){.format = TSR_SPARSE, .type = TSR_FP32, .index_size = 8, .nrows = ROWS, .ncols = COLS, .nvec = ROWS,
                      .vlen = COLS, .nvals = ROWS * DEGREE, .p = offsets, .i = indices, .x = values};
    p->b = (tsr_view){.format = TSR_FULL, .type = TSR_FP32, .nrows = COLS, .ncols = N, .nvec = COLS, .vlen = N, .ld = N,
                      .nvals = COLS * N, .x = b};
    return (test_case){.product = *p, .draw = DRAW_DYADIC, .wants_flags = true};
}

static void test_blocks_are_built_when_they_pay(void **state)
{
    (void)state;
    plain();
    use_slot = true;
    tsr_product p;
    test_case c = make_dense_windows(&p, false);
    int calls = 0;
    do {
        assert_int_equal(check_at(&c, "lazy"), VERDICT_OK);
        calls++;
    } while (calls < 1000000 && strcmp(used_kernel, "csr") == 0);
    assert_in_range(calls, 2, 1000);
    assert_string_equal(used_kernel, "me-bcrs-exact");
    assert_int_equal(check_at(&c, "from blocks"), VERDICT_OK);
    assert_string_equal(used_kernel, "me-bcrs-exact");
    release();
    expected_calls = 1e9;
    precision = TSR_PRECISION_BF16;
    assert_int_equal(check_at(&c, "expected"), VERDICT_OK);
    assert_string_equal(used_kernel, "hrpb-bf16");
    release();
}

/* A value that is still on its way, through the chunks that the panels of a product with a kept A use next. */
static void test_panels_after_bring(void **state)
{
    enum { COUNT = 500 };
    (void)state;
    plain();
    use_slot = true;
    rng r = {seed};
    int64_t brought[COUNT], home[COUNT], moved;
    for (int round = 0; round < 20; round++) {
        test_case c = make_plus_times(&r, TSR_FP64, 0);
        void *value;
        for (int k = 0; k < COUNT; k++)
            brought[k] = (int64_t)rng_next(&r);
        tsr_view v = {.format = TSR_FULL, .type = TSR_INT64, .by_col = true, .nrows = COUNT, .ncols = 1, .nvec = 1, .vlen = COUNT,
                      .ld = COUNT, .nvals = COUNT, .x = brought};
        check_at(&c, "A is kept");
        assert_int_equal(gpu->values->bring(&v, 2, &value, &moved), TSR_OK);
        check_at(&c, "panels");
        assert_int_equal(gpu->values->fetch(value, &(tsr_result){.x = home}, 2), TSR_OK);
        assert_memory_equal(home, brought, sizeof home);
        gpu->values->forget(value);
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
    assert_int_equal(tsr_cuda.used, 0);
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
    use_slot = true;
    expected_calls = 1e9;
    tsr_product p;
    test_case c = make_mixed_windows(&p);
    for (int which = TSR_PRECISION_EXACT; which <= TSR_PRECISION_FP16; which++) {
        precision = (tsr_precision)which;
        for (int again = 0; again < 2; again++) {
            assert_int_equal(check_at(&c, "mixed"), VERDICT_OK);
            assert_string_equal(used_kernel, used[which]);
            assert_int_equal(built, again == 0);
        }
    }
    release();
    assert_int_equal(tsr_cuda.used, 0);
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
    use_slot = true;
    expected_calls = 1e9;
    tsr_product p;
    test_case c = make_dense_windows(&p, true);
    for (int which = TSR_REORDER_NONE; which <= TSR_REORDER_TCA; which++) {
        reorder = (tsr_reorder)which;
        assert_int_equal(check_at(&c, "ordered"), VERDICT_OK);
        assert_string_equal(used_kernel, used[which]);
        release();
    }
}

/* ---- SDDMM over stencils ---- */

static test_case make_sddmm(rng *r, int size)
{
    for (;;) {
        test_case c = make_case(r, TSR_OP_SDDMM, (tsr_semiring){TSR_FP32, TSR_ADD_PLUS, TSR_MUL_TIMES}, size);
        if (c.product.k > 0 && c.product.k % 4 == 0 && c.product.mask.nvals > 0 && c.product.a.nvals > 0 && c.product.b.nvals > 0)
            return c;
        case_free(&c);
    }
}

/* By name, in every precision; what is not exact is judged where it is all the same. */
static void test_named_stencils(void **state)
{
    (void)state;
    static const char *const wanted[] = {
        [TSR_PRECISION_EXACT] = "sddmm-stencil", [TSR_PRECISION_TF32] = "sddmm-stencil-tf32",
        [TSR_PRECISION_BF16] = "sddmm-stencil-bf16", [TSR_PRECISION_FP16] = "sddmm-stencil-fp16",
    };
    plain();
    rng r = {seed};
    int used[4] = {0};
    for (int round = 0; round < 80 * rounds || (round < 3000 && !(used[0] && used[1] && used[2] && used[3])); round++) {
        test_case c = make_sddmm(&r, (int)rng_below(&r, 2));
        kernel = rng_chance(&r, 90) ? "stencil" : "csr";
        precision = c.draw == DRAW_DYADIC ? (tsr_precision)rng_below(&r, 4) : TSR_PRECISION_EXACT;
        use_slot = rng_chance(&r, 50);
        for (int again = 0; again < 2; again++)
            assert_int_equal(check_at(&c, kernel), VERDICT_OK);
        bool by_row = !used_kernel || strcmp(used_kernel, "sddmm") == 0; /* NULL: no entry passes */
        assert_true(by_row || (strcmp(kernel, "stencil") == 0 && strcmp(used_kernel, wanted[precision]) == 0));
        used[precision] += !by_row;
        case_free(&c);
        release();
        assert_int_equal(tsr_cuda.used, 0);
    }
    assert_true(used[0] && used[1] && used[2] && used[3]);
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
    use_slot = true;
    test_case c = make_dense_mask();
    int calls = 0;
    do {
        assert_int_equal(check_at(&c, "lazy"), VERDICT_OK);
        calls++;
    } while (calls < 1000000 && strcmp(used_kernel, "sddmm") == 0);
    assert_in_range(calls, 2, 1000);
    assert_string_equal(used_kernel, "sddmm-stencil");
    assert_int_equal(check_at(&c, "from the stencil"), VERDICT_OK);
    release();
    expected_calls = 1e9;
    assert_int_equal(check_at(&c, "expected"), VERDICT_OK);
    assert_string_equal(used_kernel, "sddmm-stencil");
    precision = TSR_PRECISION_TF32;
    assert_int_equal(check_at(&c, "another arithmetic"), VERDICT_OK);
    assert_string_equal(used_kernel, "sddmm-stencil-tf32");
    c.product.k = c.product.a.vlen = c.product.a.ncols = c.product.b.vlen = c.product.b.nrows = 16;
    assert_int_equal(check_at(&c, "narrow"), VERDICT_OK);
    assert_string_equal(used_kernel, "sddmm");
    release();
}

/* One element that FP16 has not: by row. */
static void test_stencil_out_of_range(void **state)
{
    (void)state;
    plain();
    kernel = "stencil";
    precision = TSR_PRECISION_FP16;
    test_case c = make_dense_mask();
    assert_int_equal(check_at(&c, "in range"), VERDICT_OK);
    assert_string_equal(used_kernel, "sddmm-stencil-fp16");
    ((float *)(intptr_t)c.product.b.x)[1000] = 1e5f;
    assert_int_equal(check_at(&c, "out of range"), VERDICT_OK);
    assert_string_equal(used_kernel, "sddmm");
}

/* ---- tight memory ---- */

static void test_little_memory(void **state)
{
    (void)state;
    plain();
    rng r = {seed};
    size_t cap = tsr_cuda.cap;
    int declined = 0, ok = 0;
    for (int round = 0; round < 200 * rounds; round++) {
        test_case c;
        tsr_semiring s = {(tsr_type)rng_below(&r, TSR_TYPE_COUNT), TSR_ADD_ANY, TSR_MUL_TIMES};
        if (s.type != TSR_BOOL)
            s.add = (tsr_add)rng_below(&r, 3);
        case_make(&c, &r, (tsr_op)rng_below(&r, TSR_OP_COUNT), s, (int)rng_below(&r, 2));
        use_slot = rng_chance(&r, 70);
        pin_b = rng_chance(&r, 30);
        pin_c = rng_chance(&r, 30);
        kernel = rng_chance(&r, 50) && by_blocks(&c) ? "bmat" : rng_chance(&r, 50) ? "stencil" : NULL;
        b_is_value = rng_chance(&r, 30);
        c_may_stay = rng_chance(&r, 30);
        c_may_keep = rng_chance(&r, 30);
        tsr_cuda.cap = (size_t)1 << rng_below(&r, 20);
        for (int again = 0; again < 2; again++)
            *(check_at(&c, "little memory") == VERDICT_OK ? &ok : &declined) += 1;
        assert_true(tsr_cuda.used <= tsr_cuda.cap);
        case_free(&c);
        release();
        assert_int_equal(tsr_cuda.used, 0);
    }
    tsr_cuda.cap = cap;
    assert_true(ok > 20 && declined > 20);
}

/* Many matrices, of which few fit: all answers right, the oldest go. */
static void test_eviction(void **state)
{
    enum { MATRICES = 12 };
    (void)state;
    plain();
    use_slot = true;
    rng r = {seed};
    test_case c[MATRICES];
    void *slots[MATRICES] = {0};
    size_t cap = tsr_cuda.cap;
    tsr_cuda.cap = 0;
    for (int k = 0; k < MATRICES; k++) {
        c[k] = make_plus_times(&r, TSR_FP64, 0);
        size_t bytes = (size_t)(4 * c[k].product.a.nvals * 12 + 8 * (c[k].product.m + c[k].product.k) * c[k].product.n + 100000);
        tsr_cuda.cap = bytes > tsr_cuda.cap ? bytes : tsr_cuda.cap;
    }
    tsr_cuda.cap += tsr_cuda.cap / 4;
    int held = 0;
    for (int step = 0; step < 100; step++) {
        int k = (int)rng_below(&r, MATRICES);
        slot = slots[k];
        tsr_product p = c[k].product;
        p.a_slot = &slot;
        held += gpu->holds(&p);
        assert_int_equal(check_at(&c[k], "eviction"), VERDICT_OK);
        slots[k] = slot;
    }
    printf("%d of 100 were held\n", held);
    for (int k = 0; k < MATRICES; k++) {
        if (slots[k])
            gpu->release(slots[k]);
        case_free(&c[k]);
    }
    slot = NULL;
    tsr_cuda.cap = cap;
    assert_int_equal(tsr_cuda.used, 0);
}

/* Two matrices with blocks take turns in memory for little more than one: both are counted, given up and built again. */
static void test_blocks_are_built_again(void **state)
{
    (void)state;
    plain();
    use_slot = true;
    expected_calls = 1e9;
    size_t cap = tsr_cuda.cap;
    void *slots[2] = {0};
    tsr_product p;
    test_case c = make_dense_windows(&p, false);
    for (int call = 0; call < 6; call++) {
        slot = slots[call % 2];
        assert_int_equal(check_at(&c, "in turn"), VERDICT_OK);
        assert_int_equal(built, 1);
        assert_int_equal(evicted, call > 0);
        slots[call % 2] = slot;
        if (call == 0)
            tsr_cuda.cap = 2 * tsr_cuda.used - 1;
    }
    for (int k = 0; k < 2; k++)
        gpu->release(slots[k]);
    slot = NULL;
    tsr_cuda.cap = cap;
    assert_int_equal(tsr_cuda.used, 0);
}

/* ---- failures ---- */

static tsr_status run_once(const test_case *c, void *x, int8_t *b)
{
    return execute(&c->product, &(tsr_result){.x = x, .b = b});
}

/* Every call of the device fails once, or from then on: never a wrong answer, nothing leaks, and afterwards all is well. */
static void fail_everywhere(test_case *c, bool sticky)
{
    if (!control_fail(1, sticky))
        return;
    control_fail(0, false);
    size_t places = (size_t)places_of(&c->product);
    void *x = malloc(places * 8 + 1);
    int8_t *b = malloc(places + 1);
    c->product.nthreads = 1;
    assert_int_equal(check_at(c, "before failures"), VERDICT_OK);
    release();
    long live = control_live();
    control_fail(0, false);
    run_once(c, x, b);
    release();
    long calls = control_calls(), step = calls / 150 + 1;
    for (long k = 1; k <= calls; k += step) {
        control_fail(k, sticky);
        tsr_status status = run_once(c, x, b);
        bool failed = control_calls() >= k; /* how often the device is asked varies */
        control_fail(0, false);
        if (sticky && failed && product_calls)
            assert_int_not_equal(status, TSR_OK);
        if (status == TSR_OK)
            assert_int_equal(check_at(c, "a failure overcome"), VERDICT_OK);
        release();
        assert_int_equal(control_live(), live);
        assert_int_equal(tsr_cuda.used, 0);
        assert_int_equal(check_at(c, "after a failure"), VERDICT_OK);
        release();
    }
    free(x);
    free(b);
}

/* Something to compute. */
static test_case make_busy(rng *r, tsr_op op, tsr_semiring s, int size)
{
    for (;;) {
        test_case c = make_case(r, op, s, size);
        if (c.product.k > 0 && c.product.mask.nvals > 0 && c.product.a.nvals > 0 && c.product.b.nvals > 0)
            return c;
        case_free(&c);
    }
}

static test_case make_masked(rng *r, tsr_op op)
{
    tsr_semiring s = {TSR_FP64, TSR_ADD_PLUS, rng_chance(r, 50) ? TSR_MUL_TIMES : TSR_MUL_PAIR};
    return make_busy(r, op, s, 0);
}

static void test_failures(void **state)
{
    (void)state;
    plain();
    rng r = {seed};
    for (int round = 0; round < 6 * rounds; round++) {
        test_case c = make_plus_times(&r, TSR_FP32, 0);
        use_slot = round % 2;
        pin_b = round % 3 == 0;
        pin_c = round % 3 != 1;
        kernel = round % 4 < 2 && by_blocks(&c) ? "bmat" : NULL;
        reorder = round % 4 ? TSR_REORDER_AUTO : TSR_REORDER_LPA;
        b_is_value = round % 6 > 2;
        c_may_stay = round % 3 == 2;
        c_may_keep = round % 3 == 1;
        fail_everywhere(&c, round / 2 % 2);
        case_free(&c);
    }
    for (int round = 0; round < 8 * rounds; round++) {
        test_case c = make_masked(&r, round / 4 ? TSR_OP_SDDMM : TSR_OP_MASKED_DOT);
        use_slot = round % 2;
        b_is_value = round / 4;
        fail_everywhere(&c, round / 2 % 2);
        case_free(&c);
    }
    kernel = "stencil";
    for (int round = 0; round < 4 * rounds; round++) {
        test_case c = make_sddmm(&r, 0);
        precision = c.draw == DRAW_DYADIC ? TSR_PRECISION_FP16 : TSR_PRECISION_EXACT;
        use_slot = round % 2;
        fail_everywhere(&c, round / 2 % 2);
        case_free(&c);
    }
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
        status = gpu->fetch(result->stays, result);
    gpu->forget(result->stays);
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
        use_slot = rng_chance(&r, 50);
        assert_int_equal(check_staying(&c), VERDICT_OK);
        tsr_result result = {.may_stay = true};
        size_t places = (size_t)places_of(&c.product);
        result.x = malloc(places * 8);
        result.b = malloc(places);
        assert_int_equal(execute(&c.product, &result), TSR_OK);
        if (result.stays)
            gpu->forget(result.stays);
        free(result.x);
        free(result.b);
        release();
        assert_int_equal(tsr_cuda.used, 0);
        case_free(&c);
    }
}

/* ---- threads ---- */

static void *worker(void *argument)
{
    rng r = {seed ^ (uint64_t)(uintptr_t)argument};
    for (int round = 0; round < 40; round++) {
        test_case c = make_plus_times(&r, TSR_FP64, 0);
        void *mine = NULL;
        tsr_product p = c.product;
        p.a_slot = &mine;
        p.kernel = "csr"; /* blocks, which may be built for the second one, have sums in another order */
        size_t places = (size_t)(p.m * p.n);
        double *x = malloc(places * sizeof *x), *y = malloc(places * sizeof *y);
        int8_t *b = malloc(places);
        tsr_status first = gpu->execute(&p, &(tsr_result){.x = x, .b = b});
        tsr_status second = gpu->execute(&p, &(tsr_result){.x = y, .b = b});
        bool same = first == TSR_OK && second == TSR_OK && memcmp(x, y, places * sizeof *x) == 0;
        if (mine)
            gpu->release(mine);
        free(x);
        free(y);
        free(b);
        case_free(&c);
        if (!same)
            return (void *)1;
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    plain();
    size_t cap = tsr_cuda.cap;
    tsr_cuda.cap = 16 << 20; /* little, but enough for each */
    assert_int_equal(run_numbered_threads(4, worker), 0);
    tsr_cuda.cap = cap;
    test_case c;
    tsr_product p;
    c = make_dense_windows(&p, false);
    check_at(&c, "after threads"); /* frees what others left */
    assert_int_equal(tsr_cuda.used, 0);
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
    seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL);
    rounds = argc > 2 ? atoi(argv[2]) : rounds;
    if (argc > 3)
        cmocka_set_test_filter(argv[3]);
    printf("seed %llu\n", (unsigned long long)seed);
    control_seed(seed);
    make_model();
    const tsr_backend_options options = {.model = &model};
    if (tsr_backend_score(&options) <= 0)
        return SKIPPED;
    gpu = tsr_backend_init(&options);
    if (!gpu)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_semiring), cmocka_unit_test(test_pinned), cmocka_unit_test(test_values_of_products),
        cmocka_unit_test(test_nothing_moves), cmocka_unit_test(test_measure),
        cmocka_unit_test(test_panels_after_bring),
        cmocka_unit_test(test_parts_of_pinned_blocks), cmocka_unit_test(test_kept), cmocka_unit_test(test_holds_and_moves_less),
        cmocka_unit_test(test_uncast_values), cmocka_unit_test(test_named_kernels),
        cmocka_unit_test(test_panels_over_semirings),
        cmocka_unit_test(test_blocks_are_built_when_they_pay), cmocka_unit_test(test_order_that_pays),
        cmocka_unit_test(test_mixed_windows_are_split),
        cmocka_unit_test(test_named_stencils), cmocka_unit_test(test_stencil_is_built_when_it_pays),
        cmocka_unit_test(test_stencil_out_of_range), cmocka_unit_test(test_little_memory),
        cmocka_unit_test(test_eviction), cmocka_unit_test(test_blocks_are_built_again),
        cmocka_unit_test(test_failures), cmocka_unit_test(test_results_that_stay), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_declines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
