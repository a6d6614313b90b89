/* Products as the engine would send them to the plug-in, judged by the oracle.
 * SPDX-License-Identifier: Apache-2.0 */
#include "test/cuda/plugin_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/device/context.h"
#include "src/policy/model/model.h"
#include "test/cuda/device_control.h"

sending how;
sent last;
void *slot;
static void *b_slot, *mask_slot;

int64_t places_of(const tsr_product *p)
{
    return tsr_is_masked(p->op) ? p->mask.nvals : p->m * p->n;
}

/* What was pinned, or NULL. */
static void *pin(bool wanted, const void *block, int64_t elements, tsr_type type)
{
    void *p = (void *)(intptr_t)block;
    return wanted && p && elements > 0 && gpu->pin(p, (size_t)elements * tsr_type_size(type)) ? p : NULL;
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
    void *b = pin(how.pin_b && !p->b.iso && p->op != TSR_OP_MASKED_DOT, p->b.x, elements, p->b.type);
    void *c = pin(how.pin_c, result->x, places_of(p), p->semiring.type), *current = tsr_cuda_current();
    long calls = control_calls();
    tsr_status status = gpu->execute(p, result);
    last.calls = control_calls() - calls;
    assert_ptr_equal(tsr_cuda_current(), current);
    unpin(b);
    unpin(c);
    return status;
}

/* ---- operands and results that stay with the backend ---- */

/* A dense operand is uploaded, and no longer shown. */
static tsr_status upload(tsr_view *v, void **value)
{
    int64_t moved;
    if (!how.b_is_value || tsr_is_compressed(v) || !v->x)
        return TSR_OK;
    tsr_status status = gpu->contents->upload(v, 2, value, &moved);
    v->x = v->b = NULL;
    return status;
}

static void forget(void *value)
{
    if (value)
        gpu->contents->drop(value);
}

tsr_status download_stays(tsr_result *result)
{
    tsr_download to = {.nthreads = 2, .x = result->x, .b = result->b};
    const tsr_status status = gpu->contents->download(result->stays, &to);
    result->nvals = to.nvals;
    result->bytes_moved = to.bytes_moved;
    return status;
}

/* Also twice. */
static tsr_status fetch_value(tsr_result *result)
{
    int64_t nvals = 0, known = result->nvals;
    tsr_status status = gpu->arrays->count(result->stays, &nvals);
    for (int again = 0; again < 2 && status == TSR_OK; again++)
        status = download_stays(result);
    if (status == TSR_OK) {
        assert_true(known < 0 || known == nvals);
        assert_int_equal(result->nvals, nvals);
    }
    return status;
}

/* What was kept is what was downloaded. */
static tsr_status compare_kept(const tsr_product *p, const tsr_result *result)
{
    size_t places = (size_t)places_of(p), size = tsr_type_size(p->semiring.type);
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

int results_that_stayed;

static tsr_status execute_with_values(tsr_product *p, tsr_result *result)
{
    bool dense = !tsr_is_masked(p->op), stays = how.c_may_stay && dense;
    tsr_status status = upload(&p->b, &p->b_value);
    if (status == TSR_OK && p->op == TSR_OP_SDDMM)
        status = upload(&p->a, &p->a_value);
    result->may_stay = stays;
    result->may_keep = how.c_may_keep && dense;
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

/* Is it in the table, with what the arithmetic adds behind a hyphen? */
static bool is_listed(const char *kernel)
{
    tsr_kernel_row row;
    for (int k = 0; tsr_backend_kernel(k, &row); k++) {
        const size_t length = strlen(row.trace);
        if (strncmp(kernel, row.trace, length) == 0 && (!kernel[length] || kernel[length] == '-'))
            return true;
    }
    return false;
}

tsr_status execute(const tsr_product *product, tsr_result *result)
{
    tsr_product p = *product;
    p.a_slot = how.use_slot ? &slot : NULL;
    p.b_slot = how.use_slot && tsr_is_masked(product->op) ? &b_slot : NULL;
    p.mask_slot = how.use_slot && tsr_is_masked(product->op) ? &mask_slot : NULL;
    p.kernel = how.kernel;
    p.precision = how.precision;
    p.reorder = how.reorder;
    p.expected_calls = how.expected_calls;
    if (!gpu->supports(&p))
        return TSR_DECLINED;
    tsr_status status = execute_with_values(&p, result);
    last.kernel = result->kernel;
    assert_true(!last.kernel || is_listed(last.kernel));
    last.bytes_moved = result->bytes_moved;
    last.built = result->built;
    last.evicted = result->evicted;
    return status;
}

void plain(void)
{
    how = (sending){.precision = TSR_PRECISION_EXACT, .reorder = TSR_REORDER_NONE};
}

void release(void)
{
    void **const slots[] = {&slot, &b_slot, &mask_slot};
    for (int k = 0; k < 3; k++) {
        if (*slots[k])
            gpu->release(*slots[k]);
        *slots[k] = NULL;
    }
}

verdict check_at(const test_case *c, const char *where)
{
    char why[200] = "";
    verdict v = check_case(c, execute, why, sizeof why);
    if (v == VERDICT_WRONG) {
        printf("%s, seed %llu: %s (%s)\n", where, (unsigned long long)seed, why, last.kernel ? last.kernel : "none");
        case_print(c);
        fail();
    }
    return v;
}

static bool exists(tsr_semiring s)
{
    return s.type != TSR_BOOL || s.add == TSR_ADD_LOR || s.add == TSR_ADD_ANY;
}

void for_every_semiring(void (*body)(rng *r, tsr_op op, tsr_semiring s))
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

/* ---- cases ---- */

test_case make_case(rng *r, tsr_op op, tsr_semiring s, int size)
{
    test_case c;
    for (;;) {
        case_make(&c, r, op, s, size);
        case_narrow(&c, r);
        if (!tsr_is_masked(c.product.op) || !c.product.mask.jumbled)
            return c;
        case_free(&c);
    }
}

test_case make_busy(rng *r, tsr_op op, tsr_semiring s, int size)
{
    for (;;) {
        test_case c = make_case(r, op, s, size);
        if (c.product.k > 0 && c.product.mask.nvals > 0 && c.product.a.nvals > 0 && c.product.b.nvals > 0)
            return c;
        case_free(&c);
    }
}

test_case make_masked(rng *r, tsr_op op)
{
    tsr_semiring s = {TSR_FP64, TSR_ADD_PLUS, rng_chance(r, 50) ? TSR_MUL_TIMES : TSR_MUL_PAIR};
    return make_busy(r, op, s, 0);
}

test_case make_plus_times(rng *r, tsr_type type, int size)
{
    test_case c;
    for (;;) {
        case_make(&c, r, TSR_OP_SPMM, (tsr_semiring){type, TSR_ADD_PLUS, TSR_MUL_TIMES}, size);
        case_narrow(&c, r);
        if (c.product.m > 0 && c.product.n > 1 && c.product.k > 0 && c.product.a.nvals > 0)
            return c;
        case_free(&c);
    }
}

test_case make_sddmm(rng *r, int size)
{
    for (;;) {
        test_case c = make_case(r, TSR_OP_SDDMM, (tsr_semiring){TSR_FP32, TSR_ADD_PLUS, TSR_MUL_TIMES}, size);
        if (c.product.k > 0 && c.product.k % 4 == 0 && c.product.mask.nvals > 0 && c.product.a.nvals > 0 && c.product.b.nvals > 0)
            return c;
        case_free(&c);
    }
}

test_case make_dense_windows(tsr_product *p, bool scattered)
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

bool by_blocks(const test_case *c)
{
    return c->draw == DRAW_DYADIC || (control_sums_exactly() && c->product.semiring.type == TSR_FP32);
}

/* ---- programs ---- */

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

int start_plugin_with_model(int argc, char **argv)
{
    if (argc > 3)
        cmocka_set_test_filter(argv[3]);
    make_model();
    return start_plugin(argc, argv, &(tsr_backend_options){.model = &model});
}
