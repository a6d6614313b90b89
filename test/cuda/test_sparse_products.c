/* Sparse times sparse through the plug-in, judged by the oracle: any semiring, form, orientation and slot, little memory, calls of the device
 * that fail.
 *   test_sparse_products [seed] [rounds] [pattern of the tests' names]
 * SPDX-License-Identifier: Apache-2.0 */
#include "test/cuda/plugin_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/device/context.h"
#include "kernels/ref/value.h"
#include "kernels/spgemm.h"
#include "test/cuda/device_control.h"
#include "test/threads.h"

static void *slots[3];
static _Thread_local int64_t last_moved; /* of the last product, and what C takes on the device */
static size_t last_bytes;

static void release_slots(void)
{
    for (int k = 0; k < 3; k++) {
        if (slots[k])
            gpu->release(slots[k]);
        slots[k] = NULL;
    }
}

/* ---- cases ---- */

typedef struct sparse_case {
    test_case drawn;
    tsr_product product;
    bool pattern;
    uint8_t index_size;
    void *presence, *values; /* of a bitmap or full mask */
} sparse_case;

static void free_case(sparse_case *c)
{
    case_free(&c->drawn);
    free(c->presence);
    free(c->values);
}

/* A bitmap or full one in its place, with what is padding between its vectors. */
static void make_mask_dense(rng *r, sparse_case *c)
{
    tsr_product *p = &c->product;
    const bool full = rng_chance(r, 20);
    const int64_t nvec = p->c_by_col ? p->n : p->m, vlen = p->c_by_col ? p->m : p->n, ld = vlen + rng_below(r, 3), places = nvec * ld;
    const tsr_type type = (tsr_type)rng_below(r, TSR_TYPE_COUNT);
    const size_t size = tsr_type_size(type);
    int8_t *b = c->presence = malloc((size_t)places + 1);
    char *x = c->values = calloc((size_t)places + 1, size);
    if (!b || !x)
        abort();
    for (int64_t k = 0; k < places; k++) {
        b[k] = rng_chance(r, 50);
        x[(size_t)k * size + (size_t)rng_below(r, (int64_t)size)] = (char)rng_below(r, 2);
    }
    p->mask = (tsr_view){.format = full ? TSR_FULL : TSR_BITMAP, .type = type, .by_col = p->c_by_col, .iso = rng_chance(r, 20), .nrows = p->m,
                         .ncols = p->n, .nvec = nvec, .vlen = vlen, .ld = ld, .b = full ? NULL : b, .x = x};
    p->mask_structural = rng_chance(r, 50);
}

/* The operands of a masked product, with and without its mask. */
static sparse_case draw_case(rng *r, tsr_semiring s, int size)
{
    sparse_case c;
    bool fits;
    do {
        c = (sparse_case){.drawn = make_case(r, TSR_OP_MASKED_DOT, s, size)};
        c.product = c.drawn.product;
        c.product.op = TSR_OP_SPMM;
        if (rng_chance(r, 40))
            c.product.mask = (tsr_view){0};
        c.product.mask_complement = c.product.mask.p && rng_chance(r, 50);
        fits = gpu->sparse->supports(&c.product);
        if (!fits)
            free_case(&c);
    } while (!fits);
    c.product.c_by_col = rng_chance(r, 50);
    if (c.product.mask.p && rng_chance(r, 40))
        make_mask_dense(r, &c);
    c.product.nthreads = 1 + (int)rng_below(r, 3);
    c.pattern = rng_chance(r, 15);
    c.index_size = rng_chance(r, 70) ? 8 : 4;
    return c;
}

static tsr_semiring draw_semiring(rng *r)
{
    tsr_semiring s = {(tsr_type)rng_below(r, TSR_TYPE_COUNT), (tsr_add)rng_below(r, TSR_ADD_COUNT), (tsr_mul)rng_below(r, TSR_MUL_COUNT)};
    if (s.type == TSR_BOOL)
        s.add = rng_chance(r, 50) ? TSR_ADD_LOR : TSR_ADD_ANY;
    else if (s.add == TSR_ADD_LOR)
        s.add = TSR_ADD_PLUS;
    return s;
}

/* ---- the oracle ---- */

typedef struct arrays {
    int64_t *p, *h, nvec, nvals;
    void *i, *x;
} arrays;

static void *fresh(int64_t count, size_t size)
{
    void *p = malloc((size_t)(count > 0 ? count : 1) * size);
    if (!p)
        abort();
    memset(p, 0xa5, (size_t)(count > 0 ? count : 1) * size);
    return p;
}

static arrays arrays_for(const sparse_case *c, int64_t nvec, int64_t nvals)
{
    return (arrays){.p = fresh(nvec + 2, sizeof(int64_t)), .h = fresh(nvec, sizeof(int64_t)), .nvec = nvec, .nvals = nvals,
                    .i = fresh(nvals, c->index_size), .x = fresh(nvals, tsr_type_size(c->product.semiring.type))};
}

static void free_arrays(arrays *a)
{
    free(a->p);
    free(a->h);
    free(a->i);
    free(a->x);
}

static tsr_spgemm product_of(const sparse_case *c)
{
    const tsr_product *p = &c->product;
    return (tsr_spgemm){.semiring = p->semiring, .m = p->m, .n = p->n, .k = p->k, .a = p->a, .b = p->b, .pattern = c->pattern,
                        .c_by_col = p->c_by_col, .sorted = true, .nthreads = 1, .masked = tsr_has_mask(p), .mask = p->mask,
                        .mask_structural = p->mask_structural, .mask_complement = p->mask_complement};
}

static tsr_spgemm_c view_of(const arrays *a, uint8_t index_size)
{
    return (tsr_spgemm_c){.p = a->p, .h = a->h, .i = a->i, .x = a->x, .index_size = index_size};
}

static arrays oracle(const sparse_case *c)
{
    tsr_spgemm_size size;
    const tsr_spgemm s = product_of(c);
    int64_t *p = fresh(c->product.m + c->product.n + 2, sizeof *p);
    assert_int_equal(tsr_ref_spgemm_count(&s, &size, p), TSR_OK);
    free(p);
    arrays want = arrays_for(c, size.nvec, size.nvals);
    const tsr_spgemm_c to = view_of(&want, c->index_size);
    assert_int_equal(tsr_ref_spgemm_fill(&s, &to), TSR_OK);
    return want;
}

/* ---- the plug-in ---- */

static tsr_status compute(const sparse_case *c, arrays *got, bool use_slots)
{
    tsr_product p = c->product;
    tsr_sparse_result r = {.pattern = c->pattern};
    void *there = NULL;
    p.a_slot = use_slots ? &slots[0] : NULL;
    p.b_slot = use_slots ? &slots[1] : NULL;
    p.mask_slot = use_slots ? &slots[2] : NULL;
    if (c->pattern)
        p.semiring = (tsr_semiring){TSR_BOOL, TSR_ADD_ANY, TSR_MUL_PAIR};
    const tsr_status multiplied = gpu->sparse->multiply(&there, &p, &r);
    assert_true((multiplied == TSR_OK) == (there != NULL));
    if (multiplied != TSR_OK)
        return multiplied;
    const tsr_spgemm plain = product_of(c), s = tsr_spgemm_by_row(&plain);
    const bool hyper = s.a.format == TSR_HYPERSPARSE && !s.a.by_col;
    *got = arrays_for(c, hyper ? s.a.nvec : s.m, r.nvals);
    if (hyper)
        memcpy(got->h, s.a.h, (size_t)s.a.nvec * sizeof *got->h);
    tsr_download to = {.nthreads = p.nthreads, .p = got->p, .h = hyper ? got->h : NULL, .nvec = got->nvec, .i = got->i, .x = got->x,
                       .index_size = c->index_size};
    const tsr_status downloaded = gpu->contents->download(there, &to);
    gpu->contents->drop(there);
    last_moved = r.bytes_moved + to.bytes_moved;
    if (downloaded != TSR_OK)
        free_arrays(got);
    return downloaded;
}

/* ---- judging ---- */

static double number_at(tsr_type type, const void *x, int64_t e)
{
    return type == TSR_FP32 ? (double)((const float *)x)[e] : ((const double *)x)[e];
}

/* Sums of dyadic values are exact; others are rounded at every step here, at the end there. */
static bool near(double x, double y, draw how_drawn)
{
    if (isnan(x) || isnan(y) || isinf(x) || isinf(y))
        return how_drawn != DRAW_DYADIC || x == y || (isnan(x) && isnan(y));
    return how_drawn == DRAW_DYADIC ? x == y : fabs(x - y) <= 1e-3 * (1 + fabs(x) + fabs(y)) || how_drawn != DRAW_PLAIN;
}

static bool same_values(const sparse_case *c, const arrays *got, const arrays *want)
{
    const tsr_type type = c->product.semiring.type;
    const tsr_spgemm s = product_of(c);
    const tsr_spgemm_c to = view_of(got, c->index_size);
    if (c->product.semiring.add == TSR_ADD_ANY)
        return tsr_ref_spgemm_matches_any(&s, &to, got->nvec);
    if (!tsr_type_is_float(type))
        return memcmp(got->x, want->x, (size_t)want->nvals * tsr_type_size(type)) == 0;
    for (int64_t e = 0; e < want->nvals; e++)
        if (!near(number_at(type, got->x, e), number_at(type, want->x, e), c->drawn.draw))
            return false;
    return true;
}

static void judge(const sparse_case *c, const arrays *got, const arrays *want)
{
    assert_int_equal(got->nvec, want->nvec);
    assert_int_equal(got->nvals, want->nvals);
    assert_memory_equal(got->p, want->p, (size_t)(want->nvec + 1) * sizeof *want->p);
    assert_memory_equal(got->i, want->i, (size_t)want->nvals * c->index_size);
    if (!c->pattern && !same_values(c, got, want)) {
        case_print(&c->drawn);
        fail_msg("other values");
    }
}

static size_t bytes_of(const sparse_case *c, const arrays *want)
{
    return (size_t)want->nvals * (4 + (c->pattern ? 0 : tsr_type_size(c->product.semiring.type)));
}

static tsr_status check(const sparse_case *c, bool use_slots)
{
    arrays got, want = oracle(c);
    const tsr_status status = compute(c, &got, use_slots);
    if (status == TSR_OK) {
        judge(c, &got, &want);
        free_arrays(&got);
        last_bytes = bytes_of(c, &want);
    }
    free_arrays(&want);
    return status;
}

/* ---- tests ---- */

static void test_random(void **state)
{
    (void)state;
    rng r = {seed};
    for (int round = 0; round < 300 * rounds; round++) {
        sparse_case c = draw_case(&r, draw_semiring(&r), (int)rng_below(&r, 2));
        const bool use_slots = rng_chance(&r, 60);
        for (int again = 0; again < 2; again++) {
            tsr_product p = c.product;
            p.a_slot = &slots[0];
            p.b_slot = &slots[1];
            p.mask_slot = &slots[2];
            if (!c.pattern)
                assert_int_equal(gpu->holds(&p), use_slots && again);
            assert_int_equal(check(&c, use_slots), TSR_OK);
        }
        release_slots();
        assert_int_equal(tsr_cuda->used, 0);
        free_case(&c);
    }
}

/* C A', whose slots hold the matrices the other way round. */
static void test_transposed_slots(void **state)
{
    (void)state;
    rng r = {seed + 1};
    for (int round = 0; round < 60 * rounds; round++) {
        sparse_case c = draw_case(&r, draw_semiring(&r), 0);
        c.product.mask = (tsr_view){0}; /* never shown transposed */
        assert_int_equal(check(&c, true), TSR_OK);
        c.product = tsr_product_turned(&c.product);
        void *of_a = slots[0];
        slots[0] = slots[1];
        slots[1] = of_a;
        c.product.c_by_col = rng_chance(&r, 50);
        assert_int_equal(check(&c, true), TSR_OK);
        release_slots();
        free_case(&c);
    }
}

/* A matrix times itself crosses the bus once. */
static void test_square(void **state)
{
    (void)state;
    rng r = {seed + 2};
    for (int round = 0, squares = 0; squares < 10; round++) {
        sparse_case c = draw_case(&r, (tsr_semiring){TSR_INT64, TSR_ADD_PLUS, TSR_MUL_TIMES}, 0);
        tsr_product *p = &c.product;
        if (p->m == p->k) {
            int64_t offsets[4096];
            p->mask = (tsr_view){0};
            p->n = p->k;
            p->b = p->a;
            assert_int_equal(check(&c, false), TSR_OK);
            const int64_t once = last_moved;
            assert_true(p->b.nvec < 4096);
            memcpy(offsets, p->a.p, (size_t)(p->a.nvec + 1) * sizeof *offsets);
            p->b.p = offsets;
            assert_int_equal(check(&c, false), TSR_OK);
            assert_true(last_moved > once);
            squares++;
        }
        free_case(&c);
    }
}

static void test_little_memory(void **state)
{
    (void)state;
    rng r = {seed + 3};
    const size_t cap = tsr_cuda->cap;
    int ok = 0, declined = 0;
    for (int round = 0; round < 200 * rounds; round++) {
        sparse_case c = draw_case(&r, draw_semiring(&r), 1 + (int)rng_below(&r, 2));
        tsr_cuda->cap = (size_t)rng_below(&r, (int64_t)1 << (10 + rng_below(&r, 10)));
        for (int again = 0; again < 2; again++)
            *(check(&c, again) == TSR_OK ? &ok : &declined) += 1;
        assert_true(tsr_cuda->used <= tsr_cuda->cap);
        release_slots();
        assert_int_equal(tsr_cuda->used, 0);
        free_case(&c);
    }
    tsr_cuda->cap = cap;
    assert_true(ok > 20 && declined > 20);
}

/* The operands are there; C finds no room as a whole. */
static void test_portions(void **state)
{
    (void)state;
    rng r = {seed + 5};
    const size_t cap = tsr_cuda->cap;
    int large = 0, in_portions = 0;
    for (int round = 0; large < 12 * rounds && round < 2000 * rounds; round++) {
        sparse_case c = draw_case(&r, draw_semiring(&r), 2);
        assert_int_equal(check(&c, true), TSR_OK);
        const size_t rows = (size_t)(c.product.c_by_col ? c.product.n : c.product.m) * 40 + 8192;
        if (last_bytes > rows) {
            tsr_cuda->cap = tsr_cuda->used + rows + (size_t)rng_below(&r, (int64_t)(last_bytes - rows));
            in_portions += check(&c, true) == TSR_OK;
            large++;
        }
        release_slots();
        tsr_cuda->cap = cap;
        free_case(&c);
    }
    printf("%d of %d in portions\n", in_portions, large);
    assert_true(in_portions > large / 2);
}

/* The same values in another order. */
static void redraw(rng *r, const tsr_view *v, tsr_type type)
{
    const size_t size = tsr_type_size(type);
    char *x = (char *)(uintptr_t)v->x, kept[8];
    for (int64_t e = 0; x && !v->iso && e < v->nvals; e++) {
        const int64_t other = rng_below(r, v->nvals);
        memcpy(kept, x + (size_t)e * size, size);
        memmove(x + (size_t)e * size, x + (size_t)other * size, size);
        memcpy(x + (size_t)other * size, kept, size);
    }
}

/* With and without the pattern. */
static void check_again(const sparse_case *c, void *there, arrays *got, bool pattern)
{
    tsr_sparse_result result = {.pattern = c->pattern};
    tsr_download to = {.nthreads = 1, .p = pattern ? got->p : NULL, .nvec = got->nvec, .i = got->i, .x = got->x, .index_size = c->index_size};
    const tsr_spgemm plain = product_of(c), s = tsr_spgemm_by_row(&plain);
    to.h = s.a.format == TSR_HYPERSPARSE && !s.a.by_col ? s.a.h : NULL;
    arrays want = oracle(c);
    assert_int_equal(gpu->sparse->again(there, &c->product, &result), TSR_OK);
    if (!pattern)
        memset(got->x, 0xa5, (size_t)got->nvals * tsr_type_size(c->product.semiring.type));
    assert_int_equal(gpu->contents->download(there, &to), TSR_OK);
    judge(c, got, &want);
    free_arrays(&want);
}

static void test_again(void **state)
{
    (void)state;
    rng r = {seed + 6};
    for (int round = 0; round < 100 * rounds; round++) {
        sparse_case c = draw_case(&r, draw_semiring(&r), (int)rng_below(&r, 2));
        void *there;
        c.pattern = false;
        c.product.mask = (tsr_view){0};
        tsr_sparse_result result = {.comes_again = true};
        assert_int_equal(gpu->sparse->multiply(&there, &c.product, &result), TSR_OK);
        const tsr_spgemm plain = product_of(&c), s = tsr_spgemm_by_row(&plain);
        const bool hyper = s.a.format == TSR_HYPERSPARSE && !s.a.by_col;
        arrays got = arrays_for(&c, hyper ? s.a.nvec : s.m, result.nvals);
        for (int k = 0; k < 3; k++) {
            redraw(&r, &c.product.a, c.product.semiring.type);
            if (k)
                redraw(&r, &c.product.b, c.product.semiring.type);
            check_again(&c, there, &got, k < 2);
        }
        gpu->contents->drop(there);
        assert_int_equal(tsr_cuda->used, 0);
        free_arrays(&got);
        free_case(&c);
    }
}

/* Every call of the device fails once, or from then on. */
static void fail_everywhere(const sparse_case *c, bool use_slots, bool sticky)
{
    arrays got;
    if (!control_fail(1, sticky))
        return;
    control_fail(0, false);
    release_slots();
    assert_int_equal(check(c, use_slots), TSR_OK); /* from now on all is there that stays */
    release_slots();
    const long live = control_live();
    control_fail(0, false);
    assert_int_equal(check(c, use_slots), TSR_OK);
    release_slots();
    const long calls = control_calls();
    for (long k = 1; k <= calls; k++) {
        control_fail(k, sticky);
        const tsr_status status = compute(c, &got, use_slots);
        control_fail(0, false);
        if (status == TSR_OK) {
            arrays want = oracle(c);
            judge(c, &got, &want);
            free_arrays(&got);
            free_arrays(&want);
        }
        release_slots();
        assert_int_equal(control_live(), live);
        assert_int_equal(tsr_cuda->used, 0);
        assert_int_equal(check(c, use_slots), TSR_OK);
        release_slots();
    }
}

static void test_failures(void **state)
{
    (void)state;
    rng r = {seed + 4};
    for (int round = 0; round < 8 * rounds; round++) {
        sparse_case c = draw_case(&r, draw_semiring(&r), 0);
        c.product.nthreads = 1;
        fail_everywhere(&c, round % 2, round / 2 % 2);
        free_case(&c);
    }
}

/* ---- threads ---- */

static bool same_arrays(const sparse_case *c, const arrays *got, const arrays *want)
{
    return got->nvals == want->nvals && memcmp(got->p, want->p, (size_t)(want->nvec + 1) * sizeof *want->p) == 0 &&
           memcmp(got->i, want->i, (size_t)want->nvals * c->index_size) == 0 &&
           (c->pattern || memcmp(got->x, want->x, (size_t)want->nvals * tsr_type_size(c->product.semiring.type)) == 0);
}

/* Operands of its own, integers; what others hold meanwhile leaves it less memory. */
static void *worker(void *argument)
{
    rng r = {seed ^ (uint64_t)(uintptr_t)argument};
    bool ok = true;
    for (int round = 0; round < 20 && ok; round++) {
        sparse_case c = draw_case(&r, (tsr_semiring){TSR_INT32, TSR_ADD_PLUS, TSR_MUL_TIMES}, 0);
        arrays got, want = oracle(&c);
        ok = compute(&c, &got, false) == TSR_OK;
        if (ok) {
            ok = same_arrays(&c, &got, &want);
            free_arrays(&got);
        }
        free_arrays(&want);
        free_case(&c);
    }
    return ok ? NULL : (void *)1;
}

static void test_threads(void **state)
{
    (void)state;
    assert_int_equal(run_numbered_threads(4, worker), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random), cmocka_unit_test(test_transposed_slots), cmocka_unit_test(test_square),
        cmocka_unit_test(test_little_memory), cmocka_unit_test(test_portions), cmocka_unit_test(test_failures),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_again),
    };
    const int status = start_plugin(argc, argv, &(tsr_backend_options){0});
    if (argc > 3)
        cmocka_set_test_filter(argv[3]);
    return status ? status : cmocka_run_group_tests(tests, NULL, NULL);
}
