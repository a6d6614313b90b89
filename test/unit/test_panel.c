/* Panels: a worked example by hand, round trips and products on random matrices, damage that the checker sees, failing allocations.
 * TESSERA_TEST_SEED repeats a run.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ref/formats.h"
#include "src/format/blocks/tc_blocks.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/unit/equal.h"
#include "test/unit/failing_memory.h"
#include "test/unit/seeded.h"

/* ---- random matrices ---- */

/* A source that owns its arrays. */
typedef struct matrix {
    tsr_source s;
    int64_t *p;
    uint32_t *i;
    void *x;
} matrix;

static void put(matrix *m, int64_t k, double value)
{
    if (m->s.number == TSR_NUMBER_FP64)
        ((double *)m->x)[k] = value;
    else
        ((float *)m->x)[k] = (float)value;
}

/* Edges: empty rows and windows, one full row, dense places; columns are `step` apart. */
static matrix random_matrix(int64_t nrows, int64_t ncols, int64_t step, tsr_number number)
{
    matrix m = {.s = {.nrows = nrows, .ncols = ncols ? (ncols - 1) * step + 1 : 0, .number = number}};
    int64_t rarity = 1 + draw(draw(2) ? 8 : 100), empty_rows = draw(4), empty_windows = draw(3), salt = draw(1000);
    int64_t full_row = draw(3) ? -1 : draw(nrows + 1), dense = draw(3) ? 0 : 1 + draw(20);
    m.p = calloc((size_t)nrows + 1, sizeof *m.p);
    m.i = malloc((size_t)(nrows * ncols + 1) * sizeof *m.i);
    m.x = malloc((size_t)(nrows * ncols + 1) * 8);
    for (int64_t row = 0; row < nrows; row++) {
        bool empty = (empty_rows && draw(4) < empty_rows) || (empty_windows && (row / 64 + salt) % 3 < empty_windows - 1);
        for (int64_t column = 0; column < ncols; column++) {
            bool in_dense = dense && (row / 32 * 31 + column / 32 * 17 + salt) % 23 < dense;
            if (row == full_row || (!empty && (in_dense || !draw(rarity)))) {
                m.i[m.s.nvals] = (uint32_t)(column * step);
                put(&m, m.s.nvals++, (double)draw(2001) / 1000 - 1);
            }
        }
        m.p[row + 1] = m.s.nvals;
    }
    m.s.p = m.p;
    m.s.i = m.i;
    m.s.x = draw(4) ? m.x : NULL;
    return m;
}

static void free_matrix(matrix *m)
{
    free(m->p);
    free(m->i);
    free(m->x);
}

static const int shapes[4][2] = {{32, 32}, {64, 64}, {32, 24}, {64, 48}};

/* ---- by hand ---- */

/* Row: columns (values number the entries).  0: 5 | 9: 0 1 2 ... 33 | 31: 5 | 33: 1 7 */
static void test_hand(void **state)
{
    (void)state;
    int64_t p[35] = {0};
    uint32_t i[38];
    float x[38];
    tsr_panel a;
    for (int k = 0; k < 38; k++) {
        i[k] = k == 0 || k == 35 ? 5 : k == 36 ? 1 : k == 37 ? 7 : (uint32_t)(k - 1);
        x[k] = (float)(k + 1);
    }
    for (int row = 0; row < 34; row++)
        p[row + 1] = p[row] + (row == 0 || row == 31 ? 1 : row == 9 ? 34 : row == 33 ? 2 : 0);
    const tsr_source in = {34, 40, 38, p, i, x, TSR_NUMBER_FP32};
    assert_int_equal(tsr_make_panel(&a, &in, 32, 32, 1, 1), TSR_OK);
    assert_true(a.w.nwindows == 2 && a.w.nvectors == 36 && a.w.nblocks == 3);
    /* 1 unit of words, then places for 34, 2 and 2 entries and 4 more */
    EQUAL(a.begin, 0, 32, 34, 36);
    EQUAL(a.first, 0, 20, 24, 28);
    assert_true(a.nunits == 28 && a.largest == 20);
    const uint32_t *data = a.data;
    EQUAL(data, 1, 2 << 8 | 1 << 1, 34 << 8, 34 << 8 | 1 << 7);
    EQUAL(data + 20 * 4, 0, 1 << 1, 2 << 8, 2 << 8);
    EQUAL(data + 24 * 4, 1 << 1, 2 << 8, 2 << 8, 2 << 8);
    assert_true(data[4 + 1] == (5 << 16 | TSR_PANEL_LAST) && data[4 + 3] == 0 && data[4 + 5] == 9 && data[4 + 7] == (1 << 16 | 9));
    assert_true(data[4 + 67] == (31u << 16 | TSR_PANEL_LAST | 9) && data[4 + 69] == (5 << 16 | TSR_PANEL_LAST | 31) && data[4 + 71] == 0);
    assert_true(data[21 * 4 + 1] == 9 && data[21 * 4 + 3] == (1 << 16 | TSR_PANEL_LAST | 9));
    EQUAL((const float *)a.data + 21 * 4 + 2, 35);
    assert_true(data[25 * 4 + 1] == 1 && data[25 * 4 + 3] == (1 << 16 | TSR_PANEL_LAST | 1));
    EQUAL(data + 28 * 4, 0, 0, 0, 0);
    assert_null(tsr_check_panel(&a, TSR_NUMBER_FP32));
    assert_int_equal(tsr_bytes_panel(&a), 3 * 3 * 8 + 36 * 4 + 2 * 4 * 8 + 29 * 16);
    tsr_free_panel(&a);
}

/* Row 9 has 400 entries, the others none: its sum begins anew after the blocks with entries 192 and 384. */
static void test_renewed_sums(void **state)
{
    (void)state;
    enum { ENTRIES = 400, WIDTH = 24 };
    int64_t p[33];
    uint32_t i[ENTRIES];
    tsr_panel a;
    for (int row = 0; row <= 32; row++)
        p[row] = row > 9 ? ENTRIES : 0;
    for (int k = 0; k < ENTRIES; k++)
        i[k] = (uint32_t)k;
    const tsr_source in = {32, ENTRIES, ENTRIES, p, i, NULL, TSR_NUMBER_FP32};
    assert_int_equal(tsr_make_panel(&a, &in, 32, WIDTH, 1, 1), TSR_OK);
    assert_int_equal(a.w.nblocks, (ENTRIES + WIDTH - 1) / WIDTH);
    for (int64_t k = 0; k < a.w.nblocks; k++) {
        const uint32_t *words = (const uint32_t *)((const char *)a.data + a.first[k] * TSR_PANEL_UNIT);
        bool renewed = k == (TSR_PANEL_RENEW - 1) / WIDTH || k == (2 * TSR_PANEL_RENEW - 1) / WIDTH;
        assert_int_equal(words[1], 1u << 1 | (renewed ? 1u << 25 : 0));
    }
    assert_null(tsr_check_panel(&a, TSR_NUMBER_FP32));
    tsr_free_panel(&a);
}

/* A full 32 x 40 matrix: 1280 entries, 288 fit a block.  Spans of 32 and 8 columns; the first is quartered. */
static void test_halving(void **state)
{
    (void)state;
    int64_t p[33];
    uint32_t i[32 * 40];
    tsr_panel a;
    for (int row = 0; row <= 32; row++)
        p[row] = row * 40;
    for (int k = 0; k < 32 * 40; k++)
        i[k] = (uint32_t)(k % 40);
    const tsr_source in = {32, 40, 32 * 40, p, i, NULL, TSR_NUMBER_FP32};
    assert_int_equal(tsr_make_panel(&a, &in, 32, 32, 1, 1), TSR_OK);
    assert_int_equal(a.w.nblocks, 5);
    EQUAL(a.begin, 0, 8, 16, 24, 32, 40);
    EQUAL(a.w.block, 0, 5);
    assert_int_equal(a.largest, 1 + 130);
    assert_null(tsr_check_panel(&a, TSR_NUMBER_FP32));
    a.begin[1]++;
    assert_non_null(tsr_check_panel(&a, TSR_NUMBER_FP32));
    tsr_free_panel(&a);
}

/* ---- properties ---- */

static void assert_expands(const tsr_source *in, const tsr_panel *a, double iso)
{
    tsr_source back;
    assert_int_equal(tsr_expand_panel(&back, a, in->number), TSR_OK);
    assert_int_equal(back.nvals, in->nvals);
    assert_memory_equal(back.p, in->p, (size_t)(in->nrows + 1) * sizeof *in->p);
    for (int64_t e = 0; e < in->nvals; e++) {
        assert_int_equal(back.i[e], in->i[e]);
        assert_true(tsr_ref_number(back.x, in->number, e) == (in->x ? tsr_ref_number(in->x, in->number, e) : iso));
    }
    tsr_free_source(&back);
}

static void assert_product(const tsr_source *in, const tsr_panel *a, double iso)
{
    enum { N = 3 };
    int64_t step = in->ncols > 1000 ? 0 : N; /* wide matrices: one row of B, over and over */
    double *b = malloc((size_t)(in->ncols + 1) * N * sizeof *b), *c = malloc((size_t)(in->nrows + 1) * N * sizeof *c);
    for (int64_t k = 0; k < (step ? in->ncols : 1) * N; k++)
        b[k] = (double)(draw(9) - 4);
    assert_int_equal(tsr_ref_spmm_panel(a, in->number, N, b, step, c, N, 2, 0, NULL), TSR_OK);
    for (int64_t row = 0; row < in->nrows; row++)
        for (int64_t j = 0; j < N; j++) {
            double sum = 0;
            for (int64_t e = in->p[row]; e < in->p[row + 1]; e++)
                sum += (in->x ? tsr_ref_number(in->x, in->number, e) : iso) * b[in->i[e] * step + j];
            assert_true(fabs(c[row * N + j] - 2 * sum) <= 1e-12 * (1 + fabs(sum)));
        }
    free(b);
    free(c);
}

static void assert_panels(const tsr_source *in, int nthreads)
{
    for (int k = 0; k < 4; k++) {
        tsr_panel a;
        assert_int_equal(tsr_make_panel(&a, in, shapes[k][0], shapes[k][1], 2.5, nthreads), TSR_OK);
        const char *broken = tsr_check_panel(&a, in->number);
        if (broken)
            fail_msg("%d x %d: %s", shapes[k][0], shapes[k][1], broken);
        assert_expands(in, &a, 2.5);
        assert_product(in, &a, 2.5);
        tsr_free_panel(&a);
    }
}

static void test_properties(void **state)
{
    (void)state;
    static const int64_t edges[] = {0, 1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 100, 128, 129, 200};
    for (int round = 0; round < 200; round++) {
        matrix m = random_matrix(edges[draw(16)], edges[draw(16)], 1, round % 2 ? TSR_NUMBER_FP64 : TSR_NUMBER_FP32);
        assert_panels(&m.s, 1);
        free_matrix(&m);
    }
}

static void test_wide(void **state)
{
    (void)state;
    for (int round = 0; round < 6; round++) {
        matrix m = random_matrix(100, 200, 1001, TSR_NUMBER_FP32);
        assert_panels(&m.s, 2);
        free_matrix(&m);
    }
}

/* Enough entries for several threads: the same bytes. */
static void test_threads(void **state)
{
    (void)state;
    matrix m = random_matrix(2000, 400, 1, TSR_NUMBER_FP64);
    for (int k = 0; k < 4; k++) {
        tsr_panel one, four;
        assert_int_equal(tsr_make_panel(&one, &m.s, shapes[k][0], shapes[k][1], 1, 1), TSR_OK);
        assert_int_equal(tsr_make_panel(&four, &m.s, shapes[k][0], shapes[k][1], 1, 4), TSR_OK);
        assert_int_equal(one.nunits, four.nunits);
        assert_memory_equal(one.data, four.data, (size_t)(one.nunits + 1) * TSR_PANEL_UNIT);
        tsr_free_panel(&one);
        tsr_free_panel(&four);
    }
    free_matrix(&m);
}

/* ---- refusals, damage, memory ---- */

static const int64_t small_p[4] = {0, 2, 2, 3};
static const uint32_t small_i[3] = {1, 4, 0};
static const float small_x[3] = {1, 2, 3};
static const tsr_source small = {3, 5, 3, small_p, small_i, small_x, TSR_NUMBER_FP32};

static void test_limits(void **state)
{
    (void)state;
    tsr_panel a, empty;
    tsr_source in = small;
    memset(&empty, 0, sizeof empty);
    assert_int_equal(tsr_make_panel(&a, &in, 16, 32, 1, 1), TSR_INVALID_VALUE);
    assert_int_equal(tsr_make_panel(&a, &in, 32, 20, 1, 1), TSR_INVALID_VALUE);
    in.number = TSR_NUMBER_FP16;
    assert_int_equal(tsr_make_panel(&a, &in, 32, 32, 1, 1), TSR_INVALID_VALUE);
    in.number = TSR_NUMBER_FP32;
    in.ncols = ((int64_t)1 << 32) + 1;
    assert_int_equal(tsr_make_panel(&a, &in, 32, 32, 1, 1), TSR_NOT_SUPPORTED);
    assert_memory_equal(&a, &empty, sizeof a);
}

static void test_checker(void **state)
{
    (void)state;
    tsr_panel a;
    assert_int_equal(tsr_make_panel(&a, &small, 32, 32, 1, 1), TSR_OK);
    uint32_t *data = a.data;
    assert_null(tsr_check_panel(&a, TSR_NUMBER_FP32));
    data[5]++; /* the first entry's row */
    assert_string_equal(tsr_check_panel(&a, TSR_NUMBER_FP32), "entries know their row");
    data[5]--;
    data[5] |= TSR_PANEL_LAST;
    assert_non_null(tsr_check_panel(&a, TSR_NUMBER_FP32));
    data[5] ^= TSR_PANEL_LAST | 3u << 16;
    assert_string_equal(tsr_check_panel(&a, TSR_NUMBER_FP32), "slots ascend inside a row");
    data[5] ^= 3u << 16;
    data[1] += 1 << 8;
    assert_string_equal(tsr_check_panel(&a, TSR_NUMBER_FP32), "words count the places before");
    data[1] -= 1 << 8;
    a.largest++;
    assert_string_equal(tsr_check_panel(&a, TSR_NUMBER_FP32), "the largest block is known");
    tsr_free_panel(&a);
}

static tsr_status attempt_make(void *unused)
{
    tsr_panel a;
    (void)unused;
    tsr_status status = tsr_make_panel(&a, &small, 32, 32, 1, 1);
    tsr_free_panel(&a);
    return status;
}

static tsr_status attempt_use(void *unused)
{
    tsr_panel a;
    tsr_source back;
    double b[5] = {0}, c[3];
    (void)unused;
    memory_pause();
    tsr_make_panel(&a, &small, 32, 32, 1, 1);
    memory_resume();
    tsr_status status = tsr_expand_panel(&back, &a, TSR_NUMBER_FP32);
    tsr_free_source(&back);
    if (status == TSR_OK)
        status = tsr_ref_spmm_panel(&a, TSR_NUMBER_FP32, 1, b, 1, c, 1, 1, 0, NULL);
    memory_pause();
    tsr_free_panel(&a);
    memory_resume();
    return status;
}

static void test_memory(void **state)
{
    (void)state;
    assert_true(memory_failures(attempt_make, NULL) >= 2);
    assert_true(memory_failures(attempt_use, NULL) >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hand),
        cmocka_unit_test(test_halving),
        cmocka_unit_test(test_renewed_sums),
        cmocka_unit_test_setup(test_properties, set_seed),
        cmocka_unit_test_setup(test_wide, set_seed),
        cmocka_unit_test_setup(test_threads, set_seed),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_checker),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, tell_seed, NULL);
}
