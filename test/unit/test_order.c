/* Orders of rows: permutations, the same for any number of threads, and fewer nonzero vectors where rows had been shuffled.
 * TESSERA_TEST_SEED repeats a run.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/format/blocks/tc_blocks.h"
#include "src/format/order/row_order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/unit/seeded.h"

static const tsr_reorder orders[] = {TSR_REORDER_NONE, TSR_REORDER_LPA, TSR_REORDER_TCA, TSR_REORDER_LOA};
#define ORDERS (sizeof orders / sizeof *orders)

static void *get(int64_t count, size_t size)
{
    void *p = calloc((size_t)count + 1, size);
    assert_non_null(p);
    return p;
}

/* ---- matrices ---- */

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Sorts row [begin, end) and drops duplicates; returns the new end. */
static int64_t finish_row(uint32_t *i, int64_t begin, int64_t end)
{
    qsort(i + begin, (size_t)(end - begin), sizeof *i, ascending);
    int64_t kept = begin;
    for (int64_t e = begin; e < end; e++)
        if (kept == begin || i[kept - 1] != i[e])
            i[kept++] = i[e];
    return kept;
}

static uint32_t *shuffled(int64_t n)
{
    uint32_t *list = get(n, sizeof *list);
    for (int64_t k = 0; k < n; k++) {
        int64_t other = draw(k + 1);
        list[k] = list[other];
        list[other] = (uint32_t)k;
    }
    return list;
}

/* Groups of 64 rows that share 64 columns; every fifth entry is anywhere.  row_id, col_id: where rows and columns go; NULL: nowhere. */
static tsr_source planted(int64_t nrows, int64_t ncols, const uint32_t *row_id, const uint32_t *col_id)
{
    const int64_t entries = 24, groups = ncols / 64;
    int64_t *p = get(nrows + 1, sizeof *p), nvals = 0, *from = get(nrows, sizeof *from);
    uint32_t *i = get(nrows * entries, sizeof *i);
    for (int64_t r = 0; r < nrows; r++)
        from[row_id ? row_id[r] : r] = r;
    for (int64_t place = 0; place < nrows; place++) {
        int64_t group = from[place] / 64 % groups, end = nvals;
        for (int64_t k = 0; k < entries; k++) {
            int64_t column = k % 5 ? group * 64 + draw(64) : draw(ncols);
            i[end++] = col_id ? col_id[column] : (uint32_t)column;
        }
        nvals = finish_row(i, nvals, end);
        p[place + 1] = nvals;
    }
    free(from);
    return (tsr_source){nrows, ncols, nvals, p, i, NULL, TSR_NUMBER_FP32};
}

/* Empty rows, a full row, few and many rows and columns. */
static tsr_source random_matrix(bool values)
{
    static const int64_t sizes[] = {0, 1, 2, 15, 16, 17, 100, 300};
    int64_t nrows = sizes[draw(8)], ncols = sizes[draw(8)], full = draw(3) ? -1 : draw(nrows + 1), nvals = 0;
    int64_t rarity = 1 + draw(20);
    int64_t *p = get(nrows + 1, sizeof *p);
    uint32_t *i = get(nrows * ncols, sizeof *i);
    for (int64_t r = 0; r < nrows; r++) {
        bool empty = draw(5) == 0;
        for (int64_t c = 0; c < ncols; c++)
            if (r == full || (!empty && draw(rarity) == 0))
                i[nvals++] = (uint32_t)c;
        p[r + 1] = nvals;
    }
    double *x = values ? get(nvals, sizeof *x) : NULL;
    for (int64_t e = 0; values && e < nvals; e++)
        x[e] = (double)draw(1000);
    return (tsr_source){nrows, ncols, nvals, p, i, x, TSR_NUMBER_FP64};
}

/* ---- orders ---- */

static uint32_t *make(const tsr_source *a, tsr_reorder which, int nthreads)
{
    uint32_t *order = get(a->nrows, sizeof *order);
    assert_int_equal(tsr_make_order(order, a, which, nthreads), TSR_OK);
    return order;
}

static void assert_permutation(const uint32_t *order, int64_t n)
{
    bool *seen = get(n, sizeof *seen);
    for (int64_t k = 0; k < n; k++) {
        assert_true(order[k] < n && !seen[order[k]]);
        seen[order[k]] = true;
    }
    free(seen);
}

static void test_permutations(void **state)
{
    (void)state;
    for (int k = 0; k < 200; k++) {
        tsr_source a = random_matrix(false);
        for (size_t o = 0; o < ORDERS; o++) {
            uint32_t *order = make(&a, orders[o], 1);
            assert_permutation(order, a.nrows);
            free(order);
        }
        tsr_free_source(&a);
    }
}

static void test_threads(void **state)
{
    (void)state;
    tsr_source a = planted(20000, 4096, NULL, NULL);
    for (size_t o = 0; o < ORDERS; o++) {
        uint32_t *one = make(&a, orders[o], 1), *four = make(&a, orders[o], 4);
        assert_memory_equal(one, four, (size_t)a.nrows * sizeof *one);
        free(one);
        free(four);
    }
    tsr_free_source(&a);
}

static double vectors_of_height_32(const tsr_source *a, const uint32_t *order)
{
    double vectors[5];
    assert_int_equal(tsr_sample_vectors(vectors, a, order, 1), TSR_OK);
    return vectors[2];
}

/* At most this many vectors are left. */
static void check_quality(const tsr_source *a, tsr_reorder which, double most)
{
    uint32_t *order = make(a, which, 2);
    double got = vectors_of_height_32(a, order);
    print_message("%d x %d, order %d: %.3f of what is allowed\n", (int)a->nrows, (int)a->ncols, (int)which, got / most);
    assert_true(got <= most);
    free(order);
}

static void test_quality_of(int64_t nrows, int64_t ncols)
{
    uint32_t *row_id = shuffled(nrows), *col_id = shuffled(ncols);
    tsr_source own = planted(nrows, ncols, NULL, NULL), a = planted(nrows, ncols, row_id, col_id);
    double best = vectors_of_height_32(&own, NULL), worst = vectors_of_height_32(&a, NULL);
    assert_true(worst > 2 * best);
    check_quality(&a, TSR_REORDER_LPA, 1.15 * best);
    check_quality(&a, TSR_REORDER_LOA, 1.15 * best);
    check_quality(&a, TSR_REORDER_TCA, 0.9 * worst);
    tsr_free_source(&own);
    tsr_free_source(&a);
    free(row_id);
    free(col_id);
}

static void test_quality(void **state)
{
    (void)state;
    test_quality_of(8192, 8192);
    test_quality_of(16384, 4096);
    test_quality_of(8192, 32768);
}

/* Rows come with what was theirs. */
static void test_take_rows(void **state)
{
    (void)state;
    for (int k = 0; k < 100; k++) {
        tsr_source a = random_matrix(k % 2), out;
        int64_t n = a.nrows ? draw(2 * a.nrows) : 0;
        uint32_t *rows = get(n, sizeof *rows);
        for (int64_t r = 0; r < n; r++)
            rows[r] = (uint32_t)draw(a.nrows);
        assert_int_equal(tsr_take_rows(&out, &a, rows, n, 2), TSR_OK);
        assert_true(out.nrows == n && out.ncols == a.ncols && out.p[n] == out.nvals && !out.x == !a.x);
        for (int64_t r = 0; r < n; r++) {
            int64_t from = a.p[rows[r]], length = a.p[rows[r] + 1] - from;
            assert_int_equal(out.p[r + 1] - out.p[r], length);
            assert_memory_equal(out.i + out.p[r], a.i + from, (size_t)length * sizeof *a.i);
            if (a.x)
                assert_memory_equal((const double *)out.x + out.p[r], (const double *)a.x + from, (size_t)length * 8);
        }
        tsr_free_source(&out);
        tsr_free_source(&a);
        free(rows);
    }
}

/* Places are in range, ascend, and come in whole groups. */
static void test_sample(void **state)
{
    (void)state;
    static const int64_t sizes[] = {0, 1, 8191, 8192, 8193, 8320, 100000, 4000000007};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int64_t n = tsr_order_sampled(sizes[s]), before = -1;
        assert_true(n == (sizes[s] < 8192 ? sizes[s] : 8192));
        for (int64_t k = 0; k < n; k++) {
            int64_t place = tsr_order_sample_place(sizes[s], k);
            assert_true(place > before && place < sizes[s] && place % 128 == k % 128);
            before = place;
        }
    }
}

/* No column in two rows; the sample meets the short rows of one order, the long ones of the other. */
static void test_sample_of_other_rows(void **state)
{
    (void)state;
    enum { ROWS = 32768, MOST = 8 };
    int64_t *p = get(ROWS + 1, sizeof *p);
    uint32_t *i = get(ROWS * MOST, sizeof *i), *order = get(ROWS, sizeof *order);
    p[0] = 0;
    for (int64_t r = 0; r < ROWS; r++) {
        order[r] = (uint32_t)(r ^ TSR_ORDER_SAMPLE_GROUP);
        p[r + 1] = p[r] + (r & TSR_ORDER_SAMPLE_GROUP ? MOST : 1);
        for (int64_t e = p[r]; e < p[r + 1]; e++)
            i[e] = (uint32_t)(r * MOST + e - p[r]);
    }
    tsr_source a = {.nrows = ROWS, .ncols = ROWS * MOST, .nvals = p[ROWS], .p = p, .i = i};
    double own[5], other[5];
    assert_int_equal(tsr_sample_vectors(own, &a, NULL, 2), TSR_OK);
    assert_int_equal(tsr_sample_vectors(other, &a, order, 2), TSR_OK);
    for (int h = 0; h < 5; h++)
        assert_true(own[h] == 1 && other[h] == 1);
    free(p);
    free(i);
    free(order);
}

static void test_pays(void **state)
{
    (void)state;
    const double own[5] = {1, 1, 1, 1, 1};
    assert_true(tsr_order_pays(own, (double[5]){2, 1, .9, .8, 1}));
    assert_false(tsr_order_pays(own, (double[5]){.5, .5, .91, .5, .5}));
    assert_false(tsr_order_pays(own, (double[5]){.5, .5, .5, .5, 1.01}));
}

static void test_errors(void **state)
{
    (void)state;
    uint32_t order[1];
    int64_t p[2] = {0, 0};
    tsr_source a = {.nrows = 1, .ncols = (int64_t)1 << 32, .p = p};
    assert_int_equal(tsr_make_order(order, &a, TSR_REORDER_LPA, 1), TSR_NOT_SUPPORTED);
    a.ncols = 1;
    assert_int_equal(tsr_make_order(order, &a, TSR_REORDER_AUTO, 1), TSR_INVALID_VALUE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_permutations, set_seed), cmocka_unit_test_setup(test_threads, set_seed),
        cmocka_unit_test_setup(test_quality, set_seed),      cmocka_unit_test_setup(test_take_rows, set_seed),
        cmocka_unit_test(test_sample),                       cmocka_unit_test(test_sample_of_other_rows),
        cmocka_unit_test(test_pays),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, tell_seed, NULL);
}
