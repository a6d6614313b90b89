/* Every allocation of the converters fails once: out of memory is reported and nothing stays behind.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/format/blocks/tc_blocks.h"
#include "src/format/sparse/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/unit/failing_memory.h"

typedef struct compression {
    const tsr_view *in;
    tsr_type type;
    unsigned flags;
} compression;

static tsr_status attempt_compress(void *context)
{
    const compression *want = context;
    tsr_compressed c;
    tsr_status status = tsr_compress(&c, want->in, want->type, want->flags, 2);
    if (status == TSR_OK)
        tsr_compressed_free(&c);
    else
        assert_true(!c.view.p && !c.view.x);
    return status;
}

static void check_all_failures(const tsr_view *in, tsr_type type, unsigned flags)
{
    assert_true(memory_failures(attempt_compress, &(compression){in, type, flags}) >= 2);
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

typedef struct ordering {
    const tsr_source *a;
    tsr_reorder which;
} ordering;

static tsr_status order_and_take(void *context)
{
    const tsr_source *a = ((const ordering *)context)->a;
    uint32_t order[40];
    double vectors[5];
    tsr_source taken = {0};
    tsr_status status = tsr_make_order(order, a, ((const ordering *)context)->which, 1);
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
    for (int which = TSR_REORDER_LPA; which <= TSR_REORDER_LOA; which++)
        assert_true(memory_failures(order_and_take, &(ordering){&a, (tsr_reorder)which}) >= 8);
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
