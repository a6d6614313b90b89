/* Every allocation of the converters fails once: out of memory is reported and nothing stays behind.
 * Linked with --wrap for the allocation functions.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/format/blocks.h"
#include "src/format/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *block);

static bool counting;   /* only while the code under test runs: the test framework allocates too */
static int until_fail;  /* allocations that still succeed; negative: all */
static int64_t live;

static bool granted(void)
{
    return !counting || until_fail < 0 || until_fail-- > 0;
}

static void *note(void *block)
{
    live += counting && block;
    return block;
}

void *__wrap_malloc(size_t size)
{
    return granted() ? note(__real_malloc(size)) : NULL;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return granted() ? note(__real_calloc(count, size)) : NULL;
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return granted() ? note(__real_aligned_alloc(alignment, size)) : NULL;
}

void __wrap_free(void *block)
{
    live -= counting && block;
    __real_free(block);
}

static void check_all_failures(const tsr_view *in, tsr_type type, unsigned flags)
{
    int failures = 0;
    for (int k = 0;; k++) {
        tsr_compressed c;
        live = 0;
        until_fail = k;
        counting = true;
        tsr_status status = tsr_compress(&c, in, type, flags, 2);
        if (status == TSR_OK)
            tsr_compressed_free(&c);
        counting = false;
        assert_true(status == TSR_OK || status == TSR_OUT_OF_MEMORY);
        assert_int_equal(live, 0);
        if (status == TSR_OK)
            break;
        assert_null(c.view.p);
        assert_null(c.view.x);
        failures++;
    }
    assert_true(failures >= 2);
}

static void test_small(void **state)
{
    (void)state;
    const int64_t p[] = {0, 2, 3}, i[] = {3, 0, 1}, h[] = {1, 4};
    const double x[] = {1, 2, 3};
    tsr_view v = {.format = TSR_SPARSE, .type = TSR_FP64, .jumbled = true, .index_size = 8, .nrows = 2, .ncols = 4,
                  .nvec = 2, .vlen = 4, .nvals = 3, .p = p, .i = i, .x = x};
    for (unsigned flags = 0; flags < 4; flags++) {
        check_all_failures(&v, TSR_FP64, flags);
        check_all_failures(&v, TSR_INT32, flags);
    }
    v.format = TSR_HYPERSPARSE;
    v.h = h;
    v.nrows = 6;
    v.iso = true;
    for (unsigned flags = 0; flags < 4; flags++)
        check_all_failures(&v, TSR_INT8, flags);
}

/* Large enough for blocks in huge pages. */
static void test_large(void **state)
{
    (void)state;
    enum { N = 1200, NVALS = N * N };
    int64_t *p = malloc((N + 1) * sizeof *p), *i = malloc((size_t)NVALS * sizeof *i);
    float *x = calloc(NVALS, sizeof *x);
    for (int64_t r = 0; r <= N; r++)
        p[r] = r * N;
    for (int64_t e = 0; e < NVALS; e++)
        i[e] = N - 1 - e % N;
    tsr_view v = {.format = TSR_SPARSE, .type = TSR_FP32, .jumbled = true, .index_size = 8, .nrows = N, .ncols = N,
                  .nvec = N, .vlen = N, .nvals = NVALS, .p = p, .i = i, .x = x};
    check_all_failures(&v, TSR_FP64, 0);
    check_all_failures(&v, TSR_FP64, TSR_COMPRESS_FLIP);
    free(p);
    free(i);
    free(x);
}

static tsr_status order_and_take(const tsr_source *a, tsr_reorder which)
{
    uint32_t order[40];
    int64_t vectors[5];
    tsr_source taken = {0};
    tsr_status status = tsr_make_order(order, a, which, 1);
    if (status == TSR_OK)
        status = tsr_take_rows(&taken, a, order, a->nrows, 1);
    tsr_free_source(&taken);
    return status == TSR_OK ? tsr_sample_vectors(vectors, a, order, 1) : status;
}

/* Orders of rows: the same. */
static void test_orders(void **state)
{
    (void)state;
    int64_t p[41];
    uint32_t i[80];
    float x[80] = {0};
    for (int r = 0; r <= 40; r++)
        p[r] = 2 * r;
    for (int e = 0; e < 80; e++)
        i[e] = (uint32_t)(e % 2 * 50 + e / 10);
    tsr_source a = {40, 100, 80, p, i, x, TSR_NUMBER_FP32};
    for (int which = TSR_REORDER_LPA; which <= TSR_REORDER_LOA; which++) {
        tsr_status status = TSR_OUT_OF_MEMORY;
        for (int k = 0; status != TSR_OK; k++) {
            live = 0;
            until_fail = k;
            counting = true;
            status = order_and_take(&a, (tsr_reorder)which);
            counting = false;
            assert_true(status == TSR_OK || status == TSR_OUT_OF_MEMORY);
            assert_int_equal(live, 0);
            assert_true(status != TSR_OK || k >= 8);
        }
    }
}

/* A size that no memory holds is an error, not a crash. */
static void test_absurd(void **state)
{
    (void)state;
    const int64_t p[] = {0, 1}, h[] = {7}, i[] = {9};
    tsr_view v = {.format = TSR_HYPERSPARSE, .type = TSR_FP64, .index_size = 8, .nrows = (int64_t)1 << 60,
                  .ncols = (int64_t)1 << 60, .nvec = 1, .vlen = (int64_t)1 << 60, .nvals = 1, .p = p, .h = h, .i = i};
    tsr_compressed c;
    assert_int_equal(tsr_compress(&c, &v, TSR_FP64, 0, 2), TSR_OUT_OF_MEMORY);
    assert_int_equal(tsr_compress(&c, &v, TSR_FP64, TSR_COMPRESS_FLIP, 2), TSR_OUT_OF_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_absurd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
